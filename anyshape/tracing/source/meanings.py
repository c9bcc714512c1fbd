"""Find what stands for a function in a call of a function that is read, while it is traced.

The functions of NumPy, SciPy, `math` and Python's own ones for numbers have a traced meaning. It serves calls with a
traced value or a symbolic size among the operands. Other calls get the original. Functions of NumPy that make arrays
make ones that a trace can write to.

Methods of arrays are among these functions: an array of NumPy takes traced operands, and `x.item()` gives a scalar.
"""

import builtins
import cmath
import copy
import functools
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import AnyshapeError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.tracebacks import shorten_traceback
from anyshape.numpy.arrays.array import Array
from anyshape.numpy.foreign_source import own_of
from anyshape.numpy.operands.concrete import is_involved, plain, wrapped
from anyshape.numpy.operands.promotion import as_traced, is_traced
from anyshape.numpy.serve import public_for
from anyshape.support.packages import load, scipy_stats
from anyshape.tracing.captured.code_origin import origin
from anyshape.tracing.source import mathematics, python_numbers

Function = Callable[..., Any]
_BUILTINS: dict[str, Function] = {
    "all": python_numbers.all_of,
    "any": python_numbers.any_of,
    "complex": python_numbers.as_complex,
    "float": python_numbers.as_float,
    "int": python_numbers.as_int,
    "len": python_numbers.length,
    "max": python_numbers.largest,
    "min": python_numbers.smallest,
    "round": python_numbers.rounded,
    "sum": python_numbers.total,
}
_CALLING: dict[Any, Function] = {  # what calls its first argument, or methods of it
    copy.copy: lambda x: _new_array(x, copy.copy(x)),
    copy.deepcopy: lambda x, *memo: _new_array(x, copy.deepcopy(x, *memo)),
    filter: lambda function, *args: filter(meaning(function), *args),
    functools.reduce: lambda function, *args: functools.reduce(meaning(function), *args),
    map: lambda function, *args: map(meaning(function), *args),
}

_ROWS: dict[int, tuple[Any, Function]] = {}  # by the id of a function: the function itself, and what stands for it


def meaning(function: Any) -> Any:
    """Return what a call of a function means in a trace: the function itself, unless a table has it."""
    row = _ROWS.get(id(function))
    if row is not None:
        return row[1]
    find = _BY_TYPE.get(type(function))
    return _of_object(function) if find is None else find(function)


def has_no_meaning(function: Any) -> bool:
    """Return whether a call of a function means that function itself, which may get plain arrays."""
    stands = meaning(function)
    return stands is function or getattr(stands, "func", None) is _with_plain


def _reaches(values: Any) -> bool:
    """Return whether a traced value or a symbolic size is among operands, in containers too."""
    return is_traced(*values) or is_involved(values)


def _for_traced(original: Any, ours: Function) -> Function:
    """Return a function whose calls with a traced operand mean another one, unless that gives NotImplemented."""
    reaches, error, shorten = _reaches, AnyshapeError, shorten_traceback

    def served(*args: Any, **kwargs: Any) -> Any:
        if not reaches(args) and not (kwargs and reaches(tuple(kwargs.values()))):
            return original(*args, **kwargs)
        try:
            result = ours(*args, **kwargs)
        except error as raised:
            shorten(raised)
            raise
        return original(*args, **kwargs) if result is NotImplemented else result

    return served


