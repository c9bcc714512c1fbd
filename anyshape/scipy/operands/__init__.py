"""Operands of the functions of SciPy."""
