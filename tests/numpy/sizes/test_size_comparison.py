"""Comparisons of sizes are values until Python asks for their truth, and compute as Python's bools do."""

import copy
import itertools
import operator
import pickle

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import (
    Dim,
    ShapeDtypeStruct,
    check,
    errors,
    export,
    grad,
    jit,
    statically_known,
    symbolic_shape,
    trace,
    vmap,
)

pytestmark = pytest.mark.usefixtures("as_written")

SIZES = (0, 1, 2, 3, 4, 5, 7)


# each is the same function for NumPy and in a trace; none needs Python to know an answer
UNDECIDED = {
    "where": lambda x, n, m: np.where(n > 3, x, -x),
    "where of numbers": lambda x, n, m: x * np.where(n > 3, 1.5, 2),
    "where of arrays that are constants": lambda x, n, m: x * np.where(m == 2, np.ones(2), np.zeros(2)).sum(),
    "all": lambda x, n, m: x * np.all(n > 3),
    "a stack": lambda x, n, m: x * np.stack([n > 3, m > 3]).sum(),
    "where of a vector": lambda x, n, m: np.where(n > m, x > 1, False),
    "times an array": lambda x, n, m: (n > 3) * x,
    "an array times it": lambda x, n, m: x * (n <= 3),
    "a sum of two": lambda x, n, m: x * ((n > 3) + (m > 3)),
    "times a number": lambda x, n, m: (n > 3) * 1.5 + x,
    "negated": lambda x, n, m: x * -(n > 3),
    "inverted as an int": lambda x, n, m: x * ((n > 3) * 1 - 2),
    "and": lambda x, n, m: x * ((n > 1) & (m < 5)),
    "or": lambda x, n, m: x + ((n == 1) | (m != 5)),
    "xor": lambda x, n, m: x + ((n == 1) ^ (m != 5)),
    "and of three": lambda x, n, m: x * ((n > 1) & (m < 5) & (n != m)),
    "with a bool": lambda x, n, m: x * ((n > 1) | False) + (True & (m > 2)),
    "equal": lambda x, n, m: x * ((n > 3) == (m > 1)),
    "equal to True": lambda x, n, m: x * ((n > 3) == True),  # noqa: E712
    "a power": lambda x, n, m: x ** (n > 3),
    "a sum of comparisons": lambda x, n, m: x * sum(s > 3 for s in (n, m)),
    "logical_and": lambda x, n, m: np.logical_and(n > 3, x > 1),
    "logical_not": lambda x, n, m: np.logical_not(n > 3) * x,
    "NumPy's add is or": lambda x, n, m: np.add(n > 3, m > 3) * x,
    "NumPy's add of an int": lambda x, n, m: np.add(n > 3, 2) * x,
    "NumPy's comparison": lambda x, n, m: np.greater(n, 3) * x,
    "returned": lambda x, n, m: (n > 3, n == m),
    "a bound of a slice": lambda x, n, m: x[: (n > 3) + 1],
    "a product of sizes": lambda x, n, m: x + n * (m > n),
    "a remainder": lambda x, n, m: x * (n % 2 == 0),
}
DECIDED = {
    "if": lambda x, n, m: x if n > 3 else -x,
    "not": lambda x, n, m: x * (not n > m),
    "an index": lambda x, n, m: x[n > 3],
    "a key": lambda x, n, m: x * {True: 2, False: 3}[n > 3],
    "a list for NumPy": lambda x, n, m: np.array([n > 3, m > 3]),
    "any": lambda x, n, m: x * any([n > 3, m == 1]),
    "a float": lambda x, n, m: x * float(n > 3),
    "membership": lambda x, n, m: x * (n in (1, 3)),
}


@pytest.mark.parametrize("name", [*UNDECIDED, *DECIDED])
def test_programs_equal_numpy(name):
    function = {**UNDECIDED, **DECIDED}[name]
    jitted = jit(lambda x, y: function(x, x.shape[0], y.shape[0]))
    for n, m in itertools.product(SIZES, repeat=2):
        x, y = np.arange(float(n)), np.ones(m)
        expected, got = function(x, n, m), jitted(x, y)
        for e, g in zip(*[r if isinstance(r, tuple) else (r,) for r in (expected, got)], strict=True):
            assert np.asarray(g).dtype == np.asarray(e).dtype, (n, m)
            np.testing.assert_array_equal(g, e, err_msg=f"{n}, {m}")
    traces = jitted.cache_info().traces
    assert traces == 1 if name in UNDECIDED else traces > 1


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_decides_nothing_can_be_exported(name):
    program = export(lambda x, y: UNDECIDED[name](x, x.shape[0], y.shape[0]))(
        ShapeDtypeStruct("n"), ShapeDtypeStruct("m")
    )
    assert not [c for c in program.graph.conditions if c.kind == "guard"]


