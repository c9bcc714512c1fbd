"""Refuse functions that draw random numbers, or take items of an iterator, while they are traced.

A program would repeat the numbers of its trace. So the states of random generators and iterators are compared before
and after each trace. These are NumPy's and Python's global generators, and all that the function can reach. If one
moved, its state is restored, and a second trace, line by line, finds the line that moved it.

Generators that a function closes over may draw: stand-ins are in their places while it is traced. Places are variables,
attributes, defaults and items of containers, as the walk over captured state has them. Traces in several threads share
the stand-ins. A generator that cannot be replaced, such as one in a frozen set, stays: then the trace refuses to draw.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import operator
import pickle
import random
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType, GeneratorType
from typing import Any, TypeVar

import numpy as np

from anyshape.errors import FrozenDrawError
from anyshape.errors.tracing_errors import GLOBAL_GENERATOR
from anyshape.graph.ir.graph import drawing
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import is_user_frame
from anyshape.support.fork_lock import Lock
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import traced_generators, world
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.containers import Holder, read_holder

T = TypeVar("T")
_GLOBAL = 2  # the number of global generators
_REENTRANT = type(threading.RLock())
_OF_THREADS = {"threading", "concurrent", "queue", "multiprocessing", "asyncio", "joblib"}
_LOOKUPS = {"current_thread", "main_thread", "active_count", "enumerate", "get_ident", "name", "daemon"}
_REPEATS = 4  # further traces that must draw too, where other threads may have drawn
_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.02, 0.2  # seconds, after each of these
_INSTRUCTIONS = 20_000  # that are compared one by one


class Stream(NamedTuple):
    """Source of numbers or items that moves on when it is read.

    `read()` returns its state, and `restore(state)` sets it.
    A thread that holds the `lock` is the only one that moves it. `owner` is what moves, where that has no lock.
    """

    label: str
    read: Callable[[], Any]
    restore: Callable[[Any], None]
    is_random: bool = True
    lock: Any = None
    owner: Any = None


# -- states --------------------------------------------------------------------------------------------------------


def _bit_stream(label: str, generator) -> Stream:
    """Return the stream of a bit generator. Its state is pickled, as it holds arrays: so it compares, and stays."""

    def restore(state) -> None:
        generator.state = pickle.loads(state)

    return Stream(label, lambda: pickle.dumps(generator.state), restore, lock=_lock_of(generator))


def _lock_of(generator):
    """Return the lock that each draw from a bit generator takes, None where a thread cannot take it twice."""
    lock = getattr(generator, "lock", None)
    return lock if isinstance(lock, _REENTRANT) else None


def _legacy_stream(label: str, thing: np.random.RandomState) -> Stream:
    """Return the stream of a RandomState, which keeps every other normal number apart from the bits."""
    read = lambda: pickle.dumps(thing.get_state(legacy=False))
    restore = lambda state: thing.set_state(pickle.loads(state))
    return Stream(label, read, restore, lock=_lock_of(thing._bit_generator))


def _python_stream(label: str, thing: random.Random) -> Stream:
    """Return the stream of a generator of Python; one of a class of the user's own may keep its state as it likes."""
    return Stream(label, thing.getstate, thing.setstate, owner=thing if type(thing) is random.Random else None)


def _iterator_stream(label: str, thing) -> Stream:
    """Return the stream of an iterator that tells how many items are left; a used up one cannot be restored.

    From Python 3.12 on, one of a range has no position but a shorter range. It cannot be restored either.
    """

    def restore(state) -> None:
        if isinstance(state, tuple) and hasattr(thing, "__setstate__"):
            thing.__setstate__(*state)

    def read():
        _, rest, *position = thing.__reduce__()
        if position and position[0] is None:
            return rest[0]
        return tuple(position) or operator.length_hint(thing, -1)

    return Stream(label, read, restore, is_random=False)


