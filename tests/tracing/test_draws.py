"""Functions that draw random numbers or take items of iterators while traced are refused, and change nothing."""

import contextlib
import itertools
import random
import sys
import threading
import time
from concurrent import futures

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, export, grad, hessian, jit, jvp, linearize, pure_callback, vmap
from anyshape.errors import FrozenDrawError
from anyshape.tracing.draws import refuse_draws, streams

X = np.arange(3.0)
pytestmark = pytest.mark.usefixtures("as_written")  # functions that are read draw from `numpy.random` in each call
BIT_GENERATORS = ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]


def new(name, seed=0):
    return np.random.Generator(getattr(np.random, name)(seed))


class Model:
    """Holds a generator of Python deep inside."""

    def __init__(self):
        self.parts = [{"noise": random.Random(2)}]

    def deep(self, x):
        return self._help(x) * 2

    def _help(self, x):
        return x + self.parts[0]["noise"].random()


class Own(random.Random):
    """Generator of a user's own class."""


def closure(thing, use):
    return lambda x: x * use(thing)


def draws_in_order(x):
    with np.errstate(all="ignore"):
        values = [np.random.uniform() for _ in range(3)]
    return x * sum(values)


IN_A_SET = lambda rngs: next(iter(rngs)).normal()  # where nothing can stand for a generator
CASES = {
    "global": (lambda x: x + np.random.normal(size=3), "np.random.normal(size=3)"),
    "global, one normal number": (lambda x: x * np.random.normal(), "np.random.normal()"),
    "global, permutation": (lambda x: x[np.random.permutation(3)], "np.random.permutation(3)"),
    "global, seed": (lambda x: (np.random.seed(0), x)[1], "np.random.seed(0)"),
    "global, in a loop": (draws_in_order, "np.random.uniform()"),
    "random": (lambda x: x * random.random(), "random.random()"),
    "random, gauss": (lambda x: x * random.gauss(0, 1), "random.gauss(0, 1)"),
    "random, shuffle": (lambda x: x * random.sample([1, 2, 3], 2)[0], "random.sample([1, 2, 3], 2)"),
    "container of an attribute": (Model().deep, "self.parts[0]['noise'].random()"),
    "Random": (closure(random.Random(0), lambda rng: rng.gauss(0, 1)), "rng.gauss(0, 1)"),
    "subclass": (closure(Own(0), lambda rng: rng.random()), "rng.random()"),
    "bit generator": (closure(np.random.PCG64(0), lambda bits: bits.random_raw()), "bits.random_raw()"),
    "RandomState": (closure(frozenset([np.random.RandomState(0)]), IN_A_SET), "next(iter(rngs)).normal()"),
    **{name: (closure(frozenset([new(name)]), IN_A_SET), "next(iter(rngs)).normal()") for name in BIT_GENERATORS},
}


def halves(x):
    while True:
        yield x
        x = x / 2


def delegated(x):
    yield from halves(x)


ITERATORS = {
    "list": lambda: iter([1.0, 2.0]),
    "tuple": lambda: iter((1.0, 2.0)),
    "range": lambda: iter(range(1, 3)),
    "long range": lambda: iter(range(2**70, 2**70 + 2)),
    "reversed": lambda: reversed([1.0, 2.0]),
    "zip": lambda: zip(iter([1.0, 2.0]), itertools.repeat(1)),
    "map": lambda: map(float, iter([1, 2])),
    "filter": lambda: filter(None, iter([1, 2])),
    "dict": lambda: iter({1.0: 2, 3.0: 4}),
    "set": lambda: iter({1.0, 2.0}),
    "enumerate": lambda: enumerate([1.0, 2.0]),
    "count": lambda: itertools.count(1),
    "expression": lambda: (float(i) for i in range(1, 3)),
    "generator": lambda: halves(1.0),
    "delegating": lambda: delegated(1.0),
    "of a generator": lambda: (x for x in halves(1.0)),
    "zip of a generator": lambda: zip(halves(1.0), halves(2.0)),
}
RESTORED = ["list", "tuple", "reversed", "zip", "map", "filter"]
if sys.version_info < (3, 12):  # later ones only go forward
    RESTORED += ["range", "long range"]
every_case = pytest.mark.parametrize("name", CASES)


def state():
    return [s.read() for s in streams([])]


