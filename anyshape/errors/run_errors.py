"""Define the errors of running programs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from anyshape.errors import messages
from anyshape.errors.base import AnyshapeError


class RunError(AnyshapeError, RuntimeError):
    """Raised for an error of NumPy in a running program, with the operation; the original is the `__cause__`."""

    primitive: str
    why: str
    advice: str
    where: object

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

    primitive: str
    program: str
    why: str
    advice: str
    formula: str
    needed: int | None
    again: int | None
    counted: int | None
    limit: int
    sizes: dict[str, int]
    where: object

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

    function: str
    chunk: int
    shapes: tuple[str, ...]
    error: str
    why: str
    where: object
    worker: str
    trace: str

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

    kind: str
    problem: str
    advice: str
    last: object

    def __init__(self, kind: str, problem: str, advice: str, last: object = None) -> None:
        self.kind, self.problem, self.advice, self.last = kind, problem, advice, last
        super().__init__(f"{problem}\n  {advice}")


class MetadataError(AnyshapeError, RuntimeError):
    """Raised under ANYSHAPE_CHECK=1 for a value that contradicts its array type."""

    value: str
    promised: str
    observed: str
    where: object

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

    check: str
    mode: str
    order: int
    path: str
    expected: object
    observed: object
    error: float
    tolerance: float

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
        difference = (
            f"{path} is {messages.brief(observed)}, expected {messages.brief(expected)}; error {error:.3g} exceeds"
        )
        advice = "look for a kink or a cancellation near the arguments, or report a wrong rule"
        super().__init__(f"{check} (mode {mode}, order {order}): {difference} {tolerance:.3g}\n  {advice}")
