"""Programs over other libraries give what NumPy gives: each row of tests/samples, values and gradients.

NumPy's own namespace stands for a library in every environment. The others are tried where they are installed.
"""

import importlib
import importlib.util
import itertools

import numpy as np
import optree
import pytest

import anyshape
from anyshape.backend.xp import libraries
from anyshape.backend.xp.write import compile_graph
from anyshape.errors import AnyshapeError, UnsupportedFunctionError
from anyshape.ops import external
from tests.laws.sweep import (
    arrays_of,
    cases,
    check_equal,
    few_combinations,
    gate_part,
    in_namespace,
    is_error,
    label,
    outcome,
    programs_of,
    split,
    uneven,
)

STANDARD = libraries.Library("NumPy", np, "cpu")
STANDARD.caches = True  # and it writes to arrays that nothing reads later
STANDARD.writers = frozenset([f for f in vars(np).values() if isinstance(f, np.ufunc)])
FIRST = [c for c in cases() if c[2] == c[1].dtypes[0]]
GRADIENTS = [c for c in FIRST if c[1].grad is True and c[2] == "float64"]
# eigenvectors have signs of the library; XLA takes denormal numbers for 0, and JAX's betaln(0, 0) is NaN
DIFFERENT = {"linalg-eigh-float64"}
DENORMAL = {"elementwise-log_edges-float64", "elementwise-log2_edges-float64"} | {
    f"special-special.{name}_edges-float64" for name in ("xlogy", "xlog1py", "rel_entr", "kl_div", "betaln")
}


def on_the_namespace(program, arrays):
    """Return the results of a program over NumPy's namespace as a library."""
    run = compile_graph(program.trace.graph, STANDARD, program.labels)
    return [np.asarray(y) for y in run(*arrays)]


def check_served(program, arrays, expected, case):
    """Compare the results of a program with NumPy's, unless an op has no kernel. Return whether there were any."""
    try:
        got = on_the_namespace(program, arrays)
    except UnsupportedFunctionError as refusal:
        assert "no kernel" in str(refusal) or "has no function" in str(refusal) or "does not order" in str(refusal)
        return False
    check_equal(got, expected, max(case[1].tolerance, 1e-9), label(case))
    return True


@pytest.mark.parametrize("case", gate_part("rows over the standard", FIRST, 24))
def test_values_over_the_standard_are_numpys(case):
    _, row, dtype = case
    if label(case) in DIFFERENT:
        pytest.skip("signs of eigenvectors, and infinities, are the library's")
    jitted = programs_of(case).value
    for sizes in few_combinations(row)[:3]:
        xs = arrays_of(row, sizes, dtype)
        expected = outcome(jitted, *xs)
        if not is_error(expected):
            program = next(p for p in jitted.programs() if p.accepts(*xs))
            if program.trace.written or program.trace.raised or not check_served(program, xs, expected, case):
                return


@pytest.mark.parametrize("case", gate_part("gradients over the standard", GRADIENTS, 48))
def test_gradients_over_the_standard_are_numpys(case):
    _, row, dtype = case
    if label(case) in DIFFERENT:
        pytest.skip("signs of eigenvectors, and infinities, are the library's")
    back = programs_of(case).back
    for sizes in few_combinations(row)[:2]:
        xs = arrays_of(row, sizes, dtype)
        parts = split(row, xs, anyshape.numpy)
        moving, rest = parts.parts(xs)
        results = outcome(parts.function, moving, rest)
        if is_error(results):
            continue
        rng = np.random.default_rng(3)
        weights = [uneven(rng, y) for y in results]
        expected = outcome(back, moving, rest, weights)
        leaves = [*moving, *rest, *weights]
        if not is_error(expected):
            program = next(p for p in back.programs() if p.accepts(*leaves))
            if not check_served(program, leaves, expected, case):
                return


# -- libraries that are installed ------------------------------------------------------------------------------------


def torch_arrays():
    torch = importlib.import_module("torch")
    return lambda x: torch.asarray(np.array(x)), lambda y: y.resolve_conj().resolve_neg().numpy()


def strict_arrays():
    strict = importlib.import_module("array_api_strict")
    return lambda x: strict.asarray(np.array(x)), lambda y: np.asarray(y._array)


def jax_arrays():
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return lambda x: jax.numpy.asarray(np.array(x)), np.asarray


LIBRARIES = {"torch": torch_arrays, "array_api_strict": strict_arrays, "jax": jax_arrays}
INSTALLED = [
    name for name in LIBRARIES if importlib.util.find_spec(name) and importlib.util.find_spec("array_api_compat")
]
NO_DTYPE = {("array_api_strict", "float16")}
MOST_REFUSED = {"torch": 0.10, "jax": 0.10, "array_api_strict": 0.16}  # of all rows; the last has no special functions


def is_refused(case, there, check):
    """Return whether a library refuses a row by name; `check(got, expected, sizes)` compares its results."""
    _, row, dtype = case
    jitted, on_library = programs_of(case).value, anyshape.jit(in_namespace(row, anyshape.numpy))
    for sizes in few_combinations(row)[:2]:
        xs = arrays_of(row, sizes, dtype)
        expected = outcome(jitted, *[x.copy() for x in xs])
        if is_error(expected) or not xs:
            continue
        try:
            got = on_library(*map(there, xs))
        except UnsupportedFunctionError:
            return True
        except AnyshapeError as error:
            assert "writes to it" in str(error) or "random generator" in str(error), (label(case), error)
            return False
        check(optree.tree_leaves(got), expected, sizes)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTALLED)
