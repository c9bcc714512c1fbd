"""The uses are for type checkers, and do not run."""

collect_ignore = ["uses.py"]
