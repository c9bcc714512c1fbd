"""Branches in a nest of loops: choices of one branch, and of one for each example of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.backend.native.nest_values import (
    Array,
    Buffer,
    Lines,
    Sizes,
    again,
    derived,
    kind_of,
    scalar,
    unowned,
    whole,
)
from anyshape.graph.ir.graph import Graph, Node
from anyshape.graph.shapes.array_type import Exact, TensorMeta, Unknown


class Branches:
    """Writes branches; `run` writes a graph for its inputs, and `sizes` gives the texts of sizes around it."""

    def __init__(self, lines: Lines, run: Callable[[Graph, Sequence[Array]], list[Array]], sizes: Sizes) -> None:
        self.lines, self.run, self.sizes = lines, run, sizes

    def choose(self, node: Node, branches: Sequence[Graph], inputs: Sequence[Array]) -> list[Array]:
        """Write the branches of a choice. Results are numbers, or memory that the branch which runs fills."""
        lines, (index, *operands) = self.lines, inputs
        lines.settle_computed(*operands)
        results = [self._declared(v.meta) for v in node.outputs]
        chosen = lines.name("k")
        lines.add(f"const int64_t {chosen} = {_clamped(index.at(()), len(branches) - 1)};")
        for k, branch in enumerate(branches):
            lines.add(f"if ({chosen} == {k}) {{" if not k else f"}} else if ({chosen} == {k}) {{")
            before = lines.collect()
            ends = self.run(branch, [unowned(x) for x in operands])
            for result, end in zip(results, ends, strict=True):
                self._assign(result, end)
            lines.add(*lines.end(before))
        lines.add("}")
        return results

    def choose_each(self, node: Node, params: dict[str, Any], operands: Sequence[Array]) -> list[Array]:
        """Write the branches that the examples of a batch choose, each for the rows of these."""
        lines = self.lines
        for x in operands:
            lines.settle(x)
        results, count = [self._zeros(v.meta) for v in node.outputs], operands[0].dims[0]
        rows, chosen, is_further = (lines.name(letter) for letter in "jnv")
        lines.add(f"int64_t *{rows} = as_alloc(&arena, {count} * (int64_t)sizeof(int64_t));", f"if (!{rows}) AS_FAIL")
        lines.allocates = True
        lines.add(f"int64_t {chosen} = 0, {is_further} = 0;")
        last = len(params["batched"]) - 1
        for k, graph in enumerate(params["batched"]):
            number, row = _clamped(operands[0].at(["i"]), last), f"{rows}[{chosen}++] = i;"
            lines.add(f"{chosen} = 0;", f"for (int64_t i = 0; i < {count}; i++) if ({number} == {k}) {row}")
            lines.add(f"if ({chosen}) {{")
            before = lines.collect()
            flags = (True, *params["carries"], *[False] * len(operands))
            inputs = [_chosen(x, rows, chosen) if flag else unowned(x) for x, flag in zip(operands, flags)]
            for result, end, is_total in zip(results, self.run(graph, inputs), params["totals"], strict=True):
                self._put(result, lines.settle(end), rows, is_further, is_total=is_total)
            lines.add(*lines.end(before), f"{is_further} = 1;", "}")
        return results

    def _zeros(self, meta: TensorMeta) -> Array:
        """Return a result of choices, which is 0 without any example. Sizes that a run decides are locals."""
        lines, sizes, result = self.lines, self.sizes, self._declared(meta)
        if result.buffer is None:
            return result
        texts = ["0" if isinstance(e, Unknown) else lines.size(sizes.text(e.size)) for e in meta.extents]
        lines.add(*[f"{n} = {text};" for n, text in zip(result.dims, texts, strict=True)])
        known = [text if isinstance(e, Exact) else n for n, text, e in zip(result.dims, texts, meta.extents)]
        result = whole(meta.dtype, tuple(known), result.buffer)
        self._allocate(result)
        lines.over(result.dims, lambda i: [f"{result.at(i)} = 0;"])
        return result

    def _allocate(self, result: Array) -> None:
        """Write the lines that give memory of the trip to a local."""
        assert result.buffer is not None
        own = self.lines.allocated(result.dtype, result.dims)
        self.lines.add(f"{result.buffer.name} = {own.buffer.name};")  # type: ignore[union-attr]

    def _put(self, result: Array, end: Array, rows: str, is_further: str, *, is_total: bool) -> None:
        """Put results of rows where they belong, or add them to a total if there is one from other rows."""
        lines, first = self.lines, 0 if is_total else 1
        pairs = [(n, m) for n, m in zip(result.dims[first:], end.dims[first:], strict=True) if n != m]
        unknown = [(n, m) for n, m in pairs if result.buffer and n.startswith(f"{result.buffer.name}_n")]
        if unknown:
            before = lines.collect()
            lines.add(*[f"{n} = {m};" for n, m in unknown])
            self._allocate(result)
            lines.add(f"if (!{is_further}) {{", *lines.end(before), "}")
        if pairs:
            lines.add(f"if ({' || '.join([f'{n} != {m}' for n, m in pairs])}) AS_FAIL")
        if is_total:
            element = lambda i: f"{result.at(i)} = {is_further} ? {result.at(i)} + {end.at(i)} : {end.at(i)};"
        else:
            element = lambda i: f"{result.at([f'{rows}[{i[0]}]', *i[1:]])} = {end.at(i)};"
        lines.over(end.dims, lambda i: [element(i)])

    def _declared(self, meta: TensorMeta) -> Array:
        """Return a result of branches, whose locals are declared here and set in each."""
        lines, local, kind = self.lines, self.lines.name("c"), kind_of(meta.dtype)
        lines.add(f"{kind} {'*' if meta.rank else ''}{local} = 0;")
        if not meta.rank:
            return scalar(meta.dtype, local)
        dims = tuple([f"{local}_n{axis}" for axis in range(meta.rank)])
        lines.add(*[f"int64_t {n} = 0;" for n in dims])
        return whole(meta.dtype, dims, Buffer(local, True))

    def _assign(self, result: Array, end: Array) -> None:
        """Set the locals of a result at the end of a branch."""
        lines = self.lines
        if result.buffer is None:
            lines.add(f"{result.at(())} = {end.at(())};")
            return
        copied = lines.copied(again(end) if end.buffer is not None else end)
        assert copied.buffer is not None
        lines.add(f"{result.buffer.name} = {copied.buffer.name};")
        lines.add(*[f"{mine} = {n};" for mine, n in zip(result.dims, copied.dims, strict=True)])


def _chosen(x: Array, rows: str, count: str) -> Array:
    """Return the rows of an array whose positions are in memory."""
    return derived(x, (count, *x.dims[1:]), lambda i: x.at([f"{rows}[{i[0]}]", *i[1:]]))


def _clamped(index: str, last: int) -> str:
    """Return the text of the number of a branch; an index of any integer type is compared as it is."""
    return f"({index} > {last} ? {last} : {index} < 0 ? 0 : (int64_t){index})"
