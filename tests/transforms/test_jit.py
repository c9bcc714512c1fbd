"""Tests of jit: static arguments, declared shapes, sizes by value, cache, copies and pickles."""

import copy
import dataclasses
import functools
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import anyshape
from anyshape import AUTO, DYNAMIC, STATIC, Dim, SymbolicScope, as_written, jit, symbolic_shape
from anyshape.errors import (
    ArgumentError,
    InconclusiveDimensionError,
    InputSizeError,
    SizeMismatchError,
    SpecError,
    SpecializationError,
)
from anyshape.transforms.caching.cache import Cache


def fails(kind, call, *parts):
    """The error of a call, which mentions every part."""
    with pytest.raises(kind) as caught:
        call()
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return caught.value


def traces(function):
    return function.cache_info().traces


def power(x, k=2, *, scale=1.0):
    return scale * np.sum(x**k)


doubled = jit(lambda x: x * 2)


@jit
def decorated(x):
    return x + 1


@jit(static_argnames="mode", name="by_mode")
def with_mode(x, mode):
    return np.sum(x) if mode == "sum" else np.max(x)


derivative = anyshape.grad(power)
static_power = jit(power, static_argnums=1)


# -- static arguments --------------------------------------------------------------------------------------------


def test_each_static_value_is_traced_once_and_reaches_the_function_as_it_is():
    f = jit(lambda x, k: x * (len(k) if isinstance(k, str) else sum(k)), static_argnums=1)
    for n in (0, 1, 5):
        np.testing.assert_array_equal(f(np.ones(n), "ab"), 2 * np.ones(n))
        np.testing.assert_array_equal(f(np.ones(n), (3, 4)), 7 * np.ones(n))
    assert traces(f) == 2


@pytest.mark.parametrize("values", [(1, True, 1.0), (0.0, -0.0), ((1,), (True,), (1.0,)), (None, 0, False, "")])
def test_equal_static_values_of_different_types_differ(values):
    f = jit(lambda x, k: x + hash(repr(k)) % 100, static_argnums=(1,))
    for k in values:
        assert f(np.zeros(1), k)[0] == hash(repr(k)) % 100
    assert traces(f) == len(values)


def test_nan_is_the_same_static_value_each_time():
    f = jit(lambda x, k: x * k, static_argnums=1)
    f(np.ones(2), float("nan")), f(np.ones(2), float("nan"))
    assert traces(f) == 1


@pytest.mark.parametrize(
    "options",
    [{"static_argnums": 1}, {"static_argnums": -1}, {"static_argnames": "mode"}, {"static_argnames": ["mode"]}],
)
def test_a_static_argument_is_found_by_position_and_by_name(options):
    f = jit(lambda x, mode: x if mode == "keep" else -x, **options)
    assert f(np.ones(1), "keep") == 1 and f(np.ones(1), mode="flip") == -1 and f(x=np.ones(1), mode="keep") == 1


def test_static_arguments_reach_through_transforms():
    def function(x, mode):
        return np.sum(x**2) if mode == "square" else np.sum(x)

    f = jit(function, static_argnames="mode")
    x = np.arange(3.0)
    np.testing.assert_array_equal(anyshape.grad(f)(x, "square"), 2 * x)
    np.testing.assert_array_equal(anyshape.grad(f)(x, mode="other"), np.ones(3))
    np.testing.assert_array_equal(anyshape.hessian(f)(x, "square"), 2 * np.eye(3))
    rows = anyshape.vmap(f, in_axes=(0, None))(np.ones((4, 3)), "square")
    np.testing.assert_array_equal(rows, [3, 3, 3, 3])
    np.testing.assert_array_equal(jit(lambda y: f(y, "square"))(x), 5)


def test_errors_name_mistakes_with_static_arguments():
    fails(ArgumentError, lambda: jit(power, static_argnames="kk"), "static_argnames", "'kk'", "x, k, scale")
    fails(ArgumentError, lambda: jit(power, static_argnums=2), "static_argnums is 2", "2 positional")
    fails(ArgumentError, lambda: jit(power, static_argnums="x"), "static_argnums", "give ints")
    fails(ArgumentError, lambda: jit(power, static_argnames=1), "static_argnames", "give names")
    by_place = jit(power, static_argnums=1)
    fails(ArgumentError, lambda: by_place(np.ones(2), [2]), "power: k is static", "list", "cannot be hashed")
    fails(ArgumentError, lambda: jit(power)(np.ones(2), [iter("")]), "power: k[0] is of type str_")


