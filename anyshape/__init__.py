"""Trace plain NumPy functions once, differentiate them and run them at any shape."""

from anyshape.support.fork_lock import collection_paused

with collection_paused():
    # Imported first and from here: from deep inside our own modules, SciPy was measured to take a third longer to load.
    import scipy.special

    from anyshape import errors, numpy, ops
    from anyshape.backend.runtime.config import config
    from anyshape.errors import AnyshapeError
    from anyshape.numpy.convolutions import conv, conv_general_dilated, conv_transpose, reduce_window
    from anyshape.numpy.sizes.symdim import max_dim, min_dim
    from anyshape.support.version import __version__ as __version__
    from anyshape.tracing.callback import pure_callback
    from anyshape.tracing.named_dims import Dim, ShapeDtypeStruct, SymbolicScope, SymbolicShape, symbolic_shape
    from anyshape.tracing.pytrees import register_pytree_node, tree_leaves, tree_map
    from anyshape.tracing.view import View
    from anyshape.transforms.arguments.dynamic_shapes import AUTO, DYNAMIC, STATIC
    from anyshape.transforms.arguments.specs import eval_shape, symbolic_args_specs, trace
    from anyshape.transforms.check_grads import check_grads
    from anyshape.transforms.control import check, checkpoint, ravel_pytree, statically_known, stop_gradient
    from anyshape.transforms.control_flow.associative_scan import associative_scan
    from anyshape.transforms.control_flow.conditionals import cond, switch
    from anyshape.transforms.control_flow.loops import fori_loop, map, scan, while_loop
    from anyshape.transforms.custom.custom_rules import custom_jvp, custom_vjp
    from anyshape.transforms.custom.implicit_solves import custom_linear_solve, custom_root
    from anyshape.transforms.grad import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
    from anyshape.transforms.jit import explain, export, jit, load, profile
    from anyshape.transforms.vmap import hessian, hvp, jacfwd, jacobian, jacrev, vmap

del collection_paused, scipy  # no public names

__all__ = [
    "AUTO", "DYNAMIC", "STATIC", "AnyshapeError", "Dim", "ShapeDtypeStruct", "SymbolicScope", "SymbolicShape",
    "View", "associative_scan", "check", "check_grads", "checkpoint", "cond", "config", "conv",
    "conv_general_dilated", "conv_transpose", "custom_jvp", "custom_linear_solve", "custom_root", "custom_vjp",
    "errors", "eval_shape", "explain", "export", "fori_loop", "grad", "hessian", "hvp", "jacfwd", "jacobian",
    "jacrev", "jit", "jvp", "linear_transpose", "linearize", "load", "map", "max_dim", "min_dim", "numpy", "ops",
    "profile", "pure_callback", "ravel_pytree", "reduce_window", "register_pytree_node", "scan",
    "statically_known", "stop_gradient", "switch", "symbolic_args_specs", "symbolic_shape", "trace", "tree_leaves",
    "tree_map", "value_and_grad", "vjp", "vmap", "while_loop",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
