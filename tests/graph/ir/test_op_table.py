"""Tables with a row per op: rows that are entered at the first lookup, and rows that nobody enters."""

import pytest

from anyshape.errors import MissingRuleError
from anyshape.graph.ir.graph import OPS, OpTable


def test_rows_come_with_the_first_lookup_of_one_that_is_missing():
    table, calls = OpTable("test", "tests"), []

    def fill(family):
        calls.append(family)
        table.update({OPS["mul"]: "times", OPS["add"]: "plus"})

    table.fill_by(fill)
    table[OPS["neg"]] = "minus"
    assert table[OPS["neg"]] == "minus" and calls == []
    assert table[OPS["mul"]] == "times" and table[OPS["add"]] == "plus" and calls == ["elementwise"]
    with pytest.raises(MissingRuleError, match=r"^sin: .*\n.*tests/elementwise.py"):
        table[OPS["sin"]]
    assert calls == ["elementwise"] * 2


def test_a_lookup_that_was_interrupted_fills_the_table_again():
    table, failing = OpTable("test", "tests"), [True]

    def fill(family):
        if failing.pop():
            failing.append(False)
            raise KeyboardInterrupt
        table[OPS["mul"]] = "times"

    table.fill_by(fill)
    with pytest.raises(KeyboardInterrupt):
        table[OPS["mul"]]
    assert table[OPS["mul"]] == "times"
