"""Map NumPy's and SciPy's functions to their counterparts for traced arrays, by name and by object."""

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from anyshape.numpy import (
    at_update,
    contraction,
    creation,
    dynamic,
    elementwise,
    indexing,
    matrices,
    movement,
    reduction,
    selection,
    sorting,
    special,
    statistics,
)
from anyshape.numpy.arrays import ufunc_methods
from anyshape.numpy.linalg import decompositions, norms, solving, variants
from anyshape.numpy.operands import array_queries

_MODULES = (
    elementwise,
    selection,
    special,
    movement,
    matrices,
    creation,
    matrices,
    indexing,
    at_update,
    array_queries,
    reduction,
    statistics,
    ufunc_methods,
    contraction,
    contraction,
    norms,
    solving,
    decompositions,
    solving,
    sorting,
    statistics,
    dynamic,
)


def _public(module: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions that a module defines under public names."""
    here = module.__name__
    return {
        name: f
        for name, f in vars(module).items()
        if name[0] != "_" and callable(f) and not isinstance(f, type) and getattr(f, "__module__", "") == here
    }


# NAMESPACE has every function by name, UFUNCS and FUNCTIONS by the NumPy or SciPy object that it stands for
NAMESPACE: dict[str, Callable[..., Any]] = {name: f for module in _MODULES for name, f in _public(module).items()}
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    home[name]: f
    for home in (vars(scipy.special), vars(np))
    for name, f in NAMESPACE.items()
    if isinstance(home.get(name), np.ufunc)
}
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    home[name]: f
    for home in (vars(np.linalg), vars(np))
    for name, f in NAMESPACE.items()
    if callable(home.get(name)) and not isinstance(home[name], (np.ufunc, type))
}
UFUNCS.update({ufunc: f for module in _MODULES for ufunc, f in getattr(module, "UFUNCS", {}).items()})
METHODS: dict[tuple[np.ufunc, str], Callable[..., Any]] = {
    key: f for module in _MODULES for key, f in getattr(module, "METHODS", {}).items()
}
FUNCTIONS.update({f: g for module in (*_MODULES, variants) for f, g in getattr(module, "FUNCTIONS", {}).items()})
