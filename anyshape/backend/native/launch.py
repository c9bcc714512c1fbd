"""Source in Python of the function that calls a compiled kernel: it makes the results and passes the arrays.

The function has the arguments of the function of tiles, and returns the results. Where the kernel declines strides, it
gets copies in C order: a pass over an array costs less than NumPy's passes for each step.

It returns None where NumPy serves the call: the kernel declined the arrays, or set a flag that NumPy would warn of or
raise for.

Sums of rows by position as machine code, for steps that scatter: one library serves every program.

The kernel adds rows in their order, as NumPy does, so bits are the same. Each thread writes some rows of the result.

Time of a kernel against NumPy's kernels, which decides up to which size it serves calls.

NumPy's loop of one function may be faster than what a compiler makes. Both tiers run in turns on one thread. Their
least CPU times count, so that other work of the machine does not decide.

Test of a kernel against NumPy's kernels, at several sizes, before it serves calls.
"""

import ctypes
import functools
import itertools
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.tiles import GroupSource
from anyshape.backend.compiler.op_traits import nanoseconds
from anyshape.backend.compiler.plan import Group, Literal, Step, masked_else_op, masked_op
from anyshape.backend.native.c_source import KernelText
from anyshape.backend.native.toolchain import WAITED_SECONDS, Build, BuildError, compiler
from anyshape.backend.numpy.indexing import summed_rows
from anyshape.backend.runtime import block_cache
from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.thread_pool import run_tiles
from anyshape.errors import AnyshapeError
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size, variables
from anyshape.graph.sizes.substitute import evaluate
from anyshape.ops.core.apply import KERNELS
from anyshape.support.fork_lock import Lock

PART_NANOSECONDS = 200_000.0  # of a part, by NumPy's times: starting threads costs some 20,000
MAX_PARTS = 16
LEAST_GATHERED = 8  # elements of rows that are read by an index; NumPy copies shorter ones in less time
_MODES = {2: "invalid", 4: "divide", 8: "over", 16: "under"}

Kernel = Callable[..., int]


def launcher_source(name: str, writer: GroupSource, kernel: KernelText) -> str:
    """Return the source of the function that calls a kernel, which its scope has as `{name}_kernel`.

    `@limit@` stands where `limited` adds a condition.
    """
    sizes = "".join([f"{writer.local_size(size)}, " for size in kernel.sizes])
    results = [naming.whole_result(slot) for slot in kernel.writes]
    partials = [naming.partial_results(slot) for slot in kernel.totals]
    threads = "" if writer.threads is None else f", {writer.threads}"
    call = [
        f"if parts == 1: status = {name}_kernel(0, n, 0, arrays, {sizes})",
        f"else: status = _run_parts({name}_kernel, n, parts, arrays, ({sizes}){threads})",
    ]
    least = "" if kernel.least is None else f" or {writer.local_size(kernel.least)} < {LEAST_GATHERED}"
    lines = [
        f"if not n@limit@{least}: return None",
        *[line for slot in writer.written for line in writer.result_lines(slot)],
        _parts_line(writer),
        *[_partial_line(writer, slot) for slot in kernel.totals],
        *_number_lines(writer, kernel),
        f"arrays = {', '.join(['_ndarray', *kernel.reads, *results, *partials])},",
        *call,
        "if status & 1 and (copies := _contiguous(arrays)):",
        "    arrays = copies",
        *["    " + line for line in call],
        "if status and _declines(status): return None",
        *[_combined_line(writer, slot) for slot in kernel.totals],
        f"return {', '.join(map(naming.whole_result, writer.group.escaping))},",
    ]
    arguments = ", ".join(["n", *writer.read, *writer.sizes])
    return "\n".join([f"def {name}({arguments}):", *[f"    {line}" for line in lines], ""])


