"""Extents: bindings and projections hold at all small sizes and never strengthen a guarantee."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anyshape
import anyshape.numpy as anp
from anyshape import Dim, ShapeDtypeStruct, eval_shape, jit, pure_callback, trace
from anyshape.graph.shapes.array_type import Exact, Unknown, UpperBound, bind, project
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate, values_from
from anyshape.graph.sizes.symbols import DimVar

N, M, R, S = (DimVar(name) for name in "nmrs")
LEAVES = [expr.from_atom(v) for v in (N, M, R, S)]
SMALL = range(4)
STRENGTH = {Exact: 2, UpperBound: 1, Unknown: 0}


def calls(parts):
    number = st.integers(1, 3)
    return st.one_of(
        st.builds(expr.add, parts, parts),
        st.builds(expr.sub, parts, parts),
        st.builds(expr.mul, parts, parts),
        st.builds(expr.mul, st.integers(-2, 3), parts),
        st.builds(expr.floordiv, parts, number),
        st.builds(expr.mod, parts, number),
        st.builds(expr.maximum, parts, parts),
        st.builds(expr.minimum, parts, parts),
    )


sizes = st.recursive(st.one_of(st.sampled_from(LEAVES), st.integers(0, 4)), calls, max_leaves=6)
plain = st.recursive(st.sampled_from([*LEAVES[:2], 0, 1, 3]), lambda p: st.builds(expr.add, p, p), max_leaves=2)
weak = st.one_of(st.builds(UpperBound, plain), st.just(Unknown()))
extents = st.one_of(st.builds(Exact, sizes), st.builds(UpperBound, sizes), st.just(Unknown()))


def values(size):
    """Yield each assignment of small sizes with the value of the size."""
    for n, m, r, s in itertools.product(SMALL, repeat=4):
        at = {N: n, M: m, R: r, S: s}
        yield at, evaluate(size, values_from(at))


def allows(extent, size, at):
    """Return True where the extent permits a value of this size."""
    if isinstance(extent, Unknown):
        return True
    limit = evaluate(extent.size, values_from(at))
    return size == limit if isinstance(extent, Exact) else size <= limit


def bounded(extent, at, variable):
    """Return True where the extent of the variable permits its assignment."""
    return isinstance(extent, Unknown) or at[variable] <= evaluate(extent.size, values_from(at))


@given(sizes, weak, weak)
def test_a_projection_holds_at_every_size_and_drops_the_projected_variables(size, r, s):
    extent_of = {R: r, S: s}
    projected = project(Exact(size), extent_of.get)
    used = set(expr.variables(size)) & {R, S}
    assert isinstance(projected, Exact) == (not used)
    if not isinstance(projected, Unknown):
        assert not set(expr.variables(projected.size)) & {R, S}
    for at, value in values(size):
        if all(bounded(extent_of[v], at, v) for v in used):
            assert allows(projected, value, at), (projected, value, at)
    for weaker in (UpperBound(size), Unknown()):
        assert STRENGTH[type(project(weaker, extent_of.get))] <= STRENGTH[type(weaker)]


@given(sizes, extents, weak)
def test_a_binding_is_exact_only_where_all_its_leaves_are(size, r, s):
    extent_of = {R: r, S: s, N: None, M: None}
    bound = bind(size, extent_of.get)
    used = [extent_of[v] for v in expr.variables(size) if extent_of[v] is not None]
    assert isinstance(bound, Exact) == all(isinstance(e, Exact) for e in used)
    if expr.as_atom(size) is R:
        assert bound == r


# -- signatures of programs


SIGNATURES = [
    (lambda x: x[x > 0], "f64[<=n]"),
    (lambda x: x[x > 0][x[x > 0] < 1], "f64[<=n]"),
    (lambda x: np.concatenate([x[x > 0], x]), "f64[<=2*n]"),
    (lambda x: x[x > 0][::2], "f64[<=(n + 1) // 2]"),
    (lambda x: x[x > 0][1:], "f64[<=max(n - 1, 0)]"),
    (lambda x: x[x > 0][:3], "f64[<=min(n, 3)]"),
    (lambda x: np.outer(x[x > 0], x[x < 0]), "f64[<=n, <=n]"),
    (lambda x: np.outer(x, x)[np.outer(x, x) > 0], "f64[<=n**2]"),
    (lambda x: x[x > 0].reshape(-1, 1) * np.ones(2), "f64[<=n, 2]"),
    (lambda x: x[x > 0].sum(), "f64[]"),
    (lambda x: pure_callback(np.sin, ShapeDtypeStruct("?"), x), "f64[?]"),
    (lambda x: np.append(pure_callback(np.sin, ShapeDtypeStruct("?"), x), x), "f64[?]"),
    (lambda x: x[x.shape[0] - x[x > 0].shape[0] :], "f64[<=n]"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "signature"), SIGNATURES, ids=[s for _, s in SIGNATURES])
def test_a_signature_shows_bounds_of_run_time_sizes(function, signature):
    program = trace(function)(ShapeDtypeStruct("n"))
    assert str(program).splitlines()[0].endswith(f"-> ({signature})")
    shape = signature[4:-1]
    described = eval_shape(function, ShapeDtypeStruct("n"))
    assert str(described.shape if isinstance(described.shape, str) else ", ".join(map(str, described.shape))) == shape
    for n in (0, 1, 5):
        x = np.linspace(-1, 2, n)
        got = program(x)
        for size, extent in zip(got.shape, program.graph.results[0].extents, strict=True):
            limit = None if isinstance(extent, Unknown) else evaluate(extent.size, lambda leaf, n=n: n)
            assert limit is None or (size <= limit if isinstance(extent, UpperBound) else size == limit)


def test_explain_shows_bounds_of_results():
    jitted = jit(lambda x: {"positive": x[x > 0]})
    jitted(np.ones(3))
    (program,) = jitted.explain().programs
    assert program.result == "{'positive': f64[<=x_0]}" and program.outputs == (("float64", "<=x_0"),)


def test_a_result_of_eval_shape_specifies_a_callback():
    described = eval_shape(lambda x: x[x > 0], ShapeDtypeStruct("n"))
    program = trace(lambda x: pure_callback(lambda x: x[x > 0], described, x) * 2)(ShapeDtypeStruct("n"))
    assert program(np.array([-1.0, 3.0])).tolist() == [6.0]


def test_exact_sizes_stay_exact():
    n = Dim("n")
    assert eval_shape(lambda x: x + 1, ShapeDtypeStruct((n, 3))).shape == (n, 3)
    assert jit(lambda x: anp.zeros(x[x > 0].shape))(np.arange(3.0)).shape == (2,)
    assert anyshape.graph.shapes.array_type.exact_size(UpperBound(3)) is None
