"""Test `anyshape/demo`."""
