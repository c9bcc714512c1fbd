"""Signature mismatch: the error for a call whose sizes do not fit. Variables are bound again, up to the first mismatch.

Generated code detects a mismatch fast, without details. This module then builds the message, slowly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from anyshape.errors import InputSizeError, SizeMismatchError
from anyshape.graph.signature.dim_equations import InputSize, SizeBinding
from anyshape.graph.signature.input_signature import Signature
from anyshape.graph.signature.solve_binding import curve_function, read_input, solve_binding
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate
from anyshape.graph.sizes.expr import DimExpr, DimVar, Leaf, RuntimeScalar, Size
from anyshape.graph.sizes.limits import LARGEST_SIZE
from anyshape.support.lazy_namedtuple import NamedTuple

_Context: TypeAlias = list[tuple[str, int, str]]  # sizes that explain an error: text, size, where it is from


def find_mismatch(signature: Signature, inputs: tuple[Any, ...]) -> SizeMismatchError:
    """Return the error for the first size that does not fit; `inputs` are arrays or their shapes."""
    error = next(_mismatches(_Call(signature, inputs)), None)
    if error is None:
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
        error = _bind(call, binding)
        if error is not None:
            yield error
    for source, size in declared.items():
        error = _compare(call, source, size)
        if error is not None:
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
    sources = call.signature.sources[variable]
    if not sources:
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
