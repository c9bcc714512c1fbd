"""Test gather, scatter and x.at[key] beyond the samples.

The references are StableHLO's definition on random dimension numbers, and NumPy on random keys. Errors, the graph of a
transpose and the order of updates are tested too.
"""

import re

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import ops
from anyshape.errors import AnyshapeError, DTypeError, IndexRangeError, MutationError, ShapeError
from anyshape.ops.gathering import GATHER, SCATTER
from anyshape.transforms import sharing
from tests.laws.sweep import is_error, outcome
from tests.numpy import stablehlo

KINDS = ("add", "set", "mul", "min", "max")
MODES = ("error", "clip", "fill")
X = np.arange(12.0).reshape(3, 4)


# -- StableHLO's text ------------------------------------------------------------------------------------------


def random_case(seed):
    """Return a random case with a mode; the indices of mode "error" are mostly in range."""
    rng = np.random.default_rng(seed)
    x, indices, numbers, sizes = stablehlo.random_case(rng)
    mode = MODES[seed % 3]
    if mode == "error" and rng.random() < 0.8:
        indices = stablehlo.within(rng, x, indices, numbers, sizes)
    inside = stablehlo.within(rng, x, indices, numbers, sizes)
    shape = stablehlo.gather(x, inside, numbers=numbers, sizes=sizes).shape
    return rng, x, indices, numbers, sizes, mode, np.round(2 * rng.normal(size=shape)) / 2


def assert_agrees(got, expected, nothing):
    """Assert equal values. Where no element is read or written, indices out of range may still be an error."""
    if is_error(expected):
        assert is_error(got)
    elif not (is_error(got) and nothing):
        assert not is_error(got), got
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-12, strict=True)


def check_gather(seed):
    _, x, indices, numbers, sizes, mode, updates = random_case(seed)
    expected = outcome(lambda: stablehlo.gather(x, indices, numbers=numbers, sizes=sizes, mode=mode, fill=7.0))
    named = dict(zip(GATHER, numbers, strict=True))
    run = lambda x, i: ops.gather(x, i, **named, slice_sizes=sizes, mode=mode, fill_value=7.0)
    assert_agrees(outcome(run, x, indices), expected, not updates.size)
    if seed % 5 == 0:
        assert_agrees(outcome(anyshape.jit(run), x, indices), expected, not updates.size)


def check_scatter(seed):
    _, x, indices, numbers, _, mode, updates = random_case(seed)
    mode, kind = {"fill": "drop"}.get(mode, mode), KINDS[seed % 5]
    expected = outcome(lambda: stablehlo.scatter(x, indices, updates, numbers=numbers, kind=kind, mode=mode))
    named = dict(zip(SCATTER, numbers, strict=True))
    run = lambda x, i, u: ops.scatter(x, i, u, **named, kind=kind, mode=mode)
    original = x.copy()
    assert_agrees(outcome(run, x, indices, updates), expected, not updates.size)
    if seed % 7 == 0:
        assert_agrees(outcome(anyshape.jit(run), x, indices, updates), expected, not updates.size)
    np.testing.assert_array_equal(x, original)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_gather_equals_stablehlos_definition(first):
    for seed in range(first, first + 50):
        check_gather(seed)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_scatter_equals_stablehlos_definition(first):
    for seed in range(first, first + 50):
        check_scatter(seed)


def expected_gradients(x, updates, written, kind, weights):
    """Return the cotangents of operand and updates for weights on the result of a scatter.

    `written` lists, for each element of the operand, the updates that it got.
    """
    to_x, to_updates = weights.copy(), np.zeros_like(updates)
    for at, indices in written.items():
        factors = [x[at], *[updates[i] for i in indices]]
        if kind == "add":
            parts = [1.0] * len(factors)
        elif kind == "set":
            parts = [0.0] * len(indices) + [1.0]
        elif kind == "mul":
            parts = [np.prod(factors[:k] + factors[k + 1 :]) for k in range(len(factors))]
        else:
            best = min(factors) if kind == "min" else max(factors)
            parts = [(m == best) / factors.count(best) for m in factors]
        to_x[at] = weights[at] * parts[0]
        for i, part in zip(indices, parts[1:], strict=True):
            to_updates[i] += weights[at] * part
    return to_x, to_updates


