"""Run the tests of SciPy's functions as users run programs: a quarter less time for compositions of tested ops."""

from tests.as_users import as_users_run_programs

__all__ = ["as_users_run_programs"]
