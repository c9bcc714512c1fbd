"""Solve an ODE in steps whose number the error decides, and differentiate the solution.

Each step is a pair of Runge-Kutta formulas of order 3 and 2 (Bogacki and Shampine). Their difference chooses the step
size. The loop has no bound on its steps, forwards or backwards, and one trace serves every number of oscillators.

    python examples/adaptive_ode.py
"""

import numpy as np

from anyshape import grad, jit, while_loop


def step(field, y, h):
    """Return y after a time h, and an estimate of the error."""
    k1 = field(y)
    k2 = field(y + h * k1 / 2)
    k3 = field(y + h * k2 * 3 / 4)
    after = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
    return after, h * np.max(np.abs(-5 * k1 / 72 + k2 / 12 + k3 / 9 - field(after) / 8))


@jit
def solve(stiffness, y, end, tolerance):
    """Return the state of coupled van der Pol oscillators at the end, and the number of steps."""

    def field(y):
        x, v = y[0], y[1]
        return np.stack([v, stiffness * (1 - x * x) * v - x + 0.1 * (np.mean(x) - x)])

    def advance(state):
        t, y, h, steps = state
        h = np.minimum(h, end - t)
        after, error = step(field, y, h)
        accepted = error <= tolerance
        t, y = np.where(accepted, t + h, t), np.where(accepted, after, y)
        factor = np.clip(0.9 * np.cbrt(tolerance / (error + 1e-300)), 0.2, 5.0)
        return t, y, h * factor, steps + 1

    _, y, _, steps = while_loop(lambda state: state[0] < end, advance, (0.0, y, 0.01, 0))
    return y, steps


gradient = jit(grad(lambda stiffness, *others: np.sum(solve(stiffness, *others)[0] ** 2)))


def main():
    for n, end, tolerance in ((1, 1.0, 1e-4), (3, 1.0, 1e-7), (3, 4.0, 1e-7), (5, 4.0, 1e-8)):
        stiffness, start = np.linspace(0.5, 2.0, n), np.stack([np.linspace(1.0, 2.0, n), np.zeros(n)])
        exact = gradient(stiffness, start, end, tolerance)
        energy = [np.sum(solve(stiffness + d, start, end, tolerance)[0] ** 2) for d in (-1e-4, 1e-4)]
        error = abs(exact.sum() - (energy[1] - energy[0]) / 2e-4) / abs(exact.sum())
        steps = solve(stiffness, start, end, tolerance)[1]
        print(f"n = {n}  {steps:4} steps to t = {end}  gradient {exact.sum():8.5f}  off differences by {error:.0e}")
    print("traces =", gradient.cache_info().traces)


if __name__ == "__main__":
    main()