def check_derivatives(kind, seed):
    rng, x, indices, numbers, _, _, updates = random_case(3 * seed + 1)  # updates and x in halves: many ties
    x = np.round(2 * x) / 2
    named, written, weights = dict(zip(SCATTER, numbers, strict=True)), {}, rng.normal(size=x.shape)
    stablehlo.scatter(x, indices, updates, numbers=numbers, kind="add", mode="clip", written=written)
    run = lambda x, u: np.sum(ops.scatter(x, indices, u, **named, kind=kind, mode="clip") * weights)
    gradients = anyshape.grad(run, argnums=(0, 1))(x, updates)
    for got, expected in zip(gradients, expected_gradients(x, updates, written, kind, weights), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    if seed % 12 == 0 and kind in ("add", "set", "mul") and updates.size:
        anyshape.check_grads(lambda x, u: np.sin(run(x, u)), (x, updates), order=2)


def check_pairing(seed):
    rng, x, indices, numbers, sizes, _, _ = random_case(3 * seed + 2)
    named = dict(zip(GATHER, numbers, strict=True))
    run = lambda x: ops.gather(x, indices, **named, slice_sizes=sizes, mode="fill", fill_value=7.0)
    out, back = anyshape.vjp(run, x)
    ct, t = rng.normal(size=out.shape), rng.normal(size=x.shape)
    _, derivative = anyshape.jvp(run, (x,), (t,))
    np.testing.assert_allclose(np.sum(ct * derivative), np.sum(np.asarray(back(ct)[0]) * t), rtol=1e-9, atol=1e-12)


def check_batches(seed):
    rng, x, indices, numbers, sizes, _, updates = random_case(3 * seed + 1)
    xs, us = (np.stack([a, rng.normal(size=a.shape), 2 * a]) for a in (x, updates))
    many = np.stack([indices, indices + 1, indices - 1])
    named, other = (dict(zip(names, numbers, strict=True)) for names in (GATHER, SCATTER))
    read = lambda x, i: ops.gather(x, i, **named, slice_sizes=sizes, mode="clip")
    write = lambda x, i, u: ops.scatter(x, i, u, **other, kind=KINDS[seed % 5], mode="clip")
    for axes in ((0, None, None), (None, 0, None), (0, 0, 0), (None, None, 0)):
        args = [big if a == 0 else small for a, big, small in zip(axes, (xs, many, us), (x, indices, updates))]
        examples = [[v[k] if a == 0 else v for a, v in zip(axes, args)] for k in range(3)]
        got = anyshape.vmap(write, in_axes=axes)(*args)
        np.testing.assert_allclose(got, np.stack([write(*e) for e in examples]), rtol=1e-12)
        if axes[:2] != (None, None):
            got = anyshape.vmap(read, in_axes=axes[:2])(*args[:2])
            np.testing.assert_allclose(got, np.stack([read(*e[:2]) for e in examples]))


@pytest.mark.parametrize("seeds", [range(15), pytest.param(range(15, 60), marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_scatters_with_random_dimension_numbers(kind, seeds):
    for seed in seeds:
        check_derivatives(kind, seed)


@pytest.mark.slow
def test_the_transpose_of_a_gather_is_its_adjoint():
    for seed in range(60):
        check_pairing(seed)


@pytest.mark.slow
def test_vmap_gathers_and_scatters_each_example():
    for seed in range(25):
        check_batches(seed)


# -- the transpose of a scatter --------------------------------------------------------------------------------


def stretches(x, u, i):
    """x with the rows of u added to the stretches of x that start at i."""
    numbers = {"update_window_dims": (1,), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (0,)}
    return ops.scatter(x, i, u, **numbers, index_vector_dim=1)


def test_the_transpose_of_a_scatter_with_a_symbolic_window_reads_windows_of_that_size():
    shapes = [anyshape.ShapeDtypeStruct(s, d) for s, d in (("n", float), ("k, w", float), ("k", int))]
    derivative = anyshape.grad(lambda x, u, i: np.sum(stretches(x, u, i) ** 3), argnums=1)
    graph = str(anyshape.trace(derivative)(*shapes).graph)
    line = next(line for line in graph.splitlines() if "gather_dynamic" in line)
    assert line.split("  #")[0].strip() == (
        "%7: f64[k, w] = gather_dynamic(%6, %i; sizes of %u) {collapsed_slice_dims=(), fill_value=0.0, "
        "index_vector_dim=1, mode=error, offset_dims=(1,), operand_batching_dims=(), slice_sizes=(in2.shape[1],), "
        "start_index_map=(0,), start_indices_batching_dims=()}"
    )
    fixed = anyshape.trace(derivative)(shapes[0], anyshape.ShapeDtypeStruct("k, 3", float), shapes[2])
    assert "gather_dynamic" not in str(fixed.graph)
    assert "slice_sizes=(3,)" in str(fixed.graph)


def test_one_program_has_the_derivatives_of_every_window():
    rng = np.random.default_rng(0)
    x, i = rng.normal(size=7), np.array([0, 2, 2])
    derivative = anyshape.jit(anyshape.grad(lambda x, u, i: np.sum(np.sin(stretches(x, u, i))), argnums=(0, 1)))
    for width in (1, 2, 5, 0):
        u = rng.normal(size=(3, width))
        gradients = derivative(x, u, i)
        value = lambda x, u: np.sum(np.sin(stretches(x, u, i)))
        for k, (a, got) in enumerate(zip((x, u), gradients, strict=True)):
            for at in np.ndindex(a.shape):
                step = np.zeros_like(a)
                step[at] = 1e-6
                args = [(x + step, u), (x - step, u)] if k == 0 else [(x, u + step), (x, u - step)]
                expected = (value(*args[0]) - value(*args[1])) / 2e-6
                np.testing.assert_allclose(got[at], expected, rtol=1e-6, atol=1e-8)
    assert derivative.cache_info().traces == 1


def test_a_window_whose_size_depends_on_data_is_differentiated_twice():
    def value(x, u):
        row = u[u > 0]
        return np.sum(stretches(x, row[None] * np.ones((2, 1)), np.array([0, 1])) ** 3)

    rng = np.random.default_rng(1)
    for count in (0, 1, 4):
        u = np.concatenate([rng.uniform(0.5, 1.5, count), -np.ones(2)])
        anyshape.check_grads(value, (rng.normal(size=6), u), order=2)


# -- keys against NumPy ----------------------------------------------------------------------------------------


def random_positions(axis, shape):
    """Return a function that draws positions along an axis, from its size."""

    def draw(sizes, rng):
        n = sizes[axis]
        return rng.integers(-n, n, shape) if n else np.zeros(shape, int)

    return draw


def random_mask(axis, count):
    """Return a function that draws a mask of axes, from their sizes."""
    return lambda sizes, rng: rng.random(sizes[axis : axis + count]) < 0.5


def random_part(rng, kind, axis, rank, shape):
    """Return at most one part of a key in a list, and the number of axes that it covers."""
    if kind == "slice":
        ends = [None if rng.random() < 0.3 else int(rng.integers(-6, 7)) for _ in range(2)]
        return [slice(*ends, [None, 1, 2, -1, -2, 3][rng.integers(6)])], 1
    if kind == "int":
        return [int(rng.integers(-2, 2))], 1
    if kind == "new":
        return [None], 0
    if kind == "flag":
        return [] if rng.random() < 0.7 else [lambda sizes, rng: np.asarray(rng.random() < 0.7)], 0
    if kind == "mask":
        count = int(rng.integers(1, rank - axis + 1))
        return [random_mask(axis, count)], count
    return [random_positions(axis, shape if rng.random() < 0.7 else ())], 1


def random_key(rng, rank):
    """Return the parts of a key; arrays are functions of the sizes and of a random generator."""
    parts, axis, arrays = [], 0, rng.choice(["", "2", "2,1", "0", "1"])
    shape = tuple(int(n) for n in arrays.split(",") if n)
    while axis < rank and rng.random() < 0.9:
        kind = rng.choice(["int", "slice", "slice", "new", "array", "array", "mask", "flag"])
        part, covered = random_part(rng, kind, axis, rank, shape)
        parts += part
        axis += covered
    if axis < rank and rng.random() < 0.4:
        parts.append(Ellipsis)
    return parts


def filled(parts, arrays):
    """Return the key with arrays in place of the functions that draw them."""
    rest = iter(arrays)
    return tuple(next(rest) if callable(part) else part for part in parts)


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_one_trace_of_a_key_reads_what_numpy_reads_at_every_size(first):
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        parts = random_key(rng, 3)
        sharing.forget()  # of earlier keys
        run, served = anyshape.jit(lambda x, arrays, parts=parts: x[filled(parts, arrays)]), 0
        for n, m in ((2, 5), (0, 1), (1, 2), (5, 0), (3, 3)):
            x = rng.normal(size=(n, m, 3))
            arrays = [part(x.shape, rng) for part in parts if callable(part)]
            expected = outcome(lambda x=x, arrays=arrays, parts=parts: x[filled(parts, arrays)])
            got = outcome(run, x, arrays)
            if is_error(expected):  # nothing is read where another axis is empty, also not at an index out of range
                assert is_error(got) or not got[0].size, (seed, parts, x.shape, got, expected)
            else:
                assert not is_error(got), (seed, parts, x.shape, got)
                served += 1
                np.testing.assert_array_equal(got[0], expected[0], strict=True)
        assert not served or run.cache_info().traces == 1, (seed, parts)


UPDATES = {
    "set": None,
    "add": np.add,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "subtract": np.subtract,
}


@pytest.mark.parametrize("name", UPDATES)
def test_one_trace_of_an_update_gives_what_numpy_writes(name):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        parts = random_key(rng, 3)
        run = anyshape.jit(lambda x, v, arrays, parts=parts: getattr(x.at[filled(parts, arrays)], name)(v))
        served = 0
        for n, m in ((2, 5), (1, 2), (5, 0), (3, 3)):
            x = rng.normal(size=(n, m, 3))
            arrays = [part(x.shape, rng) for part in parts if callable(part)]
            key = filled(parts, arrays)
            read = outcome(lambda x=x, key=key: x[key])
            if is_error(read):
                assert is_error(outcome(run, x, 1.0, arrays))
                continue
            v = np.asarray(rng.normal(size=read[0].shape))
            expected = x.copy()
            if name == "set":
                expected[key] = v
            else:
                UPDATES[name].at(expected, key, v)
            before = x.copy()
            np.testing.assert_allclose(run(x, v, arrays), expected, rtol=1e-12, err_msg=str((seed, key)))
            np.testing.assert_allclose(getattr(anp.at(x)[key], name)(v), expected, rtol=1e-12)
            np.testing.assert_array_equal(x, before)
            served += 1
        assert not served or run.cache_info().traces <= 2, (seed, parts)  # the scalar is an argument of another kind


def test_updates_in_a_row_change_one_copy():
    def function(x, i, v):
        y = x.at[i].add(v)
        z = y.at[0].set(0.0).at[1:].multiply(2.0)
        return y, z

    i, v = np.array([0, 2, 2]), np.ones((3, 4))
    y, z = anyshape.jit(function)(X, i, v)
    expected = X.copy()
    np.add.at(expected, i, v)
    np.testing.assert_array_equal(y, expected)
    expected[0] = 0
    expected[1:] *= 2
    np.testing.assert_array_equal(z, expected)
    assert X[0, 0] == 0 and X[2, 0] == 8


# -- several updates of one element ----------------------------------------------------------------------------


def test_the_last_of_several_updates_of_an_element_stays_and_has_the_derivative():
    i = np.array([[2, 0, 2], [1, 2, 1]])
    v = np.arange(6.0).reshape(2, 3) + 10
    np.testing.assert_array_equal(anp.at(np.zeros(4))[i].set(v), [11, 15, 14, 0])
    to_x, to_v = anyshape.grad(lambda x, v: np.sum(x.at[i].set(v) * np.arange(1.0, 5)), argnums=(0, 1))(np.zeros(4), v)
    np.testing.assert_array_equal(to_x, [0, 0, 0, 4])
    np.testing.assert_array_equal(to_v, [[0, 1, 0], [0, 3, 2]])


def test_zeros_among_factors_are_exact_at_every_order():
    i, v = np.array([0, 0, 0, 1]), np.array([0.0, 0.0, 3.0, 0.0])
    product = lambda v: np.sum(anp.at(np.array([2.0, 5.0]))[i].multiply(v))
    np.testing.assert_array_equal(anyshape.grad(product)(v), [0, 0, 0, 5])
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 6
    np.testing.assert_array_equal(anyshape.hessian(product)(v), expected)


def test_elements_outside_of_a_mask_have_no_effect():
    """Neither a value nor an infinite derivative comes through at elements outside of the mask."""
    x = np.array([-1.0, 0.0, 4.0])
    for name in ("multiply", "divide", "power", "add", "set", "min"):
        value = lambda x, v, name=name: np.sum(getattr(x.at[x > 1], name)(v)[2:])
        for derivative in anyshape.grad(value, argnums=(0, 1))(x, 2.0):
            assert np.all(np.isfinite(derivative)), name


# -- errors -----------------------------------------------------------------------------------------------------

ROWS = {
    "offset_dims": (1,),
    "collapsed_slice_dims": (0,),
    "start_index_map": (0,),
    "index_vector_dim": 1,
    "slice_sizes": (1, 4),
}
PUT = {
    "update_window_dims": (1,),
    "inserted_window_dims": (0,),
    "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1,
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"offset_dims": (2,)}, r"offset_dims = \(2,\) are not different axes of 2"),
        ({"offset_dims": (1, 0)}, "must be in increasing order"),
        ({"collapsed_slice_dims": (0, 0)}, "are not different axes"),
        ({"collapsed_slice_dims": ()}, "must name 2 axes together"),
        ({"start_index_map": (0, 1)}, "index vectors of 1 numbers"),
        ({"start_index_map": (2,)}, "are not different axes of 2"),
        ({"index_vector_dim": 2}, "index_vector_dim = 2 is not in 0..1"),
        ({"slice_sizes": (1, 5)}, "a window of 5 does not fit axis 1 of size 4"),
        ({"slice_sizes": (1, -1)}, "is negative"),
        ({"slice_sizes": (2, 4)}, "must be 1"),
        ({"slice_sizes": (1,)}, "holds 1 sizes for 2 axes"),
        ({"mode": "wrap"}, "mode 'wrap' is not 'error', 'clip' or 'fill'"),
        ({"operand_batching_dims": (0,), "collapsed_slice_dims": ()}, "cannot be in"),
        ({"start_indices_batching_dims": (0,)}, "must have the same number of axes"),
    ],
)
def test_dimension_numbers_that_do_not_fit(changes, words):
    with pytest.raises(ShapeError, match=words):
        ops.gather(X, np.array([0, 2]), **(ROWS | changes))
    with pytest.raises(ShapeError, match=words):
        anyshape.trace(lambda x, i: ops.gather(x, i, **(ROWS | changes)))(
            anyshape.ShapeDtypeStruct((3, 4)), anyshape.ShapeDtypeStruct((2,), int)
        )


@pytest.mark.parametrize(
    ("indices", "updates", "changes", "kind", "words"),
    [
        ([0.0], X[:1], {}, DTypeError, "indices are float64"),
        ([0], X[:1].astype(int), {}, DTypeError, "operands are float64 and int64"),
        ([0], X[:2], {}, ShapeError, "axis 0 of the updates has size 2, not 1"),
        ([0], X[0], {}, ShapeError, "must name|are not different axes of 1|updates have 1 axes"),
        ([0], np.zeros((1, 5)), {}, ShapeError, "a window of 5 does not fit"),
        ([0], X[:1], {"mode": "fill"}, ShapeError, "mode 'fill' is not 'error', 'clip' or 'drop'"),
        ([0], X[:1], {"kind": "sub"}, ShapeError, "kind 'sub' is not one of"),
    ],
)
def test_updates_that_do_not_fit(indices, updates, changes, kind, words):
    with pytest.raises(kind, match=words):
        ops.scatter(X, np.array(indices), updates, **(PUT | changes))


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("x.at[i].set(1.0)", lambda x, i: x.at[i].set(1.0)),
        ("x.at[1:, i].add(1.0)", lambda x, i: x.at[1:, i].add(1.0)),
        ("ops.index_add(x, (i,), ", lambda x, i: ops.index_add(x, (i,), np.ones((2, 4)))),
        ("anp.put_along_axis(x.copy(), i[:, None]", lambda x, i: anp.put_along_axis(x.copy(), i[:, None], 0.0, 0)),
    ],
)
def test_an_index_out_of_range_is_named_with_the_callers_expression_and_line(expression, function):
    program = anyshape.jit(function)
    for bad in (7, -8):
        words = rf"{re.escape(expression)}.*: index (7|-\d) is out of bounds for axis \d"
        with pytest.raises(IndexRangeError, match=words) as caught:
            program(X, np.array([0, bad]))
        assert "test_gathering.py" in str(caught.value)
        assert isinstance(caught.value, IndexError)
    assert X[0, 0] == 0


