"""Helpers of the rows for `tests.external.opinfo`."""


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


def swapped(function):
    """Return a row of a function whose order comes first here."""
    return lambda x, n: function(n, x)


def of_list(function):
    """Return a row of a function of a list alone."""
    return lambda xs: function(xs)
