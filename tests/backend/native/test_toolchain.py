"""The compiler and the cache of shared objects: none, broken, slow, damaged, shared with others, raced for."""

import os
import platform
import stat
import subprocess
import sys
import threading

import numpy
import pytest

import anyshape
import anyshape.numpy as np
from anyshape.backend.native import nests, toolchain
from tests.backend.native.compiled import compiled, needs_compiler, states
from tests.backend.runtime.test_thread_pool import in_a_process

pytestmark = needs_compiler
X = numpy.linspace(0.1, 1, 60)


def function(x):
    return np.tanh(x) * 2 + x


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """A cache of the test, and a compiler that is looked for again."""
    caches = (toolchain.compiler, toolchain._identity)
    monkeypatch.setenv("ANYSHAPE_KERNEL_CACHE", str(tmp_path / "cache"))
    for cache in caches:
        cache.cache_clear()
    yield
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def served_by_numpy(reason):
    ours = compiled(function)
    numpy.testing.assert_allclose(ours(X), function(X), rtol=1e-13)
    (state,) = states(ours)
    assert state.startswith("NumPy: ") and reason in state, state


def test_the_cache_is_private_and_used_again(tmp_path, monkeypatch):
    assert compiled(function)(X).shape == X.shape
    folder = tmp_path / "cache"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (built,) = folder.glob("*.so")
    assert stat.S_IMODE(built.stat().st_mode) == 0o700
    monkeypatch.setattr(toolchain, "_start", lambda *args: pytest.fail("it was built twice"))
    ours = compiled(function)
    ours(X)
    assert states(ours) == ["compiled"]


def test_the_text_does_not_depend_on_sizes():
    texts = set()
    original = toolchain._start
    try:
        toolchain._start = lambda text, *where: texts.add(text) or original(text, *where)
        for n in (3, 50):
            compiled(function)(X[:n])
    finally:
        toolchain._start = original
    assert len(texts) == 1


@pytest.fixture
def parted(monkeypatch):
    """List of texts that are built, the functions of each one in parts."""
    texts, start = [], toolchain._start
    monkeypatch.setattr(toolchain, "PART_CHARACTERS", 10)
    monkeypatch.setattr(nests, "_BUILT", {})
    monkeypatch.setattr(nests, "nest_of", nests.nest_of.__wrapped__)
    monkeypatch.setattr(toolchain, "_start", lambda text, *where: texts.append(text) or start(text, *where))
    return texts


def several(x, y):
    """Kernels with an elementary function and without one, and two loops."""
    total, last = np.tanh(x) * 2 + x, x[0]
    for i in range(x.shape[0]):
        last = 0.5 * last + x[i]
    for i in range(y.shape[0]):
        last = np.exp(-last) * y[i]
    return total, last, y * y - 3 * y


@pytest.mark.parametrize("shell", [toolchain._SHELL, "/no/such/shell"])
def test_parts_of_a_text_are_compiled_at_once(shell, parted, monkeypatch):
    monkeypatch.setattr(toolchain, "_SHELL", shell)
    monkeypatch.setenv("all", "1")  # a name in the script
    ours = anyshape.jit(several, compile="wait")
    for n in (60, 7):
        for a, b in zip(ours(X[:n], X[:5]), several(X[:n], X[:5]), strict=True):
            numpy.testing.assert_allclose(a, b, rtol=1e-13)
    (text,) = parted
    parts = text.split(toolchain.PART)
    elementary = [any(f"{name}(" in part for name in ("as_tanh", "as_exp_alone")) for part in parts]
    assert elementary == [True, True, False, False]


def test_a_part_that_does_not_compile_is_an_error(parted):
    wrong = [f"int64_t of_{k}(void) {{ return {k}{' wrong' * (k == 1)}; }}" for k in range(3)]
    text = toolchain.in_parts(wrong, "\n".join)
    assert text.count(toolchain.PART) == toolchain.MOST_PARTS - 1
    with pytest.raises(toolchain.CompileError, match="wrong"):
        toolchain.build(text)


