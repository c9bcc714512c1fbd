"""Run SciPy's Python code on traced arrays, where it has no derivatives to lose.

SciPy writes functions for all libraries of the array API. Helpers that ask what an array is have other ones here.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.numpy.foreign_source import Source
from anyshape.numpy.operands.promotion import is_traced
from anyshape.support.packages import load


class _At:
    """Elements of an array where a mask holds, or at an index, which `set` changes."""

    def __init__(self, x: Any, index: Any = None) -> None:
        self._x, self._index = x, index

    def __getitem__(self, index: Any) -> _At:
        return _At(self._x, index)

    def set(self, value: Any) -> Any:
        """Return the array with other elements."""
        if getattr(self._index, "dtype", None) == np.dtype(bool):
            return xp.where(self._index, value, self._x)
        return xp.at(xp.asarray(self._x))[self._index].set(value)


def _apply_where(condition, arrays, function, other=None, /, *, fill_value=None, **_):
    """Return one function of arrays where a condition holds, elsewhere another one or a number."""
    arrays = arrays if isinstance(arrays, tuple) else (arrays,)
    return xp.where(condition, function(*arrays), fill_value if other is None else other(*arrays))


def _promoted(*arrays, force_floating: bool = False, broadcast: bool = False, **_):
    """Return arrays of one dtype, and of one shape if they broadcast; None stays."""
    some = [xp.asarray(x) for x in arrays if x is not None]
    dtype = xp.result_type(*some, *([1.0] if force_floating else []))
    rest = iter(xp.broadcast_arrays(*some) if broadcast else some)
    results = tuple(None if x is None else next(rest).astype(dtype) for x in arrays)
    return results[0] if len(results) == 1 else results


class _Math:
    """Module `math`, whose functions of NumPy's serve traced numbers."""

    def __getattr__(self, name: str) -> Any:
        member = getattr(math, name)
        return (lambda *x: (getattr(xp, name) if is_traced(*x) else member)(*x)) if callable(member) else member


def _real_zpk2tf(z, p, k):
    """Return the polynomials of zeros and poles of designs, which are symmetric."""
    return tuple([xp.real(part) for part in load("anyshape.scipy.signal").zpk2tf(z, p, k)])


_EXTENSIONS = {
    "apply_where": _apply_where,
    "at": _At,
    "atleast_nd": lambda x, ndim=1, **_: xp.array(x, ndmin=ndim),
    "create_diagonal": lambda x, offset=0, **_: xp.diag(x, offset),
    "expand_dims": lambda x, axis=0, **_: xp.expand_dims(x, axis),
    "sinc": lambda x, **_: xp.sinc(x),
}
_HELPERS = {
    "array_namespace": lambda *_: xp,
    "_asarray": lambda x, dtype=None, **_: xp.asarray(x, dtype=dtype),
    "_validate_fs": lambda fs, **_: fs,
    "device": lambda x: None,
    "is_lazy_array": lambda x: True,
    "is_numpy_namespace": lambda namespace: True,
    "size": lambda x: x.size,
    "xp_promote": _promoted,
    "zpk2tf": _real_zpk2tf,
}
_MODULES = {
    "math": _Math(),
    "numpy": xp,
    "numpy.fft": xp.fft,
    "numpy.linalg": xp.linalg,
    "scipy._lib.array_api_compat.numpy": xp,
    "scipy._lib.array_api_extra": types.SimpleNamespace(**_EXTENSIONS),
}


def source_of_scipy(served: tuple[str, ...] = (), modules: Any = None, helpers: Any = None) -> Source:
    """Return SciPy's code, in which modules of anyshape serve their names, with further modules and helpers."""
    own = {f"scipy.{name}": f"anyshape.scipy.{name}" for name in served}
    modules, helpers = _MODULES | (modules or {}), _HELPERS | (helpers or {})
    digests = Path(__file__).with_name("digests.txt")
    return Source("scipy", ("1.16", "1.17"), digests, modules, helpers, ("_no_deco",), own)


SCIPY: Source = source_of_scipy(("fft", "linalg", "ndimage", "signal", "special"))


def lent(theirs: Callable[..., Any], source: Source = SCIPY) -> Callable[..., Any]:
    """Return a function of SciPy's for traced arrays. What it refuses is an ArgumentError."""
    name = theirs.__name__

    @functools.wraps(theirs, updated=())
    def function(*args, **kwargs):
        try:
            return source.copy(theirs)(*args, **kwargs)
        except (TypeError, ValueError) as error:
            if isinstance(error, AnyshapeError):
                raise
            advice = f"see the documentation of {theirs.__module__}.{name}"
            raise ArgumentError(name, "the call", f"is refused by SciPy: {error}", advice) from None

    return function
