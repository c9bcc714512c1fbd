"""Operators on functions of one argument, rules and vector spaces under the names of `autograd.core`."""

from collections.abc import Callable
from typing import Any

from anyshape.autograd import differential_operators as operators
from anyshape.autograd.extend import (
    Box,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    getval,
    isbox,
    primitive,
    vspace,
)

__all__ = [
    "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum",
    "defvjp_argnums", "getval", "isbox", "make_jvp", "make_vjp", "primitive", "vspace",
]  # fmt: skip


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[..., Any], Any]:
    """Return the function that pulls back cotangents at x, and the value there."""
    pull, value = operators.make_vjp(fun)(x)
    return pull, value


def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[..., Any]:
    """Return the function from a tangent at x to the value and its tangent."""
    push: Callable[..., Any] = operators.make_jvp(fun)(x)
    return push
