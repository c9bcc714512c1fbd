"""Peak memory of a plan: an upper bound of the bytes live at once, as a size over the variables of the program.

Counted is what a run allocates, except inputs and constants: results, copies of outputs, and the scratch memory of
kernels, which traits bound. Functions of the user are not counted. A movement that may copy counts as a copy, so the
result is a bound. Buffers of NumPy that do not grow with the operands are left out. Buffers of tiles are counted.

Length of a block of trips of a scan: so many trips that the element values of a block fit in a cache.

A block has at least one trip. The length depends on sizes alone, so equal arguments have equal blocks.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from anyshape.backend.compiler.codegen import tiles as tiling
from anyshape.backend.compiler.op_traits import TRAITS, bytes_of, total_bytes
from anyshape.backend.compiler.plan import Group, Literal, Plan, Step
from anyshape.backend.runtime.config import config
from anyshape.errors import MemoryLimitError, SizeLimitError
from anyshape.graph.prover.constraints import SizeNames, SourceLine
from anyshape.graph.shapes.array_type import TensorMeta, numel
from anyshape.graph.sizes import expr, polynomials
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.polynomials import Monomial
from anyshape.graph.sizes.substitute import computable, evaluate, substitute, values_from
from anyshape.ops.loops import Layout, mask_position
from anyshape.support.lazy_dataclass import dataclass

OVERHANG = 8  # tiles at most into which rows are cut that would fill fewer


def scratch_bytes(step: Step) -> Size | None:
    """Return at most how many bytes the kernel of a step allocates besides its results; None if that is unknown."""
    scratch = TRAITS[step.op].scratch
    return 0 if scratch is None else scratch(step)


def shape_constant_bytes(plan: Plan) -> Size:
    """Return the bytes of the arrays that hoisted steps make."""
    sizes = [bytes_of(m) for step in plan.hoisted for m in step.results if m.rank]
    return expr.total([size for size in sizes if size is not None])


def bytes_at(size: Size, sizes: Mapping[str, int]) -> int:
    """Return the bytes at the sizes of a call, given by name."""
    return evaluate(computable(size), values_from({v: sizes[str(v)] for v in expr.variables(size)}))


@dataclass(frozen=True)
class Peak:
    """Largest number of live bytes, and the step that needs them; `size` is None where it is not known."""

    size: Size | None
    step: Step | None


@dataclass(frozen=True)
class Budget:
    """Limit of the bytes of a run.

    - `needed`: the bound of what the plan takes, over the sizes of its inputs; None where it is not known.
    - `recompute`: for the sizes of a call, a function that recomputes values, if there is one, and its bytes. Where no
      bound of them is known, the function counts them while it runs, and keeps to the limit by itself.
    - `fallback`: a function with a limit of its own, for where that does not fit either.
    """

    program: str
    limit: int
    needed: Size | None
    where: SourceLine | None
    recompute: Callable[[Mapping[str, int]], tuple[Callable[..., Any] | None, int | None]] | None = None
    fallback: Callable[..., Any] | None = None

    def replacement(self, sizes: Mapping[str, int], names: Callable[[], SizeNames]) -> Callable[..., Any]:
        """Return the function that runs where the plan would take too much at these sizes.

        Raise MemoryLimitError if there is none.
        """
        run, recomputed_bytes = self.recompute(sizes) if self.recompute is not None else (None, None)
        if run is not None and (recomputed_bytes is None or recomputed_bytes <= self.limit):
            return run
        if self.fallback is not None:
            return self.fallback
        needed = None if self.needed is None else bytes_at(self.needed, sizes)
        variables = () if self.needed is None else expr.variables(self.needed)
        shown = names().by_name({v: sizes[str(v)] for v in variables})
        raise MemoryLimitError(self.program, needed, self.limit, str(self.needed), shown, self.where, recomputed_bytes)


def peak_bytes(plan: Plan, threads: int | None = None) -> Peak:
    """Return the peak of a plan.

    It is unknown if the size of an array is, or if it has too many terms. Groups run their steps one by one where
    arrays are small, else in tiles, on this many threads or on `config.num_threads`.
    """
    threads = config.num_threads if threads is None else threads
    try:
        whole = _walk(plan, in_tiles=False)
        if not plan.groups or whole.size is None:
            return whole
        tiled = _walk(plan, in_tiles=True)
        if tiled.size is None:
            return whole
        small = max(_small_group_bytes(group, steps) for group, steps in plan.parts() if group is not None)
        one_by_one = expr.minimum(whole.size, expr.add(tiled.size, small))
        in_tiles = expr.add(tiled.size, _tile_buffer_bytes(plan.groups, small, threads))
        return Peak(expr.maximum(one_by_one, in_tiles), tiled.step)
    except SizeLimitError:
        return Peak(None, None)


@dataclass
class _Memory:
    """Live allocations.

    - `held`: the bytes of each allocation, by the slot that made it.
    - `allocations`: the allocations that each slot keeps alive.
    - `references`: how many slots keep each allocation alive.
    - `now`: the bytes of all.
    """

    held: dict[str, Size] = field(default_factory=dict)
    allocations: dict[str, tuple[str, ...]] = field(default_factory=dict)
    references: dict[str, int] = field(default_factory=dict)
    now: Size = 0

    def allocate(self, slot: str, size: Size) -> None:
        self.held[slot], self.allocations[slot], self.references[slot] = size, (slot,), 1
        self.now = expr.add(self.now, size)

    def share(self, slot: str, source: object) -> None:
        """Let a slot keep alive what a source keeps alive."""
        shared = self.allocations.get(str(source), ())
        self.allocations[slot] = (*self.allocations.get(slot, ()), *shared)
        for allocation in shared:
            self.references[allocation] += 1

    def drop(self, slots: Sequence[str]) -> None:
        for slot in slots:
            for allocation in self.allocations.pop(slot, ()):
                self.references[allocation] -= 1
                if not self.references[allocation]:
                    self.now = expr.sub(self.now, self.held.pop(allocation))


class _Highest:
    """Largest of sizes. Each candidate is kept that no other is proved to be at least as large as in every call."""

    def __init__(self) -> None:
        self.candidates: list[tuple[Size, Step | None]] = [(0, None)]

    def add(self, size: Size, step: Step | None) -> None:
        if any(_is_at_least(candidate, size) for candidate, _ in self.candidates):
            return
        self.candidates = [(c, s) for c, s in self.candidates if not _is_at_least(size, c)] + [(size, step)]

    def peak(self) -> Peak:
        sizes = [size for size, _ in self.candidates]
        return Peak(expr.maximum(*sizes) if len(sizes) > 1 else sizes[0], self.candidates[0][1])


def _walk(plan: Plan, *, in_tiles: bool) -> Peak:
    """Return the peak if groups run their steps one by one, or in tiles, whose buffers are not counted here."""
    memory, highest = _Memory(), _Highest()
    for group, steps in plan.parts():
        if group is not None and in_tiles:
            highest.add(expr.add(memory.now, _group_bytes(group)), steps[0])
            for slot, size in _escaping_bytes(group).items():
                memory.allocate(slot, size)
            for step in steps:
                memory.drop(step.drops)
            continue
        for step in steps:
            if (scratch := _enter(memory, step)) is None:
                return Peak(None, step)
            highest.add(expr.add(memory.now, scratch), step)
            memory.drop(step.drops)
    if (copies := _copied_bytes(plan)) is None:
        return Peak(None, None)
    highest.add(expr.add(memory.now, copies), None)
    return highest.peak()


# -- groups


def _elements(group: Group) -> Size:
    """Return the elements of the widest value of a group."""
    widths = dict.fromkeys(numel(tiling.row_sizes(m)) for m in group.parallel_metas)
    return expr.mul(group.rows, expr.maximum(1, *widths))


def _escaping_bytes(group: Group) -> dict[str, Size]:
    """Return the bytes of escaping results, by slot. Their sizes are exact, or there would be no group."""
    metas = {o: m for s in group.steps for o, m in zip(s.outputs, s.results, strict=True)}
    return {slot: size for slot, m in metas.items() if slot in group.escaping and (size := bytes_of(m)) is not None}


def _group_bytes(group: Group) -> Size:
    """Return the bytes of what tiles of a group fill side by side, and of its partial results."""
    escaping = _escaping_bytes(group)
    total = expr.total([*escaping.values()])
    if not group.carried:
        return total
    elements = _elements(group)
    # twice as many tiles as would be full, as rows are not divided; also where further axes are collapsed
    tiles = expr.add(expr.mul(2, expr.ceildiv(elements, tiling.tile_memory(group).elements)), OVERHANG)
    numbers = [numel(s.results[0].sizes or ()) for s in group.steps if s.outputs[0] in group.carried]
    if numbers != [1] * len(numbers):  # then tiles are in blocks
        blocks = expr.floordiv(elements, expr.mul(tiling.MIN_BLOCKS, expr.maximum(1, *numbers)))
        tiles = expr.minimum(tiles, expr.maximum(tiling.MIN_BLOCKS, blocks))
    return expr.add(total, expr.mul(tiles, expr.total([escaping[slot] for slot in group.carried])))


def _small_group_bytes(group: Group, steps: Sequence[Step]) -> int:
    """Return at most the bytes of internal values of a group whose arrays are small enough to run step by step."""
    memory, most, elements = _Memory(), 0, tiling.min_tiled_elements(group)
    for step in steps:
        (slot,), (meta,) = step.outputs, step.results
        if slot not in group.escaping:
            if step.reuse in memory.allocations:
                memory.share(slot, step.reuse)
            else:
                memory.allocate(slot, elements * meta.dtype.itemsize)
        itemsize = max([m.dtype.itemsize for m in tiling.scratch_like(step)], default=0)
        most = max(most, int(expr.add(memory.now, tiling.KERNEL_ARRAYS * elements * itemsize)))  # type: ignore[arg-type]
        memory.drop(step.drops)
    return most


def _tile_buffer_bytes(groups: Sequence[Group], small: int, threads: int) -> Size:
    """Return at most the bytes of the buffers of the group that takes most; 0 where none is large enough for tiles."""
    per_thread, whole = (expr.maximum(*sizes, 0) for sizes in zip(*map(_tile_bytes, groups), strict=True))
    elements = expr.maximum(*map(_elements, groups), 0)
    large = expr.maximum(0, expr.add(elements, 1 - min(map(tiling.min_tiled_elements, groups))))  # 0 where none is
    most = expr.maximum(expr.mul(threads, per_thread), small)
    return expr.minimum(most, whole, expr.mul(most, large))


def _tile_bytes(group: Group) -> tuple[Size, Size]:
    """Return two bounds of the bytes of the buffers of a group, and of what kernels make in a tile.

    One is for a thread. The other is half as much again as whole arrays take. The rows of all tiles may exceed the rows
    of the array by half.
    """
    tile = tiling.tile_memory(group)
    rows = [(dtype.itemsize, numel(sizes)) for dtype, sizes in (*tile.buffers, *Counter(tile.unbuffered).elements())]
    per_thread = expr.total([expr.mul(itemsize, expr.maximum(tile.elements, row)) for itemsize, row in rows])
    whole = expr.mul(expr.total([expr.mul(itemsize, row) for itemsize, row in rows]), group.rows)
    return per_thread, expr.add(whole, expr.floordiv(whole, 2))


# -- steps


def _enter(memory: _Memory, step: Step) -> Size | None:
    """Add the results of a step; return the bytes that it needs besides, None if that is not known."""
    mask = mask_position(step)
    unallocated = [] if mask is None else [step.outputs[mask]]
    for slot, meta in zip(step.outputs, step.results, strict=True):
        if step.reuse is not None:
            memory.share(slot, step.reuse)
        elif not TRAITS[step.op].alias.may_allocate and not step.fallback:
            memory.share(slot, step.inputs[0])
        elif slot in unallocated:
            memory.allocate(slot, 0)
        elif not _allocate(memory, step, slot, meta):
            return None
    between = [bytes_of(m) for part in step.fallback[:-1] for m in part.results]
    return total_bytes([scratch_bytes(step), *between])


def _allocate(memory: _Memory, step: Step, slot: str, meta: TensorMeta) -> bool:
    """Allocate a result, if its size is known.

    The result of a view with a fallback is a view, which keeps all of the operand alive, or a copy.
    """
    if (size := bytes_of(meta)) is None:
        return False
    base = bytes_of(step.metas[0]) if step.fallback and step.inputs[0] in memory.allocations else None
    if base is None or not _is_at_least(base, size):
        memory.allocate(slot, size)
    if base is not None:
        memory.share(slot, step.inputs[0])
    return True


def _copied_bytes(plan: Plan) -> Size | None:
    """Return the bytes of outputs that are copied, and of literals, which become arrays."""
    outputs = zip(plan.outputs, plan.output_metas, plan.copied, strict=True)
    return total_bytes([bytes_of(meta) for slot, meta, copied in outputs if copied or isinstance(slot, Literal)])


def _is_at_least(a: Size, b: Size) -> bool:
    """Return whether a >= b at all sizes follows from the bounds of the terms in which they differ."""
    difference = dict(_terms(a))
    for monomial, coefficient in _terms(b):
        difference[monomial] = difference.get(monomial, 0) - coefficient
    low = 0
    for negative in (True, False):  # negative terms first, which most often have no bound
        for monomial, coefficient in difference.items():
            if coefficient and (coefficient < 0) == negative:
                if (bound := polynomials.of_monomial(monomial)[negative]) is None:
                    return False
                low += coefficient * bound
    return low >= 0


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    return (((), size),) if isinstance(size, int) else size.terms


BLOCK_BYTES = 1 << 18


def trips_variable(block: Plan, layout: Layout) -> DimVar:
    """Return the variable of the plan of element values that is the number of trips of a block."""
    return next(b.variable for b in block.dims if b.target == expr.input_axis(layout.stacks.start, 0))


def trips_of_block(block: Plan, layout: Layout) -> Size:
    """Return how many trips a block has at most, over the other variables of the plan of its element values."""
    made = [meta for step in block.steps for meta in step.results if TRAITS[step.op].alias.may_allocate]
    size = total_bytes([bytes_of(meta) for meta in made])
    assert size is not None  # element values have exact sizes
    variable = trips_variable(block, layout)
    of_one = substitute(size, lambda atom: 1 if atom is variable else None)
    return expr.maximum(1, expr.floordiv(BLOCK_BYTES, expr.maximum(1, of_one)))
