"""The partition of a plan into groups: no two of its parts could be one group, as far as their graph tells.

Two parts could be one if all of this holds:

- They work along the same rows.
- The later one reads results of the other, none of them of a carried reduction.
- No path leads from one to the other through a third part.
"""

import networkx
import numpy as np
import optree
import pytest

import anyshape
from anyshape.backend.compiler.passes.fusion.row_parallel import RowAnalysis
from anyshape.backend.compiler.plan import Group
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.support.packages import fusing
from tests.backend.compiler.codegen.tiling import tiled
from tests.backend.compiler.test_peak_memory import SLACK, measured


def layer_norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale + shift


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.8 * (x + 0.04 * x**3)))


def transformer_block(p, x):
    h = layer_norm(x, p["s1"], p["b1"])
    x = x + softmax(h @ p["q"] @ (h @ p["k"]).T) @ (h @ p["v"])
    return np.mean((x + gelu(layer_norm(x, p["s2"], p["b2"]) @ p["up"]) @ p["down"]) ** 2)


def network(p, x):
    z = gelu(x @ p["up"]) @ p["down"] + p["b1"]
    z = z - z.max(-1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), -1)) - z[:, 0])


def prices(p, x):
    root = p["s1"] * np.sqrt(x)
    d = (np.log(x) + (0.03 + 0.5 * p["s1"] ** 2) * x) / root
    return np.sum(np.tanh(d) * x - np.tanh(d - root) * np.exp(-0.03 * x))


def parts_of(function, sizes, monkeypatch):
    """Return the parts of the plan of value and gradient, and the analysis that partitions their rows."""
    partitions = []
    fuse = fusing.fuse

    def watched(steps, outputs, scope, runtime):
        parts = fuse(steps, outputs, scope, runtime)
        partitions.append((parts, RowAnalysis(ShapeGuardContext(scope, "fuse", rule="pass"))))
        return parts

    monkeypatch.setattr(fusing, "fuse", watched)
    tensor = lambda *shape: anyshape.ShapeDtypeStruct(shape and ", ".join(shape), np.float64)
    width, hidden = ("d", "h") if sizes == "named" else ("8", "16")
    shapes = dict.fromkeys(("s1", "s2", "b1", "b2"), (width,))
    shapes |= dict.fromkeys(("q", "k", "v"), (width, width)) | {"up": (width, hidden), "down": (hidden, width)}
    p = {name: tensor(*shape) for name, shape in shapes.items()}
    anyshape.trace(anyshape.value_and_grad(function))(p, tensor("n", width)).plan
    return partitions[-1]


def steps_of(part):
    return part.steps if isinstance(part, Group) else (part,)


def rows_of(part, analysis):
    """Return the size of the parallel axis of a part; None if it has none that could be shared."""
    if isinstance(part, Group):
        return part.rows
    parallel = analysis.parallel_axis(part)
    return None if parallel is None or parallel.padded else parallel.rows


def graph_of(parts):
    """Return the dependence graph of parts, by their positions."""
    graph, maker = networkx.DiGraph(), {}
    for i, part in enumerate(parts):
        graph.add_node(i)
        graph.add_edges_from((maker[s], i) for step in steps_of(part) for s in step.inputs if maker.get(s, i) != i)
        maker |= {slot: i for step in steps_of(part) for slot in step.outputs}
    return graph


def could_be_one(graph, analysis, parts, i, j):
    """Tell whether the j-th part could be in one group with the i-th, which comes before."""
    first, second = parts[i], parts[j]
    rows = rows_of(first, analysis)
    read = {s for step in steps_of(second) for s in step.inputs if isinstance(s, str)}
    made = {slot for step in steps_of(first) for slot in step.outputs}
    unfinished = {*first.carried, *first.padded} if isinstance(first, Group) else set()
    if rows is None or rows != rows_of(second, analysis) or not made & read or unfinished & read:
        return False
    return networkx.is_directed_acyclic_graph(networkx.contracted_nodes(graph, i, j, self_loops=False))


@pytest.mark.parametrize("sizes", ["named", "fixed"])
@pytest.mark.parametrize("function", [transformer_block, network, prices])
def test_no_two_groups_could_be_one(function, sizes, monkeypatch):
    parts, analysis = parts_of(function, sizes, monkeypatch)
    graph = graph_of(parts)
    groups = [i for i, part in enumerate(parts) if isinstance(part, Group)]
    assert groups
    pairs = [(i, j) for j in range(len(parts)) for i in range(j) if i in groups or j in groups]
    assert [(i, j) for i, j in pairs if could_be_one(graph, analysis, parts, i, j)] == []


def between(x, w):
    """A carried reduction closes a group that more of the same rows would belong to."""
    y = np.exp(x) * w
    total = np.sum(y, axis=0)
    return np.tanh(total * 2), np.sum(np.sin(x) * y, axis=0), y


def reads_the_total(x, w):
    y = np.exp(x) * w
    total = np.sum(y, axis=0)
    return y - total, np.sin(y) * 2


def counts(x, w):
    """A part in between defines a size that later parts need."""
    y = np.exp(x) * w
    total = np.sum(y)
    chosen = x[x > total * 0]
    return np.cos(y) * chosen.shape[0], np.zeros_like(chosen) + chosen.shape[0], np.sin(x) * 2 + np.sum(chosen)


