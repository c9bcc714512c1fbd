"""Time a causal attention block at 200 lengths in random order: does a change of length cost anything?

The model is the demo's, with one block. Every round visits all lengths in a new order, and calls three times at each.
The first call meets a change of length, the others repeat it. So both kinds of call do the same work at the same time,
and their sums over all lengths are compared. The hand-written gradient of the demo takes its turn in between, also
three times at each length.

A second comparison sets the sweep against as many calls at one length. That length is chosen so that the hand-written
sweep takes about as long as the hand-written calls. The ratio of the library is divided by the remaining difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

import anyshape
from anyshape.demo import train
from benchmarks.timing import Effort, Result, interleaved, no_collection, ratio, seconds

LENGTHS = range(20, 220)


def run(effort: Effort, lengths: Sequence[int] = LENGTHS) -> list[Result]:
    """The results of this file."""
    rng = np.random.default_rng(0)
    params = train.init(rng, train.VOCABULARY, layers=1)
    texts = {n: rng.integers(train.VOCABULARY, size=n + 1) for n in lengths}
    step = anyshape.jit(anyshape.value_and_grad(train.loss))
    agree(step, params, texts)

    first = _first_calls(params, texts, rng)
    rounds = max(2, effort.rounds // 8)
    ours, hand = _rounds(step, params, texts, rng, rounds)
    info = step.cache_info()
    results = [
        Result("attention: traces for all lengths", info.traces, "", 1, f"{len(texts)} lengths"),
        _changing("attention: sweep / same lengths repeated", ours, 1.1),
        _changing("  the same of the hand-written NumPy", hand, None),
        Result(
            "attention: first call at a length / repeat",
            float(np.median(first[:, 0] / np.median(first[:, 1:], axis=1))),
            "x",
            1.1,
            "median over lengths",
        ),
        Result("  mean of first calls / mean of repeats", float(np.mean(first[:, 0]) / np.mean(first[:, 1:])), "x"),
    ]
    results += _one_length(step, params, texts, hand, effort.fewer(4))
    by_hand = float(np.median(ours[:, :, 1:] / hand[:, :, 1:]))
    detail = f"a step {seconds(np.median(ours))}, by hand {seconds(np.median(hand))}"
    return [*results, Result("attention: anyshape / hand-written gradient", by_hand, "x", None, detail)]


def agree(step: Any, params: Any, texts: dict[int, np.ndarray]) -> None:
    """The step must equal the hand-written one at every length (also a first call at each)."""
    for tokens in texts.values():
        got: Any = step(params, tokens)
        expected: Any = train.value_and_grad(params, tokens)
        pairs: Any = zip(optree.tree_leaves(got), optree.tree_leaves(expected), strict=True)
        for x, y in pairs:
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5)


def _first_calls(params: Any, texts: dict[int, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """For each length: seconds of the first call ever at it, and of four repeats."""
    step = anyshape.jit(anyshape.value_and_grad(train.loss))
    warm = rng.integers(train.VOCABULARY, size=max(texts) + 2)  # a length that is not among them
    for _ in range(5):
        step(params, warm)
    table = []
    with no_collection():
        for n in rng.permutation(list(texts)):
            table.append([_timed(step, params, texts[n]) for _ in range(5)])
    return np.array(table)


def _rounds(
    step: Any, params: Any, texts: dict[int, np.ndarray], rng: np.random.Generator, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds by (round, length, which of three calls in a row), of the library and of the hand-written step."""
    tables = np.empty((2, rounds, len(texts), 3))
    lengths = list(texts)
    with no_collection():
        for r in range(rounds):
            for who, function in enumerate((step, train.value_and_grad)):
                for i in rng.permutation(len(lengths)):
                    tokens = texts[lengths[i]]
                    tables[who, r, i] = [_timed(function, params, tokens) for _ in range(3)]
    return tables[0], tables[1]


def _timed(function: Callable[..., Any], *args: Any) -> float:
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def _changing(name: str, table: np.ndarray, limit: float | None) -> Result:
    """The sum over lengths of the calls that met a change, over that of the calls that did not (medians of rounds)."""
    median = np.median(table, axis=0)
    change, repeat = float(np.sum(median[:, 0])), float(np.sum(median[:, 1:].mean(axis=1)))
    detail = f"{seconds(change)} for {len(median)} lengths, {seconds(repeat)} repeated"
    return Result(name, change / repeat, "x", limit, detail)


def _one_length(step: Any, params: Any, texts: dict[int, np.ndarray], hand: np.ndarray, effort: Effort) -> list[Result]:
    """The sweep against as many calls at the length where the hand-written gradient needs as long."""
    lengths = np.array(list(texts))
    cost = np.median(hand, axis=(0, 2))
    fitted = np.polyval(np.polyfit(lengths, cost, 2), lengths)  # work grows with n and n**2
    fixed = texts[int(lengths[np.argmin(abs(fitted - cost.mean()))])]
    order = np.random.default_rng(1).permutation(lengths)

    def sweep(function: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: [function(params, texts[n]) for n in order]

    def still(function: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: [function(params, fixed) for _ in order]

    by_hand = train.value_and_grad
    table = interleaved([sweep(step), still(step), sweep(by_hand), still(by_hand)], Effort(effort.rounds, 0.0))
    ours, theirs = ratio(table[:, 0], table[:, 1]), ratio(table[:, 2], table[:, 3])
    detail = f"n = {len(fixed) - 1}; {ours:.3f}, where the hand-written NumPy has {theirs:.3f} (1 if the work is equal)"
    return [Result("attention: sweep / one length of equal work", ours / theirs, "x", 1.1, detail)]