def _makes_arrays(function: Function) -> Function:
    """Return a function of NumPy's whose results, if they are new arrays of numbers, can be written to."""

    def served(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return wrapped(result, (*args, *kwargs.values())) if type(result) in _OF_ARRAYS else result

    return served


_OF_ARRAYS = (np.ndarray, tuple, list)


def _new_array(original: Any, copied: Any) -> Any:
    """Return a copy, which can be written to if it is an array or has arrays."""
    return wrapped(copied, (original,)) if type(copied) in _OF_ARRAYS else copied


# -- what stands for a function ------------------------------------------------------------------------------------


def _remembered(function: Any, stands: Any) -> Any:
    """Return what stands for a function, which stays in memory from now on."""
    _ROWS[id(function)] = function, stands
    return stands


def _by_module(function: Any) -> Any:
    """Return what stands for a function or a class, by the package that it says it was made in."""
    home = function.__module__
    try:
        find = _BY_MODULE[home]
    except KeyError:
        find = _BY_MODULE[home] = _BY_PACKAGE.get(str(home).partition(".")[0])
    return function if find is None else find(function)


def _in_table(module: types.ModuleType, table: dict[str, Function]) -> Callable[[Any], Any]:
    """Return what finds functions of one module by a table of names."""

    def find(function: Any) -> Any:
        name = function.__name__
        if getattr(module, name, None) is not function:
            return function
        ours = table.get(name)
        stands: Any = function if ours is None else _for_traced(function, ours)
        return _remembered(function, _CALLING.get(function, stands))

    return find


def _of_numpy(function: Any) -> Any:
    """Return what stands for a function or a class of NumPy."""
    if isinstance(function, type) and issubclass(function, (np.number, np.bool_)):
        return _remembered(function, _for_traced(function, functools.partial(python_numbers.as_numpy, function)))
    ours = np_ndarray if function is np.ndarray else public_for(function)
    if ours is not None:
        return _remembered(function, ours if isinstance(ours, type) else _makes_arrays(ours))
    if (tested := own_of(_SERVED_MODULES, getattr(function, "__module__", None) or "", function)) is not None:
        return _remembered(function, tested)
    home = sys.modules.get(getattr(function, "__module__", ""))
    is_public = getattr(home, function.__name__, None) is function
    return _remembered(function, function) if is_public else function


def np_ndarray(*args: Any, **kwargs: Any) -> Any:
    """Return an array by the constructor of the class, which a trace can write to."""
    return load("anyshape.numpy").ndarray(*args, **kwargs)


def _of_scipy(function: Any) -> Any:
    """Return what stands for a function of SciPy."""
    ours = own_of(_SERVED_MODULES, function.__module__, function)
    if ours is None:
        return function
    return _remembered(function, ours if isinstance(ours, type) else _makes_arrays(ours))


# public modules of SciPy and NumPy, with ours; those inside of others come first by their longer names
_SERVED_MODULES = {f"numpy{name}": f"anyshape.numpy{name}" for name in (".testing", ".polynomial")} | {
    f"scipy.{name}": f"anyshape.scipy.{name}"
    for name in (
        "cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
        "sparse.linalg", "spatial", "spatial.distance", "spatial.transform", "special", "stats",
    )
}  # fmt: skip


def _of_object(owner: Any) -> Any:
    """Return what stands for an object that is called: a function or distribution of SciPy, or a class of its."""
    if not isinstance(owner, type) and not str(type(owner).__module__).startswith(_LIBRARIES):
        return _of_packages(owner, None)
    ours = own_of(_SERVED_MODULES, str(getattr(owner, "__module__", "")), owner) or _distribution(owner)
    ours = prepared(owner) if ours is None else ours
    return _of_packages(owner, None) if ours is None else _for_traced(owner, ours)


_LIBRARIES = ("scipy.", "uarray", "numpy")


def prepared(owner: Any) -> Any:
    """Return the object of ours that is made of what one of NumPy's or SciPy's holds, None where no class of ours is.

    An interpolant, for example, was made of plain data outside of the function.
    """
    home = str(type(owner).__module__)
    if not home.startswith(_LIBRARIES):
        return None
    if home.startswith("scipy.sparse.") and hasattr(owner, "tocoo"):
        return load("anyshape.scipy.sparse").csr_array(owner)
    if type(owner) is np.poly1d:
        return functools.partial(load("anyshape.numpy").polyval, owner.coeffs)
    kinds = [kind for kind in type(owner).__mro__ if kind is not object]
    ours = [public_for(kind) or own_of(_SERVED_MODULES, kind.__module__, kind) for kind in kinds]
    return next((kind.made_by(owner) for kind in ours if hasattr(kind, "made_by")), None)


def _distribution(owner: Any) -> Any:
    """Return what stands for a distribution of SciPy, also for one with its parameters; None for other objects."""
    if not str(type(owner).__module__).startswith("scipy.stats."):
        return None
    if hasattr(owner, "dist"):
        family = getattr(load("anyshape.scipy.stats"), owner.dist.name, None)
        return family and family(*owner.args, **owner.kwds)
    name = getattr(owner, "name", None) or type(owner).__name__.removesuffix("_gen")
    return getattr(load("anyshape.scipy.stats"), name) if getattr(scipy_stats, name, None) is owner else None


def _of_method(method: types.MethodType) -> Any:
    """Return what stands for a method of a traced array, of a class or of an object of SciPy."""
    owner = method.__self__
    if isinstance(owner, Traced):
        ours = _TRACED_METHODS.get(method.__func__)
        return method if ours is None else functools.partial(_called, ours, owner, method)
    stands = _of_owner(owner, method)
    return stands if stands is not method else _of_packages(method, owner)


def _of_owner(owner: Any, method: Any) -> Any:
    """Return the method of what stands for its owner, a class or a distribution; the method itself if nothing does."""
    if type(owner) is type:
        ours = _by_module(owner)
        return method if ours is owner else getattr(ours, method.__name__, method)
    if owner is _GLOBAL_GENERATOR:
        return _of_global_generator(method)
    ours = _distribution(owner) or prepared(owner)
    return method if ours is None else _for_traced(method, getattr(ours, method.__name__, method))


def _of_global_generator(function: Any) -> Any:
    """Return what stands for a function of `numpy.random`: one that draws in each run, also without traced operands."""
    name = function.__name__
    is_public = getattr(np.random, name, None) == function
    return getattr(load("anyshape.numpy.random"), name) if is_public else function


def _of_grid(grid: Any) -> Any:
    """Return what stands for one of the objects of NumPy that make arrays where they are indexed."""
    names = [name for name in ("r_", "c_", "mgrid", "ogrid") if getattr(np, name) is grid]
    return getattr(load("anyshape.numpy"), names[0]) if names else grid


def _called(ours: Function, owner: Any, method: Any, *args: Any) -> Any:
    result = ours(owner, *args)
    return method(*args) if result is NotImplemented else result


_TRACED_METHODS: dict[Any, Function] = {Array.item: python_numbers.item, Array.tolist: python_numbers.tolist}


def _of_builtin(function: Any) -> Any:
    """Return what stands for a function in C: one of a module, a method of a ufunc, or one of an array of NumPy."""
    owner = function.__self__
    if type(owner) in _PLAIN:
        return function
    if type(owner) is np.ndarray:
        return _of_array(owner, function.__name__, function)
    if type(owner) is np.ufunc:
        ours = public_for(owner)
        return function if ours is None else getattr(ours, function.__name__, function)
    stands = _by_module(function) if type(owner) is types.ModuleType or owner is None else _of_owner(owner, function)
    return stands if stands is not function else _of_packages(function, owner)


def _of_packages(function: Any, owner: Any) -> Any:
    """Return what stands for a function in C of another package: it gets plain arrays, whose memory it reads."""
    home = getattr(function, "__module__", None) if owner is None else type(owner).__module__
    if type(owner) is types.ModuleType or origin(str(home), "") != "installed":
        return function
    kind = type(getattr(function, "__func__", function))
    is_in_c = kind.__name__ in ("builtin_function_or_method", "cython_function_or_method")
    return functools.partial(_with_plain, function) if is_in_c else function


def _with_plain(function: Function, *args: Any, **kwargs: Any) -> Any:
    return function(*plain(args), **plain(kwargs))


def _of_array(array: np.ndarray, name: str, method: Any) -> Any:
    """Return what stands for a method of an array of NumPy: traced operands make it one of the program."""
    if name in _WRITING:
        return method

    def served(*args: Any, **kwargs: Any) -> Any:
        if _reaches(args) or _reaches(tuple(kwargs.values())):
            return getattr(as_traced(array), name)(*args, **kwargs)
        return wrapped(method(*args, **kwargs), (array, *args, *kwargs.values()))

    return served


_GLOBAL_GENERATOR = np.random.mtrand._rand
_PLAIN = (list, dict, str, tuple, set)  # whose methods mean themselves
_WRITING = ("sort", "fill", "put", "partition", "resize", "setfield", "setflags", "byteswap", "itemset", "tolist")
_BY_TYPE: dict[type, Callable[[Any], Any]] = {
    types.FunctionType: _by_module,
    types.BuiltinFunctionType: _of_builtin,
    types.MethodType: _of_method,
    type: _by_module,
    np.ufunc: _of_numpy,
    **dict.fromkeys([type(np.r_), type(np.c_), type(np.mgrid), type(np.ogrid)], _of_grid),
    type(np.random.seed): _of_global_generator,
    type(np.sum): _of_numpy,  # what dispatches by NumPy's protocol
}
_BY_MODULE: dict[Any, Callable[[Any], Any] | None] = {}  # by the name of a module that was met
_BY_PACKAGE: dict[str, Callable[[Any], Any]] = {
    "copy": _in_table(copy, {}),
    "_functools": _in_table(functools, {}),
    "builtins": _in_table(builtins, _BUILTINS),
    "math": _in_table(math, mathematics.MATH),
    "cmath": _in_table(cmath, mathematics.CMATH),
    "numpy": _of_numpy,
    "scipy": _of_scipy,
}
