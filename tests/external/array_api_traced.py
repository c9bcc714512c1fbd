"""Namespace of `anyshape.numpy` whose functions each trace their call: what array-api-tests runs as "traced".

Arrays among the arguments, also in lists, become arguments of a jitted function. All else is part of the function. A
dtype as a result is handed out of the trace as it is.
"""

import functools
import types

import numpy as np
import optree
from hypothesis import Phase, settings

import anyshape
import anyshape.numpy as anp
from anyshape.graph.ir.builder import Traced


def is_array(leaf):
    """Return whether a leaf of the arguments is traced."""
    return isinstance(leaf, np.ndarray | np.generic)


def traced(function):
    """Return a function whose call is traced."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        leaves, structure = optree.tree_flatten((args, kwargs), none_is_leaf=True)
        positions = [i for i, leaf in enumerate(leaves) if is_array(leaf)]
        outside = []

        def inside(*arrays):
            filled = list(leaves)
            for i, array in zip(positions, arrays, strict=True):
                filled[i] = array
            arguments, options = optree.tree_unflatten(structure, filled)
            result = function(*arguments, **options)
            if all(isinstance(leaf, Traced | np.ndarray | np.generic) for leaf in optree.tree_leaves(result)):
                return result
            outside.append(result)
            return None

        result = anyshape.jit(inside)(*(leaves[i] for i in positions))
        return outside[0] if outside else result

    return call


class Namespace(types.ModuleType):
    """Module whose functions trace their calls."""

    def __init__(self, name, module):
        super().__init__(name)
        self._module = module

    def __getattr__(self, name):
        member = getattr(self._module, name)
        if isinstance(member, types.ModuleType):
            return Namespace(f"{self.__name__}.{name}", member)
        is_function = callable(member) and not isinstance(member, type) and not name.startswith("__")
        return traced(member) if is_function else member

    def __dir__(self):
        return dir(self._module)


xp = Namespace("anyshape.numpy", anp)
# a call takes a trace, so examples that fail are not made smaller; the suite's own settings inherit this
settings.register_profile("traced", phases=(Phase.explicit, Phase.generate))
settings.load_profile("traced")
