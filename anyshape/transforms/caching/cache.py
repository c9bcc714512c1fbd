"""Cache of the programs of one function: what each serves, when it may be used, and why a call needed another.

Explain a cache miss: the first guard that fails, or the arguments that differ.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.backend.runtime.outcome import GUARD_FAILED
from anyshape.errors import RetraceWarning, ShapeError
from anyshape.graph.ir.graph import asked, decisions_of, drawing
from anyshape.graph.ir.operand_sites import Notes
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.user_stack import tell, user_line
from anyshape.graph.signature.prologue import Prologue, compile_prologue, direct_input
from anyshape.graph.sizes.expr import DimVar, InputAxis
from anyshape.graph.sizes.substitute import values_from
from anyshape.inspect.explanation import CacheInfo, Reason
from anyshape.ops.subgraph_call import Provided
from anyshape.program.pytree_codegen import NO_MATCH, matcher
from anyshape.support.freezing import is_frozen_setting
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.packages import value_decisions
from anyshape.support.true_types import of_library
from anyshape.tracing import pytrees
from anyshape.tracing.captured import operand_uses
from anyshape.tracing.captured.closures import OF_THE_PROGRAM, WithObjects, has_parts
from anyshape.tracing.captured.code_origin import ATOMS, is_scalar, may_rebind
from anyshape.tracing.captured.containers import Roots
from anyshape.tracing.captured.watch import CapturedState, Watch, static_state
from anyshape.tracing.trace import DisplayNames, Leaves, Trace, show_call, show_order, show_tree, tree_difference

if TYPE_CHECKING:
    from anyshape.backend.compiler.codegen.timers import Timers
    from anyshape.program.program import Program

shared_programs: Provided = Provided()  # `membership` of functions of the same code
FIRST: OrderedDict[Any, Callable[[], Any]] = OrderedDict()  # function of each code that was the first, while it lives
_MOST_CODES = 256
_MAX_CHARACTERS = 200  # of a value in an explanation
_DISTANCES = {"structure": 1000, "rank": 2}  # 1 for other kinds of reasons


class Key(NamedTuple):
    """Key of the cache; it holds no size."""

    tree: Any
    static: tuple[Any, ...]
    leaves: tuple[tuple[Any, ...], ...]  # by `leaf_key`
    keys: tuple[Any, ...] = ()  # of dicts, if some are not texts: 1 and True are equal in `tree`
    order: pytrees.Order = pytrees.Order.KEYS  # of keys and keywords, as far as the function sees it
    library: Any = None  # of the arrays, with its device; None for NumPy


_INNER: dict[type, Callable[[Any], Any]] = {
    MethodType: lambda x: x.__func__,
    functools.partial: lambda x: x.func,
    WithObjects: lambda x: x.function,
}


def key_of_code(jitted: Any) -> Any:
    """Return the key of what is made in one way of functions of one code; None for other callables."""
    function, way = jitted.origin
    while (get := _INNER.get(type(function))) is not None:
        function = get(function)
    if type(function) is not FunctionType:
        return None
    return function.__code__, id(function.__globals__), way


def is_first_of_code(jitted: Any) -> bool:
    """Return whether a jitted function is the first of its code, or has none; it is kept if that holds nothing.

    No derivative of a method is, as other objects will come.
    """
    key, function = key_of_code(jitted), jitted.origin[0]
    if key is None or key in FIRST:
        return key is None
    if type(function) is MethodType and jitted.use_programs is not None and has_parts(function.__self__):
        return may_rebind([key[0]])
    is_plain = type(function) is FunctionType
    holds_nothing = is_plain and function.__closure__ is function.__defaults__ is function.__kwdefaults__ is None
    FIRST[key] = (lambda: jitted) if holds_nothing else weakref.ref(jitted)
    while len(FIRST) > _MOST_CODES:
        FIRST.popitem(last=False)
    return True


def distance(reasons: Sequence[Reason]) -> int:
    """Measure how far a program is from serving a call, to find the most similar one."""
    return sum(_DISTANCES.get(r.kind, 1) for r in reasons)


@dataclass(frozen=True)
class ReasonList:
    """Reasons as one text for a log line, formatted only if the line is logged."""

    reasons: Sequence[Reason]

    def __str__(self) -> str:
        return "; ".join(f"program {r.program}: {r}" for r in self.reasons) or "there was no program yet"


@dataclass(frozen=True)
class Arguments:
    """Arguments of one call: their key, leaves and static values, and the names of the parameters."""

    key: Key
    arrays: Sequence[Any]
    static: Mapping[int | str, Any]
    names: Sequence[str]

    def static_state(self, state: CapturedState) -> CapturedState | None:
        """Return what a function and static arguments reach together, None if none of these can change in place."""
        values = {name: x for name, x in self.settings().items() if not _is_atom(x)}
        declared = [self.static_name(position) for position, key in self.key.static if not is_frozen_setting(key)]
        objects = [n for n, x in values.items() if n not in declared and not isinstance(x, OF_THE_PROGRAM)]
        return static_state(state, values, objects) if values else None

    def settings(self) -> dict[str, Any]:
        """Return static arguments and settings inside of others, by name or path."""
        static = {self.static_name(position): x for position, x in self.static.items()}
        if not pytrees.has_settings(self.key.tree):
            return static
        inside = pytrees.settings_by_path(self.key.tree)
        return static | {pytrees.named(path, self.names): x for path, x in inside.items()}

    def function_made_anew(self, others: Sequence[Arguments]) -> str:
        """Return the name of a function that others got with the same code as another object, at least twice."""
        for name, x in self.settings().items():
            if (code := getattr(x, "__code__", None)) is not None:
                functions = [other.settings().get(name) for other in others]
                if len({id(f) for f in functions if f is not x and getattr(f, "__code__", None) is code}) > 1:
                    return name
        return ""

    def static_name(self, position: int | str) -> str:
        """Return the parameter of a static argument."""
        if isinstance(position, str):
            return position
        return self.names[position] if position < len(self.names) else f"args[{position}]"


def different_arguments(number: int, program: Program, made_for: Arguments, call: Arguments) -> Iterator[Reason]:
    """List how the keys of two calls differ: in structure, or else in static values and leaves."""
    before, now = made_for.key, call.key
    if before.tree != now.tree or before.keys != now.keys:
        yield _different_structure(number, made_for, call)
        return
    frozen_before, frozen_now = dict(before.static), dict(now.static)
    for position in dict.fromkeys([*frozen_before, *frozen_now]):  # equal structures: None stands where one is absent
        if frozen_before.get(position) != frozen_now.get(position):
            was, is_now = (shorten(pytrees.shown(a.static.get(position))) for a in (made_for, call))
            yield Reason("static", call.static_name(position), was, is_now, number)
    if before.library is not now.library:
        yield Reason("library", "the arrays", str(before.library or "NumPy"), str(now.library or "NumPy"), number)
    for path, old, new in zip(program.trace.labels, before.leaves, now.leaves, strict=True):
        yield from _different_leaf(number, path, old, new)


def _is_atom(x) -> bool:
    """Return True for a value that never changes, at any depth."""
    return type(x) in ATOMS or is_scalar(x) or (type(x) in (tuple, frozenset) and all(map(_is_atom, x)))


def _different_structure(number: int, made_for: Arguments, call: Arguments) -> Reason:
    path, old, new = tree_difference(made_for.key.tree, call.key.tree, call.names)
    if old != new and pytrees.same_but_for_order(old, new):
        was, is_now = show_order(*((old, new) if path else (old.child(1), new.child(1))))
        return Reason("order", path or "the keywords", shorten(was), shorten(is_now), number)
    was, is_now = show_tree(old), show_tree(new)
    if not path:
        was, is_now = (show_call(a.key.tree, call.names, a.static) for a in (made_for, call))
    return Reason("structure", path or "the arguments", shorten(was), shorten(is_now), number)


def _different_leaf(number: int, path: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> Iterator[Reason]:
    kinds = {_class(old), _class(new)}
    if len(kinds) == 2 and (old[1] == new[1] or not kinds <= {np.ndarray, np.generic}):
        yield Reason("number", path, leaf_kind(old), leaf_kind(new), number)
        return
    for kind, a, b in zip(("dtype", "rank"), old, new, strict=False):
        if a != b:
            yield Reason(kind, path, str(a), str(b), number)


def failed_guard(
    number: int, program: Program, names: DisplayNames, sizes: Mapping[DimVar, int], arrays: Sequence[Any]
) -> Iterator[Reason]:
    """Yield the first guard that the sizes of a call break: there Python would take another path."""
    now = _sizes(program.prologue, arrays)
    for guard in program.guards:
        if not _holds(guard.claim, now):
            was, is_now = (names.values(guard.claim.variables(), values) for values in (sizes, now))
            yield Reason("guard", names.claim(guard.claim), was, is_now, number, guard.where)
            return


def failed_layouts(number: int, program: Program, arrays: Sequence[Any]) -> Iterator[Reason]:
    """Yield the arguments that lie in memory in another way, so that writes would not reach the same."""
    for i, was, now in program.trace.other_layouts(arrays):
        yield Reason("layout", program.labels[i], was, now, number)


def _sizes(prologue: Prologue, arrays: Sequence[Any]) -> Mapping[DimVar, int]:
    """Return the sizes of a call, read off the axes where that suffices: compiling a solver takes longer."""
    sources = [(s.variable, direct_input(s)) for s in prologue.bindings]
    if all(isinstance(source, InputAxis) for _, source in sources):
        return {v: arrays[s.operand].shape[s.axis] for v, s in sources if isinstance(s, InputAxis)}
    return compile_prologue(prologue, arrays=True)(*arrays)


def broken_claims(program: Program, names: DisplayNames, arrays: Sequence[Any]) -> list[str]:
    """List the assertions and constraints of a program that a call breaks, so that it is an error."""
    now = compile_prologue(program.prologue, arrays=True)(*arrays)  # raises for broken declarations, like a call
    stated = [c for c in program.graph.conditions if c.kind in ("assertion", "constraint")]
    known = [c.claim for c in stated if all(v in now for v in c.claim.variables())]  # excludes run-time sizes
    broken = [claim for claim in known if not _holds(claim, now)]
    return [f"{names.claim(claim)} does not hold for {names.values(claim.variables(), now)}" for claim in broken]


def _holds(claim: Claim, sizes: Mapping[DimVar, int]) -> bool:
    """Return True if the claim holds; one that divides by zero does not."""
    try:
        return claim.holds(values_from(sizes))
    except (ZeroDivisionError, ShapeError):
        return False


def leaf_key(array: np.ndarray, number: type | None = None) -> tuple[Any, ...]:
    """Return the dtype and rank of a leaf, and the class of one without axes, which a function can ask for.

    It is that of a Python number, `np.generic` for a scalar of NumPy, or `np.ndarray`.
    """
    return (array.dtype, array.ndim) if array.ndim else (array.dtype, 0, number or np.ndarray)


def _class(leaf: tuple[Any, ...]) -> type:
    return leaf[2] if len(leaf) > 2 else np.ndarray


def leaf_kind(leaf: tuple[Any, ...]) -> str:
    """Describe a leaf of a key as an array, a scalar of NumPy or a Python number."""
    kind, dtype = _class(leaf), np.dtype(leaf[0])
    if kind in drawing():
        return "a random generator" if kind is np.random.Generator else "a RandomState"
    scalar = f"a NumPy {dtype}" if kind is np.generic else f"a Python {kind.__name__}"
    return f"an array of {dtype}" if kind is np.ndarray else scalar


def describe_number(leaf: tuple[Any, ...]) -> str:
    """Describe a leaf of a key other than an array; return an empty text for an array."""
    return "" if _class(leaf) is np.ndarray else leaf_kind(leaf)


def shorten(text: str) -> str:
    """Return the text, or the beginning of a long one."""
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."


LIMIT = 256  # programs of one function; beyond it, those that were not used lately are evicted
MAX_FAST_PATHS = 8  # keys that a call is compared with before the lookup
_LOG = logging.getLogger("anyshape.trace")
_MADE_ANEW = "{}: the function {} is created at each call, and each one is traced: define it once, outside of the loop"
_MOST_WITH_OBJECTS = 16  # entries that keep objects, which are arguments
_MAX_COMPARED = 8  # entries that a miss is compared with to explain it
_MAX_REMEMBERED = 64  # evicted entries that explanations still mention
_MAX_STALE = 16  # entries of earlier captured state whose programs may serve again


class Call(NamedTuple):
    """Arguments of one call without static ones, the static ones, the leaves, and the key of the cache."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: dict[int | str, Any]
    raw: list[Any]
    arrays: list[Any]
    key: Key
    moved: tuple[str, ...] = ()  # last positional arguments, which were given by these keywords

    @property
    def home(self) -> tuple[Any, tuple[int, ...]]:
        """Library of the arrays, and the positions of arguments that are numbers beside them."""
        return self.key.library, tuple([i for i, x in enumerate(self.raw) if not of_library(x)])

    def leaves(self, name: str, names: Sequence[str]) -> Leaves:
        """Return the leaves that a trace starts from, each checked; `names` are the positional parameters."""
        paths, library = pytrees.leaf_paths(self.args, self.kwargs), self.key.library
        arrays = self.arrays if library is None else [library.example(x) if of_library(x) else x for x in self.arrays]
        checked = [pytrees.as_leaf(x, pytrees.named(path, names), name) for x, path in zip(arrays, paths, strict=True)]
        return Leaves(checked, [pytrees.scalar_kind(x) for x in self.raw], self.key.tree, paths, self.key.order)


