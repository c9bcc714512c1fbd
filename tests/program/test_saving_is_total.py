"""Every program that runs can be saved, and a process without its source gives the same results and errors."""

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import optree
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, export, grad, load, pure_callback
from anyshape.errors import ArgumentError
from anyshape.graph.ir.validate import check_graph
from tests.program.run_answers import same
from tests.program.saved_cases import KINDS, answer, calls_of, random_case, sample_cases, saved, traced, variants

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "program" / "run_answers.py"
PARTS = 8


def save_all(folder, cases, kinds_of):
    """Save the programs of the cases, and return the expected answers by the name of the file."""
    expected = {}
    for case in cases:
        for number, (variant, function) in enumerate(variants(case).items()):
            for kind in kinds_of(number):
                program = traced(case, variant, function, kind)
                if program is None:
                    continue
                check_graph(program.graph)
                name = f"{len(expected)} {case.name} {variant} {kind}".replace("/", "_")
                (folder / name).write_bytes(saved(program))
                expected[name] = [(xs, answer(program, xs)) for xs in calls_of(case, variant)]
    return expected


def compare_apart(folder, expected):
    """Load the programs in a process of its own, and compare what they answer."""
    (folder / "expected.pickle").write_bytes(pickle.dumps(expected))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ANYSHAPE_CHECK": "1"}
    command = [sys.executable, str(SCRIPT), str(folder)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=folder, env=environment, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr


def rotating(offset):
    """Return a choice of one kind of specification for each variant."""
    return lambda number: [[*KINDS][(number + offset) % len(KINDS)]]


@pytest.mark.slow
def test_some_samples_and_random_programs(tmp_path):
    """Take every sample with run-time sizes, and one in 160 of the others, each with a kind of specification."""
    cases = sample_cases()
    chosen = [c for i, c in enumerate(cases) if i % 160 == 7 or c.name in DYNAMIC]
    expected = save_all(tmp_path, chosen, rotating(0)) | save_all(tmp_path, map(random_case, range(5)), rotating(1))
    assert len(expected) > 90
    compare_apart(tmp_path, expected)


DYNAMIC = {f"dynamic-{name}" for name in ("mask of a mask", "nonzero", "unique", "repeat by counts", "compress, flat")}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_sample_with_every_derivative_and_kind(tmp_path, part):
    chosen = [c for i, c in enumerate(sample_cases()) if i % PARTS == part]
    expected = save_all(tmp_path, chosen, lambda number: KINDS)
    assert len(expected) > 8 * len(chosen)
    compare_apart(tmp_path, expected)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_with_derivatives(tmp_path, part):
    chosen = [random_case(seed) for seed in range(1000 + 30 * part, 1030 + 30 * part)]
    compare_apart(tmp_path, save_all(tmp_path, chosen, rotating(part)))


REMOVED = {
    "the sign of a choice": grad(lambda x: np.sum(np.sign(x[x > 0]))),
    "the number of elements": grad(lambda x: np.sum(x) * np.sum(np.ones_like(x[x > 0]))),
    "a choice of a choice": grad(lambda x: np.sum(np.round((x[x > 0])[x[x > 0] < 0.5]))),
    "a product with zero": lambda x: x * 0.0 + np.zeros_like(x[x > 0]).sum() * 0,
    "a result that is not used": lambda x: (np.unique(x), x)[1],
}


@pytest.mark.parametrize("function", REMOVED.values(), ids=REMOVED)
def test_no_condition_names_a_size_whose_op_was_removed(function):
    program = export(function)(ShapeDtypeStruct("n"))
    check_graph(program.graph)
    again = load_bytes(saved(program))
    for x in (np.arange(-2.0, 3.0), np.zeros(0), -np.ones(1)):
        np.testing.assert_array_equal(again(x), program(x))


def load_bytes(data):
    return load(io.BytesIO(data))


def test_a_fact_implies_no_condition_that_its_op_relies_on():
    """The bound of the kinds would imply the assertion, but holds only after the reshape that needs it."""
    program = export(lambda x: np.unique(x[..., x.shape[-1] // 2 :], return_counts=True)[1])(ShapeDtypeStruct("n, n"))
    check_graph(program.graph)
    loaded = load(io.BytesIO(saved(program)))
    for n in (0, 1, 2, 5):
        x = np.arange(n * n).reshape(n, n) % 3.0
        assert same(loaded(x), np.unique(x[..., n // 2 :], return_counts=True)[1])


def test_a_function_that_is_called_back_is_the_reason():
    program = anyshape.trace(lambda x: pure_callback(np.sort, x, x))(ShapeDtypeStruct("n"))
    with pytest.raises(ArgumentError, match="no file holds it"):
        saved(program)


# -- limits of files


class SimpleClass(tuple):
    pass


anyshape.register_pytree_node(SimpleClass, lambda x: (tuple(x), None), lambda _, parts: SimpleClass(parts))


def traced_once(function, *shapes, dtype=float):
    return anyshape.trace(function)(*[ShapeDtypeStruct(s, dtype) for s in shapes])


WHOLE = {
    "a name of 20,000 characters": lambda: traced_once(anyshape.jit(lambda x: x * 2, name="z" * 20_000), "n"),
    "a key of 20,000 characters": lambda: anyshape.trace(lambda d: d)({"k" * 20_000: ShapeDtypeStruct("n")}),
    "extended precision": lambda: traced_once(lambda x: x * np.longdouble("0.1"), "n", dtype=np.longdouble),
    "complex extended precision": lambda: traced_once(lambda x: x * np.clongdouble(1j) / 3, "n", dtype=np.clongdouble),
    "other order of bytes": lambda: traced_once(lambda x: x + np.arange(3).astype(">i4"), "3"),
    "300 arguments": lambda: traced_once(lambda *xs: sum(xs), *["n"] * 300),
}


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_long_texts_and_rare_numbers_are_saved(make):
    program = make()
    again = load_bytes(saved(program))
    xs = [np.full([3] * meta.rank, 0.7).astype(meta.dtype) for meta in program.prologue.metas]
    args, kwargs = optree.tree_unflatten(program.trace.in_tree, xs)
    assert same(answer(again, args), answer(program, args)) and not kwargs


def nested(depth):
    tree = ShapeDtypeStruct("n")
    for _ in range(depth):
        tree = [tree]
    return tree


BEYOND = {
    "too deep": (nested(150), "nested too deep"),
    "an integer of 500 digits": ({10**500: ShapeDtypeStruct("n")}, "holds the number 1000"),
    "a class of the user": ([SimpleClass([ShapeDtypeStruct("n")])], "a class that a saved program does not know"),
    "a tuple as key": ({(1, 2): ShapeDtypeStruct("n")}, "a dict with the key"),
}


@pytest.mark.parametrize(("tree", "reason"), BEYOND.values(), ids=BEYOND)
def test_what_no_file_holds_is_refused_with_the_reason(tree, reason):
    program = anyshape.trace(lambda t: t)(tree)
    with pytest.raises(ArgumentError, match=reason) as error:
        saved(program)
    assert "damaged" not in str(error.value)
