"""The first calls of one program with a loop by one library, in a process of its own.

    python -m benchmarks.first_loop anyshape|jax PROGRAM

Prints one line of JSON:

- CPU seconds of the first sweep over all arguments, with tracing and compiling, without imports,
- the megabytes by which the peak of the process grew,
- seconds of a later sweep.

The file does not import anyshape at the top, so that an interpreter with another library can run it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.first_call import LATER, peak_megabytes

Arguments = tuple[Any, ...]
LENGTHS = (20, 60, 120, 200, 300)
WIDTH = 16


class Library(NamedTuple):
    """The parts of a library that programs use: NumPy, loops, and the compiled value, alone and with its gradient."""

    np: Any
    scan: Callable[..., Any]
    associative_scan: Callable[..., Any]
    jit: Callable[[Callable[..., Any]], Callable[..., Any]]
    value_and_grad: Callable[[Callable[..., Any], Sequence[int]], Callable[..., Any]]


class Program(NamedTuple):
    """A loss, the arguments of each call of a sweep, and those that gradients are taken in; of none, the loss alone."""

    loss: Callable[..., Any]
    sweep: Callable[[], list[Arguments]]
    wrt: tuple[int, ...]


# -- programs ----------------------------------------------------------------------------------------------------


def recurrent(lib: Library, w: Any, u: Any, b: Any, xs: Any) -> Any:
    """The sum of the squares of all states of a tanh network."""

    def step(h: Any, x: Any) -> Any:
        after = lib.np.tanh(w @ h + u @ x + b)
        return after, after

    return lib.np.sum(lib.scan(step, lib.np.zeros(WIDTH), xs)[1] ** 2)


def recurrent_by_hand(w: Any, u: Any, b: Any, xs: Any) -> tuple[Any, tuple[Any, Any, Any]]:
    """The same with its gradients in the weights and the bias."""
    states = np.empty((len(xs) + 1, WIDTH))
    states[0] = 0
    for t, x in enumerate(xs):
        states[t + 1] = np.tanh(w @ states[t] + u @ x + b)
    dw, du, db, back = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b), np.zeros(WIDTH)
    for t in range(len(xs) - 1, -1, -1):
        derivative = (back + 2 * states[t + 1]) * (1 - states[t + 1] ** 2)
        dw += np.outer(derivative, states[t])
        du += np.outer(derivative, xs[t])
        db += derivative
        back = w.T @ derivative
    return np.sum(states[1:] ** 2), (dw, du, db)


def sequences(lengths: Sequence[int] = LENGTHS) -> list[Arguments]:
    """Return the same weights, and a sequence of each length."""
    rng = np.random.default_rng(0)
    w, u = (rng.normal(size=(WIDTH, WIDTH)) / 4 for _ in range(2))
    b = rng.normal(size=WIDTH)
    return [(w, u, b, rng.normal(size=(n, WIDTH))) for n in lengths]


def twenty(lib: Library, w: Any, xs: Any) -> Any:
    """A loop whose body has twenty operations."""
    np = lib.np

    def step(h: Any, x: Any) -> Any:
        a = np.tanh(h * w + x)
        c = np.sin(a) * x - h
        d = np.exp(-c * c) + a * 0.5
        e = np.sqrt(d * d + 1.0) - np.cos(h)
        return (e / (a * a + 1.0) + np.maximum(c, d)) * 0.1, a

    last, ys = lib.scan(step, w, xs)
    return np.sum(last) + np.sum(ys * ys)


def rows() -> list[Arguments]:
    """Return a vector and thirty rows."""
    rng = np.random.default_rng(1)
    return [(rng.normal(size=4), rng.normal(size=(30, 4)))]


def lotka_volterra(lib: Library, p: Any, y: Any) -> Any:
    """Foxes and rabbits after 1,000 steps of Runge-Kutta."""
    np = lib.np

    def field(y: Any) -> Any:
        return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def step(y: Any, _: Any) -> Any:
        k1 = field(y)
        k2 = field(y + 0.005 * k1)
        k3 = field(y + 0.005 * k2)
        k4 = field(y + 0.01 * k3)
        return y + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), ()

    return np.sum(lib.scan(step, y, None, 1000)[0])


def hidden_markov(lib: Library, start: Any, moves: Any, emitted: Any) -> Any:
    """The log-likelihood of a hidden Markov model: a product of scaled matrices."""
    np = lib.np

    def product(first: Any, second: Any) -> Any:
        m = first[0] @ second[0]
        largest = np.max(m, axis=(1, 2))
        return m / largest[:, None, None], first[1] + second[1] + np.log(largest)

    steps = moves * emitted[1:, None, :]
    products, scales = lib.associative_scan(product, (steps, np.zeros_like(steps[:, 0, 0])))
    return np.log(np.sum((start * emitted[0]) @ products[-1])) + scales[-1]


def forward_algorithm(start: Any, moves: Any, emitted: Any) -> Any:
    """The same by hand: a trip for each symbol."""
    alpha, scale = start * emitted[0], 0.0
    for row in emitted[1:]:
        alpha = (alpha @ moves) * row
        total = np.sum(alpha)
        alpha, scale = alpha / total, scale + np.log(total)
    return np.log(np.sum(alpha)) + scale


def symbols(length: int = 200, states: int = 4) -> list[Arguments]:
    """Return the first state, the moves, and how likely each state emits each symbol of a sequence."""
    rng = np.random.default_rng(2)
    start, moves, emitted = (rng.uniform(0.1, 1, size=shape) for shape in (states, (states, states), (length, states)))
    return [(start / start.sum(), moves / moves.sum(axis=1, keepdims=True), emitted)]


PROGRAMS = {
    "recurrent": Program(recurrent, sequences, (0, 1, 2)),
    "twenty": Program(twenty, rows, (0, 1)),
    "lotka_volterra": Program(lotka_volterra, lambda: [(np.array([1.5, 1.0, 1.0, 3.0]), np.ones(2))], (0, 1)),
    "hidden_markov": Program(hidden_markov, symbols, ()),
    "hidden_markov_gradient": Program(hidden_markov, symbols, (0, 1, 2)),
}


# -- libraries ---------------------------------------------------------------------------------------------------


def with_anyshape() -> Library:
    """Trace plain NumPy."""
    library = importlib.import_module("anyshape")
    library.grad(lambda x: (x * x).sum())(np.arange(2.0))  # loads what any first call loads
    return Library(np, library.scan, library.associative_scan, library.jit, library.value_and_grad)


def with_jax() -> Library:
    """Compile by `jax.jit`, in double precision."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jax.block_until_ready(jax.jit(jax.grad(lambda x: (x * x).sum()))(np.arange(2.0)))

    def value_and_grad(loss: Callable[..., Any], wrt: Sequence[int]) -> Callable[..., Any]:
        step = jax.jit(jax.value_and_grad(loss, wrt))
        return lambda *args: jax.block_until_ready(step(*args))

    def jit(loss: Callable[..., Any]) -> Callable[..., Any]:
        step = jax.jit(loss)
        return lambda *args: jax.block_until_ready(step(*args))

    numpy, lax = importlib.import_module("jax.numpy"), importlib.import_module("jax.lax")
    return Library(numpy, lax.scan, lax.associative_scan, jit, value_and_grad)


