"""What nodes may say, for graphs of unknown origin: how many operands an op takes, and what its params may be.

Functions that apply ops make no others, and neither shape rules nor kernels look. A name of a param means the same in
every op. What a shape rule does check is not checked here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Node, Op, freeze, has_local
from anyshape.graph.prover.constraints import Claim, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, InputAxis
from anyshape.graph.sizes.substitute import leaves_of
from anyshape.ops.apply import find_kernel
from anyshape.ops.callback import UNKNOWN, Callback
from anyshape.ops.contraction import MOST_OPERANDS, is_product, terms_of
from anyshape.ops.control import POLICIES
from anyshape.ops.elementwise import PYTHON_INTS
from anyshape.ops.gathering import GATHER, SCATTER

_TWO = (
    "add sub mul div floor_divide remainder fmod pow hypot gcd lcm max min fmax fmin heaviside copysign logaddexp "
    "logaddexp2 arctan2 nextafter logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift "
    "right_shift share ratio gap beta betaln zeta gammainc gammaincc xlogy xlog1py rel_entr kl_div"
)
_OPERANDS = dict.fromkeys(_TWO.split(" "), (2, 2)) | {  # where the shape rule takes any number
    "betainc": (3, 3),
    "einsum": (3, MOST_OPERANDS),
    "python_int": (1, 2),
    **dict.fromkeys(("take", "put_add"), (2, 64)),
    "dynamic_slice": (1, 65),
    "dynamic_update_slice": (2, 66),
    "concatenate": (1, 10_000),
    "callback": (0, 10_000),
}
_ORDERED = ("polygamma", "bessel_j", "bessel_y", "bessel_i", "bessel_k", "scaled_bessel_i", "scaled_bessel_k", "sinc")
_PARAMS = {"power_by": ("exponent",), "round": ("decimals",), **dict.fromkeys(_ORDERED, ("order",))}  # rules skip them
_LARGEST_ORDER = 1000  # kernels take that many steps
_PROBED = ("elementwise", "special", "reduction", "sorting", "control")


@functools.cache
def _signature(op: Op) -> tuple[int, int, frozenset[str]]:
    """The least and the greatest number of operands, and the names of the params."""
    parameters = list(inspect.signature(op.infer).parameters.values())
    plain = [p for p in parameters[1:] if p.kind is p.POSITIONAL_OR_KEYWORD]
    least, most = _OPERANDS.get(op.name, (len(plain), len(plain)))
    names = _PARAMS.get(op.name, [p.name for p in parameters if p.kind is p.KEYWORD_ONLY])
    return least, most, frozenset(names)


def problem(node: Node) -> str:
    """What is wrong with the operands or the params of a node; nothing if they are as functions make them."""
    least, most, names = _signature(node.op)
    if not least <= len(node.inputs) <= most:
        return f"{node.op} takes {least} operands, not {len(node.inputs)}"
    params = dict(node.params)
    if params.keys() != names:
        return f"{node.op} has the params {', '.join(sorted(names)) or 'none'}, not {', '.join(sorted(params))}"
    for name, param in params.items():
        if not _KINDS[name](node, param):
            return f"{node.op}: {name} cannot be {param!s:.100}"
    fits = _TOGETHER.get(node.op.name)
    if fits is not None and not fits(node, params):
        return f"{node.op}: its params do not go together: {params!s:.200}"
    return _wrong_dtype(node)


def claims(node: Node, scope: Scope) -> list[Claim]:
    """What must hold of sizes for the kernel to give what the shape rule says, beyond what that asks for."""
    context = ShapeGuardContext(scope, node.op.name, node.where, [v.meta for v in node.operands])
    params = {name: context.bind(p, field=name) for name, p in node.params}
    if node.op.name == "iota":
        return [at_least(params["size"], 0)]
    if node.op.name == "pad":
        return [at_least(amount, 0) for name in ("low", "high", "interior") for amount in params[name]]
    if node.op.name != "slice":
        return []
    found = []
    for axis, (start, size, step) in enumerate(zip(params["starts"], params["sizes"], params["steps"], strict=True)):
        found += [at_least(start, 0), at_least(size, 0), at_least(step, 1)]
        if not isinstance(step, int) or step > 0:
            whole = context.exact(node.inputs[0], axis, field="starts")
            found.append(at_least(expr.maximum(expr.ceildiv(whole - start, step), 0), size))
    return found


# -- one param


def _size(node: Node, x: Any) -> bool:
    """An int, or a size of axes that operands have."""
    if isinstance(x, DimExpr):
        metas = [v.meta for v in node.operands]
        leaves = leaves_of(x)
        return all(
            isinstance(a, InputAxis) and a.operand < len(metas) and a.axis < metas[a.operand].rank for a in leaves
        )
    return type(x) is int and abs(x) < 2**63


def _sizes(node: Node, x: Any) -> bool:
    return isinstance(x, tuple) and len(x) <= 64 and all(_size(node, s) for s in x)


def _promised(node: Node, x: Any) -> bool:
    """Sizes, bounds of sizes, or nothing at all."""
    return all(e == UNKNOWN or _size(node, e[1] if isinstance(e, tuple) else e) for e in x)


def _axis(node: Node, x: Any) -> bool:
    return type(x) is int and 0 <= x < node.inputs[0].meta.rank


def _axes(node: Node, x: Any) -> bool:
    """Different axes, of what is for each op to say."""
    return _distinct(x, 64)


def _distinct(x: Any, rank: int) -> bool:
    return isinstance(x, tuple) and all(type(a) is int and 0 <= a < rank for a in x) and len(set(x)) == len(x)


def _flag(node: Node, x: Any) -> bool:
    return type(x) is bool


def _dtype(node: Node, x: Any) -> bool:
    return isinstance(x, np.dtype)


def _number(node: Node, x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.longdouble, np.clongdouble))


def _literal(dtype: np.dtype, x: Any) -> bool:
    """A number as an array of the dtype gives it back."""
    try:
        return freeze(dtype.type(x).item()) == freeze(x)
    except (TypeError, ValueError, OverflowError):
        return False


def _pair_of_axes(node: Node, x: Any) -> bool:
    ranks = [v.meta.rank for v in node.inputs]
    pair = isinstance(x, tuple) and len(x) == 2 and all(_distinct(a, r) for a, r in zip(x, ranks, strict=True))
    return pair and len(x[0]) == len(x[1])


def _equation(node: Node, x: Any) -> bool:
    """Labels for each axis of each operand."""
    if not isinstance(x, str) or not is_product(x):
        return False
    return [len(labels) for labels in terms_of(x)[0]] == [v.meta.rank for v in node.inputs]


_KINDS: dict[str, Callable[[Node, Any], bool]] = {
    "function": lambda node, x: isinstance(x, Callback),  # which no file can say
    "results": lambda node, x: all(isinstance(dtype, np.dtype) and _promised(node, sizes) for dtype, sizes in x),
    "loops": lambda node, x: all(len(level) == len(node.inputs) for level in x),
    "limit": lambda node, x: x is None or _size(node, x),
    "rounds": _flag,
    "equal_nan": _flag,
    "message": lambda node, x: isinstance(x, str),
    "keep": lambda node, x: x in POLICIES,
    "turn": lambda node, x: type(x) is int and x >= 0,
    "shape": _sizes,
    "sizes": _sizes,
    "starts": _sizes,
    "steps": _sizes,
    "low": _sizes,
    "high": _sizes,
    "interior": _sizes,
    "size": _size,
    "axis": _axis,
    "axes": _axes,
    "contract": _pair_of_axes,
    "equation": _equation,
    "batch": lambda node, x: _pair_of_axes(node, x) if node.op.name == "dot_general" else type(x) is int and x >= 0,
    "value": _number,
    "exponent": _number,
    "fill_value": _number,
    **dict.fromkeys({*GATHER, *SCATTER}, _axes),
    "index_vector_dim": lambda node, x: type(x) is int and x >= 0,
    "slice_sizes": _sizes,
    "mode": lambda node, x: isinstance(x, str),
    "unique_indices": _flag,
    "dtype": _dtype,
    "decimals": lambda node, x: type(x) is int and abs(x) <= _LARGEST_ORDER,
    "order": lambda node, x: type(x) is int and 0 <= x <= _LARGEST_ORDER,
    "operator": lambda node, x: PYTHON_INTS.get(x) == len(node.inputs),
    "side": lambda node, x: x in ("left", "right"),
    **dict.fromkeys(("empty", "reverse", "exclusive", "stable", "inverse", "vectorized"), _flag),
}

# -- the params of an op together

_Params = dict[str, Any]


def _rank(node: Node) -> int:
    return node.inputs[0].meta.rank


def _into(axes: Sequence[int], count: int, rank: int) -> bool:
    """So many axes, in order, of an array of this rank."""
    return len(axes) == count and list(axes) == sorted(axes) and all(a < rank for a in axes)


def _within(node: Node, p: _Params) -> bool:
    return list(p["axes"]) == sorted(p["axes"]) and all(a < _rank(node) for a in p["axes"])


def _disjoint(node: Node, p: _Params) -> bool:
    return all(not set(c) & set(b) for c, b in zip(p["contract"], p["batch"], strict=True))


def _padded(node: Node, p: _Params) -> bool:
    fits = all(len(p[k]) == _rank(node) for k in ("low", "high", "interior"))
    return fits and _literal(node.inputs[0].meta.dtype, p["value"])


def _put(node: Node, p: _Params) -> bool:
    updates, index = _rank(node), node.inputs[1].meta.rank
    count, rank = len(node.inputs) - 1, updates - index + len(p["axes"])
    return index <= updates and len(p["sizes"]) == count and _into(p["axes"], count, rank)


_TOGETHER: dict[str, Callable[[Node, _Params], bool]] = {
    "dot_general": _disjoint,
    "full": lambda n, p: _literal(p["dtype"], p["value"]),
    "iota": lambda n, p: p["dtype"].kind in "iufc",
    "narrow": lambda n, p: p["dtype"].kind in "iu" and n.inputs[0].meta.dtype.kind in "iu",
    "broadcast_in_dim": lambda n, p: _into(p["axes"], _rank(n), len(p["shape"])),
    "sum_to": lambda n, p: _into(p["axes"], len(p["shape"]), _rank(n)),
    "transpose": lambda n, p: sorted(p["axes"]) == list(range(_rank(n))),
    "slice": lambda n, p: len(p["starts"]) == len(p["sizes"]) == len(p["steps"]) == _rank(n),
    "pad": _padded,
    "take": lambda n, p: _into(p["axes"], len(n.inputs) - 1, _rank(n)),
    "put_add": _put,
    **dict.fromkeys(("gather", "gather_dynamic"), lambda n, p: _literal(n.inputs[0].meta.dtype, p["fill_value"])),
    "searchsorted": lambda n, p: p["batch"] <= n.inputs[1].meta.rank,
    **dict.fromkeys(
        ("rev", "reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or"), _within
    ),
    **dict.fromkeys(("reduce_logsumexp", "softmax"), _within),
}

# -- dtypes, which most shape rules take as they come


def _wrong_dtype(node: Node) -> str:
    """Whether the kernel takes these dtypes and gives those that are stated: tried out on one element."""
    if node.op.family not in _PROBED or any(has_local(p) for _, p in node.params):
        return ""
    metas = tuple([(v.meta.dtype, v.meta.rank) for v in node.inputs])
    found = _results(node.op, metas, tuple([(k, _Exact(p)) for k, p in node.params]))
    stated = tuple([v.meta.dtype for v in node.outputs])
    given = ", ".join(str(dtype) for dtype, _ in metas)
    return "" if found in (stated, None) else f"{node.op} of {given} does not give {', '.join(map(str, stated))}"


class _Exact:
    """A param as a key that tells 1 from 1.0 and True."""

    __slots__ = ("key", "param")

    def __init__(self, param: Any) -> None:
        self.param, self.key = param, freeze(param)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exact) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=4096)
def _results(
    op: Op, operands: tuple[tuple[np.dtype, int], ...], params: tuple[tuple[str, _Exact], ...]
) -> tuple[np.dtype, ...] | None:
    """The dtypes that a kernel gives; none if it takes no such operands, None where one element cannot tell."""
    fill = np.zeros if op.family == "sorting" else np.ones
    arrays = [fill((1,) * rank, dtype) for dtype, rank in operands]
    try:
        with np.errstate(all="ignore"):
            result = find_kernel(op).run(*arrays, **{k: p.param for k, p in params})
    except TypeError:
        return ()
    except (ArithmeticError, ValueError):
        return None
    return tuple([np.asarray(r).dtype for r in (result if isinstance(result, tuple) else (result,))])
