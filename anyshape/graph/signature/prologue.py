"""Prologue of a program as Python source: read sizes from the inputs, bind variables, and check the signature.

One generator serves programs and `compile_solver`, whose function takes shapes.

Signature mismatch: the error for a call whose sizes do not fit. Variables are bound again, up to the first mismatch.

Generated code detects a mismatch fast, without details. This module then builds the message, slowly.

Size of a variable at a call, from its binding and the sizes of the inputs.

Signature of a program: the declared sizes of its inputs, and the bindings of its variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

from anyshape.errors import InputSizeError, SizeMismatchError
from anyshape.graph.prover.constraints import Condition, SizeNames
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.signature.dim_equations import InputSize, SizeBinding, input_axes, size_names, solve_dims
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimExpr, DimVar, InputAxis, Leaf, RuntimeScalar, Size, leaves_of
from anyshape.graph.sizes.intervals import LARGEST_SIZE, Bound
from anyshape.graph.sizes.polynomials import Terms
from anyshape.graph.sizes.substitute import evaluate, may_divide_by_zero, substitute
from anyshape.graph.sizes.symbols import call_source, to_source
from anyshape.support.lazy_dataclass import NamedTuple, dataclass

_Context: TypeAlias = list[tuple[str, int, str]]  # sizes that explain an error: text, size, where it is from


def find_mismatch(signature: Signature, inputs: tuple[Any, ...]) -> SizeMismatchError:
    """Return the error for the first size that does not fit; `inputs` are arrays or their shapes."""
    if (error := next(_mismatches(_Call(signature, inputs)), None)) is None:
        raise AssertionError(f"{signature.program}: the sizes fit after all")
    return error


class _Call:
    """Sizes of one call: all input sizes, and the variables that are bound so far."""

    def __init__(self, signature: Signature, inputs: tuple[Any, ...]) -> None:
        self.signature = signature
        self.sizes: dict[Leaf, int] = {source: read_input(source, inputs) for source in signature.declared_sizes}

    def value(self, size: Size) -> int:
        return evaluate(size, self.sizes.__getitem__)

    def sources(self, size: Size) -> tuple[InputSize, ...]:
        """Return the input sizes that the variables of a size are computed from."""
        sources = [source for v in expr.variables(size) for source in self.signature.sources[v]]
        return tuple(dict.fromkeys(sources))

    def knows(self, size: Size) -> bool:
        return all(leaf in self.sizes for leaf in expr.leaves_of(size))

    def context(self, size: Size, without: DimVar | None, others: Sequence[InputSize] = ()) -> _Context:
        """Return the bound variables of a size, and other input sizes."""
        s = self.signature
        variables = [v for v in expr.variables(size) if v is not without and v in self.sizes]
        bound = [(str(v), self.sizes[v], s.describe(s.sources[v])) for v in variables]
        return bound + [(str(s.declared_sizes[o]), self.sizes[o], s.describe([o])) for o in others]


class _Blamed(NamedTuple):
    """Input size that does not fit, with the sizes that explain it."""

    call: _Call
    source: InputSize
    context: _Context

    @property
    def size(self) -> int:
        return self.call.sizes[self.source]

    @property
    def declared(self) -> Size:
        return self.call.signature.declared_sizes[self.source]

    def error(self, reason: str, advice: str = "", remainder: int | None = None) -> InputSizeError:
        axis = None if isinstance(self.source, RuntimeScalar) else self.source.axis
        signature, spec, context = self.call.signature, str(self.declared), self.context
        name = signature.names[self.source.operand]
        is_unnamed = context and not any(source for _, _, source in context)  # read from inputs that no caller passes
        if is_unnamed and not reason and remainder is None and self.call.knows(self.declared):
            spec, context = str(self.call.value(self.declared)), []
        return InputSizeError(signature.program, name, axis, spec, self.size, context, reason, advice, remainder)


def _mismatches(call: _Call) -> Iterator[SizeMismatchError]:
    """Yield errors in the order in which a caller would look: too large, unsolvable, unequal."""
    declared = call.signature.declared_sizes
    for source in declared:
        if call.sizes[source] > LARGEST_SIZE:
            yield _Blamed(call, source, []).error("no array is that large", f"make it at most {LARGEST_SIZE}")
    for binding in call.signature.bindings:
        if (error := _bind(call, binding)) is not None:
            yield error
    for source, size in declared.items():
        if (error := _compare(call, source, size)) is not None:
            yield error


def _compare(call: _Call, source: InputSize, size: Size) -> InputSizeError | None:
    """Return the error of an input size that differs from its declared size."""
    context = call.context(size, None)
    try:
        expected = call.value(size)
    except ZeroDivisionError:
        return _Blamed(call, source, context).error("it divides by 0")
    if expected == call.sizes[source]:
        return None
    others = [s for s in call.sources(size) if s != source]
    texts = call.signature.describe(others)
    advice = f"make it {expected}, or change {texts}" if texts else f"make it {expected}"
    return _Blamed(call, source, context if others else []).error("", advice)


def _bind(call: _Call, binding: SizeBinding) -> SizeMismatchError | None:
    """Bind one variable, or return the error that says why there is no size for it."""
    variable, declared = binding.variable, call.signature.declared_sizes
    if not (sources := call.signature.sources[variable]):
        return _bind_constant(call, binding)
    source = next((s for s in sources if variable in expr.variables(declared[s])), sources[0])
    others = [leaf for leaf in expr.leaves_of(binding.target) if not isinstance(leaf, DimVar) and leaf != source]
    blamed = _Blamed(call, source, call.context(declared[source], variable, others))
    try:
        if binding.curve is None:
            return _bind_by_division(blamed, binding)
        return _bind_by_curve(blamed, binding, binding.curve)
    except ZeroDivisionError:
        return blamed.error("it divides by 0")


def _bind_constant(call: _Call, binding: SizeBinding) -> SizeMismatchError | None:
    """Bind a variable that is the same at every call; its constraints may have no solution in range."""
    variable = binding.variable
    value = call.sizes[variable] = solve_binding(binding, call.sizes.__getitem__)
    if value >= variable.lower and (variable.upper is None or value <= variable.upper):
        return None
    why = f"no {variable} satisfies its constraints"
    return SizeMismatchError(call.signature.program, str(binding), {str(variable): value}, why)


def _bind_by_division(blamed: _Blamed, binding: SizeBinding) -> InputSizeError | None:
    """Bind a variable to target // divisor, or return the error of a zero divisor, a remainder or a bound."""
    call, variable = blamed.call, binding.variable
    target, divisor = call.value(binding.target), call.value(binding.divisor)
    if divisor == 0:
        product = expr.mul(binding.divisor, expr.from_atom(variable))
        declares = variable in expr.variables(blamed.declared)
        return blamed.error(f"{binding.divisor} is 0" if declares else f"{product} must be {target}")
    call.sizes[variable], remainder = divmod(target, divisor)
    if not remainder or blamed.source not in expr.leaves_of(binding.target):
        return _check_range(blamed, binding)
    sizes = [size for size in (blamed.size - remainder, blamed.size - remainder + divisor) if size >= 0]
    alone = isinstance(binding.target, DimExpr) and dict(binding.target.terms).get(((blamed.source, 1),)) == 1
    advice = f"make it a size without a remainder, such as {' or '.join(map(str, sizes))}" if alone else ""
    return blamed.error("", advice, remainder)


