"""Test `anyshape/numpy/operands`."""