LIBRARIES = {"anyshape": with_anyshape, "jax": with_jax}


def compiled(lib: Library, program: Program) -> Callable[..., Any]:
    """Return the function that gives the loss of a program, and its gradients if there are any."""

    def loss(*args: Any) -> Any:
        return program.loss(lib, *args)

    if program.wrt:
        return lib.value_and_grad(loss, program.wrt)
    value = lib.jit(loss)
    return lambda *args: (value(*args), ())


def measure(library: str, name: str) -> dict[str, float]:
    """CPU seconds of the first sweep, megabytes beyond the peak before it, and seconds of a later sweep."""
    program, lib = PROGRAMS[name], LIBRARIES[library]()
    step = compiled(lib, program)
    sweep = program.sweep()
    peak, start = peak_megabytes(), time.process_time()
    value = float(sum(step(*args)[0] for args in sweep))
    first, grown = time.process_time() - start, peak_megabytes() - peak
    later = []
    for _ in range(LATER):
        begun = time.perf_counter()
        for args in sweep:
            step(*args)
        later.append(time.perf_counter() - begun)
    return {"first": first, "megabytes": grown, "later": min(later), "value": value}


def main() -> None:
    """Measure one program and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("program", choices=PROGRAMS)
    options = parser.parse_args()
    print(json.dumps(measure(options.library, options.program)))


if __name__ == "__main__":
    main()
