"""Generators that a traced function closes over: the numbers and the state that NumPy gives, wherever they are held."""

import collections
import functools
import io
import pickle
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
import anyshape.numpy.random as npr
from anyshape import checkpoint, errors, grad, jit, jvp, scan, vmap, while_loop
from tests.samples.random import DRAWS, LEGACY

SEED = 7
MAKERS = {
    "Generator": lambda: np.random.default_rng(SEED),
    "RandomState": lambda: np.random.RandomState(SEED),
    "RandomState of PCG64": lambda: np.random.RandomState(np.random.PCG64(SEED)),
}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def state(rng):
    """Return the whole state of a generator, with the normal number that a RandomState keeps."""
    return repr(rng.get_state(legacy=False) if isinstance(rng, np.random.RandomState) else rng.bit_generator.state)


def sample(draw, size):
    return np.random.default_rng(0).uniform(*draw.domain, size)


@pytest.mark.parametrize(
    ("make", "draw"),
    [
        *[pytest.param(MAKERS["Generator"], d, id=f"Generator-{d}") for d in DRAWS],
        *[pytest.param(MAKERS["RandomState"], d, id=f"RandomState-{d}") for d in LEGACY],
    ],
)
def test_one_trace_draws_as_numpy_at_every_size(make, draw):
    traced, eager = make(), make()
    program = jit(lambda x: draw.function(traced, x))
    for size in (0, 1, 2, 5):
        x = sample(draw, size)
        for _ in range(2):
            result, expected = program(x), draw.function(eager, x)
            assert np.asarray(result).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(result, expected, rtol=1e-13)
            assert state(traced) == state(eager)
    assert program.cache_info().traces == 1
    assert type(traced) is type(eager)


@pytest.mark.parametrize("draw", LEGACY, ids=str)
def test_a_random_state_as_argument(draw):
    traced, eager, program = MAKERS["RandomState"](), MAKERS["RandomState"](), jit(draw.function)
    for size in (0, 1, 4):
        x = sample(draw, size)
        for _ in range(2):
            np.testing.assert_allclose(program(traced, x), draw.function(eager, x), rtol=1e-13)
            assert state(traced) == state(eager)
    assert program.cache_info().traces == 1


# -- places


class Holder:
    """Holds a generator as attribute, in a list, in a dict, in a tuple and by a method."""

    def __init__(self, rng):
        self.rng, self.parts, self.pair, self.draw = rng, [{"noise": rng}], (1.0, rng), rng.normal

    def __call__(self, x):
        return x + self.rng.normal(size=x.shape) * self.pair[0]

    def deep(self, x):
        return self._scaled(x) + self.draw(size=x.shape)

    def _scaled(self, x):
        return x + self.parts[0]["noise"].normal(size=x.shape) + self.pair[1].uniform(size=x.shape)


class Slotted:
    """Holds a generator in a slot."""

    __slots__ = ("rng",)

    def __init__(self, rng):
        self.rng = rng


@dataclass(frozen=True)
class Frozen:
    """Holds a generator in a field that code cannot assign to."""

    rng: object


def normal(rng, x):
    return x + rng.normal(size=x.shape)


def twice(inner):
    return lambda x: inner(x) * 2


def of_default(rng):
    def function(x, rng=rng, *, same=rng):
        return x + rng.normal(size=x.shape) * same.normal()

    return function


def of_class(rng):
    class Shared:
        noise = rng

        def __call__(self, x):
            return normal(self.noise, x)

    return Shared()


def reading(get, held):
    """Return a function that draws from the generator that it gets from what it closes over."""
    return lambda x: normal(get(held), x)


def of_global(rng):
    scope = {"rng": rng}
    exec("def function(x):\n    return x + rng.normal(size=x.shape)", scope)
    return scope["function"]


PLACES = {
    "closure": lambda rng: lambda x: normal(rng, x),
    "global": of_global,
    "default": of_default,
    "attribute": Holder,
    "method": lambda rng: Holder(rng).deep,
    "class": of_class,
    "slot": lambda rng: reading(lambda held: held.rng, Slotted(rng)),
    "frozen": lambda rng: reading(lambda held: held.rng, Frozen(rng)),
    "partial": lambda rng: functools.partial(normal, rng),
    "keyword of a partial": lambda rng: functools.partial(lambda x, rng: normal(rng, x), rng=rng),
    "ordered dict": lambda rng: reading(lambda held: held["a"], collections.OrderedDict(a=rng)),
    "deque": lambda rng: reading(lambda held: held[0], collections.deque([rng])),
    "array": lambda rng: reading(lambda held: held[0], np.array([rng])),
    "drawing method": lambda rng: functools.partial(lambda draw, x: x + draw(size=x.shape), rng.normal),
    "jit in jit": lambda rng: twice(jit(lambda x: normal(rng, x))),
}


