"""Size of a variable at a call, from its binding and the sizes of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.graph.signature.dim_equations import InputSize, SizeBinding
from anyshape.graph.sizes.evaluate import evaluate
from anyshape.graph.sizes.expr import Leaf, RuntimeScalar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.limits import LARGEST_SIZE


def floor_inverse(curve: Callable[[int], int], target: int, low: int, high: Bound = None, guess: int = 0) -> int:
    """Return the last t from `low` to `high` with curve(t) <= target, for a strictly increasing curve; else `low`.

    The number of steps is logarithmic in the distance from the guess. A curve may fail to increase where the sizes that
    it depends on are wrong. The result is then any size.
    """
    start = max(low, guess if high is None else min(guess, high))
    if start > low and curve(start) > target:
        low, high = _bracket_below(curve, target, low, start)
    else:
        low, high = _bracket_above(curve, target, start, high)
    while low < high:
        middle = (low + high + 1) // 2
        if curve(middle) <= target:
            low = middle
        else:
            high = middle - 1
    return low


def _bracket_below(curve: Callable[[int], int], target: int, low: int, start: int) -> tuple[int, int]:
    """Return an interval of the result below `start`, from steps that double."""
    high, step = start - 1, 1
    while start - step > low and curve(start - step) > target:
        high = start - step - 1
        step *= 2
    return max(low, start - step), high


def _bracket_above(curve: Callable[[int], int], target: int, low: int, high: Bound) -> tuple[int, int]:
    """Return an interval of the result from `low` on, from steps that double."""
    step = 1
    while (high is None or low + step <= high) and curve(low + step) <= target:
        low += step
        step *= 2
        if high is None and step > LARGEST_SIZE:
            high = low + max(0, target - curve(low))  # a strictly increasing curve gains at least 1 per step
    return low, low + step - 1 if high is None else max(low, min(low + step - 1, high))


def curve_function(binding: SizeBinding, curve: Size, sizes: Callable[[Leaf], int]) -> Callable[[int], int]:
    """Return the curve of a binding as a function of its variable, where all other sizes are known."""
    return lambda t: evaluate(curve, lambda leaf: t if leaf is binding.variable else sizes(leaf))


def solve_binding(binding: SizeBinding, sizes: Callable[[Leaf], int]) -> int:
    """Return the size of the variable, where the sizes that it depends on are known."""
    target = evaluate(binding.target, sizes)
    if binding.curve is None:
        return target // evaluate(binding.divisor, sizes)
    return floor_inverse(curve_function(binding, binding.curve, sizes), target, binding.low, binding.high)


def read_input(source: InputSize, inputs: Sequence[Any]) -> int:
    """Return the size that a call gives by its inputs, which are arrays or their shapes."""
    x = inputs[source.operand]
    if isinstance(source, RuntimeScalar):
        return int(x)
    return int(getattr(x, "shape", x)[source.axis])
