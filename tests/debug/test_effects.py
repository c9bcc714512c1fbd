"""Effects at the edges: decisions, rules of users, files, errors, functions that are called, and what texts show."""

import collections
import io
import operator
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, debug, errors, grad, hessian, hvp, jit, scan, vmap, while_loop
from anyshape.backend.interpreter import evaluate
from anyshape.ops.control import effect_op
from anyshape.tracing.effects import Text, printed
from tests.debug.test_transforms import TRANSFORMS, Plain, X, plain, straight, text_of, traced

# -- nothing is lost, and nothing happens twice --------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["raises", "acts"])
def test_the_table_finds_a_pass_that_drops_or_merges_prints(fault, monkeypatch):
    monkeypatch.setattr(effect_op, fault, False)
    assert text_of(TRANSFORMS["jit, optimised"](traced(straight)), X, 7) != plain(straight, X)


def test_nothing_happens_while_a_function_is_traced():
    def f(x):
        debug.print("{}", x)
        total, _ = scan(lambda c, row: (debug.print("row"), (c + row, None))[1], 0.0, x)
        if total > 3:  # evaluated while it is traced
            debug.print("large")
        return x * total

    jitted = jit(f)
    assert text_of(lambda: anyshape.explain(jitted)(X)) == text_of(lambda: anyshape.eval_shape(straight_of, X)) == ""
    assert text_of(lambda: anyshape.trace(straight_of)(ShapeDtypeStruct("n"))) == ""
    assert text_of(jitted, X) == f"{X}\n" + 3 * "row\n" + "large\n"
    profile = text_of(anyshape.profile(jitted), X)
    assert profile.startswith(text_of(jitted, X)) and profile.count("large\n") == 1


def straight_of(x):
    return traced(straight)(x, 7)


def decides(py, x):
    py("begin {}", x)
    x = x * 2 if x.sum() > 0 else -x
    py("middle {}", x)
    while x.sum() < 10:
        py("trip {}", x)
        x = x * 2 + 1
    py("end {}", x)
    return x


@pytest.mark.parametrize("optimize", ["now", "auto"])
def test_a_call_that_changes_its_path_prints_once(optimize):
    f = jit(lambda x: decides(debug.print, x), optimize=optimize)
    for value in [1.0, -1.0, 3.0, -5.0, 20.0, 0.3, *[1.0, -5.0] * 8]:
        x = np.array([value])
        assert text_of(f, x) == text_of(decides, lambda text, *args: print(text.format(*args)), x)


def test_a_call_that_is_beyond_the_known_paths_prints_once(monkeypatch):
    monkeypatch.setattr(anyshape.config, "max_paths", 2)
    f = jit(lambda x: decides(debug.print, x))
    for value in (1.0, -1.0, 3.0, -5.0, 20.0, 1.0, -3.0):
        x = np.array([value])
        assert text_of(f, x) == text_of(decides, lambda text, *args: print(text.format(*args)), x)


def test_a_decision_in_the_function_of_rows_prints_once():
    def row(r):
        debug.print("row {}", r)
        if r.sum() > 2:
            debug.print("large")
            return r.sum() * 2
        return r.sum()

    f = jit(lambda x: anp.apply_along_axis(row, 1, x))
    for n in (2, 4):
        x = np.arange(2.0 * n).reshape(n, 2)
        assert text_of(f, x) == "".join([f"row {r}\n" + ("large\n" if r.sum() > 2 else "") for r in x])


@pytest.mark.parametrize("transform", [grad, hessian, lambda f: lambda x: hvp(f, (x,), (x,))])
def test_a_function_with_a_rule_prints_once_and_its_rule_where_it_is_applied(transform):
    @anyshape.custom_vjp
    def cube(x):
        debug.print("cube of {}", x)
        return x**3

    def forward(x):
        debug.print("forward")
        return cube(x), x

    cube.defvjp(forward, lambda x, ct: (3 * x * x * ct,))
    text = text_of(transform(lambda x: (debug.print("first"), cube(x) * 2)[1]), 2.0)
    assert text.replace("forward\n", "") == "first\ncube of 2.0\n"
    assert text.count("forward\n") == 1 or transform is not grad

    @anyshape.custom_jvp
    def square(x):
        debug.print("square of {}", x)
        return x**2

    @square.defjvp
    def rule(primals, tangents):
        return square(*primals), 2 * primals[0] * tangents[0]

    assert text_of(transform(lambda x: square(x) + 1), 2.0) == "square of 2.0\n"


