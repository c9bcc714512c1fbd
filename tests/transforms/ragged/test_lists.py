"""A list of arrays that a function reads as examples is a batch of any number of examples, in one program."""

import contextlib
import functools

import numpy as np
import optree
import pytest

import anyshape
from anyshape import Ragged, errors, explain, grad, jit, profile, ragged_map, value_and_grad, vmap

W = np.array([0.5, -1.0, 0.3])


def lists(*numbers, seed=0):
    """Return lists of so many arrays of different sizes."""
    rng = np.random.default_rng(seed)
    return [[rng.normal(size=(rng.integers(1, 6), 3)) for _ in range(number)] for number in numbers]


def pooled(w, x):
    scores = np.exp(x @ w)
    return scores @ x / scores.sum()


def by_generator(w, xs):
    return sum(np.sum(pooled(w, x) ** 2) for x in xs)


def by_sum(w, xs):
    total = 0.0
    for x in xs:
        hidden = np.tanh(x * w)
        total = total + np.sum(hidden)
    return total


def by_append(w, xs):
    results = []
    for x in xs:
        results.append(np.sum(x @ w))
    return sum(results)


def by_lists(w, xs):
    hidden = [np.tanh(x * w) for x in xs]
    return sum(np.sum(h * x) for h, x in zip(hidden, xs)) + np.concatenate(hidden).sum() if len(xs) else 0.0


def by_numbers(w, xs):
    total = 0.0
    for k, x in enumerate(xs):
        total += (k + 1) * np.sum(x * w)
    return total


def of_pairs(w, xs):
    return sum(sum(np.sum(x @ y.T * w[0]) for y in xs) for x in xs)


def by_positions(w, xs):
    results = []
    for i in range(len(xs)):
        results.append(np.sum(xs[i] @ w) * (i + 1))
    return sum(results) + sum(np.sum(xs[i] * xs[j].sum()) * w[0] for i in range(len(xs)) for j in range(len(xs)))


def by_map(w, xs):
    squared = functools.partial(lambda w, x: np.sum(pooled(w, x) ** 2), w)
    return sum(map(squared, xs)) + np.sum(list(map(np.sum, xs))) * w[1]


def backwards(w, xs):
    total = 0.0
    for k, x in enumerate(reversed(xs)):
        total += (k + 1) * np.sum(np.tanh(x @ w))
    return total


FUNCTIONS = [by_generator, by_sum, by_append, by_numbers, of_pairs, by_positions, by_map, backwards]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_program_serves_any_number_of_examples(function):
    value, slopes = jit(function), value_and_grad(function, argnums=(0, 1))
    plain = value_and_grad(lambda w, *xs: function(w, list(xs)), argnums=(0, 1, 2, 3))
    for xs in lists(3, 1, 0, 128):
        np.testing.assert_allclose(value(W, xs), function(W, xs), rtol=1e-9)
        result, (of_w, of_xs) = slopes(W, xs)
        np.testing.assert_allclose(result, function(W, xs), rtol=1e-9)
        assert type(of_xs) is list and [g.shape for g in of_xs] == [x.shape for x in xs]
        if len(xs) == 3:
            _, (expected, *each) = plain(W, *xs)
            for got, wanted in zip([of_w, *of_xs], [expected, *each], strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-9)
    assert value.cache_info().traces == 1 and slopes.cache_info().traces == 1


def of_dict(w, data):
    xs, ys = data["x"], data["y"]
    return sum(np.sum(x @ w * y) for x, y in zip(xs, ys))


def of_tuple(w, batch):
    xs, _ = batch
    return sum(np.sum(x @ w) - y for x, y in zip(xs, batch[1]))


def of_items(w, items):
    total = 0.0
    for k, (x, y) in enumerate(items):
        total -= k * np.sum(x @ w) * y
    return total


def of_nested(w, items):
    return sum(c * np.sum(e["x"] @ w) * e["y"]["z"] for c, (e, _) in enumerate(items)) + max([0.0, float(len(items))])


def of_pairs_by_max(w, xs):
    return max((np.sum(x @ w) * np.sum(y) for x in xs for y in xs), default=0.0)


TREES = {  # what each takes of a list of arrays
    of_dict: lambda xs: {"x": xs, "y": [x[:, 0] for x in xs], "z": 1.0},
    of_tuple: lambda xs: (xs, [float(k) for k in range(len(xs))]),
    of_items: lambda xs: [(x, 0.5 * k) for k, x in enumerate(xs)],
    of_nested: lambda xs: [({"x": x, "y": {"z": np.float64(k)}}, None) for k, x in enumerate(xs)],
    of_pairs_by_max: lambda xs: xs,
}


