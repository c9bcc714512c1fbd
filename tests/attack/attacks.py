"""The attacks: each try makes something at random and compares it with eager NumPy, or with a fresh process."""

import contextlib
import io
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

import anyshape
from anyshape.errors import (
    AnyshapeError,
    ConcretizationError,
    DataDependentSizeError,
    DecisionError,
    MutationError,
    ProgramFileError,
    RaggedBatchError,
    SymbolicIterationError,
    UnsupportedFunctionError,
)
from tests.attack import paths as steps
from tests.attack import state as states
from tests.attack.bit_patterns import bit_patterns
from tests.attack.claims import claims
from tests.attack.functions import EAGER, FUNCTIONS, NAMESPACE
from tests.attack.killed_workers import killed_workers
from tests.attack.kit import Attack, Wrong
from tests.attack.left_out import left_out
from tests.attack.options import options
from tests.attack.resume_files import resume_files
from tests.attack.size_decisions import size_decisions
from tests.attack.slopes import slopes
from tests.attack.structured import STRUCTURED
from tests.attack.user_files import user_files
from tests.laws.random_programs import NAMES, TABLE, Choices, random_program
from tests.laws.sweep import check_equal, check_same_outcome, is_error, leaves, outcome, pairing, uneven
from tests.program.damaged_files import damaged, mutated, rewritten, saved
from tests.transforms.test_jit_fuzz import check_gradient, check_jit

ROOT = Path(anyshape.__file__).resolve().parents[1]
SIZES = (0, 1, 2, 3, 5)
REFUSALS = (  # they say what cannot be traced, or what differs between examples
    ConcretizationError,
    DataDependentSizeError,
    DecisionError,
    MutationError,
    RaggedBatchError,
    SymbolicIterationError,
    UnsupportedFunctionError,
)
SMOOTH = {name: row for name, row in FUNCTIONS.items() if row.smooth}


def made(rng, length=8, table=FUNCTIONS, **options):
    """Return a random program over the table of functions."""
    return random_program(
        Choices(lambda n: int(rng.integers(n))), length=length, table=table, namespace=EAGER, **options
    )


def tolerance(program):
    """Return the relative tolerance: NumPy's functions of single precision depend on the length of an array."""
    single = any(dtype == "float32" for _, dtype in program.inputs) or "float32" in str(program.steps)
    return 1e-3 if single else 1e-9


def some_sizes(rng, count):
    """Return sizes for the names of a program: one size for all of them first, then mixtures."""
    rows = [rng.choice(SIZES, size=len(NAMES)) if i else [rng.choice(SIZES)] * len(NAMES) for i in range(count)]
    return [dict(zip(NAMES, map(int, row), strict=True)) for row in rows]


@contextlib.contextmanager
def about(text):
    """Say what a failed comparison was about."""
    try:
        yield
    except AssertionError as error:
        raise Wrong(f"{text}\n{error}") from error


# -- values and derivatives --------------------------------------------------------------------------------------


def values(rng, table=FUNCTIONS):
    """Compare a random program with NumPy at six combinations of sizes, from one jitted function."""
    program = made(rng, 10, table)
    namespace = (EAGER, NAMESPACE)[rng.integers(2)]
    jitted = anyshape.jit(program.within(namespace))
    results = 0
    for sizes in some_sizes(rng, 6):
        xs = program.arrays(sizes, int(rng.integers(100)))
        expected = outcome(lambda *a: program(EAGER, *a), *[x.copy() for x in xs])
        got = outcome(jitted, *xs)
        if isinstance(got, REFUSALS):
            return "refused"
        if table is not FUNCTIONS and is_error(got) and is_error(expected):
            continue  # an error of a trip waits for the run, one of sizes in a later line comes first
        with about(f"{program}\nat {sizes}"):
            check_same_outcome(got, expected, tolerance(program), "jit")
        results += not is_error(got)
    return "values" if results else "errors alone"


