"""Functions that autograd has under NumPy's and SciPy's names, with arguments of its own, over anyshape."""

import math
import types

import numpy

import anyshape
import anyshape.numpy as anp
from anyshape.graph.ir.builder import Traced


class Overlay(types.ModuleType):
    """Module with some names of its own, and the rest of another one."""

    def __init__(self, name, module, **members):
        super().__init__(name)
        self.__path__ = []
        self.__dict__.update(members)
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


def has_arrays(value):
    """Return whether a value is an array, or a list that holds one."""
    if isinstance(value, (list, tuple)):
        return any(has_arrays(item) for item in value)
    return isinstance(value, (Traced, numpy.ndarray, numpy.generic))


def where(condition, x=None, y=None):
    """Return a choice; of plain values a plain value."""
    if x is None and y is None:
        return anp.where(condition)
    chosen = anp.where(condition, x, y)
    return chosen if has_arrays([condition, x, y]) else chosen.tolist()


def make_diagonal(D, offset=0, axis1=0, axis2=1):
    """Return matrices with the last axis on their diagonals."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("offset=0, axis1=-1, axis2=-2 only, as in autograd")
    return D[..., None] * anp.eye(anp.shape(D)[-1])


def integer_type(kind):
    """Return a type of integers that also converts traced arrays."""

    class Converted(kind):
        """Integers of a kind."""

        def __new__(cls, value=0):
            """Return an array or number of the kind."""
            return anp.asarray(value).astype(kind)

    return Converted


class Operand:
    """Array with its axes ordered as (alone, summed, convolved), and these merged into (alone, summed, ...)."""

    def __init__(self, x, chosen, summed):
        used = [k % x.ndim for k in (*chosen, *summed)]
        alone = [k for k in range(x.ndim) if k not in used]
        ordered = anp.transpose(x, (*alone, *summed, *chosen))
        middle = len(alone) + len(summed)
        self.lead, self.spatial = ordered.shape[: len(alone)], ordered.shape[middle:]
        merged = math.prod(self.lead), math.prod(ordered.shape[len(alone) : middle]), *self.spatial
        self.array = anp.reshape(ordered, merged)

    def fits(self, other):
        """Return whether the other one is no longer along any axis."""
        return all(int(k) <= int(n) for n, k in zip(self.spatial, other.spatial, strict=True))


def margins(n, k, mode):
    """Return the padding of one axis."""
    return {"valid": (0, 0), "full": (k - 1, k - 1), "same": (k - 1 - (k - 1) // 2, (k - 1) // 2)}[mode]


def convolve(A, B, axes=None, dot_axes=None, mode="full"):
    """Return the convolution along pairs of axes, summed over further pairs.

    The axes of the result are those that A has alone, those that B has alone, and the convolved ones.
    """
    A, B = anp.asarray(A), anp.asarray(B)
    axes = axes or (list(range(A.ndim)), list(range(A.ndim)))
    dots = dot_axes or ([], [])
    first, second = Operand(A, axes[0], dots[0]), Operand(B, axes[1], dots[1])
    rank = len(axes[0])
    if mode != "valid" or first.fits(second):
        out = _slide(first.array, second.array, rank, mode)
    elif second.fits(first):
        out = anp.swapaxes(_slide(second.array, first.array, rank, mode), 0, 1)
    else:
        raise ValueError("one array must be larger than the other along all convolved axes")
    return anp.reshape(out, (*first.lead, *second.lead, *out.shape[2:]))


def _slide(images, kernels, rank, mode):
    if rank == 0:
        return images @ kernels.T
    pads = [margins(int(n), int(k), mode) for n, k in zip(images.shape[2:], kernels.shape[2:], strict=True)]
    flipped = anp.flip(kernels, tuple(range(2, rank + 2)))
    return anyshape.conv_general_dilated(images, flipped, (1,) * rank, pads)


def linear_algebra():
    """Return `numpy.linalg` with the helpers that autograd's tests take from it."""
    dot = lambda x, y: anp.einsum("...ij,...jk->...ik", x, y)
    return Overlay("autograd.numpy.linalg", anp.linalg, _dot=dot, T=anp.matrix_transpose)


def numpy_names():
    """Return `autograd.numpy`."""
    integers = {name: integer_type(getattr(numpy, name)) for name in ("int8", "int16", "int32", "int64")}
    return Overlay("autograd.numpy", anp, where=where, make_diagonal=make_diagonal, linalg=linear_algebra(), **integers)


def message_of(error):
    """Return the text that autograd's check gives for an error of ours."""
    head = str(error).partition(" (mode ")[0]
    kind, _, name = head.partition(" of ")
    return f"({kind.upper()}) check of {name.replace(' of ', '_')} failed: {error}"


def deprecated(primitive):
    """Return `primitive` with the older ways to give rules."""

    class Function(primitive):
        """Function with a derivative rule."""

        def _put(self, maker, argnum):
            missing = (None,) * (argnum + 1 - len(self.makers))
            makers = [*self.makers, *missing]
            makers[argnum] = maker
            self.makers = tuple(makers)

        def defgrad(self, maker, argnum=0):
            """Take a rule of one argument."""
            self._put(maker, argnum)

        def defvjp(self, rule, argnum=0):
            """Take a rule of one argument, with the spaces of the result and the arguments."""
            self._put(lambda ans, *args: lambda g: rule(g, ans, None, None, *args), argnum)

        def defvjp_is_zero(self, argnums=(0,)):
            """Take the arguments without derivative."""
            for argnum in argnums:
                self._put(lambda ans, *args, argnum=argnum: lambda g: 0.0 * args[argnum], argnum)

    return Function
