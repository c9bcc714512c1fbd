"""Deferred dataclasses behave like standard ones from the first instance on."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from anyshape.support.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A frozen class with slots, a default and a field that is not compared."""

    x: int
    y: int = 3
    note: list = dataclasses.field(default_factory=list, compare=False)

    def total(self):
        return self.x + self.y


@dataclass(frozen=True)
class Base:
    first: int
    second: str = "text"


@dataclass(frozen=True)
class Derived(Base):
    third: int = 5


@dataclass
class Mutable:
    values: list = dataclasses.field(default_factory=list)


@dataclass(slots=True)
class MutableSlots:
    value: int


INSTANCES = [Point(1, 2), Base(1), Derived(1, "a", 2), Mutable([1]), MutableSlots(4)]


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_an_instance_copies_and_pickles(instance, way):
    assert way(instance) == instance
    assert repr(way(instance)) == repr(instance)


def test_methods_are_those_of_a_dataclass():
    assert repr(Point(1)) == "Point(x=1, y=3, note=[])"
    assert Point(1, 2, [0]) == Point(1, 2, [1]) != Point(2, 2)
    assert hash(Point(1)) == hash(Point(1)) and Point(1).total() == 4
    assert dataclasses.replace(Point(1), y=9) == Point(1, 9)
    assert [f.name for f in dataclasses.fields(Derived(1))] == ["first", "second", "third"]
    assert Derived(1) != Base(1) and Mutable().values is not Mutable().values
    with pytest.raises(TypeError):
        hash(Mutable())


def test_frozen_instances_do_not_change():
    for instance in (Point(1), Base(1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(instance, dataclasses.fields(instance)[0].name, 2)
    assert not hasattr(Point(1), "__dict__")


def test_a_plain_subclass_of_a_frozen_class_has_attributes_of_its_own():
    class Named(Base):
        def __init__(self, first):
            super().__init__(first)
            self.name = "own"

    assert Named(1).name == "own" and Named(1).first == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        Named(1).first = 2


def test_threads_that_make_the_first_instances():
    for _ in range(50):

        @dataclass(frozen=True)
        class Shared:
            value: int
            other: str = "text"

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(Shared, [1] * 16))) == 1


def test_a_pattern_matches_fields():
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_methods_are_generated_at_their_first_call():
    @dataclass(frozen=True)
    class Late:
        value: int

    before = dict(vars(Late))
    assert Late(1) == Late(1)
    after = vars(Late)
    assert after["__init__"] is not before["__init__"] and after["__eq__"] is not before["__eq__"]
    assert after["__hash__"] is before["__hash__"]


@pytest.mark.parametrize("kind", [Point, Base, Derived, Mutable, MutableSlots])
def test_the_standard_library_sees_a_dataclass(kind):
    standard = dataclasses.make_dataclass("Standard", [(f.name, f.type, f) for f in dataclasses.fields(kind)])
    assert dataclasses.is_dataclass(kind) and kind.__match_args__ == standard.__match_args__
    for field, other in zip(dataclasses.fields(kind), dataclasses.fields(standard), strict=True):
        assert (field.name, field.default, field.compare) == (other.name, other.default, other.compare)
    instance = kind(7)
    assert dataclasses.asdict(instance) == {f.name: getattr(instance, f.name) for f in dataclasses.fields(kind)}
    assert kind.__dataclass_params__.frozen == (kind in (Point, Base, Derived))


def test_a_standard_dataclass_extends_a_declared_one():
    @dataclasses.dataclass(frozen=True)
    class Extended(Derived):
        fourth: list = dataclasses.field(default_factory=list)

    assert repr(Extended(1, fourth=[2])).endswith("Extended(first=1, second='text', third=5, fourth=[2])")

    @dataclass(frozen=True)
    class Back(Extended):
        fifth: int = 6

    assert Back(1, fourth=[2]) == Back(1, "text", 5, [2], 6) != Back(1)
    with pytest.raises(TypeError):

        @dataclasses.dataclass
        class Thawed(Base):
            pass


def test_the_default_of_a_field_is_an_attribute_of_its_class():
    assert Derived.second == "text" and not hasattr(Mutable, "values")
    assert Mutable(values=[1]) == Mutable([1])


@pytest.mark.slow
def test_an_instance_is_unpickled_in_a_process_that_has_made_none():
    loads = "import pickle, sys; a, b = pickle.loads(sys.stdin.buffer.read()); assert a == b and hash(a) == hash(b)"
    for make in (Point, Base, Derived):
        pair = pickle.dumps((make(1), make(1)))
        subprocess.run([sys.executable, "-c", loads], input=pair, check=True)


def test_generated_methods_belong_to_the_module_of_their_class():
    """The search for the line of a user passes over frames of the library, generated methods among them."""
    Point(1)
    assert Point.__init__.__globals__["__name__"] == __name__
