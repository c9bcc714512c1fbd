"""Costs of programs: formulas against counts made on actual arrays, guarantees, and every op of the table."""

import bisect
import itertools
import math
import pickle

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, trace
from anyshape.errors import ArgumentError, SizeMismatchError
from anyshape.graph.ir.graph import OPS, Graph, Node, Value, params_tuple
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, Unknown, UpperBound
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate
from anyshape.inspect.cost import cost
from anyshape.ops.contraction import terms_of
from anyshape.ops.core.apply import KERNELS, resolve
from anyshape.ops.core.contraction_order import choose_path
from anyshape.ops.core.flop_counts import ceil_log2
from anyshape.scipy.linalg import expm, solve_triangular
from tests.laws.sweep import arrays_of, few_combinations, first_program, is_error, outcome, rows

F64 = np.dtype(np.float64)


def cost_of(function, *shapes, dtype=np.float64):
    return cost(trace(function)(*[ShapeDtypeStruct(s, dtype) for s in shapes]))


# -- counts on actual arrays, element by element ---------------------------------------------------------------


def products(x, y, *, contract, batch):
    """Multiplications and additions of a matrix product, one by one."""
    count = 0
    free = [i for i in range(x.ndim) if i not in (*contract[0], *batch[0])]
    free_y = [j for j in range(y.ndim) if j not in (*contract[1], *batch[1])]
    result = [x.shape[i] for i in (*batch[0], *free)] + [y.shape[j] for j in free_y]
    for _ in np.ndindex(*result):
        for _ in np.ndindex(*[x.shape[i] for i in contract[0]]):
            count += 2
    return count


def pairs(node, inputs):
    """Multiplications and additions of a product of several operands, pair by pair in the usual order."""
    terms, out = terms_of(dict(node.params)["equation"])
    shown = {label: n for labels, x in zip(terms, inputs, strict=True) for label, n in zip(labels, x.shape)}
    named = {label: s for labels, v in zip(terms, node.inputs, strict=True) for label, s in zip(labels, v.meta.sizes)}
    count = 0
    for i, j in choose_path(ShapeGuardContext(Scope(), "test"), terms, out, named).path:
        y, x = terms.pop(j), terms.pop(i)
        rest = {*"".join(terms), *out}
        labels = ({*x} & (rest | {*y})) | ({*y} & (rest | {*x}))
        count += sum(2 for _ in np.ndindex(*[shown[a] for a in labels]))
        terms.insert(i, "".join(labels & rest))
    return count


def bits_below(n):
    """The smallest k with 2**k >= n."""
    k = 0
    while 2**k < n:
        k += 1
    return k


def per_line(x, axis):
    return sum(bits_below(x.shape[axis]) for _ in np.ndindex(*x.shape))


