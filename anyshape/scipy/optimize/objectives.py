"""Functions that SciPy's solvers call: of vectors, with exact derivatives, made of functions of trees."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import AnyshapeError, ArgumentError
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


def derived(function: Function, is_scalar: bool, name: str = "minimize") -> Derived:
    """Return the compiled functions of a function, made once in its life; `name` is the solver in errors."""
    made: Derived = memoised(function, (is_scalar, name), _make_derived)
    return made


def scalar(result: Any, name: str) -> Any:
    """Return the value of an objective as a number; raise ArgumentError for an array of another size than 1."""
    if not isinstance(result, (tuple, list, dict, str, type(None))):
        array = real_floats(result)
        if not array.ndim or array.size == 1:
            return array.reshape(())
        problem, advice = f"gives an array of {array.ndim} axes, not a number", "reduce it, as with np.sum"
    else:
        problem, advice = f"gives a {type(result).__name__}, not a number", "return one number"
    raise ArgumentError(name, "fun", problem, advice)


def _make_derived(function: Function, key: tuple[bool, str]) -> Derived:
    is_scalar, name = key

    def flat(v: Any, like: Any, args: Any) -> Any:
        result = function(unpacked(v, like), *args)
        return scalar(result, name) if is_scalar else packed(result)

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
    name: str,
    function: Function,
    unknowns: Unknowns,
    args: Sequence[Any],
    *,
    is_scalar: bool,
    trace: bool = True,
    count: int | None = None,
) -> Objective:
    """Return what a solver calls; a function that cannot be traced keeps SciPy's own derivatives, which a log says.

    `count` is the number of values that it must give, if that is known.
    """
    exact = derived(function, is_scalar, name) if trace else None
    whole = Objective(function, unknowns, args, exact)
    if exact is None:
        return whole
    try:
        if is_scalar:
            whole.value_and_gradient(unknowns.vector())
        else:
            check_count(name, whole.jacobian(unknowns.vector()), count)
    except AnyshapeError as error:
        if not unknowns.is_vector or getattr(error, "path", "") in ("f", "fun"):
            raise
        _LOG.warning("%s: SciPy approximates derivatives, as tracing failed: %s", name, str(error).splitlines()[0])
        return Objective(function, unknowns, args, None)
    return whole


def check_count(name: str, jacobian: Any, count: int | None) -> None:
    """Raise ArgumentError unless a function gives as many values as its solver needs; one value stretches to all."""
    values, unknowns = np.shape(jacobian)
    if count is None or values == count or (name == "curve_fit" and 1 in (values, count)):
        return
    if name == "curve_fit":
        advice = "pass xdata and ydata of one length"
        raise ArgumentError(name, "f", f"gives {values} values, and ydata has {count}", advice)
    advice = "give as many equations as unknowns, or use least_squares"
    raise ArgumentError(name, "fun", f"gives {values} values for {unknowns} unknowns", advice)
