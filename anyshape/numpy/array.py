"""The traced array: what a function receives while it is traced. It follows plain NumPy code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ConcretizationError, MutationError, SymbolicIterationError, UnsupportedFunctionError
from anyshape.graph.builder import Builder, Traced, user_line
from anyshape.graph.extents import Exact
from anyshape.graph.ir import Value
from anyshape.numpy import contraction, elementwise, movement, reduction
from anyshape.numpy.convert import is_weak
from anyshape.numpy.symdim import symdim


def _operator(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A binary operator and its reflection. What Python scalars alone give stays weak."""

    def forward(self: Array, other: Any) -> Any:
        return _weakly(function(self, other), self, other) if _operand(other) else NotImplemented

    def backward(self: Array, other: Any) -> Any:
        return _weakly(function(other, self), self, other) if _operand(other) else NotImplemented

    return forward, backward


def _operand(x: Any) -> bool:
    return not isinstance(x, (str, bytes, dict, type(None)))


def _weakly(result: Any, *operands: Any) -> Any:
    if isinstance(result, Array) and all(is_weak(x) for x in operands):
        result.weak = True
    return result


class Array(Traced):
    """An array of a program under construction."""

    __slots__ = ("weak",)
    __array_priority__ = 2000

    def __init__(self, builder: Builder, value: Value, weak: bool = False) -> None:
        super().__init__(builder, value)
        self.weak = weak

    def __repr__(self) -> str:
        return f"Array<{self.meta}>"

    # -- what is known

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.meta.rank

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes: ints where they are fixed, SymDims elsewhere."""
        return tuple([symdim(e.size, self.builder.scope) for e in self.meta.extents if isinstance(e, Exact)])

    @property
    def T(self) -> Any:
        return movement.transpose(self)

    # -- what cannot be done

    def __bool__(self) -> bool:
        raise ConcretizationError("bool()", str(self.meta), user_line())

    def __float__(self) -> float:
        raise ConcretizationError("float()", str(self.meta), user_line())

    def __setitem__(self, key: Any, value: Any) -> None:
        raise MutationError("x[...] = v", "x = np.where(mask, v, x)", user_line())

    def __iter__(self) -> Any:
        raise SymbolicIterationError(str(self.meta), user_line())

    # -- operators and methods

    __add__, __radd__ = _operator(elementwise.add)
    __sub__, __rsub__ = _operator(elementwise.subtract)
    __mul__, __rmul__ = _operator(elementwise.multiply)
    __truediv__, __rtruediv__ = _operator(elementwise.divide)
    __matmul__, __rmatmul__ = _operator(contraction.matmul)

    def __neg__(self) -> Any:
        return _weakly(elementwise.negative(self), self)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return reduction.sum(self, axis, dtype, out, keepdims)

    # -- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        function = UFUNCS.get(ufunc)
        if function is None or method != "__call__":
            name = f"{ufunc.__name__}.{method}" if method != "__call__" else ufunc.__name__
            raise UnsupportedFunctionError(name, "no counterpart on traced arrays", "compose it", user_line())
        return function(*inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = FUNCTIONS.get(function)
        if found is None:
            raise UnsupportedFunctionError(function.__name__, "no counterpart on traced arrays", "compose it", user_line())
        return found(*args, **kwargs)


UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    getattr(np, name): f for name, f in vars(elementwise).items() if isinstance(getattr(np, name, None), np.ufunc)
}
UFUNCS[np.matmul] = contraction.matmul
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(np, name): f
    for module in (movement, reduction, contraction)
    for name, f in vars(module).items()
    if getattr(f, "__module__", "") == module.__name__ and callable(getattr(np, name, None))
}
