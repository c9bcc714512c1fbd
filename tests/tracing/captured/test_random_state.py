"""Random object graphs, changed at random: the program gives the number that the function gives without it."""

import collections
import types

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import anyshape

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
X = np.array([1.0, 2.0])
NUMBERS = st.sampled_from([0.0, -0.0, 1, 1.0, True, False, 2, 2.5, np.float32(2), np.int64(1)])


class Plain:
    a = 5
    b = 7


class Slotted:
    __slots__ = ("a", "b")
    c = 3


class Callable:
    def __init__(self, a):
        self.a = a

    def __call__(self):
        return weight(self.a)


def function_of(a):
    def call(b=a):
        return weight(a) + 2 * weight(b)

    return call


def weight(o):
    """Return a number that depends on everything in an object, on the types of numbers and on the order of items."""
    if isinstance(o, (bool, int, float, np.generic)):
        return float(o) + {"bool": 0.25, "int": 0.5}.get(type(o).__name__, 0) + 0.125 * bool(np.signbit(o))
    if isinstance(o, np.ndarray):
        return float((o * np.arange(1, o.size + 1)).sum()) + o.ndim
    if isinstance(o, dict):
        return sum((i + 1) * weight(v) + len(str(k)) for i, (k, v) in enumerate(o.items()))
    if isinstance(o, (set, frozenset)):
        return sum(map(weight, o)) + 0.5
    if isinstance(o, (list, tuple, collections.deque)):
        return sum((i + 1) * weight(v) for i, v in enumerate(o))
    return o() if callable(o) else attributes(o)


def attributes(o):
    return 3 * weight(getattr(o, "a", 0)) + weight(getattr(o, "b", 1)) + weight(getattr(o, "c", 2))


def named_attributes(o):
    total = 0.0
    for name in ("a", "b", "c"):
        if hasattr(o, name):
            total = 2 * total + weight({"a": lambda: o.a, "b": lambda: o.b, "c": lambda: o.c}[name]())
    return total


def made(kind, parts):
    """Return an object that holds others."""
    if kind in (Plain, Slotted, types.SimpleNamespace):
        o = kind()
        for name, part in zip("abc" if kind is not Slotted else "ab", parts, strict=False):
            setattr(o, name, part)
        return o
    if kind is dict:
        return dict(zip("pqr", parts, strict=False))
    return kind(parts) if kind in (list, tuple, collections.deque) else kind(parts[0])


KINDS = [list, tuple, collections.deque, dict, Plain, Slotted, types.SimpleNamespace, Callable, function_of]
LEAVES = st.one_of(
    NUMBERS,
    st.lists(st.integers(0, 9), max_size=4).map(lambda v: np.array(v, float)),
    st.sets(st.integers(0, 9), max_size=3),
)
STATES = st.recursive(
    LEAVES,
    lambda inner: st.builds(made, st.sampled_from(KINDS), st.lists(inner, min_size=1, max_size=3)),
    max_leaves=12,
)


def mutable_parts(o, seen):
    """Yield the parts that can change in place."""
    if id(o) in seen:
        return
    seen.add(id(o))
    if isinstance(o, types.FunctionType):
        inner = [c.cell_contents for c in o.__closure__] + list(o.__defaults__)
        yield o
    elif isinstance(o, dict):
        inner = list(o.values())
        yield o
    elif isinstance(o, (list, tuple, collections.deque)):
        inner = list(o)
        if not isinstance(o, tuple):
            yield o
    elif isinstance(o, (set, np.ndarray)):
        inner = []
        yield o
    elif isinstance(o, (Plain, Slotted, types.SimpleNamespace, Callable)):
        inner = [getattr(o, name) for name in "abc" if hasattr(o, name)]
        yield o
    else:
        return
    for part in inner:
        yield from mutable_parts(part, seen)


def change_array(o, value, which):
    if o.size:
        o[which % o.size] = value if isinstance(value, (int, float, np.generic)) else which


def change_set(o, value, which):
    o.symmetric_difference_update({which % 10})


def change_dict(o, value, which):
    if which % 3 == 0 and o:
        first = next(iter(o))
        o[first] = o.pop(first)
    else:
        o["pqrs"[which % 4]] = value


def change_list(o, value, which):
    if which % 3 == 0 or not o:
        o.append(value)
    elif which % 3 == 1:
        o[which % len(o)] = value
    else:
        o.pop()


def change_function(o, value, which):
    if which % 2:
        o.__defaults__ = (value,)
    else:
        o.__closure__[0].cell_contents = value


def change_attribute(o, value, which):
    name = "ab"[which % 2]
    if which % 3 == 0 and name in getattr(o, "__dict__", {}) and not isinstance(o, Callable):
        delattr(o, name)
    else:
        setattr(o, name, value)


CHANGES = {np.ndarray: change_array, set: change_set, dict: change_dict, list: change_list}
CHANGES |= {collections.deque: change_list, types.FunctionType: change_function}


@pytest.mark.parametrize("read", [attributes, named_attributes], ids=lambda f: f.__name__)
def test_random_changes_are_noticed(read):
    @settings(max_examples=60, deadline=None, phases=PHASES)
    @given(st.data())
    def check(data):
        root = types.SimpleNamespace(a=data.draw(STATES))
        program = anyshape.jit(lambda x: x * read(root))
        program(X)
        for _ in range(data.draw(st.integers(1, 3))):
            parts = list(mutable_parts(root, set()))
            part = parts[data.draw(st.integers(0, len(parts) - 1))]
            change = CHANGES.get(type(part), change_attribute)
            change(part, data.draw(st.one_of(NUMBERS, LEAVES)), data.draw(st.integers(0, 11)))
            right = X * read(root)
            np.testing.assert_array_equal(program(X), right)
            before = program.cache_info().traces + program.explain().revalidations
            np.testing.assert_array_equal(program(X), right)
            assert program.cache_info().traces + program.explain().revalidations == before

    check()
