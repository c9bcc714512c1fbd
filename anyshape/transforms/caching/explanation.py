"""Collect the explanation of a cache: its programs, and why each was traced."""

import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anyshape.errors.messages import numpy_name
from anyshape.graph.ir.graph import Graph, asked, decisions_of
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes import expr
from anyshape.inspect.explain.data import (
    ArgumentInfo,
    ConditionInfo,
    EvictedInfo,
    Explanation,
    PathInfo,
    ProgramInfo,
    SizeInfo,
)
from anyshape.numpy.operands.memory import layout_text
from anyshape.tracing.trace import DisplayNames, show_call, show_tree
from anyshape.transforms.caching.cache import Cache, CacheEntry, broken_claims, describe_number, shorten


def explain_cache(name: str, cache: Cache) -> Explanation:
    """Explain the programs that a cache holds."""
    programs = tuple([_program(e) for e in cache.entries()])
    evicted = tuple([EvictedInfo(e.number, e.reasons, e.why) for e in list(cache.evicted)])
    return Explanation(name, cache.info(), programs, evicted=evicted, revalidations=cache.revalidations)


def explain_entry(name: str, cache: Cache, entry: CacheEntry, arrays: Sequence[Any], traced: bool) -> Explanation:
    """Explain a cache and a call that one of its entries serves."""
    broken = tuple(broken_claims(entry.program, entry.names, arrays))
    return replace(explain_cache(name, cache), program=entry.number, traced=traced, broken=broken)


def _program(entry: CacheEntry) -> ProgramInfo:
    """Return one program as data."""
    program, names, made_for = entry.program, entry.names, entry.made_for
    graph = program.graph
    arguments = tuple(_arguments(entry))
    metas = graph.results[: program.trace.count]
    watched = tuple([label for state in entry.states for label in state.labels()])
    static = {made_for.static_name(position): shorten(repr(value)) for position, value in made_for.static.items()}
    structure = show_call(entry.key.tree, made_for.names, made_for.static)
    conditions = tuple([_condition(c, names) for c in graph.conditions])
    return ProgramInfo(
        number=entry.number,
        arguments=arguments,
        structure=structure,
        static=static,
        result=str(program.trace.raised or show_tree(program.trace.out_tree, iter([str(m) for m in metas]))),
        outputs=tuple((str(m.dtype), *_extents(m)) for m in metas),
        sizes=tuple(_sizes(entry)),
        conditions=conditions,
        because=entry.reasons,
        retraces=_retraces(conditions, arguments, structure, static, watched),
        watched=watched,
        stale=tuple(map(str, entry.state_changes())),
        unwatched=tuple([str(u) for state in entry.states for u in state.unwatched()]),
        plan=program.tier,
        kernels=program.kernels,
        path=path_infos(program.trace.graph),
        calls=entry.calls,
        written=program.written,
        layouts=tuple([f"{program.labels[i]} is {layout_text(q, was)}" for i, q, was in program.trace.layouts]),
        _relied=entry.reliance_log,
        _graph=program.trace.graph,
        _words=names,
    )


def path_infos(graph: Graph) -> tuple[PathInfo, ...]:
    """Return the decisions of a graph on values."""
    return tuple([PathInfo(asked(n), dict(n.params)["answer"], n.where) for n in decisions_of(graph)])


def _sizes(entry: CacheEntry) -> Iterator[SizeInfo]:
    """Describe the sizes that a call binds: source, value in the first call, and bounds."""
    scope = Scope(conditions=entry.program.graph.conditions)
    for variable in entry.names.solved:
        source, bounds = entry.names.sources[variable], scope.bounds(expr.from_atom(variable))
        yield SizeInfo(str(variable), source, entry.sizes.get(variable), *bounds)


def _arguments(entry: CacheEntry) -> Iterator[ArgumentInfo]:
    """Describe the leaves of the arguments, which come before hidden inputs."""
    plan, labels = entry.program.plan, entry.program.trace.labels
    values = {i: entry.names.size(size) for i, size in plan.values}
    for i, (path, meta, leaf) in enumerate(zip(labels, plan.input_metas, entry.key.leaves, strict=False)):
        number = describe_number(leaf)
        yield ArgumentInfo(path, str(meta), str(meta.dtype), _extents(meta), number, values.get(i, ""))


def _extents(meta: TensorMeta) -> tuple[str, ...]:
    return tuple(str(e) for e in meta.extents)


def _condition(condition: Condition, names: DisplayNames) -> ConditionInfo:
    where = condition.where
    code = linecache.getline(where.file, where.line).strip() if where is not None else ""
    negation = names.negated(condition.claim) if condition.kind == "guard" else ""
    reason = names.text(condition.why)
    return ConditionInfo(
        condition.kind, names.claim(condition.claim), negation, numpy_name(condition.primitive), reason, where, code
    )


def _retraces(
    conditions: Sequence[ConditionInfo],
    arguments: Sequence[ArgumentInfo],
    structure: str,
    static: Mapping[str, str],
    watched: Sequence[str],
) -> tuple[str, ...]:
    """List the changes after which a call needs another program."""
    changes = [c.otherwise for c in conditions if c.kind == "guard"]
    for a in arguments:
        kind = a.number or f"an array of {a.dtype} with {len(a.extents)} ax{'is' if len(a.extents) == 1 else 'es'}"
        changes.append(f"{a.path} is not {kind}")
    changes += [f"{name} is not {value}" for name, value in static.items()]
    changes.append(f"the arguments are not {structure}")
    return (*changes, *[f"{name} is rebound" for name in watched])
