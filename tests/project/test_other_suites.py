"""Test that the page of other suites lists functions that exist, and counts each function of SciPy's modules once."""

import re

import pytest

from tests.project.test_docs import DOCS
from tests.survey import modules

TEXT = (DOCS / "other_suites.md").read_text()
COUNTS = {
    module: [int(cell) for cell in cells.split("|")]
    for module, cells in re.findall(r"^\| `(scipy[\w.]+)` \|([ \d|]+)\|$", TEXT, re.M)
}
LISTS = re.findall(r"^\| `(scipy[\w.]+)` \| (traced[a-z, ]*) \| (.*) \|$", TEXT, re.M)


@pytest.mark.parametrize("module", COUNTS)
def test_the_counts_are_those_of_the_lists(module):
    functions, counts = modules.functions(module), COUNTS[module]
    assert sum(counts) == len(functions)
    lists = {kind: re.findall(r"`(\w+)`", names) for name, kind, names in LISTS if name == module}
    for kind, count in zip(("traced, differentiable", "traced"), counts, strict=False):
        names = lists.get(kind, [])
        assert len(set(names)) == len(names) == count and set(names) <= set(functions), kind


def test_all_dispatching_modules_are_listed():
    assert len(COUNTS) == 11 and {name for name, _, _ in LISTS} <= COUNTS.keys()
