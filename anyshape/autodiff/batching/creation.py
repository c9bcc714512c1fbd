"""Batching of creation ops: they have no operand, so none can carry a batch, and they are replayed as they are."""
