"""Name what Python code called with a traced value, and what to write instead.

Functions of Python and SciPy ask an array for a float or for its memory. The line of the user tells which function that
is: its expression is read, and the name in it is looked up in the frame. Some functions hide the refusal behind an
error of their own, or make garbage of it: `hidden_by` finds it again.
"""

import ast
import builtins
import cmath
import itertools
import math
import os
import re
import statistics
import sys
import types
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np

import anyshape.numpy
from anyshape.errors import ConcretizationError
from anyshape.errors.messages import expression_at
from anyshape.graph.ir.builder import active
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import calling_frames, is_of_other_package, is_user_frame, traced_frames
from anyshape.numpy.operands.promotion import is_traced
from anyshape.support import elsewhere
from anyshape.support.packages import load
from anyshape.support.true_types import has_type

_OUTSIDE = "return the array, and call {name} outside the traced function"
_CALLBACK = "call it outside the traced function, or through anyshape.pure_callback"
_PYTHON_CODE = "write {name}.py_func, the Python code that numba compiled, or call it through anyshape.pure_callback"
_IMPORT = "write import anyshape.numpy as np, whose {name} takes traced values"
_NO_COUNTERPART = "write it with other NumPy functions, or call it outside the traced function"
_FLOATS = "compute with the array itself: it has +, *, comparisons and the functions of NumPy"
FROM_SCIPY = "write from anyshape.scipy"
_SCIPY = FROM_SCIPY + " import {module}, or call it outside the traced function"
SPARSE = "write anyshape.scipy.sparse.csr_array(matrix), whose products take traced values"
_FORMAT = "return the array, and format it outside the traced function"
_SCIPY_MODULES = (  # whose functions of functions and of arrays anyshape.scipy has
    "special", "linalg", "stats", "fft", "integrate", "interpolate", "optimize", "signal", "ndimage",
)  # fmt: skip

# functions of math and cmath by what stands for them; others have the name in NumPy that stands in `_RENAMED`
_MATH = {
    "erf": "anyshape.scipy.special.erf",
    "erfc": "anyshape.scipy.special.erfc",
    "gamma": "anyshape.scipy.special.gamma",
    "lgamma": "anyshape.scipy.special.gammaln",
    "factorial": "anyshape.scipy.special.factorial",
    "comb": "anyshape.scipy.special.comb",
    "perm": "anyshape.scipy.special.perm",
    "dist": "np.linalg.norm(x - y)",
    "remainder": "x - y * np.round(x / y)",
    "isqrt": "np.floor(np.sqrt(x))",
    "fma": "x * y + z",
    "polar": "np.abs(z) and np.angle(z)",
    "rect": "r * np.exp(1j * phi)",
}
_RENAMED = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "pow": "power", "fabs": "abs", "fsum": "sum", "phase": "angle", "sumprod": "dot",
    "ulp": "spacing",
}  # fmt: skip
_STATISTICS = {
    "mean": "np.mean(x)", "fmean": "np.mean(x)", "median": "np.median(x)", "stdev": "np.std(x, ddof=1)",
    "pstdev": "np.std(x)", "variance": "np.var(x, ddof=1)", "pvariance": "np.var(x)", "quantiles": "np.quantile(x, q)",
    "geometric_mean": "np.exp(np.mean(np.log(x)))", "harmonic_mean": "1 / np.mean(1 / x)",
}  # fmt: skip
_BUILTINS = {
    "max": "np.max(x), or np.maximum(x, y) of two", "min": "np.min(x), or np.minimum(x, y) of two",
    "sorted": "np.sort(x)", "any": "np.any(x)", "all": "np.all(x)", "pow": "x ** y",
    "slice": "np.take or anyshape.numpy, whose indices may be traced",
}  # fmt: skip
# by the name of a module, or of a function in it: the advice
_ADVICE = {
    **dict.fromkeys(("struct", "_struct", "json", "pickle", "_pickle", "ctypes", "_ctypes", "array"), _OUTSIDE),
    **dict.fromkeys(("builtins.memoryview", "builtins.bytes", "builtins.bytearray", "numpy.frombuffer"), _OUTSIDE),
    **dict.fromkeys(("decimal", "fractions", "_decimal"), _FLOATS),
    "numpy.nditer": "write it with array operations, or for v in x.ravel()",
    "numpy.ndenumerate": "write it with array operations, or for i, v in enumerate(x)",
}
_FRAMEWORKS = ("torch", "jax", "tensorflow", "cupy", "mlx", "paddle")
_SPARSE_FOLDER = os.path.join("scipy", "sparse")
_NAMES_TRACED = re.compile(r"\b(ND)?Array\b(?!\.\w+\(\))")  # not that of a method with other arguments


