"""Give functions of samples the `axis`, `nan_policy` and `keepdims` of SciPy: one home for what they mean.

A function is written for samples along one axis that propagate NaN, or for vectors. Policies of NaN are these:

- "propagate": NaN among the samples makes the result NaN.
- "raise": it raises CheckError when the program runs.
- "omit": each vector of samples is computed without its NaN, whose derivatives are 0.
"""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of, result_type
from anyshape.scipy.operands.conversion import floats
from anyshape.support.packages import scipy_stats
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import tree_map
from anyshape.transforms.control import check
from anyshape.transforms.control_flow.loops import map as map_rows

Function = Callable[..., Any]
OPTIONS = ("axis", "nan_policy", "keepdims")
POLICIES = ("propagate", "raise", "omit")


def count_of(x: Any, axis: Any) -> Any:
    """Return the number of samples along an axis, as a traced float64 number."""
    shape = xp.shape(x)
    axes = range(len(shape)) if axis is None else (axis,) if np.ndim(axis) == 0 else axis
    total: Any = 1
    for k in axes:
        total = total * shape[k]
    return xp.asarray(total, dtype=np.float64)


def without_nan(name: str, x: Any, nan_policy: str) -> Any:
    """Return samples, which a check refuses to be NaN if the policy is "raise"."""
    choice_of(name, "nan_policy", nan_policy, POLICIES)
    if nan_policy == "raise":
        check(~xp.any(_is_nan(x)), f"{name}: samples must not be NaN where nan_policy is 'raise'")
    return x


def _is_nan(x):
    return xp.isnan(x) if x.dtype.kind in "fc" else xp.zeros_like(x, dtype=bool)


def filled_up(x: Any, axis: Any, least: int = 1) -> Any:
    """Return samples with NaN behind fewer than so many, which make the result NaN, as SciPy's is."""
    if axis is None:
        return filled_up(xp.ravel(x), 0, least)
    after = [(0, 0)] * x.ndim
    after[axis] = (0, xp.maximum(least - x.shape[axis], 0))
    return xp.pad(x, after, constant_values=np.nan)


@dataclass(frozen=True)
class Sampling:
    """Facts of a function: its parameters with samples (none: all that are positional), and how it takes them.

    NaN in one of paired samples omits its partners too. Fewer than `least` samples without NaN have the result NaN.
    """

    name: str
    samples: tuple[str, ...]
    axis: Any
    paired: bool
    least: int
    takes_axis: bool

    def call(self, function: Function, arguments: dict[str, Any]) -> Any:
        """Return the result for arguments by name; a tuple holds all that are positional."""
        axis = arguments.pop("axis", self.axis)
        policy, keepdims = arguments.pop("nan_policy", "propagate"), arguments.pop("keepdims", False)
        choice_of(self.name, "nan_policy", policy, POLICIES)
        names = [n for n in self.samples if arguments.get(n) is not None]
        samples = [arguments.pop(n) for n in names] if self.samples else arguments.pop("samples", ())

        def one_axis(*xs, **options):
            unnamed, named = ((), dict(zip(names, xs, strict=True))) if self.samples else (xs, {})
            return function(*unnamed, **named, **arguments, **options)

        if not samples or (self._is_plain(axis, policy, keepdims) and not (self.paired and len(samples) > 1)):
            return one_axis(*samples, axis=axis)
        return self._general(one_axis, samples, axis, policy, keepdims)

    def _is_plain(self, axis, policy: str, keepdims) -> bool:
        """Return whether the function itself has all that a call asks for."""
        return self.takes_axis and (policy, keepdims) == ("propagate", False) and has_type(axis, (int, np.integer))

    def _general(self, function: Function, samples, axis, policy: str, keepdims):
        """Return the result for any axes and policy."""
        arrays = [xp.atleast_1d(without_nan(self.name, xp.asarray(x), policy)) for x in samples]
        vectors, axes = vectors_along(arrays, axis, paired=self.paired)
        result = self._along(function, vectors, policy == "omit")
        return tree_map(lambda x: xp.expand_dims(x, axes), result) if keepdims else result

    def _along(self, function: Function, vectors: list[Any], omit: bool):
        """Return the results along the last axis."""
        if omit or (vectors[0].ndim > 1 and not self.takes_axis):
            return self._by_rows(function, vectors, omit)
        return function(*map(self._enough, vectors), **({"axis": -1} if self.takes_axis else {}))

    def _by_rows(self, function: Function, vectors: list[Any], omit: bool):
        """Return the results of one row after the other, which may leave out NaN."""
        batch = vectors[0].shape[:-1]
        rows = tuple(xp.reshape(x, (math.prod(batch), x.shape[-1])) for x in vectors)
        options = {"axis": 0} if self.takes_axis else {}
        results = map_rows(lambda xs: function(*(self._numbers(xs) if omit else xs), **options), rows)
        return tree_map(lambda x: xp.reshape(xp.moveaxis(x, 0, -1), (*x.shape[1:], *batch)), results)

    def _numbers(self, row: tuple[Any, ...]) -> list[Any]:
        """Return vectors without NaN, and with NaN again behind too few numbers."""
        missing = [_is_nan(x) for x in row]
        if self.paired:
            missing = [functools.reduce(lambda a, b: a | b, missing)] * len(row)
        stays = [self.least == 1 and _is_size(x, 1) for x in row]  # NaN there makes the result NaN
        return [x if s else self._enough(x[~m]) for x, m, s in zip(row, missing, stays, strict=True)]

    def _enough(self, x):
        """Return samples with NaN behind too few of them."""
        is_enough = self.least == 0 or x.dtype.kind not in "fc" or _is_size(x, self.least)
        return x if is_enough else filled_up(x, -1, self.least)


