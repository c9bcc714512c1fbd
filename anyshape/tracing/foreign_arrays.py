"""Arrays of other libraries as arguments: objects with `__array__`, an array interface, a buffer or DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.support.true_types import has_type

_TEXTS = (type, str, bytes, bytearray)
_DASK = (
    "add it up over chunks by anyshape.cluster.chunked_sum, or call it by x.map_blocks: docs/howto/run_on_clusters.md"
)


def foreign_array(x: Any, path: str, function: str) -> np.ndarray | None:
    """Return an array of another library as a read-only array of NumPy, None for what is none.

    Memory is shared where the library allows it. It is read-only, as a write to a copy would be lost for the caller.
    Raise ArgumentError where the library refuses, as PyTorch does for tensors that require gradients.
    """
    if has_type(x, _TEXTS) or not _may_be_array(x):
        return None
    name = type(x).__name__
    if type(x).__module__.partition(".")[0] == "dask":
        raise ArgumentError(function, path, f"is a Dask {name}, whose blocks are not computed", _DASK)
    try:
        array = np.asarray(x) if _has_array(x) else np.from_dlpack(x)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        advice = "convert it to an array of NumPy first"
        raise ArgumentError(function, path, f"is of type {name}, which gives no array: {reason}", advice) from error
    array = array.view()
    array.flags.writeable = False
    return array


def _may_be_array(x: Any) -> bool:
    return _has_array(x) or hasattr(type(x), "__dlpack__")


def _has_array(x: Any) -> bool:
    """Return whether NumPy makes an array of an object by one of its protocols, and not as an object."""
    if hasattr(type(x), "__array__") or hasattr(x, "__array_interface__"):
        return True
    try:
        memoryview(x).release()
    except (TypeError, BufferError):
        return False
    return True
