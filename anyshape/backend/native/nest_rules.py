"""Rules of ops in a nest of loops: what each step is in C. An op without a rule leaves its nest to NumPy.

A rule takes the step and its operands, and returns the value of the result. Whatever NumPy would refuse, an index out of
range for one, ends the run of the nest, and NumPy serves the call: its errors name the line and the iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.backend.compiler.c_expressions import CSite, c_literal
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.native.nest_values import (
    DEEPEST,
    Array,
    At,
    Lines,
    Texts,
    derived,
    flat,
    kind_of,
    scalar,
    sparse,
)
from anyshape.backend.native.statements import NotExpressible, reduction_of
from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.sizes.expr import Size
from anyshape.ops import contraction as ct
from anyshape.ops import control as cn
from anyshape.ops import control_flow as cf
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.support.lazy_dataclass import NamedTuple

INT = np.dtype(np.int64)


class Site(NamedTuple):
    """Step of a nest: its node, the writer of lines, and texts of sizes over the axes of its operands.

    `target` gives memory that the step may write its result to: the first operand itself where nothing reads it later.
    """

    node: Node
    lines: Lines
    size: Callable[[Size], str]
    target: Callable[[], Array]
    params: dict[str, Any]

    @property
    def dtype(self) -> np.dtype:
        return self.node.outputs[0].meta.dtype

    def sizes(self, name: str) -> Texts:
        """Return texts of the sizes in a param."""
        return tuple([self.lines.size(self.size(n)) for n in self.params[name]])


Rule: TypeAlias = Callable[..., Array]


# -- elementwise -------------------------------------------------------------------------------------------------

_OVERFLOWING = {"add": "add", "subtract": "sub", "multiply": "mul"}
_DIVIDING = {"floor_divide": "as_floordiv", "remainder": "as_mod"}


def elementwise(site: Site, *xs: Array) -> Array:
    """Return the result of an elementwise step; a number is computed at once."""
    op, result = site.node.op, site.dtype
    if op is ew.python_int_op:
        return mapped(site, _python_int(site.params["operator"]), xs)
    rule = TRAITS[op].c_expression
    text = None if rule is None else rule(CSite(tuple([x.dtype for x in xs]), result, site.params))
    if text is None:
        kinds = ", ".join(dict.fromkeys(str(x.dtype) for x in xs))
        raise NotExpressible(f"{op} of {kinds} has no expression in C")
    value = text.value
    if text.declines:
        value = f"(({text.declines}) ? declined = 1 : 0, {value})"
    return mapped(site, value, xs)


def _python_int(operator: str) -> str:
    """Return the text of an operator on Python ints, which declines beyond 64 bits."""
    if operator in _OVERFLOWING:
        name = _OVERFLOWING[operator]
        return f"({{{{ int64_t z; if (__builtin_{name}_overflow({{0}}, {{1}}, &z)) declined = 1; z; }}}})"
    if operator in _DIVIDING:
        bad = "{1} == 0 || ({1} == -1 && {0} == INT64_MIN)"
        return f"(({bad}) ? (declined = 1, 0) : {_DIVIDING[operator]}({{0}}, {{1}}))"
    if operator in ("negative", "absolute"):
        text = "-{0}" if operator == "negative" else "({0} < 0 ? -{0} : {0})"
        return f"({{0}} == INT64_MIN ? (declined = 1, 0) : {text})"
    raise NotExpressible(f"{operator} of Python ints")


def mapped(site: Site, text: str, xs: Sequence[Array]) -> Array:
    """Return the elements of a text with a field for each operand; axes align as NumPy's do."""
    dtype, kind, rank = site.dtype, kind_of(site.dtype), max([len(x.dims) for x in xs])
    dims = _broadcast_dims(site, xs, rank)
    xs = [_aligned(site.lines, x, dims) for x in xs]

    def at(indices: Sequence[str]) -> str:
        names = [site.lines.name("e") for _ in xs]
        bound = " ".join([f"const {x.kind} {name} = {x.at(indices)};" for name, x in zip(names, xs, strict=True)])
        return f"({{ {bound} ({kind})({text.format(*names)}); }})"

    result = derived(xs[0], dims, at, *xs[1:], dtype=dtype, steps=1)
    if not rank:
        return site.lines.scalar(dtype, result.at(()))
    return site.lines.settle(result) if result.depth > DEEPEST else result


