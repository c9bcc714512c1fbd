"""Libraries of arrays: which one an array is of, and what each has beside or beyond the Array API standard.

No library is imported that its user has not imported: an array tells by the module of its type.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.graph import Node, Op, OpTable
from anyshape.support.foreign import (
    DTYPES,
    WRAP,
    host_array,
    is_foreign,
    is_transformed,
    numpy_dtype_of,
    require_usable,
)
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import (
    array_api_strict,
    compat_cupy,
    compat_torch,
    cupy_special,
    fill,
    jax,
    jax_linalg,
    jax_numpy,
    jax_special,
    library_kernels,
    torch,
)
from anyshape.support.true_types import LIBRARIES, library_name

INT = np.dtype(np.int64)


class Row(NamedTuple):
    """Implementation of an op over a library: `run(xp, *arrays, **params)`, `xp` being the library.

    - `alike`: the name of a function of the library that takes the arrays alone, and is called without a step between.
      It may be a function of the params. Where the library has none, `run` does it, None if nothing does.
    - `specialise(xp, params, metas)`: gives a function of the arrays for params that are ints, or None.
    - `reads`: what a run reads of values on the host, so that a device is waited for; "" if nothing. It may be a
      function of the node.
    - `is_apart`: whether its results never share memory with an operand; results of `writers` never do.
    """

    run: Callable[..., Any] | None
    alike: str | Callable[[dict[str, Any]], str] = ""
    specialise: Callable[..., Callable[..., Any] | None] | None = None
    reads: str | Callable[[Node], str] = ""
    is_apart: bool = False


ROWS: OpTable[Row] = OpTable("kernel for other libraries of arrays", "backend/xp")


def kernel(op: Op, run: Callable[..., Any] | None, **options: Any) -> None:
    """Make a kernel the row of `op`."""
    ROWS[op] = Row(run, **options)


def alike(names: dict[Op, str]) -> None:
    """Make functions of libraries the rows of ops, by the names of the standard."""
    for op, name in names.items():
        ROWS[op] = Row(None, alike=name)


class Library:
    """Namespace of a library on one device, and functions that the standard lacks or that a library has otherwise."""

    shares_memory = False  # with arrays of NumPy that it takes
    caches = False  # whether arrays of one call are of use to another: not what a trace makes
    writers: frozenset[Any] = frozenset()  # its functions of elements that write to the array `out`

    def __init__(self, name: str, namespace: Any, device: Any) -> None:
        self.name, self.namespace, self.device = name, namespace, device
        self.array_type: Any = type(namespace.zeros(1))
        self.has_values = True  # False where arrays have a shape alone
        self.checks = True  # whether kernels check values, such as indices
        self.reads_freely = False  # whether reading a value waits for nothing
        self._dtypes: dict[np.dtype, Any] = {}

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        is_special = attribute.startswith("special_")
        value = self.special(attribute[8:]) if is_special else getattr(self.namespace, attribute, None)
        if value is None:
            advice = "pass arrays of NumPy, or write it with functions that the library has"
            raise UnsupportedFunctionError(self.name, f"has no function {attribute.removeprefix('special_')}", advice)
        self.__dict__[attribute] = value
        return value

    def __reduce__(self) -> Any:
        return _of_pickle, (self.name, self.device)

    def __repr__(self) -> str:
        return self.name if self.device is None else f"{self.name} on {self.device}"

    # -- dtypes and moves

    def dtype(self, dtype: np.dtype) -> Any:
        """Return the library's own dtype."""
        own = self._dtypes.get(dtype)
        if own is None:
            own = getattr(self.namespace, dtype.name, None)
            if own is None:
                advice = f"convert to another dtype, such as float64, or call it with arrays of NumPy: {DTYPES}"
                raise UnsupportedFunctionError(self.name, f"has no dtype {dtype}", advice)
            self._dtypes[dtype] = own
        return own

    def kind(self, x: Any) -> str:
        """Return the kind of the dtype of an array, as NumPy has it."""
        return numpy_dtype(x).kind

    def array(self, x: Any) -> Any:
        """Return an array of NumPy, or a number of it, on the device."""
        x = np.asarray(x)
        return self.asarray(x, dtype=self.dtype(x.dtype), device=self.device, copy=True)

    def host(self, x: Any) -> np.ndarray:
        """Return an array as one of NumPy."""
        return host_array(x)

    def example(self, x: Any) -> np.ndarray:
        """Return an array of NumPy whose values a trace may ask for: zeros where there are none yet."""
        return self.host(x)

    def convert(self, x: Any, dtype: np.dtype) -> Any:
        """Return an array in another dtype; of complex numbers the real parts, for a dtype of reals."""
        if self.kind(x) == "c" and dtype.kind != "c":
            x = x != 0 if dtype.kind == "b" else self.real(x)
        return self.astype(x, self.dtype(dtype))

    def integers(self, count: Any, dtype: np.dtype = INT) -> Any:
        """Return 0, 1 and so on."""
        return self.arange(count, dtype=self.dtype(dtype), device=self.device)

    def filled(self, shape: Any, value: Any, dtype: np.dtype) -> Any:
        """Return an array filled with a number."""
        return self.full(tuple(shape), value, dtype=self.dtype(dtype), device=self.device)

    # -- what the standard lacks

    def copied(self, x: Any) -> Any:
        """Return a copy."""
        return self.asarray(x, copy=True)

    def complement(self, x: Any) -> Any:
        """Return 1 less an array, whose memory may take the result."""
        return 1 - x

    def updated(self, x: Any, key: Any, value: Any) -> Any:
        """Return an array with other values at slices."""
        out = self.copied(x)
        out[key] = value
        return out

    def increased(self, x: Any, key: Any, value: Any) -> Any:
        """Return an array with values added at slices."""
        return self.updated(x, key, x[key] + value)

    def combined(self, how: str, target: Any, positions: Any, rows: Any) -> Any:
        """Return rows of a target combined with others, one after another: "add", "multiply", "minimum", "maximum"."""
        combine, out = getattr(self, how), self.copied(target)
        for i, position in enumerate(self.host(positions).tolist()):
            out[position, ...] = combine(out[position, ...], rows[i, ...])
        return out

    def first_true(self, x: Any, axis: int, name: str) -> Any:
        """Return positions of extremes: `name` is argmax or argmin."""
        x = self.convert(x, np.dtype(np.int8)) if self.kind(x) == "b" else x
        return getattr(self, name)(x, axis=axis)

    def searched(self, row: Any, values: Any, side: str) -> Any:
        """Return where values belong in a sorted vector."""
        flat = self.searchsorted(row, self.reshape(values, (-1,)), side=side)
        return self.convert(self.reshape(flat, values.shape), INT)

    def special(self, name: str) -> Any:
        """Return a special function by SciPy's name, None where the library has none."""
        return None

    def solve_triangular(self, a: Any, b: Any, lower: bool, unit: bool) -> Any:
        """Return the solution of a triangular system, whose other half may hold anything."""
        a = (self.tril if lower else self.triu)(a)
        if unit:
            a = a + self.eye(a.shape[-1], dtype=a.dtype, device=self.device) * (1 - self.diagonal(a)[..., None])
        return self.linalg.solve(a, b)

    def diagonal(self, a: Any) -> Any:
        """Return the diagonals of matrices."""
        return self.linalg.diagonal(a)

    # -- calls

    def sized(self, x: Any) -> Any:
        """Return an array with the shape of this one that has a length."""
        return x

    def matches(self, x: str, names: dict[str, Any], dtype: np.dtype, rank: int) -> str:
        """Return the source of a test, for generated code, that a local is anything else than such an array."""
        names |= {f"d{x[1:]}": self.dtype(dtype), "array_type": self.array_type, "device": self.device}
        test = f"type({x}) is not array_type or {x}.dtype != d{x[1:]} or {x}.ndim != {rank}"
        return test if self.device is None else f"{test} or {x}.device != device"

    def run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return a run of a program as the library needs it."""
        return run


class _Strict(Library):
    def sized(self, x: Any) -> Any:
        return np.broadcast_to(np.False_, x.shape)


class _Torch(Library):
    """PyTorch. Its own functions take dtypes as they are, while the compatible namespace promotes them."""

    shares_memory = caches = True
    _RENAMED = "bitwise_invert=bitwise_not greater=gt less=lt greater_equal=ge less_equal=le not_equal=ne equal=eq"
    _OWN = """
        abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_or bitwise_xor broadcast_to ceil copysign cos
        cosh divide exp exp2 expm1 floor fmod frexp gcd hypot isfinite isinf isnan lcm log log10 log1p log2 logaddexp
        logical_and logical_not logical_or logical_xor matmul maximum minimum multiply negative nextafter pow reciprocal
        reshape round signbit sin sinh sqrt square subtract tan tanh trunc where
    """

    def __init__(self, name: str, namespace: Any, device: Any) -> None:
        super().__init__(name, namespace, device)
        self.torch = torch
        self.array_type = torch.Tensor
        self.has_values = self.checks = device.type != "meta"
        self.shares_memory = self.reads_freely = device.type == "cpu"
        for names in (*self._RENAMED.split(), *self._OWN.split()):
            standard, _, own = names.partition("=")
            self.__dict__[standard] = getattr(self.torch, own or standard)
        writers = {*self._OWN.split()} - {*["broadcast_to", "frexp", "isfinite", "isinf", "isnan", "matmul", "reshape"]}
        self.writers = frozenset([getattr(torch, name) for name in (*writers, "gt", "lt", "ge", "le", "ne", "eq")])

    def kind(self, x: Any) -> str:
        dtype = x.dtype
        if dtype.is_floating_point:
            return "f"
        return "c" if dtype.is_complex else "b" if dtype is torch.bool else numpy_dtype(x).kind

    def array(self, x: Any) -> Any:
        x = np.asarray(x)
        if not (x.flags.writeable and x.flags.forc):
            x = x.copy()
        self.dtype(x.dtype)
        return torch.from_numpy(x).to(self.device) if x.ndim else self.filled((), x.item(), x.dtype)

    def host(self, x: Any) -> np.ndarray:
        if not self.has_values:
            raise self._without_values()
        return host_array(x)

    def example(self, x: Any) -> np.ndarray:
        return self.host(x) if self.has_values else np.zeros(tuple(x.shape), numpy_dtype(x))

    def _without_values(self) -> UnsupportedFunctionError:
        problem = f"the program reads values, and arrays of {self} have none"
        return UnsupportedFunctionError("a call", problem, "pass arrays on another device")

    def convert(self, x: Any, dtype: np.dtype) -> Any:
        if x.dtype.is_complex and dtype.kind not in "cb":
            x = x.real
        return x.to(self.dtype(dtype))

    def copied(self, x: Any) -> Any:
        return x.clone()

    def complement(self, x: Any) -> Any:
        return torch.sub(torch.ones((), dtype=x.dtype, device=x.device), x, out=None if x.requires_grad else x)

    def sum(self, x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> Any:
        """Return sums along one axis or more."""
        return torch.sum(x, dim=axis, dtype=dtype, keepdim=keepdims)

    def max(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        """Return the largest elements along axes."""
        return torch.amax(x, dim=axis, keepdim=keepdims)

    def min(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        """Return the least elements along axes."""
        return torch.amin(x, dim=axis, keepdim=keepdims)

    def flip(self, x: Any, axis: Any) -> Any:
        """Return the elements along axes in the other direction."""
        return torch.flip(x, axis)

    def permute_dims(self, x: Any, axes: Any) -> Any:
        """Return the axes in another order."""
        return x.permute(axes)

    def combined(self, how: str, target: Any, positions: Any, rows: Any) -> Any:
        if how == "add":
            return torch.index_add(target, 0, positions, rows)
        name = {"multiply": "prod", "minimum": "amin", "maximum": "amax"}[how]
        return torch.index_reduce(target, 0, positions, rows, name)

    def searched(self, row: Any, values: Any, side: str) -> Any:
        return torch.searchsorted(row.contiguous(), values.contiguous(), side=side)

    def special(self, name: str) -> Any:
        names = {"j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1", "psi": "digamma"}
        names |= {f"k{i}": f"modified_bessel_k{i}" for i in (0, 1)}
        names |= {f"k{i}e": f"scaled_modified_bessel_k{i}" for i in (0, 1)}
        return getattr(torch.special, names.get(name, name), None)

    def solve_triangular(self, a: Any, b: Any, lower: bool, unit: bool) -> Any:
        return torch.linalg.solve_triangular(a, b, upper=not lower, unitriangular=unit)

    def lu_factor(self, a: Any) -> tuple[Any, Any]:
        """Return the factors of matrices in one, and the rows that were exchanged."""
        lu, pivots = torch.linalg.lu_factor(a)
        return lu, pivots - 1

    def run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def in_words(*arrays):
            try:
                return run(*arrays)
            except (NotImplementedError, RuntimeError) as error:
                if not self.has_values and "meta" in str(error):
                    raise self._without_values() from error
                if any(map(is_transformed, arrays)):
                    problem = "its tensors are inside of a transformation of torch.func"
                    raise UnsupportedFunctionError("a call", problem, WRAP) from error
                if not isinstance(error, NotImplementedError) or "implement" not in str(error):
                    raise  # of the user's own function
                advice = "convert to another dtype, such as float64 or int64, or pass arrays of NumPy"
                raise UnsupportedFunctionError("a call", f"{self} says: {error!s:.120}", advice) from error

        return in_words

    def matches(self, x: str, names: dict[str, Any], dtype: np.dtype, rank: int) -> str:
        test = super().matches(x, names, dtype, rank)
        names |= {"strided": torch.strided, "grad_is_on": torch.is_grad_enabled}
        return f"{test} or {x}.layout is not strided or ({x}.requires_grad and grad_is_on())"


class _Jax(Library):
    def __init__(self, name: str, namespace: Any, device: Any) -> None:
        super().__init__(name, namespace, None)
        self.jax = jax

    def array(self, x: Any) -> Any:
        return self.namespace.asarray(np.array(x))

    def example(self, x: Any) -> np.ndarray:
        return np.zeros(x.shape, numpy_dtype(x)) if isinstance(x, jax.core.Tracer) else np.asarray(x)

    def updated(self, x: Any, key: Any, value: Any) -> Any:
        return x.at[key].set(value)

    def combined(self, how: str, target: Any, positions: Any, rows: Any) -> Any:
        method = {"minimum": "min", "maximum": "max"}.get(how, how)
        return getattr(target.at[positions], method)(rows)

    def special(self, name: str) -> Any:
        return getattr(jax_special, "digamma" if name == "psi" else name, None)

    def solve_triangular(self, a: Any, b: Any, lower: bool, unit: bool) -> Any:
        solve = jax_linalg.solve_triangular
        if a.ndim == 2:
            return solve(a, b, lower=lower, unit_diagonal=unit)
        count = math.prod(a.shape[:-2])  # -1 fails where a size is 0
        flat = [self.namespace.reshape(x, (count, *x.shape[-2:])) for x in (a, b)]
        solved = self.jax.vmap(functools.partial(solve, lower=lower, unit_diagonal=unit))(*flat)
        return self.namespace.reshape(solved, b.shape)

    def lu_factor(self, a: Any) -> tuple[Any, Any]:
        """Return the factors of matrices in one, and the rows that were exchanged."""
        lu, pivots, _ = self.jax.lax.linalg.lu(a)
        return lu, pivots

    def run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Run with 64-bit types turned on: dtypes are as in the graph, not the defaults of JAX."""

        @functools.wraps(run)
        def with_wide_types(*arrays):
            try:
                if jax.config.jax_enable_x64:
                    return run(*arrays)
                with jax.enable_x64(True):
                    return run(*arrays)
            except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
                problem = "the program reads values, which a transformation of JAX does not know"
                advice = "wrap the function in anyshape.jax.function, or call it outside of jax.jit and jax.vmap"
                raise UnsupportedFunctionError("a call", problem, advice) from error

        return with_wide_types


