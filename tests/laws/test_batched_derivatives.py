"""Batch derivatives: `vmap(jvp(f))` and `vmap(vjp(f))` equal a loop over examples, for every sample.

A rule that is right alone can be wrong inside of another transform. Only derivatives of broadcasts use the batching
rule of `sum_to`, so `vmap` of samples never runs it.
"""

import zlib

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from tests.laws.sweep import (
    cases,
    check_equal,
    few_combinations,
    in_gate,
    is_error,
    label,
    leaves,
    outcome,
    programs_of,
    pull_back,
    split,
    uneven,
)
from tests.laws.test_sample_sweep import WIDE, stacked

CASES = [c for c in cases(WIDE) if c[1].grad is True and c[1].vmap and c[1].shapes]
EXAMPLES = (3, 1, 2, 0)
# Which of primals, other arguments, and tangents or cotangents carry the batch
IN_AXES = {"everything": (0, 0, 0), "directions": (None, None, 0), "primals": (0, 0, None)}
MODES = ("everything", "directions")  # each row is tried in one of them, by one check


def jvp_of(f):
    """Return `(moving, rest, tangents) -> tangents of the results`."""
    return lambda m, r, t: anyshape.jvp(lambda *xs: f(xs, r), tuple(m), tuple(t))[1]


def vjp_of(f):
    """Return `(moving, rest, cotangents) -> cotangents of the arguments`."""
    return lambda m, r, w: pull_back(f, m, r, w)


def examples_of(row, f, sizes, dtype, count):
    """Examples as `(moving, rest, results)`; None where NumPy raises or results differ in shape."""
    _, arrays, one = stacked(row, sizes, dtype, (0,) * len(row.shapes), count)
    batch = []
    for xs in [one, *arrays]:
        moving, rest = f.parts([np.asarray(x) for x in xs])
        results = outcome(split(row, xs, np).function, moving, rest)
        if is_error(results) or not results or not moving:
            return None
        batch.append((moving, rest, results))
    shapes = {tuple(y.shape for y in results) for _, _, results in batch}
    return batch if len(shapes) == 1 else None


def stack(trees, like, batched):
    """Stack lists of arrays by position, or take the first list where it is shared."""
    if not batched:
        return like
    return [np.stack(xs) if xs else np.empty((0, *x.shape), x.dtype) for *xs, x in zip(*trees, like, strict=True)]


def arguments_of(examples, like, in_axes):
    """Return the arguments of the batched call and of each call of the loop."""
    parts = [[e[i] if axis == 0 else like[i] for e in examples] for i, axis in enumerate(in_axes)]
    batched = [stack(parts[i], like[i], axis == 0) for i, axis in enumerate(in_axes)]
    return batched, list(zip(*parts, strict=True))


def check_derivative(derivative_of, single, directions_like, case, in_axes):
    """Compare one batched program with a loop over examples, at several sizes and numbers of examples."""
    _, row, dtype = case
    mapped = None
    rng = np.random.default_rng(5)
    for sizes, count in zip(few_combinations(row), EXAMPLES, strict=False):
        f = split(row, [np.asarray(x) for x in row.arrays(sizes, dtype, 1)], anp)
        batch = examples_of(row, f, sizes, dtype, count)
        if batch is None:
            continue
        mapped = mapped or anyshape.jit(anyshape.vmap(derivative_of(f.function), in_axes=in_axes))
        first, *examples = [(m, r, [uneven(rng, d) for d in directions_like(m, y)]) for m, r, y in batch]
        batched, loop = arguments_of(examples, first, in_axes)
        expected = stack([leaves(single(*one)) for one in loop], leaves(single(*first)), True)
        note = f"{row.name} at {sizes}, {count} examples"
        check_equal(leaves(mapped(*batched)), expected, max(row.tolerance, 1e-9), note)
    if mapped is not None and "retraces" not in row.tags:
        assert mapped.cache_info().traces == 1


def sweep(turn):
    """Every case in every mode. Not slow is one mode of a third of the rows, for one dtype, in one of the two checks.

    A batch of directions alone, as in a Jacobian, meets the rules that a batch of everything meets least.
    """
    parameters = []
    for case in CASES:
        _, row, dtype = case
        dtypes = [d for d in row.dtypes if d in WIDE]
        number = zlib.crc32(row.name.encode()) + turn
        chosen = MODES[number // 2 % 2] if number % 2 else ""
        is_chosen_dtype = dtype == dtypes[number // 4 % len(dtypes)]
        is_tried = is_chosen_dtype and in_gate("batched derivatives", case, one_in=8)
        for batched in IN_AXES:
            marks = () if batched == chosen and is_tried else pytest.mark.slow
            parameters.append(pytest.param(case, batched, marks=marks, id=f"{batched}-{label(case)}"))
    return pytest.mark.parametrize(("case", "batched"), parameters)


@sweep(0)
def test_vmap_of_jvp_equals_a_loop(case, batched):
    forward = programs_of(case).forward
    check_derivative(jvp_of, lambda *args: forward(*args)[1], lambda moving, results: moving, case, IN_AXES[batched])


@sweep(1)
def test_vmap_of_vjp_equals_a_loop(case, batched):
    check_derivative(vjp_of, programs_of(case).back, lambda moving, results: results, case, IN_AXES[batched])
