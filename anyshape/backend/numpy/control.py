"""Kernels of control ops.

Kernels of callbacks and effects. They check the dtypes and shapes that functions of the user give.

Kernels of the marks around functions with derivative rules of the user. Plans have none: see `prepare_to_run`.

Traits of control ops: all of them pass their operand on.

Traits of functions of the user and of names for sizes.

Traits of the marks around functions with derivative rules of the user. `prepare_to_run` takes them out.
"""

import contextlib
import functools
import sys
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import OPAQUE, Algebra, Alias, declare
from anyshape.backend.compiler.passes import identities
from anyshape.backend.runtime.outcome import PathLeft, apart, takes_effect, warn_caller
from anyshape.errors import DecisionError, DTypeError, RaggedBatchError, ShapeError
from anyshape.errors.tracing_errors import check_error
from anyshape.graph.ir.builder import active_builders
from anyshape.ops import control as cb
from anyshape.ops import control as cr
from anyshape.ops.core.apply import kernel


def stack_examples(name: Any, results: Any, shape: Any, advice: Any = "") -> Any:
    """Stack the results of examples, each a tuple of arrays; raise RaggedBatchError unless they agree in size.

    `shape` is the shape of the batch, and `name` the op that an error names.
    """
    first = [x.shape for x in results[0]]
    for i, result in enumerate(results):
        for expected, x in zip(first, result):
            if x.shape != expected:
                examples = [tuple(map(int, np.unravel_index(k, shape))) for k in (0, i)]
                raise RaggedBatchError(name, dict(zip(examples, (expected, x.shape))), advice=advice)
    return [np.stack(parts).reshape(*shape, *parts[0].shape) for parts in zip(*results)]


def _check(x, *, message):
    if not np.all(x):
        error = check_error(message)
        if not np.ndim(x):
            raise error(message, "False")
        wrong = np.argwhere(~x)
        first = ", ".join(map(str, wrong[0]))
        raise error(message, f"{len(wrong)} of {x.size} elements that are False, the first at [{first}]")
    return x


def _inline_check(site):
    """Inline the test: of a scalar it takes no call, where np.all takes 2 us."""
    (x,) = site.operands
    test = f"{x}.all()" if site.metas[0].rank else x
    return [
        f"{site.target} = {x}",
        f"if not {test}:",
        f"    {site.bind(_check)}({x}, message={site.params['message']!r})",
    ]


def _decide(x, *live, answer, turn):
    first = x.flat[0].item() if x.ndim and x.size else answer if x.ndim else x.item()
    if x.ndim and not np.all(x == first):
        raise DecisionError(turn, [first, x[x != first].flat[0].item()])
    if first != answer:
        raise PathLeft(turn, first, [np.asarray(v) for v in live])
    return x


def _leave(x, turn, *live):
    raise PathLeft(turn, x.item() if isinstance(x, (np.generic, np.ndarray)) else x, [np.asarray(v) for v in live])


def _inline_decide(site):
    """Inline the test of a number: it takes no call."""
    if site.metas[0].rank:
        return None
    (x, *live), answer, turn = site.operands, site.params["answer"], site.params["turn"]
    test = {True: f"not {x}", False: x}[answer] if type(answer) is bool else f"{x} != {answer}"
    return [f"{site.target} = {x}", f"if {test}:", f"    {site.bind(_leave)}({', '.join([x, str(turn), *live])})"]


def _warn(x, *, message):
    if np.any(x):
        warn_caller(message)
    return x


def _inline_warn(site):
    """Inline the test: of a number it takes no call, and without np.any a third of the time."""
    (x,) = site.operands
    test = f"{x}.any()" if site.metas[0].rank else x
    return [f"{site.target} = {x}", f"if {test}:", f"    {site.bind(warn_caller)}({site.params['message']!r})"]


def _warn_below(*, size, least, message):
    if size < least:
        warn_caller(message)
    return np.bool_(size < least)


def _inline_warn_below(site):
    size, least, message = (site.params[name] for name in ("size", "least", "message"))
    below = f"{site.text(size)} < {site.text(least)}"
    return [f"{site.target} = {below}", f"if {site.target}:", f"    {site.bind(warn_caller)}({message!r})"]


kernel(cb.stop_gradient_op, lambda x: x)
kernel(cb.check_op, _check, inline=_inline_check)
kernel(cb.decide_op, _decide, inline=_inline_decide)
kernel(cb.warn_op, _warn, inline=_inline_warn)
kernel(cb.warn_below_op, _warn_below, inline=_inline_warn_below)
kernel(cb.enter_checkpoint_op, lambda x, *, keep, turn: x)
kernel(cb.leave_checkpoint_op, lambda x, *, keep: x)


def _callback(*arrays, function, results, loops, vectorized):
    outputs = _loop(arrays, function, results, loops)
    return outputs if len(outputs) > 1 else outputs[0]


def _loop(arrays, function, results, loops):
    """Call the function for each example along the first axis of some arrays, and stack the results."""
    if not loops:
        return _call(arrays, function, results)
    carried, inner = loops[0], [(dtype, entries[1:]) for dtype, entries in results]
    size = next(len(a) for a, carries in zip(arrays, carried) if carries)
    each = [
        _loop([a[i] if carries else a for a, carries in zip(arrays, carried)], function, inner, loops[1:])
        for i in range(size)
    ]
    if not each:
        return [np.empty((0, *[0 if cb.is_open(e) else e for e in entries]), dtype) for dtype, entries in inner]
    return stack_examples("callback", each, (size,))


