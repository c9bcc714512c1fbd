"""Generated prologues: they read each size once and compute nothing twice."""

from tests.graph.signature.solvers import solver_from_text


def test_a_program_reads_each_size_once():
    solver = solver_from_text("n, d", "d, 2*m", "m + n")
    assert solver.source.splitlines() == [
        "def solve(x0, x1, x2):",
        "    n0, n1 = x0",
        "    d1_0, d1_1 = x1",
        "    d2_0 = x2[0]",
        "    n2 = d1_1 // 2",
        "    if d1_0 != n1 or d1_1 != (2*n2) or d2_0 != (n2 + n0): _mismatch(x0, x1, x2)",
        "    return (n0, n1, n2, )",
    ]
