"""Gather the explanation of a cache: its programs, and why each was traced."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes import expr
from anyshape.inspect.explain.data import ArgumentInfo, ConditionInfo, DroppedInfo, Explanation, ProgramInfo, SizeInfo
from anyshape.tracing.display_names import DisplayNames, show_call, show_tree
from anyshape.transforms.caching.cache import Cache, CacheEntry
from anyshape.transforms.caching.cache_miss import broken_claims, number_text, shorten


def explain_cache(name: str, cache: Cache) -> Explanation:
    """The programs that a cache holds now."""
    programs = tuple([_program(e) for e in cache.entries()])
    dropped = tuple([DroppedInfo(d.number, d.reasons, d.why) for d in list(cache.dropped)])
    return Explanation(name, cache.info(), programs, dropped=dropped)


def explain_entry(name: str, cache: Cache, entry: CacheEntry, arrays: Sequence[Any], traced: bool) -> Explanation:
    """The same, with what there is to say of a call that one of the programs serves."""
    broken = tuple(broken_claims(entry.program, entry.words, arrays))
    return replace(explain_cache(name, cache), program=entry.number, traced=traced, broken=broken)


def _program(entry: CacheEntry) -> ProgramInfo:
    """One program as data."""
    program, words, made_for = entry.program, entry.words, entry.made_for
    graph = program.graph
    scope = Scope(conditions=graph.conditions)
    arguments = tuple(_arguments(entry, words))
    sizes = tuple(
        SizeInfo(str(v), words.sources[v], entry.sizes.get(v), *scope.bounds(expr.from_atom(v))) for v in words.solved
    )
    metas = graph.results
    watched = () if entry.unchanged is None else tuple(dict.fromkeys(t.read.label for t in entry.unchanged.tests))
    static = {made_for.static_name(place): shorten(repr(value)) for place, value in made_for.static.items()}
    structure = show_call(entry.key.tree, made_for.names, made_for.static)
    conditions = tuple(_condition(c, words) for c in graph.conditions)
    return ProgramInfo(
        number=entry.number,
        arguments=arguments,
        structure=structure,
        static=static,
        result=show_tree(program.trace.out_tree, iter([str(m) for m in metas])),
        outputs=tuple((str(m.dtype), *_extents(m)) for m in metas),
        sizes=sizes,
        conditions=conditions,
        because=entry.reasons,
        retraces=_retraces(conditions, arguments, structure, static, watched),
        watched=watched,
        stale=tuple(map(str, entry.anew())),
        _relied=entry.reliance_log,
        _graph=program.trace.graph,
        _words=words,
    )


def _arguments(entry: CacheEntry, words: DisplayNames) -> Iterator[ArgumentInfo]:
    """The leaves of the arguments, which come before hidden inputs."""
    plan, labels = entry.program.plan, entry.program.trace.labels
    values = {i: words.size(size) for i, size in plan.values}
    for i, (path, meta, leaf) in enumerate(zip(labels, plan.input_metas, entry.key.leaves, strict=False)):
        number = number_text(leaf) if leaf[2:] else ""
        yield ArgumentInfo(path, str(meta), str(meta.dtype), _extents(meta), number, values.get(i, ""))


def _extents(meta: TensorMeta) -> tuple[str, ...]:
    return tuple(str(e) for e in meta.extents)


def _condition(condition: Condition, words: DisplayNames) -> ConditionInfo:
    where = condition.where
    code = linecache.getline(where.file, where.line).strip() if where is not None else ""
    otherwise = words.negated(condition.claim) if condition.kind == "guard" else ""
    reason = words.text(condition.why)
    return ConditionInfo(
        condition.kind, words.claim(condition.claim), otherwise, condition.primitive, reason, where, code
    )


def _retraces(
    conditions: Sequence[ConditionInfo],
    arguments: Sequence[ArgumentInfo],
    structure: str,
    static: Mapping[str, str],
    watched: Sequence[str],
) -> tuple[str, ...]:
    """What of a call makes the program unfit for it."""
    found = [c.otherwise for c in conditions if c.kind == "guard"]
    for a in arguments:
        kind = a.number or f"an array of {a.dtype} with {len(a.extents)} ax{'is' if len(a.extents) == 1 else 'es'}"
        found.append(f"{a.path} is not {kind}")
    found += [f"{name} is not {value}" for name, value in static.items()]
    found.append(f"the arguments are not {structure}")
    return (*found, *[f"{name} is bound anew" for name in watched])
