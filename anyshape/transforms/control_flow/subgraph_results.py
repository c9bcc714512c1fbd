"""Results of functions that are traced into subgraphs: the numbers that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.numpy.operands.promotion import dtype_of, is_weak, result_type
from anyshape.support.lazy_namedtuple import NamedTuple
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import flatten
from anyshape.tracing.trace import kind_of, standing_for


class ResultType(NamedTuple):
    """Type of a result: its dtype, and the kind of number that it stands for, None for an array."""

    dtype: np.dtype
    kind: type | None


def promoted(x: Any, result: ResultType) -> Any:
    """Return a result of a function that ran outside of a trace in the dtype that it has inside."""
    if not is_weak(x):
        return x if x.dtype == result.dtype else x.astype(result.dtype)
    return result.dtype.type(x) if result.kind in (None, np.generic) else result.kind(x)


def promoted_type(xs: Sequence[Any]) -> ResultType:
    """Return the type that a result of several functions has by NumPy's promotion."""
    dtype = result_type(*xs) if len({str(dtype_of(x)) for x in xs}) > 1 else xs[0].dtype
    kinds = [kind_of(x) for x in xs]
    if all(map(is_weak, xs)):
        return ResultType(dtype, max([k for k in kinds if k is not None], key=_ORDER.index))
    return ResultType(dtype, None if None in kinds else np.generic)


def noted(result: Any, leaves: list[Any]) -> Any:
    """Return a result, and note its leaves as they are."""
    leaves += flatten(result)[0]
    return result


def like_returned(y: Any, x: Any) -> Any:
    """Return a traced result that stands for what the function returned: a Python number is weak."""
    if isinstance(x, Traced):
        return y
    weak = dtype_of(x) if is_weak(x) else None
    return standing_for(y, weak or (None if has_type(x, np.ndarray) else np.generic))


_ORDER: list[type] = [bool, int, float, complex]
