"""Steps along axes in a nest of loops: positions of extremes, running results, recurrences, searches and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from anyshape.backend.compiler.c_expressions import c_literal, suffix
from anyshape.backend.native.nest_steps import Rule, Site
from anyshape.backend.native.nest_sums import in_order, reduction_in_nest, some, totals, write_sum
from anyshape.backend.native.nest_values import Array, At, kind_of
from anyshape.backend.native.statements import NotExpressible, reduction_of
from anyshape.graph.ir.graph import Op
from anyshape.ops import reduction as rd


def _extreme_position(site: Site, x: Array, *, sign: str) -> Array:
    """Return the position of the first extreme element, or of the first NaN."""
    if x.dtype.kind == "c":
        raise NotExpressible(f"{site.node.op} of {x.dtype}")
    axis, lines, total = site.params["axis"], site.lines, site.lines.name("r")
    rest, n = [a for a in range(len(x.dims)) if a != axis], x.dims[axis]
    some(lines, [n])
    beyond = f"!__builtin_is{'less' if sign == '>' else 'greater'}equal({{0}}, {{1}}) & ({{1}} == {{1}})"
    is_better = beyond if x.dtype.kind == "f" else f"{{0}} {sign} {{1}}"

    def one(own: Sequence[str]) -> None:
        best, element, k = map(lines.name, "bet")
        at = lambda i: x.at(in_order([*rest, axis], [*own, i]))
        lines.add(f"int64_t {total} = 0; {x.kind} {best} = {at('0')};", f"for (int64_t {k} = 1; {k} < {n}; {k}++) {{")
        lines.add(f"const {x.kind} {element} = {at(k)};")
        lines.add(f"if ({is_better.format(element, best)}) {{ {best} = {element}; {total} = {k}; }} }}")

    lines.settle_computed(x)
    return totals(site, tuple([x.dims[a] for a in rest]), total, one)


def _running(site: Site, x: Array, *, combine: str, start: str) -> Array:
    """Return running results along an axis, in NumPy's order."""
    axis, is_back, lines = site.params["axis"], site.params["reverse"], site.lines
    target, n, rest = lines.allocated(site.dtype, x.dims), x.dims[axis], [a for a in range(len(x.dims)) if a != axis]
    lines.settle_computed(x)

    def line(own: list[str]) -> list[str]:
        total, element, k = map(lines.name, "ret")
        at = in_order([*rest, axis], [*own, f"({n} - 1 - {k})" if is_back else k])
        result, is_exclusive = f"{target.at(at)} = {total};", site.params["exclusive"]
        return [
            f"{x.kind} {total} = {start};",
            f"for (int64_t {k} = 0; {k} < {n}; {k}++) {{",
            *([result] if is_exclusive else []),
            f"const {x.kind} {element} = {x.at(at)};",
            f"{total} = {k} ? {combine.format(total, element)} : {element};",
            "}" if is_exclusive else f"{result} }}",
        ]

    lines.over([x.dims[a] for a in rest], line)
    return target


def _running_of(op: Op) -> Rule:
    """Return the rule of running results by the texts of a reduction."""

    def rule(site: Site, x: Array) -> Array:
        start, combine, *_ = reduction_in_nest(site.node.op, op, x.dtype)
        if x.dtype.kind == "f":  # the later one of two equal numbers, as NumPy has it here: zeros have signs
            combine = combine.replace("isgreaterequal", "isgreater").replace("islessequal", "isless")
        return _running(site, x, combine=f"({x.kind}){combine}", start=start)

    return rule


def _recurrence(site: Site, a: Array, b: Array, *goes_on: Array) -> Array:
    """Return the states before each step s -> a s + b; a False leaves a state out."""
    axis, is_back, lines = site.params["axis"], site.params["reverse"], site.lines
    if site.dtype.kind == "c":
        raise NotExpressible(f"{site.node.op} of {site.dtype}")
    target, n, rest = lines.allocated(site.dtype, b.dims), b.dims[axis], [k for k in range(len(b.dims)) if k != axis]
    lines.settle_computed(a, b, *goes_on)

    def line(own: list[str]) -> list[str]:
        state, k = lines.name("r"), lines.name("t")
        at = in_order([*rest, axis], [*own, f"({n} - 1 - {k})" if is_back else k])
        grown = state if a.dtype == bool else f"{a.at(at)} * {state}"
        for mask in [*([a] if a.dtype == bool else []), *goes_on]:
            grown = f"({mask.at(at)} ? {grown} : 0)"
        return [
            f"{b.kind} {state} = 0;",
            f"for (int64_t {k} = 0; {k} < {n}; {k}++) {{",
            f"{target.at(at)} = {state};",
            f"{state} = {k} ? {b.at(at)} + {grown} : {b.at(at)}; }}",
        ]

    lines.over([b.dims[k] for k in rest], line)
    return target