def _bind_by_curve(blamed: _Blamed, binding: SizeBinding, size: Size) -> InputSizeError | None:
    """Bind a variable to the size where its curve meets the target, or return the error where it misses."""
    call, variable = blamed.call, binding.variable
    target, curve = call.value(binding.target), curve_function(binding, size, call.sizes.__getitem__)
    value = call.sizes[variable] = solve_binding(binding, call.sizes.__getitem__)
    if curve(value) == target:
        return _check_range(blamed, binding)
    near = [t for t in (value, value + 1) if binding.high is None or t <= binding.high]
    sizes = " and ".join(f"{blamed.size - target + curve(t)} for {variable} = {t}" for t in near)
    return blamed.error(f"the nearest {'are' if len(near) > 1 else 'is'} {sizes}")


def _check_range(blamed: _Blamed, binding: SizeBinding) -> InputSizeError | None:
    """Return the error of a variable outside of its range."""
    call, variable = blamed.call, binding.variable
    value, low, high = call.sizes[variable], variable.lower, variable.upper
    if value >= low and (high is None or value <= high):
        return None
    side, bound = ("least", low) if value < low or high is None else ("most", high)
    spec, actual = blamed.declared, blamed.size
    alone = expr.as_atom(spec) is variable
    reason = f"{variable} is at {side} {bound}" if alone else f"{variable} would be {value}, and is at {side} {bound}"
    wanted = evaluate(spec, {**call.sizes, variable: bound}.__getitem__) if call.knows(spec) else actual
    helps = wanted > actual if value < low else wanted < actual
    return blamed.error(reason, f"make it at {side} {wanted}" if helps else "")


