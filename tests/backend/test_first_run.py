"""First runs of small programs, without compiled code: they keep what plans promise, or leave the call to the plan."""

import threading
import warnings

import numpy as np
import pytest

import anyshape
from anyshape import grad, jit
from anyshape.backend import first_run as first_runs
from anyshape.program.planner import Planner


@pytest.fixture
def compiled(monkeypatch):
    """The programs that were compiled, by name."""
    monkeypatch.setenv("ANYSHAPE_CHECK", "0")  # checks are made by compiled code
    monkeypatch.setattr(anyshape.config, "optimize", "auto")
    names, compile_graph = [], Planner.compile
    monkeypatch.setattr(
        Planner, "compile", lambda self, *args, **kw: names.append(self.graph.name) or compile_graph(self, *args, **kw)
    )
    return names


def of_sin(x):
    return np.sum(np.sin(x) ** 2)


def test_the_first_calls_compile_nothing_and_the_next_one_does(compiled):
    f, x = jit(anyshape.value_and_grad(of_sin)), np.arange(3.0)
    first, *_ = [f(x) for _ in range(first_runs.CALLS)]
    assert compiled == []
    for again in (f(x), f(x)):
        assert len(compiled) == 1
        np.testing.assert_allclose(again[1], first[1], rtol=1e-15)
        assert [type(y) for y in again] == [type(y) for y in first] == [np.float64, np.ndarray]
    np.testing.assert_allclose(first[1], np.sin(2 * x), rtol=1e-14)


def decides(x):
    return np.sin(x) if x.sum() > 0 else -x


CASES = {  # functions with arguments of a first call; whether that call needs a plan
    "run-time sizes": (lambda x: np.sum(x[x > 0.5] ** 2), [np.arange(4.0)], False),
    "a decision": (decides, [np.arange(3.0)], False),
    "sizes that broadcast": (lambda x, y: x * y, [np.ones((3, 1)), np.arange(4.0)], False),
    "a product": (lambda x, y: np.tanh(x @ y), [np.eye(3), np.arange(3.0)], False),
    "no elements": (lambda x: np.sum(x), [np.ones(0)], False),
    "NaN": (lambda x: np.max(x) + x, [np.array([1.0, np.nan])], False),
    "integers that wrap": (lambda x: x * 2, [np.array([2**62], np.int64)], False),
    "many elements": (lambda x: x[:, None] * x, [np.ones(200)], True),
    "a loop": (lambda x: anyshape.fori_loop(0, 3, lambda i, c: c * x, x), [np.ones(3)], True),
    "a system of equations": (np.linalg.solve, [np.eye(2), np.ones(2)], True),
}


@pytest.mark.parametrize("name", CASES)
def test_both_runs_give_what_numpy_gives(name, compiled):
    function, arguments, needs_plan = CASES[name]
    f = jit(function)
    expected = arguments[0] ** 4 if name == "a loop" else function(*arguments)
    for number in range(first_runs.CALLS + 2):
        np.testing.assert_allclose(f(*arguments), expected, rtol=1e-14)
        assert bool(compiled) is (needs_plan or number >= first_runs.CALLS)


def test_results_are_arrays_of_their_own(compiled):
    x = np.arange(3.0)
    y, z, w = jit(lambda x: (x, x[::-1], np.broadcast_to(x, (2, 3))))(x)
    assert compiled == []
    for result in (y, z, w):
        result[...] = 7
    np.testing.assert_array_equal(x, [0, 1, 2])


@pytest.mark.parametrize(
    "function",
    [np.any, np.sum, np.count_nonzero, lambda x: x.astype(np.int8), lambda x: np.sum(x).astype(np.int8), np.mean],
)
@pytest.mark.parametrize("x", [True, 3, np.float64(2.5), np.array(2.5), np.arange(3.0)], ids=str)
def test_results_without_axes_have_one_type_in_all_calls(function, x, compiled):
    f = jit(function)
    assert len({type(f(x)) for _ in range(first_runs.CALLS + 1)}) == 1


