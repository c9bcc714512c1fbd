"""Helpers of the rows for `tests.external.opinfo`."""

import anyshape.numpy as np


class SkippedError(Exception):
    """Raised for a sample without counterpart."""


def skip(condition, reason):
    """Leave a sample out if the condition holds."""
    if condition:
        raise SkippedError(reason)


def named(namespace, names):
    """Return rows of operators that have the name and the arguments of a function here."""
    return {name: getattr(namespace, name.rpartition(".")[2]) for name in names.split()}


def renamed(namespace, pairs):
    """Return rows of operators that have the arguments of a function with another name."""
    return {theirs: getattr(namespace, ours) for theirs, ours in (pair.split("=") for pair in pairs.split())}


def polynomial(function):
    """Return a row of a polynomial: PyTorch rounds orders towards 0, and polynomials of orders below 0 are 0."""

    def row(x, n):
        order = np.trunc(n).astype(int)
        return np.where(order < 0, 0.0, function(np.maximum(order, 0), x))

    return row


def of_list_or_array(function):
    """Return a row of a function of an array or of many."""
    return lambda x: function(*x) if isinstance(x, (tuple, list)) else function(x)


def of_list(function):
    """Return a row of a function of a list alone."""
    return lambda xs: function(xs)
