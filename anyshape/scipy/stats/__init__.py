"""Functions and distributions of `scipy.stats` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.serve import Module
from anyshape.scipy.stats import (
    angles,
    bounded,
    circular,
    continuous,
    correlation,
    density,
    discrete,
    extremes,
    further,
    hypotheses,
    lent,
    lifetimes,
    multivariate,
    ordered,
    positive,
    ranks,
    skewed,
    summaries,
    trimmed,
)
from anyshape.scipy.stats.distribution import Family
from anyshape.support.packages import scipy_stats

_BY_FILE = (continuous, positive, further, extremes, skewed, lifetimes, bounded, angles, discrete)
FORMS = {name: form for file in _BY_FILE for name, form in file.FORMS.items()}
FAMILIES = {name: Family(name, form) for name, form in FORMS.items()} | multivariate.DISTRIBUTIONS
FUNCTIONS = {
    name: member
    for module in (summaries, ranks, correlation, density, trimmed, circular, hypotheses, ordered)
    for name, member in vars(module).items()
    if name[0] != "_" and getattr(member, "__module__", "") == module.__name__ and hasattr(scipy_stats, name)
} | lent.LENT
RANKED = {name: ordered.ranked(name, *row) for name, row in ordered.RANKED.items() if hasattr(scipy_stats, name)}
_SCIPY = Module(scipy_stats, "scipy.stats")


def __getattr__(name: str) -> Any:
    """Return a family of distributions, a function, or what a further name of SciPy stands for."""
    own = FAMILIES.get(name) or FUNCTIONS.get(name) or RANKED.get(name)
    return own if own is not None else _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
