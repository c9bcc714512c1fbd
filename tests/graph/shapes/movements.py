"""Movements of views and of arrays: NumPy's side of each, and random ones."""

import numpy as np

from anyshape.graph.prover.constraints import Condition, Verdict
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.strided_view import View
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate, values_from

N, M, K = (expr.variable(name) for name in "nmk")
VARIABLES = [expr.as_atom(v) for v in (N, M, K)]
PADDING = -1


def at(size, values):
    """Evaluate a size, or nested tuples of sizes, at the values of n, m and k."""
    if isinstance(size, (tuple, list)):
        return tuple(at(s, values) for s in size)
    return evaluate(size, values_from(dict(zip(VARIABLES, values, strict=True))))


def fixed(view, values):
    """Substitute the values of n, m and k into a view."""
    return view.at(dict(zip(VARIABLES, values, strict=True)))


def holds(scope, values):
    """Return whether these sizes satisfy every condition of the scope."""
    known = values_from(dict(zip(VARIABLES, values, strict=True)))
    return all(c.claim.holds(known) for c in scope.conditions)


def read(view, buffer):
    """Return the array that a view of fixed sizes shows of a flat buffer, one element at a time."""
    scope = Scope()
    out = np.empty(view.shape, buffer.dtype)
    for index in np.ndindex(*view.shape):
        valid = view.is_valid(index, scope)
        assert valid is not Verdict.UNKNOWN
        position = view.linear_index(index)
        assert valid is Verdict.NO or 0 <= position < buffer.size, f"{view} reads {position} of {buffer.size}"
        out[index] = buffer[position] if valid is Verdict.YES else PADDING
    return out


def read_quickly(view, buffer):
    """Return the array that a view of fixed sizes shows, by arithmetic on whole arrays of indices."""
    indices = list(np.indices(view.shape))
    valid = np.ones(view.shape, bool)
    for i, (start, stop) in zip(indices, view.mask or (), strict=False):
        valid &= (i >= start) & (i < stop)
    position = sum((i * s for i, s in zip(indices, view.strides, strict=True)), np.full(view.shape, view.offset))
    assert np.all(position[valid] >= 0)
    out = np.full(view.shape, PADDING)
    out[valid] = buffer[position[valid]]
    return out


class Moves:
    """Movements of arrays in NumPy, with the arguments that View's methods take."""

    def reshape(x, shape):
        return x.reshape(shape)

    def expand(x, shape):
        return np.broadcast_to(x, shape)

    def permute(x, axes):
        return x.transpose(axes)

    def shrink(x, bounds):
        return x[tuple(slice(a, b) for a, b in bounds)]

    def slice(x, starts, sizes, steps):
        return x[tuple(slice(a, a + n * k, k) for a, n, k in zip(starts, sizes, steps, strict=True))]

    def pad(x, amounts):
        return np.pad(x, amounts, constant_values=PADDING) if amounts else x

    def flip(x, axes):
        return np.flip(x, axes)


NO_SCOPE = {"permute", "flip"}


def moved(view, operation, arguments, scope):
    """Apply a movement to a view."""
    return getattr(view, operation)(*arguments, *(() if operation in NO_SCOPE else (scope,)))


def same_as_numpy(shape, steps, values):
    """Compare movements of a view of `shape` with NumPy's at these values of n, m and k.

    Returns the view, or None where an assertion of the scope excludes the values.
    """
    scope = Scope()
    view, expected = View.create(shape), np.arange(int(np.prod(at(shape, values)))).reshape(at(shape, values))
    buffer = expected.reshape(-1)
    for operation, *arguments in steps:
        view = moved(view, operation, arguments, scope)
    if not holds(scope, values):
        return None
    for operation, *arguments in steps:
        expected = getattr(Moves, operation)(expected, *at(arguments, values))
    for shown in (view, view.simplify(scope)):
        np.testing.assert_array_equal(read(fixed(shown, values), buffer), expected)
        np.testing.assert_array_equal(read_quickly(fixed(shown, values), buffer), expected)
    return view