def floor_inverse(curve: Callable[[int], int], target: int, low: int, high: Bound = None, guess: int = 0) -> int:
    """Return the last t from `low` to `high` with curve(t) <= target, for a strictly increasing curve; else `low`.

    The number of steps is logarithmic in the distance from the guess. A curve may fail to increase where the sizes that
    it depends on are wrong. The result is then any size.
    """
    start = max(low, guess if high is None else min(guess, high))
    if start > low and curve(start) > target:
        low, high = _bracket_below(curve, target, low, start)
    else:
        low, high = _bracket_above(curve, target, start, high)
    while low < high:
        middle = (low + high + 1) // 2
        if curve(middle) <= target:
            low = middle
        else:
            high = middle - 1
    return low


def _bracket_below(curve: Callable[[int], int], target: int, low: int, start: int) -> tuple[int, int]:
    """Return an interval of the result below `start`, from steps that double."""
    high, step = start - 1, 1
    while start - step > low and curve(start - step) > target:
        high = start - step - 1
        step *= 2
    return max(low, start - step), high


def _bracket_above(curve: Callable[[int], int], target: int, low: int, high: Bound) -> tuple[int, int]:
    """Return an interval of the result from `low` on, from steps that double."""
    step = 1
    while (high is None or low + step <= high) and curve(low + step) <= target:
        low += step
        step *= 2
        if high is None and step > LARGEST_SIZE:
            high = low + max(0, target - curve(low))  # a strictly increasing curve gains at least 1 per step
    return low, low + step - 1 if high is None else max(low, min(low + step - 1, high))


def curve_function(binding: SizeBinding, curve: Size, sizes: Callable[[Leaf], int]) -> Callable[[int], int]:
    """Return the curve of a binding as a function of its variable, where all other sizes are known."""
    return lambda t: evaluate(curve, lambda leaf: t if leaf is binding.variable else sizes(leaf))


def solve_binding(binding: SizeBinding, sizes: Callable[[Leaf], int]) -> int:
    """Return the size of the variable, where the sizes that it depends on are known."""
    target = evaluate(binding.target, sizes)
    if binding.curve is None:
        return target // evaluate(binding.divisor, sizes)
    return floor_inverse(curve_function(binding, binding.curve, sizes), target, binding.low, binding.high)


def read_input(source: InputSize, inputs: Sequence[Any]) -> int:
    """Return the size that a call gives by its inputs, which are arrays or their shapes."""
    x = inputs[source.operand]
    return int(x) if isinstance(source, RuntimeScalar) else int(getattr(x, "shape", x)[source.axis])


