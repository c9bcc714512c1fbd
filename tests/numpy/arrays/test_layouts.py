"""Test writes through arrays that NumPy makes views of some arguments and copies of others, by their strides."""

import io
import pickle
import warnings

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import checkpoint, export, grad, jit, vmap
from anyshape.errors import ArgumentError, MutationError, UnsupportedFunctionError

FLAT = {
    "ravel": lambda np, x: x.ravel(),
    "np.ravel": lambda np, x: np.ravel(x),
    "reshape": lambda np, x: x.reshape(-1),
    "ascontiguousarray": lambda np, x: np.ascontiguousarray(x),
    "asfortranarray": lambda np, x: np.asfortranarray(x),
    "column": lambda np, x: x.reshape(-1, 1)[:, 0],
    "behind a slice": lambda np, x: x[:].ravel()[::-1],
    "view": lambda np, x: x.view(),
    "view of a dtype": lambda np, x: x.view(float),
}
READ = {
    "windows": lambda np, x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0),
    "sparse grid": lambda np, x: np.meshgrid(x, x[:2], copy=False)[0],
    "diagonal of einsum": lambda np, x: np.einsum("ii->i", x * np.ones((x.size, 1))) if x.ndim == 1 else x,
}


def vector(n):
    return np.arange(1.0, n + 1)


# each gives a base and the argument, which is a part of it
LAYOUTS = {
    "contiguous": lambda n: (b := vector(n), b),
    "strided": lambda n: (b := vector(2 * n), b[::2]),
    "reversed": lambda n: (b := vector(n), b[::-1]),
    "column": lambda n: (b := vector(3 * n).reshape(n, 3), b[:, 1]),
    "row": lambda n: (b := vector(3 * n).reshape(3, n), b[1]),
    "repeated call": lambda n: (b := vector(n + 1), b[1:]),
}


def writing(np, through, order):
    def function(x):
        y = through(np, x)
        if order == "write the part":
            y[0] = 100 * x[1]
        elif order == "write the base":
            x[1] = -x[0]
        else:
            z = through(np, x)[1:]
            x[1] = 50
            y[1] = 3 * x[0]
            z[0] += 7
        return x.sum(), (y.T * (1.0 + np.arange(y.shape[0]))).sum()

    return function


@pytest.mark.parametrize("order", ["write the part", "write the base", "write both"])
@pytest.mark.parametrize("name", [*FLAT, *READ])
def test_writes_reach_what_they_reach_in_numpy_for_every_layout(name, order):
    through = (FLAT | READ)[name]
    if name in READ and order != "write the base":
        pytest.skip("the views are read-only")
    jitted, plain = jit(writing(anp, through, order)), writing(np, through, order)
    for n in (2, 5, 3):
        for made in LAYOUTS.values():
            (base, x), (expected, y) = made(n), made(n)
            try:
                wanted = plain(y)
            except ValueError as error:  # nothing was written
                assert "read-only" in str(error)
                continue
            try:
                got = jitted(x)
            except MutationError as error:
                assert name in ("reshape", "behind a slice"), str(error)
                assert "layout" in str(error)
                continue
            np.testing.assert_array_equal(got, wanted)
            np.testing.assert_array_equal(base, expected)
    assert jitted.cache_info().traces <= 2, "one for contiguous arguments, one for others"


def test_matrices_are_flattened_as_numpy_does():
    def function(x):
        y = x.ravel()
        y[1] = 100.0
        return y

    compiled = jit(function)
    for part in (..., np.s_[:, :2], np.s_[::-1], np.s_[:1], np.s_[:, :1]):
        base, expected = vector(12).reshape(4, 3), vector(12).reshape(4, 3)
        np.testing.assert_array_equal(compiled(base[part]), function(expected[part]))
        np.testing.assert_array_equal(base, expected)
    assert compiled.cache_info().traces == 2
    assert "x is not C-contiguous" in str(compiled.explain())
    assert "memory of x: C-contiguous when traced, not C-contiguous now" in str(compiled.explain())


