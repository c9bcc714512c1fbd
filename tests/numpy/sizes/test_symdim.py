"""Test sizes in Python code: they do what the int would do, or raise; dtypes are NumPy's."""

import copy
import itertools
import math
import operator
import pickle
import subprocess
import sys

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import Dim, ShapeDtypeStruct, SymbolicShape, errors, jit, max_dim, min_dim, symbolic_shape, trace
from anyshape.graph.sizes.substitute import evaluate, values_from
from anyshape.numpy.sizes.symdim import SymDim

pytestmark = pytest.mark.usefixtures("as_written")


def value(x, **sizes):
    """Return a result at sizes of its variables, which are passed by name."""
    if isinstance(x, tuple):
        return tuple(value(y, **sizes) for y in x)
    if not isinstance(x, SymDim):
        return x
    named = {v: sizes[str(v)] for v in anyshape.graph.sizes.expr.variables(x.expr)}
    return evaluate(x.expr, values_from(named))


# -- arithmetic --------------------------------------------------------------------------------------------------

OTHERS = [0, 1, 3, -2, True, np.int64(3), np.int32(-2), np.uint8(2), np.int8(5), np.bool_(True), np.uint64(7)]
BINARY = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, divmod]
UFUNCS = [np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.maximum, np.minimum, np.divmod]


def check_as_int(function, other, number, flipped):
    """Assert that `function(size, other)`, or reflected, is the size that NumPy gives for ints, of the same dtype.

    Returns 0 where NumPy raises, and 1 otherwise.
    """
    n = symbolic_shape("n", constraints=["n >= 1"])[0]
    order = (lambda a, b: (b, a)) if flipped else (lambda a, b: (a, b))
    try:
        with np.errstate(all="raise"):
            expected = function(*order(number, other))
    except (ZeroDivisionError, OverflowError, FloatingPointError):  # as for np.uint8(2) - 3; a size may have a result
        return 0
    got = function(*order(n, other))
    exact = function(*order(number, int(other)))
    assert value(got, n=number) == exact
    several = isinstance(expected, tuple)
    for x, wanted in zip(got if several else (got,), expected if several else (expected,), strict=True):
        assert isinstance(x, (SymDim, int, np.integer))
        dtype = x.numpy_dtype if isinstance(x, SymDim) else getattr(x, "dtype", None)
        assert dtype == getattr(wanted, "dtype", None), (order(n, other), x)
    return 1


@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize("function", [*BINARY, *UFUNCS], ids=lambda f: getattr(f, "__name__", str(f)))
def test_arithmetic_with_integers_equals_that_of_an_int(function, other):
    cases = itertools.product((1, 4, 10), (False, True))
    assert sum(check_as_int(function, other, number, flipped) for number, flipped in cases) >= 2


