"""Rows of the attack with loops, choices, writes in place, lists of traced values, iteration and linear algebra.

Bodies of loops and sequences of writes are random too: a row's argument names their steps. A namespace has `scan`,
`while_loop`, `fori_loop`, `map`, `associative_scan`, `cond` and `switch`: the ones of the library, or plain Python.
"""

import itertools

import numpy

import anyshape
from tests.attack.preparation import bounded, integers, positive, rank, regular, uneven
from tests.laws.random_programs import Row
from tests.transforms.control_flow import plain_loops

# -- control flow in plain Python --------------------------------------------------------------------------------


def scan(f, init, xs, reverse=False, checkpoint=None):
    """Loop as `anyshape.scan` does; the results of no trips have the shape of one trip."""
    if len(xs):
        return plain_loops.scan(f, init, xs, reverse=reverse)
    return init, f(init, xs.sum(0))[1][None][:0]


def loop_map(f, xs, checkpoint=None):
    """Call f on each element, also of an empty array."""
    return scan(lambda carry, x: (carry, f(x)), 0.0, xs)[1]


def fori_loop(lower, upper, body, value, checkpoint=None):
    return plain_loops.fori_loop(lower, upper, body, value)


def while_loop(condition, body, value, checkpoint=None):
    return plain_loops.while_loop(condition, body, value)


def switch(index, branches, *operands):
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def associative_scan(fn, elems, reverse=False):
    """Combine from one end to the other."""
    if not isinstance(elems, tuple):
        return associative_scan(lambda a, b: (fn(a[0], b[0]),), (elems,), reverse)[0]
    if not all(x.ndim for x in elems):
        raise numpy.exceptions.AxisError(0, 0)
    rows = list(zip(*[x[::-1] if reverse else x for x in elems], strict=True))
    rows = list(itertools.accumulate(rows, fn))
    columns = [numpy.stack(column) for column in zip(*rows, strict=True)] or elems
    return tuple(y[::-1] if reverse else y for y in columns)


PLAIN = {
    "scan": scan, "fori_loop": fori_loop, "while_loop": while_loop, "map": loop_map, "switch": switch,
    "associative_scan": associative_scan, "cond": plain_loops.cond,
}  # fmt: skip
CONTROL = {name: getattr(anyshape, name) for name in PLAIN}

# -- steps of a body: (namespace, carry, element of its shape, captured scalar, number of the trip) ---------------


def _at_trip(np, c, e, s, i):
    """Write at a position that depends on the trip."""
    y = np.append(c, s)
    y[i % 2 - 1] += 0.3
    return np.reshape(y[:-1], c.shape)


def _first(np, c, e, s, i):
    y = c * 1
    y[:1] = e[:1] * 2
    return y


def _where(np, c, e, s, i):
    y = c * 1.1
    y[e > 0.123] = 0.25
    return y


def _through_view(np, c, e, s, i):
    y = c * 1
    view = y[..., ::-1]
    view *= 0.9
    view[..., :1] += s
    return y


def _inner_scan(np, c, e, s, i):
    if c.ndim > 1:
        return np.map(lambda row: row * 0.5 + s, c)
    first = np.sum(e[:1])  # e[0] would be refused where no trip runs
    return np.scan(lambda a, b: (a * 0.5 + b, np.sin(a)), first * s, c)[1]


def _inner_while(np, c, e, s, i):
    small = lambda a: (a[0] < 4) & (np.sum(a[1] * a[1]) > 0.5)
    return np.while_loop(small, lambda a: (a[0] + 1, a[1] * 0.6), (0, c))[1]


