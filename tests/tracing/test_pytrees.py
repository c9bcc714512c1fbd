"""Tests of pytrees: functions see the caller's order of keys, and trees that differ in it alone are compared by key."""

import collections
import dataclasses
import io
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyshape
from anyshape import ShapeDtypeStruct, check_grads, explain, export, grad, jit, jvp, linearize, pure_callback, vjp, vmap
from anyshape.errors import ArgumentError
from anyshape.tracing.pytrees import flatten, flatten_as, flatten_prefix

Pair = collections.namedtuple("Pair", "left right")
KINDS = (dict, collections.OrderedDict, lambda pairs: collections.defaultdict(list, pairs))
KEYS = st.one_of(st.sampled_from(["w", "b", "a", "layer 1", "é", "_x"]), st.integers(0, 3), st.none())


def walk(tree):
    """Yield the leaves in the order in which Python meets them."""
    if isinstance(tree, (dict, list, tuple)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from walk(part)
    else:
        yield tree


def dict_like(tree, pairs):
    """Return a dict of the same class."""
    return collections.defaultdict(list, pairs) if isinstance(tree, collections.defaultdict) else type(tree)(pairs)


def rebuilt(tree, leaves):
    """Return the tree with other leaves, in the order of `walk`."""
    if isinstance(tree, dict):
        return dict_like(tree, [(key, rebuilt(part, leaves)) for key, part in tree.items()])
    if isinstance(tree, (list, tuple)):
        parts = [rebuilt(part, leaves) for part in tree]
        return type(tree)(*parts) if isinstance(tree, Pair) else type(tree)(parts)
    return next(leaves)


def mapped(function, tree):
    return rebuilt(tree, map(function, list(walk(tree))))


def numbered(function, tree):
    """Return the tree of the function of the position and the value of each leaf."""
    return rebuilt(tree, itertools.starmap(function, enumerate(list(walk(tree)))))


def shuffled(tree, draw):
    """Return the tree with the keys of its dicts in another order."""
    if isinstance(tree, dict):
        return dict_like(tree, [(key, shuffled(tree[key], draw)) for key in draw(st.permutations(list(tree)))])
    if isinstance(tree, (list, tuple)):
        parts = [shuffled(part, draw) for part in tree]
        return type(tree)(*parts) if isinstance(tree, Pair) else type(tree)(parts)
    return tree


def plain(tree):
    """Return the tree without named tuples, which no file holds."""
    if isinstance(tree, dict):
        return dict_like(tree, [(key, plain(part)) for key, part in tree.items()])
    return [plain(part) for part in tree] if isinstance(tree, (list, tuple)) else tree


def same(got, expected):
    """Compare two trees: types, keys in order, and leaves."""
    assert isinstance(got, dict) == isinstance(expected, dict)
    if isinstance(expected, dict):
        assert type(got) is type(expected)
        assert list(got) == list(expected), f"keys {list(got)}, not {list(expected)}"
        for key, part in expected.items():
            same(got[key], part)
    elif isinstance(expected, (list, tuple)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same(a, b)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def weighted(tree):
    """Return the tree with each leaf times its position, and a sum in which the order counts."""
    return numbered(lambda i, x: (i + 1) * x * x, tree), sum((i + 1) * np.sum(x**3) for i, x in enumerate(walk(tree)))


def total(tree):
    return weighted(tree)[1]


def _dicts(parts):
    pairs = st.lists(st.tuples(KEYS, parts), min_size=1, max_size=4, unique_by=lambda pair: pair[0])
    return st.builds(lambda kind, items: kind(items), st.sampled_from(KINDS), pairs)


LEAVES = st.builds(lambda seed: np.random.default_rng(seed).normal(size=2), st.integers(0, 99))
NESTED = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        _dicts(parts), _dicts(parts), st.lists(parts, min_size=1, max_size=3), st.builds(Pair, parts, parts)
    ),
    max_leaves=6,
)
TREES = _dicts(NESTED)
few = settings(max_examples=8, deadline=None)


@pytest.mark.slow
@few
@given(st.data())
def test_a_jitted_function_sees_the_order_of_the_caller(data):
    tree = data.draw(TREES)
    trees = [tree, *[shuffled(tree, data.draw) for _ in range(2)]]
    f, g = jit(weighted), grad(total)
    for t in [*trees, *trees, *trees]:  # a trace, the general path, the fast path
        same(f(t), weighted(t))
        same(g(t), numbered(lambda i, x: 3 * (i + 1) * x**2, t))


