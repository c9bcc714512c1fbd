"""Conditionals: semantics, sizes, errors and everything that a program with one can do.

Many cases re-express JAX's `lax_control_flow_test` for cond and switch.
"""

import functools
import pickle
import re
import warnings
from collections import OrderedDict, defaultdict

import numpy as np
import optree
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import cond, switch
from anyshape.errors import ArgumentError, BranchMismatchError, CheckError, SizeMismatchError
from anyshape.graph.ir.graph import subgraphs, walk
from anyshape.graph.ir.validate import check_graph
from anyshape.inspect.draw.html import to_html
from anyshape.inspect.draw.picture import to_dot
from tests.graph.ir.subgraph_programs import PROGRAMS, SIZES, arrays, choose

jit, grad, vmap = anyshape.jit, anyshape.grad, anyshape.vmap


def conds(graph):
    return [n for n in walk(graph) if n.op.name == "cond"]


def only_program(jitted):
    (program,) = jitted.programs()
    check_graph(program.graph)
    return program


# -- values


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_only_the_chosen_branch_counts(wrap):
    f = wrap(lambda x: cond(x > 0, np.sqrt, lambda x: -x, x))
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        assert f(4.0) == 2
        assert f(-4.0) == 4


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "pred", [True, False, 1, 0, 2, -1, 0.0, 0.5, np.nan, np.bool_(True), np.int8(0), np.float32(3)]
)
def test_a_predicate_is_what_numpys_bool_says(wrap, pred):
    f = wrap(lambda p, x: cond(p, lambda x: x + 1, lambda x: x - 1, x))
    assert f(pred, 1.0) == (2 if bool(pred) else 0)
    assert wrap(lambda x: cond(pred, lambda x: x + 1, lambda x: x - 1, x))(1.0) == (2 if bool(pred) else 0)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", [int, np.int8, np.uint8, np.int64, np.uint64])
def test_an_index_is_clamped(wrap, dtype):
    f = wrap(lambda i, x: switch(i, [lambda x: x, lambda x: x * 2, lambda x: x * 3], x))
    largest = [] if dtype is int else [np.iinfo(dtype).max]
    for i in [0, 1, 2, 3, 100, *largest, *([] if dtype in (np.uint8, np.uint64) else [-1, -100])]:
        assert f(dtype(i), 1.0) == 1 + min(max(int(i), 0), 2)


def test_a_switch_of_many_branches():
    f = jit(lambda i, x: switch(i, [lambda x, k=k: x * k for k in range(300)], x))
    assert [f(np.uint16(i), 1.0) for i in (0, 128, 299, 60000)] == [0, 128, 299, 299]
    assert jit(lambda i, x: switch(i, [np.sin], x))(5, 0.0) == 0


def test_trees_of_operands_and_results():
    def first(t, z):
        return {"a": (t["x"] + z, None), "b": [t["y"]]}

    def second(t, z):
        return {"a": (t["x"] * z, None), "b": [t["y"] - 1]}

    f = jit(lambda p, t, z: cond(p, first, second, t, z))
    t = {"x": np.arange(3.0), "y": np.arange(2)}
    for p in (True, False):
        result, expected = f(p, t, 2.0), (first if p else second)(t, 2.0)
        np.testing.assert_array_equal(result["a"][0], expected["a"][0])
        np.testing.assert_array_equal(result["b"][0], expected["b"][0])
        assert result["a"][1] is None


def test_no_operands_and_no_results():
    f = jit(lambda x: cond(np.sum(x) > 0, lambda: np.sum(x), lambda: 0.0))
    assert f(np.ones(3)) == 3
    assert f(-np.ones(3)) == 0
    assert jit(lambda p: cond(p, lambda: None, lambda: None))(True) is None

    def checking(p, x):
        cond(p, lambda x: anyshape.check(np.all(x > 0), "positive") or (), lambda x: (), x)
        return x

    checked = jit(checking)
    assert checked(False, np.array([-1.0])) == -1
    with pytest.raises(CheckError, match="positive"):
        checked(True, np.array([-1.0]))


def test_functions_close_over_values_of_two_levels():
    @jit
    def f(x, w):
        y = np.sin(x)

        def outer(a):
            z = a * y
            return cond(np.sum(w) > 0, lambda z: z @ w * x, lambda z: z + y, z)

        return cond(np.sum(x) > 0, outer, lambda a: a - y, x)

    for sx in (1, -1):
        for sw in (1, -1):
            x, w = sx * np.arange(1.0, 4), sw * np.ones(3)
            y = np.sin(x)
            z = x * y
            expected = (z @ w * x if sw > 0 else z + y) if sx > 0 else x - y
            np.testing.assert_allclose(f(x, w), expected)