def _counter_stream(label: str, thing) -> Stream:
    """Return the stream of an iterator that is known by its text alone."""
    return Stream(label, lambda: repr(thing), lambda state: None, is_random=False)


def _enumeration_stream(label: str, thing) -> Stream:
    return Stream(label, lambda: thing.__reduce__()[1][1], lambda state: None, is_random=False)


def _generator_stream(label: str, thing: GeneratorType[Any, Any, Any]) -> Stream:
    """Return the stream of a generator of Python, which is known by where it stands and what its names hold.

    It cannot be restored.
    """
    return Stream(label, lambda: _position(thing, set()), lambda state: None, is_random=False, owner=thing)


def _position(thing: GeneratorType[Any, Any, Any], seen: set[int]):
    """Return where a generator stands: it and the iterators that it reads, which move where its names do not."""
    if (frame := thing.gi_frame) is None or id(thing) in seen:
        return None
    seen.add(id(thing))
    parts = [*frame.f_locals.values(), thing.gi_yieldfrom]
    generators = [_position(x, seen) for x in parts if has_type(x, GeneratorType)]
    iterators = streams(("", x) for x in parts if not has_type(x, GeneratorType))[_GLOBAL:]
    return frame.f_lasti, [id(x) for x in parts], generators, [s.read() for s in iterators if not s.is_random]


_KEYED: tuple[Any, ...] = ({}, {}.values(), {}.items(), set())
_STREAMS: tuple[tuple[tuple[type, ...], Callable[[str, Any], Stream]], ...] = (
    ((np.random.Generator,), lambda label, thing: _bit_stream(label, thing.bit_generator)),
    ((np.random.BitGenerator,), _bit_stream),
    ((np.random.RandomState,), _legacy_stream),
    ((random.Random,), _python_stream),
    (tuple({type(iter(kind())) for kind in (list, tuple, str, bytes)}), _iterator_stream),
    ((type(iter(range(0))), type(iter(range(2**70))), type(reversed([]))), _iterator_stream),
    (tuple({type(iter(x)) for x in _KEYED}), _iterator_stream),
    ((itertools.count, itertools.repeat), _counter_stream),
    ((enumerate,), _enumeration_stream),
    ((GeneratorType,), _generator_stream),
)
_JOINED = set(map(id, (zip, map, filter)))  # iterators that keep nothing beside the iterators that they read
_MAKERS: dict[int, Callable[[str, Any], Stream] | None] = {}  # by the id of a class, which need not have a hash
_KINDS: list[type] = []  # these classes: they stay alive, and their ids remain theirs


def _maker(kind: type) -> Callable[[str, Any], Stream] | None:
    maker = next((make for kinds, make in _STREAMS if issubclass(kind, kinds)), None)
    _KINDS.append(kind)
    _MAKERS[id(kind)] = maker = None if issubclass(kind, random.SystemRandom) else maker
    return maker


def streams(things: Iterable[tuple[str, Any]]) -> list[Stream]:
    """Return the global random generators, and the generators and iterators among things with their paths."""
    makers, missing = _MAKERS, object()
    result = [
        _legacy_stream(GLOBAL_GENERATOR, np.random.mtrand._rand),
        _python_stream("the global generator of random", random._inst),
    ]
    for path, thing in things:
        maker: Any = makers.get(id(type(thing)), missing)
        if maker is missing:
            maker = _maker(type(thing))
        if maker is not None:
            result.append(maker(f"the {type(thing).__name__} {path}".rstrip(), thing))
        elif id(type(thing)) in _JOINED:
            result += streams((path, part) for part in thing.__reduce__()[1])[_GLOBAL:]
    return result


def is_stream(thing: Any) -> bool:
    """Return whether an object is a random generator or an iterator that a trace is watched for."""
    kind = type(thing)
    return id(kind) in _JOINED or (_MAKERS[id(kind)] if id(kind) in _MAKERS else _maker(kind)) is not None


