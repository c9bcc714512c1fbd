"""Batching of functions of matrices: one more leading axis."""

from anyshape.autodiff.batching.linalg import stacked
from anyshape.ops import matrix_functions as mf

stacked(mf.matrix_function_op)
stacked(mf.matrix_function_derivative_op)
stacked(mf.sylvester_op)
stacked(mf.schur_op)
stacked(mf.hessenberg_op)
