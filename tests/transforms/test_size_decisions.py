"""Decisions of Python on sizes that depend on data, and on `len`: each call gets what NumPy gives."""

import itertools
import warnings

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, cond, errors, export, grad, jit, scan, trace, value_and_grad, vmap
from anyshape.transforms import sharing

pytestmark = pytest.mark.usefixtures("as_written")

SIZES = (0, 1, 2, 5)
RNG = np.random.default_rng(0)


def ends(x):
    (chosen,) = np.where(x > 0)
    if chosen.size == 0:
        return x.sum()
    if chosen.size > 2:
        return x[chosen[0]] * x[chosen[1]]
    return x[chosen[0]] + x[chosen[-1]] + (x[chosen] ** 2).sum()


def weighs_by_position(x):
    chosen, total = x[x > 0], 0.0
    for k in range(len(chosen)):
        total = total + chosen[k] * k
    return total + x.sum() * np.ones(len(chosen)).sum()


def filters(x):
    rest = x
    while len(rest) > 0:
        rest = rest[rest > rest.mean()]
        x = x * 2
    return x.sum()


def first_or_nothing(x):
    if not len(x[x > 0.5]):
        return x.sum()
    return x[x > 0.5][0] * 3


@pytest.mark.parametrize("function", [ends, weighs_by_position, filters, first_or_nothing])
def test_every_call_takes_the_path_of_its_run_time_sizes(function):
    runs, loop = (jit(function), jit(value_and_grad(function))), grad(jit(function))
    for call in range(24):
        x = RNG.normal(size=SIZES[call % 4])
        value, (same, gradient) = (run(x) for run in runs)
        numeric = [(function(x + d) - function(x - d)) / 2e-6 for d in 1e-6 * np.eye(len(x))]
        np.testing.assert_allclose([value, same], function(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(loop(x), gradient)
    assert runs[0].cache_info().traces <= 12


def test_calls_whose_answers_are_known_trace_nothing():
    function = jit(ends)
    for x in ([1.0, -1.0], [-1.0, -1.0], [1.0, 2.0, 3.0]):
        function(np.array(x))
    for x in ([2.0, -1.0, -3.0], [-1.0], [], [5.0] * 7, [-1.0, 3.0]):
        np.testing.assert_allclose(function(np.array(x)), ends(np.array(x)))
    assert function.cache_info().traces == 3
    assert "chosen.size > 2 is" in str(function.explain())


def test_examples_of_a_batch_have_one_size():
    batched = vmap(ends)
    for batch in ([[1.0, -1.0], [2.0, -3.0]], [[-1.0, -1.0], [-2.0, -3.0]], [[1.0, 2.0]]):
        np.testing.assert_allclose(batched(np.array(batch)), [ends(x) for x in np.array(batch)])
    other = np.array([[1.0, -1.0], [2.0, 3.0]])
    with pytest.raises(errors.RaggedBatchError):
        jit(batched)(other)
    np.testing.assert_allclose(batched(other), [ends(x) for x in other])
    with pytest.raises(errors.ConcretizationError, match="give vmap at least one example"):
        vmap(lambda x: ends(x))(np.ones((0, 2)))  # which has no programs yet


def few(x, limit=0.0):
    return 1.0 if len(x[x > limit]) > 1 else 0.0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scan(lambda total, row: (total + few(x, row), row), 0.0, x),
        lambda x: cond(x.sum() > 0, lambda: few(x), lambda: 2.0),
    ],
)
def test_a_body_is_one_program_for_all_its_runs(function):
    with pytest.raises(errors.ConcretizationError, match=r"len\(x\[x > limit\]\)"):
        jit(function)(np.ones(2))


def test_refusals_name_the_line():
    with pytest.raises(errors.ConcretizationError, match=r'len.*test_size_decisions.*\n.*on_decision="guard"'):
        jit(few, on_decision="error")(np.ones(2))
    with pytest.raises(errors.DataDependentSizeError, match="test_size_decisions"):
        trace(few)(ShapeDtypeStruct("n"))


