"""Test of a kernel against NumPy's kernels, at several sizes, before it serves calls."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.tiles import GroupSource
from anyshape.backend.compiler.plan import Group, Literal, Step, masked_else_op, masked_op
from anyshape.errors import AnyshapeError
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size, variables
from anyshape.graph.sizes.substitute import evaluate
from anyshape.ops.core.apply import KERNELS

_TRIALS = (
    (3, 4, 1),
    (1, 3, 2),
    (2, 2, 0),
    (17, 22, 5),
    (9, 9, 0),
    (40, 53, 13),
    (131, 4, 1),
    (75, 60, -50),
    (1100, 60, 0),
)  # the size of the rows, the next one, and the step to each further one
DRAWS = ("normal", "positive", "varied")  # positive operands are in the domain of most functions, and divide
MAX_ELEMENTS = 1 << 20  # of an array of a trial: sizes may be products and powers of variables
_TOLERANCE = {"f": 1e-4, "F": 1e-4, "d": 1e-9, "D": 1e-9}


def disagreement(group: Group, writer: GroupSource, launcher: Callable[..., Any]) -> str:
    """Return how the results of a kernel differ from NumPy's, "" if they do not."""
    tested, single = 0, any(m.dtype.char in "fF" for step in group.steps for m in (*step.metas, *step.results))
    for sizes, draw in itertools.product(_assignments(group, writer), DRAWS):
        arrays = operand_arrays(group, sizes, draw)
        with np.errstate(all="ignore"):
            try:
                expected = _by_numpy(group, arrays, sizes)
            except (ValueError, IndexError, OverflowError):
                continue  # sizes that the plan's conditions exclude, or elements that NumPy refuses
            results = launcher(*arguments_of(writer, arrays, sizes))
        if results is None:
            continue
        wrong = [
            s for s, result in zip(group.escaping, results, strict=True) if not _agree(result, expected[s], single)
        ]
        if not wrong:
            tested += 1
        elif not _magnifies_rounding(group, arrays, sizes, expected, single):
            return f"{wrong[0]} differs from NumPy's at sizes {sorted(sizes.values())}"
    return "" if tested else "no sizes were found at which it could be tested"


def _assignments(group: Group, writer: GroupSource) -> Iterator[Mapping[DimVar, int]]:
    """Yield values of the variables at which no size is negative, and small ones for rows of many elements."""
    symbols = symbols_of(group, writer)
    for first, second, step in _TRIALS:
        further = [max(min(second + step * i, 60), min(second, 3)) for i in range(len(symbols))]
        values = dict(zip(symbols, [first, *further], strict=False))
        if are_possible(group, writer, values):
            yield values


def symbols_of(group: Group, writer: GroupSource) -> list[DimVar]:
    """Return the variables of the sizes of a group, that of the rows first."""
    return list(dict.fromkeys([v for size in _all_sizes(group, writer) for v in variables(size)]))


def are_possible(group: Group, writer: GroupSource, sizes: Mapping[DimVar, int]) -> bool:
    """Return whether arrays can be made at these values of variables.

    All sizes exist, none is negative, the rows agree, and no array is large.
    """
    metas = [m for step in group.steps for m in (*step.metas, *step.results)]
    try:
        if any(size_value(size, sizes) < 0 for size in _all_sizes(group, writer)):
            return False
        return max([math.prod(shape_of(m, sizes)) for m in metas]) <= MAX_ELEMENTS and _rows_agree(group, sizes)
    except (AnyshapeError, ZeroDivisionError):
        return False


def _rows_agree(group: Group, sizes: Mapping[DimVar, int]) -> bool:
    """Return whether operands with the parallel axis have its size: the plan has proved other names of it equal."""
    pairs = zip(group.steps, group.parallel_operands, strict=True)
    rowed = [meta for step, flags in pairs for meta, flag in zip(step.metas, flags, strict=True) if flag]
    return all(shape_of(meta, sizes)[0] == size_value(group.rows, sizes) for meta in rowed)


def _all_sizes(group: Group, writer: GroupSource) -> list[Size]:
    """Return the sizes of the rows, of the arguments, and of the operands and results of a group."""
    metas = [m for step in group.steps for m in (*step.metas, *step.results)]
    sizes = [group.rows, *writer.size_of_local.values(), *[size for meta in metas for size in meta.sizes or ()]]
    return list(dict.fromkeys(sizes))


def size_value(size: Size, sizes: Mapping[DimVar, int]) -> int:
    return evaluate(size, lambda leaf: sizes[leaf])  # type: ignore[index]


def shape_of(meta: TensorMeta, sizes: Mapping[DimVar, int]) -> tuple[int, ...]:
    return tuple([size_value(size, sizes) for size in meta.sizes or ()])


def arguments_of(writer: GroupSource, arrays: Mapping[str, np.ndarray], sizes: Mapping[DimVar, int]) -> list[Any]:
    """Return the arguments of the function of a group."""
    locals_ = [size_value(writer.size_of_local[local], sizes) for local in writer.sizes]
    return [size_value(writer.group.rows, sizes), *[arrays[s] for s in writer.read], *locals_]


def _operands(group: Group) -> dict[str, TensorMeta]:
    made = {slot for step in group.steps for slot in step.outputs}
    pairs = [pair for step in group.steps for pair in zip(step.inputs, step.metas, strict=True)]
    return {slot: meta for slot, meta in pairs if isinstance(slot, str) and slot not in made}