@pytest.mark.slow
@few
@given(st.data())
def test_tangents_and_cotangents_are_matched_by_key(data):
    tree = data.draw(TREES)
    tangent = mapped(lambda x: np.cos(x), tree)
    other = shuffled(tangent, data.draw)
    slope = numbered(lambda i, x: 2 * (i + 1) * x * np.cos(x), tree)
    scalar = sum(3 * (i + 1) * np.sum(x**2 * np.cos(x)) for i, x in enumerate(walk(tree)))
    expected = weighted(tree), (slope, scalar)
    same(jvp(weighted, (tree,), (other,)), expected)
    same(jit(lambda x, t: jvp(weighted, (x,), (t,)))(tree, other), expected)
    same(linearize(weighted, tree)[1](other), expected[1])
    _, back = vjp(weighted, tree)
    pulled = (numbered(lambda i, x: 2 * (i + 1) * x * np.cos(x) + 6 * (i + 1) * x**2, tree),)
    same(back((other, 2.0)), pulled)
    same(jit(lambda x, ct: vjp(weighted, x)[1]((ct, 2.0)))(tree, other), pulled)


@few
@given(st.data())
def test_prefixes_of_axes_are_matched_by_key(data):
    tree = data.draw(TREES)
    axes = {key: data.draw(st.sampled_from([0, 1, None])) for key in tree} | {next(iter(tree)): 1}
    stacked = mapped(lambda x: np.stack([x, 2 * x, x - 1]), tree)

    def each(function, trees):
        """Return the tree with the function of a key applied to the leaves below it, where it is mapped."""
        return dict_like(tree, [(k, t if axes[k] is None else mapped(function(k), trees[k])) for k, t in tree.items()])

    batches = each(lambda key: lambda x: np.moveaxis(x, 0, axes[key]), stacked)
    prefix = dict_like(tree, shuffled(axes, data.draw).items())
    got = vmap(weighted, in_axes=(prefix,), out_axes=(dict_like(tree, shuffled(axes, data.draw).items()), 0))(batches)
    for i in range(3):
        parts = [(k, mapped(lambda y, a=axes[k], i=i: y if a is None else y.take(i, a), t)) for k, t in got[0].items()]
        same((dict_like(tree, parts), got[1][i]), weighted(each(lambda _, i=i: lambda x: x[i], stacked)))


@few
@given(st.data())
def test_a_program_runs_in_the_traced_order_or_refuses_the_call(data):
    tree = data.draw(TREES.map(plain))
    program = export(weighted)(mapped(lambda x: ShapeDtypeStruct("n"), tree))
    file = io.BytesIO()
    program.save(file)
    loaded = anyshape.load(io.BytesIO(file.getvalue()))
    for t in (tree, *[shuffled(tree, data.draw) for _ in range(2)]):
        for p in (program, loaded):
            try:
                got = p(t)
            except ArgumentError as error:
                assert "pass the keys in the traced order" in str(error)
                assert repr(mapped(lambda x: 0, t)) != repr(mapped(lambda x: 0, tree))
            else:
                same(got, weighted(t))


# -- keywords ----------------------------------------------------------------------------------------------------


def by_keyword(**values):
    return total(values), {key: 2 * x for key, x in values.items()}


def test_keywords_that_a_function_collects_keep_their_order():
    f, x, y = jit(by_keyword), np.arange(2.0), np.ones(2)
    for _ in range(3):
        same(f(a=x, b=y), by_keyword(a=x, b=y))
        same(f(b=y, a=x), by_keyword(b=y, a=x))
    assert f.cache_info().traces == 2
    program = export(by_keyword)(b=ShapeDtypeStruct("n"), a=ShapeDtypeStruct("n"))
    file = io.BytesIO()
    program.save(file)
    for p in (program, anyshape.load(io.BytesIO(file.getvalue()))):
        same(p(b=y, a=x), by_keyword(b=y, a=x))
        with pytest.raises(ArgumentError, match=r"structure \(a=a, b=b\), not \(b=b, a=a\)"):
            p(a=x, b=y)


def test_named_parameters_come_in_any_order_and_share_a_program():
    def minus(x, y=2.0, *, scale=1.0):
        return (x - y) * scale

    class Model:
        def minus(self, x, y):
            return x - y

    f, x, y = jit(minus), np.arange(2.0), np.ones(2)
    orders = list(itertools.permutations({"x": x, "y": y, "scale": 3.0}.items()))
    for order in orders * 3:
        np.testing.assert_array_equal(f(**dict(order)), (x - y) * 3.0)
    assert f.cache_info().traces == 1
    assert jit(Model().minus)(y=y, x=x)[0] == -1 and grad(lambda x, *, y: np.sum(x * y))(x, y=y)[0] == 1
    program = export(minus)(scale=ShapeDtypeStruct(""), y=ShapeDtypeStruct("n"), x=ShapeDtypeStruct("n"))
    file = io.BytesIO()
    program.save(file)
    for p, order in itertools.product((program, anyshape.load(io.BytesIO(file.getvalue()))), orders):
        np.testing.assert_array_equal(p(**dict(order)), (x - y) * 3.0)


