"""Every row of tests/samples mapped over examples of different sizes gives what each example gives alone.

The examples of one batch have all sizes at which NumPy takes the row, in one call of `ragged_map`.
"""

import functools

import numpy as np
import optree
import pytest

import anyshape.numpy as anp
from anyshape import Ragged, errors, grad, jvp, ragged_map, vjp, vmap
from anyshape.transforms.ragged.values import made
from tests.laws.sweep import arrays_of, cases, combinations, in_gate, in_namespace, is_error, label, leaves, outcome

MOST = 12  # examples of a batch
# Rows whose functions ask Python for a size that differs between examples. Examples are called one by one, which no
# transform around them can do.
NEED_SIZES = (
    *("correlate of images", "convolve along an axis", "solveh_banded of 2 diagonals", "solveh_banded of 3 diagonals"),
    *("squeeze", "polyval of coefficients", "polyint twice", "polydiv", "poly", "choose of an array"),
    *("cov", "cov of two"),
)
ASKED = (
    errors.InconclusiveDimensionError,
    errors.SymbolicIterationError,
    errors.UnsupportedDynamicShapeError,
    errors.DataDependentSizeError,
)


def first_cases():
    """Return each row with its first dtype."""
    first = {}
    for case in cases():
        first.setdefault(id(case[1]), case)
    return list(first.values())


def parametrized(one_in, layouts=("loop", "flat", "padded")):
    marked = [
        pytest.param(c, y, id=f"{label(c)}, {y}", marks=[] if in_gate(f"ragged {y}", c, one_in) else [pytest.mark.slow])
        for c in first_cases()
        for y in layouts
    ]
    return pytest.mark.parametrize("case, layout", marked)


def refusing(test):
    """Assert that rows in NEED_SIZES, or without a flat form, are refused with the reason."""
    is_called = test.__name__ in ("test_values_are_those_of_the_examples", "test_one_example_equal_ones_and_none")

    @functools.wraps(test)
    def tested(case, layout):
        name = case[1].name
        if name in NEED_SIZES and not is_called:
            with pytest.raises(ASKED):
                test(case, layout)
        else:
            try:
                test(case, layout)
            except errors.ArgumentError:
                raise

    return tested


def examples_of(case):
    """Return the arguments and the results of the examples that NumPy takes; skip a row that has none."""
    _, row, dtype = case
    examples = []
    for sizes in list(combinations(row))[:MOST]:
        xs = arrays_of(row, sizes, dtype)
        result = outcome(lambda *a: row.function(np, *a), *[x.copy() for x in xs])
        if not is_error(result):
            examples.append((xs, leaves(result)))
    arrays = all(isinstance(x, (np.ndarray, np.generic)) for xs, _ in examples for x in xs)
    if not examples or not row.shapes or not arrays:
        pytest.skip("no examples of arrays")
    return examples


def parts(tree):
    """Return the leaves of a result of all examples."""
    return optree.tree_leaves(tree, is_leaf=lambda x: isinstance(x, Ragged), namespace="anyshape")


def compare(got, expected, tolerance, label_of_part):
    assert np.shape(got) == np.shape(expected), label_of_part
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=label_of_part)


@parametrized(100)
@refusing
def test_values_are_those_of_the_examples(case, layout):
    _, row, _ = case
    examples = examples_of(case)
    batches = [list(column) for column in zip(*[xs for xs, _ in examples], strict=True)]
    mapped = ragged_map(in_namespace(row, anp), layout=layout)
    got = parts(mapped(*batches))
    for i, (_, expected) in enumerate(examples):
        assert len(got) == len(expected)
        for part, one in zip(got, expected, strict=True):
            compare(part[i], one, max(row.tolerance, 1e-9), f"{row.name}, example {i}")


@parametrized(240)
@refusing
def test_cotangents_are_those_of_the_examples(case, layout):
    _, row, dtype = case
    if row.grad is not True or np.dtype(dtype).kind != "f":
        pytest.skip("not differentiable")
    examples = examples_of(case)
    columns = zip(*[xs for xs, _ in examples], strict=True)
    batches = [np.stack(c) if not np.ndim(c[0]) else Ragged.from_list(c) for c in columns]
    function = in_namespace(row, anp)
    value, pull = vjp(ragged_map(function, layout=layout), *batches)
    rng = np.random.default_rng(1)
    draw = lambda y: rng.uniform(0.5, 2, y.shape).astype(y.dtype)
    uneven = lambda y: made(draw(y.flat), y.sizes) if isinstance(y, Ragged) else draw(y)
    cts = optree.tree_map(uneven, value, is_leaf=lambda x: isinstance(x, Ragged), namespace="anyshape")
    got = pull(cts)
    for i, (xs, _) in enumerate(examples):
        one = optree.tree_map(lambda y, i=i: y[i], cts, is_leaf=lambda x: isinstance(x, Ragged), namespace="anyshape")
        for part, expected in zip(got, vjp(function, *xs)[1](one), strict=True):
            assert (part is None) == (expected is None)
            if part is None:
                continue
            compare(part[i], expected, max(row.tolerance, 1e-8), f"{row.name}, example {i}")


