"""Derivatives of control ops. Cotangents pass a checkpoint in reverse: they enter where values leave it.

Batching of control ops.

Derivatives of callbacks: there are none. Naming the sizes of an array is linear.

Batching of callbacks: one call per example, or one for all where the function is declared vectorized.

Derivatives of functions with rules of the user.

A rule sees one example. `at_examples` traces it on one, and batches what it gives for each vmap around the call.

Batching of functions with derivative rules of the user: a rule sees one example, and is batched when applied.
"""

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff.custom_rule_levels import at_examples, stretch_to_levels, sum_over_levels, values_apart
from anyshape.autodiff.jvp import Pushed, has_tangent
from anyshape.autodiff.rule_tables import linear, stretch_all, zero, zeros
from anyshape.autodiff.structural_zeros import by_flags, flagged
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.shapes.array_type import TensorMeta, Unknown, UpperBound
from anyshape.ops import control as cb
from anyshape.ops import control as cr
from anyshape.ops.control_flow import sized
from anyshape.ops.creation import full

zero(cb.stop_gradient_op, cb.check_op, cb.decide_op, cb.warn_op, cb.warn_below_op, cb.effect_op, cb.raise_op)
linear(cb.enter_checkpoint_op, lambda ctx, dy, x, *, keep, turn: cb.leave_checkpoint(dy, keep))
linear(cb.leave_checkpoint_op, lambda ctx, dy, x, *, keep: cb.enter_checkpoint(dy, keep))

# -- zeros by construction

zeros(tables.STAY, tables.STAY, cb.enter_checkpoint_op, cb.leave_checkpoint_op)

tables.BATCHERS[cb.stop_gradient_op] = lambda ctx, size, batched, x: cb.stop_gradient(x)
tables.BATCHERS[cb.check_op] = lambda ctx, size, batched, x, *, message: cb.check(x, message)  # of all examples
tables.BATCHERS[cb.decide_op] = lambda ctx, size, batched, x, *live, answer, turn: cb.decide(
    x, answer, turn
)  # of all examples
tables.BATCHERS[cb.warn_op] = lambda ctx, size, batched, x, *, message: cb.warn(x, message)  # once for all examples
tables.BATCHERS[cb.enter_checkpoint_op] = lambda ctx, size, batched, x, *, keep, turn: cb.enter_checkpoint(
    x, keep, turn
)
tables.BATCHERS[cb.leave_checkpoint_op] = lambda ctx, size, batched, x, *, keep: cb.leave_checkpoint(x, keep)


def _callback_jvp(ctx, tangents, out, *xs, function, results, loops, vectorized, sources=()):
    """Return no tangent for integers and booleans; raise for other results, as the function is not traced."""
    if any(has_tangent(dtype) for dtype, _ in results):
        advice = "give it stop_gradient(x), so that its result is a constant, or a derivative rule with custom_jvp"
        raise UnsupportedFunctionError(f"pure_callback({function})", "has no derivative", advice, ctx.where)
    return (None,) * len(results) if len(results) > 1 else None


tables.JVPS[cb.callback_op] = _callback_jvp


tables.JVPS[cb.name_sizes_op] = lambda ctx, tangents, out, x: sized(tangents[0], ctx.shape(out))
tables.TRANSPOSES[cb.name_sizes_op] = lambda ctx, cb, x: (cb,)

# -- zeros by construction

zeros(tables.MOVE, tables.MOVE, cb.name_sizes_op)
zeros(tables.MIX, tables.MIX, cb.callback_op, cb.effect_op, cb.raise_op)


def _callback_batch(ctx, size, batched, *xs, function, results, loops, vectorized):
    promised = [(dtype, (size, *map(_extent, entries))) for dtype, entries in results]
    if vectorized:
        xs = stretch_all(ctx, size, batched, xs)
        outputs = cb.callback(function, promised, *xs, loops=loops, vectorized=True)
    else:  # examples of different sizes are an error of the run
        outputs = cb.callback(function, promised, *xs, loops=(tuple(batched), *loops))
    return outputs if len(outputs) > 1 else outputs[0]


def _effect_batch(ctx, size, batched, *xs, action, forms, loops, sizes):
    """Act for each example, also where no operand differs between examples."""
    mark = cb.effect(action, *xs, forms=forms, loops=(tuple(batched), *loops), sizes=(size, *sizes))
    return tables.Common(mark)


def _raise_batch(ctx, size, batched, *xs, error, forms, loops, sizes):
    """Raise for the first example whose condition is false, and for none where there are no examples."""
    mark = cb.raise_unless(*xs, error=error, forms=forms, loops=(tuple(batched), *loops), sizes=(size, *sizes))
    return tables.Common(mark)


def _extent(entry):
    if isinstance(entry, tuple):
        return UpperBound(entry[1])
    return Unknown() if isinstance(entry, str) else entry


tables.BATCHERS[cb.callback_op] = _callback_batch
tables.BATCHERS[cb.effect_op] = _effect_batch
tables.BATCHERS[cb.raise_op] = _raise_batch
tables.BATCHERS[cb.name_sizes_op] = lambda ctx, size, batched, x: cb.name_sizes(x)


