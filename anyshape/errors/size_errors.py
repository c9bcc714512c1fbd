"""Define the errors about sizes, shapes and specifications."""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.errors import messages
from anyshape.errors.messages import AnyshapeError

# Checks and reasons of conditions that do not hold where NumPy divides by zero.
DIVISIONS = {
    *("division by zero", "float division by zero", "float floor division by zero", "complex division by zero"),
    *("float modulo by zero", "float divmod()", "0.0 to a negative or complex power"),
    "0.0 cannot be raised to a negative power",
    "average: the weights sum to zero",
    "cov: the weights sum to zero",
    "the average of no elements divides by zero",
    "the frequencies of no points divide by zero",
}
# Beginnings of the reasons, up to a comma, for which NumPy raises LinAlgError.
MATRICES = {
    "matrices must be square",
    "the condition number of an empty matrix is not defined",
    "incompatible dimensions",
}
_ADVICE = (  # what to do, by what the reason says
    ("can be -1", "leave one -1, and write the other sizes"),
    (r"\bvector\b|(must|needs?|with|of).* one axis", "pass an array of one axis, such as x.ravel()"),
    ("axes must differ|each once|each axis once|not different axes", "name each axis once, counted from 0"),
    ("is not one of|is not '", "write one of these"),
    ("cannot be zero|is 0$|is NaN", "give a number that is not 0 or NaN"),
    ("as many|one start for each", "give one for each axis"),
    (r"\baxes\b|matri[xc]", "add axes with x[None], or take some away with x[0]"),
    ("negative", "give a number that is 0 or more"),
    ("larger sample", "draw fewer of them, or write replace=True"),
    (r"\d or more|at least", "give a larger number"),
    (r"\bhave\b.*values|differ in|same (number|length|size)", "give as many of one as of the other"),
    ("", "pass operands of which this is not so: NumPy and SciPy refuse it too"),
)
NO_TRANSFORM = "a cosine transform of type 1 needs two points"  # where SciPy raises RuntimeError


_BUILTINS = (  # what NumPy raises by operation and reason, the first that fits
    (re.compile(r"^(ix_|place|qr_insert|qr_delete): "), ValueError),
    (re.compile("does not fit axis"), IndexError),
    (re.compile(r": .*(\b(index|indices|position|kth|mask)\b|out of bounds)"), IndexError),
    (re.compile(r"^((polyfit|(bi)?splrep): (?!.*exceed)|curve_fit: .*fewer)"), TypeError),
    (re.compile(""), ValueError),
)


class ShapeError(AnyshapeError):
    """Raised where the sizes of operands do not fit each other.

    It is a ValueError, an IndexError or a TypeError too, as what NumPy raises there.
    """

    advice: str = ""

    def __init__(
        self, primitive: str, why: str, operands: Sequence[object] = (), where: object = None, advice: str = ""
    ) -> None:
        self.primitive, self.why, self.operands, self.where = primitive, why, tuple(operands), where
        self.advice = advice or self.advice or next(text for part, text in _ADVICE if re.search(part, why))
        super().__init__(f"{messages.operation(primitive, where)}: {why}{messages.at(where)}\n  {self.advice}")
        self.be_as_numpys(f"{primitive}: {why}")

    def __new__(cls, *args: Any, **_: Any) -> Any:
        kind = cls if issubclass(cls, _OF_NUMPY) else _also(cls, ValueError)  # type: ignore[arg-type]
        return BaseException.__new__(kind, *args)

    def be_as_numpys(self, said: str) -> None:
        """Be the built-in error that NumPy raises for a reason."""
        if "is_also" in vars(type(self)):
            self.__class__ = _also(type(self).__bases__[0], next(kind for part, kind in _BUILTINS if part.search(said)))

    def __reduce__(self) -> Any:
        own = type(self)
        return (_remade, (*own.__bases__, self.args), self.__dict__) if "is_also" in vars(own) else super().__reduce__()


_OF_NUMPY = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)


@functools.cache
def _also(kind: type[ShapeError], builtin: type[Exception]) -> type[ShapeError]:
    """Return a class of error that is one of Python's too, by the same name."""
    return type(
        kind.__name__, (kind, builtin), {"__module__": kind.__module__, "__doc__": kind.__doc__, "is_also": True}
    )


def _remade(kind: type[ShapeError], builtin: type[Exception], args: tuple[Any, ...]) -> ShapeError:
    """Return a copy of an error with this message."""
    error: ShapeError = BaseException.__new__(_also(kind, builtin))  # type: ignore[arg-type]  # classes have hashes
    error.args = args
    return error


class AxisError(ShapeError, np.exceptions.AxisError):
    """Raised for an axis that the array does not have."""

    def __init__(self, primitive: str, axis: int, ndim: int, where: object = None) -> None:
        problem = f"axis {axis} is out of bounds for array of dimension {ndim}"
        advice = f"name an axis from {-ndim} to {ndim - 1}" if ndim else "leave it out: the array has no axes"
        super().__init__(primitive, problem, (), where, advice)
        self.args = (super().__str__(),)  # NumPy's class has a message or these fields, in slots; this one has both
        self.axis, self.ndim = axis, ndim

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> Any:
        return type(self), self.args if self.axis is None else (self.primitive, self.axis, self.ndim, self.where)


