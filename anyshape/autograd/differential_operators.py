"""Operators of autograd: each takes a function and `argnum`, the position of an argument or several of them.

Those whose results are arrays are transforms as `anyshape.grad` is. They trace the function once, and share programs
with functions of the same code. `make_vjp` and `make_jvp` give functions, and run at a point.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import anyshape.numpy as np
from anyshape.autograd.extend import forward_mode, vspace
from anyshape.autograd.wrap_util import at_argument, get_name, unary_to_nary
from anyshape.graph.ir.builder import active_builders
from anyshape.tracing import pytrees
from anyshape.transforms import vmap as transforms
from anyshape.transforms.arguments.options import Declared
from anyshape.transforms.control import checkpoint
from anyshape.transforms.grad import derivative, jvp, vjp
from anyshape.transforms.jitted import Jitted

__all__ = [
    "checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "jacobian", "make_ggnvp",
    "make_hvp", "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict", "tensor_jacobian_product",
    "value_and_grad", "vector_jacobian_product",
]  # fmt: skip

Function = Callable[..., Any]
Argnum = int | Sequence[int]


def _inexact(tree: Any) -> Any:
    """Return containers with floats in place of ints, which have no derivative."""
    return pytrees.tree_map(lambda x: x if np.result_type(x).kind in "fc" else np.asarray(x, float), tree)


def _operator(derive: Callable[..., Any], *, extra: int = 0) -> Callable[..., Jitted]:
    """Return an operator made of `derive(f, x)`, which is traced. It takes `extra` arguments after the others."""

    def operator(fun: Function, argnum: Argnum = 0, **declared: Any) -> Jitted:
        argnums = argnum if isinstance(argnum, int) else tuple(argnum)

        def transformed(*args: Any, **kwargs: Any) -> Any:
            end = len(args) - extra
            unary, x = at_argument(fun, argnums, args[:end], kwargs)
            return derive(unary, _inexact(x), *args[end:])

        name = f"{operator.__name__}({get_name(fun)})"
        options = Declared(*map(declared.get, _DECLARED))
        made: Any = derivative(transformed, name, (operator, fun, argnums), options, _Operated)
        made.fixed = _Fixed(operator, fun, argnums, extra)
        operated: Jitted = made
        return operated

    operator.__name__ = operator.__qualname__ = derive.__name__
    operator.__doc__ = derive.__doc__
    return operator


class _Operated(Jitted):
    """Derivative that takes other arguments as they are, not traced, where the function needs their values."""

    fixed: _Fixed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active_builders() or (self.fixed.is_needed and not self.fixed.leaves(args, kwargs)):
            return super().__call__(*args, **kwargs)
        if not self.fixed.is_needed:
            try:
                return super().__call__(*args, **kwargs)
            except Exception as error:
                if not self.fixed.leaves(args, kwargs):
                    raise
                try:
                    result = self.fixed.call(args, kwargs)
                except Exception:
                    raise error from None
                self.fixed.is_needed = True
                return result
        return self.fixed.call(args, kwargs)


class _Fixed:
    """Derivatives of one function with its other arguments fixed, by these."""

    def __init__(self, operator: Callable[..., Jitted], fun: Function, argnums: Argnum, extra: int) -> None:
        self.operator, self.fun, self.argnums, self.extra = operator, fun, argnums, extra
        self.latest: list[tuple[list[Any], Jitted]] = []

    def leaves(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arguments that the derivative is not taken in."""
        chosen = {self.argnums} if isinstance(self.argnums, int) else {*self.argnums}
        end = len(args) - self.extra
        return pytrees.flatten(([x for i, x in enumerate(args[:end]) if not chosen & {i, i - end}], kwargs))[0]

    @property
    def is_needed(self) -> bool:
        """State of the function: it needs the values of other arguments."""
        return bool(_NEED_VALUES) and _code_of(self.fun) in _NEED_VALUES

    @is_needed.setter
    def is_needed(self, _: bool) -> None:
        _NEED_VALUES.add(_code_of(self.fun))

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the result with other arguments fixed."""
        end, leaves = len(args) - self.extra, self.leaves(args, kwargs)
        unary, x = at_argument(self.fun, self.argnums, args[:end], kwargs)
        for before, jitted in self.latest:
            if len(before) == len(leaves) and all(map(_is_same, before, leaves)):
                return jitted(x, *args[end:])
        jitted = self.operator(unary)
        result = jitted(x, *args[end:])
        self.latest = [(leaves, jitted), *self.latest[: _MOST_FIXED - 1]]
        return result


_NEED_VALUES: set[Any] = set()  # code of functions
_MOST_FIXED = 4


def _code_of(fun: Any) -> Any:
    while (inner := getattr(fun, "__func__", getattr(fun, "func", None))) is not None:
        fun = inner
    return getattr(fun, "__code__", type(fun))


def _is_same(x: Any, y: Any) -> bool:
    return x is y or (type(x) is type(y) and isinstance(x, (int, float, str)) and x == y)


_DECLARED = "static_argnums", "static_argnames", "dynamic_shapes"


def _value_and_grad(fun: Function, x: Any, name: str) -> tuple[Any, Any]:
    value, pull = vjp(fun, x)
    if vspace(value).size != 1:
        advice = "Try jacobian, elementwise_grad or holomorphic_grad."
        raise TypeError(f"{name} only applies to real scalar-output functions. {advice}")
    return value, pull(vspace(value).ones())[0]


@_operator
def grad(fun: Function, x: Any) -> Any:
    """Return a function that gives the gradient of `fun`, whose value is one number, in an argument.

    It takes the arguments of `fun`. The gradient is a container like the argument; several `argnum` give a tuple.

    >>> from anyshape.autograd import grad
    >>> print(grad(lambda x, y: x**2 * y, argnum=1)(3.0, 1.0))
    9.0
    """
    return _value_and_grad(fun, x, "grad")[1]


@_operator
def value_and_grad(fun: Function, x: Any) -> Any:
    """Return a function that gives the value of `fun`, which is one number, and its gradient."""
    return _value_and_grad(fun, x, "value_and_grad")


@_operator
def elementwise_grad(fun: Function, x: Any) -> Any:
    """Return a function that gives the sum of each column of the Jacobian: its diagonal, if it is diagonal."""
    value, pull = vjp(fun, x)
    if vspace(value).iscomplex:
        raise TypeError("elementwise_grad only applies to real-output functions.")
    return pull(vspace(value).ones())[0]


@_operator
def deriv(fun: Function, x: Any) -> Any:
    """Return a function that gives the derivative along ones, by forward mode."""
    with forward_mode():
        return jvp(fun, (x,), (vspace(x).ones(),))[1]


@_operator
def jacobian(fun: Function, x: Any) -> Any:
    """Return a function that gives the Jacobian: a value of shape s and an argument of shape t give shape s + t."""
    return transforms.jacrev(fun)(x)


@_operator
def hessian(fun: Function, x: Any) -> Any:
    """Return a function that gives the second derivatives."""
    return transforms.hessian(fun)(x)


@_operator
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """Return a function that gives the derivative of a holomorphic function."""
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)
    return _value_and_grad(lambda x: np.real(fun(x)), x, "holomorphic_grad")[1]


@_operator
def grad_and_aux(fun: Function, x: Any) -> Any:
    """Return a function that gives the gradient of the first of two results, and the second result."""
    value, pull, aux = vjp(lambda x: tuple(fun(x)), x, has_aux=True)
    return pull(vspace(value).ones())[0], aux


def _product_with_hessian(fun: Function, x: Any, tensor: Any) -> Any:
    """Return a function of the arguments of `fun` and a tensor, which gives the product of Hessian and tensor."""
    scalar = lambda x: np.reshape(fun(x), ())
    return transforms.hvp(scalar, (x,), (vspace(x).like(tensor),))


def _product_with_jacobian(fun: Function, x: Any, tensor: Any) -> Any:
    """Return a function of the arguments of `fun` and a tensor, which gives the product of tensor and Jacobian."""
    return transforms.jacrev(lambda x: np.tensordot(tensor, fun(x), np.ndim(tensor)))(x)


hessian_tensor_product = hessian_vector_product = _operator(_product_with_hessian, extra=1)
tensor_jacobian_product = vector_jacobian_product = _operator(_product_with_jacobian, extra=1)


@unary_to_nary
def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """Return the function that pulls cotangents of the value back to the argument, and the value."""
    value, pull = vjp(fun, _inexact(x))
    space = vspace(value)
    return lambda g: pull(space.like(g))[0], value


@unary_to_nary
def make_jvp(fun: Function, x: Any) -> Function:
    """Return the function from a tangent of the argument to the value and its tangent."""
    x = _inexact(x)

    def push(tangent: Any) -> tuple[Any, Any]:
        with forward_mode():
            value, slope = jvp(fun, (x,), (vspace(x).like(tangent),))
        return value, slope

    return push


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """Return the function from a tangent of the argument to that of the value, by reverse mode twice."""
    pull, value = make_vjp(fun)(x)
    push: Function = make_vjp(pull)(vspace(value).zeros())[0]
    return push


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> tuple[Function, Any]:
    """Return the function that multiplies by the Hessian at a point, and the gradient there."""
    product: tuple[Function, Any] = make_vjp(grad(fun))(x)
    return product


def make_ggnvp(f: Function, g: Function = lambda x: 0.5 * np.sum(x**2, axis=-1), f_argnum: Argnum = 0) -> Function:
    """Return an operator on points that gives the product with the generalised Gauss-Newton matrix of g after f."""

    @unary_to_nary
    def at_point(f: Function, x: Any) -> Function:
        pull, y = make_vjp(f)(x)
        product, _ = make_hvp(g)(y)
        push = make_jvp_reversemode(f)(x)
        return lambda v: pull(product(push(v)))

    made: Function = at_point(f, f_argnum)
    return made


def grad_named(fun: Function, argname: str) -> Jitted:
    """Return the gradient in the argument of a name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


def multigrad_dict(fun: Function) -> Function:
    """Return a function that gives the gradients in all arguments, as a dict by name."""
    signature = inspect.signature(fun)

    def of_dict(arguments: dict[str, Any]) -> Any:
        bound = signature.bind_partial()
        bound.arguments.update(arguments)
        return fun(*bound.args, **bound.kwargs)

    gradient = grad(of_dict)

    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(gradient(dict(bound.arguments)))

    return gradients
