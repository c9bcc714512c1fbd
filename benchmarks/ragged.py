"""Measure gradients by `ragged_map` of batches whose examples differ in size.

Beside each stand programs of the same model by hand, which are traced as well. They take one example at a time, padded
arrays with masks, or flat arrays where that is natural. JAX, padded to the longest example, and nested tensors of torch
take turns in processes of their own. All gradients are compared before they are timed.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

import numpy as np

import anyshape
from anyshape.ops import segment_max, segment_sum
from anyshape.transforms import sharing
from benchmarks import peers, ragged_models
from benchmarks.machine_loops import built_in
from benchmarks.ragged_models import HIDDEN, REACH, SHAPES, WIDTH, Batch, Gradient, Model, batch, parameters
from benchmarks.timing import Call, Effort, Result, clock, interleaved, ratio, seconds
from benchmarks.worker import Failed, Worker

EXAMPLES, LENGTHS = (1, 16, 128), (3, 30, 300)
OVER_HAND, WORST, OVER_PEER = 1.1, 1.5, 1.0  # limits: on average, in any cell, and against a peer
NEW_LENGTHS, FIRST_CALL = 1.3, 2.0  # limits: of new lengths over a repeat, and of first calls over one of one example
PEERS = {"jax": "JAX, padded", "torch": "nested tensors of torch"}
MOST_BYTES, HELD = 2e9, 4  # of padded arrays, and how many of the largest a gradient holds
BUDGET = 1.5  # seconds for the turns of a cell
FRESH = 20  # batches of new lengths


class Peer(Worker):
    """Client of a peer."""

    module = "benchmarks.ragged_models"


class Programs(NamedTuple):
    """Gradients of a model: by `ragged_map`, of one example, of padded arrays, and of flat ones if there are such."""

    mapped: Callable[..., Gradient]
    one: Callable[..., Gradient]
    padded: Callable[..., Gradient]
    flat: Callable[..., Gradient] | None


class Cell(NamedTuple):
    """Measurements of a model and a batch: ratios to others, and what is to be said of them."""

    name: str
    examples: int
    length: int
    ratios: dict[str, float]
    detail: str

    def __str__(self) -> str:
        return f"{self.name}, {self.examples} x {self.length} rows"


def run(
    effort: Effort,
    examples: Sequence[int] = EXAMPLES,
    lengths: Sequence[int] = LENGTHS,
    libraries: Sequence[str] = tuple(PEERS),
    names: Sequence[str] = (),
    compile: str = "wait",
) -> list[Result]:
    """The results of this file. `compile` is the option of the library, for all programs in it."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack, built_in(folder):
        asked = {
            library: stack.enter_context(closing(Peer(peers.interpreter(library), library, None, folder)))
            for library in libraries
            if library in peers.installed()
        }
        made = {name: programs(name, compile) for name in names or SHAPES}
        sizes = [(b, n) for n in lengths for b in examples]
        cells = [measured(name, made[name], b, n, effort, asked) for name in made for b, n in sizes]
        results = [Result(f"{c}: ragged_map / best by hand", c.ratios["hand"], "x", WORST, c.detail) for c in cells]
        return [*results, *summary(cells), *new_lengths(made, effort), first_calls(made, effort)]


# -- what is compared --------------------------------------------------------------------------------------------


def loss(model: Model) -> Model:
    """Return the sum of the squares of all results."""
    return lambda p, *batch: np.sum(model(p, *batch) ** 2)


def by_map(name: str) -> Model:
    """Return the loss by `ragged_map`."""
    return loss(anyshape.ragged_map(ragged_models.by_example(np, anyshape.scan)[name], in_axes=(None, 0)))


def of_one(name: str) -> Model:
    """Return the loss of one example."""
    return loss(ragged_models.by_example(np, anyshape.scan)[name])


def programs(name: str, compile: str) -> Programs:
    """Return the gradients of a model."""
    flat = ragged_models.flat(np, segment_sum, segment_max).get(name)
    losses = by_map(name), of_one(name), loss(ragged_models.padded(np, anyshape.scan)[name]), flat and loss(flat)
    return Programs(*[f and anyshape.jit(anyshape.grad(f), optimize="now", compile=compile) for f in losses])


def as_ragged(examples: Batch) -> anyshape.Ragged:
    """Return a batch as `ragged_map` takes it."""
    return anyshape.Ragged(examples.rows, examples.lengths)


def by_hand(name: str, made: Programs, p: Gradient, examples: Batch) -> dict[str, Call]:
    """Return the gradients of a batch that are written by hand, but for padded arrays that are too large."""
    each = examples.examples()

    def looped() -> Gradient:
        total = made.one(p, each[0])
        for x in each[1:]:
            slopes = made.one(p, x)
            total = {key: y + slopes[key] for key, y in total.items()}
        return total

    calls: dict[str, Call] = {"a loop": looped}
    if fits(name, examples.lengths):
        x, mask = examples.padded()
        calls["padded"] = lambda: made.padded(p, x, mask)
    if made.flat is not None:
        flat, owners = made.flat, examples.owners
        calls["flat"] = lambda: flat(p, examples.rows, owners, examples.lengths)
    return calls


