"""Tests that a function made from a tree is as the user's own, with the changes of the tree."""

import ast
import copy
import textwrap
import traceback

import pytest

from anyshape.tracing.source.find import syntax_of
from anyshape.tracing.source.rebuild import bound, built, compiled

SCALE = 2


def rebuilt(function, change=lambda node: None, extra=None):
    """A function made from a changed copy of its tree."""
    read = syntax_of(function.__code__, function.__globals__)
    assert not isinstance(read, str), read
    node = copy.deepcopy(read.node)
    if isinstance(node, ast.Lambda):
        result = ast.copy_location(ast.Return(node.body), node.body)
        node = ast.copy_location(ast.FunctionDef("made", node.args, [result], [], None), node)
        node.type_params = []
    change(node)
    return built(ast.fix_missing_locations(node), read, function, function.__code__, extra or {})


def moved_inside(node):
    """The body becomes a function in the function, as bodies of loops do."""
    call = ast.parse("return __kept_1()").body
    inner = ast.parse("def __kept_1(): pass").body[0]
    inner.body = node.body
    for new in (inner, *call):
        ast.copy_location(new, node.body[0])
    node.body = [inner, *call]


def doubled(node):
    """All results go through the function `twice` of the run-time part."""
    for part in ast.walk(node):
        if isinstance(part, ast.Return):
            call = ast.parse("__anyshape__.twice(0)", mode="eval").body
            call.args = [part.value]
            part.value = ast.copy_location(call, part.value)


class Twice:
    def twice(self, x):
        return 2 * x


EXTRA = {"__anyshape__": Twice()}


def test_what_a_function_has_is_shared():
    def f(x: float, y=(1, 2), *, key=3) -> "int":
        """Text."""
        return x, y, key

    f.note = [1]
    f.__doc__, f.__qualname__, f.__module__, f.__name__ = "Other text.", "a.b", "somewhere", "renamed"
    g = rebuilt(f)
    assert g is not f and g(0) == (0, (1, 2), 3)
    for name in ("doc", "qualname", "module", "name", "globals", "defaults", "kwdefaults", "annotations", "dict"):
        assert getattr(g, f"__{name}__") == getattr(f, f"__{name}__"), name
    assert g.__globals__ is f.__globals__ and g.__dict__ is f.__dict__
    assert g.__code__ == f.__code__
    assert (g.__code__.co_filename, g.__code__.co_qualname) == (f.__code__.co_filename, f.__code__.co_qualname)


@pytest.mark.parametrize("change", [lambda node: None, moved_inside], ids=["unchanged", "moved"])
def test_cells_are_shared_also_those_assigned_later(change):
    def outer():
        def f():
            nonlocal count
            count += 1
            return late

        count = 0
        g = rebuilt(f, change)
        late = 7
        return f, g, lambda: count

    f, g, count = outer()
    assert (f(), g(), count()) == (7, 7, 2)


def test_globals_are_read_live(monkeypatch):
    f = rebuilt(lambda x: x * SCALE)
    assert f(3) == 6
    monkeypatch.setitem(globals(), "SCALE", 5)
    assert f(3) == 15 and "__anyshape__" not in globals()


@pytest.mark.parametrize("change", [lambda node: None, moved_inside], ids=["unchanged", "moved"])
def test_private_names_are_mangled(change):
    class _Account:
        def __init__(self):
            self.__sum = 3

        def get(self, __add=1):
            return self.__sum + __add

    assert rebuilt(_Account.get, change)(_Account()) == 4
    assert rebuilt(_Account.get, change, EXTRA)(_Account(), _Account__add=2) == 5


def test_super_without_arguments():
    class Base:
        def get(self):
            return 1

    class Child(Base):
        def get(self):
            return super().get() + (__class__ is Child)

    f = rebuilt(Child.get, doubled, EXTRA)
    assert f(Child()) == 4
    Child.get = f
    assert Child().get() == 4


