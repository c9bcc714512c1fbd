"""The path of a call: read leaves, look up by structure, dtypes and ranks (never sizes), check guards, trace, run."""

from __future__ import annotations

import copy
import functools
import logging
import pickle
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from anyshape.backend.compiler.codegen.timers import Timers
from anyshape.backend.runtime.outcome import GUARD_FAILED
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active, active_builders
from anyshape.inspect.explain.data import CacheInfo, Explanation
from anyshape.program.program import Program
from anyshape.support.fork_lock import Lock
from anyshape.tracing.captured_state import watch
from anyshape.tracing.pytrees import (
    as_leaf,
    check_callable,
    flatten,
    function_name,
    is_array,
    is_python_scalar,
    leaf_paths,
    named,
    parameter_names,
)
from anyshape.tracing.trace import Leaves, trace_call
from anyshape.transforms.cache import Cache, CacheEntry
from anyshape.transforms.cache_miss import Arguments, Key, Listed
from anyshape.transforms.dynamic_shapes import DynamicShapes, dynamic_shapes_of
from anyshape.transforms.explanation import explain_cache, explain_entry
from anyshape.transforms.static_args import StaticArguments, static_arguments, with_static

_LOG = logging.getLogger("anyshape.trace")


@dataclass(frozen=True)
class Options:
    """What a user says of how a function is to be traced."""

    static: StaticArguments = field(default_factory=StaticArguments)
    shapes: DynamicShapes | None = None
    max_bytes: int | None = None

    def bound(self) -> Options:
        """Those of a method whose object is given."""
        return replace(self, static=self.static.bound())


