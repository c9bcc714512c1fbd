"""Slopes far out against mpmath: where a value is right, so are its first and second derivatives."""

import numpy as np
import pytest

from tests.autodiff.slope_rows import ROWS
from tests.autodiff.slopes import judge, sampled

# one function for each way to lose digits, and points where they were lost
GATE = {
    "np.tanh": [(21.0,), (-47.3,), (320.0,), (0.3,)],
    "np.arcsin": [(1e-40,), (0.9999999,)],
    "np.arcsinh": [(-5.8e184,), (2.0,)],
    "np.hypot": [(7e7, 2e-6), (-1e200, 1e190), (3.0, 4.0)],
    "np.arctan2": [(1e180, -3e175), (2e-150, 1e-148)],
    "np.logaddexp": [(-100.0, 50.0), (-0.016, -168.0), (1.0, 2.0)],
    "special.expit": [(82.0,), (-8e-29,), (-690.0,), (21.3,)],
    "special.log_expit": [(-83.0,), (60.0,), (0.2,)],
    "special.erfcx": [(17413.4,), (1e120,), (9.9,), (-3.0,)],
    "special.rel_entr": [(5e184, 3e-129), (2.0, 3.0)],
    "special.betaln": [(743.0, 1e-30), (3.4, 1e51), (2.0, 3.0)],
    "special.inv_boxcox": [(36.8, 6.6e8), (1.1e6, 9.7e6)],
}
FURTHER = {
    "special.dawsn": [(5e33,), (-6776.0,), (9.9,), (0.5,)],
    "special.spence": [(5.9e13,), (2.7e-18,), (1.2,)],
    "special.poch": [(8e10, -9e-6), (5.0, 2.0)],
    "special.i1e": [(-9e103,), (120.0,), (2.0,)],
    "special.struve": [(6.4, 880.0), (1.0, 2.0)],
    "special.elliprc": [(70.0, -0.05), (1.0, 2.0)],
    "special.voigt_profile": [(0.04, 6e-9, 166.0), (5.0, 1e-200, 2.0), (300.0, 34.0, 3.3)],
    "special.eval_sh_chebyt": [(95.52463454365632, 0.013), (20.5, 0.02)],
}
SECONDS = 1.5


def wrong(judged):
    return [str(one) for one in judged if not one.error <= 1]


@pytest.mark.parametrize("points", [GATE, pytest.param(FURTHER, marks=pytest.mark.slow)], ids=["gate", "further"])
def test_slopes_keep_their_digits_far_out(points):
    by_name = {row.name: row for row in reversed(ROWS)}
    judged = [one for name, at in points.items() for one in judge(by_name[name], at)]
    assert not wrong(judged), "\n".join(wrong(judged))
    assert len(judged) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda k: f"{k}-{ROWS[k].name}")
def test_slopes_of_all_functions(number, dtype):
    row, rng = ROWS[number], np.random.default_rng(number)
    if dtype == "float32" and not row.single:
        pytest.skip("single precision of SciPy or of exponents has fewer digits")
    judged = judge(row, sampled(row, rng, 12, dtype), dtype, SECONDS)
    assert not wrong(judged), "\n".join(wrong(judged))
