"""Warnings of NumPy in a run name the line of the user, and follow filters and NumPy's error modes."""

import ast
import inspect
import io
import subprocess
import sys
import threading
import traceback
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import anyshape
from anyshape import cond, config, fori_loop, grad, hessian, jit, scan, vmap, while_loop
from anyshape.backend.compiler.codegen.user_lines import _HELPERS
from anyshape.backend.native import toolchain
from tests.backend.native.compiled import needs_compiler

HERE = __file__
ZEROS, HUGE = np.zeros(3), np.full((2, 2), 1e200)
HELPERS = "import numpy as np\n\n\ndef logs(x):\n    return np.log(x)\n"


def helpers():
    """Return a module of a user, which stands in another file."""
    module = types.ModuleType("helpers_of_user")
    exec(compile(HELPERS, "/of_user/helpers.py", "exec"), module.__dict__)
    return module


OTHER = helpers()


def divided(x):
    shifted = x - 1
    return np.sum(1 / shifted) + np.sum(x)


def entropies(x):
    roots = np.sqrt(x)
    return roots + np.log(x) * roots  # warns


def carried(c, x):
    return c + np.log(x), x  # warns


def looped(x):
    return scan(carried, np.zeros(()), x)


def repeated(x):
    def trip(c):
        return c[0] + 1, np.log(c[1] * 0)  # warns

    return while_loop(lambda c: c[0] < 1, trip, (0, x))  # fmt: skip


def chosen(x):
    def reciprocal(x):
        return 1 / x  # warns

    return cond(x.sum() < 1, reciprocal, lambda x: x, x)  # fmt: skip


def rooted(x):
    return np.sum(np.sqrt(x))  # warns


def cast(x):
    nothing = x * np.nan
    return nothing.astype(int)  # warns


def multiplied(x):
    return x @ x  # warns


def multiplied_in_trips(x):
    return fori_loop(0, 1, lambda i, c: c @ x, x)  # warns


def averaged(x):
    return x[x > 5].mean()  # warns


def determinant(x):
    return np.linalg.det(x)  # warns


def signed_determinant(x):
    return np.linalg.slogdet(x)[1]  # warns


def cardinal_sine(x):
    return np.sinc(x)  # warns


def rounded(x):
    return np.round(x, 2)  # warns


def of_two_files(x):
    return np.sqrt(x) + OTHER.logs(x) + np.exp(x)


LINE = divided.__code__.co_firstlineno + 2
CASES = {
    "first plan": (jit(entropies), entropies, ZEROS, "divide by zero encountered in log"),
    "tiles": (jit(entropies, optimize="now"), entropies, np.zeros(400_000), "divide by zero encountered in log"),
    "scan": (jit(looped), carried, ZEROS[:1], "divide by zero encountered in log"),
    "while_loop": (jit(repeated), repeated, ZEROS, "divide by zero encountered in log"),
    "cond": (jit(chosen), chosen, ZEROS, "divide by zero encountered in divide"),
    "grad": (grad(rooted), rooted, ZEROS, "divide by zero encountered in divide"),
    "hessian": (hessian(rooted), rooted, ZEROS, "divide by zero encountered in divide"),
    "vmap": (vmap(rooted), rooted, -np.ones((2, 3)), "invalid value encountered in sqrt"),
    "kernel in Python": (jit(cast), cast, ZEROS, "invalid value encountered in cast"),
    "product": (jit(multiplied), multiplied, HUGE, "overflow encountered in"),
    "product of trips": (jit(multiplied_in_trips), multiplied_in_trips, np.full((330, 330), 1e200), "overflow"),
    "determinant in Python of NumPy": (
        jit(determinant),
        determinant,
        HUGE * np.nan,
        "invalid value encountered in det",
    ),
    "adjugate": (grad(determinant), determinant, np.diag(np.full(3, 1e300)), "overflow encountered in"),
    "pair in Python of NumPy": (jit(signed_determinant), signed_determinant, HUGE * np.nan, "in slogdet"),
    "sinc in Python of NumPy": (jit(cardinal_sine), cardinal_sine, ZEROS + np.inf, "invalid value encountered in sin"),
    "method of an array": (jit(rounded), rounded, ZEROS + 1e308, "overflow encountered in multiply"),
    "no elements": (jit(averaged), averaged, ZEROS, "Mean of empty slice"),
}


def caught_from(function, *args):
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        function(*args)
    return caught


def warning_line(function):
    """Return the number of the line of a function that warns."""
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, line in enumerate(lines) if "# warns" in line)


@pytest.mark.parametrize("case", CASES)
def test_a_warning_names_the_line_of_the_user(case):
    function, source, x, message = CASES[case]
    caught = caught_from(function, x)
    assert message in str(caught[0].message)
    assert {(w.filename, w.lineno) for w in caught} == {(HERE, warning_line(source))}