UNARY = [
    operator.neg, operator.pos, abs, round, math.floor, math.ceil, math.trunc, lambda n: n**0, lambda n: n**3,
    lambda n: -(-n // 4), lambda n: pow(n, 2, 5), lambda n: round(n, 2), lambda n: (n + 3) // 2 * 2, lambda n: 7 - n,
    lambda n: np.negative(n), lambda n: np.abs(n - 5), lambda n: n**np.int64(2), lambda n: divmod(n, 3),
    lambda n: n * (n + 1) // 2, lambda n: (n - 4) % 3, lambda n: max_dim(n - 2, 3, 0), lambda n: min_dim(n, 4),
    lambda n: math.prod((n, 3, n)), lambda n: sum((n, 3, n)), lambda n: sum([n] * 3), lambda n: np.prod((n, 3)),
    lambda n: np.prod((3, n, n)), lambda n: np.prod([n]), lambda n: np.sum((n, 3)), lambda n: np.sum([2, n]),
    lambda n: np.prod(n), lambda n: np.sum(n), lambda n: np.max(n), lambda n: anp.prod((n, 3)),
    lambda n: anp.sum([n, 2]), lambda n: anp.max((n, 3)), lambda n: anp.min([5, n]), lambda n: anp.maximum(n, 3),
    lambda n: anp.add(n, 1), operator.invert, lambda n: n.real, lambda n: n.imag, lambda n: n.numerator,
    lambda n: n.denominator, lambda n: n.conjugate(),
]  # fmt: skip


@pytest.mark.parametrize("function", UNARY, ids=range(len(UNARY)))
def test_functions_of_one_size_equal_those_of_an_int(function):
    n = symbolic_shape("n")[0]
    for number in (0, 1, 2, 5, 6):
        assert value(function(n), n=number) == function(number)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_comparisons_equal_those_of_an_int(compare):
    n = Dim("n", 4, 6)
    others = [0, 3, 3.5, 4, 4.0, 6, 6.5, 7, -1, 1e300, -1e300, math.inf, -math.inf, math.nan, True, 4 + 1j]
    others += [
        np.float32(3),
        np.int64(3),
        np.int8(7),
        np.float64(6.5),
        np.float32(math.nan),
        np.uint8(3),
        np.array(3),
        np.array(7.5),
    ]
    for other, flipped in itertools.product(others, (False, True)):
        if isinstance(other, complex) and compare not in (operator.eq, operator.ne):
            continue
        answers = {bool(compare(other, k) if flipped else compare(k, other)) for k in (4, 5, 6)}
        sides = (other, n) if flipped else (n, other)
        if len(answers) == 1:
            assert bool(compare(*sides)) is answers.pop(), (compare, other, flipped)
        else:
            with pytest.raises(errors.InconclusiveDimensionError):
                bool(compare(*sides))


@pytest.mark.parametrize("other", ["a", None, (1,), {}, b"x", object()])
def test_operands_that_are_no_numbers_raise_type_errors(other):
    n = symbolic_shape("n")[0]
    assert (n != other) is True and (n == other) is False
    for function in (operator.add, operator.sub, operator.floordiv, operator.lt, operator.ge, operator.pow):
        for args in ((n, other), (other, n)):
            if function is operator.pow and isinstance(other, (str, bytes)):
                continue
            with pytest.raises(TypeError):
                function(*args)


def test_division_by_a_size_that_is_zero():
    n, m, z = symbolic_shape("n, m, z", constraints=["z == 0"])
    for function in (operator.floordiv, operator.mod, divmod):
        for zero in (0, z, m - m, False):
            with pytest.raises(ZeroDivisionError):
                function(n, zero)
        assert function(n, np.int64(0)) in (0, (0, 0))  # as NumPy's own integers
        assert isinstance(function(n, m), (SymDim, tuple))  # m may be zero: a program checks it at the call
    with pytest.raises(errors.ZeroDivisorError, match=r"m \(0, from x.shape\[1\]\) must not be 0"):
        trace(lambda x: anp.zeros(x.shape[0] // x.shape[1]))(ShapeDtypeStruct((n, m)))(np.ones((2, 0)))


@pytest.mark.parametrize("unused", [True, False])
def test_a_division_by_zero_raises_even_if_its_result_is_unused(unused):
    def function(x):
        n, m = x.shape
        return x.sum() + (0 * (n // m) if unused else m * (n // m) + n % m)

    run = jit(function)
    for shape in ((3, 2), (3, 0), (4, 3), (0, 0), (0, 2)):
        if shape[1]:
            assert run(np.ones(shape)) == function(np.ones(shape))
        else:
            with pytest.raises(ZeroDivisionError):
                run(np.ones(shape))
    assert run.cache_info().traces == 1


_QUOTIENTS = {
    "1 / n": lambda x: x * (1 / x.shape[0]),
    "2.5 / n": lambda x: x * (2.5 / x.shape[0]),
    "n / n": lambda x: x * (x.shape[0] / x.shape[0]),
    "n / 2 / n": lambda x: x * (x.shape[0] / 2 / x.shape[0]),
    "5.0 // n": lambda x: x * (5.0 // x.shape[0]),
    "divmod(7.5, n)": lambda x: x * divmod(7.5, x.shape[0])[1],
    "n ** -1": lambda x: x * x.shape[0] ** -1,
    "n ** -0.5": lambda x: x * x.shape[0] ** -0.5,
    "n / 0.0": lambda x: x * (x.shape[0] / 0.0),
    "NumPy's 1 / n": lambda x: x * (np.float64(1) / x.shape[0]),
    "x / n": lambda x: x / x.shape[0],
    "sum / n": lambda x: x.sum() / x.shape[0],
    "NumPy's n / n": lambda x: x * (np.prod(x.shape) / x.shape[0]),
    "NumPy's n % n": lambda x: x * (3 % np.prod(x.shape)),
    "NumPy's 0": lambda x: x * (x.shape[0] // np.int64(0)),
}


@pytest.mark.parametrize("name", _QUOTIENTS)
def test_a_program_divides_by_a_size_of_zero_as_python_does(name):
    """Python's numbers raise; NumPy's give 0, inf or nan."""
    function = _QUOTIENTS[name]
    run = jit(function)
    for n in (3, 0, 1, 0):
        try:
            expected = function(np.arange(1.0, n + 1))
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                run(np.arange(1.0, n + 1))
        else:
            np.testing.assert_array_equal(run(np.arange(1.0, n + 1)), expected, strict=True)


_OF_QUOTIENTS = {
    "rounded": (lambda n, m: (round(n / 2), round(n / 3), round((n - 4) / 4), round(n / -2)), 1),
    "up and down": (lambda n, m: (math.ceil(n / 2), math.floor(n / -3), math.trunc(n / 4), math.ceil((n - 3) / 2)), 1),
    "int": (lambda n, m: int(n / 3), 3),
    "int of negative sizes": (lambda n, m: int((n - 4) / 3), None),
    "int of a quotient by a size": (lambda n, m: int(n / (m + 1)), None),
    "above": (lambda n, m: 1 if n / 2 > 1 else 2, 2),
    "above or at a half": (lambda n, m: 1 if n / 2 >= 1.5 else 2, 2),
    "above a rounded third": (lambda n, m: 1 if n / 3 > 1 / 3 else 2, 2),
    "a rounded third": (lambda n, m: 1 if n / 3 == 1 / 3 else 2, 2),
    "not two thirds": (lambda n, m: 1 if n / 3 != 2 / 3 else 2, 2),
    "below three tenths": (lambda n, m: 1 if n / 10 < 0.3 else 2, 2),
    "at most three tenths": (lambda n, m: 1 if n / 10 <= 0.1 + 0.2 else 2, 2),
    "no seventh": (lambda n, m: 1 if n / 7 == 0.5 else 2, 1),
    "infinity": (lambda n, m: 1 if n / 7 < math.inf else 2, 1),
    "between": (lambda n, m: 1 if 1 < n / 2 < m else 2, None),
    "two quotients": (lambda n, m: 1 if n / 2 == m / 3 else 2, 2),
    "quotient by a size": (lambda n, m: 1 if n / (m + 1) > 1.0 else 2, None),
    "reciprocal": (lambda n, m: 1 if 10 / (n + 1) > 2 else 2, 2),
    "truth": (lambda n, m: 1 if n / 2 else 2, 2),
    "extremes": (lambda n, m: (max(n / 2, 1), min(n / 2, m / 2)), None),
    "never asked": (lambda n, m: np.where(n / 2 > 1, n / 2, m), 1),
    "float": (lambda n, m: math.sqrt(n / 4), 9),
}


@pytest.mark.parametrize("name", _OF_QUOTIENTS)
def test_quotients_of_sizes_answer_python_by_guards_on_sizes(name):
    """Answers equal those for Python's floats, and the guards are about sizes."""
    function, traces = _OF_QUOTIENTS[name]
    run = jit(lambda x: function(*x.shape))
    for n, m in itertools.product(range(9), range(3)):
        results, expected = run(np.ones((n, m))), function(n, m)
        for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (results, expected)], strict=True):
            np.testing.assert_array_equal(a, np.asarray(b), strict=True)
    assert traces in (None, run.cache_info().traces)


def test_rounded_quotients_are_sizes_in_specifications():
    program = trace(lambda x: (x[: math.ceil(x.shape[0] / 2)], anp.ones(round(x.shape[0] / 2))))(ShapeDtypeStruct("n"))
    for n in range(9):
        assert [y.shape for y in program(np.ones(n))] == [(math.ceil(n / 2),), (round(n / 2),)]


def test_a_quotient_combined_with_other_numbers_is_a_value_that_python_decides_on():
    for function in (lambda x: int(x.shape[0] / 2 * 1.5), lambda x: 1 if x.shape[0] / x.sum() > 1 else 2):
        run = jit(function)
        for x in (np.ones(3), np.ones(4), np.ones(5) / 2, np.ones(3)):
            assert run(x) == function(x)
        with pytest.raises(errors.ConcretizationError):
            trace(function)(ShapeDtypeStruct("n"))


def test_numpy_reduces_a_shape_that_begins_with_numbers():
    run = jit(lambda x: np.prod(x[None, None].shape) + np.max(x[None, None].shape) * x)
    for n in (0, 1, 4):
        x = np.ones(n)
        np.testing.assert_array_equal(run(x), n + max(n, 1) * x, strict=True)
    assert run.cache_info().traces == 1


# -- hashing, copying, printing ----------------------------------------------------------------------------------


def test_witnesses_of_a_comparison_avoid_a_division_by_zero():
    n, m = symbolic_shape("n, m")
    with pytest.raises(errors.InconclusiveDimensionError) as caught:
        bool(n // m >= 2)
    for answer, sizes in caught.value.witnesses.items():
        assert (sizes["n"] // sizes["m"] >= 2) is answer
    assert set(caught.value.witnesses) == {True, False}


def test_text_copies_and_pickles():
    n = symbolic_shape("n")[0]
    x = 2 * n + 1
    assert (str(x), repr(x), f"{x}", f"{x:>9}", f"{x!r}") == ("2*n + 1",) * 3 + ("  2*n + 1", "2*n + 1")
    assert f"{Dim('one', 3, 3):d}" == "3"
    with pytest.raises(errors.InconclusiveDimensionError):
        f"{x:d}"
    assert copy.copy(x) is x and copy.deepcopy([x])[0] is x
    restored = pickle.loads(pickle.dumps(x))
    assert restored == x and restored - 1 == 2 * n and hash(restored) == hash(x) and {x: 3}[restored] == 3
    assert pickle.loads(pickle.dumps(np.int32(2) * n)).numpy_dtype == np.int32


def test_a_size_pickles_into_a_fresh_process():
    n, m = symbolic_shape("n, m", constraints=["n >= m"])
    code = "import sys, pickle; n, m = pickle.load(sys.stdin.buffer); print(n + 2*m, n >= m, n.scope)"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((n, m)), capture_output=True, check=True)
    assert done.stdout.decode().strip() == "2*m + n True SymbolicScope(n, m; n >= m)"


def test_equal_expressions_have_equal_hashes():
    n, m = symbolic_shape("n, m")
    assert hash(n + m) == hash(m + n) and len({n, m, n + m, m + n, 2 * n, n * 2}) == 4
    assert {n: 1, m: 2}[n] == 1


@pytest.mark.parametrize(
    "convert", [int, float, operator.index, range, bool, complex, lambda n: [1] * n, lambda n: n | 1]
)
def test_the_value_of_an_unknown_size_is_refused(convert):
    n = symbolic_shape("n")[0]
    with pytest.raises(errors.InconclusiveDimensionError) as caught:
        convert(n)
    assert str(caught.value.where).startswith("test_symdim.py")
    seen = []
    jit(lambda x: seen.append(convert(x.shape[0])) or x)(np.ones(3))
    assert seen == [convert(3)]


def test_bounds():
    n, m, k = Dim("n", 2, 8), Dim("m"), Dim("k", 1)
    cases = [
        (n, 2, 8), (m, 0, None), (3 * n - 1, 5, 23), (-n, -8, -2), (n // 4, 0, 2), (m % 7, 0, 6), (n - m, None, 8),
        (max_dim(n, 5), 5, 8), (min_dim(m, 5), 0, 5), (n * k, 2, None),
    ]  # fmt: skip
    for size, low, high in cases:
        assert (size.lower, size.upper) == (low, high), size


def test_sizes_outside_a_program_have_no_value():
    n = symbolic_shape("n")[0]
    arrays = (lambda: np.array([n]), lambda: np.arange(n), lambda: np.asarray(n))
    for use in (lambda: n / 2, lambda: n * 2.0, lambda: np.sqrt(n), lambda: 2**n, lambda: n * np.ones(3), *arrays):
        with pytest.raises(errors.UnsupportedFunctionError, match="has a value in a program only"):
            use()


# plain NumPy's functions of a size: the first ones ask for its value, the others keep it as an operand

ASKING = {
    "arange": np.arange,
    "arange of bounds": lambda n: np.arange(1, n, 2),
    "arange of a dtype": lambda n: np.arange(n, dtype=np.float32),
    "linspace": lambda n: np.linspace(0, 1, n),
    "eye": lambda n: np.eye(n, k=1),
    "indices": lambda n: np.indices((n, 2)),
    "full of a size": lambda n: np.full(3, n),
    "array of sizes": lambda n: np.array([n, 1, 2 * n]),
    "asarray": lambda n: np.asarray(n, np.int8),
    "int64": lambda n: np.int64(n),
    "slices": lambda n: np.r_[0:n, np.mgrid[0:n].ravel()],
    "window": np.hanning,
    "concatenated lists": lambda n: np.concatenate([[n], [2]]),
    "random": lambda n: np.random.default_rng(0).normal(size=(n, 2)),
}
OPERANDS = {
    "tile": lambda n: np.tile(np.array([1.0, 2.0]), n),
    "linspace to": lambda n: np.linspace(0, n, 5),
    "clip": lambda n: np.clip(n, 2, 4),
    "interp": lambda n: np.interp(n, [0, 9], [0, 3]),
    "outer": lambda n: np.outer([1, 2], n),
    "polyval": lambda n: np.polyval([1, 2, 3], n),
}


@pytest.mark.parametrize("name", [*ASKING, *OPERANDS])
def test_functions_of_plain_numpy_take_a_size(name):
    function = {**ASKING, **OPERANDS}[name]
    jitted = anyshape.jit(lambda x: (function(x.shape[0]), x))
    for n in (5, 1, 0, 2, 5):
        result, expected = jitted(np.ones(n))[0], function(n)
        np.testing.assert_allclose(result, expected, rtol=1e-14)
        assert np.asarray(result).dtype == expected.dtype
    assert jitted.cache_info().traces == (4 if name in ASKING else 1)


# -- extremes ----------------------------------------------------------------------------------------------------


def test_extremes_need_no_guard():
    n, m = symbolic_shape("n, m", constraints=["n >= m"])
    assert str(max_dim(n, 3)) == "max(n, 3)" and str(max_dim(n, m)) == "n" and str(min_dim(n, m, n + 1)) == "m"
    assert max_dim(3, 4) == 4 and type(max_dim(3, True)) is int and min_dim(np.int8(3), 4) == 3
    assert str(max_dim(n, 0)) == "n" and min_dim(n, 0) == 0 and str(max_dim(*(n, 2), 5)) == "max(n, 5)"
    assert max_dim(n, np.int32(3)).numpy_dtype == np.int32 and max_dim(n, 3).numpy_dtype is None
    program = trace(lambda x: anp.zeros((max_dim(x.shape[0], 3), min_dim(*x.shape))))(ShapeDtypeStruct("n, m"))
    for shape in [(0, 0), (5, 2), (2, 5), (3, 3)]:
        assert program(np.ones(shape)).shape == (max(shape[0], 3), min(shape))


@pytest.mark.parametrize("args", [(), (3,), (2.5, 3), ("a", "b"), (None, 1), ((1, 2),), (np.ones(2), 1), (1j, 2)])
def test_extremes_take_sizes_one_by_one(args):
    n = symbolic_shape("n")[0]
    for function in (max_dim, min_dim):
        with pytest.raises(errors.ArgumentError):
            function(*args)
        with pytest.raises(errors.ArgumentError):
            function(*(args or (2.5,)), n, "more")


# -- in programs: the same dtype, shape and values as with the int -----------------------------------------------

MIXED = [
    lambda x, n: x.sum() / n,
    lambda x, n: x / n,
    lambda x, n: n / x,
    lambda x, n: x * (n * n + 1),
    lambda x, n: x + n // 2,
    lambda x, n: n - x,
    lambda x, n: x**n,
    lambda x, n: n / 2,
    lambda x, n: n * 2.5,
    lambda x, n: 1 / n + x,
    lambda x, n: n**-1 * x,
    lambda x, n: n**0.5 * x,
    lambda x, n: round(n / 2, 1) * x,
    lambda x, n: round((n + 1) / 4) / x,
    lambda x, n: divmod(n / 2, 2)[1] * x,
    lambda x, n: x * ~n,
    lambda x, n: x * ~(np.int32(2) * n),
    lambda x, n: 2**n * x,
    lambda x, n: n // 2.0 * x,
    lambda x, n: n % 2.5,
    lambda x, n: n * 2j,
    lambda x, n: np.float32(2) * n,
    lambda x, n: n + np.float32(2),
    lambda x, n: np.float64(2) * n * x,
    lambda x, n: np.complex64(2) * n,
    lambda x, n: n * np.int64(2) * x,
    lambda x, n: np.int32(2) * n * x,
    lambda x, n: np.int8(2) + n,
    lambda x, n: n // np.uint8(2) * x,
    lambda x, n: np.uint64(2) * (np.int64(3) * n) * x,
    lambda x, n: np.True_ * n * x,
    lambda x, n: np.add(n, 1) * x,
    lambda x, n: np.maximum(n, 2) * x,
    lambda x, n: anp.maximum(n, 2) * x,
    lambda x, n: anp.multiply(n, n) + x,
    lambda x, n: np.abs(n - 7) * x,
    lambda x, n: np.negative(n) * x,
    lambda x, n: np.power(n, 2) * x,
    lambda x, n: np.sqrt(n),
    lambda x, n: np.sqrt(n) * x,
    lambda x, n: np.true_divide(n, 2),
    lambda x, n: np.array(2) * n * x,
    lambda x, n: np.array([2, 3], np.int8) * n,
    lambda x, n: np.array(2.0, np.float32) + n,
    lambda x, n: np.divmod(n, 2),
    lambda x, n: divmod(n, 2),
    lambda x, n: math.prod(x.shape) * x,
    lambda x, n: sum(x.shape) * x,
    lambda x, n: x.sum() / x.size,
    lambda x, n: np.sum(x.shape),
    lambda x, n: np.prod(x.shape),
    lambda x, n: x.sum() / np.prod(x.shape),
    lambda x, n: x * np.prod(x.shape[:1]),
    lambda x, n: x / np.sum((2,) + x.shape),
    lambda x, n: np.max(x.shape) * x - np.min(x.shape[1:] + (3,)),
    lambda x, n: np.prod(x.shape, dtype=int) * x,
    lambda x, n: x / np.prod(x.shape, axis=0, dtype=np.float32),
    lambda x, n: np.sum(x.shape, dtype=np.int8) * x,
    lambda x, n: (x.shape, x.shape[:1] + (2,)),
    lambda x, n: anp.prod(x.shape) * x,
    lambda x, n: anp.sum((n, 3)) / x,
    lambda x, n: anp.max(x.shape) * x,
    lambda x, n: x.reshape(np.prod(x.shape)),
    lambda x, n: x.reshape(np.int64(1) * n, -1),
    lambda x, n: anp.zeros(np.maximum(n, 7), np.int8),
    lambda x, n: anp.full((n, np.int32(2)), n),
    lambda x, n: (n, n + 1, 2 * n),
    lambda x, n: x.astype(np.int8) * n,
    lambda x, n: x.astype(bool) * n,
]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.complex64])
@pytest.mark.parametrize("function", MIXED, ids=range(len(MIXED)))
def test_a_size_in_a_program_acts_on_arrays_as_an_int_does(function, dtype):
    program = trace(lambda x: function(x, x.shape[0]))(ShapeDtypeStruct("n, m", dtype))
    compiled = jit(lambda x: function(x, x.shape[0]))
    for shape in [(3, 2), (1, 4)]:
        x = (np.arange(np.prod(shape)).reshape(shape) + 1).astype(dtype)
        with np.errstate(all="ignore"):
            expected = function(x, shape[0])
            for run in (program, compiled):
                got = run(x)
                for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, expected)], strict=True):
                    assert np.asarray(a).dtype == np.asarray(b).dtype
                    np.testing.assert_allclose(a, b, rtol=1e-5, strict=True)


DECIDED = [
    lambda x: x * (2 if np.int64(2) < x.shape[0] else 3),
    lambda x: x * (2 if np.float64(2.5) >= x.shape[0] else 3),
    lambda x: x * np.max((x.shape[0], 2)),
    lambda x: x * max(x.shape),
    lambda x: x[: int(x.shape[0]) // 2],
    lambda x: x * (x.shape[0] & 6),
    lambda x: x * (1 << x.shape[0]),
    lambda x: x * len(range(x.shape[0])),
    lambda x: x * (3 if x.shape[0] else 4),
    lambda x: x * math.sqrt(x.shape[0]),
    lambda x: x * x.shape[0].bit_length(),
    lambda x: x * x.shape[0].bit_count(),
]


@pytest.mark.parametrize("function", DECIDED, ids=range(len(DECIDED)))
def test_decisions_by_python_become_guards_of_the_call(function):
    compiled = jit(function)
    for shape in [(3, 2), (1, 4), (2, 2), (0, 3), (3, 2)]:
        x = np.ones(shape)
        np.testing.assert_array_equal(compiled(x), function(x), strict=True)
    with pytest.raises(errors.InconclusiveDimensionError):
        trace(function)(ShapeDtypeStruct("n, m"))


@pytest.mark.parametrize("function", [np.prod, np.sum, np.max, np.amin, math.prod, sum, anp.prod, anp.max])
def test_reductions_of_shapes_need_no_guard(function):
    program = trace(lambda x: anp.zeros(function(x.shape)))(ShapeDtypeStruct("n, m, 2"))
    assert not [c for c in program.graph.conditions if c.kind == "guard"]
    for shape in [(0, 3, 2), (2, 3, 2), (1, 1, 2)]:
        assert program(np.ones(shape)).shape == (function(shape),)
    n, m = symbolic_shape("n, m")
    assert value(function(SymbolicShape((n, 3, m))), n=2, m=4) == function((2, 3, 4))
    if function not in (np.max, np.amin):  # of a plain tuple NumPy compares sizes, as Python's max does
        assert value(function((n, 3, m)), n=2, m=4) == function((2, 3, 4))


@pytest.mark.parametrize(
    "bits", [lambda n: n >> 1, lambda n: n >> 0, lambda n: n & 7, lambda n: 3 & n, lambda n: 0 & n, lambda n: n << 3]
)
def test_bits_that_arithmetic_gives_need_no_value(bits):
    compiled = jit(lambda x: x.sum() * bits(x.shape[0] - 3) + bits(x.shape[0]))
    for n in (0, 1, 2, 6, 9, 16):
        assert compiled(np.ones(n)) == n * bits(n - 3) + bits(n)
    assert compiled.cache_info().traces == 1
    (n,) = symbolic_shape("n")
    assert SymbolicShape((bits(n), n)).evaluate(n=13) == (bits(13), 13)


def test_bits_beyond_those_of_a_word_are_those_of_python():
    huge = jit(lambda x: x * float(x.shape[0] << 70))
    assert huge(np.ones(3))[0] == float(3 << 70)
    with pytest.raises(ValueError, match="negative shift count"):
        jit(lambda x: x * (x.shape[0] >> -1))(np.ones(3))


def test_extremes_of_sizes_take_integers_of_the_program():
    first = jit(lambda x, k: (x[: max_dim(k, 1)], x[: min_dim(x.shape[0] - 1, k)]))
    for k in (-2, 0, 1, 2, 5):
        for n in (1, 3, 4):
            x = np.arange(float(n))
            for part, expected in zip(first(x, k), (x[: max(k, 1)], x[: min(n - 1, k)]), strict=True):
                np.testing.assert_array_equal(part, expected)
    with pytest.raises(errors.ArgumentError, match="not a size"):
        jit(lambda x: max_dim(x, 1))(np.ones(3))


def test_sizes_of_a_specification_have_a_name_and_a_value():
    n, m = symbolic_shape("n, m")
    assert (2 * n + m).evaluate(n=3, m=1) == 7 and n.name == "n"
    with pytest.raises(errors.SpecError, match="m has no value"):
        (n + m).evaluate(n=3)
    seen = []
    jit(lambda x: seen.append(hasattr(x.shape[0], "evaluate")) or x)(np.ones(3))
    assert seen == [False]  # a Python int has none
