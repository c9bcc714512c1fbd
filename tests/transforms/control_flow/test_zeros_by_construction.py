"""Elements that conditionals and loops leave out have derivative 0, inside and outside of these, whatever the slope.

The first element is at a pole of each program, which does not count. So differences give the derivatives.
"""

import numpy as np
import pytest

import anyshape
from anyshape import cond, fori_loop, grad, jacfwd, jacrev, jvp, scan, vmap, while_loop

POINT = np.array([0.0, 1.0, 4.0, 2.0])
MASK = np.array([False, True, True, False])


def on(x):
    return x > 0.5


# -- conditionals


def chosen_of_a_branch(x):
    return np.where(on(x), cond(x[1] > 0, np.sqrt, lambda x: x, x), 0)


def read_in_the_other_branch(x):
    return cond(x[1] < 0, lambda y: np.sum(y * y), lambda y: 3.0, np.sqrt(x)) + np.sum(x)


def elements_of_both_branches(x):
    return cond(x[1] > 0, lambda y: y[1] * 2, lambda y: y[2] * 3, np.sqrt(x))


def constant_of_a_branch(x):
    return np.sqrt(cond(x[1] < 0, lambda x: x * 1.0, lambda x: np.zeros(4), x))


def choice_that_enters(x):
    return cond(x[1] > 0, np.sqrt, lambda z: z, np.where(on(x), x, 0))


def conditional_of_each(x):
    return vmap(lambda a, b: cond(b > 0.5, lambda a: a * a * 2, lambda a: 1.0, a))(np.sqrt(x), x)


# -- elements and stacks of scans


def choice_of_elements(x):
    return scan(lambda c, z: (c + np.sqrt(z), np.sqrt(z) * c), 1.0, np.where(on(x), x, 0))[1]


def part_of_a_stack(x):
    return scan(lambda c, z: (c, np.sqrt(z)), 1.0, x)[1][1:]


def last_of_a_stack(x):
    return scan(lambda c, z: (c, np.sqrt(z)), 1.0, x)[1][-1]


def first_of_a_stack(x):
    """Later elements are NaN, as padding is."""
    xs = np.stack([x[1], x[2], x[0] + np.nan])
    return scan(lambda h, z: (np.tanh(h * z), np.tanh(h * z)), 0.5, xs)[1][:2]


def conditional_in_a_scan(x):
    y = np.sqrt(x)
    return scan(lambda c, z: (cond(z > 0.5, lambda c: c * y[2] * z, lambda c: c, c), np.sqrt(z)), 1.0, x)[0]


def element_in_one_branch(x):
    return scan(lambda c, y: (c + cond(y > 0.5, lambda y: y * y, lambda y: 0.0, y), y), 0.0, np.sqrt(x))[0]


# -- captured values


def captured_elements(x):
    y = np.sqrt(x)
    return fori_loop(1, 4, lambda i, c: c + y[i], 0.0)


def captured_and_masked(x):
    y = np.sqrt(x)
    return fori_loop(0, 3, lambda i, c: np.where(MASK, c * y, c), x)


def captured_in_two_loops(x):
    y = np.sqrt(x)
    return fori_loop(0, 2, lambda i, c: fori_loop(1, 3, lambda j, d: d * y[j], c), 1.0)


def captured_of_no_trip(x):
    y = np.sqrt(x)
    return fori_loop(0, 0 * x.shape[0], lambda i, c: c * y, x)


def captured_of_no_element(x):
    y = np.sqrt(x)
    return scan(lambda c, z: (c * y, z), x, x[:0])[0]


def captured_of_a_while(x):
    y = np.sqrt(x)
    return while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + y[s[0]]), (1, 0.0))[1]


def written_elements(x):
    y = np.sqrt(x)

    def body(i, out):
        out = out.copy()
        out[i] = y[i] * 2
        return out

    return fori_loop(1, 4, body, np.zeros(4))


# -- carries


def element_of_a_carry(x):
    return fori_loop(0, 3, lambda i, c: np.sqrt(c), x)[2]


