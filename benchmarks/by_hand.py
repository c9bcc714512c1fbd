"""The workloads written by hand in NumPy, derivatives too.

Whole arrays, and no temporaries where that is natural: what a careful user would write. In float64 they are also what
the results of all libraries are checked against; `benchmarks.reference` checks them against the losses first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import erf

from benchmarks.workloads import ROOT, WIDTH


def call_price(s: Any, k: Any, t: Any, sigma: Any) -> Any:
    """The price with delta, the derivative in the strike, theta and vega, in closed form and in place."""
    root_t = np.sqrt(t)
    drift = sigma * sigma
    drift *= 0.5
    drift += 0.03
    drift *= t
    d1 = s / k
    np.log(d1, out=d1)
    d1 += drift
    root = np.multiply(sigma, root_t, out=drift)
    d1 /= root
    d2 = np.subtract(d1, root, out=root)
    vega = d1 * d1
    vega *= -0.5
    np.exp(vega, out=vega)
    vega *= s
    vega *= 1 / np.sqrt(2 * np.pi)
    theta = vega * sigma
    theta /= root_t
    theta *= 0.5
    vega *= root_t
    n1, n2 = normal(d1), normal(d2)
    discounted = -0.03 * t
    np.exp(discounted, out=discounted)
    discounted *= n2
    paid = np.multiply(k, discounted, out=root_t)
    value = np.vdot(s, n1) - np.sum(paid)
    paid *= 0.03
    theta += paid
    return value, (n1, np.negative(discounted, out=discounted), theta, vega)


def normal(z: Any) -> Any:
    """The distribution function, in the place of its argument."""
    z *= 1 / ROOT
    erf(z, out=z)
    z += 1
    z *= 0.5
    return z


def chained(x: Any) -> Any:
    """Keeps the sines, as what they were taken of is quickly made from the sine before."""
    y, sines = x.copy(), []
    for _ in range(33):
        sines.append(np.sin(y))
        np.multiply(sines[-1], x, out=y)
        y += 0.5
    total, derivative, out = np.sum(y), np.ones_like(x), np.zeros_like(x)
    while sines:
        out += np.multiply(derivative, sines.pop(), out=y)
        derivative *= x
        if sines:
            np.multiply(sines[-1], x, out=y)
            y += 0.5
        derivative *= np.cos(y if sines else x, out=y)
    out += derivative
    return total, out


def attention(params: Sequence[Any], x: Any) -> Any:
    """Scores, weights and their derivatives in place."""
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
    derivatives = [x.T @ (d_scores @ key), x.T @ (d_scores.T @ query), x.T @ (weights.T @ d_mixed), mixed.T @ d_bent]
    return np.mean(y * y), derivatives


def network(params: Sequence[Any], x: Any, labels: Any) -> Any:
    """Run forward, then backward."""
    activations = [x]
    for w, b in params[:-1]:
        x = x @ w
        x += b
        activations.append(np.tanh(x, out=x))
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
    derivatives = []
    for i in range(len(params) - 1, -1, -1):
        derivatives.append((activations[i].T @ p, p.sum(axis=0)))
        if i:
            p = p @ params[i][0].T
            p *= 1 - activations[i] * activations[i]
    return loss, derivatives[::-1]


def waves(x: Any) -> Any:
    """The gradient alone."""
    return np.sin(x) + np.cos(x) * x


def energy(x: Any, k: Any) -> Any:
    """The derivative is 2 sin cos, and zero from k on."""
    sine = np.sin(x[:k])
    out = np.zeros_like(x)
    head = np.cos(x[:k], out=out[:k])
    head *= sine
    head *= 2
    return np.dot(sine, sine), out


def embedded(weights: Any, tokens: Any, y: Any) -> Any:
    """The derivative is a sparse matrix with a one for each token, times the rows: faster than sorting."""
    ones = np.ones(len(tokens))
    chosen = scipy.sparse.csc_array((ones, tokens, np.arange(len(tokens) + 1)), shape=(len(weights), len(tokens)))
    return np.vdot(weights.take(tokens, axis=0), y), chosen @ y


def valley(x: Any, v: Any) -> Any:
    """The Hessian of Rosenbrock's function, which is tridiagonal, times a vector."""
    scaled = 400 * x
    out = 3 * scaled * x
    out += 2
    out[:-1] -= scaled[1:]
    out[-1] = 0
    out[1:] += 200
    out *= v
    beside = scaled[:-1]
    out[:-1] -= beside * v[1:]
    out[1:] -= beside * v[:-1]
    return out


def convolved(w: Any, x: Any) -> Any:
    """The sum of squares of a convolution, and its derivatives by the windows and the images."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    y = np.tensordot(windows, w, ((1, 4, 5), (1, 2, 3)))
    dy = 2 * y
    dw = np.tensordot(dy, windows, ((0, 1, 2), (0, 2, 3)))
    dx = np.zeros_like(x)
    for a, b in np.ndindex(3, 3):
        dx[:, :, a : a + y.shape[1], b : b + y.shape[2]] += np.moveaxis(np.tensordot(dy, w[:, :, a, b], (3, 0)), 3, 1)
    return (y * y).sum(), (dw, dx)


def pair_energy(x: Any) -> Any:
    """Squared distances, with ones on the diagonal, and their inverses in place."""
    apart = x[:, None, :] - x
    inverse = np.einsum("ijk,ijk->ij", apart, apart)
    np.fill_diagonal(inverse, 1)
    np.divide(1, inverse, out=inverse)
    cubes = inverse * inverse * inverse
    slopes = cubes * cubes
    slopes -= cubes
    value = 2 * np.sum(slopes)
    slopes *= -24
    cubes *= 12
    slopes -= cubes
    slopes *= inverse
    slopes *= 2
    return value, np.einsum("ij,ijk->ik", slopes, apart)


def likelihood(weights: Any, means: Any, scales: Any, x: Any) -> Any:
    """The products with responsibilities by BLAS."""
    inverse = np.exp(-scales)
    z = x[:, None, :] - means
    z *= inverse
    scores = np.einsum("nkd,nkd->nk", z, z)
    scores *= -0.5
    scores += weights - np.sum(scales, axis=1)
    most = np.max(scores, axis=1, keepdims=True)
    scores -= most
    np.exp(scores, out=scores)
    sums = np.sum(scores, axis=1, keepdims=True)
    shares = np.exp(weights - np.max(weights))
    total = np.sum(shares)
    value = len(x) * (np.log(total) + np.max(weights)) - np.sum(np.log(sums)) - np.sum(most)
    scores /= sums
    counts = np.sum(scores, axis=0)
    first, second = np.einsum("nk,nkd->kd", scores, z), np.einsum("nk,nkd,nkd->kd", scores, z, z)
    return value, (len(x) / total * shares - counts, -first * inverse, counts[:, None] - second)


BY_HAND: dict[str, Callable[..., Any]] = {
    "attention": attention,
    "black_scholes": call_price,
    "chain": chained,
    "convolution": convolved,
    "mlp_small": network,
    "mlp_large": network,
    "ten": waves,
    "softmax": network,
    "truncated": energy,
    "embedding": embedded,
    "rosenbrock": valley,
    "pairs": pair_energy,
    "mixture": likelihood,
}
