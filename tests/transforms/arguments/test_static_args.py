"""Tests of static arguments: two values share a program only if type and value agree at every depth."""

import collections
import dataclasses
import enum
import functools
import itertools
import math
import pickle

import numpy as np
import pytest

from anyshape import checkpoint, grad, hessian, hvp, jacfwd, jacrev, jit, jvp, value_and_grad, vjp, vmap
from anyshape.errors import ArgumentError, SizeMismatchError
from tests.support.test_freezing import CONTAINERS, High, Low, Setting

NUMBERS = [True, 1, 1.0, 1 + 0j, np.float32(1), np.int8(1), 0.0, -0.0, complex(1, -0.0), complex(-0.0, 0.0), math.nan]
HASHABLE = {name: wrap for name, wrap in CONTAINERS.items() if name not in ("list", "dict", "deep", "set", "slice")}


def number_in(x):
    """Return the one number in a static value."""
    while not isinstance(x, (bool, int, float, complex, np.generic)):
        if isinstance(x, slice):
            x = x.stop
        else:
            x = x.value if dataclasses.is_dataclass(x) else next(iter(x))
    return x


@pytest.mark.parametrize("container", HASHABLE)
def test_each_type_and_value_has_its_own_program(container):
    f, x = jit(lambda x, static: x * number_in(static), static_argnums=1), np.arange(3, dtype=np.float32)
    for _, number in itertools.product(range(3), NUMBERS):
        got, expected = f(x, HASHABLE[container](number)), x * number
        assert got.dtype == expected.dtype, number
        assert got.tobytes() == expected.tobytes() or np.isnan(number), number
    assert f.cache_info().traces == len(NUMBERS)


def test_named_tuples_of_two_classes_are_two_programs():
    f, x = jit(lambda x, c: x * c[0].lo, static_argnames="c"), np.arange(3.0)
    for pair in (Low(2.0, 3.0), High(2.0, 3.0), Low(2.0, 3.0), High(2.0, 3.0)):
        np.testing.assert_array_equal(f(x, c=(pair,)), x * pair.lo)
    assert f.cache_info().traces == 2


def test_nan_does_not_trace_again():
    f = jit(lambda x, s: x + s.value[0], static_argnums=1)
    for _ in range(4):
        assert np.isnan(f(1.0, Setting((float("nan"),))))
    assert f.cache_info().traces == 1


def test_what_does_not_hash_is_still_refused():
    f = jit(lambda x, s: x, static_argnums=1)
    for value in ([1], ([1],), Setting([1]), {"a": 1}, np.ones(2)):
        with pytest.raises(ArgumentError, match="cannot be hashed"):
            f(1.0, value)


@dataclasses.dataclass(frozen=True)
class Scale:
    """A function that equals another one if its factor does."""

    factor: object

    def __call__(self, x):
        return np.sum(x * x) * self.factor


@pytest.mark.parametrize("transform", [
    lambda f, x: jvp(f, (x,), (x,))[1], lambda f, x: vjp(f, x)[1](1.0)[0], lambda f, x: hvp(f, (x,), (x,)),
    lambda f, x: grad(f)(x),
])  # fmt: skip
def test_functions_that_are_equal_but_differ_in_type_keep_their_own_derivatives(transform):
    x = np.ones(2, np.float32)
    for factor in (1, np.float64(1), 1, np.float64(2), True, np.float64(1)):
        got = transform(Scale(factor), x)
        expected = transform(lambda x, factor=factor: np.sum(x * x) * factor, x)
        assert np.asarray(got).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(got, expected)


def test_a_static_default_dict_key_order_counts():
    f = jit(lambda x, names: x * names.index("b"), static_argnames="names")
    counts = collections.Counter()
    for names in (("a", "b"), ("b", "a"), ("a", "b")):
        counts[float(f(1.0, names=names))] += 1
    assert counts == {1.0: 2, 0.0: 1}


# -- static arguments that change in place


