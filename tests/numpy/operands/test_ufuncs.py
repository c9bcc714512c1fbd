"""Test the options of functions that stand for ufuncs: NumPy takes all of them, traced operands only `dtype`."""

import copy
import inspect
import operator
import pickle
import pydoc
import re

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.errors import ArgumentError, DTypeError, MutationError, UnsupportedFunctionError
from anyshape.numpy.operands.ufuncs import Ufunc

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
def test_results_of_traced_operands_are_not_written_to_arrays_of_numpy(name):
    function, args = CALLS[name]
    out = np.zeros_like(function(*args))
    for write in (lambda x: function(*args[:-1], x, out=out), lambda x: function(*args[:-1], x, out)):
        with pytest.raises(MutationError, match="an array of NumPy cannot hold traced values"):
            anyshape.jit(write)(args[-1])
        assert not out.any()


@pytest.mark.parametrize("name", CALLS)
def test_results_are_written_to_traced_arrays(name):
    function, args = CALLS[name]

    def by_name(x):
        y = np.zeros_like(function(*args)) + np.zeros_like(function(*args[:-1], x))
        function(*args[:-1], x, out=y)
        return y

    def by_position(x):
        y = np.zeros_like(function(*args)) + np.zeros_like(function(*args[:-1], x))
        function(*args[:-1], x, y)
        return y

    for program in (by_name, by_position):
        np.testing.assert_allclose(anyshape.jit(program)(args[-1]), function(*args), rtol=1e-12)


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


def test_a_bessel_function_needs_an_integer_order_where_scipy_does_and_a_real_argument():
    with pytest.raises(ArgumentError, match="the order"):
        anyshape.jit(anp.special.kn)(X, X)
    with pytest.raises(UnsupportedFunctionError, match=r"jv.*no derivative with respect to its first operand"):
        anyshape.grad(lambda v: anp.special.jv(v, X).sum())(1.5)
    with pytest.raises(DTypeError, match="complex"):
        anyshape.jit(lambda z: anp.special.jv(1, z))(X * 1j)


def test_a_write_into_an_argument_by_keywords():
    x = X.copy()
    anyshape.jit(lambda x: np.copyto(dst=x, src=0.0))(x)
    np.testing.assert_array_equal(x, np.zeros_like(X))


# -- attributes and methods


UFUNCS = sorted(name for name in anp.__all__ if isinstance(getattr(np, name, None), np.ufunc))


@pytest.mark.parametrize("name", UFUNCS)
def test_functions_have_the_attributes_of_their_ufunc(name):
    ours, ufunc = getattr(anp, name), getattr(np, name)
    for attribute in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "__name__"):
        assert getattr(ours, attribute) == getattr(ufunc, attribute), attribute
    assert list(inspect.signature(ours).parameters)[: ours.nin] == (
        ["x"] if ours.nin == 1 else [f"x{i + 1}" for i in range(ours.nin)]
    )


@pytest.mark.parametrize("name", [*UFUNCS, *[f"special.{name}" for name in ("erf", "jv", "xlogy")]])
def test_functions_are_objects_as_ufuncs_are(name):
    ours = operator.attrgetter(name)(anp)
    assert isinstance(ours, Ufunc) and repr(ours) == f"<ufunc {ours.__name__!r}>"
    assert pickle.loads(pickle.dumps(ours)) is copy.deepcopy(ours) is ours
    shown = pydoc.plain(pydoc.render_doc(ours))  # Python 3.13 writes long signatures on several lines
    assert not inspect.isfunction(ours)
    assert re.sub(r"\s", "", f"{ours.__name__}{inspect.signature(ours)}") in re.sub(r"\s", "", shown)
    for method in ("reduce", "accumulate", "reduceat", "outer", "at"):
        assert next(iter(inspect.signature(getattr(ours, method)).parameters)) in "array A a"
        assert getattr(ours, method).__doc__


def test_a_function_in_a_class_binds_no_instance():
    class Layer:
        activation = anp.tanh

    np.testing.assert_array_equal(anyshape.jit(lambda x: Layer().activation(x))(X), np.tanh(X))


def added_at(np, x):
    y = x.copy()
    np.add.at(y, (np.array([0, 0]), np.array([1, 1])), [x[0, 0], 2.0])
    return y


METHOD_CALLS = {
    "reduce": lambda np, x: np.add.reduce(x),
    "reduce of a list": lambda np, x: np.maximum.reduce([x[0], x[1], 0.5 * x[0]]),
    "reduce over axes": lambda np, x: np.multiply.reduce(x, axis=(0, 1), keepdims=True),
    "accumulate": lambda np, x: np.add.accumulate([x[1], x[0]]),
    "outer": lambda np, x: np.multiply.outer([x[0, 0], 2.0], x),
    "at": added_at,
    "reduceat of a concrete array": lambda np, x: x[0] * np.add.reduceat([1, 2, 3], [0, 1, 2]),
}


@pytest.mark.parametrize("name", METHOD_CALLS)
def test_methods_of_ufuncs_are_those_of_numpy(name):
    x = np.array([[0.5, 1.5, 2.5], [3.0, -1.0, 0.2]])
    np.testing.assert_allclose(anyshape.jit(lambda x: METHOD_CALLS[name](anp, x))(x), METHOD_CALLS[name](np, x))
    np.testing.assert_allclose(METHOD_CALLS[name](anp, x), METHOD_CALLS[name](np, x))


def test_a_method_that_is_missing_is_named():
    with pytest.raises(UnsupportedFunctionError, match=r"anp\.arctan2\.reduce"):
        anyshape.jit(lambda x: anp.arctan2.reduce(x))(X)