def drawing_later(walks: Sequence[Any]) -> contextlib.AbstractContextManager[None]:
    """Have generators that a function closes over draw when its program runs, for a trace within the block.

    `walks` list what the function can reach, and what holds it.
    """
    if any(has_type(thing, drawing()) for walk in walks for _, thing in walk.things):
        return standing_in(walks)
    return contextlib.nullcontext()


def noting_reads(name: str, walks: Sequence[Any]) -> contextlib.AbstractContextManager[None]:
    """Warn of clocks, files and the like that a trace within the block reads: programs repeat what it got."""
    for walk in walks:
        if walk.reads_outside:
            note: contextlib.AbstractContextManager[None] = world.warning_of_reads(name)
            return note
    return contextlib.nullcontext()


# -- traces --------------------------------------------------------------------------------------------------------


def refuse_draws(name: str, trace: Callable[[], T], things: Iterable[tuple[str, Any]]) -> T:
    """Return the result of a trace; raise FrozenDrawError if it moved a stream, whose state is then restored.

    `things` are what the function can reach, with their paths. `trace` may be called again, to find the line.
    """
    watched = streams(things)
    before = [s.read() for s in watched]
    try:
        result = trace()
        if moved := _moved(watched, before):
            _refuse_if_drawn(name, trace, watched, before, moved)
    except BaseException:  # Ctrl-C too
        try:
            _restore(watched, before)
        except KeyboardInterrupt:
            _restore(watched, before)
            raise
        raise
    return result


def _refuse_if_drawn(
    name: str, trace: Callable[[], T], watched: Sequence[Stream], before: Sequence[Any], moved: Sequence[Stream]
) -> None:
    """Raise FrozenDrawError, unless a second trace shows that other threads moved the streams."""
    alone = threading.active_count() == 1
    own = [alone or (i >= _GLOBAL and s.lock is None) for i, s in enumerate(watched)]
    shared = list(itertools.compress(watched, map(operator.not_, own)))

    def rewind() -> None:
        """Restore the streams of this thread alone, as others use numbers meanwhile; after a new seed these differ."""
        _restore(list(itertools.compress(watched, own)), list(itertools.compress(before, own)))
        if not alone:
            np.random.random_sample(), random.random()

    rewind()
    at_once = alone or not any(s.is_random for s in moved)  # an iterator has few items to spare
    cause = _Search(watched).run(trace) if at_once else _found_beside_threads(watched, trace, rewind)
    if cause is None and all(s in shared for s in moved):
        return  # another thread drew
    stream, where = cause or (moved[0], None)
    raise FrozenDrawError(name, stream.label, is_random=stream.is_random, where=where)


def _found_beside_threads(
    watched: Sequence[Stream], trace: Callable[[], T], rewind: Callable[[], None]
) -> tuple[Stream, SourceLine] | None:
    """Return the stream that a trace moves, and the line, while no other thread draws.

    Generators of NumPy are locked meanwhile. Other streams have no lock: a trace that draws does so each time. One that
    calls a method of the generator draws. If it calls none, and the generator moves while this thread sleeps, another
    thread draws. A function that waits for threads would wait forever, as these may wait for a lock.
    """
    waits = _waits_for_threads(trace)
    rewind()
    if waits:
        return _Search(watched).run(trace)
    with contextlib.ExitStack() as held:
        for lock in [s.lock for s in watched if s.lock is not None]:
            held.enter_context(lock)
        for _ in range(1 + _REPEATS):
            search, start = _Search(watched), time.perf_counter()
            if (cause := search.run(trace)) is None or cause[0].lock is not None or search.is_called:
                break
            if _moves_alone(cause[0], time.perf_counter() - start):
                return None
            rewind()
    return cause


