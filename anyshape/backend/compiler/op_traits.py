"""Table of traits: one row per op with everything that passes, the memory bound and code generation need.

The rows stand beside the kernels in `backend/numpy/`. An op without a row is an error, never a default.

Bytes of arrays, and upper bounds of the bytes that kernels allocate besides their results.

Rows of `backend/numpy/` name the bound of each op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from anyshape.backend.compiler.plan import Step
from anyshape.graph.ir.graph import HasParams, Op, OpTable, applies
from anyshape.graph.shapes.array_type import TensorMeta, numel
from anyshape.graph.shapes.strided_view import View
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.support.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from anyshape.backend.compiler.c_expressions import CExpression
    from anyshape.backend.compiler.passes.fusion.row_parallel import ParallelAxis, RowAnalysis
    from anyshape.backend.compiler.passes.identities import Identity
    from anyshape.backend.compiler.plan import Step

Scratch: TypeAlias = "Callable[[Step], Size | None]"
ParallelAxisRule: TypeAlias = "Callable[[RowAnalysis, Step], ParallelAxis | None]"
CollapseRule: TypeAlias = "Callable[[RowAnalysis, Step, ParallelAxis, int], bool]"


class Alias(Enum):
    """Memory that a result may share with the first operand."""

    FRESH = "an array of its own"
    VIEW = "a view"
    STRETCHED_VIEW = "a view, one element of which may stand for several: never written to"
    VIEW_OR_COPY = "a view where strides allow it, else a copy"
    VIEW_OR_SUM = "the operand itself, or a computed array"

    @property
    def may_share(self) -> bool:
        """True if the result may share memory."""
        return self is not Alias.FRESH

    @property
    def may_allocate(self) -> bool:
        """True if the result may be an array of its own."""
        return self in (Alias.FRESH, Alias.VIEW_OR_COPY, Alias.VIEW_OR_SUM)

    @property
    def is_free(self) -> bool:
        """True if the step computes nothing: at most it copies."""
        return self not in (Alias.FRESH, Alias.VIEW_OR_SUM)


class ElementTime(NamedTuple):
    """Nanoseconds per element in cache, for items of more than four bytes and for smaller ones, as measured."""

    double: float
    single: float


MEMORY_BOUND = ElementTime(0.4, 0.2)  # reading and writing take all the time


class Tiling(NamedTuple):
    """Way in which an op runs tile by tile along a parallel axis.

    `rows` finds the parallel axis of a step. `collapse` tells whether further axes may be part of it; None: never.
    `combine` joins the partial results of tiles where the op reduces along the parallel axis; None: it cannot.
    """

    rows: ParallelAxisRule
    collapse: CollapseRule | None = None
    combine: np.ufunc | None = None


class Movement(NamedTuple):
    """Op that is arithmetic on strides: `apply(view, new_shape, **params)` gives the view of its result.

    `weight` is its cost in plain views. `follows_pad` says that it may come after a pad in one padded view. `admits`
    tells whether the params of a step allow all this.
    """

    apply: Callable[..., View]
    weight: int = 1
    follows_pad: bool = False
    admits: Callable[[dict[str, Any]], bool] = lambda params: True


class Algebra(NamedTuple):
    """Properties of an op that simplification uses.

    `identities` are tried in order. `commutative`: operands may be swapped. `silent`: the kernel never warns, whatever
    the element.
    """

    identities: tuple[Identity, ...] = ()
    commutative: bool = False
    silent: bool = False


class Traits(NamedTuple):
    """Row of all that the compiler knows of an op besides its shape rule and its kernel.

    By default no pass may use anything of an op. Rows name this default, `OPAQUE`; a missing row is an error.

    - `elementwise`: each element of the result depends on one element of each operand, with NumPy's broadcasting.
    - `alias`: the memory of the result.
    - `time`: the time per element of the result, for the choice of tiles.
    - `tiling`: how it runs in tiles; None: on whole arrays alone.
    - `scratch`: an upper bound of the bytes that the kernel allocates besides its result; None: nothing.
    - `movement`: how it acts on strides; None: it is not a movement that views can stand for.
    - `algebra`: how it is simplified.
    - `recomputable`: rematerialisation may run it twice.
    - `runs_user_code`: its kernel calls a Python function of the user.
    - `updates`: the result is the first operand with a part written, in place where nobody reads that later.
    - `inlines`: the param whose subgraphs are lowered to plans of their own, which generated code writes inline.
    - `c_expression`: the rule of its text in C, for compiled kernels; None: groups with it run with NumPy.
    """

    elementwise: bool = False
    alias: Alias = Alias.FRESH
    time: ElementTime = MEMORY_BOUND
    tiling: Tiling | None = None
    scratch: Scratch | None = None
    movement: Movement | None = None
    algebra: Algebra = Algebra()
    recomputable: bool = False
    runs_user_code: bool = False
    updates: bool = False
    inlines: str = ""
    c_expression: CExpression | None = None


OPAQUE = Traits()

TRAITS: OpTable[Traits] = OpTable("traits", "backend/numpy")


def declare(traits: Traits, *ops: Op) -> None:
    """Make `traits` the row of each op; a module whose first load was interrupted declares its rows again."""
    TRAITS.update(dict.fromkeys(ops, traits))


def runs_user_code(step: HasParams) -> bool:
    """Return whether a node or a step calls a function of the user, in a subgraph perhaps."""
    return applies(step, lambda op: TRAITS[op].runs_user_code)


def is_observable(step: HasParams) -> bool:
    """Return whether the user can tell when a node or a step runs: it calls their function, or is there to raise."""
    return applies(step, lambda op: op.raises or TRAITS[op].runs_user_code)


def is_compute_bound(op: Op) -> bool:
    """Return whether the arithmetic of an op takes longer than its reads and writes."""
    return TRAITS[op].time.double > MEMORY_BOUND.double


def nanoseconds(op: Op, dtype: np.dtype) -> float:
    """Return roughly how long an op takes per element of this dtype."""
    time = TRAITS[op].time
    return time.single if dtype.itemsize <= 4 else time.double


def bytes_of(meta: TensorMeta, itemsize: int | None = None) -> Size | None:
    """Return the bytes of an array; None where an extent is not exact."""
    if meta.sizes is None:
        return None
    return expr.mul(numel(meta.sizes), meta.dtype.itemsize if itemsize is None else itemsize)


def total_bytes(sizes: Iterable[Size | None]) -> Size | None:
    """Return the sum; None if a size is not known."""
    known = list(sizes)
    exact = [size for size in known if size is not None]
    return expr.total(exact) if len(exact) == len(known) else None


def _times(count: int, size: Size | None) -> Size | None:
    return None if size is None else expr.mul(count, size)


def like_first_operand(times: int) -> Scratch:
    """Return the bound of a kernel that makes so many arrays like its first operand."""
    return lambda step: _times(times, bytes_of(step.metas[0]))


def operands_and_results(times: int) -> Scratch:
    """Return the bound of a kernel that makes so many copies of its operands and of its results."""
    return lambda step: _times(times, total_bytes(map(bytes_of, (*step.metas, *step.results))))


blas_copies: Scratch = operands_and_results(1)  # copies of operands for BLAS, and partial results of threads


def by_blocks(block: int) -> Scratch:
    """Return the bound of a kernel that computes blocks of so many bytes from copies of its operands as float64."""
    return lambda step: total_bytes([block, *[_times(2, bytes_of(m, 8)) for m in (*step.metas, *step.results)]])


def positions(times: int) -> Scratch:
    """Return the bound of a kernel that copies its operands and makes so many positions per element of them."""
    return lambda step: total_bytes([size for m in step.metas for size in (bytes_of(m), _times(times, bytes_of(m, 8)))])


def windows(times: int) -> Scratch:
    """Return the bound of a kernel that copies its result too, and makes so many positions per element of it."""
    operand_positions = positions(times)

    def scratch(step: Step) -> Size | None:
        result = step.results[0]
        return total_bytes([operand_positions(step), bytes_of(result), _times(times, bytes_of(result, 8))])

    return scratch


def bit_masks(step: Step) -> Size | None:
    """Masks as bits, and the masked operands."""
    return _times(2, bytes_of(step.results[0]))
