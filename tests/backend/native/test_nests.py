"""Loops as machine code: they give what steps of NumPy give, for values, derivatives and batches, at all sizes."""

import dataclasses
import inspect
import signal
import warnings

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, softmax

import anyshape
from anyshape import Ragged, grad, jit, jvp, ragged_map, vmap
from anyshape.backend.native import automatic, nest_branches, nest_rules, nest_source, nests, toolchain
from anyshape.backend.native.nest_values import derived
from anyshape.ops import movement as mv
from tests.backend.native.compiled import compiled, needs_compiler

pytestmark = needs_compiler
SIZES = (5, 0, 1, 2)
PROGRAMS = {}


def program(function):
    """Add a function of one vector to the table."""
    PROGRAMS[function.__name__] = function
    return function


@program
def shifts(x):
    """Slices that overlap what they are written to, and views of memory that changes later."""
    c = x * 1
    for i in range(x.shape[0]):
        c[i] = c[::-1][i] * x[-i - 1] + 1
        c[1:] = c[:-1] * 0.5
        c[::-1] = c
        v = c[1:] * c[:-1]
        c[:-1] = c[1:] - v
    return c


@program
def exchanged(x):
    """Elements that change places, read by constant positions before a write to them."""
    a, c, m = x * 1, x[::-1] * 2, np.outer(x, x)
    for i in range(x.shape[0]):
        a[0], c[i] = c[i], a[0]
        m[-1, 0], m[i, i], c[-1] = m[i, 0], m[-1, 0], c[-1] * m[0, -1] + a[i]
    return a, c, m


@program
def copied(x):
    """Copies, turned and whole, that an inner loop reads while it writes to what they are of."""
    c, m = x * 1, np.outer(x, x)
    for i in range(x.shape[0]):
        v, r = c.copy()[::-1], m[i].copy()
        for j in range(x.shape[0]):
            c[j] = v[j] * 0.5 + c[j - 1]
            m[i, j] = r[-1 - j] + v[i] * m[j, i]
    return c, m


@program
def triangle(x):
    """Slices whose sizes differ between iterations, empty at first."""
    t = x * 0
    for i in range(x.shape[0]):
        t[i] = np.sum(x[:i]) * x[i] + np.dot(x[i:], x[i:])
        for j in range(i):
            t[j] = t[j] - np.sin(t[i]) * x[j]
        t[i:] = t[i:] * x[: x.shape[0] - i]
    return t


@program
def turns(x):
    """Carries that change places, one that stays as it was, and a counter."""
    p, q, r, k = x * 1, x * 2, x[::-1] * x, 0
    for i in range(x.shape[0] - 1, -1, -1):
        p[i] = q[0] * p[i] + k
        p, q, r, k = q, r, p, k * 3 % 7 - 1
    return p, q, r, x * k


@program
def halvings(x):
    """Iterations of a number that the values decide, with a break."""
    s, k = np.sum(x * x), 0
    while s > 0.1:
        s = s * 0.5 - k * 0.01
        k = k + 1
        if s > 40:
            break
    return s, k


@program
def appended(x):
    """Results of a number that the values decide."""
    rows, last = [], np.sum(x)
    for i in range(x.shape[0]):
        for j in range(i, x.shape[0]):
            if x[i] * x[j] > 0:
                last = last * x[j] + 1
                rows.append(last * x[i])
    return np.array(rows), last


@program
def positions(x):
    """Elements at computed positions, which repeat and count from the end."""
    n, c = x.shape[0], x * 1
    p = np.arange(n)
    for i in range(n):
        p[i] = (p[i] * 2 + 1) % n - n
        c[p] += x * c
        c = c[p] + c
        c[-p - 1] = c * x
    return c, p


@program
def tables(x):
    """Rows, columns and products of a matrix, reductions along axes, and what is stretched along an axis."""
    m = np.outer(x, x) + 1
    for i in range(x.shape[0]):
        m[i] = m[:, i] * 0.5
        m[:, i] += np.max(m, axis=1) * x
        m = m * x[:, None] - m.T / 4
        m[i:, :i] += m[:i, i:].T
        m = m @ m[:, :1] + np.where(m > 0, m, m.T)
    return m


@program
def windows(x):
    """Zeros with a window, padded pieces, extremes with ties, and what is read behind a write to its memory."""
    m, c = np.outer(x, x), x * 1
    for i in range(x.shape[0]):
        z = np.zeros_like(c)
        z[i:] = c[: x.shape[0] - i] * -0.5
        c[i] += z[-1]
        m = np.minimum(m, np.add.outer(m[:, i], m[i, :])) + np.pad(m[1:, :-1] * x[i], ((0, 1), (1, 0)))
        c = c - z + np.maximum(c, x) * np.sum(m, axis=0)
    return c, m


