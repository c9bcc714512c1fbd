"""Test the namespace of traced arrays, and packages that ask for it."""

import pickle
import sys

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import grad, jit
from anyshape.errors import ConcretizationError

X = np.array([2.0, np.nan, 1.0, 2.0, -1.0])
CODE = """
def array_namespace(x):
    return x.__array_namespace__()

def _checked(function):
    return lambda *args: function(*args)

@_checked
def score(x, y):
    xp = array_namespace(x)
    total = xp.zeros(1)
    for i in range(x.shape[0]):
        total[0] += (x[i] - y[i]) ** 2
    if total[0] > 100:
        total = total / 2
    return float(total[0])
"""


@pytest.mark.parametrize(
    "made",
    [
        lambda xp, x: xp.asarray(1.0),
        lambda xp, x: xp.zeros(3),
        lambda xp, x: xp.linspace(0.0, 1.0, 3),
        lambda xp, x: xp.meshgrid(xp.arange(2), xp.arange(3))[1],
        lambda xp, x: xp.unique_all(xp.asarray([2, 1, 2])).counts,
        lambda xp, x: xp.sum(np.ones(3)),
        lambda xp, x: xp.asarray(X),
        lambda xp, x: xp.linalg.inv(np.eye(2)),
        lambda xp, x: xp.fft.fftfreq(4),
        lambda xp, x: xp.unique_counts(x).counts,
    ],
)
def test_all_arrays_of_the_namespace_are_of_it(made):
    def function(x):
        xp = x.__array_namespace__()
        array = made(xp, x)
        assert array.__array_namespace__() is xp and not xp.isdtype(array.dtype, "bool")
        return array

    np.testing.assert_array_equal(jit(function)(X), made(np, X))


def test_a_result_can_be_written_to_and_the_array_it_was_made_of_stays():
    outside = np.arange(3.0)

    def function(x):
        array = x.__array_namespace__().asarray(outside)
        array[0] = x[0]
        return array

    np.testing.assert_array_equal(jit(function)(X), [2.0, 1.0, 2.0])
    np.testing.assert_array_equal(outside, [0.0, 1.0, 2.0])


def test_arrays_that_a_trace_makes_are_of_the_namespace_and_can_be_written_to():
    def function(x):
        made = np.zeros(3)
        assert made.__array_namespace__() is x.__array_namespace__() is (made + 1).__array_namespace__()
        made[0] = x[0]
        return made, made.__array_namespace__().sum(made)

    made, total = jit(function)(X)
    np.testing.assert_array_equal(made, [2.0, 0.0, 0.0])
    assert total == 2.0


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorts_take_the_options_of_the_standard(axis):
    ordered = jit(
        lambda x: [getattr(x.__array_namespace__(), f)(x, axis=axis, descending=True) for f in ("sort", "argsort")]
    )
    for shape in [(5, 2), (1, 3), (0, 2), (4, 4)]:
        x = np.round(np.random.default_rng(0).normal(size=shape))
        values, positions = ordered(x)
        np.testing.assert_array_equal(values, -np.sort(-x, axis=axis))
        np.testing.assert_array_equal(positions, np.argsort(-x, axis=axis, kind="stable"))


def test_functions_that_answer_with_dtypes_and_numbers_are_those_of_numpy():
    answers = []
    jit(lambda x: (x, answers.append(x.__array_namespace__()))[0])(X)
    (xp,) = answers
    assert xp.float32 is np.float32 and xp.pi == np.pi and xp.result_type(xp.float32, xp.int8) == np.float32
    assert xp.__array_namespace_info__().capabilities()["data-dependent shapes"] is True
    assert pickle.loads(pickle.dumps(xp)) is xp and xp.__name__ == "anyshape.numpy" and set(dir(xp)) == set(dir(anp))


CODE_OF_MEMORY = """
import numpy as np
def array_namespace(*arrays):
    return np
def predict(x):
    total = 0.0
    for rows in (np.asarray(x, float), np.stack([x, x])[0], x.astype(float), np.broadcast_arrays(x, x)[0]):
        total += sum(memoryview(np.ascontiguousarray(rows)))
    return total
"""


@pytest.mark.parametrize("is_for_any_namespace", [True, False])
def test_packages_that_ask_for_namespaces_are_read(tmp_path, monkeypatch, is_for_any_namespace):
    name = f"consumer_{is_for_any_namespace}".lower()
    folder = tmp_path / "site-packages" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(CODE if is_for_any_namespace else CODE.replace("array_namespace(", "own("))
    monkeypatch.syspath_prepend(folder.parent)
    score = __import__(name).score
    loss = lambda x, y: score(x, y)
    x, y = np.arange(4.0), np.ones(4)
    if not is_for_any_namespace:
        with pytest.raises(ConcretizationError):
            jit(loss)(x, y)
        return
    step = jit(loss)
    for n in (4, 3, 0):
        assert step(x[:n], y[:n]) == np.sum((x[:n] - y[:n]) ** 2)
    np.testing.assert_allclose(grad(loss)(x, y), 2 * (x - y))
    assert step(100 * x, y) == np.sum((100 * x - y) ** 2) / 2
    del sys.modules[name]


def test_arrays_that_packages_make_are_memory_to_code_in_c(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages" / "consumer_of_memory"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(CODE_OF_MEMORY)
    monkeypatch.syspath_prepend(folder.parent)
    predict = __import__("consumer_of_memory").predict
    step = jit(lambda x: x * predict(X))
    for n in (3, 1, 0):
        np.testing.assert_array_equal(step(X[:n]), X[:n] * predict(X))
    assert step.cache_info().traces == 1
    del sys.modules["consumer_of_memory"]


def test_flags_say_what_can_be_written_to():
    answers = []

    def function(x):
        answers.append([a.flags.writeable for a in (x, x + 1, x[1:], np.broadcast_to(x, (2, x.shape[0])), np.sum(x))])
        answers.append(x.flags["WRITEABLE"])
        return x

    jit(function)(X)
    assert answers[0] == [True, True, True, False, False] and answers[1] is True
