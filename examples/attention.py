"""Causal self-attention over sequences of any length: one trace, no padding.

python examples/attention.py
anyshape show examples/attention.py:loss --shapes "n, d; d, 3*d; n, d" --grad
"""

import numpy as np

import anyshape


def attention(x, w):
    """Every row looks at itself and at those before it; w holds the maps to queries, keys and values."""
    query, key, value = np.split(x @ w, 3, axis=-1)
    scores = query @ key.T / np.sqrt(query.shape[-1])
    position = np.arange(x.shape[0], like=x)
    seen = np.where(position[:, None] >= position[None, :], scores, -np.inf)
    weights = np.exp(seen - seen.max(axis=-1, keepdims=True))
    return weights @ value / weights.sum(axis=-1, keepdims=True)


def loss(x, w, target):
    """The mean squared distance of the attended rows from the target."""
    return np.mean((attention(x, w) - target) ** 2)


def main():
    rng = np.random.default_rng(0)
    width = 8
    w = rng.normal(size=(width, 3 * width)) / np.sqrt(width)
    step = anyshape.value_and_grad(loss, argnums=1)
    print("length     loss  |gradient|")
    for length in (1, 2, 7, 64, 30, 3):
        x, target = rng.normal(size=(2, length, width))
        value, gradient = step(x, w, target)
        assert np.isclose(value, loss(x, w, target))  # the function itself still runs eagerly
        print(f"{length:6} {value:8.4f} {np.linalg.norm(gradient):11.4f}")
    print("traces =", step.cache_info().traces)


if __name__ == "__main__":
    main()
