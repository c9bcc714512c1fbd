"""Tests that the syntax of a function is the one that its code was compiled from."""

import argparse
import ast
import contextlib
import doctest
import fractions
import functools
import importlib
import importlib.machinery
import io
import linecache
import operator
import statistics
import sys
import textwrap
import threading
import types
import warnings
import zipfile
from pathlib import Path

import numpy.lib._function_base_impl
import numpy.polynomial.polynomial
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyshape.tracing.source import find
from anyshape.tracing.source.find import CHANGED, syntax_of
from anyshape.tracing.source.rebuild import Found, compiled, nested


def syntax(function):
    """The syntax of a function; an error with the reason where there is none."""
    result = syntax_of(function.__code__, function.__globals__)
    assert not isinstance(result, str), result
    return result


def reason(function):
    result = syntax_of(function.__code__, function.__globals__)
    assert isinstance(result, str), ast.unparse(result.node)
    return result


def text(function):
    """The syntax of a function as text, in one form whatever its layout was."""
    return ast.unparse(syntax(function).node)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Import a module from a text, as users do."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def make(source, name="plain_module"):
        data = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
        (tmp_path / f"{name}.py").write_bytes(data)
        names.append(name)
        importlib.invalidate_caches()
        linecache.checkcache()
        return importlib.import_module(name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


# -- where functions are ----------------------------------------------------------------------------------------------


def test_the_lines_and_columns_of_the_file(module):
    f = module("""
    import math

    if math:
        def f(x, /, y=1, *rest, key=None):
            return math.sin(x) + y
    """).f
    read = syntax(f)
    assert isinstance(read, Found)
    last = read.node.body[-1]
    assert (read.node.lineno, read.node.col_offset, last.lineno, last.col_offset) == (5, 4, 6, 8)
    assert syntax(f) is read, "read once"


def test_lambdas_in_one_line_are_told_apart(module):
    m = module("f, g, h = [lambda x: x + 1, lambda x: x + 2, lambda x: x + 1]")
    assert [text(f) for f in (m.f, m.g, m.h)] == ["lambda x: x + 1", "lambda x: x + 2", "lambda x: x + 1"]
    assert [syntax(f).node.col_offset for f in (m.f, m.g, m.h)] == [11, 28, 45]


def test_lambdas_in_lambdas_and_defaults(module):
    m = module("""
    f = lambda x, g=lambda y: y * 2: lambda z: g(x) + z
    def h(k=lambda y: y * 3): return k
    """)
    assert text(m.f) == "lambda x, g=lambda y: y * 2: lambda z: g(x) + z"
    assert [text(g) for g in (m.f.__defaults__[0], m.f(1), m.h())] == [
        "lambda y: y * 2", "lambda z: g(x) + z", "lambda y: y * 3",
    ]  # fmt: skip
    assert text(m.h) == "def h(k=lambda y: y * 3):\n    return k"


def test_lambdas_in_the_lines_of_a_statement(module):
    m = module("""
    def table():
        return {
            "two": lambda x: (
                x
                + 2
            ),
            "three": [
                lambda x: x + 3, lambda x: x * 3
            ][1],
            **dict(
                four=lambda x: x + 4)
        }
    """)
    assert {name: text(f) for name, f in m.table().items()} == {
        "two": "lambda x: x + 2", "three": "lambda x: x * 3", "four": "lambda x: x + 4",
    }  # fmt: skip


def test_lambdas_of_one_line_whose_file_has_no_columns(module):
    m = module("f, g = lambda x: x + 1, lambda x: x + 2")
    blind = m.g.__code__.replace(co_linetable=b"")
    assert ast.unparse(syntax_of(blind, vars(m)).node) == "lambda x: x + 2"


def test_decorated_functions(module):
    m = module("""
    import functools

    def logged(*, prefix):
        def decorate(function):
            @functools.wraps(function)
            def wrapper(*args):
                return prefix, function(*args)
            return wrapper
        return decorate

    @logged(
        prefix=(lambda: "a")(),
    )
    # a comment between
    @functools.lru_cache
    def f(x):
        return x
    """)
    assert text(m.f).startswith("@functools.wraps"), "only the code that is asked for"
    inner = m.f.__wrapped__.__wrapped__
    assert text(inner).startswith("@logged(") and syntax(inner).node.name == "f"


def test_methods(module):
    m = module("""
    class Base:
        def get(self):
            return 1

    class _Child(Base):
        __hidden = 5

        def get(self):
            return super().get() + self.__hidden

        @property
        def later(self):
            return [lambda: self.__hidden for _ in "a"]

        class Inner:
            def get(self):
                return __class__, self.__own
    """)
    assert syntax(m.Base.get).class_name == "Base"
    assert syntax(m._Child.get).class_name == "_Child"
    assert syntax(m._Child().later[0]).class_name == "_Child"
    assert syntax(m._Child.Inner.get).class_name == "Inner"


def test_names_in_decorators_of_a_class_are_not_mangled(module):
    m = module("""
    def keep(function):
        keep.function = function
        return lambda c: c

    class Outer:
        @keep(lambda c: c.__hidden)
        class Inner(int, **{"metaclass": type}):
            keep.body = lambda c: c.__own
    """)
    assert syntax(m.keep.function).class_name == "Outer"
    assert syntax(m.keep.body).class_name == "Inner"


def test_a_class_that_is_declared_global(module):
    """Its methods do not say in their names that they are in a function and a class."""
    m = module("""
    class Outer:
        def make(self):
            global g
            def g():
                return self.__hidden
            return g
    """)
    g = m.Outer().make()
    assert g.__qualname__ == "g" and syntax(g).class_name == "Outer"


def test_nested_functions(module):
    m = module("""
    def outer(a):
        class Local:
            def method(self, b):
                return a + b + late + len(Local.__name__)
        def g(n):
            nonlocal late
            late = g(n - 1) if n else a
            return late
        late = 1
        return Local.method, g

    async def around(a):
        def h(x):
            return x + a
        return h
    """)
    try:
        m.around(1).send(None)
    except StopIteration as end:
        inner = end.value
    for f in (*m.outer(1), inner):
        assert syntax(f).node.name == f.__name__


def test_conditional_definitions_and_redefinitions(module):
    m = module("""
    def f(x): return x + 1
    first = f
    def f(x): return x + 2
    try:
        import does_not_exist
    except ImportError:
        def g(x): return 1
    else:
        def g(x): return 2
    if first(1) == 3:
        def h(x): return 1
    else:
        def h(x): return 2
    """)
    assert [text(f)[-5:] for f in (m.first, m.f, m.g, m.h)] == ["x + 1", "x + 2", "urn 1", "urn 2"]


def test_functions_with_docstrings_and_texts(module):
    m = module('''
    class C:
        def f(self):
            """Text
    with less indentation."""

        def g(self):
            text = f"""{self}
      x
    """
            return text, (
            1
            )

        def h(self):
            return [
    self.g,
    ]
    ''')
    assert syntax(m.C.f).node.end_lineno == 5
    assert [syntax(f).node.name for f in (m.C.f, m.C.g, m.C.h)] == ["f", "g", "h"]


def test_future_annotations_and_types_that_do_not_exist(module):
    m = module("""
    from __future__ import annotations

    def f(x: Missing[1 / 0], y: int = 0) -> NoSuch:
        z: AlsoMissing = x
        return z
    """)
    import __future__

    assert syntax(m.f).flags == __future__.annotations.compiler_flag
    assert ast.unparse(syntax(m.f).node.returns) == "NoSuch"


def test_imports_decide_how_methods_are_called(module):
    """Python compiles `name.method()` by whether the module imports the name, also where a parameter has it."""
    m = module("""
    import math
    from math import pi as number
    try:
        import numpy as np
    except ImportError:
        np = None
    flag = number.is_integer()

    def f(x): return math.sin(x) + number.hex() + np.sum(x)
    def g(math): return math.sin(1)
    def h(x):
        import string
        return string.capwords(x), string.ascii_letters.upper()
    """)
    for f in (m.f, m.g, m.h):
        code = syntax(f)
        assert compiled(code.node, code, f.__code__, ()) == f.__code__


# -- layouts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        b"if 1:\n\tdef f(x):\n\t\treturn x\n",
        b"if 1:\n\tdef f(x):\n\t    return x\n",
        b"def f(x):\r\n    y = x\r\n    return y\r\n",
        b"def f(x):\r    y = x\r    return y\r",
        b"\x0cdef f(x):\n    \x0c\n\x0c    return x\n",
        b"# -*- coding: latin-1 -*-\ndef f(x):\n    return x, '\xe9'\n",
        b"\xef\xbb\xbfdef f(x):\n    return x, '\xc3\xa9'\n",
        b"def f(x): \\\n    return x + \\\n1\n",
        b"y = 1; f = lambda x: x; z = 2\n",
        b"def f(x): y = x; return y\n",
        b"def f(x):\n    return x",
        b"class C:\n  def f(x):\n    return (x\n  )\n  # comment\n# comment\n  g = 1\nf = C.f\n",
        b"s = 'caf\xc3\xa9'; f = lambda x: x + 'caf\xc3\xa9'\n",
        b"def f(x):\n    if x:\n        return x\n    # nothing follows\n\n\n    else: pass\nassert f\n",
    ],
    ids=str,
)
def test_layouts(module, source):
    read = syntax(module(source).f)
    assert isinstance(read.node, ast.Lambda) or read.node.name == "f"


