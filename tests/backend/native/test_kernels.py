"""Programs with compiled kernels, against the same programs with NumPy's kernels."""

import re
import threading
import warnings

import numpy
import pytest
import scipy.special

import anyshape
import anyshape.numpy as np
from anyshape.backend.native import kernels as native
from anyshape.backend.native import launch
from anyshape.errors import RunFloatingPointError
from anyshape.scipy import special
from tests.backend.native.compiled import assert_bits, compiled, launched, needs_compiler, states

pytestmark = needs_compiler
SIZES = (0, 1, 2, 5, 1023, 1024, 1025, 3000)


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def normalised(x, scale, shift):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift


def cross_entropy(x):
    return (np.log(np.sum(np.exp(x - x.max(axis=1)[:, None]), axis=1)) + x.max(axis=1)).sum()


def distances(x, y):
    return np.exp(-((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)).sum(axis=1)


def likelihood(x, means, scales):
    """Axes of x and of the parameters have different names, and one length."""
    z = (x[:, None, :] - means) * np.exp(-scales)
    scores = -0.5 * np.sum(z * z, axis=2)
    most = scores.max(axis=1)
    return np.sum(np.log(np.sum(np.exp(scores - most[:, None]), axis=1)) + most)


def ties(x):
    top = x.max(axis=1, keepdims=True, initial=-9)
    first = (x == top) & ~np.isnan(x)
    split = first.any(axis=1) & ~(x > 0).all(axis=1)
    return np.where(split[:, None], np.where(first, 1 / first.sum(axis=1, keepdims=True), 0), x)


def clipped(x):
    return np.where(x > 0, np.minimum(x, 1.0), 0.1 * x) * np.abs(x) + np.maximum(x, -0.5)


def head(x):
    return (np.sin(x[: x.shape[0] // 2]) ** 2).sum()


def many(x):
    """Twelve calls of elementary functions, which run in strips."""
    for _ in range(4):
        x = np.where(x > 0, np.sin(x), np.tanh(x)) * np.exp(-x * x) - 0.5
    return x


PROGRAMS = {
    "many functions": (lambda x: (many(x), np.sum(many(x) * x)), ["n"]),
    "gradient of many functions": (anyshape.grad(lambda x: many(x).sum()), ["n"]),
    "many functions in rows": (lambda x: many(x) - many(x).max(axis=1, keepdims=True), ["n", "w"]),
    "chain": (lambda x: np.tanh(np.sin(x) * x + 1) - x / 3, ["n"]),
    "sum": (lambda x: np.sum(np.sin(x) * x), ["n"]),
    "gradient": (anyshape.grad(lambda x: np.sum(np.sin(x) * x)), ["n"]),
    "clipped": (clipped, ["n"]),
    "gradient of clipped": (anyshape.grad(lambda x: clipped(x).sum()), ["n"]),
    "head": (anyshape.grad(head), ["n"]),
    "softmax": (softmax, ["n", "m"]),
    "gradient of softmax": (anyshape.grad(lambda x: (softmax(x) ** 2).sum()), ["n", "m"]),
    "cross entropy": (anyshape.value_and_grad(cross_entropy), ["n", "m"]),
    "columns": (lambda x: (np.tanh(x) * x).sum(axis=0), ["n", "m"]),
    "largest of columns": (lambda x: (np.tanh(x) * x).max(axis=0, initial=-9.0), ["n", "m"]),
    "ties": (ties, ["n", "m"]),
    "three axes": (lambda x: np.exp(-x * x).sum(axis=(1, 2)), ["n", "m", "k"]),
    "middle axis": (lambda x: (np.exp(x) * x).sum(axis=1) + 1, ["n", "m", "k"]),
    "row and column": (
        lambda x: (x - x.sum(axis=1)[:, None]) * x.min(axis=1, keepdims=True, initial=2) + 1,
        ["n", "m"],
    ),
}


def operand(names, n, seed=0, dtype=float, m=7):
    shape = [{"n": n, "m": m, "k": 3, "w": 257}[name] for name in names]
    return numpy.random.default_rng(seed).normal(size=shape).astype(dtype)


def assert_near(ours, theirs, tolerance):
    for x, y in zip(ours if isinstance(ours, tuple) else (ours,), theirs if isinstance(theirs, tuple) else (theirs,)):
        assert x.dtype == y.dtype and x.shape == y.shape
        scale = numpy.abs(y).max(initial=1e-30)
        numpy.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_compiled_program_gives_what_numpy_gives_at_every_size(name, dtype):
    function, names = PROGRAMS[name]
    ours, theirs = compiled(function), anyshape.jit(function, optimize="now")
    tolerance = 1e-11 if dtype == "float64" else 2e-4
    for n in SIZES:
        if n or name not in ("softmax", "gradient of softmax"):
            x = operand(names, n, dtype=dtype, m=40 if n % 2 else 7)  # loops in rows, and across short rows
            assert_near(ours(x), theirs(x), tolerance)
    assert "compiled" in states(ours)
    assert ours.cache_info().traces == theirs.cache_info().traces == 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_lengths_around_those_of_vectors_and_strips(dtype):
    function, names = PROGRAMS["cross entropy"]
    ours, theirs = compiled(function), anyshape.jit(function, optimize="now")
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    for m in (25, 31, 32, 33, 255, 256, 257, 272, 273, 511, 513):
        x = operand(names, 9, dtype=dtype, m=m)
        assert_near(ours(x), theirs(x), tolerance)
    assert "compiled" in states(ours)


def test_elements_that_pad_a_strip_set_no_flags():
    ours = compiled(lambda x: np.sum(np.log(x + 1) * x, axis=1))
    with launched() as returned:
        for m in (25, 31, 257):
            x = numpy.random.default_rng(m).uniform(1, 2, (9, m))
            with numpy.errstate(all="ignore"):
                ours(numpy.full((9, 256), -1.0))  # leaves zeros in the memory of strips
            with numpy.errstate(all="raise"):
                assert_near(ours(x), (numpy.log(x + 1) * x).sum(axis=1), 1e-12)
    assert len(returned) == 6 and None not in returned
    assert states(ours) == ["compiled"]


def test_axes_of_several_operands():
    for function, shapes in (
        (normalised, lambda n: [(n, 7), (7,), (7,)]),
        (normalised, lambda n: [(n, 4, 7), (7,), (7,)]),
        (distances, lambda n: [(n, 3), (5, 3)]),
        (anyshape.grad(likelihood, argnums=(1, 2)), lambda n: [(n, 3), (5 * n, 3), (5 * n, 3)]),
        (anyshape.grad(likelihood, argnums=(1, 2)), lambda n: [(n, 40), (9, 40), (9, 40)]),
    ):
        ours, theirs = compiled(function), anyshape.jit(function, optimize="now")
        for n in (1, 2, 5, 80, 300):
            arrays = [numpy.random.default_rng(i).normal(size=s) for i, s in enumerate(shapes(n))]
            assert_near(ours(*arrays), theirs(*arrays), 1e-11)
        assert set(states(ours)) == {"compiled"}


def test_patterns_of_broadcasts_and_mixed_precision():
    def mixed(x, y):
        return (x * y).sum(axis=0) + np.tanh(x)

    shapes = [
        ((3, 4), (3, 4)),
        ((3, 4), (1, 4)),
        ((3, 4), (3, 1)),
        ((1, 4), (3, 4)),
        ((1, 1), (5, 6)),
        ((5, 1), (5, 1)),
    ]
    ours = compiled(lambda x, y: np.tanh(x + y) * x - y)
    for first, second in shapes:
        x, y = (numpy.random.default_rng(i).normal(size=s) for i, s in enumerate((first, second)))
        assert_near(ours(x, y), numpy.tanh(x + y) * x - y, 1e-12)
    assert not [state for state in states(ours) if "differs" in state]
    function, x = compiled(mixed), operand(["n", "m"], 6, dtype="float32")
    assert_near(function(x, x.astype(float)), mixed(x, x.astype(float)), 1e-6)
    assert states(function) == ["compiled"]


def test_rows_by_an_index():
    def function(table, index, weights):
        return np.sum(np.tanh(table[index]) * weights, axis=1), table[index] * 2 + 1

    ours, theirs = compiled(function), anyshape.jit(function, optimize="now")
    rng = numpy.random.default_rng(0)
    table = rng.normal(size=(9, 11))
    for n in SIZES:
        index, weights = rng.integers(-9, 9, n), rng.normal(size=(n, 11))
        for rows in (table, table.T[:, :5].copy().T, table[::-1], table[:, ::-1]):
            index = numpy.clip(index, -len(rows), len(rows) - 1)
            for a, b in zip(ours(rows, index, weights), theirs(rows, index, weights), strict=True):
                assert_near(a, b, 1e-12)
    assert states(ours) == ["compiled"]
    for wrong in (9, -10):
        with pytest.raises(IndexError):
            ours(table, numpy.array([0, wrong]), numpy.ones((2, 11)))
    with pytest.raises(IndexError):
        ours(table[:0], numpy.array([0, 0]), numpy.ones((2, 11)))
    assert ours(table[:0], numpy.array([], int), numpy.ones((0, 11)))[1].shape == (0, 11)


def test_short_rows_by_an_index_are_left_to_numpy():
    function, rng = (lambda table, index, weights: np.tanh(table[index] * 2) * weights), numpy.random.default_rng(0)
    ours, index = compiled(function), rng.integers(-9, 9, 30)
    with launched() as returned:
        for width in (2, 7, 8, 11):
            table, weights = rng.normal(size=(9, width)), rng.normal(size=(30, width))
            assert_near(ours(table, index, weights), function(table, index, weights), 1e-12)
    assert [result is None for result in returned] == [True, True, False, False]


def test_exponentials_are_shared_between_softmax_and_logsumexp(monkeypatch):
    texts = []
    monkeypatch.setattr(native, "Build", lambda text, build=native.Build: texts.append(text) or build(text))

    def entropy(x):
        return np.sum(special.softmax(x, axis=1) * (special.logsumexp(x, axis=1, keepdims=True) - x), axis=1)

    ours, theirs = compiled(entropy), anyshape.jit(entropy, optimize="now")
    for n in (0, 1, 5, 300):
        assert_near(ours(operand(["n", "m"], n)), theirs(operand(["n", "m"], n)), 1e-12)
    assert states(ours) == ["compiled"]
    assert [re.findall(r"as_(\w*exp)\(", text) for text in texts] == [["exp", "strip_exp"]]  # across rows, and in rows


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_an_error_function_has_the_bits_that_it_has_without_its_derivative(dtype, monkeypatch):
    texts = []
    monkeypatch.setattr(native, "Build", lambda text, build=native.Build: texts.append(text) or build(text))
    x = numpy.concatenate([numpy.linspace(-7, 7, 40_001), [0.0, -0.0, 1e-30, 1e15, numpy.inf, -numpy.inf, numpy.nan]])
    x = x.astype(dtype)
    both = [
        lambda x: anyshape.jvp(special.erf, (x,), (x,)),
        lambda x: (special.erf(3 * x), np.exp(-((3 * x) ** 2)) * x),
        lambda x: (special.erf(x - 1), many(np.exp(-np.square(x - 1)))),
    ]
    alone = [special.erf, lambda x: special.erf(3 * x), lambda x: special.erf(x - 1)]
    for function, expected in zip(both, alone, strict=True):
        assert_bits(compiled(function)(x)[0], compiled(expected)(x))
    counts = [len(re.findall(r"as_(?:strip_)?erf_given", text)) for text in texts]
    assert [count > 0 for count in counts] == [True, False] * 3


def test_logsumexp_of_infinite_elements():
    x = numpy.array([[1, 2, numpy.inf], [1, -numpy.inf, 2], [-numpy.inf] * 3, [numpy.inf, numpy.inf, 1]])
    x = numpy.concatenate([x, [[numpy.nan, 1, numpy.inf], [numpy.inf, -numpy.inf, 0], [numpy.nan, -numpy.inf, 0]]])
    ours = compiled(lambda x: special.logsumexp(x, axis=1) * 2)
    with numpy.errstate(all="ignore"):
        numpy.testing.assert_allclose(ours(x), scipy.special.logsumexp(x, axis=1) * 2, rtol=1e-13)
        assert numpy.isneginf(ours(x[:, :0])).all()
    assert states(ours) == ["compiled"]


def test_reductions_of_one_element():
    function = lambda x: (np.tanh(x) * x).sum(axis=1) + np.exp(x).max(axis=1)
    x = numpy.linspace(-1, 1, 1500)[:, None]
    ours = anyshape.jit(
        function, optimize="now", compile="wait", dynamic_shapes={"x": (anyshape.AUTO, anyshape.STATIC)}
    )
    assert_near(ours(x), numpy.tanh(x[:, 0]) * x[:, 0] + numpy.exp(x[:, 0]), 1e-12)
    assert states(ours) == ["compiled"]


def test_arrays_of_any_strides():
    """A kernel gets copies of arrays whose strides it cannot serve."""
    base = numpy.random.default_rng(0).normal(size=(40, 30, 2))
    two = [base[:, :, 0], base[::2, :, 1], base[:, :7, 0].copy(), base[:, ::-1, 0], base[:, :, 0].T, base[3:3, :, 0]]
    two += [
        numpy.asfortranarray(base[:, :, 0]),
        numpy.broadcast_to(base[0, :, 0], (6, 30)),
        base.copy()[:, :, 0][:, :5],
    ]
    for function in (softmax, lambda x: np.tanh(x) * x + np.sin(x), lambda x: (np.tanh(x) * x).sum(axis=0)):
        ours, theirs = compiled(function), anyshape.jit(function, optimize="now")
        with launched() as returned:
            for x in two:
                if x.size or function is not softmax:
                    assert_near(ours(x), theirs(x), 1e-12)
                    assert not x.size or returned[-1] is not None
    ours = compiled(lambda x, y: np.tanh(x) * y)
    with launched() as returned:
        for x in (base[:, 0, 0], base[::-1, 0, 1], base[0, :, 0], base[::2, 0, 0]):
            assert_near(ours(x, x[::-1]), numpy.tanh(x) * x[::-1], 1e-12)
            assert returned[-1] is not None
    assert_near(ours(base[:, 0, 0] * 1e9, base[:, 0, 1]), numpy.tanh(base[:, 0, 0] * 1e9) * base[:, 0, 1], 1e-12)


def test_results_do_not_depend_on_the_number_of_threads():
    x = operand(["n", "m"], 200_000)
    before, results = anyshape.config.num_threads, []
    try:
        for threads in (1, 2, 4):
            anyshape.config.num_threads = threads
            function = compiled(lambda x: ((np.tanh(x) * x).sum(axis=0), np.sum(np.exp(-x * x)), softmax(x)))
            results.append(function(x))
    finally:
        anyshape.config.num_threads = before
    for other in results[1:]:
        for ours, theirs in zip(other, results[0], strict=True):
            assert_bits(ours, theirs)


COMPLEX = {
    "arithmetic": lambda z, w: (z * w + z.conj() * 2 - w, -z / w + 1 / w, np.square(z)),
    "parts": lambda z, w: (abs(z), z.real * w.imag, z.imag + 1j * w.real),
    "exponentials": lambda z, w: np.exp(1j * z.real) * w + np.exp(z),
    "choice": lambda z, w: (np.where((z == w) | np.isnan(w), z, w), z != w),
    "sums": lambda z, w: (np.sum(z * w), np.sum(abs(z) ** 2)),
    "gradient": lambda z, w: anyshape.grad(lambda x: np.sum(abs(np.exp(1j * x) * w + z) ** 2))(z.real),
}


@pytest.mark.parametrize("dtype", ["D", "F"])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name, dtype):
    ours, theirs = compiled(COMPLEX[name]), anyshape.jit(COMPLEX[name], optimize="now")
    rng = numpy.random.default_rng(0)
    for n in SIZES:
        z, w = (rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))).astype(dtype)
        assert_near(ours(z, w), theirs(z, w), 1e-12 if dtype == "D" else 1e-5)
    assert set(states(ours)) == {"compiled"}


def test_sums_of_complex_rows():
    functions = (lambda z: (z - z.mean(axis=1, keepdims=True)) * 2, lambda z: (z * z).sum(axis=0))
    rng = numpy.random.default_rng(0)
    for function in functions:
        ours = compiled(function)
        for shape in ((0, 3), (1, 1), (3, 4), (300, 5), (50, 333)):
            z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
            assert_near(ours(z), anyshape.jit(function, optimize="now")(z), 1e-12)
        assert states(ours) == ["compiled"]


EDGES = {  # two steps each, so that there is a group
    "sums": lambda z, w: ((z + w).conj(), -(z - w).conj()),
    "quotient": lambda z, w: ((z / w).conj(),),
    "inverse": lambda z, w: ((1 / z).conj(),),
    "modulus": lambda z, w: (-abs(z),),
    "exponential": lambda z, w: (np.exp(z).conj(),),
    "choice": lambda z, w: (np.where(z == w, -z, w), ~np.isnan(z)),
}


@pytest.mark.parametrize("name", EDGES)
def test_complex_numbers_at_the_edges_are_those_of_numpy(name):
    function, ours = EDGES[name], compiled(EDGES[name])
    some = numpy.array([0.0, -0.0, 1.0, -2.0, 5e-324, 1e160, 1e308, numpy.inf, -numpy.inf, numpy.nan])
    every = (some[:, None] + 1j * numpy.ones(len(some))).ravel()
    every.imag = numpy.tile(some, len(some))
    pairs = [(z, w) for z in every for w in every[:: 7 if name in ("quotient", "sums") else 37]]
    with numpy.errstate(all="ignore"):
        for z, w in pairs:
            operands = numpy.full(2, z), numpy.full(2, w)
            for result, expected in zip(ours(*operands), function(*operands), strict=True):
                for part in ("real", "imag"):
                    assert_near_bits(getattr(result, part), getattr(expected, part), f"{z} {w}")
    assert states(ours) == ["compiled"]
    for z, w in pairs[::5]:
        operands = numpy.full(2, z), numpy.full(2, w)
        for kind in ("over", "divide", "invalid"):
            assert raises(ours, operands, kind) == raises(function, operands, kind), (z, w, kind)


def assert_near_bits(result, expected, note):
    """Assert that two arrays are NaN at the same elements, and else have one sign and differ by 2 ulp at most."""
    numpy.testing.assert_array_equal(numpy.isnan(result), numpy.isnan(expected), note)
    ours, theirs = result[~numpy.isnan(result)], expected[~numpy.isnan(expected)]
    numpy.testing.assert_allclose(ours, theirs, rtol=5e-16, err_msg=note)
    numpy.testing.assert_array_equal(numpy.signbit(ours), numpy.signbit(theirs), note)


def raises(function, operands, kind):
    """Return whether a call has an operation that NumPy warns of."""
    try:
        with numpy.errstate(**(dict.fromkeys(("over", "divide", "invalid", "under"), "ignore") | {kind: "raise"})):
            function(*operands)
    except FloatingPointError:
        return True
    return False


def test_integers_and_bools():
    def function(x, y):
        return (x * y + 3 - abs(x)) & 7, (x > y) | (x == 2), np.where(x > y, x, y).sum()

    ours, theirs = compiled(function), anyshape.jit(function, optimize="now")
    for n in SIZES:
        x, y = (numpy.random.default_rng(i).integers(-9, 9, n) for i in range(2))
        for a, b in zip(ours(x, y), theirs(x, y), strict=True):
            assert_bits(a, b)


@pytest.mark.parametrize(
    "function, bad, kind",
    [
        (lambda x: np.log(x) * 2 + 1, 0.0, "divide by zero"),
        (lambda x: np.log(x) * 2 + 1, -1.0, "invalid value"),
        (lambda x: np.exp(x) * 2 + 1, 1000.0, "overflow"),
        (lambda x: np.exp(x) * 2 + 1, -1000.0, "underflow"),
        (lambda x: 2 / (1 + np.exp2(-x)) ** x, 2000.0, "underflow"),
        (lambda x: 1 / x + 2 * x, 0.0, "divide by zero"),
        (lambda x: np.sqrt(x) + 2 * x, -1.0, "invalid value"),
        (lambda x: (x - x * 2) * 3, numpy.inf, "invalid value"),
    ],
)
def test_warnings_and_errors_are_those_of_numpy(function, bad, kind):
    ours, theirs = compiled(function), anyshape.jit(function, optimize="now")
    x = numpy.linspace(1, 2, 900)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_near(ours(x), theirs(x), 1e-12)
    x[500] = bad
    with pytest.warns(RuntimeWarning, match=kind), numpy.errstate(all="warn"):
        result = ours(x)
    with numpy.errstate(all="ignore"):
        numpy.testing.assert_allclose(ours(x), theirs(x), rtol=1e-12)
        numpy.testing.assert_allclose(result, ours(x), rtol=1e-12)
    with numpy.errstate(all="raise"), pytest.raises((FloatingPointError, RunFloatingPointError), match=kind):
        ours(x)
    assert states(ours) == ["compiled"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_quotients_that_are_not_chosen_set_no_flag(dtype):
    """A call that set one would run twice: with the kernel, and with NumPy."""

    def energy(x, number):
        itself, apart = number[:, None] == number[None, :], x[:, None, :] - x[None, :, :]
        square = np.where(itself, 1.0, np.sum(apart * apart, axis=2))
        inverse = 1 / (square * square * square)
        return np.sum(np.where(itself, 0.0, 4 * (inverse * inverse - inverse))) / 2

    ours = compiled(anyshape.value_and_grad(energy))
    theirs = anyshape.jit(anyshape.value_and_grad(energy), optimize="now")
    x, number = operand(["n", "k"], 27, dtype=dtype) + 9 * numpy.arange(27, dtype=dtype)[:, None], numpy.arange(27)
    with launched() as returned, numpy.errstate(divide="raise", invalid="raise"):
        assert_near(ours(x, number), theirs(x, number), 1e-3)
    assert returned and None not in returned


def test_nan_is_no_warning():
    x = numpy.linspace(-1, 1, 900)
    x[::7] = numpy.nan
    ours, theirs = compiled(clipped), anyshape.jit(clipped, optimize="now")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numpy.testing.assert_allclose(ours(x), theirs(x), rtol=1e-12)
        assert numpy.isnan(compiled(lambda x: np.max(np.tanh(x) * x))(x))


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_zeros_of_both_signs_are_chosen_as_in_numpy(dtype):
    """The second operand where both are equal: what is divided by it is infinite of that sign."""
    x = numpy.where(numpy.arange(70) % 2, 0.0, -0.0).astype(dtype)
    for choice in (np.minimum, np.maximum):
        function = lambda x, y, choice=choice: choice(np.sin(x) * 2, np.sin(y) * 3)
        for n in (1, 2, 3, 17, 70):
            ours = compiled(function)(x[:n], -x[:n])
            numpy.testing.assert_array_equal(numpy.signbit(ours), numpy.signbit(function(x[:n], -x[:n])))


def test_large_angles_are_left_to_numpy():
    x = numpy.array([1e300, 0.5, -1e22, 3.0] * 200)
    function = lambda x: np.sin(x) * np.cos(x) + 1
    numpy.testing.assert_allclose(compiled(function)(x), anyshape.jit(function)(x), rtol=1e-13)


def test_calls_go_on_while_kernels_are_built():
    function = anyshape.jit(lambda x: np.tanh(x) * np.sin(x) + x / 7, optimize="now", compile="background")
    x, errors = numpy.linspace(0, 1, 4000), []
    expected = numpy.tanh(x) * numpy.sin(x) + x / 7

    def call():
        try:
            for _ in range(200):
                numpy.testing.assert_allclose(function(x), expected, rtol=1e-12)
        except AssertionError as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    plans = [k for program in function.programs() for k in program.planner.kernels]
    assert native.wait_for_kernels(plans, 60) and not errors
    assert states(function) == ["compiled"]
    numpy.testing.assert_allclose(function(x), expected, rtol=1e-12)


def test_loops_use_kernels_in_their_bodies():
    def steps(x):
        return anyshape.scan(lambda s, _: (np.tanh(s) * s + np.sin(s) * 0.1, s.sum()), x, None, length=5)

    ours, theirs = compiled(steps), anyshape.jit(steps, optimize="now")
    for n in (1, 5, 400):
        x = numpy.linspace(0, 1, n)
        for a, b in zip(ours(x), theirs(x), strict=True):
            assert_near(a, b, 1e-12)


def test_a_kernel_that_disagrees_with_numpy_is_not_used(monkeypatch, caplog):
    monkeypatch.setattr(native, "Build", lambda text, build=native.Build: build(text.replace(" + ", " - ")))
    function = compiled(lambda x: np.tanh(x) * 2 + x)
    x = numpy.linspace(0, 1, 50)
    numpy.testing.assert_allclose(function(x), numpy.tanh(x) * 2 + x, rtol=1e-13)
    assert "differs from NumPy's" in states(function)[0]


def test_a_test_that_fails_leaves_the_call_and_other_groups(monkeypatch):
    def trial(group, writer, launcher, run=native.disagreement):
        if "tanh" in [step.op.name for step in group.steps]:
            raise MemoryError("no memory")
        return run(group, writer, launcher)

    monkeypatch.setattr(native, "disagreement", trial)
    function = compiled(lambda x, y: (np.tanh(x) * 2 + x, np.sin(y) * 3 + y))
    x, y = numpy.linspace(0, 1, 50), numpy.linspace(0, 1, 20)
    numpy.testing.assert_allclose(function(x, y)[0], numpy.tanh(x) * 2 + x, rtol=1e-13)
    assert sorted(states(function)) == ["NumPy: its test failed: MemoryError('no memory')", "compiled"]


def test_trials_of_kernels_are_small():
    """Sizes that are powers: 1,100 rows would be an array of 10 TB."""
    function = compiled(lambda x: np.tanh(np.ones((x.shape[0] ** 2, x.shape[0] ** 2)) * x[0]) * 2 + 1)
    for n in (1, 2, 5):
        numpy.testing.assert_allclose(function(numpy.full(n, 0.5)), numpy.full((n**2, n**2), numpy.tanh(0.5) * 2 + 1))
    assert states(function) == ["compiled"]


def test_a_kernel_that_is_slower_than_numpy_is_not_used(monkeypatch):
    function, x = (lambda x: np.tanh(x) * 2 + x), numpy.linspace(0, 1, 50)
    monkeypatch.setattr(launch, "SLOWER", 0.0)
    ours = compiled(function)
    numpy.testing.assert_allclose(ours(x), function(x), rtol=1e-13)
    assert states(ours) == ["NumPy: it is faster"]
    assert "NumPy: it is faster" in str(ours.explain())


def test_a_kernel_serves_the_sizes_at_which_it_pays(monkeypatch):
    """Larger arrays are left to NumPy; both have one element more than the kernel takes."""
    slower = lambda group, writer, launcher, elements: elements > launch.FEW
    monkeypatch.setattr(launch, "_is_slower", slower)
    scopes, install = [], native.PlanKernels.install
    monkeypatch.setattr(native.PlanKernels, "install", lambda *args: scopes.append(args[3]) or install(*args))
    ours = compiled(lambda x: np.tanh(x) * 2 + x)
    x = numpy.linspace(0, 1, 4097)
    ours(x)
    (state,) = states(ours)
    (name,) = [name for plan in ours.programs()[0].planner.kernels for name in plan.states]
    assert state == "compiled for up to 4096 elements"
    launcher = scopes[0][name]
    assert launcher(4097, x) is None and launcher(4096, x[1:])[0].shape == (4096,)
    for n in (4096, 4097):
        numpy.testing.assert_allclose(ours(x[:n]), numpy.tanh(x[:n]) * 2 + x[:n], rtol=1e-13)


def test_rounding_that_a_function_magnifies_is_no_disagreement():
    """A remainder of a large sum depends on the order of additions."""
    function = lambda x: np.remainder((np.tanh(x) * 1e12).sum(axis=1), 3.0)
    ours = compiled(function)
    ours(operand(["n", "w"], 5))
    (state,) = states(ours)
    assert state.startswith(("compiled", "NumPy: no sizes"))


def test_without_compile_nothing_is_built(monkeypatch):
    monkeypatch.setattr(native, "Build", lambda text: pytest.fail("a kernel was built"))
    function = anyshape.jit(lambda x: np.tanh(x) * 2 + x, optimize="now", compile="off")
    function(numpy.ones(3))
    assert states(function) == []