@program
def chosen(x):
    """Choices between arrays, where a branch reads elements of a view, and one has nothing to do."""
    c, d = x * 1, x * x
    for i in range(x.shape[0]):
        v = c[::-1]
        if c[i] > d[i]:
            c, d = d + np.exp(-(v[np.array([0, -1])] ** 2)).sum(), c * 1
        elif i % 2 == 0:
            d = np.where(d > c[i], d, c) * 0.5
        d = d + v * 0.5
    return c, d


@program
def roots(x):
    """Iterations of each element's own number, inside of others."""
    out = x * 0
    for i in range(x.shape[0]):
        y = 1 + x[i] * x[i] * 30
        z = y
        while abs(z * z - y) > 1e-9:
            z = (z + y / z) / 2
        out[i] = z
    return out


@program
def grown(x):
    """Carries that grow and shrink along both axes, and are written to; results of iterations of several sizes."""
    n, m, s, w = x.shape[0], np.outer(x, x[:1]), 0.0, x[:0]
    for i in range(n - 1, -1, -1):
        s = s + np.sum(np.sin(x[i:] * (s + 1)) * x[: n - i])
        m[i] = m[i] * s + x[0]
        m = np.concatenate([m[1:] * m[:1], m[:1], m[-1:] * x[i]])
        m = np.concatenate([m, m[:, :1] + 1], axis=1)
        w = np.concatenate([x[i:] * w[:1].sum(), w])
    return m, s, w