def derivatives(rng, table=SMOOTH):
    """Compare jvp with central differences of NumPy, and vjp with jvp under uneven weights."""
    program = made(rng, 6, table, smooth=True, dtypes=("float64",))
    for sizes in some_sizes(rng, 4):
        xs = program.arrays(sizes, int(rng.integers(100)))
        if is_error(outcome(lambda *a: program(EAGER, *a), *xs)):
            continue
        ts = [uneven(rng, x) for x in xs]
        estimates = [differences(program, xs, ts, step) for step in (1e-5, 3e-6)]
        near = all(np.allclose(a, b, 1e-5, 1e-5) for a, b in zip(*estimates, strict=True))
        if not near or not all(np.isfinite(e).all() for e in estimates[0]):
            continue
        with about(f"{program}\nat {sizes}"), contextlib.suppress(*REFUSALS):
            function = floats_of(program.within(NAMESPACE))
            tangents = leaves(anyshape.jvp(function, tuple(xs), tuple(ts))[1])
            check_equal(tangents, estimates[1], 3e-4, "jvp against differences")
            weights = [uneven(rng, y) for y in tangents]
            cotangents = leaves(anyshape.vjp(function, *xs)[1](weights))
            forward, terms = pairing(weights, tangents)
            backward, _ = pairing(cotangents, ts)
            assert abs(forward - backward) <= 1e-9 * max(1, terms), f"vjp {backward} against jvp {forward}"
        return "derivatives"
    return "no derivative"


def floats_of(function):
    return lambda *xs: floats(function(*xs))


def floats(results):
    """Return the results that have a derivative."""
    return [y for y in results if hasattr(y, "dtype") and y.dtype.kind == "f"]


def differences(program, xs, ts, step):
    """Return central differences of the real results along a direction."""
    up, down = (
        floats(leaves(program(EAGER, *[x + s * t for x, t in zip(xs, ts, strict=True)]))) for s in (step, -step)
    )
    return [(u - d) / (2 * step) for u, d in zip(up, down, strict=True)]


def batches(rng, table=SMOOTH):
    """Compare vmap with a loop over examples."""
    program = made(rng, 6, table, smooth=True, dtypes=("float64", "float32", "complex128"))
    count = int(rng.integers(1, 4))
    for sizes in some_sizes(rng, 4):
        examples = [program.arrays(sizes, seed) for seed in range(count)]
        expected = [outcome(lambda *a: program(EAGER, *a), *xs) for xs in examples]
        if any(map(is_error, expected)):
            continue
        stacked = [np.stack(arrays) for arrays in zip(*examples, strict=True)]
        got = outcome(anyshape.vmap(program.within(NAMESPACE)), *stacked)
        if isinstance(got, REFUSALS):
            return "refused"
        with about(f"{program}\nat {sizes}, {count} examples"):
            if is_error(got):
                raise got
            check_equal(got, [np.stack(parts) for parts in zip(*expected, strict=True)], tolerance(program), "vmap")
        return "batches"
    return "errors alone"


def structured(rng):
    """Compare loops, choices, writes, lists and linear algebra with NumPy: values, derivatives or batches."""
    table = {name: row for name, row in STRUCTURED.items() if rng.integers(2)} | {"tanh": TABLE["tanh"]}
    return (values, derivatives, batches)[rng.integers(3)](rng, table)


# -- decisions and state -----------------------------------------------------------------------------------------


def decisions(rng):
    """Compare a random Python program that asks about sizes with NumPy, with one trace for each path."""
    seed, before = int(rng.integers(10**6, 2**31)), anyshape.config.read_source
    anyshape.config.read_source = "off"  # a function that is read asks less
    try:
        if rng.integers(3):
            check_jit(seed, 12)
            return "decisions"
        check_gradient(seed, 6)
        return "gradients of decisions"
    except AssertionError as error:
        if not str(error).startswith("a second trace for the path"):
            raise
        return "paths that the log does not tell apart"  # Python compares floats with sizes unseen
    finally:
        anyshape.config.read_source = before


def captured(rng):
    """Compare a function of random state with itself without jit, while the state changes."""
    state = {"part": states.tree(rng, int(rng.integers(1, 4)))}
    other = states.tree(rng, 1)

    def function(x):
        return x * states.number(state) + states.number(other)

    jitted, x, changes = anyshape.jit(function), np.arange(3.0), []
    for _ in range(6):
        with about(f"{state['part']!r}\nafter changes of {', '.join(changes) or 'nothing'}"):
            check_equal(leaves(jitted(x)), leaves(function(x)), 1e-12, "captured state")
        traces = jitted.cache_info().traces
        jitted(x)
        if jitted.cache_info().traces != traces:
            raise Wrong(f"{state['part']!r}\na second call traced again, after {changes}")
        changes.append(states.change(rng, (state, other)))
    return "states"


def paths(rng):
    """Compare decisions on values, draws, writes and state with Python, from one jitted function; generators too."""
    state = steps.state(rng)
    function, names = steps.function(rng, state)
    jitted = anyshape.jit(function)
    for _ in range(8):
        x, seed = rng.normal(size=rng.choice(SIZES)), int(rng.integers(99))
        ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
        got = outcome(jitted, x, ours)
        if isinstance(got, REFUSALS):
            return "refused"
        with about(f"{names} of {x!r}, generator {seed}, {state}"):
            check_same_outcome(got, outcome(function, x, theirs), 1e-9, "jit")
            if not is_error(got):
                assert ours.bit_generator.state == theirs.bit_generator.state, "the generators differ"
        steps.change(rng, state)
    return "paths"


