"""Rows of the judge of slopes for distributions, with points in both tails and near ends of supports."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats
from mpmath import mp

from tests.autodiff.bounded_laws import BOUNDED_LAWS, DISCRETE_LAWS
from tests.autodiff.laws import Law
from tests.autodiff.positive_laws import POSITIVE_LAWS
from tests.autodiff.real_laws import REAL_LAWS
from tests.autodiff.slope_rows import Row, share
from tests.survey.distributions import FORMS


def _inside(low: float, high: float, rng: np.random.Generator) -> float:
    """Return a point of a support, of any size or beside an end."""
    size = 10.0 ** rng.uniform(-18, 3 if math.isinf(high - low) else -0.31)
    if math.isinf(low) and math.isinf(high):
        return float(size * rng.choice([-1.0, 1.0]))
    is_low = math.isinf(high) or (not math.isinf(low) and rng.random() < 0.5)
    width = 1.0 if math.isinf(high - low) else high - low
    return float(low + width * size if is_low else high - width * size)


def _far_quantile(law: Law, shapes: tuple[float, ...], rng: np.random.Generator) -> float:
    q = 10.0 ** rng.uniform(-250 if rng.random() < 0.5 else -12, -0.31)
    with np.errstate(all="ignore"):
        return float(getattr(getattr(scipy.stats, law.name), rng.choice(["ppf", "isf"]))(q, *shapes))


def _point(law: Law) -> Callable[[np.random.Generator], tuple[float, ...]]:
    """Return a sampler of points: far quantiles of both tails, and points inside of the support."""

    def sample(rng: np.random.Generator) -> tuple[float, ...]:
        shapes = tuple(s(rng) for s in law.shapes)
        low, high = law.support(*shapes) if callable(law.support) else law.support
        if law in DISCRETE_LAWS:
            return (float(rng.integers(max(low, -40), min(high, 60) + 1)), *shapes)
        x = _far_quantile(law, shapes, rng) if (law.cdf or law.sf) and rng.random() < 0.7 else math.nan
        for _ in range(9):
            if low < x < high:
                break
            x = _inside(low, high, rng)
        return (x, *shapes)

    return sample


def _probability(law: Law) -> Callable[[np.random.Generator], tuple[float, ...]]:
    q = share(-250, -15)
    return lambda rng: (q(rng), *(s(rng) for s in law.shapes))


def _quantile(law: Law, method: str, probability: Callable[..., Any]) -> Callable[..., Any]:
    """Return the root of a probability by Newton's method from SciPy's quantile."""
    guess = getattr(getattr(scipy.stats, law.name), method)
    sign = 1 if method == "ppf" else -1

    def formula(q: Any, *shapes: Any) -> Any:
        x = mp.mpf(float(guess(float(q), *map(float, shapes))))
        for _ in range(14 if x else 0):  # one that underflows is not a start
            density = law.density(x, *shapes)
            step = sign * (probability(x, *shapes) - q) / density
            x -= step
            if isinstance(x, mp.mpc) or mp.isinf(density):  # a step out of the support, or a share of 1
                break
            if abs(step) <= mp.eps * 2**40 * abs(x):
                return x
        raise mp.NoConvergence

    return formula


def _rows(law: Law) -> list[Row]:
    """Return a row for each method of a family that has a formula and derivatives."""
    name, by, point = f"stats.{law.name}.", law.differentiated or tuple(range(len(law.shapes) + 1)), _point(law)
    density = ("pmf", "logpmf") if law in DISCRETE_LAWS else ("pdf", "logpdf")
    formulas = {density[0]: law.density, density[1]: lambda *xs: mp.log(law.density(*xs))}
    quantiles = {}
    if law.cdf or law.sf:
        cdf = law.cdf or (lambda *xs: 1 - law.sf(*xs))
        sf = law.sf or (lambda *xs: 1 - law.cdf(*xs))
        formulas |= {"cdf": cdf, "sf": sf, "logcdf": lambda *xs: mp.log(cdf(*xs)), "logsf": lambda *xs: mp.log(sf(*xs))}
        quantiles = {"ppf": cdf, "isf": sf} if FORMS[law.name].ppf and law not in DISCRETE_LAWS else {}
    return [
        *(Row(name + method, f, (), by, sample=point) for method, f in formulas.items()),
        *(Row(name + m, _quantile(law, m, p), (), by, sample=_probability(law)) for m, p in quantiles.items()),
    ]


LAWS = [*REAL_LAWS, *POSITIVE_LAWS, *BOUNDED_LAWS, *DISCRETE_LAWS]
ROUNDED = ("stats.rice.isf",)  # SciPy inverts 1 - q, which has few digits of q: slopes need more than the value does
DISTRIBUTIONS = [row for law in LAWS for row in _rows(law) if row.name not in ROUNDED]
