"""Run plain Python functions of other packages on traced arrays.

A copy of such a function has its code. In the globals of the copy, NumPy and its like stand for what serves traced
arrays. Helpers are copied in the same way, when the code first names them. This is the only home of such access: copies
name helpers that are private there. So releases count that the tests pass with, and others where the code is the same.

Where the code raises an error if a condition holds, the copy checks the condition in each run if values decide on it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.sizes.symdim import min_dim
from anyshape.ops.control import check
from anyshape.support.packages import load

if TYPE_CHECKING:
    from pathlib import Path  # which takes 5 ms to load

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


def _parsed(function: types.FunctionType) -> Any:
    """Return the syntax of a function."""
    return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]


def digest(function: types.FunctionType) -> str:
    """Return a digest of the code of a function, equal in all versions of Python."""
    text = f"{function.__qualname__}{_outline(_parsed(function))}"
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


# -- conditions of errors


class _Conditions(ast.NodeTransformer):
    """Tests of statements that raise, and calls of `float` and `bool`, so that they do not ask for traced numbers."""

    def __init__(self, name: str) -> None:
        self._name = name

    def visit_If(self, node: ast.If) -> ast.AST:
        """Change a test whose statement raises."""
        self.generic_visit(node)
        if isinstance(last := node.body[-1], ast.Raise):
            text = last.exc.args[0] if isinstance(last.exc, ast.Call) and last.exc.args else node.test
            if isinstance(text, ast.Name):  # of the message, or of what is wrong
                set_before = [s.value for s in node.body if isinstance(s, ast.Assign) and _is_name(s, text.id)]
                text = set_before[-1] if set_before else node.test
            message = ast.Constant(f"{self._name}: {ast.unparse(text).strip('f' + chr(34) + chr(39))}")
            node.test = _call("_refuses", self._untested(node.test), message)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Change a conversion to a number of Python."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("float", "bool"):
            node.func.id = f"_{node.func.id}"
        return node

    def _untested(self, test: ast.expr) -> ast.expr:
        """Return a test whose parts are joined as values."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _call("_not", self._untested(operand))
            case ast.BoolOp(op=ast.Or(), values=values):
                return _call("_either", *[ast.Lambda(_NO_PARAMETERS, self._untested(value)) for value in values])
            case ast.BoolOp(values=values):
                opposite = ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), value) for value in values])
                return self._untested(ast.UnaryOp(ast.Not(), opposite))
        return test


def _is_name(assignment: ast.Assign, name: str) -> bool:
    """Return whether a name alone is set."""
    return [getattr(target, "id", None) for target in assignment.targets] == [name]


_NO_PARAMETERS = ast.arguments([], [], None, [], [], None, [])


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _refuses(condition: Any, message: str) -> Any:
    """Return whether a condition holds that raises an error; of a traced one each run checks that it does not."""
    if not isinstance(condition, Traced):
        return condition
    check(_not(condition), message)
    return False


def _not(value: Any) -> Any:
    return np.logical_not(value) if isinstance(value, Traced) else not value


def _float(value: Any) -> Any:
    return np.multiply(value, 1.0) if isinstance(value, Traced) else float(value)


def _bool(value: Any) -> Any:
    return min_dim(value, 1) if isinstance(value, SymbolicSize) else bool(value)


def _either(*tests: Callable[[], Any]) -> Any:
    """Return whether one of some tests holds; tests behind one that is known to hold are not asked."""
    result: Any = False
    for test in tests:
        if isinstance(value := test(), Traced):
            result = value | result
        elif value:
            return True
    return result


def _code(function: types.FunctionType) -> types.CodeType:
    """Return the code of a function, in which conditions of errors may be traced."""
    code = function.__code__
    if function.__closure__ or not any(name == "float" or name.endswith("Error") for name in code.co_names):
        return code
    tree = _Conditions(function.__name__).visit(_parsed(function))
    tree.decorator_list, tree.args.defaults, tree.args.kw_defaults = [], [], [None] * len(tree.args.kwonlyargs)
    module = ast.increment_lineno(ast.fix_missing_locations(ast.Module([tree], [])), code.co_firstlineno - 1)
    whole = compile(module, code.co_filename, "exec")  # annotations are not evaluated, as in this module
    return next(part for part in whole.co_consts if isinstance(part, types.CodeType))


# -- copies


class _Names(dict[str, Any]):
    """Globals of the copies from one module, each bound at its first use."""

    def __init__(self, source: Source, originals: dict[str, Any]) -> None:
        super().__init__(_refuses=_refuses, _not=_not, _either=_either, _float=_float, _bool=_bool)
        self["__package__"] = originals["__package__"]  # of relative imports inside of functions
        self["__builtins__"] = {**vars(builtins), "__import__": lambda *names: source.bind(__import__(*names))}
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
        member, value = getattr(type(self._instance), name, None), getattr(self._instance, name)
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
    - `served`: public modules of the package, with the modules whose own names stand for theirs.
    """

    def __init__(
        self,
        name: str,
        tested: tuple[str, ...],
        digests: Path,
        modules: Mapping[str, Any],
        helpers: Mapping[str, Any],
        ignored: tuple[str, ...] = (),
        served: Mapping[str, str] = types.MappingProxyType({}),
    ) -> None:
        self.name, self.tested, self.digests = name, tested, digests
        self.modules, self.helpers, self.ignored, self.served = modules, helpers, ignored, served
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
            copy = types.FunctionType(_code(original), names, original.__name__, defaults, cells or None)
            copy.__kwdefaults__ = {k: self.bind(v) for k, v in (original.__kwdefaults__ or {}).items()}
            self._copies[original] = copy = copy if original is function else self._without(copy)
        return copy

    def _without(self, copy: Function) -> Function:
        """Return a copy of a decorated function that takes and ignores what its decorators take."""
        return lambda *args, **kwargs: copy(*args, **{k: v for k, v in kwargs.items() if k not in self.ignored})

    def bind(self, value: Any) -> Any:
        """Return what stands for a value in the code of a copy."""
        match value:
            case types.ModuleType():
                return self.modules.get(value.__name__) or _View(self, value)
            case dict():
                return {key: self.bind(member) for key, member in value.items()}
            case list():
                return [self.bind(member) for member in value]
        home = getattr(value, "__module__", None)
        return value if not isinstance(home, str) or isinstance(value, type) else self._bound(home, value)

    def _bound(self, home: str, value: Any) -> Any:
        """Return what stands for a value that was made in a module."""
        if home in self.modules:
            return getattr(self.modules[home], value.__name__, value)
        if home.partition(".")[0] != self.name:
            return value
        helper = self.helpers.get(getattr(value, "__qualname__", "")) or own_of(self.served, home, value)
        return helper or (self.copy(value) if isinstance(value, types.FunctionType) else value)


def own_of(served: Mapping[str, str], home: str, value: Any) -> Any:
    """Return the function that serves one made in a module of another package, None without one.

    `served` has public modules of the package, with the modules of anyshape whose own names stand for theirs.
    """
    while home not in served and home:
        home = home.rpartition(".")[0]
    name = getattr(value, "__name__", "")
    if not home or getattr(sys.modules[home], name, None) is not value:
        return None
    module = load(served[home])
    return getattr(module, name) if name in getattr(module, "__all__", dir(module)) else None