SCALAR_STEPS = {
    "tanh": lambda np, c, e, s, i: np.tanh(c + e),
    "captured": lambda np, c, e, s, i: c * 0.7 + s,
    "product": lambda np, c, e, s, i: c * e,
    "quotient": lambda np, c, e, s, i: c / (1 + e * e),
    "counted": lambda np, c, e, s, i: c + 0.1 * i,
    "centred": lambda np, c, e, s, i: c - 0.3 * np.sum(c * e),
    "where": lambda np, c, e, s, i: np.where(e > 0.2341, c, e * 0.5),
    "chosen": lambda np, c, e, s, i: np.cond(np.sum(c) > 0.1, lambda a: a * 0.5, lambda a: a + s, c),
    "switched": lambda np, c, e, s, i: np.switch(i % 3, [np.sin, lambda a: a * s, lambda a: a - e], c),
    "inner loop": lambda np, c, e, s, i: np.fori_loop(0, 2, lambda j, a: np.sin(a) + j * s * e, c),
    "inner while": _inner_while,
    "old": lambda np, c, e, s, i: e * 0.9,
}
STEPS = {
    **SCALAR_STEPS,
    "backwards": lambda np, c, e, s, i: c[::-1] * 0.9 + e,
    "running": lambda np, c, e, s, i: np.cumsum(c, axis=-1) * 0.3,
    "scaled": lambda np, c, e, s, i: c / np.sqrt(np.sum(c * c, axis=-1, keepdims=True) + 1),
    "rolled": lambda np, c, e, s, i: np.roll(c, 1, axis=0) + s,
    "write at trip": _at_trip,
    "write first": _first,
    "write where": _where,
    "write through a view": _through_view,
    "inner scan": _inner_scan,
}  # fmt: skip


def _steps(choices, table, most=4):
    names = list(table)
    return tuple(names[choices.integer(len(names))] for _ in range(1 + choices.integer(most)))


def _run(np, steps, c, e, s, i):
    for name in steps:
        c = STEPS[name](np, c, e, s, i)
    return c


def _floats(np, x):
    return bounded(np, x).astype("float64")


def _scalar(np, y):
    return np.sin(np.sum(_floats(np, y))) * 0.3


CHECKPOINTS = (None, None, "carry", 2)


def _table_of(rank_of_carry):
    return STEPS if rank_of_carry else SCALAR_STEPS


def _scan_arguments(choices, x, y):
    if not 1 <= x.ndim <= 3:
        return None
    flags = [choices.integer(2) for _ in range(2)]
    return (_steps(choices, _table_of(x.ndim - 1)), *flags, choices.one(CHECKPOINTS))


def _scan(np, x, y, steps, which, reverse, checkpoint):
    xs, s = _floats(np, x), _scalar(np, y)

    def body(carry, e):
        c = _run(np, steps, carry[1], e, s, carry[0])
        return (carry[0] + 1, c), c * 2 + e

    (_, last), all_trips = np.scan(
        body, (0, np.sum(xs, axis=0) * 0.3), xs, reverse=bool(reverse), checkpoint=checkpoint
    )
    return all_trips if which else last


def _loop_arguments(choices, x, y):
    if x.ndim > 3:
        return None
    return _steps(choices, _table_of(x.ndim)), choices.one((0, 1, 3, "size", "data")), choices.one(CHECKPOINTS)


def _trips(np, x, trips):
    if trips == "size":
        return x.shape[0] if x.ndim else 2
    return np.sum(uneven(np, x) > 1.3) % 4 if trips == "data" else trips


def _fori(np, x, y, steps, trips, checkpoint):
    c, s = _floats(np, x), _scalar(np, y)
    e = np.cos(c) - 0.4
    body = lambda i, a: _run(np, steps, a, e, s, i)
    return np.fori_loop(0, _trips(np, x, trips), body, c, checkpoint=checkpoint)


def _while(np, x, y, steps, trips, checkpoint):
    c, s = _floats(np, x), _scalar(np, y)
    e, most = np.cos(c) - 0.4, _trips(np, x, trips)
    going = lambda a: (a["i"] < most) & (np.sum(a["c"]) < 3.21)
    body = lambda a: {"i": a["i"] + 1, "c": _run(np, steps, a["c"], e, s, a["i"])}
    return np.while_loop(going, body, {"i": 0, "c": c}, checkpoint=checkpoint)["c"]


def _map_arguments(choices, x, y):
    return (_steps(choices, _table_of(x.ndim - 1)),) if 0 < x.ndim < 4 else None


def _map(np, x, y, steps):
    s = _scalar(np, y)
    return np.map(lambda e: _run(np, steps, e * 0.5, e, s, 1), _floats(np, x))


def _choice_arguments(choices, x, y):
    table = _table_of(x.ndim)
    return (_steps(choices, table, 3), _steps(choices, table, 3), choices.integer(3)) if x.ndim <= 3 else None


