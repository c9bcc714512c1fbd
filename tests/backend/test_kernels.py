"""Kernels keep what traits say of them: results share memory only with the first operand, and only if declared."""

import numpy as np
import pytest

import anyshape
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.graph.shapes.array_type import tensor
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg
from anyshape.ops.core.apply import KERNELS, CallSite, resolve
from tests.laws.sweep import few_combinations, gate_part, programs_at, rows

ROWS = rows()


def run_inline(node, kernel, params, inputs):
    """Run the lines that a kernel gives for generated code; None if it gives none."""
    names = {f"x{i}": x for i, x in enumerate(inputs)}

    def bind(thing):
        return names.setdefault(f"k{len(names)}", thing) is not None and f"k{len(names) - 1}"

    metas = [tensor(x.dtype, x.shape) for x in inputs]
    operands = tuple(f"x{i}" for i in range(len(inputs)))
    site = CallSite("result", operands, params, metas, node.outputs[0].meta, None, repr, bind)
    lines = kernel.inline(site) if kernel.inline is not None and len(node.outputs) == 1 else None
    if lines is None:
        return None
    exec("\n".join(lines), names)
    return names["result"]


def check_orders(node, plain, inputs, params):
    """Check that results do not depend on the order of operands in memory."""
    for ordered in (lambda x: np.asarray(x, order="F"), lambda x: np.flip(np.flip(x).copy())):
        got = KERNELS[node.op].run(*map(ordered, inputs), **params)
        pairs = [(got, plain)] if len(node.outputs) == 1 else zip(got, plain, strict=True)
        for a, b in pairs:
            assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype), node.op
            if np.asarray(b).dtype.kind != "O":
                scale = np.max(np.abs(b), initial=1e-30, where=np.isfinite(b))
                np.testing.assert_allclose(a, b, 1e-5, 1e-5 * scale, err_msg=str(node.op))


def variants(node, inputs, params):
    """Return the results of a node by `run`, by `specialise` and inline.

    Inline results have the same bits, for arrays and for NumPy scalars.
    """
    kernel = KERNELS[node.op]
    metas = [tensor(x.dtype, x.shape) for x in inputs]
    special = kernel.specialise(params, metas) if kernel.specialise is not None else None
    plain = kernel.run(*inputs, **params)
    if not node.op.draws:
        check_orders(node, plain, inputs, params)
    results = [plain] if special is None else [plain, special(*inputs)]
    for operands in (inputs, [x[()] for x in inputs]):
        inline = run_inline(node, kernel, params, operands)
        if inline is not None:
            results.append(inline)
            assert np.asarray(inline).tobytes() == np.asarray(plain).tobytes(), node.op
            assert (np.shape(inline), np.asarray(inline).dtype) == (np.shape(plain), np.asarray(plain).dtype)
    return results


def runs(graph, arrays):
    """Yield every node of a graph with its operands and its results, once per variant of its kernel."""
    env = dict(zip(graph.inputs, map(np.asarray, arrays), strict=True)) | dict(graph.constants)
    for node in graph.nodes:
        inputs = [env[v] for v in node.inputs]
        params = resolve(dict(node.params), [env[v] for v in node.operands])
        for result in variants(node, inputs, params):
            results = result if len(node.outputs) > 1 else (result,)
            env.update({v: np.asarray(r) for v, r in zip(node.outputs, results, strict=True)})
            yield node, inputs, results


FOREIGN = [case for case in ROWS if case[0] == "external"]  # which refuse orders of memory that NumPy takes
OWN = [case for case in ROWS if case[0] != "external"]


@pytest.mark.parametrize("case", [*gate_part("kernels", OWN, one_in=3), *gate_part("kernels", FOREIGN, one_in=1)])
def test_results_are_fresh_unless_declared_views_and_operands_are_left_alone(case):
    _, row = case
    for dtype in row.dtypes[:2][len(row.name) % 2 - 1 :]:  # every other row with both
        for xs, program in programs_at(row, dtype, few_combinations(row)[:3]):
            arrays = [np.array(x) for x in xs]
            for node, inputs, results in runs(program.graph, arrays):
                view = TRAITS[node.op].alias.may_share
                for result in results:
                    shared = [i for i, x in enumerate(inputs) if np.may_share_memory(np.asarray(result), x)]
                    assert shared in ([], [0] if view else []), f"{node.op} shares memory with operands {shared}"
            for x, original in zip(arrays, xs, strict=True):
                np.testing.assert_array_equal(x, original)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("shape", [(70, 64), (4096,), (2, 1, 4096)])
def test_choices_keep_every_bit(dtype, shape):
    """Operations on bits of large arrays keep signs of zeros and payloads of NaNs."""
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, 1.5, -np.inf, np.inf, 5e-324, -2] if dtype[0] in "fc" else range(7)).astype(dtype)
    made = lambda s: rng.choice(special, s)
    payload = np.frombuffer(np.array([0x7FF80000DEAD0001, 0x7FC00BAD7FC00BAD], np.int64).tobytes(), "float64")
    select = KERNELS[ew.select_op].run
    condition = rng.random(shape) < 0.5
    last = (1,) * (len(shape) - 1) + shape[-1:]
    for x, y in (
        (made(shape), made(shape)), (made(shape)[..., ::-1], made(last)), (made(last), made(last)),
        (made(shape), np.zeros((), dtype)), (np.zeros((), dtype), made(shape)), (made(shape), -np.zeros((), dtype)),
        (np.full(shape, payload[0]).astype(dtype) if dtype == "float64" else made(shape), made(())),
    ):  # fmt: skip
        expected, got = np.where(condition, x, y), select(condition, x, y)
        assert got.dtype == expected.dtype and got.shape == expected.shape and got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("x, y", [(2.0, -0.0), (-0.0, 2.0), (2.0, 0.0), (0.0, 2.0), (-0.0, 0.0), (0.0, -0.0)])
def test_choices_between_numbers_keep_the_sign_of_zero(x, y):
    step = anyshape.jit(lambda z: np.where(z > 0, x, y))
    for n in (1, 2, 5000):
        z = np.resize([1.0, -1.0], n)
        np.testing.assert_array_equal(step(z).view("i8"), np.where(z > 0, x, y).view("i8"))


@pytest.mark.parametrize("pivots", [[1], [-1], [2**31 - 1], [0, 2], [[0, 1], [0, -2]]])
def test_pivots_beyond_the_rows_reach_no_memory(pivots):
    """LAPACK checks none. Files hold such, and so do the arrays of ones that tell the dtypes of results."""
    pivots = np.array(pivots, np.int32)
    n = pivots.shape[-1]
    stack = np.broadcast_to(np.eye(n), (*pivots.shape, n))
    with pytest.raises(ValueError, match="positions of rows"):
        KERNELS[linalg.lu_solve_op].run(stack, stack, pivots, np.ones((*pivots.shape, 1)), form="N")
