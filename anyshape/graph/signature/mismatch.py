"""Why a call does not fit its signature: sizes are solved for once more, slowly, up to the first that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

from anyshape.errors import InputSizeError, SizeMismatchError
from anyshape.graph.prover.claim_text import SizeNames
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.signature.dim_equations import Place, SizeBinding, leaves, places
from anyshape.graph.signature.size_names import size_names
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate
from anyshape.graph.sizes.expr import DimExpr, DimVar, Leaf, RuntimeScalar, Size
from anyshape.graph.sizes.intervals import Bound

_Known: TypeAlias = list[tuple[str, int, str]]  # of an error: text, size, where from
LARGEST = 2**63 - 1  # no array has a size beyond it


def largest(curve: Callable[[int], int], target: int, low: int, high: Bound = None, guess: int = 0) -> int:
    """The last size from `low` on, up to `high`, where a curve that rises there is not above the target.

    It is `low` when there is none. Takes steps in the logarithm of the distance from the guess. Of a curve that does
    not rise after all, as the sizes that it depends on are wrong, it is any size.
    """
    start, step = max(low, guess if high is None else min(guess, high)), 1
    if start > low and curve(start) > target:
        top = start - 1
        while start - step > low and curve(start - step) > target:
            top = start - step - 1
            step *= 2
        low = max(low, start - step)
    else:
        low = start
        while (high is None or low + step <= high) and curve(low + step) <= target:
            low += step
            step *= 2
            if high is None and step > LARGEST:
                high = low + max(0, target - curve(low))  # a curve that rises does so by 1 at least
        top = low + step - 1 if high is None else max(low, min(low + step - 1, high))
    while low < top:
        middle = (low + top + 1) // 2
        if curve(middle) <= target:
            low = middle
        else:
            top = middle - 1
    return low


@dataclass(frozen=True)
class Signature:
    """What the inputs of a program are to be, and how its variables are found from them.

    `values` are the sizes that scalar integer inputs give by their value, by position. An input without a name is not
    the caller's, and not mentioned.
    """

    program: str
    names: tuple[str, ...]
    metas: tuple[TensorMeta, ...]
    values: tuple[tuple[int, Size], ...]
    solved: tuple[SizeBinding, ...]

    @cached_property
    def shown(self) -> dict[Place, Size]:
        """Everything a call shows, with the size that it is to be."""
        return dict(places(self.metas, dict(self.values)))

    @cached_property
    def sources(self) -> dict[DimVar, tuple[Place, ...]]:
        """The places that each variable is found from, through others too."""
        found: dict[DimVar, tuple[Place, ...]] = {}
        for solved in self.solved:
            used = [leaf for size in solved.sizes() for leaf in leaves(size) if leaf is not solved.variable]
            places_of = [found[leaf] if isinstance(leaf, DimVar) else (leaf,) for leaf in used]
            found[solved.variable] = tuple(dict.fromkeys(p for several in places_of for p in several))
        return found

    def texts(self, found: Iterable[Place]) -> str:
        """The places as the caller knows them."""
        names = [(p, self.names[p.operand]) for p in found]
        return " and ".join(n if isinstance(p, RuntimeScalar) else f"{n}.shape[{p.axis}]" for p, n in names if n)

    @cached_property
    def size_names(self) -> SizeNames:
        """How errors call the sizes."""
        return size_names(self.solved, self.names)

    def violated(self, condition: Condition, *sizes: int) -> NoReturn:
        """Raise the error for a condition that does not hold for these sizes of its variables."""
        raise condition.error(dict(zip(condition.claim.variables(), sizes, strict=True)), self.size_names)

    def refuse(self, *inputs: Any) -> NoReturn:
        """Raise the error for inputs (arrays, or their shapes) that do not fit."""
        raise find_mismatch(self, inputs)


def find(solved: SizeBinding, sizes: Callable[[Leaf], int]) -> int:
    """The size of a variable, where those it depends on are known."""
    target = evaluate(solved.target, sizes)
    if solved.curve is None:
        return target // evaluate(solved.divisor, sizes)
    return largest(_curve(solved, solved.curve, sizes), target, solved.low, solved.high)


def _curve(solved: SizeBinding, size: Size, sizes: Callable[[Leaf], int]) -> Callable[[int], int]:
    return lambda t: evaluate(size, lambda leaf: t if leaf is solved.variable else sizes(leaf))


class _Call:
    """The sizes of one call as far as they are known, and where each was read."""

    def __init__(self, signature: Signature, inputs: tuple[Any, ...]) -> None:
        self.signature = signature
        self.sizes: dict[Leaf, int] = {place: read_input(place, inputs) for place in signature.shown}

    def value(self, size: Size) -> int:
        return evaluate(size, self.sizes.__getitem__)

    def source(self, size: Size) -> tuple[Place, ...]:
        """The places that a size was computed from."""
        found = [p for v in expr.variables(size) for p in self.signature.sources[v]]
        return tuple(dict.fromkeys(found))

    def knows(self, size: Size) -> bool:
        return all(leaf in self.sizes for leaf in leaves(size))

    def known(self, size: Size, without: DimVar | None, others: Sequence[Place] = ()) -> _Known:
        """What the variables of a size are, and what other places say."""
        variables = [v for v in expr.variables(size) if v is not without and v in self.sizes]
        s = self.signature
        told = [(str(v), self.sizes[v], s.texts(s.sources[v])) for v in variables]
        return told + [(str(s.shown[p]), self.sizes[p], s.texts([p])) for p in others]

    def error(
        self, place: Place, known: _Known, reason: str, advice: str = "", remainder: int | None = None
    ) -> InputSizeError:
        axis = None if isinstance(place, RuntimeScalar) else place.axis
        s = self.signature
        spec, actual = str(s.shown[place]), self.sizes[place]
        return InputSizeError(s.program, s.names[place.operand], axis, spec, actual, known, reason, advice, remainder)


def read_input(place: Place, inputs: Sequence[Any]) -> int:
    """What a call with these inputs, or shapes, shows at a place."""
    x = inputs[place.operand]
    if isinstance(place, RuntimeScalar):
        return int(x)
    return int(getattr(x, "shape", x)[place.axis])


def find_mismatch(signature: Signature, inputs: tuple[Any, ...]) -> SizeMismatchError:
    """The error for the first size that does not fit."""
    call = _Call(signature, inputs)
    for place in signature.shown:
        if call.sizes[place] > LARGEST:
            return call.error(place, [], "no array is that large", f"make it at most {LARGEST}")
    for solved in signature.solved:
        wrong = _unsolved(call, solved)
        if wrong is not None:
            return wrong
    for place, size in signature.shown.items():
        error = _unequal(call, place, size)
        if error is not None:
            return error
    raise AssertionError(f"{signature.program}: the sizes fit after all")


def _unequal(call: _Call, place: Place, size: Size) -> InputSizeError | None:
    """The error of an axis that differs from what the variables make of it."""
    known = call.known(size, None)
    try:
        expected = call.value(size)
    except ZeroDivisionError:
        return call.error(place, known, "it divides by 0")
    if expected == call.sizes[place]:
        return None
    others = [p for p in call.source(size) if p != place]
    texts = call.signature.texts(others)
    change = f", or change {texts}" if texts else ""
    return call.error(place, known if others else [], "", f"make it {expected}{change}")


def _unsolved(call: _Call, solved: SizeBinding) -> SizeMismatchError | None:
    """Find one variable, or give the error that says why there is none."""
    variable, shown = solved.variable, call.signature.shown
    sources = call.signature.sources[variable]
    if not sources:
        return _undeclared(call, solved)
    place = next((p for p in sources if variable in expr.variables(shown[p])), sources[0])
    others = [p for p in leaves(solved.target) if not isinstance(p, DimVar) and p != place]
    known = call.known(shown[place], variable, others)
    try:
        return _missed(call, solved, place, known)
    except ZeroDivisionError:
        return call.error(place, known, "it divides by 0")


def _undeclared(call: _Call, solved: SizeBinding) -> SizeMismatchError | None:
    """Find a variable that is the same at every call; it is wrong when what was declared of it has no solution."""
    variable = solved.variable
    value = call.sizes[variable] = find(solved, call.sizes.__getitem__)
    if value >= variable.lower and (variable.upper is None or value <= variable.upper):
        return None
    why = f"no {variable} satisfies what was declared of it"
    return SizeMismatchError(call.signature.program, str(solved), {str(variable): value}, why)


def _missed(call: _Call, solved: SizeBinding, place: Place, known: _Known) -> InputSizeError | None:
    """Find a variable from places, or give the error of the first of them that has to do with it."""
    variable = solved.variable
    target, factor, rest, problem = call.value(solved.target), call.value(solved.divisor), 0, ""
    if solved.curve is not None:
        value, problem = _on_curve(call, solved, solved.curve, place, target)
    elif factor == 0:
        of_its_own = variable in expr.variables(call.signature.shown[place])
        left = expr.mul(solved.divisor, expr.from_atom(variable))
        return call.error(place, known, f"{solved.divisor} is 0" if of_its_own else f"{left} is to be {target}")
    else:
        value, rest = divmod(target, factor)
    call.sizes[variable] = value
    if rest and place in leaves(solved.target):
        whole = [n for n in (call.sizes[place] - rest, call.sizes[place] - rest + factor) if n >= 0]
        alone = isinstance(solved.target, DimExpr) and dict(solved.target.terms).get(((place, 1),)) == 1
        advice = f"make it a size without a remainder, such as {' or '.join(map(str, whole))}" if alone else ""
        return call.error(place, known, "", advice, rest)
    if problem:
        return call.error(place, known, problem)
    return _out_of_range(call, solved, place, known)


def _on_curve(call: _Call, solved: SizeBinding, size: Size, place: Place, target: int) -> tuple[int, str]:
    """The variable of a curve, and what is wrong when the curve misses the target."""

    curve, value = _curve(solved, size, call.sizes.__getitem__), find(solved, call.sizes.__getitem__)
    if curve(value) == target:
        return value, ""
    near = [t for t in (value, value + 1) if solved.high is None or t <= solved.high]
    sizes = " and ".join(f"{call.sizes[place] - target + curve(t)} for {solved.variable} = {t}" for t in near)
    return value, f"the nearest are {sizes}" if len(near) > 1 else f"the nearest is {sizes}"


def _out_of_range(call: _Call, solved: SizeBinding, place: Place, known: _Known) -> InputSizeError | None:
    """The error of a variable that is not in its declared range, or is negative."""
    variable, value = solved.variable, call.sizes[solved.variable]
    low, high = variable.lower, variable.upper
    if value >= low and (high is None or value <= high):
        return None
    bound = low if value < low or high is None else high
    side = "least" if value < low else "most"
    spec = call.signature.shown[place]
    alone = expr.as_atom(spec) is variable
    reason = f"{variable} is at {side} {bound}" if alone else f"{variable} would be {value}, and is at {side} {bound}"
    wanted = evaluate(spec, {**call.sizes, variable: bound}.__getitem__) if call.knows(spec) else call.sizes[place]
    helps = wanted > call.sizes[place] if value < low else wanted < call.sizes[place]
    return call.error(place, known, reason, f"make it at {side} {wanted}" if helps else "")
