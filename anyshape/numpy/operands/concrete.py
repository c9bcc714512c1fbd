"""Define concrete arrays of a trace, which hold numbers: NumPy computes with them until a traced value is written.

`zeros(3)` in a traced function is such an array. It holds an ndarray, and behaves like one. The first write of a traced
value moves its memory into the program, for all views of it. From then on they are traced arrays.
"""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from anyshape.errors import MutationError
from anyshape.graph.ir.builder import CHANGING, Builder, Traced, active, active_builders, user_line
from anyshape.graph.ir.graph import Handle
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands.promotion import NUMERIC, as_traced
from anyshape.support.packages import load
from anyshape.support.true_types import STANDS_FOR

Operator: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])
_OWN_REFERENCES = 3  # to the elements: of the memory, of a variable, and of the call that counts them
_CONTAINERS = (list, tuple, dict)


class ConcreteMemory:
    """Elements that arrays of a trace share while no traced value was written to them.

    - `elements` is the ndarray that owns them.
    - `owner` is the trace that made them; what a trace inside of it writes to them is a traced value.
    - `arrays` are the arrays that share them, by id.
    - `frozen` is the exception that a write raises, None if they can be written to.
    """

    __slots__ = ("__weakref__", "_snapshots", "arrays", "elements", "frozen", "owner")

    def __init__(self, elements: np.ndarray) -> None:
        self.elements: np.ndarray = elements
        self.owner: Builder | None = active()
        self.frozen: BaseException | None = None
        self.arrays: weakref.WeakValueDictionary[int, ConcreteArray] = weakref.WeakValueDictionary()
        self._snapshots: dict[Any, np.ndarray] = {}
        CHANGING[id(elements)] = self

    def snapshot(self, view: np.ndarray) -> np.ndarray:
        """Return a copy of the elements of a view, the same one until they change."""
        key = view.ctypes.data, view.shape, view.strides, view.dtype
        known = self._snapshots.get(key)
        if known is None or known.tobytes() != view.tobytes():
            known = self._snapshots[key] = view.copy()
        return known

    def takes(self, *values: Any) -> bool:
        """Return whether NumPy may write these values: not a traced one, nor any in a trace inside of the owner's."""
        if self.frozen is not None:
            raise self.frozen
        builder = active()
        is_inner = builder is not self.owner and self.owner in active_builders()
        return not is_inner and not any(map(is_involved, values))

    def check_unshared(self, asked: str) -> None:
        """Refuse a traced value after the end of the trace, and while an array of plain NumPy would not see it."""
        elements = self.elements
        if self.owner not in active_builders():
            problem = "the array was made in another call"
            raise MutationError(asked, problem, "write {x} = {x}.copy() before", user_line())
        if sys.getrefcount(elements) > _OWN_REFERENCES + len(self.arrays):
            problem = "an array of plain NumPy shares its memory, and cannot hold traced values"
            raise MutationError(asked, problem, "write {x} = {x}.copy() before", user_line())


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Return a binary operator, its reflection and its in-place form."""
    compute, in_place = getattr(operator, name, divmod), getattr(operator, f"i{name.rstrip('_')}", None)

    def forward(self, other):
        return wrapped(compute(self.value, plain(other)), (other,))

    def assign(self, other):
        if not self.memory.takes(other):
            self.become("x += y")
            return in_place(self, other)  # type: ignore[misc]
        in_place(self.value, plain(other))  # type: ignore[misc]
        return self

    return forward, lambda self, other: wrapped(compute(plain(other), self.value), (other,)), assign


def _unary(name: str) -> Callable[..., Any]:
    return lambda self: wrapped(getattr(self.value, name)())


class ConcreteArray(Handle):
    """Array of a trace that depends on no traced value so far. It is used as the ndarray that it holds."""

    __slots__ = ()
    __class__ = np.ndarray  # type: ignore[assignment]
    __array_priority__ = 1000
    __hash__: Any = None
    become: Callable[..., None]  # makes it a traced array

    def __init__(self, array: np.ndarray, memory: ConcreteMemory) -> None:
        self.value, self.memory = array, memory
        memory.arrays[id(self)] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_"):  # else NumPy would share the memory behind its back
            raise AttributeError(name)
        if name in _IN_PLACE:
            return functools.partial(_written, self, name)
        if name == "at" or not hasattr(np.ndarray, name):
            return getattr(as_traced(self), name)
        member = getattr(self.value, name)
        return functools.partial(_called, self, name) if callable(member) else wrapped(member)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Handle.__slots__:
            object.__setattr__(self, name, value)
        elif self.memory.takes(value):
            np.ndarray.__setattr__(self.value, name, plain(value))
        else:
            self.become(f"x.{name} = v")
            type(self).__setattr__(self, name, value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.value, dtype, copy=copy)

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        # that of NumPy would take it for an array that cannot be written to, and write to a copy
        return load("anyshape.numpy.lazy").namespace()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out", ())
        targets = [x for x in (*outs, inputs[0] if method == "at" else None) if type(x) is ConcreteArray]
        if not all(x.memory.takes(inputs, options) for x in targets):
            for x in targets:
                x.become(f"{ufunc.__name__}(..., out=x)")
        if is_involved([*inputs, options, *outs]):
            options = {key: value if key == "out" else plain(value) for key, value in options.items()}
            return getattr(ufunc, method)(*plain(inputs), **options)
        result = getattr(ufunc, method)(*plain(inputs), **plain(options))
        return outs[0] if len(outs) == 1 and outs[0] is not None else wrapped(result, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        target = args[0] if function in _WRITERS and args else kwargs.get("out")
        _reach(target, f"np.{function.__name__}")
        if is_involved(args) or is_involved(kwargs):
            of_sizes = not any(issubclass(kind, Traced) for kind in types)
            return ConcreteArray.counterpart(function, args, kwargs, of_sizes=of_sizes)
        result = function(*plain(args), **plain(kwargs))
        out = kwargs.get("out")
        return out if out is not None and result is plain(out) else wrapped(result, args)

    counterpart: Callable[..., Any]

    def __getitem__(self, key: Any) -> Any:
        return as_traced(self)[key] if is_involved(key) else wrapped(self.value[plain(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.memory.takes(key, value):
            self.value[plain(key)] = plain(value)
        else:
            self.become("x[...] = v")
            self[key] = value

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("sub")
    __mul__, __rmul__, __imul__ = _binary("mul")
    __truediv__, __rtruediv__, __itruediv__ = _binary("truediv")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floordiv")
    __mod__, __rmod__, __imod__ = _binary("mod")
    __pow__, __rpow__, __ipow__ = _binary("pow")
    __matmul__, __rmatmul__, __imatmul__ = _binary("matmul")
    __and__, __rand__, __iand__ = _binary("and_")
    __or__, __ror__, __ior__ = _binary("or_")
    __xor__, __rxor__, __ixor__ = _binary("xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("lshift")
    __rshift__, __rrshift__, __irshift__ = _binary("rshift")
    __divmod__, __rdivmod__ = _binary("divmod")[:2]
    __eq__: Operator = _binary("eq")[0]
    __ne__: Operator = _binary("ne")[0]
    __lt__: Operator = _binary("lt")[0]
    __le__: Operator = _binary("le")[0]
    __gt__: Operator = _binary("gt")[0]
    __ge__: Operator = _binary("ge")[0]
    __neg__: Operator = _unary("__neg__")
    __pos__: Operator = _unary("__pos__")
    __abs__: Operator = _unary("__abs__")
    __invert__: Operator = _unary("__invert__")
    __bool__: Operator = _unary("__bool__")
    __int__: Operator = _unary("__int__")
    __float__: Operator = _unary("__float__")
    __complex__: Operator = _unary("__complex__")
    __index__: Operator = _unary("__index__")

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, x: Any) -> bool:
        return bool((self == x).any())

    def __repr__(self) -> str:
        return repr(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __copy__(self) -> Any:
        return wrapped(self.value.copy())

    def __deepcopy__(self, memo: Any) -> Any:
        return wrapped(self.value.copy())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.value.copy().__reduce_ex__(protocol)


STANDS_FOR[id(ConcreteArray)] = np.ndarray
_IN_PLACE = ("sort", "fill", "put", "partition", "resize", "setfield", "setflags", "byteswap")
_WRITERS = (np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis)


def _called(x, name: str, *args, **kwargs):
    """Return the result of a method of an array, with `out` itself where the result was written to it."""
    _reach(kwargs.get("out"), f"{name}(..., out=x)")
    if is_involved(args) or is_involved(kwargs):
        return getattr(as_traced(x), name)(*args, **kwargs)
    result = getattr(x.value, name)(*plain(args), **plain(kwargs))
    out = kwargs.get("out")
    return out if out is not None and result is plain(out) else wrapped(result, args)


def _written(x, name: str, *args, **kwargs):
    """Call a method that writes to an array."""
    if x.memory.takes(args, kwargs):
        return wrapped(getattr(x.value, name)(*plain(args), **plain(kwargs)))
    x.become(f"x.{name}()")
    return getattr(x, name)(*args, **kwargs)


# -- in and out ----------------------------------------------------------------------------------------------------


def plain(x: Any) -> Any:
    """Return x with the ndarrays in place of the arrays that hold them, also in lists, tuples, dicts and slices."""
    if type(x) is ConcreteArray:
        return x.value
    if type(x) in (list, tuple):
        return type(x)([plain(member) for member in x])
    if type(x) is dict:
        return {key: plain(member) for key, member in x.items()}
    return slice(plain(x.start), plain(x.stop), plain(x.step)) if type(x) is slice else x


def is_involved(x: Any) -> bool:
    """Return whether a traced value or a symbolic size is in an argument, also in lists, tuples, dicts and slices."""
    if isinstance(x, (Traced, SymbolicSize)):
        return True
    if type(x) in _CONTAINERS:
        return any(is_involved(member) for member in (x.values() if type(x) is dict else x))
    return type(x) is slice and (is_involved(x.start) or is_involved(x.stop) or is_involved(x.step))


def _elements_of(array):
    """Return the array that owns the elements of an array."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def wrapped(result: Any, arguments: Any = ()) -> Any:
    """Return a result of NumPy in a trace as an array that traced values can be written to.

    Outside of a trace, and where it shares memory with an argument that is an ndarray, it is the result itself.
    """
    if type(result) in (list, tuple):
        return type(result)([wrapped(member, arguments) for member in result])
    if type(result) is not np.ndarray or result.dtype.kind not in NUMERIC or active() is None:
        return result
    elements = _elements_of(result)
    memory = CHANGING.get(id(elements))
    if memory is None:
        if any(_elements_of(x) is elements for x in arguments if type(x) is np.ndarray):
            return result
        memory = ConcreteMemory(elements)
    return ConcreteArray(result, memory)


def assignable(function: F) -> F:
    """Return a function that makes arrays, whose results in a trace can be written to."""

    @short_traceback
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        if active() is None or isinstance(result, Traced):
            return result
        return wrapped(result, (*args, *kwargs.values()))

    return cast(F, wrapper)


def _reach(out, asked: str) -> None:
    """Make an array traced that results of an inner trace are written to."""
    if type(out) is ConcreteArray and not out.memory.takes():
        out.become(asked)


def become_traced(x: Any, asked: str) -> None:
    """Make an array that depends on no traced value a traced one; leave anything else as it is."""
    if type(x) is ConcreteArray:
        x.become(asked)
