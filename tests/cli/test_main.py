"""The command line: what it prints, its exit codes, and mistakes told on one line."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from anyshape import ShapeDtypeStruct, export
from anyshape.cli import main
from anyshape.cli.load_target import UsageError, load_function
from anyshape.cli.main import EPILOG
from anyshape.support import packages, terminal

ROOT = Path(__file__).resolve().parents[2]

MODULE = """
import numpy as np
from anyshape import stop_gradient

class Holder:
    @staticmethod
    def top(x):
        return np.max(x)

def layer(x, w):
    return np.tanh(x @ w)

def loss(x, w):
    return np.mean(layer(x, w) ** 2)

def wrong(x):
    return x * stop_gradient(x)

def changes(x):
    np.add(x, 1.0, out=np.ones(x.shape))
    return x

def decides(x):
    return x * 2 if x.shape[0] > 1 else x

def takes(x, i):
    return x[i]

def first(x, k):
    return x[:k] * k if k > 2 else x[:k]

def breaks(x):
    return undefined

def nothing(x):
    return None

def decayed(x):
    y = x * 1
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * 0.5 + y[i] ** 2
    return np.sum(y)

number = 3
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "user_functions.py"
    path.write_text(MODULE)
    return path


@pytest.fixture
def run(capsys, monkeypatch, file):
    """Run the command line in this process; `f:` stands for the file of functions."""
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments):
        try:
            code = main.main([a.replace("f:", f"{file}:") if a.startswith("f:") else a for a in arguments])
        except SystemExit as leaving:
            code = leaving.code
        out, err = capsys.readouterr()
        return code, out, err

    return call


# -- show --------------------------------------------------------------------------------------------------------


def test_show_prints_extents_and_lines(run):
    code, out, _ = run("show", "f:layer", "--shapes", "n, k; k, 3")
    assert code == 0
    first, *rest = out.splitlines()
    assert first == "layer(%x: f64[n, k], %w: f64[k, 3]) -> (f64[n, 3])"
    assert "dot_general" in rest[0] and "user_functions.py:11" in rest[0]


def test_show_prints_the_plan(run):
    code, out, _ = run("show", "f:layer", "--shapes", "n, k; k, 3", "--plan")
    assert code == 0
    assert out.startswith("plan layer(x0: f64[n, k], x1: f64[k, 3])")
    assert "= tanh(" in out


def test_show_prints_the_c_of_loops(run):
    code, out, _ = run("show", "f:decayed", "--shapes", "n", "--grad", "--c")
    assert code == 0 and "user_functions.py:41  y[i] = y[i - 1] * 0.5" in out and out.count("int64_t loop_") == 2, out
    assert run("show", "f:layer", "--shapes", "n, k; k, 3", "--c")[1] == "/* layer has no loops */\n\n"


def test_show_prints_the_gradient_in_all_float_arguments(run):
    code, out, _ = run("show", "f:loss", "--shapes", "n, k; k, 3", "--grad")
    assert code == 0
    assert out.splitlines()[0].endswith("-> (f64[], f64[n, k], f64[k, 3])")


def test_show_compares_two_programs_on_a_page(run, tmp_path):
    page, rest = tmp_path / "both.html", ("--shapes", "n", "--html")
    assert run("show", "numpy:sin", "--beside", "numpy:cos", *rest, str(page))[0] == 0
    text = page.read_text()
    assert " = sin(" in text and " = cos(" in text
    code, _, err = run("show", "numpy:sin", "--beside", "numpy:cos", "--shapes", "n")
    assert code == 2 and "--beside needs --html FILE" in err


def test_explain_writes_a_page(run, tmp_path):
    page = tmp_path / "explained.html"
    code, out, _ = run("explain", "numpy:sum", "--shapes", "n", "--html", str(page))
    assert (code, out) == (0, "") and "program 1: sum" in page.read_text()