class _Cupy(Library):
    def array(self, x: Any) -> Any:
        with self.device:
            return self.namespace.asarray(np.asarray(x))

    def combined(self, how: str, target: Any, positions: Any, rows: Any) -> Any:
        out = target.copy()
        getattr(self.namespace, how).at(out, positions, rows)
        return out

    def special(self, name: str) -> Any:
        return getattr(cupy_special, name, None)


class _Kind(NamedTuple):
    """Class of a library here, with the module of its namespace and its name."""

    make: type[Library]
    namespace: Any
    name: str


_TORCH = _Kind(_Torch, compat_torch, "PyTorch")
_JAX = _Kind(_Jax, jax_numpy, "JAX")
_CUPY = _Kind(_Cupy, compat_cupy, "CuPy")
_STRICT = _Kind(_Strict, array_api_strict, "array_api_strict")
KINDS = dict(zip(LIBRARIES, (_TORCH, _JAX, _JAX, _CUPY, _STRICT), strict=True))  # by the first part of a module


def kind_of(x: Any) -> _Kind | None:
    """Return the kind of library that an argument is an array of, None for other arguments."""
    return KINDS[library_name(x)] if is_foreign(x) else None


def numpy_dtype(x: Any) -> np.dtype:
    """Return the dtype of an array as NumPy's."""
    dtype = numpy_dtype_of(x.dtype)
    assert dtype is not None  # arguments were checked
    return dtype