@every_case
def test_draws_are_refused_with_the_expression_and_undone(name):
    function, expression = CASES[name]
    np.random.normal()  # half of the normal numbers of NumPy's global generator are kept from the draw before
    before = state()
    for _ in range(2):
        with pytest.raises(FrozenDrawError) as caught:
            jit(function)(X)
        assert str(caught.value).startswith(f"{expression}: changes the state of ")
        assert caught.value.where.file == __file__
        assert state() == before
    random_state = np.random.get_state(), random.getstate()
    expected = function(X)
    np.random.set_state(random_state[0])
    random.setstate(random_state[1])
    if name.startswith(("global", "random")):
        np.testing.assert_array_equal(function(X), expected)


def shared(rng):
    held = frozenset([rng])

    def function(x):
        (rng,) = held
        return x * rng.normal() + rng.integers(9, dtype=np.int32)

    return function


@pytest.mark.parametrize("name", BIT_GENERATORS)
def test_the_numbers_go_on_as_if_nothing_was_traced(name):
    rng, same = new(name), new(name)
    function = shared(rng)
    for _ in range(3):
        with pytest.raises(FrozenDrawError):
            jit(function)(X)
        assert rng.integers(9, dtype=np.int32) == same.integers(9, dtype=np.int32)
        assert rng.normal() == same.normal()


@pytest.mark.parametrize("draws", range(4))
def test_global_states_are_restored_to_the_bit(draws):
    np.random.seed(1)
    random.seed(1)
    for _ in range(draws):
        np.random.normal()
        random.gauss(0, 1)
    twin, python_twin = np.random.RandomState(), random.Random()
    twin.set_state(np.random.get_state())
    python_twin.setstate(random.getstate())
    with pytest.raises(FrozenDrawError):
        jit(lambda x: x * np.random.normal() * random.gauss(0, 1))(X)
    assert [np.random.normal() for _ in range(3)] == [twin.normal() for _ in range(3)]
    assert [random.gauss(0, 1) for _ in range(3)] == [python_twin.gauss(0, 1) for _ in range(3)]


@pytest.mark.parametrize("name", ITERATORS)
def test_items_of_iterators_are_refused(name):
    items = ITERATORS[name]()

    def function(x):
        item = next(items)
        return x * (item[0] if isinstance(item, tuple) else 1)

    with pytest.raises(FrozenDrawError, match="takes an item of") as caught:
        jit(function)(X)
    assert str(caught.value).startswith("next(items): ")
    assert "take it outside of" in str(caught.value)
    if name in RESTORED:
        assert list(items if name != "zip" else (i for i, _ in items)) == list(
            ITERATORS[name]() if name != "zip" else [1.0, 2.0]
        )


def test_an_iterator_that_the_trace_uses_up_is_refused():
    items = iter([1.0, 2.0])
    with pytest.raises(FrozenDrawError, match="takes an item of the list_iterator items"):
        jit(lambda x: x * sum(items))(X)


WAYS = {
    "grad": lambda f: grad(lambda x: np.sum(f(x)))(X),
    "hessian": lambda f: hessian(lambda x: np.sum(f(x)))(X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "linearize": lambda f: linearize(f, X),
    "vmap": lambda f: vmap(f)(np.stack([X, X])),
    "export": lambda f: export(f)(ShapeDtypeStruct((3,))),
    "trace": lambda f: anyshape.trace(f)(ShapeDtypeStruct("n")),
    "eval_shape": lambda f: anyshape.eval_shape(f, X),
    "explain": lambda f: anyshape.explain(f)(X),
    "checkpoint": lambda f: jit(anyshape.checkpoint(f))(X),
    "jit in jit": lambda f: jit(lambda x: jit(f)(x))(X),
    "dynamic shapes": lambda f: jit(f, dynamic_shapes={"x": {0: "n"}})(X),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_trace_is_watched(way):
    rng = np.random.default_rng(0)

    function = shared(rng)
    before = rng.bit_generator.state
    with pytest.raises(FrozenDrawError, match=r"^rng.normal\(\): "):
        WAYS[way](function)
    assert rng.bit_generator.state == before
    with pytest.raises(FrozenDrawError, match=r"^np.random.normal\(\): "):
        WAYS[way](lambda x: x * np.random.normal())


def test_static_generators_are_watched():
    rng = np.random.default_rng(0)
    with pytest.raises(FrozenDrawError, match=r"the Generator g\b"):
        jit(lambda x, g: x * g.normal(), static_argnums=1)(X, rng)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.random.default_rng(0).normal(size=3),
        lambda x: x + np.random.RandomState(0).normal(size=3),
        lambda x: x * random.Random(0).random(),
        lambda x: x * sum(iter([1.0, 2.0])),
        lambda x: x * next(iter((2.0,))),
    ],
)
def test_what_the_function_makes_itself_is_its_own(function):
    jitted = jit(function)
    for _ in range(2):
        np.testing.assert_allclose(jitted(X), function(X), rtol=1e-15)
    assert jitted.cache_info().traces == 1