def test_a_saved_program_is_shown_drawn_checked_and_explained(run, tmp_path):
    saved, page = str(tmp_path / "loss.anyshape"), tmp_path / "loss.html"
    export(lambda x: (np.sin(x) ** 2).sum())(ShapeDtypeStruct("n")).save(saved)
    assert "(%x: f64[n]) -> (f64[])" in run("show", saved)[1]
    assert run("show", saved, "--html", str(page))[0] == 0 and "reduce_sum" in page.read_text()
    assert "cos" in run("show", saved, "--shapes", "n", "--grad")[1]
    assert run("check", saved, "--shapes", "n", "--sizes", "0,3")[0] == 0
    assert "program 1 serves n=1" in run("explain", saved, "--shapes", "n", "--sizes", "1")[1]
    assert run("check", saved, "--sizes", "0,3")[0] == 0  # a program has its shapes
    assert "program 1 serves n=1" in run("explain", saved, "--sizes", "1")[1]
    assert "sin" in run("profile", saved, "--sizes", "3", "--repeat", "1")[1]
    assert "cos" in run("show", saved, "--grad")[1]
    again = str(tmp_path / "again.anyshape")
    assert run("export", saved, "-o", again) == (0, "", "") and "f64[n]" in run("show", again)[1]
    tree = str(tmp_path / "tree.anyshape")
    export(lambda p: p["w"] * 2)({"w": ShapeDtypeStruct("n")}).save(tree)
    assert "f64[n]" in run("show", tree)[1]
    code, _, said = run("explain", tree)
    assert code == 2 and "takes trees, or sizes by their values" in said
    (tmp_path / "torn.anyshape").write_bytes(Path(saved).read_bytes()[:-9])
    code, _, said = run("show", str(tmp_path / "torn.anyshape"))
    assert code == 2 and "is not a saved program, or is truncated" in said and said.count("\n") == 1


def test_show_takes_dtypes(run):
    code, out, _ = run("show", "f:takes", "--shapes", "5, k; m", "--dtypes", "f32; i64")
    assert code == 0
    assert out.startswith("takes(%x: f32[5, k], %i: i64[m]) -> (f32[m, k])")


def test_show_takes_scalars_and_modules_and_dots(run):
    assert run("show", "numpy:multiply", "--shapes", "n;")[1].splitlines()[0].endswith("-> (f64[n])")
    assert run("show", "f:Holder.top", "--shapes", "n, 2")[0] == 0


# -- check -------------------------------------------------------------------------------------------------------


def test_check_passes_and_reports_one_trace(run):
    code, out, _ = run("check", "f:layer", "--shapes", "n, k; k, 3", "--sizes", "0,1,2")
    assert code == 0, out
    assert out.count(" yes ") == 9
    assert "n=2, k=1" in out
    assert "traces = 1" in out


def test_check_finds_a_wrong_derivative(run):
    code, out, _ = run("check", "f:wrong", "--shapes", "n", "--sizes", "2,3")
    assert code == 1
    assert "jvp of wrong (mode fwd, order 1)" in out
    assert "NO" in out


def test_check_reports_what_numpy_refuses(run):
    code, out, _ = run("check", "f:Holder.top", "--shapes", "n", "--sizes", "0,1,2")
    assert code == 0
    assert "refused: NumPy itself cannot run 1 of 3" in out
    assert out.count(" yes ") == 2


def test_check_fails_when_everything_is_refused(run):
    code, out, _ = run("check", "f:layer", "--shapes", "n, 3; 4, 5", "--sizes", "1,2")
    assert code == 1
    assert "nothing was checked" in out


@pytest.mark.usefixtures("as_written")
def test_check_fails_when_the_function_cannot_be_traced(run):
    code, out, _ = run("check", "f:changes", "--shapes", "n", "--sizes", "1,2")
    assert code == 1
    assert "MutationError" in out and "user_functions.py:20" in out