@pytest.mark.parametrize("name", PLACES)
@every_maker
def test_every_place(name, make):
    traced, eager = make(), make()
    function, same = PLACES[name](traced), PLACES[name](eager)
    program = jit(function)
    for size in (3, 0, 4):
        x = np.arange(float(size))
        np.testing.assert_allclose(program(x), same(x), rtol=1e-15)
        assert state(traced) == state(eager)
    np.testing.assert_array_equal(function(np.ones(2)), same(np.ones(2)))  # all is again as it was
    assert program.cache_info().traces == 1


def test_another_generator_in_the_place_is_drawn_from():
    holder = Holder(np.random.default_rng(0))
    program = jit(holder)
    program(np.zeros(2))
    holder.rng = np.random.default_rng(5)
    np.testing.assert_array_equal(program(np.zeros(2)), np.random.default_rng(5).normal(size=2))


def test_a_function_that_fails_leaves_all_as_it_was():
    rng = np.random.default_rng(SEED)
    holder, before = Holder(rng), state(rng)

    def function(x):
        holder.rng.normal()
        raise KeyError("no such layer")

    with pytest.raises(KeyError, match="no such layer"):
        jit(function)(1.0)
    assert holder.rng is rng
    assert state(rng) == before
    with pytest.raises(errors.CheckError):
        jit(lambda x: (anyshape.check(holder.rng.normal() > 100, "too small"), x)[1])(1.0)
    assert state(rng) == before


def test_another_thread_draws_from_the_generator_meanwhile():
    holder, stop, errors_of_thread = Holder(np.random.default_rng(SEED)), threading.Event(), []

    def draw():
        try:
            while not stop.is_set():
                assert holder.rng.normal(size=2).dtype == float
        except Exception as error:
            errors_of_thread.append(error)

    thread, interval = threading.Thread(target=draw), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for n in range(10):
            function = jit(lambda x, n=n: normal(holder.rng, x) * n)
            assert np.isfinite(function(np.zeros(3))).all()
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert errors_of_thread == []
    assert type(holder.rng) is np.random.Generator


def test_functions_that_threads_trace_at_once():
    rng = np.random.default_rng(SEED)
    functions = [jit(lambda x, n=n: normal(rng, x) * n) for n in range(8)]
    barrier, results = threading.Barrier(4), {}

    def run(first):
        barrier.wait()
        for n in range(first, 8, 4):
            results[n] = functions[n](np.zeros(3))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))
    eager = np.random.default_rng(SEED)
    eager.normal(size=24)
    assert state(rng) == state(eager)
    assert type(rng) is np.random.Generator


# -- transforms


@every_maker
def test_derivatives_are_those_of_the_numbers(make):
    traced, eager = make(), make()
    loss = lambda x: np.sum(np.sin(x * traced.normal(x, 2.0)))
    x, z = np.array([0.5, 1.5]), eager.normal(size=2)
    inner = lambda x: x * (x + 2.0 * z)
    np.testing.assert_allclose(grad(loss)(x), np.cos(inner(x)) * (2 * x + 2 * z))
    assert state(traced) == state(eager)
    z = eager.normal(size=2)
    _, t = jvp(grad(loss), (x,), (np.ones(2),))
    np.testing.assert_allclose(t, -np.sin(inner(x)) * (2 * x + 2 * z) ** 2 + 2 * np.cos(inner(x)))
    z = eager.normal(size=2)
    np.testing.assert_allclose(grad(checkpoint(loss))(x), np.cos(inner(x)) * (2 * x + 2 * z))
    assert state(traced) == state(eager)


@every_maker
def test_vmap_makes_one_draw_of_the_size_of_the_batch(make):
    traced, eager, x = make(), make(), np.arange(4.0)
    mapped = vmap(lambda x: (traced.normal(x, 1.0), traced.choice(5, 2)))
    normals, chosen = mapped(x)
    np.testing.assert_array_equal(normals, eager.normal(x, 1.0))
    np.testing.assert_array_equal(chosen, [eager.choice(5, 2) for _ in x])
    assert state(traced) == state(eager)


