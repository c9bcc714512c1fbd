"""Kernels of control ops."""

import numpy as np

from anyshape.backend.runtime.fp_warnings import warn_caller
from anyshape.backend.runtime.outcome import PathLeft
from anyshape.errors import CheckError, DecisionError, DivisionCheckError
from anyshape.errors.size_errors import DIVISIONS
from anyshape.ops import control as ct
from anyshape.ops.core.apply import kernel


def _check(x, *, message):
    if not np.all(x):
        error = DivisionCheckError if message in DIVISIONS else CheckError
        if not np.ndim(x):
            raise error(message, "False")
        wrong = np.argwhere(~x)
        first = ", ".join(map(str, wrong[0]))
        raise error(message, f"{len(wrong)} of {x.size} elements that are False, the first at [{first}]")
    return x


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


kernel(ct.stop_gradient_op, lambda x: x)
kernel(ct.check_op, _check)
kernel(ct.decide_op, _decide, inline=_inline_decide)
kernel(ct.warn_op, _warn, inline=_inline_warn)
kernel(ct.warn_below_op, _warn_below, inline=_inline_warn_below)
kernel(ct.enter_checkpoint_op, lambda x, *, keep, turn: x)
kernel(ct.leave_checkpoint_op, lambda x, *, keep: x)
