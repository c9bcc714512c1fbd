"""Every row of tests/samples mapped over examples of different sizes gives what each example gives alone.

The examples of one batch have all sizes at which NumPy takes the row, in one call of `ragged_map`.
"""

import numpy as np
import optree
import pytest

import anyshape.numpy as anp
from anyshape import Ragged, ragged_map, vjp
from anyshape.transforms.ragged.values import made
from tests.laws.sweep import arrays_of, cases, combinations, in_gate, in_namespace, is_error, label, leaves, outcome

MOST = 12  # examples of a batch
# Rows whose functions ask Python for a size that differs between examples, in code that has no form for all sizes.
REFUSED = ("choose of an array",)


def first_cases():
    """Return each row with its first dtype."""
    first = {}
    for case in cases():
        first.setdefault(id(case[1]), case)
    return list(first.values())


def parametrized(one_in):
    marked = [
        pytest.param(c, id=label(c), marks=[] if in_gate("ragged", c, one_in) else [pytest.mark.slow])
        for c in first_cases()
    ]
    return pytest.mark.parametrize("case", marked)


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
    if not examples or not row.shapes or not arrays or row.name in REFUSED:
        pytest.skip("no examples of arrays")
    return examples


def parts(tree):
    """Return the leaves of a result of all examples."""
    return optree.tree_leaves(tree, is_leaf=lambda x: isinstance(x, Ragged), namespace="anyshape")


def compare(got, expected, tolerance, label_of_part):
    assert np.shape(got) == np.shape(expected), label_of_part
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=label_of_part)


@parametrized(60)
def test_values_are_those_of_the_examples(case):
    _, row, _ = case
    examples = examples_of(case)
    batches = [list(column) for column in zip(*[xs for xs, _ in examples], strict=True)]
    mapped = ragged_map(in_namespace(row, anp))
    got = parts(mapped(*batches))
    for i, (_, expected) in enumerate(examples):
        assert len(got) == len(expected)
        for part, one in zip(got, expected, strict=True):
            compare(part[i], one, max(row.tolerance, 1e-9), f"{row.name}, example {i}")


@parametrized(160)
def test_cotangents_are_those_of_the_examples(case):
    _, row, dtype = case
    if row.grad is not True or np.dtype(dtype).kind != "f":
        pytest.skip("not differentiable")
    examples = examples_of(case)
    columns = zip(*[xs for xs, _ in examples], strict=True)
    batches = [np.stack(c) if not np.ndim(c[0]) else Ragged.from_list(c) for c in columns]
    function = in_namespace(row, anp)
    value, pull = vjp(ragged_map(function), *batches)
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


@parametrized(60)
def test_one_example_equal_ones_and_none(case):
    """A program for some lengths serves all others."""
    _, row, _ = case
    examples = examples_of(case)
    mapped = ragged_map(in_namespace(row, anp))
    for chosen in (examples, examples[:1], [examples[-1]] * 3, examples[::-1]):
        got = parts(mapped(*batched(chosen)))
        for i, (_, expected) in enumerate(chosen):
            for part, one in zip(got, expected, strict=True):
                compare(part[i], one, max(row.tolerance, 1e-9), f"{row.name}, example {i} of {len(chosen)}")
    none = [made(x.flat[:0], [n[:0] for n in x.sizes]) if isinstance(x, Ragged) else x[:0] for x in batched(examples)]
    if mapped.cache_info().traces == 1:  # where examples are called one by one, none says what a result is
        assert all(len(part) == 0 for part in parts(mapped(*none)))
