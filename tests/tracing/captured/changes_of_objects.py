"""Changes of attributes."""

import abc
import copy
import dataclasses
import enum
import io
import operator
import os
import queue
import threading
import types
import weakref

import numpy as np

from tests.tracing.captured.case import Scale, case, on_the_list, scaled_by


@case
def attribute_read_in_a_helper():
    o = Scale()
    yield lambda x: scaled_by(o, x)
    o.value = 4.0


@case
def attribute_of_an_attribute():
    o = types.SimpleNamespace(inner=Scale())
    yield lambda x: x * o.inner.value
    o.inner.value = 4.0


@case
def attribute_by_a_text():
    o = Scale()
    yield lambda x: x * getattr(o, "value")  # noqa: B009 (the text is the point)
    o.value = 4.0


@case
def attribute_by_a_text_made_up():
    o, part = Scale(), "val"
    yield lambda x: x * getattr(o, part + "ue")
    o.value = 4.0


@case
def attribute_by_vars():
    o = Scale()
    yield lambda x: x * sum(vars(o).values())
    o.value = 4.0


@case
def attribute_added_that_vars_sees():
    o = Scale()
    yield lambda x: x * sum(vars(o).values())
    o.other = 4.0


@case
def attribute_by_the_dict():
    o, name = Scale(), "value"
    yield lambda x: x * o.__dict__[name]
    o.value = 4.0


@case
def attribute_by_attrgetter():
    o, get = types.SimpleNamespace(inner=Scale()), operator.attrgetter("inner.value")
    yield lambda x: x * get(o)
    o.inner.value = 4.0


@case
def attribute_in_a_format():
    o = Scale()
    yield lambda x: x * float("{0.value}".format(o))  # noqa: UP030, UP032
    o.value = 4.0


@case
def attribute_by_a_pattern():
    o = Scale()

    def f(x):
        match o:
            case Scale(value=1.0):
                return x
            case _:
                return x * 2

    yield f
    o.value = 4.0


@case
def attribute_by_position_in_a_pattern():
    class Point:
        __match_args__ = ("a",)

        def __init__(self):
            self.a = 1.0

    o = Point()

    def f(x):
        match o:
            case Point(v):
                return x * v

    yield f
    o.a = 4.0


@case
def attribute_deleted_with_a_default_in_the_class():
    class Model:
        value = 3.0

    o = Model()
    o.value = 1.0
    yield lambda x: x * o.value
    del o.value


@case
def attribute_that_appears():
    o = Scale()
    yield lambda x: x * getattr(o, "gain", 2.0)
    o.gain = 4.0


@case
def attribute_that_hasattr_asks_for():
    o = Scale()
    yield lambda x: x * (3 if hasattr(o, "gain") else 2)
    o.gain = 4.0


@case
def attribute_that_is_tried():
    o = Scale()

    def f(x):
        try:
            return x * o.gain
        except AttributeError:
            return x

    yield f
    o.gain = 4.0


@case
def attribute_of_the_class():
    class Model:
        value = 1.0

    o = Model()
    yield lambda x: x * o.value
    Model.value = 3.0


@case
def attribute_of_a_base():
    class Base:
        value = 1.0

    class Model(Base):
        pass

    o = Model()
    yield lambda x: x * o.value
    Base.value = 3.0


@case
def attribute_of_the_metaclass():
    class Meta(type):
        value = 1.0

    class Model(metaclass=Meta):
        pass

    yield lambda x: x * Model.value
    Meta.value = 3.0


@case
def bases_of_a_class():
    class A:
        value = 1.0

    class B:
        value = 2.0

    class Model(A):
        pass

    o = Model()
    yield lambda x: x * o.value
    Model.__bases__ = (B,)


@case
def class_of_an_object():
    class A:
        value = 1.0

    class B:
        value = 2.0

    o = A()
    yield lambda x: x * o.value
    o.__class__ = B


@case
def dict_of_an_object():
    o = Scale()
    yield lambda x: x * o.value
    o.__dict__ = {"value": 4.0}


@case
def attribute_renamed():
    o = types.SimpleNamespace(a=True)
    yield lambda x: x * (2 if hasattr(o, "a") else 3)
    del o.a
    o.b = True


@case
def slots():
    class Slotted:
        __slots__ = ("a", "b")

    o = Slotted()
    o.a = 1.0
    yield lambda x: x * o.a
    o.a = 3.0


@case
def slot_that_is_filled_later():
    class Slotted:
        __slots__ = ("a",)

    o = Slotted()
    yield lambda x: x * getattr(o, "a", 1.0)
    o.a = 3.0


@case
def slot_of_a_base():
    class Base:
        __slots__ = ("a",)

    class Slotted(Base):
        __slots__ = ("b",)

    o = Slotted()
    o.a = [1.0]
    yield lambda x: x * o.a[0]
    o.a[0] = 3.0


@case
def slot_behind_a_property():
    class Slotted:
        __slots__ = ("_a",)

        def __init__(self):
            self._a = 1.0

        @property
        def a(self):
            return self._a

    o = Slotted()
    yield lambda x: x * o.a
    o._a = 3.0


@case
def private_attribute():
    class Private:
        def __init__(self):
            self.__a = 1.0

        def get(self):
            return self.__a

        def put(self, a):
            self.__a = a

    o = Private()
    yield lambda x: x * o.get()
    o.put(4.0)


@case
def data_class():
    @dataclasses.dataclass
    class Config:
        rate: float = 1.0

    o = Config()
    yield lambda x: x * o.rate
    o.rate = 3.0


