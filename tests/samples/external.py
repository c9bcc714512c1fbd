"""Samples of functions of other libraries: correlations by all modes, their transposes, windows of any size."""

import numpy
import scipy.ndimage

from anyshape.ops import external as ex
from anyshape.scipy import ndimage
from tests.samples.sample import Sample, is_plain

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
        if not is_plain(x):
            return ex.filtered(op, x, w, (0,), (before,), mode)
        rows = numpy.array([windows(unit, before, len(w), mode) @ w for unit in numpy.eye(len(x), dtype=x.dtype)])
        matrix = rows.reshape(len(x), len(x))  # each element times its windows
        return (x @ matrix if op is ex.correlate_op else matrix @ x).astype(x.dtype)

    return function


def weighed(before, window, mode):
    def function(np, x, y):
        if is_plain(x):
            return y @ windows(x, before, window, mode)
        return ex.weigh(x, y, (0,), (before,), (window,), mode)

    return function


def between_rates(up, down):
    def function(np, x, h):
        if not is_plain(x):
            return ex.upfirdn(x, h, up, down)
        count = max((x.shape[-1] - 1) * up + len(h), 0)
        out = numpy.zeros((*x.shape[:-1], count), x.dtype)
        for k in range(x.shape[-1]):
            out[..., k * up : k * up + len(h)] += x[..., k, None] * h
        return out[..., ::down]

    return function


def recursive(sections):
    """Return the op, and for NumPy its definition: values, and the states at the end where it begins with states."""

    def function(np, x, b, c, *states):
        if is_plain(x):
            return by_steps(x, numpy.atleast_2d(b), numpy.atleast_2d(c), *states)
        b, c = (v if v.ndim > 1 else v[None] for v in (b, c))
        out = ex.lfilter(x, b, c, *states, sections=sections, ends=bool(states))
        return numpy.concatenate(out, axis=-1) if states else out

    return function


def by_steps(x, b, c, *states):
    order, n = max(b.shape[1] - 1, c.shape[1]), x.shape[-1]
    at_end = []
    for i, (above, below) in enumerate(zip(b, c, strict=True)):
        y, state = numpy.zeros_like(x), numpy.zeros((*x.shape[:-1], order + 1), x.dtype)
        if states:
            state[..., :order] = states[0][..., i * order : (i + 1) * order]
        for k in range(n):
            y[..., k] = above[0] * x[..., k] + state[..., 0]
            state[..., :-1] = state[..., 1:]
            state[..., : len(above) - 1] += above[1:] * x[..., k, None]
            state[..., : len(below)] += below * y[..., k, None]
        at_end.append(state[..., :order])
        x = y
    return numpy.concatenate([x, *at_end], axis=-1) if states else x


def between(order, mode, back=False):
    """Return values of splines at points, or what they deposit in 5, and for NumPy the same by SciPy's values."""

    def function(np, x, at):
        if not is_plain(x):
            options = {"form": "points", "order": order, "mode": mode, "slopes": (0,), "each": False}
            shape, fill = ((5,), 0.0) if back else (at.shape, 0.5)
            return ex.interpolate(x, at[None], shape, fill=fill, back=back, **options)
        value = lambda unit, fill: scipy.ndimage.map_coordinates(unit, at[None], None, order, mode, fill, False)
        rows = numpy.array([value(unit, 0.0) for unit in numpy.eye(len(x) if not back else 5)])
        rows = rows.reshape(len(x) if not back else 5, len(at))
        if back:
            return (rows @ x).astype(x.dtype)
        return (x @ rows + (value(numpy.zeros(len(x)), 0.5) if len(x) else 0.5)).astype(x.dtype)

    return function


def beyond(rng, shapes, dtype):
    """Return an array, and coordinates inside and beyond the ends."""
    return [rng.uniform(-1, 1, shapes[0]).astype(dtype), rng.uniform(-4, 8, shapes[1])]


def prefiltered(order, mode):
    def function(np, x):
        if is_plain(x):
            return scipy.ndimage.spline_filter1d(x, order, 0, x.dtype, mode) if x.size else x
        return ex.spline_filter(x, 0, order, mode)

    return function


FOOTPRINT = numpy.array([True, False, True, True])


