"""Property: a traced value answers questions about its class as the array or the number that it stands for."""

import collections.abc
import copy
import dataclasses
import functools
import numbers
import operator
import pickle
import queue

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, grad, jit, symbolic_shape, trace, vmap
from anyshape.errors import ConcretizationError, LeakedTracerError, SymbolicIterationError, UnhashableError

V, M = np.arange(1.0, 4.0), np.arange(6.0).reshape(2, 3)
SIZES = (0, 1, 2, 5)


@functools.singledispatch
def dispatched(x):
    return "other"


dispatched.register(np.ndarray, lambda x: "array")
dispatched.register(int, lambda x: "int")
dispatched.register(np.generic, lambda x: "scalar")


def matched(x):
    match x:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case np.ndarray():
            return "array"
        case [*_]:
            return "sequence"
    return "other"


def raises(function, *args):
    try:
        function(*args)
    except TypeError:
        return True
    return False


CLASSES = {
    "np.ndarray": np.ndarray,
    "np.generic": np.generic,
    "np.number": np.number,
    "np.floating": np.floating,
    "np.integer": np.integer,
    "np.float64": np.float64,
    "np.int64": np.int64,
    "np.bool_": np.bool_,
    "float": float,
    "int": int,
    "bool": bool,
    "complex": complex,
    "list": list,
    "tuple": tuple,
    "str": str,
    "dict": dict,
    "object": object,
    "type(None)": type(None),
    "slice": slice,
    "numbers.Number": numbers.Number,
    "numbers.Complex": numbers.Complex,
    "numbers.Real": numbers.Real,
    "numbers.Integral": numbers.Integral,
    "Iterable": collections.abc.Iterable,
    "Iterator": collections.abc.Iterator,
    "Sized": collections.abc.Sized,
    "Container": collections.abc.Container,
    "Collection": collections.abc.Collection,
    "Sequence": collections.abc.Sequence,
    "Mapping": collections.abc.Mapping,
    "Hashable": collections.abc.Hashable,
    "Callable": collections.abc.Callable,
    "(float, np.floating)": (float, np.floating),
    "(int, np.integer)": (int, np.integer),
    "(list, tuple, np.ndarray)": (list, tuple, np.ndarray),
    "int | float": int | float,
}
NAMES = [
    "__array__",
    "__array_ufunc__",
    "__array_function__",
    "__len__",
    "__iter__",
    "__getitem__",
    "__setitem__",
    "__contains__",
    "__index__",
    "__float__",
    "__call__",
    "__next__",
    "shape",
    "dtype",
    "ndim",
    "size",
    "astype",
    "sum",
    "mean",
    "append",
    "keys",
    "items",
    "read",
    "columns",
    "iloc",
    "todense",
    "is_integer",
    "bit_length",
    "numerator",
]
QUESTIONS = {
    **{
        f"isinstance(x, {name})": functools.partial(lambda kinds, x: isinstance(x, kinds), c)
        for name, c in CLASSES.items()
    },
    **{f"hasattr(x, {name!r})": functools.partial(lambda name, x: hasattr(x, name), name) for name in NAMES},
    "np.isscalar(x)": np.isscalar,
    "np.iterable(x)": np.iterable,
    "np.ndim(x)": np.ndim,
    "len(np.shape(x))": lambda x: len(np.shape(x)),
    "np.ndim(x) == 0": lambda x: np.ndim(x) == 0,
    "x.__class__": lambda x: x.__class__,
    "x.__class__.__name__": lambda x: x.__class__.__name__,
    "issubclass(x.__class__, np.ndarray)": lambda x: issubclass(x.__class__, np.ndarray),
    "callable(x)": callable,
    "x is None": lambda x: x is None,
    "singledispatch": dispatched,
    "match": matched,
    "iter(x) raises": lambda x: raises(iter, x),
    "dataclasses.is_dataclass(x)": dataclasses.is_dataclass,
    "np.iscomplexobj(x)": np.iscomplexobj,
    "np.result_type(x)": lambda x: str(np.result_type(x)),
    "type(x) is list": lambda x: type(x) is list,
    "type(x) in (list, tuple)": lambda x: type(x) in (list, tuple),
    "copy.copy(x).__class__": lambda x: copy.copy(x).__class__,
    "copy.deepcopy(x).__class__": lambda x: copy.deepcopy(x).__class__,
}
ARGUMENTS = {"v": V, "m": M, "p": 2.0, "k": 3, "b": True, "c": 1j, "z": np.array(2.0), "s": np.float64(2.0)}
SUBJECTS = {
    "an array": lambda v, m, p, k, b, c, z, s: v,
    "a matrix": lambda v, m, p, k, b, c, z, s: m,
    "integers": lambda v, m, p, k, b, c, z, s: v.astype(int),
    "a mask": lambda v, m, p, k, b, c, z, s: v > 1,
    "a sum": lambda v, m, p, k, b, c, z, s: v.sum(),
    "an element": lambda v, m, p, k, b, c, z, s: v[0],
    "an index": lambda v, m, p, k, b, c, z, s: np.argmax(v),
    "a comparison": lambda v, m, p, k, b, c, z, s: v.sum() > 2,
    "a complex scalar": lambda v, m, p, k, b, c, z, s: v.sum() * 1j,
    "a float": lambda v, m, p, k, b, c, z, s: p,
    "an int": lambda v, m, p, k, b, c, z, s: k,
    "a bool": lambda v, m, p, k, b, c, z, s: b,
    "a Python complex": lambda v, m, p, k, b, c, z, s: c,
    "a product of floats": lambda v, m, p, k, b, c, z, s: p * p,
    "a comparison of floats": lambda v, m, p, k, b, c, z, s: p > 1,
    "a 0-d array": lambda v, m, p, k, b, c, z, s: z,
    "a view without axes": lambda v, m, p, k, b, c, z, s: v[0, ...],
    "a choice": lambda v, m, p, k, b, c, z, s: np.where(v[0] > 1, 1.0, 2.0),
    "a NumPy scalar": lambda v, m, p, k, b, c, z, s: s,
    "a size": lambda v, m, p, k, b, c, z, s: v.shape[0],
    "a product of sizes": lambda v, m, p, k, b, c, z, s: m.shape[0] * m.shape[1],
    "a NumPy size": lambda v, m, p, k, b, c, z, s: np.prod(m.shape),
    "a quotient of sizes": lambda v, m, p, k, b, c, z, s: v.shape[0] / 2,
    "a shape": lambda v, m, p, k, b, c, z, s: m.shape,
}
PYTHON_NUMBERS = {"a float", "an int", "a bool", "a Python complex", "a product of floats", "a comparison of floats"}
PYTHON_NUMBERS |= {"a quotient of sizes"}
SIZE_SUBJECTS = {"a size", "a product of sizes", "a NumPy size"}
SCALARS = {"a sum", "an element", "an index", "a comparison", "a complex scalar", "a NumPy scalar"}
ARRAYS = {"an array", "a matrix", "integers", "a mask", "a 0-d array", "a view without axes", "a choice"}
ANYTHING = set(SUBJECTS)


