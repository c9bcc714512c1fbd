"""Test `anyshape/numpy`."""