def test_another_path_is_another_program(compiled):
    f, x = jit(decides), np.arange(3.0)
    for argument in (x, -x, x, -x):
        np.testing.assert_allclose(f(argument), decides(argument))


def divided(x):
    return 1 / x


def of_log(x):
    return np.sum(np.log(x))


def averaged(x):
    return np.mean(x)


@pytest.mark.parametrize(
    ("function", "x"), [(divided, np.array([0.0, 1.0])), (averaged, np.ones(0)), (of_log, np.array([-1.0]))]
)
def test_each_call_warns_as_numpy_does(function, x, compiled):
    f = jit(function)
    with np.errstate(all="warn"), pytest.warns(RuntimeWarning) as expected:
        function(x)
    for _ in range(2):
        with np.errstate(all="warn"), pytest.warns(RuntimeWarning) as seen:
            f(x)
        assert {str(w.message) for w in seen} <= {str(w.message) for w in expected}
        assert {w.filename for w in seen} == {__file__}


def test_the_modes_of_numpy_count(compiled):
    x = np.array([0.0, 1.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match=r"test_first_run\.py"):
        jit(divided)(x)
    assert compiled
    compiled.clear()
    with np.errstate(all="ignore"), warnings.catch_warnings(action="error"):
        np.testing.assert_array_equal(jit(divided)(x), [np.inf, 1])
    assert compiled == []


def test_sizes_that_do_not_fit_are_refused_in_the_same_words(compiled):
    program = anyshape.trace(lambda x, y: np.sin(x) + y)("n", "n")
    other = anyshape.trace(lambda x, y: np.sin(x) + y)("n", "n")
    other(np.ones(2), np.ones(2)), other(np.ones(2), np.ones(2))
    texts = []
    for p in (program, other):
        with pytest.raises(ValueError, match="y") as refusal:
            p(np.ones(3), np.ones(2))
        texts.append(str(refusal.value))
    assert texts[0] == texts[1]


def test_a_mask_that_keeps_other_sizes_than_it_must_is_refused(compiled):
    f = jit(lambda x, y: x[x > 0] + y)
    with pytest.raises(ValueError, match="must equal"):
        f(np.arange(4.0), np.ones(2))


def test_writes_to_arguments_and_prints_happen_once(compiled, capsys):
    def fill(x):
        x[0] = 5.0
        anyshape.debug.print("x[1] is {}", x[1])
        return np.sum(x)

    x = np.arange(3.0)
    assert jit(fill)(x) == 8
    assert x[0] == 5
    assert capsys.readouterr().out.count("x[1]") == 1


def test_settings_that_ask_for_one_plan_get_it(compiled, monkeypatch):
    monkeypatch.setattr(anyshape.config, "reproducible", True)
    jit(of_sin)(np.ones(2))
    assert len(compiled) == 1
    monkeypatch.setattr(anyshape.config, "reproducible", False)
    for options in ({"optimize": "now"}, {"optimize": "off"}, {"max_bytes": 10_000}):
        jit(lambda x: of_sin(x), **options)(np.ones(2))
    assert len(compiled) == 4


def test_threads_that_call_at_once_get_their_results(compiled):
    f, results = grad(of_sin), {}
    start = threading.Barrier(4)
    f(np.ones(1))

    def call(i):
        start.wait()
        results[i] = [f(np.full(3, i + k)) for k in range(3)]

    threads = [threading.Thread(target=call, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, values in results.items():
        for k, value in enumerate(values):
            np.testing.assert_allclose(value, np.sin(2 * np.full(3, i + k)), rtol=1e-14)
    assert len(compiled) == 1


def test_an_interrupt_passes(compiled, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    f = jit(of_sin)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(first_runs._FirstRun, "outputs", interrupt)
        f(np.ones(2))
    np.testing.assert_allclose(f(np.ones(2)), 2 * np.sin(1.0) ** 2)
