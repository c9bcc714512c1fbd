"""Path of a call: read the leaves, look up the key (never sizes), check the guards, trace if need be, run."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import logging
import pickle
import types
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape import errors
from anyshape.backend.runtime.config import RUN_BY, compile_mode, config
from anyshape.backend.runtime.outcome import going_on
from anyshape.graph.ir.builder import active_builders, tracing_threads
from anyshape.graph.ir.op_local import may_refuse
from anyshape.graph.ir.operand_sites import Notes, noting
from anyshape.graph.ir.tracebacks import short_traceback, shorten_traceback
from anyshape.graph.prover.scope import Scope
from anyshape.inspect.explanation import CacheInfo, Explanation
from anyshape.ops.subgraph_call import calls_with_lists
from anyshape.program.pytree_codegen import NO_MATCH
from anyshape.support import elsewhere
from anyshape.support.fork_lock import Lock, restores_thread
from anyshape.support.lazy_dataclass import replace
from anyshape.support.packages import less_memory, libraries, paths, rebound, sent_programs, traced_program
from anyshape.support.true_types import of_library
from anyshape.tracing import object_arguments, pytrees
from anyshape.tracing.captured.closures import MEMO, DepartedError
from anyshape.tracing.captured.containers import Roots
from anyshape.tracing.captured.watch import CapturedState
from anyshape.tracing.draws import drawing_later, noting_reads, refuse_draws
from anyshape.tracing.source.read import Loops, as_read, retried
from anyshape.tracing.source.stepping import stepped_over
from anyshape.tracing.trace import Leaves, Trace, active_builder, is_one_of_several, raise_first, trace_call
from anyshape.transforms.arguments.options import Options, with_static
from anyshape.transforms.caching import cache as caching
from anyshape.transforms.caching.cache import Arguments, Cache, CacheEntry, Call, Key, TracedCall, leaf_key
from anyshape.transforms.function_pickle import StoredMethod, bind_method, is_packing, name_in_module, reduce_function

if TYPE_CHECKING:
    from anyshape.backend.compiler.codegen.timers import Timers

_LOG = logging.getLogger("anyshape.trace")
LISTENERS: list[Callable[[Any, CacheEntry], None]] = []  # of reports of runs, called with each new program
_OFTEN = 2  # changes of captured state after which its values become arguments, if they can
MOST_PATHS = 8  # by decisions on values, up to which each has a program of its own
_MOST_JOINS = 4  # times that one function shares programs with others, until it has its own for ever


class Jitted:
    """Function that is traced once per structure, dtypes and ranks of its arguments, and runs at every size.

    Called while another function is traced, it becomes part of that trace.

    - `recipe` is a function with its arguments and options that makes this object again; it pickles by it.
    - `method(instance)` returns the function that takes the place of `function` for a bound method, or None if the
      instance is an argument like others.
    - `bound_from` is the pair of the method and the object that this one is bound to, if it is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        like: Callable[..., Any] | None = None,
        options: Options | None = None,
        recipe: tuple[Any, ...] = (),
        method: Callable[[Any], Callable[..., Any] | None] | None = None,
        bound_from: tuple[Jitted, Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function if like is None else like, updated=())
        self.__wrapped__: Callable[..., Any] = function if like is None else like
        self.__name__: str = name if name is not None else pytrees.function_name(function)
        self.function = function
        self.name: str = name if name is not None else pytrees.function_name(function)
        self.options: Options = options if options is not None else Options()
        self._bound_from = bound_from
        self._bound_to_classes: dict[type, StoredMethod] = {}
        self.order = pytrees.visible_order(self.__wrapped__)
        self._key = f"<jitted {self.__module__}.{getattr(self, '__qualname__', self.name)}>"
        self.recipe, self._method = recipe, method
        self._cache = Cache()
        self._lock = Lock()
        # the innermost function that it was made of, and a key of how; None if it always has programs of its own
        self.origin: Any = None
        # what has it use programs that the function holds, for all that is made of it in the same way
        self.use_programs: Callable[[Jitted], None] | None = None
        self._shared: Any = None  # what says which function has the programs
        self._object_calls: Any = None  # with objects among the arguments, which share programs too
        self._joins = _MOST_JOINS
        self.with_slots: dict[int, Jitted] = {}  # traced with so many checkpoint slots, for calls beyond max_bytes
        self.is_final = False  # whether a call beyond max_bytes is not traced again
        self.rebinding: rebound.Rebinding | None = None  # names that are arguments and results
        self.may_rebind = False
        # number of positional arguments from which on further ones may be given by keyword alike, None if it matters
        self.positional_from: int | None = None
        self._parameters: tuple[str, ...] | None = None  # that are given in both ways
        self._tables_stay = False  # whether the function needs tables as they are, not as arrays
        self.loops: Loops | None = None  # that its traces met
        # serves calls in which results of vmap differ in size, and whether the last call was one
        self.on_ragged: Callable[..., Any] | None = None
        self.is_ragged = False
        self.lists: Any = None  # serves calls with lists of arrays that the function reads as examples
        self._plain: Jitted | None = None  # the function, for one whose pickles carry its programs

    # -- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        member = None
        try:
            if tracing_threads:
                return self._call_while_tracing(args, kwargs)
            if self.rebinding is not None:
                return self._call_rebinding(self.rebinding, args, kwargs)
            member = self._shared
            if member is not None:
                return self._call_shared(member, args, kwargs)
            result = self._cache.first_path(self, args, kwargs)
            return result if result is not NO_MATCH else self._call_other(args, kwargs)
        except rebound.NamesRebound as signal:
            self._rebind(signal)
        except DepartedError as departure:
            if member is None:  # this is the function that others share
                raise
            self._leave(departure)
        except Exception as error:
            if isinstance(error, (errors.RaggedBatchError, errors.DecisionError)) and not active_builders():
                with going_on(error):
                    return calls_with_lists().of_unequal(self, args, kwargs, error)
            shorten_traceback(error)
            raise
        return self(*args, **kwargs)

    def _call_rebinding(self, rebinding: rebound.Rebinding, args: tuple[Any, ...], kwargs: dict[str, Any]):
        """Call the function with the names that it rebinds as arguments, and write what it gives them."""
        kwargs = rebinding.arguments(kwargs)
        result = self._cache.first_path(self, args, kwargs)
        return rebinding.written(result if result is not NO_MATCH else self._call_other(args, kwargs))

    def _rebind(self, signal: rebound.NamesRebound) -> None:
        """Have names as further arguments and results from here on."""
        with self._lock:
            self.rebinding = (
                self.rebinding.joined(signal) if self.rebinding else rebound.Rebinding(self.function, signal)
            )
            self.function = self.rebinding.traced
            self._cache.clear()

    def may_join(self) -> bool:
        """Return whether it has no programs yet, or what it reads changes again and again."""
        state = self._cache.state
        if state is None:
            return not self._cache.received
        return state.version >= _OFTEN and not state.holds()

    def _join(self) -> bool:
        """Share the programs of functions of the same code, if there are such; return whether a fast path may serve."""
        self._joins -= 1
        if self.origin is None or self.rebinding is not None:
            return False
        before = self._cache
        is_new = self._cache.state is None and not self._find_programs()
        if self._cache.state is not None or not caching.is_first_of_code(self):
            self._shared = caching.shared_programs().membership(self) if self.may_join() else None
        if is_new and self._shared is None and self.use_programs is not None:
            self.use_programs(self)
        return self._shared is not None or (self._cache is not before and bool(self._cache.fast_paths))

    def _joins_others(self) -> bool:
        return bool(self._joins) and self.may_join() and self._join()

    def _find_programs(self) -> bool:
        """Use programs that the function holds; return whether there are such."""
        if self.use_programs is None or MEMO not in getattr(self.origin[0], "__dict__", ()):
            return False
        self.use_programs(self)
        return True

    def _call_shared(self, member: Any, args: tuple[Any, ...], kwargs: dict[str, Any]):
        """Call the function that has the programs, and count whether it needed a trace for that."""
        shared, others = member.of_call(kwargs)
        cache = shared._cache
        before = cache.traces
        result = shared(*args, **others)
        member.calls += 1
        member.traces += cache.traces != before
        return result

    def _leave(self, departure: DepartedError) -> None:
        """Have programs of its own from here on, unless it may join others again."""
        self._shared = None
        if not departure.has_other_structure:
            self._joins = 0

    def _with_objects(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], use: Callable[[Jitted, Any, Any], Any]
    ) -> tuple[Any] | None:
        """Return what `use` gives for the function and the arguments that serve a call with objects as arguments.

        Return None if there are none, or if no shared program serves it.
        """
        if self.origin is None or not any(map(object_arguments.are_kept, (*args, *kwargs.values()))):
            return None
        args, kwargs, _ = self._by_position(args, kwargs)
        if self._object_calls is None:
            self._object_calls = caching.shared_programs().ObjectCalls(self)
        for _ in range(_MOST_JOINS):
            if (served := self._object_calls.of_call(args, kwargs)) is None:
                return None
            before = served[0]._cache.traces
            try:
                result = use(*served)
            except DepartedError as departure:
                if not departure.has_other_structure:
                    return None
                continue
            self._object_calls.calls += 1
            self._object_calls.traces += served[0]._cache.traces != before
            return (result,)
        return None

    def _call_other(self, args: tuple[Any, ...], kwargs: dict[str, Any]):
        """Serve a call that the first fast path does not."""
        for serve, _ in self._cache.fast_paths[1:]:
            if (result := serve(self, args, kwargs)) is not NO_MATCH:
                return result
        if self.is_ragged:
            return calls_with_lists().of_unequal(self, args, kwargs)
        if self.lists is not None:
            return self.lists.call(args, kwargs, self._call_general)
        return self._call_general(args, kwargs)

    def _call_while_tracing(self, args: tuple[Any, ...], kwargs: dict[str, Any]):
        """Run the function itself, so that it becomes part of the active trace; call it where another thread traces."""
        rebinding = self.rebinding
        if not active_builders():
            return (
                self._call_general(args, kwargs) if rebinding is None else self._call_rebinding(rebinding, args, kwargs)
            )
        function = self.function if rebinding is None else rebinding.function
        run = function if self.options.read_source == "off" else as_read(function)
        if self.options.shapes is None:
            return run(*args, **kwargs)
        with active_builder().scope.keep_dynamic(self.options.shapes.require(args, kwargs, self.__wrapped__)):
            return run(*args, **kwargs)

    def after_error(self, call: tuple[Any, Any], entry: CacheEntry, leaves: Sequence[Any], error: BaseException) -> Any:
        """Return the result of a call that left the path of its program; raise any other error."""
        if entry.path and not isinstance(error, errors.MemoryLimitError):
            return paths.leave(self, functools.partial(self._read, *call), entry, leaves, error)
        entry.hits += 1
        if isinstance(error, errors.MemoryLimitError):
            return less_memory.call_with_slots(self, *call, error)
        if isinstance(error, errors.SizeMismatchError):
            return self.unless_caught(self._read(*call), error)
        raise error

    def unless_caught(self, call: Call, error: errors.SizeMismatchError) -> Any:
        """Return the result of a call whose sizes a program refuses, if the function catches that; raise it again."""
        with going_on(error):
            return self._unless_caught(call, error)

    def _unless_caught(self, call: Call, error: errors.SizeMismatchError) -> Any:
        try:
            with self._lock:
                traced = self._traced(call)
                if any(entry.program.trace == traced.trace for entry in self._cache.by_key.get(call.key, ())):
                    raise error
                entry = self._add(call, traced)
        except errors.AnyshapeError:
            raise error from None
        self._cache.prefer(entry)
        return paths.follow(self, call, entry) if entry.path else entry.program.call_flat(call.arrays)

    @stepped_over
    def _call_general(self, args: tuple[Any, ...], kwargs: dict[str, Any]):
        """Serve a call that has no fast path: of any structure, with everything that an array can be made of."""
        shared = self._with_objects(args, kwargs, lambda jitted, others, named: jitted(*others, **named))
        if shared is not None:
            return shared[0]
        if self._joins_others() or self._finds_lists(args, kwargs):
            return self(*args, **kwargs)
        call, entry, traced = self._served(args, kwargs)
        if not traced:
            self._cache.hits += 1
            if not self.options.static and not call.static:
                self._cache.add_fast_path(call.key, call.moved)
        try:
            return paths.follow(self, call, entry) if entry.path else entry.program.call_flat(call.arrays)
        except errors.MemoryLimitError as error:
            return less_memory.call_with_slots(self, args, kwargs, error)
        except errors.SizeMismatchError as error:
            if traced:
                raise
            return self.unless_caught(call, error)

    def _finds_lists(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether lists of this call, for the first time, are such that the function reads as examples alone."""
        if self.lists is not None or not any(map(_holds_list, (*args, *kwargs.values()))):
            return False
        self.lists = calls_with_lists().recognised(self, args, kwargs)
        return self.lists is not None

    def _read(self, args: tuple[Any, ...], kwargs: dict[str, Any], tables_stay: bool = False) -> Call:
        """Return the leaves of the arguments as arrays, with their key."""
        args, kwargs, moved = self._by_position(args, kwargs)
        is_kept = functools.partial(object_arguments.is_kept, tables_stay=tables_stay or self._tables_stay)
        args, kwargs, static = self.options.static.split(args, kwargs, is_kept)
        kwargs = pytrees.in_order(kwargs, self.order)
        raw, tree = pytrees.flatten((args, kwargs), self.name)
        if any(map(is_kept, raw)):
            args, kwargs = object_arguments.with_objects(tree, raw, tables_stay or self._tables_stay)
            raw, tree = pytrees.flatten((args, kwargs))
        arrays = raw
        kinds: list[tuple[Any, ...]] = []
        library = None
        for i, x in enumerate(raw):
            if type(x) is np.ndarray:
                kinds.append((x.dtype, x.ndim) if x.ndim else leaf_key(x))
                continue
            if of_library(x) and libraries.kind_of(x) is not None:
                library = library or self._library(raw, args, kwargs)
                kinds.append(libraries.leaf_kind(x))
                continue
            if arrays is raw:
                arrays = [*raw]
            arrays[i] = array = self._leaf(x, i, args, kwargs)
            kinds.append(leaf_key(array, pytrees.scalar_kind(x)))
        frozen = self.options.static.key(static) if static else ()
        key = Key(tree, frozen, tuple(kinds), pytrees.frozen_keys(tree), self.order, library)
        return Call(args, kwargs, static, raw, arrays, key, moved)

    def _by_position(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[str, ...]]:
        """Return arguments with those by position that follow by keyword, and the names of these.

        So calls in both ways share a program. The order of keywords stays where the function sees it.
        """
        count = len(args)
        if not kwargs or self.positional_from is None or count < self.positional_from:
            return args, kwargs, ()
        if self._parameters is None:
            self._parameters = pytrees.parameters_by_either(self.__wrapped__)
        moved = tuple(itertools.takewhile(kwargs.__contains__, self._parameters[count:]))
        if not moved or (self.order is pytrees.Order.ALL and (*kwargs,)[: len(moved)] != moved):
            return args, kwargs, ()
        others = {name: x for name, x in kwargs.items() if name not in moved}
        return (*args, *[kwargs[name] for name in moved]), others, moved

    def _library(self, raw: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the library of the arrays among the leaves; raise ArgumentError where they are of several."""
        if self.options.max_bytes is not None:
            advice = "drop max_bytes, or pass arrays of NumPy"
            raise errors.ArgumentError(self.name, "max_bytes", "counts memory of NumPy alone", advice)
        names = pytrees.parameter_names(self)
        paths = [pytrees.named(path, names) for path in pytrees.leaf_paths(args, kwargs)]
        return libraries.common_library(list(zip(paths, raw, strict=True)), self.name)

    def _leaf(self, x, i: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> np.ndarray:
        """Return leaf i of the arguments as an array; an error names its path."""
        try:
            return pytrees.as_leaf(x, "", self.name)
        except errors.ArgumentError:
            path = pytrees.named(pytrees.leaf_paths(args, kwargs)[i], pytrees.parameter_names(self))
        return pytrees.as_leaf(x, path, self.name)

    def leaves(self, *args: Any, **kwargs: Any) -> Leaves:
        """Return the leaves that a trace for these arguments starts from."""
        if self.lists is not None or self._finds_lists(args, kwargs):
            args, kwargs = self.lists.converted(args, kwargs) or (args, kwargs)
        return self._read(args, kwargs).leaves(self.name, pytrees.parameter_names(self))

    # -- traces

    def _served(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], on_path: bool = False
    ) -> tuple[Call, CacheEntry, bool]:
        """Return a call with an entry that serves it, and whether that was traced for it.

        Tables are arrays, unless the function needs them as they are.
        """
        call = self._read(args, kwargs)
        try:
            return call, *self._entry_for(call, on_path)
        except (rebound.NamesRebound, DepartedError):
            raise
        except Exception as error:
            if self._tables_stay or not any(map(object_arguments.is_table, call.raw)):
                raise
            try:
                call = self._read(args, kwargs, tables_stay=True)
                served = call, *self._entry_for(call, on_path)
            except Exception:
                raise error from None
        self._tables_stay = True
        return served

    def _entry_for(self, call: Call, on_path: bool = False) -> tuple[CacheEntry, bool]:
        """Return an entry that serves the call, and whether it was traced for it.

        A run of it may leave its path, unless that is to be the path of the call.
        """
        if (entry := self._find(call, on_path)) is not None:
            return entry, False
        with self._lock:
            entry = self._find(call, on_path)  # another thread may have traced it meanwhile
            entry = self._received(call, on_path) if entry is None else entry
            return (self._trace(call), True) if entry is None else (entry, False)

    def _find(self, call: Call, on_path: bool) -> CacheEntry | None:
        entry = self._cache.find(call.key, call.arrays)
        return paths.on_path(self._cache, call, entry) if on_path and entry is not None and entry.path else entry

    def _received(self, call: Call, on_path: bool) -> CacheEntry | None:
        """Return an entry for a program that came with the function, None if none serves the call."""
        if not self._cache.received:
            return None
        made_for = Arguments(call.key, call.arrays, call.static, pytrees.parameter_names(self))
        state = self._new_state()
        key = self.options.static.key
        return sent_programs.received_entry(self._cache, made_for, state, key, self._program, on_path)

    def _program(self, trace: Trace) -> traced_program.Program:
        """Return the program of a trace."""
        return traced_program.Program(trace, self.options.max_bytes, self.options.optimize, self.options.compile)

    def _trace(self, call: Call) -> CacheEntry:
        """Trace a program for the call and add it to the cache; nothing is added after an error."""
        return self._add(call, self._traced(call))

    def _add(self, call: Call, traced: TracedCall) -> CacheEntry:
        """Add the program of a trace to the cache.

        An exception of the function is raised after what lines before it check. Its path is kept if it may be another
        call's, and if the exception is then the same.
        """
        started, number = perf_counter(), self._cache.added + 1
        trace, scope, made_for, reasons, static_state = traced
        raised = trace.raised
        if raised is not None and (raised.error is None or not is_one_of_several(trace.graph)):
            raise_first(self._program(trace).run if may_refuse(trace.graph) else None, raised, call.arrays)
        if (restored := self._cache.restore(call.key, trace, reasons, static_state)) is not None:
            _LOG.debug("%s: program %d is used again: the new trace equals it", self.name, restored.number)
            return restored
        program, sizes, state = self._program(trace), scope.hints or {}, self._cache.state
        entry = CacheEntry(program, state, made_for, number, sizes, reasons, scope.reliance_log, static_state)
        self._cache.add(entry)
        for listener in LISTENERS:
            listener(self, entry)
        if raised is not None:
            raise_first(program.run, raised, call.arrays)
        _LOG.debug("%s: program %d took %.1f ms", self.name, number, 1e3 * (perf_counter() - started))
        return entry

    def _new_state(self) -> CapturedState:
        """Return the state that the function reads besides its arguments, and names that are arguments."""
        if self.rebinding is None:
            return CapturedState(self.__wrapped__, self.name)
        return CapturedState(Roots({"": self.__wrapped__}, self.rebinding.identities), self.name)

    @restores_thread
    def _traced(self, call: Call) -> TracedCall:
        """Trace the function for a call."""
        names = pytrees.parameter_names(self)
        leaves = call.leaves(self.name, names)
        state, rebinding = self._cache.state or self._new_state(), self.rebinding
        if rebinding is not None and not rebinding.is_in(call.kwargs):
            raise rebound.NamesRebound((), [])  # another thread found them while this call was read
        shapes, function = self.options.shapes, with_static(self.function, call.static)

        def traced() -> tuple[Trace, Scope]:
            prepared = None if shapes is None else shapes.prepare(leaves, names, self.__wrapped__)
            with noting(notes):
                return trace_call(function, self.name, leaves, names, prepared, shapes is not None and shapes.strict)

        made_for = Arguments(call.key, leaves.arrays, call.static, names)
        static_state = made_for.static_state(state)
        reasons = self._cache.explain_miss(made_for)
        loops, notes = self._loops_of(call.key), Notes({})
        _LOG.debug("%s: program %d is needed; %s", self.name, self._cache.added + 1, caching.ReasonList(reasons))

        def read() -> tuple[Trace, Scope]:
            tracing = self._cache.tracing(state, static_state)
            with tracing as watches, drawing_later(watches), noting_reads(self.name, watches):
                once = lambda: refuse_draws(self.name, traced, [thing for w in watches for thing in w.things])
                result: tuple[Trace, Scope] = rebound.traced_once(watches, once, is_jit=self.may_rebind)
            return result

        is_off = (self.options.read_source or config.read_source) == "off"
        with self._running_loops(call):
            trace, scope = read() if is_off else retried(read, loops)
        self._cache.compare_in_full(trace, notes, loops.apart)
        trace = trace if call.key.library is None else replace(trace, home=call.home)
        return TracedCall(trace, scope, made_for, reasons, static_state)

    @contextlib.contextmanager
    def _running_loops(self, call: Call) -> Iterator[None]:
        """Say in the block when loops of a trace become machine code."""
        limit, library = self.options.max_bytes, call.key.library
        token = RUN_BY.set("library" if library else "limit" if limit else compile_mode(self.options.compile))
        try:
            yield
        finally:
            RUN_BY.reset(token)

    def _loops_of(self, key: Key) -> Loops:
        """Return what is known of loops; where paths are many, programs hold choices on values from now on."""
        loops = self.loops
        if loops is None:
            loops = self.loops = Loops()
        elif not loops.choosing and self._cache.evict_paths(key, MOST_PATHS):
            loops.choosing = True
        return loops

    def _prepared(self, args, kwargs, on_path: bool = False) -> tuple[Call, CacheEntry, bool]:
        """Return a call with its entry, and whether that was traced for it."""
        use = lambda jitted, others, named: jitted._prepared(others, named, on_path)
        if (shared := self._with_objects(args, kwargs, use)) is not None:
            return shared[0]
        return self._prepared_alone(args, kwargs, on_path)

    def _prepared_alone(self, args, kwargs, on_path: bool = False) -> tuple[Call, CacheEntry, bool]:
        self._joins_others()
        member = self._shared
        if member is not None:
            try:
                shared, others = member.of_call(kwargs)
                return shared._prepared(args, others, on_path)
            except DepartedError as departure:
                self._leave(departure)
        if self.lists is not None or self._finds_lists(args, kwargs):
            plain = functools.partial(self._prepared_own, on_path=on_path)
            use = lambda inner, others, named: inner._prepared_own(others, named, on_path)
            return self.lists.tried(args, kwargs, use, plain)
        return self._prepared_own(args, kwargs, on_path)

    def _prepared_own(self, args, kwargs, on_path: bool) -> tuple[Call, CacheEntry, bool]:
        try:
            return self._served(args, kwargs if self.rebinding is None else self.rebinding.arguments(kwargs), on_path)
        except rebound.NamesRebound as signal:
            self._rebind(signal)
        return self._prepared(args, kwargs, on_path)

    def optimise_for(self, *args: Any, **kwargs: Any) -> None:
        """Make the optimised plan for these arguments now; a missing program is traced."""
        call, entry, _ = self._prepared(args, kwargs, on_path=True)
        entry.program.optimise_flat(call.arrays)

    def prepare(self, *args: Any, **kwargs: Any) -> bool:
        """Trace the program for these arguments if it is missing; return whether other sizes may need another one."""
        _, entry, _ = self._prepared(args, kwargs)
        return bool(entry.path or entry.program.guards or entry.program.trace.layouts)

    def entry_for(self, *args: Any, **kwargs: Any) -> tuple[Sequence[Any], CacheEntry]:
        """Return the leaves of the arguments as arrays, and the entry of their program; a missing one is traced."""
        call, entry, _ = self._prepared(args, kwargs)
        return call.arrays, entry

    def timed(self, timers: Timers, *args: Any, **kwargs: Any) -> Jitted:
        """Return a copy with only the program for these arguments, whose runs record their times in `timers`."""
        self._leave(DepartedError())
        _, entry, _ = self._prepared_alone(args, kwargs, on_path=True)
        timed = Jitted(self.function, self.name, self.__wrapped__, self.options)
        timed.rebinding, timed.may_rebind, timed.positional_from = self.rebinding, self.may_rebind, self.positional_from
        timed._cache.state, timed._cache.state_holds = self._cache.state, self._cache.state_holds
        timed._cache.add(entry.timed(timers))
        timed.lists = None if self.lists is None else self.lists.of(timed)
        return timed

    @property
    def own_programs(self) -> tuple[Cache, Lock]:
        """Cache of its own programs, and the lock."""
        return self._cache, self._lock

    @property
    def state(self) -> CapturedState | None:
        """State that the function reads besides its arguments, None before the first trace."""
        return self._cache.state

    def use_cache(self, cache: Cache, lock: Lock) -> None:
        """Have one cache with other jitted functions that do the same."""
        self._cache, self._lock = cache, lock

    # -- the cache

    @property
    def _used(self) -> Cache:
        """Cache that the latest call used: its own, or one that functions of the same code share."""
        member = self._shared
        if self._object_calls is not None and self._object_calls.latest is not None:
            return self._object_calls.latest._cache
        if member is None and self._cache.state is None:
            self._find_programs()
        return self._cache if member is None else member.jitted._cache

    def programs(self) -> list[traced_program.Program]:
        """Return every program in the cache, oldest first."""
        return [e.program for e in self._used.entries()]

    def cache_info(self) -> CacheInfo:
        """Return the numbers of traces, of calls that needed none, of programs kept and evicted, and the limit.

        Traces and calls are of this function, programs those that it shares with functions of the same code.
        """
        info = self._used.info()
        counted = [x for x in (self._shared, self._object_calls) if x is not None]
        if not counted:
            return info
        own = self._cache if self._shared is None else Cache()
        traces = sum(x.traces for x in counted)
        calls = sum(x.calls for x in counted)
        return info._replace(traces=own.traces + traces, hits=own.info().hits + calls - traces)

    def explain(self) -> Explanation:
        """Explain the programs in the cache: sizes, conditions, why each was traced, and when another will be."""
        return replace(paths.explain_cache(self.name, self._used), as_written=self._as_written())

    @short_traceback
    def explain_call(self, *args: Any, **kwargs: Any) -> Explanation:
        """Explain the cache and the program for these arguments, which is traced if it is missing and not run."""
        call, entry, traced = self._prepared(args, kwargs, on_path=True)
        explanation = paths.explain_entry(self.name, self._used, entry, call.arrays, traced)
        return replace(explanation, as_written=self._as_written())

    def _as_written(self) -> tuple[str, ...]:
        """Return loops that stay as they are written, each with the reason, and the layouts of batches."""
        return () if (loops := self._known_loops()) is None else loops.refusals()

    def layouts(self) -> tuple[str, ...]:
        """Return the layouts of batches whose examples differ in size, each with the reason."""
        return () if (loops := self._known_loops()) is None else (*loops.layouts,)

    def _known_loops(self) -> Loops | None:
        return self.loops if self.loops is not None else getattr(self._shared, "jitted", self).loops

    def clear_cache(self) -> None:
        """Remove every program and reset the numbers."""
        with self._lock:
            self._used.clear()

    # -- methods

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the class attribute as key: a class may hold several that were made from one method."""
        self._key = f"<jitted {owner.__module__}.{owner.__qualname__}.{name}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Jitted:
        """Return the jitted method of an object, which watches the attributes of the object and is stored in it.

        A copy of an object gets a jitted function of its own.
        """
        if instance is None:
            return self
        methods, key = self._methods_of(instance)
        stored = methods.get(key)
        if stored is None or not stored.method._is_bound(self, instance):
            with self._lock:
                stored = methods.get(key)
                if stored is None or not stored.method._is_bound(self, instance):
                    stored = methods[key] = StoredMethod(self.bound_to(instance))
        return stored.method

    def _is_bound(self, method: Jitted, instance) -> bool:
        return self._bound_from is not None and self._bound_from[0] is method and self._bound_from[1] is instance

    def _methods_of(self, instance) -> tuple[dict[Any, Any], Any]:
        """Return the dict that stores the jitted method of an object, and its key; by name it might be hidden."""
        if isinstance(instance, type):
            return self._bound_to_classes, instance
        try:
            return instance.__dict__, self._key
        except AttributeError:
            problem = f"has no __dict__, in which {self.name} would keep its programs"
            advice = "add '__dict__' to its __slots__, or jit a function that is given what it reads"
            raise errors.ArgumentError(self.name, f"an object of {type(instance).__name__}", problem, advice) from None

    def bound_to(self, instance: Any) -> Jitted:
        """Return a jitted method of one object, which pickles and copies by the method and the object."""
        function = None if self._method is None else self._method(instance)
        function = bind(self.function, instance) if function is None else function
        like = types.MethodType(self.__wrapped__, instance)
        recipe: tuple[Any, ...] = (bind_method, (self, instance), {})
        method = Jitted(function, self.name, like, self.options.bound(), recipe, bound_from=(self, instance))
        method.may_rebind, method.positional_from = self.may_rebind, self.positional_from
        return method if self._plain is None else method.with_programs()

    # -- representation, copies and pickles

    def with_programs(self) -> Jitted:
        """Return this function such that its pickles carry the programs that it has by then.

        A process that unpickles it has the function as ever, and traces nothing for calls that these programs serve.
        A program serves only where all that the function reads besides its arguments is equal.
        """
        plain = self if self._plain is None else self._plain
        function = Jitted(plain.function, plain.name, plain.__wrapped__, plain.options, plain.recipe, plain._method)
        function._cache, function._lock, function._bound_from = plain._cache, plain._lock, plain._bound_from
        function.rebinding, function.may_rebind, function._plain = plain.rebinding, plain.may_rebind, plain
        function.positional_from = plain.positional_from
        return function

    def __repr__(self) -> str:
        return f"<jitted {self.name}>"

    def __copy__(self) -> Jitted:
        """Return the object itself, as for any function."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted:
        """Return the object itself, as for any function; for a bound method, that of the copied object."""
        if self._bound_from is None:
            return self
        method, instance = self._bound_from
        return method.__get__(copy.deepcopy(instance, memo))

    @short_traceback
    def __reduce__(self) -> Any:
        """Pickle by name where a module has it, else by a digest and what makes it again.

        Programs are pickled for `with_programs` alone, and not inside of the pickle of another jitted function.
        """
        if self._plain is not None:
            with self._lock:
                is_alone = is_packing() or self.rebinding is not None
                sent = ("", b"") if is_alone else sent_programs.pack_programs(self._cache)
                return _with_received, (self._plain, *sent)
        if (name := name_in_module(self)) and self.__module__ not in ("__main__", "__mp_main__"):
            return name
        if not self.recipe:
            raise pickle.PicklingError(f"{self.name} was made inside of anyshape; pickle the function it was made from")
        try:
            return reduce_function(self, self.recipe, name)
        except errors.MissingPackageError:
            if not name:
                raise
            return name  # a spawned process imports the script again


Jitted.__getattr__ = elsewhere.no_method  # type: ignore[attr-defined]


def _holds_list(x: Any, depth: int = 8) -> bool:
    """Return whether an argument is a list, or holds one in dicts and tuples: not too deep, as one may hold itself."""
    if type(x) not in (dict, tuple) or not depth:
        return type(x) is list
    parts = x.values() if type(x) is dict else x
    return any(_holds_list(part, depth - 1) for part in parts)


def _with_received(function: Jitted, digest: str, data: bytes) -> Jitted:
    """Return a function that was unpickled, which keeps the programs that came with it for its calls."""
    sent_programs.receive(function._cache, digest, data)
    return function


def bind(function: Callable[..., Any], instance: Any) -> Callable[..., Any]:
    """Return a function as the method of an object."""
    return function.bound_to(instance) if isinstance(function, Jitted) else types.MethodType(function, instance)
