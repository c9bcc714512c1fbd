"""Test `anyshape/transforms/control_flow`."""
