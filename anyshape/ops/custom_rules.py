"""Ops that carry derivative rules of the user.

A function with a rule of its own is traced into the graph as it is, between two kinds of marks:

- custom_argument passes an argument into the function. No tangent gets past it.
- custom_jvp, custom_vjp and custom_linear_solve pass the results on. Their operands are the arguments, then the
  results. Their derivative comes from a rule of the user, which is a function of the arguments.

custom_vjp_tangent stands for the tangents of the results of custom_vjp. Its transpose runs the backward rule; without
a transpose it cannot run.
"""

from __future__ import annotations

import copyreg
import pickle
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all, localise
from anyshape.ops.core.definition import PROBE_ONES, define
from anyshape.ops.core.flop_counts import MOVES

Levels: TypeAlias = tuple[tuple[bool, ...], ...]


class CustomRule:
    """Derivative rule of the user as a param. Rules are equal if their keys are; subclasses hold the functions.

    `name` is the name of the function that has the rule. The last `captured` arguments are values that the rule closes
    over: their tangents play no part. `is_independent`: the results do not depend on how the function
    finds them, so nothing is wrong if it closes over values that are differentiated.

    A file holds no functions, and a pickle only those that a module has by name. Programs take their place there, and
    in a graph that is pickled by itself the name of the function, which then has no derivative.
    """

    name: str
    captured: int

    is_independent = False

    def refusal(self, where: object) -> UnsupportedFunctionError:
        """Return the error for a tangent that nothing transposes."""
        problem = "has a rule for cotangents alone, so it has no forward mode (jvp, jacfwd, linearize)"
        advice = "use grad, vjp or jacrev, or give the function a rule with custom_jvp, which serves both modes"
        return UnsupportedFunctionError(f"custom_vjp({self.name})", problem, advice, where)

    def __init__(self, name: str, captured: int = 0) -> None:
        self.name, self.captured = name, captured

    @property
    def key(self) -> Any:
        """Key that is equal for equal rules."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, CustomRule) and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.name, type(self)))

    def __str__(self) -> str:
        return self.name

    def __copy__(self) -> CustomRule:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CustomRule:
        return self

    def fits(self, node: Node) -> bool:
        """Return whether the rule can be that of a node; one that a file made up may not."""
        return True

    def parts(self, count: int) -> list[Sequence[int]]:
        """Return the sets of arguments, of this many, whose tangents the rule moves apart, and adds what it gets."""
        return [range(count)]

    @property
    def travels(self) -> bool:
        """True if a pickle holds the functions: they are not local, and hold no values of a trace."""
        try:
            pickle.dumps(self.__dict__)
        except (pickle.PicklingError, AttributeError, TypeError):
            return False
        return True

    def __reduce__(self) -> Any:
        """Pickle with the functions, or as the name where no pickle holds them."""
        if not self.travels:
            return str, (self.name,)
        state = self.__dict__
        return copyreg.__newobj__, (type(self),), state  # type: ignore[attr-defined]


class ClosedOver(CustomRule):
    """Missing rule of a function for a value that it closes over: an error, where a derivative depends on it."""

    def __init__(self, function: str, name: str) -> None:
        self.function = function
        super().__init__(name)

    @property
    def key(self) -> Any:
        return self.function, self.name

    def refusal(self, where: object) -> UnsupportedFunctionError:
        problem = f"is differentiated in a value that {self.name} closes over, of which its rule knows nothing"
        advice = f"pass the value to {self.name} as an argument, or close over stop_gradient of it"
        return UnsupportedFunctionError(self.function, problem, advice, where)


def _argument_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    return x


def _result_types(
    ctx: ShapeGuardContext, *operands: TensorMeta, rule: CustomRule | str, count: int, levels: Levels
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the types behind `count` arguments; `levels`, outermost first, say which have the axis of a vmap."""
    results = operands[count:]
    return results if len(results) > 1 else results[0]


def _tangent_types(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    rule: CustomRule | str,
    count: int,
    depth: int,
    results: tuple[tuple[np.dtype, tuple[Size, ...]], ...],
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Derive the results of `count` tangents, then residuals; all have the axes of `depth` vmaps in front."""
    metas = tuple([TensorMeta(dtype, tuple([ctx.resolve(size) for size in sizes])) for dtype, sizes in results])
    return metas if len(metas) > 1 else metas[0]


def _is_rule(node: Node, param) -> bool:
    """Accept a rule of the user, or the name of its function, where a file has dropped the rule."""
    return isinstance(param, (CustomRule, str))


def _are_levels(node: Node, param) -> bool:
    """For each vmap around the call, one flag per argument."""
    return isinstance(param, tuple) and all(isinstance(level, tuple) for level in param)


def _are_results(node: Node, param) -> bool:
    """Accept a dtype and sizes for each result."""
    return all(isinstance(dtype, np.dtype) and kinds.sizes(node, sizes) for dtype, sizes in param)


def _counts_operands(node: Node, params: dict[str, Any]) -> bool:
    """Return whether there is a result behind the arguments, each level has a flag for each, and the rule fits."""
    count, rule = params["count"], params["rule"]
    has_flags = count < len(node.inputs) and all(len(level) == count for level in params["levels"])
    return has_flags and (isinstance(rule, str) or rule.fits(node))


def _define_call(name: str) -> Op:
    """Define the mark of the results of a function with a rule."""
    return define(
        name,
        _result_types,
        operands=(1, 10_000),
        params={"rule": _is_rule, "count": kinds.count, "levels": _are_levels},
        jointly=_counts_operands,
        claims=None,
        probe=None,
        cost=MOVES,
    )


custom_argument_op: Op = define(
    "custom_argument", _argument_type, params={}, jointly=None, claims=None, probe=PROBE_ONES, cost=MOVES
)
custom_jvp_op: Op = _define_call("custom_jvp")
custom_vjp_op: Op = _define_call("custom_vjp")
custom_linear_solve_op: Op = _define_call("custom_linear_solve")
custom_vjp_tangent_op: Op = define(
    "custom_vjp_tangent",
    _tangent_types,
    operands=(1, 10_000),
    params={"rule": _is_rule, "count": kinds.count, "depth": kinds.count, "results": _are_results},
    jointly=None,
    claims=None,
    probe=None,
    cost=MOVES,
)


def custom_argument(x: Operand) -> Any:
    """Return x without its tangents."""
    return apply(custom_argument_op, x)


def custom_call(
    op: Op, rule: CustomRule | str, arguments: Sequence[Operand], results: Sequence[Operand], levels: Levels = ()
) -> tuple[Any, ...]:
    """Return the results of a function, whose derivative in the arguments comes from a rule."""
    return apply_all(op, *arguments, *results, rule=rule, count=len(arguments), levels=levels)


def custom_vjp_tangent(
    rule: CustomRule | str,
    tangents: Sequence[Operand],
    residuals: Sequence[Operand],
    results: Sequence[tuple[np.dtype, Sequence[Size]]],
    depth: int,
) -> tuple[Any, ...]:
    """Return tangents of these dtypes and sizes that only the transpose of this op can make sense of."""
    operands = [*tangents, *residuals]
    local, sources = localise(tuple([(dtype, tuple(sizes)) for dtype, sizes in results]), operands)
    params = {"rule": rule, "count": len(tangents), "depth": depth, "results": local}
    return apply_all(custom_vjp_tangent_op, *operands, sources=sources, **params)
