"""Measure calls for `profile`, with and without timers, and turn the readings into rows with costs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from time import perf_counter
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.timers import TimedRun, Timers, clock_read_seconds
from anyshape.backend.compiler.op_traits import TRAITS, bytes_of
from anyshape.backend.compiler.plan import Group, Step
from anyshape.backend.native.nest_sites import STARTED_SECONDS
from anyshape.backend.runtime.outcome import without_effects
from anyshape.errors import ArgumentError
from anyshape.graph.shapes.array_type import Exact, TensorMeta, Unknown, short_dtype
from anyshape.graph.sizes.expr import Size
from anyshape.inspect.cost import of_op, value_at
from anyshape.inspect.draw.picture import line_of
from anyshape.inspect.profile import Profile, Row
from anyshape.ops.core.flop_counts import COSTS
from anyshape.ops.loops import LOOPS
from anyshape.program.program import Program
from anyshape.support.lazy_dataclass import replace
from anyshape.support.packages import timed_nests
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import flatten, unflatten
from anyshape.transforms.jitted import Jitted

MEASURED_SECONDS, MAX_REPEATS, MIN_REPEATS = 0.25, 100, 3  # of calls of each kind
LOOP_SECONDS = STARTED_SECONDS / MAX_REPEATS  # of counted work, from which on the calls would begin to build a loop
LONG_SECONDS = 1.0  # of a call that is not repeated unless `repeat` says so
ENTRY = "entry and exit"


def _median(seconds: Sequence[float]) -> float:
    return float(np.median(seconds))


# -- measuring ---------------------------------------------------------------------------------------------------


def measure(target: Jitted | Program, args: tuple[Any, ...], kwargs: dict[str, Any], repeat: int | None) -> Profile:
    """Call the target as it is and with timers, alternating, and return the profile.

    The optimised plan is made before, and so are loops that would become machine code meanwhile. So all calls run one
    plan. They write to copies of arguments.
    """
    target.optimise_for(*args, **kwargs)
    value = target(*_copied(target, args), **_copied(target, kwargs))
    for program in _programs(target):
        if program.planner.nests is not None:
            program.planner.nests.settle(LOOP_SECONDS)
    args, kwargs = _copied(target, args), _copied(target, kwargs)
    with without_effects():  # they have happened
        return _measured(target, args, kwargs, repeat, value)


def _measured(
    target: Jitted | Program, args: tuple[Any, ...], kwargs: dict[str, Any], repeat: int | None, value: Any
) -> Profile:
    timers = Timers()
    timed = target.timed(timers) if isinstance(target, Program) else target.timed(timers, *args, **kwargs)
    timed(*args, **kwargs)
    once = _clocked(target, args, kwargs)
    count = repeat if repeat is not None else _default_repeats(once)
    plain: list[float] = []
    runs: list[tuple[float, TimedRun]] = []
    with timed_nests.Sampler(timers) if timers.nests else nullcontext():
        for _ in range(count):
            plain.append(_clocked(target, args, kwargs))
            timers.clear()
            whole = _clocked(timed, args, kwargs)
            if timers.last is None:
                problem = "is traced again on each call, so no plan runs twice"
                raise ArgumentError("profile", target.name, problem, "do not rebind names that it reads")
            runs.append((whole, timers.last))
        end = perf_counter() + MEASURED_SECONDS * (repeat is None)
        while timers.nests and perf_counter() < end:  # loops that are short need many calls for some samples
            timed(*args, **kwargs)
    profile = _profile(target.name, value, plain, runs, timers.nests)
    return profile if isinstance(target, Program) else replace(profile, layouts=target.layouts())


def _copied(target: Jitted | Program, arguments):
    """Return arguments with copies of their arrays if the target writes to arguments."""
    if not any(p.written for p in _programs(target)):
        return arguments
    leaves, tree = flatten(arguments)
    return unflatten(tree, [x.copy() if has_type(x, np.ndarray) else x for x in leaves])


def _programs(target: Jitted | Program) -> Sequence[Program]:
    return [target] if isinstance(target, Program) else target.programs()


def _default_repeats(seconds: float) -> int:
    """Return how often to repeat a call that takes so long."""
    if seconds > LONG_SECONDS:
        return 1
    return max(MIN_REPEATS, min(MAX_REPEATS, round(MEASURED_SECONDS / max(seconds, 1e-9))))


def _clocked(function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    started = perf_counter()
    function(*args, **kwargs)
    return perf_counter() - started


def _profile(
    name: str, value, plain: Sequence[float], runs: Sequence[tuple[float, TimedRun]], nests: Mapping[int, Any]
) -> Profile:
    """Return the profile of the plan that ran last, from its runs with their total seconds, and its compiled loops."""
    last = runs[-1][1]
    same = [(whole, run) for whole, run in runs if run.plan is last.plan and run.shares.keys() == last.shares.keys()]
    reading = clock_read_seconds()
    timed = _median([whole for whole, _ in same])
    overhead = reading * _median([_readings(run) for _, run in same])
    sizes = {v.label: size for v, size in last.sizes.items()}
    rows = _rows(same, reading, nests)
    return Profile(name, value, _median(plain), timed, overhead, len(plain), sizes, tuple(rows))


def _rows(runs: Sequence[tuple[float, TimedRun]], reading: float, nests: Mapping[int, Any]) -> list[Row]:
    """Return a row for each part of the plan, and one for the time outside of its steps."""
    parts = list(_parts(runs[-1][1]))
    steps = [[_seconds(run, part, reading) for _, run in runs] for part in parts]
    outside = [max(0.0, whole - run.inside - run.record_seconds) for whole, run in runs]
    seconds = [_median(times) for times in [*steps, outside]]
    total = sum(seconds) or 1.0
    costing = _Costing([run for _, run in runs], nests)
    rows = [costing.row(part, taken, taken / total) for part, taken in zip(parts, seconds[:-1], strict=True)]
    return [*rows, Row(ENTRY, seconds[-1], 1.0 - sum(row.share for row in rows))]


def _parts(run: TimedRun) -> Iterator[range]:
    """Yield the numbers of the steps of each row."""
    group_sizes = {g.first_slot: len(g.steps) for g in run.plan.groups}
    i = 0
    while i < len(run.plan.steps):
        count = group_sizes[run.plan.steps[i].outputs[0]] if i in run.shares else 1
        yield range(i, i + count)
        i += count


def _seconds(run: TimedRun, part: range, reading: float) -> float:
    """Return the seconds of a row in a run, without the timers."""
    shares = run.shares.get(part.start, [])
    inside = sum(s.tiles for s in shares) * len(part) / max(1, _threads(shares))
    bodies = [s for key, held in run.shares.items() if has_type(key, tuple) and key[0] == part.start for s in held]
    inside += sum(s.tiles * (1 + len(s.seconds)) for s in bodies)
    return max(0.0, run.readings[part.stop] - run.readings[part.start] - (1 + inside) * reading)


def _readings(run: TimedRun) -> float:
    """Estimate how often the busiest thread read the clock."""
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
    """Makes rows for the steps of a plan from several runs, with costs at the sizes of the last."""

    def __init__(self, runs: Sequence[TimedRun], nests: Mapping[int, Any]) -> None:
        self.runs, self.plan, self.sizes, self.nests = runs, runs[-1].plan, runs[-1].sizes, nests
        self.groups = {group.first_slot: group for group in self.plan.groups}

    def row(self, part: range, seconds: float, share: float) -> Row:
        """Return the row of a step, or of the steps of a group that ran as tiles."""
        if part.start in self.runs[-1].shares:
            return self._group(part, seconds, share)
        step = self.plan.steps[part.start]
        return self._with_bodies(self._step(step, seconds, share), step, (part.start,))

    def _with_bodies(self, row: Row, step: Step, key: tuple[int, ...]) -> Row:
        """Return the row of a step with the rows of its bodies, and with its trips."""
        if not step.bodies:
            return row
        nest = self.nests.get(id(step))
        if nest is not None and nest.has_run:
            return replace(row, steps=tuple(_lines(row, nest)), trips=nest.trips, compiled=True)
        trips = self.runs[-1].shares.get((*key, len(step.bodies) - 1), ()) if step.op in LOOPS else ()
        return replace(row, steps=tuple(self._bodies(row, step, key)), trips=sum(s.tiles for s in trips))

    def _bodies(self, row: Row, step: Step, key: tuple[int, ...]) -> Iterator[Row]:
        """Yield a row for each step of the bodies that ran, with a part of the time of the step that runs these."""
        for position, body in enumerate(step.bodies):
            at = *key, position
            if at in self.runs[-1].shares:
                spent = _spent(at, len(body.steps), self.runs)
                for number, (inner, taken) in enumerate(zip(body.steps, spent, strict=True)):
                    results = ", ".join([f"{s}: {m}" for s, m in zip(inner.outputs, inner.results, strict=True)])
                    part = min(taken, row.seconds) / row.seconds if row.seconds else 0.0
                    inside = Row(inner.op.name, taken, row.share * part, results, where=inner.where)
                    yield self._with_bodies(inside, inner, (*at, number))

    def _group(self, part: range, seconds: float, share: float) -> Row:
        """Return the row of a group, with a row inside for each step."""
        steps = [self.plan.steps[i] for i in part]
        group, tiles = self.groups[steps[0].outputs[0]], self.runs[-1].shares[part.start]
        fractions = zip(steps, _fractions(part, self.runs), strict=True)
        inside = tuple([self._step(s, seconds * f, share * f, s.outputs[0] in group.padded) for s, f in fractions])
        return Row(
            f"{len(steps)} steps in tiles",
            seconds,
            share,
            ", ".join([self._result(slot, meta) for slot, meta in _escaping(group)]),
            self._moved_bytes(group),
            _total([s.flops for s in inside]),
            any(s.at_most for s in inside),
            next((s.where for s in inside if s.where is not None), None),
            inside,
            sum(t.tiles for t in tiles),
            max(1, _threads(tiles)),
        )

    def _step(self, step: Step, seconds: float, share: float, padded: bool = False) -> Row:
        """Return the row of a step. A view moves nothing, nor does a `padded` step: tiles wrote its result already."""
        results = ", ".join([self._result(*pair) for pair in zip(step.outputs, step.results, strict=True)])
        name = (step.fallback[-1] if step.fallback else step).op.name
        if padded or TRAITS[step.op].alias.may_share:
            return Row(name, seconds, share, results, 0, 0, where=step.where)
        cost = of_op(COSTS[step.op], step.metas, step.results, dict(step.params))
        flops, read, written = [self._number(e) for e in cost.parts()]
        at_most = not all(isinstance(e, (Exact, Unknown)) for e in cost.parts())
        return Row(name, seconds, share, results, _total([read, written]), flops, at_most, step.where)

    def _moved_bytes(self, group: Group) -> int | None:
        """Return the bytes that a group reads and writes outside of its tiles, or None if they are unknown."""
        metas = [*group.read.values(), *[meta for _, meta in _escaping(group)]]
        sizes = [bytes_of(meta) for meta in metas]
        return _total([None if size is None else self._at(size) for size in sizes])

    def _at(self, size: Size) -> int:
        return value_at(size, self.sizes)

    def _number(self, extent) -> int | None:
        return None if isinstance(extent, Unknown) else self._at(extent.size)

    def _result(self, slot: str, meta: TensorMeta) -> str:
        """Return a value with its dtype and actual sizes: `v3: f64[200, 3]`."""
        return f"{slot}: {short_dtype(meta.dtype)}[{', '.join(map(self._extent, meta.extents))}]"

    def _extent(self, extent) -> str:
        if isinstance(extent, Unknown):
            return "?"
        return f"{'' if isinstance(extent, Exact) else '<='}{self._number(extent)}"


def _lines(row: Row, nest: Any) -> Iterator[Row]:
    """Yield a row for each line that was seen to run in a compiled loop, with a part of the time of the loop."""
    seen = sum(nest.seconds)
    for where, seconds in zip(nest.lines, nest.seconds[1:], strict=True):
        if seconds:
            part = seconds / seen
            yield Row(line_of(where) or str(where), part * row.seconds, part * row.share, where=where)


def _escaping(group: Group) -> list[tuple[str, TensorMeta]]:
    """Return the results of a group that are read outside of its tiles, by slot."""
    pairs = [pair for step in group.steps for pair in zip(step.outputs, step.results, strict=True)]
    return [(slot, meta) for slot, meta in pairs if slot in group.escaping]


def _fractions(part: range, runs: Sequence[TimedRun]) -> list[float]:
    """Return the fraction of a row's time that each step takes, from its time on all threads; medians of runs."""
    spent = _spent(part.start, len(part), runs)
    whole = sum(spent)
    return [t / whole if whole else 1 / len(spent) for t in spent]


def _total(numbers: Sequence[int | None]) -> int | None:
    """Return the sum of the numbers, or None if one is unknown."""
    known = [n for n in numbers if n is not None]
    return sum(known) if len(known) == len(numbers) else None


def _spent(key, count: int, runs: Sequence[TimedRun]) -> list[float]:
    """Return the seconds of each of so many steps on all threads; medians of runs."""
    return [_median([sum(share.seconds[i] for share in run.shares[key]) for run in runs]) for i in range(count)]
