"""Define quotients of sizes: their integral parts are sizes, and comparisons of them compare sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.sizes.size_operands import known_size, numpy_dtype, scope_of
from anyshape.numpy.sizes.symdim import max_dim, min_dim
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.true_types import has_type


@dataclass(frozen=True)
class Quotient:
    """Quotient `size / by`, with a positive `by`."""

    size: Any
    by: Any

    def __floor__(self) -> Any:
        return self.size // self.by

    def __ceil__(self) -> Any:
        return -(-self.size // self.by)

    def __trunc__(self) -> Any:
        return math.floor(self) if self.size >= 0 else math.ceil(self)

    def __round__(self) -> Any:
        """Round half to even, as Python does."""
        whole, twice = self.size // self.by, 2 * (self.size % self.by)
        above = min_dim(1, max_dim(0, twice - self.by))
        half = 1 - min_dim(1, abs(twice - self.by))
        return whole + above + half * (whole % 2)

    def __int__(self) -> int:
        return operator.index(math.trunc(self))

    def __float__(self) -> float:
        return operator.index(self.size) / operator.index(self.by)

    def __bool__(self) -> bool:
        return bool(self.size)

    def compare(self, name: str, other: Any) -> DeferredComparison | None:
        """Return a comparison that sizes decide; None where they cannot."""
        compare = _COMPARISONS[name]
        if isinstance(other, Quotient):
            return DeferredComparison(lambda: compare(self.size * other.by, other.size * self.by))
        if _of_python(other):
            return DeferredComparison(lambda: compare(self.size, other * self.by))
        if type(other) is not float:
            return None
        if not has_type(self.by, int) and math.isfinite(other):
            return self.compare(name, int(other)) if other == int(other) else None
        if not math.isfinite(other):
            return DeferredComparison(lambda: compare(0, other))  # all sizes compare alike with it
        return DeferredComparison(lambda: self._compare_with_float(name, other))

    def _compare_with_float(self, name: str, other: float) -> bool:
        """Return a comparison with a float.

        It compares the size with the sizes whose quotients, rounded as Python rounds, lie on either side of the float.
        """
        candidates = range(math.floor(other * self.by) - 2, math.floor(other * self.by) + 4)
        smallest = next(n for n in candidates if n / self.by >= other)
        above = next(n for n in candidates if n / self.by > other)
        if name in ("less", "greater_equal"):
            return bool(self.size >= smallest) == (name == "greater_equal")
        if name in ("greater", "less_equal"):
            return bool(self.size >= above) == (name == "greater")
        return bool(smallest < above and self.size == smallest) == (name == "equal")


@dataclass(frozen=True)
class DeferredComparison:
    """Comparison that is decided when its truth value is needed; as an array it works undecided."""

    answer: Callable[[], bool]

    def __bool__(self) -> bool:
        return bool(self.answer())

    def __int__(self) -> int:
        return int(self.answer())

    def __float__(self) -> float:
        return float(self.answer())


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def exactly(name: str, a: Any, b: Any) -> Quotient | DeferredComparison | None:
    """Return the quotient or comparison that an operator on sizes and quotients gives; None for other numbers."""
    if name == "divide":
        return _quotient(a, b)
    if isinstance(a, Quotient):
        return a.compare(name, b)
    return Quotient(a, 1).compare(name, b) if isinstance(b, Quotient) and _of_python(a) else None


def _of_python(x) -> bool:
    """Return whether x is a Python int, or a size that stands for one."""
    return known_size(x) is not None and numpy_dtype(x) is None


def _quotient(size, by) -> Quotient | None:
    """Return the quotient of Python ints; None for other numbers, and for a divisor that may be negative."""
    if not _of_python(size) or not _of_python(by):
        return None
    if has_type(by, int):
        return Quotient(size, int(by)) if by > 0 else Quotient(-size, -by)
    return Quotient(size, by) if scope_of(by).proves(at_least(by.expr, 1)) else None
