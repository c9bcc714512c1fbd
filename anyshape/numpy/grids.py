"""Define NumPy's windows, geometric sequences and indices of triangles, whose sizes may be symbolic.

Define NumPy's `r_`, `c_`, `mgrid` and `ogrid`, which make arrays of slices; sizes may be symbolic, values traced.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.sizes import expr
from anyshape.numpy import creation, dynamic, elementwise, matrices, movement, special
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.concrete import plain, wrapped
from anyshape.numpy.operands.ufuncs import publish
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.control import check
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

_FLOAT = np.dtype(np.float64)

# -- windows -----------------------------------------------------------------------------------------------------


def _centered(M) -> tuple[Any, Any]:
    """Return 1 - M, 3 - M, ..., M - 1, and M - 1, which counts as 1 for a single point."""
    count = matrices.count_of(M)
    last = cr.size_value(expr.sub(count, 1))
    doubled = ew.sub(ew.mul(ew.lift(2, cr.iota(count)), cr.iota(count)), mv.broadcast_to(last, (count,)))
    width = ew.convert(ew.maximum(last, ew.lift(1, last)), _FLOAT)
    return ew.convert(doubled, _FLOAT), width


def _window(name: str, summary: str, formula: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Build a window from its formula in the centered points and their largest one."""
    doc = f"{summary}\n\nThe number of points may be symbolic; none or fewer give an empty vector."
    return publish(lambda M: formula(*_centered(M)), name, __name__, doc)


def _blackman(n, width):
    angle = np.pi * n / width
    return 0.42 + 0.5 * elementwise.cos(angle) + 0.08 * elementwise.cos(2.0 * angle)


hanning: Callable[..., Any] = _window(
    "hanning", "Return the Hann window of M points.", lambda n, width: 0.5 + 0.5 * elementwise.cos(np.pi * n / width)
)
hamming: Callable[..., Any] = _window(
    "hamming",
    "Return the Hamming window of M points.",
    lambda n, width: 0.54 + 0.46 * elementwise.cos(np.pi * n / width),
)
blackman: Callable[..., Any] = _window("blackman", "Return the Blackman window of M points.", _blackman)
bartlett: Callable[..., Any] = _window(
    "bartlett", "Return the triangle of M points.", lambda n, width: 1.0 - elementwise.absolute(n) / width
)


def kaiser(M: Any, beta: Any) -> Any:
    """Return the Kaiser window of M points with the shape `beta`; M may be symbolic and `beta` traced."""
    n, width = _centered(M)
    promotion.refuse_kinds("kaiser", promotion.as_traced(beta), "c")
    beta = promotion.as_traced(beta, _FLOAT)
    if beta.ndim:
        raise ArgumentError("kaiser", "beta", "is an array", "pass one number")
    return special.numpy_i0(beta * elementwise.sqrt(1 - (n / width) ** 2.0)) / special.numpy_i0(beta)


# -- sequences ---------------------------------------------------------------------------------------------------


