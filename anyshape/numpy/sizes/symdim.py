"""Define the sizes in `x.shape`: they behave as ints, and become array values when combined with floats or arrays."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import DataDependentSizeError, SpecError, UnsupportedFunctionError
from anyshape.graph.ir import builder
from anyshape.graph.prover.constraints import Claim, at_least, equal
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size, variables
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.substitute import evaluate
from anyshape.numpy.operands import array_queries
from anyshape.numpy.operands.promotion import resolve_size
from anyshape.numpy.sizes.size_operands import (
    EXTREMES,
    INEXACT,
    INTEGERS,
    UFUNC_COMPARISONS,
    as_int,
    as_size,
    check_divisor,
    check_sizes,
    divided_by_zero,
    is_reduced_by_numpy,
    is_zero,
    joint_dtype,
    known_size,
    numpy_dtype,
    of_bits,
    scope_of,
)
from anyshape.ops.creation import size_value
from anyshape.ops.elementwise import convert
from anyshape.support.packages import python_values
from anyshape.support.true_types import has_type


def _name(size: SymbolicSize) -> str:
    """Return the name of an unknown size, and the text of an expression."""
    return str(size)


def _evaluate(size: SymbolicSize) -> Callable[..., int]:
    """Return a function that gives the value of a size for values of its unknown sizes by name."""

    def valued(**values: int) -> int:
        missing = [v.name for v in variables(size.expr) if v.name not in values]
        if missing:
            raise SpecError(str(size), f"{' and '.join(missing)} has no value", f"give it one: {missing[0]}=3")
        return evaluate(size.expr, lambda leaf: values[leaf.name])  # type: ignore[union-attr]

    return valued


_OF_SPECIFICATIONS: dict[str, Callable[[SymbolicSize], Any]] = {"name": _name, "evaluate": _evaluate}


class Integer(SymbolicSize):
    """Size that has the class of an integer, and no axes for NumPy's queries."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Class for `isinstance`: that of the integer that it stands for in a program, its own in a specification."""
        if not self._in_program():
            return type(self)
        return self.python_type if self.numpy_dtype is None else self.numpy_dtype.type

    def _in_program(self) -> bool:
        """Return whether it is a size of a program, which stands for an integer."""
        scope = self.scope
        return scope.closed or scope.hints is not None or any(b.scope is scope for b in builder.active_builders())

    def _require_program(self) -> None:
        """Refuse a size of a specification, which has no value."""
        if builder.active() is None and not self.scope.closed:
            problem = f"the size {self} has a value in a program only"
            advice = "use it in a function that is traced, or give it a value: shape.evaluate(n=3)"
            raise UnsupportedFunctionError("size", problem, advice, builder.user_line())

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that a NumPy integer has and a Python int has not: shape, dtype, astype and so on.

        A size of a specification has the `name` of its unknown size, and a value by `evaluate(n=3)`.
        """
        if name in _OF_SPECIFICATIONS and not self._in_program():
            return _OF_SPECIFICATIONS[name](self)
        if name.startswith("_") or self.numpy_dtype is None or not hasattr(self.numpy_dtype.type, name):
            raise AttributeError(f"'{self.__class__.__name__}' object has no attribute '{name}'", name=name, obj=self)
        return getattr(self.as_array(), name)

    def as_array(self) -> Any:
        """Return the size as an integer scalar of the program."""
        raise NotImplementedError

    def __array_function__(self, function: Any, types: Iterable[type], args: Any, kwargs: Any) -> Any:
        """Call what stands for the function on traced arrays: an operand that is a size stays one.

        NumPy's queries of shape and class need no value. Functions without a counterpart need it, as for a size.
        """
        if any(issubclass(t, builder.Traced) for t in types):
            return NotImplemented
        if function in QUESTIONS:
            return QUESTIONS[function](*args, **kwargs)
        if builder.active() is None or not self._in_program():
            return function._implementation(*args, **kwargs)
        return self.as_array().__array_function__(function, types, args, kwargs)


QUESTIONS: dict[Any, Callable[..., Any]] = {
    np.ndim: array_queries.ndim,
    np.shape: array_queries.shape,
    np.size: array_queries.size,
    np.result_type: array_queries.result_type,
    np.iscomplexobj: lambda x: False,
    np.isrealobj: lambda x: True,
}


_NUMBERS = (float, complex, np.generic, np.ndarray, builder.Traced)
_WIDE = np.dtype(np.int64)


def symdim(size: Size, scope: Scope, numpy_dtype: Any = None) -> Any:
    """Return a size for users: an int where its value is known, else a SymDim."""
    if has_type(known := scope.normal(size), int):
        return known if numpy_dtype is None else numpy_dtype.type(known)
    return SymDim(known, scope, numpy_dtype)


# -- operators ---------------------------------------------------------------------------------------------------


def _combined(combine: Callable[[Size, Size], Size], python: Callable[[Any, Any], Any], a, b):
    """Return the result of an operator: a size for integers, an array value for anything else."""
    left, right = as_size(a), as_size(b)
    if left is None or right is None:
        if not has_type(a if left is None else b, _NUMBERS):
            return NotImplemented
        if combine in _DIVISIONS:
            check_divisor(a, b)
        return python(_as_array(a), _as_array(b))
    if (dtype := joint_dtype(a, b)) is not None and dtype.kind not in "iu":
        return python(_as_array(a), _as_array(b))  # int64 and uint64 promote to float64
    if not isinstance(a, SymbolicSize) and not isinstance(b, SymbolicSize):
        return python(a, b)
    if combine in _DIVISIONS and is_zero(b, "floordiv", "integer division or modulo by zero"):
        return divided_by_zero(dtype)
    return symdim(combine(left, right), scope_of(a, b), dtype)


_DIVISIONS = (expr.floordiv, expr.mod)


def _arithmetic(combine: Callable[[Size, Size], Size], python: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Return an operator and its reflection."""

    def forward(self: SymDim, other):
        return _combined(combine, python, self, other)

    return forward, lambda self, other: _combined(combine, python, other, self)


