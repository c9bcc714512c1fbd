"""Test `anyshape/inspect`."""
