"""`np.apply_along_axis` and `np.vectorize`: one trace for every number of vectors, also where each of them decides."""

import itertools

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, grad, hessian, jit, symbolic_shape, trace, vmap
from anyshape.errors import FrozenDrawError, MutationError

W = np.array([0.7, -1.2, 0.4])
rows = np.multiply.outer  # of numbers and W

MAPS = {
    "sum": lambda m, x: m.apply_along_axis(lambda r: (r * r).sum(), 1, rows(x, W)),
    "reversed, along the first axis": lambda m, x: m.apply_along_axis(lambda r: r[::-1] * r[0], 0, rows(W, x)),
    "matrices of vectors": lambda m, x: m.apply_along_axis(lambda r: np.outer(r, r), 1, rows(rows(x, W), W)),
    "two branches": lambda m, x: m.apply_along_axis(lambda r: r.max() if r[0] > 0 else r.min() ** 2, 1, rows(x, W)),
    "three branches": lambda m, x: m.vectorize(lambda a: a**2 if a < -0.5 else a * 3 if a < 0.5 else np.exp(a))(x),
    "and": lambda m, x: m.vectorize(lambda a: a**3 if a > 0 and a < 1 else 2 * a)(x),
    "a branch with a domain": lambda m, x: m.vectorize(lambda a: np.log(a) if a > 0 else -a * a, otypes="d")(x),
    "maximum of Python": lambda m, x: m.vectorize(lambda a, b: max(a, b))(x, 0.1),
    "truth of a number": lambda m, x: m.vectorize(lambda a: 1.0 if not a else a * a / abs(a))(x),
    "pairs": lambda m, x: m.vectorize(lambda a, b: a if a > b else b * 2)(x, x[:, None]),
    "second result": lambda m, x: m.vectorize(lambda a, b: (a + b, a * b * a))(x, 2.0)[1],
    "excluded": lambda m, x: m.vectorize(lambda a, p: np.polyval(p, a), excluded=["p"], cache=True)(x, p=[1.0, 2, 3]),
    "captured": lambda m, x: m.vectorize(lambda a: a * x.sum() if x.max() > 0 else a * a)(x),
    "no value of the row": lambda m, x: m.apply_along_axis(lambda r: 1.0, 1, rows(x, W)) * x,
    "signature": lambda m, x: m.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(rows(x, W), W),
    "signature with branches": lambda m, x: m.vectorize(lambda a: a if a[0] > 0 else a * a, signature="(n)->(n)")(
        rows(x, W)
    ),
    "signature with a new dimension": lambda m, x: m.vectorize(lambda a: np.convolve(a, a), signature="(n)->(k)")(
        rows(x, W)
    ),
    "signature with two results": lambda m, x: m.vectorize(
        lambda a, b: (a @ b, b.sum()), signature="(m,n),(n)->(m),()"
    )(rows(x, np.ones((2, 3))), W)[0],
    "nested": lambda m, x: m.apply_along_axis(
        lambda r: m.vectorize(lambda a: a if a > 0 else a * a)(r).sum(), 1, rows(x, W)
    ),
    "known vectors": lambda m, x: m.apply_along_axis(lambda r: r @ r * x.sum(), 1, np.arange(6.0).reshape(2, 3)),
}


def points(n):
    return np.linspace(-1.3, 1.7, 7)[[5, 1, 4, 0, 2][:n]]


def slopes(f, x, step=1e-6):
    return np.stack([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))], -1)


