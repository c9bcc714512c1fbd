"""Changes of containers at any depth."""

import collections
import types

import numpy as np

from tests.tracing.captured.case import case


@case
def nested_list():
    w = [[1.0], [2.0]]
    yield lambda x: x * w[0][0]
    w[0][0] = 5.0


@case
def list_grows():
    w = [1.0]
    yield lambda x: x * sum(w)
    w.append(2.0)


@case
def list_shrinks():
    w = [1.0, 2.0]
    yield lambda x: x * sum(w)
    w.pop()


@case
def list_reordered():
    w = [1.0, 2.0]
    yield lambda x: x * (w[0] - 3 * w[1])
    w.reverse()


@case
def items_slide_from_one_list_to_the_next():
    a, b = [1.0, 2.0], [3.0]
    w = [a, b]
    yield lambda x: x * sum(w[0])
    b.insert(0, a.pop())


@case
def dict_in_a_list():
    w = [{"a": 1.0}]
    yield lambda x: x * w[0]["a"]
    w[0]["a"] = 2.0


@case
def key_added():
    w = {"a": 1.0}
    yield lambda x: x * len(w)
    w["b"] = 1.0


@case
def key_renamed():
    w = {"a": 1.0}
    yield lambda x: x * (2 if "a" in w else 3)
    w["b"] = w.pop("a")


@case
def keys_swapped():
    one, two = object(), object()
    w = {one: 1.0, two: 2.0}
    yield lambda x: x * list(w.values())[0]  # noqa: RUF015
    w[one] = w.pop(one)


@case
def set_changed():
    w = {1, 2}
    yield lambda x: x * sum(w)
    w.add(7)


@case
def set_in_a_dict():
    w = {"a": {1, 2}}
    yield lambda x: x * sum(w["a"])
    w["a"].discard(2)


@case
def frozen_set_of_objects():
    box = types.SimpleNamespace(v=1.0)
    w = frozenset([Hashed(box)])
    yield lambda x: x * next(iter(w)).box.v
    box.v = 3.0


class Hashed:
    def __init__(self, box):
        self.box = box


@case
def deque_changed():
    w = collections.deque([1.0, 2.0])
    yield lambda x: x * w[0]
    w.rotate()


@case
def default_dict_changed():
    w = collections.defaultdict(float)
    yield lambda x: x + sum(w.values())
    w["a"] += 3.0


@case
def factory_of_a_default_dict():
    w = collections.defaultdict(lambda: 1.0)
    yield lambda x: x * dict(w).get("a", w.default_factory())
    w.default_factory = lambda: 2.0


@case
def ordered_dict_reordered():
    w = collections.OrderedDict(a=1.0, b=2.0)
    yield lambda x: x * next(iter(w.values()))
    w.move_to_end("a")


@case
def counter_changed():
    w = collections.Counter("aab")
    yield lambda x: x * w["a"]
    w["a"] += 1


@case
def chain_map_changed():
    first = {"a": 1.0}
    w = collections.ChainMap({}, first)
    yield lambda x: x * w["a"]
    first["a"] = 4.0


@case
def user_dict_changed():
    w = collections.UserDict(a=1.0)
    yield lambda x: x * w["a"]
    w["a"] = 4.0


@case
def user_list_changed():
    w = collections.UserList([1.0])
    yield lambda x: x * w[0]
    w[0] = 4.0


@case
def mapping_proxy_changed():
    inner = {"a": 1.0}
    w = types.MappingProxyType(inner)
    yield lambda x: x * w["a"]
    inner["a"] = 4.0


@case
def view_of_a_dict():
    inner = {"a": 1.0}
    w = inner.values()
    yield lambda x: x * sum(w)
    inner["b"] = 4.0


@case
def view_of_items():
    inner = {"a": 1.0}
    w = inner.items()
    yield lambda x: x * sum(v for _, v in w)
    inner["a"] = 4.0


@case
def named_tuple_that_holds_a_list():
    Pair = collections.namedtuple("Pair", "a b")
    w = Pair([1.0], 2.0)
    yield lambda x: x * w.a[0]
    w.a[0] = 4.0


@case
def subclass_of_dict():
    class Config(dict):
        def __getattr__(self, name):
            return self[name]

    w = Config(rate=1.0)
    yield lambda x: x * w.rate
    w["rate"] = 4.0


@case
def subclass_of_list_with_its_own_iterator():
    class Doubled(list):
        def __iter__(self):
            return (2 * v for v in list.__iter__(self))

    w = Doubled([1.0])
    yield lambda x: x * sum(w)
    w[0] = 4.0


@case
def int_becomes_bool():
    w = [1]
    yield lambda x: x * 2 if isinstance(w[0], bool) else x * 3
    w[0] = True


@case
def int_becomes_float():
    w = {"a": 2}
    yield lambda x: (x.sum().astype(int) * w["a"]) / (3 if isinstance(w["a"], int) else 5)
    w["a"] = 2.0


@case
def numpy_scalar_changes_its_dtype():
    w = [np.float32(2)]
    yield lambda x: x * (w[0].itemsize)
    w[0] = np.float64(2)


@case
def container_that_holds_itself():
    w = [1.0]
    w.append(w)
    yield lambda x: x * w[1][1][0]
    w[0] = 2.0


@case
def list_in_a_cell_of_a_list_of_functions():
    w = [1.0]
    fs = [lambda x: x * w[0]]
    yield lambda x: fs[0](x)
    w[0] = 3.0
