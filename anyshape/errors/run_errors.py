"""Errors raised while a program runs."""

from __future__ import annotations

from collections.abc import Mapping

from anyshape.errors import messages
from anyshape.errors.base import AnyshapeError


class RunError(AnyshapeError, RuntimeError):
    """What NumPy raised while a program ran, with the op and the user's line; it is the `__cause__`."""

    def __init__(self, primitive: str, why: str, advice: str, where: object = None) -> None:
        self.primitive, self.why, self.advice, self.where = primitive, why, advice, where
        super().__init__(f"{messages.operation(primitive, where)}: {why}{messages.at(where)}\n  {advice}")


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
        most = f"; the most{messages.quoted(where)}{messages.at(where)}" if where is not None else ""
        problem = f"{messages.too_much(needed, limit, sizes, again)}{most}"
        AnyshapeError.__init__(self, f"{program}: {problem}\n  call it with smaller arrays, in parts, or allow more")


class MetadataError(AnyshapeError, RuntimeError):
    """A run produced a value that contradicts its metadata; only checked under ANYSHAPE_CHECK=1."""

    def __init__(self, value: str, promised: str, observed: str, where: object = None) -> None:
        self.value, self.promised, self.observed, self.where = value, promised, observed, where
        advice = "this is a defect of a shape rule or a kernel; please report it"
        super().__init__(f"{value} was promised as {promised} and is {observed}{messages.at(where)}\n  {advice}")


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
        found = f"{path} is {messages.brief(observed)}, expected {messages.brief(expected)}; error {error:.3g} exceeds"
        advice = "look for a kink or a cancellation near the arguments, or report a wrong rule"
        super().__init__(f"{check} (mode {mode}, order {order}): {found} {tolerance:.3g}\n  {advice}")
