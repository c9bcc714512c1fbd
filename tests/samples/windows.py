"""Samples of convolutions and of reductions of windows: strides, dilations, paddings, groups, ties, empty results."""

import itertools

import numpy

import anyshape
from anyshape import ops
from anyshape.numpy.operands.promotion import size_of
from anyshape.ops.windows import Moves
from tests.samples.sample import Sample, is_plain

S = Sample
NUMBERS = ("float64", "float32", "complex128", "int32")
REAL = ("float64", "float32", "int32")


def gathered(x, window, strides, pads, dilation, window_dilation):
    """Return the elements of each window of x, by definition, and whether they are there."""
    reach = [(n - 1) * d + 1 if n else 0 for n, d in zip(x.shape, dilation)]
    needed = [(k - 1) * d + 1 if k else 0 for k, d in zip(window, window_dilation)]
    sizes = [max(0, -(-(n + a + b - k + 1) // s)) for n, (a, b), k, s in zip(reach, pads, needed, strides)]
    values, inside = numpy.zeros((*sizes, *window), x.dtype), numpy.zeros((*sizes, *window), bool)
    for i, k in itertools.product(numpy.ndindex(*sizes), numpy.ndindex(*window)):
        at = [p * s + q * d - a for p, q, s, d, (a, _) in zip(i, k, strides, window_dilation, pads)]
        if all(0 <= p < n and p % d == 0 for p, n, d in zip(at, reach, dilation)):
            values[i + k], inside[i + k] = x[tuple(p // d for p, d in zip(at, dilation))], True
    return values, inside


def same(shape, window, strides):
    """Return the padding "SAME" without dilation."""
    totals = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(shape, window, strides)]
    return [(t // 2, t - t // 2) for t in totals]


def convolved(strides, padding, x_dilation=None, w_dilation=None, groups=1):
    """Return `conv_general_dilated`, and for NumPy the sums of products by definition."""

    def function(np, x, w):
        if np is not numpy or not is_plain(x):
            return anyshape.conv_general_dilated(
                x, w, strides, padding, x_dilation, w_dilation, feature_group_count=groups
            )
        space = w.shape[2:]
        ones = (1,) * len(space)
        pads = same(x.shape[2:], space, strides) if padding == "SAME" else padding
        pads = [(0, 0)] * len(space) if padding == "VALID" else pads
        pads = [(0, 0), (0, 0), *pads]
        values, _ = gathered(
            x, (1, 1, *space), (1, 1, *strides), pads, (1, 1, *(x_dilation or ones)), (1, 1, *(w_dilation or ones))
        )
        values = values.reshape(*values.shape[: x.ndim], *space)
        return by_groups(values, w, groups, len(space))

    return function


def by_groups(values, w, groups, spatial):
    """Return windows of features times windows of filters, summed over the features of a group."""
    letters = "uvwz"[:spatial], "ijkl"[:spatial]
    share, filters = w.shape[1], w.shape[0] // groups
    parts = [
        numpy.einsum(
            f"nc{letters[0]}{letters[1]},oc{letters[1]}->no{letters[0]}",
            values[:, g * share : (g + 1) * share],
            w[g * filters : (g + 1) * filters],
        )
        for g in range(groups)
    ]
    return numpy.concatenate(parts, axis=1)


def reduced(computation, window, strides, pads, init, dilation=None):
    """Return `reduce_window`, and for NumPy the reduction of windows by definition."""

    def function(np, x):
        if np is not numpy or not is_plain(x):
            return anyshape.reduce_window(x, init, computation, window, strides, pads, None, dilation)
        ones = (1,) * x.ndim
        around = [(0, 0)] * x.ndim if pads == "VALID" else pads
        values, inside = gathered(x, window, strides, around, ones, dilation or ones)
        axes = tuple(range(x.ndim, 2 * x.ndim))
        if computation is numpy.add or computation is numpy.mean:
            total = values.sum(axes, dtype=x.dtype)
            return total / inside.sum(axes) if computation is numpy.mean else total
        least = init if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min if init < 0 else numpy.iinfo(x.dtype).max
        return computation.reduce(numpy.where(inside, values, x.dtype.type(least)), axes)

    return function


def positions(name, window, pads):
    """Return the op that gives where extremes of windows are, and for NumPy their positions by definition."""

    def function(np, x):
        if np is not numpy or not is_plain(x):
            (before, after), k = pads, window[0]
            moves = Moves((before,), (size_of(x.shape[0] + (before + after - k + 1)),), (1,), (1,), (1,))
            return getattr(ops, f"window_{name}")(x, window, moves)
        worst = {"argmax": -numpy.inf, "argmin": numpy.inf}[name]
        padded = numpy.concatenate([numpy.full(pads[0], worst), x, numpy.full(pads[1], worst)])
        starts = range(len(padded) - window[0] + 1)
        best = [i + getattr(numpy, name)(padded[i : i + window[0]]) - pads[0] for i in starts]
        return numpy.array([i if 0 <= i < len(x) else -1 for i in best], int)

    return function


def apart(rng, shapes, dtype):
    """Return values that all differ."""
    return [rng.permutation(int(numpy.prod(s))).reshape(s).astype(dtype) - 3 for s in shapes]


def overlapped(axis):
    """Return the sums of windows, the last axis, that start at each position along another axis."""

    def function(np, x):
        if np is not numpy or not is_plain(x):
            return ops.sliding(x, axis, size_of(x.shape[-1]), back=True)
        rows = numpy.moveaxis(x, axis, -2)
        count, length = rows.shape[-2:]
        out = numpy.zeros((*rows.shape[:-2], count + length - 1), x.dtype)
        for i, k in numpy.ndindex(count, length):
            out[..., i + k] += rows[..., i, k]
        return numpy.moveaxis(out, -1, axis)

    return function


C = ("convolution",)
SAMPLES = [
    S("conv", convolved((1, 1), "VALID"), ("2, n, 4, m", "2, n, 2, 2"), C, NUMBERS),
    S("conv of windows of all sizes", convolved((1,), [(1, 1)]), ("2, 1, n", "1, 1, m"), C, NUMBERS),
    S("conv with strides", convolved((2, 3), [(1, 2), (0, 1)]), ("1, 2, n, 5", "2, 2, m, 2"), C),
    S("conv of the same size", convolved((2, 1), "SAME"), ("n, 1, m, 4", "2, 1, 3, 2"), C),
    S("conv with dilations", convolved((2,), [(2, 1)], (2,), (3,)), ("1, 2, n", "2, 2, m"), C),
    S("conv that cuts off", convolved((1,), [(-1, 2)]), ("1, 1, n", "1, 1, 2"), C),
    S("conv of groups", convolved((1, 1), "VALID", groups=2), ("2, 4, n, 3", "6, 2, 2, m"), C),
    S("conv of three axes", convolved((1, 2, 1), "SAME"), ("1, 1, n, 3, 2", "1, 1, 2, 2, 2"), C, order=1),
    S("sums of overlaps", overlapped(0), ("n, m, 2",), ("sliding",), smallest=1),
    S("sums of longer overlaps", overlapped(1), ("m, 2, n",), ("sliding",), NUMBERS, smallest=1),
    S("window sum", reduced(numpy.add, (2, 3), (1, 1), [(0, 1), (1, 1)], 0), ("n, m",), ("window_sum",), NUMBERS),
    S("window sum of many", reduced(numpy.add, (11,), (1,), [(5, 5)], 0), ("n",), ("window_sum",)),
    S("window mean", reduced(numpy.mean, (2, 2), (2, 1), [(0, 1), (1, 0)], 0), ("n, m",), ("window_sum",)),
    S(
        "window max",
        reduced(numpy.maximum, (2, 2), (1, 2), [(1, 0), (0, 1)], -numpy.inf),
        ("n, m",),
        ("window_max", "window_argmax"),
        REAL,
        make=apart,
    ),
    S(
        "window min",
        reduced(numpy.minimum, (3,), (2,), "VALID", numpy.inf, (2,)),
        ("n",),
        ("window_min", "window_argmin"),
        REAL,
        make=apart,
    ),
    *[
        S(f"window {name}", positions(name, (2,), (1, 1)), ("n",), (f"window_{name}",), REAL, grad=False)
        for name in ("argmax", "argmin")
    ],
]