@pytest.mark.parametrize(("first", "second", "dtype"), [(1, 2.5, float), (True, 2, int), (np.float32(1), 2, np.float32),
    (np.int64(1), 2.5, float), (np.float32(1), 2.5, np.float32), (1, 2, int), (True, False, bool)])  # fmt: skip
def test_python_scalars_promote_as_numpy_does(first, second, dtype):
    f = jit(lambda p: cond(p, lambda: first, lambda: second))
    for p in (True, False):
        for result in (f(p), cond(p, lambda: first, lambda: second)):
            assert np.asarray(result).dtype == dtype
            assert result == (first if p else second)


def test_a_result_of_python_scalars_stays_weak():
    f = jit(lambda p, x: x * cond(p, lambda: 1, lambda: 2.5))
    assert f(True, np.ones(2, np.float32)).dtype == np.float32
    assert (np.ones(2, np.float32) * cond(True, lambda: 1, lambda: 2.5)).dtype == np.float32


# -- sizes


def test_results_of_different_sizes_have_a_run_time_size():
    f = jit(lambda x: cond(np.sum(x) > 0, lambda x: x[1:], lambda x: np.concatenate([x, x]), x) * 2)
    for n in (0, 1, 2, 5):
        for sign in (1, -1):
            x = sign * np.ones(n)
            np.testing.assert_array_equal(f(x), 2 * (x[1:] if np.sum(x) > 0 else np.concatenate([x, x])))
    assert len(f.programs()) == 1


def test_equal_sizes_stay_exact():
    program = anyshape.trace(lambda p, x, y: cond(p, lambda: x @ y * x, lambda: x + 1))(
        anyshape.ShapeDtypeStruct("", bool), anyshape.ShapeDtypeStruct("n"), anyshape.ShapeDtypeStruct("n")
    )
    assert str(program.outputs["result"].shape) == "(n,)"


def test_a_size_is_a_predicate_and_holds_in_its_branch():
    f = jit(lambda x: cond(x.shape[0] > 2, lambda x: x[2] * x, lambda x: x - 1, x))
    for n in (0, 1, 2, 3, 5):
        x = np.arange(float(n))
        np.testing.assert_array_equal(f(x), x[2] * x if n > 2 else x - 1)
    assert len(f.programs()) == 1
    (program,) = f.programs()
    assert not program.guards


def test_a_run_time_size_is_a_predicate():
    f = jit(lambda x: cond(x[x > 0].shape[0] >= 2, lambda: np.sum(x[x > 0]), lambda: -1.0))
    assert f(np.array([1.0, -1, 2])) == 3
    assert f(np.array([1.0, -1])) == -1


def test_what_a_branch_requires_of_sizes_is_required_where_it_runs():
    f = jit(lambda p, x: cond(p, lambda x: np.sum(x.reshape(-1, 2)[:, 0]), lambda x: np.sum(x), x))
    assert f(True, np.arange(4.0)) == 2
    assert f(False, np.arange(3.0)) == 3
    with pytest.raises(ValueError, match=r"reshape.*x.shape\[0\]"):
        f(True, np.arange(3.0))
    assert f(False, np.arange(5.0)) == 10
    g = jit(lambda p, x: cond(p, lambda: np.sum(anyshape.check(x.shape[0] > 3, "long") or x[0]), lambda: 0.0))
    assert g(False, np.ones(2)) == 0
    with pytest.raises(CheckError, match="long"):
        g(True, np.ones(2))


def test_a_call_that_takes_the_other_branch_is_traced_too():
    """The sizes of the traced call break what the branch that is not taken requires."""
    f = jit(lambda p, x, y: cond(p, lambda: x @ y, lambda: np.sum(x)))
    assert f(False, np.ones(3), np.ones(2)) == 3
    assert f(True, np.ones(3), np.ones(3)) == 3
    with pytest.raises(SizeMismatchError):
        f(True, np.ones(3), np.ones(2))
    assert len(f.programs()) == 1


