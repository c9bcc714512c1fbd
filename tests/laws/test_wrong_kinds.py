"""Put arguments of wrong kinds into calls of NumPy's functions: a program accepts nothing that NumPy refuses.

What both accept has NumPy's result. A refusal is an error of this library.
"""

import ast
import logging
import random
import re

import numpy as np
import pytest

from anyshape import jit
from anyshape.errors import AnyshapeError
from tests.laws.parity import compare
from tests.laws.parity_calls import all_calls
from tests.laws.parity_differences import reason_for

WRONG = [
    "1.5", "'q'", "None", "[1.5]", "x", "(0,)", "{}", "True", "1j", "np.float64(1)", "np.array([1])", "[0, 1]",
    "y[..., None]", "-1", "b'q'", "slice(2)", "m", "...", "int", "np.array('a')",
]  # fmt: skip
PLACES = [("float64", (2, 3)), ("int64", (3,)), ("float32", (1,))]
FAULTS = re.compile("^(accepted|error not ours|refused, not ours|value|shape|dtype|structure|special|sign)")

# The differences that are wanted: the expression, the problem, and the reason.
WANTED = [
    ("take_along_axis", "no attribute", "a list of positions counts as an array, as elsewhere"),
    (r"cum(sum|prod)\(x, axis=True", "^accepted", "where NumPy asks C for an int, True is 1"),
    (r"dtype=", "^error not ours", "NumPy itself says what is not a dtype"),
    (r"axis=True|diagonal|trace|(argmax|argmin|argsort|sort|repeat|take|softmax)\(", "^accepted", "True is the int 1"),
    (r"ord=", "not ours", "an order of norms is a number or one of a few names"),
    (r"ddof|correction", "", "one number is subtracted"),
    (r"copy=", "^accepted", "a program copies where it must, and the option has no effect"),
    (r"where=(-1|1j)", "^value|^special", "a mask counts elements, where NumPy adds up its numbers"),
    ("cross|vecdot", "^accepted", "None leaves an option as it is"),
    (r"interp|\[\[", "not ours", "NumPy itself says that a list is ragged"),
]


def is_wanted(expression, problem):
    return any(re.search(e, expression) and re.search(p, problem) for e, p, _ in WANTED)


def mutations(expression):
    """The calls with one argument of another kind."""
    tree = ast.parse(expression, mode="eval")
    call = tree.body
    if not isinstance(call, ast.Call):
        return
    slots = [(call.args, i, a) for i, a in enumerate(call.args) if not isinstance(a, ast.Starred)]
    for arguments, i, old in slots:
        for wrong in WRONG:
            arguments[i] = ast.parse(wrong, mode="eval").body
            yield ast.unparse(tree)
        arguments[i] = old
    for keyword in call.keywords:
        old = keyword.value
        for wrong in WRONG:
            keyword.value = ast.parse(wrong, mode="eval").body
            yield ast.unparse(tree)
        keyword.value = old


def calls_of(name):
    """Some calls of a function with arguments of wrong kinds, which still read x."""
    first, *more = all_calls()[name]
    chosen = [first, *[e for e in more if "=" in e][:40:3]]
    calls = [m for e in chosen for m in mutations(e) if re.search(r"\bx\b", m.partition("(")[2] or m)]
    return sorted({m for m in calls if not m.startswith(("1.5", "'q'"))})


def check(expressions, rng):
    problems = []
    for expression in expressions:
        dtype, shape = rng.choice(PLACES)
        problem = compare(expression, dtype, shape, "plain")
        known = not problem or reason_for(expression, f"{dtype}{shape}", problem) or is_wanted(expression, problem)
        if not known and FAULTS.search(problem):
            problems.append(f"{expression} of {dtype}{shape}: {problem}")
    assert not problems, "\n".join(problems)


@pytest.fixture(autouse=True)
def silence(monkeypatch):
    monkeypatch.setattr(logging.getLogger("anyshape.trace"), "disabled", True)


@pytest.mark.parametrize("part", range(4))
def test_a_sample_of_wrong_kinds(part):
    rng = random.Random(f"kinds {part}")
    names = sorted(all_calls())[part::4]
    check([rng.choice(calls) for name in names if (calls := calls_of(name))], rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(all_calls()))
