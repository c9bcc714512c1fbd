"""Freeze values to keys that are equal where type and value agree at every depth.

In Python `1 == 1.0 == True` and `0.0 == -0.0`, and NaN is unequal to itself. Programs that such values are built into
may differ.
"""

import datetime
import enum
import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.support.packages import decimal

_SMALL = 4096  # bytes of an array that is compared by content
_SAME: Any = object.__eq__  # of classes that compare by identity
_HASH_OF_SAME: Any = object.__hash__


def freeze(x: Any) -> Any:
    """Return a hashable key that is equal for values of one type and value, at every depth.

    - NaN equals itself, 0.0 is not -0.0 and 1 is neither 1.0 nor True.
    - Containers, dataclasses and attrs classes are compared by their parts, all other objects by their `==`.
    """
    if (kind := type(x)) is int or kind is bool:
        return kind, x
    if kind is tuple:
        return kind, *map(freeze, x)
    if (rule := _RULES.get(kind)) is not None:
        return rule(x)
    if kind in _ATOMS or (kind.__eq__ is _SAME and kind.__hash__ is _HASH_OF_SAME):
        return x
    return _of_other(kind, x)


class Frozen:
    """Value that hashes and compares by its frozen key, and prints as itself."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.key = value, freeze(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)


class Identity:
    """Object that is compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def frozen_setting(x: Any) -> Frozen | Identity:
    """Return an argument that is static by its type as part of a key: an object by identity.

    Its own `==` may leave out what a program depends on.
    """
    equal: Any = type(x).__eq__
    is_own = type(equal) is types.FunctionType and not isinstance(x, enum.Enum)
    return Identity(x) if is_own else Frozen(x)


def is_frozen_setting(key: Any) -> bool:
    """Return whether a key is one of `frozen_setting`."""
    return isinstance(key, (Frozen, Identity))


# Values of these classes equal nothing of another class; nor do objects that are compared by identity.
_ATOMS = frozenset({str, bytes, type(None), type(Ellipsis), type, types.FunctionType})


def _of_other(kind: type, x):
    """Freeze a value whose class has no rule of its own."""
    if issubclass(kind, np.dtype):
        return _of_dtype(x)
    rule = next((rule for base, rule in _bases("decimal" in sys.modules).items() if issubclass(kind, base)), None)
    if rule is not None:
        return kind, rule(x), *_own_equality(kind, x)
    if (names := _fields(kind)) is not None:
        return kind, *[freeze(getattr(x, name, None)) for name in names]
    return kind, _hashable(x)


def _own_equality(kind: type, x) -> tuple[Any, ...]:
    """Return the value itself if its class defines its own `==`, which then counts too."""
    inherited = any(kind.__eq__ is base.__eq__ for base in _bases("decimal" in sys.modules))
    return () if inherited or issubclass(kind, np.generic) else (_hashable(x),)


def _fields(kind: type) -> list[str] | None:
    """Return the fields that the generated `==` of a dataclass or attrs class compares, None for other classes."""
    equal = getattr(kind.__eq__, "__code__", None)
    if equal is None or not equal.co_filename.startswith("<"):  # not generated
        return None
    if "__attrs_attrs__" in vars(kind):
        return [a.name for a in vars(kind)["__attrs_attrs__"] if a.eq]
    fields = getattr(kind, "__dataclass_fields__", None)
    return None if fields is None else [name for name, field in fields.items() if field.compare]


def _hashable(x):
    """Return a value, or its identity if it has no hash."""
    try:
        hash(x)
    except TypeError:
        return Identity(x)
    return x


def _parts(xs: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(freeze, xs))


def _of_dtype(x: np.dtype) -> tuple[Any, ...]:
    return np.dtype, x  # C has two classes for one integer: long long and long


def _of_set(xs: set[Any] | frozenset[Any]) -> tuple[Any, ...]:
    return len(xs), frozenset([freeze(x) for x in xs])  # a set may hold several NaN


def _of_scalar(x) -> tuple[Any, ...]:
    """Freeze a scalar of NumPy: a float by its shortest digits, which are one text for every NaN, others by bytes."""
    if x.dtype.hasobject:
        return x.dtype, _hashable(x.item())
    return x.dtype, np.format_float_scientific(x) if x.dtype.kind == "f" else x.tobytes()


def _of_array(x: np.ndarray):
    if x.dtype.hasobject or x.nbytes > _SMALL:
        return Identity(x)
    return x.dtype, x.shape, x.tobytes()


def _of_range(x) -> tuple[Any, ...]:
    return type(x), freeze(x.start), freeze(x.stop), freeze(x.step)


def _of_time(x) -> tuple[Any, ...]:
    return x.replace(tzinfo=None), x.tzinfo, x.fold


# Rules for classes as they are. A key is an atom, or a tuple that starts with the class.
_RULES: dict[type, Callable[[Any], Any]] = {
    float: lambda x: (float, float.__repr__(x)),
    complex: lambda x: (complex, complex.__repr__(x)),
    range: _of_range,
    slice: _of_range,
    **{type(np.dtype(code)): _of_dtype for code in np.typecodes["All"]},
}

# Rules for all other classes by their base. The first base counts: np.float64 is a float too.
_BASES: dict[type, Callable[[Any], Any]] = {
    np.complexfloating: lambda x: (_of_scalar(x.real), _of_scalar(x.imag)),
    np.generic: _of_scalar,
    np.ndarray: _of_array,
    int: int.__int__,
    float: float.__repr__,
    complex: complex.__repr__,
    tuple: _parts,
    frozenset: _of_set,
    set: _of_set,
    list: _parts,
    dict: lambda x: tuple([(freeze(key), freeze(value)) for key, value in x.items()]),
    datetime.datetime: _of_time,
    datetime.time: _of_time,
}


@functools.cache
def _bases(with_decimal: bool) -> dict[type, Callable[[Any], Any]]:
    """Return the rules by base. No value is a decimal while nothing has loaded that module."""
    return {**_BASES, decimal.Decimal: decimal.Decimal.as_tuple} if with_decimal else _BASES


def checked_parts(kind: type, parts: Any) -> Any:
    """Return what the `flatten` of a class gave; raise ArgumentError unless it is children and other data."""
    if isinstance(parts, tuple) and len(parts) in (2, 3) and hasattr(parts[0], "__iter__"):
        return parts
    advice = "return the children and other data, as in lambda p: ((p.x, p.y), None)"
    raise ArgumentError(kind.__name__, "its flatten", f"gives {parts!r:.50}", advice)