def test_a_scan_of_a_known_function_is_computed_as_it_is_written_where_it_prints():
    f = jit(lambda x: anyshape.associative_scan(lambda a, b: (debug.print("{} {}", a, b), a + b)[1], x))
    assert text_of(f, np.arange(3.0)) == "[0.] [1.]\n[1.] [2.]\n"


def test_the_derivative_of_a_root_does_not_print_its_equation():
    def root(a):
        def f(x):
            debug.print("at {:.3f}", x)
            return x * x - a

        solve = lambda f, x: while_loop(lambda x: abs(f(x)) > 1e-3, lambda x: x - f(x) / (2 * x), x)
        return anyshape.custom_root(f, 1.0, solve, lambda g, y: y / g(1.0))

    assert text_of(grad(root), 2.0) == text_of(hessian(root), 2.0) == text_of(jit(root), 2.0) != ""


@pytest.mark.slow
def test_limits_at_equal_eigenvalues_print_once():
    def f(x):
        w, v = np.linalg.eigh(x @ x.T)
        debug.print("values {}", w)
        return ((v * np.exp(w)) @ v.T).sum()

    assert text_of(hessian(f), np.eye(2)) == text_of(jit(f), np.eye(2)) == "values [1. 1.]\n"


@pytest.mark.parametrize("loop", ["scan", "while_loop"])
@pytest.mark.parametrize("options", [{}, {"checkpoint": 4}, {"checkpoint": "carry"}, {"max_bytes": 200_000}], ids=str)
def test_trips_that_are_computed_again_do_not_print(loop, options):
    limit = {"max_bytes": options["max_bytes"]} if "max_bytes" in options else {}
    policy = {} if limit else options

    def f(w):
        def step(c):
            debug.print("{:.4f}", c.sum())
            return np.sin(c * w)

        if loop == "scan":
            return scan(lambda c, _: (step(c), None), w, np.zeros(100), **policy)[0].sum()
        ends = while_loop(lambda s: s[0] < 100, lambda s: (s[0] + 1, step(s[1])), (0, w), **policy)
        return ends[1].sum()

    w = np.linspace(0.1, 1, 1000)
    text = text_of(jit(f), w)
    assert text.count("\n") == 100
    assert text_of(jit(grad(f), **limit), w) == text


def test_a_call_that_begins_again_with_less_memory_goes_on_printing():
    def f(w):
        def outer(s):
            debug.print("{} {:.3f}", s[0], s[1].sum())
            trip = lambda t: (t[0] + 1, np.sin(t[1] * w))
            return s[0] + 1, while_loop(lambda t: t[0] < 20, trip, (0, s[1]))[1]

        return while_loop(lambda s: s[0] < 20, outer, (0, w))[1].sum()

    w, limited = np.linspace(0.1, 1, 1000), jit(grad(f), max_bytes=600_000)
    assert text_of(limited, w) == text_of(jit(f), w) and len(limited.with_slots) > 1


# -- order and errors ----------------------------------------------------------------------------------------------


def test_what_comes_before_an_error_is_printed():
    @jit
    def f(x):
        debug.print("before {}", x)
        anyshape.check(x > 0, "positive")
        debug.print("after {}", x)
        if x.shape[0] > 3:
            raise ValueError("too many")
        return np.linalg.inv(x.reshape(1, -1))

    for x, lines, error in [
        (np.array([-1.0]), ["before [-1.]"], errors.CheckError),
        (np.ones(4), ["before [1. 1. 1. 1.]", "after [1. 1. 1. 1.]"], ValueError),
        (np.ones(4), ["before [1. 1. 1. 1.]", "after [1. 1. 1. 1.]"], ValueError),
        (np.ones(1), ["before [1.]", "after [1.]"], None),
    ]:
        raised = []

        def call(x=x, raised=raised):
            try:
                f(x)
            except Exception as problem:
                raised.append(type(problem))

        assert text_of(call).splitlines() == lines and raised == ([error] if error else [])


