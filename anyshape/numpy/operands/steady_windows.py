"""Find slices of one length in each trip of a loop, as `x[i : i + 3]` for i in range(len(x) - 2)."""

from __future__ import annotations

from typing import Any

from anyshape.graph.ir.builder import Builder, Traced
from anyshape.graph.ir.graph import Node, Value
from anyshape.graph.ir.op_local import bind_local
from anyshape.graph.prover.constraints import YES, at_least
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import size_of
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type


class _Line(NamedTuple):
    """Value that is `times` the counter of a loop and an offset; the counter is None for a size."""

    counter: Value | None
    times: Size
    offset: Size


def steady_width(ctx: ShapeGuardContext, start: Any, stop: Any, step: Size | None, size: Size) -> Size | None:
    """Return the length of what a slice spans whose ends a loop moves, None where it may differ between trips."""
    first, last, step = _line_of(start), _line_of(stop), 1 if step is None else step
    if first is None or last is None or first.counter is None or first[:2] != last[:2]:
        return None
    if not has_type(step, int) or step < 1:
        return None
    width = expr.sub(last.offset, first.offset)
    if step > 1:  # up to the last element that is named
        width = expr.add(expr.mul(expr.floordiv(expr.sub(width, 1), step), step), 1)
    low, high = first.offset, expr.add(first.offset, width)
    beyond = expr.mul(first.times, expr.sub(_trips(start.builder, first.counter), 1))  # where the last trip is
    if ctx.scope.decide(at_least(first.times, 0)) is YES:
        high = expr.add(high, beyond)
    else:
        low = expr.add(low, beyond)
    facts = at_least(low, 0), at_least(size, high), at_least(width, 0)
    return width if all(ctx.scope.decide(fact) is YES for fact in facts) else None


def _trips(builder: Builder, counter: Value) -> Size:
    """Return the number of trips of a loop that has a trip."""
    _, trips = next(b.counters[counter] for b in builder.chain() if counter in b.counters)
    atom = expr.as_atom(trips)
    others = [x for x in getattr(atom, "args", ()) if x != 0] if getattr(atom, "function", "") == "max" else []
    return others[0] if len(others) == 1 else trips


def _line_of(x: Any) -> _Line | None:
    if not isinstance(x, Traced):
        return _Line(None, 0, size_of(x)) if x is not None else None
    return None if x.meta.rank else _read(x.builder, x.value)


def _read(builder: Builder, value: Value) -> _Line | None:
    """Return what a value is by the nodes that make it."""
    if value in builder.counters:
        return _Line(value, 1, builder.counters[value][0])
    outer = [v for v, (_, inner) in builder.captured.items() if inner is value]
    if outer and builder.parent is not None:
        return _read(builder.parent, outer[0])
    made = [n for n in builder.nodes if value in n.outputs]
    constants = [_Line(None, 0, int(a)) for v, a in builder.constants.pairs() if v is value and a.dtype.kind == "i"]
    return _made(builder, made[0]) if made else next(iter(constants), None)


def _made(builder: Builder, node: Node) -> _Line | None:
    """Return what the value of a node is."""
    params = dict(node.params)
    if node.outputs[0].meta.rank or node.outputs[0].meta.dtype.kind != "i":
        return None
    if node.op.name == "full":
        return _Line(None, 0, int(params["value"]))
    if node.op.name == "size_value":
        sizes: Any = [[getattr(e, "size", None) for e in v.meta.extents] for v in (*node.inputs, *node.sources)]
        return _Line(None, 0, bind_local(params["size"], lambda leaf: sizes[leaf.operand][leaf.axis]))
    name = params.get("operator") if node.op.name == "python_int" else node.op.name
    if name not in _READ:
        return None
    parts = [part for v in node.inputs if (part := _read(builder, v)) is not None]
    return _combined(_READ[name], *parts) if len(parts) == len(node.inputs) else None


_READ = {"convert": "", **dict.fromkeys(("add", "+"), "+"), **dict.fromkeys(("mul", "multiply"), "*"),
         **dict.fromkeys(("sub", "subtract"), "-"), **dict.fromkeys(("neg", "negative"), "-")}  # fmt: skip


def _combined(name: str, a: _Line, b: _Line | None = None) -> _Line | None:
    """Return the line of a sum, a difference or a product by a size."""
    if b is None:
        return a if not name else _combined("-", _Line(None, 0, 0), a)
    if name == "*":
        a, b = (a, b) if b.counter is None else (b, a)
        return (
            _Line(a.counter, expr.mul(a.times, b.offset), expr.mul(a.offset, b.offset)) if b.counter is None else None
        )
    of = expr.add if name == "+" else expr.sub
    if a.counter is not None and b.counter is not None and a.counter is not b.counter:
        return None
    times = of(a.times, b.times)
    return _Line((a.counter or b.counter) if times != 0 else None, times, of(a.offset, b.offset))
