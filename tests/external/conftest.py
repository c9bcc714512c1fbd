"""Collection of tests: modules that need the packages of other projects are left out."""

collect_ignore = ["jax_names.py", "jax_stats.py", "opinfo.py"]
