"""Elementwise kernels: a function of the standard where there is one that does as NumPy does."""

from functools import partial

import numpy as np

from anyshape.backend.xp.libraries import INT, alike, kernel, numpy_dtype
from anyshape.errors import UnsupportedFunctionError
from anyshape.ops import elementwise as ew

alike(
    {
        ew.sub_op: "subtract", ew.div_op: "divide", ew.neg_op: "negative",
        ew.square_op: "square", ew.sqrt_op: "sqrt", ew.length_op: "sqrt", ew.exp_op: "exp",
        ew.expm1_op: "expm1", ew.log_op: "log", ew.log2_op: "log2", ew.log10_op: "log10", ew.log1p_op: "log1p",
        ew.logaddexp_op: "logaddexp", ew.sin_op: "sin", ew.cos_op: "cos", ew.tan_op: "tan", ew.arcsin_op: "asin",
        ew.arccos_op: "acos", ew.arctan_op: "atan", ew.arctan2_op: "atan2", ew.sinh_op: "sinh", ew.cosh_op: "cosh",
        ew.tanh_op: "tanh", ew.arcsinh_op: "asinh", ew.arccosh_op: "acosh", ew.arctanh_op: "atanh",
        ew.rint_op: "round", ew.sign_op: "sign",
        ew.hypot_op: "hypot", ew.copysign_op: "copysign", ew.signbit_op: "signbit", ew.nextafter_op: "nextafter",
        ew.bitwise_and_op: "bitwise_and", ew.bitwise_or_op: "bitwise_or",
        ew.bitwise_xor_op: "bitwise_xor", ew.invert_op: "bitwise_invert", ew.select_op: "where", ew.real_op: "real",
        ew.imag_op: "imag", ew.conj_op: "conj",
    }
)  # fmt: skip


def _truth(xp, x):
    return x if xp.kind(x) == "b" else x != 0


for _op in (ew.logical_and_op, ew.logical_or_op, ew.logical_xor_op, ew.logical_not_op):
    kernel(_op, lambda xp, *xs, _name=_op.name: getattr(xp, _name)(*[_truth(xp, x) for x in xs]))


def _but(kinds, name, run):
    """Return the kernel of a function of the library, or another one where an operand is of some kinds."""
    return run, lambda xp, params, metas: None if any(m.dtype.kind in kinds for m in metas) else getattr(xp, name)


for _titles, _run in (  # the standard has no such functions of bools
    ("add", lambda xp, x, y: xp.logical_or(x, y)), ("multiply", lambda xp, x, y: xp.logical_and(x, y)),
    ("abs floor ceil trunc", lambda xp, x: x), ("isnan isinf", lambda xp, x: xp.zeros_like(x)),
    ("isfinite", lambda xp, x: xp.ones_like(x)),
):  # fmt: skip
    for _name in _titles.split():
        _op = getattr(ew, f"{ {'multiply': 'mul'}.get(_name, _name) }_op")
        _run, _case = _but("b", _name, _run)
        kernel(_op, _run, specialise=_case)


def _of_two_kinds(xp, name, x, y):
    """Compare integers with and without signs: those beyond int64 are larger than all others."""
    is_second = xp.kind(y) == "u"
    x, y = (xp.convert(v, INT) for v in (x, y))
    result, beyond = getattr(xp, name)(x, y), (y if is_second else x) < 0
    if name == "not_equal" or name.startswith("less" if is_second else "greater"):
        return result | beyond
    return result & ~beyond


def _comparison(name, real=""):
    """Return the kernel of a comparison: complex numbers are ordered by their real parts first."""

    def run(xp, x, y):
        if {xp.kind(x), xp.kind(y)} == {"i", "u"}:
            return _of_two_kinds(xp, name, x, y)
        if not real:
            return getattr(xp, name)(x, y)
        if xp.kind(x) != "c":
            return getattr(xp, name)(*[xp.convert(v, np.dtype(np.int8)) if xp.kind(v) == "b" else v for v in (x, y)])
        a, b, c, d = xp.real(x), xp.real(y), xp.imag(x), xp.imag(y)
        return getattr(xp, real)(a, b) | ((a == b) & getattr(xp, name)(c, d))

    def specialise(xp, params, metas):
        kinds = {meta.dtype.kind for meta in metas}
        return None if kinds == {"i", "u"} or (real and kinds & {*"bc"}) else getattr(xp, name)

    return run, specialise


