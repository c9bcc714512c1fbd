"""Functions have the parameters of NumPy's and SciPy's functions of their names, in their order, and a docstring."""

import importlib
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

PACKAGES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.random",
    *(
        f"scipy.{name}"
        for name in ("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "spatial.distance")
    ),
    "scipy.sparse.linalg", "scipy.special", "scipy.stats",
)  # fmt: skip
_OF_DECORATOR = {"axis", "nan_policy", "keepdims"}  # which SciPy's decorator adds to tests; concrete calls take them
LEFT_OUT = {
    "scipy.signal.lombscargle": {"precenter"},  # SciPy deprecates it
    **{
        f"scipy.stats.{name}": _OF_DECORATOR
        for name in (
            "bartlett", "chisquare", "combine_pvalues", "f_oneway", "jarque_bera", "kurtosistest", "levene",
            "linregress", "normaltest", "pointbiserialr", "power_divergence", "siegelslopes", "skewtest",
            "theilslopes", "ttest_1samp", "ttest_ind", "ttest_rel",
        )
    },
}  # fmt: skip


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
    if not inspect.getdoc(own):
        return "has no docstring"
    mine, theirs = parameters(own), parameters(other)
    if theirs is None or isinstance(other, np.ufunc):
        return "" if mine is not None or theirs is None else "has no signature"
    if mine is None:
        return "has no signature"
    kinds = {p.kind for p in mine.values()}
    by_name = [p.name for p in theirs.values() if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [x for x in by_name if x not in mine and x not in left_out]
    if missing and inspect.Parameter.VAR_KEYWORD not in kinds:
        return f"lacks {', '.join(missing)}"
    common = [x for x in mine if x in theirs and mine[x].kind is not inspect.Parameter.KEYWORD_ONLY]
    return "" if common == [x for x in theirs if x in common] else f"has another order: {', '.join(common)}"


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_have_the_parameters_of_the_ones_that_they_stand_for(package):
    wrong, count = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that SciPy deprecates
        for name, own, other in functions(package):
            count += 1
            lack = problem(own, other, LEFT_OUT.get(f"{package}.{name}", set()))
            wrong += [f"{package}.{name} {lack}"] if lack else []
    assert count > 3
    assert not wrong, "\n".join(wrong)
