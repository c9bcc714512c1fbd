"""Samples of reductions, averages, nan-functions, cumulative functions, ufunc methods and sums of exponentials."""

import numpy

from anyshape import ops
from anyshape.numpy import reduction
from tests.samples.sample import Sample, draw, is_plain

ALL = ("float64", "float32", "complex128", "int64", "int8", "bool")
REAL = ("float64", "float32", "int64", "int8", "bool")
FLOAT = ("float64", "float32")
INEXACT = ("float64", "float32", "complex128")


def ties(rng, shapes, dtype):
    """Return few different values, so that many are equal."""
    return [rng.integers(0, 3, size=s).astype(dtype) for s in shapes]


def zeros(rng, shapes, dtype):
    """Return arrays with zeros as about a third of the elements."""
    return [numpy.asarray(draw(rng, s, dtype, (0.5, 2.0)) * (rng.random(s) > 0.35)).astype(dtype) for s in shapes]


def holes(rng, shapes, dtype):
    """Return arrays with some NaNs."""
    arrays = [numpy.array(draw(rng, s, dtype, (-2.0, 2.0))) for s in shapes]
    for x in arrays:
        x[rng.random(x.shape) > 0.7] = numpy.nan
    return arrays


def infinities(rng, shapes, dtype):
    """Return arrays with some elements -inf, whole lines among them."""
    arrays = [numpy.array(draw(rng, s, dtype, (-2.0, 2.0))) for s in shapes]
    for x in arrays:
        x[rng.random(x.shape) > 0.6] = -numpy.inf
        x[:1] = -numpy.inf
    return arrays


def distinct(rng, shapes, dtype):
    """Return arrays without two elements that are close."""
    return [rng.permutation(int(numpy.prod(s))).reshape(s).astype(dtype) / 2 - 1 for s in shapes]


def written_out(np, x):
    """Return a softmax as users write it."""
    powers = np.exp(x - np.max(x, axis=1, keepdims=True))
    return powers / np.sum(powers, axis=1, keepdims=True)


def with_mask(rng, shapes, dtype):
    """Return an array and a mask."""
    return [draw(rng, shapes[0], dtype, (-2.0, 2.0)), rng.random(shapes[1]) > 0.4]


SUMS = [
    Sample("sum", lambda np, x: np.sum(x), ("n, 3",), ("reduce_sum",), ALL),
    Sample("sum of a scalar", lambda np, x: np.sum(x, axis=0) * 2, ("",), ("reduce_sum",), ALL),
    Sample(
        "sum over a negative axis", lambda np, x: np.sum(x, axis=-2, keepdims=True), ("n, m, 2",), ("reduce_sum",), ALL
    ),
    Sample("sum over a tuple", lambda np, x: np.sum(x, axis=(2, 0)), ("n, m, k",), ("reduce_sum",), INEXACT),
    Sample(
        "sum with options",
        lambda np, x: np.sum(x, axis=(), dtype="float32", initial=1.5),
        ("n, m",),
        ("reduce_sum",),
        tolerance=1e-5,
        grad=None,
    ),
    Sample(
        "sum under a mask",
        lambda np, x, w: np.sum(x, axis=0, where=w, initial=2),
        ("n, m", "m"),
        ("reduce_sum",),
        make=with_mask,
    ),
    Sample("sum stretches back", lambda np, x, y: np.sum(x * y, axis=0), ("n, m", "n, k"), ("sum_to",)),
    Sample("prod", lambda np, x: np.prod(x), ("n",), ("reduce_prod", "cumprod", "recurrence"), ALL, order=3),
    Sample("prod with zeros", lambda np, x: np.prod(x, axis=(0, -1)), ("n, 2, m",), ("reduce_prod",), make=zeros),
    Sample(
        "prod with one axis",
        lambda np, x: np.prod(x, axis=1, keepdims=True, initial=3),
        ("n, m",),
        ("reduce_prod",),
        INEXACT,
        make=zeros,
    ),
    Sample(
        "prod under a mask", lambda np, x, w: np.prod(x, where=w), ("n, m", "n, 1"), ("reduce_prod",), make=with_mask
    ),
    Sample(
        "count_nonzero",
        lambda np, x: np.count_nonzero(x, axis=1),
        ("n, m",),
        ("reduce_sum",),
        ALL,
        make=ties,
        grad=False,
    ),
    Sample(
        "count_nonzero keeps",
        lambda np, x: np.count_nonzero(x, keepdims=True),
        ("n, m",),
        ("reduce_sum",),
        make=ties,
        grad=False,
    ),
]

