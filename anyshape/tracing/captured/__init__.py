"""Captured state: everything that a function reads besides its arguments, and the tests that it is unchanged."""