def advice(of_numpy: bool = True) -> str:
    """Return what to write instead of the call that the user's line makes, "" where that has no advice of its own."""
    frame, called = calling_frames(sys._getframe(1))
    if frame is None:
        return ""
    node = expression_at(frame.f_code, frame.f_lasti)
    if advised := _instead_of_framework(node, frame):
        return advised
    if called is not None and (advised := _instead_of_foreign(called)):
        return advised
    if _is_in_vectorize(sys._getframe(1)):
        return _IMPORT.format(name="vectorize")
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return "write np.isin(x, values)"
    if isinstance(node, ast.BinOp):
        return _advice_for_operator(node, called)
    function, name = _callee(node, frame)
    return _advice_for(function, name) if of_numpy or not _path(function)[0].startswith("numpy") else ""


def _instead_of_framework(node: ast.AST | None, frame: FrameType) -> str:
    """Return NumPy's name of a function of PyTorch, JAX or their like that an expression calls, "" for others."""
    function, name = _callee(node, frame)
    root: Any = getattr(node, "func", None)
    while isinstance(root, ast.Attribute):
        root = root.value
    module = _looked_up(root, frame) if isinstance(root, ast.Name) else None
    source = module.__name__ if has_type(module, types.ModuleType) else _path(function)[0]
    own = name.rpartition(".")[2]
    if source.partition(".")[0] not in _FRAMEWORKS or own.startswith("_"):
        return ""
    instead = elsewhere.FUNCTIONS.get(own) or (f"np.{own}" if own in np.__all__ else "")
    return f"write {instead}: a traced array is one of NumPy" if instead else _CALLBACK


def _is_in_vectorize(frame: FrameType | None) -> bool:
    """Return whether the function that is traced is one that `np.vectorize` made."""
    return any(has_type(f.f_locals.get("self"), np.vectorize) for f in traced_frames(frame))


def _advice_for_operator(node: ast.BinOp, called: FrameType | None) -> str:
    """Return what to write instead of an operator whose other operand is a text or a sparse array."""
    if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
        return _FORMAT
    return SPARSE if _is_sparse(called) else ""


def _instead_of_foreign(called: FrameType) -> str:
    """Return what to write instead of a method of a sparse matrix, or of a function of another package."""
    if called.f_code.co_name in ("dot", "multiply") and _is_sparse(called):
        return SPARSE
    return _CALLBACK if is_of_other_package(called) else ""


def asked_by_package() -> tuple[str, str] | None:
    """Return the function of another package that asks an array, and what to write; None where no package does."""
    asking: FrameType | None = sys._getframe(1)
    while asking is not None and not (is_of_other_package(asking) or is_user_frame(asking)):
        asking = asking.f_back
    if asking is None or not is_of_other_package(asking):
        return None
    frame, called = calling_frames(asking)
    if frame is None or called is None or not is_of_other_package(called):
        return "a function", _PYTHON_CODE.format(name="f")
    function, name = _callee(expression_at(frame.f_code, frame.f_lasti), frame)
    return name or "a function", _PYTHON_CODE.format(name=name) if hasattr(function, "py_func") else _CALLBACK


