"""Orders "K" and "A" of arguments, of views of them and of copies: read as they lie in memory, one program for each."""

import io
import itertools

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, export, grad, jit, vmap
from anyshape.errors import AnyshapeError, ArgumentError, UnsupportedFunctionError

BLOCK = np.arange(24.0).reshape(2, 3, 4)
ARRAYS = [
    *[np.arange(24.0).reshape(2, 3, 4).transpose(order) for order in itertools.permutations(range(3))],
    np.asfortranarray(BLOCK), np.asfortranarray(BLOCK)[::-1, :, ::-1], np.arange(96.0).reshape(4, 6, 4)[::2, ::2],
    np.asfortranarray(np.arange(4.0).reshape(1, 4, 1)), np.asfortranarray(np.zeros((0, 3, 2))),
]  # fmt: skip
VIEWS = {
    "argument": lambda x: x,
    "reversed axes": lambda x: x.T,
    "moved axes": lambda x: x.transpose(1, 2, 0),
    "slice": lambda x: x[:, 1:],
    "steps": lambda x: x[::-1, :, ::2].T,
    "flip": lambda x: np.flip(x, 1),
    "copy": lambda x: x.copy(),
    "copy in another order": lambda x: x.copy(order="F"),
    "result": lambda x: x * 2,
}
READ = {
    "ravel K": lambda y: y.ravel("K"),
    "ravel A": lambda y: np.ravel(y, order="A"),
    "flatten K": lambda y: y.flatten("K"),
    "reshape A": lambda y: np.reshape(y, (-1, 1), order="A"),
}
REFUSED = {"copy in another order", "result"}
SURE = {"argument", "reversed axes", "copy"}  # for "A" too


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("order", READ)
def test_elements_are_read_as_they_lie_in_memory(view, order):
    function = lambda x: READ[order](VIEWS[view](x))
    compiled, slope = jit(function), jit(grad(lambda x, w: np.sum(function(x) * w)))
    for x in ARRAYS:
        expected = function(x)
        try:
            result = compiled(x)
        except UnsupportedFunctionError as error:
            assert view not in SURE or order.endswith("A"), error
            continue
        assert view not in REFUSED
        np.testing.assert_array_equal(result, expected, strict=True)
        w = np.arange(1.0, 1 + expected.size).reshape(expected.shape)
        derivative = np.zeros_like(x)  # where the weight of each element is read
        positions = function(np.arange(float(x.size)).reshape(x.shape)) if x.flags.c_contiguous else None
        if positions is not None and view != "result":
            np.put(derivative, positions.astype(int), w)
            np.testing.assert_array_equal(slope(x, w), derivative)
        np.testing.assert_allclose(np.sum(slope(x, w) * x), np.sum(expected * w), rtol=1e-13)


def test_each_layout_has_a_program_and_explain_tells():
    compiled = jit(lambda x: x.ravel("K"))
    c, f = np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for x in (c, f, c + 1, f + 1, np.ones((5, 4)), c.T):
        np.testing.assert_array_equal(compiled(x), x.ravel("K"))
    assert compiled.cache_info().traces == 2
    assert "x is in memory by axes 1, 0" in str(compiled.explain())
    program = compiled.programs()[1]
    problem = "x is in memory by axes 0, 1, and the program is for one that is in memory by axes 1, 0"
    with pytest.raises(ArgumentError, match=problem):
        program(c)
    with pytest.raises(ArgumentError, match="depends on how arguments lie in memory"):
        program.save(io.BytesIO())


def test_layouts_that_no_call_tells_are_refused():
    for refused in (
        lambda: export(lambda x: x.ravel("K"))(ShapeDtypeStruct("n, m")),
        lambda: vmap(lambda x: x.ravel("K"))(np.ones((2, 3, 4))),
        lambda: jit(lambda x: x.ravel("K"))(np.broadcast_to(np.arange(3.0)[:, None], (3, 2))),
        lambda: grad(lambda x: np.sum(anyshape.jit(lambda y: y.ravel("K"))(x * 2)))(np.ones((2, 2))),
    ):
        with pytest.raises(AnyshapeError, match="asks for the memory layout"):
            refused()


def test_what_a_write_reached_is_read_in_the_order_of_the_argument():
    def function(x):
        x[0] += 1.0
        return x.ravel("K") * 1.0

    compiled = jit(function)
    for x in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))):
        mine, theirs = x.copy(order="K"), x.copy(order="K")
        np.testing.assert_array_equal(compiled(mine), function(theirs))
        np.testing.assert_array_equal(mine, theirs)
