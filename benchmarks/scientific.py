"""Functions of SciPy in a gradient: a Gaussian process by its Cholesky factor, and a loss of a Fourier transform."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

import anyshape
import anyshape.numpy as anp
from anyshape.scipy import linalg
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

POINTS, SIGNAL = 400, 4096
LENGTHS = range(2, 102, 2)


def run(effort: Effort, points: int = POINTS, signal: int = SIGNAL) -> list[Result]:
    """The results of this file."""
    return [*gaussian_process(effort, points), *spectrum(effort, signal)]


def likelihood(x: Any, y: Any, parameters: Any) -> Any:
    """Minus the logarithm of the marginal likelihood, without its constant; parameters are logarithms."""
    amplitude, length, noise = anp.exp(parameters)
    squares = anp.square((x[:, None] - x) / length)
    kernel = amplitude * anp.exp(-0.5 * squares) + noise * anp.eye(x.shape[0])
    factor = linalg.cholesky(kernel, lower=True)
    z = linalg.solve_triangular(factor, y, lower=True)
    return 0.5 * anp.sum(z * z) + anp.sum(anp.log(anp.diagonal(factor)))


def likelihood_by_hand(x: Any, y: Any, parameters: Any) -> tuple[Any, Any]:
    """The value and the gradient, of Rasmussen and Williams (2006), equation 5.9, as scikit-learn computes them."""
    amplitude, length, noise = np.exp(parameters)
    squares = np.square((x[:, None] - x) / length)
    smooth = amplitude * np.exp(-0.5 * squares)
    factor = scipy.linalg.cholesky(smooth + noise * np.eye(len(x)), lower=True, check_finite=False)
    alpha = scipy.linalg.cho_solve((factor, True), y, check_finite=False)
    inverse = scipy.linalg.cho_solve((factor, True), np.eye(len(x)), check_finite=False)
    value = 0.5 * (y @ alpha) + np.sum(np.log(np.diagonal(factor)))
    inner = 0.5 * (inverse - np.outer(alpha, alpha))
    by_smooth = inner * smooth
    return value, np.array([np.sum(by_smooth), np.sum(by_smooth * squares), noise * np.trace(inner)])


def gaussian_process(effort: Effort, points: int) -> list[Result]:
    """Value and gradient at one size by time, and at many sizes by traces."""
    rng = np.random.default_rng(0)
    parameters = np.array([0.1, -0.3, -1.0])
    function = anyshape.jit(anyshape.value_and_grad(likelihood, argnums=2))
    for size in LENGTHS:
        x = np.sort(rng.uniform(0, 10, size))
        arguments = x, np.sin(x), parameters
        for actual, expected in zip(function(*arguments), likelihood_by_hand(*arguments), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)
    traces = Result(f"gaussian process: traces for {len(LENGTHS)} sizes", function.cache_info().traces, "", 1.0)
    x = np.sort(rng.uniform(0, 10, points))
    y = np.sin(x)
    table = interleaved([lambda: function(x, y, parameters), lambda: likelihood_by_hand(x, y, parameters)], effort)
    mid = np.median(table, axis=0)
    name = f"gaussian process of {points} points, value and gradient / NumPy and SciPy by hand"
    detail = f"{seconds(mid[0])} a call, by hand {seconds(mid[1])}"
    return [traces, Result(name, ratio(table[:, 0], table[:, 1]), "x", 1.0, detail)]


def spectrum(effort: Effort, signal: int) -> list[Result]:
    """The gradient of a loss of the spectrum of a real signal against two transforms of SciPy."""
    x = np.random.default_rng(0).normal(size=signal)
    target = np.linspace(0, 1, signal)

    def loss(x: Any) -> Any:
        return np.sum(target * np.abs(np.fft.fft(x)) ** 2)

    gradient = anyshape.jit(anyshape.grad(loss))
    by_hand = 2 * np.real(np.fft.ifft(target * np.fft.fft(x), norm="forward"))
    np.testing.assert_allclose(gradient(x), by_hand, rtol=1e-9, atol=1e-9 * signal)
    z = x.astype(complex)
    table = interleaved([lambda: gradient(x), lambda: (scipy.fft.fft(z), scipy.fft.fft(z))], effort)
    mid = np.median(table, axis=0)
    name = f"gradient of a loss of a spectrum of {signal} points / two transforms of SciPy"
    detail = f"{seconds(mid[0])} a call, two transforms {seconds(mid[1])}"
    return [Result(name, ratio(table[:, 0], table[:, 1]), "x", 2.2, detail)]
