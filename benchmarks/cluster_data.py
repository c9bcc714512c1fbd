"""Data and functions to measure sums over chunks with. NumPy is all it imports: other interpreters load it too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

WORKERS, CHUNKS, COLUMNS, HIDDEN = 2, 200, 32, 64
LOCAL = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
Tree = dict[str, Any]


def loss(w: Tree, x: Any, y: Any) -> Any:
    """Squared error of a network of one hidden layer, summed over rows."""
    return np.sum((np.tanh(x @ w["a"]) @ w["b"] - y) ** 2)


def by_hand(w: Tree, x: np.ndarray, y: np.ndarray) -> tuple[Any, Tree]:
    """The value and the gradient of the loss, in NumPy."""
    hidden = np.tanh(x @ w["a"])
    error = hidden @ w["b"] - y
    back = np.multiply.outer(2 * error, w["b"])
    back *= 1 - hidden * hidden
    return np.sum(error * error), {"a": x.T @ back, "b": 2 * (error @ hidden)}


def added(parts: Sequence[tuple[Any, Tree]]) -> tuple[Any, Tree]:
    """The sum of values and gradients."""
    return sum(value for value, _ in parts), {name: sum(slope[name] for _, slope in parts) for name in "ab"}


def predicted(w: Tree, x: Any) -> Any:
    """Outputs of the network for each row."""
    return np.tanh(x @ w["a"]) @ w["b"]


def parameters() -> Tree:
    """The weights of the network."""
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=(COLUMNS, HIDDEN)) / 6, "b": rng.normal(size=HIDDEN)}


def sizes(count: int, least: int, most: int) -> list[int]:
    """The rows of each chunk; nearly all differ."""
    return list(np.random.default_rng(1).permutation(np.linspace(least, most, count).astype(int)).tolist())


def chunk(number: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a chunk and their targets."""
    rng = np.random.default_rng([2, number])
    return rng.normal(size=(rows, COLUMNS)), rng.normal(size=rows)


def chunks(count: int, least: int, most: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Chunks of rows and of targets, of unequal lengths."""
    pairs = [chunk(number, rows) for number, rows in enumerate(sizes(count, least, most))]
    return [x for x, _ in pairs], [y for _, y in pairs]
