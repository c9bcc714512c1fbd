"""Random functions of plain Python, jitted and plain: values, dtypes, what is written to arguments, exceptions, slopes.

One jitted function is called at all sizes. Values are the same bits, as NumPy promises them for what the programs call,
but for sums. Five answers may differ, and nothing else:

- A choice of a run between an int and a float is a float in each run; its value is the same.
- A float that a loop binds is one of NumPy's also where it had no iteration: with float32 it gives float64 then.
- An index beyond an array is an IndexError of Python's, and an error of a size where the size alone decides.
- An int that 64 bits do not hold is an error of the run.
- What a program wrote to its argument before it raised.
"""

import functools
import importlib.util
import inspect
import itertools
import sys
import types
import warnings

import numpy as np
import pytest

import anyshape
from anyshape import errors
from anyshape.ops.creation import full
from anyshape.transforms.control_flow.kept_choices import Choice
from anyshape.transforms.control_flow.kept_loops import KeptLoop
from tests.as_users import as_users_run_programs  # noqa: F401
from tests.tracing.source import aliased_programs, changing_programs
from tests.tracing.source.python_programs import HEAD, HELPERS, python_program

CALLS = [
    ([1.0, 2.0, 3.0, 2.0, 5.0, 0.5, 7.0], 3),
    ([], 2),
    ([3.0], 1),
    ([1.0, 2.0], 0),
    ([2.0, 0.0, -1.0, 2.0, 4.0, -0.5, 0.25], 1),
    ([-1.0, float("nan")], 4),
]
SMOOTH = np.array([0.9137, 2.1291, -1.3713, 0.4219, 3.7079])
TOGETHER = 25  # programs of one file
_numbers = itertools.count()


def load(folder, texts):
    """Import functions from a file, and their helpers from another one, as users do."""
    helpers, name = f"helpers_{next(_numbers)}", f"programs_{next(_numbers)}"
    (folder / f"{helpers}.py").write_text(HELPERS)
    (folder / f"{name}.py").write_text(HEAD.format(helpers=helpers) + "\n\n" + "\n\n".join(texts))
    for each in (helpers, name):
        spec = importlib.util.spec_from_file_location(each, folder / f"{each}.py")
        module = sys.modules[each] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    del sys.modules[helpers], sys.modules[name]
    return module


def outcome(function, x, k):
    """The leaves of a result, or the exception."""
    try:
        result = function(x, k)
    except Exception as error:
        return error
    flat = lambda r: [leaf for part in r for leaf in flat(part)] if isinstance(r, (tuple, list)) else [r]
    return [np.asarray(leaf) for leaf in flat(result)]


def same_class(got, want):
    """Return whether an exception is of Python's class, or an error of a size, which may come before it."""
    if isinstance(got, (type(want), errors.SizeMismatchError, errors.ShapeError)):
        return True
    return str(got).startswith(type(want).__name__) or (isinstance(got, NameError) and isinstance(want, NameError))


def may_raise(got, want):
    """Return whether a jitted program may have raised one of these, or given it, where the plain one has the other."""
    if isinstance(got, errors.OverflowCheckError):
        return True
    return isinstance(want, Exception) and isinstance(got, Exception) and same_class(got, want)


def difference(got, want):
    """Return what differs in two results, "" if nothing does."""
    is_wider = got.dtype.kind == want.dtype.kind and got.dtype.kind in "fc" and got.dtype.itemsize > want.dtype.itemsize
    if got.dtype != want.dtype and not is_wider and not (got.dtype == float and want.dtype.kind in "ib"):
        return f"{got.dtype} for {want.dtype}"
    if got.shape != want.shape:
        return f"{got.shape} for {want.shape}"
    rounding = 1e-5 if is_wider else 1e-12
    if got.dtype.kind in "fc" and np.allclose(got, want, rtol=rounding, atol=rounding, equal_nan=True):
        return ""
    return "" if np.array_equal(got, want) else f"{got} for {want}"


def differences(jitted, plain, calls=CALLS):
    """Return what a jitted function does that the plain one does not."""
    texts = []
    for values, k in calls:
        x, y = np.array(values), np.array(values)
        want, got = outcome(plain, y, k), outcome(jitted, x, k)
        if isinstance(want, Exception) or isinstance(got, Exception):
            if not may_raise(got, want):
                texts.append(f"{values}, {k}: {got!r} for {want!r}")
            continue
        if any(part.dtype.kind == "O" for part in want):
            continue  # an int of Python's that has more than 64 bits
        if len(got) != len(want):
            texts.append(f"{values}, {k}: {len(got)} results for {len(want)}")
            continue
        pairs = [*zip(got, want, strict=True), (x, y)]
        texts += [f"{values}, {k}: {text}" for a, b in pairs if (text := difference(a, b))]
    return texts


def slopes(plain, x, step):
    """Central differences of the sum of all float results."""

    def loss(x):
        result = outcome(plain, x.copy(), 2)
        return sum(float(part.sum()) for part in result if part.dtype.kind == "f")

    steps = step * np.eye(len(x))
    return np.array([(loss(x + h) - loss(x - h)) / (2 * step) for h in steps])


