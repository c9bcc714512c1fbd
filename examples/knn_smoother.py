"""A smoother over the k nearest neighbours, where k is a value: every k and every number of points is one program.

The neighbours come from `top_k`, their values from indexing, the means from sums over segments. The width of the
weights is fitted for each k by the gradient of the error at points that were left out.

    python examples/knn_smoother.py
"""

import numpy as np

import anyshape
import anyshape.numpy as anp
from anyshape.ops import segment_sum


def smooth(width, k, points, x, y):
    """At each point, the mean of y over the k nearest x, weighted by their distance."""
    nearness, nearest = anp.top_k(-((points[:, None] - x) ** 2), k)
    weights = np.exp(nearness / (2 * width**2)).ravel()
    m = points.shape[0]
    owner = np.repeat(anp.arange(m), k)
    return segment_sum(weights * y[nearest].ravel(), owner, m) / segment_sum(weights, owner, m)


def error(log_width, k, left_out, x, y):
    """The mean squared error at points that were left out."""
    points, values = left_out
    return np.mean((smooth(np.exp(log_width), k, points, x, y) - values) ** 2)


gradient = anyshape.value_and_grad(error)


def main():
    rng = np.random.default_rng(1)
    for n, k in [(40, 2), (40, 5), (90, 12), (200, 12), (200, 60)]:
        x = rng.uniform(0, 6, n)
        y = np.sin(x) + 0.2 * rng.normal(size=n)
        half = n // 2
        data = (x[:half], y[:half]), x[half:], y[half:]
        log_width = np.float64(-1.0)
        for _ in range(60):
            value, downhill = gradient(log_width, k, *data)
            log_width = np.clip(log_width - 3 * downhill, -3, 1)
        smoothed = smooth(np.exp(log_width), k, *[data[0][0], *data[1:]])
        truth = np.sqrt(np.mean((smoothed - np.sin(data[0][0])) ** 2))
        fit = f"width {np.exp(log_width):.3f}, error {np.sqrt(value):.3f}, from the truth {truth:.3f}"
        print(f"n = {n:3}, k = {k:2}: {fit}")
    print("traces =", gradient.cache_info().traces)


if __name__ == "__main__":
    main()
