"""Errors about sizes, shapes and specifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.errors import messages
from anyshape.errors.base import AnyshapeError


class ShapeError(AnyshapeError, ValueError, IndexError):
    """The sizes of the operands of a primitive cannot agree."""

    advice = "change the operands so that NumPy would accept them"

    def __init__(
        self, primitive: str, why: str, operands: Sequence[object] = (), where: object = None, advice: str = ""
    ) -> None:
        self.primitive, self.why, self.operands, self.where = primitive, why, tuple(operands), where
        self.advice = advice or self.advice
        super().__init__(f"{messages.operation(primitive, where)}: {why}{messages.at(where)}\n  {self.advice}")


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis that the array does not have."""

    def __init__(self, primitive: str, axis: int, ndim: int, where: object = None) -> None:
        problem = f"axis {axis} is out of bounds for array of dimension {ndim}"
        advice = f"name an axis from {-ndim} to {ndim - 1}" if ndim else "leave it out: the array has no axes"
        super().__init__(primitive, problem, (), where, advice)
        self.args = (str(self),)  # NumPy's class has a message or these fields, in slots; this one has both
        self.axis, self.ndim = axis, ndim

    def __str__(self) -> str:
        return self.args[0] if self.axis is not None else super().__str__()

    def __reduce__(self) -> Any:
        return type(self), (self.primitive, self.axis, self.ndim, self.where)


class SizeMismatchError(ShapeError):
    """A condition that a program needs of the sizes of its inputs does not hold at this call.

    `claim` is the condition and `sizes` holds the sizes that it is about, by where they are read or by declared name.
    `sources` says where the sizes with declared names are read. `why` is the reason for the condition.
    """

    advice = "call it with sizes that satisfy this"

    def __init__(
        self,
        primitive: str,
        claim: str,
        sizes: Mapping[str, int],
        why: str,
        where: object = None,
        sources: Mapping[str, str] | None = None,
        demand: str = "",
        advice: str = "",
    ) -> None:
        self.claim, self.sizes, self.sources, reason = claim, dict(sizes), dict(sources or {}), why
        if not demand:
            read = messages.read_sizes(self.sizes, self.sources)
            demand = f"{why}; {claim} does not hold{f' for {read}' if read else ''}"
        super().__init__(primitive, demand, (), where, advice)
        self.why = reason


class IndexRangeError(ShapeError):
    """An index that a program computed lies outside its axis, or the window there does. Nothing has been written."""

    advice = "keep indices within the axis, or say what is to happen: mode='clip', or mode='fill' or 'drop'"

    def __init__(self, primitive: str, index: int, axis: int, size: int, window: int = 1, where: object = None) -> None:
        self.index, self.axis, self.size, self.window = index, axis, size, window
        super().__init__(primitive, messages.out_of_range(index, axis, size, window), (), where)


class ViewError(ShapeError):
    """A strided view cannot be seen in another shape without moving elements.

    `failed` is "divisibility", "contiguity" or "mask"; `axes` are those of the view that it failed for.
    """

    advice = "copy the elements into C order first"

    def __init__(
        self,
        shape: Sequence[object],
        strides: Sequence[object],
        new: Sequence[object],
        failed: str,
        axes: Sequence[int],
        why: str,
    ) -> None:
        self.shape, self.strides, self.new = tuple(shape), tuple(strides), tuple(new)
        self.failed, self.axes = failed, tuple(axes)
        was, steps, asked = (f"({', '.join(map(str, s))})" for s in (shape, strides, new))
        super().__init__("view.reshape", f"{was} with strides {steps} cannot become {asked}: {failed}: {why}")


class InputSizeError(SizeMismatchError):
    """An input of a call has a size that its specification does not allow.

    `path` and `axis` name the input and its axis (None: the value of an integer), `spec` is what was declared of it and
    `actual` what it is. `known` are the sizes that the specification is read with, as (text, size, where from);
    `remainder` is what a division leaves over, if that is the reason, and None otherwise.
    """

    def __init__(
        self,
        program: str,
        path: str,
        axis: int | None,
        spec: str,
        actual: int,
        known: Sequence[tuple[str, int, str]] = (),
        reason: str = "",
        advice: str = "",
        remainder: int | None = None,
    ) -> None:
        self.path, self.axis, self.spec, self.actual = path, axis, spec, actual
        self.known, self.reason, self.remainder = tuple(known), reason, remainder
        place = path if axis is None else f"{path}.shape[{axis}]"
        self.primitive, self.why, self.operands, self.where = program, f"{place} does not fit {spec}", (), None
        self.claim, self.sizes = f"{place} == {spec}", {place: actual, **{name: size for name, size, _ in known}}
        self.sources = {name: source for name, _, source in known if source}
        read = [f"{name} = {size}{messages.read_from(name, source)}" for name, size, source in known]
        given = ", ".join(messages.few(read))
        left = f"remainder {remainder}" if remainder is not None else reason
        first = f"{place} = {actual} does not fit {spec}{f' ({given})' if given else ''}{f': {left}' if left else ''}"
        self.advice = advice or self.advice
        AnyshapeError.__init__(self, f"{program + ': ' if program else ''}{first}\n  {self.advice}")


