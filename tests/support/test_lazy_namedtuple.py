"""Deferred named tuples behave like standard ones from the first instance on."""

import copy
import pickle
import typing

import optree
import pytest

from anyshape.support.lazy_dataclass import NamedTuple


class Point(NamedTuple):
    """A pair with a default, and a method."""

    x: int
    y: int = 3

    def total(self):
        return self.x + self.y


class Single(NamedTuple):
    value: object


class Standard(typing.NamedTuple):
    x: int
    y: int = 3


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("instance", [Point(1), Point(y=5, x=2), Single([1])])
def test_an_instance_copies_and_pickles(instance, way):
    assert way(instance) == instance and type(way(instance)) is type(instance)
    assert repr(way(instance)) == repr(instance)


def test_it_is_the_standard_one():
    ours, theirs = Point(1), Standard(1)
    assert ours == theirs == (1, 3) and hash(ours) == hash(theirs)
    assert repr(ours) == repr(theirs).replace("Standard", "Point")
    assert ours._asdict() == theirs._asdict() and ours._fields == theirs._fields
    assert ours._field_defaults == theirs._field_defaults and Point.__match_args__ == Standard.__match_args__
    assert ours._replace(y=9) == theirs._replace(y=9) == Point._make([1, 9])
    assert type(ours._replace(x=0)) is Point and ours.total() == 4
    assert not hasattr(ours, "__dict__") and Point.__bases__[0].__mro__[1:] == tuple.__mro__
    assert optree.is_namedtuple(ours) and type(Point) is type


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Point(),
        lambda: Point(1, 2, 3),
        lambda: Point(1, z=2),
        lambda: Point(1)._replace(z=2),
        lambda: Point._make([1, 2, 3]),
    ],
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(TypeError):
        wrong()


def test_fields_are_read_only():
    with pytest.raises(AttributeError):
        Point(1).x = 2


def test_a_pattern_matches_fields():
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_subclass_that_is_used_first():
    class Late(NamedTuple):
        value: int
        other: int = 2

    class Sub(Late):
        __slots__ = ()

    assert Sub(1) == (1, 2) and type(Sub(1)) is Sub and type(Late(1)) is Late
    assert Late.__new__.__qualname__.endswith("Late.__new__") and Late.__new__.__globals__["__name__"] == __name__


def test_a_tuple_of_more_fields_than_there_are_getters_is_refused():
    with pytest.raises(TypeError, match="16 fields"):
        type(NamedTuple)("Wide", (NamedTuple,), {"__annotations__": {f"a{i}": int for i in range(17)}})
