"""An operation whose result is not used refuses what it refuses where it is used, with the same words."""

from functools import wraps

import numpy as np
import pytest

import anyshape
from anyshape import check, export, grad, jit, jvp, linearize, ops, vmap
from anyshape.errors import AnyshapeError, CheckError, ShapeError
from anyshape.graph.ir.graph import OPS
from anyshape.ops.core.apply import KERNELS

X = np.arange(6.0).reshape(2, 3)
LINE = np.arange(3.0)
INTS = np.arange(3)
FAR = np.array([0, 9, -7])

# name: (function of arrays, arrays that it refuses, arrays that it takes)
REFUSING = {
    "index": (lambda x, i: x[i], (LINE, FAR), (LINE, np.array([2, -3]))),
    "index, scalar": (lambda x, i: x[i], (LINE, np.array(7)), (LINE, np.array(-1))),
    "index, negative": (lambda x, i: x[i], (LINE, np.array([-4])), (LINE, np.array([-3]))),
    "index, unsigned": (lambda x, i: x[i], (LINE, FAR.astype(np.uint8)), (LINE, np.array([2], np.uint8))),
    "index, last axis": (lambda x, i: x[:, i], (X, FAR), (X, np.array([2, -3]))),
    "index, two arrays": (lambda x, i: x[i, i], (X, np.array([0, 2])), (X, np.array([1, -2]))),
    "index, beside a slice": (lambda x, i: x[i, 1:], (X, np.array([2])), (X, np.array([1]))),
    "index, no rows to read": (lambda x, i: x[i], (np.ones((3, 0)), FAR), (np.ones((0, 3)), FAR[:0])),
    "index, empty axis": (lambda x, i: x[i], (LINE[:0], FAR), (LINE[:0], FAR[:0])),
    "index, broadcast away": (lambda x, i, j: x[i, j], (X, FAR[:, None] + 5, FAR), (X, FAR[:, None], FAR[:0])),
    "constant index": (lambda x: x[np.array([1, 3])], (LINE,), (np.ones(4),)),
    "integer": (lambda x: x[3], (LINE,), (np.ones(4),)),
    "take": (lambda x, i: np.take(x, i, axis=1), (X, FAR), (X, np.array([1]))),
    "take, clip": (lambda x, i: np.take(x, i, mode="clip"), (LINE[:0], FAR), (LINE, FAR)),
    "take_along_axis": (lambda x, i: np.take_along_axis(x, i, 1), (X, FAR[:2, None]), (X, np.array([[0], [-1]]))),
    "gather": (lambda x, i: rows(x, i), (X, np.array([[2]])), (X, np.array([[1]]))),
    "gather, clip": (lambda x, i: rows(x, i, mode="clip"), (X[:0], np.array([[2]])), (X, np.array([[9]]))),
    "at, add": (lambda x, i: ops_at(x)[i].add(1.0), (LINE, FAR), (LINE, np.array([2, -3]))),
    "at, set": (lambda x, i: ops_at(x)[i].set(1.0), (LINE, FAR), (LINE, np.array([2, -3]))),
    "put_add": (lambda x, i: ops.put_add(x, i, 3), (X, FAR[:2]), (X, np.array([0, 2]))),
    "permute": (lambda x, i: ops.permute(*np.broadcast_arrays(x, i), 0), (LINE, FAR), (LINE, np.array([2, 0, 1]))),
    "power": (lambda x, y: x**y, (INTS, np.array([1, 2, -1])), (INTS, np.array([1, 2, 0]))),
    "power of nothing": (lambda x, y: x**y, (INTS, np.array(-1)), (INTS[:0], np.array(-1))),
    "Python int": (lambda x, k: x + k, (INTS.astype(np.uint8), 300), (INTS.astype(np.uint8), 3)),
    "Python ints": (lambda x, j, k: x + j**k, (LINE, 10, 400), (LINE, 10, 2)),
    "Python ints, division": (lambda x, j, k: x + j // k, (LINE, 10, 0), (LINE, 10, 2)),
    "repeat": (lambda x, n: np.repeat(x, n), (LINE, np.array([1, -1, 2])), (LINE, np.array([1, 0, 2]))),
    "size": (lambda x, k: ops.dynamic_truncate(x, k), (LINE, np.nan), (LINE, 2.0)),
    "bincount": (lambda x: np.bincount(x), (INTS - 1,), (INTS,)),
    "bincount, weights": (lambda x, i: np.bincount(i, weights=x), (LINE, INTS - 1), (LINE, INTS)),
    "max of nothing": (lambda x: np.max(x[x > 9]), (LINE,), (LINE + 9,)),
    "sizes that data give": (lambda x: x[x > 1] + x[x > 0], (np.arange(4.0),), (LINE,)),
    "reshape": (lambda x: x.reshape(2, -1), (LINE,), (np.ones(4),)),
    "check of values": (lambda x: check(x >= 0, "is not negative"), (-LINE,), (LINE,)),
    "check of sizes": (lambda x: check(lambda: x.shape[0] % 2 == 0, "is even"), (LINE,), (np.ones(4),)),
    "average": (lambda x, w: np.average(x, weights=w), (LINE[:0], LINE[:0]), (LINE, LINE)),
    "average along an axis": (lambda x, w: np.average(x, axis=0, weights=w), (X[:, :0], np.zeros(2)), (X, np.ones(2))),
    "average of nothing": (lambda x, w: np.average(x, axis=0, weights=w), (X[:0, :0], LINE[:0]), (X, np.ones(2))),
}


def rows(x, i, **options):
    numbers = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "index_vector_dim": 1}
    return ops.gather(x, i, slice_sizes=(1, x.shape[1]), **numbers, **options)


