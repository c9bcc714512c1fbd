"""Samples of windows, sequences and indices with sizes of an array."""

from anyshape.numpy import serve
from tests.samples.sample import Sample


def of_size(name, *options):
    """Return the function of NumPy of the first size of an array; with plain NumPy names, sizes go to anyshape."""
    return lambda np, x, *xs: served(np, name)(x.shape[0], *options, *xs)


def served(np, name):
    """Return a function that takes symbolic sizes, whatever the namespace."""
    return serve.FUNCTIONS[name]


SAMPLES = [
    *[Sample(name, of_size(name), ("n",), grad=False) for name in ("hanning", "hamming", "blackman", "bartlett")],
    Sample("kaiser", of_size("kaiser"), ("n", ""), domain=(1.0, 3.0)),
    Sample("logspace", lambda np, x, a, b: served(np, "logspace")(a, b, x.shape[0], base=2.0), ("n", "m", "")),
    Sample(
        "geomspace",
        lambda np, x, a, b: served(np, "geomspace")(a, b, x.shape[0], axis=-1),
        ("n", "m", ""),
        domain=(1, 3),
    ),
    Sample("diag_indices", of_size("diag_indices", 3), ("n",), grad=False),
    Sample("tril_indices", of_size("tril_indices", -1), ("n",), grad=False, vmap=False),
    Sample("triu_indices", of_size("triu_indices", 1), ("n",), grad=False, vmap=False),
]
