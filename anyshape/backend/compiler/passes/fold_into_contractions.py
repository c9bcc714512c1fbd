"""Transposes, stretches and sums around a contraction become part of it, so that BLAS reads and writes what is there.

A contraction is written as `np.einsum` writes it: operands whose axes have labels. A transpose before or after it only
moves labels. An axis along which an operand repeats itself, new or of size 1, loses its label there: what was a stack
of equal matrices is one matrix, and rows side by side are one large product.

A sum over a stack of products, and a sum of products of elements, are contractions too: `sum(x * y)` is a dot product.
That adds up in another order than NumPy's pairwise sums do, so of inexact numbers it is done only when asked for, by
`reassociate`. Of integers it is exact, and done where it saves work: for sums over stacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyshape.backend.compiler.plan import Literal, Step
from anyshape.backend.compiler.plan_ops import contract_op
from anyshape.graph.ir.graph import params_tuple
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import free_axes
from anyshape.graph.sizes.expr import Size
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.contraction import dot_general_op

Labels = tuple[str, ...]
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ABSORBED = (mv.transpose_op, mv.broadcast_in_dim_op, mv.reshape_op, dot_general_op, ew.mul_op, ew.square_op)


def contractions(
    steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope, *, reassociate: bool = False
) -> list[Step]:
    """The steps with each contraction as one step. Steps that nobody reads any more are left out."""
    return _Contractions(steps, outputs, scope, reassociate).run()


@dataclass(frozen=True)
class _Operand:
    """What a contraction reads, and the labels of its axes."""

    slot: str
    meta: TensorMeta
    labels: Labels


@dataclass(frozen=True)
class _Form:
    """Two operands and the labels of the axes of the result, which `last` gives."""

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
        equation = f"{''.join(x.labels)},{''.join(y.labels)}->{''.join(self.out)}"
        params = params_tuple({"equation": equation})
        where = self.where or self.last.where
        return replace(
            self.last, op=contract_op, inputs=(x.slot, y.slot), params=params, metas=(x.meta, y.meta), where=where
        )


class _Contractions:
    def __init__(
        self, steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope, reassociate: bool
    ) -> None:
        self.steps, self.outputs, self.reassociate = steps, outputs, reassociate
        self.ctx = ShapeGuardContext(scope, "contractions", rule="pass")
        self.maker = {slot: step for step in steps for slot in step.outputs}
        self.readers: dict[str | Literal, list[Step]] = {}
        for step in steps:
            for slot in (*step.inputs, *step.sources):
                self.readers.setdefault(slot, []).append(step)

    def run(self) -> list[Step]:
        found = {}  # by the slot of the step that a contraction takes the place of
        for step in self.steps:
            form = self._form(step)
            if form is not None:
                whole = form.step()
                found[whole.outputs[0]] = self.maker[whole.outputs[0]] = whole
        return self._live([found.get(step.outputs[0], step) if step.outputs else step for step in self.steps])

    def _live(self, steps: list[Step]) -> list[Step]:
        """The steps without movement, products and contractions that nobody reads."""
        uses = Counter([slot for step in steps for slot in (*step.inputs, *step.sources)] + list(self.outputs))
        kept = []
        for step in reversed(steps):
            read = bool(step.outputs) and step.outputs[0] in self.readers
            if read and step.op in _ABSORBED and not uses[step.outputs[0]]:
                uses.subtract([*step.inputs, *step.sources])
            else:
                kept.append(step)
        return kept[::-1]

    # -- what a step is a contraction of

    def _form(self, step: Step) -> _Form | None:
        """The contraction that ends in the step, if it is not the step as it stands."""
        if step.op is dot_general_op:
            return self._of_dot(step)
        if step.op is rd.reduce_sum_op and self.reassociate and step.metas[0].dtype.kind in "fc":
            return self._of_products(step)
        return None

    def _of_dot(self, step: Step) -> _Form | None:
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
        form = _Form((x, _Operand(str(step.inputs[1]), step.metas[1], right)), out, step)
        whole = self._grown(self._read(form))
        return None if whole.operands == form.operands and whole.last is step else replace(whole, where=step.where)

    def _of_products(self, step: Step) -> _Form | None:
        """A sum of products of elements that nothing else reads, each operand of which has the axes that are summed."""
        product = self._alone(step.inputs[0])
        if product is None or product.op not in (ew.mul_op, ew.square_op):
            return None
        labels = tuple(_LETTERS[: self.ctx.rank(product.results[0])])
        operands = [self._aligned(product, i, labels) for i in range(len(product.inputs))]
        x, y = operands * (3 - len(operands))
        summed = {labels[axis] for axis in dict(step.params)["axes"]}
        if x is None or y is None or not summed or not summed <= {*x.labels} & {*y.labels}:
            return None
        out = tuple([a for a in labels if a not in summed])
        return self._read(_Form((x, y), out, step)) if {*out} <= {*x.labels, *y.labels} else None

    def _aligned(self, step: Step, i: int, labels: Labels) -> _Operand | None:
        """An operand of an elementwise step, each axis of which is known to be that of the result, or of size 1."""
        slot, meta = step.inputs[i], step.metas[i]
        own, shape = self._sizes(meta), self._sizes(step.results[0])
        if own is None or shape is None or not isinstance(slot, str) or len(labels) < len(shape):
            return None
        pairs = list(zip(own, shape[len(shape) - len(own) :], strict=True))
        ones = {axis for axis, (size, whole) in enumerate(pairs) if size == 1 != whole}
        if any(size != whole for axis, (size, whole) in enumerate(pairs) if axis not in ones):
            return None
        own_labels = labels[len(labels) - len(own) :]
        return self._without(slot, meta, ones, own_labels)

    def _alone(self, slot: str | Literal) -> Step | None:
        """What makes a slot that one step reads and nothing else."""
        alone = len(self.readers.get(slot, ())) == 1 and slot not in self.outputs
        return self.maker.get(slot) if alone and isinstance(slot, str) else None

    def _sizes(self, meta: TensorMeta) -> tuple[Size, ...] | None:
        sizes = self.ctx.sizes(meta, field="contraction")
        return None if sizes is None else tuple([self.ctx.scope.normal(s) for s in sizes])

    # -- before it

    def _read(self, form: _Form) -> _Form:
        """With what moves the operands left out."""
        for i in (0, 1):
            while (earlier := self._earlier(form.operands[i], {*form.out} & form.shared)) is not None:
                x, y = form.operands
                form = replace(form, operands=(earlier, y) if i == 0 else (x, earlier))
        return form

    def _earlier(self, operand: _Operand, stacked: set[str]) -> _Operand | None:
        """What an operand is a transpose of, or a repetition along axes of a stack."""
        step = self.maker.get(operand.slot)
        if step is None or step.op not in (mv.transpose_op, mv.broadcast_in_dim_op):
            return None
        (slot,), (meta,), axes = step.inputs, step.metas, dict(step.params)["axes"]
        if not isinstance(slot, str):
            return None
        if step.op is mv.transpose_op:
            return _Operand(slot, meta, tuple([operand.labels[axes.index(axis)] for axis in range(len(axes))]))
        old, new = self._sizes(meta), self._sizes(step.results[0])
        if old is None or new is None or any(a not in (1, new[axis]) for a, axis in zip(old, axes, strict=True)):
            return None
        ones = {i for i, axis in enumerate(axes) if old[i] == 1 != new[axis]}
        found = self._without(slot, meta, ones, tuple([operand.labels[axis] for axis in axes]))
        return found if found is not None and {*operand.labels} - {*found.labels} <= stacked else None

    def _without(self, slot: str, meta: TensorMeta, ones: set[int], labels: Labels) -> _Operand | None:
        """The array without these axes of size 1, if they were put into one."""
        if not ones:
            return _Operand(slot, meta, labels)
        step, sizes = self.maker.get(slot), self._sizes(meta)
        if step is None or step.op is not mv.reshape_op or sizes is None or not isinstance(step.inputs[0], str):
            return None
        left = [axis for axis in range(len(sizes)) if axis not in ones]
        if self._sizes(step.metas[0]) != tuple([sizes[axis] for axis in left]):
            return None
        return _Operand(step.inputs[0], step.metas[0], tuple([labels[axis] for axis in left]))

    # -- after it

    def _grown(self, form: _Form) -> _Form:
        """With what moves or sums the result, if nothing else reads that."""
        while True:
            slot = form.last.outputs[0]
            readers = self.readers.get(slot, [])
            if len(readers) != 1 or slot in self.outputs:
                return form
            (reader,) = readers
            if reader.op is mv.transpose_op and not self._for_products(reader):
                out = [form.out[axis] for axis in dict(reader.params)["axes"]]
            elif reader.op is rd.reduce_sum_op and self._may_sum(form, dict(reader.params)["axes"]):
                out = [a for axis, a in enumerate(form.out) if axis not in dict(reader.params)["axes"]]
            else:
                return form
            form = replace(form, out=tuple(out), last=reader)

    def _for_products(self, step: Step) -> bool:
        """Only contractions read the result, and need no copy of it in another order."""
        slot = step.outputs[0]
        return slot not in self.outputs and all(s.op is dot_general_op for s in self.readers.get(slot, ()))

    def _may_sum(self, form: _Form, axes: Sequence[int]) -> bool:
        """The axes are of the stack, and adding up in another order is exact, or was asked for."""
        kinds = "iufc" if self.reassociate else "iu"
        return {form.out[axis] for axis in axes} <= form.shared and form.last.results[0].dtype.kind in kinds
