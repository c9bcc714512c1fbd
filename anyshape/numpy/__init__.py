"""NumPy's functions for arrays of a program, and for concrete arrays too: what people write."""