def test_check_counts_programs_when_python_decides(run):
    code, out, _ = run("check", "f:decides", "--shapes", "n", "--sizes", "0,1,2", "--order", "1")
    assert code == 0
    assert "traces = 2" in out


def test_check_refuses_a_function_without_derivative(run):
    code, out, _ = run("check", "f:nothing", "--shapes", "n", "--sizes", "1")
    assert code == 1
    assert "no inexact leaf" in out


def test_check_takes_integers_orders_domains_and_seeds(run):
    options = ["--dtypes", "f64;i64", "--order", "1", "--domain=0.1,0.9", "--seed", "3", "--sizes", "0,2"]
    code, out, _ = run("check", "f:takes", "--shapes", "5, k; m", *options)
    assert code == 0, out


def test_check_of_many_names_tries_some_assignments(run):
    code, out, _ = run("check", "f:layer", "--shapes", "a, b, c; a, c, d", "--sizes", "0,1,2,3", "--order", "1")
    assert code == 0, out
    assert "a=0, b=0, c=0, d=0" in out


def test_check_leaves_out_negative_sizes(run):
    code, out, _ = run("check", "f:wrong", "--shapes", "n - 1", "--sizes", "0,1")
    assert code == 0, out
    assert "n=1" in out and "n=0" not in out


# -- explain -----------------------------------------------------------------------------------------------------


def test_explain_says_which_sizes_need_which_program(run):
    code, out, _ = run("explain", "f:decides", "--shapes", "n, 3", "--sizes", "0,1,5,7")
    assert code == 0
    lines = out.splitlines()
    assert lines[:2] == ["program 1 serves n=0; n=1", "program 2 serves n=5; n=7"]
    assert "decides: 2 programs; 2 traces, 0 calls without" in lines
    assert any(line.strip().startswith("n > 1  # user_functions.py:") for line in lines)
    assert any("n <= 1 (user_functions.py:" in line and "n = 0 when traced, 5 now" in line for line in lines)


def test_explain_tells_sizes_that_are_an_error(run):
    code, out, _ = run("explain", "f:layer", "--shapes", "n, k; m, 3", "--sizes", "2,4")
    assert code == 0
    assert "program 1 serves n=2, k=2, m=2; n=2, k=4, m=4; n=4, k=2, m=2; n=4, k=4, m=4" in out
    assert "an error for n=2, k=2, m=4; n=2, k=4, m=2; n=4, k=2, m=4; n=4, k=4, m=2: k == m does not hold" in out


def test_explain_of_a_gradient_and_of_an_index(run):
    code, out, _ = run("explain", "f:loss", "--shapes", "n, k; k, 3", "--grad")
    assert code == 0 and "program 1: value_and_grad(loss)(x: f64[n, k], w: f64[k, 3])" in out
    code, out, _ = run("explain", "f:takes", "--shapes", "n; ", "--dtypes", "f64; i32", "--sizes", "4")
    assert code == 0 and "i: i32[]" in out


def test_explain_complains_on_one_line(run):
    for options, word in [
        (("f:decides", "--shapes", "n, 3", "--sizes", "-1"), "at least 0"),
        (("f:decides", "--shapes", "n, 3", "--sizes", "many"), "numbers"),
        (("f:breaks", "--shapes", "n"), "NameError"),
    ]:
        code, out, err = run("explain", *options)
        assert (code, out) == (2, "") and word in err and err.count("\n") == 1


# -- mistakes ----------------------------------------------------------------------------------------------------