# -- declared shapes ---------------------------------------------------------------------------------------------


def test_shared_names_are_equal_sizes_and_one_program_serves_them():
    f = jit(lambda x, w: x @ w, dynamic_shapes={"x": ("batch", "n"), "w": ("n", 3)})
    for n in (0, 1, 5):
        assert f(np.ones((2, n)), np.ones((n, 3))).tolist() == [[n] * 3] * 2
    assert traces(f) == 1
    assert not any(c.kind == "assertion" for c in f.programs()[0].graph.conditions)  # nothing is left to be checked
    error = fails(InputSizeError, lambda: f(np.ones((2, 4)), np.ones((5, 3))), "w.shape[0] = 5", "n = 4", "x.shape[1]")
    assert (error.path, error.axis, error.actual) == ("w", 0, 5)
    fails(InputSizeError, lambda: f(np.ones((2, 4)), np.ones((4, 5))), "w.shape[1] = 5", "does not fit 3")
    assert traces(f) == 1
    fresh = jit(lambda x, w: x @ w, dynamic_shapes={"x": ("batch", "n"), "w": ("n", 3)})
    fails(InputSizeError, lambda: fresh(np.ones((2, 4)), np.ones((5, 3))), "w.shape[0] = 5")  # also a first call
    assert traces(fresh) == 0


@pytest.mark.parametrize(
    "spec",
    ["n, 3", ("n", 3), ["n", "3"], {0: "n", 1: 3}, {0: "n", -1: 3}, ("n", ...), "n, ...", "n, _", {0: "n"}, None, AUTO],
)
def test_the_forms_of_a_declaration(spec):
    f = jit(lambda x: x * x.shape[0], dynamic_shapes={"x": spec})
    for n in (0, 1, 4):
        np.testing.assert_array_equal(f(np.ones((n, 3))), n * np.ones((n, 3)))
    assert traces(f) == 1


def test_declarations_follow_the_tree_of_an_argument():
    def layer(params, x):
        return params["w"] @ x + params["b"][0]

    shapes = {"params": {"w": "m, n", "b": ("m",)}, "x": "n"}
    f = jit(layer, dynamic_shapes={**shapes, "params": {"w": "m, n", "b": [("m",)]}})
    params = {"w": np.ones((2, 3)), "b": [np.ones(2)]}
    np.testing.assert_array_equal(f(params, np.ones(3)), [4, 4])
    bad = {"w": np.ones((2, 3)), "b": [np.ones(1)]}
    fails(InputSizeError, lambda: f(bad, np.ones(3)), "params['b'][0].shape[0] = 1", "m = 2 from params['w'].shape[0]")
    partly = jit(layer, dynamic_shapes=({"w": ("m", "n")}, ("n",)))  # by position, and only of some leaves
    np.testing.assert_array_equal(partly(bad, np.ones(3)), [4, 4])
    fails(InputSizeError, lambda: partly(bad, np.ones(2)), "does not fit n")


def test_ranges_and_constraints_are_checked_at_the_call():
    f = jit(lambda x: x * 2, dynamic_shapes={"x": {0: Dim("batch", min=1, max=4)}})
    np.testing.assert_array_equal(f(np.ones((4, 0))), np.ones((4, 0)))
    fails(InputSizeError, lambda: f(np.ones((0, 2))), "x.shape[0] = 0", "at least 1")
    fails(InputSizeError, lambda: f(np.ones((5, 2))), "x.shape[0] = 5", "at most 4")
    g = jit(lambda x: x[: x.shape[1]], dynamic_shapes={"x": symbolic_shape("n, m", constraints=["n >= m"])})
    assert g(np.ones((5, 3))).shape == (3, 3)
    fails(SizeMismatchError, lambda: g(np.ones((2, 3))), "n >= m")
    assert f.cache_info().entries == g.cache_info().entries == 1


