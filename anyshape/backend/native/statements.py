"""Statements of a fusion group over loop axes: what a compiled kernel computes, before any text of C.

A kernel runs over rows. In a row, each value varies along some loop axes: the further axes of the values of the group,
unified where steps align them. Broadcasts make no statement, as loop axes have more than one element.

A group that has something without an expression in C raises `NotExpressible`. It runs with NumPy's kernels alone.

Reductions in C, and the statements of logsumexp and softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from anyshape.backend.compiler.c_expressions import CSite, CText, c_literal, c_type, suffix
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.plan import Group, Literal, Slot, Step
from anyshape.graph.ir.graph import Op
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.support.lazy_dataclass import NamedTuple


class Reduction(NamedTuple):
    """Reduction in C.

    - `start`: the result for no elements.
    - `combine`: the text that joins a result {0} with an element {1}.
    - `pragma`: the operator of OpenMP by which a compiler reduces with vectors, "" if there is none. Extremes have
      theirs in `kernel_header.c`. Of zeros of both signs they give one by position, as NumPy does.
    - `accumulator`: the type that results are accumulated in. float32 is summed as double.
    - `ufunc`: joins partial results.
    """

    start: str
    combine: str
    pragma: str
    accumulator: str
    ufunc: np.ufunc


_LARGER = "((__builtin_isgreaterequal({0}, {1}) | ({0} != {0})) ? {0} : {1})"
_SMALLER = "((__builtin_islessequal({0}, {1}) | ({0} != {0})) ? {0} : {1})"


def _extreme(combine: str, sign: str, ufunc: np.ufunc) -> Callable[[np.dtype], Reduction]:
    """Return the rule of the largest or smallest element; `combine` joins integers."""
    quiet, named = {">": (_LARGER, "as_larger"), "<": (_SMALLER, "as_smaller")}[sign]

    def rule(dtype: np.dtype) -> Reduction:
        is_float, least = dtype.kind == "f", sign == ">"
        limit = np.inf if is_float else np.iinfo(dtype).max
        lower = -np.inf if is_float else np.iinfo(dtype).min
        start = c_literal(lower if least else limit, dtype)
        accumulator = c_type(dtype) or ""
        pragma = named if accumulator in ("double", "float") else ""
        return Reduction(start, quiet if is_float else combine, pragma, accumulator, ufunc)

    return rule


def _sum(start: str, sign: str, ufunc: np.ufunc) -> Callable[[np.dtype], Reduction]:
    """Return the rule of sums or products; float32 is accumulated as double, and bools as wider integers."""
    own = lambda dtype: {"f": "double", "b": "int32_t", "c": "as_complex"}.get(dtype.kind) or c_type(dtype) or ""
    return lambda dtype: Reduction(start, f"({{0}} {sign} {{1}})", sign, own(dtype), ufunc)


_ADD = _sum("0", "+", np.add)
_REDUCTIONS: dict[Op, tuple[str, Callable[[np.dtype], Reduction]]] = {  # the kinds of dtypes, and the rule
    rd.reduce_sum_op: ("fiuc", _ADD),
    rd.sum_to_op: ("fiuc", _ADD),
    rd.reduce_prod_op: ("fiu", _sum("1", "*", np.multiply)),
    rd.reduce_max_op: ("fiu", _extreme("({0} > {1} ? {0} : {1})", ">", np.maximum)),
    rd.reduce_min_op: ("fiu", _extreme("({0} < {1} ? {0} : {1})", "<", np.minimum)),
    rd.reduce_and_op: ("b", _sum("1", "&", np.logical_and)),
    rd.reduce_or_op: ("b", _sum("0", "|", np.logical_or)),
}


def reduction_of(op: Op, dtype: np.dtype) -> Reduction | None:
    """Return the reduction of an op for a dtype; None where C has none."""
    kinds, rule = _REDUCTIONS.get(op, ("", _ADD))
    return rule(dtype) if dtype.kind in kinds else None


def logsumexp_statements(writer: Any, x: Any, dtype: np.dtype, remaining: Sequence[Any]) -> Any:
    """Add the statements of log(sum(exp(x))), and return its value, which is the largest element if that is infinite.

    The statements that softmax has too are shared: the derivative of logsumexp needs no exponentials of its own.
    """
    f = suffix(dtype)
    top, _, total = _powers(writer, x, dtype, remaining)
    # log(0), of an empty sum, sets no flag
    finite = f"__builtin_isless(__builtin_fabs{f}({{1}}), __builtin_inf{f}())"
    return writer.map(f"({finite} ? as_log{f}({{0}} == 0 ? 1 : {{0}}) + {{1}} : {{1}})", dtype, [total, top])


def softmax_statements(writer: Any, x: Any, dtype: np.dtype, remaining: Sequence[Any], *, safe: bool) -> Any:
    """Add the statements of exp(x) / sum(exp(x)), and return its value; if `safe`, it is 0 where the sum is."""
    _, powers, total = _powers(writer, x, dtype, remaining)
    return writer.map("({0} / ({1} == 0 ? 1 : {1}))" if safe else "({0} / {1})", dtype, [powers, total])


def _powers(writer, x, dtype: np.dtype, remaining: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Add the largest element, the exponentials of elements less the largest, and their sum."""
    largest, sums = reduction_of(rd.reduce_max_op, dtype), reduction_of(rd.reduce_sum_op, dtype)
    top = writer.reduce(largest, x, remaining)
    powers = writer.map(f"as_exp{suffix(dtype)}({{0}})", dtype, [writer.map("({0} - {1})", dtype, [x, top])])
    return top, powers, writer.reduce(sums, powers, remaining)


