"""Machine code by itself: when a build begins, who does it, what it leaves, and what goes wrong."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy
import pytest

import anyshape
import anyshape.numpy as np
from anyshape.backend.native import automatic, kernels, launch, toolchain
from tests.backend.native.compiled import needs_compiler, states
from tests.backend.runtime.test_thread_pool import in_a_process

pytestmark = needs_compiler
X = numpy.linspace(0.1, 1, 200_000)  # a run of these is worth some milliseconds
SMALL = X[:300]


def function(x):
    return np.tanh(x) * 2 + np.sin(x)


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """A cache of the test, a compiler that counts its runs, and builds after two runs of X."""
    caches = (toolchain.compiler, toolchain._identity)
    monkeypatch.setenv("ANYSHAPE_KERNEL_CACHE", str(tmp_path / "cache"))
    compiler(tmp_path, monkeypatch, 'exec cc "$@"')
    monkeypatch.setattr(anyshape.config, "num_threads", 1)
    monkeypatch.setattr(automatic, "LOOKED_SECONDS", 0.0)
    monkeypatch.setattr(automatic, "after", 1.5 * worth_of(X))
    monkeypatch.setattr(automatic, "ROW_SUMS", automatic._RowSums())
    monkeypatch.setitem(automatic.native_launch.__dict__, "SUMS", launch.RowSums())
    for cache in caches:
        cache.cache_clear()
    yield
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def compiler(tmp_path, monkeypatch, line):
    """Set a compiler that notes each run, and then does what a line says."""
    script = tmp_path / "cc"
    script.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\n{line}\n")
    script.chmod(0o755)
    monkeypatch.setenv("ANYSHAPE_CC", str(script))
    toolchain.compiler.cache_clear()


def runs(tmp_path):
    """Return how often the compiler ran."""
    file = tmp_path / "runs"
    return len(file.read_text().split()) if file.exists() else 0


def worth_of(x):
    """Return the counted work of a call."""
    ours = automatically()
    ours(x)
    (plan,) = [k for program in ours.programs() for k in program.planner.kernels]
    return plan.work.seconds


def automatically(f=function, **options):
    return anyshape.jit(f, optimize="now", compile="auto", **options)


def called_until_built(ours, *args, expected=None):
    """Call until no group waits, and check each result."""
    expected = function(*args) if expected is None else expected
    until = time.monotonic() + 120
    while True:
        numpy.testing.assert_allclose(ours(*args), expected, rtol=1e-13)
        if not any("runs so far" in state or state == "waiting" for state in states(ours)):
            break
        assert time.monotonic() < until, states(ours)
        time.sleep(0.01)


def test_a_build_begins_when_the_runs_are_worth_it(tmp_path):
    ours = automatically()
    ours(X)
    assert runs(tmp_path) == 0 and "runs so far are worth" in states(ours)[0]
    called_until_built(ours, X)
    assert states(ours) == ["compiled"] and runs(tmp_path) == 1
    assert "1 of 1 groups: compiled" in str(ours.explain())
    numpy.testing.assert_allclose(ours(SMALL), function(SMALL), rtol=1e-13)  # small arrays have the kernel too


def test_equal_calls_begin_the_build_at_the_same_call(monkeypatch):
    begun, start = [], toolchain._start
    monkeypatch.setattr(toolchain, "_start", lambda *args: begun.append(len(calls)) or start(*args))
    for factor, pause in ((2.0, 0.0), (3.0, 0.05)):
        ours = automatically(lambda x, factor=factor: np.tanh(x) * factor + np.sin(x))
        calls = []
        while len(calls) < 4:
            calls.append(None)
            ours(X)
            time.sleep(pause)
        called_until_built(ours, X, expected=numpy.tanh(X) * factor + numpy.sin(X))
    assert begun == [2, 2]


def test_small_arrays_never_build(tmp_path, monkeypatch):
    monkeypatch.setattr(automatic, "after", 1e-6)
    ours = automatically()
    for _ in range(2000):
        ours(SMALL)
    assert states(ours) == [] and runs(tmp_path) == 0 and not [*(tmp_path / "cache").iterdir()]


SHORT = """
import sys, numpy, anyshape, anyshape.numpy as np
f = anyshape.jit(anyshape.value_and_grad(lambda x: np.sum(np.tanh(x) * 2 + np.sin(x))))
for _ in range({calls}):
    f(numpy.linspace(0, 1, {n}))
