"""Functions that PyTorch or JAX differentiates; kinds of tensors, and devices without values."""

import re

import numpy as np
import optree
import pytest

import anyshape
from anyshape.errors import ArgumentError, UnsupportedFunctionError

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 2))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
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
    assert torch.autograd.gradcheck(lambda w, x: layer(w, x)["y"], (w, x), check_forward_ad=True)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize(
    "transform", ["jvp", "jacfwd", "hessian", "jacfwd of jacfwd", "jacrev of jacfwd", "vmap of hessian"]
)
def test_pytorch_differentiates_forwards(transform):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    f = torch.func
    ours = anyshape.torch.function(lambda w, x: {"y": np.sum(np.tanh(x @ w) ** 2), "n": np.argmax(x)})
    theirs = lambda w, x: {"y": (torch.tanh(x @ w) ** 2).sum(), "n": torch.argmax(x)}
    run = {
        "jvp": lambda g, w, x: f.jvp(lambda w, x: g(w, x)["y"], (w, x), (w + 1, x * 2)),
        "jacfwd": lambda g, w, x: f.jacfwd(lambda w: g(w, x)["y"])(w),
        "hessian": lambda g, w, x: f.hessian(lambda w, x: g(w, x)["y"], (0, 1))(w, x),
        "jacfwd of jacfwd": lambda g, w, x: f.jacfwd(f.jacfwd(lambda w: g(w, x)["y"]))(w),
        "jacrev of jacfwd": lambda g, w, x: f.jacrev(f.jacfwd(lambda w: g(w, x)["y"]))(w),
        "vmap of hessian": lambda g, w, x: f.vmap(f.hessian(lambda w, row: g(w, row)["y"]), (None, 0))(w, x[:, None]),
    }[transform]
    for rows in (1, 2, 5):
        w, x = torch.from_numpy(W.copy()), torch.from_numpy(RNG.normal(size=(rows, 3)))
        for got, want in zip(*(optree.tree_leaves(run(g, w, x)) for g in (ours, theirs)), strict=True):
            torch.testing.assert_close(got, want)


BAD = {  # what to make of a tensor of three ones, and what the error says
    "requires grad": (lambda torch, x: x.requires_grad_(), ArgumentError, "which anyshape would not see\n  wrap"),
    "a parameter": (lambda torch, x: torch.nn.Parameter(x), ArgumentError, "requires grad"),
    "sparse": (lambda torch, x: x.to_sparse(), ArgumentError, r"layout torch.sparse_coo\n  pass x.to_dense\(\)"),
    "sparse rows": (lambda torch, x: torch.diag(x).to_sparse_csr(), ArgumentError, "layout torch.sparse_csr"),
    "quantised": (
        lambda torch, x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), ArgumentError,
        r"quantised tensor\n  pass x.dequantize\(\)",
    ),
    "bfloat16": (lambda torch, x: x.bfloat16(), ArgumentError, r"dtype torch.bfloat16\n  convert it to bool, integers"),
    "float8": (lambda torch, x: x.to(torch.float8_e4m3fn), ArgumentError, "float8_e4m3fn"),
    "complex32": (lambda torch, x: torch.ones(3, dtype=torch.complex32), ArgumentError, "complex32"),
    "nested": (
        lambda torch, x: torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged), ArgumentError, "nested tensor",
    ),
    "a subclass": (lambda torch, x: x.as_subclass(type("Sub", (torch.Tensor,), {})), ArgumentError, "class Sub"),
    "uint16": (lambda torch, x: x.to(torch.uint16), UnsupportedFunctionError, "PyTorch on cpu says"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor|.*[Ss]parse CSR|ComplexHalf")
@pytest.mark.parametrize("case", BAD)
def test_tensors_that_programs_cannot_take(case):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    make, error, message = BAD[case]
    f = anyshape.jit(lambda x: np.square(x) + x)
    for _ in range(2):  # by its fast path from the second time on
        with pytest.raises(error, match=message):
            f(make(torch, torch.ones(3)))
        assert f(torch.ones(3)).tolist() == [2, 2, 2]
    if case in ("requires grad", "a parameter"):
        with torch.no_grad():
            assert f(make(torch, torch.ones(3))).tolist() == [2, 2, 2]


CAPTURED = {  # what a function may not close over, and what the error says of it
    "requires grad": (
        lambda torch, x: x.requires_grad_(), "is a tensor that requires grad, and constants have no gradients",
    ),
    "on meta": (lambda torch, x: x.to("meta"), "is a tensor on meta, which has no values"),
    "sparse": (lambda torch, x: x.to_sparse(), r"is a tensor of layout torch.sparse_coo.*\n  pass w.to_dense\(\)"),
    "quantised": (lambda torch, x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), "is a quantised tensor"),
    "bfloat16": (lambda torch, x: x.bfloat16(), "has dtype torch.bfloat16"),
}  # fmt: skip
USES = {
    "x * w": lambda x, w: x * w,
    "w + x": lambda x, w: w + x,
    "np.dot(x, w)": lambda x, w: np.dot(x, w),
    "np.where(x > 1, w, x)": lambda x, w: np.where(x > 1, w, x),
    "np.stack([x, w])": lambda x, w: np.stack([x, w]),
}


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("case", CAPTURED)
def test_captured_tensors_are_refused_by_their_names(case):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    make, message = CAPTURED[case]
    w = make(torch, torch.ones(3))
    with torch.no_grad():
        for transform in (anyshape.jit, lambda f: anyshape.grad(lambda x: np.sum(f(x)))):
            for written, use in USES.items():
                with pytest.raises(ArgumentError, match=f"{re.escape(written)}: w {message}") as raised:
                    transform(lambda x, use=use: use(x, w))(torch.ones(3))
                assert "test_torch_and_jax.py:" in str(raised.value)


