"""How much memory a plan takes: the bytes of the arrays that are alive at once, as a size over the dims of the program.

Counted is what a run allocates, except inputs and constants: results, copies of outputs, and the scratch memory of
kernels, which traits bound. Functions of the user are not counted. A movement that may copy counts as a copy, so the
result is a bound. Buffers of NumPy that do not grow with the operands are left out. Buffers of tiles are counted.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anyshape.backend.compiler.codegen.tiles import FEW, GroupSource, Key, least
from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.plan import Group, Literal, Plan, Step
from anyshape.backend.compiler.scratch import bytes_of
from anyshape.backend.runtime.config import config
from anyshape.errors import MemoryLimitError, SizeLimitError
from anyshape.graph.prover.claim_text import SizeNames
from anyshape.graph.prover.claim_text import SizeNames
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.shapes.shape_rules import numel
from anyshape.graph.sizes import expr, polynomial_bounds
from anyshape.graph.sizes.evaluate import evaluate, values_from
from anyshape.graph.sizes.expr import Size
from anyshape.graph.sizes.polynomials import Monomial


def scratch_bytes(step: Step) -> Size | None:
    """Return at most how many bytes the kernel of a step allocates besides its results; None if that is unknown."""
    scratch = find_traits(step.op).scratch
    return 0 if scratch is None else scratch(step)


def shape_constant_bytes(plan: Plan) -> Size:
    """The bytes of the arrays that the steps make which depend on sizes alone."""
    found = [bytes_of(m) for step in plan.hoisted for m in step.results if m.rank]
    return expr.total([size for size in found if size is not None])


@dataclass
class _Memory:
    """Which allocations each slot keeps, how many slots keep each of them, and what all of them take."""

    held: dict[str, Size] = field(default_factory=dict)
    home: dict[str, tuple[str, ...]] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)
    now: Size = 0

    def allocate(self, slot: str, size: Size) -> None:
        self.held[slot], self.home[slot], self.shared[slot] = size, (slot,), 1
        self.now = expr.add(self.now, size)

    def share(self, slot: str, source: object) -> None:
        homes = self.home.get(str(source), ())
        self.home[slot] = (*self.home.get(slot, ()), *homes)
        for home in homes:
            self.shared[home] += 1

    def drop(self, slot: str) -> None:
        for home in self.home.pop(slot, ()):
            self.shared[home] -= 1
            if not self.shared[home]:
                self.now = expr.sub(self.now, self.held.pop(home))


@dataclass(frozen=True)
class Peak:
    """The most bytes that are alive at once, and the step that needs them; `size` is None where it is not known."""

    size: Size | None
    step: Step | None


@dataclass(frozen=True)
class Budget:
    """At most `limit` bytes for a run; `needed` is the bound of what it takes, over the sizes of its inputs.

    `less` gives for the sizes of a call a function that takes less, if there is one, and the bytes that it takes. Where
    that does not fit, `otherwise` runs, which has a limit of its own.
    """

    program: str
    limit: int
    needed: Size | None
    where: SourceLine | None
    less: Callable[[Mapping[str, int]], tuple[Callable[..., Any] | None, int | None]] | None = None
    otherwise: Callable[..., Any] | None = None

    def instead(self, sizes: Mapping[str, int], names: Callable[[], SizeNames]) -> Callable[..., Any]:
        """What runs in place of what would take too much at these sizes, or the error."""
        run, again = self.less(sizes) if self.less is not None and self.needed is not None else (None, None)
        if run is not None and again is not None and again <= self.limit:
            return run
        if self.otherwise is not None:
            return self.otherwise
        needed = None if self.needed is None else bytes_at(self.needed, sizes)
        about = () if self.needed is None else expr.variables(self.needed)
        read = names().by_name({v: sizes[str(v)] for v in about})
        raise MemoryLimitError(self.program, needed, self.limit, str(self.needed), read, self.where, again)


def bytes_at(size: Size, sizes: Mapping[str, int]) -> int:
    """The bytes at the sizes of a call, which are given by name."""
    return evaluate(size, values_from({v: sizes[str(v)] for v in expr.variables(size)}))


def peak_bytes(plan: Plan, threads: int | None = None) -> Peak:
    """The peak of a plan. It is not known if the size of an array is not, or if it has more terms than are worked with.

    Groups run their steps as they are where arrays are small, else in tiles, on so many threads: as many as there are.
    """
    threads = config.num_threads if threads is None else threads
    try:
        whole = _walked(plan, in_tiles=False)
        if not plan.groups or whole.size is None:
            return whole
        tiled = _walked(plan, in_tiles=True)
        if tiled.size is None:
            return whole
        small = max(_small_bytes(g, plan) for g in plan.groups)
        as_they_are = expr.minimum(whole.size, expr.add(tiled.size, small))
        return Peak(expr.maximum(as_they_are, expr.add(tiled.size, _buffers(plan.groups, small, threads))), tiled.step)
    except SizeLimitError:
        return Peak(None, None)


def _walked(plan: Plan, in_tiles: bool) -> Peak:
    """The peak if groups run their steps as they are, or in tiles, of which the buffers are not counted here."""
    memory = _Memory()
    highest: list[tuple[Size, Step | None]] = [(0, None)]
    groups = {g.first_slot: g for g in plan.groups}
    steps = iter(plan.steps)
    for step in steps:
        group = groups.get(step.outputs[0]) if step.outputs else None
        if group is not None and in_tiles:
            _raise_to(highest, expr.add(memory.now, _together(group)), step)
            for slot, size in _results(group).items():
                memory.allocate(slot, size)
            for part in (step, *itertools.islice(steps, len(group.steps) - 1)):
                for slot in part.drops:
                    memory.drop(slot)
            continue
        extra = _enter(memory, step)
        if extra is None:
            return Peak(None, step)
        _raise_to(highest, expr.add(memory.now, extra), step)
        for slot in step.drops:
            memory.drop(slot)
    copies = _copies(plan)
    if copies is None:
        return Peak(None, None)
    _raise_to(highest, expr.add(memory.now, copies), None)
    return Peak(expr.maximum(*[size for size, _ in highest]) if len(highest) > 1 else highest[0][0], highest[0][1])


# -- groups


def _results(group: Group) -> dict[str, Size]:
    """The bytes of what a group gives, by slot: its sizes are exact, or there were no group."""
    found = {o: bytes_of(m) for s in group.steps for o, m in zip(s.outputs, s.results, strict=True)}
    return {slot: size for slot, size in found.items() if slot in group.escaping and size is not None}


def _written(group: Group) -> GroupSource:
    """The function of a group, for what it takes."""
    source = GroupSource(group, lambda prefix, _: prefix, str)
    source.function("tiled")
    return source


_FEW = 8  # tiles at most into which less is cut than would fill that many


def _together(group: Group) -> Size:
    """The bytes of what a group gives, which its tiles fill side by side, and of a sum over rows for each tile."""
    results = _results(group)
    if group.carried:
        rows = dict.fromkeys(numel((m.sizes or ())[1:]) for m in group.parallel_metas)
        read = expr.mul(group.rows, expr.maximum(1, *rows))
        # twice as many as would be full, as rows are not divided; also where further axes are merged with rows
        tiles = expr.add(expr.mul(2, expr.ceildiv(read, _written(group).tile)), _FEW)
        numbers = [numel(s.results[0].sizes or ()) for s in group.steps if s.outputs[0] in group.carried]
        if numbers != [1] * len(numbers):  # then tiles are in blocks
            blocks = expr.floordiv(read, expr.mul(FEW, expr.maximum(1, *numbers)))
            tiles = expr.minimum(tiles, expr.maximum(FEW, blocks))
        results["totals"] = expr.mul(tiles, expr.total([results[slot] for slot in group.carried]))
    return expr.total([*results.values()])


def _small_bytes(group: Group, plan: Plan) -> int:
    """At most the bytes of what stays inside a group that runs its steps as they are, as its arrays are small."""
    memory, most, elements = _Memory(), 0, least(group)
    start = next(i for i, step in enumerate(plan.steps) if step.outputs[:1] == (group.first_slot,))
    for step in plan.steps[start : start + len(group.steps)]:
        (slot,), (meta,) = step.outputs, step.results
        if slot not in group.escaping:
            if step.reuse in memory.home:
                memory.share(slot, step.reuse)
            else:
                memory.allocate(slot, elements * meta.dtype.itemsize)
        widest = max(m.dtype.itemsize for m in (step.metas[0], meta))
        scratch = 3 * elements * widest if find_traits(step.op).scratch is not None else 0
        most = max(most, int(expr.add(memory.now, scratch)))  # type: ignore[arg-type]
        for dropped in step.drops:
            memory.drop(dropped)
    return most


def _buffers(groups: Sequence[Group], small: int, threads: int) -> Size:
    """At most the bytes of the buffers of the group that takes most, where one is large enough to run in tiles."""
    each, whole = (expr.maximum(*found, 0) for found in zip(*map(_tile_bytes, groups), strict=True))
    rows = [expr.mul(g.rows, expr.maximum(1, *[numel((m.sizes or ())[1:]) for m in g.parallel_metas])) for g in groups]
    large = expr.maximum(0, expr.add(expr.maximum(*rows, 0), 1 - min(map(least, groups))))  # 0 where none is
    most = expr.maximum(expr.mul(threads, each), small)
    return expr.minimum(most, whole, expr.mul(most, large))


def _tile_bytes(group: Group) -> tuple[Size, Size]:
    """Two bounds of the bytes of the buffers of a group, and of what kernels make in a tile.

    Those of a thread; and half as much again as whole arrays take, as tiles overhang the rows by half at most.
    """
    source = _written(group)
    most: Counter[Key] = Counter()  # of each sort, as many as are alive at once
    for step, alive in zip(group.steps, source.alive, strict=True):
        touched = () if find_traits(step.op).scratch is None else (step.results[0], step.metas[0])
        scratch = [(m.dtype, (m.sizes or ())[1:]) for m in touched]
        most |= Counter([*alive, *scratch * 3])
    rows = [(dtype.itemsize, numel(sizes)) for dtype, sizes in (*source.keys.values(), *most.elements())]
    tile = expr.total([expr.mul(itemsize, expr.maximum(source.tile, row)) for itemsize, row in rows])
    whole = expr.mul(expr.total([expr.mul(itemsize, row) for itemsize, row in rows]), group.rows)
    return tile, expr.add(whole, expr.floordiv(whole, 2))


# -- steps


def _enter(memory: _Memory, step: Step) -> Size | None:
    """Take in the results of a step; what it needs besides, None if that is not known."""
    for slot, meta in zip(step.outputs, step.results, strict=True):
        if step.reuse is not None:
            memory.share(slot, step.reuse)
        elif not find_traits(step.op).alias.may_allocate and not step.fallback:
            memory.share(slot, step.inputs[0])
        else:
            size = bytes_of(meta)
            if size is None:
                return None
            base = bytes_of(step.metas[0]) if step.fallback and step.inputs[0] in memory.home else None
            if base is None or not _not_less(base, size):
                memory.allocate(slot, size)
            if base is not None:  # of what lies in C order it is a view, which keeps all of it
                memory.share(slot, step.inputs[0])
    between = [bytes_of(m) for part in step.fallback[:-1] for m in part.results]
    scratch = scratch_bytes(step)
    if scratch is None or any(b is None for b in between):
        return None
    return expr.total([scratch, *[b for b in between if b is not None]])


def _copies(plan: Plan) -> Size | None:
    """The bytes of outputs that are copied, and of literals, which become arrays."""
    found = [
        bytes_of(meta)
        for slot, meta, copied in zip(plan.outputs, plan.output_metas, plan.copied, strict=True)
        if copied or isinstance(slot, Literal)
    ]
    known = [b for b in found if b is not None]
    return expr.total(known) if len(known) == len(found) else None


def _raise_to(highest: list[tuple[Size, Step | None]], size: Size, step: Step | None) -> None:
    """Keep the sizes that no other is at least as large as, for all sizes of arrays."""
    if any(_not_less(kept, size) for kept, _ in highest):
        return
    highest[:] = [(kept, s) for kept, s in highest if not _not_less(size, kept)] + [(size, step)]


def _not_less(a: Size, b: Size) -> bool:
    """a >= b for all sizes, by the bounds of the terms in which they differ."""
    gap, low = dict(_terms(a)), 0
    for monomial, coefficient in _terms(b):
        gap[monomial] = gap.get(monomial, 0) - coefficient
    for side in (1, 0):  # first what is taken away, which most often has no bound
        for monomial, coefficient in gap.items():
            if coefficient and (coefficient < 0) == side:
                least = polynomial_bounds.of_monomial(monomial)[side]
                if least is None:
                    return False
                low += coefficient * least
    return low >= 0


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    return (((), size),) if isinstance(size, int) else size.terms