@dataclass(frozen=True)
class Signature:
    """Array types and integer values of the inputs of a program, and the bindings of its variables.

    `values` are the sizes that scalar integer inputs give by their value, by position. Errors leave out inputs without
    a name, which are not the caller's.
    """

    program: str
    names: tuple[str, ...]
    metas: tuple[TensorMeta, ...]
    values: tuple[tuple[int, Size], ...]
    bindings: tuple[SizeBinding, ...]

    @cached_property
    def declared_sizes(self) -> dict[InputSize, Size]:
        """Declared size of each axis and of each integer value."""
        return dict(input_axes(self.metas, dict(self.values)))

    @cached_property
    def sources(self) -> dict[DimVar, tuple[InputSize, ...]]:
        """Input sizes that each variable is computed from, directly or through other variables."""
        sources: dict[DimVar, tuple[InputSize, ...]] = {}
        for binding in self.bindings:
            used = [leaf for size in binding.sizes() for leaf in leaves_of(size) if leaf is not binding.variable]
            groups = [sources[leaf] if isinstance(leaf, DimVar) else (leaf,) for leaf in used]
            sources[binding.variable] = tuple(dict.fromkeys(source for group in groups for source in group))
        return sources

    def describe(self, sources: Iterable[InputSize]) -> str:
        """Return input sizes as the caller writes them: `x.shape[0] and k`."""
        names = [(source, self.names[source.operand]) for source in sources]
        texts = [n if isinstance(s, RuntimeScalar) else f"{n}.shape[{s.axis}]" for s, n in names if n]
        return " and ".join(texts)

    @cached_property
    def size_names(self) -> SizeNames:
        """Names of sizes in errors."""
        return size_names(self.bindings, self.names)

    def first_violated(self, conditions: Sequence[Condition], variables: Sequence[DimVar], *sizes: int) -> None:
        """Raise the error for the first condition that does not hold for these sizes of the variables."""
        known: dict[Any, int] = dict(zip(variables, sizes, strict=True))
        for condition in conditions:
            if not condition.claim.holds(known.__getitem__):
                self.violated(condition, *[known[v] for v in condition.claim.variables()])

    def violated(self, condition: Condition, *sizes: int) -> NoReturn:
        """Raise the error for a condition that does not hold for these sizes of its variables."""
        raise condition.error(dict(zip(condition.claim.variables(), sizes, strict=True)), self.size_names)

    def solved(self, inputs: Sequence[Any]) -> Mapping[Leaf, int]:
        """Return the sizes of inputs and variables at a call; raise the error where its sizes do not fit."""
        call = _Call(self, tuple(inputs))
        for error in _mismatches(call):
            raise error
        return call.sizes


@dataclass(frozen=True)
class Prologue(Signature):
    """Signature with the checks that a call has to make."""

    @cached_property
    def unproved_sizes(self) -> dict[InputSize, Size]:
        """Input sizes that may differ from the declared ones: no binding computes a variable from them exactly."""
        unproved = dict(self.declared_sizes)
        for binding in self.bindings:
            source = direct_input(binding)
            if source is not None and expr.as_atom(unproved.get(source, 0)) is binding.variable:
                del unproved[source]
            elif binding.divisor == 1 and binding.curve is None:
                for leaf in expr.leaves_of(binding.target):
                    if leaf in unproved and _implies(binding, leaf, unproved[leaf]):
                        del unproved[leaf]
        return unproved

    @property
    def only_reads(self) -> bool:
        """True where each variable is the size of an axis, and no call can mismatch."""
        inputs = [direct_input(binding) for binding in self.bindings]
        return not self.unproved_sizes and not self.unproved_bounds and all(isinstance(i, InputAxis) for i in inputs)

    @cached_property
    def unproved_bounds(self) -> list[tuple[SizeBinding, Bound, Bound]]:
        """Bindings whose result may be out of range, with the lower and upper bounds that need a check."""
        unproved = []
        for binding in self.bindings:
            v = binding.variable
            if v.upper is None and v.lower == 0 and isinstance(direct_input(binding), InputAxis):
                continue
            low, high = _computed_bounds(binding)
            lower = None if low is not None and low >= v.lower else v.lower
            upper = None if high is not None and v.upper is not None and high <= v.upper else v.upper
            if lower is not None or upper is not None:
                unproved.append((binding, lower, upper))
        return unproved

    def refuse(self, *inputs: Any) -> NoReturn:
        """Raise the error for inputs (arrays, or their shapes) that do not fit."""
        raise find_mismatch(self, inputs)


