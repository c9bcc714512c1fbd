"""Builders into which a graph is replayed with its own inputs, to make a variant of it."""

from __future__ import annotations

from typing import Any

from anyshape.graph.ir.builder import Builder
from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.scope import Scope
from anyshape.numpy.arrays.array import Array


def replay_scope(graph: Graph) -> Scope:
    """Return a scope with the conditions of a graph, except those on run-time sizes.

    The replay makes new run-time sizes, and states their conditions again.
    """
    runtime = graph.runtime.keys()
    return Scope(conditions=[c for c in graph.conditions if runtime.isdisjoint(c.claim.variables())])


def replay_builder(graph: Graph, scope: Scope) -> tuple[Builder, list[Any]]:
    """Return a builder with the dimension variables and inputs of a graph, and handles of these inputs."""
    builder = Builder(scope, handle=Array, values=dict(graph.values))
    for source in graph.dims:
        builder.define_dim(source.variable, source.size, source.read)
    visible = len(graph.inputs) - graph.hidden
    inputs = [builder.input(v.meta) for v in graph.inputs[:visible]]
    for value in graph.inputs[visible:]:
        inputs += [builder.hidden_input(variable) for variable, _ in value.meta.variable_axes()]
    return builder, inputs
