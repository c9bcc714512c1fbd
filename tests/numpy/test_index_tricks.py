"""Tests of `r_`, `c_`, `mgrid` and `ogrid` of traced values and symbolic sizes."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import jit
from anyshape.errors import ArgumentError, UnsupportedFunctionError

CALLS = {
    "r_ of arrays": lambda np, x: np.r_[x, 0, x[:1]],
    "r_ of ints": lambda np, x: np.r_[x.astype("i4"), 7, [1, 2]],
    "r_ of slices": lambda np, x: np.r_[0 : x.shape[0], x, 0:1:3j],
    "r_ of one": lambda np, x: np.r_[x.sum()],
    "r_ along an axis": lambda np, x: np.r_["1", x[None], x[None]],
    "r_ with axes": lambda np, x: np.r_["0,2", x, x],
    "r_ with axes in front": lambda np, x: np.r_["1,2,0", x, x],
    "r_ with three axes": lambda np, x: np.r_["0,3,-2", x, x],
    "r_ of sizes": lambda np, x: np.r_[x.shape[0], 2],
    "c_": lambda np, x: np.c_[x, x * 2],
    "c_ of matrices": lambda np, x: np.c_[x[:, None] * x, x],
    "c_ of slices": lambda np, x: np.c_[0 : x.shape[0], x],
    "mgrid": lambda np, x: np.mgrid[0 : x.shape[0], -1:1:3j],
    "mgrid of a slice": lambda np, x: np.mgrid[1 : x.shape[0] : 2],
    "mgrid of ints": lambda np, x: np.mgrid[0 : x.shape[0], : x.shape[0]],
    "ogrid": lambda np, x: np.ogrid[0 : x.shape[0], 0:2],
}


@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_slices_are_those_of_numpy_at_every_size(name):
    call = CALLS[name]
    jitted = jit(lambda x: (call(anp, x), x))
    for n in (5, 0, 1, 2):
        x = np.linspace(0.5, 2.0, n)
        ours, expected = jitted(x)[0], call(np, x)
        pairs = zip(ours, expected, strict=True) if isinstance(expected, tuple) else [(ours, expected)]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-14)
            assert a.dtype == b.dtype and a.shape == b.shape
    assert jitted.cache_info().traces == 1


def test_concrete_keys_go_to_numpy():
    assert anp.r_["r", 0:3].tolist() == [[0, 1, 2]] and anp.mgrid[0:2, 0:1].shape == (2, 2, 1)
    assert "r_" in repr(anp.r_) and len(anp.c_) == 0 and anp.c_.__doc__ == np.c_.__doc__


def test_what_a_program_cannot_join_is_named():
    with pytest.raises(UnsupportedFunctionError, match="'r'"):
        jit(lambda x: anp.r_["r", x])(np.ones(2))
    for key in (lambda x: ("unknown", x), lambda x: (x, "0")):
        with pytest.raises(ArgumentError, match="the directive"):
            jit(lambda x, key=key: anp.r_[key(x)])(np.ones(2))
    with pytest.raises(ArgumentError, match="has no end"):
        jit(lambda x: anp.mgrid[x.shape[0] :])(np.ones(2))
