"""Turn arguments into operands of ops: lifting, NumPy 2 promotion with weak Python scalars, sizes and axes.

A traced Python scalar is weak: it takes the dtype of the array it is combined with, as the Python scalar would.
So is the result of Python operators on weak scalars alone. The dtype of a weak scalar bounds its value: a Python int
traced as uint64 is one that int64 cannot hold.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from anyshape.errors import (
    AnyshapeError,
    ArgumentError,
    AxisError,
    DTypeError,
    LeakedTracerError,
    ScopeMismatchError,
    SpecError,
)
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.prover.constraints import OperandAxes, at_least
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.prover.user_stack import name_of
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of, sizes_of
from anyshape.ops.creation import float_of_size, full, size_value
from anyshape.ops.dynamic import nonnegative_size
from anyshape.ops.elementwise import STEEP_INTS, convert, float_of_ints, narrow, python_int_op
from anyshape.support.foreign import constant, is_foreign
from anyshape.support.true_types import has_type

NUMERIC = "biufc"
_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
ORDERS = ("C", "F", "A", "K")
_WIDE = np.dtype(np.int64)
_PYTHON_TYPES = (bool, int, float, complex)
_PYTHON = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def resolve_size(size: SymbolicSize) -> Size:
    """Return a size as ops take it.

    Raises ScopeMismatchError or SpecError for a size of another program or of other specifications.
    """
    if (builder := active()) is not None and not builder.scope.may_mix_with(size.scope):
        if size.scope.closed:
            raise LeakedTracerError(f"size {size}", where=user_line())
        origins = size.scope.origin, builder.scope.origin
        raise ScopeMismatchError([str(size), "the arguments"], origins, user_line())
    known = size.scope.normal(size.expr)
    if builder is not None and not size.scope.closed:
        for variable in expr.variables(known):
            if builder.dim_owner(variable) is None:
                advice = f"give an argument an axis of size {variable}, or pass it as an integer"
                raise SpecError(str(size), f"{variable} is not a size of the arguments of this program", advice)
    return known


def is_traced(*xs: Any) -> bool:
    """Return whether any operand, or any member of a list of them, belongs to a program."""
    return any(isinstance(x, (Traced, SymbolicSize)) or (isinstance(x, (list, tuple)) and is_traced(*x)) for x in xs)


def is_weak(x: Any) -> bool:
    """Return whether x is a Python scalar, or stands for one; to NumPy, subclasses as IntEnum are arrays."""
    if isinstance(x, Traced):
        return getattr(x, "weak", False)
    if isinstance(x, SymbolicSize):
        return x.numpy_dtype is None
    return type(x) in _PYTHON_TYPES


def dtype_of(x: Any) -> Any:
    """Return the dtype of an operand, or the Python type of a weak one, which NumPy's promotion takes."""
    if isinstance(x, Traced):
        return _PYTHON[x.dtype.kind] if getattr(x, "weak", False) else x.dtype
    if isinstance(x, SymbolicSize):
        return x.python_type if x.numpy_dtype is None else x.numpy_dtype
    return type(x) if is_weak(x) else operand(x).dtype if is_traced(x) or is_foreign(x) else np.asarray(x).dtype


def default_dtype(x: Any) -> np.dtype:
    """Return the dtype of a weak operand where it counts as an array: 2**63 alone is uint64."""
    if isinstance(x, Traced):
        return x.dtype
    return np.dtype(x.python_type) if isinstance(x, SymbolicSize) else np.result_type(x)


def result_type(*xs: Any) -> np.dtype:
    """Return the dtype to which operands and dtypes promote by NumPy 2; Python scalars are weak."""
    if len(xs) == 1 and is_weak(xs[0]):
        return default_dtype(xs[0])
    samples = []
    for x in xs:
        kind = x if isinstance(x, (np.dtype, type)) else dtype_of(x)
        samples.append(kind(0) if isinstance(kind, type) and kind in _PYTHON_TYPES else np.dtype(kind))
    return np.result_type(*samples)


def plain_array(x: Any, function: str, path: str = "an operand") -> np.ndarray:
    """Return x as a NumPy array; subclasses and tensors that no program computes with as they are are refused."""
    # `numpy.ma` takes 8 ms to load
    if issubclass(type(x), np.ndarray) and type(x) is not np.ndarray and isinstance(x, (np.ma.MaskedArray, np.matrix)):
        masked = isinstance(x, np.ma.MaskedArray)
        advice = "pass x.filled(...) and the mask, or np.asarray(x)" if masked else "pass np.asarray(x)"
        raise ArgumentError(function, path, f"is a {type(x).__name__}, which computes by rules of its own", advice)
    return constant(x, name_of(x) or path, function) if is_foreign(x) else np.asarray(x)


