"""NumPy kernels of every op, one module per family. Importing a module enters its rows.

Ops guarantee that operands have the dtypes and sizes that the shape rule accepted, and that params are not symbolic.
Kernels must return the dtype and shape that the rule promised, never write to an operand except `out`, and check
nothing but values.
"""
