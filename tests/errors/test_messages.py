"""Bad input: each has an error of its own, with the data and the user's line, and the next call works."""

import contextlib
import copy
import inspect
import pickle
import queue
import traceback
import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, associative_scan, errors, export, grad, jit, jvp, linearize, trace, vjp, vmap
from anyshape.graph.ir.builder import active_builders
from anyshape.graph.prover.constraints import SourceLine

pytestmark = pytest.mark.usefixtures("as_written")

X, M = np.ones(3), np.ones((2, 3))
HERE = "test_messages.py"


@pytest.fixture(autouse=True)
def _no_state_is_left():
    """After each test no trace is active and an ordinary call works."""
    yield
    assert not active_builders()
    value, derivative = anyshape.value_and_grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    assert value == 5.0 and derivative.tolist() == [2.0, 4.0]


def fails(kind, words, function, *args):
    """The error of a call; the same call fails the same way again."""
    for _ in range(2):
        with pytest.raises(kind, match=words) as caught:
            function(*args)
        assert isinstance(caught.value, errors.AnyshapeError)
        assert len(str(caught.value).splitlines()) >= 2, "no advice"
        assert not active_builders()
    return caught.value


def in_line(error):
    """The error names a line of this file."""
    where = getattr(error, "where", None)
    return where is not None and str(where).startswith(HERE) and f" at {where}" in str(error)


# -- arguments ---------------------------------------------------------------------------------------------------


def program():
    return trace(lambda p, y: p["w"] * y)({"w": ShapeDtypeStruct("n")}, ShapeDtypeStruct("n"))


PROGRAM_ARGUMENTS = [
    (({"w": M}, X), r"p\['w'\] is float64 with 2 axes, not f64\[n\]"),
    (({"w": X.astype(np.float32)}, X), r"p\['w'\] is float32 with 1 axes"),
    (({"w": X}, np.arange(3)), r"y is int64"),
    (({"v": X}, X), "the arguments have the structure"),
    (({"w": X},), "the arguments have the structure"),
    (({"w": np.array([1, None])}, X), r"p\['w'\] has dtype object"),
    (({"w": object()}, X), r"p\['w'\] is of type object"),
]


@pytest.mark.parametrize(("args", "words"), PROGRAM_ARGUMENTS)
def test_a_program_refuses_other_arguments(args, words):
    made = program()
    fails(errors.ArgumentError, words, made, *args)
    assert made({"w": X}, X).tolist() == [1, 1, 1]


def test_a_program_refuses_sizes_that_do_not_fit():
    made = program()
    words = r"y.shape\[0\] = 4 does not fit n \(n = 3 from p\['w'\].shape\[0\]\)"
    error = fails(errors.InputSizeError, words, made, {"w": X}, np.ones(4))
    assert error.sizes == {"y.shape[0]": 4, "n": 3}
    fixed = trace(lambda x: x)(ShapeDtypeStruct("3"))
    fails(errors.SizeMismatchError, r"x.shape\[0\] = 4 does not fit 3", fixed, np.ones(4))
    assert fixed(X).shape == (3,)


class Unhashable:
    __hash__ = None


LEAVES = [
    ({"w": np.array(["a", None], object)}, r"p\['w'\] has dtype object"),
    ([np.array(["a"])], r"p\[0\] has dtype <U1"),
    (bytearray(b"abc"), r"p is of type bytearray"),
    (np.array(["2020-01-01"], "M8[D]"), r"p has dtype datetime64"),
    (np.zeros(2, [("a", float)]), r"p has dtype \[\('a'"),
    (np.ones(3, ">f8"), "native byte order"),
]


OBJECTS = [
    ({"w": object()}, r"p\['w'\] is of type object"),
    ((X, {1, 2}), r"p\[1\] is of type set"),
    ([Unhashable()], r"p\[0\] is of type Unhashable"),
]


@pytest.mark.parametrize(("leaf", "words"), OBJECTS, ids=[w for _, w in OBJECTS])
@pytest.mark.parametrize("transform", [grad, anyshape.jacfwd, anyshape.hessian, vmap])
def test_an_object_is_named_where_it_is_differentiated_or_mapped(transform, leaf, words):
    fails(errors.ArgumentError, words, transform(lambda p: np.sum(p["w"] * p["w"])), leaf)


@pytest.mark.parametrize(("leaf", "words"), LEAVES, ids=[w for _, w in LEAVES])
@pytest.mark.parametrize("transform", [jit, grad, anyshape.jacfwd, anyshape.hessian, vmap])
def test_a_leaf_that_is_no_array_is_named_by_its_path(transform, leaf, words):
    made = transform(lambda p: np.sum(p["w"] * p["w"]))
    fails(errors.ArgumentError, words, made, leaf)
    assert made({"w": np.ones((2, 2))}) is not None


def test_a_keyword_leaf_is_named():
    fails(
        errors.ArgumentError,
        r"scale\['a'\] is of type generator",
        lambda: jit(lambda *, scale: scale)(scale={"a": (x for x in [])}),
    )


def test_none_is_a_tree_without_leaves():
    assert jit(lambda p: p["x"] if p["mask"] is None else 0)({"x": X, "mask": None}).tolist() == [1, 1, 1]
    assert jit(lambda x: None)(X) is None


# -- sizes -------------------------------------------------------------------------------------------------------

