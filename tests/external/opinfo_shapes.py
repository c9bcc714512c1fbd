"""Counterparts of PyTorch's operators that move, pick or sort elements, for `tests.external.opinfo`."""

import math

import numpy

import anyshape.numpy as np
import anyshape.scipy.linalg as sla
from tests.external.opinfo_helpers import named, of_list, of_list_or_array, skip

# -- shapes


def split(x, size, axis=0):
    """Split into parts of a size, or of sizes."""
    sizes = [size] * math.ceil(x.shape[axis] / size) if isinstance(size, int) else list(size)
    return np.split(x, list(numpy.cumsum(sizes))[:-1], axis)


def flatten(x, start_dim=0, end_dim=-1):
    """Merge the axes from one to another."""
    start, end = start_dim % max(x.ndim, 1), end_dim % max(x.ndim, 1)
    return np.reshape(x, (*x.shape[:start], -1, *x.shape[end + 1 :]))


def repeat_interleave(x, repeats, axis=None, output_size=None):
    """Repeat the elements."""
    return np.repeat(x, repeats, axis)


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    """Put the last axis on the diagonals of matrices."""
    size = x.shape[-1] + abs(offset)
    rows = numpy.arange(x.shape[-1]) + max(-offset, 0)
    matrix = np.zeros((*x.shape[:-1], size, size), x.dtype).at[..., rows, rows + offset].set(x)
    return np.moveaxis(matrix, (-2, -1), (dim1, dim2))


def roll(x, shifts, axis=None):
    """Roll along axes."""
    return np.roll(x, shifts, axis)


def rot90(x, k=1, dims=(0, 1)):
    """Rotate in a plane."""
    return np.rot90(x, k, tuple(dims))


