"""Profiles: every step of the plan that runs has a row, shares add up, costs belong to the sizes of the call."""

import base64
import hashlib
import io
import itertools
import json
import linecache
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import anyshape
from anyshape import (
    ShapeDtypeStruct,
    cond,
    errors,
    export,
    fori_loop,
    grad,
    jit,
    load,
    profile,
    scan,
    trace,
    value_and_grad,
    while_loop,
)
from anyshape.backend.compiler.codegen import tiles
from anyshape.backend.compiler.codegen.timers import Share, TimedRun
from anyshape.backend.compiler.plan import PLAN_OPS
from anyshape.inspect import profile as data
from anyshape.ops.core.flop_counts import COSTS
from anyshape.ops.movement import reshape_op
from anyshape.transforms import profiler

SIZES = (0, 1, 2, 5)


def of(function, *args, repeat=2, **kwargs):
    """The profile, printed nowhere."""
    return profile(function, repeat=repeat, file=io.StringIO())(*args, **kwargs)


def names(result):
    return [row.name for row in result.rows]


def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)


def wave(x):
    return np.sum(np.sin(x) * x)


@pytest.mark.parametrize("n", SIZES)
def test_each_step_that_runs_has_a_row_and_shares_add_up(n):
    step, w, x = value_and_grad(loss), np.ones(3), np.linspace(0, 1, 3 * n).reshape(n, 3)
    expected = step(w, x)
    result = of(step, w, x)
    np.testing.assert_array_equal(result.value[0], expected[0])
    np.testing.assert_array_equal(result.value[1], expected[1])
    plan = step.programs()[0].plan
    assert len(result.rows) == len(plan.steps) + 1
    assert [row.result.partition(":")[0] for row in result.rows[:-1]] == [s.outputs[0] for s in plan.steps]
    assert result.rows[-1].name == "entry and exit"
    assert sum(row.share for row in result.rows) == pytest.approx(1.0)
    assert all(row.seconds >= 0 for row in result.rows) and result.seconds > 0 and result.timed > 0
    assert result.sizes == {"w_0": 3, "x_0": n, "x_1": 3} and result.repeat == 2


@pytest.mark.parametrize("n", SIZES)
def test_costs_are_those_of_the_program_at_the_sizes_of_the_call(n):
    function = jit(lambda x, y: np.exp(x @ y))
    result = of(function, np.ones((n, 3)), np.ones((3, 2)))
    product, exp, _ = result.rows
    assert (product.flops, product.bytes) == (2 * n * 2 * 3, 8 * (3 * n + 6 + 2 * n))
    assert (exp.flops, exp.bytes, exp.result) == (2 * n, 8 * 4 * n, f"{exp.result[:2]}: f64[{n}, 2]")
    at = function.programs()[0].cost().at({v.label: s for v, s in zip(*sizes_of(function, result))})
    assert sum(row.flops for row in result.rows[:-1]) == at.flops.size
    assert exp.bytes_per_second is None if n == 0 else exp.bytes_per_second == pytest.approx(exp.bytes / exp.seconds)


def sizes_of(function, result):
    dims = [source.variable for source in function.programs()[0].graph.dims]
    return dims, [result.sizes[v.label] for v in dims]


def test_a_product_that_only_plans_have_counts_what_it_stands_for():
    step = grad(lambda x, y: np.sum(np.tanh(x @ y.T)))
    result = of(step, np.ones((4, 3)), np.ones((5, 3)))
    products = [row.flops for row in result.rows if row.name in ("contract", "dot_general")]
    assert products == [2 * 4 * 5 * 3] * 2
    for op in PLAN_OPS.values():
        assert COSTS[op]


