"""Reductions and products in a nest of loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from anyshape.backend.compiler.c_expressions import suffix
from anyshape.backend.native.nest_calls import called_into
from anyshape.backend.native.nest_loops import product_loop
from anyshape.backend.native.nest_steps import Rule, Site
from anyshape.backend.native.nest_values import NEW, Array, Lines, Texts, derived, kind_of, product, stretched
from anyshape.backend.native.statements import NotExpressible, Reduction, reduction_of
from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import free_axes
from anyshape.ops import contraction as ct
from anyshape.ops import reduction as rd

MANY_RUNS = 64  # of the innermost loop of a product, from which on a call of BLAS takes less time
LARGE_PRODUCT = 1 << 13  # multiplications of two matrices from which on it does, however long the innermost loop is
LARGE_SUMS = 1 << 12  # of a matrix and a vector
STACKED = 4  # times as many of a product of stacks, which NumPy is called for
COLUMNS = 128  # whose sums are in the nearest cache while rows are added to them
AT_ONCE = 4  # terms of a product that are added to a row before it is written
BLOCK = 256  # elements whose sum has accumulators of vectors alone


def _reduce(site: Site, x: Array) -> Array:
    axes = site.params["axes"]
    if site.params.get("empty") is False:
        some(site.lines, [x.dims[a] for a in axes])
    return _reduced(site, x, axes, tuple([n for a, n in enumerate(x.dims) if a not in axes]))


def some(lines: Lines, sizes: Sequence[str]) -> None:
    """Write the line that leaves a reduction over no elements to NumPy, which refuses it."""
    lines.add(f"if (!({' && '.join(sizes) or '1'})) AS_FAIL")


def reduction_in_nest(op: Op, reducing: Op, dtype: np.dtype) -> Reduction:
    """Return the reduction that an op of a nest does. Raises NotExpressible."""
    if dtype.kind == "c" and reducing is rd.reduce_prod_op:
        return Reduction("1", f"as_product{suffix(dtype)}({{0}}, {{1}})", "", kind_of(dtype), np.multiply)
    reduction = reduction_of(reducing, dtype)
    if reduction is None:
        raise NotExpressible(f"{op} of {dtype}")
    return reduction


def _reduced(site: Site, x: Array, axes: Sequence[int], dims: Texts) -> Array:
    """Return a reduction over axes."""
    reduction = reduction_in_nest(site.node.op, site.node.op, site.dtype)
    rest, lines = [a for a in range(len(x.dims)) if a not in axes], site.lines
    of_rows = _OF_ROWS.get(reduction.ufunc) if reduction.accumulator in ("double", "float") else None
    if of_rows is not None and axes and rest[-1:] == [len(x.dims) - 1]:
        return of_rows(site, x, axes, dims)
    total = lines.name("r")
    vectors = reduction.pragma not in ("", "&", "|") and site.dtype.kind != "c"
    simd = f"#pragma omp simd reduction({reduction.pragma}:{total})" if vectors else ""

    def one(own: Sequence[str]) -> None:
        if reduction.ufunc is np.add:
            element = lambda i: x.at(in_order([*rest, *axes], [*own, *i]))
            write_sum(lines, total, reduction.accumulator, [x.dims[a] for a in axes], element)
            return
        lines.add(f"{reduction.accumulator} {total} = {reduction.start};")

        def body(i: list[str]) -> list[str]:
            element, name = x.at(in_order([*rest, *axes], [*own, *i])), lines.name("e")
            return [f"const {x.kind} {name} = {element};", f"{total} = {reduction.combine.format(total, name)};"]

        lines.over([x.dims[a] for a in axes], body, simd)

    return totals(site, dims, total, one)


def _sums_of_rows(site: Site, x: Array, axes: Sequence[int], dims: Texts) -> Array:
    """Return a sum of floats over axes before the last one: rows of it are added up, in blocks as in `write_sum`."""
    lines, rest = site.lines, [a for a in range(len(x.dims)) if a not in axes]
    target = lines.allocated(site.dtype, dims)
    total, lost, part, first, count, j, block, end, last = map(lines.name, "rkstnjben")
    n = x.dims[axes[-1]]
    each = f"for (int64_t {j} = 0; {j} < {count}; {j}++)"

    def rows(own: list[str]) -> list[str]:
        def blocks(i: list[str]) -> list[str]:
            element = x.at(in_order([*rest, *axes], [*own, f"{first} + {j}", *i, last]))
            return [
                f"for (int64_t {block} = 0; {block} < {n}; {block} += {BLOCK}) {{",
                f"const int64_t {end} = as_min({block} + {BLOCK}, {n});",
                f"{each} {part}[{j}] = 0;",
                f"for (int64_t {last} = {block}; {last} < {end}; {last}++) {{",
                "#pragma omp simd",
                f"{each} {part}[{j}] += {element}; }}",
                f"{each} as_add(&{total}[{j}], &{lost}[{j}], {part}[{j}]); }}",
            ]

        lines.add(f"for (int64_t {first} = 0; {first} < {dims[-1]}; {first} += {COLUMNS}) {{")
        lines.add(f"const int64_t {count} = as_min({COLUMNS}, {dims[-1]} - {first});")
        lines.add(f"double {total}[{COLUMNS}], {lost}[{COLUMNS}], {part}[{COLUMNS}];")
        lines.add(f"{each} {total}[{j}] = {lost}[{j}] = 0;")
        lines.over([x.dims[a] for a in axes[:-1]], blocks)
        return [f"{each} {target.at([*own, f'{first} + {j}'])} = {total}[{j}];", "}"]

    lines.over(dims[:-1], rows)
    return target


def _extremes_of_rows(site: Site, x: Array, axes: Sequence[int], dims: Texts) -> Array:
    """Return extremes over axes before the last one: rows are combined, column by column."""
    reduction = reduction_in_nest(site.node.op, site.node.op, site.dtype)
    lines, rest = site.lines, [a for a in range(len(x.dims)) if a not in axes]
    target = lines.allocated(site.dtype, dims)

    def rows(own: list[str]) -> list[str]:
        def row(i: list[str]) -> list[str]:
            def one(j: list[str]) -> list[str]:
                element, total = x.at(in_order([*rest, *axes], [*own, *j, *i])), target.at([*own, *j])
                name = lines.name("e")
                return [f"const {x.kind} {name} = {element};", f"{total} = {reduction.combine.format(total, name)};"]

            lines.over(dims[-1:], one, NEW)
            return []

        lines.over(dims[-1:], lambda j: [f"{target.at([*own, *j])} = {reduction.start};"])
        lines.over([x.dims[a] for a in axes], row)
        return []

    lines.over(dims[:-1], rows)
    return target


_OF_ROWS: dict[Any, Callable[..., Array]] = {
    np.add: _sums_of_rows,
    np.maximum: _extremes_of_rows,
    np.minimum: _extremes_of_rows,
}


def in_order(axes: Sequence[int], indices: Sequence[str]) -> list[str]:
    """Return indices along these axes in the order of the axes."""
    return [index for _, index in sorted(zip(axes, indices, strict=True))]


def totals(
    site: Site, dims: Texts, total: str, write: Callable[[Sequence[str]], None], target: Array | None = None
) -> Array:
    """Return the totals that lines compute for each element of the result; `write` writes these lines."""
    lines = site.lines
    if not dims:
        write(())
        return lines.scalar(site.dtype, f"({kind_of(site.dtype)}){total}")
    target = lines.allocated(site.dtype, dims) if target is None else target

    def row(own: list[str]) -> list[str]:
        write(own)
        return [f"{target.at(own)} = {total};"]

    lines.over(dims, row)
    return target


def _sum_to(site: Site, x: Array) -> Array:
    """Return the sum over axes that are stretched: where both sizes are the same, nothing is summed along an axis."""
    dims, axes = site.sizes("shape"), site.params["axes"]
    before, after = site.node.inputs[0].meta.extents, site.node.outputs[0].meta.extents
    rest = sorted([a for a, size in zip(axes, after, strict=True) if size == before[a]])
    if any(a not in rest and n != "1" for a, n in zip(axes, dims, strict=True)):
        return _sum_to_any(site, x, dims)
    over = free_axes(len(x.dims), rest)
    total = _reduced(site, x, over, tuple([x.dims[a] for a in rest])) if over else x
    return derived(total, dims, lambda i: total.at([i[axes.index(a)] for a in rest]))


def _sum_to_any(site: Site, x: Array, dims: Texts) -> Array:
    """Return the sum to sizes which may all be as in the operand, or 1."""
    axes, lines = site.params["axes"], site.lines
    target = lines.allocated(site.dtype, dims)
    at = lambda i: target.at([stretched(i[a], n, x.dims[a]) for a, n in zip(axes, dims, strict=True)])
    if list(axes) == [*range(len(x.dims))]:  # most often, nothing is stretched
        lines.add(f"if ({' && '.join([f'{n} == {m}' for n, m in zip(dims, x.dims, strict=True)])}) {{")
        lines.over(dims, lambda i: [f"{target.at(i)} = 0 + {x.at(i)};"])
        lines.add("} else {")
    lines.over(dims, lambda i: [f"{target.at(i)} = 0;"])
    lines.over(x.dims, lambda i: [f"{at(i)} += {x.at(i)};"])
    lines.add(*["}"] * (list(axes) == [*range(len(x.dims))]))
    return target


def _dot_general(site: Site, x: Array, y: Array) -> Array:
    """Return a product. Its inner loop runs along the last axis of both operands, or of one that the result has."""
    if site.dtype.kind not in "fiuc":
        raise NotExpressible(f"a product of {site.dtype}")
    site.lines.settle_computed(x, y)
    times = f"as_product{suffix(site.dtype)}({{0}}, {{1}})" if site.dtype.kind == "c" else "{0} * {1}"
    (left, right), (first, second) = site.params["contract"], site.params["batch"]
    mine, others = free_axes(len(x.dims), left, first), free_axes(len(y.dims), right, second)
    dims = (*[x.dims[a] for a in (*first, *mine)], *[y.dims[a] for a in others])
    summed = [x.dims[a] for a in left]

    def term(own: Sequence[str], i: Sequence[str]) -> str:
        """Return the product of two elements, at indices of the result and of the summed axes."""
        batch, rest = own[: len(first)], own[len(first) :]
        of_x = in_order([*first, *mine, *left], [*batch, *rest[: len(mine)], *i])
        of_y = in_order([*second, *others, *right], [*batch, *rest[len(mine) :], *i])
        return times.format(x.at(of_x), y.at(of_y))

    if not summed:
        return derived(x, dims, lambda i: f"(({kind_of(site.dtype)})({term(i, ())}))", y, dtype=site.dtype, steps=1)
    last, outer = (len(y.dims) - 1, others) if others else (len(x.dims) - 1, mine)
    is_by_rows = last in outer
    by_loops = partial(_by_rows if is_by_rows else _by_elements, site, dims, summed, term)
    if _needs_copy(x, y):
        return by_loops()
    runs = [*dims[:-1], *summed] if is_by_rows else [*dims, *summed[:-1]]
    return _by_size(site, x, y, dims, (product(runs), product((*dims, *summed))), by_loops)


def _needs_copy(x: Array, y: Array) -> bool:
    """Return whether BLAS would need a copy of a matrix for its product with a vector, which reads it once."""
    ranks = [len(z.dims) for z in (x, y)]
    return sorted(ranks) == [1, 2] and (x, y)[ranks.index(2)].buffer is None


def _by_size(
    site: Site, x: Array, y: Array, dims: Texts, work: tuple[str, str], by_loops: Callable[..., Array]
) -> Array:
    """Return a product that BLAS computes where it has much work, and loops do elsewhere.

    Work is the runs of the innermost loop, and the multiplications.
    """
    if not dims or site.dtype.kind not in "fc":
        return by_loops()
    (left, _), (first, _) = site.params["contract"], site.params["batch"]
    ranks = [len(z.dims) for z in (x, y)]
    large = LARGE_PRODUCT if min(ranks) > len(left) + len(first) else LARGE_SUMS
    is_stacked = bool(len(left) > 1 or first or max(ranks) > 2)
    test = f"{work[1]} > {large * STACKED if is_stacked else large}"
    if not is_stacked and None not in (x.buffer, y.buffer):  # which BLAS reads where they stand
        test += f" || {work[0]} > {MANY_RUNS}"
    lines, target = site.lines, site.lines.allocated(site.dtype, dims)

    def call(target: Array) -> None:
        try:
            product_loop(site, x, y, target)
        except NotExpressible:
            called_into(lines, site.node, (x, y), target)

    for text, write in ((f"if ({test}) {{", call), ("} else {", by_loops)):
        lines.add(text)
        before = lines.collect()
        write(target)
        lines.add(*lines.end(before))
    lines.add("}")
    return target


def _by_elements(
    site: Site, dims: Texts, summed: Sequence[str], term: Callable[..., str], target: Array | None = None
) -> Array:
    """Return a product, element by element."""
    lines, total = site.lines, site.lines.name("r")

    def one(own: Sequence[str]) -> None:
        write_sum(lines, total, "double" if site.dtype.kind == "f" else kind_of(site.dtype), summed, partial(term, own))

    return totals(site, dims, total, one, target)


def write_sum(
    lines: Lines, total: str, kind: str, dims: Sequence[str], element: Callable[[Sequence[str]], str]
) -> None:
    """Write a sum. That of floats adds up sums of blocks, and what each addition loses (Kahan 1965)."""
    simd = "#pragma omp simd reduction(+:{})"
    lines.add(f"{kind} {total} = 0;")
    if kind != "double" or not dims or (dims[-1].isdigit() and int(dims[-1]) <= BLOCK):
        lines.over(dims, lambda i: [f"{total} += {element(i)};"], "" if "complex" in kind else simd.format(total))
        return
    block, part, lost, end, last = map(lines.name, "bsken")
    lines.add(f"double {lost} = 0;")

    def blocks(i: list[str]) -> list[str]:
        return [
            f"for (int64_t {block} = 0; {block} < {dims[-1]}; {block} += {BLOCK}) {{",
            f"double {part} = 0; const int64_t {end} = as_min({block} + {BLOCK}, {dims[-1]});",
            simd.format(part),
            f"for (int64_t {last} = {block}; {last} < {end}; {last}++) {part} += {element([*i, last])};",
            f"as_add(&{total}, &{lost}, {part}); }}",
        ]

    lines.over(dims[:-1], blocks)


def _by_rows(
    site: Site, dims: Texts, summed: Sequence[str], term: Callable[..., str], target: Array | None = None
) -> Array:
    """Return a product that adds up rows of the result."""
    lines = site.lines
    target = lines.allocated(site.dtype, dims) if target is None else target
    simd = "#pragma omp simd" if site.dtype.kind != "c" else ""
    lines.over(dims, lambda i: [f"{target.at(i)} = 0;"])
    is_short = summed[-1].isdigit() and int(summed[-1]) < AT_ONCE
    last = None if is_short or site.dtype.kind == "c" else summed[-1]

    def row(own: Sequence[str], places: Sequence[Sequence[str]]) -> None:
        """Write the line that adds terms to a row, in the order of the sum."""
        terms = lambda at: " + ".join([term(at, i) for i in places])
        lines.over(dims[-1:], lambda j: [f"{(at := target.at([*own, *j]))} = {at} + {terms([*own, *j])};"], simd)

    def rows(own: list[str]) -> list[str]:
        def summand(i: list[str]) -> list[str]:
            if last is None:
                row(own, [i])
                return []
            k = lines.name("k")
            lines.add(f"int64_t {k} = 0;", f"for (; {k} <= {last} - {AT_ONCE}; {k} += {AT_ONCE}) {{")
            row(own, [[*i, f"{k} + {d}"] for d in range(AT_ONCE)])
            lines.add("}", f"for (; {k} < {last}; {k}++) {{")
            row(own, [[*i, k]])
            return ["}"]

        lines.over(summed if last is None else summed[:-1], summand)
        return []

    lines.over(dims[:-1], rows)
    return target


SUM_RULES: dict[Op, Rule] = dict.fromkeys(
    (
        rd.reduce_sum_op, rd.reduce_prod_op, rd.reduce_max_op, rd.reduce_min_op, rd.reduce_and_op, rd.reduce_or_op,
    ), _reduce,
) | {rd.sum_to_op: _sum_to, ct.dot_general_op: _dot_general}  # fmt: skip
