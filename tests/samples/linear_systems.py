"""Samples of linear systems: factors of wide and of high matrices, and bands."""

import numpy

from anyshape.scipy import linalg
from tests.samples.linalg import regular
from tests.samples.sample import Sample, draw

EACH = ("float64", "float32", "complex128")


def bands(rng, shapes, dtype):
    """Return the diagonals of banded matrices with a dominant main one, the second row, and right-hand sides."""
    band, *others = [numpy.asarray(draw(rng, s, dtype, (-1.0, 1.0))) for s in shapes]
    band[..., 1, :] += 4
    return [band, *others]


def wide_bands(rng, shapes, dtype):
    """Return the diagonals of one side with a dominant main one, the first row, and right-hand sides."""
    band, *others = bands(rng, shapes, dtype)
    band[..., 0, :] += 9
    return [band, *others]


def dominant(rng, shapes, dtype):
    """Return the sides of Toeplitz matrices with a dominant diagonal, and right-hand sides."""
    column, *others = [numpy.asarray(draw(rng, s, dtype, (-1.0, 1.0))) for s in shapes]
    column[:1] += 9
    return [column, *others]


def rows(name, function, shapes, ops, **options):
    """Return the sample with what all have."""
    return Sample(name, function, shapes, ops, **({"make": regular, "tolerance": 1e-8, "dtypes": EACH} | options))


SAMPLES = [
    rows("lu", lambda np, x: linalg.lu(x)[1:], ("n, n",), ("lu", "row_order")),
    rows("lu of high matrices", lambda np, x: linalg.lu(x)[2], ("5, 2",), ("lu",), order=1),
    rows("lu of wide stacks", lambda np, x: linalg.lu(x)[2], ("m, 2, 4",), ("lu",), order=1, dtypes=("float64",)),
    rows("lu_solve", lambda np, a, b: linalg.lu_solve(linalg.lu_factor(a), b, 2), ("n, n", "n"), ("lu", "row_order")),
    rows(
        "solve_banded",
        lambda np, ab, b: linalg.solve_banded((2, 1), ab, b),
        ("4, n", "n, 2"),
        ("banded_solve",),
        make=bands,
    ),
    rows(
        "solve_banded of a lower side",
        lambda np, ab, b: linalg.solve_banded((1, 0), ab[::-1], b),
        ("2, n", "n, 2"),
        ("banded_solve",),
        make=bands,
    ),
    rows(
        "solve_toeplitz",
        lambda np, c, r, b: linalg.solve_toeplitz((c, r), b),
        ("n", "n", "n, 2"),
        ("toeplitz_solve",),
        make=dominant,
        dtypes=("float64", "complex128"),
        smallest=1,  # SciPy loses the columns of no rows
    ),
    rows(
        "solve_banded of stacks",
        lambda np, ab, b: linalg.solve_banded((0, 1), ab, b),
        ("m, 2, n", "m, n, 1"),
        ("banded_solve",),
        make=bands,
        dtypes=("float64",),
        order=1,
        smallest=1,
    ),
    *[
        rows(
            f"cholesky_banded of {count}{' known' * known} diagonals",
            lambda np, ab, count=count, known=known, lower=lower: linalg.cholesky_banded(
                np.stack([ab[k] for k in range(count)]) if known else ab, lower=lower
            ),
            (f"{count}, n",),
            ("banded_cholesky",),
            make=bands if count == 2 else wide_bands,
        )
        for count, known, lower in ((2, False, False), (2, True, False), (3, True, True))
    ],
    *[
        rows(
            f"solveh_banded of {count} diagonals",
            lambda np, ab, b, lower=lower: linalg.solveh_banded(ab, b, lower=lower),
            (f"{count}, n", "n, 2"),
            ("banded_solve",),
            make=bands if count == 2 else wide_bands,
            smallest=4 - count,  # SciPy fails at one row of two diagonals
        )
        for count, lower in ((2, False), (3, True))
    ],
]