def _moves_alone(stream: Stream, seconds: float) -> bool:
    """Return whether other threads move a stream while this one sleeps, for more than the time of a search."""
    state = stream.read()
    time.sleep(min(max(2 * seconds, _SHORTEST_SLEEP), _LONGEST_SLEEP))
    return bool(stream.read() != state)


def _moved(watched: Sequence[Stream], before: Sequence[Any]) -> list[Stream]:
    """Return the streams that have another state than before."""
    return [s for s, state in zip(watched, before, strict=True) if s.read() != state]


def _restore(watched: Sequence[Stream], before: Sequence[Any]) -> None:
    for stream, state in zip(watched, before, strict=True):
        if stream.read() != state:
            stream.restore(state)


def _waits_for_threads(trace: Callable[[], Any]) -> bool:
    """Return whether a trace calls functions of modules by which threads wait for one another."""
    called = False

    def enter(frame: FrameType, event: str, arg) -> None:
        nonlocal called
        module = str(frame.f_globals.get("__name__")).partition(".")[0]
        called = called or (module in _OF_THREADS and frame.f_code.co_name not in _LOOKUPS)

    before = sys.gettrace()
    try:
        sys.settrace(enter)
        with contextlib.suppress(Exception):  # as in `_Search.run`
            trace()
    finally:
        sys.settrace(before)
    return called


class _Search:
    """Search for the line that moves a stream: states are compared at each line of the user that runs.

    The first instructions are compared one by one, which gives the expression. `is_called` is set where the trace calls
    a method of a generator.
    """

    def __init__(self, watched: Sequence[Stream]) -> None:
        self.watched, self.is_called = watched, False
        self.owners = {id(s.owner): s for s in watched if s.owner is not None and s.is_random}
        self.resumed = [s.owner.gi_frame for s in watched if has_type(s.owner, GeneratorType)]
        self.states = [s.read() for s in watched]
        self.last: SourceLine | None = None
        self.cause: tuple[Stream, SourceLine] | None = None
        self.events = 0

    def run(self, trace: Callable[[], Any]) -> tuple[Stream, SourceLine] | None:
        """Return the first stream that a trace moves, and the line; None if it moves none."""
        before = sys.gettrace(), sys.getprofile()
        try:
            sys.settrace(self._enter)
            sys.setprofile(self._call)
            with contextlib.suppress(Exception):  # it may find other states than the first trace
                trace()
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])
        return self.cause

    def _call(self, frame: FrameType, event: str, arg) -> None:
        """Note a call of a method in C of a generator, and its line, whatever other threads have moved before."""
        stream = self.owners.get(id(getattr(arg, "__self__", None))) if event == "c_call" else None
        if stream is not None and not self.is_called:
            line = _line_of(frame) or self.last
            self.cause, self.is_called = (stream, line) if line is not None else self.cause, True

    def _enter(self, frame: FrameType, event: str, arg):
        return self._step(frame, event, arg) if is_user_frame(frame) and not self._is_resumed(frame) else None

    def _is_resumed(self, frame: FrameType | None) -> bool:
        """Return whether a watched generator of Python runs: the line that takes an item of it is meant."""
        while frame is not None and not any(frame is watched for watched in self.resumed):
            frame = frame.f_back
        return frame is not None

    def _step(self, frame: FrameType, event: str, arg):
        self.events += 1
        frame.f_trace_opcodes = self.events < _INSTRUCTIONS
        if (moved := _moved(self.watched, self.states)) and self.cause is None and self.last is not None:
            self.cause = moved[0], self.last
        if self.cause is not None:
            sys.settrace(None)
            return None
        self.last = _line_of(frame.f_back if event == "return" else frame) or self.last
        return self._step


def _line_of(frame: FrameType | None) -> SourceLine | None:
    """Return the line of the innermost frame of the user, from a frame on; None if there is none."""
    while frame is not None and not is_user_frame(frame):
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    return SourceLine(code.co_filename, frame.f_lineno, code.co_name, code, frame.f_lasti)


_LOCK = Lock()


