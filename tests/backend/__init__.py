"""Test `anyshape/backend`."""