def attributes(names):
    return {f"hasattr(x, {name!r})" for name in names.split()}


# What a traced value cannot answer as what it stands for; docs/debugging.md has the list for users.
WANTED = [
    (PYTHON_NUMBERS, attributes("__array__ __getitem__ shape dtype ndim size astype sum mean __float__")),
    (ANYTHING, attributes("__array_ufunc__ __array_function__ is_integer bit_length numerator")),
    (SIZE_SUBJECTS, attributes("__array__ __getitem__")),
    (ARRAYS, {"isinstance(x, Hashable)"}),
    ({"a shape"}, {"x.__class__", "x.__class__.__name__", "type(x) in (list, tuple)", "hasattr(x, 'sum')"}),
    ({"a shape"}, {"copy.copy(x).__class__", "copy.deepcopy(x).__class__"}),
    ({"a comparison"}, attributes("__index__")),
]


def answer(question, subject):
    """Return the answer, or TypeError for a question that is none for the subject."""
    try:
        return question(subject)
    except TypeError:
        return TypeError


def answers(arguments):
    """Return the answer to each question about each subject."""
    subjects = {name: subject(*arguments) for name, subject in SUBJECTS.items()}
    return {(q, s): answer(question, x) for s, x in subjects.items() for q, question in QUESTIONS.items()}