def ops_at(x):
    return x.at if hasattr(x, "at") else anyshape.numpy.at(x)


def first_line(error):
    return str(error).splitlines()[0].partition(" at test_")[0]


def refusal(function, *arrays):
    try:
        function(*arrays)
    except (ValueError, ArithmeticError, IndexError) as error:
        assert isinstance(error, AnyshapeError), repr(error)
        return type(error), first_line(error)
    return None


def unused(function):
    return wraps(function)(lambda *arrays: (function(*arrays), np.sum(arrays[0]))[1])


def of_its_size(function):
    """Read the result for its dtype and shape alone."""
    like = anyshape.numpy.zeros_like
    return wraps(function)(lambda *arrays: np.sum(like(function(*arrays))) + np.sum(arrays[0]))


every_case = pytest.mark.parametrize("name", REFUSING)


@every_case
def test_unused_results_are_refused_like_used_ones(name):
    function, refused, taken = REFUSING[name]
    expected = refusal(jit(function), *refused)
    assert expected is not None
    assert refusal(jit(unused(function)), *refused) == expected
    jit(unused(function))(*taken)
    jit(function)(*taken)


@every_case
def test_a_result_that_is_read_for_its_shape_is_refused(name):
    function, refused, taken = REFUSING[name]
    if name.startswith("check"):
        pytest.skip("a check has no result")
    assert refusal(jit(of_its_size(function)), *refused) == refusal(jit(function), *refused)
    jit(of_its_size(function))(*taken)


DIFFERENTIABLE = ["index", "index, last axis", "take_along_axis", "gather", "at, set", "put_add", "repeat", "average"]


def at_two_places(function):
    """Apply vmap to a batch of two equal examples."""
    return lambda *arrays: vmap(function)(*[np.stack([x, x]) for x in arrays])[0]


