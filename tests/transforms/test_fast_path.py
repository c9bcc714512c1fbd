"""Fast paths of jitted functions: for any arguments the result is NumPy's, or an error.

Each function is first called often enough to get a fast path, and then with other arguments.
"""

import collections
import pickle
import queue
import threading

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyshape
from anyshape import grad, jit, value_and_grad, vmap
from anyshape.backend.runtime.outcome import GUARD_FAILED
from anyshape.errors import ArgumentError, ShapeError, SizeMismatchError
from anyshape.program import pytree_codegen
from anyshape.tracing.pytrees import flatten
from anyshape.transforms.caching import cache

pytestmark = pytest.mark.usefixtures("as_written")

Pair = collections.namedtuple("Pair", "left right")


class Sub(dict):
    """A dict whose items cannot be read."""

    def __getitem__(self, key):
        raise AssertionError(key)


class Liar(collections.UserDict):
    """A mapping that does not inherit from dict."""


class Named(list):
    pass


def norm(tree, *rest, **more):
    """Return the sum of squares of all leaves of a tree, weighted by position."""
    leaves = optree.tree_leaves((tree, rest, more))
    total = np.zeros(())
    for i, x in enumerate(leaves):
        total = total + (i + 1) * np.sum(x * x)
    return total


def with_fast_path(*args, **kwargs):
    """Return a jitted `norm` that has a fast path for these arguments."""
    f = jit(norm)
    for _ in range(3):
        agrees(f, *args, **kwargs)
    assert f.cache_info().traces == 1 and f.cache_info().hits == 2
    return f


def agrees(f, *args, **kwargs):
    """Compare a jitted `norm` with the eager one."""
    np.testing.assert_allclose(f(*args, **kwargs), norm(*args, **kwargs), rtol=1e-12)


def new_traces(f, call):
    """Return the number of traces that the call makes."""
    before = f.cache_info().traces
    call()
    return f.cache_info().traces - before


w, b, x = np.arange(6.0).reshape(2, 3), np.ones(3), np.arange(4.0)
TREE = {"w": w, "b": b, "rest": [(w, None), [], x]}


def test_the_fast_path_reads_the_leaves():
    f = with_fast_path(TREE, x, scale=b)
    (key,) = f._cache.by_key
    assert len(f._cache.fast_paths) == 1
    leaves = pytree_codegen.reader(key.tree, key.leaves, key.order)((TREE, x), {"scale": b})
    assert all(a is b for a, b in zip(leaves, flatten(((TREE, x), {"scale": b}))[0], strict=True))


@pytest.mark.parametrize(
    "other",
    [
        {"w": w, "b": b, "rest": [(w, None), [], x], "more": x},
        {"w": w, "b": b},
        {"w": w, "B": b, "rest": [(w, None), [], x]},
        {"w": w, "b": b, "rest": [(w, x), [], x]},
        {"w": w, "b": None, "rest": [(w, None), [], x]},
        {"w": w, "b": b, "rest": [(w, None), [x], x]},
        {"w": w, "b": b, "rest": [[w, None], [], x]},
        {"w": w, "b": b, "rest": ((w, None), [], x)},
        {"w": w, "b": b, "rest": [Pair(w, None), [], x]},
        {"w": w, "b": b, "rest": [(w, None), (), x]},
        {"w": w, "b": b, "rest": [(w,), [], x]},
        {"w": w, "b": b, "rest": x},
        collections.OrderedDict(TREE),
        collections.defaultdict(list, TREE),
        [w, b, [(w, None), [], x]],
        x,
        None,
    ],
    ids=str,
)
def test_another_structure_makes_another_program(other):
    f = with_fast_path(TREE)
    assert new_traces(f, lambda: agrees(f, other)) == 1
    assert new_traces(f, lambda: [agrees(f, t) for t in (TREE, other, TREE, other)]) == 0


@pytest.mark.parametrize("position, other", [(0, b), (1, x[:, None]), (1, x.astype(np.float32)), (0, w.astype(int))])
def test_another_dtype_or_rank_makes_another_program(position, other):
    f = with_fast_path({"w": w}, x)
    args = [{"w": w}, x]
    args[position] = {"w": other} if position == 0 else other
    assert new_traces(f, lambda: agrees(f, *args)) == 1
    assert new_traces(f, lambda: [agrees(f, {"w": w}, x), agrees(f, *args)]) == 0