def _as_tuple(out):
    return out if isinstance(out, tuple) else (out,)


def _active(ctx, op, rule, count, tangents):
    """Return which arguments have a tangent."""
    if isinstance(rule, str):
        _refuse_lost_rule(ctx, op, rule, tangents)
        return [False] * count
    return [t is not None and i < count - rule.captured for i, t in enumerate(tangents[:count])]


def _closed_over(ctx, op, rule, tangents, results, levels):
    """Return tangents that are an error where they are used, if a value that the function closes over has one."""
    live = [t for t in tangents if t is not None]
    if isinstance(rule, str) or rule.is_independent or not live:
        return None
    missing = cr.ClosedOver(f"{op}({rule})", rule.name)
    out_tangents = cr.custom_vjp_tangent(missing, live, [], [(y.dtype, ctx.shape(y)) for y in results], len(levels))
    return Pushed(results, out_tangents)


def _refuse_lost_rule(ctx, op, name, tangents):
    if any(t is not None for t in tangents):
        problem = "has no derivative here, because old files and pickles of graphs hold no rules"
        raise UnsupportedFunctionError(
            f"{op}({name})", problem, "save the program of the derivative instead", ctx.where
        )


def _pushed_by_rule(ctx, active, tangents, out, xs, rule, count, levels):
    """Return the results and tangents that a rule gives."""
    results, live = _as_tuple(out), flagged(tangents[:count], active)
    differentiable = [has_tangent(y.dtype) for y in results]

    def push(*operands):
        arguments, directions = operands[:count], operands[count : count + len(live)]
        primals, out_tangents = rule.push(arguments, by_flags(active, directions), operands[count + len(live) :])
        return [*primals, *flagged(out_tangents, differentiable)]

    flags = [(*level, *flagged(level, active), *[True] * len(results)) for level in levels]
    operands, sizes = [*xs[:count], *live, *results], _level_sizes(ctx, levels, results)
    applied = lambda *operands: at_examples(push, operands, flags, sizes)
    outputs = applied(*operands)
    depth = max(x.builder.depth for x in [*xs[:count], *results])
    if any(y.builder.depth > depth for y in outputs[: len(results)]):  # an op gives results and tangents
        outputs = values_apart(applied, operands, range(count, count + len(live)), len(results))
    return Pushed(outputs[: len(results)], by_flags(differentiable, outputs[len(results) :]))


def _level_sizes(ctx, levels, results):
    """Return the sizes of the vmaps around a call, outermost first: results have all of them in front."""
    return ctx.shape(results[0])[: len(levels)] if levels else ()


def _jvp_by_rule(op, push):
    """Return the JVP of an op whose rule `push` applies, for tangents of arguments alone."""

    def jvp(ctx, tangents, out, *xs, rule, count, levels):
        if (closed_over := _closed_over(ctx, op, rule, tangents[count:], _as_tuple(out), levels)) is not None:
            return closed_over
        active = _active(ctx, op, rule, count, tangents)
        if not any(active):
            return (None,) * len(out) if isinstance(out, tuple) else None
        return push(ctx, active, tangents, out, xs, rule, count, levels)

    return jvp


def _with_backward_rule(ctx, active, tangents, out, xs, rule, count, levels):
    """Return the results that the forward rule gives, and tangents whose transpose runs the backward rule."""
    results, backward = _as_tuple(out), []

    def forward(*operands):
        primals, residuals, pullback = rule.forward(operands[:count], active, operands[count:])
        backward.append(pullback)
        return [*primals, *residuals]

    flags, sizes = [(*level, *[True] * len(results)) for level in levels], _level_sizes(ctx, levels, results)
    outputs = at_examples(forward, [*xs[:count], *results], flags, sizes)
    live = flagged(tangents[:count], active)
    carried = list(zip(*[flagged(level, active) for level in levels], strict=True)) or [()] * len(live)
    live = [stretch_to_levels(ctx, t, flags, sizes) for t, flags in zip(live, carried, strict=True)]
    types = [(y.dtype, ctx.shape(y)) for y in results]
    out_tangents = cr.custom_vjp_tangent(backward[0], live, outputs[len(results) :], types, len(levels))
    return Pushed(
        outputs[: len(results)],
        [t if has_tangent(y.dtype) else None for t, y in zip(out_tangents, results, strict=True)],
    )


def _tangent_jvp(ctx, tangents, out, *xs, rule, count, depth, results, sources=()):
    if any(t is not None for t in tangents[count:]):
        raise rule.refusal(ctx.where)
    live = [full(ctx.shape(x), 0, x.dtype) if t is None else t for t, x in zip(tangents[:count], xs)]
    out_tangents = cr.custom_vjp_tangent(rule, live, xs[count:], ctx.bind(results, field="results"), depth)
    return out_tangents if len(out_tangents) > 1 else out_tangents[0]


