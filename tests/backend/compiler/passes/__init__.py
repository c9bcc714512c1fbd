"""Test `anyshape/backend/compiler/passes`."""
