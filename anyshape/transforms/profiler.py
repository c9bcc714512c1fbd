"""Measure a call for `profile`: repeat it with and without timers, and turn readings into rows with their cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

from anyshape.backend.compiler.codegen.timers import TimedRun, Timers, clock_read_seconds
from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.plan import Group, Step
from anyshape.backend.compiler.scratch import bytes_of
from anyshape.errors import ArgumentError
from anyshape.graph.shapes.array_type import Exact, TensorMeta, Unknown, short_dtype
from anyshape.graph.sizes.expr import Size
from anyshape.inspect.cost import of_op, value_at
from anyshape.inspect.profile.data import Profile, Row
from anyshape.ops.flop_counts import find_cost
from anyshape.program.program import Program
from anyshape.transforms.jit import Jitted

FILL, MOST, LEAST = 0.25, 100, 3  # seconds of calls of each kind, and how many these are
LONG = 1.0  # seconds of a call that is not repeated unless it is asked for
ENTRY = "entry and exit"


# -- measuring ---------------------------------------------------------------------------------------------------


def measure(target: Jitted | Program, args: tuple[Any, ...], kwargs: dict[str, Any], repeat: int | None) -> Profile:
    """Call it as it is and with timers, in turns."""
    value = target(*args, **kwargs)
    timers = Timers()
    timed = target.timed(timers) if isinstance(target, Program) else target.timed(timers, *args, **kwargs)
    timed(*args, **kwargs)
    once = _clocked(target, args, kwargs)
    count = repeat if repeat is not None else 1 if once > LONG else max(LEAST, min(MOST, round(FILL / max(once, 1e-9))))
    plain: list[float] = []
    found: list[tuple[float, TimedRun]] = []
    for _ in range(count):
        plain.append(_clocked(target, args, kwargs))
        timers.last = None
        whole = _clocked(timed, args, kwargs)
        if timers.last is None:
            problem = "is traced anew on each call, so no plan of it runs twice"
            raise ArgumentError("profile", target.name, problem, "do not bind names anew that it reads")
        found.append((whole, timers.last))
    return _profile(target.name, value, plain, found)


def _clocked(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    started = perf_counter()
    function(*args, **kwargs)
    return perf_counter() - started


def _profile(name: str, value: Any, plain: Sequence[float], found: Sequence[tuple[float, TimedRun]]) -> Profile:
    """The runs of the plan that ran last, as rows."""
    last = found[-1][1]
    same = [(whole, run) for whole, run in found if run.plan is last.plan and run.shares.keys() == last.shares.keys()]
    reading = clock_read_seconds()
    parts = list(_parts(last))
    steps = [[_seconds(run, part, reading) for _, run in same] for part in parts]
    outside = [max(0.0, whole - run.inside - run.telling) for whole, run in same]
    seconds = [statistics.median(times) for times in [*steps, outside]]
    all_of_it = sum(seconds) or 1.0
    costing = _Costing([run for _, run in same])
    rows = [costing.row(part, taken, taken / all_of_it) for part, taken in zip(parts, seconds[:-1], strict=True)]
    rows.append(Row(ENTRY, seconds[-1], 1.0 - sum(row.share for row in rows)))
    timed = statistics.median([whole for whole, _ in same])
    overhead = reading * statistics.median([_readings(run) for _, run in same])
    sizes = {v.label: size for v, size in last.sizes.items()}
    return Profile(name, value, statistics.median(plain), timed, overhead, len(plain), sizes, tuple(rows))


def _parts(run: TimedRun) -> Iterator[range]:
    """The numbers of the steps of each row."""
    together = {g.first_slot: len(g.steps) for g in run.plan.groups}
    i = 0
    while i < len(run.plan.steps):
        count = together[run.plan.steps[i].outputs[0]] if i in run.shares else 1
        yield range(i, i + count)
        i += count


def _seconds(run: TimedRun, part: range, reading: float) -> float:
    """What a row took in a run, without the timers."""
    shares = run.shares.get(part.start, [])
    inside = sum(s.tiles for s in shares) * len(part) / max(1, _threads(shares))
    return max(0.0, run.readings[part.stop] - run.readings[part.start] - (1 + inside) * reading)


def _readings(run: TimedRun) -> float:
    """How often the clock was read, by the thread that read it most or so."""
    inside = [
        sum(s.tiles for s in shares) * len(shares[0].seconds) / max(1, _threads(shares))
        for shares in run.shares.values()
        if shares
    ]
    return len(run.readings) + sum(inside)


def _threads(shares: Sequence[Any]) -> int:
    return len({s.thread for s in shares if any(s.seconds)})


# -- rows --------------------------------------------------------------------------------------------------------


class _Costing:
    """Rows for the steps of a plan, which ran several times, at the sizes of the last."""

    def __init__(self, runs: Sequence[TimedRun]) -> None:
        self.runs, self.plan, self.sizes = runs, runs[-1].plan, runs[-1].sizes
        self.groups = {group.first_slot: group for group in self.plan.groups}

    def row(self, part: range, seconds: float, share: float) -> Row:
        steps = [self.plan.steps[i] for i in part]
        if part.start not in self.runs[-1].shares:
            return self._step(steps[0], seconds, share)
        of_it = zip(steps, _parts_of_time(part, self.runs), strict=True)
        shares, group = self.runs[-1].shares[part.start], self.groups[steps[0].outputs[0]]
        inside = tuple([self._step(s, seconds * p, share * p, s.outputs[0] in group.padded) for s, p in of_it])
        tiles = sum(s.tiles for s in shares)
        made = [(o, m) for s in steps for o, m in zip(s.outputs, s.results, strict=True)]
        return Row(
            f"{len(steps)} steps in tiles",
            seconds,
            share,
            ", ".join([self._result(o, m) for o, m in made if o in group.escaping]),
            self._moved(group),
            _total([s.flops for s in inside]),
            any(s.at_most for s in inside),
            next((s.where for s in inside if s.where is not None), None),
            inside,
            tiles,
            max(1, _threads(shares)),
        )

    def _step(self, step: Step, seconds: float, share: float, placed: bool = False) -> Row:
        """What is placed by tiles was written by the step before: as a view, it moves nothing."""
        made = ", ".join([self._result(*pair) for pair in zip(step.outputs, step.results, strict=True)])
        name = (step.fallback[-1] if step.fallback else step).op.name
        if placed or find_traits(step.op).alias.may_share:
            return Row(name, seconds, share, made, 0, 0, where=step.where)
        found = of_op(find_cost(step.op), step.metas, step.results, dict(step.params))
        flops, read, written = [self._number(e) for e in found.parts()]
        known = read is not None and written is not None
        at_most = not all(isinstance(e, (Exact, Unknown)) for e in found.parts())
        moved = read + written if known else None  # type: ignore[operator]
        return Row(name, seconds, share, made, moved, flops, at_most, step.where)

    def _moved(self, group: Group) -> int | None:
        """The bytes that a group reads and writes outside of its tiles."""
        made = {slot for step in group.steps for slot in step.outputs}
        read = {
            slot: meta
            for step in group.steps
            for slot, meta in zip(step.inputs, step.metas, strict=True)
            if isinstance(slot, str) and slot not in made
        }
        pairs = [pair for step in group.steps for pair in zip(step.outputs, step.results, strict=True)]
        sizes = [bytes_of(m) for m in [*read.values(), *[m for slot, m in pairs if slot in group.escaping]]]
        return _total([None if size is None else self._at(size) for size in sizes])

    def _at(self, size: Size) -> int:
        return value_at(size, self.sizes)

    def _number(self, extent: Any) -> int | None:
        return None if isinstance(extent, Unknown) else self._at(extent.size)

    def _result(self, slot: str, meta: TensorMeta) -> str:
        """A value with its dtype and actual sizes: `v3: f64[200, 3]`."""
        marks = ("?" if isinstance(e, Unknown) else f"{'' if isinstance(e, Exact) else '<='}{self._number(e)}" for e in
                 meta.extents)  # fmt: skip
        return f"{slot}: {short_dtype(meta.dtype)}[{', '.join(marks)}]"


def _parts_of_time(part: range, runs: Sequence[TimedRun]) -> list[float]:
    """How the time of a row divides among its steps: by what they take on all threads; medians of runs."""
    spent = [
        statistics.median([sum(share.seconds[i] for share in run.shares[part.start]) for run in runs])
        for i in range(len(part))
    ]
    whole = sum(spent)
    return [t / whole if whole else 1 / len(spent) for t in spent]


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [n for n in numbers if n is not None]
    return sum(known) if len(known) == len(numbers) else None
