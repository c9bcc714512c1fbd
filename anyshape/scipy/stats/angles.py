"""Define families of angles by their standard forms.

Source of the formulas: Mardia and Jupp, Directional Statistics, in the parameters of SciPy.
"""

from math import log, pi, sqrt

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.distribution import constant
from anyshape.scipy.stats.source import family
from anyshape.transforms.control import stop_gradient


def _log_i0_less(kappa):
    """Return log(i0(kappa)) - kappa for kappa >= 0; exp(-|kappa|) of i0e has a kink at 0, which |kappa| undoes."""
    return xp.log(sc.i0e(kappa)) + (xp.abs(kappa) - kappa)


def _vonmises_log_density(z, kappa):
    return -2 * kappa * xp.square(xp.sin(0.5 * z)) - log(2 * pi) - _log_i0_less(kappa)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)
NORMAL_FROM = 50.0  # concentration from which on SciPy takes a normal distribution of the sine of half the angle


def _vonmises_cdf(z, kappa):
    """Return the integral of the density by Gauss's rule, with the value of SciPy's approximation where this has one.

    Derivatives are the ones of the integral everywhere.
    """
    turns = xp.rint(z / (2 * pi))
    angle = z - 2 * pi * turns
    end = xp.minimum(12 / xp.sqrt(xp.maximum(stop_gradient(kappa), 1.0)), 4.0)  # the rest of the mass is below 1e-31
    angle, shape = xp.clip(angle, -end, end)[..., None], xp.asarray(kappa)[..., None]
    points = 0.5 * angle * (1 + NODES)
    integral = xp.sum(WEIGHTS * xp.exp(_vonmises_log_density(points, shape)), axis=-1)
    value = 0.5 + 0.5 * angle[..., 0] * integral
    normal = sc.ndtr(sqrt(2 / pi) / sc.i0e(kappa) * xp.sin(0.5 * (z - 2 * pi * turns)))
    return value + stop_gradient(xp.where(kappa >= NORMAL_FROM, normal - value, 0.0)) + turns


vonmises = family(
    "vonmises",
    vanishes=False,
    log_density=_vonmises_log_density,
    cdf=_vonmises_cdf,
    mean=constant(0.0),
    entropy=lambda kappa: -kappa * sc.i1e(kappa) / sc.i0e(kappa) + log(2 * pi) + _log_i0_less(kappa) + kappa,
)


def _wrapcauchy_quantile(q, c, side: float):
    sine = xp.sin(pi * xp.where(q < 0.5, q, 1 - q))
    return 2 * xp.arctan2((1 - c) * sine, side * (1 + c) * xp.cos(pi * q))


wrapcauchy = family(
    "wrapcauchy",
    "log_density entropy",
    safe=0.5,
    cdf=lambda z, c: xp.arctan2((1 + c) * xp.sin(0.5 * z), (1 - c) * xp.cos(0.5 * z)) / pi,
    sf=lambda z, c: xp.arctan2((1 + c) * xp.sin(0.5 * z), (c - 1) * xp.cos(0.5 * z)) / pi,
    ppf=lambda q, c: _wrapcauchy_quantile(q, c, 1.0),
    isf=lambda q, c: _wrapcauchy_quantile(q, c, -1.0),
)
