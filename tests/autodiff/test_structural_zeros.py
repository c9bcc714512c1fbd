"""An element that is left out has derivative 0, whatever its value: in both modes, twice, in batches and kernels."""

import re
import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import as_written, fori_loop, grad, jacfwd, jacrev, jit, jvp, ops, vmap
from anyshape.autodiff.control_flow.branch_derivatives import handle_of
from anyshape.autodiff.structural_zeros import Mask, Masked
from anyshape.scipy import fft, ndimage, signal, special
from anyshape.scipy.spatial import distance

MASK = np.array([False, True, True, True])
WEIGHTS = np.array([3.0, -1.0, 2.0, 0.5])


def assigned(y):
    y[0] = 2.0
    return y


def assigned_slice(y):
    y[:1] = WEIGHTS[:1]
    return y * y


def assigned_mask(y):
    y[~MASK] = 0.0
    return y


def overwritten(y):
    """Each write replaces the one before; the element is written last by a constant."""
    z = np.zeros(4) * y
    for i in range(4):
        z[i] = y[i] * 2
        z[0] = 1.0
    return z


def divided(y):
    return np.divide(y, 2 + y * y, out=np.where(MASK, y, 1.0), where=MASK)


CHOICES = {
    "where": lambda y: np.where(MASK, y, 0.0),
    "where of another branch": lambda y: np.where(~MASK, WEIGHTS, y),
    "nested where": lambda y: np.where(MASK, np.where(WEIGHTS > 0, y, y * y), 1.0),
    "two wheres": lambda y: np.where(MASK, y, 0.0) * 2 + np.where(MASK, np.sin(y), 1.0),
    "complementary wheres": lambda y: np.where(MASK, y, 0.0) + np.where(~MASK, 0.0, y * y),
    "where of rows": lambda y: np.where(MASK[:, None], y[:, None] * WEIGHTS, 0.0),
    "where of columns": lambda y: np.where(MASK, y * WEIGHTS[:, None], 0.0),
    "where of a sum": lambda y: np.where(MASK, np.sum(y[:, None] * np.ones(3), axis=1), 0.0),
    "where, then moves": lambda y: np.where(MASK.reshape(2, 2).T, y.reshape(2, 2).T, 0.0)[::-1],
    "mask": lambda y: y[MASK],
    "mask, sum": lambda y: np.sum(y[MASK] ** 2),
    "slice": lambda y: y[1:],
    "slice with steps": lambda y: y[1::2],
    "element": lambda y: y[1],
    "elements": lambda y: y[1] * y[2] + y[3],
    "differences": lambda y: (y[2:] - y[1:-1]) ** 2,
    "many reads": lambda y: sum(y[i] * y[i] for i in (1, 2, 3, 1, 2, 3)),
    "index array": lambda y: y[np.array([2, 1, 2, 3])],
    "negative indices": lambda y: y[[-1, -2]],
    "take": lambda y: np.take(y, [1, 3]),
    "take_along_axis": lambda y: np.take_along_axis(y, np.array([1, 3, 3]), 0),
    "compress": lambda y: np.compress(MASK, y),
    "extract": lambda y: np.extract(MASK, y),
    "choose": lambda y: np.choose(MASK.astype(int), [WEIGHTS, y]),
    "select": lambda y: np.select([MASK], [y], 1.0),
    "delete": lambda y: np.delete(y, 0),
    "split": lambda y: np.split(y, [1])[1],
    "roll, slice": lambda y: np.roll(y, -1)[:3],
    "sum with where": lambda y: np.sum(y, where=MASK),
    "mean with where": lambda y: np.mean(y * y, where=MASK),
    "prod with where": lambda y: np.prod(y, where=MASK),
    "max with where": lambda y: np.max(y, where=MASK, initial=-9.0),
    "out and where": lambda y: np.multiply(y, WEIGHTS, out=anp.ones(4), where=MASK),
    "diagonal": lambda y: np.diag(np.where(np.eye(4) * MASK > 0, y[:, None] * WEIGHTS, 0.0)),
    "triangle": lambda y: np.triu(y * np.ones((4, 1)), 1)[:, 1:],
    "divide in place": divided,
    "assigned": assigned,
    "assigned slice": assigned_slice,
    "assigned mask": assigned_mask,
    "overwritten": overwritten,
    "at.set": lambda y: anp.asarray(y).at[0].set(1.0) * WEIGHTS,
    "put into zeros": lambda y: np.concatenate([y[1:], y[2:]]),
    "cumsum": lambda y: np.cumsum(y[::-1])[:3],
    "cumprod": lambda y: np.cumprod(y[::-1])[:3],
    "logaddexp.accumulate": lambda y: np.logaddexp.accumulate(y[::-1])[:3],
    "lfilter": lambda y: signal.lfilter([0.3, 0.2], [1.0, -0.5, 0.2], y[::-1])[:3],
    "lfilter, mask": lambda y: np.where(MASK[::-1], signal.lfilter([1.0], [1.0, 0.9, 0.9], y[::-1]), 0.0),
    "sosfilt": lambda y: signal.sosfilt(signal.butter(3, 0.4, output="sos"), y[::-1])[:3],
    "lfilter of coefficients": lambda y: signal.lfilter(y[::-1], [1.0, 0.5], WEIGHTS)[:3],
    "lfilter, factor": lambda y: signal.lfilter(y[1:3], np.append(1.0, y[2:]), np.where(MASK, y, np.inf)[::-1])[:3],
    "savgol_filter": lambda y: signal.savgol_filter(y[::-1], 3, 1, mode="mirror")[:2],
    "gaussian_filter1d": lambda y: ndimage.gaussian_filter1d(y, 0.2, truncate=5.0)[2:],
    "convolve": lambda y: np.convolve(y, WEIGHTS[:2])[2:],
    "convolve, factor": lambda y: np.convolve(np.where(MASK, y, np.inf), y[2:])[2:4],
    "Fourier transforms of rows": lambda y: np.abs(np.fft.rfft(y[:, None] * WEIGHTS)[1:]),
    "cosine transforms of rows": lambda y: fft.dct(y[:, None] * WEIGHTS)[MASK],
    "columns of a solution": lambda y: np.linalg.solve(np.eye(2) + 0.1, y[None] * np.ones((2, 1)))[:, 1:],
    "stacks of products": lambda y: ((y[:, None, None] * np.ones((2, 2))) @ (y[:, None, None] + np.eye(2)))[1:],
    "stacks of inverses": lambda y: np.linalg.inv(y[:, None, None] + 2 * np.eye(2))[1:],
    "distances": lambda y: distance.cdist(y[:, None], WEIGHTS[:, None])[1:],
    "read twice": lambda y: np.take_along_axis(np.sin(y[:, None]), np.array([[1], [3]]), 0).ravel()[anp.argmax(y[2:])],
    "float32": lambda y: y.astype(np.float32)[1:],
    "complex": lambda y: np.real(np.where(MASK, y * 1j, 0.0) * (2 - 1j)),
}
# Choices by value: what is left out is the smallest, or the largest.
SMALLEST = {
    "maximum": lambda y: np.maximum(y, 0.4),
    "minimum of negatives": lambda y: np.minimum(-y, -0.4),
    "fmax": lambda y: np.fmax(y, 0.4),
    "clip": lambda y: np.clip(y, 0.4, 1.5),
    "max": lambda y: np.max(y),
    "sort": lambda y: np.sort(y)[1:],
    "running maximum": lambda y: np.maximum.accumulate(y)[1:] * y[1:],
    "running minimum": lambda y: np.minimum.accumulate(-y[:, None] * np.ones(2), axis=0)[1:],
    "fmax.accumulate": lambda y: np.fmax.accumulate(np.repeat(y, 2)[::-1])[:6],
    "cummax": lambda y: ops.cummax(y, 0, exclusive=True)[2:],
    "median of three": lambda y: np.sort(y)[2],
    "partition": lambda y: np.partition(y, 2)[3],
    "where by value": lambda y: np.where(y > 0.4, y, 0.0),
    "mask by value": lambda y: y[y > 0.4],
    "relu": lambda y: np.maximum(y - 0.4, 0) ** 2,
}
POINT, HARMLESS = np.array([0.0, 1.0, 4.0, 0.25]), np.array([0.01, 1.0, 4.0, 0.25])
NANS = {
    "nansum": lambda y: np.nansum(y),
    "nanmean": lambda y: np.nanmean(y * y),
    "nanmax": lambda y: np.nanmax(y),
    "nanvar": lambda y: np.nanvar(y),
    "nan_to_num": lambda y: np.nan_to_num(y),
    "where isnan": lambda y: np.where(np.isnan(y), 0.0, y),
}
ROWS = [
    *[(f"sqrt, {name}", np.sqrt, choose, POINT, HARMLESS) for name, choose in {**CHOICES, **SMALLEST}.items()],
    *[(f"power, {name}", lambda x: x**0.3, choose, POINT, HARMLESS) for name, choose in [*CHOICES.items()][::6]],
    *[(f"log, {name}", np.log, choose, POINT, HARMLESS) for name, choose in [*CHOICES.items()][::7]],
    *[(f"reciprocal, {name}", lambda x: 1 / x, choose, POINT, HARMLESS) for name, choose in [*CHOICES.items()][::8]],
    *[(f"NaN, {name}", np.sin, choose, np.array([np.nan, *POINT[1:]]), None) for name, choose in NANS.items()],
]
FORMS = {
    "reverse mode twice": lambda f, x, got, second: (jacrev(grad(f))(x), second),
    "a batch": lambda f, x, got, second: (vmap(grad(f))(np.stack([x, x]))[1], got),
    "a kernel": lambda f, x, got, second: (jit(grad(f), compile="wait")(x), got),
}
# the forms take turns at every other row; each row with all of them is slow
TURNS = [
    pytest.param(*row, form, id=f"{name}, {form}", marks=[pytest.mark.slow] * (number % (2 * len(FORMS)) != 2 * turn))
    for number, (name, *row) in enumerate(ROWS)
    for turn, form in enumerate(FORMS)
]


