"""anyshape: plain NumPy traced once, differentiated, and run at any shape."""

# first, and from here: imported from deep inside our own modules, SciPy was measured to take a third longer to load
import scipy.special  # noqa: F401

from anyshape import errors, numpy, ops
from anyshape.errors import AnyshapeError
from anyshape.frontend.batching import hessian, hvp, jacfwd, jacobian, jacrev, vmap
from anyshape.frontend.callback import pure_callback
from anyshape.frontend.checkpoint import checkpoint
from anyshape.frontend.checks import check_grads
from anyshape.frontend.config import config
from anyshape.frontend.control import check, stop_gradient
from anyshape.frontend.derivatives import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
from anyshape.frontend.dynamic_shapes import AUTO, DYNAMIC, STATIC
from anyshape.frontend.explain import explain
from anyshape.frontend.export import export, load
from anyshape.frontend.jit import jit
from anyshape.frontend.profile import profile
from anyshape.frontend.scopes import Dim, SymbolicScope, symbolic_shape
from anyshape.frontend.specs import ShapeDtypeStruct, eval_shape, symbolic_args_specs, trace
from anyshape.frontend.symbolic_shape import SymbolicShape
from anyshape.frontend.trees import register_pytree_node
from anyshape.numpy.symdim import max_dim, min_dim

__version__ = "0.1.0"

__all__ = [
    "AUTO",
    "DYNAMIC",
    "STATIC",
    "AnyshapeError",
    "Dim",
    "ShapeDtypeStruct",
    "SymbolicScope",
    "SymbolicShape",
    "check",
    "check_grads",
    "checkpoint",
    "config",
    "errors",
    "eval_shape",
    "explain",
    "export",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "load",
    "max_dim",
    "min_dim",
    "numpy",
    "ops",
    "profile",
    "pure_callback",
    "register_pytree_node",
    "stop_gradient",
    "symbolic_args_specs",
    "symbolic_shape",
    "trace",
    "value_and_grad",
    "vjp",
    "vmap",
]
