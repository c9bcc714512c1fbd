"""Build the methods of the traced array: operators, methods of ndarray, and refusals of what a program cannot do.

Compare traced arrays with what is not a number: None, text, other objects. NumPy finds them unequal, elementwise.
"""

import operator
import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from anyshape.errors import ArgumentError, ConcretizationError, MutationError, UnsupportedFunctionError
from anyshape.errors.messages import STORES
from anyshape.graph.ir.builder import Traced, record_concretized, unhidden, user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import Verdict, equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.prover.user_stack import is_user_frame, package_of, user_frame
from anyshape.graph.shapes.array_type import broadcast_sizes
from anyshape.numpy.arrays.python_operators import are_python_ints, expect_divisor, expect_power, of_python_ints
from anyshape.numpy.indexing import getitem
from anyshape.numpy.operands.promotion import NUMERIC, cast_operand, dtype_of, is_traced, is_weak, sizes
from anyshape.numpy.serve import FUNCTIONS
from anyshape.numpy.sizes.size_operands import check_divisor
from anyshape.numpy.sizes.size_quotient import exactly
from anyshape.ops.core.apply import context_of, describe
from anyshape.ops.creation import full
from anyshape.support.packages import python_slips, values_of_sizes
from anyshape.support.true_types import has_type

Method: TypeAlias = Callable[..., Any]
_DIVISIONS = ("divide", "floor_divide", "remainder", "divmod")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_EXACT = ("divide", *_COMPARISONS)
_CHOICE_ADVICE = "write the choice with np.where or anyshape.cond, and the loop with anyshape.while_loop"
_FLOAT_ADVICE = "compute with the array itself: a Python float would be a constant of every derivative"
_NO_OPERANDS = (str, bytes, dict, set, type(None))
_FORMAT_ADVICE = "return the array, and format it outside the traced function"
_OPERAND_ADVICE = {
    type(None): "pass an array: a default or a missing return gives None",
    str: "convert it, as with float(text)",
    bytes: "convert it, as with np.frombuffer(data)",
    dict: "use anyshape.tree_map, or its values one by one",
    set: "pass a list or an array: a set has no order",
}


def weakly(result: Any, *operands: Any) -> Any:
    """Return a result marked as weak if all operands are weak, since Python would give a Python scalar."""
    if not all(is_weak(x) for x in operands):
        return result
    return tuple(map(_as_weak, result)) if isinstance(result, tuple) else _as_weak(result)


def _as_weak(x):
    return x.as_weak() if hasattr(x, "as_weak") else x


def _as_int(x):
    """Return a Python number as it is and a bool as an int, as for Python: `True + True` is 2."""
    if isinstance(x, Traced) and x.dtype.kind == "b":
        x = FUNCTIONS["astype"](x, int).as_weak()
    return int(x) if has_type(x, bool) else x


def _without_numbers(name: str, x, other):
    """Return the result of an operator for an operand without numbers, None for others."""
    if getattr(other, "__array_ufunc__", True) is None or issubclass(type(other), NDArrayOperatorsMixin):
        return NotImplemented  # a class that takes arrays itself, such as a polynomial or a Ragged
    if has_type(other, _NO_OPERANDS) or (name in _COMPARISONS and is_foreign(other)):
        _refuse_operand(name, x, other)
        return NotImplemented if x.weak else compared(name, x, other)
    return _with_sequence(name, x, other) if issubclass(type(other), (list, tuple)) else None


def _with_sequence(name: str, x, other):
    """Return what an operator gives for a scalar and a list, None where NumPy takes the list for an array.

    An integer repeats the list, so Python decides on it. A number of Python has no other operator with a list.
    """
    if x.is_array or not has_type(other, (list, tuple)) or not (x.weak or name == "multiply"):
        return None
    if name != "multiply":
        return NotImplemented
    if x.dtype.kind not in ("biu" if x.weak else "iu"):
        raise TypeError(f"can't multiply sequence by non-int of type '{class_name(x)}'")
    return other * operator.index(x)


