"""Results of solvers."""
