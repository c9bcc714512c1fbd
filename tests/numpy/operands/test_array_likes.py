"""Test lists, tuples and nested ones of traced values wherever NumPy takes array-likes."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, check_grads, jit, trace, vmap
from anyshape.errors import AnyshapeError, SizeMismatchError

X = np.array([[0.3, -0.7, 1.1], [0.2, 0.5, -0.4]])


def rotated(np, x):
    c, s = np.cos(x[0, 0]), np.sin(x[0, 0])
    return np.array([[c, -s], [s, c]]) @ x


def written(np, x):
    y = x.copy()
    y[:, :1] = [[x[1, 0]], [2]]
    return y


# programs of the namespace and x of shape (2, n), as eager NumPy runs them
PROGRAMS = {
    "rotation": rotated,
    "mean": lambda np, x: np.mean([x[0], 2 * x[1]], axis=0),
    "mean of scalars": lambda np, x: np.mean([x[0, 0], x[1, 0], 2.0]),
    "array": lambda np, x: np.array(x),
    "asarray of rows": lambda np, x: np.asarray([x[1], x[0]]),
    "tuples": lambda np, x: np.array(((x[0, 0], 1), (2, x[1, 0]))),
    "mixed with concrete rows": lambda np, x: np.array([[1.0, 2.0], np.ones(2), [x[0, 0], x[1, 0]]]),
    "three levels": lambda np, x: np.array([[[x[0, 0]], [x[0, 0] ** 2]], [[1.0], [x[1, 0]]]]),
    "ndmin": lambda np, x: np.array([x[0, 0], 1], ndmin=3),
    "dtype": lambda np, x: np.array([x[0, 0], 1], dtype=np.float32),
    "ints and floats": lambda np, x: np.array([1, x[0, 0], True]),
    "float32 and a number": lambda np, x: np.array([np.float32(1), 2.5]) * x[0, 0],
    "stack": lambda np, x: np.stack([[x[0, 0], 1.0], [2.0, x[1, 0]]], axis=1),
    "concatenate": lambda np, x: np.concatenate([[x[0, 0]], x[1]]),
    "ufunc": lambda np, x: np.sin([x[0, 0], x[1, 0]]),
    "binary ufunc": lambda np, x: np.add(x, [[x[0, 0]], [2]]),
    "operator": lambda np, x: x * [[x[0, 0]], [2]] + ((x[1, 0],), (1,)),
    "comparison": lambda np, x: x > [[x[0, 0]], [0]],
    "where": lambda np, x: np.where([True, False], [x[0, 0], x[1, 0]], [1, 2]),
    "max": lambda np, x: np.max([x[0, 0], x[1, 0]]),
    "dot": lambda np, x: np.dot([x[0, 0], 2], x),
    "matmul": lambda np, x: [x[0, 0], x[1, 0]] @ x,
    "cross": lambda np, x: np.cross([x[0, 0], 1, 2], [3, x[1, 0], 4]),
    "norm": lambda np, x: np.linalg.norm([x[0, 0], x[1, 0]]),
    "solve": lambda np, x: np.linalg.solve([[2, x[0, 0]], [x[1, 0], 3]], x),
    "sort": lambda np, x: np.sort([x[1, 0], x[0, 0]]),
    "einsum": lambda np, x: np.einsum("i,ij->j", [x[0, 0], 1.0], x),
    "interp": lambda np, x: np.interp([x[0, 0]], [-1, 0, 1], [1, x[1, 0], 2]),
    "outer": lambda np, x: np.outer([1, x[0, 0]], [x[1, 0], 2]),
    "sizes": lambda np, x: np.array([x.shape[0], x.shape[1], 5]) * np.mean([x.shape[1], 2]),
    "shape": lambda np, x: x * np.ndim([x]) + np.size([x[0, 0], 1]),
    "write": written,
    "full": lambda np, x: np.full((3, 2), [x[0, 0], 1]),
    "vstack": lambda np, x: np.vstack([[x[0, 0], 1], [2, 3]]),
    "append": lambda np, x: np.append(x[0], [x[1, 0], 1]),
    "block": lambda np, x: np.block([[x[0, 0], 1.0]]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lists_of_traced_values_are_array_likes(name):
    function = jit(lambda x: PROGRAMS[name](anp, x))
    for n in (3, 1, 2, 5):
        x = np.resize(X, (2, n))
        result, expected = function(x), PROGRAMS[name](np, x)
        np.testing.assert_allclose(result, expected, rtol=1e-13)
        assert np.shape(result) == np.shape(expected) and np.asarray(result).dtype == np.asarray(expected).dtype
    assert function.cache_info().traces <= 2


DECIDING = ("comparison", "dtype", "full")


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {*DECIDING}))
def test_programs_of_lists_are_differentiated(name):
    def program(x):
        return anp.sum(anp.sin(PROGRAMS[name](anp, x)) * 1.0)

    check_grads(program, (X,), order=1 + len(name) % 2)
    batch = np.stack([X, 2 * X])
    np.testing.assert_allclose(vmap(program)(batch), [program(x) for x in batch], rtol=1e-12)


def test_numpy_itself_joins_lists_where_its_protocols_reach():
    def program(x):
        rows = np.stack([x[0] * 2, x[1]])
        return np.concatenate([rows, np.add(x, [[x[0, 0]], [1]]), np.where(x > 0, [[x[1, 0]], [2]], x)])

    np.testing.assert_allclose(jit(program)(X), program(X))


def test_an_array_of_scalars_is_one_concatenation():
    program = trace(lambda x: anp.array([[x[0], x[1]], [x[1], x[0]]]))(ShapeDtypeStruct("2"))
    assert program(np.array([1.5, 2.5])).tolist() == [[1.5, 2.5], [2.5, 1.5]]
    assert str(program).count("= concatenate(") == 1


def test_lists_of_uneven_members_are_refused_in_words_of_sizes():
    with pytest.raises(AnyshapeError, match="members 0 and 1 of the list have 1 and 0 axes"):
        jit(lambda x: anp.array([x[0], 1.0]))(X)
    with pytest.raises(AnyshapeError, match=r"x.shape\[1\] \(3\) must equal"):
        jit(lambda x: anp.array([x[0], [1.0, 2.0]]))(X)
    uneven = jit(lambda x, y: anp.array([x, y]))
    assert uneven(np.ones(2), np.zeros(2)).tolist() == [[1, 1], [0, 0]]
    with pytest.raises(SizeMismatchError, match=r"x.shape\[0\] \(2\) must equal y.shape\[0\] \(3\)"):
        uneven(np.ones(2), np.ones(3))


# functions for which a list means something else than an array
NO_ARRAYS = {"block", "pad", "piecewise"}
MATRIX = np.array([[2.0, 0.5], [0.25, 1.0]])


def outcome(call, x):
    try:
        results = jit(call)(x)
    except Exception:
        return None
    return results if isinstance(results, (tuple, list)) else [results]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(anp.__all__) - NO_ARRAYS))
def test_every_function_takes_a_list_where_it_takes_an_array(name):
    function = getattr(anp, name)
    if not callable(function) or isinstance(function, type):
        return
    for pattern in ("x", "xx", "x1", "xxx"):

        def call(x, pattern=pattern):
            return function(*[x if a == "x" else int(a) for a in pattern])

        expected = outcome(call, MATRIX)
        if expected is not None:
            result = outcome(lambda x: call([[x[0, 0], x[0, 1]], (x[1, 0], x[1, 1])]), MATRIX)
            assert result is not None, pattern
            for a, b in zip(result, expected, strict=True):
                np.testing.assert_allclose(a, b)
