"""The exceptions of anyshape. Each is built from data, which it keeps as attributes; the first line says what
happened and where, the second what to do.

    AnyshapeError
    ├── ShapeError (ValueError, IndexError)     sizes that cannot agree, as NumPy's AxisError is both
    │   ├── AxisError (numpy's AxisError)       an axis that the array does not have
    │   ├── IndexRangeError                     an index that was computed lies outside the axis
    │   ├── ViewError                           a reshape of a strided view that no strides express
    │   └── SizeMismatchError                   an assertion of a program failed at a call
    │       ├── InputSizeError                  an input has a size that its specification does not allow
    │       └── ZeroDivisorError (ZeroDivisionError) a size that Python divides by is 0
    ├── DTypeError (TypeError)                  a dtype an operation or a transform cannot take
    ├── ArgumentError (TypeError)               an argument or result that is no array, or that a transform refuses
    ├── SpecError (ValueError)                  a shape specification that cannot be read or solved
    │   ├── ContradictionError                  constraints that no sizes satisfy together
    │   └── UndeterminedSizeError               a size that no input of a program gives
    ├── ScopeMismatchError (ValueError)         sizes of two scopes met in one expression
    ├── SizeLimitError (OverflowError)          an expression over sizes grew beyond what is worked with
    ├── InconclusiveDimensionError (TypeError)  Python asked about a size that is not known
    │   └── SpecializationError                 a size declared dynamic was bound to some of its values
    ├── ConcretizationError (TypeError)         Python asked for the value of a traced array
    │   └── DataDependentSizeError              Python asked about a size that depends on data
    ├── CheckError (ValueError)                 what `check` demands of sizes or values does not hold
    ├── MutationError (TypeError)               in-place change of a traced array
    ├── SymbolicIterationError (TypeError)      iteration over an axis of unknown size
    ├── LeakedTracerError (RuntimeError)        a traced array used after its trace ended
    ├── UnsupportedFunctionError (TypeError)    a NumPy function that has no traced counterpart
    ├── UnsupportedDynamicShapeError (TypeError) a parameter that cannot hold a run-time size
    ├── RunError (RuntimeError)                 what NumPy raised while a program ran, with the op and the line
    │   ├── RunFloatingPointError (FloatingPointError)
    │   ├── RunZeroDivisionError (ZeroDivisionError)
    │   ├── RunOverflowError (OverflowError)
    │   └── RunMemoryError (MemoryError)
    │       └── MemoryLimitError                a run may need more memory than max_bytes allows
    ├── MissingRuleError (NotImplementedError)  an op has no entry in a rule table
    ├── IllegalGraphError (ValueError)          a graph that breaks the rules of graphs
    ├── ProgramFileError (ValueError)           a file that is no program, is damaged, or is of a newer version
    ├── MetadataError (RuntimeError)            a value contradicts its metadata (ANYSHAPE_CHECK=1)
    └── GradientCheckError (AssertionError)     derivatives that disagree with finite differences
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anyshape import error_text as say


class AnyshapeError(Exception):
    """Base of every error raised on purpose by anyshape. Copies and pickles with all its attributes."""

    def __reduce__(self) -> Any:
        return _remade, (type(self), self.args, self.__dict__)

    def locate(self, where: object) -> None:
        """Name the user's line, if the error has a place for it that is empty."""
        if where is not None and getattr(self, "where", where) is None:
            self.where = where
            first, *rest = str(self).split("\n")
            self.args = ("\n".join([first + say.at(where), *rest]),)


def _remade(kind: type[AnyshapeError], args: tuple[Any, ...], attributes: dict[str, Any]) -> AnyshapeError:
    """An error with the message and attributes it had: messages are made once, where the error is."""
    error: AnyshapeError = BaseException.__new__(kind)  # whichever built-in errors it is too
    error.args = args
    error.__dict__.update(attributes)
    return error


