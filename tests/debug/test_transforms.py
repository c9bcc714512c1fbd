"""Text that a program prints: each statement once, in the order of Python, whatever is done to the function."""

import contextlib
import io

import numpy as np
import pytest

import anyshape
from anyshape import debug

X = np.array([0.5, 1.5, 2.5])


class Plain:
    """Loops and choices of Python, and its print."""

    @staticmethod
    def print(text, *args, **kwargs):
        print(text.format(*args, **kwargs))

    @staticmethod
    def scan(body, carry, xs):
        results = []
        for x in xs:
            carry, y = body(carry, x)
            results.append(y)
        return carry, np.array(results)

    @staticmethod
    def fori_loop(first, last, body, carry):
        for i in range(first, last):
            carry = body(i, carry)
        return carry

    @staticmethod
    def while_loop(test, body, carry):
        while test(carry):
            carry = body(carry)
        return carry

    @staticmethod
    def cond(pred, yes, no, *operands):
        return yes(*operands) if pred else no(*operands)

    jit = checkpoint = staticmethod(lambda f: f)


class Traced:
    print = staticmethod(debug.print)
    scan, fori_loop, while_loop = map(staticmethod, (anyshape.scan, anyshape.fori_loop, anyshape.while_loop))
    cond, jit, checkpoint = map(staticmethod, (anyshape.cond, anyshape.jit, anyshape.checkpoint))


def straight(py, x, tag):
    py.print("{}: x={} n={}", tag, x, x.shape[0])
    y = np.sin(x) * x
    py.print("{}: sum {s:.3f}", tag, s=y.sum())
    py.print("{}: sum {s:.3f}", tag, s=y.sum())
    py.print("{}: no value of the result", tag)
    return (y * x).sum()


def in_scan(py, x, tag):
    def body(c, row):
        py.print("{}: row {:.2f} of carry {:.3f}", tag, row, c)
        c = c * np.cos(row)
        py.print("{}: after it {:.3f}", tag, c)
        return c, c * c

    c, ys = py.scan(body, x[0] * 2, x)
    py.print("{}: {}", tag, ys.round(3))
    return c + ys.sum()


def in_fori_loop(py, x, tag):
    def body(i, c):
        py.print("{}: {i} {c}", tag, i=i, c=c.round(3))
        return np.sin(c) * c

    return py.fori_loop(0, x.shape[0], body, x).sum()


def in_while_loop(py, x, tag):
    def test(c):
        py.print("{}: is {:.2f} below", tag, c)
        return c < 20

    def body(c):
        py.print("{}: trip from {:.2f}", tag, c)
        return c * 1.5

    return py.while_loop(test, body, 1 + x[0] ** 2)


def in_cond(py, x, tag):
    def yes(x):
        py.print("{}: yes {}", tag, x)
        return x * x

    def no(x):
        py.print("{}: no", tag)
        return x + 1

    return py.cond(x[0] > 1, yes, no, x).sum() + py.cond(x[0] < 1, yes, no, x).sum()


def nested(py, x, tag):
    def inner(c, row):
        def step(i, c):
            py.print("{}: trip {} at {:.2f}", tag, i, row)
            return py.cond(c > 2, lambda c: (py.print("{}: large", tag), c / 2)[1], lambda c: c * 1.5, c)

        return py.fori_loop(0, 2, step, c + row), row * c

    c, ys = py.scan(inner, x[0], x)
    return c + ys.sum()


def constant_in_loop(py, x, tag):
    def body(c, row):
        py.print("{}: again", tag)
        return c + py.cond(tag >= 0, lambda: (py.print("{}: of the tag", tag), 1.0)[1], lambda: 2.0), row

    return py.scan(body, x[0] * 0, x)[1].sum()


def jitted_inside(py, x, tag):
    @py.jit
    def inner(x):
        py.print("{}: inner {}", tag, x)
        return x * x

    return (inner(x) + inner(x)).sum()


def checkpointed(py, x, tag):
    @py.checkpoint
    def inner(x):
        py.print("{}: inner {}", tag, x)
        return np.sin(np.sin(x) * straight(py, x, tag))

    return inner(inner(x)).sum()


def checkpointed_loop(py, x, tag):
    return py.checkpoint(lambda x: np.sin(in_scan(py, x, tag)) * x)(x).sum() + py.checkpoint(
        lambda x: in_cond(py, x * 2, tag)
    )(x)


PROGRAMS = [
    straight, in_scan, in_fori_loop, in_while_loop, in_cond, nested, constant_in_loop, jitted_inside, checkpointed,
    checkpointed_loop,
]  # fmt: skip
program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)