@functools.cache
def _library(kind: _Kind, device: Any) -> Library:
    return kind.make(kind.name, kind.namespace, device)


def _device(kind: _Kind, x: Any) -> Any:
    return None if kind is _JAX else x.device


def _of_pickle(name: str, device: Any) -> Library:
    return _library(next(kind for kind in KINDS.values() if kind.name == name), device)


def library_of(x: Any) -> Library:
    """Return the library of an array, on its device."""
    kind = kind_of(x)
    assert kind is not None
    return _library(kind, _device(kind, x))


def library_named(name: str, device: Any) -> Library:
    """Return a library by the name of its package, for plain code on a device."""
    if name not in LIBRARIES:
        raise ArgumentError("as_function", "library", f"is {name!r:.50}", f"give one of {', '.join(LIBRARIES)}")
    kind = KINDS[name]
    for package in (kind.namespace, *([torch] if kind is _TORCH else [])):
        fill(package)
    device = torch.device(device or "cpu") if kind is _TORCH else device
    library = kind.make(kind.name, kind.namespace, device)
    library.checks = library.reads_freely = False
    for code in "?bBhHiIqQefdFD":
        with suppress(UnsupportedFunctionError):
            numpy_dtype_of(library.dtype(np.dtype(code)))  # compilers of plain code trace no writes to tables
    return library


