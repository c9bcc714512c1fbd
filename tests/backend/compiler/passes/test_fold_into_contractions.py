"""Movement and repetition of operands are folded into contractions, at every size and for every memory layout."""

import functools

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.numpy.contraction import _contract

SIZES = (0, 1, 2, 5)
DTYPES = ("float64", "float32", "complex128", "int64", "int8", "bool")


@pytest.fixture
def reassociate():
    anyshape.config.reassociate = True
    yield
    anyshape.config.reassociate = False


def array(rng, shape, dtype):
    """Return numbers of both signs that small dtypes hold."""
    x = rng.integers(-3, 4, size=shape) + (0 if np.dtype(dtype).kind in "iub" else rng.uniform(size=shape))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-2, 2, size=shape)
    return np.asarray(x > 0 if dtype == "bool" else x).astype(dtype)


def laid_out(x):
    """Return the array in several memory layouts: transposed, strided, reversed."""
    wide = np.zeros([2 * n for n in x.shape], x.dtype)
    some = wide[tuple([slice(None, None, 2)] * x.ndim)]
    some[...] = x
    back = tuple([slice(None, None, -1)] * x.ndim)
    return [x, np.asfortranarray(x), some, x[back].copy()[back]]


def equal(got, expected, dtype):
    tolerance = {"float32": 2e-4}.get(dtype, 1e-9)
    assert np.asarray(got).dtype == np.asarray(expected).dtype and np.shape(got) == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def steps(function, *shapes, dtype="float64"):
    """Return the steps of the plan of a function, as text without drops."""
    program = anyshape.trace(function)(*[anyshape.ShapeDtypeStruct(shape, dtype) for shape in shapes])
    return [str(step).partition("  drop")[0] for step in program.plan.steps]


def ops(lines):
    """Return the ops of steps."""
    return [line.partition(" = ")[2].partition("(")[0] for line in lines]