class SizeMismatchError(ShapeError):
    """Raised where a condition on the sizes of the inputs does not hold for a call.

    - `claim` is the condition, and `why` the reason for it.
    - `sizes` are the sizes in the claim, by the axis that they are read off or by declared name.
    - `sources` says where the sizes with declared names are read.
    """

    advice: str = "call it with sizes that satisfy this"

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
        self.be_as_numpys(f"{primitive}: {reason}")


class IndexRangeError(ShapeError, IndexError):
    """Raised where a computed index, or the window that starts there, lies outside its axis. Nothing is written."""

    advice: str = "keep indices within the axis, or choose mode='clip', mode='fill' or mode='drop'"

    def __init__(self, primitive: str, index: int, axis: int, size: int, window: int = 1, where: object = None) -> None:
        self.index, self.axis, self.size, self.window = index, axis, size, window
        super().__init__(primitive, messages.out_of_range(index, axis, size, window), (), where)


class RaggedBatchError(ShapeError):
    """Raised where a size depends on data, and the examples of a `vmap` have different sizes.

    `shapes` are the shapes of the parts of the result, by example: of the first one, and of one that differs.
    """

    advice: str = "write anyshape.ragged_map in place of vmap, or keep one size with np.where(mask, x, 0) for x[mask]"

    def __init__(
        self, primitive: str, shapes: Mapping[tuple[int, ...], tuple[int, ...]], where: object = None, advice: str = ""
    ) -> None:
        self.shapes = dict(shapes)
        super().__init__(primitive, messages.ragged(self.shapes), (), where, advice)


class ViewError(ShapeError):
    """Raised where a strided view cannot take another shape without moving elements.

    `failed` is "divisibility", "contiguity" or "mask", and `axes` are the axes of the view for which it failed.
    """

    advice: str = "copy the elements into C order first"

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


class InputSizeError(SizeMismatchError, ValueError):
    """Raised for an input whose size its specification does not allow.

    - `path` and `axis` name the input and its axis; the axis is None for the value of an integer.
    - `spec` is the declared size, and `actual` the size of the call.
    - `known` are the sizes that the specification is read with, as (text, size, source).
    - `remainder` is the remainder of a division, if that is the reason, and None otherwise.
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
        name = path if axis is None else f"{path}.shape[{axis}]"
        self.primitive, self.why, self.operands, self.where = program, f"{name} does not fit {spec}", (), None
        self.claim, self.sizes = f"{name} == {spec}", {name: actual, **{text: size for text, size, _ in known}}
        self.sources = {text: source for text, _, source in known if source}
        read = [f"{text} = {size}{messages.read_from(text, source)}" for text, size, source in known]
        stated = ", ".join(messages.few(read))
        left = f"remainder {remainder}" if remainder is not None else reason
        first = f"{name} = {actual} does not fit {spec}{f' ({stated})' if stated else ''}{f': {left}' if left else ''}"
        self.advice = advice or self.advice
        AnyshapeError.__init__(self, f"{program + ': ' if program else ''}{first}\n  {self.advice}")


class ZeroDivisorError(SizeMismatchError, ZeroDivisionError):
    """Raised where Python or NumPy divides by a size that is 0 at this call."""


class MatrixSizeError(SizeMismatchError, np.linalg.LinAlgError):
    """Raised where an operand is not a matrix, not square, or without elements, and NumPy raises LinAlgError."""


class TransformSizeError(SizeMismatchError, RuntimeError, ValueError):
    """Raised where a cosine transform of type 1 has fewer than two points.

    SciPy raises RuntimeError for one point, and ValueError for none.
    """


def kind_of_reason(why: str) -> type[SizeMismatchError] | None:
    """Return the class of error for a condition with this reason; None where it is the one of all conditions."""
    if why in DIVISIONS:
        return ZeroDivisorError
    if why.partition(",")[0] in MATRICES:
        return MatrixSizeError
    return TransformSizeError if why == NO_TRANSFORM else None


class SpecError(AnyshapeError, ValueError):
    """Raised for a shape specification that cannot be read, or that sizes do not fit."""

    where: object = None

    def __init__(self, spec: str, problem: str, advice: str, column: int | None = None) -> None:
        self.spec, self.problem, self.advice, self.column = spec, problem, advice, column
        pointer = "" if column is None else "\n  {}\n  {}^".format(*messages.window(spec, column))
        super().__init__(f"{messages.shortened(spec)!r}: {problem}{pointer}\n  {advice}")


class UnprovedClaimError(SpecError):
    """Raised where an operation on declared sizes needs a claim that does not follow from what is declared.

    `claim` is the claim, and `witnesses` has sizes for which it is true and sizes for which it is false.
    """

    def __init__(self, spec: str, why: str, claim: str, witnesses: Mapping[bool, Mapping[str, int]]) -> None:
        self.claim, self.witnesses = claim, {answer: dict(sizes) for answer, sizes in witnesses.items()}
        against = ", ".join(f"{name} = {size}" for name, size in self.witnesses.get(False, {}).items())
        example = f" (false for {against})" if against else ""
        problem = f"{why}, unless {claim}, which does not follow{example}"
        super().__init__(spec, problem, "declare it as a constraint, or bind the sizes")


class ContradictionError(SpecError):
    """Raised for a constraint that no sizes satisfy together with earlier ones; `core` are the clashing ones."""

    def __init__(self, constraint: str, core: Sequence[str], where: object = None) -> None:
        self.core, self.where = tuple(core), where
        others = [c for c in self.core if c != constraint]
        clash = f"contradicts {' and '.join(others)}" if others else "holds for no sizes"
        super().__init__(constraint, f"{clash}{messages.at(where)}", "drop or weaken one of these constraints")


class UndeterminedSizeError(SpecError):
    """Raised where no call determines one of the sizes of a program.

    - `equations` are the equations that the inputs give for it; with `repeated`, they follow from one another.
    - `same` holds two choices of sizes that no call can tell apart, if some were found.
    - `missing` is a constraint that would be enough.
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
        stated, problem, advice = messages.undetermined(variable, self.equations, repeated, same, missing)
        super().__init__(stated, problem, advice)


