"""Samples of windows read and written at index arrays.

Indices repeat, also from the end, and may be none; samples of a mode have indices beyond both ends. NumPy has no such
functions: the expected result is written beside each.
"""

import numpy

from anyshape.numpy import at
from anyshape.numpy.at_update import set_along_axis
from anyshape.ops import gather, index_add, index_max, index_min, index_mul, index_update, scatter
from tests.samples.indexing import positions
from tests.samples.sample import Sample, draw, is_plain

S = Sample
MIXED = ("float64", "float32", "complex128", "int32")
REAL = ("float64", "int32")
UFUNCS = {
    "add": numpy.add,
    "subtract": numpy.subtract,
    "multiply": numpy.multiply,
    "divide": numpy.divide,
    "power": numpy.power,
    "min": numpy.minimum,
    "max": numpy.maximum,
}


def either(ours, numpys):
    """A row whose first function is traced, and whose second says what is expected."""

    def run(np, *xs):
        return (numpys if np is numpy and all(is_plain(x) for x in xs) else ours)(*xs)

    return run


def beyond(rng, shapes, dtype):
    """Values, and positions from beyond the first end of the first axis to beyond the last."""
    values = [draw(rng, shape, dtype, (-2.0, 2.0)) for shape in shapes[:-1]]
    return [*values, rng.integers(-shapes[0][0] - 3, shapes[0][0] + 3, shapes[-1])]


def forward(rng, shapes, dtype):
    """Return values, and positions that do not count from the end."""
    *values, index = positions(0)(rng, shapes, dtype)
    return [*values, abs(index)]


def starts(rng, shapes, dtype):
    """Return values, and starts in the first array of windows as long as the second axis of the second."""
    values = [draw(rng, shape, dtype, (-2.0, 2.0)) for shape in shapes[:-1]]
    return [*values, rng.integers(0, max(shapes[0][0] - shapes[1][1], 0) + 1, shapes[-1])]


def ties(rng, shapes, dtype):
    """Return values in steps of a half, so that none are nearly equal, and positions."""
    *values, index = positions(0)(rng, shapes, dtype)
    return [*[numpy.asarray(numpy.round(2 * v) / 2).astype(dtype) for v in values], index]


def zeros(rng, shapes, dtype):
    """Return values with many zeros, and positions."""
    *values, index = positions(0)(rng, shapes, dtype)
    return [*[numpy.where(rng.random(numpy.shape(v)) < 0.5, v, 0).astype(dtype) for v in values], index]


def powers(rng, shapes, dtype):
    """Return positive values, and positions."""
    *values, index = positions(0)(rng, shapes, dtype)
    return [*[numpy.asarray(abs(v) + 0.5).astype(dtype) for v in values], index]


# -- what is expected


def rows(x, i, **options):
    """x[i] for x of two axes, by a gather."""
    numbers = {"collapsed_slice_dims": (0,), "start_index_map": (0,), "index_vector_dim": i.ndim}
    return gather(x, i, offset_dims=(i.ndim,), slice_sizes=(1, x.shape[1]), **numbers, **options)


def stretches(x, u, i, **options):
    """x with the rows of u combined into the stretches of x that start at i, by a scatter."""
    numbers = {"update_window_dims": (1,), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (0,)}
    return scatter(x, i, u, **numbers, index_vector_dim=1, **options)


def looped(kind, mode="error"):
    """`stretches`, and a loop."""

    def loop(x, u, i):
        out, last = x.copy(), len(x) - u.shape[1]
        if last < 0:
            raise IndexError(last)
        for row, start in zip(u, i, strict=True):
            start = min(max(start, 0), last) if mode == "clip" else start
            if 0 <= start <= last:
                part = out[start : start + len(row)]
                part[...] = row if kind == "set" else UFUNCS[{"mul": "multiply"}.get(kind, kind)](part, row)
        return out

    return either(lambda x, u, i: stretches(x, u, i, kind=kind, mode=mode), loop)


