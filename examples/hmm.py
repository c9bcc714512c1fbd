"""Fit a hidden Markov model to sequences of any length: its likelihood is a product of matrices, in log2(n) levels.

One trace serves every length. The forward algorithm, a Python loop in plain NumPy, gives the same numbers. To run it:
    python examples/hmm.py
"""

import numpy as np

from anyshape import associative_scan, grad, jit


def log_softmax(x):
    return x - np.logaddexp.reduce(x, axis=-1, keepdims=True)


def product(first, second):
    """Multiply matrices m * exp(log_scale). The largest entry of m is one, so nothing underflows."""
    m = first[0] @ second[0]
    largest = np.max(m, axis=(1, 2))
    return m / largest[:, None, None], first[1] + second[1] + np.log(largest)


@jit
def log_likelihood(start, moves, symbols, sequence):
    """Return the log-probability of a sequence of symbols, for logits of the first state, of moves and of symbols."""
    emitted = np.exp(log_softmax(symbols))[:, sequence].T
    first = np.broadcast_to(np.exp(log_softmax(start)) * emitted[0], (1, *moves.shape))
    steps = np.concatenate([first, np.exp(log_softmax(moves)) * emitted[1:, None, :]])
    prefixes, scales = associative_scan(product, (steps, np.zeros_like(steps[:, 0, 0])))
    return np.log(np.sum(prefixes[-1, 0])) + scales[-1]


def forward_algorithm(start, moves, symbols, sequence):
    start, moves, symbols = map(log_softmax, (start, moves, symbols))
    alpha = start + symbols[:, sequence[0]]
    for symbol in sequence[1:]:
        alpha = np.logaddexp.reduce(alpha[:, None] + moves, axis=0) + symbols[:, symbol]
    return np.logaddexp.reduce(alpha)


gradient = jit(grad(log_likelihood, argnums=(0, 1, 2)))


def main():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in (4, (4, 4), (4, 6))]
    sequences = [np.arange(n) // 3 % 6 for n in (1, 2, 7, 64, 200)]
    for step in range(41):
        if step % 20 == 0:
            pairs = [(log_likelihood(*weights, s), forward_algorithm(*weights, s)) for s in sequences]
            total, error = sum(x for x, _ in pairs), max(abs(x - y) for x, y in pairs)
            print(f"step {step:2}  log-likelihood {total:8.2f}  off the forward algorithm by {error:.0e}")
        slopes = zip(*[gradient(*weights, s) for s in sequences], strict=True)
        weights = [w + 0.02 * sum(d) for w, d in zip(weights, slopes, strict=True)]
    print("traces =", gradient.cache_info().traces)


if __name__ == "__main__":
    main()