def limited(source: str, writer: GroupSource, most: float) -> str:
    """Return the source of a function that leaves calls to NumPy with more than `most` elements of the widest value."""
    return source.replace("@limit@", "" if most == math.inf else f" or n * {writer.row} > {most}")


def _number_lines(writer: GroupSource, kernel: KernelText) -> list[str]:
    """Return the lines that make arrays of operands that may be numbers."""
    numbers = [slot for slot in kernel.reads if _rank(writer, slot) == 0]
    return [f"if type({slot}) is not _ndarray: {slot} = _asarray({slot})" for slot in numbers]


def _parts_line(writer: GroupSource) -> str:
    """Return the line that divides the rows into parts, by sizes alone."""
    times = [nanoseconds(step.op, step.results[0].dtype) for step in writer.group.steps]
    elements, row = max(int(PART_NANOSECONDS / sum(times)), 1), writer.row
    return f"parts = 1 if n * {row} < {2 * elements} else min(n, {MAX_PARTS}, n * {row} // {elements})"


def _partial_line(writer: GroupSource, slot: str) -> str:
    """Return the line that makes the array of partial results of a reduction along the rows."""
    meta = writer.metas[slot]
    shape = "".join([f"{writer.local_size(size)}, " for size in meta.sizes or ()])
    return f"{naming.partial_results(slot)} = _empty((parts, {shape}), {writer.bind('dtype', meta.dtype)})"


def _combined_line(writer: GroupSource, slot: str) -> str:
    """Return the line that combines partial results."""
    partials = naming.partial_results(slot)
    whole = f"{writer.combine(slot)}({partials}, axis=0, dtype={partials}.dtype)"
    return f"{naming.whole_result(slot)} = {partials}[0] if parts == 1 else {whole}"


def _rank(writer: GroupSource, slot: str) -> int:
    """Return the rank of an operand of a group."""
    pairs = [pair for step in writer.group.steps for pair in zip(step.inputs, step.metas, strict=True)]
    return next(meta.rank for operand, meta in pairs if operand == slot)


