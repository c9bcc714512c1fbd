"""Run loops and branches as users run programs: optimised bodies have tests of their own in tests/backend/compiler."""

from tests.as_users import as_users_run_programs

__all__ = ["as_users_run_programs"]