class Jitted:
    """A function that is traced once per structure, dtypes and ranks of its arguments, and runs at every size.

    Called while another function is being traced, it becomes part of that trace. `recipe` is a function and the
    arguments that it made this from, by which it pickles; `method` gives what takes the place of `function` for an
    object, None if the object is an argument like others.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        like: Callable[..., Any] | None = None,
        options: Options | None = None,
        recipe: tuple[Any, ...] = (),
        method: Callable[[Any], Callable[..., Any] | None] | None = None,
    ) -> None:
        functools.update_wrapper(self, function if like is None else like, updated=())
        self.__wrapped__ = function if like is None else like
        self.__name__ = name if name is not None else function_name(function)
        self.function = function
        self.name = name if name is not None else function_name(function)
        self.options = options if options is not None else Options()
        self.made_of: tuple[Jitted, Any] | None = None  # the method and the object, of one that belongs to an object
        self._of_classes: dict[type, Jitted] = {}
        self._key = f"<jitted {self.__module__}.{getattr(self, '__qualname__', self.name)}>"
        self._recipe, self._method = recipe, method
        self._cache = Cache()
        self._lock = Lock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active_builders():
            if self.options.shapes is None:
                return self.function(*args, **kwargs)
            with building().scope.keep_dynamic(self.options.shapes.require(args, kwargs, self.__wrapped__)):
                return self.function(*args, **kwargs)
        cache = self._cache
        for read, entries in cache.fast_paths:
            leaves = read(args, kwargs)
            if leaves is None:
                continue
            for entry in entries:
                same, asks = entry.same, entry.asks
                if (same is None or same()) and (asks is None or asks(*leaves)):
                    try:
                        outputs = entry.run(*leaves)
                    except BaseException:
                        cache.hit(entry)
                        raise
                    if outputs is not GUARD_FAILED:
                        entry.used = True
                        cache.hits += 1
                        return entry.make(outputs)
            break
        return self._call_general(args, kwargs)

    def __set_name__(self, owner: type, name: str) -> None:
        """As an attribute of a class, which may hold several that were made from one method."""
        self._key = f"<jitted {owner.__module__}.{owner.__qualname__}.{name}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Jitted:
        """As a method: a jitted function for each object, whose attributes it watches; the object keeps it.

        A copy of an object has its attributes, this one too, and gets a jitted function of its own.
        """
        if instance is None:
            return self
        kept, key = self._kept_in(instance)
        bound = kept.get(key)
        if bound is None or bound.made_of[0] is not self or bound.made_of[1] is not instance:
            with self._lock:
                bound = kept.get(key)
                if bound is None or bound.made_of[0] is not self or bound.made_of[1] is not instance:
                    bound = kept[key] = self.bound_to(instance)
        return bound

    def _kept_in(self, instance: Any) -> tuple[dict[Any, Any], Any]:
        """Where the jitted function of an object is kept, and under which key; not by its name, which may be hidden."""
        if isinstance(instance, type):
            return self._of_classes, instance
        try:
            return instance.__dict__, self._key
        except AttributeError:
            problem = f"has no __dict__, in which {self.name} would keep its programs"
            advice = "add '__dict__' to its __slots__, or jit a function that is given what it reads"
            raise ArgumentError(self.name, f"an object of {type(instance).__name__}", problem, advice) from None

    def bound_to(self, instance: Any) -> Jitted:
        """A jitted function of one object, by the method and the object of which it pickles and copies."""
        method = None if self._method is None else self._method(instance)
        method = bound_to(self.function, instance) if method is None else method
        like = types.MethodType(self.__wrapped__, instance)
        bound = Jitted(method, self.name, like, self.options.bound(), (_of_object, (self, instance), {}))
        bound.made_of = (self, instance)
        return bound

    def __repr__(self) -> str:
        return f"<jitted {self.name}>"

    def __copy__(self) -> Jitted:
        """Itself, as for any function."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted:
        """Itself, as for any function; of an object's method that of the object's copy."""
        if self.made_of is None:
            return self
        method, instance = self.made_of
        return method.__get__(copy.deepcopy(instance, memo))

    def __reduce__(self) -> Any:
        """By its name where a module has it, else by what it was made from; its programs stay behind."""
        place = getattr(self, "__qualname__", self.name)
        found: Any = sys.modules.get(self.__module__)
        for name in place.split("."):
            found = getattr(found, name, None)
        if found is self:
            return place
        if not self._recipe:
            raise pickle.PicklingError(f"{self.name} was made inside of anyshape; pickle the function it was made from")
        make, arguments, options = self._recipe
        return functools.partial(make, **options), arguments

    def _call_general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that no open door is for: of any structure, with whatever an array can be made of."""
        call = self._read(args, kwargs)
        entry = self._cache.find(call.key, call.arrays)
        traced = False
        if entry is None:
            entry, traced = self._trace(call)
        if not traced:
            self._cache.hits += 1
            if not self.options.static:
                self._cache.open(call.key)
        return entry.program.call_flat(call.arrays)

    def _read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """The arguments as arrays, and what programs for them are looked up by."""
        static: dict[int | str, Any] = {}
        if self.options.static:
            args, kwargs, static = self.options.static.split(args, kwargs)
        raw, tree = flatten((args, kwargs))
        arrays = raw
        kinds: list[tuple[Any, ...]] = []
        for i, x in enumerate(raw):
            kind = type(x)
            if kind is np.ndarray:
                kinds.append((x.dtype, x.ndim))
                continue
            if arrays is raw:
                arrays = [*raw]
            arrays[i] = array = self._leaf(x, i, args, kwargs)
            kinds.append((array.dtype, array.ndim, kind) if is_python_scalar(x) else (array.dtype, array.ndim))
        key = Key(tree, self.options.static.key(static) if static else (), tuple(kinds))
        return _Call(args, kwargs, static, raw, arrays, key)

    def _leaf(self, x: Any, i: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> np.ndarray:
        """Leaf i of the arguments as an array; an error names its path."""
        try:
            return as_leaf(x, "", self.name)
        except ArgumentError:
            return as_leaf(x, named(leaf_paths(args, kwargs)[i], parameter_names(self.__wrapped__)), self.name)

    def _trace(self, call: _Call) -> tuple[CacheEntry, bool]:
        """A new entry, unless another thread has made it meanwhile, and whether it is. After an error there is none."""
        with self._lock:
            found = self._cache.find(call.key, call.arrays)
            if found is not None:
                return found, False
            names = parameter_names(self.__wrapped__)
            leaves = call.leaves(self.name, names)
            unchanged = watch(self.__wrapped__)
            shapes = self.options.shapes
            prepared = None if shapes is None else shapes.prepare(leaves, names, self.__wrapped__)
            function = with_static(self.function, call.static)
            given = Arguments(call.key, leaves.arrays, call.static, names)
            reasons, number, started = self._cache.reasons(given), self._cache.traces + 1, perf_counter()
            _LOG.debug("%s: program %d is needed; %s", self.name, number, Listed(reasons))
            trace, scope = trace_call(function, self.name, leaves, names, prepared)
            program = Program(trace, self.options.max_bytes)
            entry = CacheEntry(program, unchanged, given, number, scope.hints or {}, reasons, scope.reliance_log)
            self._cache.add(entry)
            _LOG.debug("%s: program %d took %.1f ms", self.name, number, 1e3 * (perf_counter() - started))
            return entry, True

    def leaves(self, *args: Any, **kwargs: Any) -> Leaves:
        """What a trace for these arguments starts from."""
        return self._read(args, kwargs).leaves(self.name, parameter_names(self.__wrapped__))

    def programs(self) -> list[Program]:
        """Every program in the cache, oldest first."""
        return [e.program for e in self._cache.entries()]

    def cache_info(self) -> CacheInfo:
        """Numbers of traces, of calls that needed none, of programs kept and dropped, and how many are kept at most."""
        return self._cache.info()

    def explain(self) -> Explanation:
        """The programs in the cache: their sizes and conditions, why each was traced, and when another will be."""
        return explain_cache(self.name, self._cache)

    def explain_call(self, *args: Any, **kwargs: Any) -> Explanation:
        """The same, with the program for these arguments among them, which is traced if it is missing and not run."""
        call = self._read(args, kwargs)
        found = self._cache.find(call.key, call.arrays)
        entry, traced = self._trace(call) if found is None else (found, False)
        return explain_entry(self.name, self._cache, entry, call.arrays, traced)

    def timed(self, timers: Timers, *args: Any, **kwargs: Any) -> Jitted:
        """This function with the program for these arguments alone, which tells `timers` of each run."""
        call = self._read(args, kwargs)
        entry = self._cache.find(call.key, call.arrays) or self._trace(call)[0]
        found = Jitted(self.function, self.name, self.__wrapped__, self.options)
        found._cache.add(entry.timed(timers))
        return found

    def clear_cache(self) -> None:
        """Forget every program, and the numbers."""
        with self._lock:
            self._cache = Cache(self._cache.limit)


class _Call(NamedTuple):
    """One call: its arguments without static ones, these apart, the leaves, and what programs are looked up by."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: dict[int | str, Any]
    raw: list[Any]
    arrays: list[Any]
    key: Key

    def leaves(self, name: str, names: Sequence[str]) -> Leaves:
        """What a trace starts from, each leaf checked. `names` are those of the positional parameters."""
        paths = leaf_paths(self.args, self.kwargs)
        checked = [as_leaf(x, named(path, names), name) for x, path in zip(self.arrays, paths, strict=True)]
        return Leaves(checked, [is_python_scalar(x) for x in self.raw], self.key.tree, paths)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
    on_decision: str = "guard",
    max_bytes: int | None = None,
    name: str | None = None,
) -> Any:
    """`function`, traced once per structure, dtypes and ranks of its arguments and then run at any size.

    Static arguments are values that hash: each is traced apart, and the function gets it as it is. `dynamic_shapes`
    says, by parameter, what the axes are: names that are shared are sizes that are equal, ints are fixed, a Dim has a
    range; AUTO (as if nothing was said), STATIC (a program for each size), DYNAMIC (an error where the size is bound
    to one value). An integer argument that is given a name or a Dim is a size by its value. A decision of Python's on
    sizes is guarded, and another answer traces anew; with `on_decision="error"` it is a SpecializationError, on all
    axes but AUTO and STATIC ones. A call whose arrays might take more than `max_bytes` at once, beside its arguments,
    computes cheap values again instead of keeping them; if that is not enough, it is a MemoryLimitError before it
    allocates. Without a function, a decorator.

    >>> import numpy as np
    >>> from anyshape import Dim
    >>> f = jit(lambda x, y: np.sum(np.sin(x) * y))
    >>> [round(float(f(np.ones(n), np.ones(n))), 3) for n in (0, 1, 5)]
    [0.0, 0.841, 4.207]
    >>> f.cache_info().traces
    1
    >>> head = jit(lambda x, k: x[:k].sum() / k, dynamic_shapes={"x": "n", "k": Dim("k", max=9)})
    >>> float(head(np.arange(5.0), 4)), head.cache_info().traces
    (1.5, 1)
    """
    options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "dynamic_shapes": dynamic_shapes,
        "on_decision": on_decision,
        "max_bytes": max_bytes,
        "name": name,
    }
    if function is None:
        return functools.partial(jit, **options)
    check_callable("jit", function)
    called = name if name is not None else function_name(function)
    static = static_arguments(function, called, static_argnums, static_argnames)
    shapes = dynamic_shapes_of(function, called, dynamic_shapes, on_decision, static.names)
    if max_bytes is not None and (isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 0):
        raise ArgumentError(called, "max_bytes", f"is {max_bytes!r}", "give a number of bytes, or None for no limit")
    return Jitted(function, called, None, Options(static, shapes, max_bytes), (jit, (function,), options))


