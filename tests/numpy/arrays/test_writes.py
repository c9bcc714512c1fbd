"""Test assignment in place: programs give what NumPy gives, and so do their derivatives and batches."""

import tracemalloc
import warnings

import numpy as np
import pytest

import anyshape
from anyshape import associative_scan, grad, jit, jvp, vmap
from anyshape.errors import AnyshapeError, DTypeError, MutationError
from tests.numpy.arrays.assigning_programs import SHAPES, function_of, program

X = np.arange(1.0, 7.0)
M = np.arange(12.0).reshape(3, 4)


def agrees(seed):
    """One program for all sizes agrees with the function on arrays: its value, gradient, tangent and batch."""
    source, rank = program(seed)
    function = function_of(source)
    rng = np.random.default_rng(seed)
    arrays, v = [rng.normal(size=s) for s in SHAPES[rank]], np.float64(0.3)
    try:
        wanted = [function(x, v) for x in arrays]
    except (ValueError, IndexError):
        return False  # NumPy refuses the program
    compiled = jit(function)
    np.testing.assert_allclose([compiled(x, v) for x in arrays], wanted, err_msg=source)
    step, direction = 1e-6, rng.normal(size=arrays[0].shape)
    difference = function(arrays[0] + step * direction, v + step) - function(arrays[0] - step * direction, v - step)
    slopes = grad(function, argnums=(0, 1))(arrays[0], v)
    slope, tolerance = (slopes[0] * direction).sum() + slopes[1], 1e-4 * max(1, abs(wanted[0]))
    np.testing.assert_allclose(slope, difference / (2 * step), rtol=1e-3, atol=tolerance, err_msg=source)
    forward = jvp(function, (arrays[0], v), (direction, 1.0))[1]
    np.testing.assert_allclose(forward, slope, rtol=1e-9, atol=1e-9 * max(1, abs(slope)), err_msg=source)
    batch = vmap(function, in_axes=(0, None))(np.stack([arrays[0], arrays[0] * 0.7]), v)
    np.testing.assert_allclose(batch, [wanted[0], function(arrays[0] * 0.7, v)], err_msg=source)
    return compiled.cache_info().traces <= 2


@pytest.mark.parametrize("part", range(3))
def test_random_programs_give_what_numpy_gives(part):
    assert sum(agrees(seed) for seed in range(12 * part, 12 * part + 12)) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_programs_give_what_numpy_gives(part):
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        agrees(seed)


# -- statements ----------------------------------------------------------------------------------------------------


def statements(text):
    """The function that copies its argument as y, runs statements on y, and returns y."""
    space = {"np": np}
    lines = ["def f(x, v):", "y = x.copy()", *text.split("; "), "return y"]
    exec("\n    ".join(lines), space)
    return space["f"]