def test_ranges_answer_decisions():
    f = jit(lambda x: x if x.shape[0] >= 1 else 1 / 0, dynamic_shapes={"x": (Dim("n", min=1),)})
    for n in (1, 2, 9):
        assert f(np.ones(n)).shape == (n,)
    assert traces(f) == 1


def test_a_name_in_a_declaration_may_be_a_dim():
    n = Dim("n", max=3)
    f = jit(lambda x, y: x + y, dynamic_shapes={"x": (n,), "y": ("n",)})
    assert f(np.ones(3), np.ones(3)).tolist() == [2, 2, 2]
    fails(InputSizeError, lambda: f(np.ones(3), np.ones(1)))
    fails(InputSizeError, lambda: f(np.ones(4), np.ones(4)), "at most 3")


def test_static_axes_have_a_program_each_and_the_others_one_for_all():
    f = jit(lambda x: [row * x.shape[0] for row in np.ones(x.shape[1])], dynamic_shapes={"x": {0: AUTO, 1: STATIC}})
    for n, m in ((2, 3), (0, 3), (7, 3), (7, 1), (7, 0), (1, 3)):
        assert [float(row) for row in f(np.ones((n, m)))] == [n] * m
    assert traces(f) == 3
    assert all(c.why == "x.shape[1] was declared STATIC" for p in f.programs() for c in p.graph.conditions)


@pytest.mark.usefixtures("as_written")
def test_a_dynamic_size_may_be_narrowed_but_not_fixed():
    f = jit(lambda x: x if x.shape[0] > 4 else -x, dynamic_shapes={"x": (DYNAMIC,)})
    assert f(np.ones(5))[0] == 1 and f(np.ones(4))[0] == -1 and traces(f) == 2
    for fixes in (lambda x: x * int(x.shape[0]), lambda x: x + np.ones((6, 6)) @ x, lambda x: [*range(len(x))]):
        error = fails(SpecializationError, lambda fixes=fixes: jit(fixes, dynamic_shapes=((DYNAMIC,),))(np.ones(6)))
        assert error.constant == 6 and error.size == "x.shape[0]" and "test_jit.py" in str(error.where)
    fails(SpecializationError, lambda: jit(lambda x: bool(x.shape[0] == 6), dynamic_shapes=((DYNAMIC,),))(np.ones(6)))


def test_on_decision_error_allows_decisions_on_auto_and_static_axes_only():
    def decides(x):
        return x if x.shape[0] > 4 else -x

    for shapes in (None, {"x": "n"}, {"x": (Dim("n"),)}, {"x": (DYNAMIC,)}, ("2*n",)):
        f = jit(decides, dynamic_shapes=shapes, on_decision="error")
        error = fails(SpecializationError, lambda f=f: f(np.ones(6)), "test_jit.py", "AUTO or STATIC")
        assert isinstance(error, InconclusiveDimensionError) and error.constant is None
        assert f.cache_info().entries == 0
    for flag in (AUTO, STATIC):
        f = jit(decides, dynamic_shapes={"x": (flag,)}, on_decision="error")
        assert f(np.ones(6))[0] == 1 and f(np.ones(2))[0] == -1
    proved = jit(decides, dynamic_shapes={"x": (Dim("n", min=5),)}, on_decision="error")
    assert proved(np.ones(5))[0] == 1  # a question that the range answers is not a decision


def test_sizes_as_arguments_need_no_trace_of_their_own():
    f = jit(lambda x, k: np.sort(x)[::-1][:k], dynamic_shapes={"k": Dim("k", max=10)})
    x = np.random.default_rng(0).random(20)
    for k in (0, 1, np.int32(5), 10):
        np.testing.assert_array_equal(f(x, k), np.sort(x)[::-1][:k])
    assert traces(f) == 2  # one for Python's integers, one for int32
    fails(InputSizeError, lambda: f(x, 11), "k = 11", "at most 10")
    fails(InputSizeError, lambda: f(x, -1), "k = -1")
    fails(ArgumentError, lambda: f(x, 2.0), "k", "float64", "pass an integer")
    rows = jit(lambda x, n: x.reshape(n, -1), dynamic_shapes={"n": "n"})
    assert [rows(np.ones(6), n).shape for n in (1, 2, 3)] == [(1, 6), (2, 3), (3, 2)] and traces(rows) == 1
    fails(SizeMismatchError, lambda: rows(np.ones(6), 4), "x.shape[0] (6) must be divisible by n (4)")
    derivative = anyshape.grad(jit(lambda x, k: np.sum(np.sort(x)[::-1][:k]), dynamic_shapes={"k": "k"}))
    assert [float(derivative(x, k).sum()) for k in (0, 3, 20)] == [0, 3, 20] and traces(derivative) == 1


