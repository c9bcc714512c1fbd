"""Derive array types: extents, shape rules and strided views. No ops and no arrays."""
