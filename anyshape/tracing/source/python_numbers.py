"""Python's own functions of numbers for traced values: `float`, `int`, `round`, `max`, `sum` and the like.

Each gives what Python gives for the number that a traced value stands for. The result is a weak scalar of the program,
which promotes as a number of Python. Errors are Python's, and a run raises the ones that values cause.

Functions return NotImplemented for operands that they have no meaning for. Python's own function gets these.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.arrays.array_methods import alone, class_name, weakly
from anyshape.numpy.arrays.python_operators import whole
from anyshape.numpy.operands.promotion import as_traced, cast_operand, resolve_size
from anyshape.numpy.serve import FUNCTIONS
from anyshape.numpy.sizes.size_quotient import Quotient
from anyshape.numpy.sizes.symdim import SymDim, max_dim, min_dim, symdim
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import float_of_size
from anyshape.ops.elementwise import make_complex, narrow
from anyshape.support.packages import python_values
from anyshape.support.true_types import has_type

_INT, _FLOAT, _COMPLEX = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.complex128)
_OF_PYTHON = {"b": np.dtype(bool), "i": _INT, "u": _INT, "f": _FLOAT, "c": _COMPLEX}  # dtypes by kind
_UNROLLED = 16  # rows of an array that Python combines one by one
_MOST_LISTED = 256  # elements of a list of scalars


def _is_array(x: Any) -> bool:
    """Return whether x is a traced array that has axes."""
    return isinstance(x, Traced) and x.meta.rank > 0


def scalar(x: Any, convert: Callable[[Any], Any]) -> Any:
    """Return a traced value without axes, or a size, as a scalar of the program.

    NumPy's own error refuses an array with axes. Older releases take the element of an array of one.
    """
    if isinstance(x, SymbolicSize):
        return x.as_array()  # type: ignore[attr-defined]
    if x.ndim:
        convert(np.zeros((1,) * x.ndim))
    return alone(x, f"{convert.__name__}()")


def as_python(x: Any) -> Any:
    """Return a scalar as one of Python: weak, and of the dtype that Python's numbers have."""
    return cast_operand(x, _OF_PYTHON[x.dtype.kind]).as_weak(x.exact)


# -- conversions ---------------------------------------------------------------------------------------------------


def as_float(x: Any = 0.0, /) -> Any:
    """Return `float(x)`. Of a size it has the quotients and comparisons that sizes decide."""
    if isinstance(x, SymDim) and x.python_type is int:
        size, known = symdim(x.expr, x.scope), resolve_size(x)
        if has_type(known, int):  # as the trace is for this size alone
            return float(known)
        return float_of_size(known, _FLOAT).as_weak(Quotient(size, 1))
    x = scalar(x, float)
    if x.dtype.kind == "c":
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return x if x.weak and x.dtype == _FLOAT else cast_operand(x, _FLOAT).as_weak(x.exact)


def as_int(x: Any = 0, base: Any = None, /) -> Any:
    """Return `int(x)`, whose fraction is cut off. Of a size it is the size."""
    if base is not None:
        return NotImplemented
    if isinstance(x, SymbolicSize):
        return symdim(x.expr, x.scope)
    x = scalar(x, int)
    if x.dtype.kind == "c":
        raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'complex'")
    if isinstance(x.exact, (SymbolicSize, Quotient)):
        return as_int(x.exact) if isinstance(x.exact, SymbolicSize) else x.exact.__trunc__()
    return whole(x)


def as_complex(real: Any = 0.0, imag: Any = None, /) -> Any:
    """Return `complex(x)`, or `complex(x, y)`, which is x + y * 1j."""
    first = _complex_part(real)
    if imag is None:
        return first
    second = _complex_part(imag)
    parts = FUNCTIONS["real"](first) - FUNCTIONS["imag"](second), FUNCTIONS["imag"](first) + FUNCTIONS["real"](second)
    return make_complex(*[cast_operand(part, _FLOAT) for part in parts]).as_weak()