TABLE = {
    "a matrix by a transposed one": (lambda x, y: x @ y.T, "n m", "k m"),
    "transposed by transposed": (lambda x, y: x.T @ y.T, "m n", "k m"),
    "a transposed product": (lambda x, y: (x @ y).T, "n m", "m k"),
    "a matrix by itself": (lambda x: x @ x.T, "n m"),
    "vectors": (lambda x, y: x @ y, "n", "n"),
    "an outer product, transposed": (lambda x, y: np.outer(x, y).T, "n", "m"),
    "a stack by one matrix": (lambda x, y: np.matmul(x, y[None]), "k n m", "m 2"),
    "one matrix by a stack": (lambda x, y: np.matmul(x[None], y), "n m", "k m 2"),
    "a stack by one transposed matrix, out of order": (
        lambda x, y: np.matmul(x, y.T[None]).transpose(1, 2, 0), "k n m", "2 m",
    ),
    "stacks, transposed before and after": (
        lambda x, y: (x.transpose(1, 0, 2) @ y.transpose(2, 0, 1)).transpose(1, 2, 0), "n k m", "m 2 k",
    ),
    "a stack of vectors": (lambda x, y: np.vecdot(x.T, y.T), "m n", "m n"),
    "a stack of matrices by vectors": (lambda x, y: np.matvec(x.transpose(2, 0, 1), y), "n m k", "k m"),
    "heads of attention": (
        lambda x, y: (x @ y.transpose(1, 0, 2)).transpose(1, 0, 2).reshape(x.shape[1], 2 * y.shape[2]),
        "2 n n", "n 2 m",
    ),
    "a stack whose axis is repeated on both sides": (
        lambda x, y: np.matmul(x[:, None], y[None]).transpose(2, 0, 1, 3), "k n m", "2 m n",
    ),
    "columns of a sum": (lambda x, y: np.einsum("ij,kj->ik", x, y).sum(axis=0), "n m", "k m"),
    "a stack that is summed": (lambda x, y: np.einsum("bij,bjk->bik", x, y).sum(axis=0), "k n m", "k m 2"),
    "elements multiplied and summed": (lambda x, y: np.sum(x * y), "n m", "n m"),
    "rows multiplied and summed": (lambda x, y: np.sum(x * y[:, None], axis=0), "n m", "n"),
    "squares": (lambda x: np.sum(x * x, axis=-1), "n m"),
    "integers summed as they are": (lambda x, y: np.sum(x * y, axis=0, dtype=x.dtype), "n m", "n m"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ordered", [True, False])
def test_folded_contractions_equal_numpy(name, dtype, ordered, request):
    if not ordered:
        request.getfixturevalue("reassociate")
    function, *specs = TABLE[name]
    rng, jitted = np.random.default_rng(0), anyshape.jit(function)
    for n, m, k in [(s, s, s) for s in SIZES] + [(0, 3, 2), (3, 0, 2), (4, 1, 3), (1, 4, 1), (3, 5, 0)]:
        sizes = {"n": n, "m": m, "k": k}
        xs = [array(rng, [sizes.get(c) if c in sizes else int(c) for c in spec.split()], dtype) for spec in specs]
        expected = function(*xs)
        for laid in zip(*map(laid_out, xs), strict=True):
            equal(jitted(*laid), expected, dtype)
    assert jitted.cache_info().traces == 1


@pytest.mark.parametrize("name", ["a stack by one matrix", "stacks, transposed before and after", "heads of attention"])
def test_operands_that_are_repeated_views(name):
    function, *specs = TABLE[name]
    sizes = {"n": 3, "m": 4, "k": 2}
    shapes = [[sizes.get(c) if c in sizes else int(c) for c in spec.split()] for spec in specs]
    xs = [np.broadcast_to(np.arange(1.0, s[-1] + 1), s) for s in shapes]
    np.testing.assert_allclose(anyshape.jit(function)(*xs), function(*xs))


GOLDEN = [
    (lambda x, y: x @ y.T, ("n, m", "k, m"), ["contract(x0, x1) {equation=ab,cb->ac}"]),
    (lambda x, y: x.T @ y.T, ("m, n", "k, m"), ["contract(x0, x1) {equation=ba,cb->ac}"]),
    (lambda x, y: (x @ y).T, ("n, m", "m, k"), ["contract(x0, x1) {equation=ab,bc->ca}"]),
    (
        lambda x, y: np.einsum("nhd,nhe->hde", x, y).transpose(1, 0, 2),
        ("n, h, d", "n, h, e"),
        ["contract(x0, x1) {equation=abc,abd->cbd}"],
    ),
    (
        lambda x, y: np.matmul(x.transpose(1, 0, 2), y.transpose(2, 0, 1)).transpose(1, 2, 0),
        ("n, k, m", "m, 2, k"),
        ["contract(x0, x1) {equation=bac,cda->bda}"],
    ),
    (
        lambda w, v: (w @ v).transpose(1, 0, 2).reshape(w.shape[1], w.shape[0] * v.shape[2]),
        ("h, n, n", "h, n, d"),
        ["contract(x0, x1) {equation=abc,acd->bad}", "reshape(v3) {shape=(n, d*h)}"],
    ),
    (
        lambda x, y: np.matmul(x, y[None]),
        ("k, n, m", "m, 2"),
        ["dot_general(x0, x1) {batch=((), ()), contract=((2,), (0,))}"],
    ),
    (
        lambda x, y: np.broadcast_to(x, (4, *x.shape)) @ y,
        ("n, m", "4, m, 2"),
        ["contract(x0, x1) {equation=bc,acd->abd}"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("function", "shapes", "expected"), GOLDEN)
def test_plans_neither_transpose_nor_repeat(function, shapes, expected):
    assert [line.partition(" = ")[2] for line in steps(function, *shapes)] == expected


def test_derivatives_of_a_layer_are_products_alone():
    """The gradient of a matrix that a stack shares is one product over rows and stack, with no sum after it."""
    for function in (
        lambda w, x, c: anyshape.vjp(lambda w: np.matmul(x, w[None]), w)[1](c)[0],
        lambda w, x, c: anyshape.vjp(lambda w: np.einsum("...ij,...jk->...ik", x, w[None]), w)[1](c)[0],
        lambda w, x, c: anyshape.vjp(lambda w: anyshape.vmap(lambda x: x @ w)(x), w)[1](c)[0],
    ):
        lines = steps(function, "m, k", "b, n, m", "b, n, k")
        assert ops(lines) == ["dot_general"] and "contract=((0, 1), (0, 1))" in lines[0], lines


def test_a_transpose_that_something_else_reads_stays():
    def function(x, y):
        z = (x @ y).T
        return z @ y.T, z + 1, x @ y

    x, y = np.random.default_rng(0).normal(size=(2, 3, 3))
    for got, expected in zip(anyshape.jit(function)(x, y), function(x, y), strict=True):
        np.testing.assert_allclose(got, expected)


def test_products_that_share_transposes():
    def function(x, y):
        t = x.T
        z = (t @ y).T
        return (z @ t.T).T + z, (y.T @ x).T

    x, y = np.random.default_rng(0).normal(size=(2, 3, 3))
    for got, expected in zip(anyshape.jit(function)(x, y), function(x, y), strict=True):
        np.testing.assert_allclose(got, expected)


def random_labels(rng, labels):
    """Return labels of two operands and of the result; shared ones may be summed."""
    left, right = (list(rng.permutation(labels)[: rng.integers(1, 5)]) for _ in range(2))
    shared = [c for c in left if c in right]
    return left, right, [c for c in dict.fromkeys(left + right) if c not in shared or rng.random() < 0.5]


@pytest.mark.parametrize("seed", range(40))
def test_random_movement_around_products(seed):
    rng = np.random.default_rng(seed)
    labels = list("abcde")
    left, right, out = random_labels(rng, labels)
    orders = [rng.permutation(len(x)) for x in (left, right, out)]
    equation = f"{''.join(left)},{''.join(right)}->{''.join(out)}"
    stretch = rng.random() < 0.5

    def function(x, y):
        x, y = np.transpose(x, orders[0]), np.transpose(y, orders[1])
        y = np.stack([y], axis=0)[0] if stretch else y
        return np.transpose(np.einsum(equation, x, y), orders[2])

    jitted = anyshape.jit(function)
    for n in (0, 1, 2, 5, None, None):
        sizes = {c: int(rng.integers(0, 5)) if n is None else n for c in labels}
        pairs = zip((left, right), orders[:2], strict=True)
        xs = [rng.normal(size=[sizes[side[i]] for i in np.argsort(order)]) for side, order in pairs]
        expected = function(*xs)
        for laid in zip(*map(laid_out, xs), strict=True):
            equal(jitted(*laid), expected, "float64")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 10, 1000, 1_000_001])
def test_sums_as_products_are_accurate(dtype, n, reassociate):
    """BLAS adds up in single precision, one after another in each of a number of lanes."""
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(2, n)).astype(dtype)
    exact = float(np.sum(x.astype(np.longdouble) * y))
    scale = float(np.sum(np.abs(x.astype(np.longdouble) * y)))
    got = anyshape.jit(lambda x, y: np.sum(x * y))(x, y)
    assert got.dtype == dtype
    assert abs(float(got) - exact) <= 4 * np.finfo(dtype).eps * max(scale, abs(exact))


def test_sums_of_products_stay_sums_without_reassociate(reassociate):
    function, stack = lambda x, y: np.sum(x * y, axis=1), lambda x, y: (x.transpose(0, 2, 1) @ y).sum(axis=0)
    assert ops(steps(function, "n, m", "n, m")) == ops(steps(stack, "b, n, m", "b, n, k")) == ["contract"]
    anyshape.config.reassociate = False
    assert ops(steps(function, "n, m", "n, m")) == ["mul", "reduce_sum"]
    assert ops(steps(stack, "b, n, m", "b, n, k")) == ["contract", "reduce_sum"]


def test_reassociate_is_true_or_false():
    with pytest.raises(anyshape.errors.ArgumentError, match="reassociate"):
        anyshape.config.reassociate = 1
    assert "reassociate=False" in repr(anyshape.config)


def masked_products(x, chosen):
    some = x[chosen]
    stack = np.matmul(np.broadcast_to(some, (3, *some.shape)), x.T[None]).transpose(1, 0, 2)
    return some.T @ some, (some @ x.T).T, stack, np.linalg.multi_dot([some.T, some, x.T])


def test_sizes_that_depend_on_data():
    jitted, rng = anyshape.jit(masked_products), np.random.default_rng(0)
    for n in (*SIZES, 9):
        x, chosen = rng.normal(size=(n, 4)), rng.random(n) > 0.4
        for got, expected in zip(jitted(x, chosen), masked_products(x, chosen), strict=True):
            equal(got, expected, "float64")
    assert jitted.cache_info().traces == 1


def test_nan_and_infinity_are_kept(reassociate):
    x, y = np.array([0.0, 1.0, -np.inf, np.nan]), np.array([np.inf, np.inf, 2.0, 0.0])
    total = anyshape.jit(lambda x, y: np.sum(x * y))
    for i in range(4):
        for j in range(4):
            p, q = x[[i, j]], y[[i, j]]
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(total(p, q), np.sum(p * q))


def test_integers_wrap_around_as_numpy_does():
    x = np.full((3, 5, 2), 100, np.int8)
    function = lambda x: np.einsum("bij,bik->bjk", x, x).sum(axis=0, dtype=np.int8)
    np.testing.assert_array_equal(anyshape.jit(function)(x), function(x))
    assert ops(steps(function, "b, i, j", dtype="int8")) == ["contract"]


def test_a_complex_product_is_not_conjugated():
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4)) + 1j * np.random.default_rng(1).normal(size=(2, 3, 4))
    np.testing.assert_allclose(_contract(x, y, equation="ab,ab->a"), np.sum(x * y, axis=1))
    jitted = anyshape.jit(lambda x, y: anp.einsum("ab,ab->a", x, y))
    np.testing.assert_allclose(jitted(x, y), np.sum(x * y, axis=1))


