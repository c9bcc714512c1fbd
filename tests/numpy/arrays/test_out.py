"""Test `out=`: results are written where NumPy writes them, and refused where their shape does not fit."""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.errors import MutationError, ShapeError, SizeMismatchError

X = np.arange(1.0, 7.0).reshape(2, 3) / 2
EXACT = {
    "sum": lambda m, x, out: m.sum(x, 0, out=out),
    "max": lambda m, x, out: m.max(x, 0, out),
    "mean": lambda m, x, out: m.mean(x, 0, out=out),
    "std": lambda m, x, out: m.std(x, 0, None, out),
    "median": lambda m, x, out: m.median(x, 0, out),
    "nansum": lambda m, x, out: m.nansum(x, 0, out=out),
    "cumsum": lambda m, x, out: m.cumsum(x, 0, out=out),
    "argmin": lambda m, x, out: m.argmin(x, 0, out=out),
    "concatenate": lambda m, x, out: m.concatenate([x, x], 0, out),
    "take": lambda m, x, out: m.take(x, [1, 0], 0, out),
    "compress": lambda m, x, out: m.compress([True, False], x, 0, out),
    "trace": lambda m, x, out: m.trace(x, out=out),
    "dot": lambda m, x, out: m.dot(x, x.T, out),
    "einsum": lambda m, x, out: m.einsum("ij,kj->ik", x, x, out=out),
    "add.reduce": lambda m, x, out: m.add.reduce(x, 0, out=out),
    "add.accumulate": lambda m, x, out: m.add.accumulate(x, 0, out=out),
    "x.sum": lambda m, x, out: x.sum(0, out=out),
    "x.dot": lambda m, x, out: x.dot(x.T, out),
    "x.compress": lambda m, x, out: x.compress([True, False], 0, out),
}
STRETCHED = {
    "sin": lambda m, x, out: m.sin(x, out=out),
    "add": lambda m, x, out: m.add(x, 1, out),
    "tuple": lambda m, x, out: m.power(x, 2, out=(out,)),
    "clip": lambda m, x, out: m.clip(x, 1, 2, out),
    "isposinf": lambda m, x, out: m.isposinf(x, out),
    "outer": lambda m, x, out: m.outer(x[0], x[1], out),
    "matmul": lambda m, x, out: m.matmul(x, x.T, out=(out,)),
    "vecdot": lambda m, x, out: m.vecdot(x, x, out=out),
}


def shapes_of(result):
    """Return the shape of a result, and shapes that it has after a stretch, or not even then."""
    shape = np.shape(result)
    return [shape, (2, *shape), *([(shape[0] + 1, *shape[1:]), shape[1:]] if shape else [])]


@pytest.mark.parametrize("module", [np, anp], ids=["numpy", "anyshape"])
@pytest.mark.parametrize("name", [*EXACT, *STRETCHED])
def test_out_is_written_or_refused_as_in_numpy(name, module):
    call = (EXACT | STRETCHED)[name]
    result = np.asarray(call(np, X, None))

    def program(x, start):
        out = start.copy()
        returned = call(module, x, out)
        return out, returned

    for shape in shapes_of(result):
        start, expected = np.zeros(shape, result.dtype), np.zeros(shape, result.dtype)
        try:
            call(np, X, expected)
        except (ValueError, IndexError):
            with pytest.raises(ShapeError):
                anyshape.jit(program)(X, start)
            continue
        for written in anyshape.jit(program)(X, start):
            np.testing.assert_allclose(written, expected)
        assert not start.any()


@pytest.mark.parametrize("name", sorted({*EXACT, *STRETCHED} - {"argmin", "isposinf"}))
def test_derivatives_flow_through_out(name):
    call = (EXACT | STRETCHED)[name]

    def with_out(x):
        out = np.zeros_like(call(np, x, None))
        call(np, x, out)
        return np.sum(out * out)

    np.testing.assert_allclose(anyshape.grad(with_out)(X), anyshape.grad(lambda x: np.sum(call(np, x, None) ** 2))(X))


def test_the_shape_of_out_is_checked_at_every_size_of_one_program():
    def program(x, start):
        out = start.copy()
        np.sum(x, 0, out=out)
        return out

    f = anyshape.jit(program)
    for n in (0, 1, 2, 5):
        np.testing.assert_array_equal(f(np.ones((2, n)), np.zeros(n)), np.full(n, 2.0))
    for n, m in ((1, 4), (4, 1), (0, 1), (3, 2)):
        with pytest.raises(SizeMismatchError):
            f(np.ones((2, n)), np.zeros(m))


def test_a_number_is_no_out():
    for call in (lambda x: np.add(x[0], 1, out=x[1]), lambda x: np.sum(x, out=x[1]), lambda x: anp.exp(x[0], x[0])):
        with pytest.raises(MutationError, match="a number cannot be written to"):
            anyshape.jit(call)(np.ones(3))