def test_prints_calls_and_stops_keep_their_order(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: seen.append("stop"))
    monkeypatch.setattr(sys, "stdout", type("Out", (), {"write": lambda _, text: seen.append(text), "flush": None})())

    @jit
    def f(x):
        debug.callback(seen.append, 1)
        debug.print("a")
        debug.breakpoint()
        debug.callback(lambda y: seen.append(float(y)), x)
        debug.print("b")
        return x

    f(2.0)
    assert seen == [1, "a\n", "stop", 2.0, "b\n"]


def test_the_naive_evaluator_prints_the_same():
    graph = anyshape.trace(straight_of)(ShapeDtypeStruct("n")).graph
    assert text_of(evaluate, graph, [X]) == plain(straight, X)


# -- calls and the debugger ----------------------------------------------------------------------------------------


def test_a_callback_gets_what_numpy_would_have():
    seen = []

    @jit
    def f(x, n, tree):
        debug.callback(lambda *args, **kwargs: seen.append((args, kwargs)), x, n, "text", k=[x.shape[0], tree, None])
        return x[0]

    f(X, 2, {"a": np.float32(3)})
    (((x, n, text), named),) = seen
    size, tree, none = named["k"]
    assert x.tolist() == X.tolist() and text == "text" and none is None
    assert (type(n), type(size), type(tree["a"])) == (int, int, np.float32) and (n, size, tree["a"]) == (2, 3, 3)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1


@pytest.mark.parametrize("optimize", ["now", "off"])
def test_arrays_that_a_callback_keeps_stay_as_they_are(optimize):
    def run(x, keep):
        for i in range(4):
            y = np.sin(x) + i
            keep(x, y)
            x = y * 2 + 1
        z = np.exp(x)
        keep(z, x)
        return (z + 1).sum()

    seen, expected = [], []
    keep = lambda *xs: debug.callback(lambda *ys: seen.append(ys), *xs)
    x = np.linspace(0, 1, 1000)
    run(x, lambda *xs: expected.append(xs))
    for function in (lambda x: run(x, keep), grad(lambda x: run(x, keep))):
        seen.clear()
        jit(function, optimize=optimize)(x)
        np.testing.assert_allclose(np.array(seen), np.array(expected))


def test_draws_and_prints_of_a_call_that_changes_its_path_happen_once():
    def f(rng, show):
        show("first {:.3f}", rng.normal())
        x = rng.normal()
        show("large {:.3f}" if x > 0 else "small {:.3f}", x)
        show("last {:.3f}", rng.normal())

    traced, plain = jit(lambda rng: f(rng, debug.print)), lambda rng: f(rng, Plain.print)
    ours, theirs = np.random.default_rng(0), np.random.default_rng(0)
    assert all(text_of(traced, ours) == text_of(plain, theirs) for _ in range(20))