Operator: TypeAlias = Callable[..., Any]
_Claims = Callable[[Size, Size, str], Claim]


def _comparison(symbol: str, python: Callable[[Any, Any], bool], claim: _Claims, whole: Callable[..., int]):
    """Return a comparison of two sizes: a bool where it is proved or refuted, else a value.

    `whole` gives the int that stands for a float.
    """

    def compare(self: SymDim, other):
        if has_type(other, INEXACT) and has_type(other := as_int(other, whole), (float, np.floating)):
            return python(0, other)  # all ints compare alike with it
        mine, size = known_size(self), known_size(other)
        if size is None:
            return NotImplemented
        if has_type(mine, int) and has_type(size, int):
            return python(mine, size)
        return compared(claim(mine, size, f"{mine} {symbol} {size}"), scope_of(self, other))

    return compare


def _bitwise(python: Callable[[Any, Any], Any]) -> tuple[Operator, Operator]:
    """Return an operator on the bits of a size, whose value it may ask for, and its reflection."""

    def forward(self: SymDim, other):
        return of_bits(python, self, other)

    return forward, lambda self, other: of_bits(python, other, self)


class SymDim(Integer):
    """Size that is an expression over unknown sizes."""

    __slots__ = ()
    __array_priority__ = 1000

    def __repr__(self) -> str:
        return str(self.expr)

    def __format__(self, spec: str) -> str:
        """Format the text of the size; a format of numbers asks for its value."""
        try:
            return format(str(self), spec)
        except ValueError:
            return format(self.__index__(), spec)

    def __hash__(self) -> int:
        """Return the hash of the value in a program, where it asks for it, and of the name in a specification."""
        return hash(self.__index__() if self._in_program() else self.expr)

    def __copy__(self) -> SymDim:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SymDim:
        return self

    def __reduce__(self) -> Any:
        return SymDim, (self.expr, self.scope, self.numpy_dtype)

    @property
    def lower(self) -> Bound:
        """Least value that the size can have as far as its scope knows; None if unbounded."""
        return self.scope.lower(self.expr)

    @property
    def upper(self) -> Bound:
        """Greatest value that the size can have as far as its scope knows; None if unbounded."""
        return self.scope.upper(self.expr)

    def __index__(self) -> int:
        try:
            return self.scope.value(self.expr, builder.user_line())
        except DataDependentSizeError as error:
            return int(python_values.decided(self, int, "int()", error))
        except TypeError as error:
            builder.record_refusal(self, builder.unhidden(error))
            raise

    __int__: Operator = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        return bool(SizeComparison(Claim("!=", self.expr, 0, f"{self.expr} != 0"), self.scope))

    def __round__(self, digits: Any = None) -> Any:
        return self if digits is None or operator.index(digits) >= 0 else round(self.__index__(), digits)

    @property
    def real(self) -> Any:
        """Size itself."""
        return self

    numerator = real

    @property
    def imag(self) -> Any:
        """Zero, as for any integer."""
        return symdim(0, self.scope, self.numpy_dtype)

    @property
    def denominator(self) -> Any:
        """Denominator of an integer: 1."""
        return symdim(1, self.scope)

    def conjugate(self) -> Any:
        """Return the size itself."""
        return self

    def bit_length(self) -> int:
        """Return the number of bits of the value, which is asked for."""
        return self.__index__().bit_length()

    def bit_count(self) -> int:
        """Return the number of ones in the bits of the value, which is asked for."""
        return self.__index__().bit_count()

    def as_array(self) -> Any:
        """Return the size as an integer scalar of the program, weak like a Python int."""
        self._require_program()
        value = size_value(resolve_size(self))
        if self.numpy_dtype is not None:
            return convert(value, self.numpy_dtype)
        return (convert(value, np.dtype(bool)) if self.python_type is bool else value).as_weak(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value as an array, as where NumPy takes a size: `np.arange(n)` is traced for each value of n.

        NumPy's sums and products of a list of sizes get an object array, as they apply `+` and `*` to its elements.
        """
        if is_reduced_by_numpy(sys._getframe(1)):
            box = np.empty((), object)
            box[()] = self
            return box
        self._require_program()
        dtype = args[0] if args else kwargs.pop("dtype", None)
        wanted = self.numpy_dtype if dtype is None else dtype
        return np.asarray(self.__index__(), wanted, **kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and (result := _apply_to_sizes(ufunc, inputs)) is not None:
            return result
        if method == "reduce" and ufunc in _REDUCTIONS and all(v is None for v in kwargs.values()):
            return as_numpy_operands(inputs)[0]
        return getattr(ufunc, method)(*map(_as_array, inputs), **kwargs)

    __add__, __radd__ = _arithmetic(expr.add, operator.add)
    __sub__, __rsub__ = _arithmetic(expr.sub, operator.sub)
    __mul__, __rmul__ = _arithmetic(expr.mul, operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(expr.floordiv, operator.floordiv)
    __mod__, __rmod__ = _arithmetic(expr.mod, operator.mod)
    __and__, __rand__ = _bitwise(operator.and_)
    __or__, __ror__ = _bitwise(operator.or_)
    __xor__, __rxor__ = _bitwise(operator.xor)
    __lshift__, __rlshift__ = _bitwise(operator.lshift)
    __rshift__, __rrshift__ = _bitwise(operator.rshift)
    __eq__: Operator = _comparison("==", operator.eq, equal, int)
    __ne__: Operator = _comparison("!=", operator.ne, lambda a, b, text: Claim("!=", a, b, text), int)
    __ge__: Operator = _comparison(">=", operator.ge, at_least, math.ceil)
    __gt__: Operator = _comparison(">", operator.gt, lambda a, b, text: at_least(a, expr.add(b, 1), text), math.floor)
    __le__: Operator = _comparison("<=", operator.le, lambda a, b, text: at_least(b, a, text), math.floor)
    __lt__: Operator = _comparison("<", operator.lt, lambda a, b, text: at_least(b, expr.add(a, 1), text), math.ceil)

    def __truediv__(self, other: Any) -> Any:
        check_divisor(self, other)
        return self.as_array() / _as_array(other)

    def __rtruediv__(self, other: Any) -> Any:
        check_divisor(other, self)
        return _as_array(other) / self.as_array()

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(self, other) % modulus
        if not has_type(other, INTEGERS):
            if type(other) is float and other < 0:
                check_divisor(1, self)
            return self.as_array() ** _as_array(other) if has_type(other, (SymDim, *_NUMBERS)) else NotImplemented
        if other < 0:
            return 1 / self ** -int(other)
        return symdim(expr.power(self.expr, int(other)), self.scope, joint_dtype(self, other))

    def __rpow__(self, other: Any) -> Any:
        return other ** self.as_array()

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return symdim(expr.mul(-1, self.expr), self.scope, self.numpy_dtype)

    def __invert__(self) -> Any:
        return symdim(expr.sub(-1, self.expr), self.scope, self.numpy_dtype)

    def __pos__(self) -> Any:
        return self

    __trunc__ = __floor__ = __ceil__ = __pos__

    def __abs__(self) -> Any:
        return symdim(expr.maximum(self.expr, expr.mul(-1, self.expr)), self.scope, self.numpy_dtype)


class SizeComparison(SymDim):
    """Comparison of sizes that is neither proved nor refuted. It stands for a bool, and `bool()` decides it.

    In arithmetic it is 0 or 1, as Python's bools are, and next to arrays an array of one bool.
    """

    __slots__ = ("claim",)
    python_type: type = bool

    def __init__(self, claim: Claim, scope: Scope) -> None:
        self.claim, self.scope, self.numpy_dtype = claim, scope, None

    @property
    def expr(self) -> Any:  # type: ignore[override]
        """Size that is 1 where the claim holds, else 0."""
        return self.claim.indicator()

    def __bool__(self) -> bool:
        try:
            return builder.decide_by_sizes(self.scope, self.claim)
        except DataDependentSizeError as error:
            return bool(python_values.decided(self, bool, "bool()", error))

    def __index__(self) -> int:
        return int(self.__bool__())

    __int__: Operator = __index__

    def __repr__(self) -> str:
        return str(self.claim)

    def __hash__(self) -> int:
        return hash(self.__bool__())

    def __reduce__(self) -> Any:
        return SizeComparison, (self.claim, self.scope)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the decided bool as an array, which NumPy asks for where it cannot hand on a value."""
        return np.asarray(self.__bool__(), *args, **kwargs)

    def __array_function__(self, function: Any, types: Iterable[type], args: Any, kwargs: Any) -> Any:
        """Call the function with arrays of bools in place of comparisons, so that it becomes part of the program."""
        if function in QUESTIONS or not self._in_program() or any(issubclass(t, builder.Traced) for t in types):
            return super().__array_function__(function, types, args, kwargs)
        return function(*_with_arrays(args), **{name: _with_arrays(value) for name, value in kwargs.items()})

    def __and__(self, other: Any) -> Any:
        return _joined(self, "&", other, expr.minimum)

    def __or__(self, other: Any) -> Any:
        return _joined(self, "|", other, expr.maximum)

    def __xor__(self, other: Any) -> Any:
        return self != other if _is_bool(other) else NotImplemented

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__


def compared(claim: Claim, scope: Scope) -> Any:
    """Return the answer to a claim where it is proved or refuted, else the comparison as a value."""
    if (known := scope.known(claim, builder.user_line)) is not None:
        return known
    return SizeComparison(claim, scope) if scope.branch_rule is None else scope.branch_rule(claim)


def _with_arrays(x):
    """Return arguments with arrays in place of comparisons, in lists and tuples too."""
    if type(x) in (list, tuple):
        return type(x)([_with_arrays(part) for part in x])
    return x.as_array() if isinstance(x, SizeComparison) else x


def _is_bool(x) -> bool:
    """Return whether x is a bool, or a comparison that stands for one."""
    return isinstance(x, SizeComparison) or has_type(x, (bool, np.bool_))


def _joined(self: SizeComparison, symbol: str, other, combine: Callable[[Size, Size], Size]):
    """Return two comparisons joined by `&` or `|`, as a value."""
    if not _is_bool(other):
        return of_bits(_BITWISE[symbol], self, other)
    holds = Claim("!=", combine(self.expr, known_size(other)), 0, f"({self}) {symbol} ({other})")
    return compared(holds, scope_of(self, other))


_BITWISE = {"&": operator.and_, "|": operator.or_}


def _apply_to_sizes(ufunc: np.ufunc, inputs: Sequence[Any]):
    """Return the size or the answer that a ufunc gives for sizes and numbers; None where it needs arrays."""
    if all(map(_is_bool, inputs)):
        return None  # NumPy has rules of its own for bools: + is "or"
    if ufunc in INTEGER_UFUNCS and all(as_size(x) is not None for x in inputs):
        return INTEGER_UFUNCS[ufunc](*as_numpy_operands(inputs))
    if ufunc not in UFUNC_COMPARISONS:
        return None
    numbers = [_python_number(x) for x in inputs]
    return None if any(x is None for x in numbers) else UFUNC_COMPARISONS[ufunc](*numbers)


def _as_array(x):
    return x.as_array() if isinstance(x, SymDim) else x


# -- extremes ----------------------------------------------------------------------------------------------------


def max_dim(*sizes: Any) -> Any:
    """Return the largest of two or more sizes, ints or symbolic, without asking which one it is.

    >>> from anyshape import symbolic_shape
    >>> n, m = symbolic_shape("n, m", constraints=["n >= m"])
    >>> max_dim(n - 1, 3), max_dim(n, m)
    (max(n - 1, 3), n)
    """
    return _extreme("max_dim", sizes, expr.maximum, at_least)


def min_dim(*sizes: Any) -> Any:
    """Return the smallest of two or more sizes, ints or symbolic, without asking which one it is.

    >>> from anyshape import symbolic_shape
    >>> n, m = symbolic_shape("n, m", constraints=["n >= m"])
    >>> min_dim(n - 1, 3), min_dim(n, m)
    (min(n - 1, 3), m)
    """
    return _extreme("min_dim", sizes, expr.minimum, lambda a, b: at_least(b, a))


def _extreme(name: str, sizes: Sequence[Any], combine: Callable[..., Size], beats: Callable[..., Claim]):
    """Return the extreme of sizes, leaving out sizes that another one is known to beat."""
    check_sizes(name, sizes)
    if any(isinstance(x, builder.Traced) for x in sizes):
        return functools.reduce(EXTREMES[name], map(_as_array, sizes))
    if not any(isinstance(x, SymbolicSize) for x in sizes):
        return symdim(combine(*[int(x) for x in sizes]), Scope(), joint_dtype(*sizes))
    scope, candidates = scope_of(*sizes), list[Size]()
    for size in [scope.normal(as_size(x)) for x in sizes]:
        if not any(scope.proves(beats(other, size)) for other in candidates):
            candidates = [other for other in candidates if not scope.proves(beats(size, other))] + [size]
    return symdim(combine(*candidates), scope, joint_dtype(*sizes))


# -- NumPy's own functions on sizes ------------------------------------------------------------------------------


def _python_number(x):
    """Return a size as it is and a number as a Python number; None for anything else.

    NumPy makes arrays without axes of its scalars to compare them, so those count too.
    """
    if isinstance(x, SymDim):
        return x
    kind = getattr(x, "dtype", np.result_type(x) if has_type(x, (bool, int, float)) else None)
    if kind is None or kind.kind not in "biuf" or isinstance(x, builder.Traced) or np.ndim(x):
        return None
    return float(x) if kind.kind == "f" else int(x)


def as_numpy_operands(operands: Sequence[Any]) -> list[Any]:
    """Return operands of a ufunc as it takes them: without a NumPy integer, Python ints are int64."""
    if any(numpy_dtype(x) is not None for x in operands):
        return list(operands)
    return [SymDim(x.expr, x.scope, _WIDE) if isinstance(x, SymDim) else x for x in operands]


def _divmod(a, b) -> tuple[Any, Any]:
    return _combined(expr.floordiv, operator.floordiv, a, b), _combined(expr.mod, operator.mod, a, b)


INTEGER_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: functools.partial(_combined, expr.add, operator.add),
    np.subtract: functools.partial(_combined, expr.sub, operator.sub),
    np.multiply: functools.partial(_combined, expr.mul, operator.mul),
    np.floor_divide: functools.partial(_combined, expr.floordiv, operator.floordiv),
    np.remainder: functools.partial(_combined, expr.mod, operator.mod),
    np.divmod: _divmod,
    np.maximum: max_dim,
    np.minimum: min_dim,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
}
_REDUCTIONS = (np.add, np.multiply, np.maximum, np.minimum)