def test_columns_are_of_the_file_where_letters_take_more_bytes(module):
    m = module("s = 'éé'; f, g = lambda x: x + 1, lambda x: x + 1\n")
    assert syntax(m.g).node.col_offset == len("s = 'éé'; f, g = lambda x: x + 1, ".encode())


# -- code without a file ----------------------------------------------------------------------------------------------


def test_exec_with_and_without_linecache(monkeypatch):
    source = "def f(x):\n    return x + 1\n"
    space = {}
    exec(source, space)
    assert reason(space["f"]) == "made by exec or -c, without source"
    monkeypatch.setitem(linecache.cache, "<made>", (len(source), None, source.splitlines(True), "<made>"))
    exec(compile(source, "<made>", "exec"), space)
    assert text(space["f"]) == source.strip()


def test_texts_that_other_characters_break_into_lines(monkeypatch):
    """`splitlines` ends lines at more characters than Python does."""
    source = "x = '\x1c\u2028'\ndef f(x):\n    return x + 1\n"
    monkeypatch.setitem(linecache.cache, "<broken>", (len(source), None, source.splitlines(True), "<broken>"))
    space = {}
    exec(compile(source, "<broken>", "exec"), space)
    assert syntax(space["f"]).node.lineno == 2


def test_notebooks_compile_statement_by_statement(monkeypatch):
    source = "import math\ndef f(x):\n    return math.sin(x)\n"
    monkeypatch.setitem(linecache.cache, "<cell>", (len(source), None, source.splitlines(True), "<cell>"))
    space = {"__name__": "__main__"}
    for statement in ast.parse(source).body:
        exec(compile(ast.Module([statement], []), "<cell>", "exec"), space)
    assert text(space["f"]).endswith("return math.sin(x)")