# -- facts about bindings ----------------------------------------------------------------------------------------


def direct_input(binding: SizeBinding) -> InputSize | None:
    """Return the input size that the variable equals, if the binding says just that."""
    if binding.divisor != 1 or binding.curve is not None:
        return None
    atom = expr.as_atom(binding.target)
    return atom if isinstance(atom, (InputAxis, RuntimeScalar)) else None


def _implies(binding: SizeBinding, leaf: Leaf, size: Size) -> bool:
    """Return True where the binding makes the input size equal to its declared size."""
    substituted = substitute(size, lambda a: binding.target if a is binding.variable else None)
    return substituted is expr.from_atom(leaf)


def _computed_bounds(binding: SizeBinding) -> tuple[Bound, Bound]:
    """Return bounds of the computed number, where the variables that it is computed from are in range."""
    if (quadratic := _quadratic(binding)) is not None:
        return (0 if _never_negative(binding.target, quadratic) else None), None
    if binding.curve is not None:
        return binding.low, binding.high
    return expr.bounds(expr.floordiv(binding.target, binding.divisor))


class _Polynomial(NamedTuple):
    """Polynomial (sum of coefficient * v**power) // divisor, for the variable v of a binding."""

    coefficients: dict[int, int]  # by power; that of power 0 is always there
    divisor: int


class _Quadratic(NamedTuple):
    """Strictly increasing polynomial (a*v*v + b*v + c) // d of v."""

    a: int
    b: int
    c: int
    d: int


def _polynomial(binding: SizeBinding) -> _Polynomial | None:
    """Return the curve of a binding as a polynomial, if it is one and has no highest size."""
    if binding.curve is None or binding.high is not None:
        return None
    terms, divisor = _clear_quotient(expr.terms_of(binding.curve))
    if divisor < 1 or any(len(m) > 1 or (m and m[0][0] is not binding.variable) for m in terms):
        return None
    return _Polynomial({0: 0, **{m[0][1] if m else 0: c for m, c in terms.items()}}, divisor)


def _clear_quotient(terms: Terms) -> tuple[Terms, int]:
    """Return (d * rest + dividend, d) for a sum with one quotient by a constant d; other terms as they are, and 1."""
    monomial = next((m for m in terms if any(isinstance(atom, Call) for atom, _ in m)), None)
    call = expr.as_atom(DimExpr(((monomial, terms[monomial]),))) if monomial is not None else None
    if not isinstance(call, Call) or call.function != "floordiv" or not isinstance(call.args[1], int):
        return terms, 1
    dividend, divisor = call.args
    rest = expr.from_terms({m: c for m, c in terms.items() if m != monomial})
    return expr.terms_of(divisor * rest + dividend), call.args[1]


def _quadratic(binding: SizeBinding) -> _Quadratic | None:
    """Return the curve of a binding as a strictly increasing polynomial of degree 1 or 2, if it is one."""
    if (polynomial := _polynomial(binding)) is None or max(polynomial.coefficients) > 2:
        return None
    a, b, c = (polynomial.coefficients.get(power, 0) for power in (2, 1, 0))
    return _Quadratic(a, b, c, polynomial.divisor) if a > 0 or (a == 0 and b > 0) else None