@pytest.mark.parametrize("function", TREES, ids=lambda f: f.__name__)
def test_lists_in_trees_and_lists_of_trees(function):
    """Slopes have the form of the argument, and equal slopes for lists of one number of items."""
    value, slopes = jit(function), grad(function, argnums=(0, 1))
    for xs in lists(3, 1, 0, 20):
        tree = TREES[function](xs)
        got, expected = value(W, tree), function(W, tree)
        np.testing.assert_allclose(got, expected, rtol=1e-9)
        if len(xs) == 3:
            assert np.asarray(got).dtype == np.asarray(expected).dtype
            with read_off():
                wanted = grad(lambda w, tree: function(w, tree), argnums=(0, 1))(W, tree)
            leaves, structure = optree.tree_flatten(slopes(W, tree))
            others, other = optree.tree_flatten(wanted)
            assert structure == other
            for a, b in zip(leaves, others, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9)
    assert value.cache_info().traces == slopes.cache_info().traces == 1


def of_labels(w, xs, ys):
    total = 0.0
    for i in range(len(ys)):
        total += (np.sum(xs[i] @ w) - ys[i]) ** 2
    return total


def test_a_list_beside_others_may_be_an_array_in_other_calls():
    """Numbers that are read beside arrays are a list of any number, too."""
    slopes = grad(of_labels, argnums=(0, 1))
    for kind in (np.asarray, list, np.asarray, list):
        for xs in lists(3, 1, 7):
            ys = kind(np.arange(len(xs)) * 0.5)
            of_w, of_xs = slopes(W, xs, ys)
            distances = [np.sum(x @ W) - y for x, y in zip(xs, ys, strict=True)]
            np.testing.assert_allclose(of_w, sum(2 * d * x.sum(0) for d, x in zip(distances, xs, strict=True)))
            for d, x, g in zip(distances, xs, of_xs, strict=True):
                np.testing.assert_allclose(g, np.broadcast_to(2 * d * W, x.shape))
    assert slopes.cache_info().traces == 2


def test_lists_whose_items_change_or_pass_on_a_value_stay_lists():
    def layers(ws, x):
        for i in range(len(ws)):
            x = np.tanh(x @ ws[i])
        return np.sum(x)

    def changed(xs, w):
        xs = list(xs)
        for i in range(len(xs)):
            xs[i] = xs[i] * 2
        return sum(np.sum(x @ w) for x in xs)

    slope, doubled = grad(layers), grad(changed)
    for number in (1, 2, 3):
        ws = [0.5 * np.eye(3)] * number
        assert [g.shape for g in slope(ws, W)] == [(3, 3)] * number
        (xs,) = lists(number)
        np.testing.assert_allclose(doubled(xs, W)[-1], np.broadcast_to(2 * W, xs[-1].shape))
    assert slope.cache_info().traces == doubled.cache_info().traces == 3


@contextlib.contextmanager
def read_off():
    """Let lists mean what they mean in code that is not read."""
    before, anyshape.config.read_source = anyshape.config.read_source, "off"
    try:
        yield
    finally:
        anyshape.config.read_source = before


def changed(w, data):
    data["x"] = [2 * x for x in data["x"]]
    return sum(np.sum(x @ w) for x in data["x"])


def renamed(w, xs):
    ys = xs
    ys = [2 * y for y in ys]
    return sum(np.sum(y @ w) for y in ys)


def by_lambda(w, xs):
    ys = xs
    one = lambda ys: np.sum(ys @ w)
    return sum(one(x) for x in ys)


def test_lists_in_trees_that_are_read_otherwise():
    xs = lists(3)[0]
    for function in (renamed, by_lambda):
        jitted = jit(function)
        np.testing.assert_allclose(jitted(W, xs), function(W, xs))
        assert jitted.lists is None
    with pytest.raises(errors.MutationError):
        jit(changed)(W, {"x": xs})
    mixed = jit(of_items)
    for items in ([(xs[0], 1.0), (xs[1], 2)], [(xs[0], 1.0), (xs[1], 2.0)]):
        np.testing.assert_allclose(mixed(W, items), of_items(W, items))


def each(w, xs):
    return [x * w for x in xs]


def each_sum(w, xs):
    return {"sums": [np.sum(x * w) for x in xs], "pairs": [(x.sum(0), x[0]) for x in xs]}


def test_results_that_are_lists_stay_lists():
    rows, sums, moved = jit(each), jit(each_sum), jit(appended)
    for xs in lists(2, 1, 5):
        for got in (rows(W, xs), moved(W, xs)):
            assert type(got) is list
            for a, b in zip(got, each(W, xs), strict=True):
                np.testing.assert_allclose(a, b)
        got, expected = sums(W, xs), each_sum(W, xs)
        np.testing.assert_allclose(got["sums"], expected["sums"])
        assert type(got["pairs"]) is list and type(got["pairs"][0]) is tuple
        for a, b in zip(got["pairs"], expected["pairs"], strict=True):
            np.testing.assert_allclose(a, b)
    assert [f.cache_info().traces for f in (rows, sums, moved)] == [1, 1, 1]


def passed_on(w, xs):
    return by_generator(w, xs) + np.sum(grad(by_sum)(w, xs)) + ragged_map(pooled, in_axes=(None, 0))(w, xs).sum()


