"""Decisions of Python on values: every call gets the path that Python takes, whichever paths were traced before."""

import itertools
import logging
import math
import threading
import warnings

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, errors, explain, export, grad, hessian, jit, jvp, trace, value_and_grad, vmap

pytestmark = pytest.mark.usefixtures("as_written")

SIZES = (0, 1, 2, 5)
RNG = np.random.default_rng(0)


def chooses(x):
    if np.sum(x) > 0:
        return np.sum(x * x)
    return -np.sum(x)


def chooses_elsewhere(x):
    s = np.sum(x)
    if s > 1.0:
        s = 1.0 + 2 * (np.sqrt(s) - 1.0)
    if np.any(x > 0.5):
        s = s + np.sum(np.exp(-x))
    return s


def newton(x):
    s = np.sum(x * x) + 0.5
    y = s * 0 + 1.0
    while abs(y * y - s) > 1e-10:
        y = 0.5 * (y + s / y)
    return y


def backtracks(x):
    def f(z):
        return np.sum((z - 1.0) ** 4) + np.sum(z**2)

    g, t = 4 * (x - 1.0) ** 3 + 2 * x, 1.0
    while f(x - t * g) > f(x) - 0.25 * t * np.sum(g * g):
        t *= 0.5
    return f(x - t * g)


def bisects(x):
    low, high = np.sum(x) * 0, np.sum(x * x) + 1.0
    for _ in range(6):
        middle = 0.5 * (low + high)
        if middle * middle > np.sum(x * x) + 0.3:
            high = middle
        else:
            low = middle
    return low + np.sum(x)


def loops_by_value(x):
    total = np.sum(x)
    for i in range(int(np.sum(np.abs(x))) % 4):
        total = total + np.sum(np.sin(x) * i)
    return total


def asks_in_every_way(x):
    s = np.sum(x)
    total = max(s, 0.5) * s + sorted([s, s * s, 0.3])[1] + min(s, -0.1)
    if not s > 2 and (s > -1 or np.all(x < 0)):
        total = total * 2
    if np.sign(s) in [1, 3]:
        total = total + s**3
    return total + [1.0, 2.0, 3.0][np.sum(x > 0) % 3] * s


FUNCTIONS = [chooses, chooses_elsewhere, newton, backtracks, bisects, loops_by_value, asks_in_every_way]


def derivative(f, x):
    """Return differences along each axis, None where a path changes nearby."""
    rows, e = [], 1e-6
    for unit in np.eye(len(x)):
        at = [f(x + k * e * unit) for k in (-2, -1, 0, 1, 2)]
        if abs(at[3] + at[1] - 2 * at[2]) > 1e-6 * (1 + abs(at[2])):
            return None
        rows.append((at[3] - at[1]) / (2 * e))
    return np.array(rows)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_call_takes_the_path_of_python(function):
    runs = jit(function), jit(value_and_grad(function)), value_and_grad(jit(function)), grad(function)
    for call in range(40):
        x = RNG.normal(size=SIZES[call % 4]) * (0.3, 1, 2)[call % 3]
        expected = function(x)
        value, (v1, g1), (v2, g2), g3 = [run(x) for run in runs]
        np.testing.assert_allclose([value, v1, v2], expected, rtol=1e-12)
        np.testing.assert_array_equal(g1, g2)
        np.testing.assert_array_equal(g1, g3)
        numeric = derivative(function, x)
        if numeric is not None:
            np.testing.assert_allclose(g1, numeric, rtol=2e-4, atol=2e-4)
    assert runs[0].cache_info().traces < 30