def test_derivatives_and_batches():
    def function(x):
        return np.sum(np.where(x.shape[0] > 3, x**2, 3 * x) * (x.shape[0] != 2))

    derivatives = jit(grad(function))
    for n in SIZES:
        x = np.arange(float(n))
        expected = (2 * x if n > 3 else np.full(n, 3.0)) * (n != 2)
        np.testing.assert_array_equal(derivatives(x), expected)
        np.testing.assert_array_equal(vmap(grad(function))(np.stack([x, x])), np.stack([expected] * 2))
    assert derivatives.cache_info().traces == 1


def test_comparisons_of_run_time_sizes_are_values_and_only_bool_decides():
    function = jit(lambda x: np.where(x[x > 1].shape[0] > 2, x, -x) * (x[x > 0].shape[0] + 1))
    for n in SIZES:
        x = np.arange(float(n))
        np.testing.assert_array_equal(function(x), np.where((x > 1).sum() > 2, x, -x) * ((x > 0).sum() + 1))
    assert function.cache_info().traces == 1
    with pytest.raises(errors.DataDependentSizeError):
        trace(lambda x: x if x[x > 1].shape[0] > 2 else -x)(ShapeDtypeStruct("n"))


def test_what_is_proved_is_a_plain_bool():
    n, m = symbolic_shape("n, m", constraints=["n >= m + 1"])
    assert (n > m) is True and (n <= m) is False and (n >= 0) is True
    for compare in (operator.lt, operator.le, operator.eq, operator.ne):
        assert type(compare(n, 5)) is not bool


def test_statically_known():
    n = Dim("n", 4, 9)
    for condition, known in [(n > 3, True), (n > 5, None), (n > 9, False), (True, True), (np.bool_(False), False)]:
        assert statically_known(condition) is known
    assert statically_known((n > 5) | (n < 7)) in (True, None)
    for wrong in (1, n, None, np.ones(2) > 0):
        with pytest.raises(errors.ArgumentError, match="not a comparison of sizes"):
            statically_known(wrong)
    asked = []

    @jit
    def function(x):
        asked.append((statically_known(x.shape[0] > 3), statically_known(x.shape[0] >= 0)))
        return x

    function(np.ones(2))
    function(np.ones(5))
    assert asked == [(None, True)] and function.cache_info().traces == 1


def test_check_takes_a_comparison_and_the_trace_assumes_it():
    @jit
    def function(x):
        check(x.shape[0] % 2 == 0, "pairs are needed")
        return x.reshape(-1, 2).sum(1), np.where(x.shape[0] % 2 == 0, 1, 2)

    for n in (0, 2, 4):
        assert function(np.ones(n))[0].shape == (n // 2,)
    assert function.cache_info().traces == 1
    with pytest.raises(errors.CheckError, match="pairs are needed"):
        function(np.ones(3))


def test_outside_of_programs_a_comparison_is_shown_and_not_decided():
    n, m = symbolic_shape("n, m")
    assert repr(n > 3) == "n > 3" and repr((n > 3) & (m == n)) == "(n > 3) & (m == n)"
    for again in (copy.copy(n > 3), copy.deepcopy(n > 3), pickle.loads(pickle.dumps(n > 3))):
        assert repr(again) == "n > 3"
    for decides in (bool, int, float, hash, operator.not_):
        with pytest.raises(errors.InconclusiveDimensionError):
            decides(n > 3)
    with pytest.raises(TypeError):
        (n > 3) & "a"


def test_it_is_a_bool_for_code_that_asks():
    kinds = []

    @jit
    def function(x):
        comparison = x.shape[0] > 3
        kinds.append((isinstance(comparison, bool), isinstance(comparison, int), np.isscalar(comparison)))
        assert anp.result_type(comparison) == np.dtype(bool)
        return x * comparison, anp.ones(3) * comparison

    function(np.ones(2))
    assert kinds == [(True, True, True)]
