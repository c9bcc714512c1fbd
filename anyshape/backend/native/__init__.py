"""Compile fusion groups to machine code: one kernel for all sizes, built by the C compiler of the system."""
