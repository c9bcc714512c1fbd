"""Test `anyshape/program`."""
