"""A loop or a conditional whose result is not used refuses what it refuses where it is used, in the same runs."""

import itertools
import zlib

import numpy as np
import pytest

import anyshape
from anyshape import cond, fori_loop, grad, jit, jvp, linearize, scan, switch, vmap, while_loop
from tests.laws.test_unused_errors import REFUSING, refusal

LINE = np.arange(3.0)
NARROW = "integer of a size"
REFUSING = REFUSING | {
    NARROW: (lambda x: x[1] * 2.0, (np.ones(1),), (np.ones(2),)),
    "product": (lambda x, y: x @ y, (np.ones((2, 3)), np.ones(2)), (np.ones((2, 3)), LINE)),
    "sum": (lambda x, y: x + y, (LINE, np.ones(2)), (LINE, np.ones(1))),
    "size squared": (lambda x: x.reshape(x.shape[0] // 2, 2), (LINE,), (np.ones(4),)),
}
REFUSING.pop("check of sizes")  # it is a statement about the whole call


def total(result):
    """Return a float that depends on a result of any kind."""
    return 0.0 if result is None else np.sum(result * 1.0)


TRANSFORMS = {
    "grad": grad,
    "second derivative": lambda f: grad(lambda x: np.sum(grad(f)(x) ** 2)),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[1],
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
    "vmap": lambda f: lambda x: vmap(f)(np.stack([x, x])),
    "grad of vmap": lambda f: grad(lambda x: np.sum(vmap(f)(np.stack([x, x])))),
    "vmap of grad": lambda f: lambda x: vmap(grad(f))(np.stack([x, x])),
    "checkpoint": lambda f: grad(anyshape.checkpoint(f)),
}


# -- sites where a function runs `count` times, the length of `steps`; results may be used or not


def in_map(function, steps, count, *arrays):
    return anyshape.map(lambda e: e + total(function(*arrays)), steps)


def in_scan(function, steps, count, *arrays):
    return scan(lambda c, e: (c + total(function(*arrays)), e), 0.0, steps)


def in_carry(function, steps, count, x, *arrays):
    """Refuse by the size of a carry, which the body keeps."""
    return scan(lambda c, e: (c + 0 * total(function(c, *arrays)), e), x, steps)[1]


def in_elements(function, steps, count, *arrays):
    stacks = [np.repeat(np.expand_dims(x, 0), steps.shape[0], axis=0) for x in arrays]
    return anyshape.map(lambda slices: total(function(*slices)), tuple(stacks))


def in_fori(function, steps, count, *arrays):
    return fori_loop(0, count, lambda i, c: c + total(function(*arrays)), 0.0)


def in_while(function, steps, count, *arrays):
    return while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, c[1] + total(function(*arrays))), (0, 0.0))


def in_test(function, steps, count, *arrays):
    test = lambda c: (c < 1) & (total(function(*arrays)) == total(function(*arrays)))
    return cond(count > 0, lambda: while_loop(test, lambda c: c + 1, 0), lambda: 0)


def in_cond(function, steps, count, *arrays):
    return cond(count > 0, lambda: total(function(*arrays)), lambda: 0.0)


def in_switch(function, steps, count, *arrays):
    return switch(count, [lambda: 0.0, lambda: 1.0, lambda: total(function(*arrays))])


def in_branch_of_sizes(function, steps, count, *arrays):
    return cond(steps.shape[0] > 1, lambda: total(function(*arrays)), lambda: 0.0)


def in_loop_of_loops(function, steps, count, *arrays):
    inner = lambda: scan(lambda c, e: (c, total(function(*arrays))), 0.0, steps)
    return anyshape.map(lambda e: (inner(), e)[1], steps)


def in_branch_of_loop(function, steps, count, *arrays):
    return fori_loop(0, count, lambda i, c: (cond(i == 1, lambda: total(function(*arrays)), lambda: 0.0), c)[1], 0.0)


def in_loop_of_branch(function, steps, count, *arrays):
    return cond(count == 2, lambda: (in_map(function, steps, count, *arrays), 1.0)[1], lambda: 0.0)


