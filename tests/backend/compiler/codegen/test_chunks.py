"""Long functions are cut into chunks: same bits, same errors, every name found, and bounded lengths."""

import ast
import gc
import linecache
import re
import textwrap

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import grad, jit, value_and_grad
from anyshape.backend.compiler.codegen import chunks, execute
from anyshape.graph.prover.user_stack import USER_LINE
from tests.backend.compiler.codegen.tiling import tiled
from tests.laws.random_programs import NAMES, seeded_program

SIZES = dict(zip(NAMES, (5, 3, 4), strict=True))


@pytest.fixture
def short(monkeypatch):
    """Cut functions of a few lines."""
    monkeypatch.setattr(chunks, "MAX_LINES", 4)
    monkeypatch.setattr(chunks, "MIN_LINES", 2)


def waves(x):
    for i in range(12):
        x = np.sin(x) * 0.9 + 0.1 if i % 2 else x * x * 0.7
    return (x @ x.T).sum() + x.mean()


def bits(results):
    return [np.asarray(x).tobytes() for x in (results if isinstance(results, (tuple, list)) else (results,))]


def outcome(function, arrays):
    try:
        with np.errstate(all="ignore"):
            return bits(function(*arrays))
    except anyshape.AnyshapeError as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("in_tiles", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_chunks_give_the_bits_of_one_function(seed, in_tiles, monkeypatch):
    program = seeded_program(seed, length=9)
    arrays = program.arrays(SIZES, seed)

    run = program.within(anp)

    def both():
        with tiled(6, least=1 if in_tiles else 1 << 60):
            return outcome(jit(run, optimize="now"), arrays)

    whole = both()
    monkeypatch.setattr(chunks, "MAX_LINES", 2)
    monkeypatch.setattr(chunks, "MIN_LINES", 1)
    assert both() == whole


@pytest.mark.parametrize("in_tiles", [False, True])
def test_a_gradient_in_chunks_has_the_bits_of_one_function(in_tiles, monkeypatch):
    x = np.random.default_rng(0).random((6, 3))

    def run():
        with tiled(6, least=1 if in_tiles else 1 << 60):
            made = jit(value_and_grad(waves), optimize="now")
            return bits(made(x)), made.programs()[0].run.__source__

    whole, source = run()
    assert "run_0" not in source
    monkeypatch.setattr(chunks, "MAX_LINES", 7)
    monkeypatch.setattr(chunks, "MIN_LINES", 2)
    cut, source = run()
    assert cut == whole and "def run_0(" in source and re.search(r"tiled\d+_0\(_values", source)


@pytest.mark.slow
@pytest.mark.usefixtures("as_written")
def test_functions_have_a_bounded_length():
    def chain(x):
        for _ in range(600):
            x = np.sin(x) * 1.01
        return x.sum()

    made = jit(grad(chain), optimize="now")
    made(np.ones(3))
    source = made.programs()[0].run.__source__
    lengths = {text.partition("(")[0]: len(text.splitlines()) for text in source[len("def ") :].split("\ndef ")}
    steps = {name: length for name, length in lengths.items() if "tiled" not in name or "_" in name}
    assert len(steps) > 8 and max(steps.values()) <= 2 * chunks.MAX_LINES  # deletions may take two lines


def test_an_error_in_a_chunk_names_the_line_of_the_user(short):
    def f(x, i):
        for _ in range(10):
            x = np.sin(x) + 1
        return np.take(x, i) * 2

    made = jit(f, optimize="now")
    made(np.ones(3), np.array([0, 1]))
    assert "def run_0(" in made.programs()[0].run.__source__
    with pytest.raises(anyshape.AnyshapeError, match=r"np.take\(x, i\)|take") as caught:
        made(np.ones(3), np.array([0, 7]))
    assert "test_chunks.py" in str(caught.value)


def test_lines_of_chunks_keep_their_numbers(short):
    made = jit(waves, optimize="now")
    made(np.ones((3, 3)))
    run = made.programs()[0].run
    function = getattr(run, "__wrapped__", run)
    chunk = function.__globals__["run_0"]
    lines = function.__source__.splitlines()
    number = function.__globals__[USER_LINE].__self__.source_line(chunk.__code__, 0)
    assert lines[number - 1].startswith("def run_0(")


def test_the_source_of_a_program_without_lines_is_kept_as_long_as_the_program(monkeypatch):
    monkeypatch.setattr(execute.user_lines, "file_of_steps", lambda plan: None)
    made = jit(waves, optimize="now")
    made(np.ones((3, 3)))
    run = made.programs()[0].run
    file = getattr(run, "__wrapped__", run).__code__.co_filename
    assert linecache.getline(file, 1).startswith("def ")
    del made, run
    gc.collect()
    assert file not in linecache.cache


@pytest.mark.parametrize("seed", range(40))
def test_every_assigned_name_is_found(seed):
    program = seeded_program(seed, length=9)
    made = jit(program.within(anp), optimize="now")
    if isinstance(outcome(made, program.arrays(SIZES, seed)), tuple):
        return
    for text in made.programs()[0].run.__source__.split("\ndef ")[1:]:
        function = ast.parse("def " + text).body[0]
        lines = ("def " + text).splitlines()
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                line = textwrap.dedent(lines[node.lineno - 1])
                assert node.id in chunks.assigned(line), line


def looped(x, count):
    """Loops in loops, after each other, with steps around them."""

    def body(i, x):
        x = anyshape.while_loop(lambda y: y.sum() > 1, lambda y: np.sin(y) * 0.7 + y * y * 0.1, x + i * 0.1)
        return anyshape.scan(lambda c, row: (np.tanh(c * row) + c * 0.3, c), x[0], x)[1] + x.mean()

    return waves(anyshape.fori_loop(0, count, body, waves(x) * 0.1 + x))


@pytest.mark.parametrize("lines", [2, 4, 8, 30])
@pytest.mark.parametrize("transform", [lambda f: f, value_and_grad], ids=["values", "gradient"])
def test_loops_in_chunks_have_the_bits_of_one_function(lines, transform, monkeypatch):
    x = np.random.default_rng(0).random((4, 3))
    program = jit(transform(looped), optimize="now")
    whole = [bits(program(x, n)) for n in range(4)]
    monkeypatch.setattr(chunks, "MAX_LINES", lines)
    monkeypatch.setattr(chunks, "MIN_LINES", 1)
    program = jit(transform(looped), optimize="now")
    assert [bits(program(x, n)) for n in range(4)] == whole