def test_the_table_is_large():
    assert len(QUESTIONS) >= 60 and len(SUBJECTS) >= 20


@functools.cache
def both_answers():
    """Return the answers in NumPy and in a trace."""
    held = {}

    def f(*arguments):
        held["answers"] = answers(arguments)
        return arguments[0]

    trace(f)(*ARGUMENTS.values())
    return answers(ARGUMENTS.values()), held["answers"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_traced_values_answer_as_what_they_stand_for(question):
    plain, traced = both_answers()
    for subject in SUBJECTS:
        if not any(subject in subjects and question in questions for subjects, questions in WANTED):
            assert traced[question, subject] == plain[question, subject], subject


def test_the_list_of_differences_has_no_row_too_many():
    plain, traced = both_answers()
    differing = {key for key in plain if plain[key] != traced[key]}
    for subjects, questions in WANTED:
        for question in questions:
            assert any((question, subject) in differing for subject in subjects), question


# -- which functions give arrays and which give scalars ----------------------------------------------------------


def of_one_argument(home):
    """Yield expressions that call the functions of a NumPy module with a number `z` in each way that might do."""
    for name in anyshape.numpy.__all__:
        function = getattr(home, name, None)
        if callable(function) and not isinstance(function, type):
            yield from (
                f"home[{home.__name__!r}].{name}({a})" for a in ("z", "z, z", "z, axis=None", "z, 1", "z, ()", "(), z")
            )


def expressions():
    """List expressions of a number `z`: functions, methods, attributes and operators."""
    methods = [f"z.{m}{call}" for m in dir(np.ndarray) if m[0] != "_" for call in ("", "()", "(0)", "(())")]
    operators = ["-z", "+z", "abs(z)", "~z", "z[()]", "z[...]", "z + 1", "z * z", "z > 1", "z == z", "z / 2", "z ** 2"]
    return [*of_one_argument(np), *of_one_argument(np.linalg), *methods, *operators]


NUMBERS = [
    *[np.array(2.0), np.array(2), np.array(True), np.array(2 + 1j)],
    *[np.float64(2.0), np.int64(2), np.float32(2.0), np.bool_(True), 2.0, 2, True, 2j],
]
OF_OTHER_DTYPE = ("quantile", "percentile", "isreal")  # NumPy gives 1 for a quantile of 1, and a bool for isreal(1.0)


def first(result):
    """Return the first part of a result in parts."""
    return result[0] if isinstance(result, (tuple, list)) and result else result


def classes(x):
    """Return how the result counts for the questions that functions ask most."""
    return np.isscalar(x), isinstance(x, np.ndarray), isinstance(x, np.generic), isinstance(x, float), x.__class__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS, ids=[f"{type(n).__name__} {np.asarray(n).dtype}" for n in NUMBERS])
def test_results_are_arrays_and_scalars_as_in_numpy(number):
    compared = 0
    for text in expressions():
        function = eval(f"lambda z: {text}", {"home": {"numpy": np, "numpy.linalg": np.linalg}})
        try:
            wanted = first(function(copy.copy(number)))
        except Exception:
            continue
        if isinstance(wanted, (np.ndarray, np.generic, int, float, complex)):
            compared += agrees(text, function, number, classes(wanted))
    assert compared > 150


def agrees(text, function, number, wanted):
    """Return whether a trace runs; its result must count as NumPy's does."""
    held = {}

    def f(z):
        result = first(function(z))
        held["answers"] = classes(result)
        return result

    try:
        trace(f)(number)
    except Exception:
        return False
    assert held["answers"] == wanted or any(name in text for name in OF_OTHER_DTYPE), text
    return True


# -- programs that branch on the answers -------------------------------------------------------------------------


