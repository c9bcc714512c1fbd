"""Test exceptions that loops and paths of a program raise: plain Python raises the same."""

import contextlib
import json
import pickle
import traceback

import numpy as np
import pytest

import anyshape
from anyshape import checkpoint, grad, hessian, jit, vmap
from anyshape.backend.interpreter import evaluate
from anyshape.errors import CheckError
from anyshape.ops import control
from tests.tracing.source import raising_programs as programs
from tests.tracing.source.raising_programs import (
    CAUGHT,
    NOTHING_ELSE,
    PROGRAMS,
    halved,
    nested,
    nested_choice,
    of_values,
    on_a_path,
    printing,
    returns_early,
)

CALLS = {
    "all well": lambda n: np.linspace(0.5, 0.9, n),
    "zeros": np.zeros,
    "late": lambda n: np.r_[np.linspace(0.5, 0.9, max(n - 2, 0)), np.linspace(-0.5, 7, min(n, 2))[::-1]][:n],
    "early": lambda n: np.r_[-3.0, np.full(n, 5.0)][:n],
    "large": lambda n: np.r_[np.full(n // 2, 0.25), np.full(n, 5.0)][:n],
    "slightly": lambda n: np.r_[np.full(n // 2, 0.25), np.full(n, -1.0)][:n],
}


def outcome(function, *args):
    """Return what a call gives: its result, or all that is seen of its exception."""
    try:
        return "value", np.asarray(function(*args)).tolist()
    except BaseException as error:
        return "error", seen(error)


def seen(error):
    if error is None:
        return None
    last = traceback.extract_tb(error.__traceback__)[-1:]
    lines = [(f.filename, f.lineno, f.name) for f in last]
    attributes = {k: str(v) for k, v in vars(error).items() if k != "__notes__"}
    kinds = [type(x) for x in error.args]
    cause = (seen(error.__cause__) or [])[:6]
    return type(error), str(error), repr(error.args), kinds, attributes, error.__suppress_context__, cause, lines


def assert_same(program, compiled, x):
    expected, got = outcome(program, x.copy(), 4), outcome(compiled, x.copy(), 4)
    if expected[0] == "value":
        assert got[0] == "value", (x, got)
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-12)
    else:
        assert got == expected, x


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_loops_raise_as_plain_python_does(program):
    compiled = jit(program)
    for n in (30, 20, 0, 1, 2, 25):
        for make in CALLS.values():
            assert_same(program, compiled, make(n))
    assert compiled.cache_info().traces == 1, "the loop was unrolled"


@pytest.mark.parametrize("program", CAUGHT + NOTHING_ELSE, ids=lambda f: f.__name__)
def test_what_a_program_cannot_raise_is_left_to_python(program):
    compiled = jit(program)
    for make in (CALLS["all well"], CALLS["slightly"], CALLS["late"]):
        assert_same(program, compiled, make(18))


def at_20(*values):
    return np.r_[np.linspace(0.5, 0.9, 20), values]


def raised(function, *args):
    with pytest.raises(Exception) as caught:
        function(*args)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    return repr(caught.value), "".join(caught.value.__notes__), last.name


def test_a_note_has_the_line_and_the_iterations():
    text, note, name = raised(jit(lambda x: nested(x, 4)), at_20(9.0, 1.0))
    assert text == "ValueError('20, 21: 8.0')" and name == "nested"
    line = nested.__code__.co_firstlineno + 5
    assert note == f"raised at raising_programs.py:{line} in trip 1 of a loop in trip 20 in an anyshape program"


def test_derivatives_raise_once_and_as_the_function():
    def loss(x):
        return of_values(x, 4)

    for transform in (grad, lambda f: jit(grad(f)), hessian, lambda f: grad(lambda x: grad(f)(x).sum())):
        derivative = transform(loss)
        assert np.all(np.isfinite(derivative(at_20())))
        text, note, name = raised(derivative, at_20(-1.0, 2.0))
        assert "bad -1.00 at 20, of 004, len(x)=22, so far" in text
        assert name == "of_values" and "in trip 20" in note


def test_the_naive_evaluator_and_checkpoints_raise_alike():
    compiled = jit(lambda x: of_values(x, 4))
    compiled(at_20())
    expected = outcome(of_values, at_20(-1.0), 4)
    graph = compiled.programs()[0].graph
    assert outcome(lambda x: evaluate(graph, [x]), at_20(-1.0)) == expected
    assert outcome(grad(checkpoint(lambda x: of_values(x, 4))), at_20(-1.0)) == expected


def test_loops_that_return_early_raise_behind_them():
    compiled = jit(returns_early)
    for x in (at_20(), 0.9 * at_20(), at_20(-1.0)[2:], -at_20(), np.zeros(0), np.zeros(30)):
        assert_same(returns_early, compiled, x)
    assert compiled.cache_info().traces == 2


def test_the_first_example_of_a_batch_raises():
    rows = np.array([at_20(), at_20()[::-1], at_20()])
    batch = vmap(lambda x: nested_choice(x, 4))
    np.testing.assert_allclose(batch(rows), [14, 14, 14])
    for failing, text in {1: "ValueError('very -4.0')", 2: "KeyError('slightly')"}.items():
        bad = rows.copy()
        bad[failing, 5] = -4.0 if failing == 1 else -1.0
        bad[2, 6] = -5.0
        assert raised(batch, bad)[0] == text
        assert raised(vmap(batch), np.array([rows, bad]))[0] == text
    assert batch(rows[:0]).shape == (0,)


def test_examples_raise_only_in_the_branch_and_the_iteration_that_they_take():
    batch = vmap(lambda x: halved(x, 4))
    xs = np.array([[3.0], [0.5], [7.0]])
    np.testing.assert_allclose(batch(xs), [halved(x, 4) for x in xs])
    assert raised(batch, np.array([[3.0], [1e9], [1e8]]))[0] == f"ValueError('{1e9 / 2**19} after 19')"


def test_effects_before_an_exception_happen(capsys):
    with pytest.raises(ValueError, match="negative"):
        jit(printing)(np.r_[np.ones(18), -1.0, 1.0], 4)
    assert capsys.readouterr().out.split() == [*map(str, range(19)), "negative"]


def test_paths_raise_with_values_of_the_run():
    for transform in (jit, grad, hessian):
        compiled = transform(lambda x: on_a_path(x, 4))
        compiled(np.ones(3))
        for n in (2, 3):
            with pytest.raises(ValueError, match=rf"'-2.00 of {n}', array\(\[-2., "):
                compiled(np.full(n, -2.0))
            with pytest.raises(AssertionError, match=r"^it is 3\.0"):
                compiled(np.full(n, 3.0))
        assert compiled.cache_info().traces == 3


def test_programs_travel():
    compiled = jit(of_values)
    compiled(at_20(), 4)
    copy = pickle.loads(pickle.dumps(compiled))
    assert raised(copy, at_20(-1.0), 4) == raised(compiled, at_20(-1.0), 4)


def test_files_name_classes(tmp_path, monkeypatch):
    function = programs.with_classes_of_its_own()
    path = tmp_path / "program.anyshape"
    compiled = jit(function)
    compiled(at_20())
    compiled.programs()[0].save(path)
    loaded = anyshape.load(path)
    np.testing.assert_allclose(loaded(at_20(1.0)), 2 * at_20(1.0))
    assert raised(loaded, at_20(-1.0)) == raised(compiled, at_20(-1.0))
    assert raised(loaded, at_20(6.0))[0] == "Local(20)"
    monkeypatch.setattr(control, "_LOCAL", {})
    monkeypatch.delattr(programs, "Missing")
    with pytest.raises(CheckError, match=r"Missing: -1\.0 at 20, a, None, 1, 2\.5"):
        loaded(at_20(-1.0))
    with pytest.raises(CheckError, match=r"Local: 20"):
        loaded(at_20(6.0))


@pytest.mark.parametrize("bad", [
    ("os:system", "", True, ("tuple", "ls"), ("dict",), None, False),
    ("builtins:SystemExit", "", True, ("tuple",), ("dict",), None, False),
    ("builtins:eval", "", True, ("tuple", "1"), ("dict",), None, False),
    ("json.decoder:json.JSONDecodeError.__init__", "", True, ("tuple",), ("dict",), None, False),
])  # fmt: skip
def test_names_of_files_find_exceptions_alone(bad):
    assert json and type(control.exception_of(bad, ())) is CheckError


def test_a_block_that_catches_is_told_from_one_of_errstate_beside_it():
    def rooted(x):
        with np.errstate(all="ignore"):
            y = np.sqrt(x)
        with contextlib.suppress(ValueError):
            if x.sum() > 3:
                raise ValueError(f"big {x.sum()}")
            y = y + 1
        return y

    def checked(x):
        with np.errstate(all="ignore"):
            if x.sum() > 3:
                raise ValueError(f"big {x.sum()}")
        return x

    for x in (np.array([1.0, 1.0]), np.array([4.0, 2.0])):
        np.testing.assert_array_equal(jit(rooted)(x), rooted(x))
    with pytest.raises(ValueError, match=r"big 6\.0"):
        jit(checked)(x)


def large_or_singular(x, a):
    total = 0.0
    for v in x:
        if v > 2:
            raise ValueError("large")
        total = total + np.linalg.inv(a)[0, 0] * v
    return total


def whole_or_large(x, a):
    total = 0
    for k in range(len(x)):
        m = int(a[0, 0])
        total = total + (m * 2 if m > k else -m)
    return total


@pytest.mark.parametrize(("program", "x", "a"), [
    (large_or_singular, [3.0, 1.0], np.zeros((2, 2))),
    (whole_or_large, [1.0], np.full((1, 1), np.nan)),
])  # fmt: skip
def test_the_first_error_of_an_iteration_is_raised(program, x, a):
    with pytest.raises(ValueError, match=r"large|NaN"):
        program(np.array(x), a)
    compiled = jit(program)
    assert compiled(np.ones(20), np.eye(2)) == program(np.ones(20), np.eye(2))
    with pytest.raises(ValueError, match=r"large|NaN"):
        compiled(np.array(x), a)
    assert compiled.cache_info().traces == 1
