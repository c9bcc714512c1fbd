"""Pages that list the functions of `anyshape.numpy`, `anyshape.scipy` and `anyshape.ops`, read from the objects."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import anyshape
from tests.survey import modules
from tools.site.doctests import fenced
from tools.site.examples import example, imports

SPECIAL = "anyshape.numpy.special"
WIDTH = 88  # characters of a signature on one line
INDENT: dict[str, Any] = {"initial_indent": "    ", "subsequent_indent": "    ", "break_on_hyphens": False}


class Listed(NamedTuple):
    """A page, its title, and the modules whose functions it has."""

    page: str
    title: str
    modules: tuple[str, ...]


PAGES = (
    Listed("numpy", "numpy", ("anyshape.numpy",)),
    Listed("numpy_linalg", "numpy.linalg and numpy.fft", ("anyshape.numpy.linalg", "anyshape.numpy.fft")),
    Listed("special", "scipy.special", (SPECIAL,)),
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
        module = loaded(name)
        summary = fenced(inspect.getdoc(module) or "")
        own = list(functions(module))
        source = "scipy.special" if name == SPECIAL else name.removeprefix("anyshape.")
        parts += [f"`{name}`: {len(own)} names of its own.", "", summary, ""]
        if source in modules.MODULES:
            parts += ["Examples begin with:", "", f"```python\n{imports(source)}\n```", ""]
        for key, value in own:
            parts += [f"## `{key}` {{#{name}.{key}}}", "", *described(key, value), example(source, key), ""]
    return "\n".join(parts)


def loaded(name: str) -> Any:
    """Return a module by its name: one of SciPy's that `anyshape.numpy` has too is an attribute there."""
    return anyshape.numpy.special if name == SPECIAL else importlib.import_module(name)


def links() -> dict[str, dict[str, str]]:
    """Return where each function is described, by the name of the module and its own."""
    return {
        name.removeprefix("anyshape."): {
            key: f"reference/{p.page}.md#{name}.{key}" for key, _ in functions(loaded(name))
        }
        for p in PAGES
        for name in p.modules
    }


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
    return [f"```python\n{name}{signature(value)}\n```", "", fenced(inspect.getdoc(value) or ""), ""]


def signature(value: Any) -> str:
    """Return the signature of a function without annotations, on several lines if it is long."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    text = str(inspect.Signature(bare))
    return text if len(text) < WIDTH else f"(\n{textwrap.fill(text[1:-1], WIDTH, **INDENT)}\n)"