class ShapeError(AnyshapeError, ValueError, IndexError):
    """The sizes of the operands of a primitive cannot agree."""

    advice = "change the operands so that NumPy would accept them"

    def __init__(self, primitive: str, why: str, operands: Sequence[object] = (), where: object = None) -> None:
        self.primitive, self.why, self.operands, self.where = primitive, why, tuple(operands), where
        got = ", ".join(str(o) for o in self.operands)
        super().__init__(f"{primitive}: {why}{say.at(where)}\n  {f'got {got}; ' if got else ''}{self.advice}")


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis that the array does not have."""

    advice = "name an axis that it has"

    def __init__(self, primitive: str, axis: int, ndim: int, where: object = None) -> None:
        super().__init__(primitive, f"axis {axis} is out of bounds for array of dimension {ndim}", (), where)
        self.args = (str(self),)  # NumPy's class has a message or these fields, in slots; this one has both
        self.axis, self.ndim = axis, ndim

    def __str__(self) -> str:
        return self.args[0] if self.axis is not None else super().__str__()

    def __reduce__(self) -> Any:
        return type(self), (self.primitive, self.axis, self.ndim, self.where)


class SizeMismatchError(ShapeError):
    """A condition that a program needs of the sizes of its inputs does not hold at this call.

    `sizes` are those that the claim is about, and `sources` the arguments and axes that they were found from, by name.
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
    ) -> None:
        self.claim, self.sizes, self.sources = claim, dict(sizes), dict(sources or {})
        got = say.read_sizes(self.sizes, self.sources)
        super().__init__(primitive, f"{why}; {claim} does not hold", (got,) if got else (), where)


class IndexRangeError(ShapeError):
    """An index that a program computed lies outside its axis, or the window there does. Nothing has been written."""

    advice = "keep indices within the axis, or say what is to happen: mode='clip', or mode='fill' or 'drop'"

    def __init__(self, primitive: str, index: int, axis: int, size: int, window: int = 1, where: object = None) -> None:
        self.index, self.axis, self.size, self.window = index, axis, size, window
        super().__init__(primitive, say.out_of_range(index, axis, size, window), (), where)


class ViewError(ShapeError):
    """A strided view cannot be seen in another shape without moving elements.

    `failed` is "divisibility", "contiguity" or "mask"; `axes` are those of the view that it failed for.
    """

    advice = "let a further view index the elements in C order (ViewChain), or copy the elements first"

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
        given = ", ".join(say.few([f"{name} = {size}{say.read_from(name, source)}" for name, size, source in known]))
        left = f"remainder {remainder}" if remainder is not None else reason
        first = f"{place} = {actual} does not fit {spec}{f' ({given})' if given else ''}{f': {left}' if left else ''}"
        self.advice = advice or self.advice
        AnyshapeError.__init__(self, f"{program + ': ' if program else ''}{first}\n  {self.advice}")


class ZeroDivisorError(SizeMismatchError, ZeroDivisionError):
    """A size that numbers of Python's are divided by is 0 at this call."""


class DTypeError(AnyshapeError, TypeError):
    """A primitive or a transform met a dtype it cannot take."""

    def __init__(self, primitive: str, why: str, advice: str, where: object = None) -> None:
        self.primitive, self.why, self.advice, self.where = primitive, why, advice, where
        super().__init__(f"{primitive}: {why}{say.at(where)}\n  {advice}")


class ArgumentError(AnyshapeError, TypeError):
    """An argument (named by its path) or a result of a function is not what a transform needs."""

    def __init__(self, function: str, path: str, problem: str, advice: str) -> None:
        self.function, self.path, self.problem, self.advice = function, path, problem, advice
        super().__init__(f"{function}: {path} {problem}\n  {advice}")


class SpecError(AnyshapeError, ValueError):
    """A shape specification cannot be read, or sizes do not fit it."""

    def __init__(self, spec: str, problem: str, advice: str, column: int | None = None) -> None:
        self.spec, self.problem, self.advice, self.column = spec, problem, advice, column
        pointer = "" if column is None else "\n  {}\n  {}^".format(*say.window(spec, column))
        super().__init__(f"{say.shortened(spec)!r}: {problem}{pointer}\n  {advice}")


class ContradictionError(SpecError):
    """A constraint was declared that no sizes satisfy together with those before it; `core` are those that clash."""

    def __init__(self, constraint: str, core: Sequence[str], where: object = None) -> None:
        self.core, self.where = tuple(core), where
        others = [c for c in self.core if c != constraint]
        clash = f"contradicts {' and '.join(others)}" if others else "holds for no sizes"
        super().__init__(constraint, f"{clash}{say.at(where)}", "drop or weaken one of these constraints")


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
        told, problem, advice = say.undetermined(variable, self.equations, repeated, same, missing)
        super().__init__(told, problem, advice)


class ScopeMismatchError(AnyshapeError, ValueError):
    """Sizes of two scopes met: their names and constraints have nothing to do with each other."""

    def __init__(self, sizes: Sequence[str], origins: Sequence[object], where: object = None) -> None:
        self.sizes, self.origins, self.where = tuple(sizes), tuple(origins), where
        problem = f"cannot mix sizes of different scopes{say.at(where)}: {say.made(sizes, origins)}"
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
        verdict, found, advice = say.decided(self.witnesses, size)
        given = f" with {' and '.join(self.constraints)}" if self.constraints else ""
        super().__init__(f"{claim} is {verdict}{given}{say.at(where)} ({found})\n  {advice}")


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
        AnyshapeError.__init__(self, say.specialised(size, self.sizes, constant, why, where))


