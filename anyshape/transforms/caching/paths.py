"""Paths of a function that decides on values: one program for each, in one tree of answers per key of the cache.

A run that leaves the path of its program raises PathLeft, with the turn of the decision and the new answer. The call
then goes on with a program that has the same answers before this turn and the new one in it. If there is none, the
function is traced once more, and gets its answers from the call. A run
that has drawn random numbers restores the generators, and the next one draws them again.

Plans may add up in another order than NumPy. Where they disagree about an answer with the naive evaluator, that one
computes the result.

Paths that share what they compute before they part: the run that leaves one hands its values to the other.

The program of the path that is left is compiled again. Its decision then reads the values that the rest of the other
path needs. A program of that rest takes them as further inputs. Plans may differ in rounding, as always.

Collect the explanation of a cache: its programs, and why each was traced.
"""

import linecache
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.backend.interpreter import evaluate
from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.outcome import GUARD_FAILED, PathLeft, counting_effects, going_on, restoring_generators
from anyshape.errors import DecisionError, ManyPathsWarning, SizeMismatchError
from anyshape.errors.messages import numpy_name
from anyshape.graph.ir.graph import Graph, Node, Value, applies, asked, decisions_of, happens_once
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.user_stack import tell, user_line
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes import expr
from anyshape.inspect import explanation
from anyshape.numpy.operands.memory import layout_text
from anyshape.ops.control import decide_op
from anyshape.program.planner import ending, writing_back
from anyshape.program.pytree_codegen import maker
from anyshape.support.lazy_dataclass import NamedTuple, replace
from anyshape.tracing.captured.watch import CapturedState
from anyshape.tracing.decisions import on_host, path_left
from anyshape.tracing.trace import DisplayNames, Trace, show_call, show_tree
from anyshape.transforms.caching.cache import Cache, CacheEntry, Call, Key, broken_claims, describe_number, shorten

_LOG = logging.getLogger("anyshape.trace")


def follow(function: Any, call: Call, entry: CacheEntry) -> Any:
    """Return the result of a call that this entry may serve, on whichever path it takes."""
    try:
        return entry.result(_run(entry, call.arrays))
    except BaseException as error:
        return leave(function, lambda: call, entry, call.arrays, error)


def leave(function, read: Callable[[], Call], entry: CacheEntry, arrays: Sequence[Any], error: BaseException) -> Any:
    """Return the result of a call whose run of an entry ended by `error`, on the path that it takes."""
    cache, tried, first = function._cache, [entry], None
    if isinstance(error, PathLeft):
        first = error
        if (served := by_detour(cache, entry, error, arrays)) is not None:
            return _served(*served)
    call = read()
    while True:
        left = error if isinstance(error, PathLeft) else path_left(entry.program.trace.graph, call.arrays)
        if left is None:  # Python raises it on this path too
            entry.hits += 1
            if isinstance(error, SizeMismatchError):
                return function.unless_caught(call, error)
            raise error
        with going_on(error):
            if (other := _next(cache, entry, left, call, tried)) is None:
                return _on_new_path(function, call, entry)
            tried.append(other)
            try:
                outputs = _run(other, call.arrays)
            except BaseException as other_error:
                entry, error = other, other_error
                continue
        if first is None:
            cache.prefer(other)
        elif function._lock.acquire(blocking=False):
            try:
                count_switch(cache, tried[0], first, other, function._program)
            finally:
                function._lock.release()
        return _served(other, outputs)


def _served(entry: CacheEntry, outputs):
    entry.hits += 1
    return entry.result(outputs)


def _run(entry: CacheEntry, arrays: Sequence[Any]):
    outputs = entry.program.run(*arrays)
    if outputs is GUARD_FAILED:  # the caller has found that they hold
        raise RuntimeError("the guards of a program changed within a call")
    return outputs


def _next(
    cache: Cache, entry: CacheEntry, left: PathLeft, call: Call, tried: Sequence[CacheEntry]
) -> CacheEntry | None:
    """Return an entry that a call may go on with after it left the path of another, None if there is none."""
    turn = left.turn
    prefix = (*entry.path[:turn], left.answer)
    for other in cache.by_key.get(call.key, ()):
        if other.path[: turn + 1] == prefix and other not in tried and other.serves(call.arrays):
            return other
    return None


def _on_new_path(function, call: Call, entry: CacheEntry):
    """Trace the path of a call that is on no known one, and run it."""
    if path_left(entry.program.trace.graph, call.arrays) is None:  # the plan and NumPy differ by rounding
        return evaluated(entry.program.trace, call.arrays, entry.states)
    cache = function._cache
    with function._lock:
        if _count(cache, call.key) >= config.max_paths:
            _say_full(function)
            traced = function._traced(call)
            states = [s for s in (cache.state, traced.static_state) if s is not None]
            return evaluated(traced.trace, call.arrays, states)
        new, _ = function._entry_for(call, on_path=True)
    try:
        outputs = _run(new, call.arrays)
    except PathLeft as again:
        with going_on(again):
            return evaluated(new.program.trace, call.arrays, new.states)
    return new.result(outputs)