def test_further_names_are_variables_around_the_function():
    def factorial(n):
        return n * factorial(n - 1) if n else 1

    g = rebuilt(factorial, doubled, EXTRA)
    assert g(3) == 2 * 6 and g.__code__.co_freevars == ("__anyshape__", "factorial")
    assert rebuilt(lambda x: x + 1, doubled, EXTRA)(1) == 4
    assert rebuilt(uses_itself, doubled, EXTRA)(3) == 2 * 6 and "uses_itself" in uses_itself.__code__.co_names


def uses_itself(n):
    return n * uses_itself(n - 1) if n else 1


class Named:
    """Class whose methods name it."""

    def get(self):
        return Named, self.__class__.__name__


def test_classes_that_methods_name_stay_globals(monkeypatch):
    assert rebuilt(Named.get, doubled, EXTRA)(Named()) == (Named, "Named") * 2
    g = rebuilt(Named.get, moved_inside, EXTRA)
    own = Named()
    monkeypatch.setitem(globals(), "Named", "other")
    assert g(own) == ("other", "Named")


def test_tracebacks_name_the_function_and_its_lines():
    def f(x):
        y = x + 1
        return y / 0

    g = rebuilt(f, moved_inside)
    with pytest.raises(ZeroDivisionError) as error:
        g(1)
    frames = traceback.extract_tb(error.tb)[1:]
    assert [frame.name for frame in frames] == ["f", "f"]
    assert [frame.filename for frame in frames] == [__file__, __file__]
    assert (frames[-1].lineno, frames[-1].line, frames[-1].colno) == (
        f.__code__.co_firstlineno + 2, "return y / 0", 15,
    )  # fmt: skip


def test_names_of_functions_inside():
    def f(x):
        def inner():
            return [lambda: x][0]

        class Local:
            def get(self):
                return x

        return inner, inner(), Local, Local.get

    before = [g.__qualname__ for g in f(1)]
    assert [g.__qualname__ for g in rebuilt(f)(1)] == before
    moved = rebuilt(f, moved_inside)
    assert [g.__qualname__ for g in moved(1)] == before
    assert not any("__kept" in code.co_qualname for code in moved.__code__.co_consts if hasattr(code, "co_name"))


def test_a_lambda_is_named_as_one():
    f = lambda x: 1 / x
    g = rebuilt(f)
    assert (g.__name__, g.__code__.co_name, g.__code__.co_firstlineno) == (
        "<lambda>",
        "<lambda>",
        f.__code__.co_firstlineno,
    )
    assert g.__code__.co_qualname == f.__code__.co_qualname


def test_decorators_are_not_called_again():
    calls = []

    def noted(function):
        calls.append(function)
        return function

    @noted
    def f(x):
        return x

    g = rebuilt(f)
    assert calls == [f] and g.__code__.co_firstlineno == f.__code__.co_firstlineno


def test_future_flags_are_of_the_file():
    space = {"__name__": "made"}
    source = textwrap.dedent("""
    from __future__ import annotations
    def f(x: Missing):
        def g(y: AlsoMissing): return y
        return g
    """)
    code = compile(source, "<future>", "exec")
    exec(code, space)
    import linecache

    linecache.cache["<future>"] = (len(source), None, source.splitlines(True), "<future>")
    try:
        assert rebuilt(space["f"])(1).__annotations__ == {"y": "AlsoMissing"}
    finally:
        del linecache.cache["<future>"]


def test_one_code_serves_many_functions():
    def make(n):
        return lambda x: x + n

    f, g = make(1), make(2)
    read = syntax_of(f.__code__, f.__globals__)
    node = ast.parse("def made(x): return __anyshape__.twice(x + n)").body[0]
    code = compiled(node, read, f.__code__, tuple(EXTRA))
    assert [bound(code, h, EXTRA)(1) for h in (f, g)] == [4, 6]


def test_trees_that_cannot_be_compiled_say_why():
    def f(x):
        return x

    def broken(node):
        node.body = [ast.Break()]

    with pytest.raises(SyntaxError, match="'break' outside loop"):
        rebuilt(f, broken)