def test_without_a_compiler_numpy_serves(monkeypatch):
    monkeypatch.setenv("ANYSHAPE_CC", "no-such-compiler")
    served_by_numpy("there is no C compiler")


def test_compilers_are_looked_for_in_order(monkeypatch, tmp_path):
    monkeypatch.delenv("ANYSHAPE_CC", raising=False)
    there = {"gcc": "/bin/gcc", "clang": "/bin/clang"}
    monkeypatch.setattr(toolchain.shutil, "which", there.get)
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "__main__.py").write_text("")
    monkeypatch.setattr(toolchain.sys, "path", [str(tmp_path)])
    for expected in (("/bin/gcc",), ("/bin/clang",), (sys.executable, "-m", "ziglang", "cc")):
        toolchain.compiler.cache_clear()
        assert toolchain.compiler() == expected
        there.pop(next(iter(there), ""), None)
    monkeypatch.setattr(toolchain.sys, "path", [])
    toolchain.compiler.cache_clear()
    assert toolchain.compiler() == ()


def test_a_compiler_that_fails(monkeypatch, tmp_path):
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho broken >&2\nexit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("ANYSHAPE_CC", str(script))
    served_by_numpy("broken")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_compiler_that_hangs_is_ended(monkeypatch, tmp_path):
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\nexec sleep 1000\n')
    script.chmod(0o755)
    monkeypatch.setenv("ANYSHAPE_CC", str(script))
    monkeypatch.setattr(toolchain, "SECONDS", 0.3)
    served_by_numpy("timed out")