def _broadcast_dims(site: Site, xs: Sequence[Array], rank: int) -> Texts:
    """Return the sizes of operands that are aligned at the last axis."""
    dims: list[str] = []
    for axis in range(rank):
        sizes = [x.dims[axis - rank + len(x.dims)] for x in xs if axis - rank + len(x.dims) >= 0]
        named = list(dict.fromkeys([n for n in sizes if n != "1"]))
        text = named[0] if named else "1"
        for other in named[1:]:
            text = f"as_broadcast({text}, {other})"
        dims.append(site.lines.size(text))
    return tuple(dims)


def _aligned(lines: Lines, x: Array, dims: Texts) -> Array:
    """Return an operand with the axes of a result, along which it may be stretched."""
    if x.dims == dims or not x.dims:
        return x if x.dims == dims else derived(x, dims, lambda _: x.at(()))
    ahead = len(dims) - len(x.dims)
    if x.depth and any(n not in (mine, "1") for mine, n in zip((*["1"] * ahead, *x.dims), dims, strict=True)):
        lines.settle(x)

    def at(indices: Sequence[str]) -> str:
        return x.at([_stretched(i, mine, n) for i, mine, n in zip(indices[ahead:], x.dims, dims[ahead:], strict=True)])

    return derived(x, dims, at)


def _stretched(index: str, mine: str, whole: str) -> str:
    """Return the index along an axis that may be stretched."""
    if mine == whole:
        return index
    return "0" if mine == "1" else f"({mine} == 1 ? 0 : {index})"


def _narrow(site: Site, x: Array) -> Array:
    """Return integers in a dtype that holds them; NumPy refuses others."""
    kind = kind_of(site.dtype)
    return mapped(
        site,
        f"((({kind})({{0}}) != {{0}} || (({{0}} < 0) != (({kind})({{0}}) < 0))) ? (declined = 1, 0) : {{0}})",
        (x,),
    )


# -- sizes and constants -----------------------------------------------------------------------------------------


def _size_value(site: Site) -> Array:
    return site.lines.scalar(site.dtype, site.size(site.params["size"]))


def _size_token(site: Site, x: Array) -> Array:
    """Return a token whose size is a number, within a limit. Without one, NumPy refuses negative numbers."""
    if site.params["rounds"] or x.dtype.kind not in "iub":
        raise NotExpressible("a size from a float")
    limit, text = site.params["limit"], f"(int64_t){x.at(())}"
    if limit is None:
        site.lines.add(f"if ({text} < 0) AS_FAIL")
    else:
        text = f"as_min(as_max({text}, 0), {site.size(limit)})"
    return Array(site.dtype, (site.lines.size(text),), lambda _: "1")


def _iota(site: Site) -> Array:
    dims, kind = (site.lines.size(site.size(site.params["size"])),), kind_of(site.dtype)
    return Array(site.dtype, dims, lambda i: f"(({kind})({i[0]}))")


def _full(site: Site) -> Array:
    value, dims = site.params["value"], site.sizes("shape")
    literal = c_literal(value, site.dtype)
    is_zero = bool(dims) and value == 0 and site.dtype.kind in "fiuc"
    return Array(site.dtype, dims, lambda _: literal, adds=(lambda at: None) if is_zero else None)


# -- movement ----------------------------------------------------------------------------------------------------


def _slice(site: Site, x: Array) -> Array:
    starts, steps = site.sizes("starts"), site.sizes("steps")
    return derived(x, site.sizes("sizes"), lambda i: x.at(_along(i, starts, steps)))


def _along(indices: Sequence[str], starts: Texts, steps: Texts) -> list[str]:
    """Return indices into an array from indices into a slice of it."""
    scaled = [i if s == "1" else f"({i}) * {s}" for i, s in zip(indices, steps, strict=True)]
    return [i if s == "0" else s if i == "0" else f"{i} + {s}" for i, s in zip(scaled, starts, strict=True)]


def _slice_update(site: Site, x: Array, update: Array) -> Array:
    target, starts, steps = site.target(), site.sizes("starts"), site.sizes("steps")
    site.lines.over(update.dims, lambda i: [f"{target.at(_along(i, starts, steps))} = {update.at(i)};"])
    return target


def _slice_add(site: Site, x: Array, update: Array) -> Array:
    starts, steps = site.sizes("starts"), site.sizes("steps")
    add = lambda at: added(site.lines, update, lambda i: at(_along(i, starts, steps)))
    return sum_with(site, x, (update,), add)


