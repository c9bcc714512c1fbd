"""Tests of exported and loaded programs: run, jitted, differentiated, batched, exported again, called in traces."""

import inspect
import io
import itertools
import queue

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct as Spec
from anyshape import export, fori_loop, grad, hessian, jacfwd, jit, load, symbolic_args_specs, trace, vmap
from anyshape.errors import (
    AnyshapeError,
    ArgumentError,
    InconclusiveDimensionError,
    LeakedTracerError,
    ShapeError,
    SizeMismatchError,
)
from anyshape.graph.ir.validate import check_graph
from tests.laws.sweep import check_equal, leaves, outcome


def reloaded(program):
    file = io.BytesIO()
    program.save(file)
    return load(io.BytesIO(file.getvalue()))


KINDS = {
    "traced": lambda f: trace(f),
    "loaded": lambda f: lambda *s, **named: reloaded(export(f)(*s, **named)),
}


@pytest.fixture(params=KINDS)
def made(request):
    """How a program is made of a function and its specifications."""
    return KINDS[request.param]


def loss(x, w):
    return np.sum(np.tanh(x @ w) ** 2)


TRANSFORMS = {
    "itself": lambda f: f,
    "jit": jit,
    "grad": lambda f: grad(f, argnums=(0, 1)),
    "hessian": lambda f: hessian(f, argnums=1),
    "jacfwd of grad": lambda f: jacfwd(grad(f)),
    "vmap of grad": lambda f: lambda x, w: vmap(grad(f), in_axes=(0, None))(np.stack([x, 2 * x]), w),
    "grad of vmap": lambda f: lambda x, w: grad(lambda v: vmap(f, in_axes=(None, 0))(x, np.stack([v, v * v])).sum())(w),
    "jvp of vjp": lambda f: lambda x, w: anyshape.jvp(lambda v: anyshape.vjp(f, x, v)[1](1.0), (w,), (w,)),
    "export": lambda f: export(f)(Spec("a, b"), Spec("b")),
    "grad of jit of export": lambda f: grad(jit(export(f)(Spec("a, b"), Spec("b")))),
    "export of grad": lambda f: export(grad(f))(Spec("a, b"), Spec("b")),
    "saved grad": lambda f: reloaded(export(grad(f))(Spec("a, b"), Spec("b"))),
    "called twice": lambda f: jit(lambda x, w: f(x, w) * f(-x[:1], w)),
    "inside a nested trace": lambda f: jit(
        lambda x, w: vmap(lambda row: grad(lambda v: f(row[None] * x[:1], v))(w))(x)
    ),
    "check": lambda f: jit(lambda x, w: anyshape.linearize(f, x, w)[1](x, w)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_take_a_program_like_any_function(name, made):
    program = made(loss)(Spec("n, d"), Spec("d"))
    of_program, of_function = TRANSFORMS[name](program), TRANSFORMS[name](loss)
    for n, d in ((3, 2), (1, 4), (2, 1)):
        rng = np.random.default_rng(n)
        x, w = rng.normal(size=(n, d)), rng.normal(size=d)
        check_equal(leaves(of_program(x, w)), leaves(of_function(x, w)), 1e-12, f"{name} at {n}, {d}")


# specifications, and a function of arrays of them
SIZED = {
    "2*d": (lambda x: (x.reshape(2, -1).sum(0), x.shape[0] // 2 * 1.0), [("2*d",)]),
    "d + 2": (lambda x: np.concatenate([x[:-2], x[-2:] * 2]), [("d + 2",)]),
    "bounds": (lambda x: x * 2, [("d",)], ["d >= 2", "d <= 4"]),
    "square": (lambda x: x.sum() * x.shape[0], [("a*a",)]),
    "two of one root": (lambda x, y: x.sum() * y, [("a*a",), ("a",)]),
    "triangle": (lambda x: x[: x.shape[0] // 2], [("a*(a + 1)//2",)], ["a >= 1"]),
    "both": (lambda x, y: x[0] * 2 + np.outer(y, y).sum(), [("2*a, b",), ("a + b",)]),
    "equal": (lambda x, y: x @ y, [("n",), ("n",)]),
    "remainder": (lambda x, y: x.sum() + y.sum(), [("n",), ("n % 3 + 1",)]),
    "constraint": (lambda x, y: x[:, None] * y, [("n",), ("m",)], ["n >= 2*m", "m >= 1"]),
    "broadcast": (lambda x, y: x + y, [("n",), ("m",)]),
    "constant": (lambda x: x * np.arange(3.0), [("3",)]),
}


@pytest.mark.parametrize("name", SIZED)
def test_inside_a_trace_a_program_accepts_the_sizes_that_a_call_accepts(name):
    """At every small size, the function that calls a program raises exactly when the program does."""
    function, shapes, *constraints = SIZED[name]
    ranks = [s[0].count(",") + 1 for s in shapes]
    specs = symbolic_args_specs(
        tuple(np.ones((3,) * r) for r in ranks), tuple(s[0] for s in shapes), *constraints
    )  # fmt: skip
    program = reloaded(export(function)(*specs))
    outer = jit(lambda *xs: program(*xs))
    served = 0
    loaded = None
    for sizes in itertools.product(range(8 if sum(ranks) < 3 else 5), repeat=sum(ranks)):
        remaining = iter(sizes)
        xs = [np.random.default_rng(sum(sizes)).normal(size=[next(remaining) for _ in range(r)]) for r in ranks]
        expected, got = outcome(program, *xs), outcome(outer, *xs)
        assert isinstance(got, Exception) == isinstance(expected, Exception), f"{sizes}: {expected!r}, inside {got!r}"
        if isinstance(expected, Exception):
            assert isinstance(got, ShapeError), f"{sizes}: {got!r}"
            continue
        served += 1
        check_equal(got, expected, 1e-12, f"{name} at {sizes}")
        loaded = loaded or reloaded(next(iter(outer.programs())))
        check_equal(leaves(loaded(*xs)), expected, 1e-12, f"{name} saved, at {sizes}")
    assert served >= 1
    assert outer.cache_info().entries == 1
    for p in outer.programs():
        check_graph(p.graph)


def head(x, k):
    return x[:k].sum(0) / k, x[k:]


def test_a_size_by_value_takes_sizes_and_ints(made):
    program = made(head)(Spec("n + k, 2"), Spec((), int, value="k"))
    x = np.arange(10.0).reshape(5, 2)
    check_equal(leaves(program(x, 2)), leaves(head(x, 2)), 0, "called")
    for size in (2, np.int64(2), np.array(2)):
        check_equal(leaves(jit(lambda v, k=size: program(v, k))(x)), leaves(head(x, 2)), 0, "an int")
    symbolic = jit(lambda v: program(v, v.shape[0] - 3))
    for n in (4, 5, 9):
        v = np.random.default_rng(n).normal(size=(n, 2))
        check_equal(leaves(symbolic(v)), leaves(head(v, n - 3)), 1e-15, "a size of the trace")
    assert symbolic.cache_info().traces == 1
    with pytest.raises(SizeMismatchError, match=r"v.shape\[0\] - 3 \(-1\) must be at least 0"):
        symbolic(np.ones((2, 2)))
    derivative = grad(lambda v: program(v, v.shape[0] // 2)[0].sum())(x)
    np.testing.assert_array_equal(derivative, np.where(np.arange(5)[:, None] < 2, 0.5, 0.0) * np.ones((5, 2)))
    with pytest.raises(ArgumentError, match="not a size"):
        jit(lambda v: program(v, 2.0))(x)


def test_a_size_by_value_takes_a_traced_integer(made):
    program, x = made(head)(Spec("n + k, 2"), Spec((), int, value="k")), np.arange(10.0).reshape(5, 2)
    compiled, mapped = jit(program), vmap(program, in_axes=(0, None))
    derivative = grad(lambda v, k: program(v, k)[0].sum())
    for k in (1, 2, 5, np.int8(2), np.uint64(3)):
        check_equal(leaves(compiled(x, k)), leaves(head(x, int(k))), 1e-15, "jit")
        check_equal([y[0] for y in leaves(mapped(x[None], k))], leaves(head(x, int(k))), 1e-15, "vmap")
        expected = np.where(np.arange(5)[:, None] < k, 1 / int(k), 0.0) * np.ones((5, 2))
        np.testing.assert_allclose(derivative(x, k), expected, rtol=1e-15)
    assert compiled.cache_info().traces == 3  # one for each dtype of k
    np.testing.assert_array_equal(hessian(lambda v, k: (program(v, k)[1] ** 2).sum())(x[:2], 1)[1, 1, 1, 1], 2.0)
    summed = jit(lambda v: fori_loop(0, 4, lambda i, total: total + program(v, i)[1].sum(), 0.0))(x)
    assert summed == sum(x[i:].sum() for i in range(4))
    with pytest.raises(AnyshapeError, match="a size cannot be negative, and this one is -1"):
        compiled(x, -1)
    with pytest.raises(SizeMismatchError, match=r"x.shape\[0\] - size \(-1\) must be at least 0"):
        compiled(x, 6)
    with pytest.raises(ArgumentError, match="k is float64 with 0 axes, not a size"):
        compiled(x, 2.0)


def test_a_root_is_a_size_of_the_trace_where_there_is_one(made):
    program = made(lambda x: anp.arange(x.shape[0], like=x).sum())(Spec("a*a"))
    inside = export(lambda x, y: program(x) + y.sum())(Spec("m*m"), Spec("m"))
    assert inside.graph.hidden == 0
    assert int(inside(np.ones(9), np.zeros(3))) == 36
    fixed = export(program)(Spec("16"))
    assert int(fixed(np.ones(16))) == 120
    with pytest.raises(ShapeError):
        export(program)(Spec("15"))
    new = export(program)(Spec("q"))
    assert int(new(np.ones(9))) == 36
    with pytest.raises(SizeMismatchError, match=r"a\*\*2 \(4\) must equal q \(8, from x.shape\[0\]\)"):
        new(np.ones(8))


def test_conditions_of_a_program_name_it_and_the_line_of_the_caller(made):
    def inner(x, y):
        return x @ y

    program = made(inner)(Spec("n"), Spec("m"))
    with pytest.raises(SizeMismatchError) as caught:
        jit(lambda v, w: program(v, w) + 1)(np.ones(3), np.ones(4))
    assert caught.value.primitive == "inner"
    assert str(caught.value.where).startswith("test_export.py:")
    outer = export(lambda v, w: program(v, w))(Spec("a"), Spec("b"))
    (condition,) = outer.graph.conditions
    assert condition.primitive == "inner"
    assert str(condition.claim) == "a == b"


def test_a_guard_becomes_a_precondition():
    f = jit(lambda x: x + 1 if x.shape[0] > 3 else x * 2)
    f(np.ones(5))
    program = reloaded(f.programs()[0])
    outer = jit(program)
    np.testing.assert_array_equal(outer(np.ones(4)), np.full(4, 2.0))
    for call in (outer, program):
        with pytest.raises(SizeMismatchError):
            call(np.ones(3))


BAD = [
    (lambda p: p(np.ones((2, 3))), r"the arguments have the structure"),
    (lambda p: p(np.ones((2, 3)), np.ones((3, 2))), r"w is float64 with 2 axes, not f64\[d\]"),
    (lambda p: p(np.ones((2, 3)), np.ones(3, np.float32)), r"w is float32 with 1 axes, not f64\[d\]"),
    (lambda p: p(np.ones((2, 3)), v=np.ones(3)), r"the arguments have the structure"),
    (lambda p: p(np.ones((2, 3)), object()), r"w is of type object, not an array"),
    (lambda p: p(np.ones((2, 3)), "w"), r"have the structure \(x, 'w'\), not \(x, w\)"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_wrong_arguments_are_refused_as_in_a_call(number, made):
    program = made(loss)(Spec("n, d"), Spec("d"))
    call, match = BAD[number]
    with pytest.raises(ArgumentError, match=match) as plain:
        call(program)
    with pytest.raises(ArgumentError, match=match) as inside:
        jit(lambda x: call(lambda a, *rest, **more: program(x, *rest, **more)))(np.ones((2, 3)))
    assert str(plain.value) == str(inside.value).replace(f" at {inside.value.where}", "")  # only there it has a line


def test_values_of_a_finished_trace_are_refused(made):
    program = made(loss)(Spec("n, d"), Spec("d"))
    queued = queue.SimpleQueue()
    jit(lambda x: (queued.put(x), x)[1])(np.ones((2, 3)))
    leaked = queued.get()
    for call in (program, jit(lambda w: program(leaked, w))):
        with pytest.raises(LeakedTracerError):
            call(np.ones(3)) if call is not program else program(leaked, np.ones(3))


def test_arrays_alone_are_computed_also_inside_a_trace(made):
    program = made(loss)(Spec("n, d"), Spec("d"))
    f = jit(lambda x: x * program(np.ones((2, 3)), np.ones(3)))
    np.testing.assert_allclose(f(np.ones(2)), np.full(2, loss(np.ones((2, 3)), np.ones(3))))


def test_export_holds_for_all_sizes_or_names_the_line():
    with pytest.raises(InconclusiveDimensionError, match=r"value of n .* at test_export.py:\d+\n.*fori_loop"):
        export(lambda x: (1.0, 2.0)[x.shape[0]] * x)(Spec("n"))
    copies = reloaded(export(lambda x: [x for _ in range(x.shape[0])])(Spec("n")))
    assert [len(copies(np.ones(n))) for n in (0, 1, 3)] == [0, 1, 3]
    with pytest.raises(AnyshapeError, match="export"):
        export(3)
    program = export(lambda x: x if x.shape[0] > 3 else -x)(Spec((anyshape.Dim("n", min=4),)))
    np.testing.assert_array_equal(program(np.ones(5)), np.ones(5))


def test_export_takes_functions_and_specifications():
    x = np.arange(6.0).reshape(2, 3)
    f = lambda v: np.sin(v).sum(0)
    for function in (
        f,
        jit(f),
        vmap(f),
        grad(lambda v: f(v).sum()),
        trace(f)(Spec("a, b")),
        reloaded(export(f)(Spec("n, m"))),
    ):
        program = export(function)(Spec("n, 3"))
        again = reloaded(program)
        check_equal(leaves(again(x)), leaves(function(x)), 1e-15, program.name)


def test_trees_and_names_of_arguments(made):
    def model(params, x, *, scale):
        return {"out": (x @ params["w"] + params["b"][0]) * scale, "shapes": (x, None)}

    tree = {"w": Spec("d, 2"), "b": [Spec("2")]}
    program = reloaded(export(model)(tree, Spec("n, d"), scale=Spec("")))
    params, x = {"w": np.ones((3, 2)), "b": [np.ones(2)]}, np.ones((4, 3))
    expected = model(params, x, scale=2.0)
    check_equal(leaves(program(params, x, scale=2.0)), leaves(expected), 0, "called")
    inside = jit(lambda p, v: program(p, v, scale=2.0))
    check_equal(leaves(inside(params, x)), leaves(expected), 0, "inside")
    assert str(inspect.signature(program)) == "(params, x, *, scale)"
    assert program.__name__ == "model"
    assert repr(program).startswith("<program model(%params_w: f64[d, 2], %params_b_0: f64[2], %x: f64[n, d],")
    with pytest.raises(ArgumentError, match=r"structure \({'w': \*, 'b': \[\*\]}, x, scale\), not .* x, scale=scale\)"):
        program(params, x, 2.0)
    assert export(program)(tree, Spec("n, d"), scale=Spec("")).trace.labels == program.trace.labels
    assert grad(program).__name__ == "grad(model)"


def total(x, how, *, scale=1.0, kind="plain"):
    reduced = x.sum(axis=0) if how == "sum" else x.mean(axis=0)
    return reduced * scale if kind == "plain" else -reduced


def test_static_arguments_are_built_into_the_program(made):
    static = jit(total, static_argnames=("how", "kind"))
    x = np.arange(6.0).reshape(3, 2)
    for how, kind in itertools.product(("sum", "mean"), ("plain", "negative")):
        by_name = made(static)(Spec("n, 2"), how=how, kind=kind, scale=Spec(()))
        by_place = made(static)(Spec("n, 2"), how, kind=kind)
        np.testing.assert_array_equal(by_name(x, scale=3.0), total(x, how, scale=3.0, kind=kind))
        np.testing.assert_array_equal(by_place(x), total(x, how, kind=kind))
        np.testing.assert_array_equal(by_place(x[:2]), total(x[:2], how, kind=kind))
    assert str(inspect.signature(by_name)) == "(x, *, scale)"
    first = made(jit(lambda how, x: total(x, how), static_argnums=0))("mean", Spec("n, 2"))
    np.testing.assert_array_equal(first(x), x.mean(axis=0))
    assert str(inspect.signature(first)) == "(x)"
    derivative = made(grad(jit(lambda x, how: total(x, how).sum(), static_argnames="how")))(Spec("n, 2"), "mean")
    np.testing.assert_allclose(derivative(x), np.full((3, 2), 1 / 3))
    assert anyshape.eval_shape(static, Spec("4, 2"), "sum").shape == (2,)


def test_a_size_for_an_argument_is_an_integer_of_that_value(made):
    k = anyshape.Dim("k", min=1, max=4)
    program = made(lambda x, k: x[:k].sum() / k)(Spec("n"), k)
    for n, size in itertools.product(range(6), range(1, 5)):
        x = np.arange(float(n))
        assert program(x, size) == x[:size].sum() / size
    for size in (0, 5):
        with pytest.raises(SizeMismatchError):
            program(np.ones(9), size)
    (n,) = anyshape.symbolic_shape("n")
    half = made(lambda x, k: x[:k] * k)(Spec((2 * n,)), n)
    np.testing.assert_array_equal(half(np.ones(6), 3), np.full(3, 3.0))
    with pytest.raises(SizeMismatchError):
        half(np.ones(6), 2)


def test_arguments_may_be_passed_by_their_traced_names(made):
    program = made(lambda x, w, *, b: x @ w["a"] - b)(Spec("n, d"), {"a": Spec("d")}, b=Spec(()))
    x, w = np.arange(6.0).reshape(2, 3), {"a": np.arange(3.0)}
    expected = x @ w["a"] - 2.0
    for got in (
        program(x, w, b=2.0), program(x, w=w, b=2.0), program(x=x, w=w, b=2.0), program(b=2.0, w=w, x=x),
        jit(program)(w=w, x=x, b=2.0), jit(lambda v: program(w=w, x=v, b=2.0))(x),
    ):  # fmt: skip
        np.testing.assert_array_equal(got, expected)
    for args, kwargs in (((x,), {"x": x, "b": 2.0}), ((), {"w": w, "b": 2.0}), ((x, w), {"w": w, "b": 2.0})):
        with pytest.raises(ArgumentError, match="the arguments have the structure"):
            program(*args, **kwargs)


def test_arguments_with_unknown_names_go_by_position(made):
    several = made(lambda x1, *rest: x1 - rest[0])(Spec("n"), Spec("n"))
    assert str(inspect.signature(several)) == "(x1, x0, /)"
    np.testing.assert_array_equal(several(np.full(2, 3.0), np.ones(2)), [2, 2])
    with pytest.raises(ArgumentError, match="the arguments have the structure"):
        several(np.ones(2), x0=np.ones(2))

    def both(x, /, **more):
        return x - more["x"]

    ambiguous = made(both)(Spec("n"), x=Spec("n"))
    np.testing.assert_array_equal(ambiguous(np.full(2, 3.0), x=np.ones(2)), [2, 2])
    with pytest.raises(ArgumentError, match="the arguments have the structure"):
        ambiguous(x=np.ones(2))
    without = made(lambda empty, y: y + 1)((), Spec("n"))
    np.testing.assert_array_equal(without((), y=np.ones(2)), [2, 2])


def test_errors_name_arguments_by_their_parameters(made):
    program = made(lambda params, x: x @ params["w"])({"w": Spec("d, 2")}, Spec("n, d"))
    with pytest.raises(ArgumentError, match=r"params\['w'\] is float64 with 1 axes, not f64\[d, 2\]") as caught:
        program({"w": np.ones(3)}, np.ones((2, 3)))
    assert caught.value.path == "params['w']"
    with pytest.raises(ShapeError, match=r"w.shape\[1\] \(3\) must equal 2"):
        jit(lambda w: program({"w": w}, np.ones((2, 3))))(np.ones((3, 3)))
    f = lambda params, x: (x @ params["w"]).sum()
    integers = {"w": np.ones((3, 2), int)}
    for call, path in (
        (lambda: vmap(f)({"w": object()}, np.ones((2, 3))), r"params\['w'\] is of type object"),
        (lambda: jit(f)({"w": np.array(["no"])}, np.ones((2, 3))), r"params\['w'\] has dtype <U2"),
        (lambda: grad(f)(integers, np.ones((2, 3))), r"params\['w'\] has dtype int64"),
        (lambda: anyshape.jacrev(f, argnums=(0, 1))(integers, np.ones((2, 3))), r"params\['w'\] has dtype int64"),
        (lambda: vmap(f, in_axes=(7, None))(integers, np.ones((2, 3))), r"params\['w'\] has no axis 7"),
        (lambda: trace(f)({"w": object()}, Spec("n, 3")), r"params\['w'\] is of type object"),
    ):
        with pytest.raises(ArgumentError, match=path):
            call()