class Options:
    """An object that is compared by identity, with what code of each kind reads of it."""

    scale = 2.0
    __slots__ = ("__dict__", "slot")

    def __init__(self):
        self.rate, self.layers, self.w, self.slot = 2.0, [2.0, {"a": 2.0}], np.full(3, 2.0), 2.0
        self.inner = None

    def __call__(self, x):
        return x * self.rate

    @property
    def doubled(self):
        return self.inner.rate if self.inner else self.rate


@dataclasses.dataclass(frozen=True)
class Partly:
    name: str
    items: list = dataclasses.field(default_factory=lambda: [2.0], compare=False)


FACTOR = 2.0


def helper(x):
    return x * FACTOR


def counting(x, options):
    options.count = getattr(options, "count", 0) + 1
    return x * options.rate


def set_item(container, key, value=5.0):
    container[key] = value


def set_factor(_, value=5.0):
    globals()["FACTOR"] = value


CHANGES = {
    "an attribute": (Options, lambda x, o: x * o.rate, lambda o: setattr(o, "rate", 5.0)),
    "a property": (Options, lambda x, o: x * o.doubled, lambda o: setattr(o, "rate", 5.0)),
    "an attribute of the class": (Options, lambda x, o: x * o.scale, lambda o: setattr(type(o), "scale", 5.0)),
    "a slot": (Options, lambda x, o: x * o.slot, lambda o: setattr(o, "slot", 5.0)),
    "a list": (Options, lambda x, o: x * o.layers[0], lambda o: set_item(o.layers, 0)),
    "a dict in a list": (Options, lambda x, o: x * o.layers[1]["a"], lambda o: set_item(o.layers[1], "a")),
    "an array": (Options, lambda x, o: x * float(o.w[0]), lambda o: o.w.fill(5.0)),
    "its call": (Options, lambda x, o: o(x), lambda o: setattr(o, "rate", 5.0)),
    "by name": (Options, lambda x, o: x * getattr(o, "ra" + "te"), lambda o: setattr(o, "rate", 5.0)),
    "an object in it": (Options, lambda x, o: x * o.doubled, lambda o: setattr(o, "inner", Partly("a"))),
    "in a tuple": (lambda: ((Options(),),), lambda x, o: x * o[0][0].rate, lambda o: setattr(o[0][0], "rate", 5.0)),
    "a field that is not compared": (lambda: Partly("a"), lambda x, o: x * o.items[0], lambda o: set_item(o.items, 0)),
    "a global of a function": (lambda: helper, lambda x, f: f(x), set_factor),
    "a method": (lambda: Options().__call__, lambda x, f: f(x), lambda f: setattr(f.__self__, "rate", 5.0)),
    "a class": (lambda: type("A", (), {"rate": 2.0}), lambda x, c: x * c.rate, lambda c: setattr(c, "rate", 5.0)),
    "a partial function": (
        lambda: functools.partial(lambda w, x: x * w[0], [2.0]), lambda x, f: f(x), lambda f: set_item(f.args[0], 0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", ["static_argnums", "static_argnames"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_static_argument_that_changes_in_place_is_noticed(name, how, monkeypatch):
    make, function, change = CHANGES[name]
    monkeypatch.setattr(Options, "scale", 2.0)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    if name == "an object in it":
        monkeypatch.setattr(Partly, "rate", 5.0, raising=False)
    static, x = make(), np.arange(3.0)
    f = jit(function, **{how: 1 if how == "static_argnums" else function.__code__.co_varnames[1]})
    for _ in range(3):
        np.testing.assert_array_equal(f(x, static), function(x, static))
    assert f.cache_info().traces == 1
    change(static)
    for _ in range(3):
        np.testing.assert_array_equal(f(x, static), function(x, static))
    assert f.cache_info().traces == 2 and f(x, static)[1] == 5.0


def test_a_static_argument_that_changes_back_shares_its_program():
    options, x = Options(), np.arange(3.0)
    f = jit(lambda x, o: x * o.rate, static_argnums=1)
    for rate in (2.0, 3.0, 2.0, 3.0):
        options.rate = rate
        np.testing.assert_array_equal(f(x, options), x * rate)
    assert (f.cache_info().traces, f.explain().revalidations) == (2, 2)
    reasons = [str(r) for p in f.explain().programs for r in p.because]
    assert "o.rate: 2.0 when traced, 3.0 now" in reasons[-1]


def test_other_static_values_keep_their_programs():
    first, second, x = Options(), Options(), np.arange(3.0)
    f = jit(lambda x, o: x * o.rate, static_argnums=1)
    f(x, first), f(x, second)
    first.rate = 7.0
    np.testing.assert_array_equal(f(x, second), x * 2.0)
    assert f.cache_info().traces == 2
    np.testing.assert_array_equal(f(x, first), x * 7.0)
    assert f.cache_info().traces == 3


def test_what_a_trace_changes_in_a_static_argument_is_its_own():
    options, x = Options(), np.arange(3.0)
    f = jit(counting, static_argnums=1)
    for n in (1, 2, 3):
        f(np.ones(n), options), f(np.ones((n, n)), options)
    assert f.cache_info().traces == 2 and options.count == 6
    options.count = 0
    f(x, options)
    assert f.cache_info().traces == 2 and options.count == 1


def test_a_static_argument_of_a_derivative_is_watched():
    options = Options()
    derivative = grad(jit(lambda x, o: x * o.rate, static_argnums=1))
    assert derivative(1.0, options) == 2.0
    options.rate = 5.0
    assert derivative(1.0, options) == 5.0


# -- static by themselves ----------------------------------------------------------------------------------------


class Mode(enum.Enum):
    DOUBLE = 2
    TRIPLE = 3


class Number(enum.IntEnum):
    DOUBLE = 2


def scaled(x, mode=None, *, then=None):
    """Scale x as a text, a member of an enum or a function says."""
    if callable(mode):
        return mode(x)
    factor = {"double": 2, Mode.DOUBLE: 2, Mode.TRIPLE: 3, None: 1}[mode]
    return x * factor if then is None else then(x * factor)


SETTINGS = [None, "double", Mode.DOUBLE, Mode.TRIPLE, np.sin, np.cos, lambda x: x * x]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_texts_members_of_enums_and_functions_are_static_by_themselves(n):
    f, x = jit(scaled), np.linspace(0.1, 0.9, n)
    for _, mode, then in itertools.product(range(2), SETTINGS, [None, np.tanh]):
        np.testing.assert_allclose(f(x, mode, then=then), scaled(x, mode, then=then))
    assert f.cache_info().traces == 2 * len(SETTINGS)


def test_one_program_of_a_setting_serves_every_size():
    f = jit(scaled)
    for n in (5, 0, 1, 2):
        np.testing.assert_allclose(f(np.ones(n), mode="double"), 2 * np.ones(n))
    assert f.cache_info().traces == 1


@pytest.mark.parametrize("mode", SETTINGS[1:])
@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_transforms_take_settings(mode, wrap):
    x, one = np.array([0.3, 0.7]), wrap(scaled)
    total = wrap(lambda x, mode: np.sum(scaled(x, mode)))
    slope = vjp(lambda x: scaled(x, mode), x)[1](np.ones(2))[0]
    np.testing.assert_allclose(grad(total)(x, mode), slope)
    np.testing.assert_allclose(jit(grad(total))(x, mode), slope)
    np.testing.assert_allclose(jacfwd(one)(x, mode), np.diag(slope))
    np.testing.assert_allclose(jacrev(one)(x, mode), np.diag(slope))
    np.testing.assert_allclose(hessian(total)(x, mode), jacfwd(lambda x: grad(total)(x, mode))(x))
    np.testing.assert_allclose(vmap(one)(x, mode), scaled(x, mode))
    np.testing.assert_allclose(vmap(one, in_axes=(0, None))(x, mode), scaled(x, mode))
    np.testing.assert_allclose(vmap(vmap(one))(x[None], mode), scaled(x[None], mode))


def test_an_absent_setting_at_another_position_is_another_program():
    f = jit(lambda a, b: (0 if a is None else 1) + (0 if b is None else 10))
    assert [int(f(*args)) for args in ((None, "a"), ("a", None), ("a", "a"), (None, None))] == [10, 1, 11, 0]


def test_a_member_of_an_int_enum_keeps_its_identity():
    f = jit(lambda x, number: x * 2 if number is Number.DOUBLE else x)
    assert [float(f(1.0, k)) for k in (Number.DOUBLE, 2, Number.DOUBLE)] == [2, 1, 2]


def test_a_function_among_the_arguments_is_watched():
    weights = np.ones(2)

    def weighted(x):
        return x * weights

    f = jit(lambda x, function: function(x))
    np.testing.assert_array_equal(f(np.ones(2), weighted), [1, 1])
    weights[0] = 7
    np.testing.assert_array_equal(f(np.ones(2), weighted), [7, 1])


def test_a_call_with_another_setting_is_explained():
    f = jit(scaled)
    f(np.ones(2), None)
    assert "'double'" in str(f.explain_call(np.ones(2), "double"))


def test_a_traced_value_without_a_format_prints_its_repr():
    texts = []
    f = jit(lambda x: (texts.append(f"{x[0]}"), x * 2)[1])
    np.testing.assert_array_equal(f(np.ones(2)), [2, 2])
    assert "f64[]" in texts[0]


# -- static arguments of every transform -------------------------------------------------------------------------


def power_sum(x, n, sign=1):
    """Return the sum of powers; a traced n has no range."""
    assert type(n) is int
    return sign * sum(np.sum(x**k) for k in range(n))


TRANSFORMS = [grad, value_and_grad, jacfwd, jacrev, hessian, checkpoint]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_takes_static_arguments_and_shapes(transform):
    x = np.arange(1.0, 4.0)
    expected = [transform(lambda x, n=n: power_sum(x, n))(x) for n in (2, 4)]
    for options in (
        {"static_argnums": 1},
        {"static_argnames": "n"},
        {"static_argnums": -2, "dynamic_shapes": {"x": "m"}},
    ):
        g = transform(power_sum, **options)
        for call in (g, pickle.loads(pickle.dumps(g)), jit(lambda x, n, g=g: g(x, n), static_argnums=1)):
            for n, value in zip((2, 4, 2), (*expected, expected[0]), strict=True):
                for result in (call(x, n), call(x, n=n)):
                    for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (result, value)), strict=True):
                        np.testing.assert_allclose(one, other)
        before = g.cache_info().traces
        g(np.ones(7), 2)
        assert g.cache_info().traces == before == (4 if transform is checkpoint else 2)  # which sees keywords


def test_a_declared_size_of_a_derivative_is_checked():
    with pytest.raises(SizeMismatchError):
        grad(lambda x, y: np.sum(x) * np.sum(y), dynamic_shapes={"x": "n", "y": "n"})(np.ones(2), np.ones(3))


def test_vmap_does_not_map_static_arguments():
    def rows(x, n, y):
        return x[:n] * len(range(n)) + y

    x, y = np.ones((4, 3)), np.arange(4.0)
    f = vmap(rows, static_argnums=1)
    np.testing.assert_allclose(f(x, 2, y), 2 + y[:, None] * np.ones(2))
    np.testing.assert_allclose(f(x, n=2, y=y), 2 + y[:, None] * np.ones(2))
    np.testing.assert_allclose(vmap(rows, (0, None, None), static_argnames="n")(x, 1, 3.0), np.full((4, 1), 4.0))
    np.testing.assert_allclose(vmap(grad(power_sum, static_argnums=1), static_argnums=1)(x, 3), 1 + 2 * x)


def test_static_arguments_of_a_method_count_the_object():
    class Model:
        weights = np.array([1.0, 2.0])

        def loss(self, x, n):
            return power_sum(x * self.weights, n)

        slope = grad(loss, static_argnums=2)
        rows = vmap(loss, static_argnames="n")

    x = np.array([3.0, 4.0])
    np.testing.assert_allclose(Model().slope(x, 3), Model.weights * (1 + 2 * x * Model.weights))
    np.testing.assert_allclose(Model().rows(x[None], 3), [power_sum(x * Model.weights, 3)])


def test_a_derivative_in_a_static_argument_is_refused():
    for argnums in (1, -2, (0, 1)):
        with pytest.raises(ArgumentError, match="n is static"):
            grad(power_sum, argnums, static_argnames="n")
