"""States of the random generators that a call draws from: a call that fails leaves them as they were before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.runtime.outcome import GUARD_FAILED


def restoring_generators(run: Callable[..., Any], positions: Sequence[int]) -> Callable[..., Any]:
    """Return a run that restores the generators among its arguments, at these positions, if it does not end."""

    def restoring(*arrays: Any) -> Any:
        bits = [_bits(g) for i in positions for g in arrays[i].flat]
        before = [b.state for b in bits]
        outputs: Any = GUARD_FAILED
        try:
            outputs = run(*arrays)
        finally:
            if outputs is GUARD_FAILED:
                for b, state in zip(bits, before, strict=True):
                    b.state = state
        return outputs

    return restoring


def _bits(generator: Any) -> Any:
    """Return what holds the state of a generator; of anything else, which a draw refuses, the object itself."""
    return generator.bit_generator if isinstance(generator, np.random.Generator) else _Stateless()


class _Stateless:
    state = None