def as_numpy(kind: type, x: Any = 0, /) -> Any:
    """Return a scalar of NumPy of a type, or an array of one with axes; a number of Python has to fit the type."""
    if isinstance(x, SymbolicSize):
        x = scalar(x, float)
    x = x if isinstance(x, Traced) else as_traced(x)
    dtype = np.dtype(kind)
    if x.weak and x.dtype.kind == "c" and dtype.kind in "iuf":
        return kind(1j)  # raises NumPy's own error
    if x.weak and dtype.kind in "iu":
        return narrow(cast_operand(as_int(x), _INT), dtype)
    return x.astype(kind) if x.ndim else x.astype(kind).as_scalar()


def _complex_part(x: Any) -> Any:
    x = scalar(x, complex) if isinstance(x, (Traced, SymbolicSize)) else complex(x)
    return cast_operand(x, _COMPLEX).as_weak()


def rounded(number: Any, ndigits: Any = None) -> Any:
    """Return `round(x)`, an int, or NotImplemented with a number of digits."""
    x = number
    if isinstance(x, SymbolicSize):
        return NotImplemented
    if x.is_array or x.dtype.kind not in ("biuf" if x.weak else "iuf"):
        raise TypeError(f"type {class_name(x)} doesn't define __round__ method")
    if ndigits is not None:
        return NotImplemented
    if isinstance(x.exact, Quotient):
        return round(x.exact)
    return whole(FUNCTIONS["round"](x, 0)) if x.dtype.kind == "f" else as_int(x)


def length(x: Any, /) -> Any:
    """Return `len(x)`: the size of the first axis itself."""
    return x.shape[0] if _is_array(x) else NotImplemented


# -- extremes ------------------------------------------------------------------------------------------------------


class _Extreme:
    """`max` or `min` of Python: the first one that no other beats, by Python's order of NaN."""

    def __init__(self, name: str, beats: str, of_sizes: Callable[..., Any], position: str, worst: float) -> None:
        self.name, self.beats, self.of_sizes, self.position, self.worst = name, beats, of_sizes, position, worst

    def __call__(self, *args: Any, key: Any = None, default: Any = None) -> Any:
        if key is not None or (default is not None and not (len(args) == 1 and _is_array(args[0]))):
            return NotImplemented
        if len(args) > 1:
            return self._of(args)
        (values,) = args
        if isinstance(values, (list, tuple)):
            return self._of(values)
        if not _is_array(values) or values.ndim != 1:
            return NotImplemented
        return self._of_elements(values) if default is None else self._or_default(values, default)

    def _or_default(self, x: Any, default: Any) -> Any:
        """Return the extreme of elements, the default where there are none."""
        worst: Any = {"f": self.worst, "b": self.worst > 0}.get(x.dtype.kind)
        if worst is None:
            worst = getattr(np.iinfo(x.dtype), "min" if self.worst < 0 else "max")
        best = self._of_elements(FUNCTIONS["append"](x, np.full(1, worst, x.dtype)))
        return FUNCTIONS["where"](FUNCTIONS["asarray"](x.shape[0]) > 0, best, default).as_scalar()

    def _of(self, values: Sequence[Any]) -> Any:
        """Return the extreme of scalars, each compared with the best before it."""
        if not values or not all(map(_is_real, values)):
            return NotImplemented
        if all(has_type(x, int) or (isinstance(x, SymDim) and x.python_type is int) for x in values):
            return self.of_sizes(*values) if len(values) > 1 else values[0]
        best = values[0]
        for x in values[1:]:
            best = self._better(best, x)
        return best

    def _better(self, best: Any, x: Any) -> Any:
        if not isinstance(best, (Traced, SymbolicSize)) and not isinstance(x, (Traced, SymbolicSize)):
            return x if (x > best if self.beats == "greater" else x < best) else best
        better = FUNCTIONS["where"](FUNCTIONS[self.beats](x, best), x, best)  # an array without axes, as NumPy's
        return weakly(better.as_scalar(), x, best)

    def _of_elements(self, x: Any) -> Any:
        """Return the extreme of elements, whose position is that of the first one which no other beats.

        A NaN is beaten by nothing if it is the first element, and else beats nothing.
        """
        problem = f"{self.name}() arg is an empty sequence"
        context_of(self.name, x).require(at_least(x.value.meta.sizes[0], 1), problem)
        key = x
        if x.dtype.kind == "f":
            first = FUNCTIONS["equal"](FUNCTIONS["arange"](x.shape[0]), 0)
            of_nan = FUNCTIONS["where"](first, -self.worst, self.worst)
            key = FUNCTIONS["where"](FUNCTIONS["isnan"](x), of_nan, x)
        return x[FUNCTIONS[self.position](key)]


