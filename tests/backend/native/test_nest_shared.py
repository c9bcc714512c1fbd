"""Loops that stand in nests more than once are one function each, which computes what they did."""

import re

import numpy as np
import pytest

from anyshape import scan, value_and_grad
from anyshape.backend.native import nests, toolchain
from anyshape.backend.native.nest_shared import with_shared_loops
from tests.backend.native.compiled import compiled, needs_compiler, states

FILL = """double *p{p} = as_alloc(&arena, 8 * n{n});
for (int64_t i{i} = 0; i{i} < n{n}; i{i}++) {{
p{p}[i{i}] = ({{ const double e{i} = c{c}[i{i}]; (double)(2 * e{i}); }});
}}"""


def filled(p, n, i, c, text=FILL):
    return f"const int64_t n{n} = 3;\ndouble *restrict c{c} = o;\n{text.format(p=p, n=n, i=i, c=c)}"


def shared(*texts):
    text = with_shared_loops(texts)
    return text.count("AS_CALLED void "), text.count("\nas_shared_")


def test_equal_loops_are_one_function():
    assert shared(filled(1, 2, 3, 4), filled(5, 6, 7, 8)) == (1, 2)
    assert shared("\n".join([filled(1, 2, 3, 4), filled(5, 6, 7, 8), filled(9, 10, 11, 12)])) == (1, 3)
    assert with_shared_loops([filled(1, 2, 3, 4)]) == filled(1, 2, 3, 4)
    assert "as_shared_0(p1, n2, c4);" in with_shared_loops([filled(1, 2, 3, 4), filled(5, 6, 7, 8)]).replace(
        "n2, p1", "p1, n2"
    )


TOTAL = "double total{p} = 0;\n"
OTHERS = {
    "other operands are one": FILL.replace("c{c}[", "p{p}["),
    "another type": FILL.replace("double *p", "float *p"),
    "another number": FILL.replace("2 * e", "3 * e"),
    "another array": FILL.replace("c{c}[", "o["),
    "a run that ends": FILL.replace("});\n}}", "});\nif (!n{n}) AS_FAIL\n}}"),
    "a total": FILL.replace("(double)(2 *", "(double)(total{p} +=")[:-3] + "\n}}",
    "a total that a pointer reaches": "double total{p} = 0;\ndouble *t = &total{p};\n"
    + FILL.replace("2 *", "total{p} *"),
}


@pytest.mark.parametrize("reason", OTHERS)
def test_other_loops_stay(reason):
    other = OTHERS[reason]
    assert shared(filled(1, 2, 3, 4), filled(5, 6, 7, 8, other)) == (0, 0)
    if reason not in ("other operands are one", "another type", "another number"):
        assert shared(filled(1, 2, 3, 4, other), filled(5, 6, 7, 8, other)) == (0, 0)
    else:
        assert shared(filled(1, 2, 3, 4, other), filled(5, 6, 7, 8, other)) == (1, 2)


def test_a_number_from_outside_is_passed():
    other = TOTAL + FILL.replace("2 *", "total{p} *")
    assert shared(filled(1, 2, 3, 4, other), filled(5, 6, 7, 8, other)) == (1, 2)


def sums(x):
    a, b = x * 1, x * 2
    for t in range(x.shape[0]):
        b[1:-1, 1:-1] = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]) - t
        a[1:-1, 1:-1] = 0.25 * (b[1:-1, :-2] + b[1:-1, 2:] + b[:-2, 1:-1] + b[2:, 1:-1])
    return np.sum(a * b)


@needs_compiler
def test_results_are_those_of_numpy(monkeypatch):
    built = []
    monkeypatch.setattr(nests, "with_shared_loops", lambda texts: built.append(with_shared_loops(texts)) or built[-1])
    function = compiled(value_and_grad(sums))
    for n in (6, 0, 1, 2, 3):
        x = np.random.default_rng(n).uniform(-1, 1, (n, n))
        value, slope = function(x)
        by_numpy = value_and_grad(sums)(x)
        np.testing.assert_array_equal(slope, by_numpy[1])
        np.testing.assert_allclose(value, by_numpy[0], rtol=1e-13)
        np.testing.assert_allclose(value, sums(x), rtol=1e-13)
    assert built[0].count("AS_CALLED void ") >= 3 and built[0].count("\nas_shared_") >= 8


def test_elementary_functions_stand_before_texts_that_call_them_alone():
    plain, calling = toolchain.headers("x = as_min(a, b);"), toolchain.headers("x = as_exp(y);")
    assert calling.startswith(plain) and len(calling) > 4 * len(plain)
    for text in ("as_strip_erff(n, r, x);", "as_bits(x)", "AS_SIGN", "as_erf_given(x, y)", "as_productf(x, y)"):
        assert toolchain.headers(text) == calling
    assert set(re.findall(r"as_\w*##(\w*)", calling)) == {"f"}  # other ends are names that the choice does not see


def kernel_names(function):
    (one,) = [kernels for program in function.programs() for kernels in program.planner.kernels]
    return re.findall(r"int64_t (kernel_\d+)\(", one.text("kernel"))


@needs_compiler
def test_kernels_of_one_text_are_one_function():
    three = compiled(lambda x, y, z: tuple([np.sort(np.sin(np.sort(v)) * 2 + 1) for v in (x, y, z)]))
    two = compiled(lambda x, y: tuple([np.sort(np.sin(np.sort(v)) * 2 + 1) for v in (x, y)]))
    for function, count in ((three, 3), (two, 2)):  # the verdict on the one kernel serves both
        args = [np.linspace(-k, 1, 40) for k in range(count)]
        for y, x in zip(function(*args), args, strict=True):
            np.testing.assert_allclose(y, np.sort(np.sin(x) * 2 + 1), rtol=1e-14)
        assert kernel_names(function) == ["kernel_0"] and states(function) == ["compiled"] * count


@needs_compiler
@pytest.mark.parametrize("name", ["exp", "log"])
def test_functions_of_numbers_have_the_bits_that_elements_have(name, monkeypatch):
    """Numbers that trips hand on, and numbers beside checks, take branches; elements of vectors do not."""
    built, rng, function = [], np.random.default_rng(0), getattr(np, name)
    monkeypatch.setattr(nests, "Build", lambda text, build=nests.Build: built.append(text) or build(text))
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, np.finfo(float).tiny, 1e308, -1.0, -1e-310]
    x = np.concatenate(
        [edges, [709.7, 709.8, -745.2, -708.4, 699.9, 700.0], 400 * rng.normal(size=200), rng.uniform(size=99)]
    )

    def handed_on(x):
        return scan(lambda carry, v: (v, function(carry)), x[-1], x)[1]

    def written(x):
        y = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = function(x[i - 1])
        return y

    elements = compiled(lambda x: function(x) + 0.0)
    with np.errstate(all="ignore"):
        for loop in map(compiled, (handed_on, written)):
            for shift in range(2):
                rolled = np.roll(x, shift)
                np.testing.assert_array_equal(loop(rolled).view("i8"), elements(np.roll(rolled, 1)).view("i8"))
    assert len(built) == 2 and all(f"as_{name}_alone(" in text for text in built)
