"""Test Python ints as arguments, of every size that 64 bits hold: each operation gives NumPy's answer for the int."""

import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.errors import AnyshapeError, RunOverflowError, RunZeroDivisionError

UINT64 = (2**63, 2**63 + 5, 2**64 - 1)  # beyond int64: traced as uint64
INTS = (*UINT64, 2**62, 300, 100, 1, 0, -1, -300, -(2**63))
DTYPES = ("?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c16")
UFUNCS = (
    np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.fmod, np.divmod, np.power,
    np.maximum, np.minimum, np.fmax, np.fmin, np.equal, np.not_equal, np.less, np.less_equal, np.greater,
    np.greater_equal, np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor,
    np.left_shift, np.right_shift, np.gcd, np.lcm, np.hypot, np.arctan2, np.heaviside, np.copysign, np.ldexp,
)  # fmt: skip
CALLS = {
    "clip(x, 0, k)": lambda x, k: np.clip(x, 0, k),
    "clip(x, k, None)": lambda x, k: np.clip(x, k, None),
    "clip(x, None, k)": lambda x, k: np.clip(x, None, k),
    "clip(x, 0.5, k)": lambda x, k: np.clip(x, 0.5, k),
    "clip(x, int64, k)": lambda x, k: np.clip(x, np.int64(200), k),
    "clip(k, 0, 5)": lambda x, k: np.clip(k, 0, 5),
    "sum from k": lambda x, k: np.sum(x, initial=k),
    "max from k": lambda x, k: np.max(x, initial=k),
    "add of dtype float": lambda x, k: np.add(x, k, dtype=float),
    "add.outer": lambda x, k: np.add.outer(x, k),
    "less.outer": lambda x, k: np.less.outer(x, k),
    "append": lambda x, k: np.append(x, k),
    "dot": lambda x, k: np.dot(x, k),
    "outer": lambda x, k: np.outer(x, k),
    "einsum": lambda x, k: np.einsum("...,->...", x, k),
    "isin": lambda x, k: np.isin(x, k),
    "isin, of k": lambda x, k: np.isin(k, x),
    "searchsorted": lambda x, k: np.searchsorted(np.atleast_1d(x), k),
    "linspace": lambda x, k: np.linspace(0, k, 3) + x.ravel()[0],
    "of k alone": lambda x, k: (np.sqrt(k), np.sign(k), np.cumsum(k), np.bitwise_count(k), np.isnan(k), np.round(k)),
    "k and ints": lambda x, k: (k < 2**63 + 1, k > 5, k == 2**63, k != -1, k <= 2**70, k > -1, np.less(k, -1), k / 2),
    "result_type": lambda x, k: np.zeros(0, np.result_type(k)),
    "full": lambda x, k: anp.full((3,), k),
}  # fmt: skip
OPERATIONS = {
    **{f"{f.__name__}(x, k)": f for f in UFUNCS},
    **{f"{f.__name__}(k, x)": lambda x, k, f=f: f(k, x) for f in UFUNCS},
    **CALLS,
}


def outcome(f, *args):
    """Return the result of a call, or the kind of its error."""
    try:
        return f(*args)
    except OverflowError:
        return OverflowError
    except ZeroDivisionError:
        return ZeroDivisionError
    except (TypeError, ValueError):
        return TypeError


def assert_same(got, expected, note):
    if isinstance(expected, type) or isinstance(got, type):
        assert got is expected, f"{note}: {got} for {expected}"
    elif isinstance(expected, tuple):
        for result, reference in zip(got, expected, strict=True):
            assert_same(result, reference, note)
    else:
        expected = np.asarray(expected)
        rtol = 4 * np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=0, err_msg=note)
        assert np.asarray(got).dtype == expected.dtype, note