def test_a_proved_predicate_picks_its_branch_and_both_are_checked():
    spec = anyshape.ShapeDtypeStruct("n + 3")
    program = anyshape.trace(lambda x: cond(x.shape[0] > 2, lambda x: x * 2, lambda x: x - 1, x))(spec)
    assert not conds(program.graph)
    np.testing.assert_array_equal(program(np.ones(4)), 2 * np.ones(4))
    with pytest.raises(BranchMismatchError):
        anyshape.trace(lambda x: cond(x.shape[0] > 2, lambda x: x * 2, lambda x: np.sum(x), x))(spec)


def test_what_a_known_branch_asserts_is_asserted_of_the_program():
    f = jit(lambda x: cond(True, lambda x: x.reshape(-1, 2).sum(), lambda x: 0.0, x))
    assert f(np.ones(4)) == 4
    with pytest.raises(ValueError, match="reshape"):
        f(np.ones(3))


ORDERS = [
    (lambda x: {"a": x, "b": 2 * x}, lambda x: {"b": 3 * x, "a": 4 * x}),
    (lambda x: [{"a": x, "b": (x, -x)}], lambda x: [{"b": (2 * x, x), "a": -x}]),
    (lambda x: {"p": {1: x, "q": 0.5}, "r": {}}, lambda x: {"r": {}, "p": {"q": x.dtype.type(2), 1: -x}}),
    (lambda x: OrderedDict(a=x, b=2 * x), lambda x: OrderedDict(b=x, a=-x)),
    (lambda x: defaultdict(int, a=x, b=2 * x), lambda x: defaultdict(int, b=x, a=-x)),
]  # fmt: skip


@pytest.mark.parametrize("wrap", [lambda f: f, jit, lambda f: lambda p, x: vmap(f)(np.array([p]), x[None])])
@pytest.mark.parametrize(("first", "second"), ORDERS)
@pytest.mark.parametrize("chosen", [0, 1])
def test_branches_whose_keys_differ_in_order_give_the_order_of_the_first(wrap, first, second, chosen):
    x, functions = np.arange(3.0), (first, second)
    paths, leaves, _ = optree.tree_flatten_with_path(functions[chosen](x))
    for call in (lambda p, x: cond(p, first, second, x), lambda p, x: switch((p == 0) * 1, functions, x)):
        result = wrap(call)(np.bool_(chosen == 0), x)
        assert list(keys_of(result)) == list(keys_of(first(x)))
        for path, y in zip(paths, leaves, strict=True):
            np.testing.assert_array_equal(np.squeeze(functools.reduce(lambda t, k: t[k], path, result)), y)


def keys_of(tree):
    """The keys of all dicts of a tree in their order."""
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield key
            yield from keys_of(part)
    elif isinstance(tree, (list, tuple)):
        for part in tree:
            yield from keys_of(part)


# -- errors


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize("pred", [lambda x: x > 0, lambda x: x > 9, lambda x: True], ids=["traced", "other", "known"])
@pytest.mark.parametrize(("second", "texts"), [
    (lambda x: (x, x), ["tree", r"\(\*, \*\)"]),
    (lambda x: np.sum(x), ["f64\\[\\]", "number of axes"]),
    (lambda x: x > 0, ["bool", "astype"]),
    (lambda x: x.astype(np.float32), ["f32", "astype"]),
])  # fmt: skip
def test_results_that_differ_are_an_error_with_both_lines(wrap, pred, second, texts):
    f = wrap(lambda x: cond(np.all(pred(x)), lambda x: x * 2, second, x))
    with pytest.raises(BranchMismatchError) as error:
        f(np.ones(2))
    message = str(error.value)
    assert "true_fun" in message
    assert "false_fun" in message
    assert message.count("test_conditionals.py") >= 2
    for text in texts:
        assert re.search(text, message), message
    assert len(error.value.branches) == 2
    assert isinstance(error.value, TypeError)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "pred", [np.ones(2, bool), np.ones(1, bool), np.ones((1, 1)), "yes", None, [True], 1j, np.complex128(1)]
)
def test_predicates_that_are_not_one_bool_are_refused(wrap, pred):
    with pytest.raises((ArgumentError, TypeError), match=r"pred.*not one boolean"):
        wrap(lambda x: cond(pred, np.sin, np.cos, x))(1.0)


def test_a_traced_predicate_with_axes_is_refused():
    with pytest.raises(ArgumentError, match=r"bool\[x.shape\[0\]\], not one boolean at .*\n  reduce it with np.all"):
        jit(lambda x: cond(x > 0, np.sin, np.cos, x))(np.ones(3))


