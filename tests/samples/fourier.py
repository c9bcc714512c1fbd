"""Samples of Fourier transforms: numbers of points that cut off elements and that add zeros, even and odd ones."""

from anyshape import scipy
from tests.samples.sample import Sample

C = ("complex128", "complex64")
ALL = ("float64", "float32", "complex128", "int32")


def transform(name, kind, scaled):
    """Return a cosine or sine transform along the first axis."""
    return lambda np, x: getattr(scipy.fft, name)(x, kind, axis=0, orthogonalize=scaled)


SAMPLES = [
    Sample("fft", lambda np, x: np.fft.fft(x), ("n, m",), ("fft",), (*ALL, "float16"), smallest=1),
    Sample("fft along an axis", lambda np, x: np.fft.fft(x, axis=0, norm="ortho"), ("n, m",), ("fft",), C, smallest=1),
    Sample("fft of n points", lambda np, x: np.fft.fft(x, 3, norm="forward"), ("n",), ("fft",), C),
    Sample(
        "fft of as many points", lambda np, x, y: np.fft.fft(x, y.shape[0], -2), ("n, 2", "m"), ("fft",), smallest=1
    ),
    Sample("ifft", lambda np, x: np.fft.ifft(x), ("n",), ("fft",), ALL, smallest=1),
    Sample(
        "ifft with a norm", lambda np, x: np.fft.ifft(x, norm="forward", axis=0), ("n, m",), ("fft",), C, smallest=1
    ),
    Sample(
        "rfft", lambda np, x: np.fft.rfft(x), ("n, m",), ("rfft", "irfft"), ("float64", "float32", "int32"), smallest=1
    ),
    Sample("rfft of n points", lambda np, x: np.fft.rfft(x, 4, 0, "ortho"), ("n, m",), ("rfft",)),
    Sample("rfft with a norm", lambda np, x: np.fft.rfft(x, norm="forward"), ("n",), ("rfft",), smallest=1),
    Sample("irfft", lambda np, x: np.fft.irfft(x), ("n, m",), ("irfft", "rfft"), ALL, smallest=2),
    Sample("irfft of n points", lambda np, x: np.fft.irfft(x, 5, 0, "ortho"), ("n, m",), ("irfft",), C),
    Sample(
        "irfft of as many points",
        lambda np, x, y: np.fft.irfft(x, y.shape[0], norm="forward"),
        ("n", "m"),
        ("irfft",),
        C,
        smallest=1,
    ),
    Sample("hfft", lambda np, x: np.fft.hfft(x), ("n",), ("irfft",), ("complex128", "float64"), smallest=2),
    Sample("ihfft", lambda np, x: np.fft.ihfft(x, axis=0), ("n, m",), ("rfft",), smallest=1),
    Sample("fft2", lambda np, x: np.fft.fft2(x), ("n, m",), ("fft",), ("float64", "complex64"), smallest=1),
    Sample("ifft2", lambda np, x: np.fft.ifft2(x, axes=(2, 0)), ("n, 2, m",), ("fft",), smallest=1),
    Sample("fftn", lambda np, x: np.fft.fftn(x), ("n, m, 2",), ("fft",), smallest=1),
    Sample("fftn of n points", lambda np, x: np.fft.fftn(x, (3, -1), (0, 1)), ("n, m",), ("fft",), smallest=1),
    Sample("ifftn", lambda np, x: np.fft.ifftn(x, norm="ortho"), ("n, m",), ("fft",), smallest=1),
    Sample("rfft2", lambda np, x: np.fft.rfft2(x), ("n, m",), ("fft", "rfft"), smallest=1),
    Sample("rfftn", lambda np, x: np.fft.rfftn(x, axes=(1, 0)), ("n, m",), ("fft", "rfft"), smallest=1),
    Sample("irfft2", lambda np, x: np.fft.irfft2(x), ("n, m",), ("fft", "irfft"), ("complex128",), smallest=2),
    Sample(
        "irfftn", lambda np, x: np.fft.irfftn(x, (4, 3), (0, 1)), ("n, m",), ("irfft",), ("complex128",), smallest=1
    ),
    *[
        Sample(
            f"{name} {kind}{' orthogonal' * scaled}",
            transform(name, kind, scaled),
            ("n, m",),
            (name,),
            ("float64", "complex64"),
            smallest=2,
        )
        for name, kind, scaled in [
            *[("dct", 1, False), ("dct", 2, True), ("dct", 2, False), ("dct", 3, False), ("dct", 4, False)],
            *[("dst", 1, True), ("dst", 2, False), ("dst", 3, False), ("dst", 3, True), ("dst", 4, False)],
        ]
    ],
    Sample("fftshift", lambda np, x: np.fft.fftshift(x), ("n, m",), (), ALL),
    Sample("ifftshift", lambda np, x: np.fft.ifftshift(x, axes=1), ("n, m",)),
    Sample("power spectrum", lambda np, x: np.abs(np.fft.rfft(x, axis=0)) ** 2, ("n, m",), ("rfft",), smallest=1),
    Sample(
        "circular convolution",
        lambda np, x, y: np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y), x.shape[-1]),
        ("n", "n"),
        ("rfft", "irfft"),
        smallest=1,
    ),
]
