"""Models of examples that differ in their number of rows, written for one example, padded with masks, and flat.

The file imports no library that takes gradients. As a process, `python -m benchmarks.ragged_models NAME 0`, it answers
for a peer: JAX with the padded models, or torch with nested tensors. See `worker.serve`.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.worker import serve

Model = Callable[..., Any]  # of the parameters and of one example, or of all
Gradient = dict[str, np.ndarray]

WIDTH, HIDDEN, REACH = 8, 16, 5  # numbers in a row, of hidden units, and of rows that a convolution sees
NEVER = -1e30  # below all scores
SHAPES = {
    "attention pooling": {"w": (WIDTH,)},
    "GRU": dict.fromkeys(("update", "reset", "new"), (2 * WIDTH, WIDTH)),
    "convolution + max": {"w": (REACH * WIDTH, HIDDEN)},
    "point cloud": {"first": (WIDTH, HIDDEN), "second": (HIDDEN, HIDDEN)},
    "n x n attention": {"query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH)},
}


class Batch(NamedTuple):
    """Rows of all examples one after the other, and the number of rows of each example."""

    rows: np.ndarray
    lengths: np.ndarray

    @property
    def owners(self) -> np.ndarray:
        """The number of the example of each row."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def examples(self) -> list[np.ndarray]:
        """Return the rows of each example."""
        return np.split(self.rows, np.cumsum(self.lengths)[:-1])

    def padded(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all examples as long as the longest, and where their rows are."""
        mask = np.arange(self.lengths.max()) < self.lengths[:, None]
        array = np.zeros((*mask.shape, WIDTH))
        array[mask] = self.rows
        return array, mask


def batch(examples: int, length: int, seed: int = 0) -> Batch:
    """Return examples with at least one row, spread exponentially."""
    rng = np.random.default_rng((seed, examples, length))
    lengths = np.maximum(1, rng.exponential(length, size=examples).astype(int))
    return Batch(rng.normal(size=(lengths.sum(), WIDTH)), lengths)


def parameters(name: str) -> Gradient:
    """Return the parameters of a model."""
    rng = np.random.default_rng(0)
    return {key: rng.normal(size=shape) / shape[0] ** 0.5 for key, shape in SHAPES[name].items()}


# -- models ------------------------------------------------------------------------------------------------------


def gated(xp: Any, p: Any, h: Any, x: Any) -> Any:
    """Return the next state of a gated recurrent unit, for one example or for each."""
    logistic = lambda y: 1 / (1 + xp.exp(-y))
    both = xp.concatenate([h, x], axis=-1)
    z, r = logistic(both @ p["update"]), logistic(both @ p["reset"])
    return (1 - z) * h + z * xp.tanh(xp.concatenate([r * h, x], axis=-1) @ p["new"])


def points(xp: Any, p: Any, x: Any) -> Any:
    """Return features of each point by itself."""
    return xp.tanh(xp.tanh(x @ p["first"]) @ p["second"])


def by_example(xp: Any, scan: Any) -> dict[str, Model]:
    """Return the models of one example, by the functions of a module."""

    def pooling(p: Any, x: Any) -> Any:
        scores = x @ p["w"]
        e = xp.exp(scores - scores.max())
        return (e @ x) / e.sum()

    def recurrent(p: Any, x: Any) -> Any:
        return scan(lambda h, v: (gated(xp, p, h, v), None), xp.zeros(WIDTH), x)[0]

    def convolution(p: Any, x: Any) -> Any:
        before = xp.concatenate([xp.zeros((REACH - 1, WIDTH)), x])
        seen = xp.concatenate([before[i : x.shape[0] + i] for i in range(REACH)], axis=1)
        return xp.tanh(seen @ p["w"]).max(0)

    def attention(p: Any, x: Any) -> Any:
        scores = (x @ p["query"]) @ (x @ p["key"]).T
        e = xp.exp(scores - scores.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True) @ x).mean(0)

    return dict(zip(SHAPES, (pooling, recurrent, convolution, lambda p, x: points(xp, p, x).max(0), attention)))


def padded(xp: Any, scan: Any) -> dict[str, Model]:
    """Return the models of padded examples and their mask, by the functions of a module."""

    def weights(scores: Any, mask: Any) -> Any:
        scores = xp.where(mask, scores, NEVER)
        e = xp.where(mask, xp.exp(scores - scores.max(-1, keepdims=True)), 0.0)
        return e / e.sum(-1, keepdims=True)

    def pooling(p: Any, x: Any, mask: Any) -> Any:
        return (weights(x @ p["w"], mask)[:, None, :] @ x)[:, 0]

    def recurrent(p: Any, x: Any, mask: Any) -> Any:
        def step(h: Any, now: Any) -> Any:
            v, there = now
            return xp.where(there[:, None], gated(xp, p, h, v), h), None

        return scan(step, xp.zeros((x.shape[0], WIDTH)), (xp.swapaxes(x, 0, 1), xp.swapaxes(mask, 0, 1)))[0]

    def convolution(p: Any, x: Any, mask: Any) -> Any:
        before = xp.concatenate([xp.zeros((x.shape[0], REACH - 1, WIDTH)), x], axis=1)
        seen = xp.concatenate([before[:, i : x.shape[1] + i] for i in range(REACH)], axis=2)
        return xp.where(mask[..., None], xp.tanh(seen @ p["w"]), NEVER).max(1)

    def cloud(p: Any, x: Any, mask: Any) -> Any:
        return xp.where(mask[..., None], points(xp, p, x), NEVER).max(1)

    def attention(p: Any, x: Any, mask: Any) -> Any:
        scores = (x @ p["query"]) @ xp.swapaxes(x @ p["key"], 1, 2)
        each = weights(scores, mask[:, None, :]) @ x
        return xp.where(mask[..., None], each, 0.0).sum(1) / mask.sum(1)[:, None]

    return dict(zip(SHAPES, (pooling, recurrent, convolution, cloud, attention)))


def flat(xp: Any, segment_sum: Any, segment_max: Any) -> dict[str, Model]:
    """Return the models of the rows of all examples, their owners and lengths, where such a form is natural."""

    def pooling(p: Any, x: Any, owners: Any, lengths: Any) -> Any:
        examples, scores = lengths.shape[0], x @ p["w"]
        e = xp.exp(scores - segment_max(scores, owners, examples)[owners])
        return segment_sum(e[:, None] * x, owners, examples) / segment_sum(e, owners, examples)[:, None]

    def convolution(p: Any, x: Any, owners: Any, lengths: Any) -> Any:
        row = xp.arange(x.shape[0])
        at = row - (xp.cumsum(lengths) - lengths)[owners]
        back = range(REACH - 1, -1, -1)
        seen = [xp.where((at >= k)[:, None], x[xp.maximum(row - k, 0)], 0.0) for k in back]
        return segment_max(xp.tanh(xp.concatenate(seen, axis=1) @ p["w"]), owners, lengths.shape[0])

    def cloud(p: Any, x: Any, owners: Any, lengths: Any) -> Any:
        return segment_max(points(xp, p, x), owners, lengths.shape[0])

    return {"attention pooling": pooling, "convolution + max": convolution, "point cloud": cloud}


def nested(torch: Any) -> dict[str, Model]:
    """Return the models of nested tensors of torch. The others use functions that these lack."""

    def pooling(p: Any, x: Any) -> Any:
        e = torch.exp(torch.matmul(x, p["w"][:, None]))
        return (e * x).sum(1) / e.sum(1)

    def cloud(p: Any, x: Any) -> Any:
        return torch.amax(torch.tanh(torch.matmul(torch.tanh(torch.matmul(x, p["first"])), p["second"])), 1)

    def attention(p: Any, x: Any) -> Any:
        heads = [y.unsqueeze(2).transpose(1, 2) for y in (x @ p["query"], x @ p["key"], x)]
        each = torch.nn.functional.scaled_dot_product_attention(*heads, scale=1.0)
        return each.transpose(1, 2).squeeze(2).mean(1)

    return {"attention pooling": pooling, "point cloud": cloud, "n x n attention": attention}


# -- peers -------------------------------------------------------------------------------------------------------


def with_jax(name: str, examples: Batch) -> Callable[[], Gradient]:
    """Return what computes the gradient by JAX, in double precision."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    model = padded(jax.numpy, jax.lax.scan)[name]
    step = jax.jit(jax.grad(lambda p, x, mask: (model(p, x, mask) ** 2).sum()))
    p, (x, mask) = jax.tree.map(jax.numpy.asarray, parameters(name)), map(jax.numpy.asarray, examples.padded())
    return lambda: {key: np.asarray(y) for key, y in jax.block_until_ready(step(p, x, mask)).items()}


def with_torch(name: str, examples: Batch) -> Callable[[], Gradient]:
    """Return what computes the gradient by nested tensors of torch."""
    torch = importlib.import_module("torch")
    models = nested(torch)
    if name not in models:
        raise LookupError("not written for nested tensors")
    model = models[name]
    p = {key: torch.tensor(x, requires_grad=True) for key, x in parameters(name).items()}
    x = torch.nested.nested_tensor([torch.tensor(x) for x in examples.examples()], layout=torch.jagged)

    def call() -> Gradient:
        slopes = torch.autograd.grad((model(p, x) ** 2).sum(), [*p.values()])
        return {key: y.numpy() for key, y in zip(p, slopes, strict=True)}

    return call


PEERS = {"jax": with_jax, "torch": with_torch}


class Server:
    """Answer for a peer."""

    def __init__(self, library: str) -> None:
        self.make = PEERS[library]

    def first(self, name: str, examples: int, length: int) -> Gradient:
        """Make the gradient of a model of a batch, and return it."""
        self.call = self.make(name, batch(examples, length))
        return self.call()

    def turn(self, number: int) -> float:
        """Return the seconds of a call, of several."""
        start = time.perf_counter()
        for _ in range(number):
            self.call()
        return (time.perf_counter() - start) / number


def main(arguments: Sequence[str]) -> None:
    """Answer until nobody asks any more."""
    serve(arguments[0], int(arguments[1]), Server)


if __name__ == "__main__":
    main(sys.argv[1:])
