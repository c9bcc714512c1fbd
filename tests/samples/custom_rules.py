"""Samples of functions with derivative rules of the user, each also inside of other operations and on trees."""

import numpy

from anyshape import ShapeDtypeStruct, custom_jvp, custom_linear_solve, custom_root, custom_vjp, grad, pure_callback
from tests.samples.sample import Sample


@custom_jvp
def product(x, y):
    return x * numpy.sin(y)


product.defjvps(lambda t, out, x, y: t * numpy.sin(y), lambda t, out, x, y: x * numpy.cos(y) * t)


@custom_jvp
def scaled(tree, factor=2.0):
    """Return a tree of a tree."""
    return {"twice": tree["a"] * factor, "sum": numpy.sum(tree["b"], axis=0)}


@scaled.defjvp
def _scaled_jvp(primals, tangents):
    (tree, factor), (t, _) = primals, tangents
    return scaled(tree, factor), {"sum": numpy.sum(t["b"], axis=0), "twice": t["a"] * factor}


def on_trees(np, x, y):
    return scaled({"b": x * y, "a": y})["twice"] * scaled({"a": y, "b": x})["sum"]


@custom_vjp
def weighted(x, w):
    return numpy.sum(numpy.exp(x) * w, axis=0)


def _weighted_bwd(residuals, ct):
    e, w, shape = residuals
    return ct * e * w, numpy.broadcast_to(ct, shape) * e


def _weighted_fwd(x, w):
    e = numpy.exp(x)
    return numpy.sum(e * w, axis=0), (e, w, x.shape)


weighted.defvjp(_weighted_fwd, _weighted_bwd)


@custom_jvp
def called_back(x):
    return pure_callback(numpy.sinh, ShapeDtypeStruct(x.shape, x.dtype), x)


@called_back.defjvp
def _called_back_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return called_back(x), numpy.cosh(x) * t


def newton(f, x):
    for _ in range(40):
        x = x - f(x) / 1.5
    return x


def by_derivative(g, y):
    return y / g(numpy.ones_like(y))


def root(x):
    """Solve y + sin(y) / 2 = x, by a contraction."""
    return custom_root(lambda y: y + numpy.sin(y) / 2 - x, x, newton, by_derivative)


def by_diagonal(matvec, b):
    return b / matvec(numpy.ones_like(b))


def diagonal(a, b):
    """Solve (1 + a**2) x = b for each element."""
    return custom_linear_solve(lambda x: (1 + a * a) * x, b, by_diagonal, symmetric=True)


def from_below(matvec, b):
    return numpy.stack([b[0] - matvec(numpy.stack([0 * b[1], b[1]]))[0], b[1]])


def from_above(vecmat, b):
    return numpy.stack([b[0], b[1] - vecmat(numpy.stack([b[0], 0 * b[0]]))[1]])


def turning(a, b):
    """Solve equations that are not symmetric: the first of two rows has a part of the second."""
    return custom_linear_solve(lambda x: numpy.stack([x[0] + a * x[1], x[1]]), b, from_below, from_above)


def forward_free(x):
    """The derivative of custom_vjp, which has both modes itself."""
    return grad(lambda x: numpy.sum(weighted(x, x) ** 2))(x)


UNSAVED = frozenset({"unsaved"})

SAMPLES = [
    Sample("custom_jvp", lambda np, x, y: product(np.cos(x), y) * x, ("n, 3", "n, 3"),
           ops=("custom_argument", "custom_jvp")),
    Sample("custom_jvp, trees", on_trees, ("n, 3", "n, 3")),
    Sample("custom_jvp, complex", lambda np, x, y: product(x, y), ("n", "n"), dtypes=("complex128", "float32")),
    Sample("pure_callback with a rule", lambda np, x: called_back(x) * called_back(np.sin(x)), ("n, 3",), tags=UNSAVED),
    Sample("custom_root", lambda np, x: root(np.sin(x)) * x, ("n",), ops=("custom_jvp",)),
    Sample("custom_linear_solve", lambda np, a, b: diagonal(np.sin(a), b) * a, ("n, 3", "n, 3"),
           ops=("custom_linear_solve",)),
    Sample("custom_linear_solve, not symmetric", lambda np, a, b: turning(a, b), ("n", "2, n")),
    Sample("grad of custom_vjp", lambda np, x: forward_free(np.sin(x)), ("n, 3",),
           ops=("custom_vjp", "custom_vjp_tangent"), order=1),
]  # fmt: skip
