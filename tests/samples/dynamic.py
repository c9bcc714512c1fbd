"""Samples of run-time sizes: none, some and all elements chosen, and bounds beyond both ends."""

import numpy

import anyshape
from anyshape import ops
from tests.samples.sample import Sample, draw, is_plain

S = Sample
MIXED = ("float64", "float32", "complex128", "int32")
EVERY_SIZE = frozenset({"namespace"})


def bounded(rng, shapes, dtype):
    """Return values, and an integer for each scalar, from beyond the first end of the first axis to beyond the last."""
    size = shapes[0][0]
    return [
        draw(rng, shape, dtype, (-2.0, 2.0)) if shape else numpy.int64(rng.integers(-size - 1, size + 2))
        for shape in shapes
    ]


def counted(rng, shapes, dtype):
    """Return values, and small counts for each integer array or scalar, none of them negative."""
    first, *rest = shapes
    return [draw(rng, first, dtype, (-2.0, 2.0)), *[numpy.asarray(rng.integers(0, 4, shape)) for shape in rest]]


def within(rng, shapes, dtype):
    """Return values, and a number of elements that the last axis has."""
    return [draw(rng, shapes[0], dtype, (-2.0, 2.0)), numpy.int64(rng.integers(0, shapes[0][-1] + 1))]


def repeated(rng, shapes, dtype):
    """Return values with ties, and with NaN if the dtype has it."""
    values = [rng.integers(-1, 3, shape).astype(dtype) for shape in shapes]
    if dtype.kind in "fc" and values[0].size > 3:
        values[0].flat[1] = values[0].flat[3] = numpy.nan
    return values


def windows(rng, shapes, dtype):
    """Return an array of two axes, an update for it, and starts from beyond both ends."""
    x, u = (draw(rng, shape, dtype, (-2.0, 2.0)) for shape in shapes[:2])
    return [x, u, *[numpy.int64(rng.integers(-s - 2, s + 3)) for s in (*x.shape, 3)[: len(shapes) - 2]]]


def part(np, x, starts, sizes):
    """Return `dynamic_slice` by its definition."""
    if np is not numpy or not is_plain(x):
        return ops.dynamic_slice(x, starts, sizes)
    return x[window(x.shape, starts, sizes)]


def replaced(np, x, update, starts):
    """Return `dynamic_update_slice` by its definition."""
    if np is not numpy or not is_plain(x):
        return ops.dynamic_update_slice(x, update, starts)
    if any(u > n for u, n in zip(update.shape, x.shape, strict=True)):
        raise ValueError("the update does not fit")
    out = x.copy()
    out[window(x.shape, starts, update.shape)] = update
    return out


def window(shape, starts, sizes):
    places = [s + n if s < 0 else s for s, n in zip(starts, shape, strict=True)]
    if any(not 0 <= k <= n for k, n in zip(sizes, shape, strict=True)):
        raise ValueError("a part does not fit")
    places = [min(max(s, 0), n - k) for s, n, k in zip(places, shape, sizes, strict=True)]
    return tuple(slice(s, s + k) for s, k in zip(places, sizes, strict=True))


def truncated(np, x, size, axis=0):
    """`dynamic_truncate` as it is defined."""
    if np is not numpy or not is_plain(x):
        return ops.dynamic_truncate(x, size, axis)
    count = min(max(int(numpy.rint(size)), 0), x.shape[axis])
    return x.take(range(count), axis)


def largest(np, x, k):
    """`top_k` as it is defined."""
    if np is not numpy or not is_plain(x):
        return ops.top_k(x, k)
    order = x.shape[-1] - 1 - numpy.flip(numpy.argsort(numpy.flip(x, -1), -1, stable=True), -1)[..., : int(k)]
    return numpy.take_along_axis(x, order, -1), order


def placed(np, x, mask, values):
    """`place` on a copy."""
    if np is not numpy or not is_plain(x):
        return ops.place(x, mask, values)
    out = x.copy()
    numpy.place(out, mask, values)
    return out


def masked(rng, shapes, dtype):
    x, mask, values = (draw(rng, shape, dtype, (-2.0, 2.0)) for shape in shapes)
    return [x, mask.real > 0, values]


def each(np, function, x):
    """Return the function of each row."""
    return numpy.stack([function(row) for row in x]) if is_plain(x) else anyshape.vmap(function)(x)


