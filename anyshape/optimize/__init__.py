"""Optimisers: SciPy's, under a shorter name than in `anyshape.scipy`, and pure functions for training loops.

`sgd`, `adam`, `adamw` and `lbfgs` give updates of trees of parameters, by the protocol of optax. Schedules and clipping
go with them.
"""

import sys
from typing import Any

from anyshape.scipy import optimize
from anyshape.support import elsewhere
from anyshape.support.packages import gradient_transformations

_OWN = [
    "GradientTransformation", "adam", "adamw", "add_decayed_weights", "apply_updates", "chain", "clip",
    "clip_by_global_norm", "constant_schedule", "cosine_decay_schedule", "exponential_decay", "global_norm",
    "join_schedules", "lbfgs", "linear_schedule", "piecewise_constant_schedule", "scale", "scale_by_adam",
    "scale_by_learning_rate", "sgd", "trace_momentum", "warmup_cosine_decay_schedule",
]  # fmt: skip
__all__ = [*_OWN, *optimize.__all__]


def __getattr__(name: str) -> Any:
    """Return one of the functions for training loops, or what a name of `anyshape.scipy.optimize` stands for."""
    if name in _OWN:
        return getattr(gradient_transformations, name)
    if hasattr(optimize, name):
        return getattr(optimize, name)
    raise elsewhere.missing(sys.modules[__name__], name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*dir(optimize), *__all__})