MISTAKES = [
    (["show", "f:loss"], "user_functions.py:loss needs --shapes, one for each argument"),
    (["explain", "f:loss"], "user_functions.py:loss needs --shapes, one for each argument"),
    (["show", __file__], "names no function; write module:function"),
    (["--shapes"], "unrecognized arguments: --shapes"),
    (["run", "f:loss"], "is not a saved program; write one with anyshape export"),
    (["export", "f:loss", "--shapes", "n, 3; 3, 2"], "arguments are required: -o/--out"),
    (["teach", "f:loss"], "invalid choice"),
    (["show", "f:loss", "--shapes", "n", "--fast"], "unrecognized arguments: --fast"),
    (["show", "loss", "--shapes", "n"], "names no function; write module:function"),
    (["show", "no_such_module:f", "--shapes", "n"], "cannot import no_such_module: ModuleNotFoundError"),
    (["show", "no_such_file.py:f", "--shapes", "n"], "there is no file no_such_file.py"),
    (["show", "f:absent", "--shapes", "n"], "has no absent"),
    (["show", "f:Holder.absent", "--shapes", "n"], "has no Holder.absent"),
    (["show", "f:number", "--shapes", "n"], "is of type int, not a function"),
    (["show", "f:loss", "--shapes", "n, 4"], "--shapes describes 1 arguments, but loss(x, w)"),
    (["show", "f:loss", "--shapes", "n, , 4; 4"], "a size is missing"),
    (["show", "f:loss", "--shapes", "n, 'a'; 4"], "is not a size"),
    (["show", "f:loss", "--shapes", "n, 4; 4, 3", "--dtypes", "f77"], "'f77' is not a dtype"),
    (["show", "f:loss", "--shapes", "n, 4; 4, 3", "--dtypes", "str"], "is not a dtype of numbers"),
    (["show", "f:loss", "--shapes", "n, 4; 4, 3", "--dtypes", "f64;f64;f64"], "--dtypes names 3 dtypes for 2 shapes"),
    (["show", "f:loss", "--shapes", "n, 4; 5, 3"], "x @ w: x.shape[1] (4) must equal w.shape[0] (5)"),
    (["show", "f:layer", "--shapes", "n, 4; 4, 3", "--grad"], "not a scalar"),
    (["show", "f:takes", "--shapes", "3; 2", "--grad", "--dtypes", "i64"], "--grad needs an argument of a float dtype"),
    (["show", "f:decides", "--shapes", "n"], "n > 1 is neither true nor false"),
    (["show", "f:breaks", "--shapes", "n"], "raised NameError: name 'undefined' is not defined"),
    (["show", "f:decides", "--shapes", "2*n + m"], "do not determine"),
    (["check", "f:breaks", "--shapes", "n"], "raised NameError: name 'undefined' is not defined"),
    (["check", "f:wrong", "--shapes", "n", "--sizes", "1,x"], "--sizes is '1,x'"),
    (["check", "f:wrong", "--shapes", "n", "--sizes=-1"], "a size is at least 0"),
    (["check", "f:wrong", "--shapes", "n", "--order", "0"], "--order is 0"),
    (["check", "f:wrong", "--shapes", "n", "--order", "two"], "invalid int value"),
    (["check", "f:wrong", "--shapes", "n", "--domain=1"], "give two numbers"),
    (["check", "f:wrong", "--shapes", "n", "--dtypes", "i64"], "needs an argument of a float dtype"),
    (["check", "f:wrong", "--shapes", "n - 9", "--sizes", "1,2"], "no size in --sizes"),
]


@pytest.mark.parametrize(("arguments", "words"), MISTAKES, ids=[" ".join(a) or "nothing" for a, _ in MISTAKES])
def test_a_mistake_is_told_on_one_line(run, arguments, words):
    code, out, err = run(*arguments)
    assert code == 2
    assert words in err
    assert err.startswith("anyshape") and err.count("\n") == 1
    assert not out


def test_without_a_command_the_help_is_printed(run):
    assert run() == run("--help")