# -- groups ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_that_ran_as_tiles_are_one_row(monkeypatch, threads):
    monkeypatch.setattr(anyshape.config, "num_threads", threads)
    n = 300_000
    step = value_and_grad(wave)
    result = of(step, np.linspace(0, 1, n))
    (group,) = [row for row in result.rows if row.tiles]
    assert group.tiles > 4 and 1 <= group.threads <= threads
    assert {row.name for row in group.steps} == {"sin", "cos", "mul", "add", "reduce_sum"}
    assert sum(row.share for row in group.steps) == pytest.approx(group.share)
    assert sum(row.seconds for row in group.steps) == pytest.approx(group.seconds)
    assert sum(row.share for row in result.rows) == pytest.approx(1.0)
    assert group.flops == 5 * n + n == sum(row.flops for row in group.steps)
    assert group.bytes == 8 * (2 * n + 1), "x is read, the derivative and the sum are written, the rest stays"
    assert group.where.file == __file__
    np.testing.assert_array_equal(result.value[1], step(np.linspace(0, 1, n))[1])


def test_the_same_steps_at_small_sizes_are_rows_of_their_own():
    result = of(value_and_grad(wave), np.linspace(0, 1, 7))
    assert not any(row.tiles or row.steps for row in result.rows)
    assert sorted(names(result)) == sorted(["sin", "cos", "mul", "mul", "add", "reduce_sum", "entry and exit"])


def test_readings_become_medians_and_shares(monkeypatch):
    monkeypatch.setattr(profiler, "clock_read_seconds", lambda: 0.0)
    program = trace(lambda x: np.sin(x).reshape(-1, 1) @ np.ones((1, 1)))(ShapeDtypeStruct("n"))
    plan = program.plan
    assert len(plan.steps) == 3
    (n,) = [source.variable for source in program.graph.dims]
    run = lambda *readings: TimedRun(plan, readings, {}, {n: 4}, 0.5)
    runs = [(10.5, run(1.0, 2.0, 5.0, 9.0)), (9.5, run(1.0, 3.0, 6.0, 9.0)), (99.5, run(0.0, 50.0, 53.0, 98.0))]
    result = profiler._profile("f", "value", [7.0, 8.0, 6.0], runs, {})
    assert [row.seconds for row in result.rows] == [2.0, 3.0, 4.0, 1.0]
    assert [row.share for row in result.rows] == pytest.approx([0.2, 0.3, 0.4, 0.1])
    assert (result.seconds, result.timed, result.overhead) == (7.0, 10.5, 0.0)


def test_what_threads_add_up_is_divided_among_the_steps_of_a_group(monkeypatch):
    monkeypatch.setattr(profiler, "clock_read_seconds", lambda: 0.1)
    step = jit(lambda x: np.sin(np.exp(x)))
    step(np.ones(3))
    plan = step.programs()[0].plan
    (n,) = [source.variable for source in step.programs()[0].graph.dims]
    shares = {0: [Share(1, 3, (1.0, 2.0)), Share(2, 2, (2.0, 4.0)), Share(3, 0, (0.0, 0.0))]}
    result = profiler._profile("f", None, [1.0], [(4.0, TimedRun(plan, (1.0, 0.0, 4.0), shares, {n: 9}, 0.0))], {})
    group, outside = result.rows
    assert (group.tiles, group.threads) == (5, 2)
    assert group.seconds == pytest.approx(3.0 - 0.1 * (1 + 5 * 2 / 2)) and outside.seconds == pytest.approx(1.0)
    assert [row.seconds / group.seconds for row in group.steps] == pytest.approx([1 / 3, 2 / 3])


def test_the_plan_that_is_timed_is_the_one_that_runs():
    few, large = [np.ones(3), np.ones((4, 3))], [np.ones(200), np.ones((2000, 200))]
    for optimize in ("now", "auto", "off"):
        step = grad(jit(lambda b, x: np.sum(np.tanh(x + b)), optimize=optimize))
        for arguments in (few, large):
            inside = [row.name for whole in of(step, *arguments).rows for row in (whole.steps or (whole,))]
            assert ("sum_to" in inside) == (optimize == "off"), "a first plan assumes nothing of the sizes"
            assert ("reduce_sum" in inside) == (optimize != "off")
        assert step.programs()[0].tier.tier == ("first" if optimize == "off" else "optimised")


