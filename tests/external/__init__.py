"""Programs and tests of others, run with anyshape in place of NumPy. They take paths, and fetch nothing."""
