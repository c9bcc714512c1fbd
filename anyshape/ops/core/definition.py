"""Definition of an op: its shape rule, what a legal node of it holds, and what one application costs.

`define` takes all of it at once, so that no op lacks a part. Each family module in `ops/` defines its ops with it.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import AnyshapeError
from anyshape.graph.ir import graph
from anyshape.graph.ir.graph import Node, Op, OpTable, ShapeRule
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops.core.flop_counts import COSTS, OpCost
from anyshape.support.lazy_dataclass import NamedTuple

ParamKind: TypeAlias = Callable[[Node, Any], bool]
Params: TypeAlias = dict[str, Any]
JointCheck: TypeAlias = Callable[[Node, Params], bool]
Claims: TypeAlias = Callable[[ShapeGuardContext, Node, Params], list[Claim]]
Probe: TypeAlias = Callable[..., np.ndarray]

PROBE_ONES: Probe = np.ones
PROBE_ZEROS: Probe = np.zeros


class Definition(NamedTuple):
    """Conditions under which a node of an op is legal, for graphs of unknown origin. Shape rules check the rest.

    - `operands`: the least and the greatest number of operands.
    - `params`: for each parameter, the test of its value.
    - `jointly`: a test of all parameters together; None: each alone suffices.
    - `claims`: claims on sizes that the kernel relies on and the shape rule does not make; None: there are none.
    - `probe`: fills one-element operands, on which the kernel tells the dtypes of its results; None: it cannot.
    """

    operands: tuple[int, int]
    params: Mapping[str, ParamKind]
    jointly: JointCheck | None
    claims: Claims | None
    probe: Probe | None


DEFINITIONS: OpTable[Definition] = OpTable("definition", "ops")


def define(
    name: str,
    infer: ShapeRule,
    *,
    params: Mapping[str, ParamKind],
    jointly: JointCheck | None,
    claims: Claims | None,
    probe: Probe | None,
    cost: OpCost,
    operands: tuple[int, int] | None = None,
    family: str | None = None,
    makes_sizes: bool = False,
    raises: bool = False,
    draws: bool = False,
    has_subgraphs: bool = False,
) -> Op:
    """Define a primitive with everything that holds of it in `ops/`; see `Definition`.

    `operands` is stated where the shape rule takes any number of them, `family` where another module has the rule.
    """
    count, names, takes_any = _signature(infer)
    if operands is None and "operands" in takes_any:
        raise AnyshapeError(f"{name}: its shape rule takes any number of operands\n  state `operands`")
    if "params" not in takes_any and names != params.keys():
        problem = f"{name}: its shape rule has the params {', '.join(sorted(names)) or 'none'}"
        raise AnyshapeError(f"{problem}\n  state a kind for each of them in `params`, and for no other")
    op = graph.define(
        name, infer, family, makes_sizes=makes_sizes, raises=raises, draws=draws, has_subgraphs=has_subgraphs
    )
    DEFINITIONS[op] = Definition(operands or (count, count), dict(params), jointly, claims, probe)
    COSTS[op] = cost
    return op


def refuse(rule: Callable[[Node], Sequence[Node]], *ops: Op) -> None:
    """Declare that the kernels of ops refuse some values of operands; `rule` gives the nodes that do so alone."""
    for op in ops:
        op.refusals = rule


def itself(node: Node) -> Sequence[Node]:
    """Refuse values by running the whole node, for ops that take little time."""
    return (node,)


def _signature(infer: ShapeRule) -> tuple[int, set[str], set[str]]:
    """Return the number of operands and the names of params of a shape rule, and which of both may be more.

    They are read off the code of the function, as `inspect.signature` would add a percent to the time of the import.
    """
    code = infer.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    flags = {"operands": inspect.CO_VARARGS, "params": inspect.CO_VARKEYWORDS}
    return code.co_argcount - 1, {*names}, {name for name, flag in flags.items() if code.co_flags & flag}