SIZES = [
    ("matmul", lambda x, y: x @ y, (M, M), r"x.shape\[1\] \(3\) must equal y.shape\[0\] \(2\)"),
    ("add", lambda x, y: x + y, (X, np.ones(4)), "or one of them must be 1"),
    ("where", lambda x, y: np.where(x > 0, x, y), (X, np.ones(4)), "or one of them must be 1"),
    (
        "concatenate",
        lambda x, y: np.concatenate([x, y]),
        (M, np.ones((2, 2))),
        r"x.shape\[1\] \(3\) must equal y.shape\[1\] \(2\)",
    ),
    ("stack", lambda x, y: np.stack([x, y]), (M, np.ones((2, 2))), r"must equal y.shape\[1\]"),
    ("reshape", lambda x, y: x.reshape(2, 2) + y, (X, 1.0), r"x.shape\[0\] \(3\) must equal 4"),
    ("reshape -1", lambda x, y: x.reshape(2, -1) + y, (X, 1.0), "must be divisible by 2"),
    ("max of nothing", lambda x, y: x.max() + y, (np.ones(0), 1.0), "must be at least 1"),
    (
        "negative size",
        lambda x, y: anp.zeros(x.shape[0] - 5) + y,
        (X, 1.0),
        r"x.shape\[0\] - 5 \(-2\) must be at least 0",
    ),
]


@pytest.mark.parametrize(("name", "function", "args", "words"), SIZES, ids=[s[0] for s in SIZES])
def test_sizes_that_cannot_agree(name, function, args, words):
    with pytest.raises((ValueError, IndexError)):  # as NumPy does; a list of sizes that disagree are ValueErrors
        function(*args)
    made = jit(function)
    error = fails(errors.ShapeError, words, made, *args)
    assert in_line(error)
    assert all(isinstance(s, int) for s in error.sizes.values())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(2),
        lambda x: np.concatenate([x, x], axis=2),
        lambda x: np.swapaxes(x, 0, 5),
        lambda x: np.sort(x, 2),
    ],
)
def test_an_axis_that_is_not_there(function):
    error = fails(errors.AxisError, "out of bounds for array of dimension", jit(function), M)
    assert isinstance(error, np.exceptions.AxisError) and in_line(error)
    with pytest.raises(np.exceptions.AxisError) as numpys:
        function(M)
    assert (error.axis, error.ndim) == (numpys.value.axis, numpys.value.ndim)


def test_a_size_mismatch_does_not_spoil_the_program():
    made = jit(lambda x, y: x @ y)
    fails(errors.SizeMismatchError, "must equal", made, M, M)
    assert made(M, M.T).tolist() == [[3, 3], [3, 3]]
    fails(errors.SizeMismatchError, "must equal", made, M, M)
    assert made.cache_info().traces == 1


SPECS = ShapeDtypeStruct("n, 4"), ShapeDtypeStruct("5, m")


def test_fixed_sizes_fail_while_tracing():
    make = trace(lambda x, y: x @ y)
    error = fails(
        errors.ShapeError,
        r"x.shape\[1\] \(4\) must equal y.shape\[0\] \(5\)",
        make,
        ShapeDtypeStruct("n, 4"),
        ShapeDtypeStruct("5, m"),
    )
    assert in_line(error) and len(error.operands) == 2
    fails(errors.ShapeError, "3 and 2", anyshape.eval_shape, np.matmul, M, M)


FLOAT_SIZES = [
    (lambda x: x.reshape(1.5, 2), errors.DTypeError, "1.5 is not an integer"),
    (lambda x: x.reshape(float("nan")), errors.DTypeError, "nan is not an integer"),
    (lambda x: np.reshape(x, (3.0,)), errors.DTypeError, "3.0 is not an integer"),
    (lambda x: anp.zeros((x.shape[0], 2.5)), errors.DTypeError, "2.5 is not an integer"),
    (lambda x: x.reshape(x.shape[0] / 3, 3), errors.ConcretizationError, "a Python int"),
    (lambda x: anp.zeros(x.sum()), errors.ConcretizationError, "a Python int"),
    (lambda x: anp.zeros(x.shape[0] * 0.5), errors.ConcretizationError, "a Python int"),
    (lambda x: np.broadcast_to(x, (2.0, 3)), errors.DTypeError, "2.0 is not an integer"),
]


@pytest.mark.parametrize(("function", "kind", "words"), FLOAT_SIZES)
def test_a_size_is_an_integer(function, kind, words):
    assert in_line(fails(kind, words, jit(function), X))


def test_an_int_that_is_no_size_is_told_how_to_become_one():
    specs = ShapeDtypeStruct("3"), ShapeDtypeStruct("", int)
    message = str(fails(errors.ConcretizationError, "a Python int", trace(lambda x, k: range(k)), *specs))
    assert "dynamic_shapes={'k': 'k'}" in message and "static" in message


@pytest.mark.parametrize("size", [2.5, float("nan"), "3", None])
def test_concrete_sizes_are_refused_by_numpy_itself(size):
    if size is None:
        pytest.skip("None is the shape of a scalar")
    with pytest.raises(TypeError):
        jit(lambda x: x + anp.zeros(size))(X)


# -- results -----------------------------------------------------------------------------------------------------

