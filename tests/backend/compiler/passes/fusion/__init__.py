"""Test `anyshape/backend/compiler/passes/fusion`."""