def choice_of_a_carry(x):
    return fori_loop(0, 3, lambda i, c: np.where(on(x), np.sqrt(c), 0), x)


def carry_that_is_read_late(x):
    late = lambda i, u: np.where(i == 2, np.sqrt(u - u), np.sqrt(u))
    return fori_loop(0, 3, lambda i, c: (late(i, c[0]), c[1] + c[0]), (x + 1, x))[1]


def constant_that_a_carry_begins_with(x):
    return fori_loop(0, 3, lambda i, h: np.sqrt(h) * x + np.exp(x), np.zeros(4))


def overwritten_elements(x):
    def body(i, y):
        y = y.copy()
        y[i] = y[i + 1] * 2
        return y

    return fori_loop(0, 2, body, np.sqrt(x))


def choice_in_a_while(x):
    step = lambda s: (s[0] + 1, np.where(on(x), np.sqrt(s[1]), 0))
    return while_loop(lambda s: s[0] < 3, step, (0, x))[1]


def while_of_each(x):
    roots = lambda n, a: while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, np.sqrt(s[1])), (0.0, a))[1]
    return np.where(on(x), vmap(roots)(np.array([1.0, 2.0, 3.0, 1.0]), x), 0)


def captured_of_a_while_of_each(x):
    powers = lambda n, a: while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * a), (0.0, 1.0))[1]
    return vmap(powers)(np.array([0.0, 2.0, 3.0, 1.0]), np.sqrt(x))


def checkpoints(x):
    y = np.sqrt(x)
    return fori_loop(0, 5, lambda i, c: np.where(on(x), np.sqrt(c) * y, 0), x, checkpoint=2)


PROGRAMS = [
    chosen_of_a_branch, read_in_the_other_branch, elements_of_both_branches, constant_of_a_branch, choice_that_enters,
    conditional_of_each, choice_of_elements, part_of_a_stack, last_of_a_stack, first_of_a_stack, conditional_in_a_scan,
    element_in_one_branch, captured_elements, captured_and_masked, captured_in_two_loops, captured_of_no_trip,
    captured_of_no_element, captured_of_a_while, written_elements, element_of_a_carry, choice_of_a_carry,
    carry_that_is_read_late, constant_that_a_carry_begins_with, overwritten_elements, choice_in_a_while, while_of_each,
    captured_of_a_while_of_each, checkpoints,
]  # fmt: skip


def total(program):
    def function(x):
        y = program(x)
        return np.sum(y * y * 0.5 + y)

    return function


def differences(function, x, step=1e-5):
    return np.stack([(function(x + d) - function(x - d)) / (2 * step) for d in step * np.eye(x.size)])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_pole_that_does_not_count(program, half):
    """Programs take turns, so that each other order of two derivatives is met by half of them in the gate."""
    f = total(program)
    slope = grad(f)
    wanted, got = differences(f, POINT), slope(POINT)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose([jvp(f, (POINT,), (v,))[1] for v in np.eye(4)], got, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(vmap(slope)(np.stack([POINT, POINT + 1]))[0], got, rtol=1e-12, atol=1e-14)
    second = jacfwd(slope)(POINT)
    np.testing.assert_allclose(second[1:], differences(slope, POINT)[1:], rtol=1e-5, atol=1e-7)
    other = jacfwd(jacfwd(f)) if (PROGRAMS.index(program) + half) % 2 else jacrev(slope)
    np.testing.assert_allclose(other(POINT), second, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_sizes_of_one_trace(n):
    def f(x):
        y = np.sqrt(x)
        return np.sum(fori_loop(1, x.shape[0], lambda i, c: c + y[i], 0.0)) + np.sum(x)

    slope = grad(f)
    slope(np.arange(3.0))
    x = np.arange(float(n))
    wanted = [1.0, *(1 + 0.5 / np.sqrt(x[1:]))][:n]
    np.testing.assert_allclose(slope(x), wanted, rtol=1e-14)
    assert slope.cache_info().traces == 1
    assert anyshape.linearize(f, x)[1](np.ones(n)) == pytest.approx(sum(wanted))
