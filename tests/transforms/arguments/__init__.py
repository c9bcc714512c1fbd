"""Test `anyshape/transforms/arguments`."""
