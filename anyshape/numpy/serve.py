"""Table of who serves the names of NumPy on traced arrays, and what reads it: NumPy's protocols, modules and errors.

A row names the module of anyshape that defines names; it loads at their first use. Calls without traced arguments go to
NumPy or SciPy itself, unless the row says otherwise. What has no row is NumPy's own, and refuses traced arrays by name.
"""

import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from anyshape.errors import AnyshapeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.ir.tracebacks import ends_in_library, shorten_traceback
from anyshape.numpy.operands.concrete import wrapped
from anyshape.numpy.operands.promotion import is_traced, plain_array
from anyshape.numpy.operands.ufuncs import CONCRETE, Ufunc
from anyshape.support import elsewhere
from anyshape.support.foreign import is_foreign
from anyshape.support.packages import attributes, load, scipy_special
from anyshape.support.true_types import has_type

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
Rows = Mapping[str, str]  # names by the module that defines them; `name=other` has another name there

# -- the table -----------------------------------------------------------------------------------------------------

# Kinds of rows. Functions of "own" and "objects" get all calls: ufuncs, which look at their operands themselves, and
# what NumPy's protocol does not reach. The others get calls with traced arguments. Results of "new" are arrays that a
# trace can write to, concrete ones too. Functions of "lent" look like NumPy's own. What is in "theirs" is NumPy's own.
# No function runs NumPy's code. Of 45 that were tried, 25 branch on sizes or read values, as `roll` and `vander`
# do. They refuse, or have a program for each size. The others have few lines here, and errors that name a line.
SERVED: dict[str, dict[str, Rows]] = {
    "numpy": {
        "own": {
            "at_update": "at",
            "contraction": "matmul matvec vecdot vecmat",
            "dynamic": "top_k",
            "elementwise": (
                "abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan "
                "atan2 atanh bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or "
                "bitwise_right_shift bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide "
                "divmod equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod frexp gcd greater "
                "greater_equal heaviside hypot invert isfinite isinf isnan lcm ldexp left_shift less less_equal log "
                "log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum "
                "mod modf multiply negative nextafter not_equal positive pow power rad2deg radians reciprocal "
                "remainder right_shift rint sign signbit sin sinh spacing sqrt square subtract tan tanh true_divide "
                "trunc"
            ),
            "linalg.norms": "matrix_norm norm vector_norm",
            "linalg.solving": "matrix_power multi_dot",
            "movement": "broadcast_shapes",
            "operands.array_queries": "ndim result_type shape size",
            "reduction": "log_softmax logsumexp softmax",
        },
        "through": {
            "analysis.covariance": "corrcoef cov",
            "analysis.histograms": "nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar",
            "contraction": "cross dot einsum inner kron outer tensordot vdot",
            "dynamic": (
                "argwhere bincount compress extract flatnonzero intersect1d isin nonzero setdiff1d trim_zeros union1d "
                "unique unique_all unique_counts unique_inverse unique_values"
            ),
            "elementwise": (
                "allclose angle around astype fix imag isclose iscomplex iscomplexobj isneginf isposinf isreal "
                "isrealobj real round"
            ),
            "indexing": "diag diagonal diff ediff1d take take_along_axis trace",
            "matrices": (
                "append array_split block column_stack concat concatenate dsplit dstack hsplit hstack split stack "
                "unstack vsplit vstack"
            ),
            "movement": (
                "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to expand_dims flip fliplr flipud "
                "matrix_transpose moveaxis permute_dims ravel repeat reshape roll rollaxis rot90 squeeze swapaxes "
                "tile transpose"
            ),
            "padding": "pad",
            "reduction": (
                "all amax amin any argmax argmin count_nonzero cumprod cumsum cumulative_prod cumulative_sum max min "
                "prod ptp sum"
            ),
            "selection": "clip nan_to_num piecewise select where",
            "sorting": "argsort median percentile quantile searchsorted sort",
            "special": "i0=numpy_i0 sinc",
            "statistics": "average interp mean std trapezoid var",
        },
        "new": {
            "creation": (
                "arange array asanyarray asarray ascontiguousarray asfortranarray copy empty empty_like full full_like "
                "indices linspace meshgrid ones ones_like zeros zeros_like"
            ),
            "indexing": "ix_",
            "matrices": "diagflat eye identity tri tril triu",
        },
        "lent": {
            "analysis.elements": "common_type",
            "analysis.histograms": (
                "digitize histogram histogram2d histogram_bin_edges histogramdd nanargmax nanargmin nanmedian "
                "nanpercentile nanquantile ravel_multi_index unravel_index"
            ),
            "analysis.polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots vander",
            "analysis.signals": "convolve correlate gradient unwrap",
            "arrays.writes": "copyto fill_diagonal place put put_along_axis putmask",
            "editing": (
                "apply_over_axes argpartition array_equal array_equiv choose delete from_dlpack insert lexsort "
                "packbits partition real_if_close resize setxor1d sort_complex unpackbits"
            ),
            "grids": (
                "bartlett blackman diag_indices diag_indices_from fromfunction geomspace hamming hanning kaiser "
                "logspace tril_indices tril_indices_from triu_indices triu_indices_from"
            ),
        },
        "objects": {
            "analysis.elements": "fromiter vectorize",
            "editing": "apply_along_axis lib",
            "grids": "c_ mgrid ogrid r_",
        },
        "theirs": {  # types, constants and functions that take no array
            "": (
                "bool can_cast complex128 complex64 dtype e errstate euler_gamma finfo float16 float32 float64 iinfo "
                "inf int16 int32 int64 int8 isdtype nan newaxis pi promote_types uint16 uint32 uint64 uint8"
            )
        },
    },
    "numpy.linalg": {
        "own": {"linalg.norms": "matmul tensordot vecdot"},
        "through": {
            "linalg.decompositions": "eig eigh eigvals eigvalsh lstsq matrix_rank pinv qr svd svdvals",
            "linalg.norms": "cond cross diagonal matrix_norm norm outer trace vector_norm",
            "linalg.solving": "cholesky det inv matrix_power multi_dot slogdet solve tensorinv tensorsolve",
            "movement": "matrix_transpose",
        },
    },
    "numpy.fft": {
        "through": {
            "fft": (
                "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 "
                "rfftfreq rfftn"
            )
        }
    },
    "numpy.lib.stride_tricks": {"through": {"editing": "as_strided sliding_window_view"}},
    "scipy.special": {"through": {"reduction": "log_softmax logsumexp softmax", "special": "polygamma zeta"}},
}
MODULES: tuple[str, ...] = ("fft", "linalg", "polynomial", "random", "special", "testing")
_STANDARD = ("__version__", "__array_api_version__", "__array_namespace_info__")  # names of the Array API standard
_READ_MEMORY = ("frombuffer", "from_dlpack")  # without NumPy's protocol
_OUTSIDE = "return the array, and write it outside the traced function"
_OF_METHODS = {  # advice by the last part of a name
    **dict.fromkeys(("array2string", "array_str", "array_repr", "save", "savez", "savetxt"), _OUTSIDE),
    "rvs": "draw by a numpy.random.Generator, as in m + s * rng.normal(size=n): such draws have slopes by m and s",
    "fit": "minimise -np.sum(logpdf(x, ...)) by anyshape.optimize.minimize",
}
COMPOSE_ADVICE: str = "write it with other NumPy functions, or call it outside the traced function"
_VECTORIZE_ADVICE = "call the function itself, or write anyshape.numpy.vectorize(f)(x)"