def known(claim):
    """Declare a claim as a constraint."""
    return Condition("constraint", claim, "test", "test")


# -- random movements ----------------------------------------------------------------------------------------------


def sometimes(choose, probability, sizes, default):
    """Draw one of the sizes with this probability; return the default otherwise."""
    return choose.choice(sizes) if choose.random() < probability else default


def merge_two_axes(choose, shape):
    axis = choose.randrange(len(shape) - 1)
    return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def split_one_axis(choose, shape):
    axis = choose.randrange(len(shape))
    factors = [f for f in (2, 3, N, M, K) if expr.divide_exactly(shape[axis], f) is not None]
    if not factors:
        return permute_sizes(choose, shape)
    factor = choose.choice(factors)
    parts = [factor, expr.divide_exactly(shape[axis], factor)]
    choose.shuffle(parts)
    return (*shape[:axis], *parts, *shape[axis + 1 :])


def insert_axis(choose, shape):
    axis = choose.randrange(len(shape) + 1)
    return (*shape[:axis], 1, *shape[axis:])


def drop_ones(choose, shape):
    return tuple(s for s in shape if not is_one(s))


def flatten(choose, shape):
    return (-1,)


def permute_sizes(choose, shape):
    return tuple(choose.sample(shape, len(shape)))


def is_one(size):
    return isinstance(size, int) and size == 1


def random_reshape(choose, shape):
    changes = [insert_axis, drop_ones, flatten, permute_sizes]
    changes += [split_one_axis] if shape else []
    changes += [merge_two_axes] if len(shape) > 1 else []
    return (choose.choice(changes)(choose, shape),)


def random_permute(choose, shape):
    return (tuple(choose.sample(range(len(shape)), len(shape))),)


def random_flip(choose, shape):
    return (tuple(a for a in range(len(shape)) if choose.random() < 0.5),)


def random_pad(choose, shape):
    amount = lambda: sometimes(choose, 0.5, (0, 0, 0, 1, 2, K), 0)
    return (tuple((amount(), amount()) for _ in shape),)


def random_shrink(choose, shape):
    bounds = lambda s: choose.choice([(0, s)] * 3 + [(1, s), (0, s - 1), (K, s), (0, expr.minimum(s, 2)), (1, 2)])
    return (tuple(bounds(s) for s in shape),)


def random_slice(choose, shape):
    steps = tuple(choose.choice((1, 1, 2, 3)) for _ in shape)
    sizes = tuple(expr.ceildiv(size, step) for size, step in zip(shape, steps, strict=True))
    return (0,) * len(shape), sizes, steps


def random_expand(choose, shape):
    """Stretch some axes of size 1, exchange some k, and sometimes add an axis in front."""
    new = [sometimes(choose, 0.7, (0, 2, N, M), size) if is_one(size) else size for size in shape]
    new = [sometimes(choose, 0.3, (N, 2, M), size) if size is K else size for size in new]
    front = sometimes(choose, 0.4, [(1,), (2,), (N,)], ()) if len(shape) < 4 else ()
    return ((*front, *new),)


RANDOM_STEPS = {
    "reshape": random_reshape,
    "permute": random_permute,
    "shrink": random_shrink,
    "slice": random_slice,
    "pad": random_pad,
    "flip": random_flip,
    "expand": random_expand,
}


MIX = ["reshape"] * 3 + ["permute"] * 2 + ["shrink", "slice", "pad", "flip", "expand"]


def random_step(choose, shape):
    """Draw a movement that an array of this shape is likely to allow, as (operation, *arguments)."""
    operation = choose.choice(MIX)
    return operation, *RANDOM_STEPS[operation](choose, shape)


BASES = [(N, M), (2 * N, M), (N, 1, M), (K, N), (3, N, 2), (N * M,), (1,), (), (N, M, K), (N + 1, M), (2 * N, 3 * M)]


RANDOM_VALUES = [(0, 2, 1), (1, 1, 1), (2, 3, 1), (3, 2, 0), (3, 1, 2), (2, 0, 0), (4, 2, 2), (2, 2, 2), (0, 0, 0)]
