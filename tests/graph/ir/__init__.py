"""Test `anyshape/graph/ir`."""