@pytest.mark.parametrize("index", [1.0, True, np.ones(1, int), "a", None])
def test_an_index_that_is_not_one_integer_is_refused(index):
    for wrap in (lambda f: f, jit):
        with pytest.raises(ArgumentError, match=r"index.*not one integer"):
            wrap(lambda x: switch(index, [np.sin, np.cos], x))(1.0)
    with pytest.raises(ArgumentError, match="not one integer"):
        jit(lambda i, x: switch(i, [np.sin, np.cos], x))(1.5, 1.0)


def test_what_is_no_function_is_refused():
    with pytest.raises(ArgumentError, match=r"cond: true_fun.*not a function"):
        cond(True, 1, np.sin, 1.0)
    with pytest.raises(ArgumentError, match=r"switch: branches\[1\].*not a function"):
        switch(0, [np.sin, 3], 1.0)
    with pytest.raises(ArgumentError, match="branches is empty"):
        switch(0, [], 1.0)
    for branches in (np.sin, "ab", None):
        with pytest.raises(ArgumentError, match="not a sequence of functions"):
            switch(0, branches, 1.0)
    with pytest.raises(ArgumentError, match="an operand is of type object"):
        cond(True, np.sin, np.sin, object())


def test_an_error_in_a_branch_names_its_line():
    f = jit(lambda i, x: cond(x[0] > 0, lambda x: x[i], lambda x: x[0] * 2, x))
    assert f(7, -np.ones(3)) == -2
    with pytest.raises(IndexError, match=r"test_conditionals.py:\d+") as error:
        f(7, np.ones(3))
    assert "x[i]" in str(error.value)


def test_a_warning_in_a_branch_is_given_where_it_runs():
    f = jit(lambda x: cond(x[0] > 0, lambda x: 1 / x, lambda x: x, x))
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        f(np.array([-1.0, 0.0]))
    with pytest.warns(RuntimeWarning, match="divide by zero"), np.errstate(all="warn"):
        f(np.array([1.0, 0.0]))


# -- derivatives


def subgraph_select(p, first, second, *operands):
    return cond(p, first, second, *operands)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_programs_and_their_gradients(function, order):
    def derive(select):
        def value(p, x, w):
            return function(select, p, x, w)

        def gradient(p, x, w):
            return grad(lambda x, w: value(p, x, w), argnums=(0, 1))(x, w)

        def norm(p, x, w):
            return sum([np.sum(g * g) for g in gradient(p, x, w)])

        second = lambda p, x, w: grad(lambda x, w: norm(p, x, w), argnums=(0, 1))(x, w)
        return [value, gradient, second][order]

    f = jit(derive(subgraph_select))
    for n, k in SIZES:
        for p in (True, False):
            x, w = arrays(n, k)
            expected = derive(choose)(p, x, w)
            for a, b in zip(
                np.atleast_1d(*f(p, x, w)) if order else [f(p, x, w)], expected if order else [expected], strict=True
            ):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    only_program(f)


def test_the_branch_that_ran_is_not_computed_again():
    """Reverse mode saves what the branch computed: the expensive operation runs once."""
    calls = []

    def count(x):
        calls.append(1)
        return x * 1.0

    def f(x):
        y = lambda x: np.sin(
            np.exp(x) + anyshape.pure_callback(count, anyshape.ShapeDtypeStruct(x.shape), anyshape.stop_gradient(x))
        )
        return np.sum(cond(np.sum(x) > 0, y, lambda x: x, x))

    g = jit(grad(f))
    x = np.arange(1.0, 4)
    np.testing.assert_allclose(g(x), np.cos(np.exp(x) + x) * np.exp(x))
    assert len(calls) == 1
    exponentials = [n for n in walk(only_program(g).graph) if n.op.name == "exp"]
    assert len(exponentials) == 1


@pytest.mark.parametrize("derive", [
    lambda f: anyshape.jacfwd(f), lambda f: anyshape.jacrev(f), lambda f: anyshape.jacfwd(anyshape.jacrev(f)),
    lambda f: anyshape.jacrev(anyshape.jacrev(f)), lambda f: anyshape.jacrev(anyshape.jacfwd(f)),
    lambda f: anyshape.jacfwd(anyshape.jacfwd(f)), lambda f: anyshape.jacfwd(anyshape.jacfwd(anyshape.jacrev(f))),
], ids=["fwd", "rev", "fwd rev", "rev rev", "rev fwd", "fwd fwd", "fwd fwd rev"])  # fmt: skip
def test_jacobians_of_any_order(derive):
    first, second = (lambda x: np.sin(x) * np.sum(x * x)), (lambda x: x**3 + np.cumsum(x))
    f = jit(derive(lambda x: cond(np.sum(x) > 0, first, second, x)))
    for x in (np.array([0.3, 0.7]), np.array([-0.3, -0.7]), np.array([1.5])):
        np.testing.assert_allclose(f(x), derive(first if np.sum(x) > 0 else second)(x), rtol=1e-10, atol=1e-12)