EXTREMES = [
    Sample("max", lambda np, x: np.max(x), ("n, m",), ("reduce_max",), REAL, make=distinct),
    Sample("max of an axis", lambda np, x: np.max(x, axis=-1), ("n, m",), ("reduce_max",), REAL, make=distinct),
    Sample("amax", lambda np, x: np.amax(x, axis=(0, 2), keepdims=True), ("n, 2, m",), ("reduce_max",), make=distinct),
    Sample("max with NaN", lambda np, x: np.max(x, axis=0), ("n, m",), ("reduce_max",), FLOAT, make=holes, grad=None),
    Sample("max of complex", lambda np, x: np.max(x, axis=0), ("n, 2",), ("reduce_max",), ("complex128",), grad=None),
    Sample("max initial", lambda np, x: np.max(x, axis=0, initial=0), ("n, 2",), ("reduce_max",), REAL, make=distinct),
    Sample(
        "max under a mask",
        lambda np, x, w: np.max(x, axis=1, initial=-9, where=w),
        ("n, m", "n, m"),
        ("reduce_max",),
        make=with_mask,
    ),
    Sample("min", lambda np, x: np.min(x), ("n, m",), ("reduce_min",), REAL, make=distinct),
    Sample(
        "min of an axis",
        lambda np, x: np.min(x, axis=0, keepdims=True),
        ("n, m",),
        ("reduce_min",),
        REAL,
        make=distinct,
    ),
    Sample(
        "amin initial", lambda np, x: np.amin(x, axis=-1, initial=100), ("n, m",), ("reduce_min",), REAL, make=distinct
    ),
    Sample("ptp", lambda np, x: np.ptp(x, axis=1), ("n, m",), ("reduce_max", "reduce_min"), FLOAT, make=distinct),
    Sample("argmax", lambda np, x: np.argmax(x), ("n, m",), ("argmax",), REAL, make=ties, grad=False),
    Sample(
        "argmax of an axis",
        lambda np, x: np.argmax(x, axis=-1, keepdims=True),
        ("n, m",),
        ("argmax",),
        REAL,
        make=ties,
        grad=False,
    ),
    Sample("argmin", lambda np, x: np.argmin(x, keepdims=True), ("n, m",), ("argmin",), REAL, make=ties, grad=False),
    Sample(
        "argmin of an axis", lambda np, x: np.argmin(x, axis=0), ("n, m",), ("argmin",), FLOAT, make=holes, grad=False
    ),
    Sample("any", lambda np, x: np.any(x, axis=0), ("n, m",), ("reduce_or",), ALL, make=ties, grad=False),
    Sample(
        "all",
        lambda np, x: np.all(x, axis=(0, 1), keepdims=True),
        ("n, m",),
        ("reduce_and",),
        ALL,
        make=ties,
        grad=False,
    ),
    Sample(
        "any under a mask",
        lambda np, x, w: np.any(x > 0, axis=-1, where=w),
        ("n, m", "m"),
        ("reduce_or",),
        make=with_mask,
        grad=False,
    ),
    Sample(
        "all under a mask",
        lambda np, x, w: np.all(x > 0, where=w),
        ("n, m", "n, 1"),
        ("reduce_and",),
        make=with_mask,
        grad=False,
    ),
]

INTEGRALS = [
    Sample(
        "trapezoid",
        lambda np, y: np.trapezoid(y),
        ("n, m",),
        ("reduce_sum",),
        ("float64", "float32", "complex128", "int64"),
    ),
    Sample("trapezoid of spaced points", lambda np, y: np.trapezoid(y, dx=0.5, axis=0), ("n, m",), ("reduce_sum",)),
    Sample("trapezoid at points", lambda np, y, x: np.trapezoid(y, x, axis=0), ("n, m", "n"), ("reduce_sum",)),
    Sample("trapezoid at points of each line", lambda np, y, x: np.trapezoid(y, x), ("n, m", "n, m"), ("reduce_sum",)),
]

