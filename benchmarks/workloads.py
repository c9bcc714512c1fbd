"""The workloads that libraries are compared on: their arguments, and their losses in names that most of them share.

A loss takes the names of a library first (`np`: its namespace like NumPy's, `erf`). Nothing here needs anyshape, so
that an interpreter with another library can use it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Limit:
    """Upper bound of a measurement of anyshape, or of its tier `by` with machine code, "compiled".

    `of` is "steady", the time of a sweep, "first", the time of the first sweep with tracing and compiling, or "memory".
    `to` is the library whose time divides it. Without one it is in seconds. Memory is the growth of all arrays per byte
    of arguments and results.
    """

    at_most: float
    of: str = "steady"
    to: str | None = "numpy"
    by: str = "anyshape"


@dataclass(frozen=True)
class Workload:
    """A function, what of it is computed ("value_and_grad", "grad" or "hvp"), and sweeps of arguments.

    `make(scale, more)` gives the arguments of each call of a sweep; with `more` above 0, of sizes that are not among
    those. `wrt` are the arguments that gradients are taken in.
    """

    title: str
    loss: Callable[..., Any]
    make: Callable[[float, int], list[Arguments]]
    limits: tuple[Limit, ...]
    wrt: tuple[int, ...] = (0,)
    computes: str = "value_and_grad"


def leaves(tree: Any) -> Iterator[Any]:
    """The arrays of nested tuples and lists."""
    if isinstance(tree, (tuple, list)):
        for part in tree:
            yield from leaves(part)
    else:
        yield tree


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Nested tuples and lists with a function applied to each array."""
    if isinstance(tree, (tuple, list)):
        return type(tree)(mapped(function, part) for part in tree)
    return function(tree)


# -- Black-Scholes -----------------------------------------------------------------------------------------------

ROOT = 2.0**0.5


def call_price(lib: Any, s: Any, k: Any, t: Any, sigma: Any) -> Any:
    """The sum of prices of calls at an interest rate of 3 %."""
    np = lib.np

    def normal(z: Any) -> Any:
        return 0.5 * (1 + lib.erf(z / ROOT))

    root = sigma * np.sqrt(t)
    d1 = (np.log(s / k) + (0.03 + 0.5 * sigma**2) * t) / root
    return np.sum(s * normal(d1) - k * np.exp(-0.03 * t) * normal(d1 - root))


def options(scale: float, more: int) -> list[Arguments]:
    """Prices, strikes, times and volatilities."""
    n, rng = int(1_000_000 * scale) + more, np.random.default_rng(0)
    return [tuple([rng.uniform(*interval, n) for interval in ((80, 120), (80, 120), (0.5, 2), (0.1, 0.4))])]


# -- a chain -----------------------------------------------------------------------------------------------------


def chained(lib: Any, x: Any) -> Any:
    """100 steps."""
    y = x
    for _ in range(33):
        y = lib.np.sin(y) * x + 0.5
    return lib.np.sum(y)


def long_vector(scale: float, more: int) -> list[Arguments]:
    """One array."""
    return [(np.random.default_rng(1).uniform(-1, 1, int(1_000_000 * scale) + more),)]


# -- a convolution ------------------------------------------------------------------------------------------------


def by_shifts(np: Any) -> Callable[[Any, Any], Any]:
    """A convolution of images with windows of 3 x 3, for libraries without one."""

    def conv(x: Any, w: Any) -> Any:
        rows, columns = x.shape[2] - 2, x.shape[3] - 2
        parts = [
            np.einsum("ncij,oc->noij", x[:, :, a : a + rows, b : b + columns], w[:, :, a, b])
            for a in range(3)
            for b in range(3)
        ]
        return sum(parts[1:], parts[0])

    return conv


def convolved(lib: Any, w: Any, x: Any) -> Any:
    """The sum of squares of images of 8 channels convolved with 16 windows."""
    y = lib.conv(x, w)
    return (y * y).sum()


def images(scale: float, more: int) -> list[Arguments]:
    """Windows, and images of 48 by 48."""
    rng = np.random.default_rng(4)
    n = max(int(48 * scale), 3) + more
    return [(rng.standard_normal((16, 8, 3, 3)), rng.standard_normal((4, 8, n, n)))]


# -- attention ---------------------------------------------------------------------------------------------------

WIDTH = 64


