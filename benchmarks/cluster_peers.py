"""Passes over unequal chunks by other libraries, on this process and on Dask, as their users write them.

    python -m benchmarks.cluster_peers ROWS COUNT

The interpreter has jax or autograd, and distributed. `benchmarks.cluster` runs it and reads the JSON that it prints.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.cluster_data import LOCAL, Tree, added, chunks, parameters

PASSES = 3  # after the first


def has(name: str) -> bool:
    """True for a package that is installed."""
    return importlib.util.find_spec(name) is not None


@cache
def jitted() -> Any:
    """The value and gradient by JAX, one for each process: it compiles for every size."""
    jax, jnp = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    jax.config.update("jax_enable_x64", True)
    return jax.jit(jax.value_and_grad(lambda w, x, y: jnp.sum((jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)))


def by_jax(w: Tree, x: np.ndarray, y: np.ndarray) -> tuple[Any, Tree]:
    """The value and gradient of a chunk by `jax.jit`."""
    value, slope = jitted()(w, x, y)
    return float(value), {name: np.asarray(part) for name, part in slope.items()}


def compiled() -> int:
    """The number of sizes that this process has compiled for."""
    return int(jitted()._cache_size())


@cache
def recording() -> Any:
    """The value and gradient by autograd."""
    autograd, anp = importlib.import_module("autograd"), importlib.import_module("autograd.numpy")
    return autograd.value_and_grad(lambda w, x, y: anp.sum((anp.tanh(anp.dot(x, w["a"])) @ w["b"] - y) ** 2))


def by_autograd(w: Tree, x: np.ndarray, y: np.ndarray) -> tuple[Any, Tree]:
    """The value and gradient of a chunk by autograd."""
    value, slope = recording()(w, x, y)
    return float(value), dict(slope)


def timed(call: Callable[[], tuple[Any, Tree]]) -> dict[str, float]:
    """Seconds of the first pass and of the best later one, and the value."""
    seconds, result = [], None
    for _ in range(1 + PASSES):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    assert result is not None
    return {"first": seconds[0], "later": min(seconds[1:]), "value": float(result[0])}


def on_dask(client: Any, function: Callable[..., Any], x: list[Any], y: list[Any]) -> dict[str, float]:
    """A task for each chunk that workers have, and their sum."""
    w, there = parameters(), list(zip(client.scatter(x, hash=False), client.scatter(y, hash=False), strict=True))

    def one_pass() -> Any:
        shared = client.scatter([w], broadcast=True, hash=False)[0]
        return client.submit(added, [client.submit(function, shared, *pair, pure=False) for pair in there]).result()

    return timed(one_pass)


def main(rows: int, count: int) -> dict[str, dict[str, float]]:
    """The times of each library in this process and on two workers."""
    x, y = chunks(count, rows // 2, 3 * rows // 2)
    functions = {"jax.jit": by_jax} if has("jax") else {}
    functions |= {"autograd": by_autograd} if has("autograd") else {}
    w, results = parameters(), {}
    for name, function in functions.items():
        results[name] = timed(lambda f=function: added([f(w, *pair) for pair in zip(x, y, strict=True)]))
    if "jax.jit" in results:
        results["jax.jit"]["compiled"] = compiled()
    if functions and has("distributed"):
        distributed = importlib.import_module("distributed")
        with distributed.LocalCluster(**LOCAL) as cluster, distributed.Client(cluster) as client:
            for name, function in functions.items():
                results[f"{name} on Dask"] = on_dask(client, function, x, y)
            if "jax.jit" in functions:
                results["jax.jit on Dask"]["compiled"] = sum(client.run(compiled).values())
    return results


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
