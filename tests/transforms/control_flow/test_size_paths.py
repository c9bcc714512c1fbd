"""Compare exported programs of functions that decide on sizes with the functions, at sizes of every path."""

import io
import itertools
import traceback

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct as Spec
from anyshape import cond, config, custom_jvp, export, fori_loop, grad, jit, jvp, load, trace, vmap
from anyshape.errors import (
    BranchMismatchError,
    CheckError,
    DataDependentSizeError,
    InconclusiveDimensionError,
    ShapeError,
    SizePathsError,
)
from anyshape.graph.ir.graph import walk
from anyshape.graph.prover.scope import NO, Scope
from tests.attack.size_decisions import CURVATURES, PLAIN, TRACED, WAYS, Ways, expected, function_of


def vector(n):
    return np.cos(np.arange(1.0, n + 1))


def chained(x):
    if x.shape[0] > 3:
        return x.sum() * 2
    elif x.shape[0] == 0:
        return x.sum() + 7
    return x.sum() * 3


def nested(x, w):
    n, m = x.shape[0], w.shape[0]
    if n > m:
        return x[:m] * w if m % 2 else np.concatenate([x[:m] * w, x[m:]])
    return x * w[:n] + (1 if n == m else 0)


def written(x):
    y = anp.zeros_like(x)
    if x.shape[0] > 2:
        y[0] = x[1] * 3
    y[:] += x
    return y


def through_jit(x):
    first = jit(lambda z: z[0] if z.shape[0] > 1 else 1.0)
    return x * first(x)


def combined(x):
    s = (x * x).sum()
    return s if (x.shape[0] > 2 and x.shape[0] < 6) or x.shape[0] == 0 else -s


def tree_of(x):
    return {"a": x, "b": 1.0} if x.shape[0] % 3 == 0 else {"b": 2.0, "a": -x}


def counted(x):
    k = 0
    for i in range(6):
        if x.shape[0] > i:
            k += 1
    return x.sum() * k


ONE = {f.__name__: f for f in (chained, written, through_jit, combined, tree_of, counted)}
SIZES = (0, 1, 2, 3, 4, 7)


def reloaded(program):
    program.save(file := io.BytesIO())
    return load(io.BytesIO(file.getvalue()))


def leaves(tree):
    return [tree[k] for k in sorted(tree)] if isinstance(tree, dict) else [tree]


def total(tree):
    return sum((y * np.cos(np.ones(np.shape(y)))).sum() for y in leaves(tree))


@pytest.mark.parametrize("name", ONE)
def test_values_and_gradients_of_a_loaded_program_on_every_path(name):
    function = ONE[name]
    program = reloaded(export(function)(Spec("n")))
    for n in SIZES:
        x = vector(n)
        for actual, right in zip(leaves(program(x)), leaves(function(x)), strict=True):
            np.testing.assert_allclose(actual, right, 1e-12, err_msg=f"n = {n}")
        actual = grad(lambda x: total(program(x)))(x)
        np.testing.assert_allclose(actual, grad(lambda x: total(function(x)))(x), 1e-12, err_msg=f"n = {n}")


def positive_sum(x):
    s = x[x > 0].sum()  # a run-time size before the decision
    return x * s if x.shape[0] > 2 else x + s


def caught(x):
    def fails(y):
        raise KeyError(repr(y[y > 0]))

    try:
        grad(fails)(x)
    except KeyError:
        return 2 * x


@pytest.mark.parametrize("function", [positive_sum, caught])
def test_run_time_sizes_of_a_trace_that_was_given_up_are_no_part_of_the_program(function):
    program = export(function)(Spec("n"))
    values = [value for node in program.graph.nodes for value in node.outputs]
    made = {variable for value in values for variable, _ in value.meta.variable_axes()}
    named = {v for c in program.graph.conditions for v in c.claim.variables() if "count" in str(v)}
    assert named <= made  # sizes that no node makes could not be saved
    for n in SIZES:
        x = vector(n)
        np.testing.assert_allclose(reloaded(program)(x), positive_sum(x) if function is positive_sum else 2 * x)


def test_two_sizes_and_results_of_different_sizes():
    program = reloaded(export(nested)(Spec("n"), Spec("m")))
    for n in range(5):
        for m in range(5):
            np.testing.assert_allclose(program(vector(n), vector(m)), nested(vector(n), vector(m)), 1e-12)


