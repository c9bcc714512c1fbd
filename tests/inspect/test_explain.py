"""Explanations: sizes and conditions, why a program was traced, and of what needs another one."""

import collections
import inspect
import io
import json
import threading

import numpy as np
import pytest
from rich.console import Console

import anyshape
from anyshape import STATIC, Dim, ShapeDtypeStruct, explain, grad, jit, vmap
from anyshape.transforms.caching.cache import Cache

pytestmark = pytest.mark.usefixtures("as_written")


def line_of(function, text):
    """The number of the line of the function that holds the text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def reasons(explanation, program=-1):
    """Return the reasons of one program in an explanation, as (kind, subject, before, now)."""
    return [(r.kind, r.subject, r.before, r.now) for r in explanation.programs[program].because]


def halves(x):
    y = x * 2
    if x.shape[0] > 4:
        y = y + 1
    return y


def ones(*shape, dtype=float):
    return np.ones(shape, dtype)


# -- guards ------------------------------------------------------------------------------------------------------


def test_the_guard_that_failed_is_named_with_both_values_and_the_line():
    made = jit(halves)
    made(ones(7))
    made(ones(3))
    explanation = made.explain()
    assert reasons(explanation) == [("guard", "x.shape[0] > 4", "x.shape[0] = 7", "x.shape[0] = 3")]
    line = line_of(halves, "if x.shape")
    expected = f"program 1: x.shape[0] > 4 (test_explain.py:{line}): x.shape[0] = 7 when traced, 3 now"
    assert expected in str(explanation)
    first, second = (p.guards()[0] for p in explanation.programs)
    assert (first.claim, first.otherwise) == ("x.shape[0] > 4", "x.shape[0] <= 4")
    assert (second.claim, second.otherwise) == ("x.shape[0] <= 4", "x.shape[0] > 4")
    assert first.code == "if x.shape[0] > 4:" and first.where.line == line


def test_the_first_guard_that_fails_is_named_as_python_would_have_turned_there():
    def turns(x, y):
        a = x.sum() if x.shape[0] == y.shape[0] else y.sum()
        return a if x.shape[0] % 2 == 0 else -a

    made = jit(turns)
    made(ones(4), ones(4))
    made(ones(3), ones(5))
    assert reasons(made.explain()) == [
        ("guard", "x.shape[0] == y.shape[0]", "x.shape[0] = 4, y.shape[0] = 4", "x.shape[0] = 3, y.shape[0] = 5")
    ]
    assert "x.shape[0] = 4, y.shape[0] = 4 when traced, x.shape[0] = 3, y.shape[0] = 5 now" in str(made.explain())
    made(ones(4), ones(6))
    kinds = [r[1] for r in reasons(made.explain())]
    assert kinds == ["x.shape[0] == y.shape[0]", "x.shape[0] % 2 != 0"]


@pytest.mark.parametrize("sizes", [(0, 1, 2, 3, 5, 8)])
def test_guards_and_their_opposites_say_what_they_mean(sizes):
    """Brute force: the texts, evaluated as Python, tell which program serves a call and which does not."""

    def turns(x, y):
        a = x.sum()
        if x.shape[0] < 3:
            a = a + 1
        if not x.shape[0] % 2:
            a = a + 2
        if y.shape[0] >= 2 * x.shape[0] - 1:
            a = a * 3
        return a if x.shape[0] != y.shape[0] else -a

    made = jit(turns)
    for n in sizes:
        for m in sizes:
            explanation = explain(made)(ones(n), ones(m))
            names = {"x": ones(n), "y": ones(m)}
            for program in explanation.programs:
                holds = [eval(g.claim, names) for g in program.guards()]
                assert [eval(g.otherwise, names) for g in program.guards()] == [not h for h in holds]
                assert (program.number == explanation.program) == all(holds)
    assert made.cache_info().traces == len(made.explain().programs) > 4


def test_sizes_are_named_by_parameters_also_inside_trees():
    def layer(params, *, x):
        return x @ params["w"] if params["w"].shape[1] > 2 else x

    Pair = collections.namedtuple("Pair", "w b")
    explanation = explain(layer)({"w": ones(4, 3), "b": [ones(2), (ones(1),)]}, x=ones(5, 4))
    (program,) = explanation.programs
    assert [a.path for a in program.arguments] == ["params['w']", "params['b'][0]", "params['b'][1][0]", "x"]
    claims = {c.kind: c.claim for c in program.conditions}
    assert claims == {"guard": "params['w'].shape[1] > 2", "assertion": "x.shape[1] == params['w'].shape[0]"}
    assert program.structure == "({'w': *, 'b': [*, (*,)]}, x=x)"
    (program,) = explain(lambda p: p.w * p.b)(Pair(ones(2), 1.0)).programs
    assert [(a.path, a.number) for a in program.arguments] == [("p.w", ""), ("p.b", "a Python float")]
    assert program.structure == "(Pair(w=*, b=*))"


def test_a_fixed_value_of_a_size_is_a_guard_for_that_value():
    made = jit(lambda x: x.reshape(2, int(x.shape[0]) // 2).sum(axis=0))
    made(ones(6))
    made(ones(8))
    assert reasons(made.explain()) == [("guard", "x.shape[0] == 6", "x.shape[0] = 6", "x.shape[0] = 8")]
    (size,) = made.explain().programs[0].sizes
    assert (size.name, size.source, size.value, size.low, size.high) == ("x_0", "x.shape[0]", 6, 6, 6)


# -- what is not a size ---------------------------------------------------------------------------------------------


def test_another_dtype():
    made = jit(lambda x, y: x * y)
    made(ones(2), ones(2))
    made(ones(2), ones(2, dtype=np.float32))
    assert reasons(made.explain()) == [("dtype", "y", "float64", "float32")]
    assert "dtype of y: float64 when traced, float32 now" in str(made.explain())


def test_another_number_of_axes():
    made = jit(lambda x: x.sum())
    made(ones(2))
    made(ones(2, 1))
    assert reasons(made.explain()) == [("rank", "x", "1", "2")]
    assert "number of axes of x: 1 when traced, 2 now" in str(made.explain())


def test_a_plain_number_and_an_array_and_a_number_of_another_type():
    made = jit(lambda x, s: x * s)
    made(ones(2), 2.0)
    made(ones(2), np.float64(2))
    assert reasons(made.explain()) == [("number", "s", "a Python float", "a NumPy float64")]
    made(ones(2), 2)
    assert reasons(made.explain()) == [("number", "s", "a NumPy float64", "a Python int")]


@pytest.mark.parametrize(
    "first, second, subject, before, now",
    [
        (({"w": 1.0},), ({"w": 1.0, "b": 2.0},), "p", "{'w': *}", "{'w': *, 'b': *}"),
        (([1.0, 2.0],), ([1.0],), "p", "[*, *]", "[*]"),
        (([1.0, 2.0],), ((1.0, 2.0),), "p", "[*, *]", "(*, *)"),
        (({"a": {"b": 1.0}},), ({"a": {"b": [1.0]}},), "p['a']['b']", "*", "[*]"),
        (({"a": 1.0},), ({"a": None},), "p['a']", "*", "None"),
        ((1.0,), (1.0, 2.0), "the arguments", "(p)", "(p, q)"),
    ],
)
def test_another_structure_shows_the_part_that_differs(first, second, subject, before, now):
    made = jit(lambda p, q=1.0: 1.0)
    made(*first)
    made(*second)
    assert reasons(made.explain()) == [("structure", subject, before, now)]
    assert f"{subject}: {before} when traced, {now} now" in str(made.explain())


def test_an_argument_by_its_name():
    made = jit(lambda x, *rest, **named: x + sum(rest) + sum(named.values()))
    made(ones(2), ones(2))
    made(ones(2), w=ones(2))
    assert reasons(made.explain()) == [("structure", "the arguments", "(x, args[1])", "(x, w=w)")]


def test_another_value_of_a_static_argument():
    made = jit(lambda x, mode, k: x * k, static_argnames=("mode", "k"))
    made(ones(2), "a", (1, 2))
    made(ones(2), "b", (1, 2))
    assert reasons(made.explain()) == [("static", "mode", "'a'", "'b'")]
    assert "static argument mode: 'a' when traced, 'b' now" in str(made.explain())
    assert made.explain().programs[0].static == {"mode": "'a'", "k": "(1, 2)"}
    assert "mode='a', k=(1, 2)" in str(made.explain())


FACTOR = 2.0


def test_a_global_that_was_bound_anew(monkeypatch):
    made = jit(lambda x: x * FACTOR)
    made(ones(2))
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert made.explain().programs[0].stale == ("FACTOR: 2.0 when traced, 3.0 now",)
    made(ones(2))
    (program,) = made.explain().programs
    assert reasons(made.explain()) == [("name", "FACTOR", "2.0", "3.0")]
    assert program.number == 2 and program.watched == ("FACTOR",) and not program.stale
    assert "FACTOR is rebound" in program.retraces


def test_a_variable_of_a_closure_a_container_and_an_array():
    scale, layers, weights = 1, [1.0], ones(3)

    def scaled(x):
        return x * scale * layers[0] + weights

    made = jit(scaled)
    made(ones(3))
    scale = 4
    made(ones(3))
    assert reasons(made.explain()) == [("name", "scale", "1", "4")]
    weights = ones(3) * 2
    np.testing.assert_array_equal(made(ones(3)), np.full(3, 6.0))
    assert reasons(made.explain()) == [("name", "weights", "ndarray", "another ndarray")]
    layers.append(2.0)  # not an array or a number alone, which would become an argument after two changes
    made(ones(3))
    assert reasons(made.explain()) == [("name", "layers", "[1.0]", "[1.0, 2.0]")]


class Model:
    def __init__(self):
        self.rate = 0.5

    @jit
    def step(self, x):
        return x * self.rate if len(x.shape) == 1 else x

    def plain(self, x):
        return x * self.rate


def test_an_attribute_of_the_object_of_a_method():
    model = Model()
    model.step(ones(2))
    model.rate = 0.25
    explanation = explain(model.step)(ones(5))
    assert reasons(explanation) == [("name", "Model.rate", "0.5", "0.25")]
    assert explanation.name == "step" and explanation.programs[0].arguments[0].path == "x"
    assert explain(model.plain)(ones(5)).programs[0].arguments[0].path == "x"


# -- declared shapes ---------------------------------------------------------------------------------------------


def test_names_that_are_shared_keep_their_name_and_say_where_they_are_read():
    made = jit(lambda x, y: x[: y.shape[0]] * y if y.shape[0] > 1 else x, dynamic_shapes={"x": "n + m", "y": "n"})
    explanation = explain(made)(ones(7), ones(3))
    (program,) = explanation.programs
    sizes = {s.name: (s.source, s.value, s.low, s.high) for s in program.sizes}
    assert sizes == {"n": ("y.shape[0]", 3, 2, None), "m": ("x.shape[0] - n", 4, 0, None)}
    assert program.guards()[0].claim == "n > 1"
    assert program.arguments[0].meta in ("f64[m + n]", "f64[n + m]")


def test_a_dim_has_its_range_and_a_size_by_its_value_its_argument():
    k = Dim("most", min=1, max=9)
    made = jit(lambda x, k: x[:k].sum(), dynamic_shapes={"x": "n", "k": k})
    (program,) = explain(made)(ones(12), 4).programs
    sizes = {s.name: (s.source, s.value, s.low, s.high) for s in program.sizes}
    assert sizes["most"] == ("k", 4, 1, 9)
    assert program.arguments[1].size == "most"
    assert "most = k  " in str(explain(made)(ones(12), 4))


def test_a_root_is_said_by_its_equation():
    made = jit(lambda x: x * 2, dynamic_shapes={"x": "n**3 + n"})
    (program,) = explain(made)(ones(10)).programs
    assert [(s.name, s.source, s.value) for s in program.sizes] == [("n", "where n**3 + n = x.shape[0]", 2)]


def test_a_static_size_is_a_guard():
    made = jit(lambda x: x * 2, dynamic_shapes={"x": (STATIC, None)})
    made(ones(3, 2))
    made(ones(4, 2))
    assert reasons(made.explain()) == [("guard", "x.shape[0] == 3", "x.shape[0] = 3", "x.shape[0] = 4")]
    assert made.explain().programs[0].guards()[0].reason == "x.shape[0] was declared STATIC"


# -- the cache ---------------------------------------------------------------------------------------------------


def test_no_program_says_how_to_get_one():
    made = jit(halves)
    text = str(made.explain())
    assert text.startswith("halves: no program yet\n") and "explain(halves)(*arguments)" in text
    assert made.explain().to_dict()["programs"] == []


def test_explaining_traces_once_and_runs_nothing():
    calls = []

    def noted(x):
        calls.append(1)
        return x * 2

    made = jit(noted)
    explanation = explain(made)(ones(3))
    assert (explanation.program, explanation.traced) == (1, True)
    explanation = explain(made)(ones(5))
    assert (explanation.program, explanation.traced) == (1, False)
    np.testing.assert_array_equal(made(ones(2)), [2, 2])
    assert made.cache_info()[:3] == (1, 1, 1) and len(calls) == 1
    text = str(explain(made)(ones(2)))
    assert "these arguments are served by program 1, cached" in text and "1 trace, 1 call without" in text


def test_arguments_that_break_an_assertion_are_told_to_be_an_error():
    made = jit(lambda x, w: x @ w)
    made(ones(2, 3), ones(3))
    explanation = explain(made)(ones(2, 3), ones(4))
    expected = "x.shape[1] == w.shape[0] does not hold for x.shape[1] = 3, w.shape[0] = 4"
    assert explanation.broken == (expected,) and f"but a call is an error: {expected}" in str(explanation)
    with pytest.raises(anyshape.errors.SizeMismatchError):
        made(ones(2, 3), ones(4))
    assert not explain(made)(ones(5, 4), ones(4)).broken


def test_described_arguments_need_no_memory():
    explanation = explain(lambda x, k: x * k)(ShapeDtypeStruct((10**9, 10**5)), ShapeDtypeStruct((), np.int32))
    assert [a.dtype for a in explanation.programs[0].arguments] == ["float64", "int32"]


def test_programs_that_were_evicted():
    made = jit(lambda x: x * int(x.shape[0]))
    made._cache = Cache(2)
    for n in (1, 2, 3):
        made(ones(n))
    explanation = made.explain()
    assert "1 evicted, as at most 2 are kept" in str(explanation) and [p.number for p in explanation.programs] == [2, 3]
    made(ones(1))
    assert [(r.kind, r.program) for r in made.explain().programs[-1].because] == [("evicted", 1)]
    assert "program 1: it was evicted, as 2 programs are kept at most" in str(made.explain())
    assert made.cache_info() == (4, 0, 2, 2, 2)


def test_many_programs_are_listed_in_short():
    made = jit(lambda x: x * int(x.shape[0]))
    for n in range(12):
        made(ones(n))
    last = str(made.explain()).split("program 12:")[1]
    assert "program 11: x.shape[0] == 10" in last and "... and 5 more" in last


def test_a_call_that_fails_leaves_no_program_to_explain():
    made = jit(lambda x: x.reshape(7, 3))
    with pytest.raises(anyshape.AnyshapeError):
        explain(made)(ones(5))
    assert not made.explain().programs


def test_threads_that_call_and_ask():
    made = jit(lambda x: x * int(x.shape[0]))
    problems = []

    def work(start):
        try:
            for n in range(start, start + 12):
                made(ones(n % 15))
                json.dumps(made.explain().to_dict())
                str(explain(made)(ones((n + 3) % 15)))
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(i * 3,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems
    numbers = [p.number for p in made.explain().programs]
    assert numbers == list(range(1, len(numbers) + 1)) and made.cache_info().traces == len(numbers) == 15


# -- what is explained -------------------------------------------------------------------------------------------


def test_transformed_functions():
    def loss(params, x):
        return np.sum((x @ params["w"]) ** 2) if x.shape[0] > 2 else np.sum(params["w"])

    derivative = grad(loss)
    derivative({"w": ones(3)}, ones(5, 3))
    explanation = explain(derivative)({"w": ones(3)}, ones(1, 3))
    assert explanation.name == "grad(loss)" and explanation.programs[1].result == "{'w': f64[params_w_0]}"
    assert reasons(explanation) == [("guard", "x.shape[0] > 2", "x.shape[0] = 5", "x.shape[0] = 1")]
    mapped = vmap(lambda x: x * 2 if x.shape[0] > 1 else x)
    assert explain(mapped)(ones(3, 4)).programs[0].guards()[0].claim == "x.shape[1] > 1"


def test_a_function_without_arguments():
    explanation = explain(lambda: np.ones(3) * 2)()
    (program,) = explanation.programs
    assert program.structure == "()" and not program.sizes and program.result in ("f64[3]", "(f64[3])")
    assert "program 1: <lambda>() -> f64[3]" in str(explanation)


def test_results_in_trees():
    (program,) = explain(lambda x: {"a": x, "b": (x.sum(), [x.T])})(ones(2, 3)).programs
    assert program.result == "{'a': f64[x_0, x_1], 'b': (f64[], [f64[x_1, x_0]])}"
    assert program.outputs == (("float64", "x_0", "x_1"), ("float64",), ("float64", "x_1", "x_0"))


def test_what_rules_relied_on():
    explanation = explain(lambda x: np.mean(x @ x.T))(ones(4, 3))
    assert any(r.size == "x.shape[0]" for r in explanation.reliances)
    keys = {"op", "rule", "question", "field", "size", "times", "where"}
    assert explanation.to_dict(reliances=True)["programs"][0]["reliances"][0].keys() == keys
    assert "reliances" not in explanation.to_dict()["programs"][0]


def test_what_was_proved_is_told_with_its_line_and_reason():
    def function(x, y):
        if x.shape[0] > 4 and y.shape[0] >= 0:  # a guard, and a claim that ranges prove
            x = x * 2 if x.shape[0] > 2 else x  # follows from the guard
        return x + 1 if x.shape[0] * 2 < 3 else x

    first = function.__code__.co_firstlineno
    explanation = explain(function, verbose=True)(ones(6), ones(2))
    (program,) = explanation.programs
    reasons = {d.claim: (d.where.line - first, d.reason) for d in program.decisions}
    assert reasons["y.shape[0] >= 0"] == (1, "holds for all sizes in their ranges")
    line, reason = reasons["x.shape[0] > 2"]
    assert line == 2 and reason.startswith("follows from x.shape[0] > 4 (test_explain.py:")
    assert [line for line, _ in reasons.values()] == [1, 2, 3]
    text = str(explanation)
    assert "decided by proof" in text and "relies on" in text and f"test_explain.py:{first + 2}  follows from" in text
    assert all(r.where is not None for r in program.reliances if r.rule == "shape")
    assert "decided by proof" not in str(explain(function)(ones(6), ones(2)))


def test_sizes_outside_of_programs_log_nothing():
    n = anyshape.Dim("n", 4, 9)
    before = len(n.scope.reliance_log)
    assert n > 3 and not n > 9
    assert len(n.scope.reliance_log) == before


def test_as_plain_data():
    made = jit(lambda x, s, k: x * s if x.shape[0] > k else x, static_argnames="k")
    made(ones(7), 2.0, k=4)
    made(ones(3), 2.0, k=4)
    data = json.loads(json.dumps(made.explain().to_dict(reliances=True)))
    assert data["cache"] == {"traces": 2, "hits": 0, "entries": 2, "evictions": 0, "limit": 256}
    first, second = data["programs"]
    assert first["number"] == 1 and first["because"] == [] and first["static"] == {"k": "4"}
    assert second["because"][0]["kind"] == "guard" and second["because"][0]["where"]["file"].endswith(".py")
    assert first["sizes"] == [{"name": "x_0", "source": "x.shape[0]", "value": 7, "low": 5, "high": None}]
    assert "x.shape[0] <= 4" in first["retraces"] and "s is not a Python float" in first["retraces"]
    assert "x is not an array of float64 with 1 axis" in first["retraces"]


def test_as_a_table():
    made = jit(halves)
    console = Console(width=160)
    with console.capture() as captured:
        console.print(made.explain())
        made(ones(2))
        made(ones(9))
        console.print(made.explain())
    text = captured.get()
    assert "no program yet" in text
    for part in ("x_0 = x.shape[0]", "5 or more", "x.shape[0] > 4", "if x.shape[0] > 4:", "when traced"):
        assert part in text, part


def test_names_that_look_like_sizes_are_left_alone():
    """Text is replaced by whole names of sizes only."""

    def f(x, x_0):
        return x * x_0 if x.shape[0] > x_0.shape[0] else x

    (program,) = explain(f)(ones(5), ones(1)).programs
    assert program.guards()[0].claim == "x.shape[0] > x_0.shape[0]"


def test_sizes_of_one_name_are_told_apart():
    """params['a'] and params_a have axes of the same name."""

    def f(params, params_a):
        return params["a"].sum() if params["a"].shape[0] > params_a.shape[0] else params_a.sum()

    (program,) = explain(f)({"a": ones(5)}, ones(2)).programs
    (guard,) = program.guards()
    assert eval(guard.claim, {"params": {"a": ones(5)}, "params_a": ones(2)})
    assert not eval(guard.claim, {"params": {"a": ones(2)}, "params_a": ones(5)})


def test_what_is_no_function_is_refused():
    with pytest.raises(anyshape.errors.ArgumentError, match="explain"):
        explain(3)


# -- what docs/debugging.md advises ------------------------------------------------------------------------------

INSTEAD = {
    "zeros": (lambda x: np.zeros(x.shape) + x, lambda x: np.zeros_like(x) + anyshape.numpy.zeros(x.shape) + x),
    "full": (lambda x: np.full(x.shape, 2.0) + x, lambda x: anyshape.numpy.full(x.shape, 2.0) + x),
    "arange": (lambda x: np.arange(int(x.shape[0])) + x, lambda x: np.arange(x.shape[0], like=x) + x),
    "eye": (lambda x: np.eye(x.shape[0]) @ x, lambda x: anyshape.numpy.eye(x.shape[0]) @ x),
    "range": (lambda x: sum(x[i] for i in range(x.shape[0])), lambda x: x.sum(axis=0)),
    "reshape": (lambda x: x.reshape(int(x.shape[0]) // 2, 2), lambda x: x.reshape(x.shape[0] // 2, 2)),
    "len": (lambda x: x.sum() * len(x), lambda x: x.sum() * x.shape[0]),
    "float": (lambda x: x.sum() / float(x.shape[0]), lambda x: x.sum() / x.shape[0]),
}


@pytest.mark.parametrize("name", INSTEAD)
def test_what_is_advised_is_traced_once_and_what_it_replaces_is_not(name):
    before, after = map(jit, INSTEAD[name])
    for n in (2, 4, 6):
        np.testing.assert_allclose(after(np.arange(n) + 1.0), before(np.arange(n) + 1.0))
    assert (before.cache_info().traces, after.cache_info().traces) == (3, 1)


def test_the_greater_of_two_sizes_is_a_size_or_a_decision():
    before = jit(lambda x: x.sum() * max(x.shape[0], 4))
    after = jit(lambda x: x.sum() * anyshape.max_dim(x.shape[0], 4))
    for n in (2, 3, 5, 9):
        assert after(ones(n)) == before(ones(n)) == n * max(n, 4)
    assert (before.cache_info().traces, after.cache_info().traces) == (2, 1)


def test_sizes_that_depend_on_data_are_explained():
    chosen = anyshape.jit(lambda x, y: np.dot(x[x > 0], y[y > 0]))
    explanation = anyshape.explain(chosen)(np.ones(3), np.ones(3))
    assert "count" in str(explanation) and json.dumps(explanation.to_dict()) and explanation.reliances
    text = str(anyshape.explain(lambda x: x[x > 0])(np.ones(3)))
    assert "is known of run-time sizes" in text and "must hold" not in text
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(explanation)
    assert "count" in console.export_text()
    assert chosen(np.ones(3), np.ones(4)[:3]) == 3


def test_a_condition_is_told_by_the_name_that_numpy_has():
    f = jit(lambda x: np.max(x) * np.sum(x))
    f(np.ones(3))
    assert "max: axis 0 of size" in str(f.explain()) and "reduce_max" not in str(f.explain())


def test_data_of_a_condition_have_the_lines_that_called():
    def helper(x):
        return x[:3] if x.shape[0] > 3 else x

    def outer(x):
        return helper(x)

    g = jit(outer)
    g(np.ones(4))
    (condition,) = g.explain().to_dict()["programs"][0]["conditions"]
    (caller,) = condition["where"]["called"]
    assert caller["function"] == "outer" and condition["where"]["function"] == "helper"