def text_of(function, *args, **kwargs):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function(*args, **kwargs)
    return out.getvalue()


def plain(program, x, tag=7):
    return text_of(program, Plain, x, tag)


def traced(program):
    return lambda x, tag: program(Traced, x, tag)


TRANSFORMS = {
    "jit": anyshape.jit,
    "jit, optimised": lambda f: anyshape.jit(f, optimize="now"),
    "jit, first plan": lambda f: anyshape.jit(f, optimize="off"),
    "jit, machine code": lambda f: anyshape.jit(f, optimize="now", compile="wait"),
    "jit of jit": lambda f: anyshape.jit(anyshape.jit(f)),
    "grad": anyshape.grad,
    "value_and_grad": anyshape.value_and_grad,
    "jit of grad": lambda f: anyshape.jit(anyshape.grad(f), optimize="now"),
    "grad of jit": lambda f: anyshape.grad(anyshape.jit(f)),
    "jvp": lambda f: lambda x, tag: anyshape.jvp(lambda x: f(x, tag), (x,), (x,)),
    "linearize": lambda f: lambda x, tag: anyshape.linearize(lambda x: f(x, tag), x)[1](x),
    "vjp": lambda f: lambda x, tag: anyshape.vjp(lambda x: f(x, tag), x)[1](1.0),
    "jacfwd": anyshape.jacfwd,
    "jacrev": anyshape.jacrev,
    "hessian": anyshape.hessian,
    "hvp": lambda f: lambda x, tag: anyshape.hvp(lambda x: f(x, tag), (x,), (x,)),
    "grad of grad": lambda f: anyshape.grad(lambda x, tag: anyshape.grad(f)(x, tag).sum()),
    "checkpoint": lambda f: anyshape.grad(anyshape.checkpoint(f)),
    "checkpoint of grad": lambda f: anyshape.jit(anyshape.checkpoint(anyshape.grad(f))),
    "jit in little memory": lambda f: anyshape.jit(anyshape.grad(f), max_bytes=1 << 20),
}
transform = pytest.mark.parametrize("transform", TRANSFORMS)


@transform
@program
def test_each_statement_prints_once_in_order(program, transform):
    function = TRANSFORMS[transform](traced(program))
    for x in (X, X[1:] + 1, X):
        assert text_of(function, x, 7) == plain(program, x)


def of_examples(text, size):
    """The lines of each example, one after the other, in the order in which they were printed."""
    lines = text.splitlines(keepends=True)
    return ["".join([line for line in lines if line.startswith(f"{tag}:")]) for tag in range(size)]


BATCHES = {
    "vmap": anyshape.vmap,
    "vmap, optimised": lambda f: anyshape.jit(anyshape.vmap(f), optimize="now"),
    "vmap of grad": lambda f: anyshape.vmap(anyshape.grad(f)),
    "grad of vmap": lambda f: anyshape.grad(lambda x, tag: anyshape.vmap(f)(x, tag).sum()),
    "vmap of hessian": lambda f: anyshape.vmap(anyshape.hessian(f)),
    "hessian of vmap": lambda f: anyshape.hessian(lambda x, tag: anyshape.vmap(f)(x, tag).sum()),
    "jvp of vmap": lambda f: lambda x, tag: anyshape.jvp(lambda x: anyshape.vmap(f)(x, tag), (x,), (x,)),
    "map": lambda f: anyshape.jit(lambda x, tag: anyshape.map(lambda args: f(*args), (x, tag))),
    "in a batch": lambda f: lambda x, tag: anyshape.vmap(anyshape.vmap(f))(x[None], tag[None]),
    "grad in a batch": lambda f: (
        lambda x, tag: anyshape.vmap(anyshape.grad(lambda x, tag: anyshape.vmap(f)(x, tag).sum()))(x[None], tag[None])
    ),
}


@pytest.mark.parametrize("transform", BATCHES)
@program
def test_each_example_of_a_batch_prints_what_it_prints_alone(program, transform):
    function = BATCHES[transform](traced(program))
    for xs in (np.array([X, X * 3, X + 1]), np.array([X]), np.empty((0, 3))):
        text, tags = text_of(function, xs, np.arange(len(xs))), range(len(xs))
        assert of_examples(text, len(xs)) == [plain(program, x, tag) for x, tag in zip(xs, tags, strict=True)]
        assert len(text) == sum(map(len, of_examples(text, len(xs))))