def added(lines: Lines, x: Array, at: At) -> None:
    """Write the lines that add the elements of an array to others."""
    if x.adds is not None:
        x.adds(at)
    else:
        lines.over(x.dims, lambda i: [f"{at(i)} += {x.at(i)};"])


def sum_with(site: Site, x: Array, parts: Sequence[Array], add: Callable[[At], None]) -> Array:
    """Return x with parts added in some places: in its memory, or as a sum of parts itself."""
    if x.adds is not None:
        before = x.adds

        def adds(at: At) -> None:
            before(at)
            add(at)

        return sparse(site.dtype, x.dims, (x, *parts), adds)
    target = site.target()
    add(target.at)
    return target


def _rev(site: Site, x: Array) -> Array:
    axes = site.params["axes"]
    turned = lambda i: [f"{n} - 1 - ({j})" if k in axes else j for k, (j, n) in enumerate(zip(i, x.dims, strict=True))]
    return derived(x, x.dims, lambda i: x.at(turned(i)))


def _transpose(site: Site, x: Array) -> Array:
    axes = site.params["axes"]
    position = {a: k for k, a in enumerate(axes)}
    return derived(x, tuple([x.dims[a] for a in axes]), lambda i: x.at([i[position[a]] for a in range(len(axes))]))


def _reshape(site: Site, x: Array) -> Array:
    """Return the elements in another shape: axes of size 1 come and go, and memory has any shape."""
    dims = site.sizes("shape")
    mine = [n for n in x.dims if n != "1"]
    if mine == [n for n in dims if n != "1"] or (len(mine) == len(dims) - dims.count("1") == 1):
        kept, own = [k for k, n in enumerate(dims) if n != "1"], [k for k, n in enumerate(x.dims) if n != "1"]
        if len(kept) == len(own):

            def at(i: Sequence[str]) -> str:
                indices = ["0"] * len(x.dims)
                for k, j in zip(kept, own, strict=True):
                    indices[j] = i[k]
                return x.at(indices)

            return derived(x, dims, at)
    site.lines.settle(x)
    assert x.buffer is not None or not x.dims
    if not x.dims:
        return derived(x, dims, lambda _: x.at(()))
    buffer = x.buffer
    return derived(x, dims, lambda i: f"{buffer.name}[{flat(i, dims)}]")


def _broadcast_in_dim(site: Site, x: Array) -> Array:
    dims, axes = site.sizes("shape"), site.params["axes"]
    if x.depth and len(axes) < len(dims):
        site.lines.settle(x)
    stretched = lambda i: [_stretched(i[a], n, dims[a]) for a, n in zip(axes, x.dims, strict=True)]
    return derived(x, dims, lambda i: x.at(stretched(i)))


def _pad(site: Site, x: Array) -> Array:
    if any(n != 0 for n in site.params["interior"]):
        raise NotExpressible("pad between elements")
    low, high = site.sizes("low"), site.sizes("high")
    dims = tuple([site.lines.size(f"({a} + {n} + {b})") for a, n, b in zip(low, x.dims, high, strict=True)])
    literal = c_literal(site.params["value"], site.dtype)

    def at(indices: Sequence[str]) -> str:
        inner = [i if a == "0" else f"({i} - {a})" for i, a in zip(indices, low, strict=True)]
        inside = [f"{i} >= 0 && {i} < {n}" for i, n in zip(inner, x.dims, strict=True)]
        return f"({' && '.join(inside) or '1'} ? {x.at(inner)} : {literal})"

    result = derived(x, dims, at, steps=1)
    if site.params["value"] == 0 and site.dtype.kind in "fiuc":
        result.adds = lambda to: added(site.lines, x, lambda i: to(_along(i, low, ("1",) * len(low))))
    return result


def _concatenate(site: Site, *xs: Array) -> Array:
    axis = site.params["axis"]
    sizes = [x.dims[axis] for x in xs]
    total = sum(map(int, sizes)) if all(n.isdigit() for n in sizes) else f"({' + '.join(sizes)})"
    dims = (*xs[0].dims[:axis], site.lines.size(str(total)), *xs[0].dims[axis + 1 :])

    def at(indices: Sequence[str]) -> str:
        return _piece(xs, axis, indices)

    return derived(xs[0], dims, at, *xs[1:], steps=int(any(n != "1" for n in sizes)))