@pytest.mark.parametrize("name", MAPS)
def test_one_trace_serves_every_number_of_vectors(name):
    function = MAPS[name]
    loss = lambda m, x: (np.sin(function(m, x)) * np.exp(function(m, x) / 3)).sum()
    run, first = jit(lambda x: function(anp, x)), jit(grad(lambda x: loss(anp, x)))
    second, batch = jit(hessian(lambda x: loss(anp, x))), jit(vmap(lambda x: function(anp, x)))
    for n in (2, 1, 5):
        x = points(n)
        value, right = run(x), function(np, x)
        assert (value.shape, value.dtype) == (right.shape, right.dtype)
        np.testing.assert_allclose(value, right, rtol=1e-12)
        np.testing.assert_allclose(first(x), slopes(lambda x: loss(np, x), x), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(second(x), slopes(first, x), rtol=1e-5, atol=1e-6)
        examples = np.stack([x, -x, 2 * x])
        np.testing.assert_allclose(batch(examples), np.stack([function(np, x) for x in examples]), rtol=1e-12)
    try:
        right = function(np, points(0))
    except (ValueError, IndexError):
        with pytest.raises(ValueError):
            run(points(0))
    else:
        np.testing.assert_array_equal(run(points(0)), right, strict=True)
    assert [f.cache_info().traces for f in (run, first, second, batch)] == [1] * 4


@pytest.mark.parametrize("function", [lambda r: (r[r > 0] ** 2).sum(), lambda r: np.unique(np.round(r)).size])
def test_vectors_that_make_arrays_of_their_own_sizes_share_a_scan(function):
    run = jit(lambda x: anp.apply_along_axis(function, 0, rows(W, x)))
    for n in (3, 1, 5):
        np.testing.assert_allclose(run(points(n)), np.apply_along_axis(function, 0, rows(W, points(n))), rtol=1e-12)
    assert run.cache_info().traces == 1


def test_vectors_draw_in_turn():
    def noisy(m, generator, x):
        return m.apply_along_axis(lambda r: r.sum() + generator.normal() * generator.uniform(), 1, rows(x, W))

    run = jit(lambda generator, x: noisy(anp, generator, x))
    for n in (2, 5):
        value = run(np.random.default_rng(3), points(n))
        np.testing.assert_allclose(value, noisy(np, np.random.default_rng(3), points(n)), rtol=1e-12)
    assert run.cache_info().traces == 1


def test_the_first_vector_decides_on_the_dtype():
    function = lambda m, x: m.vectorize(lambda a: a if a > 0 else 0)(x)
    run = jit(lambda x: function(anp, x))
    for x in (points(5), -points(5), points(2)):
        np.testing.assert_array_equal(run(x), function(np, x), strict=True)


def test_an_exported_program_has_both_branches():
    function = lambda x: anp.vectorize(lambda a: a * a if a > 0 else -a)(x)
    program = trace(function)(ShapeDtypeStruct(symbolic_shape("n"), float))
    np.testing.assert_allclose(program(np.array([1.0, -2, 3])), [1, 2, 9])


class Counter:
    def __init__(self):
        self.count = 0


def counting(m, x):
    counter = Counter()

    def f(r):
        counter.count += 1
        return r.sum() * counter.count

    return m.apply_along_axis(f, 1, rows(x, W))


def listing(m, x):
    seen = []

    def f(a):
        seen.append(1)
        if a > 0:
            seen.append(2)
        return a * len(seen)

    return m.vectorize(f)(x)


def binding(m, x):
    count = 0

    def f(a):
        nonlocal count
        count += 1
        return a * count

    return m.vectorize(f)(x)


def drawing(m, x):
    generator = np.random.default_rng(3)
    return m.vectorize(lambda a: a + generator.normal())(x)


def writing(m, x):
    y, count = rows(x, W), np.zeros(1)

    def f(r):
        count[0] += 1
        r[0] = count[0]
        return r.sum()

    return m.apply_along_axis(f, 1, y) * y[:, 0]


def halving(m, x):
    def f(a):
        while abs(a) > 0.1:
            a = a / 2
        return a

    return m.vectorize(f)(x)


def raising(m, x):
    def f(a):
        if a > 100:
            raise ValueError("too large")
        return a * a

    return m.vectorize(f)(x)


@pytest.mark.filterwarnings("ignore:Python needs the value of the size")
@pytest.mark.parametrize("function", [counting, listing, binding, drawing, writing, halving, raising])
def test_python_runs_for_each_vector_where_it_must(function):
    run = jit(lambda x: function(anp, x))
    for n in (2, 5):
        np.testing.assert_allclose(run(points(n)), function(np, points(n)), rtol=1e-12)


def counted(x):
    counter = itertools.count()
    return anp.vectorize(lambda a: a * next(counter))(x)


def test_items_of_an_iterator_are_not_taken_unnoticed():
    with pytest.raises(FrozenDrawError):
        jit(counted)(points(2))
    with pytest.raises(ValueError, match="too large"):
        jit(lambda x: raising(anp, x))(1e3 * points(2))


def test_large_arrays_are_not_changed_unnoticed():
    table = np.zeros(200_000)

    def f(a):
        table[0] += 1
        return a * table[0]

    with pytest.raises(MutationError, match="table is a large array of NumPy, which the function changes"):
        jit(lambda x: anp.vectorize(f)(x))(points(2))
    np.testing.assert_allclose(jit(lambda x: anp.vectorize(lambda a: a + table[1])(x))(points(2)), points(2))


def test_signatures_are_checked_as_in_numpy():
    product = lambda m, a, b: m.vectorize(np.dot, signature="(n),(n)->()")(a, b)
    for a, b in ((np.ones((2, 3)), np.ones(4)), (np.ones(()), np.ones(3)), (np.ones((0, 3)), np.ones(3))):
        with pytest.raises(ValueError):
            product(np, a, b)
        with pytest.raises(ValueError):
            jit(lambda a, b: product(anp, a, b))(a, b)
    with pytest.raises(TypeError, match="wrong number of positional arguments: expected 1, got 2"):
        jit(lambda x: anp.vectorize(np.sum, signature="(n)->()")(x, x))(points(2))
