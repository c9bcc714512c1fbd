"""Provide the public transforms, from jit to export."""
