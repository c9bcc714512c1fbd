"""Define distributions of vectors and matrices, and `gaussian_kde`, with the methods of the ones of `scipy.stats`.

Points are in the last axis, or in the first for `dirichlet`, as in SciPy. Axes of size 1 stay in results, where SciPy
drops them: the rank of a result may not depend on a size. Only the one point of a vector of numbers is a number, too.
"""

from collections.abc import Callable
from math import log, pi
from typing import Any, Self

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy import special as sc
from anyshape.numpy.operands.promotion import is_traced, sizes
from anyshape.numpy.serve import guarded, refuse
from anyshape.ops.control import check, stop_gradient
from anyshape.ops.core.apply import context_of
from anyshape.scipy import linalg
from anyshape.scipy.linalg.factoring import solve_triangular
from anyshape.scipy.operands.conversion import floats, real_floats, squeezed
from anyshape.scipy.special.orders import multigammaln
from anyshape.scipy.stats.distribution import Frozen
from anyshape.support.packages import scipy_stats


class Multivariate:
    """Base of the distributions here: SciPy's own methods for concrete arguments, and for methods that are not here."""

    name = ""

    def __call__(self, *args: Any, **parameters: Any) -> Frozen:
        """Return the distribution with these parameters."""
        return Frozen(self, args, parameters)

    def __repr__(self) -> str:
        return f"<distribution anyshape.scipy.stats.{self.name}>"

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        return guarded(getattr(self._scipy, method), f"scipy.stats.{self.name}.{method}")

    @property
    def _scipy(self):
        return getattr(scipy_stats, self.name)


def _factor(matrix, dimension):
    """Return the Cholesky factor of a covariance: a number is a multiple of the identity, a vector the diagonal."""
    matrix = real_floats(matrix)
    if matrix.ndim == 0:
        return xp.sqrt(matrix) * xp.eye(dimension)
    return xp.diag(xp.sqrt(matrix)) if matrix.ndim == 1 else xp.linalg.cholesky(matrix)


def _dimension(location, matrix):
    """Return the number of components by the parameters."""
    if location is not None and np.ndim(location):
        return xp.shape(location)[0]
    return xp.shape(matrix)[0] if np.ndim(matrix) else 1


def _deviations(name: str, x, location, dimension) -> tuple[Any, tuple[Any, ...]]:
    """Return points as columns relative to their location, and the shape of the results."""
    x = real_floats(x)
    if x.ndim == 0 or (x.ndim == 1 and not has_components(dimension)):
        x = x[..., None]
    if x.ndim == 0:
        raise ArgumentError(name, "x", "is a scalar", "pass an array whose last axis holds the components")
    points = x if location is None else x - location
    return xp.reshape(points, (-1, x.shape[-1])).T, x.shape[:-1]


def _of_points(name: str, values, shape: tuple[Any, ...], dimension):
    """Return values in the shape of the points; that of one number as SciPy's, without an axis."""
    values = xp.reshape(values, shape)
    return values if has_components(dimension) or values.ndim != 1 else squeezed(name, values)


def has_components(dimension: Any) -> bool:
    """Return whether a distribution is one of vectors, not of numbers."""
    return dimension != 1  # of an open size, this is a decision


def _whitened(name: str, x, location, matrix) -> tuple[Any, Any, Any]:
    """Return the squared distances of Mahalanobis, the logarithm of the determinant, and the number of components."""
    dimension = _dimension(location, matrix)
    columns, shape = _deviations(name, x, location, dimension)
    factor = _factor(matrix, dimension)
    squares = xp.sum(xp.square(solve_triangular(factor, columns, lower=True)), axis=0)
    return _of_points(name, squares, shape, dimension), 2 * xp.sum(xp.log(xp.diagonal(factor))), dimension