# -- files, threads, processes -----------------------------------------------------------------------------------


def exported(rng):
    """Return a random program as an exported one, with its random program, or None where it has no single trace."""
    program = made(rng, 6)
    specs = [anyshape.ShapeDtypeStruct(", ".join(map(str, shape)), dtype) for shape, dtype in program.inputs]
    try:
        return program, anyshape.export(program.within(NAMESPACE))(*specs)
    except (AnyshapeError, *ERRORS):
        return program, None


ERRORS = (IndexError, ZeroDivisionError, OverflowError, ValueError, TypeError)


def files(rng):
    """Damage a saved program: loading refuses it with an error of ours, or it still gives the same results."""
    program, compiled = exported(rng)
    if compiled is None:
        return "not exported"
    data = saved(compiled)
    arguments = [program.arrays(sizes) for sizes in some_sizes(rng, 3)]
    expected = [outcome(compiled, *xs) for xs in arguments]
    refused = 0
    for _ in range(6):
        try:
            loaded = anyshape.load(io.BytesIO(damaged(rng, data)))
        except ProgramFileError:
            refused += 1
            continue
        with about(f"{program}\na damaged file"):
            for xs, right in zip(arguments, expected, strict=True):
                check_same_outcome(outcome(loaded, *xs), right, 0, "loaded")
    with contextlib.suppress(AnyshapeError):
        changed = anyshape.load(io.BytesIO(rewritten(data, lambda p: mutated(rng, p))))
        for xs in arguments:
            outcome(changed, *xs)
    return "refused files" if refused else "harmless damage"


def threads(rng):
    """Call one jitted function from four threads at random sizes."""
    program = made(rng, 6)
    jitted = anyshape.jit(program.within(NAMESPACE))
    calls = [program.arrays(sizes) for sizes in some_sizes(rng, 8)]
    expected = [outcome(lambda *a: program(EAGER, *a), *xs) for xs in calls]
    failures: list[BaseException] = []

    def work(order):
        try:
            with np.errstate(all="ignore"):
                for i in order:
                    got = outcome(jitted, *calls[i])
                    if not isinstance(got, REFUSALS):
                        check_same_outcome(got, expected[i], tolerance(program), f"call {i}")
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(rng.permutation(len(calls)),)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise Wrong(f"{program}\n{failures[0]}") from failures[0]
    return "threaded programs"


def processes(rng):
    """Save eight programs with their results, and compare them in a fresh process without their source."""
    with tempfile.TemporaryDirectory() as name:
        folder, expected, texts = Path(name), {}, []
        for i in range(8):
            program, compiled = exported(rng)
            if compiled is None:
                continue
            calls = []
            for sizes in some_sizes(rng, 4):
                xs = program.arrays(sizes)
                results = outcome(compiled, *xs)
                if not is_error(results):
                    calls.append((xs, results, None, None))
            compiled.save(folder / f"{i}.anyshape")
            expected[f"{i}.anyshape"] = (1e-12, calls)
            texts.append(f"{i}:\n{program}")
        (folder / "expected.pickle").write_bytes(pickle.dumps(expected))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(ROOT / "tests" / "program" / "run_saved.py"), name]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=300)
    if done.returncode:
        raise Wrong("\n".join([*texts, done.stdout, done.stderr]))
    return "processes"


def pickles(rng):
    """Pickle an exported program: it gives the same results, and so does its derivative."""
    program, compiled = exported(rng)
    if compiled is None:
        return "not exported"
    copy = pickle.loads(pickle.dumps(compiled))
    for sizes in some_sizes(rng, 3):
        xs = program.arrays(sizes)
        with about(f"{program}\nat {sizes}"):
            check_same_outcome(outcome(copy, *xs), outcome(compiled, *xs), 0, "pickled")
    return "pickles"


ATTACKS = {
    attempt.__name__: Attack(attempt.__name__, attempt)
    for attempt in (
        values,
        derivatives,
        batches,
        structured,
        decisions,
        paths,
        captured,
        files,
        threads,
        processes,
        pickles,
        user_files,
        size_decisions,
        claims,
        slopes,
        options,
        bit_patterns,
        resume_files,
        left_out,
        killed_workers,
    )
}