print("anyshape.backend.native.kernels" in sys.modules, [p.kernels for p in f.programs()])
"""


@pytest.mark.parametrize(("n", "calls", "loads"), [(100, 500, "False"), (300_000, 4, "True")])
def test_a_short_script_runs_no_compiler(n, calls, loads, tmp_path):
    code, out, err = in_a_process(SHORT.format(n=n, calls=calls))
    assert code == 0 and out.startswith(loads), (out, err)
    assert runs(tmp_path) == 0 and not [*(tmp_path / "cache").glob("*.so")]


def test_other_processes_take_kernels_from_the_cache_at_the_first_call(tmp_path, monkeypatch):
    called_until_built(automatically(), X)
    monkeypatch.setattr(automatic, "after", 100.0)
    monkeypatch.setattr(kernels, "disagreement", lambda *args: pytest.fail("it was tested again"))
    ours = automatically()
    numpy.testing.assert_allclose(ours(X), function(X), rtol=1e-13)
    assert states(ours) == ["compiled"] and runs(tmp_path) == 1


def test_a_test_of_another_numpy_says_nothing(tmp_path, monkeypatch):
    called_until_built(automatically(), X)
    (verdicts,) = (tmp_path / "cache").glob("*.json")
    content = json.loads(verdicts.read_text())
    verdicts.write_text(json.dumps(content | {"stamp": "1.0", "kernels": [[0, "of old"]]}))
    ours = automatically()
    ours(X)
    assert states(ours) == ["compiled"] and json.loads(verdicts.read_text()) == content
    verdicts.write_text("damaged")
    ours = automatically()
    ours(X)
    assert states(ours) == ["compiled"] and json.loads(verdicts.read_text()) == content


def test_reproducible_programs_have_no_machine_code_and_one_plan(tmp_path, monkeypatch):
    monkeypatch.setattr(anyshape.config, "reproducible", True)
    monkeypatch.setattr(automatic, "after", 0.0)
    for mode in ("auto", "background", "wait"):
        ours = anyshape.jit(lambda x: np.sum(np.tanh(x) * np.sin(x)), optimize="auto", compile=mode)
        assert len({float(ours(x)).hex() for x in [X] * 6}) == 1
        assert not states(ours) and "anyshape.config.reproducible" in str(ours.programs()[0].tier)
    assert runs(tmp_path) == 0
    code = "import anyshape; print(anyshape.config.reproducible)"
    assert in_a_process(code, ANYSHAPE_REPRODUCIBLE="1")[1] == "True\n"


def test_the_threshold_0_builds_everything_at_its_first_run(monkeypatch):
    monkeypatch.setattr(automatic, "after", 0.0)
    monkeypatch.setattr(launch, "SLOWER", float("inf"))
    ours = automatically()
    numpy.testing.assert_allclose(ours(SMALL), function(SMALL), rtol=1e-13)
    assert states(ours) == ["compiled"]
    loss = anyshape.value_and_grad(lambda table, i: np.sum(np.sin(table[i]) * 2))
    ours = automatically(loss)
    table, i = numpy.ones((5, 6)), numpy.array([0, 3, 3])
    expected = numpy.zeros((5, 6))
    numpy.add.at(expected, i, 2 * numpy.cos(1.0))
    numpy.testing.assert_allclose(ours(table, i)[1], expected, rtol=1e-13)
    assert states(ours) and set(states(ours)) == {"compiled"}


def test_sums_of_rows_are_built_when_they_are_worth_it(tmp_path, monkeypatch):
    ours = automatically(lambda rows, ids: anyshape.ops.put_add(rows, ids, 50))
    rows, ids = numpy.ones((20_000, 8)), numpy.arange(20_000) % 50
    monkeypatch.setattr(automatic, "after", 1.5 * automatic.ROW_SUM_SECONDS * rows.size)
    called_until_built(ours, rows, ids, expected=numpy.full((50, 8), 400.0))
    assert states(ours) == ["compiled"] and runs(tmp_path) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("echo broken >&2; exit 1", "broken"),
        ("exec sleep 1000", "timed out"),
        ("kill -9 $$", "was ended by a signal"),
        ("true", "No such file"),
    ],
)
def test_a_compiler_that_is_of_no_use_is_asked_once(line, reason, tmp_path, monkeypatch, recwarn):
    compiler(tmp_path, monkeypatch, line)
    monkeypatch.setattr(toolchain, "SECONDS", 0.3)
    ours = automatically()
    called_until_built(ours, X)
    (state,) = states(ours)
    assert state.startswith("NumPy: ") and reason in state, state
    assert runs(tmp_path) == 1 and not [*(tmp_path / "cache").iterdir()] and not recwarn.list
    for _ in range(5):
        ours(X)
    assert runs(tmp_path) == 1 and str(ours.explain()).count(reason) == 1


def test_without_a_compiler_explain_says_how_to_get_one(monkeypatch):
    monkeypatch.setenv("ANYSHAPE_CC", "no-such-compiler")
    toolchain.compiler.cache_clear()
    ours = automatically()
    ours(X)
    assert "pip install" not in str(ours.explain())  # a build would not have paid
    called_until_built(ours, X)
    assert str(ours.explain()).count("pip install 'anyshape[compile]'") == 1


@pytest.mark.parametrize("name", ["ANYSHAPE_KERNEL_CACHE", "XDG_CACHE_HOME"])
def test_a_folder_that_cannot_be_written_to(name, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("ANYSHAPE_KERNEL_CACHE")
    monkeypatch.setenv(name, str(tmp_path / "file"))
    ours = automatically()
    called_until_built(ours, X)
    assert states(ours)[0].startswith("NumPy: no folder" if name == "ANYSHAPE_KERNEL_CACHE" else "compiled")


def test_kernels_that_all_differ_from_numpy_leave_the_cache_for_good(tmp_path, monkeypatch):
    wrong = lambda text, build=kernels.Build: build(text.replace(" + ", " - "))
    monkeypatch.setattr(kernels, "Build", wrong)
    for _ in range(2):
        ours = automatically()
        called_until_built(ours, X)
        assert "differs from NumPy's" in states(ours)[0]
    assert runs(tmp_path) == 1 and [path.suffix for path in (tmp_path / "cache").iterdir()] == [".json"]


def test_the_cache_is_bounded_and_the_oldest_objects_go_first(tmp_path, monkeypatch):
    texts = [f"int64_t number(void) {{ return {i}; }}" for i in range(4)]
    paths = []
    for age, text in enumerate(texts[:3]):
        paths.append(toolchain.build(text))
        os.utime(paths[-1], (1000 - age, 1000 - age))
    monkeypatch.setattr(toolchain, "MOST_BYTES", 2.5 * paths[0].stat().st_size)
    paths.append(toolchain.build(texts[3]))
    assert [path.exists() for path in paths] == [True, False, False, True]


PROCESS = """
import sys, time, numpy, anyshape, anyshape.numpy as np
f = anyshape.jit(lambda x: np.tanh(x) * 2 + np.sin(x), optimize="now", compile="auto")
x = numpy.linspace(0.1, 1, 200_000)
until = time.monotonic() + {seconds}
while time.monotonic() < until and not any("compiled" in line for p in f.programs() for line in p.kernels):
    y = f(x)