class NotExpressible(Exception):
    """Step that no kernel in C computes; the text says which, and why, and `where` the line of the user."""

    where: SourceLine | None = None

    def __str__(self) -> str:
        return super().__str__() + ("" if self.where is None else f" at {self.where}")


@dataclass(eq=False, slots=True)
class Axis:
    """Loop axis behind the rows. Axes that a step aligns are one: `root` gives the one that stands for all.

    Sizes of such axes may have different names. A kernel declines arrays in which they differ.
    """

    size: Size
    same: Axis | None = None

    def root(self) -> Axis:
        axis = self
        while axis.same is not None:
            axis = axis.same
        return axis

    def unify(self, other: Axis) -> None:
        """Let two axes be one loop axis."""
        mine, others = self.root(), other.root()
        if mine is not others:
            others.same = mine


@dataclass(eq=False, slots=True)
class Value:
    """Value of a group: an array that a kernel reads, or an element that it computes.

    - `axes`: for each axis of the array, but for the rows, its loop axis; None for an axis of size 1.
    - `varies`: whether it differs between rows.
    - `slot`: the array that it is read from, "" for a computed element.
    - `one_row`: the array has an axis of one row, which is not among `axes`.
    """

    name: str
    dtype: np.dtype
    axes: tuple[Axis | None, ...]
    varies: bool
    slot: str = ""
    one_row: bool = False

    def loop_axes(self) -> tuple[Axis, ...]:
        """Return its loop axes, in the order of the array."""
        return tuple([axis.root() for axis in self.axes if axis is not None])


Operand: TypeAlias = "Value | str"  # text is a constant in C


@dataclass(eq=False, slots=True)
class Map:
    """Statement that computes an element from elements: the text has a field for each operand."""

    target: Value
    text: CText
    operands: tuple[Operand, ...]


@dataclass(eq=False, slots=True)
class Gather:
    """Statement that reads an element of an array at a row by an index, and at the last loop axes of its target."""

    target: Value
    array: Value
    operand: Operand


@dataclass(eq=False, slots=True)
class Reduce:
    """Statement that reduces an operand along some of its loop axes, within a row."""

    target: Value
    reduction: Reduction
    operand: Value


@dataclass(eq=False, slots=True)
class Total:
    """Statement that reduces an operand along the rows too, into a partial result."""

    target: Value
    reduction: Reduction
    operand: Operand


@dataclass(eq=False, slots=True)
class Store:
    """Statement that writes an element to a result, with the loop axes of `target`."""

    target: Value
    operand: Operand


