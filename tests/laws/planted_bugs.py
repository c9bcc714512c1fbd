"""Bugs to plant, one row each: a file, the right text, the wrong text, and the tests that must fail.

Wrong texts are mistakes that a tired author makes: an off-by-one, a swapped branch, a lost sign, a check left out.
This table is about sizes, graphs, derivatives and functions of NumPy, and `planted_run_bugs.py` about the rest.
"""

from typing import NamedTuple


class Bug(NamedTuple):
    """A mistake: `right` occurs once in the file and is replaced by `wrong`; one of `tests` must fail."""

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


SWEEP = "tests/laws/test_sample_sweep.py"
BATCHED = "tests/laws/test_batched_derivatives.py"

BUGS = (
    # -- the algebra of sizes
    Bug(
        "lower bound of a quotient by an unbounded divisor",
        "anyshape/graph/sizes/intervals.py",
        "low = a[0] // b[0] if a[0] < 0 else (0 if b[1] is None else a[0] // b[1])",
        "low = a[0] // b[0]",
        ("tests/graph/sizes/test_expr.py", "-k", "bounds_hold"),
    ),
    Bug(
        "upper bound of a remainder is one too small",
        "anyshape/graph/sizes/intervals.py",
        "high = None if b[1] is None else b[1] - 1",
        "high = None if b[1] is None else b[1] - 2",
        ("tests/graph/sizes/test_expr.py", "-k", "bounds_hold"),
    ),
    Bug(
        "ceildiv adds the divisor",
        "anyshape/graph/sizes/expr.py",
        "    return floordiv(add(a, b - 1), b) if isinstance(b, int)",
        "    return floordiv(add(a, b), b) if isinstance(b, int)",
        ("tests/graph/sizes/test_expr.py", "-k", "canonical_form"),
    ),
    Bug(
        "a residue may equal the divisor",
        "anyshape/graph/sizes/expr.py",
        "return gap is not None and gap >= 1",
        "return gap is not None and gap >= 0",
        ("tests/graph/sizes/test_expr.py", "-k", "canonical_form"),
    ),
    Bug(
        "a constant quotient leaves the wrong remainder",
        "anyshape/graph/sizes/expr.py",
        "return sub(rest, b * constant)",
        "return sub(rest, constant)",
        ("tests/graph/sizes/test_expr.py", "-k", "canonical_form"),
    ),
    Bug(
        "a size that may be 0 counts as nonzero",
        "anyshape/graph/sizes/expr.py",
        "return (low is not None and low >= 1) or",
        "return (low is not None and low >= 0) or",
        ("tests/graph/sizes/test_expr.py", "-k", "may_be_zero"),
    ),
    Bug(
        "nested quotients forget the inner divisor",
        "anyshape/graph/sizes/expr.py",
        "return add(quotient, floordiv(add(others, inner), k * b))",
        "return add(quotient, floordiv(add(others, inner), b))",
        ("tests/graph/sizes/test_expr.py", "-k", "canonical_form"),
    ),
    # -- shape rules
    Bug(
        "a size of 1 wins when broadcasting",
        "anyshape/graph/shapes/shape_rules.py",
        "    if a == 1:\n        return b\n",
        "    if a == 1:\n        return a\n",
        (SWEEP, "-k", "plain_numpy and elementwise-add"),
    ),
    Bug(
        "a dilated axis of size 0 gets elements",
        "anyshape/graph/shapes/shape_rules.py",
        "return size if interior == 0 else size + expr.maximum(size - 1, 0) * interior",
        "return size if interior == 0 else size + (size - 1) * interior",
        (SWEEP, "-k", "vjp_is and indexing-slice"),
    ),
    Bug(
        "a strided axis loses its last element",
        "anyshape/graph/shapes/shape_rules.py",
        "return size if step == 1 else expr.ceildiv(size, step)",
        "return size if step == 1 else expr.floordiv(size, step)",
        ("tests/numpy/test_indexing.py", "-k", "slice_bounds"),
    ),
    Bug(
        "a reversed slice starts behind the end",
        "anyshape/graph/shapes/shape_rules.py",
        "low, high = (0, size) if forward else (-1, size - 1)",
        "low, high = (0, size) if forward else (-1, size)",
        (SWEEP, "-k", "plain_numpy and indexing-slice"),
    ),
    Bug(
        "a reshape with -1 accepts a size of 0",
        "anyshape/graph/shapes/shape_rules.py",
        "ctx.require(at_least(others, 1),",
        "ctx.require(at_least(others, 0),",
        (SWEEP, "-k", "plain_numpy and beside_a_size"),
    ),
    Bug(
        "a slice of a view keeps the strides",
        "anyshape/graph/shapes/strided_view.py",
        "tuple([expr.mul(k, s) for k, s in zip(steps, self.strides)])",
        "tuple(self.strides)",
        ("tests/graph/shapes/test_strided_view.py", "-k", "movement_agrees"),
    ),
    Bug(
        "a padded shape forgets the interior",
        "anyshape/ops/movement.py",
        "before + dilated_size(size, between) + after",
        "before + size + after",
        (SWEEP, "-k", "vjp_is_the_transpose and indexing-slice"),
    ),
    Bug(
        "a slice of a file may start before its operand",
        "anyshape/ops/movement.py",
        "claims += [at_least(start, 0), at_least(size, 0), at_least(step, 1)]",
        "claims += [at_least(size, 0), at_least(step, 1)]",
        ("tests/program/test_file.py", "-k", "illegal_document"),
    ),
    # -- proofs, guards and graphs
    Bug(
        "an upper bound of 0 refutes `at least`",
        "anyshape/graph/prover/decide.py",
        "if high is not None and high < 0:",
        "if high is not None and high <= 0:",
        ("tests/graph/prover/test_fact_table.py",),
    ),
    Bug(
        "a guard leans on a later assertion",
        "anyshape/graph/signature/guards.py",
        'return condition.kind == "assertion" or premise.kind != "assertion" or earlier',
        "return True",
        ("tests/graph/signature/test_guards.py",),
    ),
    Bug(
        "guards never fail",
        "anyshape/graph/signature/guards.py",
        'block.lines.append(f"if not ({test}): return False")',
        'block.lines.append(f"if not ({test}): pass")',
        ("tests/graph/signature/test_guards.py",),
    ),
    Bug(
        "a divisor of 0 satisfies a guard",
        "anyshape/graph/signature/guards.py",
        '"except ZeroDivisionError:", "    return False"]',
        '"except ZeroDivisionError:", "    return True"]',
        ("tests/graph/signature/test_guards.py",),
    ),
    Bug(
        "a root that meets its target is missed",
        "anyshape/graph/signature/solve_binding.py",
        "if curve(middle) <= target:",
        "if curve(middle) < target:",
        ("tests/graph/signature/test_solve_binding.py",),
    ),
    Bug(
        "a check that no output needs is dead code",
        "anyshape/graph/ir/dead_code.py",
        " or raises(node):",
        ":",
        ("tests/numpy/test_dynamic.py", "-k", "check"),
    ),
    Bug(
        "an index of an unused read may be out of range",
        "anyshape/graph/ir/dead_code.py",
        "replaced = refusals_of_dead(graph, live)",
        "replaced = {}",
        ("tests/laws/test_unused_errors.py", "-k", "like_used and index"),
    ),
    Bug(
        "a program repeats the random numbers of its trace",
        "anyshape/tracing/draws.py",
        "        if moved:",
        "        if False:",
        ("tests/tracing/test_draws.py", "-k", "undone and global"),
    ),
    Bug(
        "a graph may read a value before it is made",
        "anyshape/graph/ir/validate.py",
        "missing = [v for v in node.operands if v not in made]",
        "missing = []",
        ("tests/graph/ir/test_validate.py", "-k", "before_it_is_made"),
    ),
    # -- derivatives
    Bug(
        "what a branch saves may have a negative size in another one",
        "anyshape/autodiff/control_flow/branch_derivatives.py",
        "n if scope.proves(at_least(n, 0)) else expr.maximum(n, 0)",
        "n",
        ("tests/transforms/control_flow/test_size_paths.py", "-k", "gradients_where"),
    ),
    Bug(
        "a derived graph takes ops of an enclosing whole graph",
        "anyshape/ops/core/apply.py",
        " and chosen in builder.chain():",
        ":",
        ("tests/transforms/control_flow/test_size_paths.py", "-k", "two_decisions"),
    ),
    Bug(
        "the transpose of a cumulative sum runs forward",
        "anyshape/autodiff/rules/reduction.py",
        "rd.cumsum(ct, axis, reverse=not reverse, exclusive=exclusive)",
        "rd.cumsum(ct, axis, reverse=reverse, exclusive=exclusive)",
        (SWEEP, "-k", "vjp_is and cumsum"),
    ),
    Bug(
        "ties of an extreme are not shared",
        "anyshape/autodiff/rules/reduction.py",
        "return rd.reduce_sum(ew.select(in_set, tangents[0], ew.lift(0, x)), axes) / sharers(count, out)",
        "return rd.reduce_sum(ew.select(in_set, tangents[0], ew.lift(0, x)), axes)",
        ("tests/autodiff/test_reduction_derivatives.py",),
    ),
    Bug(
        "no element attains a maximum that is NaN",
        "anyshape/autodiff/argmax_sets.py",
        "return ew.logical_not(misses(x, extreme))",
        "return ew.eq(x, extreme)",
        ("tests/laws/test_special_values.py", "-k", "reduction-max-float64"),
    ),
    Bug(
        "a length has the infinite derivative of a root at 0",
        "anyshape/autodiff/rules/elementwise.py",
        "2 * _infinite_if_zero(out)",
        "2 * out",
        ("tests/autodiff/test_reduction_derivatives.py", "-k", "spread"),
    ),
    Bug(
        "the derivative of softmax loses a sign",
        "anyshape/autodiff/rules/reduction.py",
        "return scaled - out * ",
        "return scaled + out * ",
        (SWEEP, "-k", "jvp_agrees and softmax"),
    ),
    Bug(
        "the transpose of a recurrence runs forward",
        "anyshape/autodiff/rules/reduction.py",
        "rd.recurrence(a, ct, axis, reverse=not reverse),",
        "rd.recurrence(a, ct, axis, reverse=reverse),",
        (SWEEP, "-k", "vjp_is and cumprod"),
    ),
    Bug(
        "the derivative of tanh forgets the square",
        "anyshape/autodiff/rules/elementwise.py",
        "ew.tanh_op, lambda x, out: 1 - ew.square(out)",
        "ew.tanh_op, lambda x, out: 1 - out",
        (SWEEP, "-k", "jvp_agrees and tanh"),
    ),
    Bug(
        "the transpose of a complex number keeps the imaginary sign",
        "anyshape/autodiff/rules/elementwise.py",
        "-ew.imag(ct) if isinstance(y, Linear)",
        "ew.imag(ct) if isinstance(y, Linear)",
        (SWEEP, "-k", "vjp_is and nan_to_num"),
    ),
    Bug(
        "the transpose of a product leaves contracted axes out of order",
        "anyshape/autodiff/rules/contraction.py",
        "for axis in sorted(cy)]",
        "for axis in cy]",
        (SWEEP, "-k", "vjp_is_the_transpose and tensordot"),
    ),
    Bug(
        "the transpose of a permutation is not its inverse",
        "anyshape/autodiff/rules/movement.py",
        "np.argsort(axes).tolist()",
        "axes",
        (SWEEP, "-k", "vjp_is and movement-transpose"),
    ),
    Bug(
        "the transpose of a concatenation forgets earlier operands",
        "anyshape/autodiff/rules/movement.py",
        "start = start + size",
        "start = size",
        (SWEEP, "-k", "vjp_is and movement-concatenate"),
    ),
    Bug(
        "filled elements of a gather have a tangent",
        "anyshape/autodiff/rules/gathering.py",
        "fill_value=operand.dtype.type(0).item(), **params",
        "fill_value=fill_value, **params",
        (SWEEP, "-k", "jvp_agrees and gathering-gather and fill"),
    ),
    Bug(
        "ties of a scattered extreme are not shared",
        "anyshape/autodiff/rules/gathering.py",
        " / sharers(count, out)\n",
        "\n",
        ("tests/numpy/test_gathering.py", "-k", "random_dimension_numbers and min"),
    ),
    Bug(
        "products of other elements stay in sorted order",
        "anyshape/autodiff/rules/segments.py",
        "rows, 0, inverse=True)",
        "rows, 0)",
        (SWEEP, "-k", "jvp_agrees and segment_prod"),
    ),
    Bug(
        "a value that is read twice gets one cotangent",
        "anyshape/autodiff/linearize_transpose.py",
        "sums.setdefault(value, CotangentSum()).add(ct)",
        "sums[value] = CotangentSum()\n    sums[value].add(ct)",
        (SWEEP, "-k", "vjp_is_the_transpose and sinc"),
    ),
    Bug(
        "exp(x) + 1 scales like exp(x)",
        "anyshape/autodiff/shift_invariance.py",
        "            _require(x == y)\n            return some",
        "            return some",
        ("tests/autodiff/test_shift_invariance.py", "-k", "plus"),
    ),
    Bug(
        "a quotient by any sum of exponentials is a softmax",
        "anyshape/autodiff/softmax_tangent.py",
        "if total is None or total.inputs[0] is not numerator:",
        "if total is None:",
        ("tests/autodiff/test_softmax_tangent.py",),
    ),
    Bug(
        "nested checkpoints save what one of their policies keeps",
        "anyshape/autodiff/remat_checkpoint.py",
        "all(node.op.family in POLICIES[p] for p in policies)",
        "any(node.op.family in POLICIES[p] for p in policies)",
        ("tests/transforms/test_checkpoint.py", "-k", "nested_checkpoints"),
    ),
    # -- batching
    Bug(
        "a batched sum_to keeps the axes of one example",
        "anyshape/autodiff/batching/reduction.py",
        "(0, *[a + 1 for a in axes])",
        "(0, *axes)",
        (BATCHED, "-k", "vmap_of_vjp and reduction-sum_stretches_back"),
    ),
    Bug(
        "a batched sum_to sums the last axes",
        "anyshape/autodiff/batching/reduction.py",
        "(0, *[a + 1 for a in axes])",
        "range(len(axes) + 1)",
        (BATCHED, "-k", "vmap_of_vjp and subtract.outer"),
    ),
    Bug(
        "a batched dot_general leaves the batch among the free axes",
        "anyshape/autodiff/batching/contraction.py",
        "len(bx) + len(free_axes(ctx.rank(x), cx, bx))",
        "len(bx)",
        (SWEEP, "-k", "vmap_equals and matmul"),
    ),
    Bug(
        "a batched gather starts at the axes of one example",
        "anyshape/autodiff/batching/gathering.py",
        "_later(w.collapsed), _later(w.starts), w.vector + 1",
        "_later(w.collapsed), w.starts, w.vector + 1",
        (SWEEP, "-k", "vmap_equals and gathering"),
    ),
    Bug(
        "a batched cumulative op runs along the batch",
        "anyshape/autodiff/batching/reduction.py",
        "axis=axis + 1",
        "axis=axis",
        (SWEEP, "-k", "vmap_equals and cumsum"),
    ),
    Bug(
        "examples of a batch share their segments",
        "anyshape/autodiff/batching/segments.py",
        "mv.reshape(ew.add(ids, offset)",
        "mv.reshape(ids",
        (SWEEP, "-k", "vmap_equals and segments"),
    ),
    Bug(
        "the axes of batched indices come out one early",
        "anyshape/autodiff/batching/indexing.py",
        "ix.reposition(out, rank - 1, 1, at + 1)",
        "ix.reposition(out, rank - 1, 1, at)",
        (SWEEP, "-k", "vmap_equals and indexing-index_array"),
    ),
    Bug(
        "a run-time size is read off the batch",
        "anyshape/autodiff/jvp.py",
        "axis + (old in self.carrying)",
        "axis",
        ("tests/numpy/test_dynamic.py", "-k", "batch"),
    ),
    # -- functions of NumPy
    Bug(
        "a NumPy scalar is weak",
        "anyshape/numpy/operands/promotion.py",
        "has_type(x, _PYTHON_TYPES) and not has_type(x, np.generic)",
        "has_type(x, _PYTHON_TYPES)",
        (SWEEP, "-k", "plain_numpy and elementwise-mixed"),
    ),
    Bug(
        "index arrays that slices separate stay at the first",
        "anyshape/numpy/operands/index_parser.py",
        "positions[0] if together else 0",
        "positions[0] if positions else 0",
        (SWEEP, "-k", "plain_numpy and indexing-index_array"),
    ),
    Bug(
        "the first element by a negative index is out of bounds",
        "anyshape/numpy/operands/index_parser.py",
        "-index if negative else index + 1, why",
        "-index + 1 if negative else index + 1, why",
        ("tests/numpy/test_indexing_property.py", "-k", "basic_keys"),
    ),
    Bug(
        "correction is ignored",
        "anyshape/numpy/statistics.py",
        "subtracted = _subtracted_count(ddof, correction)",
        "subtracted = ddof",
        (SWEEP, "-k", "plain_numpy and var_correction"),
    ),
    Bug(
        "bias subtracts a degree of freedom",
        "anyshape/numpy/analysis/covariance.py",
        "return 0 if bias else 1",
        "return 1 if bias else 0",
        (SWEEP, "-k", "plain_numpy and reduction-cov"),
    ),
    Bug(
        "labels of an einsum without a result keep their order",
        "anyshape/numpy/einsum_function.py",
        "sorted(a for a, n in counts.items() if n == 1",
        "(a for a, n in counts.items() if n == 1",
        ("tests/numpy/test_einsum_property.py",),
    ),
    Bug(
        "updates by subtraction add",
        "anyshape/numpy/at_update.py",
        'negative = ew.neg(in_dtype_of(self.x, values, "subtract"))',
        'negative = in_dtype_of(self.x, values, "subtract")',
        (SWEEP, "-k", "plain_numpy and subtract-"),
    ),
    Bug(
        "a copy shares memory",
        "anyshape/numpy/operands/memory.py",
        "return result.as_copy() if is_shared else result",
        "return result",
        ("tests/numpy/arrays/test_writes.py", "-k", "copies_share"),
    ),
    Bug(
        "a write in place while a view is read later",
        "anyshape/backend/compiler/buffer_reuse.py",
        "return slot if self.memory_use[slot] == position",
        "return slot if self.last_use[slot] == position",
        ("tests/numpy/arrays/test_writes.py", "-k", "statements or random or in_place"),
    ),
)