def _is_size(x, least: int) -> bool:
    """Return whether the last axis is known to have so many elements, and no more than 1 if it is for 1."""
    size = x.shape[-1]
    return has_type(size, int) and (size == 1 if least == 1 else size >= least)


def vectors_along(arrays: list[Any], axis: Any, *, paired: bool) -> tuple[list[Any], tuple[int, ...]]:
    """Return samples along the last axis, and the axes in their place, counted from the last one."""
    axes = _axes(arrays, axis)
    return _along_last(arrays, axes, paired, axis is None), axes


def _axes(arrays: list[Any], axis) -> tuple[int, ...]:
    """Return axes of samples counted from the last one."""
    rank = max(x.ndim for x in arrays)
    if axis is None:
        return tuple(range(-rank, 0))
    return tuple(k - rank if k >= 0 else k for k in (axis if np.ndim(axis) else (axis,)))


def _along_last(arrays: list[Any], axes: tuple[int, ...], paired: bool, flat: bool) -> list[Any]:
    """Return samples along the last axis, where the others broadcast, and that one too for paired samples."""
    arrays = [xp.ravel(x) for x in arrays] if flat else arrays
    arrays = list(xp.broadcast_arrays(*arrays)) if paired else arrays
    if flat:
        return arrays
    rank, count = max(x.ndim for x in arrays), len(axes)
    arrays = [xp.reshape(x, (1,) * (rank - x.ndim) + x.shape) for x in arrays]
    arrays = [xp.moveaxis(x, axes, tuple(range(-count, 0))) for x in arrays]
    batch = xp.broadcast_shapes(*(x.shape[:-count] for x in arrays))
    return [_joined(xp.broadcast_to(x, (*batch, *x.shape[-count:])), count) for x in arrays]


def _joined(x, count: int):
    """Return an array with so many last axes as one."""
    return xp.reshape(x, (*x.shape[:-count], math.prod(x.shape[-count:])))


def sampled(
    *names: str, axis=0, paired: bool = False, least: int = 1, vectors: bool = False, finish: Function | None = None
) -> Callable[[Function], Function]:
    """Return a decorator: a function of samples in these parameters takes SciPy's options of axes and NaN.

    Parameters and defaults are SciPy's. The function gets those that it has, and of these options an axis alone, which
    it does not get if it is of `vectors`. `finish` makes the result of what the function returns.
    """

    def decorate(function: Function) -> Function:
        name = function.__name__
        signature = inspect.signature(getattr(scipy_stats, name))
        own = inspect.signature(function, follow_wrapped=False).parameters
        facts = Sampling(name, names, axis, paired, least, not vectors)

        @functools.wraps(function)
        def served(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            if "options" not in own:
                bound.apply_defaults()
            arguments = {k: v for k, v in bound.arguments.items() if k in own or k in OPTIONS or "options" in own}
            for key in bound.arguments.keys() - arguments.keys():
                if bound.arguments[key] is not signature.parameters[key].default:
                    raise ArgumentError(name, key, "is not available for traced arrays", "leave it out")
            result = facts.call(function, arguments)
            return result if finish is None else finish(result)

        served.__signature__ = signature
        return served

    return decorate


def along_last(name: str, samples: Sequence[Any], axis: Any, least: int = 2) -> list[Any]:
    """Return samples as floats of one dtype along the last axis; other axes broadcast."""
    if len(samples) < least:
        raise ArgumentError(name, "the call", f"has {len(samples)} samples", f"pass {least} samples or more")
    arrays = [floats(x) for x in samples]
    dtype = result_type(*arrays)
    moved = [xp.ravel(x) if axis is None else xp.moveaxis(x, axis, -1) for x in arrays]
    batch = xp.broadcast_shapes(*(x.shape[:-1] for x in moved))
    return [xp.broadcast_to(x, (*batch, x.shape[-1])).astype(dtype) for x in moved]
