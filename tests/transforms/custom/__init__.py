"""Test `anyshape/transforms/custom`."""
