"""Each name of `anyshape.autograd`, by the numbers that autograd 1.9.1 gives.

`python tests/autograd/test_names.py` writes these, by an interpreter that has autograd.
"""

import importlib
import itertools
import json
from pathlib import Path

import numpy
import pytest

MATRIX = numpy.array([[2.0, 0.5], [0.25, 3.0]])
VECTOR = numpy.array([0.5, 1.5])
VOLUME = numpy.linspace(0.1, 1.0, 8).reshape(2, 2, 2)
FILE = Path(__file__).with_name("numbers.json")


class Library:
    """Modules of a library under autograd's names."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        return importlib.import_module(f"{self.name}.{name}")

    @property
    def top(self):
        return importlib.import_module(self.name)


def flat(tree):
    """Return all numbers of containers."""
    if isinstance(tree, dict):
        return [x for key in sorted(tree) for x in flat(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [x for part in tree for x in flat(part)]
    return numpy.ravel(tree).tolist()


def energy(a, x, y=2.0):
    return a.numpy.sum(a.numpy.sin(x) * x) * y


def squared(a):
    square = a.extend.primitive(lambda x, power: x**power)
    a.extend.defvjp(square, lambda ans, x, power: lambda g: g * power * x ** (power - 1), None)
    return square


def solved(a):
    """Return a primitive that takes arrays alone, with a rule that does too."""

    def solve(matrix, b):
        assert type(matrix) is type(b) is numpy.ndarray
        return numpy.linalg.solve(matrix, b)

    def pull(ans, matrix, b):
        return lambda g: numpy.linalg.solve(numpy.array(matrix.T, order="C"), g)

    made = a.extend.primitive(solve)
    a.extend.defvjp(made, lambda ans, matrix, b: lambda g: -a.numpy.outer(made(matrix.T, g), ans), pull)
    return made


def two(a, x):
    return a.numpy.sum(x**2), a.numpy.cos(x)


def pushed(a, kind):
    double = a.extend.primitive(lambda x, y: 2 * x * y)
    if kind == "each":
        a.extend.defjvp(double, lambda g, ans, x, y: 2 * g * y, "same")
    elif kind == "argnum":
        a.extend.defjvp_argnum(double, lambda i, g, ans, args, kwargs: 2 * g * args[1 - i])
    else:
        a.extend.def_linear(double)
    return a.top.make_jvp(double, (0, 1))(VECTOR, 3.0)((numpy.ones(2), 0.5))


def by_argnum(a, kind):
    product = a.extend.primitive(lambda x, y: x * y)
    if kind == "one":
        a.extend.defvjp_argnum(product, lambda i, ans, args, kwargs: lambda g: g * args[1 - i])
    else:
        pulls = lambda indices, ans, args, kwargs: lambda g: [g * args[1 - i] for i in indices]
        a.extend.defvjp_argnums(product, pulls)
    return a.top.grad(product, (0, 1))(3.0, 4.0)


def root(a, x):
    step = lambda a: lambda x: 0.5 * (x + a / x)
    fixed_point = a.__getattr__("misc.fixed_points").fixed_point
    return fixed_point(step, x, 2.0, lambda x, y: abs(x - y), 1e-12)


def optimised(a, name):
    optimise = getattr(a.__getattr__("misc.optimizers"), name)
    seen = []
    loss = lambda p: a.numpy.sum((p["w"] - 1) ** 2) + p["b"] ** 2
    gradient = a.top.grad(loss)
    end = optimise(lambda p, i: gradient(p), {"w": VECTOR, "b": 1.0}, lambda p, i, g: seen.append(flat(g)), 5)
    return end, seen


def convolved(a, mode):
    convolve = a.__getattr__("scipy.signal").convolve
    images, kernels = numpy.arange(18.0).reshape(2, 3, 3), numpy.arange(4.0).reshape(2, 2)
    return a.top.grad(lambda k: a.numpy.sum(convolve(images, k, axes=([1, 2], [0, 1]), mode=mode) ** 2))(kernels)


ROWS = {
    "grad": lambda a: a.top.grad(lambda x, y: energy(a, x, y))(VECTOR, 3.0),
    "grad by argnum": lambda a: a.top.grad(lambda x, y: energy(a, x, y), argnum=1)(VECTOR, 3.0),
    "grad in two": lambda a: a.top.grad(lambda x, y: energy(a, x, y), [0, 1])(VECTOR, 3.0),
    "grad of containers": lambda a: a.top.grad(lambda p: p["a"][0] * p["a"][1] + p["b"] ** 2)(
        {"a": [2.0, 3.0], "b": 1.0}
    ),
    "grad of a size-one array": lambda a: a.top.grad(lambda x: x[:1] * 2)(VECTOR),
    "grad of a constant": lambda a: a.top.grad(lambda x: 3.0)(VECTOR),
    "grad with keywords": lambda a: a.top.grad(lambda x, *, power: a.numpy.sum(x**power))(VECTOR, power=3),
    "grad of grad": lambda a: a.top.grad(a.top.grad(lambda x: x**4))(1.5),
    "elementwise_grad": lambda a: a.top.elementwise_grad(a.numpy.tanh)(VECTOR),
    "value_and_grad": lambda a: a.top.value_and_grad(lambda x: energy(a, x))(VECTOR),
    "jacobian": lambda a: a.top.jacobian(lambda x: a.numpy.outer(x, x))(VECTOR),
    "jacobian of matrices": lambda a: a.top.jacobian(lambda x: a.numpy.sum(x, axis=0))(VOLUME),
    "hessian": lambda a: a.top.hessian(lambda x: energy(a, x))(VECTOR),
    "hessian of a vector": lambda a: a.top.hessian(lambda x: x**3)(VECTOR),
    "hessian_vector_product": lambda a: a.top.hessian_vector_product(lambda x: a.numpy.sum(x**3))(VECTOR, VECTOR),
    "hessian_tensor_product": lambda a: a.top.hessian_tensor_product(lambda x: a.numpy.sum(x**3))(VOLUME, VOLUME),
    "tensor_jacobian_product": lambda a: a.top.tensor_jacobian_product(lambda x: MATRIX @ x)(VECTOR, VECTOR),
    "vector_jacobian_product": lambda a: a.top.vector_jacobian_product(lambda x: MATRIX @ x)(VECTOR, VECTOR),
    "make_vjp": lambda a: a.top.make_vjp(a.numpy.sin)(VECTOR)[0](VECTOR),
    "make_vjp in two": lambda a: a.top.make_vjp(lambda x, y: x * y, (0, 1))(VECTOR, VECTOR + 1)[0](numpy.ones(2)),
    "make_jvp": lambda a: a.top.make_jvp(a.numpy.sin)(VECTOR)(numpy.ones(2)),
    "make_jvp_reversemode": lambda a: a.differential_operators.make_jvp_reversemode(a.numpy.sin)(VECTOR)(VECTOR),
    "make_hvp": lambda a: a.top.make_hvp(lambda x: a.numpy.sum(x**3))(VECTOR)[0](VECTOR),
    "make_ggnvp": lambda a: a.top.make_ggnvp(lambda x: a.numpy.tanh(MATRIX @ x))(VECTOR)(VECTOR),
    "grad_named": lambda a: a.top.grad_named(lambda x, y: x * y**2, "y")(2.0, 3.0),
    "holomorphic_grad": lambda a: a.top.holomorphic_grad(lambda z: z**3)(1.0 + 2.0j),
    "complex gradient": lambda a: a.top.grad(lambda z: a.numpy.real(z * a.numpy.conj(z) + 1j * z))(1.0 + 2.0j),
    "deriv": lambda a: a.top.deriv(a.numpy.sin)(VECTOR),
    "checkpoint": lambda a: a.top.grad(a.top.checkpoint(lambda x: energy(a, x)))(VECTOR),
    "grad_and_aux": lambda a: a.top.grad_and_aux(lambda x: two(a, x))(VECTOR),
    "primitive": lambda a: a.top.grad(squared(a))(3.0, 2),
    "primitive, twice": lambda a: a.top.grad(a.top.grad(squared(a)))(3.0, 3),
    "primitive, zero rule": lambda a: a.top.grad(squared(a), 1)(3.0, 2.0),
    "primitive on arrays": lambda a: a.top.grad(lambda b: a.numpy.sum(solved(a)(MATRIX, b) ** 2))(VECTOR),
    "primitive on matrices": lambda a: a.top.grad(lambda m: a.numpy.sum(solved(a)(m, VECTOR) ** 2))(MATRIX),
    "jacobian of a primitive": lambda a: a.top.jacobian(lambda b: solved(a)(MATRIX, b))(VECTOR),
    "defvjp_argnum": lambda a: by_argnum(a, "one"),
    "defvjp_argnums": lambda a: by_argnum(a, "all"),
    "defjvp": lambda a: pushed(a, "each"),
    "defjvp_argnum": lambda a: pushed(a, "argnum"),
    "def_linear": lambda a: pushed(a, "linear"),
    "notrace_primitive": lambda a: a.top.grad(lambda x: a.extend.notrace_primitive(numpy.sign)(x) * x)(3.0),
    "getval": lambda a: a.top.grad(lambda x: a.tracer.getval(x) * x)(3.0),
    "isbox": lambda a: a.top.grad(lambda x: x * a.tracer.isbox(x) + a.tracer.isbox(2.0))(3.0),
    "ArrayBox": lambda a: a.top.grad(
        lambda x: x * isinstance(x, a.__getattr__("numpy.numpy_boxes").ArrayBox)
    )(3.0),
    "vspace": lambda a: [a.extend.vspace(VECTOR).zeros(), a.extend.vspace([1.0, VECTOR]).ones()],
    "vspace basis": lambda a: list(a.extend.vspace(VECTOR).standard_basis()),
    "vspace inner_prod": lambda a: a.extend.vspace(VECTOR).inner_prod(VECTOR, VECTOR),
    "vspace size": lambda a: [a.extend.vspace(VOLUME).size, a.extend.vspace([1.0, VECTOR]).size],
    "core.make_vjp": lambda a: a.core.make_vjp(a.numpy.sin, VECTOR)[0](VECTOR),
    "core.make_jvp": lambda a: a.core.make_jvp(a.numpy.sin, VECTOR)(VECTOR),
    "unary_to_nary": lambda a: a.wrap_util.unary_to_nary(lambda f, x: f(x) + 1)(lambda x, y: x * y, 1)(2.0, 3.0),
    "subvals": lambda a: a.util.subvals((1, 2, 3), [(0, 5), (2, 6)]),
    "builtins": lambda a: a.builtins.tuple((1.0, 2.0)) + (len(a.builtins.dict(x=1)), len(a.builtins.list([1, 2]))),
    "flatten": lambda a: a.__getattr__("misc.flatten").flatten({"b": [VECTOR, 2.0], "a": MATRIX})[0],
    "unflatten": lambda a: a.__getattr__("misc.flatten").flatten({"b": [VECTOR, 2.0]})[1](numpy.arange(3.0)),
    "flatten_func": lambda a: a.__getattr__("misc.flatten").flatten_func(lambda p: [p[1], p[0]], [1.0, 2.0])[0](VECTOR),
    "sgd": lambda a: optimised(a, "sgd"),
    "rmsprop": lambda a: optimised(a, "rmsprop"),
    "adam": lambda a: optimised(a, "adam"),
    "fixed_point": lambda a: [root(a, 3.0), a.top.grad(lambda x: root(a, x))(3.0)],
    "convolve, valid": lambda a: convolved(a, "valid"),
    "convolve, full": lambda a: convolved(a, "full"),
    "convolve, same": lambda a: convolved(a, "same"),
    "scipy.special": lambda a: a.top.grad(a.__getattr__("scipy.special").gammaln)(2.5),
    "scipy.stats.norm": lambda a: a.top.grad(a.__getattr__("scipy.stats.norm").logpdf)(2.5, 1.0, 2.0),
    "scipy.linalg": lambda a: a.top.grad(
        lambda b: a.numpy.sum(a.__getattr__("scipy.linalg").solve_triangular(MATRIX, b))
    )(VECTOR),
    "numpy.linalg": lambda a: a.top.grad(a.__getattr__("numpy.linalg").det)(MATRIX),
    "numpy.fft": lambda a: a.top.grad(lambda x: a.numpy.abs(a.__getattr__("numpy.fft").fft(x))[1])(VECTOR),
    "numpy.random": lambda a: a.__getattr__("numpy.random").RandomState(3).randn(2),
    "stack of a generator": lambda a: a.top.grad(lambda x: a.numpy.sum(a.numpy.stack(x[i] * i for i in range(2))))(
        VECTOR
    ),
    "where of numbers": lambda a: a.numpy.where(True, 1, 2),
    "make_diagonal": lambda a: a.numpy.make_diagonal(VECTOR, 0, -1, -2),
    "unbroadcast_f": lambda a: a.__getattr__("numpy.numpy_vjps").unbroadcast_f(VECTOR, lambda g: g * MATRIX)(1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_name(name):
    expected = json.loads(FILE.read_text())[name]
    ours = numpy.array(flat(ROWS[name](Library("anyshape.autograd"))), complex)
    numpy.testing.assert_allclose(ours, numpy.array(expected, complex), rtol=1e-9, atol=1e-12)


def refusal(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def test_what_is_refused():
    a = Library("anyshape.autograd")
    for operator in (a.top.grad, a.top.value_and_grad):
        assert "only applies to real scalar-output" in str(refusal(lambda: operator(lambda x: x)(VECTOR)))  # noqa: B023
    assert isinstance(refusal(lambda: a.top.elementwise_grad(lambda x: x * 1j)(VECTOR)), TypeError)
    error = refusal(lambda: a.top.grad(a.extend.primitive(lambda x: x**2))(3.0))
    assert isinstance(error, NotImplementedError) and "wrt argnum 0 not defined" in str(error)
    error = refusal(lambda: a.top.make_jvp(squared(a))(3.0, 2)(1.0))
    assert isinstance(error, NotImplementedError)
    assert isinstance(refusal(lambda: a.test_util.check_grads(wrong_square(a))(2.0)), AssertionError)
    a.test_util.check_grads(lambda x, y: a.numpy.sin(x) * y, (0, 1))(VECTOR, VECTOR)


def wrong_square(a):
    square = a.extend.primitive(lambda x: x**2)
    a.extend.defvjp(square, lambda ans, x: lambda g: 3 * g * x)
    a.extend.defjvp(square, lambda g, ans, x: 3 * g * x)
    return square


def test_functions_with_derivatives_keep_them():
    """Packages give autograd's functions rules that it lacks, or that it has wrong: these are right here."""
    a = Library("anyshape.autograd")
    for function in (a.numpy.where, a.numpy.exp, a.scipy.special.expit):
        with pytest.warns(UserWarning, match="keeps the derivative that it has"):
            a.extend.defvjp(function, lambda ans, x: lambda g: 0 * g)
        with pytest.warns(UserWarning, match="keeps the derivative that it has"):
            a.extend.defjvp(function, lambda g, ans, x: 0 * g)
    assert a.top.grad(a.numpy.exp)(0.0) == 1
    assert isinstance(refusal(lambda: a.extend.defvjp(lambda x: x, None)), AttributeError)