def _piece(xs: Sequence[Array], axis: int, indices: Sequence[str]) -> str:
    """Return the text of an element of pieces along an axis; a constant index chooses one now."""
    index, (x, *others) = indices[axis], xs
    if not others:
        return x.at(indices)
    n = x.dims[axis]
    if index.isdigit() and n.isdigit():
        if int(index) < int(n):
            return x.at(indices)
        return _piece(others, axis, [*indices[:axis], str(int(index) - int(n)), *indices[axis + 1 :]])
    rest = _piece(others, axis, [*indices[:axis], f"({index} - {n})", *indices[axis + 1 :]])
    return f"({index} < {n} ? {x.at(indices)} : {rest})"


# -- elements at computed positions ------------------------------------------------------------------------------


def _position(lines: Lines, index: Array, size: str) -> str:
    """Return a local that holds a position along an axis; a negative index counts from the end."""
    local, text = lines.name("j"), f"(int64_t){index.at(())}"
    wraps = f"{local} + ({local} < 0 ? {size} : 0)"
    lines.add(
        f"int64_t {local} = {text};", f"{local} = {wraps};", f"if ((uint64_t){local} >= (uint64_t){size}) AS_FAIL"
    )
    return local


def _inside(text: str, size: str, wraps: bool) -> str:
    """Return the text of a position that is read in a loop: 0 and a declined call where it is out of range."""
    wrapped = f"j + (j < 0 ? {size} : 0)" if wraps else "j"
    return (
        f"({{ int64_t j = (int64_t)({text}); j = {wrapped}; "
        f"if ((uint64_t)j >= (uint64_t){size}) {{ declined = 1; j = 0; }} j; }})"
    )


def _not_empty(lines: Lines, sizes: Sequence[str], dims: Sequence[str]) -> None:
    """Write the line that leaves reads of an empty array to NumPy."""
    empty = " || ".join([f"{n} == 0" for n in sizes if not n.isdigit() or n == "0"])
    if empty:
        some = " && ".join([f"{n} > 0" for n in dims if not n.isdigit()]) or "1"
        lines.add(f"if (({empty}) && ({some})) AS_FAIL")


def _take(site: Site, x: Array, *indices: Array) -> Array:
    axes, lines = site.params["axes"], site.lines
    rest, at_axis = [a for a in range(len(x.dims)) if a not in axes], ix.first_index_axis(axes)
    if not indices[0].dims:
        positions = dict(zip(axes, [_position(lines, i, x.dims[a]) for i, a in zip(indices, axes)], strict=True))
        if x.depth and rest:
            lines.settle(x)

        def element(i: Sequence[str]) -> str:
            left = iter(i)
            return x.at([positions[a] if a in positions else next(left) for a in range(len(x.dims))])

        result = derived(x, tuple([x.dims[a] for a in rest]), element)
        return result if rest else lines.scalar(site.dtype, result.at(()))
    rank = len(indices[0].dims)
    for index in (x, *indices):
        lines.settle(index)
    rest_dims = [x.dims[a] for a in rest]
    dims = (*rest_dims[:at_axis], *indices[0].dims, *rest_dims[at_axis:])
    _not_empty(lines, [x.dims[a] for a in axes], dims)

    def gathered(i: Sequence[str]) -> str:
        own, left = i[at_axis : at_axis + rank], iter([*i[:at_axis], *i[at_axis + rank :]])
        position = {a: _inside(index.at(own), x.dims[a], True) for a, index in zip(axes, indices, strict=True)}
        return x.at([position[a] if a in position else next(left) for a in range(len(x.dims))])

    return lines.settle(derived(x, dims, gathered, *indices, steps=1))


def _put_add(site: Site, updates: Array, *indices: Array) -> Array:
    """Return zeros with updates added at positions: take, transposed."""
    axes, lines = site.params["axes"], site.lines
    at_axis, rank = ix.first_index_axis(axes), len(indices[0].dims)
    sizes = dict(zip(axes, site.sizes("sizes"), strict=True))
    left = iter([*updates.dims[:at_axis], *updates.dims[at_axis + rank :]])
    total = len(updates.dims) - rank + len(axes)
    dims = tuple([sizes[a] if a in sizes else next(left) for a in range(total)])
    for index in indices:
        lines.settle(index)

    def adds(at: At) -> None:
        def body(i: list[str]) -> list[str]:
            own, rest = i[at_axis : at_axis + rank], iter([*i[:at_axis], *i[at_axis + rank :]])
            found = [_position(lines, scalar(x.dtype, x.at(own)), sizes[a]) for x, a in zip(indices, axes, strict=True)]
            position = dict(zip(axes, found, strict=True))
            return [f"{at([position[a] if a in position else next(rest) for a in range(total)])} += {updates.at(i)};"]

        lines.over(updates.dims, body)

    return sparse(site.dtype, dims, (updates, *indices), adds)