# -- what can be profiled ----------------------------------------------------------------------------------------


def test_functions_trees_keywords_and_methods():
    class Model:
        scale = 3.0

        @jit
        def __call__(self, x, *, shift):
            return {"out": np.exp(x["a"]) * self.scale + shift}

    result = of(Model().__call__, {"a": np.zeros(4)}, shift=1.0)
    np.testing.assert_array_equal(result.value["out"], np.full(4, 4.0))
    assert "exp" in names(result)
    plain = of(lambda x, k: x[:k] * 2, np.arange(5.0), 3)  # jitted first
    np.testing.assert_array_equal(plain.value, [0, 2, 4])
    static = of(jit(lambda x, power: x**power, static_argnames="power"), np.arange(3.0), power=3)
    np.testing.assert_array_equal(static.value, [0, 1, 8])


def test_sizes_that_depend_on_data():
    step = jit(lambda x: np.cumsum(np.sin(x[x > 0])))
    result = of(step, np.array([1.0, -1.0, 2.0, 3.0]))
    sin = next(row for row in result.rows if row.name == "sin")
    assert sin.flops == 3 and sin.bytes == 48 and sin.result.endswith("f64[3]") and not sin.at_most
    none = next(row for row in of(step, -np.ones(4)).rows if row.name == "sin")
    assert none.flops == 0 and none.bytes_per_second is None and none.result.endswith("f64[0]")


def test_programs_traced_loaded_and_exported(tmp_path):
    program = export(wave)(ShapeDtypeStruct("n"))
    program.save(tmp_path / "wave.anyshape")
    for each in (program, load(tmp_path / "wave.anyshape"), trace(wave)(ShapeDtypeStruct("n"))):
        for n in SIZES:
            result = of(each, np.arange(float(n)))
            assert names(result) == ["sin", "mul", "reduce_sum", "entry and exit"]
            assert float(result.value) == pytest.approx(wave(np.arange(float(n))))


def test_a_profile_leaves_the_function_as_it_was():
    step = jit(wave, optimize="now")
    step(np.ones(3))
    (program,) = step.programs()
    source = program.run.__source__
    of(step, np.ones(3))
    assert step.programs() == [program] and step.cache_info().traces == 1
    assert program.run.__source__ == source and "_clock" not in source and "_times" not in source


def test_functions_that_call_back_are_called_as_often_as_said():
    calls = itertools.count()  # no captured state: an array or a list that changes is traced anew

    def note(x):
        next(calls)
        return x

    step = jit(lambda x: anyshape.pure_callback(note, ShapeDtypeStruct((3,)), x) * 2)
    step(np.ones(3))
    before = next(calls)
    result = of(step, np.ones(3), repeat=4)
    warming = 3  # each kind of call, and one that is clocked
    assert next(calls) - before - 1 == warming + 2 * 4
    assert any("callback" in name for name in names(result))


# -- what goes wrong ---------------------------------------------------------------------------------------------


def test_an_error_in_the_middle_is_the_error_of_the_call():
    step = jit(lambda x, i: np.sin(x)[i] * 2)
    with pytest.raises(errors.ShapeError, match="index 7 is out of bounds") as direct:
        step(np.ones(3), np.array([7]))
    with pytest.raises(errors.ShapeError) as profiled:
        of(step, np.ones(3), np.array([7]))
    assert str(profiled.value) == str(direct.value)
    assert of(step, np.ones(3), np.array([1])).value == pytest.approx(2 * np.sin(1))