def on_path(cache: Cache, call: Call, entry: CacheEntry) -> CacheEntry | None:
    """Return the entry whose path a call takes by the naive evaluation, None if there is none."""
    tried = [entry]
    while True:
        left = path_left(entry.program.trace.graph, call.arrays) if entry.path else None
        if left is None:
            return entry
        if (other := _next(cache, entry, left, call, tried)) is None:
            return None
        entry = other
        tried.append(entry)


def evaluated(trace: Trace, arrays: Sequence[Any], states: Sequence[CapturedState]) -> Any:
    """Return the result of a trace by the naive evaluator."""
    captured = lambda: [pair for state in states for pair in state.arrays()]
    try:
        run = ending(writing_back(lambda *xs: evaluate(trace.graph, xs), trace, captured), trace)
        outputs = counting_effects(restoring_generators(run, trace.graph), trace.graph)(*on_host(arrays))
    except PathLeft as left:
        problem = "the function gives another answer at each evaluation, so it is not pure"
        raise DecisionError(left.turn, [left.answer], problem) from None
    if trace.home is not None:
        return maker(trace.out_tree)(list(map(trace.home[0].array, outputs)))
    own = {result for result, _ in trace.same}
    return maker(trace.out_tree)([x if x.ndim or i in own else x[()] for i, x in enumerate(outputs)])


def _count(cache: Cache, key: Key) -> int:
    return sum(bool(entry.path) for entry in cache.by_key.get(key, ()))


def _say_full(function) -> None:
    if not function._cache.said_full:
        function._cache.said_full = True
        paths = f"it has taken {config.max_paths} paths of decisions on values; further paths run without a program"
        advice = "write loops with anyshape.while_loop and choices with np.where, or raise anyshape.config.max_paths"
        tell(f"{function.name}: {paths}\n  {advice}", ManyPathsWarning, user_line())


_WORTH = 3  # times that calls went from one path to another until both share what they can
_MOST_SHARING = 4  # entries of one key that hand over values
_MOST_RESTS = 64  # decisions and answers by which calls leave one entry so
_IN_A_ROW = 32  # such calls until the other path is tried first


class Rest(NamedTuple):
    """Rest of the path of an entry, from a decision of another one; `positions` say which values it takes."""

    entry: CacheEntry
    program: Any
    positions: tuple[int, ...]