@every_maker
def test_loops_draw_in_each_trip(make):
    traced, eager = make(), make()

    def walk(x):
        def step(c, v):
            d = traced.normal(scale=v)
            return c + d, d

        end, steps = scan(step, 0.0, x)
        return while_loop(lambda c: c < 5.0, lambda c: c + traced.uniform(), end), steps

    x = np.array([0.5, 2.0, 1.0])
    end, steps = jit(walk)(x)
    expected = [eager.normal(scale=v) for v in x]
    total = sum(expected)
    while total < 5.0:
        total += eager.uniform()
    np.testing.assert_allclose(steps, expected)
    np.testing.assert_allclose(end, total)
    assert state(traced) == state(eager)
    slope = grad(lambda s: scan(lambda c, v: (c + traced.normal(scale=s), ()), 0.0, x)[0])(2.0)
    np.testing.assert_allclose(slope, sum(eager.normal() for _ in x))


@every_maker
def test_python_decides_on_numbers_drawn(make):
    traced, eager = make(), make()

    def walk(rng, x):
        while rng.uniform() < 0.6:
            x = x + rng.normal()
        return x

    program = jit(lambda x: walk(traced, x))
    for x in range(20):
        np.testing.assert_allclose(program(float(x)), walk(eager, float(x)))
        assert state(traced) == state(eager)


def test_order_with_an_argument_that_is_the_same_generator():
    rng, eager = np.random.default_rng(SEED), np.random.default_rng(SEED)
    function = lambda r, x: (x + rng.normal(size=2)) * r.normal(size=2) + rng.uniform()
    result = jit(function)(rng, np.ones(2))
    np.testing.assert_array_equal(result, (1 + eager.normal(size=2)) * eager.normal(size=2) + eager.uniform())


# -- the global generator


def test_functions_of_the_global_generator():
    @jit
    def function(x):
        return x + anp.random.randn(*x.shape) * npr.rand() + npr.sample(x.shape) + anp.random.choice(5, x.shape)

    anp.random.seed(SEED)
    results = [function(np.zeros(n)) for n in (3, 0, 1)]
    eager = np.random.RandomState(SEED)
    for n, result in zip((3, 0, 1), results, strict=True):
        expected = eager.randn(n) * eager.rand() + eager.random_sample(n) + eager.choice(5, n)
        np.testing.assert_array_equal(result, expected)
    assert state(np.random.mtrand._rand) == state(eager)
    assert function.cache_info().traces == 1
    slope = grad(lambda s: npr.normal(1.0, s))(2.0)
    assert slope == eager.normal()


def test_all_names_of_numpys_module():
    names = {name for name in dir(np.random) if not name.startswith("_")}
    assert names <= set(dir(npr))
    assert all(hasattr(npr, name) for name in names)
    assert npr.default_rng is np.random.default_rng
    assert anp.random is npr
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = npr.no_such_name


# -- other forms of a program


def test_programs_draw_from_the_generator_and_no_file_holds_it():
    rng, eager = np.random.default_rng(SEED), np.random.default_rng(SEED)
    program = anyshape.trace(lambda x: normal(rng, x))(anyshape.ShapeDtypeStruct("n"))
    assert state(rng) == state(eager)
    np.testing.assert_array_equal(program(np.zeros(3)), eager.normal(size=3))
    with pytest.raises(errors.ArgumentError, match="the Generator is one that the function closes over"):
        program.save(io.BytesIO())
    inside = jit(lambda x: program(x) * 2)
    np.testing.assert_array_equal(inside(np.zeros(3)), 2 * eager.normal(size=3))
    assert state(rng) == state(eager)


def test_a_pickled_function_draws_from_a_generator_of_its_own():
    holder = Holder(np.random.default_rng(SEED))
    program = jit(holder).with_programs()
    program(np.zeros(2))
    copy = pickle.loads(pickle.dumps(program))
    eager = pickle.loads(pickle.dumps(holder.rng))
    np.testing.assert_array_equal(copy(np.zeros(2)), eager.normal(size=2))


@every_maker
def test_methods_without_a_meaning_in_a_program(make):
    rng = make()
    with pytest.raises(errors.UnsupportedFunctionError, match="call it outside of the traced function"):
        jit(lambda x: (rng.bytes(3), x)[1])(1.0)
    assert len(rng.bytes(3)) == 3