def _is_real(x: Any) -> bool:
    """Return whether x is a real number without axes: of Python, of NumPy or of the program."""
    if isinstance(x, Traced):
        return not x.meta.rank and x.dtype.kind in "biuf"
    return isinstance(x, SymbolicSize) or (has_type(x, (int, float, np.integer, np.floating, np.bool_)))


largest: _Extreme = _Extreme("max", "greater", max_dim, "argmax", -np.inf)
smallest: _Extreme = _Extreme("min", "less", min_dim, "argmin", np.inf)


# -- folds ---------------------------------------------------------------------------------------------------------


def total(x: Any, /, start: Any = 0) -> Any:
    """Return `sum(x)` of the rows of an array, added from the left."""
    return _fold(x, start, "cumsum", FUNCTIONS["add"])


total.__qualname__ = "sum"  # in Python's errors of calls


def product(x: Any, /, *, start: Any = 1) -> Any:
    """Return `math.prod(x)` of the rows of an array, multiplied from the left."""
    return _fold(x, start, "cumprod", FUNCTIONS["multiply"])


def _fold(x: Any, start: Any, cumulate: str, combine: Callable[[Any, Any], Any]) -> Any:
    """Return the rows combined from the left; without rows, the start in the dtype that they would give.

    The start is one more row before the others, so that the order is Python's.
    """
    if not _is_array(x) or (has_type(x.shape[0], int) and x.shape[0] <= _UNROLLED):
        return NotImplemented
    if x.ndim > 1 and x.shape[0] == 0:
        return start
    seed = combine(start, FUNCTIONS["zeros"](x.shape[1:], x.dtype))
    seed = FUNCTIONS["broadcast_to"](start, seed.shape).astype(seed.dtype)
    rows = FUNCTIONS["concatenate"]([seed[None], x.astype(seed.dtype)])
    return FUNCTIONS[cumulate](rows, axis=0, dtype=seed.dtype)[-1]


# -- truth ---------------------------------------------------------------------------------------------------------


def any_of(x: Any, /) -> Any:
    """Return `any(x)` of scalars, as a bool that Python may decide on."""
    return _joined(x, "any")


def all_of(x: Any, /) -> Any:
    """Return `all(x)` of scalars, as a bool that Python may decide on."""
    return _joined(x, "all")


def _joined(x: Any, name: str) -> Any:
    if isinstance(x, (list, tuple)) and all(map(_is_real, x)):
        x = FUNCTIONS["stack"]([FUNCTIONS["not_equal"](FUNCTIONS["asarray"](v), 0) for v in x])
    return FUNCTIONS[name](x).as_weak() if _is_array(x) and x.ndim == 1 else NotImplemented


# -- methods -------------------------------------------------------------------------------------------------------


def item(x: Any, *position: Any) -> Any:
    """Return `x.item()`: one element as a number of Python."""
    if position:
        return item(x.reshape(-1)[position[0]] if len(position) == 1 else x[position])
    return as_python(x.reshape(()) if x.ndim else x)


def tolist(x: Any) -> Any:
    """Return `x.tolist()`, for few elements. The program is for the sizes of the call."""
    count = 1
    for size in x.shape:
        count *= python_values.trips(size)
    if count > _MOST_LISTED:
        return NotImplemented
    return [tolist(row) for row in x] if x.ndim else as_python(x)
