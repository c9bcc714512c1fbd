"""Kernels of control ops. Conditions on values wait for the device; functions of the user run on the host."""

import functools

from anyshape.backend.numpy import control as on_numpy
from anyshape.backend.runtime.outcome import warn_caller
from anyshape.backend.xp.libraries import INT, kernel
from anyshape.backend.xp.write import on_host
from anyshape.ops import control as cb
from anyshape.ops.core.apply import KERNELS

_BOOL = "whether a condition on values holds"


def _check(xp, x, *, message):
    if xp.checks and not bool(xp.all(x)):
        KERNELS[cb.check_op].run(xp.host(x), message=message)
    return x


def _warn(xp, x, *, message):
    if xp.checks and bool(xp.any(x)):
        warn_caller(message)
    return x


def _warn_below(xp, *, size, least, message):
    if xp.checks and size < least:
        warn_caller(message)
    return xp.filled((), size, INT) < least


def _decide(xp, x, *live, answer, turn):
    KERNELS[cb.decide_op].run(xp.host(x), *map(xp.host, live), answer=answer, turn=turn)
    return x


def _raise(xp, holds, *values, **params):
    if bool(xp.all(holds)):
        return xp.filled((), True, on_numpy.np.dtype(bool))
    return on_host(KERNELS[cb.raise_op].run, xp, holds, *values, **params)


for _op in (
    cb.stop_gradient_op, cb.enter_checkpoint_op, cb.leave_checkpoint_op, cb.name_sizes_op, cb.custom_argument_op,
):  # fmt: skip
    kernel(_op, lambda xp, x, **params: x)
kernel(cb.check_op, _check, reads=_BOOL)
kernel(cb.warn_op, _warn, reads=_BOOL)
kernel(cb.warn_below_op, _warn_below)
kernel(cb.decide_op, _decide, reads="the value that Python decided on")
kernel(cb.raise_op, _raise, reads=_BOOL)
for _op in (cb.callback_op, cb.effect_op):
    _run = functools.partial(lambda op, xp, *xs, **params: on_host(KERNELS[op].run, xp, *xs, **params), _op)
    kernel(_op, _run, reads="the operands of a function of the user")