def _never_negative(target: Size, quadratic: _Quadratic) -> bool:
    """Return True where the floor inverse of the target is at least 0 for the sizes of any call."""
    low = expr.bounds(target)[0]
    return low is not None and low >= 0 and quadratic.c < quadratic.d


# -- source ------------------------------------------------------------------------------------------------------


class SourceBlock:
    """Lines of source that compute each call once: calls share parts, and Python limits nesting."""

    def __init__(self, name: Callable[[Leaf], str], prefix: str, outer: SourceBlock | None = None) -> None:
        self.name, self.prefix = name, prefix
        self.lines: list[str] = []
        self.computed: dict[Call, str] = dict(outer.computed) if outer is not None else {}

    def text(self, size: Size) -> str:
        """Return source of a size, after lines for its calls."""
        return to_source(size, self.name, self.call)

    def call(self, call: Call) -> str:
        """Return the local of a call, after the line that computes it."""
        if call not in self.computed:
            source = call_source(call, self.name, self.call)  # numbers the calls inside first
            self.computed[call] = f"{self.prefix}{len(self.computed)}"
            self.lines.append(f"{self.computed[call]} = {source}")
        return self.computed[call]


def read_lines(
    metas: Sequence[TensorMeta], names: Mapping[InputAxis, str], shape: Callable[[int], str] = "x{}.shape".format
) -> list[str]:
    """Return lines that read axes into locals, each shape once; `shape` is the source of the shape of input i."""
    lines = []
    for i, meta in enumerate(metas):
        locals_ = [names.get(InputAxis(i, axis)) for axis in range(meta.rank)]
        axes = [axis for axis, name in enumerate(locals_) if name is not None]
        if len(axes) == 1:
            lines.append(f"{locals_[axes[0]]} = {_axis_source(shape(i), axes[0])}")
        elif axes:
            lines.append(f"{', '.join(name or '_' for name in locals_)} = {shape(i)}")
    return lines


def _axis_source(shape: str, axis: int) -> str:
    """Return the source of one size; the length of an array takes half the time of a shape, which is a new tuple."""
    array = shape.removesuffix(".shape")
    return f"len({array})" if axis == 0 and array != shape else f"{shape}[{axis}]"


