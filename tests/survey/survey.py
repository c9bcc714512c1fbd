"""Call a function as its row says, traced and transformed, and compare with the module that it stands for."""

import ast
import dataclasses
import re
import warnings

import numpy as np
import optree

import anyshape
import anyshape.numpy as anp
from anyshape.errors import AnyshapeError
from tests.survey.operands import DIFFERENTIABLE, OPERANDS, N, shorten, varied

YES, NONE = "yes", "-"


@dataclasses.dataclass
class Findings:
    """Answers for one function: "yes", "-" where the question has no meaning, or "no"; and the first reason."""

    traced: str = "no"
    derivative: str = "no"
    batched: str = "no"
    dynamic: str = "no"
    reason: str = ""


class Row:
    """One call: an expression in operands of the survey, where F stands for the function."""

    def __init__(self, expression, ours, theirs, tolerance=1e-9):
        self.tolerance = tolerance
        names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
        self.operands = [name for name in OPERANDS if name in names]
        source = f"lambda {', '.join(self.operands)}: {expression}"
        self.ours = eval(source, {"F": ours, "np": anp, "written": written(anp)})
        self.theirs = eval(source, {"F": theirs, "np": np, "written": written(np)})
        self.values = [OPERANDS[name] for name in self.operands]


def written(namespace):
    """Return a function that calls one that writes into its first argument, and returns what was written."""

    def call(function, x, *args, **kwargs):
        copy = namespace.copy(x)
        function(copy, *args, **kwargs)
        return copy

    return call


def leaves_of(tree):
    """Return the arrays of a result."""
    return [np.asarray(leaf) for leaf in optree.tree_leaves(tree) if leaf is not None and not isinstance(leaf, str)]


def check_equal(ours, theirs, tolerance):
    """Raise AssertionError unless two results have equal leaves."""
    ours, theirs = leaves_of(ours), leaves_of(theirs)
    assert len(ours) == len(theirs), f"{len(ours)} results instead of {len(theirs)}"
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape, f"shape {mine.shape} instead of {other.shape}"
        assert mine.dtype == other.dtype, f"dtype {mine.dtype} instead of {other.dtype}"
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


def find(expression, ours, theirs, tolerance=1e-9):
    """Return the findings for one function."""
    findings = Findings()
    row = Row(expression, ours, theirs, tolerance)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = row.theirs(*row.values)
        for question in (_traced, _derivative, _batched, _dynamic):
            try:
                setattr(findings, question.__name__[1:], question(row, expected))
            except (AnyshapeError, AssertionError) as error:
                findings.reason = findings.reason or _said(error)
                if question is _traced:
                    break
    return findings


def _said(error):
    """Return the first line of a message, without the line of the expression."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {re.sub(r' at <string>.*', '', lines[0]) if lines else ''}"


def _traced(row, expected):
    check_equal(anyshape.jit(row.ours)(*row.values), expected, row.tolerance)
    return YES if row.operands else NONE


def _batched(row, expected):
    if not row.operands:
        return NONE
    stacked = [np.stack([value, varied(value)]) for value in row.values]
    result = anyshape.vmap(row.ours)(*stacked)
    for j in range(2):
        example = optree.tree_map(lambda leaf, j=j: leaf[j], result)
        check_equal(example, row.theirs(*(value[j] for value in stacked)), row.tolerance)
    return YES


def _dynamic(row, expected):
    if not any(OPERANDS[name].shape[:1] == (N,) for name in row.operands):
        return NONE
    keep = np.arange(N) < N - 1

    def program(keep, *values):
        (rows,) = np.nonzero(keep)
        return row.ours(*(shorten(value, name, rows) for value, name in zip(values, row.operands, strict=True)))

    short = [shorten(value, name, keep) for value, name in zip(row.values, row.operands, strict=True)]
    check_equal(anyshape.jit(program)(keep, *row.values), row.theirs(*short), row.tolerance)
    return YES


def _derivative(row, expected):
    argnums = tuple(j for j, name in enumerate(row.operands) if name in DIFFERENTIABLE)
    if not argnums or not any(leaf.dtype.kind in "fc" for leaf in leaves_of(expected)):
        return NONE
    loss = weighted(row.ours, anp)
    moves = [np.cos(np.arange(1.0, v.size + 1)).reshape(v.shape) * (j in argnums) for j, v in enumerate(row.values)]
    gradients = anyshape.grad(loss, argnums)(*row.values)
    slope = sum(float(np.sum(g * moves[j])) for g, j in zip(gradients, argnums, strict=True))
    numeric = difference(weighted(row.theirs, np), row.values, moves)
    if not np.isfinite(numeric):
        return NONE
    assert abs(slope - numeric) <= 1e-4 * max(1, abs(numeric)), f"derivative {slope} instead of {numeric}"
    if slope == numeric == 0:
        return "zero"
    curved = lambda *values: sum(anp.sum(anp.sin(g)) for g in anyshape.grad(loss, argnums)(*values))
    anyshape.grad(curved, argnums)(*row.values)
    return YES


def difference(function, values, moves, step=1e-5):
    """Return the derivative of a function along a direction, by differences."""
    ahead, back = (
        function(*(v + sign * step * h if v.dtype.kind == "f" else v for v, h in zip(values, moves, strict=True)))
        for sign in (1, -1)
    )
    return (ahead - back) / (2 * step)


def weighted(function, namespace):
    """Return a function that sums the floating results of another with uneven weights."""

    def loss(*values):
        total = 0.0
        leaves = [
            namespace.asarray(leaf) for leaf in optree.tree_leaves(function(*values)) if not isinstance(leaf, str)
        ]
        for j, leaf in enumerate(leaves):
            if leaf.dtype.kind in "fc":
                part = namespace.real(leaf) + (0.3 * namespace.imag(leaf) if leaf.dtype.kind == "c" else 0.0)
                flat = namespace.reshape(part, -1)
                total = total + namespace.sum(flat * namespace.cos(namespace.arange(flat.shape[0]) + j))
        return total

    return loss
