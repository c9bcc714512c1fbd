"""Batching of a whole graph: sizes read off a batched input are sizes of one example."""

import numpy as np

import anyshape.numpy as anp
from anyshape.autodiff.vmap import batch
from anyshape.backend.interpreter import evaluate
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis
from anyshape.numpy.arrays.array import Array
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.arguments.specs import trace


def test_a_node_without_operands_reads_the_sizes_of_one_example():
    graph = trace(lambda x: (anp.arange(x.shape[1]), anp.ones((x.shape[0], 2)), x * 2))(ShapeDtypeStruct("n, m")).graph
    (x,) = graph.inputs
    builder = Builder(Scope(conditions=graph.conditions), handle=Array)
    size = expr.variable("b")
    batched = builder.input(tensor(x.meta.dtype, [size, *x.meta.extents]))
    for axis, extent in enumerate(batched.meta.extents):
        builder.define_dim(expr.as_atom(extent.size), expr.from_atom(InputAxis(0, axis)))
    with activate(builder):
        pairs = batch(builder, graph, [batched], [True], size)
        outputs = [y for y, _ in pairs]
        whole = builder.finish(outputs)
    assert [carries for _, carries in pairs] == [False, False, True]
    for shape in [(4, 2, 3), (0, 1, 5), (3, 0, 0)]:
        data = np.ones(shape)
        positions, ones, doubled = evaluate(whole, [data])
        np.testing.assert_array_equal(positions, np.arange(shape[2]))
        np.testing.assert_array_equal(ones, np.ones((shape[1], 2)))
        np.testing.assert_array_equal(doubled, data * 2)