def as_numpy(x: Any) -> np.ndarray:
    """Return an array of a library as one of NumPy."""
    return library_of(x).host(x)


def common_library(arguments: Sequence[tuple[str, Any]], function: str) -> Library:
    """Return the library of all arrays among arguments with paths; numbers may be beside them.

    Raise ArgumentError that names two of them where they differ in library or device.
    """
    # arrays that the function closes over are moved, as its constants are
    is_own = lambda path, x: type(x) is np.ndarray and not path.startswith("captured ")
    arrays = [(path, x) for path, x in arguments if kind_of(x) is not None or is_own(path, x)]
    for path, x in arrays:
        if type(x) is not np.ndarray:
            require_usable(x, path, function)
    (first, x), *others = arrays
    for path, y in others:
        if (before := _home(x)) != (after := _home(y)):
            problem = f"is {_said(after)}, and {first} is {_said(before)}"
            raise ArgumentError(function, path, problem, "move one of them: all arrays of a call are in one place")
    return library_of(x)


def _home(x: Any) -> tuple[str, Any]:
    kind = kind_of(x)
    return ("NumPy", None) if kind is None else (kind.name, _device(kind, x))


def _said(home: tuple[str, Any]) -> str:
    name, device = home
    return f"an array of {name}" if device is None else f"an array of {name} on {device}"


