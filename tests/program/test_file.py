"""Tests of program files: round trips, errors for damaged files, and safety of hostile ones."""

import contextlib
import copy
import hashlib
import io
import json
import os
import pickle
import re
import subprocess
import sys
import time
import zipfile
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct as Spec
from anyshape.errors import AnyshapeError, ArgumentError, InputSizeError, ProgramFileError, SizeMismatchError
from anyshape.graph.ir.validate import check_graph
from anyshape.program.saved_trees import decode_tree, encode_tree
from anyshape.tracing.pytrees import flatten
from tests.laws.sweep import check_equal, leaves
from tests.program.damaged_files import (
    canonical,
    contents,
    damaged,
    mutated,
    packed,
    rewritten,
    saved,
    slope,
    specimens,
)


def reloaded(program):
    return anyshape.load(io.BytesIO(saved(program)))


# -- round trips


def test_a_loaded_program_prints_and_computes_the_same():
    for program, args in specimens():
        loaded = reloaded(program)
        check_graph(loaded.graph)
        assert str(loaded) == str(program)
        assert (loaded.name, loaded.trace.paths, loaded.trace.labels) == (
            program.name,
            program.trace.paths,
            program.trace.labels,
        )
        assert loaded.trace.in_tree == program.trace.in_tree
        assert loaded.trace.out_tree == program.trace.out_tree
        check_equal(leaves(loaded(*args)), leaves(program(*args)), 0, program.name)
        assert saved(loaded) == saved(program)  # and so do its bytes


@pytest.mark.parametrize("tree", [
    1, (1,), [], {}, (), [1, (2, [])], {"b": 1, "a": (None, 2)}, {3: 1, 1: [2]}, {"x": {True: 1}}, {1.5: 1, 2.5: 2},
    OrderedDict([("z", 1), ("a", 2)]), deque([1, 2], maxlen=3), deque([1]), defaultdict(list, {"k": 1}),
    defaultdict(None, {2: 1}), None, {"é": 1, "a\nb": 2, "": 3},
], ids=repr)  # fmt: skip
def test_structures_survive(tree):
    count, structure = len(flatten(tree)[0]), flatten(tree)[1]
    decoded = decode_tree(json.loads(json.dumps(encode_tree(structure, "f", "x"))), "x")
    assert decoded == structure
    assert decoded.num_leaves == count


def test_a_dict_keeps_the_order_of_its_keys():
    program = reloaded(anyshape.export(lambda x: {"z": x, "a": -x, "m": x})(Spec("n")))
    assert list(program(np.ones(2))) == ["z", "a", "m"]


@pytest.mark.parametrize("value", [0.1, -0.0, np.nan, np.inf, -np.inf, 5e-324, 2, True, 1 + 2j, complex(-0.0, np.inf)])
def test_numbers_survive_bitwise(value):
    program = anyshape.export(lambda x: np.where(x > 0, x, value))(Spec("n", np.result_type(np.float64, type(value))))
    got, expected = (p(-np.ones(1, program.graph.inputs[0].meta.dtype)) for p in (reloaded(program), program))
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "longdouble", "complex64"])
def test_constants_of_every_dtype_and_rank_survive(dtype):
    arrays = [np.zeros((), dtype), np.zeros((0, 3), dtype), np.eye(3, dtype=dtype).T[::2], np.ones((2, 1, 2), dtype)]
    arrays.append(np.asfortranarray(np.arange(6).reshape(2, 3).astype(dtype)))
    program = reloaded(anyshape.export(lambda x: [x, *[np.asarray(a) for a in arrays]])(Spec("n", dtype)))
    check_equal(leaves(program(np.ones(2, dtype)))[1:], arrays, 0, dtype)


def test_an_exported_program_copies_its_constants():
    table = np.ones(3)
    program = anyshape.export(lambda x: x * table)(Spec("3"))
    table[:] = 7
    for p in (program, reloaded(program)):
        np.testing.assert_array_equal(p(np.ones(3)), np.ones(3))
        assert not any(a.flags.writeable for _, a in p.graph.constants)


def test_guards_of_a_jitted_program_survive():
    f = anyshape.jit(lambda x: x + 1 if x.shape[0] > 3 else x * 2)
    f(np.ones(5))
    program = reloaded(f.programs()[0])
    np.testing.assert_array_equal(program(np.ones(9)), np.full(9, 2))
    with pytest.raises(
        SizeMismatchError, match=r"was traced for x.shape\[0\] > 3, and it was called with x.shape\[0\] = 2"
    ):
        program(np.ones(2))


