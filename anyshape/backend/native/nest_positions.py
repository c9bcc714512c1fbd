"""Reads and writes at computed positions in a nest of loops: take, gather, scatter, and slices that move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.backend.native.nest_steps import Rule, Site, sum_with, with_window
from anyshape.backend.native.nest_values import Array, At, Lines, Texts, along, derived, scalar, sparse
from anyshape.backend.native.statements import NotExpressible
from anyshape.graph.ir.graph import Op
from anyshape.ops import dynamic as dy
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import reduction as rd


def _position(lines: Lines, index: Array, size: str) -> str:
    """Return a local that holds a position along an axis; a negative index counts from the end."""
    text = f"(int64_t){index.at(())}"

    def write() -> str:
        local = lines.name("j")
        wraps = f"{local} + ({local} < 0 ? {size} : 0)"
        lines.add(
            f"int64_t {local} = {text};", f"{local} = {wraps};", f"if ((uint64_t){local} >= (uint64_t){size}) AS_FAIL"
        )
        return local

    return write() if "[" in text or "*" in text else lines.once(f"position {text} {size}", write)


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
    rank = len(indices[0].dims)
    if not rank:
        return _taken(site, x, {a: _position(lines, i, x.dims[a]) for i, a in zip(indices, axes, strict=True)})
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


def _taken(site: Site, x: Array, positions: dict[int, str]) -> Array:
    """Return what is at one position along some axes."""
    rest = [n for a, n in enumerate(x.dims) if a not in positions]
    site.lines.settle_computed(x)  # elements that are not read may warn

    def at(i: Sequence[str]) -> str:
        left = iter(i)
        return x.at([positions[a] if a in positions else next(left) for a in range(len(x.dims))])

    return derived(x, tuple(rest), at) if rest else site.lines.scalar(site.dtype, at(()))


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

    def positions(own: Sequence[str]) -> dict[int, str]:
        columns = zip(indices, axes, strict=True)
        return {a: _position(lines, scalar(x.dtype, x.at(own)), sizes[a]) for x, a in columns}

    def adds(at: At) -> None:
        fixed = None if rank else positions(())

        def body(i: list[str]) -> list[str]:
            own, rest = i[at_axis : at_axis + rank], iter([*i[:at_axis], *i[at_axis + rank :]])
            position = positions(own) if fixed is None else fixed
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
        begins = {a: _inside(t, lasts[a], False) for a, t in zip(w.starts, texts, strict=True)}
        return x.at(_shifted(len(x.dims), begins, inner, i))

    return lines.settle(derived(x, dims, at, indices, steps=1))


def _shifted(rank: int, begins: dict[int, str], inner: dict[int, int], i: Any) -> list[str]:
    """Return indices into an array: starts of a window, and positions in it."""
    within = {axis: i[k] for k, axis in inner.items()}
    return [" + ".join([t for t in (begins.get(a, ""), within.get(a, "")) if t] or ["0"]) for a in range(rank)]


def _window_read(site: Site, x: Array, numbers: Any, dims: Texts, indices: Array) -> Array:
    """Return one window of an array."""
    w, inner, lasts = numbers
    begins = _starts_found(site, w, indices, lasts, ())
    if dims:
        return derived(x, dims, lambda i: x.at(_shifted(len(x.dims), begins, inner, i)))
    return site.lines.scalar(site.dtype, x.at(_shifted(len(x.dims), begins, inner, ())))


def _starts_found(site: Site, w: Any, indices: Array, lasts: dict[int, str], own: Sequence[str]) -> dict[int, str]:
    """Write the lines that read the start of a window, and check it; return the locals by axis."""
    texts = zip(w.starts, _vectors(site, w, indices, own), strict=True)
    return {axis: _start(site.lines, f"(int64_t)({text})", lasts[axis]) for axis, text in texts}


def _start(lines: Lines, text: str, last: str) -> str:
    """Return a local that holds the start of a window, which is checked."""

    def write() -> str:
        local = lines.name("j")
        lines.add(f"const int64_t {local} = {text};", f"if ({local} < 0 || {local} >= {last}) AS_FAIL")
        return local

    return write() if "[" in text or "*" in text else lines.once(f"start {text} {last}", write)


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
                begins = _starts_found(site, w, indices, lasts, own)

                def window(i: list[str]) -> list[str]:
                    full = dict(zip([*outer, *inner], [*own, *i], strict=True))
                    element = at(_shifted(len(x.dims), begins, inner, full))
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
    begins = []
    for whole_size, start, size in zip(x.dims, starts, sizes, strict=True):
        local, text = site.lines.name("j"), f"(int64_t){start.at(())}"
        counted = f"({text} < 0 ? {text} + {whole_size} : {text})"
        site.lines.add(f"const int64_t {local} = as_min(as_max({counted}, 0), {whole_size} - {size});")
        begins.append(local)
    return tuple(begins)


def _dynamic_slice(site: Site, x: Array, *starts: Array) -> Array:
    sizes = site.sizes("sizes")
    site.lines.settle_computed(x)
    begins = _dynamic_starts(site, x, starts, sizes)
    return derived(x, sizes, lambda i: x.at(along(i, begins, ("1",) * len(begins))))


def _dynamic_update_slice(site: Site, x: Array, update: Array, *starts: Array) -> Array:
    begins = _dynamic_starts(site, x, starts, update.dims)
    return with_window(site, x, update, begins, ("1",) * len(begins))


def _index_bounds(site: Site, x: Array) -> Array:
    size = site.lines.size(site.size(site.params["extent"]))
    if x.dims:
        site.lines.settle(x)
    site.lines.over(x.dims, lambda i: [f"if ({x.at(i)} < -{size} || {x.at(i)} >= {size}) AS_FAIL"])
    return x


def _window_bounds(site: Site, x: Array) -> Array:
    """Check that windows start inside of an array; in other modes, that it can hold a window, or nothing."""
    vector, lines, mode = site.params["vector"], site.lines, site.params["mode"]
    sizes, windows = site.sizes("sizes"), site.sizes("windows")
    lines.settle(x)
    dims, count = [n for a, n in enumerate(x.dims) if a != vector], int(x.dims[vector]) if vector < len(x.dims) else 1

    def body(i: list[str]) -> list[str]:
        checks = []
        for k, (size, window) in enumerate(zip(sizes, windows, strict=True)):
            at = x.at([*i[:vector], str(k), *i[vector:]] if vector < len(x.dims) else i) if k < count else "0"
            if k >= count:
                checks.append(f"{size} == 0")
            elif mode in ("error", "clip"):
                beyond = f"({at} < 0 || {at} > {size} - {window})"
                checks.append(beyond if mode == "error" else f"{size} < {window} && {beyond}")
        return [f"if ({check}) AS_FAIL" for check in checks]

    lines.over(dims, body)
    return x


def _permute(site: Site, x: Array, order: Array) -> Array:
    """Return the elements at positions along an axis; or, as the inverse, put them there."""
    axis, lines = site.params["axis"], site.lines
    for one in (x, order):
        lines.settle(one)
    moved = lambda i: [*i[:axis], _inside(order.at(i), x.dims[axis], True), *i[axis + 1 :]]
    if not site.params["inverse"]:
        return lines.settle(derived(x, x.dims, lambda i: x.at(moved(i)), order, steps=1))
    target = lines.allocated(site.dtype, x.dims)
    lines.over(x.dims, lambda i: [f"{target.at(moved(i))} = {x.at(i)};"])
    return target


POSITION_RULES: dict[Op, Rule] = {
    ix.take_op: _take,
    ix.put_add_op: _put_add,
    ix.index_bounds_op: _index_bounds,
    ix.window_bounds_op: _window_bounds,
    rd.permute_op: _permute,
    ga.gather_op: _gather,
    ga.gather_dynamic_op: _gather,
    ga.scatter_set_op: _scatter("{0} = {1}"),
    ga.scatter_add_op: _scatter("{0} += {1}"),
    dy.dynamic_slice_op: _dynamic_slice,
    dy.dynamic_update_slice_op: _dynamic_update_slice,
}
