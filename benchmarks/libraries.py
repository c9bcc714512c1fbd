"""Adapt a workload to each compared library, as its users would write it.

A library is loaded when its object is made. `function` returns the function that a user calls again and again.
`arguments` converts arrays to the library's own, and `arrays` converts results back, both outside of the measured time.
`wait` is part of it.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.workloads import WIDTH, Workload, by_shifts, leaves, mapped


class Library:
    """Base with the defaults that most libraries share."""

    version = ""

    def function(self, key: str, workload: Workload) -> Callable[..., Any]:
        """The function of a workload, not called yet."""
        raise NotImplementedError(key)

    def arguments(self, workload: Workload, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as a user of the library holds them."""
        return args

    def wait(self, result: Any) -> Any:
        """The result once it is computed."""
        return result

    def arrays(self, result: Any) -> list[np.ndarray]:
        """The result as arrays of NumPy."""
        return [np.asarray(x) for x in leaves(result)]

    def forget(self) -> None:
        """Free memory that is cached for later calls, so that a peak counts it."""


class ByHand(Library):
    """NumPy, derivatives written by hand."""

    def __init__(self) -> None:
        self.version = np.__version__
        self.written = importlib.import_module("benchmarks.by_hand").BY_HAND

    def function(self, key: str, workload: Workload) -> Callable[..., Any]:
        return self.written[key]


class Anyshape(Library):
    """One trace for all sizes, with nothing set: kernels are built by themselves where that pays."""

    def __init__(self) -> None:
        self.anyshape = importlib.import_module("anyshape")
        self.version = self.anyshape.__version__
        self.blocks = importlib.import_module("anyshape.backend.runtime.block_cache")
        self.shape_constants = importlib.import_module("anyshape.backend.runtime.block_cache")
        conv_of = self.anyshape.conv  # not `self`: each call asks whether what the function closes over has changed
        conv = lambda x, w: conv_of(x, w, (1, 1), "VALID")
        erf = importlib.import_module("scipy.special").erf
        self.names = types.SimpleNamespace(np=self.anyshape.numpy, erf=erf, conv=conv)

    def function(self, key: str, workload: Workload) -> Callable[..., Any]:
        loss, names = workload.loss, self.names
        f = lambda *args: loss(names, *args)
        if workload.computes == "hvp":
            return self.anyshape.jit(lambda x, v: self.anyshape.hvp(f, (x,), (v,)))
        return getattr(self.anyshape, workload.computes)(f, argnums=_argnums(workload))

    def forget(self) -> None:
        self.blocks.clear()
        self.shape_constants.CACHE.clear()


class Compiled(Anyshape):
    """The same, with groups of steps built as machine code before their plan runs."""

    def function(self, key: str, workload: Workload) -> Callable[..., Any]:
        return self.anyshape.jit(super().function(key, workload), compile="wait")


class Autograd(Library):
    """A tape for each call."""

    def __init__(self) -> None:
        self.autograd = importlib.import_module("autograd")
        self.version = getattr(self.autograd, "__version__", "")
        special = importlib.import_module("autograd.scipy.special")
        array_functions = importlib.import_module("autograd.numpy")
        self.names = types.SimpleNamespace(np=array_functions, erf=special.erf, conv=by_shifts(array_functions))

    def function(self, key: str, workload: Workload) -> Callable[..., Any]:
        f = lambda *args: workload.loss(self.names, *args)
        if workload.computes == "hvp":
            return self.autograd.hessian_vector_product(f)
        return getattr(self.autograd, workload.computes)(f, argnum=_argnums(workload))


