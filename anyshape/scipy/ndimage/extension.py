"""Continue images beyond their ends by the modes of `scipy.ndimage`, at symbolic sizes."""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.sizes import expr
from anyshape.numpy.operands.promotion import as_traced, choice_of, is_traced, number_dtype, result_type, sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

# modes of filters by what they mean; interpolation has other constants and other wraps
_FILTER_MODES = {
    "reflect": "reflect", "grid-mirror": "reflect", "mirror": "mirror", "nearest": "nearest", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def filter_mode(name: str, mode: Any) -> str:
    """Return what a mode of a filter means."""
    return _FILTER_MODES[choice_of(name, "mode", mode, tuple(_FILTER_MODES))]


def inside(position: Any, n: Any, mode: str) -> Any:
    """Return the elements of an axis of size n that stand for positions of any sign."""
    n = xp.maximum(n, 1)
    if mode == "nearest":
        return xp.clip(position, 0, n - 1)
    if mode == "wrap":
        return xp.mod(position, n)
    period = 2 * n if mode == "reflect" else xp.maximum(2 * n - 2, 1)
    turned = xp.mod(position, period)
    return xp.where(turned < n, turned, period - turned - (1 if mode == "reflect" else 0))


def extended(x: Any, axis: int, before: Any, after: Any, mode: str, cval: Any = 0) -> Any:
    """Return x with so many elements more at both ends of an axis; one without elements has none."""
    n = x.shape[axis]
    some = xp.minimum(n, 1)
    before, after = before * some, after * some
    if mode == "constant":
        around = [(before, after) if i == axis else (0, 0) for i in range(x.ndim)]
        return xp.pad(x, around, constant_values=cval)
    return ix.take(x, as_traced(inside(xp.arange(n + before + after) - before, n, mode)), axis)


# -- arguments and results ---------------------------------------------------------------------------------------


def image(name: str, input: Any) -> Any:
    """Return an image as an array of the precision in which SciPy computes."""
    x = as_traced(input)
    if x.dtype.kind not in "fciub":
        raise ArgumentError(name, "input", f"has dtype {x.dtype}", "pass numbers")
    return ew.convert(x, np.dtype(complex if x.dtype.kind == "c" else float))


def output_dtype(name: str, input: Any, output: Any, *others: Any) -> np.dtype:
    """Return the dtype of results: that of the input, or the one of `output`, and complex where an operand is."""
    if is_traced(output) or has_type(output, np.ndarray):
        raise ArgumentError(name, "output", "is an array", "assign the result of a traced call")
    dtype = result_type(input) if output is None else number_dtype(output, name)
    is_complex = any(result_type(x).kind == "c" for x in (input, *others))
    return np.result_type(dtype, np.complex64) if is_complex else dtype


def in_dtype(x: Any, dtype: np.dtype) -> Any:
    """Return results in a dtype as C converts them: fractions are False, negative numbers wrap around in small ones."""
    if x.dtype.kind == "f" and dtype.kind in "bu" and dtype.itemsize < 8:
        x = ew.convert(x, np.dtype(np.int64))
    return ew.convert(ew.convert(x, np.dtype(np.uint8)) if dtype.kind == "b" and x.dtype.kind == "i" else x, dtype)


def for_each(name: str, option: str, values: Any, count: int) -> list[Any]:
    """Return an option with a value for each axis, or the same for all."""
    if isinstance(values, Traced) and values.ndim:
        size = sizes(values)[0]
        context_of(name, values).require_equal(size, count, f"{option} has {size} values for {count} axes")
        return list(xp.unstack(values))
    if not has_type(values, (tuple, list, np.ndarray)) or np.ndim(values) == 0:
        return [values] * count
    if len(values) != count:
        raise ArgumentError(name, f"{option}={values!r}", f"does not have {count} values", "give one for each axis")
    return list(values)


def require_inside(name: str, x: Any, origin: Any, size: Any) -> Any:
    """Return how far a window of this size reaches before its element, for an origin inside of the window."""
    before = size // 2 + origin
    if not (before >= 0 and before <= size - 1):
        advice = "let it be from -(size // 2) to (size - 1) // 2"
        raise context_of(name, x).fail(f"origin {origin} is outside of a window of {size}", advice)
    return before


def windows_of(padded: Any, shape: tuple[int, ...], counts: Any) -> Any:
    """Return the windows of these sides at so many positions of each axis of a padded array, as further axes.

    An image without elements has none, however little it was extended.
    """
    missing = [expr.maximum(expr.sub(k, n), 0) for k, n in zip(shape, sizes(padded), strict=True)]
    none = (0,) * padded.ndim
    windows = xp.lib.stride_tricks.sliding_window_view(mv.pad_unchecked(padded, none, missing, none), shape)
    return windows[tuple([slice(0, n) for n in counts])]
