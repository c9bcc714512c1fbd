"""The table of functions that random programs of the attack are made of: NumPy's and SciPy's, one row each.

Values stay in a range where rounding cannot decide much. Functions that grow take bounded arguments, and functions that
jump take arguments that hardly ever hit a jump.
"""

from math import inf, nan
from types import SimpleNamespace

import numpy
import scipy.special

import anyshape.numpy
from tests.attack.preparation import apart, bounded, integers, positive, rank, regular, uneven
from tests.attack.signals import SIGNALS
from tests.attack.structured import CONTROL, PLAIN, STRUCTURED
from tests.laws.random_programs import TABLE, Row

# NumPy as it is, and with the functions that make arrays of sizes which only a run knows.
EAGER = SimpleNamespace(**vars(numpy), **PLAIN, special=scipy.special)
NAMESPACE = SimpleNamespace(
    **vars(numpy)
    | {name: getattr(anyshape.numpy, name) for name in ("arange", "zeros", "ones", "full", "eye", "linspace", "tri")},
    **CONTROL,
    special=anyshape.numpy.special,
)


def _unary(names, prepare, smooth=True):
    return {
        name: Row(lambda np, x, name=name: getattr(np, name)(prepare(np, x)), smooth=smooth) for name in names.split()
    }


def _signed(np, y):
    """Return numbers that have a sign: that of NaN is not defined."""
    y = uneven(np, y) + 0.517
    return np.where(np.isnan(y), 1.0, y)


def _binary(names, prepare, other, smooth=True):
    return {
        name: Row(lambda np, x, y, name=name: getattr(np, name)(prepare(np, x), other(np, y)), 2, smooth=smooth)
        for name in names.split()
    }


def _special(names, prepare, smooth=True):
    return {
        f"special {name}": Row(lambda np, x, name=name: getattr(scipy.special, name)(prepare(np, x)), smooth=smooth)
        for name in names.split()
    }


def _axis(choices, x):
    return (choices.integer(2 * x.ndim) - x.ndim,) if x.ndim else None


def _axis_and_flag(choices, x):
    return (*_axis(choices, x), bool(choices.integer(2))) if x.ndim else None


def _reductions(names, prepare, smooth=True):
    return {
        f"{name} over an axis": Row(
            lambda np, x, axis, keep, name=name: getattr(np, name)(prepare(np, x), axis=axis, keepdims=keep),
            arguments=_axis_and_flag,
            smooth=smooth,
        )
        for name in names.split()
    }


def _along(names, prepare, smooth=True):
    return {
        f"{name} along an axis": Row(
            lambda np, x, axis, name=name: getattr(np, name)(prepare(np, x), axis=axis), 1, _axis, smooth=smooth
        )
        for name in names.split()
    }


def _movements():
    """Return rows that move elements, by name, with the ranks that they take."""
    rows = {
        "fliplr": (lambda np, x: np.fliplr(x), 2),
        "flipud": (lambda np, x: np.flipud(x), 1),
        "rot90": (lambda np, x: np.rot90(x, 3), 2),
        "moveaxis": (lambda np, x: np.moveaxis(x, 0, -1), 1),
        "rollaxis": (lambda np, x: np.rollaxis(x, -1), 1),
        "atleast_1d": (lambda np, x: np.atleast_1d(x), 0),
        "atleast_2d": (lambda np, x: np.atleast_2d(x), 0),
        "atleast_3d": (lambda np, x: np.atleast_3d(x), 0),
        "ravel": (lambda np, x: np.ravel(x), 0),
        "broadcast_to": (lambda np, x: np.broadcast_to(x, (3, *x.shape)), 0),
        "hstack": (lambda np, x: np.hstack([x, x[:1]]), 1),
        "vstack": (lambda np, x: np.vstack([x, x]), 1),
        "dstack": (lambda np, x: np.dstack([x, x * 2]), 1),
        "column_stack": (lambda np, x: np.column_stack([x, x]), 1),
        "append": (lambda np, x: np.append(x, x[:2], axis=0), 1),
        "array_split": (lambda np, x: np.array_split(x, 3)[1], 1),
        "hsplit": (lambda np, x: np.hsplit(np.concatenate([x, x], -1), 2)[1], 2),
        "triu": (lambda np, x: np.triu(x, 1), 2),
        "diagonal": (lambda np, x: np.diagonal(x), 2),
        "diag": (lambda np, x: np.diag(x, -1), 1),
        "diagflat": (lambda np, x: np.diagflat(x[:3]), 1),
        "trace": (lambda np, x: np.trace(x, 1), 2),
        "pad wrap": (lambda np, x: np.pad(x, 1, mode="wrap"), 1),
        "pad edge": (lambda np, x: np.pad(x, (1, 0), mode="edge"), 1),
        "pad reflect": (lambda np, x: np.pad(x, 1, mode="reflect"), 1),
        "every other": (lambda np, x: x[::2], 1),
        "backwards in pairs": (lambda np, x: x[-1::-2], 1),
        "inner part": (lambda np, x: x[1:-1], 1),
        "last axis reversed": (lambda np, x: x[..., ::-1], 1),
        "by an array of indices": (lambda np, x: x[np.arange(x.shape[0])[::-1]], 1),
        "by an outer index": (lambda np, x: x[np.arange(x.shape[0])[:, None], np.arange(x.shape[1])], 2),
        "roll all": (lambda np, x: np.roll(x, -3), 0),
        "repeat flat": (lambda np, x: np.repeat(x, 2), 0),
        "resized by a size": (lambda np, x: np.tile(x, x.ndim + 1), 1),
        "meshgrid": (lambda np, x: np.meshgrid(x, x[:2], indexing="ij")[0], 1),
        "copy": (lambda np, x: x.copy(), 0),
        "insert an axis twice": (lambda np, x: x[None, ..., None], 0),
        "take_along_axis": (lambda np, x: np.take_along_axis(x, np.zeros((1,) * x.ndim, int), axis=0), 1),
    }
    return {name: Row(run, 1, rank(least, 3)) for name, (run, least) in rows.items()}