def class_name(x: Any) -> str:
    """Return the name that Python's errors give the class of a value: of a number, of a scalar or of an array."""
    return "numpy.ndarray" if x.is_array else dtype_of(x).__name__ if x.weak else f"numpy.{dtype_of(x).type.__name__}"


def _refuse_operand(name: str, x: Any, other) -> None:
    """Raise ArgumentError for an operand that no operator of numbers takes; an integer may repeat a text."""
    advice = _OPERAND_ADVICE.get(type(other))
    may_repeat = name == "multiply" and has_type(other, (str, bytes)) and x.dtype.kind in "iu" and x.ndim == 0
    if advice is None or name in ("equal", "not_equal") or may_repeat:
        return
    problem = "is None" if other is None else f"is of type {type(other).__name__}, not an array"
    raise ArgumentError(name, "an operand", problem, advice)


def binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a binary operator and its reflection."""
    compute = _computation(name)

    @short_traceback
    def forward(self, other):
        if (result_without := _without_numbers(name, self, other)) is not None:
            return result_without
        if self.weak and name in _DIVISIONS:
            check_divisor(self, other)
        result = compute(self, other, is_user_frame(sys._getframe(2)))
        if self.exact is not None and name in _EXACT:
            return result.with_exact(exactly(name, self.exact, getattr(other, "exact", other)))
        return result

    @short_traceback
    def backward(self, other):
        if has_type(other, _NO_OPERANDS):
            _refuse_operand(name, self, other)
            return NotImplemented
        if issubclass(type(other), (list, tuple)) and (result := _with_sequence(name, self, other)) is not None:
            return result
        result = compute(other, self, is_user_frame(sys._getframe(2)))
        if self.exact is not None and name == "divide":
            return result.with_exact(exactly(name, other, self.exact))
        return result

    return forward, backward


def _computation(name: str) -> Callable[[Any, Any, bool], Any]:
    """Return the function of a binary operator, which treats Python scalars as Python does.

    Its last argument tells whether code of the user calls it, in which Python's errors count.
    """
    keeps_bools = name.startswith(("bitwise", "divide")) or name in _COMPARISONS

    def compute(x, y, is_users):
        if are_numbers := is_weak(x) and is_weak(y):
            x, y = (x, y) if keeps_bools else (_as_int(x), _as_int(y))
            if are_python_ints(name, x, y):
                return of_python_ints(name, x, y)
            if is_users:
                expect_divisor(name, x, y)
        chosen = _root_or_square(x, y) if name == "power" else None
        result = FUNCTIONS[name](x, y) if chosen is None else FUNCTIONS[chosen](x)
        if are_numbers and is_users:
            expect_power(name, x, y, result)
        return weakly(result, x, y)

    return compute


def _root_or_square(x, y) -> str | None:
    """Return the function that NumPy's `x ** y` calls for an exponent of Python, None where that is np.power.

    The square of an array of bools is an int8, and powers of complex arrays have other zeros and infinities.
    """
    if type(y) not in (int, float) or not isinstance(x, Traced):
        return None
    if type(y) is int and y == 2 and (x.is_array or x.dtype.kind not in "bc"):
        return "square"
    if x.dtype.kind == "c" and x.is_array:
        return {(int, -1): "reciprocal", (float, 0.5): "sqrt"}.get((type(y), y))
    return None


def unary(name: str) -> Callable[..., Any]:
    """Return a unary operator.

    Its result for a Python int that only uint64 holds may be negative: such an int is refused.
    """

    @short_traceback
    def operate(self):
        x = _as_int(self) if self.weak else self
        if x.weak and are_python_ints(name, x):
            return of_python_ints(name, x)
        if name == "invert" and x.weak and x.dtype.kind == "u":
            x = cast_operand(x, np.dtype(int))
        return weakly(FUNCTIONS[name](x), self)

    return operate


def method(name: str) -> Callable[..., Any]:
    """Return the method of ndarray that is the function of the same name."""

    @short_traceback
    def method(self, *args, **kwargs):
        return FUNCTIONS[name](self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return `anyshape.numpy.{name}` of this array; the arguments follow it."
    return method


def valueless(request: str, instead: str = "") -> Callable[..., Any]:
    """Return a method that needs the value of the array, which is unknown while tracing."""

    @short_traceback
    def method(self, *args, **kwargs) -> NoReturn:
        if self.builder.closed:
            raise self.leaked()
        advice, sizes = python_slips.advice() or instead, self.value.meta.sizes or (None,)
        is_made = advice.startswith(python_slips.FROM_SCIPY) and all(has_type(n, int) for n in sizes)
        value = "" if is_made else describe(self)  # an array that SciPy made is not one of the user's
        error = record_concretized(ConcretizationError(request, value, user_line(), advice))
        raise error if request in _OF_ONE_ELEMENT and _has_other_size(self) else unhidden(error)

    return method


def number(request: str, convert: Callable[..., Any], instead: str = "") -> Callable[..., Any]:
    """Return a method that gives the value of a scalar which sizes alone decide, converted; others are refused."""
    refuse = valueless(request, instead)

    @short_traceback
    def method(self, *args, **kwargs):
        value = None if self.builder.closed or self.ndim else values_of_sizes.value_of_sizes(self)
        return refuse(self) if value is None else convert(value, *args, **kwargs)

    return method


_formatted = number("a format", format, _FORMAT_ADVICE)


def _decides(caller: FrameType) -> bool:
    """Return whether a frame runs the user's code, or ours in its place."""
    if str(caller.f_globals.get("__name__")).startswith("anyshape."):
        return True
    return is_user_frame(caller) and not package_of(caller.f_code.co_filename)


