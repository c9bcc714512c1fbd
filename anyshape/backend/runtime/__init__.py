"""Provide what generated functions use at run time: threads, memory, caches and warnings."""
