"""Number protocol of sizes: functions that query the class or the shape of a size treat it as an integer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from anyshape.errors import SpecError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, active, active_builders, user_line
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.sizes.evaluate import evaluate
from anyshape.graph.sizes.expr import variables
from anyshape.numpy.operands import array_queries


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
        return scope.closed or scope.hints is not None or any(b.scope is scope for b in active_builders())

    def _require_program(self) -> None:
        """Refuse a size of a specification, which has no value."""
        if active() is None and not self.scope.closed:
            problem = f"the size {self} has a value in a program only"
            advice = "use it in a function that is traced, or give it a value: shape.evaluate(n=3)"
            raise UnsupportedFunctionError("size", problem, advice, user_line())

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
        if any(issubclass(t, Traced) for t in types):
            return NotImplemented
        if function in QUESTIONS:
            return QUESTIONS[function](*args, **kwargs)
        if active() is None or not self._in_program():
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
