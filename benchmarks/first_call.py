"""The first call of one program by one library, in a process of its own.

    python -m benchmarks.first_call anyshape|jax|autograd PROGRAM SIZE [--gradient]

Prints one line of JSON:

- CPU seconds of the first call, with tracing and compiling, without imports,
- the megabytes by which the peak of the process grew,
- seconds of a later call.

The file does not import anyshape at the top, so that an interpreter with another library can run it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LATER = 7  # calls after the first; the fastest counts

# -- programs: functions of a library's NumPy and a size, and their arguments -------------------------------------


def elementwise(xp: Any, ops: int) -> Callable[..., Any]:
    """A chain of elementwise ops."""

    def loss(x: Any) -> Any:
        for i in range(ops // 2):
            x = xp.sin(x) * 0.9 if i % 2 else x * 1.01 + 0.1
        return x.sum()

    return loss


def matmul(xp: Any, ops: int) -> Callable[..., Any]:
    """A chain of matrix products."""

    def loss(x: Any) -> Any:
        y = x
        for _ in range(ops):
            y = y @ x
        return y.sum()

    return loss


def recurrent(xp: Any, ops: int) -> Callable[..., Any]:
    """A recurrent layer over the rows of an array, five ops for each."""

    def loss(w: Any, u: Any, x: Any) -> Any:
        h = x[0] @ w
        for t in range(1, ops // 5):
            h = xp.tanh(x[t] @ w + h @ u)
        return (h * h).sum()

    return loss


def wide(xp: Any, ops: int) -> Callable[..., Any]:
    """A sum over a list of parameters, four ops for each."""

    def loss(params: Any, x: Any) -> Any:
        total = 0.0
        for p in params:
            total = total + ((x * p) ** 2).sum()
        return total

    return loss


def wide_dict(xp: Any, ops: int) -> Callable[..., Any]:
    """A sum over a dict of parameters, four ops for each."""
    of_list = wide(xp, ops)
    return lambda params, x: of_list(list(params.values()), x)


def runge_kutta(xp: Any, steps: int) -> Callable[..., Any]:
    """Unrolled steps of a damped pendulum."""

    def derivative(y: Any) -> Any:
        return xp.stack([y[1], -xp.sin(y[0]) - 0.1 * y[1]])

    def loss(y: Any) -> Any:
        h = 0.01
        for _ in range(steps):
            a = derivative(y)
            b = derivative(y + h / 2 * a)
            c = derivative(y + h / 2 * b)
            d = derivative(y + h * c)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
        return (y**2).sum()

    return loss


def bodies(xp: Any, size: int) -> Callable[..., Any]:
    """A step of bodies that attract each other."""

    def loss(pos: Any, vel: Any, mass: Any) -> Any:
        d = pos[None, :, :] - pos[:, None, :]
        r2 = (d**2).sum(-1) + 1e-3
        acc = (d * (mass[None, :] * r2**-1.5)[:, :, None]).sum(1)
        vel = vel + 0.01 * acc
        pos = pos + 0.01 * vel
        return (vel**2).sum() + (pos**2).sum()

    return loss


def diffusion(xp: Any, size: int) -> Callable[..., Any]:
    """Horizontal diffusion with a flux limiter, a stencil of slices whose sizes are differences."""

    def loss(f: Any, c: Any) -> Any:
        i, j = f.shape[0] - 4, f.shape[1] - 4
        sides = f[2 : i + 4, 1 : j + 3] + f[0 : i + 2, 1 : j + 3] + f[1 : i + 3, 2 : j + 4] + f[1 : i + 3, 0 : j + 2]
        lap = 4.0 * f[1 : i + 3, 1 : j + 3] - sides
        flux = lap[1:, 1 : j + 1] - lap[:-1, 1 : j + 1]
        down = xp.where(flux * (f[2 : i + 3, 2 : j + 2] - f[1 : i + 2, 2 : j + 2]) > 0, 0, flux)
        flux = lap[1 : i + 1, 1:] - lap[1 : i + 1, :-1]
        across = xp.where(flux * (f[2 : i + 2, 2 : j + 3] - f[2 : i + 2, 1 : j + 2]) > 0, 0, flux)
        return (f[2 : i + 2, 2 : j + 2] - c * (down[1:] - down[:-1] + across[:, 1:] - across[:, :-1])).sum()

    return loss


def fluid(xp: Any, size: int) -> Callable[..., Any]:
    """A step of a fluid in a box, with three sweeps for its pressure."""

    def loss(u: Any, v: Any, p: Any) -> Any:
        dx, dt = 0.1, 0.01
        b = ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)) / dt
        for _ in range(3):
            p = xp.pad((p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]) / 4 - dx * dx / 4 * b, 1)
        inside = u[1:-1, 1:-1]
        moved = inside * dt / dx * (inside - u[1:-1, :-2]) + v[1:-1, 1:-1] * dt / dx * (inside - u[:-2, 1:-1])
        inside = inside - moved - dt / (2 * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
        return (inside**2).sum()

    return loss


def ten_ops(xp: Any, size: int) -> Callable[..., Any]:
    """Ten ops."""
    return lambda x: (xp.tanh(xp.exp(-x * x) + 1.0) * x - xp.sin(x) / (1.0 + x * x)).sum()


class Program(NamedTuple):
    """A program, its arguments at a size, and the shapes to declare for the sizes undeclared otherwise."""

    function: Callable[[Any, int], Callable[..., Any]]
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]
    declared: dict[str, str]


def _vector(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (np.linspace(0.0, 1.0, 10),)


def _params(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    return [rng.standard_normal(3) for _ in range(n)]


PROGRAMS = {
    "elementwise": Program(elementwise, _vector, {}),
    "matmul": Program(matmul, lambda rng, n: (np.roll(np.eye(4), 1, axis=0),), {}),
    "rnn": Program(
        recurrent, lambda rng, n: (*(0.3 * rng.standard_normal((2, 4, 4))), rng.standard_normal((n // 5, 4))), {}
    ),
    "wide": Program(wide, lambda rng, n: (_params(rng, n // 4), np.arange(3.0)), {}),
    "list": Program(wide, lambda rng, n: (_params(rng, n), np.arange(3.0)), {}),
    "dict": Program(
        wide_dict, lambda rng, n: ({f"p{i}": p for i, p in enumerate(_params(rng, n))}, np.arange(3.0)), {}
    ),
    "rk4": Program(runge_kutta, lambda rng, n: (rng.standard_normal((2, 3)),), {}),
    "bodies": Program(
        bodies,
        lambda rng, n: (rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), rng.random(n)),
        {"pos": "n, d", "vel": "n, d", "mass": "n"},
    ),
    "diffusion": Program(
        diffusion,
        lambda rng, n: (rng.standard_normal((n + 4, n + 5, 3)), rng.standard_normal((n, n + 1, 3))),
        {"f": "i + 4, j + 4, k", "c": "i, j, k"},
    ),
    "fluid": Program(
        fluid, lambda rng, n: tuple(rng.standard_normal((3, n, n + 1))), {"u": "n, m", "v": "n, m", "p": "n, m"}
    ),
    "ten": Program(ten_ops, _vector, {}),
}

# -- libraries ----------------------------------------------------------------------------------------------------

Call = Callable[..., Any]


def with_anyshape(program: Program, size: int, gradient: bool, declared: bool) -> Call:
    """Trace plain NumPy; with sizes declared on demand."""
    library = importlib.import_module("anyshape")
    library.grad(lambda x: (x * x).sum())(np.arange(2.0))  # loads what any first call loads
    loss = library.jit(program.function(np, size), dynamic_shapes=program.declared if declared else None)
    return library.value_and_grad(loss) if gradient else loss


def with_jax(program: Program, size: int, gradient: bool, declared: bool) -> Call:
    """Compile by `jax.jit`, in double precision."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jax.block_until_ready(jax.jit(jax.grad(lambda x: (x * x).sum()))(np.arange(2.0)))
    loss = program.function(importlib.import_module("jax.numpy"), size)
    step = jax.jit(jax.value_and_grad(loss) if gradient else loss)
    return lambda *args: jax.block_until_ready(step(*args))


