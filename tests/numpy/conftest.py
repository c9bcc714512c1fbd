"""Optimise programs as users do: 8 % less time. Metadata is verified, but for compositions of ops."""

from tests.as_users import as_users_optimise_programs

__all__ = ["as_users_optimise_programs"]
