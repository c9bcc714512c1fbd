"""gather and scatter as StableHLO's text defines them, one index vector and one element at a time; and random cases."""

import itertools

import numpy as np

KINDS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def vector_at(indices, position, vector):
    """The index vector for a position among the other axes of the indices."""
    if vector == indices.ndim:
        return [int(indices[position])]
    return [int(indices[(*position[:vector], k, *position[vector:])]) for k in range(indices.shape[vector])]


def batch_shape(indices, vector):
    return [n for axis, n in enumerate(indices.shape) if axis != vector]


def full_start(rank, start, starts, position, operand_batch, indices_batch, vector):
    """Where a window starts, and where it lies along batching axes."""
    where = [0] * rank
    for axis, s in zip(starts, start, strict=True):
        where[axis] = s
    for axis, other in zip(operand_batch, indices_batch, strict=True):
        where[axis] = position[other - (vector < other)]
    return where


def in_range(where, sizes, shape, starts):
    return all(0 <= where[a] <= shape[a] - sizes[a] for a in starts)


def clipped(where, sizes, shape, starts):
    return [min(max(w, 0), shape[a] - sizes[a]) if a in starts else w for a, w in enumerate(where)]


def gather(operand, indices, *, numbers, sizes, mode="error", fill=0):
    offset, collapsed, starts, vector, operand_batch, indices_batch = numbers
    kept = [a for a in range(operand.ndim) if a not in (*collapsed, *operand_batch)]
    outer = batch_shape(indices, vector)
    rank = len(outer) + len(offset)
    batch_dims = [d for d in range(rank) if d not in offset]
    shape = [0] * rank
    for d, n in zip(batch_dims, outer, strict=True):
        shape[d] = n
    for d, a in zip(offset, kept, strict=True):
        shape[d] = sizes[a]
    result = np.empty(shape, operand.dtype)
    for index in itertools.product(*map(range, shape)):
        position = tuple(index[d] for d in batch_dims)
        start = vector_at(indices, position, vector)
        where = full_start(operand.ndim, start, starts, position, operand_batch, indices_batch, vector)
        if mode == "clip":
            where = clipped(where, sizes, operand.shape, starts)
        if not in_range(where, sizes, operand.shape, starts):
            if mode == "error":
                raise IndexError(start)
            result[index] = fill
            continue
        for d, a in zip(offset, kept, strict=True):
            where[a] += index[d]
        result[index] = operand[tuple(where)]
    return result


def scatter(operand, indices, updates, *, numbers, kind="add", mode="error", written=None):
    """`written`, if given, collects for each element of the operand the updates that went there, in order."""
    offset, collapsed, starts, vector, operand_batch, indices_batch = numbers
    kept = [a for a in range(operand.ndim) if a not in (*collapsed, *operand_batch)]
    batch_dims = [d for d in range(updates.ndim) if d not in offset]
    sizes = [1] * operand.ndim
    for d, a in zip(offset, kept, strict=True):
        sizes[a] = updates.shape[d]
    result = operand.copy()
    for index in sorted(np.ndindex(*updates.shape), key=lambda index: [index[d] for d in (*batch_dims, *offset)]):
        position = tuple(index[d] for d in batch_dims)
        start = vector_at(indices, position, vector)
        where = full_start(operand.ndim, start, starts, position, operand_batch, indices_batch, vector)
        if mode == "clip":
            where = clipped(where, sizes, operand.shape, starts)
        if not in_range(where, sizes, operand.shape, starts):
            if mode == "error":
                raise IndexError(start)
            continue
        for d, a in zip(offset, kept, strict=True):
            where[a] += index[d]
        at = tuple(where)
        result[at] = updates[index] if kind == "set" else KINDS[kind](result[at], updates[index])
        if written is not None:
            written.setdefault(at, []).append(index)
    return result


def random_case(rng):
    """(operand, indices, numbers, sizes): indices lie up to two places beyond the ends."""
    rank = int(rng.integers(1, 5))
    shape = [int(n) for n in rng.choice([1, 2, 3, 5], rank)]
    roles = rng.choice(["batch", "collapsed", "kept", "kept"], rank)
    operand_batch = [a for a in range(rank) if roles[a] == "batch"]
    collapsed = [a for a in range(rank) if roles[a] == "collapsed"]
    kept = [a for a in range(rank) if roles[a] == "kept"]
    sizes = [int(rng.integers(0, shape[a] + 1)) if a in kept and rng.random() < 0.6 else shape[a] for a in range(rank)]
    sizes = [sizes[a] if a in kept else 1 for a in range(rank)]
    starts = [int(a) for a in rng.permutation([*collapsed, *kept]) if rng.random() < 0.7]
    outer = [shape[a] for a in operand_batch] + [int(n) for n in rng.choice([0, 1, 2, 3], int(rng.integers(0, 3)))]
    order = [int(i) for i in rng.permutation(len(outer))]  # the axis of the indices without vectors -> that of `outer`
    vector = int(rng.integers(0, len(outer) + 1))
    indices_batch = [order.index(k) for k in range(len(operand_batch))]
    lengths = [outer[k] for k in order]
    if len(starts) == 1 and rng.random() < 0.5:
        vector = len(outer)
    else:
        indices_batch = [b + (b >= vector) for b in indices_batch]
        lengths = [*lengths[:vector], len(starts), *lengths[vector:]]
    indices = rng.integers(-2, 7, lengths)
    total = len(outer) + len(kept)
    offset = sorted(int(d) for d in rng.permutation(total)[: len(kept)])
    numbers = (offset, collapsed, starts, vector, operand_batch, indices_batch)
    return np.asarray(rng.normal(size=shape)), np.asarray(indices), tuple(map(_frozen, numbers)), tuple(sizes)


def within(rng, operand, indices, numbers, sizes):
    """The indices moved into range."""
    starts, vector = numbers[2], numbers[3]
    found = np.array(indices)
    for k, axis in enumerate(starts):
        part = found if vector == indices.ndim else np.moveaxis(found, vector, 0)[k, ...]
        part[...] = rng.integers(0, operand.shape[axis] - sizes[axis] + 1, part.shape)
    return found


def _frozen(x):
    return tuple(x) if isinstance(x, list) else x