def test_sizes_that_are_solved_for():
    f = jit(lambda x: x.shape[0] // 2, dynamic_shapes={"x": "2*n"})
    assert f(np.ones(8)) == 4
    fails(InputSizeError, lambda: f(np.ones(7)), "remainder 1")
    side = Dim("side")
    square = jit(lambda x: x.reshape(side, side), dynamic_shapes={"x": (side * side,)})
    assert [square(np.ones(n)).shape for n in (0, 1, 9)] == [(0, 0), (1, 1), (3, 3)] and traces(square) == 1
    fails(InputSizeError, lambda: square(np.ones(8)), "4 for side = 2 and 9 for side = 3")


def test_declarations_hold_inside_other_traces():
    f = jit(lambda x, w, k: (x @ w)[:k], dynamic_shapes={"x": ("batch", "n"), "w": ("n", 2), "k": Dim("held", max=3)})
    outer = jit(lambda x, w: f(x, w, x.shape[0]) * 2)
    for b, n in ((0, 1), (1, 0), (3, 2)):
        np.testing.assert_array_equal(outer(np.ones((b, n)), np.ones((n, 2))), np.full((b, 2), 2 * n))
    assert traces(outer) == 1
    fails(SizeMismatchError, lambda: outer(np.ones((4, 2)), np.ones((2, 2))), "3 must be at least x.shape[0] (4)")
    fails(
        SizeMismatchError, lambda: outer(np.ones((2, 2)), np.ones((3, 2))), "w.shape[0] (3) must equal x.shape[1] (2)"
    )
    fails(ValueError, lambda: outer(np.ones((2, 2)), np.ones((2, 3))), "w.shape[1] (3) must equal 2")
    rows = jit(lambda x, w, k: anyshape.vmap(lambda row: f(row, w, k))(x), dynamic_shapes={"k": "k"})
    np.testing.assert_array_equal(rows(np.ones((5, 4, 3)), np.ones((3, 2)), 2), np.full((5, 2, 2), 3))
    fails(SizeMismatchError, lambda: rows(np.ones((5, 4, 3)), np.ones((3, 2)), 4), "3 must be at least k (4)")
    fixed = jit(lambda y: y * int(y.shape[1]), dynamic_shapes=({1: STATIC},))
    program = anyshape.trace(lambda x: fixed(x))
    assert program(anyshape.ShapeDtypeStruct("n, 3"))(np.ones((2, 3))).tolist() == [[3] * 3] * 2
    fails(InconclusiveDimensionError, lambda: program(anyshape.ShapeDtypeStruct("n, m")))


def test_errors_name_mistakes_in_declarations():
    identity = lambda x: x
    ones = np.ones((2, 2))
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes={"y": "n"}), "names 'y'", "parameters: x")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes="n"), "dynamic_shapes is 'n'")
    fails(ArgumentError, lambda: jit(identity, on_decision="no"), "on_decision is 'no'")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes={"x": "n"})(ones), "1 entries for 2 axes")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes={"x": {2: "n"}})(ones), "axis 2 of 2")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes={"x": (..., "n", ...)})(ones), "3 entries")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes={"x": (1.5, None)})(ones), "[0]", "1.5", "not a size")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes={"x": (-1, None)})(ones), "-1")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes={"x": {"w": "n"}})(ones), "'w'")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes={"x": {"w": None}})({"v": ones}), "'w'")
    fails(ArgumentError, lambda: jit(identity, dynamic_shapes=(None, None))(ones), "2 entries for 1 arguments")
    error = fails(SpecError, lambda: jit(identity, dynamic_shapes={"x": ("n+", 2)})(ones), "dynamic_shapes['x'][0]")
    assert error.column == 2
    for text, column in (("n,, m", 2), (", n", 0), ("_, , ...", 3), ("n, 2*", 5), ("n m", 2), ("(n, m", 2)):
        error = fails(SpecError, lambda t=text: jit(identity, dynamic_shapes={"x": t})(ones), "dynamic_shapes['x'] of")
        assert (error.spec, error.column) == (text, column)
    for text in ("(n, m)", " (n,m,) ", "n, m,", "(_, ...)", "(n), (m)", "(n*max(n, 1))//(max(n, 1)), ..."):
        assert jit(identity, dynamic_shapes={"x": text})(ones).shape == (2, 2)
    other = SymbolicScope(["a >= 3"])
    mixed = {"x": (symbolic_shape("a", scope=other)[0], symbolic_shape("b")[0])}
    fails(anyshape.errors.ScopeMismatchError, lambda: jit(identity, dynamic_shapes=mixed)(ones))