def test_an_error_of_a_timed_run_names_the_line():
    failing = []

    def fail(x):
        if failing:
            raise KeyError("lost")
        return x

    step = jit(lambda x: anyshape.pure_callback(fail, ShapeDtypeStruct((3,)), np.sin(x)))
    step(np.ones(3))
    twin = step.timed(profiler.Timers(), np.ones(3))
    failing.append(1)
    with pytest.raises(KeyError) as caught:
        twin(np.ones(3))
    assert any("test_profile.py" in note for note in caught.value.__notes__)


def test_limits_of_memory_hold():
    step = jit(lambda x: np.sin(x) + x, max_bytes=1000)
    assert of(step, np.ones(10)).rows
    with pytest.raises(errors.MemoryLimitError):
        of(step, np.ones(1000))


@pytest.mark.slow
def test_inside_of_a_trace_there_is_nothing_to_time():
    with pytest.raises(errors.ArgumentError, match="being traced"):
        jit(lambda x: of(wave, x).value)(np.ones(3))


@pytest.mark.parametrize("options", [{"repeat": 0}, {"repeat": 1.5}, {"repeat": True}, {"rows": 0}])
def test_numbers_are_checked(options):
    with pytest.raises(errors.ArgumentError, match="at least 1"):
        profile(wave, **options)


def test_what_is_no_function_is_refused():
    with pytest.raises(errors.ArgumentError):
        profile(3)


def test_a_function_that_is_traced_on_each_call_is_refused():
    moving = 0.0

    def move(x):
        nonlocal moving
        moving += 1.0
        return x

    step = jit(lambda x: anyshape.pure_callback(move, ShapeDtypeStruct((3,)), x) + moving)
    with pytest.raises(errors.ArgumentError, match="traced again on each call"):
        of(step, np.ones(3))


# -- what is printed and written ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("as_written")
def test_the_table_has_a_line_for_each_row_or_for_the_rest():
    def long(x):
        for _ in range(30):
            x = np.sin(x) + x.sum()
        return x

    step, written, short = jit(long), io.StringIO(), io.StringIO()
    result = profile(step, repeat=1, rows=None, file=written)(np.ones(3))
    lines = written.getvalue().splitlines()
    assert lines[0].startswith("long: ") and lines[0].endswith("a call, the median of 1")
    head = next(i for i, line in enumerate(lines) if line.split()[0] == "time")
    assert len(lines) == head + 1 + len(result.rows) and str(result) + "\n" == written.getvalue()
    assert all("test_profile.py:" in line for line in lines[head + 1 : -1])
    result.print(rows=5, file=short)
    rest = short.getvalue().splitlines()
    assert len(rest) == head + 1 + 5 and f"{len(result.rows) - 4} others" in rest[-1]
    shares = [float(re.search(r"([\d.]+) %", line)[1]) for line in rest[head + 1 :]]
    assert sum(shares) == pytest.approx(100, abs=0.5)


def test_it_prints_to_standard_output(capsys):
    result = profile(wave, repeat=1)(np.ones(3))
    assert capsys.readouterr().out == str(result) + "\n"


def test_without_rich_it_prints_as_well(monkeypatch):
    monkeypatch.setitem(sys.modules, "anyshape.inspect.profile", None)
    stream = io.StringIO()
    result = profile(wave, repeat=1, file=stream)(np.ones(3))
    assert stream.getvalue() == str(result) + "\n"


def test_rich_draws_a_table():
    console = pytest.importorskip("rich.console").Console(file=io.StringIO(), width=200)
    result = of(value_and_grad(wave), np.linspace(0, 1, 300_000))
    console.print(result)
    text = console.file.getvalue()
    assert "steps in tiles" in text and "entry and exit" in text and "GFLOP/s" in text


def test_it_is_saved_as_data(tmp_path):
    result = of(wave, np.ones(4))
    result.save(tmp_path / "wave.json")
    data = json.loads((tmp_path / "wave.json").read_text())
    assert data["rows"][0]["name"] == "sin" and data["rows"][0]["flops"] == 4
    assert data["rows"][0]["where"]["file"] == __file__ and data["sizes"] == {"x_0": 4}


