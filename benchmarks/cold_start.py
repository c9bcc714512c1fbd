"""One library alone, from its first call on: the gradient of a causal attention block at many lengths.

    python -m benchmarks.cold_start anyshape|numpy|jax|torch [--lengths 60]

Prints one line of JSON:

- seconds for all lengths in turn, with tracing and compiling, without imports,
- the sum of the values, by which libraries are compared,
- seconds of the first call.

The file does not import anyshape at the top, so that an interpreter with another library can run it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

WIDTH = 32


def attention(xp: Any, params: Any, x: Any) -> Any:
    """A causal attention block with a residual, and the mean square of its result. x is (n, WIDTH)."""
    n = x.shape[0]
    query, key, value = x @ params["q"], x @ params["k"], x @ params["v"]
    before = xp.arange(n)[:, None] >= xp.arange(n)[None, :]
    scores = xp.where(before, query @ key.T / WIDTH**0.5, -1e9)
    weights = xp.exp(scores - xp.logsumexp(scores))
    y = x + xp.tanh(weights @ value @ params["o"])
    return (y * y).mean()


class Namespace:
    """Functions of a library that the block calls."""

    def __init__(self, library: Any, logsumexp: Callable[[Any], Any]) -> None:
        self.arange, self.where, self.exp, self.tanh = library.arange, library.where, library.exp, library.tanh
        self.logsumexp = logsumexp


def _rows(library: Any) -> Namespace:
    """NumPy's names."""

    def logsumexp(scores: Any) -> Any:
        top = library.max(scores, axis=1, keepdims=True)
        return library.log(library.sum(library.exp(scores - top), axis=1, keepdims=True)) + top

    return Namespace(library, logsumexp)


def with_anyshape() -> Callable[..., Any]:
    """One program for all lengths."""
    library = importlib.import_module("anyshape")
    xp = _rows(library.numpy)
    return library.value_and_grad(lambda params, x: attention(xp, params, x))


def with_numpy() -> Callable[..., Any]:
    """The value alone, as a floor."""
    return lambda params, x: (attention(_rows(np), params, x), None)


def with_jax() -> Callable[..., Any]:
    """jit, which compiles for each length."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    xp = _rows(importlib.import_module("jax.numpy"))
    step = jax.jit(jax.value_and_grad(lambda params, x: attention(xp, params, x)))
    return lambda params, x: jax.block_until_ready(step(params, x))


def with_torch() -> Callable[..., Any]:
    """torch.compile with dynamic=True."""
    torch = importlib.import_module("torch")
    xp = Namespace(torch, lambda scores: torch.logsumexp(scores, 1, keepdim=True))
    loss = torch.compile(lambda params, x: attention(xp, params, x), dynamic=True)

    def step(params: Any, x: Any) -> Any:
        leaves = {k: torch.from_numpy(v).requires_grad_() for k, v in params.items()}
        value = loss(leaves, torch.from_numpy(x))
        value.backward()
        return value.detach().numpy(), {k: v.grad.numpy() for k, v in leaves.items()}

    return step


LIBRARIES = {"anyshape": with_anyshape, "numpy": with_numpy, "jax": with_jax, "torch": with_torch}


def inputs(count: int) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Parameters, and a sequence for each of `count` distinct lengths in random order."""
    rng = np.random.default_rng(0)
    params = {name: rng.standard_normal((WIDTH, WIDTH)) * WIDTH**-0.5 for name in "qkvo"}
    return params, [rng.standard_normal((int(n), WIDTH)) for n in rng.permutation(np.arange(10, 10 + count))]


def measure(library: str, count: int) -> dict[str, Any]:
    """Seconds for one call at each length, and what the values add up to."""
    step = LIBRARIES[library]()
    params, sequences = inputs(count)
    total, times = 0.0, []
    for x in sequences:
        start = time.perf_counter()
        value, _ = step(params, x)
        times.append(time.perf_counter() - start)
        total += float(value)
    return {"library": library, "seconds": sum(times), "first": times[0], "total": total}


def main() -> None:
    """Measure one library and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--lengths", type=int, default=60)
    options = parser.parse_args()
    print(json.dumps(measure(options.library, options.lengths)))


if __name__ == "__main__":
    main()
