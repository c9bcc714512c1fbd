"""Add the digests of the code that anyshape borrows from the installed SciPy: `python -m tools.make_digests`.

A release that no test has run under may have the same code. `anyshape/numpy/foreign_source.py` compares digests.
"""

from __future__ import annotations

import inspect
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import scipy.stats

from anyshape.numpy.foreign_source import Source, digest
from anyshape.scipy import integrate, linalg, ndimage, optimize, signal, special, stats
from anyshape.scipy.operands import source
from anyshape.scipy.stats import lent
from anyshape.scipy.stats.distribution import Family
from anyshape.scipy.stats.source import SCIPY, methods_of

MODULES = (integrate, linalg, ndimage, optimize, signal, special)  # with rows of names that are lent


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _named(source: Source, function: types.FunctionType, owner: type) -> Iterator[Any]:
    """Yield what the code of a function may name, in its module, in modules of the package, and in its class."""
    modules = [v for v in function.__globals__.values() if isinstance(v, types.ModuleType)]
    homes = [m for m in modules if m.__name__.startswith(f"{source.name}.") and m.__name__ not in source.modules]
    for name in _names(function.__code__):
        yield function.__globals__.get(name)
        yield from (vars(home).get(name) for home in homes)
        yield getattr(owner, name, None)


def _collect(source: Source, function: Any, known: dict[Any, str], owner: type = object) -> None:
    """Note the digest of a function and of those that its code may name."""
    original = inspect.unwrap(function)
    if not isinstance(original, types.FunctionType) or not original.__module__.startswith(f"{source.name}."):
        return
    if original not in known and original.__name__ not in source.helpers:
        known[original] = digest(original)
        for member in _named(source, original, owner):
            _collect(source, member, known, owner)


def digests() -> set[str]:
    """Return the digests of all that SciPy lends."""
    known: dict[Any, str] = {}
    for module in MODULES:
        for name in module._SERVED.lent:
            _collect(source.SCIPY, getattr(module._SERVED.package, name), known)
    for name in stats.__all__:
        if name in vars(lent):
            _collect(SCIPY, getattr(scipy.stats, name), known)
        family = getattr(stats, name)
        if isinstance(family, Family):
            owner = type(getattr(scipy.stats, name))
            for field in ("valid", "support", *family.form.lent.split()):
                _collect(SCIPY, getattr(owner, methods_of(owner)[field]), known, owner)
    return set(known.values())


def main() -> None:
    """Write the file."""
    path = SCIPY.digests
    known = set(path.read_text(encoding="ascii").split()) if path.exists() else set()
    path.write_text(textwrap.fill(" ".join(sorted(known | digests())), 116) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
