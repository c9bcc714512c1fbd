"""Random functions of one example give in every layout of a batch what they give for each example alone."""

import numpy as np
import pytest

from anyshape import Ragged, config, grad, jvp, ragged_map, vjp, vmap
from anyshape.transforms.ragged.values import made

W = np.random.default_rng(0).normal(size=(4, 4))
STEPS = (  # from rows of four to rows of four
    lambda x: np.tanh(x @ W),
    lambda x: x - x.sum(0) / (1 + len(x)),
    lambda x: np.cumsum(x[::-1], axis=0)[::-1] / 3,
    lambda x: np.sort(x, axis=0),
    lambda x: np.concatenate([x[:1], x * 0.5, x[-1:]]),
    lambda x: x[1:] - x[: max(len(x) - 1, 0)],
    lambda x: np.pad(x, ((2, 1), (0, 0)), constant_values=0.5)[: len(x)],
    lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), x),
    lambda x: x * np.arange(len(x))[:, None] / (1 + len(x)),
    lambda x: np.exp(np.minimum(x @ x.T, 3.0) / 5) @ x / (1 + len(x)),
    lambda x: vmap(lambda row: row / (1 + row @ row))(x),
    lambda x: np.maximum.accumulate(x, axis=0),
    lambda x: x[len(x) // 2 :],
    lambda x: (x.reshape(-1, 2, 2) * x.any()).reshape(len(x), 4),
    lambda x: x.max(0, initial=-1.0) * x.prod(0) + x,
)
ENDS = (
    lambda x: x,
    lambda x: x.sum(0),
    lambda x: (x * x).mean(1),
    lambda x: np.log(1 + (x * x).sum()),
    lambda x: x.T @ x,
)
LENGTHS = ([0, 3, 1, 17], [5, 5, 5], [4], [0, 0], [1, 1, 40, 2, 0, 6])
CASES = [
    pytest.param(seed, layout, marks=[] if (seed, layout) == (0, "padded") else [pytest.mark.slow])
    for seed in range(60)
    for layout in ("loop", "flat", "padded", "auto")
]


def program(seed):
    """Return a function of some steps and an end."""
    rng = np.random.default_rng(seed)
    steps = [STEPS[k] for k in rng.integers(len(STEPS), size=rng.integers(1, 5))]
    end = ENDS[rng.integers(len(ENDS))]

    def function(x):
        for step in steps:
            x = step(x)
        return end(x)

    return function


def same(got, expected, about):
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10, err_msg=about)


def uneven(y):
    draw = lambda v: np.cos(np.arange(v.size) + 0.5).reshape(v.shape)
    return Ragged(draw(y.flat), y.lengths) if isinstance(y, Ragged) else draw(y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("seed", "layout"), CASES)
def test_programs_mean_the_same_in_every_layout(seed, layout, monkeypatch):
    """Values, tangents, cotangents of uneven weights, second derivatives, and batches of batches."""
    if layout == "auto":
        monkeypatch.setattr(config, "compile", "off")
    rng, function = np.random.default_rng(seed), program(seed)
    mapped, squared = ragged_map(function, layout=layout), lambda x: np.sum(function(x) ** 2)
    slope = grad(lambda b: np.sum(ragged_map(squared, layout=layout)(b)))
    of_rows = lambda flat, lengths: elements(mapped(made(flat, [lengths])))
    for lengths in LENGTHS[: len(LENGTHS) if seed else 2]:
        xs, ts = ([rng.normal(size=(n, 4)) for n in lengths] for _ in range(2))
        own, along, about = Ragged.from_list(xs), Ragged.from_list(ts), f"{layout}, {lengths}"
        value, tangent = jvp(mapped, (own,), (along,))
        same(mapped(own), [function(x) for x in xs], about)
        pairs = list(zip(xs, ts, strict=True))
        same(tangent, [jvp(function, (x,), (t,))[1] for x, t in pairs], about)
        cts = uneven(value)
        same(vjp(mapped, own)[1](cts)[0], [vjp(function, x)[1](cts[i])[0] for i, x in enumerate(xs)], about)
        same(jvp(slope, (own,), (along,))[1], [jvp(grad(squared), (x,), (t,))[1] for x, t in pairs], about)
        both = vmap(of_rows, in_axes=(0, None))(np.stack([own.flat, 2 * own.flat]), own.sizes[0])
        for i in range(2):
            same([np.ravel(both[i])], [np.ravel(of_rows((1 + i) * own.flat, own.sizes[0]))], about)


def elements(y):
    return y.flat if isinstance(y, Ragged) else y