@pytest.fixture(autouse=True)
def quiet():
    """Poles warn, as NumPy does."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def program(pole, choose):
    """The loss of a choice among elements beyond a pole, with uneven weights."""

    def loss(x):
        z = choose(pole(x))
        return np.sum(z * (1.0 + 0.5 * np.arange(z.size).reshape(z.shape)))

    return loss


def columns(function, x):
    return np.array([jvp(function, (x,), (e,))[1] for e in np.eye(len(x))])


@pytest.mark.parametrize(("pole", "choose", "point", "harmless", "form"), TURNS)
def test_left_out_elements_have_derivative_0(pole, choose, point, harmless, form):
    f = program(pole, choose)
    slope, second = grad(f), jacfwd(grad(f))
    got = slope(point)
    assert got[0] == 0 and np.isfinite(got).all()
    if harmless is not None:
        np.testing.assert_allclose(got[1:], slope(harmless)[1:], rtol=1e-6)
        np.testing.assert_allclose(second(point)[1:, 1:], second(harmless)[1:, 1:], rtol=1e-6)
    np.testing.assert_allclose(columns(f, point), got, rtol=1e-6)
    assert np.isfinite(second(point)).all() and not second(point)[0].any() and not second(point)[:, 0].any()
    np.testing.assert_allclose(*FORMS[form](f, point, got, second(point)), rtol=1e-6, atol=1e-12)


BEFORE = {
    "where": lambda x: np.where(MASK, x, 0.0),
    "concatenate": lambda x: np.concatenate([[0.0], x[1:]]),
    "pad": lambda x: np.pad(x[1:], (1, 2)),
    "moved": lambda x: np.where(MASK, x, 0.0)[::-1].reshape(2, 2).T,
    "assigned": lambda x: assigned_mask(x * 1.0),
    "at.set": lambda x: anp.zeros(4).at[1:].set(x[1:]),
    "at.add": lambda x: anp.zeros(4).at[anp.array([1, 2, 3])].add(x[1:]),
    "maximum": lambda x: np.maximum(x - 0.2, 0.0) * 1.0,
    "stack": lambda x: np.stack([x[1], np.float64(0.0), x[2]]),
    "broadcast": lambda x: np.where(MASK, x, 0.0)[:, None] * np.ones(2),
    "lfilter": lambda x: signal.lfilter([0.3, 0.2], [1.0, -0.5], np.where(MASK, x, 0.0)),
    "convolve": lambda x: np.convolve(np.where(MASK, x, 0.0), np.ones(2)),
    "products of rows": lambda x: np.prod(np.where(MASK, x, 0.0)[:, None] * np.ones(2), axis=1),
    "running products": lambda x: np.cumprod(np.where(MASK, 3 * x, 1.0)) - 1.0,
    "multiplied": lambda x: anp.asarray(np.where(MASK, x, 0.0)).at[anp.array([1])].multiply(x[2]),
    "softmax of rows": lambda x: special.softmax(np.where(MASK, x, 0.0)[:, None] * WEIGHTS, axis=1)[0] - 0.25,
    "transforms": lambda x: fft.dct(np.where(MASK, x, 0.0)[:, None] * np.array([3.0, 1.0])),
    "solutions": lambda x: np.linalg.solve(np.eye(2) + 0.1, np.where(MASK, x, 0.0)[None] * np.ones((2, 1))),
    "sum of two": lambda x: np.where(MASK, x, 0.0) + np.where(MASK, x * x, 0.0),
}


@pytest.mark.parametrize("name", BEFORE)
def test_constants_that_a_choice_gives_have_no_tangent_at_a_pole(name):
    f = lambda x: np.sum(np.sqrt(BEFORE[name](x)) * 0.5)
    got = grad(f)(POINT)
    assert got[0] == 0 and np.isfinite(got).all()
    np.testing.assert_allclose(columns(f, POINT), got, rtol=1e-9)
    np.testing.assert_allclose(jvp(f, (POINT,), (WEIGHTS,))[1], got @ WEIGHTS, rtol=1e-9)
    np.testing.assert_allclose(anyshape.linearize(f, POINT)[1](WEIGHTS), got @ WEIGHTS, rtol=1e-9)
    assert np.isfinite(jacfwd(jacfwd(f))(POINT)).all()


@pytest.mark.parametrize("n", range(6))
def test_slices_leave_out_what_they_do_not_read_at_each_size(n):
    x = np.arange(n) * 1.0
    f = lambda x: np.sum(np.sqrt(x)[2:] - 2 * np.sqrt(x)[1:-1][: max(x.shape[0] - 2, 0)])
    g = lambda x: np.sum((np.exp(np.sqrt(x))[2:] - np.sqrt(x)[1:-1]) ** 2)
    for function in (f, g):
        got = grad(function)(x)
        assert np.isfinite(got).all() and not got[:1].any()
        np.testing.assert_allclose(columns(function, x).reshape(n), got, rtol=1e-9)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_a_choice_of_nothing_has_derivative_0_in_both_modes(name):
    of_numbers, of_nans = getattr(np, name), getattr(np, f"nan{name}")
    for f, x in [(lambda x: of_numbers(x, where=x > 9), POINT), (of_nans, np.full(4, np.nan))]:
        assert np.isnan(jit(f)(x))
        assert not grad(f)(x).any() and not columns(f, x).any() and not jacrev(grad(f))(x).any()
    f = lambda x: of_numbers(x[x > 9])
    assert not grad(f)(POINT).any() and np.isnan(columns(f, POINT)).all()


def test_what_counts_keeps_its_infinite_slope_and_nan():
    assert grad(lambda x: np.sum(np.where(MASK, np.sqrt(x), 0.0)))(np.zeros(4)).tolist() == [0, np.inf, np.inf, np.inf]
    bad = grad(lambda x: np.sum(np.where(MASK, np.sin(x), 0.0) * np.array([1, np.nan, 1, 1])))(POINT)
    assert np.isnan(bad).tolist() == [False, True, False, False]
    product = grad(lambda x: np.sum(np.sqrt(x) * MASK))(POINT)  # a number 0, not a choice
    assert np.isnan(product[0]) and np.isfinite(product[1:]).all()


NORMS = {
    "sum of products": lambda d: np.sqrt(np.sum(d * d)),
    "sum of squares": lambda d: np.sqrt(np.sum(d**2)),
    "matmul": lambda d: np.sqrt(d @ d),
    "einsum": lambda d: np.sqrt(np.einsum("i,i->", d, d)),
    "mean": lambda d: np.sqrt(np.mean(d**2)),
    "power": lambda d: np.sum(d * d) ** 0.5,
    "parts": lambda d: np.sqrt(d[0] ** 2 + d[1] ** 2),
    "scaled": lambda d: np.sqrt(3 * np.sum(d * d) / 7),
    "distances": lambda d: np.sum(np.sqrt(np.sum((d[:, None, None] - d[:, None]) ** 2, axis=-1))),
    "cut off": lambda d: np.sqrt(np.maximum(d @ d, 0)),
}


@pytest.mark.parametrize("name", NORMS)
def test_roots_of_squares_are_norms(name):
    f, zeros = NORMS[name], np.zeros(2)
    assert grad(f)(zeros).tolist() == [0, 0] and jvp(f, (zeros,), (np.ones(2),))[1] == 0
    assert np.isfinite(jacfwd(grad(f))(zeros)).all()
    d, step = np.array([3.0, -4.0]), 1e-6
    change = [(f(d + e) - f(d - e)) / (2 * step) for e in np.eye(2) * step]
    np.testing.assert_allclose(grad(f)(d), change, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda d: np.sqrt(np.sum(d)),
        lambda d: np.sqrt(np.sum(d * d[::-1])),
        lambda d: np.sqrt(np.sum(d * d) - d[0]),
        lambda d: np.sqrt(-2 * np.sum(d * d)),
    ],
)
def test_other_roots_keep_their_infinite_slope(f):
    assert not np.isfinite(grad(f)(np.zeros(2))).any()


def pole(u):
    return np.sqrt(u - u)


def unread_sum(x, **checkpoint):
    step = lambda i, c: (c[0] * 1.1, c[1] + np.sum(pole(c[0])))
    return np.sum(fori_loop(0, 3, step, (x, 0.0), **checkpoint)[0])


def unread_array(x, **checkpoint):
    step = lambda i, c: (c[0] * 1.1, c[1].at[i].set(np.sum(pole(c[0]))))
    return np.sum(fori_loop(0, 3, step, (x, anp.zeros(3) * x[0]), **checkpoint)[0])


def unread_in_two_loops(x, **checkpoint):
    def outer(i, c):
        u, p, q = c
        inner = lambda j, d: (d[0] * 1.1, d[1] + np.sum(pole(d[0])))
        u, p = fori_loop(0, 1, inner, (u, p), **checkpoint)
        return u, p, q + p

    return np.sum(fori_loop(0, 3, outer, (x, 0.0, 0.0), **checkpoint)[0])


def unread_stack(x, **checkpoint):
    u, _ = anyshape.scan(lambda u, _: (u * 1.1, pole(u)), x, None, length=3, **checkpoint)
    return np.sum(u)


def unread_while(x, **checkpoint):
    body = lambda c: (c[0] * 1.1, c[1] + pole(c[0]), c[2] + 1)
    return np.sum(anyshape.while_loop(lambda c: c[2] < 3, body, (x, x, 0), **checkpoint)[0])


def unread_of_a_conditional(x, **checkpoint):
    grown = lambda u, p: (u * 1.1, p + pole(u))
    step = lambda i, c: anyshape.cond(i < 9, grown, lambda u, p: (u, pole(p)), *c)
    return np.sum(fori_loop(0, 3, step, (x, x), **checkpoint)[0])


def unread_in_a_conditional(x, **checkpoint):
    grown = lambda *c: fori_loop(0, 1, lambda j, d: (d[0] * 1.1, d[1] + pole(d[0])), c, **checkpoint)
    step = lambda i, c: anyshape.switch(i * 0, [grown, lambda u, p: (u, p)], *c)
    return np.sum(fori_loop(0, 3, step, (x, x))[0])


def unread_of_a_while_inside(x, **checkpoint):
    trip = lambda d: (d[0] + pole(d[0]), d[1] + 1)
    step = lambda i, c: (c[0] * 1.1, anyshape.while_loop(lambda d: d[1] < 2, trip, (c[1], 0), **checkpoint)[0])
    return np.sum(fori_loop(0, 3, step, (x, x))[0])


def unread_of_growing_size(x, **checkpoint):
    step = lambda i, c: (c[0] * 1.1, np.concatenate([c[1], pole(c[0])]))
    return np.sum(fori_loop(0, 3, step, (x, x), **checkpoint)[0])


UNREAD = [
    unread_sum, unread_array, unread_in_two_loops, unread_stack, unread_while, unread_of_a_conditional,
    unread_in_a_conditional, unread_of_a_while_inside, unread_of_growing_size,
]  # fmt: skip


@pytest.mark.parametrize("checkpoint", [{}, {"checkpoint": 2}], ids=["", "slots"])
@pytest.mark.parametrize("unread", UNREAD)
def test_carries_that_no_result_reads_have_no_cotangent(unread, checkpoint):
    f = lambda x: unread(x, **checkpoint)
    slope = jit(grad(f))
    np.testing.assert_allclose(slope(np.ones(2)), 1.331, rtol=1e-12)
    if unread is not unread_array:  # which runs for what its indices refuse
        assert "sqrt" not in str(slope.programs()[0].graph)
    np.testing.assert_allclose(vmap(slope)(np.ones((3, 2))), 1.331, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(f)(x * x)))(np.ones(2)), 0, atol=1e-12)


def test_sizes_of_a_dead_while_inside_need_no_values():
    """Reverse over reverse mode joins what the trips of the inner loop save, and cuts it by their lengths."""
    f = lambda x: unread_of_a_while_inside(x * x) / 1.331
    np.testing.assert_allclose(jacrev(grad(f))(np.ones(2)), 2 * np.eye(2), rtol=1e-12)


def blurred(u, scale):
    for i in range(1, u.shape[0]):
        u[i] = scale(u[i - 1] + 1)
    return np.sum(u)


@pytest.mark.parametrize("scale", [lambda x: x * 0.25, lambda x: x / 4, lambda x: np.float32(0.25) * x])
def test_numbers_scale_zeros_of_a_loop_without_a_mask(scale):
    slope = jit(grad(lambda x: blurred(x.copy(), scale)))
    np.testing.assert_allclose(slope(np.ones(4)), [1 + 1 / 4 + 1 / 16 + 1 / 64, 0, 0, 0])
    assert not re.search(r"f64\S* = select", str(slope.programs()[0].graph))
    np.testing.assert_allclose(grad(lambda x: blurred(np.sqrt(x), scale))(np.array([4.0, 0, 0])), [21 / 64, 0, 0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("scale", [lambda x: x / 0.0, lambda x: x * np.inf, lambda x: x * 1e300 * 1e300])
def test_numbers_that_are_no_finite_factor_keep_the_mask(scale):
    f = lambda x: sum([scale(x)[0] for _ in range(2)])
    np.testing.assert_array_equal(grad(f)(np.ones(3)), [np.inf, 0, 0])
    looped = lambda x: fori_loop(0, 1, lambda i, total: total + scale(x)[0], 0.0)
    np.testing.assert_array_equal(grad(looped)(np.ones(3)), [np.inf, 0, 0])


type_unread = as_written(lambda x: type(x))


def test_a_loop_is_transposed_of_a_cotangent_that_alone_is_traced():
    """Its operands are constants there, and the cotangent is a part of an array."""
    classes = []

    def f(x):
        part = Masked(x, Mask(lambda: x > 0), True)
        classes.append((type_unread(x), handle_of(np.ones(2), None, part), handle_of(Masked(part, part.mask, True))))
        return x

    jit(f)(np.ones(3))
    assert len({*classes[0]}) == 1


def test_a_long_chain_of_writes_is_transposed():
    @anyshape.as_written
    def f(x):
        y = np.ones(len(x)) * x[1]
        for j in range(150):
            y[(j + 1) % 5] = x[0] * j
            y[j // 2 % 5] = 2.0
        return y.sum()

    x = np.arange(1.0, 6.0)
    slopes = [(f(x + h) - f(x - h)) / 2 for h in np.eye(5)]
    np.testing.assert_allclose(anyshape.grad(f)(x), slopes)


@pytest.mark.parametrize("own", [np.inf, np.nan, 1e300])
@pytest.mark.parametrize("product", [
    lambda x, ids: ops.segment_prod(x, ids, 3),
    lambda x, ids: ops.index_mul(np.ones(3), [ids], x),
], ids=["segment_prod", "index_mul"])  # fmt: skip
def test_a_product_that_overflows_stays_in_its_segment(product, own):
    ids, weights = np.array([0, 1, 0, 1, 2, 1]), np.array([3.0, -1.0, 2.0])
    total = lambda x: np.sum(product(x, ids) * weights)
    x = np.array([own, 2.0, own, 0.5, 0.0, 3.0])
    t = np.where(ids > 0, WEIGHTS[0], 0.0)
    of_others = np.where(ids > 0, x, 1.0)
    with np.errstate(all="ignore"):
        for f in (grad(total), lambda x: jvp(grad(total), (x,), (t,))[1], jacfwd(jacrev(total))):
            first, second = np.asarray(f(x)), np.asarray(f(of_others))
            others = np.ix_(*[ids > 0] * first.ndim)
            np.testing.assert_array_equal(first[others], second[others])