def test_an_argument_whose_values_are_needed():
    a, masks = Library("anyshape.autograd"), []

    class Table:
        def __getitem__(self, mask):
            masks.append(type(mask))
            return numpy.arange(4.0)[numpy.asarray(mask, dtype=bool)]

    table = Table()
    gradient = a.top.grad(lambda x, n: a.numpy.sum(x * table[n > 1]))
    for n in ([0, 1, 2, 3], [2, 0, 0, 0], [0, 1, 2, 3]):
        assert gradient(2.0, numpy.array(n)) == sum(i for i, k in enumerate(n) if k > 1)
    assert numpy.ndarray in masks


def tower(a, count):
    """Return a sine whose derivatives are primitives of their own, which take arrays alone."""
    waves = numpy.sin, numpy.cos, lambda z: -numpy.sin(z), lambda z: -numpy.cos(z)
    on_arrays = lambda wave: lambda z: wave(numpy.asarray(z, dtype=float))
    made = [a.extend.primitive(on_arrays(wave)) for wave in waves[:count]]
    for level, slope in itertools.pairwise(made):
        a.extend.defvjp(level, lambda ans, z, slope=slope: lambda g: g * slope(z))
    return made[0]


def test_rules_that_call_primitives_on_arrays_have_derivatives():
    """No argument is fixed for them, and one program serves all sizes."""
    a = Library("anyshape.autograd")
    sine = tower(a, 4)
    loss = lambda w, x: a.numpy.sum(sine(w[0] * x) * x)
    gradient, curvature = a.top.grad(loss), a.top.hessian(loss)
    for n in (3, 5, 2):
        w, x = numpy.array([0.7]), numpy.linspace(0.1, 2, n)
        numpy.testing.assert_allclose(gradient(w, x), [numpy.sum(numpy.cos(0.7 * x) * x**2)], rtol=1e-12)
        numpy.testing.assert_allclose(curvature(w, x), [[-numpy.sum(numpy.sin(0.7 * x) * x**3)]], rtol=1e-12)
    assert gradient.cache_info().traces == curvature.cache_info().traces == 1