def _of_matrices():
    """Return rows of linear algebra and of products."""
    return {
        "inner": Row(lambda np, x, y: np.inner(bounded(np, x), bounded(np, y)), 2),
        "dot": Row(lambda np, x, y: np.dot(bounded(np, x), bounded(np, y)), 2),
        "vdot": Row(lambda np, x, y: np.vdot(bounded(np, x), bounded(np, y)), 2),
        "kron": Row(lambda np, x, y: np.kron(bounded(np, x), bounded(np, y)[:2]), 2, rank(1, 2)),
        "outer of flat": Row(lambda np, x, y: np.multiply.outer(bounded(np, x), bounded(np, y)), 2, rank(0, 2)),
        "norm": Row(lambda np, x: np.linalg.norm(positive(np, x))),
        "norm of rows": Row(lambda np, x: np.linalg.norm(positive(np, x), axis=-1), 1, rank(1)),
        "norm 1": Row(lambda np, x: np.linalg.norm(positive(np, x), 1, axis=0), 1, rank(1)),
        "norm inf": Row(lambda np, x: np.linalg.norm(uneven(np, x), inf, axis=-1), 1, rank(1)),
        "matrix_power": Row(lambda np, x: np.linalg.matrix_power(bounded(np, x) * 0.3, 3), 1, rank(2)),
        "inv": Row(lambda np, x: np.linalg.inv(regular(np, x)), 1, rank(1)),
        "det": Row(lambda np, x: np.linalg.det(regular(np, x)), 1, rank(1)),
        "slogdet": Row(lambda np, x: np.linalg.slogdet(regular(np, x))[1], 1, rank(1)),
        "cholesky": Row(lambda np, x: np.linalg.cholesky(regular(np, x)), 1, rank(1)),
        "solve": Row(lambda np, x: np.linalg.solve(regular(np, x), bounded(np, x)[..., None]), 1, rank(1)),
        "eigvalsh": Row(lambda np, x: np.linalg.eigvalsh(regular(np, x)), 1, rank(1), smooth=False),
        "eigvals": Row(lambda np, x: np.abs(np.linalg.eigvals(regular(np, x))), 1, rank(1), smooth=False),
        "lstsq": Row(lambda np, x: np.linalg.lstsq(regular(np, x), bounded(np, x))[0], 1, rank(1)),
        "svdvals": Row(lambda np, x: np.linalg.svdvals(regular(np, x)), 1, rank(1), smooth=False),
        "norm 2": Row(lambda np, x: np.linalg.norm(regular(np, x), 2, axis=(-2, -1)), 1, rank(1), smooth=False),
        "pinv": Row(lambda np, x: np.linalg.pinv(regular(np, x)), 1, rank(1)),
        "multi_dot": Row(lambda np, x: np.linalg.multi_dot([m := bounded(np, x), m.T, m]), 1, rank(2, 2)),
        "cross": Row(
            lambda np, x, y: np.cross(bounded(np, x)[..., [0, -1, 0]], bounded(np, y)[..., [-1, 0, 0]]), 2, rank(1)
        ),
        "einsum of three": Row(
            lambda np, x, y: np.einsum("ij,jk,ik->k", bounded(np, x), bounded(np, y), bounded(np, x @ y)),
            2,
            rank(2, 2),
        ),
        # square at all sizes: of an empty axis beside one of size 1 NumPy's einsum reads what is not there
        "einsum diagonal": Row(lambda np, x: np.einsum("ii->i", bounded(np, x) @ bounded(np, x).T), 1, rank(2, 2)),
        "covariance": Row(lambda np, x: np.cov(bounded(np, x)), 1, rank(2, 2)),
        "trapezoid": Row(lambda np, x: np.trapezoid(bounded(np, x)), 1, rank(1)),
        "interp": Row(lambda np, x: np.interp(bounded(np, x), [-1.01, 0.2, 1.01], [0.3, -1.0, 2.0])),
        "piecewise": Row(lambda np, x: np.select([np.real(x) > 0.51, np.real(x) < -0.47], [x * 2, x * 3], 0.5)),
    }


