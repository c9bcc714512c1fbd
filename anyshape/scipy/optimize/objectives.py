"""Functions that SciPy's solvers call: of vectors, with exact derivatives, made of functions of trees.

Unknowns of solvers: trees, which SciPy sees as vectors.

Solvers of SciPy in programs: they run as callbacks, and the equations of the solution give its derivative.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import AnyshapeError, ApproximateDerivativeWarning, ArgumentError
from anyshape.graph.prover.user_stack import tell, user_line
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.true_types import has_type
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.pytrees import flatten, unflatten
from anyshape.transforms.custom.custom_calls import closed_function
from anyshape.transforms.custom.implicit_solves import custom_root
from anyshape.transforms.grad import value_and_grad
from anyshape.transforms.jit import jit
from anyshape.transforms.linear_map import memoised
from anyshape.transforms.vmap import hessian, hvp, jacfwd, vmap


def _is_vector(x) -> bool:
    """Return whether SciPy would read an unknown as one array: numbers, in lists or not."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return bool(x) and all(np.ndim(part) == 0 and not isinstance(part, (dict, str)) for part in x)
    return (
        not isinstance(x, (list, tuple, dict))
        and (hasattr(x, "__len__") or has_type(x, (Number, np.generic)))
        and np.ndim(x) <= 1
    )


class Unknowns:
    """Tree of floats that a solver changes. Numbers in a list are a vector, as for SciPy."""

    def __init__(self, name: str, x0: Any, *, is_tree: bool = False) -> None:
        self.is_vector: bool = not is_tree and _is_vector(x0)
        leaves, self.structure = flatten(xp.atleast_1d(xp.asarray(x0)) if self.is_vector else x0)
        self.leaves: list[Any] = [_as_floats(name, x) for x in leaves]

    @property
    def tree(self) -> Any:
        """Start as a tree of arrays of floats."""
        return unflatten(self.structure, self.leaves)

    def vector(self) -> np.ndarray:
        """Return the start as a vector of float64."""
        return np.concatenate([np.ravel(x).astype(np.float64) for x in self.leaves]) if self.leaves else np.zeros(0)

    def filled(self, leaves: Sequence[Any]) -> Any:
        """Return the tree with these leaves."""
        return unflatten(self.structure, leaves)

    def unpacked(self, v: Any) -> Any:
        """Return the tree that a vector stands for."""
        return unpacked(v, self.tree)


def _as_floats(name: str, x):
    array = xp.asarray(x)
    if array.dtype.kind in "biu":
        return real_floats(array)
    if array.dtype.kind != "f":
        raise ArgumentError(name, "x0", f"has the dtype {array.dtype}", "pass real numbers")
    return array


def unpacked(v: Any, like: Any) -> Any:
    """Return the tree like another one whose elements stand one after the other in a vector."""
    leaves, structure = flatten(like)
    parts, position = [], 0
    for leaf in leaves:
        parts.append(xp.reshape(v[position : position + leaf.size], leaf.shape).astype(leaf.dtype))
        position = position + leaf.size
    return unflatten(structure, parts)


def packed(tree: Any) -> Any:
    """Return the elements of a tree one after the other in a vector of float64."""
    parts = [xp.ravel(real_floats(x)) for x in flatten(tree)[0]]
    return xp.concatenate(parts) if parts else np.zeros(0)


def solve_densely(linear: Function, right: Any) -> Any:
    """Solve linear equations of trees by their matrix."""
    b = packed(right)
    columns = vmap(lambda v: packed(linear(unpacked(v, right))))(xp.eye(b.shape[0]))
    return unpacked(xp.linalg.solve(columns.T, b), right)


def as_tuple(args: Any) -> Sequence[Any]:
    """Return further arguments of a function, which SciPy takes alone or in a tuple."""
    return args if isinstance(args, tuple) else (args,)


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

    def flat(v, like, args):
        result = function(unpacked(v, like), *args)
        return scalar(result, name) if is_scalar else packed(result)

    def product(v, direction, like, args):
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
    """Return what a solver calls; a function that cannot be traced keeps SciPy's own derivatives, with a warning.

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
        text = f"{name}: SciPy approximates derivatives, as tracing failed: {str(error).splitlines()[0]}"
        tell(text, ApproximateDerivativeWarning, user_line())
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


COUNTS = ("success", "status", "nfev", "njev", "nit")


def solved(
    name: str,
    function: Function,
    unknowns: Unknowns,
    solve: Function,
    equations: Function,
    *,
    is_scalar: bool,
    settings: Any = (),
    further: Any = (),
) -> tuple[Any, dict[str, Any], Function]:
    """Return the solution, its counts, and the function without what it closes over.

    - `solve(objective, settings)` runs SciPy's solver at run time and returns a tuple: its result, then the further
      unknowns.
    - `settings` are a tree of values that it needs, which may be traced.
    - `equations(f)` are zero at the solution, as a function of a tree and of the further unknowns; f is the function.
    - `further` are arrays like the further unknowns.
    """
    closed, params = closed_function(name, function, unknowns.tree)
    like = (unknowns.tree, *further)

    def at(params: Sequence[Any]) -> Function:
        return lambda x: closed(params, x)

    def run(x0, params: Sequence[Any], settings):
        start = Unknowns(name, x0, is_tree=True)
        result, *others = solve(Objective(function, start, tuple(params), derived(closed.applied, is_scalar)), settings)
        tree = start.unpacked(np.atleast_1d(np.asarray(result.x, np.float64)))
        return flatten((tree, *others))[0], [_count(result, key) for key in COUNTS]

    def call(f, guess):
        specs = [ShapeDtypeStruct(x.shape, x.dtype) for x in flatten(guess)[0]]
        counts = [ShapeDtypeStruct((), np.bool_ if key == "success" else np.int64) for key in COUNTS]
        leaves, counts = pure_callback(run, (specs, counts), guess[0], params, settings)
        width = len(unknowns.leaves)
        return (unknowns.filled(leaves[:width]), *leaves[width:]), counts

    conditions = equations(at(params))
    zero = (lambda z: conditions(*z)) if further else (lambda z: (conditions(*z),))
    (x, *_), counts = custom_root(zero, like, call, solve_densely, has_aux=True)
    return x, dict(zip(COUNTS, counts, strict=True)), at(params)


def _count(result, key: str):
    """Return a count of a result; 0 where a solver has none."""
    value = result.get(key, 0)
    return np.bool_(value) if key == "success" else np.int64(value)