def _is_sparse(called: FrameType | None) -> bool:
    """Return whether a frame is of a sparse matrix of SciPy's."""
    return called is not None and os.path.dirname(called.f_code.co_filename).endswith(_SPARSE_FOLDER)


def fills_array(frame: FrameType) -> bool:
    """Return whether a frame calls `y.fill(v)` of an array of NumPy."""
    function, _ = _callee(expression_at(frame.f_code, frame.f_lasti), frame)
    return has_type(getattr(function, "__self__", None), np.ndarray) and _path(function)[1] == "fill"


def hidden_by(error: Exception) -> ConcretizationError | None:
    """Return the refusal that an error of foreign code hides, made anew if there was none; None if it hides none."""
    refusal, lines = getattr(active(), "concretized", None), _lines(error)
    if isinstance(refusal, ConcretizationError) and any(where == refusal.where for _, where in lines):
        return refusal
    if not lines:
        return None
    frame, where = lines[-1]
    node = expression_at(frame.f_code, where.offset)
    if not isinstance(node, ast.Call) or not _takes_traced(node, frame):
        return None
    function, name = _callee(node, frame)
    if function is len:  # of a number; Python's error says all
        return None
    if not _NAMES_TRACED.search(str(error)) and _row(function) is None:
        _note_on_package(error, frame)
        return None
    return ConcretizationError(
        name, "", where, _instead_of_framework(node, frame) or _advice_for(function, name) or _CALLBACK
    )


def _lines(error: Exception) -> list[tuple[FrameType, SourceLine]]:
    """Return the frames and lines of the user that an error went through, the innermost one last."""
    lines, step = [], error.__traceback__
    while step is not None:
        frame, code = step.tb_frame, step.tb_frame.f_code
        if is_user_frame(frame):
            lines.append((frame, SourceLine(code.co_filename, step.tb_lineno, code.co_name, code, step.tb_lasti)))
        step = step.tb_next
    return lines


def _note_on_package(error: Exception, frame: FrameType) -> None:
    """Tell what to write where an error was raised in the function of another package that a frame calls."""
    steps, step = [], error.__traceback__
    while step is not None:
        steps.append(step.tb_frame)
        step = step.tb_next
    if any(a is frame and is_of_other_package(b) for a, b in itertools.pairwise(steps)):
        error.add_note(f"  a traced array is one of NumPy: {_CALLBACK}")


def _takes_traced(call: ast.Call, frame: FrameType) -> bool:
    """Return whether a name in the arguments of a call has a traced value."""
    arguments = [*call.args, *[k.value for k in call.keywords]]
    names = [node for argument in arguments for node in ast.walk(argument) if isinstance(node, ast.Name)]
    return is_traced(*[_looked_up(name, frame) for name in names])


# -- the function that a line calls --------------------------------------------------------------------------------


def _callee(node: ast.AST | None, frame: FrameType) -> tuple[Any, str]:
    """Return the function that an expression calls, None if that is not known, and its name as written."""
    if not isinstance(node, ast.Call):
        return None, ""
    name = ast.unparse(node.func)
    if isinstance(node.func, ast.Call):  # of the object that a call makes: np.vectorize(f)(x)
        maker = _looked_up(node.func.func, frame)
        return (maker if has_type(maker, type) else None), name
    return (_looked_up(node.func, frame), name) if name.isascii() else (None, name)


def _looked_up(node: ast.expr, frame: FrameType):
    """Return the value of a dotted name in a frame; attributes of other objects than modules may run code."""
    if isinstance(node, ast.Name):
        scopes: Iterator[Mapping[str, Any]] = iter((frame.f_locals, frame.f_globals, frame.f_builtins))
        return next((scope[node.id] for scope in scopes if node.id in scope), None)
    if isinstance(node, ast.Attribute):
        owner = _looked_up(node.value, frame)
        if has_type(owner, types.ModuleType) or type(owner).__module__.startswith(("numpy", "scipy")):
            return getattr(owner, node.attr, None)
    return None