def operand(x: Any, function: str = "array") -> Any:
    """Return x as an operand of ops: a traced array, or a NumPy array of numbers."""
    if isinstance(x, Traced):
        return x.as_scalar()
    if isinstance(x, SymbolicSize):
        value = size_value(resolve_size(x))
        return convert(value, np.dtype(x.python_type) if x.numpy_dtype is None else x.numpy_dtype)
    if isinstance(x, (list, tuple)) and is_traced(*x):
        return _joined(x, function)
    if hasattr(type(x), "as_operand"):  # a range whose ends a run knows
        return operand(x.as_operand(), function)
    array = plain_array(x, function)
    if array.dtype.kind == "O" and not array.ndim:  # an object that NumPy knows nothing of
        kind, advice = type(array.item()), "pass a number, as float(...) of a Decimal: programs compute with NumPy's"
        if callable(array.item()):
            advice = "call it: an operand is the result of a function"
        if hasattr(kind, "tocsr"):
            advice = "write A @ x for a sparse matrix A, or A.toarray()"
        raise ArgumentError(function, "an operand", f"is of type {kind.__name__}, not an array", advice)
    if array.dtype.kind not in NUMERIC:
        raise ArgumentError(function, "an operand", f"has dtype {array.dtype}", "pass numbers or booleans")
    return array


def _joined(x: Sequence[Any], function: str):
    """Return nested lists that hold traced values as one array; a Python number counts as an array, as in NumPy."""
    lengths, members = _members_of(x)
    arrays = [operand(default_dtype(m).type(m) if _is_number(m) else m, function) for m in members]
    dtype, ctx = np.result_type(*[a.dtype for a in arrays]), context_of(function, *arrays)
    first = sizes(arrays[0])
    for position, array in enumerate(arrays):
        others = sizes(array)
        if len(others) != len(first):
            problem = f"members 0 and {position} of the list have {len(first)} and {len(others)} axes"
            raise ctx.fail(problem, "give members of one shape")
        for axis, (a, b) in enumerate(zip(first, others)):
            axes = OperandAxes(len(arrays), (0, axis), (position, axis))
            ctx.require_equal(a, b, f"members of the list have sizes {a} and {b} along axis {axis}", axes)
    joined = mv.concatenate([mv.expand(cast_operand(a, dtype), (0,)) for a in arrays], 0)
    return joined if len(lengths) == 1 else mv.reshape(joined, (*lengths, *first))


def _is_number(x) -> bool:
    """Return whether x is a Python number, which is traced nowhere."""
    return is_weak(x) and not isinstance(x, (Traced, SymbolicSize))


def _members_of(x) -> tuple[tuple[int, ...], list[Any]]:
    """Return the lengths of nested lists and their members in order; lists of uneven lengths are members themselves."""
    if not isinstance(x, (list, tuple)):
        return (), [x]
    parts = [_members_of(member) for member in x]
    inner = {lengths for lengths, _ in parts}
    if len(inner) != 1:
        return (len(x),), list(x)
    return (len(x), *inner.pop()), [member for _, members in parts for member in members]


def cast_operand(x: Any, dtype: np.dtype, function: str = "array") -> Any:
    """Return x as an operand of exactly this dtype; a Python scalar becomes a literal of it."""
    if isinstance(x, Traced) and x.meta.extents and x.dtype is dtype:  # most operands
        return x
    if is_weak(x):
        return _cast_number(x, dtype, function)
    if isinstance(x := operand(x, function), Traced) or x.ndim:
        return convert(x, dtype)  # of an array in the program too: it is held by reference, and may change in place
    return full((), x.item(), dtype)


def _cast_number(x, dtype: np.dtype, function: str):
    if not isinstance(x, (Traced, SymbolicSize)):
        if dtype.kind not in NUMERIC:  # of an int that no dtype holds
            raise ArgumentError(function, "an operand", f"has dtype {dtype}", "pass numbers or booleans")
        return full((), x, dtype)
    if dtype.kind in "fc" and (rounded := _rounded_int(x, dtype)) is not None:
        return rounded
    x = operand(x, function)
    if x.dtype.kind in "iu" and dtype.kind in "iu":
        return narrow(x, dtype)  # a Python int that does not fit is an error, never another number
    return convert(x, dtype)


def _rounded_int(x, dtype: np.dtype):
    """Return a Python int that int64 may not hold in an inexact dtype: a size, or a power; None for other numbers."""
    size = x if isinstance(x, SymbolicSize) else x.exact
    if isinstance(size, SymbolicSize):
        return float_of_size(resolve_size(size), dtype) if size.python_type is int else None
    node = next((n for n in reversed(x.builder.nodes) if x.value in n.outputs), None)
    if node is None or node.op is not python_int_op:
        return None
    if (operator := dict(node.params)["operator"]) not in STEEP_INTS:
        return None
    base, exponent = [type(x)(x.builder, value) for value in node.inputs]
    return float_of_ints(operator, base, exponent, dtype)