def test_keys_of_a_dict_and_their_order_matter():
    f = with_fast_path({"a": w, "b": b})
    assert new_traces(f, lambda: agrees(f, {"b": b, "a": w})) == 1
    g = jit(lambda d: d["a"] - 2 * d["b"])
    for tree in ({"a": x, "b": b[:1]}, {"b": b[:1], "a": x}, {"a": x, "b": x}, {"b": x + 1, "a": x}):
        np.testing.assert_array_equal(g(tree), tree["a"] - 2 * tree["b"])
    assert g.cache_info().traces == 2


def weighted(b, a, k=2.0, *rest, **more):
    return np.sum(b * b * a) * k + sum(rest) + sum(more.values())


def pair(b, a, /, c):
    return np.sum(b * b * a - c)


@pytest.mark.parametrize("transform", [jit, grad, value_and_grad, lambda f: jit(grad(f))])
def test_arguments_by_keyword_and_by_position_share_a_program(transform):
    same = lambda r, s: np.testing.assert_equal(np.asarray(r, object).tolist(), np.asarray(s, object).tolist())
    f, x, y = transform(weighted), np.array([1.0, 2.0]), np.array([5.0, 7.0])
    expected = transform(lambda b: weighted(b, y, 3.0))(x)
    for _ in range(3):
        for call in (lambda: f(x, y, 3.0), lambda: f(x, y, k=3.0), lambda: f(x, a=y, k=3.0), lambda: f(x, k=3.0, a=y)):
            same(call(), expected)
    assert f.cache_info().traces <= 2 and f.cache_info().hits >= 10  # the order of keywords is seen by **more
    same(f(x, y, 3.0, 1.0), transform(lambda b: weighted(b, y, 3.0, 1.0))(x))
    same(f(x, y, 3.0, z=1.0), transform(lambda b: weighted(b, y, 3.0, z=1.0))(x))
    same(f(x, a=y), transform(lambda b: weighted(b, y))(x))
    g = transform(pair)
    same(g(x, y, c=x), transform(lambda b: pair(b, y, x))(x))
    same(g(x, y, x), g(x, y, c=x))
    assert g.cache_info()[:2] == (1, 2)
    with pytest.raises(TypeError, match=r"positional-only|multiple values"):
        g(x, b=y, c=x)


def test_all_arguments_by_keyword_in_any_order():
    def f(b, a):
        return b - 2 * a

    g, x, y = jit(f), np.arange(3.0), np.arange(3)
    for _ in range(3):
        for r in (g(x, y), g(x, a=y), g(b=x, a=y), g(a=y, b=x)):
            np.testing.assert_array_equal(r, x - 2 * y)
    np.testing.assert_array_equal(g(a=x, b=y), y - 2 * x)
    assert g.cache_info()[:2] == (2, 11)
    for wrong in (lambda: g(x, b=y), lambda: g(a=y), lambda: g(x, c=y)):
        with pytest.raises(TypeError, match=r"multiple values|missing|unexpected"):
            wrong()


def test_a_method_takes_keywords_and_positions_alike():
    class Scaled:
        k = 2.0

        @jit
        def value(self, x, y):
            return x * self.k - y

    s = Scaled()
    for _ in range(2):
        for r in (s.value(3.0, 1.0), s.value(3.0, y=1.0), s.value(y=1.0, x=3.0)):
            assert r == 5.0
    assert s.value.cache_info()[:2] == (1, 5)


def test_vmap_maps_keywords_over_axis_0():
    f, x, y = lambda a, b: a @ b, np.arange(4.0).reshape(2, 2), np.arange(4.0, 8.0).reshape(2, 2)
    for g in (vmap(f, in_axes=1), jit(vmap(f, in_axes=1))):
        np.testing.assert_array_equal(g(x, y), [x[:, 0] @ y[:, 0], x[:, 1] @ y[:, 1]])
        np.testing.assert_array_equal(g(x, b=y), [x[:, 0] @ y[0], x[:, 1] @ y[1]])


def test_argnums_count_the_arguments_by_position():
    f, x, y = lambda a, b: np.sum(a * a * b), np.ones(2), np.full(2, 3.0)
    for argnums in (1, (0, 1)):
        for g in (grad(f, argnums), jit(grad(f, argnums))):
            with pytest.raises(ArgumentError, match="argnums 1 is out of range for 1 arguments by position"):
                g(x, b=y)
    np.testing.assert_array_equal(grad(f, -1)(x, b=y), 2 * x * y)  # that of the last one by position
    np.testing.assert_array_equal(grad(f, -1)(x, y), x * x)


