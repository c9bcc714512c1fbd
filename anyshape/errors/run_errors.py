"""Define the errors of running programs.

Define the errors about graphs, rule tables, program files and packages.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anyshape.errors import messages
from anyshape.errors.messages import AnyshapeError


class RunError(AnyshapeError, RuntimeError):
    """Raised for an error of NumPy in a running program, with the operation; the original is the `__cause__`."""

    def __init__(self, primitive: str, why: str, advice: str, where: object = None) -> None:
        self.primitive, self.why, self.advice, self.where = primitive, why, advice, where
        super().__init__(f"{messages.operation(primitive, where)}: {why}{messages.at(where)}\n  {advice}")


class RunFloatingPointError(RunError, FloatingPointError):
    """Raised for a number that `np.errstate` turns into an error."""


class RunZeroDivisionError(RunError, ZeroDivisionError):
    """Raised for a division by 0 in Python's numbers."""


class RunLinAlgError(RunError, np.linalg.LinAlgError):
    """Raised for a matrix that has no factors or no inverse, such as a singular one."""


class RunOverflowError(RunError, OverflowError):
    """Raised for a number or a size that is too large."""


class RunMemoryError(RunError, MemoryError):
    """Raised for an array for which there is no memory."""


class MemoryLimitError(RunMemoryError):
    """Raised before a run allocates, where it may need more bytes than `limit` at the sizes of the call.

    Where no bound of its bytes is known, a run counts them. Then it is raised in the step that exceeds the limit.

    - `needed` is the bound in bytes, None where none is known, and `formula` the bound over the sizes.
    - `where` is the line of the step that needs the most.
    - `again` is the bound with checkpoint slots or rematerialisation, None where these save nothing.
    - `counted` is the number of bytes that a run has counted, None where it has not begun.
    """

    def __init__(
        self, program: str, needed: int | None, limit: int, formula: str, sizes: Mapping[str, int],
        where: object = None, again: int | None = None, counted: int | None = None,
    ) -> None:  # fmt: skip
        self.counted = counted
        self.primitive, self.program, self.why, self.advice, self.formula = program, program, "", "", formula
        self.needed, self.again, self.limit, self.sizes, self.where = needed, again, limit, dict(sizes), where
        most = f"; the most{messages.quoted(where)}{messages.at(where)}" if where is not None else ""
        problem = f"{messages.too_much(needed, limit, sizes, again)}{most}"
        if counted is not None:
            problem = f"needs {counted} bytes by now, and max_bytes is {limit}"
        advice = "call it with smaller arrays, in parts, or allow more"
        if needed is None and again is None and counted is None:
            advice = "call it without max_bytes, or let the sizes of the arguments give all sizes and numbers of trips"
        AnyshapeError.__init__(self, f"{program}: {problem}\n  {advice}")


class ChunkError(AnyshapeError, RuntimeError):
    """Raised where a function fails on one chunk of a cluster's data; the original is the `__cause__`, if it pickles.

    - `function` is its name, `chunk` the number of the chunk from 0.
    - `shapes` has a text for each array of the chunk, `error` the name of the exception's class, and `why` its text.
    - `where` is the line that raised, `worker` the process, and `trace` the traceback as a text.
    """

    def __init__(
        self, function: str, chunk: int, shapes: tuple[str, ...], error: str, why: str, where: object = None,
        worker: str = "", trace: str = "",
    ) -> None:  # fmt: skip
        self.function, self.chunk, self.shapes, self.error, self.why = function, chunk, shapes, error, why
        self.where, self.worker, self.trace = where, worker, trace
        of = f" ({', '.join(shapes)})" if shapes else ""
        reason = why.partition("\n")[0]
        located = "" if where is None or str(where) in reason else messages.at(where)
        advice = f"call {function} on this chunk alone; the attribute `trace` has the traceback of the worker"
        super().__init__(f"{function}: chunk {chunk}{of} raised {error}: {reason}{located}\n  {advice}")


class ClusterError(AnyshapeError, RuntimeError):
    """Raised where workers or their scheduler cannot do what a pass over chunks needs.

    `kind` is "versions", "package", "workers", "scheduler" or "data". `last` is the last iterate of a minimisation.
    """

    def __init__(self, kind: str, problem: str, advice: str, last: object = None) -> None:
        self.kind, self.problem, self.advice, self.last = kind, problem, advice, last
        super().__init__(f"{problem}\n  {advice}")


