"""Functions that autograd has under NumPy's and SciPy's names, with arguments of its own, over anyshape."""

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


def pair_of_axes(ndim, chosen, summed):
    """Return the positions of axes that are neither convolved nor summed."""
    used = [k % ndim for k in (*chosen, *summed)]
    return [k for k in range(ndim) if k not in used]


def margins(n, k, mode):
    """Return the padding of one axis."""
    return {"valid": (0, 0), "full": (k - 1, k - 1), "same": (k - 1 - (k - 1) // 2, (k - 1) // 2)}[mode]


def convolve(A, B, axes=None, dot_axes=None, mode="full"):
    """Return the convolution along pairs of axes, summed over further pairs.

    The axes of the result are those of A alone, those of B alone, and the convolved ones.
    """
    A, B = anp.asarray(A), anp.asarray(B)
    axes = axes or (list(range(A.ndim)), list(range(A.ndim)))
    dots = dot_axes or ([], [])
    alone = [pair_of_axes(x.ndim, axes[j], dots[j]) for j, x in enumerate((A, B))]
    kernel_sizes = [int(B.shape[k]) for k in axes[1]]
    sizes = [int(A.shape[k]) for k in axes[0]]
    swapped = mode == "valid" and any(k > n for n, k in zip(sizes, kernel_sizes, strict=True))
    if swapped and not all(k >= n for n, k in zip(sizes, kernel_sizes, strict=True)):
        raise ValueError("one array must be larger than the other along all convolved axes")
    ordered = [anp.transpose(x, (*alone[j], *dots[j], *axes[j])) for j, x in enumerate((A, B))]
    leads = [x.shape[: len(alone[j])] for j, x in enumerate(ordered)]
    rank = len(axes[0])
    spatial = [x.shape[x.ndim - rank :] for x in ordered]
    images, kernels = (
        anp.reshape(x, (_product(leads[j]), _product(x.shape[len(alone[j]) : x.ndim - rank]), *spatial[j]))
        for j, x in enumerate(ordered)
    )
    if swapped:
        images, kernels = kernels, images
    out = _slide(images, kernels, rank, mode)
    out = anp.swapaxes(out, 0, 1) if swapped else out
    return anp.reshape(out, (*leads[0], *leads[1], *out.shape[2:]))


def _product(sizes):
    total = 1
    for n in sizes:
        total = total * n
    return total


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
