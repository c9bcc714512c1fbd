"""Pages that list the functions of `anyshape.numpy`, `anyshape.scipy` and `anyshape.ops`, read from the objects."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from tools.site.doctests import fenced


class Listed(NamedTuple):
    """A page, its title, and the modules whose functions it has."""

    page: str
    title: str
    modules: tuple[str, ...]


PAGES = (
    Listed("numpy", "numpy", ("anyshape.numpy",)),
    Listed("numpy_linalg", "numpy.linalg and numpy.fft", ("anyshape.numpy.linalg", "anyshape.numpy.fft")),
    Listed("special", "scipy.special", ("anyshape.numpy.special",)),
    *(
        Listed(f"scipy_{name.replace('.', '_')}", f"scipy.{name}", (f"anyshape.scipy.{name}",))
        for name in (
            "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial.distance",
            "stats",
        )
    ),
    Listed("ops", "Primitives", ("anyshape.ops",)),
)  # fmt: skip


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {f"reference/{p.page}.md": page(p) for p in PAGES}


def page(listed: Listed) -> str:
    """Return the text of one page."""
    parts = [f"# {listed.title}", ""]
    for name in listed.modules:
        module = importlib.import_module(name) if name != "anyshape.numpy.special" else _special()
        summary = fenced(inspect.getdoc(module) or "")
        own = list(functions(module))
        parts += [f"`{name}`: {len(own)} names of its own.", "", summary, ""]
        for key, value in own:
            parts += [f"## `{key}` {{#{name}.{key}}}", "", *described(key, value)]
    return "\n".join(parts)


def _special() -> Any:
    return importlib.import_module("anyshape.numpy").special


def functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public names that anyshape defines itself, in order, with what they are."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    for name in sorted(names, key=str.lower):
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or type(value).__module__
        if callable(value) and (home.startswith("anyshape") or type(value).__module__.startswith("anyshape")):
            yield name, value


def described(name: str, value: Any) -> list[str]:
    """Return the signature and the docstring of a function."""
    try:
        signature = str(inspect.signature(value).replace(return_annotation=inspect.Signature.empty))
    except (TypeError, ValueError):
        signature = "(...)"
    return [f"```python\n{name}{bare(signature)}\n```", "", fenced(inspect.getdoc(value) or ""), ""]


def bare(signature: str) -> str:
    """Return a signature without annotations."""
    return signature.replace(": 'Any'", "")
