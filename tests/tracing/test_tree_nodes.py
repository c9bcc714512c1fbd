"""Tests of dataclasses as trees, and of settings inside of trees."""

import dataclasses
import enum
import functools
import io
import pickle
from dataclasses import dataclass, field

import numpy as np
import optree
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, grad, jit, jvp, vjp, vmap
from anyshape.errors import AnyshapeError, ArgumentError, RetraceWarning


@dataclass
class Layer:
    w: np.ndarray
    b: float = 0.0
    kind: str = "tanh"

    def __post_init__(self):
        assert isinstance(self.kind, str) and type(self.w) is not int, "run with markers of leaves"
        self.count = np.float64(np.size(self.w))

    @functools.cached_property
    def norm(self):
        return np.sqrt(np.sum(self.w**2) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    layers: list = field(default_factory=list)
    scale: float
    power: int = field(default=2, metadata={"static": True})
    activation: object = np.tanh
    cache: object = field(default=None, init=False)


@dataclass
class Wide(Layer):
    extra: dict = field(default_factory=dict)


def loss(net, x):
    """Return a number that reads all parts; it decides on static ones."""
    assert type(net) is Net and type(net.power) is int
    for layer in net.layers:
        y = x @ layer.w * layer.norm + layer.b * layer.count
        x = net.activation(y) if layer.kind == "tanh" else y
        x = x * sum(getattr(layer, "extra", {}).values(), 1.0)
    return net.scale * np.sum(x**net.power)


def make_net(n):
    rng = np.random.default_rng(n)
    return Net(
        scale=1.5, layers=[Layer(rng.normal(size=(n, 4)), 0.5), Wide(rng.normal(size=4), kind="id", extra={"a": 2.0})]
    )


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_dataclasses_are_trees(n):
    net, x = make_net(n), np.linspace(-1, 1, 3 * n).reshape(3, n)
    np.testing.assert_allclose(jit(loss)(net, x), loss(net, x))
    gradient = grad(loss)(net, x)
    assert type(gradient) is Net and [type(layer) for layer in gradient.layers] == [Layer, Wide]
    assert gradient.power == 2 and gradient.activation is np.tanh and gradient.layers[1].kind == "id"
    with_w = lambda w: dataclasses.replace(net, layers=[dataclasses.replace(net.layers[0], w=w), net.layers[1]])
    np.testing.assert_allclose(gradient.layers[0].w, grad(lambda w: loss(with_w(w), x))(net.layers[0].w))
    np.testing.assert_allclose(vmap(loss, in_axes=(None, 0))(net, x[:, None]), [loss(net, row[None]) for row in x])
    value, back = vjp(loss, net, x)
    np.testing.assert_allclose(jvp(loss, (net, x), (net, x))[1], _dot(back(np.ones_like(value)), (net, x)))


def _dot(a, b):
    leaves = [anyshape.tracing.pytrees.flatten(tree)[0] for tree in (a, b)]
    return sum(np.sum(x * y) for x, y in zip(*leaves, strict=True))


def test_one_program_serves_all_sizes_of_a_dataclass():
    f, g = jit(loss), grad(loss)
    for n in (5, 0, 1, 2):
        f(make_net(n), np.ones((3, n)))
        g(make_net(n), np.ones((3, n)))
    assert f.cache_info().traces == g.cache_info().traces == 1
    other = dataclasses.replace(make_net(2), power=3)
    np.testing.assert_allclose(f(other, np.ones((3, 2))), loss(other, np.ones((3, 2))))
    assert f.cache_info().traces == 2


def test_derivatives_by_a_cached_property_reach_its_fields():
    layer = Layer(np.array([1.0, 2.0]))
    assert layer.norm > 0  # cached in the instance
    np.testing.assert_allclose(grad(lambda layer: layer.norm)(layer).w, layer.w / layer.norm)


def test_axes_of_a_dataclass_are_a_dataclass_or_none():
    @dataclass
    class Pair:
        a: object
        b: object
        name: str = "pair"

    f = lambda pair, x: pair.a * x + pair.b
    pair, x = Pair(np.arange(3.0), 2.0), np.ones(3)
    np.testing.assert_allclose(vmap(f, in_axes=(Pair(0, None), 0))(pair, x), f(pair, x))
    np.testing.assert_allclose(vmap(f, in_axes=(None, 0))(Pair(1.0, 2.0), x), 3 * x)
    mapped = vmap(lambda x: Pair(x, 1.0), out_axes=Pair(0, None))(x)
    np.testing.assert_allclose(mapped.a, x)
    assert mapped.b == 1.0 and mapped.name == "pair"


def test_a_later_registration_of_a_dataclass_holds():
    @dataclass
    class Point:
        x: float
        y: float

    f = jit(lambda p: p.x * p.y)
    assert f(Point(2.0, 3.0)) == 6
    anyshape.register_pytree_node(Point, lambda p: ((p.x,), p.y), lambda y, xs: Point(*xs, y))
    assert f(Point(2.0, 3.0)) == 6 and grad(lambda p: p.x * p.y)(Point(2.0, 3.0)) == Point(3.0, 3.0)

    @dataclass
    class Other(Point):
        pass

    assert f(Other(2.0, 3.0)) == 6
    optree.register_pytree_node(Other, lambda p: ((p.x,), p.y), lambda y, xs: Other(*xs, y), namespace="anyshape")
    assert grad(lambda p: p.x * p.y)(Other(2.0, 3.0)) == Other(3.0, 3.0)


def test_the_object_of_a_method_is_no_argument():
    @dataclass
    class Model:
        w: np.ndarray

        def loss(self, x):
            return np.sum(x * self.w)

        value, slope, rows = jit(loss), grad(loss), vmap(loss)

    model, x = Model(np.array([2.0, 3.0])), np.ones(2)
    np.testing.assert_allclose(model.slope(x), model.w)
    np.testing.assert_allclose(model.rows(np.ones((3, 2))), [5, 5, 5])
    np.testing.assert_allclose(grad(Model.loss)(model, x).w, x)
    assert model.value(x) == 5
    model.w = model.w + 1
    assert model.value(x) == 7


@pytest.mark.parametrize("shapes", [{"w": "n, m", "b": "m"}, ("n, m", "m", None, None)])
def test_a_dataclass_has_declared_shapes(shapes):
    f = jit(lambda layer: layer.w + layer.b, dynamic_shapes={"layer": shapes})
    assert f(Layer(np.ones((2, 3)), np.ones(3))).shape == (2, 3)
    with pytest.raises(AnyshapeError, match=r"layer\.b\.shape\[0\] = 1"):
        f(Layer(np.ones((2, 3)), np.ones(1)))


def test_errors_name_fields():
    with pytest.raises(ArgumentError, match=r"net\.layers\[0\]\.w is of type object, not an array"):
        grad(loss)(dataclasses.replace(make_net(1), layers=[Layer(object())]), np.ones((3, 1)))
    with pytest.raises(ArgumentError, match=r"layer\.w has dtype int64"):
        grad(lambda layer: np.sum(layer.w))(Layer(np.arange(3)))


# -- settings ----------------------------------------------------------------------------------------------------


class Kind(enum.Enum):
    A = 1
    B = 2


def combined(config, x):
    y = config["f"](config["w"] * x)
    return {**config, "w": np.sum(y) if config["kind"] is Kind.A else np.prod(y), "names": config["names"][::-1]}


CONFIGS = [
    {"kind": kind, "f": f, "w": 0.5, "names": ("a", None, name)}
    for kind in Kind
    for f in (np.sin, abs)
    for name in ("b", b"c", np.dtype(float), float, ..., slice(0, 2), functools.partial(max, 1))
]


def test_settings_inside_of_arguments_belong_to_the_structure():
    f, x = jit(combined), np.array([0.1, 0.2])
    for config in [*CONFIGS, *CONFIGS]:
        result, expected = f(config, x), combined(config, x)
        np.testing.assert_allclose(result.pop("w"), expected.pop("w"))
        assert result == expected
        slopes = grad(lambda config, x: combined(config, x)["w"])(config, x)
        assert {**slopes, "w": 0.5} == config
    assert f.cache_info().traces == len(CONFIGS)


def test_control_flow_carries_settings():
    carry = {"kind": "a", "w": np.ones(2), "f": np.negative}
    step = lambda i, c: {**c, "w": c["f"](c["w"]) * 2}
    for f in (
        lambda c: anyshape.fori_loop(0, 3, step, c),
        lambda c: anyshape.scan(lambda c, i: (step(i, c), i), c, np.arange(3))[0],
    ):
        for result in (f(carry), jit(f)(carry)):
            np.testing.assert_allclose(result.pop("w"), [-8, -8])
            assert result == {"kind": "a", "f": np.negative}
    choose = jit(lambda x, c: anyshape.cond(x > 0, lambda c: c, lambda c: step(0, c), c))
    assert choose(-1, carry)["w"][0] == -2 and choose(1, carry)["kind"] == "a"
    with pytest.raises(AnyshapeError, match="'a', and gives 'ab'"):
        anyshape.fori_loop(0, 3, lambda i, c: c + "b", "a")


def test_a_function_inside_of_an_argument_is_watched():
    weights = np.ones(2)
    config = {"f": lambda x: x * weights}
    f = jit(lambda config, x: config["f"](x))
    np.testing.assert_array_equal(f(config, np.ones(2)), [1, 1])
    weights[0] = 7
    np.testing.assert_array_equal(f(config, np.ones(2)), [7, 1])


def test_a_function_made_while_tracing_is_no_result():
    with pytest.raises(ArgumentError, match="made while tracing"):
        jit(lambda x: {"f": lambda: x})(1.0)


@pytest.mark.parametrize(("wrap", "shown"), [(lambda f: {"f": f, "k": 1.0}, "c['f']")])
def test_a_function_made_anew_at_each_call_is_said_once(wrap, shown, recwarn):
    f = jit(lambda c, x: c["f"](x) * c["k"])
    for _ in range(5):
        f(wrap(lambda x: x + 1), 1.0)
    assert [str(w.message) for w in recwarn if w.category is RetraceWarning and w.filename == __file__] == [
        f"<lambda>: the function {shown} is created at each call, "
        "and each one is traced: define it once, outside of the loop"
    ]


def test_saved_programs_keep_texts_and_dataclasses():
    function = lambda c, x: {"y": c["w"] * x, "kind": c["kind"] + "!"}
    program = anyshape.export(function)({"kind": "a", "w": ShapeDtypeStruct("n")}, 2.0)
    program.save(file := io.BytesIO())
    loaded = anyshape.load(io.BytesIO(file.getvalue()))
    for n in (0, 2):
        result = loaded({"kind": "a", "w": np.ones(n)}, 3.0)
        np.testing.assert_array_equal(result["y"], 3 * np.ones(n))
        assert result["kind"] == "a!"
    with pytest.raises(ArgumentError, match="'kind': 'b'"):
        loaded({"kind": "b", "w": np.ones(2)}, 3.0)
    anyshape.export(lambda layer: 2 * layer.w)(Layer(ShapeDtypeStruct("n"))).save(file := io.BytesIO())
    result = anyshape.load(io.BytesIO(file.getvalue()))(Layer(np.ones(3)))
    assert result.tolist() == [2.0, 2.0, 2.0]


def test_programs_of_dataclasses_travel():
    f = jit(loss)
    net, x = make_net(2), np.ones((3, 2))
    f(net, x)
    received = pickle.loads(pickle.dumps(f.with_programs()))
    np.testing.assert_allclose(received(net, x), loss(net, x))
    assert received.cache_info().traces == 1


def test_explanations_show_fields_and_settings():
    f = jit(loss)
    f(make_net(2), np.ones((3, 2)))
    text = str(f.explain_call(dataclasses.replace(make_net(2), activation=np.sin), np.ones((3, 2))))
    assert "net.activation: <ufunc 'tanh'> when traced, <ufunc 'sin'> now" in text
