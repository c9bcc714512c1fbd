"""Bugs to plant, one row each: a file, the right text, the wrong text, and the tests that must fail.

Wrong texts are mistakes that a tired author makes: an off-by-one, a swapped branch, a lost sign, a check left out.
"""

from typing import NamedTuple


class Bug(NamedTuple):
    """A mistake: `right` occurs once in the file and is replaced by `wrong`; one of `tests` must fail."""

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


SIZES = ("tests/graph/sizes", "tests/graph/prover/test_soundness.py")
SHAPES = ("tests/numpy/test_indexing_property.py", "tests/laws/test_laws.py")
GUARDS = ("tests/graph/signature/test_guards.py", "tests/transforms/test_jit_fuzz.py")
DERIVATIVES = ("tests/laws/test_sample_sweep.py", "-k", "jvp or vjp or derivatives")
BATCHES = ("tests/laws/test_sample_sweep.py", "tests/laws/test_batched_derivatives.py", "-k", "vmap")

BUGS = (
    # -- the algebra of sizes
    Bug(
        "lower bound of a quotient by an unbounded divisor",
        "anyshape/graph/sizes/intervals.py",
        "low = a[0] // b[0] if a[0] < 0 else (0 if b[1] is None else a[0] // b[1])",
        "low = a[0] // b[0]",
        SIZES,
    ),
    Bug(
        "upper bound of a remainder is one too small",
        "anyshape/graph/sizes/intervals.py",
        "high = None if b[1] is None else b[1] - 1",
        "high = None if b[1] is None else b[1] - 2",
        SIZES,
    ),
    Bug(
        "ceildiv adds the divisor",
        "anyshape/graph/sizes/expr.py",
        "        return floordiv(add(a, b - 1), b)\n    return mul(-1, floordiv(mul(-1, a), b))",
        "        return floordiv(add(a, b), b)\n    return mul(-1, floordiv(mul(-1, a), b))",
        SIZES,
    ),
    Bug(
        "a residue may equal the divisor",
        "anyshape/graph/sizes/expr.py",
        "return gap is not None and gap >= 1",
        "return gap is not None and gap >= 0",
        SIZES,
    ),
    Bug(
        "a constant quotient leaves the wrong remainder",
        "anyshape/graph/sizes/expr.py",
        "return sub(rest, b * constant)",
        "return sub(rest, constant)",
        SIZES,
    ),
    Bug(
        "a size that may be 0 counts as nonzero",
        "anyshape/graph/sizes/expr.py",
        "return (low is not None and low >= 1) or",
        "return (low is not None and low >= 0) or",
        SIZES,
    ),
    Bug(
        "nested quotients forget the inner divisor",
        "anyshape/graph/sizes/expr.py",
        "return add(quotient, floordiv(add(others, inner), k * b))",
        "return add(quotient, floordiv(add(others, inner), b))",
        SIZES,
    ),
    # -- shape rules
    Bug(
        "a size of 1 wins when broadcasting",
        "anyshape/graph/shapes/shape_rules.py",
        "    if a == 1:\n        return b\n",
        "    if a == 1:\n        return a\n",
        ("tests/laws/test_sample_sweep.py", "-k", "numpy_gives"),
    ),
    Bug(
        "a dilated axis of size 0 gets elements",
        "anyshape/graph/shapes/shape_rules.py",
        "return size if interior == 0 else size + expr.maximum(size - 1, 0) * interior",
        "return size if interior == 0 else size + (size - 1) * interior",
        ("tests/laws/test_sample_sweep.py", "tests/numpy"),
    ),
    Bug(
        "a strided axis loses its last element",
        "anyshape/graph/shapes/shape_rules.py",
        "return size if step == 1 else expr.ceildiv(size, step)",
        "return size if step == 1 else expr.floordiv(size, step)",
        SHAPES,
    ),
    Bug(
        "a reversed slice starts behind the end",
        "anyshape/graph/shapes/shape_rules.py",
        "low, high = (0, size) if forward else (-1, size - 1)",
        "low, high = (0, size) if forward else (-1, size)",
        SHAPES,
    ),
    Bug(
        "a reshape with -1 accepts a size of 0",
        "anyshape/graph/shapes/shape_rules.py",
        "ctx.require(at_least(others, 1),",
        "ctx.require(at_least(others, 0),",
        ("tests/laws/test_sample_sweep.py", "tests/numpy", "tests/errors"),
    ),
    # -- guards
    Bug(
        "a guard leans on a later assertion",
        "anyshape/graph/signature/guards.py",
        'return condition.kind == "assertion" or premise.kind != "assertion" or earlier',
        "return True",
        GUARDS,
    ),
    Bug(
        "guards never fail",
        "anyshape/graph/signature/guards.py",
        'block.lines.append(f"if not ({test}): return False")',
        'block.lines.append(f"if not ({test}): pass")',
        GUARDS,
    ),
    Bug(
        "a divisor of 0 satisfies a guard",
        "anyshape/graph/signature/guards.py",
        '"except ZeroDivisionError:", "    return False"]',
        '"except ZeroDivisionError:", "    return True"]',
        GUARDS,
    ),
    # -- derivatives
    Bug(
        "the transpose of a cumulative sum runs forward",
        "anyshape/autodiff/rules/reduction.py",
        "rd.cumsum(ct, axis, reverse=not reverse, exclusive=exclusive)",
        "rd.cumsum(ct, axis, reverse=reverse, exclusive=exclusive)",
        DERIVATIVES,
    ),
    Bug(
        "ties of an extreme are not shared",
        "anyshape/autodiff/rules/reduction.py",
        "return rd.reduce_sum(ew.select(attained, tangents[0], ew.lift(0, x)), axes) / count",
        "return rd.reduce_sum(ew.select(attained, tangents[0], ew.lift(0, x)), axes)",
        ("tests/autodiff", "tests/laws/test_sample_sweep.py"),
    ),
    Bug(
        "the derivative of softmax loses a sign",
        "anyshape/autodiff/rules/reduction.py",
        "return scaled - out * spread(",
        "return scaled + out * spread(",
        DERIVATIVES,
    ),
    Bug(
        "the transpose of a recurrence runs forward",
        "anyshape/autodiff/rules/reduction.py",
        "rd.recurrence(a, ct, axis, reverse=not reverse),",
        "rd.recurrence(a, ct, axis, reverse=reverse),",
        DERIVATIVES,
    ),
)
