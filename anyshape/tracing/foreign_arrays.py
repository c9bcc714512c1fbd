"""Arrays of other libraries as arguments: objects with `__array__`, an array interface, a buffer or DLPack."""

import numbers
import re
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.support.true_types import has_type

_TEXTS = (type, str, bytes, bytearray)
_DASK = (
    "call it by anyshape.cluster: map_chunks for results by block, chunked_sum for sums: docs/howto/run_on_clusters.md"
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
        raise ArgumentError(function, path, f"is of type {name}: {reason}", _conversion(reason)) from None
    array = array.view()
    array.flags.writeable = False
    return array


def _conversion(reason: str) -> str:
    """Return what a library itself says to write in place of an object that gives no array."""
    if "BFloat16" in reason:
        return "pass x.float()"
    call = re.search(r"Use ((?:\w+\.)+\w+\([^)]*\)(?:\.\w+\(\))*)", reason)
    return f"pass {re.sub(r'^[Tt]ensor[.]', 'x.', call[1])}" if call else "convert it to an array of NumPy first"


def check_numbers(x: Any, array: np.ndarray, path: str, function: str) -> None:
    """Raise ArgumentError for a Series or a DataFrame of other values than numbers, in the words of pandas."""
    if array.dtype.kind in "biufc":
        return
    kind = type(getattr(x, "dtype", None)).__name__
    if hasattr(x, "select_dtypes"):
        names = [name for name in x.columns if name not in x.select_dtypes("number").columns]
        problem, advice = f"has columns without numbers: {names!r:.60}", "pass x.select_dtypes('number')"
    elif kind == "CategoricalDtype":
        problem, advice = "holds categories", "pass x.cat.codes"
    elif kind == "BooleanDtype":
        problem, advice = "holds missing values", "fill them, as with x.fillna(False)"
    elif kind == "DatetimeTZDtype":
        problem, advice = "holds dates with time zones", "pass x.dt.tz_localize(None).astype(int)"
    else:
        return
    raise ArgumentError(function, path, problem, advice)


_DTYPE_ADVICE = {
    "O": "convert it to numbers, as with astype(float)",
    **dict.fromkeys("mM", "convert it to numbers, as with astype(int)"),
    **dict.fromkeys("SUT", "pass numbers for texts; a str is an argument that is static by itself"),
}  # by the kind of a dtype


def dtype_advice(dtype: np.dtype) -> str:
    """Return what to do with an array of a dtype that programs do not compute with."""
    if dtype.names:
        return f"pass its fields one by one, as x[{dtype.names[0]!r}]"
    if not dtype.isnative:
        return "convert it to native byte order, as with x.astype(x.dtype.newbyteorder('='))"
    if dtype.name.startswith(("bfloat", "float", "int", "uint")):
        return "convert it, as with astype(np.float32)"  # of ml_dtypes
    return _DTYPE_ADVICE.get(dtype.kind, "pass numbers or booleans")


def advice_for(x: Any) -> str:
    """Return what to pass instead of a leaf that is not an array."""
    if has_type(x, np.random.BitGenerator):
        return "pass a numpy.random.Generator, such as numpy.random.default_rng(0)"
    if has_type(x, (set, frozenset)) or hasattr(type(x), "__next__"):
        return "pass a list or a tuple"
    if has_type(x, numbers.Number):
        return "pass float(x)"
    if any(has_type(part, np.ndarray) for part in getattr(x, "__dict__", {}).values()):
        return f"close over it, make {type(x).__name__} a dataclass, or register it by anyshape.register_pytree_node"
    return "pass arrays and numbers, and close over the rest"


def _may_be_array(x) -> bool:
    return _has_array(x) or hasattr(type(x), "__dlpack__")


def _has_array(x) -> bool:
    """Return whether NumPy makes an array of an object by one of its protocols, and not as an object."""
    if hasattr(type(x), "__array__") or hasattr(x, "__array_interface__"):
        return True
    try:
        memoryview(x).release()
    except (TypeError, BufferError):
        return False
    return True
