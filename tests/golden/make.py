"""Make the golden files of this version of the format in tests/golden; files of every version must load for ever.

`python -m tests.golden.make` writes the missing files and changes none.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

import anyshape
from anyshape import ShapeDtypeStruct as Spec

HERE = Path(__file__).parent
# the lowest versions of the format that hold programs, where it is not 1; one file of `keyed` is of version 1
VERSIONS = {"keyed": 3, "branching": 2, "looped": 2, "writing": 4, "ruled": 5, "recorded": 6}
SIZES = (1, 2, 3, 5, 8)
TABLE = np.arange(12, dtype=np.float32).reshape(4, 3) / 8


def mlp(params, x, y):
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    return np.mean((x @ w + b - y) ** 2)


def mlp_by_hand(params, x, y):
    """Return the value and the gradient of `mlp` for two layers."""
    (w, b), (v, c) = params
    h = np.tanh(x @ w + b)
    error = h @ v + c - y
    d_out = 2 * error / error.size
    d_h = d_out @ v.T * (1 - h * h)
    return np.mean(error**2), [(x.T @ d_h, d_h.sum(0)), (h.T @ d_out, d_out.sum(0))]


def attention(x, w):
    query, key, value = np.split(x @ w, 3, axis=-1)
    scores = query @ key.T / np.sqrt(query.shape[-1])
    positions = np.arange(x.shape[0], **({"like": x} if not isinstance(x, np.ndarray) else {}))
    masked = np.where(positions[:, None] >= positions[None, :], scores, -np.inf)
    weights = np.exp(masked - masked.max(axis=-1, keepdims=True))
    return weights @ value / weights.sum(axis=-1, keepdims=True)


def ordered(x, i):
    order = np.argsort(x, axis=0, kind="stable")
    best = np.take_along_axis(x, order, axis=0)[::-1]
    return {"best": best[:2], "rows": x[i], "ranks": order, 3: np.cumsum(np.sort(x[:, 0])), "none": None}


def top(x, k):
    return np.sort(x, axis=-1)[..., x.shape[-1] - k :].sum(-1) / k, x[:k]


def roots(x):
    return x.sum(axis=1), x.shape[0] * 1.0


def roots_by_hand(x):
    return x.sum(axis=1), np.float64(x.shape[0])


def spectrum(z, w):
    turned = np.conj(z * np.exp(1j * w)) * (2 - 0.5j)
    return turned, np.abs(turned), (turned.real > 0) & ~np.isnan(w)


def closed_over(x):
    gaps = np.where(x > 0, x, -0.0), np.where(x > 1, np.inf, x), np.where(x < -1, np.nan, x)
    return (x @ TABLE.astype(x.dtype).T, np.concatenate([np.zeros((0, 3), x.dtype), x]), *gaps)


def halves(x, y):
    half = x.shape[0] // 2
    return (x[:half] * y).sum(0) + x[half:].sum(0), x.reshape(2, half, -1).max(0)


def narrow(x, flags):
    return (x.astype(np.int8) << 1, np.where(flags, x, 7), x.astype(np.float16) / 3)


def keyed(params, x):
    """Return keys in no sorted order, of values by their position among the arguments."""
    by_position = sum((i + 1) * v for i, v in enumerate(params.values()))
    return {"total": by_position, "each": {"w": x * params["w"], "b": x - params["b"]}}


STEPS = np.array([0.5, -0.25, 0.125])


def branching(x, k):
    tail = anyshape.cond(k > 0, lambda v: np.cumsum(v[::-1], axis=0), lambda v: v * STEPS, x)
    return tail, anyshape.cond(x.shape[0] > 2, lambda v: v[:2].sum(), lambda v: v.max(initial=0.0), x)


def branching_by_hand(x, k):
    return np.cumsum(x[::-1], axis=0) if k > 0 else x * STEPS, x[:2].sum() if len(x) > 2 else x.max(initial=0.0)


def looped(x, w):
    last, sums = anyshape.scan(lambda h, row: ((h := np.tanh(row @ w + h)), h.sum()), np.zeros(3), x)
    return last, sums, anyshape.fori_loop(0, x.shape[0], lambda i, total: total * 0.5 + x[i], np.zeros(2))


def looped_by_hand(x, w):
    h, sums, total = np.zeros(3), [], np.zeros(2)
    for row in x:
        h = np.tanh(row @ w + h)
        sums.append(h.sum())
        total = total * 0.5 + row
    return h, np.array(sums), total


def writing(x, y):
    x[::2] += y
    y[0] = x.sum()
    return x, np.outer(x, y)


@anyshape.custom_jvp
def cubed(x):
    return x * x * x


cubed.defjvp(lambda primals, tangents: (cubed(*primals), 5 * primals[0] ** 2 * STEPS * tangents[0]))


@anyshape.custom_vjp
def halved(x):
    return x * 0.5


halved.defvjp(lambda x: (halved(x), x.shape), lambda shape, ct: (ct * anyshape.numpy.full(shape, 7.0),))


def ruled(x):
    """Have derivatives of its own: 35 x**2 STEPS."""
    return halved(cubed(x))


def ruled_by_hand(x):
    return x**3 / 2


class Affine(NamedTuple):
    """Named tuple that files know by this name."""

    __module__ = "tests.golden.make"  # also where that runs as a script

    w: object
    b: object


@dataclass
class Fit:
    """Dataclass that files know by this name."""

    __module__ = "tests.golden.make"

    affine: Affine
    residual: object
    power: int = field(default=2, metadata={"static": True})


def recorded(fit, x):
    """Return an equal class of other leaves."""
    (w, b), power = fit.affine, fit.power
    return Fit(Affine(w**power, b - 1), x @ w + b - fit.residual, power + 1), np.linalg.qr(np.outer(w, w) + np.eye(3))


def recorded_by_hand(fit, x):
    """Return the leaves of `recorded`."""
    (w, b), q = fit.affine, np.linalg.qr(np.outer(fit.affine.w, fit.affine.w) + np.eye(3))
    return w**fit.power, b - 1, x @ w + b - fit.residual, *q


def _rng(n):
    return np.random.default_rng(n)


def _layers(n):
    rng = _rng(n)
    return [(rng.normal(size=(n, 4)), rng.normal(size=4)), (rng.normal(size=(4, 2)), rng.normal(size=2))]


_MLP = [(Spec("d, h"), Spec("h")), (Spec("h, o"), Spec("o"))]
_ROOTS = anyshape.symbolic_args_specs((np.ones((6, 8)),), ("a*(a + 1), 2*b*b",), ["a >= 1", "b >= 1"])
_HALVES = anyshape.symbolic_args_specs(
    (np.ones((4, 2)), np.ones((2, 2))), ("2*h, c", "h, c"), ["h >= 1", "c >= 1", "h + c <= 40"]
)

# name: (function to export, its specifications, reference in NumPy, arguments at a size)
PROGRAMS = {
    "mlp_gradient": (anyshape.value_and_grad(mlp), (_MLP, Spec("n, d"), Spec("n, o")), mlp_by_hand,
                     lambda n: (_layers(n), _rng(n).normal(size=(n + 1, n)), _rng(n).normal(size=(n + 1, 2)))),
    "attention": (attention, (Spec("n, d"), Spec("d, 3*d")), attention,
                  lambda n: (_rng(n).normal(size=(n, 4)), _rng(n).normal(size=(4, 12)))),
    "ordered": (ordered, (Spec("n, m"), Spec("k", np.int32)), ordered,
                lambda n: (_rng(n).normal(size=(n + 1, 3)), np.array([0, -1, n], np.int32))),
    "top": (top, (Spec("m, n + k"), Spec((), int, value="k")), top, lambda n: (_rng(n).normal(size=(5, n + 3)), n)),
    "roots": (roots, _ROOTS, roots_by_hand, lambda n: (_rng(n).normal(size=(n * (n + 1), 2 * n * n)),)),
    "spectrum": (spectrum, (Spec("n, 2", complex), Spec("2")), spectrum,
                 lambda n: (_rng(n).normal(size=(n, 2)) * (1 - 2j), _rng(n).normal(size=2))),
    "closed_over": (closed_over, (Spec("n, 3"),), closed_over, lambda n: (_rng(n).normal(size=(n, 3)) * 2,)),
    "halves": (halves, _HALVES, halves, lambda n: (_rng(n).normal(size=(2 * n, 3)), _rng(n).normal(size=(n, 3)))),
    "keyed": (keyed, ({"w": Spec("n"), "b": Spec("n")}, Spec("n")), keyed,
              lambda n: ({"w": _rng(n).normal(size=n), "b": np.arange(n) * 0.5}, np.ones(n))),
    "branching": (branching, (Spec("n, 3"), Spec((), np.int64)), branching_by_hand,
                  lambda n: (_rng(n).normal(size=(n, 3)), n % 2)),
    "looped": (looped, (Spec("n, 2"), Spec("2, 3")), looped_by_hand,
               lambda n: (_rng(n).normal(size=(n, 2)), _rng(n).normal(size=(2, 3)))),
    "writing": (writing, (Spec("2*h"), Spec("h")), writing,
                lambda n: (_rng(n).normal(size=2 * n), _rng(n + 1).normal(size=n))),
    "ruled": (ruled, (Spec("n, 3"),), ruled_by_hand, lambda n: (_rng(n).normal(size=(n, 3)),)),
    "recorded": (recorded, (Fit(Affine(Spec("3"), Spec("")), Spec("n"), 3), Spec("n, 3")), recorded_by_hand,
                 lambda n: (Fit(Affine(_rng(n).normal(size=3), 0.5), np.ones(n), 3), _rng(n).normal(size=(n, 3)))),
    "narrow": (narrow, (Spec("n", np.int8), Spec("m, n", bool)), narrow,
               lambda n: (np.arange(n, dtype=np.int8) - 3, _rng(n).random((2, n)) > 0.5)),
}  # fmt: skip


def main():
    for name, (function, specs, _, _) in PROGRAMS.items():
        path = HERE / f"v{VERSIONS.get(name, 1)}" / f"{name}.anyshape"
        path.parent.mkdir(exist_ok=True)
        if path.exists():
            print(f"{path} exists")
        else:
            anyshape.export(function)(*specs).save(path)
            print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