@pytest.mark.parametrize("command", ["show", "explain", "profile", "check"])
def test_reports_are_json(run, command):
    few = ["--repeat", "1"] if command == "profile" else []
    code, out, _ = run(command, "f:layer", "--shapes", "n, 2; 2, 3", "--json", *few)
    data = json.loads(out)
    assert code == 0
    keys = {
        "show": {"name", "inputs", "outputs", "text"},
        "explain": {"served", "refused", "explanation"},
        "profile": {"name", "seconds", "timed", "overhead", "repeat", "sizes", "rows", "layouts"},
        "check": {"target", "ok", "rows", "traces"},
    }
    assert set(data) == keys[command]
    if command == "show":
        assert data["inputs"]["w"] == {"shape": ["2", "3"], "dtype": "float64"}


def test_a_program_is_exported_and_run_on_files(run, tmp_path):
    saved, out = str(tmp_path / "layer.anyshape"), str(tmp_path / "y.npy")
    assert run("export", "f:layer", "--shapes", "n, k; k, 3", "--out", saved) == (0, "", "")
    x, w = np.arange(8.0).reshape(4, 2), np.ones((2, 3))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", w)
    np.savez(tmp_path / "all.npz", w=w, x=x)
    np.savez(tmp_path / "w.npz", w=w)
    for files in (["x.npy", "w.npy"], ["all.npz"], ["x.npy", "w.npz"]):
        code, printed, _ = run("run", saved, *[str(tmp_path / f) for f in files], "--out", out)
        assert (code, printed) == (0, "")
        np.testing.assert_allclose(np.load(out), np.tanh(x @ w))
    code, printed, _ = run("run", saved, str(tmp_path / "all.npz"))
    assert printed.startswith("result: float64[4, 3]\n")
    code, printed, _ = run("run", saved, str(tmp_path / "all.npz"), "--json")
    np.testing.assert_allclose(json.loads(printed)["result"], np.tanh(x @ w))
    for files, words in ((["x.npy"], "do not give w"), (["all.npz", "x.npy"], "give 'x' besides"), (["y"], "read")):
        code, _, said = run("run", saved, *[str(tmp_path / f) for f in files])
        assert code == 2
        assert words in said


