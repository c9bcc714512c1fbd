"""Modules loaded late: programs, rules, kernels and reports come whole, whoever asks first and whatever interrupts."""

import string
import subprocess
import sys
import threading
import typing

import pytest

import anyshape
from anyshape.errors import MissingPackageError
from anyshape.support import packages
from anyshape.support.packages import Folder, Package, attributes, load

# The first use of everything that is loaded late, and its results.
FIRST_USES = """
import io, os, sys, threading, traceback, warnings
import numpy as np
import anyshape
import anyshape.numpy as anp

x = np.arange(3.0) + 1

def loss(x):
    return np.sum(np.tanh(x) * x)

USES = {
    "a kernel": lambda: anp.maximum(x, 2).tolist() == [2, 2, 3],
    "jit": lambda: np.isclose(anyshape.jit(loss)(x), loss(x)),
    "grad": lambda: np.allclose(anyshape.grad(loss)(x), np.tanh(x) + x / np.cosh(x) ** 2),
    "vmap": lambda: anyshape.vmap(lambda row: anp.cumsum(row))(np.ones((2, 3))).tolist() == [[1, 2, 3]] * 2,
    "cond": lambda: anyshape.grad(lambda x: anyshape.cond(x > 0, lambda x: x * x, lambda x: -x, x))(2.0) == 4,
    "explain": lambda: "1 program" in str(anyshape.explain(loss)(x)),
    "html": lambda: "<svg" in anyshape.trace(loss)(anyshape.ShapeDtypeStruct("n")).html(),
    "dot": lambda: "digraph" in anyshape.trace(loss)(anyshape.ShapeDtypeStruct("n")).dot(),
    "profile": lambda: len(anyshape.profile(loss, repeat=1, file=io.StringIO())(x).rows) > 0,
    "save": lambda: np.isclose(saved()(x), loss(x)),
}

def saved():
    anyshape.export(loss)(anyshape.ShapeDtypeStruct("n")).save(file := io.BytesIO())
    return anyshape.load(io.BytesIO(file.getvalue()))

def in_child(run):
    "True if `run` returns True in a fork of this process."
    if (child := os.fork()) == 0:
        try:
            os._exit(0 if run() else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0
"""

needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="forks")


def outputs(code):
    """Lines that a fresh interpreter prints after the code, and its errors."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USES + code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.mark.slow
@needs_fork
def test_each_use_may_be_the_first():
    lines, errors = outputs("print(*[name for name, use in USES.items() if not in_child(use)], sep='\\n')")
    assert lines == [""], errors


@pytest.mark.slow
@needs_fork
def test_a_first_use_within_strict_settings():
    """Modules are loaded where the user has made errors of all warnings."""
    code = """
def strictly(use):
    warnings.simplefilter("error")
    with np.errstate(all="raise"):
        return use()

print(*[name for name, use in USES.items() if not in_child(lambda: strictly(use))], sep='\\n')
"""
    lines, errors = outputs(code)
    assert lines == [""], errors


@pytest.mark.slow
@needs_fork
def test_an_interrupted_first_use_may_be_repeated():
    """Ctrl-C within the modules that it loads, at lines spread over all of them."""
    code = """
class Tracer:
    def __init__(self, last):
        self.last, self.lines = last, 0

    def __call__(self, frame, event, arg):
        is_body = frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("anyshape.")
        return self.line if is_body else None

    def line(self, frame, event, arg):
        self.lines += event == "line"
        if self.lines == self.last:
            raise KeyboardInterrupt
        return self.line

def uses():
    return all(USES[name]() for name in ("cond", "vmap", "explain"))

def count():
    sys.settrace(tracer := Tracer(0))
    uses()
    sys.settrace(None)
    os.write(to, str(tracer.lines).encode())
    return True

def interrupted(last):
    sys.settrace(Tracer(last))
    try:
        uses()
    except KeyboardInterrupt:
        sys.settrace(None)
        return uses()

