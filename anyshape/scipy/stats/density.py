"""Define the estimate of a density by Gaussian kernels, `scipy.stats.gaussian_kde`."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy.operands.promotion import is_traced, sizes
from anyshape.numpy.serve import refuse
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg import solve_triangular
from anyshape.scipy.operands.conversion import floats, real_floats
from anyshape.support.packages import scipy_stats


class gaussian_kde:
    """Density of samples by a normal kernel around each; `dataset` is a vector, or d x n for n points.

    Memory of an evaluation is that of n times the number of points.
    Rules for the width: Scott (1992), Silverman (1986).
    """

    covariance: Any

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        self.dataset = floats(xp.atleast_2d(xp.asarray(dataset)))
        self.d, self.n = self.dataset.shape
        many = at_least(expr.mul(*sizes(self.dataset)), 2)
        context_of("gaussian_kde", self.dataset).require(many, "dataset has several elements")
        self._raw_weights = weights
        if weights is not None:
            weights = real_floats(weights)
            if weights.ndim != 1:
                raise ArgumentError("gaussian_kde", "weights", f"has {weights.ndim} axes", "pass a vector")
            context_of("gaussian_kde", weights).require_equal(
                sizes(weights)[0], sizes(self.dataset)[1], "a weight for each point"
            )
            weights = weights / xp.sum(weights)
        self.weights: Any = xp.ones(self.n) / self.n if weights is None else weights
        self.neff: Any = 1.0 / xp.sum(self.weights**2)
        self.set_bandwidth(bw_method)

    @classmethod
    def made_by(cls, theirs: Any) -> Self:
        """Return the estimate of an object of SciPy's."""
        return cls(theirs.dataset, float(theirs.factor), theirs.weights)

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Set the width of the kernels: "scott", "silverman", a factor, or a function of this estimate."""
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            factor = self.scotts_factor()
        elif isinstance(bw_method, str) and bw_method == "silverman":
            factor = self.silverman_factor()
        elif isinstance(bw_method, str):
            raise ArgumentError("gaussian_kde", f"bw_method={bw_method!r}", "is not known", "pass 'scott', 'silverman'")
        else:
            factor = bw_method(self) if callable(bw_method) else bw_method
        self._method, self.factor = bw_method, factor
        centred = self.dataset - xp.sum(self.dataset * self.weights, axis=1, keepdims=True)
        unbiased = 1.0 - xp.sum(self.weights**2)
        self.covariance = (centred * self.weights) @ centred.T / unbiased * factor**2

    def scotts_factor(self) -> Any:
        """Return the factor of Scott's rule."""
        return xp.power(self.neff, -1.0 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """Return the factor of Silverman's rule."""
        return xp.power(self.neff * (self.d + 2.0) / 4.0, -1.0 / (self.d + 4))

    covariance_factor = scotts_factor

    @property
    def inv_cov(self) -> Any:
        """Inverse of the covariance of the kernels."""
        return xp.linalg.inv(self.covariance)

    def _logarithms(self, points):
        """Return the logarithms of each kernel's density at each point, n x m."""
        points = xp.atleast_2d(xp.asarray(points))
        one_point = points.shape[0] == 1 and self.d != 1
        points = points.T if one_point else points
        ctx = context_of("gaussian_kde", points, self.dataset)
        ctx.require_equal(sizes(points)[0], sizes(self.dataset)[0], "points have the number of rows of the dataset")
        factor = xp.linalg.cholesky(self.covariance)
        white, targets = (solve_triangular(factor, v, lower=True) for v in (self.dataset, points))
        distances = xp.sum((white[:, :, None] - targets[:, None, :]) ** 2, axis=0)
        log_norm = xp.sum(xp.log(xp.diagonal(factor))) + 0.5 * np.log(2 * np.pi) * self.d
        return -0.5 * distances - log_norm

    def _concrete(self, *others):
        """Return SciPy's estimate if all is concrete, else None."""
        if is_traced(self.dataset, self.weights, self.factor, *others):
            return None
        return scipy_stats.gaussian_kde(self.dataset, self.factor, self._raw_weights)

    def evaluate(self, points: Any) -> Any:
        """Return the density at m points, a vector or d x m."""
        if (concrete := self._concrete(points)) is not None:
            return concrete.evaluate(points)
        return self.weights @ xp.exp(self._logarithms(points))

    __call__ = evaluate
    pdf: Callable[..., Any] = evaluate

    def logpdf(self, x: Any) -> Any:
        """Return the logarithm of the density at m points, a vector or d x m."""
        if (concrete := self._concrete(x)) is not None:
            return concrete.logpdf(x)
        return xp.special.logsumexp(self._logarithms(x), axis=0, b=self.weights[:, None])

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """Return the probability of an interval, for a vector of samples."""
        if self.d != 1:
            raise ArgumentError("integrate_box_1d", "dataset", "has more than one row", "take one row")
        width = xp.sqrt(self.covariance[0, 0])
        below, above = ((bound - self.dataset[0]) / width for bound in (low, high))
        return xp.sum(self.weights * (xp.special.ndtr(above) - xp.special.ndtr(below)))

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """Return the integral of the density times that of a normal distribution."""
        mean, cov = xp.atleast_1d(mean), xp.atleast_2d(cov)
        return self.weights @ _normal_density(self.dataset - mean[:, None], self.covariance + cov)

    def integrate_kde(self, other: Any) -> Any:
        """Return the integral of the product of two densities."""
        gaps = self.dataset[:, :, None] - other.dataset[:, None, :]
        flat = xp.reshape(gaps, (gaps.shape[0], -1))
        pairs = xp.ravel(self.weights[:, None] * other.weights[None, :])
        return pairs @ _normal_density(flat, self.covariance + other.covariance)

    def resample(self, size: Any = None, seed: Any = None) -> Any:
        """Return random points of the estimate, of a concrete dataset alone."""
        if (concrete := self._concrete()) is None:
            raise refuse("scipy.stats.gaussian_kde.resample")
        return concrete.resample(size, seed)


def _normal_density(x, covariance):
    """Return the density of a centred normal distribution at the columns of x."""
    factor = xp.linalg.cholesky(covariance)
    white = solve_triangular(factor, x, lower=True)
    log_norm = xp.sum(xp.log(xp.diagonal(factor))) + 0.5 * np.log(2 * np.pi) * x.shape[0]
    return xp.exp(-0.5 * xp.sum(white**2, axis=0) - log_norm)
