"""Decide claims about sizes from the constraints and assumptions of a scope."""