def _searched(site: Site, row: Array, values: Array) -> Array:
    """Return where values belong in sorted rows. Like NumPy's, a search begins where the last one of the row ended."""
    batch, lines, result = site.params["batch"], site.lines, site.lines.allocated(site.dtype, values.dims)
    if row.dtype.kind == "c":
        raise NotExpressible(f"{site.node.op} of {row.dtype}")
    lines.settle_computed(row, values)
    low, high, last, key, middle = map(lines.name, "lukem")
    quiet = "__builtin_isless({0}, {1}) | (({1} != {1}) & ({0} == {0}))" if row.dtype.kind == "f" else "{0} < {1}"
    is_left, n = site.params["side"] == "left", row.dims[-1]

    def before(x: str, y: str) -> str:
        return f"({quiet.format(x, y)})" if is_left else f"!({quiet.format(y, x)})"

    def rows(own: list[str]) -> list[str]:
        def one(i: list[str]) -> list[str]:
            element = lines.name("e")
            return [
                f"const {row.kind} {key} = {values.at([*own, *i])};",
                f"if ({before(last, key)}) {high} = {n}; else {{ {low} = 0; {high} = as_min({high} + 1, {n}); }}",
                f"{last} = {key};",
                f"while ({low} < {high}) {{ const int64_t {middle} = {low} + (({high} - {low}) >> 1);",
                f"const {row.kind} {element} = {row.at([*own, middle])};",
                f"if ({before(element, key)}) {low} = {middle} + 1; else {high} = {middle}; }}",
                f"{result.at([*own, *i])} = {low};",
            ]

        rest = values.dims[batch:]
        some_key = f"({' && '.join([f'{d} > 0' for d in rest]) or '1'})"
        first = values.at([*own, *["0"] * len(rest)])
        lines.add(f"int64_t {low} = 0, {high} = {n}; {row.kind} {last} = {some_key} ? {first} : 0;")
        lines.over(rest, one)
        return []

    if not values.dims:
        scalar_result = lines.name("v")
        result = Array(site.dtype, (), lambda _: scalar_result)
        lines.add(f"int64_t {scalar_result};", "{")
        lines.add(*rows([]), "}")
        return result
    lines.over(values.dims[:batch], rows) if batch else lines.add("{", *rows([]), "}")
    return result


def _powers(site: Site, x: Array) -> Array:
    """Return a logsumexp or softmax; the largest element is subtracted where that is finite, as NumPy does."""
    op, dtype, lines, axes = site.node.op, site.dtype, site.lines, site.params["axes"]
    if dtype.char not in "fd" or x.dtype != dtype:
        raise NotExpressible(f"{op} of {x.dtype}")
    rest, summed, f = [a for a in range(len(x.dims)) if a not in axes], [x.dims[a] for a in axes], suffix(dtype)
    top, total = lines.name("r"), lines.name("r")
    lines.settle_computed(x)

    def one(own: Sequence[str]) -> None:
        _write_powers(site, (top, total), summed, lambda i: x.at(in_order([*rest, *axes], [*own, *i])))

    dims = tuple([x.dims[a] for a in rest])
    if op is rd.reduce_logsumexp_op:
        log = f"({total} == 0 ? {c_literal(-np.inf, dtype)} : as_log{f}({total})) + {top}"
        return totals(site, dims, log, one)
    target, divisor = lines.allocated(dtype, x.dims), total
    if op is rd.safe_softmax_op:
        divisor = f"({total} == 0 ? 1 : {total})"

    def row(own: list[str]) -> list[str]:
        one(own)
        at = lambda i: in_order([*rest, *axes], [*own, *i])
        lines.over(summed, lambda i: [f"{target.at(at(i))} = as_exp{f}({x.at(at(i))} - {top}) / ({x.kind}){divisor};"])
        return []

    if rest:
        lines.over(dims, row)
    else:
        lines.add("{", *row([]), "}")
    return target


def _write_powers(site: Site, names: tuple[str, str], summed: Sequence[str], element: At) -> None:
    """Write the largest element, and the sum of exponentials of elements less it."""
    (top, total), lines, f, largest = names, site.lines, suffix(site.dtype), reduction_of(rd.reduce_max_op, site.dtype)
    assert largest is not None
    lines.add(f"{kind_of(site.dtype)} {top} = {largest.start};")
    lines.over(summed, lambda i: [f"{top} = {largest.combine.format(top, f'({element(i)})')};"])
    if site.node.op is not rd.softmax_op:
        lines.add(f"if (!__builtin_isless(__builtin_fabs{f}({top}), __builtin_inf{f}())) {top} = 0;")
    write_sum(lines, total, "double", summed, lambda i: f"as_exp{f}({element(i)} - {top})")


ALONG_RULES: dict[Op, Rule] = {
    rd.argmax_op: partial(_extreme_position, sign=">"),
    rd.argmin_op: partial(_extreme_position, sign="<"),
    rd.cumsum_op: _running_of(rd.reduce_sum_op),
    rd.cumprod_op: _running_of(rd.reduce_prod_op),
    rd.cummax_op: _running_of(rd.reduce_max_op),
    rd.cummin_op: _running_of(rd.reduce_min_op),
    rd.recurrence_op: _recurrence,
    rd.searchsorted_op: _searched,
    rd.reduce_logsumexp_op: _powers,
    rd.softmax_op: _powers,
    rd.safe_softmax_op: _powers,
}
