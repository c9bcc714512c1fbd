"""Batching of creation ops: without operands none carries a batch, so they are replayed unchanged."""
