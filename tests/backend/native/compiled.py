"""Compile functions and groups for the tests of kernels."""

import numpy as np
import pytest

import anyshape
from anyshape.backend.native import toolchain
from anyshape.backend.native.kernels import PlanKernels

needs_compiler = pytest.mark.skipif(not toolchain.compiler(), reason="no C compiler")


def compiled(function, **options):
    """Return a jitted function whose groups are compiled before its optimised plan runs."""
    return anyshape.jit(function, optimize="now", compile="wait", **options)


def states(function):
    """Return what became of each group of the programs of a function."""
    kernels = [kernels for program in function.programs() for kernels in program.planner.kernels]
    return [state for one in kernels for state in one.states.values()]


def install(groups, namespace=None):
    """Build kernels of writers of groups, by name, and return the functions that call them, and the states."""
    kernels, names = PlanKernels("wait"), {} if namespace is None else namespace
    for name, writer in groups.items():
        kernels.add(name, writer)
    kernels.build(names)
    return names, kernels.states


def assert_bits(ours, theirs):
    """Assert that two arrays have one dtype, shape and bits, but for the bits of NaN."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if ours.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs)
        return
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    number = ~np.isnan(theirs)
    np.testing.assert_array_equal(ours[number], theirs[number])
    np.testing.assert_array_equal(np.signbit(ours[number]), np.signbit(theirs[number]))
