"""Definition of an op: its shape rule, what a legal node of it holds, and what one application costs.

`define` takes all of it at once, so that no op lacks a part. Each family module in `ops/` defines its ops with it.

Validation of nodes of unknown origin against the definitions of their ops.

The functions that apply ops make legal nodes only, so neither shape rules nor kernels check for them.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import AnyshapeError
from anyshape.graph.ir import graph
from anyshape.graph.ir.graph import Node, Op, OpTable, ShapeRule
from anyshape.graph.ir.op_local import has_local
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.core.flop_counts import COSTS, OpCost
from anyshape.support.freezing import Frozen
from anyshape.support.lazy_dataclass import NamedTuple


def problem(node: Node) -> str:
    """Return what is illegal about the operands or the params of a node; an empty string if nothing is."""
    definition = DEFINITIONS[node.op]
    least, most = definition.operands
    if not least <= len(node.inputs) <= most:
        return f"{node.op} takes {least} operands, not {len(node.inputs)}"
    params, kinds = dict(node.params), definition.params
    if params.keys() != kinds.keys():
        return f"{node.op} has the params {', '.join(sorted(kinds)) or 'none'}, not {', '.join(sorted(params))}"
    for name, param in params.items():
        if not kinds[name](node, param):
            return f"{node.op}: {name} cannot be {param!s:.100}"
    if definition.jointly is not None and not definition.jointly(node, params):
        return f"{node.op}: its params do not go together: {params!s:.200}"
    return _wrong_dtype(node)


def claims(node: Node, scope: Scope) -> list[Claim]:
    """Return the claims on sizes that the kernel of a node relies on and its shape rule does not make."""
    if (declared := DEFINITIONS[node.op].claims) is None:
        return []
    context = ShapeGuardContext(scope, node.op.name, node.where, [v.meta for v in node.operands])
    return declared(context, node, {name: context.bind(param, field=name) for name, param in node.params})


# -- dtypes, which most shape rules take as they come


def _wrong_dtype(node: Node) -> str:
    """Return how the stated dtypes of the results differ from those that the kernel gives for one element."""
    if DEFINITIONS[node.op].probe is None or any(has_local(p) for _, p in node.params):
        return ""
    metas = tuple([(v.meta.dtype, v.meta.rank) for v in node.inputs])
    probed = _result_dtypes(node.op, metas, tuple([(k, Frozen(p)) for k, p in node.params]))
    stated = tuple([v.meta.dtype for v in node.outputs])
    if probed in (stated, None):
        return ""
    operands = ", ".join(str(dtype) for dtype, _ in metas)
    return f"{node.op} of {operands} does not give {', '.join(map(str, stated))}"


@functools.lru_cache(maxsize=4096)
def _result_dtypes(
    op: Op, operands: tuple[tuple[np.dtype, int], ...], params: tuple[tuple[str, Frozen], ...]
) -> tuple[np.dtype, ...] | None:
    """Return the dtypes that a kernel gives: () if it rejects the operands, None where one element cannot tell."""
    if (probe := DEFINITIONS[op].probe) is None:
        return None
    arrays = [probe((1,) * rank, dtype) for dtype, rank in operands]
    try:
        with np.errstate(all="ignore"):
            result = KERNELS[op].run(*arrays, **{k: p.value for k, p in params})
    except TypeError:
        return ()
    except (ArithmeticError, ValueError):
        return None
    return tuple([np.asarray(r).dtype for r in (result if isinstance(result, tuple) else (result,))])


ParamKind: TypeAlias = Callable[[Node, Any], bool]
Params: TypeAlias = dict[str, Any]
JointCheck: TypeAlias = Callable[[Node, Params], bool]
Claims: TypeAlias = Callable[[ShapeGuardContext, Node, Params], list[Claim]]
Probe: TypeAlias = Callable[..., np.ndarray]

PROBE_ONES: Probe = np.ones
PROBE_ZEROS: Probe = np.zeros
# Parts of definitions that many ops share, for `define`.
NO_PROBE: Params = {"claims": None, "probe": None}
NO_CHECKS: Params = {"jointly": None, **NO_PROBE}
PROBED_AT_ONES: Params = {**NO_CHECKS, "probe": PROBE_ONES}
PROBED_AT_ZEROS: Params = {**NO_CHECKS, "probe": PROBE_ZEROS}


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
    **flags: bool,
) -> Op:
    """Define a primitive with everything that holds of it in `ops/`; see `Definition`, and `Op` for the flags.

    `operands` is stated where the shape rule takes any number of them, `family` where another module has the rule.
    """
    count, names, takes_any = _signature(infer)
    if operands is None and "operands" in takes_any:
        raise AnyshapeError(f"{name}: its shape rule takes any number of operands\n  state `operands`")
    if "params" not in takes_any and names != params.keys():
        problem = f"{name}: its shape rule has the params {', '.join(sorted(names)) or 'none'}"
        raise AnyshapeError(f"{problem}\n  state a kind for each of them in `params`, and for no other")
    op = graph.define(name, infer, family, **flags)
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
