"""Trace plain NumPy functions once, differentiate them and run them at any shape.

Write a function in NumPy, and make another of it that takes arrays of any size::

    import numpy as np
    from anyshape import value_and_grad

    def loss(w, x, y):
        return np.mean(np.logaddexp(0, -y * (x @ w)))

    step = value_and_grad(loss)
    value, gradient = step(np.zeros(3), np.ones((5, 3)), np.ones(5))
    step.cache_info()

- Derivatives: `grad`, `value_and_grad`, `jacobian`, `hessian`, `jvp`, `vjp`, `hvp`; `check_grads` compares them with
  finite differences.
- Programs: `jit` keeps one for all sizes, `vmap` maps one over an axis, `ragged_map` over examples of unequal sizes.
  `trace` gives it to print, `export` to save, and `load` reads it.
- Loops: Python's own are read. `scan`, `while_loop`, `fori_loop` and `cond` say them by hand.
- Questions: `explain` says why a function was traced, `profile` where the time of a call goes.

``help(anyshape.grad)`` and its like have all arguments and an example. From a shell, ``anyshape demo`` trains a small
model, and ``anyshape --help`` shows what the command line has.
"""

import sys as _sys
from typing import Any

from anyshape.support.fork_lock import collection_paused

with collection_paused():
    from anyshape import errors as errors
    from anyshape import tracing as tracing
    from anyshape.backend.runtime.config import config as config
    from anyshape.errors import AnyshapeError as AnyshapeError
    from anyshape.ops.subgraph_call import calls_with_lists, code_that_is_read, paths_of_sizes
    from anyshape.support.packages import load as _load
    from anyshape.support.packages import size_paths as _size_paths
    from anyshape.support.version import __version__ as __version__

paths_of_sizes.provide_by(lambda: _size_paths)
code_that_is_read.provide_by(lambda: _load("anyshape.transforms.control_flow.kept"))
calls_with_lists.provide_by(lambda: _load("anyshape.transforms.ragged.lists"))

# Names by the module that defines them, which loads at their first use. Settings are there at once, because they take
# the state of the process at the import. So is `tracing`, which tells tables where rows come from.
_HOMES = {
    name: f"anyshape.{home}" for home, names in {
        "numpy.convolutions": "conv conv_general_dilated conv_transpose reduce_window",
        "numpy.sizes.symdim": "max_dim min_dim", "tracing.callback": "pure_callback", "tracing.view": "View",
        "tracing.named_dims": "Dim ShapeDtypeStruct SymbolicScope SymbolicShape symbolic_shape",
        "tracing.pytrees": "register_pytree_node tree_leaves tree_map",
        "transforms.arguments.dynamic_shapes": "AUTO DYNAMIC STATIC",
        "transforms.arguments.specs": "eval_shape symbolic_args_specs trace",
        "tracing.source.read": "as_written",
        "transforms.check_grads": "check_grads check_sizes",
        "transforms.control_flow.associative_scan": "associative_scan",
        "transforms.control": "check checkpoint ravel_pytree statically_known stop_gradient",
        "transforms.control_flow.conditionals": "cond switch", "transforms.jit": "explain export jit load profile",
        "transforms.control_flow.loops": "fori_loop map scan while_loop",
        "transforms.custom.implicit_solves": "custom_linear_solve custom_root",
        "transforms.grad": "grad jvp linear_transpose linearize value_and_grad vjp",
        "transforms.custom.custom_rules": "custom_jvp custom_vjp",
        "transforms.ragged.mapping": "ragged_map", "transforms.ragged.values": "Ragged",
        "transforms.vmap": "hessian hvp jacfwd jacobian jacrev vmap",
    }.items() for name in names.split()
}  # fmt: skip
# constants, classes and functions
__all__ = sorted([*_HOMES, "AnyshapeError", "config", "errors", "numpy", "ops"], key=lambda n: (not n.isupper(), n))


def __getattr__(name: str) -> Any:
    """Return a public name or a module, loaded at its first use."""
    if name in _HOMES:
        return globals().setdefault(name, getattr(_load(_HOMES[name]), name))
    if name in ("autograd", "cluster", "debug", "jax", "numpy", "ops", "optimize", "scipy", "torch"):
        return _load(f"anyshape.{name}")
    raise _load("anyshape.support.elsewhere").missing(_sys.modules[__name__], name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


del Any, calls_with_lists, code_that_is_read, collection_paused, paths_of_sizes  # no public names
