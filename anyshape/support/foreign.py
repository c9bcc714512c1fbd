"""Arrays of other libraries: their dtypes as NumPy's, their values on the host, and which of them programs can take."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.support.packages import torch
from anyshape.support.true_types import LIBRARIES, library_name

DTYPES = "bool, integers of 8 to 64 bits, float16 to float64, complex64 or complex128"
WRAP = "wrap the function in anyshape.torch.function"
_KNOWN: dict[Any, np.dtype | None] = {}  # a dict, which torch.compile reads


def is_foreign(x: Any) -> bool:
    """Return whether an object is an array of another library that programs run on."""
    name = library_name(x)
    if name == "torch":
        return isinstance(x, torch.Tensor)
    return name in LIBRARIES and hasattr(x, "shape") and hasattr(x, "dtype")


def numpy_dtype_of(dtype: Any) -> np.dtype | None:
    """Return a dtype of a library as NumPy's, None where NumPy has none."""
    key = type(dtype), dtype  # dtypes of two libraries may refuse to be compared
    if key not in _KNOWN:
        _KNOWN[key] = _as_numpys(dtype)
    return _KNOWN[key]


def _as_numpys(dtype: Any) -> np.dtype | None:
    try:
        result = np.dtype(str(dtype).rpartition(".")[2])
    except TypeError:
        return None
    return result if result.kind in "biufc" else None


def host_array(x: Any) -> np.ndarray:
    """Return an array of a library as one of NumPy."""
    name = library_name(x)
    if name == "torch":
        return x.detach().resolve_conj().resolve_neg().cpu().numpy()
    if name == "cupy":
        return x.get()
    return np.asarray(x._array if name == "array_api_strict" else x)  # it refuses __array__ on other devices


def constant(x: Any, path: str, function: str) -> np.ndarray:
    """Return an array of a library as a constant of a program, as one that a function closes over.

    Raise ArgumentError for one that cannot be such a constant. A tensor that requires grad never can: its slope would
    be 0 in silence.
    """
    is_tensor, advice = library_name(x) == "torch", "pass it as an argument"
    if is_tensor and is_transformed(x):
        raise ArgumentError(function, path, "is inside of a transformation of torch.func", advice)
    if hasattr(x, "_trace"):  # of JAX
        raise ArgumentError(function, path, "is inside of a transformation of JAX", advice)
    if is_tensor and x.device.type == "meta":
        raise ArgumentError(function, path, "is a tensor on meta, which has no values", advice)
    if is_tensor and x.requires_grad:
        problem, advice = "is a tensor that requires grad, and constants have no gradients", f"{advice}, or detach it"
        raise ArgumentError(function, path, problem, advice)
    require_usable(x, path, function)
    return host_array(x)


def require_usable(x: Any, path: str, function: str) -> None:
    """Raise ArgumentError for an array of a library that programs cannot compute with."""
    if library_name(x) == "torch" and (wrong := _wrong_tensor(x, path if path.isidentifier() else "x")):
        raise ArgumentError(function, path, *wrong)
    if numpy_dtype_of(x.dtype) is None:
        raise ArgumentError(function, path, f"has dtype {x.dtype}", f"convert it to {DTYPES}")


def _wrong_tensor(x: Any, name: str) -> tuple[str, str] | None:
    if x.is_quantized:
        return "is a quantised tensor", f"pass {name}.dequantize()"
    if x.is_nested:
        return "is a nested tensor", f"pass anyshape.Ragged.from_list({name})"
    if type(x).__module__.partition(".")[0] != "torch":
        return f"is a tensor of class {type(x).__name__}", f"pass {name}.as_subclass(torch.Tensor)"
    if x.layout is not torch.strided:
        return f"is a tensor of layout {x.layout}", f"pass {name}.to_dense()"
    if is_transformed(x):
        return "is a tensor inside of a transformation of torch.func", WRAP
    if x.requires_grad and torch.is_grad_enabled():
        return "is a tensor that requires grad, which anyshape would not see", f"{WRAP}, or pass {name}.detach()"
    return None


def is_transformed(x: Any) -> bool:
    """Return whether a value is a tensor that stands for others inside of `torch.func.grad`, `vmap` and their like."""
    return isinstance(x, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(x)
