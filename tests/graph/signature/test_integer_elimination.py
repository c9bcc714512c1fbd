"""Integer elimination: rows stay combinations of the equations, and the work is bounded."""

import random

import numpy as np
import pytest

from anyshape.graph.signature.dim_equations import Elimination, Row, TooMuchWork


def rank_of(matrix):
    """Return the rank of a list of rows, which may be empty."""
    return np.linalg.matrix_rank(np.array(matrix)) if matrix and matrix[0] else 0


def random_matrix(rng):
    n, m = rng.randint(1, 5), rng.randint(1, 5)
    return [[rng.randint(-4, 4) for _ in range(n)] for _ in range(m)]


def check_row(row, matrix):
    """Check that a row is the combination of equations that its parts name."""
    columns = range(len(matrix[0]))
    combined = [sum(f * matrix[i][j] for i, f in row.parts.items()) for j in columns]
    assert combined == [row.coefficients.get(j, 0) for j in columns]
    assert row.parts


@pytest.mark.parametrize("seed", range(300))
def test_rows_combine_equations_and_isolate_the_last_unknowns(seed):
    rng = random.Random(seed)
    matrix = random_matrix(rng)
    columns = range(len(matrix[0]))
    last = set(rng.sample(columns, rng.randint(0, len(columns))))
    rows = [Row({j: c for j, c in enumerate(row) if c}, {i: 1}) for i, row in enumerate(matrix)]
    reduced = Elimination(rows, last)
    for row in [*reduced.rows, *reduced.dependent]:
        check_row(row, matrix)
    assert len(reduced.rows) == rank_of(matrix)
    isolated = [r for r in reduced.rows if last.issuperset(r.coefficients)]
    others = [[row[j] for j in columns if j not in last] for row in matrix]
    assert len(isolated) == len(reduced.rows) - rank_of(others)


@pytest.mark.slow
def test_too_much_work_raises():
    rng = random.Random(7)
    rows = [Row({j: rng.randint(1, 9) for j in range(200)}, {i: 1}) for i in range(200)]
    with pytest.raises(TooMuchWork):
        Elimination(rows)
