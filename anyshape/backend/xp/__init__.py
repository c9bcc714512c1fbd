"""Kernels over the Array API, one module per family: programs run on arrays of PyTorch, JAX, CuPy and others.

A row is `kernel(op, run)` with `run(xp, *arrays, **params)`. `xp` is the library with its device. Ops guarantee to rows
what they guarantee to kernels of NumPy. Rows pass each dtype that they make, and take sizes as ints of any class.
"""
