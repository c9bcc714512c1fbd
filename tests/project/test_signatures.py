"""Functions have the parameters of NumPy's and SciPy's functions of their names, in their order, and a docstring."""

import importlib
import inspect
import pickle
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import anyshape

PACKAGES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.random",
    *(
        f"scipy.{name}"
        for name in ("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "spatial.distance")
    ),
    "scipy.sparse.linalg", "scipy.special", "scipy.stats",
)  # fmt: skip
LEFT_OUT = {
    "scipy.signal.lombscargle": {"precenter"},  # SciPy deprecates it
}


def functions(package: str) -> Iterator[tuple[str, Any, Any]]:
    """Give the names of functions of a package that are not the ones of NumPy and SciPy, with both functions."""
    ours, theirs = importlib.import_module(f"anyshape.{package}"), importlib.import_module(package)
    for name in sorted({*dir(ours)} & {*getattr(theirs, "__all__", dir(theirs))}):
        own, other = getattr(ours, name), getattr(theirs, name)
        if own is not other and callable(own) and not (isinstance(own, type) and issubclass(own, np.generic)):
            yield name, own, other


def parameters(function: Any) -> dict[str, Any] | None:
    """Return the parameters of a function by name, None for one without a signature."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None


def problem(own: Any, other: Any, left_out: set[str]) -> str:
    """Return what a user of the other function would miss."""
    mine, theirs = parameters(own), parameters(other)
    if theirs is None or isinstance(other, np.ufunc):  # NumPy knows no names of the operands of SciPy's ufuncs
        return ""
    if mine is None:
        return "has no signature"
    if missing := _missing(mine, theirs) - left_out:
        return f"lacks {', '.join(sorted(missing))}"
    return _order(mine, theirs)


def _order(mine: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Return the order of the common parameters that may stand without a name, where it is another one."""
    common = [x for x in mine if x in theirs and mine[x].kind is not inspect.Parameter.KEYWORD_ONLY]
    return "" if common == [x for x in theirs if x in common] else f"has another order: {', '.join(common)}"


def _missing(mine: dict[str, Any], theirs: dict[str, Any]) -> set[str]:
    """Return the names that calls by keyword may use and that a function does not take."""
    unnamed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in mine.values()):
        return set()
    return {name for name, p in theirs.items() if p.kind not in unnamed and name not in mine}


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_have_the_parameters_of_the_ones_that_they_stand_for(package):
    wrong, count = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that SciPy deprecates
        for name, own, other in functions(package):
            count += 1
            lack = problem(own, other, LEFT_OUT.get(f"{package}.{name}", set()))
            wrong += [f"{package}.{name} {lack}"] if lack else []
            wrong += [] if inspect.getdoc(own) else [f"{package}.{name} has no docstring"]
    assert count > 3
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ["linalg", "fft", "signal", "ndimage", "integrate", "interpolate", "optimize"])
def test_served_functions_are_pickled_by_name(package):
    module = importlib.import_module(f"anyshape.scipy.{package}")
    own = [getattr(module, name) for name in module.__all__]
    functions = [f for f in own if inspect.isfunction(f)]
    assert [f.__name__ for f in functions if pickle.loads(pickle.dumps(f)) is not f] == []
    assert len(functions) > 5


def test_docstrings_name_every_parameter_and_show_a_call():
    lacking = []
    for name in anyshape.__all__:
        value = getattr(anyshape, name)
        if not callable(value) or (isinstance(value, type) and issubclass(value, Exception)):
            continue
        text = inspect.getdoc(value) or ""
        unnamed = [p for p in parameters(value) or () if not re.search(rf"`{p}\b|\b{p}(=|\(|: |, )", text)]
        lacking += [f"{name}: {', '.join(unnamed)}"] * bool(unnamed) + [f"{name}: an example"] * (">>> " not in text)
    assert lacking == []
