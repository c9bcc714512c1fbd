"""Calls that the reference shows where the survey has none, or none whose result says enough.

A row is an expression in operands of the survey, where F stands for the function. Primitives without a row get one by
their parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from tests.survey import modules
from tests.survey.text import rows, rows_like

UNTRACED = {"bytes", "get_state", "seed", "set_state"}  # of the global generator: refused in traces
BY_PARAMETER = {"a": "A", "axis": "0", "axes": "(0,)", "operand": "X"}
_ONE_WINDOW = "((0,), (2,), (1,), (1,), (1,))"  # low, sizes, strides, dilation, dilation of the window

PRIMITIVES = {
    **rows_like("F(k, i)", "bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift"),
    **rows_like("F(k)", "bitwise_count invert repeated"),
    **rows_like("F(a)", "arccosh"),
    **rows_like("F(2, a)", "bessel_i bessel_j bessel_k bessel_y scaled_bessel_i scaled_bessel_k polygamma"),
    **rows_like("F(a, b, x)", "betainc betaincc betainccinv betaincinv hyp1f1"),
    **rows_like("F(x > 0.5, y > 0.3)", "logical_and logical_or logical_xor"),
    **rows_like("F(x > 0.5)", "logical_not nonzero"),
    **rows_like("F(x > 0.5, (0,))", "reduce_and reduce_or"),
    **rows_like("F(z)", "conj imag real"),
    **rows_like("F(x, i, a)", "index_update"),
    **rows_like("F(x, (i,), a, (0,))", "index_add index_max index_min index_mul index_update"),
    **rows_like("F(x, k % 2, 2)", "segment_max segment_mean segment_min segment_prod segment_sum"),
    **rows_like(f"F(x, (2,), {_ONE_WINDOW})", "window_argmax window_argmin window_max window_min window_sum"),
    **rows(
        """