AVERAGES = [
    Sample("mean of few", lambda np, x: np.mean(x), ("n, 3",), ("reduce_sum",), ALL, grad=None),
    Sample("mean", lambda np, x: np.mean(x), ("n, 3",), ("reduce_sum",), ALL, smallest=1),
    Sample(
        "mean of an axis",
        lambda np, x: np.mean(x, axis=-1, keepdims=True),
        ("n, m",),
        ("reduce_sum",),
        INEXACT,
        smallest=1,
    ),
    Sample(
        "mean of half",
        lambda np, x: np.mean(x, axis=0),
        ("n, m",),
        ("reduce_sum",),
        ("float16",),
        tolerance=1e-3,
        grad=None,
    ),
    Sample(
        "mean with dtype",
        lambda np, x: np.mean(x, axis=(0, 1), dtype="complex64"),
        ("n, m",),
        ("reduce_sum",),
        tolerance=1e-5,
        grad=None,
    ),
    Sample(
        "mean under a mask",
        lambda np, x, w: np.mean(x, axis=0, where=w),
        ("n, m", "n, m"),
        ("reduce_sum",),
        make=with_mask,
        grad=None,
    ),
    Sample("var of few", lambda np, x: np.var(x, axis=0, ddof=1), ("n, m",), ("reduce_sum",), INEXACT, grad=None),
    Sample("var", lambda np, x: np.var(x), ("n, m",), ("reduce_sum",), INEXACT, tolerance=1e-7, smallest=1),
    Sample(
        "var of integers", lambda np, x: np.var(x, axis=1), ("n, m",), ("reduce_sum",), ("int64", "bool"), grad=None
    ),
    Sample(
        "var ddof",
        lambda np, x: np.var(x, axis=0, ddof=1),
        ("n, m",),
        ("reduce_sum",),
        INEXACT,
        tolerance=1e-7,
        smallest=2,
    ),
    Sample(
        "var correction",
        lambda np, x: np.var(x, axis=(0, 2), correction=1.5, keepdims=True),
        ("n, 2, m",),
        ("reduce_sum",),
        smallest=1,
    ),
    Sample(
        "var mean",
        lambda np, x: np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)),
        ("n, m",),
        ("reduce_sum",),
        smallest=1,
    ),
    Sample(
        "var under a mask",
        lambda np, x, w: np.var(x, axis=0, where=w),
        ("n, m", "n, m"),
        ("reduce_sum",),
        make=with_mask,
        grad=None,
    ),
    Sample("std", lambda np, x: np.std(x, axis=0), ("n, m",), ("length",), FLOAT, make=distinct, smallest=1),
    Sample(
        "std of few",
        lambda np, x: np.std(x, axis=-1, ddof=1, keepdims=True),
        ("n, m",),
        ("reduce_sum",),
        INEXACT,
        grad=None,
    ),
    Sample("average", lambda np, x: np.average(x, axis=0), ("n, 2",), ("reduce_sum",), ALL, smallest=1),
    Sample(
        "average weighted",
        lambda np, x, w: np.average(x, axis=1, weights=w),
        ("n, m", "m"),
        ("reduce_sum",),
        FLOAT,
        domain=(0.5, 2),
        smallest=1,
    ),
    Sample(
        "average weighted by all",
        lambda np, x, w: np.average(x, weights=w, returned=True),
        ("n, m", "n, m"),
        ("reduce_sum",),
        domain=(0.5, 2),
        smallest=1,
    ),
    Sample(
        "average by constant weights",
        lambda np, x: np.average(x, axis=1, weights=[1, 2, 4]),
        ("n, 3",),
        ("reduce_sum",),
    ),
    Sample(
        "sum under a constant mask",
        lambda np, x: np.sum(x, axis=0, where=[True, False, True]),
        ("n, 3",),
        ("reduce_sum",),
    ),
    Sample(
        "var around a constant",
        lambda np, x: np.var(x, axis=0, mean=numpy.array([[1.0, 2, 3]])),
        ("n, 3",),
        ("reduce_sum",),
        smallest=1,
    ),
    Sample("cov", lambda np, x: np.cov(x), ("3, n",), ("dot_general",), FLOAT, tolerance=1e-6, smallest=2),
    Sample(
        "cov of two",
        lambda np, x, y: np.cov(x, y, rowvar=False, bias=True),
        ("n, 2", "n, 2"),
        ("dot_general",),
        smallest=2,
    ),
    Sample("cov of a vector", lambda np, x: np.cov(x), ("n",), ("dot_general",), INEXACT, smallest=2),
    Sample("corrcoef", lambda np, x: np.corrcoef(x), ("3, n",), ("dot_general",), make=distinct, smallest=5, grad=None),
]