def test_every_wrong_kind(name):
    check(calls_of(name), random.Random(name))


X = np.arange(6.0).reshape(2, 3)
REFUSED = [
    *[f"np.{f}(x, keepdims={k})" for f in ("sum", "max", "mean", "any", "var", "ptp") for k in ("'q'", "1.5", "None")],
    *[f"np.{f}(x, axis={a})" for f in ("sum", "min", "all", "std", "prod") for a in ("[0, 1]", "True", "1.5", "'q'")],
    "np.logical_and.reduce(x, where=x > 1, initial=None)", "np.logaddexp.reduce(x[:0], initial=None)",
    "np.logical_or.reduce(x[:0], initial=None)", "np.logaddexp.reduce(x, initial=x)",
    "np.sum(x, where=x > 1, initial=None)",
    "np.mean(x, where='q')", "np.var(x, where=int)", "np.nan_to_num(x[:1, :1], nan=[0, 1])", "np.reshape(x, {})",
    "np.zeros_like(x, shape={})", "np.tril(x, k=(0,))", "np.linspace(x, x, b'q')", "np.flip(x, axis=np.array([1.5]))",
    "np.ones_like(x, shape=True)", "np.full_like(x, 1, shape=(2, True))", "np.broadcast_to(x, (True, 2, 3))",
    "np.pad(x, True)", "np.linalg.norm(x, axis=[0, 1])", "np.linalg.vector_norm(x, axis=[0])",
    "np.interp(x, [0, 1], [3, 4], left=(0,))", "np.interp(x, [0, 1], [3, 4], right=x)", "np.linspace(x, 'q')",
    "np.interp(x, [0, 1], [3, 4], period=[1.5, 2])", "np.tensordot(x, x, axes=[1.5])", "np.matvec(x, x[0], axis=-1)",
    "np.cov(x, rowvar=np.ones(2))", "np.corrcoef(x, rowvar=np.ones(2))",
    "np.linalg.matrix_power(x[:, :2], np.array([1]))",
]  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED)
def test_what_numpy_refuses_is_refused(expression):
    code = compile(expression, "<expression>", "eval")
    with pytest.raises((TypeError, ValueError)) as numpys:
        eval(code, {"np": np, "x": X})
    with pytest.raises(AnyshapeError) as ours:
        jit(lambda x: eval(code, {"np": np, "x": x}))(X)
    assert isinstance(ours.value, TypeError if isinstance(numpys.value, TypeError) else ValueError)


@pytest.mark.parametrize("ufunc", ["add", "multiply", "maximum", "minimum", "logaddexp", "logical_and"])
@pytest.mark.parametrize("initial", [True, 1, False])
def test_a_start_that_is_true_counts(ufunc, initial):
    """`initial=True` was taken for an absent option: the sum was one too small."""
    f = lambda x: getattr(np, ufunc).reduce(x, where=x > 1, initial=initial)
    np.testing.assert_allclose(jit(f)(X), f(X))


@pytest.mark.parametrize("name", ["nanmax", "nanmin", "nansum", "nanmean", "nanvar"])
def test_a_mask_that_is_true_is_as_none(name):
    """`np.nanmax(x, where=True)` gave NaN."""
    x = np.array([[np.nan, 1.0, np.inf], [0.5, np.nan, 2.0]])[:, :2]
    f = lambda x: getattr(np, name)(x, axis=0, where=True)
    np.testing.assert_array_equal(jit(f)(x), f(x))


WEIGHTS = [(X[0], np.zeros(3)), (X, X * 0), (X, X - X), (X[:, :0], X[:, :0])]


@pytest.mark.parametrize("x, w", WEIGHTS)
def test_weights_that_sum_to_zero_divide_by_zero(x, w):
    for run in (np.average, jit(lambda x, weights: np.average(x, weights=weights))):
        with pytest.raises(ZeroDivisionError):
            run(x, weights=w)


def test_an_average_of_nothing_divides_by_zero():
    for x, axis in ((X[:, :0], 0), (X[:0], 1)):
        for run in (np.average, jit(lambda x, axis: np.average(x, axis=axis), static_argnames="axis")):
            with pytest.raises(ZeroDivisionError):
                run(x, axis=axis)