class ScopeMismatchError(AnyshapeError, ValueError):
    """Raised where sizes of two scopes are mixed: their names and constraints are unrelated."""

    def __init__(self, sizes: Sequence[str], origins: Sequence[object], where: object = None) -> None:
        self.sizes, self.origins, self.where = tuple(sizes), tuple(origins), where
        problem = f"cannot mix sizes of different scopes{messages.at(where)}: {messages.scope_origins(sizes, origins)}"
        advice = "make them in one symbolic_shape, or pass the same scope= to each"
        if len({*map(str, origins)}) == 1 and None not in origins:
            advice = "each call makes a scope: make them by one call, as in symbolic_shape('n, m'), or pass scope="
        super().__init__(f"{problem}\n  {advice}")


class SizeLimitError(AnyshapeError, OverflowError):
    """Raised for a size expression beyond a limit that bounds the work on it."""

    def __init__(self, kind: str, observed: int, limit: int) -> None:
        self.kind, self.observed, self.limit = kind, observed, limit
        advice = "give the intermediate size a name of its own, as an axis of an input or in a specification"
        super().__init__(f"an expression over sizes has {observed} {kind}; the limit is {limit}\n  {advice}")


class InconclusiveDimensionError(AnyshapeError, TypeError):
    """Raised where Python decides on a size while a program is traced for all sizes, and the outcomes differ.

    `witnesses` holds sizes for each outcome. An outcome is missing where none were found. `size` is the size whose
    value Python needs, if it needs one. `decision` is the open comparison, if there is one.
    """

    decision: Any = None

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
        verdict, evidence, advice = messages.decided(self.witnesses, size)
        if size and where is not None and not messages.line_text(where):
            advice = "write the function in a file or a notebook: its source is not at hand, which loops and sizes need"
        under = f" with {' and '.join(self.constraints)}" if self.constraints else ""
        first = f"{messages.written(where, claim)}{claim} is {verdict}{under} ({evidence}){messages.at(where)}"
        super().__init__(f"{first}\n  {advice}")


class SizePathsError(AnyshapeError, TypeError):
    """Raised where a function decides on sizes too often for one program: `claim` is the decision beyond the limit.

    `decisions` were followed both ways before it, `depth` of them in a row.
    """

    def __init__(self, function: str, claim: str, decisions: int, depth: int, where: object = None) -> None:
        self.function, self.claim, self.decisions, self.depth, self.where = function, claim, decisions, depth, where
        counts = f"{decisions - 1} decisions on sizes were followed both ways, {depth} in a row"
        advice = "write a loop over sizes with anyshape.fori_loop or while_loop, or raise anyshape.config.max_paths"
        super().__init__(f"{function}: {claim} is one decision too many: {counts}{messages.at(where)}\n  {advice}")


class SpecializationError(InconclusiveDimensionError):
    """Raised where a size that was declared dynamic would be bound to some of its values.

    `constant` is the number that it is inferred to be, or None where a decision only narrows it. `sizes` are the sizes
    of the call.
    """

    def __init__(
        self, size: str, claim: str, sizes: Mapping[str, int], constant: int | None, why: str, where: object = None
    ) -> None:
        self.size, self.constant, self.why, self.where = size, constant, why, where
        self.claim, self.sizes, self.constraints, self.witnesses = claim, dict(sizes), (), {}
        AnyshapeError.__init__(self, messages.specialised(size, self.sizes, constant, why, where))
