"""Changes of what properties and special methods read."""

import functools

from tests.tracing.captured.case import case, special

SPECIAL = {
    "call": ({"__call__": lambda o, x: x * o.value}, lambda o, x: o(x)),
    "getitem": ({"__getitem__": lambda o, i: o.value}, lambda o, x: x * o[0]),
    "len": ({"__len__": lambda o: int(o.value)}, lambda o, x: x * len(o)),
    "bool": ({"__bool__": lambda o: o.value > 3}, lambda o, x: x * 2 if o else x),
    "float": ({"__float__": lambda o: o.value}, lambda o, x: x * float(o)),
    "index": ({"__index__": lambda o: int(o.value)}, lambda o, x: x * [0, 1, 2, 3, 4, 5][o]),
    "iter": ({"__iter__": lambda o: iter([o.value])}, lambda o, x: x * next(iter(o))),
    "contains": ({"__contains__": lambda o, v: v == o.value}, lambda o, x: x * 2 if 2.0 in o else x),
    "add": ({"__radd__": lambda o, y: y + o.value}, lambda o, x: x * (1 + o)),
    "getattr": ({"__getattr__": lambda o, name: vars(o)["value"]}, lambda o, x: x * o.anything),
    "enter": (
        {"__enter__": lambda o: o.value, "__exit__": lambda o, *_: None},
        lambda o, x: _with(o, x),
    ),
    "property": ({"twice": property(lambda o: 2 * o.value)}, lambda o, x: x * o.twice),
    "static method": ({"twice": staticmethod(lambda v: 2 * v)}, lambda o, x: x * o.twice(o.value)),
    "hash": ({"__hash__": lambda o: int(o.value)}, lambda o, x: x * hash(o)),
    "format": ({"__format__": lambda o, spec: str(o.value)}, lambda o, x: x * float(f"{o}")),
}


def _with(o, x):
    with o as value:
        return x * value


def _special_case(name, members, read):
    def make():
        o = special(**members)
        yield lambda x: read(o, x)
        o.value = 5.0

    make.__name__ = f"special_method_{name}"
    case(make)


for _name, (_members, _read) in SPECIAL.items():
    _special_case(_name, _members, _read)


@case
def property_replaced():
    class Model:
        rate = property(lambda self: 1.0)

    o = Model()
    yield lambda x: x * o.rate
    Model.rate = property(lambda self: 2.0)


@case
def special_method_replaced():
    class Model:
        def __call__(self, x):
            return x

    o = Model()
    yield lambda x: o(x)
    Model.__call__ = lambda self, x: x * 3


@case
def method_replaced_on_the_object():
    class Model:
        def act(self, x):
            return x

    o = Model()
    yield lambda x: o.act(x)
    o.act = lambda x: x * 3


@case
def method_replaced_on_the_class():
    class Model:
        def act(self, x):
            return x

    o = Model()
    yield lambda x: o.act(x)
    Model.act = lambda self, x: x * 3


@case
def method_that_appears_in_a_subclass():
    class Base:
        def act(self, x):
            return x

    class Model(Base):
        pass

    o = Model()
    yield lambda x: o.act(x)
    Model.act = lambda self, x: x * 3


@case
def super_method_replaced():
    class Base:
        def act(self, x):
            return x

    class Model(Base):
        def act(self, x):
            return super().act(x) * 2

    o = Model()
    yield lambda x: o.act(x)
    Base.act = lambda self, x: x * 3


@case
def state_of_super():
    class Base:
        gain = 1.0

        def act(self, x):
            return x * self.gain

    class Model(Base):
        def act(self, x):
            return super().act(x) * 2

    o = Model()
    yield lambda x: o.act(x)
    Base.gain = 4.0


@case
def class_method():
    class Model:
        gain = 1.0

        @classmethod
        def act(cls, x):
            return x * cls.gain

    yield lambda x: Model.act(x)
    Model.gain = 4.0


@case
def descriptor():
    class Field:
        def __init__(self):
            self.factor = 1.0

        def __get__(self, instance, owner):
            return self.factor

    class Model:
        rate = Field()

    o = Model()
    yield lambda x: x * o.rate
    vars(Model)["rate"].factor = 3.0


@case
def cached_property():
    class Model:
        @functools.cached_property
        def rate(self):
            return 1.0

    o = Model()
    yield lambda x: x * o.rate
    o.__dict__["rate"] = 3.0


@case
def attribute_that_getattribute_computes():
    class Model:
        def __init__(self):
            self.value = 1.0

        def __getattribute__(self, name):
            return object.__getattribute__(self, "value") * 2 if name == "rate" else object.__getattribute__(self, name)

    o = Model()
    yield lambda x: x * o.rate
    o.value = 3.0
