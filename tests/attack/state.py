"""Random state that a function reads besides its arguments, and random changes of it between calls."""

import collections
import functools

import numpy as np


class Plain:
    """Object with a dict of attributes."""


class Slotted:
    """Object whose attributes are slots."""

    __slots__ = ("a", "b", "c")


class Derived(Plain):
    """Object with a property, a method and a special method, which read other attributes."""

    scale = 2.0

    @property
    def twice(self):
        return self.a * 2

    def shifted(self, x):
        return x + number(self.b)

    def __getitem__(self, key):
        return getattr(self, key)


Pair = collections.namedtuple("Pair", "first second")


def number(value):
    """Return the number that a part of the state stands for, however it is nested."""
    for kinds, read in NUMBERS:
        if isinstance(value, kinds):
            return read(value)
    if callable(value):
        return number(value())
    slots = type(value).__slots__ if isinstance(value, Slotted) else vars(value)
    return weighted(getattr(value, name) for name in slots)


def weighted(parts):
    """Return a sum that depends on the order of the parts."""
    return sum(number(part) * (i + 1) for i, part in enumerate(parts))


NUMBERS = (
    ((bool, int, float), float),
    (np.ndarray, lambda x: float(x.sum())),
    (str, lambda x: float(len(x))),
    (dict, lambda x: weighted(x.values())),
    ((set, frozenset), lambda x: sum(map(number, x))),
    ((list, tuple, collections.deque), weighted),
    (functools.partial, lambda x: x(1.0)),
)


def leaf(rng):
    """Return a number, a text or a small array."""
    kind = rng.integers(5)
    if kind == 0:
        return float(np.round(rng.normal(), 2))
    if kind == 1:
        return int(rng.integers(9))
    if kind == 2:
        return bool(rng.integers(2))
    if kind == 3:
        return "x" * int(rng.integers(4))
    return rng.integers(0, 9, size=rng.integers(1, 4)).astype(float)


def tree(rng, depth):
    """Return random nested state."""
    if depth == 0:
        return leaf(rng)
    parts = [tree(rng, depth - 1) for _ in range(3)]
    kinds = (
        lambda: list(parts),
        lambda: tuple(parts),
        lambda: dict(zip("abc", parts, strict=True)),
        lambda: collections.deque(parts),
        lambda: collections.OrderedDict(zip("cab", parts, strict=True)),
        lambda: Pair(parts[0], parts[1]),
        lambda: {float(rng.integers(9)), "set", 2.5},
        lambda: filled(Plain(), parts),
        lambda: filled(Slotted(), parts),
        lambda: filled(Derived(), parts),
        lambda: lambda default=parts[0]: default,
        lambda: functools.partial(lambda a, b, one: (number(a) + number(b)) * one, parts[0], parts[1]),
        lambda: closure(parts[0]),
    )
    return kinds[rng.integers(len(kinds))]()


def filled(target, parts):
    target.a, target.b, target.c = parts
    return target


def closure(value):
    def read():
        return value

    return read


def mutable_parts(value, parts=None):
    """Return every mutable part of the state."""
    parts = [] if parts is None else parts
    if any(value is part for part in parts):
        return parts
    if isinstance(value, (list, dict, set, collections.deque, Plain, Slotted, np.ndarray)) or callable(value):
        parts.append(value)
    for part in parts_of(value):
        mutable_parts(part, parts)
    return parts


def parts_of(value):
    """Return the parts one level below."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, collections.deque)):
        return list(value)
    if isinstance(value, functools.partial):
        return list(value.args)
    if isinstance(value, (Plain, Slotted)):
        return [getattr(value, name) for name in "abc"]
    if callable(value) and hasattr(value, "__code__"):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [*cells, *(value.__defaults__ or ())]
    return []


def change(rng, state):
    """Change one part of the state in place, and say how."""
    mutable = mutable_parts(state)
    target = mutable[rng.integers(len(mutable))]
    new = tree(rng, int(rng.integers(2)))
    if isinstance(target, np.ndarray):
        target[rng.integers(target.size)] += 1
        return "an element of an array"
    if isinstance(target, dict):
        target["abcd"[rng.integers(4)]] = new
        return "an entry of a dict"
    if isinstance(target, set):
        target.add(float(rng.integers(100)))
        return "a set"
    if isinstance(target, (list, collections.deque)):
        if rng.integers(2) or not target:
            target.append(new)
        else:
            target[rng.integers(len(target))] = new
        return "an item of a list"
    if isinstance(target, (Plain, Slotted)):
        setattr(target, "abc"[rng.integers(3)], new)
        return "an attribute"
    if getattr(target, "__defaults__", None):
        target.__defaults__ = (new,)
        return "a default"
    if getattr(target, "__closure__", None) and target.__name__ == "read":
        target.__closure__[0].cell_contents = new
        return "a cell"
    return "nothing"