def run_parts(
    kernel: Kernel, n: int, parts: int, arrays: tuple[Any, ...], sizes: tuple[int, ...], most: int | None = None
) -> int:
    """Run the parts of the rows on threads, and return what they report together."""
    statuses: list[int] = []

    def work(tiles: Iterable[int]) -> None:
        for k in tiles:
            statuses.append(kernel(n * k // parts, n * (k + 1) // parts, k, arrays, *sizes))

    run_tiles(work, parts, most=most)
    return functools.reduce(operator.or_, statuses, 0)


def contiguous(arrays: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the arrays in C order, copies where they are not; None if all are."""
    apart = [isinstance(array, np.ndarray) and not array.flags.c_contiguous for array in arrays]
    if not any(apart):
        return None
    return tuple([np.ascontiguousarray(a) if copied else a for a, copied in zip(arrays, apart, strict=True)])


def declines(status: int) -> bool:
    """Return whether NumPy is to serve the call: the kernel declined it, or a flag is not to be ignored."""
    if status & 1:
        return True
    modes = np.geterr()
    return any(status & bit and modes[kind] != "ignore" for bit, kind in _MODES.items())  # type: ignore[literal-required]


LAUNCH_NAMES: dict[str, Any] = {
    "_ndarray": np.ndarray,
    "_asarray": np.asarray,
    "_run_parts": run_parts,
    "_contiguous": contiguous,
    "_declines": declines,
}


LEAST_WIDTH = 4  # elements of a row; NumPy adds shorter ones in less time
SHARED_ROW = 256  # bytes of a row from which on threads share the work: each one reads all positions
PART_BYTES = 1 << 19  # that a thread writes and reads; starting one costs as much as 500 kB
_DTYPES = tuple(map(np.dtype, ("float64", "float32", "int64", "int32", "complex128", "complex64")))


class RowSums:
    """Kernels by dtype, once they are built and tested."""

    def __init__(self) -> None:
        self._kernels: dict[np.dtype, Callable[..., int] | None] = {}  # None: it has not the bits of NumPy
        self._build: Build | None = None
        self._is_wanted = False  # once the build may begin
        self._error = ""
        self._lock = Lock()

    def load(self) -> None:
        """Build the library, and test its kernels."""
        while not self.poll(one_at_a_time=False):
            self._build.finish() if self._build is not None else time.sleep(WAITED_SECONDS)

    def poll(self, *, starts: bool = True, one_at_a_time: bool = True) -> bool:
        """Return whether the kernels are there, or never will be; test them if they are built by now.

        - `starts`: whether the build begins where the library is not in the cache.
        """
        self._is_wanted |= starts
        if self._kernels or self._error:
            return True
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if not self._is_ready(starts, one_at_a_time):
                return False
            assert self._build is not None
            library = ctypes.CDLL(str(self._build.result()))
            typed = {dtype: _typed(getattr(library, f"row_sums_{dtype.name}")) for dtype in _DTYPES}
            self._kernels = {dtype: kernel if _agrees(kernel, dtype) else None for dtype, kernel in typed.items()}
        except (BuildError, OSError) as error:
            self._error = f"NumPy: {error}"
        finally:
            self._lock.release()
        return True

    def _is_ready(self, starts: bool, one_at_a_time: bool) -> bool:
        """Return whether the library is built, or failed to be."""
        if self._build is None:
            if not starts and not compiler():
                return False  # to say so when it matters
            self._build = Build((Path(__file__).parent / "row_sums.c").read_text(encoding="utf-8"))
        build = self._build
        return build.outcome is not None or (starts and build.poll(one_at_a_time=one_at_a_time))

    def state(self, dtype: np.dtype) -> str:
        """Return "compiled", "waiting", or why NumPy sums rows of this dtype."""
        if not self._kernels:
            return self._error or "waiting"
        return "compiled" if self._kernels.get(dtype) is not None else "NumPy: sums of rows differ from NumPy's"

    def __call__(
        self, rows: np.ndarray, position: np.ndarray, count: int, *, threads: int | None = None
    ) -> np.ndarray | None:
        """Return zeros of `count` rows, with rows[k] added at position[k]; None where NumPy is to serve the call.

        - `threads`: the most threads that run it; None: as many as `config.num_threads`.
        """
        if not self._kernels and not (self._is_wanted and self.poll()):
            return None
        if (kernel := self._kernels.get(rows.dtype)) is None or not rows.size or rows.shape[1] < LEAST_WIDTH:
            return None
        return _run(kernel, rows, position, count, threads)


SUMS = RowSums()


def _typed(kernel: Callable[..., int]) -> Callable[..., int]:
    """Return a function of a library with the types of its arguments."""
    kernel.restype = ctypes.c_int64  # type: ignore[attr-defined]
    kernel.argtypes = [ctypes.c_int64] * 3 + [ctypes.py_object, ctypes.c_int64]  # type: ignore[attr-defined]
    return kernel


def _run(
    kernel: Callable[..., int], rows: np.ndarray, position: np.ndarray, count: int, threads: int | None
) -> np.ndarray | None:
    """Run a kernel in as many parts as threads pay; return None where it declines.

    Small results reuse memory, which the kernel clears. Pages of large ones are clear, and take no memory until then.
    """
    if rows.strides[1] != rows.itemsize:
        rows = np.ascontiguousarray(rows)
    shape, row = (count, rows.shape[1]), rows.shape[1] * rows.itemsize
    is_large = count * row >= block_cache.HEAP_BYTES
    out = np.zeros(shape, rows.dtype) if is_large else block_cache.empty(shape, rows.dtype)
    arrays = (np.ndarray, rows, np.ascontiguousarray(position, np.int64), out)
    most = 1 if row < SHARED_ROW else config.num_threads if threads is None else min(threads, config.num_threads)
    if (parts := min(most, count, (out.nbytes + rows.nbytes) // PART_BYTES)) < 2:
        status = kernel(0, count, 0, arrays, not is_large)
    else:
        status = run_parts(kernel, count, parts, arrays, (not is_large,), threads)
    return None if status and declines(status) else out


def _agrees(kernel: Callable[..., int], dtype: np.dtype) -> bool:
    """Return whether a kernel has the bits of NumPy's sums, at several sizes."""
    rng = np.random.default_rng(0)
    for length, width, count in ((1, 1, 1), (5, 3, 2), (40, 1, 7), (33, 17, 50), (300, 8, 20)):
        rows = rng.normal(size=(length, width), scale=100).astype(dtype)
        position = rng.integers(-count, count, length)
        result = _run(kernel, rows, position, count, None)
        if result is None or not np.array_equal(result, summed_rows(rows, position, count)):
            return False
    return True


def step_function(run: Callable[..., np.ndarray], dtype: np.dtype, threads: int | None) -> Callable[..., Any] | None:
    """Return a NumPy kernel that sums rows with machine code, once there is some; None for dtypes without."""
    if dtype not in _DTYPES:
        return None
    return functools.partial(run, compiled=functools.partial(SUMS, threads=threads))


FEW, MANY = 1 << 10, 1 << 14  # elements of the widest value
SLOWER = 1.1  # kernels that take this multiple of NumPy's time are left out
_ROUNDS, _ROUND_ELEMENTS = 7, 1 << 14


def most_elements(group: Group, writer: GroupSource, launcher: Callable[..., Any]) -> float:
    """Return up to how many elements of its widest value a kernel pays; infinity if it always does, 0 if never."""
    one_part = int(2 * PART_NANOSECONDS / sum([nanoseconds(s.op, s.results[0].dtype) for s in group.steps])) - 1
    if (many := min(MANY, one_part)) < FEW or not _is_slower(group, writer, launcher, many):
        return math.inf
    return 0 if _is_slower(group, writer, launcher, FEW) else math.isqrt(FEW * many)


def _is_slower(group: Group, writer: GroupSource, launcher: Callable[..., Any], elements: int) -> bool:
    """Return whether a kernel is slower than NumPy at so many elements. It is not if there is nothing to measure."""
    if (sizes := _sizes(group, writer, elements)) is None:
        return False
    arrays = operand_arrays(group, sizes, "positive")
    arguments = arguments_of(writer, arrays, sizes)
    by_numpy = _by_numpy(group, arrays, sizes)
    with np.errstate(all="ignore"):
        try:
            by_numpy()
        except (ValueError, IndexError, OverflowError):
            return False
        if launcher(*arguments) is None:
            return False
        times = [
            (_seconds(lambda: launcher(*arguments), elements), _seconds(by_numpy, elements)) for _ in range(_ROUNDS)
        ]
    kernel, numpy = map(min, zip(*times, strict=True))
    return kernel > SLOWER * numpy


def _seconds(call: Callable[[], Any], elements: int) -> float:
    """Return the CPU time of calls in this thread."""
    start = time.thread_time()
    for _ in range(_ROUND_ELEMENTS // elements):
        call()
    return time.thread_time() - start


def _sizes(group: Group, writer: GroupSource, elements: int) -> Mapping[DimVar, int] | None:
    """Return equal values of all variables at which the widest value has at most so many elements; None if none do."""
    symbols = symbols_of(group, writer)
    size = elements
    while size > 1:
        sizes = dict.fromkeys(symbols, size)
        if are_possible(group, writer, sizes):
            widest = max([math.prod(shape_of(meta, sizes)) for meta in group.parallel_metas])
            if elements // 4 <= widest <= elements:
                return sizes
        size = size * 3 // 4
    return None


def _by_numpy(group: Group, arrays: Mapping[str, Any], sizes: Mapping[DimVar, int]) -> Callable[[], None]:
    """Return a function that runs the steps, one by one."""
    steps = []
    for step in group.steps:
        operands = [(None, s.array()) if isinstance(s, Literal) else (s, None) for s in step.inputs]
        params = {name: resolved(param, sizes) for name, param in step.params}
        steps.append((KERNELS[step.op].run, operands, params, step.outputs[0]))

    def run() -> None:
        values = dict(arrays)
        for kernel, operands, params, target in steps:
            values[target] = kernel(*[number if slot is None else values[slot] for slot, number in operands], **params)

    return run


_TRIALS = (
    (3, 4, 1),
    (1, 3, 2),
    (2, 2, 0),
    (17, 22, 5),
    (9, 9, 0),
    (40, 53, 13),
    (131, 4, 1),
    (75, 60, -50),
    (1100, 60, 0),
)  # the size of the rows, the next one, and the step to each further one
DRAWN = 70_000  # floats of each kind; the largest operands of most trials have some fewer
DRAWS = ("normal", "positive", "varied")  # positive operands are in the domain of most functions, and divide
MAX_ELEMENTS = 1 << 20  # of an array of a trial: sizes may be products and powers of variables
_TOLERANCE = {"f": 1e-4, "F": 1e-4, "d": 1e-9, "D": 1e-9}


def disagreement(group: Group, writer: GroupSource, launcher: Callable[..., Any]) -> str:
    """Return how the results of a kernel differ from NumPy's, "" if they do not."""
    tested, single = 0, any(m.dtype.char in "fF" for step in group.steps for m in (*step.metas, *step.results))
    for sizes, draw in itertools.product(_assignments(group, writer), DRAWS):
        arrays = operand_arrays(group, sizes, draw)
        with np.errstate(all="ignore"):
            try:
                expected = _numpy_results(group, arrays, sizes)
            except (ValueError, IndexError, OverflowError):
                continue  # sizes that the plan's conditions exclude, or elements that NumPy refuses
            results = launcher(*arguments_of(writer, arrays, sizes))
        if results is None:
            continue
        wrong = [
            s for s, result in zip(group.escaping, results, strict=True) if not _agree(result, expected[s], single)
        ]
        if not wrong:
            tested += 1
        elif not _magnifies_rounding(group, arrays, sizes, expected, single):
            return f"{wrong[0]} differs from NumPy's at sizes {sorted(sizes.values())}"
    return "" if tested else "no sizes were found at which it could be tested"


def _assignments(group: Group, writer: GroupSource) -> Iterator[Mapping[DimVar, int]]:
    """Yield values of the variables at which no size is negative, and small ones for rows of many elements."""
    symbols = symbols_of(group, writer)
    for first, second, step in _TRIALS:
        further = [max(min(second + step * i, 60), min(second, 3)) for i in range(len(symbols))]
        values = dict(zip(symbols, [first, *further], strict=False))
        if are_possible(group, writer, values):
            yield values


def symbols_of(group: Group, writer: GroupSource) -> list[DimVar]:
    """Return the variables of the sizes of a group, that of the rows first."""
    return list(dict.fromkeys([v for size in _all_sizes(group, writer) for v in variables(size)]))


def are_possible(group: Group, writer: GroupSource, sizes: Mapping[DimVar, int]) -> bool:
    """Return whether arrays can be made at these values of variables.

    All sizes exist, none is negative, the rows agree, and no array is large.
    """
    metas = [m for step in group.steps for m in (*step.metas, *step.results)]
    try:
        if any(size_value(size, sizes) < 0 for size in _all_sizes(group, writer)):
            return False
        return max([math.prod(shape_of(m, sizes)) for m in metas]) <= MAX_ELEMENTS and _rows_agree(group, sizes)
    except (AnyshapeError, ZeroDivisionError):
        return False


def _rows_agree(group: Group, sizes: Mapping[DimVar, int]) -> bool:
    """Return whether operands with the parallel axis have its size: the plan has proved other names of it equal."""
    pairs = zip(group.steps, group.parallel_operands, strict=True)
    rowed = [meta for step, flags in pairs for meta, flag in zip(step.metas, flags, strict=True) if flag]
    return all(shape_of(meta, sizes)[0] == size_value(group.rows, sizes) for meta in rowed)


def _all_sizes(group: Group, writer: GroupSource) -> list[Size]:
    """Return the sizes of the rows, of the arguments, and of the operands and results of a group."""
    metas = [m for step in group.steps for m in (*step.metas, *step.results)]
    sizes = [group.rows, *writer.size_of_local.values(), *[size for meta in metas for size in meta.sizes or ()]]
    return list(dict.fromkeys(sizes))


def size_value(size: Size, sizes: Mapping[DimVar, int]) -> int:
    return evaluate(size, lambda leaf: sizes[leaf])  # type: ignore[index]


def shape_of(meta: TensorMeta, sizes: Mapping[DimVar, int]) -> tuple[int, ...]:
    return tuple([size_value(size, sizes) for size in meta.sizes or ()])


def arguments_of(writer: GroupSource, arrays: Mapping[str, np.ndarray], sizes: Mapping[DimVar, int]) -> list[Any]:
    """Return the arguments of the function of a group."""
    locals_ = [size_value(writer.size_of_local[local], sizes) for local in writer.sizes]
    return [size_value(writer.group.rows, sizes), *[arrays[s] for s in writer.read], *locals_]


def operand_arrays(group: Group, sizes: Mapping[DimVar, int], draw: str) -> dict[str, np.ndarray]:
    """Return operands with random elements of a kind of `DRAWS`."""
    rng = np.random.default_rng(0)
    arrays = {slot: _random(rng, meta.dtype, shape_of(meta, sizes), draw) for slot, meta in group.read.items()}
    for step in group.steps:
        if step.op in (masked_op, masked_else_op):
            _put_bits(step, arrays, rng)
    return arrays


def _put_bits(step: Step, arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    """Replace operands of a choice by bits: a mask has all bits or none, and the rest is a number where it has none."""
    mask, *rest = [str(slot) for slot in step.inputs[1:]]
    if mask not in arrays:
        return
    bits = arrays[mask] = -np.asarray(rng.integers(0, 2, arrays[mask].shape)).astype(arrays[mask].dtype)
    for slot in rest:
        if slot in arrays:
            number = np.ones((), step.results[0].dtype).view(bits.dtype)
            arrays[slot] = ~bits & number if arrays[slot].shape == bits.shape else np.zeros_like(arrays[slot])


def _random(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...], draw: str) -> np.ndarray:
    if dtype.kind == "c":
        parts = [_floats(rng, shape, draw) for _ in range(2)]
        return np.stack(parts, -1).view(complex)[..., 0].astype(dtype)  # a product with 1j makes NaN beside infinity
    if dtype.kind == "f":
        return _floats(rng, shape, draw).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), bool)
    least = 1 if draw == "positive" else -3 if dtype.kind == "i" else 0
    numbers = np.asarray(rng.integers(least, 4, shape)).astype(dtype)
    info = np.iinfo(dtype)
    return _some_replaced(rng, numbers, [info.min, info.max, info.max // 3]) if draw == "varied" else numbers


def _floats(rng: np.random.Generator, shape: tuple[int, ...], draw: str) -> np.ndarray:
    """Return floats of a kind."""
    numbers, count = drawn_floats(draw), math.prod(shape)
    first = rng.integers(max(numbers.size - count, 1))
    return np.resize(numbers[first : first + count], shape)


@functools.cache
def drawn_floats(draw: str) -> np.ndarray:
    """Return floats that operands take theirs of: to draw them took longer than to run the kernels.

    Varied ones have several magnitudes and ties, and one of twenty is infinite or NaN.
    """
    rng = np.random.default_rng(0)
    if draw == "positive":
        return np.asarray(rng.uniform(0.1, 0.9, DRAWN))
    numbers = np.asarray(rng.normal(size=DRAWN))
    if draw == "normal":
        return numbers
    numbers = np.round(2 * numbers) * 10.0 ** rng.integers(-3, 4, DRAWN)
    return _some_replaced(rng, numbers + 0.0, [np.nan, np.inf, -np.inf])  # signs of zeros in ties are by position


def _some_replaced(rng: np.random.Generator, x: np.ndarray, values: Sequence[Any]) -> np.ndarray:
    """Return an array with one of the values in place of each twentieth element."""
    return np.where(rng.integers(0, 20, x.shape) == 0, rng.choice(np.array(values, x.dtype), x.shape), x)


def _numpy_results(
    group: Group,
    arrays: Mapping[str, np.ndarray],
    sizes: Mapping[DimVar, int],
    rounded: Callable[[Any], Any] = lambda x: x,
) -> dict[str, Any]:
    """Return the results of the steps, one by one; `rounded` is applied to each operand and result."""
    values: dict[str, Any] = {slot: rounded(x) for slot, x in arrays.items()}
    resolve = lambda param: resolved(param, sizes)
    for step in group.steps:
        operands = [s.array() if isinstance(s, Literal) else values[s] for s in step.inputs]
        params = {name: resolve(param) for name, param in step.params}
        result = values[step.outputs[0]] = rounded(KERNELS[step.op].run(*operands, **params))
        if np.shape(result) != shape_of(step.results[0], sizes):
            raise ValueError("sizes that broadcast otherwise than the plan does")
    return values


def _magnifies_rounding(
    group: Group,
    arrays: Mapping[str, np.ndarray],
    sizes: Mapping[DimVar, int],
    expected: Mapping[str, Any],
    single: bool,
) -> bool:
    """Return whether NumPy's own results differ as much where values differ by some units in the last place.

    Such a trial says nothing. A remainder of a large number, the sign of a difference, and the sum of what was centred
    are only rounding.
    """
    rng, factor = np.random.default_rng(1), 1e-6 if single else 1e-13

    def rounded(x):
        x = np.asarray(x)
        return (x * (1 + factor * rng.uniform(-1, 1, x.shape))).astype(x.dtype) if x.dtype.kind in "fc" else x

    with np.errstate(all="ignore"):
        results = _numpy_results(group, arrays, sizes, rounded)
    return not all(_agree(results[slot], expected[slot], single) for slot in group.escaping)


def resolved(param: Any, sizes: Mapping[DimVar, int]) -> Any:
    if isinstance(param, DimExpr):
        return size_value(param, sizes)
    return tuple([resolved(p, sizes) for p in param]) if isinstance(param, tuple) else param


def _agree(result, expected, single: bool) -> bool:
    """Return whether results have one shape and dtype, and values within what sums in another order differ by.

    A group that computes in single precision anywhere is as exact as that.
    """
    result, expected = np.asarray(result), np.asarray(expected)
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return False
    char = {"f": "f", "c": "F"}.get(result.dtype.kind, "") if single else ""
    tolerance = _TOLERANCE.get(char or result.dtype.char, 0.0)
    finite = expected[np.isfinite(expected)] if result.dtype.kind in "fc" else expected
    scale = float(np.max(np.abs(finite))) if tolerance and finite.size else 0.0
    near = lambda x, y: np.allclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=tolerance > 0)
    return all(map(near, _parts(result), _parts(expected)))


def _parts(x: np.ndarray) -> list[np.ndarray]:
    """Return the parts of complex numbers, both NaN where one is: beside an infinite part, the other one is rounded."""
    return [np.where(np.isnan(x), np.nan, part) for part in (x.real, x.imag)] if x.dtype.kind == "c" else [x]