RESULTS = [
    (lambda x: object(), "the result is of type object"),
    (lambda x: {"a": [x, object()]}, r"the result\['a'\]\[1\] is of type object"),
    (lambda x: {1, 2}, "the result is of type set"),
    (lambda x: lambda: x, "the result holds .*lambda>, made while tracing"),
]


@pytest.mark.parametrize(("function", "words"), RESULTS)
def test_a_result_that_is_no_array(function, words):
    fails(errors.ArgumentError, words, jit(function), X)
    fails(errors.ArgumentError, "not an array|made while tracing", anyshape.jacrev(function), X)


GRADS = [
    (lambda x: x * 2, X, errors.ArgumentError, r"the value is f64\[x.shape\[0\]\], not a scalar"),
    (lambda x: (x.sum(), x.sum()), X, errors.ArgumentError, "the value is of type tuple"),
    (lambda x: None, X, errors.ArgumentError, "the value is of type NoneType"),
    (lambda x: "text", X, errors.ArgumentError, "the value is of type str"),
    (lambda p: p["w"].sum(), {"w": np.arange(3)}, errors.ArgumentError, r"p\['w'\] has dtype int64"),
    (lambda x: x * 2, 2, errors.ArgumentError, r"x has dtype int64, which has no derivative"),
    (lambda x: x.sum(), np.array([True]), errors.ArgumentError, "dtype bool"),
    (lambda x: (x * 1j).sum(), X, errors.DTypeError, "complex128"),
    (lambda x: x.astype(int).sum(), X, errors.DTypeError, "int64, which has no derivative"),
    (lambda x: (x > 0).all(), X, errors.DTypeError, "bool, which has no derivative"),
]


@pytest.mark.parametrize(("function", "x", "kind", "words"), GRADS)
def test_what_grad_refuses(function, x, kind, words):
    fails(kind, words, grad(function), x)
    fails(kind, words, anyshape.value_and_grad(function), x)


ARGNUMS = [
    (2, "argnums 2 is out of range for 1 arguments"),
    (-2, "argnums -2 is out of range"),
    ((0, 1), "argnums 1 is out of range"),
    ("x", "argnums is 'x'"),
    (0.0, "argnums is 0.0"),
    ((0.5,), r"argnums is \(0.5,\)"),
    (None, "argnums is None"),
]


@pytest.mark.parametrize(("argnums", "words"), ARGNUMS)
@pytest.mark.parametrize("transform", [grad, anyshape.jacfwd, anyshape.jacrev, anyshape.hessian])
def test_argnums(transform, argnums, words):
    fails(errors.ArgumentError, words, lambda x: transform(lambda x: x.sum(), argnums=argnums)(x), X)


def test_has_aux_needs_a_pair():
    fails(errors.ArgumentError, "not a pair", grad(lambda x: x.sum(), has_aux=True), X)
    fails(errors.ArgumentError, "not a pair", lambda: vjp(lambda x: x.sum(), X, has_aux=True))


