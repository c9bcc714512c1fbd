"""Validation of nodes of unknown origin against the definitions of their ops.

The functions that apply ops make legal nodes only, so neither shape rules nor kernels check for them.
"""

import functools
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.ir.op_local import has_local
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.core.definition import DEFINITIONS
from anyshape.support.freezing import freeze


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
    declared = DEFINITIONS[node.op].claims
    if declared is None:
        return []
    context = ShapeGuardContext(scope, node.op.name, node.where, [v.meta for v in node.operands])
    return declared(context, node, {name: context.bind(param, field=name) for name, param in node.params})


# -- dtypes, which most shape rules take as they come


def _wrong_dtype(node: Node) -> str:
    """Return how the stated dtypes of the results differ from those that the kernel gives for one element."""
    if DEFINITIONS[node.op].probe is None or any(has_local(p) for _, p in node.params):
        return ""
    metas = tuple([(v.meta.dtype, v.meta.rank) for v in node.inputs])
    probed = _result_dtypes(node.op, metas, tuple([(k, _Exact(p)) for k, p in node.params]))
    stated = tuple([v.meta.dtype for v in node.outputs])
    if probed in (stated, None):
        return ""
    operands = ", ".join(str(dtype) for dtype, _ in metas)
    return f"{node.op} of {operands} does not give {', '.join(map(str, stated))}"


class _Exact:
    """Param as a key that distinguishes 1, 1.0 and True."""

    __slots__ = ("key", "param")

    def __init__(self, param: Any) -> None:
        self.param, self.key = param, freeze(param)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exact) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=4096)
def _result_dtypes(
    op: Op, operands: tuple[tuple[np.dtype, int], ...], params: tuple[tuple[str, _Exact], ...]
) -> tuple[np.dtype, ...] | None:
    """Return the dtypes that a kernel gives: () if it rejects the operands, None where one element cannot tell."""
    probe = DEFINITIONS[op].probe
    if probe is None:
        return None
    arrays = [probe((1,) * rank, dtype) for dtype, rank in operands]
    try:
        with np.errstate(all="ignore"):
            result = KERNELS[op].run(*arrays, **{k: p.param for k, p in params})
    except TypeError:
        return ()
    except (ArithmeticError, ValueError):
        return None
    return tuple([np.asarray(r).dtype for r in (result if isinstance(result, tuple) else (result,))])
