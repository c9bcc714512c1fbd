"""Errors that the data of a run decides, and that the function catches: the handler runs as in plain Python."""

import contextlib
import math

import numpy as np
import pytest
import scipy.linalg

import anyshape
from anyshape import grad, jit, vmap
from anyshape.errors import RunLinAlgError, StateWarning

LINALG = np.linalg


def with_jitter(x):
    try:
        return LINALG.cholesky(x)
    except LINALG.LinAlgError:
        return LINALG.cholesky(x + 10 * np.eye(len(x)))


def with_text(x):
    try:
        y = scipy.linalg.cholesky(x, lower=True)
    except LINALG.LinAlgError as error:
        y = x * len(str(error))
    else:
        y = y + 1
    finally:
        x = x * 2
    return y + x


def pseudo(x):
    y = x
    with contextlib.suppress(LINALG.LinAlgError):
        y = LINALG.inv(x)
    return y


def _solved(x):
    return LINALG.solve(x, x[0])


def in_a_callee(x):
    try:
        return _solved(x)
    except Exception:
        return x[0] * 0


def each_iteration(x):
    total = 0.0
    for i in range(3):
        try:
            total = total + LINALG.inv(x + i)[0, 0]
        except LINALG.LinAlgError:
            total = total - 1
    return total


def each_row(x):
    total = 0.0
    for row in x:
        try:
            total = total + LINALG.inv(x * row[0])[0, 0]
        except LINALG.LinAlgError:
            total = total - 1
    return total


def more_jitter(x):
    jitter = 1.0
    while True:
        try:
            return LINALG.cholesky(x + jitter * np.eye(len(x)))
        except LINALG.LinAlgError:
            jitter = jitter * 10
            if jitter > 1e6:
                raise


def positions(x):
    k = round(x[0, 0])
    try:
        return x[k] + x[0, k]
    except IndexError as error:
        return x[0] - ("out of bounds for axis 0" in str(error))


def ints(x):
    try:
        return x * int(x[0, 0] / 3)
    except (ValueError, OverflowError) as error:
        return x - len(str(error))


def quotients(x):
    try:
        return x * (1.0 / float(x[0, 0]))
    except ZeroDivisionError:
        return x + 1


def roots(x):
    try:
        return math.sqrt(x[0, 0]) * x
    except ValueError:
        return x - 1


def third_of_positive(x):
    y = x[x > 0.5]
    try:
        return y[2] * 2
    except IndexError:
        return x.sum()


def largest_of_few(x):
    y = x[x > 1]
    try:
        return y.max() + (y - y.mean()) @ np.ones(4)
    except ValueError:
        return x.sum() - 1


def last_of_a_list(x):
    items = [v for v in x[0] if v > 0]
    try:
        items[-1] = 5.0
        return np.array(items)
    except IndexError:
        return x * 2


def not_caught(x):
    try:
        return LINALG.inv(x)
    except KeyError:
        return x


ALL = [
    with_jitter, with_text, pseudo, in_a_callee, each_iteration, each_row, more_jitter, positions, ints, quotients,
    roots, third_of_positive, largest_of_few, last_of_a_list, not_caught,
]  # fmt: skip
MATRICES = [np.eye(2), np.zeros((2, 2)), 2 * np.eye(3), np.full((2, 2), 7.0), -np.eye(2), np.full((1, 1), -3.0)]


def outcome(function, x):
    try:
        return np.asarray(function(x.copy()))
    except Exception as error:
        return error


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_handlers_run_as_in_python(function):
    compiled = jit(function)
    for x in MATRICES * 2:
        want, got = outcome(function, x), outcome(compiled, x)
        if isinstance(want, Exception):
            assert isinstance(got, type(want)), got
            continue
        assert not isinstance(got, Exception), got
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert compiled.cache_info().traces <= 9


@pytest.mark.parametrize("x", [np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[-2.0, 0.5], [0.5, 1.0]])])
def test_derivatives_are_those_of_the_path(x):
    loss = lambda x: (with_jitter(x) * np.arange(4.0).reshape(2, 2)).sum()
    step = 1e-6 * (np.eye(2) + np.eye(2)[::-1])
    along = (loss(x + step) - loss(x - step)) / 2e-6
    assert np.sum(jit(grad(loss))(x) * step / 1e-6) == pytest.approx(along, rel=1e-6)
    np.testing.assert_allclose(vmap(with_jitter)(np.stack([x, x])), [with_jitter(x)] * 2)


def test_what_is_not_read_stops_with_the_error():
    with pytest.raises(RunLinAlgError):
        jit(with_jitter, read_source="off")(np.zeros((2, 2)))


def test_modes_of_numpy_that_raise_are_said():
    def f(x):
        with np.errstate(divide="raise", invalid="ignore"):
            return 1 / x

    with pytest.warns(StateWarning, match="divide='raise'.*raises nothing when the program runs"):
        anyshape.trace(f)("n")


def root_or_squares(x):
    try:
        return np.sum(LINALG.cholesky(np.diag(x))) * x[0]
    except LINALG.LinAlgError:
        return np.sum(x**2)


def element_or_cube(x):
    try:
        return x[int(x[0])] ** 2
    except IndexError:
        return x[0] ** 3


def roots_or_squares(x):
    total = 0.0
    for v in x:
        try:
            if v < 0.5:
                raise ValueError("small")
            total += np.sqrt(v)
        except ValueError:
            total -= v**2
    return total


@pytest.mark.parametrize("function", [root_or_squares, element_or_cube, roots_or_squares], ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [[1.3, 2.7, 0.4], [-1.2, 0.7], [7.3, 1.0]], ids=str)
def test_a_gradient_in_a_jitted_function_is_of_what_is_caught(function, x):
    x = np.array(x)
    differences = [(function(x + h) - function(x - h)) / 2e-6 for h in 1e-6 * np.eye(len(x))]
    for slopes in (jit(grad(function)), grad(jit(function)), jit(lambda x: grad(function)(x) * 1.0)):
        np.testing.assert_allclose(slopes(x), differences, rtol=1e-6, atol=1e-8)