def _readings(request: str, *names: str) -> list[Any]:
    """Return methods of texts that are refused until the trace is over; installed packages only show texts."""

    def reading(name: str) -> Callable[..., Any]:
        own = getattr(str, name)

        def method(self: Any, *args: Any) -> Any:
            over = (builder := self.builder()) is None or builder.closed
            if over or not _decides(sys._getframe(1)):
                return own(self, *args)
            advice = "decide by values, as np.isnan(x).any() gives them, or make the text outside the traced function"
            raise unhidden(record_concretized(ConcretizationError(request, self.described, user_line(), advice)))

        return method

    return [*map(reading, names)]


class TextOfArray(str):
    """Text of a traced array, which shows no values: Python that reads it would decide for the values of all calls.

    It can be read once the trace is over. It holds no traced value, so it may be kept anywhere.
    """

    builder: Callable[[], Any]
    described: str

    def __new__(cls, array: Any, text: str) -> "TextOfArray":
        """Return the text of an array."""
        return cls._like(text, weakref.ref(array.builder), describe(array))

    @classmethod
    def _like(cls, text: str, builder: Callable[[], Any], described: str) -> "TextOfArray":
        made = super().__new__(cls, text)
        made.builder, made.described = builder, described
        return made

    def __add__(self, other: str) -> str:
        return self._like(super().__add__(other), self.builder, self.described)

    def __radd__(self, other: str) -> str:
        return self._like(other + str.__str__(self), self.builder, self.described)

    __eq__, __ne__, __lt__, __le__, __gt__, __ge__ = _readings(
        "a comparison of its text", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"
    )
    __contains__, startswith, endswith, find, rfind, index, rindex, count = _readings(
        "a search of its text", "__contains__", "startswith", "endswith", "find", "rfind", "index", "rindex", "count"
    )
    split, rsplit, partition, rpartition, strip, replace = _readings(
        "its text in pieces", "split", "rsplit", "partition", "rpartition", "strip", "replace"
    )
    __len__, __hash__ = *_readings("the length of its text", "__len__"), *_readings("its text as a key", "__hash__")


