"""Judge of slopes: first and second derivatives against mpmath, wherever the value itself is right."""

from __future__ import annotations

import contextlib
import signal
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats
from mpmath import mp

import anyshape
from anyshape import numpy as xp
from anyshape.scipy import special, stats
from tests.autodiff.slope_rows import Row

OURS = {"np": xp, "special": special, "stats": stats}
SCIPY = {"np": np, "special": scipy.special, "stats": scipy.stats}
BITS = (60, 120, 240, 480, 960, 1440)
RELATIVE = {"float64": 1e-9, "float32": 1e-4}


class Judged(NamedTuple):
    """Slope beside the right one; an error is in units of what is allowed."""

    row: str
    operand: int
    order: int
    point: tuple[float, ...]
    ours: float
    right: float
    error: float

    def __str__(self) -> str:
        where = f"derivative {self.order} of {self.row} by operand {self.operand} at {self.point}"
        return f"{where} is {self.ours!r}, not {self.right!r}: {self.error:.2g} times what is allowed"


def sampled(row: Row, rng: np.random.Generator, count: int, dtype: str) -> list[tuple[float, ...]]:
    """Return up to so many points of a row that are normal numbers of a dtype, and not rounded to an end at 1."""
    info, rounded = np.finfo(dtype), np.dtype(dtype).type
    sample = row.sample or (lambda rng: tuple(one(rng) for one in row.operands))
    points = [sample(rng) for _ in range(count)]
    points = [p for p in points if all(info.tiny < abs(x) < info.max or x == 0 for x in p)]
    return [p for p in points if all(abs(rounded(x)) != 1 or abs(x) == 1 for x in p)]


def judge(
    row: Row, points: list[tuple[float, ...]], dtype: str = "float64", seconds: float = 0, by_value: float = 0
) -> list[Judged]:
    """Return the slopes at points where NumPy's or SciPy's value is right, and the slope is a normal number.

    NaN is judged where the slope is 0, or too small to be told from it.
    So many ulps of the value, divided by the operand to the power of the order, are allowed besides.
    """
    if not points:
        return []
    with np.errstate(all="ignore"):
        xs = [np.array(column, dtype) for column in zip(*points, strict=True)]
        if "hermite" in row.name:
            xs[0] = xs[0].astype(int)
        values = np.asarray(_function(row, SCIPY)(*xs))
        judged = []
        for operand in row.differentiated:
            slopes = _slopes(_function(row, OURS), xs, operand)
            for k, value in enumerate(values):
                point = tuple(float(x[k]) for x in xs)
                right = _right_slopes(row.formula, point, operand, seconds)
                if right is None or not _is_right(row, value, point, right[0], dtype):
                    continue
                for order in (1, 2):
                    judged += _judged(row, operand, order, point, float(slopes[order - 1][k]), right, dtype, by_value)
    return judged


def _function(row: Row, modules: dict[str, Any]) -> Any:
    first, *names = row.name.split(".")
    function = modules[first]
    for name in names:
        function = getattr(function, name)
    return function if row.result is None else lambda *xs: function(*xs)[row.result]


def _is_right(row: Row, value: Any, point: tuple[float, ...], right: Any, dtype: str) -> bool:
    """Return whether the value of SciPy is right, and also the ones at neighbours that slopes are made of."""
    near = row.neighbours(*point) if row.neighbours else []
    values = [_function(row, SCIPY)(*map(np.float64, xs)) for xs in near]
    pairs = [(value, right), *zip(values, (row.formula(*xs) for xs in near), strict=True)]
    return all(_agree(mp.mpf(float(a)), b, RELATIVE[dtype]) for a, b in pairs)


def _slopes(function: Any, xs: list[Any], operand: int) -> tuple[Any, Any]:
    """Return the first derivative in reverse mode, and the second one forward over it."""
    of_one = lambda x: function(*xs[:operand], x, *xs[operand + 1 :])
    first = anyshape.grad(lambda x: xp.sum(of_one(x)))
    slopes = anyshape.jvp(first, (xs[operand],), (np.ones_like(xs[operand]),))
    return np.asarray(slopes[0]), np.asarray(slopes[1])


def _judged(
    row: Row,
    operand: int,
    order: int,
    point: tuple[float, ...],
    ours: float,
    right: list[Any],
    dtype: str,
    by_value: float,
) -> list[Judged]:
    info = np.finfo(dtype)
    slope = right[order]
    if not info.tiny < abs(slope) < info.max and not (slope == 0 and np.isnan(ours)):
        return []
    allowed = RELATIVE[dtype] * abs(slope) + 4 * float(info.eps) * abs(point[operand] * right[order + 1])
    if by_value:
        allowed += by_value * float(info.eps) * abs(right[0] / mp.mpf(point[operand]) ** order)
    error = abs(mp.mpf(ours) - slope) if np.isfinite(ours) else mp.inf
    return [Judged(row.name, operand, order, point, ours, float(slope), float(error / allowed) if allowed else np.inf)]


# -- right slopes


def _right_slopes(formula: Any, point: tuple[float, ...], i: int, seconds: float) -> list[Any] | None:
    """Return the value and three derivatives by operand i where two precisions agree; else None."""
    before = None
    with contextlib.suppress(TimeoutError), _at_most(seconds):
        for half in BITS:
            now = _differences(formula, point, i, half)
            if before is not None and now is not None:
                pairs = zip(before[:3], now[:3], strict=True)
                if all(_agree(a, b, 1e-13) for a, b in pairs):
                    return now
            before = now
    return None


@contextlib.contextmanager
def _at_most(seconds: float) -> Any:
    """Raise TimeoutError after so many seconds, if they are not 0: some series of mpmath do not end."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    if not seconds:
        yield
        return
    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # again, if a callback swallows it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _agree(a: Any, b: Any, relative: float) -> bool:
    return bool(abs(a - b) <= relative * abs(b))


def _differences(formula: Any, point: tuple[float, ...], i: int, bits: int) -> list[Any] | None:
    """Return the value and central differences; 0 where they are as small as their rounding."""
    with mp.workprec(4 * bits + 100):
        xs = [mp.mpf(x) for x in point]
        step = abs(xs[i]) * mp.mpf(2) ** -bits
        try:
            f = [mp.re(formula(*[x + k * step if j == i else x for j, x in enumerate(xs)])) for k in (-2, -1, 0, 1, 2)]
        except (ValueError, ZeroDivisionError, mp.NoConvergence, OverflowError, NotImplementedError):
            return None
        noise = max(map(abs, f)) * mp.mpf(2) ** (-4 * bits - 70)
        sums = (f[2], f[3] - f[1], f[3] - 2 * f[2] + f[1], f[4] - 2 * f[3] + 2 * f[1] - f[0])
        scales = (1, 2 * step, step**2, 2 * step**3)
        return [s / scale if abs(s) > noise else mp.mpf(0) for s, scale in zip(sums, scales, strict=True)]