def test_keywords_and_positions_make_different_programs():
    f = with_fast_path(w, b, scale=x)
    for args, kwargs in (((w,), {"b": b, "scale": x}), ((w, b, x), {}), ((w, b), {"other": x}), ((w, b), {})):
        assert new_traces(f, lambda a=args, k=kwargs: agrees(f, *a, **k)) == 1
    assert new_traces(f, lambda: agrees(f, w, b, scale=x)) == 0


@pytest.mark.parametrize("bad", [Sub(w=w), Liar(w=w), Named([w]), {w.tobytes(): w, "w": object()}, {"w": object()}])
def test_objects_raise_what_they_raise_in_plain_python(bad):
    f = with_fast_path({"w": w}, [w])
    for call in (norm, f, jit(norm)):
        with pytest.raises(TypeError, match=r"multiply sequence|unsupported operand"):
            call(bad, [w])
    assert f.cache_info().traces == 1


def test_bad_leaves_are_refused_with_their_path():
    f = with_fast_path({"w": w}, [w])
    for bad in ({"w": iter("")}, {w.tobytes(): w, "w": np.array(["a"])}):
        with pytest.raises(ArgumentError, match="tree") as error:
            f(bad, [w])
        with pytest.raises(ArgumentError) as fresh:
            jit(norm)(bad, [w])
        assert str(error.value) == str(fresh.value)
        assert f.cache_info().traces == 1


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "make",
    [
        np.ma.masked_array,
        np.matrix,
        lambda a: a.astype(">f8"),
        lambda a: a.astype(object),
        lambda a: a.astype("U3"),
        list,
    ],
    ids=["masked", "matrix", "swapped", "objects", "texts", "nested lists of numbers"],
)
def test_leaves_that_are_not_plain_arrays(make):
    f = with_fast_path({"w": w})
    made = {"w": make(w)}
    try:
        expected = jit(norm)(made)
    except ArgumentError as error:
        with pytest.raises(ArgumentError) as got:
            f(made)
        assert str(got.value) == str(error) and "tree['w']" in str(error)
    else:
        np.testing.assert_allclose(f(made), expected)


def test_subclasses_without_own_behaviour_count_as_arrays(tmp_path):
    class Plain(np.ndarray):
        pass

    f = with_fast_path({"w": w})
    mapped = np.memmap(tmp_path / "w", np.float64, "w+", shape=w.shape)
    mapped[:] = w
    for leaf in (w.view(Plain), mapped):
        assert new_traces(f, lambda leaf=leaf: agrees(f, {"w": leaf})) == 0
    assert type(f({"w": w.view(Plain)})) in (np.ndarray, np.float64)


NUMBERS = [2.0, 2, True, 2j, np.float64(2), np.float32(2), np.int64(2), np.array(2.0), np.array(2), 2**63, -7]


@pytest.mark.parametrize("first", NUMBERS, ids=lambda x: f"{x!r}")
def test_numbers_are_distinguished_by_their_promotion(first):
    """A Python number takes the dtype of the array; a NumPy scalar keeps its own."""
    half = np.ones(3, np.float32)
    scaled = lambda p, y: p["s"] * y
    f = jit(scaled)
    for _ in range(3):
        f({"s": first}, half)
    for number in NUMBERS:
        got, expected = f({"s": number}, half), scaled({"s": number}, half)
        np.testing.assert_allclose(got, expected)
        assert got.dtype == expected.dtype
    before = f.cache_info().traces
    for number in NUMBERS:
        assert f({"s": number}, half).dtype == scaled({"s": number}, half).dtype
    assert f.cache_info().traces == before


def test_integers_beyond_every_dtype_are_refused():
    f = jit(lambda k, y: y + k)
    for _ in range(3):
        np.testing.assert_array_equal(f(2, np.ones(2)), [3, 3])
    with pytest.raises(ArgumentError, match="k is an integer of 71 bits"):
        f(2**70, np.ones(2))


def test_metadata_of_a_dtype_is_ignored():
    f = with_fast_path(x)
    noted = x.astype(np.dtype("f8", metadata={"unit": "m"}))
    assert new_traces(f, lambda: agrees(f, noted)) == 0