def formatted(self: Any, spec: str) -> str:
    """Return the text of the array in an f-string. A specification of digits needs the value."""
    return _formatted(self, spec) if spec else repr(self)


_refuse_view = valueless("view()", "convert it with astype, or take the view outside the traced function")


def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
    """Return another array that shares the elements. The bytes are not known, so the dtype stays.

    Args:
        dtype: dtype of the array, or None for it. ConcretizationError refuses another one.
        type: `numpy.ndarray`, which may also stand in place of the dtype, as in NumPy.
    """
    if has_type(dtype, int):
        raise ArgumentError("view", "dtype", f"is {dtype}", "write x.reshape(...): a view takes a dtype, not a shape")
    kinds = [kind for kind in (dtype, type) if kind is not None and kind is not np.ndarray]
    if all(np.dtype(kind) == self.dtype for kind in kinds):
        return getitem(self, ...)
    return _refuse_view(self)


_OF_ONE_ELEMENT = ("bool()", "int()", "float()", "complex()", "item()")  # NumPy refuses arrays of other sizes


def _has_other_size(x) -> bool:
    """Return whether an array is known to have another size than 1: in a program for a call, by a guard."""
    size = x.size if x.ndim else 1
    if isinstance(size, SymbolicSize):
        hints, claim = size.scope.hints, equal(size.expr, 1)
        if hints is None or not all(v in hints for v in claim.variables()):
            return size.scope.decide(claim) is Verdict.NO
    return bool(size != 1)


def _is_stored() -> bool:
    """Return whether the user's line stores into an array of NumPy, for which that asks a value for a number.

    No decision is made there: the array would hold a number of this call in every call.
    """
    if (frame := user_frame()) is None or frame.f_code.co_code[frame.f_lasti] in STORES:
        return frame is not None
    return "fill" in frame.f_code.co_names and python_slips.fills_array(frame)


def decided(request: str, python_type: type, instead: str = "") -> Callable[..., Any]:
    """Return a method that needs a value which a size has, or which Python decides on: see `tracing.decisions`."""
    refuse = valueless(request, instead or _CHOICE_ADVICE)
    convert = _as_bool if python_type is bool else _as_integer

    @short_traceback
    def method(self):
        if self.exact is not None:
            return python_type(self.exact)
        if self.builder.closed or self.builder.answer is None or _is_stored():
            return refuse(self)
        return python_type(self.builder.answer(convert(alone(self, request), refuse), request))

    return method


def alone(x, request: str):
    """Return the one element of an array; as in NumPy, an array of another size has no value."""
    if not x.ndim:
        return x
    if x.size != 1:
        few = "is ambiguous for an empty array" if x.size == 0 else "is ambiguous for more than one element"
        expression = getattr(user_line(), "expression", "") or request
        advice = "choose for each element with np.where and &, or for all with any() or all()"
        if expression.endswith(("== None", "!= None")):
            advice = f"write {expression.replace('!= None', 'is not None').replace('== None', 'is None')}"
        elif request != "bool()":
            advice = "take the element that you mean"
        raise ArgumentError(expression, "the value", few, advice)
    return FUNCTIONS["reshape"](x, ())


def _as_bool(x, refuse: Callable[..., Any]):
    return x if x.dtype.kind == "b" else FUNCTIONS["not_equal"](x, 0)


def _as_integer(x, refuse: Callable[..., Any]):
    """Return a scalar as an integer; the fraction of a float is cut off, as `int` does."""
    if x.dtype.kind in "biu":
        return x
    if x.dtype.kind == "c":
        raise TypeError("int() argument must be a real number, not 'complex'")
    if not bool(FUNCTIONS["isfinite"](x)):
        if bool(FUNCTIONS["isnan"](x)):
            raise ValueError("cannot convert float NaN to integer")
        raise OverflowError("cannot convert float infinity to integer")
    if not bool(FUNCTIONS["absolute"](x) < 2.0**62):
        return _refuse_long(x)
    return FUNCTIONS["astype"](x, int)


