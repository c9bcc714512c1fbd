"""Define assignments to arrays of a program: `x[key] = v`, `x += y`, `out=`, and NumPy's functions that write."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, MutationError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.numpy.arrays.python_operators import whole
from anyshape.numpy.at_update import Indexed, in_dtype_of, set_along_axis
from anyshape.numpy.indexing import getitem
from anyshape.numpy.operands.concrete import become_traced
from anyshape.numpy.operands.index_parser import Key
from anyshape.numpy.operands.memory import (
    assigned,
    become_view,
    in_shape_of,
    into,
    is_of_caller,
    is_same_view,
    memory_of,
    shares,
    write,
)
from anyshape.numpy.operands.promotion import as_traced, asarray, choice_of, sizes
from anyshape.numpy.serve import FUNCTIONS, serve
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.creation import iota, size_value
from anyshape.ops.indexing import take
from anyshape.support.true_types import has_type

_AT = {
    np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.divide: "divide", np.power: "power",
    np.minimum: "min", np.maximum: "max",
}  # fmt: skip
_PARTS = (slice, type(...))
_SIGNS = {"add": 1, "subtract": -1}
_MODES = {"raise": None, "clip": "clip", "wrap": "wrap"}


@short_traceback
def setitem(x: Any, key: Any, value: Any) -> None:
    """Write a value to the elements that a key names, cast to the dtype of x as NumPy casts in an assignment.

    A value that is the same elements, as `x[key] += v` ends with, is there already.
    """
    keys = key if isinstance(key, tuple) else (key,)
    parsed = Key(x, keys)
    if not any(map(_axes, keys)):
        value = _as_number(x, keys, value)
    if parsed.indices:
        if not (isinstance(value, Traced) and shares(value, x) and is_same_view(getitem(x, key), value)):
            write(x, as_traced(Indexed(x, key).set(value)), "x[...] = v")
        return
    part = parsed.read()
    if not (isinstance(value, Traced) and is_same_view(part, value)):
        assign_all(part, in_dtype_of(part, value, "set"), "x[...] = v")


def _axes(x: Any) -> int:
    """Return the number of axes of a value or an index, 1 for a sequence."""
    is_array = has_type(x, np.ndarray) or isinstance(x, Traced)
    return getattr(x, "ndim", 0) if is_array else int(has_type(x, (list, tuple)))


def _as_number(x, keys: tuple[Any, ...], value):
    """Return what is written where no array picks elements: of a scalar, integers take Python's int.

    One element takes no array with axes: NumPy's own error says so. Older releases take an array of one element.
    """
    if (axes := _axes(value)) and len(keys) == x.ndim and not any(k is None or type(k) in _PARTS for k in keys):
        np.zeros(1)[0] = np.zeros((1,) * axes)
    is_scalar = isinstance(value, Traced) and not value.is_array and value.dtype.kind in "iuf"
    if not is_scalar or x.dtype.kind not in "iu" or np.can_cast(value.dtype, x.dtype):
        return value
    return whole(value) if value.dtype.kind == "f" else value.as_weak()


def assign_all(x: Any, value: Any, asked: str) -> None:
    """Write a value of the dtype of x, broadcast, to all elements of x."""
    write(x, in_shape_of(x, as_traced(value), "setitem"), asked)


def in_place(symbol: str, name: str) -> Callable[..., Any]:
    """Return an in-place operator such as `x += y`, which writes the result of a ufunc to x."""

    @short_traceback
    def operate(self, other):
        result = FUNCTIONS[name](self, other)
        added = _added(self, other, name) if name in _SIGNS and self.views and result.dtype == self.dtype else None
        write(self, assigned(self, result, name), f"x {symbol}= y", added)
        return self

    return operate


def _added(x, other, name: str):
    """Return what `x += y` or `x -= y` adds to each element of x; None: y may be anything."""
    if not isinstance(other, Traced) and not has_type(other, (np.ndarray, np.generic, complex, float, int)):
        return None
    value = in_shape_of(x, ew.convert(as_traced(asarray(other)), x.dtype), name)
    return value if _SIGNS[name] > 0 else ew.neg(value)


def all_into(outs: tuple[Any, ...], results: Any, name: str, where: Any, stretches: bool) -> Any:
    """Write each result of a ufunc to its array of `out`, if it has one; its methods do not stretch results."""
    if not isinstance(results, tuple):
        return into(outs[0], results, name, where, stretches=stretches)
    return tuple([r if o is None else into(o, r, name, where) for o, r in zip(outs, results, strict=True)])


def ufunc_at(ufunc: np.ufunc, a: Any, indices: Any, *operands: Any) -> None:
    """Apply a ufunc to the elements that a key names, once for each time that they are named: `np.add.at`."""
    if ufunc not in _AT:
        advice = f"use one of {', '.join(f'np.{f.__name__}.at' for f in _AT)}"
        raise UnsupportedFunctionError(
            f"{ufunc.__name__}.at", "has no counterpart on traced arrays", advice, user_line()
        )
    name = f"np.{ufunc.__name__}.at(x, i, y)"
    update = getattr(Indexed(_writable(a, name), indices), _AT[ufunc])
    write(a, assigned(a, as_traced(update(*operands)), ufunc.__name__), name)


def _writable(x, asked: str):
    """Return the array that a function writes to; one of NumPy cannot hold traced values."""
    become_traced(x, asked)
    if not isinstance(x, Traced):
        problem = "an array of NumPy cannot hold traced values"
        raise MutationError(asked, problem, "make it with anyshape.numpy.zeros_like of a traced array", user_line())
    return x


def _cycled(values, count, dtype: np.dtype):
    """Return so many values, which start again after the last one."""
    flat = FUNCTIONS["ravel"](as_traced(asarray(values)))
    position = FUNCTIONS["remainder"](iota(count), size_value(sizes(flat)[0]))
    return ew.convert(take(flat, position, 0), dtype)


def set_flat(x: Any, key: Any, value: Any) -> None:
    """Write a value to the elements that a key of the flattened array names; too few values start again."""
    flat = FUNCTIONS["ravel"](x.as_copy()).as_copy()
    part = flat if key is Ellipsis else getitem(flat, key)
    values = as_traced(asarray(value))
    if values.meta.rank and part.meta.rank:
        values = _cycled(values, sizes(part)[0], x.dtype)
    setitem(flat, key, values)
    write(x, mv.reshape(flat, sizes(x)), "x.flat[i] = v")


def set_real(x: Any, value: Any) -> None:
    """Write to the real part."""
    setitem(FUNCTIONS["real"](x), ..., value)


def set_imag(x: Any, value: Any) -> None:
    """Write to the imaginary part, which real arrays do not have."""
    if x.dtype.kind != "c":
        raise DTypeError(
            "imag", f"there is no imaginary part of {x.dtype}", "convert it with astype(complex)", user_line()
        )
    setitem(FUNCTIONS["imag"](x), ..., value)


def set_shape(x: Any, shape: Any) -> None:
    """Let an array have the same elements in another shape. An argument would keep its shape for the caller."""
    memory = memory_of(x) if x.is_array else None
    if memory is None or is_of_caller(memory) or memory.owner is not active():
        problem = "the array is an argument, which would keep its shape outside of the traced function"
        raise MutationError("x.shape = s", problem, "write {x} = {x}.reshape(s)", user_line())
    become_view(x, FUNCTIONS["reshape"](x, shape))


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write the values of `src` to `dst`, where a mask holds."""
    array = as_traced(asarray(src))
    if casting == "unsafe":
        array = ew.convert(array, dst.dtype)
    into(_writable(dst, "np.copyto(x, v)"), array, "copyto", where)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values to elements of the flattened array; too few values start again."""
    flat = FUNCTIONS["ravel"](_writable(a, "np.put(x, i, v)").as_copy())
    index = FUNCTIONS["ravel"](as_traced(asarray(ind)))
    if choice_of("put", "mode", mode, tuple(_MODES)) == "wrap":
        index = FUNCTIONS["remainder"](index, size_value(sizes(flat)[0]))
    elif mode == "clip":
        index = FUNCTIONS["maximum"](index, 0)
    new = Indexed(flat, index).set(_cycled(v, sizes(index)[0], a.dtype), mode="clip" if mode == "clip" else None)
    write(a, mv.reshape(new, sizes(a)), "np.put(x, i, v)")


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write the first values to the elements at which a mask holds, in C order; too few values start again."""
    shape = sizes(_writable(arr, "np.place(x, mask, v)"))
    chosen = in_shape_of(arr, as_traced(asarray(mask, bool)), "place")
    values = FUNCTIONS["ravel"](as_traced(asarray(vals)))
    order = FUNCTIONS["cumsum"](chosen) - 1  # of the elements that are written, along the flattened array
    position = FUNCTIONS["remainder"](order, size_value(sizes(values)[0]))
    written = ew.convert(take(values, position, 0), arr.dtype)
    write(arr, ew.select(chosen, mv.reshape(written, shape), arr), "np.place(x, mask, v)")


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write to each element at which a mask holds the value of its position; too few values start again."""
    shape = sizes(_writable(a, "np.putmask(x, mask, v)"))
    flat = FUNCTIONS["ravel"](a.as_copy())
    chosen = in_shape_of(a, as_traced(asarray(mask, bool)), "putmask")
    every = mv.reshape(_cycled(values, sizes(flat)[0], a.dtype), shape)
    write(a, ew.select(chosen, every, a), "np.putmask(x, mask, v)")


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write a value, or values in turn, to the elements of the main diagonal."""
    x = _writable(a, "np.fill_diagonal(x, v)")
    if x.ndim < 2:
        raise ArgumentError("fill_diagonal", "a", "has fewer than two axes", "pass a matrix")
    if x.ndim == 2:
        step, end = x.shape[1] + 1, None if wrap else x.shape[1] * x.shape[1]
    else:
        step, end = 1 + sum(np.cumprod([1, *x.shape[-1:0:-1]], dtype=object)[1:]), None
    set_flat(x, slice(None, end, step), val)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """Write values at positions along an axis that each vector along it has of its own."""
    x = _writable(arr, "np.put_along_axis(x, i, v, axis)")
    write(x, set_along_axis(x.as_copy(), indices, values, axis), "np.put_along_axis(x, i, v, axis)")


def sort(self: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """Sort the elements along an axis in place."""
    write(self, FUNCTIONS["sort"](self.as_copy(), axis, kind, order, stable=stable), "x.sort()")


def fill(self: Any, value: Any) -> None:
    """Write one value to all elements."""
    setitem(self, ..., value)


def partition(self: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> None:
    """Sort the elements along an axis, which partitions them at every position."""
    sort(self, axis, None, order)


serve(__name__)
