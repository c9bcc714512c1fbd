"""A program holds what its function read when it was traced; the cache must notice when that has changed."""

import copy
import functools
import pickle
import types

import numpy as np
import pytest

import anyshape

scale = 2.0
table = {"w": np.array([1.0, 2.0])}


def helper(x):
    return x * scale


def calls_helper(x):
    return np.sum(helper(x))


@pytest.fixture
def restore():
    before = scale, dict(table), helper
    yield
    globals()["scale"], globals()["helper"] = before[0], before[2]
    table.clear()
    table.update(before[1])


def test_a_rebound_global_of_a_callee_is_seen(restore):
    gradient = anyshape.grad(calls_helper)
    x = np.ones(3)
    np.testing.assert_array_equal(gradient(x), [2.0, 2.0, 2.0])
    globals()["scale"] = 5.0
    np.testing.assert_array_equal(gradient(x), [5.0, 5.0, 5.0])
    assert gradient.cache_info()[:3] == (2, 0, 1)


def test_a_redefined_callee_is_seen(restore):
    program = anyshape.jit(calls_helper)
    assert program(np.ones(2)) == 4.0
    globals()["helper"] = lambda x: x * 10
    assert program(np.ones(2)) == 20.0


def test_a_rebound_closure_variable_is_seen():
    data = np.array([1.0, 2.0])
    loss = anyshape.value_and_grad(lambda w: np.sum(w * data))
    np.testing.assert_array_equal(loss(np.ones(2))[1], [1.0, 2.0])
    data = np.array([3.0, 4.0])
    np.testing.assert_array_equal(loss(np.ones(2))[1], [3.0, 4.0])


def test_an_array_changed_in_place_is_seen_without_a_trace():
    data = np.array([1.0, 2.0])
    total = anyshape.jit(lambda w: np.sum(w * data))
    assert total(np.ones(2)) == 3.0
    data[:] = 10.0
    assert total(np.ones(2)) == 20.0
    assert total.cache_info().traces == 1


def test_an_entry_of_a_closed_over_dict_is_seen(restore):
    total = anyshape.jit(lambda x: np.sum(x * table["w"]))
    assert total(np.ones(2)) == 3.0
    table["w"] = np.array([5.0, 5.0])
    assert total(np.ones(2)) == 10.0


def test_a_global_of_a_function_inside_is_seen(restore):
    program = anyshape.jit(lambda x: sum(map(lambda row: np.sum(row * scale), [x, x])))  # noqa: C417 (a lambda inside is the point)
    assert program(np.ones(2)) == 8.0
    globals()["scale"] = 5.0
    assert program(np.ones(2)) == 20.0


def test_a_list_that_grows_is_seen():
    factors = [2.0]
    program = anyshape.jit(lambda x: x * np.prod(factors))
    assert program(np.ones(1)) == 2.0
    factors.append(3.0)
    assert program(np.ones(1)) == 6.0


def test_nothing_rebound_is_never_traced_again():
    limit, names = float("nan"), ("a", 1)
    count = anyshape.jit(lambda x: x + (0.0 if limit == limit else float(len(names))))
    for n in (0, 1, 5):
        np.testing.assert_array_equal(count(np.ones(n)), np.full(n, 3.0))
    assert count.cache_info().traces == 1


def test_jvp_and_vjp_see_it_too():
    factor = 2.0

    def scaled(x):
        return x * factor

    assert anyshape.jvp(scaled, (1.0,), (1.0,))[1] == 2.0
    assert anyshape.vjp(scaled, 1.0)[1](1.0)[0] == 2.0
    factor = 7.0
    assert anyshape.jvp(scaled, (1.0,), (1.0,))[1] == 7.0
    assert anyshape.vjp(scaled, 1.0)[1](1.0)[0] == 7.0


class Layer:
    def __init__(self, weight):
        self.weight = weight
        self.calls = 0

    def scaled(self, x):
        return x * self.weight


class Model:
    def __init__(self):
        self.gain = 2.0
        self.layer = Layer(np.array([1.0, 2.0]))
        self.steps = 0

    def loss(self, x):
        return np.sum(self.layer.scaled(x)) * self.gain

    def __call__(self, x):
        return self.loss(x)


