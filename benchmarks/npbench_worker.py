"""Time one kernel of NPBench with one library, in a process of its own.

    python -m benchmarks.npbench_worker anyshape|compiled|numpy|numba|jax FOLDER KERNEL [--seconds N]

Prints lines of JSON, each with all that is known so far: a crash leaves what was measured before it. Times are in
seconds.

- `first`, `steady`: the first call of the kernel, and the least of later ones. Arguments that it writes to are new.
- `first_gradient`, `gradient`: the same of the value with its gradient in all arrays of floats.
- `more`: the first value and gradient at another size.
- `megabytes`: by how much the peak of the process grew in all that.
- `value`, `slope`: to compare libraries: a number of the results, and of the gradient.

JAX runs the rewrites of NPBench. A loop there whose bounds another loop gives has no reverse mode. So it makes as many
trips as the largest array is long, and those out of bounds do nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.first_call import peak_megabytes
from benchmarks.npbench_kernels import Kernel, total

LEAST_CALLS, MOST_CALLS = 3, 2000
VARIANTS = ("numba_n", "numba_o", "numba_np")


class Library(NamedTuple):
    """Parts of a library that time a kernel.

    - `forward`: its compiled function; `gradient`: the compiled value and gradient of a loss.
    - `kernel`, `numpy`: what the loss is made of.
    - `hold`: makes an argument of one call; `wait`: waits for a result.
    """

    forward: Callable[[Kernel], Callable[..., Any]]
    gradient: Callable[[Callable[..., Any], list[int]], Callable[..., Any]] | None
    kernel: Callable[[Kernel], Callable[..., Any]]
    numpy: Any
    hold: Callable[[Any], Any]
    wait: Callable[[Any], Any]


def _copied(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def _plain(kernel: Kernel) -> Callable[..., Any]:
    return kernel.plain


def with_numpy() -> Library:
    """Run the plain text."""
    return Library(_plain, None, _plain, np, _copied, lambda x: x)


def with_numba() -> Library:
    """Run the text for numba, which has no gradients."""

    def forward(kernel: Kernel) -> Callable[..., Any]:
        return kernel.variant(next(v for v in VARIANTS if kernel.has_variant(v)))

    return Library(forward, None, _plain, np, _copied, lambda x: x)


def with_anyshape(**options: str) -> Library:
    """Trace the plain text."""
    library = importlib.import_module("anyshape")
    library.grad(lambda x: (x * x).sum())(np.arange(2.0))  # loads what any first call loads

    def gradient(loss: Callable[..., Any], moving: list[int]) -> Callable[..., Any]:
        step: Callable[..., Any] = library.jit(library.value_and_grad(loss, tuple(moving)), **options)
        return step

    def forward(kernel: Kernel) -> Callable[..., Any]:
        function: Callable[..., Any] = library.jit(kernel.plain, **options)
        return function

    return Library(forward, gradient, _plain, np, _copied, lambda x: x)


def with_jax() -> Library:
    """Compile the text for JAX, with its numbers as constants, in double precision."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jit, lax, numpy = jax.jit, jax.lax, importlib.import_module("jax.numpy")
    jax.block_until_ready(jit(jax.grad(lambda x: (x * x).sum()))(np.arange(2.0)))
    unbounded = lax.fori_loop

    def fori_loop(low: Any, high: Any, body: Callable[..., Any], carry: Any, **options: Any) -> Any:
        if all(not isinstance(bound, jax.core.Tracer) for bound in (low, high)):
            return unbounded(int(low), int(high), body, carry, **options)
        most = max(n for leaf in jax.tree.leaves(carry) for n in leaf.shape)

        def trip(carry: Any, k: Any) -> tuple[Any, None]:
            inside = (k >= low) & (k < high)
            return lax.cond(inside, lambda c: body(k, c), lambda c: c, carry), None

        return lax.scan(trip, carry, numpy.arange(most))[0]

    def kernel_of(kernel: Kernel) -> Callable[..., Any]:
        jax.jit, lax.fori_loop = (lambda function=None, **_: function or (lambda f: f)), fori_loop
        try:
            return kernel.variant("jax")
        finally:
            jax.jit = jit

    def with_constants(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled: list[Any] = []

        def call(*args: Any) -> Any:
            if not compiled:
                constants = tuple([k for k, x in enumerate(args) if not hasattr(x, "shape")])
                compiled.append(jit(function, static_argnums=constants))
            return compiled[0](*args)

        return call

    def gradient(loss: Callable[..., Any], moving: list[int]) -> Callable[..., Any]:
        return with_constants(jax.value_and_grad(loss, tuple(moving)))

    def forward(kernel: Kernel) -> Callable[..., Any]:
        return with_constants(kernel_of(kernel))

    hold = lambda x: numpy.array(x) if isinstance(x, np.ndarray) else x
    return Library(forward, gradient, kernel_of, numpy, hold, jax.block_until_ready)


LIBRARIES: dict[str, Callable[[], Library]] = {
    "numpy": with_numpy,
    "anyshape": with_anyshape,
    "compiled": lambda: with_anyshape(optimize="now", compile="wait"),
    "numba": with_numba,
    "jax": with_jax,
}


def loss_of(library: Library, kernel: Kernel, arrays: list[int]) -> Callable[..., Any]:
    """Return a real function of the arguments, whose arrays stay as they are."""
    function = library.kernel(kernel)

    def loss(*args: Any) -> Any:
        mine = [*args]
        for k in arrays:
            mine[k] = args[k].copy()
        return total(library.numpy, kernel.outputs(function, mine))

    return loss


def timed(call: Callable[..., Any], library: Library, arguments: list[Any]) -> tuple[float, Any]:
    """Return the seconds of one call, and its result, with arguments of its own."""
    args = [library.hold(x) for x in arguments]
    library.wait(args)
    start = time.perf_counter()
    result = library.wait(call(*args))
    return time.perf_counter() - start, result


def least(call: Callable[..., Any], library: Library, arguments: list[Any], seconds: float) -> float:
    """Return the least seconds of calls for some time."""
    end, times = time.perf_counter() + seconds, list[float]()
    while len(times) < LEAST_CALLS or (time.perf_counter() < end and len(times) < MOST_CALLS):
        times.append(timed(call, library, arguments)[0])
        if times[-1] > 2 * seconds:
            break
    return min(times)


def measure(name: str, folder: Path, kernel: Kernel, smaller: Kernel, seconds: float) -> None:
    """Print what is known of a kernel after each part."""
    library, row = LIBRARIES[name](), dict[str, Any]()

    def say(**more: Any) -> None:
        row.update(more)
        print(json.dumps(row), flush=True)

    arguments, (differentiable, moving) = kernel.arguments(), kernel.differentiable()
    peak = peak_megabytes()
    forward = library.forward(kernel)
    held: list[Any] = []
    results = lambda *args: held.append(args) or forward(*args)
    first, result = timed(results, library, arguments)
    parts = [np.asarray(x) for x in kernel.outputs(lambda *_: result, list(held.pop()))]
    say(first=first, value=float(total(np, parts)))
    say(steady=least(forward, library, arguments, seconds))
    if library.gradient is None or not moving:
        say(megabytes=peak_megabytes() - peak)
        return
    arrays = [k for k, x in enumerate(differentiable) if isinstance(x, np.ndarray)]
    step = library.gradient(loss_of(library, kernel, arrays), moving)
    first, (_, slopes) = timed(step, library, differentiable)
    say(first_gradient=first, slope=float(sum(total(np, [np.asarray(x)]) for x in slopes)))
    say(gradient=least(step, library, differentiable, seconds), megabytes=peak_megabytes() - peak)
    if name in ("anyshape", "compiled"):
        say(more=timed(step, library, smaller.differentiable()[0])[0])


def main() -> None:
    """Measure one kernel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("folder", type=Path, help="a checkout of github.com/spcl/npbench")
    parser.add_argument("kernel")
    parser.add_argument("--threads", type=int, help="cores that the process may use")
    parser.add_argument("--seconds", type=float, default=0.5, help="for which a call is repeated (%(default)s)")
    options = parser.parse_args()
    if options.threads and hasattr(os, "sched_setaffinity"):  # not all libraries look at the environment
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    warnings.simplefilter("ignore")
    kernel, smaller = (Kernel(options.folder, options.kernel, bound) for bound in (0, 20))
    measure(options.library, options.folder, kernel, smaller, options.seconds)


if __name__ == "__main__":
    main()