def test_threads_count_their_effects_apart():
    seen = []

    @jit
    def f(x):
        debug.callback(lambda v: seen.append(v.item()), x)
        y = x if x > 50 else -x
        debug.callback(lambda v: seen.append(v.item() + 1000), x)
        return y

    starts = (0.0, 30.0, 60.0)
    threads = [threading.Thread(target=lambda a=a: [f(np.float64(a + i)) for i in range(50)]) for a in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted(a + i + d for a in starts for i in range(50) for d in (0, 1000))


def test_an_error_of_a_callback_is_that_of_the_call():
    def fail(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        jit(lambda x: (debug.callback(fail, x), x * 2)[1])(X)
    assert "effect at test_effects.py" in caught.value.__notes__[0]
    with pytest.raises(errors.ArgumentError, match=r"debug\.callback"):
        debug.callback("no function")


def test_a_callback_may_call_programs_that_print():
    inner = jit(lambda x: (debug.print("inner {}", x), x if x > 1 else -x)[1])
    outer = jit(lambda x: (debug.callback(inner, x), debug.print("outer"), x if x > 2 else -x)[2])
    for x in (3.0, 1.0, 2.0, 0.5, 3.0):
        assert text_of(outer, x) == f"inner {x}\nouter\n"


def test_a_debugger_sees_the_line_and_the_values(monkeypatch):
    seen = []

    def hook():
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_filename, frame.f_lineno, frame.f_globals["x"], frame.f_globals["args"]))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    f = jit(vmap(lambda x: (debug.breakpoint(x + 1, x=x), x)[1]))
    line = f.__wrapped__.__code__.co_firstlineno if hasattr(f.__wrapped__, "__code__") else None
    f(X)
    assert [(x, args) for _, _, x, args in seen] == [(x, (x + 1,)) for x in X]
    assert {file for file, *_ in seen} == {__file__} and len({line for _, line, *_ in seen}) == 1
    assert line is None or seen[0][1] >= line - 1


SESSION = """
import numpy as np
from anyshape import debug, jit

@jit
def f(x):
    y = x * 2
    debug.breakpoint(y=y)
    return y

print(f(np.ones(2)))
"""


def test_pdb_stops_at_the_line_with_the_values(tmp_path):
    (tmp_path / "session.py").write_text(SESSION)
    command = [sys.executable, tmp_path / "session.py"]
    done = subprocess.run(command, input="p y\nc\n", capture_output=True, text=True, check=True, timeout=60)
    assert "session.py(8)" in done.stdout and "debug.breakpoint(y=y)" in done.stdout
    assert "array([2., 2.])" in done.stdout and done.stdout.endswith("[2. 2.]\n")


def test_two_traces_that_act_alike_are_equal():
    def f(x):
        debug.callback(print, x, k="text")
        debug.breakpoint(x)
        debug.print("{}", x)
        return x

    first, second = (anyshape.trace(f)(ShapeDtypeStruct("n")).graph for _ in range(2))
    assert first == second


# -- files ---------------------------------------------------------------------------------------------------------


def test_files_and_pickles_hold_prints_and_no_functions(tmp_path):
    def f(x):
        debug.print("{} of {n}", x, n=x.shape[0])
        return scan(lambda c, row: (c + row, (debug.print("{!r:>20}", row), c)[1]), 0.0, x)

    program = anyshape.trace(f)(ShapeDtypeStruct("n"))
    program.save(tmp_path / "program")
    text = text_of(jit(f), X)
    for again in (anyshape.load(tmp_path / "program"), pickle.loads(pickle.dumps(program))):
        assert text_of(again, X) == text != ""
    called = anyshape.trace(lambda x: (debug.callback(print, x), x)[1])(ShapeDtypeStruct("n"))
    with pytest.raises(errors.ArgumentError, match="no file holds it"):
        called.save(tmp_path / "called")


# -- what texts show -----------------------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")

SHOWN = {
    "arrays": lambda show, x, n, z: show(x, x * n, x[:, None], x > 1, x.astype(int), x.astype(np.float32)),
    "scalars": lambda show, x, n, z: show(x[0], x.sum(), x[0] > 1, x.astype(np.float32)[0], z * x[0]),
    "numbers": lambda show, x, n, z: show(n, z, n * 2, n + 0.5, n > 1, x.shape[0], x.shape[0] * 2 + 1, x.shape),
    "containers": lambda show, x, n, z: show([x, x[0]], (x[0],), (), {"a": x, 2: [n]}, Point(x[0], n), [[x.shape]]),
    "objects": lambda show, x, n, z: show("text {} %s", None, 1.5, [1, "a"], np.float32(2), np.arange(3), slice(2), x),
    "separators": lambda show, x, n, z: show("a", x, n, sep=", ", end=".\n"),
    "nothing": lambda show, x, n, z: show(),
    "no separators": lambda show, x, n, z: show("", n, "", sep=None, end=None),
}