@program
def halved(x):
    """Iterations of a number that sizes decide, each of another size."""
    v, s, k = x[::-1] * 2, np.sum(x[:1]), 0
    while v.shape[0] > 1:
        v[0] = v[0] + s
        s, k = s + np.sum(np.cos(v) * v[-1]), k + v.shape[0]
        v = v[: v.shape[0] // 2] * v[-(v.shape[0] // 2) :]
    return v, s, k


def floats(function, x):
    """Return the sum of the results of a function that are floats, each element with a weight of its own."""
    leaves = [y for y in anyshape.tree_leaves(function(x)) if np.result_type(y).kind == "f"]
    return sum([np.sum(y * (np.arange(np.size(y)).reshape(np.shape(y)) + k + 1)) for k, y in enumerate(leaves)])


def slopes(function):
    return grad(lambda x: floats(function, x))


WAYS = {
    "values": lambda f: f,
    "jvp": lambda f: lambda x: jvp(f, (x,), (np.cos(x),))[1],
    "vjp": slopes,
    "order 2": lambda f: lambda x: jvp(slopes(f), (x,), (np.cos(x),)),
    "vmap": lambda f: lambda x: vmap(f)(np.stack([x, -x, 2 * x])),
}
# loops whose iterations and choices differ between the examples of a batch
UNEVEN = ("appended", "chosen", "halvings", "roots")
WAYS_OF_BATCHES = {
    "vmap of vjp": lambda f: WAYS["vmap"](slopes(f)),
    "vjp of vmap": lambda f: slopes(WAYS["vmap"](f)),
    "vmap of order 2": lambda f: WAYS["vmap"](WAYS["order 2"](f)),
    "vmap of vmap": lambda f: WAYS["vmap"](WAYS["vmap"](f)),
}
CASES = [
    *[(name, way) for name in PROGRAMS for way in WAYS],
    *[(name, way) for name in UNEVEN for way in ("vmap of vjp", "vjp of vmap")],
    *[
        pytest.param(name, way, marks=pytest.mark.slow)
        for name in UNEVEN
        for way in ("vmap of order 2", "vmap of vmap")
    ],
]


def vector(n, seed=0):
    return np.random.default_rng([n, seed]).uniform(-1.2, 1.2, n)


def outcome(function, *args):
    """Return the leaves of a result, or the error; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = [np.asarray(y) for y in anyshape.tree_leaves(function(*args))]
        except Exception as error:
            result = [type(error), str(error)]
    return result, sorted({str(one.message) for one in caught})


def assert_same(got, expected, tolerance):
    assert got[1] == expected[1]
    assert len(got[0]) == len(expected[0])
    for y, z in zip(got[0], expected[0], strict=True):
        if not isinstance(z, np.ndarray):
            assert y == z
            continue
        assert (y.dtype, y.shape) == (z.dtype, z.shape)
        np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance)
        if not tolerance and y.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(y), np.signbit(z))


def states(function):
    """Return what became of each loop of a jitted function."""
    return [s for p in function.programs() for s in (p.planner.nests.states() if p.planner.nests else [])]


@pytest.fixture
def served(monkeypatch):
    """List for each run of a nest that is built whether it gave the results, or left them to NumPy."""
    runs, call = [], nests.Nest.__call__

    def recorded(nest, *args):
        result = call(nest, *args)
        runs.append(result is not None)
        return result

    monkeypatch.setattr(nests.Nest, "__call__", recorded)
    return runs


def checked(function, inputs, tolerance=1e-12):
    """Assert that loops in C give what loops of NumPy give for all inputs; return the function that runs the former."""
    mine, theirs = compiled(function), jit(function, compile="off", optimize="now")
    for args in inputs:
        assert_same(outcome(mine, *args), outcome(theirs, *args), tolerance)
    return mine


@pytest.mark.parametrize(("name", "way"), CASES)
def test_a_nest_gives_what_numpy_gives(name, way, served):
    derived = (WAYS | WAYS_OF_BATCHES)[way](PROGRAMS[name])
    mine = checked(derived, [(vector(n),) for n in SIZES])
    assert {*states(mine)} == {"compiled"} and served and all(served)


def test_slopes_of_functions_that_level_out_set_no_flags(served):
    """Vectors compute tails in elements too that are not in one: an overflow there would leave the run to NumPy."""
    rng = np.random.default_rng(0)
    v, w = rng.normal(size=(8, 16)) / 8**0.5, rng.normal(size=(16, 16)) / 4
    points = lambda v, w, x: np.tanh(np.tanh(x @ v) @ w).max(0)
    total = lambda v, w, b: np.sum(ragged_map(points, in_axes=(None, None, 0))(v, w, b) ** 2)
    batch = Ragged.from_list([rng.normal(size=(n, 8)) for n in (3, 1, 5)])
    with np.errstate(all="warn"):
        mine = checked(grad(total, argnums=(0, 1)), [(v, w, batch)])
    assert {*states(mine)} == {"compiled"} and served and all(served)


def counted(x):
    """Arithmetic that every dtype has."""
    c, last = x * 1, x[:1] * 1
    for i in range(x.shape[0]):
        c[i:] = c[i:] * x[i] - x[-i - 1]
        c[::-1] = c
        last = c[i] * last + x[:1]
    return c, last


def divided(x):
    """Quotients and remainders of both signs, and the larger and smaller of numbers that may be equal, or be NaN."""
    c, k = x * 1, 0
    for i in range(x.shape[0]):
        c = np.maximum(c // x[i], c % x[i]) - np.minimum(x, c[i])
        if not c[i] < x[0]:
            k += 1
    return c, k


def is_larger(x):
    """Bools that are carried, written and compared."""
    c = x > 0
    for i in range(x.shape[0]):
        c[i] = c[i - 1] ^ (x[i] < x[0])
        c = c | (x == x[i])
    return c, np.sum(c)


NUMBERS = [3, -7, 1, 100, -2, 5]


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32", "float64", "complex128"])
@pytest.mark.parametrize("function", [counted, divided, is_larger])
def test_arithmetic_has_the_bits_of_numpy(function, dtype, served):
    if dtype == "complex128" and function is not counted:
        pytest.skip("complex numbers have no order here")
    x = np.array(NUMBERS).astype(dtype)
    inputs = [x, x[:1], x[:0]]
    if dtype == "float64":
        inputs += [np.array([0.5, -0.0, 0.0, np.inf]), np.array([np.nan, 2.0, -np.nan]), np.array([1e300, 1e300])]
    mine = checked(function, [(one,) for one in inputs], 0)
    assert states(mine) == ["compiled"] and served[:3] == [True] * 3


def along(x):
    """Steps along one axis, matrices, and functions of SciPy, at each iteration."""
    c, total = x * 1, np.sum(x[:0])
    for i in range(x.shape[0]):
        m = np.outer(c, c[::-1]) + 3 * np.eye(x.shape[0])
        c = np.cumsum(c)[np.argsort(x)] * 0.25 + np.maximum.accumulate(c)[::-1] - np.argmin(m, axis=1)
        total = total + np.argmax(c) + np.searchsorted(np.sort(c), x[i]) / x.shape[0] + gammaln(3 + x[i])
        c = np.linalg.solve(m, c) + np.linalg.inv(m) @ x + logsumexp(m, axis=0) * softmax(c)
        total = total + np.linalg.det(m) + np.linalg.cholesky(m @ m.T + np.eye(x.shape[0]))[i, i]
    return c, total


@pytest.mark.parametrize("way", ["values", "vjp"])
def test_steps_along_axes_and_of_matrices_are_compiled(way, served):
    mine = checked(WAYS[way](along), [(vector(n),) for n in SIZES], 1e-9)
    assert served and all(served)
    written = ("gammaln", "cumsum", "searchsorted", "inv", "lu_solve", "softmax")
    assert not [state for state in states(mine) if any(op in state for op in written)]


def of_numbers(x, singular):
    c = x * 1
    for i in range(x.shape[0]):
        c = c + np.argmax(c) + np.linalg.inv(np.outer(c, x) * singular + np.eye(x.shape[0]) * (i != 3 * singular))[0]
    return c


@pytest.mark.parametrize("invalid", ["warn", "ignore"])
def test_a_singular_matrix_raises_whatever_is_ignored(invalid):
    x = np.array([1.0, 0.0, np.nan, 2.0, 1.0])
    with np.errstate(invalid=invalid):
        checked(of_numbers, [(np.ones(5), 0), (np.ones(5) * 0, 1), (x, 0)])


def of_two(x, y):
    m = x * 1
    for i in range(x.shape[0]):
        m[i] = m[i] * 0.5 - y[:, i]
        m[:, i] += x[i]
    return m, x * 1


def test_any_memory_is_read(served):
    base = np.arange(60.0).reshape(6, 10)
    locked = base[:4, :4].copy()
    locked.flags.writeable = False
    unaligned = np.frombuffer(b"." + base[:4, :4].tobytes(), np.uint8)[1:].view(float).reshape(4, 4)
    pairs = [
        (base[:4, :4], base[1:5, 1:5]), (base[3::-1, 7::-2], base[:4, :4].T), (locked, locked),
        (unaligned, unaligned), (np.asfortranarray(base[:3, :3]), np.broadcast_to(2.0, (3, 3))),
    ]  # fmt: skip
    before = base.copy()
    mine = checked(of_two, pairs, 0)
    np.testing.assert_array_equal(base, before)
    assert states(mine) == ["compiled"] and served.count(False) <= 1  # what is not aligned may be left to NumPy


def looked_up(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        total = total / x[k[i]] + np.log(x)[i // 2]
    return total


@pytest.mark.parametrize(
    ("x", "k"),
    [
        ([1.0, 2.0, 0.0, 3.0], [0, 1, 2, 3]),
        ([1.0, 2.0, 3.0, -1.0], [0, 1, 2, 2]),
        ([1.0] * 9, [0, 1, -9, 3, 4, 5, 6, 9, 0]),
        ([1.0] * 9, [0, 1, -9, 3, 4, 5, 6, -10, 0]),
    ],
    ids=["division by zero", "element that is not read", "beyond", "before"],
)
def test_errors_and_warnings_are_those_of_numpy(x, k, served):
    x, k = np.array(x), np.array(k)
    with np.errstate(all="warn"):
        mine = checked(looked_up, [(x, k), (np.abs(x) + 1, k * 0)])
    assert served == [False, True] and states(mine) == ["compiled"]
    with np.errstate(all="raise"):
        assert_same(outcome(mine, x, k), outcome(jit(looked_up, compile="off", optimize="now"), x, k), 0)


def indexed(x, k):
    for i in range(x.shape[0]):
        x[i] = x[k[i]] * 0.5  # refused
    return x * 1


def quotients(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        x[i] = total
        total = total + x[k[0]] / (k[i] - 3)  # refused
    return total


def made(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        total = total + np.sum(np.cumsum(np.ones((k[i], k[i])) * x[i], axis=0)[:2])  # refused
    return total


def read_once(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        total = total + np.sum(np.ones(k[i])) * x[i]  # refused
    return total


BAD = {
    "beyond": (indexed, 99), "before": (indexed, -99), "zero": (quotients, 3), "bytes beyond 64 bits": (made, 1 << 33),
    "memory": (made, 1 << 23), "elements that are read once": (read_once, 1 << 61),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_line_and_iteration_and_changes_nothing(name):
    function, bad = BAD[name]
    mine, x, k = compiled(function), np.ones(9), np.full(9, 2)
    mine(x.copy(), k)
    k[7] = bad
    lines, first = inspect.getsourcelines(function)
    with np.errstate(all="raise"), pytest.raises(anyshape.errors.AnyshapeError, match=r"in trip 7\n") as caught:
        mine(x, k)
    assert caught.value.where.line == first + next(n for n, text in enumerate(lines) if "# refused" in text)
    assert x.tolist() == [1.0] * 9 and states(mine) == ["compiled"]
    k[7] = 2
    assert_same(outcome(mine, x.copy(), k), outcome(function, x.copy(), k), 1e-12)


def decayed(x):
    return anyshape.scan(lambda c, y: (c * 0.9 + y, c - y), 0.5, x, reverse=True)


def test_many_iterations_run_in_blocks_in_their_order(served, monkeypatch):
    monkeypatch.setattr(nest_source, "TRIPS", 4)
    monkeypatch.setattr(nests, "nest_of", nests.nest_of.__wrapped__)
    checked(decayed, [(vector(n),) for n in (11, 8, 3, 0)])
    assert served and all(served)


def widening(x):
    """Pieces that differ in length, whose slopes a reverse loop collects from the last."""
    t = x * 0
    for i in range(x.shape[0]):
        t[:i] = np.sin(t[:i] + x[i]) * x[:i]
        t[i] = x[i]
    return t


def test_pieces_that_a_reverse_loop_adds_are_moved_when_their_memory_grows(served):
    checked(slopes(slopes(widening)), [(vector(60),)])
    assert served and all(served)


def restored(x):
    """Positions that a trip changes, at which slopes are added: the reverse loop puts them back meanwhile."""
    b, m, q = x * 1, x * 1, np.arange(x.shape[0])[::-1].copy()
    for i in range(x.shape[0]):
        q[i] = 0
        b = b * 0.5 + b[q]
        m[q[i // 2]] = x[i] * 0.5
    return b, m


def test_positions_of_a_sum_are_read_before_they_are_put_back(served):
    checked(slopes(restored), [(vector(3),)])
    assert served and all(served)


def endless(x):
    while x > -1:
        x = x * 0.5
    return x


def stopped(*_):
    raise KeyboardInterrupt


def test_an_endless_loop_is_interrupted():
    mine = compiled(endless)
    assert mine(-2.0) == -2.0 and states(mine) == ["compiled"]
    before = signal.signal(signal.SIGALRM, stopped)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            mine(2.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert mine(-3.0) == -3.0


PLANTED = {
    "a reversed view is not turned": (nest_rules.RULES, mv.rev_op, lambda site, x: x),
    "values are not kept before a write": (nest_source._Body, "_preserve", lambda body, x, buffer: None),
    "a carry is what it was": (nest_source._Loop, "_advance", lambda loop, carries, results: {}),
    "a branch has the first examples": (
        nest_branches,
        "_chosen",
        lambda x, rows, count: derived(x, (count, *x.dims[1:]), x.at),
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_the_sweep_finds_planted_bugs(bug, monkeypatch):
    target, name, wrong = PLANTED[bug]
    monkeypatch.setattr(nests, "nest_of", nests.nest_of.__wrapped__)
    (monkeypatch.setitem if isinstance(target, dict) else monkeypatch.setattr)(target, name, wrong)
    failures = []
    for function in (shifts, turns, tables, WAYS["vmap"](chosen)):
        try:
            checked(function, [(vector(5),)])
        except AssertionError as error:
            failures.append(error)
    assert failures


def test_blas_computes_large_products_of_a_nest(served):
    def powers(w, h):
        for _ in range(w.shape[0] // 2 + 17):
            h = np.tanh(w @ h)
        return h

    function = jit(powers, compile="wait")
    for size in (4, 60, 52, 4):
        w, h = 0.5 * np.eye(size) + 0.01, np.ones((size, size + 1))[:, ::-1] * np.arange(size + 1)
        np.testing.assert_allclose(function(w, h), powers(w, h), rtol=1e-12)
    assert served == [True] * 4 and states(function) == ["compiled"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize(
    "product",
    [
        lambda w, h: w @ h, lambda w, h: h.T @ w.T, lambda w, h: (w @ h[:, 0])[:, None] + h * 0.5,
        lambda w, h: h[0] @ h.T @ w + h[:, :1].T, lambda w, h: np.tensordot(w, h, ((0,), (0,))),
        lambda w, h: np.einsum("bij,bjk->bik", np.stack([w, w.T]), np.stack([h, h * 2])).sum(0),
    ],
    ids=["matrices", "transposed", "vector", "row", "columns", "stacks"],
)  # fmt: skip
def test_large_products_are_those_of_numpy(product, dtype, served):
    def steps(w, h):
        total = np.zeros(product(w, h).shape, w.dtype)
        for _ in range(w.shape[0] - w.shape[0] // 4):
            total = total * 0.5 + product(w, h + total.sum() * 1e-6)
        return total

    rng = np.random.default_rng(0)
    inputs = [tuple(rng.normal(size=(2, n, n)).astype(dtype) / (n or 1)) for n in (3, 70, 0, 1)]
    checked(steps, inputs, 1e-4 if dtype == "float32" else 1e-11)
    assert served and all(served)


@pytest.mark.parametrize("reverse", [False, True])
def test_trips_read_rows_where_they_stand(reverse, served):
    """Trips change copies, where a carry is a row, and where they write to a row."""

    def step(carry, row):
        return row, (carry @ row, (row @ row.T) @ carry, row.at[0].set(carry[0] * 2) if len(row) else row)

    function = jit(lambda c, xs: anyshape.scan(step, c, xs, reverse=reverse), compile="wait")
    rng = np.random.default_rng(0)
    for trips, n in ((5, 3), (4, 80), (0, 2), (3, 0), (2, 1)):
        c, xs = rng.normal(size=(n, n)), rng.normal(size=(trips, n, n))
        before, expected, columns = xs.copy(), c, []
        for x in xs[::-1] if reverse else xs:
            last = np.concatenate([expected[:1] * 2, x[1:]])
            columns.append((expected @ x, x @ x.T @ expected, last))
            expected = x
        end, stacks = function(c, xs)
        np.testing.assert_array_equal(end, expected)
        np.testing.assert_array_equal(xs, before)
        for k, y in enumerate(stacks):
            own = [column[k] for column in (columns[::-1] if reverse else columns)]
            np.testing.assert_allclose(y, np.reshape(own, (trips, n, n)), rtol=1e-11, atol=1e-12)
    assert served and all(served)


def test_sums_with_zeros_have_the_sign_of_zero_of_numpy():
    def added(x):
        c = -0.0 * np.abs(x)
        for _ in range(x.shape[0]):
            c = np.pad(c[1:-1], 1) + (c + np.zeros(x.shape)) * -1.0
        return c

    x = np.linspace(-1.0, 1.0, 21)
    np.testing.assert_array_equal(np.signbit(jit(added, compile="wait")(x)), np.signbit(added(x)))


@pytest.mark.parametrize("dtype", ["complex64", "float64"])
def test_zeros_around_a_window_are_added_as_numpy_adds_them(dtype, served):
    def padded(m):
        out = np.zeros(m.shape, m.dtype)
        for i in range(m.shape[0]):
            out[i] = m[i] + np.pad(m[i, 1:-1, 2:], ((1, 1), (1, 1)))
        return out

    rng = np.random.default_rng(1)
    program = jit(padded, compile="wait", optimize="now")
    for shape in ((2, 2, 2), (3, 3, 5), (2, 9, 4)):
        x = np.empty(shape, dtype)
        for part in (x.real, x.imag) if x.dtype.kind == "c" else (x,):
            part[...] = rng.choice([-0.0, -0.0, -0.0, 0.0, -1.0], shape)
        assert program(x).tobytes() == padded(x).tobytes()
    assert served and all(served)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_of_rows_are_nan_where_an_element_is(dtype, served):
    """Rows are reduced with vectors, whose lanes are joined: each position has its NaN."""

    def extremes(m):
        top = low = np.zeros(m.shape[1:2], m.dtype)
        for i in range(m.shape[0]):
            top, low = top + m[i].max(axis=1), low - m[i].min(axis=1)
        return top, low

    program = jit(extremes, compile="wait", optimize="now")
    for n in (1, 7, 40):
        m = np.random.default_rng(n).normal(size=(2, n + 1, n)).astype(dtype)
        m[1, range(n), range(n)] = np.nan
        for ours, expected in zip(program(m), extremes(m), strict=True):
            np.testing.assert_array_equal(ours, expected)
            assert np.isnan(ours).tolist() == [True] * n + [False]
    assert served and all(served)


def test_sums_of_columns_keep_what_additions_lose(served):
    """Sums along the first axis lose no more digits than others, of more columns and rows than a block has."""

    def sums(m):
        total = np.zeros(m.shape[2:])
        for i in range(m.shape[0]):
            total = total + m[i].sum(axis=0)
        return total

    m = np.random.default_rng(0).normal(size=(2, 3000, 2, 130)) + 1e6
    exact = m.astype(np.longdouble).sum(axis=(0, 1)).astype(float)
    np.testing.assert_allclose(jit(sums, compile="wait")(m), exact, rtol=1e-15)
    assert served == [True]


def test_extremes_and_pieces_are_those_of_numpy(served):
    """Extremes of rows and columns, longer and shorter than vectors, and arrays of pieces along either axis."""

    def extremes(m):
        total = m[0, 0, 0] * 0.0
        for i in range(m.shape[0]):
            x = m[i]
            wide = np.concatenate([x, x[:, ::-1] * 2, np.ones((x.shape[0], 1))], axis=1)
            tall = np.concatenate([np.tanh(wide), wide[1:] + 1])
            edges = tall.max(0).sum() - tall.min(1).sum() + tall.max() * wide.min()
            total = total + edges + (tall.max(1) @ tall).sum()
        return total

    fast = jit(extremes, compile="wait")
    for dtype, places in ((np.float64, 12), (np.float32, 4)):
        for shape in ((2, 3, 1), (1, 40, 5), (2, 9, 37), (1, 33, 32)):
            m = np.random.default_rng(shape[1]).normal(size=shape).astype(dtype)
            np.testing.assert_allclose(fast(m), extremes(m.astype(float)), rtol=10.0**-places * 20)
            m[-1, -1, 0] = np.nan
            assert np.isnan(fast(m))
    assert all(served)


@pytest.fixture
def started(monkeypatch, tmp_path):
    """List of the texts that a compiler is started on, with no object in the cache."""
    texts, start = [], toolchain._start
    monkeypatch.setenv("ANYSHAPE_KERNEL_CACHE", str(tmp_path))
    monkeypatch.setattr(toolchain, "_start", lambda text, *rest: texts.append(text) or start(text, *rest))
    monkeypatch.setattr(nests, "_BUILT", {})
    monkeypatch.setattr(nests, "nest_of", nests.nest_of.__wrapped__)
    return texts


def swept(x):
    """Two loops, one in the other, between steps on whole arrays."""
    c = np.tanh(x) * np.exp(-x) + 1.0
    for i in range(1, x.shape[0]):
        for j in range(1, x.shape[0]):
            c[j] = 0.2 * np.cos(c[j - 1]) * c[j] + 0.1 * c[i]
        c[1:] = 0.2 * c[1:] * np.sin(c[:-1]) + 0.1 * c[i]
    return np.sum(np.sin(c) * np.exp(-c) + x)


@pytest.mark.parametrize("way", [lambda f: f, grad, anyshape.value_and_grad])
def test_one_run_of_the_compiler_builds_a_program_for_all_sizes(way, started):
    mine, theirs = jit(way(swept), compile="wait"), jit(way(swept), compile="off")
    for n in (9, 9, 2, 30):
        assert_same(outcome(mine, vector(n)), outcome(theirs, vector(n)), 1e-12)
        assert len(started) == 1
    assert {*states(mine)} == {"compiled"} and started[0].count("int64_t nest_") == len(states(mine))


@pytest.mark.slow
def test_a_nest_that_the_compiler_refuses_leaves_the_others_compiled(started, monkeypatch):
    written = nests.Nest.write

    def refused(op, params, metas, results):
        nest = written(op, params, metas, results)
        return dataclasses.replace(nest, text=f"#error refused\n{nest.text}") if params.get("reverse") else nest

    monkeypatch.setattr(nests.Nest, "write", staticmethod(refused))
    mine, theirs = jit(grad(swept), compile="wait"), jit(grad(swept), compile="off")
    assert_same(outcome(mine, vector(9)), outcome(theirs, vector(9)), 1e-12)
    assert {state[:6] for state in states(mine)} == {"NumPy:", "compil"}
    assert "loops: NumPy: " in str(mine.explain()) and "refused" in str(mine.explain())


def test_explain_tells_the_lines_of_loops_and_of_what_leaves_them_to_numpy():
    def two(x):
        total = 0.0
        for i in range(x.shape[0]):
            total = total + np.sin(x[i]) * total
        for i in range(x.shape[0]):
            anyshape.debug.callback(lambda v: None, x[i])
            total = total * x[i]
        return total

    mine, first = jit(two, compile="wait"), two.__code__.co_firstlineno
    mine(vector(5))
    assert mine.programs()[0].kernels == (
        f"1 of 2 loops: compiled (test_nests.py:{first + 2})",
        f"1 of 2 loops: NumPy: effect has no statement in C at test_nests.py:{first + 5} (test_nests.py:{first + 4})",
    )


def test_numpy_runs_the_calls_whose_iterations_make_values_far_larger_than_they_read():
    def repelled(x):
        for _ in range(20):
            away = x[:, None] - x
            x = x + 0.1 * (away / (away * away + 1.0)).sum(1)
        return x

    mine, large = jit(repelled, compile="wait"), "NumPy: an iteration makes values so large"
    for n, served in (20, "compiled"), (1000, large), (2, "compiled"), (0, "compiled"):
        x = np.linspace(0.0, 1.0, n)
        np.testing.assert_allclose(mine(x), repelled(x), 1e-12)
        assert [state.startswith(served) for state in states(mine)] == [True]


def test_explain_tells_that_a_limit_of_memory_leaves_loops_to_numpy():
    mine = jit(swept, compile="wait", max_bytes=1 << 20)
    mine(vector(5))
    line = f"test_nests.py:{swept.__code__.co_firstlineno + 3}"
    assert mine.programs()[0].kernels == (f"1 of 1 loops: NumPy: max_bytes limits the memory of a call ({line})",)
    assert mine.programs()[0].kernels[0] in str(mine.explain())


def test_explain_counts_the_plan_that_runs():
    def large(x):  # has values of sizes alone; where they are too large to be cached, another plan runs
        for i in range(1, x.shape[0]):
            x[i] += np.cos(x[i - 1]).sum() * x[i]
        return np.sum(np.cos(np.arange(x.size, like=x).reshape(x.shape)) * x * 0.5)

    mine = jit(lambda x: large(x.copy()), compile="wait")
    for rows in (3, 700):
        mine(np.ones((rows, 1000)))
        assert all(line.split()[0] == line.split()[2] and "compiled" in line for line in mine.programs()[0].kernels)


@pytest.mark.parametrize("chunks", [False, True])
def test_loops_of_programs_in_files_and_of_chunks_are_built_where_they_run(chunks, started, tmp_path, monkeypatch):
    step, x = anyshape.value_and_grad(swept), vector(9)
    expected = outcome(jit(step, compile="off"), x)
    if chunks:
        run = anyshape.cluster.chunked_sum(jit(step, compile="wait"), over="x", executor=anyshape.cluster.Threads(2))
        assert_same(outcome(run, [x]), expected, 1e-12)
    else:
        made = jit(step, compile="off")
        made(x)
        made.programs()[0].save(tmp_path / "program")
        assert not started
        monkeypatch.setattr(anyshape.config, "compile", "wait")
        loaded = anyshape.load(tmp_path / "program")
        assert_same(outcome(loaded, x), expected, 1e-12)
        assert any("loops: compiled" in line for line in loaded.kernels)
    assert len(started) == 1


def test_what_one_example_raises_in_a_branch_is_raised(served):
    def limited(x):
        total = 0.0
        for i in range(x.shape[0]):
            if x[i] > 0:
                if x[i] > 5:
                    raise ValueError("large")
                total = total + np.sin(x[i])
        return total

    xs = vector(12).reshape(2, 6)
    mine = checked(vmap(limited), [(xs,), (xs + 5,)])
    assert states(mine) == ["compiled"] and served == [True, False]


def test_large_arrays_count_for_what_they_take(monkeypatch):
    monkeypatch.setattr(automatic, "after", 1.0)
    monkeypatch.setattr(nests.NestLibrary, "poll", lambda library, **options: None)

    def damped(x, m):
        c = x * 1.0
        for i in range(m.shape[0]):
            c = np.exp(-c) * m[i]
        return c

    few, many = jit(damped, compile="auto"), jit(damped, compile="auto")
    few(np.ones(1_000), np.ones(80))
    many(np.ones(1_000_000), np.ones(80))
    assert "too short" in states(few)[0] and states(many)[0] == "waiting"


def test_memory_that_another_operand_holds_is_copied():
    def turned(x):
        c, backwards = x * 1, np.arange(x.shape[0])[::-1]
        for i in range(x.shape[0]):
            c = c * x[i] + 1
            c[backwards] = anyshape.stop_gradient(c)
        return c

    x, function = np.arange(1.0, 6), compiled(turned)
    expected = x
    for number in x:
        expected = (expected * number + 1)[::-1]
    np.testing.assert_array_equal(function(x), expected)
    assert states(function) == ["compiled"]


def test_slices_of_matrices_are_multiplied_by_vectors_without_a_copy(started):
    """Above the size from which on BLAS multiplies whole matrices by vectors."""

    def covariances(x):
        c = np.zeros((x.shape[1], x.shape[1]))
        for i in range(x.shape[1]):
            c[i:, i] = x[:, i] @ x[:, i:]
            c[i, i:] = x[:, i:].T @ x[:, i]
        return c

    ours = jit(covariances, compile="wait")
    slope = jit(grad(lambda x: np.sum(covariances(x) ** 2)), compile="wait")
    for shape in ((90, 80), (3, 4), (300, 40), (0, 2), (2, 1)):
        x = np.random.default_rng(0).normal(size=shape)
        np.testing.assert_allclose(ours(x), x.T @ x, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(slope(x), 4 * x @ (x.T @ x), rtol=1e-11, atol=1e-9)
    assert {*states(ours)} == {"compiled"} and "as_loop(links" not in started[0]