def test_a_damaged_object_is_built_again(tmp_path):
    """One that is cut short may have a whole header: loading it would end the process."""
    compiled(function)(X)
    (built,) = (tmp_path / "cache").glob("*.so")
    whole = built.read_bytes()
    for damage in (b"", b"not a library", whole[: len(whole) // 2], whole[:-8] + b"\0" * 8 + b"x"):
        built.unlink()
        built.write_bytes(damage)
        built.chmod(0o700)
        ours = compiled(function)
        numpy.testing.assert_allclose(ours(X), function(X), rtol=1e-13)
        assert states(ours) == ["compiled"]
        (built,) = (tmp_path / "cache").glob("*.so")
        assert len(built.read_bytes()) == len(whole)


def test_a_group_that_the_compiler_refuses_leaves_the_others(monkeypatch):
    """A kernel that does not compile, and one that does not load."""

    def pair(x, y):
        return np.tanh(x) * 2 + x, np.sin(y) * 3 + y

    build = toolchain._start
    for wrong in ("+ no such name", "no_such_name"):
        refused = lambda text, *where, wrong=wrong: build(text.replace("as_tanh(a0", f"{wrong}(a0"), *where)
        monkeypatch.setattr(toolchain, "_start", refused)
        ours = compiled(pair)
        for a, b in zip(ours(X, X[:7]), pair(X, X[:7]), strict=True):
            numpy.testing.assert_allclose(a, b, rtol=1e-13)
        assert sorted(state[:8] for state in states(ours)) == ["NumPy: /", "compiled"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes of POSIX")
def test_a_folder_that_others_may_write_to_is_refused(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    served_by_numpy("others may write")


def test_a_home_that_cannot_be_written_to(monkeypatch, tmp_path):
    monkeypatch.delenv("ANYSHAPE_KERNEL_CACHE")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    ours = compiled(function)
    ours(X)
    assert states(ours) == ["compiled"]


def test_threads_and_processes_that_race_build_whole_objects(tmp_path):
    code = "import numpy, anyshape, anyshape.numpy as np; x = numpy.linspace(0.1, 1, 60); "
    code += "f = anyshape.jit(lambda x: np.tanh(x) * 2 + x, optimize='now', compile='wait'); print(f(x).sum().hex())"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    results = []
    threads = [threading.Thread(target=lambda: results.append(compiled(function)(X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        numpy.testing.assert_allclose(result, function(X), rtol=1e-13)
    for process in running:
        assert float.fromhex(process.communicate()[0]) == pytest.approx(function(X).sum(), rel=1e-13)
    assert [path.suffix for path in sorted((tmp_path / "cache").iterdir())] == [".so", ".json"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_builds_and_runs_kernels_of_its_own():
    ours = anyshape.jit(function, optimize="now", compile="background")
    ours(X)
    child = os.fork()
    if not child:
        again = compiled(lambda x: np.tanh(x) * 3 + x)
        good = numpy.allclose(ours(X), function(X)) and numpy.allclose(again(X), numpy.tanh(X) * 3 + X)
        os._exit(0 if good and states(again) == ["compiled"] else 1)
    assert os.waitpid(child, 0)[1] == 0


INTERRUPTED = """
import pathlib, numpy, anyshape, anyshape.numpy as np
from anyshape.backend.native import launch
launch.SLOWER = float("inf")
f = anyshape.jit(lambda x: np.tanh(x) * 2 + np.sin(x), optimize="now", compile="wait")
x = numpy.linspace(0, 1, 400_000)
slow, calls = pathlib.Path({slow!r}), 0
if not slow.exists():
    f(x)
print("begun", flush=True)
try:
    while True:
        f(x)
except KeyboardInterrupt:
    print("interrupted")
slow.unlink(missing_ok=True)
print(numpy.allclose(f(x), numpy.tanh(x) * 2 + numpy.sin(x)), f.programs()[0].planner.kernel_outcomes())
"""


@pytest.mark.parametrize("during", ["a kernel", "a build"])
def test_an_interrupt_surfaces_and_later_calls_run(during, tmp_path, monkeypatch):
    script, slow = tmp_path / "cc", tmp_path / "slow"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] || [ ! -e {slow} ] || exec sleep 1000\nexec cc "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("ANYSHAPE_CC", str(script))
    if during == "a build":
        slow.write_text("")
    code, out, err = in_a_process(INTERRUPTED.format(slow=str(slow)), interrupt_at=0.7, ANYSHAPE_NUM_THREADS="2")
    assert code == 0 and out.split("\n")[:2] == ["begun", "interrupted"], err
    assert "True ('1 of 1 groups: compiled'" in out
    assert {path.suffix for path in (tmp_path / "cache").iterdir()} == {".so", ".json"}  # no scratch folder is left


def test_scratch_folders_of_processes_that_ended_are_removed(tmp_path):
    cache = tmp_path / "cache"
    for name in ("old", "new"):
        (cache / f"{name}.build").mkdir(parents=True)
        (cache / f"{name}.lock").write_text("")
        (cache / f"{name}.build" / "kernels.c").write_text("")
    cache.chmod(0o700)
    lock = toolchain._lock(cache, "new")
    compiled(function)(X)
    assert not list(cache.glob("old.*")) and (cache / "new.build").exists()
    lock.release()


def test_a_process_whose_home_can_be_written_to_makes_no_other_folder(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(toolchain.tempfile, "TemporaryDirectory", made.append)
    monkeypatch.delenv("ANYSHAPE_KERNEL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    toolchain._of_process.cache_clear()
    assert toolchain.cache_folder() == tmp_path / "anyshape" / "kernels" and not made


@pytest.mark.parametrize("mode", ["on", True, ""])
def test_modes_are_checked(mode):
    with pytest.raises(anyshape.errors.ArgumentError, match="compile"):
        anyshape.jit(function, compile=mode)
    with pytest.raises(anyshape.errors.ArgumentError, match="compile"):
        anyshape.config.compile = mode


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have fused multiply-adds")
def test_a_processor_without_fused_operations_gets_no_kernels(monkeypatch):
    old = tuple(["-march=x86-64" if flag == "-march=native" else flag for flag in toolchain.FLAGS])
    monkeypatch.setattr(toolchain, "FLAGS", old)
    with pytest.raises(toolchain.CompileError, match="no fused multiply-add"):
        toolchain.build("int64_t of_an_old_processor(void) { return 1; }")
