"""Tests of contraction paths: the sizes of a call choose the path of each product, with one trace."""

import functools
import itertools
import math
import tracemalloc

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.compiler.passes.collapse_views import to_pairs
from anyshape.backend.runtime.block_cache import CACHE
from anyshape.backend.runtime.config import config
from anyshape.errors import DTypeError, MemoryLimitError, ShapeError
from anyshape.graph.sizes.substitute import evaluate, values_from
from anyshape.ops.contraction import equation_of, is_product
from anyshape.program import specialize

CHAIN = lambda *xs: np.einsum("ij,jk,kl->il", *xs)


def matrices(*sizes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=pair) for pair in itertools.pairwise(sizes)]


def flops(plan, arrays):
    """Multiplications of the contractions of a plan, at the sizes of a call of arrays with a size for each axis."""
    sizes = {f"{name}_{axis}": n for name, x in zip("abcdef", arrays, strict=False) for axis, n in enumerate(x.shape)}
    named = {str(s.variable): sizes[str(s.variable)] for s in plan.dims}
    shape = lambda meta: [eval(str(e), {"broadcast": max}, named) for e in meta.extents]
    count = 0
    for step in plan.steps:
        if step.op.name in ("dot_general", "contract"):
            (x, y), params = map(shape, step.metas), dict(step.params)
            if "equation" in params:
                left, right = params["equation"].partition("->")[0].split(",")
                count += math.prod({**dict(zip(left, x, strict=True)), **dict(zip(right, y, strict=True))}.values())
            else:
                contracted = {j for side in (params["contract"], params["batch"]) for j in side[1]}
                count += math.prod(x) * math.prod([n for j, n in enumerate(y) if j not in contracted])
    return count


SIZES = [(30, 30, 30, 1), (1, 30, 30, 30), (30, 2, 30, 3), (30, 1, 30, 30), (7, 7, 7, 7), (2, 30, 3, 30), (5, 0, 4, 2)]


@pytest.mark.parametrize("sizes", SIZES)
def test_the_sizes_of_a_call_choose_the_contraction_path(sizes):
    n, m, k, l = sizes
    jitted = anyshape.jit(lambda a, b, c: anp.sin(CHAIN(a, b, c)))
    xs = matrices(*sizes)
    for _ in range(2):
        np.testing.assert_allclose(jitted(*xs), np.sin(functools.reduce(np.dot, xs)), atol=1e-9)
    (program,) = jitted.programs()
    assert flops(program.plan_for(*xs), xs) == min(n * m * k + n * k * l, m * k * l + n * m * l)


def test_one_trace_serves_all_sizes_and_paths_with_derivatives():
    loss = lambda a, b, c: anp.sum(anp.sin(CHAIN(a, b, c)))
    jitted = anyshape.jit(anyshape.value_and_grad(loss, argnums=(0, 1, 2)))
    for sizes in [*SIZES, *SIZES[::-1], (0, 0, 0, 0), (1, 1, 1, 1)]:
        a, b, c = matrices(*sizes)
        y = a @ b @ c
        value, grads = jitted(a, b, c)
        assert np.allclose(value, np.sum(np.sin(y)))
        for got, expected in zip(
            grads, (np.cos(y) @ (b @ c).T, a.T @ np.cos(y) @ c.T, (a @ b).T @ np.cos(y)), strict=True
        ):
            np.testing.assert_allclose(got, expected, atol=1e-9 * max(1, np.abs(expected).max(initial=0)))
    assert jitted.cache_info().traces == 1


def test_common_parts_of_products_are_computed_once():
    """With a single column, the gradients in three matrices take no product of two matrices."""
    jitted = anyshape.jit(anyshape.grad(lambda a, b, c: anp.sum(anp.sin(CHAIN(a, b, c))), argnums=(0, 1, 2)))
    xs = matrices(40, 40, 40, 1)
    jitted(*xs)
    plan = jitted.programs()[0].plan_for(*xs)
    assert flops(plan, xs) == 6 * 40 * 40 and "einsum" not in str(plan)


def test_equal_calls_give_equal_bits_from_the_first_one():
    jitted = anyshape.jit(CHAIN)
    for sizes in ((3, 4, 5, 2), (6, 5, 4, 1), (2, 9, 9, 9)):
        xs = matrices(*sizes)
        first = jitted(*xs)
        for _ in range(40):
            np.testing.assert_array_equal(jitted(*xs), first)


@pytest.mark.parametrize("optimize", ["now", "auto", "off"])
def test_the_number_of_plans_with_other_paths_is_bounded(optimize, monkeypatch):
    monkeypatch.setattr(specialize, "MAX_PATTERNS", 8)
    jitted = anyshape.jit(lambda *xs: np.linalg.multi_dot(xs), optimize=optimize)
    rng = np.random.default_rng(1)
    for _ in range(60):
        xs = matrices(*rng.choice([1, 2, 9, 20], size=6))
        np.testing.assert_allclose(jitted(*xs), functools.reduce(np.dot, xs), atol=1e-8)
    (program,) = jitted.programs()
    made = [program.specializer.runs, program.specializer.first_runs]
    assert jitted.cache_info().traces == 1 and 2 < max(map(len, made)) <= 8