def test_captured_tensors_are_constants_and_results_too():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    z, x = torch.tensor([1 + 2j, -3j, 2]), torch.ones(3)
    conjugate, negative = z.conj(), z.conj().imag
    for use in (
        lambda x, c, n: x * c + n,
        lambda x, c, n: np.concatenate([c, x * n]),
        lambda x, c, n: x[n < 0],
        lambda x, c, n: anyshape.scan(lambda total, y: (total + y, total), n[0], x)[0],
    ):
        jitted = anyshape.jit(lambda x, use=use: use(x, conjugate, negative))
        for _ in range(2):
            expected = use(x.numpy(), conjugate.resolve_conj().numpy(), negative.resolve_neg().numpy())
            np.testing.assert_allclose(jitted(x).numpy(), expected)
            z += 1j
    assert anyshape.jit(lambda x: (x, negative))(x)[1].tolist() == negative.tolist()
    layer = anyshape.torch.function(lambda x: x * w)
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(ArgumentError, match="w is a tensor that requires grad"):  # its slope would be 0 in silence
        layer(x)


def test_views_and_dtypes_are_taken_as_they_are():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    z = torch.tensor([1 + 2j, 3j])
    torch.testing.assert_close(anyshape.jit(lambda z: z * 2)(z.conj()), z.conj() * 2)
    torch.testing.assert_close(anyshape.jit(lambda x: x * 2)(z.conj().imag), -2 * z.imag)  # a negative view
    half = anyshape.jit(lambda x: x + np.arange(3) / 2)
    narrow, wide = torch.ones(3, dtype=torch.float32), torch.ones(3, dtype=torch.float64)
    try:
        for default in (torch.float64, torch.float32):
            torch.set_default_dtype(default)
            for x, dtype in ((narrow, torch.float64), (wide, torch.float64)):
                result = half(x)
                assert result.dtype is dtype and result.tolist() == [1, 1.5, 2]
            assert anyshape.jit(lambda x: x + 1.5)(narrow).dtype is torch.float32
        torch.set_default_device("meta")
        assert half(wide).tolist() == [1, 1.5, 2]
    finally:
        torch.set_default_device("cpu")
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("where", ["cpu", "meta"])
def test_mixed_libraries_and_devices_are_named(where):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    matrix = torch.ones((3, 3), device=where)
    others = {"an array of NumPy": np.ones(3)} | (
        {"an array of PyTorch on cpu": torch.ones(3)} if where == "meta" else {}
    )
    product = lambda p: p["w"] @ p["x"]
    for called in (anyshape.jit(product), anyshape.grad(lambda p: np.sum(product(p)))):
        for home, x in others.items():
            with pytest.raises(
                ArgumentError, match=rf"p\['x'\] is {home}, and p\['w'\] is an array of PyTorch on {where}"
            ):
                called({"w": matrix, "x": x})
    program = anyshape.trace(np.dot)(np.ones((3, 3)), np.ones(3))
    with pytest.raises(ArgumentError, match="is an array of NumPy, and"):
        program(matrix.double(), np.ones(3))


