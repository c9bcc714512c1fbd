"""Define the traced array, which a function receives while it is traced. It behaves as plain NumPy code expects.

Define the attributes of ndarray that tell of memory, and the flat view.

A value of a program has no memory until the program runs, and then its layout is the program's choice. So these
attributes are refused, and the flat view reads elements in C order.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from anyshape import errors
from anyshape.errors import messages
from anyshape.graph.ir.builder import (
    Builder,
    Reader,
    Traced,
    Writer,
    active,
    record_concretized,
    record_refusal,
    unhidden,
    user_line,
)
from anyshape.graph.ir.graph import Handle, Value
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.numpy.arrays import writes
from anyshape.numpy.arrays.array_methods import (
    Method,
    TextOfArray,
    as_float,
    axes_or_sizes,
    binary,
    decided,
    formatted,
    item,
    method,
    missing,
    mutating,
    number,
    rounded,
    unary,
    valueless,
    view,
    weakly,
)
from anyshape.numpy.arrays.python_operators import whole
from anyshape.numpy.arrays.writes import in_place, set_flat
from anyshape.numpy.indexing import getitem
from anyshape.numpy.lazy import namespace
from anyshape.numpy.operands.concrete import ConcreteArray
from anyshape.numpy.operands.memory import Memory, View, alias, owned, refresh, share
from anyshape.numpy.operands.promotion import CASTINGS, ORDERS, choice_of, number_dtype
from anyshape.numpy.operands.reduction_args import alike
from anyshape.numpy.serve import FUNCTIONS, call_counterpart, ufunc_for
from anyshape.numpy.sizes.shape_tuple import as_shape
from anyshape.numpy.sizes.size_quotient import Quotient
from anyshape.ops.control import name_sizes
from anyshape.ops.core.apply import describe
from anyshape.support.packages import concrete_views, python_slips, python_values
from anyshape.support.true_types import has_type


def _refused(request: str, instead: str) -> errors.UnsupportedFunctionError:
    """Return the error for an attribute that tells of memory."""
    request, instead = python_slips.asked_by_package() or (request, instead)
    return errors.UnsupportedFunctionError(request, "a traced array has no memory layout", instead, user_line())


def _memory(name: str, instead: str) -> property:
    """Return a property of ndarray that tells of memory."""

    def attribute(self) -> NoReturn:
        raise _refused(f"x.{name}", instead)

    def assign(self, value) -> NoReturn:
        raise errors.MutationError(f"x.{name} = v", "a traced array has no memory layout", instead, user_line())

    attribute.__doc__ = f"Refuse `{name}`, which tells of memory."
    return property(attribute, assign)


_OUTSIDE = "read it from the NumPy array, outside the traced function"


class Flags:
    """Flags of an array. A trace knows whether it can be written to; the others tell of memory."""

    __slots__ = ("writeable",)

    def __init__(self, writeable: bool) -> None:
        self.writeable = writeable

    def __getitem__(self, name: str) -> bool:
        return bool(getattr(self, "writeable" if name in ("WRITEABLE", "W") else name.lower()))

    def __getattr__(self, name: str) -> bool:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _refused(f"x.flags.{name}", _OUTSIDE)


class FlatView:
    """View of the elements of an array in C order, as `x.flat` in NumPy: it is indexed, iterated and measured."""

    __slots__ = ("_next", "base")

    def __init__(self, base: Any) -> None:
        self.base: Any = base
        self._next: Iterator[Any] | None = None

    def __getitem__(self, key: Any) -> Any:
        if has_type(key, tuple) and len(key) == 1:
            key = key[0]
        if has_type(key, tuple) or key is None:
            raise IndexError("unsupported iterator index")
        flat = self.copy()
        if has_type(key, list):
            key = np.asarray(key, None if key else int)
        return flat[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if has_type(key, tuple) and len(key) != 1:
            raise IndexError("unsupported iterator index")
        set_flat(self.base, key, value)

    def __len__(self) -> int:
        return len(self.copy())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy())

    def __next__(self) -> Any:
        if self._next is None:
            self._next = iter(self)
        return next(self._next)

    def copy(self) -> Any:
        """Return a copy of the elements along one axis."""
        return owned(FUNCTIONS["ravel"](self.base), self.base)

    __array__ = copy


class MemoryAttributes:
    """Attributes of ndarray that tell of memory, for the traced array."""

    __slots__ = ()

    strides: property = _memory("strides", "index, transpose and reshape say which elements are read")
    base: property = _memory("base", _OUTSIDE)
    data: property = _memory("data", _OUTSIDE)
    ctypes: property = _memory("ctypes", _OUTSIDE)

    @property
    def flags(self: Any) -> Flags:
        """Flags; `writeable` is known."""
        return Flags(self.is_array and all(view.write is not None for view in self.views))

    @property
    def flat(self) -> FlatView:
        """View of the elements in C order; it is indexed, and iterated where the size is fixed."""
        return FlatView(self)

    @flat.setter
    def flat(self, values: Any) -> None:
        set_flat(self, ..., values)


_COUNT_ADVICE = (
    "declare an argument that counts as a size, dynamic_shapes={'k': 'k'}, or make it static; "
    "else write a choice with np.where, or move this code outside the traced function"
)
_SIZE_ADVICE = (
    "declare an argument that counts as a size, dynamic_shapes={'k': 'k'}, or make it static; "
    "functions of anyshape.numpy take it for a size as it is: anyshape.numpy.zeros(k)"
)
_CONVERT_ADVICE = "return the array, and convert it outside the traced function"
SHOWN_ARRAY = re.compile(r"Array<(bool|[biufc]\d+)\[[^>\n]*>")  # as `repr` of a traced array gives it
_ARRAY_ADVICE = "write `import anyshape.numpy as np`, whose functions and generators take traced arrays"
_FRACTION_ADVICE = "an int is needed here: of a size, write n // 2 for n / 2 and for n * 0.5; or pass a static int"


def _of_number(name: str, kinds: str) -> property:
    """Return a method that Python's numbers have, and arrays have not: a call needs the value."""

    def read(self: Any) -> Any:
        if not self.weak or self.ndim or self.dtype.kind not in kinds:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        value = float if self.dtype.kind == "f" else operator.index

        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(value(self), name)(*args, **kwargs)

        return call

    return property(read)