def attention(lib: Any, params: Sequence[Any], x: Any) -> Any:
    """A causal attention block with a residual, and the mean square of its result. x is (n, WIDTH)."""
    np = lib.np
    n = x.shape[0]
    query, key, value = (x @ w for w in params[:3])
    position = np.arange(n)
    before = position[:, None] >= position[None, :]
    scores = np.where(before, query @ key.T * WIDTH**-0.5, -1e9)
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    weights = weights / np.sum(weights, axis=1, keepdims=True)
    y = x + np.tanh(weights @ value @ params[3])
    return np.mean(y * y)


def sequences(scale: float, more: int) -> list[Arguments]:
    """60 lengths from 5 to 300 in random order, or one beyond them."""
    rng = np.random.default_rng(0)
    lengths = rng.permutation(np.linspace(5, 300 * min(1.0, scale * 10), max(3, int(60 * min(1.0, scale * 10)))))
    make = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
    params = [make(WIDTH, WIDTH) * np.float32(WIDTH**-0.5) for _ in range(4)]
    return [(params, make(int(n), WIDTH)) for n in (lengths if not more else [max(lengths) + more])]


# -- networks ----------------------------------------------------------------------------------------------------


def network(lib: Any, params: Sequence[Any], x: Any, labels: Any) -> Any:
    """The mean cross entropy of a network with tanh layers."""
    np = lib.np
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    z = x @ w + b
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - np.sum(z * labels, axis=1))


def layers(*sizes: int, batch: int) -> Callable[[float, int], list[Arguments]]:
    """Weights and biases of float32, examples and their labels."""

    def make(scale: float, more: int) -> list[Arguments]:
        rng = np.random.default_rng(2)
        n = max(1, int(batch * min(1.0, scale * 10))) + more
        matrix = lambda *shape: rng.standard_normal(shape, dtype=np.float32) / np.float32(shape[0] ** 0.5)
        params = [(matrix(a, b), matrix(b)) for a, b in itertools.pairwise(sizes)]
        labels = np.eye(sizes[-1], dtype=np.float32)[rng.integers(sizes[-1], size=n)]
        return [(params, matrix(n, sizes[0]), labels)]

    return make


# -- small, dynamic and second order -----------------------------------------------------------------------------


def waves(lib: Any, x: Any) -> Any:
    """Little work: calls cost more than arithmetic."""
    return lib.np.sum(lib.np.sin(x) * x)


def ten(scale: float, more: int) -> list[Arguments]:
    """Ten elements."""
    return [(np.linspace(0, 1, 10 + more),)]


def energy(lib: Any, x: Any, k: Any) -> Any:
    """The energy of the first k elements."""
    return lib.np.sum(lib.np.sin(x[:k]) ** 2)


def truncated(scale: float, more: int) -> list[Arguments]:
    """One array, and an end that is another one on each call."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(int(100_000 * scale) + more)
    ends = rng.integers(len(x) // 2, len(x) + 1, 1 if more else 8)
    return [(x, np.int64(k)) for k in ends]


def embedded(lib: Any, weights: Any, tokens: Any, y: Any) -> Any:
    """Rows of a table, weighted and added."""
    return lib.np.sum(weights[tokens] * y)


def table(scale: float, more: int) -> list[Arguments]:
    """A table of 20,000 rows of 64, and 3,000 tokens."""
    rng = np.random.default_rng(2)
    rows, count = max(5, int(20_000 * scale)), max(2, int(3_000 * scale)) + more
    weights, y = rng.standard_normal((rows, 64)), rng.standard_normal((count, 64))
    return [(weights, rng.integers(rows, size=count), y)]


def valley(lib: Any, x: Any) -> Any:
    """Rosenbrock's function."""
    return lib.np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def directions(scale: float, more: int) -> list[Arguments]:
    """Return the point and the vector of a Hessian product."""
    n, rng = 1000 + more, np.random.default_rng(3)
    return [(rng.standard_normal(n), rng.standard_normal(n))]


# -- pairs of particles, and mixtures ----------------------------------------------------------------------------


def pair_energy(lib: Any, x: Any) -> Any:
    """The Lennard-Jones energy of particles, over all pairs."""
    np = lib.np
    position = np.arange(x.shape[0])
    itself = position[:, None] == position[None, :]
    apart = x[:, None, :] - x[None, :, :]
    squares = np.where(itself, 1.0, np.sum(apart * apart, axis=2))
    inverse = 1 / (squares * squares * squares)
    return np.sum(np.where(itself, 0.0, 4 * (inverse * inverse - inverse))) / 2


