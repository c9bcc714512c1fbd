"""Test slices, takes and pads beyond the samples: exact bounds, errors, kernels, and decisions of a call."""

import itertools
import re

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import ops
from anyshape.errors import (
    AnyshapeError,
    DTypeError,
    MutationError,
    ShapeError,
    SizeMismatchError,
    UnsupportedFunctionError,
)
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext, slice_bounds
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.indexing import put_add_op

X = np.arange(6.0).reshape(2, 3)


# -- the bounds of slices ----------------------------------------------------------------------------------------


def bounds_at(part, n, hints=None):
    """Return the bounds of a slice of an axis of unknown size at n, whether its guards hold there, and the guards."""
    variable = expr.DimVar("n")
    ctx = ShapeGuardContext(Scope({variable: n if hints is None else hints}), "slice", None)
    bounds = slice_bounds(ctx, part(expr.from_atom(variable)), expr.from_atom(variable))
    guards_hold = all(c.claim.holds(lambda leaf: n) for c in ctx.scope.conditions)
    return [evaluate(s, lambda leaf: n) for s in bounds], guards_hold, ctx.scope.conditions


@pytest.mark.parametrize("step", [None, 1, 2, 3, 7, -1, -2, -3, -7])
def test_slice_bounds_equal_pythons_at_every_size_without_a_guard(step):
    ends = [None, *range(-7, 8)]
    for start, stop in itertools.product(ends, ends):
        part = slice(start, stop, step)
        for n in range(7):
            (first, count, by), _, conditions = bounds_at(lambda size, part=part: part, n)
            assert not conditions
            assert [first + i * by for i in range(count)] == list(range(n))[part], (part, n)
            assert 0 <= first <= n if by > 0 else -1 <= first < max(n, 1), (part, n)


@pytest.mark.parametrize("step", [1, 2, -1, -2])
@pytest.mark.parametrize("offset", range(-4, 3))
def test_slice_bounds_by_sizes_hold_wherever_their_guards_do(offset, step):
    for traced_at, n in itertools.product(range(7), range(7)):
        for low in (True, False):
            end = lambda size, low=low: slice(size + offset, None, step) if low else slice(None, size + offset, step)
            (first, count, by), held, _ = bounds_at(end, n, traced_at)
            if held:
                assert [first + i * by for i in range(count)] == list(range(n))[end(n)]


def test_neighbouring_slices_are_proved_to_have_one_size():
    program = anyshape.jit(lambda x: x[1:] - x[: x.shape[0] - 1] + x[:-1])
    np.testing.assert_array_equal(program(np.arange(4.0)), [1, 2, 3])
    assert not program.programs()[0].graph.conditions


# -- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (lambda x: x[1.5], AnyshapeError, "not an integer"),
        (lambda x: x[:: np.int64(0)], ShapeError, "step cannot be zero"),
        (lambda x: x[: np.sum(x)], AnyshapeError, "slice bound is f64"),
        (lambda x: x[:: np.argmax(x)], UnsupportedFunctionError, "step of a slice is the traced value"),
        (lambda x: x[0, 0, 0], ShapeError, "3 indices for an array with 2 axes"),
        (lambda x: x[..., ...], ShapeError, "one `...`"),
        (lambda x: x[5], SizeMismatchError, r"x\[5\]: x.shape\[0\] \(2\) must be at least 6"),
        (lambda x: x[np.ones((2, 2), bool)], SizeMismatchError, r"x.shape\[1\] \(3\) must equal 2"),
        (lambda x: np.split(x, 2, axis=1), SizeMismatchError, r"x.shape\[1\] \(3\) must be divisible by 2"),
        (lambda x: np.squeeze(x, 0), SizeMismatchError, r"x.shape\[0\] \(2\) must equal 1"),
        (lambda x: np.compress(x > 1, x), ShapeError, "condition must have one axis"),
        (lambda x: np.repeat(x, x[:, 0], axis=0), DTypeError, "counts are float64"),
        (lambda x: np.pad(x, 1, lambda *_: None), UnsupportedFunctionError, "a function as the mode"),
        (lambda x: np.pad(x, 1, "mean", end_values=1), UnsupportedFunctionError, "mode 'mean' with {'end_values': 1}"),
        (lambda x: np.pad(x > 1, 1, "reflect", reflect_type="odd"), DTypeError, "subtracts elements"),
        (lambda x: np.pad(x, -1), ShapeError, "a pad of -1 is negative"),
        (lambda x: np.take(x, [0], out=np.zeros(3)), MutationError, "an array of NumPy cannot hold"),
        (lambda x: np.take(x, x[0]), DTypeError, "indices are float64"),
        (lambda x: np.zeros_like(x, x[0]), DTypeError, "an array is not a dtype"),
        (lambda x: np.triu(x[0, 0]), TypeError, "m is a scalar"),
        (lambda x: anp.hstack(x[0, 0]), TypeError, "not iterable|iteration over|needs the value"),
        (lambda x: anp.arange(0, x.shape[0], 0.1, int), UnsupportedFunctionError, "bound or step 0.1"),
        (lambda x: np.concatenate([x, x[0]]), ShapeError, "same number of axes"),
        (lambda x: np.swapaxes(x, 0, 5), np.exceptions.AxisError, "axis 5 is out of bounds"),
    ],
)
@pytest.mark.usefixtures("as_written")
def test_errors_name_the_problem(function, kind, words):
    program = anyshape.jit(function)
    with pytest.raises(kind, match=words):
        program(X)


