"""Texts in variables that a `print` or a `raise` alone reads have the values of the run, and need one trace."""

# ruff: noqa: UP031, UP032 - texts of all kinds

import contextlib
import io

import numpy as np
import pytest

from anyshape import jit


def rows_checked(x):
    total = 0.0
    for i, v in enumerate(x):
        note = "row %d has %.2f of %d" % (i, v, len(x))
        if v > 3:
            raise ValueError(note)
        total = total + v
    return total


def rows_printed(x):
    title = "{} rows".format(len(x))
    for v in x:
        print(title, v, sep=": ")
    return x.sum()


def asserted(x):
    message = f"sum {x.sum():.1f} of {len(x)}"
    assert x.sum() < 5, message
    return x.sum()


def too_long(x):
    message = str(len(x)) + " rows"
    message = f"{len(x)} long"
    if len(x) > 2:
        raise ValueError(message)
    return x.sum()


def sizes_told(x):
    shape = f"shape {x.shape}, {len(x)=}"
    print(shape)
    return x.sum()


def keyed(x):
    label = f"{len(x)} rows"
    return {label: x.sum()}[label]


def told_and_kept(x):
    label = f"{len(x)} rows"
    print(label)
    return x.sum() * len(label)


def array_written_later(x):
    y = x * 2
    message = f"y is {y}"
    y += 1.0
    print(message)
    return y.sum()


def raised_after_a_write(x):
    y = x * 2
    message = "y is %s" % y
    y += 1
    if y.sum() > 12:
        raise ValueError(message)
    return y.sum()


def list_written_later(x):
    y = [x.sum(), len(x)]
    message = f"y is {y}"
    y[0] = 1.0
    print(message)
    return x.sum()


def written_in_trips(x):
    s, y = 0.0, x * 1
    for v in x:
        message = f"{v} of {y} and {s}"
        s += v
        y[0] = s
        print(message)
    return s


TRACES = {array_written_later: 1, raised_after_a_write: 2, list_written_later: 1, written_in_trips: 2} | {
    rows_checked: 1,
    rows_printed: 1,
    asserted: 2,
    too_long: 5,
    sizes_told: 1,
    keyed: 4,
    told_and_kept: 4,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", TRACES, ids=lambda f: f.__name__)
def test_a_text_in_a_variable_is_what_python_makes(function):
    traced = jit(function)
    for x in ([1.0, 2.0], [], [1.0, 2.0, 2.5], [9.0, 3.0, 3.0], [1.0, 1.0, 1.0, 1.0]):
        results = []
        for f in (function, traced):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                try:
                    result = float(f(np.array(x)))
                except (ValueError, AssertionError) as error:
                    result = type(error).__name__, str(error).partition("\n")[0]  # pytest adds lines
            results.append((result, out.getvalue()))
        assert results[1] == results[0]
    assert traced.cache_info().traces <= TRACES[function]


def test_explain_names_the_line_of_a_text_that_needs_a_size():
    traced = jit(keyed)
    with pytest.warns(match="needs the value of the size"):
        traced(np.ones(3))
    assert 'label = f"{len(x)} rows"' in str(traced.explain())
