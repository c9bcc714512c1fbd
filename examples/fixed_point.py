"""Differentiate the limit of an iteration without its steps: the equilibrium of a recurrent network.

The state solves z = tanh(w z + x). A callback iterates in plain Python; the derivative is that of the equation.

    python examples/fixed_point.py
"""

import numpy as np

import anyshape
from anyshape import ShapeDtypeStruct, check_grads, custom_root, grad, jit, pure_callback


def iterate(w, x, tolerance=1e-13):
    """Return the state to which the network settles."""
    z = np.zeros_like(x)
    for _ in range(10_000):
        z, before = np.tanh(w @ z + x), z
        if np.max(np.abs(z - before), initial=0.0) < tolerance:
            break
    return z


def tangent_solve(g, y):
    return np.linalg.solve(anyshape.jacobian(g)(y), y)


def equilibrium(w, x):
    """Return the state z = tanh(w z + x), with its derivatives in w and x."""

    def solve(f, z):
        return pure_callback(iterate, ShapeDtypeStruct(x.shape, x.dtype), w, x)

    return custom_root(lambda z: z - np.tanh(w @ z + x), x, solve, tangent_solve)


@jit
def loss(w, x, target):
    return np.mean((equilibrium(w, x) - target) ** 2)


gradient = grad(loss)


def main():
    rng = np.random.default_rng(0)
    for n in (1, 3, 8):
        w, x, truth = rng.normal(size=(n, n)) / (4 * n), rng.normal(size=n), rng.normal(size=(n, n)) / (4 * n)
        target = equilibrium(truth, x)
        before = loss(w, x, target)
        for _ in range(40):
            w = w - 0.2 * gradient(w, x, target)
        print(f"n = {n}  loss {before:.4f} -> {loss(w, x, target):.4f}")
    check_grads(equilibrium, (w, x), order=2)
    print("traces =", gradient.cache_info().traces)


if __name__ == "__main__":
    main()
