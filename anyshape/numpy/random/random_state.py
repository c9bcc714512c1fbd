"""Legacy generators of NumPy that are arguments of a traced function, or that it closes over.

Their methods draw when the program runs, and give the numbers of `RandomState`.

Random generators of NumPy that are arguments of a traced function, or that it closes over.

Their methods draw when the program runs.

Generators that a traced function closes over: what stands for them while it is traced.

A stand-in is the generator itself for all code outside of traces, as for that of other threads. Inside of a trace its
methods draw when the program runs, from the generator, which is a constant of the program.
"""

import functools
import operator
import types
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Builder, Traced, active, active_builders
from anyshape.graph.ir.graph import DrawOrder, drawing
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.indexing import take, take_along_axis
from anyshape.numpy.linalg.decompositions import eigh, svd
from anyshape.numpy.linalg.solving import cholesky
from anyshape.numpy.operands.promotion import asarray, axis_of, choice_of, flag_of, sizes
from anyshape.numpy.random.draws import BITS, INT, Draws, integer_parameter, parameter, refused, written_into
from anyshape.ops import movement as mv
from anyshape.ops import random as rd
from anyshape.support.true_types import has_type


class LegacyTraced(Traced):
    """Value of a generator that is a `RandomState`."""

    __slots__ = ()


class TracedRandomState(Draws, np.random.RandomState):
    """`RandomState` of the function being traced; its methods are NumPy's."""

    def __init__(self, traced: Traced) -> None:
        super().__init__(BITS)
        self.traced = LegacyTraced(traced.builder, traced.value)

    # -- base draws

    def random_sample(self, size: Any = None) -> Any:
        return self._typed("random", (), size, np.float64, None)

    random = random_sample

    def rand(self, *size: Any) -> Any:
        return self.random_sample(size or None)

    def standard_normal(self, size: Any = None) -> Any:
        return self._typed("standard_normal", (), size, np.float64, None)

    def randn(self, *size: Any) -> Any:
        return self.standard_normal(size or None)

    def standard_exponential(self, size: Any = None) -> Any:
        return self._typed("standard_exponential", (), size, np.float64, None)

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        return self._typed("standard_gamma", [parameter("standard_gamma", "shape", shape)], size, np.float64, None)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        return self._integers("randint", low, high, size, dtype)

    # -- vectors and positions

    def multivariate_normal(self, mean, cov, size=None, check_valid: str = "warn", tol: float = 1e-8) -> Any:
        z, mean, cov = self._normal_rows(mean, cov, size, check_valid, check_valid, tol)
        _, squares, rows = svd(cov)
        return mean + z @ (np.sqrt(squares)[:, None] * rows)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        return self._chosen(a, size, p, 0, (("replace", flag_of("choice", "replace", replace)),))

    def permutation(self, x: Any) -> Any:
        return self._permutation(x)

    def shuffle(self, x: Any) -> None:
        self._shuffle(x)

    # -- methods without a meaning in a program

    seed: Any = refused("seed")
    get_state: Any = refused("get_state")
    set_state: Any = refused("set_state")
    tomaxint: Any = refused("tomaxint")
    random_integers: Any = refused("random_integers")


def traced_generator(traced: Traced, kind: type | None) -> Any:
    """Return the traced form of a generator of a class, which may be `RandomState`."""
    return TracedRandomState(traced) if kind is np.random.RandomState else TracedGenerator(traced)


def generator_kind(x: Traced) -> type | None:
    """Return `RandomState` for the value of one, None for others."""
    return np.random.RandomState if isinstance(x, LegacyTraced) else None


TracedRandomState.__name__ = TracedRandomState.__qualname__ = np.random.RandomState.__name__  # as messages name it


