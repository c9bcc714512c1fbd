"""Output of notebooks: pages in frames, explanations as trees, short texts and the numbers of cells."""

import html
import io
import re
import sys
import types
from html.parser import HTMLParser

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, errors, jit, profile, trace

NEVER_CLOSED = {"meta", "br", "path", "rect"}


class Balanced(HTMLParser):
    """Parser that lists the elements which are open."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in NEVER_CLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def decides(x):
    return x * 2 if x.shape[0] > 3 else x.sum()


def explained():
    f = jit(decides)
    f(np.ones(5))
    f(np.ones(2))
    return f.explain()


def test_a_program_is_a_page_in_a_frame():
    program = trace(lambda x: np.tanh(x))(ShapeDtypeStruct("n"))
    shown = program._repr_html_()
    page = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>', shown, re.S)
    assert html.unescape(page[1]) == program.html()


def test_a_profile_is_a_page_in_a_frame():
    result = profile(lambda x: np.sin(x) * x, repeat=2, file=io.StringIO())(np.ones(3))
    assert html.escape(result.html()) in result._repr_html_()
    assert repr(result).splitlines()[0] == str(result).splitlines()[0]


def test_an_explanation_is_a_tree_of_programs():
    explanation = explained()
    parser = Balanced()
    parser.feed(explanation._repr_html_())
    assert not parser.open
    assert parser.seen.count("details") >= 2
    text = html.unescape(re.sub(r"<[^>]*>", "", explanation._repr_html_()))
    assert "program 2: decides(x: f64[x_0]) -> f64[]" in text
    assert "x.shape[0] <= 3" in text
    assert explanation._repr_html_().count("<details open><summary><code>") == 1


def test_long_texts_show_their_first_lines():
    explanation = explained()
    shown, whole = repr(explanation).splitlines(), str(explanation).splitlines()
    assert shown[:12] == whole[:12]
    assert shown[12:] == [f"... {len(whole) - 12} more lines: print it, or take its programs"]
    short = anyshape.explain(lambda x: x)
    assert "more lines" not in repr(jit(decides).explain())
    assert callable(short)


def test_an_error_names_the_cell(monkeypatch):
    file = "/tmp/ipykernel_123/26631935.py"
    names = types.SimpleNamespace(format_code_name=lambda name: ("Cell", "In[3]") if name == file else None)
    shell = types.SimpleNamespace(compile=names)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    for name, label in ((file, r"In\[3\]:2"), ("/tmp/ipykernel_123/7.py", r"7\.py:2"), ("/home/me/a.py", r"a\.py:2")):
        scope = {}
        exec(compile("def f(x):\n    return x + [1, 2] @ x", name, "exec"), scope)
        with pytest.raises(errors.AnyshapeError, match=f"at {label}"):
            jit(scope["f"])(np.ones(3))


def test_an_explanation_is_a_page_that_loads_nothing(tmp_path):
    def branch(x):
        return np.sum(x) if x.shape[0] > 3 else np.max(x)

    f = jit(branch)
    f(np.ones(5))
    f(np.ones(2))
    page = f.explain().html()
    assert page.startswith("<!doctype html>") and "default-src 'none'" in page and "<script" not in page
    assert "program 2: branch" in page and "x.shape[0] &gt; 3" in page and "test_notebook.py" in page


def test_costs_are_a_table():
    program = trace(lambda x: np.tanh(x) + np.sum(x[1:]))(ShapeDtypeStruct("n"))
    shown = program.cost()._repr_html_()
    parser = Balanced()
    parser.feed(shown)
    assert not parser.open
    text = html.unescape(re.sub(r"<[^>]*>", " ", shown))
    rows = [str(part) for one in (program.cost().total, *program.cost().nodes) for part in one.parts()]
    assert all(row in text for row in rows) and "test_notebook.py:" in text
    assert shown.count("<tr>") == 3 + len(program.graph.nodes)


@pytest.mark.usefixtures("as_written")
def test_long_costs_show_their_first_lines():
    def chain(x):
        for _ in range(20):
            x = np.sin(x)
        return x

    cost = trace(chain)(ShapeDtypeStruct("n")).cost()
    assert repr(cost).splitlines()[-1] == "... 9 more lines: print it, or take its nodes"
    assert repr(cost).splitlines()[:12] == str(cost).splitlines()[:12]
