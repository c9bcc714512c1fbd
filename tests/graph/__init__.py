"""Test `anyshape/graph`."""
