"""Layouts of a batch have one meaning: a loop over the examples, and operations on all of them, flat or padded."""

import re

import numpy as np
import pytest

from anyshape import Ragged, config, errors, grad, jit, jvp, profile, ragged_map, vjp, vmap
from anyshape.backend.native import nest_rules
from anyshape.backend.native.statements import NotExpressible
from anyshape.graph.ir.graph import OPS
from anyshape.scipy.special import logsumexp, softmax
from anyshape.transforms.ragged import layouts

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
    "products of rows": lambda x: (np.exp(x @ x.T / 9) @ x).sum(0) / (1 + len(x)),
    "all pairs": lambda x: np.tanh(x @ x.T),
    "backwards": lambda x: np.maximum.accumulate(x[::-1], axis=0)[::-1] + x.prod(0),
    "second half": lambda x: x[len(x) // 2 :] * x[: len(x) - len(x) // 2],
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


NAMES = [*FUNCTIONS, *AT_LEAST_ONE]


def rows_of(layouts, names, in_gate):
    """Return layouts with names; those that are not in the gate are slow."""
    pairs = [(layout, name) for layout in layouts for name in names]
    return [pytest.param(*pair, marks=[] if in_gate(*pair) else [pytest.mark.slow]) for pair in pairs]


IN_GATE = ("pooled", "cumulative", "slices", "products of rows", "all pairs", "variance without rows", "at the extreme")


@pytest.mark.parametrize(("layout", "name"), rows_of(("flat", "padded"), NAMES, lambda _, name: name in IN_GATE))
def test_layouts_give_what_each_example_gives(layout, name):
    """One program serves all lengths."""
    function = FUNCTIONS.get(name) or AT_LEAST_ONE[name]
    mapped = ragged_map(function, layout=layout)
    for lengths in LENGTHS[: 4 if name in FUNCTIONS else 1]:
        xs = batch(lengths)
        same(mapped(xs), [function(x) for x in xs], f"{name} of {lengths}")
    assert mapped.cache_info().traces == 1
    refused = {"flat": ("products of rows", "all pairs", "backwards"), "padded": ()}[layout]
    assert (f"): {layout}, as it was asked for" in str(mapped.explain())) == (name not in refused)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("layout", "name"),
    rows_of(("flat", "padded", "auto"), NAMES, lambda layout, name: layout != "auto" and name == "pooled"),
)
def test_derivatives_in_all_layouts_are_those_of_each_example(layout, name, monkeypatch):
    """Tangents, cotangents of uneven weights, and second derivatives."""
    if layout == "auto":
        monkeypatch.setattr(config, "compile", "off")
    function = FUNCTIONS.get(name) or AT_LEAST_ONE[name]
    mapped = ragged_map(function, layout=layout)
    squared = lambda x: np.sum(function(x) ** 2)
    slope = grad(lambda xs: np.sum(ragged_map(squared, layout=layout)(xs)))
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


@pytest.mark.parametrize("layout", ["flat", "padded", "auto"])
def test_what_has_no_form_runs_in_the_loop_and_is_named(layout, monkeypatch):
    monkeypatch.setattr(config, "compile", "off")
    mapped = ragged_map(lambda x: x[x > 0], layout=layout)
    xs = batch([2, 3])
    same(mapped(xs), [x[x > 0] for x in xs], layout)
    missing = "padded" if layout == "auto" else layout
    assert re.search(rf"<lambda>\): loop, as nonzero at .*test_layouts.* has no {missing} form", str(mapped.explain()))
    with pytest.raises(errors.ArgumentError, match="layout is 'rows'"):
        ragged_map(np.tanh, layout="rows")


