"""Draws of every method of a generator, as functions of a generator and arrays.

`tests/numpy/test_generator.py` sweeps them. They are not rows of the common table: a call moves the
generator, so each run needs one in the same state.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Draw:
    """Function of a generator and of arrays of the same size, all of whose elements lie in `domain`.

    `grad`: whether its numbers have a derivative in the arrays; None: they do not depend on them smoothly.
    """

    name: str
    function: object
    grad: bool | None = True
    order: int = 2
    domain: tuple = (0.5, 2.0)
    ops: tuple = ("draw", "order_draw")

    def __str__(self):
        return self.name


def shuffled(rng, x):
    """Shuffle a copy of x."""
    y = x * 2
    rng.shuffle(y)
    return y


DRAWS = [
    Draw("normal", lambda r, x: r.normal(x, 2 * x) * r.normal(x)),
    Draw("normal of a size", lambda r, x: r.normal(x.sum(), 1.5, size=(2, x.shape[0])) * x),
    Draw("normal without arrays", lambda r, x: r.normal() * x + r.normal(1.0, 2.0, x.shape)),
    Draw("laplace", lambda r, x: r.laplace(x, x)),
    Draw("logistic", lambda r, x: r.logistic(-x, x)),
    Draw("gumbel", lambda r, x: r.gumbel(x, x * x)),
    Draw("exponential", lambda r, x: r.exponential(x)),
    Draw("rayleigh", lambda r, x: r.rayleigh(x)),
    Draw("uniform", lambda r, x: r.uniform(-x, x * x)),
    Draw("lognormal", lambda r, x: r.lognormal(x, x)),
    Draw("pareto", lambda r, x: r.pareto(x)),
    Draw("power", lambda r, x: r.power(x)),
    Draw("triangular", lambda r, x: r.triangular(-x, x / 3, x * x)),
    Draw("weibull", lambda r, x: r.weibull(x)),
    Draw("gamma of a scale", lambda r, x: r.gamma(2.0, x)),
    Draw("random", lambda r, x: r.random(x.shape) * x + r.random()),
    Draw("standard_normal", lambda r, x: x * r.standard_normal(x.shape) + r.standard_normal(dtype=np.float32)),
    Draw("standard_exponential", lambda r, x: x * r.standard_exponential(x.shape, method="inv")),
    Draw("standard_cauchy", lambda r, x: x * r.standard_cauchy(x.shape)),
    Draw("dead draws", lambda r, x: (r.random(3), r.poisson(2.0), x * r.random())[-1]),
    Draw("positions", lambda r, x: x[r.integers(0, 1, endpoint=True, size=0)] * r.permutation(x.shape[0])[:0]),
    Draw("permutation", lambda r, x: r.permutation(x) * x),
    Draw("permuted", lambda r, x: r.permuted(x[:, None] * x, axis=1) + r.permuted(x)),
    Draw("shuffle", shuffled),
    Draw("multivariate_normal", lambda r, x: r.multivariate_normal([0.0, x.sum()], [[2.0, 0.5], [0.5, 1.0]],
                                                                   size=x.shape, method="cholesky")),
    Draw("standard_gamma", lambda r, x: r.standard_gamma(x), grad=None),
    Draw("chisquare", lambda r, x: r.chisquare(x), grad=None),
    Draw("beta", lambda r, x: r.beta(x, 2 * x), grad=None),
    Draw("f", lambda r, x: r.f(x, 3.0), grad=None),
    Draw("noncentral_chisquare", lambda r, x: r.noncentral_chisquare(x, 1.0), grad=None),
    Draw("noncentral_f", lambda r, x: r.noncentral_f(x, 3.0, 1.0), grad=None),
    Draw("standard_t", lambda r, x: r.standard_t(x), grad=None),
    Draw("vonmises", lambda r, x: r.vonmises(0.0, x), grad=None),
    Draw("wald", lambda r, x: r.wald(x, 1.0), grad=None),
    Draw("binomial", lambda r, x: r.binomial(7, x / 3), grad=None),
    Draw("geometric", lambda r, x: r.geometric(x / 3), grad=None),
    Draw("hypergeometric", lambda r, x: r.hypergeometric(5, 4, 3, x.shape), grad=None),
    Draw("logseries", lambda r, x: r.logseries(x / 3), grad=None),
    Draw("negative_binomial", lambda r, x: r.negative_binomial(3.0, x / 3), grad=None),
    Draw("poisson", lambda r, x: r.poisson(x), grad=None),
    Draw("zipf", lambda r, x: r.zipf(x + 1), grad=None),
    Draw("integers", lambda r, x: r.integers(2, x.shape[0] + 9, size=(3, 2), dtype=np.int16), grad=None),
    Draw("multinomial", lambda r, x: r.multinomial(9, [0.25, 0.5, 0.25], size=x.shape), grad=None),
    Draw("dirichlet", lambda r, x: r.dirichlet([1.0, 2.0], size=x.shape), grad=None),
    Draw("multivariate_hypergeometric", lambda r, x: r.multivariate_hypergeometric([4, 5], 3, size=x.shape), grad=None),
]  # fmt: skip


def arranged(rng, x):
    """Shuffle a copy of rows of x."""
    y = x[:, None] * np.ones(2)
    rng.shuffle(y)
    return y


# Draws of a RandomState
LEGACY = [
    *[d for d in DRAWS if d.name in (
        "normal", "normal of a size", "normal without arrays", "laplace", "logistic", "gumbel", "exponential",
        "rayleigh", "uniform", "lognormal", "pareto", "power", "triangular", "weibull", "gamma of a scale",
        "standard_gamma", "chisquare", "beta", "f", "noncentral_chisquare", "noncentral_f", "standard_t", "vonmises",
        "wald", "binomial", "geometric", "hypergeometric", "logseries", "negative_binomial", "poisson", "zipf",
        "permutation", "shuffle",
    )],
    Draw("rand and randn", lambda r, x: r.rand(*x.shape) * r.randn() + r.randn(*x.shape) * r.rand() * x),
    Draw("random_sample", lambda r, x: r.random_sample(x.shape) * r.random() + r.random_sample()),
    Draw("standard draws", lambda r, x: r.standard_normal(x.shape) * r.standard_exponential() + r.standard_cauchy()),
    Draw("randint", lambda r, x: r.randint(2, x.shape[0] + 9, size=(3, 2), dtype=np.int16), grad=None),
    Draw("randint of a number", lambda r, x: x * r.randint(5) + r.randint(0, 9, x.shape), grad=None),
    Draw("choice", lambda r, x: r.choice(4, x.shape, p=[0.1, 0.2, 0.3, 0.4]) * r.choice([1.0, 2.0]), grad=None),
    Draw("choice without replacement", lambda r, x: r.choice(8, 3, replace=False) * x.sum(), grad=None),
    Draw("multivariate_normal", lambda r, x: r.multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], x.shape)),
    Draw("multinomial", lambda r, x: r.multinomial(5, [0.2, 0.3, 0.5], x.shape), grad=None),
    Draw("dirichlet", lambda r, x: r.dirichlet([1.0, 2.0], x.shape), grad=None),
    Draw("rows", arranged),
]  # fmt: skip