def test_modes_of_indices_out_of_range():
    x, i = np.arange(5.0), np.array([-7, -1, 9, 0])
    np.testing.assert_array_equal(anp.at(x)[i].get(mode="clip"), [0, 4, 4, 0])
    np.testing.assert_array_equal(anp.at(x)[i].get(mode="fill"), [np.nan, 4, np.nan, 0])
    np.testing.assert_array_equal(anp.at(x)[i].get(mode="fill", fill_value=-1), [-1, 4, -1, 0])
    np.testing.assert_array_equal(
        anp.at(x.astype(int))[i].get(mode="fill"), [np.iinfo(int).min, 4, np.iinfo(int).min, 0]
    )
    np.testing.assert_array_equal(anp.at(x)[i].add(1.0, mode="drop"), [1, 1, 2, 3, 5])
    np.testing.assert_array_equal(anp.at(x)[i].add(1.0, mode="clip"), [2, 1, 2, 3, 6])
    np.testing.assert_array_equal(anyshape.jit(lambda x: x.at[9].set(1.0, mode="drop"))(x), x)
    with pytest.raises(IndexError):
        anyshape.jit(lambda x: x.at[9].set(1.0))(x)
    with pytest.raises(ShapeError, match="mode 'wrap' is not one of"):
        anp.at(x)[i].get(mode="wrap")


