"""Kernels of control ops."""

import numpy as np

from anyshape.errors import CheckError
from anyshape.ops import control as ct
from anyshape.ops.core.apply import kernel


def _check(x, *, message):
    if not np.all(x):
        if not np.ndim(x):
            raise CheckError(message, "False")
        wrong = np.argwhere(~x)
        first = ", ".join(map(str, wrong[0]))
        raise CheckError(message, f"{len(wrong)} of {x.size} elements that are False, the first at [{first}]")
    return x


kernel(ct.stop_gradient_op, lambda x: x)
kernel(ct.check_op, _check)
kernel(ct.enter_checkpoint_op, lambda x, *, keep, turn: x)
kernel(ct.leave_checkpoint_op, lambda x, *, keep: x)