@pytest.mark.parametrize("function", [between, reads_the_total, counts])
def test_merged_groups_give_the_same(function):
    rng = np.random.default_rng(0)
    with tiled():
        program = anyshape.jit(function)
        for n in (0, 1, 2, 5, 6, 7, 13, 40):
            x, w = rng.normal(size=n), rng.normal(size=n)
            for result, expected in zip(program(x, w), function(x, w), strict=True):
                np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


def test_functions_of_the_user_are_called_in_their_order():
    seen = []

    def recorder(name):
        def record(x):
            seen.append(name)
            return np.array(x)

        return record

    def function(x, w):
        y = np.exp(x) * w
        first = anyshape.pure_callback(recorder("first"), anyshape.ShapeDtypeStruct("", np.float64), np.sum(y))
        second = anyshape.pure_callback(recorder("second"), anyshape.ShapeDtypeStruct("", np.float64), w[0] * 2)
        return first, second, np.sum(np.sin(x) * y)

    program = anyshape.jit(function)
    for _ in range(3):
        seen.clear()
        program(np.ones(4), np.ones(4))
        assert seen == ["first", "second"]


def heads(x, w):
    """Each head ends before the next one begins, though all read w."""
    total = x
    for i in range(20):
        total = total + np.tanh(softmax(x @ x.T + w * i) * w) @ x
    return total


def products(x, w):
    """All additions could be delayed until the last product."""
    total = x
    for i in range(20):
        total = total + x @ (w * (i + 0.5))
    return total


def bent_products(x, w):
    total = x
    for i in range(20):
        total = total + np.tanh(x @ (w * (i + 0.5)))
    return total


def losses(x, w):
    return [np.sum(np.abs(x @ (w * i))) for i in range(20)], sum(np.sum(np.tanh(x @ (w + i))) for i in range(20))


def extremes_of_layers(x, w):
    maxima = []
    for _ in range(20):
        x = np.tanh(x @ w)
        maxima.append(np.max(np.sort(x * x, 0), -1))
    return np.stack(maxima)


def sums_of_products(x, w):
    return [(x @ (w * i)) * (x @ (w + i)) + (x @ (w - i)) * (x @ (w / (i + 1))) for i in range(20)]


def deeper(x, w):
    total = np.stack([x, x], -1)
    for i in range(20):
        total = total + (x @ (w * (i + 0.5)))[..., None]
    return total


def columns(x, w):
    """A column of a product keeps all of it alive."""
    product = x
    for i in range(20):
        product = product * np.tanh((x @ (w * i))[:, :1]) * (np.sort(x * i, 0)[:, 0:1] + 1)
    return product


def sorted_pairs(x, w):
    return [np.tanh(np.sort(x * i, 0)) + np.sort(x + w * i, 0) for i in range(20)]


LOOPS = (heads, products, bent_products, losses, extremes_of_layers, sums_of_products, deeper, columns, sorted_pairs)


@pytest.mark.parametrize("function", LOOPS)
@pytest.mark.usefixtures("as_written")
def test_open_groups_keep_few_arrays_alive(function):
    tensor, n = anyshape.ShapeDtypeStruct("n, n", np.float64), 200
    program = anyshape.trace(function)(tensor, tensor)
    arrays = np.random.default_rng(0).normal(size=(2, n, n)) / n**0.5
    used, results = measured(program.run, arrays)
    plain, expected = measured(function, arrays)
    assert used <= plain + 5 * arrays[0].nbytes + SLACK
    assert used <= program.cost().at({"n": n}).peak_bytes.size + SLACK
    leaves = optree.tree_leaves(expected)
    assert len(results) == len(leaves)
    for x, y in zip(results, leaves, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def columns_of_products(x, w):
    product = x[:, 0]
    for i in range(10):
        product = product * np.tanh((x @ (w * i))[:, 0])
    return np.sum(product**2)


@pytest.mark.parametrize("argnums", [(0, 1), 0, 1])
def test_a_view_keeps_its_base_alive(argnums):
    tensor, n = anyshape.ShapeDtypeStruct("n, n", np.float64), 200
    program = anyshape.trace(anyshape.grad(columns_of_products, argnums))(tensor, tensor)
    arrays = np.random.default_rng(0).normal(size=(2, n, n)) / n**0.5
    used, _ = measured(program.run, arrays)
    assert used <= program.cost().at({"n": n}).peak_bytes.size + SLACK


def recorded(seen, name, x):
    def record(x):
        seen.append(name)
        return np.array(x)

    return anyshape.pure_callback(record, anyshape.ShapeDtypeStruct(x.shape, x.dtype), x)


def test_checks_and_callbacks_keep_their_order():
    seen = []

    def before_a_callback(x):
        y = np.exp(x) * x
        anyshape.check(np.sum(y) < 0, "the sum")
        return np.sin(x) * y + recorded(seen, "called", np.sort(x))

    def before_another(x):
        y = np.exp(x) * x
        anyshape.check(np.sum(y) < 0, "the sum")
        s = np.sort(x)
        anyshape.check(s[0] < 0, "the least")
        return np.sin(x) * y + np.sort(np.cumsum(s))

    for function in (before_a_callback, before_another):
        with pytest.raises(anyshape.errors.CheckError, match="the sum"):
            anyshape.jit(function)(np.ones(4))
    assert seen == []