HALVES = [(name, half) for k, name in enumerate(OPERATIONS) for half in (k // 2 % 2, 1 - k // 2 % 2)]


@pytest.mark.parametrize(
    ("name", "half"), [pytest.param(*c, marks=[pytest.mark.slow] * (k % 4 != 0)) for k, c in enumerate(HALVES)]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_operation_answers_as_numpy_does(name, half):
    """Try a vector and a number by turns: each two of an operation, a dtype and a shape meet in both halves."""
    f = OPERATIONS[name]
    jitted = anyshape.jit(f)
    for turn, dtype in enumerate(DTYPES, start=list(OPERATIONS).index(name) + half):
        x = np.array([[0, 1, 100], 5][turn % 2]).astype(dtype)
        for k in INTS:
            assert_same(outcome(jitted, x, k), outcome(f, x, k), f"{dtype}{list(x.shape)}, {k}")


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8"])
@pytest.mark.parametrize("k", [*UINT64, 2**62, -1])
def test_an_update_takes_a_python_int_that_fits(dtype, k):
    def written(x, k):
        x = x.copy()
        x[1] = k
        return x

    def added(x, k):
        x = x.copy()
        x[1:] += k
        return x

    x = np.arange(4, dtype=dtype)
    assert_same(outcome(anyshape.jit(lambda x, k: x.at[1].set(k)), x, k), outcome(written, x, k), "set")
    assert_same(outcome(anyshape.jit(lambda x, k: x.at[1:].add(k)), x, k), outcome(added, x, k), "add")


@pytest.mark.parametrize("k", UINT64)
def test_derivatives_and_vmap_take_ints_beyond_int64(k):
    x = np.arange(4)
    below = anyshape.vmap(lambda x, k: (x < k, np.clip(x, 0, k)), in_axes=(0, None))
    np.testing.assert_array_equal(below(x, k)[0], [True] * 4)
    np.testing.assert_array_equal(below(x, k)[1], x, strict=True)
    with pytest.raises(RunOverflowError, match=f"Python integer {k} out of bounds for int64"):
        anyshape.vmap(lambda x, k: x * k, in_axes=(0, None))(x, k)
    derivative = anyshape.grad(lambda x, k: np.sum(np.where(x < k, x * k, 0.0)))(np.ones(2), k)
    np.testing.assert_array_equal(derivative, [float(k)] * 2, strict=True)


OPERATORS = {
    "k + 1": lambda k: k + 1, "k - 2**63": lambda k: k - 2**63, "1 - k": lambda k: 1 - k, "k * 2": lambda k: k * 2,
    "k * k": lambda k: k * k, "k**2": lambda k: k**2, "k**1": lambda k: k**1, "2**k": lambda k: 2 ** (k % 100),
    "k**100": lambda k: k**100, "k << 2": lambda k: k << 2, "1 << k": lambda k: 1 << (k % 100),
    "k >> 70": lambda k: k >> 70,
    "k // -1": lambda k: k // -1, "k % 7": lambda k: k % 7, "divmod": lambda k: divmod(k, -5),
    "7 // k": lambda k: 7 // k,
    "7 % k": lambda k: 7 % k, "1 >> -k": lambda k: 1 >> -k,
    "-k": lambda k: -k, "abs": abs, "~k": lambda k: ~k, "+k": lambda k: +k, "k / 3": lambda k: k / 3, "round": round,
    "True + k": lambda k: True + k, "k - True": lambda k: k - True,
    "sum": lambda k: sum([k, k]), "several": lambda k: (k - 1) * 2 + 3 * k % 5,
}  # fmt: skip
STEPS = {  # intermediate results
    "sum": lambda k: (0 + k,), "several": lambda k: (k - 1, (k - 1) * 2, 3 * k),
    "1 >> -k": lambda k: (-k,),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_on_ints_are_exact_or_refused(name):
    """It is exact, or an error of the run where a step is beyond what an int64 holds."""
    f = OPERATORS[name]
    jitted = anyshape.jit(f)
    for k in (*INTS, 2**63 - 1, 2**62 - 1, 2**31, 3, -7, 64, 63, True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = outcome(jitted, k)
        expected = outcome(f, k)
        if got is OverflowError:
            steps = [x for x in (expected, *STEPS.get(name, lambda k: ())(k)) if isinstance(x, int)]
            assert not all(-(2**63) <= step < 2**63 for step in steps), f"{name} of {k} is {expected}"
        else:
            assert got == expected, f"{name} of {k}"


def test_the_error_of_an_int_that_is_too_large_shows_the_operation():
    with pytest.raises(RunOverflowError, match=r"4611686018427387904 \* 2 of Python ints is out of bounds for int64"):
        anyshape.jit(lambda k: k * 2)(2**62)
    with pytest.raises(RunOverflowError, match=r"-\(-9223372036854775808\) of Python ints"):
        anyshape.jit(lambda k: -k)(-(2**63))
    for f in (lambda k: 1 << k, lambda k: 3**k):  # the result would take all memory
        with pytest.raises(RunOverflowError, match="1099511627776 of Python ints"):
            anyshape.jit(f)(2**40)
    with pytest.raises(RunZeroDivisionError, match="integer division or modulo by zero"):
        anyshape.jit(lambda k: 5 // k)(0)
    with pytest.raises(AnyshapeError, match=r"2 \*\* -1 is not an integer: make one of them a float"):
        anyshape.jit(lambda k: 2**k)(-1)
    with pytest.raises(AnyshapeError, match="an operand is 1180591620717411303424, which 64 bits do not hold"):
        anyshape.jit(lambda k: k // 2**70)(1)


SIZES_BEYOND_INT64 = {
    "power of a size": lambda x: x * x.shape[0] ** 40,
    "a size as an exponent": lambda x: x * 2 ** x.shape[0],
    "among float32": lambda x: x.astype(np.float32) / x.shape[0] ** 15,
    "among complex": lambda x: x * 1j - 3 ** x.shape[0],
    "a negative exponent": lambda x: x * 3 ** (-x.shape[0]),
    "shift": lambda x: x * (1 << x.shape[0]),
    "product of sizes": lambda x: x.sum() * (x.size * (x.size + 1) * (x.size - 1) * x.shape[0] ** 9),
    "quotient of products": lambda x: x * (3 * (x.size**2 + 27 * x.size - 70) * x.size**12 / (x.size - 2) ** 11),
    "where": lambda x: np.where(x > 1, x.size**13, x),
    "unused": lambda x: (2 ** x.shape[0], x + 1)[1],
}


@pytest.mark.parametrize("name", SIZES_BEYOND_INT64)
def test_a_size_beyond_int64_among_floats_is_rounded_once_as_in_numpy(name):
    f = SIZES_BEYOND_INT64[name]
    program = anyshape.jit(f)
    for n in (3, 70, 1):
        x = np.linspace(0.5, 2.0, n)
        np.testing.assert_allclose(program(x), f(x), rtol=4e-16, strict=True)
        np.testing.assert_allclose(anyshape.vmap(f)(x[None])[0], f(x), rtol=4e-16, strict=True)


def test_a_size_beyond_the_floats_is_an_error_of_the_call():
    program = anyshape.jit(lambda x: x * 2 ** x.shape[0])
    np.testing.assert_array_equal(program(np.ones(1023)), np.full(1023, 2.0**1023), strict=True)
    with pytest.raises(RunOverflowError, match=r"2 \*\* 1024 of Python ints is out of bounds for float64"):
        program(np.ones(1024))
    with pytest.raises(RunOverflowError, match="int too large to convert to float"):
        anyshape.jit(lambda x: x * x.shape[0] ** 60)(np.ones(10**6))
    with pytest.raises(AnyshapeError, match="too large for int64"):
        anyshape.jit(lambda x: np.ones(2, int) * x.shape[0] ** 13)(np.ones(70))


def test_arrays_wrap_as_in_numpy_beside_ints_that_do_not():
    x = np.array([2**62, 5])
    np.testing.assert_array_equal(anyshape.jit(lambda x, k: x * (k + 1))(x, 1), x * 2, strict=True)
    np.testing.assert_array_equal(anyshape.jit(lambda x, k: np.multiply(x[0], k))(x, 2), np.int64(-(2**63)))
    derivative = anyshape.grad(lambda x, k: np.sum(x * k**2) * (k - 1))(np.ones(2), 3)
    np.testing.assert_array_equal(derivative, [18.0, 18.0], strict=True)
    doubled = anyshape.vmap(lambda x, k: x * (k * 2), in_axes=(0, None))
    np.testing.assert_array_equal(doubled(np.arange(3), 4), [0, 8, 16], strict=True)
    with pytest.raises(RunOverflowError, match="of Python ints is out of bounds"):
        doubled(np.arange(3), 2**62)
