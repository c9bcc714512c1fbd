"""Check results of libraries against hand-written derivatives, and these against the plain loss.

Each result is compared, element by element, with the hand-written one in float64. The hand-written one is checked
against the plain loss in NumPy, which shares none of its formulas. Its value is compared, and each array of slopes
along a random direction with the complex-step derivative f(x + i h d).imag / h. The complex step subtracts nothing, so
h can be tiny, the derivative is right to all digits, and a single wrong element is seen. The product with a Hessian is
checked with central differences of such derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import erf

from benchmarks.by_hand import BY_HAND
from benchmarks.worker import Failed
from benchmarks.workloads import WORKLOADS, Arguments, Workload, by_shifts, leaves, mapped

TOLERANCE = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-9}  # of the largest element
STEP = 1e-30  # of the complex step
WIDE_STEP = 1e-3  # of the central differences: with five points they are exact for polynomials of degree 4
PLAIN = SimpleNamespace(np=np, erf=erf, conv=by_shifts(np))


@dataclass(frozen=True)
class Reference:
    """The results of a sweep, and the dtype of the arguments that the workload is in."""

    results: list[list[np.ndarray]]
    dtype: np.dtype


def reference(key: str, scale: float, step: int) -> Reference:
    """Return the hand-written results in float64; raise Failed if the loss has other slopes."""
    workload = WORKLOADS[key]
    sweep = workload.make(scale, step)
    dtype = np.result_type(*[x.dtype for x in leaves(sweep) if x.dtype.kind == "f"])
    results = written(key, scale, step)
    for args, hand_results in zip(wide(sweep), results, strict=True):
        _prove(workload, args, hand_results)
    return Reference(results, dtype)


def written(key: str, scale: float, step: int) -> list[list[np.ndarray]]:
    """Return the hand-written results of a sweep in float64."""
    sweep = wide(WORKLOADS[key].make(scale, step))
    return [[np.asarray(x) for x in leaves(BY_HAND[key](*args))] for args in sweep]


def wide(tree: Any) -> Any:
    """Convert float32 arrays to float64."""
    return mapped(lambda x: x.astype(np.float64) if x.dtype == np.float32 else x, tree)


# -- checking a library ------------------------------------------------------------------------------------------


def check(results: Sequence[Sequence[np.ndarray]], expected: Reference) -> None:
    """Raise Failed unless each result equals the reference to the precision of the workload, in no narrower dtype."""
    _demand(len(results) == len(expected.results), f"gives {len(results)} results, not {len(expected.results)}")
    for got, wanted in zip(results, expected.results, strict=True):
        _demand(len(got) == len(wanted), f"gives {len(got)} arrays, not {len(wanted)}")
        for x, y in zip(got, wanted, strict=True):
            _demand(x.shape == y.shape, f"gives the shape {x.shape}, not {y.shape}")
            enough = x.dtype.kind == "f" and x.dtype.itemsize >= expected.dtype.itemsize
            _demand(enough, f"gives {x.dtype} for arguments of {expected.dtype}")
            off = np.max(np.abs(x - y), initial=0.0) / _largest(y)
            _demand(off <= TOLERANCE[expected.dtype], f"is off by {off:.1e} of the largest element")


def _largest(x: np.ndarray) -> float:
    return max(float(np.max(np.abs(x), initial=0.0)), 1e-300)


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Failed(otherwise)


# -- checking what is written by hand ----------------------------------------------------------------------------


def _prove(workload: Workload, args: Arguments, results: Sequence[np.ndarray]) -> None:
    """Raise Failed unless value and slopes agree with the plain loss."""
    slopes = list(results)
    if workload.computes == "value_and_grad":
        value = workload.loss(PLAIN, *args)
        _demand_close(abs(slopes.pop(0) - value) / max(abs(value), 1e-300), "value")
    derivative = _second if workload.computes == "hvp" else _first
    for slope, (x, along) in zip(slopes, _directions(workload, args), strict=True):
        _demand_close(abs(np.vdot(slope, along) - derivative(workload, args, x, along)) / _largest(slope), "derivative")


def _demand_close(off: float, quantity: str) -> None:
    message = f"by hand the {quantity} is off by {off:.1e} from the loss, so there is nothing to compare with"
    _demand(off <= TOLERANCE[np.dtype(np.float64)], message)


def _directions(workload: Workload, args: Arguments) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each array that gradients are taken in, with a direction in which every element counts."""
    rng = np.random.default_rng(4)
    for x in [x for i in workload.wrt for x in leaves(args[i])]:
        yield x, rng.uniform(1, 2, x.shape) * rng.choice([-1.0, 1.0], x.shape)


def _first(workload: Workload, args: Arguments, x: np.ndarray, along: np.ndarray) -> float:
    """The derivative of the loss along a direction in one of its arrays, by a complex step."""
    moved = mapped(lambda leaf: leaf + 1j * STEP * along if leaf is x else leaf, args)
    return float(workload.loss(PLAIN, *moved).imag) / STEP


def _second(workload: Workload, args: Arguments, x: np.ndarray, along: np.ndarray) -> float:
    """The derivative of that along the vector that the Hessian is multiplied by."""
    at, v = args

    def slope(by: float) -> float:
        moved = at + by * v
        return _first(workload, (moved,), moved, along)

    near, far = (slope(e) - slope(-e) for e in (WIDE_STEP, 2 * WIDE_STEP))
    return (8 * near - far) / (12 * WIDE_STEP)
