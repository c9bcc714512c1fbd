"""Test `anyshape/errors`."""
