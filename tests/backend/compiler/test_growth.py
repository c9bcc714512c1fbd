"""Making a plan takes work in proportion to the program: opcodes are counted, so no clock decides."""

import itertools
import sys

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import grad, value_and_grad
from anyshape.backend.compiler.codegen import chunks
from anyshape.backend.compiler.codegen.execute import compile_plan
from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.passes.fusion.fuse import PartPaths

FEW, FACTOR = 10, 4


def elementwise(n):
    def chain(x):
        for i in range(n):
            x = anp.sin(x) * 0.9 + 0.1 if i % 2 else x * 1.01
        return x.sum()

    return grad(chain), ("n",)


def matmul(n):
    def chain(x):
        w = x
        for _ in range(n):
            w = w @ x
        return w.sum()

    return grad(chain), ("n, n",)


def recurrent(n):
    def rows(w, v, x):
        state, total = x, 0.0
        for _ in range(n // 2):
            state = anp.tanh(x @ w + state @ v)
            total = total + (state * state).sum()
        return total

    return value_and_grad(rows, argnums=(0, 1)), ("8, 8", "8, 8", "n, 8")


def wide(n):
    def loss(*params):
        total = 0.0
        for x in params[1:]:
            total = total + ((params[0] * x) ** 2).sum()
        return total

    return value_and_grad(loss), (*["d"], *["d"] * n)


def independent(n):
    def loss(*params):
        return sum([anp.tanh(x * 1.5).sum() for x in params])

    return value_and_grad(loss, argnums=tuple(range(n))), tuple([f"n{i}" for i in range(n)])


def pads(n):
    def loss(x):
        total = 0.0
        for i in range(n):
            total = total + (x[i : i + 3] * x[1 + i : 4 + i]).sum()
        return total

    return grad(loss), (str(n + 4),)


def opcodes(function, *args):
    """Return how many opcodes of anyshape a call runs."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return count


def planned(graph):
    compile_plan(lower(graph, hoist=True))


@pytest.mark.parametrize("kind", [elementwise, matmul, recurrent, wide, independent, pads])
def test_plans_take_opcodes_in_proportion_to_the_program(kind, monkeypatch):
    monkeypatch.setattr(chunks, "MAX_LINES", 20)  # short programs are cut too
    counts = []
    for n in (FEW, FACTOR * FEW):
        function, shapes = kind(n)
        program = anyshape.trace(function)(*[anyshape.ShapeDtypeStruct(shape, np.float64) for shape in shapes])
        planned(program.graph)  # what is computed once for each op or size is not counted
        counts.append(opcodes(planned, program.graph))
    assert counts[1] <= 1.15 * FACTOR * counts[0], counts


def chain_of(n):
    """Return the readers of parts in a line; the last half reads each part again."""
    return {i: {k for k in (i + 1, 2 * n - i) if i < k < 2 * n} for i in range(2 * n)}


def reaches(readers, start, end):
    """Tell whether a path leads from start to end through a third part."""
    todo, seen = [k for k in readers[start] if k != end], set()
    while todo:
        k = todo.pop()
        if k == end:
            return True
        if k not in seen:
            seen.add(k)
            todo.extend(readers[k])
    return False


def random_readers(rng, size):
    return {i: {int(k) for k in range(i + 1, size) if rng.random() < 0.2} for i in range(size)}


@pytest.mark.parametrize("seed", range(30))
def test_paths_stay_true_while_parts_become_one(seed):
    rng = np.random.default_rng(seed)
    size = 14
    readers = random_readers(rng, size)
    plain = {i: set(some) for i, some in readers.items()}
    paths = PartPaths(readers)
    for i, last in sorted(itertools.combinations(range(size), 2), key=lambda pair: pair[1]):
        if i in plain and last in plain:
            separated = reaches(plain, i, last), reaches(plain, last, i)
            assert (paths.is_separated(i, last, last), paths.is_separated(last, i, last)) == separated
            if separated == (False, False) and rng.random() < 0.5:
                paths.contract(i, last)
                joined = (plain[i] | plain.pop(last)) - {i, last}
                plain = {k: {i if r == last else r for r in some} - {k} for k, some in plain.items()} | {i: joined}
                assert {k: {*some} for k, some in paths.readers.items()} == plain


def test_paths_of_a_long_chain_take_few_looks():
    paths = PartPaths(chain_of(2000))
    work = paths.work
    assert all(paths.is_separated(i, 4000 - i, 4000 - i) for i in range(1, 1500))
    assert work - paths.work < 10 * 1500
