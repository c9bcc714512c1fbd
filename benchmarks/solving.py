"""Measure size binding and signature checks of a call, and solving of a specification."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from anyshape.graph.prover.spec_parser import parse_shape
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.signature.prologue import Solver, compile_solver
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from benchmarks.timing import Effort, Result, clock, interleaved

# Three arguments each, with sizes for their variables.
SIGNATURES = {
    "names alone": (("n, d", "d, m", "m"), {"n": 5, "d": 3, "m": 2}),
    "two unknowns in two axes": (("2*a + 3*b, a + 2*b", "c + a", "c, a"), {"a": 1, "b": 2, "c": 4}),
    "sums and differences": (("a + b, a - b", "c + d, c - d", "a + c"), {"a": 4, "b": 2, "c": 6, "d": 1}),
    "a square and a triangle": (("a*a, b", "b*(b + 1)//2, a", "a + b"), {"a": 3, "b": 4}),
    "a cube, by search": (("a**3 + a, b", "b", "b + c"), {"a": 9, "b": 4, "c": 2}),
}
LARGE = 1000


def run(effort: Effort) -> list[Result]:
    """The results of this file."""
    results = [signature(name, effort) for name in SIGNATURES]
    chain = [expr.variable(f"a{i}") for i in range(LARGE)]
    sizes = [chain[0], *[a + b for a, b in itertools.pairwise(chain)]]
    seconds = min(clock(lambda: solver([sizes])) for _ in range(max(1, effort.rounds // 10)))
    return [*results, Result(f"solve a specification with {LARGE} unknowns", seconds, "s", None, "once per trace")]


def solver(shapes: Sequence[Sequence[Size]]) -> Solver:
    """Return the prologue of a program as a function of its arguments."""
    return compile_solver([tensor(np.dtype(float), shape) for shape in shapes], arrays=True)


def signature(name: str, effort: Effort) -> Result:
    """Time the prologue of a program with this signature on arrays that fit."""
    specs, sizes = SIGNATURES[name]
    names: dict[str, expr.DimExpr] = {}
    shapes = [parse_shape(spec, lambda n: names.setdefault(n, expr.variable(n))).sizes for spec in specs]
    actual = [parse_shape(spec, sizes.__getitem__).sizes for spec in specs]
    arrays = [np.zeros([int(str(s)) for s in shape]) for shape in actual]
    solve = solver(shapes)
    if {str(v): size for v, size in solve(*arrays).items()} != sizes:
        raise AssertionError(f"{name}: {solve(*arrays)} is not {sizes}")
    call = float(np.median(interleaved([lambda: solve.run(*arrays)], effort)))
    return Result(f"solve and check 3 arguments: {name}", call * 1e6, "us", 2.0, "; ".join(specs))
