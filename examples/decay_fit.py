"""Fit the rates of a chain of decays to series of different length, by Gauss-Newton with an exact Jacobian.

Each series has its own number of observations; the Jacobian of the residuals is traced once for all of them.

    python examples/decay_fit.py
"""

import numpy as np

import anyshape


def model(p, t):
    """The amount of b in a -> b -> c, where a decays at one rate and b at another; it starts as a alone."""
    first, second = np.exp(p["log_first"]), np.exp(p["log_second"])
    return p["start"] * first / (second - first) * (np.exp(-first * t) - np.exp(-second * t))


def residuals(p, t, seen):
    """Return the residuals of the model on one series."""
    return model(p, t) - seen


jacobian = anyshape.jacfwd(residuals)


def fit(p, series, steps=12):
    """Parameters that fit all series at once."""
    for _ in range(steps):
        normal, pull = np.zeros((3, 3)), np.zeros(3)
        for t, seen in series:
            j = np.column_stack(list(jacobian(p, t, seen).values()))
            normal, pull = normal + j.T @ j, pull + j.T @ residuals(p, t, seen)
        p = dict(zip(p, np.array(list(p.values())) - np.linalg.solve(normal, pull), strict=True))
    return p


def main():
    rng = np.random.default_rng(0)
    truth = {"log_first": 0.0, "log_second": np.log(0.25), "start": 4.0}
    times = [np.sort(rng.uniform(0, 12, size)) for size in (5, 17, 1, 40, 8, 23)]
    series = [(t, model(truth, t) + 0.02 * rng.normal(size=t.size)) for t in times]
    guess = {"log_first": np.log(1.5), "log_second": np.log(0.4), "start": np.float64(3.0)}
    fitted = fit(guess, series)
    for name, value in truth.items():
        print(f"{name:10}  true {value:6.3f}  fitted {fitted[name]:6.3f}")
    print("lengths =", [t.size for t in times], " traces =", jacobian.cache_info().traces)


if __name__ == "__main__":
    main()
