"""Test `anyshape/autodiff`."""