def batched(examples):
    """Return the batches of the arguments."""
    columns = zip(*[xs for xs, _ in examples], strict=True)
    return [np.stack(c) if not np.ndim(c[0]) else Ragged.from_list(c) for c in columns]


@parametrized(100)
@refusing
def test_one_example_equal_ones_and_none(case, layout):
    """A program for some lengths serves all others."""
    _, row, _ = case
    examples = examples_of(case)
    mapped = ragged_map(in_namespace(row, anp), layout=layout)
    for chosen in (examples, examples[:1], [examples[-1]] * 3, examples[::-1]):
        got = parts(mapped(*batched(chosen)))
        for i, (_, expected) in enumerate(chosen):
            for part, one in zip(got, expected, strict=True):
                compare(part[i], one, max(row.tolerance, 1e-9), f"{row.name}, example {i} of {len(chosen)}")
    none = [made(x.flat[:0], [n[:0] for n in x.sizes]) if isinstance(x, Ragged) else x[:0] for x in batched(examples)]
    if mapped.cache_info().traces == 1:  # where examples are called one by one, none says what a result is
        assert all(len(part) == 0 for part in parts(mapped(*none)))


def of_each(draw, batches):
    """Return values drawn in the form of batches."""
    return [made(draw(x.flat), x.sizes) if isinstance(x, Ragged) else draw(x) for x in batches]


def smooth_examples(case):
    _, row, dtype = case
    if row.grad is not True or np.dtype(dtype).kind != "f":
        pytest.skip("not differentiable")
    return examples_of(case)


@parametrized(300)
@refusing
def test_tangents_and_second_derivatives_are_those_of_the_examples(case, layout):
    """Tangents of the function, and of its gradient for uneven weights."""
    _, row, _ = case
    examples = smooth_examples(case)
    function, batches, rng = in_namespace(row, anp), batched(examples), np.random.default_rng(2)
    mapped = ragged_map(function, layout=layout)
    if any(b.dtype.kind != "f" for b in batches):
        pytest.skip("takes integers too")
    along = of_each(lambda x: rng.uniform(0.5, 2, x.shape).astype(x.dtype), batches)

    def weighted(result):
        ys = [y.flat if isinstance(y, Ragged) else y for y in parts(result)]
        return sum([anp.sum(y * y * 0.3 + y) for y in ys if y.dtype.kind == "f"], 0.0)

    total = lambda *xs: weighted(mapped(*xs))
    own = lambda *xs: weighted(function(*xs))
    slopes = grad(total, argnums=tuple(range(len(batches))))
    one = grad(own, argnums=tuple(range(len(batches))))
    pairs = [(jvp(mapped, batches, along), lambda xs, ts: jvp(function, xs, ts))]
    if row.order > 1:
        pairs.append((jvp(slopes, batches, along), lambda xs, ts: jvp(one, xs, ts)))
    for (_, got), each in pairs:
        for i, (xs, _) in enumerate(examples):
            ts = [part[i] for part in along]
            for part, expected in zip(parts(got), leaves(each(xs, ts)[1]), strict=True):
                compare(part[i], expected, max(row.tolerance, 1e-7), f"{row.name}, example {i}")


@parametrized(300)
@refusing
def test_a_batch_of_batches_is_mapped_by_vmap(case, layout):
    """The rows of two batches with the same lengths."""
    _, row, _ = case
    examples = smooth_examples(case)
    function, batches = in_namespace(row, anp), batched(examples)
    mapped = ragged_map(function, layout=layout)
    scaled = lambda x: x * x.dtype.type(0.9) if x.dtype.kind == "f" else x  # positions stay in their examples
    flats = [np.stack([x, scaled(x)]) for x in [b.flat if isinstance(b, Ragged) else b for b in batches]]

    def run(*rows):
        return mapped(*[made(x, b.sizes) if isinstance(b, Ragged) else x for x, b in zip(rows, batches, strict=True)])

    arrays = lambda tree: [y.flat if isinstance(y, Ragged) else y for y in parts(tree)]
    got = vmap(lambda *rows: arrays(run(*rows)))(*flats)
    for i in range(2):
        for part, expected in zip(got, arrays(run(*[x[i] for x in flats])), strict=True):
            one = np.reshape(part[i], np.shape(expected))  # where all sizes are equal, no vmap is around an array
            compare(one, expected, max(row.tolerance, 1e-8), f"{row.name}, batch {i}")
