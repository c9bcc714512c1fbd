"""Test `anyshape/numpy/arrays`."""
