"""Samples of conditionals: captured values, trees, sizes that differ or choose, weak results, nested branches."""

import numpy

from anyshape import cond, switch, vmap
from tests.samples.sample import Sample


def captured(np, x, w):
    """Both branches read values of the enclosing function."""
    y, total = np.exp(x), np.sum(w)
    return cond(total > 0, lambda x: np.sin(x) * y + total, lambda x: y * y - x @ w * x, x)


def trees(np, x):
    """Operands and results are trees, and one result is an integer."""
    result = cond(
        np.sum(x) > 0,
        lambda t: {"a": t["x"] * 2, "b": (np.sum(t["x"]), 1)},
        lambda t: {"a": t["y"] * t["x"], "b": (np.prod(t["y"]), 2)},
        {"x": x, "y": np.cos(x)},
    )
    return result["a"] * result["b"][0] + result["b"][1]


def nested(np, x):
    def positive(x):
        y = np.sin(x)
        return cond(np.sum(y * x) > 1, lambda y: y * x, lambda y: y - x * x, y)

    return cond(np.sum(x) > 0, positive, lambda x: x**3, x)


def of_branches(np, x):
    position = np.floor(np.abs(np.sum(x))).astype(numpy.int64)
    return switch(
        position, [lambda x: x * x, lambda x: np.sin(x) + 1, lambda x: x * np.sum(x), lambda x: 2.5 + 0 * x], x
    )


def with_matrix(np, x, w):
    return cond(np.sum(w) > 0, lambda x, w: np.tanh(x @ w), lambda x, w: np.sum(w, axis=0) * np.sum(x), x, w)


def of_examples(np, x):
    return vmap(lambda row: cond(np.sum(row) > 0, lambda r: np.sin(r) * r, lambda r: r * np.sum(r), row))(x)


SAMPLES = [
    Sample("cond", lambda np, x: cond(np.sum(x) > 0, lambda x: np.sin(x) * x, lambda x: x - 1, x), ("n",),
           ops=("cond",)),
    Sample("cond, captured values", captured, ("n", "n")),
    Sample("cond, trees", trees, ("n",)),
    Sample("cond, nested", nested, ("n",)),
    Sample("cond, matrix", with_matrix, ("n", "n, k")),
    Sample("cond, choice by a size",
           lambda np, x: cond(x.shape[0] > 1, lambda x: x[1] * x, lambda x: np.exp(x), x), ("n",)),
    Sample("cond, results of different sizes",
           lambda np, x: cond(np.sum(x) > 0, lambda x: np.sin(x[1:]) * x[1:], lambda x: x * x, x), ("n",), vmap=False),
    Sample("cond, a branch of differing sizes alone",
           lambda np, x: np.sum(cond(np.sum(x) > 0, lambda x: np.sin(x[1:]), lambda x: x * x, x) ** 2) * x, ("n",),
           vmap=False),
    Sample("cond, weak results", lambda np, x: x * cond(np.sum(x) > 0, lambda x: np.sum(x), lambda x: 2, x), ("n",)),
    Sample("cond, a branch without a derivative",
           lambda np, x: x * cond(np.sum(x) > 0, lambda x: np.sign(x), lambda x: np.tan(x) * x, x), ("n",)),
    Sample("cond, positions",
           lambda np, x: cond(np.sum(x) > 0, lambda i: x[i] * x, lambda i: x[2 - i] * x * x, np.argmax(x)), ("3",)),
    Sample("cond, sizes by data inside",
           lambda np, x: cond(np.sum(x) > 0, lambda x: np.sum(x[x > 0] ** 2), lambda x: np.sum(x), x) * x, ("n",),
           vmap=False),
    Sample("switch", of_branches, ("n",)),
    Sample("cond of each example", of_examples, ("m, n",), ops=("cond_each",)),
]  # fmt: skip