class Page(HTMLParser):
    """The bars of a page, its scripts, and whatever it would load."""

    def __init__(self, text):
        super().__init__()
        self.bars, self.scripts, self.loaded, self.inside = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        result = dict(attributes)
        self.loaded += [v for k, v in result.items() if k in ("src", "href", "srcset", "action")]
        self.inside = tag
        if "bar" in (result.get("class") or "").split():
            self.bars.append((float(result["data-left"]), float(result["data-width"]), int(result["data-level"])))
        if tag == "meta" and "content" in result and "script-src" in result["content"]:
            self.allowed = re.search(r"script-src '(.*?)'", result["content"])[1]

    def handle_data(self, data):
        if self.inside == "script" and data.strip():
            self.scripts.append(data)


def test_the_page_loads_nothing_and_runs_its_own_script_alone(tmp_path):
    result = of(value_and_grad(wave), np.linspace(0, 1, 300_000))
    result.save(tmp_path / "wave.html")
    page = Page((tmp_path / "wave.html").read_text("utf-8"))
    assert not page.loaded
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert page.allowed == f"sha256-{digest}"
    assert {level for _, _, level in page.bars} == {0, 1, 2, 3}


def test_bars_lie_inside_of_those_above_and_not_on_each_other():
    result = of(value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(x))), np.linspace(0, 1, 100_000))
    for root in (data.in_order(result), data.by_line(result)):
        assert root.share == 1.0
        todo = [root]
        while todo:
            frame = todo.pop()
            if frame.below:
                assert sum(f.share for f in frame.below) == pytest.approx(frame.share)
            todo += frame.below


def test_names_and_lines_are_escaped():
    space = {"np": np}
    source = 'def evil(x):\n    return np.sin(x) + len("</script><script>alert(1)</script>")\n'
    file = "<img src=x onerror=alert(2)>.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), space)
    text = of(jit(space["evil"], name="<b>&amp;</b>"), np.ones(3)).html()
    assert "<script>alert" not in text and "<img" not in text and "<b>" not in text
    assert "&lt;script&gt;alert(1)" in text and "&lt;b&gt;&amp;amp;" in text
    assert len(Page(text).scripts) == 1


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the script of the page")
def test_the_script_widens_a_bar_and_hides_what_is_beside_it(tmp_path):
    script = (Path(data.__file__).parent / "page" / "flame.js").read_text()
    start, end = script.index("function zoom"), script.index("for (const b of bars) {\n  b.bar.addEventListener")
    (tmp_path / "run.js").write_text(
        "const NEAR = 1e-6;"
        "const bar = (left, width, level) => ({flame: 0, left, width, level,"
        " bar: {hidden: false, style: {}, classList: {toggle() {}}}});"
        "const bars = [bar(0, 1, 0), bar(0, 0.25, 1), bar(0.25, 0.5, 1), bar(0.5, 0.25, 2)];"
        + script[start:end]
        + "zoom(bars[2]); const told = () => bars.map((b) => [b.bar.hidden, b.bar.style.left, b.bar.style.width]);"
        "const first = told(); reset(); console.log(JSON.stringify([first, told()]));"
    )
    done = subprocess.run(["node", str(tmp_path / "run.js")], capture_output=True, text=True, check=True)
    zoomed, whole = json.loads(done.stdout)
    assert zoomed[0] == [False, "0%", "100%"] and zoomed[1][0]
    assert zoomed[2:] == [[False, "0%", "100%"], [False, "50%", "50%"]]
    assert whole == [[False, f"{left}%", f"{width}%"] for left, width in ((0, 100), (0, 25), (25, 50), (50, 25))]


