"""Test that functions have the numbers, dtypes and second derivatives of NumPy and SciPy at random operands."""

import random

import numpy as np
import pytest

from tests.survey import accuracy
from tests.survey.modules import MODULES

CASES = accuracy.cases()
KINDS = (*accuracy.KINDS, "order 2")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_functions_is_accurate(kind):
    drawn = random.Random(f"accuracy {np.__version__} {kind}").sample(CASES, 12)
    assert not list(filter(None, (accuracy.complaint(case, kind) for case in drawn)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("module", MODULES)
def test_every_function_is_accurate(module, kind):
    chosen = [case for case in CASES if case.module == module]
    assert not list(filter(None, (accuracy.complaint(case, kind) for case in chosen)))


def test_exceptions_name_functions_and_kinds():
    assert set(accuracy.EXCEPTIONS) <= {f"{case} {kind}" for case in CASES for kind in KINDS}


def test_errors_are_relative_to_the_largest_number():
    theirs = [np.array([2.0, 1e-9])]
    assert accuracy.error_of(np.array([2.0, 1e-9 + 1e-12]), theirs) == pytest.approx(5e-13, rel=1e-3)
    assert accuracy.error_of(np.array([2.0, 0.0], np.float32), theirs) == np.inf
    assert accuracy.error_of(np.array([2.0, np.nan]), theirs) == np.inf
    assert accuracy.error_of(np.array([np.nan]), [np.array([np.nan])]) == 0.0


def test_wrong_second_derivatives_are_seen():
    case = accuracy.Case("numpy", "sin")
    assert accuracy.curvature_error(case) < 1e-8
    wrong = accuracy.relative([np.array([1.0])], [np.array([1.1])])
    assert wrong > accuracy.CURVATURE
