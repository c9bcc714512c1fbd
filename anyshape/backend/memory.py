"""How much memory a plan takes: the bytes of the arrays that are alive at once, as a size over the dims of the program.

Counted is what a run allocates: not its inputs and constants, but copies of outputs, and what kernels make on the way
(`SCRATCH`; not what functions of users do). Where a movement may have to copy it is taken to do so, so the result is a
bound. Buffers of NumPy that do not grow with the operands are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from anyshape.backend.plan import Group, Literal, Plan, Step
from anyshape.backend.plan_ops import contract_op, scatter_sums_op
from anyshape.errors import MemoryLimitError, SizeLimitError
from anyshape.graph import dims
from anyshape.graph.conditions import Where
from anyshape.graph.dims import Size
from anyshape.graph.evaluate import evaluate, to_mapping
from anyshape.graph.extents import TensorMeta
from anyshape.graph.ir import Op
from anyshape.graph.shapes import numel
from anyshape.ops import contraction, gathering, indexing, movement, reduction, sorting
from anyshape.ops.core import find_kernel

Scratch = Callable[[Step], Size | None]


def bytes_of(meta: TensorMeta, itemsize: int | None = None) -> Size | None:
    """The bytes of an array; None where an extent is not exact."""
    if meta.sizes is None:
        return None
    return dims.mul(numel(meta.sizes), meta.dtype.itemsize if itemsize is None else itemsize)


def _operands(step: Step, times: int = 1) -> Size | None:
    found = [bytes_of(m) for m in step.metas]
    known = [b for b in found if b is not None]
    return dims.mul(times, dims.total(known)) if len(known) == len(found) else None


def _first(times: int) -> Scratch:
    """So many arrays like the first operand."""

    def scratch(step: Step) -> Size | None:
        found = bytes_of(step.metas[0])
        return None if found is None else dims.mul(times, found)

    return scratch


def _positions(times: int) -> Scratch:
    """So many arrays of positions for each element of the operands, beside copies of these."""

    def scratch(step: Step) -> Size | None:
        found = [bytes_of(m, 8) for m in step.metas]
        known = [b for b in found if b is not None]
        copies = _operands(step)
        return None if copies is None else dims.add(copies, dims.mul(times, dims.total(known)))

    return scratch


def _windows(times: int) -> Scratch:
    """So many arrays of positions for each element of the operands and of the result, beside copies of these."""
    positions = _positions(times)

    def scratch(step: Step) -> Size | None:
        copies, result, placed = positions(step), bytes_of(step.results[0]), bytes_of(step.results[0], 8)
        if copies is None or result is None or placed is None:
            return None
        return dims.add(copies, dims.add(result, dims.mul(times, placed)))

    return scratch


# What kernels allocate for themselves, beyond their results, at most.
SCRATCH: dict[Op, Scratch] = {
    # operands whose axes are not in the order that BLAS takes
    **dict.fromkeys((contraction.dot_general_op, contract_op), _operands),
    reduction.softmax_op: _first(2),
    reduction.reduce_logsumexp_op: _first(3),
    reduction.cumlogsumexp_op: _first(2),
    reduction.recurrence_op: _first(2),
    reduction.argmax_op: _first(1),
    reduction.argmin_op: _first(1),
    sorting.sort_op: _first(1),
    sorting.argsort_op: _first(2),
    sorting.permute_op: _positions(2),
    sorting.searchsorted_op: _positions(2),
    indexing.take_op: _positions(1),
    indexing.put_add_op: _positions(3),
    **dict.fromkeys((gathering.gather_op, gathering.gather_dynamic_op), _windows(5)),
    **dict.fromkeys((*gathering.SCATTERS.values(), scatter_sums_op), _windows(8)),
}
_MAY_COPY = (movement.reshape_op, reduction.sum_to_op)


@dataclass
class _Memory:
    """Which allocation each slot lives in, how many slots share one, and what all of them take."""

    held: dict[str, Size] = field(default_factory=dict)
    home: dict[str, str] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)
    now: Size = 0

    def allocate(self, slot: str, size: Size) -> None:
        self.held[slot], self.home[slot], self.shared[slot] = size, slot, 1
        self.now = dims.add(self.now, size)

    def share(self, slot: str, source: object) -> None:
        home = self.home.get(str(source))
        if home is not None:
            self.home[slot] = home
            self.shared[home] += 1

    def drop(self, slot: str) -> None:
        home = self.home.pop(slot, None)
        if home is not None:
            self.shared[home] -= 1
            if not self.shared[home]:
                self.now = dims.sub(self.now, self.held.pop(home))


@dataclass(frozen=True)
class Peak:
    """The most bytes that are alive at once, and the step that needs them; `size` is None where it is not known."""

    size: Size | None
    step: Step | None


@dataclass(frozen=True)
class Budget:
    """At most `limit` bytes for a run; `needed` is the bound of what it takes, over the sizes of its inputs."""

    program: str
    limit: int
    needed: Size | None
    where: Where | None

    def refuse(self, sizes: Mapping[str, int]) -> NoReturn:
        """Raise the error for the sizes of a call."""
        needed = None
        if self.needed is not None:
            needed = evaluate(self.needed, to_mapping({v: sizes[str(v)] for v in dims.variables(self.needed)}))
        raise MemoryLimitError(self.program, needed, self.limit, str(self.needed), sizes, self.where)


def peak_bytes(plan: Plan) -> Peak:
    """The peak of a plan. It is not known if the size of an array is not, or if it has more terms than are worked with.
    """
    memory = _Memory()
    highest: list[tuple[Size, Step | None]] = [(0, None)]
    try:
        starts = {g.start: g for g in plan.groups}
        for step in plan.steps:
            together = _results(starts.get(step.outputs[0])) if step.outputs else 0
            if together is None:
                return Peak(None, step)
            _raise_to(highest, dims.add(memory.now, together), step)
            extra = _enter(memory, step)
            if extra is None:
                return Peak(None, step)
            _raise_to(highest, dims.add(memory.now, extra), step)
            for slot in step.drops:
                memory.drop(slot)
        copies = _copies(plan)
        if copies is None:
            return Peak(None, None)
        _raise_to(highest, dims.add(memory.now, copies), None)
        return Peak(dims.maximum(*[size for size, _ in highest]) if len(highest) > 1 else highest[0][0], highest[0][1])
    except SizeLimitError:
        return Peak(None, None)


def _results(group: Group | None) -> Size | None:
    """The bytes of what a group gives, which its tiles fill side by side; those of tiles themselves do not grow."""
    steps = group.steps if group is not None else ()
    wanted = group.escaping if group is not None else ()
    found = [bytes_of(m) for s in steps for o, m in zip(s.outputs, s.results, strict=True) if o in wanted]
    known = [b for b in found if b is not None]
    return dims.total(known) if len(known) == len(found) else None


def _enter(memory: _Memory, step: Step) -> Size | None:
    """Take in the results of a step; what it needs besides, None if that is not known."""
    kernel = find_kernel(step.op)
    for slot, meta in zip(step.outputs, step.results, strict=True):
        if step.reuse is not None:
            memory.share(slot, step.reuse)
        elif kernel.view and step.op not in _MAY_COPY and not step.instead:
            memory.share(slot, step.inputs[0])
        else:
            size = bytes_of(meta)
            if size is None:
                return None
            memory.allocate(slot, size)
    between = [bytes_of(m) for part in step.instead[:-1] for m in part.results]
    scratch = SCRATCH.get(step.op, lambda _: 0)(step)
    if scratch is None or any(b is None for b in between):
        return None
    return dims.total([scratch, *[b for b in between if b is not None]])


def _copies(plan: Plan) -> Size | None:
    """The bytes of outputs that are copied, and of literals, which become arrays."""
    found = [
        bytes_of(meta)
        for slot, meta, copied in zip(plan.outputs, plan.output_metas, plan.copied, strict=True)
        if copied or isinstance(slot, Literal)
    ]
    known = [b for b in found if b is not None]
    return dims.total(known) if len(known) == len(found) else None


def _raise_to(highest: list[tuple[Size, Step | None]], size: Size, step: Step | None) -> None:
    """Keep the sizes that no other is at least as large as, for all sizes of arrays."""
    if any(_not_less(kept, size) for kept, _ in highest):
        return
    highest[:] = [(kept, s) for kept, s in highest if not _not_less(size, kept)] + [(size, step)]


def _not_less(a: Size, b: Size) -> bool:
    low = dims.bounds(dims.sub(a, b))[0]
    return low is not None and low >= 0


