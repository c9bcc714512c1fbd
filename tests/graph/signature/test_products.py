"""Test that products and extrema of sizes are solved where they determine the sizes, and only there."""

import itertools
import random
import re

import pytest

from anyshape import errors
from anyshape.errors import InputSizeError
from tests.graph.signature.solvers import by_name, solver_from_text
from tests.graph.signature.test_dim_equations import rational_solution

PRODUCTS = [
    ["a*b", "a*c", "b*c"],
    ["a*a*b", "a*b*b"],
    ["2*a*b", "3*b*c", "a*c"],
    ["a*b", "a*c", "a*b*c"],
    ["a*b + 2", "b*c", "c*a - 1"],
    ["d", "a*b + d", "d*a*c", "b*c"],
    ["2*a*b + a*b", "b*b"],
    ["a*b", "b*c", "c*d", "a*c"],
    ["max(a, 4)*b", "b*b*b"],
]


@pytest.mark.parametrize("specs", PRODUCTS, ids=", ".join)
def test_products_of_positive_sizes_are_solved(specs):
    names = sorted(set(re.findall(r"\b[a-d]\b", " ".join(specs))))
    lowest = {"a": 4 if "max" in specs[0] else 1}
    solver = solver_from_text(*specs, constraints=[f"{n} >= {lowest.get(n, 1)}" for n in names])
    check_positive_solutions(solver, specs, names, lowest)


def check_positive_solutions(solver, specs, names, lowest, most=5):
    """Check that all small sizes come back, and that other input sizes are refused or solved rightly."""
    spaces = [range(lowest.get(n, 1), lowest.get(n, 1) + most) for n in names]
    possible = {}
    for choice in itertools.product(*spaces):
        at = dict(zip(names, choice, strict=True))
        shapes = shapes_at(specs, at)
        if min(size for shape in shapes for size in shape) >= 0:
            possible[shapes] = at
            assert by_name(solver(*shapes)) == at
    rng = random.Random(7)
    for shapes in rng.sample(sorted(possible), min(len(possible), 40)):
        wrong = tuple(tuple(max(0, size + rng.choice((-1, 0, 1, -size))) for size in shape) for shape in shapes)
        try:
            solution = by_name(solver(*wrong))
        except InputSizeError:
            assert wrong not in possible
        else:
            assert shapes_at(specs, solution) == wrong


def shapes_at(specs, at):
    """Return the shapes that the texts describe at these sizes, by Python alone."""
    return tuple(tuple(eval(size, {"max": max}, dict(at)) for size in re.split(r", (?![^(]*\))", s)) for s in specs)


def random_products(rng):
    """Return random products, the names in them, and whether the powers determine all sizes."""
    names = "abcd"[: rng.randint(2, 4)]
    powers = [[rng.choice((0, 1, 1, 2)) for _ in names] for _ in range(rng.randint(2, 5))]
    powers = [[1] * len(names), *[row for row in powers if any(row)]]
    solution, _ = rational_solution(powers, [0] * len(powers))
    specs = ["*".join(n for n, p in zip(names, row, strict=True) for _ in range(p)) for row in powers]
    return specs, names, solution != "many"


def test_random_products_are_solved_where_their_powers_determine_all():
    rng = random.Random(8)
    solved = []
    for _ in range(60):
        specs, names, determined = random_products(rng)
        solved.append(determined)
        try:
            solver = solver_from_text(*specs, constraints=[f"{n} >= 1" for n in names])
        except errors.UndeterminedSizeError:
            assert not determined, specs
        else:
            assert determined, specs
            check_positive_solutions(solver, specs, names, {}, most=4)
    assert 10 < sum(solved) < 50


def test_products_of_sizes_that_may_be_0_are_not_solved():
    with pytest.raises(errors.UndeterminedSizeError) as caught:
        solver_from_text("a*b", "a*c", "b*c")
    assert caught.value.same is not None


# -- extrema -------------------------------------------------------------------------------------------------------


EXTREMA = [
    (["max(a, 4)"], ["a >= 4"]),
    (["max(a, 4)"], ["a % 8 == 0", "a >= 1"]),
    (["max(a, 4), min(a, 4)"], []),
    (["max(a, b)", "min(a, b)"], ["a >= b"]),
    (["max(a, b), b"], ["a >= b"]),
    (["max(a, b, 4), b"], ["a >= b", "a >= 4"]),
    (["min(a, b) + 2, b"], ["a <= b"]),
]


@pytest.mark.parametrize(("specs", "constraints"), EXTREMA, ids=str)
def test_extrema_are_solved_where_they_determine_a_size(specs, constraints):
    solver = solver_from_text(*specs, constraints=constraints)
    names = sorted(set(re.findall(r"\b[ab]\b", " ".join(specs))))
    for choice in itertools.product(range(12), repeat=len(names)):
        at = dict(zip(names, choice, strict=True))
        if all(eval(c, {}, dict(at)) for c in constraints):
            assert by_name(solver(*shapes_at(specs, at))) == at


@pytest.mark.parametrize("spec", ["max(a, 4)", "max(a, b), a + b", "min(a, 3)", "max(a, b), b"])
def test_extrema_that_leave_a_size_open_are_refused(spec):
    with pytest.raises(errors.UndeterminedSizeError):
        solver_from_text(spec)
