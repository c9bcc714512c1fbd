"""Generators that a traced function closes over: what stands for them while it is traced.

A stand-in is the generator itself for all code outside of traces, as for that of other threads. Inside of a trace its
methods draw when the program runs, from the generator, which is a constant of the program.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Builder, active, active_builders
from anyshape.graph.ir.graph import DRAWING, DrawOrder
from anyshape.numpy.random.draws import BITS
from anyshape.numpy.random.random_state import traced_generator
from anyshape.support.true_types import has_type

# arrays that hold generators, by the id of the generator: a graph has one constant for each
_ARRAYS: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()


def _for_code(original: Any) -> Any:
    """Return what the code that runs draws from: a traced generator in a trace, the generator itself elsewhere."""
    builder = active()
    return original if builder is None else traced_form(original, builder)


class _GeneratorStandIn(np.random.Generator):
    """`Generator` that a traced function closes over."""

    def __init__(self, original: np.random.Generator) -> None:
        super().__init__(BITS)
        object.__setattr__(self, "original", original)

    def __getattribute__(self, name: str) -> Any:
        return getattr(_for_code(original_of(self)), name)

    def __repr__(self) -> str:
        return repr(_for_code(original_of(self)))

    __str__ = __repr__


class _StateStandIn(np.random.RandomState):
    """`RandomState` that a traced function closes over."""

    def __init__(self, original: np.random.RandomState) -> None:
        super().__init__(BITS)
        object.__setattr__(self, "original", original)

    __getattribute__ = _GeneratorStandIn.__getattribute__
    __repr__ = _GeneratorStandIn.__repr__
    __str__ = __repr__


_STAND_INS = (_GeneratorStandIn, _StateStandIn)


def original_of(x: Any) -> Any:
    """Return the generator behind a stand-in, and anything else itself."""
    return object.__getattribute__(x, "__dict__")["original"] if type(x) in _STAND_INS else x


def traced_form(original: Any, builder: Builder) -> Any:
    """Return the traced generator that stands for a generator in the trace of a builder."""
    for each in active_builders():
        each.draw_order = each.draw_order or DrawOrder()
    while builder.parent is not None:
        builder = builder.parent
    array = _ARRAYS.get(id(original))
    if array is None:
        array = np.empty((), object)
        array[()] = original
        array.flags.writeable = False
        _ARRAYS[id(original)] = array
    kind = np.random.RandomState if has_type(original, np.random.RandomState) else None
    return traced_generator(builder.constant(array), kind)


def stand_in(x: Any) -> Any:
    """Return x with a stand-in for the generator that it is, that it is a method of, or that it holds as a tuple."""
    if type(x) is tuple:
        parts = tuple(map(stand_in, x))
        return x if all(map(_is, parts, x)) else parts
    if has_type(x, DRAWING):
        if hasattr(x, "traced") or type(x) in _STAND_INS:
            return x
        return _StateStandIn(x) if has_type(x, np.random.RandomState) else _GeneratorStandIn(x)
    owner = x.__self__ if type(x) is types.MethodType else None
    if has_type(owner, DRAWING) and not hasattr(owner, "traced") and type(owner) not in _STAND_INS:
        return _Method(owner, x)
    return x


class _Method:
    """Method of a generator that a traced function closes over."""

    def __init__(self, owner: Any, method: Any) -> None:
        self.owner, self.method = owner, method
        self.__name__ = method.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Draw."""
        return getattr(_for_code(self.owner), self.__name__)(*args, **kwargs)


def _is(a: Any, b: Any) -> bool:
    return a is b


def is_one(a: Any, b: Any) -> bool:
    """Return whether two things are one, where a stand-in is the generator, or the method, that it stands for."""
    a, b = (x.method if type(x) is _Method else original_of(x) for x in (a, b))
    return a is b


def of_global(name: str, method: str = "") -> Any:
    """Return a function of `numpy.random` that draws in traces too, from the global generator."""
    function = getattr(np.random, name)

    def draw(*args: Any, **kwargs: Any) -> Any:
        builder = active()
        if builder is None:
            return function(*args, **kwargs)
        return getattr(traced_form(np.random.mtrand._rand, builder), method or name)(*args, **kwargs)

    functools.update_wrapper(draw, function, assigned=("__doc__",), updated=())
    draw.__name__ = draw.__qualname__ = name
    return draw
