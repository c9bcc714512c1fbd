"""Solvers of signatures given as sizes or as text, and checks of their errors."""

import itertools

import numpy as np

from anyshape import ShapeDtypeStruct
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.spec_parser import parse_relation, parse_shape
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.signature.prologue import compile_solver
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate, values_from

FLOAT, INT = np.dtype(float), np.dtype(np.int64)


def solver_of(sizes, groups=(), conditions=()):
    """Return the solver of inputs whose axes have these sizes; `groups` are the ranks of the inputs."""
    metas, left = [], list(sizes)
    for rank in groups or (len(left),):
        metas.append(tensor(FLOAT, left[:rank]))
        left = left[rank:]
    return compile_solver(metas, conditions=conditions)


def sizes_from_text(*specs, bounds=None):
    """Return the sizes of each text, and the function that gives a variable by its name."""
    names = {}

    def size_of(name):
        return names.setdefault(name, expr.variable(name, *(bounds or {}).get(name, (0, None))))

    return [parse_shape(spec, size_of).sizes for spec in specs], size_of


def solver_from_text(*specs, constraints=(), values=None, bounds=None):
    """Return the solver of inputs that texts describe; `values` describe integers, by position."""
    values = values or {}
    shapes, size_of = sizes_from_text(*specs, *values.values(), bounds=bounds)
    metas = [tensor(INT, ()) if i in values else tensor(FLOAT, shape) for i, shape in enumerate(shapes[: len(specs)])]
    integers = dict(zip(values, [shape[0] for shape in shapes[len(specs) :]], strict=True))
    claims = [claim for text in constraints for claim in parse_relation(text, size_of).claims]
    conditions = [Condition("constraint", claim, "constraint", "was declared") for claim in claims]
    return compile_solver(metas, "xyzuvw"[: len(metas)], integers, conditions)


def by_name(sizes):
    """Return sizes by the names of their variables."""
    return {str(v): size for v, size in sizes.items()}


def input_sizes(sizes, valuation):
    """Return the sizes of the inputs where the variables have these values."""
    return [evaluate(s, values_from(valuation)) for s in sizes]


def split_by_rank(flat, groups):
    """Return the flat sizes as one tuple per input."""
    left = iter(flat)
    return [tuple(itertools.islice(left, rank)) for rank in groups]


def check_indistinguishable(error, variables, sizes):
    """Check that the choices of an error give equal input sizes and differ in its variable; none means none exist."""
    if error.same is None:
        check_distinguishable(variables, sizes)
        return
    named = {str(v): v for v in variables}
    base = dict.fromkeys(variables, 0)
    a, b = ({**base, **{named[n]: s for n, s in choice.items()}} for choice in error.same)
    assert a[named[error.variable]] != b[named[error.variable]]
    shared = [v for v in variables if str(v) not in error.same[0]]
    assert any(
        give_equal_sizes(a, b, dict(zip(shared, common, strict=True)), sizes)
        for common in itertools.product(range(9), repeat=len(shared))
    ), f"{error}: {a} and {b} do not look alike"


def give_equal_sizes(a, b, shared, sizes):
    """Return True where two choices with these shared sizes give the same valid input sizes."""
    seen = input_sizes(sizes, {**a, **shared})
    return min(seen) >= 0 and seen == input_sizes(sizes, {**b, **shared})


def check_distinguishable(variables, sizes):
    """Check that different small sizes of the variables give different input sizes."""
    choices = itertools.product(range(6), repeat=len(variables))
    actual = [tuple(input_sizes(sizes, dict(zip(variables, choice, strict=True)))) for choice in choices]
    possible = [a for a in actual if min(a) >= 0]
    assert len(set(possible)) == len(possible), sizes


def struct(spec):
    return ShapeDtypeStruct(spec)


def integer(value, dtype=int):
    return ShapeDtypeStruct((), dtype, value=value)