@case
def data_class_as_a_tuple():
    @dataclasses.dataclass
    class Config:
        rate: float = 1.0
        more: float = 2.0

    o = Config()
    yield lambda x: x * sum(dataclasses.astuple(o))
    o.more = 3.0


@case
def data_class_with_slots():
    @dataclasses.dataclass(slots=True)
    class Config:
        rate: float = 1.0

    o = Config()
    yield lambda x: x * o.rate
    o.rate = 3.0


@case
def copy_of_an_object():
    o = Scale()
    yield lambda x: x * vars(copy.copy(o))["value"]
    o.value = 3.0


@case
def equality_of_data_classes():
    @dataclasses.dataclass
    class Config:
        rate: float = 1.0

    a, b = Config(), Config()
    yield lambda x: x * 2 if a == b else x * 3
    a.rate = 5.0


@case
def namespace_object():
    o = types.SimpleNamespace(a=1.0)
    yield lambda x: x * o.a
    o.a = 3.0


@case
def member_of_an_enum():
    class Mode(enum.Enum):
        A = 1
        B = 2

    o = types.SimpleNamespace(mode=Mode.A)
    yield lambda x: x * o.mode.value
    o.mode = Mode.B


@case
def cycle_of_objects():
    a, b = Scale(), Scale(2.0)
    a.other, b.other = b, a
    yield lambda x: x * a.other.other.value
    a.value = 5.0


@case
def deep_list_of_layers():
    layers = [types.SimpleNamespace(parts=[Scale(float(i)) for i in range(3)]) for _ in range(4)]
    yield lambda x: x + sum(p.value for layer in layers for p in layer.parts)
    layers[3].parts[2].value = 50.0


@case
def arguments_of_an_exception():
    o = ValueError(1.0)
    yield lambda x: x * o.args[0]
    o.args = (3.0,)


@case
def attribute_of_an_exception():
    o = ValueError()
    o.value = 1.0
    yield lambda x: x * o.value
    o.value = 3.0


@case
def coefficients_of_a_polynomial():
    o = np.polynomial.Polynomial([1.0, 2.0])
    yield lambda x: x * o(2.0)
    o.coef[0] = 3.0


@case
def value_in_a_weak_dictionary():
    o, w = Scale(), weakref.WeakValueDictionary()
    w["a"] = o
    yield lambda x: x * w["a"].value
    o.value = 3.0


@case
def weak_dictionary_changed():
    o, other, w = Scale(), Scale(5.0), weakref.WeakValueDictionary()
    w["a"] = o
    yield lambda x: x * w["a"].value
    w["a"] = other
    yield


@case
def descriptor_that_keeps_a_private_name():
    class Field:
        def __set_name__(self, owner, name):
            self.name = f"_{name}"

        def __get__(self, instance, owner=None):
            return getattr(instance, self.name)

        def __set__(self, instance, value):
            setattr(instance, self.name, value)

    class Model:
        rate = Field()

    o = Model()
    o.rate = 1.0
    yield lambda x: x * o.rate
    o.rate = 3.0


@case
def attribute_of_a_subclass_of_float():
    class Rate(float):
        pass

    o = Rate(2.0)
    o.unit = 1.0
    yield lambda x: x * o.unit
    o.unit = 3.0


@case
def attribute_of_a_class_by_a_text_made_up():
    kind, part = type("Kind", (), {"value": 2.0}), "val"
    yield lambda x: x * getattr(kind, part + "ue")
    kind.value = 4.0


@case
def attribute_by_the_getattr_of_a_metaclass():
    values = [2.0]
    kind = type("Meta", (type,), {"__getattr__": lambda kind, name: values[0]})("Kind", (), {})
    yield lambda x: x * kind.anything
    values[0] = 4.0


@case
def object_of_a_class_that_cannot_be_hashed():
    o = type("Meta", (type,), {"__eq__": lambda a, b: a is b})("Kind", (), {"value": 2.0})()
    yield lambda x: x * o.value
    o.value = 4.0


@case
def object_behind_a_weak_proxy():
    o = Scale()
    proxy = weakref.proxy(o)
    yield lambda x: x * proxy.value
    o.value = 4.0


@case
def class_registered_with_an_abstract_class():
    abstract, o = abc.ABCMeta("Abstract", (), {"__module__": __name__}), Scale(2.0)
    yield lambda x: x * (3.0 if isinstance(o, abstract) else 2.0)
    abstract.register(Scale)


@case
def class_derived_later():
    base, later = type("Base", (), {}), []
    yield lambda x: x * len(base.__subclasses__())
    later.append(type("Derived", (base,), {}))


@case
def attribute_of_a_derived_class():
    base = type("Base", (), {})
    derived = type("Derived", (base,), {"value": 2.0})
    yield lambda x: x * sum(kind.value for kind in base.__subclasses__())
    derived.value = 4.0


@case
def length_of_a_queue():
    jobs = queue.Queue()
    yield lambda x: x * jobs.qsize()
    jobs.put(1)


@case
def event_that_is_set():
    event = threading.Event()
    yield lambda x: x * (3.0 if event.is_set() else 2.0)
    event.set()


@case
def file_in_memory():
    file = io.StringIO("2.5")
    yield lambda x: x * float(file.getvalue())
    file.write("3")


@on_the_list("a TextIOWrapper holds a position")
def file_that_is_open():
    with open(os.devnull) as file:
        yield lambda x: x * (2.0 if file.closed else 1.0)
