"""Checks of derivatives under the names of `autograd.test_util`."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.autograd.extend import forward_mode, vspace
from anyshape.autograd.wrap_util import unary_to_nary
from anyshape.errors import GradientCheckError
from anyshape.transforms import check_grads as checks

__all__ = ["check_equivalent", "check_grads", "combo_check", "scalar_close"]

TOL = RTOL = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers are close."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two values are of one vector space, and close."""
    space = vspace(x)
    assert space == vspace(y), f"VSpace mismatch:\nx: {space}\ny: {vspace(y)}"
    v = space.randn()
    assert scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)), f"Value mismatch:\nx: {x}\ny: {y}"


@unary_to_nary
def check_grads(f: Callable[..., Any], x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Raise AssertionError unless the derivatives agree with finite differences."""
    for mode in modes:
        if mode not in ("fwd", "rev"):
            raise AssertionError(mode)
    try:
        if "fwd" in modes:
            with forward_mode():
                checks.check_grads(f, (x,), order, ("fwd",))
        if "rev" in modes:
            checks.check_grads(f, (x,), order, ("rev",))
    except GradientCheckError as error:
        kind, _, name = str(error).partition(" (mode ")[0].partition(" of ")
        raise AssertionError(f"({kind.upper()}) check of {name.replace(' of ', '_')} failed: {error}") from error


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """Return a function that checks all combinations of arguments."""
    check = check_grads(fun, *args, **kwargs)

    def checked(*values: Any, **options: Any) -> None:
        for chosen in itertools.product(*values):
            for picked in itertools.product(*options.values()):
                check(*chosen, **dict(zip(options, picked, strict=True)))

    return checked