def fits(name: str, lengths: np.ndarray) -> bool:
    """Return whether the gradient of a model may hold the padded arrays of examples of these lengths."""
    most = int(lengths.max())
    columns = most if "n x n" in name else max(REACH * WIDTH, HIDDEN)
    return HELD * 8 * len(lengths) * most * columns <= MOST_BYTES


# -- measurements ------------------------------------------------------------------------------------------------


def measured(
    name: str, made: Programs, examples: int, length: int, effort: Effort, asked: Mapping[str, Worker]
) -> Cell:
    """Return the gradient of a batch beside what it is compared with."""
    data, p = batch(examples, length), parameters(name)
    batched = as_ragged(data)
    ours = lambda: made.mapped(p, batched)
    hand = by_hand(name, made, p, data)
    expected = ours()
    for version, call in hand.items():
        compare(call(), expected, f"{name}, {version}")
    table = interleaved([ours, *hand.values()], within(effort, sum(clock(call) for call in (ours, *hand.values()))))
    own, *others = np.median(table, axis=0)
    best = 1 + int(np.argmin(others))
    ratios = {"hand": ratio(table[:, 0], table[:, best])}
    said = [seconds(own), *[f"{version} {seconds(t)}" for version, t in zip(hand, others, strict=True)]]
    for library, worker in asked.items():
        if library == "jax" and "padded" not in hand:
            continue
        try:
            compare(worker.ask("first", name, examples, length), expected, f"{name}, {library}")
            table = in_turns(ours, worker, effort)
        except (Failed, AssertionError) as error:
            said.append(f"{library}: {str(error).strip().partition(chr(10))[0]:.60}")
            continue
        ratios[library] = ratio(table[:, 0], table[:, 1])
        said.append(f"{library} {seconds(np.median(table[:, 1]))}")
    return Cell(name, examples, length, ratios, ", ".join(said))


def compare(got: Gradient, want: Gradient, name: str) -> None:
    """Check that two gradients agree."""
    for key, y in want.items():
        np.testing.assert_allclose(got[key], y, rtol=1e-7, atol=1e-9 * (1 + np.abs(y).max()), err_msg=f"{name}, {key}")


def within(effort: Effort, once: float) -> Effort:
    """Return an effort whose rounds take about the budget at most, if a round takes at least this long."""
    return effort.fewer(math.ceil(effort.rounds * once / BUDGET))


def in_turns(ours: Call, worker: Worker, effort: Effort) -> np.ndarray:
    """Return seconds per call here and by a peer, one row per round."""
    ours()
    once = clock(ours), worker.ask("turn", 1)
    numbers = [max(1, round(effort.turn / max(t, 1e-7))) for t in once]
    turn = lambda: (clock(ours, numbers[0]), worker.ask("turn", numbers[1]))
    return np.array([turn() for _ in range(within(effort, sum(once)).rounds)])


def summary(cells: Sequence[Cell]) -> Iterator[Result]:
    """Yield the average over all cells, and for each peer the average and the worst cell."""
    yield Result("  all cells, geometric mean", mean([c.ratios["hand"] for c in cells]), "x", OVER_HAND)
    for library, title in PEERS.items():
        those = [c for c in cells if library in c.ratios]
        if those:
            worst = max(those, key=lambda c: c.ratios[library])
            numbers = [c.ratios[library] for c in those]
            yield Result(f"ragged_map / {title}: geometric mean", mean(numbers), "x", OVER_PEER, f"cells: {len(those)}")
            yield Result("  the worst cell", worst.ratios[library], "x", OVER_PEER, f"{worst}: {worst.detail}")


def mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def new_lengths(made: Mapping[str, Programs], effort: Effort) -> list[Result]:
    """Return what the first call with some lengths takes over the second, and how often all calls traced."""
    ratios = {}
    for name, each in made.items():
        p, batches = parameters(name), [as_ragged(batch(16, 30, k)) for k in range(1, 1 + min(FRESH, effort.rounds))]
        call: Any = each.mapped
        ratios[name] = float(np.median([clock(lambda: call(p, x)) / clock(lambda: call(p, x)) for x in batches]))  # noqa: B023
    worst = max(ratios, key=lambda name: ratios[name])
    traces = max(each.mapped.cache_info().traces for each in made.values())  # type: ignore[attr-defined]
    return [
        Result("new lengths of 16 x 30 rows / the same again, the worst model", ratios[worst], "x", NEW_LENGTHS, worst),
        Result("  traces for all examples and lengths", traces, "", 1),
    ]


def first_calls(made: Mapping[str, Programs], effort: Effort) -> Result:
    """Return what a first gradient takes over that of one example, without builds."""
    data = batch(16, 30)
    mapped, one, ratios = as_ragged(data), data.examples()[0], {}

    def first(function: Model, p: Gradient, x: Any) -> float:
        sharing.forget()  # functions of one code share programs
        step: Any = anyshape.jit(anyshape.grad(function), compile="off")
        return clock(lambda: step(p, x))

    for name in made:
        p, times = parameters(name), range(min(5, effort.rounds))
        table = np.array([(first(by_map(name), p, mapped), first(of_one(name), p, one)) for _ in times])
        ratios[name] = float(np.divide(*table.min(axis=0)))
    worst = max(ratios, key=lambda name: ratios[name])
    return Result("first call / that of one example, the worst model", ratios[worst], "x", FIRST_CALL, worst)