# -- the cache ---------------------------------------------------------------------------------------------------


def test_the_cache_is_bounded_and_evicts_unused_programs():
    f = jit(lambda x, k: x * k, static_argnums=1)
    f._cache = Cache(limit=4)
    for k in range(4):
        f(np.ones(1), k)
    for k in range(4, 10):
        f(np.ones(1), 0)
        assert f(np.ones(1), k) == k
    info = f.cache_info()
    assert (info.traces, info.entries, info.evictions, info.limit) == (10, 4, 6, 4)
    f(np.ones(1), 0)
    assert f.cache_info().traces == 10  # the one that was used all the time is still there
    f.clear_cache()
    assert f.cache_info()[:4] == (0, 0, 0, 0)
    assert f(np.ones(1), 3) == 3


@pytest.mark.usefixtures("as_written")
def test_evicted_programs_leave_the_fast_path():
    f = jit(lambda x: x * int(x.shape[0]))
    f._cache = Cache(limit=2)
    for n in (1, 1, 2, 3, 1, 2, 3, 3):
        assert f(np.ones(n)).tolist() == [n] * n
    assert f.cache_info().entries == 2 and len(f._cache.fast_paths) == 1


def test_a_failed_trace_adds_no_entry():
    fail = True

    def function(x):
        if fail:
            raise KeyboardInterrupt
        return x

    f = jit(function)
    with pytest.raises(KeyboardInterrupt):
        f(np.ones(2))
    assert f.cache_info()[:3] == (0, 0, 0)
    fail = False
    assert f(np.ones(2)).tolist() == [1, 1]


@pytest.mark.usefixtures("as_written")
def test_threads_share_programs():
    def function(x):
        return np.sum(x) * (2 if x.shape[0] > 3 else 3) + int(x.shape[1])

    f, wrong = jit(function), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x = np.ones(rng.integers(0, 6, 2))
            if f(x) != function(x):
                wrong.append(x.shape)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and traces(f) == 12


# -- copies and pickles ------------------------------------------------------------------------------------------


def test_a_copy_of_a_jitted_function_is_the_function():
    assert copy.copy(decorated) is decorated and copy.deepcopy(derivative) is derivative


@pytest.mark.parametrize("function", [decorated, with_mode, derivative, static_power])
def test_a_jitted_function_pickles_by_name_or_by_recipe(function):
    args = (np.arange(3.0), "sum") if function is with_mode else (np.arange(3.0), 2)[: 1 + (function is static_power)]
    again = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal(again(*args), function(*args))
    assert repr(again) == repr(function)


def test_transforms_of_transforms_pickle():
    made = anyshape.vmap(anyshape.grad(jit(power, static_argnames="k")), in_axes=(0, None))
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again(np.ones((2, 3)), 3), 3 * np.ones((2, 3)))
    hessian = pickle.loads(pickle.dumps(anyshape.hessian(power)))
    np.testing.assert_array_equal(hessian(np.ones(2)), 2 * np.eye(2))


