"""Functions that PyTorch or JAX differentiates; kinds of tensors, and devices without values."""

import numpy as np
import optree
import pytest

import anyshape
from anyshape.errors import ArgumentError, UnsupportedFunctionError

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 2))


def test_pytorch_differentiates_a_function_to_second_order():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    layer = anyshape.torch.function(lambda w, x: {"y": np.tanh(x @ w), "n": np.argmax(x)})
    w, x = (torch.from_numpy(v.copy()).requires_grad_() for v in (W, X))
    result = layer(w, x)
    result["y"].square().sum().backward()
    again = [v.detach().requires_grad_() for v in (w, x)]
    torch.tanh(again[1] @ again[0]).square().sum().backward()
    for got, want in zip((w, x), again, strict=True):
        torch.testing.assert_close(got.grad, want.grad)
    assert not result["n"].requires_grad
    cube = anyshape.torch.function(lambda x, k: np.sum(np.sin(x) ** 3) * k)
    assert torch.autograd.gradgradcheck(lambda x: cube(x, 2.0), (w,))


def test_tensors_that_programs_cannot_take():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    f = anyshape.jit(np.sin)
    f(torch.ones(3))
    f(torch.ones(3))  # by its fast path from here on
    for tensor, message in (
        (torch.ones(3, requires_grad=True), "requires grad"),
        (torch.ones(3).to_sparse(), "layout"),
        (torch.ones(3, dtype=torch.bfloat16), "bfloat16"),
        (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged), "nested"),
        (torch.ones(3).as_subclass(type("Sub", (torch.Tensor,), {})), "class Sub"),
    ):
        with pytest.raises(ArgumentError, match=message):
            f(tensor)
    with pytest.raises(UnsupportedFunctionError, match="PyTorch on cpu says"):
        anyshape.jit(lambda x: x + 1)(torch.ones(3, dtype=torch.uint16))
    with torch.no_grad():
        f(torch.ones(3, requires_grad=True))
    slope = anyshape.grad(lambda x: np.sum(np.tanh(x)))
    for values in ([], [0.5], [0.5, 20.0], [np.nan, 0.5, 20.0], [np.nan, 20.0]):
        x = np.array(values)
        np.testing.assert_allclose(slope(torch.from_numpy(x)).numpy(), slope(x), rtol=1e-12)
    z = torch.tensor([1 + 2j, 3j])
    torch.testing.assert_close(anyshape.jit(lambda z: z * 2)(z.conj()), z.conj() * 2)
    gradient = anyshape.grad(lambda w, x: np.mean(np.tanh(x @ w)))
    w, x = (torch.empty(shape, device="meta") for shape in ((3, 2), (7, 3)))
    assert gradient(w, x).shape == (3, 2)  # any copy to the host would raise


def test_jax_differentiates_and_compiles_a_function():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        ours = anyshape.jax.function(lambda w, x: np.sum(np.tanh(x @ w) ** 2))
        theirs = lambda w, x: (jax.numpy.tanh(x @ w) ** 2).sum()
        w, x = jax.numpy.asarray(W), jax.numpy.asarray(X)
        for transform in (jax.grad, lambda f: jax.jit(jax.grad(f)), lambda f: jax.jacrev(jax.grad(f))):
            np.testing.assert_allclose(transform(ours)(w, x), transform(theirs)(w, x), rtol=1e-12)
        branches = anyshape.jax.function(lambda x: np.sum(x**2) if np.sum(x) > 0 else np.sum(x[x < 0]))
        rows = jax.numpy.asarray([[1.0, 2.0, -1.0], [-3.0, 1.0, 1.0]])
        np.testing.assert_allclose(jax.vmap(branches)(rows), [6, -3])
        for row, slope in zip(rows, ([2, 4, -2], [1, 0, 0]), strict=True):  # called back, as values decide
            assert jax.jit(branches)(row) == branches(row)
            np.testing.assert_allclose(jax.jit(jax.grad(branches))(row), slope)
        for reads in (lambda x: x if np.sum(x) > 0 else -x, lambda x: anyshape.cond(np.sum(x) > 0, np.sin, np.cos, x)):
            with pytest.raises(UnsupportedFunctionError, match=r"reads values[^\n]*\n  wrap the function"):
                jax.jit(anyshape.jit(reads))(rows[0])
    narrow = anyshape.jit(lambda x: (np.mean(x), np.argmax(x)))(jax.numpy.ones(3, "float32"))
    assert [str(y.dtype) for y in narrow] == ["float32", "int64"]


@pytest.mark.filterwarnings("ignore:Dynamo detected")
def test_torch_compiles_plain_code_of_a_program_as_a_whole():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    for step in (
        anyshape.value_and_grad(lambda w, x: np.mean(np.tanh(x @ w) ** 2)),
        lambda w, x: np.where(np.arange(x.shape[0])[:, None] >= 1, np.cumsum(x[::-1] @ w, 0), -np.inf),
    ):
        plain = anyshape.trace(step)(W, X).as_function("torch")
        compiled = torch.compile(plain, dynamic=True, backend="eager", fullgraph=True)
        for n in (5, 7, 9):
            x = RNG.normal(size=(n, 3))
            results = optree.tree_leaves(compiled(torch.from_numpy(W), torch.from_numpy(x)))
            for got, want in zip(results, optree.tree_leaves(anyshape.jit(step)(W, x)), strict=True):
                np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-14)
