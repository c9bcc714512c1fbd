"""Test writes to arguments: after a call the caller's arrays are as NumPy would leave them, or nothing has changed."""

import array
import copy
import io
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, export, grad, jit, register_pytree_node
from anyshape.errors import ArgumentError, CheckError, MutationError


def agrees(function, *args, traces=None):
    """A jitted function gives what Python gives, and leaves its arguments as Python does."""
    compiled = function if hasattr(function, "cache_info") else jit(function)
    plain = function.__wrapped__ if compiled is function else function
    ours, theirs = args, copy.deepcopy(args)
    result, wanted = compiled(*ours), plain(*theirs)
    check = lambda x, y: np.testing.assert_allclose(np.asarray(x), np.asarray(y), strict=True)
    for x, y in zip(leaves((result, ours)), leaves((wanted, theirs)), strict=True):
        check(x, y)
    return result


def leaves(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        return [x for part in tree for x in leaves(part)]
    return [] if tree is None else leaves(vars(tree)) if isinstance(tree, Pair) else [tree]


@register_pytree_node
@dataclass
class Pair:
    x: np.ndarray
    y: np.ndarray


def first(x):
    x[0] = 5
    return x * 2


def swap(x, y):
    x[:], y[:] = y.copy(), x.copy()


def in_trees(t, pair):
    t["a"] += t["b"][1]
    part = t["b"][0][1:]
    part[...] = 7
    pair.x -= pair.y
    np.multiply(pair.x, 2, out=pair.x)
    return pair.x.sum()


def sorts(x):
    x[::-1].sort()
    x.T[...] *= 2
    return x.sum()


def branches(x):
    if x.sum() > 2:
        x += 100
        return x.sum()
    x[0] += 1
    return x[0] * 2


def grows(x, y):
    x += y
    y[...] = x[0]
    return y


def test_one_program_writes_to_arguments_of_every_size_dtype_and_layout():
    compiled = jit(first)
    for n in (1, 2, 5):
        agrees(compiled, np.arange(float(n)))
    assert compiled.cache_info().traces == 1
    for x in (np.arange(10.0)[::2], np.arange(4.0)[::-1], np.arange(3, dtype=np.float32), np.ones(3, int)):
        agrees(compiled, x)
    with pytest.raises(anyshape.errors.AnyshapeError):
        compiled(np.ones(0))


PROGRAMS = {
    "swap": (swap, np.arange(3.0), np.ones(3)),
    "trees": (in_trees, {"a": np.ones(2), "b": [np.zeros(3), 3.0]}, Pair(np.ones((2, 2), order="F"), np.ones(2))),
    "sort": (sorts, np.array([[3.0, 1.0], [2.0, 5.0]])),
    "number": (lambda x: x.__iadd__(1), np.array(1.0)),
    "casts": (lambda x, y: x.__setitem__(slice(None), y), np.zeros(3, np.float32), np.arange(3.0)),
    "broadcasts": (grows, np.ones((3, 2)), np.ones(2)),
    "empty": (grows, np.ones((1, 0)), np.ones(0)),
    "copyto": (np.copyto, np.ones(3), np.arange(3.0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_are_written_as_numpy_does(name):
    agrees(*PROGRAMS[name])


def test_calls_that_leave_their_path_write_once():
    compiled, x, y = jit(branches), np.zeros(2), np.zeros(2)
    for _ in range(9):
        assert compiled(x) == branches(y)
        assert x.tolist() == y.tolist()


def test_a_result_that_is_the_argument_is_the_array_of_the_caller():
    x = np.zeros(3)
    result, part = jit(lambda x: (x.__iadd__(1), x[1:]))(x)
    assert result is x and not np.shares_memory(part, x)


def test_a_call_that_raises_writes_nothing():
    def function(x, y, k):
        x[0] = 7
        y += 1
        anyshape.check(k > 0, "k")

    compiled, x, y = jit(function), np.ones(2), np.broadcast_to(1.0, (2,))
    with pytest.raises(CheckError):
        compiled(x, np.ones(2), -1.0)
    with pytest.raises(ArgumentError, match="y is read-only"):
        compiled(x, y, 1.0)
    assert x.tolist() == [1, 1]


def test_arguments_that_share_memory_are_refused():
    compiled, x = jit(swap), np.arange(6.0)
    with pytest.raises(ArgumentError, match=r"x shares memory with y, and swap writes to it\n  pass x.copy()"):
        compiled(x, x)
    with pytest.raises(ArgumentError, match="shares memory"):
        compiled(x[:3], x[2:5])
    windows = np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)
    with pytest.raises(ArgumentError, match="elements that share memory"):
        jit(first)(windows)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    compiled(x[::2], x[1::2])
    assert x.tolist() == [1, 0, 3, 2, 5, 4]


def test_an_array_that_the_function_closes_over_is_no_argument_to_write_to():
    held = np.zeros(3)
    compiled = jit(lambda x: x.__setitem__(0, 1.0) or x + held)
    with pytest.raises(ArgumentError, match="shares memory with held"):
        compiled(held)
    agrees(compiled, np.ones(3))


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    "read", [lambda x: np.sum(x), lambda x: float(x[0]), lambda x: x.tolist()], ids=["traced", "number", "list"]
)
def test_what_a_trace_has_read_of_a_captured_array_is_refused_as_an_argument_to_write_to(read, is_new):
    held = {"array": np.arange(4.0)}

    def writes(x):
        x[0] = 5.0
        return read(held["array"])

    compiled = jit(writes)
    if not is_new:
        agrees(compiled, np.ones(4))
    for x in (held["array"], held["array"][:2], held["array"][::-1]):
        with pytest.raises(
            ArgumentError, match=r"x shares memory with held\['array'\], and writes writes to it\n  pass x"
        ):
            compiled(x)
    assert held["array"].tolist() == [0, 1, 2, 3]
    held["array"] = np.zeros(4)
    agrees(compiled, np.ones(4))
    with pytest.raises(ArgumentError, match="shares memory"):
        compiled(held["array"])


def test_a_captured_buffer_is_no_argument_to_write_to_and_may_change_its_size_later():
    held = bytearray(3)
    compiled = jit(lambda x: x.__setitem__(0, 5) or x.sum() + held[0])
    with pytest.raises(ArgumentError, match="x shares memory with held"):
        compiled(np.frombuffer(held, np.uint8))
    held.append(1)
    assert compiled(np.zeros(3, np.uint8)) == 5


def test_a_method_writes_to_an_array_of_its_object_that_it_does_not_name():
    class Model:
        def __init__(self):
            self.state, self.rate = np.ones(3), 2.0

        def step(self, x):
            x[0] = 5.0
            return x * self.rate

    model = Model()
    assert jit(model.step)(model.state).tolist() == [10, 2, 2] and model.state.tolist() == [5, 1, 1]


def test_functions_in_a_trace_write_to_its_arrays():
    compiled = jit(first)
    agrees(lambda x: (compiled(x[1:]), x.sum()), np.ones(3))
    program = export(first)(ShapeDtypeStruct("n"))
    inner = jit(lambda x: (program(x[1:]), x.sum()))
    x = np.ones(3)
    result = inner(x)
    assert x.tolist() == [1, 5, 1] and float(result[1]) == 7
    with pytest.raises(ArgumentError, match="shares memory"):
        jit(export(swap)(ShapeDtypeStruct("n"), ShapeDtypeStruct("n")))(x, x[:])
    with pytest.raises(ArgumentError, match="x shares memory with y"):
        other = export(swap)(ShapeDtypeStruct("n"), ShapeDtypeStruct("n"))
        jit(lambda x: other(x, x[:]))(x)


def test_programs_that_write_are_saved_pickled_and_explained():
    program = export(lambda x, y: (x.__iadd__(y), x * 2))(ShapeDtypeStruct("n"), ShapeDtypeStruct("n"))
    program.save(file := io.BytesIO())
    for again in (program, anyshape.load(io.BytesIO(file.getvalue())), pickle.loads(pickle.dumps(program))):
        x = np.ones(3)
        result = again(x, np.arange(3.0))
        assert result[0] is x and x.tolist() == [1, 2, 3] and result[1].tolist() == [2, 4, 6]
        assert again.written == ("x",) and list(again.outputs) == ["result[0]", "result[1]"]
    with pytest.raises(ArgumentError, match="not an array"):
        export(lambda x: x.__iadd__(1))(ShapeDtypeStruct(()))(np.float64(1))
    assert "writes to\n    x\n" in str(jit(first).explain_call(np.ones(3)))
    assert [x.shape for x in leaves(anyshape.eval_shape(program, np.ones(3), np.ones(3)))] == [(3,), (3,)]


def test_a_profile_writes_to_copies():
    x = np.zeros(3)
    profile = anyshape.profile(jit(lambda x: x.__iadd__(1)), repeat=2, file=io.StringIO())(x)
    assert x.tolist() == [0, 0, 0] and profile.value.tolist() == [1, 1, 1]


def test_draws_are_written_once():
    def function(x, generator):
        x[:] = generator.normal(size=x.shape)

    x = np.zeros(3)
    jit(function)(x, np.random.default_rng(0))
    assert x.tolist() == np.random.default_rng(0).normal(size=3).tolist()


def test_a_differentiated_argument_is_written_to_as_a_copy():
    x = np.ones(3)
    assert grad(lambda x: first(x).sum())(x).tolist() == [0, 2, 2] and x.tolist() == [1, 1, 1]


class Wrapped:
    """Array-like whose array NumPy would make, or write to."""

    def __init__(self):
        self.elements = np.zeros(2)

    def __array__(self, dtype=None, copy=None):
        return self.elements


LIKE_ARRAYS = {
    "an object with __array__": Wrapped,
    "array.array": lambda: array.array("d", [0.0, 0.0]),
    "memoryview": lambda: memoryview(np.zeros(2)),
    "MaskedArray": lambda: np.ma.array([0.0, 0.0], mask=[False, True]),
    "other byte order": lambda: np.zeros(2, ">f8"),
    "objects": lambda: np.zeros(2, object),
}


@pytest.mark.parametrize("name", LIKE_ARRAYS)
def test_what_is_converted_is_not_written_to(name):
    x = LIKE_ARRAYS[name]()
    before = np.array(x.elements if name.startswith("an object") else x)
    weighted = grad(lambda y, x: (first(x) * y).sum())
    for call in (jit(first), lambda x: weighted(2.0, x)):
        with pytest.raises(ArgumentError, match=r"is read-only|by rules of its own|has dtype"):
            call(x)
    assert (np.asarray(x.elements if name.startswith("an object") else x) == before).all()


def test_elements_of_a_list_are_replaced_for_the_function_alone():
    with pytest.raises(MutationError, match=r"the caller would keep the old x\[0\]"):
        jit(lambda x: (x.__setitem__(0, 5.0), x[0] * 2)[1])(x := [1.0, 2.0])
    assert x == [1.0, 2.0]


def test_a_batch_writes_each_example_back_or_nothing():
    compiled = anyshape.vmap(first)
    for x in (np.zeros((2, 3)), np.zeros((2, 6))[:, ::2], np.zeros((3, 2)).T, np.zeros((2, 3), np.float32)):
        result = compiled(x)
        assert x.tolist() == [[5, 0, 0]] * 2 and result.tolist() == [[10, 0, 0]] * 2
    anyshape.vmap(first, in_axes=1)(x := np.zeros((2, 3)))
    assert x.tolist() == [[5, 5, 5], [0, 0, 0]]
    with pytest.raises(ArgumentError, match="read-only"):
        compiled(np.broadcast_to(np.zeros(3), (2, 3)))

    def fails(x, k):
        x[0] = 7
        return x[k]

    for transform in (jit, lambda f: anyshape.vmap(f, in_axes=(0, None))):
        with pytest.raises(IndexError):
            transform(fails)(x := np.zeros((2, 3)), 9)
        assert not x.any()


def test_copies_of_examples_stay_as_they_were_before_a_write():
    def function(x):
        copy, view = x.copy(), x[::-1]
        x[0] = 5.0
        return copy, view, copy * 1

    def inside(x):
        y = x * 1.0
        return anyshape.vmap(function)(y), y

    for transform, axis in ((jit(anyshape.vmap(function)), 0), (anyshape.vmap(function, in_axes=1, out_axes=1), 1)):
        x = np.arange(6.0).reshape(2, 3)
        before, after = x.copy(), x.copy()
        after[(slice(None),) * (1 - axis) + (0,)] = 5.0
        for got, expected in zip((*transform(x), x), (before, np.flip(after, 1 - axis), before, after), strict=True):
            np.testing.assert_array_equal(got, expected)
    (copy, *_), y = jit(inside)(before)
    np.testing.assert_array_equal(copy, before)
    assert y[:, 0].tolist() == [5, 5]


def test_an_exception_of_python_writes_nothing():
    def function(x):
        x[0] += 7
        if x.sum() > 10:
            raise ValueError("too large")
        return x.sum()

    compiled, x = jit(function), np.zeros(2)
    assert compiled(x) == 7 and x.tolist() == [7, 0]
    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            compiled(x)
        assert x.tolist() == [7, 0]
    assert compiled(y := np.full(2, -1.0)) == 5 and y.tolist() == [6, -1]
