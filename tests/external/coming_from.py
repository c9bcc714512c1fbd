"""Statements of the pages in docs/coming_from/ about other libraries, run in both: what each column of a table gives.

    python -m pytest tests/external/coming_from.py

It needs an interpreter with anyshape and the libraries: statements about one that is not installed are skipped.
"""

import io
from contextlib import redirect_stdout

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp

X = np.array([0.3, -1.2, 2.0])
V = np.array([1.0, 0.5, -2.0])
M = np.arange(9.0).reshape(3, 3) / 7


def close(theirs, ours):
    """Both columns give the same numbers."""
    np.testing.assert_allclose(np.asarray(theirs), np.asarray(ours), rtol=1e-10, atol=1e-12)


def wave(np):
    return lambda x: np.sum(np.sin(x) * x)


OURS = wave(anp)


class TestAutograd:
    """Rows and statements of autograd.md."""

    @pytest.fixture(autouse=True)
    def library(self):
        self.autograd = pytest.importorskip("autograd")
        self.np = pytest.importorskip("autograd.numpy")
        self.f = wave(self.np)

    def test_transforms(self):
        ag = self.autograd
        close(ag.grad(self.f)(X), anyshape.grad(OURS)(X))
        close(ag.value_and_grad(self.f)(X)[1], anyshape.value_and_grad(OURS)(X)[1])
        close(ag.jacobian(self.np.sin)(X), anyshape.jacobian(np.sin)(X))
        close(ag.hessian(self.f)(X), anyshape.hessian(OURS)(X))
        close(ag.elementwise_grad(self.np.sin)(X), anyshape.vmap(anyshape.grad(np.sin))(X))
        close(ag.elementwise_grad(self.np.sin)(X), anyshape.grad(lambda x: np.sum(np.sin(x)))(X))

    def test_products(self):
        ag = self.autograd
        close(ag.make_jvp(self.f)(X)(V)[1], anyshape.jvp(OURS, (X,), (V,))[1])
        close(ag.make_vjp(self.np.sin)(X)[0](V), anyshape.vjp(np.sin, X)[1](V)[0])
        close(ag.hessian_vector_product(self.f)(X, V), anyshape.hvp(OURS, (X,), (V,)))
        close(ag.make_hvp(self.f)(X)[0](V), anyshape.linearize(anyshape.grad(OURS), X)[1](V))
        z = 0.3 + 0.4j
        close(ag.holomorphic_grad(self.np.sin)(z), anyshape.grad(lambda z: np.real(np.sin(z)))(z))

    def test_names(self):
        fixed = pytest.importorskip("autograd.misc.fixed_points")
        assert callable(fixed.fixed_point) and callable(self.autograd.checkpoint)
        assert callable(pytest.importorskip("autograd.extend").defvjp)
        pytest.importorskip("autograd.test_util").check_grads(self.f, modes=["rev"])(X)
        anyshape.check_grads(OURS, (X,), modes="rev")

    def test_it_runs_python_each_time_and_refuses_assignment(self):
        runs = []
        slope = self.autograd.grad(lambda x: (runs.append(1), self.f(x))[1])
        assert slope(X) is not None and slope(X) is not None and len(runs) == 2

        def assigns(x, np):
            y = np.zeros(3)
            y[0] = x[0]
            return y[0]

        with pytest.raises(Exception, match=r"ArrayBox|sequence|float"):
            self.autograd.grad(lambda x: assigns(x, self.np))(X)
        close([1, 0, 0], anyshape.grad(lambda x: assigns(x, anp))(X))