def test_more_signatures_than_fast_paths():
    f = jit(norm)
    kinds = [x.astype(t).reshape(shape) for t in "bhilfdFD" for shape in (4, (2, 2))]
    assert len(kinds) > cache.MAX_FAST_PATHS
    for kind in [*kinds, *kinds, *reversed(kinds)]:
        agrees(f, kind)
    assert f.cache_info()[:2] == (len(kinds), 2 * len(kinds)) and len(f._cache.fast_paths) == cache.MAX_FAST_PATHS


def test_results_have_the_structure_of_the_function():
    function = lambda x: {"z": x, "a": [x + 1, (None, (), {}), {"only": x * 2}], "m": (x[:0],)}
    f = jit(function)
    for _ in range(3):
        got, expected = f(x), function(x)
        assert list(got) == ["z", "a", "m"] and optree.tree_structure(got) == optree.tree_structure(expected)
        for a, e in zip(optree.tree_leaves(got), optree.tree_leaves(expected), strict=True):
            np.testing.assert_array_equal(a, e, strict=True)
    assert f(x)["a"] is not f(x)["a"]


@pytest.mark.parametrize("result", [Pair(1, 2), (), None, {}, {"y'": 1, '"\\': 2}, {1: 1, 2: 2}, [[[]], ()]], ids=str)
def test_results_of_any_structure(result):
    f = jit(lambda x: optree.tree_map(lambda k: x * k, result))
    for _ in range(3):
        got = f(x)
        assert type(got) is type(result) and optree.tree_structure(got) == optree.tree_structure(result)
        for a, k in zip(optree.tree_leaves(got), optree.tree_leaves(result), strict=True):
            np.testing.assert_array_equal(a, x * k)


def test_large_and_deep_structures():
    deep = x
    for _ in range(2 * pytree_codegen.MAX_DEPTH):
        deep = [deep]
    for tree in (deep, [x] * (pytree_codegen.MAX_LEAVES + 1)):
        f = jit(lambda t: (t, norm(t)))
        for _ in range(3):
            same, total = f(tree)
            assert optree.tree_structure(same) == optree.tree_structure(tree)
            np.testing.assert_allclose(total, norm(tree))


def test_registered_classes_keep_their_auxiliary_data():
    class Line:
        def __init__(self, derivative, label):
            self.derivative, self.label = derivative, label

    anyshape.register_pytree_node(
        Line, lambda line: ((line.derivative,), line.label), lambda label, xs: Line(*xs, label)
    )
    f = jit(lambda p: {"line": Line(2 * p["line"].derivative, p["line"].label)})
    for label in ("up", "up", "down", "up"):
        got = f({"line": Line(x, label)})["line"]
        assert got.label == label
        np.testing.assert_array_equal(got.derivative, 2 * x)
    assert f.cache_info().traces == 2


# -- guards, entries and counts ------------------------------------------------------------------------------------


def three_ways(p, y):
    """Decide twice on unrelated sizes."""
    if p["w"].shape[0] > 3:
        return np.sum(p["w"]) + y
    return y * y if y.shape[0] % 2 else y - p["w"].sum()


def test_guards_choose_among_programs_of_one_structure():
    f = jit(three_ways)
    sizes = [(n, m) for n in (0, 1, 2, 3, 4, 5, 50) for m in (0, 1, 2, 5)]
    for n, m in [*sizes, *reversed(sizes)]:
        p, y = {"w": np.arange(float(n))}, np.arange(float(m))
        np.testing.assert_allclose(f(p, y), three_ways(p, y))
    assert f.cache_info().traces == 3 and f.cache_info().hits == 2 * len(sizes) - 3
    programs = f.programs()
    assert all(p.checks_own_guards for p in programs) and len(f._cache.fast_paths) == 1
    p, y = {"w": np.ones(2)}, np.ones(2)
    runs = [program.run(p["w"], y) for program in programs]
    assert [r is not GUARD_FAILED for r in runs] == [program.accepts(p["w"], y) for program in programs]


def test_guards_on_declared_sizes_are_checked():
    f = jit(lambda x, y: x[::2] + y if y.shape[0] > 2 else y, dynamic_shapes={"x": "2*n", "y": "n"})
    for n in (0, 1, 2, 3, 5, 1, 3):
        xs = np.arange(2.0 * n), np.ones(n)
        np.testing.assert_array_equal(f(*xs), xs[0][::2] + 1 if n > 2 else xs[1])
    with pytest.raises(ShapeError):
        f(np.ones(3), np.ones(1))
    assert f.cache_info().traces == 2 and f.cache_info().hits == 6