class ConcretizationError(AnyshapeError, TypeError):
    """Python asked for the value of a traced array, which exists only when the program runs."""

    def __init__(self, asked: str, value: str, where: object = None, instead: str = "") -> None:
        self.asked, self.value, self.where = asked, value, where
        self.instead = instead or "write a choice with np.where, or move this code outside the traced function"
        problem = f"{asked} of a traced array {value}{say.at(where)}: its value is not known while tracing"
        super().__init__(f"{problem}\n  {self.instead}")


class DataDependentSizeError(ConcretizationError):
    """Python asked about sizes that depend on data, each of which the primitive makes that `sizes` tells of."""

    def __init__(self, asked: str, sizes: Mapping[str, str], where: object = None) -> None:
        self.asked, self.sizes, self.value, self.where = asked, dict(sizes), ", ".join(sizes), where
        self.instead = "write the code for every size, or the choice with np.where, max_dim or min_dim"
        AnyshapeError.__init__(self, f"{say.data_dependent(asked, self.sizes, where)}\n  {self.instead}")


class CheckError(AnyshapeError, ValueError):
    """What a check demands does not hold: `observed` tells of the values that are false, or of the `sizes`, by name."""

    def __init__(self, message: str, observed: Any = "", where: object = None, sources: Any = None) -> None:
        self.sizes = {} if isinstance(observed, str) else dict(observed)
        self.observed = observed if isinstance(observed, str) else say.read_sizes(observed, sources or {})
        self.message, self.where = message, where
        advice = f"{f'observed {self.observed}; ' if self.observed else ''}call it with what is demanded"
        super().__init__(f"{message}{say.at(where)}\n  {advice}")


class MutationError(AnyshapeError, TypeError):
    """A traced array was to be changed in place."""

    def __init__(self, asked: str, instead: str, where: object = None) -> None:
        self.asked, self.instead, self.where = asked, instead, where
        super().__init__(f"{asked}: a traced array cannot be changed in place{say.at(where)}\n  write {instead}")


class SymbolicIterationError(AnyshapeError, TypeError):
    """Iteration over an axis whose size is not known while tracing."""

    def __init__(self, value: str, where: object = None) -> None:
        self.value, self.where = value, where
        problem = f"iteration over the first axis of {value}, whose size is not known while tracing{say.at(where)}"
        super().__init__(f"{problem}\n  write it with array operations or vmap, or give the axis a fixed size")


class LeakedTracerError(AnyshapeError, RuntimeError):
    """A traced array outlived its trace, through a global, an attribute or a closure."""

    def __init__(self, value: str, origin: object = None, where: object = None) -> None:
        self.value, self.origin, self.where = value, origin, where
        made = f"the traced {value}{f', made at {origin},' if origin else ''}"
        advice = "return it from the traced function instead of storing it"
        super().__init__(f"{made} was used{say.at(where)} after its trace had ended\n  {advice}")


class UnsupportedFunctionError(AnyshapeError, TypeError):
    """A NumPy function, or one of its arguments, has no counterpart on traced arrays."""

    def __init__(self, function: str, problem: str, advice: str, where: object = None) -> None:
        self.function, self.problem, self.advice, self.where = function, problem, advice, where
        super().__init__(f"{function}: {problem}{say.at(where)}\n  {advice}")


class UnsupportedDynamicShapeError(AnyshapeError, TypeError):
    """A field of a primitive needs more of a size than is known of it.

    `observed` says what the size is: "symbolic", "run-time" (it depends on data), "upper bound" or "unknown"; `extent`
    is its text, and `needed` what the field needs: "an exact size", or "a fixed size", which is an int while tracing.
    """

    def __init__(
        self,
        primitive: str,
        field: str,
        axis: int | None,
        observed: str,
        extent: str,
        where: object = None,
        needed: str = "an exact size",
    ) -> None:
        self.primitive, self.field, self.axis, self.where = primitive, field, axis, where
        self.observed, self.extent, self.needed = observed, extent, needed
        place = "" if axis is None else f" for axis {axis}"
        problem = f"{field} needs {needed}{place}, and {extent} is {say.OBSERVED[observed]}"
        super().__init__(f"{primitive}: {problem}{say.at(where)}\n  {say.ADVICE[observed]}")

    def to_dict(self) -> dict[str, Any]:
        """All of it as texts and numbers, as JSON holds them."""
        shown = {k: v for k, v in vars(self).items() if v is None or isinstance(v, (str, int))}
        at = None if self.where is None else {"line": str(self.where), "file": getattr(self.where, "file", None)}
        return {"error": type(self).__name__, **shown, "where": at, "message": str(self)}


