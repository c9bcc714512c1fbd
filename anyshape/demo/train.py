"""`anyshape demo`: train the model on one paragraph per step, each of its own length, from one trace.

Some steps are run twice, by the library and by `handwritten`, on the same paragraph and parameters. That is
where the time comparison and the gradient difference in the report come from.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import optree

import anyshape
from anyshape.demo import data, handwritten, model
from anyshape.support.packages import matplotlib_figure, rich_console, rich_progress, rich_table

STEPS = 6000
SECONDS = 50.0  # time limit; a slow machine runs fewer steps
PEAK_RATE = 3e-3
HELD_OUT = 40
COMPARE_EVERY = 10

Step = Callable[[model.Params, np.ndarray], tuple[Any, model.Params]]


@dataclass
class History:
    """Measurements of a training run; `compared` holds the seconds (library, by hand) of steps that ran twice."""

    losses: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    first_call: float = 0.0
    compared: list[tuple[float, float]] = field(default_factory=list)
    difference: float = 0.0
    held_out: tuple[float, float] = (math.nan, math.nan)


def _leaves(tree: model.Params) -> list[np.ndarray]:
    return optree.tree_leaves(tree)  # type: ignore[arg-type]


class Adam:
    """Adam over the leaves of a tree, which it updates in place."""

    decay: float
    square_decay: float

    def __init__(self, params: model.Params, *, decay: float = 0.9, square_decay: float = 0.99):
        self.leaves: list[np.ndarray] = _leaves(params)
        self.means: list[np.ndarray] = [np.zeros_like(leaf) for leaf in self.leaves]
        self.squares: list[np.ndarray] = [np.zeros_like(leaf) for leaf in self.leaves]
        self.decay, self.square_decay = decay, square_decay
        self.count: int = 0

    def update(self, grads: model.Params, rate: float) -> None:
        """Move every leaf against its gradient."""
        self.count += 1
        scale = rate / (1 - self.decay**self.count)
        unbias = 1 / (1 - self.square_decay**self.count)
        slots = zip(self.leaves, _leaves(grads), self.means, self.squares, strict=True)
        for leaf, grad, mean, square in slots:
            mean += (1 - self.decay) * (grad - mean)
            square += (1 - self.square_decay) * (grad * grad - square)
            leaf -= scale * mean / (np.sqrt(unbias * square) + 1e-8)


def train(step: Step, *, steps: int, seconds: float, seed: int, progress: bool) -> History:
    """Train a fresh model by `step` for at most so many steps and seconds, and return the measurements."""
    rng = np.random.default_rng(seed)
    texts = [data.encode(text) for text in data.paragraphs()]
    rng.shuffle(texts)
    held_out, texts = texts[:HELD_OUT], texts[HELD_OUT:]
    params = model.init(rng, data.VOCABULARY)
    adam, history = Adam(params), History()
    before = mean_loss(params, held_out)
    with _progress_bar(disable=not progress) as bar:
        task = bar.add_task("training", total=1.0, loss=before, step=0)
        start = time.perf_counter()
        for index, tokens in enumerate(epochs(rng, texts)):
            done = max(index / steps, (time.perf_counter() - start) / seconds)
            if done >= 1:
                break
            value, grads = _run_step(step, params, tokens, index, history)
            adam.update(grads, rate_at(index, done))
            history.losses.append(float(value))
            history.lengths.append(len(tokens))
            bar.update(task, completed=done, loss=np.mean(history.losses[-100:]), step=index + 1)
        bar.update(task, completed=1.0)
    history.held_out = before, mean_loss(params, held_out)
    return history


def epochs(rng: np.random.Generator, texts: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the texts in a new order each time round, without end."""
    while True:
        for index in rng.permutation(len(texts)):
            yield texts[index]


def rate_at(index: int, done: float) -> float:
    """Return the learning rate of a step: a short rise, then half a cosine down to a tenth."""
    rise = min(1.0, (index + 1) / 100)
    fall = 0.55 + 0.45 * math.cos(math.pi * done)
    return PEAK_RATE * rise * fall


def mean_loss(params: model.Params, texts: list[np.ndarray]) -> float:
    """Return the loss per character over some texts, by the model run eagerly on NumPy arrays."""
    sizes = [len(tokens) - 1 for tokens in texts]
    return float(np.average([model.loss(params, tokens) for tokens in texts], weights=sizes))


