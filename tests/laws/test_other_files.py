"""Samples whose lines stand in other files than most steps of their programs."""

import traceback

import pytest

from tests.attack.user_files import WAYS, check_slopes, check_values
from tests.laws.sweep import in_gate, label, rows

ROWS = [case for case in rows() if case[1].shapes]  # the others have no argument that further steps could take


def failures(cases, *, slopes):
    """Return what goes wrong: each case in one of the ways, its values in the first dtype, and its slopes."""
    texts = []
    for i, case in enumerate(cases):
        _, row = case
        dtype, way = row.dtypes[0], list(WAYS)[i % len(WAYS)]
        has_slopes = slopes and row.grad and dtype in ("float64", "complex128")
        for check in (check_values, check_slopes)[: 1 + bool(has_slopes)]:
            try:
                check(row, dtype, way, {})
            except Exception:
                texts.append(f"{label(case)}\n{traceback.format_exc(limit=-2)}")
    return "\n".join(texts)


def test_samples_in_other_files():
    assert not failures([case for case in ROWS if in_gate("other files", case, one_in=60)], slopes=False)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_all_samples_in_other_files(part):
    assert not failures(ROWS[part::8], slopes=True)