def tied(beyond=0, back=False):
    """Return `tied` or its transpose of the greatest elements of windows, and for NumPy its sums by definition."""

    def function(np, x, t):
        if not is_plain(x):
            greatest = ex.ranked(x, FOOTPRINT, (0,), (1,), "mirror", rank=-1, box=False)
            return ex.tied(x, greatest, t, FOOTPRINT, (0,), (1,), "mirror", fill=0.0, beyond=beyond, back=back)
        positions = windows(numpy.arange(len(x)), 1, 4, "mirror")[:, FOOTPRINT]
        sums = numpy.zeros_like(t)
        for i, row in enumerate(positions):
            for j in row:
                if x[j] == x[row].max():
                    sums[j if back else i] += t[i if back else j]
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
    S("lower rate", between_rates(2, 3), ("m, n", "4"), ("upfirdn",), NUMBERS),
    S("higher rate", between_rates(5, 2), ("n", "3"), ("upfirdn",)),
    S("every third", between_rates(1, 3), ("n", "3"), ("upfirdn",)),
    S("recursive filter", recursive(1), ("m, n", "2", "q"), ("lfilter",), NUMBERS, (-0.7, 0.7), order=3),
    S("recursive filter from states", recursive(1), ("n", "3", "1", "2"), ("lfilter",), domain=(-0.7, 0.7)),
    S("sections of filters", recursive(2), ("n", "2, 3", "2, 2", "4"), ("lfilter",), NUMBERS[:2], (-0.7, 0.7)),
    S("sections of lines", recursive(3), ("2, n", "3, 1", "3, 1", "2, 3"), ("lfilter",), domain=(-0.7, 0.7)),
    S("median of windows", lambda np, x: ndimage.median_filter(x, (2, 3)), ("n, m",), ("ranked",), make=apart),
    S("ranks of windows", lambda np, x: ndimage.rank_filter(x, 1, 4, mode="wrap"), ("n",), ("ranked",), make=apart),
    S("erosion", lambda np, x: ndimage.grey_erosion(x, (3, 2), mode="nearest"), ("n, m",), ("ranked",), make=apart),
    S("greatest of windows", lambda np, x: ndimage.maximum_filter1d(x, 3, 0), ("n, 2",), ("ranked",), make=apart),
    S(
        "binary steps",
        lambda np, x: ndimage.binary_closing(x > 0, iterations=2),
        ("n, m",),
        ("binary_steps",),
        grad=False,
    ),
    S("holes", lambda np, x: ndimage.binary_fill_holes(x > -1), ("n, m",), ("binary_steps",), grad=False),
    S("tied", tied(), ("n", "n"), ("tied",), make=repeated, grad=None),
    S("tied back", tied(back=True), ("n", "n"), ("tied",), make=repeated, grad=None),
    *[
        S(f"correlate, {mode}", filtered(ex.correlate_op, 1, mode), ("n", "4"), ("correlate",), NUMBERS)
        for mode in ex.MODES
    ],
    *[S(f"spread, {mode}", filtered(ex.spread_op, 3, mode), ("n", "4"), ("spread",), NUMBERS) for mode in ex.MODES],
    *[S(f"weigh, {mode}", weighed(2, 3, mode), ("n", "n"), ("weigh",), NUMBERS) for mode in ex.MODES],
    *[
        S(f"spline values, {mode}", between(order, mode), ("n", "k"), ("interpolate",), make=beyond)
        for order, mode in zip((3, 3, 2, 4, 5, 3, 3), ex.SPLINES, strict=True)
    ],
    S("linear values", between(1, "wrap"), ("n", "k"), ("interpolate",), NUMBERS[::2], make=beyond),
    S("deposits", between(3, "reflect", back=True), ("k", "k"), ("interpolate",), NUMBERS[::2], make=beyond),
    S("even deposits", between(2, "grid-constant", back=True), ("k", "k"), ("interpolate",), make=beyond),
    *[
        S(f"prefilter, {mode}", prefiltered(order, mode), ("n, 2",), ("spline_filter",), NUMBERS[::2])
        for order, mode in ((3, "mirror"), (5, "reflect"), (4, "grid-wrap"))
    ],
    S("shifted image", lambda np, x: ndimage.shift(x, (0.3, -1.2), mode="nearest"), ("n, m",), smallest=1),
    S("zoomed image", lambda np, x: ndimage.zoom(x, (2, 3), order=2, mode="mirror"), ("n, m",), smallest=1),
    S("zoomed grid", lambda np, x: ndimage.zoom(x, 2, mode="grid-wrap", grid_mode=True), ("n",), smallest=1),
    S("transformed image", lambda np, x, a: ndimage.affine_transform(x, a, 0.4, (3, 2)), ("n, m", "2, 2"), smallest=2),
    S("correlate of images", lambda np, x, w: ndimage.correlate(x, w, mode="mirror"), ("n, m", "3, 2")),
    S("convolve along an axis", lambda np, x, w: ndimage.convolve1d(x, w, axis=1), ("2, n, 3", "5")),
    S("means of windows", lambda np, x: ndimage.uniform_filter(x, (3, 4), mode="nearest"), ("n, m",)),
    S("Gaussian", lambda np, x: ndimage.gaussian_filter(x, 0.4), ("n, m",)),
]
