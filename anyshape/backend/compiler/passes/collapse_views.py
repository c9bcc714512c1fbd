"""Collapse chains of movement into views: transposes, reshapes, stretches, slices, reversals and pads.

Movement is arithmetic on strides. The pass works on the steps of a plan, after elementwise steps have left out the
stretches that NumPy makes itself.

Fold transposes, stretches and sums around a contraction into it, so that BLAS reads and writes arrays in place.

A contraction is written as `np.einsum` writes it: operands whose axes have labels. A transpose before or after it moves
labels. An axis along which an operand repeats itself, new or of size 1, loses its label. A stack of equal matrices
becomes one matrix, and rows side by side become one large product.

A sum over a stack of products and a sum of products of elements are contractions too: `sum(x * y)` is a dot product.
They add up in another order than NumPy's pairwise sums. So for inexact numbers this is done only with `reassociate`.
For integers it is exact, and done where it saves work: for sums over stacks.

Products of several operands become contractions of two, along a contraction path.

The path is given for the sizes of a call, or is the cheapest for default sizes. Simplification, which follows, merges
contractions that several products have in common, in the forward part and in derivatives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anyshape.backend.compiler.op_traits import TRAITS, Movement
from anyshape.backend.compiler.plan import Slot, Step, contract_op, padded_view_op, stretched_view_op, view_op
from anyshape.errors import SizeLimitError, ViewError
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.graph.ir.op_local import pass_context, pass_scope
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, free_axes
from anyshape.graph.shapes.strided_view import View, row_major
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.graph.sizes.polynomials import Call
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.contraction import dot_general_op, einsum_op, terms_of
from anyshape.ops.core.contraction_order import Path, choose_path
from anyshape.ops.movement import transpose_op
from anyshape.support.freezing import freeze
from anyshape.support.lazy_dataclass import dataclass, replace

# Measured, at 200 and at 200,000 elements alike: a view costs as much as two transposes or reshapes. It costs half of a
# slice with symbolic bounds and a fifth of np.broadcast_to. Where the operand is not in C order, the attempt costs a
# little and is in vain. So views pay from a weight of three on, where a slice weighs two and a stretch three.
MIN_WEIGHT = 3
MAX_TERMS = 40  # in the sizes of a view: more arithmetic costs more than the steps


def collapse_views(steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> list[Step]:
    """Return the steps with each chain of movement as one view, where that is cheaper.

    Nothing but the chain reads its intermediate values.
    """
    ctx = pass_context(scope, "collapse_views")
    uses = Counter([i for step in steps for i in step.inputs] + list(outputs))
    chains: dict[Slot, list[Step]] = {}  # by the slot in which they end
    for step in steps:
        if _is_movement(step, ctx):
            (source,) = step.inputs
            chain = chains.pop(source, []) if uses[source] == 1 else []
            chain.append(step)
            chains[step.outputs[0]] = chain
    inside = {s.outputs[0] for chain in chains.values() for s in chain[:-1]}
    collapsed: list[Step] = []
    for step in steps:
        if step.outputs[0] in chains:
            collapsed.extend(_segments(chains[step.outputs[0]], ctx))
        elif step.outputs[0] not in inside:
            collapsed.append(step)
    return collapsed


def _is_movement(step: Step, ctx: ShapeGuardContext) -> bool:
    """Return whether the step is movement that views can stand for, and all of its sizes have names."""
    if (movement := TRAITS[step.op].movement) is None or not isinstance(step.inputs[0], str) or step.sources:
        return False
    if not movement.admits(dict(step.params)):
        return False
    return all(ctx.sizes(m, field="view") is not None for m in (step.metas[0], step.results[0]))


def _movement(step: Step) -> Movement:
    movement = TRAITS[step.op].movement
    assert movement is not None, f"{step.op} is not a movement"
    return movement


def _segments(chain: list[Step], ctx: ShapeGuardContext) -> Iterator[Step]:
    """Yield the chain in as few steps as possible, in order."""
    start, weight = 0, _weight(chain)  # of what is left of the chain
    while weight >= MIN_WEIGHT:
        segment = _longest_prefix(chain, start, ctx)
        view, end = segment.step(), start + max(len(segment.steps), 1)
        yield from chain[start:end] if view is None else [view]
        if end < len(chain) and chain[end].op is mv.reshape_op and not segment.fills:
            yield chain[end]  # it could not be part of the view, so it copies, and its result is in C order
            end += 1
        start, weight = end, weight - _weight(chain[start:end])
    yield from chain[start:]


def _weight(steps: Sequence[Step]) -> int:
    return sum(_movement(step).weight for step in steps)


def _longest_prefix(chain: list[Step], start: int, ctx: ShapeGuardContext) -> _Segment:
    """Return the most steps of the chain, from a position on, that are one view.

    Sizes are compared in canonical form alone, as proofs would take too long.
    """
    whole = _sizes(chain[start].metas[0], ctx)
    view, end, padding = View(whole, row_major(whole)), start, None
    while end < len(chain):
        step = chain[end]
        params = dict(step.params)
        if step.op is mv.pad_op:
            fill = freeze(params["value"])
            if padding not in (None, fill):
                break
            padding = fill
        elif padding is not None and not _movement(step).follows_pad:
            break  # it would stretch or scatter a copy
        try:
            view = _movement(step).apply(view, _sizes(step.results[0], ctx), **params)
        except (ViewError, SizeLimitError):
            break
        end += 1
    return _Segment(chain[start:end], view, len(whole))


def _sizes(meta: TensorMeta, ctx: ShapeGuardContext) -> tuple[Size, ...]:
    return tuple([ctx.scope.normal(size) for size in ctx.shape(meta, field="view")])


@dataclass(frozen=True, slots=True)
class _Segment:
    """Steps that are one view of the operand of the first step."""

    steps: list[Step]
    view: View
    operand_rank: int

    @property
    def fills(self) -> list[Any]:
        """Numbers that the pads put around the elements."""
        return [dict(s.params)["value"] for s in self.steps if s.op is mv.pad_op]

    def step(self) -> Step | None:
        """Return the view as a step; None where it is not cheaper."""
        if _weight(self.steps) < MIN_WEIGHT or self.operand_rank == 0:
            return None  # a number takes NumPy one call, and may be no array
        first, last = self.steps[0], self.steps[-1]
        stretches = any(s.op is mv.broadcast_in_dim_op for s in self.steps)
        padded = self.fills and self.view.mask is not None
        op, params = self._padded(self.fills[0]) if padded else self._plain(stretches)
        if sum(_count_terms(p) for p in params.values()) > MAX_TERMS:
            return None
        return replace(
            last, op=op, inputs=first.inputs, metas=first.metas, params=params_tuple(params), fallback=tuple(self.steps)
        )

    def _bytes(self, sizes: Sequence[Size]) -> tuple[Size, ...]:
        width = self.steps[0].metas[0].dtype.itemsize
        return tuple([expr.mul(width, size) for size in sizes])

    def _plain(self, stretches: bool) -> tuple[Any, dict[str, Any]]:
        strides, (offset,) = self._bytes(self.view.strides), self._bytes([self.view.offset])
        op = stretched_view_op if stretches else view_op
        return op, {"shape": self.view.shape, "strides": strides, "offset": offset}

    def _padded(self, value) -> tuple[Any, dict[str, Any]]:
        view = self.view
        starts, stops = (tuple([w[i] for w in view.windows]) for i in (0, 1))
        (offset,) = self._bytes([view.linear_index(starts)])
        params = {"shape": view.shape, "strides": self._bytes(view.strides), "offset": offset, "value": value}
        return padded_view_op, {**params, "starts": starts, "stops": stops}


def _count_terms(param, depth: int = 4) -> int:
    """Count the terms of sizes, inside of calls too; deeply nested calls count as too many."""
    if isinstance(param, tuple):
        return sum(_count_terms(p, depth) for p in param)
    if not isinstance(param, DimExpr):
        return 0
    calls = {atom for monomial, _ in param.terms for atom, _ in monomial if isinstance(atom, Call)}
    if calls and not depth:
        return MAX_TERMS + 1
    return len(param.terms) + sum(_count_terms(call.args, depth - 1) for call in calls)


Labels = tuple[str, ...]
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FOLDED = (mv.transpose_op, mv.broadcast_in_dim_op, mv.reshape_op, dot_general_op, ew.mul_op, ew.square_op)


def fold_into_contractions(
    steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope, *, reassociate: bool = False
) -> list[Step]:
    """Return the steps with each contraction and the movement around it as one step, without dead steps."""
    return _Folding(steps, outputs, scope, reassociate).run()


@dataclass(frozen=True)
class _Operand:
    """Operand of a contraction with the labels of its axes."""

    slot: str
    meta: TensorMeta
    labels: Labels


@dataclass(frozen=True)
class _Contraction:
    """Pair of operands and the labels of the axes of the result, which is the result of the step `last`."""

    operands: tuple[_Operand, _Operand]
    out: Labels
    last: Step
    where: SourceLine | None = None

    @property
    def shared(self) -> set[str]:
        x, y = self.operands
        return {*x.labels} & {*y.labels}

    def step(self) -> Step:
        x, y = self.operands
        params = params_tuple({"equation": f"{''.join(x.labels)},{''.join(y.labels)}->{''.join(self.out)}"})
        where = self.where or self.last.where
        return replace(
            self.last, op=contract_op, inputs=(x.slot, y.slot), params=params, metas=(x.meta, y.meta), where=where
        )


class _Folding:
    def __init__(self, steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope, reassociate: bool) -> None:
        self.steps, self.outputs, self.reassociate = steps, set(outputs), reassociate
        self.ctx = pass_context(scope, "fold_into_contractions")
        self.maker = {slot: step for step in steps for slot in step.outputs}
        self.readers: dict[Slot, list[Step]] = {}
        for step in steps:
            for slot in step.reads:
                self.readers.setdefault(slot, []).append(step)
        self.contracted = {
            slot for slot, readers in self.readers.items() if all(s.op is dot_general_op for s in readers)
        }

    def run(self) -> list[Step]:
        folded: dict[str, Step] = {}  # by the slot of the step that a contraction replaces
        for step in self.steps:
            if (contraction := self._ending_in(step)) is not None:
                whole = contraction.step()
                folded[whole.outputs[0]] = self.maker[whole.outputs[0]] = whole
        return self._live([folded.get(step.outputs[0], step) if step.outputs else step for step in self.steps])

    def _live(self, steps: list[Step]) -> list[Step]:
        """Return the steps without movement, products and contractions that have become dead."""
        uses = Counter([slot for step in steps for slot in step.reads] + list(self.outputs))
        live = []
        for step in reversed(steps):
            was_read = bool(step.outputs) and step.outputs[0] in self.readers
            if was_read and step.op in _FOLDED and not uses[step.outputs[0]]:
                uses.subtract(step.reads)
            else:
                live.append(step)
        return live[::-1]

    # -- contractions that end in a step

    def _ending_in(self, step: Step) -> _Contraction | None:
        """Return the contraction that ends in the step, if it is not the step as it stands."""
        if step.op is dot_general_op:
            return self._of_dot(step)
        if step.op is rd.reduce_sum_op and self.reassociate and step.metas[0].dtype.kind in "fc":
            return self._of_products(step)
        return None

    def _of_dot(self, step: Step) -> _Contraction | None:
        ranks = [self.ctx.rank(m) for m in step.metas]
        if sum(ranks) > len(_LETTERS) or not all(isinstance(slot, str) for slot in step.inputs):
            return None
        (cx, cy), (bx, by) = (dict(step.params)[name] for name in ("contract", "batch"))
        left = _LETTERS[: ranks[0]]
        partner = dict(zip((*cy, *by), (*cx, *bx), strict=True))
        fresh = iter(_LETTERS[ranks[0] :])
        right = tuple([left[partner[axis]] if axis in partner else next(fresh) for axis in range(ranks[1])])
        rows, columns = free_axes(ranks[0], cx, bx), free_axes(ranks[1], cy, by)
        out = (*[left[axis] for axis in (*bx, *rows)], *[right[axis] for axis in columns])
        x = _Operand(str(step.inputs[0]), step.metas[0], tuple(left))
        plain = _Contraction((x, _Operand(str(step.inputs[1]), step.metas[1], right)), out, step)
        folded = self._with_results(self._with_operands(plain))
        unchanged = folded.operands == plain.operands and folded.last is step
        return None if unchanged else replace(folded, where=step.where)

    def _of_products(self, step: Step) -> _Contraction | None:
        """Return a sum of products of elements as a contraction.

        Nothing else may read the product, and both operands must have all summed axes.
        """
        product = self._made_for_one_reader(step.inputs[0])
        if product is None or product.op not in (ew.mul_op, ew.square_op):
            return None
        labels = tuple(_LETTERS[: self.ctx.rank(product.results[0])])
        operands = [self._aligned(product, i, labels) for i in range(len(product.inputs))]
        x, y = operands * (3 - len(operands))
        summed = {labels[axis] for axis in dict(step.params)["axes"]}
        if x is None or y is None or not summed or not summed <= {*x.labels} & {*y.labels}:
            return None
        out = tuple([a for a in labels if a not in summed])
        return self._with_operands(_Contraction((x, y), out, step)) if {*out} <= {*x.labels, *y.labels} else None

    def _aligned(self, step: Step, i: int, labels: Labels) -> _Operand | None:
        """Return an operand of an elementwise step, if each axis is proved to have the size of the result, or 1."""
        slot, meta = step.inputs[i], step.metas[i]
        own, shape = self._sizes(meta), self._sizes(step.results[0])
        if own is None or shape is None or not isinstance(slot, str) or len(labels) < len(shape):
            return None
        pairs = list(zip(own, shape[len(shape) - len(own) :], strict=True))
        ones = {axis for axis, (size, whole) in enumerate(pairs) if size == 1 != whole}
        if any(size != whole for axis, (size, whole) in enumerate(pairs) if axis not in ones):
            return None
        return self._without_axes(slot, meta, ones, labels[len(labels) - len(own) :])

    def _made_for_one_reader(self, slot: Slot) -> Step | None:
        """Return the step that makes a slot, if exactly one step reads it."""
        alone = len(self.readers.get(slot, ())) == 1 and slot not in self.outputs
        return self.maker.get(slot) if alone and isinstance(slot, str) else None

    def _sizes(self, meta: TensorMeta) -> tuple[Size, ...] | None:
        sizes = self.ctx.sizes(meta, field="contraction")
        return None if sizes is None else tuple([self.ctx.scope.normal(s) for s in sizes])

    # -- movement before it

    def _with_operands(self, contraction: _Contraction) -> _Contraction:
        """Fold the movement of the operands."""
        for i in (0, 1):
            while (source := self._source(contraction.operands[i], contraction)) is not None:
                x, y = contraction.operands
                contraction = replace(contraction, operands=(source, y) if i == 0 else (x, source))
        return contraction

    def _source(self, operand: _Operand, contraction: _Contraction) -> _Operand | None:
        """Return the array that an operand is a transpose of, or repeats along axes of a stack."""
        step = self.maker.get(operand.slot)
        if step is None or not isinstance(step.inputs[0] if step.inputs else None, str):
            return None
        if step.op is mv.transpose_op:
            axes = dict(step.params)["axes"]
            labels = tuple([operand.labels[axes.index(axis)] for axis in range(len(axes))])
            return _Operand(str(step.inputs[0]), step.metas[0], labels)
        if step.op is not mv.broadcast_in_dim_op:
            return None
        source = self._unstretched(operand, step)
        stacked = {*contraction.out} & contraction.shared
        return source if source is not None and {*operand.labels} - {*source.labels} <= stacked else None

    def _unstretched(self, operand: _Operand, stretch: Step) -> _Operand | None:
        """Return the array that a stretch repeats, without the axes of size 1 that it repeats."""
        axes, (meta,) = dict(stretch.params)["axes"], stretch.metas
        old, new = self._sizes(meta), self._sizes(stretch.results[0])
        if old is None or new is None or any(size not in (1, new[axis]) for size, axis in zip(old, axes, strict=True)):
            return None
        ones = {i for i, axis in enumerate(axes) if old[i] == 1 != new[axis]}
        return self._without_axes(str(stretch.inputs[0]), meta, ones, tuple([operand.labels[axis] for axis in axes]))

    def _without_axes(self, slot: str, meta: TensorMeta, ones: set[int], labels: Labels) -> _Operand | None:
        """Return the array without these axes of size 1, if a reshape inserted them."""
        if not ones:
            return _Operand(slot, meta, labels)
        step, sizes = self.maker.get(slot), self._sizes(meta)
        if step is None or step.op is not mv.reshape_op or sizes is None or not isinstance(step.inputs[0], str):
            return None
        left = [axis for axis in range(len(sizes)) if axis not in ones]
        if self._sizes(step.metas[0]) != tuple([sizes[axis] for axis in left]):
            return None
        return _Operand(step.inputs[0], step.metas[0], tuple([labels[axis] for axis in left]))

    # -- movement and sums after it

    def _with_results(self, contraction: _Contraction) -> _Contraction:
        """Fold the movement and the sums of the result, while nothing else reads it."""
        while True:
            slot = contraction.last.outputs[0]
            readers = self.readers.get(slot, [])
            if len(readers) != 1 or slot in self.outputs:
                return contraction
            (reader,) = readers
            if reader.op is mv.transpose_op and not self._only_contracted(reader):
                out = [contraction.out[axis] for axis in dict(reader.params)["axes"]]
            elif reader.op is rd.reduce_sum_op and self._may_sum(contraction, dict(reader.params)["axes"]):
                out = [a for axis, a in enumerate(contraction.out) if axis not in dict(reader.params)["axes"]]
            else:
                return contraction
            contraction = replace(contraction, out=tuple(out), last=reader)

    def _only_contracted(self, step: Step) -> bool:
        """Return whether only contractions read the result. They need no copy of it in another order."""
        slot = step.outputs[0]
        return slot not in self.outputs and (slot in self.contracted or slot not in self.readers)

    def _may_sum(self, contraction: _Contraction, axes: Sequence[int]) -> bool:
        """Return whether the axes are of the stack, and adding up in another order is exact or allowed."""
        kinds = "iufc" if self.reassociate else "iu"
        stacked = {contraction.out[axis] for axis in axes} <= contraction.shared
        return stacked and contraction.last.results[0].dtype.kind in kinds


Labelled = tuple[Value, str]  # an operand and the labels of its axes


def einsum_nodes(graph: Graph) -> list[Node]:
    """Return the products of several operands."""
    return [node for node in graph.nodes if node.op is einsum_op]


def labelled_sizes(ctx: ShapeGuardContext, node: Node) -> dict[str, Size]:
    """Return the size of each label of a product."""
    terms, _ = terms_of(dict(node.params)["equation"])
    sizes = [ctx.shape(v, field="labels") for v in node.inputs]
    return {label: size for labels, shape in zip(terms, sizes, strict=True) for label, size in zip(labels, shape)}


def default_path(ctx: ShapeGuardContext, node: Node) -> Path:
    """Return the contraction path that is cheapest for default sizes."""
    terms, out = terms_of(dict(node.params)["equation"])
    return choose_path(ctx, terms, out, labelled_sizes(ctx, node)).path


def to_pairs(graph: Graph, paths: Mapping[Value, Path] | None = None) -> Graph:
    """Return the graph with contractions of two operands; `paths` are by result, and by default the default paths."""
    if not einsum_nodes(graph):
        return graph
    ctx = pass_context(pass_scope(graph), "binary_einsum")
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.op is not einsum_op:
            nodes.append(node)
            continue
        path = (paths or {}).get(node.outputs[0]) or default_path(ctx, node)
        nodes += _Pairs(ctx, node).along(path)
    return replace(graph, nodes=tuple(nodes))


class _Pairs:
    """Builds the nodes that replace a product."""

    def __init__(self, ctx: ShapeGuardContext, node: Node) -> None:
        terms, self.out = terms_of(dict(node.params)["equation"])
        self.ctx, self.node, self.nodes = ctx, node, list[Node]()
        self.left: list[Labelled] = list(zip(node.inputs, terms, strict=True))

    def along(self, path: Path) -> list[Node]:
        """Return the nodes that contract the operands along a path."""
        for i, j in path:
            second, first = self.left.pop(j), self.left.pop(i)
            self.left.insert(i, self._pair(first, second))
        (value, labels), result = self.left[0], self.node.outputs[0]
        if labels == self.out:
            self.nodes[-1] = replace(self.nodes[-1], outputs=(result,))
        else:
            self._add(transpose_op, (value,), {"axes": tuple([labels.index(a) for a in self.out])}, result)
        return self.nodes

    def _pair(self, first: Labelled, second: Labelled) -> Labelled:
        """Contract two operands over the labels that nothing else has."""
        (x, left), (y, right) = first, second
        needed = {*self.out, *"".join(labels for _, labels in self.left)}
        shared = [a for a in left if a in right]
        batch, summed = [a for a in shared if a in needed], [a for a in shared if a not in needed]
        params = {"contract": _axes(summed, left, right), "batch": _axes(batch, left, right)}
        value = self._add(dot_general_op, (x, y), params)
        free = [a for labels in (left, right) for a in labels if a not in shared]
        return value, "".join([*batch, *free])

    def _add(self, op: Op, inputs: tuple[Value, ...], params: dict[str, Any], output: Value | None = None) -> Value:
        meta = op.infer(self.ctx, *[v.meta for v in inputs], **params)
        assert isinstance(meta, TensorMeta)
        value = Value(meta) if output is None else output
        self.nodes.append(Node(op, inputs, (), params_tuple(params), (value,), self.node.where))
        return value


def _axes(labels: Sequence[str], left: str, right: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of both operands that have these labels."""
    return tuple(map(left.index, labels)), tuple(map(right.index, labels))