def check_array(x, *, ensure_2d=False):
    """Validate as scikit-learn does."""
    if isinstance(x, (list, tuple)):
        x = np.stack([np.asarray(v) for v in x])
    if not hasattr(x, "__array__") or not hasattr(x, "shape"):
        raise TypeError("no array")
    if np.isscalar(x) or x.ndim == 0:
        raise ValueError("expected an array with axes")
    return x.reshape(-1, 1) if ensure_2d and x.ndim == 1 else x


def standardized(x):
    x = check_array(x, ensure_2d=True)
    return x - x.mean(axis=0, keepdims=True) if x.shape[0] > 0 else x


def array_or_list(x):
    return x * 2 if isinstance(x, np.ndarray) else [v * 3 for v in list(x)]


def scalar_or_array(x):
    def weight(w):
        return w if np.isscalar(w) else w.mean()

    return x * weight(2.0) + weight(x.sum()) * weight(np.ones(3) * x.sum())


def by_iteration(x):
    def as_tuple(v):
        return tuple(v) if np.iterable(v) else (v,)

    return sum(v * x for v in as_tuple(x.sum())) + sum(as_tuple(2.0))


def by_protocol(x):
    def total(v):
        return v.sum() if isinstance(v, collections.abc.Sized) and hasattr(v, "__len__") else v

    return x + total(x) + total(x.sum()) + total(1.0)


def by_number(x):
    def scaled(v):
        if isinstance(v, numbers.Integral):
            return v * 10
        return v * 100 if isinstance(v, numbers.Real) else v

    return x * scaled(x.shape[0]) + scaled(x.sum()) + scaled(x.shape[0] / 2)


def by_size(x):
    n = x.shape[0]
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError("n must be an int")
    return x / np.maximum(n, 1) if isinstance(n, (int, np.integer)) else x * np.nan


def by_axis(x, axis=None):
    n_axes = x.ndim
    axis = tuple(range(n_axes)) if axis is None else axis
    axes = (axis,) if np.isscalar(axis) or isinstance(axis, int) else tuple(axis)
    return x - np.sum(x, axis=axes, keepdims=True)


def by_class(x):
    return x * {"array": 1.0, "scalar": 2.0, "int": 3.0, "other": 4.0}[dispatched(x)] + float(
        {"array": 1, "scalar": 2, "int": 3, "other": 4}[dispatched(x.sum())]
    )


def by_match(x):
    kinds = {"array": 1.0, "float": 2.0, "int": 3.0, "bool": 4.0, "sequence": 5.0, "other": 6.0}
    return x * kinds[matched(x)] + kinds[matched(x.sum())] + kinds[matched(x.shape[0])]


def by_rank(x):
    return x * (2.0 if np.ndim(x) else 3.0) + (5.0 if np.ndim(x.sum()) == 0 else 7.0) * (1 + np.ndim(x.shape[0]))


def by_boxes(x):
    low = x.min() if x.shape[0] > 0 else np.float64(0.0)
    boxed = np.where(x.sum() > 2, x.sum(), 2.0)
    return x * (2.0 if isinstance(boxed, np.ndarray) else 3.0) + (low if isinstance(low, float) else np.nan)


PROGRAMS = (
    standardized, array_or_list, scalar_or_array, by_iteration, by_protocol, by_number, by_size, by_axis, by_class,
    by_match, by_rank, by_boxes,
)  # fmt: skip
ONE_TRACE = set(PROGRAMS) - {standardized, by_boxes}  # these two decide on the size themselves


@pytest.mark.parametrize("function", PROGRAMS)
def test_programs_that_branch_on_classes(function):
    f = jit(function)
    for n in SIZES:
        x = np.linspace(0.5, 3.0, n)
        np.testing.assert_allclose(f(x), function(x), rtol=1e-12)
    assert f.cache_info().traces <= (1 if function in ONE_TRACE else 2)


