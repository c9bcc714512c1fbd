"""Programs on tensors of PyTorch, on the CPU: against its own autograd, over lengths, and for each step.

    python -m benchmarks.other_arrays [ROUNDS TURN]

measures in this process, and prints JSON. `run` does so in a process of the Python of the peers: there are no results
where that has no PyTorch.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import anyshape
from benchmarks import peers
from benchmarks.timing import Effort, Result, clock, interleaved, no_collection, ratio, seconds

NEEDED = ("torch", "array_api_compat", "optree", "scipy")
LENGTHS, SHORTEST = 60, 40
STEPS = 40  # of a chain
TRACED = 9  # calls after which a program is what it stays


def attention(x: Any, q: Any, k: Any, v: Any) -> Any:
    """One head; x is (n, d)."""
    scores = (x @ q) @ (x @ k).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return np.mean((weights / np.sum(weights, axis=1, keepdims=True) @ (x @ v)) ** 2)


def layers(w: Any, b: Any, out: Any, x: Any, y: Any) -> Any:
    """The mean square error of two layers."""
    return np.mean((np.tanh(x @ w + b) @ out - y) ** 2)


def regression(w: Any, x: Any, y: Any) -> Any:
    """The cross entropy of a linear model; y holds a row of weights for each class."""
    z = x @ w
    top = np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z - top), axis=1)) + top[:, 0] - np.sum(z * y, axis=1))


class Model(NamedTuple):
    """A loss in NumPy, the same in PyTorch, shapes of arguments, and which of these are differentiated."""

    ours: Callable[..., Any]
    theirs: Callable[[Any], Callable[..., Any]]
    shapes: tuple[tuple[int, ...], ...]
    wrt: tuple[int, ...]
    limit: float | None = 1.05


def _attention(torch: Any) -> Callable[..., Any]:
    def loss(x: Any, q: Any, k: Any, v: Any) -> Any:
        weights = torch.softmax((x @ q) @ (x @ k).T / q.shape[1] ** 0.5, 1)
        return ((weights @ (x @ v)) ** 2).mean()

    return loss


def _layers(torch: Any) -> Callable[..., Any]:
    return lambda w, b, out, x, y: ((torch.tanh(x @ w + b) @ out - y) ** 2).mean()


def _regression(torch: Any) -> Callable[..., Any]:
    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return (torch.logsumexp(z, 1) - (z * y).sum(1)).mean()

    return loss


SQUARE = (64, 64)
MODELS = {
    "attention, n = 256": Model(attention, _attention, ((256, 64), SQUARE, SQUARE, SQUARE), (1, 2, 3)),
    "attention, n = 64": Model(attention, _attention, (SQUARE, SQUARE, SQUARE, SQUARE), (1, 2, 3)),
    "MLP, large": Model(layers, _layers, ((128, 256), (256,), (256, 32), (512, 128), (512, 32)), (0, 1, 2)),
    "MLP, small": Model(layers, _layers, ((8, 16), (16,), (16, 2), (32, 8), (32, 2)), (0, 1, 2), None),
    "softmax regression": Model(regression, _regression, ((50, 10), (1000, 50), (1000, 10)), (0,)),
}


def by_autograd(torch: Any, loss: Callable[..., Any], wrt: tuple[int, ...]) -> Callable[..., Any]:
    """Return the value and the gradient by PyTorch's autograd."""

    def step(*args: Any) -> Any:
        moving = [x.detach().requires_grad_() if i in wrt else x for i, x in enumerate(args)]
        value = loss(*moving)
        return value, torch.autograd.grad(value, [moving[i] for i in wrt])

    return step


