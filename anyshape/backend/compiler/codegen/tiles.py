"""A group of steps as a function that runs it a tile of rows at a time, in buffers that fit a cache.

The function takes the number of rows, what the group reads, and sizes; it gives what escapes. Results of elementwise
steps are written where they belong, the rest goes through buffers that are used again for each tile. Sums over rows
are summed tile by tile, and the sums of tiles then; so are maxima and the like.

The model, as measured on two cores. What threads have to pay for is that each call of NumPy lets go of the interpreter
and takes it back: some 10 us where threads compete. So a step on a tile is to take at least `STEP` on average, by the
table of `nanoseconds`, and there are to be four tiles or more, or else the steps run on whole arrays: of cheap steps on
singles it takes half a million elements. Tiles are larger than that where all buffers of a thread still are in its
caches, up to `WIDE` for one value. They differ by one row at most, so none is left over with a single element, which
NumPy multiplies otherwise where it is complex. How tiles are cut depends on sizes alone, not on threads, so a sum is
the same for any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.timers import TileTimers
from anyshape.backend.compiler.op_traits import find_traits, nanoseconds
from anyshape.backend.compiler.plan import Group, Literal, Step
from anyshape.backend.runtime import block_cache
from anyshape.backend.runtime.thread_pool import run_tiles
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.ops.apply import find_kernel

STEP = 25_000.0  # nanoseconds
PAYS = 500_000.0  # nanoseconds of work for which tiles pay: to start threads and to make buffers takes about 100,000
SMALLEST, LARGEST = 1 << 13, 1 << 17  # elements of a tile, as steps take long or short
WIDE, BUFFERS = 1 << 18, 1 << 22  # bytes of the widest value of a tile, and of all buffers of a thread
FEW = 16  # blocks of tiles at least where totals are arrays; these are a sixteenth of what is read, if blocks are more
Key = tuple[np.dtype, tuple[Size, ...]]  # of what has equally many bytes in a row
forced: tuple[int, int] | None = None  # (least, tile): what tests set so that small arrays are cut, or none are


def _smallest(group: Group) -> int:
    """The elements of its widest value that a tile of a group has at least, of the smallest arrays that are cut."""
    times = [nanoseconds(step.op, step.results[0].dtype) for step in group.steps]
    return min(max(SMALLEST, int(STEP * len(times) / sum(times))), LARGEST)


def least(group: Group) -> int:
    """The elements of its widest value from which on a group runs by tiles."""
    if forced is not None:
        return forced[0]
    work = sum(nanoseconds(step.op, step.results[0].dtype) for step in group.steps)
    return max(4 * _smallest(group), int(PAYS / work))


@dataclass(frozen=True)
class TileFunction:
    """The text of the function of a group, with the line, counted from 1, where each step begins."""

    text: str
    marks: tuple[tuple[int, Step], ...]


class GroupSource:
    """Writes the function of a group. `bind` names an object in scope; `size` is the source of a size at the call.

    If it is `timed`, its last argument is a list that each thread tells of its tiles. `threads` run it at most.
    """

    def __init__(
        self,
        group: Group,
        bind: Callable[[str, Any], str],
        size: Callable[[Size], str],
        timed: bool = False,
        threads: int | None = None,
    ) -> None:
        self.timers = TileTimers(len(group.steps)) if timed else None
        self.pads = {step.inputs[0]: step for step in group.steps if step.outputs[0] in group.padded}
        self.group, self.bind, self.size, self.threads = group, bind, size, threads
        pairs = [pair for step in group.steps for pair in zip(step.outputs, step.results, strict=True)]
        self.made: dict[str, TensorMeta] = dict(pairs)
        self.totals, unwritten = {*group.carried}, {*group.carried, *group.padded}
        # the slots that tiles write their rows of into an array
        self.written = dict.fromkeys([*[s for s in group.escaping if s not in unwritten], *map(str, self.pads)])
        # totals of tiles are put together for blocks of them first: else those of long rows would be as much again
        self.blocks = any(set(self.made[slot].sizes or ()) - {1} for slot in group.carried)
        self.rowed = {
            slot
            for step, flags in zip(group.steps, group.parallel_operands, strict=True)
            for slot, flag in zip(step.inputs, flags, strict=True)
            if flag and isinstance(slot, str) and slot not in self.made
        }
        read = [s for step in group.steps for s in step.inputs if isinstance(s, str) and s not in self.made]
        self.read: list[str] = list(dict.fromkeys(read))
        self.sizes: dict[str, str] = {}  # the source of a size at the call, by its local
        self.local: dict[str, str] = {}  # the value of a slot, in a tile
        self.buffer: dict[str, str] = {}  # the buffer that a value lives in
        self.holds: dict[str, set[str]] = {}  # the values without a buffer that a slot keeps alive, itself among them
        self.alive: list[list[Key]] = []  # for each step, what is alive without a buffer when it ends
        self.free: dict[Any, list[str]] = {}
        self.keys: dict[str, Any] = {}
        self.allocated: dict[str, str] = {}
        self.lines: list[str] = []
        self.marks: list[tuple[int, Step]] = []
        self.last = self._last_uses()

    def _last_uses(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for i, step in enumerate(self.group.steps):
            found |= {slot: i for slot in (*step.inputs, *step.outputs) if isinstance(slot, str)}
        return found

    def function(self, name: str) -> TileFunction:
        """The function, by this name."""
        row = self.widest(self._size)
        slices = [f"t_{slot} = {slot}[lo:hi]" for slot in self.read if slot in self.rowed]
        self.local |= {slot: f"t_{slot}" for slot in self.rowed}
        for i, (step, flags) in enumerate(zip(self.group.steps, self.group.parallel_operands, strict=True)):
            self._step(i, step, flags)
            self.lines += self.timers.step(i) if self.timers else []
        buffers, totals, timers = self.allocated, self.group.carried, self.timers
        # these note the sizes that they need, which the first line lists
        results, partial = self._results(), self._partial_totals()
        most = "" if self.threads is None else f", most={self.threads}"
        merged = self._merged() if self.group.collapsed else []
        lines = [
            f"def {name}({', '.join(['n', *self.read, *self.sizes, *([timers.argument] if timers else [])])}):",
            f"    row = {row}",
            *[f"    {x}" for x in results],
            *[f"    {x}" for x in merged],
            f"    t = -(-n // (-(-n // (4 * max(1, {self.tile} // row))) * 4))",
            "    count = -(-n // t)",
            *[f"    {x}" for x in partial],
            "    def work(tiles):",
            *[f"        f_{b} = {source}" for b, source in buffers.items()],
            *[f"        {x}" for x in (timers.before() if timers else [])],
            "        for k in tiles:",
            "            lo, hi = n * k // count, n * (k + 1) // count",
            *[f"            {b} = f_{b}" for b in buffers],
            *(["            if hi - lo < t:"] if buffers else []),
            *[f"                {b} = f_{b}[: hi - lo]" for b in buffers],
            *[f"            {x}" for x in [*slices, *(timers.tile() if timers else [])]],
            "            # steps",
            *[f"            {x}" for x in self.lines],
            *[f"        {x}" for x in (timers.after() if timers else [])],
            f"    _run_tiles(work, count{', per' if self.blocks else ''}{most})",
            *[f"    o_{s} = {self._whole(s)}(p_{s}, axis=0, dtype=p_{s}.dtype)" for s in totals],
            f"    return {', '.join(map(self._returned, self.group.escaping))}",
        ]
        first = lines.index("            # steps") + 2
        return TileFunction("\n".join(lines), tuple([(first + count, step) for count, step in self.marks]))

    @property
    def arrays(self) -> list[str]:
        """What the tiles of rows with further axes are taken of."""
        pairs = [pair for step in self.group.steps for pair in zip(step.inputs, step.metas, strict=True)]
        deep = {slot for slot, meta in pairs if meta.rank > 1}
        return [slot for slot in self.read if slot in self.rowed and slot in deep]

    @property
    def tile(self) -> int:
        """The elements of its widest value that a tile has at most, unless a row has more; known once steps are."""
        if forced is not None:
            return forced[1]
        itemsize = max(m.dtype.itemsize for m in self.group.parallel_metas)
        taken = sum(dtype.itemsize for dtype, _ in self.keys.values())
        return max(2 * _smallest(self.group), min(WIDE // itemsize, BUFFERS // max(1, taken)))

    def widest(self, size: Callable[[Size], str]) -> str:
        """The elements of the widest row, at least 1, as source."""
        shapes = dict.fromkeys((m.sizes or ())[1:] for m in self.group.parallel_metas)
        found = dict.fromkeys(["1", *[" * ".join(size(s) for s in sizes if s != 1) or "1" for sizes in shapes]])
        return f"max({', '.join(found)})" if len(found) > 1 else "1"

    def _whole(self, total: str) -> str:
        """What puts the results of tiles together."""
        step = next(s for s in self.group.steps if total in s.outputs)
        return self.bind("whole", _combine(step).reduce)

    def _results(self) -> list[str]:
        """Lines that make an array for each slot that the tiles of it are written to."""
        return [line for slot in self.written for line in self._result(slot)]

    def _result(self, slot: str) -> list[str]:
        """An array of its own, or a part of the array that it is placed in, whose other rows are filled here."""
        meta = self.made[slot]
        tail, dtype = self._shape((meta.sizes or ())[1:]), self._dtype(meta)
        if slot not in self.pads:
            return [f"o_{slot} = _result((n, {tail}), {dtype})"]
        pad = self.pads[slot]
        params, whole = dict(pad.params), f"o_{pad.outputs[0]}"
        low, high = (params[side][0] for side in ("low", "high"))
        start, fill = self._size(low), self.bind("p", params["value"])
        end = "n" if low == 0 else f"{start} + n"
        return [
            f"{whole} = _result(({self._size((pad.results[0].sizes or ())[0])}, {tail}), {dtype})",
            *([f"{whole}[:{start}] = {fill}"] if low != 0 else []),
            *([f"{whole}[{end}:] = {fill}"] if high != 0 else []),
            f"o_{slot} = {whole}[{start}:{end}]",
        ]

    def _partial_totals(self) -> list[str]:
        """Lines that make an array for the totals of tiles, for each total."""
        metas = [(slot, self.made[slot]) for slot in self.group.carried]
        found = dict.fromkeys(" * ".join(self._size(s) for s in m.sizes or () if s != 1) or "1" for _, m in metas)
        per = f"per = -(-count // max({FEW}, n * row // ({FEW} * max(1, {', '.join(found)}))))"
        count = "-(-count // per)" if self.blocks else "count"
        made = [f"p_{s} = _empty(({count}, {self._shape(m.sizes or ())}), {self._dtype(m)})" for s, m in metas]
        return [per, *made] if self.blocks else made

    def _merged(self) -> list[str]:
        """Lines that let further axes count as rows, where rows are long and arrays lie in C order."""
        count, given = self.group.collapsed, [slot for slot in self.read if slot in self.rowed]
        made = [f"o_{slot}" for slot in self.written]
        names = [self._size(s) for s in (self.group.widest.sizes or ())[1 : count + 1]]
        test = " and ".join([f"row > {self.tile}", *[f"{slot}.flags.c_contiguous" for slot in given]])
        return [
            *[f"whole_{a} = {a}" for a in made],
            f"if {test}:",
            f"    n *= {' * '.join(names)}",
            *[f"    {a} = {a}.reshape((n, {'1, ' * count}*{a}.shape[{count + 1} :]))" for a in [*given, *made]],
            f"    {' = '.join(dict.fromkeys(names))} = 1",
            f"    row = {self.widest(self._size)}",
        ]

    def _returned(self, slot: str) -> str:
        reshaped = self.group.collapsed and slot in self.written
        return f"whole_o_{slot}" if reshaped else f"o_{slot}"

    def _dtype(self, meta: TensorMeta) -> str:
        return self.bind("dtype", meta.dtype)

    def _size(self, size: Size) -> str:
        """A local of the function that holds a size."""
        if isinstance(size, int):
            return str(size)
        text = self.size(size)
        known = next((local for local, source in self.sizes.items() if source == text), None)
        if known is None:
            known = f"s{len(self.sizes)}"
            self.sizes[known] = text
        return known

    def _shape(self, sizes: Sequence[Size]) -> str:
        return "".join(f"{self._size(s)}, " for s in sizes)

    # -- one step in a tile

    def _step(self, i: int, step: Step, flags: Sequence[bool]) -> None:
        self.marks.append((len(self.lines), step))
        (slot,), (meta,) = step.outputs, step.results
        dying = [s for s in dict.fromkeys(step.inputs) if isinstance(s, str) and self.last[s] == i]
        if slot in self.group.padded:  # the step before wrote to it
            self._let_go(i, step)
            self._release(dying)
            return
        operands = [self._operand(o, rowed) for o, rowed in zip(step.inputs, flags, strict=True)]
        total, escapes = slot in self.totals, slot in self.written
        kernel = find_kernel(step.op)
        function, arguments = self._kernel(step)
        if total and self.blocks:
            place = f"p_{slot}[k // per, ...]"
            self.lines.append(f"q_{slot} = {function}({', '.join([*operands, *arguments])})")
            self.lines.append(f"if k % per: {self.bind('both', _combine(step))}({place}, q_{slot}, out={place})")
            self.lines.append(f"else: {place} = q_{slot}")
        elif total:
            self.lines.append(f"p_{slot}[k] = {function}({', '.join([*operands, *arguments])})")
        elif kernel.out:
            if escapes:
                target = f"r_{slot}"
                self.lines.append(f"{target} = o_{slot}[lo:hi]")
            else:
                self._release(dying)
                dying = []
                target = self._take(slot, meta)
            out = f"out={target}" if kernel.out == "keyword" else target
            self.lines.append(f"{function}({', '.join([*operands, out, *arguments])})")
            self.local[slot] = target
        else:
            self.lines.append(f"r_{slot} = {function}({', '.join([*operands, *arguments])})")
            self.local[slot] = f"r_{slot}"
            self._hold(slot, step)
            if escapes:
                self.lines.append(f"o_{slot}[lo:hi] = r_{slot}")
        self._let_go(i, step)
        self._release(dying)

    def _operand(self, operand: str | Literal, rowed: bool) -> str:
        """The rows of the tile, or all of what is the same for every row: one step may read a slot so, another so."""
        if isinstance(operand, Literal):
            return self.bind("literal", operand.array())
        return self.local[operand] if rowed or operand in self.made else operand

    def _take(self, slot: str, meta: TensorMeta) -> str:
        """A buffer for a value."""
        key = meta.dtype, (meta.sizes or ())[1:]
        pool = self.free.setdefault(key, [])
        if pool:
            name = pool.pop()
        else:
            name = f"b{len(self.allocated)}"
            self.keys[name] = key
            self.allocated[name] = f"_empty((t, {self._shape(key[1])}), {self._dtype(meta)})"
        self.buffer[slot] = name
        return name

    def _hold(self, slot: str, step: Step) -> None:
        """The memory of a value without a buffer, and that of a value that is seen through a view, lives with both."""
        base = str(step.inputs[0]) if find_traits(step.op).alias.may_share else ""
        if base in self.buffer:
            self.buffer[slot] = self.buffer[base]
        copies = not base or find_traits(step.op).alias.may_allocate
        self.holds[slot] = ({slot} if copies else set()) | self.holds.get(base, set())

    def _let_go(self, i: int, step: Step) -> None:
        """Note what is alive without a buffer, and free what nothing reads any more, before the next tile has it."""
        held = set().union(*self.holds.values())
        metas = [self.made[slot] for slot in held]
        totals = [(m.dtype, m.sizes or ()) for o, m in zip(step.outputs, step.results) if o in self.totals]
        self.alive.append([*totals, *[(m.dtype, (m.sizes or ())[1:]) for m in metas]])
        dying = [s for s in dict.fromkeys([*step.inputs, *step.outputs]) if s in self.holds and self.last[str(s)] == i]
        if dying:
            self.lines.append(f"del {', '.join(self.local[str(s)] for s in dying)}")
        for slot in dying:
            del self.holds[str(slot)]

    def _release(self, slots: Sequence[str]) -> None:
        for slot in slots:
            name = self.buffer.pop(slot, None)
            if name is not None and name not in self.buffer.values():
                self.free[self.keys[name]].append(name)

    def _kernel(self, step: Step) -> tuple[str, list[str]]:
        """The name of the function, and its keyword arguments; shapes have the rows of the tile."""
        kernel, params = find_kernel(step.op), dict(step.params)
        shape = params.pop("shape", None)
        if any(isinstance(p, DimExpr) for p in params.values()):
            raise TypeError(f"{step.op} has a size among its params")
        if shape is None and kernel.specialise is not None:
            special = kernel.specialise(params, step.metas)
            if special is not None:
                return self.bind("k_", special), []
        arguments = [f"{k}={self.bind('p', p)}" for k, p in params.items()]
        if shape is not None:
            total = step.outputs[0] in self.totals
            arguments.append(f"shape=({self._shape(shape) if total else f'hi - lo, {self._shape(shape[1:])}'})")
        return self.bind(f"k_{step.op.name}_", kernel.tiled or kernel.run), arguments


def _combine(step: Step) -> np.ufunc:
    """Return the function that joins the partial results of tiles."""
    tiling = find_traits(step.op).tiling
    assert tiling is not None and tiling.combine is not None, f"{step.op} is not carried over tiles"
    return tiling.combine


def _in_order(*arrays: np.ndarray) -> bool:
    """The elements of rows lie together. Else NumPy's results lie as its operands do, and sums follow that order."""
    for x in arrays:
        if not x.flags.c_contiguous:
            steps = [abs(step) for size, step in zip(x.shape, x.strides, strict=True) if size > 1 and step]
            if steps != sorted(steps, reverse=True):
                return False
    return True


NAMES = {"_empty": np.empty, "_result": block_cache.empty, "_run_tiles": run_tiles, "_in_order": _in_order}
