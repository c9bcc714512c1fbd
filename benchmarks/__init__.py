"""Measure the library against the same work written by hand in NumPy and in other libraries; see `make bench`."""
