"""Test `anyshape/backend/compiler`."""