def test_the_predicate_itself_has_no_derivative():
    f = lambda x: cond(x > 1, lambda: x * x, lambda: 3 * x)
    assert grad(f)(2.0) == 4
    assert grad(f)(0.5) == 3


def test_no_nan_comes_from_the_branch_that_is_not_taken():
    f = lambda x: cond(x > 0, np.sqrt, lambda x: 0 * x, x)
    assert grad(f)(-1.0) == 0
    assert grad(f)(0.0) == 0
    np.testing.assert_array_equal(vmap(grad(f))(np.array([-1.0, 0, 4])), [0, 0, 0.25])
    np.testing.assert_array_equal(grad(lambda x: np.sum(vmap(f)(x)))(np.array([-1.0, 0, 4])), [0, 0, 0.25])


def test_integer_operands_and_results_have_no_tangent():
    def f(i, x):
        y, j = cond(x[0] > 0, lambda i: (x[i] * 2, i + 1), lambda i: (x[i + 1] ** 2, i), i)
        return y * x[j]

    g = jit(grad(f, argnums=1))
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(g(0, x), [4.0, 2.0, 0])
    np.testing.assert_allclose(
        g(0, -x), [-4.0, -4.0, 0] * np.array([-1, -1, 1]) * np.array([-1, -1, 1]) + np.array([8.0, 8.0, 0])
    )


def test_check_grads_accepts_conditionals():
    f = lambda x: cond(np.sum(x) > 0, lambda x: np.sin(x) @ x, lambda x: np.sum(np.exp(x)), x)
    for x in (np.array([0.3, 0.7]), -np.array([0.3, 0.7])):
        anyshape.check_grads(f, (x,), order=2)


def test_a_checkpoint_computes_a_branch_again():
    def f(x, wrap):
        part = wrap(lambda x: cond(np.sum(x) > 0, lambda x: np.sin(np.exp(x)), lambda x: x * x, x))
        return np.sum(part(x) ** 2)

    for sign in (1, -1):
        x = sign * np.arange(1.0, 4)
        plain = jit(grad(lambda x: f(x, lambda g: g)))(x)
        np.testing.assert_allclose(jit(grad(lambda x: f(x, anyshape.checkpoint)))(x), plain)
        inside = lambda x: np.sum(
            cond(np.sum(x) > 0, anyshape.checkpoint(lambda x: np.sin(np.exp(x)) ** 2), lambda x: x**4, x)
        )
        np.testing.assert_allclose(jit(grad(inside))(x), plain)


# -- batches


def test_examples_see_their_branch_alone():
    f = lambda x: cond(x[0] > 0, lambda x: np.log(x), lambda x: np.sin(x) * 2, x)
    g = jit(vmap(f))
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        for b, n in ((0, 1), (1, 1), (2, 3), (5, 2), (40, 3)):
            x = np.abs(rng.normal(size=(b, n))) * np.sign(rng.normal(size=(b, 1)))
            expected = np.where(x > 0, np.log(np.abs(x)), np.sin(x) * 2)
            np.testing.assert_allclose(g(x), expected)
    assert len(g.programs()) == 1


@pytest.mark.parametrize("signs", [[1, 1, 1], [-1, -1, -1], [1, -1, 1]])
def test_a_branch_without_examples_does_not_run(signs):
    calls = []

    def noted(name):
        def call(x):
            calls.append((name, len(x)))
            return x * 1.0

        return lambda x: anyshape.pure_callback(call, anyshape.ShapeDtypeStruct(x.shape), x, vectorized=True)

    f = jit(vmap(lambda x: cond(x[0] > 0, noted("first"), noted("second"), x)))
    x = np.array(signs)[:, None] * np.ones((3, 2))
    np.testing.assert_array_equal(f(x), x)
    expected = [("first", signs.count(1)), ("second", signs.count(-1))]
    assert sorted(calls) == [c for c in expected if c[1]]


