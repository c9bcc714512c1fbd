"""What kernels promise the planner: a result shares memory only with the first operand, and only if declared a view."""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.graph.extents import tensor
from anyshape.ops.core import find_kernel, resolve
from tests.sweep import arrays_of, few_combinations, is_error, label, outcome, rows

ROWS = rows()


def runs(graph, arrays):
    """Every node of the graph with its operands and its results, by its kernel and by the special one it may have."""
    env = dict(zip(graph.inputs, map(np.asarray, arrays), strict=True)) | dict(graph.constants)
    for node in graph.nodes:
        inputs = [env[v] for v in node.inputs]
        params = resolve(dict(node.params), [env[v] for v in node.operands])
        kernel = find_kernel(node.op)
        metas = [tensor(x.dtype, x.shape) for x in inputs]
        special = kernel.specialise(params, metas) if kernel.specialise is not None else None
        for result in [kernel.run(*inputs, **params), *([special(*inputs)] if special is not None else [])]:
            results = result if len(node.outputs) > 1 else (result,)
            env.update({v: np.asarray(r) for v, r in zip(node.outputs, results, strict=True)})
            yield node, inputs, results


@pytest.mark.parametrize("case", ROWS, ids=map(label, ROWS))
def test_results_are_fresh_unless_declared_views_and_operands_are_left_alone(case):
    _, row = case
    for dtype in row.dtypes[:2]:
        for sizes in few_combinations(row)[:3]:
            xs = arrays_of(row, sizes, dtype)
            jitted = anyshape.jit(lambda *args: row.function(anp, *args))
            if is_error(outcome(jitted, *xs)):
                continue
            arrays = [np.array(x) for x in xs]
            for node, inputs, results in runs(jitted.programs()[0].graph, arrays):
                view = find_kernel(node.op).view
                for result in results:
                    shared = [i for i, x in enumerate(inputs) if np.may_share_memory(np.asarray(result), x)]
                    assert shared in ([], [0] if view else []), f"{node.op} shares memory with operands {shared}"
            for x, given in zip(arrays, xs, strict=True):
                np.testing.assert_array_equal(x, given)
