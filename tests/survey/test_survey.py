"""Test that the page of functions lists every function, and that a sample of its rows is true."""

import random
import re

import numpy as np
import pytest
import scipy

from tests.survey import distributions, modules, page, reasons, survey
from tests.survey.__main__ import PAGE

LINES = [*PAGE.read_text().splitlines(), ""]
FUNCTIONS = [(module, name) for module in modules.MODULES for name in modules.functions(module)]


def rows_of(title):
    """Return the cells of a table by the name in the first one."""
    start = LINES.index(f"## {title}") + 4
    ends = [k for k in range(start, len(LINES)) if not LINES[k].startswith("|")]
    cells = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in LINES[start : ends[0]]]
    return {row[0].strip("`"): row for row in cells}


@pytest.mark.parametrize("module", modules.MODULES)
def test_every_function_is_listed(module):
    assert list(rows_of(module)) == modules.functions(module)


def test_every_distribution_is_listed():
    assert list(rows_of("Distributions of scipy.stats")) == distributions.names()


def test_every_function_of_concrete_arrays_has_one_reason():
    without = {(m, name) for m, name in FUNCTIONS if modules.expression_for(m, name) is None}
    without |= {("distributions", name) for name in distributions.names() if not list(distributions.methods(name))}
    written = [(m, n) for m, rows in reasons.REASONS.items() for names in rows for n in names.split()]
    assert sorted(written) == sorted(without)


def check(module, name):
    """Raise AssertionError if the row of a function is not what the survey finds."""
    findings = page.findings_of(module, name)
    assert tuple(rows_of(module)[name][1:5]) == page.answers(findings), f"{module}.{name}: {findings}"


@pytest.mark.parametrize("part", range(4))
def test_a_sample_of_rows_is_true(part):
    drawn = random.Random(f"survey {np.__version__} {part}").sample(FUNCTIONS, 12)
    for module, name in drawn:
        check(module, name)


@pytest.mark.slow
@pytest.mark.parametrize("module", modules.MODULES)
def test_every_row_is_true(module):
    for name in modules.functions(module):
        check(module, name)


def test_the_survey_sees_wrong_values_and_derivatives():
    wrong_value = survey.find("F(x)", np.cosh, np.sinh)
    assert (wrong_value.traced, wrong_value.derivative) == ("no", "no")
    from_sine = survey.find("F(x)", lambda x: np.sin(x) + 0.0 * x, np.sin)
    assert from_sine == survey.Findings("yes", "yes", "yes", "yes")


def test_the_page_names_the_versions():
    assert f"NumPy {np.__version__} and SciPy {scipy.__version__}" in "\n".join(LINES[:10])