@needs_compiler
def test_a_warning_of_a_compiled_program_names_the_line_of_the_user(monkeypatch):
    monkeypatch.setattr(toolchain, "SECONDS", 600.0)
    function = jit(entropies, optimize="now", compile="wait")
    function(np.ones(40_000))
    caught = caught_from(function, np.zeros(40_000))
    assert {(w.filename, w.lineno) for w in caught} == {(HERE, warning_line(entropies))}


def test_a_warning_on_threads_names_the_line_of_the_user(monkeypatch):
    monkeypatch.setattr(config, "num_threads", 2)
    caught = caught_from(jit(entropies, optimize="now"), np.zeros(800_000))
    assert {(w.filename, w.lineno) for w in caught} == {(HERE, warning_line(entropies))}


def test_a_warning_in_a_thread_of_the_user_names_the_line():
    function, caught = jit(divided), []
    thread = threading.Thread(target=lambda: caught.extend(caught_from(function, np.ones(3))))
    thread.start()
    thread.join()
    assert [(w.filename, w.lineno) for w in caught] == [(HERE, LINE)]


@pytest.mark.parametrize("options", [{}, {"optimize": "now"}], ids=["first", "optimised"])
def test_a_warning_of_a_step_in_another_file_names_that_file(options):
    (warning,) = caught_from(jit(of_two_files, **options), np.zeros(400_000))
    assert (warning.filename, warning.lineno) == ("/of_user/helpers.py", 5)


@pytest.mark.usefixtures("as_written")
def test_a_warning_is_given_once_for_a_line_and_matches_filters_of_its_module():
    with warnings.catch_warnings(record=True) as caught, np.errstate(divide="warn"):
        warnings.simplefilter("default")
        for function in (jit(divided), jit(divided), jit(lambda x: divided(x) + 1)):
            function(np.ones(3))
    assert [(w.filename, w.lineno) for w in caught] == [(HERE, LINE)]
    with warnings.catch_warnings(record=True) as caught, np.errstate(divide="warn"):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."))
        jit(divided)(np.ones(3))
    assert not caught


@pytest.mark.parametrize("function", [divided, of_two_files], ids=["one file", "two files"])
def test_a_warning_that_is_an_error_ends_at_the_line_of_the_user(function):
    f, (file, line) = jit(function), ((HERE, LINE) if function is divided else ("/of_user/helpers.py", 5))
    x = np.ones(3) if function is divided else ZEROS
    with warnings.catch_warnings(), np.errstate(divide="warn"):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero") as caught:
            f(x)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == (file, line)
    assert any(f"{file.rpartition('/')[2]}:{line}" in note for note in caught.value.__notes__)


def test_numpys_error_modes_keep_their_meaning():
    f, calls, x = jit(divided), [], np.ones(3)
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(x) == np.inf
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero") as caught:
        f(x)
    assert f"test_fp_warnings.py:{LINE}" in str(caught.value)
    with np.errstate(divide="call", call=lambda kind, flag: calls.append((kind, flag))):
        f(x)
    assert calls == [("divide by zero", 1)]
    log = io.StringIO()
    with np.errstate(divide="log", call=log):
        f(x)
    assert log.getvalue() == "Warning: divide by zero encountered in divide\n"


def test_an_error_in_a_program_still_finds_its_trip_and_line():
    def trip(c, i):
        return c + np.log(i), i

    f = jit(lambda x: scan(trip, np.zeros(()), x))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError) as caught:
        f(np.array([1.0, 2.0, 0.0]))
    text = str(caught.value)
    assert f"test_fp_warnings.py:{trip.__code__.co_firstlineno + 1}" in text and "in trip 2" in text


SCRIPT = """\
import numpy as np
from anyshape import jit

@jit
def f(x):
    y = x + 1
    return np.log(x) + y

f(np.zeros(2))
"""


def test_a_script_shows_its_own_lines(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    shown = [
        subprocess.run([sys.executable, *flags, str(script)], capture_output=True, text=True, check=False)
        for flags in ([], ["-W", "error::RuntimeWarning"])
    ]
    warned, failed = shown
    assert warned.stderr == (f"{script}:7: RuntimeWarning: divide by zero encountered in log\n  return np.log(x) + y\n")
    assert failed.returncode == 1 and f'File "{script}", line 7, in f\n    return np.log(x) + y\n' in failed.stderr
    assert "anyshape/" not in failed.stderr.replace(str(tmp_path), "")


def test_no_kernel_that_is_copied_reads_a_global_that_changes():
    """A copy has the globals of its module as they are when a plan is compiled."""
    package = Path(anyshape.__file__).parent
    copied = [
        *(package / "backend/numpy").glob("*.py"),
        *(package / f"{name[9:].replace('.', '/')}.py" for name in _HELPERS),
    ]
    for file in copied:
        changes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Global)]
        assert not changes, f"{file.name}: {[ast.unparse(node) for node in changes]}"