class TestJax:
    """Rows and statements of jax.md."""

    SAME = ("jit", "grad", "value_and_grad", "vmap", "jvp", "vjp", "linearize", "linear_transpose", "jacfwd", "jacrev",
            "hessian", "eval_shape", "checkpoint", "pure_callback", "custom_jvp", "custom_vjp")  # fmt: skip
    LAX = ("custom_root", "custom_linear_solve", "scan", "while_loop", "fori_loop", "map", "associative_scan", "cond",
           "switch", "stop_gradient", "conv_general_dilated", "reduce_window")  # fmt: skip

    @pytest.fixture(autouse=True)
    def library(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.np = self.jax.numpy
        self.f = wave(self.np)

    def test_names(self):
        for module, names in ((self.jax, self.SAME), (self.jax.lax, self.LAX)):
            assert all(hasattr(module, name) and hasattr(anyshape, name) for name in names)
        assert callable(self.jax.pmap) and callable(self.jax.debug.print) and callable(self.jax.make_jaxpr)

    def test_transforms(self):
        jax = self.jax
        close(jax.grad(self.f)(X), anyshape.grad(OURS)(X))
        close(jax.jvp(self.f, (X,), (V,))[1], anyshape.jvp(OURS, (X,), (V,))[1])
        close(jax.vjp(self.np.sin, X)[1](V)[0], anyshape.vjp(np.sin, X)[1](V)[0])
        close(jax.jacrev(self.np.sin)(X), anyshape.jacrev(np.sin)(X))
        close(jax.hessian(self.f)(X), anyshape.hessian(OURS)(X))
        close(jax.vmap(self.f)(M), anyshape.vmap(OURS)(M))
        step = lambda carry, x: (carry * x + 1, carry)
        for theirs, ours in zip(jax.lax.scan(step, 1.0, X), anyshape.scan(step, 1.0, X), strict=True):
            close(theirs, ours)
        flatten = pytest.importorskip("jax.flatten_util")
        close(flatten.ravel_pytree({"a": X, "b": M})[0], anyshape.ravel_pytree({"a": X, "b": M})[0])

    def test_it_traces_for_each_shape(self):
        runs = []
        total = self.jax.jit(lambda x: (runs.append(1), self.f(x))[1])
        for n in (3, 4, 5):
            total(np.ones(n))
        assert len(runs) == 3

    def test_it_refuses_decisions_and_masks(self):
        with pytest.raises(self.jax.errors.TracerBoolConversionError):
            self.jax.jit(lambda x: x if x > 0 else -x)(1.0)
        with pytest.raises(self.jax.errors.NonConcreteBooleanIndexError):
            self.jax.jit(lambda x: x[x > 0])(X)

    def test_it_clamps_indices(self):
        assert float(self.np.asarray(X)[10]) == X[-1]
        with pytest.raises(IndexError):
            anyshape.jit(lambda x, i: x[i])(X, 10)

    def test_its_while_loop_has_no_reverse_mode(self):
        def grow(module):
            return lambda x: module.while_loop(lambda y: y < 100, lambda y: y * x, x)

        with pytest.raises(ValueError, match="Reverse-mode differentiation"):
            self.jax.grad(grow(self.jax.lax))(3.0)
        close(5 * 3.0**4, anyshape.grad(grow(anyshape))(3.0))

    def test_it_keeps_the_first_values_of_closed_over_arrays(self):
        scale = np.ones(3)
        theirs, ours = self.jax.jit(lambda x: x * scale), anyshape.jit(lambda x: x * scale)
        close(theirs(X), ours(X))
        scale[:] = 2
        close(theirs(X), X)
        close(2 * X, ours(X))


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")  # PyTorch of its own tracer
class TestTorch:
    """Rows and statements of pytorch.md."""

    @pytest.fixture(autouse=True)
    def library(self):
        self.torch = pytest.importorskip("torch")
        self.f = wave(self.torch)
        self.x = self.torch.tensor(X)

    def test_transforms(self):
        func = self.torch.func
        close(func.grad(self.f)(self.x), anyshape.grad(OURS)(X))
        close(func.vjp(self.torch.sin, self.x)[1](self.torch.tensor(V))[0], anyshape.vjp(np.sin, X)[1](V)[0])
        close(func.jvp(self.f, (self.x,), (self.torch.tensor(V),))[1], anyshape.jvp(OURS, (X,), (V,))[1])
        close(func.jacrev(self.torch.sin)(self.x), anyshape.jacrev(np.sin)(X))
        close(func.hessian(self.f)(self.x), anyshape.hessian(OURS)(X))
        close(func.vmap(self.f)(self.torch.tensor(M)), anyshape.vmap(OURS)(M))
        close(func.linearize(self.f, self.x)[1](self.torch.tensor(V)), anyshape.linearize(OURS, X)[1](V))

    def test_names(self):
        torch = self.torch
        assert callable(torch.autograd.gradgradcheck) and callable(torch.export.export) and callable(torch._check)
        assert callable(torch.cond) and callable(torch._dynamo.mark_dynamic)
        operators = pytest.importorskip("torch._higher_order_ops")
        assert callable(operators.while_loop) and callable(operators.scan)

    def test_backward_and_the_default_dtype(self):
        x = self.torch.tensor(X, requires_grad=True)
        self.f(x).backward()
        close(x.grad, anyshape.grad(OURS)(X))
        assert self.torch.ones(2).dtype == self.torch.float32

    def test_it_refuses_values_that_were_written(self):
        x = self.torch.tensor(X, requires_grad=True)
        y = self.torch.sin(x)
        z = y * y
        y[0] = 0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()

    def test_gradients_of_complex_functions_are_conjugates(self):
        z = self.torch.tensor(0.3 + 0.4j, dtype=self.torch.complex128, requires_grad=True)
        self.torch.sin(z).real.backward()
        close(np.conj(z.grad.numpy()), anyshape.grad(lambda z: np.real(np.sin(z)))(0.3 + 0.4j))

    def test_it_compiles_again_for_a_size_of_one(self):
        compiled = []

        def backend(graph, inputs):
            compiled.append(1)
            return graph.forward

        f = self.torch.compile(self.f, dynamic=True, backend=backend)
        for n in (5, 7, 1):
            f(self.torch.ones(n))
        assert len(compiled) == 2


class TestPytensor:
    """Rows and statements of pytensor.md."""

    @pytest.fixture(autouse=True)
    def library(self):
        self.pytensor = pytest.importorskip("pytensor")
        self.pt = pytest.importorskip("pytensor.tensor")
        self.pytensor.config.mode = "FAST_COMPILE"
        self.x = self.pt.vector("x", dtype="float64")

    def run(self, y, *values):
        return self.pytensor.function([self.x], y)(*values)

    def test_derivatives(self):
        y, gradient = wave(self.pt)(self.x), self.pytensor.gradient
        close(self.run(self.pytensor.grad(y, self.x), X), anyshape.grad(OURS)(X))
        close(self.run(gradient.hessian(y, self.x), X), anyshape.hessian(OURS)(X))
        close(self.run(gradient.jacobian(self.pt.sin(self.x), self.x), X), anyshape.jacobian(np.sin)(X))
        y, v = self.pt.sin(self.x), self.pt.as_tensor(V)
        close(self.run(gradient.pullback(y, self.x, v), X), anyshape.vjp(np.sin, X)[1](V)[0])
        close(self.run(gradient.pushforward(y, self.x, v), X), anyshape.jvp(np.sin, (X,), (V,))[1])
        still = self.pytensor.grad(self.pt.sum(gradient.disconnected_grad(self.x) * self.x), self.x)
        close(self.run(still, X), anyshape.grad(lambda x: np.sum(anyshape.stop_gradient(x) * x))(X))

    def test_names(self):
        names = {"graph.replace": "vectorize_graph", "ifelse": "ifelse", "raise_op": "Assert"}
        for module, name in names.items():
            assert callable(getattr(pytest.importorskip(f"pytensor.{module}"), name))
        assert callable(self.pytensor.shared) and callable(self.pytensor.dprint) and callable(self.pt.switch)
        assert self.x.type.shape == (None,)
        assert callable(self.pt.random.normal) and callable(self.pytensor.scan)

    def test_it_refuses_to_stretch_at_run_time(self):
        m = self.pt.matrix("m", dtype="float64")
        add = self.pytensor.function([m, self.x], m * self.pt.zeros((3, 3)) + self.x)
        close(add(M, X), M * 0 + X)
        with pytest.raises(ValueError, match="Runtime broadcasting not allowed"):
            add(M, X[:1])
        close(anyshape.jit(lambda m, x: m * np.zeros((3, 3)) + x)(M, X[:1]), M * 0 + X[:1])

    def test_it_prints_graphs(self):
        with redirect_stdout(io.StringIO()) as said:
            self.pytensor.dprint(self.pt.sin(self.x), file=said)
        assert "Sin" in said.getvalue()
