"""Elementary functions in C: errors in ulp, results and flags at the edges, and the same bits for every machine."""

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import anyshape.backend.native
from anyshape.backend.compiler.c_expressions import Elementary
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.native.toolchain import FILES, OPERANDS
from anyshape.graph.ir.graph import OPS

FOLDER = Path(anyshape.backend.native.__file__).parent
COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
FLAGS = ["-O3", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
WIDE = ["-march=native", "-mprefer-vector-width=512"] if platform.machine() == "x86_64" else []
TRIG_MAX = 2.0**24
DTYPES = {np.float64: ("double", ""), np.float32: ("float", "f")}


def ulp(name):
    """The largest error of a function in ulp, which stands in the row of its op."""
    rule = TRAITS[OPS[name]].c_expression
    assert isinstance(rule, Elementary)
    return rule.ulp


# name: NumPy's function, libm's, and the largest error in ulp
FUNCTIONS = {
    "exp": (np.exp, "exp", ulp("exp")),
    "log": (np.log, "log", ulp("log")),
    "sin": (np.sin, "sin", ulp("sin")),
    "cos": (np.cos, "cos", ulp("cos")),
    "tanh": (np.tanh, "tanh", ulp("tanh")),
    "log1p": (np.log1p, "log1p", ulp("log1p")),
    "expm1": (np.expm1, "expm1", ulp("expm1")),
    "erf": (scipy.special.erf, "erf", ulp("erf")),
    "pow": (np.power, "pow", ulp("pow")),
    "exp2": (np.exp2, "exp2", ulp("exp2")),
    "log2": (np.log2, "log2", ulp("log2")),
    "log10": (np.log10, "log10", ulp("log10")),
    "sinh": (np.sinh, "sinh", ulp("sinh")),
    "cosh": (np.cosh, "cosh", ulp("cosh")),
    "expit": (scipy.special.expit, "expit", ulp("expit")),
    "arctan": (np.arctan, "atan", ulp("arctan")),
    "tan": (np.tan, "tan", ulp("tan")),
    "arcsin": (np.arcsin, "asin", ulp("arcsin")),
    "arccos": (np.arccos, "acos", ulp("arccos")),
    "arcsinh": (np.arcsinh, "asinh", ulp("arcsinh")),
    "arccosh": (np.arccosh, "acosh", ulp("arccosh")),
    "arctanh": (np.arctanh, "atanh", ulp("arctanh")),
    "cbrt": (np.cbrt, "cbrt", ulp("cbrt")),
    "erfc": (scipy.special.erfc, "erfc", ulp("erfc")),
    "arctan2": (np.arctan2, "atan2", ulp("arctan2")),
    "hypot": (np.hypot, "hypot", ulp("hypot")),
}
NUMPY_ULPS = {"erfc": 100.0}  # errors of NumPy's and SciPy's functions at the edges, if they are more than 1
BINARY = {"pow", "arctan2", "hypot"}
PERIODIC = {"sin", "cos", "tan"}
POSITIVE = {"log", "log2", "log10"}

LOOPS = """
void run_{name}({arguments}, {T} *restrict out, long n) {{
    _Pragma("omp simd") for (long j = 0; j < n; j++) out[j] = as_{name}({values});
}}
int flags_{name}({arguments}, {T} *out, long n) {{
    feclearexcept(FE_ALL_EXCEPT);
    run_{name}({operands}, out, n);
    int raised = fetestexcept(FE_ALL_EXCEPT);
    return ((raised & FE_OVERFLOW) != 0) | ((raised & FE_INVALID) != 0) << 1 | ((raised & FE_DIVBYZERO) != 0) << 2;
}}
void exact_{name}({arguments}, long double *out, long n) {{
    for (long j = 0; j < n; j++) out[j] = {exact}l({values});
}}
"""
RAISED = ("over", "invalid", "divide")  # the bits of flags_*, by the names of np.errstate


def source():
    """Return C text with loops over each function, and the same functions of libm for long double."""
    text = "".join(f'#include "{FOLDER / name}"\n' for name in FILES) + "#include <fenv.h>\n#include <math.h>\n"
    text += "static long double expitl(long double x) { return 1 / (1 + expl(-x)); }\n"
    for name, (_, libm, _) in FUNCTIONS.items():
        operands = ["x", "y"] if name in BINARY else ["x"]
        for T, suffix in DTYPES.values():
            arguments = ", ".join(f"const {T} *restrict {x}" for x in operands)
            values = ", ".join(f"{x}[j]" for x in operands)
            text += LOOPS.format(
                name=name + suffix, exact=libm, T=T, arguments=arguments, operands=", ".join(operands), values=values
            )
    return text


def compiled(folder, options):
    """Compile the loops; return them with what the compiler says of vectors."""
    text, library = folder / "loops.c", folder / "loops.so"
    text.write_text(source(), encoding="utf-8")
    command = [COMPILER, *FLAGS, *options, "-Wall", "-shared", "-fPIC", "-o", str(library), str(text), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library)), done.stderr


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C compiler")
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout
    gcc = "Free Software Foundation" in version
    loops, said = compiled(tmp_path_factory.mktemp("elementary"), [*WIDE, *(["-fopt-info-vec"] if gcc else [])])
    return loops, said if gcc else None


