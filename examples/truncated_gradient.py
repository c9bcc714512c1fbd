"""Gradients through x[:k], where k is computed from the data: a spectrum is cut where it holds 99 % of its energy.

The coefficients kept differ from signal to signal, and so does their number. The gradient reaches them and is zero for
all others. It agrees with finite differences as long as a small step leaves k unchanged.

    python examples/truncated_gradient.py
"""

import numpy as np

import anyshape
import anyshape.numpy as anp


def significant(c):
    """How many coefficients hold 99 % of the energy."""
    return np.searchsorted(np.cumsum(c**2), 0.99 * np.sum(c**2)) + 1


def rebuilt(c, t):
    """The signal of the coefficients that are kept."""
    first = c[: significant(c)]
    waves = np.cos(np.pi * t[:, None] * anp.arange(first.shape[0]))
    return waves @ first


def loss(c, t, signal):
    """How far the signal that is rebuilt is from the one that was seen."""
    return np.mean((rebuilt(c, t) - signal) ** 2)


gradient = anyshape.grad(loss)
count = anyshape.jit(significant)


def differences(c, t, signal, step=1e-6):
    """The gradient by central differences of plain NumPy."""
    at = lambda i, h: loss(c + h * np.eye(c.size)[i], t, signal)
    return np.array([(at(i, step) - at(i, -step)) / (2 * step) for i in range(c.size)])


def main():
    rng = np.random.default_rng(2)
    for size, decay in [(8, 0.3), (8, 0.8), (30, 0.8), (60, 0.9), (5, 0.05)]:
        c = rng.normal(size=size) * decay ** np.arange(size)
        t = np.linspace(0, 1, 50)
        signal = np.exp(-3 * t)
        slopes, k = gradient(c, t, signal), int(count(c))
        off = np.abs(slopes - differences(c, t, signal)).max()
        beyond = np.abs(slopes[k:]).max(initial=0.0)
        print(f"{k:2} of {size:2} coefficients kept; gradient off by {off:.0e}, of the rest {beyond}")
    print("traces =", gradient.cache_info().traces)


if __name__ == "__main__":
    main()
