"""Write the stubs of packages that find their names when they are asked for: `python -m tools.make_stubs`.

Type checkers and editors cannot run `__getattr__`. A stub says where each name comes from, so that they show its
parameters and its docstring. `tests/typing/test_stubs.py` checks that the stubs fit the installed SciPy.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scipy

ROOT = Path(__file__).parents[1]
# packages with the package of SciPy whose names they have
PACKAGES = {
    **{
        f"anyshape.scipy.{name}": f"scipy.{name}"
        for name in (
            "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
            "sparse.linalg", "spatial", "spatial.distance", "spatial.transform", "special", "stats",
        )
    },
    "anyshape.numpy.random": "numpy.random",
    "anyshape.optimize": "scipy.optimize",
}  # fmt: skip


def path_of(package: str) -> Path:
    """Return the path of the stub of a package."""
    return ROOT.joinpath(*package.split("."), "__init__.pyi")


def _public(package: str) -> list[str]:
    """Return the public names of a package of SciPy."""
    module = importlib.import_module(package)
    names = getattr(module, "__all__", None) or dir(module)
    return sorted({name for name in names if not name.startswith("_") and name != "test"})


def _home(name: str, member: Any) -> str | None:
    """Return the module of anyshape that defines a member under a name, None if none does."""
    home = str(getattr(inspect.unwrap(member) if callable(member) else member, "__module__", ""))
    if not home.startswith("anyshape."):
        return None
    defined = getattr(importlib.import_module(home), name, None)
    return home if inspect.unwrap(defined) is inspect.unwrap(member) else None


def _declared(name: str, member: Any) -> list[str]:
    """Return the declaration of a function with the first paragraph of its docstring."""
    doc = (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")
    return [f"def {name}{_signature(member)} -> Any:", f'    """{doc}"""']


def _signature(member: Any) -> inspect.Signature:
    """Return the parameters of a function without types. All that a ufunc takes after `out` are options."""
    parameters = [p.replace(annotation=Any) for p in inspect.signature(member).parameters.values()]
    if _is_ufunc(member):
        operands = [p for p in parameters if p.kind is p.POSITIONAL_ONLY]
        out = inspect.Parameter("out", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Any)
        options = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation=Any)
        parameters = [*operands, out, options]
    return inspect.Signature(parameters)


def _is_ufunc(member: Any) -> bool:
    return type(member).__name__ == "Ufunc"


def _is_made(name: str, member: Any) -> bool:
    """Return whether a function is a variable for type checkers, as another function of anyshape has made it."""
    if hasattr(member, "__signature__") and isinstance(member, types.FunctionType):
        return True  # it has the parameters of another library's function
    code = getattr(inspect.unwrap(member), "__code__", None) if callable(member) else None
    return code is not None and code.co_name != name and str(member.__module__).startswith("anyshape.")


def _lines(package: str, source: str) -> Iterator[tuple[list[str], list[str]]]:
    """Give imports and declarations of each name."""
    module = importlib.import_module(package)
    for name in dict.fromkeys([*_public(source), *getattr(module, "__all__", ())]):
        member = getattr(module, name)
        home = _home(name, member)
        kind = type(member)
        if isinstance(member, types.ModuleType) or home == package:
            parent, _, last = getattr(member, "__name__", name).rpartition(".")
            yield [f"from {parent} import {last} as {name}"], []
        elif _is_ufunc(member) or (home is not None and _is_made(name, member)):
            yield [], _declared(name, member)
        elif home is not None:
            yield [f"from {home} import {name} as {name}"], []
        elif kind.__module__.startswith("anyshape.") and not isinstance(member, types.FunctionType):
            private = "_" + kind.__name__  # the package does not have the name of the class
            yield [f"from {kind.__module__} import {kind.__name__} as {private}"], [f"{name}: {private}"]
        elif name in _public(source):
            yield [f"from {source} import {name} as {name}"], []
        else:  # a stub of the other library may lack it
            yield [], [f"{name}: Any"]


def stub_of(package: str) -> str:
    """Return the text of the stub of a package, before the formatter."""
    source = PACKAGES[package]
    doc = str(importlib.import_module(package).__doc__).partition("\n")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that SciPy deprecates
        parts = list(_lines(package, source))
    imports = {line for lines, _ in parts for line in lines}
    declarations = [line for _, lines in parts for line in lines]
    imports |= {"from typing import Any"} if any("Any" in line for line in declarations) else set()
    head = [f'"""{doc}', "", f"Written by tools/make_stubs.py for SciPy {version()}.", '"""']
    return "\n".join([*head, *sorted(imports), *declarations])


def _formatted(text: str, path: Path) -> str:
    """Return the text of a file with its imports in order, as the formatter writes it."""
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def version() -> str:
    """Return the version of SciPy up to the minor one, which decides what names there are."""
    return ".".join(scipy.__version__.split(".")[:2])


def names_in(text: str) -> list[str]:
    """Return the names that a stub declares."""
    names = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            names += [alias.asname for alias in node.names if alias.asname and alias.asname[0] != "_"]
        elif isinstance(node, ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    return names


def statements(text: str) -> list[str]:
    """Return the statements of a stub in an order of their own, whatever the formatter did."""
    return sorted(map(ast.unparse, ast.parse(text).body))


def is_for_installed(text: str) -> bool:
    """Return whether a stub was written for the SciPy that is installed."""
    return f" for SciPy {version()}." in text


if __name__ == "__main__":
    for each in PACKAGES:
        path_of(each).write_text(_formatted(stub_of(each), path_of(each)))