def operand_arrays(group: Group, sizes: Mapping[DimVar, int], draw: str) -> dict[str, np.ndarray]:
    """Return operands with random elements of a kind of `DRAWS`."""
    rng = np.random.default_rng(0)
    arrays = {slot: _random(rng, meta.dtype, shape_of(meta, sizes), draw) for slot, meta in _operands(group).items()}
    for step in group.steps:
        if step.op in (masked_op, masked_else_op):
            _put_bits(step, arrays, rng)
    return arrays


def _put_bits(step: Step, arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    """Replace operands of a choice by bits: a mask has all bits or none, and the rest is a number where it has none."""
    mask, *rest = [str(slot) for slot in step.inputs[1:]]
    if mask not in arrays:
        return
    bits = arrays[mask] = -np.asarray(rng.integers(0, 2, arrays[mask].shape)).astype(arrays[mask].dtype)
    for slot in rest:
        if slot in arrays:
            number = np.ones((), step.results[0].dtype).view(bits.dtype)
            arrays[slot] = ~bits & number if arrays[slot].shape == bits.shape else np.zeros_like(arrays[slot])


def _random(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...], draw: str) -> np.ndarray:
    if dtype.kind == "c":
        parts = [_floats(rng, shape, draw) for _ in range(2)]
        return np.stack(parts, -1).view(complex)[..., 0].astype(dtype)  # a product with 1j makes NaN beside infinity
    if dtype.kind == "f":
        return _floats(rng, shape, draw).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), bool)
    least = 1 if draw == "positive" else -3 if dtype.kind == "i" else 0
    numbers = np.asarray(rng.integers(least, 4, shape)).astype(dtype)
    info = np.iinfo(dtype)
    return _some_replaced(rng, numbers, [info.min, info.max, info.max // 3]) if draw == "varied" else numbers


def _floats(rng: np.random.Generator, shape: tuple[int, ...], draw: str) -> np.ndarray:
    """Return floats. Varied ones have several magnitudes and ties, and one of twenty is infinite or NaN."""
    if draw == "positive":
        return np.asarray(rng.uniform(0.1, 0.9, shape))
    numbers = np.asarray(rng.normal(size=shape))
    if draw == "normal":
        return numbers
    numbers = np.round(2 * numbers) * 10.0 ** rng.integers(-3, 4, shape)
    return _some_replaced(rng, numbers + 0.0, [np.nan, np.inf, -np.inf])  # signs of zeros in ties are by position


def _some_replaced(rng: np.random.Generator, x: np.ndarray, values: Sequence[Any]) -> np.ndarray:
    """Return an array with one of the values in place of each twentieth element."""
    return np.where(rng.integers(0, 20, x.shape) == 0, rng.choice(np.array(values, x.dtype), x.shape), x)


def _by_numpy(
    group: Group,
    arrays: Mapping[str, np.ndarray],
    sizes: Mapping[DimVar, int],
    rounded: Callable[[Any], Any] = lambda x: x,
) -> dict[str, Any]:
    """Return the results of the steps, one by one; `rounded` is applied to each operand and result."""
    values: dict[str, Any] = {slot: rounded(x) for slot, x in arrays.items()}
    resolve = lambda param: resolved(param, sizes)
    for step in group.steps:
        operands = [s.array() if isinstance(s, Literal) else values[s] for s in step.inputs]
        params = {name: resolve(param) for name, param in step.params}
        result = values[step.outputs[0]] = rounded(KERNELS[step.op].run(*operands, **params))
        if np.shape(result) != shape_of(step.results[0], sizes):
            raise ValueError("sizes that broadcast otherwise than the plan does")
    return values


def _magnifies_rounding(
    group: Group,
    arrays: Mapping[str, np.ndarray],
    sizes: Mapping[DimVar, int],
    expected: Mapping[str, Any],
    single: bool,
) -> bool:
    """Return whether NumPy's own results differ as much where values differ by some units in the last place.

    Such a trial says nothing. A remainder of a large number, the sign of a difference, and the sum of what was centred
    are only rounding.
    """
    rng, factor = np.random.default_rng(1), 1e-6 if single else 1e-13

    def rounded(x):
        x = np.asarray(x)
        return (x * (1 + factor * rng.uniform(-1, 1, x.shape))).astype(x.dtype) if x.dtype.kind in "fc" else x

    with np.errstate(all="ignore"):
        results = _by_numpy(group, arrays, sizes, rounded)
    return not all(_agree(results[slot], expected[slot], single) for slot in group.escaping)


def resolved(param: Any, sizes: Mapping[DimVar, int]) -> Any:
    if isinstance(param, DimExpr):
        return size_value(param, sizes)
    return tuple([resolved(p, sizes) for p in param]) if isinstance(param, tuple) else param


def _agree(result, expected, single: bool) -> bool:
    """Return whether results have one shape and dtype, and values within what sums in another order differ by.

    A group that computes in single precision anywhere is as exact as that.
    """
    result, expected = np.asarray(result), np.asarray(expected)
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return False
    char = {"f": "f", "c": "F"}.get(result.dtype.kind, "") if single else ""
    tolerance = _TOLERANCE.get(char or result.dtype.char, 0.0)
    finite = expected[np.isfinite(expected)] if result.dtype.kind in "fc" else expected
    scale = float(np.max(np.abs(finite))) if tolerance and finite.size else 0.0
    near = lambda x, y: np.allclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=tolerance > 0)
    return all(map(near, _parts(result), _parts(expected)))


def _parts(x: np.ndarray) -> list[np.ndarray]:
    """Return the parts of complex numbers, both NaN where one is: beside an infinite part, the other one is rounded."""
    return [np.where(np.isnan(x), np.nan, part) for part in (x.real, x.imag)] if x.dtype.kind == "c" else [x]
