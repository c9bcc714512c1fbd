"""Test `anyshape/numpy/sizes`."""
