"""Test `anyshape/backend/native`."""