def _log_density_on_support(x, location, matrix):
    """Return the logarithm of a normal density on the range of a covariance, and -inf off it, as SciPy does.

    The projection off the range added to the covariance gives a matrix whose determinant is the pseudo-determinant.
    So derivatives are the ones of covariances of the same rank.
    """
    dimension = _dimension(location, matrix)
    columns, shape = _deviations("multivariate_normal", x, location, dimension)
    full = real_floats(matrix)
    if full.ndim < 2:
        full = xp.diag(full) if full.ndim else full * xp.eye(dimension)
    values = xp.linalg.eigvalsh(stop_gradient(full))
    cutoff = 1e6 * np.finfo(np.float64).eps * xp.max(xp.abs(values), initial=0.0)
    check(xp.min(values, initial=0.0) >= -cutoff, "multivariate_normal: cov has a negative eigenvalue")
    inverse = xp.linalg.pinv(full, 1e6 * np.finfo(np.float64).eps, hermitian=True)
    off_range = xp.eye(dimension) - full @ inverse
    outside = xp.sqrt(xp.sum(xp.square(stop_gradient(off_range @ columns)), axis=0)) >= 1e3 * cutoff
    rank, squares = xp.sum(values > cutoff), xp.sum(columns * (inverse @ columns), axis=0)
    density = -0.5 * (rank * log(2 * pi) + xp.linalg.slogdet(full + off_range)[1] + squares)
    density = xp.where(outside & (rank < dimension), -np.inf, density)
    return _of_points("multivariate_normal", density, shape, dimension)


class MultivariateNormal(Multivariate):
    """Multivariate normal distribution."""

    name = "multivariate_normal"

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the logarithm of the density at points of shape (..., k), with `mean` (k,) and `cov` (k, k).

        A covariance that is not positive definite is NumPy's LinAlgError when the program runs. With `allow_singular`
        it may be singular: the density is then the one on its range, and so is the derivative.
        """
        if not is_traced(x, mean, cov):
            return self._scipy.logpdf(x, mean, cov, allow_singular)
        if allow_singular:
            return _log_density_on_support(x, mean, cov)
        squares, logdet, dimension = _whitened(self.name, x, mean, cov)
        return -0.5 * (dimension * log(2 * pi) + logdet + squares)

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the density at points of shape (..., k), with `mean` (k,) and `cov` (k, k)."""
        if not is_traced(x, mean, cov):
            return self._scipy.pdf(x, mean, cov, allow_singular)
        return xp.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """Return the differential entropy, in nats."""
        if not is_traced(mean, cov):
            return self._scipy.entropy(mean, cov)
        dimension = _dimension(mean, cov)
        logdet = 2 * xp.sum(xp.log(xp.diagonal(_factor(cov, dimension))))
        return 0.5 * (dimension * (log(2 * pi) + 1) + logdet)


class MultivariateT(Multivariate):
    """Multivariate t distribution."""

    name = "multivariate_t"

    def logpdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
        """Return the logarithm of the density at points (..., k), with `loc` (k,), `shape` (k, k), a finite `df`."""
        if not is_traced(x, loc, shape, df):
            return self._scipy.logpdf(x, loc, shape, df)
        squares, logdet, p = _whitened(self.name, x, loc, shape)
        df = real_floats(df)
        constant = sc.gammaln(0.5 * (df + p)) - sc.gammaln(0.5 * df) - 0.5 * p * xp.log(df * pi) - 0.5 * logdet
        return constant - 0.5 * (df + p) * xp.log1p(squares / df)

    def pdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
        """Return the density at points (..., k), with `loc` (k,), `shape` (k, k) and a finite `df`."""
        if not is_traced(x, loc, shape, df):
            return self._scipy.pdf(x, loc, shape, df)
        return xp.exp(self.logpdf(x, loc, shape, df))


class Dirichlet(Multivariate):
    """Dirichlet distribution."""

    name = "dirichlet"

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """Return the logarithm of the density at points (k, ...) of the simplex, with `alpha` (k,).

        A point (k - 1, ...) lacks the last component. Off the simplex SciPy raises ValueError, and the result is -inf.
        """
        if not is_traced(x, alpha):
            return self._scipy.logpdf(x, alpha)
        x, alpha = (real_floats(v) for v in (x, alpha))
        if x.shape[0] == alpha.shape[0] - 1:
            x = xp.concatenate([x, 1 - xp.sum(x, axis=0, keepdims=True)])
        powers = sc.xlogy(xp.reshape(alpha - 1, (-1, *[1] * (x.ndim - 1))), x)
        value = xp.sum(powers, axis=0) - xp.sum(sc.gammaln(alpha)) + sc.gammaln(xp.sum(alpha))
        on_simplex = xp.all((x >= 0) & (x <= 1), axis=0) & (xp.abs(xp.sum(x, axis=0) - 1) <= 1e-9)
        return xp.where(on_simplex, value, -np.inf)

    def pdf(self, x: Any, alpha: Any) -> Any:
        """Return the density at points (k, ...) of the simplex, with `alpha` (k,)."""
        return xp.exp(self.logpdf(x, alpha)) if is_traced(x, alpha) else self._scipy.pdf(x, alpha)

    def mean(self, alpha: Any) -> Any:
        """Return the mean, of shape (k,)."""
        return alpha / xp.sum(alpha) if is_traced(alpha) else self._scipy.mean(alpha)

    def var(self, alpha: Any) -> Any:
        """Return the variances of the components, of shape (k,)."""
        if not is_traced(alpha):
            return self._scipy.var(alpha)
        total = xp.sum(alpha)
        return alpha * (total - alpha) / (xp.square(total) * (total + 1))

    def entropy(self, alpha: Any) -> Any:
        """Return the differential entropy, in nats."""
        if not is_traced(alpha):
            return self._scipy.entropy(alpha)
        total, k = xp.sum(alpha), alpha.shape[0]
        constant = xp.sum(sc.gammaln(alpha)) - sc.gammaln(total)
        return constant + (total - k) * sc.digamma(total) - xp.sum((alpha - 1) * sc.digamma(alpha))


