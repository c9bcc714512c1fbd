"""Name what NumPy has for names of other libraries: a method of PyTorch, a function of JAX, an option of either.

Python's own error names what is missing. A note below it says what to write.
"""

import re
import types
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.support.true_types import has_type

# by the name of an attribute of arrays; a function of NumPy of the name needs no row
_ATTRIBUTES = {
    "addmm": "b + x @ y", "amax": "x.max(axis)", "amin": "x.min(axis)", "backward": "anyshape.grad(f)(x)",
    "bmm": "x @ y", "bool": "x.astype(bool)", "clamp": "np.clip(x, low, high)", "contiguous": "x itself",
    "cpu": "x itself", "cuda": "x itself", "detach": "anyshape.stop_gradient(x)", "device": "nothing: it is the CPU",
    "dim": "x.ndim", "double": "x.astype(np.float64)", "expand": "np.broadcast_to(x, shape)",
    "float": "x.astype(np.float32)", "gather": "np.take_along_axis(x, i, axis)", "grad": "anyshape.grad(f)(x)",
    "half": "x.astype(np.float16)", "index_select": "np.take(x, i, axis)", "inverse": "np.linalg.inv(x)",
    "int": "x.astype(np.int32)", "long": "x.astype(np.int64)", "masked_fill": "np.where(mask, value, x)", "mm": "x @ y",
    "mv": "x @ y", "norm": "np.linalg.norm(x)", "numel": "x.size", "numpy": "x itself", "permute": "x.transpose(axes)",
    "relu": "np.maximum(x, 0)", "requires_grad": "anyshape.grad(f)(x)", "requires_grad_": "anyshape.grad(f)(x)",
    "scatter_add_": "x.at[i].add(v)", "sigmoid": "anyshape.scipy.special.expit(x)", "t": "x.T", "to": "x.astype(dtype)",
    "topk": "anyshape.numpy.top_k(x, k)", "type_as": "x.astype(y.dtype)", "unsqueeze": "np.expand_dims(x, axis)",
    "values": "x itself", "iloc": "x[i]", "loc": "x[i]", "append": "np.append(x, v)", "extend": "np.append(x, v)",
    "block_until_ready": "x itself", "addressable_data": "x itself",
}  # fmt: skip
# by the name of a function that the module of NumPy is asked for
_FUNCTIONS = {
    "bmm": "np.matmul", "cat": "np.concatenate", "clamp": "np.clip", "erf": "anyshape.scipy.special.erf",
    "erfc": "anyshape.scipy.special.erfc", "expit": "anyshape.scipy.special.expit",
    "gamma": "anyshape.scipy.special.gamma", "gammaln": "anyshape.scipy.special.gammaln", "gelu":
    "x * anyshape.scipy.special.ndtr(x)", "logsumexp": "anyshape.scipy.special.logsumexp",
    "log_softmax": "anyshape.scipy.special.log_softmax", "mm": "np.matmul", "mv": "np.matmul",
    "one_hot": "np.eye(k)[i]", "relu": "np.maximum(x, 0)", "scan": "anyshape.scan", "cond": "anyshape.cond",
    "sigmoid": "anyshape.scipy.special.expit", "silu": "x * anyshape.scipy.special.expit(x)",
    "softmax": "anyshape.scipy.special.softmax", "softplus": "np.logaddexp(x, 0)", "tensor": "np.array",
    "topk": "anyshape.numpy.top_k", "unsqueeze": "np.expand_dims", "vmap": "anyshape.vmap", "grad": "anyshape.grad",
    "jit": "anyshape.jit", "top_k": "anyshape.numpy.top_k",
}  # fmt: skip
_OPTIONS = {
    "dim": "axis", "dims": "axis", "keepdim": "keepdims", "unbiased": "ddof", "correction": "ddof", "other": "",
    "device": "", "requires_grad": "",
}  # fmt: skip
_UNKNOWN_OPTION = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")


def advise(error: Exception) -> None:
    """Add what NumPy has to an error of Python about a name of another library."""
    instead = of_attribute(error) if isinstance(error, AttributeError) else _of_option(error)
    if instead and not getattr(error, "__notes__", None):
        error.add_note(f"  {instead}")


def of_attribute(error: AttributeError) -> str:
    """Return what to write instead of an attribute that an array or the module of NumPy does not have."""
    owner, name = error.obj, str(error.name)
    if has_type(owner, types.ModuleType):
        return instead_of_function(name) if owner.__name__ in ("numpy", "anyshape.numpy") else ""
    if not isinstance(owner, Traced):
        return ""
    if name in _ATTRIBUTES:
        return f"write {_ATTRIBUTES[name]}"
    return f"write np.{name}(x)" if _is_of_numpy(name) else ""


def instead_of_function(name: str) -> str:
    """Return what to write instead of a function that NumPy does not have, "" if that is not known."""
    return f"write {_FUNCTIONS[name]}" if name in _FUNCTIONS else ""


def _of_option(error: Exception) -> str:
    """Return what to write instead of an option that a function of NumPy does not have."""
    unknown = _UNKNOWN_OPTION.search(str(error)) if isinstance(error, TypeError) else None
    if unknown is None or unknown[2] not in _OPTIONS or not _is_of_numpy(unknown[1]):
        return ""
    name = _OPTIONS[unknown[2]]
    return f"write {name} in place of {unknown[2]}" if name else "leave it out"


def _is_of_numpy(name: str) -> bool:
    """Return whether NumPy has a function of this name, for arrays or for matrices."""
    functions: list[Any] = [getattr(np, name, None), getattr(np.linalg, name, None)]
    return any(callable(f) and not isinstance(f, type) for f in functions)