def test_a_pickle_runs_in_a_fresh_process(tmp_path):
    (tmp_path / "user_code.py").write_text("import numpy as np\ndef f(x, k):\n    return np.sum(x**k)\n")
    code = """
import pickle, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import anyshape, user_code
made = anyshape.grad(anyshape.jit(user_code.f, static_argnums=1, dynamic_shapes={"x": (anyshape.Dim("n", max=4),)}))
sys.stdout.buffer.write(pickle.dumps(made))
"""
    run = [sys.executable, "-c"]
    made = subprocess.run([*run, code, str(tmp_path)], capture_output=True, check=True, timeout=60).stdout
    use = """
import pickle, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
made = pickle.loads(sys.stdin.buffer.read())
print(made(np.ones(3), 2).tolist())
try:
    made(np.ones(5), 2)
except ValueError as error:
    print(error)
"""
    used = subprocess.run([*run, use, str(tmp_path)], input=made, capture_output=True, check=True, timeout=60).stdout
    assert b"[2.0, 2.0, 2.0]" in used and b"at most 4" in used


def test_a_function_without_name_or_recipe_raises_a_pickling_error():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(doubled.__wrapped__)
    value, pullback = anyshape.vjp(power, np.ones(2))
    assert value == 2 and pullback(1.0)[0].tolist() == [2, 2]


@pytest.mark.usefixtures("as_written")
def test_sizes_stay_dynamic_inside_another_trace():
    strict = jit(lambda x: x.sum() if x.shape[0] > 2 else -x.sum(), dynamic_shapes={"x": "n"}, on_decision="error")
    bound = jit(lambda x: x.sum() * int(x.shape[0]), dynamic_shapes={"x": (DYNAMIC,)})
    x, rows = np.ones(4), np.ones((2, 4))
    for made, argument in ((jit(strict), x), (anyshape.vmap(strict), rows), (jit(lambda a: strict(a) + 1), x)):
        fails(SpecializationError, lambda f=made, a=argument: f(a), "n was declared dynamic", "test_jit.py")
    fails(SpecializationError, lambda: jit(lambda a: bound(a))(x), "x.shape[0] was declared dynamic", "the constant 4")
    fails(SpecializationError, lambda: jit(lambda a: strict(a[1:]))(x), "a_0 was declared dynamic")
    total = jit(lambda v: v.sum(), dynamic_shapes={"v": "n"}, on_decision="error")
    after = jit(lambda a: (total(a), a if a.shape[0] > 2 else -a)[1])
    assert after(x).tolist() == [1, 1, 1, 1]
    known = jit(lambda a, b: bound(a) + (a + b).sum() if a.shape[0] == 4 else a.sum())
    assert known(x, x) == 24 and jit(lambda a: a.sum() + strict(np.ones(3)))(x) == 7


def test_a_declared_argument_may_be_none():
    added = jit(lambda x, y=None: x if y is None else x + y, dynamic_shapes={"x": "n", "y": "n"})
    x = np.ones(3)
    assert [added(x).tolist(), added(x, None).tolist(), added(x, x).tolist()] == [[1] * 3, [1] * 3, [2] * 3]
    first = jit(lambda p: p["a"], dynamic_shapes={"p": {"a": "n", "b": "n"}})
    assert first({"a": x, "b": None}).tolist() == [1] * 3
    fails(SizeMismatchError, lambda: first({"a": x, "b": np.ones(2)}), "p['b'].shape[0] = 2 does not fit n")


def test_an_argument_is_not_both_static_and_a_size():
    times = lambda x, k: x * k
    for static in ({"static_argnames": "k"}, {"static_argnums": 1}):
        fails(ArgumentError, lambda s=static: jit(times, dynamic_shapes={"k": "k"}, **s), "is declared, and static")
        assert jit(times, dynamic_shapes={"k": STATIC}, **static)(np.ones(1), 3) == 3


type_unread = as_written(lambda x: type(x))  # code that is read has Python's answer for traced values


def test_static_arguments_of_a_method_count_the_object():
    """A static number is the caller's own, and a traced one is none."""

    class Scaled:
        @functools.partial(jit, static_argnums=2)
        def times(self, x, n):
            assert type(n) is int and type_unread(x) is not float
            return x * n

    assert Scaled().times(2.0, 3) == 6.0


def test_methods_keep_their_options():
    class Model:
        def __init__(self, w):
            self.w = w

        @jit(static_argnums=(0, 2))
        def times(self, x, k):
            return x * self.w + sum(range(k))

    model = Model(2.0)
    assert model.times(np.ones(2), 3).tolist() == [5, 5]
    model.w = 5.0
    assert model.times(np.ones(2), 3).tolist() == [8, 8]