def test_take_counts_with_bools_and_truncates_numbers_as_numpy_does():
    mask = np.array([True, False])
    for function in (lambda x, i: np.take(x, i), lambda x, i: np.take(x, 1.5), lambda x, i: np.take(x, [1.5])):
        np.testing.assert_array_equal(anyshape.jit(function)(X, mask), function(X, mask))


def test_an_index_out_of_range_is_numpys_error_when_the_program_runs():
    program = anyshape.jit(lambda x, i: x[i])
    program(X, np.array([1]))
    for bad in (2, -3):
        with pytest.raises(IndexError, match="out of bounds"):
            program(X, np.array([0, bad]))
    batched = anyshape.jit(anyshape.vmap(lambda x, i: x[i]))
    with pytest.raises(IndexError, match="out of bounds"):
        batched(X, np.array([0, 3]))  # never an element of the next example


# -- decisions ---------------------------------------------------------------------------------------------------


def test_squeeze_without_an_axis_is_decided_by_the_call():
    program = anyshape.jit(lambda x: np.squeeze(x) * 2)
    for shape in [(1, 3), (1, 5), (1, 1), (2, 3), (1, 0)]:
        assert program(np.ones(shape)).shape == np.squeeze(np.ones(shape)).shape
    assert program.cache_info().traces == 3


def test_unstack_of_a_symbolic_axis_is_decided_by_the_call():
    program = anyshape.jit(lambda x: sum(row * i for i, row in enumerate(np.unstack(x))))
    np.testing.assert_array_equal(program(X), X[1])


# -- kernels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int32"])
@pytest.mark.parametrize(("count", "width"), [(0, 3), (7, 0), (7, 1), (7, 3), (400, 40)])
def test_put_add_accumulates_in_the_dtype_of_the_updates(count, width, dtype):
    rng = np.random.default_rng(0)
    rows, positions = (rng.normal(size=(count, width)) * 9).astype(dtype), rng.integers(-50, 50, count)
    expected = np.zeros((50, width), dtype)
    np.add.at(expected, positions, rows)
    result = KERNELS[put_add_op].run(rows, positions, axes=(0,), sizes=(50,))
    np.testing.assert_allclose(result, expected, rtol=1e-4 if dtype == "float32" else 1e-12, strict=True)


@pytest.mark.parametrize("count", [4, 400])
def test_a_nan_reaches_the_rows_it_is_added_to_alone(count):
    rows = np.ones((count, 40))
    rows[1] = np.nan
    result = ops.put_add(rows, np.arange(count), count)
    assert np.isnan(result[1]).all() and not np.isnan(np.delete(result, 1, 0)).any()