class Multinomial(Multivariate):
    """Multinomial distribution."""

    name = "multinomial"

    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """Return the logarithm of the probability of counts (..., k) of `n` trials, with probabilities `p` (..., k).

        As in SciPy, the last probability is 1 minus the others. Parameters that are not valid give NaN.
        """
        if not is_traced(x, n, p):
            return self._scipy.logpmf(x, n, p)
        x, n, p = (real_floats(v) for v in (x, n, p))
        p = xp.concatenate([p[..., :-1], 1 - xp.sum(p[..., :-1], axis=-1, keepdims=True)], axis=-1)
        valid = xp.all((p >= 0) & (p <= 1), axis=-1) & (n >= 0)
        possible = xp.all((x >= 0) & (xp.floor(x) == x), axis=-1) & (xp.sum(x, axis=-1) == n)
        counts = xp.where(possible[..., None], x, 0.0)
        terms = xp.sum(sc.xlogy(counts, xp.where(valid[..., None], p, 1.0)) - sc.gammaln(counts + 1), axis=-1)
        value = sc.gammaln(xp.where(n >= 0, n, 0.0) + 1) + terms
        return xp.where(valid, xp.where(possible, value, -np.inf), np.nan)

    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """Return the probability of counts (..., k) of `n` trials, with probabilities `p` (..., k)."""
        return xp.exp(self.logpmf(x, n, p)) if is_traced(x, n, p) else self._scipy.pmf(x, n, p)


class Wishart(Multivariate):
    """Wishart distribution."""

    name = "wishart"

    def logpdf(self, x: Any, df: Any, scale: Any) -> Any:
        """Return the logarithm of the density at a positive definite matrix (k, k) or stack (k, k, m), as in SciPy."""
        if not is_traced(x, df, scale):
            return self._scipy.logpdf(x, df, scale)
        x, df, scale = (real_floats(v) for v in (x, df, scale))
        matrices = xp.moveaxis(x, -1, 0) if x.ndim == 3 else x
        size = matrices.shape[-1]
        factor = _factor(scale, size)
        logdet = 2 * xp.sum(xp.log(xp.diagonal(factor)))
        traces = xp.trace(xp.linalg.solve(factor @ factor.T, matrices), axis1=-2, axis2=-1)
        constant = 0.5 * df * size * log(2) + 0.5 * df * logdet + multigammaln(0.5 * df, size)
        return 0.5 * (df - size - 1) * xp.linalg.slogdet(matrices)[1] - 0.5 * traces - constant

    def pdf(self, x: Any, df: Any, scale: Any) -> Any:
        """Return the density at a positive definite matrix (k, k) or at a stack (k, k, m), as in SciPy."""
        return xp.exp(self.logpdf(x, df, scale)) if is_traced(x, df, scale) else self._scipy.pdf(x, df, scale)


multivariate_normal, multivariate_t, dirichlet = MultivariateNormal(), MultivariateT(), Dirichlet()
multinomial, wishart = Multinomial(), Wishart()


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
        white, targets = (linalg.solve_triangular(factor, v, lower=True) for v in (self.dataset, points))
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
    white = linalg.solve_triangular(factor, x, lower=True)
    log_norm = xp.sum(xp.log(xp.diagonal(factor))) + 0.5 * np.log(2 * np.pi) * x.shape[0]
    return xp.exp(-0.5 * xp.sum(white**2, axis=0) - log_norm)
