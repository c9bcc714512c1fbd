"""Pickle functions as a digest with what makes them again, so that a process has one object and one cache for each.

The payload of a function is the pickle of its recipe: a function of anyshape with its arguments. The digest is that of
the payload, which holds code, defaults, closures and options. So functions share an object only if all of these agree.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import pickle
import sys
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import MissingPackageError, ProgramFileError
from anyshape.support.fork_lock import Lock
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import cloudpickle
from anyshape.support.true_types import has_type

Recipe: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

LATEST = 64  # functions that were loaded last are kept, so that tasks which come one after another share them
_MAIN = (b"__main__", b"__mp_main__")  # modules that other processes have not, or that are others there
_MAX_REPEATED = 1 << 20  # bytes of a payload that is kept for pickling a loaded function again

_LOCK = Lock()
_ALIVE: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()  # by digest
_LOADED: OrderedDict[str, Any] = OrderedDict()  # the latest ones by digest, oldest first


class _Origin(NamedTuple):
    """Payload that a function was loaded from, with the digest of the payload that it would be pickled as itself."""

    digest: str
    payload: bytes
    own: str


_ORIGINS: weakref.WeakKeyDictionary[Any, _Origin] = weakref.WeakKeyDictionary()


# -- pickling


def reduce_function(function: Any, recipe: Recipe, name: str = "") -> str | tuple[Any, ...]:
    """Return what `__reduce__` of a function returns that has this recipe, and this name in the script that runs.

    Inside of the payload of another function it is a part of that one, and has no digest of its own.
    """
    if (frame := _STATE.packing) is not None:
        return name if name and frame.by_name else frame.reduced(function, recipe)
    payload = _payload(function, recipe)
    digest = _digest(payload)
    if (origin := _ORIGINS.get(function)) is not None and origin.own == digest:
        return _load, (origin.digest, origin.payload)
    with _LOCK:
        _ALIVE[digest] = function
    return _load, (digest, payload)


def name_in_module(function: Any) -> str:
    """Return the qualified name by which its module has an object, or "" if it has none."""
    name: str = getattr(function, "__qualname__", function.name)
    value: Any = sys.modules.get(function.__module__)
    for part in name.split("."):
        value = getattr(value, part, None)
    return name if value is function else ""


def is_packing() -> bool:
    """Return True while this thread makes the payload of a function."""
    return _STATE.packing is not None


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def _payload(function, recipe: Recipe) -> bytes:
    """Return the pickle of a recipe: by names where every process has these, else by cloudpickle."""
    content = (recipe, _fingerprint(recipe[1:]))
    try:
        plain = _packed(pickle.dumps, _Packing(function, by_name=True), content)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        plain, reason = b"", error
    if plain and not any(name in plain for name in _MAIN):
        return plain
    try:
        return _packed(cloudpickle.dumps, _Packing(function, by_name=False), content)
    except MissingPackageError:
        if plain:
            return plain
        raise
    except Exception as error:
        advice = "pass it as an argument, or keep it in a module that every process imports"
        problem = f"{function.name} cannot be pickled: {error}\n  {advice}"
        raise pickle.PicklingError(problem) from (error if plain else reason)


def _packed(dumps: Callable[..., bytes], packing: _Packing, content) -> bytes:
    """Return the bytes of the content of one function, with functions in it as parts of it."""
    _STATE.packing = packing
    try:
        return dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    finally:
        _STATE.packing = None


class _Packing:
    """Numbers of the functions in one payload; a function that refers to itself does it by number.

    With `by_name`, functions of the script that runs go by name.
    """

    def __init__(self, function: Any, by_name: bool) -> None:
        self.by_name = by_name
        self.numbers = {id(function): 0}
        self.functions = [function]

    def reduced(self, function: Any, recipe: Recipe) -> tuple[Any, ...]:
        if id(function) in self.numbers:
            return _reference, (self.numbers[id(function)],)
        number = self.numbers[id(function)] = len(self.functions)
        self.functions.append(function)  # so that no other object gets its id
        return _part, (number, recipe)


# -- unpickling


def _load(digest: str, payload: bytes):
    """Return the function of this digest; all that load it in one process get one object.

    Raise ProgramFileError if the payload is damaged.
    """
    if (alive := _alive(digest)) is not None:
        return alive
    if not isinstance(payload, bytes) or _digest(payload) != digest:
        raise ProgramFileError("the pickle of a jitted function", "is damaged", "pickle the function again")
    function = _made(payload)
    with _LOCK:
        known = _LOADED.get(digest)
        function = _LOADED[digest] = function if known is None else known  # another thread may have loaded it
        _ALIVE[digest] = function
        while len(_LOADED) > LATEST:
            _LOADED.popitem(last=False)
    return function


def _alive(digest: str):
    """Return the function of this digest that the process has, if it is still as it was pickled."""
    with _LOCK:
        if digest in _LOADED:
            _LOADED.move_to_end(digest)
            return _LOADED[digest]
        function = _ALIVE.get(digest)
    if function is None or function in _ORIGINS:
        return function
    try:
        current = function.__reduce__()  # one that was made here: what it closes over may have changed since
    except (pickle.PicklingError, MissingPackageError):
        return None
    return function if isinstance(current, tuple) and current[1][0] == digest else None


def _made(payload: bytes):
    """Return the function of a payload, and remember what it was loaded from."""
    outer, _STATE.loading = _STATE.loading, _Loading()
    try:
        recipe, _ = pickle.loads(payload)
        function = _STATE.loading.finished(_called(recipe))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "cloudpickle":
            raise MissingPackageError("cloudpickle", "cluster") from error
        raise
    finally:
        _STATE.loading = outer
    if len(payload) <= _MAX_REPEATED:
        with contextlib.suppress(pickle.PicklingError, MissingPackageError):  # it can be used all the same
            own = _digest(_payload(function, recipe))
            _ORIGINS[function] = _Origin(_digest(payload), payload, own)
    return function


def _called(recipe: Recipe):
    make, arguments, options = recipe
    return make(*arguments, **options)


class _Loading:
    """Functions of the payload that is loaded, by number, and the references to them."""

    def __init__(self) -> None:
        self.functions: dict[int, Any] = {}
        self.references: list[tuple[int, Itself]] = []

    def finished(self, function: Any) -> Any:
        """Return the function itself, with every reference bound."""
        self.functions[0] = function
        for number, reference in self.references:
            reference.function = self.functions[number]
        return function


class Itself:
    """Reference of a function to itself, or to one that refers to it, in what it was unpickled from."""

    function: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.function.__get__(instance, owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "function"), name)

    def __reduce__(self) -> Any:
        return self.function.__reduce__()


def _reference(number: int) -> Itself:
    """Return a reference to a function of the payload that is loaded."""
    reference = Itself()
    _loading().references.append((number, reference))
    return reference


def _part(number: int, recipe: Recipe):
    """Return a function that is a part of the payload of another one."""
    function = _loading().functions[number] = _called(recipe)
    return function


def _loading() -> _Loading:
    if _STATE.loading is None:
        raise ProgramFileError("the pickle of a jitted function", "is damaged", "pickle the function again")
    return _STATE.loading


class StoredMethod:
    """Jitted method that is stored in its object, and is not copied or pickled with it."""

    __slots__ = ("method",)

    def __init__(self, method: Any) -> None:
        self.method: Any = method

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        return None

    def __reduce__(self) -> Any:
        return _nothing, ()


def _nothing() -> None:
    """Return what an unpickled object has in place of a jitted method, until it is called."""


class _State(threading.local):
    """Payloads that this thread packs and loads."""

    packing: _Packing | None = None
    loading: _Loading | None = None


_STATE = _State()


# -- what functions are, where a pickle has their names alone


def _fingerprint(parts_of_recipe) -> str:
    """Return a hash of the code, the defaults and the closures of the functions in a recipe.

    Functions count by what they are, plain values by themselves, and others by their class.
    """
    result, numbers, waiting = hashlib.sha256(), dict[int, int](), [parts_of_recipe]
    alive: list[Any] = []  # so that no other object gets the id of one that is numbered
    while waiting:
        x: Any = waiting.pop()
        number, plain = numbers.get(id(x)), has_type(x, _PLAIN)
        parts = () if plain or number is not None else _parts_of(x)
        if number is None:
            numbers[id(x)] = len(numbers)
            alive.append(x)
        shown = repr(x) if plain else f"{type(x).__qualname__} {number}"
        result.update(f"{shown}:{len(parts)};".encode(errors="backslashreplace"))
        waiting += reversed(parts)
    return result.hexdigest()


_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def _parts_of(x) -> tuple[Any, ...]:
    """Return the parts of a value that a fingerprint takes in."""
    if (rule := next((rule for kind, rule in _PARTS.items() if isinstance(x, kind)), None)) is not None:
        return tuple(rule(x))
    if hasattr(x, "__wrapped__"):
        return (x.__wrapped__,)
    call = inspect.getattr_static(type(x), "__call__", None)
    return (call,) if isinstance(call, types.FunctionType) else ()


def _parts_of_code(code: types.CodeType) -> Iterable[Any]:
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_consts


def _parts_of_function(function: types.FunctionType) -> Iterable[Any]:
    cells = [_content(cell) for cell in function.__closure__ or ()]
    return function.__code__, function.__defaults__, function.__kwdefaults__, cells


def _content(cell: types.CellType):
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


_PARTS: dict[type | tuple[type, ...], Callable[[Any], Iterable[Any]]] = {
    types.CodeType: _parts_of_code,
    types.FunctionType: _parts_of_function,
    types.MethodType: lambda x: (x.__func__,),
    functools.partial: lambda x: (x.func, x.args, x.keywords),
    (tuple, list): lambda x: x,
    dict: lambda x: [part for pair in x.items() for part in pair],
    (set, frozenset): lambda x: sorted(map(repr, x)),
    np.ndarray: lambda x: (str(x.dtype), x.shape, "" if x.dtype.hasobject else _digest(x.tobytes())),
}


def bind_method(method: Any, instance: Any) -> Any:
    """Make the jitted method of an object again, from its pickle."""
    return method.__get__(instance)