Statement: TypeAlias = "Map | Gather | Reduce | Total | Store"


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements of a group, and the arrays that they read and write."""

    statements: tuple[Statement, ...]
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]  # results with rows
    totals: tuple[Total, ...]


def statements_of(group: Group, reads: Sequence[str], writes: Sequence[str]) -> Statements:
    """Return the statements of a group that reads and writes these slots. Raises NotExpressible."""
    return _Translation(group, writes).run(reads)


class _Translation:
    """Translates the steps of a group, in order."""

    def __init__(self, group: Group, writes: Sequence[str]) -> None:
        self.group, self.writes = group, writes
        self.values: dict[str, Operand] = {}
        self.statements: list[Statement] = []
        self.parts: dict[tuple[Any, ...], Value] = {}  # what parts of statements computed
        self.count = 0

    def run(self, reads: Sequence[str]) -> Statements:
        metas = {s: m for step in self.group.steps for s, m in zip(step.inputs, step.metas, strict=True)}
        flags = self._parallel_flags()
        for slot in reads:
            self.values[slot] = self._operand_array(slot, metas[slot], flags[slot])
        arrays = [value for value in self.values.values() if isinstance(value, Value)]
        for step in self.group.steps:
            self._translate(step)
        written = [s.target for s in self.statements if isinstance(s, Store)]
        totals = [s for s in self.statements if isinstance(s, Total)]
        return Statements(tuple(self.statements), tuple(arrays), tuple(written), tuple(totals))

    def _parallel_flags(self) -> dict[str, bool]:
        """Return whether each operand has the rows. A slot that steps read both ways is read from two places."""
        flags: dict[str, bool] = {}
        for step, parallel in zip(self.group.steps, self.group.parallel_operands, strict=True):
            for slot, flag in zip(step.inputs, parallel, strict=True):
                if isinstance(slot, str) and flags.setdefault(slot, flag) != flag:
                    raise NotExpressible(f"{step.op} reads the rows of {slot}, and another step all of it")
        return flags

    def _operand_array(self, slot: str, meta: TensorMeta, parallel: bool) -> Value:
        sizes = meta.sizes or ()
        if not parallel and meta.rank == max(m.rank for m in self.group.parallel_metas) and sizes[:1] == (1,):
            return Value(slot, self._dtype(meta), _axes(sizes[1:]), False, slot, True)
        return Value(slot, self._dtype(meta), _axes(sizes[1:] if parallel else sizes), parallel, slot)

    def _dtype(self, meta: TensorMeta) -> np.dtype:
        if c_type(meta.dtype) is None:
            raise NotExpressible(f"values of {meta.dtype}")
        return meta.dtype

    def _new(self, dtype: np.dtype, axes: Sequence[Axis | None], varies: bool = True, name: str = "") -> Value:
        self.count += 1
        return Value(name or f"e{self.count}", dtype, tuple(axes), varies)

    # -- steps

    def _translate(self, step: Step) -> None:
        (slot,) = step.outputs
        meta = step.results[0]
        dtype = self._dtype(meta)
        operands = [self._operand(s, m) for s, m in zip(step.inputs, step.metas, strict=True)]
        if slot in self.group.padded:
            self.values[slot] = operands[0]  # the step before wrote its rows
            return
        if slot in self.group.carried:
            self._carry(step, slot, dtype, operands[0])
            return
        if TRAITS[step.op].elementwise:
            value: Operand = self._map(step, dtype, operands)
        else:
            if (rule := _RULES.get(step.op)) is None:
                raise NotExpressible(f"{step.op} has no statement in C")
            value = rule(self, step, dtype, operands[0])
        self.values[slot] = value
        if slot in self.writes:
            self._store(slot, meta, value)

    def _operand(self, slot: Slot, meta: TensorMeta) -> Operand:
        return c_literal(slot.value, self._dtype(meta)) if isinstance(slot, Literal) else self.values[slot]

    def _map(self, step: Step, dtype: np.dtype, operands: Sequence[Operand]) -> Value:
        """Write an elementwise step. Operands align at their last axes; rows are not among these."""
        rule = TRAITS[step.op].c_expression
        text = None if rule is None else rule(CSite(tuple([m.dtype for m in step.metas]), dtype, dict(step.params)))
        if text is None:
            kinds = ", ".join(dict.fromkeys(str(m.dtype) for m in step.metas))
            raise NotExpressible(f"{step.op} of {kinds} has no expression in C")
        axes = self._aligned(operands)
        rank = step.results[0].rank - 1
        if any(axis is not None for axis in axes[: max(len(axes) - rank, 0)]):
            raise NotExpressible(f"{step.op} aligns rows with another axis")
        axes = [*[None] * (rank - len(axes)), *axes[max(len(axes) - rank, 0) :]]
        target = self._new(dtype, axes, any(isinstance(o, Value) and o.varies for o in operands))
        self.statements.append(Map(target, text, tuple(operands)))
        return target

    def _aligned(self, operands: Sequence[Operand]) -> list[Axis | None]:
        """Return the axes of an elementwise result: of its operands, unified where they align."""
        result: list[Axis | None] = []
        for operand in operands:
            axes = list(operand.axes) if isinstance(operand, Value) else []
            result = [*[None] * (len(axes) - len(result)), *result]
            for i, axis in enumerate(axes, len(result) - len(axes)):
                if (mine := result[i]) is None:
                    result[i] = axis
                elif axis is not None:
                    mine.unify(axis)
        return result

    def _reduce(self, step: Step, dtype: np.dtype, x: Operand) -> Value:
        """Write a reduction along axes behind the rows."""
        value, reduced = self._reduced_axes(step, x)
        return self._reduced(step, dtype, value, [a for i, a in enumerate(value.axes) if i not in reduced])

    def _reduced_axes(self, step: Step, x: Operand) -> tuple[Value, set[int]]:
        """Return the operand of a reduction and its reduced axes behind the rows, none of them stretched."""
        value, sizes = _as_value(step, x), (step.metas[0].sizes or ())[1:]
        reduced = {axis - 1 for axis in dict(step.params)["axes"]}
        self._check_stretched(step, value, reduced, sizes)
        return value, reduced

    def _check_stretched(self, step: Step, value: Value, reduced: Collection[int], sizes: Sequence[Size]) -> None:
        if any(i >= 0 and value.axes[i] is None and sizes[i] != 1 for i in reduced):
            raise NotExpressible(f"{step.op} along an axis that was stretched")

    def _reduced(self, step: Step, dtype: np.dtype, value: Value, axes: Sequence[Axis | None]) -> Value:
        reduction = self._reduction(step, dtype)
        if dtype.kind != "c":
            return self.reduce(reduction, value, axes)
        part = value.dtype.type().real.dtype
        parts = [self.map(f"{name} {{0}}", part, [value]) for name in ("__real__", "__imag__")]
        sums = [self.reduce(self._reduction(step, part), x, axes) for x in parts]
        return self.map(f"as_pair{suffix(dtype)}({{0}}, {{1}})", dtype, sums)

    def _reduction(self, step: Step, dtype: np.dtype) -> Reduction:
        if (reduction := reduction_of(step.op, dtype)) is None:
            raise NotExpressible(f"{step.op} of {dtype} has no reduction in C")
        return reduction

    def _sum_to(self, step: Step, dtype: np.dtype, x: Operand) -> Value:
        """Write a sum of broadcast axes, which keeps the axes of `axes`, with size 1 where they are summed."""
        value, axes = _as_value(step, x), self._axes_after_sum_to(step)
        sizes = (step.metas[0].sizes or ())[1:]
        self._check_stretched(step, value, {i for i in range(len(sizes)) if i + 1 not in axes}, sizes)
        remaining = [None if i is None else value.axes[i - 1] for i in axes[1:]]
        summed = {a.root() for a in value.loop_axes()} - {a.root() for a in remaining if a is not None}
        if not summed:
            return self._renamed(value, remaining)
        return self._reduced(step, dtype, value, remaining)

    def _axes_after_sum_to(self, step: Step) -> list[int | None]:
        """Return for each axis of the result of sum_to the axis of the operand, None where it is summed."""
        params, sizes = dict(step.params), step.metas[0].sizes or ()
        remaining: list[int | None] = []
        for axis, size in zip(params["axes"], params["shape"], strict=True):
            if size != sizes[axis] and size != 1:
                raise NotExpressible(f"sum_to of size {sizes[axis]} to {size}, which may be equal or 1")
            remaining.append(axis if size == sizes[axis] else None)
        return remaining

    def _logsumexp(self, step: Step, dtype: np.dtype, x: Operand) -> Value:
        value, reduced = self._reduced_axes(step, x)
        remaining = [None if i in reduced else a for i, a in enumerate(value.axes)]
        result = logsumexp_statements(self, value, dtype, remaining)
        return self._renamed(result, [a for i, a in enumerate(value.axes) if i not in reduced])

    def _softmax(self, step: Step, dtype: np.dtype, x: Operand) -> Value:
        value, reduced = self._reduced_axes(step, x)
        if -1 in reduced:
            raise NotExpressible("softmax along the rows")
        remaining = [None if i in reduced else a for i, a in enumerate(value.axes)]
        return softmax_statements(self, value, dtype, remaining, safe=step.op is rd.safe_softmax_op)

    def _broadcast(self, step: Step, dtype: np.dtype, x: Operand) -> Operand:
        """Return the operand with the axes of the result: a stretched axis is none of its loops."""
        if isinstance(x, str):
            return x
        params = dict(step.params)
        shape, axes = params["shape"], params["axes"]
        result: list[Axis | None] = [None] * len(shape)
        own: Sequence[Axis | None] = (None, *x.axes) if x.varies else x.axes
        if len(own) != len(axes):  # an operand of one row, whose first axis is not among its loop axes
            own = (None, *own)
        for axis, mine in zip(own, axes, strict=True):
            result[mine] = axis
        return self._renamed(x, result[1:])

    def _reshape(self, step: Step, dtype: np.dtype, x: Operand) -> Operand:
        """Return the operand with axes of size 1 added or dropped; other reshapes have no statement.

        One size may have another name. Where there are elements, it is the same, as their number is.
        """
        if isinstance(x, str):
            return x
        sizes = (step.results[0].sizes or ())[1:]
        axes = [axis for axis in x.axes if axis is not None]
        longer = [size for size in sizes if size != 1]
        if len(axes) != len(longer) or sum(a.size != s for a, s in zip(axes, longer, strict=True)) > 1:
            raise NotExpressible("reshape of more than axes of size 1")
        left = iter(axes)
        return self._renamed(x, [None if size == 1 else next(left) for size in sizes])

    def _take(self, step: Step, dtype: np.dtype, x: Operand) -> Value:
        """Write a choice of whole rows of an array that all rows of the group read."""
        index = self.values[str(step.inputs[1])]
        if dict(step.params)["axes"] != (0,) or not isinstance(x, Value) or not isinstance(index, Value):
            raise NotExpressible("take along other axes than the first")
        if not x.slot or x.varies or x.one_row or x.axes[:1] == (None,) or index.dtype == np.uint64:
            raise NotExpressible(f"take of rows that are computed, or by {index.dtype}")
        target = self._new(dtype, [*index.axes, *x.axes[1:]])
        if not target.loop_axes() or target.axes[-1] is None or len(x.axes) == 1:
            raise NotExpressible("take of single elements")
        self.statements.append(Gather(target, x, index))
        return target

    def _renamed(self, x: Value, axes: Sequence[Axis | None]) -> Value:
        """Return a value with other axes of size 1."""
        return Value(x.name, x.dtype, tuple(axes), x.varies, x.slot, x.one_row)

    # -- results

    def _store(self, slot: str, meta: TensorMeta, value: Operand) -> None:
        """Write a result, along all axes of its array."""
        axes = _axes((meta.sizes or ())[1:])
        if isinstance(value, Value):
            for mine, axis in zip(axes[::-1], value.axes[::-1], strict=False):
                if mine is not None and axis is not None:
                    axis.unify(mine)
            if not set(value.loop_axes()).issubset([axis.root() for axis in axes if axis is not None]):
                raise NotExpressible(f"{slot} has one element along an axis of its operands")
        self.statements.append(Store(Value(slot, meta.dtype, axes, True, slot), value))

    def _carry(self, step: Step, slot: str, dtype: np.dtype, x: Operand) -> None:
        """Write a reduction along the rows, and perhaps along further axes."""
        value, sizes = _as_value(step, x), (step.metas[0].sizes or ())[1:]
        axes = self._axes_after_carry(step)
        self._check_stretched(step, value, {i for i in range(len(sizes)) if i + 1 not in axes}, sizes)
        target = Value(slot, dtype, tuple([None if i is None else value.axes[i - 1] for i in axes]), False, slot)
        reduction = self._reduction(step, dtype)
        if target.loop_axes() and set(target.loop_axes()) != set(value.loop_axes()):
            value = self.reduce(reduction, value, target.axes)
        self.statements.append(Total(target, reduction, value))

    def _axes_after_carry(self, step: Step) -> list[int | None]:
        """Return for each axis of a result without rows the axis of the operand, None where it is summed."""
        if step.op is rd.sum_to_op:
            return [i for i in self._axes_after_sum_to(step) if i != 0]
        return [i for i in range(1, step.metas[0].rank) if i not in dict(step.params)["axes"]]

    # -- for statements of several parts

    def map(self, text: str, dtype: np.dtype, operands: Sequence[Operand]) -> Value:
        """Add a statement of elements, and return its value; an equal one is not added again."""
        key = (text, *[o if isinstance(o, str) else (o.name, *_identities(o.axes)) for o in operands])
        if key not in self.parts:
            target = self.parts[key] = self._new(dtype, self._aligned(operands))
            self.statements.append(Map(target, CText(text), tuple(operands)))
        return self.parts[key]

    def reduce(self, reduction: Reduction, value: Value, axes: Sequence[Axis | None]) -> Value:
        """Add a reduction that leaves these axes, and return its value. One element along the others is the result."""
        if len([axis for axis in axes if axis is not None]) == len(value.loop_axes()):
            return self._renamed(value, axes)
        key = (reduction.ufunc, value.name, *_identities(value.axes), *_identities(axes))
        if key not in self.parts:
            target = self.parts[key] = self._new(value.dtype, axes)
            self.statements.append(Reduce(target, reduction, value))
        return self.parts[key]


def _identities(axes: Sequence[Axis | None]) -> tuple[int, ...]:
    """Return what tells loop axes apart."""
    return tuple([0 if axis is None else id(axis.root()) for axis in axes])


def _axes(sizes: Sequence[Size]) -> tuple[Axis | None, ...]:
    """Return new loop axes of these sizes, None for a size 1."""
    return tuple([None if size == 1 else Axis(size) for size in sizes])


def _as_value(step: Step, x: Operand) -> Value:
    if isinstance(x, str) or not x.varies:
        raise NotExpressible(f"{step.op} of an operand that is the same in all rows")
    return x


_Rule: TypeAlias = Callable[[Any, Step, np.dtype, Any], Any]
_RULES: dict[Any, _Rule] = {
    rd.reduce_sum_op: _Translation._reduce,
    rd.reduce_prod_op: _Translation._reduce,
    rd.reduce_max_op: _Translation._reduce,
    rd.reduce_min_op: _Translation._reduce,
    rd.reduce_and_op: _Translation._reduce,
    rd.reduce_or_op: _Translation._reduce,
    rd.sum_to_op: _Translation._sum_to,
    rd.reduce_logsumexp_op: _Translation._logsumexp,
    rd.softmax_op: _Translation._softmax,
    rd.safe_softmax_op: _Translation._softmax,
    ix.take_op: _Translation._take,
    mv.broadcast_in_dim_op: _Translation._broadcast,
    mv.reshape_op: _Translation._reshape,
}
