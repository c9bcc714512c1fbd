"""Loop-invariant code motion: what no trip changes runs once, and only where there is a trip."""

import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import fori_loop, jit, pure_callback, scan, while_loop
from anyshape.backend.compiler.lower import split_invariants
from anyshape.ops.loops import Layout


def body_of(function, *args):
    program = anyshape.trace(function)(*args)
    (node,) = [n for n in program.graph.nodes if n.op.name == "scan"]
    params = dict(node.params)
    return params["body"][0], Layout(*params["layout"])


def test_what_follows_from_captured_values_moves_out():
    body, layout = body_of(lambda w, xs: scan(lambda c, x: (np.tanh(c @ np.exp(w).T) + x, c), xs[0], xs)[0],
                           np.ones((3, 3)), np.ones((4, 3)))  # fmt: skip
    ahead, rest = split_invariants(body, layout)
    assert {n.op.name for n in ahead.nodes} >= {"exp"} and "exp" not in {n.op.name for n in rest.nodes}
    assert len(rest.inputs) == len(body.inputs) + len(ahead.outputs)


def test_what_depends_on_a_size_that_changes_stays():
    def grown(x):
        return fori_loop(0, 3, lambda i, v: np.concatenate([v, np.exp(anp.arange(v.shape[0]) * 1e-300)]), x)

    body, layout = body_of(grown, np.ones(2))
    ahead, rest = split_invariants(body, layout)
    assert "exp" in {n.op.name for n in rest.nodes} and not ahead.outputs
    np.testing.assert_array_equal(jit(grown)(np.ones(2)), np.ones(16))


def test_functions_of_the_user_run_in_every_trip():
    calls = []

    def counted(w):
        calls.append(1)
        return np.exp(w)

    shape = anyshape.ShapeDtypeStruct((2,), np.float64)
    f = jit(lambda w, x: fori_loop(0, 5, lambda i, c: c + pure_callback(counted, shape, w), x))
    np.testing.assert_allclose(f(np.ones(2), np.zeros(2)), 5 * np.exp(np.ones(2)))
    assert len(calls) == 5


@pytest.mark.parametrize("optimize", ["now", "off"])
def test_nothing_moved_warns_or_raises_without_trips(optimize):
    f = jit(lambda w, x, n: fori_loop(0, n, lambda i, c: c + np.log(w), x), optimize=optimize)
    g = jit(lambda w, x: while_loop(lambda c: np.sum(c) > 1e9, lambda c: c + np.log(w), x), optimize=optimize)
    with warnings.catch_warnings(), np.errstate(divide="warn"):
        warnings.simplefilter("error")
        np.testing.assert_array_equal(f(np.zeros(2), np.ones(2), 0), np.ones(2))
        np.testing.assert_array_equal(g(np.zeros(2), np.ones(2)), np.ones(2))
    with pytest.warns(RuntimeWarning, match="divide by zero"), np.errstate(divide="warn"):
        assert np.all(f(np.zeros(2), np.ones(2), 2) == -np.inf)


def test_conditions_on_sizes_are_checked_where_there_is_a_trip():
    f = jit(lambda w, x, n: fori_loop(0, n, lambda i, c: w @ c, x))
    assert f(np.eye(3), np.ones(3), 2).shape == (3,)
    np.testing.assert_array_equal(f(np.eye(3), np.ones(2), 0), np.ones(2))
    with pytest.raises(anyshape.errors.ShapeError, match=r"w\.shape"):
        f(np.eye(3), np.ones(2), 1)
