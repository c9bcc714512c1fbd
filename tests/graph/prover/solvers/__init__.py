"""Test `anyshape/graph/prover/solvers`."""
