"""Programs with subgraphs for the tests: written once for NumPy and, with the op of tests, for traces.

Each is `function(select, predicate, x, w)` for x of shape (n,) and w of shape (n, k).
"""

import numpy as np

import anyshape.numpy as anp
from anyshape.numpy.arrays.array import Array


def choose(predicate, first, second, *operands):
    """The same as `select_graph`, without subgraphs: a predicate that is traced chooses between the results."""
    if isinstance(predicate, Array):
        return np.where(predicate, first(*operands), second(*operands))
    return (first if predicate else second)(*operands)


def captured_values(select, p, x, w):
    """Both branches read values and a constant of the enclosing function."""
    y, table = x + 1, np.arange(3.0)
    return select(p, lambda x: np.sum(np.tanh(x @ w)) + np.sum(table), lambda x: np.sum(np.exp(x) * y), x)


def several_results(select, p, x, w):
    first, second = select(p, lambda x, w: (x * 2, w.T @ x), lambda x, w: (np.sin(x), np.cos(x) @ w), x, w)
    return np.sum(first**2) + np.sum(second)


def size_without_an_axis(select, p, x, w):
    """The branch has the sizes n and k, and its operands have axes of sizes n + 1 and n * k."""
    long, flat = np.concatenate([x, np.ones(1)]), np.reshape(w, (-1,))
    return select(p, lambda a, b: np.sum(a[1:] * a[:-1]) + np.sum(b), lambda a, b: np.sum(a) * np.sum(b**2), long, flat)


def nested(select, p, x, w):
    def outer(x):
        z = np.sin(x)
        return select(np.sum(x) > 0, lambda z: np.sum(z * x), lambda z: np.sum(z @ w), z)

    return select(p, outer, lambda x: np.sum(x**3), x)


def data_dependent_sizes(select, p, x, w):
    return select(p, lambda x: np.sum(x[x > 0] ** 2), lambda x: np.sum(w[x > 0]), x)


def a_result_with_an_axis(select, p, x, w):
    scaled = select(p, lambda x, w: w * x[:, None], lambda x, w: w + anp.ones_like(w), x, w)
    return np.sum(np.sqrt(1 + scaled**2))


def one_operand_twice(select, p, x, w):
    return select(p, lambda a, b: np.sum(a * b), lambda a, b: np.sum(a / (1 + b * b)), x, x)


def a_branch_without_a_derivative(select, p, x, w):
    return select(p, lambda x: np.sum(x * x), lambda x: np.sum(np.sign(x)), x)


PROGRAMS = (
    captured_values,
    several_results,
    size_without_an_axis,
    nested,
    data_dependent_sizes,
    a_result_with_an_axis,
    one_operand_twice,
    a_branch_without_a_derivative,
)
SIZES = ((0, 0), (1, 1), (2, 3), (5, 2))


def arrays(n, k, seed=0):
    """Arguments x and w, away from kinks."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + 0.1, rng.normal(size=(n, k))
