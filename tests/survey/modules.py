"""Modules of the survey, their public functions, and the expression of each."""

import importlib
import inspect
import types

import numpy as np

from anyshape.numpy import serve, special
from tests.survey import distributions, rows_numpy, rows_scipy

MODULES = {
    "numpy": rows_numpy.NUMPY,
    "numpy.linalg": rows_numpy.LINALG,
    "numpy.fft": rows_numpy.FFT,
    "scipy.special": rows_scipy.SPECIAL,
    "scipy.linalg": rows_scipy.LINALG,
    "scipy.fft": rows_scipy.FFT,
    "scipy.signal": rows_scipy.SIGNAL,
    "scipy.ndimage": rows_scipy.NDIMAGE,
    "scipy.integrate": rows_scipy.INTEGRATE,
    "scipy.interpolate": rows_scipy.INTERPOLATE,
    "scipy.optimize": rows_scipy.OPTIMIZE,
    "scipy.spatial.distance": rows_scipy.DISTANCE,
    "scipy.sparse.linalg": rows_scipy.SPARSE_SOLVERS,
    "scipy.cluster.vq": rows_scipy.CLUSTER,
    "scipy.stats": rows_scipy.STATS,
}
TOLERANCES = {"scipy.optimize": 1e-5, "scipy.integrate": 1e-7}
BY_PARAMETER = {"a2": "y", "arr2": "y", "ar2": "y", "v2": "y", "x2": "y", "test_elements": "y", "b": "y", "y": "y"}
CLASSES = {  # that programs call as functions
    "scipy.interpolate": set(rows_scipy.INTERPOLATE),
    "scipy.stats": {"gaussian_kde"},
}


def pair(module, name):
    """Return what a name stands for here and in the module of NumPy or SciPy."""
    return [getattr(importlib.import_module(m), name, None) for m in (f"anyshape.{module}", module)]


def functions(module):
    """Return the names of the functions that take arrays in a module of NumPy or SciPy, sorted."""
    members = importlib.import_module(module)
    public = getattr(members, "__all__", None) or dir(members)
    without = rows_numpy.NO_ARRAYS | rows_scipy.NO_ARRAYS | set(distributions.names())
    classes = CLASSES.get(module, set())
    names = {name for name in public if name[0] != "_" and is_function(getattr(members, name))} | classes
    return sorted(names - without)


def is_function(member):
    """Return whether a member of a module is a function: no class, module or constant."""
    return callable(member) and not isinstance(member, type | types.ModuleType)


def has_counterpart(module, name):
    """Return whether a function of NumPy or SciPy has a counterpart for traced arrays."""
    if module.startswith("numpy"):
        return name in serve.HOMES[module] or name == "row_stack"  # which calls vstack
    try:
        ours = importlib.import_module(f"anyshape.{module}")
    except ModuleNotFoundError:
        return False
    if module == "scipy.special" and name in special.__all__:
        return True
    member = getattr(ours, name, None)
    return getattr(member, "__module__", "").startswith("anyshape")


def expression_for(module, name):
    """Return the expression of a function: its row, or one by its signature; None without a counterpart."""
    if not has_counterpart(module, name):
        return None
    if name in MODULES[module]:
        return MODULES[module][name]
    function = pair(module, name)[1]
    if isinstance(function, np.ufunc):
        return f"F({', '.join('xyab'[: function.nin])})"
    parameters = inspect.signature(function).parameters.values()
    required = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return f"F({', '.join(BY_PARAMETER.get(p.name, 'x') for p in required)})"
