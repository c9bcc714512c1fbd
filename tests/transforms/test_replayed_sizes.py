"""Test that derivatives replay programs whose sizes were proved equal while they were traced.

Functions write in place to several arguments with undeclared sizes. Later statements show equalities that give sizes
of earlier ones other forms, and a replay has to find all proofs again. Slopes are compared with differences.
"""

import random
from functools import partial

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import cond, fori_loop, grad, jit, jvp, vmap

HEAD = """
def pull(p, m):
    x = p[:, 0:1]
    dx = x.T - x
    a = (dx * (dx**2 + 0.1)) @ m
    return np.hstack((a, a, a))

def f(m, p, v, w):
    p, v, w = p.copy(), v.copy(), w.copy()
    t = p
"""
RETURN = "return (p * p).sum() + (np.sin(v) * w).sum() + (t * 0.3).sum()"
STATEMENTS = [
    "{a} += {b} * 0.1", "{a} -= 0.1 * ({b} * {c})", "{a} = {b} + {c}", "t = {a} * {b}", "{a} += t * 0.1",
    "{a}[:, 0:1] += {b}[:, 0:1]", "{a} *= {b}[:, 1:2]", "t = ({a}[:, 0:1].T - {a}[:, 0:1]) @ {b}", "t = {a} @ m",
    "t = np.hstack((t, t))[:, :{a}.shape[1]]", "{a} += pull({b}, m)", "t = pull({a}, m)", "t = {a}.T @ {b}",
    "{a} += ({a} @ ({b}.T @ {c})) * 0.01", "t = np.concatenate(({a}[1:], {b}[:1]))", "{a} += t[:1] * 0.1",
    "{a}[1:] += {b}[:-1] * 0.1", "{a}[:-1] = {b}[1:] - {a}[:-1]", "t = {a}[:, None] - {b}[None]",
    "{a} += t.sum(0) * 0.1", "t = np.where({a} > 0.2, {b}, {c})", "{a}[...] = np.tanh({b})",
    "{a} += np.sqrt(({b}**2).sum(1, keepdims=True) + 0.1)", "{a} /= {b}**2 + 1.0", "{a} += t.reshape({a}.shape) * 0.1",
]  # fmt: skip
ONCE, TWICE = 1, 2
KNOWN = {  # programs that no replay could follow
    "row": (TWICE, "p += pull(p, m); v += (v @ (w.T @ v)) * 0.01; v += t.reshape(v.shape) * 0.1; t = p * v; "
                   "w += t[:1] * 0.1"),
    "pairs": (ONCE, "v[1:] += w[:-1] * 0.1; t = (w[:, 0:1].T - w[:, 0:1]) @ v; p[:-1] = w[1:] - p[:-1]; p += t * 0.1; "
                    "p = p + w; t = p[:, None] - w[None]; w -= 0.1 * (p * v)"),
    "products": (TWICE, "w *= w[:, 1:2]; t = w * p; v += t.sum(0) * 0.1; t = (v[:, 0:1].T - v[:, 0:1]) @ w; "
                        "p += t.reshape(p.shape) * 0.1; v += pull(p, m); v += (v @ (p.T @ v)) * 0.01; "
                        "w -= 0.1 * (v * w)"),
    "mask": (TWICE, "s = (p[:, 0:1].T - p[:, 0:1])**2 + (p[:, 1:2].T - p[:, 1:2])**2 + (p[:, 2:3].T - p[:, 2:3])**2; "
                    "s[s > 0] = s[s > 0]**0.5; v += (s @ m) * 0.1; p += v * 0.1; w += s.sum() * p * 0.01"),
}  # fmt: skip


LEAPFROG = """
def pull(p, m):
    x, y = p[:, 0:1], p[:, 1:2]
    dx, dy = x.T - x, y.T - y
    a = (dx * (dx**2 + 0.1)) @ m
    return np.hstack((a, a, a))

def f(m, p, v):
    p, v = p.copy(), v.copy()
    a = pull(p, m)
    for _ in range(2):
        v += a * 0.1
        p += v * 0.1
        a = pull(p, m)
        v += a * 0.1
    return (v * v).sum()
"""

STEPS = {  # bodies whose proofs no check found again, as more was known than in the trace
    "columns": "w += pull(p, m); w += v * 0.1; w[:-1] = w[1:] - w[:-1]; t = v @ m; v *= w[:, 1:2]; "
               "t = np.concatenate((w[1:], p[:1])); p *= v[:, 1:2]",
    "rows": "w += p * 0.1; p += pull(v, m); w[:-1] = v[1:] - w[:-1]; v[1:] += p[:-1] * 0.1; w += pull(v, m)",
    "square": "p += pull(p, m); v += (v @ (w.T @ v)) * 0.01; v += t.reshape(v.shape) * 0.1; w[1:] += v[:-1] * 0.1; "
              "t = pull(v, m); t = p * v; w += t[:1] * 0.1",
    "columns and rows": "p *= v[:, 1:2]; v += t * 0.1; t = (w[:, 0:1].T - w[:, 0:1]) @ w; v[:-1] = w[1:] - v[:-1]; "
                        "p += pull(w, m)",
    "run-time sizes": "v += t.reshape(v.shape) * 0.1; v += p * 0.1; v[:-1] = v[1:] - v[:-1]; p = v + w",
    "sums": "v += pull(p, m); p += np.sqrt((v**2).sum(1, keepdims=True) + 0.1); t = w @ m; v[1:] += w[:-1] * 0.1; "
            "v += t.sum(0) * 0.1; p /= v**2 + 1.0",
}  # fmt: skip


def load(source, namespace):
    space = {"np": namespace}
    exec(source, space)
    return space["f"]


