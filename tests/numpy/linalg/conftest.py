"""Run compositions of ops as users run programs."""

from tests.as_users import as_users_run_programs

__all__ = ["as_users_run_programs"]