def test_calls_that_fail_count_as_hits():
    f = jit(lambda p, y: p["w"] + y)
    for _ in range(3):
        f({"w": b}, b)
    for _ in range(2):
        with pytest.raises(SizeMismatchError, match=r"p\['w'\]"):
            f({"w": b}, x)
    assert f.cache_info()[:2] == (1, 4)


def test_recently_used_entries_stay():
    f = jit(lambda p: p["w"] * int(p["w"].shape[0]))
    f._cache = cache.Cache(limit=3)
    for n in (1, 2, 3, 1, 4, 1, 5, 1, 6, 1):
        assert f({"w": np.ones(n)}).tolist() == [n] * n
    assert f.cache_info().traces == 6 and f.cache_info().evictions == 3  # the program for 1 was never dropped


def test_an_evicted_structure_is_traced_again():
    f = jit(norm)
    f._cache = cache.Cache(limit=1)
    for tree in (TREE, x, TREE, TREE, x, x, TREE, TREE):
        agrees(f, tree)
    assert f.cache_info().traces == 5 and len(f._cache.fast_paths) == len(f._cache.paths) == 1


def test_max_bytes_holds_on_the_fast_path():
    f = jit(lambda p: np.sin(p["w"]) + np.cumsum(p["w"]), max_bytes=10_000)
    for n in (3, 3, 3):
        f({"w": np.ones(n)})
    with pytest.raises(anyshape.errors.MemoryLimitError, match=r"10,?000"):
        f({"w": np.ones(10_000)})
    assert f.cache_info()[:2] == (1, 3)


def test_every_call_is_logged_once(caplog):
    """Also a call that a specialization passes on, and a call that a guard refuses."""

    def f(x, y):
        return x + y if x.shape[0] < 7 else x - y

    with caplog.at_level("DEBUG", logger="anyshape.run"):
        made = jit(f)
        shapes = [(5, 5)] * 20 + [(1, 5)] * 20 + [(5, 5), (1, 5), (8, 8), (8, 1), (5, 1), (1, 1), (9, 9), (3, 3)]
        for n, m in shapes:
            np.testing.assert_array_equal(made(np.ones(n), np.ones(m)), f(np.ones(n), np.ones(m)))
    messages = [r.getMessage().partition(" in ")[0] for r in caplog.records if r.name == "anyshape.run"]
    assert messages == [f"f: x ({n},), y ({m},)" for n, m in shapes]


def test_programs_refuse_other_structures_dtypes_and_paths():
    """Check the program and an unpickled copy."""
    traced = jit(norm)
    agrees(traced, {"w": w}, scale=x)
    for program in (traced.programs()[0], pickle.loads(pickle.dumps(traced.programs()[0]))):
        for leaf in (w, w[:1], w[:, :0], np.asfortranarray(w)):
            np.testing.assert_allclose(program({"w": leaf}, scale=x), norm({"w": leaf}, scale=x))
        for bad in ({"w": w, "b": b}, {"W": w}, [w], Sub(w=w)):
            with pytest.raises(ArgumentError):
                program(bad, scale=x)
        for leaf in (b, w.astype(np.float32), np.ma.masked_array(w)):
            with pytest.raises(ArgumentError, match=r"\['w'\]"):
                program({"w": leaf}, scale=x)
    guarded = jit(three_ways)
    guarded({"w": np.ones(5)}, x)
    (program,) = guarded.programs()
    np.testing.assert_allclose(program({"w": np.ones(7)}, x), three_ways({"w": np.ones(7)}, x))
    with pytest.raises(SizeMismatchError, match=r"traced for p\['w'\].shape\[0\] > 3"):
        program({"w": np.ones(2)}, x)


FACTOR = 2.0


