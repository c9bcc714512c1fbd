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
import anyshape.cluster as cluster
import anyshape.debug as debug
import anyshape.numpy as anp
import anyshape.optimize as optimize
import anyshape.scipy.interpolate as interpolate
import anyshape.scipy.linalg as linalg
import anyshape.scipy.special as special
import anyshape.scipy.stats as stats
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


hessian(energy)(x, x)  # type: ignore[call-arg]


def plain(w: np.ndarray, x: np.ndarray) -> float:
    return float(np.sum(w * x))


assert_type(grad(plain)(x, x).ndim, int)
assert_type(value_and_grad(plain)(x, x)[0], float)
grad(plain)(x)  # type: ignore[call-arg]
grad(plain)(x, x, x, x, x)  # type: ignore[call-arg]
value_and_grad(plain)(x, x, x)  # type: ignore[call-arg]
hessian(plain)(x, x, x)  # type: ignore[call-arg]
assert_type(jit(square, compile="auto")(x), Vector)
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


# -- has_aux and argnums -----------------------------------------------------------------------------------------

assert_type(grad(loss_and_count, 1, has_aux=True)(p, x), tuple[Vector, int])
assert_type(grad(loss_and_count, (0, 1), has_aux=True)(p, x), tuple[tuple[Weights, Vector], int])
assert_type(value_and_grad(loss_and_count, 1, has_aux=True)(p, x), tuple[tuple[np.float64, int], Vector])
assert_type(value_and_grad(loss, argnums=1)(p, x), tuple[np.float64, Vector])
assert_type(grad(loss, 2)(p, x, 1.0), Any)
assert_type(vjp(loss_and_count, p, x, has_aux=True)[2], int)
assert_type(linearize(loss_and_count, p, x, has_aux=True)[0], np.float64)
grad(loss, has_aux="yes")  # type: ignore[call-overload]
value_and_grad(loss, 1)(x, x)  # type: ignore[arg-type]
vjp(loss, p, x)[1]("x")  # type: ignore[arg-type]
linearize(square, x)[1](x, x)  # type: ignore[call-arg]


# -- carries of loops --------------------------------------------------------------------------------------------


class State(NamedTuple):
    """Carry of an iteration."""

    x: Vector
    steps: int


def advance(state: State, force: Vector) -> tuple[State, Vector]:
    return State(state.x + force, state.steps + 1), state.x


def far(state: State) -> bool:
    return bool(state.x.sum() < 9)


def moved(state: State) -> State:
    return State(state.x * 2, state.steps + 1)


start = State(x, 0)
assert_type(scan(advance, start, np.ones((4, 3))), tuple[State, Vector])
assert_type(scan(advance, start, np.ones((4, 3)), reverse=True)[0].steps, int)
assert_type(while_loop(far, moved, start), State)
assert_type(while_loop(far, moved, start).x, Vector)
assert_type(fori_loop(0, 3, lambda i, state: moved(state), start), State)
assert_type(cond(x.sum() > 0, moved, lambda state: state, start), State)
assert_type(switch(1, (moved, moved), start).steps, int)
scan(advance, x, np.ones((4, 3)))  # type: ignore[arg-type]
while_loop(far, moved)  # type: ignore[call-arg]
while_loop(moved, far, start)  # type: ignore[arg-type]
fori_loop(0, 3, moved, start)  # type: ignore[arg-type]
cond(True, moved, start)  # type: ignore[arg-type]
switch(0, moved, start)  # type: ignore[arg-type]

# -- rules with arguments that have no derivative ----------------------------------------------------------------


@custom_vjp(nondiff_argnums=1)
def powered(x: Vector, k: int) -> Vector:
    return x**k


assert_type(powered(x, 3), Vector)
powered.defvjp(lambda x, k: (x**k, x), lambda k, x, cotangent: (cotangent * k * x ** (k - 1),))
powered(x)  # type: ignore[call-arg]
powered(x, "3")  # type: ignore[arg-type]
custom_vjp(3)  # type: ignore[call-overload]

# -- arrays ------------------------------------------------------------------------------------------------------

assert_type(anp.sum(x, axis=(0, 1)), Any)
assert_type(anp.add(x, x, out=x), NDArray[Any])
assert_type(anp.where(x > 0, x, 0.0), NDArray[Any])
assert_type(anp.at(x)[0].set(1.0), Any)
assert_type(anp.random.normal(size=3), NDArray[np.float64])
anp.sum(x, axes=0)  # type: ignore[call-overload]
anp.sum(x, axis="0")  # type: ignore[arg-type]
anp.fft.fft(x, axes=0)  # type: ignore[call-arg]
anp.linalg.solve(x)  # type: ignore[call-overload]

# -- modules of SciPy --------------------------------------------------------------------------------------------

assert_type(special.gammaln(x), Any)
assert_type(special.softmax(x, axis=0), Any)
assert_type(stats.norm.logpdf(x, loc=1.0), Any)
assert_type(stats.describe(x).mean, Any)
assert_type(linalg.solve(np.eye(3), x, assume_a="pos"), Any)
assert_type(interpolate.CubicSpline(x, x)(0.5), Any)
special.gammalnn(x)  # type: ignore[attr-defined]
special.beta(x)  # type: ignore[call-arg]
stats.normal.pdf(x)  # type: ignore[attr-defined]
stats.describe()  # type: ignore[call-arg]
linalg.solve(x)  # type: ignore[call-arg]
linalg.solve(np.eye(3), x, assume="pos")  # type: ignore[call-arg]

# -- optimisers and clusters -------------------------------------------------------------------------------------

optimizer = optimize.adam(1e-3)
assert_type(optimizer, optimize.GradientTransformation)
assert_type(optimize.chain(optimize.clip_by_global_norm(1.0), optimizer), optimize.GradientTransformation)
optimize.minimize(lambda p: p["w"].sum(), p, method="BFGS")
optimize.curve_fit(scaled, x, x)
optimize.adam("1e-3")  # type: ignore[arg-type]
optimize.adam(1e-3, beta=0.9)  # type: ignore[call-arg]
optimize.minimise(square, x)  # type: ignore[attr-defined]
optimize.minimize(square)  # type: ignore[call-arg]
total = cluster.chunked_sum(loss, over="x", executor=cluster.Threads(2))
assert_type(total, cluster.ChunkedSum)
assert_type(cluster.Threads(2).workers, int)
cluster.minimize(total, p, [x], steps=10)
cluster.chunked_sum(loss)  # type: ignore[call-arg]
cluster.chunked_sum(loss, over=1.5)  # type: ignore[arg-type]
cluster.minimize(loss, p, [x])  # type: ignore[arg-type]
debug.print("{} of {n:.2f}", x, n=2.0)
debug.print(x)  # type: ignore[arg-type]
debug.callback(print, x, sep="")
debug.callback("print", x)  # type: ignore[arg-type]
debug.breakpoint(x, total=x.sum())
