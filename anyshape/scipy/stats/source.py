"""Run the Python code of `scipy.stats` on traced arrays: functions of samples, and methods of families.

Helpers that ask for a decision on values of samples have other ones here.
"""

from __future__ import annotations

from typing import Any

from anyshape import numpy as xp
from anyshape.numpy.foreign_source import Bound, Source
from anyshape.scipy import special
from anyshape.scipy.operands.source import source_of_scipy
from anyshape.scipy.stats.distribution import Family, Form, Function, complement, exponential, positive
from anyshape.scipy.stats.sampling import along_last, count_of
from anyshape.scipy.stats.trimmed import trim_mean
from anyshape.support.packages import scipy_stats


class _Namespace:
    """Module with other functions under some names."""

    def __init__(self, module: Any, **others: Any) -> None:
        self.__dict__.update(others, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _select(conditions, functions, arrays, default=0.0):
    """Return the function of arrays whose condition holds first."""
    for condition, function in reversed(list(zip(conditions, functions, strict=True))):
        default = xp.where(condition, function(*arrays), default)
    return default


def _broadcast(arrays, axis=None, **_):
    """Return arrays of one shape, or of one shape but for an axis."""
    if axis is None:
        return xp.broadcast_arrays(*arrays)
    return [xp.moveaxis(x, -1, axis) for x in along_last("broadcast", arrays, axis)]


def _count(x, axis, **_):
    return count_of(x, axis).astype(x.dtype)


_SMOOTH = {"exp": exponential, "expm1": lambda x: -complement(x)}  # slopes 0 where exponentials are 0
SCIPY: Source = source_of_scipy(
    (),
    {"numpy": _Namespace(xp, **_SMOOTH), "scipy.special": _Namespace(special, **_SMOOTH)},
    {
        "_broadcast_arrays": _broadcast,
        "_broadcast_shapes": lambda shapes, axis=None: xp.broadcast_shapes(*shapes),
        "_lazyselect": _select,
        "_length_nonmasked": _count,
        "_share_masks": lambda *arrays, **_: arrays[0] if len(arrays) == 1 else arrays,
        "is_marray": lambda namespace: False,
        "size": lambda x: None,  # that is not 0: no case of its own
        "trim_mean": trim_mean,
    },
)

# -- families

_METHODS = {
    "density": "_pdf", "log_density": "_logpdf", "cdf": "_cdf", "sf": "_sf", "logcdf": "_logcdf", "logsf": "_logsf",
    "ppf": "_ppf", "isf": "_isf", "mean": "_stats", "var": "_stats", "entropy": "_entropy", "valid": "_argcheck",
    "support": "_get_support",
}  # fmt: skip


def methods_of(kind: type) -> dict[str, str]:
    """Return the names of the methods of a class of SciPy's by the fields of a form."""
    of_integers = issubclass(kind, scipy_stats.rv_discrete)
    return _METHODS | ({"density": "_pmf", "log_density": "_logpmf"} if of_integers else {})


def _lent(theirs: Bound, field: str, method: str) -> Function:
    """Return the function of a field by SciPy's method, copied at the first call."""

    def function(*xs):
        result = getattr(theirs, method)(*xs)
        return result[field == "var"] if method == "_stats" else result

    return function


def family(name: str, lent: str = "", **own: Any) -> Family:
    """Return a family: fields of its form that are lent are SciPy's methods, and so are facts that are not its own."""
    instance = getattr(scipy_stats, name)
    theirs, kind, generic = Bound(SCIPY, instance), type(instance), scipy_stats.rv_continuous
    discrete = isinstance(instance, scipy_stats.rv_discrete)
    fields = {field: _lent(theirs, field, method) for field, method in methods_of(kind).items()}
    facts = {
        "discrete": discrete,
        "shapes": (instance.shapes or "").replace(",", " "),
        "open_ends": not discrete and kind._support_mask is generic._open_support_mask,
        "support": fields["support"],
        "valid": positive if kind._argcheck is generic._argcheck else fields["valid"],
    }
    return Family(name, Form(lent=lent, **facts | {field: fields[field] for field in lent.split()} | own))
