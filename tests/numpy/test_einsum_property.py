"""Test random einsum equations.

One trace equals np.einsum at every size, and raises where NumPy raises. Derivatives are linear in each operand.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyshape
from anyshape.errors import ArgumentError, DTypeError, SpecError
from anyshape.transforms import sharing
from tests.laws.sweep import check_same_outcome, is_error, outcome

LABELS = "abcd"
DTYPES = ("float64", "float64", "complex128", "float32", "int64", "bool")


@st.composite
def equations(draw):
    """Draw the labels of each operand, its number of ellipsis axes or None, and the equation."""
    terms = draw(st.lists(st.text(LABELS, max_size=3), min_size=1, max_size=4))
    broad = [draw(st.sampled_from((None, None, 0, 1, 2))) for _ in terms]
    if len("".join(terms)) + sum(b or 0 for b in broad) > 9:
        broad = [None for _ in terms]
    used = sorted(set("".join(terms)))
    written = [_write(draw, t, b) for t, b in zip(terms, broad, strict=True)]
    equation = ",".join(written)
    dots = broad != [None] * len(terms)
    if dots or draw(st.booleans()):
        output = draw(_outputs(used))
        equation += "->" + (_write(draw, output, 0) if dots else output)
    return terms, broad, equation


@st.composite
def _outputs(draw, used):
    """Draw the labels of the result: some of those used, in any order."""
    return "".join(draw(st.permutations([c for c in used if draw(st.booleans())])))


def _write(draw, labels, broad):
    if broad is None:
        return labels
    position = draw(st.integers(0, len(labels)))
    return f"{labels[:position]}...{labels[position:]}"


def shapes(terms, broad, written, sizes, extra):
    """Return the shape of each operand, in the order in which its term has labels and ellipsis."""
    operand_shapes = []
    for term, count, text in zip(terms, broad, written, strict=True):
        axes = [sizes[c] for c in term]
        at = text.index("...") if count is not None else 0
        operand_shapes.append((*axes[:at], *extra[len(extra) - (count or 0) :], *axes[at:]))
    return operand_shapes


def random_sizes(rng, n):
    """Return the size of each label, and the sizes of ellipsis axes: n, or for None random ones."""
    if n is None:
        return {c: int(rng.choice((1, 2, 3))) for c in LABELS}, [int(rng.choice((1, 2))) for _ in range(2)]
    return dict.fromkeys(LABELS, n), [min(n, 3)] * 2


def arrays(rng, operand_shapes, dtype):
    values = [rng.uniform(-2, 2, size=s) for s in operand_shapes]
    if np.dtype(dtype).kind == "c":
        values = [x + 1j * rng.uniform(-2, 2, size=x.shape) for x in values]
    return [np.asarray(x > 0 if dtype == "bool" else x).astype(dtype) for x in values]


def check_values(made, dtype, seed):
    terms, broad, equation = made
    written = equation.partition("->")[0].split(",")
    sharing.forget()  # of earlier examples
    jitted = anyshape.jit(lambda *xs: np.einsum(equation, *xs))
    rng, served = np.random.default_rng(seed), 0
    for n in (0, 1, 2, 5, None, None):
        operand_shapes = shapes(terms, broad, written, *random_sizes(rng, n))
        if n is None and len(set(terms)) == len(terms):  # an axis of size 1 is combined with others of its label
            operand_shapes = [tuple(1 if rng.random() < 0.2 else s for s in shape) for shape in operand_shapes]
        if np.prod([max(s, 1) for shape in operand_shapes for s in shape]) > 1e8:
            continue
        xs = arrays(rng, operand_shapes, dtype)
        expected, got = outcome(lambda *a: np.einsum(equation, *a), *xs), outcome(jitted, *xs)
        check_same_outcome(got, expected, 1e-9, f"{equation} at {operand_shapes}")
        served += not is_error(got)
    assert jitted.cache_info().traces <= max(served, 1) and (served == 0 or jitted.cache_info().traces == 1)


@pytest.mark.slow
@settings(max_examples=60)
@given(equations(), st.sampled_from(DTYPES), st.integers(0, 1000))
def test_one_trace_equals_numpy_at_every_size(made, dtype, seed):
    check_values(made, dtype, seed)


@pytest.mark.slow
@settings(max_examples=600)
@given(equations(), st.sampled_from(DTYPES), st.integers(0, 1000))
def test_one_trace_equals_numpy_at_every_size_slow(made, dtype, seed):
    check_values(made, dtype, seed)


def check_derivatives(made, seed):
    """The tangent is a sum over operands, each replaced by its tangent in turn; vjp is the transpose."""
    terms, broad, equation = made
    written = equation.partition("->")[0].split(",")
    sharing.forget()  # of earlier examples
    f = lambda *xs: np.einsum(equation, *xs)
    forward = anyshape.jit(lambda xs, ts: anyshape.jvp(f, tuple(xs), tuple(ts))[1])
    backward = anyshape.jit(lambda xs, w: anyshape.vjp(f, *xs)[1](w))
    rng = np.random.default_rng(seed)
    for n in (0, 1, 2, 3):
        operand_shapes = shapes(terms, broad, written, dict.fromkeys(LABELS, n), [n, n])
        xs, ts = arrays(rng, operand_shapes, "float64"), arrays(rng, operand_shapes, "float64")
        derivative = forward(xs, ts)
        expected = sum(f(*xs[:i], ts[i], *xs[i + 1 :]) for i in range(len(xs)))
        np.testing.assert_allclose(derivative, expected, rtol=1e-9, atol=1e-9 * max(1, np.abs(expected).max(initial=0)))
        weights = rng.normal(size=np.shape(expected))
        grads = backward(xs, weights)
        left, right = np.sum(weights * derivative), sum(np.sum(g * t) for g, t in zip(grads, ts, strict=True))
        assert abs(left - right) <= 1e-9 * (1 + np.sum(np.abs(weights * derivative)))
    assert forward.cache_info().traces == backward.cache_info().traces == 1


@pytest.mark.slow
@settings(max_examples=30)
@given(equations(), st.integers(0, 1000))
def test_derivatives_are_those_of_a_multilinear_map(made, seed):
    check_derivatives(made, seed)


@pytest.mark.slow
@settings(max_examples=300)
@given(equations(), st.integers(0, 1000))
def test_derivatives_are_those_of_a_multilinear_map_slow(made, seed):
    check_derivatives(made, seed)


@pytest.mark.parametrize(
    ("equation", "ranks"),
    [("ij,jk", (2,)), ("ij->ik", (2,)), ("ij->ii", (2,)), ("i", (2,)), ("ijk", (2,)), ("i$", (2,)), ("...i->i", (2,))],
)
def test_wrong_equations_are_errors_as_in_numpy(equation, ranks):
    xs = [np.ones((2,) * r) for r in ranks]
    with pytest.raises(ValueError):
        np.einsum(equation, *xs)
    with pytest.raises(SpecError, match="einsum"):
        anyshape.jit(lambda *a: np.einsum(equation, *a))(*xs)


CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
REALS, COMPLEX = np.array([[1.5, 2.5], [3.5, 4.5]]), np.array([[1.5 + 1j, 2.5], [3.5, 4.5j]])
OPTIONS = [{"dtype": d, "casting": c} for d in (None, int, "f4", "f8", "c16", "i1", bool) for c in CASTINGS]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("options", [*({"dtype": o["dtype"]} for o in OPTIONS[::5]), *OPTIONS], ids=str)
def test_dtype_and_casting_are_those_of_numpy(options):
    reduce, scale = (lambda x: np.einsum("ij->i", x, **options)), (lambda x: np.einsum("ij,->ji", x, 2.5, **options))
    for x in (REALS, REALS.astype("f4"), REALS.astype(int), REALS.astype(np.int8), COMPLEX):
        for f in (reduce, scale):
            expected, got = kind_of_outcome(f, x), kind_of_outcome(anyshape.jit(f), x)
            if isinstance(expected, type):
                assert got is expected
            else:
                np.testing.assert_allclose(got, expected, rtol=1e-6, strict=True)


def kind_of_outcome(f, *args):
    try:
        return f(*args)
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError


REFUSED = [
    (lambda x: np.einsum("ij->i", x, dtype=int), DTypeError, "operand 0 is float64, which the rule 'safe' does not"),
    (lambda x: np.einsum("ij->i", x, dtype=object), DTypeError, "no traced arrays of object"),
    (lambda x: np.einsum("ij->i", x, casting="careful"), ArgumentError, "casting='careful' is unknown"),
    (lambda x: np.einsum("ij->i", x, order="Z"), ArgumentError, "order='Z' is unknown"),
    (lambda x: np.einsum("ij->i", x, foo=1), TypeError, "unexpected keyword argument 'foo'"),
    (lambda x: np.einsum(x, [0, -1], [0]), SpecError, r"the label -1 is not in 0\.\.51"),
    (lambda x: np.einsum(x, [0, 52], [0]), SpecError, r"the label 52 is not in 0\.\.51"),
    (lambda x: np.einsum(x, [0, 1], [0, 60]), SpecError, r"the label 60 is not in 0\.\.51"),
    (lambda x: np.einsum(x, [0, 1.0], [0]), ArgumentError, "the label 1.0 is not an integer"),
    (lambda x: np.einsum(x, [0, True], [0]), ArgumentError, "the label True is not an integer"),
    (lambda x: np.einsum(x, "ij"), ArgumentError, "the label 'i' is not an integer"),
]


@pytest.mark.parametrize(("f", "kind", "words"), REFUSED, ids=[row[2] for row in REFUSED])
def test_what_numpy_refuses_is_refused(f, kind, words):
    if kind is not DTypeError or "object" not in words:
        with pytest.raises((TypeError, ValueError)):
            f(REALS)
    with pytest.raises(kind, match=words):
        anyshape.jit(f)(REALS)


def test_labels_are_integers_of_any_kind_below_52():
    for f in (lambda x: np.einsum(x, [0, 51], [51]), lambda x: np.einsum(x, (np.int64(3), np.uint8(1)), (1, 3))):
        np.testing.assert_array_equal(anyshape.jit(f)(REALS), f(REALS), strict=True)
