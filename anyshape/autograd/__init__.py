"""Names of HIPS autograd over this engine: a program changes its imports, and nothing else.

`from anyshape.autograd import grad` stands for `from autograd import grad`, and `import anyshape.autograd.numpy as np`
for `import autograd.numpy as np`. So do `extend`, `core`, `tracer`, `builtins`, `misc` and `test_util`.
"""

from anyshape.autograd import numpy as numpy
from anyshape.autograd.builtins import dict, isinstance, list, tuple, type
from anyshape.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from anyshape.autograd.extend import primitive

__all__ = [
    "checkpoint", "deriv", "dict", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "isinstance", "jacobian", "list",
    "make_ggnvp", "make_hvp", "make_jvp", "make_vjp", "multigrad_dict", "primitive", "tensor_jacobian_product", "tuple",
    "type", "value_and_grad", "vector_jacobian_product",
]  # fmt: skip