def _tangent_transpose(ctx, cts, *xs, rule, count, depth, results, sources=()):
    if isinstance(rule, cr.ClosedOver):
        raise rule.refusal(ctx.where)
    types = ctx.bind(results, field="results")
    cts = cts if isinstance(cts, list) else [cts]
    dense = [full(shape, 0, dtype) if ct is None else ct for ct, (dtype, shape) in zip(cts, types, strict=True)]
    residuals, has_cotangent = xs[count:], []
    metas = [TensorMeta(x.dtype, ctx.extents(x)[depth:]) for x in xs[:count]]

    def pull(*operands):
        pulled = rule.pull(operands[: len(residuals)], operands[len(residuals) :], metas)
        has_cotangent.append([ct is not None for ct in pulled])
        return [ct for ct in pulled if ct is not None]

    operands = [*residuals, *dense]
    pulled = at_examples(pull, operands, [(True,) * len(operands)] * depth, types[0][1][:depth])
    linear = [isinstance(x, tables.Linear) for x in xs[:count]]
    cotangents = by_flags(has_cotangent[0], pulled)
    return *[ct if flag else None for ct, flag in zip(cotangents, linear)], *[None] * len(residuals)


def _pass_to_results(ctx, cts, *xs, rule, count, levels):
    """Pass cotangents to the results: a rule is linear in tangents, so its own operations are transposed."""
    return *[None] * count, *(cts if isinstance(cts, list) else [cts])


def _custom_linear_solve_transpose(ctx, cts, *xs, rule, count, levels):
    cts = cts if isinstance(cts, list) else [cts]
    dense = [full(ctx.shape(y), 0, y.dtype) if ct is None else ct for ct, y in zip(cts, xs[count:], strict=True)]
    params, width = xs[rule.width : count], count - rule.width
    if any(isinstance(x, tables.Linear) for x in params):
        problem = "is transposed in a value that matvec closes over, in which it is not linear"
        raise UnsupportedFunctionError("custom_linear_solve", problem, "differentiate it with grad or vjp", ctx.where)
    flags = [(*level[rule.width :], *[True] * len(dense)) for level in levels]

    def pull(*operands):
        return rule.pull(operands[:width], operands[width:])

    pulled = at_examples(pull, [*params, *dense], flags, ctx.shape(dense[0])[: len(levels)])
    cotangents = []
    for i, ct in enumerate(pulled):
        summed = sum_over_levels(ct, [level[i] for level in levels])
        cotangents.append(summed if isinstance(xs[i], tables.Linear) else None)
    return *cotangents, *[None] * (len(xs) - rule.width)


tables.JVPS[cr.custom_argument_op] = lambda ctx, tangents, out, x: None
tables.TRANSPOSES[cr.custom_argument_op] = lambda ctx, ct, x: (ct,)
tables.JVPS[cr.custom_jvp_op] = _jvp_by_rule("custom_jvp", _pushed_by_rule)
tables.TRANSPOSES[cr.custom_jvp_op] = _pass_to_results
tables.JVPS[cr.custom_vjp_op] = _jvp_by_rule("custom_vjp", _with_backward_rule)
tables.TRANSPOSES[cr.custom_vjp_op] = _pass_to_results
tables.JVPS[cr.custom_linear_solve_op] = _jvp_by_rule("custom_jvp", _pushed_by_rule)
tables.TRANSPOSES[cr.custom_linear_solve_op] = _custom_linear_solve_transpose
tables.JVPS[cr.custom_vjp_tangent_op] = _tangent_jvp
tables.TRANSPOSES[cr.custom_vjp_tangent_op] = _tangent_transpose

# -- zeros by construction

zeros(tables.STAY, tables.STAY, cr.custom_argument_op)
zeros(tables.MIX, tables.MIX, cr.custom_jvp_op, cr.custom_vjp_op, cr.custom_linear_solve_op, cr.custom_vjp_tangent_op)


def _batch_call(op):
    def batch(ctx, size, batched, *xs, rule, count, levels):
        results = stretch_all(ctx, size, batched[count:], xs[count:])
        outputs = cr.custom_call(op, rule, xs[:count], results, (tuple(batched[:count]), *levels))
        return outputs if len(outputs) > 1 else outputs[0]

    return batch


def _batch_tangent(ctx, size, batched, *xs, rule, count, depth, results):
    xs = stretch_all(ctx, size, batched, xs)
    stacked = [(dtype, (size, *sizes)) for dtype, sizes in results]
    outputs = cr.custom_vjp_tangent(rule, xs[:count], xs[count:], stacked, depth + 1)
    return outputs if len(outputs) > 1 else outputs[0]


tables.BATCHERS[cr.custom_argument_op] = lambda ctx, size, batched, x: cr.custom_argument(x)
for _op in (cr.custom_jvp_op, cr.custom_vjp_op, cr.custom_linear_solve_op):
    tables.BATCHERS[_op] = _batch_call(_op)
tables.BATCHERS[cr.custom_vjp_tangent_op] = _batch_tangent
