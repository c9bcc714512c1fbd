"""Define the traced array, which a function receives while it is traced. It behaves as plain NumPy code expects."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

import anyshape.numpy
from anyshape.errors import ConcretizationError, MutationError, SymbolicIterationError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Builder, Traced, record_refusal, user_line
from anyshape.graph.ir.graph import Value
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.numpy.arrays.dispatch import FUNCTIONS, METHODS, NAMESPACE, UFUNCS
from anyshape.numpy.operands.promotion import cast_operand, is_weak
from anyshape.numpy.operands.python_ints import are_python_ints, of_python_ints
from anyshape.numpy.sizes.shape_tuple import as_shape
from anyshape.numpy.sizes.size_operands import check_divisor
from anyshape.numpy.sizes.size_quotient import Quotient, exactly
from anyshape.ops.callback import name_sizes
from anyshape.ops.core.apply import describe
from anyshape.support.true_types import has_type

_DIVISIONS = ("divide", "floor_divide", "remainder", "divmod")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_EXACT = ("divide", *_COMPARISONS)
_COUNT_ADVICE = (
    "declare an argument that counts as a size, dynamic_shapes={'k': 'k'}, or make it static; "
    "else write a choice with np.where, or move this code outside the traced function"
)
_SIZE_ADVICE = (
    "declare an argument that counts as a size, dynamic_shapes={'k': 'k'}, or make it static; "
    "functions of anyshape.numpy take it for a size as it is: anyshape.numpy.zeros(k)"
)
_FRACTION_ADVICE = "an integer is needed here: of a size, write n // 2 for n / 2 and for n * 0.5"
_AT_METHODS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "**": "power"}
_NO_OPERANDS = (str, bytes, dict, set, type(None))


def _weakly(result: Any, *operands: Any) -> Any:
    """Return a result marked as weak if all operands are weak, since Python would give a Python scalar."""
    if not all(is_weak(x) for x in operands):
        return result
    return tuple(map(_as_weak, result)) if isinstance(result, tuple) else _as_weak(result)


def _as_weak(x: Any) -> Any:
    return x.as_weak() if isinstance(x, Array) and x.dtype.kind != "b" else x


def _as_int(x: Any) -> Any:
    """Return a Python number as it is and a bool as an int, as for Python: `True + True` is 2."""
    if isinstance(x, Array) and x.dtype.kind == "b":
        x = NAMESPACE["astype"](x, int).as_weak()
    return int(x) if has_type(x, bool) else x


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a binary operator and its reflection."""
    compute = _computation(name)

    def forward(self: Array, other: Any) -> Any:
        if isinstance(other, _NO_OPERANDS):
            return NotImplemented
        if self.weak and name in _DIVISIONS:
            check_divisor(self, other)
        result = compute(self, other)
        if self.exact is not None and name in _EXACT:
            return result.with_exact(exactly(name, self.exact, getattr(other, "exact", other)))
        return result

    def backward(self: Array, other: Any) -> Any:
        if isinstance(other, _NO_OPERANDS):
            return NotImplemented
        result = compute(other, self)
        if self.exact is not None and name == "divide":
            return result.with_exact(exactly(name, other, self.exact))
        return result

    return forward, backward


def _computation(name: str) -> Callable[[Any, Any], Any]:
    """Return the function of a binary operator, which treats Python scalars as Python does."""
    keeps_bools = name.startswith(("bitwise", "divide")) or name in _COMPARISONS

    def compute(x: Any, y: Any) -> Any:
        if is_weak(x) and is_weak(y):
            x, y = (x, y) if keeps_bools else (_as_int(x), _as_int(y))
            if are_python_ints(name, x, y):
                return of_python_ints(name, x, y)
        if name == "power" and type(y) is int and y == 2:  # of bools it is an int8, unlike np.power
            return _weakly(NAMESPACE["square"](x), x, y)
        return _weakly(NAMESPACE[name](x, y), x, y)

    return compute