def _cond(np, x, y, first, second, kind):
    c, s = _floats(np, x), _scalar(np, y)
    test = (np.sum(c) > 0.0123, x.shape[0] > 2 if x.ndim else False, s > 0.1)[kind]
    one = lambda a: _run(np, first, a, np.sin(a), s, 0)
    return np.cond(test, one, lambda a: _run(np, second, a, np.cos(a), s, 1), c)


COMBINE = {
    "add": lambda np, a, b: a + b,
    "multiply": lambda np, a, b: a * b,
    "maximum": lambda np, a, b: np.maximum(a, b),
    "last": lambda np, a, b: b,
}


def _associative(np, x, kind, reverse):
    xs = _floats(np, x)
    if kind == "affine":
        combined = np.associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (xs, np.sin(xs)), reverse=reverse
        )
        return combined[0] + 2 * combined[1]
    return np.associative_scan(lambda a, b: COMBINE[kind](np, a, b), xs, reverse=reverse)


def _grow(np, x, trips, kind):
    """Let the size of a carry change from trip to trip."""
    c = np.ravel(_floats(np, x))[:6]
    body = (
        lambda i, a: np.concatenate([a * 0.5, a[:1]]),
        lambda i, a: np.append(a, 0.3 * i),
        lambda i, a: a[a > -0.6] * 1.1,
        lambda i, a: a[1:] - 0.2,
    )[kind]
    return np.fori_loop(0, trips, body, c)


def _control():
    return {
        "scan": Row(_scan, 2, _scan_arguments),
        "fori_loop": Row(_fori, 2, _loop_arguments),
        "while_loop": Row(_while, 2, _loop_arguments),
        "map": Row(_map, 2, _map_arguments),
        "cond": Row(_cond, 2, _choice_arguments),
        "associative_scan": Row(
            _associative, 1,
            lambda choices, x: (choices.one(("add", "multiply", "maximum", "last", "affine")), bool(choices.integer(2)))
            if x.ndim else None,
        ),
        "loop of changing sizes": Row(
            _grow, 1, lambda choices, x: (choices.integer(4), choices.integer(4)), smooth=False
        ),
    }  # fmt: skip


# -- writes in place ---------------------------------------------------------------------------------------------


def _sorted_part(np, y, z):
    y[..., :2].sort(axis=-1)


def _through_flat_view(np, y, z):
    flat = y.reshape(-1)
    flat[::2] *= 0.5
    flat[:1] += 0.25


def _transposed_rows(np, y, z):
    for row in y.T:
        row -= 0.1
        row[:1] = row[-1:] * 0.5


def _swapped(np, y, z):
    y[:1], y[-1:] = y[-1:] * 1, y[:1] * 1


def _by_loop(np, y, z):
    for i in range(y.shape[0]):
        y[i] += y[i - 1] * 0.5


WRITES = {
    "slice": lambda np, y, z: y.__setitem__(slice(1, None), z[1:] * 2),
    "slice of itself": lambda np, y, z: y.__setitem__(slice(1, None), y[:-1]),
    "added slice": lambda np, y, z: np.add(y[1:], z[:-1], out=y[1:]),
    "backwards": lambda np, y, z: y.__setitem__(slice(None, None, -1), y),
    "mask": lambda np, y, z: y.__setitem__(z > 0.123, 0.5),
    "mask of values": lambda np, y, z: y.__setitem__(z > 0.123, z[z > 0.123] * 3),
    "fill": lambda np, y, z: y[..., 1:2].fill(0.7),
    "sort a part": _sorted_part,
    "sort": lambda np, y, z: y.sort(axis=0),
    "flat": _through_flat_view,
    "rows of the transpose": _transposed_rows,
    "swap": _swapped,
    "loop": _by_loop,
    "copyto": lambda np, y, z: np.copyto(y, z * 2, where=z > -0.211),
    "putmask": lambda np, y, z: np.putmask(y, z > 0.311, z * 0.5),
    "place": lambda np, y, z: np.place(y, z > 0.311, [0.1, 0.2, 0.3]),
    "add.at": lambda np, y, z: np.add.at(y, [0, 0, -1], 0.25) if y.shape[0] else None,
    "positions": lambda np, y, z: y.__setitem__([-1, 0], y[[0, -1]]) if y.shape[0] else None,
    "added positions": lambda np, y, z: y.__setitem__([0, -1], y[[0, -1]] + 1) if y.shape[0] else None,
    "out": lambda np, y, z: np.multiply(z, 0.5, out=y),
    "out where": lambda np, y, z: np.add(y, z, out=y, where=z > 0.2),
    "sum to out": lambda np, y, z: np.sum(z, axis=0, out=y[0]) if y.ndim > 1 and y.shape[0] else None,
    "one element": lambda np, y, z: y.__setitem__((0,) * y.ndim, 0.125) if y.size else None,
    "argmax": lambda np, y, z: y.__setitem__(np.argmax(np.round(z, 4)) % y.shape[0], 0.3) if y.size else None,
    "new axis": lambda np, y, z: y[None].__setitem__((0, slice(None, 1)), 0.4),
    "diagonal": lambda np, y, z: np.fill_diagonal(y, 0.3) if y.ndim == 2 else None,
    "along": lambda np, y, z: np.put_along_axis(y, np.argsort(np.round(z, 4), axis=0, kind="stable"), z * 0.5, axis=0),
    "put": lambda np, y, z: np.put(y, [0, 1], [0.6, 0.7], mode="clip") if y.size else None,
}  # fmt: skip


