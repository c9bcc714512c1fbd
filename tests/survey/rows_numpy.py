"""Calls of NumPy's functions, one for each that its signature does not tell.

A row is a name, a colon and an expression. F stands for the function, letters are operands of the survey.
"""

from tests.survey.text import rows, rows_like, words

NUMPY = {
    **rows_like("F(k, k[::-1])", "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor"),
    **rows_like("F(k, k[::-1])", "gcd lcm left_shift right_shift"),
    **rows_like("F(k)", "bitwise_count bitwise_invert bitwise_not invert bincount"),
    **rows_like("F(x.shape[0])", "bartlett blackman hamming hanning identity tri diag_indices eye ones zeros"),
    **rows_like("F(x.shape[0])", "tril_indices triu_indices arange"),
    **rows_like("F([x, y])", "concat concatenate stack vstack hstack dstack column_stack block"),
    **rows_like("F(A)", "diag_indices_from diagonal fliplr matrix_transpose rot90 trace tril_indices_from"),
    **rows_like("F(A)", "triu_indices_from tril triu"),
    **rows_like("F(X[:, :2], 2, 1)", "array_split split"),
    **rows_like("F(x, [0.2, 0.7])", "quantile nanquantile"),
    **rows_like("F(x, [20, 70])", "percentile nanpercentile"),
    **rows(
        """
allclose: F(x, x)
append: F(x, y)
apply_along_axis: F(lambda r: r * 2, 0, X)
apply_over_axes: F(np.sum, X, [0])
arccosh: F(a)
acosh: F(a)
argpartition: np.take(x, F(x, 2))[2]
array_equal: F(x, x)
array_equiv: F(x, x)
astype: F(x, np.complex128)
broadcast_arrays: F(X, v)
broadcast_to: F(x, (2, x.shape[0]))
corrcoef: F(X, rowvar=False)
cov: F(X, rowvar=False)
empty: F(x.shape[0]) * 0
empty_like: F(x) * 0
polyval: F(v, x)
row_stack: F([x, y])
squeeze: F(x[None], 0)
broadcast_shapes: np.zeros(F(x.shape, (3, 1)))
choose: F(i % 2, [x, y])
clip: F(x, 0.2, 0.7)
compress: F(m, x)
copyto: written(F, x, y)
cross: F(X, Y)
delete: F(x, 1)
digitize: F(x, t)
dsplit: F(X[:, :, None], 1)
einsum: F('i,ij->j', x, A)
einsum_path: F('i,ij->j', x, A)
expand_dims: F(x, 0)
extract: F(m, x)
fill_diagonal: written(F, A, 0.5)
fromfunction: F(lambda p, q: p + q, (x.shape[0], 2))
full: F((x.shape[0], 2), s)
full_like: F(x, s)
geomspace: F(s, 3.0, 5)
histogram_bin_edges: F(x, 5)
hsplit: F(X[:, :2], 2)
indices: F((x.shape[0], 2))
insert: F(x, 1, y[:1])
interp: F(x, t, y)
isin: F(k, [1, 2])
ix_: F(k, i)
kaiser: F(x.shape[0], 2.0)
ldexp: F(x, k)
lexsort: F((x, y))
linspace: F(s, x.shape[0], 5)
logspace: F(s, 2.0, 5)
mask_indices: F(x.shape[0], np.triu)
matvec: F(A, x)
max: F(x)
meshgrid: F(x, y)
moveaxis: F(X, 0, 1)
packbits: F(m)
pad: F(x, 1)
partition: F(x, 2)[2]
piecewise: F(x, [x < 0.5], [lambda p: p * 2, lambda p: p + 1])
place: written(F, x, m, y)
polyfit: F(x, y, 2)
polyint: F(x)
put: written(F, x, [0, 2], [0.5, 0.6])
put_along_axis: written(F, x, i[:2], y[:2], 0)
putmask: written(F, x, m, y)
ravel_multi_index: F((i, i), (5, 5))
repeat: F(x, k)
reshape: F(X, (3, -1))
resize: F(x, (2, 2))
result_type: np.zeros(3, F(x, k))
rollaxis: F(X, 1)
roll: F(x, 2)
select: F([m], [x], 0.5)
searchsorted: F(t, x)
sinc: F(x)
swapaxes: F(X, 0, 1)
take: F(x, i)
take_along_axis: F(x, i, 0)
tensordot: F(A, B, 1)
tile: F(x, 2)
trim_zeros: F(x)
unravel_index: F(i, (5, 5))
unpackbits: F(np.packbits(m))
unwrap: F(x * 9)
vander: F(x, 3)
vecmat: F(x, A)
vsplit: F(np.reshape(np.append(x, y), (2, -1)), 2)
where: F(m, x, y)
histogram2d: F(x, y, 4)
histogramdd: F(X, 3)
frexp: F(x)
from_dlpack: F(x)
roots: np.sort(np.abs(F(v)))
poly: F(v)
polyder: F(x)
real_if_close: F(x)
vectorize: F(lambda p: p * 2)(x)
sort_complex: F(z)
sum: F(x)
trapezoid: F(x)
average: F(x, None, y)
shape: np.zeros(F(x))
ndim: np.zeros(F(X))
size: np.zeros(F(x))
"""
    ),
}
LINALG = {
    **rows_like("F(A)", "cond det diagonal inv matrix_norm matrix_transpose norm pinv slogdet svdvals trace"),
    **rows_like("F(S + np.matrix_transpose(S))", "cholesky eigvalsh matrix_rank"),
    **rows(
        """
cross: F(X, Y)
eig: np.sort(np.abs(F(A)[0]))
eigh: (F(S + np.matrix_transpose(S))[0], np.abs(F(S + np.matrix_transpose(S))[1]))
eigvals: F(A) + 0j
lstsq: F(X, y)[0]
matrix_power: F(A, 3)
multi_dot: F([A, B, A])
qr: np.abs(F(X)[1])
solve: F(A, x)
svd: F(A)[1]
tensordot: F(A, B, axes=1)
tensorinv: F(A, 1)
tensorsolve: F(A, x)
"""
    ),
}
FFT = {
    **rows_like("F(x)", "fft ihfft rfft fftshift ifftshift"),
    **rows_like("F(z)", "ifft hfft irfft"),
    **rows_like("F(X)", "fft2 rfft2 fftn rfftn"),
    **rows_like("F(X + 0.5j * Y)", "ifft2 irfft2 ifftn irfftn"),
    **rows_like("F(x.shape[0])", "fftfreq rfftfreq"),
}
NO_ARRAYS = words("""
asarray_chkfinite asmatrix base_repr binary_repr bmat busday_count busday_offset can_cast common_type datetime_as_string
datetime_data einsum_path format_float_positional format_float_scientific frombuffer fromfile fromiter frompyfunc
fromregex fromstring genfromtxt get_include get_printoptions getbufsize geterr geterrcall info is_busday isdtype isnat
issubdtype iterable load loadtxt mask_indices may_share_memory min_scalar_type mintypecode nested_iters printoptions
promote_types save savetxt savez savez_compressed set_printoptions setbufsize seterr seterrcall shares_memory
show_config show_runtime test typename array2string array_repr array_str isscalar c_ r_ s_ index_exp mgrid ogrid
broadcast require isfortran
""")