@pytest.mark.parametrize("function", PROGRAMS)
def test_their_derivatives(function):
    derivative = jit(grad(lambda x: np.sum(function(x) ** 2)))
    for n in SIZES:
        x, step = np.linspace(0.5, 3.0, n), 1e-6
        wanted = [
            (np.sum(function(x + step * e) ** 2) - np.sum(function(x - step * e) ** 2)) / (2 * step) for e in np.eye(n)
        ]
        np.testing.assert_allclose(derivative(x), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", PROGRAMS)
def test_their_batches(function):
    mapped = jit(vmap(function))
    for n in SIZES:
        xs = np.linspace(0.5, 3.0, 2 * n).reshape(2, n)
        np.testing.assert_allclose(mapped(xs), np.stack([function(x) for x in xs]), rtol=1e-12)


def kind_of(x):
    return 1.0 if isinstance(x, np.ndarray) else 2.0 if isinstance(x, np.generic) else 3.0


@pytest.mark.parametrize("transform", [jit, lambda f: jit(jit(f)), lambda f: jit(lambda x: f(x) + 0)])
def test_arrays_scalars_and_python_numbers_without_axes_have_programs_of_their_own(transform):
    f = transform(lambda x: x * kind_of(x))
    for _ in range(3):
        assert [float(f(x)) for x in (np.array(2.0), np.float64(2.0), 2.0)] == [2.0, 4.0, 6.0]
        assert float(f(np.arange(3.0)[1])) == 2.0 and float(f(np.float32(2.0))) == 4.0
    assert [float(grad(f)(x)) for x in (np.array(2.0), np.float64(2.0), 2.0)] == [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(vmap(f)(np.arange(3.0)), [0.0, 2.0, 4.0])


def test_a_leaf_in_a_tree_has_its_kind():
    f = jit(lambda tree: {k: x * kind_of(x) for k, x in tree.items()})
    for x, factor in ((np.array(2.0), 1.0), (np.float64(2.0), 2.0), (2.0, 3.0), (np.float64(4.0), 2.0)):
        assert float(f({"a": x, "b": np.ones(2)})["a"]) == x * factor


def test_a_specification_stands_for_an_array():
    program = trace(lambda x: x * kind_of(x))(ShapeDtypeStruct((), float))
    assert float(program(np.array(2.0))) == 2.0


def test_comparisons_of_python_numbers_compute_as_bools():
    f = lambda p: ((p > 1) + (p < 3), (p > 1) * 3, -(p > 1), ~(p == 2), (p > 1) - (p > 9), (p > 1) & (p < 3))
    assert [float(y) for y in jit(f)(2.0)] == [2.0, 3.0, -1.0, -2.0, 1.0, 1.0]


# -- keys, iteration and libraries -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use", [lambda x: {x: 1}, lambda x: {x}, lambda x: {}.get(x), lambda x: [] if x in {1} else 0, hash]
)
@pytest.mark.parametrize("of", [lambda x: x, lambda x: x.sum(), lambda x: x[0, ...], lambda x: x > 1])
def test_a_traced_array_is_no_key(use, of):
    with pytest.raises(TypeError) as caught:
        jit(lambda x: (use(of(x)), x)[1])(V)
    error = caught.value
    advice = str(error).splitlines()[1].strip()
    assert isinstance(error, UnhashableError) and advice.startswith(
        ("use a name or a position", "write the values as a list", "leave out the cache")
    )
    assert error.where.file.endswith("test_introspection.py")


def test_equal_sizes_are_equal_keys():
    def f(x, y):
        weights = {x.shape[0]: 2.0, 99: 3.0}
        return x * weights[y.shape[0]] * (5.0 if len({*x.shape, *y.shape}) == 1 else 7.0)

    g = jit(f)
    for n in SIZES:
        np.testing.assert_array_equal(g(np.ones(n), np.ones(n)), 10 * np.ones(n))


@functools.lru_cache
def triangular(n):
    return n * (n + 1) // 2


def test_a_cached_helper_is_right_for_every_size_and_after_the_trace():
    f = jit(lambda x: x * triangular(x.shape[0]))
    for n in (2, 5, 2, 3):
        np.testing.assert_array_equal(f(np.ones(n)), np.ones(n) * n * (n + 1) // 2)
        np.testing.assert_array_equal(f(np.ones(n, np.float32)), np.ones(n) * n * (n + 1) // 2)
        assert triangular(n) == n * (n + 1) // 2


def test_a_size_without_a_value_is_no_key():
    with pytest.raises(TypeError, match="not the same for every size"):
        trace(lambda x: x * {x.shape[0]: 1.0}[x.shape[0]])(ShapeDtypeStruct("n"))


def test_declared_sizes_are_keys_and_sizes_of_their_own_class():
    n, m = symbolic_shape("n, m")
    assert {n: 1, m: 2}[n] == 1 and not isinstance(n, int)
    assert len({ShapeDtypeStruct((n, m)), ShapeDtypeStruct((n, m))}) == 1


def test_the_first_step_of_an_iteration_decides_and_not_its_start():
    def f(x):
        rows = iter(x)
        assert np.iterable(x) and isinstance(x, collections.abc.Iterable)
        return x * 2, rows

    assert trace(lambda x: f(x)[0])(ShapeDtypeStruct("n"))(V).tolist() == [2, 4, 6]
    for walk in (next, list, lambda rows: [*rows], lambda rows: sum(rows)):
        with pytest.raises(SymbolicIterationError):
            trace(lambda x, walk=walk: (walk(iter(x)), x)[1])(ShapeDtypeStruct("n"))
    with pytest.raises(SymbolicIterationError):
        trace(lambda x: (list(x), x)[1])(ShapeDtypeStruct("n"))
    assert float(jit(lambda x: sum(x.reshape(3)[i] for i in range(3)))(V)) == 6
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        jit(lambda x: (iter(x), x)[1])(np.array(2.0))


def test_rows_of_a_fixed_size_are_iterated():
    f = trace(lambda x: sum(row * i for i, row in enumerate(x)))(ShapeDtypeStruct("3, n"))
    for n in SIZES:
        x = np.arange(3.0 * n).reshape(3, n)
        np.testing.assert_array_equal(f(x), x[1] + 2 * x[2])


LIBRARIES = {
    "range": lambda x: x * sum(range(x.shape[0])),
    "a list of n": lambda x: x * len([0] * x.shape[0]),
    "a slice": lambda x: x[: x.shape[0] // 2].sum() * x,
    "np.zeros": lambda x: x + np.zeros(x.shape[0]),
    "operator.index": lambda x: x * operator.index(x.shape[0]),
    "f-string": lambda x: x * len(f"{x.shape[0]:d}"),
    "copy": lambda x: x * copy.copy(x.shape[0]) + copy.deepcopy(x),
    "dataclass": lambda x: dataclasses.replace(Point(x, 1), size=x.shape[0]).size * x,
    "asdict": lambda x: dataclasses.asdict(Point(x, x.shape[0]))["size"] * x,
    "sorted": lambda x: x * sorted([3, x.shape[0]])[0],
    "numpy": lambda x: x * np.sqrt(x.shape[0]) + np.size(x.shape) + np.ndim(x.shape[0]) + np.size(x.shape[0]),
}


@dataclasses.dataclass
class Point:
    x: object
    size: object


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries_take_traced_values(name):
    f = jit(LIBRARIES[name])
    for n in SIZES:
        x = np.arange(1.0, n + 1)
        np.testing.assert_allclose(f(x), LIBRARIES[name](x))


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_traced_array_does_not_pickle(protocol):
    with pytest.raises(ConcretizationError, match="pickling"):
        jit(lambda x: (pickle.dumps(x, protocol), x)[1])(V)


def test_a_kept_array_is_no_key_after_its_trace():
    queued = queue.SimpleQueue()
    jit(lambda x: (queued.put(x), x)[1])(V)
    leaked = queued.get(timeout=5)
    with pytest.raises(LeakedTracerError):
        hash(leaked)


@pytest.mark.parametrize("compare", [np.array_equal, np.array_equiv])
@pytest.mark.parametrize("listed", [lambda x: [x.sum()], lambda x: [x], lambda x: (x[0], 2.0)])
def test_numpy_hides_no_error_of_a_comparison(compare, listed, as_written):
    with pytest.raises(ConcretizationError, match="a NumPy array needs the value"):
        jit(lambda x: x * compare(listed(x), [3.0]))(V)
