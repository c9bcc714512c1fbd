"""Test `anyshape/cli`."""