def changed(name, key, **options):
    """`x.at[key].name(v)`, and what NumPy writes in place; `key` makes the key from the arrays after x and v."""

    def write(x, v, *rest):
        out = x.copy()
        if name == "set":
            out[key(*rest)] = v
        else:
            UFUNCS[name].at(out, key(*rest), v)
        return out

    return either(lambda x, v, *rest: getattr(at(x)[key(*rest)], name)(v, **options), write)


def masked(name):
    """Return `x.at[x > 0].name(v)` for a scalar v, and for one v per element."""

    def ours(x, v):
        return getattr(at(x)[x > 0], name)(v), getattr(at(x)[x > 0], name)(x[x > 0] * v)

    def write(x, v):
        outputs = [x.copy(), x.copy()]
        for out, new in zip(outputs, (v, x[x > 0] * v), strict=True):
            if name == "set":
                out[x > 0] = new
            else:
                UFUNCS[name].at(out, x > 0, new)
        return tuple(outputs)

    return either(ours, write)


def dropped(x, v, i):
    """Return NumPy's x[i] += v without the indices out of range."""
    valid = (-len(x) <= i) & (i < len(x))
    out = x.copy()
    numpy.add.at(out, i[valid], v[valid])
    return out


def filled(x, i):
    out = numpy.full((*i.shape, *x.shape[1:]), 7, x.dtype)
    valid = (i >= -len(x)) & (i < len(x))
    out[valid] = x[i[valid]]
    return out


def sines(x, i):
    out = x.copy()
    out[i] = numpy.sin(x[i])
    return out


def put(x, v, i):
    out = x.copy()
    numpy.put_along_axis(out, i, v, 0)
    return out


def indexed(function, ufunc):
    """An update at index arrays of the first two axes."""

    def write(x, v, i, j):
        out = x.copy()
        if ufunc is None:
            out[i, j] = v
        else:
            ufunc.at(out, (i, j), v)
        return out

    return either(lambda x, v, i, j: function(x, (i, j), v), write)


def whole(i):
    return i


