"""Estimates of passes: parts that add up, agreement with the simulation, and what binds on many workers."""

import pytest

from anyshape.cluster import Capacity
from anyshape.errors import ArgumentError

HEAVY = Capacity(rows=10**9, seconds_per_row=1e-6, parameter_bytes=1e4, result_bytes=1e4)
LARGE = Capacity(rows=10**7, seconds_per_row=1e-6, parameter_bytes=1e8, result_bytes=1e8)


@pytest.mark.parametrize("workers", [1, 2, 10, 100, 1000])
@pytest.mark.parametrize("capacity", [HEAVY, LARGE], ids=["heavy", "large"])
def test_paper_and_simulation_agree(capacity, workers):
    plan = capacity.on_paper(workers)
    assert plan.seconds == pytest.approx(plan.broadcast + plan.schedule + plan.compute + plan.sums)
    assert 0.4 * plan.seconds < capacity.simulated(workers, unequal=0.0) < 1.3 * plan.seconds
    assert plan.rows_per_second == pytest.approx(capacity.rows / plan.seconds)


def test_what_binds():
    assert [HEAVY.on_paper(n).binds for n in (2, 100, 1000)] == ["compute", "compute", "schedule"]
    assert LARGE.on_paper(1000).binds == "sums" and LARGE.on_paper(1).binds == "compute"
    assert HEAVY.on_paper(100).seconds < HEAVY.on_paper(10).seconds / 8
    assert HEAVY.simulated(100, unequal=0.5) > HEAVY.simulated(100, unequal=0.0)
    few, many = HEAVY.on_paper(4), HEAVY.on_paper(64)
    assert few.bytes_moved == 4 * 1e4 + 8 * 1e4 and many.bytes_moved == 64 * 1e4 + (128 + 16) * 1e4
    with pytest.raises(ArgumentError, match="workers is 0"):
        HEAVY.on_paper(0)
