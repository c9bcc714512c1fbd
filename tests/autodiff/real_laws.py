"""Formulas of distributions of all reals."""

from __future__ import annotations

import math

from mpmath import mp

from tests.autodiff.laws import (
    REALS,
    SHAPE,
    Law,
    ball_cdf,
    ball_density,
    bell,
    beta_share,
    even,
    half,
    logistic,
    lower,
    mirrored,
    of_size,
    owens,
    skew_share,
    student,
    student_tail,
    tail,
    upper,
)
from tests.autodiff.slope_rows import above, between, far, positive, symmetric

REAL_LAWS = [
    Law("norm", bell, tail, mirrored(tail), support=REALS),
    Law(
        "cauchy",
        lambda x: 1 / mp.pi / (1 + x * x),
        lambda x: mp.atan2(1, -x) / mp.pi,
        lambda x: mp.atan2(1, x) / mp.pi,
        support=REALS,
    ),
    Law("laplace", lambda x: mp.exp(-abs(x)) / 2, even(lambda x: mp.exp(x) / 2), support=REALS),
    Law("logistic", lambda x: logistic(x) * logistic(-x), logistic, mirrored(logistic), support=REALS),
    Law(
        "hypsecant",
        lambda x: mp.sech(x) / mp.pi,
        lambda x: 2 / mp.pi * mp.atan(mp.exp(x)),
        lambda x: 2 / mp.pi * mp.atan(mp.exp(-x)),
        support=REALS,
    ),
    Law("t", student, even(student_tail), mirrored(even(student_tail)), (SHAPE,), REALS),
    Law(
        "gennorm",
        lambda x, b: b / 2 / mp.gamma(1 / b) * mp.exp(-(abs(x) ** b)),
        of_size(lambda x, b: upper(1 / b, x**b)),
        None,
        (positive(-0.5, 1),),
        REALS,
    ),
    Law(
        "skewnorm",
        lambda x, a: 2 * bell(x) * tail(a * x),
        lambda x, a: tail(x) - 2 * owens(x, a),
        None,
        (far(-1, 1.5),),
        REALS,
    ),
    Law(
        "johnsonsu",
        lambda x, a, b: b / mp.sqrt(1 + x * x) * bell(a + b * mp.asinh(x)),
        lambda x, a, b: tail(a + b * mp.asinh(x)),
        lambda x, a, b: tail(-a - b * mp.asinh(x)),
        (far(-1, 1), positive(-1, 1)),
        REALS,
    ),
    Law(
        "gumbel_r",
        lambda x: mp.exp(-x - mp.exp(-x)),
        lambda x: mp.exp(-mp.exp(-x)),
        lambda x: -mp.expm1(-mp.exp(-x)),
        support=REALS,
    ),
    Law(
        "gumbel_l",
        lambda x: mp.exp(x - mp.exp(x)),
        lambda x: -mp.expm1(-mp.exp(x)),
        lambda x: mp.exp(-mp.exp(x)),
        support=REALS,
    ),
    Law(
        "dgamma",
        lambda x, a: abs(x) ** (a - 1) * mp.exp(-abs(x)) / 2 / mp.gamma(a),
        of_size(lambda x, a: upper(a, x)),
        None,
        (SHAPE,),
        REALS,
    ),
    Law(
        "dweibull",
        lambda x, c: c / 2 * abs(x) ** (c - 1) * mp.exp(-(abs(x) ** c)),
        of_size(lambda x, c: mp.exp(-(x**c))),
        None,
        (positive(-1, 1),),
        REALS,
    ),
    Law(
        "loggamma",
        lambda x, c: mp.exp(c * x - mp.exp(x)) / mp.gamma(c),
        lambda x, c: lower(c, mp.exp(x)),
        lambda x, c: upper(c, mp.exp(x)),
        (SHAPE,),
        REALS,
    ),
    Law(
        "powernorm",
        lambda x, c: c * bell(x) * tail(-x) ** (c - 1),
        lambda x, c: -mp.expm1(c * mp.log(tail(-x))),
        lambda x, c: tail(-x) ** c,
        (SHAPE,),
        REALS,
    ),
    Law(
        "genlogistic",
        lambda x, c: c * logistic(x) ** c * logistic(-x),
        lambda x, c: logistic(x) ** c,
        None,
        (SHAPE,),
        REALS,
    ),
    Law(
        "moyal",
        lambda x: mp.exp(-(x + mp.exp(-x)) / 2) / mp.sqrt(2 * mp.pi),
        lambda x: mp.erfc(mp.exp(-x / 2) / mp.sqrt(2)),
        lambda x: mp.erf(mp.exp(-x / 2) / mp.sqrt(2)),
        support=REALS,
    ),
    Law(
        "exponnorm",
        lambda x, k: mp.exp(1 / (2 * k * k) - x / k) / k * tail(x - 1 / k),
        lambda x, k: tail(x) - mp.exp(1 / (2 * k * k) - x / k) * tail(x - 1 / k),
        lambda x, k: tail(-x) + mp.exp(1 / (2 * k * k) - x / k) * tail(x - 1 / k),
        (positive(-2, 2),),
        REALS,
    ),
    Law(
        "laplace_asymmetric",
        lambda x, k: mp.exp(-x * k if x >= 0 else x / k) / (k + 1 / k),
        lambda x, k: mp.exp(x / k) * k * k / (1 + k * k) if x < 0 else 1 - mp.exp(-x * k) / (1 + k * k),
        None,
        (positive(-1, 1),),
        REALS,
    ),
    Law(
        "skewcauchy",
        lambda x, a: 1 / mp.pi / (1 + (x / (1 + mp.sign(x) * a)) ** 2),
        lambda x, a: (
            (1 - a) / mp.pi * mp.atan2(1, -x / (1 - a)) if x < 0 else 1 - (1 + a) / mp.pi * mp.atan2(1, x / (1 + a))
        ),
        None,
        (symmetric(-2, -2),),
        REALS,
    ),
    Law(
        "jf_skew_t",
        lambda x, a, b: (
            (2 * skew_share(x, a, b)) ** (a + half(1))
            * (2 * skew_share(-x, a, b)) ** (b + half(1))
            / (mp.mpf(2) ** (a + b - 1) * mp.beta(a, b) * mp.sqrt(a + b))
        ),
        lambda x, a, b: beta_share(a, b, skew_share(x, a, b)),
        None,
        (positive(-1, 1.5), positive(-1, 1.5)),
        REALS,
    ),
    Law("crystalball", ball_density, ball_cdf, None, (positive(-1, 0.5), above(1, -1, 2)), REALS),
    Law(
        "norminvgauss",
        lambda x, a, b: (
            a
            * mp.besselk(1, a * mp.sqrt(1 + x * x))
            / mp.pi
            / mp.sqrt(1 + x * x)
            * mp.exp(mp.sqrt(a * a - b * b) + b * x)
        ),
        None,
        None,
        (above(2, -1, 1.5), between(-2, 2)),
        REALS,
    ),
    Law(
        "vonmises",
        lambda x, k: mp.exp(k * mp.cos(x)) / (2 * mp.pi * mp.besseli(0, k)),
        None,
        None,
        (positive(-3, 2),),
        (-math.pi, math.pi),
    ),
]
