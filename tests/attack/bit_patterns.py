"""Attack on kernels: elementwise functions of all patterns of bits, by NumPy's kernels and in machine code.

Types of 8 and 16 bits have all patterns. Wider floats have every exponent with some mantissas, of both signs, so
NaN of several payloads, infinities and denormals too. Wider integers have powers of 2 and their neighbours.
"""

import contextlib
import itertools

import numpy as np
import scipy.special

import anyshape
import anyshape.numpy as anp
from anyshape.backend.native import launch
from anyshape.backend.native.toolchain import OPERANDS, compiler
from anyshape.scipy import special
from tests.attack.kit import Wrong

CHARS = "?bhilBHILefdFD"
MODES = ({}, {"optimize": "now", "compile": "wait"})
BLOCK = 256  # elements of a call: a kernel that declines one of them leaves all to NumPy
ULPS = {"erfc": 1000.0}  # of SciPy's function; polynomials and NumPy's functions differ by 4 at most
FLUSHED = {"expit", "erfc"}  # SciPy gives 0 where results are subnormal
ROUNDED = {*OPERANDS, "power", "float_power", "logaddexp", "logaddexp2", "deg2rad", "rad2deg", "radians", "degrees",
           "sinc", "angle", "log_expit", "xlogy", "xlog1py"}  # fmt: skip
ANY_ZERO = {"fmax", "fmin", "maximum", "minimum", "clip"}  # of 0 and -0, NumPy takes one or the other by position

# C leaves integers open that hold no infinity, and NumPy's clip loses NaN in one part of a complex bound
OPEN = {(name, char) for name in ("clip", *[f"to {c}" for c in "bhilBHIL"]) for char in "FD"}


def _both(function):
    """Return a function of NumPy's names for our namespace and for NumPy's."""
    return function(anp), function(np)


def _ufuncs():
    """Yield the name of each elementwise ufunc of NumPy with ours, NumPy's and the number of operands."""
    named = {f: name for name, f in vars(np).items() if isinstance(f, np.ufunc) and f.signature is None}
    for f, name in named.items():
        yield f.__name__, (getattr(anp, name), f, f.nin)


def _further():
    """Yield the same for functions whose ops no ufunc has."""
    for exponent in (2, 3, 4, 5, -1, -2, 0.5, 1.5):
        yield f"power {exponent}", (*_both(lambda np, e=exponent: lambda x: x**e), 1)
    for name, decimals in {"round": 0, "tens": -1, "hundredths": 2}.items():
        yield name, (*_both(lambda np, d=decimals: lambda x: np.round(x, d)), 1)
    for char in CHARS:
        yield f"to {char}", (*_both(lambda np, c=char: lambda x: x.astype(c)), 1)
    yield "where", (*_both(lambda np: lambda x, y: np.where(x > y, x, y)), 2)
    yield "clip", (*_both(lambda np: lambda x, y: np.clip(x, y, 100)), 2)
    for name in ("nan_to_num", "real", "imag", "sinc", "angle", "isposinf", "isneginf"):
        yield name, (*_both(lambda np, name=name: getattr(np, name)), 1)
    for name in ("expit", "erf", "erfc", "log_expit", "xlogy", "xlog1py"):
        function = getattr(scipy.special, name)
        yield name, (getattr(special, name), function, function.nin)


FUNCTIONS = {**dict(_ufuncs()), **dict(_further())}


