"""Trips that write parts of their carries do so in place, and nobody sees it."""

import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anyshape
from anyshape import fori_loop, grad, jit, scan, vmap, while_loop
from anyshape.graph.ir.graph import walk


def by_scan(body, first, trips):
    """Make a loop by `scan`, which stacks what the body gives besides the carry."""
    return scan(body, first, np.arange(trips))


def by_python(body, first, trips):
    """Make the same loop in Python on copies."""
    carry, rows = first, []
    for i in range(trips):
        carry, row = body(tuple([x.copy() for x in carry]), i)
        rows.append(row.copy())
    return carry, np.stack(rows) if rows else None


def set_one(x, i, value):
    """Write an element, as `x[i] = value` of an array of one's own."""
    x = x * 1 if isinstance(x, np.ndarray) else x
    x[i % x.shape[0]] = value
    return x


BODIES = {
    "one": lambda c, i: ((set_one(c[0], i, 7.0 + i), c[1]), c[1][0]),
    "reads what it wrote": lambda c, i: ((set_one(c[0], i, c[0][(i - 1) % 5] + 1), c[1]), c[1][0]),
    "both": lambda c, i: ((set_one(c[0], i, c[1][0]), set_one(c[1], i, c[0][1])), c[0][0]),
    "swap": lambda c, i: ((c[1], set_one(c[0], i, 5.0)), c[0][0]),
    "swap of both": lambda c, i: ((set_one(c[1], i, 6.0), set_one(c[0], i + 1, 5.0)), c[0][0]),
    "result twice": lambda c, i: ((d := set_one(c[0], i, 2.0 + i), d), d),
    "old carry is a result": lambda c, i: ((set_one(c[0], i, 2.0 + i), c[1]), c[0]),
    "new carry is a result": lambda c, i: ((d := set_one(c[0], i, 2.0 + i), c[1]), d),
    "view is a result": lambda c, i: ((d := set_one(c[0], i, 2.0 + i), c[1]), d[::-1]),
    "view is a carry": lambda c, i: ((set_one(c[0], i, 2.0 + i), c[0][::-1]), c[1][0]),
    "view of the new one": lambda c, i: ((d := set_one(c[0], i, 2.0 + i), d[::-1]), d[0]),
    "reversed before": lambda c, i: ((set_one(c[0][::-1], i, 2.0 + i), c[1]), c[0][0]),
    "old one lives on": lambda c, i: ((set_one(c[0], i, 2.0 + i), c[0]), c[1][0]),
}

IN_GATE = ("both", "swap of both", "old carry is a result", "view is a carry", "old one lives on")


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("trips", [0, 2, 7])
@pytest.mark.parametrize("name", BODIES)
def test_values_are_those_of_copies(name, trips, same):
    x = np.arange(5.0)
    y = x if same else -np.arange(5.0)
    (a, b), rows = jit(lambda x, y: by_scan(BODIES[name], (x, y), trips))(x, y)
    (c, d), expected = by_python(BODIES[name], (x, y), trips)
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)
    if trips:
        np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(x, np.arange(5.0))
    assert not np.shares_memory(a, b) and not np.shares_memory(a, x) and not np.shares_memory(b, y)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in IN_GATE)) for name in BODIES]
)
def test_derivatives_and_batches(name):
    x, y = np.linspace(1, 2, 5), np.linspace(-1, 1, 5)

    def loss(x, y):
        (a, b), rows = by_scan(BODIES[name], (x * 2, y * y), 6)
        return np.sum(a * a) + np.sum(np.sin(b)) + np.sum(rows * rows)

    anyshape.check_grads(loss, (x, y), 1)
    xs, ys = np.stack([x, -x, x + 1]), np.stack([y, y, -y])
    each = [grad(loss)(*row) for row in zip(xs, ys, strict=True)]
    np.testing.assert_allclose(vmap(grad(loss))(xs, ys), each, rtol=1e-12)