def test_programs_that_only_read_serve_every_layout():
    compiled = jit(lambda x: x.ravel().sum() + anp.ascontiguousarray(x)[0])
    for made in LAYOUTS.values():
        compiled(made(4)[1])
    assert compiled.cache_info().traces == 1


def test_one_argument_of_several_and_the_derivative_by_another():
    def function(w, x):
        part = x.ravel()
        part[:] = part * 2
        return (w * x).sum()

    for made in LAYOUTS.values():
        (base, x), (expected, y) = made(3), made(3)
        np.testing.assert_array_equal(grad(function)(vector(3), x), y if y.flags.c_contiguous is False else 2 * y)
        function(vector(3), y)
        np.testing.assert_array_equal(base, expected)


def test_memory_of_the_function_is_contiguous_and_rows_of_a_batch_are_not_known():
    def own(x):
        z = x.copy()
        z.ravel()[0] = 5
        return z

    def through_checkpoint(x):
        z = x * 2
        checkpoint(own)(z)
        z.ravel()[1] = 7
        return z

    np.testing.assert_array_equal(jit(own)(vector(6)[::2]), [5, 3, 5])
    np.testing.assert_array_equal(jit(through_checkpoint)(vector(3)), [2, 7, 6])
    np.testing.assert_array_equal(vmap(own)(vector(4).reshape(2, 2)), [[5, 2], [5, 4]])
    with pytest.raises(MutationError, match="layout"):
        vmap(lambda x: x.ravel().__setitem__(0, 5))(vector(4).reshape(2, 2))


def flattens(x):
    x.ravel()[0] = 9.0
    return x.sum()


def test_a_program_refuses_the_other_layout():
    compiled = jit(flattens)
    compiled(vector(3))
    (program,) = compiled.programs()
    for one in (program, pickle.loads(pickle.dumps(program))):
        one(x := vector(4))
        assert x[0] == 9
        with pytest.raises(ArgumentError, match="x is not C-contiguous, and the program is for one that is C-cont"):
            one(vector(6)[::2])
    with pytest.raises(ArgumentError, match="how arguments lie in memory"):
        jit(lambda x: program(x * 2))(vector(3))
    with pytest.raises(ArgumentError, match="how arguments lie in memory"):
        program.save(io.BytesIO())
    with pytest.raises(MutationError, match="layout"):
        export(flattens)(anp.zeros(3))


def test_windows_are_refused_where_numpy_would_write_to_them():
    windows = np.lib.stride_tricks.sliding_window_view
    with pytest.raises(UnsupportedFunctionError, match="overlap"):
        jit(lambda x: windows(x, 2, writeable=True))(vector(3))
    with pytest.raises(MutationError, match="read-only"):
        jit(lambda x: windows(x, 2).__setitem__(0, 1))(vector(3))


def test_the_diagonal_of_einsum_is_written_through():
    def function(np, x):
        y = x.copy()
        np.einsum("ii->i", y)[...] *= 10
        np.einsum("iji->ij", z := np.ones((3, 2, 3)) * x[0])[0] = 4
        return y, z

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for got, wanted in zip(jit(lambda x: function(anp, x))(a := vector(9).reshape(3, 3)), function(np, a)):
            np.testing.assert_array_equal(got, wanted)


def test_writes_into_a_copy_leave_the_argument():
    def written(function):
        def program(x):
            y = function(x)
            y[0] = 5.0
            return y.sum()

        return program

    copies = (lambda x: anp.asarray(x, copy=True), lambda x: anp.asanyarray(x, copy=True), anp.array, anp.copy)
    for function, first in (*((f, 1.0) for f in copies), (anp.asarray, 5.0), (anp.asanyarray, 5.0)):
        x = np.array([1.0, 2.0])
        assert jit(written(function))(x) == 7.0
        assert x[0] == first