def test_a_loaded_program_has_new_dimension_variables():
    program = anyshape.export(lambda x: x)(Spec((anyshape.Dim("n", min=2, max=9),)))
    first, second = reloaded(program), reloaded(program)
    variables = [p.graph.dims[0].variable for p in (program, first, second)]
    assert len(set(variables)) == 3
    assert {(v.name, v.label, v.lower, v.upper) for v in variables} == {("n", str(variables[0]), 2, 9)}
    with pytest.raises(InputSizeError, match="n is at most 9"):
        first(np.ones(10))


def test_lines_of_the_user_survive_without_folders():
    program = reloaded(anyshape.export(lambda x, y: x @ y)(Spec("n"), Spec("m")))
    wheres = [n.where for n in program.graph.nodes] + [c.where for c in program.graph.conditions]
    assert {w.file for w in wheres if w is not None} == {"test_file.py"}


def test_programs_pickle_and_copy():
    for program, args in specimens():
        for twin in (copy.deepcopy(reloaded(program)), pickle.loads(pickle.dumps(reloaded(program)))):
            assert str(twin) == str(program)
            check_equal(leaves(twin(*args)), leaves(program(*args)), 0, program.name)


def test_a_pickled_program_runs_in_a_fresh_process(tmp_path):
    (tmp_path / "p").write_bytes(pickle.dumps([(reloaded(p), args) for p, args in specimens()]))
    script = "import pickle, sys; print(*[str(p(*a)) for p, a in pickle.load(open(sys.argv[1], 'rb'))], sep='\\n')"
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "p"], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "\n".join(str(p(*args)) for p, args in specimens())


# -- where it goes


def test_paths_and_open_files(tmp_path):
    program, args = specimens()[1]
    for path in (tmp_path / "a file.anyshape", str(tmp_path / "b")):
        program.save(path)
        check_equal(leaves(anyshape.load(path)(*args)), leaves(program(*args)), 0, "path")
    with open(tmp_path / "c", "w+b") as file:
        program.save(file)
        file.seek(0)
        check_equal(leaves(anyshape.load(file)(*args)), leaves(program(*args)), 0, "file")
    with open(tmp_path / "a file.anyshape", encoding="latin-1") as file, pytest.raises(ProgramFileError, match="'rb'"):
        anyshape.load(file)
    with pytest.raises(FileNotFoundError):
        anyshape.load(tmp_path / "missing")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    program, _ = specimens()[0]
    path = tmp_path / "p"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("no space left")

    for name in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="no space left"):
                program.save(path)
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["p"]
    with pytest.raises(FileNotFoundError, match=r"no folder to save a program in: .*no folder.$"):
        program.save(tmp_path / "no folder" / "p")


def test_numpy_reads_the_constants(tmp_path):
    anyshape.export(lambda x: x * np.array([1.0, 2.0]))(Spec("2")).save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as members:
        np.testing.assert_array_equal(members["constants/0"], [1, 2])


class Pair(list):
    pass


anyshape.register_pytree_node(Pair, lambda p: (list(p), None), lambda _, parts: Pair(parts))


@pytest.mark.parametrize("save", [
    lambda f, *specs: anyshape.export(f)(*specs), lambda f, *specs: anyshape.trace(f)(*specs).save(io.BytesIO())
])  # fmt: skip
def test_export_refuses_structures_that_a_file_cannot_hold(save):
    with pytest.raises(ArgumentError, match=r"an argument holds a .*Pair, a class"):
        save(lambda p: p[0], Pair([Spec("n"), Spec("m")]))
    with pytest.raises(ArgumentError, match=r"the result holds a .*Pair, a class"):
        save(lambda x: [Pair([x, x])], Spec("n"))
    with pytest.raises(ArgumentError, match=r"the key \(1, 2\)"):
        save(lambda x: {(1, 2): x}, Spec("n"))
    with pytest.raises(ArgumentError, match="defaultdict of"):
        anyshape.trace(lambda x: defaultdict(lambda: 0, a=x))(Spec("n")).save(io.BytesIO())


# -- what is refused