def number_dtype(dtype: Any, function: str = "array") -> np.dtype:
    """Return a dtype argument as a dtype of numbers; programs hold no objects and no text."""
    if has_type(dtype, (Traced, np.ndarray)):
        raise DTypeError(function, "an array is not a dtype", "pass its dtype, as in x.dtype", user_line())
    target = np.dtype(dtype)
    if target.kind not in NUMERIC:
        raise DTypeError(function, f"there are no traced arrays of {target}", "use a dtype of numbers", user_line())
    return target


def asarray(x: Any, dtype: Any = None, function: str = "array") -> Any:
    """Return x as an operand of its own dtype or of `dtype`."""
    if dtype is not None:
        return cast_operand(x, number_dtype(dtype, function), function)
    if is_weak(x):
        return cast_operand(x, default_dtype(x), function)
    array = operand(x, function)
    return cast_operand(array, array.dtype, function)


def as_traced(x: Any, dtype: Any = None) -> Any:
    """Return x as a traced array of its own dtype or of `dtype`; a concrete array becomes a constant of the program."""
    array = asarray(x, dtype)
    builder = active()
    return array if isinstance(array, Traced) or builder is None else builder.constant(array)


def size_of(x: Any) -> Size:
    """Return a size as ops take it: a Python int, or the expression of a symbolic size."""
    if isinstance(x, SymbolicSize):
        return resolve_size(x)
    return x if isinstance(x, DimExpr) else operator_index(x)


def is_int(size: Any, value: int) -> bool:
    """Return whether a size is this Python int; a symbolic size is not, even where it is known to be equal."""
    return has_type(size, int) and size == value


def operator_index(x: Any) -> int:
    """Return x as a Python int; floats and arrays are refused."""
    try:
        return int(type(x).__index__(x))
    except (AttributeError, TypeError) as error:
        if isinstance(error, AnyshapeError):
            raise
        advice = "pass an int or an entry of x.shape"
        raise DTypeError("size", f"{x!r} is not an integer", advice, user_line()) from None


def static_int(x: Any, function: str, field: str) -> int:
    """Return x as a Python int, for an argument that decides the number of operations or axes."""
    if isinstance(x, SymbolicSize):
        return ShapeGuardContext(x.scope, function, user_line()).fixed(x.expr, field=field)
    return operator_index(x)


def shape_of(shape: Any, function: str = "shape") -> tuple[Size, ...]:
    """Return a shape argument: one size or a sequence of them; each may be an integer scalar of the program."""
    if isinstance(shape, (Mapping, Set, bytes, bytearray)):
        problem = "is neither an int nor a sequence of ints"
        raise ArgumentError(function, f"the size {shape!r}", problem, "give one int for each axis")
    several = isinstance(shape, Iterable) and not isinstance(shape, Traced) and getattr(shape, "ndim", 1) > 0
    entries = list(shape) if several else [shape]
    if any(has_type(s, (bool, np.bool_)) for s in entries):
        raise ArgumentError(function, f"the size {shape!r}", "is a bool", "give one int for each axis")
    return tuple([nonnegative_size(s, function) if _is_integer(s) else size_of(s) for s in entries])


def _is_integer(x) -> bool:
    """Return whether x is an integer scalar of a program."""
    return isinstance(x, Traced) and not x.meta.rank and x.dtype.kind in "iu"


def new_size(size: Any, function: str) -> Size:
    """Return a size that an argument gives alone, and that must not be negative."""
    if isinstance(size, Sequence) or (has_type(size, np.ndarray) and size.ndim):
        raise ArgumentError(function, f"the size {size!r}", "is not an int", "give one int")
    return new_shape(int(size) if has_type(size, (bool, np.bool_)) else size, function)[0]


def new_shape(shape: Any, function: str) -> tuple[Size, ...]:
    """Return a shape argument whose sizes must not be negative, which NumPy checks where it allocates."""
    new_sizes = shape_of(shape, function)
    for size in new_sizes:
        context_of(function).require(at_least(size, 0), "a size cannot be negative")
    return new_sizes


def sizes(x: Any) -> tuple[Size, ...]:
    """Return the exact sizes of an operand."""
    return sizes_of(context_of("shape", x), x)


def axis_of(axis: Any, rank: int, function: str) -> int:
    """Return a possibly negative axis as one in 0..rank-1."""
    if not hasattr(type(axis), "__index__") or (type(axis) is np.ndarray and axis.ndim):
        raise ArgumentError(function, f"axis {axis!r}", "is not an int", "name an axis by its number, as in axis=0")
    index = static_int(axis, function, "the axis")
    if not -rank <= index < rank:
        raise AxisError(function, index, rank, user_line())
    return index % rank