def particles(scale: float, more: int) -> list[Arguments]:
    """400 particles near the points of a grid."""
    n, rng = max(2, int(400 * scale)) + more, np.random.default_rng(5)
    side = int(np.ceil(n ** (1 / 3)))
    grid = np.stack(np.unravel_index(np.arange(n), (side,) * 3), axis=1)
    return [(1.1 * grid + rng.uniform(-0.1, 0.1, (n, 3)),)]


def likelihood(lib: Any, weights: Any, means: Any, scales: Any, x: Any) -> Any:
    """The negative log likelihood of a mixture of normal distributions, with logarithms of weights and of scales."""
    np = lib.np
    z = (x[:, None, :] - means) * np.exp(-scales)
    scores = weights - np.sum(scales, axis=1) - 0.5 * np.sum(z * z, axis=2)
    most, whole = np.max(scores, axis=1), np.max(weights)
    total = np.log(np.sum(np.exp(weights - whole))) + whole
    return x.shape[0] * total - np.sum(np.log(np.sum(np.exp(scores - most[:, None]), axis=1)) + most)


def mixture(scale: float, more: int) -> list[Arguments]:
    """Eight normal distributions in four dimensions, and 20,000 points."""
    n, rng = max(2, int(20_000 * scale)) + more, np.random.default_rng(6)
    params = rng.standard_normal(8), 2 * rng.standard_normal((8, 4)), 0.3 * rng.standard_normal((8, 4))
    return [(*params, 2 * rng.standard_normal((n, 4)))]


# The attention sweep is first: what a process loads when it is asked for the first time is part of a cold sweep.
WORKLOADS = {
    "attention": Workload(
        "causal attention d = 64, 60 lengths",
        attention,
        sequences,
        (
            Limit(0.75),
            Limit(1.0, to="jax"),
            Limit(0.25, "first", None),
            Limit(1 / 50, "first", "jax"),
            Limit(0.75, by="compiled"),
        ),
    ),
    "black_scholes": Workload(
        "Black-Scholes, n = 1e6",
        call_price,
        options,
        (
            Limit(0.5),
            Limit(0.7, to="jax"),
            Limit(0.15, by="compiled"),
            Limit(0.3, to="torch.compile", by="compiled"),
        ),
        (0, 1, 2, 3),
    ),
    "convolution": Workload(
        "convolution 4 x 48 x 48, 8 to 16 channels", convolved, images, (Limit(1.0, to="torch"),), (0, 1)
    ),
    "chain": Workload(
        "chain of 100 sin, mul, add, n = 1e6",
        chained,
        long_vector,
        (
            Limit(0.45),
            Limit(1.0, to="jax"),
            Limit(1.1, "memory", None),
            Limit(0.3, to="jax", by="compiled"),
            Limit(1.1, to="torch.compile", by="compiled"),
        ),
    ),
    "mlp_small": Workload("MLP 64-64-10, batch 32", network, layers(64, 64, 10, batch=32), (Limit(1.2),)),
    "mlp_large": Workload(
        "MLP 784-512-512-10, batch 512",
        network,
        layers(784, 512, 512, 10, batch=512),
        (Limit(1.0), Limit(1.0, by="compiled")),
    ),
    "ten": Workload(
        "grad of sum(sin(x) * x), n = 10",
        waves,
        ten,
        (Limit(1.4), Limit(1.0, to="jax"), Limit(1.05, to="anyshape", by="compiled")),
        computes="grad",
    ),
    "softmax": Workload(
        "softmax regression 256 x 1000 x 200",
        network,
        layers(1000, 200, batch=256),
        (Limit(0.8), Limit(0.75, by="compiled")),
    ),
    "truncated": Workload(
        "sum(sin(x[:k])**2), n = 1e5, 8 ends k", energy, truncated, (Limit(0.6), Limit(0.15, by="compiled"))
    ),
    "embedding": Workload("embedding, 3,000 of 20,000 x 64", embedded, table, (Limit(0.8), Limit(0.8, by="compiled"))),
    "rosenbrock": Workload("hvp of Rosenbrock, n = 1,000", valley, directions, (Limit(1.3),), computes="hvp"),
    "pairs": Workload(
        "Lennard-Jones, n = 400", pair_energy, particles, (Limit(3.0, to="jax"), Limit(1.0, to="jax", by="compiled"))
    ),
    "mixture": Workload(
        "mixture of normals, n = 20,000",
        likelihood,
        mixture,
        (Limit(1.5, to="jax"), Limit(1.0, to="jax", by="compiled")),
        (0, 1, 2),
    ),
}