def _call(arrays, function, results):
    """Call the function and copy its results, so that no later step writes to its operands or to its own arrays."""
    with _outside_of_traces(), apart():
        outputs = list(function.function(*map(_read_only, arrays)))
    for i, (x, (dtype, entries)) in enumerate(zip(outputs, results)):
        outputs[i] = x = np.array(x, dtype if isinstance(x, (bool, int, float, complex)) else None)
        _require_declared(function.name, i if len(results) > 1 else None, x, dtype, entries)
    return outputs


@contextlib.contextmanager
def _outside_of_traces():
    """Let a function run on numbers while Python decides on its result in a trace: it may call jitted functions."""
    builders = active_builders()
    before = builders[:]
    builders.clear()
    try:
        yield
    finally:
        builders[:] = before


def _effect(*arrays, action, forms, loops, sizes):
    if takes_effect():
        act = action.function if isinstance(action, cb.Callback) else functools.partial(_print, *action)
        with _outside_of_traces(), apart():
            _act(act, arrays, forms, loops, sizes)
    return np.bool_(True)


def _act(act, arrays, forms, loops, sizes):
    """Act once, or for each example in turn along the first axis of some arrays."""
    if not loops:
        act(*[_SEEN[form](x) for x, form in zip(arrays, forms)])
        return
    for i in range(sizes[0]):
        examples = [a[i] if carries else a for a, carries in zip(arrays, loops[0])]
        _act(act, examples, forms, loops[1:], sizes[1:])


def _raise(holds, *values, error, forms, loops, sizes):
    """Raise for the first example whose condition is false, with copies: memory of a plan serves later calls."""
    if np.all(holds):
        return np.bool_(True)
    arrays = [holds, *map(np.array, values)]
    if not loops:
        _raise_one(error, *[_SEEN[form](x) for x, form in zip(arrays, forms)])
    for i in range(sizes[0]):
        examples = [a[i] if carries else a for a, carries in zip(arrays, loops[0])]
        try:
            _act(functools.partial(_raise_one, error), examples, forms, loops[1:], sizes[1:])
        except Exception as raised:
            raised.__anyshape_example__ = i  # type: ignore[attr-defined]
            raise
    return np.bool_(True)


def _raise_one(error, holds, *values):
    if not holds:
        with _outside_of_traces(), apart():
            raised = cb.exception_of(error, (holds, *values))
        raise raised


def _inline_raise(site):
    """Inline the test of a number: it takes no call."""
    if site.metas[0].rank or site.params["loops"]:
        return None
    call = site.bind(functools.partial(_raise, **site.params))
    return [f"{site.target} = {site.operands[0]}", f"if not {site.target}:", f"    {call}({', '.join(site.operands)})"]


def _print(stream, flush, pieces, *values):
    cb.write(getattr(sys, stream), cb.text_of(pieces, values), flush)


def _read_only(x):
    x = np.asarray(x).view()
    x.flags.writeable = False
    return x


def _require_declared(name, position, x, dtype, entries):
    which = f"{name} gave" if position is None else f"{name} gave, as result {position},"
    promised = f"{dtype}[{', '.join(map(_text, entries))}]"
    if x.dtype != dtype:
        raise DTypeError("pure_callback", f"{which} {x.dtype}, not {promised}", "declare the dtype that it gives")
    if x.ndim != len(entries) or not all(map(_fits, x.shape, entries)):
        why = f"{which} the shape {x.shape}, not {promised} as was declared"
        raise ShapeError("pure_callback", why, advice="declare the shape that it gives")


def _fits(size, entry):
    return size <= entry[1] if isinstance(entry, tuple) else entry in (cb.UNKNOWN, size)


def _text(entry):
    return "".join(map(str, entry)) if isinstance(entry, tuple) else str(entry)


_SEEN = {"array": _read_only, "scalar": lambda x: np.asarray(x)[()], "number": lambda x: np.asarray(x).item()}

kernel(cb.callback_op, _callback)
kernel(cb.effect_op, _effect)
kernel(cb.raise_op, _raise, inline=_inline_raise)
kernel(cb.name_sizes_op, lambda x: x)


def _results(*arrays, rule, count, levels):
    results = tuple([np.array(x) for x in arrays[count:]])
    return results if len(results) > 1 else results[0]


def _tangent(*arrays, rule, count, depth, results):
    raise rule.refusal(None)


kernel(cr.custom_argument_op, lambda x: x)
for _op in (cr.custom_jvp_op, cr.custom_vjp_op, cr.custom_linear_solve_op):
    kernel(_op, _results)
kernel(cr.custom_vjp_tangent_op, _tangent)


CONTROL = OPAQUE._replace(alias=Alias.VIEW, recomputable=True)

declare(CONTROL, cb.stop_gradient_op, cb.check_op, cb.decide_op, cb.warn_op)
declare(OPAQUE, cb.warn_below_op)
declare(CONTROL._replace(algebra=Algebra((identities.of_literal,))), cb.enter_checkpoint_op, cb.leave_checkpoint_op)


declare(OPAQUE._replace(runs_user_code=True), cb.callback_op, cb.effect_op)
declare(OPAQUE, cb.raise_op)
declare(OPAQUE._replace(alias=Alias.VIEW), cb.name_sizes_op)


declare(OPAQUE._replace(alias=Alias.VIEW, recomputable=True), cr.custom_argument_op)
declare(OPAQUE, cr.custom_jvp_op, cr.custom_vjp_op, cr.custom_linear_solve_op, cr.custom_vjp_tangent_op)
