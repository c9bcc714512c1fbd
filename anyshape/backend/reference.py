"""The naive evaluator: the meaning of a graph, which every plan must equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir import Graph, Value
from anyshape.ops.core import find_kernel, resolve


def evaluate(graph: Graph, arrays: Sequence[np.ndarray]) -> list[Any]:
    """The outputs of the graph, node by node, with every size read from the actual operands."""
    env: dict[Value, Any] = dict(zip(graph.inputs, map(np.asarray, arrays), strict=True))
    env.update(graph.constants)
    for node in graph.nodes:
        params = resolve(dict(node.params), [env[v] for v in node.operands])
        result = find_kernel(node.op).run(*[env[v] for v in node.inputs], **params)
        results = result if len(node.outputs) > 1 else (result,)
        env.update({v: np.asarray(r) for v, r in zip(node.outputs, results, strict=True)})
    return [np.array(env[v]) for v in graph.outputs]