def tensors(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    """Return tensors of normal numbers; matrices are scaled by their rows."""
    rng = np.random.default_rng(0)
    return [torch.from_numpy(rng.standard_normal(shape) / np.sqrt(shape[0])) for shape in shapes]


def gradients(torch: Any, effort: Effort) -> list[Result]:
    """Values and gradients of models against PyTorch's."""
    results = []
    for name, model in MODELS.items():
        ours = anyshape.value_and_grad(model.ours, argnums=model.wrt)
        theirs, args = by_autograd(torch, model.theirs(torch), model.wrt), tensors(torch, model.shapes)
        for _ in range(TRACED):
            got, want = ours(*args), theirs(*args)
        for x, y in zip((got[0], *got[1]), (want[0].detach(), *want[1]), strict=True):
            torch.testing.assert_close(x, y, rtol=1e-9, atol=1e-12)
        table = interleaved([lambda f=f, args=args: f(*args) for f in (ours, theirs)], effort)
        mid = np.median(table, axis=0)
        detail = f"{seconds(mid[0])}, PyTorch {seconds(mid[1])}"
        results.append(
            Result(f"{name}: value and gradient / PyTorch", ratio(table[:, 0], table[:, 1]), "x", model.limit, detail)
        )
    return results


def lengths(torch: Any, effort: Effort) -> list[Result]:
    """Sweeps of a gradient over lengths that are new, against the next sweep over the same; a round has its own."""
    step = anyshape.value_and_grad(attention, argnums=(1, 2, 3))
    rounds, weights = max(3, effort.rounds // 8), tensors(torch, (SQUARE,) * 3)
    sweeps = [
        [tensors(torch, ((SHORTEST + start + rounds * i, 64),))[0] for i in range(LENGTHS)] for start in range(rounds)
    ]
    for _ in range(TRACED):
        first = clock(lambda: step(*tensors(torch, ((SHORTEST - 1, 64),)), *weights))
    with no_collection():
        table = np.array([[clock(lambda xs=xs: [step(x, *weights) for x in xs]) for _ in range(2)] for xs in sweeps])
    mid = np.median(table, axis=0)
    detail = f"{seconds(mid[0])}, then {seconds(mid[1])}; one call {seconds(first)}; {step.cache_info().traces} trace"
    return [Result(f"first sweep over {LENGTHS} lengths / a repeat", ratio(table[:, 0], table[:, 1]), "x", 1.2, detail)]


def overhead(torch: Any, effort: Effort) -> list[Result]:
    """A chain of small steps against the same calls of PyTorch."""

    def chain(xp: Any, x: Any) -> Any:
        for _ in range(STEPS // 2):
            x = xp.tanh(x) + 1.0
        return x

    ours, (x,) = anyshape.jit(lambda x: chain(np, x)), tensors(torch, ((4,),))
    for _ in range(TRACED):
        torch.testing.assert_close(ours(x), chain(torch, x))
    table = interleaved([lambda: ours(x), lambda: chain(torch, x)], effort)
    mid = np.median(table, axis=0)
    beyond = float(np.median(table[:, 0] - table[:, 1])) / STEPS * 1e6
    detail = f"{STEPS} steps {seconds(mid[0])}, PyTorch {seconds(mid[1])}"
    return [Result("a step on 4 elements, beyond PyTorch's call", beyond, "us", 3, detail)]


def here(effort: Effort) -> list[Result]:
    """Measure in this process, with one thread."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    return [*gradients(torch, effort), *lengths(torch, effort), *overhead(torch, effort)]


def run(effort: Effort) -> list[Result]:
    """The results of this file, none where the Python of the peers lacks what is needed."""
    python = peers.interpreter("torch")
    done = subprocess.run([python, "-c", peers.PROBE, *NEEDED], check=True, capture_output=True, text=True)
    if done.stdout.split() != [*NEEDED]:
        return []
    command = [python, "-m", "benchmarks.other_arrays", str(effort.rounds), str(effort.turn)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=peers.ROOT)
    return [Result(**{k: v for k, v in fields.items() if k != "met"}) for fields in json.loads(done.stdout)]


if __name__ == "__main__":
    rounds, turn = sys.argv[1:3] or (Effort.rounds, Effort.turn)
    print(json.dumps([result.as_json() for result in here(Effort(int(rounds), float(turn)))]))
