"""Describe arrays by shape and dtype."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from anyshape.errors import DTypeError, SpecError
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import NUMERIC
from anyshape.numpy.sizes.symdim import symdim
from anyshape.support.true_types import has_type
from anyshape.tracing.named_dims import SymbolicScope
from anyshape.tracing.symbolic_shape import SymbolicShape


@dataclasses.dataclass(frozen=True)
class ShapeDtypeStruct:
    """Description of an array: its dtype, and its shape as ints and symbolic sizes or as a text such as "n, 3".

    An integer whose value is a size has the shape () and a `value`: a size, or a text such as "k" or "n - 1". The
    traced function gets it as that size.

    >>> import numpy as np
    >>> from anyshape import trace
    >>> head = trace(lambda x, k: x[:k].sum() / k)(ShapeDtypeStruct("n + k"), ShapeDtypeStruct((), int, value="k"))
    >>> float(head(np.arange(5.0), 4))
    1.5
    """

    shape: Any
    dtype: Any = np.float64
    value: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if self.dtype.kind not in NUMERIC + "O":  # random generators are objects
            raise DTypeError("ShapeDtypeStruct", f"{self.dtype} is not a dtype of numbers", "give a numeric dtype")
        if not isinstance(self.shape, str):
            object.__setattr__(self, "shape", SymbolicShape(self.shape))
        if self.value is not None:
            self._check_value()

    def _check_value(self) -> None:
        if not isinstance(self.value, (str, SymbolicSize)) and not _is_size(self.value):
            raise SpecError(str(self.value), "is not a size", "give a symbolic size, or a text such as 'k'")
        if self.dtype.kind not in "iu":
            advice = "give an integer dtype, as in ShapeDtypeStruct((), int, value='k')"
            raise DTypeError("ShapeDtypeStruct", f"a value of dtype {self.dtype} is not a size", advice)
        if self.ndim:
            raise SpecError(str(self.shape), "has axes, and only a scalar is a size", "give the shape ()")

    def __repr__(self) -> str:
        value = f", value={self.value!r}" if self.value is not None else ""
        return f"ShapeDtypeStruct(shape={self.shape!r}, dtype={self.dtype!r}{value})"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(SymbolicScope().read(self.shape) if isinstance(self.shape, str) else self.shape)


def _is_size(x: Any) -> bool:
    return has_type(x, (int, np.integer)) and not has_type(x, bool) and int(x) >= 0


def described(meta: TensorMeta, scope: Scope, value: Size | None = None) -> ShapeDtypeStruct:
    """Return the description of an array type; its shape is a text where sizes depend on data and have only bounds."""
    size = None if value is None else symdim(value, scope)
    if meta.sizes is None:
        return ShapeDtypeStruct(", ".join(map(str, meta.extents)), meta.dtype, size)
    return ShapeDtypeStruct([symdim(s, scope) for s in meta.sizes], meta.dtype, size)