def test_callbacks_draw_in_each_run():
    rng = np.random.default_rng(0)
    noise = jit(lambda x: x + pure_callback(lambda x: rng.normal(size=x.shape), ShapeDtypeStruct((3,)), x))
    assert not np.array_equal(noise(X), noise(X))


def test_a_trace_that_fails_leaves_generators_as_they_were():
    rng = np.random.default_rng(0)

    def function(x):
        rng.normal()
        raise KeyError("no such layer")

    before = rng.bit_generator.state
    with pytest.raises(KeyError, match="no such layer"):
        jit(function)(X)
    assert rng.bit_generator.state == before


def test_draws_of_another_thread_are_none_of_the_functions():
    stop, drawn = threading.Event(), threading.Event()

    def draw():
        while not stop.is_set():
            np.random.normal(size=1)
            random.random()
            drawn.set()

    thread = threading.Thread(target=draw)
    thread.start()

    def waits(x):
        drawn.clear()
        drawn.wait(5)
        return x + 1

    try:
        result = refuse_draws("waits", lambda: waits(X), [])
    except FrozenDrawError:  # it waits for the other thread, which drew again while the line was searched
        result = X + 1
    finally:
        stop.set()
        thread.join()
    np.testing.assert_array_equal(result, X + 1)


@contextlib.contextmanager
def drawing_thread():
    """Another thread that draws from the global generators of NumPy and Python, and from a generator."""
    stop, rng, interval = threading.Event(), np.random.default_rng(0), sys.getswitchinterval()

    def draw():
        while not stop.is_set():
            for _ in range(50):
                np.random.normal(), random.random(), rng.normal()
            time.sleep(0)

    thread = threading.Thread(target=draw)
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        yield frozenset([rng])
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


def test_functions_that_draw_nothing_are_traced_beside_a_thread_that_draws():
    with drawing_thread():
        for n in range(60):
            function = jit(lambda x, n=n: np.sum(np.sin(x) * n))
            np.testing.assert_allclose(function(X), np.sum(np.sin(X) * n))


@pytest.mark.parametrize("pause", [0.0, 0.001])
def test_the_generator_of_python_may_be_drawn_from_by_other_threads(pause):
    """It has no lock: that it moves in each search proves nothing."""
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            random.random()
            time.sleep(pause)

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for n in range(8):
            np.testing.assert_allclose(jit(lambda x, n=n: np.sum(x @ x) * n)(X[:4]), np.sum(X[:4] @ X[:4]) * n)
        for draw_one in (random.random, lambda: random.gauss(0, 1), lambda: random.choice([1, 2])):
            with pytest.raises(FrozenDrawError):
                jit(lambda x, draw_one=draw_one: x + draw_one())(X)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("draw", [
    lambda rngs: np.random.normal(), lambda rngs: random.random(), lambda rngs: next(iter(rngs)).normal(),
    lambda rngs: futures.ThreadPoolExecutor(1).submit(np.random.normal).result(),
])  # fmt: skip
def test_a_draw_is_found_beside_a_thread_that_draws(draw):
    with drawing_thread() as rngs:
        for _ in range(5):
            with pytest.raises(FrozenDrawError):
                jit(lambda x: x + draw(rngs))(X)


def test_a_seed_is_seen_beside_other_threads():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        with pytest.raises(FrozenDrawError, match=r"^np.random.seed\(0\): "):
            jit(lambda x: (np.random.seed(0), x * np.random.normal())[1])(X)
    finally:
        stop.set()
        thread.join()


def test_the_lines_of_the_program_are_traced_as_before():
    def tracer(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with pytest.raises(FrozenDrawError):
            jit(lambda x: x * np.random.normal())(X)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_a_trace_that_draws_nothing_costs_little():
    def calls(count):
        """Return the number of calls, of C too, that a look at so many things takes."""
        things, seen = [(f"layer{i}", object()) for i in range(count)], []
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, argument: seen.append(event) if event in ("call", "c_call") else None)
        try:
            refuse_draws("f", lambda: None, things)
        finally:
            sys.setprofile(before)
        return len(seen)

    calls(1)  # which learns the class
    few, many = calls(100), calls(200)
    assert many - few <= 5 * 100 and few - (many - few) <= 60, (few, many)