@pytest.mark.parametrize(
    "take", [lambda m: m.loss, lambda m: m, lambda m: lambda x: m.loss(x)], ids=["method", "object", "closure"]
)
def test_an_attribute_that_is_read_is_watched_and_others_are_not(take):
    model = Model()
    gradient = anyshape.grad(take(model))
    np.testing.assert_array_equal(gradient(np.ones(2)), [2.0, 4.0])
    model.steps += 1
    model.layer.calls += 1
    np.testing.assert_array_equal(gradient(np.ones(2)), [2.0, 4.0])
    assert gradient.cache_info().traces == 1
    model.gain = 3.0
    np.testing.assert_array_equal(gradient(np.ones(2)), [3.0, 6.0])
    model.layer.weight = np.array([5.0, 5.0])
    np.testing.assert_array_equal(gradient(np.ones(2)), [15.0, 15.0])
    model.layer = Layer(np.array([1.0, 1.0]))
    np.testing.assert_array_equal(gradient(np.ones(2)), [3.0, 3.0])


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    @anyshape.jit
    def apply(self, x):
        return x * self.factor


def test_a_jitted_method_is_traced_for_each_object_and_watches_it():
    two, five = Scaled(2.0), Scaled(5.0)
    for n in (0, 1, 3):
        np.testing.assert_array_equal(two.apply(np.ones(n)), np.full(n, 2.0))
        np.testing.assert_array_equal(five.apply(np.ones(n)), np.full(n, 5.0))
    assert two.apply.cache_info().traces == five.apply.cache_info().traces == 1
    two.factor = 7.0
    np.testing.assert_array_equal(two.apply(np.ones(2)), [7.0, 7.0])
    np.testing.assert_array_equal(five.apply(np.ones(2)), [5.0, 5.0])


def test_a_jitted_function_is_its_own_deep_copy():
    double = anyshape.jit(lambda x: x * 2)
    assert copy.deepcopy({"f": double})["f"] is double


class Doubled(Scaled):
    def apply(self, x):
        return super().apply(x) * 2


def test_a_jitted_method_follows_copies_and_pickles_of_its_object():
    two, x = Scaled(2.0), np.ones(3)
    assert two.apply(x).tolist() == [2, 2, 2]
    for made in (copy.copy(two), copy.deepcopy(two), pickle.loads(pickle.dumps(two))):
        made.factor = 5.0
        assert made.apply(x).tolist() == [5, 5, 5] and two.apply(x).tolist() == [2, 2, 2]
    for apply in (copy.deepcopy(two.apply), pickle.loads(pickle.dumps(two.apply)), copy.copy(two.apply)):
        assert apply(x).tolist() == [2, 2, 2]
    assert two.apply is two.apply and two.apply.cache_info().traces == 1


def test_a_jitted_method_that_is_overridden_does_not_hide_what_overrides_it():
    doubled = Doubled(3.0)
    assert [doubled.apply(np.ones(1)).tolist() for _ in range(3)] == [[6], [6], [6]]


def test_jitted_methods_of_classes_and_of_objects_that_cannot_keep_them():
    class Both:
        __slots__ = ()

        @classmethod
        @anyshape.jit
        def of_class(cls, x):
            return x * 2

        @anyshape.jit
        def of_object(self, x):
            return x * 2

    assert Both.of_class(np.ones(2)).tolist() == Both().of_class(np.ones(2)).tolist() == [2, 2]
    assert Both.of_class.cache_info().traces == 1
    with pytest.raises(anyshape.errors.ArgumentError, match="an object of Both has no __dict__"):
        Both().of_object(np.ones(2))


class Base:
    offset = 1.0


class Affine(Base):
    weight = 2.0

    @anyshape.jit
    def apply(self, x):
        return x * self.weight + self.offset


def test_defaults_of_a_class_are_seen_and_so_is_what_hides_them(monkeypatch):
    affine = Affine()
    changes = [(affine, "weight", 5.0), (Base, "offset", 3.0), (Affine, "offset", 4.0), (affine, "offset", 6.0)]
    assert affine.apply(np.ones(1)) == 3.0
    for count, (owner, name, value) in enumerate(changes, start=2):
        monkeypatch.setattr(owner, name, value, raising=False)
        for _ in range(2):
            assert affine.apply(np.ones(1)) == affine.weight + affine.offset
        assert affine.apply.cache_info().traces == count
    monkeypatch.undo()
    assert affine.apply(np.ones(1)) == 3.0


