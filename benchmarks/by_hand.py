"""The workloads written by hand in NumPy, derivatives too.

Whole arrays, and no temporaries where that is natural: what a careful user would write. In float64 they are also what
the results of all libraries are checked against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import erf

from benchmarks.workloads import ROOT, WIDTH


def call_price(s: Any, k: Any, t: Any, sigma: Any) -> Any:
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


def chained(x: Any) -> Any:
    """Keeps what it needs."""
    y, kept = x, []
    for _ in range(33):
        kept.append(y)
        y = np.sin(y) * x + 0.5
    total, slope, out = np.sum(y), np.ones_like(x), np.zeros_like(x)
    for z in reversed(kept):
        out += slope * np.sin(z)
        slope = slope * x * np.cos(z)
    return total, out + slope


def attention(params: Sequence[Any], x: Any) -> Any:
    """Scores, weights and their slopes in place."""
    wq, wk, wv, wo = params
    n = len(x)
    query, key, value = x @ wq, x @ wk, x @ wv
    weights = query @ key.T
    weights *= WIDTH**-0.5
    weights[~np.tri(n, dtype=bool)] = -1e9
    weights -= np.max(weights, axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= np.sum(weights, axis=1, keepdims=True)
    mixed = weights @ value
    bent = mixed @ wo
    np.tanh(bent, out=bent)
    y = x + bent
    d_bent = y * (2 / y.size)
    d_bent *= 1 - bent * bent
    d_mixed = d_bent @ wo.T
    d_scores = d_mixed @ value.T
    d_scores -= np.sum(d_scores * weights, axis=1, keepdims=True)
    d_scores *= weights
    d_scores *= WIDTH**-0.5
    slopes = [x.T @ (d_scores @ key), x.T @ (d_scores.T @ query), x.T @ (weights.T @ d_mixed), mixed.T @ d_bent]
    return np.mean(y * y), slopes


def network(params: Sequence[Any], x: Any, labels: Any) -> Any:
    """The way up, then down again."""
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
    slopes = []
    for i in range(len(params) - 1, -1, -1):
        slopes.append((kept[i].T @ p, p.sum(axis=0)))
        if i:
            p = p @ params[i][0].T
            p *= 1 - kept[i] * kept[i]
    return loss, slopes[::-1]


def waves(x: Any) -> Any:
    """The gradient alone."""
    return np.sin(x) + np.cos(x) * x


def energy(x: Any, k: Any) -> Any:
    """The slope is 2 sin cos, and zero from k on."""
    sine = np.sin(x[:k])
    out = np.zeros_like(x)
    head = np.cos(x[:k], out=out[:k])
    head *= sine
    head *= 2
    return np.dot(sine, sine), out


def embedded(weights: Any, tokens: Any, y: Any) -> Any:
    """The slope is a sparse matrix with a one for each token, times the rows: faster than sorting."""
    ones = np.ones(len(tokens))
    chosen = scipy.sparse.csc_array((ones, tokens, np.arange(len(tokens) + 1)), shape=(len(weights), len(tokens)))
    return np.sum(weights[tokens] * y), chosen @ y


def valley(x: Any, v: Any) -> Any:
    """The Hessian of Rosenbrock's function times a vector."""
    out = np.zeros_like(x)
    head = x[:-1]
    out[:-1] += (1200 * head**2 - 400 * x[1:] + 2) * v[:-1] - 400 * head * v[1:]
    out[1:] += 200 * v[1:] - 400 * head * v[:-1]
    return out


BY_HAND: dict[str, Callable[..., Any]] = {
    "attention": attention,
    "black_scholes": call_price,
    "chain": chained,
    "mlp_small": network,
    "mlp_large": network,
    "ten": waves,
    "softmax": network,
    "truncated": energy,
    "embedding": embedded,
    "rosenbrock": valley,
}