def test_matrices_with_one_column_are_multiplied_from_the_right():
    """NumPy would; an order fixed by the trace made a matrix of two."""
    jitted = anyshape.jit(lambda a, b, c: np.linalg.multi_dot([a, b, c]))
    xs = matrices(50, 50, 50, 1)
    np.testing.assert_allclose(jitted(*xs), xs[0] @ (xs[1] @ xs[2]))
    assert flops(jitted.programs()[0].plan_for(*xs), xs) == 2 * 50 * 50


def test_transforms_of_a_product_whose_path_depends_on_sizes():
    a, b, c = matrices(3, 4, 2, 5)
    stacked = np.stack([a, 2 * a, -a])
    mapped = anyshape.jit(anyshape.vmap(CHAIN, in_axes=(0, None, None)))
    np.testing.assert_allclose(mapped(stacked, b, c), stacked @ b @ c)
    mapped = anyshape.jit(anyshape.vmap(CHAIN, in_axes=(None, 1, 2), out_axes=1))
    bs, cs = np.stack([b, 3 * b], 1), np.stack([c, -c], 2)
    np.testing.assert_allclose(mapped(a, bs, cs), np.stack([a @ b @ c, -3 * a @ b @ c], 1))
    curved = lambda a: anp.sum(CHAIN(a, b, c) ** 3)
    h = anyshape.jit(anyshape.hessian(curved))(a)
    m, y = b @ c, a @ b @ c
    np.testing.assert_allclose(h, 6 * np.einsum("il,jl,ik,pl->ijkp", y, m, np.eye(3), m), atol=1e-9)


def test_a_checkpoint_keeps_a_product_by_policy():
    xs = matrices(4, 3, 5, 1)
    for policy in (None, "contractions"):
        f = anyshape.checkpoint(lambda *xs: anp.sin(CHAIN(*xs)), policy=policy)
        got = anyshape.jit(anyshape.grad(lambda *xs, f=f: anp.sum(f(*xs))))(*xs)
        np.testing.assert_allclose(got, np.cos(xs[0] @ xs[1] @ xs[2]) @ (xs[1] @ xs[2]).T)


def test_a_loaded_program_chooses_paths(tmp_path):
    program = anyshape.export(CHAIN)(*[anyshape.ShapeDtypeStruct(s) for s in ("n, m", "m, k", "k, l")])
    program.save(tmp_path / "chain")
    loaded = anyshape.load(tmp_path / "chain")
    for sizes in SIZES:
        xs = matrices(*sizes)
        np.testing.assert_array_equal(loaded(*xs), program(*xs))
    assert str(loaded.graph) == str(program.graph) and "einsum" in str(loaded.graph)
    plan = loaded.plan_for(*matrices(30, 30, 30, 1))
    assert plan.steps[0].inputs == ("x1", "x2")


def test_data_dependent_sizes_use_the_default_path():
    jitted = anyshape.jit(lambda x, b, c: np.einsum("i,ij,jk->k", x[x > 0], b, c))
    rng = np.random.default_rng(0)
    x = np.array([1.0, -1, 2, 3])
    for columns in (1, 7):
        b, c = rng.normal(size=(3, 5)), rng.normal(size=(5, columns))
        np.testing.assert_allclose(jitted(x, b, c), x[x > 0] @ b @ c)


def test_the_memory_limit_holds_for_each_path():
    xs = matrices(200, 200, 200, 1)
    jitted = anyshape.jit(CHAIN, max_bytes=330_000)
    np.testing.assert_allclose(jitted(*xs), xs[0] @ (xs[1] @ xs[2]))


def test_the_error_names_the_operands_that_do_not_fit():
    x = np.ones((2, 3))
    with pytest.raises(DTypeError, match="operands are float64, float32, float64"):
        anyshape.ops.einsum([x, np.ones((3, 4), np.float32), np.ones((4, 2))], "ij,jk,kl->il")
    with pytest.raises(ShapeError, match="axes of the label 'j' have sizes 3 and 4"):
        anyshape.ops.einsum([x, np.ones((4, 4)), np.ones((4, 2))], "ij,jk,kl->il")


@pytest.mark.parametrize(
    ("equation", "fits"),
    [("ab,bc,cd->ad", 1), ("ab,bc->ac", 1), ("aab,b->a", 0), ("ab,b->ab", 1), ("ab,c->ac", 0), ("ab,b->aa", 0),
     ("a,b,ab->", 1), ("ab,bc->ad", 0), ("a,a,a->", 1), ("a1,a->1", 0)],
)  # fmt: skip
def test_products_whose_derivatives_are_products(equation, fits):
    assert is_product(equation) == bool(fits)