@dataclass(eq=False)
class PrologueSource:
    """Writes the lines that leave each variable in its local, or raise InputSizeError.

    `local` names the variables; `shape` and `value` give the source of the shape and of the value of input i. `names`
    are the globals of the lines. Variables that nothing needs and nothing checks are not computed.
    """

    prologue: Prologue
    local: Mapping[DimVar, str]
    shape: Callable[[int], str]
    value: Callable[[int], str]

    names: dict[str, Any] = field(default_factory=dict)
    input_names: dict[Leaf, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.block: SourceBlock = SourceBlock(self._name, "e")

    def lines(self, needed: Collection[DimVar]) -> list[str]:
        """Return the lines that bind the needed variables and check the whole signature."""
        bindings = self._required_bindings(needed)
        self._write_reads(bindings)
        for binding in bindings:
            source = direct_input(binding)
            if source is None or self.input_names[source] != self.local[binding.variable]:
                self._write_binding(binding)
        if tests := self._mismatch_tests():
            self.block.lines.append(f"if {' or '.join(tests)}: {self._mismatch_call()}")
        computed = [*self.prologue.unproved_sizes.values(), *[size for b in bindings for size in b.sizes()]]
        if any(map(may_divide_by_zero, computed)) or not all(isinstance(b.divisor, int) for b in bindings):
            inner = ["    " + line for line in self.block.lines]
            return ["try:", *inner, "except ZeroDivisionError:", "    " + self._mismatch_call()]
        return self.block.lines

    def _name(self, leaf: Leaf) -> str:
        return self.local[leaf] if isinstance(leaf, DimVar) else self.input_names[leaf]

    def _required_bindings(self, needed: Collection[DimVar]) -> list[SizeBinding]:
        """Return the bindings to compute, in order: needed, checked, or read by such a binding."""
        wanted = {*needed, *[v for size in self.prologue.unproved_sizes.values() for v in expr.variables(size)]}
        wanted.update(binding.variable for binding, _, _ in self.prologue.unproved_bounds)
        required = []
        for binding in reversed(self.prologue.bindings):
            if binding.variable in wanted:
                required.append(binding)
                for size in binding.sizes():
                    wanted.update(expr.variables(size))
        return required[::-1]

    def _write_reads(self, bindings: Sequence[SizeBinding]) -> None:
        """Write lines that read the input sizes; an axis that is a variable is read into its local."""
        used = dict.fromkeys(a for b in bindings for a in expr.leaves_of(b.target) if not isinstance(a, DimVar))
        used |= dict.fromkeys(self.prologue.unproved_sizes)
        for binding in bindings:
            if (source := direct_input(binding)) is not None:
                self.input_names.setdefault(source, self.local[binding.variable])
        for leaf in used:
            if isinstance(leaf, RuntimeScalar):
                name = self.input_names.setdefault(leaf, f"d{leaf.operand}")
                self.block.lines.append(f"{name} = {self.value(leaf.operand)}")
            else:
                self.input_names.setdefault(leaf, f"d{leaf.operand}_{leaf.axis}")
        axes = {leaf: self.input_names[leaf] for leaf in used if isinstance(leaf, InputAxis)}
        self.block.lines += read_lines(self.prologue.metas, axes, self.shape)

    def _write_binding(self, binding: SizeBinding) -> None:
        """Write lines that leave the size of a variable in its local."""
        target, quadratic = self.block.text(binding.target), _quadratic(binding)
        if binding.curve is None:
            size = target if binding.divisor == 1 else f"{target} // {self.block.text(binding.divisor)}"
        elif quadratic is not None:
            self.names["_isqrt"] = math.isqrt
            only_axes = all(isinstance(leaf, InputAxis) for leaf in expr.leaves_of(binding.target))
            positive = only_axes and _never_negative(binding.target, quadratic)  # variables are not checked yet
            size = _root(quadratic, target, positive)
        else:
            return self._write_search(binding, binding.curve, target)
        self.block.lines.append(f"{self.local[binding.variable]} = {size}")

    def _write_search(self, binding: SizeBinding, curve: Size, target: str) -> None:
        """Write lines that search along the curve of a variable, unless a first guess is right."""
        self.names["_floor_inverse"] = floor_inverse
        local = self.local[binding.variable]
        inner = SourceBlock(lambda leaf: "t" if leaf is binding.variable else self._name(leaf), "t", self.block)
        result, guess = inner.text(curve), _guess(binding, target)
        lines = [f"def c{local}(t):", *[f"    {x}" for x in inner.lines], f"    return {result}"]
        arguments = f"c{local}, {target}, {binding.low}, {binding.high}{', t' if guess else ''}"
        lines.append(f"{local} = _floor_inverse({arguments})")
        if guess:
            test = f"if t < {binding.low} or {result} != {target}:"
            lines = [f"t = {guess}", *inner.lines, f"{local} = t", test, *[f"    {x}" for x in lines]]
        self.block.lines += lines

    def _mismatch_tests(self) -> list[str]:
        """Return the source of tests that are true where the call does not fit."""
        tests = []
        for binding, lower, upper in self.prologue.unproved_bounds:
            name = self.local[binding.variable]
            tests += [f"{name} < {lower}"] if lower is not None else []
            tests += [f"{name} > {upper}"] if upper is not None else []
        for source, size in self.prologue.unproved_sizes.items():
            tests.append(f"{self.input_names[source]} != {self.block.text(size)}")
        for i, _ in self.prologue.values:
            if self.prologue.metas[i].dtype == "uint64":
                tests.append(f"{self.value(i)} > {LARGEST_SIZE}")
        return tests

    def _mismatch_call(self) -> str:
        self.names["_mismatch"] = self.prologue.refuse
        return f"_mismatch({parameters(self.prologue)})"


def parameters(prologue: Prologue) -> str:
    """Return the parameters of a generated function of the inputs: `x0, x1`."""
    return ", ".join(f"x{i}" for i in range(len(prologue.metas)))


def _root(quadratic: _Quadratic, target: str, positive: bool) -> str:
    """Return source of the last v with (a*v*v + b*v + c) // d <= target."""
    a, b, c, d = quadratic
    factor, constant = (d, d - 1 - c) if a == 0 else (4 * a * d, b * b + 4 * a * (d - 1 - c))
    if quadratic == (1, 0, 0, 1):
        factor, constant = 1, 0
    inside = (f"{factor}*{target}" if factor != 1 else target) + (f" + {constant}" if constant else "")
    if a == 0:
        return f"({inside}) // {b}"
    root = f"_isqrt({inside})" if positive else f"_isqrt(max(0, {inside}))"
    return root if factor == 1 else f"({root} - {b}) // {2 * a}"


def _guess(binding: SizeBinding, target: str) -> str:
    """Return source of a first guess: where the two leading terms of the curve meet the target; "" without one."""
    if (polynomial := _polynomial(binding)) is None or not isinstance(expr.as_atom(binding.target), InputAxis):
        return ""  # the size of an axis alone is never negative, and a float holds it
    powers, divisor = polynomial
    if (top := max(powers)) < 3 or powers[top] < 1 or max(divisor, abs(powers.get(top - 1, 0))) > LARGEST_SIZE:
        return ""
    shift = 0.5 - powers.get(top - 1, 0) / (top * powers[top])
    factor = "" if divisor == powers[top] else f"{divisor / powers[top]!r}*"
    power = f"{target}**{1 / top!r}" if not factor else f"({factor}{target})**{1 / top!r}"
    return f"int({power} {'-' if shift < 0 else '+'} {abs(shift)!r})"


# -- functions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solver:
    """Compiled prologue: it returns each size by its variable, or raises InputSizeError.

    Its arguments are the shapes of the inputs, an int for an integer value, or arrays. `run` returns the sizes in the
    order of `variables` and assumes the right ranks.
    """

    variables: tuple[DimVar, ...]
    run: Callable[..., tuple[int, ...]]
    source: str

    def __call__(self, *shapes: Any) -> dict[DimVar, int]:
        return dict(zip(self.variables, self.run(*shapes), strict=True))


def compile_solver(
    metas: Sequence[TensorMeta],
    names: Sequence[str] = (),
    values: Mapping[int, Size] | None = None,
    conditions: Sequence[Condition] = (),
    *,
    arrays: bool = False,
    program: str = "",
) -> Solver:
    """Compile the function that binds the variables of a signature from shapes, or from arrays.

    It uses the constraints among the conditions and leaves their check to the caller.
    """
    labels = tuple(names) or tuple(f"args[{i}]" for i in range(len(metas)))
    bindings = solve_dims(metas, values, conditions)
    return compile_prologue(
        Prologue(program, labels, tuple(metas), tuple((values or {}).items()), bindings), arrays=arrays
    )


def compile_prologue(prologue: Prologue, *, arrays: bool = False) -> Solver:
    """Compile the function that binds the variables of a prologue from shapes, or from arrays."""
    local = {b.variable: f"n{i}" for i, b in enumerate(prologue.bindings)}
    shape, value = ("x{}.shape".format, "int(x{})".format) if arrays else ("x{}".format, "x{}".format)
    writer = PrologueSource(prologue, local, shape, value)
    body = "\n    ".join([*writer.lines(local), f"return ({''.join(f'{n}, ' for n in local.values())})"])
    source = f"def solve({parameters(prologue)}):\n    {body}\n"
    space = dict(writer.names)
    exec(compile(source, "<anyshape solver>", "exec"), space)
    return Solver(tuple(local), space["solve"], source)
