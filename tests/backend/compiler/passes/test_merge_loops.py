"""Loops that read what others stack: one loop in place of both gives what Python gives, and others stay two."""

import numpy as np
import pytest

from anyshape import jit, scan
from anyshape.backend.compiler.passes import pipeline
from anyshape.ops.loops import scan_op

CASES = {}
SHAPES = ((3, 4), (4, 3), (3, 3), (3, 1), (1, 3))


def case(loops):
    """Add a function of a scan and a matrix to the table, with the number of loops that it has at run time."""
    return lambda function: CASES.setdefault(function.__name__, (function, loops)) and function


def summed(c, r):
    return c + r, c * r


def halved(c, r):
    return c * 0.5 + r[::-1], r * c + 1


@case(1)
def stacks(scan, x):
    c, ys = scan(summed, x[0] * 0, x)
    return c, scan(halved, x[0], ys)


@case(1)
def stacks_that_others_read(scan, x):
    c, ys = scan(summed, x[0] * 0, x)
    z = np.sum(np.sin(ys))
    return c, z, scan(halved, x[0], ys), ys * 2


@case(1)
def backwards(scan, x):
    c, ys = scan(summed, x[0] * 0, x, reverse=True)
    return c, scan(halved, x[0], ys, reverse=True)


@case(2)
def other_directions(scan, x):
    c, ys = scan(summed, x[0] * 0, x)
    return c, scan(halved, x[0], ys, reverse=True)


@case(2)
def turned(scan, x):
    return scan(halved, x[0], scan(summed, x[0] * 0, x)[1][::-1])


@case(2)
def rows_of_another_shape(scan, x):
    _c, ys = scan(summed, x[0] * 0, x)
    return scan(halved, np.zeros(x.shape[0]), ys.reshape(x.shape[1], x.shape[0]))


@case(2)
def rows_and_the_last_carry(scan, x):
    c, ys = scan(summed, x[0] * 0, x)
    return scan(halved, c, ys)


@case(2)
def rows_and_all_of_them(scan, x):
    _c, ys = scan(summed, x[0] * 0, x)
    return scan(lambda c, r: (c * 0.5 + np.sum(ys, 0), r * c), x[0], ys)


@case(1)
def three(scan, x):
    c, ys = scan(summed, x[0] * 0, x)
    d, zs = scan(halved, x[0], ys)
    return c, d, scan(lambda c, rs: (c + rs[0] * rs[1], c - rs[0]), x[0] * 2, (zs, ys))


def by_python(body, carry, xs, reverse=False):
    """Return what a scan gives, by a loop of Python."""
    columns, ys = xs if isinstance(xs, tuple) else (xs,), []
    for row in list(zip(*columns, strict=True))[:: -1 if reverse else 1]:
        carry, y = body(carry, row if isinstance(xs, tuple) else row[0])
        ys.append(y)
    return carry, np.array(ys[:: -1 if reverse else 1])


def leaves(tree):
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize("name", CASES)
def test_one_loop_gives_what_two_give(name):
    function, loops = CASES[name]
    mine = jit(lambda x: function(scan, x), optimize="now", compile="off")
    for shape in SHAPES:
        x = np.random.default_rng(shape).normal(size=shape)
        for got, expected in zip(leaves(mine(x)), leaves(function(by_python, x)), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)
    (program,) = mine.programs()
    assert sum([node.op is scan_op for node in pipeline.prepare_to_run(program.graph).nodes]) == loops