def test_a_loop_runs_over_an_axis_whose_size_is_an_argument():
    def integral(n, x):
        times, total = anp.linspace(0.0, 1.0, n), 0.0 * x
        for before, after in itertools.pairwise(times):
            total = total + (after - before) * np.sin(x * before)
        return total

    for n in SIZES:
        expected = integral(n, np.float64(0.3))
        np.testing.assert_allclose(jit(integral)(n, 0.3), expected, rtol=1e-12)
        slope = (integral(n, np.float64(0.3 + 1e-6)) - integral(n, np.float64(0.3 - 1e-6))) / 2e-6
        np.testing.assert_allclose(grad(integral, argnums=1)(n, 0.3), slope, rtol=1e-6, atol=1e-9)
    with pytest.raises(errors.SymbolicIterationError, match=r"anyshape\.scan"):
        jit(lambda x: list(anp.linspace(0.0, 1.0, (x > 0).sum())))(np.ones(2))


# -- len(x) against a number ---------------------------------------------------------------------------------------


class Series:
    def __init__(self, values):
        self.values = values


def in_every_way(x):
    total, series = x.sum(), Series(x[1:])
    if len(x) > 3 and len(series.values) != 6:
        total = total * 2
    if not len(x):
        return total
    while len(series.values) <= 2:
        series.values = np.concatenate([series.values, series.values, x[:1]])
    total = total + series.values.sum()
    if len(x) < 1:
        raise AssertionError
    return total * 3 if len(x) == 2 or len(x) < 0 else total - 1


def test_a_comparison_of_len_with_a_number_serves_all_sizes_of_one_answer():
    function, program = jit(in_every_way), export(in_every_way)(ShapeDtypeStruct("n"))
    for n in range(12):
        x = RNG.normal(size=n)
        np.testing.assert_allclose(function(x), in_every_way(x), rtol=1e-12)
        np.testing.assert_allclose(program(x), in_every_way(x), rtol=1e-12)
    assert function.cache_info().traces == 6


def test_len_is_exact_where_python_keeps_it_or_the_name_means_another_function():
    def keeps(x):
        count = len(x)
        return x.sum() * count if count > 2 else x.sum() * (len(x) or 7)

    def own(x, len=lambda values: 9):
        return x.sum() * 2 if len(x) > 6 else x.sum()

    for n in SIZES:
        x = RNG.normal(size=n)
        assert jit(keeps)(x) == keeps(x) and jit(own)(x) == own(x)


def test_len_chained_and_used_twice_is_exact():
    def function(x):
        if 1 < len(x) < 4:
            return x * 2
        return x * len(x) if len(x) % 2 == 1 else x

    for n in range(7):
        np.testing.assert_array_equal(jit(function)(np.arange(float(n))), function(np.arange(float(n))))


def test_a_length_kept_in_a_variable_is_said_once_with_what_to_write():
    def keeps(x):
        n = len(x)
        return anp.zeros(n) + x

    def loops(x):
        for _ in range(len(x)):
            x = x * 2
        return x

    for function, advice in ((keeps, "write x.shape[0], which may be any size"), (loops, "anyshape.numpy as np")):
        compiled = jit(function)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for n in (2, 3, 2, 4):
                compiled(np.ones(n))
        assert compiled.cache_info().traces == 3
        (said,) = caught
        assert "Python needs the value of the size x.shape[0]" in str(said.message) and advice in str(said.message)
        assert said.category is errors.FixedSizeWarning and said.filename == __file__
    once = jit(lambda x: anp.zeros(x.shape[0]) + x)
    for n in (2, 3, 4):
        once(np.ones(n))
    assert once.cache_info().traces == 1


def counted(x):
    for _ in range(x.shape[0]):
        x = x * 2
    return x


def test_the_notice_of_a_fixed_size_is_a_warning_at_its_line():
    line = counted.__code__.co_firstlineno + 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        made = jit(counted)
        for n in (2, 3, 4):
            made(np.ones(n))
    assert [(w.filename, w.lineno, w.category) for w in caught] == [(__file__, line, errors.FixedSizeWarning)]
    assert "Python needs the value of the size x.shape[0]" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sharing.forget()  # it would be said once of all functions of this code
        with pytest.raises(UserWarning, match="each value is traced separately") as raised:
            jit(counted)(np.ones(2))
    assert raised.traceback[-1].path.name == "test_size_decisions.py" and raised.traceback[-1].lineno + 1 == line
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Python needs the value")
        warnings.simplefilter("error", RuntimeWarning)
        assert jit(counted)(np.ones(2)).tolist() == [4, 4]