class TracedCall(NamedTuple):
    """Trace for a call, with what the cache needs to know of it."""

    trace: Trace
    scope: Scope
    made_for: Arguments
    reasons: list[Reason]
    static_state: CapturedState | None


class CacheEntry:
    """Program in the cache.

    - `sizes` are the sizes of the call that it was traced for, `reasons` why no other entry served that call.
    - `reliance_log` holds the size queries of the trace.
    - `guards_hold` is a predicate of a call, None where there is nothing to check. The program serves a call if
      captured state is as it was, the predicate is true, and the run does not return GUARD_FAILED.
    - `static_state` is what static arguments reach, None if that cannot change.
    """

    __slots__ = (
        "_names", "calls", "detours", "guards_hold", "hits", "is_one_array", "key", "made_for", "number", "path",
        "program", "reasons", "reliance_log", "result", "sizes", "state", "static_state", "used", "visible",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        state: CapturedState | None,
        made_for: Arguments,
        number: int,
        sizes: Mapping[DimVar, int],
        reasons: Sequence[Reason],
        reliance_log: Sequence[Any] = (),
        static_state: CapturedState | None = None,
    ) -> None:
        self.static_state, self.program, self.state = static_state, program, state
        program.states = self.states
        self.path: tuple[Any, ...] = tuple([dict(node.params)["answer"] for node in decisions_of(program.trace.graph)])
        self.detours: Any = None  # to other paths that share a beginning with this one
        self.calls: int = 0  # which took this path, if it has decisions
        self.result: Callable[[Any], Any] = self._counted(program.result) if self.path else program.result
        self.is_one_array: bool = not self.path and program.trace.out_tree.is_leaf()  # which needs no structure
        self.guards_hold = program.accepts if program.needs_guard_check else None
        self.key, self.number, self.sizes, self.reasons = made_for.key, number, dict(sizes), tuple(reasons)
        self.made_for: Arguments = Arguments(made_for.key, (), made_for.static, made_for.names)  # references no array
        self.reliance_log: Sequence[Any] = reliance_log
        self._names: DisplayNames | None = None
        self.visible: frozenset[int] = _visible(program.trace, state)
        self.hits: int = 0  # since it was added, or since the last eviction; the cache adds them to its own
        self.used: bool = False  # by a call without a fast path, since then

    def _counted(self, result: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def count(outputs):
            self.calls += 1
            return result(outputs)

        return count

    def serves(self, leaves: Sequence[Any]) -> bool:
        """Return whether the program takes the leaves of a call of its key: a run may still leave its path."""
        static_holds = self.static_state is None or self.static_state.holds()
        return static_holds and self.program.accepts(*leaves)

    def timed(self, timers: Timers) -> CacheEntry:
        """Return an entry for the same calls whose runs record their times in `timers`."""
        program = self.program.timed(timers)
        made_for, static_state = self.made_for, self.static_state
        return CacheEntry(
            program, self.state, made_for, self.number, self.sizes, self.reasons, static_state=static_state
        )

    @property
    def names(self) -> DisplayNames:
        """Names of the sizes of the program in terms of the caller."""
        if self._names is None:
            self._names = DisplayNames(self.program.trace.labels, self.program.prologue.bindings)
        return self._names

    def is_stale(self) -> bool:
        """Return True if captured state has changed, so that the program serves no call any more."""
        return any(not state.holds() for state in self.states)

    def state_changes(self) -> list[Reason]:
        """List the changes of captured state."""
        changes = [change for state in self.states for change in state.changes()]
        return [Reason("name", change.label, *change.texts(), self.number) for change in changes]

    @property
    def key_to_remember(self) -> Key | None:
        """Key after an eviction, None if it keeps objects that are arguments."""
        return None if self.keeps_objects else self.key

    @property
    def keeps_objects(self) -> bool:
        """True if it keeps objects that are arguments."""
        root = None if self.static_state is None else self.static_state.function
        return isinstance(root, Roots) and bool(root.in_full)

    @property
    def states(self) -> list[CapturedState]:
        """States that the program depends on besides arguments: of the function, and of static arguments."""
        return [state for state in (self.state, self.static_state) if state is not None]

    def is_made_by(self, trace: Trace, visible: frozenset[int]) -> bool:
        """Return True if a trace gives this program: equal graphs, with constants that can never differ."""
        before, now = ([array for _, array in t.graph.constants] for t in (self.program.trace, trace))
        if len(before) != len(now):
            return False
        for a, b in zip(before, now, strict=True):
            is_private = id(a) not in self.visible and id(b) not in visible and a.base is None and b.base is None
            if a is not b and not (a.size > 0 and a.__array_interface__ == b.__array_interface__) and not is_private:
                return False
        return self.program.trace == trace  # which compares the values of constants

    def mismatches(self, call: Arguments) -> list[Reason]:
        """Explain why the program does not serve a call."""
        if call.key != self.key:
            return list(different_arguments(self.number, self.program, self.made_for, call))
        if self.is_stale():
            return self.state_changes()
        failed = list(failed_guard(self.number, self.program, self.names, self.sizes, call.arrays))
        failed += failed_layouts(self.number, self.program, call.arrays)
        return failed or list(self._other_answer(call))

    def _other_answer(self, call: Arguments) -> Iterator[Reason]:
        graph = self.program.trace.graph
        left = value_decisions.path_left(graph, call.arrays) if self.path else None
        if left is not None:
            node = decisions_of(graph)[left.turn]
            before, now = str(self.path[left.turn]), str(left.answer)
            yield Reason("decision", asked(node), before, now, self.number, node.where)


class EvictedEntry(NamedTuple):
    """Record of an entry that was evicted.

    `why` names the captured state that changed; it is "" beyond the limit. There `accepts`, `state` and its `version`
    tell whether the program would have served a call.
    """

    number: int
    reasons: tuple[Reason, ...]
    why: str
    key: Key | None
    accepts: Callable[..., bool] | None = None
    state: CapturedState | None = None
    version: int = 0

    def would_serve(self, call: Arguments) -> bool:
        """Return True if the program was right for a call and was evicted beyond the limit."""
        if self.accepts is None or call.key != self.key:
            return False
        if self.state is not None and (self.version != self.state.version or not self.state.holds()):
            return False
        return self.accepts(*call.arrays)


def _visible(trace: Trace, state: CapturedState | None) -> frozenset[int]:
    """Return the ids of the arrays of a graph that the function reaches, so that its user can change them."""
    return frozenset([id(a) for _, a in trace.graph.constants if state is not None and state.reaches(a)])


class FastPath(NamedTuple):
    """Generated function that serves calls of one key by its entries, without flattening, and these entries.

    It is called with the jitted function, the positional and the keyword arguments. The result is NO_MATCH for
    arguments of another key, and where no entry serves the call.
    """

    serve: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    entries: list[CacheEntry]


_SERVING = """
state_holds = owner._cache.state_holds
if state_holds is not None and not state_holds(): return NO_MATCH
for entry in entries:
    if entry.guards_hold is None or entry.guards_hold({leaves}):
        try:
            outputs = entry.program.run({leaves})
        except BaseException as error:
            return owner.after_error((args, kwargs), entry, [{leaves}], error)
        if outputs is not GUARD_FAILED:
            entry.hits += 1
            return outputs[0] if entry.is_one_array else entry.result(outputs)
return NO_MATCH
"""  # `owner` is the jitted function


def _no_path(owner, args: tuple[Any, ...], kwargs: dict[str, Any]):
    """Serve no call."""
    return NO_MATCH


class Cache:
    """Entries by key, oldest first; `fast_paths` are of the keys that were looked up last.

    `state` is what the function reads besides its arguments: every entry is for this state. `state_holds` tests it,
    and is None before the first trace.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.by_key: dict[Key, list[CacheEntry]] = {}
        self.fast_paths: tuple[FastPath, ...] = ()
        self.first_path: Callable[..., Any] = _no_path  # the first of these
        self.paths: dict[tuple[Key, tuple[str, ...]], FastPath | None] = {}  # also those that had to leave `fast_paths`
        self.state: CapturedState | None = None
        self.state_holds: Callable[[], bool] | None = None
        self.stale: deque[CacheEntry] = deque(maxlen=_MAX_STALE)
        self.said_anew: bool = False  # that a function among the arguments is made anew at each call
        self.added = self.traces = self.hits = self.evictions = self.revalidations = 0
        self.evicted: deque[EvictedEntry] = deque(maxlen=_MAX_REMEMBERED)
        self.said_full = False  # that paths of decisions on values are not kept any more
        self.received: dict[str, Any] = {}  # programs that came with the function from other processes, by digest

    def clear(self) -> None:
        """Remove every program, and reset the numbers."""
        Cache.__init__(self, self.limit)

    def entries(self) -> list[CacheEntry]:
        """Return every entry, oldest first."""
        return sorted([e for entries in list(self.by_key.values()) for e in list(entries)], key=lambda e: e.number)

    def find(self, key: Key, leaves: Sequence[Any]) -> CacheEntry | None:
        """Return an entry that serves a call, if there is one."""
        if self.state is not None:
            if not self.state.holds():
                return None
            self.state_holds = self.state.test()
        for entry in self.by_key.get(key, ()):
            if entry.serves(leaves):
                entry.used = True
                return entry
        return None

    def explain_miss(self, call: Arguments) -> list[Reason]:
        """Explain why no entry serves a call: by the entries of its key, else by the most similar entry."""
        if not self.said_anew and (call.static or pytrees.has_settings(call.key.tree)):
            self._warn_of_new_functions(call)
        evicted = [e for e in list(self.evicted) if e.would_serve(call)]
        if evicted:
            return [Reason("evicted", str(self.limit), "", "", evicted[-1].number)]
        if same_key := self.by_key.get(call.key, ()):
            return [reason for entry in same_key[-_MAX_COMPARED:] for reason in entry.mismatches(call)]
        others = [entry.mismatches(call) for entry in reversed(self.entries()[-_MAX_COMPARED:])]
        return min(others, key=distance, default=[])

    def _warn_of_new_functions(self, call: Arguments) -> None:
        """Say once that a function among the arguments is made anew at each call."""
        if name := call.function_made_anew([entry.made_for for entry in self.entries()[-_MAX_COMPARED:]]):
            self.said_anew = True
            function = self.state.name if self.state is not None else "a function"
            tell(_MADE_ANEW.format(function, name), RetraceWarning, user_line())

    def prefer(self, entry: CacheEntry) -> None:
        """Try an entry before the others of its key: the next call may take the same path."""
        entries = self.by_key.get(entry.key, [])
        if entry in entries[1:]:
            entries[:] = [entry, *[e for e in entries if e is not entry]]

    def _collect_hits(self, entry: CacheEntry) -> None:
        """Add the hits of an entry to the hits of the cache; it counts as unused from here on."""
        self.hits += entry.hits
        entry.hits, entry.used = 0, False

    def add_fast_path(self, key: Key, moved: tuple[str, ...] = ()) -> None:
        """Add the fast path of a key in front, if the key has a reader and no fast path yet.

        The last positional arguments are given by keywords, which are `moved`.
        """
        entries = self.by_key.get(key)
        path = self.paths.get((key, moved), ...)
        if entries is None or any(other is path for other in self.fast_paths):
            return
        if path is ...:
            names = {"entries": entries, "GUARD_FAILED": GUARD_FAILED}
            tree = pytrees.by_keyword(key.tree, moved) if moved else key.tree
            serve = matcher(tree, key.leaves, key.order, _SERVING.strip().splitlines(), names, key.library)
            path = self.paths[key, moved] = None if serve is None else FastPath(serve, entries)
        if path is not None:
            self._take_fast_paths((path, *self.fast_paths[: MAX_FAST_PATHS - 1]))

    def forget_fast_paths(self) -> None:
        """Look up the next calls in full."""
        self._take_fast_paths(())

    def _take_fast_paths(self, paths: tuple[FastPath, ...]) -> None:
        self.fast_paths = paths
        self.first_path = paths[0].serve if paths else _no_path

    def add(self, entry: CacheEntry, traced: bool = True) -> None:
        """Add an entry, and evict entries beyond the limit."""
        self.added += 1
        self.traces += traced
        self._keep(entry)

    def _keep(self, entry: CacheEntry) -> None:
        self.by_key.setdefault(entry.key, []).append(entry)
        while len(every := self.entries()) > self.limit:
            self._evict(next((e for e in every[:-1] if not (e.used or e.hits)), every[0]))
        if len(keeping := [e for e in every if e.keeps_objects]) > _MOST_WITH_OBJECTS:
            self._evict(keeping[0])

    # -- captured state

    @contextmanager
    def tracing(self, state: CapturedState, static_state: CapturedState | None = None) -> Iterator[list[Watch]]:
        """Trace for the captured state as it is now, and compare later calls with what it is afterwards.

        Yields snapshots of what the function and static arguments reach.
        """
        state = self.settle(state)
        try:
            with state.tracing() as own, nullcontext() if static_state is None else static_state.tracing() as others:
                yield [own] if others is None else [own, others]
        finally:
            self.state_holds = state.test()

    def compare_in_full(self, trace: Trace, notes: Notes, apart: Collection[CodeType]) -> None:
        """Compare large arrays by content that the function reaches, unless they are operands of a program alone."""
        state = self.state
        if state is not None and state.watch is not None:
            constants = [a for _, a in trace.graph.constants]
            state.compare_in_full(operand_uses.arrays_that_python_reads(state.watch, constants, notes, apart))
            self.state_holds = state.test()

    def settle(self, state: CapturedState) -> CapturedState:
        """Return the captured state, `state` if there was none yet; evict entries of an earlier one."""
        if self.state is None:
            self.state = state
        self.evict_stale()
        return self.state

    def evict_stale(self) -> None:
        """Evict entries whose captured state has changed; for a while their programs can be restored."""
        stale = [entry for entry in self.entries() if entry.is_stale()]
        for entry in stale:
            changes = "; ".join(map(str, entry.state_changes()))
            self.evicted.append(EvictedEntry(entry.number, entry.reasons, changes, entry.key_to_remember))
            self.by_key[entry.key].remove(entry)
            if not self.by_key[entry.key] and entry.keeps_objects:
                del self.by_key[entry.key]  # no fast path has it
            self._collect_hits(entry)
        self.stale += stale
        if self.state is not None and not self.state.holds():
            self.state.renew()

    def restore(
        self, key: Key, trace: Trace, reasons: Sequence[Reason], static_state: CapturedState | None = None
    ) -> CacheEntry | None:
        """Take back the entry of an earlier state whose program a new trace makes again, if there is one."""
        visible = _visible(trace, self.state)
        entry = next((e for e in self.stale if e.key == key and e.is_made_by(trace, visible)), None)
        if entry is not None:
            self.stale.remove(entry)
            entry.reasons, entry.static_state = tuple(reasons), static_state
            entry.program.states = entry.states
            evicted = [e for e in self.evicted if e.number != entry.number]
            self.evicted = deque(evicted, maxlen=_MAX_REMEMBERED)
            self._keep(entry)
            self.revalidations += 1
        return entry

    # -- evictions

    def _evict(self, entry: CacheEntry) -> None:
        """Evict one entry; the others count as unused from here on."""
        self.evictions += 1
        accepts, state = entry.program.accepts, entry.state
        version = 0 if state is None else state.version
        key = entry.key_to_remember
        self.evicted.append(EvictedEntry(entry.number, entry.reasons, "", key, accepts, state, version))
        entries = self.by_key[entry.key]
        entries.remove(entry)
        if not entries:
            del self.by_key[entry.key]
            self._take_fast_paths(tuple([path for path in self.fast_paths if path.entries is not entries]))
            self.paths = {key: path for key, path in self.paths.items() if key[0] != entry.key}
        for other in (entry, *self.entries()):
            self._collect_hits(other)

    def evict_paths(self, key: Key, most: int) -> bool:
        """Evict the programs of paths for a key if there are more than so many; return whether there were."""
        paths = [entry for entry in self.by_key.get(key, ()) if entry.path]
        if len(paths) <= most:
            return False
        for entry in paths:
            self._evict(entry)
        return True

    def info(self) -> CacheInfo:
        """Return the numbers of traces, hits, entries and evictions, and the limit."""
        entries = self.entries()
        hits = self.hits + sum(entry.hits for entry in entries)
        return CacheInfo(self.traces, hits, len(entries), self.evictions, self.limit)