def _write(np, x, names):
    """Write to an array in several ways, with an earlier view of it read at the end."""
    y, z = bounded(np, x) * 1.5, bounded(np, x) * 0.9 - 0.03
    view, before = y[..., ::-1], y[:2].copy()
    for name in names:
        WRITES[name](np, y, z)
    return np.concatenate([y, view, before])


# -- lists and iteration -----------------------------------------------------------------------------------------


def _rows_product(np, x):
    total = 1.0
    for row in bounded(np, x):
        total = total * (1.1 + row)
    return total + 0 * np.sum(bounded(np, x), axis=0)


def _unpacked(np, x):
    first, *rest = bounded(np, x)
    return first + sum(rest, numpy.float64(0))


def _decided(np, x):
    y = bounded(np, x)
    if np.sum(y) > 0.123:
        y = y * 2
    return y - (1 if np.all(y < 1.77) else 0.5)


def _halved(np, x):
    y = bounded(np, x) + 0.01
    while np.sum(y * y) > 0.5:
        y = y * 0.5
    return y


def _lists():
    rows = {
        "array of scalars": (lambda np, x: np.array([np.sum(v := bounded(np, x)), 2.0, np.sum(v * v), v.size]), 0),
        "array of lists": (lambda np, x: np.array([[a := np.sum(bounded(np, x)), 1], [a * a, np.sin(a)]]), 0),
        "list of rows": (lambda np, x: np.stack([row * (i + 1) for i, row in enumerate(x)]), 1),
        "asarray of rows": (lambda np, x: np.asarray([*bounded(np, x)]), 1),
        "rows of two": (lambda np, x: np.stack([a * b for a, b in zip(x, bounded(np, x)[1:], strict=False)]), 1),
        "reversed rows": (lambda np, x: np.concatenate([row[None] for row in reversed(bounded(np, x))]), 1),
        "product of rows": (_rows_product, 1),
        "sum of columns": (lambda np, x: sum((column for column in bounded(np, x).T), numpy.float64(0)), 1),
        "by index": (lambda np, x: np.stack([x[i] - x[-i] for i in range(len(x))]), 1),
        "unpacked": (_unpacked, 1),
        "elements": (lambda np, x: np.array([v * 2 for row in bounded(np, x) for v in row]), 2),
        "shape in a list": (lambda np, x: bounded(np, x).reshape([*x.shape[::-1]]), 1),
        "dict of rows": (lambda np, x: sum({i: row * i for i, row in enumerate(x)}.values(), numpy.float64(0)), 1),
        "largest of two": (lambda np, x: max(np.sum(v := bounded(np, x)), np.sum(v * v) - 0.1), 0),
        "index list": (lambda np, x: x[[0, -1, 0]], 1),
        "block": (lambda np, x: np.block([[v := bounded(np, x), v * 2], [v - 1, np.sin(v)]]), 2),
        "r_": (lambda np, x: np.r_[np.ravel(bounded(np, x)), 0.5, 1], 0),
        "decided": (_decided, 0),
        "halved": (_halved, 0),
    }
    rough = {"largest of two", "decided", "halved"}
    return {name: Row(run, 1, rank(least, 3), smooth=name not in rough) for name, (run, least) in rows.items()}


