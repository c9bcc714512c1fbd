"""Lists of any number of items as results: one program for all sizes, and what plain Python gives."""

import pickle

import numpy as np
import pytest

import anyshape
from anyshape import export, grad, jit, jvp, value_and_grad, vjp, vmap

SIZES = (3, 0, 1, 2, 7)


def scalars(x):
    out = []
    for v in x:
        out.append(v * 2)
    return out


def arrays_and_a_sum(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] * np.ones(2))
    return out, x.sum()


def comprehension(x):
    return {"squares": [v * v for v in x], "first": [x[:k].sum() for k in range(len(x))]}


def lists_of_lists(x):
    table = []
    for i in range(len(x)):
        row = []
        for j in range(len(x)):
            row.append(x[i] * x[j])
        table.append(row)
    return table


def items_with_parts(x):
    out = []
    for v in x:
        out.append((v, {"all": v * x, "some": [v, v + 1]}))
    return out


def tuples(x):
    out = tuple(v + 1 for v in x)
    out += (x.sum(),)
    return out, tuple(lists_of_lists(x))


def some_of_them(x):
    out = []
    for v in x:
        if v > 1.5:
            out.append(v)
    return out


def until_small(x):
    out, v = [], x.sum()
    while v > 0.5:
        v = v / 2
        out.append(v)
    return out


def of_a_jitted_function(x):
    return jit(scalars)(x), jit(arrays_and_a_sum)(x)[0]


PROGRAMS = [
    scalars, arrays_and_a_sum, comprehension, lists_of_lists, items_with_parts, tuples, some_of_them, until_small,
    of_a_jitted_function,
]  # fmt: skip


def vector(n):
    return np.arange(1.0, n + 1)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_one_program_returns_lists_of_any_length(function):
    jitted = jit(function)
    for n in SIZES:
        assert repr(jitted(vector(n))) == repr(function(vector(n)))
    assert jitted.cache_info().traces == 1, jitted.explain()


def with_history(x):
    losses, total = [], 0.0
    for v in x:
        total = total + v * v
        losses.append(total)
    return total, losses


def test_auxiliary_results_of_derivatives_may_be_such_lists():
    for n in SIZES[:4]:
        x = vector(n)
        (value, losses), slope = value_and_grad(with_history, has_aux=True)(x)
        assert (value, losses) == with_history(x)
        np.testing.assert_array_equal(slope, 2 * x)
        assert grad(with_history, has_aux=True)(x)[1] == losses
        assert jvp(scalars, (x,), (x,)) == (scalars(x), scalars(x))


def test_what_needs_the_items_one_by_one_is_traced_for_each_length():
    x = vector(3)
    value, pull = vjp(scalars, x)
    assert value == scalars(x)
    np.testing.assert_array_equal(pull([1.0, 2.0, 3.0])[0], [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(vmap(scalars)(np.stack([x, x + 1])), np.stack([x, x + 1]).T * 2)


@pytest.mark.parametrize("function", [lists_of_lists, tuples], ids=lambda f: f.__name__)
def test_such_programs_pickle_and_are_saved(function, tmp_path):
    program = export(function)(vector(3))
    program.save(tmp_path / "program")
    for again in (pickle.loads(pickle.dumps(program)), anyshape.load(tmp_path / "program")):
        assert repr(again(vector(2))) == repr(function(vector(2)))
        total = lambda x, again=again: sum(again(x)[0])
        np.testing.assert_allclose(grad(total)(vector(2)), grad(lambda x: sum(function(x)[0]))(vector(2)))