def rounded(request: str, of_sizes: Callable[[Any], int], name: str) -> Callable[..., int]:
    """Return a method that rounds to an int, on whose value Python decides."""

    def method(self) -> int:
        if self.exact is not None:
            return of_sizes(self.exact)
        return int(self if self.dtype.kind in "biu" else FUNCTIONS[name](self))

    return method


@short_traceback
def item(self: Any, *position: Any) -> Any:
    """Return the value of an integer or of a bool as one of Python, on which Python may decide; floats are refused."""
    if position:
        return FUNCTIONS["reshape"](self, -1)[position[0]].item() if len(position) == 1 else self[position].item()
    if self.dtype.kind not in "biu":
        return _float_item(self)
    return (bool if self.dtype.kind == "b" else int)(self)


@short_traceback
def as_float(self: Any) -> float:
    """Return the value of an integer, on which Python decides, or of a size; other floats are refused."""
    if self.exact is not None:
        return float(self.exact)
    return float(int(self)) if self.dtype.kind in "biu" and not _is_stored() else _float(self)


_refuse_long = valueless("int()", "keep the float, as in np.floor(x): integers of a program have 64 bits")
_float = number("float()", float, _FLOAT_ADVICE)
_float_item = number("item()", np.generic.item, _FLOAT_ADVICE)


def missing(name: str, instead: str) -> Callable[..., Any]:
    """Return a method of ndarray that has no counterpart."""

    def method(self, *args, **kwargs) -> NoReturn:
        raise UnsupportedFunctionError(f"x.{name}()", "has no counterpart on traced arrays", instead, user_line())

    return method


def mutating(request: str, instead: str) -> Callable[..., Any]:
    """Return a method of ndarray that changes the array in a way that a program cannot."""

    def method(self, *args, **kwargs) -> NoReturn:
        raise MutationError(request, "a traced array cannot be changed so", instead, user_line())

    return method


def axes_or_sizes(args: tuple[Any, ...]) -> Any:
    """Return the argument of `x.reshape(2, 3)` or `x.reshape((2, 3))`, which mean the same."""
    return args[0] if len(args) == 1 and (args[0] is None or not _is_size(args[0])) else args


def _is_size(x) -> bool:
    return has_type(x, (int, np.integer, SymbolicSize))


_NUMBERS = (int, float, complex, np.generic, np.ndarray, Traced, SymbolicSize)
_UNLIKE_NUMBERS: tuple[Any, ...] = tuple(
    [t.__eq__ for t in (object, str, bytes, type, type(None), dict, set, frozenset, list, tuple)]
)


def is_foreign(other: Any) -> bool:
    """Return whether an operand holds objects or text alone, which no element of a traced array equals."""
    if has_type(other, (int, float, complex, Traced, SymbolicSize)):
        return False
    if has_type(other, (list, tuple)) and is_traced(other):
        return False
    array = _as_array(other)
    if array.dtype.kind != "O":
        return array.dtype.kind not in NUMERIC
    return all(_is_unlike_numbers(element) for element in array.flat)


def _as_array(other) -> np.ndarray:
    """Return an operand as an array; what NumPy cannot take apart is one object."""
    if has_type(other, (np.ndarray, np.generic, list, tuple)):
        return np.asarray(other)
    cell = np.empty((), object)
    cell[()] = other
    return cell


def _is_unlike_numbers(x) -> bool:
    """Return whether the class of an object says that it equals no number."""
    return not has_type(x, _NUMBERS) and type(x).__eq__ in _UNLIKE_NUMBERS


def compared(name: str, x: Any, other: Any) -> Any:
    """Return `x == other` or `x != other` for a foreign operand; the shapes broadcast. Other operators give up."""
    if name not in ("equal", "not_equal"):
        return NotImplemented
    shape = broadcast_sizes(context_of(name, x), [sizes(x), _as_array(other).shape])
    return full(shape, name == "not_equal", bool) if shape else np.bool(name == "not_equal")