@pytest.mark.parametrize("function", [chooses, chooses_elsewhere, newton, loops_by_value])
def test_higher_derivatives_are_of_the_path_taken(function):
    forward = jit(lambda x, t: jvp(function, (x,), (t,)))
    matrix = hessian(function)
    for n, _ in itertools.product(SIZES, range(3)):
        x, t = RNG.normal(size=n), RNG.normal(size=n)
        value, tangent = forward(x, t)
        gradient = grad(function)(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        np.testing.assert_allclose(tangent, gradient @ t, rtol=1e-9, atol=1e-12)
        change = (grad(function)(x + 1e-6 * t) - grad(function)(x - 1e-6 * t)) / 2e-6
        np.testing.assert_allclose(matrix(x) @ t, change, rtol=1e-4, atol=1e-4)


def test_results_of_paths_may_differ_in_structure_and_rank():
    @jit
    def function(x, flag):
        if flag:
            return {"a": x, "b": x.sum()}
        return x[:, None], 3

    for flag in (True, False, True, False):
        for n in SIZES:
            result = function(np.arange(float(n)), flag)
            assert isinstance(result, dict) is flag
            assert (result["a"] if flag else result[0]).shape == ((n,) if flag else (n, 1))
    assert function.cache_info().traces == 2


def test_sizes_and_answers_change_together():
    @jit
    def function(x):
        y = x * 2 if x.sum() > 0 else x * 3
        z = y + 1 if x.shape[0] > 2 else y - 1
        return z * 5 if x.sum() > 4 else z

    def eager(x):
        return function.function(x)

    for _ in range(60):
        x = RNG.normal(size=RNG.integers(0, 6)) * 3
        np.testing.assert_array_equal(function(x), eager(x))
    assert function.cache_info().traces <= 6


def test_captured_state_that_changes_is_no_stale_answer():
    state = {"limit": 0.0, "scale": np.array(2.0)}

    @jit
    def function(x):
        return x * state["scale"] if x > state["limit"] else -x

    assert [function(v) for v in (1.0, -1.0, 1.0)] == [2.0, 1.0, 2.0]
    state["limit"] = 3.0
    assert [function(v) for v in (1.0, -1.0, 4.0)] == [-1.0, 1.0, 8.0]
    state["scale"][...] = 5.0
    assert [function(v) for v in (4.0, 1.0, 4.0)] == [20.0, -1.0, 20.0]


def test_a_jitted_function_that_decides_inside_of_another_one():
    inner = jit(lambda x: x * 2 if x.sum() > 0 else x * 3)
    outer = jit(lambda x: np.sum(inner(x)) + np.sum(inner(-x)))
    for x in (np.ones(2), -np.ones(3), np.zeros(1), np.zeros(0)):
        assert outer(x) == np.sum(np.where(x.sum() > 0, 2, 3) * x) - np.sum(np.where(-x.sum() > 0, 2, 3) * x)
        np.testing.assert_array_equal(inner(x), (2 if x.sum() > 0 else 3) * x)


def test_one_derivative_inside_of_another_function_that_decides():
    def function(x):
        slope = grad(lambda y: np.sum(y**2) if y[0] > 0 else np.sum(y**3))(x)
        return np.sum(slope) if slope[0] > 1 else np.sum(slope * slope)

    def eager(x):
        slope = 2 * x if x[0] > 0 else 3 * x**2
        return np.sum(slope) if slope[0] > 1 else np.sum(slope * slope)

    run = jit(function)
    for x in ([1.0, 2.0], [0.1, 2.0], [-1.0, 1.0], [-0.1, 1.0], [2.0, 2.0]):
        np.testing.assert_allclose(run(np.array(x)), eager(np.array(x)), rtol=1e-14)


def test_one_program_for_each_path_and_no_trace_beyond():
    run = jit(newton)
    for x in np.linspace(0.1, 5, 30):
        run(np.array([x]))
    traces = run.cache_info().traces
    assert traces == len({len(e.path) for e in run._cache.entries()}) == run.cache_info().entries
    for x in np.linspace(0.1, 5, 30):
        run(np.array([x]))
    assert run.cache_info().traces == traces


def test_examples_that_decide_alike_are_batched_and_others_are_a_loop():
    run = vmap(chooses)
    for rows in (np.ones((3, 2)), -np.ones((2, 4)), np.ones((1, 1)), np.ones((2, 3))):
        np.testing.assert_array_equal(run(rows), [chooses(row) for row in rows])
    assert run(np.zeros((0, 3))).shape == (0,)
    apart = np.array([[1.0], [-1.0]])
    np.testing.assert_array_equal(run(apart), [chooses(row) for row in apart])
    with pytest.raises(errors.DecisionError, match=r"decide differently: True and False at .*\n.*np.where.*cond"):
        vmap(lambda x: (x,) if np.sum(x) > 0 else x)(apart)
    np.testing.assert_array_equal(vmap(grad(chooses))(np.ones((2, 3))), np.full((2, 3), 2.0))
    np.testing.assert_array_equal(vmap(vmap(chooses))(np.ones((2, 3, 1))), np.ones((2, 3)))
    shared = vmap(lambda x, s: x if s > 0 else -x, in_axes=(0, None))
    np.testing.assert_array_equal(shared(np.array([1.0, -1.0]), -1.0), [-1.0, 1.0])


def test_integers_that_become_sizes_bounds_and_indices():
    def function(x, k):
        parts = [np.zeros(k).sum(), x[: int(k)].sum(), [1.0, 2.0, 3.0, 4.0][k], k.item() if hasattr(k, "item") else k]
        return sum(parts) + sum(x.sum() * i for i in range(k)) + float(k)

    run = jit(function)
    for k in (0, 3, 1, 0, 2, 3):
        for kind in (int, np.int64, np.array):
            x = RNG.normal(size=4)
            np.testing.assert_allclose(run(x, kind(k)), function(x, int(k)), rtol=1e-14)
    assert run.cache_info().traces <= 12


@pytest.mark.parametrize("value", [2.7, -2.7, 0.0, -0.5, 1e9])
def test_an_integer_of_a_float(value):
    def function(x):
        return x * 0 + int(x) + 10 * math.floor(x) + 100 * math.ceil(x) + 1000 * math.trunc(x)

    assert jit(function)(value) == function(value)


def test_the_errors_of_python_are_those_of_the_value():
    run = jit(lambda x: int(x))
    assert run(3.5) == 3
    for value, kind in ((math.nan, ValueError), (math.inf, OverflowError), (-math.inf, OverflowError)):
        with pytest.raises(kind, match="cannot convert float"):
            run(value)
    truth = jit(lambda x: 1.0 if x else 2.0)
    assert [float(truth(np.array(v))) for v in ([1.0], [0.0], [[2.0]], math.nan)] == [1.0, 2.0, 1.0, 1.0]
    for n in (0, 2):
        with pytest.raises(ValueError, match="ambiguous"):
            truth(np.ones(n))


def test_floats_of_python_are_refused():
    for function in (lambda x: x * float(x), lambda x: x * x.item(), lambda x: math.sin(x)):
        for transform in (jit, grad):
            with pytest.raises(errors.ConcretizationError, match=r"constant of every derivative|write np.sin"):
                transform(function)(np.float64(1.5))


def test_an_exception_is_raised_on_its_path_alone():
    @jit
    def function(x):
        assert x.sum() < 10, "too large"
        if x[0] < 0:
            raise KeyError("negative")
        return np.sqrt(x)

    for _ in range(2):
        np.testing.assert_array_equal(function(np.ones(3)), np.ones(3))
        with pytest.raises(KeyError, match="negative"):
            function(-np.ones(3))
        with pytest.raises(AssertionError, match="too large"):
            function(np.full(3, 9.0))


def test_an_error_of_the_wrong_path_is_none_of_the_call():
    """The product of the first path has other sizes in the second: its program may raise before its decision."""

    @jit
    def function(x, k):
        y = np.linalg.inv(x)
        if k.sum() > 0:
            anyshape.check(k > 0, "all are positive")
            return y @ x
        return x

    eye = np.eye(2)
    np.testing.assert_array_equal(function(eye, np.ones(2)), eye)
    np.testing.assert_array_equal(function(eye, -np.ones(2)), eye)
    with pytest.raises(errors.CheckError, match="all are positive"):
        function(eye, np.array([3.0, -1.0]))
    with pytest.raises(np.linalg.LinAlgError):
        function(eye * 0, np.ones(2))


def test_sizes_that_one_path_alone_demands():
    @jit
    def function(x, w, k):
        return np.sum(x + w) if k > 0 else np.sum(x) * np.sum(w)

    for _ in range(6):
        assert function(np.ones(3), np.ones(3), 1) == 6
        assert function(np.ones(3), np.ones(2), -1) == 6
        with pytest.raises(ValueError, match=r"x \+ w"):
            function(np.ones(3), np.ones(2), 1)


def test_no_warning_of_a_path_that_is_left(recwarn):
    run = jit(lambda x: np.log(x) if x > 0 else x)
    with np.errstate(all="warn"):
        for x in (1.0, -1.0, 0.0, 2.0, -1.0):
            assert run(x) == (np.log(x) if x > 0 else x)
    assert not [w for w in recwarn if w.category is RuntimeWarning]


@pytest.mark.parametrize("program", [trace, export])
def test_a_program_for_all_calls_refuses(program):
    with pytest.raises(errors.ConcretizationError, match=r"np.sum\(x\) > 0: .* at .*:\d+\n.*cond.*while_loop"):
        program(chooses)(ShapeDtypeStruct("n"))


def test_on_decision_error_covers_values():
    strict = jit(lambda x: x if x[0] > 0 else -x, on_decision="error")
    with pytest.raises(errors.ConcretizationError, match=r"x\[0\] > 0: .*\n.*on_decision"):
        strict(np.ones(3))


def test_the_bodies_of_loops_and_branches_refuse_with_the_line():
    def body(c, y):
        return (c + 1 if y > 0 else c), y

    for function in (
        lambda x: anyshape.scan(body, 0.0, x)[0],
        lambda x: anyshape.cond(x[0] > 0, lambda: x if x[1] > 0 and (x * 2)[0] > 1 else -x, lambda: x),
        lambda x: anyshape.while_loop(lambda c: c < 3, lambda c: c + 1 if c > 0 else c + 2, x[0]),
    ):
        with pytest.raises(errors.ConcretizationError, match=r"test_decisions.py:\d+\n.*cond.*while_loop"):
            jit(function)(np.ones(3))


def test_decisions_in_a_checkpoint():
    def function(x):
        return np.sum(anyshape.checkpoint(lambda y: np.sin(y) * 2 if y.sum() > 0 else np.cos(y))(x) ** 2)

    def eager(x):
        return np.sum(4 * np.sin(x) ** 2) if x.sum() > 0 else np.sum(np.cos(x) ** 2)

    run = jit(value_and_grad(function))
    for _, n in itertools.product(range(3), SIZES):
        x = RNG.normal(size=n)
        value, gradient = run(x)
        np.testing.assert_allclose(value, eager(x), rtol=1e-13)
        np.testing.assert_allclose(gradient, derivative(eager, x), rtol=1e-5, atol=1e-6)


def test_rules_of_the_user_around_decisions():
    @anyshape.custom_vjp
    def clipped(x):
        return np.sum(x) if np.sum(x) > 0 else np.sum(x) * 0.5

    clipped.defvjp(lambda x: (clipped(x), x), lambda x, ct: (ct * 7 * np.ones_like(x),))
    for run in (grad(clipped), jit(grad(clipped))):
        for x in (np.ones(2), -np.ones(2), np.ones(3)):
            np.testing.assert_array_equal(run(x), np.full(len(x), 7.0))
    values = jit(clipped)
    assert [float(values(x)) for x in (np.ones(2), -np.ones(2), np.ones(3))] == [2.0, -1.0, 3.0]


def test_a_function_called_back_before_a_decision():
    calls = []

    def seen(x):
        calls.append(float(x))
        return x + 1

    run = jit(lambda x: x if anyshape.pure_callback(seen, ShapeDtypeStruct(()), x) > 0 else -x)
    assert [float(run(v)) for v in (1.0, -3.0, 1.0, -3.0)] == [1.0, 3.0, 1.0, 3.0]


def test_a_bound_on_paths(recwarn):
    before, anyshape.config.max_paths = anyshape.config.max_paths, 3
    try:
        run = jit(lambda x, k: x * k if int(k) % 2 else x.sum() + k)
        for k in (0, 1, 2, 3, 4, 5, 1, 6, 3, 0):
            np.testing.assert_array_equal(run(np.arange(3.0), k), np.arange(3.0) * k if k % 2 else 3.0 + k)
        assert run.cache_info().entries == 3
        (said,) = [w for w in recwarn if "max_paths" in str(w.message)]
        assert said.category is errors.ManyPathsWarning and said.filename == __file__
    finally:
        anyshape.config.max_paths = before
    with pytest.raises(errors.ArgumentError, match="max_paths"):
        anyshape.config.max_paths = -1


def test_a_loop_that_goes_on_by_a_value_is_named_once():
    def halves(x):
        while x > 1:
            x = x * 0.5
        return x

    run = jit(halves)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert run(50.0) == halves(50.0) and not caught
        assert run(1000.0) == halves(1000.0) and run(5000.0) == halves(5000.0)
    (said,) = caught
    assert "while_loop" in str(said.message) and "goes on by a value" in str(said.message)
    assert (said.filename, said.lineno) == (__file__, halves.__code__.co_firstlineno + 1)


def smallest(x):
    result = x[0] * 0 + 9
    for i in range(3):
        for j in range(4):
            result = min(result, x[i] + j)
    return result


def positive(x):
    total = 0.0
    for v in x:
        total = total + (v if v > 0 else 0.0)
    return total


@pytest.mark.parametrize(
    ("function", "said", "advice"),
    [(smallest, "min or max of Python", "np.minimum or np.maximum"), (positive, "decides on values", "np.where")],
)
def test_decisions_in_a_row_are_named_by_what_asks(function, said, advice):
    x = np.linspace(-1.0, 1.0, 9)
    with pytest.warns(errors.ManyPathsWarning) as caught:
        np.testing.assert_allclose(jit(function)(x), function(x))
    (text,) = [str(w.message) for w in caught if w.category is errors.ManyPathsWarning]
    assert said in text and advice in text and "goes on" not in text


def test_elements_of_an_array():
    run = jit(lambda x, v: x if v in x else -x)
    for x, v in (([1.0, 2.0], 2.0), ([1.0, 2.0], 3.0), ([], 1.0), ([1.0], 1.0)):
        np.testing.assert_array_equal(run(np.array(x), v), np.array(x) * (1 if v in x else -1))


def test_the_tree_is_printed():
    run = jit(chooses_elsewhere)
    for x in (np.ones(2), -np.ones(2), np.ones(2), np.array([0.7, 0.1]), np.full(2, 0.45)):
        run(x)
    text = str(run.explain())
    assert "s > 1.0 is True  # test_decisions.py" in text and "np.any(x > 0.5) is False" in text
    paths = {tuple([d.answer for d in p.path]): p.calls for p in run.explain().programs}
    assert paths == {(True, True): 2, (False, False): 2, (False, True): 1}
    served = str(explain(run)(-np.ones(3)))
    assert "served by program 2, cached" in served and run.cache_info().traces == run.cache_info().entries
    reason = str(run.explain().programs[1].because[0])
    assert reason.startswith("s > 1.0 (test_decisions.py") and "True when traced, False now" in reason


def test_a_program_taken_out_of_the_cache_has_one_path():
    run = jit(chooses)
    run(np.ones(2))
    (program,) = run.programs()
    assert program(np.ones(3)) == 3
    with pytest.raises(errors.DecisionError, match=r"True and False at .*test_decisions.py"):
        program(-np.ones(3))
    for around in (jit(lambda x: program(x) * 2), grad(program)):
        with pytest.raises(errors.ArgumentError, match="has one path of it"):
            around(np.ones(3))


def test_a_saved_program_has_one_path(tmp_path):
    run = jit(chooses)
    run(np.ones(2))
    run.programs()[0].save(tmp_path / "one")
    program = anyshape.load(tmp_path / "one")
    assert program(np.ones(3)) == 3
    with pytest.raises(errors.DecisionError, match="True and False"):
        program(-np.ones(3))


def test_programs_of_paths_travel_with_the_function():
    cloudpickle = pytest.importorskip("cloudpickle")
    run = jit(lambda x: x * 2 if x.sum() > 0 else x * 3).with_programs()
    for x in (np.ones(2), -np.ones(2)):
        run(x)
    copy = cloudpickle.loads(cloudpickle.dumps(run))
    for x in (np.ones(3), -np.ones(3), np.ones(1)):
        np.testing.assert_array_equal(copy(x), x * (2 if x.sum() > 0 else 3))


@pytest.mark.parametrize("sent", [[0], [0, 2]])
def test_a_path_that_did_not_travel_is_traced(sent):
    cloudpickle = pytest.importorskip("cloudpickle")
    run = jit(lambda n: np.ones(n[0])).with_programs()
    for n in sent:
        run(np.array([n]))
    copy = cloudpickle.loads(cloudpickle.dumps(run))
    for n in (1, 2, 0, 3):
        np.testing.assert_array_equal(copy(np.array([n])), np.ones(n))


def test_threads_take_their_own_paths():
    run, wrong = jit(newton), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x = rng.normal(size=rng.integers(0, 4)) * 2
            if not np.isclose(run(x), newton(x), rtol=1e-12):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_method_decides_by_attributes_and_values():
    class Model:
        def __init__(self, limit):
            self.limit = limit

        @jit
        def __call__(self, x):
            return x * 2 if x.sum() > self.limit else -x

    low, high = Model(0.0), Model(10.0)
    for x in (np.ones(3), -np.ones(3), np.full(3, 9.0)):
        for model in (low, high):
            np.testing.assert_array_equal(model(x), x * 2 if x.sum() > model.limit else -x)
    low.limit = 5.0
    np.testing.assert_array_equal(low(np.ones(3)), -np.ones(3))


@pytest.mark.slow
def test_the_arguments_of_a_call_are_not_kept_alive():
    import gc
    import weakref

    run = jit(lambda x: x * 2 if x.sum() > 0 else x)
    gc.disable()
    try:
        x = np.ones(3)
        run(x)
        alive = weakref.ref(x)
        del x
        assert alive() is None
    finally:
        gc.enable()


# -- paths that share a beginning --------------------------------------------------------------------------------


def seen(x):
    logging.getLogger("tests.decisions").warning("seen")  # a list would be captured state that changes
    return np.tanh(x)


def beginning(x):
    return anyshape.pure_callback(seen, ShapeDtypeStruct(f"{x.shape[0]}"), x)


def test_what_comes_before_a_decision_runs_once_for_either_path(caplog):
    @jit
    def function(x):
        y = beginning(x)
        if y.sum() > 0:
            return y * 2
        if y.sum() < -2:
            return y - x, x
        return -y

    def check(x):
        y = np.tanh(x)
        result = function(x)
        if y.sum() >= -2:
            np.testing.assert_array_equal(result, y * 2 if y.sum() > 0 else -y)
        else:
            np.testing.assert_array_equal(result[0], y - x)

    inputs = [np.ones(3), -np.ones(1), np.full(4, -0.9), np.zeros(0), np.full(2, 0.3), np.full(2, -9.0)]
    for _ in range(8):
        for x in inputs:
            check(x)
    traces = function.cache_info().traces
    caplog.clear()
    for x in inputs:
        check(x)
    assert len(caplog.records) <= len(inputs) + 2 and function.cache_info().traces == traces == 3


@pytest.mark.parametrize("function", FUNCTIONS)
def test_paths_that_share_their_beginning_give_what_they_gave_alone(function):
    shared, rng = jit(value_and_grad(function)), np.random.default_rng(3)
    inputs = [rng.normal(size=n) * scale for n in SIZES for scale in (0.4, 1, 2)]
    expected = [(function(x), grad(function)(x)) for x in inputs]
    for k in rng.permutation(np.repeat(np.arange(len(inputs)), 12)):
        value, gradient = shared(inputs[k])
        np.testing.assert_allclose(value, expected[k][0], rtol=1e-12)
        np.testing.assert_allclose(gradient, expected[k][1], rtol=1e-10, atol=1e-14)


def test_state_that_changes_after_paths_were_shared():
    state = {"scale": np.array([2.0, 3.0])}
    function = jit(
        lambda x: np.sum(x * state["scale"]) if np.sum(np.sin(x) * state["scale"]) > 0 else x @ state["scale"] * 5
    )
    plain = function.function
    for step in range(4):
        for x in [np.ones(2), -np.ones(2)] * 8:
            np.testing.assert_allclose(function(x), plain(x), rtol=1e-14)
        if step % 2:
            state["scale"] = np.array([5.0, step])
        else:
            state["scale"][0] += 1


def test_a_decision_that_shares_serves_other_sizes_and_guards():
    @jit
    def function(x):
        y = np.exp(x) - 1
        if y.sum() > 0:
            return y * 3 if x.shape[0] > 2 else y
        return -y if x.shape[0] % 2 else y * 0.5

    plain = function.function
    rng = np.random.default_rng(5)
    for _ in range(200):
        x = rng.normal(size=rng.integers(0, 6))
        np.testing.assert_allclose(function(x), plain(x), rtol=1e-14)


def test_an_error_behind_a_shared_beginning_is_raised_as_ever():
    @jit
    def function(x, index):
        y = np.cos(x)
        return y[index] if y.sum() > 0 else y * 2

    for _ in range(8):
        function(np.zeros(3), 1)
        function(np.full(3, np.pi), 7)
    with pytest.raises(IndexError):
        function(np.zeros(3), 7)
    np.testing.assert_allclose(function(np.zeros(3), 2), 1)
