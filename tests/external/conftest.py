"""Modules that replace those of the packages whose tests they run, and need what these need."""

collect_ignore = ["jax_names.py"]