def _windows(site: Site, names: Sequence[str], rank: int, indices: Array) -> tuple[Any, tuple[int, ...], list[int]]:
    """Return the dimension numbers, the axes of index vectors, and the axes of windows; others have no text."""
    params = dict(site.params)
    w = ga.windows_of(params, names)
    if w.operand_batch or site.params["mode"] != "error":
        raise NotExpressible(f"{site.node.op} with batches, or beyond the array")
    batch = tuple([b for b in range(len(indices.dims)) if b != w.vector])
    return w, batch, [a for a in range(rank) if a not in w.collapsed]


def _vectors(site: Site, w: Any, indices: Array, own: Sequence[str]) -> list[str]:
    """Return the texts of the numbers of an index vector at these indices of vectors."""
    texts = []
    for k in range(len(w.starts)):
        at = [*own[: w.vector], str(k), *own[w.vector :]] if w.vector < len(indices.dims) else list(own)
        texts.append(indices.at(at))
    return texts


def _gather(site: Site, x: Array, indices: Array) -> Array:
    w, batch, windowed = _windows(site, ga.GATHER, len(x.dims), indices)
    sizes, lines = site.sizes("slice_sizes"), site.lines
    inner = dict(zip(w.offset, windowed, strict=True))
    rank = len(batch) + len(w.offset)
    outer = iter([indices.dims[b] for b in batch])
    dims = tuple([sizes[inner[k]] if k in inner else next(outer) for k in range(rank)])
    lasts = {a: lines.size(f"({x.dims[a]} - {sizes[a]} + 1)") for a in w.starts}
    lines.settle(x)
    if not batch:
        return _window_read(site, x, (w, inner, lasts), dims, indices)
    lines.settle(indices)
    _not_empty(lines, [f"as_max({n}, 0)" for n in lasts.values()], dims)

    def at(i: Sequence[str]) -> str:
        own = [i[k] for k in range(rank) if k not in inner]
        texts = _vectors(site, w, indices, own)
        found = {a: _inside(t, lasts[a], False) for a, t in zip(w.starts, texts, strict=True)}
        return x.at(_shifted(len(x.dims), found, inner, i))

    return lines.settle(derived(x, dims, at, indices, steps=1))


def _shifted(rank: int, found: dict[int, str], inner: dict[int, int], i: Sequence[str]) -> list[str]:
    """Return indices into an array: starts of a window, and positions in it."""
    within = {axis: i[k] for k, axis in inner.items()}
    return [" + ".join([t for t in (found.get(a, ""), within.get(a, "")) if t] or ["0"]) for a in range(rank)]


def _window_read(site: Site, x: Array, numbers: Any, dims: Texts, indices: Array) -> Array:
    """Return one window of an array."""
    w, inner, lasts = numbers
    found = _starts_found(site, w, indices, lasts, ())
    if dims:
        return derived(x, dims, lambda i: x.at(_shifted(len(x.dims), found, inner, i)))
    return site.lines.scalar(site.dtype, x.at(_shifted(len(x.dims), found, inner, ())))


def _starts_found(site: Site, w: Any, indices: Array, lasts: dict[int, str], own: Sequence[str]) -> dict[int, str]:
    """Write the lines that read the start of a window, and check it; return the locals by axis."""
    found = {}
    for axis, text in zip(w.starts, _vectors(site, w, indices, own), strict=True):
        local = found[axis] = site.lines.name("j")
        site.lines.add(f"const int64_t {local} = (int64_t)({text});")
        site.lines.add(f"if ({local} < 0 || {local} >= {lasts[axis]}) AS_FAIL")
    return found