@pytest.mark.parametrize("checkpoint", [None, "carry", 1, 3])
def test_saved_carries_keep_their_values(checkpoint):
    def loss(x):
        def body(c):
            i, h = c
            return i + 1, h.at[i % 4].set(np.sin(h[i % 4 - 1]) * h[2])

        return np.sum(while_loop(lambda c: c[0] < 9, body, (0, x), checkpoint=checkpoint)[1] ** 2)

    anyshape.check_grads(loss, (np.linspace(0.5, 1.5, 4),), 2)


def test_functions_of_the_user_keep_what_they_were_given():
    seen = []

    def keep(x):
        seen.append(x)
        return 1.0

    def body(i, h):
        h[i] = anyshape.pure_callback(keep, anyshape.ShapeDtypeStruct((), float), h) + i
        return h

    np.testing.assert_array_equal(jit(lambda x: fori_loop(0, 3, body, x))(np.zeros(3)), [1, 2, 3])
    np.testing.assert_array_equal(seen, [[0, 0, 0], [1, 0, 0], [1, 2, 0]])


def test_conditions_of_the_user_keep_what_they_were_given():
    seen = []

    def keep(x):
        seen.append(x)
        return x[-1] == 0

    def goes_on(c):
        return anyshape.pure_callback(keep, anyshape.ShapeDtypeStruct((), bool), c[1])

    loop = jit(lambda x: while_loop(goes_on, lambda c: (c[0] + 1, c[1].at[c[0]].set(1.0)), (0, x))[1])
    np.testing.assert_array_equal(loop(np.zeros(2)), [1, 1])
    np.testing.assert_array_equal(seen, [[0, 0], [1, 0], [1, 1]])


@pytest.mark.parametrize("write", ["add", "multiply", "min", "max", "set"])
def test_each_write(write):
    body = lambda i, h: getattr(h.at[i, 1:], write)(h[i - 1, :-1] + 2.0)
    x = np.arange(12.0).reshape(3, 4) - 5
    expected = x.copy()
    for i in range(3):
        row = expected[i - 1, :-1] + 2.0
        part = expected[i, 1:]
        operations = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}
        part[...] = operations[write](part, row) if write in operations else row
    np.testing.assert_array_equal(jit(lambda x: fori_loop(0, 3, body, x))(x), expected)
    np.testing.assert_array_equal(jit(lambda x: fori_loop(0, 3, body, x.T.copy().T))(np.asfortranarray(x)), expected)


