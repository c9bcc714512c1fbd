"""Errors in the trips of loops name the line and the trip, and leave nothing behind; so do interrupts."""

import ctypes
import gc
import pickle
import signal
import weakref

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, cond, errors, fori_loop, grad, jit, jvp, pure_callback, scan, vmap, while_loop
from anyshape.graph.ir.builder import active_builders

GOOD = np.ones(10)
BAD = np.where(np.arange(10) == 7, -1.0, 1.0)
ONE = ShapeDtypeStruct((), float)


def factor(c, x):
    """Return a number that depends on a carry and on x, which must be positive."""
    return np.linalg.cholesky((c * 0 + x).reshape(1, 1))[0, 0]  # here


def long(c, x):
    """Return the same in a program so long that it is cut into functions."""
    row = anp.stack([c, c])
    for _ in range(700):
        row = np.flip(np.cumsum(row)) * 0.5
    return factor(row[0], x)


def summed(f, **options):
    return lambda xs: scan(lambda c, x: (c + f(c, x), c), 0.0, xs, **options)[0]


def counted(f, count=10):
    """Return a while_loop over elements."""
    return lambda xs: while_loop(
        lambda c: c[0] < count, lambda c: (c[0] + 1, c[1] + f(c[1], anp.take(xs, c[0]))), (0, 0.0)
    )[1]


PROGRAMS = {
    "scan": (summed(factor), (7,)),
    "reversed": (summed(factor, reverse=True), (7,)),
    "of elements alone": (summed(lambda c, x: factor(0.0, x)), (7,)),
    "fori_loop": (lambda xs: fori_loop(2, 9, lambda i, c: c + factor(c, anp.take(xs, i)), 0.0), (5,)),
    "while_loop": (counted(factor), (7,)),
    "inner trip": (lambda xs: scan(lambda c, _: (c + summed(factor)(xs + c * 0), c), 0.0, GOOD)[0], (7, 0)),
    "outer trip": (summed(lambda c, x: fori_loop(0, 3, lambda i, d: d + factor(d, x), c)), (0, 7)),
    "branch": (summed(lambda c, x: cond(x < 0, lambda: factor(c, x), lambda: 0.0)), (7,)),
}
TRANSFORMS = {
    "jit": jit,
    "plain": lambda f: f,
    "later": lambda f: jit(f, optimize="now"),
    "jvp": lambda f: jit(lambda xs: jvp(f, (xs,), (xs,))[1]),
    "grad": lambda f: jit(grad(f)),
    "vmap": lambda f: jit(lambda xs: vmap(f)(anp.stack([xs * 0 + 1, xs]))),
}


def line_of_factor():
    with open(__file__) as source:
        return next(n for n, text in enumerate(source, 1) if text.endswith("# here\n"))


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_error_names_line_and_trip(name, transform):
    program, trips = PROGRAMS[name]
    made = TRANSFORMS[transform](program)
    made(GOOD)
    with pytest.raises(errors.RunLinAlgError, match="not positive definite") as caught:
        made(BAD)
    error = caught.value
    assert error.where.line == line_of_factor()
    if transform in ("jit", "plain", "later") or len(trips) == 1:
        assert error.trips in (trips, (7,))
    numbers = " of a loop in ".join(f"trip {t}" for t in error.trips)
    assert str(error).splitlines()[0].endswith(f" in {numbers}") and len(str(error).splitlines()) == 2
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.trips == error.trips
    assert not active_builders()
    made(GOOD)


def test_a_trip_of_a_long_program_is_named():
    made = jit(summed(long))
    with pytest.raises(errors.RunLinAlgError, match=r"in trip 7\n"):
        made(BAD)


REFUSED = {
    "index": (lambda xs: counted(lambda c, x: x, 99)(xs), r"index 10 is out of bounds .* in trip 10\n"),
    "size": (
        lambda xs: while_loop(lambda v: v.shape[0] < 9, lambda v: np.concatenate([v * xs[:3], v[:1]]), xs[:3]).sum(),
        r"must equal .* in trip 1\n",
    ),
    "length": (
        lambda xs: fori_loop(0, 9, lambda i, c: c + scan(lambda d, _: (d, d), c, None, 3 - i)[0], xs[0]),
        r"a size cannot be negative, and this one is -1 at .* in trip 4\n",
    ),
    "floating point": (
        lambda xs: fori_loop(-4, 4, lambda i, c: c + (2 * xs[0] + c * 0) / i, 0.0),
        r"divide by zero .* in trip 4\n",
    ),
}


@pytest.mark.parametrize("transform", ["jit", "plain", "later"])
@pytest.mark.parametrize("name", REFUSED)
def test_errors_of_sizes_and_numbers_name_the_trip(name, transform):
    program, text = REFUSED[name]
    with np.errstate(all="raise"), pytest.raises(errors.AnyshapeError, match=text):
        TRANSFORMS[transform](program)(GOOD)


def test_an_error_outside_of_trips_names_none():
    made = jit(lambda xs: factor(summed(lambda c, x: x)(xs), xs[7]))
    with pytest.raises(errors.RunLinAlgError) as caught:
        made(BAD)
    assert caught.value.trips == () and "trip" not in str(caught.value)


@pytest.fixture
def interruptible():
    """A process that a shell began in the background may ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Trips:
    """A callback of a body that remembers weakly what it makes, and acts at trip 7."""

    def __init__(self, act):
        self.act, self.made, self.armed = act, [], True

    def __call__(self, x):
        result = np.array(np.array(x) + 1.0)
        self.made.append(weakref.ref(result))
        if len(self.made) == 8 and self.armed:
            self.armed = False
            self.act()
        return result


def refuse():
    raise LookupError("the eighth")


STOPPING = {
    "error": (refuse, LookupError),
    "interrupt in a trip": (lambda: exec("raise KeyboardInterrupt"), KeyboardInterrupt),
    "interrupt between trips": (ctypes.pythonapi.PyErr_SetInterrupt, KeyboardInterrupt),
}


@pytest.mark.parametrize("transform", ["jit", "plain", "grad"])
@pytest.mark.parametrize("name", STOPPING)
def test_a_body_that_stops_at_a_trip_leaves_nothing_behind(name, transform, interruptible):
    act, kind = STOPPING[name]
    trips = Trips(act)
    trips.armed = False
    like = ShapeDtypeStruct((3,), float)

    def body(c):
        return c[0] + 1, np.tanh(c[1]) + pure_callback(trips, like, np.sign(c[1]))

    made = TRANSFORMS[transform](lambda xs: while_loop(lambda c: c[0] < 12, body, (0, xs[:3]))[1].sum())
    expected = made(GOOD)
    assert len(trips.made) >= 12
    del trips.made[:]
    trips.armed = True
    with pytest.raises(kind) as caught:
        made(GOOD)
    assert len(trips.made) == 8
    if kind is LookupError:
        assert any("in trip 7" in note for note in caught.value.__notes__)
    del caught
    gc.collect()
    assert not any(ref() is not None for ref in trips.made) and not active_builders()
    np.testing.assert_array_equal(made(GOOD), expected)


def test_an_endless_loop_can_be_interrupted(interruptible):
    trips = Trips(ctypes.pythonapi.PyErr_SetInterrupt)
    made = jit(lambda x: while_loop(lambda c: True, lambda c: pure_callback(trips, ONE, c), x))
    with pytest.raises(KeyboardInterrupt):
        made(0.0)
    assert len(trips.made) == 8 and not active_builders()
