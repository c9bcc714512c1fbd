"""Rows of the attack with Fourier transforms, signals, polynomials, histograms, windows and edits of arrays."""

from tests.attack.preparation import apart, bounded, integers, positive, rank, uneven
from tests.laws.random_programs import Row

VECTORS = rank(1, 1)


def _flat(np, x):
    return np.ravel(bounded(np, x))


def _number(choices, x):
    """Return a literal number of points, or None for all."""
    return (choices.one((None, 3, 6)),) if x.ndim else None


def _fft():
    return {
        "fft": Row(lambda np, x, n: np.abs(np.fft.fft(positive(np, x), n=n)) ** 2, 1, _number),
        "rfft": Row(lambda np, x, n: np.real(np.fft.rfft(bounded(np, x), n=n)), 1, _number),
        "fft there and back": Row(lambda np, x: np.real(np.fft.ifft(np.fft.fft(bounded(np, x)) * 1j)), 1, rank(1)),
        "low pass": Row(lambda np, x: np.fft.irfft(np.fft.rfft(bounded(np, x))[..., :2], n=5), 1, rank(1)),
        "fft2": Row(lambda np, x: np.real(np.fft.fft2(bounded(np, x))), 1, rank(2, 3)),
        "fftshift": Row(lambda np, x: np.fft.ifftshift(np.fft.fftshift(bounded(np, x) * 2), axes=0), 1, rank(1)),
        "hfft": Row(lambda np, x: np.fft.hfft(bounded(np, x) * (1 + 0.3j)), 1, rank(1)),
    }


def _signals():
    rows = {
        f"{name} {mode}": Row(
            lambda np, x, y, name=name, mode=mode: getattr(np, name)(_flat(np, x), _flat(np, y), mode=mode), 2
        )
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
    }
    return rows | {
        "gradient": Row(lambda np, x: np.gradient(bounded(np, x), axis=0), 1, rank(1)),
        "gradient of second order": Row(
            lambda np, x: np.gradient(bounded(np, x), 0.5, axis=-1, edge_order=2), 1, rank(1)
        ),
        "unwrap": Row(lambda np, x: np.unwrap(uneven(np, x), axis=-1), 1, rank(1), smooth=False),
        "hanning": Row(lambda np, x: _flat(np, x)[:4] * np.hanning(4)[: _flat(np, x)[:4].shape[0]], 1),
    }  # fmt: skip


def _leading(np, x):
    """Return coefficients of a polynomial whose highest one is not 0, as results of products need."""
    return np.append(0.7, _flat(np, x)[:3])


def _polynomials():
    return {
        "polyval": Row(lambda np, x, y: np.polyval(_flat(np, x)[:4], bounded(np, y)), 2),
        "polyder": Row(lambda np, x: np.polyder(_flat(np, x)[:5]), 1),
        "polyint": Row(lambda np, x: np.polyint(_flat(np, x)[:5], k=0.5), 1),
        "polyadd": Row(lambda np, x, y: np.polyadd(_flat(np, x), _flat(np, y)), 2),
        "polysub": Row(lambda np, x, y: np.polysub(_flat(np, x), _flat(np, y)), 2),
        "polymul": Row(lambda np, x, y: np.polymul(_leading(np, x), _leading(np, y)), 2),
        "vander": Row(lambda np, x: np.vander(_flat(np, x), 3, increasing=True), 1),
    }


def _histograms():
    return {
        "histogram": Row(lambda np, x: np.histogram(uneven(np, x), bins=5, range=(-3.0, 4.0))[0], 1, smooth=False),
        "histogram of weights": Row(
            lambda np, x: np.histogram(uneven(np, x), bins=3, range=(-3.0, 4.0), weights=positive(np, x))[0], 1,
            smooth=False,
        ),
        "digitize": Row(lambda np, x: np.digitize(uneven(np, x), [-1.0, 0.5, 2.0]), 1, smooth=False),
        "nanmedian": Row(lambda np, x: np.nanmedian(apart(np, x), axis=-1), 1, rank(1), smooth=False),
        "nanquantile": Row(lambda np, x: np.nanquantile(apart(np, x), 0.3), 1, rank(1), smooth=False),
        "ravel_multi_index": Row(
            lambda np, x: np.ravel_multi_index((np.abs(integers(np, x)), np.abs(integers(np, x))), (8, 8)), 1,
            smooth=False,
        ),
        "unravel_index": Row(lambda np, x: np.unravel_index(np.abs(integers(np, x)), (3, 4))[1], 1, smooth=False),
    }  # fmt: skip


def _window(np, x, length):
    """Read and write a window that starts where the data says."""
    y = bounded(np, x) * 1.5
    k = np.argmax(np.round(y, 4))
    y[k : k + length] = y[k : k + length] * 0.5 + 0.25
    return y


def _edits():
    return {
        "delete": Row(lambda np, x: np.delete(x, 0, axis=0) if x.shape[0] else x, 1, rank(1), smooth=False),
        "insert": Row(lambda np, x: np.insert(bounded(np, x), 0, 0.5, axis=-1), 1, rank(1)),
        "lexsort": Row(lambda np, x, y: np.lexsort((apart(np, x), integers(np, x))), 2, VECTORS, smooth=False),
        "array_equal": Row(lambda np, x: np.array_equal(x, x) + np.zeros(2), 1, smooth=False),
        "along": Row(
            lambda np, x: np.apply_along_axis(lambda v: np.sum(v * v), -1, bounded(np, x)),
            1,
            lambda choices, x: () if x.ndim > 1 and x.size else None,
        ),
        "window at a value": Row(
            _window, 1, lambda choices, x: (choices.integer(4),) if x.ndim == 1 and x.size else None
        ),
    }


SIGNALS = _fft() | _signals() | _polynomials() | _histograms() | _edits()
