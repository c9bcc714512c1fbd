"""NumPy's module `numpy.random`, whose functions of the global generator draw from it when a traced program runs.

Outside of a trace they are NumPy's own, as are all classes and `default_rng`.
"""

from __future__ import annotations

from typing import Any

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

from anyshape.numpy.random.closed_over import of_global

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

beta: Any = of_global("beta")
binomial: Any = of_global("binomial")
bytes: Any = of_global("bytes")
chisquare: Any = of_global("chisquare")
choice: Any = of_global("choice")
dirichlet: Any = of_global("dirichlet")
exponential: Any = of_global("exponential")
f: Any = of_global("f")
gamma: Any = of_global("gamma")
geometric: Any = of_global("geometric")
get_state: Any = of_global("get_state")
gumbel: Any = of_global("gumbel")
hypergeometric: Any = of_global("hypergeometric")
laplace: Any = of_global("laplace")
logistic: Any = of_global("logistic")
lognormal: Any = of_global("lognormal")
logseries: Any = of_global("logseries")
multinomial: Any = of_global("multinomial")
multivariate_normal: Any = of_global("multivariate_normal")
negative_binomial: Any = of_global("negative_binomial")
noncentral_chisquare: Any = of_global("noncentral_chisquare")
noncentral_f: Any = of_global("noncentral_f")
normal: Any = of_global("normal")
pareto: Any = of_global("pareto")
permutation: Any = of_global("permutation")
poisson: Any = of_global("poisson")
power: Any = of_global("power")
rand: Any = of_global("rand")
randint: Any = of_global("randint")
randn: Any = of_global("randn")
random: Any = of_global("random")
random_integers: Any = of_global("random_integers")
random_sample: Any = of_global("random_sample")
ranf: Any = of_global("ranf", "random_sample")
rayleigh: Any = of_global("rayleigh")
sample: Any = of_global("sample", "random_sample")
seed: Any = of_global("seed")
set_state: Any = of_global("set_state")
shuffle: Any = of_global("shuffle")
standard_cauchy: Any = of_global("standard_cauchy")
standard_exponential: Any = of_global("standard_exponential")
standard_gamma: Any = of_global("standard_gamma")
standard_normal: Any = of_global("standard_normal")
standard_t: Any = of_global("standard_t")
triangular: Any = of_global("triangular")
uniform: Any = of_global("uniform")
vonmises: Any = of_global("vonmises")
wald: Any = of_global("wald")
weibull: Any = of_global("weibull")
zipf: Any = of_global("zipf")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