def _path(function) -> tuple[str, str]:
    """Return the module and the name of a function; for a method, the module of its object."""
    owner, module = getattr(function, "__self__", None), getattr(function, "__module__", None)
    if module is None and owner is not None and not has_type(owner, types.ModuleType):
        module = type(owner).__module__
    return str(module or ""), str(getattr(function, "__name__", ""))


def _row(function) -> str | None:
    """Return the advice of the table for a function."""
    module, name = _path(function)
    own = module.partition(".")[0] if module.startswith(("json", "ctypes")) else module
    return _ADVICE.get(f"{module}.{name}", _ADVICE.get(own))


def _advice_for(function, name: str) -> str:
    """Return what to write instead of a call of a function, "" if nothing is known of it."""
    if function is None or function in (float, int, bool):
        return ""
    module, own_name = _path(function)
    if module in (math.__name__, cmath.__name__):
        return _instead_of_math(own_name)
    if module == statistics.__name__:
        return f"write {_STATISTICS[own_name]}" if own_name in _STATISTICS else _FLOATS
    if module.startswith("numpy.testing"):
        return _IMPORT.format(name=f"testing.{own_name}")
    if (row := _row(function)) is not None:
        return row.format(name=name)
    package, _, rest = module.partition(".")
    if package == "scipy":
        return _instead_of_scipy(function, rest)
    return _instead_of_numpy(function, own_name) if package == "numpy" else _of_others(function, package)


def _instead_of_scipy(function, path: str) -> str:
    """Return what to write instead of a function of SciPy, by the path of its module."""
    part = path.partition(".")[0].removeprefix("_")
    inner = path.partition(".")[2].partition(".")[0]  # scipy.linalg.interpolative has no counterpart
    own = getattr(load(f"anyshape.scipy.{part}"), inner, None) if part in _SCIPY_MODULES and inner else None
    is_other = inner[:1] not in ("", "_") and not getattr(own, "__name__", "").startswith("anyshape")
    is_all = part not in _SCIPY_MODULES or is_other or _is_served_as_it_is(function, part)
    return _CALLBACK if is_all else _SCIPY.format(module=part)


def _is_served_as_it_is(function, part: str) -> bool:
    """Return whether the module of anyshape has this function of SciPy, or its distribution, and no traced form."""
    own = getattr(function, "__self__", function)
    names = getattr(own, "name", ""), getattr(function, "__name__", "")
    return any(getattr(load(f"anyshape.scipy.{part}"), name, None) is own for name in names if name)


def _instead_of_math(name: str) -> str:
    """Return what stands for a function of math or cmath."""
    counterpart = _MATH.get(name) or f"np.{_RENAMED.get(name, name)}"
    return f"write {counterpart}, which takes traced values"


def _instead_of_numpy(function, name: str) -> str:
    """Return the advice for a function or class of NumPy that has taken a traced array for one of its own."""
    if has_type(getattr(function, "__self__", None), np.ndarray):
        return "write import anyshape.numpy as np, whose arrays take traced values"
    if has_type(function, type) and issubclass(function, np.generic):
        return f"write x.astype(np.{name})"
    if has_type(function, np.vectorize):
        return _IMPORT.format(name="vectorize")
    if (home := _path(function)[0].removeprefix("numpy.").partition(".")[0]) in ("polynomial", "random"):
        return _IMPORT.format(name=home)
    is_ours = getattr(np, name, None) is function and getattr(anyshape.numpy, name, function) is not function
    return _IMPORT.format(name=name) if is_ours else _NO_COUNTERPART


def _of_others(function, package: str) -> str:
    """Return the advice for a function of another package, or a builtin: these know nothing of traced values."""
    name = _path(function)[1]
    if getattr(builtins, name, None) is function:
        return f"write {_BUILTINS[name]}" if name in _BUILTINS else ""
    if package in ("", "builtins", "anyshape"):
        return ""
    code = getattr(function, "__code__", None)
    return "" if code is not None and "site-packages" not in code.co_filename else _CALLBACK
