"""Tests that the syntax of a function is the one that its code was compiled from, and of functions made from it."""

import ast
import copy
import importlib
import linecache
import sys
import textwrap

import pytest

from anyshape.tracing.source.find import syntax_of
from anyshape.tracing.source.rebuild import Found, built


def syntax(function):
    """The syntax of a function; an error with the reason where there is none."""
    result = syntax_of(function.__code__, function.__globals__)
    assert not isinstance(result, str), result
    return result


def reason(function):
    result = syntax_of(function.__code__, function.__globals__)
    assert isinstance(result, str)
    return result


def source(function):
    return ast.unparse(syntax(function).node)


def again(function, **extra):
    """A function made from its own, unchanged tree."""
    read = syntax(function)
    return built(copy.deepcopy(read.node), read, function, function.__code__, extra)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Import a module from a text, as users do."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def make(text, name=None):
        name = name or f"plain_module_{len(names)}"
        text = textwrap.dedent(text) if isinstance(text, str) else text
        (tmp_path / f"{name}.py").write_bytes(text.encode() if isinstance(text, str) else text)
        names.append(name)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


def test_a_function(module):
    f = module("""
    import math
    SCALE = 2

    def f(x, y=1, *rest, key=None):
        'Text of f.'
        return math.sin(x) * SCALE + y
    """).f
    read = syntax(f)
    assert isinstance(read, Found) and (read.class_name, read.flags) == (None, 0)
    assert (read.node.name, read.node.lineno, read.node.col_offset) == ("f", 5, 0)
    assert syntax(f) is read
    made = again(f)
    assert made.__code__ == f.__code__ and made(0.0) == 1.0


def test_lambdas_in_one_line_are_told_apart(module):
    m = module("f, g, h = [lambda x: x + 1, lambda x: x + 2, lambda x: x + 1]")
    assert [source(f) for f in (m.f, m.g, m.h)] == ["lambda x: x + 1", "lambda x: x + 2", "lambda x: x + 1"]
    assert [syntax(f).node.col_offset for f in (m.f, m.g, m.h)] == [11, 28, 45]


def test_methods_have_mangled_names_and_super(module):
    m = module("""
    class Base:
        def get(self):
            return 1

    class Child(Base):
        __hidden = 5

        def get(self):
            return super().get() + self.__hidden

        def later(self):
            return [lambda: self.__hidden for _ in "a"][0]
    """)
    assert syntax(m.Child.get).class_name == "Child"
    assert again(m.Child.get)(m.Child()) == 6
    assert syntax(m.Child().later()).class_name == "Child"


def test_cells_are_shared(module):
    m = module("""
    def outer():
        def f():
            return late
        def put(v):
            nonlocal late
            late = v
        late = 1
        return f, put
    """)
    f, put = m.outer()
    made = again(f)
    put(7)
    assert made() == 7 and made.__closure__ == f.__closure__


def test_an_edited_file_is_refused(module, tmp_path):
    m = module("def f(x):\n    return x + 1\n", "edited")
    (tmp_path / "edited.py").write_text("def f(x):\n    return x + 22\n")
    linecache.checkcache()
    assert reason(m.f) == "its file has changed since it was imported"
