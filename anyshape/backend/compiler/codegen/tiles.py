"""Code generation for fusion groups: a function runs a group a tile of rows at a time, in buffers that fit a cache.

The function takes the number of rows, the operands of the group, and sizes; it returns the results that escape. Results
of elementwise steps are written to their arrays, others go through buffers that each tile uses again. Carried
reductions are reduced tile by tile, then their partial results are combined. Axes that are collapsed count as rows
where rows are long and arrays lie in C order.

The cost model was measured on two cores:

- Each call of NumPy releases the interpreter and takes it back: some 10 us where threads compete. So a step on a tile
  is to take at least `MIN_STEP_TIME` on average, by the times in traits.
- There are to be four tiles or more, or else the steps run on whole arrays. For cheap float32 steps the threshold is
  about 500,000 elements.
- Tiles are larger where all buffers of a thread still fit its caches, up to `MAX_WIDEST_BYTES` for one value.
- Tiles differ by one row at most. So none is left over with a single element, where NumPy rounds complex products
  differently.
- Tiles depend on sizes alone, not on threads. So a sum is the same for any number of threads.

Buffers of a thread that runs tiles: which values of a tile live in one, and what lives outside of them.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.bodies import FunctionSource
from anyshape.backend.compiler.codegen.chunks import assigned, chunked
from anyshape.backend.compiler.codegen.timers import TileTimers
from anyshape.backend.compiler.op_traits import TRAITS, nanoseconds
from anyshape.backend.compiler.plan import Group, Literal, Slot, Step
from anyshape.backend.runtime import block_cache
from anyshape.backend.runtime.thread_pool import run_tiles
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.ops.core.apply import KERNELS
from anyshape.support.lazy_dataclass import dataclass

KERNEL_ARRAYS = 3  # arrays like its operand or result that a kernel with scratch memory makes in a tile, at most
BufferKey = tuple[np.dtype, tuple[Size, ...]]  # dtype and sizes of a row, which decide its bytes


def row_sizes(meta: TensorMeta) -> tuple[Size, ...]:
    """Return the sizes of one row of a value."""
    return (meta.sizes or ())[1:]


class TileBuffers:
    """Buffers of a thread, and the values of a tile that live outside of them.

    - `keys`: what each buffer holds, by its local.
    - `holds`: for each live value without a buffer, the values that it keeps alive, itself among them.
    - `live`: of each key, how many values live outside of buffers.
    - `most`: of each key, the most that are live when a step ends, with what its kernel makes.
    """

    def __init__(self, metas: Mapping[str, TensorMeta]) -> None:
        self.metas = metas
        self.keys: dict[str, BufferKey] = {}
        self.holds: dict[str, tuple[str, ...]] = {}
        self.live: Counter[BufferKey] = Counter()
        self.most: Counter[BufferKey] = Counter()
        self._holders: Counter[str] = Counter()  # of each value that lives outside of buffers
        self._buffer: dict[str, str] = {}  # of each value that lives in one
        self._users: Counter[str] = Counter()  # of each buffer
        self._free: dict[BufferKey, list[str]] = {}

    def take(self, slot: str) -> str:
        """Return a buffer for a value."""
        key = self._key(slot)
        if free := self._free.setdefault(key, []):
            buffer = free.pop()
        else:
            buffer = naming.tile_buffer(len(self.keys))
            self.keys[buffer] = key
        self._use(slot, buffer)
        return buffer

    def _key(self, slot: str) -> BufferKey:
        return self.metas[slot].dtype, row_sizes(self.metas[slot])

    def _use(self, slot: str, buffer: str) -> None:
        self._buffer[slot] = buffer
        self._users[buffer] += 1

    def release(self, slots: Iterable[str]) -> None:
        """Free the buffers of dead values, unless a view still reads them."""
        for slot in slots:
            if (buffer := self._buffer.pop(slot, None)) is not None:
                self._users[buffer] -= 1
                if not self._users[buffer]:
                    self._free[self.keys[buffer]].append(buffer)

    def hold(self, slot: str, step: Step) -> None:
        """Note a value without a buffer. A view keeps the memory of its base alive."""
        alias = TRAITS[step.op].alias
        base = str(step.inputs[0]) if alias.may_share else ""
        if base in self._buffer:
            self._use(slot, self._buffer[base])
        own = (slot,) if alias.may_allocate else ()
        self.holds[slot] = (*own, *self.holds.get(base, ()))
        for value in self.holds[slot]:
            self.live[self._key(value)] += not self._holders[value]
            self._holders[value] += 1

    def record_unbuffered(self, step: Step, carried: Collection[str]) -> None:
        """Record what is live without a buffer at the end of a step that makes these partial results."""
        made = Counter([(self.metas[slot].dtype, self.metas[slot].sizes or ()) for slot in carried])
        made.update([(m.dtype, row_sizes(m)) for m in scratch_like(step)] * KERNEL_ARRAYS)
        held = [self._key(value) for slot in step.outputs for value in self.holds.get(slot, ())]
        for key in (*made, *held):
            self.most[key] = max(self.most[key], self.live[key] + made[key])

    def drop(self, slots: Iterable[str]) -> None:
        """Forget dead values without a buffer."""
        for slot in slots:
            for value in self.holds.pop(slot):
                self._holders[value] -= 1
                self.live[self._key(value)] -= not self._holders[value]


def scratch_like(step: Step) -> Sequence[TensorMeta]:
    """Return the arrays whose sizes bound what the kernel makes in a tile, if it makes any."""
    return () if TRAITS[step.op].scratch is None else (step.results[0], step.metas[0])


MIN_STEP_TIME = 25_000.0  # nanoseconds of a step on a tile
MIN_WORK = 500_000.0  # nanoseconds from which on tiles pay: starting threads and making buffers takes about 100,000
MIN_ELEMENTS, MAX_ELEMENTS = 1 << 13, 1 << 17  # bounds of the smallest tile of a group, as its steps take long or short
MAX_WIDEST_BYTES, MAX_BUFFER_BYTES = 1 << 18, 1 << 22  # of the widest value of a tile, and of all buffers of a thread
MIN_BLOCKS = 16  # of tiles, where partial results are arrays; more blocks take a sixteenth of what is read
forced: tuple[int, int] | None = None  # (least elements, elements of a tile), set by tests to cut small arrays or none


def _times(group: Group) -> list[float]:
    """Return how long each step takes per element, in nanoseconds."""
    return [nanoseconds(step.op, step.results[0].dtype) for step in group.steps]


def _min_tile_elements(times: Sequence[float]) -> int:
    """Return how many elements of its widest value a tile has at least, for the smallest arrays that are cut."""
    return min(max(MIN_ELEMENTS, int(MIN_STEP_TIME * len(times) / sum(times))), MAX_ELEMENTS)


def min_tiled_elements(group: Group) -> int:
    """Return from how many elements of its widest value on a group runs in tiles."""
    if forced is not None:
        return forced[0]
    times = _times(group)
    return max(4 * _min_tile_elements(times), int(MIN_WORK / sum(times)))


@dataclass(frozen=True)
class TileMemory:
    """Memory of a group that runs in tiles: what one thread takes.

    - `elements`: the most elements of the widest value in a tile, unless a row has more.
    - `buffers`: what each buffer holds.
    - `unbuffered`: of each key, how many values are live at once without a buffer, scratch arrays of kernels included.
    """

    elements: int
    buffers: tuple[BufferKey, ...]
    unbuffered: Mapping[BufferKey, int]


def tile_memory(group: Group) -> TileMemory:
    """Return what a thread takes that runs tiles of a group."""
    return GroupSource(group, lambda prefix, _: prefix, str).memory


def _tile_length(elements: int) -> str:
    """Return the line that computes the rows of a tile: at most `elements` in all, in a multiple of four tiles."""
    rows = f"max(1, {elements} // row)"
    return f"t = -(-n // (-(-n // (4 * {rows})) * 4))"


class GroupSource:
    """Writes the function of a group.

    `bind` names an object in the scope of the function. `size` is the source of a size where the function is called. If
    `timed`, the last argument is a list that each thread adds its share to. At most `threads` run it.
    """

    def __init__(
        self,
        group: Group,
        bind: Callable[[str, Any], str],
        size: Callable[[Size], str],
        timed: bool = False,
        threads: int | None = None,
    ) -> None:
        self.group, self.bind, self.size, self.threads = group, bind, size, threads
        self.timers: TileTimers | None = TileTimers(len(group.steps)) if timed else None
        self.metas: dict[str, TensorMeta] = {
            o: m for step in group.steps for o, m in zip(step.outputs, step.results, strict=True)
        }
        self.maker: dict[str, Step] = {slot: step for step in group.steps for slot in step.outputs}
        self.read: list[str] = _operands(group, self.metas)
        self.parallel: set[str] = _parallel_slots(group).difference(self.metas)  # operands with the parallel axis
        self.carried, self.padded = {*group.carried}, {*group.padded}
        self.pads: dict[str, Step] = _pads_by_operand(group)
        self.written: dict[str, Any | None] = dict.fromkeys(_written_results(group, self.pads))
        # partial results that are arrays are per block of tiles: of long rows, one per tile would be as much again
        self.in_blocks: bool = any(set(self.metas[slot].sizes or ()) - {1} for slot in group.carried)
        self.sizes: dict[str, str] = {}  # the source of a size where the function is called, by its local
        self.size_of_local: dict[str, Size] = {}
        self.local_of_size: dict[str, str] = {}
        self.row: str = self.widest_row(self.local_size)
        self.lines: list[str] = []  # of one tile
        self.marks: list[tuple[int, Step]] = []
        self.local: dict[str, str] = {
            slot: naming.tile_of_operand(slot) for slot in self.parallel
        }  # a value of the tile, by slot
        self.buffers, self.buffer_lines = TileBuffers(self.metas), dict[str, str]()
        self.last_use: dict[str, int] = _last_uses(group)
        self._write_steps()
        self.memory: TileMemory = TileMemory(
            self._tile_elements(), tuple(self.buffers.keys.values()), self.buffers.most
        )

    def _write_steps(self) -> None:
        for i, (step, flags) in enumerate(zip(self.group.steps, self.group.parallel_operands, strict=True)):
            self._write_step(i, step, flags)
            self.lines += self.timers.step(i) if self.timers else []

    def _tile_elements(self) -> int:
        if forced is not None:
            return forced[1]
        itemsize = max(m.dtype.itemsize for m in self.group.parallel_metas)
        total = sum(dtype.itemsize for dtype, _ in self.buffers.keys.values())
        most = min(MAX_WIDEST_BYTES // itemsize, MAX_BUFFER_BYTES // max(1, total))
        return max(2 * _min_tile_elements(_times(self.group)), most)

    @property
    def deep_operands(self) -> list[str]:
        """Operands with the parallel axis and further axes."""
        pairs = [pair for step in self.group.steps for pair in zip(step.inputs, step.metas, strict=True)]
        deep = {slot for slot, meta in pairs if meta.rank > 1}
        return [slot for slot in self.read if slot in self.parallel and slot in deep]

    def widest_row(self, size: Callable[[Size], str]) -> str:
        """Return the elements of the widest row, at least 1, as source."""
        shapes = dict.fromkeys([row_sizes(m) for m in self.group.parallel_metas])
        counts = dict.fromkeys(["1", *[_product(sizes, size) for sizes in shapes]])
        return f"max({', '.join(counts)})" if len(counts) > 1 else "1"

    # -- the function

    def functions(self, name: str) -> list[FunctionSource]:
        """Return the function, by this name, and the chunks of a tile where its steps are many."""
        results = [line for slot in self.written for line in self.result_lines(slot)]
        partial_results = self._partial_results_lines()
        prelude = [
            f"row = {self.row}",
            *results,
            *(self._collapse_lines() if self.group.collapsed else []),
            _tile_length(self.memory.elements),
            "count = -(-n // t)",
            *partial_results,
        ]
        timers = self.timers
        before_loop = [*self.buffer_lines.values(), *(timers.before() if timers else [])]
        start, end = self._tile_start_lines(), timers.after() if timers else []
        arguments = ["n", *self.read, *self.sizes, *([timers.argument] if timers else [])]
        lines = [f"def {name}({', '.join(arguments)}):", *_indented(prelude), "    def work(tiles):"]
        work = [*before_loop, "for k in tiles:", *_indented(start)]
        marks = [(len(work) + count, step) for count, step in self.marks]
        outer = [*arguments, "tiles", *[local for line in prelude for local in assigned(line)]]
        cut = chunked(name, [*work, *_indented(self.lines), *end], marks, len(work), outer)
        first = len(lines) + 1
        lines += [*_indented(cut.lines, 2), *_indented(self._end_lines())]
        marks = [(first + count, step) for count, step in cut.marks]
        return [FunctionSource("\n".join(lines), tuple(marks)), *cut.chunks]

    def result_lines(self, slot: str) -> list[str]:
        """Write the array of a result: one of its own, or a part of the padded array, filled around it."""
        meta, array = self.metas[slot], naming.whole_result(slot)
        tail, dtype = self._shape(row_sizes(meta)), self._dtype(meta)
        if slot not in self.pads:
            return [f"{array} = _result((n, {tail}), {dtype})"]
        pad = self.pads[slot]
        params, padded = dict(pad.params), naming.whole_result(pad.outputs[0])
        low, high = (params[side][0] for side in ("low", "high"))
        start, fill = self.local_size(low), self.bind("p", params["value"])
        end = "n" if low == 0 else f"{start} + n"
        return [
            f"{padded} = _result(({self.local_size((pad.results[0].sizes or ())[0])}, {tail}), {dtype})",
            *([f"{padded}[:{start}] = {fill}"] if low != 0 else []),
            *([f"{padded}[{end}:] = {fill}"] if high != 0 else []),
            f"{array} = {padded}[{start}:{end}]",
        ]

    def _partial_results_lines(self) -> list[str]:
        """Write the array of partial results of each carried reduction."""
        metas = [(slot, self.metas[slot]) for slot in self.group.carried]
        counts = dict.fromkeys(_product(m.sizes or (), self.local_size) for _, m in metas)
        per = f"per = -(-count // max({MIN_BLOCKS}, n * row // ({MIN_BLOCKS} * max(1, {', '.join(counts)}))))"
        count = "-(-count // per)" if self.in_blocks else "count"
        arrays = [
            f"{naming.partial_results(s)} = _empty(({count}, {self._shape(m.sizes or ())}), {self._dtype(m)})"
            for s, m in metas
        ]
        return [per, *arrays] if self.in_blocks else arrays

    def _collapse_lines(self) -> list[str]:
        """Write the lines that let further axes count as rows, where rows are long and arrays lie in C order."""
        count = self.group.collapsed
        operands = [slot for slot in self.read if slot in self.parallel]
        results = [naming.whole_result(slot) for slot in self.written]
        collapsed = [self.local_size(s) for s in (self.group.widest.sizes or ())[1 : count + 1]]
        contiguous = [f"{slot}.flags.c_contiguous" for slot in operands]
        inserted = "1, " * count
        return [
            *[f"{naming.uncollapsed(a)} = {a}" for a in results],
            f"if {' and '.join([f'row > {self.memory.elements}', *contiguous])}:",
            f"    n *= {' * '.join(collapsed)}",
            *[f"    {a} = {a}.reshape((n, {inserted}*{a}.shape[{count + 1} :]))" for a in [*operands, *results]],
            f"    {' = '.join(dict.fromkeys(collapsed))} = 1",
            f"    row = {self.row}",
        ]

    def _tile_start_lines(self) -> list[str]:
        """Write the lines of a tile before its steps: its rows, its buffers and its operands."""
        buffers = self.buffers.keys
        return [
            "lo, hi = n * k // count, n * (k + 1) // count",
            *[f"{b} = {naming.full_buffer(b)}" for b in buffers],
            *(["if hi - lo < t:"] if buffers else []),
            *[f"    {b} = {naming.full_buffer(b)}[: hi - lo]" for b in buffers],
            *[f"{naming.tile_of_operand(s)} = {s}[lo:hi]" for s in self.read if s in self.parallel],
            *(self.timers.tile() if self.timers else []),
        ]

    def _end_lines(self) -> list[str]:
        """Write the lines that run the tiles, combine partial results, and return."""
        most = "" if self.threads is None else f", most={self.threads}"
        combined = [
            f"{naming.whole_result(s)} = {self.combine(s)}({partials}, axis=0, dtype={partials}.dtype)"
            for s in self.group.carried
            for partials in [naming.partial_results(s)]
        ]
        returned = ", ".join(map(self._returned, self.group.escaping))
        return [f"_run_tiles(work, count{', per' if self.in_blocks else ''}{most})", *combined, f"return {returned}"]

    def combine(self, slot: str) -> str:
        """Bind the function that reduces the partial results of a carried reduction."""
        return self.bind("whole", _combine_ufunc(self.maker[slot]).reduce)

    def _returned(self, slot: str) -> str:
        array = naming.whole_result(slot)
        return naming.uncollapsed(array) if self.group.collapsed and slot in self.written else array

    def _dtype(self, meta: TensorMeta) -> str:
        return self.bind("dtype", meta.dtype)

    def local_size(self, size: Size) -> str:
        """Return a local of the function that holds a size; the caller passes it."""
        if isinstance(size, int):
            return str(size)
        if (text := self.size(size)) not in self.local_of_size:
            local = self.local_of_size[text] = naming.size_local(len(self.sizes))
            self.sizes[local], self.size_of_local[local] = text, size
        return self.local_of_size[text]

    def _shape(self, sizes: Sequence[Size]) -> str:
        return "".join(f"{self.local_size(s)}, " for s in sizes)

    # -- one step in a tile

    def _write_step(self, i: int, step: Step, flags: Sequence[bool]) -> None:
        self.marks.append((len(self.lines), step))
        (slot,) = step.outputs
        dying = [s for s in dict.fromkeys(step.inputs) if isinstance(s, str) and self.last_use[s] == i]
        if slot not in self.padded:  # the step before wrote to its position in the padded array
            operands = [self._operand(o, parallel) for o, parallel in zip(step.inputs, flags, strict=True)]
            if slot in self.carried:
                self._write_partial_result(slot, step, operands)
            elif KERNELS[step.op].out:
                self._write_into_array(slot, step, operands, dying)
            else:
                self._write_new_value(slot, step, operands)
        self._end_step(i, step)
        self.buffers.release(dying)

    def _write_partial_result(self, slot: str, step: Step, operands: Sequence[str]) -> None:
        """Write a step that reduces the rows of the tile."""
        call = self._call(step, operands)
        partials = naming.partial_results(slot)
        if not self.in_blocks:
            self.lines.append(f"{partials}[k] = {call}")
            return
        block, partial = f"{partials}[k // per, ...]", naming.partial_result(slot)
        combine = self.bind("both", _combine_ufunc(step))
        self.lines += [
            f"{partial} = {call}",
            f"if k % per: {combine}({block}, {partial}, out={block})",
            f"else: {block} = {partial}",
        ]

    def _write_into_array(self, slot: str, step: Step, operands: Sequence[str], dying: Sequence[str]) -> None:
        """Write a step that writes to the array of its result, or to a buffer, which may be a dying operand's."""
        if slot in self.written:
            target = naming.tile_of_result(slot)
            self.lines.append(f"{target} = {naming.whole_result(slot)}[lo:hi]")
        else:
            self.buffers.release(dying)
            target = self._buffer(slot)
        out = f"out={target}" if KERNELS[step.op].out == "keyword" else target
        self.lines.append(self._call(step, [*operands, out]))
        self.local[slot] = target

    def _buffer(self, slot: str) -> str:
        """Take a buffer for a value; write its allocation if it is new."""
        buffer, meta = self.buffers.take(slot), self.metas[slot]
        if buffer not in self.buffer_lines:
            allocation = f"_empty((t, {self._shape(row_sizes(meta))}), {self._dtype(meta)})"
            self.buffer_lines[buffer] = f"{naming.full_buffer(buffer)} = {allocation}"
        return buffer

    def _write_new_value(self, slot: str, step: Step, operands: Sequence[str]) -> None:
        """Write a step that allocates its result or returns a view."""
        self.local[slot] = naming.tile_of_result(slot)
        self.lines.append(f"{self.local[slot]} = {self._call(step, operands)}")
        self.buffers.hold(slot, step)
        if slot in self.written:
            self.lines.append(f"{naming.whole_result(slot)}[lo:hi] = {self.local[slot]}")

    def _end_step(self, i: int, step: Step) -> None:
        """Record the live values without a buffer, and free the dead ones before the next tile makes them anew."""
        self.buffers.record_unbuffered(step, [o for o in step.outputs if o in self.carried])
        slots = dict.fromkeys(map(str, [*step.inputs, *step.outputs]))
        dying = [slot for slot in slots if slot in self.buffers.holds and self.last_use[slot] == i]
        if dying:
            self.lines.append(f"del {', '.join(self.local[slot] for slot in dying)}")
        self.buffers.drop(dying)

    def _operand(self, operand: Slot, parallel: bool) -> str:
        """Return the rows of the tile, or all of an operand without the parallel axis; a slot may be read both ways."""
        if isinstance(operand, Literal):
            return self.bind("literal", operand.array())
        return self.local[operand] if parallel or operand in self.metas else operand

    def _call(self, step: Step, operands: Sequence[str]) -> str:
        """Return the call of the kernel of a step; shapes have the rows of the tile."""
        kernel, params = KERNELS[step.op], dict(step.params)
        shape = params.pop("shape", None)
        if any(isinstance(p, DimExpr) for p in params.values()):
            raise TypeError(f"{step.op} has a size among its params")
        special = kernel.specialise(params, step.metas) if shape is None and kernel.specialise is not None else None
        if special is not None:
            return f"{self.bind('k_', special)}({', '.join(operands)})"
        keywords = [f"{k}={self.bind('p', p)}" for k, p in params.items()]
        if shape is not None:
            carried = step.outputs[0] in self.carried
            rows = self._shape(shape) if carried else f"hi - lo, {self._shape(shape[1:])}"
            keywords.append(f"shape=({rows})")
        function = self.bind(f"k_{step.op.name}_", kernel.run_tiled or kernel.run)
        return f"{function}({', '.join([*operands, *keywords])})"


