"""Survey of the public functions of NumPy and SciPy: which are traced, differentiated, batched, at which sizes.

`python -m tests.survey` calls each function by its row, compares with NumPy or SciPy, and writes `docs/functions.md`.
"""
