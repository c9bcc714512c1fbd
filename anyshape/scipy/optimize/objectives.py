"""Functions that SciPy's solvers call: of vectors, with exact derivatives, made of functions of trees."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import AnyshapeError
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.optimize.unknowns import Unknowns, packed, unpacked
from anyshape.support.lazy_dataclass import dataclass
from anyshape.transforms.function_memo import memoised
from anyshape.transforms.grad import value_and_grad
from anyshape.transforms.jit import jit
from anyshape.transforms.vmap import hessian, hvp, jacfwd

Function = Callable[..., Any]
_LOG = logging.getLogger("anyshape.trace")


@dataclass(frozen=True, slots=True)
class Derived:
    """Compiled functions of (vector, tree that it stands for, further arguments)."""

    value: Function
    value_and_gradient: Function
    jacobian: Function
    hessian: Function
    hessian_product: Function


def derived(function: Function, is_scalar: bool) -> Derived:
    """Return the compiled functions of a function, made once in its life."""
    made: Derived = memoised(function, is_scalar, _make_derived)
    return made


def _make_derived(function: Function, is_scalar: bool) -> Derived:
    def flat(v: Any, like: Any, args: Any) -> Any:
        result = function(unpacked(v, like), *args)
        return real_floats(result).reshape(()) if is_scalar else packed(result)

    def product(v: Any, direction: Any, like: Any, args: Any) -> Any:
        return hvp(lambda v: flat(v, like, args), (v,), (direction,))

    return Derived(jit(flat), value_and_grad(flat), jit(jacfwd(flat)), jit(hessian(flat)), jit(product))


@dataclass(frozen=True, slots=True)
class Objective:
    """Function that a solver calls with vectors. Its exact derivatives are None if it cannot be traced."""

    function: Function
    unknowns: Unknowns
    args: Sequence[Any]
    exact: Derived | None

    def __call__(self, v: Any, *further: Any) -> Any:
        """Return the value, a number or a vector."""
        if self.exact is not None:
            return self.exact.value(v, self.unknowns.tree, self.args)
        if self.unknowns.is_vector:
            return self.function(v, *self.args)
        return packed(self.function(self.unknowns.unpacked(v), *self.args))

    def value_and_gradient(self, v: Any) -> Any:
        """Return the value and the gradient."""
        return self._exact().value_and_gradient(v, self.unknowns.tree, self.args)

    def jacobian(self, v: Any, *further: Any) -> Any:
        """Return the Jacobian."""
        return self._exact().jacobian(v, self.unknowns.tree, self.args)

    def hessian(self, v: Any, *further: Any) -> Any:
        """Return the matrix of second derivatives."""
        return self._exact().hessian(v, self.unknowns.tree, self.args)

    def hessian_product(self, v: Any, direction: Any, *further: Any) -> Any:
        """Return the product of the matrix of second derivatives and a vector."""
        return self._exact().hessian_product(v, np.asarray(direction, np.float64), self.unknowns.tree, self.args)

    def _exact(self) -> Derived:
        assert self.exact is not None
        return self.exact


def objective(
    name: str, function: Function, unknowns: Unknowns, args: Sequence[Any], *, is_scalar: bool, trace: bool = True
) -> Objective:
    """Return what a solver calls; a function that cannot be traced keeps SciPy's own derivatives, which a log says."""
    exact = derived(function, is_scalar) if trace else None
    whole = Objective(function, unknowns, args, exact)
    if exact is None:
        return whole
    try:
        whole.value_and_gradient(unknowns.vector()) if is_scalar else whole.jacobian(unknowns.vector())
    except AnyshapeError as error:
        if not unknowns.is_vector:
            raise
        _LOG.warning("%s: SciPy approximates derivatives, as tracing failed: %s", name, str(error).splitlines()[0])
        return Objective(function, unknowns, args, None)
    return whole