def test_a_rebound_global_is_traced_again(monkeypatch):
    f = jit(lambda p: p["w"] * FACTOR)
    for factor in (2.0, 2.0, 3.0, 3.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for _ in range(2):
            np.testing.assert_array_equal(f({"w": w}), w * factor)
    assert f.cache_info().traces == 2


def test_static_arguments_distinguish_programs():
    f = jit(lambda p, k: p["w"] * k, static_argnums=1)
    for k in (1, 2, 1, True, 1.0, 2):
        got = f({"w": w.astype(np.int8)}, k)
        np.testing.assert_array_equal(got, w.astype(np.int8) * k, strict=True)
    assert f.cache_info().traces == 4


def test_calls_inside_another_trace():
    inner = with_fast_path({"w": w})
    outer = jit(lambda a: inner({"w": a}) + inner({"w": w}))
    for _ in range(3):
        np.testing.assert_allclose(outer(b), norm({"w": b}) + norm({"w": w}))
    derivative = anyshape.grad(lambda a: inner({"w": a}))
    for _ in range(3):
        np.testing.assert_allclose(derivative(b), 2 * b)
    assert inner.cache_info().traces == 1
    leaked = queue.SimpleQueue()
    jit(lambda a: leaked.put(a) or a)(b)
    with pytest.raises(anyshape.errors.LeakedTracerError):
        inner({"w": leaked.get(timeout=5)})


# -- broadcast patterns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimize", ["now", "auto", "off"])
@pytest.mark.parametrize("guarded", [False, True])
def test_specializations_for_broadcast_patterns_agree(guarded, optimize):
    def f(x, y, z):
        if guarded and x.shape[0] > 6:
            return x[:1] + z
        return (x + y) * z

    made = jit(f, optimize=optimize)
    sizes = [(5, 5, 5), (1, 5, 5), (5, 1, 1), (1, 1, 1), (0, 1, 0), (0, 0, 0), (7, 7, 7), (7, 1, 7)]
    for shape in [s for s in sizes for _ in range(3)] + sizes * 3 + sizes[::-1]:
        xs = [np.arange(float(n)) + i for i, n in enumerate(shape)]
        np.testing.assert_array_equal(made(*xs), f(*xs))
    assert made.cache_info().traces == 1 + guarded
    with pytest.raises(ShapeError):
        made(np.ones(2), np.ones(3), np.ones(2))


# -- random trees, and threads -------------------------------------------------------------------------------------

arrays = st.builds(
    lambda kind, sizes: np.arange(np.prod(sizes, dtype=int)).reshape(sizes).astype(kind),
    st.sampled_from(["f8", "f4", "i8", "c16"]),
    st.lists(st.integers(0, 3), max_size=2),
)
numbers = st.one_of(st.integers(-9, 9), st.floats(-9, 9), st.booleans(), st.builds(np.float32, st.integers(0, 9)))
trees = st.recursive(
    st.one_of(arrays, arrays, numbers, st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.builds(Pair, inner, inner),
        st.dictionaries(st.integers(0, 2), inner, max_size=2),
    ),
    max_leaves=5,
)


def doubled(tree):
    """Return the tree with each leaf doubled."""
    return optree.tree_map(lambda leaf: leaf + leaf, tree)


@settings(max_examples=60, deadline=None)
@given(st.lists(trees, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_random_trees_in_any_order(given_trees, random):
    f = jit(doubled)
    for tree in [random.choice(given_trees) for _ in range(3 * len(given_trees))]:
        got, expected = f(tree), doubled(tree)
        assert optree.tree_structure(got) == optree.tree_structure(expected)
        for a, e in zip(optree.tree_leaves(got), optree.tree_leaves(expected), strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-6)
            assert np.asarray(a).dtype == np.asarray(e).dtype
    keys = {optree.tree_structure(tree) for tree in given_trees}
    assert f.cache_info().entries >= min(len(keys), 1)


@pytest.mark.slow
def test_threads_that_call_and_trace_at_once():
    f = jit(lambda p, y: (p["w"] * int(p["w"].ndim) + y, {"n": y}) if y.shape[0] != 3 else (y, {"n": p["w"]}))
    f._cache = cache.Cache(limit=6)  # programs are dropped while others call
    wrong, start = [], threading.Barrier(8)

    def work(seed):
        rng = np.random.default_rng(seed)
        start.wait()
        for _ in range(120):
            kind, rank, n = rng.choice(["f8", "f4", "i8"]), int(rng.integers(1, 4)), int(rng.integers(0, 5))
            p, y = {"w": np.ones((2,) * (rank - 1) + (n,), kind)}, rng.integers(0, 9, n).astype(kind)
            got, more = f(p, y)
            expected, other = (p["w"] * rank + y, y) if n != 3 else (y, p["w"])
            if not (np.array_equal(got, expected) and np.array_equal(more["n"], other) and got.dtype == kind):
                wrong.append((kind, rank, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and f.cache_info().entries <= 6
