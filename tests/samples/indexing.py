"""Samples of reading parts of arrays. Index arrays hold negative and repeated positions, if there are any."""

import numpy

from tests.samples.sample import Sample, draw

S = Sample
MIXED = ("float64", "float32", "complex128", "int32", "bool")
HERE = frozenset({"namespace"})


def positions(*sources):
    """Values for all shapes but the last ones; those are index arrays, into the axes `sources` of the first array."""

    def make(rng, shapes, dtype):
        values = [draw(rng, shape, dtype, (-2.0, 2.0)) for shape in shapes[: -len(sources)]]
        indices = []
        for axis, shape in zip(sources, shapes[-len(sources) :], strict=True):
            size = shapes[0][axis]
            indices.append(rng.integers(-size, size, shape) if size else numpy.zeros(shape, numpy.int64))
        return [*values, *indices]

    return make


def permutation(rng, shapes, dtype):
    """Values, and indices of the smallest unsigned type that never repeat."""
    return [draw(rng, shapes[0], dtype, (-2.0, 2.0)), rng.permutation(shapes[0][0]).astype(numpy.uint8)]


SAMPLES = [
    # -- basic keys
    S("slice", lambda np, x: x[1:3], ("n, 2",), ops=("slice", "pad"), dtypes=MIXED),
    S("slice, both ends", lambda np, x: x[1:] * x[:-1] + x[1:], ("n",)),
    S("slice, steps", lambda np, x: (x[::2], x[1::3], x[:-1:2]), ("n, 2",)),
    S("slice, backwards", lambda np, x: (x[::-1], x[::-2], x[-2:0:-1], x[3::-2], x[:1:-1]), ("n",)),
    S("slice, beyond", lambda np, x: (x[7:], x[:9], x[-9:], x[-2:-4], x[4:1], x[9::-1]), ("n",)),
    S("slice, axes", lambda np, x: x[1:, ::-1, :2], ("m, n, 3",)),
    S("slice, size", lambda np, x, y: (x[: y.shape[0]], x[y.shape[0] :]), ("m", "n")),
    S("slice, last", lambda np, x: (x[: x.shape[0] - 1], x[x.shape[0] - 1 :]), ("n",)),
    S("integer", lambda np, x: x[0] * x[-1], ("n, 2",)),
    S("integer, beyond", lambda np, x: x[3], ("n",)),
    S("integer, from the end", lambda np, x: x[:, -2], ("m, n",)),
    S("integer, size", lambda np, x: x[x.shape[0] - 1], ("n",)),
    S("integer, all", lambda np, x: x[1, 0], ("3, n",)),
    S("ellipsis", lambda np, x: (x[..., 0], x[0, ...], x[...]), ("2, n, 2",)),
    S("newaxis", lambda np, x: x[None, :, np.newaxis, ..., None] * x, ("n",)),
    S("newaxis, scalar", lambda np, x: x[None, ...], ("",)),
    S("mixture", lambda np, x: x[None, 1:, 0, ..., ::-1, None], ("m, 2, n, 3",)),
    S("empty key", lambda np, x: x[()], ("n",)),
    # -- integer arrays
    S("index array", lambda np, x, i: x[i], ("m, 2", "n"), ops=("take", "put_add"), dtypes=MIXED, make=positions(0)),
    S("index array, rank 2", lambda np, x, i: x[i] * x[i], ("m, 2", "k, n"), make=positions(0)),
    S("index array, scalar", lambda np, x, i: x[i], ("m, 2", ""), make=positions(0)),
    S("index array, middle", lambda np, x, i: x[:, i, 1:], ("2, m, 3", "n"), make=positions(1)),
    S("index array, last", lambda np, x, i: x[..., i], ("2, m", "n"), make=positions(1)),
    S("index array, unsigned", lambda np, x, i: x[i], ("n, 2", "n"), make=permutation),
    S(
        "index array, unused",
        lambda np, x, i: (x[:, i], x * 2)[1],
        ("2, m", "n"),
        ops=("index_bounds",),
        make=positions(1),
    ),
    S("index list", lambda np, x: x[[0, -1, 0]], ("n, 2",)),
    S("index list, beyond", lambda np, x: x[[0, 3]], ("n, 2",)),
    S("index list, empty", lambda np, x: x[[]], ("n, 2",)),
    S("constant index", lambda np, x: x[numpy.array([[1, 0], [1, -1]])], ("n, 2",)),
    S("constant index, unsigned", lambda np, x: x[numpy.array([1, 0], numpy.uint64)], ("n, 2",)),
    S("two index arrays", lambda np, x, i, j: x[i, j], ("m, n, 2", "k", "k"), make=positions(0, 1)),
    S("two index arrays, stretched", lambda np, x, i, j: x[i, j], ("m, n", "k, 1", "2"), make=positions(0, 1)),
    S("two index arrays, apart", lambda np, x, i, j: x[i, :, j], ("m, 3, n", "k", "k"), make=positions(0, 2)),
    S("two index arrays, later", lambda np, x, i, j: x[:, i, j, 1:], ("2, m, n, 3", "k", "k"), make=positions(1, 2)),
    S(
        "index array and integer",
        lambda np, x, i: (x[i, 0], x[0, :, i], x[:, 0, i]),
        ("2, 2, n", "k"),
        make=positions(2),
    ),
    S(
        "index array and newaxis",
        lambda np, x, i: (x[i, None, i], x[None, i, ..., i]),
        ("n, n", "k"),
        make=positions(0),
    ),
    S(
        "cross entropy",
        lambda np, x, t: x[np.arange(x.shape[0]), t],
        ("n, 3", "n"),
        make=positions(1),
        tags=HERE,
    ),
    S("constant mask", lambda np, x: x[:, numpy.array([True, False, True])], ("n, 3",)),
    S("constant mask, all axes", lambda np, x: x[numpy.eye(2, dtype=bool)], ("2, 2, n",)),
    # -- take and its kin
    S("take", lambda np, x, i: np.take(x, i, axis=0), ("m, 2", "n"), ops=("take",), make=positions(0)),
    S("take, flat", lambda np, x: np.take(x, [3, 0, -1]), ("2, 2",)),
    S("take, last axis", lambda np, x, i: np.take(x, i, axis=-1), ("2, m", "k, n"), make=positions(1)),
    S("take, one", lambda np, x: np.take(x, 1, axis=1), ("n, 2",)),
    S("take, clip", lambda np, x: np.take(x, [7, -7, 0], axis=0, mode="clip"), ("n, 2",), smallest=1),
    S("take, wrap", lambda np, x: np.take(x, [7, -7, 0], axis=0, mode="wrap"), ("n, 2",), smallest=1),
    S(
        "take, large",
        lambda np, x, i: np.take(x, i, axis=0) ** 2,
        ("m, 400", "30"),
        make=positions(0),
        vmap=False,
        smallest=1,
    ),
    S("take_along_axis", lambda np, x, i: np.take_along_axis(x, i, axis=0), ("m, n", "k, n"), make=positions(0)),
    S("take_along_axis, last", lambda np, x, i: np.take_along_axis(x, i, -1) * 2, ("m, n", "m, 1"), make=positions(1)),
    S("take_along_axis, stretched", lambda np, x, i: np.take_along_axis(x, i, 1), ("m, n", "1, 2"), make=positions(1)),
    S("take_along_axis, flat", lambda np, x, i: np.take_along_axis(x, i, None), ("m", "n"), make=positions(0)),
    S("compress", lambda np, x: np.compress([True, False, True], x, axis=0), ("n, 2",)),
    S("ix_", lambda np, x, i, j: x[np.ix_(i, j)], ("m, n", "k", "2"), make=positions(0, 1)),
    # -- diagonals
    S("diag", lambda np, x: (np.diag(x), np.diag(x, 2), np.diag(x, -1)), ("n",), dtypes=("float64", "int32")),
    S("diag, matrix", lambda np, x: np.diag(x, 1), ("m, n",)),
    S("diagonal", lambda np, x: np.diagonal(x), ("m, n",)),
    S("diagonal, offsets", lambda np, x: (np.diagonal(x, 1), np.diagonal(x, -2), np.diagonal(x, 9)), ("m, n",)),
    S("diagonal, axes", lambda np, x: np.diagonal(x, 0, 2, 0), ("m, 2, n",)),
    S("trace", lambda np, x: np.trace(x) * np.trace(x, -1), ("m, n",), dtypes=("float64", "int32")),
    S("trace, axes", lambda np, x: np.trace(x, 0, -1, 0), ("m, 2, n",)),
    # -- padding
    S("pad", lambda np, x: np.pad(x, 1), ("m, n",), ops=("pad",), dtypes=MIXED),
    S("pad, pairs", lambda np, x: np.pad(x, ((0, 2), (1, 0)), constant_values=2), ("m, n",)),
    S("pad, values", lambda np, x: np.pad(x, (1, 2), constant_values=((1, 2), (3, 4))), ("m, n",)),
    S("pad, traced value", lambda np, x, y: np.pad(x, 1, constant_values=y), ("n", "")),
    S("pad, size", lambda np, x, y: np.pad(x, (0, y.shape[0])), ("n", "m"), tags=HERE),
    S("pad, edge", lambda np, x: np.pad(x, ((2, 1), (0, 3)), mode="edge"), ("m, n",)),
    S("pad, wrap", lambda np, x: np.pad(x, (3, 2), mode="wrap"), ("n",)),
    S("pad, reflect", lambda np, x: np.pad(x, (3, 2), mode="reflect"), ("n",)),
    S("pad, symmetric", lambda np, x: np.pad(x, (3, 2), mode="symmetric"), ("n",)),
    S("pad, odd reflect", lambda np, x: np.pad(x, (3, 4), mode="reflect", reflect_type="odd"), ("n",)),
    S("pad, odd symmetric", lambda np, x: np.pad(x, (2, 3), mode="symmetric", reflect_type="odd"), ("n",)),
    S("pad, linear ramp", lambda np, x: np.pad(x, ((2, 3), (0, 1)), mode="linear_ramp", end_values=(2, -1)), ("m, n",)),
    S("pad, mean", lambda np, x: np.pad(x, (1, 2), mode="mean", stat_length=(3, 1)), ("n",)),
    S("pad, maximum", lambda np, x: np.pad(x, (1, 2), mode="maximum", stat_length=2), ("n",)),
    # -- the flat view, which only arrays of a program and of NumPy have
    S("flat", lambda np, x: x.flat[::2], ("m, n",), dtypes=MIXED),
    S("flat, positions", lambda np, x: x.flat[[0, -1, 0]], ("n, 3",), smallest=1),
    # -- differences
    S("diff", lambda np, x: np.diff(x), ("m, n",), dtypes=("float64", "int32", "bool")),
    S("diff, order", lambda np, x: np.diff(x, 2, axis=0), ("n, 2",)),
    S("diff, ends", lambda np, x, y: np.diff(x, prepend=0, append=y), ("2, n", "2, m")),
    S("ediff1d", lambda np, x: np.ediff1d(x, to_end=[1.0, 2.0], to_begin=3.0), ("m, n",)),
]
