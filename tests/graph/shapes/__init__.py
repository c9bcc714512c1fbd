"""Test `anyshape/graph/shapes`."""
