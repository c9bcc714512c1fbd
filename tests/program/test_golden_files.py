"""Tests of golden files: files of every released format version load and compute like NumPy; none is rewritten."""

import copy
import json
from zipfile import ZipFile

import numpy as np
import pytest

import anyshape
from anyshape.errors import ArgumentError
from anyshape.program.file import VERSION
from tests.golden.make import HERE, PROGRAMS, SIZES, STEPS
from tests.laws.sweep import check_equal


def leaves(result):
    return [np.asarray(x) for x in anyshape.tree_leaves(result)]


FILES = sorted(HERE.glob("v*/*.anyshape"))


def test_every_program_and_version_has_a_golden_file():
    assert {p.stem for p in FILES} == PROGRAMS.keys()
    written = [json.loads(ZipFile(path).read("program.json"))["version"] for path in FILES]
    assert [f"v{version}" for version in written] == [p.parent.name for p in FILES]
    assert {*written} == {*range(1, VERSION + 1)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_golden_file_computes_like_numpy(path):
    _, _, reference, arguments = PROGRAMS[path.stem]
    program = anyshape.load(path)
    for n in SIZES:
        args = arguments(n)
        expected = reference(*copy.deepcopy(args))
        check_equal(leaves(program(*args)), leaves(expected), 1e-10, f"{path.stem} at {n}")


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_golden_file_can_be_differentiated_and_exported(path, tmp_path):
    _, specs, reference, arguments = PROGRAMS[path.stem]
    program = anyshape.load(path)
    program.save(tmp_path / "copy")
    loaded = anyshape.load(tmp_path / "copy")
    args = arguments(3)
    expected = leaves(reference(*copy.deepcopy(args)))
    check_equal(leaves(loaded(*copy.deepcopy(args))), expected, 1e-10, path.stem)
    inside = anyshape.export(lambda *xs: program(*xs))(*specs)
    check_equal(leaves(inside(*copy.deepcopy(args))), expected, 1e-10, path.stem)
    if path.stem == "roots":
        derivative = anyshape.grad(lambda x: np.sum(np.sin(program(x)[0])))(*args)
        expected = np.cos(args[0].sum(axis=1, keepdims=True)) * np.ones_like(args[0])
        np.testing.assert_allclose(derivative, expected, rtol=1e-10)
    if path.stem == "ruled":
        for saved in (program, loaded, inside):
            derivative = anyshape.grad(lambda x, saved=saved: np.sum(saved(x)))(*args)
            np.testing.assert_allclose(derivative, 35 * args[0] ** 2 * STEPS, rtol=1e-12)
            second = anyshape.jvp(anyshape.grad(lambda x, saved=saved: np.sum(saved(x))), args, args)[1]
            np.testing.assert_allclose(second, 70 * args[0] ** 2 * STEPS, rtol=1e-12)


@pytest.mark.parametrize("version", ["v1", "v3"])
def test_keys_of_a_file_are_matched_by_name(version):
    program = anyshape.load(HERE / version / "keyed.anyshape")
    params, x = PROGRAMS["keyed"][3](3)
    expected = PROGRAMS["keyed"][2](params, x)
    result = program(params, x)
    assert list(result) == list(expected) and list(result["each"]) == list(expected["each"])
    np.testing.assert_array_equal(result["each"]["w"], expected["each"]["w"])
    permuted = dict(reversed(params.items()))
    if version == "v1":  # such files took keys in any order
        np.testing.assert_array_equal(program(permuted, x)["total"], expected["total"])
    else:
        with pytest.raises(ArgumentError, match=r"structure .*'b': \*, 'w': \*.*, not .*'w': \*, 'b': \*"):
            program(permuted, x)