def test_help_shows_examples(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "anyshape check numpy:matmul" in out


def test_examples_of_the_help_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("arguments.npz", w=np.ones(2), rows=np.ones((4, 3)))
    Path("script.py").write_text("import anyshape\n")
    commands = [shlex.split(line) for line in EPILOG.splitlines()[1:] if "--clear" not in line and ">>" not in line]
    for command in commands:
        assert command[0] == "anyshape" and run(*command[1:])[0] == 0, command
    assert {f.name for f in tmp_path.iterdir()} >= {"loss.html", "profile.html", "loss.anyshape", "results.npz"}


def test_commands_need_neither_rich_nor_matplotlib(run, monkeypatch):
    for name in [m for m in sys.modules if m.partition(".")[0] in ("rich", "matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for package in (packages.rich_console, packages.rich_progress, packages.rich_table, packages.matplotlib_figure):
        for name in [n for n in vars(package) if not n.startswith("_")]:  # found at an earlier use
            monkeypatch.delattr(package, name)
    monkeypatch.setattr(terminal, "_EVERY", 0.0)
    code, out, err = run("demo", "--steps", "12")
    assert code == 0
    assert "anyshape / by hand" in out and out.endswith("matplotlib is not installed\n")
    assert err.splitlines()[-1].startswith("training: 100 %, step 12, loss ")
    code, out, _ = run("check", "f:layer", "--shapes", "n, 2; 2, 2", "--sizes", "1,3")
    assert code == 0
    assert out.splitlines()[1].split() == ["sizes", "value", "jvp", "vjp", "second", "order", "ok"]
    assert [line.split()[-1] for line in out.splitlines()[2:4]] == ["yes", "yes"]
    assert run("show", "f:layer", "--shapes", "n, 2; 2, 2")[0] == 0


def test_the_demo_gets_its_own_options(run):
    code, out, _ = run("demo", "--help")
    assert code == 0
    assert "--steps" in out


# -- as a program ------------------------------------------------------------------------------------------------


def program(*arguments, folder=ROOT):
    command = [sys.executable, "-m", "anyshape", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=folder, env=environment, timeout=120
    )


def test_python_m_anyshape_finds_modules_of_the_current_directory(file):
    done = program("show", "user_functions:loss", "--shapes", "n, 4; 4, 3", folder=file.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("loss(%x: f64[n, 4]")


def test_a_mistake_of_the_program_has_no_traceback():
    done = program("show", "nowhere:f", "--shapes", "n")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


# -- loading -----------------------------------------------------------------------------------------------------


def test_load_function(file):
    assert load_function("numpy:linalg.norm") is np.linalg.norm
    assert load_function(f"{file}:Holder.top")(np.arange(3)) == 2


def test_a_file_that_fails_leaves_no_module(tmp_path):
    path = tmp_path / "failing_module.py"
    path.write_text("1 / 0")
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        load_function(f"{path}:f")
    assert "failing_module" not in sys.modules


def test_a_file_imports_its_neighbours(tmp_path):
    (tmp_path / "cli_neighbour.py").write_text("offset = 2.0")
    (tmp_path / "cli_user.py").write_text("from cli_neighbour import offset\ndef f(x):\n    return x + offset")
    assert load_function(f"{tmp_path / 'cli_user.py'}:f")(1.0) == 3.0


# -- sizes given by value ----------------------------------------------------------------------------------------


def test_an_argument_may_be_a_size_by_its_value(run):
    tiled = run("show", "anyshape.numpy:tile", "--shapes", "n, 3; =k")[1]
    assert tiled.startswith("tile(%A: f64[n, 3], %reps: i64[] = k")
    assert run("show", "f:takes", "--shapes", "n; = 2*k + 1")[1].startswith("takes(%x: f64[n], %i: i64[] = 2*k + 1")
    assert "%i: i32[] = k" in run("show", "f:takes", "--shapes", "n; =k", "--dtypes", "f32; i32")[1]
    code, out, _ = run("explain", "f:first", "--shapes", "n; =k", "--sizes", "1,3")
    assert code == 0 and out.splitlines()[:2] == [
        "program 1 serves n=1, k=1; n=3, k=1",
        "program 2 serves n=1, k=3; n=3, k=3",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "f:takes", "--shapes", "n; =k, m"), "'=k, m' gives 2 sizes"),
        (("show", "f:takes", "--shapes", "n; ="), "'=' gives 0 sizes"),
        (("show", "f:takes", "--shapes", "n; =k $"), "'$' is not expected here"),
        (("show", "f:takes", "--shapes", "n; =k", "--dtypes", "f64; f32"), "float32 is not a size"),
        (("check", "f:takes", "--shapes", "n; =k"), "a check takes arrays"),
    ],
)
def test_mistakes_with_sizes_by_value(run, arguments, words):
    code, out, err = run(*arguments)
    assert code == 2 and not out and words in err and len(err.splitlines()) == 1


# -- profile -----------------------------------------------------------------------------------------------------


def test_profile_prints_the_steps_and_writes_a_page(run, tmp_path):
    page = tmp_path / "loss.html"
    code, out, _ = run("profile", "f:loss", "--shapes", "n, k; k, 3", "--sizes", "n=4, k=2", "--grad", "--repeat", "1",
                       "--html", str(page))  # fmt: skip
    assert code == 0 and out.startswith("value_and_grad(loss): ") and "at n = 4, k = 2" in out
    assert "tanh" in out and "user_functions.py:11" in out and "entry and exit" in out
    assert "tanh" in page.read_text()


def test_profile_takes_sizes_by_value_and_saved_programs(run, tmp_path):
    saved = str(tmp_path / "loss.anyshape")
    export(lambda x: (np.sin(x) ** 2).sum())(ShapeDtypeStruct("n")).save(saved)
    assert "sin" in run("profile", saved, "--shapes", "n", "--sizes", "3", "--repeat", "1")[1]
    assert "at k = 2" in run("profile", "f:first", "--shapes", "5; =k", "--sizes", "2", "--repeat", "1")[1]


@pytest.mark.parametrize(
    "sizes, problem",
    [
        ("m=3", "'m'; the unknown sizes are n, k"),
        ("n=3", "does not give k"),
        ("n=3, k=-1", "at least 0"),
        ("many", "one number for all"),
        ("n=, k=3", "one number for all"),
        ("3²", "'3²'; give n=200"),
        ("n=5, k=" + 5000 * "9", "one number for all"),
        ("n=5, k=2, n=6", "gives n twice; give each size once"),
        ("5, 6", "gives more than one number for all"),
        ("n=99999999999999, k=3", "too large for arguments: Unable to allocate"),
        ("n=99999999999999999999, k=3", "too large for arguments"),
    ],
)
def test_profile_says_what_is_wrong_with_sizes(run, sizes, problem):
    code, out, err = run("profile", "f:layer", "--shapes", "n, k; k, 3", "--sizes", sizes)
    assert code == 2 and not out and problem in err and len(err.splitlines()) == 1


def test_a_size_by_value_that_its_dtype_cannot_hold_is_told(run):
    options = ["--shapes", "5; =k", "--dtypes", "f64; i8", "--sizes", "300"]
    code, out, err = run("profile", "f:first", *options)
    assert code == 2 and not out and "too large for arguments" in err and len(err.splitlines()) == 1


def test_a_page_that_profile_prints_is_alone_on_its_stream(run):
    options = ["--sizes", "n=4, k=2", "--repeat", "1", "--html", "-"]
    code, out, err = run("profile", "f:layer", "--shapes", "n, k; k, 3", *options)
    assert code == 0 and out.lower().startswith("<!doctype html>") and out.rstrip().endswith("</html>")
    assert err.startswith("layer: ") and "entry and exit" in err and "at n = 4, k = 2" in err


def test_profile_says_what_a_function_raised(run):
    code, _, err = run("profile", "f:breaks", "--shapes", "n")
    assert code == 2 and "NameError" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell, capsys):
    """The script names the command and the variable by which it asks."""
    assert main.main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert "anyshape" in printed and "_ARGCOMPLETE" in printed


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("anyshape ", "explain"),
        ("anyshape pro", "profile"),
        ("anyshape show --", "--html"),
        ("anyshape completion ", "fish"),
    ],
)
def test_a_shell_completes_commands_and_options(typed, expected):
    """Variables ask, and descriptor 8 has the answer."""
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": typed, "COMP_POINT": str(len(typed)), "_ARGCOMPLETE_IFS": "\n"}
    command = f"{sys.executable} -c 'from anyshape.cli import main; main.main()' 8>&1 9>/dev/null >/dev/null"
    environment = {**os.environ, **asked}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert expected in done.stdout.split()


def test_the_cache_of_machine_code_is_shown_and_cleared(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ANYSHAPE_KERNEL_CACHE", str(tmp_path))
    tmp_path.chmod(0o700)
    for name, size in (("a-1.so", 1_500_000), ("b-2.so", 1_000_000), ("b.json", 10), ("unrelated.txt", 10)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert main.main(["cache"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}: 2 libraries of kernels, 2.5 of at most 200 MB\n"
    (tmp_path / "functions").mkdir(mode=0o700)
    (tmp_path / "functions" / "an entry").write_bytes(b"x")
    assert main.main(["cache", "--clear"]) == 0
    assert not list((tmp_path / "functions").iterdir())
    assert "removed 2 libraries of kernels" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"functions", "unrelated.txt"}
    assert main.main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objects"] == 0
    tmp_path.chmod(0o777)
    assert main.main(["cache"]) == 2
    assert "others may write" in capsys.readouterr().err
