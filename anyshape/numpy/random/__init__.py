"""NumPy's module `numpy.random`, whose functions of the global generator draw from it when a traced program runs.

Outside of a trace they are NumPy's own, as are all classes and `default_rng`.
"""

import functools
import sys
from typing import Any

import numpy as np

from anyshape.numpy.random.random_state import of_global
from anyshape.support import elsewhere

_FUNCTIONS = {"ranf": "random_sample", "sample": "random_sample", "seed": "seed"}  # by the method that they call
__all__ = sorted([*np.random.__all__, "bit_generator", "get_bit_generator", "mtrand", "set_bit_generator", "test"])


@functools.cache
def __getattr__(name: str) -> Any:
    """Return what a name of NumPy stands for; most functions are methods of the global generator."""
    if name not in __all__:
        raise elsewhere.missing(sys.modules[__name__], name)
    member = getattr(np.random, name)
    is_method = getattr(member, "__self__", None) is np.random.mtrand._rand
    return of_global(name, _FUNCTIONS.get(name, name)) if is_method or name in _FUNCTIONS else member


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
