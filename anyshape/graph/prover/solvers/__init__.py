"""Decide claims about sizes: polynomials, linear constraints, integer sets and models."""