def _scatter(text: str) -> Rule:
    """Return the rule of a scatter; the text joins an element {0} with an update {1}."""
    is_sum = "+=" in text

    def rule(site: Site, x: Array, indices: Array, updates: Array) -> Array:
        w, batch, windowed = _windows(site, ga.SCATTER, len(x.dims), indices)
        inner = dict(zip(w.offset, windowed, strict=True))
        sizes = {axis: updates.dims[k] for k, axis in inner.items()}
        lasts = {a: site.lines.size(f"({x.dims[a]} - {sizes.get(a, '1')} + 1)") for a in w.starts}
        if batch:
            site.lines.settle(indices)
        outer = [k for k in range(len(updates.dims)) if k not in inner]

        def writes(at: At) -> None:
            def vectors(own: list[str]) -> list[str]:
                found = _starts_found(site, w, indices, lasts, own)

                def window(i: list[str]) -> list[str]:
                    full = dict(zip([*outer, *inner], [*own, *i], strict=True))
                    element = at(_shifted(len(x.dims), found, inner, full))
                    return [f"{text.format(element, updates.at([full[k] for k in range(len(updates.dims))]))};"]

                site.lines.over([updates.dims[k] for k in inner], window)
                return []

            site.lines.over([updates.dims[k] for k in outer], vectors)

        if is_sum:
            return sum_with(site, x, (indices, updates), writes)
        target = site.target()
        writes(target.at)
        return target

    return rule


def _dynamic_starts(site: Site, x: Array, starts: Sequence[Array], sizes: Texts) -> Texts:
    """Return locals of the starts of a window, which moves into the array."""
    found = []
    for whole_size, start, size in zip(x.dims, starts, sizes, strict=True):
        local, text = site.lines.name("j"), f"(int64_t){start.at(())}"
        counted = f"({text} < 0 ? {text} + {whole_size} : {text})"
        site.lines.add(f"const int64_t {local} = as_min(as_max({counted}, 0), {whole_size} - {size});")
        found.append(local)
    return tuple(found)


def _dynamic_slice(site: Site, x: Array, *starts: Array) -> Array:
    sizes = site.sizes("sizes")
    found = _dynamic_starts(site, x, starts, sizes)
    return derived(x, sizes, lambda i: x.at(_along(i, found, ("1",) * len(found))))


def _dynamic_update_slice(site: Site, x: Array, update: Array, *starts: Array) -> Array:
    found = _dynamic_starts(site, x, starts, update.dims)
    target = site.target()
    site.lines.over(update.dims, lambda i: [f"{target.at(_along(i, found, ('1',) * len(found)))} = {update.at(i)};"])
    return target


# -- reductions and products -------------------------------------------------------------------------------------


def _reduce(site: Site, x: Array) -> Array:
    axes = site.params["axes"]
    if site.params.get("empty") is False:
        _some(site.lines, [x.dims[a] for a in axes])
    return _reduced(site, x, axes, tuple([n for a, n in enumerate(x.dims) if a not in axes]))


def _some(lines: Lines, sizes: Sequence[str]) -> None:
    """Write the line that leaves a reduction over no elements to NumPy, which refuses it."""
    lines.add(f"if (!({' && '.join(sizes) or '1'})) AS_FAIL")


def _reduced(site: Site, x: Array, axes: Sequence[int], dims: Texts) -> Array:
    """Return a reduction over axes."""
    reduction = reduction_of(site.node.op, site.dtype)
    if reduction is None or site.dtype.kind == "c":
        raise NotExpressible(f"{site.node.op} of {site.dtype}")
    kept, lines = [a for a in range(len(x.dims)) if a not in axes], site.lines
    total = lines.name("r")
    simd = f"#pragma omp simd reduction({reduction.pragma}:{total})" if reduction.pragma in ("+", "*") else ""

    def one(own: Sequence[str]) -> None:
        lines.add(f"{reduction.accumulator} {total} = {reduction.start};")

        def body(i: list[str]) -> list[str]:
            place = dict(zip([*kept, *axes], [*own, *i], strict=True))
            element, name = x.at([place[a] for a in range(len(x.dims))]), lines.name("e")
            return [f"const {x.kind} {name} = {element};", f"{total} = {reduction.combine.format(total, name)};"]

        lines.over([x.dims[a] for a in axes], body, simd)

    if not kept:
        one(())
        return lines.scalar(site.dtype, f"({kind_of(site.dtype)}){total}")
    target = lines.allocated(site.dtype, dims)

    def row(own: list[str]) -> list[str]:
        one(own)
        return [f"{target.at(own)} = {total};"]

    lines.over(dims, row)
    return target