@pytest.fixture(scope="session")
def loops(build):
    return build[0]


def call(loops, kind, name, operands, dtype=None):
    """Run one loop over arrays; return its results, and the flags that it raised if it tells them."""
    first = operands[0]
    out = np.empty(first.shape, dtype or first.dtype)
    function = getattr(loops, f"{kind}_{name}{DTYPES[first.dtype.type][1]}")
    return out, function(*[x.ctypes.data_as(ctypes.c_void_p) for x in (*operands, out)], ctypes.c_long(first.size))


def ulps(y, exact):
    """Return the errors of y in units of its last place, subnormal results included."""
    info = np.finfo(y.dtype)
    exponent = np.maximum(np.frexp(exact)[1].astype(int), info.minexp + 1) - 1 - info.nmant
    with np.errstate(all="ignore"):
        error = np.abs(y - exact) / np.ldexp(np.longdouble(1), exponent)
        same = (exact.astype(y.dtype) == y) | (np.isnan(exact) & np.isnan(y))
    return np.where(same, np.minimum(np.nan_to_num(error), 0.5), np.where(np.isnan(error), np.inf, error))


# Where a function changes its formula, overflows, or has a zero: points are taken around.
THRESHOLDS = [
    1.0,
    2.0,
    0.5**0.5,
    0.3466,
    1.0397,
    0.5625,
    22.0,
    709.78,
    708.4,
    745.13,
    88.72,
    87.3,
    103.9,
    5.93,
    3.93,
    2**-12,
    2**-54,
]


def pairs(dtype, count, seed):
    """Return x and y of many scales, whose powers reach from underflow to overflow, and integers."""
    draw = np.random.default_rng(seed)
    info = np.finfo(dtype)
    x = 2.0 ** draw.uniform(info.minexp, info.maxexp - 1, count)
    near = 1 + draw.uniform(0.01, 1, count) * 2.0 ** draw.uniform(-info.nmant, 0, count)
    bits = draw.uniform(info.minexp - info.nmant, info.maxexp, 2 * count)
    y = bits / np.log2(np.concatenate([x, near]).astype(dtype).astype(float) + 1e-17)
    integers = draw.integers(-50, 50, (2, count))
    common = np.abs(draw.normal(size=count)), draw.uniform(-10, 10, count)
    x = np.concatenate([x, near, integers[0], common[0]]).astype(dtype)
    return x, np.concatenate([y, integers[1], common[1]]).astype(dtype)


def points(name, dtype, count, seed):
    """Return operands: random bits, several scales, around thresholds and around multiples of pi/2."""
    draw = np.random.default_rng(seed)
    integer = np.int64 if dtype is np.float64 else np.int32
    bits = draw.integers(np.iinfo(integer).min, np.iinfo(integer).max, count, dtype=integer, endpoint=True)
    near = draw.choice(THRESHOLDS, count) * (1 + draw.uniform(-1, 1, count) * 2.0 ** draw.uniform(-53, -3, count))
    quarter = draw.integers(-(2**24), 2**24, count) * 2 // 3 * np.longdouble("1.5707963267948966192313")
    scales = draw.uniform(-1, 1, count) * 2.0 ** draw.uniform(-45, 10, count)
    with np.errstate(all="ignore"):
        parts = [bits.view(dtype), near, -near, scales, draw.uniform(-3, 3, count), draw.uniform(-800, 800, count)]
        parts += [
            quarter,
            np.nextafter(quarter.astype(dtype), dtype(0)),
            np.nextafter(quarter.astype(dtype), dtype(1e9)),
        ]
        x = np.concatenate([np.asarray(part, dtype) for part in parts])
    x = np.abs(x) if name in POSITIVE else x
    return (x[~(np.abs(x) > TRIG_MAX)] if name in PERIODIC else x,)


def operands_of(name, dtype, count, seed):
    return pairs(dtype, count, seed) if name in BINARY else points(name, dtype, count, seed)


def errors_above_bounds(loops, count):
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("long double is not wider than double")
    for dtype in DTYPES:
        for seed, (name, (_, _, bound)) in enumerate(FUNCTIONS.items()):
            operands = operands_of(name, dtype, count, seed)
            exact = call(loops, "exact", name, operands, np.longdouble)[0]
            error = ulps(call(loops, "run", name, operands)[0], exact)
            worst = np.argmax(error)
            if error[worst] > bound:
                yield f"{name} of {[x[worst] for x in operands]}: {error[worst]:.3f} ulp"


