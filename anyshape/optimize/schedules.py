"""Schedules: functions from the number of a step to a rate, for optimisers of training loops.

The number is a Python int, an integer array or a traced value. The rate is a float or a scalar.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError

Schedule = Callable[[Any], Any]


def constant_schedule(value: float) -> Schedule:
    """Return the schedule that is `value` at each step.

    >>> constant_schedule(0.1)(7)
    0.1
    """
    return lambda count: value


def linear_schedule(init_value: float, end_value: float, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """Return the schedule that goes straight from one value to another, within so many steps after the first ones.

    >>> linear = linear_schedule(1.0, 0.0, 4)
    >>> [float(linear(count)) for count in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]
    """
    _require_positive("linear_schedule", "transition_steps", transition_steps)
    return lambda count: init_value + (end_value - init_value) * _share(count, transition_begin, transition_steps)


def exponential_decay(
    init_value: float,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """Return the schedule `init_value * decay_rate ** (count / transition_steps)`.

    - `transition_begin`: steps before the decay begins.
    - `staircase`: whole powers alone, so the rate falls once in `transition_steps`.
    - `end_value`: where the rate stays once it is reached.

    >>> decay = exponential_decay(1.0, 10, 0.5)
    >>> [round(float(decay(count)), 3) for count in (0, 10, 15)]
    [1.0, 0.5, 0.354]
    """
    _require_positive("exponential_decay", "transition_steps", transition_steps)

    def schedule(count):
        power = np.maximum(count - transition_begin, 0) / transition_steps
        rate = init_value * decay_rate ** (np.floor(power) if staircase else power)
        if end_value is None:
            return rate
        return np.maximum(rate, end_value) if decay_rate < 1 else np.minimum(rate, end_value)

    return schedule


def cosine_decay_schedule(init_value: float, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0) -> Schedule:
    """Return the schedule that falls along half a cosine to `alpha * init_value` (Loshchilov and Hutter, 2017).

    >>> cosine = cosine_decay_schedule(1.0, 10)
    >>> [round(float(cosine(count)), 3) for count in (0, 5, 10, 20)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _require_positive("cosine_decay_schedule", "decay_steps", decay_steps)

    def schedule(count):
        half = 0.5 * (1 + np.cos(np.pi * np.minimum(count, decay_steps) / decay_steps))
        return init_value * ((1 - alpha) * half**exponent + alpha)

    return schedule


def warmup_cosine_decay_schedule(
    init_value: float, peak_value: float, warmup_steps: int, decay_steps: int, end_value: float = 0.0
) -> Schedule:
    """Return the schedule that rises straight to a peak, then falls along half a cosine.

    `decay_steps` counts all steps, also during the rise.

    >>> warm = warmup_cosine_decay_schedule(0.0, 1.0, 2, 10)
    >>> [round(float(warm(count)), 3) for count in (0, 1, 2, 6, 10)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    _require_positive("warmup_cosine_decay_schedule", "decay_steps - warmup_steps", decay_steps - warmup_steps)
    alpha = end_value / peak_value if peak_value else 0.0
    decay = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha)
    if not warmup_steps:
        return decay
    return join_schedules([linear_schedule(init_value, peak_value, warmup_steps), decay], [warmup_steps])


def piecewise_constant_schedule(init_value: float, boundaries_and_scales: dict[int, float]) -> Schedule:
    """Return the schedule that is multiplied by a factor from each of these steps on.

    >>> steps = piecewise_constant_schedule(1.0, {2: 0.5, 4: 0.1})
    >>> [round(float(steps(count)), 3) for count in (0, 2, 3, 5)]
    [1.0, 0.5, 0.5, 0.05]
    """

    def schedule(count):
        rate: Any = init_value
        for boundary, factor in sorted(boundaries_and_scales.items()):
            rate = rate * np.where(count >= boundary, factor, 1.0)
        return rate

    return schedule


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Return the schedule that goes on with the next one from each boundary on. Each begins to count there.

    >>> joined = join_schedules([constant_schedule(1.0), linear_schedule(1.0, 0.0, 2)], [3])
    >>> [float(joined(count)) for count in (0, 3, 4, 5)]
    [1.0, 1.0, 0.5, 0.0]
    """
    if len(schedules) != len(boundaries) + 1:
        problem = f"has {len(boundaries)} steps for {len(schedules)} schedules"
        raise ArgumentError("join_schedules", "boundaries", problem, "give one fewer than schedules")

    def schedule(count):
        rate = schedules[0](count)
        for boundary, later in zip(boundaries, schedules[1:], strict=True):
            rate = np.where(count < boundary, rate, later(count - boundary))
        return rate

    return schedule


def _share(count, begin: int, steps: int):
    """Return how much of a transition is done, from 0 to 1."""
    return np.minimum(np.maximum(count - begin, 0), steps) / steps


def _require_positive(function: str, name: str, value: int) -> None:
    if value <= 0:
        raise ArgumentError(function, name, f"is {value}", "give a positive number of steps")
