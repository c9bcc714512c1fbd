"""Test the options of functions that stand for ufuncs: NumPy takes all of them, traced operands only `dtype`."""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.errors import ArgumentError, DTypeError, MutationError, UnsupportedFunctionError

X = np.array([0.5, 1.5, 2.5])
CALLS = {
    "sin": (anp.sin, (X,)),
    "power": (anp.power, (X, 3.0)),
    "less": (anp.less, (X, 1.0)),
    "matmul": (anp.matmul, (X[None], X[:, None])),
    "vecdot": (anp.vecdot, (X[None], X)),
    "expit": (anp.special.expit, (X,)),
    "jv": (anp.special.jv, (2, X)),
}


@pytest.mark.parametrize("name", CALLS)
def test_concrete_operands_take_out_by_position_and_by_name(name):
    function, args = CALLS[name]
    expected = function(*args)
    for write in (lambda out: function(*args, out), lambda out: function(*args, out=out)):
        out = np.zeros_like(expected)
        assert write(out) is out
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", CALLS)
def test_traced_operands_take_no_out(name):
    function, args = CALLS[name]
    out = np.zeros_like(function(*args))
    with pytest.raises((UnsupportedFunctionError, ArgumentError)):
        anyshape.jit(lambda x: function(*args[:-1], x, out=out))(args[-1])


@pytest.mark.parametrize("name", ["sin", "power", "less", "expit", "jv"])
def test_traced_operands_take_options_that_leave_the_array_alone(name):
    function, args = CALLS[name]
    defaults = {"out": None, "where": True, "casting": "same_kind", "order": "K", "subok": True}
    result = anyshape.jit(lambda x: function(*args[:-1], x, **defaults))(args[-1])
    np.testing.assert_allclose(result, function(*args), rtol=1e-12)
    for options in ({"casting": "unsafe"}, {"order": "C"}, {"subok": False}):
        result = anyshape.jit(lambda x, o=options: function(*args[:-1], x, **o))(args[-1])
        np.testing.assert_allclose(result, function(*args, **options), rtol=1e-12)
    with pytest.raises(UnsupportedFunctionError, match="option 'where'"):
        anyshape.jit(lambda x: function(*args[:-1], x, where=X > 1))(args[-1])
    for option in ("casting", "order"):
        with pytest.raises(ArgumentError, match="is unknown"):
            anyshape.jit(lambda x, o=option: function(*args[:-1], x, **{o: "bad"}))(args[-1])


def test_a_bessel_function_needs_a_literal_order_and_a_real_argument():
    with pytest.raises(ArgumentError, match="the order"):
        anyshape.jit(anp.special.jv)(X, X)
    with pytest.raises(DTypeError, match="complex"):
        anyshape.jit(lambda z: anp.special.jv(1, z))(X * 1j)


def test_a_write_into_a_traced_array_by_keywords_is_refused():
    with pytest.raises(MutationError, match="copyto"):
        anyshape.jit(lambda x: np.copyto(dst=x, src=0.0))(X)
