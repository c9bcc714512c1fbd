"""Samples of functions of other libraries: correlations by all modes, their transposes, windows of any size."""

import numpy

from anyshape.ops import external as ex
from anyshape.scipy import ndimage
from tests.samples.sample import Sample

S = Sample
PADS = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}
NUMBERS = ("float64", "float32", "complex128")


def windows(x, before, window, mode):
    """Return the windows of a continued vector, one in each row, by definition."""
    if not len(x):
        return numpy.zeros((0, window), x.dtype)
    padded = numpy.pad(x, (before, window - 1 - before), PADS[mode])
    return numpy.array([padded[i : i + window] for i in range(len(x))])


def filtered(op, before, mode):
    """Return `correlate` or `spread` along the first axis of vectors, and for NumPy its sums by definition."""

    def function(np, x, w):
        if type(x) is not numpy.ndarray:
            return ex.filtered(op, x, w, (0,), (before,), mode)
        rows = numpy.array([windows(unit, before, len(w), mode) @ w for unit in numpy.eye(len(x), dtype=x.dtype)])
        matrix = rows.reshape(len(x), len(x))  # each element times its windows
        return (x @ matrix if op is ex.correlate_op else matrix @ x).astype(x.dtype)

    return function


def weighed(before, window, mode):
    def function(np, x, y):
        if type(x) is numpy.ndarray:
            return y @ windows(x, before, window, mode)
        return ex.weigh(x, y, (0,), (before,), (window,), mode)

    return function


FOOTPRINT = numpy.array([True, False, True, True])


def tied(op, beyond=0):
    """Return `tied` or `untied` of the greatest elements of windows, and for NumPy its sums by definition."""

    def function(np, x, t):
        if type(x) is not numpy.ndarray:
            greatest = ex.ranked(x, FOOTPRINT, (0,), (1,), "mirror", rank=-1, box=False)
            return ex.tied(op, x, greatest, t, FOOTPRINT, (0,), (1,), "mirror", fill=0.0, beyond=beyond)
        positions = windows(numpy.arange(len(x)), 1, 4, "mirror")[:, FOOTPRINT]
        sums = numpy.zeros_like(t)
        for i, row in enumerate(positions):
            for j in row:
                if x[j] == x[row].max():
                    sums[i if op is ex.tied_op else j] += t[j if op is ex.tied_op else i]
        return sums

    return function


def repeated(rng, shapes, dtype):
    """Return integers, many of them equal, and numbers."""
    first, *rest = shapes
    return [rng.integers(0, 3, first).astype(dtype), *[rng.uniform(-1, 1, s).astype(dtype) for s in rest]]


def apart(rng, shapes, dtype):
    """Return numbers that all differ."""
    return [rng.permutation(int(numpy.prod(s))).reshape(s).astype(dtype) - 3 for s in shapes]


SAMPLES = [
    S("median of windows", lambda np, x: ndimage.median_filter(x, (2, 3)), ("n, m",), ("ranked",), make=apart),
    S("ranks of windows", lambda np, x: ndimage.rank_filter(x, 1, 4, mode="wrap"), ("n",), ("ranked",), make=apart),
    S("erosion", lambda np, x: ndimage.grey_erosion(x, (3, 2), mode="nearest"), ("n, m",), ("ranked",), make=apart),
    S("greatest of windows", lambda np, x: ndimage.maximum_filter1d(x, 3, 0), ("n, 2",), ("ranked",), make=apart),
    S("tied", tied(ex.tied_op), ("n", "n"), ("tied",), make=repeated, grad=None),
    S("untied", tied(ex.untied_op), ("n", "n"), ("untied",), make=repeated, grad=None),
    *[
        S(f"correlate, {mode}", filtered(ex.correlate_op, 1, mode), ("n", "4"), ("correlate",), NUMBERS)
        for mode in ex.MODES
    ],
    *[S(f"spread, {mode}", filtered(ex.spread_op, 3, mode), ("n", "4"), ("spread",), NUMBERS) for mode in ex.MODES],
    *[S(f"weigh, {mode}", weighed(2, 3, mode), ("n", "n"), ("weigh",), NUMBERS) for mode in ex.MODES],
    S("correlate of images", lambda np, x, w: ndimage.correlate(x, w, mode="mirror"), ("n, m", "3, 2")),
    S("convolve along an axis", lambda np, x, w: ndimage.convolve1d(x, w, axis=1), ("2, n, 3", "5")),
    S("means of windows", lambda np, x: ndimage.uniform_filter(x, (3, 4), mode="nearest"), ("n, m",)),
    S("Gaussian", lambda np, x: ndimage.gaussian_filter(x, 0.4), ("n, m",)),
]