NAN_FUNCTIONS = (
    [
        Sample(name, lambda np, x, name=name: getattr(np, name)(x, axis=0), ("n, m",), (), FLOAT, make=holes, grad=None)
        for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nancumsum", "nancumprod")
    ]
    + [
        Sample(
            f"{name} of numbers", lambda np, x, name=name: getattr(np, name)(x), ("n, m",), make=distinct, smallest=2
        )
        for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nancumsum", "nancumprod")
    ]
    + [
        Sample(
            "nansum of integers",
            lambda np, x: np.nansum(x, axis=1, keepdims=True),
            ("n, m",),
            (),
            ("int64", "bool"),
            grad=None,
        ),
        Sample(
            "nanvar ddof", lambda np, x: np.nanvar(x, axis=1, ddof=1, keepdims=True), ("n, m",), make=holes, grad=None
        ),
    ]
)

CUMULATIVE = [
    Sample("cumsum", lambda np, x: np.cumsum(x, axis=0), ("n, m",), ("cumsum",), ALL),
    Sample(
        "running in small integers",
        lambda np, x: (np.cumsum(x, 0, dtype="int8"), np.cumprod(x, axis=1, dtype="uint8"), np.cumsum(x, dtype=bool)),
        ("n, m",),
        ("cumsum", "cumprod"),
        ("int64", "int8", "bool"),
    ),
    Sample("cumsum of everything", lambda np, x: np.cumsum(x), ("n, m",), ("cumsum",), INEXACT),
    Sample("cumsum of a scalar", lambda np, x: np.cumsum(x), ("",), ("cumsum",), INEXACT),
    Sample(
        "cumsum with dtype",
        lambda np, x: np.cumsum(x, axis=-1, dtype="float32"),
        ("n, m",),
        ("cumsum",),
        ("int8", "float64"),
        grad=None,
        tolerance=1e-5,
    ),
    Sample(
        "cumulative_sum",
        lambda np, x: np.cumulative_sum(x, axis=1, include_initial=True),
        ("n, m",),
        ("cumsum",),
        INEXACT,
    ),
    Sample("cumprod", lambda np, x: np.cumprod(x, axis=-1), ("m, n",), ("cumprod", "recurrence"), ALL, order=3),
    Sample(
        "cumprod with zeros",
        lambda np, x: np.cumprod(x, axis=0),
        ("n, 2",),
        ("cumprod", "recurrence"),
        make=zeros,
        order=3,
    ),
    Sample(
        "cumulative_prod", lambda np, x: np.cumulative_prod(x, include_initial=True), ("n",), ("cumprod",), make=zeros
    ),
    Sample("add.accumulate", lambda np, x: numpy.add.accumulate(x, axis=1), ("n, m",), ("cumsum",), ALL),
    Sample("multiply.accumulate", lambda np, x: numpy.multiply.accumulate(x), ("n, m",), ("cumprod",), INEXACT),
    Sample(
        "maximum.accumulate", lambda np, x: numpy.maximum.accumulate(x), ("n, m",), ("cummax",), REAL, make=distinct
    ),
    Sample(
        "maximum.accumulate with ties",
        lambda np, x: numpy.maximum.accumulate(x, axis=-1),
        ("n, m",),
        ("cummax",),
        make=ties,
        grad=None,
    ),
    Sample(
        "maximum.accumulate with NaN",
        lambda np, x: numpy.maximum.accumulate(x, axis=-1),
        ("n, m",),
        ("cummax",),
        make=holes,
        grad=None,
    ),
    Sample(
        "minimum.accumulate",
        lambda np, x: numpy.minimum.accumulate(x, axis=1),
        ("n, m",),
        ("cummin",),
        REAL,
        make=distinct,
    ),
    Sample(
        "logaddexp.accumulate",
        lambda np, x: numpy.logaddexp.accumulate(x),
        ("n, m",),
        ("cumlogsumexp", "recurrence"),
        FLOAT,
    ),
    Sample(
        "logaddexp.accumulate at -inf",
        lambda np, x: numpy.logaddexp.accumulate(x),
        ("n, m",),
        ("cumlogsumexp",),
        make=infinities,
        grad=None,
    ),
]