def _split(names: str) -> list[tuple[str, str]]:
    """Return each name of a row, with the one that it is defined by."""
    return [(entry.partition("=")[0], entry.rpartition("=")[2]) for entry in names.split()]


HOMES: dict[str, dict[str, tuple[str, str]]] = {
    package: {
        name: (home, defined)
        for rows in kinds.values()
        for home, names in rows.items()
        for name, defined in _split(names)
    }
    for package, kinds in SERVED.items()
}
_OWN = ("own", "objects")  # get all calls
LISTED: list[str] = [
    name
    for kind, rows in SERVED["numpy"].items()
    if kind not in ("lent", "objects")
    for names in rows.values()
    for name, _ in _split(names)
]

# -- concrete calls ------------------------------------------------------------------------------------------------


def through(function: Function, external: Function, shown: Any = None) -> Any:
    """Return a function whose calls without traced arguments go to another one. It looks like `shown`, or the first."""
    concrete, traced, error, shorten, advised = CONCRETE, is_traced, AnyshapeError, shorten_traceback, _with_options

    def served(*args, **kwargs):
        for x in args:
            if type(x) not in concrete:
                break
        else:
            if not kwargs:
                return external(*args)
        if not traced(*args, *kwargs.values()):
            return advised(external, args, kwargs)
        try:
            return function(*args, **kwargs)
        except error as raised:
            shorten(raised)
            raise

    made = _looking_like(shown or function, served, function)
    made.traced = function
    return made