class Detours:
    """Ways from the path of one entry to others.

    - `rests`: by the turn and the answer that part them, the rest of each path, the last one used first.
    - `live`: by turn, the values that a run hands over. Values are only appended, as a run may hold an older program.
    - `counts`: how often calls went to another entry, None where the two share nothing.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.rests: dict[tuple[int, bool | int], list[Rest]] = {}
        self.live: dict[int, list[Value]] = {}
        self.counts: Counter[int] = Counter()
        self.in_a_row = 0
        self.last: tuple[int, int] = 0, 0  # calls of the entry at the last detour, and the number of the other path


def by_detour(cache: Cache, entry: CacheEntry, left: PathLeft, arrays: Sequence[Any]) -> tuple[CacheEntry, Any] | None:
    """Return the entry whose rest serves a call that left a path, and its outputs; None where none does."""
    rests: list[Rest] = [] if entry.detours is None else entry.detours.rests.get((left.turn, left.answer), [])
    path: tuple[bool | int, ...] = ()
    for rest in list(rests):
        other = rest.entry
        if other.path[: len(path)] != path or not _may_serve(cache, rest, left, arrays):
            continue
        try:
            outputs = rest.program.run(*arrays, *[left.live[i] for i in rest.positions])
        except PathLeft as further:
            path = (*other.path[: further.turn], further.answer)
            continue
        except Exception:  # the whole program raises it too, if it is one of the call
            return None
        if outputs is GUARD_FAILED:
            return None
        if rests[0] is not rest:
            rests[:] = [rest, *[r for r in rests if r is not rest]]
        _count_detour(cache, entry, other)
        return other, outputs
    return None


def _may_serve(cache: Cache, rest: Rest, left: PathLeft, arrays: Sequence[Any]) -> bool:
    """Return whether an entry is still in the cache, takes the arrays, and the run has handed over what it needs."""
    entry = rest.entry
    is_kept = entry in cache.by_key.get(entry.key, ())
    return is_kept and entry.serves(arrays) and len(left.live) > max(rest.positions, default=-1)


def _count_detour(cache: Cache, entry: CacheEntry, other: CacheEntry) -> None:
    """Count a detour; after many in a row to the same path, calls try that one first."""
    detours = entry.detours
    is_same = detours.last == (entry.calls, other.number)
    detours.in_a_row = detours.in_a_row + 1 if is_same else 1
    detours.last = entry.calls, other.number
    if detours.in_a_row >= _IN_A_ROW:
        detours.in_a_row = 0
        cache.prefer(other)


def count_switch(
    cache: Cache, entry: CacheEntry, left: PathLeft, other: CacheEntry, program_of: Callable[[Trace], Any]
) -> None:
    """Count a call that went from one path to another; make both share what they can once it pays.

    Where they share nothing, the next call tries the other path first.
    """
    if entry.detours is None:
        entry.detours = Detours(entry.program.trace)
    detours = entry.detours
    detours.counts[other.number] += 1
    if detours.counts[other.number] < _WORTH:
        return
    if detours.counts[other.number] > _WORTH or not _may_share(cache, entry, left, other):
        cache.prefer(other)
        return
    _share(entry, left, other, program_of)


def _may_share(cache: Cache, entry: CacheEntry, left: PathLeft, other: CacheEntry) -> bool:
    """Return whether two paths are the same up to a turn, and few programs are compiled for sharing so far."""
    sharing = sum(e.detours is not None and bool(e.detours.rests) for e in cache.by_key.get(entry.key, ()))
    few = sharing < _MOST_SHARING or bool(entry.detours.rests)
    return few and len(entry.detours.rests) < _MOST_RESTS and other.path[: left.turn] == entry.path[: left.turn]


def _share(entry: CacheEntry, left: PathLeft, other: CacheEntry, program_of: Callable[[Trace], Any]) -> None:
    """Compile the program of an entry so that it hands over values, and the rest of the path of the other one."""
    ours, theirs = entry.detours.trace, other.program.trace
    if (same := _same_values(entry, ours.graph, other, theirs.graph, left.turn)) is None:
        return
    rest, live = _rest(theirs.graph, left.turn, same)
    handed = entry.detours.live.setdefault(left.turn, [])
    added = [same[v] for v in live if same[v] not in handed]
    program = program_of(replace(theirs, graph=rest, paths=_named(theirs.paths, live), labels=()))
    if added:
        handed += added
        handing = program_of(replace(ours, graph=_handing_over(ours.graph, entry.detours.live)))
        handing.trace = ours
        entry.program = handing
    positions = tuple([handed.index(same[v]) for v in live])
    entry.detours.rests.setdefault((left.turn, left.answer), []).insert(0, Rest(other, program, positions))


def _named(paths: Sequence[str], live: Sequence[Value]) -> tuple[str, ...]:
    return (*paths, *[f"shared[{i}]" for i in range(len(live))])


def _decision(graph: Graph, turn: int) -> int | None:
    """Return the position of the one node that checks a decision, None if it is in a subgraph or in two places."""
    made = [i for i, n in enumerate(graph.nodes) if n.op is decide_op and dict(n.params)["turn"] == turn]
    return made[0] if len(made) == 1 else None


def _same_values(
    entry: CacheEntry, graph: Graph, other: CacheEntry, other_graph: Graph, turn: int
) -> dict[Value, Value] | None:
    """Return for each value that the other graph makes before a decision the value of this graph that equals it.

    None if they are not the same up to there, or have run-time sizes, whose names differ. A program that draws random
    numbers runs whole: one that has left its path starts again from the state that the generator had. So does one that
    acts, whose effects so far are counted.
    """
    count = _decision(graph, turn)
    if count is None or count != _decision(other_graph, turn) or graph.hidden or other_graph.hidden:
        return None
    before, other_before = graph.nodes[:count], other_graph.nodes[:count]
    if any(applies(node, lambda op: op.makes_sizes) for node in before):
        return None
    if any(happens_once(node) for node in (*graph.nodes, *other_graph.nodes)):
        return None
    if not _are_equal(_part(graph, before), _part(other_graph, other_before), entry.visible | other.visible):
        return None
    pairs = zip(before, other_before, strict=True)
    return {v: own for mine, its in pairs for own, v in zip(mine.outputs, its.outputs, strict=True)}


def _are_equal(ours: Graph, theirs: Graph, visible: frozenset[int]) -> bool:
    """Return whether two parts compute the same, now and after arrays that the user can change have changed."""
    if ours != theirs:
        return False
    pairs = zip(ours.constants, theirs.constants, strict=True)
    return all(a is b or (_is_own(a, visible) and _is_own(b, visible)) for (_, a), (_, b) in pairs)


def _is_own(array: np.ndarray, visible: frozenset[int]) -> bool:
    return id(array) not in visible and array.base is None


def _part(graph: Graph, nodes: tuple[Node, ...]) -> Graph:
    """Return the graph of some first nodes."""
    read = {v for node in nodes for v in node.operands}
    constants = tuple([(v, a) for v, a in graph.constants if v in read])
    outputs = nodes[-1].outputs if nodes else ()
    return replace(graph, name="", nodes=nodes, outputs=outputs, constants=constants, conditions=())


def _rest(graph: Graph, turn: int, same: dict[Value, Value]) -> tuple[Graph, list[Value]]:
    """Return the graph behind a decision, and the values of before that it takes as its last inputs."""
    count = _decision(graph, turn)
    assert count is not None
    nodes = graph.nodes[count + 1 :]
    needed = [*[v for node in nodes for v in node.operands], *graph.outputs]
    live = list(dict.fromkeys([v for v in needed if v in same]))
    read = set(needed)
    constants = tuple([(v, a) for v, a in graph.constants if v in read])
    names = graph.input_names and _named(graph.input_names, live)
    return replace(graph, inputs=(*graph.inputs, *live), input_names=names, nodes=nodes, constants=constants), live


def _handing_over(graph: Graph, live: dict[int, list[Value]]) -> Graph:
    """Return the graph whose decisions read the values to hand over, too."""
    nodes = []
    for node in graph.nodes:
        more = live.get(dict(node.params)["turn"], ()) if node.op is decide_op else ()
        nodes.append(replace(node, inputs=(*node.inputs, *more)) if more else node)
    return replace(graph, nodes=tuple(nodes))


def explain_cache(name: str, cache: Cache) -> explanation.Explanation:
    """Explain the programs that a cache holds."""
    programs = tuple([_program(e) for e in cache.entries()])
    evicted = tuple([explanation.EvictedInfo(e.number, e.reasons, e.why) for e in list(cache.evicted)])
    return explanation.Explanation(name, cache.info(), programs, evicted=evicted, revalidations=cache.revalidations)


def explain_entry(
    name: str, cache: Cache, entry: CacheEntry, arrays: Sequence[Any], traced: bool
) -> explanation.Explanation:
    """Explain a cache and a call that one of its entries serves."""
    broken = tuple(broken_claims(entry.program, entry.names, arrays))
    return replace(explain_cache(name, cache), program=entry.number, traced=traced, broken=broken)


def _program(entry: CacheEntry) -> explanation.ProgramInfo:
    """Return one program as data."""
    program, names, made_for = entry.program, entry.names, entry.made_for
    graph = program.graph
    arguments = tuple(_arguments(entry))
    metas = graph.results[: program.trace.count]
    watched = tuple([label for state in entry.states for label in state.labels()])
    static = {made_for.static_name(position): shorten(repr(value)) for position, value in made_for.static.items()}
    structure = show_call(entry.key.tree, made_for.names, made_for.static)
    conditions = tuple([_condition(c, names) for c in graph.conditions])
    return explanation.ProgramInfo(
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


def path_infos(graph: Graph) -> tuple[explanation.PathInfo, ...]:
    """Return the decisions of a graph on values."""
    return tuple([explanation.PathInfo(asked(n), dict(n.params)["answer"], n.where) for n in decisions_of(graph)])


def _sizes(entry: CacheEntry) -> Iterator[explanation.SizeInfo]:
    """Describe the sizes that a call binds: source, value in the first call, and bounds."""
    scope = Scope(conditions=entry.program.graph.conditions)
    for variable in entry.names.solved:
        source, bounds = entry.names.sources[variable], scope.bounds(expr.from_atom(variable))
        yield explanation.SizeInfo(str(variable), source, entry.sizes.get(variable), *bounds)


def _arguments(entry: CacheEntry) -> Iterator[explanation.ArgumentInfo]:
    """Describe the leaves of the arguments, which come before hidden inputs."""
    plan, labels = entry.program.plan, entry.program.trace.labels
    values = {i: entry.names.size(size) for i, size in plan.values}
    for i, (path, meta, leaf) in enumerate(zip(labels, plan.input_metas, entry.key.leaves, strict=False)):
        number = describe_number(leaf)
        yield explanation.ArgumentInfo(path, str(meta), str(meta.dtype), _extents(meta), number, values.get(i, ""))


def _extents(meta: TensorMeta) -> tuple[str, ...]:
    return tuple(str(e) for e in meta.extents)


def _condition(condition: Condition, names: DisplayNames) -> explanation.ConditionInfo:
    where = condition.where
    code = linecache.getline(where.file, where.line).strip() if where is not None else ""
    negation = names.negated(condition.claim) if condition.kind == "guard" else ""
    reason = names.text(condition.why)
    return explanation.ConditionInfo(
        condition.kind, names.claim(condition.claim), negation, numpy_name(condition.primitive), reason, where, code
    )


def _retraces(
    conditions: Sequence[explanation.ConditionInfo],
    arguments: Sequence[explanation.ArgumentInfo],
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
