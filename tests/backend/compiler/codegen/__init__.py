"""Test `anyshape/backend/compiler/codegen`."""