def _sum_to(site: Site, x: Array) -> Array:
    """Return the sum over axes that are stretched: where both sizes are the same, nothing is summed along an axis."""
    dims, axes = site.sizes("shape"), site.params["axes"]
    lost = [a for a in range(len(x.dims)) if a not in axes]
    summed = [a for a, n in zip(axes, dims, strict=True) if n != x.dims[a]]
    unsure = [a for a, n in zip(axes, dims, strict=True) if a in summed and n != "1"]
    over = sorted([*lost, *summed])
    if not over:
        return derived(x, dims, lambda i: x.at([i[axes.index(a)] for a in range(len(x.dims))]))
    if unsure:
        return _sum_to_unsure(site, x, dims)
    kept = [a for a in range(len(x.dims)) if a not in over]
    total = _reduced(site, x, over, tuple([x.dims[a] for a in kept]))
    return derived(total, dims, lambda i: total.at([i[axes.index(a)] for a in kept]))


def _sum_to_unsure(site: Site, x: Array, dims: Texts) -> Array:
    """Return the sum to sizes that may be those of the operand, or 1."""
    axes, lines = site.params["axes"], site.lines
    place = {a: k for k, a in enumerate(axes)}
    target = lines.allocated(site.dtype, dims)
    lines.over(dims, lambda i: [f"{target.at(i)} = 0;"])
    at = lambda i: target.at(
        [_stretched(i[a], dims[k], x.dims[a]) for a, k in sorted(place.items(), key=lambda p: p[1])]
    )
    lines.over(x.dims, lambda i: [f"{at(i)} += {x.at(i)};"])
    return target


def _dot_general(site: Site, x: Array, y: Array) -> Array:
    if site.dtype.kind not in "fiu":
        raise NotExpressible(f"a product of {site.dtype}")
    (left, right), (first, second) = site.params["contract"], site.params["batch"]
    lines = site.lines
    for z in (x, y):
        lines.settle(z) if z.depth else None
    mine = [a for a in range(len(x.dims)) if a not in (*left, *first)]
    others = [a for a in range(len(y.dims)) if a not in (*right, *second)]
    dims = (*[x.dims[a] for a in (*first, *mine)], *[y.dims[a] for a in others])
    total, kind = lines.name("r"), kind_of(site.dtype)
    simd = f"#pragma omp simd reduction(+:{total})"

    def one(own: Sequence[str]) -> None:
        lines.add(f"{kind} {total} = 0;")
        batch, rest = own[: len(first)], own[len(first) :]

        def body(i: list[str]) -> list[str]:
            of_x = dict(zip([*first, *mine, *left], [*batch, *rest[: len(mine)], *i], strict=True))
            of_y = dict(zip([*second, *others, *right], [*batch, *rest[len(mine) :], *i], strict=True))
            factors = [z.at([place[a] for a in range(len(z.dims))]) for z, place in ((x, of_x), (y, of_y))]
            return [f"{total} += {factors[0]} * {factors[1]};"]

        lines.over([x.dims[a] for a in left], body, simd)

    if not dims:
        one(())
        return lines.scalar(site.dtype, total)
    target = lines.allocated(site.dtype, dims)

    def row(own: list[str]) -> list[str]:
        one(own)
        return [f"{target.at(own)} = {total};"]

    lines.over(dims, row)
    return target


# -- checks ------------------------------------------------------------------------------------------------------


def _sized(site: Site, x: Array) -> Array:
    differ = [f"{a} != {b}" for a, b in zip(x.dims, site.sizes("shape"), strict=True) if a != b]
    if differ:
        site.lines.add(f"if ({' || '.join(differ)}) AS_FAIL")
    return x


def _same(site: Site, x: Array) -> Array:
    return x


def _warn_below(site: Site) -> Array:
    site.lines.add(f"if ({site.size(site.params['size'])} < {site.params['least']}) AS_FAIL")
    return scalar(site.dtype, "0")


def _check(site: Site, x: Array) -> Array:
    site.lines.over(x.dims, lambda i: [f"if (!({x.at(i)})) AS_FAIL"])
    return x


def _warn(site: Site, x: Array) -> Array:
    site.lines.over(x.dims, lambda i: [f"if ({x.at(i)}) AS_FAIL"])
    return x


def _raise(site: Site, holds: Array, *values: Array) -> Array:
    site.lines.add(f"if (!({holds.at(())})) AS_FAIL")
    return Array(site.dtype, tuple("1" for _ in site.node.outputs[0].meta.extents), lambda _: "0")


