"""Functions and distributions of `scipy.stats` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.stats import continuous, discrete, multivariate, positive
from anyshape.scipy.stats.distribution import Family
from anyshape.support.packages import scipy_stats

FORMS = {**continuous.FORMS, **positive.FORMS, **discrete.FORMS}
FAMILIES = {name: Family(name, form) for name, form in FORMS.items()} | multivariate.DISTRIBUTIONS
_SCIPY = Module(scipy_stats, "scipy.stats")


def __getattr__(name: str) -> Any:
    """Return a family of distributions, or what a further name of SciPy stands for."""
    return FAMILIES[name] if name in FAMILIES else _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