def written(times, statements):
    """Return the source of a function with these statements, which a loop runs `times` times."""
    lines = [f"    for _ in range({times}):", *[f"        {line.strip()}" for line in statements], f"    {RETURN}"]
    return HEAD + "\n".join(lines)


def random_statements(rng):
    names = [dict(zip("abc", rng.choices("pvw", k=3), strict=True)) for _ in range(rng.randint(3, 8))]
    return [rng.choice(STATEMENTS).format(**n) for n in names]


def random_source(number):
    rng = random.Random(f"replayed sizes {number}")
    return written(rng.choice((ONCE, TWICE)), random_statements(rng))


def arguments(rows):
    rng = np.random.default_rng(rows)
    return [0.3 * rng.standard_normal(s) for s in ((rows, 1), (rows, 3), (rows, 3), (rows, 3))]


def same(got, want, tolerance=1e-9):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def slope(function, args, ways):
    step = 1e-6
    ends = [function(*[a + h * way for a, way in zip(args, ways, strict=True)]) for h in (step, -step)]
    return (ends[0] - ends[1]) / (2 * step)


def check_gradient(source, rows):
    """Compare the gradient with differences, and return what a further check needs."""
    plain, traced, args = load(source, np), load(source, anp), arguments(rows)
    ways = [np.cos(a) for a in args]
    gradient = grad(traced, (0, 1, 2, 3))
    slopes = gradient(*args)
    same(sum((g * way).sum() for g, way in zip(slopes, ways, strict=True)), slope(plain, args, ways), 1e-5)
    return gradient, slopes, args, ways


def check_transforms(source, rows):
    """Compare a compiled, a batched and a differentiated gradient with the gradient."""
    gradient, slopes, args, ways = check_gradient(source, rows)
    for got, want in zip(jit(gradient)(*args), slopes, strict=True):
        same(got, want)
    for got, want in zip(vmap(gradient)(*[np.stack([a, 0.5 * a]) for a in args]), slopes, strict=True):
        same(got[0], want)
    gradient_of_p = lambda *xs: gradient(*xs)[1]
    _, forward = jvp(gradient_of_p, tuple(args), tuple(ways))
    same(forward, slope(gradient_of_p, args, ways), 1e-5)


@pytest.mark.parametrize("name", KNOWN)
def test_sizes_that_the_trace_proved_equal_are_equal_in_derivatives(name):
    times, statements = KNOWN[name]
    check_gradient(written(times, statements.split(";")), 3)


def test_one_program_serves_the_gradient_of_all_sizes():
    plain, gradient = load(LEAPFROG, np), jit(grad(load(LEAPFROG, anp)))
    for rows in (5, 3, 2, 0):
        m, p, v, _ = arguments(rows)
        way = np.cos(m)
        same((gradient(m, p, v) * way).sum(), slope(lambda x, p=p, v=v: plain(x, p, v), [m], [way]), 1e-5)
    assert gradient.cache_info().traces == 1


def in_loop(step, m, state):
    return fori_loop(0, 2, lambda _, x: step(m, *x), state)


def in_branch(step, m, state):
    return step(m, *cond(state[0].sum() > -100, step, lambda m, *x: x, m, *state))


def unrolled(step, m, state):
    return step(m, *step(m, *state))


def check_body(statements):
    """Compare values and slopes of a loop and of a conditional of these statements with what Python runs."""
    step = load(HEAD + "\n".join([f"    {line.strip()}" for line in [*statements, "return p, v, w"]]), anp)
    args = arguments(3)

    def total(run, m, *state):
        p, v, w = run(step, m, state)
        return (p * p).sum() + (np.sin(v) * w).sum()

    wanted = grad(partial(total, unrolled), (0, 1, 2, 3))(*args)
    for run in (in_loop, in_branch):
        for got, want in zip(grad(partial(total, run), (0, 1, 2, 3))(*args), wanted, strict=True):
            same(got, want)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n not in ("square", "run-time sizes") else []) for n in STEPS]
)
def test_bodies_state_what_their_trace_has_proved(name):
    check_body(STEPS[name].split(";"))


def test_slopes_of_a_trip_know_what_it_asserts_of_run_time_sizes():
    def total(v, w):
        def trip(i, state):
            v, w = state
            w = cond(v.shape[0] > 1, lambda v, w: v * w, lambda v, w: w, v, w)  # its size is known to be v's below
            return v + vmap(lambda x, z: anp.sum(anp.sin(v * x) * (w * z)))(v, w) * 0.2, w

        v, w = fori_loop(0, 3, trip, (v, w))
        return anp.sum(anp.sin(v) * w)

    gradient = jit(grad(total, (0, 1)))
    for rows in (3, 1, 0, 2):
        v, w = (x.sum(1) for x in arguments(rows)[1:3])
        ways = [np.cos(v), np.sin(1.0 + w)]
        slopes = sum((g * way).sum() for g, way in zip(gradient(v, w), ways, strict=True))
        same(slopes, slope(jit(total), [v, w], ways), 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(200))
def test_random_writes_in_loops_and_branches_have_derivatives(number):
    statements = random_statements(random.Random(f"bodies {number}"))
    try:
        load(written(TWICE, statements), np)(*arguments(3))
    except ValueError:
        return  # statements that do not fit each other
    check_body(statements)


NUMBERS = [pytest.param(n, marks=[pytest.mark.slow] if n >= 4 else []) for n in range(200)]


@pytest.mark.parametrize("number", NUMBERS)
def test_random_writes_to_arguments_have_derivatives(number):
    source = random_source(number)
    try:
        expected = load(source, np)(*arguments(3))
    except ValueError:
        return  # statements that do not fit each other
    same(jit(load(source, anp))(*arguments(3)), expected)
    check_transforms(source, 3)