def test_a_check_in_a_branch_without_examples_does_not_fail():
    def strict(x, w):
        anyshape.check(np.all(w > 0), "positive weights")
        return x @ w

    f = jit(vmap(lambda x, w: cond(x[0] > 0, strict, lambda x, w: np.sum(x), x, w), in_axes=(0, None)))
    np.testing.assert_array_equal(f(-np.ones((3, 2)), -np.ones(2)), [-2, -2, -2])
    with pytest.raises(CheckError, match="positive weights"):
        f(np.array([[1.0, 1], [-1, 1]]), -np.ones(2))


def test_a_batched_switch():
    branches = [lambda x: np.sin(x), lambda x: x @ x * x, lambda x: np.cumsum(x)]
    f = jit(vmap(lambda i, x: switch(i, branches, x)))
    rng = np.random.default_rng(1)
    for b in (0, 1, 7):
        i, x = rng.integers(-2, 5, b), rng.normal(size=(b, 3))
        expected = [branches[min(max(k, 0), 2)](row) for k, row in zip(i, x, strict=True)]
        np.testing.assert_allclose(f(i, x), np.reshape(expected, (b, 3)))


def test_cheap_branches_become_a_select_and_others_do_not():
    def splits(first, second, dtype=float):
        f = jit(vmap(lambda x: cond(x[0] > 0, first, second, x)))
        x = np.array([[1, 2], [-1, 2], [3, -2]]).astype(dtype)
        np.testing.assert_array_equal(f(x), [(first if row[0] > 0 else second)(row) for row in x])
        return "cond_each" in [n.op.name for n in only_program(f).graph.nodes]

    assert not splits(lambda x: x, lambda x: -x)
    assert not splits(lambda x: x, lambda x: np.zeros_like(x))
    assert not splits(lambda x: x + 1, lambda x: x * 2, int)
    assert splits(lambda x: x, lambda x: x * x)  # overflow warns, and 0 times an infinite derivative is NaN
    assert splits(lambda x: x, lambda x: x / 2)
    assert splits(lambda x: np.sqrt(x), lambda x: -x)


def test_examples_of_different_sizes_are_a_batch():
    f = jit(vmap(lambda x: cond(x[0] > 0, lambda x: x[1:], lambda x: x, x)))
    np.testing.assert_array_equal(f(np.ones((3, 2))), np.ones((3, 1)))
    np.testing.assert_array_equal(f(-np.ones((3, 2))), -np.ones((3, 2)))
    rows = f(np.array([[1.0, 1], [-1, 1]]))
    assert [row.tolist() for row in rows] == [[1.0], [-1.0, 1.0]]


def total(f):
    """The gradient of the squared norm of a batch."""
    return lambda x: grad(lambda x: np.sum(vmap(f)(x) ** 2))(x)


def total_of_totals(f):
    """A batch of batches of one example each, differentiated inside."""
    return lambda x: vmap(lambda row: total(f)(row[None])[0])(x)


def twice(f):
    """The gradient of the norm of a gradient of a batch."""
    return lambda x: grad(lambda x: np.sum(total(f)(x) ** 2))(x)


DERIVED = {
    "vmap grad": lambda f: vmap(grad(f)),
    "grad vmap": total,
    "vmap grad vmap": total_of_totals,
    "grad grad vmap": twice,
    "vmap hessian": lambda f: vmap(anyshape.hessian(f)),
    "vmap jacfwd jacfwd": lambda f: vmap(anyshape.jacfwd(anyshape.jacfwd(f))),
    "vmap jacrev jacrev": lambda f: vmap(anyshape.jacrev(anyshape.jacrev(f))),
    "jacfwd vmap": lambda f: lambda x: np.sum(anyshape.jacfwd(vmap(f))(x), axis=0),  # blocks on the diagonal
    "jacrev vmap": lambda f: lambda x: np.sum(anyshape.jacrev(vmap(f))(x), axis=0),
}
W = np.array([[1.0, 2], [3, 4]]) / 3
PAIRS = {
    "two": (lambda x: np.sum(np.sin(x) ** 2), lambda x: x @ x * x[0]),
    "constant": (lambda x: np.sum(np.exp(x)), lambda x: 2.0),
    "captured": (lambda x: np.sum(np.tanh(x @ W) * np.exp(W[0])), lambda x: np.sum(np.log(W) * x)),
    "nested": (lambda x: cond(x[1] > 0, lambda x: np.prod(x), lambda x: np.sum(x**3), x), lambda x: np.sum(x * x)),
}


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_derivatives_of_batches(derive, pair):
    x = np.random.default_rng(2).normal(size=(5, 2))
    got = jit(derive(lambda x: cond(x[0] > 0, *pair, x)))(x)
    chosen, other = map(derive, pair)
    rows = [(chosen if row[0] > 0 else other)(row[None])[0] for row in x]
    np.testing.assert_allclose(got, rows, rtol=1e-9, atol=1e-11)


