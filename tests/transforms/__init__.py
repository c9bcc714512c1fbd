"""Test `anyshape/transforms`."""