balance: F(A, permute=True, scale=True)[0]
banded_cholesky: F(np.stack([0 * x, a + 3]), lower=False)
banded_solve: F(np.stack([0 * x, a + 3, y]), X, lower=1, upper=1)
broadcast_in_dim: F(x, (2, 3), (1,))
broadcast_to: F(x, (2, 3))
carlson_integral: F((0, 0, 0, 0), x, y, a, b)
cholesky: F(S)
concatenate: F([x, y], 0)
convert: F(x, np.float32)
cossin: F(M[:1, :1] / 2, M[:1, 1:] / 2, M[1:, :1] / 2, M[1:, 1:] / 2, swap_sign=False)[1]
cossin_angles: F(M[:1, :1], M[:1, 1:], M[1:, :1], M[1:, 1:])
dct: F(x, 2, 0)
difference_products: F(X, Y, X, Y, power=2, odd=False)
difference_pulls: F(X, Y, X, A[:, :], power=2, odd=False)
dot_general: F(X, Y, ((1,), (1,)), ((), ()))
draw: F(np.random.default_rng(0), 'normal', (3,))[0]
dst: F(x, 2, 0)
dynamic_slice: F(x, (k[1] // 4,), (2,))
dynamic_truncate: F(x, k[2])
dynamic_update_slice: F(x, v[:2], (i[0] - 1,))
einsum: F([X, Y], 'ij,kj->ik')
fft: F(z, 0)
floor_divide: F(a, x)
full: F((2, 3), 0.5, np.float64)
hyp2f1: F(a, b, 1.5, x)
iota: F(4)
irfft: F(z, 0, 4)
ldexp: F(x, k)
ldl: F(S, lower=True, hermitian=True)[0]
lfilter: F(x, v[None, :2], v[None, :1])
lu_solve: F(np.diag([2.0, 4.0]), np.diag([2.0, 4.0]), np.array([0, 1], np.int32), M)
matrix_function: F(M, 'exp')
matrix_function_derivative: F(M, M, 'exp')
name_sizes: F(x)
ordqz: F(M, M.T, 'real', 'lhp')[0]
pad: F(x, (1,), (2,))
pair_distances: F(X, Y, power=2, root=True)
permute: F(x, np.argsort(x), 0)
place: F(x, x > 0.5, v)
power_by: F(x, 3)
put_add: F(x, i, 4)
put_add_along_axis: F(x, i, 4, 0)
put_add_at: F(x, (i,), (0,), (4,))
python_int: F('multiply', k, 3)
qz: F(M, M.T, 'real')[0]
ranked: F(x, np.array([True, True]), (0,), (1,), 'nearest', rank=0, box=True)
recurrence: F(x, x * 2, 0)
reshape: F(X, (-1,))
rfft: F(x, 0)
row_order: F(np.array([1, 2, 2], np.int32))
schur: F(M, 'real')[0]
searchsorted: F(t, x)
select: F(x > 0.5, x, y)
size_value: F(3)
slice: F(x, (0,), (2,))
solve: F(A, X)
sliding: F(x, 0, 2)
special_ufunc: F('struve', 1.0, x)
sum_to: F(X, (3,), (1,))
sylvester: F(A, B, A)
take: F(x, i)
take_along_axis: F(x, i, 0)
take_at: F(x, (i,), (0,))
top_k: F(x, 2)
triangular_solve: F(A, X, lower=True)
unique: F(i)
weigh: F(x, y, (0,), (0,), (2,), 'nearest')
"""
    ),
    "gather": "F(X, i[:, np.newaxis], offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), "
    "index_vector_dim=1, slice_sizes=(1, 3))",
    "scatter": "F(X, i[:, np.newaxis], Y, update_window_dims=(1,), inserted_window_dims=(0,), "
    "scatter_dims_to_operand_dims=(0,), index_vector_dim=1)",
    "convolution": f"F(x, v[:2], {_ONE_WINDOW})",
}
CALLS: Mapping[str, Mapping[str, str]] = {
    "ops": PRIMITIVES,
    "numpy": rows(
        """
at: F(x)[0].add(2)
fromiter: F((x[j] for j in range(3)), float)
log_softmax: F(x)
logsumexp: F(x)
matrix_norm: F(A)
matrix_power: F(A, 2)
multi_dot: F([A, B, x])
norm: F(x)
reciprocal: F(x)
softmax: F(x)
top_k: F(x, 2)
trapezoid: F(x)
vector_norm: F(x)
vectorize: F(lambda value: value * 2)(x)
"""
    ),
    "numpy.linalg": {"norm": "F(x)"},
    "numpy.random": {
        **rows_like("F(2.0, 0.5, 3)", "beta gamma gumbel laplace logistic lognormal normal uniform vonmises wald f"),
        **rows_like(
            "F(2.0, 3)", "chisquare exponential pareto power rayleigh standard_gamma standard_t weibull zipf poisson"
        ),
        **rows_like("F(3)", "permutation random random_sample ranf sample rand randn"),
        **rows_like("F(0.5, 3)", "geometric logseries"),
        **rows_like("F(size=3)", "standard_cauchy standard_exponential standard_normal"),
        **rows(
            """
binomial: F(10, 0.5, 3)
bytes: F(3)
choice: F(5, 3)
dirichlet: F(v)
hypergeometric: F(5, 4, 3, 3)
multinomial: F(10, [0.5, 0.3, 0.2])
multivariate_normal: F([0.0, 1.0], S[:2, :2])
get_state: F()[0]
negative_binomial: F(4, 0.5, 3)
noncentral_chisquare: F(2.0, 1.0, 3)
noncentral_f: F(2.0, 3.0, 1.0, 3)
randint: F(0, 10, 3)
random_integers: F(0, 10, 3)
seed: (F(3), np.random.random_sample(3))[1]
set_state: (F(np.random.get_state()), np.random.random_sample(3))[1]
shuffle: (c := x + 0.0, F(c))[0]
triangular: F(0.0, 0.5, 1.0, 3)
"""
        ),
    },
    "scipy.special": {
        **rows_like("F(a, b)", "beta"),
        **rows_like("F(a)", "gamma loggamma"),
        **rows_like("F(4.0, s)", "smirnov"),
        **rows_like("F(-x)", "ndtri_exp"),
        **rows(
            """
bdtrik: F(0.5, 10, x)
bdtrin: F(k, x, y)
bernoulli: F(x.shape[0])
binom: F(k + 4, k)
btdtria: F(x, b, y)
btdtrib: F(a, x, y)
euler: F(x.shape[0])
fdtri: F(a, b, x)
gdtrix: F(a, b, x)
mathieu_a: F(2, x)
mathieu_b: F(2, x)
nbdtrik: F(x, a, y)
nbdtrin: F(k, x, y)
ncfdtri: F(a, b, y, x)
ncfdtrinc: F(2, 3, 0.3, x)
nctdtrit: F(a, y, x)
obl_cv: F(1, 2, x)
pro_cv: F(1, 2, x)
smirnovi: F(4, x)
"""
        ),
    },
    "scipy.integrate": {"trapezoid": "F(x)"},
    "scipy.interpolate": rows(
        """
interpn: F((np.arange(3.0),), v, x[:, np.newaxis])
LinearNDInterpolator: F(np.array([[0.0, 0], [1, 0], [0, 1]]), v)(x / 2, y / 4)
RegularGridInterpolator: F((np.arange(3.0),), v)(x[:, np.newaxis])
UnivariateSpline: F(np.arange(6), x, s=0)(t)
"""
    ),
    "scipy.linalg": {"norm": "F(x)"},
    "scipy.ndimage": {"laplace": "F(x)"},
    "scipy.signal": {
        "istft": "F(np.ones((3, 3)) * s, nperseg=4, noverlap=2)[1]",
        "stft": "F(np.append(x, y), nperseg=4)[2]",
    },
    "scipy.signal.windows": {
        **rows_like(
            "F(x.shape[0])",
            "barthann bartlett blackman blackmanharris bohman boxcar cosine exponential flattop hamming hann lanczos "
            "nuttall parzen taylor triang tukey",
        ),
        **rows_like("F(x.shape[0], 1.5)", "gaussian kaiser"),
        **rows_like("F(x.shape[0], [0.5, 0.3, 0.2])", "general_cosine"),
        **rows_like("F(x.shape[0], 1.5, 2.0)", "general_gaussian"),
        **rows_like("F(x.shape[0], 0.6)", "general_hamming"),
        "get_window": "F('hann', x.shape[0])",
    },
    "scipy.sparse.linalg": {
        "factorized": "F(A)(x)",
        "spsolve_triangular": "F(A, x)",
    },
    "scipy.spatial.distance": {"cosine": "F(v, w)"},
    "scipy.stats": rows(
        """
dirichlet: F(a).mean()
multinomial: F.logpmf([1, 2, 1], 4, v / np.sum(v))
multivariate_normal: F.logpdf(v, w, np.eye(3))
multivariate_t: F.logpdf(v, w, np.eye(3), 4)
wishart: F.logpdf(S[:2, :2], 4, np.eye(2))
"""
    ),
}


def call(module: str, name: str, function: Any) -> str | None:
    """Return the expression that shows a function; None where no row and no rule has one."""
    written = CALLS.get(module, {}).get(name)
    if written is not None:
        return written
    if module == "ops":
        return _by_parameters(function)
    if module not in modules.MODULES or name not in modules.functions(module):
        return None
    expression = modules.expression_for(module, name)
    return None if expression is None or "written(" in expression else expression


def _by_parameters(function: Any) -> str:
    """Return a call of a primitive with an operand for each parameter that it needs."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return f"F({', '.join(BY_PARAMETER.get(p.name, p.name) for p in parameters)})"