class MissingRuleError(AnyshapeError, NotImplementedError):
    """An op has no entry in a rule table."""

    def __init__(self, op: str, table: str, file: str) -> None:
        self.op, self.table, self.file = op, table, file
        super().__init__(f"{op}: no {table} rule\n  add one in {file}, or declare the op zero() there")


class IllegalGraphError(AnyshapeError, ValueError):
    """A graph refers to a value before it exists, or its metadata do not follow from its ops."""

    def __init__(self, node: str, problem: str) -> None:
        self.node, self.problem = node, problem
        super().__init__(f"illegal graph at `{node}`: {problem}\n  this is a defect of the pass that made the graph")


class ProgramFileError(AnyshapeError, ValueError):
    """A file holds no program that can be loaded: it is something else, damaged, or of a newer version of the format.

    `version` is that of the format, where it was read.
    """

    def __init__(self, path: str, problem: str, advice: str = "", version: int | None = None) -> None:
        self.path, self.problem, self.version = path, problem, version
        self.advice = advice or "save the program again, or get another copy of the file"
        super().__init__(f"{path}: {problem}\n  {self.advice}")


class RunError(AnyshapeError, RuntimeError):
    """What NumPy raised while a program ran, with the op and the user's line; it is the `__cause__`."""

    def __init__(self, primitive: str, why: str, advice: str, where: object = None) -> None:
        self.primitive, self.why, self.advice, self.where = primitive, why, advice, where
        super().__init__(f"{primitive}: {why}{say.at(where)}\n  {advice}")


class RunFloatingPointError(RunError, FloatingPointError):
    """A number that `np.errstate` was asked to raise for."""


class RunZeroDivisionError(RunError, ZeroDivisionError):
    """A division by 0 that Python raises for."""


class RunOverflowError(RunError, OverflowError):
    """A number, or a size, that is too large."""


class RunMemoryError(RunError, MemoryError):
    """An array for which there is no memory."""


class MemoryLimitError(RunMemoryError):
    """A run was refused before it allocated: at the sizes of the call it may need more bytes than it is allowed.

    `needed` is None where no bound is known, `formula` the bound in `sizes`; `where` is the line of the step that needs
    the most; `again` is what is needed where values are computed again, None where that saves nothing.
    """

    def __init__(
        self, program: str, needed: int | None, limit: int, formula: str, sizes: Mapping[str, int],
        where: object = None, again: int | None = None,
    ) -> None:  # fmt: skip
        self.primitive, self.program, self.why, self.advice, self.formula = program, program, "", "", formula
        self.needed, self.again, self.limit, self.sizes, self.where = needed, again, limit, dict(sizes), where
        found = f"{say.too_much(needed, limit, formula, sizes, again)}; the most{say.at(where)}"
        AnyshapeError.__init__(self, f"{program}: {found}\n  call it with smaller arrays, in parts, or allow more")


class MetadataError(AnyshapeError, RuntimeError):
    """A run produced a value that contradicts its metadata; only checked under ANYSHAPE_CHECK=1."""

    def __init__(self, value: str, promised: str, observed: str, where: object = None) -> None:
        self.value, self.promised, self.observed, self.where = value, promised, observed, where
        advice = "this is a defect of a shape rule or a kernel; please report it"
        super().__init__(f"{value} was promised as {promised} and is {observed}{say.at(where)}\n  {advice}")


class GradientCheckError(AnyshapeError, AssertionError):
    """A derivative disagrees with finite differences, or the two modes disagree.

    `check` says what was compared, such as "jvp of vjp of loss"; `mode` is "fwd", "rev" or "value"; `order` counts
    derivatives; `path` names the leaf of the result, or of the arguments.
    """

    def __init__(
        self,
        check: str,
        mode: str,
        order: int,
        path: str,
        expected: object,
        observed: object,
        error: float,
        tolerance: float,
    ) -> None:
        self.check, self.mode, self.order, self.path = check, mode, order, path
        self.expected, self.observed, self.error, self.tolerance = expected, observed, error, tolerance
        found = f"{path} is {say.brief(observed)}, expected {say.brief(expected)}; error {error:.3g} exceeds"
        advice = "look for a kink or a cancellation near the arguments, or report a wrong rule"
        super().__init__(f"{check} (mode {mode}, order {order}): {found} {tolerance:.3g}\n  {advice}")
