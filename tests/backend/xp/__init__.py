"""Test `anyshape/backend/xp`."""
