"""Loops of statistics and numerics in plain Python, and the same by the `scan` of JAX: gradients are compared.

The file imports neither library: it runs by the interpreter of either.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Loss = Callable[..., Any]
SECONDS = 1.0  # for which JAX repeats a call


class Program(NamedTuple):
    """A loss in plain Python, its arguments, and what stands beside it.

    - `wrt`: the arguments that gradients are taken in.
    - `by_scan`: makes the loss of the modules of JAX; None without one.
    - `by_hand`: the name of the function of C, and the sizes that it takes.
    - `limit`: milliseconds of the gradient.
    """

    name: str
    loss: Loss
    arguments: tuple[Any, ...]
    wrt: tuple[int, ...]
    by_scan: Callable[[Any, Any], Loss] | None
    by_hand: tuple[str, tuple[int, ...]]
    limit: float | None = None


def seidel(a: Any, sweeps: Any) -> Any:
    """Relax the inner points of a square, as seidel_2d of NPBench does."""
    a = a.copy()
    for _ in range(sweeps - 1):
        for i in range(1, a.shape[0] - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            )
            for j in range(1, a.shape[1] - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return np.sum(a)


def cholesky(a: Any) -> Any:
    """Factor a matrix in place, row by row."""
    a = a.copy()
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.sum(a)


def garch(p: Any, y: Any) -> Any:
    """The misfit of returns whose variance follows the one before."""
    s, total = p[0], 0.0
    for v in y:
        total += np.log(s) + v**2 / s
        s = p[0] + p[1] * v**2 + p[2] * s
    return total


def garch_by_scan(jnp: Any, lax: Any) -> Loss:
    """The same for JAX."""

    def loss(p: Any, y: Any) -> Any:
        def step(carry: Any, v: Any) -> Any:
            s, total = carry
            return (p[0] + p[1] * v**2 + p[2] * s, total + jnp.log(s) + v**2 / s), None

        return lax.scan(step, (p[0], 0.0), y)[0][1]

    return loss


def filtered(np: Any, state: Any, model: Any, value: Any) -> Any:
    """One step of a Kalman filter: the state after an observation, and what that adds to the misfit."""
    (m, p), (f, q, h, r) = state, model
    m, p = f @ m, f @ p @ f.T + q
    e = value - h @ m
    s = h @ (p @ h) + r
    k = (p @ h) / s
    return (m + k * e, p - k[:, None] * (h @ p)), np.log(s) + e * e / s


def kalman(f: Any, q: Any, h: Any, r: Any, y: Any) -> Any:
    """The misfit of a series by a Kalman filter."""
    state, total = (np.zeros(4), np.eye(4)), 0.0
    for v in y:
        state, more = filtered(np, state, (f, q, h, r), v)
        total += more
    return total


def kalman_by_scan(jnp: Any, lax: Any) -> Loss:
    """The same for JAX."""

    def loss(f: Any, q: Any, h: Any, r: Any, y: Any) -> Any:
        start = jnp.zeros(4), jnp.eye(4)
        return jnp.sum(lax.scan(lambda state, v: filtered(jnp, state, (f, q, h, r), v), start, y)[1])

    return loss


def hidden_markov(start: Any, moves: Any, emitted: Any, seen: Any) -> Any:
    """The log-likelihood of symbols by the forward algorithm."""
    alpha, total = start, 0.0
    for o in seen:
        alpha = (alpha @ moves) * emitted[:, o]
        norm = np.sum(alpha)
        alpha, total = alpha / norm, total + np.log(norm)
    return total


def hidden_markov_by_scan(jnp: Any, lax: Any) -> Loss:
    """The same for JAX."""

    def loss(start: Any, moves: Any, emitted: Any, seen: Any) -> Any:
        def step(alpha: Any, o: Any) -> Any:
            alpha = (alpha @ moves) * emitted[:, o]
            norm = jnp.sum(alpha)
            return alpha / norm, jnp.log(norm)

        return jnp.sum(lax.scan(step, start, seen)[1])

    return loss


FAR = 1e10


def soft_dtw(x: Any, y: Any) -> Any:
    """The soft distance of two series under warping of time."""
    n, m = x.shape[0], y.shape[0]
    r = np.full((n + 1, m + 1), FAR)
    r[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            a, b, c = r[i, j], r[i, j + 1], r[i + 1, j]
            least = np.minimum(a, np.minimum(b, c))
            soft = least - np.log(np.exp(least - a) + np.exp(least - b) + np.exp(least - c))
            r[i + 1, j + 1] = (x[i] - y[j]) ** 2 + soft
    return r[n, m]


def soft_dtw_by_scan(jnp: Any, lax: Any) -> Loss:
    """The same for JAX."""

    def loss(x: Any, y: Any) -> Any:
        def row(above: Any, v: Any) -> Any:
            def cell(left: Any, at: Any) -> Any:
                a, b, w = at
                least = jnp.minimum(a, jnp.minimum(b, left))
                soft = least - jnp.log(jnp.exp(least - a) + jnp.exp(least - b) + jnp.exp(least - left))
                value = (v - w) ** 2 + soft
                return value, value

            cells = lax.scan(cell, FAR, (above[:-1], above[1:], y))[1]
            return jnp.concatenate([jnp.array([FAR]), cells]), None

        first = jnp.concatenate([jnp.zeros(1), jnp.full(y.shape[0], FAR)])
        return lax.scan(row, first, x)[0][-1]

    return loss


def recurrent(w: Any, u: Any, b: Any, xs: Any) -> Any:
    """The sum of the squares of all states of a tanh network."""
    h, total = np.zeros(16), 0.0
    for x in xs:
        h = np.tanh(w @ h + u @ x + b)
        total += np.sum(h * h)
    return total


def recurrent_by_scan(jnp: Any, lax: Any) -> Loss:
    """The same for JAX."""

    def loss(w: Any, u: Any, b: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = jnp.tanh(w @ h + u @ x + b)
            return h, jnp.sum(h * h)

        return jnp.sum(lax.scan(step, jnp.zeros(16), xs)[1])

    return loss


def programs(scale: float = 1.0) -> dict[str, Program]:
    """Return the programs by name; a scale below 1 makes their loops shorter."""
    rng, of = np.random.default_rng(0), lambda n: max(5, round(n * scale))
    n, few, many = of(100), of(50), of(300)
    root = rng.normal(size=(many, many))
    definite = root @ root.T / many + np.eye(many)
    model = 0.9 * np.eye(4) + 0.05 * rng.normal(size=(4, 4)), 0.1 * np.eye(4), rng.normal(size=4), np.array(0.5)
    start, moves, emitted = (rng.uniform(0.1, 1, size=shape) for shape in (10, (10, 10), (10, 6)))
    chances = start / start.sum(), moves / moves.sum(1, keepdims=True), emitted / emitted.sum(1, keepdims=True)
    weights = rng.normal(size=(16, 16)) / 4, rng.normal(size=(16, 16)) / 4, rng.normal(size=16)
    steps, symbols = of(1000), of(200)
    listed = [
        Program(f"seidel, T = 8, n = {few}", seidel, (rng.normal(size=(few, few)), 8), (0,), None,
                ("seidel", (8, few)), 0.3),
        Program(f"cholesky, n = {n}", cholesky, (definite[:n, :n].copy(),), (0,), None, ("cholesky", (n,)), 0.35),
        Program(f"cholesky, n = {many}", cholesky, (definite,), (0,), None, ("cholesky", (many,)), 8.0),
        Program(f"GARCH, {steps} steps", garch, (np.array([0.05, 0.1, 0.8]), rng.normal(size=steps)), (0,),
                garch_by_scan, ("garch", (steps,)), 0.03),
        Program(f"Kalman filter, {n} steps of 4 x 4", kalman, (*model, rng.normal(size=n)), (0, 1, 2, 3),
                kalman_by_scan, ("kalman", (n,))),
        Program(f"HMM forward, T = {symbols}, 10 states", hidden_markov, (*chances, rng.integers(0, 6, symbols)),
                (0, 1, 2), hidden_markov_by_scan, ("hidden_markov", (symbols, 10, 6))),
        Program(f"soft-DTW, {n} x {n}", soft_dtw, (rng.normal(size=n), rng.normal(size=n)), (0, 1),
                soft_dtw_by_scan, ("soft_dtw", (n, n))),
        Program(f"tanh RNN, d = 16, {steps} steps", recurrent, (*weights, rng.normal(size=(steps, 16))), (0, 1, 2),
                recurrent_by_scan, ("recurrent", (steps,))),
    ]  # fmt: skip
    return {program.name: program for program in listed}


def with_jax() -> Callable[[Program], Callable[..., Any]]:
    """Return what compiles the value and gradient of a program by `jax.jit`, in double precision."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    numpy, lax = importlib.import_module("jax.numpy"), importlib.import_module("jax.lax")

    def compiled(program: Program) -> Callable[..., Any]:
        assert program.by_scan is not None
        step = jax.jit(jax.value_and_grad(program.by_scan(numpy, lax), program.wrt))
        return lambda *args: jax.block_until_ready(step(*args))

    return compiled


def main() -> None:
    """Print what JAX takes for a program: seconds of the first call and the least of later ones, and the value."""
    program = programs(float(sys.argv[2]))[sys.argv[1]]
    step = with_jax()(program)
    times, value = [], None
    end = time.perf_counter() + SECONDS
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        value, _ = step(*program.arguments)
        times.append(time.perf_counter() - start)
    print(json.dumps({"first": times[0], "steady": min(times[1:]), "value": float(value)}))


if __name__ == "__main__":
    main()
