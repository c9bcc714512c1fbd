"""Test x[key] for random keys and shapes: one trace equals NumPy at every size, and so does its derivative."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyshape
from anyshape.transforms import sharing
from tests.laws.sweep import check_same_outcome, is_error, outcome

SIZES = (0, 1, 2, 5)
BOUND = st.none() | st.integers(-7, 7)
STEP = st.none() | st.integers(-3, 3).filter(bool)
SLICE = st.builds(slice, BOUND, BOUND, STEP)
INDEX = st.integers(-2, 1)


@st.composite
def basic_keys(draw, rank):
    """Draw integers, slices, new axes and at most one ellipsis, for `rank` axes and now and then one more."""
    count = draw(st.integers(0, rank)) if draw(st.integers(0, 15)) else rank + 1
    items = [draw(st.one_of(SLICE, SLICE, INDEX)) for _ in range(count)]
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), ...)
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


@st.composite
def fancy_keys(draw, rank):
    """Draw basic keys in which some items are index arrays that broadcast; the arrays are arguments of a program."""
    key = draw(basic_keys(rank))
    items = list(key) if isinstance(key, tuple) else [key]
    positions = [i for i, item in enumerate(items) if isinstance(item, (slice, int))]
    chosen = draw(st.lists(st.sampled_from(positions), unique=True, max_size=3)) if positions else []
    shapes = {i: draw(st.sampled_from([(2,), (3, 2), (1,), (), (3, 1)])) for i in sorted(chosen)}
    return items, shapes


@st.composite
def cases(draw, keys):
    rank = draw(st.integers(0, 4))
    shapes = draw(st.lists(st.lists(st.sampled_from(SIZES), min_size=rank, max_size=rank), min_size=3, max_size=5))
    return draw(keys(rank)), [tuple(s) for s in shapes]


def array_of(shape):
    return np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)


def check(function, calls):
    """Assert that the jitted function equals eager NumPy at every call, from one trace."""
    sharing.forget()  # of earlier examples
    program, served = anyshape.jit(function), 0
    for args in calls:
        expected, got = outcome(function, *args), outcome(program, *args)
        check_same_outcome(got, expected, 0, f"{[a.shape for a in args]}")
        served += not is_error(got)
    if served:
        assert program.cache_info().traces == 1


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(cases(basic_keys))
def test_basic_keys(case):
    key, shapes = case
    check(lambda x: x[key], [(array_of(s),) for s in shapes])


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(cases(fancy_keys))
def test_index_arrays_among_basic_keys(case):
    (items, index_shapes), shapes = case
    rng = np.random.default_rng(0)
    indices = [rng.integers(-1, 1, shape) for shape in index_shapes.values()]

    def read(x, *arrays):
        array_of_item = dict(zip(index_shapes, arrays, strict=True))
        return x[tuple([array_of_item.get(i, item) for i, item in enumerate(items)])]

    check(read, [(array_of(s), *indices) for s in shapes])


@settings(max_examples=60, deadline=None)
@given(cases(fancy_keys))
def test_the_gradient_counts_how_often_an_element_is_read(case):
    (items, index_shapes), shapes = case
    indices = [np.random.default_rng(1).integers(-1, 1, shape) for shape in index_shapes.values()]

    def read(x, *arrays):
        array_of_item = dict(zip(index_shapes, arrays, strict=True))
        return x[tuple([array_of_item.get(i, item) for i, item in enumerate(items)])]

    gradient = anyshape.grad(lambda x, *arrays: read(x * x, *arrays).sum())
    for shape in shapes:
        x = array_of(shape)
        if is_error(outcome(read, x, *indices)):
            continue
        counts = np.zeros(x.size)
        np.add.at(counts, read(np.arange(x.size).reshape(shape), *indices), 1)
        np.testing.assert_array_equal(gradient(x, *indices), 2 * x * counts.reshape(shape), strict=True)
