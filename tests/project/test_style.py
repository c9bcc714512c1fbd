"""Tests of the style check that `make lint` runs."""

import ast

import pytest

from tools import check_style

CONSTRUCTS = {
    "nothing": ("pass", 1),
    "if": ("if x: pass", 2),
    "elif": ("if x: pass\n elif y: pass\n else: pass", 3),
    "for": ("for i in x: pass", 2),
    "while": ("while x: pass", 2),
    "except": ("try: pass\n except A: pass\n except B: pass\n finally: pass", 3),
    "assert": ("assert x", 2),
    "conditional expression": ("return a if x else b", 2),
    "clauses of comprehensions": ("return [a for a in x for b in a if a if b]", 5),
    "operands of and and or": ("return a and b and c or d", 4),
    "cases of match": ("match x:\n  case 1: pass\n  case _: pass", 3),
    "nested function": ("def inner():\n  if x: pass", 2),
    "lambda": ("return lambda: a or b", 2),
}


@pytest.mark.parametrize(("body", "number"), CONSTRUCTS.values(), ids=CONSTRUCTS)
def test_complexity_counts_every_branch(body, number):
    (function,) = ast.parse(f"def f():\n {body}").body
    assert check_style.complexity(function) == number


TEXTS = {
    "a word that fits any value": ("found = 1", "vague name"),
    "an attribute": ("x.kept = 1", "vague name"),
    "a function": ("def _place(): pass", "vague name"),
    "a parameter": ("def f(told): pass", "vague name"),
    "a long sentence": (f'"""Return {"word " * 25}."""', "sentence"),
    "a long sentence with a semicolon": (f'"""Return {"word " * 13}; {"word " * 12}."""', "sentence"),
    "a long comment": (f"# {'word ' * 26}", "sentence"),
    "a docstring without a verb or noun": ('def f():\n """What it holds."""', "first word"),
    "a banned phrase": ('"""Value that is no array."""', "phrase"),
    "a branch too many": ("def f():\n" + " if x: pass\n" * 12, "complexity"),
}


@pytest.mark.parametrize(("source", "rule"), TEXTS.values(), ids=TEXTS)
def test_a_broken_rule_is_named(source, rule, tmp_path):
    file = tmp_path / "module.py"
    file.write_text(source)
    assert [finding.rule for finding in check_style.python_findings(file)] == [rule]


def test_a_marker_of_a_conflict_is_named(tmp_path):
    file = tmp_path / "page.md"
    file.write_text("# Page\n\n<<<<<<< HEAD\nOne line.\n=======\nAnother line.\n>>>>>>> branch\n")
    assert [(f.line, f.rule) for f in check_style.page_findings(file)] == [(3, "conflict"), (7, "conflict")]


def test_names_of_numpy_and_short_sentences_pass(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(f'"""Return {"word " * 13}. {"Word " * 13}."""\ndef place(x): pass\n' + "# word\n" * 9)
    assert not list(check_style.python_findings(file))
