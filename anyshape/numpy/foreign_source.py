"""Run plain Python functions of other packages on traced arrays.

A copy of such a function has its code. In the globals of the copy, NumPy and its like stand for what serves traced
arrays. Helpers are copied in the same way, when the code first names them. This is the only home of such access: copies
name helpers that are private there. So releases count that the tests pass with, and others where the code is the same.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line

Function = Callable[..., Any]


def _outline(node):
    """Return the syntax of code without docstrings, decorators and annotations, which mean nothing to a copy."""
    if isinstance(node, list):
        return [_outline(v) for v in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {k: v for k, v in ast.iter_fields(node) if k not in ("decorator_list", "annotation", "returns", "kind")}
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    return [type(node).__name__, *((k, _outline(v)) for k, v in sorted(fields.items()) if v not in (None, []))]


def digest(function: types.FunctionType) -> str:
    """Return a digest of the code of a function, equal in all versions of Python."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    text = f"{function.__qualname__}{_outline(tree.body[0])}"
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


class _Names(dict[str, Any]):
    """Globals of the copies from one module, each bound at its first use."""

    def __init__(self, source: Source, originals: dict[str, Any]) -> None:
        super().__init__()
        self._source, self._originals = source, originals

    def __missing__(self, name: str) -> Any:
        self[name] = value = self._source.bind(self._originals[name])
        return value


class _View:
    """Module whose attributes are bound at their first use."""

    def __init__(self, source: Source, module: Any) -> None:
        self._source, self._module = source, module

    def __getattr__(self, name: str) -> Any:
        value = self._source.bind(getattr(self._module, name))
        self.__dict__[name] = value
        return value


class Bound:
    """Object of another package whose methods are copies."""

    def __init__(self, source: Source, instance: Any) -> None:
        self._source, self._instance = source, instance

    def __getattr__(self, name: str) -> Any:
        member = getattr(type(self._instance), name, None)
        value = getattr(self._instance, name)
        if isinstance(member, types.FunctionType):
            value = types.MethodType(self._source.copy(member), self)
        self.__dict__[name] = value
        return value


class Source:
    """Package whose functions run on traced arrays, and what stands for others in their code.

    - `name`: that of the package, and `tested` the releases that the tests pass with.
    - `digests`: the file with digests of functions of these, which `python -m tools.make_digests` writes.
    - `modules`: what stands for modules, by their names.
    - `helpers`: what stands for functions of the package, by their names.
    - `ignored`: keywords that decorators take, which copies do without.
    """

    def __init__(
        self,
        name: str,
        tested: tuple[str, ...],
        digests: Path,
        modules: Mapping[str, Any],
        helpers: Mapping[str, Any],
        ignored: tuple[str, ...] = (),
    ) -> None:
        self.name: str = name
        self.tested: tuple[str, ...] = tested
        self.digests: Path = digests
        self.modules, self.helpers, self.ignored = modules, helpers, ignored
        self._copies: dict[Any, Function] = {}
        self._names: dict[str, _Names] = {}

    def _check(self, function: types.FunctionType) -> None:
        """Refuse a function that no tested release has."""
        release = sys.modules[self.name].__version__
        if release.startswith(tuple(f"{tested}." for tested in self.tested)) or digest(function) in self._digests:
            return
        problem = f"has other code in {self.name} {release} than in tested releases"
        advice = f"install a tested one: {', '.join(self.tested)}"
        raise UnsupportedFunctionError(f"{function.__module__}.{function.__qualname__}", problem, advice, user_line())

    @functools.cached_property
    def _digests(self) -> frozenset[str]:
        return frozenset(self.digests.read_text(encoding="ascii").split())

    def copy(self, function: Any) -> Function:
        """Return a function with the code of another one, for traced arrays."""
        original: Any = inspect.unwrap(getattr(function, "_implementation", function))
        copy = self._copies.get(original)
        if copy is None:
            self._check(original)
            originals = original.__globals__  # a function may be public in another module
            names = self._names.setdefault(originals["__name__"], _Names(self, originals))
            cells = tuple(types.CellType(self.bind(cell.cell_contents)) for cell in original.__closure__ or ())
            defaults = original.__defaults__ and tuple(map(self.bind, original.__defaults__))
            copy = types.FunctionType(original.__code__, names, original.__name__, defaults, cells or None)
            copy.__kwdefaults__ = {k: self.bind(v) for k, v in (original.__kwdefaults__ or {}).items()}
            self._copies[original] = copy = copy if original is function else self._without(copy)
        return copy

    def _without(self, copy: Function) -> Function:
        """Return a copy of a decorated function that takes and ignores what its decorators take."""
        return lambda *args, **kwargs: copy(*args, **{k: v for k, v in kwargs.items() if k not in self.ignored})

    def bind(self, value: Any) -> Any:
        """Return what stands for a value in the code of a copy."""
        if isinstance(value, types.ModuleType):
            return self.modules.get(value.__name__) or _View(self, value)
        home = getattr(value, "__module__", None)
        if not isinstance(home, str) or isinstance(value, type):
            return value
        if home in self.modules:
            return getattr(self.modules[home], value.__name__, value)
        if home.partition(".")[0] != self.name:
            return value
        helper = self.helpers.get(getattr(value, "__qualname__", ""))
        return helper or (self.copy(value) if isinstance(value, types.FunctionType) else value)
