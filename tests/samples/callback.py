"""Samples of functions called back: sizes as promised, bounded and unknown, and none of the elements kept."""

import numpy

from anyshape import ShapeDtypeStruct, pure_callback, stop_gradient
from tests.samples.sample import Sample


def ordered(x):
    """Sort through a callback that keeps the shape."""
    return pure_callback(numpy.sort, ShapeDtypeStruct(x.shape, x.dtype), stop_gradient(x))


def choose(x):
    return x[x > 0]


def find(x):
    return numpy.flatnonzero(x > 0)


def positive(x, promise):
    """Return the positive elements through a callback."""
    return pure_callback(choose, ShapeDtypeStruct(promise, x.dtype), stop_gradient(x))


def at_most_as_many(x):
    """Return the positive elements through a callback whose result is bounded by the size of x."""
    return pure_callback(choose, ShapeDtypeStruct(f"<={x.shape[0]}", x.dtype), stop_gradient(x))


def places(x):
    """Return positions of positive elements through a callback; integers have no tangent."""
    return pure_callback(find, ShapeDtypeStruct("?", numpy.int64), x)


UNSAVED = frozenset({"unsaved"})

SAMPLES = [
    Sample("pure_callback", lambda np, x: ordered(x) * x, ("n, 3",), ops=("callback",), grad=None, tags=UNSAVED),
    Sample("pure_callback, empty examples", lambda np, x: ordered(x), ("m, n",), grad=False, tags=UNSAVED),
    Sample("pure_callback, bounded",
           lambda np, x: at_most_as_many(x) * np.sin(at_most_as_many(x)),
           ("n",), ops=("name_sizes",), grad=False, vmap=False, tags=UNSAVED),
    Sample("pure_callback, unknown", lambda np, x: np.sum(positive(x, "?") ** 2) * x, ("n",),
           grad=None, vmap=False, tags=UNSAVED),
    Sample("pure_callback, positions", lambda np, x: x[places(x)] * x[places(x)], ("n",), vmap=False, tags=UNSAVED),
]  # fmt: skip