def test_weights_that_examples_share():
    """The cotangent of a value that is not a row is the sum over examples, also in a batch of batches."""

    def loss(w, x):
        return np.sum(cond(x[0] > 0, lambda: np.tanh(x @ w), lambda: np.sin(np.sum(w * w, axis=0)) * x[1]) ** 2)

    def plain(w, x):
        y = np.tanh(x @ w) if x[0] > 0 else np.sin(np.sum(w * w, axis=0)) * x[1]
        return np.sum(y**2)

    x, w = np.random.default_rng(4).normal(size=(6, 2)), np.ones((2, 3))
    mean = lambda w, x: np.sum(vmap(loss, in_axes=(None, 0))(w, x))
    expected = sum([grad(lambda w, row=row: plain(w, row))(w) for row in x])
    np.testing.assert_allclose(jit(grad(mean))(w, x), expected, rtol=1e-10)
    ws = np.stack([w, 2 * w, -w])
    got = jit(vmap(grad(mean), in_axes=(0, None)))(ws, x)
    np.testing.assert_allclose(got, [jit(grad(mean))(w, x) for w in ws], rtol=1e-10)
    hessian = jit(anyshape.hessian(mean))(w, x)
    assert np.isfinite(hessian).all()
    step = 1e-6
    for i in range(2):
        e = np.zeros((2, 3))
        e[i, 1] = step
        difference = (jit(grad(mean))(w + e, x) - jit(grad(mean))(w - e, x)) / (2 * step)
        np.testing.assert_allclose(hessian[i, 1], difference, rtol=1e-6, atol=1e-7)


def test_a_batch_of_a_batch():
    f = lambda x: cond(x > 0, lambda x: np.log(x), lambda x: x - 1, x)
    x = np.random.default_rng(3).normal(size=(4, 5))
    expected = np.where(x > 0, np.log(np.abs(x)), x - 1)
    np.testing.assert_allclose(jit(vmap(vmap(f)))(x), expected)
    np.testing.assert_allclose(jit(vmap(vmap(f), in_axes=1, out_axes=1))(x), expected)


# -- everywhere


def test_printing_shows_indented_bodies():
    program = anyshape.trace(lambda x: cond(np.sum(x) > 0, lambda x: x * 2, lambda x: np.sin(x), x))(
        anyshape.ShapeDtypeStruct("n")
    )
    lines = str(program).splitlines()
    (at,) = [i for i, line in enumerate(lines) if " = cond(" in line]
    assert lines[at + 1].startswith("    <lambda>(%0: f64[n])")
    assert "sin(%0)" in lines[at + 2]
    assert "# test_conditionals.py" in lines[at + 2]
    plan = str(program.plan)
    assert "    plan <lambda>(x0: f64[n])" in plan


def test_the_cost_is_that_of_the_dearer_branch():
    program = anyshape.trace(lambda x: cond(np.sum(x) > 0, lambda x: np.sum(x * 2), lambda x: np.sin(x[0]), x))(
        anyshape.ShapeDtypeStruct("n")
    )
    assert program.cost().at({"n": 10}).flops.size == 10 + 1 + 20


def test_generated_code_has_the_branches_inline():
    f = jit(lambda x: cond(np.sum(x) > 0, lambda x: x * 2, lambda x: np.sin(x), x))
    f(np.ones(3))
    source = only_program(f).planner.compile(only_program(f).graph).__source__
    assert "if not v" in source
    assert "else:" in source
    assert "sin" in source


