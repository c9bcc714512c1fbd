"""A function of one example is mapped over examples of any number and any sizes, by one program."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyshape.numpy as anp
from anyshape import Ragged, config, errors, export, grad, hessian, jit, jvp, load, ragged_map, scan, vjp, vmap
from anyshape.program.pytree_codegen import NO_MATCH

RNG = np.random.default_rng(0)
W = RNG.normal(size=4)


def batch(*lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 4)) for n in lengths]


def pooled(w, x):
    scores = np.exp(x @ w - (x @ w).max())
    return scores @ x / scores.sum()


def weighted(y):
    """Return an uneven scalar of a result of examples."""
    return sum([np.sum(v * np.cos(np.arange(v.size)).reshape(v.shape)) for v in y])


FUNCTIONS = {
    "elementwise": np.tanh,
    "summed": lambda x: x.sum(0),
    "mean": np.mean,
    "normed": lambda x: x / np.linalg.norm(x),
    "products": lambda x: x @ x.T,
    "masked": lambda x: x[x > 0],
    "unique": lambda x: np.unique(np.round(x)),
    "sorted": lambda x: np.sort(x, axis=0),
    "half": lambda x: x[: x.shape[0] // 2],
    "longer": lambda x: np.concatenate([x, x[:1] * 0 + 1]) if x.shape[0] else np.ones((1, 4)),
    "cumulative": lambda x: np.cumsum(x, axis=0),
    "decided on a size": lambda x: x * 2 if x.shape[0] > 2 else -x,
    "decided on a value": lambda x: x * 2 if x.sum() > 0 else -x,
    "iterated": lambda x: sum(v @ v for v in x),
    "counted": lambda x: x.shape[0] * 2,
    "several": lambda x: {"sum": x.sum(), "rows": x + 1, "size": len(x)},
}


def same(got, expected):
    """Compare a tree of results of all examples with a list of trees."""
    if isinstance(expected[0], dict):
        for key in expected[0]:
            same(got[key], [e[key] for e in expected])
        return
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_serves_any_number_of_examples_of_any_sizes(name):
    function = FUNCTIONS[name]
    mapped = ragged_map(function)
    for lengths in ([3, 1, 5], [2], [0, 4], [1, 1, 1], [7, 0, 0, 2, 9], [2, 2]):
        xs = batch(*lengths)
        same(mapped(xs), [function(x) for x in xs])
    assert mapped.cache_info().traces == 1


@settings(max_examples=15)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=9), st.sampled_from(sorted(FUNCTIONS)))
def test_any_lengths_give_what_the_examples_give(lengths, name):
    xs = batch(*lengths, seed=sum(lengths))
    same(MAPPED[name](xs), [FUNCTIONS[name](x) for x in xs])


MAPPED = {name: ragged_map(function) for name, function in FUNCTIONS.items()}


def loss(w, xs):
    return weighted(ragged_map(pooled, in_axes=(None, 0))(w, xs)[None])


def plain_loss(w, xs):
    return weighted(np.stack([pooled(w, x) for x in xs])[None])


def test_gradients_come_back_in_the_form_of_the_argument():
    both, of_lists = grad(loss, argnums=(0, 1)), grad(lambda w, xs: loss(w, xs), argnums=(0, 1))
    for lengths in ([3, 1, 5], [2], [4, 4, 1, 1]):
        xs = batch(*lengths)
        expected = grad(plain_loss, argnums=(0, 1))(W, xs)
        of_w, of_x = both(W, Ragged.from_list(xs))
        np.testing.assert_allclose(of_w, expected[0])
        assert isinstance(of_x, Ragged)
        same(of_x, expected[1])
        of_w, of_list = of_lists(W, xs)
        np.testing.assert_allclose(of_w, expected[0])
        assert isinstance(of_list, list)
        same(of_list, expected[1])
    assert both.cache_info().traces == 1


def test_under_every_transform():
    xs = batch(3, 1, 4)
    ragged, v = Ragged.from_list(xs), RNG.normal(size=4)
    np.testing.assert_allclose(jit(loss)(W, ragged), plain_loss(W, xs))
    np.testing.assert_allclose(hessian(loss)(W, ragged), hessian(plain_loss)(W, xs), rtol=1e-9)
    along = jvp(lambda w: loss(w, ragged), (W,), (v,)), jvp(lambda w: plain_loss(w, xs), (W,), (v,))
    np.testing.assert_allclose(*along)
    weights = np.stack([W, 2 * W, -W])
    np.testing.assert_allclose(vmap(loss, in_axes=(0, None))(weights, ragged), [plain_loss(w, xs) for w in weights])
    value, pull = vjp(lambda b: loss(W, b), ragged)
    np.testing.assert_allclose(value, plain_loss(W, xs))
    same(pull(1.0)[0], grad(plain_loss, argnums=1)(W, xs))


def test_programs_follow_one_another_without_a_list_between():
    def total(w, xs):
        moved = ragged_map(lambda w, x: np.sin(x * w), in_axes=(None, 0))(w, xs)
        return ragged_map(lambda y: np.sum(y**2))(moved * 2 + 1).sum()

    xs = batch(2, 5, 1)
    expected = grad(lambda w: sum(np.sum((np.sin(x * w) * 2 + 1) ** 2) for x in xs))(W)
    np.testing.assert_allclose(grad(total)(W, Ragged.from_list(xs)), expected)


def test_several_arguments_share_examples():
    dots = ragged_map(lambda x, y, s: (x * y).sum() * s)
    xs, ys, scale = batch(2, 3), batch(2, 3, seed=1), np.array([1.0, -2.0])
    expected = [(x * y).sum() * s for x, y, s in zip(xs, ys, scale, strict=True)]
    np.testing.assert_allclose(dots(xs, ys, scale), expected)
    named = ragged_map(lambda d: (d["x"] * d["y"]).sum() * d["s"])
    np.testing.assert_allclose(named({"x": xs, "y": ys, "s": scale}), expected)


def test_several_axes_may_be_ragged():
    images = [RNG.normal(size=s) for s in ((2, 3), (4, 1), (1, 1), (0, 3))]
    same(ragged_map(lambda x: x.T @ x)(images), [x.T @ x for x in images])
    energy = ragged_map(lambda x: (x**2).sum() * x.shape[1])
    np.testing.assert_allclose(energy(images), [(x**2).sum() * x.shape[1] for x in images])
    slopes = grad(lambda b: energy(b).sum())(Ragged.from_list(images))
    same(slopes, [2 * x * x.shape[1] for x in images])


def test_a_batch_without_examples():
    mapped = ragged_map(lambda x: x.sum(0))
    assert mapped(Ragged(np.zeros((0, 4)), [])).shape == (0, 4)
    with pytest.raises(errors.ArgumentError, match="is empty"):
        ragged_map(np.sum)([])
    known = ragged_map(np.sum)
    known(batch(1, 2))
    assert known([]).shape == (0,)


def test_results_of_vmap_may_differ_in_size():
    rows = np.array([[1.0, -1.0, 2.0], [3.0, 4.0, 5.0]])
    positive = vmap(lambda x: x[x > 0])
    same(positive(rows), [row[row > 0] for row in rows])
    assert isinstance(positive(rows), Ragged) and isinstance(positive(abs(rows)), np.ndarray)
    same(vmap(lambda x, k: x[:k], in_axes=(None, 0))(rows[0], np.array([0, 2])), [rows[0][:0], rows[0][:2]])


def test_calls_with_batches_have_a_fast_path():
    """Generated code reads batches among arguments, also batches of several axes."""
    summed = jit(lambda w, batch: ragged_map(lambda w, x: (x * w).sum(), in_axes=(None, 0))(w, batch))
    images = [np.ones((2, 3)), np.ones((1, 1))]
    for xs, w in ((batch(2, 3), W), (images, 2.0)):
        ragged = Ragged.from_list(xs)
        for _ in range(3):
            np.testing.assert_allclose(summed(w, ragged), [(x * w).sum() for x in xs])
            np.testing.assert_allclose(summed(w, ragged + 1), [((x + 1) * w).sum() for x in xs])
        assert summed._cache.first_path(summed, (w, ragged), {}) is not NO_MATCH
    assert summed._cache.first_path(summed, (1.0, Ragged.from_list(batch(1, 2))), {}) is NO_MATCH
    assert summed.cache_info().traces == 2


def test_examples_may_be_trees():
    xs, scale = batch(2, 0, 3), np.arange(3.0)
    one = lambda d: {"product": d["x"] @ d["w"] * d["s"], "row": (d["x"][:1], None)}
    mapped = ragged_map(one, in_axes=({"x": 0, "w": None, "s": 0},), out_axes={"product": 0, "row": 0})
    got = mapped({"x": xs, "w": W, "s": scale})
    same(got["product"], [x @ W * s for x, s in zip(xs, scale, strict=True)])
    same(got["row"][0], [x[:1] for x in xs])
    several = {
        "dicts": (lambda d: d["x"] * d["s"], [{"x": x, "s": s} for x, s in zip(xs, scale, strict=True)]),
        "tuples": (lambda t: t[0] * t[1], [*zip(xs, scale, strict=True)]),
        "lists": (lambda v: v[0].sum() - v[1].sum(), [[x, x[:1]] for x in xs]),
    }
    for function, examples in several.values():
        same(ragged_map(function)(examples), [function(one) for one in examples])
    with pytest.raises(errors.ArgumentError, match="example 1 of v has another structure than example 0"):
        ragged_map(lambda v: v[0])([[xs[0]], [xs[0], xs[1]]])


INSIDE = {  # functions of one example that map its rows
    "alike": lambda x: vmap(lambda r: np.tanh(r @ W))(x),
    "gradients": lambda x: vmap(grad(lambda r: np.sum(np.tanh(r) ** 2)))(x),
    "sums of parts": lambda x: vmap(lambda r: r[r > 0].sum())(x),
    "sum of all parts": lambda x: np.sum(vmap(lambda r: r[r > 0])(x)),
}


@pytest.mark.parametrize("name", INSIDE)
def test_functions_may_map_the_rows_of_an_example(name):
    expected = {
        "alike": lambda x: np.tanh(x @ W),
        "gradients": lambda x: 2 * np.tanh(x) / np.cosh(x) ** 2,
        "sums of parts": lambda x: (x * (x > 0)).sum(1),
        "sum of all parts": lambda x: x[x > 0].sum(),
    }
    mapped = ragged_map(INSIDE[name])
    for lengths in ((3, 0, 5), (1,)):
        xs = batch(*lengths)
        same(mapped(xs), [expected[name](x) for x in xs])


def test_rows_of_examples_may_have_parts_of_several_sizes():
    xs = batch(3, 2)
    parts = ragged_map(lambda x: vmap(lambda r: r[r > 0])(x))(xs)
    for got, x in zip(parts, xs, strict=True):
        same(got, [r[r > 0] for r in x])


def growing(x, k):
    rows = x[:0]
    for i in range(k):
        rows = np.concatenate([rows, x[i : i + 1] * 2])
    return rows


def shrinking(x, k):
    while x.sum() > k / 4:
        x = x[1:]
    return x


def chosen(x, k):
    rows = []
    for v in x:
        if v > k / 8:
            rows.append(v * v)
    return np.array(rows)


UNEQUAL = {
    "mask": lambda x, k: np.tanh(x[x > 0]) * k,
    "slice": lambda x, k: x[:k],
    "sizes": lambda x, k: np.arange(k) * x[0],
    "repeated": lambda x, k: np.repeat(x, k),
    "unique": lambda x, k: np.unique(np.round(x)) * x.sum(),
    "products": lambda x, k: np.outer(x[x > 0], x[:k]) @ x[:k],
    "carries of one size": lambda x, k: scan(lambda c, v: (c / 2 + v, c), 0.0, x[:k])[1],
    "a growing carry": growing,
    "a shrinking carry": shrinking,
    "a list": chosen,
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_vmap_of_run_time_sizes_under_transforms(name):
    x, k = np.random.default_rng(3).normal(size=(4, 5)), np.array([0, 2, 5, 2])
    each = vmap(UNEQUAL[name])
    results = [UNEQUAL[name](*one) for one in zip(x, k, strict=True)]
    doubled = jit(lambda x, k: each(x, k) * 2)
    for _ in range(2):
        same(each(x, k), results)
        same(doubled(x, k), [2 * y for y in results])
    slope = grad(lambda x: np.sum(each(x, k) ** 2))
    own = [grad(lambda x, k=k: np.sum(UNEQUAL[name](x, k) ** 2))(v) for v, k in zip(x, k, strict=True)]
    np.testing.assert_allclose(slope(x), own, atol=1e-12)


def test_derivatives_of_unequal_results_have_their_sizes():
    x = np.random.default_rng(3).normal(size=(3, 4))
    each = vmap(lambda v: v[v > 0] ** 3)
    value, along = jvp(each, (x,), (x,))
    same(value, [v[v > 0] ** 3 for v in x])
    same(along, [3 * v[v > 0] ** 3 for v in x])
    curvature = hessian(lambda x: each(x).sum())(x).reshape(12, 12)
    np.testing.assert_allclose(curvature, np.diag((6 * x * (x > 0)).ravel()))
    is_one_size = jit(lambda x: each(x) * 2)
    assert isinstance(is_one_size(x), Ragged) and isinstance(is_one_size(abs(x)), np.ndarray)
    same(vmap(each)(np.stack([x, -x]))[1], [v[v > 0] ** 3 for v in -x])


def positive(x):
    if x.sum() > 3:
        raise ValueError("too large")
    return x


def decided(x):
    return np.linalg.inv(x) if x.shape[0] > 2 else x.sum() * np.ones((3, 3))


ENDS = {  # functions, their arguments, and what the first line of the error says of the example
    "empty": (np.max, [[np.ones(2), np.ones(0)]], r"in example 1, where a.shape is \(0,\)"),
    "position": (lambda x: x[3], [[np.ones(5), np.ones(2)]], r"in example 1, where x.shape is \(2,\)"),
    "sizes": (
        lambda x: x @ np.ones(3),
        [[np.ones((2, 3)), np.ones((1, 4))]],
        r"in example 1, where x.shape is \(1, 4\)",
    ),
    "other": (
        lambda x: x @ np.ones(3),
        [[np.ones((2, 3)), np.ones((1, 3)), np.ones((5, 4))]],
        r"in example 2, where x.shape is \(5, 4\), others have 3 for x.shape\[1\]",
    ),
    "named": (lambda a, b: b[2] + a[1], [[np.ones(2)] * 2, [np.ones(3), np.ones(2)]], r"b.shape\[0\] \(2\) must be"),
    "two": (
        lambda x, y: x + y,
        [[np.ones(2), np.ones(3)], [np.ones(2), np.ones(4)]],
        r"in example 1, where x.shape is \(3,\) and y.shape is \(4,\)",
    ),
    "singular": (np.linalg.inv, [[np.eye(2), np.zeros((3, 3))]], r"in example 1, where a.shape is \(3, 3\)"),
    "alone": (decided, [[np.eye(2), np.zeros((3, 3))]], r"in example 1, where x.shape is \(3, 3\)"),
    "rank": (lambda x: x, [[np.float64(1), np.ones(2)]], "example 1 of x has rank 1, and example 0 has 0"),
    "object": (lambda x: x, [[np.ones(2), np.array([None])]], "example 1 of x has dtype object"),
    "objects": (lambda x: x, [np.array([np.ones(2), np.ones(1)], dtype=object)], "x has dtype object"),
    "counts": (lambda x, y: x, [[np.ones(2)] * 3, np.ones(2)], "y has 2 examples, and x has 3"),
}


@pytest.mark.parametrize("name", ENDS)
def test_errors_name_the_example_and_its_sizes(name):
    function, args, text = ENDS[name]
    with pytest.raises((errors.AnyshapeError, ValueError), match=text) as error:
        ragged_map(function)(*args)
    assert re.search(text, str(error.value).splitlines()[0])
    advice = {
        "other": "give example 2 the size that others have",
        "objects": "pass a list of arrays of numbers, as list(x)",
        "counts": "give batches of as many examples, and None in in_axes for what all share",
    }
    assert advice.get(name, "") in str(error.value)


def test_errors_of_the_function_name_the_example():
    with pytest.raises(ValueError, match="too large") as error:
        ragged_map(positive)([np.ones(2), np.ones(5)])
    assert "in example 1, where x.shape is (5,)" in error.value.__notes__


def test_costs_are_sums_over_the_rows():
    one = lambda w, x: np.tanh(x @ w).sum()
    costs = {"loop": "2*xs_flat_0*xs_flat_1 + 2*", "auto": "<=2*xs_flat_0*xs_flat_1 + 3*"}  # of a loop, or of two forms
    for layout, cost in costs.items():
        summed = jit(lambda w, xs, layout=layout: ragged_map(one, in_axes=(None, 0), layout=layout)(w, xs))
        summed(W, Ragged.from_list(batch(2, 5)))
        assert f"{cost}xs_flat_0" in str(summed.programs()[0].cost())


def test_what_numpy_refuses_names_the_example():
    with pytest.raises(errors.ArgumentError, match="example 1 of x has rank 2, and example 0 has 1"):
        ragged_map(lambda x: x)([np.ones(2), np.ones((2, 2))])
    with pytest.raises(errors.ArgumentError, match="example 2 of x has dtype float32"):
        ragged_map(lambda x: x)([np.ones(2), np.ones(1), np.ones(2, np.float32)])
    for other in (batch(1, 2, 3), np.ones((3, 2)), Ragged.from_list(batch(1, 2, 3))):
        with pytest.raises(errors.ArgumentError, match="y has 3 examples, and x has 2"):
            ragged_map(lambda x, y: x + y)(batch(1, 2), other)
    with pytest.raises(errors.ArgumentError, match="x is a number, which has no examples"):
        ragged_map(lambda x: x)(3.0)
    for axis, x in ((1, batch(1, 2)), ("a", np.ones((2, 2))), (-1, Ragged.from_list(batch(1, 2)))):
        with pytest.raises(errors.ArgumentError, match=f"in_axes is {axis!r} for x\n.*give 0 for a batch"):
            ragged_map(lambda x: x, in_axes=axis)(x)
    with pytest.raises(errors.ArgumentError, match="in_axes has 1 entries for 2 arguments"):
        ragged_map(lambda x, y: x + y, in_axes=(0,))(batch(1), batch(1))


def test_examples_are_chosen_by_slices_lists_and_masks():
    backwards = jit(lambda xs: xs[1:][::-1])
    for arrays in (batch(2, 5, 1, 0), batch(3), [np.arange(6.0).reshape(n, -1, 1) for n in (2, 3, 1)]):
        xs, numbers = Ragged.from_list(arrays), np.arange(len(arrays))
        for index in (slice(1, None), slice(None, None, -2), [0, -1, 0], numbers % 2 == 1, [], slice(9, None)):
            equal_examples(xs[index], [arrays[k] for k in numbers[index]])
        equal_examples(backwards(xs), arrays[1:][::-1])
    assert backwards.cache_info().traces == 2  # for one ragged axis and two
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        Ragged.from_list(batch(1, 2))[[4]]


def equal_examples(got, expected):
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_padded_arrays_in_programs():
    """One program for all lengths; slopes reach the elements alone."""
    weigh = lambda xs: np.sum(xs.to_padded(2.0) ** 2 * np.arange(4.0))
    value, slopes = jit(weigh), grad(weigh)
    for numbers in ((2, 5, 1), (4,), (0, 0), (1, 3, 3, 0)):
        xs = Ragged.from_list(batch(*numbers))
        padded = np.full((len(numbers), max(numbers), 4), 2.0)
        for i, x in enumerate(xs):
            padded[i, : len(x)] = x
        np.testing.assert_array_equal(xs.to_padded(2.0), padded)
        np.testing.assert_allclose(value(xs), np.sum(padded**2 * np.arange(4.0)))
        np.testing.assert_allclose(slopes(xs).flat, 2 * xs.flat * np.arange(4.0))
    assert value.cache_info().traces == slopes.cache_info().traces == 1
    planes = Ragged.from_list([np.ones((2, 3, 1)), np.ones((4, 1, 1))])
    assert jit(lambda xs: xs.to_padded(0.0))(planes).sum() == 10 and planes.to_padded().shape == (2, 4, 3, 1)


def test_programs_of_batches_are_saved(tmp_path):
    mapped = ragged_map(lambda w, x: np.tanh(x @ w)[::-1], in_axes=(None, 0))
    slopes = grad(lambda w, xs: mapped(w, xs)[0].sum() + mapped(w, xs[1:]).flat.sum(), argnums=(0, 1))
    path, xs = tmp_path / "slopes", Ragged.from_list(batch(3, 1))
    export(slopes)(W, xs).save(path)
    export(jit(mapped))(W, xs).save(tmp_path / "values")
    for numbers in ((2, 5, 1), (4,)):
        xs = Ragged.from_list(batch(*numbers))
        equal_examples(load(tmp_path / "values")(W, xs), [*mapped(W, xs)])
        (of_w, of_xs), (expected, each) = load(path)(W, xs), slopes(W, xs)
        np.testing.assert_allclose(of_w, expected, strict=True)
        np.testing.assert_allclose(of_xs.flat, each.flat, strict=True)


# Requests of users of other libraries, refused or answered wrongly there
THREADS = {
    "pytorch 118107, operators by the dozen": lambda w, x: np.cumsum(np.where(x > 0, x, 0.1 * x), 0)[:, ::2],
    "pytorch 118107, attention without a softmax": lambda w, x: linear_attention(x * w, x, np.exp(x)),
    "pytorch 132212, average pooling": lambda w, x: (x[: x.shape[0] // 2 * 2 : 2] + x[1::2]) / 2 * w,
    "pytorch 132170, softmax along the ragged axis": lambda w, x: np.exp(x @ w) / np.exp(x @ w).sum(),
    "pytorch 136270, attention of a part": lambda w, x: attention((x * w)[1:], x[1:], x[1:]),
    "pytorch 88137, elements by a mask": lambda w, x: (x * w)[x > 0],
    "pytorch 161812, examples joined with themselves": lambda w, x: np.concatenate([x * w, x]),
    "awkward 2638, slopes of a mean": lambda w, x: np.mean(x * w) ** 2,
    "awkward 3541 and 3546, slopes of sorted rows": lambda w, x: np.sort(x, axis=0) * np.arange(x.shape[0])[:, None],
    "jax 16541, a layer of a transformer": lambda w, x: attention(x * w, x, x) + x,
    "jax, sums of piles": lambda w, x: x.sum(0) / x.shape[0],
    "jax, ranges of jumbles": lambda w, x: np.arange(x.shape[0]) * x[:, 0],
}


def attention(queries, keys, values):
    scores = queries @ keys.T / 2.0
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ values


def linear_attention(queries, keys, values):
    queries, keys = (np.where(y > 0, y + 1, np.exp(np.minimum(y, 0.0))) for y in (queries, keys))
    return queries @ (keys.T @ values) / (queries @ keys.sum(0) + 1e-6)[:, None]


@pytest.mark.parametrize("name", THREADS)
def test_requests_of_users_of_other_libraries(name):
    function = THREADS[name]
    weigh = lambda y: anp.sum(y * anp.cos(anp.arange(y.size).reshape(y.shape)))
    one = grad(lambda w, x: weigh(function(w, x)), argnums=(0, 1))
    all_of = ragged_map(lambda w, x: weigh(function(w, x)), in_axes=(None, 0))
    value, slopes = ragged_map(function, in_axes=(None, 0)), grad(lambda w, xs: all_of(w, xs).sum(), argnums=(0, 1))
    for numbers in ((3, 2, 4), (2,)):
        xs = batch(*numbers)
        for got, x in zip(value(W, xs), xs, strict=True):
            np.testing.assert_allclose(got, function(W, x), strict=True)
        of_w, of_xs = slopes(W, xs)
        each = [one(W, x) for x in xs]
        np.testing.assert_allclose(of_w, sum(w for w, _ in each), rtol=1e-9, atol=1e-12)
        for got, (_, expected) in zip(of_xs, each, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    assert value.cache_info().traces == slopes.cache_info().traces == 1


def test_a_number_for_each_example_has_a_slope():
    """Multiply rows by weights that examples share, and by one that each has (pytorch 132695)."""
    scaled = ragged_map(lambda s, w, x: np.sum(np.tanh(x * s * w)), in_axes=(None, 0, 0))
    slopes = grad(lambda s, w, x: np.sum(scaled(s, w, x)), argnums=(0, 1, 2))
    one = grad(lambda s, w, x: np.sum(np.tanh(x * s * w)), argnums=(0, 1, 2))
    for numbers in ((5, 3), (1, 0, 2)):
        xs, ws = batch(*numbers), np.linspace(0.5, 2, len(numbers))
        of_s, of_w, of_x = slopes(W, ws, xs)
        each = [one(W, w, x) for w, x in zip(ws, xs, strict=True)]
        np.testing.assert_allclose(of_s, sum(e[0] for e in each))
        np.testing.assert_allclose(of_w, [e[1] for e in each])
        equal_examples(of_x, [e[2] for e in each])
    assert slopes.cache_info().traces == 1


def test_batches_are_padded_and_cut_again():
    """Keep lengths and slopes through a padded array (pytorch 145837)."""

    def sums(xs):
        padded = np.cumsum(xs.to_padded(0.0), axis=1)
        inside = np.arange(padded.shape[1]) < xs.lengths[:, None]
        return Ragged(padded[inside], xs.lengths) - xs

    slope = grad(lambda xs: np.sum(sums(xs).flat ** 2))
    one = grad(lambda x: np.sum((np.cumsum(x, axis=0) - x) ** 2))
    for numbers in ((1, 1, 2), (4, 0, 3)):
        xs = batch(*numbers)
        equal_examples(jit(sums)(Ragged.from_list(xs)), [np.cumsum(x, axis=0) - x for x in xs])
        equal_examples(slope(Ragged.from_list(xs)), [one(x) for x in xs])
    assert slope.cache_info().traces == 1


OF_SIZES = {  # the tests of JAX's jumbles, as functions of a size
    "range": lambda n: np.arange(n, dtype="int32"),
    "rows": lambda n: np.broadcast_to(np.arange(n), (4, n)),
    "square": lambda n: np.broadcast_to(np.arange(n), (n, n)),
    "transposed": lambda n: np.transpose(np.broadcast_to(np.arange(n), (7, n)), [1, 0]),
    "squeezed": lambda n: np.squeeze(np.broadcast_to(np.arange(n)[:, None], (n, 1)), 1),
    "split": lambda n: next(iter(np.broadcast_to(np.arange(n), (2, n)))),
    "projected": lambda n: np.einsum(
        "te,ihqe->ithq", np.broadcast_to(np.arange(n)[:, None], (n, 3)), np.arange(12).reshape(2, 1, 2, 3)
    ),
    "contracted": lambda n: np.einsum(
        "tsh,shq->thq", np.broadcast_to(np.arange(n)[:, None], (n, n, 2)), np.ones((n, 2, 3)) * np.arange(2)[:, None]
    ),
}


@pytest.mark.parametrize("name", OF_SIZES)
def test_examples_may_be_sizes(name):
    """Map functions of sizes by `vmap` and `ragged_map`, in one program (jumbles of JAX)."""
    function = OF_SIZES[name]
    for mapped in (vmap(function), ragged_map(function)):
        for sizes in ([3, 1, 4], [2, 2], [0, 5, 1, 1]):
            for got, n in zip(mapped(np.array(sizes)), sizes, strict=True):
                np.testing.assert_array_equal(got, function(n))
        assert mapped.cache_info().traces == 1


def test_an_example_of_a_batch_in_a_program():
    """A position is a condition on the number of examples, not a program for each number."""
    ends = jit(lambda xs: (xs[0] * 2, xs[-1]))
    for numbers in ((2, 0, 3), (1,), (4, 1)):
        arrays = batch(*numbers)
        equal_examples(ends(Ragged.from_list(arrays)), (2 * arrays[0], arrays[-1]))
    assert ends.cache_info().traces == 1
    with pytest.raises(errors.SizeMismatchError, match=r"xs.lengths.shape\[0\] \(0\) must be at least 1"):
        ends(Ragged(np.zeros((0, 4)), []))


def test_a_ragged_value_is_a_batch():
    xs = batch(2, 0, 3)
    ragged = Ragged.from_list(xs)
    assert len(ragged) == 3 and ragged.ndim == 3 and ragged.lengths.tolist() == [2, 0, 3]
    same(ragged, xs)
    same([ragged[-1]], xs[-1:])
    same(np.sin(ragged) / 2 - 1, [np.sin(x) / 2 - 1 for x in xs])
    same(ragged * W, [x * W for x in xs])
    same(ragged + ragged, [x + x for x in xs])
    padded = ragged.to_padded(-1.0)
    assert padded.shape == (3, 3, 4) and (padded[1] == -1).all() and (padded[0, :2] == xs[0]).all()
    for wrong in (lambda: Ragged(np.ones(3), [1, 1]), lambda: Ragged(np.ones(2), [3, -1]), lambda: np.asarray(ragged)):
        with pytest.raises(errors.ArgumentError):
            wrong()
    with pytest.raises(errors.ArgumentError, match="other lengths"):
        ragged + Ragged.from_list(batch(1, 1, 3))
    with pytest.raises(IndexError):
        ragged[3]


def test_sizes_that_a_run_alone_knows_are_checked():
    one, other = Ragged(np.arange(3.0), [1, 2]), Ragged(np.ones(3), [2, 1])
    same(jit(lambda a, b: a + b)(one, Ragged(np.ones(3), [1, 2])), [np.array([1.0]), np.array([2.0, 3.0])])
    with pytest.raises(errors.CheckError, match="have the same lengths"):
        jit(lambda a, b: a + b)(one, other)
    summed = jit(lambda flat, lengths: ragged_map(np.sum)(Ragged(flat, lengths)))
    np.testing.assert_array_equal(summed(np.arange(3.0), np.array([1, 2])), [0.0, 3.0])
    with pytest.raises(errors.CheckError, match="add up to its rows"):
        summed(np.arange(3.0), np.array([1, 3]))


def test_results_without_elements():
    empty = ragged_map(lambda x: np.zeros((len(x), len(x), 0)))
    assert [y.shape for y in empty([np.ones(2), np.ones(3)])] == [(2, 2, 0), (3, 3, 0)]


def test_compiled_code_reads_the_sizes_of_rows(monkeypatch):
    """Sizes that are the same in all examples are read of the joined array, before the first trip."""
    monkeypatch.setattr(config, "optimize", "now")
    monkeypatch.setenv("ANYSHAPE_CHECK", "0")  # code with checks reads the sizes in each trip
    net = lambda w, b, x: np.mean(np.maximum(x @ w + b, 0), axis=0) @ b
    slope = jit(grad(lambda w, b, xs: np.sum(ragged_map(net, in_axes=(None, None, 0))(w, b, xs))))
    w, b = RNG.normal(size=(4, 5)), np.arange(5.0)
    for lengths in ((3, 1, 40), (2, 2), (7,)):
        xs = batch(*lengths)
        expected = sum(x.T @ ((x @ w + b > 0) * b / len(x)) for x in xs)
        for _ in range(2):
            np.testing.assert_allclose(slope(w, b, Ragged.from_list(xs)), expected, atol=1e-12)


def test_results_of_several_structures_are_refused():
    with pytest.raises(errors.ArgumentError, match="example 1 of the results has another structure"):
        ragged_map(lambda x: (x,) if np.sum(x) > 0 else x)([np.ones(2), -np.ones(2)])
    with pytest.raises(errors.DecisionError):
        vmap(lambda x: (x,) if np.sum(x) > 0 else x)(np.array([1.0, -1.0]))