NOTHING = {
    "real", "imag", "complex", "convert", "narrow", "broadcast_in_dim", "reshape", "transpose", "slice", "rev", "pad",
    "concatenate", "full", "iota", "size_value", "float_of_size", "stop_gradient", "take", "permute",
    "enter_checkpoint", "leave_checkpoint", "warn_below",
    "custom_argument", "custom_jvp", "custom_vjp", "custom_linear_solve", "sized", "name_sizes",
    "slice_update", "effect",
    "gather", "gather_dynamic", "scatter_set", "size_token", "size_token_each", "dynamic_slice", "dynamic_update_slice",
}  # fmt: skip
COUNTED = {
    "dot_general": products,
    "sliding": lambda x, axis, length, back: x.size * back,
    "convolution": lambda x, w, batch, contract, method, sizes, **moves: (
        2 * math.prod(x.shape[: x.ndim - contract - len(sizes)]) * math.prod(sizes) * math.prod(w.shape[batch:])
    ),
    **dict.fromkeys(
        ("window_sum", "window_max", "window_min", "window_argmax", "window_argmin"),
        lambda x, window, sizes, **moves: (
            math.prod(x.shape[: x.ndim - len(sizes)]) * math.prod(sizes) * math.prod(window)
        ),
    ),
    "reduce_logsumexp": lambda x, axes: 4 * x.size + 2 * math.prod(n for i, n in enumerate(x.shape) if i not in axes),
    **dict.fromkeys(("softmax", "safe_softmax"), lambda x, axes: 5 * x.size),
    "recurrence": lambda a, b, axis, reverse: 2 * b.size,
    "lfilter": lambda x, b, c, z, each, **options: 2 * x.size * sum(v[0].size if each else v.size for v in (b, c)),
    **dict.fromkeys(("correlate", "spread"), lambda x, w, each, **moves: 2 * x.size * math.prod(w.shape[each:])),
    "upfirdn": lambda x, h, up, down, each: (
        2 * math.prod(x.shape[:-1]) * -(-max((x.shape[-1] - 1) * up + h.shape[-1], 0) // down) * -(-h.shape[-1] // up)
    ),
    "spline_filter": lambda x, order, **options: 4 * (order // 2) * x.size,
    "interpolate": lambda x, p, shape, order, slopes, back, each, **options: (
        2 * (order + 1) ** len(slopes) * (x.size if back else math.prod(shape) * (len(x) if each else 1))
    ),
    "weigh": lambda x, y, window, **moves: 2 * x.size * math.prod(window),
    "ranked": lambda x, footprint, **moves: x.size * footprint.size,
    "tied": lambda x, y, t, footprint, **moves: 2 * x.size * footprint.size,
    "slice_add": lambda x, part, starts, steps: part.size,
    "put_add": lambda updates, *indices, axes, sizes: updates.size,
    **dict.fromkeys(
        ("scatter_add", "scatter_mul", "scatter_min", "scatter_max"),
        lambda x, indices, updates, **numbers: updates.size,
    ),
    "check": lambda x, message: x.size,
    "raise": lambda holds, *values, **_: holds.size,
    "decide": lambda x, answer, turn: x.size,
    "warn": lambda x, message: x.size,
    "index_bounds": lambda positions, **bounds: positions.size,
    "window_bounds": lambda positions, **bounds: positions.size,
    "nonzero": lambda x: x.size,
    "nonzero_each": lambda x, batch: x.size,
    "repeated": lambda counts: sum(map(int, counts)),
    "repeated_each": lambda counts, batch: int(counts.sum()),
    "unique": lambda x, axis, equal_nan: per_line(x, axis),
    "unique_each": lambda x, batch, axis, equal_nan: per_line(x, axis + batch),
    **dict.fromkeys(("segment_max", "segment_min", "segment_prod", "segment_sum"), lambda x, ids, size: x.size),
    "sort": lambda x, axis: per_line(x, axis),
    "fft": lambda x, axis, norm, inverse: 5 * per_line(x, axis),
    "rfft": lambda x, axis, norm: 5 * per_line(x, axis),
    "irfft": lambda x, axis, norm, length: 5 * per_line(np.fft.irfft(x, length, axis), axis),
    **dict.fromkeys(("dct", "dst"), lambda x, axis, norm, **of_kind: 5 * per_line(x, axis)),
    **dict.fromkeys(("cholesky", "det", "slogdet", "lu_factor"), lambda a: a.size * a.shape[-1]),
    "cholesky_cotangent": lambda a, cotangent: 2 * a.size * a.shape[-1],
    "lu": lambda a: a.size * min(a.shape[-2:]),
    "mirror": lambda a, lower, conjugate: a.size,
    "above": lambda a, both: a.size,
    "banded_eigh": lambda a, **options: 9 * (a.size // max(a.shape[-2], 1)) * a.shape[-1] ** 2,
    "nearest": lambda a, codes: 4 * a.size * codes.shape[-2],
    "pair_distances": lambda a, *b, power, root: (
        3 * a.size * b[0].shape[-2] if b else 3 * a.size * max(a.shape[-2] - 1, 0) // 2
    ),
    "put_above": lambda v, rows, both: v.size,
    "row_order": lambda pivots: pivots.size,
    "toeplitz_solve": lambda sides, b, transposed: 8 * b.size * sides.shape[-1],
    "banded_solve": lambda ab, b, *, lower, upper, **_: 2 * lower * ab.size + 2 * (2 * lower + upper + 1) * b.size,
    "banded_cholesky": lambda ab, lower: ab.size * ab.shape[-2],
    "matrix_function": lambda a, function: 25 * a.size * a.shape[-1],
    "matrix_function_derivative": lambda a, *directions, function: 25 * 8 ** len(directions) * a.size * a.shape[-1],
    "sylvester": lambda a, b, q: (
        25 * a.size * a.shape[-1] + 25 * b.size * b.shape[-1] + 5 * q.size * (a.shape[-1] + b.shape[-1])
    ),
    "schur": lambda a, output: 25 * a.size * a.shape[-1],
    "qr_complete": lambda a: 4 * a.size * max(a.shape[-2:]),
    "polar": lambda a: 4 * a.size * max(a.shape[-2:]),
    **dict.fromkeys(("qr_raw", "qr_order"), lambda a: 2 * a.size * min(a.shape[-2:])),
    **dict.fromkeys(("ldl", "balance"), lambda a, **options: a.size * a.shape[-1]),
    **dict.fromkeys(("qz", "ordqz"), lambda a, b, **options: 66 * a.size * a.shape[-1]),
    "cossin": lambda *blocks, swap_sign: 20 * sum(x.size for x in blocks) * blocks[0].shape[-2],
    "cossin_angles": lambda *blocks: 2 * blocks[0].size * min(blocks[0].shape[-2:]),
    "hessenberg": lambda a: 5 * a.size * a.shape[-1],
    "eigvals": lambda a: 10 * a.size * a.shape[-1],
    "eig": lambda a: 25 * a.size * a.shape[-1],
    "eigvalsh": lambda a, lower: 4 * a.size * a.shape[-1],
    "eigh": lambda a, lower: 9 * a.size * a.shape[-1],
    "svd": lambda a, full: 12 * a.size * min(a.shape[-2:]),
    **dict.fromkeys(("svdvals", "qr"), lambda a: 4 * a.size * min(a.shape[-2:])),
    "pinv": lambda a, cutoff: 14 * a.size * min(a.shape[-2:]),
    "inv": lambda a: 2 * a.size * a.shape[-1],
    "adjugate": lambda a: 12 * a.size * a.shape[-1],
    "solve": lambda a, b, form: a.size * a.shape[-1] + 2 * a.shape[-1] * b.size,
    "lu_solve": lambda a, lu, pivots, b, form: 2 * a.shape[-1] * b.size,
    "triangular_solve": lambda a, b, **options: 2 * a.shape[-1] * b.size,
    "binary_steps": lambda x, *mask, structure, steps, **_: max(steps, 1) * len(structure) * x.size,
    "argsort": lambda x, axis, stable: per_line(x, axis),
    "searchsorted": lambda row, values, side, batch: values.size * bits_below(row.shape[-1] + 1),
}


def operations(node, inputs, results, params):
    """Operations on elements, counted on the arrays of one run."""
    if node.op.name in NOTHING:
        return 0
    if node.op.name == "einsum":
        return pairs(node, inputs)
    if node.op.name == "cond":
        branches = params["branches"]
        branch = branches[min(max(int(inputs[0]), 0), len(branches) - 1)]
        return sum(counted for counted, *_ in run_and_count(branch, inputs[1:]))
    if node.op.name in ("while", "while_each", "rerun"):
        return 0  # nothing bounds the trips, or how often they run, so the cost is unknown
    if node.op.name == "scan":
        return operations_of_trips(inputs, **params)
    if node.op.name == "cond_each":  # the rows of each branch; the cost is a bound of all of them
        return min(r.size for r in results)
    if node.op.name in COUNTED:
        return COUNTED[node.op.name](*inputs, **params)
    if node.op.family == "reduction":
        return sum(1 for _ in np.ndindex(*inputs[0].shape))
    assert node.op.family in ("elementwise", "special", "special_ufuncs"), f"{node.op}: count it here"
    return results[0].size


PICKING = ("take", "slice", "gather", "gather_dynamic", "dynamic_slice")  # they look at the elements they give


def bytes_read(node, inputs, results):
    if node.op.name in PICKING:
        return results[0].nbytes + sum(x.nbytes for x in inputs[1:])
    return sum(x.nbytes for x in inputs)


def operations_of_trips(inputs, body, layout, **params):
    """Operations of all trips of a scan, whose bodies do the same."""
    carries, elements, _ = layout
    one = (
        [x[0] if carries <= i < carries + elements else x for i, x in enumerate(inputs)] if len(inputs[carries]) else []
    )
    counted = sum(count for count, *_ in run_and_count(body[0], one)) if one else 0
    return counted * len(inputs[carries])


def run_and_count(graph, arrays):
    """The cost of each node, counted while the graph is evaluated on arrays."""
    env = dict(zip(graph.inputs, map(np.asarray, arrays), strict=True)) | dict(graph.constants)
    counts = []
    for node in graph.nodes:
        params = resolve(dict(node.params), [env[v] for v in node.operands])
        inputs = [env[v] for v in node.inputs]
        result = KERNELS[node.op].run(*inputs, **params)
        results = [np.asarray(r) for r in (result if len(node.outputs) > 1 else (result,))]
        env.update(zip(node.outputs, results, strict=True))
        counted = operations(node, inputs, results, params)
        counts.append((counted, bytes_read(node, inputs, results), sum(r.nbytes for r in results)))
    return counts


def sizes_at(graph, arrays):
    axis = lambda leaf: np.asarray(arrays[leaf.operand]).shape[leaf.axis]
    return {source.variable.label: evaluate(source.size, axis) for source in graph.dims}


def numbers(one):
    assert all(isinstance(part, Exact) for part in one.parts())
    return tuple(part.size for part in one.parts())


def programs(*families):
    """The program of each row of these families, with the row."""
    chosen = [row for family, row in rows() if family in families]
    return [(row, program) for row in chosen if (program := first_program(row)) is not None]


def families():
    return sorted({family for family, _ in rows()} - {"callback"})  # what functions of users do is not counted


@pytest.mark.parametrize("one_in", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", families())
def test_formulas_equal_counts_on_arrays_at_every_size(family, one_in):
    """Take every other row of a family, and each that alone has an op."""
    checked, counted = 0, set()
    for k, (row, program) in enumerate(programs(family)):
        ops = {node.op for node in program.graph.nodes}
        if k % one_in and ops <= counted:
            continue
        counted |= ops
        if any(node.op.name == "callback" for node in program.graph.nodes):
            continue  # what functions of users do is not counted
        costs = cost(program)
        for sizes in few_combinations(row):
            arrays = arrays_of(row, sizes, row.dtypes[0])
            if not is_error(outcome(program, *arrays)):
                compare(program, costs, arrays, f"{row.name} at {sizes}")
                checked += 1
    assert checked


def compare(program, costs, arrays, label):
    with np.errstate(all="ignore"):
        counted = run_and_count(program.graph, arrays)
    now = costs.at(sizes_at(program.graph, arrays))
    for node, said, counts in zip(program.graph.nodes, now.nodes, counted, strict=True):
        assert allows(said, counts), f"{label}: {node.op}"
    assert allows(now.total, tuple(sum(row[i] for row in counted) for i in range(3)))


def allows(said, counts):
    """Return True if exact costs equal the counts, and bounds are not below them."""
    pairs = zip(said.parts(), counts, strict=True)
    known = [(e, n) for e, n in pairs if not isinstance(e, Unknown)]
    return all(n <= e.size if isinstance(e, UpperBound) else n == e.size for e, n in known)


DERIVATIVES = {
    "put_add": lambda x, i: np.sum(x[i] ** 2),
    "recurrence": lambda x, i: np.sum(np.cumprod(x, axis=0) ** 2),
    "cholesky_cotangent": lambda x, i: np.sum(np.linalg.cholesky(x.T @ x + np.eye(3))),
    "triangular_solve": lambda x, i: np.sum(solve_triangular(np.linalg.cholesky(x.T @ x + np.eye(3)), x.T)),
    "matrix_function_derivative": lambda x, i: np.sum(expm(x.T @ x)),
    "adjugate": lambda x, i: np.linalg.det(x.T @ x),
    "sum_to": lambda x, i: np.sum(np.tanh(x + x[:1])),  # of sizes between which nothing is known
}


@pytest.mark.parametrize("op", DERIVATIVES)
def test_ops_of_derivatives_cost_what_they_count(op):
    step = anyshape.grad(DERIVATIVES[op])
    for n in (1, 2, 5):
        arrays = (np.linspace(0.5, 1.5, 3 * n).reshape(n, 3), np.arange(n)[::-1].repeat(2))
        step(*arrays)
        (program,) = step.programs()
        assert op in {node.op.name for node in program.graph.nodes}
        compare(program, cost(program), arrays, f"n = {n}")


@pytest.mark.slow
def test_rows_make_most_ops_run():
    """Else the comparisons above would say little."""
    nodes = [node for _, program in programs(*families()) for node in program.graph.nodes]
    seen = {node.op.name for node in nodes} | set(DERIVATIVES)
    assert set(COUNTED) <= seen and len(seen) > 0.8 * len(OPS)


def test_a_merge_sort_makes_at_most_the_comparisons_counted():
    for n in range(20):
        worst = 0
        for seed in range(30):
            worst = max(worst, comparisons(list(np.random.default_rng(seed).permutation(n)))[1])
        said = n * ceil_log2(n)
        assert worst <= said <= worst + 2 * n


def comparisons(row):
    """(sorted, comparisons made) by merging halves."""
    if len(row) < 2:
        return row, 0
    half = len(row) // 2
    (left, a), (right, b) = comparisons(row[:half]), comparisons(row[half:])
    merged, count = [], a + b
    while left and right:
        count += 1
        merged.append((left if left[0] <= right[0] else right).pop(0))
    return merged + left + right, count


class Asked:
    """A number that counts how often it is compared."""

    def __init__(self, x):
        self.x, self.times = x, 0

    def __gt__(self, other):  # bisect_left asks row[i] < value
        self.times += 1
        return self.x > other


def test_a_bisection_makes_at_most_the_comparisons_counted():
    for n in range(40):
        made = []
        for x in range(-1, n + 1):
            asked = Asked(x)
            bisect.bisect_left(list(range(n)), asked)
            made.append(asked.times)
        assert max(made) == ceil_log2(n + 1)


# -- what is printed and asked -------------------------------------------------------------------------------


def test_formulas_are_written_as_users_write_sizes():
    spent = cost_of(lambda x, w: np.tanh(x @ w), "n, d", "d, 3*d")
    assert str(spent.flops) == "6*d**2*n + 3*d*n"
    assert str(spent.bytes_read) == "24*d**2 + 32*d*n"
    assert str(spent.nodes[0]) == "6*d**2*n flops, 24*d**2 + 8*d*n bytes read, 24*d*n bytes written"


def test_the_cost_of_a_graph_is_that_of_its_program():
    program = trace(np.tanh)(ShapeDtypeStruct("n", np.float32))
    assert cost(program) == cost(program.graph)
    assert str(cost(program).bytes_written) == "4*n"


def test_a_program_without_nodes_costs_nothing():
    assert str(cost_of(lambda x: x, "n").total) == "0 flops, 0 bytes read, 0 bytes written"


def test_costs_pickle_with_their_logarithms():
    spent = cost_of(lambda x: np.sort(x), "2*n")
    again = pickle.loads(pickle.dumps(spent))
    assert str(again.flops) == "2*ceil_log2(2*n)*n"
    assert again.at({"n": 5}).flops == spent.at({"n": 5}).flops == Exact(40)


def test_ceil_log2_is_that_of_integers():
    n = expr.variable("n")
    assert ceil_log2(n) is ceil_log2(n) and ceil_log2(n) is not ceil_log2(n + 1)
    for k in range(200):
        assert ceil_log2(k) == bits_below(k)


def test_sizes_that_do_not_fit_are_refused():
    spent = cost_of(lambda x: x[3:] + x.max(), "n, m")
    with pytest.raises(ArgumentError, match="does not give m"):
        spent.at({"n": 4})
    with pytest.raises(ArgumentError, match="gives 'k', which is not a dim"):
        spent.at({"n": 4, "m": 1, "k": 3})
    with pytest.raises(ArgumentError, match=r"gives 2\.5 for m"):
        spent.at({"n": 4, "m": 2.5})
    with pytest.raises(ArgumentError, match="gives -1 for m"):
        spent.at({"n": 4, "m": -1})
    with pytest.raises(SizeMismatchError, match=r"m \(0\) must be at least 1"):
        spent.at({"n": 4, "m": 0})
    bounded = cost_of(lambda x: x, [anyshape.Dim("b", min=2, max=8)])
    with pytest.raises(ArgumentError, match="2 to 8"):
        bounded.at({"b": 9})


# -- guarantees ----------------------------------------------------------------------------------------------


def graph_of(op, inputs, outputs, **params):
    """A graph of one node, its metadata as given."""
    ins, outs = [Value(m) for m in inputs], [Value(m) for m in outputs]
    node = Node(OPS[op], tuple(ins), (), params_tuple(params), tuple(outs))
    return Graph("one", tuple(ins), (), (node,), tuple(outs))


def test_an_upper_bound_bounds_the_cost_at_every_size_below():
    n = expr.variable("n")
    x = TensorMeta(F64, (UpperBound(n), Exact(3)))
    w = TensorMeta(F64, (Exact(3), Exact(n)))
    out = TensorMeta(F64, (UpperBound(n), Exact(n)))
    spent = cost(graph_of("dot_general", [x, w], [out], contract=((1,), (0,)), batch=((), ())))
    assert str(spent.flops) == "<=6*n**2" and str(spent.bytes_written) == "<=8*n**2"
    now = spent.at({"n": 5})
    for size in range(6):
        made = products(np.zeros((size, 3)), np.zeros((3, 5)), contract=((1,), (0,)), batch=((), ()))
        assert made <= now.flops.size and size * 5 * 8 <= now.bytes_written.size
    assert made == now.flops.size and isinstance(now.flops, UpperBound)


def test_what_is_exact_stays_exact_beside_what_is_not():
    n = expr.variable("n")
    x, y = TensorMeta(F64, (Exact(n),)), TensorMeta(F64, (Unknown(),))
    spent = cost(graph_of("searchsorted", [y, x], [TensorMeta(np.dtype(np.int64), (Exact(n),))], side="left", batch=0))
    assert isinstance(spent.flops, Unknown) and isinstance(spent.bytes_read, Unknown)
    assert spent.bytes_written == Exact(8 * n)
    assert isinstance(spent.at({"n": 3}).flops, Unknown) and spent.at({"n": 3}).bytes_written == Exact(24)


def test_a_bound_inside_a_logarithm_is_a_bound():
    n = expr.variable("n")
    meta = TensorMeta(F64, (UpperBound(4 * n),))
    spent = cost(graph_of("sort", [meta], [meta], axis=0))
    assert str(spent.flops) == "<=4*ceil_log2(4*n)*n"
    for size, bound in itertools.product(range(13), (3,)):
        assert size * bits_below(size) <= spent.at({"n": bound}).flops.size


def test_a_total_is_no_stronger_than_its_parts():
    n = expr.variable("n")
    metas = [TensorMeta(F64, (e,)) for e in (Exact(n), UpperBound(n), Unknown())]
    graphs = [graph_of("neg", [m], [m]) for m in metas]
    parts = [g.nodes[0] for g in graphs]
    inputs = tuple(v for g in graphs for v in g.inputs)
    two = Graph("two", inputs, (), tuple(parts[:2]), (parts[1].outputs[0],))
    assert cost(two).flops == UpperBound(2 * n)
    three = Graph("three", inputs, (), tuple(parts), (parts[2].outputs[0],))
    assert cost(three).flops == Unknown() and cost(three).nodes[0].flops == Exact(n)