def logspace(start, stop, num=50, endpoint: bool = True, base=10.0, dtype=None, axis: int = 0) -> Any:
    """Return `num` powers of `base`, with exponents evenly spaced from `start` to `stop`, along a new axis.

    Bounds and base may be traced, and `num` symbolic.
    """
    if promotion.as_traced(base).ndim:
        raise ArgumentError("logspace", "base", "is an array", "pass one number")
    powers = elementwise.power(base, creation.linspace(start, stop, num, endpoint, axis=axis))
    return powers if dtype is None else ew.convert(powers, promotion.number_dtype(dtype, "logspace"))


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Return `num` numbers from `start` to `stop` with a constant ratio, along a new axis.

    Bounds may be traced, and `num` symbolic. A bound of 0 is a CheckError of the run.
    """
    target = np.result_type(promotion.result_type(start, stop), np.zeros((), dtype), 0.0)
    first, last = movement.broadcast_arrays(promotion.as_traced(start, target), promotion.as_traced(stop, target))
    for bound in (first, last):
        check(ew.ne(bound, ew.lift(0, bound)), "geomspace: a geometric sequence cannot include zero")
    sign = elementwise.sign(first)
    first, last = first / sign, last / sign
    powers = logspace(elementwise.log10(first), elementwise.log10(last), num, endpoint)
    count = promotion.sizes(powers)[0]
    position = mv.broadcast_in_dim(cr.iota(count), promotion.sizes(powers), (0,))
    powers = ew.select(ew.eq(position, ew.lift(0, position)), mv.broadcast_to(first, promotion.sizes(powers)), powers)
    if endpoint:
        end = mv.broadcast_to(cr.size_value(expr.maximum(expr.sub(count, 1), 1)), promotion.sizes(powers))
        powers = ew.select(ew.eq(position, end), mv.broadcast_to(last, promotion.sizes(powers)), powers)
    result = movement.moveaxis(powers * sign, 0, axis)
    return result if dtype is None else ew.convert(result, promotion.number_dtype(dtype, "geomspace"))


# -- indices -----------------------------------------------------------------------------------------------------


def diag_indices(n: Any, ndim: Any = 2) -> Any:
    """Return the indices of the diagonal of an array of `ndim` axes of size n, which may be symbolic."""
    return (creation.arange(n),) * promotion.static_int(ndim, "diag_indices", "ndim")


def diag_indices_from(arr: Any) -> Any:
    """Return the indices of the diagonal of an array of two axes or more, which have equal sizes."""
    x = promotion.as_traced(arr)
    ctx = context_of("diag_indices_from", x)
    if x.ndim < 2:
        raise ctx.fail("an array of two axes or more is needed")
    first, *others = promotion.sizes(x)
    for size in others:
        ctx.require_equal(first, size, f"axes have sizes {first} and {size}")
    return (cr.iota(first),) * x.ndim


def _triangle_indices(mask: Callable[..., Any], n, k, m):
    """Return the indices of the elements of a triangle, row by row."""
    return dynamic.nonzero(mask(creation.ones((n, n if m is None else m), bool), k))


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """Return the indices of the elements on and below diagonal k of an n by m matrix; all may be symbolic.

    The number of elements is a run-time size.
    """
    return _triangle_indices(matrices.tril, n, k, m)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """Return the indices of the elements on and above diagonal k of an n by m matrix; see `tril_indices`."""
    return _triangle_indices(matrices.triu, n, k, m)


def _matrix_shape(name: str, arr):
    """Return the shape of a matrix."""
    if isinstance(arr, (list, tuple)):
        raise ArgumentError(name, "arr", "is a list", "pass an array")
    x = promotion.as_traced(arr)
    if x.ndim != 2:
        raise context_of(name, x).fail("a matrix is needed")
    return x.shape


def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    """Return the indices of the elements on and below diagonal k of a matrix; see `tril_indices`."""
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    """Return the indices of the elements on and above diagonal k of a matrix; see `tril_indices`."""
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def fromfunction(function: Callable[..., Any], shape, *, dtype=float, like=None, **kwargs) -> Any:
    """Return the value of a function of the indices of a grid, one array for each axis; sizes may be symbolic."""
    return function(*creation.indices(shape, dtype), **kwargs)


def _is_traced(key) -> bool:
    """Return whether a key, or a bound or step of a slice in it, belongs to a program."""
    parts = key if isinstance(key, tuple) else (key,)
    bounds = [b for part in parts if isinstance(part, slice) for b in (part.start, part.stop, part.step)]
    return promotion.is_traced(*[part for part in parts if not isinstance(part, slice)], *bounds)


def _line(name: str, part: slice):
    """Return the numbers of a slice; an imaginary step is their number, with the end among them."""
    start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if part.stop is None:
        raise ArgumentError(name, f"slice {part}", "has no end", "write start:stop, or start:stop:step")
    if has_type(step, (complex, np.complexfloating)) and not isinstance(step, Traced):
        return creation.linspace(start, part.stop, int(abs(step)))
    return creation.arange(start, part.stop, step)


class _Indexed:
    """Object of NumPy that makes arrays of what it is indexed with; NumPy's own serves keys without traced parts."""

    def __init__(self, name: str) -> None:
        self._name, self.__doc__ = name, getattr(np, name).__doc__

    def __getitem__(self, key: Any) -> Any:
        return self._made(key) if _is_traced(key) else wrapped(getattr(np, self._name)[plain(key)])

    def __repr__(self) -> str:
        return f"<anyshape.numpy.{self._name}>"

    def _made(self, key: Any) -> Any:
        raise NotImplementedError


