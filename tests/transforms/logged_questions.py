"""Programs run on plain NumPy with every question that their Python asks about sizes written down.

The source is not changed for a call of the program itself; for this run, sizes are ints that log what they are asked.
What is logged is the path of Python: runs with equal logs execute the same lines with the same numbers.
"""

import ast
import math
import operator
from typing import Any

import numpy as np


class Size(int):
    """An int that came from a shape: what is made of it is one too, and what is asked of it is logged."""

    log: list[Any] = []
    __array_ufunc__ = None  # arrays leave their operators with a size to it

    def __hash__(self):
        return hash(asked("value", int.__int__(self)))

    def __int__(self):
        return asked("value", int.__add__(self, 0))

    __index__ = __int__

    def __float__(self):
        return float(int(self))

    def __bool__(self):
        return asked("bool", int.__bool__(self))

    def __round__(self, digits=None):
        return self

    def bit_length(self):
        return int(self).bit_length()


class Quotient(float):
    """A float that is a size divided by a number: comparisons of it are questions, its whole parts are sizes."""

    def __bool__(self):
        return asked("bool", float.__bool__(self))

    def __int__(self):
        asked("from the end", float.__lt__(self, 0.0))  # truncated, which of negative sizes is another formula
        return asked("value", float.__int__(self))


def plain(x):
    """The value without the logging of questions."""
    if isinstance(x, Size):
        return int.__add__(x, 0)
    if isinstance(x, Quotient):
        return float.__add__(x, 0.0)
    if type(x) in (list, tuple):
        return type(x)(map(plain, x))
    return {k: plain(v) for k, v in x.items()} if type(x) is dict else x


def asked(kind, answer):
    """Log an answer."""
    Size.log.append((kind, answer))
    return answer


def _made(name):
    of_ints = getattr(int, name)

    def method(self, *others):
        if others and isinstance(others[0], np.ndarray | np.generic):
            return getattr(operator, name.replace("__r", "__"))(*_in_order(name, plain(self), others[0]))
        if others and isinstance(others[0], list | tuple):
            return others[0] * int(self)
        if "div" in name or "mod" in name:
            asked("zero", plain(self if name.startswith("__r") else others[0]) == 0)
        found = of_ints(self, *others)
        if isinstance(found, tuple):
            return tuple(map(Size, found))
        return Size(found) if type(found) is int else Quotient(found) if type(found) is float else found

    return method


def _in_order(name, size, array):
    return (array, size) if name.startswith("__r") else (size, array)


def _answered(name, kind=int):
    of_kind, operation = getattr(kind, name), getattr(operator, name)

    def method(self, other):
        if isinstance(other, np.ndarray | np.generic):
            return operation(plain(self), other)
        if isinstance(other, float):
            return asked(name, operation(plain(self), plain(other)))
        found = of_kind(self, other)
        return found if found is NotImplemented else asked(name, found)

    return method


def _on_bits(name):
    of_ints = getattr(int, name)

    def method(self, other):
        return of_ints(int(self), int(other)) if isinstance(other, int) else NotImplemented

    return method


def _both(*names):
    return [f"__{r}{name}__" for name in names for r in ("", "r")]


_ARITHMETIC = _both("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
for _name in [*_ARITHMETIC, "__neg__", "__pos__", "__abs__", "__invert__", "__divmod__", "__rdivmod__"]:
    setattr(Size, _name, _made(_name))
for _name in ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]:
    setattr(Size, _name, _answered(_name))
    setattr(Quotient, _name, _answered(_name, float))
for _name in ["__round__", "__floor__", "__ceil__"]:
    setattr(Quotient, _name, lambda self, name=_name: Size(getattr(float, name)(self)))
for _name in _both("and", "or", "xor", "lshift", "rshift"):
    setattr(Size, _name, _on_bits(_name))


class _Numpy:
    """NumPy, which asks nothing of sizes; what it makes of shapes alone is a size."""

    def __getattr__(self, name):
        function = getattr(np, name)
        if not callable(function) or isinstance(function, type):
            return function

        def called(*args, **kwargs):
            found = function(*plain(args), **plain(kwargs))
            shape = name in ("sum", "prod", "max", "min") and type(args[0]) is tuple
            return Size(found) if shape and args[0] else found

        return called


def shape_of(x):
    return tuple(map(Size, x.shape)) if isinstance(x, np.ndarray | np.generic) else x.shape


def size_of(x):
    return Size(x.size)


def length(x):
    return asked("value", len(x)) if isinstance(x, np.ndarray) else len(x)


def steps(*bounds):
    return range(*[int(b) for b in bounds])


def key(*parts):
    """A subscript: whether a symbolic bound counts from the end is a question to its sign."""
    for part in parts:
        for bound in (part.start, part.stop) if isinstance(part, slice) else (part,):
            if isinstance(bound, Size):
                asked("from the end", plain(bound) < 0)
    return parts if len(parts) != 1 else parts[0]


class _Instrument(ast.NodeTransformer):
    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr not in ("shape", "size"):
            return node
        return ast.Call(ast.Name(f"{node.attr}_of", ast.Load()), [node.value], [])

    def visit_Subscript(self, node):
        self.generic_visit(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        calls = [_slice_call(p) if isinstance(p, ast.Slice) else p for p in parts]
        return ast.Subscript(node.value, ast.Call(ast.Name("key", ast.Load()), calls, []), node.ctx)


def _slice_call(part):
    bounds = [b if b is not None else ast.Constant(None) for b in (part.lower, part.upper, part.step)]
    return ast.Call(ast.Name("slice", ast.Load()), bounds, [])


def compile_logged(source, name="f"):
    """The function of the source as one of (arguments) -> (result, path); an error that it raises has the path too."""
    tree = ast.fix_missing_locations(_Instrument().visit(ast.parse(source)))
    space: dict[str, Any] = {
        "np": _Numpy(), "anp": _Numpy(), "math": math, "shape_of": shape_of, "size_of": size_of, "len": length,
        "range": steps, "key": key,
    }  # fmt: skip
    exec(compile(tree, "<logged>", "exec"), space)

    def run(*args, **kwargs):
        Size.log = []
        space[name](*args, **kwargs)
        return tuple(Size.log)

    return run
