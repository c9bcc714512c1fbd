"""Types of the results of a function for blocks, by the size formulas of its programs, before anything is computed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Graph, Value, decisions_of
from anyshape.graph.ir.op_local import ancestors
from anyshape.graph.shapes.array_type import Exact, ShapeExtent
from anyshape.graph.signature.prologue import Prologue, Solver, compile_prologue
from anyshape.graph.sizes.expr import DimVar, InputAxis, Leaf, RuntimeScalar, as_atom, leaves_of
from anyshape.graph.sizes.substitute import evaluate, values_from
from anyshape.program.program import Program
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.tracing.decisions import evaluate_quietly
from anyshape.transforms.jitted import Jitted

UNKNOWN = 2  # of an axis in examples, where only the data tell its size


class ResultType(NamedTuple):
    """Dtype and sizes of a result for a block, NaN where data decide, and the shape of an example of it."""

    dtype: np.dtype
    sizes: tuple[float, ...]
    example: tuple[int, ...]


class BlockTypes(NamedTuple):
    """Structure of the results for a block and their types; `writes` is whether the function writes to arguments."""

    structure: Any
    results: tuple[ResultType, ...]
    writes: bool


class _Known(NamedTuple):
    """Facts about the sizes of a program, for all blocks.

    - `solve` returns the sizes of a call. Unknown sizes of blocks, or values in blocks, decide the `hidden` ones.
    - `chosen` has the sizes that values of other arguments decide.
    - `decides` is whether Python decides on values in blocks, so that another block may take another path.
    """

    solve: Solver
    hidden: set[DimVar]
    chosen: dict[DimVar, int]
    decides: bool


class TypeReader:
    """Reader of the types of results; programs are traced where they are missing."""

    def __init__(self, function: Jitted) -> None:
        self.function = function
        self._known: dict[Any, _Known] = {}

    def types(self, args: Any, kwargs: Any, unknown: Mapping[int, tuple[int, ...]]) -> BlockTypes:
        """Return the types of results for arguments with an example in place of each block.

        `unknown` has the axes of unknown size of each example, by its `id`.
        """
        arrays, entry = self.function.entry_for(*args, **kwargs)
        program = entry.program
        blocks = {i: unknown[id(x)] for i, x in enumerate(arrays) if id(x) in unknown}
        key = program, tuple(blocks.items())
        if key not in self._known:
            self._known[key] = _known_of(program, arrays, blocks)
        known = self._known[key]
        sizes = {**known.solve(*arrays), **known.chosen}
        hidden = None if known.decides else known.hidden
        outputs = program.graph.outputs[: program.trace.count]
        results = [_type_of(value.meta.dtype, value.meta.extents, sizes, hidden) for value in outputs]
        return BlockTypes(program.trace.out_tree, tuple(results), bool(program.trace.written))


def _known_of(program: Program, arrays: Sequence[Any], blocks: Mapping[int, tuple[int, ...]]) -> _Known:
    graph = program.graph
    hidden = _hidden(program.prologue, blocks)
    inputs = {graph.inputs[i] for i in blocks}
    asked = [operand for node in decisions_of(graph) for operand in node.operands]
    makers = {value for node in graph.nodes for value in node.outputs} | {*graph.inputs}
    decides = any(v not in makers or not inputs.isdisjoint(ancestors(graph.nodes, v)) for v in asked)
    guarded = any(v in hidden for guard in program.guards for v in guard.claim.variables())
    chosen = _chosen_sizes(graph, arrays, inputs)
    return _Known(compile_prologue(program.prologue, arrays=True), hidden, chosen, decides or guarded)


def _chosen_sizes(graph: Graph, arrays: Sequence[Any], inputs: set[Value]) -> dict[DimVar, int]:
    """Return the run-time sizes that arguments without blocks decide, by the naive evaluation of what they need."""
    sizes: dict[DimVar, int] = {}
    bound = {variable for value in graph.inputs for variable in _variables(value).values()}
    for value in [value for node in graph.nodes for value in node.outputs]:
        new = {axis: variable for axis, variable in _variables(value).items() if variable not in bound}
        bound |= {*new.values()}
        needed = ancestors(graph.nodes, value) if new else inputs
        if inputs.isdisjoint(needed):
            shape = _shape_of(graph, value, needed, arrays)
            sizes |= {variable: shape[axis] for axis, variable in new.items()}
    return sizes


def _shape_of(graph: Graph, value: Value, needed: set[Value], arrays: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape of a value in a call, computed from the values that it needs alone."""
    nodes = tuple([node for node in graph.nodes if not needed.isdisjoint(node.outputs)])
    return np.shape(evaluate_quietly(replace(graph, nodes=nodes, outputs=(value,)), arrays)[0])


def _variables(value: Value) -> dict[int, DimVar]:
    """Return the axes of a value whose size is one variable."""
    atoms = [as_atom(e.size) if isinstance(e, Exact) else None for e in value.meta.extents]
    return {axis: atom for axis, atom in enumerate(atoms) if isinstance(atom, DimVar)}


def _hidden(prologue: Prologue, blocks: Mapping[int, tuple[int, ...]]) -> set[DimVar]:
    """Return the variables that unknown sizes of blocks, or values in blocks, decide."""
    hidden: set[DimVar] = set()

    def is_hidden(leaf: Leaf) -> bool:
        if isinstance(leaf, InputAxis):
            return leaf.axis in blocks.get(leaf.operand, ())
        return leaf.operand in blocks if isinstance(leaf, RuntimeScalar) else leaf in hidden

    for binding in prologue.bindings:
        if any(is_hidden(leaf) for size in binding.sizes() for leaf in leaves_of(size)):
            hidden.add(binding.variable)
    return hidden


def _type_of(
    dtype: np.dtype, extents: Sequence[ShapeExtent], sizes: Mapping[DimVar, int], hidden: set[DimVar] | None
) -> ResultType:
    """Return the type of a result; where `hidden` is None, data decide all its sizes."""
    known: list[float] = []
    example: list[int] = []
    for extent in extents:
        leaves = leaves_of(extent.size) if isinstance(extent, Exact) else ()
        if not isinstance(extent, Exact) or any(leaf not in sizes for leaf in leaves):
            known.append(math.nan)
            example.append(UNKNOWN)
            continue
        example.append(evaluate(extent.size, values_from(sizes)))
        known.append(math.nan if hidden is None or any(leaf in hidden for leaf in leaves) else example[-1])
    return ResultType(dtype, tuple(known), tuple(example))
