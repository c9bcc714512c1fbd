"""Arrays of other libraries are arguments: by `__array__`, an array interface, buffers and DLPack."""

import array
import decimal
import sys
import types

import numpy as np
import pytest

from anyshape import ShapeDtypeStruct, errors, grad, jit, trace, vmap

X = np.array([1.0, 2.0, 3.0])


class WithArray:
    """Holds an array, as a series of pandas does."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return self.data


class WithInterface:
    """Gives the interface of an array, as an image does."""

    __array_interface__ = X.__array_interface__


class WithDLPack:
    """Gives a capsule, as an array of another framework does."""

    def __dlpack__(self, **options):
        return X.__dlpack__(**options)

    def __dlpack_device__(self):
        return X.__dlpack_device__()


FOREIGN = [WithArray(X), WithInterface(), WithDLPack(), array.array("d", X), memoryview(X)]


def total(p, scale=1.0):
    return np.sum(p["x"] ** 2) * scale


@pytest.mark.parametrize("x", FOREIGN, ids=lambda x: type(x).__name__)
def test_arrays_of_other_libraries_are_arguments(x):
    f = jit(total)
    assert [f({"x": x}), f({"x": X}), f({"x": x})] == [14.0] * 3
    assert f.cache_info().traces == 1
    gradient = grad(total)({"x": x})["x"]
    assert type(gradient) is np.ndarray
    np.testing.assert_array_equal(gradient, 2 * X)
    np.testing.assert_array_equal(vmap(lambda row: row * 2)(x), 2 * X)
    np.testing.assert_array_equal(trace(lambda x: x * 2)(ShapeDtypeStruct("n"))(x), 2 * X)


def test_memory_is_shared_and_a_write_is_refused():
    f = jit(lambda x: x + 0)
    data = X.copy()
    x = WithArray(data)
    first = f(x)
    data[0] = 9.0
    np.testing.assert_array_equal([first[0], f(x)[0]], [1.0, 9.0])

    def write(x):
        x[0] = 0.0
        return x.sum()

    with pytest.raises(errors.ArgumentError, match="x is read-only, and write writes to it"):
        jit(write)(x)
    assert data[0] == 9.0


def test_an_object_whose_library_refuses_is_named():
    class OnDevice:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("call detach() first.\nMore text")

    with pytest.raises(errors.ArgumentError, match=r"p\['x'\] is of type OnDevice: call detach"):
        jit(total)({"x": OnDevice()})


@pytest.mark.parametrize("x", [WithArray(np.array(["a"])), WithArray(np.array([None])), b"123", bytearray(b"123")])
def test_texts_and_objects_are_refused(x):
    with pytest.raises(errors.ArgumentError, match=r"x has dtype|x is of type"):
        grad(lambda x: np.sum(x))(x)


def test_dask_arrays_are_refused_by_name(monkeypatch):
    module = types.ModuleType("dask.array")
    monkeypatch.setitem(sys.modules, "dask.array", module)
    kind = type("Array", (WithArray,), {"__module__": "dask.array"})
    with pytest.raises(errors.ArgumentError, match="x is a Dask Array, whose blocks are not computed") as caught:
        jit(lambda x: x)(kind(X))
    assert "map_chunks" in str(caught.value) and "docs/howto/run_on_clusters.md" in str(caught.value)


class Refusing:
    def __init__(self, reason):
        self.reason = reason

    def __array__(self, dtype=None, copy=None):
        raise TypeError(self.reason)


class Column:
    """Stands for a Series of pandas, whose values are objects."""

    def __init__(self, kind):
        self.dtype = type(kind, (), {})()

    def __array__(self, dtype=None, copy=None):
        return np.array(["a", None], object)


class Frame(Column):
    columns = ["a", "b"]

    def select_dtypes(self, kind):
        numeric = Column("object")
        numeric.columns = ["a"]
        return numeric


UNSUITED = [
    (Refusing("no"), "convert it to an array of NumPy first"),
    (Column("CategoricalDtype"), "pass x.cat.codes"),
    (Column("BooleanDtype"), "fill them, as with x.fillna(False)"),
    (Column("DatetimeTZDtype"), "pass x.dt.tz_localize(None).astype(int)"),
    (Column("object"), "convert it to numbers, as with astype(float)"),
    (Frame("object"), "pass x.select_dtypes('number')"),
    (np.zeros(2, [("a", float)]), "pass its fields one by one, as x['a']"),
    (np.ones(2, ">f8"), "x.astype(x.dtype.newbyteorder('='))"),
    (decimal.Decimal(2), "pass float(x)"),
]  # fmt: skip


def test_an_object_that_gives_no_numbers_is_refused_with_what_to_pass():
    f = grad(lambda x: x * 2)
    for x, advice in UNSUITED:
        with pytest.raises(errors.ArgumentError) as caught:
            f(x)
        assert str(caught.value).endswith(advice)
        assert caught.value.__cause__ is None