class Array(MemoryAttributes, Traced):
    """Array or number of a program under construction.

    `weak` says that it stands for a Python number. `exact` is the size, quotient of sizes or comparison of sizes that
    it stands for, if any. Python may decide by the value of that one. Without `weak` it stands for a NumPy scalar, like
    NumPy's results without axes, or for an ndarray: such a one is an NDArray.
    """

    __slots__ = ()
    __array_priority__ = 2000

    def __new__(cls, builder: Builder, value: Value, *options: Any) -> Array:
        """Make an NDArray of a value that has axes."""
        return object.__new__(NDArray if value.meta.extents else cls)

    def __init__(self, builder: Builder, value: Value, weak: bool = False, exact: Any = None) -> None:
        self.builder, self.value = builder, value  # as Traced does, without a call of it
        self.weak, self.exact = weak, exact
        self.memory: Memory | None = None  # with others who share it
        self.views: tuple[View, ...] = ()  # steps from the memory to this array
        self.owner: Builder | None = active()  # the trace that made it

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Class of the number that it stands for, for `isinstance`."""
        return _PYTHON_TYPES[self.dtype.kind] if self.weak else self.dtype.type

    __iter__: Any = None  # else Python iterates by `__getitem__`

    def __getattribute__(self, name: str) -> Any:
        if name in _HIDDEN and self.dtype.kind not in _HIDDEN[name]:
            raise AttributeError(f"'{self.__class__.__name__}' object has no attribute '{name}'", name=name, obj=self)
        return object.__getattribute__(self, name)

    def as_weak(self, exact: Any = None) -> Array:
        """Return a handle of the value that stands for a Python scalar, and for `exact` if given."""
        return Array(self.builder, self.value, True, exact)

    def as_scalar(self) -> Array:
        """Return a handle of a value without axes that stands for a scalar of NumPy, as most results do."""
        return Array(self.builder, self.value) if self.weak or self.exact is not None else self

    def as_ndarray(self) -> Array:
        """Return a handle of the value that stands for an ndarray, also without axes."""
        return alias(NDArray(self.builder, self.value, False, self.exact), self)

    def unshared(self) -> Array:
        """Return a handle of the present value, which shares no memory."""
        handle = object.__new__(NDArray if self.is_array else Array)
        Array.__init__(handle, self.builder, self.value, self.weak, self.exact)
        return handle

    def as_copy(self, is_contiguous: bool = False) -> Array:
        """Return an array of the present value with memory of its own, where NumPy copies."""
        copy = self.unshared()
        if self.is_array:
            copy.memory = Memory(copy, is_contiguous=is_contiguous)
        return copy

    def view_of(self, base: Any, read: Reader, write: Writer | None, key: Any = None, certain: bool = True) -> Array:
        """Return this handle, which shares memory with `base`; see `Traced.view_of`."""
        if base.is_array or base.memory is not None:
            share(self, base, View(read, write, key, certain))
        return self

    def with_exact(self, exact: Any) -> Array:
        """Return a handle of the value that stands for a size, a quotient or a comparison of sizes."""
        return Array(self.builder, self.value, self.weak, exact)

    def __repr__(self) -> str:
        origin = self.made_at()
        made = "" if origin is None else f" made{messages.quoted(origin)}{messages.at(origin)}"
        return TextOfArray(self, f"Array<{describe(self)}{made}>")

    def show_value(self) -> str:
        """Return the text of the value in the call that is traced: for debuggers, which print it as NumPy does.

        It is a text, and not an array, so that no program holds it.
        """
        if self.builder.closed:
            raise self.leaked()
        shown = self.builder.shown
        return messages.Text("has no value: traced without arguments" if shown is None else shown(self))

    __format__ = formatted

    # -- properties known while tracing

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.meta.rank

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes: ints where they are fixed, SymDims elsewhere."""
        return as_shape(name_sizes(self).meta.sizes, self.builder.scope)

    @shape.setter
    def shape(self, shape: Any) -> None:
        writes.set_shape(self, shape)

    @property
    def size(self) -> Any:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> str:
        """Device of the array, as the Array API names it."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """Return this array, since there is one device."""
        if device != "cpu":
            raise errors.UnsupportedFunctionError("to_device", f"device {device!r}", "use 'cpu'", user_line())
        return self

    # -- operations that need values, and in-place changes

    __bool__: Method = decided("bool()", bool)
    __int__: Method = decided("int()", int, _COUNT_ADVICE)
    __float__: Method = as_float
    __floor__: Method = rounded("math.floor()", math.floor, "floor")
    __ceil__: Method = rounded("math.ceil()", math.ceil, "ceil")
    __trunc__: Method = rounded("math.trunc()", math.trunc, "trunc")
    __complex__: Method = number("complex()", complex, "write x + 0j")

    bit_length, bit_count, to_bytes = [_of_number(n, "iub") for n in ("bit_length", "bit_count", "to_bytes")]
    is_integer, as_integer_ratio = [_of_number(n, "iubf") for n in ("is_integer", "as_integer_ratio")]

    def __index__(self) -> int:
        if self.builder.closed:
            raise self.leaked()
        is_integer = self.dtype.kind in "iub"
        if is_integer and self.builder.answer is not None and not self.ndim:
            return int(self.builder.answer(self, "a Python int"))
        instead = _SIZE_ADVICE if is_integer else _FRACTION_ADVICE
        instead = python_slips.advice(of_numpy=False) or instead
        error = record_concretized(errors.ConcretizationError("a Python int", describe(self), user_line(), instead))
        record_refusal(self, error)
        raise unhidden(error) if is_integer and not self.ndim else error

    def __hash__(self) -> int:
        if self.builder.closed:
            raise self.leaked()
        raise errors.UnhashableError(describe(self), self.__class__, user_line())

    __reduce__: Method = valueless("pickling")
    __array__: Method = number("a NumPy array", np.asarray, _ARRAY_ADVICE)

    item = item
    tolist: Method = valueless("tolist()", _CONVERT_ADVICE)
    tobytes: Method = valueless("tobytes()", _CONVERT_ADVICE)
    view = view
    sort: Method = writes.sort
    fill: Method = writes.fill
    put: Method = writes.put
    resize: Method = mutating("x.resize(shape)", "write x = x.reshape(shape)")
    choose: Method = method("choose")
    argpartition: Method = method("argpartition")
    dump = tofile = missing("tofile", "return the array, and write it outside the traced function")
    dumps: Method = missing("dumps", "return the array, and write it outside the traced function")
    partition: Method = writes.partition
    byteswap = missing("byteswap", "swap the bytes outside the traced function: programs compute in native byte order")
    getfield: Method = missing("getfield", "read the field outside the traced function")
    setfield = mutating("x.setfield(v, dtype)", "write to x.view of another dtype outside of the traced function")
    setflags: Method = mutating("x.setflags()", "leave it out: arrays of a program can be written to")

    # -- operators

    __add__, __radd__ = binary("add")
    __sub__, __rsub__ = binary("subtract")
    __mul__, __rmul__ = binary("multiply")
    __truediv__, __rtruediv__ = binary("divide")
    __floordiv__, __rfloordiv__ = binary("floor_divide")
    __mod__, __rmod__ = binary("remainder")
    __divmod__, __rdivmod__ = binary("divmod")
    __pow__, __rpow__ = binary("power")
    __matmul__, __rmatmul__ = binary("matmul")
    __and__, __rand__ = binary("bitwise_and")
    __or__, __ror__ = binary("bitwise_or")
    __xor__, __rxor__ = binary("bitwise_xor")
    __lshift__, __rlshift__ = binary("left_shift")
    __rshift__, __rrshift__ = binary("right_shift")
    __eq__: Method = binary("equal")[0]
    __ne__: Method = binary("not_equal")[0]
    __lt__: Method = binary("less")[0]
    __le__: Method = binary("less_equal")[0]
    __gt__: Method = binary("greater")[0]
    __ge__: Method = binary("greater_equal")[0]
    __neg__: Method = unary("negative")
    __pos__: Method = unary("positive")
    __abs__: Method = unary("absolute")
    __invert__: Method = unary("invert")
    # -- methods and properties of ndarray

    @short_traceback
    def __getitem__(self, key: Any) -> Any:
        return getitem(self, key)

    @property
    def at(self) -> Any:
        """Updates that stand for `x[key] = v` and `x[key] += v`: `x.at[key].set(v)`, `x.at[key].add(v)` and so on.

        The methods are set, add, subtract, multiply, divide, power, min, max, apply and get; each returns a new array.
        """
        return FUNCTIONS["at"](self)

    @property
    def T(self) -> Any:
        """Array with its axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """Array with its last two axes exchanged."""
        return FUNCTIONS["matrix_transpose"](self)

    @property
    def real(self) -> Any:
        """Real part."""
        return FUNCTIONS["real"](self)

    @real.setter
    def real(self, value: Any) -> None:
        writes.set_real(self, value)

    @property
    def imag(self) -> Any:
        """Imaginary part."""
        return FUNCTIONS["imag"](self)

    @imag.setter
    def imag(self, value: Any) -> None:
        writes.set_imag(self, value)

    @short_traceback
    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes in this order, by default reversed."""
        return FUNCTIONS["transpose"](self, axes_or_sizes(axes) if axes else None)

    @short_traceback
    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """Return the elements in another shape; sizes may be symbolic and one may be -1."""
        if not shape:
            raise errors.ArgumentError("reshape", "the shape", "is missing", "write x.reshape(()) for a scalar")
        return FUNCTIONS["reshape"](self, axes_or_sizes(shape), order=order, copy=copy)

    def astype(self, dtype, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Any:
        """Return the array in another dtype, if `casting` allows that; `order`, `subok` and `copy` have no effect."""
        choice_of("astype", "order", order, ORDERS)
        target = number_dtype(dtype, "astype")
        if not np.can_cast(self.dtype, target, choice_of("astype", "casting", casting, CASTINGS)):
            why = f"cannot cast {self.dtype} to {target} by {casting!r}"
            raise errors.DTypeError("astype", why, "name a wider dtype, or leave out casting", user_line())
        return FUNCTIONS["astype"](self, target, copy=copy)

    @short_traceback
    def flatten(self, order: str = "C") -> Any:
        """Return a copy of the elements along one axis."""
        return owned(FUNCTIONS["ravel"](self, order), self)

    def conj(self) -> Any:
        """Return the complex conjugate; a real array is its own."""
        if self.dtype.kind != "c" and not self.weak:
            return self
        conjugate = FUNCTIONS["conjugate"](self)
        return conjugate if self.dtype.kind == "c" and not self.weak else alike(conjugate, self)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Return the slices along an axis at which a condition holds."""
        return FUNCTIONS["compress"](condition, self, axis, out)

    def dot(self, b: Any, out: Any = None) -> Any:
        """Return the product of this array and b, as `numpy.dot` defines it."""
        return FUNCTIONS["dot"](self, b, out)

    conjugate = conj
    all: Method = method("all")
    any: Method = method("any")
    argmax: Method = method("argmax")
    argmin: Method = method("argmin")
    argsort: Method = method("argsort")
    clip: Method = method("clip")
    cumprod: Method = method("cumprod")
    cumsum: Method = method("cumsum")
    diagonal: Method = method("diagonal")
    max: Method = method("max")
    mean: Method = method("mean")
    min: Method = method("min")
    nonzero: Method = method("nonzero")
    prod: Method = method("prod")
    ravel: Method = method("ravel")
    repeat: Method = method("repeat")
    round: Method = method("round")
    searchsorted: Method = method("searchsorted")
    squeeze: Method = method("squeeze")
    std: Method = method("std")
    sum: Method = method("sum")
    swapaxes: Method = method("swapaxes")
    take: Method = method("take")
    trace: Method = method("trace")
    var: Method = method("var")

    @short_traceback
    def __round__(self, digits: Any = None) -> Any:
        if isinstance(self.exact, Quotient) and digits is None:
            return round(self.exact)
        if digits is None and not self.is_array and self.dtype.kind == "f":
            return whole(FUNCTIONS["round"](self, 0))
        x = alike(self, self) if self.weak else self  # of a Python bool it is an int
        return weakly(FUNCTIONS["round"](x, 0 if digits is None else digits), self)

    def copy(self, order: str = "C") -> Any:
        """Return a copy; a scalar is one itself."""
        choice_of("copy", "order", order, ORDERS)
        return self.as_copy(is_contiguous=order == "C") if self.is_array else self

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # -- NumPy's protocols

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the namespace of the Array API standard for traced arrays."""
        return namespace()

    @short_traceback
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if [x for x in inputs if issubclass(type(x), NDArrayOperatorsMixin)]:
            return NotImplemented  # its class has the answer
        if method == "at":
            return writes.ufunc_at(ufunc, *inputs)
        outs = options.pop("out", ())
        where = options.pop("where", True) if outs and method == "__call__" else True
        results = ufunc_for(ufunc, method)(*inputs, **options)
        if all(out is None for out in outs):
            return results
        return writes.all_into(outs, results, ufunc.__name__, where, method == "__call__")

    @short_traceback
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        of_sizes = not any(issubclass(t, Traced) for t in types)
        return call_counterpart(function, args, kwargs, of_sizes=of_sizes)


class NDArray(Array):
    """Array of a program under construction that stands for an ndarray: it has what NumPy's scalars do not have."""

    __slots__ = ()
    __class__ = np.ndarray
    __getattribute__ = object.__getattribute__
    is_array = True
    present: type
    outdated: type

    def as_scalar(self) -> Array:
        """Return the array, or a handle that stands for a scalar if it has no axes."""
        return self if self.meta.rank else Array(self.builder, self.value)

    def __len__(self) -> int:
        if not self.meta.rank:
            raise TypeError("len() of unsized object")
        return python_values.length(self.shape[0], sys._getframe(1))

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the rows; its first step asks for their number."""
        if not self.meta.rank:
            raise TypeError("iteration over a 0-d array")
        return self._rows(self.shape[0], sys._getframe(1))

    def _rows(self, count, caller: FrameType) -> Iterator[Any]:
        try:
            rows = range(python_values.unpacked(count, caller, self) or python_values.trips(count))
        except (errors.DataDependentSizeError, errors.InconclusiveDimensionError):
            raise unhidden(errors.SymbolicIterationError(describe(self), user_line())) from None
        yield from (self[i] for i in rows)

    def __contains__(self, x: Any) -> bool:
        return bool(FUNCTIONS["any"](self == x))

    __setitem__: Method = writes.setitem
    __delitem__: Method = mutating("del x[...]", "write the part to keep: x[:k]")

    __iadd__: Method = in_place("+", "add")
    __isub__: Method = in_place("-", "subtract")
    __imul__: Method = in_place("*", "multiply")
    __itruediv__: Method = in_place("/", "divide")
    __ifloordiv__: Method = in_place("//", "floor_divide")
    __imod__: Method = in_place("%", "remainder")
    __ipow__: Method = in_place("**", "power")
    __imatmul__: Method = in_place("@", "matmul")
    __iand__: Method = in_place("&", "bitwise_and")
    __ior__: Method = in_place("|", "bitwise_or")
    __ixor__: Method = in_place("^", "bitwise_xor")
    __ilshift__: Method = in_place("<<", "left_shift")
    __irshift__: Method = in_place(">>", "right_shift")


_BUILDER, _VALUE = (vars(Handle)[slot].__set__ for slot in ("builder", "value"))


class OutdatedArray(NDArray):
    """Array whose memory was written to through another one since it was read. Its next use reads its value again."""

    __slots__ = ()
    builder = property(lambda self: refresh(self, NDArray).builder, _BUILDER)
    value = property(lambda self: refresh(self, NDArray).value, _VALUE)


NDArray.present, NDArray.outdated = NDArray, OutdatedArray


# Attributes that a scalar has for `hasattr` only if it is of some kinds
_HIDDEN = {"__iter__": "", "__index__": "biu"}
_PYTHON_TYPES = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def _become_traced(x, asked: str) -> None:
    concrete_views.become_traced(x, asked)


ConcreteArray.become, ConcreteArray.counterpart = _become_traced, staticmethod(call_counterpart)