SAMPLES = [
    # -- gather
    S("gather", either(lambda x, i: rows(x, i) * 2, lambda x, i: x[i] * 2), ("m, 2", "n"), dtypes=MIXED, make=forward),
    S("gather, rank 2", either(rows, lambda x, i: x[i]), ("m, 3", "n, 2"), ("gather_dynamic",), make=forward),
    S(
        "gather, clip",
        either(lambda x, i: rows(x, i, mode="clip"), lambda x, i: x[numpy.clip(i, 0, len(x) - 1)]),
        ("m, 2", "n"),
        make=beyond,
        smallest=1,
    ),
    S(
        "gather, fill",
        either(lambda x, i: at(x)[i].get(mode="fill", fill_value=7), filled),
        ("m, 2", "n"),
        ("gather",),
        dtypes=MIXED,
        make=beyond,
    ),
    S(
        "gather, size",
        either(lambda x, y, i: rows(x, i) * y, lambda x, y, i: x[i] * y),
        ("m, k", "k", "n"),
        make=forward,
    ),
    # -- scatter
    S("scatter", looped("add"), ("m", "k, 2", "k"), ("scatter_add",), dtypes=MIXED, make=starts),
    S("scatter, size", looped("add"), ("m", "k, w", "k"), ("gather_dynamic",), make=starts),
    S("scatter, clip", looped("add", "clip"), ("m", "k, 2", "k"), make=beyond),
    S("scatter, drop", looped("add", "drop"), ("m", "k, 2", "k"), make=beyond),
    S("scatter, set", looped("set"), ("m", "k, 2", "k"), ("scatter_set",), dtypes=MIXED, make=starts),
    S("scatter, set, drop", looped("set", "drop"), ("m", "k, w", "k"), make=beyond),
    S("scatter, mul", looped("mul"), ("m", "k, 2", "k"), ("scatter_mul",), dtypes=MIXED, make=starts),
    S("scatter, min", looped("min"), ("m", "k, 2", "k"), ("scatter_min",), dtypes=REAL, make=starts),
    S("scatter, max, clip", looped("max", "clip"), ("m", "k, w", "k"), ("scatter_max",), dtypes=REAL, make=beyond),
    # -- x.at[key]
    S("at, add", changed("add", whole), ("m, 2", "n, 2", "n"), dtypes=MIXED, make=positions(0)),
    S("at, add, stretched", changed("add", whole), ("m, 2", "", "n"), make=positions(0)),
    S("at, add, rank 2", changed("add", lambda i: (slice(None), i)), ("2, m", "k, n", "k, n"), make=positions(1)),
    S("at, subtract", changed("subtract", whole), ("m", "n", "n"), make=positions(0)),
    S("at, set", changed("set", whole), ("m, 2", "n, 1", "n"), dtypes=MIXED, make=positions(0)),
    S("at, multiply", changed("multiply", whole), ("m", "n", "n"), make=zeros),
    S("at, divide", changed("divide", whole), ("m", "n", "n"), make=powers),
    S("at, power", changed("power", whole), ("m", "", "n"), make=powers),
    S("at, min", changed("min", whole), ("m, 2", "n, 2", "n"), dtypes=REAL, make=positions(0)),
    S("at, max", changed("max", whole), ("m", "n", "n"), make=positions(0)),
    S(
        "at, unused",
        either(lambda x, v, i: (at(x)[i].set(v), x * 2)[1], lambda x, v, i: (x.copy().__setitem__(i, v), x * 2)[1]),
        ("m, 2", "n, 2", "n"),
        ("window_bounds",),
        make=positions(0),
    ),
    S("at, ties", changed("max", whole), ("m", "n", "n"), dtypes=REAL, make=ties, grad=None),
    S("at, drop", either(lambda x, v, i: at(x)[i].add(v, mode="drop"), dropped), ("m", "n", "n"), make=beyond),
    S("at, integer", changed("set", lambda: 1), ("n, 2", "2")),
    S("at, slice", changed("add", lambda: slice(1, None)), ("n, 2", "2")),
    S("at, slice, backwards", changed("set", lambda: (slice(None, None, -1), 0)), ("n, 2", "n")),
    S("at, slice, steps", changed("multiply", lambda: (slice(None, None, -2), slice(1, 3))), ("n, 4", "2")),
    S("at, newaxis", changed("add", lambda: (None, slice(1), ..., None)), ("n, 2", "2, 1")),
    S("at, everything", changed("add", lambda: ...), ("n, 2", "2")),
    S(
        "at, mixture",
        changed("add", lambda i: (i, slice(None, None, 2), 0)),
        ("m, n, 2", "k, 1", "k"),
        smallest=1,
        make=positions(0),
    ),
    S("at, apart", changed("set", lambda i: (i, slice(1, 3), i)), ("m, 3, m", "k, 1", "k"), make=positions(0)),
    S("at, mask, set", masked("set"), ("n", ""), vmap=False),
    S("at, mask, multiply", masked("multiply"), ("n", ""), vmap=False),
    S("at, mask, scalar", either(lambda x, v: at(x)[x > 0].add(v), lambda x, v: x + v * (x > 0)), ("n, 2", "")),
    S("at, mask of rows", changed("set", lambda: numpy.array([True, False, True])), ("3, n", "2, n")),
    S(
        "at, apply",
        either(lambda x, i: at(x)[i].apply(numpy.sin), sines),
        ("m", "n"),
        make=positions(0),
    ),
    # -- the rest
    S(
        "put_along_axis",
        either(lambda x, v, i: set_along_axis(x, i, v, 0), put),
        ("m, n", "k, n", "k, n"),
        make=positions(0),
    ),
    S("index_update", indexed(index_update, None), ("m, n, 2", "k, 2", "k", "k"), make=positions(0, 1)),
    S("index_add", indexed(index_add, numpy.add), ("m, n, 2", "k, 2", "k", "k"), make=positions(0, 1)),
    S("index_mul", indexed(index_mul, numpy.multiply), ("m, n, 2", "k, 2", "k", "k"), make=positions(0, 1)),
    S("index_min", indexed(index_min, numpy.minimum), ("m, n", "k", "k", "k"), make=positions(0, 1)),
    S("index_max", indexed(index_max, numpy.maximum), ("m, n", "k", "k", "k"), make=positions(0, 1)),
]
