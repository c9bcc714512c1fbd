"""Values of scalars that sizes alone decide, such as `1 / n`: Python gets a number, and a guard keeps the sizes."""

from __future__ import annotations

import operator
import warnings

import numpy as np

from anyshape.graph.ir.builder import Builder, Traced
from anyshape.graph.ir.graph import Node, Value
from anyshape.graph.ir.op_local import bind_local, topological_order
from anyshape.numpy.sizes.symdim import symdim
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.creation import float_of_size_op, full_op, size_value_op
from anyshape.support.lazy_dataclass import NamedTuple

_SIZES = (size_value_op, float_of_size_op)
_LITERALS = (full_op, *_SIZES)
_OF_NUMBERS = ("elementwise", "special", "special_ufuncs")  # families whose results operands and params decide


def value_of_sizes(x: Traced) -> np.generic | None:
    """Return the value in this call of a scalar that sizes alone decide; None where it depends on elements.

    The sizes are asked for as `int(n)` does. So the program serves calls with these sizes.
    """
    start = _home(x.builder, x.value)
    makers = _makers(start)
    return None if makers is None else _evaluated(start[1], makers)


def _makers(start: tuple[Builder, Value]) -> dict[Value, _Maker] | None:
    """Return what makes each value that a value is computed from; None where that is not sizes and literals alone."""
    makers: dict[Value, _Maker] = {}
    todo = [start]
    while todo:
        builder, value = todo.pop()
        if value in makers:
            continue
        node = next((n for n in reversed(builder.nodes) if value in n.outputs), None)
        if node is None or not _is_of_sizes(node):
            return None
        read = [] if node.op in _LITERALS else [_home(builder, v) for v in node.inputs]
        makers[value] = _Maker(builder, node, [v for _, v in read])
        todo += read
    return makers


def _evaluated(last: Value, makers: dict[Value, _Maker]) -> np.generic:
    values: dict[Value, np.generic] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the run warns of what it computes
        for value in topological_order([last], lambda v: makers[v].read):
            values[value] = makers[value].run([values[v] for v in makers[value].read])
    return values[last]


class _Maker(NamedTuple):
    """Node that makes a scalar, its graph, and the values that it reads in the graphs where these are made."""

    builder: Builder
    node: Node
    read: list[Value]

    def run(self, operands: list[np.generic]) -> np.generic:
        """Return the value of the node. A size is asked for: NumPy's rounding of it is the one of the run."""
        if self.node.op in _SIZES:
            return self.node.outputs[0].meta.dtype.type(_size(self.builder, self.node))
        result = KERNELS[self.node.op].run(*operands, **dict(self.node.params))
        return np.asarray(result).dtype.type(result)


def _home(builder: Builder, value: Value) -> tuple[Builder, Value]:
    """Return the graph in which a value is made, for one that a graph captures, and the value there."""
    while True:
        outer = next((handle for handle, inner in builder.captured.values() if inner is value), None)
        if outer is None:
            return builder, value
        builder, value = outer.builder, outer.value


def _is_of_sizes(node: Node) -> bool:
    """Return whether a node makes a scalar of sizes, of literals or of other scalars."""
    of_numbers = node.op in _LITERALS or (node.op.family in _OF_NUMBERS and not node.op.raises)
    return of_numbers and len(node.outputs) == 1 and not node.outputs[0].meta.rank


def _size(builder: Builder, node: Node) -> int:
    """Return the size that a node gives as a value, as Python asks for it."""
    (size,) = [param for name, param in node.params if name == "size"]
    axes = lambda leaf: node.operands[leaf.operand].meta.sizes[leaf.axis]
    return operator.index(symdim(bind_local(size, axes), builder.scope))