def _index_bounds(site: Site, x: Array) -> Array:
    size = site.lines.size(site.size(site.params["extent"]))
    if x.dims:
        site.lines.settle(x)
    site.lines.over(x.dims, lambda i: [f"if ({x.at(i)} < -{size} || {x.at(i)} >= {size}) AS_FAIL"])
    return x


def _window_bounds(site: Site, x: Array) -> Array:
    """Check that windows start inside of an array."""
    if site.params["mode"] != "error" or site.params["vector"] >= len(x.dims):
        raise NotExpressible("checks of windows beyond the array")
    vector, lines = site.params["vector"], site.lines
    lasts = [lines.size(f"({n} - {w} + 1)") for n, w in zip(site.sizes("sizes"), site.sizes("windows"), strict=True)]
    lines.settle(x)
    dims = [n for a, n in enumerate(x.dims) if a != vector]

    def body(i: list[str]) -> list[str]:
        at = lambda k: x.at([*i[:vector], str(k), *i[vector:]])
        return [
            f"if ({at(k)} < 0 || {at(k)} >= {last}) AS_FAIL" for k, last in enumerate(lasts) if k < int(x.dims[vector])
        ]

    lines.over(dims, body)
    return x


VIEWS: frozenset[Op] = frozenset({
    mv.slice_op, mv.rev_op, mv.transpose_op, mv.reshape_op, mv.broadcast_in_dim_op, mv.pad_op, mv.concatenate_op,
    ix.take_op, ga.gather_op, ga.gather_dynamic_op, dy.dynamic_slice_op, cf.sized_op, cn.name_sizes_op, rd.sum_to_op,
})  # fmt: skip  # whose results read their operands later
UPDATES: frozenset[Op] = frozenset({
    mv.slice_update_op, mv.slice_add_op, dy.dynamic_update_slice_op, ga.scatter_set_op, ga.scatter_add_op,
})  # fmt: skip  # which write to their first operand
SUMMED: dict[Op, tuple[int, ...]] = {
    mv.slice_add_op: (0, 1), ga.scatter_add_op: (0,), cf.sized_op: (0,), cn.name_sizes_op: (0,),
}  # fmt: skip  # operands that may be sums of parts without memory
RULES: dict[Op, Rule] = {
    cr.size_value_op: _size_value,
    cr.iota_op: _iota,
    cr.full_op: _full,
    dy.size_token_op: _size_token,
    mv.slice_op: _slice,
    mv.slice_update_op: _slice_update,
    mv.slice_add_op: _slice_add,
    mv.rev_op: _rev,
    mv.transpose_op: _transpose,
    mv.reshape_op: _reshape,
    mv.broadcast_in_dim_op: _broadcast_in_dim,
    mv.pad_op: _pad,
    mv.concatenate_op: _concatenate,
    ix.take_op: _take,
    ix.put_add_op: _put_add,
    ix.index_bounds_op: _index_bounds,
    ix.window_bounds_op: _window_bounds,
    ga.gather_op: _gather,
    ga.gather_dynamic_op: _gather,
    ga.scatter_set_op: _scatter("{0} = {1}"),
    ga.scatter_add_op: _scatter("{0} += {1}"),
    dy.dynamic_slice_op: _dynamic_slice,
    dy.dynamic_update_slice_op: _dynamic_update_slice,
    rd.reduce_sum_op: _reduce,
    rd.reduce_prod_op: _reduce,
    rd.reduce_max_op: _reduce,
    rd.reduce_min_op: _reduce,
    rd.reduce_and_op: _reduce,
    rd.reduce_or_op: _reduce,
    rd.sum_to_op: _sum_to,
    ct.dot_general_op: _dot_general,
    cf.sized_op: _sized,
    cn.name_sizes_op: _same,
    cn.warn_below_op: _warn_below,
    cn.warn_op: _warn,
    cn.check_op: _check,
    cn.raise_op: _raise,
    cn.stop_gradient_op: _same,
    ew.narrow_op: _narrow,
}


def rule_of(op: Op) -> Rule:
    """Return the rule of an op. Raises NotExpressible."""
    if op in RULES:
        return RULES[op]
    if TRAITS[op].elementwise:
        return elementwise
    raise NotExpressible(f"{op} has no statement in C")
