"""Compare anyshape.scipy.fft with SciPy at several sizes from one trace, and derivatives with differences."""

import warnings

import numpy as np
import pytest
import scipy.fft

import anyshape
from anyshape import grad, jit, vmap
from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.scipy import fft

SIZES = (2, 3, 5, 8)


def signal(*shape, dtype=np.float64):
    rng = np.random.default_rng(sum(shape))
    values = rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn", "fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"]
NORMS = [None, "ortho", "forward", "backward"]


def operand(name, *shape):
    return signal(*shape, dtype=np.float64 if name.startswith(("rfft", "ihfft")) else np.complex128)


@pytest.mark.parametrize("name", [*ONE_AXIS, *SEVERAL])
def test_complex_transforms_are_scipys_at_every_size(name):
    for norm in NORMS:
        ours = jit(lambda x, norm=norm: getattr(fft, name)(x, norm=norm))
        for size in SIZES:
            x = operand(name, size, size + 1)
            expected = getattr(scipy.fft, name)(x, norm=norm)
            np.testing.assert_allclose(ours(x), expected, rtol=1e-12, atol=1e-12, strict=True)
        assert ours.cache_info().traces == 1
    x = operand(name, 4, 6)
    length = {"n": 5} if name in ONE_AXIS else {"s": (3, 5)}
    chosen = {**length, **({"axis": 0} if name in ONE_AXIS else {"axes": (1, 0)})}
    result = jit(lambda x: getattr(fft, name)(x, **chosen))(x)
    np.testing.assert_allclose(result, getattr(scipy.fft, name)(x, **chosen), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
def test_real_transforms_are_scipys_at_every_size(name, kind):
    for norm in NORMS:
        for scaled in (None, True, False):
            options = {"norm": norm, "orthogonalize": scaled, "type": kind}
            ours = jit(lambda x, options=options: getattr(fft, name)(x, **options))
            for size in SIZES:
                x = signal(3, size)
                np.testing.assert_allclose(ours(x), getattr(scipy.fft, name)(x, **options), rtol=1e-12, atol=1e-12)
            assert ours.cache_info().traces == 1
    for x in (signal(4, 6, dtype=np.complex128), signal(4, 6, dtype=np.float32), np.arange(24).reshape(4, 6)):
        result = jit(lambda x: getattr(fft, name + "n")(x, kind, s=(3, 7), axes=(1, 0)))(x)
        expected = getattr(scipy.fft, name + "n")(x, kind, s=(3, 7), axes=(1, 0))
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-5 if result.dtype == np.float32 else 1e-12, atol=1e-5)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_gradients_of_real_transforms_are_those_of_their_matrices(name, scaled):
    for kind in (1, 2, 3, 4):
        function = getattr(fft, name)
        gradient = grad(lambda x, w, kind=kind, f=function: (w * f(x, kind, orthogonalize=scaled)).sum())
        for size in (2, 5):
            matrix = getattr(scipy.fft, name)(np.eye(size), kind, axis=0, orthogonalize=scaled)
            w = signal(size)
            np.testing.assert_allclose(gradient(signal(size), w), matrix.T @ w, rtol=1e-12, atol=1e-12)


def test_transforms_in_a_loss_differentiate_twice_batch_and_save(tmp_path):
    def loss(x):
        return (np.abs(fft.dct(x, 2, norm="ortho")) ** 4).sum() + (fft.hfftn(x[None] * (1 + 2j)) ** 2).sum()

    x = signal(5)
    anyshape.check_grads(loss, (x,), order=2)
    rows = signal(3, 5)
    np.testing.assert_allclose(vmap(grad(loss))(rows), [grad(loss)(row) for row in rows], rtol=1e-10)
    path = tmp_path / "loss.anyshape"
    anyshape.export(loss)(anyshape.ShapeDtypeStruct("n", np.float64)).save(path)
    np.testing.assert_allclose(anyshape.load(path)(x), loss(x), rtol=1e-12)


def test_the_number_of_points_may_be_a_size():
    padded = jit(lambda x: fft.dct(x, n=2 * x.shape[0]))
    for size in SIZES:
        np.testing.assert_allclose(padded(signal(size)), scipy.fft.dct(signal(size), n=2 * size), atol=1e-12)
    np.testing.assert_array_equal(
        jit(lambda x: fft.fftfreq(x.shape[0], 0.5) + x)(np.zeros(5)), scipy.fft.fftfreq(5, 0.5)
    )
    with pytest.raises(RuntimeError, match=r"x.shape\[0\] \(1\) must be at least 2"):
        jit(lambda x: fft.dct(x, 1))(np.ones(1))
    with pytest.raises(ArgumentError, match="type=5"):
        jit(lambda x: fft.dct(x, 5))(np.ones(3))


def test_further_names_are_scipys_and_refuse_traced_arrays():
    assert set(dir(fft)) >= set(scipy.fft.__all__)
    assert all(hasattr(fft, name) for name in scipy.fft.__all__)
    assert fft.next_fast_len(13) == scipy.fft.next_fast_len(13)
    with pytest.raises(UnsupportedFunctionError, match="next_fast_len"):
        jit(lambda x: fft.next_fast_len(x))(13)


def test_one_element_along_the_last_axis_gives_one_number():
    x = np.arange(1.0, 4.0)[:, None] + 1j
    for name in ("irfft2", "irfftn", "hfft2", "hfftn"):
        traced = jit(getattr(fft, name))
        for operand in (x, np.concatenate([x, x**2], axis=1)):
            np.testing.assert_allclose(traced(operand), getattr(scipy.fft, name)(operand), 1e-13, 1e-15)
        with pytest.raises(ValueError):
            traced(x[:, :0])
        assert traced.cache_info().traces == 1


@pytest.mark.parametrize(
    ("mu", "offset", "bias"), [(0.5, 0.0, 0.0), (2.0, 0.3, 0.4), (0.0, 0.2, 1.0), (-1.0, 0.0, 0.0)]
)
def test_hankel_transforms(mu, offset, bias):
    samples = np.random.default_rng(0).normal(size=(2, 9))
    for name in ("fht", "ifht"):
        function = getattr(fft, name)
        traced, theirs = jit(lambda a, f=function: f(a, 0.1, mu, offset, bias)), getattr(scipy.fft, name)
        for n in (1, 2, 8, 9):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # SciPy warns of singular transforms
                expected = theirs(samples[:, :n], 0.1, mu, offset, bias)
            np.testing.assert_allclose(traced(samples[:, :n]), expected, 1e-11, 1e-11)
        assert traced.cache_info().traces == 1
        with pytest.raises(ValueError):
            traced(samples[:, :0])
    assert jit(lambda a: fft.fht(a, 0.1, mu))(samples.astype(np.float32)).dtype == np.float32
    best = jit(fft.fhtoffset)(0.1, mu, offset, bias)
    np.testing.assert_allclose(best, scipy.fft.fhtoffset(0.1, mu, offset, bias), 1e-13)


def test_hankel_transforms_have_derivatives_by_all_numbers():
    a = np.random.default_rng(1).normal(size=8)
    anyshape.check_grads(lambda a, mu, offset: fft.fht(a, 0.1, mu, offset, 0.3), (a, 1.2, 0.1), order=1)
    weights = np.arange(8.0)
    loss = lambda dln, bias: (fft.ifht(fft.fht(a, dln, 1.2, 0.1, bias), dln, 1.2, 0.1, bias) * weights).sum()
    for slope in grad(loss, argnums=(0, 1))(0.3, 0.2):  # the inverse gives the samples back for all of them
        np.testing.assert_allclose(slope, 0.0, atol=1e-10)
