"""Represent sizes as integer expressions in canonical form. Pure data: knows no scope, prover or array."""
