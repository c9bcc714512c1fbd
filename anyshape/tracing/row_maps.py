"""Maps of a function of Python over rows: traced once for all rows, at any number of them.

`np.apply_along_axis` and `np.vectorize` are such maps. The function is traced on one row and its graph is batched. A
scan takes its place where rows make arrays of different sizes, or draw random numbers in turn.

Python may decide on values of a row. Both answers are traced, as branches of a conditional that each row chooses. So
the number of answers must be small: `map_rows` returns None for loops of Python that go on by a value.

Effects of a run of a function on what it reaches: generators that it draws from, counters, containers, arrays.

A function that is traced once for many rows may have none: Python would have run it for each row. Such effects are
undone, so that the function can run for each row after all.
"""

from __future__ import annotations

import collections
import types
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import FrozenDrawError, MutationError, ShapeError
from anyshape.graph.ir.builder import Builder, Traced, errors_so_far
from anyshape.graph.ir.graph import Value, walk
from anyshape.graph.prover.user_stack import user_line
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.memory import written_inputs
from anyshape.numpy.operands.promotion import as_traced, sizes
from anyshape.ops import control_flow as cf
from anyshape.ops import loops as lp
from anyshape.ops.control import name_sizes
from anyshape.ops.elementwise import convert
from anyshape.ops.movement import broadcast_in_dim
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.packages import graph_vmap
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.containers import UNBOUND, Holder, Roots
from anyshape.tracing.captured.watch import Watch, watch
from anyshape.tracing.draws import Stream, streams
from anyshape.tracing.trace import InnerTrace, active_builder, kind_of, standing_for, trace_inner

Answer: TypeAlias = tuple[bool, object]  # to a decision, and its line
RowFunction: TypeAlias = Callable[..., Sequence[Any]]  # of handles of one row of each array
_MOST_ANSWERS = 8  # on one path
_MOST_RUNS = 64  # of the function in one trace


class _UnmappedError(BaseException):
    """Raised where no map can be made; code of the user that handles exceptions does not see it."""


class _MixedDtypesError(_UnmappedError):
    """Raised where answers of Python lead to results of different dtypes."""


class _UndecidedError(BaseException):
    """Raised where Python decides on a value without an answer yet, on a line."""

    def __init__(self, value: Traced, line: object) -> None:
        super().__init__()
        self.value, self.line = value, line


def map_rows(
    function: RowFunction, called: Any, name: str, rows: Sequence[Any], size: Size,
    dtypes: Sequence[np.dtype] | None = None,
) -> list[Any] | None:  # fmt: skip
    """Return the results of a function for each row of arrays, stacked; None where its values ask for many programs.

    `called` is the function of the user that it calls, and `size` the number of rows. Without `dtypes`, the first row
    decides on them where its values do, as in NumPy.
    """
    with _attempt(called, name) as attempt:
        try:
            attempt.result = _map(_Paths(function, name, dtypes), rows, size)
        except _MixedDtypesError:
            first = _first_row(function, rows)
            attempt.result = _map(_Paths(function, name, [y.dtype for y in first]), rows, size)
    return attempt.result


def row_dtypes(function: RowFunction, called: Any, name: str, rows: Sequence[Any]) -> list[np.dtype] | None:
    """Return the dtypes of the results for the first row; None as `map_rows` does."""
    with _attempt(called, name) as attempt:
        try:
            attempt.result = [y.meta.dtype for y in _trace(_Paths(function, name, None), rows).graph.outputs]
        except _MixedDtypesError:
            attempt.result = [y.dtype for y in _first_row(function, rows)]
    return attempt.result


def _first_row(function: RowFunction, rows: Sequence[Any]) -> list[Any]:
    """Return the results for the first row, which are there for their dtypes."""
    start = len(active_builder().nodes)
    results = [as_traced(y) for y in function(*[x[0] for x in rows])]
    active_builder().forget_effects(start)
    return results


class _Attempt:
    """Attempt at a map, with its result; None where there is no map."""

    result: Any = None


@contextmanager
def _attempt(called, name: str) -> Iterator[_Attempt]:
    """Forget the result of an attempt that fails, with the errors that it recorded, and its effects."""
    attempt, forget_errors = _Attempt(), errors_so_far()
    with effects_undone(called, name) as effects:
        try:
            yield attempt
        except (_UnmappedError, MutationError):
            forget_errors()
    if effects:  # Python would have had them for each row
        attempt.result = None


