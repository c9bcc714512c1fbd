"""Warnings of NumPy in a run name the line of the user."""

import linecache
import warnings

import numpy as np
import pytest

from anyshape import jit

HERE = __file__


def divided(x):
    shifted = x - 1
    return np.sum(1 / shifted) + np.sum(x)


def entropies(x):
    roots = np.sqrt(x)
    return roots + np.log(x) * roots


LINE = divided.__code__.co_firstlineno + 2


def test_a_warning_of_tiles_is_given_at_the_line_of_the_user():
    f = jit(entropies, optimize="now")
    with pytest.warns(RuntimeWarning, match="divide by zero") as caught, np.errstate(divide="warn"):
        f(np.zeros(400_000))
    assert [(w.filename, w.lineno) for w in caught] == [(HERE, entropies.__code__.co_firstlineno + 2)]


def test_a_warning_outside_of_tiles_shows_the_line_of_the_user():
    f = jit(divided)
    with pytest.warns(RuntimeWarning, match="divide by zero") as caught, np.errstate(divide="warn"):
        f(np.ones(3))
    (warning,) = caught
    shown = linecache.getline(warning.filename, warning.lineno)
    assert shown.rstrip().endswith(f"  # {HERE}:{LINE}")


def test_a_warning_that_is_an_error_ends_at_the_call_and_names_the_line():
    f = jit(divided)
    with warnings.catch_warnings(), np.errstate(divide="warn"):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero") as caught:
            f(np.ones(3))
    assert any(f"test_fp_warnings.py:{LINE}" in note for note in caught.value.__notes__)
