"""Test `anyshape/graph/prover`."""
