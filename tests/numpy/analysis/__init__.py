"""Test `anyshape/numpy/linalg`."""
