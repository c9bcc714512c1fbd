"""Public names of JAX, by module, and the version that they were read from."""

from tests.survey.text import words

VERSION = "0.10.2"

NAMES = {
    "numpy": words(
        "ComplexWarning abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis "
        "apply_over_axes arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition "
        "argsort argwhere around array array_equal array_equiv array_repr array_split array_str asarray asin asinh "
        "astype atan atan2 atanh atleast_1d atleast_2d atleast_3d average bartlett bincount bitwise_and bitwise_count "
        "bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman block bool "
        "bool_ broadcast_arrays broadcast_shapes broadcast_to c_ can_cast cbrt cdouble ceil character choose clip "
        "column_stack complex128 complex64 complex_ complexfloating compress concat concatenate conj conjugate "
        "convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross csingle cumprod cumsum "
        "cumulative_prod cumulative_sum deg2rad degrees delete diag diag_indices diag_indices_from diagflat diagonal "
        "diff digitize divide divmod dot double dsplit dstack dtype e ediff1d einsum einsum_path empty empty_like "
        "equal euler_gamma exp exp2 expand_dims expm1 extract eye fabs fill_diagonal finfo flatnonzero flexible flip "
        "fliplr flipud float16 float32 float_ float_power floating floor floor_divide fmax fmin fmod frexp "
        "from_dlpack frombuffer fromfile fromfunction fromiter frompyfunc fromstring full full_like gcd generic "
        "geomspace get_printoptions gradient greater greater_equal hamming hanning heaviside histogram histogram2d "
        "histogram_bin_edges histogramdd hsplit hstack hypot i0 identity iinfo imag index_exp indices inexact inf "
        "inner insert int16 int32 int64 int8 int_ integer interp intersect1d invert isclose iscomplex iscomplexobj "
        "isdtype isfinite isin isinf isnan isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ kaiser "
        "kron lcm ldexp left_shift less less_equal lexsort linspace load log log10 log1p log2 logaddexp logaddexp2 "
        "logical_and logical_not logical_or logical_xor logspace mask_indices matmul matrix_transpose matvec max "
        "maximum mean median meshgrid mgrid min minimum mod modf moveaxis multiply nan nan_to_num nanargmax nanargmin "
        "nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar "
        "ndarray ndim negative newaxis nextafter nonzero not_equal number object_ ogrid ones ones_like outer packbits "
        "pad partition percentile permute_dims pi piecewise place poly polyadd polyder polydiv polyfit polyint "
        "polymul polysub polyval positive pow power printoptions prod promote_types ptp put put_along_axis quantile "
        "r_ rad2deg radians ravel ravel_multi_index real reciprocal remainder repeat reshape resize result_type "
        "right_shift rint roll rollaxis roots rot90 round s_ save savez searchsorted select set_printoptions "
        "setdiff1d setxor1d shape sign signbit signedinteger sin sinc single sinh size sort sort_complex spacing "
        "split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile trace "
        "transpose trapezoid tri tril tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from "
        "true_divide trunc ufunc uint uint16 uint32 uint64 uint8 union1d unique unique_all unique_counts "
        "unique_inverse unique_values unpackbits unravel_index unsignedinteger unstack unwrap vander var vdot vecdot "
        "vecmat vectorize vsplit vstack where zeros zeros_like"
    ),
    "numpy.linalg": words(
        "cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power "
        "matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv "
        "tensorsolve trace vecdot vector_norm"
    ),
    "numpy.fft": words(
        "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq "
        "rfftn"
    ),
    "scipy.cluster.vq": words("vq"),
    "scipy.fft": words("dct dctn idct idctn"),
    "scipy.integrate": words("trapezoid"),
    "scipy.interpolate": words("RegularGridInterpolator"),
    "scipy.linalg": words(
        "block_diag cho_factor cho_solve cholesky circulant companion convolution_matrix det dft eigh "
        "eigh_tridiagonal expm expm_frechet fiedler fiedler_companion funm hadamard hankel helmert hessenberg hilbert "
        "inv invhilbert invpascal leslie lu lu_factor lu_solve pascal polar qr qr_multiply rsf2csf schur solve "
        "solve_sylvester solve_triangular sqrtm svd toeplitz"
    ),
    "scipy.ndimage": words("map_coordinates"),
    "scipy.optimize": words("OptimizeResults minimize"),
    "scipy.signal": words("convolve convolve2d correlate correlate2d csd detrend fftconvolve istft stft welch"),
    "scipy.sparse.linalg": words("bicgstab cg gmres"),
    "scipy.spatial.transform": words("Rotation Slerp"),
    "scipy.special": words(
        "bernoulli bessel_jn beta betainc betaln boxcox boxcox1p comb dawsn digamma entr erf erfc erfcx erfinv exp1 "
        "expi expit expn factorial fresnel gamma gammainc gammaincc gammaln gammasgn hyp1f1 hyp2f1 i0 i0e i1 i1e "
        "kl_div log_ndtr log_softmax loggamma logit logsumexp multigammaln ndtr ndtri owens_t poch polygamma rel_entr "
        "sici softmax spence sph_harm_y wofz xlog1py xlogy zeta"
    ),
    "scipy.stats": words("gaussian_kde mode rankdata sem"),
    "scipy.stats.bernoulli": words("cdf logpmf pmf ppf"),
    "scipy.stats.beta": words("cdf logcdf logpdf logsf pdf sf"),
    "scipy.stats.betabinom": words("logpmf pmf"),
    "scipy.stats.binom": words("logpmf pmf"),
    "scipy.stats.cauchy": words("cdf isf logcdf logpdf logsf pdf ppf sf"),
    "scipy.stats.chi2": words("cdf logcdf logpdf logsf pdf sf"),
    "scipy.stats.dirichlet": words("logpdf pdf"),
    "scipy.stats.expon": words("cdf logcdf logpdf logsf pdf ppf sf"),
    "scipy.stats.gamma": words("cdf logcdf logpdf logsf pdf sf"),
    "scipy.stats.gennorm": words("cdf logpdf pdf"),
    "scipy.stats.geom": words("logpmf pmf"),
    "scipy.stats.gumbel_l": words("cdf logcdf logpdf logsf pdf ppf sf"),
    "scipy.stats.gumbel_r": words("cdf logcdf logpdf logsf pdf ppf sf"),
    "scipy.stats.laplace": words("cdf logpdf pdf"),
    "scipy.stats.logistic": words("cdf isf logpdf pdf ppf sf"),
    "scipy.stats.multinomial": words("logpmf pmf"),
    "scipy.stats.multivariate_normal": words("logpdf pdf"),
    "scipy.stats.nbinom": words("logpmf pmf"),
    "scipy.stats.norm": words("cdf isf logcdf logpdf logsf pdf ppf sf"),
    "scipy.stats.pareto": words("cdf logcdf logpdf logsf pdf ppf sf"),
    "scipy.stats.poisson": words("cdf entropy logpmf pmf"),
    "scipy.stats.t": words("logpdf pdf"),
    "scipy.stats.truncnorm": words("cdf logcdf logpdf logsf pdf sf"),
    "scipy.stats.uniform": words("cdf logpdf pdf ppf"),
    "scipy.stats.vonmises": words("logpdf pdf"),
    "scipy.stats.wrapcauchy": words("logpdf pdf"),
}
