"""First runs of a small program: node by node, so that nothing is compiled for calls that may be the only ones.

It gives what the plan gives, or nothing. Where a kernel refuses or warns, a condition fails, or an array is large, a
plan serves the call: it has the user's words.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.passes.pipeline import MARKS, without_marks
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.signature.prologue import Signature
from anyshape.graph.sizes.expr import Leaf
from anyshape.graph.sizes.substitute import evaluate
from anyshape.ops.control import check_op, decide_op, warn_below_op, warn_op
from anyshape.ops.core.apply import KERNELS, resolve
from anyshape.ops.elementwise import convert_op, narrow_op, select_op

CALLS = 4  # of a program without a plan, which costs as much as some ten of them
MOST_ELEMENTS = 1 << 14  # of an array; for larger ones a plan has tiles, and memory that is there
# families whose kernels have no effect, and warn of numbers alone
_PLAIN = {"elementwise", "reduction", "movement", "creation", "indexing", "gathering", "contraction", "special"}
_FAMILIES = {*_PLAIN, "dynamic"}
# whether a node of the op warns, by its operands and params
_WARNS: dict[Op, Callable[..., bool]] = {
    warn_op: lambda x, message: bool(np.any(x)),
    warn_below_op: lambda size, least, message: size < least,
}
_RUN = (*MARKS, *_WARNS, check_op, decide_op)


def first_run(graph: Graph, signature: Signature) -> Callable[..., list[Any] | None] | None:
    """Return the run of a graph that gives None where its plan is to run; None where that is always so."""
    if graph.hidden or not all(node.op.family in _FAMILIES or node.op in _RUN for node in graph.nodes):
        return None
    graph = without_marks(graph)
    if not all(v.meta.rank or _gives_scalar(graph.maker.get(v)) for v in graph.outputs):
        return None

    def run(*arrays: Any) -> list[Any] | None:
        try:
            return _FirstRun(graph, signature, arrays).outputs()
        except Exception:  # the plan raises it again, with the line of the user
            return None

    return run


def _gives_scalar(node: Node | None) -> bool:
    """Return whether a plan gives the result as a scalar of NumPy too.

    Of views, choices and other dtypes, passes decide that; a reduction of an array without axes may be one of these.
    """
    if node is None or node.op in (select_op, convert_op, narrow_op):
        return False
    return node.inputs[0].meta.rank > 0 if node.op.family == "reduction" else TRAITS[node.op].elementwise


def _claims(graph: Graph) -> tuple[list[Claim], list[Claim]]:
    """Return what a run has to check before its first node, and what of run-time sizes behind its last one."""
    claims: tuple[list[Claim], list[Claim]] = [], []
    for condition in graph.conditions:
        if condition.kind != "fact":
            claims[not graph.runtime.keys().isdisjoint(condition.claim.variables())].append(condition.claim)
    return claims


class _FirstRun:
    """Sizes and values that a run of a graph has so far."""

    def __init__(self, graph: Graph, signature: Signature, arrays: Sequence[Any]) -> None:
        self.graph, self.sizes = graph, dict[Leaf, int](signature.solved(arrays))
        self.value_of: dict[Value, Any] = dict(zip(graph.inputs, arrays, strict=True))
        self.value_of.update(graph.constants)
        self.small: dict[Any, bool] = {}  # whether an array has few elements, by its sizes

    def outputs(self) -> list[Any] | None:
        """Return the outputs, None where the plan is to run."""
        early, later = _claims(self.graph)
        if not (self._hold(early) and self._are_small(self.graph.inputs)):
            return None
        modes: Any = {kind: "ignore" if mode == "ignore" else "raise" for kind, mode in np.geterr().items()}
        with np.errstate(**modes):
            has_ended = all(map(self._has_run, self.graph.nodes)) and self._hold(later)
        return [_apart(self.value_of[v]) for v in self.graph.outputs] if has_ended else None

    def _hold(self, claims: Iterable[Claim]) -> bool:
        return all(claim.holds(self.sizes.__getitem__) for claim in claims)

    def _are_small(self, values: Iterable[Value]) -> bool:
        """Return whether arrays have few elements."""
        for value in values:
            if (small := self.small.get(shape := value.meta.sizes)) is None:
                size = None if shape is None else evaluate(numel(shape), self.sizes.__getitem__)
                small = self.small[shape] = size is not None and size <= MOST_ELEMENTS
            if not small:
                return False
        return True

    def _has_run(self, node: Node) -> bool:
        """Run a node, unless its results would be large, or it warns."""
        op, makes_sizes = node.op, node.op.makes_sizes  # of at most the elements of its operand
        operands = [self.value_of[v] for v in node.operands]
        params = resolve(dict(node.params), operands) if node.params else {}
        inputs = operands[: len(node.inputs)]
        if not (makes_sizes or self._are_small(node.outputs)) or (op in _WARNS and _WARNS[op](*inputs, **params)):
            return False
        result = KERNELS[op].run(*inputs, **params)
        self.value_of.update(zip(node.outputs, result if len(node.outputs) > 1 else (result,), strict=True))
        if makes_sizes:
            runtime = self.graph.runtime.items()
            self.sizes |= {v: self.value_of[x].shape[axis] for v, (x, axis) in runtime if x in node.outputs}
        return True


def _apart(x: Any) -> Any:
    """Return a result that shares no memory with others; without axes it is a scalar."""
    array = np.array(x)
    return array if array.ndim else array[()]
