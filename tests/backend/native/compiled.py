"""Compile functions and groups for the tests of kernels."""

import contextlib
import ctypes
import math

import numpy as np
import pytest

import anyshape
from anyshape.backend.native import launch, toolchain
from anyshape.backend.native.kernels import PlanKernels

launch.SLOWER = math.inf  # kernels are tested whether they pay or not
toolchain.SECONDS = 600.0  # machines that run tests are loaded
needs_compiler = pytest.mark.skipif(not toolchain.compiler(), reason="no C compiler")


def compiled(function, **options):
    """Return a jitted function whose groups are compiled before its optimised plan runs."""
    return anyshape.jit(function, optimize="now", compile="wait", **options)


def states(function):
    """Return what became of each group of the programs of a function."""
    kernels = [kernels for program in function.programs() for kernels in program.planner.kernels]
    return [state for one in kernels for state in one.states.values()]


@contextlib.contextmanager
def launched():
    """Yield a list of what kernels return that are put in place meanwhile: results, or None where NumPy serves."""
    returned, install = [], PlanKernels.install

    def installed(kernels, library, prefix, namespace, *rest):
        verdicts = install(kernels, library, prefix, namespace, *rest)
        for name in kernels.states:
            if namespace.get(name) is not None:
                namespace[name] = recording(namespace[name])
        return verdicts

    def recording(launcher):
        return lambda *args: returned.append(launcher(*args)) or returned[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlanKernels, "install", installed)
        yield returned


def install(groups, namespace=None):
    """Build kernels of writers of groups, by name, and return the functions that call them, and the states."""
    kernels, names = PlanKernels("wait"), {} if namespace is None else namespace
    for name, writer in groups.items():
        kernels.add(name, writer)
    kernels.build(names)
    kernels.finish()
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


@contextlib.contextmanager
def built_together():
    """Collect the kernels of plans that are made meanwhile; yield a function that builds them, and returns states."""
    collected = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlanKernels, "build", lambda kernels, namespace: collected.append((kernels, namespace)))
        yield lambda: build_together(collected)


def build_together(collected):
    """Build kernels of several plans as one library, and put them in place. Return the states of all."""
    waiting = [(f"plan{i}", *pair) for i, pair in enumerate(collected) if "waiting" in pair[0].states.values()]
    text = "\n".join(kernels.text(prefix) for prefix, kernels, _ in waiting)
    library = ctypes.CDLL(str(toolchain.build(text))) if waiting else None
    for prefix, kernels, namespace in waiting:
        kernels.install(library, prefix, namespace)
        kernels.build_steps()
    return [(name, state) for kernels, _ in collected for name, state in kernels.states.items()]
