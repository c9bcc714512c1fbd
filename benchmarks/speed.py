"""Speed against NumPy written by hand: value and gradient of workloads that planners and threads can or cannot help.

What is written by hand uses whole arrays and no temporaries where that is natural, as a careful user would.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import erf

import anyshape
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

Call = Callable[[], Any]


def run(effort: Effort, scale: float = 1.0) -> list[Result]:
    """The results of this file; `scale` makes the arrays smaller."""
    workloads = (black_scholes, chain, mlp_small, mlp_large, softmax_regression, rosenbrock)
    return [workload(effort.fewer(2), scale) for workload in workloads]


def compared(name: str, ours: Call, theirs: Call, limit: float | None, effort: Effort) -> Result:
    """The ratio of the two, in turns."""
    agree(ours(), theirs())
    table = interleaved([ours, theirs], effort)
    times = np.median(table, axis=0)
    detail = f"{seconds(times[0])}, by hand {seconds(times[1])}"
    return Result(name, ratio(table[:, 0], table[:, 1]), "x", limit, detail)


def agree(got: Any, expected: Any) -> None:
    """Both computed the same."""
    for g, e in zip(flat(got), flat(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-3 if np.asarray(e).dtype == np.float32 else 1e-7, atol=1e-5)


def flat(tree: Any) -> list[Any]:
    """The arrays of nested tuples and lists."""
    return [x for part in tree for x in flat(part)] if isinstance(tree, (tuple, list)) else [tree]


# -- Black-Scholes -----------------------------------------------------------------------------------------------

ROOT = np.sqrt(2.0)


def normal(z: Any) -> Any:
    """The normal distribution function."""
    return 0.5 * (1 + erf(z / ROOT))


def call_price(s: Any, k: Any, t: Any, sigma: Any) -> Any:
    """The sum of prices of calls at an interest rate of 3 %."""
    root = sigma * np.sqrt(t)
    d1 = (np.log(s / k) + (0.03 + 0.5 * sigma**2) * t) / root
    return np.sum(s * normal(d1) - k * np.exp(-0.03 * t) * normal(d1 - root))


def price_by_hand(s: Any, k: Any, t: Any, sigma: Any) -> Any:
    """The price with delta, the slope in the strike, theta and vega, in closed form."""
    root_t = np.sqrt(t)
    root = sigma * root_t
    d1 = (np.log(s / k) + (0.03 + 0.5 * sigma**2) * t) / root
    d2 = d1 - root
    n1, n2 = 0.5 * (1 + erf(d1 / ROOT)), 0.5 * (1 + erf(d2 / ROOT))
    discounted = np.exp(-0.03 * t)
    density = np.exp(-0.5 * d1 * d1) / np.sqrt(2 * np.pi)
    vega = s * density * root_t
    theta = s * density * sigma / (2 * root_t) + 0.03 * k * discounted * n2
    return np.sum(s * n1 - k * discounted * n2), (n1, -discounted * n2, theta, vega)


def black_scholes(effort: Effort, scale: float) -> Result:
    """Four gradients of a sum of elementwise steps."""
    n, rng = int(1_000_000 * scale), np.random.default_rng(0)
    args = [rng.uniform(*interval, n) for interval in ((80, 120), (80, 120), (0.5, 2), (0.1, 0.4))]
    step = anyshape.value_and_grad(call_price, argnums=(0, 1, 2, 3))
    return compared(f"Black-Scholes, n = {n}", lambda: step(*args), lambda: price_by_hand(*args), 0.55, effort)


# -- a chain -----------------------------------------------------------------------------------------------------


def chained(x: Any) -> Any:
    """100 steps."""
    y = x
    for _ in range(33):
        y = np.sin(y) * x + 0.5
    return np.sum(y)


def chained_by_hand(x: Any) -> Any:
    """The same with its gradient, which keeps what it needs."""
    y, kept = x, []
    for _ in range(33):
        kept.append(y)
        y = np.sin(y) * x + 0.5
    total, slope, out = np.sum(y), np.ones_like(x), np.zeros_like(x)
    for z in reversed(kept):
        out += slope * np.sin(z)
        slope = slope * x * np.cos(z)
    return total, out + slope


def chain(effort: Effort, scale: float) -> Result:
    """A chain of elementwise steps."""
    x = np.random.default_rng(1).uniform(-1, 1, int(1_000_000 * scale))
    step = anyshape.value_and_grad(chained)
    name = f"chain of 100 sin, mul, add, n = {len(x)}"
    return compared(name, lambda: step(x), lambda: chained_by_hand(x), 0.45, effort)


# -- networks ----------------------------------------------------------------------------------------------------


def network(params: Sequence[Any], x: Any, labels: Any) -> Any:
    """The mean cross entropy of a network with tanh layers."""
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    z = x @ w + b
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - np.sum(z * labels, axis=1))


def network_by_hand(params: Sequence[Any], x: Any, labels: Any) -> Any:
    """The same with its gradient."""
    kept = [x]
    for w, b in params[:-1]:
        x = x @ w
        x += b
        kept.append(np.tanh(x, out=x))
    w, b = params[-1]
    z = x @ w
    z += b
    z -= np.max(z, axis=1, keepdims=True)
    p = np.exp(z)
    sums = np.sum(p, axis=1, keepdims=True)
    loss = np.mean(np.log(sums[:, 0]) - np.sum(z * labels, axis=1))
    p /= sums
    p -= labels
    p /= p.dtype.type(len(p))
    grads = []
    for i in range(len(params) - 1, -1, -1):
        grads.append((kept[i].T @ p, p.sum(axis=0)))
        if i:
            p = p @ params[i][0].T
            p *= 1 - kept[i] * kept[i]
    return loss, grads[::-1]


def mlp(name: str, sizes: Sequence[int], batch: int, limit: float, effort: Effort) -> Result:
    """One step of a network of float32."""
    rng = np.random.default_rng(2)
    pairs = list(itertools.pairwise(sizes))
    make = lambda *shape: rng.standard_normal(shape).astype(np.float32) / np.float32(np.sqrt(shape[0]))
    params = [(make(a, b), make(b)) for a, b in pairs]
    x, labels = make(batch, sizes[0]), np.eye(sizes[-1], dtype=np.float32)[rng.integers(sizes[-1], size=batch)]
    step = anyshape.value_and_grad(network)
    return compared(name, lambda: step(params, x, labels), lambda: network_by_hand(params, x, labels), limit, effort)


def mlp_small(effort: Effort, scale: float) -> Result:
    """Calls cost more than arithmetic."""
    return mlp("MLP 64-64-10, batch 32", (64, 64, 10), 32, 1.2, effort)


def mlp_large(effort: Effort, scale: float) -> Result:
    """BLAS costs more than anything."""
    return mlp("MLP 784-512-512-10, batch 512", (784, 512, 512, 10), int(512 * scale), 1.0, effort)


def softmax_regression(effort: Effort, scale: float) -> Result:
    """One wide layer: 256 examples of 1000 features, 200 classes."""
    return mlp("softmax regression 256 x 1000 x 200", (1000, 200), int(256 * scale), 0.8, effort)


# -- second order ------------------------------------------------------------------------------------------------


def valley(x: Any) -> Any:
    """Rosenbrock's function."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def valley_hvp_by_hand(x: Any, v: Any) -> Any:
    """Its Hessian times a vector."""
    out = np.zeros_like(x)
    head, tail = x[:-1], x[1:]
    out[:-1] += (1200 * head**2 - 400 * tail + 2) * v[:-1] - 400 * head * v[1:]
    out[1:] += 200 * v[1:] - 400 * head * v[:-1]
    return out


def rosenbrock(effort: Effort, scale: float) -> Result:
    """A Hessian times a vector."""
    n, rng = 1000, np.random.default_rng(3)
    x, v = rng.standard_normal(n), rng.standard_normal(n)
    product = anyshape.jit(lambda x, v: anyshape.hvp(valley, (x,), (v,)))
    name = f"hvp of Rosenbrock, n = {n}"
    return compared(name, lambda: product(x, v), lambda: valley_hvp_by_hand(x, v), 1.3, effort)