def test_attributes_of_modules_and_classes_are_seen_and_so_are_their_functions(monkeypatch):
    settings = types.ModuleType("settings_of_a_user")
    exec("scale = 2.0\nclass Options:\n    shift = 1.0\ndef act(x):\n    return x * scale", settings.__dict__)
    run = anyshape.jit(lambda x: settings.act(x) + settings.Options.shift + settings.scale)
    assert run(np.ones(1)) == 5.0
    monkeypatch.setattr(settings, "scale", 3.0)
    assert run(np.ones(1)) == 7.0
    monkeypatch.setattr(settings.Options, "shift", 2.0)
    assert run(np.ones(1)) == 8.0
    monkeypatch.setattr(settings, "act", lambda x: x * 10)
    assert run(np.ones(1)) == 15.0 and run(np.ones(4)).shape == (4,)
    assert run.cache_info().traces == 4


def test_zeros_of_different_signs_differ():
    sign = 0.0
    run = anyshape.jit(lambda x: np.copysign(x, sign))
    assert run(np.ones(1)) == 1.0
    sign = -0.0
    assert run(np.ones(1)) == -1.0


class Cubic:
    def __init__(self, factor):
        self.factor = factor

    def value(self, x, y=1.0):
        return (self.factor * x**3).sum() * y

    derivative = anyshape.grad(value)
    by_place = anyshape.grad(value, argnums=1)
    both = anyshape.grad(value, argnums=(1, 2))
    last = anyshape.grad(value, argnums=-1)
    jitted = anyshape.jit(anyshape.grad(anyshape.jit(value)))
    with_value = anyshape.value_and_grad(value)
    second = anyshape.hessian(value)
    rows = anyshape.vmap(value)
    rows_by_place = anyshape.vmap(value, in_axes=(None, 0))
    derivatives = anyshape.vmap(anyshape.grad(value))
    wrong = anyshape.grad(value, argnums=(0, 1))
    wrong_axes = anyshape.vmap(value, in_axes=(0, 0))

    @anyshape.grad
    @anyshape.grad
    def twice(self, x):
        return self.factor * x**3


@pytest.mark.parametrize("factor", [2.0, 5.0])
def test_transforms_decorate_methods(factor):
    cubic, x = Cubic(0.0), np.array([1.0, 2.0])
    xs = np.stack([x, -x])
    for cubic.factor in (1.0, factor):  # each is watched through every transform
        derivative = 3 * cubic.factor * x**2
        for value in (cubic.derivative(x), cubic.by_place(x), cubic.jitted(x), cubic.with_value(x)[1]):
            np.testing.assert_allclose(value, derivative)
        for value in (*cubic.both(x, 3.0), cubic.last(x, 3.0)):
            assert value.shape in ((2,), ())
        np.testing.assert_allclose(cubic.both(x, 3.0)[0], 3 * derivative)
        np.testing.assert_allclose(cubic.last(x, 3.0), cubic.value(x))
        np.testing.assert_allclose(cubic.second(x), np.diag(6 * cubic.factor * x))
        np.testing.assert_allclose(cubic.rows(xs), [cubic.value(r) for r in xs])
        np.testing.assert_allclose(cubic.rows_by_place(xs), [cubic.value(r) for r in xs])
        np.testing.assert_allclose(cubic.derivatives(xs), [derivative, derivative])
        assert cubic.twice(2.0) == 12 * cubic.factor
    assert cubic.derivative.cache_info().traces == cubic.jitted.cache_info().traces == 2
    assert pickle.loads(pickle.dumps(cubic)).derivative(x).tolist() == derivative.tolist()
    with pytest.raises(anyshape.errors.ArgumentError, match=r"grad\(value\): self is of type Cubic, not an array"):
        cubic.wrong(x)
    with pytest.raises(anyshape.errors.ArgumentError, match=r"vmap\(value\): self is of type Cubic, not an array"):
        cubic.wrong_axes(xs)


def test_a_wrapped_method_is_watched_with_its_object():
    def logged(function):
        return functools.wraps(function)(lambda *args: function(*args))

    class Wrapped:
        factor = 2.0

        @anyshape.jit
        @logged
        def apply(self, x):
            return x * self.factor

    wrapped = Wrapped()
    assert wrapped.apply(3.0) == 6.0
    wrapped.factor = 5.0
    assert wrapped.apply(3.0) == 15.0