def _of_object(method: Jitted, instance: Any) -> Jitted:
    """What a pickled method of an object is made from."""
    return method.__get__(instance)


def bound_to(function: Callable[..., Any], instance: Any) -> Callable[..., Any]:
    """A function as the method of an object."""
    return function.bound_to(instance) if isinstance(function, Jitted) else types.MethodType(function, instance)


def in_trace(
    function: Callable[..., Any],
    name: str,
    like: Callable[..., Any],
    recipe: tuple[Any, ...] = (),
    keep: str = "",
    without_object: Callable[[Any], Any] | None = None,
) -> Jitted:
    """A transformed function: `function` works on the values of the active trace; outside one, it is jitted.

    `recipe` is the transform with the arguments that it made this from, `keep` what holds of `like` and of this alike:
    "static" arguments, or the shapes of "all" arguments too. For a method of an object that is no tree of arrays,
    `without_object` gives what follows `like` in the recipe (it counts arguments) once the object is none of them.
    """
    check_callable(name.partition("(")[0], like)
    options = like.options if keep and isinstance(like, Jitted) else Options()
    kept = options if keep == "all" else Options(options.static)

    def method(instance: Any) -> Callable[..., Any] | None:
        transform, _, counted, *rest = recipe
        left = None if without_object is None else without_object(counted)
        leaves, tree = flatten(instance)
        if left is None or not tree.is_leaf() or is_array(leaves[0]):
            return None
        return transform(bound_to(like, instance), left, *rest).function

    made_of: tuple[Any, ...] = (recipe[0], recipe[1:], {}) if recipe else ()
    return Jitted(function, name, like, kept, made_of, method if without_object is not None else None)


def building() -> Any:
    """The builder of the active trace; transformed functions run only inside one."""
    builder = active()
    if builder is None:
        raise RuntimeError("a transformed function ran outside a trace")
    return builder