# -- linear algebra ----------------------------------------------------------------------------------------------


def _made(np, factors):
    q, r = factors
    return q @ r


def _from_eigen(np, x):
    values, vectors = np.linalg.eigh(regular(np, x))
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _from_singular(np, x):
    u, s, vh = np.linalg.svd(regular(np, x), full_matrices=False)
    return (u * s[..., None, :]) @ vh


def _log_density(np, x):
    """Return the density of a vector, without its constant, for a covariance."""
    whitened = np.linalg.solve(np.linalg.cholesky(regular(np, x)), bounded(np, x)[..., None])
    return -0.5 * np.sum(whitened**2) - 0.5 * np.sum(np.linalg.slogdet(regular(np, x))[1])


def _algebra():
    row = lambda run, least=1, most=3, smooth=True: Row(run, 1, rank(least, most), smooth=smooth)
    return {
        "qr": row(lambda np, x: _made(np, np.linalg.qr(regular(np, x)))),
        "eigh": row(_from_eigen, smooth=False),
        "svd": row(_from_singular, smooth=False),
        "function of eigh": row(lambda np, x: np.sum(np.log(np.linalg.eigvalsh(regular(np, x))), axis=-1)),
        "solve of two": row(lambda np, x: np.linalg.solve(regular(np, x), regular(np, bounded(np, x) * 0.5))),
        "solve of a vector": row(lambda np, x: np.linalg.solve(regular(np, x), bounded(np, x)), 1, 1),
        "quadratic form": row(lambda np, x: bounded(np, x) @ np.linalg.inv(regular(np, x)) @ bounded(np, x), 1, 1),
        "log density": row(_log_density),
        "condition": row(lambda np, x: np.linalg.cond(regular(np, x)), smooth=False),
        "rank": row(lambda np, x: np.linalg.matrix_rank(regular(np, x)), smooth=False),
        "inverse power": row(lambda np, x: np.linalg.matrix_power(regular(np, x), -2)),
        "tensorinv": row(lambda np, x: np.linalg.tensorinv(regular(np, x), ind=1), 1, 1),
        "tensorsolve": row(lambda np, x: np.linalg.tensorsolve(regular(np, x), bounded(np, x)), 1, 1),
        "vecdot": row(lambda np, x: np.linalg.vecdot(bounded(np, x), positive(np, x))),
        "matvec": row(lambda np, x: np.matvec(regular(np, x), bounded(np, x))),
        "vecmat": row(lambda np, x: np.vecmat(bounded(np, x), regular(np, x))),
        "linalg outer": row(lambda np, x: np.linalg.outer(bounded(np, x), bounded(np, x)[:2]), 1, 1),
        "matrix_transpose": row(lambda np, x: np.linalg.matrix_transpose(regular(np, x)) * 1),
        "nuclear": row(lambda np, x: np.linalg.norm(regular(np, x), "nuc", axis=(-2, -1))),
        "frobenius": row(lambda np, x: np.linalg.matrix_norm(regular(np, x))),
        "norm 3": row(lambda np, x: np.linalg.vector_norm(positive(np, x), ord=3, axis=-1)),
        "chain of four": row(lambda np, x: np.linalg.multi_dot([m := regular(np, x), m, m, bounded(np, x)]), 1, 1),
        "contracted": row(lambda np, x: np.einsum("...ij,...j->...i", regular(np, x), bounded(np, x))),
        "outer sum": row(lambda np, x: np.einsum("...i,...j,...j->...i", v := bounded(np, x), v, v + 1)),
        "correlation": row(lambda np, x: np.convolve(bounded(np, x), [0.5, -1, 0.25], mode="same"), 1, 1),
        "powers": row(lambda np, x: np.vander(bounded(np, x), 4), 1, 1),
        "polynomial": row(lambda np, x: np.polyval([0.5, -1.0, 2.0], bounded(np, x))),
        "counted": row(lambda np, x: np.bincount(integers(np, x).ravel() + 7, minlength=3), smooth=False),
    }


STRUCTURED: dict[str, Row] = {
    **_control(),
    "writes": Row(_write, 1, lambda choices, x: (_steps(choices, WRITES),) if 0 < x.ndim < 4 else None),
    **_lists(),
    **_algebra(),
}