def in_jit(function, steps, count, *arrays):
    return anyshape.map(lambda e: (jit(lambda *xs: total(function(*xs)))(*arrays), e)[1], steps)


SITES = [value for name, value in globals().items() if name.startswith("in_")]


def used(site, function):
    return lambda steps, count, *arrays: site(function, steps, count, *arrays)


def unused(site, function):
    return lambda steps, count, *arrays: (site(function, steps, count, *arrays), np.sum(steps))[1]


def calls(trips, arrays):
    return np.zeros(trips), np.array(trips), *arrays


def cases():
    """Every site with every refusal; the gate has one in twelve of them."""
    marks, params = {True: (), False: pytest.mark.slow}, []
    for site, name in itertools.product(SITES, REFUSING):
        label = f"{site.__name__}-{name}"
        in_gate = name == NARROW or zlib.crc32(label.encode()) % 12 == 0
        params.append(pytest.param(site, name, id=label.replace(" ", "_"), marks=marks[in_gate]))
    return params


def may_run(site, name):
    _, refused, _ = REFUSING[name]
    if site is in_elements:
        return all(isinstance(x, np.ndarray) for x in refused)
    return site is not in_carry or np.asarray(refused[0]).dtype.kind == "f"


@pytest.mark.parametrize(("site", "name"), cases())
def test_unused_loops_and_branches_refuse_like_used_ones(site, name, tmp_path):
    function, refused, taken = REFUSING[name]
    if not may_run(site, name):
        pytest.skip("the site takes no such argument")
    live, dead = jit(used(site, function)), jit(unused(site, function))
    for jitted in (live, dead):
        jitted(*calls(2, taken))
        jitted(*calls(0, taken))
        jitted(*calls(0, refused))
    expected = refusal(live, *calls(2, refused))
    assert expected is not None
    seen = refusal(dead, *calls(2, refused))
    if site is in_elements:  # used ones name axes of a block of trips
        seen, expected = seen[0], expected[0]
    assert seen == expected
    dead.programs()[0].save(tmp_path / "program")
    loaded = anyshape.load(tmp_path / "program")
    inlined = jit(lambda *arrays: (dead(*arrays), 1.0)[1])
    for call in (loaded, inlined):
        call(*calls(0, refused))
        call(*calls(2, taken))
        assert refusal(call, *calls(2, refused)) is not None


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transformed_loops_and_branches_refuse_though_unused(transform, site):
    function, refused, taken = REFUSING[NARROW]
    transformed = TRANSFORMS[transform]

    def program(steps, count, x):
        return transformed(lambda x: (site(function, steps, count, x), np.sum(x))[1])(x)

    jitted = jit(program)
    jitted(*calls(2, taken))
    jitted(*calls(0, refused))
    assert refusal(jitted, *calls(2, refused)) is not None


def test_loops_that_refuse_nothing_are_left_out():
    def function(x, p):
        cond(p, lambda: x * 2, lambda: x)
        while_loop(lambda c: c < 2, lambda c: c + 1.0, 0.0)
        return (anyshape.map(lambda e: e * 2.0, x), scan(lambda c, e: (c + e, c), x[0], x), np.sum(x))[2]

    jitted = jit(function)
    jitted(np.ones((2, 3)), True)
    assert not jitted.programs()[0].graph.subgraphs


def test_an_unused_loop_runs_for_one_trip_where_all_trips_refuse_the_same():
    jitted = jit(lambda xs: (anyshape.map(lambda x: np.tanh(x[0]), xs), np.sum(xs))[1])
    jitted(np.ones((5, 3)))
    (loop,) = jitted.programs()[0].graph.subgraphs
    assert str(loop.outputs[0].meta) == "bool[min(xs_0, 1)]"
    assert "tanh" not in str(jitted.programs()[0].graph)


def test_an_unused_loop_refuses_what_a_late_trip_refuses():
    jitted = jit(lambda xs, i: (scan(lambda c, j: (c + xs[j], c), 0.0, i), np.sum(xs))[1])
    assert jitted(LINE, np.array([0, 2, 1])) == 3
    assert "index 7" in refusal(jitted, LINE, np.array([0, 2, 7]))[1]