def test_most_rows_run_on_a_library(name):
    """All rows give what NumPy gives on arrays of the library, but for few that are refused by name."""
    there, back = LIBRARIES[name]()
    different = DIFFERENT | (DENORMAL if name == "jax" else set())

    def check(got, expected, sizes):
        if label(case) not in different:
            results = [y if isinstance(y, np.ndarray) else back(y) for y in got]
            check_equal(results, expected, max(case[1].tolerance, 1e-9), f"{label(case)} on {name} at {sizes}")

    refused = []
    for case in FIRST:
        if (name, case[2]) in NO_DTYPE:
            continue
        if is_refused(case, there, check):
            refused.append(label(case))
    assert len(refused) <= MOST_REFUSED[name] * len(FIRST), f"{len(refused)} of {len(FIRST)}: {refused}"


# -- rows of many options, over the standard -----------------------------------------------------------------------


def coordinates(form, rng, sizes, shape):
    """Return what a form of interpolation takes: points, a matrix with offsets, or scales and offsets of two axes."""
    n, m = (np.array(s, float) for s in (sizes, shape))
    return {
        "points": lambda: rng.uniform(-4, 9, (2, *shape)),
        "matrix": lambda: rng.normal(size=(2, 3)),
        "diagonal": lambda: rng.normal(size=(2, 2)),
        "shift": lambda: np.stack([np.ones(2), rng.uniform(-3, 3, 2)]),
        "zoom": lambda: np.stack([(n - 1) / (m - 1), np.zeros(2)]),
        "grid": lambda: np.stack([n / m, np.zeros(2)]),
    }[form]()


@pytest.mark.filterwarnings("ignore:It is recommended to use mode")
@pytest.mark.parametrize("mode", external.SPLINES)
@pytest.mark.parametrize("form", external.FORMS)
def test_interpolation_has_numpys_values_and_slopes(form, mode):
    rng = np.random.default_rng(7)
    for order, slopes, back in itertools.product((0, 1, 2, 3), ((0, 0), (1, 0), (2, 1)), (False, True)):
        sizes, shape = (5, 4), (5, 4) if form == "shift" else (3, 6)
        source, target = (shape, sizes) if back else (sizes, shape)
        x, p = rng.normal(size=source) + 1j * rng.normal(size=source), coordinates(form, rng, sizes, shape)
        options = {"form": form, "order": order, "mode": mode, "slopes": slopes, "each": False}
        fill = 0.0 if back else 0.7
        run = libraries.ROWS[external.interpolate_op].run
        got = run(STANDARD, x, p, shape=target, fill=fill, back=back, **options)
        expected = external.interpolate(x, p, target, fill=fill, back=back, **options)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("first", ["int8", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("second", ["int64", "uint64"])
def test_integers_with_and_without_signs_are_compared_exactly(first, second):
    ends = lambda dtype: np.array([np.iinfo(dtype).min, 0, 3, np.iinfo(dtype).max // 2 + 1, np.iinfo(dtype).max], dtype)
    x, y = ends(first)[:, None], ends(second)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        program = anyshape.trace(getattr(anyshape.numpy, name))(x, y)
        (got,) = on_the_namespace(program, (x, y))
        assert np.array_equal(got, getattr(np, name)(x, y)), name


KINDS = {dtype: np.array([0, 1, 3, 1, 0, 7], dtype) for dtype in ("bool", "int8", "uint8", "int64")} | {
    "float64": np.array([0.0, 0.5, -1.5, np.nan, -0.75, 3.5]),
    "complex128": np.array([0, 0.5 - 1j, 2.25j, -0.75, 0, 3]),
}  # fmt: skip
OF_ONE = "abs floor ceil trunc isnan isinf isfinite logical_not sign any all count_nonzero square"
OF_TWO = "add multiply maximum fmax fmin power logical_and logical_xor less equal"


@pytest.mark.parametrize("name", INSTALLED)
def test_functions_take_all_kinds_of_numbers(name):
    there, back = LIBRARIES[name]()
    calls = [(f, (x,)) for f in OF_ONE.split() for x in KINDS.values()]
    calls += [(f, (x, y[::-1].copy())) for f in OF_TWO.split() for x in KINDS.values() for y in KINDS.values()]
    calls += [("reciprocal", (np.array([-2, -1, 1, 5]),))]
    calls += [("ldexp", (np.array([0, 1e-300, 1.5]), np.array([2000, 1100, -3])))]
    for function, arrays in calls:
        with np.errstate(all="ignore"):
            try:
                expected = getattr(np, function)(*arrays)
            except (TypeError, ValueError):
                continue
        try:
            result = anyshape.jit(lambda *a, f=function: getattr(np, f)(*a))(*map(there, arrays))
        except UnsupportedFunctionError:
            continue
        got = result if isinstance(result, np.ndarray) else np.asarray(back(result))
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15, err_msg=f"{function} {arrays}")


@pytest.mark.parametrize("name", INSTALLED)
def test_integers_have_no_negative_powers(name):
    there, back = LIBRARIES[name]()
    power = anyshape.jit(lambda x, y: x**y)
    base, exponents = np.array([2, -3, 1]), np.array([3, 0, 2])
    np.testing.assert_array_equal(np.asarray(back(power(there(base), there(exponents)))), base**exponents)
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        power(there(base), there(-exponents))
    np.testing.assert_allclose(
        np.asarray(back(power(there(base * 1.0), there(-exponents)))), base ** (-1.0 * exponents)
    )
