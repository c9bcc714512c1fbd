"""Layouts of a batch have one meaning: a loop over the examples, and operations on the rows of all of them."""

import numpy as np
import pytest

from anyshape import Ragged, errors, grad, jvp, ragged_map, vjp, vmap
from anyshape.scipy.special import logsumexp, softmax

RNG = np.random.default_rng(0)
W, M = RNG.normal(size=4), RNG.normal(size=(4, 3))
LENGTHS = ([3, 1, 5], [7, 0, 0, 2, 9], [2, 2], [0])


def seen_by_three(x):
    before = np.concatenate([np.zeros((2, 4)), x])
    return np.tanh(np.concatenate([before[i : len(x) + i] for i in range(3)], axis=1)[:, ::3] @ M).sum(0)


def pooled(x):
    scores = np.exp(x @ W)
    return scores @ x / (1 + scores.sum())


FUNCTIONS = {
    "elementwise": np.tanh,
    "sums": lambda x: x.sum(0) + x.sum(1).sum() + np.mean(x, axis=1).sum(),
    "pooled": pooled,
    "products with shared factors": lambda x: np.tanh(x @ M) @ np.ones(3),
    "products with own factors": lambda x: x.sum(0) @ x.T,
    "centred": lambda x: (x - x.sum(0) / (1 + len(x)))[:, :2],
    "extremes": lambda x: x.max(0, initial=-5.0) * x.min(0, initial=1.0),
    "any, all": lambda x: np.where((x > 0).any(0) & (x > -1).all(), x.sum(0), 2.0),
    "logsumexp": lambda x: logsumexp(np.concatenate([x, np.zeros((1, 4))]), axis=0),
    "cumulative": lambda x: np.cumsum(x[::-1], axis=0)[::-1] * np.cumsum(x, axis=1),
    "sorted": lambda x: np.sort(x, axis=0),
    "slices": lambda x: np.concatenate([x[1:], x[: len(x) // 2] * 2, np.ones((2, 4)), x[::2], x.sum(0)[None]]),
    "padded": lambda x: np.pad(x, ((1, 2), (0, 1))),
    "positions": lambda x: x * np.arange(len(x))[:, None],
    "reshaped": lambda x: (x.reshape(-1, 2, 2).sum(-1) @ np.ones(2)).ravel() + x.ravel()[::4],
    "transposed": lambda x: x.T * 2,
    "masked slopes": lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 0)), 0).sum(0),
    "seen by three": seen_by_three,
    "after the rows": lambda x: np.linalg.inv(np.outer(x.sum(0), x.sum(0)) + np.eye(4)) @ x.sum(0),
    "variance without rows": lambda x: np.sqrt(x.var(0) + 1),
}
AT_LEAST_ONE = {
    "softmax": lambda x: softmax(x, axis=0),
    "first and last": lambda x: x[0] * x[-1] + x[-1:].sum(0),
    "at the extreme": lambda x: x[x[:, 0].argmax()],
    "permuted": lambda x: x[np.argsort(x[:, 0], kind="stable")],
}


def batch(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 4)) for n in lengths]


def same(got, expected, what_of):
    assert len(got) == len(expected), what_of
    for a, b in zip(got, expected, strict=True):
        assert np.shape(a) == np.shape(b), what_of
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=what_of)


def weights(y):
    draw = lambda v: np.cos(np.arange(v.size) + 0.5).reshape(v.shape)
    return Ragged(draw(y.flat), y.lengths) if isinstance(y, Ragged) else draw(y)


@pytest.mark.parametrize("name", [*FUNCTIONS, *AT_LEAST_ONE])
def test_the_flat_layout_gives_what_each_example_gives(name):
    """One program serves all lengths."""
    function = FUNCTIONS.get(name) or AT_LEAST_ONE[name]
    mapped = ragged_map(function, layout="flat")
    for lengths in LENGTHS[: 4 if name in FUNCTIONS else 1]:
        xs = batch(lengths)
        same(mapped(xs), [function(x) for x in xs], f"{name} of {lengths}")
    assert mapped.cache_info().traces == 1


