"""Make the memory of a concrete array one of the program, with all views of it."""

from typing import Any

import numpy as np

from anyshape.errors import MutationError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.at_update import Indexed
from anyshape.numpy.indexing import getitem
from anyshape.numpy.operands.concrete import ConcreteArray
from anyshape.numpy.operands.memory import Memory, View, adopt
from anyshape.numpy.operands.promotion import sizes
from anyshape.ops import movement as mv


def become_traced(x: ConcreteArray, asked: str) -> None:
    """Make the memory of an array one of the trace that made it; all arrays that share it become traced ones.

    MutationError refuses memory of a trace that has ended, and memory that an array of plain NumPy reads.
    """
    memory = x.memory
    memory.check_unshared(asked)
    elements = memory.elements
    arrays = list(memory.arrays.values())
    views = [_steps(elements, array.value, asked) for array in arrays]
    whole: Any = memory.owner.constant(memory.snapshot(elements)).as_ndarray()  # type: ignore[union-attr]
    whole.owner = memory.owner
    shared = Memory(whole, is_contiguous=elements.flags.c_contiguous)
    for array, steps in zip(arrays, views, strict=True):
        adopt(array, shared, steps, type(whole).outdated)


def _steps(elements: np.ndarray, array: np.ndarray, asked: str) -> tuple[View, ...]:
    """Return the steps from the elements of a memory to a view of them."""
    if _is_same(elements, array) and array.flags.writeable:
        return ()
    if (key := _basic_key(elements, array)) is None:
        return (_gathered(_positions(elements, array, asked), array),)

    def read(base):
        return getitem(base.unshared(), key).unshared()

    def write(base, part):
        return Indexed(base.unshared(), key).set(part)

    return (View(read, write if array.flags.writeable else None, ("concrete", *_layout(array)), True),)


def _layout(array: np.ndarray) -> tuple[Any, ...]:
    return array.ctypes.data, array.shape, array.strides


def _is_same(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether two arrays are the same elements in the same order."""
    return x.dtype == y.dtype and (_layout(x) == _layout(y) or (x.size == 0 and x.shape == y.shape))


def _basic_key(elements: np.ndarray, array: np.ndarray) -> tuple[Any, ...] | None:
    """Return integers and slices that select a view, None for a view of another kind."""
    rest, axis, key = array.ctypes.data - elements.ctypes.data, 0, []
    for stride in elements.strides:
        start, rest = divmod(rest, stride) if stride > 0 else (0, rest)
        if axis < array.ndim and stride > 0 and array.strides[axis] % stride == 0 and array.strides[axis]:
            step, count = array.strides[axis] // stride, array.shape[axis]
            stop = start + step * count
            key.append(slice(start, stop if stop >= 0 else None, step))
            axis += 1
        else:
            key.append(start)
    try:
        return (*key, ...) if _is_same(elements[(*key, ...)], array) else None
    except IndexError:
        return None


def _positions(elements: np.ndarray, array: np.ndarray, asked: str) -> np.ndarray:
    """Return the position of each element of a view, in C order of all elements."""
    order = np.empty_like(elements, np.intp)
    order[...] = np.arange(elements.size).reshape(elements.shape)
    size = elements.itemsize
    is_packed = [s * np.intp(0).itemsize for s in elements.strides] == [s * size for s in order.strides]
    offset = array.ctypes.data - elements.ctypes.data
    if array.dtype != elements.dtype or not (is_packed or not array.size) or offset % size:
        problem = f"a view of it reads its memory as {array.dtype}"
        raise MutationError(asked, problem, "write {x} = {x}.copy() before", user_line())
    if not array.size:
        return np.empty(array.shape, np.intp)
    strides = [s // size * order.itemsize for s in array.strides]
    return np.lib.stride_tricks.as_strided(order.ravel("K")[offset // size :], array.shape, strides).copy()


def _gathered(positions: np.ndarray, array: np.ndarray) -> View:
    """Return the step to the elements at positions of the flattened array."""

    def read(base):
        return getitem(_flat(base), positions).unshared()

    def write(base, part):
        return mv.reshape(Indexed(_flat(base), positions).set(part), sizes(base))

    return View(read, write if array.flags.writeable else None, ("concrete", *_layout(array)), True)


def _flat(base):
    return mv.reshape(base.unshared(), (base.size,))