@pytest.mark.parametrize("count", [4, 400])
def test_put_add_out_of_range_is_an_error(count):
    for bad in (5, -6):
        with pytest.raises(IndexError):
            ops.put_add(np.ones((count, 40)), np.full(count, bad), 5)
        with pytest.raises(IndexError):
            ops.put_add_at(np.ones(count), [np.full(count, bad), np.zeros(count, int)], (0, 1), (5, 5))


def test_the_result_of_scalar_indices_is_not_a_view():
    x = np.arange(24.0).reshape(2, 3, 4)
    row = anyshape.jit(lambda x, i, j: x[i, j])(x, np.int64(1), np.int64(-1))
    row[:] = -1
    assert (x >= 0).all()


# -- ops ---------------------------------------------------------------------------------------------------------


def test_ops_check_their_arguments():
    np.testing.assert_array_equal(ops.slice(X, (0, 0), (2, 2), (1, 2)), X[:, ::2])
    with pytest.raises(ShapeError, match="axis 1 ends before"):
        ops.slice(X, (0, 0), (2, 3), (1, 2))
    with pytest.raises(ShapeError, match="negative"):
        ops.pad(X, (0, 0), (0, -1))
    padded = ops.pad(X, (1, 0), (0, 2), (0, 1), value=7)
    np.testing.assert_array_equal(padded, [[7] * 7, [0, 7, 1, 7, 2, 7, 7], [3, 7, 4, 7, 5, 7, 7]])
    with pytest.raises(ShapeError, match="increasing order"):
        ops.take_at(X, [np.array([0]), np.array([0])], (1, 0))


def test_an_embedding_differentiates_to_any_order():
    f = lambda table, tokens: (np.take(table, tokens, axis=0) ** 3).sum()
    first = anyshape.grad(f)
    second = anyshape.grad(lambda table, tokens: (first(table, tokens) * 1.0).sum())
    third = anyshape.grad(lambda table, tokens: second(table, tokens).sum())
    table, tokens = np.arange(1.0, 7.0).reshape(3, 2), np.array([2, 0, 2])
    counts = np.array([1.0, 0.0, 2.0])[:, None]
    np.testing.assert_allclose(first(table, tokens), 3 * counts * table**2)
    np.testing.assert_allclose(second(table, tokens), 6 * counts * table)
    np.testing.assert_allclose(third(table, tokens), 6 * counts * np.ones_like(table))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_cross_entropy_reads_one_logit_of_each_row(n):
    rng = np.random.default_rng(n)
    logits, targets = rng.normal(size=(n, 4)), rng.integers(4, size=n)
    f = lambda x, t: x[anp.arange(x.shape[0]), t].sum()
    value, derivative = anyshape.value_and_grad(f)(logits, targets)
    np.testing.assert_allclose(value, logits[np.arange(n), targets].sum())
    np.testing.assert_array_equal(derivative, np.eye(4)[targets])


FILLS = [("i1", 300), ("i4", np.inf), ("i4", 1e300), ("u1", -1), ("i1", 2.7), ("i1", (300, 1)), ("i1", (2.7, -1.5))]
FILLS += [("i4", np.int64(2**40)), ("?", 7), ("f4", 1e300), ("f2", (7, 1e5)), ("i2", True), ("c8", 1 + 2j), ("u1", 255)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype, fill", FILLS)
def test_pad_takes_the_same_fills_as_numpy(dtype, fill):
    def padded(x):
        return np.pad(x, (1, 2), constant_values=fill)

    x = np.ones(3, dtype)
    try:
        expected = padded(x)
    except OverflowError as error:
        with pytest.raises(OverflowError, match=re.escape(str(error))):
            anyshape.jit(padded)(x)
    else:
        result = anyshape.jit(padded)(x)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


class Position:
    """An integer of the user's own class."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


@pytest.mark.parametrize("key", [
    Position(1), Position(-1), (Position(1), Position(2)), (Position(0), slice(None)), (..., Position(1)),
    (None, Position(1)), slice(Position(1), Position(3)), (Position(1), [0, 2]), (slice(None), Position(-2)),
])  # fmt: skip
def test_an_object_with_an_index_is_an_integer_of_a_key(key):
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(anyshape.jit(lambda x: x[key])(x), x[key])
    np.testing.assert_array_equal(anyshape.jit(lambda x: x.flat[Position(5)])(x), 5.0)
