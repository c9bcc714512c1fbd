"""Interval arithmetic: sound bounds of products, quotients, remainders, extrema and broadcasts of integers.

Limits that keep every operation on sizes, and every text of one, within bounded time.
"""

from collections.abc import Callable
from typing import TypeAlias

from anyshape.errors import SizeLimitError

Bound: TypeAlias = int | None  # None: no bound on that side
Interval: TypeAlias = tuple[Bound, Bound]


def scale(interval: Interval, factor: int) -> Interval:
    """Multiply the interval by a constant."""
    low, high = (None if b is None else b * factor for b in interval)
    return (low, high) if factor >= 0 else (high, low)


def tighter(a: Bound, b: Bound, choose: Callable[[int, int], int]) -> Bound:
    """Return the better of two bounds of one side; `choose` is max for lower bounds and min for upper ones."""
    return b if a is None else a if b is None else choose(a, b)


def intersection(a: Interval, b: Interval) -> Interval:
    """Return the values that lie in both intervals."""
    return tighter(a[0], b[0], max), tighter(a[1], b[1], min)


def negated(bound: Bound) -> Bound:
    """Return the bound of the negative, which is on the other side."""
    return None if bound is None else -bound


def product(a: Interval, b: Interval) -> Interval:
    """Return an interval that contains every product."""
    if a[0] is not None and a[0] >= 0 and b[0] is not None and b[0] >= 0:  # most sizes
        return a[0] * b[0], 0 if a[1] == 0 or b[1] == 0 else None if a[1] is None or b[1] is None else a[1] * b[1]
    corners = [_corner(x, y) for x in _ends(a) for y in _ends(b)]
    return _bound(min(corners)), _bound(max(corners))


def power(a: Interval, k: int) -> Interval:
    """Return an interval that contains every k-th power, k >= 1."""
    result = a
    for _ in range(k - 1):
        result = product(result, a)
    if k % 2 == 0 and (result[0] is None or result[0] < 0):
        return 0, result[1]
    return result


_End: TypeAlias = tuple[int, int]  # (sign of infinity, number), ordered as extended integers


def _ends(a: Interval) -> tuple[_End, _End]:
    return (-1, 0) if a[0] is None else (0, a[0]), (1, 0) if a[1] is None else (0, a[1])


def _corner(x: _End, y: _End) -> _End:
    """Multiply two ends. 0 times infinity is 0, as an infinite bound is never attained."""
    if not x[0] and not y[0]:
        return 0, x[1] * y[1]
    return _sign(x) * _sign(y), 0


def _sign(x: _End) -> int:
    return x[0] or (x[1] > 0) - (x[1] < 0)


def _bound(end: _End) -> Bound:
    return None if end[0] else end[1]


def _floordiv_bounds(a: Interval, b: Interval) -> Interval:
    if b[0] is None or b[0] < 1:
        return None, None
    low = high = None
    if a[0] is not None:
        low = a[0] // b[0] if a[0] < 0 else (0 if b[1] is None else a[0] // b[1])
    if a[1] is not None:
        high = a[1] // b[0] if a[1] >= 0 else (-1 if b[1] is None else a[1] // b[1])
    return low, high


def _mod_bounds(a: Interval, b: Interval) -> Interval:
    if b[0] is None or b[0] < 1:
        return None, None
    high = None if b[1] is None else b[1] - 1
    if a[0] is not None and a[0] >= 0:
        high = a[1] if high is None else high if a[1] is None else min(a[1], high)
    return 0, high


def _max_bounds(*args: Interval) -> Interval:
    lows = [low for low, _ in args if low is not None]
    highs = [high for _, high in args if high is not None]
    return (max(lows) if lows else None), (max(highs) if len(highs) == len(args) else None)


def _min_bounds(*args: Interval) -> Interval:
    low, high = _max_bounds(*[scale(a, -1) for a in args])
    return scale((low, high), -1)


def _broadcast_bounds(*args: Interval) -> Interval:
    return _min_bounds(*args)[0], _max_bounds(*args)[1]


CALL_BOUNDS: dict[str, Callable[..., Interval]] = {
    "floordiv": _floordiv_bounds,
    "mod": _mod_bounds,
    "max": _max_bounds,
    "min": _min_bounds,
    "broadcast": _broadcast_bounds,
}


LARGEST_SIZE = 2**63 - 1  # no array has a size beyond it
LIMITS = {
    "terms": 1_000,
    "factors in a term": 64,
    "calls within calls": 100,
    "arguments of a call": 100,
    "sizes in a broadcast": 300,  # cheaper than extrema: no two of them are compared
    "nodes": 50_000,  # of the expression written out in full
    "bits in a coefficient": 1_000,
}
FAR_FROM_LIMITS = 50  # a number below each of them


def check_limit(quantity: str, observed: int, slack: int = 1) -> None:
    """Raise SizeLimitError if the observed quantity exceeds `slack` times its limit."""
    if observed > slack * LIMITS[quantity]:
        raise SizeLimitError(quantity, observed, LIMITS[quantity])


def check_polynomial(terms: int, nodes: int, degree: int, magnitudes: int) -> None:
    """Raise SizeLimitError for a polynomial beyond a limit. `magnitudes` has all bits of coefficients."""
    check_limit("terms", terms)
    check_limit("nodes", nodes)
    check_limit("factors in a term", degree)
    check_limit("bits in a coefficient", magnitudes.bit_length())
