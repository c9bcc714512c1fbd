"""Each error of the golden table is shown whole."""

import re

import pytest

from tests.errors.grades import GOOD, MIDDLING
from tests.errors.mistakes import MISTAKES
from tests.errors.rubric import error_of, lacks, message_of

pytestmark = pytest.mark.usefixtures("as_written")

# Words that no message may use: names of primitives that users never write, and variables that they never declared.
PRIVATE = re.compile(r"dot_general|broadcast_in_dim|reduce_\w+|scatter_\w+|size_token|\b[a-z]\w*_\d\b")


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.name)
def test_the_message_of_a_mistake(row):
    assert message_of(error_of(row)) == row.message


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


def test_each_message_has_a_grade():
    names = [row.name for row in MISTAKES]
    assert sorted([*GOOD, *MIDDLING]) == sorted(names)
    assert len(names) >= 101
    assert len(GOOD) / len(names) >= 0.85


@pytest.mark.filterwarnings("ignore")
def test_a_good_message_lacks_nothing_that_a_program_can_check():
    lacking = {row.name: lacks(row, error_of(row)) for row in MISTAKES if row.name in GOOD}
    assert not {name: missing for name, missing in lacking.items() if missing}