here, to = os.pipe()
assert in_child(count)
number = int(os.read(here, 99))
print(number)
print(*[last for last in range(1, number, number // 20) if not in_child(lambda: interrupted(last))])
"""
    lines, errors = outputs(code)
    assert int(lines[0]) > 1000, "the modules are loaded already, or their bodies are not seen"
    assert lines[1:] == [""], errors


@pytest.mark.slow
@needs_fork
def test_threads_may_share_a_first_use():
    code = """
def together(names):
    sys.setswitchinterval(1e-6)
    barrier, right = threading.Barrier(len(names)), []

    def run(name):
        barrier.wait()
        right.append(USES[name]())

    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(right) == len(names) and all(right)

EVERY = [name for name in USES if name != "profile"]  # `rich` draws random numbers, which no trace may do meanwhile
GROUPS = [["grad", "vmap"], ["a kernel", "jit"], ["cond"] * 4, ["vmap", "cond", "explain"], EVERY]
print(*[names for names in GROUPS for _ in range(4) if not in_child(lambda: together(names))], sep='\\n')
"""
    lines, errors = outputs(code)
    assert lines == [""], errors


def test_the_state_of_floating_point_errors_is_the_one_at_the_import():
    """A change by `np.seterr` before it is not a block; a later one may be, though modules load after it."""
    code = """
from anyshape.support.packages import traced_program
before, np.seterr(all="raise")
import anyshape.backend.runtime.config as settings, anyshape.program.specialize as tiers
print(tiers.AMBIENT_ERRSTATE == before != np.geterr())
"""
    lines, _ = outputs(code.replace("before,", "before = np.geterr();"))
    assert lines == ["True"]


def test_types_of_public_functions_can_be_read():
    """Annotations that name a module which is loaded late load it."""
    for name in anyshape.__all__:
        value = getattr(anyshape, name)
        if callable(value) and not isinstance(value, type):
            typing.get_type_hints(value)


def test_a_row_loads_once_and_keeps_what_was_read():
    row = Package("string")
    assert row.digits == "0123456789" and vars(row)["digits"] is row.digits
    assert attributes(row) == dir(string)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = row.no_such_name


def test_what_is_loaded_is_there_while_another_thread_loads():
    """Else a module that asks for NumPy while it is imported waits for a thread that waits for this module."""
    results = []
    with packages._LOCK:
        thread = threading.Thread(target=lambda: results.append(load("numpy")))
        thread.start()
        thread.join(timeout=10)
        assert results == [sys.modules["numpy"]]


def test_a_missing_package_is_named_with_its_extra():
    with pytest.raises(MissingPackageError, match="demo"):
        _ = Package("no_such_package.part", extra="demo").anything
    with pytest.raises(ModuleNotFoundError):
        attributes(Package("no_such_package"))


def test_a_folder_loads_the_module_of_a_family_and_hides_no_failed_import(tmp_path, monkeypatch):
    (tmp_path / "rows_of_test").mkdir()
    (tmp_path / "rows_of_test" / "__init__.py").write_text("entered = []")
    (tmp_path / "rows_of_test" / "one.py").write_text("import rows_of_test; rows_of_test.entered.append('one')")
    (tmp_path / "rows_of_test" / "two.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    folder = Folder("rows_of_test")
    folder.load("one")
    folder.load("one")
    folder.load("three")
    assert sys.modules["rows_of_test"].entered == ["one"]
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        folder.load("two")


# What imports load beyond `import numpy`: other packages, with SciPy's and NumPy's public modules, and then the modules
# of the standard library. What stands in a line may be loaded, and nothing else.
SMALL = "atexit copy copyreg dataclasses gc importlib linecache logging string threading traceback zlib"
TRACES = f"{SMALL} array base64 binascii bisect difflib hashlib heapq hmac mmap random secrets"
OPTREE = "optree typing_extensions numpy.random"
SCIPY = "cluster fft integrate interpolate linalg ndimage optimize signal sparse spatial stats"
LOADED = {
    "import anyshape": ("", SMALL),
    "from anyshape import numpy, ops; numpy.sin(numpy.ones(3))": ("", SMALL),
    "import anyshape; anyshape.scipy": ("", SMALL),
    "from anyshape import grad, jit, vmap": (OPTREE, TRACES),
    "import anyshape; anyshape.optimize.adam": (OPTREE, TRACES),
    "import anyshape; anyshape.optimize": ("", SMALL),
    **{f"import anyshape; anyshape.scipy.{name}.__all__": ("", SMALL) for name in SCIPY.split()},
    "import anyshape.scipy.special": ("", SMALL),
    "import numpy as np, anyshape; anyshape.grad(lambda x: np.mean(np.tanh(x @ x) ** 2))(np.ones(3))": (OPTREE, TRACES),
    "import numpy as np, anyshape; anyshape.grad(lambda x: np.sum(np.sin(x) ** 2))(np.ones(3))": (
        OPTREE,
        f"{TRACES} cmath",
    ),
    "import anyshape, anyshape.scipy.integrate as i; anyshape.grad(lambda a: i.quad(lambda x: a * x, 0, 1)[0])(2.0)": (
        f"{OPTREE} numpy.polynomial",
        f"{TRACES} cmath",
    ),
}


@needs_fork
def test_imports_load_these_modules_alone():
    """A sum of milliseconds that nobody sees: one module of the standard library may load thirty others."""
    code = """
import os, sys, numpy
before = set(sys.modules)
def is_public(name):
    return not any(part.startswith("_") for part in name.split(".")) and not name.startswith(("anyshape", "cython"))
for statement, (others, standard) in eval(sys.argv[1]).items():
    if os.fork() == 0:
        exec(statement)
        names = {".".join(m.split(".")[: 1 + m.startswith(("scipy.", "numpy."))]) for m in {*sys.modules} - before}
        extra = set(filter(is_public, names)) - {*others.split(), *standard.split()}
        if extra:
            print(statement, "loads", sorted(extra), flush=True)
        os._exit(0)
    os.wait()
"""
    command = [sys.executable, "-c", code, repr(LOADED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == ("", "")