class _Spot:
    """Place that holds a stand-in, for a number of traces, and how to write to it."""

    def __init__(self, write: Callable[[Any], None], look: Callable[[], Any], original: Any, now: Any) -> None:
        self.write, self.look, self.original, self.now, self.traces = write, look, original, now, 0


_TAKEN: dict[tuple[Any, ...], _Spot] = {}  # by the kind and the owner of the holder, and the number of the member


@contextlib.contextmanager
def standing_in(walks: Iterable[Any]) -> Iterator[None]:
    held = [(holder, w.things[holder.of][1]) for w in walks for holder in w.holders]
    taken: list[tuple[Any, ...]] = []
    try:
        with _LOCK:
            for holder, thing in held:
                _take(holder, thing, taken)
        yield
    finally:
        with _LOCK:
            for key in taken:
                _give_back(key)


def _take(holder: Holder, thing, taken: list[tuple[Any, ...]]) -> None:
    """Put stand-ins in the places of one holder."""
    for i, now in enumerate(_members(holder)):
        key = holder.kind, id(holder.owner), holder.names[i : i + 1] if holder.kind in _NAMED else i
        spot = _TAKEN.get(key)
        if spot is None:
            standing = traced_generators.stand_in(now)
            write = None if standing is now else _writer(holder, i, thing)
            if write is None or not _written(write, standing):
                continue
            spot = _TAKEN[key] = _Spot(write, functools.partial(_member, holder, i), now, standing)
        spot.traces += 1
        taken.append(key)


def _give_back(key: tuple[Any, ...]) -> None:
    """Restore what a place held, unless code of the user has written to it meanwhile, or other traces go on."""
    spot = _TAKEN[key]
    spot.traces -= 1
    if not spot.traces:
        del _TAKEN[key]
        if spot.look() is spot.now:
            spot.write(spot.original)


def _members(holder: Holder) -> list[Any]:
    """Return what a holder holds now, nothing while another thread changes it."""
    try:
        return read_holder(holder)
    except (RuntimeError, ReferenceError):
        return []


def _member(holder: Holder, i: int):
    members = _members(holder)
    return members[i] if i < len(members) else None


def _written(write: Callable[[Any], None], value) -> bool:
    """Write to a place, and return whether it takes the value."""
    try:
        write(value)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


# -- how places are written to

_WRITABLE: tuple[Any, ...] = (dict, list, collections.deque, np.ndarray)
_NAMED = ("variables", "attributes", "fields")


def _writer(holder: Holder, i: int, thing) -> Callable[[Any], None] | None:
    """Return what writes to a member of a holder, None where nothing does."""
    owner = holder.owner
    if holder.kind in ("variables", "attributes"):
        name = holder.names[i]
        if isinstance(owner, dict):
            return functools.partial(owner.__setitem__, name)
        return functools.partial(type.__setattr__, thing, name) if isinstance(thing, type) else None
    if holder.kind == "fields":
        return _writer_of_field(owner, holder.names[i])
    base = next((k for k in _WRITABLE if isinstance(owner, k)), None) if holder.kind in ("items", "iterated") else None
    if base is None:
        return None
    keys = list(dict.keys(owner)) if base is dict else []
    return functools.partial(base.__setitem__, owner, keys[i - len(keys)] if keys else i) if i >= len(keys) else None


def _writer_of_field(owner, name: str) -> Callable[[Any], None]:
    if isinstance(owner, functools.partial):
        return functools.partial(_set_partial, owner, name)
    if isinstance(owner, (types.FunctionType, types.CellType)):
        return functools.partial(setattr, owner, name)
    return functools.partial(object.__setattr__, owner, name)


def _set_partial(owner, name: str, value) -> None:
    fields = {"func": owner.func, "args": owner.args, "keywords": owner.keywords, name: value}
    owner.__setstate__((*fields.values(), owner.__dict__ or None))