def expand(x, *shape):
    """Broadcast to a shape, where -1 keeps a size."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    own = (None,) * (len(shape) - x.ndim) + tuple(x.shape)
    return np.broadcast_to(x, tuple(o if n == -1 else n for n, o in zip(shape, own, strict=True)))


def as_strided(x, size, stride, storage_offset=0):
    """View the elements with strides."""
    flat = np.ravel(x)[storage_offset:]
    return np.lib.stride_tricks.as_strided(flat, size, [s * flat.dtype.itemsize for s in stride])


def squeeze(x, axis=None):
    """Drop axes of size 1."""
    axes = (axis,) if isinstance(axis, int) else axis or ()
    skip(not x.ndim or any(int(x.shape[k]) != 1 for k in axes), "an axis of another size stays")
    return np.squeeze(x, axis)


def concatenate(xs, axis=0):
    """Join arrays; PyTorch leaves out vectors without elements."""
    skip(any(x.ndim != xs[0].ndim for x in xs), "arrays of other ranks")
    return np.concatenate(xs, axis)


SHAPES = {
    **{name: of_list_or_array(getattr(np, name)) for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
    **named(np, "broadcast_to fliplr flipud ravel tril triu trace"),
    **named(np, "hsplit vsplit dsplit kron"),
    "diagflat": lambda x, offset=0: np.diagflat(x, offset),
    "argwhere": np.argwhere,
    **{name: of_list(getattr(np, name)) for name in ("hstack", "vstack", "dstack", "column_stack")},
    "meshgrid": lambda *xs, indexing: np.meshgrid(*(xs[0] if isinstance(xs[0], list) else xs), indexing=indexing),
    "T": lambda x: np.transpose(x),
    "t": lambda x: np.transpose(x),
    "mT": np.matrix_transpose,
    "permute": lambda x, *axes: np.transpose(x, axes[0] if isinstance(axes[0], (tuple, list)) else axes),
    "reshape": np.reshape,
    "view": np.reshape,
    "flatten": flatten,
    "flip": lambda x, dims: np.flip(x, dims),
    "roll": roll,
    "rot90": rot90,
    "movedim": np.moveaxis,
    "transpose": lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else skip(True, "no axis"),
    "squeeze": squeeze,
    "unsqueeze": np.expand_dims,
    "expand": expand,
    "broadcast_tensors": lambda *xs: np.broadcast_arrays(*xs),
    "cat": concatenate,
    "stack": lambda xs, axis=0: np.stack(xs, axis),
    "tile": np.tile,
    "repeat": lambda x, *reps: np.tile(x, reps[0] if reps and isinstance(reps[0], (tuple, list)) else reps),
    "repeat_interleave": repeat_interleave,
    "split": split,
    "tensor_split": lambda x, parts, axis=0: np.array_split(
        x, [int(p) for p in parts] if numpy.ndim(parts) else int(parts), axis
    ),
    "unbind": lambda x, axis=0: np.unstack(x, axis=axis),
    "diag": np.diag,
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    "linalg.diagonal": lambda x, offset=0, dim1=-2, dim2=-1: np.diagonal(x, offset, dim1, dim2),
    "diag_embed": diag_embed,
    "as_strided": as_strided,
    "block_diag": lambda *xs: sla.block_diag(*xs),
    "nn.functional.pad": lambda x, pad, mode="constant", value=None: pads(x, pad, mode, value),
    "constant_pad_nd": lambda x, pad, value=0: pads(x, pad, "constant", value),
    "clone": np.copy,
    "slice": lambda x, axis=0, start=None, end=None, step=1: x[(slice(None),) * axis + (slice(start, end, step),)],
    "select": lambda x, axis, index: np.take(x, index, axis),
    "narrow": lambda x, axis, start, length: np.take(x, range_of(start, length), axis),
    "full_like": lambda x, value, **options: np.full_like(x, value),
    "zeros_like": lambda x, **options: np.zeros_like(x),
    "ones_like": lambda x, **options: np.ones_like(x),
}
SHAPES["unfold"] = lambda x, axis, size, step: unfold(x, axis, size, step)


def unfold(x, axis, size, step):
    """Return windows along an axis."""
    skip(x.ndim == 0, "no axis")
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    return windows[(slice(None),) * (axis % x.ndim) + (slice(None, None, step),)]


def range_of(start, length):
    """Return positions."""
    return numpy.arange(int(start), int(start) + length)


def pads(x, pad, mode, value):
    """Pad the last axes."""
    skip(min(pad, default=0) < 0, "negative padding")
    pairs = [tuple(pad[k : k + 2]) for k in range(0, len(pad), 2)][::-1]
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    return np.pad(x, widths, kind, **({"constant_values": value or 0} if kind == "constant" else {}))


# -- indexing and sorting


def sort(x, axis=-1, descending=False, stable=False):
    """Return sorted values; positions differ among ties."""
    if x.ndim == 0:
        return x
    return np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis)


def gather(x, axis, index):
    """Take along an axis, where the index may be shorter along the others."""
    skip(x.ndim == 0 or index.ndim != x.ndim, "no axis, or an index without elements of another rank")
    part = tuple(slice(None) if k == axis % x.ndim else slice(n) for k, n in enumerate(index.shape))
    return np.take_along_axis(x[part], index, axis)


def scatter_add(x, axis, index, source):
    """Add along an axis at positions."""
    skip(x.ndim == 0 or index.ndim == 0, "no axis")
    grids = list(numpy.indices(index.shape))
    grids[axis] = index
    return np.asarray(x).at[tuple(grids)].add(source[tuple(slice(n) for n in index.shape)])


def index_add(x, axis, index, source, alpha=1):
    """Add slices at positions."""
    skip(x.ndim == 0, "no axis")
    return np.asarray(x).at[(slice(None),) * (axis % x.ndim) + (index,)].add(alpha * source)


def topk(x, k, axis=-1, largest=True, ordered=True):
    """Return the greatest values."""
    skip(x.ndim == 0 or not ordered, "no axis, or no order")
    ascending = np.sort(x, axis)
    ordered = np.flip(ascending, axis) if largest else ascending
    return np.take(ordered, numpy.arange(k), axis)


def kthvalue(x, k, axis=-1, keepdims=False):
    """Return the k-th smallest value."""
    skip(x.ndim == 0, "no axis")
    value = np.take(np.sort(x, axis), k - 1, axis)
    return np.expand_dims(value, axis) if keepdims else value


INDEXING = {
    "nonzero": lambda x, as_tuple=True: np.nonzero(x) if as_tuple else np.argwhere(x),
    "__getitem__": lambda x, index: x[index],
    "take": lambda x, index: np.take(x, index),
    "take_along_dim": lambda x, index, axis=None: np.take_along_axis(
        np.ravel(x) if axis is None else x, np.ravel(index) if axis is None else index, axis or 0
    ),
    "gather": gather,
    "index_select": lambda x, axis, index: np.take(x, index, axis) if x.ndim else skip(True, "no axis"),
    "index_add": index_add,
    "scatter_add": scatter_add,
    "index_put": lambda x, index, value, accumulate=False: getattr(
        np.asarray(x).at[index], "add" if accumulate else "set"
    )(value),
    "sort": sort,
    "msort": lambda x: np.sort(x, 0) if x.ndim else skip(True, "no axis"),
    "topk": topk,
    "kthvalue": kthvalue,
    "bucketize": lambda x, bounds, out_int32=False, right=False: np.searchsorted(
        bounds, x, "right" if right else "left"
    ),
    "isin": lambda x, y, assume_unique=False, invert=False: np.isin(x, y, invert=invert),
    "bincount": lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength),
}
INDEXING["searchsorted"] = lambda t, x, out_int32=False, right=False, side=None, sorter=None: searchsorted(
    t, x, right, side, sorter
)


def searchsorted(t, x, right, side, sorter):
    """Return positions in sorted values."""
    skip(t.ndim > 1, "batches of tables")
    return np.searchsorted(t, x, side or ("right" if right else "left"), sorter)
