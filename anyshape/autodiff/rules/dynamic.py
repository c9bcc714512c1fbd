"""Derivatives of ops whose results have sizes that depend on data: positions and sizes have none."""

from anyshape.autodiff.tables import zero
from anyshape.ops import dynamic as dy

zero(dy.nonzero_op)
zero(dy.size_token_op)