def _by_data():
    """Return rows whose sizes, order or choices depend on values. Ties are of equal values alone."""
    plain = {
        "masked": lambda np, x: (v := uneven(np, x))[v > 0.3],
        "masked sum": lambda np, x: np.sum((v := uneven(np, x))[v < 0.9]),
        "compress": lambda np, x: np.compress(uneven(np, x).ravel() > 0, np.ravel(x)),
        "extract": lambda np, x: np.extract(uneven(np, x) > 0, x),
        "flatnonzero": lambda np, x: np.flatnonzero(uneven(np, x) > 0),
        "argwhere": lambda np, x: np.argwhere(uneven(np, x) > 1),
        "nonzero": lambda np, x: np.nonzero(uneven(np, x) > 0)[0],
        "unique": lambda np, x: np.unique(integers(np, x)),
        "unique counts": lambda np, x: np.unique(integers(np, x), return_counts=True)[1],
        "bincount": lambda np, x: np.bincount(integers(np, x).ravel() + 7),
        "union1d": lambda np, x: np.union1d(integers(np, x), [1, 3, 9]),
        "intersect1d": lambda np, x: np.intersect1d(integers(np, x), [1, 3, -2]),
        "setdiff1d": lambda np, x: np.setdiff1d(integers(np, x), [0, 2]),
        "isin": lambda np, x: np.isin(integers(np, x), [0, 1, -3]),
        "searchsorted": lambda np, x: np.searchsorted(np.sort(uneven(np, x).ravel()), [-0.61, 0.77]),
        "sort": lambda np, x: np.sort(uneven(np, x), axis=-1),
        "argsort": lambda np, x: np.argsort(integers(np, x), axis=-1, kind="stable"),
        "argmax": lambda np, x: np.argmax(apart(np, x)),
        "argmin of rows": lambda np, x: np.argmin(integers(np, x), axis=-1),
        "median": lambda np, x: np.median(uneven(np, x)),
        "quantile": lambda np, x: np.quantile(uneven(np, x), 0.3),
        "percentile of rows": lambda np, x: np.percentile(uneven(np, x), [10, 75], axis=-1),
        # never empty: weights that sum to zero are an error of another class, as the docs say
        "average": lambda np, x: np.average((v := np.append(bounded(np, x), 0.3)), weights=positive(np, v)),
        "ediff1d": lambda np, x: np.ediff1d(bounded(np, x)),
        "trim_zeros": lambda np, x: np.trim_zeros(integers(np, x).ravel()),
        "count_nonzero": lambda np, x: np.count_nonzero(integers(np, x), axis=0),
        "nan sum": lambda np, x: np.nansum(np.where(uneven(np, x) > 0.7, nan, x)),
        "nan mean": lambda np, x: np.nanmean(np.where(uneven(np, x) > 0.7, nan, np.real(x)), axis=-1),
        "nan max": lambda np, x: np.nanmax(np.where(uneven(np, x) > 0.7, nan, uneven(np, x))),
        "infinite": lambda np, x: np.max(np.where(uneven(np, x) > 1.7, inf, uneven(np, x))),
        "ptp": lambda np, x: np.ptp(uneven(np, x)),
        "running maximum": lambda np, x: np.maximum.accumulate(uneven(np, x).ravel()),
        "logaddexp reduce": lambda np, x: np.logaddexp.reduce(bounded(np, x).ravel()),
    }
    return {name: Row(run, smooth=False) for name, run in plain.items()}