class ZeroDivisorError(SizeMismatchError, ZeroDivisionError):
    """A size that numbers of Python's are divided by is 0 at this call."""


class SpecError(AnyshapeError, ValueError):
    """A shape specification cannot be read, or sizes do not fit it."""

    def __init__(self, spec: str, problem: str, advice: str, column: int | None = None) -> None:
        self.spec, self.problem, self.advice, self.column = spec, problem, advice, column
        pointer = "" if column is None else "\n  {}\n  {}^".format(*messages.window(spec, column))
        super().__init__(f"{messages.shortened(spec)!r}: {problem}{pointer}\n  {advice}")


class ContradictionError(SpecError):
    """A constraint was declared that no sizes satisfy together with those before it; `core` are those that clash."""

    def __init__(self, constraint: str, core: Sequence[str], where: object = None) -> None:
        self.core, self.where = tuple(core), where
        others = [c for c in self.core if c != constraint]
        clash = f"contradicts {' and '.join(others)}" if others else "holds for no sizes"
        super().__init__(constraint, f"{clash}{messages.at(where)}", "drop or weaken one of these constraints")


class UndeterminedSizeError(SpecError):
    """The inputs of a program do not give one of its sizes, whatever they are.

    `equations` are what they say of it; `same`, if two choices of sizes were found that no call can tell apart, holds
    both. `repeated`: the equations follow from one another. `missing` is a constraint that would be enough.
    """

    def __init__(
        self,
        variable: str,
        equations: Sequence[str],
        repeated: bool = False,
        same: tuple[Mapping[str, int], Mapping[str, int]] | None = None,
        missing: str = "",
    ) -> None:
        self.variable, self.equations, self.repeated = variable, tuple(equations), repeated
        self.same, self.missing = same, missing
        told, problem, advice = messages.undetermined(variable, self.equations, repeated, same, missing)
        super().__init__(told, problem, advice)


class ScopeMismatchError(AnyshapeError, ValueError):
    """Sizes of two scopes met: their names and constraints have nothing to do with each other."""

    def __init__(self, sizes: Sequence[str], origins: Sequence[object], where: object = None) -> None:
        self.sizes, self.origins, self.where = tuple(sizes), tuple(origins), where
        problem = f"cannot mix sizes of different scopes{messages.at(where)}: {messages.made(sizes, origins)}"
        super().__init__(f"{problem}\n  make them in one symbolic_shape, or pass the same scope= to each")


class SizeLimitError(AnyshapeError, OverflowError):
    """An expression over sizes grew beyond a limit that keeps work on it bounded."""

    def __init__(self, what: str, observed: int, limit: int) -> None:
        self.what, self.observed, self.limit = what, observed, limit
        advice = "give the intermediate size a name of its own, as an axis of an input or in a specification"
        super().__init__(f"an expression over sizes has {observed} {what}; the limit is {limit}\n  {advice}")


class InconclusiveDimensionError(AnyshapeError, TypeError):
    """Python asked a question about a size whose answer differs between the sizes the program is to serve.

    `witnesses` holds sizes for each answer that were tried out; one is missing where none was found. `size` is the size
    whose value was asked for, if that was the question.
    """

    def __init__(
        self,
        claim: str,
        witnesses: Mapping[bool, Mapping[str, int]],
        where: object = None,
        constraints: Sequence[str] = (),
        size: str = "",
    ) -> None:
        self.claim, self.where, self.constraints, self.size = claim, where, tuple(constraints), size
        self.witnesses = {answer: dict(w) for answer, w in witnesses.items()}
        verdict, found, advice = messages.decided(self.witnesses, size)
        given = f" with {' and '.join(self.constraints)}" if self.constraints else ""
        first = f"{messages.written(where, claim)}{claim} is {verdict}{given} ({found}){messages.at(where)}"
        super().__init__(f"{first}\n  {advice}")


class SpecializationError(InconclusiveDimensionError):
    """A size that was declared to stay dynamic would have been bound to some of its values.

    `size` is the size, `constant` the number it was inferred to be, or None where a decision only narrows it; `sizes`
    are those of the call.
    """

    def __init__(
        self, size: str, claim: str, sizes: Mapping[str, int], constant: int | None, why: str, where: object = None
    ) -> None:
        self.size, self.constant, self.why, self.where = size, constant, why, where
        self.claim, self.sizes, self.constraints, self.witnesses = claim, dict(sizes), (), {}
        AnyshapeError.__init__(self, messages.specialised(size, self.sizes, constant, why, where))
