"""Test that the table serves every public name of NumPy, and what functions without a listing do with traced arrays."""

import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import jit
from anyshape.errors import AnyshapeError, UnsupportedFunctionError
from anyshape.numpy import serve

NAMES = sorted(name for name in dir(np) if name[0] != "_")
FURTHER = [name for name in NAMES if name not in anp.__all__]
X = np.array([0.5, 1.5, 2.5])


def test_every_public_name_of_numpy_is_there_and_listed():
    assert [name for name in NAMES if not hasattr(anp, name)] == []
    assert set(dir(anp)) == {*NAMES, *anp.__all__} and not [name for name in dir(anp) if name[0] == "_"]
    assert anp.__version__ == np.__version__


def test_the_inspection_of_the_array_api_standard_is_that_of_numpy():
    namespace = jit(lambda x: (x, seen.append(x.__array_namespace__()))[0])
    seen = []
    namespace(X)
    info = seen[0].__array_namespace_info__()
    assert info.dtypes(kind="real floating") == {"float32": np.dtype("f4"), "float64": np.dtype("f8")}


def test_other_names_are_missing_in_the_words_of_python():
    for name in ("nothing", "_core", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'anyshape.numpy' has no attribute '{name}'"):
            getattr(anp, name)


def test_types_constants_and_modules_are_those_of_numpy():
    shared = (
        "ndarray",
        "generic",
        "float64",
        "ma",
        "s_",
        "pi",
        "ufunc",
    )
    assert all(getattr(anp, name) is getattr(np, name) for name in shared)


def test_further_functions_are_loaded_at_their_first_use():
    loaded = "print('anyshape.numpy.analysis.histograms' in sys.modules)"
    code = f"import sys, anyshape.numpy as np; {loaded}; np.histogram; {loaded}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


OBJECTS = " ".join(serve.SERVED["numpy"]["objects"].values()).split()
SERVED = [n for n in FURTHER if hasattr(getattr(np, n), "_implementation") and n not in OBJECTS]


@pytest.mark.parametrize("name", SERVED)
def test_further_functions_have_the_signature_and_documentation_of_numpy(name):
    ours, numpys = getattr(anp, name), getattr(np, name)
    assert ours.__doc__ == numpys.__doc__ and ours.__name__ == numpys.__name__
    try:
        signature = inspect.signature(numpys)
    except ValueError:  # a function in C without one
        return
    assert inspect.signature(ours) == signature


def test_further_functions_of_concrete_arguments_are_those_of_numpy():
    assert anp.histogram([1, 2, 2], 2)[0].tolist() == [1, 2]
    assert anp.delete(X, 0).tolist() == [1.5, 2.5] and anp.array_equal(X, X) and anp.polyval([1, 2], 3) == 5
    assert jit(lambda x: x * anp.delete(np.arange(4), 0))(X).tolist() == [0.5, 3, 7.5]


class Sub(np.ndarray):
    """Subclass that keeps its class where NumPy does."""


MAKERS = {
    "zeros": lambda np: np.zeros((2, 3), order="F"),
    "ones": lambda np: np.ones((2, 3), np.int8, "F", device="cpu"),
    "empty": lambda np: np.empty((2, 3), order="F") * 0,
    "full": lambda np: np.full((2, 3), 1, order="F"),
    "eye": lambda np: np.eye(2, 3, order="F"),
    "zeros_like": lambda np: np.zeros_like(X.view(Sub)),
    "ones_like": lambda np: np.ones_like(X.view(Sub), subok=False),
    "full_like": lambda np: np.full_like(np.ones((2, 3)), 2, order="F"),
    "asanyarray": lambda np: np.asanyarray(X.view(Sub), copy=True, device="cpu"),
    "arange": lambda np: np.arange(3, device="cpu"),
    "reshape": lambda np: np.reshape(X, (1, 3), copy=False),
}


@pytest.mark.parametrize("name", MAKERS)
def test_concrete_arrays_follow_all_options_of_numpy(name):
    ours, numpys = MAKERS[name](anp), MAKERS[name](np)
    np.testing.assert_array_equal(ours, numpys, strict=True)
    assert type(ours) is type(numpys) and ours.strides == numpys.strides
    with pytest.raises(ValueError, match="Device not understood"):
        anp.zeros(2, device="none")


def test_further_functions_write_to_traced_arrays():
    def program(x):
        y = x.copy()
        anp.copyto(y, [x[1], 1.0, 2.0])
        anp.put(y, [2], x[0])
        return y

    assert jit(program)(X).tolist() == [1.5, 1, 0.5]


def test_functions_that_write_change_arrays_of_numpy_as_numpy_does():
    writers = {
        "copyto": lambda np, y: np.copyto(y, 1.0),
        "put": lambda np, y: np.put(y, [0], 5.0),
        "place": lambda np, y: np.place(y, y > 1, [7.0]),
        "putmask": lambda np, y: np.putmask(y, y > 1, 7.0),
        "put_along_axis": lambda np, y: np.put_along_axis(y, np.array([1]), 9.0, 0),
        "nan_to_num": lambda np, y: np.nan_to_num(y, copy=False, nan=3.0)[:0],
    }
    for name, write in writers.items():
        ours, numpys = np.array([0.5, np.nan, 2.5]), np.array([0.5, np.nan, 2.5])
        np.testing.assert_array_equal(write(anp, ours), write(np, numpys), name)
        np.testing.assert_array_equal(ours, numpys, name)


MISSING = {
    "numpy.shares_memory": lambda x: anp.shares_memory(x, x),
    "numpy.einsum_path": lambda x: anp.einsum_path("i->", [x[0], 1.0]),
    "numpy.savetxt": lambda x: anp.savetxt("file", x),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_function_that_is_missing_is_named(name):
    with pytest.raises(UnsupportedFunctionError, match=f"np{name[5:]}.*: has no counterpart") as caught:
        jit(MISSING[name])(X)
    assert "test_serve.py" in str(caught.value) and len(str(caught.value).splitlines()) == 2


# what tests themselves, ends the process, waits for input, or shows more than a page
UNCALLED = {"test", "show_config", "show_runtime", "info", "get_include"}
CALLS = [lambda f, x: f(x), lambda f, x: f(x, x), lambda f, x: f([x, x]), lambda f, x: f(x, 1), lambda f, x: f(1, x)]


def outcome(call, function, x):
    """The results of a call as arrays, or its error."""
    try:
        result = call(function, x)
        return [np.asarray(a) for a in (result if isinstance(result, (tuple, list)) else [result])]
    except Exception as error:
        return error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(FURTHER) - UNCALLED))
