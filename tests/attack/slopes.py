"""Attack on slopes: derivatives of functions and distributions far out, against mpmath."""

from tests.attack.kit import Wrong
from tests.autodiff.distribution_rows import DISTRIBUTIONS
from tests.autodiff.slope_rows import ROWS
from tests.autodiff.slopes import judge, sampled

VALUE_ULPS = 64  # of distributions, beside ends of supports
SECONDS = 0.5  # for one point: some series of mpmath do not end


def slopes(rng):
    """Compare first and second derivatives of one function at four points."""
    rows, by_value = ((ROWS, 0), (DISTRIBUTIONS, VALUE_ULPS))[rng.integers(2)]
    row = rows[rng.integers(len(rows))]
    dtype = "float32" if not by_value and rng.integers(4) == 0 else "float64"
    judged = judge(row, sampled(row, rng, 4, dtype), dtype, SECONDS, by_value)
    wrong = [str(one) for one in judged if not one.error <= 1]
    if wrong:
        raise Wrong("\n".join([f"in {dtype}:", *wrong]))
    return "slopes" if judged else "no values"