CALLS = {
    "jit": lambda f: jit(f),
    "grad": lambda f: grad(f),
    "value_and_grad": lambda f: anyshape.value_and_grad(f),
    "jacfwd": lambda f: anyshape.jacfwd(f),
    "jacrev": lambda f: anyshape.jacrev(f),
    "vmap": lambda f: vmap(f),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "vjp": lambda f: vjp(f, X),
    "linearize": lambda f: linearize(f, X),
    "trace": lambda f: trace(f),
    "eval_shape": lambda f: anyshape.eval_shape(f, X),
    "check_grads": lambda f: anyshape.check_grads(f, (X,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_function(name):
    error = fails(errors.ArgumentError, "of type int, not a function", CALLS[name], 3)
    assert error.function == name


# -- leaks -------------------------------------------------------------------------------------------------------


KEPT = queue.SimpleQueue()


@pytest.fixture
def leaked():
    """A traced array that outlived its trace."""

    def keeps(x):
        KEPT.put(x * 2)
        return x

    jit(keeps)(X)
    return KEPT.get(timeout=5)


LEAKS = [
    ("outside", lambda v: v + 1),
    ("NumPy outside", lambda v: np.sin(v)),
    ("function outside", lambda v: np.sum(v)),
    ("with an array", lambda v: X @ v),
    ("method outside", lambda v: v.mean()),
    ("index outside", lambda v: v[0]),
    ("bool outside", lambda v: bool(v)),
    ("value outside", lambda v: np.asarray(v)),
    ("in a later trace", lambda v: jit(lambda x: x + v)(X)),
    ("alone in a later trace", lambda v: jit(lambda x: np.sin(v))(X)),
    ("returned", lambda v: jit(lambda x: v)(X)),
    ("in grad", lambda v: grad(lambda x: np.sum(x * v))(X)),
    ("in vmap", lambda v: vmap(lambda x: x * v)(M)),
    ("in vjp", lambda v: vjp(lambda x: x * v, X)),
    ("as argument", lambda v: jit(lambda x: x)(v)),
    ("in a tree of arguments", lambda v: grad(lambda p: p["w"].sum())({"w": v})),
    ("its size in a later trace", lambda v: jit(lambda x: x * v.shape[0])(X)),
    ("its size as a shape", lambda v: jit(lambda x: anp.zeros(v.shape[0]))(X)),
    ("its size in a decision", lambda v: jit(lambda x: x if v.shape[0] > 2 else -x)(X)),
    ("its size as an int", lambda v: int(v.shape[0])),
]


@pytest.mark.parametrize(("name", "use"), LEAKS, ids=[name for name, _ in LEAKS])
def test_a_traced_array_that_leaks(name, use, leaked):
    error = fails(errors.LeakedTracerError, "after its trace had ended", use, leaked)
    assert str(error.where).startswith(HERE)
    assert error.origin is None or str(error.origin).startswith(HERE)


def test_a_leak_names_the_line_that_made_it(leaked):
    error = fails(errors.LeakedTracerError, rf"made by x \* 2 at {HERE}:\d+,", lambda: leaked + 1)
    assert error.origin.function == "keeps"


def test_leaks_through_closures_and_inner_traces():
    def closure(x):
        values = []
        grad(lambda y: (values.append(y * y), np.sum(y * y))[1])(x)
        return x + values[0]

    def rows(x):
        values = []
        vmap(lambda r: (values.append(r), r)[1])(x)
        return values[0]

    fails(errors.LeakedTracerError, "after its trace", jit(closure), X)
    fails(errors.LeakedTracerError, "after its trace", jit(rows), M)


def test_a_leak_can_be_printed(leaked):
    assert repr(leaked).startswith("Array<f64[x.shape[0]] made by x * 2 at test_messages.py:")
    assert str(leaked.shape) == "(x_0,)"


def test_a_failed_trace_leaks_too():
    def keeps(x):
        KEPT.put(x)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        jit(keeps)(X)
    leaked = KEPT.get(timeout=5)
    fails(errors.LeakedTracerError, "after its trace", lambda: leaked + 1)


# -- what Python may not ask of a traced array -------------------------------------------------------------------


def while_positive(x):
    while x.sum() > 0:
        x = x - 1
    return x


def writes_an_element(x):
    y = np.ones(3)
    y[0] = x[0]
    return y


def masks_a_concrete_array(x):
    y = np.ones(3)
    y[x > 0] = 2.0
    return y


VALUES = {
    "float": lambda x: float(x.sum()),
    "complex": lambda x: complex(x.sum()),
    "asarray": np.asarray,
    "array": np.array,
    "array of a list": lambda x: np.array([x.sum(), 1.0]),
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "math": lambda x: __import__("math").sin(x.sum()),
    "element of an array": writes_an_element,
    "mask of an array": masks_a_concrete_array,
}


DECISIONS = {
    "if": lambda x: 1 if x.sum() > 0 else 0,
    "while": while_positive,
    "and": lambda x: (x.sum() > 0) and x,
    "not": lambda x: not x.sum(),
    "chained": lambda x: 0 < x.sum() < 1,
    "int": lambda x: int(x.sum()),
    "index of a list": lambda x: [1, 2, 3][x.sum().astype(int)],
    "index of an array": lambda x: X[x.sum().astype(int)],
    "in": lambda x: 1.0 in x,
    "range": lambda x: list(range(x.sum().astype(int))),
}


ADVICE = ("while_loop", "dynamic_shapes", "np.isin(x, values)", "anyshape.numpy.take(X, i, axis=0)")


@pytest.mark.parametrize("name", DECISIONS)
def test_a_program_for_every_call_takes_no_decision_on_a_value(name):
    for program in (trace, export):
        error = fails(errors.ConcretizationError, "which is not known", program(DECISIONS[name]), ShapeDtypeStruct("3"))
        assert in_line(error) and any(word in str(error) for word in ADVICE)
        assert jit(DECISIONS[name])(np.zeros(3)) is not None


@pytest.mark.parametrize("name", VALUES)
def test_the_value_of_a_traced_array_is_not_known(name):
    for transform, x in ((jit, X), (grad, X), (vmap, M)):
        error = fails(errors.ConcretizationError, "which is not known while tracing", transform(VALUES[name]), x)
        assert in_line(error)


def adds_to_the_argument(x):
    x += 1
    return x


def sets(x):
    x[0] = 1
    return x


def deletes(x):
    del x[0]
    return x


def sorts(x):
    x.sort()
    return x


def adds_to_a_concrete_array(x):
    y = np.ones(3)
    y += x
    return y


CHANGES = {
    "set": sets,
    "delete": deletes,
    "in place": adds_to_the_argument,
    "sort": sorts,
    "fill": lambda x: x.fill(0.0),
    "out of a ufunc": lambda x: np.sin(x, out=x),
    "out of a ufunc, concrete": lambda x: np.add(x, 1, out=np.ones(3)),
    "+= of a concrete array": adds_to_a_concrete_array,
}


@pytest.mark.parametrize("name", CHANGES)
def test_arguments_of_combinations_and_arrays_of_numpy_are_never_changed(name):
    x = np.arange(6.0).reshape(2, 3)
    words = "is an argument|cannot be changed so|cannot hold traced values"
    combined = jit(lambda x: associative_scan(lambda a, b: CHANGES[name](a) + b, x))
    error = fails(errors.MutationError, words, combined, x)
    assert in_line(error) and error.instead
    assert x.ravel().tolist() == [0, 1, 2, 3, 4, 5]


ITERATIONS = {
    "for": lambda x: sum(r for r in x),
    "unpack": lambda x: max(*x),
    "list": list,
    "assign": lambda x: [a for a, *_ in [x]],
    "zip": lambda x: [a * b for a, b in zip(x, x)],
}


@pytest.mark.parametrize("name", ITERATIONS)
def test_iteration_over_a_run_time_size_names_scan(name):
    function = ITERATIONS[name]
    for transformed in (jit(lambda x: function(x[x > 1])), lambda x: trace(function)(ShapeDtypeStruct("n"))):
        error = fails(errors.SymbolicIterationError, "whose size is not known", transformed, X)
        assert "anyshape.scan" in str(error)


def test_iteration_over_a_fixed_axis_is_fine():
    assert trace(lambda x: sum(r for r in x))(ShapeDtypeStruct("3, n"))(np.ones((3, 2))).tolist() == [3, 3]
    assert jit(lambda x: sum(r for r in np.stack([x, x])))(X).tolist() == [2, 2, 2]


UNSUPPORTED = {
    "numpy.array_str": (np.array_str, X),
    "np.save": (lambda x: np.save("nowhere", x), X),
    "gcd.reduce": (lambda x: np.gcd.reduce(x.astype(int)), X),
    "isnat": (np.isnat, X),
    r"np.sin\(x, where=x > 0\): option 'where'": (lambda x: np.sin(x, where=x > 0), X),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_numpy_has_and_programs_have_not(name):
    function, x = UNSUPPORTED[name]
    assert in_line(fails(errors.UnsupportedFunctionError, name, jit(function), x))


# -- vmap, tangents and cotangents -------------------------------------------------------------------------------

VMAPS = [
    (
        lambda: vmap(lambda a, b: a + b)(M, np.ones((3, 3))),
        ValueError,
        r"a.shape\[0\] \(2\) must equal b.shape\[0\] \(3\)",
    ),
    (lambda: vmap(lambda a: a, axis_size=7)(M), ValueError, r"7 must equal a.shape\[0\] \(2\)"),
    (lambda: vmap(lambda a: a, in_axes=5)(M), TypeError, r": a has no axis 5"),
    (lambda: vmap(lambda p: p["w"], in_axes=({"w": 2},))({"w": M}), TypeError, r"p\['w'\] has no axis 2"),
    (lambda: vmap(lambda a: a, in_axes=(0, 0))(M), TypeError, "in_axes has 2 entries for 1 arguments"),
    (lambda: vmap(lambda a: a, in_axes="a")(M), TypeError, "in_axes is 'a' for a"),
    (lambda: vmap(lambda a: a, in_axes=0.0)(M), TypeError, "in_axes is 0.0 for a"),
    (lambda: vmap(lambda a: a)(1.0), TypeError, r": a has no axis 0"),
    (lambda: vmap(lambda a: a, in_axes=None)(M), TypeError, "maps no argument"),
    (lambda: vmap(lambda a: a, in_axes=None, axis_size=2.5)(M), TypeError, "2.5 is not an integer"),
    (lambda: vmap(lambda a: a, out_axes=4)(M), TypeError, "the result has no axis 4"),
    (lambda: vmap(lambda a: a, out_axes=(0, 0))(M), TypeError, "out_axes does not match"),
    (lambda: vmap(lambda a: a, out_axes=None)(M), TypeError, "differs along the mapped axis"),
]


@pytest.mark.parametrize(("call", "kind", "words"), VMAPS, ids=[w for _, _, w in VMAPS])
def test_what_vmap_refuses(call, kind, words):
    fails(kind, words, call)


def pullback(ct):
    return vjp(lambda x: {"a": np.sin(x)}, X)[1](ct)


def pushforward(*ts):
    return linearize(np.sin, X)[1](*ts)


TANGENTS = [
    (lambda: jvp(lambda p: p["w"], ({"w": X},), ({"v": X},)), TypeError, "tangents has the structure"),
    (lambda: jvp(np.sin, (X,), (X, X)), TypeError, "tangents has the structure"),
    (lambda: jvp(np.sin, (X,), (X.astype(np.float32),)), TypeError, r"tangents\[0\] has dtype float32"),
    (
        lambda: jvp(np.sin, (X,), (np.ones(4),)),
        ValueError,
        r"primals\[0\].shape\[0\] \(3\) must equal tangents\[0\].shape\[0\] \(4\)",
    ),
    (lambda: jvp(np.sin, (X,), (M,)), TypeError, r"tangents\[0\] is f64"),
    (lambda: jvp(np.sin, X, X), TypeError, "primals is of type ndarray"),
    (lambda: pushforward(X, X), TypeError, "tangents has the structure"),
    (lambda: pushforward(np.ones(4)), ValueError, r"tangent.shape\[0\] = 4 does not fit 3"),
    (lambda: pushforward(M), TypeError, r"tangents\[0\] has 2 axes"),
    (lambda: pullback(X), TypeError, "the cotangent has the structure"),
    (lambda: pullback({"a": X.astype(np.float32)}), TypeError, r"the cotangent\[0\] has dtype float32"),
    (lambda: pullback({"a": np.ones(4)}), ValueError, r"cotangent.shape\[0\] = 4 does not fit 3"),
    (lambda: pullback({"a": M}), TypeError, r"the cotangent\[0\] has 2 axes"),
    (lambda: pullback({"a": object()}), TypeError, r"the cotangent\[0\] is of type object"),
    (lambda: jit(lambda x: pullback({"a": x}))(np.ones(4)), ValueError, "must equal 3|does not fit"),
    (
        lambda: anyshape.hvp(lambda x: x.sum(), (X,), (np.ones(4),)),
        ValueError,
        r"must equal tangents\[0\].shape\[0\] \(4\)",
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), TANGENTS, ids=[w for _, _, w in TANGENTS])
def test_tangents_and_cotangents_that_do_not_fit(call, kind, words):
    fails(kind, words, call)


# -- specifications and decisions --------------------------------------------------------------------------------

SPECS = [
    (lambda: trace(np.sin)(ShapeDtypeStruct("n,,")), errors.SpecError, "a size is missing"),
    (lambda: trace(np.sin)(ShapeDtypeStruct("n*m")), errors.SpecError, "do not determine"),
    (lambda: trace(np.sin)(ShapeDtypeStruct("-3")), errors.SpecError, "negative size"),
    (lambda: ShapeDtypeStruct((2.5,)), errors.SpecError, "2.5 is not a size"),
    (lambda: ShapeDtypeStruct((3, None)), errors.SpecError, "None is not a size"),
    (lambda: ShapeDtypeStruct((-1,)), errors.SpecError, "-1 is not a size"),
    (lambda: ShapeDtypeStruct("n", "U3"), errors.DTypeError, "<U3 is not a dtype of numbers"),
    (lambda: anyshape.symbolic_shape("n", constraints=["n is large"]), errors.SpecError, "'is' is not expected here"),
]


@pytest.mark.parametrize(("call", "kind", "words"), SPECS, ids=[w for _, _, w in SPECS])
def test_specifications(call, kind, words):
    fails(kind, words, call)


def test_a_decision_on_an_unknown_size_has_a_witness_for_each_answer():
    make = trace(lambda x: x if x.shape[0] > 2 else -x)
    error = fails(errors.InconclusiveDimensionError, "n > 2", make, ShapeDtypeStruct("n"))
    assert in_line(error)
    assert error.witnesses[True]["n"] > 2 >= error.witnesses[False]["n"]
    assert jit(lambda x: x if x.shape[0] > 2 else -x)(np.ones(2)).tolist() == [-1, -1]


# -- errors of the function itself -------------------------------------------------------------------------------


class OwnError(Exception):
    pass


@pytest.mark.parametrize("transform", [jit, grad, vmap, anyshape.jacfwd, anyshape.hessian])
def test_errors_of_the_function_pass_through_unchanged(transform):
    mine = OwnError("mine")

    def function(x):
        if type(x) is not np.ndarray:
            raise mine
        return x

    for _ in range(2):
        with pytest.raises(OwnError) as caught:
            transform(function)(X)
        assert caught.value is mine and mine.__cause__ is None
        assert not active_builders()


def test_errors_with_a_cause_pass_through_unchanged():
    def function(x):
        try:
            return float(x.sum())
        except TypeError as error:
            raise ValueError("mine") from error

    with pytest.raises(ValueError, match=r"^mine$"):
        jit(function)(X)


def test_an_error_caught_by_the_function_leaves_no_state():
    def function(x):
        try:
            return x if float(x.sum()) > 0 else -x
        except errors.ConcretizationError:  # eager NumPy never comes here, so a program must not either
            return np.abs(x)

    with pytest.raises(errors.ConcretizationError):
        jit(function)(-X)
    assert jit(lambda x: -x)(-X).tolist() == [1, 1, 1]

    def nested(x):
        try:
            return grad(lambda y: y * 2)(x)
        except errors.ArgumentError:
            return grad(lambda y: np.sum(y * y))(x)

    assert jit(nested)(X).tolist() == [2, 2, 2]


def test_an_error_in_one_trace_does_not_spoil_the_function():
    switch = {"fail": True}

    def function(x):
        if switch["fail"]:
            raise OwnError
        return x * 2

    made = jit(function)
    with pytest.raises(OwnError):
        made(X)
    switch["fail"] = False
    assert made(X).tolist() == [2, 2, 2]
    assert made.cache_info().traces == 1


# -- the classes -------------------------------------------------------------------------------------------------

AT = SourceLine("/somewhere/user.py", 7, "loss")
INSTANCES = [
    errors.AnyshapeError("something\n  do this"),
    errors.ShapeError("add", "sizes 3 and 4 differ", ["f64[3]", "f64[4]"], AT),
    errors.AxisError("sum", 2, 1, AT),
    errors.SizeMismatchError("add", "n == m", {"n": 3, "m": 4}, "sizes differ; truly", AT, {"n": "x.shape[0]"}),
    errors.InputSizeError("f", "x", 1, "n + m", 7, [("n", 3, "y.shape[0]")], "", "make it 5", 2),
    errors.ZeroDivisorError("floordiv", "n != 0", {"n": 0}, "integer division or modulo by zero", AT),
    errors.MatrixSizeError("inv", "n == m", {"n": 2, "m": 3}, "matrices must be square", AT),
    errors.TransformSizeError("dct", "n >= 2", {"n": 1}, "a cosine transform of type 1 needs two points", AT),
    errors.IndexRangeError("gather", 7, 0, 5, 2, AT),
    errors.RaggedBatchError("unique_each", {(0, 0): (2, 3), (0, 1): (3, 3)}, AT),
    errors.ViewError(["m", "n"], [1, "m"], ["m*n"], "contiguity", (0, 1), "axes 0 and 1 are not contiguous"),
    errors.DTypeError("bitwise_and", "no floats", "convert them", AT),
    errors.ArgumentError("grad(f)", "args[0]['w']", "has dtype int64", "convert it"),
    errors.SpecError("n,,", "cannot be read", "write n", 2),
    errors.UnprovedClaimError("(n, 3) to (2, -1)", "6 do not divide", "n % 2 == 0", {False: {"n": 1}}),
    errors.ContradictionError("a >= 5", ["a <= 3", "a >= 5"], AT),
    errors.UndeterminedSizeError("b", ["a + b", "2*a + 2*b"], True, ({"a": 0, "b": 1}, {"a": 1, "b": 0})),
    errors.ScopeMismatchError(["n", "m"], [AT, None], AT),
    errors.SizeLimitError("terms", 20_000, 10_000),
    errors.InconclusiveDimensionError("n > 2", {True: {"n": 3}, False: {"n": 0}}, AT),
    errors.SizePathsError("f", "n > 4", 30, 29, AT),
    errors.SpecializationError("n", "n == 6", {"n": 6}, 6, "int(n)", AT),
    errors.ConcretizationError("bool()", "f64[]", AT),
    errors.DecisionError(1, [True, False]),
    errors.DataDependentSizeError("count > 2", {"count": "made by nonzero at user.py:6"}, AT),
    errors.CheckError("all are positive", "2 of 3 elements that are False", AT),
    errors.NegativeSizeError(-3, "scan"),
    errors.DivisionCheckError("average: the weights sum to zero", "False", AT),
    errors.OverflowCheckError("math range error", "False", AT),
    errors.CarryMismatchError("scan", "f", "carry", "f64[n]", "bool[n]", "convert it", AT, AT),
    errors.BranchMismatchError(
        "cond", "result", [("true_fun", "f64[]", AT), ("false_fun", "i64[]", AT)], "convert", AT
    ),
    errors.FrozenDrawError("loss", "the Generator rng", where=AT),
    errors.CustomRuleError("custom_vjp(f)", "bwd gives one cotangent for two arguments", "return two", AT),
    errors.MutationError("x += y", "the array is an argument", "write {x} = {x}.copy() before", AT),
    errors.SymbolicIterationError("f64[n]", AT),
    errors.UnhashableError("f64[n]", np.ndarray, AT),
    errors.LeakedTracerError("array f64[n]", AT, AT),
    errors.UnsupportedFunctionError("np.save", "has no counterpart", "call it outside", AT),
    errors.UnsupportedDynamicShapeError("reshape", "shape", 1, "upper bound", "<=n", AT),
    errors.RunError("take", "something", "do this", AT),
    errors.RunFloatingPointError("add", "overflow encountered", "do this", AT),
    errors.RunZeroDivisionError("pow", "division by zero", "do this", AT),
    errors.RunOverflowError("pow", "too large", "do this", AT),
    errors.RunMemoryError("full", "no memory", "do this", AT),
    errors.RunLinAlgError("inv", "Singular matrix", "do this", AT),
    errors.MemoryLimitError("f", 800, 100, "8*n", {"n": 100}, AT),
    errors.ChunkError("loss", 3, ("float64[2]",), "ValueError", "something", AT, "host:1", "Traceback"),
    errors.ClusterError("workers", "workers ended", "do this"),
    errors.MissingPackageError("rich", "demo"),
    errors.MissingRuleError("foo", "jvp", "autodiff/rules/foo.py"),
    errors.IllegalGraphError("%1 = add(%0)", "reads %2 before it is made"),
    errors.ProgramFileError("model.anyshape", "has version 2", "load it with 2.0", 2),
    errors.MetadataError("v3", "f64[n]", "f64[3, 3]", AT),
    errors.GradientCheckError("jvp of f", "fwd", 1, "the result", 1.0, 2.0, 1.0, 1e-6),
]
CLASSES = [
    c
    for c in vars(errors).values()
    if inspect.isclass(c) and issubclass(c, errors.AnyshapeError) and c.__module__ == errors.__name__
]


def test_every_class_has_an_instance_here():
    assert {getattr(errors, type(e).__name__) for e in INSTANCES} == set(CLASSES)


@pytest.mark.parametrize("error", INSTANCES, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_an_error_copies_and_pickles(error, way):
    again = way(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("error", INSTANCES, ids=lambda e: type(e).__name__)
def test_an_error_is_made_from_its_text(error):
    """Tools such as polars know a class and a text."""
    again = type(error)(str(error))
    assert str(error) in str(again) and isinstance(again, type(error))
    assert all(hasattr(again, name) for name in vars(error)) and not hasattr(again, "nothing")
    for way in (copy.copy, lambda e: pickle.loads(pickle.dumps(e))):
        assert str(way(again)) == str(again)


@pytest.mark.parametrize("error", INSTANCES, ids=lambda e: type(e).__name__)
def test_an_error_says_what_happened_and_what_to_do(error):
    first, *advice = str(error).splitlines()
    assert first and advice and all(line.startswith("  ") for line in advice)
    builtin = {TypeError, ValueError, RuntimeError, NotImplementedError, AssertionError, OverflowError, MemoryError}
    builtin |= {ModuleNotFoundError, IndexError, ZeroDivisionError}
    kinds = set(type(error).__mro__) & builtin
    assert kinds or type(error) is errors.AnyshapeError


def test_an_error_of_sizes_is_what_numpy_raises_and_no_other():
    x = np.ones(5)
    rows = [
        (lambda x: x[1:] * x[:2], ValueError), (lambda x: x.reshape(2, -1), ValueError), (lambda x: x[9], IndexError),
        (lambda x: x[3, 2], IndexError), (lambda x: x[np.ones(2, bool)], IndexError),
        (lambda x: np.take(x, [9]), IndexError),
        (lambda x: np.polyfit(x, x[:2], 1), TypeError), (lambda x: np.delete(x, 9), IndexError),
    ]  # fmt: skip
    for function, kind in rows:
        with pytest.raises(kind):
            function(x)
        error = fails(kind, "x", jit(function), x)
        assert sum(isinstance(error, k) for k in (ValueError, IndexError, TypeError)) == 1
        assert type(pickle.loads(pickle.dumps(error))) is type(error)


def test_an_error_of_a_call_pickles():
    error = fails(errors.SizeMismatchError, "must equal", jit(lambda x, y: x @ y), M, M)
    again = pickle.loads(pickle.dumps(error))
    assert (again.sizes, again.where, str(again)) == (error.sizes, error.where, str(error))
    error = fails(errors.ShapeError, "4 and 5", trace(np.matmul), ShapeDtypeStruct("n, 4"), ShapeDtypeStruct("5, m"))
    assert str(pickle.loads(pickle.dumps(error)).operands[0]) == "f64[n, 4]"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x, axis="q"),
        lambda x: [anyshape.vmap(lambda y: y, in_axes=3)(x)],
        lambda x: anyshape.grad(lambda y: y)(x),
        lambda x: anyshape.pure_callback(np.sin, object(), x),
    ],
)
def test_a_wrong_argument_inside_a_trace_has_its_line(function):
    """The transforms raise it, in a call that the user's line makes."""
    error = fails(errors.ArgumentError, r" at test_messages.py:\d+\n  ", jit(function), np.ones(3))
    assert error.where.line >= function.__code__.co_firstlineno and error.where.file == __file__
    again = pickle.loads(pickle.dumps(error))
    assert (str(again.where), str(again)) == (str(error.where), str(error))
    outside = fails(errors.ArgumentError, "not a scalar", anyshape.grad(lambda x: x), np.ones(3))
    assert outside.where is None


def test_a_size_that_python_asks_for_is_reported_once_per_line():
    filled = anyshape.jit(lambda x: np.zeros(x.shape[0]) + x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for n in (3, 4, 3, 5):
            np.testing.assert_array_equal(filled(np.ones(n)), np.ones(n))
    assert filled.cache_info().traces == 3
    ((text, file),) = [(str(w.message), w.filename) for w in caught]
    assert file == __file__ and "x.shape[0]" in text and "import anyshape.numpy" in text


def test_a_line_that_asks_for_the_sizes_of_many_arrays_is_reported_once():
    def total(p, data):
        return sum(p * v for row in data for v in row)

    with pytest.warns(errors.FixedSizeWarning) as caught:
        anyshape.grad(total)(1.0, [np.ones(n) for n in range(2, 9)])
    assert len(caught) == 1


NO_INTS = [
    (
        lambda x, k: np.zeros(x.shape[0] / 2),
        errors.ConcretizationError,
        r"f64\[\], .* at test_messages.py.*\n.*write n // 2",
    ),
    (lambda x, k: anp.zeros(x.shape[0] * 0.5), errors.ConcretizationError, r"write n // 2 for n / 2 and for n \* 0.5"),
    (lambda x, k: x.reshape(x.shape[0] / 2, 2), errors.ConcretizationError, "write n // 2"),
]


@pytest.mark.parametrize(("function", "kind", "words"), NO_INTS)
def test_what_is_no_int_for_numpy_is_refused_in_our_words(function, kind, words):
    error = fails(kind, words, jit(function), np.ones(4), 3)
    assert error.where.file.endswith("test_messages.py")
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert sum(name.endswith("test_messages.py") for name in frames) > 1, "the traceback leads to the line of the user"


def test_a_decision_that_numpy_hides_is_told_all_the_same():
    with pytest.raises(errors.InconclusiveDimensionError, match="the value of n is not the same for every size"):
        trace(lambda x: np.zeros(x.shape[0]))(ShapeDtypeStruct("n"))
    with pytest.raises(errors.SpecializationError):
        jit(lambda x: np.zeros(x.shape[0]), dynamic_shapes={"x": "n"}, on_decision="error")(X)


def test_errors_of_numpy_that_are_not_ours_stay():
    def caught(x, k):
        with contextlib.suppress(TypeError):
            np.zeros(k)
        return np.zeros(2.5)

    with pytest.raises(TypeError, match=r"got '2\.5'") as error:
        jit(caught)(X, 3)
    assert not isinstance(error.value, errors.AnyshapeError)


def test_sizes_from_values_need_no_declaration():
    sized = jit(lambda k: (anp.zeros(k), anp.full((k, 2), 1.0)))
    assert [tuple(y.shape for y in sized(k)) for k in (0, 1, 3)] == [((k,), (k, 2)) for k in (0, 1, 3)]
    assert sized.cache_info().traces == 1