def patterns(char):
    """Return patterns of bits of a dtype, in order."""
    dtype = np.dtype(char)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "c":
        return _complex_patterns(dtype)
    unsigned, bits = np.dtype(f"u{dtype.itemsize}"), 8 * dtype.itemsize
    if bits <= 16:
        return np.arange(1 << bits, dtype=unsigned).view(dtype)
    if dtype.kind in "iu":
        powers = {sign * (1 << k) + near for k in range(bits) for near in (-1, 0, 1) for sign in (-1, 1)}
        return np.array(sorted({n % (1 << bits) for n in powers}), unsigned).view(dtype)
    mantissa = np.finfo(dtype).nmant
    top = 1 << mantissa
    edges = [0, 1, 2, top - 1, top - 2, top // 2, top // 2 + 1, top // 2 - 1, top // 3]
    upper = np.arange(1 << (bits - mantissa), dtype=unsigned) << unsigned.type(mantissa)
    return (upper[:, None] | np.array(edges, unsigned)).reshape(-1).view(dtype)


def _complex_patterns(dtype):
    """Return complex numbers whose parts are some patterns, and all pairs of special ones."""
    part = np.dtype(dtype.char.lower())
    info, every = np.finfo(part), patterns(part.char)
    few = [0, -0.0, 1, -1, 2.5, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal]
    pairs = np.array(list(itertools.product(few, repeat=2)), part)
    others = np.random.default_rng(0).choice(every, (4000, 2))
    return np.concatenate([pairs, others]).view(dtype)[:, 0]


def operands(rng, chars):
    """Return the patterns of the first operand, and some of each other one beside them."""
    first, *others = [patterns(char) for char in chars]
    count = max(map(len, (first, *others)))
    return [np.resize(first, count), *[rng.choice(x, count) for x in others]]


def _parts(x):
    """Return a view of real numbers, and the modulus of each: rounding of complex numbers is measured by it."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind != "c":
        return x, np.abs(x) if x.dtype.kind == "f" else x
    real = x.view(x.real.dtype).reshape(-1, 2)
    return np.where(np.isnan(x)[:, None], np.nan, real), np.abs(x)[:, None]  # both NaN where one is


def differing(name, ours, theirs):
    """Return the numbers of the elements that differ in bits, or by more than the polynomials of machine code do."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return np.arange(theirs.size)
    (x, _), (y, size) = _parts(ours), _parts(theirs)
    same = x == y
    if y.dtype.kind == "f":
        if name not in ANY_ZERO and theirs.dtype.kind == "f":
            same &= np.signbit(x) == np.signbit(y)
        same |= np.isnan(x) & np.isnan(y)
        if name.split()[0] in ROUNDED or theirs.dtype.kind == "c":
            same |= np.abs(x - y) <= ULPS.get(name, 4.0) * np.spacing(size)
        if name in FLUSHED:
            same |= np.abs(x - y) < np.finfo(y.dtype).tiny
    return np.flatnonzero(~same.all(axis=tuple(range(1, same.ndim))))


@contextlib.contextmanager
def kernels_that_are_slower():
    """Let kernels serve in machine code that do not pay."""
    limit, launch.SLOWER = launch.SLOWER, np.inf
    try:
        yield
    finally:
        launch.SLOWER = limit


@kernels_that_are_slower()
def check(name, xs, mode):
    """Compare a function with NumPy's on blocks of operands; return whether NumPy takes such operands."""
    ours, theirs, _ = FUNCTIONS[name]
    jitted = anyshape.jit(lambda *xs: ours(*xs), **mode)
    for start in range(0, len(xs[0]), BLOCK):
        block = [x[start : start + BLOCK] for x in xs]
        try:
            expected = theirs(*block)
        except (TypeError, ValueError, OverflowError):
            return False
        pair = (jitted(*block), expected) if isinstance(expected, tuple) else ([jitted(*block)], [expected])
        for y, right in zip(*pair, strict=True):
            wrong = differing(name, np.asarray(y), np.asarray(right))
            if wrong.size:
                first = wrong[0]
                shown = ", ".join([repr(x[first]) for x in block])
                raise Wrong(f"{name} of {shown} {mode}: {y[first]!r}, NumPy {right[first]!r}; {wrong.size} differ")
    return True


def bit_patterns(rng):
    """Compare one function on all patterns of one dtype, or on so many pairs of them, with NumPy."""
    name, char = list(FUNCTIONS)[rng.integers(len(FUNCTIONS))], CHARS[rng.integers(len(CHARS))]
    mode = MODES[int(rng.integers(4) == 0)] if compiler() else MODES[0]
    if (name, char) in OPEN:
        return "not defined"
    xs = operands(rng, [char] * FUNCTIONS[name][2])
    if "power" in name:  # C libraries differ on power 0 of a signalling NaN, which a product makes quiet
        xs = [x if x.dtype.kind == "b" else x * x.dtype.type(1) for x in xs]
    taken = check(name, xs, mode)
    return "patterns" if taken else "refusals of NumPy"