def refused(data, match):
    with pytest.raises(ProgramFileError, match=match) as caught:
        anyshape.load(io.BytesIO(data))
    first, advice = str(caught.value).splitlines()
    assert first.startswith("the file: ")
    assert caught.value.path == "the file"
    assert advice.strip()
    return caught.value


@pytest.fixture(scope="module")
def data():
    return [saved(program) for program, _ in specimens()]


def test_bytes_that_are_no_program_are_refused(data):
    refused(b"", "not a saved program")
    refused(b"PK\x03\x04" + bytes(100), "not a saved program")
    refused(data[0][: len(data[0]) // 2], "not a saved program")
    refused(packed({"a": b""}), "has no program.json")
    refused(packed({"program.json": b"[]"}), "its document is not a program")
    refused(packed({"program.json": b"{"}), "cannot be read")
    refused(packed({"program.json": b'{"format": 1, "format": 2}'}), "a key twice")
    refused(packed({"program.json": b"[" * 100_000}), "nested too deep")
    refused(packed({"program.json": b'"' * 100_001}), "cannot be read")
    refused(packed({"program.json": b"9" * 1000}), "holds the number")
    refused(packed({"program.json": b"NaN"}), "holds the number")


def test_a_newer_file_is_refused_with_its_version(data):
    document = json.loads(contents(data[0])["program.json"])
    members = {"program.json": canonical({**document, "version": 7, "anyshape": "9.9", "new": True})}
    error = refused(packed(members), r"has version 7 of the format, written by anyshape 9\.9; .* up to version 6")
    assert error.version == 7
    assert "9.9 or newer" in error.advice


def test_a_zip_bomb_is_not_unpacked():
    bomb = packed({"program.json": b" " * (1 << 27)})
    assert len(bomb) < 1 << 20
    refused(bomb, "more than")
    refused(packed({"program.json": b"{}", "constants/0.npy": bytes(1 << 24)}, zipfile.ZIP_DEFLATED), "is compressed")


def test_the_header_of_a_constant_must_describe_its_bytes(data):
    members = contents(data[2])
    name = next(n for n in members if n.startswith("constants/"))
    header = re.sub(rb"\(\d, \d\)", b"(9, 9)", members[name])
    for changed in (header, members[name][:-8], members[name].replace(b"'<f8'", b"'|O8'"), b"\x93NUMPY"):
        refused(packed({**members, name: changed}), "digest of a constant")

        def with_digest(program, changed=changed):
            program["digests"] = [hashlib.sha256(changed).hexdigest() for _ in program["digests"]]

        refused(rewritten(packed({**members, name: changed}), with_digest), "constant|cannot be read")


def _node(program, op):
    return next(n for n in program["graph"]["nodes"] if n["op"] == op)


def _set(container, key, value):
    container[key] = value


CHANGES = {
    "unknown op": (0, lambda p: _set(_node(p, "tanh"), "op", "system"), "which this version does not know"),
    "op of plans": (0, lambda p: _set(_node(p, "tanh"), "op", "view"), "which this version does not know"),
    "too many operands": (0, lambda p: _node(p, "tanh")["inputs"].append(0), "takes 1 operands"),
    "unknown param": (0, lambda p: _set(_node(p, "tanh")["params"], "out", 1), "has the params none"),
    "axis out of range": (0, lambda p: _set(_node(p, "sort")["params"], "axis", 2), "axis cannot be 2"),
    "axis of a wrong type": (0, lambda p: _set(_node(p, "sort")["params"], "axis", False), "axis cannot be False"),
    "value of the future": (0, lambda p: _set(p["graph"]["nodes"][0], "inputs", [99]), "a value is not an integer"),
    "wrong metadata": (1, lambda p: _set(_node(p, "reduce_sum")["outputs"][0], "shape", [4]), "promises c128"),
    "wrong dtype": (0, lambda p: _set(_node(p, "tanh")["outputs"][0], "dtype", "float32"), "float32|promises"),
    "function of sizes": (0, lambda p: _set(p["graph"]["sizes"], 0, [[1, [[["eval", 1, 2], 1]]]]), "'eval'"),
    "relation": (2, lambda p: _set(p["graph"]["conditions"][0], "relation", "or 1 or"), "'or 1 or'"),
    "size without a source": (0, lambda p: p["graph"]["variables"].append(
        {"name": "q", "label": "q", "lower": 0, "upper": None}), "nothing gives the size q"),
    "terminal codes": (0, lambda p: _set(p["graph"], "name", "\x1b[2J"), "do not print"),
    "slice beyond the end": (2, lambda p: _set(_node(p, "slice")["params"], "starts", [9**9, 0]), "must be at least"),
    "slice before the start": (2, lambda p: _set(_node(p, "slice")["params"], "starts", [-1, 0]), "leave its operand"),
    "lost condition": (0, lambda p: _set(p["graph"], "conditions", []), "relies on|refuses"),
    "structure": (0, lambda p: _set(p, "arguments", {"tuple": [{"tuple": ["leaf"]}, {"dict": []}]}), "structures"),
    "line number": (0, lambda p: _set(p["graph"]["lines"][0], 1, 2**31), "a line number is not an integer"),
    "no digest": (0, lambda p: p["digests"].append("0"), "members"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_an_illegal_document_is_refused(name, data):
    number, change, match = CHANGES[name]
    rewritten(data[number], lambda p: None)
    refused(rewritten(data[number], lambda p: change(p) and None), match)


def test_a_change_of_the_document_breaks_its_digest(data):
    members = contents(data[0])
    changed = members["program.json"].replace(b'"tanh"', b'"sinh"')
    assert changed != members["program.json"]
    refused(packed({**members, "program.json": changed}), "digest")


# -- fuzz: no crash, no hang, and no other result


def guarded(load):
    """The program, or None where the file is refused; nothing takes long."""
    start = time.thread_time()
    try:
        return load()
    except ProgramFileError:
        return None
    finally:
        assert time.thread_time() - start < 10


def check_bytes(seed, count):
    rng = np.random.default_rng(seed)
    chosen = [(saved(program), args, leaves(program(*args))) for program, args in specimens()]
    refusals = 0
    for _ in range(count):
        data, args, expected = chosen[rng.integers(len(chosen))]
        changed = damaged(rng, data)
        program = guarded(lambda changed=changed: anyshape.load(io.BytesIO(changed)))
        refusals += program is None
        if program is not None:
            check_equal(leaves(program(*args)), expected, 0, "a damaged file")
    assert refusals > 0.7 * count


def check_documents(seed, count):
    """A changed document may be another program, which is run; under ANYSHAPE_CHECK=1 metadata are verified."""
    rng = np.random.default_rng(seed)
    chosen = [(saved(program), args) for program, args in specimens()]
    loaded = 0
    for _ in range(count):
        data, args = chosen[rng.integers(len(chosen))]
        program = guarded(lambda d=data: anyshape.load(io.BytesIO(rewritten(d, lambda p: mutated(rng, p)))))
        if program is not None:
            loaded += 1
            with contextlib.suppress(SizeMismatchError, ArgumentError):
                program(*args)
            if len(args) == 1:
                with contextlib.suppress(AnyshapeError):
                    slope(program, args)
    assert loaded > 0.05 * count


def test_changed_bytes_are_refused_or_change_nothing():
    check_bytes(0, 400)


@pytest.mark.slow
def test_changed_documents_are_refused_or_run():
    check_documents(0, 300)


RULES = {
    "position": (lambda r: _set(r["programs"][0], 1, [2]), "custom_jvp"),
    "missing tangent": (lambda r: _set(r["programs"][0], 1, []), "custom_jvp"),
    "role": (lambda r: _set(r["programs"][0], 0, "forward"), "custom_jvp"),
    "unknown role": (lambda r: _set(r["programs"][0], 0, "eval"), "'eval'"),
    "constant": (lambda r: r["programs"][0][2]["constants"].clear(), "constants|a value is not an integer"),
    "output": (lambda r: r["programs"][0][2]["outputs"].pop(), "custom_jvp"),
    "independent": (lambda r: _set(r, "is_independent", 1), "independent by another value"),
    "reference": (lambda r: _set(_rule_node(r)["params"], "rule", {"rule": 9}), "is not an integer from 0 to 1"),
}


def _rule_node(rule):
    return next(n for _, _, graph in rule["programs"] for n in graph["nodes"] if "rule" in n["params"])


@pytest.mark.parametrize("name", RULES)
def test_an_illegal_rule_is_refused(name, data):
    changed, match = RULES[name]
    refused(rewritten(data[3], lambda p: changed(p["graph"]["rules"][0]) and None), match)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_changed_files(seed):
    check_bytes(seed, 10_000)
    check_documents(seed, 5_000)
