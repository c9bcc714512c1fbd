"""Sent programs, in the pickle of a jitted function, and the test that they are valid in the process that unpickles it.

A program of another process is used only if everything that the function reaches is equal in both processes. Arrays
that the function reaches stay references: the program holds the arrays of this process.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.errors import MissingPackageError, ProgramFileError
from anyshape.graph.ir.graph import is_generator
from anyshape.graph.sizes.expr import DimVar
from anyshape.inspect.explanation import Reason
from anyshape.ops.control import functions_called
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import cloudpickle
from anyshape.support.true_types import has_type
from anyshape.support.version import __version__
from anyshape.tracing.captured.digest import StateDigest, state_digest
from anyshape.tracing.captured.watch import CapturedState, Watch
from anyshape.tracing.decisions import path_left
from anyshape.tracing.pytrees import Order, frozen_keys
from anyshape.tracing.trace import Trace
from anyshape.transforms.caching.cache import Arguments, Cache, CacheEntry, Key

if TYPE_CHECKING:
    from anyshape.program.program import Program

_LOG = logging.getLogger("anyshape.trace")
_LATEST = 8  # lots of programs that one function keeps for calls to come
_VERSIONS = (__version__, np.__version__, sys.implementation.cache_tag)


class SentKey(NamedTuple):
    """Key of a program as it travels: static arguments as they are, as their key is made where they arrive.

    `captured` is the digest of what static arguments reach too, None where they cannot change.
    """

    captured: StateDigest | None
    tree: Any
    static: dict[int | str, Any]
    leaves: tuple[tuple[Any, ...], ...]
    order: Order

    def as_key(self, static_key: Callable[[dict[int | str, Any]], tuple[Any, ...]]) -> Key:
        """Return the key by which the cache of this process finds the program."""
        return Key(self.tree, static_key(self.static), self.leaves, frozen_keys(self.tree), self.order)


class SentProgram(NamedTuple):
    """Trace of a program, and the sizes of the call that it was made for."""

    trace: Trace
    sizes: Mapping[DimVar, int]


# -- sending


def pack_programs(cache: Cache) -> tuple[str, bytes]:
    """Return the programs of a cache as bytes with their digest; programs that cannot travel stay.

    - All of them, where captured state has changed or cannot be read.
    - Programs with callbacks, or with views of memory that the function does not reach.
    """
    state = cache.state
    entries = cache.entries()
    if state is None or state.watch is None or not entries or not state.holds():
        return "", b""
    if (captured := state_digest(state.watch)) is None:
        _LOG.debug("%s: its programs are not sent: it reaches an object whose state cannot be read", state.name)
        return "", b""
    places = _Places(state.watch, captured.has_opaque)
    sent = []
    for entry in entries:
        try:
            sent.append(_packed(entry, places))
        except (pickle.PicklingError, AttributeError, TypeError, MissingPackageError) as error:
            _LOG.debug("%s: program %d is not sent: %s", state.name, entry.number, error)
    data = pickle.dumps((_VERSIONS, tuple(captured), sent), protocol=pickle.HIGHEST_PROTOCOL)
    return hashlib.sha256(data).hexdigest(), data


def _packed(entry: CacheEntry, places: _Places) -> tuple[bytes, bytes]:
    """Return the key and the program of an entry as bytes."""
    trace = entry.program.trace
    if functions_called(trace.graph):
        raise pickle.PicklingError("it calls a Python function back")
    if any(is_generator(value) for value, _ in trace.graph.constants):
        raise pickle.PicklingError("it draws from a generator of this process")
    held, captured = entry.static_state, None
    if held is not None:
        if (captured := state_digest(held.take())) is None:
            raise pickle.PicklingError("a static argument holds an object whose state cannot be read")
        places = _Places(held.take(), captured.has_opaque)
    arrays = [array for _, array in trace.graph.constants]
    constants = {id(array): number for array in arrays if (number := places.of(array)) is not None}
    key = SentKey(captured, entry.key.tree, dict(entry.made_for.static), entry.key.leaves, entry.key.order)
    return _dumps(key, {}), _dumps(SentProgram(trace, entry.sizes), constants)


def _dumps(x, constants: Mapping[int, Any]) -> bytes:
    """Return the pickle of a value, by names where every process has them, with references to constants."""
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
        data = _dumped(pickle.Pickler, x, constants)
        if b"__main__" not in data and b"__mp_main__" not in data:
            return data
    return _dumped(cloudpickle.Pickler, x, constants)


def _dumped(pickler: type[pickle.Pickler], x, constants: Mapping[int, Any]) -> bytes:
    class Pickler(pickler):  # type: ignore[misc, valid-type]
        def persistent_id(self, value):
            return constants.get(id(value)) if type(value) is np.ndarray else None

    out = io.BytesIO()
    Pickler(out, protocol=pickle.HIGHEST_PROTOCOL).dump(x)
    return out.getvalue()


def _arrays(watch: Watch) -> list[np.ndarray]:
    """Return the arrays that a function reaches, in the order of the walk."""
    return [thing for _, thing in watch.things if has_type(thing, np.ndarray)]


class _Places:
    """Arrays that a function reaches, by number."""

    def __init__(self, watch: Watch, has_opaque: bool) -> None:
        self.arrays, self.has_opaque = _arrays(watch), has_opaque
        self.numbers = {id(array): i for i, array in enumerate(self.arrays)}

    def of(self, array: np.ndarray) -> tuple[Any, ...] | None:
        """Return what finds a constant among the arrays that a function reaches, None for one that is its own.

        Raise PicklingError where this is not known.
        """
        if id(array) in self.numbers:
            return (self.numbers[id(array)],)
        if array.base is None:
            return None
        for number, whole in enumerate(self.arrays):
            if np.may_share_memory(array, whole):
                return self._view(array, number, whole)
        if self.has_opaque or not _is_of_numpy(array):
            raise pickle.PicklingError("it holds a view of memory that the function does not show")
        return None

    def _view(self, array: np.ndarray, number: int, whole: np.ndarray) -> tuple[Any, ...]:
        (low, high), (first, last) = np.lib.array_utils.byte_bounds(array), np.lib.array_utils.byte_bounds(whole)
        is_whole = whole.flags.c_contiguous or whole.flags.f_contiguous
        if low < first or high > last or not is_whole or type(array) is not np.ndarray:
            raise pickle.PicklingError("it holds a view of an array that no pickle keeps as it is")
        return number, _address(array) - _address(whole), array.shape, array.strides, array.dtype


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _is_of_numpy(array: np.ndarray) -> bool:
    """Return True if NumPy allocated the memory of an array."""
    base: Any = array
    while type(base) is np.ndarray and base.base is not None:
        base = base.base
    return type(base) is np.ndarray


# -- receiving


class ReceivedPrograms:
    """Programs that came with a function, each made when a call of its key comes and captured state is equal."""

    def __init__(self, data: bytes) -> None:
        versions, captured, self._sent = pickle.loads(data)
        self.captured: StateDigest = StateDigest(*captured)
        if versions != _VERSIONS:
            self._sent = []
        self._keys: list[SentKey | None] | None = None

    def of_key(self, key: Key, static_key: Callable[[dict[int | str, Any]], tuple[Any, ...]]) -> list[Sent]:
        """Return the programs of a key, each with the digest of what it was traced for."""
        if self._keys is None:
            self._keys = [_loaded(sent, ()) for sent, _ in self._sent]
        pairs = zip(self._keys, self._sent, strict=True)
        keys = [(k, program) for k, (_, program) in pairs if k is not None and k.as_key(static_key) == key]
        return [Sent(k.captured or self.captured, k.captured is not None, program) for k, program in keys]


class Sent(NamedTuple):
    """Program that came with a function, as bytes; `with_static` says that the digest takes in static arguments."""

    captured: StateDigest
    with_static: bool
    data: bytes

    def program(self, now: StateDigest | None, watch: Watch, name: str) -> SentProgram | None:
        """Return the program with the arrays of this process, None if it does not hold here."""
        if now is None or self.captured.total != now.total:
            differing = "what it reaches" if now is None else self.captured.first_difference(now)
            _LOG.debug("%s: a received program is not used: %s differs here", name, differing)
            return None
        arrays = _arrays(watch) if self.captured.arrays == now.arrays else ()
        program: SentProgram | None = _loaded(self.data, arrays)
        return program


class _Unpickler(pickle.Unpickler):
    arrays: Sequence[np.ndarray] = ()

    def persistent_load(self, reference: tuple[Any, ...]) -> np.ndarray:
        number, *view = reference
        whole = self.arrays[number]
        if not view:
            return whole
        offset, shape, strides, dtype = view
        memory = (whole if whole.flags.c_contiguous else whole.T).view(np.ndarray).reshape(-1).view(np.uint8)
        return np.ndarray(shape, dtype, memory, offset, strides)


def _loaded(data: bytes, arrays: Sequence[np.ndarray]):
    """Return a value from its pickle, None if this process has not what it needs, such as a class."""
    unpickler = _Unpickler(io.BytesIO(data))
    unpickler.arrays = arrays
    try:
        return unpickler.load()
    except Exception as error:  # of whatever the classes of the user raise
        _LOG.debug("a received program cannot be loaded here: %s: %s", type(error).__name__, error)
        return None


def receive(cache: Cache, digest: str, data: bytes) -> None:
    """Keep programs that came with the function of a cache; raise ProgramFileError if they are damaged."""
    if not digest or digest in cache.received:
        return
    if not isinstance(data, bytes) or hashlib.sha256(data).hexdigest() != digest:
        raise ProgramFileError("the pickle of a jitted function", "is damaged", "pickle the function again")
    cache.received[digest] = ReceivedPrograms(data)
    while len(cache.received) > _LATEST:
        del cache.received[next(iter(cache.received))]


def received_entry(
    cache: Cache,
    made_for: Arguments,
    state: CapturedState,
    static_key: Callable[..., tuple[Any, ...]],
    program_of: Callable[[Trace], Program],
    on_path: bool,
) -> CacheEntry | None:
    """Return a new entry for a program that came with the function and serves a call, None if none does.

    With `on_path`, the call must not leave its path.
    """
    candidates = [sent for lot in list(cache.received.values()) for sent in lot.of_key(made_for.key, static_key)]
    if not candidates:
        return None
    state = cache.settle(state)
    static_state = made_for.static_state(state)
    watch = state.take() if static_state is None else static_state.take()
    captured = state_digest(watch)
    for sent in candidates:
        received = sent.program(captured, watch, state.name) if sent.with_static == (static_state is not None) else None
        if received is None:
            continue
        program = program_of(received.trace)
        is_left = on_path and path_left(program.trace.graph, made_for.arrays) is not None
        if not is_left and program.accepts(*made_for.arrays):
            state.take()
            number, reasons = cache.added + 1, [Reason("received", "", "", "", 0)]
            entry = CacheEntry(program, state, made_for, number, received.sizes, reasons, static_state=static_state)
            cache.add(entry, traced=False)
            cache.state_holds = state.test()
            return entry
    return None
