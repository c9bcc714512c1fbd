"""Small helpers under the names of `autograd.util`."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from anyshape.autograd.test_util import check_grads

__all__ = ["quick_grad_check", "subval", "subvals"]


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a tuple with values in place of some."""
    values = list(x)
    for i, v in ivs:
        values[i] = v
    return tuple(values)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """Return a tuple with a value in place of one."""
    return subvals(x, [(i, v)])


def quick_grad_check(fun: Callable[..., Any], arg0: Any, extra_args: Sequence[Any] = (), **_: Any) -> None:
    """Raise AssertionError unless the gradient agrees with finite differences; use `test_util.check_grads` instead."""
    warnings.warn("quick_grad_check is deprecated: use anyshape.autograd.test_util.check_grads", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args), modes=["rev"], order=1)(arg0)