def _run_step(
    step: Step, params: model.Params, tokens: np.ndarray, index: int, history: History
) -> tuple[Any, model.Params]:
    if index == 0:
        result, history.first_call = _timed(step, params, tokens)
        return result
    if index % COMPARE_EVERY:
        return step(params, tokens)
    # The second of the two finds the parameters in the cache, so the order alternates.
    if index // COMPARE_EVERY % 2:
        result, ours = _timed(step, params, tokens)
        expected, theirs = _timed(handwritten.value_and_grad, params, tokens)
    else:
        expected, theirs = _timed(handwritten.value_and_grad, params, tokens)
        result, ours = _timed(step, params, tokens)
    history.compared.append((ours, theirs))
    history.difference = max(history.difference, relative_difference(result[1], expected[1]))
    return result


def _timed(step: Step, params: model.Params, tokens: np.ndarray) -> tuple[tuple[Any, model.Params], float]:
    start = time.perf_counter()
    result = step(params, tokens)
    return result, time.perf_counter() - start


def relative_difference(tree: Any, expected: Any) -> float:
    """Return the norm of the difference of two trees of arrays, over the norm of the second."""
    pairs = list(zip(optree.tree_leaves(tree), optree.tree_leaves(expected), strict=True))
    gap = sum(float(np.sum((x - y) ** 2)) for x, y in pairs)
    return math.sqrt(gap / sum(float(np.sum(y * y)) for _, y in pairs))


def report(history: History, traces: int) -> Any:
    """Return the measurements as a table to print."""
    table = rich_table.Table(show_header=False)
    table.add_row("steps", f"{len(history.losses)}")
    table.add_row("distinct lengths", f"{len(set(history.lengths))}")
    table.add_row("traces", f"{traces}")
    table.add_row("first call, trace included", f"{history.first_call:.2f} s")
    if history.compared:
        ours, theirs = np.median(history.compared, axis=0)
        ratio = np.median([mine / other for mine, other in history.compared])
        table.add_row("a step, anyshape", f"{1e3 * ours:.2f} ms (median of {len(history.compared)})")
        table.add_row("the same step, NumPy by hand", f"{1e3 * theirs:.2f} ms")
        table.add_row("anyshape / by hand", f"{ratio:.2f} (median of ratios)")
        table.add_row("largest gradient difference", f"{history.difference:.1e} (relative)")
    table.add_row("loss, first and last steps", f"{history.losses[0]:.3f} -> {_tail(history.losses):.3f}")
    table.add_row("held-out loss", "{:.3f} -> {:.3f} nats per character".format(*history.held_out))
    return table


def draw(history: History, path: Path) -> None:
    """Write the loss of every step and its running mean as a picture."""
    losses = np.array(history.losses)
    window = max(1, len(losses) // 50)
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
    figure = matplotlib_figure.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(losses, color="tab:blue", alpha=0.25, linewidth=0.5, label="each paragraph")
    axes.plot(np.arange(window - 1, len(losses)), smooth, color="tab:blue", label=f"mean of {window}")
    axes.plot(len(losses) - 1, history.held_out[1], "o", color="tab:red", label="held-out paragraphs")
    axes.set(xlabel="step", ylabel="loss (nats per character)", ylim=(0, None))
    axes.set_title(f"{len(set(history.lengths))} paragraph lengths, no padding")
    axes.legend()
    figure.savefig(path, dpi=150)


def _tail(losses: list[float]) -> float:
    """Return the mean of the last twentieth: single paragraphs scatter widely."""
    return float(np.mean(losses[-max(1, len(losses) // 20) :]))


def _progress_bar(*, disable: bool) -> Any:
    return rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TextColumn("step {task.fields[step]}"),
        rich_progress.TextColumn("loss {task.fields[loss]:.3f}"),
        rich_progress.TimeRemainingColumn(),
        disable=disable,
    )


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the options of `anyshape demo`."""
    parser = argparse.ArgumentParser(prog="anyshape demo", description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=_positive, default=STEPS, help="paragraphs to train on (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time to train for at the most (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the parameters and the order (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("demo_loss.png"), help="the loss curve (%(default)s)")
    parser.add_argument("--no-progress", action="store_true", help="print the report only")
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def main(argv: list[str] | None = None) -> int:
    """Run the demo; return 1 if any length needed a trace of its own."""
    options = parse(argv)
    step = anyshape.jit(anyshape.value_and_grad(model.loss))
    history = train(
        step, steps=options.steps, seconds=options.seconds, seed=options.seed, progress=not options.no_progress
    )
    draw(history, options.out)
    traces = step.cache_info().traces
    console = rich_console.Console()
    console.print(report(history, traces))
    console.print(f"loss curve: {options.out}")
    return 0 if traces == 1 else 1