def test_a_wrapper_sees_the_keywords_that_its_function_names():
    def wrapper(**keywords):
        return total(keywords)

    wrapper.__wrapped__ = lambda a, b: a + b
    f = jit(wrapper)
    assert f(a=1.0, b=2.0) == 17 and f(b=2.0, a=1.0) == 10


# -- what else compares structures -------------------------------------------------------------------------------


def test_explain_names_the_order_of_keys():
    f = jit(lambda params, **more: total([params, more]))
    f({"net": {"w": 1.0, "b": 2.0}}, p=1.0, q=2.0)
    text = str(explain(f)({"net": {"b": 2.0, "w": 1.0}}, p=1.0, q=2.0))
    assert "order of keys of params['net']: 'w', 'b' when traced, 'b', 'w' now" in text
    f.clear_cache()
    f({"net": {"b": 2.0}}, p=1.0, q=2.0)
    text = str(explain(f)({"net": {"b": 2.0}}, q=2.0, p=1.0))
    assert "order of keys of the keywords: 'p', 'q' when traced, 'q', 'p' now" in text


def test_keys_that_are_equal_but_of_another_class_make_another_program():
    f, x = jit(lambda d: sum(key * value for key, value in d.items())), np.arange(3)
    for key in (1, 1.0, True, 1, 1.0, True):
        got, expected = f({key: x}), key * x
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    assert f.cache_info().traces == 3


def test_a_callback_may_return_its_keys_in_any_order():
    spec = {"low": ShapeDtypeStruct(""), "high": ShapeDtypeStruct("")}
    f = jit(lambda x: pure_callback(lambda v: {"high": v.max(), "low": v.min()}, spec, x))
    same(f(np.arange(3.0)), {"low": np.array(0.0), "high": np.array(2.0)})
    wrong = jit(lambda x: pure_callback(lambda v: {"high": v.max(), "slow": v.min()}, spec, x))
    with pytest.raises(Exception, match="as declared"):
        wrong(np.arange(3.0))


def test_check_grads_compares_by_key():
    check_grads(lambda d: {"z": d["b"] * d["a"], "y": np.sin(d["a"])}, ({"b": np.ones(2), "a": np.arange(2.0)},))


def test_trees_that_differ_in_more_than_order_are_refused():
    x = np.ones(2)
    like = flatten({"b": x, "a": [x, x]})[1]
    ordered = collections.OrderedDict
    for wrong in ({"b": x}, {"b": x, "c": [x, x]}, {"a": [x], "b": [x, x]}, {"a": (x, x), "b": x}, [x, x, x]):
        assert flatten_as(wrong, like) is None
        with pytest.raises(ArgumentError, match="structure"):
            jvp(lambda d: d["b"], ({"b": x, "a": [x, x]},), (wrong,))
    assert flatten_as(ordered(a=[x, x], b=x), like) is None
    lists, floats = (collections.defaultdict(kind, b=x, a=x) for kind in (list, float))
    assert flatten_as(lists, flatten(floats)[1]) is None


def test_a_prefix_is_repeated_by_key():
    tree = {"b": [1.0, 2.0], "a": 3.0, "none": None}
    assert flatten_prefix({"a": 7, "none": 8, "b": 9}, tree, "f", "axes") == [9, 9, 7]
    assert flatten_prefix({"a": 7, "none": 8, "b": None}, tree, "f", "axes", none_is_leaf=True) == [None, None, 7, 8]
    np.testing.assert_array_equal(vmap(lambda t: t[0] * 2)((np.ones(3), None)), np.full(3, 2.0))


def test_static_fields_are_compared_by_type_at_every_depth():
    @anyshape.register_pytree_node
    @dataclasses.dataclass
    class Scaled:
        x: np.ndarray
        by: object = dataclasses.field(default=1, metadata={"static": True})

    f = jit(lambda s: s.x * s.by[0])
    for by in (1, 1.0, True, 1 + 0j, 1, 1.0, True):
        expected = np.arange(3) * by
        assert f(Scaled(np.arange(3), (by,))).dtype == expected.dtype
    assert f.cache_info().traces == 4


def holding_itself(kind):
    d = {"a": 1.0}
    d["me"] = {"dict": d, "list": [d], "tuple": (1.0, d)}[kind]
    return d


@pytest.mark.parametrize("kind", ["dict", "list", "tuple"])
@pytest.mark.parametrize("transform", [anyshape.jit, anyshape.grad, anyshape.vmap, anyshape.trace])
def test_a_container_that_holds_itself_is_named(transform, kind):
    with pytest.raises(ArgumentError, match=r"a container holds itself, under ('me'|0|1)\n  leave it out"):
        transform(lambda d: d["a"])(holding_itself(kind))
    with pytest.raises(ArgumentError, match="a container holds itself"):
        anyshape.jit(lambda x: holding_itself(kind))(1.0)