CHAIN = lambda *xs: np.einsum("ij,jk,kl", *xs)
PATHS = [  # function, shapes, constraints, whether the last two come first
    (CHAIN, ("n, 3", "3, m", "m, n"), (), True),
    (CHAIN, ("n, m", "m, k", "k, 3"), (), True),
    (CHAIN, ("3, m", "m, k", "k, n"), (), False),
    (CHAIN, ("n, m", "m, k", "k, l"), (), False),  # nothing is known: from the left
    (CHAIN, ("n, m", "m, n", "n, m"), ("n >= m",), True),
    (CHAIN, ("n, m", "m, n", "n, m"), ("n <= m",), False),
    (CHAIN, ("n, 2*n", "2*n, n", "n, 2*n"), (), False),
    (CHAIN, ("2*n, n", "n, 2*n", "2*n, n"), (), True),
    (lambda *xs: np.linalg.multi_dot(xs), ("n, m", "m, k", "k"), (), True),
    (lambda *xs: np.linalg.multi_dot(xs), ("n", "n, m", "m, k"), (), False),
    (lambda *xs: np.linalg.multi_dot(xs), ("n, m", "m, n", "n, m"), ("n >= 100", "m <= 100"), True),
]


@pytest.mark.parametrize(("function", "shapes", "constraints", "last"), PATHS)
def test_contraction_paths_follow_what_is_proved_and_are_right_at_any_size(function, shapes, constraints, last):
    like = [anyshape.ShapeDtypeStruct(s) for s in shapes]
    scope = anyshape.SymbolicScope(constraints)
    specs = [anyshape.ShapeDtypeStruct(anyshape.symbolic_shape(s.shape, scope=scope)) for s in like]
    program = anyshape.trace(function)(*specs)
    first = program.plan.steps[0]
    assert first.inputs == (("x1", "x2") if last else ("x0", "x1"))
    rng = np.random.default_rng(0)
    for n, m, k in ((0, 0, 0), (1, 1, 1), (2, 2, 5), (5, 2, 1), (2, 5, 3), (120, 80, 1)):
        sizes = {"n": n, "m": m, "k": k, "l": 4}
        if not all(eval(c, sizes) for c in constraints):
            continue
        xs = [rng.normal(size=eval(f"({s},)", sizes)) for s in shapes]
        np.testing.assert_allclose(program(*xs), functools.reduce(np.dot, xs), atol=1e-9)


def test_chains_of_many_matrices_end_with_their_vector():
    """There are more operands than the exhaustive search takes."""
    xs = [np.ones((3, 3))] * 6 + [np.ones(3)]
    program = anyshape.trace(lambda *xs: np.linalg.multi_dot(xs))(
        *[anyshape.ShapeDtypeStruct("n, n")] * 6, anyshape.ShapeDtypeStruct("n")
    )
    assert [step.results[0].rank for step in program.plan.steps] == [1] * 6
    np.testing.assert_allclose(program(*xs), np.full(3, 3.0**6))
