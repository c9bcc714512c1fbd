"""Tests of frozen keys: equal where type and value agree at every depth, and nowhere else."""

import collections
import dataclasses
import datetime
import decimal
import enum
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshape.support.freezing import Frozen, freeze

Low = collections.namedtuple("Low", "lo hi")
High = collections.namedtuple("High", "hi lo")


@dataclasses.dataclass(frozen=True)
class Setting:
    value: object
    note: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass(frozen=True)
class Other:
    value: object


class Level(enum.IntEnum):
    ONE = 1


class Ours(tuple):
    """A tuple that is equal to itself only."""

    __slots__ = ()

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


UTC, LATER = datetime.UTC, datetime.timezone(datetime.timedelta(hours=1))
SCALARS = {
    "True": True, "1": 1, "1.0": 1.0, "1j0": 1 + 0j, "int64": np.int64(1), "int8": np.int8(1), "f8": np.float64(1),
    "f4": np.float32(1), "c8": np.complex64(1), "bool_": np.True_, "enum": Level.ONE, "decimal": decimal.Decimal(1),
    "decimal 1.0": decimal.Decimal("1.0"), "0": 0, "0.0": 0.0, "-0.0": -0.0, "False": False, "-0 f4": np.float32(-0.0),
    "0 f4": np.float32(0.0), "nan": math.nan, "nan f4": np.float32("nan"), "None": None, "text": "1", "bytes": b"1",
    "str_": np.str_("1"), "range": range(0), "other range": range(5, 0), "type": int, "other type": float,
    "long": np.longdouble(1), "day": np.datetime64("2020-01-01"), "hour": np.datetime64("2020-01-01T00"),
    "noon": datetime.datetime(2020, 1, 1, 12, tzinfo=UTC), "one": datetime.datetime(2020, 1, 1, 13, tzinfo=LATER),
}  # fmt: skip
CONTAINERS = {
    "tuple": lambda x: (x,), "pair": lambda x: (x, x), "frozenset": lambda x: frozenset([x]),
    "Low": lambda x: Low(x, 2),
    "High": lambda x: High(x, 2), "dataclass": Setting, "other dataclass": Other, "slice": lambda x: slice(None, x),
    "nested": lambda x: Setting((Low(frozenset([(x,)]), 2),)), "list": lambda x: [x], "dict": lambda x: {"k": x},
    "deep": lambda x: {"k": [x]}, "set": lambda x: {x},
}  # fmt: skip


def test_scalars_differ_by_type_and_value_in_every_container():
    keys = {}
    for (container, wrap), (name, x) in itertools.product({"bare": lambda x: x, **CONTAINERS}.items(), SCALARS.items()):
        keys.setdefault(freeze(wrap(x)), []).append(f"{container} {name}")
    assert [names for names in keys.values() if len(names) > 1] == []


COPIES = {
    **SCALARS, "complex nan": complex(math.nan, -0.0), "NaN of decimals": decimal.Decimal("NaN"),
    "c8 nan": np.complex64(complex(1, math.nan)),
}  # fmt: skip


def copied(x):
    """Return an equal value that is another object, where Python can make one."""
    if isinstance(x, np.generic):
        return np.array(x)[()]
    return type(x)(str(x)) if isinstance(x, (float, decimal.Decimal)) else x


@pytest.mark.parametrize("name", COPIES)
def test_equal_values_share_a_key_in_every_container(name):
    x = COPIES[name]
    for wrap in CONTAINERS.values():
        assert freeze(wrap(copied(x))) == freeze(wrap(copied(x)))
        assert hash(Frozen(wrap(copied(x)))) == hash(Frozen(wrap(copied(x))))


def test_every_sign_of_a_complex_zero_is_a_value():
    parts = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
    for kind in (complex, np.complex64, np.complex128):
        assert len({freeze((kind(complex(a, b)),)) for a in parts for b in parts}) == len(parts) ** 2


def test_payloads_of_nan_do_not_count():
    quiet, other = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(float)
    assert freeze((quiet,)) == freeze((other,)) and freeze(float(quiet)) == freeze(float(other))
    assert freeze(frozenset([quiet, other])) != freeze(frozenset([quiet]))


def test_the_equality_of_a_class_counts():
    assert freeze(Setting(1, "a")) == freeze(Setting(1, "b"))  # a field that is not compared
    assert freeze(Ours([1])) != freeze(Ours([1]))
    one = Ours([1])
    assert freeze(one) == freeze(one)
    by_identity = dataclasses.dataclass(eq=False)(type("Box", (), {"__annotations__": {"x": int}}))
    assert freeze(by_identity(1)) != freeze(by_identity(1))


def test_what_does_not_hash_has_a_key():
    small, large = np.arange(3), np.zeros(1000)
    assert freeze([small]) == freeze([small.copy()]) != freeze([small + 1])
    assert freeze([small]) != freeze([small.astype(float)])
    assert freeze([large]) == freeze([large]) != freeze([large.copy()])  # held by reference
    assert freeze({"a": [1, {2}]}) == freeze({"a": [1, {2}]}) != freeze({"a": [1, {2.0}]})
    assert isinstance(hash(Frozen({"a": [small, large, object()]})), int)
    assert repr(Frozen((1, "a"))) == "(1, 'a')"


VALUES = st.recursive(
    st.one_of(
        st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, -0.0, 1.0, 2.0, math.nan]), st.none(),
        st.text("1", max_size=1),
        st.complex_numbers(max_magnitude=1).map(lambda z: complex(round(z.real), round(z.imag))),
        st.sampled_from([np.float32(1), np.int8(0), np.True_]),
    ),
    lambda parts: st.one_of(
        st.lists(parts, max_size=2).map(tuple), st.frozensets(parts, max_size=2), st.builds(Low, parts, parts),
        st.builds(High, parts, parts), st.builds(Setting, parts),
    ),
    max_leaves=4,
)  # fmt: skip


def written(x):
    """Return a text that tells apart types and values at every depth."""
    if isinstance(x, frozenset):
        return f"frozenset{sorted(map(written, x))}"
    if isinstance(x, (tuple, Setting)):
        parts = (x.value,) if isinstance(x, Setting) else x
        return f"{type(x).__name__}({', '.join(map(written, parts))})"
    return f"{type(x).__name__} {x!r}"


@given(VALUES, VALUES)
def test_keys_agree_exactly_where_type_and_value_do(a, b):
    assert (freeze(a) == freeze(b)) == (written(a) == written(b))
    assert freeze(a) == freeze(a) and isinstance(hash(Frozen(a)), int)