def leaf_kind(x: Any) -> tuple[Any, ...]:
    """Return the dtype and rank of an array as keys of caches have them, and the class of one without axes."""
    return (numpy_dtype(x), x.ndim) if x.ndim else (numpy_dtype(x), 0, np.ndarray)


def checked(
    leaves: Sequence[Any], metas: Sequence[Any], paths: Sequence[str], name: str, library: Library
) -> list[Any]:
    """Return the leaves of a call; raise ArgumentError unless they are what a program was traced for."""
    if common_library(list(zip(paths, leaves, strict=True)), name) is not library:
        raise ArgumentError(name, "the arrays", f"are not of {library}", "pass arrays of it, or use jit")
    for x, meta, path in zip(leaves, metas, paths, strict=True):
        dtype = numpy_dtype(x) if kind_of(x) is not None else np.asarray(x).dtype
        if dtype != meta.dtype or np.ndim(x) != meta.rank:
            problem = f"is {dtype} with {np.ndim(x)} axes, not {meta}"
            raise ArgumentError(name, path, problem, "convert it, or trace again for this dtype and rank")
    return [x if kind_of(x) is not None else np.asarray(x) for x in leaves]


def refuse(trace: Any, library: Library) -> None:
    """Raise ArgumentError for a program that arrays of a library cannot serve."""
    name, labels = trace.graph.name, trace.labels or trace.paths
    for i in trace.written:
        advice = f"write {labels[i]} = {labels[i]}.copy() before the first write, and return it"
        raise ArgumentError(name, labels[i], f"is an array of {library}, and {name} writes to it", advice)
    for i, value in enumerate(trace.graph.inputs[: len(labels)]):
        if value.meta.dtype.kind == "O":
            problem = f"is a random generator, and a program over {library} draws no numbers"
            raise ArgumentError(name, labels[i], problem, "draw the numbers before, and pass them as an array")


ROWS.fill_by(library_kernels.load)
