"""Loops: values, types of carries, sizes, errors, and everything that a program with one can do.

Many cases re-express JAX's `lax_control_flow_test` and equinox's `test_while_loop`.
"""

import pickle
import signal
from collections import OrderedDict, namedtuple

import numpy as np
import optree
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anyshape
from anyshape import fori_loop, grad, jit, scan, trace, vmap, while_loop
from anyshape.errors import (
    ArgumentError,
    CarryMismatchError,
    CheckError,
    RaggedBatchError,
    ShapeError,
    SizeMismatchError,
)
from tests.transforms.control_flow import plain_loops

WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
Pair = namedtuple("Pair", "x y")
V = np.arange(1.0, 4)

# -- carries


@WRAPS
@pytest.mark.parametrize("step", [
    lambda c: (c[1], c[0]), lambda c: (c[0], c[0]), lambda c: (c[0], c[1] + 1), lambda c: (c[1] * 1.5, c[0] * 2 + c[1]),
    lambda c: c,
], ids=["swap", "twice", "one stays", "both change", "all stay"])  # fmt: skip
def test_carries_that_share_an_array_are_not_shared_with_the_caller(wrap, step):
    f = wrap(lambda a: fori_loop(0, 3, lambda i, c: step(c), (a, a)))
    x = V.copy()
    first, second = f(x)
    expected = plain_loops.fori_loop(0, 3, lambda i, c: step(c), (V, V))
    np.testing.assert_array_equal(first, expected[0])
    np.testing.assert_array_equal(second, expected[1])
    first[0] = 99
    np.testing.assert_array_equal(x, V)
    np.testing.assert_array_equal(second, expected[1])


def test_stacked_carries_keep_their_values():
    f = lambda loops, a: loops.scan(lambda c, _: (c + a, (c, c)), a, None, 3)
    for optimize in ("now", "off"):
        last, (first, second) = jit(lambda a: f(anyshape, a), optimize=optimize)(V)
        expected, (ys, _) = f(plain_loops, V)
        np.testing.assert_array_equal(last, expected)
        np.testing.assert_array_equal(first, ys)
        np.testing.assert_array_equal(second, ys)


@WRAPS
@pytest.mark.parametrize(("init", "step"), [
    (lambda a: {"a": a, "b": -a}, lambda c: {"b": c["a"], "a": c["b"] * 2}),
    (lambda a: OrderedDict(a=a, b=-a), lambda c: OrderedDict(b=c["a"], a=c["b"] * 2)),
    (lambda a: Pair(a, -a), lambda c: Pair(c.y * 2, c.x)),
    (lambda a: [a, (None, -a)], lambda c: [c[1][1] * 2, (None, c[0])]),
], ids=["dict", "ordered", "namedtuple", "nested"])  # fmt: skip
def test_trees(wrap, init, step):
    result = wrap(lambda a: fori_loop(0, 3, lambda i, c: step(c), init(a)))(V)
    expected = plain_loops.fori_loop(0, 3, lambda i, c: step(c), init(V))
    assert type(result) is type(expected)
    if isinstance(expected, dict):
        assert list(result) == list(init(V))
        result, expected = dict(result), dict(expected)
    for a, b in zip(optree.tree_leaves(result), optree.tree_leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)


@WRAPS
def test_carries_without_arrays(wrap):
    assert wrap(lambda x: fori_loop(0, 3, lambda i, c: c, None))(1.0) is None
    assert wrap(lambda x: scan(lambda c, v: (c, None), None, x))(V) == (None, None)
    checking = wrap(lambda x: scan(lambda c, v: (c, anyshape.check(v < 3, "v is small")), None, x))
    assert checking(V[:2]) == (None, None)
    with pytest.raises(CheckError, match="v is small"):
        checking(V)


