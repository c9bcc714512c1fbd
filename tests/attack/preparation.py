"""Arguments of functions of the attack: values in a range where rounding cannot decide much."""


def bounded(np, x):
    """Return real numbers within [-1, 1]."""
    return np.tanh(np.real(x) * 1)


def positive(np, x):
    """Return real numbers above 0.5."""
    return bounded(np, x) ** 2 + 0.5


def regular(np, x):
    """Return positive definite matrices, one for each vector of the last axis."""
    rows = bounded(np, x)
    return rows[..., :, None] * rows[..., None, :] + np.eye(x.shape[-1])


def uneven(np, x):
    """Return real numbers that are hardly ever integers, halves or equal."""
    return np.real(x) * 3.3717 + 0.1234


def apart(np, x):
    """Return real numbers that are equal or far apart, so that rounding orders none of them."""
    return np.round(uneven(np, x), 5)


def integers(np, x):
    """Return integers from -7 to 7."""
    return np.trunc(np.tanh(np.real(x) * 1.1317) * 7.39).astype("int64")


def rank(least, most=4):
    """Return the literal arguments of a row that takes values of some ranks: none, or None at other ranks."""
    return lambda choices, x, *others: () if least <= x.ndim <= most else None