def test_a_call_whose_program_another_thread_made_is_a_hit():
    results = []

    @jit
    def slow(x):
        time.sleep(0.3)  # until the others wait for this trace
        return x + 1

    threads = [threading.Thread(target=lambda: results.append(slow(np.ones(2)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3 and slow.cache_info()[:2] == (1, 2)


# -- classes as trees --------------------------------------------------------------------------------------------


@anyshape.register_pytree_node
@dataclasses.dataclass(frozen=True)
class Line:
    derivative: object
    start: object
    how: str = dataclasses.field(default="sin", metadata={"static": True})

    def loss(self, x):
        return np.sum(getattr(np, self.how)(x @ self.derivative + self.start))

    in_itself = anyshape.grad(loss)


class Pair:
    def __init__(self, left, right, note=()):
        self.left, self.right, self.note = left, right, note


anyshape.register_pytree_node(
    Pair, lambda p: ((p.left, p.right), p.note), lambda note, parts: Pair(*parts, note)
)  # fmt: skip


def test_a_dataclass_is_a_tree_of_its_fields():
    line, x = Line(np.ones((3, 2)), np.zeros(2)), np.arange(12.0).reshape(4, 3)
    f = jit(lambda line, x: line.loss(x), dynamic_shapes={"line": {"derivative": "d, m", "start": "m"}, "x": "n, d"})
    for how in ("sin", "cos", "sin"):
        other = dataclasses.replace(line, how=how)
        np.testing.assert_allclose(f(other, x), other.loss(x))
        derivative = anyshape.grad(lambda a, b: a.loss(b))(other, x)
        assert isinstance(derivative, Line) and derivative.how == how
        expected = np.cos(x @ line.derivative) if how == "sin" else -np.sin(x @ line.derivative)
        np.testing.assert_allclose(derivative.start, expected.sum(axis=0))
        np.testing.assert_allclose(other.in_itself(x).derivative, x.T @ expected)
    assert traces(f) == 2
    fails(InputSizeError, lambda: f(Line(np.ones((3, 2)), np.zeros(3)), x), "line.start.shape[0] = 3")
    fails(ArgumentError, lambda: f(Line("text", np.zeros(3)), x), "'d, m' for a str")
    program = anyshape.trace(lambda a: a.start * 2)(line)
    assert pickle.loads(pickle.dumps(program))(line).tolist() == [0, 0]
    assert anyshape.export(lambda a: a.start)(line)(line).tolist() == [0, 0]


def test_a_registered_class_is_a_tree():
    swap = jit(lambda p: Pair(p.right, p.left * 2, p.note))
    swapped = swap(Pair(np.ones(2), 3.0, ("kept",)))
    assert (swapped.left, swapped.right.tolist(), swapped.note) == (3.0, [2, 2], ("kept",))
    rows = anyshape.vmap(lambda p: p.left + p.right)(Pair(np.arange(3.0), np.ones(3)))
    assert rows.tolist() == [1, 2, 3]


def test_mistakes_with_registered_classes_are_named():
    register = anyshape.register_pytree_node
    fails(ArgumentError, lambda: register(Line), "Line is registered already")
    fails(ArgumentError, lambda: register(int), "int is not a dataclass")
    fails(ArgumentError, lambda: register(Pair, lambda p: ((), None)), "Pair is not a dataclass")
    fails(ArgumentError, lambda: register(3), "cls is 3", "give a class")


def test_a_memory_limit_is_a_whole_number_of_any_kind():
    for limit in (1e9, np.int64(10**9), np.float32(2**30), 10**9):
        np.testing.assert_array_equal(jit(lambda x: x + x, max_bytes=limit)(np.ones(2)), 2 * np.ones(2))
    for limit in (1.5, -1.0, True, np.True_, np.nan, np.inf, "1"):
        with pytest.raises(ArgumentError, match="max_bytes"):
            jit(lambda x: x, max_bytes=limit)(np.ones(2))


def test_a_scalar_that_is_returned_twice_stays_a_scalar():
    first, again = jit(lambda x: [np.sum(x)] * 2)(np.ones(3))
    assert type(first) is type(again) is np.float64