METHODS = [
    Sample("add.reduce", lambda np, x: numpy.add.reduce(x), ("n, m",), ("reduce_sum",), ALL),
    Sample(
        "add.reduce over all",
        lambda np, x: numpy.add.reduce(x, axis=None, keepdims=True),
        ("n, m",),
        ("reduce_sum",),
        INEXACT,
    ),
    Sample("multiply.reduce", lambda np, x: numpy.multiply.reduce(x, axis=-1), ("n, m",), ("reduce_prod",), INEXACT),
    Sample(
        "maximum.reduce", lambda np, x: numpy.maximum.reduce(x, axis=(0, 1)), ("n, m",), ("reduce_max",), make=distinct
    ),
    Sample(
        "minimum.reduce", lambda np, x: numpy.minimum.reduce(x, initial=1.2), ("n, m",), ("reduce_min",), make=distinct
    ),
    Sample(
        "logical_and.reduce",
        lambda np, x: numpy.logical_and.reduce(x),
        ("n, m",),
        ("reduce_and",),
        ("bool", "float64"),
        make=ties,
        grad=False,
    ),
    Sample(
        "logical_or.reduce",
        lambda np, x: numpy.logical_or.reduce(x, axis=1),
        ("n, m",),
        ("reduce_or",),
        ("bool",),
        make=ties,
        grad=False,
    ),
    Sample(
        "logaddexp.reduce", lambda np, x: numpy.logaddexp.reduce(x), ("n, m",), ("reduce_logsumexp",), FLOAT, smallest=1
    ),
    Sample(
        "logaddexp.reduce of few",
        lambda np, x: numpy.logaddexp.reduce(x, axis=-1, keepdims=True),
        ("n, m",),
        ("reduce_logsumexp",),
        grad=None,
    ),
    Sample("subtract.outer", lambda np, x, y: numpy.subtract.outer(x, y), ("n, 2", "m"), ("sub",), INEXACT),
    Sample("multiply.outer with a number", lambda np, x: numpy.multiply.outer(2.0, x), ("n, 2",), ("mul",), FLOAT),
]


def safe_softmax(np, x):
    """Return the op along rows, and for NumPy its definition."""
    if np is not numpy or not is_plain(x):
        return ops.safe_softmax(x, (1,))
    top = x.max(axis=1, keepdims=True, initial=-numpy.inf)
    powers = numpy.exp(x - numpy.where(numpy.isfinite(top), top, 0))
    total = powers.sum(axis=1, keepdims=True)
    return powers / numpy.where(total == 0, 1, total)


EXPONENTIALS = [
    Sample("logsumexp", lambda np, x: reduction.logsumexp(x), ("n, m",), ("reduce_logsumexp",), FLOAT, smallest=1),
    Sample(
        "logsumexp of an axis",
        lambda np, x: reduction.logsumexp(x * 300, axis=-1, keepdims=True),
        ("n, m",),
        ("reduce_logsumexp",),
        tolerance=1e-6,
        order=1,
    ),
    Sample(
        "logsumexp at -inf",
        lambda np, x: reduction.logsumexp(x, axis=0),
        ("n, m",),
        ("reduce_logsumexp",),
        make=infinities,
        grad=None,
    ),
    Sample(
        "logsumexp weighted",
        lambda np, x, b: reduction.logsumexp(x, axis=0, b=b),
        ("n, m", "n, 1"),
        ("reduce_sum",),
        domain=(0.2, 2),
        smallest=1,
    ),
    Sample(
        "logsumexp of integers",
        lambda np, x: reduction.logsumexp(x, axis=(0, 1)),
        ("n, m",),
        ("reduce_logsumexp",),
        ("int64",),
        grad=None,
        smallest=1,
    ),
    Sample("softmax", lambda np, x: reduction.softmax(x, axis=-1), ("n, m",), ("softmax",), FLOAT, order=3),
    Sample("softmax written out", written_out, ("n, m",), ("reduce_max", "exp", "div"), FLOAT, smallest=1),
    Sample(
        "softmax of everything",
        lambda np, x: reduction.softmax(x * 300),
        ("n, m",),
        ("softmax",),
        order=1,
        tolerance=1e-6,
    ),
    Sample(
        "softmax at -inf",
        lambda np, x: reduction.softmax(x, axis=1),
        ("n, m",),
        ("softmax",),
        make=infinities,
        grad=None,
    ),
    Sample("safe_softmax", safe_softmax, ("n, m",), ("safe_softmax",), FLOAT, order=3),
    Sample("safe_softmax at -inf", safe_softmax, ("n, m",), ("safe_softmax",), make=infinities, grad=None),
    Sample(
        "logsumexp with exponentials of its derivative",
        lambda np, x: reduction.logsumexp(x, axis=1, keepdims=True) * safe_softmax(np, x),
        ("n, m",),
        ("reduce_logsumexp", "safe_softmax"),
        FLOAT,
        smallest=1,
    ),
    Sample("log_softmax", lambda np, x: reduction.log_softmax(x, axis=0), ("n, m",), ("reduce_logsumexp",), FLOAT),
]


SAMPLES = [
    *SUMS,
    *EXTREMES,
    *AVERAGES,
    *INTEGRALS,
    *NAN_FUNCTIONS,
    *CUMULATIVE,
    *METHODS,
    *EXPONENTIALS,
]