class TracedGenerator(Draws, np.random.Generator):
    """Generator of the function being traced; its methods are NumPy's."""

    def __init__(self, traced: Traced) -> None:
        super().__init__(BITS)
        self.traced = traced

    # -- base draws

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return self._typed("random", (), size, dtype, out)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return self._typed("standard_normal", (), size, dtype, out)

    def standard_exponential(self, size=None, dtype=np.float64, method: str = "zig", out=None) -> Any:
        options = (("method", choice_of("standard_exponential", "method", method, ("zig", "inv"))),)
        return self._typed("standard_exponential", (), size, dtype, out, options)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return self._typed("standard_gamma", [parameter("standard_gamma", "shape", shape)], size, dtype, out)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint: bool = False) -> Any:
        options = (("endpoint", flag_of("integers", "endpoint", endpoint)),)
        return self._integers("integers", low, high, size, dtype, options)

    def multivariate_hypergeometric(self, colors, nsample, size=None, method: str = "marginals") -> Any:
        name = "multivariate_hypergeometric"
        colors, count = integer_parameter(name, "colors", colors, INT), integer_parameter(name, "nsample", nsample, INT)
        if len(sizes(colors)) != 1:
            raise ArgumentError(name, "colors", "has not one axis", "give the number of elements of each color")
        options = (("method", choice_of(name, "method", method, ("count", "marginals"))),)
        return self._rows(name, (colors, count), colors, size, INT, options)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8, *,
        method: str = "svd",
    ) -> Any:  # fmt: skip
        choice_of("multivariate_normal", "method", method, ("svd", "eigh", "cholesky"))
        checked = "ignore" if method == "cholesky" else check_valid
        z, mean, cov = self._normal_rows(mean, cov, size, check_valid, checked, tol)
        return mean + z @ _factor(cov, method).T

    # -- positions

    def choice(self, a, size=None, replace: bool = True, p=None, axis: int = 0, shuffle: bool = True) -> Any:
        options = (
            ("replace", flag_of("choice", "replace", replace)),
            ("shuffle", flag_of("choice", "shuffle", shuffle)),
        )
        return self._chosen(a, size, p, axis, options)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        return self._permutation(x, axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        self._shuffle(x, axis)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        x = asarray(x, None, "permuted")
        if axis is None:
            count = numel(sizes(x))
            result = mv.reshape(take(mv.reshape(x, (count,)), self._permuted((count,), 0)), sizes(x))
        else:
            axis = axis_of(axis, len(sizes(x)), "permuted")
            result = take_along_axis(x, self._permuted(sizes(x), axis), axis=axis)
        return written_into(out, result)

    def _permuted(self, shape: Sequence[Size], axis: int):
        options = (("axis", axis),)
        return rd.draw(self._one("permuted"), "permuted", shape, dtype=INT, options=options)[0].as_ndarray()

    # -- methods without a meaning in a program

    spawn: Any = refused("spawn")
    bit_generator: Any = property(refused("bit_generator"))


TracedGenerator.__name__ = TracedGenerator.__qualname__ = np.random.Generator.__name__  # as messages name it


def _factor(cov, method: str):
    """Return a matrix whose product with its transpose is the covariance."""
    if method == "cholesky":
        return cholesky(cov)
    if method == "eigh":
        squares, vectors = eigh(cov)
        return vectors * np.sqrt(np.abs(squares))
    u, squares, _ = svd(cov)
    return u * np.sqrt(squares)


# arrays that hold generators, by the id of the generator: a graph has one constant for each
_ARRAYS: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()


def _for_code(original):
    """Return what the code that runs draws from: a traced generator in a trace, the generator itself elsewhere."""
    builder = active()
    return original if builder is None else traced_form(original, builder)


class _StandIn:
    """Generator that a traced function closes over."""

    def __init__(self, original: Any) -> None:
        super().__init__(BITS)  # type: ignore[call-arg]  # of the generator that stands behind this class
        object.__setattr__(self, "original", original)

    def __getattribute__(self, name: str) -> Any:
        return getattr(_for_code(original_of(self)), name)

    def __repr__(self) -> str:
        return repr(_for_code(original_of(self)))

    __str__ = __repr__


class _GeneratorStandIn(_StandIn, np.random.Generator):
    """`Generator` that a traced function closes over."""


class _StateStandIn(_StandIn, np.random.RandomState):
    """`RandomState` that a traced function closes over."""


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
        return x if all(map(operator.is_, parts, x)) else parts
    if has_type(x, drawing()):
        if hasattr(x, "traced") or type(x) in _STAND_INS:
            return x
        return _StateStandIn(x) if has_type(x, np.random.RandomState) else _GeneratorStandIn(x)
    owner = x.__self__ if type(x) is types.MethodType else None
    if has_type(owner, drawing()) and not hasattr(owner, "traced") and type(owner) not in _STAND_INS:
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


def is_one(a: Any, b: Any) -> bool:
    """Return whether two things are one, where a stand-in is the generator, or the method, that it stands for."""
    a, b = (x.method if type(x) is _Method else original_of(x) for x in (a, b))
    return a is b


def of_global(name: str, method: str) -> Any:
    """Return a function of `numpy.random` that draws in traces too, by a method of the global generator."""
    function = getattr(np.random, name)

    def draw(*args, **kwargs):
        if (builder := active()) is None:
            return function(*args, **kwargs)
        return getattr(traced_form(np.random.mtrand._rand, builder), method)(*args, **kwargs)

    functools.update_wrapper(draw, function, assigned=("__doc__",), updated=())
    draw.__name__ = draw.__qualname__ = name
    return draw
