"""Pages that list the functions of `anyshape.numpy`, `anyshape.scipy` and `anyshape.ops`, read from the objects."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from tools.site.doctests import fenced
from tools.site.examples import example, imports

NUMPYS = re.compile(r"^(Parameters|Returns|See Also)\n-{4,}$", re.MULTILINE)
SIGNATURE = re.compile(r"\w+\(.*\)$")
NOTES = (
    "The last line of an example has the shapes of its program. There `f64[x_0]` is a vector of float64 with any size",
    "in place of `x.shape[0]`, and `<=` stands before the bound of a size that the run decides. Shapes that do not fit",
    "raise [`SizeMismatchError`](../errors.md), at the line of the call. Dtypes that a function does not take raise",
    "`DTypeError`, and options without a meaning in a program `UnsupportedFunctionError`.",
)
WIDTH = 88  # characters of a signature on one line
INDENT: dict[str, Any] = {"initial_indent": "    ", "subsequent_indent": "    ", "break_on_hyphens": False}


class Listed(NamedTuple):
    """A page, its title, and the modules whose functions it has."""

    page: str
    title: str
    modules: tuple[str, ...]


_SCIPY = (
    ("special",), ("cluster.vq",), ("fft",), ("integrate",), ("interpolate",), ("linalg",), ("ndimage",), ("optimize",),
    ("signal", "signal.windows"), ("sparse", "sparse.linalg"), ("spatial.distance", "spatial.transform"), ("stats",),
)  # fmt: skip
PAGES = (
    Listed("numpy", "numpy", ("anyshape.numpy",)),
    Listed("numpy_linalg", "numpy.linalg and numpy.fft", ("anyshape.numpy.linalg", "anyshape.numpy.fft")),
    Listed("numpy_random", "numpy.random", ("anyshape.numpy.random",)),
    *(
        Listed(
            f"scipy_{names[0].replace('.', '_')}",
            " and ".join(f"scipy.{name}" for name in names),
            tuple(f"anyshape.scipy.{name}" for name in names),
        )
        for names in _SCIPY
    ),
    Listed("ops", "Primitives", ("anyshape.ops",)),
)


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {f"reference/{p.page}.md": page(p) for p in PAGES}


def page(listed: Listed) -> str:
    """Return the text of one page."""
    parts = [f"# {listed.title}", ""]
    for name in listed.modules:
        module = importlib.import_module(name)
        summary = fenced(inspect.getdoc(module) or "")
        own = list(functions(module))
        source = name.removeprefix("anyshape.")
        parts += [f"`{name}`: {len(own)} names of its own.", "", summary, ""]
        parts += ["Examples begin with:", "", f"```python\n{imports(source)}\n```", "", *NOTES, ""]
        for key, value in own:
            parts += [f"## `{key}` {{#{name}.{key}}}", "", *described(key, value), example(source, key), ""]
    return "\n".join(parts)


def links() -> dict[str, dict[str, str]]:
    """Return where each function is described, by the name of the module and its own."""
    return {
        name.removeprefix("anyshape."): {
            key: f"reference/{p.page}.md#{name}.{key}" for key, _ in functions(importlib.import_module(name))
        }
        for p in PAGES
        for name in p.modules
    }


def functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public names that anyshape defines itself, in order, with what they are."""
    names = {*getattr(module, "__all__", ()), *(name for name in dir(module) if not name.startswith("_"))}
    for name in sorted(names, key=lambda name: (name.lower(), name)):
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or type(value).__module__
        if callable(value) and (home.startswith("anyshape") or type(value).__module__.startswith("anyshape")):
            yield name, value


def described(name: str, value: Any) -> list[str]:
    """Return the signature and the docstring of a function."""
    return [f"```python\n{name}{signature(value)}\n```", "", fenced(own_text(value)), ""]


def own_text(value: Any) -> str:
    """Return the docstring of a function; the summary alone where it is NumPy's, whose markup is another."""
    text = inspect.getdoc(value) or ""
    if not NUMPYS.search(text):
        return text
    paragraphs = [part for part in text.split("\n\n") if not SIGNATURE.match(part)]
    return f"{paragraphs[0]} Parameters and results are NumPy's."


def signature(value: Any) -> str:
    """Return the signature of a function without annotations, on several lines if it is long."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    text = str(inspect.Signature(bare))
    return text if len(text) < WIDTH else f"(\n{textwrap.fill(text[1:-1], WIDTH, **INDENT)}\n)"