class MetadataError(AnyshapeError, RuntimeError):
    """Raised under ANYSHAPE_CHECK=1 for a value that contradicts its array type."""

    def __init__(self, value: str, promised: str, observed: str, where: object = None) -> None:
        self.value, self.promised, self.observed, self.where = value, promised, observed, where
        advice = "this is a defect of a shape rule or a kernel; please report it"
        super().__init__(f"{value} was promised as {promised} and is {observed}{messages.at(where)}\n  {advice}")


class GradientCheckError(AnyshapeError, AssertionError):
    """Raised where a derivative disagrees with finite differences, or the two modes disagree.

    - `check` names the comparison, such as "jvp of vjp of loss", and `order` counts derivatives.
    - `mode` is "fwd", "rev" or "value".
    - `path` names the leaf of the result, or of the arguments.
    """

    def __init__(
        self, check: str, mode: str, order: int, path: str, expected, observed, error: float, tolerance: float
    ) -> None:
        self.check, self.mode, self.order, self.path = check, mode, order, path
        self.expected, self.observed, self.error, self.tolerance = expected, observed, error, tolerance
        difference = (
            f"{path} is {messages.brief(observed)}, expected {messages.brief(expected)}; error {error:.3g} exceeds"
        )
        advice = "look for a kink or a cancellation near the arguments, or report a wrong rule"
        super().__init__(f"{check} (mode {mode}, order {order}): {difference} {tolerance:.3g}\n  {advice}")


class UnsupportedDynamicShapeError(AnyshapeError, TypeError):
    """Raised where a field of a primitive needs more of a size than is known of it.

    - `observed` is the kind of the size: "symbolic", "run-time" (it depends on data), "upper bound" or "unknown".
    - `extent` is its text.
    - `needed` is "an exact size", or "a fixed size", which is an int while tracing.
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
        at_axis = "" if axis is None else f" for axis {axis}"
        problem = f"{field} needs {needed}{at_axis}, and {extent} is {messages.OBSERVED[observed]}"
        first = f"{messages.operation(primitive, where)}: {problem}{messages.at(where)}"
        super().__init__(f"{first}\n  {messages.ADVICE[observed]}")

    def to_dict(self) -> dict[str, Any]:
        """Return the data as texts and numbers, as JSON holds them."""
        shown = {k: v for k, v in vars(self).items() if v is None or isinstance(v, (str, int))}
        at = None if self.where is None else {"line": str(self.where), "file": getattr(self.where, "file", None)}
        return {"error": type(self).__name__, **shown, "where": at, "message": str(self)}


class MissingRuleError(AnyshapeError, NotImplementedError):
    """Raised for an op without a row in a rule table."""

    def __init__(self, op: str, table: str, file: str) -> None:
        self.op, self.table, self.file = op, table, file
        advice = f"add one in {file}, or declare the op zero() there"
        if table == "transpose":
            advice = f"write a rule of custom_jvp that is linear in the tangents; for a new op add a row in {file}"
        super().__init__(f"{op}: no {table} rule\n  {advice}")


class IllegalGraphError(AnyshapeError, ValueError):
    """Raised for a graph that reads a value too early, or whose array types do not follow from its ops."""

    def __init__(self, node: str, problem: str) -> None:
        self.node, self.problem = node, problem
        super().__init__(f"illegal graph at `{node}`: {problem}\n  this is a defect of the pass that made the graph")


class ProgramFileError(AnyshapeError, ValueError):
    """Raised for a file that holds no program, is damaged, or has a newer version of the format.

    `version` is the version of the format, where it could be read.
    """

    def __init__(self, path: str, problem: str, advice: str = "", version: int | None = None) -> None:
        self.path, self.problem, self.version = path, problem, version
        self.advice = advice or "save the program again, or get another copy of the file"
        super().__init__(f"{path}: {problem}\n  {self.advice}")


class MissingPackageError(AnyshapeError, ModuleNotFoundError):
    """Raised where a package of an optional dependency group is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{package} is not installed\n  pip install 'anyshape[{extra}]'")
        self.name = package
