"""Bindings by curves: a strictly increasing size is inverted exactly, any other one is refused."""

import random

import pytest

from anyshape import errors
from anyshape.errors import InputSizeError
from anyshape.graph.signature.prologue import floor_inverse
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate, values_from
from tests.graph.signature.solvers import by_name, check_indistinguishable, sizes_from_text, solver_from_text, solver_of

CURVES = [
    "a*a", "a*(a+1)//2", "a**3 + a", "a**3", "2*a*a + 3*a + 5", "a + a//2", "3*a//2", "(5*a + 3)//4", "7*a//3 + 2",
    "a*(a+3)//2", "a*(a+1)*(a+2)//6 + a", "a*a + a//3", "a**5", "(a*a*a + 2*a)//3 + a", "a*a//2 + a", "10*a*a + 7",
    "a*a + a % 2", "3*a + a % 3", "(a + 1)**4", "a + a//2 + a//3", "5*a + (-a)//2",
]  # fmt: skip


@pytest.mark.parametrize("text", CURVES)
def test_a_strictly_increasing_size_is_inverted(text):
    solver = solver_from_text(text)
    (variable,) = solver.variables
    size = sizes_from_text(text)[0][0][0]
    (own,) = expr.variables(size)
    image = {evaluate(size, values_from({own: t})): t for t in range(70)}
    for shown in range(max(2000, min(image) + 10)):
        if shown > max(image):
            break
        if shown in image:
            assert solver((shown,)) == {variable: image[shown]}, solver.source
        else:
            with pytest.raises(InputSizeError, match=r"nearest|remainder"):
                solver((shown,))
    for shown, t in image.items():
        assert solver((shown,)) == {variable: t}


def test_a_strictly_increasing_size_is_inverted_at_large_sizes():
    curves = {"a*a": lambda a: a * a, "a*(a+1)//2": lambda a: a * (a + 1) // 2, "a**3 + a": lambda a: a**3 + a}
    for text, function in curves.items():
        solver = solver_from_text(text)
        for a in (10**6 - 1, 2 * 10**6):
            assert by_name(solver((function(a),))) == {"a": a}
            with pytest.raises(InputSizeError):
                solver((function(a) + 1,))


FLAT = [
    "2*a + a % 3", "a//2", "(a+1)//2", "a % 4", "max(a, 3)", "min(a, 9)", "a*a - a", "a*(7 - a)", "a - a//2",
    "a - a % 3", "a//3 + a//5", "a**3 - 3*a*a + 3*a - a",
]  # fmt: skip


@pytest.mark.parametrize("text", FLAT)
def test_a_curve_that_takes_a_size_twice_is_refused(text):
    with pytest.raises(errors.UndeterminedSizeError) as caught:
        solver_from_text(text)
    sizes = sizes_from_text(text)[0][0]
    check_indistinguishable(caught.value, expr.variables(sizes[0]), sizes)


def random_curve(rng, a):
    """Return a sum of random terms in one variable."""
    size = 0
    for _ in range(rng.randint(1, 3)):
        factor = rng.choice((1, 1, 2, 3, -1))
        kind = rng.randrange(5)
        if kind == 0:
            size = size + factor * a ** rng.randint(1, 3)
        elif kind == 1:
            size = size + factor * a
        elif kind == 2:
            size = size + factor * expr.floordiv(rng.randint(1, 5) * a + rng.randint(0, 3), rng.randint(2, 4))
        elif kind == 3:
            size = size + factor * expr.floordiv(a * a + rng.randint(-2, 3) * a, rng.randint(2, 3))
        else:
            size = size + rng.randint(0, 3)
    return size


def check_inverse(solver, variable, domain, values):
    """Check every size up to 300: it comes back, or no size of the domain gives it and it is refused."""
    for shown in range(max(0, min(values) - 3), min(max(values), 300) + 1):
        if shown in values:
            assert solver((shown,)) == {variable: domain[values.index(shown)]}, (shown, solver.source)
        else:
            with pytest.raises(InputSizeError):
                solver((shown,))


def check_random_curve(rng):
    """Check one random curve; return True where it is solved for."""
    low, high = rng.choice((0, 0, 1, 3)), rng.choice((None, None, 3, 12))
    a = expr.variable("a", low, high if high is None or high >= low else None)
    (variable,) = expr.variables(a)
    size = random_curve(rng, a)
    if isinstance(size, int):
        return False
    domain = range(low, 60 if variable.upper is None else variable.upper + 1)
    values = [evaluate(size, values_from({variable: t})) for t in domain]
    try:
        solver = solver_of([size])
    except errors.UndeterminedSizeError as error:
        if error.same is not None:
            check_indistinguishable(error, [variable], [size])
        return False
    assert len(set(values)) == len(values), f"{size} on {domain} is not one-to-one"
    check_inverse(solver, variable, domain, values)
    return True


@pytest.mark.slow
def test_random_curves_against_brute_force():
    rng = random.Random(4)
    assert sum(check_random_curve(rng) for _ in range(400)) > 150


@pytest.mark.parametrize(("low", "high"), [(0, None), (3, None), (2, 9), (5, 5)])
@pytest.mark.parametrize("curve", [lambda t: t * t, lambda t: 3 * t - 7, lambda t: t + t // 2])
def test_the_floor_inverse_is_the_last_size_below_a_target(low, high, curve):
    top = 200 if high is None else high
    for target in range(-10, 120):
        below = [t for t in range(low, top + 1) if curve(t) <= target]
        for guess in (0, 1, 4, 11, 500):
            assert floor_inverse(curve, target, low, high, guess) == (max(below) if below else low)


def test_a_curve_may_rise_within_bounds_alone():
    solver = solver_from_text("10*a - a*a", bounds={"a": (0, 5)})
    assert [by_name(solver((10 * a - a * a,))) for a in range(6)] == [{"a": a} for a in range(6)]
    for size in (1, 8, 26, 100):
        with pytest.raises(InputSizeError):
            solver((size,))
    solver = solver_from_text("a % 16", bounds={"a": (0, 15)})
    assert by_name(solver((9,))) == {"a": 9}
    solver = solver_from_text("a*a - a", bounds={"a": (1, None)})
    assert by_name(solver((0,))) == {"a": 1} and by_name(solver((6,))) == {"a": 3}