SAMPLES = [
    S("mask", lambda np, x: x[abs(x) > 1], ("n",), ops=("nonzero",), dtypes=MIXED, vmap=False),
    S("mask, twice", lambda np, x, y: x[x > 0] * np.sin(y[x > 0]), ("n", "n"), vmap=False),
    S("mask of rows", lambda np, x: x[x[:, 0] > 0] @ np.ones((2, 3)), ("n, 2",), vmap=False),
    S("mask of all axes", lambda np, x: x[x > 0] ** 2, ("m, n",), vmap=False),
    S("mask of a mask", lambda np, x: x[x > 0][x[x > 0] < 1].reshape(-1, 1) * np.ones(2), ("n",), vmap=False),
    S("slice, to a value", lambda np, x, k: x[:k] * x[:k], ("n", ""), ops=("size_token",), make=bounded, vmap=False),
    S("slice, from a value", lambda np, x, i, j: x[i:j], ("n, 2", "", ""), make=bounded, vmap=False),
    S("slice, to a count", lambda np, x: x[: (x > 0).sum()], ("n",), vmap=False),
    S("slice, every other", lambda np, x, i, j: x[i:j:2] ** 2, ("n", "", ""), make=bounded, vmap=False),
    S("slice, two parts", lambda np, x, k: np.concatenate([x[k:], x[:k]]) * x, ("n", ""), make=bounded, vmap=False),
    S("slice of two arrays", lambda np, x, k, y: x[:k] * y[:k], ("n", "", "n"), make=bounded, vmap=False),
    S("dynamic_truncate", truncated, ("n, 2", ""), make=bounded, vmap=False, dtypes=MIXED),
    S("dynamic_truncate by a float", lambda np, x, k: truncated(np, x * x, k.sum() * 1.5), ("n", "2"), vmap=False),
    S("dynamic_truncate, last axis", lambda np, x, k: truncated(np, x, k, -1) * 2, ("2, n", ""), make=bounded,
      vmap=False),
    S("dynamic_slice", lambda np, x, u, i, j: part(np, x, (i, j), (2, 1)) ** 2, ("m, n", "1", "", ""),
      ops=("dynamic_slice",), make=windows, smallest=2),
    S("dynamic_slice of a size", lambda np, x, u, i, j: part(np, x * x, (i, j), (u.shape[0], x.shape[1])),
      ("m, n", "n", "", ""), make=windows, tags=EVERY_SIZE),
    S("dynamic_update_slice", lambda np, x, u, i, j: replaced(np, x * x, u * u, (i, j)), ("m, n", "2, 1", "", ""),
      ops=("dynamic_update_slice",), make=windows, dtypes=MIXED),
    S("top_k", largest, ("m, n", ""), make=within, dtypes=("float64", "int32"), vmap=False),
    S("top_k of equal ones", lambda np, x: largest(np, x, 2)[1], ("2, n",), make=repeated, grad=False, smallest=2),
    S("place", placed, ("m, n", "m, n", "3"), make=masked, dtypes=("float64", "int32", "complex128")),
    S("nonzero", lambda np, x: np.nonzero(x > 0), ("m, n",), grad=False, vmap=False),
    S("nonzero, method", lambda np, x: (x > 0).nonzero(), ("n",), grad=False, vmap=False),
    S("flatnonzero", lambda np, x: np.ravel(x)[np.flatnonzero(x > 0)], ("m, n",), vmap=False),
    S("argwhere", lambda np, x: np.argwhere(x), ("m, n",), dtypes=("int32", "bool"), grad=False, vmap=False),
    S("argwhere scalar", lambda np, x: np.argwhere(x), ("",), dtypes=("int32", "bool"), grad=False, vmap=False),
    S("where of a condition", lambda np, x: x[np.where(x > 0)] * 2, ("m, n",), vmap=False),
    S("compress", lambda np, x, y: np.compress(x > 0, y, axis=1), ("n", "m, n"), vmap=False),
    S("compress, flat", lambda np, x, y: np.compress(x > 0, y), ("n", "2, n"), vmap=False),
    S("extract", lambda np, x: np.extract(x > 0, x * x), ("m, n",), vmap=False),
    S("trim_zeros", lambda np, x: np.trim_zeros(np.where(x > 0, x, 0)), ("n",), vmap=False),
    S("trim_zeros, front", lambda np, x: np.trim_zeros(x, "f"), ("n",), dtypes=("int32",), grad=False, vmap=False),
    S("unique", lambda np, x: np.unique(np.round(x)) * np.unique(x).sum(), ("n",), ops=("unique",), grad=None,
      vmap=False),
    S("unique, all of it", lambda np, x: np.unique(x, True, True, True), ("m, n",), make=repeated,
      dtypes=("int32", "complex128"), grad=None, vmap=False),
    S("unique with NaN", lambda np, x: np.unique(x, return_counts=True, equal_nan=False), ("n",), make=repeated,
      grad=None, vmap=False),
    S("unique rows", lambda np, x: np.unique(x, return_inverse=True, axis=0), ("n, 2",), make=repeated,
      dtypes=("int32",), grad=None, vmap=False),
    S("unique of different ones", lambda np, x: np.unique(x) ** 2, ("n",), vmap=False),
    S("unique_all", lambda np, x: tuple(np.unique_all(x)), ("n",), make=repeated, dtypes=("int32",), grad=None,
      vmap=False),
    S("unique_counts", lambda np, x: tuple(np.unique_counts(x)), ("n",), make=repeated, grad=None, vmap=False),
    S("unique_inverse", lambda np, x: tuple(np.unique_inverse(x)), ("n",), make=repeated, grad=None, vmap=False),
    S("isin", lambda np, x, y: (np.isin(x, y), np.isin(x, y, invert=True)), ("m, n", "n"), make=repeated, grad=None,
      vmap=False),
    S("union1d", lambda np, x, y: np.union1d(x, y), ("m", "n"), make=repeated, dtypes=("int32",), grad=None,
      vmap=False),
    S("intersect1d, indices", lambda np, x, y: np.intersect1d(x, y, return_indices=True), ("m", "n"), make=repeated,
      dtypes=("int32",), grad=None, vmap=False),
    S("intersect1d", lambda np, x, y: np.intersect1d(x, y), ("m", "n"), make=repeated, dtypes=("int32",), grad=None,
      vmap=False),
    S("setdiff1d", lambda np, x, y: np.setdiff1d(x, y), ("m", "n"), make=repeated, dtypes=("int32",), grad=None,
      vmap=False),
    S("repeat by counts", lambda np, x, c: np.repeat(x * x, c, axis=0), ("n, 2", "n"), ops=("repeated",),
      make=counted, vmap=False),
    S("repeat by one count for all", lambda np, x, c: np.repeat(x, c), ("n", "1"), make=counted, vmap=False),
    S("repeat by a value", lambda np, x, k: np.repeat(x, k) * 2, ("n", ""), make=counted, vmap=False),
    S("tile by a value", lambda np, x, k: np.tile(x, (k, 2)), ("n", ""), make=counted, vmap=False,
      tags=EVERY_SIZE),
    S("bincount", lambda np, x, i: np.bincount(i), ("n", "n"), make=counted, vmap=False, grad=False),
    S("bincount with weights", lambda np, x, i: np.bincount(i, x * x, 3), ("n", "n"), make=counted, vmap=False,
      smallest=1),  # of nothing NumPy gives integers
    S("zeros by a value", lambda np, x, k: np.zeros((k, x.shape[0])) + x * x, ("n", ""), make=counted, vmap=False,
      tags=EVERY_SIZE),
    S("arange by a value", lambda np, x, k: np.arange(k) * np.ones(k) * x.sum(), ("n", ""), make=counted,
      vmap=False, tags=EVERY_SIZE),
    S("arange, beyond", lambda np, x, k: (np.arange(k), np.arange(2, k, 3), np.arange(k, 0, -2)), ("n", ""),
      make=bounded, vmap=False, grad=False, tags=EVERY_SIZE),
    S("matrices by a value", lambda np, x, k: np.eye(k) + np.tri(k, k) + np.identity(k) * np.full((k, k), x.sum()),
      ("n", ""), make=counted, vmap=False, tags=EVERY_SIZE),
    S("linspace by a value", lambda np, x, k: np.linspace(x.sum(), 1, k), ("n", ""), make=counted, vmap=False,
      tags=EVERY_SIZE),
    S("broadcast_to a value", lambda np, x, k: np.broadcast_to(x, (k, x.shape[0])) ** 2, ("n", ""), make=counted,
      vmap=False, tags=EVERY_SIZE),
    S("reshape by a value", lambda np, x, k: np.reshape(x, (k, -1)) ** 2, ("n", ""), make=counted, vmap=False,
      tags=EVERY_SIZE),
    S("mask of each row", lambda np, x: each(np, lambda r: r[np.argsort(r) > 0] ** 2, x), ("3, n",),
      ops=("nonzero_each",), vmap=False),  # of no examples no size is known
    S("mask of each matrix", lambda np, x: each(np, lambda r: r[(r > 5) | (np.arange(2) > 0)] ** 2, x), ("3, m, 2",),
      vmap=False),
    S("slice of each row", lambda np, x: each(np, lambda r: r[: np.minimum((r > -9).sum(), 2)] ** 2, x), ("3, n",),
      ops=("size_token_each",), smallest=1, vmap=False),
    S("distinct elements of each row", lambda np, x: each(np, lambda r: np.unique(r) ** 2, x), ("3, n",),
      ops=("unique_each",), vmap=False),
    S("repeats of each row", lambda np, x: each(np, lambda r: np.repeat(r * r, np.argsort(r)), x), ("3, n",),
      ops=("repeated_each",), vmap=False),
    S("negative sizes", lambda np, x, k: np.ones(k) * x.sum(), ("n", ""), make=bounded, vmap=False, tags=EVERY_SIZE),
]  # fmt: skip