TRANSFORMS = {
    "grad": lambda f: lambda x, *rest: grad(lambda x: f(x, *rest))(x),
    "second derivative": lambda f: lambda x, *rest: grad(lambda x: np.sum(grad(lambda x: f(x, *rest))(x)))(x),
    "jvp": lambda f: lambda x, *rest: jvp(lambda x: f(x, *rest), (x,), (x,)),
    "linearize": lambda f: lambda x, *rest: linearize(lambda x: f(x, *rest), x)[1](x),
    "checkpoint": lambda f: lambda x, *rest: grad(anyshape.checkpoint(lambda x: f(x, *rest)))(x),
    "vmap": at_two_places,
    "grad of vmap": lambda f: lambda x, *rest: grad(lambda x: at_two_places(f)(x, *rest))(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_unused_results_are_refused_in_transforms(name, transform):
    function, refused, taken = REFUSING[name]
    if "vmap" in transform and name == "repeat":
        pytest.skip("examples of different sizes have no vmap")
    transformed = jit(TRANSFORMS[transform](unused(function)))
    seen = refusal(transformed, *refused)
    assert seen is not None
    if "vmap" not in transform:  # there, positions are of the batch
        assert seen == refusal(jit(function), *refused)
    transformed(*taken)


@every_case
def test_unused_results_are_refused_by_saved_programs(name, tmp_path):
    function, refused, taken = REFUSING[name]
    program = jit(unused(function))
    program(*taken)
    ways = {"inlined": jit(lambda *arrays: program.programs()[0](*arrays))}
    program.programs()[0].save(tmp_path / "program")
    ways["loaded"] = anyshape.load(tmp_path / "program")
    for call in ways.values():
        call(*taken)
        assert refusal(call, *refused) is not None


def test_exported_programs_refuse_indices():
    program = export(unused(REFUSING["index"][0]))(LINE, anyshape.ShapeDtypeStruct("k", int))
    with pytest.raises(ShapeError, match="index 9 is out of bounds for axis 0 with size 3"):
        program(LINE, FAR)
    assert program(LINE, FAR[:1]) == 3


def test_a_check_costs_nothing_where_another_step_makes_it():
    """The gradient of a read writes at the same positions, which are checked there."""

    def loss(x, i):
        return np.sum(x[i] * 2.0) + np.sum(np.take(x, i))

    for function in (loss, grad(loss), jit(lambda x, i: jvp(lambda x: loss(x, i), (x,), (x,)))):
        jitted = jit(function)
        jitted(LINE, np.array([0, 2, -1]))
        assert "bounds" not in str(jitted.programs()[0].plan)


@pytest.mark.parametrize("size", [2, 5000])
def test_steps_that_would_run_in_tiles_are_refused(size):
    def powers(x, y):
        return (np.abs(x) ** np.abs(y) * x**y * 2, np.sum(x))[1]

    jitted, x = jit(powers), np.arange(size)
    assert jitted(x, x % 3) == np.sum(x)
    with pytest.raises(ShapeError, match=r"^x \*\* y: Integers to negative integer powers"):
        jitted(x, x % 3 - 1)


def test_equal_unused_results_are_checked_once():
    def reads(x, i, j):
        return (x[i], np.take(x, i), x[j], np.sum(x))[-1]

    jitted = jit(reads)
    jitted(LINE, FAR[:1], FAR[:1])
    assert str(jitted.programs()[0].plan).count("index_bounds") == 2


def test_no_value_is_computed_for_a_check_alone():
    jitted = jit(lambda x, i: (np.exp(x)[i], np.sum(x))[1])
    jitted(LINE, FAR[:1])
    assert "exp" not in str(jitted.programs()[0].plan)


def test_every_op_that_raises_on_values_states_its_refusals():
    """Kernels that raise for some value of an operand, tried on values that no array should take."""
    stated = {name for name, op in OPS.items() if op.refusals is not None or op.raises}
    elementwise = {"narrow", "python_int", "pow"}
    positions = {"take", "put_add", "gather", "gather_dynamic", "permute", *[n for n in OPS if n.startswith("scatter")]}
    sizes = {"size_token", "repeated", *[n for n in OPS if n.startswith("segment_")]}
    assert elementwise | positions | sizes | {"check"} <= stated
    silent = [op for name, op in OPS.items() if name not in stated]
    raising = [op.name for op in silent if raises_on_values(op)]
    assert not raising, f"{raising}: declare their refusals with `refuse`"


WORST = {
    "b": [False, True],
    "i": [-(2**62), -7, -1, 0, 1, 9, 2**62],
    "f": [-np.inf, -7.5, 0.0, 9.0, np.inf, np.nan],
}


def raises_on_values(op):
    """Tell whether a kernel of equal operands raises on some of the worst values, but not on ones."""
    for dtype, values in WORST.items():
        for count in (1, 2):
            for x in values:
                for params in ({}, {"axis": 0}, {"axes": (0,)}):
                    arrays = [np.full(3, x, dtype if dtype != "i" else np.int64)] * count
                    good = [np.ones_like(a) for a in arrays]
                    if accepts(op, good, params) and not accepts(op, arrays, params):
                        return True
    return False


def accepts(op, arrays, params):
    with np.errstate(all="ignore"):
        try:
            KERNELS[op].run(*arrays, **params)
        except Exception:
            return False
    return True


def test_an_integer_that_is_not_used_has_the_error_of_a_check():
    with pytest.raises(CheckError, match="cannot be negative"):
        jit(unused(lambda x, n: np.repeat(x, n)))(LINE, np.array([-1, 0, 0]))