def _operands(group: Group, results: Collection[str]) -> list[str]:
    """Return the slots that the steps of a group read and do not make."""
    slots = [slot for step in group.steps for slot in step.inputs if isinstance(slot, str)]
    return list(dict.fromkeys([slot for slot in slots if slot not in results]))


def _pads_by_operand(group: Group) -> dict[str, Step]:
    """Return the pads whose operands tiles write to their position, by operand."""
    padded = {*group.padded}
    return {str(step.inputs[0]): step for step in group.steps if step.outputs[0] in padded}


def _written_results(group: Group, pads: Mapping[str, Step]) -> list[str]:
    """Return the results whose tiles are written to an array."""
    otherwise = {*group.carried, *group.padded}
    escaping = [slot for slot in group.escaping if slot not in otherwise]
    return list(dict.fromkeys([*escaping, *pads]))


def _last_uses(group: Group) -> dict[str, int]:
    """Return the position of the last step that reads or makes each slot."""
    last_use: dict[str, int] = {}
    for i, step in enumerate(group.steps):
        last_use |= {slot: i for slot in (*step.inputs, *step.outputs) if isinstance(slot, str)}
    return last_use


def _parallel_slots(group: Group) -> set[str]:
    """Return the slots that a step of the group reads by the rows of the tile."""
    per_step = zip(group.steps, group.parallel_operands, strict=True)
    pairs = [pair for step, flags in per_step for pair in zip(step.inputs, flags, strict=True)]
    return {slot for slot, parallel in pairs if parallel and isinstance(slot, str)}


def _indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    return ["    " * depth + line for line in lines]


def _product(sizes: Sequence[Size], size: Callable[[Size], str]) -> str:
    """Return the product of sizes as source."""
    return " * ".join([size(s) for s in sizes if s != 1]) or "1"


def _combine_ufunc(step: Step) -> np.ufunc:
    """Return the function that joins the partial results of tiles."""
    tiling = TRAITS[step.op].tiling
    assert tiling is not None and tiling.combine is not None, f"{step.op} is not carried over tiles"
    return tiling.combine


def _in_order(*arrays: np.ndarray) -> bool:
    """Return whether the elements of rows lie together; else NumPy's results and sums follow the order of operands."""
    for x in arrays:
        if not x.flags.c_contiguous:
            steps = [abs(step) for size, step in zip(x.shape, x.strides, strict=True) if size > 1 and step]
            if steps != sorted(steps, reverse=True):
                return False
    return True


TILE_NAMES: dict[str, Any] = {
    "_empty": np.empty,
    "_result": block_cache.empty,
    "_run_tiles": run_tiles,
    "_in_order": _in_order,
}