def _of_integers():
    """Return rows of integer arithmetic and of bits."""
    names = "gcd lcm bitwise_and bitwise_or bitwise_xor floor_divide remainder fmod left_shift right_shift"
    rows = {
        f"integer {name}": Row(
            lambda np, x, y, name=name: getattr(np, name)(integers(np, x), np.abs(integers(np, y)) + 1), 2, smooth=False
        )
        for name in names.split()
    }
    rows["invert"] = Row(lambda np, x: ~integers(np, x), smooth=False)
    rows["divmod"] = Row(lambda np, x: divmod(integers(np, x), 3)[1], smooth=False)
    rows["to small"] = Row(lambda np, x: integers(np, x).astype("int8") * 9, smooth=False)
    rows["unsigned"] = Row(lambda np, x: np.abs(integers(np, x)).astype("uint8") - 3, smooth=False)
    return rows


def _write_slices(np, x):
    """Write to slices that overlap what is read."""
    y = bounded(np, x) * 1.5
    y[..., 1:] += y[..., :-1]
    y[..., :1] = y[..., -1:] * 2
    return y


def _write_through_views(np, x):
    """Write to views of views, and read the array and other views of it."""
    y = bounded(np, x) * 1.5
    columns, backwards = y.T, y[..., ::-1]
    columns[:1] *= 3
    backwards[..., :1] -= columns.T[..., :1]
    y += 0.25
    return y + backwards


def _write_elements(np, x):
    """Write where a mask holds, and at positions."""
    y = uneven(np, x) * 1.5
    y[y > 0.7] = 0.5
    y[..., [0, -1]] = y[..., [-1, 0]]
    return y


FUNCTIONS: dict[str, Row] = {
    **TABLE,
    "write slices": Row(_write_slices, 1, rank(1)),
    "write through views": Row(_write_through_views, 1, rank(1)),
    "write elements": Row(_write_elements, 1, rank(1), smooth=False),
    # of a NaN the sign is not specified
    "signbit": Row(lambda np, x: np.signbit(np.nan_to_num(uneven(np, x))), smooth=False),
    **_unary("cos sinh cosh arctan arcsinh expm1 exp2 sinc deg2rad rad2deg square reciprocal cbrt", positive),
    **_unary("log2 log10 log1p", positive),
    **_unary("arcsin arccos arctanh tan", lambda np, x: bounded(np, x) * 0.9),
    **_unary("arccosh", lambda np, x: positive(np, x) + 1.0),
    **_unary("sign ceil rint trunc fix isfinite isnan logical_not fabs", uneven, smooth=False),
    **_unary("real imag angle", lambda np, x: x * (1 + 0.5j), smooth=False),
    **_unary("nan_to_num", lambda np, x: np.real(x) / np.floor(uneven(np, x)), smooth=False),
    **_binary("arctan2 hypot logaddexp logaddexp2 float_power", positive, positive),
    **_binary("fmax fmin nextafter heaviside", uneven, lambda np, y: uneven(np, y) + 0.517, smooth=False),
    **_binary("copysign", uneven, _signed, smooth=False),
    **_binary("less equal not_equal greater_equal logical_and logical_or logical_xor", uneven, integers, smooth=False),
    **_special("expit erf erfc ndtr log_ndtr gammaln digamma i0e i1e k0e j0 j1 entr log_expit dawsn exp1", positive),
    **_special("erfinv ndtri", lambda np, x: bounded(np, x) ** 2 * 0.4 + 0.3),
    **_reductions("sum mean std var", positive),
    **_reductions("prod", lambda np, x: bounded(np, x) + 1.5),
    **_reductions("max min amax amin ptp all any median nansum nanmean nanmax", uneven, smooth=False),
    **_along("cumsum cumprod diff", lambda np, x: bounded(np, x) + 1.1),
    **_along("sort argmax argmin", apart, smooth=False),
    **{
        f"special {name} along an axis": Row(
            lambda np, x, axis, name=name: getattr(np.special, name)(bounded(np, x), axis=axis), 1, _axis
        )
        for name in ("logsumexp", "softmax", "log_softmax")
    },
    **_movements(),
    **_of_matrices(),
    **_by_data(),
    **_of_integers(),
    **SIGNALS,
    **STRUCTURED,
}
