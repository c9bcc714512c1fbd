"""Kernels of creation ops.

Traits of ops that make arrays from sizes and literals.
"""

from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.errors import SizeMismatchError
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.ops import creation as cr
from anyshape.ops.core.apply import kernel


def filled(shape: Any, value: Any, dtype: Any) -> Any:
    """Return an array filled with a number; np.zeros touches no memory."""
    return np.zeros(shape, dtype) if value == 0 and "-" not in repr(value) else np.full(shape, value, dtype)


def filling(site: Any, shape: Any, value: Any) -> Any:
    """Return lines that make the result an array of this shape, filled with a number."""
    dtype = site.bind(site.result.dtype)
    if value == 0 and "-" not in repr(value):
        return [f"{site.target} = {site.bind(np.zeros)}({shape}, {dtype})"]
    number = site.bind(np.array(value, site.result.dtype))
    return [f"{site.target} = {site.bind(np.empty)}({shape}, {dtype})", f"{site.target}[...] = {number}"]


def _inline_full(site):
    if site.params["shape"] == ():
        number = np.array(site.params["value"], site.result.dtype)[()]  # as other results without axes are
        return [f"{site.target} = {site.bind(number)}"]
    return filling(site, site.text(site.params["shape"]), site.params["value"])


kernel(cr.full_op, filled, inline=_inline_full)
kernel(cr.iota_op, lambda *, size, dtype: np.arange(size, dtype=dtype))


def _size_value(*, size: int) -> np.int64:
    """Return the size as an int64; a computed size may be too large for it."""
    try:
        return np.int64(size)
    except OverflowError:
        why = "a size is used as a number, and is too large for int64"
        raise SizeMismatchError("size_value", "size < 2**63", {"size": size}, why) from None


def _inline_size_value(site):
    """Inline variables: they are sizes of axes or int64 arguments, so they fit, unlike computed sizes."""
    size = site.params["size"]
    if not isinstance(expr.as_atom(size), DimVar):
        return None
    return [f"{site.target} = {site.text(size)}"] if site.is_int else site.call(np.int64, site.text(size))


kernel(cr.size_value_op, _size_value, inline=_inline_size_value)
kernel(
    cr.float_of_size_op,
    lambda *, size, dtype: dtype.type(size),
    inline=lambda site: [f"{site.target} = {site.bind(site.result.dtype.type)}({site.text(site.params['size'])})"],
)


declare(OPAQUE._replace(recomputable=True), cr.full_op, cr.iota_op, cr.size_value_op, cr.float_of_size_op)
