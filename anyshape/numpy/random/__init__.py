"""NumPy's module `numpy.random`, whose functions of the global generator draw from it when a traced program runs.

Outside of a trace they are NumPy's own, as are all classes and `default_rng`.
"""

from typing import TYPE_CHECKING

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

from anyshape.numpy.random.random_state import of_global

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

if TYPE_CHECKING:
    from numpy.random import (
        beta,
        binomial,
        bytes,
        chisquare,
        choice,
        dirichlet,
        exponential,
        f,
        gamma,
        geometric,
        get_state,
        gumbel,
        hypergeometric,
        laplace,
        logistic,
        lognormal,
        logseries,
        multinomial,
        multivariate_normal,
        negative_binomial,
        noncentral_chisquare,
        noncentral_f,
        normal,
        pareto,
        permutation,
        poisson,
        power,
        rand,
        randint,
        randn,
        random,
        random_integers,
        random_sample,
        ranf,
        rayleigh,
        sample,
        seed,
        set_state,
        shuffle,
        standard_cauchy,
        standard_exponential,
        standard_gamma,
        standard_normal,
        standard_t,
        triangular,
        uniform,
        vonmises,
        wald,
        weibull,
        zipf,
    )
else:
    beta = of_global("beta")
    binomial = of_global("binomial")
    bytes = of_global("bytes")
    chisquare = of_global("chisquare")
    choice = of_global("choice")
    dirichlet = of_global("dirichlet")
    exponential = of_global("exponential")
    f = of_global("f")
    gamma = of_global("gamma")
    geometric = of_global("geometric")
    get_state = of_global("get_state")
    gumbel = of_global("gumbel")
    hypergeometric = of_global("hypergeometric")
    laplace = of_global("laplace")
    logistic = of_global("logistic")
    lognormal = of_global("lognormal")
    logseries = of_global("logseries")
    multinomial = of_global("multinomial")
    multivariate_normal = of_global("multivariate_normal")
    negative_binomial = of_global("negative_binomial")
    noncentral_chisquare = of_global("noncentral_chisquare")
    noncentral_f = of_global("noncentral_f")
    normal = of_global("normal")
    pareto = of_global("pareto")
    permutation = of_global("permutation")
    poisson = of_global("poisson")
    power = of_global("power")
    rand = of_global("rand")
    randint = of_global("randint")
    randn = of_global("randn")
    random = of_global("random")
    random_integers = of_global("random_integers")
    random_sample = of_global("random_sample")
    ranf = of_global("ranf", "random_sample")
    rayleigh = of_global("rayleigh")
    sample = of_global("sample", "random_sample")
    seed = of_global("seed")
    set_state = of_global("set_state")
    shuffle = of_global("shuffle")
    standard_cauchy = of_global("standard_cauchy")
    standard_exponential = of_global("standard_exponential")
    standard_gamma = of_global("standard_gamma")
    standard_normal = of_global("standard_normal")
    standard_t = of_global("standard_t")
    triangular = of_global("triangular")
    uniform = of_global("uniform")
    vonmises = of_global("vonmises")
    wald = of_global("wald")
    weibull = of_global("weibull")
    zipf = of_global("zipf")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
