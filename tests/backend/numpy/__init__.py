"""Test `anyshape/backend/numpy`."""
