"""Conversion of operands to float64 without loss of imaginary parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import DTypeError
from anyshape.graph.ir.builder import user_line


def real_floats(x: Any) -> Any:
    """Return a real operand in float64. A complex one raises DTypeError: a cast would drop its imaginary part."""
    array = xp.asarray(x)
    if array.dtype.kind == "c":
        raise DTypeError("scipy", f"a traced operand is {array.dtype}", "pass its real part", user_line())
    return array.astype(np.float64)