STATEMENTS = [
    "y[0] = v", "y[-1] += v", "y[1:] = y[:-1]", "y[1:] += y[:-1]", "y[::-1] = y", "y[:] = y[::-1] * v", "y[y > 2] = v",
    "y[:] = y[::-1]", "y[...] = y[::-1]; y += v", "z = y[::-1]; z[...] = y; y[0] = z[0]",
    "y[[0, 2, 0]] = [1, 2, 3]", "y[[0, 2, 0]] += 1", "np.add.at(y, [0, 2, 0], v)", "np.subtract.at(y, [1], v)",
    "y += v", "y -= y[0]", "y *= y", "y /= v", "y //= v", "y %= v", "y **= 2", "z = y[1:]; z[0] = v; y[2] = z[0]",
    "z = y[1:][1:]; z *= v", "z = y.reshape(-1, 1); z[0] = v", "z = y; z[0] = v", "z = y[None]; z[0, 1] = v",
    "np.sin(y, out=y)", "np.add(y[1:], v, out=y[:-1])", "np.multiply(y, v, y)",
    "np.exp(y, out=y, where=y < 3)", "np.cumsum(y, out=y)", "np.clip(y, 1, 3, out=y)",
    "np.put(y, [0, -1], v)", "np.put(y, [7, 8], [1, 2], mode='wrap')", "np.put(y, [7, -8], [1, 2], mode='clip')",
    "np.place(y, y > 2, [3.0, 7.0])", "np.putmask(y, y > 2, [3.0, 7.0])", "np.copyto(y, v)",
    "np.copyto(y, 1, where=y > 2)",
    "y.fill(v)", "y.sort()", "y.put([0], v)", "y.partition(2)", "y.flat = v", "y.flat[2] = v", "y.flat[1:4] = [3, 0]",
    "y.real = v", "y[...] = v", "y[()] = v", "y[-3:] = [1, 2, 3]", "y[True] = v", "y[np.array([True] * 6)] = v",
    "np.put_along_axis(y, np.array([1, 2]), v, 0)", "y += 1; z = y[1:3].copy(); y[1] = v * z.sum(); y[3:5] = z",
]  # fmt: skip
MATRICES = [
    "y[0] = v", "y[:, 1] = v", "y[1:, ::2] *= v", "y.T[0] = v", "y.T[...] = y.T + v", "y[0, 1] += v", "y[..., -1] = 0",
    "np.fill_diagonal(y, v)", "np.fill_diagonal(y, [1, 2])", "z = y.ravel(); z[3] = v", "z = y.reshape(2, 6); z[1] = v",
    "z = np.swapaxes(y, 0, 1); z[1] += v", "y[1].fill(v)", "y.sort(0)",
    "y[[0, 1], [1, 2]] = v", "y[:, [0, 0]] += v", "y[1:, 1:] += y[:-1, :-1]", "y[np.ix_([0, 2], [1, 3])] = v",
    "z = np.flip(y, 1); z[0, 0] = v", "z = y[:, None]; z[:, 0, 1] = v", "z = np.atleast_3d(y); z[0] = v",
    "h = np.split(y, 2, axis=1); h[1][0] = v", "z = np.moveaxis(y, 0, -1); z[2] -= v", "z = np.rot90(y); z[0] = v",
    "np.put_along_axis(y, np.array([[1], [2], [0]]), v, 1)", "np.sum(y, axis=1, out=y[:, 0])",
]  # fmt: skip
CASES = [*[(X, s) for s in STATEMENTS], *[(M, s) for s in MATRICES]]


@pytest.mark.parametrize(("x", "text"), CASES, ids=[s for _, s in CASES])
def test_statements_do_what_numpy_does(x, text):
    function, v = statements(text), np.float64(1.5)
    np.testing.assert_allclose(jit(function)(x, v), function(x, v))
    batch = vmap(function, in_axes=(0, None))(np.stack([x, x + 0.5]), v)
    np.testing.assert_allclose(batch, [function(x, v), function(x + 0.5, v)])


@pytest.mark.parametrize("dtype", ["int64", "int8", "float32", "complex128", "bool"])
@pytest.mark.parametrize(
    "text", ["y[0] = v", "y += v", "y[1:] = 2.7", "y *= True", "y[0] = 1", "y += 1", "y |= True", "y /= 2"]
)
def test_casts_are_those_of_numpy(text, dtype):
    function, x = statements(text), np.array([1, 0, 1], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = function(x, np.float64(1.5))
        except TypeError:
            with pytest.raises(TypeError):
                jit(function)(x, np.float64(1.5))
            return
        result = jit(function)(x, np.float64(1.5))
    assert result.dtype == wanted.dtype
    np.testing.assert_allclose(result, wanted)


def test_complex_parts_are_written_through():
    def function(z):
        y = z.copy()
        y.real[0] = 7
        y.imag += 1
        y.imag = y.imag * 2
        return y

    z = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(jit(function)(z), function(z))


def test_an_array_of_symbolic_size_is_filled_from_one_trace():
    def function(x):
        y = np.zeros_like(x)
        y[1:] = x[1:] - x[:-1]
        y[:1] = x[:1]
        return y

    compiled = jit(function)
    for n in (0, 1, 2, 5):
        np.testing.assert_allclose(compiled(X[:n]), function(X[:n]))
    assert compiled.cache_info().traces == 1


def test_the_argument_and_captured_arrays_are_not_changed():
    x, w = X.copy(), M.copy()
    jit(statements("y[0] = v"))(x, np.float64(9.0))
    jit(lambda v: np.add(w, v).sum())(np.float64(1.0))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, M)


