"""Maximum likelihood over the elements that a mask selects: how many there are differs from call to call.

A detector reports only what is brighter than its threshold, and each night has its own. The likelihood of what is
seen is that of a truncated normal distribution, and Newton's method takes two derivatives of it.

    python examples/masked_likelihood.py
"""

import numpy as np
from scipy.special import log_ndtr

import anyshape


def loss(p, x, threshold):
    """Minus the mean log likelihood of the observations above the threshold."""
    mean, log_scale = p
    scale = np.exp(log_scale)
    seen = x[x > threshold]
    return np.mean(((seen - mean) / scale) ** 2) / 2 + log_scale + log_ndtr((mean - threshold) / scale)


@anyshape.jit
def step(p, x, threshold):
    """A step of Newton's method, short and downhill where the curvature is not positive; and how many are seen."""
    u, v = anyshape.grad(loss)(p, x, threshold)
    (a, b), (_, d) = anyshape.hessian(loss)(p, x, threshold)
    lift = np.maximum(0, 1e-3 - (a + d - np.hypot(a - d, 2 * b)) / 2)
    a, d = a + lift, d + lift
    down = (b * v - d * u) / (a * d - b * b), (b * u - a * v) / (a * d - b * b)
    short = np.maximum(1, 2 * np.hypot(*down))
    return tuple([x + move / short for x, move in zip(p, down)]), np.sum(x > threshold)


def main():
    rng = np.random.default_rng(0)
    for size, threshold in [(4_000, -9.0), (9_000, 0.0), (60_000, 1.0), (100_000, 1.5), (200_000, 2.0)]:
        x = 1.0 + 0.5 * rng.normal(size=size)
        naive = x[x > threshold].mean()
        p, count = (naive, np.float64(0.0)), 0
        for _ in range(40):
            p, count = step(p, x, threshold)
        estimate = f"mean {p[0]:.2f}, scale {np.exp(p[1]):.2f}"
        print(f"{count:6} of {size:6} above {threshold:4.1f}: {estimate}; the mean of what is seen is {naive:.2f}")
    print("truth: mean 1.00, scale 0.50; traces =", step.cache_info().traces)


if __name__ == "__main__":
    main()
