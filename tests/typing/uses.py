"""Uses as users write them, each with the verdict that type checkers give.

`assert_type` states a type. A comment `type: ignore` stands where an error is due: both checkers complain about one
that is not needed. `make types` runs mypy on this file, and `test_uses` runs pyright where it is installed.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_type

import numpy as np
from numpy.typing import NDArray

import anyshape
import anyshape.numpy as anp
from anyshape import (
    Dim,
    ShapeDtypeStruct,
    associative_scan,
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    errors,
    explain,
    export,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linear_transpose,
    linearize,
    profile,
    register_pytree_node,
    scan,
    stop_gradient,
    switch,
    trace,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)

Vector = NDArray[np.float64]
Weights = dict[str, Vector]


class Layer(NamedTuple):
    """Weights of a layer."""

    w: Vector
    b: Vector


def loss(p: Weights, x: Vector, scale: float = 1.0) -> np.float64:
    return np.float64(scale) * np.float64(np.sum(p["w"] * x))


def loss_and_count(p: Weights, x: Vector) -> tuple[np.float64, int]:
    return loss(p, x), 1


def scaled(x: Vector, factor: float, *, shift: float = 0.0) -> Vector:
    return x * factor + shift


x: Vector = np.ones(3)
p: Weights = {"w": np.ones(3)}

# -- jit ---------------------------------------------------------------------------------------------------------

fast = jit(scaled)
assert_type(fast(x, 2.0), Vector)
assert_type(fast(x, factor=2.0, shift=1.0), Vector)
fast(x)  # type: ignore[call-arg]
fast(x, "2")  # type: ignore[arg-type]
fast(x, 2.0, 3.0)  # type: ignore[call-arg]
fast(x, 2.0, offset=1.0)  # type: ignore[call-arg]
jit(3)  # type: ignore[call-overload]
jit(scaled, on_decision="never")  # type: ignore[call-overload]
jit(scaled, optimize="later")  # type: ignore[call-overload]
jit(scaled, max_bytes="1 GB")  # type: ignore[call-overload]
assert_type(fast.cache_info().traces, int)
fast.cache_information()  # type: ignore[attr-defined]


@jit
def decorated(x: Vector) -> Vector:
    return np.sin(x)


assert_type(decorated(x), Vector)
decorated(x=1)  # type: ignore[arg-type]


@jit(static_argnums=1, dynamic_shapes={"x": "n"})
def with_options(x: Vector, k: int) -> Layer:
    return Layer(x[:k], x)


assert_type(with_options(x, 2), Layer)
assert_type(with_options(x, 2).b, Vector)
with_options(x, k="2")  # type: ignore[arg-type]


class Model:
    """A model with a jitted method."""

    def __init__(self, w: Vector) -> None:
        self.w = w

    @jit
    def predict(self, x: Vector) -> Vector:
        return x * self.w

    @jit(static_argnames="power")
    def powers(self, x: Vector, power: int) -> Vector:
        return x**power


model = Model(x)
assert_type(model.predict(x), Vector)
assert_type(model.powers(x, power=2), Vector)
assert_type(Model.predict(model, x), Vector)
model.predict()  # type: ignore[call-arg]
model.predict(x, x)  # type: ignore[call-arg]

# -- derivatives -------------------------------------------------------------------------------------------------

assert_type(grad(loss)(p, x), Weights)
assert_type(grad(loss)(p, x, scale=2.0), Weights)
assert_type(grad(loss, 1)(p, x), Vector)
assert_type(grad(loss, (0, 1))(p, x), tuple[Weights, Vector])
assert_type(grad(loss, argnums=(0, 1))(p, x)[1], Vector)
assert_type(grad(loss_and_count, has_aux=True)(p, x), tuple[Weights, int])
assert_type(value_and_grad(loss)(p, x), tuple[np.float64, Weights])
assert_type(value_and_grad(loss, (0, 1))(p, x), tuple[np.float64, tuple[Weights, Vector]])
assert_type(value_and_grad(loss_and_count, has_aux=True)(p, x), tuple[tuple[np.float64, int], Weights])
assert_type(jit(grad(loss))(p, x), Weights)
grad(loss)(p)  # type: ignore[call-arg]
grad(loss)(x, x)  # type: ignore[arg-type]
grad("loss")  # type: ignore[call-overload]
grad(loss, argnums="p")  # type: ignore[arg-type]
grad(loss)(p, x)["w"].shape.count(3)
grad(loss)(p, x).w  # type: ignore[attr-defined]


def square(x: Vector) -> Vector:
    return x * x


def energy(x: Vector) -> np.float64:
    return np.float64(np.sum(x**3))


assert_type(hessian(energy)(x), Vector)
assert_type(jacfwd(square)(x), Any)
assert_type(jacrev(square)(x), Any)
assert_type(hvp(square, (x,), (x,)), Any)
jacrev(square)("x")  # type: ignore[arg-type]
assert_type(jvp(square, (x,), (x,)), tuple[Vector, Vector])
assert_type(jvp(loss_and_count, (p, x), (p, x), has_aux=True), tuple[np.float64, np.float64, int])
value, pullback = vjp(loss, p, x)
assert_type(value, np.float64)
assert_type(pullback(value), tuple[Weights, Vector])
vjp(square, p)  # type: ignore[arg-type]
assert_type(linearize(square, x)[1](x), Vector)
assert_type(linear_transpose(square, x)(x), tuple[Any, ...])
assert_type(vmap(square)(x), Vector)
assert_type(vmap(scaled, in_axes=(0, None))(x, 2.0), Vector)
vmap(square)(x, x)  # type: ignore[call-arg]
assert_type(checkpoint(square)(x), Vector)
checkpoint(square, policy="everything")  # type: ignore[call-overload]
assert_type(stop_gradient(p), Weights)

# -- rules of the user -------------------------------------------------------------------------------------------


@custom_jvp
def softplus(x: Vector) -> Vector:
    return np.log1p(np.exp(x))


@softplus.defjvp
def softplus_rule(primals: tuple[Vector], tangents: tuple[Vector]) -> tuple[Vector, Vector]:
    return softplus(primals[0]), tangents[0] / (1 + np.exp(-primals[0]))


assert_type(softplus(x), Vector)
softplus("x")  # type: ignore[arg-type]


@custom_vjp
def clipped(x: Vector) -> Vector:
    return x


def clipped_forward(x: Vector) -> tuple[Vector, None]:
    return x, None


def clipped_backward(residuals: None, cotangent: Vector) -> tuple[Vector]:
    return (np.clip(cotangent, -1, 1),)


clipped.defvjp(clipped_forward, clipped_backward)
clipped.defvjp(clipped_forward)  # type: ignore[call-arg]
assert_type(clipped(x), Vector)

# -- control flow ------------------------------------------------------------------------------------------------


def step(carry: Vector, row: Vector) -> tuple[Vector, np.float64]:
    return carry + row, np.float64(carry.sum())


assert_type(scan(step, x, np.ones((4, 3))), tuple[Vector, np.float64])
scan(step, p, x)  # type: ignore[arg-type]
scan(square, x, x)  # type: ignore[arg-type]
assert_type(fori_loop(0, 3, lambda i, y: y * 2, x), Vector)
assert_type(while_loop(lambda y: y.sum() < 9, lambda y: y * 2, x), Vector)
assert_type(cond(True, square, lambda x: x, x), Vector)
cond(True, square, scaled, x)  # type: ignore[arg-type]
assert_type(switch(0, [square, square], x), Vector)
assert_type(anyshape.map(square, x), Vector)
assert_type(associative_scan(lambda a, b: a, x), Vector)

# -- programs and the rest ---------------------------------------------------------------------------------------

program = trace(square)(ShapeDtypeStruct("n"))
assert_type(program(x), Any)
assert_type(program.name, str)
export(square)(ShapeDtypeStruct("n")).save("square.any")
explain(square)(x).to_dict()
assert_type(profile(square)(x).value, Any)
Dim(3)  # type: ignore[arg-type]
anyshape.config.num_threads = 2
anyshape.config.traceback = "full"
anyshape.config.threads = 2  # type: ignore[attr-defined]
assert_type(anp.zeros((3, 2)).dtype, np.dtype[np.float64])
assert_type(anp.linalg.norm(x, axis=0), Any)
anp.zeros("three")  # type: ignore[arg-type]
anp.zeroes(3)  # type: ignore[attr-defined]
assert_type(anp.softmax(x), NDArray[Any])
anyshape.gradient(loss)  # type: ignore[attr-defined]


@register_pytree_node
@dataclass
class Line:
    """A tree of two numbers."""

    slope: float
    start: float


assert_type(Line(1.0, 2.0), Line)
assert_type(grad(lambda line: line.slope * 2.0), Any)  # type: ignore[assert-type]

try:
    fast(x, 2.0)
except errors.ShapeError as error:
    assert_type(str(error), str)


def fit(objective: Callable[[Weights, Vector], np.float64], p: Weights, x: Vector) -> Weights:
    """Return weights after a step; the gradient has the type of the weights."""
    gradient = grad(objective)(p, x)
    return {name: p[name] - 0.1 * gradient[name] for name in p}
