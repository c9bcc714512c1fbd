"""Test `anyshape/tracing`."""