@pytest.mark.parametrize(
    ("values", "name", "accepted"),
    [(1.5, "set", True), (1.5, "add", False), (1j, "set", False), (np.float64(2), "max", False), (3, "add", True)],
)
def test_dtypes_of_updates_are_those_that_numpy_writes(values, name, accepted):
    x = np.arange(4)
    if not accepted:
        with pytest.raises(DTypeError, match=r"x\.astype"):
            getattr(anp.at(x)[1], name)(values)
        return
    got = getattr(anp.at(x)[1], name)(values)
    assert got.dtype == x.dtype
    assert got[1] == (1 if name == "set" else 4)


def test_numbers_that_a_dtype_does_not_hold():
    x = np.arange(3, dtype=np.uint8)
    np.testing.assert_array_equal(anp.at(x)[2].subtract(1), np.array([0, 1, 1], np.uint8))
    with pytest.raises(OverflowError):
        anp.at(x)[1].set(300)
    with pytest.raises(DTypeError, match="bools cannot be subtracted"):
        anp.at(x > 0)[1].subtract(True)
    assert anp.at(np.float64(3))[()].set(5) == 5


def test_an_update_is_not_assigned_to():
    with pytest.raises(MutationError, match=r"write x = x.at\[...\].set"):
        anyshape.jit(lambda x: x.at.__setitem__(0, 1.0))(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.at[np.ones(4, bool)].set(0.0),
        lambda x: x.at[np.ones((3, 4, 2), bool)].set(0.0),
        lambda x: x[np.ones(2, bool)],
        lambda x: x.at[1.5].set(0.0),
        lambda x: x.at[0, 0, 0].set(0.0),
        lambda x: x.at[:2].set(np.ones((3, 4))),
        lambda x: x.at[x > 3].set(np.ones(99)),
    ],
)
def test_keys_and_values_that_do_not_fit(function):
    with pytest.raises(AnyshapeError):
        anyshape.jit(function)(X)