def with_autograd(program: Program, size: int, gradient: bool, declared: bool) -> Call:
    """Trace at each call."""
    library = importlib.import_module("autograd")
    xp = importlib.import_module("autograd.numpy")
    loss = program.function(xp, size)
    return library.value_and_grad(loss) if gradient else loss


LIBRARIES: dict[str, Callable[[Program, int, bool, bool], Call]] = {
    "anyshape": with_anyshape,
    "jax": with_jax,
    "autograd": with_autograd,
}


def measure(library: str, name: str, size: int, gradient: bool, declared: bool) -> dict[str, Any]:
    """CPU seconds of the first call, megabytes beyond the peak before it, and seconds of a later call."""
    program = PROGRAMS[name]
    args = program.arguments(np.random.default_rng(0), size)
    call = LIBRARIES[library](program, size, gradient, declared)
    peak, start = peak_megabytes(), time.process_time()
    result = call(*args)
    first, grown = time.process_time() - start, max(0.0, peak_megabytes() - peak)
    later = []
    for _ in range(LATER):
        begun = time.perf_counter()
        call(*args)
        later.append(time.perf_counter() - begun)
    value = float(result[0] if gradient else result)
    overhead = _overhead(call, args) if library == "anyshape" else None
    return {"first": first, "megabytes": grown, "later": min(later), "value": value, "overhead": overhead}


def _overhead(call: Any, args: tuple[Any, ...]) -> float:
    """Seconds of a later call beyond the run of its plan, to read leaves, test guards and build results."""
    (program,) = call.programs()
    leaves = call.leaves(*args).arrays
    rounds = []
    for _ in range(LATER):
        begun = time.perf_counter()
        call(*args)
        between = time.perf_counter()
        program.run(*leaves)
        rounds.append(2 * between - begun - time.perf_counter())
    return float(np.median(rounds))


def peak_megabytes() -> float:
    """The peak of the process in megabytes, without that of the process that started it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def main() -> None:
    """Measure one program and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("size", type=int)
    parser.add_argument("--gradient", action="store_true", help="value and gradient, else the value alone")
    parser.add_argument("--declared", action="store_true", help="declare the sizes that arguments share")
    options = parser.parse_args()
    measured = measure(options.library, options.program, options.size, options.gradient, options.declared)
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