CHOICES = {  # a step of the form, lengths for the loop, and the name of the form
    "pooled": ("segment_sum", [2000, 1], "flat"),
    "products of rows": ("select", [300, 1], "padded"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_call_takes_the_layout_that_is_faster_by_its_sizes(name, monkeypatch):
    """Many short examples lie flat, or padded where that has no form; one program serves all calls."""
    monkeypatch.setattr(config, "compile", "off")
    function, (step, long, layout) = FUNCTIONS[name], CHOICES[name]
    mapped = jit(ragged_map(function))
    for lengths in ([3] * 60, long, [2] * 40):
        xs = Ragged.from_list(batch(lengths))
        same(mapped(xs), [function(x) for x in xs], name)
        steps = str(profile(mapped, repeat=1)(xs))
        assert (" scan (" in steps) == (lengths is long) and (f" {step} " in steps) == (lengths is not long)
    assert mapped.cache_info().traces == 1
    reason = rf"{layout} where .* < \d+\*.*nanoseconds, as NumPy runs loops; else loop"
    assert re.search(reason, str(mapped.explain())) and re.search(reason, steps)


def test_profiles_and_costs_are_those_of_the_layout():
    """Costs are sums over the rows of all examples, or count what fills them up."""
    xs = Ragged.from_list(batch([3, 1, 5]))
    flops = {}
    for layout in ("loop", "flat", "padded"):
        mapped = jit(ragged_map(lambda x: np.tanh(x).sum(0), layout=layout))
        mapped(xs)
        assert f"): {layout}, as it was asked for" in str(profile(mapped, repeat=1)(xs))
        flops[layout] = str(mapped.programs()[0].cost().flops)
    assert all("x_flat_0*x_flat_1" in flops[y] for y in ("loop", "flat"))
    assert "size*x_flat_1*x_lengths_0" in flops["padded"]


def test_padding_counts_as_memory():
    xs = Ragged.from_list(batch([1] * 99 + [10_000]))
    function = lambda x: np.tanh(x).sum(0)
    for layout in ("loop", "flat", "auto"):
        jit(ragged_map(function, layout=layout), max_bytes=10**6)(xs)
    with pytest.raises(errors.MemoryLimitError, match="needs 32"):
        jit(ragged_map(function, layout="padded"), max_bytes=10**6)(xs)
    mapped = jit(ragged_map(function), max_bytes=10**6)
    mapped(xs)
    assert "loop, as it needs the least memory, and there is a limit" in str(mapped.explain())


def test_steps_that_numpy_runs_in_machine_code_are_known():
    """Ops with a rule of machine code are not among them."""
    for op in OPS.values():
        if op.name in layouts.CALLED or op.family in layouts.CALLED_FAMILIES:
            with pytest.raises(NotExpressible):
                nest_rules.rule_of(op)
    mapped = ragged_map(lambda x: np.sort(x, axis=0), layout="auto")
    mapped(batch([2, 3]))
    assert "NumPy runs sort of loops; else loop" in str(mapped.explain())


@pytest.mark.parametrize("layout", ["loop", "flat", "padded"])
def test_errors_of_all_layouts_name_the_example(layout):
    with pytest.raises(ValueError, match=r"example 1, where x.shape is \(0, 4\)"):
        ragged_map(lambda x: x.max(0), layout=layout)(batch([2, 0, 3]))
    with pytest.raises((errors.AnyshapeError, IndexError), match="example 2"):
        ragged_map(lambda x, i: x[i], layout=layout)(batch([2, 1, 3]), [1, 0, 7])
    with pytest.raises(np.linalg.LinAlgError, match="example 1"):
        ragged_map(lambda x: np.linalg.inv(x.T @ x), layout=layout)([np.eye(4), np.ones((2, 4))])


def test_rows_of_two_batches_meet_and_a_vmap_around_maps_both():
    xs, ys = batch([3, 1, 2]), batch([3, 1, 2], seed=1)
    function = lambda x, y, w: (x * np.tanh(y)) @ w
    mapped = ragged_map(function, in_axes=(0, 0, None), layout="flat")
    same(mapped(xs, ys, W), [function(x, y, W) for x, y in zip(xs, ys, strict=True)], "two")
    several = vmap(lambda w: ragged_map(pooled_by, in_axes=(0, None), layout="flat")(Ragged.from_list(xs), w))
    same(several(np.stack([W, 2 * W])), [[pooled_by(x, w) for x in xs] for w in (W, 2 * W)], "vmap")


def pooled_by(x, w):
    return np.tanh(x @ w) @ x


@pytest.mark.parametrize(
    ("layout", "name"),
    rows_of(("flat", "padded"), FUNCTIONS, lambda layout, name: layout == "flat" or name in ("pooled", "slices")),
)
def test_nan_and_infinities_of_one_example_stay_there(layout, name):
    function, xs = FUNCTIONS[name], batch([2, 3, 2])
    xs[0][:] = [[np.inf, -np.inf, np.nan, 1], [np.nan, 0, np.nan, -np.inf]]
    mapped = ragged_map(lambda x: np.sum(function(x) * 1.0), layout=layout)
    slopes = grad(lambda b: np.sum(mapped(b)[1:]))(Ragged.from_list(xs))
    for i in (1, 2):
        np.testing.assert_allclose(slopes[i], grad(lambda x: np.sum(function(x) * 1.0))(xs[i]), rtol=1e-12)


@pytest.mark.parametrize("name", ["logarithms", "quotients", "roots"])
def test_slopes_at_what_fills_up_reach_no_shared_argument(name):
    """Behind the end of an example, rows are shifted, zero, or another example's: slopes are infinite there."""
    function = {
        "logarithms": lambda w, x: np.log(w * np.pad(x, (1, 0), constant_values=1.0)).sum(),
        "quotients": lambda w, x: (w / x[::-1]).max() if len(x) else w,
        "roots": lambda w, x: np.sqrt(w * np.concatenate([x, x - x.min()])[: len(x)] + 0.0).sum(),
    }[name]
    xs = [np.array([2.0, 3.0, 4.0]), np.array([1.5]), np.array([0.5, 2.5])]
    slope = grad(lambda w: np.sum(ragged_map(function, in_axes=(None, 0), layout="padded")(w, xs)))
    np.testing.assert_allclose(slope(2.0), sum(grad(function)(2.0, x) for x in xs), rtol=1e-12)