def test_further_functions_trace_as_numpy_or_raise_an_error_of_anyshape(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = getattr(anp, name)
    if not callable(function) or isinstance(function, type):
        return
    for number, call in enumerate(CALLS):
        traced = outcome(lambda f, x, call=call: jit(lambda x: call(f, x))(x), function, X)
        if not isinstance(traced, AnyshapeError):
            eager = outcome(call, getattr(np, name), X)
            if "construct a dtype from an array" in str(eager):  # the dtype of a traced array is known
                continue
            assert isinstance(eager, Exception) == isinstance(traced, Exception), (number, traced, eager)
            if not isinstance(eager, Exception):
                for a, b in zip(traced, eager, strict=True):
                    np.testing.assert_array_equal(a, b)


def functions_of(home):
    """The functions that a module of the table defines, by their names."""
    module = importlib.import_module(f"anyshape.numpy.{home}")
    own = {name: f for name, f in vars(module).items() if getattr(f, "__module__", "") == module.__name__}
    return [name for name, f in own.items() if inspect.isfunction(f)]


def test_every_function_that_numpy_has_too_has_a_row():
    """Else NumPy's protocol would refuse it, and its calls without traced arguments would not reach NumPy."""
    rows = {row for names in serve.HOMES.values() for row in names.values() if row[0]}
    homes = {home for home, _ in rows} - {"arrays.writes"}  # whose others are methods of arrays
    shared = {*dir(np), *dir(np.linalg), *dir(np.fft), *dir(np.lib.stride_tricks)}
    missing = {
        (home, name) for home in homes for name in functions_of(home) if name in shared and name[0] != "_"
    } - rows
    assert not missing


ARGUMENTS = {"diag": ([1.0, 2.0],), "kron": (X, X), "as_strided": (X, (2,), (8,)), "sinc": (X,), "norm": (X,)}


@pytest.mark.parametrize("name", ["diag", "kron", "norm", "sinc", "vander", "as_strided", "sort", "all", "i0"])
def test_calls_without_traced_arguments_are_those_of_numpy(name):
    packages = (np, anp), (np.linalg, anp.linalg), (np.lib.stride_tricks, anp.lib.stride_tricks)
    theirs, ours = next((getattr(a, name), getattr(b, name)) for a, b in packages if hasattr(a, name))
    arguments = ARGUMENTS.get(name, (X,))
    result, expected = ours(*arguments), theirs(*arguments)
    assert type(result) is type(expected)
    np.testing.assert_array_equal(result, expected, strict=True)
    with pytest.raises(TypeError) as caught:
        ours(*arguments, nothing=1)
    assert "nothing" in str(caught.value)
