"""Test `anyshape/backend/runtime`."""