def _map(paths: _Paths, rows: Sequence[Any], size: Size) -> list[Any]:
    inner = _trace(paths, rows)
    if any(node.op.makes_sizes or node.op.draws or node.op.acts for node in walk(inner.graph)):
        return _scan(paths, rows, size)
    builder = active_builder()
    flags = [True] * len(rows) + [False] * len(inner.captured)
    outputs = graph_vmap.batch(builder, inner.graph, [*rows, *inner.captured], flags, size)
    return [y if batched else _repeated(y, size) for y, batched in outputs]


def _trace(paths: _Paths, rows: Sequence[Any]) -> InnerTrace:
    """Return the trace of one row."""
    metas = [TensorMeta(x.dtype, x.meta.extents[1:]) for x in rows]
    run = lambda handles: (paths.results(handles, ()), None)
    options = {"whole": True, "is_batched": True, "at_like": True, "writable": True}
    inner = trace_inner(active_builder(), run, paths.name, [x.unshared() for x in rows], metas, **options)
    if inner.written:
        raise _UnmappedError
    return inner


def _repeated(y, size: Size):
    """Return a result that is the same for all rows, once for each."""
    return broadcast_in_dim(y, (size, *sizes(y)), range(1, y.meta.rank + 1))


def _scan(paths: _Paths, rows: Sequence[Any], size: Size) -> list[Any]:
    """Return the stacked results of one row after the other."""
    kinds = [None if x.meta.rank > 1 else np.generic for x in rows]
    metas = [TensorMeta(x.dtype, x.meta.extents[1:]) for x in rows]

    def body(*inputs: Traced) -> list[Any]:
        return paths.results([standing_for(x, k) for x, k in zip(inputs, kinds, strict=True)], ())

    (graph,), further = trace_subgraphs([body], metas, [paths.name])
    try:
        return [*lp.scan_of_length(graph, lp.Layout(0, len(rows)), size, *rows, *further)]
    except ShapeError:  # results of different sizes
        raise _UnmappedError from None


class _Paths:
    """Paths that a function takes by its decisions on values of a row, as a tree of conditionals."""

    def __init__(self, function: RowFunction, name: str, dtypes: Sequence[np.dtype] | None) -> None:
        self.function, self.name, self.dtypes, self.runs = function, name, dtypes, 0
        self.answers: _Answers | None = None  # of the run that is traced

    def results(self, handles: Sequence[Any], answers: Sequence[Answer]) -> list[Any]:
        """Return what the function gives after these answers: a conditional where it decides further."""
        self.runs += 1
        if self.runs > _MOST_RUNS or len(answers) > _MOST_ANSWERS:
            raise _UnmappedError
        builder = active_builder()
        inputs, start = [x.value for x in handles], len(builder.nodes)
        outer, self.answers = self.answers, _Answers(builder, answers)
        builder.answer = self.answer
        try:
            return self._ends(self.function(*handles))
        except _UndecidedError as undecided:
            if written_inputs(handles, inputs):  # a further run would write again
                raise _UnmappedError from None
            predicate, line = undecided.value, undecided.line
            builder.forget_effects(start)
        except Exception:
            if answers:  # a path that may raise is followed by the values of a call
                raise _UnmappedError from None
            raise
        finally:
            self.answers = outer
        both = [(*answers, (answer, line)) for answer in (False, True)]
        bodies = [lambda path=path: self.results(handles, path) for path in both]
        graphs, further = trace_subgraphs(bodies, [], [self.name] * 2, unify=_unified)
        return [standing_for(name_sizes(y), kind_of(y)) for y in cf.cond(predicate, graphs, *further)]

    def answer(self, x: Traced, asked: str) -> bool | int:
        """Return the answer to a decision in the run that is traced."""
        assert self.answers is not None  # Python decides while a run is traced
        return self.answers(x, asked)

    def _ends(self, results: Sequence[Any]) -> list[Any]:
        """Return results as values, in the dtypes that are set."""
        values = [as_traced(y).unshared() for y in results]
        if self.dtypes is None:
            return values
        if len(values) != len(self.dtypes):
            raise ValueError(f"{self.name}: the function gives {len(values)} results, not {len(self.dtypes)}")
        return [convert(y, dtype) for y, dtype in zip(values, self.dtypes, strict=True)]


