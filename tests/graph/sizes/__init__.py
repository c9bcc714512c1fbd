"""Test `anyshape/graph/sizes`."""
