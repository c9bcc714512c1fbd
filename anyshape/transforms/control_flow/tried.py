"""Errors of a run that a function of the user may catch: which one there is, is a decision like others.

A question comes before the operation: whether matrices are refused, or a position is beyond an axis. If the answer is
yes, the trace raises the error, and goes on in the user's handler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors.categories import StateWarning
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.prover.user_stack import tell
from anyshape.ops.control import stop_gradient
from anyshape.tracing import pytrees
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.raised import may_be_caught
from anyshape.tracing.source import read as reading
from anyshape.tracing.trace import is_inexact

_MODULES = ("numpy.linalg", "scipy.linalg", "anyshape.numpy.linalg", "anyshape.scipy.linalg")
_MODES = ("all", "divide", "over", "under", "invalid")


def _may_decide() -> bool:
    """Return whether an error of the run may be caught, in code that no loop or choice of the program has."""
    builder, session = active(), reading.session()
    if builder is None or builder.answer is None or session is None or session.frames or session.choosing:
        return False
    return may_be_caught()


def of_matrices(function: Any, means: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a call of a function means, which raises LinAlgError where the user may catch it."""
    if not str(getattr(function, "__module__", "")).startswith(_MODULES):
        return means

    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = pytrees.flatten((args, kwargs))
        places = [k for k, x in enumerate(leaves) if isinstance(x, Traced)]
        if places and _may_decide():
            failure = _Failure(function, leaves, tree, places)
            known = [stop_gradient(x) if is_inexact(x.dtype) else x for x in map(leaves.__getitem__, places)]
            if number := int(pure_callback(failure.number, ShapeDtypeStruct((), "int64"), *known)):
                raise np.linalg.LinAlgError(_TEXTS[number])
        return means(*args, **kwargs)

    return run


_TEXTS = ["no error"]  # of errors, by their numbers


class _Failure:
    """Tells by a number with which text a function refuses matrices; 0 if it does not."""

    def __init__(self, function: Any, leaves: list[Any], tree: Any, places: list[int]) -> None:
        self.function, self.tree, self.places = function, tree, places
        self.leaves = [None if k in places else x for k, x in enumerate(leaves)]

    def number(self, *values: Any) -> Any:
        """Return the number for the values of a run."""
        leaves = [*self.leaves]
        for k, value in zip(self.places, values, strict=True):
            leaves[k] = value
        args, kwargs = pytrees.unflatten(self.tree, leaves)
        text = _TEXTS[0]
        try:
            self.function(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            text = str(error)
        if text not in _TEXTS:
            _TEXTS.append(text)
        return np.int64(_TEXTS.index(text))


class TriedArray:
    """Array of a trace that an expression indexes where the user may catch an IndexError."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __getitem__(self, key: Any) -> Any:
        items = key if type(key) is tuple else (key,)
        for axis, (item, size) in enumerate(zip(items, self._owner.shape, strict=False)):
            if item is None or item is Ellipsis or (isinstance(item, Traced) and item.dtype.kind not in "iu"):
                break  # what follows is of another axis
            if isinstance(item, Traced) and not item.meta.rank and not bool((item < size) & (item >= -size)):
                raise IndexError(f"an index is out of bounds for axis {axis} with size {size}")  # for any index
        return self._owner[key]


def as_tried(x: Any) -> Any:
    """Return what is indexed in place of an array of a trace."""
    return TriedArray(x) if isinstance(x, Traced) and x.meta.rank and _may_decide() else x


def note_errstate(context: Any) -> None:
    """Say that a program does not raise what `np.errstate` asks for while it is traced."""
    modes = [f"{name}={mode!r}" for name in _MODES if (mode := getattr(context, f"_{name}", None)) == "raise"]
    if modes and active() is not None:
        text = f"np.errstate({', '.join(modes)}) in a traced function raises nothing when the program runs"
        tell(f"{text}\n  put it around the call, or check the operands, as by np.isfinite", StateWarning, user_line())