for _op, _names in (
    (ew.eq_op, ("equal",)), (ew.ne_op, ("not_equal",)),
    (ew.lt_op, ("less", "less")), (ew.le_op, ("less_equal", "less")),
    (ew.gt_op, ("greater", "greater")), (ew.ge_op, ("greater_equal", "greater")),
):  # fmt: skip
    _run, _case = _comparison(*_names)
    kernel(_op, _run, specialise=_case)


def _extreme(name, is_first, of_bools):
    """Return the kernel of a larger or smaller element; NaN comes first."""

    def run(xp, x, y):
        if xp.kind(x) == "b":
            return getattr(xp, of_bools)(x, y)
        before = is_first(xp, x, y) | xp.isnan(x)
        return xp.where(before, x, y)

    def specialise(xp, params, metas):
        return getattr(xp, name) if metas[0].dtype.kind in "iuf" else None

    return run, specialise


_is_larger, _ = _comparison("greater_equal", "greater")
_is_smaller, _ = _comparison("less_equal", "less")
for _op, _name, _first, _bools in (
    (ew.max_op, "maximum", _is_larger, "logical_or"),
    (ew.min_op, "minimum", _is_smaller, "logical_and"),
):
    _run, _case = _extreme(_name, _first, _bools)
    kernel(_op, _run, specialise=_case)


def _without_nan(extreme, run):
    either = lambda xp, x, y: (getattr(xp, extreme) if xp.kind(x) in "iuf" else partial(run, xp))(x, y)
    return lambda xp, x, y: xp.where(x != x, y, xp.where(y != y, x, either(xp, x, y)))


kernel(ew.fmax_op, _without_nan("maximum", _extreme("maximum", _is_larger, "logical_or")[0]))
kernel(ew.fmin_op, _without_nan("minimum", _extreme("minimum", _is_smaller, "logical_and")[0]))


# -- division and powers


def _of_zero(xp, x, y, divide):
    """Divide integers: by zero it gives 0."""
    is_zero = y == 0
    return xp.where(is_zero, xp.zeros_like(x), divide(x, xp.where(is_zero, xp.ones_like(y), y)))


