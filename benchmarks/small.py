"""Measure the overhead of a call and of each op beyond its NumPy call: small programs, and logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

import anyshape
from benchmarks import peers
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

FEATURES = 20


def run(effort: Effort) -> list[Result]:
    """The results of this file."""
    results = []
    for n, limit in ((10, 1.2), (100_000, 1.2)):
        results += logistic(n, limit, effort)
    return [*results, *ten_elements(effort), *replay(effort)]


# -- logistic regression -----------------------------------------------------------------------------------------


def logistic_loss(w: Any, x: Any, y: Any) -> Any:
    """The mean negative log likelihood of labels y in {0, 1}."""
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z)


def logistic_by_hand(w: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The loss and its gradient."""
    z = x @ w
    residual = expit(z)
    residual -= y
    residual /= len(y)
    return np.mean(np.logaddexp(0.0, z) - y * z), x.T @ residual


def biased_loss(params: Any, x: Any, y: Any) -> Any:
    """The same loss with a bias, of parameters in a dict."""
    z = x @ params["w"] + params["b"]
    return np.mean(np.logaddexp(0.0, z) - y * z)


def biased_by_hand(params: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The loss and its gradient."""
    z = x @ params["w"] + params["b"]
    residual = expit(z)
    residual -= y
    residual /= len(y)
    return np.mean(np.logaddexp(0.0, z) - y * z), {"w": x.T @ residual, "b": residual.sum()}


def logistic(n: int, limit: float, effort: Effort) -> list[Result]:
    """value_and_grad against the hand-written one, with plain arrays and with a dict of parameters."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((n, FEATURES)), (rng.random(n) < 0.5).astype(float)
    w = rng.standard_normal(FEATURES)
    params = {"w": w, "b": np.array(0.5)}
    plain, tree = anyshape.value_and_grad(logistic_loss), anyshape.value_and_grad(biased_loss)
    (value, derivative), (expected, by_hand) = plain(w, x, y), logistic_by_hand(w, x, y)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(derivative, by_hand, atol=1e-12)
    got, wanted = tree(params, x, y)[1], biased_by_hand(params, x, y)[1]
    np.testing.assert_allclose(got["w"], wanted["w"], atol=1e-12)
    np.testing.assert_allclose(got["b"], wanted["b"], atol=1e-12)

    calls: list[Callable[[], Any]] = [
        lambda: plain(w, x, y), lambda: logistic_by_hand(w, x, y),
        lambda: tree(params, x, y), lambda: biased_by_hand(params, x, y),
    ]  # fmt: skip
    if peers.autograd is not None:
        theirs = peers.autograd.value_and_grad(_autograd_loss)
        calls.append(lambda: theirs(w, x, y))
    table = interleaved(calls, effort)
    mid = np.median(table, axis=0)
    results = [
        Result(f"logistic regression, N = {n}: anyshape / by hand", ratio(table[:, 0], table[:, 1]), "x", limit,
               f"{seconds(mid[0])}, by hand {seconds(mid[1])}"),
        Result("  with a dict of parameters", ratio(table[:, 2], table[:, 3]), "x", limit,
               f"{seconds(mid[2])}, by hand {seconds(mid[3])}"),
    ]  # fmt: skip
    if peers.autograd is not None:
        results.append(_autograd_row(table[:, 0], table[:, 4]))
    return results


def _autograd_loss(w: Any, x: Any, y: Any) -> Any:
    z = peers.autograd_numpy.dot(x, w)
    return peers.autograd_numpy.mean(peers.autograd_numpy.logaddexp(0.0, z) - y * z)


def _autograd_row(ours: np.ndarray, theirs: np.ndarray) -> Result:
    return Result("  anyshape / autograd", ratio(ours, theirs), "x", None, f"autograd {seconds(np.median(theirs))}")


# -- the whole call ----------------------------------------------------------------------------------------------


def ten_elements(effort: Effort) -> list[Result]:
    """grad(sum(sin(x) * x)) at ten elements, in units of np.sin of ten elements."""
    x = np.linspace(0, 1, 10)
    derivative = anyshape.grad(lambda x: np.sum(np.sin(x) * x))
    np.testing.assert_allclose(derivative(x), np.sin(x) + x * np.cos(x))
    calls: list[Callable[[], Any]] = [lambda: derivative(x), lambda: np.sin(x), lambda: np.sin(x) + np.cos(x) * x]
    if peers.autograd is not None:
        theirs = peers.autograd.grad(lambda x: peers.autograd_numpy.sum(peers.autograd_numpy.sin(x) * x))
        calls.append(lambda: theirs(x))
    table = interleaved(calls, effort)
    mid = np.median(table, axis=0)
    detail = f"a call {seconds(mid[0])}, np.sin {seconds(mid[1])}, by hand {seconds(mid[2])}"
    results = [Result("grad(sum(sin(x) * x)) of ten / np.sin of ten", ratio(table[:, 0], table[:, 1]), "x", 12, detail)]
    if peers.autograd is not None:
        results.append(_autograd_row(table[:, 0], table[:, 3]))
    return results


# -- replay ------------------------------------------------------------------------------------------------------


def mixed(x: Any, blocks: int = 5) -> Any:
    """On a square matrix, written with the shortest calls that NumPy has: none goes through a Python wrapper."""
    for _ in range(blocks):
        z = np.sqrt(np.sin(x) ** 2 + x)  # four ops
        flat = np.exp(-z).reshape(-1)  # three
        x = flat.reshape(z.shape).transpose() / np.add.reduce(z, axis=0)  # four
    return x


OPS_PER_BLOCK = 11


def replay(effort: Effort, blocks: int = 5) -> list[Result]:
    """A jitted chain against the same NumPy calls, per op."""
    results = []
    compiled = anyshape.jit(lambda x: mixed(x, blocks))
    ops = blocks * OPS_PER_BLOCK
    for side in (3, 10):
        x = np.random.default_rng(0).random((side, side)) + 0.5
        np.testing.assert_allclose(compiled(x), mixed(x, blocks))
        table = interleaved([lambda x=x: compiled(x), lambda x=x: mixed(x, blocks)], effort)  # type: ignore[misc]
        extra = float(np.median(table[:, 0] - table[:, 1])) / ops * 1e6
        mid = np.median(table, axis=0)
        detail = f"{ops} ops: {seconds(mid[0])}, eager NumPy {seconds(mid[1])} ({mid[0] / mid[1]:.2f} x)"
        results.append(Result(f"replay beyond NumPy, n = {side * side}", extra, "us/op", 1.0, detail))
    return results