def _with_options(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a function of NumPy; an error about an option says which one to write.

    In a trace it takes arrays of other libraries that NumPy cannot read, as views of conjugates.
    """
    try:
        return function(*args, **kwargs)
    except (TypeError, RuntimeError) as error:
        if active() is not None and any(map(is_foreign, args)):
            return function(*[plain_array(x, function.__name__) if is_foreign(x) else x for x in args], **kwargs)
        advise(error)
        raise


def _makes_new(function: Function, external: Function) -> Any:
    """Return a function whose concrete calls make arrays of another one, which in a trace can be written to."""
    traced, assignable, error, shorten, advised = is_traced, wrapped, AnyshapeError, shorten_traceback, _with_options

    def served(*args, **kwargs):
        if not traced(*args, *kwargs.values()):
            return assignable(advised(external, args, kwargs), (*args, *kwargs.values()))
        try:
            return function(*args, **kwargs)
        except error as raised:
            shorten(raised)
            raise

    return _looking_like(function, served, function)


def _looking_like(shown, served, function):
    """Return a copy of a function with the looks of another one; by its globals doctest finds it in its module."""
    copy: Any = types.FunctionType(served.__code__, function.__globals__, "served", None, served.__closure__)
    return functools.update_wrapper(copy, shown)


def serve(name: str) -> None:
    """Let the functions of a module leave concrete calls to NumPy or SciPy, as their rows say."""
    module, home, served = vars(sys.modules[name]), name.removeprefix("anyshape.numpy."), dict[int, Any]()
    for package, kinds in SERVED.items():
        rows = [(kind, *names) for kind in kinds if kind not in _OWN for names in _split(kinds[kind].get(home, ""))]
        theirs = (scipy_special if package == "scipy.special" else load(package)) if rows else None
        for kind, theirs_name, defined in rows:
            function = module[defined]
            if id(function) not in served:  # else a second name of one function
                external = _at_call(theirs, theirs_name) if theirs is scipy_special else getattr(theirs, theirs_name)
                made = served[id(function)] = _served(function, external, kind)
                served[id(made)] = made
            module[defined] = served[id(function)]


def _served(function, external, kind: str):
    """Return a function as its kind of row says."""
    if kind == "new":
        return _makes_new(function, external)
    if kind == "through":
        return through(function, external)
    lent = through(function, external, external)
    lent.__module__ = "anyshape.numpy"
    return lent


def falls_through(package: Any) -> Callable[[F], F]:
    """Return a decorator: calls without traced arguments go to the function of this name in a package."""

    def decorate(function: F) -> F:
        return cast("F", through(function, _at_call(package, function.__name__)))

    return decorate


def _at_call(package, name: str) -> Function:
    """Return a function of a package that loads at its first call."""

    def external(*args, **kwargs):
        return getattr(package, name)(*args, **kwargs)

    return external


# -- traced calls --------------------------------------------------------------------------------------------------

_FUNCTIONS: dict[Any, Function | None] = {}  # by the function of NumPy that they stand for
_UFUNCS: dict[tuple[np.ufunc, str], Function] = {}  # by the ufunc and its method


def _for_traced(package: str, name: str) -> Function:
    """Return what a name stands for where an argument is traced."""
    function = _defined(package, name)
    return getattr(function, "traced", function)


def _defined(package: str, name: str) -> Any:
    """Return what the table has for a name."""
    home, defined = HOMES[package][name]
    return getattr(load(f"anyshape.numpy.{home}" if home else package), defined)


class _Functions(dict[str, Function]):
    """Functions of traced arrays by their names, each loaded at its first use."""

    def __missing__(self, name: str) -> Function:
        function = self[name] = _for_traced("numpy", name)
        return function


FUNCTIONS: _Functions = _Functions()


def _row_of(function: Any) -> tuple[str, str] | None:
    """Return the package and the name by which a function of NumPy has a row, None without one."""
    name = getattr(function, "__name__", "")
    is_here = lambda package: getattr(sys.modules.get(package), name, None) is function
    homes = [package for package in HOMES if HOMES[package].get(name, ("",))[0] and is_here(package)]
    return (homes[0], name) if homes else None


def function_for(function: Any) -> Function | None:
    """Return what stands for a function of NumPy on traced arrays, None if nothing does."""
    if function not in _FUNCTIONS:
        row = _row_of(function)
        _FUNCTIONS[function] = None if row is None else _for_traced(*row)
    return _FUNCTIONS[function]


def public_for(function: Any) -> Any:
    """Return what has the name of a function or class of NumPy here, for concrete operands too; None without a row."""
    row = _row_of(function)
    return None if row is None else _defined(*row)


def ufunc_for(ufunc: np.ufunc, method: str) -> Function:
    """Return the function that stands for a ufunc on traced arrays, or for one of its methods."""
    key = ufunc, method
    if key not in _UFUNCS:
        function = _called(ufunc) if method == "__call__" else _method(key)
        if function is None:
            raise _without_counterpart(ufunc, method)
        _UFUNCS[key] = function
    return _UFUNCS[key]


def _called(ufunc):
    """Return what stands for a ufunc of NumPy or SciPy."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return _defined("numpy", name) if name in HOMES["numpy"] else None
    if "scipy.special" not in sys.modules:
        return None  # who has a ufunc of it has loaded it
    special = load("anyshape.numpy.special")
    if getattr(scipy_special, name, None) is ufunc and has_type(getattr(special, name, None), Ufunc):
        return getattr(special, name)
    if getattr(sys.modules["scipy.special._ufuncs"], "_lambertw", None) is ufunc:
        return load("anyshape.scipy.special").lambertw  # SciPy's own function calls it, as `oaconvolve` does of a size
    return special.UFUNCS.get(ufunc) or load("anyshape.numpy.special_ufuncs").UFUNCS.get(ufunc)


def _method(key):
    """Return what stands for a method of a ufunc: `outer` by the ufunc itself, the others by tables."""
    ufunc, method = key
    if method == "outer":
        function = _called(ufunc) if ufunc.nin == 2 and ufunc.signature is None else None
        return function and functools.partial(load("anyshape.numpy.arrays.ufunc_methods").outer, function)
    tables = (load(f"anyshape.numpy.{home}").METHODS for home in ("arrays.ufunc_methods", "folds"))
    return next((table[key] for table in tables if key in table), None)


def call_counterpart(function: Any, args: Any, kwargs: Any, *, of_sizes: bool = False) -> Any:
    """Call the function that stands for one of NumPy's on traced arrays.

    Without one, NumPy's own may ask sizes for their values.
    """
    if (counterpart := function_for(function)) is not None:
        return counterpart(*args, **kwargs)
    if of_sizes:
        return function._implementation(*args, **kwargs)
    raise refuse(f"{function.__module__}.{function.__name__}")


# -- modules -------------------------------------------------------------------------------------------------------


@functools.cache
def named(name: str) -> Any:
    """Return what a name of NumPy stands for; raise AttributeError for names that it does not have."""
    if name in MODULES:
        return load(f"anyshape.numpy.{name}")
    if name in HOMES["numpy"]:
        return _defined("numpy", name)
    if (name.startswith("_") and name not in _STANDARD) or not hasattr(np, name):
        raise elsewhere.missing(sys.modules["anyshape.numpy"], name)
    member = getattr(np, name)
    if not hasattr(member, "_implementation") and name not in _READ_MEMORY:
        return member
    refused = guarded(member, f"numpy.{name}")
    refused.__module__ = "anyshape.numpy"
    return refused


class Module:
    """Public names of a module of SciPy or NumPy that have no counterpart, each loaded at its first use."""

    def __init__(self, package: Any, name: str) -> None:
        self.package, self.name = package, name
        self._served: dict[str, Any] = {}

    def named(self, name: str) -> Any:
        """Return what a name of the module stands for; raise AttributeError for names that it does not have."""
        if name not in self._served:
            self._served[name] = self.served_by(name)
        return self._served[name]

    def served_by(self, name: str) -> Any:
        """Return what a name stands for, before it is remembered."""
        if name.startswith("_") or (member := getattr(self.package, name, Module)) is Module:
            raise elsewhere.missing(sys.modules[f"anyshape.{self.name}"], name)
        return guarded(member, f"{self.name}.{name}") if _is_function(member) else member

    def public_names(self) -> list[str]:
        """Return the names that the other library's module shows."""
        return sorted(name for name in attributes(self.package) if not name.startswith("_"))


def _is_function(member) -> bool:
    """Return whether a member is a function of SciPy, and neither a ufunc nor an object that has methods."""
    types_of_functions = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    is_wrapped = callable(member) and type(member).__module__ in ("uarray", "functools")  # choose or remember
    return isinstance(member, types_of_functions) or is_wrapped


# -- refusals ------------------------------------------------------------------------------------------------------


def refuse(function: str) -> UnsupportedFunctionError:
    """Return the error for a function of NumPy or SciPy that was called on traced arrays."""
    advice = _OF_METHODS.get(function.rpartition(".")[2], COMPOSE_ADVICE)
    return UnsupportedFunctionError(function, "has no counterpart on traced arrays", advice, user_line())


def guarded(function: Any, name: str) -> Any:
    """Return a function of NumPy or SciPy that refuses traced arrays, in lists too."""

    def refused(*args, **kwargs):
        raise refuse(name)

    return through(refused, function, function)


def _without_counterpart(ufunc, method: str) -> UnsupportedFunctionError:
    """Return the error for a ufunc, or a method of one, that was called on traced arrays."""
    if not ufunc.__name__.endswith(" (vectorized)"):
        return refuse(ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}")
    where = user_line()  # np.frompyfunc made it of a function of Python
    name = getattr(where, "expression", "") or ufunc.__name__
    return UnsupportedFunctionError(name, "has no counterpart on traced arrays", _VECTORIZE_ADVICE, where)


def advise(error: Exception) -> None:
    """Add what NumPy has to an error of Python about a name of another library.

    Python's own error names what is missing. A note below it says what to write.
    """
    instead = _of_attribute(error) if isinstance(error, AttributeError) else _of_option(error)
    if instead and not getattr(error, "__notes__", None):
        error.add_note(f"  {instead}")


def _of_attribute(error: AttributeError) -> str:
    """Return what to write instead of an attribute that an array or the module of NumPy does not have."""
    owner, name = error.obj, str(error.name)
    if owner is None or type(owner).__name__ == "Generator":
        return _of_assignment(str(error)) if owner is None else _of_generator(name)
    if has_type(owner, types.ModuleType):
        is_numpy = owner.__name__ in ("numpy", "anyshape.numpy") and name in elsewhere.FUNCTIONS
        return f"write {elsewhere.FUNCTIONS[name]}" if is_numpy else ""
    if not isinstance(owner, Traced):
        return ""
    if name in elsewhere.ATTRIBUTES:
        return f"write {elsewhere.ATTRIBUTES[name]}"
    if _is_of_numpy(name):
        return f"write np.{name}(x)"
    if name in elsewhere.FUNCTIONS:
        return f"write {elsewhere.FUNCTIONS[name]}"
    near = elsewhere.alike(name, dir(np.ndarray))
    return f"write x.{near}" if near else "arrays have the attributes of numpy.ndarray"


def _of_assignment(text: str) -> str:
    """Return what to write instead of an attribute that an assignment cannot set: such errors name no owner."""
    match = _NOT_SET.match(text)
    return f"write {elsewhere.ATTRIBUTES[match[1]]}" if match and match[1] in elsewhere.ATTRIBUTES else ""


def _of_generator(name: str) -> str:
    """Return what to write instead of a method that generators do not have."""
    near = elsewhere.DRAWS.get(name) or elsewhere.alike(name, dir(np.random.Generator))
    return f"write rng.{near}" if near else ""


def _of_option(error: Exception) -> str:
    """Return what to write instead of an option that a function of NumPy does not have, or of a refused value."""
    unknown = elsewhere.UNKNOWN_OPTION.search(str(error)) if isinstance(error, TypeError) else None
    if match := _STACKS.match(str(error)):
        return f"pass the arrays as one list: np.{match[1]}([x, y])"
    if unknown is None or not (_is_of_numpy(unknown[1] or "") or ends_in_library(error) or _of_scipy(unknown[1] or "")):
        return elsewhere.instead_of_value(error) if ends_in_library(error) or _OURS.search(str(error)) else ""
    return _of_keyword(unknown[1] or "", unknown[2])


def _of_keyword(function: str, option: str) -> str:
    """Return what to write instead of an option that a function does not have."""
    if option in (parameters := _parameters(function)):
        return f"write np.{function}(x, {option}=...)"  # for a function of Python of the same name
    if option not in elsewhere.OPTIONS:
        return elsewhere.instead_of_keyword(option, parameters)
    name = elsewhere.OPTIONS[option]
    if " " in name:
        return f"write {name}"
    return f"write {name} in place of {option}" if name else "leave it out"


_STACKS = re.compile(r"(\w*stack|concatenate)\(\) takes .*positional argument")
_NOT_SET = re.compile(r"'(?:NDArray|Array)' object has no attribute '(\w+)'")
_OURS = re.compile("'(NDArray|Array|SymDim)'")


def _of_scipy(name: str) -> Any:
    """Return a function or class of this name that a loaded module of `anyshape.scipy` defines, None if none does."""
    modules = [module for path, module in [*sys.modules.items()] if path.startswith("anyshape.scipy.")]
    return next((vars(m)[name] for m in modules if callable(vars(m).get(name))), None)


def _parameters(name: str) -> tuple[str, ...]:
    """Return the parameters of a function of NumPy or of ours, none if there is no such function."""
    function = getattr(np, name, None) or getattr(np.linalg, name, None) or _of_scipy(name)
    try:
        return tuple(inspect.signature(function).parameters) if function is not None else ()
    except ValueError:
        return ("out", "where", "dtype")  # of a ufunc


def _is_of_numpy(name: str) -> bool:
    """Return whether NumPy has a function of this name, for arrays or for matrices."""
    functions: list[Any] = [getattr(np, name, None), getattr(np.linalg, name, None)]
    return any(callable(f) and not isinstance(f, type) for f in functions)