def test_batches_and_higher_derivatives():
    program = export(lambda x: (x**3).sum() if x.shape[0] > 2 else (x**2).sum())(Spec("n"))
    rows = np.stack([vector(3), 2 * vector(3)])
    np.testing.assert_allclose(vmap(program)(rows), (rows**3).sum(1), 1e-12)
    np.testing.assert_allclose(anyshape.hessian(program)(vector(3)), np.diag(6 * vector(3)), 1e-12)
    np.testing.assert_allclose(anyshape.hessian(program)(vector(2)), 2 * np.eye(2), 1e-12)


def test_decisions_of_a_gradient_and_of_a_caller():
    program = export(grad(chained))(Spec("n"))
    outer = export(lambda x: program(x) if x.shape[0] % 2 else 0 * x)(Spec("n"))
    for n in SIZES:
        np.testing.assert_allclose(program(vector(n)), grad(chained)(vector(n)))
        np.testing.assert_allclose(outer(vector(n)), (n % 2) * program(vector(n)))


def test_a_path_that_raises_is_a_check():
    def needs(x):
        if x.shape[0] < 2:
            raise ValueError("two points are needed")
        assert x.shape[0] % 2 == 0, "an even number is needed"
        return x.reshape(-1, 2).sum(1)

    program = reloaded(export(needs)(Spec("n")))
    np.testing.assert_allclose(program(vector(4)), needs(vector(4)))
    for n, text in [(1, "ValueError: two points are needed"), (3, "AssertionError: an even number is needed")]:
        with pytest.raises(CheckError, match=text):
            program(vector(n))


def typo(x):
    return x.sum() * fator  # noqa: F821


def attribute(x):
    return x.summ()


def recursion(x):
    return recursion(x)


def key(x):
    return {1: x}["one"]


def of_numpy(x):
    return np.linalg.inv(np.zeros((2, 2))) * x.sum()


def of_c(x):
    return x.sum() * int("seven")


def again(x):
    try:
        return {}["again"]
    except KeyError as error:
        raise error from None


def bare(x):
    try:
        return {}["again"]
    except KeyError:
        raise