def test_more_labels_than_letters_are_contracted_in_pairs():
    count = 30
    terms = [(i, i + 1) for i in range(count)]
    assert equation_of(terms, (0, count)) == "" and equation_of(terms[:3], (0, 3)) == "AB,BC,CD->AD"
    xs = matrices(*[2] * (count + 1))
    jitted = anyshape.jit(lambda *xs: np.linalg.multi_dot(xs))
    np.testing.assert_allclose(jitted(*xs), functools.reduce(np.dot, xs))


def test_a_graph_without_products_is_not_copied():
    program = anyshape.trace(lambda x: x @ x)(anyshape.ShapeDtypeStruct("n, n"))
    assert to_pairs(program.graph) is program.graph


def test_a_product_of_many_operands_is_saved_and_loaded(tmp_path):
    """More than a file may hold in one product: it could be saved and not loaded."""
    labels = "abcdefgha"
    terms = [labels[i % 8 : i % 8 + 2] for i in range(28)]
    equation = f"{','.join(terms)}->{terms[0][0]}{terms[-1][1]}"
    fn = lambda *xs: np.einsum(equation, *xs)
    program = anyshape.export(fn)(*[anyshape.ShapeDtypeStruct(f"{a}, {b}") for a, b in terms])
    program.save(tmp_path / "many")
    xs = [np.random.default_rng(i).normal(size=(2, 2)) for i in range(28)]
    got = anyshape.load(tmp_path / "many")(*xs)
    np.testing.assert_array_equal(got, program(*xs))
    np.testing.assert_allclose(got, np.einsum(equation, *xs, optimize=True))


def test_the_default_path_runs_where_the_cheapest_exceeds_the_memory_limit():
    """The cheapest one has a product of 5 MB, the usual one of 0.1 MB: the call was refused."""
    rng, equation = np.random.default_rng(0), "abc,ad,be->cde"
    xs = [rng.normal(size=shape) for shape in ((1395, 12, 44), (1395, 70), (12, 9))]
    jitted = anyshape.jit(lambda *xs: np.einsum(equation, *xs), max_bytes=7_400_000)
    for _ in range(2):
        np.testing.assert_allclose(jitted(*xs), np.einsum(equation, *xs, optimize=True))
    tight = anyshape.jit(lambda *xs: np.einsum(equation, *xs), max_bytes=100_000)
    with pytest.raises(MemoryLimitError, match="max_bytes is 100000"):
        tight(*xs)


@pytest.mark.parametrize("sizes", [(300, 300, 300, 1), (300, 20, 300, 20), (1, 300, 300, 300), (200, 210, 220, 230)])
def test_the_cost_at_sizes_bounds_the_memory_of_the_chosen_path(sizes):
    names = dict(zip(("a_0", "a_1", "c_0", "c_1"), sizes, strict=True)) | {"b_0": sizes[1], "b_1": sizes[2]}
    mask = lambda a, c: anp.arange(a.shape[0])[:, None] >= anp.arange(c.shape[1])  # is kept, as bits
    loss = lambda a, b, c: anp.sum(anp.where(mask(a, c), CHAIN(a, b, c), 0.5))
    jitted = anyshape.jit(anyshape.value_and_grad(loss, argnums=(0, 1, 2)))
    xs = matrices(*sizes)
    jitted(*xs)
    CACHE.clear()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        jitted(*xs)
        taken = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    (program,) = jitted.programs()
    assert taken <= program.cost().at(names).peak_bytes.size + 20_000


def test_the_cost_of_a_path_that_takes_more_memory_than_the_default():
    function = lambda x, y, z: np.einsum("abc,ad,be->cde", x, y, z)
    shapes = [(1395, 12, 44), (1395, 70), (12, 9)]
    jitted = anyshape.jit(function)
    jitted(*[np.ones(s) for s in shapes])
    (program,) = jitted.programs()
    cost = program.cost()
    sizes = {f"{n}_{i}": k for n, s in zip("xyz", shapes, strict=True) for i, k in enumerate(s)}
    names = {str(d.variable): sizes[str(d.variable)] for d in program.graph.dims}
    traced = {d.variable: names[str(d.variable)] for d in program.graph.dims}
    usual = evaluate(cost.peak_bytes.size, values_from(traced))
    assert cost.at(names).peak_bytes.size > usual


def test_a_pattern_whose_replay_fails_gets_a_plan_without_assumptions(monkeypatch):
    def fails(*args):
        raise ShapeError("add", "operands of a core op must have equal shapes", (), None)

    monkeypatch.setattr(specialize, "specialised", fails)
    monkeypatch.setattr(config, "optimize", "now")
    program = anyshape.jit(anyshape.value_and_grad(lambda x, y: np.sum(np.sin(x) * y)))
    for n, m in ((4, 4), (4, 1), (1, 1), (0, 1), (4, 4)):
        x, y = np.linspace(0, 1, n), np.linspace(1, 2, m)
        value, derivative = program(x, y)
        np.testing.assert_allclose(value, np.sum(np.sin(x) * y), rtol=1e-14)
        np.testing.assert_allclose(derivative, np.cos(x) * y if n != 1 else np.cos(x) * np.sum(y), rtol=1e-14)
    assert program.cache_info().traces == 1
