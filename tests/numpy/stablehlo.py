"""Reference implementations of StableHLO's gather and scatter, one index vector and element at a time."""

import itertools

import numpy as np

KINDS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


class Numbers:
    """Dimension numbers of a gather or scatter, with the arrays they are about."""

    def __init__(self, numbers, operand, indices, rank):
        self.offset, self.collapsed, self.starts, self.vector, self.operand_batch, self.indices_batch = numbers
        self.operand, self.indices = operand, indices
        self.window_axes = [a for a in range(operand.ndim) if a not in (*self.collapsed, *self.operand_batch)]
        self.batch_axes = [d for d in range(rank) if d not in self.offset]  # of the result or the updates

    def index_vector(self, position):
        """Return the index vector at a position among the other axes of the indices."""
        if self.vector == self.indices.ndim:
            return [int(self.indices[position])]
        count = self.indices.shape[self.vector]
        return [int(self.indices[(*position[: self.vector], k, *position[self.vector :])]) for k in range(count)]

    def window_start(self, position):
        """Return the first element of a window: its index vector, and its position along batching axes."""
        start = [0] * self.operand.ndim
        for axis, index in zip(self.starts, self.index_vector(position), strict=True):
            start[axis] = index
        for axis, batch in zip(self.operand_batch, self.indices_batch, strict=True):
            start[axis] = position[batch - (self.vector < batch)]
        return start

    def element(self, index, sizes, mode):
        """Return the element of the operand for an index of the result or the updates; None if it is out of range."""
        start = self.window_start(tuple(index[d] for d in self.batch_axes))
        ends = [n - size for n, size in zip(self.operand.shape, sizes, strict=True)]
        if mode == "clip":
            start = [min(max(s, 0), ends[a]) if a in self.starts else s for a, s in enumerate(start)]
        if not all(0 <= start[a] <= ends[a] for a in self.starts):
            if mode == "error":
                raise IndexError(start)
            return None
        for d, axis in zip(self.offset, self.window_axes, strict=True):
            start[axis] += index[d]
        return tuple(start)


def batch_shape(indices, vector):
    """Return the shape of the indices without the axis of index vectors."""
    return [n for axis, n in enumerate(indices.shape) if axis != vector]


def gather(operand, indices, *, numbers, sizes, mode="error", fill=0):
    """Return the windows of the operand that the indices name."""
    outer = batch_shape(indices, numbers[3])
    named = Numbers(numbers, operand, indices, len(outer) + len(numbers[0]))
    shape = [0] * (len(outer) + len(named.offset))
    for d, n in zip(named.batch_axes, outer, strict=True):
        shape[d] = n
    for d, axis in zip(named.offset, named.window_axes, strict=True):
        shape[d] = sizes[axis]
    result = np.empty(shape, operand.dtype)
    for index in itertools.product(*map(range, shape)):
        element = named.element(index, sizes, mode)
        result[index] = fill if element is None else operand[element]
    return result


def scatter(operand, indices, updates, *, numbers, kind="add", mode="error", written=None):
    """Return the operand with the updates combined into the windows that the indices name.

    `written` collects, for each element of the operand, the updates that it gets, in order.
    """
    named = Numbers(numbers, operand, indices, updates.ndim)
    sizes = [1] * operand.ndim
    for d, axis in zip(named.offset, named.window_axes, strict=True):
        sizes[axis] = updates.shape[d]
    order = (*named.batch_axes, *named.offset)
    result = operand.copy()
    for index in sorted(np.ndindex(*updates.shape), key=lambda index: [index[d] for d in order]):
        element = named.element(index, sizes, mode)
        if element is None:
            continue
        result[element] = updates[index] if kind == "set" else KINDS[kind](result[element], updates[index])
        if written is not None:
            written.setdefault(element, []).append(index)
    return result


def random_case(rng):
    """Return (operand, indices, numbers, sizes); indices lie up to two positions beyond the ends."""
    rank = int(rng.integers(1, 5))
    shape = [int(n) for n in rng.choice([1, 2, 3, 5], rank)]
    roles = rng.choice(["batch", "collapsed", "window", "window"], rank)
    operand_batch, collapsed, windows = (_axes_of(roles, role) for role in ("batch", "collapsed", "window"))
    sizes = [_window_size(rng, shape[a], a in windows) for a in range(rank)]
    starts = [int(a) for a in rng.permutation([*collapsed, *windows]) if rng.random() < 0.7]
    outer = [shape[a] for a in operand_batch] + [int(n) for n in rng.choice([0, 1, 2, 3], int(rng.integers(0, 3)))]
    vector, indices_batch, lengths = _index_layout(rng, outer, len(starts), len(operand_batch))
    indices = rng.integers(-2, 7, lengths)
    offset = sorted(int(d) for d in rng.permutation(len(outer) + len(windows))[: len(windows)])
    numbers = (offset, collapsed, starts, vector, operand_batch, indices_batch)
    return np.asarray(rng.normal(size=shape)), np.asarray(indices), tuple(map(_frozen, numbers)), tuple(sizes)


def _index_layout(rng, outer, start_count, batch_count):
    """Return the axis of index vectors, the batching axes and the shape of the indices."""
    order = [int(i) for i in rng.permutation(len(outer))]  # from axes of the indices without vectors to axes of `outer`
    vector = int(rng.integers(0, len(outer) + 1))
    indices_batch = [order.index(k) for k in range(batch_count)]
    lengths = [outer[k] for k in order]
    if start_count == 1 and rng.random() < 0.5:
        return len(outer), indices_batch, lengths
    return vector, [b + (b >= vector) for b in indices_batch], [*lengths[:vector], start_count, *lengths[vector:]]


def _axes_of(roles, role):
    return [axis for axis, own in enumerate(roles) if own == role]


def _window_size(rng, size, in_window):
    """Return the size of a window along an axis: at random for some axes that windows lie along, 1 for others."""
    if not in_window:
        return 1
    return int(rng.integers(0, size + 1)) if rng.random() < 0.6 else size


def within(rng, operand, indices, numbers, sizes):
    """Return the indices moved into range."""
    starts, vector = numbers[2], numbers[3]
    moved = np.array(indices)
    for k, axis in enumerate(starts):
        part = moved if vector == indices.ndim else np.moveaxis(moved, vector, 0)[k, ...]
        part[...] = rng.integers(0, operand.shape[axis] - sizes[axis] + 1, part.shape)
    return moved


def _frozen(x):
    return tuple(x) if isinstance(x, list) else x