def test_lists_that_are_passed_on():
    jitted = jit(passed_on)
    for xs in lists(3, 2):
        expected = by_generator(W, xs) + np.sum(grad(by_sum)(W, xs)) + sum(pooled(W, x).sum() for x in xs)
        np.testing.assert_allclose(jitted(W, xs), expected)
    assert jitted.cache_info().traces == 1
    rows = vmap(by_sum, in_axes=(0, None))
    for xs in lists(3, 2):
        np.testing.assert_allclose(rows(np.stack([W, 2 * W]), xs), [by_sum(W, xs), by_sum(2 * W, xs)])
    assert rows.cache_info().traces == 1


def appended(w, xs):
    moved = []
    for x in xs:
        moved.append(x * w)
    return moved


def layers(weights, h):
    for w in weights:
        h = np.tanh(h @ w)
    return h.sum()


def first(xs):
    return xs[0].sum()


def mapped(xs):
    return [x.shape for x in xs], xs


def until(xs):
    total = 0.0
    for x in xs:
        if x.sum() > 100:
            break
        total += x.sum()
    return total


def test_lists_that_are_read_otherwise_mean_what_they_mean():
    square = [np.eye(3) * k for k in range(1, 4)]
    for function, args in ((layers, (square, np.ones((2, 3)))), (first, (square,)), (until, (square,))):
        jitted = jit(function)
        np.testing.assert_allclose(jitted(*args), function(*args))
        assert jitted.lists is None
    mixed = jit(by_generator)
    odd = [np.ones((2, 3)), np.ones((1, 3), np.float32)]
    np.testing.assert_allclose(mixed(W, odd), by_generator(W, odd))
    np.testing.assert_allclose(mixed(W, lists(2)[0]), by_generator(W, lists(2)[0]))
    rows = vmap(by_generator, in_axes=(None, 0))
    stack = [np.ones((4, 2, 3)), np.zeros((4, 5, 3))]
    np.testing.assert_allclose(rows(W, stack), [by_generator(W, [s[i] for s in stack]) for i in range(4)])


def declared(xs: Ragged):
    total = 1.0
    for x in xs:
        total = total * np.sum(x)
    return total


def test_declared_lists():
    undeclared = jit(lambda w, xs: declared(xs) * w[0], dynamic_shapes={"xs": Ragged})
    slopes = grad(declared)
    for xs in lists(3, 1, 4):
        np.testing.assert_allclose(jit(declared)(xs), declared(xs))
        np.testing.assert_allclose(undeclared(W, xs), declared(xs) * W[0])
        for got, x in zip(slopes(xs), xs, strict=True):
            np.testing.assert_allclose(got, np.full(x.shape, declared(xs) / x.sum()))
    assert slopes.cache_info().traces == undeclared.cache_info().traces == 1


def test_errors_are_those_of_the_function():
    jitted = jit(by_generator)
    with pytest.raises(errors.ShapeError):
        jitted(W, [np.ones((2, 3)), np.ones((2, 4))])
    np.testing.assert_allclose(jitted(W, lists(2)[0]), by_generator(W, lists(2)[0]))
    with pytest.raises(errors.SizeMismatchError, match=r"xs\[0\].shape\[1\]"):
        jit(lambda xs: np.stack([x.sum(0) for x in xs]))([np.ones((2, 3)), np.ones((2, 4))])


def test_reports_show_the_program_of_the_batch(tmp_path):
    jitted, (xs,) = jit(by_generator), lists(3)
    assert "xs.lengths" in str(explain(jitted)(W, xs))
    with open(tmp_path / "out", "w") as file:
        assert profile(jitted, repeat=1, file=file)(W, xs).rows
    jitted(W, xs)
    assert "1 program" in str(jitted.explain())


def test_batches_in_traced_code():
    def reduced(w, batch):
        return (w * batch).sum(), batch.mean(1), np.max(np.sin(batch), axis=2).sum(), np.concatenate(batch).sum(0)

    xs = lists(3)[0]
    got = jit(reduced)(W, Ragged.from_list(xs))
    np.testing.assert_allclose(got[0], sum((x * W).sum() for x in xs))
    np.testing.assert_allclose(got[1], [x.mean(0) for x in xs])
    np.testing.assert_allclose(got[2], sum(np.sin(x).max(1).sum() for x in xs))
    np.testing.assert_allclose(got[3], sum(x.sum(0) for x in xs))
    slopes = grad(lambda b: np.sum(b.mean(1) * W))(Ragged.from_list(xs))
    for slope, x in zip(slopes, xs, strict=True):
        np.testing.assert_allclose(slope, np.broadcast_to(W / len(x), x.shape))
    with pytest.raises(errors.ArgumentError, match="differ in size"):
        np.sum(Ragged.from_list(xs), axis=0)


def test_no_arrays_to_concatenate_are_the_error_of_numpy():
    f = jit(lambda xs: np.concatenate([x + 1 for x in xs]))
    for count in (3, 0, 5, 0):
        xs = [np.arange(k + 1.0) for k in range(count)]
        if count:
            np.testing.assert_array_equal(f(xs), np.concatenate(xs) + 1)
        else:
            with pytest.raises(ValueError, match="at least one array"):
                f(xs)
