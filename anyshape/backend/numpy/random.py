"""Kernels of draws: the methods of NumPy's generators.

Traits of draws: they run in their order, and never twice.
"""

import numpy as np

from anyshape.backend.compiler.op_traits import OPAQUE, Alias, declare
from anyshape.errors import DTypeError
from anyshape.graph.ir.graph import drawing
from anyshape.ops import random as rd
from anyshape.ops.core.apply import kernel

_TYPED = {"integers", "random", "standard_exponential", "standard_gamma", "standard_normal"}  # they take a dtype
_LEGACY = {"integers": "randint", "random": "random_sample"}  # names of methods of RandomState


def _draw(generator, *arrays, method, shape, count, dtype, options, loops):
    numbers = np.empty(shape, dtype)
    draw = _METHODS.get(method, _per_element)
    _loop(numbers, (generator, *arrays), loops, lambda one, *xs: draw(one, xs, method, count, dict(options)))
    return numbers[()] if not shape else numbers, np.bool_(True)  # a scalar, as of other kernels


def _loop(numbers, arrays, loops, draw):
    """Fill the numbers: at once, or example by example along their first axis, which flagged operands have too."""
    if not loops:
        if not isinstance(one := arrays[0][()], drawing()):
            advice = "pass a numpy.random.Generator, such as numpy.random.default_rng(0)"
            raise DTypeError("draw", f"{type(one).__name__} is not a generator of NumPy", advice)
        numbers[...] = draw((one, numbers.shape, numbers.dtype), *arrays[1:])
        return
    for i in range(len(numbers)):
        _loop(numbers[i, ...], [a[i, ...] if flag else a for a, flag in zip(arrays, loops[0])], loops[1:], draw)


def _per_element(one, xs, method, count, options):
    generator, shape, dtype = one
    typed = {"dtype": dtype.type} if method in _TYPED else {}
    if isinstance(generator, np.random.RandomState):
        typed = typed if method == "integers" else {}
        method = _LEGACY.get(method, method)
    return getattr(generator, method)(*xs, size=shape, **typed, **options)


def _per_row(one, xs, method, count, options):
    generator, shape, _ = one
    return getattr(generator, method)(*xs, size=shape[:-1], **options)


def _choice(one, xs, method, count, options):
    generator, shape, _ = one
    return generator.choice(count, shape, p=xs[0] if xs else None, **options)


def _permutation(one, xs, method, count, options):
    return one[0].permutation(count)


def _permuted(one, xs, method, count, options):
    """Draw for each slice along an axis which element comes where."""
    generator, shape, dtype = one
    axis = options["axis"]
    along = np.arange(shape[axis], dtype=dtype).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return generator.permuted(np.broadcast_to(along, shape), axis=axis)


def _shuffle(one, xs, method, count, options):
    """Draw which slice comes where, of an array of `count` elements; NumPy draws nothing for an empty one."""
    generator, (length,), dtype = one
    return generator.permutation(length) if count else np.arange(length, dtype=dtype)


_METHODS = {
    "choice": _choice,
    "permutation": _permutation,
    "permuted": _permuted,
    "shuffle": _shuffle,
    **dict.fromkeys(rd.PER_ROW, _per_row),
}

kernel(rd.draw_op, _draw)
kernel(rd.order_draw_op, lambda generator, after: generator)


declare(OPAQUE, rd.draw_op)
declare(OPAQUE._replace(alias=Alias.VIEW), rd.order_draw_op)
