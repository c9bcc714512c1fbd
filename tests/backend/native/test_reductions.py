"""Reductions in machine code, in tiles and by themselves, against NumPy's: each with each dtype along each axis.

Operands have several magnitudes, ties, complex numbers with one part equal, NaN, infinities and zeros of both signs.
"""

import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.native.statements import _Translation
from anyshape.scipy import special
from tests.backend.native.compiled import built_together, needs_compiler
from tests.laws.sweep import check_equal, is_error, outcome

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "mean", "var", "argmax", "argmin", "nanmax", "nansum", "ptp",
              "logsumexp", "softmax", "count_nonzero", "linalg.norm", "median")  # fmt: skip
DTYPES = "?bhilBHILefdFD"
AXES = (0, -1, (0, 1), (1, 2), None)
SHAPES = ((40, 3, 4), (3, 2, 31), (1, 1, 1), (2, 17, 1))
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, -1e30)


def operand(rng, char, shape):
    """An array whose elements are hard for a reduction."""
    dtype = np.dtype(char)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(0 if dtype.kind == "u" else -3, 4, shape).astype(dtype)
        return np.where(rng.integers(0, 12, shape), small, rng.choice(np.array([info.min, info.max], dtype), shape))
    parts = np.round(rng.normal(size=(*shape, 2)) * 2) * 10.0 ** rng.integers(-2, 3, (*shape, 2))
    parts = np.where(rng.integers(0, 60, parts.shape), parts, rng.choice(SPECIAL, parts.shape))
    return (parts.view(complex)[..., 0] if dtype.kind == "c" else parts[..., 0]).astype(dtype)


def function_of(name, axis, namespace):
    """x, y, mask -> a reduction of a choice between x and y, which belongs to its group."""
    if name in ("logsumexp", "softmax"):
        reduce = getattr(special, name)
    else:
        module, _, function = name.rpartition(".")
        reduce = getattr(getattr(namespace, module) if module else namespace, function)
    return lambda x, y, mask: reduce(namespace.where(mask, x, y), axis=axis)


def cases():
    """Names, dtypes and axes, where the reduction takes such an axis and dtype."""
    for i, name in enumerate(REDUCTIONS):
        for j, char in enumerate(DTYPES):
            for k, axis in enumerate(AXES):
                one_axis = name.startswith("arg") or name == "linalg.norm"
                takes = {"logsumexp": "fd", "softmax": "fd", "median": "?bhilBHILefd"}.get(name, DTYPES)
                if not (one_axis and isinstance(axis, tuple)) and char in takes:
                    yield (i + j + k) % len(AXES), name, char, axis


CASES = list(cases())
GATED = {  # dtypes, each along one axis
    "sum": "dF", "prod": "fD", "max": "dF", "min": "FD", "any": "?", "mean": "D", "logsumexp": "f", "nansum": "F",
}  # fmt: skip
GATE = [case for case in CASES if not case[0] and case[2] in GATED.get(case[1], "")]


def close(char):
    """Return the tolerance of results of a dtype."""
    return {"e": 2e-3, "f": 1e-5, "F": 1e-5}.get(char, 1e-9)


def differences(chosen):
    """Return how many groups were compiled, and how results of three tiers differ from NumPy's."""
    runs, wrong = [], []
    with built_together() as build, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number, (_, name, char, axis) in enumerate(chosen):
            rng = np.random.default_rng(number)
            inputs = [
                (operand(rng, char, s), operand(rng, char, s), rng.integers(0, 2, s).astype(bool)) for s in SHAPES
            ]
            tiers = {
                "plain": anyshape.jit(function_of(name, axis, anp)),
                "compiled": anyshape.jit(function_of(name, axis, anp), optimize="now", compile="background"),
            }
            for arrays in inputs:
                outcome(tiers["compiled"], *arrays)
            runs.append(((name, char, axis), tiers, inputs))
        built = build()
        for (name, char, axis), tiers, inputs in runs:
            for arrays in inputs:
                expected = outcome(function_of(name, axis, np), *arrays)
                for tier, function in tiers.items():
                    wrong += disagreement(f"{name} of {char} along {axis}, {tier}", function, arrays, expected)
    wrong += [state for _, state in built if "differs" in state or "failed" in state or "waiting" in state]
    return [state for _, state in built].count("compiled"), wrong


def parts(x):
    """Return the parts of complex numbers, both NaN where one is: beside an infinite part, the other one is rounded."""
    return np.stack([np.where(np.isnan(x), np.nan, p) for p in (x.real, x.imag)]) if x.dtype.kind == "c" else x


def disagreement(note, function, arrays, expected):
    """Return a list with the difference of results, empty if there is none."""
    results = outcome(function, *arrays)
    if is_error(expected) or is_error(results):
        return [] if is_error(expected) is is_error(results) else [f"{note}: {results!r:.200}"]
    results, expected = (list(map(parts, tree)) for tree in (results, expected))
    try:
        check_equal(results, expected, close(arrays[0].dtype.char), note)
    except AssertionError as error:
        return [str(error)]
    return []


@needs_compiler
def test_reductions_are_numpys_in_every_tier():
    count, wrong = differences(GATE)
    assert count >= 6 and not wrong, "\n".join(wrong)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", REDUCTIONS)
def test_each_reduction_of_each_dtype_along_each_axis(name):
    _, wrong = differences([case for case in CASES if case[1] == name])
    assert not wrong, "\n".join(wrong)


@needs_compiler
@pytest.mark.parametrize("char", ["F", "D"])
@pytest.mark.parametrize("name", ["prod", "max", "min"])
def test_a_kernel_that_reduces_complex_numbers_by_parts_is_refused(name, char, monkeypatch):
    own = _Translation._reduction

    def by_parts(translation, step, dtype):
        return own(translation, step, np.dtype(float) if dtype.kind == "c" else dtype)

    monkeypatch.setattr(_Translation, "_reduction", by_parts)
    with built_together() as build:
        jitted = anyshape.jit(function_of(name, -1, anp), optimize="now", compile="background")
        x = operand(np.random.default_rng(0), char, (3, 4))
        outcome(jitted, x, x, x.real > 0)
    assert "differs from NumPy's" in build()[0][1]
