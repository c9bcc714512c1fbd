"""Samples of loops: captured values, trees, elements without carries, trips by data, sizes that change, nests."""

import anyshape
from anyshape import cond, fori_loop, scan, vmap, while_loop
from tests.samples.sample import Sample


def recurrence(np, w, xs):
    """The body reads values of the enclosing function."""
    scale = np.exp(-w * w)
    h, ys = scan(lambda h, x: (np.tanh(scale * h + x), h * x), np.cos(w), xs)
    return np.sum(ys, axis=0) + h


def trees(np, x, xs):
    def step(carry, row):
        a, b = np.sin(carry["a"]) * row["u"], carry["b"] + np.sum(row["v"])
        return {"a": a, "b": b}, (a * b, row["v"])

    last, (ys, vs) = scan(step, {"a": x, "b": 0.0}, {"u": xs, "v": np.cos(xs)}, reverse=True)
    return last["a"] * last["b"] + np.sum(ys * vs)


def counted(np, x):
    """Trips by data; the carry has a counter, an array and a number."""

    def body(carry):
        i, y, total = carry
        return i + 1, np.sin(y) * x + i, total + np.sum(y * y)

    _, y, total = while_loop(lambda c: (c[0] < 4) & (np.sum(c[1]) < 50), body, (0, x, np.sum(x)))
    return y * total


def growing(np, x):
    return np.sum(fori_loop(0, 3, lambda i, v: np.concatenate([v, np.sin(v[:1]) * (i + 1)]), x) ** 2) * x


def shrinking(np, x):
    return np.sum(while_loop(lambda v: v.shape[0] > 1, lambda v: v[1:] * np.cos(v[:-1]), x)) * x


def nested(np, x):
    def outer(c, row):
        inner = fori_loop(0, 2, lambda i, v: np.sin(v) * row + i, c)
        return inner, cond(np.sum(inner) > 0, lambda v: v * v, lambda v: 2 * v, inner)

    last, ys = scan(outer, np.sum(x, axis=0), x)
    return last + np.sum(ys, axis=0)


def of_examples(np, x):
    """Examples end after trips of their own."""
    return vmap(lambda row: while_loop(lambda v: np.sum(v * v) > 0.5, lambda v: np.sin(v) * 0.8, row))(x)


SAMPLES = [
    Sample("scan", lambda np, x: scan(lambda c, v: (np.sin(c) * v + 1, c * v), np.sum(x), x)[1], ("n",), ops=("scan",)),
    Sample("scan, captured values", recurrence, ("k", "n, k")),
    Sample("scan, trees, from the last", trees, ("k", "n, k")),
    Sample("scan, without xs", lambda np, x: scan(lambda c, _: (np.cos(c) * x, np.sum(c)), x, None, 3)[1] * np.sum(x),
           ("n",)),
    Sample("fori_loop", lambda np, x: fori_loop(1, 4, lambda i, y: np.sin(y) * x / i, x), ("n",)),
    Sample("fori_loop, as many trips as a size",
           lambda np, x: fori_loop(0, x.shape[0], lambda i, y: np.tanh(y) + x[i] * y, x), ("n",)),
    Sample("fori_loop, a growing carry", growing, ("n",)),
    Sample("map", lambda np, x: anyshape.map(lambda v: np.exp(v) * np.sum(x), x), ("n",)),
    Sample("map, unused", lambda np, x: (anyshape.map(lambda row: row[0] * 2, x), np.sum(x))[1], ("n, k",)),
    Sample("while_loop", counted, ("n",), ops=("while",)),
    Sample("while_loop, a shrinking carry", shrinking, ("n",)),
    Sample("loops, nested", nested, ("n, k",)),
    Sample("while_loop of each example", of_examples, ("m, n",), ops=("while_each",)),
]  # fmt: skip
