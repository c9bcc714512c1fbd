"""NumPy's module `numpy.random`, whose functions of the global generator draw from it when a traced program runs.

Outside of a trace they are NumPy's own, as are all classes and `default_rng`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import (  # type: ignore[attr-defined]
    MT19937,
    PCG64,
    PCG64DXSM,
    SFC64,
    BitGenerator,
    Generator,
    Philox,
    RandomState,
    SeedSequence,
    bit_generator,
    default_rng,
    get_bit_generator,
    mtrand,
    set_bit_generator,
    test,
)

from anyshape.graph.ir.builder import active
from anyshape.numpy.random import closed_over

__all__ = [
    "MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Philox", "RandomState", "SeedSequence",
    "beta", "binomial", "bit_generator", "bytes", "chisquare", "choice", "default_rng", "dirichlet", "exponential",
    "f", "gamma", "geometric", "get_bit_generator", "get_state", "gumbel", "hypergeometric", "laplace", "logistic",
    "lognormal", "logseries", "mtrand", "multinomial", "multivariate_normal", "negative_binomial",
    "noncentral_chisquare", "noncentral_f", "normal", "pareto", "permutation", "poisson", "power", "rand",
    "randint", "randn", "random", "random_integers", "random_sample", "ranf", "rayleigh", "sample", "seed",
    "set_bit_generator", "set_state", "shuffle", "standard_cauchy", "standard_exponential", "standard_gamma",
    "standard_normal", "standard_t", "test", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf",
]  # fmt: skip

_GLOBAL = np.random.mtrand._rand


def _of_global(name: str, method: str = "") -> Any:
    """Return a function of the global generator that draws in traces too."""
    function = getattr(np.random, name)

    def draw(*args: Any, **kwargs: Any) -> Any:
        builder = active()
        if builder is None:
            return function(*args, **kwargs)
        return getattr(closed_over.traced_form(_GLOBAL, builder), method or name)(*args, **kwargs)

    draw.__name__ = draw.__qualname__ = name
    draw.__module__, draw.__doc__ = "anyshape.numpy.random", function.__doc__
    return draw


beta = _of_global("beta")
binomial = _of_global("binomial")
bytes = _of_global("bytes")
chisquare = _of_global("chisquare")
choice = _of_global("choice")
dirichlet = _of_global("dirichlet")
exponential = _of_global("exponential")
f = _of_global("f")
gamma = _of_global("gamma")
geometric = _of_global("geometric")
get_state = _of_global("get_state")
gumbel = _of_global("gumbel")
hypergeometric = _of_global("hypergeometric")
laplace = _of_global("laplace")
logistic = _of_global("logistic")
lognormal = _of_global("lognormal")
logseries = _of_global("logseries")
multinomial = _of_global("multinomial")
multivariate_normal = _of_global("multivariate_normal")
negative_binomial = _of_global("negative_binomial")
noncentral_chisquare = _of_global("noncentral_chisquare")
noncentral_f = _of_global("noncentral_f")
normal = _of_global("normal")
pareto = _of_global("pareto")
permutation = _of_global("permutation")
poisson = _of_global("poisson")
power = _of_global("power")
rand = _of_global("rand")
randint = _of_global("randint")
randn = _of_global("randn")
random = _of_global("random")
random_integers = _of_global("random_integers")
random_sample = _of_global("random_sample")
ranf = _of_global("ranf", "random_sample")
rayleigh = _of_global("rayleigh")
sample = _of_global("sample", "random_sample")
seed = _of_global("seed")
set_state = _of_global("set_state")
shuffle = _of_global("shuffle")
standard_cauchy = _of_global("standard_cauchy")
standard_exponential = _of_global("standard_exponential")
standard_gamma = _of_global("standard_gamma")
standard_normal = _of_global("standard_normal")
standard_t = _of_global("standard_t")
triangular = _of_global("triangular")
uniform = _of_global("uniform")
vonmises = _of_global("vonmises")
wald = _of_global("wald")
weibull = _of_global("weibull")
zipf = _of_global("zipf")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
