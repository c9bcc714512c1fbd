"""Map NumPy's functions that few programs use to their counterparts; loaded at the first use of one."""

import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anyshape.numpy import editing, fft, folds, grids, polynomial, random, special_ufuncs
from anyshape.numpy.analysis import elements, histograms, polynomials, signals

# the modules of anyshape.numpy that stand for modules of NumPy, by name
NAMESPACES: Mapping[str, types.ModuleType] = {"fft": fft, "polynomial": polynomial, "random": random}
OBJECTS: Mapping[str, Any] = {
    **grids.OBJECTS,
    **elements.OBJECTS,
    **editing.OBJECTS,
    "apply_along_axis": editing.apply_along_axis,  # whose function may read traced values where no argument is traced
}  # that NumPy's protocol does not reach

METHODS = folds.METHODS  # of ufuncs
UFUNCS, SPECIAL = special_ufuncs.UFUNCS, special_ufuncs.FUNCTIONS

_HOMES: tuple[tuple[types.ModuleType, types.ModuleType], ...] = (
    (fft, np.fft),
    (signals, np),
    (polynomials, np),
    (grids, np),
    (editing, np),
    (elements, np),
    (histograms, np),
    (editing, np),
    (editing, np.lib.stride_tricks),
)

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(home, name): f
    for module, home in _HOMES
    for name, f in vars(module).items()
    if name[0] != "_" and getattr(f, "__module__", "") == module.__name__ and hasattr(home, name)
}
