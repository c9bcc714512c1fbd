"""Apply the exponential of a matrix in a Krylov space: Arnoldi's basis grows by one row in each trip of a loop.

The carry of the loop has another size after each trip. One trace serves matrices of every size and every number of
trips, which is an argument, and its gradient needs no bound on them.

    python examples/arnoldi.py
"""

import numpy as np
import scipy.linalg

from anyshape import check_grads, fori_loop, grad, jit


def krylov_basis(a, v, trips):
    """Return orthonormal rows that span v, a v, a a v and so on."""

    def grow(_, rows):
        w = a @ rows[-1]
        for _ in range(2):  # once more, against the rounding of the first
            w = w - rows.T @ (rows @ w)
        return np.concatenate([rows, w[None] / np.linalg.norm(w)])

    return fori_loop(0, trips, grow, v[None] / np.linalg.norm(v))


@jit
def exponential(a, v, trips):
    """Return exp(a) v in the space of the basis, by the Taylor series of the small matrix."""
    rows = krylov_basis(a, v, trips)
    small, first = rows @ a @ rows.T, rows @ v
    _, total = fori_loop(1, 30, lambda i, state: _next_term(small, i, *state), (first, first))
    return total @ rows


def _next_term(small, i, term, total):
    term = small @ term / i
    return term, total + term


gradient = jit(grad(lambda a, v, trips, target: np.mean((exponential(a, v, trips) - target) ** 2)))


def main():
    rng = np.random.default_rng(0)
    for n, trips in ((4, 3), (30, 5), (30, 9), (60, 14)):
        a, v = rng.normal(size=(n, n)) / np.sqrt(4 * n), rng.normal(size=n)
        target = scipy.linalg.expm(a) @ v
        error = np.linalg.norm(exponential(a, v, trips) - target) / np.linalg.norm(target)
        moved = np.linalg.norm(gradient(a, v, trips, np.zeros(n)))
        print(f"n = {n:2}  {trips + 1:2} rows  off the exponential by {error:.0e}  size of the gradient {moved:.4f}")
    check_grads(lambda a, v: exponential(a, v, 2), (a[:5, :5], v[:5]), order=2)
    print("traces =", gradient.cache_info().traces)


if __name__ == "__main__":
    main()
