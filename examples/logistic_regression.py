"""Logistic regression on batches whose size changes from step to step, fitted by SciPy and by plain descent.

python examples/logistic_regression.py
anyshape check examples/logistic_regression.py:loss --shapes "d; n, d; n" --sizes 1,2,5
"""

import numpy as np
import scipy.optimize

import anyshape


def loss(w, x, y):
    """The mean negative log-likelihood of labels y in {-1, 1}, with a small penalty on w."""
    return np.mean(np.logaddexp(0, -y * (x @ w))) + 1e-3 * np.sum(w * w)


def draw(rng, count, truth):
    """Points and the labels that a noisy observer gives them."""
    x = rng.normal(size=(count, truth.size))
    return x, np.where(x @ truth + rng.logistic(size=count) > 0, 1.0, -1.0)


def main():
    rng = np.random.default_rng(0)
    truth = np.array([1.5, -2.0, 0.5])
    step = anyshape.value_and_grad(loss)

    w = np.zeros(3)
    sizes = rng.integers(1, 200, size=400)
    for i, size in enumerate(sizes):
        _, gradient = step(w, *draw(rng, size, truth))
        w = w - gradient / (1 + 0.02 * i)
    print("truth                   ", truth)
    print("descent, changing sizes ", w.round(2))

    x, y = draw(rng, 5000, truth)
    result = scipy.optimize.minimize(step, np.zeros(3), args=(x, y), jac=True)
    print("SciPy, 5000 points      ", result.x.round(2))
    print("distinct sizes =", len({*sizes.tolist(), 5000}), " traces =", step.cache_info().traces)


if __name__ == "__main__":
    main()