def _unary(name: str) -> Callable[..., Any]:
    """Return a unary operator.

    Its result for a Python int that only uint64 holds may be negative: such an int is refused.
    """

    def operate(self: Array) -> Any:
        x = _as_int(self) if self.weak else self
        if x.weak and are_python_ints(name, x):
            return of_python_ints(name, x)
        if name == "invert" and x.weak and x.dtype.kind == "u":
            x = cast_operand(x, np.dtype(int))
        return _weakly(NAMESPACE[name](x), self)

    return operate


def _in_place(symbol: str, compute: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return an in-place operator such as `x += y`.

    NumPy changes an array in place, which a program cannot do, and rebinds a scalar, which it can.
    """

    def operate(self: Array, other: Any) -> Any:
        if self.meta.rank:
            part = f"; for a part of it, x = x.at[i].{_AT_METHODS[symbol]}(y)" if symbol in _AT_METHODS else ""
            raise MutationError(f"x {symbol}= y", f"x = x {symbol} y{part}", user_line())
        return compute(self, other)

    return operate


def _method(name: str) -> Callable[..., Any]:
    """Return the method of ndarray that is the function of the same name."""

    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        return NAMESPACE[name](self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"Return `anyshape.numpy.{name}` of this array; the arguments follow it."
    return method


def _valueless(request: str, instead: str = "") -> Callable[..., Any]:
    """Return a method that needs the value of the array, which is unknown while tracing."""

    def method(self: Array, *args: Any, **kwargs: Any) -> NoReturn:
        if self.builder.closed:
            raise self.leaked()
        raise ConcretizationError(request, describe(self), user_line(), instead)

    return method


def _from_sizes(request: str, of_sizes: Callable[[Any], Any], instead: str = "") -> Callable[..., Any]:
    """Return a method that needs the value, which a size or a quotient of sizes has."""
    valueless = _valueless(request, instead)
    return lambda self: valueless(self) if self.exact is None else of_sizes(self.exact)


def _missing(name: str, instead: str) -> Callable[..., Any]:
    """Return a method of ndarray that has no counterpart."""

    def method(self: Array, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedFunctionError(f"x.{name}()", "has no counterpart on traced arrays", instead, user_line())

    return method


def _mutating(request: str, instead: str) -> Callable[..., Any]:
    """Return a method of ndarray that changes the array in place."""

    def method(self: Array, *args: Any, **kwargs: Any) -> NoReturn:
        raise MutationError(request, instead, user_line())

    return method


def _axes_or_sizes(args: tuple[Any, ...]) -> Any:
    """Return the argument of `x.reshape(2, 3)` or `x.reshape((2, 3))`, which mean the same."""
    return args[0] if len(args) == 1 and (args[0] is None or not _is_size(args[0])) else args


def _is_size(x: Any) -> bool:
    return has_type(x, (int, np.integer, SymbolicSize))


class Array(Traced):
    """Array of a program under construction.

    `weak` says that it stands for a Python scalar. `exact` is the size, quotient of sizes or comparison of sizes that
    it stands for, if any; Python may ask for the value of that one.
    """

    __slots__ = ("exact", "weak")
    __array_priority__ = 2000

    def __init__(self, builder: Builder, value: Value, weak: bool = False, exact: Any = None) -> None:
        super().__init__(builder, value)
        self.weak = weak
        self.exact = exact

    def as_weak(self, exact: Any = None) -> Array:
        """Return a handle of the value that stands for a Python scalar, and for `exact` if given."""
        return type(self)(self.builder, self.value, True, exact)

    def with_exact(self, exact: Any) -> Array:
        """Return a handle of the value that stands for a size, a quotient or a comparison of sizes."""
        return type(self)(self.builder, self.value, self.weak, exact)

    def __repr__(self) -> str:
        return f"Array<{self.meta}>"

    def __format__(self, spec: str) -> str:
        if spec:
            raise ConcretizationError(f"format {spec!r}", describe(self), user_line(), "print it without a format")
        return repr(self)

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
        raise MutationError("x.shape = s", "x = x.reshape(s)", user_line())

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
            raise UnsupportedFunctionError("to_device", f"device {device!r}", "use 'cpu'", user_line())
        return self

    def __len__(self) -> int:
        if not self.meta.rank:
            raise TypeError("len() of unsized object")
        return operator.index(self.shape[0])

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.meta.rank:
            raise TypeError("iteration over a 0-d array")
        count = self.shape[0]
        if not has_type(count, int):
            if not self.builder.scope.runtime.keys().isdisjoint(expr.variables(count.expr)):
                context = ShapeGuardContext(self.builder.scope, "iteration", user_line())
                raise context.unsupported("the number of rows", 0, Exact(count.expr), "a fixed size")
            raise SymbolicIterationError(describe(self), user_line())
        return iter([self[i] for i in range(count)])

    # -- operations that need values, and in-place changes

    __bool__ = _from_sizes("bool()", bool)
    __float__ = _from_sizes("float()", float)
    __int__ = _from_sizes("int()", int, _COUNT_ADVICE)
    __floor__ = _from_sizes("math.floor()", math.floor)
    __ceil__ = _from_sizes("math.ceil()", math.ceil)
    __trunc__ = _from_sizes("math.trunc()", math.trunc)
    __complex__ = _valueless("complex()")

    def __index__(self) -> int:
        if self.builder.closed:
            raise self.leaked()
        instead = _SIZE_ADVICE if self.dtype.kind in "iub" else _FRACTION_ADVICE
        error = ConcretizationError("a Python int", describe(self), user_line(), instead)
        record_refusal(self, error)
        raise error

    __array__ = _valueless(
        "a NumPy array", "use anyshape.numpy (take(x, i) for x[i], stack for a list) or anyshape.numpy.special"
    )
    __contains__ = _valueless("`in`")
    item = _valueless("item()")
    tolist = _valueless("tolist()")
    tobytes = _valueless("tobytes()")
    view = _valueless("view()")
    __setitem__ = _mutating("x[...] = v", "x = x.at[i].set(v), which gives a new array")
    __delitem__ = _mutating("del x[...]", "the part to keep: x[:k]")
    sort = _mutating("x.sort()", "x = np.sort(x)")
    fill = _mutating("x.fill(v)", "x = np.full_like(x, v)")
    put = _mutating("x.put(i, v)", "x = x.ravel().at[i].set(v).reshape(x.shape)")
    resize = _mutating("x.resize(shape)", "x = x.reshape(shape)")
    choose = _missing("choose", "write np.select(conditions, choices)")
    argpartition = _missing("argpartition", "write np.argsort(x)")
    dump = tofile = _missing("tofile", "return the array, and write it outside the traced function")
    dumps = _missing("dumps", "return the array, and write it outside the traced function")
    partition = _mutating("x.partition(k)", "x = np.sort(x)")
    setflags = _mutating("x.setflags()", "nothing: a traced array is never written to")

    # -- operators

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply")
    __truediv__, __rtruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __mod__, __rmod__ = _binary("remainder")
    __divmod__, __rdivmod__ = _binary("divmod")
    __pow__, __rpow__ = _binary("power")
    __matmul__, __rmatmul__ = _binary("matmul")
    __and__, __rand__ = _binary("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__ = _binary("left_shift")
    __rshift__, __rrshift__ = _binary("right_shift")
    __eq__ = _binary("equal")[0]
    __ne__ = _binary("not_equal")[0]
    __lt__ = _binary("less")[0]
    __le__ = _binary("less_equal")[0]
    __gt__ = _binary("greater")[0]
    __ge__ = _binary("greater_equal")[0]
    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")
    __iadd__ = _in_place("+", operator.add)
    __isub__ = _in_place("-", operator.sub)
    __imul__ = _in_place("*", operator.mul)
    __itruediv__ = _in_place("/", operator.truediv)
    __ifloordiv__ = _in_place("//", operator.floordiv)
    __imod__ = _in_place("%", operator.mod)
    __ipow__ = _in_place("**", operator.pow)
    __imatmul__ = _in_place("@", operator.matmul)
    __iand__ = _in_place("&", operator.and_)
    __ior__ = _in_place("|", operator.or_)
    __ixor__ = _in_place("^", operator.xor)
    __ilshift__ = _in_place("<<", operator.lshift)
    __irshift__ = _in_place(">>", operator.rshift)

    # -- methods and properties of ndarray

    def __getitem__(self, key: Any) -> Any:
        return NAMESPACE["getitem"](self, key)

    @property
    def at(self) -> Any:
        """Updates that stand for `x[key] = v` and `x[key] += v`: `x.at[key].set(v)`, `x.at[key].add(v)` and so on.

        The methods are set, add, subtract, multiply, divide, power, min, max, apply and get; each returns a new array.
        """
        return NAMESPACE["at"](self)

    @property
    def T(self) -> Any:
        """Array with its axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """Array with its last two axes exchanged."""
        return NAMESPACE["matrix_transpose"](self)

    @property
    def real(self) -> Any:
        """Real part."""
        return NAMESPACE["real"](self)

    @property
    def imag(self) -> Any:
        """Imaginary part."""
        return NAMESPACE["imag"](self)

    @property
    def flat(self) -> Iterator[Any]:
        """Iterator over the elements in C order, for arrays of fixed size."""
        return iter(self.ravel())

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes in this order, by default reversed."""
        return NAMESPACE["transpose"](self, _axes_or_sizes(axes) if axes else None)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """Return the elements in another shape; sizes may be symbolic and one may be -1."""
        return NAMESPACE["reshape"](self, _axes_or_sizes(shape), order=order)

    def astype(self, dtype: Any, copy: bool = True, **options: Any) -> Any:
        """Return the array in another dtype."""
        return NAMESPACE["astype"](self, dtype)

    def conj(self) -> Any:
        """Return the complex conjugate."""
        return NAMESPACE["conjugate"](self)

    def compress(self, condition: Any, axis: Any = None) -> Any:
        """Return the slices along an axis at which a condition holds."""
        return NAMESPACE["compress"](condition, self, axis)

    def dot(self, b: Any) -> Any:
        """Return the product of this array and b, as `numpy.dot` defines it."""
        return NAMESPACE["dot"](self, b)

    conjugate = conj
    all = _method("all")
    any = _method("any")
    argmax = _method("argmax")
    argmin = _method("argmin")
    argsort = _method("argsort")
    clip = _method("clip")
    copy = _method("copy")
    cumprod = _method("cumprod")
    cumsum = _method("cumsum")
    diagonal = _method("diagonal")
    flatten = _method("ravel")
    max = _method("max")
    mean = _method("mean")
    min = _method("min")
    nonzero = _method("nonzero")
    prod = _method("prod")
    ravel = _method("ravel")
    repeat = _method("repeat")
    round = _method("round")
    searchsorted = _method("searchsorted")
    squeeze = _method("squeeze")
    std = _method("std")
    sum = _method("sum")
    swapaxes = _method("swapaxes")
    take = _method("take")
    trace = _method("trace")
    var = _method("var")

    def __round__(self, digits: Any = None) -> Any:
        if isinstance(self.exact, Quotient) and digits is None:
            return round(self.exact)
        return _weakly(NAMESPACE["round"](self, digits), self)

    __copy__ = _method("copy")

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    # -- NumPy's protocols

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the module with the functions of the Array API for traced arrays."""
        return anyshape.numpy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(o is not None for o in options.get("out") or ()):
            raise MutationError(f"np.{ufunc.__name__}(..., out=x)", f"x = np.{ufunc.__name__}(...)", user_line())
        function = UFUNCS.get(ufunc) if method == "__call__" else METHODS.get((ufunc, method))
        if function is None:
            name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            raise UnsupportedFunctionError(name, "has no counterpart on traced arrays", _COMPOSE_ADVICE, user_line())
        return function(*inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        counterpart = FUNCTIONS.get(function)
        if counterpart is None:
            name = f"{function.__module__}.{function.__name__}"
            raise UnsupportedFunctionError(name, "has no counterpart on traced arrays", _COMPOSE_ADVICE, user_line())
        return counterpart(*args, **kwargs)


_COMPOSE_ADVICE = "write it with other NumPy functions, or call it outside the traced function"
