"""NumPy kernels of every op, and its traits for the compiler, one module per family. Importing one enters its rows.

Ops guarantee that operands have the dtypes and sizes that the shape rule accepted, and that params are not symbolic.
Kernels must return the dtype and shape that the rule promised, never write to an operand except `out`, and check
nothing but values.
"""
