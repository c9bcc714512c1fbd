"""Calls of SciPy's functions, one for each that its signature does not tell.

A row is a name, a colon and an expression. F stands for the function, letters are operands of the survey.
"""

from tests.survey.text import rows, rows_like, words

SPECIAL = {
    **rows_like(
        "F(2, x)", "jn kn yn eval_hermite eval_hermitenorm spherical_jn spherical_yn spherical_in spherical_kn"
    ),
    **rows_like("F(2, x)", "eval_legendre eval_chebyt eval_chebyu eval_laguerre polygamma expn jvp yvp ivp kvp"),
    **rows_like("F(2, x)", "legendre_p legendre_p_all"),
    **rows_like("F(1.5, x)", "jv yv iv kv ive kve jve yve hankel1 hankel2 hankel1e hankel2e struve modstruve"),
    **rows_like("F(k + 3, k)", "comb perm"),
    **rows_like("F(k, k + 4, x)", "bdtr bdtrc nbdtr nbdtrc"),
    **rows_like("F(x, 1.5, 2.5)", "gdtr gdtrc besselpoly"),
    **rows_like("F(2, x)", "eval_chebyc eval_chebys eval_sh_chebyt eval_sh_chebyu eval_sh_legendre"),
    **rows_like("F(1.5, x)", "hyp0f1 pbdv pbvv pbwa"),
    **rows_like("F(1.5, 2.5, x)", "hyp1f1 wright_bessel log_wright_bessel hyperu"),
    **rows_like("F(2, 5, t)", "bdtri nbdtri"),
    **rows_like("F(0, 1, 0.5, 2.0, x)", "obl_ang1_cv obl_rad1_cv obl_rad2_cv pro_ang1_cv pro_rad1_cv pro_rad2_cv"),
    **rows_like("np.real(F(1.5, x))", "h1vp h2vp"),
    **rows_like("F(x)", "logsumexp softmax log_softmax sinc lambertw"),
    **rows(
        """
betainc: F(a, b, x)
betaincc: F(a, b, x)
betaincinv: F(a, b, x)
betainccinv: F(a, b, x)
factorial: F(k)
fdtr: F(a, b, x)
fdtrc: F(a, b, x)
hyp2f1: F(0.5, 1.5, 2.5, x)
multigammaln: F(a + 3, 2)
zeta: F(2.5, b)
pdtri: F(2, t)
chndtr: F(a, 3.0, x)
chndtrix: F(t, 3.0, x)
chndtrinc: F(a * 2, 2.0, t / 4)
eval_sh_jacobi: F(2, 3.5, 1.5, x)
lpmv: F(1, 2, x)
stdtridf: F(0.5 + y * 0.3, y)
tklmbda: F(x, 0.5)
factorial2: F(k)
diric: F(x, 3)
sph_harm_y: F(2, 1, x, y)
assoc_legendre_p: F(3, 2, 0.7 * x)
assoc_legendre_p_all: F(2, 2, 0.7 * x)
sph_legendre_p: F(3, 2, x)
sph_legendre_p_all: F(2, 2, x)
sph_harm_y_all: np.real(F(2, 1, x, y))
euler: F(x.shape[0])[-1] * x
binom: F(b + 3, a)
elliprj: F(x, y, a, b)
pdtr: F(k, a)
pdtrc: F(k, a)
assoc_laguerre: F(x, 2, 1.5)
eval_gegenbauer: F(2, 1.5, x)
eval_genlaguerre: F(2, 1.5, x)
eval_jacobi: F(2, 1.5, 0.5, x)
stdtrit: F(b, x)
owens_t: F(x, y)
"""
    ),
}
_PAIR = "F(S + np.matrix_transpose(S))"
LINALG = {
    **rows_like("F(A)", "det inv expm sqrtm logm sinm cosm tanm sinhm coshm tanhm signm norm svdvals polar pinv"),
    **rows_like(_PAIR, "cholesky eigvalsh pinvh"),
    **rows_like("F(x)", "circulant hankel toeplitz companion fiedler_companion"),
    **rows(
        """
block_diag: F(A, B)
cho_factor: np.triu(F(S + np.matrix_transpose(S))[0])
cho_solve: F((A, False), x)
cho_solve_banded: F((X.T, False), x)
dft: F(x.shape[0])
hilbert: F(x.shape[0])
leslie: F(x, y[:-1])
qr_multiply: np.abs(F(A, B)[0])
qr_delete: F(*np.linalg.qr(A), 0)[1]
qr_insert: F(*np.linalg.qr(A), x, 0)[1]
qr_update: F(*np.linalg.qr(A), x, y)[1]
rsf2csf: np.abs(F(np.triu(A), np.eye(A.shape[0]))[0])
hessenberg: F(A)[0]
expm_cond: F(A)
convolution_matrix: F(x, 4)
diagsvd: F(x, x.shape[0], 8)
eig: np.sort(np.abs(F(A)[0]))
eigh: F(S + np.matrix_transpose(S))[0]
eigh_tridiagonal: F(x, y[:-1])[0]
eigvalsh_tridiagonal: F(x, y[:-1])
eigvals: F(A)
expm_frechet: F(A, B)
fractional_matrix_power: F(A, 0.5)
funm: np.real(F(A, np.exp))
khatri_rao: F(A, B)
lstsq: F(X, y)[0]
lu: F(A)
lu_factor: F(A)[0]
lu_solve: F((A, np.arange(A.shape[0])), x)
matmul_toeplitz: F((x, y), a)
null_space: F(X.T) @ np.matrix_transpose(F(X.T))
orth: F(X) @ np.matrix_transpose(F(X))
orthogonal_procrustes: F(A, B)[0]
qr: np.abs(F(X, mode='full')[0])
ldl: F(S + np.matrix_transpose(S))[1]
qz: np.abs(F(A, B)[0])
ordqz: np.abs(F(A, B)[0])
cossin: np.abs(F(np.linalg.qr(S)[0], 1, 1)[1])
cdf2rdf: F(x + 0j, A)[0]
matrix_balance: F(A)[0]
rq: np.abs(F(A, mode='r'))
schur: np.abs(F(S + np.matrix_transpose(S))[0])
solve: F(A, x)
solve_banded: F((1, 1), np.stack([x, a + 3, y]), b)
solve_circulant: F(x + 2, y)
solve_continuous_lyapunov: F(A, B)
solve_lyapunov: F(A, B)
solve_discrete_lyapunov: F(A / 9, B)
solve_sylvester: F(A, B, A + B)
solve_toeplitz: F(np.append(b[:1] + 4, x[1:]), y)
solve_triangular: F(A, x)
solveh_banded: F(np.stack([x, a + 3]), b)
svd: F(A)[1]
subspace_angles: F(X, np.stack([t, b], 1))
bandwidth: F(A)
hadamard: F(x.shape[0] // 4 * 4)
helmert: F(x.shape[0])
pascal: F(x.shape[0])
invpascal: F(x.shape[0])
invhilbert: F(x.shape[0])
cholesky_banded: F(np.stack([x, a + 3]))
eig_banded: F(np.stack([x, a + 3]))[0]
eigvals_banded: F(np.stack([x, a + 3]))
issymmetric: F(A)
ishermitian: F(A)
solve_continuous_are: F(A, B, S + np.matrix_transpose(S), S + np.matrix_transpose(S))
solve_discrete_are: F(A / 9, B, S + np.matrix_transpose(S), S + np.matrix_transpose(S))
"""
    ),
}
FFT = {
    **rows_like("F(x)", "fft ihfft rfft fftshift ifftshift dct idct dst idst"),
    **rows_like("F(z)", "ifft hfft irfft"),
    **rows_like("F(X)", "fft2 rfft2 fftn rfftn ihfft2 ihfftn dctn idctn dstn idstn"),
    **rows_like("F(X + 0.5j * Y)", "ifft2 irfft2 ifftn irfftn hfft2 hfftn"),
    **rows_like("F(x.shape[0])", "fftfreq rfftfreq"),
    "fht": "F(x, 0.1, 0.5)",
    "ifht": "F(x, 0.1, 0.5)",
}
_WAVE = "np.reshape(np.sin(9 * np.concatenate([x, y, x * y, a, b, t, x + y, t * x])), -1)"
_FILTER = "[0.3, 0.2, 0.1], [1.0, -0.4, 0.2]"
_SECTIONS = "[[0.2, 0.4, 0.2, 1.0, -0.4, 0.2]]"
SIGNAL = {
    **rows_like("F(x, y)", "convolve correlate fftconvolve oaconvolve"),
    **rows_like("F(A, M)", "convolve2d correlate2d"),
    **rows_like(f"F({_FILTER}, x)", "lfilter"),
    **rows_like(f"F({_FILTER}, {_WAVE})", "filtfilt"),
    **rows_like(f"F({_SECTIONS}, {_WAVE})", "sosfilt sosfiltfilt"),
    **rows_like("F(x)", "detrend hilbert"),
    **rows_like(f"F({_WAVE}, nperseg=8)[-1]", "stft welch spectrogram periodogram"),
    "sosfilt_zi": f"F({_SECTIONS})",
    "periodogram": f"F({_WAVE})[-1]",
    "csd": f"F({_WAVE}, {_WAVE} ** 2, nperseg=8)[-1]",
    "coherence": f"F({_WAVE}, {_WAVE} ** 2, nperseg=8)[-1]",
    "istft": "F(A + 1j * B, nperseg=10)[-1]",
    "savgol_filter": "F(x, 5, 2)",
    "get_window": "F(('general_gaussian', 1.5, s), x.shape[0])",
    "resample": "F(x, 9)",
    "upfirdn": "F(v, x, 2, 1)",
    "decimate": f"F({_WAVE}, 2)",
    "lfilter_zi": "F(v, w)",
    "deconvolve": "F(x, v)",
    "bilinear_zpk": "F(v, np.append(w, s), 1.5, 2.0)",
    **rows_like("F(v, np.append(w, s), s, 1.5)", "lp2bp_zpk lp2bs_zpk lp2hp_zpk lp2lp_zpk"),
    **rows_like("F(3, s)", "butter bessel"),
    "iirfilter": "F(3, s, btype='high')",
    "cheby1": "F(2, s, u * 0.4)",
    "cheby2": "F(2, 20 + s, u * 0.4)",
    "ellip": "F(2, 1.0, 30.0, s)",
    "zpk2sos": "F([0.3, -0.2], [0.5, -0.1], s)",
    "iirnotch": "F(s, 5.0)",
    "iirpeak": "F(s, 5.0)",
    "bilinear": "F(v, w, 2.0)",
    "cont2discrete": "F((M, M, M, M), 0.3)[1]",
    "zpk2tf": "F(v, w, s)",
    **rows_like("F(np.stack([np.append(v, w)]))", "sos2tf"),
    "sos2zpk": "F(np.stack([np.append(v, w)]))[2]",
    "tf2zpk": "F(v, w + 1)[2]",
    "lfiltic": "F(v, w, x, y)",
    "firwin": "F(7, s)",
    "firwin2": "F(7, np.append(np.append(0.0, s), 1.0), v)",
    **rows_like("F(v, w, x)", "freqs"),
    "freqs_zpk": "F(v, w, 2.0, x)[1]",
    "group_delay": "F((v, w + 1), x)[1]",
    "envelope": "F(x)",
    "gauss_spline": "F(x, 3)",
    "sweep_poly": "F(x, v)",
    "symiirorder1": f"F({_WAVE}, 0.5, 0.3)",
    "symiirorder2": f"F({_WAVE}, 0.3, 0.7)",
    "medfilt": "F(x, 3)",
    "wiener": "F(x, 3)",
    "argrelextrema": "F(x, np.greater)",
    "chirp": "F(x, 1.0, 2.0, 3.0)",
    "correlation_lags": "F(x.shape[0], 4)",
    "freqz_sos": "F([[0.2, 0.4, 0.2, 1.0, -0.4, 0.2]], x)[1]",
    "sosfreqz": "F([[0.2, 0.4, 0.2, 1.0, -0.4, 0.2]], x)[1]",
    "freqz_zpk": "F(v, w + 1, 2.0, x)[1]",
    "medfilt2d": "F(A)",
    "order_filter": "F(A, np.ones((3, 3)), 4)",
    "resample_poly": "F(x, 3, 2)",
    "zoom_fft": "F(x, [0.1, 0.4])",
}
_WRITTEN = "lambda x, k, out, *rest: np.copyto(out, x ** 2) if isinstance(out, np.ndarray) else x ** 2"
NDIMAGE = {
    **rows_like("F(A, M)", "convolve correlate"),
    **rows_like("F(x, v)", "convolve1d correlate1d"),
    **rows_like("F(A, 1.2)", "gaussian_filter gaussian_laplace gaussian_gradient_magnitude"),
    **rows_like("F(x, 1.2)", "gaussian_filter1d"),
    **rows_like("F(A, 3)", "uniform_filter maximum_filter minimum_filter median_filter"),
    **rows_like("F(x, 3)", "uniform_filter1d maximum_filter1d minimum_filter1d"),
    **rows_like("F(A)", "sobel prewitt laplace spline_filter"),
    "map_coordinates": "F(A, np.stack([x * 4, y * 3]), order=1)",
    "affine_transform": "F(A, M, 0.13, order=1, mode='nearest')",
    "rotate": "F(A, 30.0, order=1, reshape=False)",
    "zoom": "F(A, 1.5, order=1)",
    "shift": "F(A, 0.4, order=1)",
    "spline_filter1d": "F(x)",
    "percentile_filter": "F(A, 30, 3)",
    "rank_filter": "F(A, 1, 3)",
    "center_of_mass": "F(A)",
    **rows_like("F(A, size=3)", "grey_closing grey_dilation grey_erosion grey_opening"),
    **rows_like("F(A, size=3)", "black_tophat white_tophat morphological_gradient morphological_laplace"),
    **rows_like("F(A > 1)", "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss"),
    **rows_like("F(A > 1)", "binary_opening binary_propagation label distance_transform_edt"),
    **rows_like("F(A, (A > 1) + 0, [0, 1])", "sum sum_labels mean variance standard_deviation minimum maximum"),
    **rows_like("F(A, 1.2)", "fourier_gaussian fourier_shift fourier_uniform"),
    **rows_like(f"F(A, {_WRITTEN})", "generic_laplace generic_gradient_magnitude"),
    "sum": "F(A)",
    "mean": "F(A)",
    **rows_like("F(A)", "extrema maximum_position median minimum_position"),
    "histogram": "F(A, 0.0, 3.0, 4)",
    "generic_filter": "F(A, np.sum, size=3)",
    "geometric_transform": "F(A, lambda p: (p[0] * s, p[1] + 0.2), order=1)",
    **rows_like("F(A > 1)", "distance_transform_bf distance_transform_cdt"),
    "watershed_ift": "F((A > 1).astype(np.uint8), (A > 2) + 0)",
}
INTEGRATE = {
    **rows_like("F(x, t)", "trapezoid simpson cumulative_trapezoid cumulative_simpson"),
    "cumulative_simpson": "F(x, x=t)",
    "simpson": "F(x, x=t)",
    "romb": "F(np.concatenate([v, w[:2]]))",
    "fixed_quad": "F(lambda p: np.sin(p * s), 0.0, 1.0)[0]",
    "quad": "F(lambda p: np.sin(p * s), 0.0, 1.0)[0]",
    "quad_vec": "F(lambda p: np.sin(p * v), 0.0, 1.0)[0]",
    "dblquad": "F(lambda p, q: np.sin(p * q * s), 0.0, 1.0, 0.0, 1.0)[0]",
    "nquad": "F(lambda p, q: np.sin(p * q * s), [(0.0, 1.0), (0.0, 1.0)])[0]",
    "tplquad": "F(lambda p, q, r: p * q * r * s, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0)[0]",
    "solve_ivp": "F(lambda p, q: -s * q, (0.0, 1.0), x, t_eval=[1.0]).y",
    "odeint": "F(lambda q, p: -s * q, x, [0.0, 0.5, 1.0])",
}
INTERPOLATE = {
    "interp1d": "F(t, y)(0.2 + 0.5 * x)",
    "CubicSpline": "F(t, y)(x)",
    "PchipInterpolator": "F(t, y)(x)",
    "Akima1DInterpolator": "F(t, y)(0.2 + 0.5 * x)",
    "RegularGridInterpolator": "F((t, t), A)(np.stack([0.1 + 0.6 * x, 0.1 + 0.6 * y], -1))",
    "BSpline": "F([0.0, 0, 0, 0.5, 1, 1, 1], [0.3, 0.7, 0.2, 0.9], 2)(x)",
    "make_interp_spline": "F(t, y)(0.2 + 0.5 * x)",
    "CubicHermiteSpline": "F(t, y, x)(0.2 + 0.5 * x)",
    "BarycentricInterpolator": "F(t, y)(x)",
    "pchip_interpolate": "F(t, y, x)",
    "barycentric_interpolate": "F(t, y, x)",
    "KroghInterpolator": "F(t, y)(x)",
    "krogh_interpolate": "F(t, y, x)",
    "RBFInterpolator": "F(X, y)(0.5 * X + 0.2)",
    "griddata": "F(X, y, 0.9 * X, 'nearest')",
    "NearestNDInterpolator": "F(X, y)(0.9 * X)",
    "splrep": "F(t, y)[1]",
    "splprep": "F([t, y], s=0)[1]",
    "make_splrep": "F(t, y, s=0)(0.2 + 0.5 * x)",
    "make_splprep": "F([t, y], s=0)[0](0.2 + 0.5 * x)",
    "splev": "F(x, ([0.0, 0, 0, 0.5, 1, 1, 1], v[[0, 1, 2, 0, 0, 0, 0]], 2))",
    "splder": "F((np.array([0.0, 0, 0, 0.5, 1, 1, 1]), v[[0, 1, 2, 0, 0, 0, 0]], 2))[1]",
    "splantider": "F((np.array([0.0, 0, 0, 0.5, 1, 1, 1]), v[[0, 1, 2, 0, 0, 0, 0]], 2))[1]",
    "splint": "F(0.1, s, ([0.0, 0, 0, 0.5, 1, 1, 1], v[[0, 1, 2, 0, 0, 0, 0]], 2))",
    "InterpolatedUnivariateSpline": "F(t, y)(0.2 + 0.5 * x)",
    "make_lsq_spline": "F(t, y, [0.0, 0, 0.5, 1, 1], 1)(x)",
    "interpn": "F((t, t), A, np.stack([0.1 + 0.6 * x, 0.1 + 0.6 * y], -1))",
    "PPoly": "F(np.stack([x[1:], y[1:]]), t)(x)",
    "BPoly": "F(np.stack([x[1:], y[1:]]), t)(x)",
    "make_smoothing_spline": "F(t, y, lam=0.01)(x)",
    "insert": "F(0.3, (np.array([0.0, 0, 0, 0.5, 1, 1, 1]), v[[0, 1, 2, 0, 0, 0, 0]], 2))[1][:5]",
    "spalde": "np.asarray(F(x, ([0.0, 0, 0, 0.5, 1, 1, 1], v[[0, 1, 2, 0, 0, 0, 0]], 2)))",
    "sproot": "F((np.array([0.0, 0, 0, 0, 1, 1, 1, 1]), np.append(np.append(v, s) - 0.6, np.zeros(4)), 3))",
    "bisplrep": "F(np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1]), np.append(v, s), kx=1, ky=1, task=-1, "
    "tx=np.array([0.0, 0, 1, 1]), ty=np.array([0.0, 0, 1, 1]))[2]",
    "bisplev": "F(t, t, [np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1]), np.append(v, s), 1, 1])",
}
OPTIMIZE = {
    "root": "F(lambda p: p ** 3 + p - x, np.ones_like(x)).x",
    "root_scalar": "F(lambda p: p ** 3 + p - s, bracket=(0.0, 2.0)).root",
    **rows_like("F(lambda p: p ** 3 + p - s, 0.0, 2.0)", "bisect brentq brenth ridder toms748"),
    "newton": "F(lambda p: p ** 3 + p - s, 1.0)",
    "fsolve": "F(lambda p: p ** 3 + p - x, np.ones_like(x))",
    "minimize": "F(lambda p: np.sum((p - v) ** 2 + p ** 4), np.ones(3), tol=1e-12).x",
    "minimize_scalar": "F(lambda p: (p - s) ** 2 + p ** 4).x",
    "least_squares": "F(lambda p: X @ p - y, np.zeros(3)).x",
    "curve_fit": "F(lambda p, q: q * p, x, y, p0=[1.0])[0]",
    "linear_sum_assignment": "F(A)",
    "linprog": "F(v, A_ub=-np.eye(3), b_ub=-w).x",
    "nnls": "F(X, b)[0]",
    "lsq_linear": "F(X, b).x",
    "isotonic_regression": "F(x).x",
    "fixed_point": "F(lambda p: np.cos(s * p), 0.5)",
    "rosen": "F(x)",
    "rosen_der": "F(x)",
    "rosen_hess": "F(x)",
    "rosen_hess_prod": "F(x, y)",
    **rows_like("F(lambda p: (p - s) ** 2 + p ** 4)", "brent golden"),
    "fminbound": "F(lambda p: (p - s) ** 2 + p ** 4, 0.0, 2.0, xtol=1e-9)",
    "basinhopping": "F(lambda p: np.sum((p - v) ** 2 + p**4), np.ones(3), niter=2, minimizer_kwargs={'tol': 1e-13}).x",
    "differential_evolution": "F(lambda p: np.sum((p - s) ** 2), [(-1, 2)], rng=1, tol=1e-9).x",
    "dual_annealing": "F(lambda p: np.sum((p - s) ** 2 + p ** 4), [(-1, 2)], rng=1, maxiter=20).x",
    "shgo": "F(lambda p: np.sum((p - s) ** 2 + p ** 4), [(-1, 2)]).x",
    "direct": "F(lambda p: np.sum((p - k[0] / 4) ** 2), [(-1, 2)], len_tol=1e-9, vol_tol=1e-18).x",
}
DISTANCE = {
    **rows_like("F(X)", "pdist"),
    **rows_like("F(X, Y)", "cdist directed_hausdorff"),
    **rows_like(
        "F(v, 2 * w)", "braycurtis canberra chebyshev cityblock correlation cosine euclidean sqeuclidean jensenshannon"
    ),
    **rows_like("F(m, ~m)", "dice hamming jaccard rogerstanimoto russellrao sokalsneath yule"),
    "mahalanobis": "F(x, y, S)",
    "minkowski": "F(v, 2 * w, 3)",
    "seuclidean": "F(v, 2 * w, w)",
    "squareform": "F(v)",
}
STATS = {
    **rows_like("F(x)", "zscore gmean hmean skew kurtosis sem iqr moment entropy tmean tvar tstd variation gstd"),
    **rows_like("tuple(F(x))[2]", "describe"),
    **rows_like("F(x, y).statistic", "pearsonr spearmanr"),
    **rows_like("F(x)", "median_abs_deviation kstat kstatvar rankdata"),
    "moment": "F(x, 2)",
    "pmean": "F(x, 2)",
    "zmap": "F(x, y)",
    "gzscore": "F(x)",
    "gaussian_kde": "F(x)(y)",
    "trim_mean": "F(x, 0.2)",
    "boxcox_llf": "F(0.5, x)",
    "linregress": "F(x, y).slope",
    **rows_like("list(F(x, y))", "kendalltau ks_2samp mood pointbiserialr ttest_ind ttest_rel weightedtau wilcoxon"),
    **rows_like("list(F(x, y, b))", "bartlett f_oneway friedmanchisquare kruskal levene"),
    **rows_like("F(x, y).statistic", "chatterjeexi cramervonmises_2samp"),
    **rows_like("list(F(x, y))", "siegelslopes theilslopes"),
    **rows_like("F(x, 0.3)", "boxcox yeojohnson"),
    **rows_like("list(F(x))", "combine_pvalues jarque_bera"),
    "fligner": "list(F(x, t, a ** 2, center='mean'))",
    "ttest_1samp": "list(F(x, 0.4))",
    "yeojohnson_llf": "F(0.5, x)",
    "skewtest": "list(F(np.append(x, y)))",
    "normaltest": "list(F(np.append(x, y)))",
    "differential_entropy": "F(np.append(x, y))",
    "sigmaclip": "F(x)[0]",
}
CLUSTER = {"vq": "F(X, Y)[1]"}
SPARSE_SOLVERS = {
    **rows_like("F(S, x, rtol=1e-13)[0]", "bicgstab cg gmres"),
    "spsolve": "F(S, x)",
    "factorized": "F(S)(x)",
    "expm_multiply": "F(A, x)",
    "spsolve_triangular": "F(np.tril(S), x)",
}
NO_ARRAYS = words("""
SpecialFunctionError SpecialFunctionWarning errstate geterr seterr get_blas_funcs get_lapack_funcs find_best_blas_type
next_fast_len prev_fast_len get_workers set_workers set_backend set_global_backend skip_backend register_backend
""")
