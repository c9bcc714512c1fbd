"""Serve `numpy.polynomial` on traced coefficients and points.

NumPy writes its polynomials in Python over its own functions. The same code runs here over the functions of
`anyshape.numpy`. So trimming of zeros is a decision on values, and a degree has a program of its own. Concrete
arguments go to NumPy. The classes are subclasses of NumPy's.
"""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.polynomial
from numpy.polynomial import _polybase

from anyshape.graph.ir.builder import active
from anyshape.numpy import linalg

_BASE = _polybase.ABCPolyBase
# names of the code, and what they mean here; the package has this module among its names, so it is not imported
_NUMPY: dict[str, Any] = {"np": sys.modules[__name__.rpartition(".")[0]], "la": linalg}


def _over(function, names: dict[str, Any]):
    """Return a function of Python with other global names."""
    ours = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    ours.__kwdefaults__ = function.__kwdefaults__
    return functools.wraps(function)(ours)


def _served(function: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is NumPy's outside of any trace."""

    @functools.wraps(function)
    def served(*args, **kwargs):
        return function(*args, **kwargs) if active() is None else ours(*args, **kwargs)

    return served


def _class_over(theirs: type, names: dict[str, Any]) -> type:
    """Return the subclass of a class of polynomials whose methods use other global names."""
    members: dict[str, Any] = {}
    for name, member in {**vars(_BASE), **vars(theirs)}.items():
        plain = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if not isinstance(plain, types.FunctionType):
            continue
        own = names.get(plain.__name__) if isinstance(member, staticmethod) else None
        ours = own if own is not None else _over(plain, names)
        members[name] = type(member)(ours) if isinstance(member, (staticmethod, classmethod)) else ours
    of_numpy = lambda kind, x: kind(x.coef, x.domain, x.window, x.symbol)
    members |= {"made_by": classmethod(of_numpy), "__doc__": theirs.__doc__, "__hash__": None}
    made = type(theirs.__name__, (theirs,), members)
    made.__module__ = __name__
    return made


def _module_over(theirs: types.ModuleType, name: str) -> types.ModuleType:
    """Return a module with the functions and classes of one of NumPy's."""
    ours = types.ModuleType(f"{__name__}.{name}", theirs.__doc__)
    names = {**vars(theirs), **_NUMPY, "__name__": ours.__name__}
    own = {k: x for k, x in vars(theirs).items() if getattr(x, "__module__", None) == theirs.__name__}
    functions = {k: f for k, f in own.items() if not isinstance(f, type)}
    for k, function in functions.items():
        names[k] = _over(getattr(function, "_implementation", function), names)  # behind NumPy's protocol
    base_names = {**vars(_polybase), **_NUMPY, **names}
    for k in own.keys() - functions.keys():
        names[k] = base_names[k] = _class_over(own[k], base_names) if issubclass(own[k], _BASE) else own[k]
    vars(ours).update({k: value for k, value in names.items() if k not in _NUMPY})
    vars(ours).update({k: _served(function, names[k]) for k, function in functions.items()})
    return ours


def _registered(name: str):
    """Return the module over one of NumPy's, which can be imported by its name from here on."""
    module = _module_over(getattr(np.polynomial, name), name)
    sys.modules[module.__name__] = module
    return module


polyutils: Any = _registered("polyutils")
_NUMPY["pu"] = polyutils  # first, as the others use it
polynomial: Any = _registered("polynomial")
chebyshev: Any = _registered("chebyshev")
legendre: Any = _registered("legendre")
hermite: Any = _registered("hermite")
hermite_e: Any = _registered("hermite_e")
laguerre: Any = _registered("laguerre")
Polynomial: type[np.polynomial.Polynomial] = polynomial.Polynomial
Chebyshev: type[np.polynomial.Chebyshev] = chebyshev.Chebyshev
Legendre: type[np.polynomial.Legendre] = legendre.Legendre
Hermite: type[np.polynomial.Hermite] = hermite.Hermite
HermiteE: type[np.polynomial.HermiteE] = hermite_e.HermiteE
Laguerre: type[np.polynomial.Laguerre] = laguerre.Laguerre
set_default_printstyle: Callable[[Literal["ascii", "unicode"]], None] = np.polynomial.set_default_printstyle