class ComplexNumPy:
    """NumPy that makes complex arrays, as a program of a complex argument needs."""

    def __getattr__(self, name):
        function = getattr(np, name)
        return functools.partial(function, dtype=complex) if name in ("zeros", "ones", "full", "array") else function


def slopes_by_complex_step(plain, x, step=1e-30):
    """The slopes of the sum of all float results, exact for analytic programs; None for others that raise."""
    spaces = {id(f.__globals__): f.__globals__ for f in (plain, plain.__globals__["total"])}.values()
    slopes = []
    try:
        for space in spaces:
            space["np"] = ComplexNumPy()
        for k in range(len(x)):
            z = x.astype(complex)
            z[k] += 1j * step
            result = outcome(plain, z, 2)
            if isinstance(result, Exception):
                return None
            slopes.append(sum(part.sum().imag for part in result if part.dtype.kind in "fc") / step)
    finally:
        for space in spaces:
            space["np"] = np
    return np.array(slopes)


def loss_of(plain):
    """The sum of all float results of a program."""

    def loss(x):
        result = plain(x, 2)
        parts = result if isinstance(result, tuple) else (result,)
        leaves = [leaf for part in parts for leaf in (part if isinstance(part, tuple) else (part,))]
        leaves = [leaf for leaf in leaves if getattr(leaf, "dtype", np.dtype(int)).kind == "f"]
        return sum([leaf.sum() for leaf in leaves], 0.0) if leaves else x.sum() * 0

    return loss


def wrong_slopes(plain, x=SMOOTH):
    """How the gradient of a program differs from complex steps, else from central differences, where it is smooth."""
    if isinstance(outcome(plain, x.copy(), 2), Exception):
        return []
    coarse, fine = slopes(plain, x, 1e-5), slopes(plain, x, 5e-6)
    if not np.allclose(coarse, fine, rtol=1e-6, atol=1e-6):
        return []
    got = anyshape.grad(loss_of(plain))(x.copy())
    right, rounding, exact = fine, 1e-4, slopes_by_complex_step(plain, x)
    if exact is not None and np.allclose(exact, fine, rtol=1e-5, atol=1e-8):
        right, rounding = exact, 1e-5 if "float32" in inspect.getsource(plain) else 1e-10
    is_kink = not np.isfinite(got).all()  # as of sqrt at 0
    return [] if is_kink or np.allclose(got, right, rtol=rounding, atol=rounding) else [f"slopes {got} for {right}"]


def failures(folder, seeds, check):
    """The programs for which a check finds something, and what."""
    failed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(0, len(seeds), TOGETHER):
            programs = {seed: python_program(seed, f"program_{seed}") for seed in seeds[start : start + TOGETHER]}
            module = load(folder, programs.values())
            for seed, text in programs.items():
                differing = check(getattr(module, f"program_{seed}"))
                if differing:
                    failed.append(f"seed {seed}: {differing}\n{text}")
    return failed


def jitted_differs(plain):
    """Return what one jitted function does at all sizes that the plain one does not."""
    return differences(anyshape.jit(plain), plain)


ALIASED = {
    name: f
    for module in (aliased_programs, changing_programs)
    for name, f in vars(module).items()
    if isinstance(f, types.FunctionType) and not name.startswith("_")
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (k % 2)) for k, name in enumerate(ALIASED)]
)
def test_what_one_name_writes_others_see(name):
    function = ALIASED[name]
    assert not differences(anyshape.jit(function), function)


def unread_differs(plain):
    """Return what a function does whose source is not read, where it does not say that it cannot."""
    texts = differences(anyshape.jit(plain, read_source="off"), plain)
    return [text for text in texts if "Error(" not in text.partition(" for ")[0]]


def seeds_of(part, size):
    return range(part * size, (part + 1) * size)


def jitted_differs_at_four_sizes(plain):
    return differences(anyshape.jit(plain), plain, CALLS[:4])


@pytest.mark.parametrize("part", range(4))
def test_jitted_programs_do_what_python_does(part, tmp_path):
    assert not failures(tmp_path, seeds_of(part, 15), jitted_differs_at_four_sizes)


@pytest.mark.slow
def test_slopes_of_programs_are_those_of_differences(tmp_path):
    assert not failures(tmp_path, range(10), wrong_slopes)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_jitted_programs_do_what_python_does_slow(part, tmp_path):
    assert not failures(tmp_path, seeds_of(part, 100), jitted_differs)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_slopes_of_programs_are_those_of_differences_slow(part, tmp_path):
    assert not failures(tmp_path, seeds_of(part, 50), wrong_slopes)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_programs_that_are_not_read_are_right_or_stop(part, tmp_path):
    assert not failures(tmp_path, seeds_of(part, 50), unread_differs)


def never_stopped(self, values):
    return full((), False, bool)


def forgetful(self, session, functions, cells, later, initialise=Choice.__init__):
    initialise(self, session, functions, cells, later[1:])


PLANTED = {
    "a break is not heard": (KeptLoop, "stopped", never_stopped),
    "a choice forgets a variable": (Choice, "__init__", forgetful),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_programs_find_planted_bugs(bug, tmp_path, monkeypatch):
    monkeypatch.setattr(*PLANTED[bug])
    assert failures(tmp_path, [24, 33, 46], jitted_differs)
