"""Samples of segment reductions: repeated, missing, unsorted and dropped ids, zero factors, ties of extremes."""

import numpy

from anyshape import ops
from anyshape.ops.gathering import apply_segments, segment_sum_op
from tests.samples.sample import Sample, draw, is_plain

S = Sample
NUMBERS = ("float64", "float32", "int32")


def labelled(rng, shapes, dtype):
    """Return values with zeros, and ids with some out of range."""
    values = draw(rng, shapes[0], dtype, (-2.0, 2.0))
    if values.size > 2:
        values.flat[:2] = 0
    return [values, rng.integers(-1, 5, shapes[1])]


def plainly(combine, empty):
    """Return a segment reduction by its definition, one segment at a time."""

    def segments(np, x, ids, count=None):
        if np is not numpy or not is_plain(x):
            return getattr(ops, combine)(x, ids, count)
        count = int(ids.max(initial=-1)) + 1 if count is None else int(count)
        rows = [x[ids == k] for k in range(count)]
        function = getattr(numpy, combine.removeprefix("segment_"))
        results = [function(row, axis=0) if len(row) else numpy.full(x.shape[1:], empty(x.dtype)) for row in rows]
        kind = x.dtype if combine != "segment_mean" or x.dtype.kind in "fc" else float
        return numpy.array(results, kind).reshape(count, *x.shape[1:])

    return segments


total = plainly("segment_sum", lambda dtype: 0)
product = plainly("segment_prod", lambda dtype: 1)
mean = plainly("segment_mean", lambda dtype: numpy.nan)
highest = plainly("segment_max", lambda dtype: numpy.iinfo(dtype).min if dtype.kind == "i" else -numpy.inf)
lowest = plainly("segment_min", lambda dtype: numpy.iinfo(dtype).max if dtype.kind == "i" else numpy.inf)


def added(np, x, ids):
    """Return segment sums by the op that ragged_map takes for reductions, which refuses other ids."""
    ids = abs(ids) % 4
    if np is not numpy or not is_plain(x):
        return apply_segments(segment_sum_op, x * x, ids, 4)
    return total(np, x * x, ids, 4)


SAMPLES = [
    S("segment_sum", lambda np, x, i: total(np, x * x, i, 4), ("n, 2", "n"), make=labelled, dtypes=NUMBERS),
    S("segment_sum, all", total, ("n", "n"), make=labelled, vmap=False),
    S("segment_sum of a size", lambda np, x, i: total(np, x, i, x.shape[0]), ("n", "n"), make=labelled),
    S("segment_sum of a value", lambda np, x, i: total(np, x, i, abs(i).sum()), ("n", "n"), make=labelled,
      vmap=False),
    S("segment_mean", lambda np, x, i: mean(np, x * x, i, 4), ("n, 2", "n"), make=labelled,
      dtypes=("float64", "int32", "complex128"), vmap=False),
    S("segment_max", lambda np, x, i: highest(np, x, i, 4), ("n", "n"), ops=("segment_max",), make=labelled,
      dtypes=NUMBERS),
    S("segment_min", lambda np, x, i: lowest(np, x * x, i, 4), ("n, 2", "n"), ops=("segment_min",), make=labelled,
      dtypes=NUMBERS),
    S("segment_max, all", lambda np, x, i: np.exp(highest(np, x, i)), ("n", "n"), make=labelled, vmap=False),
    S("segment_prod", lambda np, x, i: product(np, x, i, 3), ("n", "n"), ops=("segment_prod",), make=labelled,
      dtypes=("float64", "int32", "complex128")),
    S("segment_sum of rows, in one op", added, ("n, 2", "n"), ops=("segment_sum",), make=labelled, dtypes=NUMBERS),
    S("segment_prod of rows", lambda np, x, i: product(np, x, i), ("n, 2", "n"), make=labelled, vmap=False),
]  # fmt: skip
