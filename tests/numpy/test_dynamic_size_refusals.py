"""Test parameters that must be known while tracing: run-time sizes raise one kind of error, at the user's line.

All other parameters take run-time sizes. Messages are golden.
"""

import json
import pickle

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, grad, jit, pure_callback, trace, vmap
from anyshape.errors import AnyshapeError, RaggedBatchError, SymbolicIterationError, UnsupportedDynamicShapeError
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, Unknown, UpperBound, tensor
from anyshape.graph.sizes.expr import variable
from tests.laws.sweep import arrays_of, few_combinations, in_namespace, is_error, leaves, outcome, rows

X = np.arange(4.0)


def count(x):
    return x[x > 1].shape[0]


PAYLOADS = [
    ("unstack", "the number of arrays", lambda x: anp.unstack(x[x > 1])),
    ("split", "the number of parts", lambda x: np.split(x, count(x))),
    ("array_split", "the number of parts", lambda x: np.array_split(x, count(x))),
    ("diff", "the order", lambda x: np.diff(x, count(x))),
    ("expand_dims", "the axis", lambda x: np.expand_dims(x, count(x))),
    ("sum", "the axis", lambda x: x.sum(count(x) - 2)),
    ("round", "the number of decimals", lambda x: np.round(x, count(x))),
    ("matrix_power", "the power", lambda x: np.linalg.matrix_power(np.outer(x, x), count(x))),
    ("tensordot", "the number of axes", lambda x: np.tensordot(x, x, count(x))),
]  # fmt: skip


@pytest.mark.parametrize(("primitive", "field", "function"), PAYLOADS, ids=lambda x: x if isinstance(x, str) else "")
def test_parameters_that_need_a_fixed_size_refuse_run_time_sizes(primitive, field, function):
    for run in (
        jit(function),
        lambda x: trace(function)(ShapeDtypeStruct("n")),
        jit(grad(lambda x: function(x)[0].sum())),
    ):
        with pytest.raises(UnsupportedDynamicShapeError) as caught:
            run(X)
        error = caught.value
        assert (error.primitive, error.field, error.observed, error.needed) == (
            primitive,
            field,
            "run-time",
            "a fixed size",
        )
        assert error.where.file == __file__ and "count" in error.extent
        assert pickle.loads(pickle.dumps(error)).to_dict() == error.to_dict()


def test_sizes_of_arguments_are_guarded_instead():
    assert [v.shape for v in jit(lambda x: anp.unstack(x))(X)] == [()] * 4
    assert len(jit(lambda x: np.split(x, x.shape[0]))(X)) == 4


def test_messages_are_golden():
    x, y = tensor(np.dtype(float), [UpperBound(variable("n")), 3]), tensor(np.dtype(float), [Unknown(), 3])
    context = ShapeGuardContext(Scope(), "reshape", None, (x, y), "transpose")
    cases = [
        (lambda: context.exact(x, 0, field="shape"),
         "reshape: shape needs an exact size for axis 0, and <=n is only an upper bound\n"
         "  give the array's sizes names with anyshape.ops.name_sizes, or take the size from an array that has it"),
        (lambda: context.shape(y),
         "reshape: shape needs an exact size for axis 0, and ? is not known at all\n"
         "  give the array's sizes names with anyshape.ops.name_sizes, or take the size from an array that has it"),
        (lambda: context.fixed(context.new_size("count"), field="the power"),
         "reshape: the power needs a fixed size, and count is a size that depends on data\n"
         "  write it with array operations, which take every size, or move it outside the traced function"),
    ]  # fmt: skip
    for call, message in cases:
        with pytest.raises(UnsupportedDynamicShapeError) as caught:
            call()
        assert str(caught.value) == message
    assert str(context.unsupported("the batch", None, Exact(variable("n")), "a fixed size")) == (
        "reshape: the batch needs a fixed size, and n is not known while tracing\n"
        "  give the size a fixed value, or write it with array operations, which take every size"
    )


def test_an_error_converts_to_plain_data():
    with pytest.raises(UnsupportedDynamicShapeError) as caught:
        jit(lambda x: anp.unstack(x[x > 1]))(X)
    data = json.loads(json.dumps(caught.value.to_dict()))
    where = data.pop("where")
    assert where["file"] == __file__ and where["line"].startswith("test_dynamic_size_refusals.py:")
    assert data.pop("message") == str(caught.value)
    assert data == {
        "error": "UnsupportedDynamicShapeError", "primitive": "unstack", "field": "the number of arrays", "axis": 0,
        "observed": "run-time", "extent": "count", "needed": "a fixed size",
    }  # fmt: skip


def test_a_function_that_takes_no_batch_refuses_examples_of_different_sizes():
    with pytest.raises(
        RaggedBatchError, match="one size for all examples, and it is 2 in example 0 and 3 in"
    ) as caught:
        jit(lambda x: vmap(lambda x: x[x > 1])(x) @ x)(np.array([[2, 3, 0], [3, 4, 5], [6, 7, 8]]))
    assert caught.value.where.file == __file__ and caught.value.shapes == {(0,): (2,), (1,): (3,)}


def test_an_array_of_run_time_size_is_no_list():
    with pytest.raises(SymbolicIterationError, match="not known while tracing"):
        jit(lambda x: np.concatenate(x[x[:, 0] > -1]))(np.ones((2, 3)))


# -- every function, on arrays with run-time sizes


def opaque(x):
    return pure_callback(lambda x: x, ShapeDtypeStruct(", ".join("?" * x.ndim), x.dtype), x) if x.ndim else x


def masked(x):
    return x[anp.asarray(x.shape[0]) * anp.ones(x.shape[:1], int) > -1] if x.ndim else x


@pytest.mark.slow
@pytest.mark.parametrize("hide", [opaque, masked])
@pytest.mark.parametrize("family", sorted({family for family, _ in rows()} - {"callback", "dynamic", "segments"}))
def test_every_row_takes_run_time_sizes_or_refuses(family, hide):
    """Each sample gives NumPy's result or a structured error."""
    refused = right = 0
    for row in [row for f, row in rows() if f == family]:
        function = in_namespace(row, anp)
        run = jit(lambda *a, function=function: function(*[hide(x) for x in a]))
        for sizes in few_combinations(row)[:3]:
            xs = arrays_of(row, sizes, row.dtypes[0])
            expected = outcome(lambda *a, row=row: row.function(np, *a), *[x.copy() for x in xs])
            try:
                with np.errstate(all="ignore"):
                    results = leaves(run(*xs))
            except AnyshapeError:
                refused += not is_error(expected)
                continue
            assert not is_error(expected), f"{row} at {sizes}: NumPy refuses it"
            for a, b in zip(expected, results, strict=True):
                assert a.shape == b.shape and a.dtype == b.dtype
                np.testing.assert_allclose(b, a, rtol=1e-6 if a.dtype.itemsize < 8 else row.tolerance, atol=1e-9)
            right += 1
        assert run.cache_info().traces <= 1
    assert refused <= 0.02 * (refused + right) + 10