@WRAPS
@pytest.mark.parametrize(("init", "step", "dtype"), [
    (0.0, lambda c, v: c + v, np.float32), (1, lambda c, v: c * v, np.float32), (1, lambda c, v: c / 2, float),
    (1.0, lambda c, v: c * 1j, complex), (True, lambda c, v: c + 1, int), (np.int8(100), lambda c, v: c + c, np.int8),
    (0, lambda c, v: c + 1, int), (np.float32(1), lambda c, v: c * 2, np.float32),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_promote_as_in_numpy(wrap, init, step, dtype):
    xs = np.ones(3, np.float32)
    result, _ = wrap(lambda xs: scan(lambda c, v: (step(c, v), None), init, xs))(xs)
    expected, _ = plain_loops.scan(lambda c, v: (step(c, v), None), init, xs)
    assert np.asarray(result).dtype == dtype
    assert result == expected


@WRAPS
@pytest.mark.parametrize("upper", [5, np.int32(5), np.int8(5), np.uint64(5)])
@pytest.mark.parametrize("start", [np.float32(1), np.zeros(2, np.float32), np.zeros(2, np.int8), np.int32(0), 0, 0.0])
def test_a_counter_promotes_as_that_of_range(wrap, upper, start):
    result = wrap(lambda n: fori_loop(-300, n, lambda i, c: c + i % 7, start))(upper)
    expected = plain_loops.fori_loop(-300, int(upper), lambda i, c: c + i % 7, start)
    assert np.asarray(result).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(result, expected)


# -- sizes and trips


def test_functions_close_over_values_of_two_levels():
    def f(loops, x, w):
        y = np.sin(x)

        def outer(c, row):
            z = c * row
            return loops.fori_loop(0, 2, lambda i, v: v * 0.5 + z * y + w @ v, c), z

        return loops.scan(outer, x, w)

    jitted = jit(lambda x, w: f(anyshape, x, w))
    for n in (1, 3, 5):
        x, w = np.arange(n) / n, np.arange(1.0 * n * n).reshape(n, n) / n**2
        for a, b in zip(jitted(x, w), f(plain_loops, x, w), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_one_program_serves_all_sizes_and_trips():
    f = jit(lambda a, b, k: fori_loop(0, k, lambda i, c: np.tanh(a @ c + b * i), b))
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, m, k = rng.integers(0, 6, 3).tolist()
        a, b = rng.normal(size=(n, n)), rng.normal(size=(n, m))
        expected = plain_loops.fori_loop(0, k, lambda i, c, a=a, b=b: np.tanh(a @ c + b * i), b)
        np.testing.assert_allclose(f(a, b, k), expected, rtol=1e-12, atol=1e-14)
    assert len(f.programs()) == 1


def test_trips_by_data():
    f = jit(lambda n, a: scan(lambda c, _: (c * 2, c), a, None, n))
    for n in (3, 0, 5):
        last, ys = f(n, 1.0)
        assert last == 2**n
        np.testing.assert_array_equal(ys, 2.0 ** np.arange(n))
    assert len(f.programs()) == 1
    assert jit(lambda x: fori_loop(0, x[x > 1].shape[0], lambda i, c: c + 1, 0))(V) == 2
    assert jit(lambda n: fori_loop(3, n, lambda i, c: c + 1, 0))(-2) == 0


@WRAPS
def test_what_counts_as_true(wrap):
    assert wrap(lambda n: while_loop(lambda c: c, lambda c: c - 1, n))(5) == 0
    after = wrap(lambda x: while_loop(lambda c: c, lambda c: np.where(np.isnan(c), 0.0, 1.0), x))
    assert after(np.nan) == 0
    np.testing.assert_array_equal(wrap(lambda x: while_loop(lambda c: c.shape[0], lambda c: c[1:], x))(V), [])
    np.testing.assert_array_equal(wrap(lambda x: while_loop(lambda c: False, lambda c: c[1:], x))(V), V)
    assert wrap(lambda x: while_loop(lambda c: c < np.inf, lambda c: c + 1, x))(np.nan) is not None


@WRAPS
def test_sizes_that_change(wrap):
    f = lambda loops, x: loops.while_loop(
        lambda c: c[0].shape[0] < 7, lambda c: (np.concatenate([c[0], c[1][:1]]), c[1] * 2), (x, x)
    )
    shrink = lambda loops, x: loops.while_loop(lambda v: v.shape[0] > 0, lambda v: v[v > 1] - 1, x)
    for a, b in zip(wrap(lambda x: f(anyshape, x))(V), f(plain_loops, V), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(wrap(lambda x: shrink(anyshape, x))(V), [])


@pytest.mark.parametrize("shapes", [(3, 3), (1, 3), (3, 1), (1, 1), (0, 1), (1, 0), (0, 0)])
def test_carries_that_broadcast(shapes):
    a, b = np.ones(shapes[0]), np.ones(shapes[1])
    f = lambda loops, a, b: loops.fori_loop(0, 3, lambda i, c: c + b, a)
    np.testing.assert_array_equal(BROADCAST(a, b), f(plain_loops, a, b))


@pytest.mark.parametrize("wrap", [lambda f: f, jit, vmap], ids=["call", "jit", "vmap"])
def test_a_carry_and_a_row_that_do_not_broadcast_are_named_with_the_line_of_the_body(wrap):
    f = wrap(lambda c, rows: scan(lambda c, row: (c + row, None), c, rows)[0])
    with pytest.raises(
        SizeMismatchError, match=r"^c \+ row: .*\(3\) must equal .*\(2\), or one of them.*test_loops.py"
    ):
        f(np.zeros((1, 3))[slice(None) if wrap is vmap else 0], np.ones((1, 4, 2))[slice(None) if wrap is vmap else 0])


BROADCAST = jit(lambda a, b: fori_loop(0, 3, lambda i, c: c + b, a))


def test_a_carry_of_two_sizes_keeps_the_size_of_one():
    stacked = jit(lambda a, b: scan(lambda c, _: (np.sin(b), c), a * b, length=2))
    last = jit(lambda a, b, n: fori_loop(0, n, lambda i, c: np.sin(b), a * b))
    for size in 2, 5, 0, 1:
        a, b = np.full(size, 2.0), np.full(size, 0.5)
        for actual, expected in zip(stacked(a, b), (np.sin(b), np.stack([a * b, np.sin(b)])), strict=True):
            np.testing.assert_array_equal(actual, expected)
    for sizes in (2, 2), (5, 1), (1, 5), (0, 1):
        a, b = np.full(sizes[0], 2.0), np.full(sizes[1], 0.5)
        for trips in range(3):
            np.testing.assert_array_equal(last(a, b, trips), np.sin(b) if trips else a * b)
    assert (stacked.cache_info().traces, last.cache_info().traces) == (1, 2)
    with pytest.raises(ShapeError, match="axis 0 of y changes size"):
        stacked(np.ones(5), np.ones(1))


@WRAPS
def test_no_trips(wrap):
    last, (ys, zs) = wrap(lambda x: scan(lambda c, v: (c + v, (c * v, v)), x[0] if len(x) else np.zeros(2), x))(
        np.ones((0, 2))
    )
    assert last.shape == (2,)
    assert ys.shape == zs.shape == (0, 2)
    assert wrap(lambda x: anyshape.map(lambda v: v * 2, x))(np.ones((0, 3))).shape == (0, 3)
    np.testing.assert_array_equal(
        wrap(grad(lambda x: np.sum(scan(lambda c, v: (c + v, c), 0.0, x)[1])))(np.ones(0)), []
    )


# -- random bodies

UNARY = [np.sin, np.tanh, lambda x: x * x / (1 + x * x), lambda x: x + 1, lambda x: -x, np.cumsum, lambda x: x[::-1],
         lambda x: x * np.tanh(np.sum(x)), lambda x: np.exp(-x * x), lambda x: np.where(x > 0, x, 2 * x), np.cos,
         lambda x: x - np.sum(x) / 3, lambda x: np.tanh(np.outer(x, x) @ x), np.zeros_like, np.abs, lambda x: x / 2,
         lambda x: np.roll(x, 1), lambda x: np.maximum(x, 0.1), np.arctan, lambda x: np.linalg.norm(x + 2) * x / 9,
         lambda x: np.sqrt(1 + x * x), lambda x: np.log1p(x * x), lambda x: np.diff(x, append=0.5)]  # fmt: skip
chains = st.lists(st.sampled_from(range(len(UNARY))), min_size=1, max_size=4)


def random_loop(loops, first, second, x, rows, reverse):
    def step(carry, row):
        a, b = carry
        for i in first:
            a = UNARY[i](a)
        for i in second:
            b = UNARY[i](b * row)
        return (np.tanh(a + b * x), np.tanh(b)), a * row

    (a, b), ys = loops.scan(step, (x, np.cos(x)), rows, reverse=reverse)
    return np.sum(a * b) + (0 if ys is None else np.sum(ys))


def check_random_body(first, second, reverse, seed, lengths):
    loss = lambda loops: lambda x, rows: random_loop(loops, first, second, x, rows, reverse)
    f, g = jit(loss(anyshape)), jit(grad(loss(anyshape), argnums=(0, 1)))
    t = jit(lambda x, rows, v: anyshape.jvp(lambda x: loss(anyshape)(x, rows), (x,), (v,))[1])
    rng = np.random.default_rng(seed)
    for length in lengths:
        x, rows, v = rng.normal(size=3), rng.normal(size=(length, 3)), rng.normal(size=3)
        np.testing.assert_allclose(f(x, rows), loss(plain_loops)(x, rows), rtol=1e-9, atol=1e-11)
        gx, gr = g(x, rows)
        assert gr.shape == rows.shape
        np.testing.assert_allclose(gx @ v, t(x, rows, v), rtol=1e-7, atol=1e-9)
        if length and not {9, 14, 17}.intersection([*first, *second]):  # kinks have no differences
            shift = lambda h, x=x, rows=rows: loss(plain_loops)(x, rows + h * np.cos(rows))
            np.testing.assert_allclose(
                np.sum(gr * np.cos(rows)), (shift(1e-6) - shift(-1e-6)) / 2e-6, rtol=1e-4, atol=1e-5
            )


quiet = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@given(first=chains, second=chains, reverse=st.booleans(), seed=st.integers(0, 999))
@settings(max_examples=6, **quiet)
def test_random_bodies(first, second, reverse, seed):
    check_random_body(first, second, reverse, seed, (0, 1, 4))


@pytest.mark.slow
@given(first=chains, second=chains, reverse=st.booleans(), seed=st.integers(0, 999))
@settings(max_examples=200, **quiet)
def test_many_random_bodies(first, second, reverse, seed):
    check_random_body(first, second, reverse, seed, (0, 1, 2, 5, 12))


# -- batches


def test_a_batched_loop_does_the_work_of_live_examples():
    rows = []

    def noted(v):
        rows.append(len(v))
        return v * 1.0

    def f(n):
        one = lambda y: anyshape.pure_callback(noted, anyshape.ShapeDtypeStruct(()), y, vectorized=True) + 1
        return while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, one(c[1])), (0, n * 0.0))[1]

    trips = np.linspace(1, 1000, 256).astype(int)
    np.testing.assert_array_equal(jit(vmap(f))(trips), trips)
    assert sum(rows) <= 1.05 * np.sum(trips)


def test_examples_of_different_sizes_are_refused():
    f = vmap(lambda x: while_loop(lambda v: v.shape[0] < np.sum(x), lambda v: np.concatenate([v, v]), x))
    with pytest.raises(RaggedBatchError, match="vmap needs one size for all examples, and here each has its own"):
        trace(f)(np.ones((2, 3)))
    assert jit(f)(np.ones((2, 3))).shape == (2, 3)


# -- everywhere


def test_programs_travel(tmp_path):
    f = lambda x: np.sum(while_loop(lambda c: np.sum(c * c) < 9, lambda c: c * 1.3 + np.sin(x), x))
    program = anyshape.trace(lambda x: grad(f)(x))(anyshape.ShapeDtypeStruct("n"))
    program.save(tmp_path / "program.anyshape")
    for other in (anyshape.load(tmp_path / "program.anyshape"), pickle.loads(pickle.dumps(program))):
        np.testing.assert_array_equal(other(V / 10), program(V / 10))
        xs = np.stack([V / 10, V / 5])
        np.testing.assert_allclose(jit(vmap(other))(xs), [program(x) for x in xs], rtol=1e-12)


@pytest.mark.parametrize("run", [
    lambda: ENDLESS(1.0), lambda: while_loop(lambda c: c > 0, lambda c: c * 1.0, 1.0),
    lambda: jit(vmap(ENDLESS))(np.array([1.0, -1])),
], ids=["jit", "eager", "vmap"])  # fmt: skip
def test_an_endless_loop_can_be_interrupted(run):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ENDLESS(-1.0) == -1
    assert jit(lambda x: x + 1)(1.0) == 2


ENDLESS = jit(lambda x: while_loop(lambda c: c > 0, lambda c: c * 1.0, x))


# -- errors


def test_a_body_that_raises_in_one_trip_leaves_nothing_behind():
    def callback(k):
        if k == 7:
            raise ValueError("seven")
        return k * 1.0

    called = jit(
        lambda n: fori_loop(
            0, n, lambda i, c: c + anyshape.pure_callback(callback, anyshape.ShapeDtypeStruct(()), i), 0.0
        )
    )
    with pytest.raises(ValueError, match="seven"):
        called(10)
    assert called(5) == 10
    indexed = jit(lambda n, v: fori_loop(0, n, lambda i, c: c + v[i], 0.0))
    with pytest.raises(IndexError, match=r"v\[i\]: index 7 is out of bounds for axis 0 with size 7 at test_loops.py"):
        indexed(10, np.ones(7))
    assert indexed(5, np.ones(7)) == 5

    def broken(i, c):
        raise ValueError("mine")

    for wrap in (lambda f: f, jit):
        with pytest.raises(ValueError, match="mine"):
            wrap(lambda x: fori_loop(0, 3, broken, x))(1.0)
    assert jit(lambda x: fori_loop(0, 2, lambda i, c: c * 2, x))(1.0) == 4


@WRAPS
@pytest.mark.parametrize(("step", "init", "text"), [
    (lambda c: (c, c), V, r"takes carry as \*, and gives \(\*, \*\)"),
    (lambda c: {"b": c["a"]}, {"a": V}, r"takes carry as {'a': \*}, and gives {'b': \*}"),
    (lambda c: (c[1], c[0]), [V, V], r"takes carry as \[\*, \*\], and gives \(\*, \*\)"),
    (lambda c: np.sum(c), V, r"gives f64\[\] at test_loops.py:\d+\n  return a carry with the same number of axes"),
    (lambda c: c[1], (V, V), r"takes carry as \(\*, \*\), and gives \*"),
    (lambda c: c * 1.5, np.arange(3), r"takes carry as i64.*, and gives f64.*\n  convert one of them with astype"),
    (lambda c: {"k": c["k"].astype(np.float32)}, {"k": V}, r"takes carry\['k'\] as f64.*, and gives f32"),
    (lambda c: c * 1j, V, r"takes carry as f64.*, and gives c128"),
])  # fmt: skip
def test_a_carry_that_changes_type_is_refused(wrap, step, init, text):
    for name, loop in (
        ("fori_loop", lambda c: fori_loop(0, 3, lambda i, c: step(c), c)),
        ("while_loop", lambda c: while_loop(lambda c: True, lambda c: step(c), c)),
        ("scan", lambda c: scan(lambda c, _: (step(c), None), c, None, 3)),
    ):
        with pytest.raises(CarryMismatchError, match=text) as error:
            wrap(lambda c, loop=loop: loop(c))(init)
        assert str(error.value).startswith(name)
        assert isinstance(error.value, TypeError)


ONE_BOOLEAN = r"while_loop.*: the result of cond_fun is .*, not one boolean.*\n  reduce it with np.all or np.any"
IN_ORDER = r"write while_loop\(cond_fun, body_fun, init_val\)"
FOR_EVER = "the result of cond_fun reads nothing that body_fun changes"
BAD = {
    "a vector": (lambda x: while_loop(lambda c: c < 5, lambda c: c + 1, x), ONE_BOOLEAN),
    "text": (lambda x: while_loop(lambda c: "yes", lambda c: c + 1, x), ONE_BOOLEAN),
    "None": (lambda x: while_loop(lambda c: None, lambda c: c + 1, x), ONE_BOOLEAN),
    "complex": (lambda x: while_loop(lambda c: 1j * c[0], lambda c: c + 1, x), ONE_BOOLEAN),
    "swapped": (lambda x: while_loop(lambda c: c + 1, lambda c: c < 10, 0.0), IN_ORDER),
    "swapped vectors": (lambda x: while_loop(lambda c: c / 2, lambda c: c.sum() > 1, x), IN_ORDER),
    "swapped pairs": (lambda x: while_loop(lambda c: (c[0] + 1, c[1]), lambda c: c[0] < 9, (0, x)), IN_ORDER),
    "for ever": (lambda x: while_loop(lambda c: np.sum(x) > 0, lambda c: c * 2, x), FOR_EVER),
    "of a constant": (lambda x: while_loop(lambda c: True, lambda c: c * 2, x), FOR_EVER),
    "of what stays": (lambda x: while_loop(lambda c: c[0] < 9, lambda c: (c[0], c[1] + 1), (0, x)), FOR_EVER),
    "of a size": (lambda x: while_loop(lambda c: c.shape[0] > 1, lambda c: c * 2, x), FOR_EVER),
    "scan, the function second": (lambda x: scan(0.0, lambda c, v: (c, v), x), r"\n  write scan\(f, init, xs"),
    "fori_loop, the function last": (
        lambda x: fori_loop(0, 3, x, lambda i, c: c),
        r"\n  write fori_loop\(lower, upper",
    ),
    "map, the array first": (lambda x: anyshape.map(x, np.sin), r"\n  write map\(f, xs\)"),
    "no pair": (
        lambda x: scan(lambda c, v: c + v, 0.0, x),
        "the result of f is one array, not a pair.*\n  return the",
    ),
    "three": (lambda x: scan(lambda c, v: (c, v, v), 0.0, x), "the result of f has 3 entries, not two"),
    "no length": (lambda x: scan(lambda c, v: (c, v), x), "length is None, and there are no xs.*\n  pass xs or"),
    "scalar xs": (lambda x: scan(lambda c, v: (c, v), 0.0, {"k": (x, 1.0)}), r"xs\['k'\]\[1\] is a scalar, without"),
    "mapped scalar": (lambda x: anyshape.map(lambda v: v, np.sum(x)), "is a scalar, without an axis to scan along"),
    "an object": (
        lambda x: while_loop(lambda c: c, lambda c: c, {"a": object()}),
        r"init_val\['a'\] is of type object",
    ),
    "text as xs": (
        lambda x: scan(lambda c, v: (c, v), 0.0, [object()]),
        r"scan.*: xs\[0\] is of type object, not an array",
    ),
    "a float": (lambda x: fori_loop(0, 2.0, lambda i, c: c, 0.0), "fori_loop.*: upper is 2.0, not one integer"),
    "text as bound": (lambda x: fori_loop("0", 2, lambda i, c: c, 0.0), "fori_loop.*: lower is '0', not one integer"),
    "no unroll": (
        lambda x: scan(lambda c, v: (c, v), 0.0, x, unroll=-1),
        "scan.*: unroll is -1.*\n  give a bool, or an int",
    ),
    "no function": (lambda x: scan(1, 0.0, x), "scan.*: f is of type int, not a function"),
    "no body": (lambda x: fori_loop(0, 3, None, x), "fori_loop.*: body_fun is of type NoneType, not a function"),
    "no condition": (
        lambda x: while_loop(None, lambda c: c, x),
        "while_loop.*: cond_fun is of type NoneType, not a function",
    ),
    "nothing to map": (lambda x: anyshape.map(3, x), "map.*: f is of type int, not a function"),
}


@WRAPS
@pytest.mark.parametrize(("call", "text"), BAD.values(), ids=BAD)
def test_arguments_that_are_refused(wrap, call, text):
    with pytest.raises(ArgumentError, match=text):
        wrap(lambda x: call(x))(V)


@WRAPS
def test_lengths_that_are_refused(wrap):
    with pytest.raises(ShapeError, match="a size cannot be negative"):
        wrap(lambda x: scan(lambda c, v: (c, v), x, None, -1))(V)
    with pytest.raises(TypeError, match=r"2\.5 is not an integer"):
        wrap(lambda x: scan(lambda c, v: (c, v), x, None, 2.5))(V)
    with pytest.raises(SizeMismatchError, match=r"shape\[0\] \(2\) must equal .*shape\[0\] \(3\)"):
        wrap(lambda x, y: scan(lambda c, v: (c, v), 0.0, (x, y)))(V, V[:2])
    for length in (2, 4):
        with pytest.raises(SizeMismatchError, match=rf"shape\[0\] \(3\) must equal {length}"):
            wrap(lambda x, length=length: scan(lambda c, v: (c, v), 0.0, x, length))(V)
    np.testing.assert_array_equal(wrap(lambda x: scan(lambda c, v: (c, v), 0.0, x, x.shape[0])[1])(V), V)


@WRAPS
def test_results_of_trips_have_one_size(wrap):
    text = r"results of trips are stacked, and axis 0 of y.* changes size at test_loops.py"
    with pytest.raises(ShapeError, match=text):
        wrap(lambda x: scan(lambda c, v: (np.concatenate([c, c]), c), x, x))(V)
    with pytest.raises(ShapeError, match=text):
        wrap(lambda x: scan(lambda c, v: (c, v[v > 0]), 0.0, x))(np.ones((2, 2)))
    last, ys = wrap(lambda x: scan(lambda c, v: (np.concatenate([c, c]), x * v), x, x))(V)
    assert last.shape == (24,)
    np.testing.assert_array_equal(ys, np.outer(V, V))


@pytest.mark.parametrize("unroll", [False, True, 0, 1, 3])
def test_unroll_changes_nothing(unroll):
    last, rows = jit(lambda xs: scan(lambda c, x: (c + x, c * x), 1.0, xs, unroll=unroll))(np.arange(4.0))
    assert last == 7
    np.testing.assert_array_equal(rows, [0, 1, 4, 12])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x,) if x > 0 else x,
        lambda x: {"a": x} if x > 0 else {"b": x},
        lambda x: None if x > 0 else x,
    ],
)
def test_a_map_refuses_results_of_several_structures(f):
    for order in (1, -1):
        with pytest.raises(anyshape.errors.ArgumentError, match="in iteration 1"):
            anyshape.map(f, np.array([1.0, -1.0])[::order])