MISTAKES = {
    typo: NameError,
    attribute: AttributeError,
    recursion: RecursionError,
    key: KeyError,
    of_numpy: np.linalg.LinAlgError,
    of_c: ValueError,
    again: KeyError,
    bare: KeyError,
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("answer", [True, False])
def test_an_exception_that_the_user_has_not_stated_leaves_export(mistake, answer):
    def function(x):
        return mistake(x) if bool(x.shape[0] > 3) is answer else x.sum()

    with pytest.raises(MISTAKES[mistake]) as caught:
        export(function)(Spec("n"))
    assert type(caught.value) is MISTAKES[mistake]
    assert not isinstance(caught.value.__context__, InconclusiveDimensionError)
    lines = [line.lineno for line in traceback.extract_tb(caught.value.__traceback__)]
    first = mistake.__code__.co_firstlineno
    assert any(first < line < first + 6 for line in lines)
    assert any("where n > 3" in note or "where not (n > 3)" in note for note in caught.value.__notes__)


def stated(x):
    raise OSError(2, "no such size")


def from_another(x):
    try:
        return {}["key"]
    except KeyError as error:
        raise LookupError("no such size") from error


def asserted(x):
    assert x.shape[0] < 0, "no such size"


def in_grad(x):
    return grad(stated)(x)


def in_trips(x):
    return fori_loop(0, 2, lambda i, c: asserted(x), x)


@pytest.mark.parametrize("check", [stated, from_another, asserted, in_grad, in_trips])
def test_what_the_user_raises_anywhere_on_a_path_is_a_check(check):
    program = reloaded(export(lambda x: check(x) if x.shape[0] > 3 else x.sum())(Spec("n")))
    assert program(vector(3)) == pytest.approx(vector(3).sum())
    with pytest.raises(CheckError, match="no such size"):
        program(vector(4))


# -- paths that no sizes take, which no proof rules out ----------------------------------------------------------


def irrational(x, y):
    n, m = x.shape[0], y.shape[0]
    if n > 0 and n * n == 2 * m * m:
        return np.ones(3) @ np.concatenate([x[:1], x[:1]])
    return (x**2).sum() + y.sum()


def irrational_below(x, y):
    if x.shape[0] % 2:
        return x.sum()
    return irrational(x, y)


@pytest.mark.parametrize("function", [irrational, irrational_below])
def test_a_path_that_no_sizes_take_does_not_end_the_export(function):
    program = reloaded(export(function)(Spec("n"), Spec("m")))
    for n, m in ((0, 0), (1, 1), (2, 1), (3, 2), (4, 3)):
        x, y = vector(n), vector(m)
        np.testing.assert_allclose(program(x, y), function(x, y), 1e-12)
        np.testing.assert_allclose(grad(program)(x, y), grad(function)(x, y), 1e-12)


def test_a_path_that_no_sizes_take_refuses_to_run_where_a_reader_disproves_what_it_needs(monkeypatch):
    def function(x, y):
        n, m = x.shape[0], y.shape[0]
        if n > 0 and n * n == 2 * m * m:
            return x[m:][0] * 2  # no sizes are here, so that its claim is proved as well as disproved
        return (x**2).sum() + y.sum()

    program, decide = export(function)(Spec("n"), Spec("m")), Scope.decide
    needed = "max(n - m, 0) >= 1"
    monkeypatch.setattr(Scope, "decide", lambda scope, claim: NO if str(claim) == needed else decide(scope, claim))
    loaded = reloaded(program)
    for n, m in ((0, 0), (1, 1), (3, 2)):
        assert loaded(vector(n), vector(m)) == pytest.approx(function(vector(n), vector(m)))


def test_an_error_of_a_path_that_some_sizes_take_leaves_export():
    def mistaken(x, y):
        n, m = x.shape[0], y.shape[0]
        if n > 0 and n * n == 2 * m * m + 1:  # at 3 and 2, and at 17 and 12
            return np.ones(3) @ np.concatenate([x[:1], x[:1]])
        return x.sum() + y.sum()

    with pytest.raises(ShapeError, match="3"):
        export(mistaken)(Spec("n"), Spec("m"))


def emptied(x, y, z):
    """Make x as short as its rows, then swap: no sizes of a path have rows and no number of them."""
    n, m = x.shape[0], y.shape[0]
    if m > 0 and n % m == 0:
        x = (x.reshape(m, -1) ** 2).sum(axis=0)
    if z.shape[0] + x.shape[0] > 0:
        x, y = y, z
    return (x**2).sum() + np.sin(y).sum()


IN_GATE = "load of grad of load"


@pytest.mark.parametrize(
    "way", [IN_GATE, *[pytest.param(way, marks=pytest.mark.slow) for way in WAYS if way != IN_GATE]]
)
def test_derivatives_of_a_program_with_a_path_that_no_sizes_take(way):
    run = WAYS[way](Ways(emptied, "nmk"))
    for sizes in ((4, 2, 1), (2, 0, 0), (0, 2, 0), (3, 2, 2)):
        xs, ts = [vector(n) for n in sizes], [vector(n)[::-1] for n in sizes]
        np.testing.assert_allclose(run(xs, ts), expected(emptied, way, xs, ts), 1e-4 if way in CURVATURES else 1e-12)


@custom_jvp
def misruled(x):
    return 2 * x


@misruled.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return 2 * x, t * (np.ones(3) @ np.concatenate([t[:1], t[:1]]))


def squares(a, b):
    """Return the export of a function with a path where n * n == a * m * m + b, whose derivative is a mistake."""

    def function(x, y):
        n, m = x.shape[0], y.shape[0]
        if n > 1 and n * n == a * m * m + b:
            return misruled(x[:1]).sum() + y.sum()
        return (x**2).sum() + y.sum()

    return export(function)(Spec("n"), Spec("m"))


def both(program):
    return lambda x, y: vmap(program)(np.stack([x, x]), np.stack([y, y]))[1]


DERIVED = {
    "reverse": grad,
    "forward": lambda f: lambda x, y: jvp(lambda t: f(x + t, y), (0.0,), (1.0,))[1] * np.ones(x.shape),
    "batch": lambda f: both(grad(f)),
    "of batch": lambda f: grad(both(f)),
}


@pytest.mark.parametrize("way", DERIVED)
def test_an_error_of_a_rule_for_a_path_that_no_sizes_are_known_to_take_is_the_one_of_a_run_that_takes_it(way):
    derived, x, y = DERIVED[way](squares(13, 1)), vector(5), vector(3)
    right = (2 * x).sum() * np.ones(5) if way == "forward" else 2 * x
    np.testing.assert_allclose(derived(x, y), right, 1e-12)
    with pytest.raises(CheckError, match=r"no sizes were known.* ShapeError: np.ones\(3\) @.*test_size_paths.py:\d+"):
        derived(vector(649), vector(180))  # the first sizes that do


@pytest.mark.parametrize("way", DERIVED)
def test_an_error_of_a_rule_for_a_path_that_some_sizes_take_leaves_the_transform(way):
    with pytest.raises(ShapeError, match="3"):
        DERIVED[way](squares(2, 1))(vector(5), vector(3))  # at 3 and 2, and at 17 and 12


def halves(x, y):
    n = x.shape[0]
    return x[n // 2 :] * y.sum() if n + y.shape[0] > 0 else x + y.sum()


def test_a_path_that_constant_sizes_rule_out_has_no_say_in_the_sizes_of_results():
    program = export(halves)(Spec("n"), Spec("m"))
    for m in (0, 3):
        assert str(trace(program)(Spec("n"), Spec((m,))).graph.outputs[0].meta) == "f64[n - (n // 2)]"


@pytest.mark.slow
def test_many_decisions_whose_paths_contradict_themselves():
    rows = ("1", "!=", "n % (m + 1)", ("two trips",), ("sum * max", "y[::-1] + 0.1"))
    last = ("n // 2", "<", "m", ("y[m // 2:]", "scan"), ("cond", "roll"))
    steps = (("n - m", "!=", "n // 2", ("loop",), ("rows", rows)), ("2", "<", "n // 2", ("x[:m]",), (last,)))
    program, plain = Ways(function_of(steps, TRACED), "nm").exported(), function_of(steps, PLAIN)
    for n, m in itertools.product(range(6), repeat=2):
        np.testing.assert_allclose(program(vector(n), vector(m)), plain(vector(n), vector(m)), 1e-12)


def test_where_all_paths_raise_the_exception_is_pythons():
    def never(x):
        raise KeyError("small" if x.shape[0] < 3 else "large")

    with pytest.raises(KeyError, match=r"small|large"):
        export(never)(Spec("n"))


def test_paths_of_different_types_are_shown_with_their_conditions_and_lines():
    def mixed(x):
        if x.shape[0] > 3:
            return x.sum()
        return x

    with pytest.raises(BranchMismatchError, match=r"path where n > 3 gives f64\[\] at test_size_paths.py") as caught:
        export(mixed)(Spec("n"))
    assert "not (n > 3)" in str(caught.value) and " at size_paths.py" not in str(caught.value).replace("test_size", "")


@pytest.mark.usefixtures("as_written")
def test_limits(monkeypatch):
    def halved(x):
        while x.shape[0] > 1:
            x = x[: x.shape[0] // 2]
        return x

    with pytest.raises(SizePathsError, match=r"30 in a row at test_size_paths.py:\d+"):
        export(halved)(Spec("n"))
    monkeypatch.setattr(config, "max_paths", 4)
    with pytest.raises(SizePathsError) as caught:
        export(counted)(Spec("n"))
    assert caught.value.decisions == 4 and "fori_loop" in str(caught.value)


def test_a_decision_that_the_function_hides_is_followed_all_the_same():
    def cautious(x):
        try:
            return x * 2 if x.shape[0] > 3 else x
        except Exception:
            return x * 0 - 7

    program = export(cautious)(Spec("n"))
    for n in SIZES:
        np.testing.assert_array_equal(program(vector(n)), cautious(vector(n)))
    with pytest.raises(InconclusiveDimensionError, match="n > 3"):
        trace(cautious)(Spec("n"))


def test_a_loop_over_a_size_stays_a_loop_of_the_file():
    total = lambda x: sum(x[i] for i in range(x.shape[0]))
    program = export(total)(Spec("n"))
    for n in SIZES:
        assert program(np.arange(1.0, n + 1)) == total(np.arange(1.0, n + 1))


@pytest.mark.usefixtures("as_written")
def test_what_stays_an_error():
    with pytest.raises(InconclusiveDimensionError, match="fori_loop"):
        export(lambda x: sum(x[i] for i in range(x.shape[0])))(Spec("n"))
    with pytest.raises(DataDependentSizeError):
        export(lambda x: x if len(x[x > 0]) > 2 else -x)(Spec("n"))
    with pytest.raises(InconclusiveDimensionError, match="n > 3"):
        trace(lambda x: x if x.shape[0] > 3 else -x)(Spec("n"))


def test_draws_come_once_and_in_order():
    def noisy(x, rng):
        y = rng.normal(size=x.shape)
        return (y * x).sum() if x.shape[0] > 2 else (y + x).sum() + rng.uniform()

    program = export(noisy)(Spec("n"), np.random.default_rng(0))
    for n in (1, 3):
        ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
        np.testing.assert_allclose(program(vector(n), ours), noisy(vector(n), theirs), 1e-12)
        assert ours.random() == theirs.random()


def test_a_path_may_write_to_an_argument():
    def clears(x, y):
        if x.shape[0] > 2:
            x[0] = 5.0
            if y.shape[0] == 1:
                y += x.sum()
        return x.sum() + y.sum()

    program = export(clears)(Spec("n"), Spec("m"))
    for n, m in [(1, 1), (3, 1), (3, 2), (5, 0), (2, 2)]:
        ours, theirs = (vector(n), vector(m)), (vector(n), vector(m))
        np.testing.assert_allclose(program(*ours), clears(*theirs))
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b)


# -- what a branch saves for its derivative, at sizes of the others -----------------------------------------------


def three_more(x, y):
    if x.shape[0] - y.shape[0] == 3:
        return (x * x).sum() + (y**2).sum()
    return x.sum() + (y**2).sum()


def fewer(x, y):
    return (np.sin(x[3:]) ** 2).sum() + y.sum() if x.shape[0] >= 3 else (x**2).sum() * y.sum()


def divided(x, y):
    if y.shape[0] > 0 and x.shape[0] % y.shape[0] == 0:
        return (x.reshape(y.shape[0], -1) ** 3).sum() + y.sum()
    return (x**2).sum() + y.sum()


@pytest.mark.parametrize("function", [three_more, fewer, divided])
def test_gradients_where_the_size_of_what_another_branch_saves_would_be_negative_or_undefined(function):
    programs = [grad(reloaded(export(function)(Spec("n"), Spec("m"))), (0, 1))]
    programs.append(reloaded(export(grad(function, (0, 1)))(Spec("n"), Spec("m"))))
    for n, m in ((1, 5), (5, 2), (3, 0), (0, 0), (4, 2), (6, 3)):
        x, y = vector(n), vector(m)
        right = grad(function, (0, 1))(x, y)  # of a program for these sizes
        for program in programs:
            for actual, slope in zip(program(x, y), right, strict=True):
                np.testing.assert_allclose(actual, slope, 1e-12, err_msg=f"{n}, {m}")


def test_memory_and_costs_where_a_branch_that_does_not_run_divides_by_0():
    program = export(divided)(Spec("n"), Spec("m"))
    limited = jit(grad(program), max_bytes=1 << 20)
    for n, m in ((4, 2), (3, 0), (0, 0)):
        x, y = vector(n), vector(m)
        np.testing.assert_allclose(limited(x, y), grad(divided)(x, y), 1e-12)
        assert "cond" in str(anyshape.profile(program, repeat=1, file=io.StringIO())(x, y))


def test_a_constant_size_of_0_that_a_branch_divides_by():
    program, x, y = export(divided)(Spec("n"), Spec("m")), vector(3), vector(0)
    assert export(program)(Spec("n"), Spec((0,)))(x, y) == pytest.approx(divided(x, y))
    np.testing.assert_allclose(grad(jit(lambda x: program(x, y)))(x), 2 * x)


def test_values_of_a_branch_are_saved_though_their_size_is_negative_in_the_other():
    program = grad(export(fewer)(Spec("n"), Spec("m")))
    program(vector(5), vector(2))
    sines = [node for node in walk(program.programs()[0].graph) if node.op.name == "sin"]
    assert len(sines) == 1  # none is computed again


def summed_in_trips(x):
    return fori_loop(0, 2, lambda i, c: c * x.sum(), 1.0)


def by_choice(x):
    return cond(x.sum() > 0, lambda: x.sum() * x.shape[0], lambda: x.prod())


@pytest.mark.parametrize("last", [summed_in_trips, by_choice])
def test_an_exported_gradient_with_two_decisions_before_a_subgraph(last):
    def function(x):
        if x.shape[0] % 2:
            x = x * 3
        if x.shape[0] >= 4:
            x = x * 2
        return last(x)

    program = export(grad(function))(Spec("n"))
    for n in SIZES:
        np.testing.assert_allclose(program(vector(n)), grad(function)(vector(n)), 1e-12)
