"""Run derivatives as users run programs, a quarter less time, and share the op whose params are graphs."""

from tests.as_users import as_users_run_programs
from tests.graph.ir.conftest import select_graph

__all__ = ["as_users_run_programs", "select_graph"]
