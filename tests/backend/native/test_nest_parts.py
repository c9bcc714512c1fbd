"""Loops over examples run in parts: one run gives the same, on any number of threads."""

import numpy as np
import pytest

from anyshape import Ragged, config, errors, grad, jit, ragged_map, vjp
from anyshape.backend.native import nest_parts, nest_shared
from tests.backend.native.compiled import assert_bits, compiled, needs_compiler

pytestmark = needs_compiler
LENGTHS = ([3, 1, 5, 0, 2, 2, 7], [4, 4], [2], [])


def batch(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return Ragged(rng.uniform(0.2, 1, (sum(lengths), 3)), lengths)


def attention(w, x):
    scores = x @ w @ x.T
    weights = np.exp(scores) / (1 + np.exp(scores).sum(1, keepdims=True))
    return weights @ x, x.sum(0) @ w


def recurrent(w, x):
    h = w[0]
    for i in range(len(x)):
        h = np.tanh(w @ h + x[i])
    return x * h, h


FUNCTIONS = {"attention": attention, "recurrent": recurrent}
W = np.random.default_rng(1).normal(size=(3, 3))


def loss(function):
    def of_batch(w, xs):
        rows, one = ragged_map(function, in_axes=(None, 0), layout="loop")(w, xs)
        return np.sum(rows.flat**2) + np.sum(one * one)

    return of_batch


@pytest.fixture
def runs(monkeypatch):
    """Let all batches run in three parts if they can, and return a list that notes how many parts a run has."""
    noted, run = [], nest_parts.Parts.run
    for name, value in {"LEAST_ELEMENTS": 0, "PART_SECONDS": 1e-12, "MOST_PARTS": 3}.items():
        monkeypatch.setattr(nest_parts, name, value)
    monkeypatch.setattr(nest_parts.Parts, "run", lambda *a, **k: noted.append(len(a[4]) - 1) or run(*a, **k))
    return noted


def leaves(results):
    rows, one = results
    return [rows.flat, one]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts_give_what_one_run_gives(name, runs, monkeypatch):
    function = FUNCTIONS[name]
    mapped = compiled(lambda w, xs: leaves(ragged_map(function, in_axes=(None, 0), layout="loop")(w, xs)))
    slopes = compiled(grad(loss(function), (0, 1)))
    second = compiled(grad(lambda w, xs: np.sum(grad(loss(function))(w, xs) ** 2)))
    for lengths in LENGTHS:
        xs, results = batch(lengths), []
        for threads, parts in ((1, 1), (1, 3), (2, 3), (4, 3)):
            monkeypatch.setattr(config, "num_threads", threads)
            monkeypatch.setattr(nest_parts, "MOST_PARTS", parts)
            (of_w, of_xs), twice = slopes(W, xs), second(W, xs)
            results.append([*mapped(W, xs), of_w, of_xs.flat, twice])
        whole, *others = results
        for one in others:
            for got, want in zip(one, others[0], strict=True):
                assert_bits(got, want)
            for got, want in zip(one[:2], whole, strict=False):
                assert_bits(got, want)
            for got, want in zip(one[2:], whole[2:], strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
    assert {2, 3} <= {*runs}


def test_sums_that_a_program_carries_forward_keep_their_order(runs):
    def total(xs):
        result = 0.0
        for x in xs:
            result = result + np.exp(x).sum()
        return result

    xs = [*batch([3, 1, 5, 2, 7])]
    np.testing.assert_allclose(compiled(total)(Ragged.from_list(xs)), total(xs), rtol=1e-14)
    assert not runs


def test_carries_that_are_no_sums_run_whole(runs):
    def last(w, xs):
        for x in xs:
            w = np.tanh(w * x.sum())
        return np.sum(w)

    xs = batch([3, 1, 5, 2, 7])
    got = compiled(grad(last))(W, xs)
    np.testing.assert_allclose(got, grad(last)(W, [*xs]), rtol=1e-12)
    assert not runs


def test_what_one_part_refuses_or_warns_of_is_as_in_one_run(runs):
    largest = compiled(lambda xs: ragged_map(lambda x: x.max(0), layout="loop")(xs))
    assert_bits(largest(batch([3, 1, 2])), np.stack([x.max(0) for x in batch([3, 1, 2])]))
    with pytest.raises((ValueError, errors.AnyshapeError), match="trip 2"):
        largest(batch([3, 1, 0, 2]))
    powers = compiled(lambda xs: ragged_map(lambda x: np.exp(x).sum(0), layout="loop")(xs))
    assert len(powers(batch([3, 1, 2]))) == 3
    large = Ragged.from_list([np.ones((2, 3)), np.full((1, 3), 1e3), np.ones((4, 3))])
    with np.errstate(all="warn"), pytest.warns(RuntimeWarning, match="overflow"):
        powers(large)
    assert len(runs) >= 3


def test_reproducible_results_are_those_of_one_run(runs, monkeypatch):
    pull = jit(lambda w, xs: vjp(loss(attention), w, xs)[1](1.0)[0], compile="wait", optimize="now")
    pull(W, batch([3, 1, 5]))
    assert runs
    runs.clear()
    monkeypatch.setattr(config, "reproducible", True)
    pull(W, batch([3, 1, 5]))
    assert not runs


@pytest.mark.parametrize(
    ("lines", "taken"),
    [
        (["p1[0] = 1;", "x = p1[0];", "@p2", "p2[0] = 2;"], {"p2": "p1"}),
        (["p1[0] = 1;", "@p2", "p2[0] = p1[0];", "@p3", "p3[0] = p2[0];"], {"p3": "p1"}),
        (["double *v = p1 + 3;", "@p2", "p2[0] = v[0];", "@p3", "p3[0] = p2[0];"], {"p3": "p1"}),
        (["for (;;) {", "x = p1[0];", "@p2", "}", "@p3", "@p4", "p4[0] = p3[0];"], {"p3": "p1"}),
        (["for (;;) {", "x = p1[0];", "@p2", "x = p2[0] + p1[1];", "}", "@p3"], {"p3": "p1"}),
        (["c0 = p1;", "@p2"], {}),
        (["int64_t q[] = {1, (int64_t)p1, 3};", "@p2"], {}),
        (["x = p1[0];", "@p2 7"], {}),
        (["x = p1[0];", "@p2 w5"], {}),
    ],
)
def test_memory_is_taken_once_nothing_reads_it(lines, taken):
    def written(line):
        name, _, size = line[1:].partition(" ")
        return f"double *{name} = as_alloc(&arena, {size or 'n'});" if line[0] == "@" else line

    shared = nest_shared.with_shared_memory(list(map(written, ["@p1", *lines])))
    pointers = dict(line[len("double *") : -1].split(" = ") for line in shared if line.startswith("double *p"))
    assert {k: v for k, v in pointers.items() if "as_alloc" not in v} == taken
