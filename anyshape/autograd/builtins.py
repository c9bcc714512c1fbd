"""Names of `autograd.builtins`. Containers of traced values are Python's own, and so are most names."""

import builtins
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced

__all__ = ["DictBox", "SequenceBox", "dict", "isinstance", "list", "tuple", "type"]

dict, isinstance, list, tuple = builtins.dict, builtins.isinstance, builtins.list, builtins.tuple
DictBox = dict
SequenceBox = (list, tuple)


def type(x: Any) -> Any:
    """Return the type of a value; that of a traced one is `numpy.ndarray`."""
    return np.ndarray if isinstance(x, Traced) else builtins.type(x)