def axes_of(axis: Any, rank: int, function: str) -> tuple[int, ...]:
    """Return None (all axes), one axis or a tuple of axes, as sorted axes that are not negative."""
    if axis is None:
        return tuple(range(rank))
    chosen = [
        axis_of(a, rank, function)
        for a in (axis if isinstance(axis, Sequence) and not isinstance(axis, str) else (axis,))
    ]
    if len(set(chosen)) != len(chosen):
        raise ArgumentError(function, f"axis {axis}", "names an axis twice", "name each axis once")
    return tuple(sorted(chosen))


def choice_of(name: str, option: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return the value of an option that has a few; any other is refused."""
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        raise ArgumentError(name, f"{option}={value!r}", "is unknown", f"write {' or '.join(map(repr, choices))}")
    return value


def flag_of(name: str, option: str, value: Any) -> bool:
    """Return an option that is true or false; an array of several elements is neither."""
    if has_type(value, np.ndarray) and value.size != 1:
        raise ArgumentError(name, f"{option}={value!r:.40}", "is neither true nor false", "write True or False")
    return bool(value)


def refuse_kinds(name: str, x: Any, kinds: str, advice: str = "convert it with astype") -> Any:
    """Return an operand whose dtype is of none of these kinds."""
    if x.dtype.kind in kinds:
        raise DTypeError(name, f"is not defined for {x.dtype}", advice, user_line())
    return x


def _kinds(ufunc: np.ufunc, xs: Sequence[Any]) -> list[Any]:
    """Return what a ufunc promotes for each operand: its dtype, or the Python type of a weak one."""
    kinds = [_kind(x, ufunc.__name__) for x in xs]
    if all(isinstance(k, type) for k in kinds):
        return _default_dtypes(ufunc, xs, kinds)
    kinds = [np.dtype(bool) if k is bool else k for k in kinds]
    if ufunc in _COMPARISONS and all(map(_is_integral, kinds)):  # by value; a literal takes the dtype of the array
        return [default_dtype(x) if k is int and not has_type(x, int) else k for x, k in zip(xs, kinds)]
    return kinds


def _kind(x, function: str):
    """Return the dtype of an operand, or the Python type of a weak one; an operand that ops do not take is refused."""
    return dtype_of(x if isinstance(x, Traced) or is_weak(x) else operand(x, function))


def _default_dtypes(ufunc: np.ufunc, xs: Sequence[Any], kinds: Sequence[Any]) -> list[Any]:
    """Return the default dtypes that a ufunc of Python scalars alone takes."""
    if len(xs) == 1 or ufunc in _COMPARISONS:
        return [default_dtype(x) for x in xs]
    return [np.dtype(k) for k in kinds]


def _is_integral(kind) -> bool:
    """Return whether a dtype or Python type is one of integers."""
    return kind is int or (not isinstance(kind, type) and kind.kind in "iu")


def loop_dtypes(ufunc: np.ufunc, *xs: Any, dtype: Any = None, casting: str = "same_kind") -> Sequence[np.dtype]:
    """Return the dtypes of operands and results in the loop that NumPy's ufunc would choose."""
    kinds = _kinds(ufunc, xs)
    result = None if dtype is None else number_dtype(dtype, ufunc.__name__)
    try:
        return _resolve(ufunc, casting, result, *kinds)
    except TypeError:
        names = " and ".join(getattr(k, "__name__", str(k)) for k in kinds)
        why = f"is not defined for {names}"
        raise DTypeError(ufunc.__name__, why, "convert them with astype", user_line()) from None


@functools.lru_cache(maxsize=4096, typed=True)
def _resolve(ufunc: np.ufunc, casting, result: np.dtype | None, *kinds) -> tuple[np.dtype, ...]:
    """Return the dtypes of the loop for operands of these kinds, and for results of a dtype if one is asked for."""
    wanted: dict[str, Any] = {}
    if result is not None:
        wanted["signature"] = (*[None] * ufunc.nin, *[result] * ufunc.nout)
    return ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), casting=casting, **wanted)


def promoted(ufunc: np.ufunc, *xs: Any, dtype: Any = None, casting: str = "same_kind") -> list[Any]:
    """Return the operands in the dtypes of the loop that NumPy's ufunc would choose."""
    xs = tuple([operand(x, ufunc.__name__) if has_type(x, (list, tuple)) else x for x in xs])
    dtypes = loop_dtypes(ufunc, *xs, dtype=dtype, casting=casting)
    return [
        cast_operand(_default(x) if d.kind == "b" else x, d, ufunc.__name__) for x, d in zip(xs, dtypes, strict=False)
    ]


def _default(x):
    """Return a traced Python int as int64 on its way to a bool.

    A ufunc takes a Python int for an int64 there, and refuses a larger one.
    """
    return narrow(x, _WIDE) if is_weak(x) and isinstance(x, Traced) and x.dtype.kind == "u" else x