class Grid(_Indexed):
    """Grids by slices, as `mgrid[0:n, 0:1:5j]`: the coordinates along each axis."""

    def __init__(self, name: str, *, sparse: bool) -> None:
        super().__init__(name)
        self._sparse = sparse

    def _made(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _line(self._name, key)
        lines = [_line(self._name, part) for part in key]
        dtype = promotion.result_type(*lines)
        lines = [ew.convert(promotion.as_traced(line), dtype) for line in lines]
        grid = creation.meshgrid(*lines, sparse=self._sparse, indexing="ij")
        return grid if self._sparse else matrices.stack(grid)


class Joined(_Indexed):
    """Arrays, numbers and slices joined along an axis, as `r_[x, 0, 0:n]` and `c_[x, y]`."""

    def __init__(self, name: str, axis: int, rank: int, start: int) -> None:
        super().__init__(name)
        self._plan = axis, rank, start

    def _made(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, rank, start = self._plan
        if isinstance(parts[0], str):
            axis, rank, start = self._stated(parts.pop(0))
        arrays = [self._member(part, rank, start) for part in parts]
        kinds = [part if promotion.is_weak(part) else x.dtype for part, x in zip(parts, arrays, strict=True)]
        dtype = promotion.result_type(*kinds)
        return matrices.concatenate([promotion.cast_operand(x, dtype) for x in arrays], axis)

    def _stated(self, text: str) -> tuple[int, int, int]:
        """Return the axis to join along, the least number of axes, and where own axes begin."""
        if text in ("r", "c"):
            problem, advice = f"the directive {text!r}", "programs have no np.matrix: reshape the result"
            raise UnsupportedFunctionError(self._name, problem, advice, user_line())
        try:
            stated = [int(word) for word in text.split(",")]
        except ValueError:
            problem, advice = "is unknown", "write 'axis', 'axis,ndim' or 'axis,ndim,start'"
            raise ArgumentError(self._name, f"the directive {text!r}", problem, advice) from None
        axis, rank, start = [*stated, *self._plan[len(stated) :]]
        return axis, rank, start

    def _member(self, part, rank: int, start: int):
        """Return a part as an array of `rank` axes or more; if it has fewer, its own ones begin at `start`."""
        if isinstance(part, str):
            raise ArgumentError(self._name, f"the directive {part!r}", "is not the first entry", "write it first")
        if isinstance(part, slice):
            line = creation.array(_line(self._name, part), ndmin=rank)
            return line if rank < 2 or start == -1 else movement.swapaxes(line, -1, start)
        own = promotion.as_traced(part).ndim
        x = promotion.as_traced(creation.array(promotion.as_traced(part), ndmin=rank))
        if promotion.is_weak(part) or start == -1 or own >= rank:
            return x
        added = rank - own
        first = start if start >= 0 else start + added + 1
        axes = list(range(rank))
        return movement.transpose(x, axes[:first] + axes[added:] + axes[first:added])

    def __len__(self) -> int:
        return 0


mgrid: Grid = Grid("mgrid", sparse=False)
ogrid: Grid = Grid("ogrid", sparse=True)
r_: Joined = Joined("r_", 0, 1, -1)
c_: Joined = Joined("c_", -1, 2, 0)


serve(__name__)