@pytest.mark.parametrize("case", SHOWN)
def test_printed_shows_what_print_shows(case):
    show = SHOWN[case]
    for x in (X, np.array([1.0])):
        assert text_of(jit(lambda x, n, z: show(printed, x, n, z)), x, 2, 1j) == text_of(show, print, x, 2, 1j)


def of_percent(template, values):
    """A text and what Python makes of it, for values of an array and a number."""
    return lambda x, n: Text.of_percent(template, values(x, n)), lambda x, n: operator.mod(template, values(x, n))


FORMATTED = [
    (lambda x, n: Text(["x=", (x, "", ""), (n, "", "05d"), (n, "r", ">4")]), lambda x, n: f"x={x}{n:05d}{n!r:>4}"),
    (
        lambda x, n: Text([(x[0], "", ".3f"), (x[0], "r", ""), (x.shape, "s", "")]),
        lambda x, n: f"{x[0]:.3f}{x[0]!r}{x.shape!s}",
    ),
    (
        lambda x, n: Text.of_format("{0:.1f} {n}{1.shape} {1[0]} {{}}", (x[0], x), {"n": n})[0],
        lambda x, n: f"{x[0]:.1f} {n}{x.shape} {x[0]} {{}}",
    ),
    (lambda x, n: Text.of_format("{:>{w}}|{}", (n, x), {"w": 6})[0], lambda x, n: f"{n:>6}|{x}"),
    of_percent("%d%% of %-8.3f| %s", lambda x, n: (n, x[0], x)),
    of_percent("%(n)03d %(x)s", lambda x, n: {"n": n, "x": x}),
    of_percent("%*.*f", lambda x, n: (8, 2, x[0])),
    of_percent("%s", lambda x, n: x),
]


def test_texts_are_filled_when_the_program_runs():
    def f(x, n):
        for text, _ in FORMATTED:
            printed(text(x, n), "|", text(x, n), sep="")

    expected = "".join([f"{text(X, 3)}|{text(X, 3)}\n" for _, text in FORMATTED])
    assert text_of(jit(f), X, 3) == expected == text_of(f, X, 3)


def test_streams_are_those_of_the_run(capsys):
    file = io.StringIO()

    @jit
    def f(x):
        printed("out", x)
        printed("err", x, file=sys.stderr)
        printed("file", x, file=file, flush=True)
        return x

    f(1)
    f(2)
    assert capsys.readouterr() == ("out 1\nout 2\n", "err 1\nerr 2\n") and file.getvalue() == "file 1\nfile 2\n"
    assert text_of(f, 3) == "out 3\n"


def test_what_is_known_prints_now_and_a_wrong_call_is_refused():
    assert text_of(lambda: anyshape.eval_shape(lambda x: (printed("now", 1, sep="-"), x)[1], X)) == "now-1\n"
    assert text_of(debug.print, "{} {a}", X, a=2) == f"{X} 2\n"
    for wrong in (lambda: debug.print("{}", X, X), lambda: debug.print("{}", X, a=X), lambda: debug.print(X)):
        with pytest.raises(errors.ArgumentError, match=r"debug\.print"):
            wrong()
    with pytest.raises(TypeError, match="sep must be None or a string, not int"):
        printed(X, sep=1)
    with pytest.raises(TypeError, match="unsupported format string"):
        jit(lambda x: debug.print("{:.2f}", x))(X)


def test_numbers_that_the_function_makes_or_closes_over_are_those_of_the_run():
    held = np.array([1.0, 2.0])

    @jit
    def f(x):
        debug.print("{} {}", held, x)
        x[0] = 7
        debug.print("{}", x)
        return x

    for first in (1.0, 5.0):
        held[0] = first
        x = np.array([0.0, 1.0])
        assert text_of(f, x) == f"[{first:.0f}. 2.] [0. 1.]\n[7. 1.]\n"