@pytest.mark.slow
def test_programs_travel(tmp_path):
    specs = anyshape.ShapeDtypeStruct("", bool), anyshape.ShapeDtypeStruct("n"), anyshape.ShapeDtypeStruct("n, k")
    for function in PROGRAMS:
        derived = lambda p, x, w, function=function: grad(lambda x: function(subgraph_select, p, x, w))(x)
        program = anyshape.trace(derived)(*specs)
        program.save(tmp_path / "program.anyshape")
        loaded, copied = anyshape.load(tmp_path / "program.anyshape"), pickle.loads(pickle.dumps(program))
        for p in (True, False):
            x, w = arrays(3, 2)
            for other in (loaded, copied):
                np.testing.assert_array_equal(other(p, x, w), program(p, x, w))
        again = jit(lambda p, x, w, loaded=loaded: grad(lambda x: np.sum(loaded(p, x, w)))(x))
        direct = jit(lambda p, x, w, derived=derived: grad(lambda x: np.sum(derived(p, x, w)))(x))
        np.testing.assert_allclose(again(True, x, w), direct(True, x, w), rtol=1e-12)
        batched = jit(vmap(lambda p, x, loaded=loaded, w=w: loaded(p, x, w)))
        xs = np.stack([x, -x, 2 * x])
        ps = np.array([True, False, True])
        if function.__name__ != "data_dependent_sizes":
            np.testing.assert_allclose(batched(ps, xs), [program(p, x, w) for p, x in zip(ps, xs, strict=True)])


def test_explain_profile_and_drawings():
    f = jit(lambda x: cond(np.sum(x) > 0, lambda x: np.sum(np.exp(x)), lambda x: np.sin(x[0]), x))
    x = np.ones(50)
    f(x)
    assert "1 program" in str(anyshape.explain(f)(x))
    profile = anyshape.profile(f)(x)
    (row,) = [row for row in profile.rows if row.name == "cond"]
    assert [step.name for step in row.steps] == ["exp", "reduce_sum"]
    assert all(step.seconds <= row.seconds and "test_conditionals.py" in str(step.where) for step in row.steps)
    batched = anyshape.profile(jit(vmap(lambda x: cond(x[0] > 0, lambda x: np.exp(x), lambda x: np.sin(x), x))))
    rows = batched(np.array([[1.0], [-1.0]])).rows
    assert [step.name for row in rows for step in row.steps] == ["sin", "exp"]
    program = only_program(f)
    assert "cond" in to_html(program)
    assert "exp" in to_dot(program)


def test_memory_limits_count_the_dearer_branch():
    f = lambda x: np.sum(cond(np.sum(x) > 0, lambda x: np.outer(x, x) @ x, lambda x: x, x))
    x = np.ones(200)
    with pytest.raises(anyshape.errors.MemoryLimitError):
        jit(f, max_bytes=100_000)(x)
    assert jit(f, max_bytes=700_000)(x) == 200 * 200


def test_branches_use_tiles_and_buffers():
    def chain(x):
        y = np.tanh(x) * np.exp(-x * x)
        return np.sum(y * np.cos(y) + y)

    f = jit(lambda x: cond(x[0, 0] > 0, chain, lambda x: chain(x + 1), x))
    rng = np.random.default_rng(0)
    for shape in ((3, 4), (400, 300)):
        x = rng.normal(size=shape)
        for sign in (1, -1):
            x[0, 0] = sign
            np.testing.assert_allclose(f(x), chain(x if sign > 0 else x + 1), rtol=1e-12)


def test_an_operand_that_is_returned_is_not_shared():
    f = jit(lambda p, x: cond(p, lambda x: (x, x), lambda x: (x, x + 1), x))
    x = np.ones(3)
    a, b = f(True, x)
    a[0], b[1] = 5, 7
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(a, [5, 1, 1])
    np.testing.assert_array_equal(b, [1, 7, 1])


def test_unread_results_leave_the_branches():
    def f(x):
        _, z = cond(np.sum(x) > 0, lambda x: (np.exp(x), np.sin(x)), lambda x: (x, np.cos(x)), x)
        return z

    g = jit(f)
    x = np.arange(1.0, 3)
    np.testing.assert_allclose(g(x), np.sin(x))
    assert "exp" not in [n.op.name for n in walk(only_program(g).graph)]
    (node,) = conds(only_program(g).graph)
    assert len(node.outputs) == 1
    assert all(len(inner.outputs) == 1 for inner in subgraphs(node))


def test_namespace_arrays_of_sizes_inside():
    f = jit(lambda x: cond(np.sum(x) > 0, lambda x: x * anp.arange(x.shape[0]), lambda x: x + anp.zeros(x.shape), x))
    for n in (0, 1, 4):
        np.testing.assert_array_equal(f(np.ones(n)), np.arange(n))