def _fmod(xp, x, y):
    """Return the rest with the sign of the dividend."""
    is_integer = xp.kind(x) in "iu"
    if not is_integer and xp.name != "array_api_strict":
        return xp.fmod(x, y)
    rest = _of_zero(xp, x, y, xp.remainder) if is_integer else xp.remainder(x, y)
    rest = xp.where((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)
    return rest if is_integer else xp.where(xp.isinf(y) & xp.isfinite(x), x, rest)


def _divided(xp, x, y):
    """Return quotient and rest of floats as NumPy computes them, from the rest with the sign of the dividend."""
    rest = _fmod(xp, x, y)
    moves = (rest != 0) & ((y < 0) != (rest < 0))
    quotient = (x - rest) / y - xp.astype(moves, x.dtype)
    below = xp.floor(quotient)
    near = xp.where(quotient - below > 0.5, below + 1, below)
    near = xp.where(quotient == 0, xp.copysign(xp.zeros_like(near), x / y), near)
    rest = xp.where(moves, rest + y, xp.where(rest == 0, xp.copysign(rest, y), rest))
    return xp.where(y == 0, x / y, near), rest


def _quotient(xp, x, y):
    return _of_zero(xp, x, y, xp.floor_divide) if xp.kind(x) in "iu" else _divided(xp, x, y)[0]


def _remainder(xp, x, y):
    return _of_zero(xp, x, y, xp.remainder) if xp.kind(x) in "iu" else _divided(xp, x, y)[1]


kernel(ew.floor_divide_op, _quotient)
kernel(ew.fmod_op, _fmod)
kernel(ew.remainder_op, _remainder)
kernel(ew.reciprocal_op, lambda xp, x: xp.reciprocal(x) if xp.kind(x) in "fc" else xp.where(
    xp.square(x) == 1, x, xp.zeros_like(x)))  # fmt: skip


def _pow(xp, x, y):
    """Return a power of complex numbers or integers; libraries differ at the complex 0 and at negative exponents."""
    if xp.kind(x) == "i":
        if xp.checks and bool(xp.any(y < 0)):
            raise ValueError("Integers to negative integer powers are not allowed.")
        return xp.pow(x, y)
    of_zero = xp.where(xp.real(y) > 0, xp.zeros_like(x), xp.full_like(x, complex("nan+nanj")))
    return xp.where(y == 0, xp.ones_like(x), xp.where(x == 0, of_zero, xp.pow(x, y)))


def _of_exponents(node):
    return "whether exponents are negative" if node.inputs[0].meta.dtype.kind == "i" else ""


_run, _case = _but("ci", "pow", _pow)
kernel(ew.pow_op, _run, specialise=_case, reads=_of_exponents)


def _power_by(xp, x, *, exponent):
    if exponent == 3:
        return xp.square(x) * x
    y = xp.asarray(exponent, dtype=x.dtype, device=xp.device)
    return _pow(xp, x, y) if xp.kind(x) == "c" else xp.pow(x, y)


kernel(ew.power_by_op, _power_by)


def _root(xp, x):
    """Return the cube root, by a power and one step of Newton's method."""
    size = xp.abs(x)
    guess = xp.pow(size, xp.asarray(1 / 3, dtype=x.dtype, device=xp.device))
    usual = (size > 0) & xp.isfinite(size)
    near = xp.where(usual, guess, xp.ones_like(guess))
    step = (near - xp.where(usual, size, xp.ones_like(size)) / xp.square(near)) / 3
    return xp.copysign(xp.where(usual, near - step, size), x)


kernel(ew.cbrt_op, _root)
kernel(ew.exp2_op, lambda xp, x: xp.pow(xp.full_like(x, 2), x))


def _logaddexp2(xp, x, y):
    top = xp.maximum(x, y)
    usual = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    powers = [xp.pow(xp.full_like(v, 2), v - usual) for v in (x, y)]
    return xp.where(xp.isfinite(top), xp.log2(powers[0] + powers[1]) + usual, top)


kernel(ew.logaddexp2_op, _logaddexp2)


def _lcm(xp, x, y):
    common = _gcd(xp, x, y)
    return xp.abs(_of_zero(xp, x, common, xp.floor_divide) * y)


def _gcd(xp, x, y):
    """Return common divisors by Euclid's algorithm, whose steps are as many as the dtype has bits and a half more."""
    x, y = xp.abs(x), xp.abs(y)
    if xp.name in ("PyTorch", "JAX", "CuPy"):
        return xp.gcd(x, y)
    for _ in range(96):
        x, y = xp.where(y == 0, x, y), _of_zero(xp, x, y, xp.remainder)
    return x


kernel(ew.gcd_op, _gcd)
kernel(ew.lcm_op, _lcm)
kernel(ew.heaviside_op, lambda xp, x, y: xp.where(x != x, x, xp.where(x == 0, y, xp.astype(x > 0, x.dtype))))
kernel(ew.round_op, lambda xp, x, *, decimals: _rounded(xp, x, decimals))


def _rounded(xp, x, decimals):
    if decimals == 0 or (xp.kind(x) in "iu" and decimals > 0):
        return xp.round(x)
    if xp.kind(x) in "iu":
        step = 10**-decimals
        return xp.astype(xp.round(xp.astype(x, xp.dtype(np.dtype(float))) / step) * step, x.dtype)
    scale = 10.0 ** abs(decimals)
    return xp.round(x * scale) / scale if decimals > 0 else xp.round(x / scale) * scale


def _left_shift(xp, x, y):
    wide = y >= 8 * numpy_dtype(x).itemsize
    return xp.where(wide, xp.zeros_like(x), xp.bitwise_left_shift(x, xp.where(wide, xp.zeros_like(y), y)))


def _right_shift(xp, x, y):
    wide = y >= 8 * numpy_dtype(x).itemsize
    signs = xp.where(x < 0, xp.full_like(x, -1) if xp.kind(x) == "i" else xp.zeros_like(x), xp.zeros_like(x))
    return xp.where(wide, signs, xp.bitwise_right_shift(x, xp.where(wide, xp.zeros_like(y), y)))


kernel(ew.left_shift_op, _left_shift)
kernel(ew.right_shift_op, _right_shift)


# -- conversions, complex numbers and choices

kernel(ew.convert_op, lambda xp, x, *, dtype: xp.convert(x, dtype))


def _complex(xp, x, y):
    """Make complex numbers of their parts; multiplying by 1j would make NaN of infinities."""
    if xp.name == "PyTorch":
        return xp.torch.complex(*xp.torch.broadcast_tensors(x, y))
    if xp.name == "JAX":
        return xp.jax.lax.complex(*xp.broadcast_arrays(x, y))
    dtype = xp.dtype(np.result_type(numpy_dtype(x), np.complex64))
    imaginary = xp.astype(y, dtype) * xp.asarray(1j, dtype=dtype, device=xp.device)
    return xp.astype(x, dtype) + xp.where(xp.isfinite(y), imaginary, xp.asarray(0j, dtype=dtype, device=xp.device))


kernel(ew.complex_op, _complex)


def _narrow(xp, x, *, dtype):
    limits = np.iinfo(dtype)
    outside = (x < int(limits.min)) | (x > int(limits.max))
    if xp.checks and bool(xp.any(outside)):
        value = xp.host(x)[xp.host(outside)].flat[0]
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
    return xp.convert(x, dtype)


kernel(ew.narrow_op, _narrow, reads="whether Python's integers fit")


_LIMIT = 2.0**63


def _python_int(xp, x, *ys, operator):
    """Compute with int64; raise OverflowError where Python's int would be beyond it, as floats tell up to rounding."""
    if operator not in _EXACT:
        advice = "compute it with arrays of NumPy, or outside of the function"
        raise UnsupportedFunctionError(operator, f"Python's {operator} of ints has no kernel over {xp.name}", advice)
    exact, wide = getattr(xp, operator.replace("absolute", "abs")), np.dtype(float)
    estimate = exact(*[xp.convert(v, wide) for v in (x, *ys)])
    if xp.checks and bool(xp.any(xp.abs(estimate) >= _LIMIT)):
        raise OverflowError(f"{operator} of Python ints is out of bounds for int64")
    return exact(x, *ys)


_EXACT = ("add", "subtract", "multiply", "negative", "absolute")
kernel(ew.python_int_op, _python_int, reads="whether Python's integers fit")


def _bit_count(xp, x):
    """Count the bits that are set, one after the other."""
    x = xp.abs(x) if xp.kind(x) == "i" else x
    count, one = xp.zeros_like(x), xp.ones_like(x)
    for i in range(8 * numpy_dtype(x).itemsize):
        count = count + xp.bitwise_and(xp.bitwise_right_shift(x, one * i), one)
    return xp.convert(count, np.dtype(np.uint8))


kernel(ew.bitwise_count_op, _bit_count)


def _ldexp(xp, x, n):
    """Multiply by three powers of two, as one may be beyond the dtype where the result is not."""
    most = np.finfo(numpy_dtype(x)).maxexp - 1
    n = xp.clip(xp.convert(n, np.dtype(np.float64)), -3 * most, 3 * most)
    third = xp.trunc(n / 3)
    two, steps = xp.full_like(x, 2), (third, third, n - 2 * third)
    for step in steps:
        x = x * xp.pow(two, xp.astype(step, x.dtype))
    return x


kernel(ew.ldexp_op, _ldexp)


def _frexp(xp, x):
    mantissa, exponent = xp.frexp(x)
    return mantissa, xp.convert(exponent, np.dtype(np.int32))


kernel(ew.frexp_op, _frexp)
kernel(ew.spacing_op, lambda xp, x: xp.copysign(xp.nextafter(xp.abs(x), xp.full_like(x, float("inf"))) - xp.abs(x), x))


# -- for derivatives at edges


def _share(xp, x, y):
    half = xp.astype(x >= y, x.dtype) + xp.astype(x > y, x.dtype)
    return xp.where((x != x) | (y != y), xp.full_like(x + y, float("nan")), half * 0.5)


def _ratio(xp, x, y):
    undefined = (x == 0) & (y == 0)
    return xp.where(undefined, xp.zeros_like(x), x / xp.where(undefined, xp.ones_like(y), y))


def _gap(xp, x, y):
    return xp.where((x == y) & ~xp.isfinite(x), xp.zeros_like(x), x - y)


def saturated(xp, share, x, near, far):
    """Return a slope by one formula of a share, and by another where it is so close to 1 that digits are lost.

    The first one may write to its operand.
    """
    steep = ew.STEEP[numpy_dtype(x).char]
    # a maximum takes a quarter of the time of a comparison
    if xp.reads_freely and (0 in share.shape or bool(xp.max(share, axis=tuple(range(share.ndim))) <= steep)):
        return near(share)
    return xp.where(share > steep, far(x), near(share))


def logistic_slope(xp, x):
    """Return e / (1 + e)**2 for a small e = exp(-|x|)."""
    power = xp.exp(-xp.abs(x))
    return power * (1 - power * (2 - 3 * power))


def _tanh_slope(xp, x, y):
    square = xp.square(y)
    return saturated(xp, square, x, xp.complement, lambda x: 4 * logistic_slope(xp, 2 * x))


kernel(ew.share_op, _share)
kernel(ew.ratio_op, _ratio)
kernel(ew.direction_op, lambda xp, x, y, z: _ratio(xp, x, z))
kernel(ew.gap_op, _gap)
kernel(ew.tanh_slope_op, _tanh_slope, is_apart=True)
