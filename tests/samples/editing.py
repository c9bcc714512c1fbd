"""Samples of elements left out and inserted, of orders by several keys, and of functions along axes."""

from tests.samples.reduction import ties
from tests.samples.sample import Sample

F = ("float64", "float32", "complex128", "int32")


SAMPLES = [
    Sample("delete", lambda np, x: np.delete(x, 1), ("n, 2",), (), F, smallest=1),
    Sample("delete from the end", lambda np, x: np.delete(x, -2, axis=0), ("n, m",), smallest=2),
    Sample("delete a slice", lambda np, x: np.delete(x, slice(1, None, 2), axis=-1), ("m, n",)),
    Sample("delete a slice backwards", lambda np, x: np.delete(x, slice(None, None, -2)), ("n",)),
    Sample("delete several", lambda np, x: np.delete(x, [0, -1, 0], axis=0), ("n, m",), smallest=1),
    Sample("delete a mask", lambda np, x: np.delete(x, x > 0.5), ("n",), grad=None, vmap=False),
    Sample("insert", lambda np, x, y: np.insert(x, 1, y, axis=0), ("n, m", "m"), (), F, smallest=1),
    Sample("insert at the end", lambda np, x, y: np.insert(x, x.shape[0], y), ("n", "2")),
    Sample("insert several", lambda np, x, y: np.insert(x, [1, 0, -1], y, axis=1), ("m, n", "3"), smallest=1),
    Sample("insert many at one position", lambda np, x, y: np.insert(x, [1], y), ("n", "m"), smallest=1),
    Sample("insert at a slice", lambda np, x: np.insert(x, slice(None, None, 2), 7.0), ("n",)),
    Sample("lexsort", lambda np, x, y: np.lexsort((x, y)), ("n", "n"), (), make=ties, grad=False),
    Sample("lexsort of rows", lambda np, x: np.lexsort(x), ("2, n",), (), make=ties, grad=False),
    Sample("array_equal", lambda np, x, y: np.array_equal(x, y), ("n", "n"), (), F, make=ties, grad=False),
    Sample("apply_over_axes", lambda np, x: np.apply_over_axes(np.sum, x, (0, 2)), ("n, m, 2",), (), F),
    Sample("apply_along_axis", lambda np, x: np.apply_along_axis(lambda row: row[::-1] * 2, 0, x), ("n, 3",)),
]