def test_expressions_that_are_too_deep_for_trees(monkeypatch):
    """Python compiles some texts whose trees it cannot compile."""
    source = "def f(x): return " + " + ".join(["x"] * 2000)
    monkeypatch.setitem(linecache.cache, "<deep>", (len(source), None, [source], "<deep>"))
    space = {}
    exec(compile(source, "<deep>", "exec"), space)
    answer = syntax_of(space["f"].__code__, space)
    assert answer == "too deeply nested to be read" or sys.version_info >= (3, 13)


def test_code_that_no_compiler_made():
    def f(x):
        return 5

    assert syntax_of(f.__code__.replace(co_consts=(None, [5])), globals()) == CHANGED


def test_doctests():
    example = """
    >>> import math
    >>> def f(x):
    ...     return math.sin(x)
    >>> syntax_of(f.__code__, globals()).node.body[0].lineno
    2
    """
    test = doctest.DocTestParser().get_doctest(example, {"syntax_of": syntax_of}, "example", "example", 0)
    report = io.StringIO()
    results = doctest.DocTestRunner().run(test, out=report.write)
    assert results.failed == 0 and results.attempted == 3, report.getvalue()


def test_modules_in_archives(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed_module.py", "import math\ndef f(x):\n    return math.sin(x)\n")
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    importlib.invalidate_caches()
    assert text(importlib.import_module("packed_module").f).endswith("return math.sin(x)")
    del sys.modules["packed_module"]


def test_files_that_are_not_there(module, tmp_path):
    m = module("def f(x): return x", "vanished")
    (tmp_path / "vanished.py").unlink()
    linecache.checkcache()
    assert reason(m.f) == "no source"
    assert syntax_of(m.f.__code__, None) == "no source"


def test_kinds_that_are_left_alone():
    def generator():
        yield 1

    async def coroutine():
        pass

    async def both():
        yield 1

    class Local:
        pass

    assert [reason(f) for f in (generator, coroutine, both)] == ["a generator", "async", "an async generator"]
    inner = [c for c in test_kinds_that_are_left_alone.__code__.co_consts if isinstance(c, types.CodeType)]
    kinds = [syntax_of(c, globals()) for c in inner if c.co_name in ("Local", "<listcomp>")]
    assert kinds and set(kinds) == {"not a function"}


# -- code that the file does not give ---------------------------------------------------------------------------------

BEFORE = """\
def f(x, y=0.0, *rest):
    'Text.'
    return x + 1, (1, 0.0), -0.0

def g(x):
    return [x - 1 for _ in x]
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 1", "x + 2"),
        ("x + 1", "x + 1.0"),
        ("x + 1", "x + True"),
        ("(1, 0.0)", "(1, -0.0)"),
        ("(1, 0.0)", "(True, 0.0)"),
        (", -0.0", ", 0.0"),
        ("x + 1", "x - 1"),
        ("x + 1", "y + 1"),
        ("x + 1", "z + 1"),
        ("Text.", "Other."),
        ("x, y=", "x, z="),
        ("x, y=", "x, *, y="),
        ("x, y=", "x, /, y="),
        ("*rest", "**rest"),
        ("def f", "async def f"),
        ("f(x", "h(x"),
        ("    return", "    yield\n    return"),
        (BEFORE, "def f(:\n"),
        (BEFORE, "\n"),
    ],
)
def test_an_edited_file_is_refused(module, tmp_path, old, new):
    m = module(BEFORE, "edited")
    (tmp_path / "edited.py").write_text(BEFORE.replace(old, new, 1))
    linecache.checkcache()
    assert reason(m.f) == CHANGED


def test_an_edit_of_inner_functions_and_swapped_names_are_refused(module, tmp_path):
    m = module(BEFORE + "\ndef h(x):\n    return [x - 1 for _ in x]\n", "edited")
    edited = BEFORE.replace("x - 1", "x - 2")
    for old, new in ("fk", "gf", "kg"):
        edited = edited.replace(f"def {old}", f"def {new}")
    (tmp_path / "edited.py").write_text(edited)
    linecache.checkcache()
    assert [reason(f) for f in (m.f, m.g, m.h)] == [CHANGED] * 3


@pytest.mark.parametrize("name", ["f", "g", "C.method", "h", "k"])
def test_functions_that_edits_have_moved(module, tmp_path, name):
    """They are read with the lines of the code that runs, as in its tracebacks."""
    source = BEFORE + textwrap.dedent("""
    class C:
        @property
        def other(self): return lambda: 1

        @staticmethod
        def method(x, __y=1):
            def inner():
                return __y
            return [inner, x.__z]

    h, k = lambda x: x + 3, lambda x: x + 3
    """)
    m = module(source, "edited")
    function = operator.attrgetter(name)(m)
    before = ast.dump(syntax(function).node, include_attributes=True)
    find._KNOWN.clear()
    moved = source.replace(BEFORE, "import math\n\n" + BEFORE.replace("x - 1 for", "x - 1  for") + "\n\n")
    (tmp_path / "edited.py").write_text(moved + "\nclass D:\n    def method(x, y=1):\n        pass\n")
    linecache.checkcache()
    if name == "g":
        assert reason(function) == CHANGED, "its columns are others"
        return
    read = syntax(function)
    assert ast.dump(read.node, include_attributes=True) == before
    assert read.class_name == ("C" if name == "C.method" else None)
    if isinstance(read.node, ast.FunctionDef):
        assert compiled(read.node, read, function.__code__, ()) == function.__code__


def test_defaults_and_comments_may_change(module, tmp_path):
    """Defaults belong to the function, which has them already, as decorators do."""
    m = module(BEFORE, "edited")
    (tmp_path / "edited.py").write_text(
        BEFORE.replace("y=0.0", "y=1.0").replace("    return x", "    # x\n    return x")
    )
    linecache.checkcache()
    assert syntax(m.f).node.name == "f"


def test_a_module_is_loaded_again(module, tmp_path):
    """The lines of the old version are stored, and look valid."""
    m = module(BEFORE, "edited")
    old = m.f
    assert "x + 1" in text(old)
    (tmp_path / "edited.py").write_text(BEFORE.replace("x + 1", "x + 222"))
    importlib.reload(m)
    assert "x + 222" in text(m.f) and "x + 1" in text(old)


def changed_codes(code):
    """Codes that differ from one in a single constant, name or instruction."""
    for i, c in enumerate(code.co_consts):
        if type(c) in (int, float, str):
            yield code.replace(co_consts=(*code.co_consts[:i], c + type(c)(1), *code.co_consts[i + 1 :]))
    if len(code.co_names) > 1:
        yield code.replace(co_names=code.co_names[::-1])
    raw = bytearray(code.co_code)
    raw[-1] ^= 1
    yield code.replace(co_code=bytes(raw))


CORPUS = (statistics, fractions, functools, argparse, numpy.polynomial.polynomial, numpy.lib._function_base_impl)


@functools.cache
def corpus():
    """Code objects of functions in modules that others wrote, each with the globals of its module."""
    codes = []
    for m in CORPUS:
        whole = compile(ast.parse(Path(m.__file__).read_bytes()), m.__file__, "exec", dont_inherit=True)
        codes += [(code, vars(m)) for code in nested(whole) if not find._unread(code)]
    return codes


@functools.cache
def whole(file):
    """The functions of a file by their first line and column."""
    nodes = ast.walk(ast.parse(Path(file).read_bytes()))
    return {(n.lineno, n.col_offset): n for n in nodes if isinstance(n, (ast.FunctionDef, ast.Lambda))}


@pytest.mark.slow
def test_functions_that_others_wrote():
    assert len(corpus()) > 400
    wrong = []
    for code, space in corpus():
        read = syntax_of(code, space)
        if isinstance(read, str):
            wrong.append(f"{code.co_qualname}: {read}")
            continue
        alone = whole(code.co_filename)[read.node.lineno, read.node.col_offset]
        if ast.dump(read.node, include_attributes=True) != ast.dump(alone, include_attributes=True):
            wrong.append(f"{code.co_qualname}: other lines or columns")
        if isinstance(read.node, ast.FunctionDef):
            again = [compiled(read.node, read, code, names) for names in ((), ("__anyshape__",))]
            wrong += [code.co_qualname for c in again if c != code or c.co_qualname != code.co_qualname]
    assert not wrong


@given(st.data())
@settings(max_examples=20)
def test_changed_code_is_refused(data):
    code, space = data.draw(st.sampled_from(corpus()))
    other = data.draw(st.sampled_from(list(changed_codes(code))))
    assert syntax_of(other, space) == CHANGED


# -- import hooks -----------------------------------------------------------------------------------------------------


def test_asserts_that_pytest_rewrites():
    """Functions of this file are compiled with other asserts than it has."""

    def f(x):
        assert x > 1, f"x is {x}"

        def inner():
            assert sorted([x], key=lambda y: y) and x != 5
            return x

        return inner

    if not any(name.startswith("@py") for name in f.__code__.co_names):
        pytest.skip("--assert=plain")
    assert [type(statement) for statement in syntax(f).node.body] == [ast.Assert, ast.FunctionDef, ast.Return]
    assert text(f(2)).startswith("def inner():\n    assert sorted([x], key=lambda y: y) and x != 5")
    read = syntax(f)
    assert "@py" not in "".join(compiled(read.node, read, f.__code__, ()).co_names)


def test_asserts_that_pytest_rewrites_in_a_file_that_changed(monkeypatch):
    def f(x):
        assert x > 1
        return x

    lines = linecache.getlines(__file__)
    monkeypatch.setitem(linecache.cache, __file__, (1, None, [n.replace("> 1", "> 3") for n in lines], __file__))
    assert reason(f).startswith(CHANGED)


class DoublingLoader(importlib.machinery.SourceFileLoader):
    """Import hook that doubles what functions return, as hooks that check types change them."""

    factor = 2

    def source_to_code(self, data, path, *, _optimize=-1):
        tree = ast.parse(data)
        for node in ast.walk(tree):
            if isinstance(node, ast.Return):
                node.value = ast.BinOp(node.value, ast.Mult(), ast.Constant(self.factor))
            elif isinstance(node, ast.Lambda):
                node.body = ast.BinOp(node.body, ast.Mult(), ast.Constant(self.factor))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)


def hooked(tmp_path):
    (tmp_path / "hooked.py").write_text(
        "# café\nclass C:\n    def f(self, x):\n        return self.__x\nf = C.f\ng, h = lambda: C, lambda: C\n"
    )
    loader = DoublingLoader("hooked", str(tmp_path / "hooked.py"))
    spec = importlib.machinery.ModuleSpec("hooked", loader, origin=loader.path)
    m = types.ModuleType("hooked")
    m.__spec__, m.__loader__ = spec, loader
    exec(loader.get_code("hooked"), vars(m))
    return m, loader


def test_import_hooks(tmp_path):
    m, _ = hooked(tmp_path)
    assert text(m.f) == "def f(self, x):\n    return self.__x" and syntax(m.f).class_name == "C"
    assert [syntax(f).node.col_offset for f in (m.g, m.h)] == [7, 18]


def test_import_hooks_that_give_other_code_now(tmp_path):
    m, loader = hooked(tmp_path)
    loader.factor = 3
    assert reason(m.f) == CHANGED + ", or DoublingLoader changed its code"


def test_import_hooks_that_fail(tmp_path):
    m, loader = hooked(tmp_path)
    loader.get_data = lambda path: 1 / 0
    assert reason(m.f).startswith(CHANGED)


# -- what reading leaves as it was ------------------------------------------------------------------------------------


def test_warnings_of_the_compiler_are_not_repeated(module):
    assert syntax(module("def g(x): return x", "other").g)
    with warnings.catch_warnings(record=True) as first:
        warnings.simplefilter("always")
        m = module("def f(x):\n    assert (x, '\\d')\n    return x is 1\n")
    assert len(first) == 3
    for action in ("error", "always"):
        find._KNOWN.clear()
        with warnings.catch_warnings(record=True) as again:
            warnings.simplefilter(action)
            assert syntax(m.f).node.name == "f"
            with contextlib.suppress(UserWarning):
                warnings.warn("as before", UserWarning, stacklevel=1)
        assert [str(w.message) for w in again] == ["as before"] * (action == "always")


def test_defaults_decorators_and_annotations_are_not_evaluated(module):
    m = module("""
    count = []
    def noted(x):
        count.append(x)
        return lambda f: f
    @noted(1)
    def f(x: noted(2), y=noted(3)) -> noted(4):
        return x
    """)
    before = list(m.count)
    read = syntax(m.f)
    compiled(read.node, read, m.f.__code__, ())
    assert m.count == before


def test_threads(module):
    m = module("\n".join(f"def f{i}(x):\n    return x + {i}\n" for i in range(150)))
    functions = [getattr(m, f"f{i}") for i in range(150)]
    answers = []

    def read():
        answers.append([text(f)[-8:].split()[-1] for f in functions])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers == [[str(i) for i in range(150)]] * 4
    assert len(find._KNOWN) <= find._MOST + len(threads)