class _Answers:
    """Answers to the decisions of one run of a function, in their order."""

    def __init__(self, builder: Builder, answers: Sequence[Answer]) -> None:
        self.builder, self.answers = builder, answers
        self.known: dict[Value, bool] = {}

    def __call__(self, x: Traced, asked: str) -> bool | int:
        """Return the answer to a decision; values of a row are decided for both answers."""
        if x.dtype.kind != "b" or x.builder.depth > self.builder.depth:  # an integer; of a derivative, or of a loop
            raise _UnmappedError
        if (value := self.builder.adopt(x)) not in self.known:
            where = user_line()
            line = where and (where.file, where.line)
            if len(self.known) == len(self.answers):
                raise _UndecidedError(x, line)
            self.known[value], expected = self.answers[len(self.known)]
            if line != expected:  # the function does not repeat itself
                raise _UnmappedError
        return self.known[value]


def _unified(columns: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """Return the results of two branches, which have one type but for their sizes."""
    first, second = columns
    if [y.meta.rank for y in first] != [y.meta.rank for y in second]:
        raise _UnmappedError
    if [y.dtype for y in first] != [y.dtype for y in second]:
        raise _MixedDtypesError
    return columns


_LARGE = 1 << 20  # bytes of an array that is compared without a copy


@contextmanager
def effects_undone(called: Any, name: str) -> Iterator[list[str]]:
    """Undo the effects of runs within the block, on what a function reaches or members of a tuple of it.

    Yields the paths of what these changed, after the block.
    """
    state = watch(Roots({"": called}) if has_type(called, tuple) else called)
    sources = streams((path, x) for path, x in state.things if not hasattr(x, "traced"))  # those draw when a run does
    before = [s.read() for s in sources]
    arrays = [_Content(path, x) for path, x in state.things if type(x) is np.ndarray and _may_change(x)]
    effects: list[str] = []
    try:
        yield effects
    finally:
        effects += _rewound(sources, before, name)
        effects += [content.path for content in arrays if content.undone(name)]
    if not state.is_unchanged():
        effects += _restored(state)


def _may_change(x: np.ndarray) -> bool:
    return x.flags.writeable and not x.dtype.hasobject


class _Content:
    """Elements of an array: a copy, or the checksum of a large array."""

    def __init__(self, path: str, array: np.ndarray) -> None:
        self.path, self.array = path, array
        self.copy = array.copy() if array.nbytes <= _LARGE else None
        self.before = self._now()

    def _now(self):
        if self.copy is not None:
            return self.array.tobytes()
        whole = self.array if self.array.flags.c_contiguous else np.ascontiguousarray(self.array)
        return zlib.crc32(whole.view(np.uint8).data)

    def undone(self, name: str) -> bool:
        """Return whether the elements changed, and restore them; raise MutationError for a large array."""
        if self._now() == self.before:
            return False
        if self.copy is None:
            problem = f"{self.path} is a large array of NumPy, which the function changes"
            raise MutationError(name, problem, "return the new values", user_line())
        self.array[...] = self.copy
        return True


def _rewound(sources: Sequence[Stream], before: Sequence[Any], name: str) -> Iterator[str]:
    """Yield the labels of sources that moved, and rewind them; raise FrozenDrawError for one that cannot be."""
    for source, position in zip(sources, before, strict=True):
        if source.read() != position:
            source.restore(position)
            if source.read() != position:  # items that are taken are lost
                raise FrozenDrawError(name, source.label, is_random=source.is_random, where=user_line())
            yield source.label


def _restored(state: Watch) -> list[str]:
    """Return the paths of what has changed, and let it hold what it held."""
    changes = state.changes()
    holders = {id(change.holder) for change in changes}
    for holder, members in state.readings():
        if id(holder) in holders:
            _restore(holder, members)
    return [change.label for change in changes]


def _restore(holder: Holder, members: Sequence[Any]) -> None:
    """Let a holder have its members of before, where it is one of Python's own."""
    if has_type(owner := holder.owner, types.CellType):
        owner.cell_contents = members[0]
    elif holder.kind == "items":
        _refill(owner, members)
    elif has_type(owner, dict):
        _rename(owner, holder, members)


def _rename(owner: dict[Any, Any], holder: Holder, members: Sequence[Any]) -> None:
    """Let names of a namespace have their values of before, or the namespace its names."""
    if holder.kind == "keys":
        for name in owner.keys() - {*members}:
            del owner[name]
        return
    for name, value in zip(holder.names, members, strict=True):
        if value is UNBOUND:
            owner.pop(name, None)
        else:
            owner[name] = value


def _refill(owner, members: Any) -> None:
    """Let a container have these members; of a dict, the keys come first."""
    if has_type(owner, dict):
        half = len(members) // 2
        members = zip(members[:half], members[half:], strict=True)
    if has_type(owner, (list, collections.deque, set, dict)):
        owner.clear()
        (owner.extend if has_type(owner, (list, collections.deque)) else owner.update)(members)