print(numpy.allclose(y, numpy.tanh(x) * 2 + numpy.sin(x), rtol=1e-13), *f.programs()[0].kernels, flush=True)
{then}
"""


def process(seconds, then="", after="0.001"):
    code = PROCESS.format(seconds=seconds, then=then)
    environment = {**os.environ, "ANYSHAPE_COMPILE_AFTER": after, "ANYSHAPE_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_processes_that_want_one_kernel_build_it_once(tmp_path, monkeypatch):
    compiler(tmp_path, monkeypatch, 'sleep 0.5; exec cc "$@"')
    running = [process(60) for _ in range(2)]
    for one in running:
        assert one.communicate()[0] == "True 1 of 1 groups: compiled\n"
    assert runs(tmp_path) == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked up there")
@pytest.mark.parametrize("then", ["", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
def test_the_compiler_ends_with_the_process_and_leaves_nothing(then, tmp_path, monkeypatch):
    compiler(tmp_path, monkeypatch, f"echo $$ > {tmp_path}/compiler; sleep 1000")
    one = process(1, then)
    assert one.communicate()[0].startswith("True")
    number, cache = (tmp_path / "compiler").read_text().strip(), tmp_path / "cache"
    until = time.monotonic() + 20
    while os.path.exists(f"/proc/{number}") or [*cache.glob("*.build")]:
        assert time.monotonic() < until
        time.sleep(0.05)
    compiler(tmp_path, monkeypatch, 'exec cc "$@"')
    called_until_built(automatically(), X)  # the lock is free
    assert {path.suffix for path in cache.iterdir()} == {".so", ".json"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_forked_processes_build_for_much_work_alone(tmp_path):
    child = os.fork()
    if not child:
        signal.alarm(60)
        ours = automatically()
        for _ in range(4):
            ours(X)
        few = runs(tmp_path)
        for _ in range(20):
            ours(X)
        os._exit(0 if few == 0 and runs(tmp_path) == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_during_a_build_leaves_the_build_of_its_parent(tmp_path, monkeypatch):
    compiler(tmp_path, monkeypatch, 'sleep 0.5; exec cc "$@"')
    ours = automatically()
    ours(X)
    ours(X)
    assert toolchain._RUNNING
    child = os.fork()
    if not child:
        signal.alarm(60)
        good = numpy.allclose(ours(X), function(X), rtol=1e-13) and not toolchain._RUNNING
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    called_until_built(ours, X)
    assert states(ours) == ["compiled"] and runs(tmp_path) == 1


def test_programs_take_turns_and_none_is_forgotten(tmp_path):
    """The plan whose compiler runs is called no more: the next one sees to it."""
    first = automatically()
    first(X)
    first(X)
    second = automatically(lambda x: np.tanh(x) * 3 + np.sin(x))
    called_until_built(second, X, expected=numpy.tanh(X) * 3 + numpy.sin(X))
    assert states(second) == ["compiled"] and len([*(tmp_path / "cache").glob("*.so")]) == 2


@pytest.mark.parametrize("text", ["soon", "-1"])
def test_a_threshold_that_is_no_number_is_said(text):
    code = textwrap.dedent("""
        import warnings, numpy, anyshape
        with warnings.catch_warnings(record=True) as caught:
            anyshape.jit(lambda x: x * 2 + x, optimize="now")(numpy.ones(3))
        print(*[w.message for w in caught])
    """)
    said = in_a_process(code, ANYSHAPE_COMPILE_AFTER=text)[1]
    assert said == f"ANYSHAPE_COMPILE_AFTER is '{text}', not a number of seconds; it is 1\n"