def test_tensors_without_values_have_shapes_alone():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    gradient = anyshape.grad(lambda w, x: np.mean(np.tanh(x @ w)))
    w, x = (torch.empty(shape, device="meta") for shape in ((3, 2), (7, 3)))
    assert gradient(w, x).shape == (3, 2)  # any copy to the host would raise
    for reads in (
        lambda x: x * 2 if np.sum(x) > 0 else x,
        lambda x: anyshape.cond(np.sum(x) > 0, np.sin, np.cos, x),
        lambda x: x[x > 0],
        lambda x: anyshape.while_loop(lambda x: np.max(x) > 1, lambda x: x / 2, x),
    ):
        with pytest.raises(UnsupportedFunctionError, match="reads values, and arrays of PyTorch on meta have none"):
            anyshape.jit(reads)(x)


def test_slopes_near_saturation_and_nan():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    slope = anyshape.grad(lambda x: np.sum(np.tanh(x)))
    for values in ([], [0.5], [0.5, 20.0], [np.nan, 0.5, 20.0], [np.nan, 20.0]):
        x = np.array(values)
        np.testing.assert_allclose(slope(torch.from_numpy(x)).numpy(), slope(x), rtol=1e-12)


@pytest.mark.parametrize("function", [np.tanh, lambda x: 1 / (1 + np.exp(-x))])
def test_slopes_of_what_is_broadcast_before(function):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    slope = anyshape.grad(lambda x: np.sum(function(np.broadcast_to(x, (2, *x.shape)) * 1)))
    for x in (X, X[:0], 20.0 * X):
        np.testing.assert_allclose(slope(torch.from_numpy(x.copy())).numpy(), slope(x), rtol=1e-12, atol=1e-300)


def test_transformations_of_pytorch_take_wrapped_functions_alone():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    ours = anyshape.torch.function(lambda w, x: {"y": np.tanh(x @ w), "n": np.argmax(x)})
    theirs = lambda w, x: {"y": torch.tanh(x @ w), "n": torch.argmax(x)}
    w, x = torch.from_numpy(W.copy()), torch.from_numpy(RNG.normal(size=(4, 5, 3)))
    square = lambda f: lambda w, x: f(w, x)["y"].square().sum()
    for transform in (
        lambda f: torch.func.vmap(f, in_dims=(None, 0))(w, x),
        lambda f: torch.func.vmap(torch.func.grad(square(f)), in_dims=(None, 1))(w, x),
        lambda f: torch.func.jacrev(torch.func.grad(square(f)))(w, x[0]),
    ):
        for got, want in zip(optree.tree_leaves(transform(ours)), optree.tree_leaves(transform(theirs)), strict=True):
            torch.testing.assert_close(got, want)
    jitted = anyshape.jit(lambda w, x: np.tanh(x @ w) * 2 + 1)
    for _ in range(2):
        with pytest.raises(anyshape.AnyshapeError, match=r"inside of a transformation of torch\.func\n  wrap"):
            torch.func.vmap(jitted, in_dims=(None, 0))(w, x)
        jitted(w, x[0])


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


def test_plain_code_runs_the_branch_that_values_choose():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    for function in (
        lambda x: anyshape.cond(np.sum(x) > 0, np.sin, np.cos, x),
        lambda x: anyshape.scan(lambda c, y: (anyshape.cond(c > y, np.sin, np.cos, c - y), c), np.zeros(()), x),
        lambda x: anyshape.while_loop(lambda x: np.max(x) > 1, lambda x: x / 2, x),
        lambda x: x[x > 0],
    ):
        plain, jitted = anyshape.trace(function)(np.ones(3)).as_function("torch"), anyshape.jit(function)
        for x in (np.array([5.0, -2, 3, 4]), np.array([-5.0, 2, -3, -4])):
            results = zip(optree.tree_leaves(plain(torch.from_numpy(x))), optree.tree_leaves(jitted(x)), strict=True)
            for got, want in results:
                np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


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
