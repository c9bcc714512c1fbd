"""C of loops as text to read: it names the user's lines, and computes what the text that is built computes."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import anyshape
from anyshape import jit
from anyshape.backend.native import nest_listing, nest_source, nests
from tests.backend.native.compiled import needs_compiler
from tests.backend.native.test_nests import PROGRAMS, WAYS, checked, states, vector


def filtered(p, x):
    total, s = 0.0, p[0]
    for t in range(x.shape[0]):
        total += np.log(s) + x[t] ** 2 / s  # not "/* this */"
        s = p[0] + p[1] * x[t] ** 2 + p[2] * s
    return total


def halved(x):
    while np.sum(x) > 1:
        x = x[np.nonzero(x > 0.1)[0]] * 0.5
        for i in range(x.shape[0]):
            x[i] = x[i] * x[0]
    return x


def text(function, *args):
    traced = jit(function, compile="off")
    traced(*args)
    return traced.programs()[0].c_source()


def line_of(function, part):
    lines = Path(__file__).read_text().splitlines()
    first = function.__code__.co_firstlineno
    return next(k for k, line in enumerate(lines[first:], first + 1) if part in line)


def test_lines_of_the_user_stand_above_what_they_became():
    p, x = np.ones(3), np.ones(4)
    listing = text(filtered, p, x)
    total, variance = line_of(filtered, "np.log(s)"), line_of(filtered, "p[1] * x[t]")
    first = listing.index(f'/* test_listing.py:{total}  total += np.log(s) + x[t] ** 2 / s  # not "/ * this * /" */')
    second = listing.rindex(f"/* test_listing.py:{variance}  s = p[0]")
    assert first < listing.index("as_log_alone(") < second
    assert "const double e" not in listing and "({ const" not in listing
    gradient = text(anyshape.grad(filtered), p, x)
    assert gradient.count("int64_t loop_") == 2 and f"test_listing.py:{variance}" in gradient.split("loop_2")[1]


def test_blocks_are_indented_and_constants_are_decimal():
    listing = text(lambda x: anyshape.fori_loop(0, 5, lambda i, y: np.sin(y) * 0.3 - i, x), np.ones(3))
    depth = 0
    for line in listing.split("*/", 1)[1].strip().splitlines():
        closing = len(line.strip()) - len(line.strip().lstrip("}"))
        assert len(line) - len(line.lstrip()) == 4 * (depth - closing), line
        depth += line.count("{") - line.count("}")
    assert not depth and "0.3" in listing and "0x1" not in listing


def test_what_numpy_runs_is_named_with_the_reason():
    listing = text(halved, np.ones(4, np.float16))  # which C has no type for
    assert "NumPy runs it: " in listing and f"test_listing.py:{line_of(halved, 'while')}" in listing
    assert text(np.sin, np.ones(3)) == "/* sin has no loops */\n"


@needs_compiler
@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=[pytest.mark.slow] * ((k + turn) % 3 != 0))
        for k, name in enumerate(PROGRAMS)
        for turn, way in enumerate(["values", "vjp", "order 2"])
    ],
)
def test_the_text_to_read_computes_the_same(name, way, monkeypatch):
    def written(*args):
        nest = nest_source.nest_text(*args, with_lines=True)
        text = nest_listing.readable(nest, lambda line: line.function)
        assert "AS_LINE" not in text
        return dataclasses.replace(nest, text=text)

    monkeypatch.setattr(nests.Nest, "write", staticmethod(written))
    nests.nest_of.cache_clear()
    try:
        function = checked(WAYS[way](PROGRAMS[name]), [(vector(n),) for n in (5, 0, 1)])
        assert states(function) and all(state.startswith("compiled") for state in states(function))
    finally:
        nests.nest_of.cache_clear()
