"""Python ints as arguments, of every size that 64 bits hold: each operation answers as NumPy does of the same int."""

import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.errors import RunOverflowError

UINT64 = (2**63, 2**63 + 5, 2**64 - 1)  # what no int64 holds: traced as uint64
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
    """What a call gives, or the kind of error."""
    try:
        return f(*args)
    except OverflowError:
        return OverflowError
    except (TypeError, ValueError):
        return TypeError


def assert_same(got, expected, what):
    if isinstance(expected, type) or isinstance(got, type):
        assert got is expected, f"{what}: {got} for {expected}"
    elif isinstance(expected, tuple):
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other, what)
    else:
        expected = np.asarray(expected)
        rtol = 4 * np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=0, err_msg=what)
        assert np.asarray(got).dtype == expected.dtype, what


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_operation_answers_as_numpy_does(name):
    f = OPERATIONS[name]
    jitted = anyshape.jit(f)
    for dtype in DTYPES:
        for x in (np.array([0, 1, 100]).astype(dtype), np.array(5).astype(dtype)):
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
def test_derivatives_and_batches_know_such_an_int(k):
    x = np.arange(4)
    below = anyshape.vmap(lambda x, k: (x < k, np.clip(x, 0, k)), in_axes=(0, None))
    np.testing.assert_array_equal(below(x, k)[0], [True] * 4)
    np.testing.assert_array_equal(below(x, k)[1], x, strict=True)
    with pytest.raises(RunOverflowError, match=f"Python integer {k} out of bounds for int64"):
        anyshape.vmap(lambda x, k: x * k, in_axes=(0, None))(x, k)
    slope = anyshape.grad(lambda x, k: np.sum(np.where(x < k, x * k, 0.0)))(np.ones(2), k)
    np.testing.assert_array_equal(slope, [float(k)] * 2, strict=True)


def test_what_python_makes_of_such_an_int_is_right_or_refused():
    for f in (lambda k: -k, lambda k: ~k, lambda k: k + 1, lambda k: k * 2, lambda k: 1 - k, lambda k: k**2):
        with pytest.raises(RunOverflowError, match="Python integer 9223372036854775808 out of bounds for int64"):
            anyshape.jit(f)(2**63)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in (lambda k: +k, abs, lambda k: k / 3, round):
            assert anyshape.jit(f)(2**63) == f(2**63)
