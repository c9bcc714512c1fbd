"""Run programs on plain NumPy and log every question that their Python asks about sizes.

For such a run sizes are ints that log questions, and attribute accesses and subscripts are instrumented. The log is
the path of Python: runs with equal logs execute the same lines with the same numbers.
"""

import ast
import math
import operator
from typing import Any

import numpy as np


class Size(int):
    """An int that came from a shape; arithmetic returns further ones, and questions are logged."""

    log: list[Any] = []
    __array_ufunc__ = None  # NumPy then calls the operators of this class

    def __hash__(self):
        return hash(log_answer("value", int.__int__(self)))

    def __int__(self):
        return log_answer("value", int.__add__(self, 0))

    __index__ = __int__

    def __float__(self):
        return float(int(self))

    def __bool__(self):
        return log_answer("bool", int.__bool__(self))

    def __round__(self, digits=None):
        return self

    def bit_length(self):
        return int(self).bit_length()


class Quotient(float):
    """A float that is a size divided by a number; comparisons are questions, and whole parts are sizes."""

    def __bool__(self):
        return log_answer("bool", float.__bool__(self))

    def __int__(self):
        log_answer("from the end", float.__lt__(self, 0.0))  # truncation of negative sizes is another formula
        return log_answer("value", float.__int__(self))


def plain(x):
    """Return the value as plain ints and floats."""
    if isinstance(x, Size):
        return int.__add__(x, 0)
    if isinstance(x, Quotient):
        return float.__add__(x, 0.0)
    if type(x) in (list, tuple):
        return type(x)(map(plain, x))
    return {k: plain(v) for k, v in x.items()} if type(x) is dict else x


def log_answer(kind, answer):
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
            log_answer("zero", plain(self if name.startswith("__r") else others[0]) == 0)
        value = of_ints(self, *others)
        if isinstance(value, tuple):
            return tuple(map(Size, value))
        return Size(value) if type(value) is int else Quotient(value) if type(value) is float else value

    return method


def _in_order(name, size, array):
    return (array, size) if name.startswith("__r") else (size, array)


def _answered(name, kind=int):
    of_kind, operation = getattr(kind, name), getattr(operator, name)

    def method(self, other):
        if isinstance(other, np.ndarray | np.generic):
            return operation(plain(self), other)
        if isinstance(other, float):
            return log_answer(name, operation(plain(self), plain(other)))
        answer = of_kind(self, other)
        return answer if answer is NotImplemented else log_answer(name, answer)

    return method


def _on_bits(name):
    of_ints = getattr(int, name)

    def method(self, other):
        if type(other) is int and _is_arithmetic(name, other):
            return Size(of_ints(plain(self), other))
        return of_ints(int(self), int(other)) if isinstance(other, int) else NotImplemented

    return method


def _is_arithmetic(name, number):
    """Return whether an operator on the bits of a size and a number is a division, a product or a remainder."""
    shifts, masks = ("__lshift__", "__rshift__"), ("__and__", "__rand__")
    return (name in shifts and 0 <= number < 62) or (name in masks and number >= 0 == number & (number + 1))


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
    """NumPy with plain sizes; reductions of a shape return a size."""

    def __getattr__(self, name):
        function = getattr(np, name)
        if not callable(function) or isinstance(function, type):
            return function

        def called(*args, **kwargs):
            result = function(*plain(args), **plain(kwargs))
            of_shape = name in ("sum", "prod", "max", "min") and type(args[0]) is tuple
            return Size(result) if of_shape and args[0] else result

        return called


def shape_of(x):
    return tuple(map(Size, x.shape)) if isinstance(x, np.ndarray | np.generic) else x.shape


def size_of(x):
    return Size(x.size)


def length(x):
    return log_answer("value", len(x)) if isinstance(x, np.ndarray) else len(x)


def rows_of(x):
    """Return a length that Python compares at once: only the comparison is a question."""
    return Size(len(x)) if isinstance(x, np.ndarray) else len(x)


def left_of(x):
    """Return the left side of a comparison; `float` would answer one with a size without a question."""
    return Quotient(x) if type(x) is float else x


def steps(*bounds):
    return range(*[int(b) for b in bounds])


def key(*parts):
    """Return a subscript; a symbolic bound logs the question whether it counts from the end."""
    for part in parts:
        for bound in (part.start, part.stop) if isinstance(part, slice) else (part,):
            if isinstance(bound, Size):
                log_answer("from the end", plain(bound) < 0)
    return parts if len(parts) != 1 else parts[0]


def _decided(node):
    """Return an expression that Python decides on; a call of `len` there is a question of its truth alone."""
    if isinstance(node, ast.BoolOp):
        node.values = [*map(_decided, node.values)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        node.func.id = "rows_of"
    return node


def _is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) is int


class _Instrument(ast.NodeTransformer):
    def visit_Compare(self, node):
        by_order = not isinstance(node.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot)
        if len(node.ops) == 1 and by_order and _is_number(node.comparators[0]):
            node.left = _decided(node.left)
        if len(node.ops) == 1 and by_order and _is_number(node.left):
            node.comparators = [_decided(node.comparators[0])]
        self.generic_visit(node)
        if by_order:
            node.left = ast.Call(ast.Name("left_of", ast.Load()), [node.left], [])
        return node

    def _visit_test(self, node):
        node.test = _decided(node.test)
        return self.generic_visit(node)

    visit_If = visit_While = visit_IfExp = _visit_test

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            node.operand = _decided(node.operand)
        return self.generic_visit(node)

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
    """Return a function of the arguments that runs the source and returns its path."""
    tree = ast.fix_missing_locations(_Instrument().visit(ast.parse(source)))
    space: dict[str, Any] = {
        "np": _Numpy(), "anp": _Numpy(), "math": math, "shape_of": shape_of, "size_of": size_of, "len": length,
        "rows_of": rows_of, "left_of": left_of,
        "range": steps, "key": key,
    }  # fmt: skip
    exec(compile(tree, "<logged>", "exec"), space)

    def run(*args, **kwargs):
        Size.log = []
        space[name](*args, **kwargs)
        return tuple(Size.log)

    return run
