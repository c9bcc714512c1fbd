"""Test `anyshape/graph/signature`."""