IN_PROGRAMS = {
    "fori_loop": lambda top, f: top.grad(lambda w: numpy.sum(top.fori_loop(0, 3, lambda i, c: f(c), w))),
    "scan": lambda top, f: top.grad(lambda w: top.scan(lambda c, x: (f(c + x), c), 0.5, w)[0]),
    "while_loop": lambda top, f: lambda w: top.while_loop(lambda c: numpy.sum(c) > 1, lambda c: f(c) / 2, w),
    "cond": lambda top, f: top.grad(lambda w: numpy.sum(top.cond(numpy.sum(w) > 1, f, lambda w: w, w))),
    "vmap": lambda top, f: top.vmap(lambda w: f(w) * w),
    "map": lambda top, f: lambda w: top.map(top.grad(f), w),
    "trace": lambda top, f: top.trace(lambda w: f(w) * w)("n"),
    "hessian in vmap": lambda top, f: lambda w: top.vmap(top.hessian(f))(w),
    "checkpoint": lambda top, f: top.grad(lambda w: numpy.sum(top.checkpoint(f)(w) * w)),
}


@pytest.mark.parametrize("name", IN_PROGRAMS)
def test_what_is_called_back_in_loops_branches_and_batches(name):
    a, top = Library("anyshape.autograd"), importlib.import_module("anyshape")
    called_back, traced = (IN_PROGRAMS[name](top, f) for f in (tower(a, 4), numpy.sin))
    for n in (0, 1, 4):
        w = numpy.linspace(0.3, 1.2, n)
        numpy.testing.assert_allclose(called_back(w), traced(w), rtol=1e-13, strict=True)


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3), (1, 4)], ids=str)
@pytest.mark.parametrize(
    "function", [numpy.sort, numpy.cumsum, lambda x: x[:3], lambda x: x[x > 1], lambda x: numpy.outer(x, x), numpy.sum],
    ids=["sort", "cumsum", "first three", "some", "outer", "sum"],
)  # fmt: skip
def test_sizes_of_what_is_called_back(function, sizes):
    """A result has the size of its operand only where it has that at other sizes, too."""
    a = Library("anyshape.autograd")
    on_arrays = lambda x: numpy.array(function(numpy.asarray(x, dtype=float)))
    changes = lambda x: [(on_arrays(x + step) - on_arrays(x - step)) / 2e-4 for step in 1e-4 * numpy.eye(len(x))]
    made = a.extend.primitive(on_arrays)
    a.extend.defvjp(made, lambda ans, x: lambda g: numpy.array([numpy.sum(numpy.array(g) * y) for y in changes(x)]))
    loss = a.top.value_and_grad(lambda x: a.numpy.sum(made(x)))
    for n in sizes:
        x = numpy.sin(numpy.arange(1.0, n + 1)) * 3
        value, gradient = loss(x)
        numpy.testing.assert_allclose(value, numpy.sum(on_arrays(x)))
        numpy.testing.assert_allclose(gradient, [numpy.sum(y) for y in changes(x)])


def test_sizes_of_what_is_called_back_with_large_operands():
    a, top = Library("anyshape.autograd"), importlib.import_module("anyshape")
    for function in (numpy.sort, lambda x: x[:3], lambda x: x[x > 1]):
        f = top.jit(a.extend.primitive(lambda x, function=function: function(numpy.asarray(x, dtype=float))))
        for n in (5000, 3, 1):
            x = numpy.sin(numpy.arange(1.0, n + 1)) * 3
            numpy.testing.assert_array_equal(f(x), function(x), strict=True)


def test_rules_of_broken_code_name_the_error():
    a = Library("anyshape.autograd")

    def broken(x):
        raise RuntimeError(f"no value at {x}")

    error = refusal(lambda: a.top.grad(a.extend.primitive(broken))(3.0))
    assert "no value at 3.0" in str(error)


if __name__ == "__main__":
    numbers = {name: flat(row(Library("autograd"))) for name, row in ROWS.items()}
    FILE.write_text(json.dumps(numbers, default=str, indent=0).replace("\n", "") + "\n")