# -- shared memory -------------------------------------------------------------------------------------------------


def test_ravel_of_a_vector_is_a_view_where_its_elements_stand_together():
    def together(x, v):
        y = x.copy()
        whole, part, again = y.ravel(), np.ravel(y[1:]), y[1:][:-1].ravel()
        y[1] = v
        part[1] = v
        return y, whole, part, again

    for a, b in zip(jit(together)(X, 7.0), together(X, 7.0), strict=True):
        np.testing.assert_array_equal(a, b)

    def apart(x):
        y = x.copy()
        column = y[:, 0].ravel()
        y[0] = 9.0
        return column

    with pytest.raises(MutationError, match="copy"):
        jit(apart)(M)
    unread = jit(lambda x: x[:, 0].ravel() * 2)
    np.testing.assert_array_equal(unread(M), M[:, 0] * 2)


def test_copies_share_no_memory():
    """Copies of NumPy stay as they are, although a program passes the same value on."""

    def function(x):
        y = x.copy()
        others = [
            +y, y.copy(), np.copy(y), y.astype(float), np.concatenate([y]), np.stack([y]), y.flatten(), np.positive(y),
            np.tile(y, 1), np.repeat(y, 1), np.roll(y, 0), np.pad(y, 0), np.clip(y, None, 9), y ** 1,
            np.max(y, axis=()), np.conjugate(y), y[[0, 1, 2]], np.broadcast_to(y, (2, 6)).copy(), np.full_like(y, y),
        ]  # fmt: skip
        y[0] = 99
        return others

    for ours, numpys in zip(jit(function)(X), function(X), strict=True):
        np.testing.assert_array_equal(ours, numpys)


def test_views_see_writes_and_write_through_in_both_directions():
    def function(x):
        y = x.copy()
        rows, last, back = y.reshape(2, 3), y[-2:], y[::-1]
        rows[0, 0] = 10
        last += rows[0, 0]
        back[1] = 5
        y[2] = 7
        return y, rows, last, back

    for ours, numpys in zip(jit(function)(X), function(X), strict=True):
        np.testing.assert_array_equal(ours, numpys)


# -- refusals ------------------------------------------------------------------------------------------------------


def writes_to_an_outer_array(x):
    y = x * 2

    def inner(v):
        y[0] = v
        return v

    return vmap(inner)(x) + y