def test_what_tiles_write_to_its_place_moves_nothing(monkeypatch):
    monkeypatch.setattr(tiles, "forced", (1, 6))
    result = profile(grad(lambda x: np.sum(np.sin(x[1:]) ** 2)), repeat=2)(np.ones(40))
    (group,) = [row for row in result.rows if row.tiles]
    (pad,) = [row for row in group.steps if row.name == "pad"]
    assert (pad.bytes, pad.flops) == (0, 0)
    assert group.bytes >= 2 * 39 * 8


def test_views_move_nothing():
    result = of(jit(lambda x: np.sin(x.reshape(2, -1)).T), np.ones(6))
    assert all(row.bytes == 0 for row in result.rows[:-1] if row.name in (reshape_op.name, "transpose"))


def test_durations_and_numbers_read_well():
    assert data.seconds(0.0) == "0 us" and data.quantity(1234) == "1.23 k"


def in_loops(w, xs):
    def step(h, x):
        a = np.tanh(w @ h + x)
        b = fori_loop(0, 5, lambda i, c: np.sort(c) + i, a)
        return cond(np.sum(b) > 0, lambda: a + b, lambda: np.sin(a)), h

    h, ys = scan(step, np.ones(3), xs)
    return while_loop(lambda c: c[0] < 7, lambda c: (c[0] + 1, np.cumsum(c[1])), (0, h))[1] + ys.sum()


def every_row(rows):
    return [inside for row in rows for inside in (row, *every_row(row.steps))]


@pytest.mark.parametrize("length", [0, 1, 20])
def test_loops_have_their_trips_and_a_row_for_each_step_inside(length):
    result = of(jit(in_loops, compile="off"), np.eye(3) / 9, np.linspace(0.0, 1.0, length))
    outer, inner = [[row for row in every_row(result.rows) if row.name == name] for name in ("while", "scan")]
    assert [row.trips for row in outer] == [7]
    assert [row.trips for row in inner] == ([length, 5 * length] if length else [0])
    lines = {row.where.line - in_loops.__code__.co_firstlineno for row in every_row(result.rows) if row.where}
    assert lines >= ({2, 3, 4, 6, 7} if length else {6, 7})
    assert result.html().count("trips)") >= 1 and result.to_dict()["rows"][-1]["trips"] == 0


@pytest.mark.parametrize("length", [1, 20])
def test_the_table_has_the_steps_of_loops_inside_of_loops(length):
    result = of(jit(in_loops, compile="off"), np.eye(3) / 9, np.linspace(0.0, 1.0, length))
    text = str(result)
    assert f"scan ({length} trip{'s' if length > 1 else ''})" in text and f"  scan ({5 * length} trips)" in text
    assert "    sort" in text
    for row in every_row(result.rows):
        assert sum(inside.seconds for inside in row.steps) <= 1.5 * row.seconds + 1e-3


def test_the_time_of_a_condition_belongs_to_its_loop():
    def slow_condition(x):
        y = cond(x[0] > 0, lambda: np.sin(x), lambda: x)
        return while_loop(lambda c: np.linalg.det(np.outer(c, c) + np.eye(3)) < 1e9, lambda c: 2 * c, y)

    result = of(slow_condition, np.ones(3))
    (loop,) = [row for row in result.rows if row.name == "while"]
    (branch,) = [row for row in result.rows if row.name == "cond"]
    assert "det" in " ".join(row.name for row in loop.steps) or len(loop.steps) > 2
    assert [row.name for row in branch.steps] == ["sin"] and branch.trips == 0 and loop.trips > 3


def test_a_notebook_shows_the_result_once(capsys):
    formatters = pytest.importorskip("IPython.core.formatters")
    show = lambda result: sorted(formatters.DisplayFormatter().format(result)[0])
    result = anyshape.profile(np.sum, repeat=1)(np.ones(3))
    assert "reduce_sum" in capsys.readouterr().out
    assert [show(result), show(result)] == [[], ["text/html", "text/plain"]]
    assert show(anyshape.profile(np.sum, repeat=1, file=io.StringIO())(np.ones(3))) == ["text/html", "text/plain"]