def test_an_index_out_of_range_is_an_error_in_its_trip():
    def body(i, h):
        h[i, 2 * i] = 1.0
        return h

    loop, x = jit(lambda x, n: fori_loop(0, n, body, x)), np.zeros((4, 3))
    np.testing.assert_array_equal(loop(x, 2), [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    with pytest.raises(anyshape.errors.IndexRangeError, match="in trip 2"):
        loop(x, 3)
    assert not x.any()


def longest_common(a, b):
    """Return the lengths of the longest common subsequences of all beginnings, by a table of two loops."""

    def row(i, table):
        def cell(j, table):
            same = table[i, j] + 1
            table[i + 1, j + 1] = np.where(a[i] == b[j], same, np.maximum(table[i, j + 1], table[i + 1, j]))
            return table

        return fori_loop(0, b.shape[0], cell, table)

    return fori_loop(0, a.shape[0], row, anyshape.numpy.zeros((a.shape[0] + 1, b.shape[0] + 1), int))


def test_a_table_of_two_loops():
    rng = np.random.default_rng(0)
    fill = jit(longest_common)
    for n, m in ((0, 3), (1, 1), (6, 4), (15, 20)):
        a, b = rng.integers(3, size=n), rng.integers(3, size=m)
        expected = np.zeros((n + 1, m + 1), int)
        for i in range(n):
            for j in range(m):
                best = max(expected[i, j + 1], expected[i + 1, j])
                expected[i + 1, j + 1] = expected[i, j] + 1 if a[i] == b[j] else best
        np.testing.assert_array_equal(fill(a, b), expected)


@pytest.mark.parametrize("nested", [False, True])
def test_a_trip_does_not_copy_its_carry(nested):
    inner = lambda i, h: h.at[i].set(h[i - 1] + 1)
    body = (lambda i, h: fori_loop(0, 10, inner, h)) if nested else inner
    loop, x = jit(lambda x, n: fori_loop(0, n, body, x), optimize="now", compile="off"), np.zeros(1_000_000)
    both = lambda c: (c[0] + body(1, c[1])[0], body(1, c[1]) + 1)  # makes its next carry beside this one
    copying = jit(lambda x, n: fori_loop(0, n, lambda i, c: both(c), (0.0, x)), optimize="now", compile="off")
    assert peak_bytes(loop, x, 20) < 1.5 * x.nbytes  # the copy before the first trip
    assert peak_bytes(copying, x, 20) > 1.9 * x.nbytes


def peak_bytes(function, *args):
    """Return the most bytes that a second call holds."""
    function(*args)
    tracemalloc.start()
    function(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


# -- random bodies -------------------------------------------------------------------------------------------------

MOVES = {
    "set": lambda c, a, b, i: c[a].at[i % 4].set(c[b][(i + 1) % 4] * 0.5 + 1),
    "add": lambda c, a, b, i: c[a].at[i % 4].add(c[b][(2 * i) % 4]),
    "part": lambda c, a, b, i: c[a].at[1:3].set(c[b][:2] * 0.9),
    "copy": lambda c, a, b, i: c[b],
    "view": lambda c, a, b, i: c[b][::-1],
    "mix": lambda c, a, b, i: np.tanh(c[a] + c[b] * 0.3),
    "branch": lambda c, a, b, i: anyshape.cond(c[b][0] > 0.2, lambda x: x.at[i % 4].set(0.25), lambda x: x, c[a]),
    "loop": lambda c, a, b, i: fori_loop(0, 2, lambda j, x: x.at[j].set(x[i % 4] + x[j + 1]), c[a]),
}
moves = st.lists(
    st.tuples(st.sampled_from([*MOVES, "swap"]), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5
)
quiet = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(autouse=True)
def as_users_run_programs():
    """Optimise and verify plans in this file: they decide what is written in place."""


def moved(steps, carries, i):
    """Make the moves of one trip, one after the other."""
    carries = list(carries)
    for name, a, b in steps:
        if name == "swap":
            carries[a], carries[b] = carries[b], carries[a]
        else:
            carries[a] = MOVES[name](carries, a, b, i)
    return tuple(carries)


def check_random_moves(steps, trips, old, policy):
    """Compare a loop with the same trips one after the other: values, stacked carries, and gradients."""

    def looped(x):
        def body(carries, i):
            after = moved(steps, carries, i)
            return after, (carries if old else after)[0]

        return scan(body, tuple(x), np.arange(trips), checkpoint=policy)

    def unrolled(x):
        carries, rows = tuple(x), []
        for i in range(trips):
            before, carries = carries, moved(steps, carries, np.int64(i))
            rows.append((before if old else carries)[0])
        return carries, np.stack(rows) if rows else anyshape.numpy.zeros((0, 4))

    x = np.random.default_rng(trips).normal(size=(3, 4))
    before = x.copy()
    for mode in ("now", "off"):
        (got, rows), (expected, stacked) = jit(looped, optimize=mode)(x), jit(unrolled, optimize="off")(x)
        np.testing.assert_allclose([*got], [*expected], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(rows, stacked, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(x, before)
    slopes = [grad(lambda x, f=f: sum(np.sum(y * y) for y in (*f(x)[0], f(x)[1])))(x) for f in (looped, unrolled)]
    np.testing.assert_allclose(*slopes, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@given(steps=moves, trips=st.integers(0, 3), old=st.booleans(), policy=st.sampled_from([None, "carry", 2]))
@settings(max_examples=4, **quiet)
def test_random_moves_of_carries(steps, trips, old, policy):
    check_random_moves(steps, trips, old, policy)


@pytest.mark.slow
@given(steps=moves, trips=st.integers(0, 6), old=st.booleans(), policy=st.sampled_from([None, "carry", 1, 2]))
@settings(max_examples=200, **quiet)
def test_many_random_moves_of_carries(steps, trips, old, policy):
    check_random_moves(steps, trips, old, policy)


# -- reverse mode of trips that read elements


def reads(x, order, table):
    """Read captured arrays and the carry by the counter, by an array of indices, and from the end."""

    def body(i, c):
        y, s = c
        k = anyshape.numpy.take(order, i % 4)
        s = s * x[i % 5] + x[k - 5] * y[k - 2] + table[k, i % 2] + table[:, 1][order].sum()
        y = y.copy()
        y[k] = y[i % 5] * x[1:3].sum() + s
        return y, s * 0.5

    return body


def by_counter(loop, trips):
    """Return a function of x and table that runs these trips by a loop."""
    order = np.array([3, 0, 3, 1])

    def total(x, table):
        y, s = loop(0, trips, reads(x, order, table), (x * 0.5, 1.0))
        return (y * np.arange(1.0, 6)).sum() + s

    return total


def python_loop(first, last, body, carry):
    for i in range(first, last):
        carry = body(i, carry)
    return carry


@pytest.mark.parametrize(("trips", "dtype"), [(0, np.float32), (1, np.float64), (6, np.float64), (6, np.float32)])
def test_cotangents_of_elements_that_trips_read(trips, dtype):
    x, table = np.linspace(0.2, 0.9, 5).astype(dtype), np.linspace(-0.4, 0.5, 10).reshape(5, 2).astype(dtype)
    tolerance = {"rtol": 1e-9 if dtype == np.float64 else 1e-4, "atol": 1e-6}
    loop, plain = (grad(by_counter(f, trips), (0, 1)) for f in (fori_loop, python_loop))
    wanted = plain(x, table)
    for ours, theirs in zip(jit(loop)(x, table), wanted, strict=True):
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, **tolerance)
    batch = vmap(loop)(np.stack([x, -x]), np.stack([table, table * 2]))
    for ours, theirs in zip(batch, wanted, strict=True):
        np.testing.assert_allclose(ours[0], theirs, **tolerance)
    second = [anyshape.jvp(lambda x, f=f: f(x, table)[0], (x,), (np.cos(x),))[1] for f in (loop, plain)]
    np.testing.assert_allclose(second[0], second[1], **tolerance)


def test_trips_of_a_gradient_make_no_array_of_zeros_for_what_they_read():
    def total(x):
        def body(i, c):
            y = c[0].copy()
            y[i] = y[i - 1] * x[i]
            return y, c[1] + x[i - 2] * y[i - 1]

        y, s = fori_loop(2, x.shape[0], body, (x, 0.0))
        return y.sum() + s

    text = str(anyshape.trace(grad(total))(anyshape.ShapeDtypeStruct("n")).graph)
    assert "scatter_add" in text and "put_add" not in text and "pad(" not in text


KEYS = {
    "element": lambda x, i: x[i % 3, 1, -1],
    "ints around": lambda x, i: x[1, i % 4 - 4, :],
    "column": lambda x, i: x[:, i % 4, 2],
    "part of a row": lambda x, i: x[i % 3 - 1, 1:3, ::-1],
    "reversed": lambda x, i: x[::-1, ::-1][i % 3, i % 2],
    "steps": lambda x, i: x[::2, :, 1:][i % 2, ::2],
    "new axis": lambda x, i: x[1:, None][i % 2, 0, 1:, i % 5],
    "transposed": lambda x, i: x.T[i % 5, 1:, 0],
    "twice": lambda x, i: x[1:, i % 4][0, :3] * x[0, 1:3, i % 5].sum(),
    "empty": lambda x, i: x[i % 3, 4:, 0],
    "rows": lambda x, i: x[:, 1][anyshape.numpy.asarray([0, 2, 0]), i % 5],
}


def read_by(key, loop):
    """Return a function of an array that trips of a loop read by a key, of a carry too."""

    def total(x):
        def body(i, c):
            y, s = c
            y = y.copy()
            y[i % 3, 0] += anyshape.numpy.sin(KEYS[key](y, i)).sum() + KEYS[key](x, i + 1).sum() * s
            return y, s * 0.5 + (KEYS[key](x, i) * 1.5).sum()

        y, s = loop(0, 5, body, (x * 0.5, 0.3))
        return (y * y).sum() + s

    return total


@pytest.mark.parametrize("key", KEYS)
def test_cotangents_of_keys_of_slices_and_indices(key):
    x = np.linspace(-0.7, 0.9, 60).reshape(3, 4, 5)
    loop, plain = (grad(read_by(key, f)) for f in (fori_loop, python_loop))
    wanted = plain(x)
    way = np.cos(np.arange(60.0)).reshape(x.shape)
    for derived in (jit(loop), lambda x: vmap(loop)(np.stack([x, -x]))[0]):
        np.testing.assert_allclose(derived(x), wanted, rtol=1e-9, atol=1e-12)
    step = 1e-6
    apart = jit(loop)(x + step * way) - jit(loop)(x - step * way)
    np.testing.assert_allclose(anyshape.jvp(loop, (x,), (way,))[1], apart / (2 * step), rtol=1e-6, atol=1e-8)
    value = jit(read_by(key, fori_loop))
    slope = (value(x + step * way) - value(x - step * way)) / (2 * step)
    np.testing.assert_allclose((wanted * way).sum(), slope, rtol=1e-6)


@pytest.mark.parametrize("key", ["element", "ints around", "part of a row", "reversed"])
def test_trips_of_a_gradient_make_no_array_for_a_key_of_slices_and_indices(key):
    """Also where examples of a batch end at their own trips, which a mask tells."""

    def total(x):
        body = lambda c: (c[0] + 1, c[1] + KEYS[key](x, c[0]).sum())
        return vmap(lambda n: while_loop(lambda c: c[0] < n, body, (0, 0.0))[1])(np.arange(3)).sum()

    for function in (total, lambda x: fori_loop(0, 9, lambda i, s: s + KEYS[key](x, i).sum(), 0.0)):
        graph = anyshape.trace(grad(function))(anyshape.ShapeDtypeStruct("a, b, c")).graph
        made = {node.op.name for node in walk(graph) if node.outputs[0].meta.rank == 3}
        assert "scatter_add" in made and not {"put_add", "pad", "select"} & made


@pytest.mark.filterwarnings("ignore")  # of the size that Python asks for
@pytest.mark.parametrize("checkpoint", [None, 2])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_a_size_that_is_fixed_behind_a_loop(n, checkpoint, monkeypatch):
    """A trip writes what is read ahead of the loop, so that no other step of a trip reads the size."""
    monkeypatch.setenv("ANYSHAPE_CHECK", "0")  # a check of metadata would read it

    def f(x):
        column = x[:, 0] * 2
        first = np.cos(column) - 0.4

        def trip(i, c):
            c = c * 1
            c[:1] = first[:1] * 2
            return c

        last = fori_loop(0, column.shape[0], trip, column, checkpoint=checkpoint)
        int(column.shape[0])
        return last

    x = np.linspace(-0.3, 0.9, 2 * n).reshape(n, 2)
    value, back = anyshape.vjp(f, x)
    expected, slopes = x[:, 0] * 2, np.full(n, 2.0)
    expected[:1], slopes[:1] = (np.cos(expected[:1]) - 0.4) * 2, -4 * np.sin(expected[:1])
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(back(np.ones(n))[0], np.stack([slopes, np.zeros(n)], axis=1))


def smoothed(x):
    y, total = x * 1, 0.0
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * 0.5 + x[i] * x[-i]
        total = total + y[i] * y[i]
    return total


def calls_of(function, *args):
    """Return how many functions of Python a call runs."""
    calls = []
    sys.setprofile(lambda frame, event, arg: calls.append(event) if event == "call" else None)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return len(calls)


@pytest.mark.parametrize("way", [lambda f: f, anyshape.value_and_grad], ids=["value", "gradient"])
def test_trips_read_and_write_elements_without_a_call(way, monkeypatch):
    monkeypatch.setenv("ANYSHAPE_CHECK", "0")
    function, inputs = jit(way(smoothed), compile="off", optimize="now"), [np.ones(n) for n in (50, 90)]
    for x in inputs * 2:
        function(x)
    assert calls_of(function, inputs[0]) == calls_of(function, inputs[1])
