"""Every change of captured state is noticed, or is on the list that `explain` gives."""

import threading

import numpy as np
import pytest

import anyshape
from tests.tracing.captured import (  # noqa: F401 (each fills the table)
    changes_of_arrays,
    changes_of_containers,
    changes_of_functions,
    changes_of_methods,
    changes_of_modules,
    changes_of_objects,
    changes_of_operands,
)
from tests.tracing.captured.case import CASES

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("row", CASES, ids=lambda row: row.name)
def test_a_change_is_noticed_or_on_the_list(row, monkeypatch):
    # threads of other tests: beside them, state that a trace changed may be theirs and is traced once more
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    steps = row.make()
    function = next(steps)
    program = anyshape.jit(function)
    first = program(X)
    if row.listed:
        unwatched = program.explain().programs[0].unwatched
        assert any(row.listed in text for text in unwatched), unwatched
        assert row.listed in str(program.explain())
        steps.close()
        return
    np.testing.assert_array_equal(first, function(X))
    np.testing.assert_array_equal(program(X), first)
    assert program.cache_info().traces == 1
    next(steps, None)
    np.testing.assert_array_equal(program(X), function(X))
    np.testing.assert_array_equal(program(X), function(X))
    assert program.cache_info().traces + program.explain().revalidations <= 2
    steps.close()


def test_the_table_is_long_enough():
    assert len(CASES) >= 120
    assert len({row.name for row in CASES}) == len(CASES)