REFUSALS = {
    "a read-only view": (
        lambda x: np.broadcast_to((x * 2)[0], (3, 4)).__setitem__(0, 1.0), MutationError, "read-only"
    ),
    "a diagonal": (lambda x: np.diagonal(x * 2).__setitem__(0, 1.0), MutationError, "read-only"),
    "an unknown layout": (lambda x: (x * 2).T.reshape(-1).__setitem__(0, 1.0), MutationError, "depends on the layout"),
    "an outer array": (writes_to_an_outer_array, MutationError, "the examples of vmap share the array"),
    "a NumPy array": (lambda x: np.add(x, 1, out=np.ones((3, 4))), MutationError, "cannot hold traced values"),
    "too many values": (lambda x: (x * 2).__setitem__(0, np.ones(9)), AnyshapeError, "9"),
    "growing": (lambda x: (x[:1] * 2).__iadd__(x), AnyshapeError, "must"),
    "casting": (lambda x: (x > 2).__iadd__(1.5), DTypeError, "cannot cast"),
    "out of range": (lambda x: (x * 2).__setitem__(9, 1.0), AnyshapeError, "must be at least 10"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.usefixtures("as_written")
def test_what_is_refused_says_why(name):
    function, kind, words = REFUSALS[name]
    x = M.copy()
    with pytest.raises(kind, match=words):
        jit(function)(x)
    np.testing.assert_array_equal(x, M)


def test_the_message_names_the_array_of_the_line():
    def function(values, other):
        values[0] = 1.0
        return values + other

    with pytest.raises(MutationError, match=r"values\[0\] = .*: the array is an argument") as caught:
        jit(lambda x: associative_scan(function, x))(X)
    assert "write values = values.copy() before" in str(caught.value)


# -- plans ---------------------------------------------------------------------------------------------------------


def peak_bytes(call):
    """The most bytes that are allocated at once while a call runs."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_write_to_an_array_that_nobody_reads_later_is_in_place():
    """One copy of the argument is made, and each of the ten writes goes to its memory: few arrays are made."""

    def function(x):
        y = x.copy()
        for i in range(10):
            y[i] = x[i] * 2
        return y

    x, compiled = np.ones(100_000), jit(function, optimize="now")
    compiled(x)
    assert peak_bytes(lambda: compiled(x)) < 1.5 * x.nbytes


def test_writes_of_slices_take_no_copies_of_the_array():
    def function(x):
        y = x.copy()
        for _ in range(20):
            y[1:-1] += 0.1 * (y[2:] - 2 * y[1:-1] + y[:-2])
        return y

    x, compiled = np.ones(200_000), jit(function, optimize="now")
    compiled(x)
    assert peak_bytes(lambda: compiled(x)) < 5 * x.nbytes


def test_saved_programs_assign_too(tmp_path):
    exported = anyshape.export(statements("y[1:] += v"))(anyshape.ShapeDtypeStruct("n"), anyshape.ShapeDtypeStruct(""))
    exported.save(tmp_path / "program")
    loaded = anyshape.load(tmp_path / "program")
    np.testing.assert_allclose(loaded(X, np.float64(2.0)), statements("y[1:] += v")(X, 2.0))


# -- rows at traced integers ---------------------------------------------------------------------------------------


def _row_is_written(x, i):
    y = x.copy()
    z = y[i]
    z += 1
    z[0] = 9
    y[i, 1:] *= 2
    return y, z


def _row_sees_writes(x, i):
    y = x.copy()
    z, w = y[i], y[i, ...]
    y *= 3
    y[i] -= w
    return y, z


def _row_of_a_view(x, i):
    y = x.copy()
    y[1:, ::-1][i - 1][0] = 5
    y.T[:, i][1:] = x[0, 0]
    return (y,)


@pytest.mark.parametrize("program", [_row_is_written, _row_sees_writes, _row_of_a_view])
def test_a_row_at_a_traced_integer_is_a_view(program):
    jitted = anyshape.jit(program)
    for n in (2, 3, 5):
        x = np.arange(1.0, 1.0 + 3 * n).reshape(n, 3)
        for i in (np.int64(1), np.int64(-1)):
            if program is _row_of_a_view and i < 0:
                continue
            for ours, numpys in zip(jitted(x, i), program(x, i), strict=True):
                np.testing.assert_array_equal(ours, numpys)
            slope = anyshape.grad(lambda x, i=i: sum(np.sum(np.sin(r)) for r in program(x, i)))(x)
            step = np.cos(x)
            moved = [sum(np.sum(np.sin(r)) for r in program(x + h * step, i)) for h in (1e-6, -1e-6)]
            np.testing.assert_allclose(np.sum(slope * step), (moved[0] - moved[1]) / 2e-6, rtol=1e-6)


def test_an_index_array_without_axes_gives_a_copy():
    def program(x, i):
        y = x.copy()
        z = y[np.array(1)]
        z += 1
        return y, z

    x = np.arange(6.0).reshape(2, 3)
    for ours, numpys in zip(anyshape.jit(program)(x, 0), program(x, 0), strict=True):
        np.testing.assert_array_equal(ours, numpys)


def test_an_assignment_of_another_part_of_a_row_decides_nothing_about_sizes():
    def program(x, w, i):
        y = x.copy()
        n, m = w.shape
        y[i, :n] = y[i, :m]
        return y

    jitted = anyshape.jit(program)
    x = np.arange(12.0).reshape(3, 4)
    for shape in ((2, 2), (3, 1), (4, 1), (0, 0)):
        np.testing.assert_array_equal(jitted(x, np.ones(shape), 1), program(x, np.ones(shape), 1))
    assert jitted.cache_info().traces == 1