class Jax(Library):
    """`jax.jit`, which compiles for each shape; float64 is on, as that is what the workloads are in."""

    def __init__(self) -> None:
        self.jax = jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        self.version = jax.__version__
        special = importlib.import_module("jax.scipy.special")
        self.np = importlib.import_module("jax.numpy")
        conv = lambda x, w: jax.lax.conv(x, w, (1, 1), "VALID")
        self.names = types.SimpleNamespace(np=self.np, erf=special.erf, conv=conv)
        self.own = {"attention": self._attention, "truncated": self._energy}
        self.own |= dict.fromkeys(("mlp_small", "mlp_large", "softmax"), self._network)

    def function(self, key: str, workload: Workload) -> Callable[..., Any]:
        jax, own = self.jax, self.own.get(key)
        f = own if own is not None else lambda *args: workload.loss(self.names, *args)
        if workload.computes == "hvp":
            return jax.jit(lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1])
        return jax.jit(getattr(jax, workload.computes)(f, argnums=_argnums(workload)))

    def arguments(self, workload: Workload, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return mapped(self.np.asarray, args)

    def wait(self, result: Any) -> Any:
        return self.jax.block_until_ready(result)

    def _attention(self, params: Sequence[Any], x: Any) -> Any:
        np, n = self.np, x.shape[0]
        query, key, value = (x @ w for w in params[:3])
        scores = np.where(np.tri(n, dtype=bool), query @ key.T * WIDTH**-0.5, -1e9)
        y = x + np.tanh(self.jax.nn.softmax(scores) @ value @ params[3])
        return np.mean(y * y)

    def _network(self, params: Sequence[Any], x: Any, labels: Any) -> Any:
        for w, b in params[:-1]:
            x = self.np.tanh(x @ w + b)
        w, b = params[-1]
        return -self.np.mean(self.np.sum(self.jax.nn.log_softmax(x @ w + b) * labels, axis=1))

    def _energy(self, x: Any, k: Any) -> Any:
        """Under jit a slice cannot end at a value: what is beyond is masked, so that k compiles nothing."""
        return self.np.sum(self.np.where(self.np.arange(len(x)) < k, self.np.sin(x) ** 2, 0))


class Torch(Library):
    """Eager PyTorch."""

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.version = self.torch.__version__
        self.losses = {
            "attention": self._attention,
            "black_scholes": self._call_price,
            "chain": self._chained,
            "convolution": lambda w, x: (self.torch.nn.functional.conv2d(x, w) ** 2).sum(),
            "ten": lambda x: (self.torch.sin(x) * x).sum(),
            "truncated": lambda x, k: (self.torch.sin(x[:k]) ** 2).sum(),
            "embedding": lambda weights, tokens, y: (weights[tokens] * y).sum(),
            "pairs": self._pair_energy,
            "mixture": self._likelihood,
            "rosenbrock": lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
        } | dict.fromkeys(("mlp_small", "mlp_large", "softmax"), self._network)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function unchanged."""
        return function

    def function(self, key: str, workload: Workload) -> Callable[..., Any]:
        torch = self.torch
        if workload.computes == "hvp":
            gradient = torch.func.grad(self.losses[key])
            return self.compiled(lambda x, v: torch.func.jvp(gradient, (x,), (v,))[1])
        loss = self.compiled(self.losses[key])

        def step(*args: Any) -> Any:
            value = loss(*args)
            derivatives = torch.autograd.grad(value, [x for i in workload.wrt for x in leaves(args[i])])
            return list(derivatives) if workload.computes == "grad" else [value.detach(), *derivatives]

        return step

    def arguments(self, workload: Workload, args: tuple[Any, ...]) -> tuple[Any, ...]:
        held = lambda x, moves: self.torch.from_numpy(x).requires_grad_(moves) if isinstance(x, np.ndarray) else int(x)
        moves = workload.computes != "hvp"
        return tuple([mapped(lambda x, i=i: held(x, moves and i in workload.wrt), a) for i, a in enumerate(args)])

    def arrays(self, result: Any) -> list[np.ndarray]:
        return [x.detach().numpy() for x in leaves(result)]

    def _call_price(self, s: Any, k: Any, t: Any, sigma: Any) -> Any:
        torch = self.torch
        root = sigma * torch.sqrt(t)
        d1 = (torch.log(s / k) + (0.03 + 0.5 * sigma**2) * t) / root
        return (s * torch.special.ndtr(d1) - k * torch.exp(-0.03 * t) * torch.special.ndtr(d1 - root)).sum()

    def _pair_energy(self, x: Any) -> Any:
        torch = self.torch
        itself = torch.eye(len(x), dtype=torch.bool)
        apart = x[:, None, :] - x[None, :, :]
        squares = (apart * apart).sum(2).masked_fill(itself, 1.0)
        inverse = 1 / (squares * squares * squares)
        return (4 * (inverse * inverse - inverse)).masked_fill(itself, 0.0).sum() / 2

    def _likelihood(self, weights: Any, means: Any, scales: Any, x: Any) -> Any:
        z = (x[:, None, :] - means) * self.torch.exp(-scales)
        scores = weights - scales.sum(1) - 0.5 * (z * z).sum(2)
        return len(x) * self.torch.logsumexp(weights, 0) - self.torch.logsumexp(scores, 1).sum()

    def _chained(self, x: Any) -> Any:
        y = x
        for _ in range(33):
            y = self.torch.sin(y) * x + 0.5
        return y.sum()

    def _attention(self, params: Sequence[Any], x: Any) -> Any:
        torch = self.torch
        query, key, value = (x @ w for w in params[:3])
        mixed = torch.nn.functional.scaled_dot_product_attention(query[None], key[None], value[None], is_causal=True)
        y = x + torch.tanh(mixed[0] @ params[3])
        return (y * y).mean()

    def _network(self, params: Sequence[Any], x: Any, labels: Any) -> Any:
        for w, b in params[:-1]:
            x = self.torch.tanh(x @ w + b)
        w, b = params[-1]
        return self.torch.nn.functional.cross_entropy(x @ w + b, labels)


class TorchCompiled(Torch):
    """`torch.compile` with dynamic=True."""

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.torch.compile(function, dynamic=True)


class PyTensor(Library):
    """`pytensor.function` of symbolic arguments."""

    def __init__(self) -> None:
        self.pytensor = importlib.import_module("pytensor")
        self.version = self.pytensor.__version__
        self.tensor = importlib.import_module("pytensor.tensor")
        self.names = types.SimpleNamespace(np=self.tensor, erf=self.tensor.erf, conv=by_shifts(self.tensor))

    def function(self, key: str, workload: Workload) -> Callable[..., Any]:
        args = workload.make(0.0, 1)[0]
        symbols = mapped(self._symbol, args)
        symbols_flat = list(leaves(symbols))
        if workload.computes == "hvp":
            derivative = self.pytensor.grad(workload.loss(self.names, symbols[0]), symbols[0])
            outputs = [self.pytensor.grad(self.tensor.dot(derivative, symbols[1]), symbols[0])]
        else:
            value = workload.loss(self.names, *symbols)
            outputs = self.pytensor.grad(value, [x for i in workload.wrt for x in leaves(symbols[i])])
            outputs = outputs if workload.computes == "grad" else [value, *outputs]
        return self.pytensor.function(symbols_flat, outputs, trust_input=True)

    def arguments(self, workload: Workload, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([np.asarray(x) for x in leaves(args)])

    def _symbol(self, x: Any) -> Any:
        x = np.asarray(x)
        return self.tensor.tensor(dtype=str(x.dtype), shape=(None,) * x.ndim)


def _argnums(workload: Workload) -> int | tuple[int, ...]:
    return workload.wrt if len(workload.wrt) > 1 else workload.wrt[0]


LIBRARIES: dict[str, type[Library]] = {
    "numpy": ByHand,
    "anyshape": Anyshape,
    "compiled": Compiled,
    "autograd": Autograd,
    "jax": Jax,
    "torch": Torch,
    "torch.compile": TorchCompiled,
    "pytensor": PyTensor,
}
