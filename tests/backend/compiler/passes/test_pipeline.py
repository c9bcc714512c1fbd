"""Passes leave nothing for a second time: a loaded program, which is optimised again, is the one that was saved."""

import pytest

from anyshape.backend.compiler.passes.pipeline import optimize
from tests.laws.sweep import first_program, gate_part, rows


@pytest.mark.parametrize("case", gate_part("optimised twice", rows(), 8))
def test_a_second_time_changes_nothing(case):
    _, row = case
    program = first_program(row)
    if program is None:
        pytest.skip("NumPy accepts none of the sizes")
    once = optimize(program.trace.graph)
    twice = optimize(once)
    assert twice == once, f"{once}\nbecame\n{twice}"
