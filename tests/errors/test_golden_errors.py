"""Each error of the golden table is shown whole."""

import importlib
import re

import pytest

from anyshape import errors
from tests.errors.mistakes import MISTAKES, Mistake

for _table in ("golden_errors", "golden_python_errors", "golden_common_errors"):
    importlib.import_module(f"tests.errors.{_table}")

# Words that no message may use: names of primitives that users never write, and variables that they never declared.
PRIVATE = re.compile(r"dot_general|broadcast_in_dim|reduce_\w+|scatter_\w+|size_token|\b[a-z]\w*_\d\b")


def error_of(row: Mistake) -> errors.AnyshapeError:
    with pytest.raises(errors.AnyshapeError) as caught:
        row.make()
    return caught.value


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.name)
def test_the_message_of_a_mistake(row):
    message = re.sub(r"golden_\w+\.py:\d+", "model.py", str(error_of(row)))
    assert message == row.message


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.name)
def test_a_message_uses_no_private_word(row):
    assert not PRIVATE.search(row.message)


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.name)
def test_a_message_says_what_happened_and_then_what_to_do(row):
    first, *rest = row.message.splitlines()
    assert first and rest
    assert all(line.startswith("  ") for line in rest)


def test_the_table_is_large():
    assert len(MISTAKES) >= 101


def test_messages_are_short():
    long = [row.name for row in MISTAKES if len(row.message.splitlines()) > 4 or len(row.message) > 400]
    assert not long