def test_every_function_is_measured():
    assert set(FUNCTIONS) == set(OPERANDS)


@pytest.mark.slow
def test_errors_stay_within_the_bounds(loops):
    assert not list(errors_above_bounds(loops, 5_000))


@pytest.mark.slow
def test_errors_of_many_operands_stay_within_the_bounds(loops):
    assert not list(errors_above_bounds(loops, 500_000))


def edges(name, dtype):
    """Return zeros, infinities, NaN, denormals, extremes, thresholds, and their neighbours, with both signs."""
    info = np.finfo(dtype)
    values = [0, 1, 0.5, 2, 3, 1.5, 100, 1000, 1e5, 1e10, TRIG_MAX, info.tiny, info.smallest_subnormal, info.max]
    with np.errstate(all="ignore"):
        x = np.array([*values, *THRESHOLDS, np.inf, np.nan], dtype)
        x = np.concatenate([x, np.nextafter(x, dtype(np.inf)), np.nextafter(x, dtype(0))])
    x = np.concatenate([x, -x])
    if name in BINARY:
        few = [
            0,
            1,
            0.5,
            2,
            3,
            2.5,
            info.nmant,
            2.0**info.nmant,
            2.0**info.nmant + 1,
            info.tiny,
            info.max,
            np.inf,
            np.nan,
        ]
        few = [*few, *np.negative(few)]
        # AVX-512 loops of NumPy warn of overflow for infinite powers of huge numbers; C has no flag there.
        return [(dtype(x), dtype(y)) for x in few for y in few if not (abs(x) == info.max and y == np.inf)]
    if name == "expit":  # SciPy gives 0 where exp(-x) overflows; the results are subnormal
        x = x[~((x < -0.98 * info.maxexp * np.log(2)) & np.isfinite(x))]
    elif name in PERIODIC:
        x = x[~((np.abs(x) > TRIG_MAX) & np.isfinite(x))]
    return [(y,) for y in x]


def numpy_raises(function, *operands):
    """Return the flags that NumPy warns of, as bits in the order of RAISED."""
    bits = 0
    for bit, flag in enumerate(RAISED):
        try:
            with np.errstate(**(dict.fromkeys(RAISED, "ignore") | {flag: "raise"})):
                function(*operands)
        except FloatingPointError:
            bits |= 1 << bit
    return bits


def unlike_numpy(loops, name, function, bound, values):
    """Return how results and flags of some operands differ from NumPy's, or None."""
    operands = [np.full(19, value) for value in values]  # whole vectors and a rest
    y, raised = call(loops, "flags", name, operands)
    with np.errstate(all="ignore"):
        expected = function(*operands)
    special = not np.isfinite(values).all() or 0 in (values[0], expected[0]) or not np.isfinite(expected[0])
    same = y.tobytes() == expected.tobytes() or (np.isnan(y).all() and np.isnan(expected).all())
    close = not special and (ulps(y, expected.astype(np.longdouble)) <= bound + NUMPY_ULPS.get(name, 1)).all()
    if (same or close) and raised == numpy_raises(function, *operands):
        return None
    return f"{name} of {values}: {y[0]!r}, NumPy {expected[0]!r}; flags {raised:03b}"


def test_edges_have_the_bits_and_the_flags_of_numpy(loops):
    rows = [(name, *row[::2], values) for d in DTYPES for name, row in FUNCTIONS.items() for values in edges(name, d)]
    assert not list(filter(None, (unlike_numpy(loops, *row) for row in rows)))


def test_operands_beyond_the_reduction_are_nan_and_invalid(loops):
    for dtype in DTYPES:
        for name in PERIODIC:
            for value in (np.nextafter(dtype(TRIG_MAX), dtype(np.inf)), dtype(-1e30), np.finfo(dtype).max):
                y, raised = call(loops, "flags", name, [np.full(19, value, dtype)])
                assert np.isnan(y).all() and raised == 0b010, (name, value, y, raised)


def test_gcc_vectorises_every_loop(build):
    _, said = build
    if said is None or platform.machine() != "x86_64":
        pytest.skip("only gcc tells, and the baseline of others may lack vectors")
    lines = source().splitlines()
    starts = [line for line, text in enumerate(lines, 1) if text.startswith("void run_")]
    vectorised = {int(line.split(":")[1]) for line in said.splitlines() if "loop vectorized" in line}
    assert not [lines[start - 1] for start in starts if start + 1 not in vectorised]


@pytest.mark.slow
def test_bits_are_the_same_without_wide_vectors(loops, tmp_path):
    narrow, _ = compiled(tmp_path, [])
    for dtype in DTYPES:
        for seed, name in enumerate(FUNCTIONS):
            operands = operands_of(name, dtype, 20_000, seed)
            results = [call(library, "run", name, operands)[0] for library in (loops, narrow)]
            np.testing.assert_array_equal(*results)