DIFFERENTIATED = [
    pytest.param(name, marks=[] if name == "pooled" else [pytest.mark.slow]) for name in [*FUNCTIONS, *AT_LEAST_ONE]
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives_in_the_flat_layout_are_those_of_each_example(name):
    """Tangents, cotangents of uneven weights, and second derivatives."""
    function = FUNCTIONS.get(name) or AT_LEAST_ONE[name]
    mapped = ragged_map(function, layout="flat")
    squared = lambda x: np.sum(function(x) ** 2)
    slope = grad(lambda xs: np.sum(ragged_map(squared, layout="flat")(xs)))
    for lengths in LENGTHS[: 4 if name in FUNCTIONS else 1]:
        xs, ts = batch(lengths), batch(lengths, seed=1)
        own, along = Ragged.from_list(xs), Ragged.from_list(ts)
        value, tangent = jvp(mapped, (own,), (along,))
        same(tangent, [jvp(function, (x,), (t,))[1] for x, t in zip(xs, ts, strict=True)], f"jvp of {lengths}")
        cts = weights(value)
        pulled = vjp(mapped, own)[1](cts)[0]
        same(pulled, [vjp(function, x)[1](cts[i])[0] for i, x in enumerate(xs)], f"vjp of {lengths}")
        second = jvp(slope, (own,), (along,))[1]
        each = [jvp(grad(squared), (x,), (t,))[1] for x, t in zip(xs, ts, strict=True)]
        same(second, each, f"order 2 of {lengths}")


def test_what_has_no_flat_form_is_named():
    with pytest.raises(errors.ArgumentError, match=r"layout is 'flat', and nonzero at .*test_layouts.* no flat form"):
        ragged_map(lambda x: x[x > 0], layout="flat")(batch([2, 3]))
    mapped = ragged_map(np.tanh, layout="flat")
    mapped(batch([2, 3]))
    assert "ragged_map(tanh): flat, as it was asked for" in str(mapped.explain())
    with pytest.raises(errors.ArgumentError, match="layout is 'rows'"):
        ragged_map(np.tanh, layout="rows")


@pytest.mark.parametrize("layout", ["loop", "flat"])
def test_errors_of_all_layouts_name_the_example(layout):
    with pytest.raises(ValueError, match=r"example 1, where x.shape is \(0, 4\)"):
        ragged_map(lambda x: x.max(0), layout=layout)(batch([2, 0, 3]))
    with pytest.raises((errors.AnyshapeError, IndexError), match="example 2"):
        ragged_map(lambda x, i: x[i], layout=layout)(batch([2, 1, 3]), [1, 0, 7])


def test_rows_of_two_batches_meet_and_a_vmap_around_maps_both():
    xs, ys = batch([3, 1, 2]), batch([3, 1, 2], seed=1)
    function = lambda x, y, w: (x * np.tanh(y)) @ w
    mapped = ragged_map(function, in_axes=(0, 0, None), layout="flat")
    same(mapped(xs, ys, W), [function(x, y, W) for x, y in zip(xs, ys, strict=True)], "two")
    several = vmap(lambda w: ragged_map(pooled_by, in_axes=(0, None), layout="flat")(Ragged.from_list(xs), w))
    same(several(np.stack([W, 2 * W])), [[pooled_by(x, w) for x in xs] for w in (W, 2 * W)], "vmap")


def pooled_by(x, w):
    return np.tanh(x @ w) @ x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_and_infinities_of_one_example_stay_there(name):
    function, xs = FUNCTIONS[name], batch([2, 3, 2])
    xs[0][:] = [[np.inf, -np.inf, np.nan, 1], [np.nan, 0, np.nan, -np.inf]]
    mapped = ragged_map(lambda x: np.sum(function(x) * 1.0), layout="flat")
    slopes = grad(lambda b: np.sum(mapped(b)[1:]))(Ragged.from_list(xs))
    for i in (1, 2):
        np.testing.assert_allclose(slopes[i], grad(lambda x: np.sum(function(x) * 1.0))(xs[i]), rtol=1e-12)
