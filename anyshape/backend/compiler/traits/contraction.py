"""Traits of contractions."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.backend.compiler.plan import contract_op
from anyshape.ops.contraction import dot_general_op, einsum_op

declare(OPAQUE._replace(scratch=op_traits.blas_copies), dot_general_op, contract_op)
declare(OPAQUE, einsum_op)  # plans hold pairs instead: see `passes/binary_einsum.py`
