"""Texts of traced arrays show no values: code that decides by them is refused, and others may show them."""

import re

import numpy as np
import pytest

from anyshape import errors, grad, jit

MEMO = {}


def searched(x):
    return x * 0 if "nan" in str(x) else x * 2


def compared(x):
    return x * 3 if f"{x}" == "[1. 2.]" else x * 2


def compared_behind_a_text(x):
    return x * 3 if "x is {}".format(x) == "x is [1. 2.]" else x * 2  # noqa: UP032


def one_of_some(x):
    shown = "%s" % x  # noqa: UP031
    return x * 3 if shown in ("[1. 2.]", "[]") else x * 2


def begun(x):
    shown = "x: " + repr(x)
    return x * 3 if shown.startswith("x: array([1.") else x * 2


def a_key(x):
    return x * {f"{x}": 3.0}.get("[1. 2.]", 2.0)


def a_length(x):
    return x * len(str(x))


def numbers(x):
    return x * sum(float(part) for part in str(x).strip("[]").split())


READ = [searched, compared, compared_behind_a_text, one_of_some, begun, a_key, a_length, numbers]


@pytest.mark.parametrize("transform", [jit, lambda f: grad(lambda x: np.sum(f(x)))], ids=["jit", "grad"])
@pytest.mark.parametrize("function", READ, ids=lambda f: f.__name__)
def test_code_that_reads_a_text_is_refused(function, transform):
    with pytest.raises(errors.ConcretizationError, match=re.escape("f64[x.shape[0]], which is not known")) as caught:
        transform(function)(np.array([1.0, 2.0]))
    assert "text" in str(caught.value) and "np.isnan(x).any()" in str(caught.value)


def test_texts_are_shown_and_kept(capsys):
    texts = []

    def shown(x):
        print("x is", str(x))
        texts.extend([f"{x}", "x: " + str(x), str(x).upper()])
        return x * 2

    np.testing.assert_array_equal(jit(shown)(np.array([1.0, 2.0])), [2.0, 4.0])
    assert capsys.readouterr().out == "x is [1. 2.]\n"
    assert texts[0].startswith("Array<") and "Array<" in texts[1] and len({*texts}) == 3 and "ARRAY" in texts[2]
