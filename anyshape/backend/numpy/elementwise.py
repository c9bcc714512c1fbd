"""Kernels of elementwise ops: NumPy's ufunc of the op wherever there is one."""

import numpy as np

from anyshape.ops import elementwise as ew
from anyshape.ops.core import kernel

for _op, _ufunc in {
    ew.neg_op: np.negative,
    ew.exp_op: np.exp,
    ew.log_op: np.log,
    ew.sin_op: np.sin,
    ew.cos_op: np.cos,
    ew.tanh_op: np.tanh,
    ew.sqrt_op: np.sqrt,
    ew.add_op: np.add,
    ew.sub_op: np.subtract,
    ew.mul_op: np.multiply,
    ew.div_op: np.true_divide,
    ew.max_op: np.maximum,
    ew.min_op: np.minimum,
    ew.eq_op: np.equal,
    ew.gt_op: np.greater,
    ew.ge_op: np.greater_equal,
}.items():
    kernel(_op, _ufunc, out=True)

kernel(ew.select_op, np.where)
kernel(ew.convert_op, lambda x, *, dtype: x.astype(dtype))
