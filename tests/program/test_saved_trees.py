"""Tests of named tuples and dataclasses in program files: classes that a process has, stand-ins, and hostile files."""

import copy
import dataclasses
import enum
import io
import json
import pickle
import subprocess
import sys
import types
from collections import namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct as Spec
from anyshape.errors import ArgumentError, ProgramFileError
from anyshape.program.saved_trees import StandIn
from tests.program.damaged_files import rewritten, saved

STATIC: Any = {"static": True}


class Affine(NamedTuple):
    w: Any
    b: Any


@dataclass
class Layer:
    affine: Affine
    scale: Any
    power: int = field(default=2, metadata=STATIC)
    name: str = "relu"


@anyshape.register_pytree_node
@dataclass(frozen=True)
class Rows:
    x: Any
    kinds: tuple[Any, ...] = field(default=("a", 1, None), metadata=STATIC)


def network(layers, rows):
    total = sum([np.sum(x.affine.w**x.power) * x.scale + np.sum(x.affine.b) for x in layers["all"]])
    return {"out": Layer(Affine(total, rows.x * total), rows.x, 7), "eigh": np.linalg.eigh(np.outer(rows.x, rows.x))}


def layers_of(make, n, m):
    first = Layer(Affine(make("n", n), make("m", m)), make("", 2))
    return {"all": [first, Layer(Affine(make("m", m), make("m", m)), make("", 3), 3)]}


def specs():
    of = lambda word, _: Spec(word)
    return layers_of(of, 0, 0), Rows(Spec("q"))


def arrays():
    of = lambda word, n: np.arange(n) + 1.0 if word else float(n)
    return layers_of(of, 3, 2), Rows(np.arange(2.0))


def file_of(function=network, *arguments):
    return saved(anyshape.export(function)(*(arguments or specs())))


def loaded(data):
    return anyshape.load(io.BytesIO(data))


def test_classes_of_the_process_come_back_with_static_fields_and_gradients():
    program, expected = loaded(file_of()), network(*arrays())
    for p in (program, loaded(saved(program)), pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        result = p(*arrays())
        assert [type(x) for x in (result["out"], result["out"].affine, result["eigh"])] == [
            Layer, Affine, type(expected["eigh"])
        ]  # fmt: skip
        assert (result["out"].power, result["out"].name) == (7, "relu")
        np.testing.assert_array_equal(result["out"].affine.b, expected["out"].affine.b)
    slopes = anyshape.grad(lambda layers, rows: program(layers, rows)["out"].affine.w)(*arrays())
    assert type(slopes["all"][1]) is Layer and slopes["all"][1].power == 3
    np.testing.assert_array_equal(slopes["all"][1].affine.w, 3 * 3.0 * np.array([1.0, 2.0]) ** 2)


ELSEWHERE = """
import copy, pickle, sys
from dataclasses import dataclass, field
from types import SimpleNamespace as Object
from typing import NamedTuple
import numpy as np
import anyshape

program = anyshape.load(sys.argv[1])

class Other(NamedTuple):
    b: object
    w: object

@dataclass
class Mine:
    power: int = field(metadata={"static": True})
    affine: object
    scale: float
    name: str = "relu"

def layers(last=Mine):
    x, y = np.arange(3) + 1.0, np.arange(2) + 1.0
    return {"all": [Mine(2, Other(y, x), 2.0), last(power=3, affine=Other(y, y), scale=3.0, name="relu")]}

rows = Object(x=np.arange(2.0), kinds=("a", 1, None))
result = program(layers(Object), rows)["out"]
print(result, type(result).__module__, sorted({"tests", "unknown"} & {name.partition(".")[0] for name in sys.modules}))
for other in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program), anyshape.load(sys.argv[1])):
    again = other(layers(), rows)["out"]
    print(type(again) is type(result), str(pickle.loads(pickle.dumps(again))) == str(result))
slopes = anyshape.grad(lambda tree: program(tree, rows)["out"].affine.w)(layers())["all"][1]
print(type(slopes).__name__, slopes.affine.w, anyshape.jit(program)(layers(), rows)["out"].affine.w)
program.save(sys.argv[2])
for wrong in (Object(x=rows.x, kinds=("a", 1, 0)), Object(x=rows.x), rows.x):
    try:
        program(layers(), wrong)
    except anyshape.errors.ArgumentError as error:
        print(str(error).splitlines()[1].strip())
"""


def test_another_process_has_stand_ins_that_take_any_object_with_the_fields(tmp_path):
    data = file_of()
    (tmp_path / "first").write_bytes(data)
    command = [sys.executable, "-c", ELSEWHERE, *map(str, (tmp_path / "first", tmp_path / "second"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(anyshape.__file__).parents[1])
    assert done.stdout.splitlines() == [
        "Layer(affine=Affine(w=np.float64(61.0), b=array([ 0., 61.])), scale=array([0., 1.]), power=7, name='relu') "
        f"{__name__} []",
        *["True True"] * 3,
        "Mine [ 9. 36.] 61.0",
        *["pass arguments as they were traced"] * 3,
    ], done.stderr
    assert (tmp_path / "second").read_bytes() == data


# -- which class is taken


def _dataclass(*names, static=(), **space):
    columns = [(n, Any, field(metadata=STATIC if n in static else {})) for n in names]
    return dataclasses.make_dataclass("C", columns, namespace=space)


class _OwnConstructor(namedtuple("C", "x n")):
    def __new__(cls, *parts):
        raise AssertionError("a constructor of the user ran")


@dataclass
class _SetsItself:
    x: Any
    n: int = field(metadata=STATIC)

    def __init__(self, *parts):
        raise AssertionError("a constructor of the user ran")


class _HasProperty(_SetsItself):
    x = property(lambda self: 1, lambda self, value: pytest.fail("a setter ran"))


TAKEN = {
    "namedtuple": [
        (namedtuple("C", "x n"), True), (namedtuple("C", "n x"), False), (namedtuple("C", "x"), False), (tuple, False),
        (_OwnConstructor, False), (3, False), (_dataclass("x", "n"), False),
    ],
    "dataclass": [
        (_dataclass("x", "n", static="n"), True), (_SetsItself, True), (_dataclass("x", "n"), False),
        (_dataclass("n", "x", static="n"), False), (_dataclass("x", "n", "m", static="n"), False),
        (_HasProperty, False), (namedtuple("C", "x n"), False), (lambda: None, False),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", TAKEN)
def test_a_class_is_taken_if_its_fields_agree_and_none_of_its_code_runs(kind, monkeypatch):
    module = types.ModuleType("there")
    module.__getattr__ = lambda name: pytest.fail("a module was asked")
    monkeypatch.setitem(sys.modules, "there", module)
    original = namedtuple("C", "x n") if kind == "namedtuple" else _dataclass("x", "n", static="n")
    original.__module__, module.C = "there", original
    data = file_of(lambda c: c, original(Spec("n"), Spec("n") if kind == "namedtuple" else 3))
    for held, is_taken in [*TAKEN[kind], (None, False)]:
        module.C = held
        if held is None:
            del module.C
        (argument,) = loaded(data).trace.in_tree.children()[0].children()
        cls = type(anyshape.tracing.pytrees.unflatten(argument, range(argument.num_leaves)))
        assert (cls is held, isinstance(cls, StandIn)) == (is_taken, not is_taken), held
    monkeypatch.delitem(sys.modules, "there")
    assert loaded(data)(types.SimpleNamespace(x=np.ones(2), n=np.ones(2) if kind == "namedtuple" else 3)).x[0] == 1
    assert "there" not in sys.modules


def test_members_of_enumerations_and_dtypes_come_back(monkeypatch):
    values = (Colour.RED, Colour.BLUE, Parts.B, np.dtype("f4"), np.int8)
    data = file_of(lambda p, kind: (p, *values, p.x.astype(kind)), Painted(Spec("n"), Colour.BLUE), np.float32)
    result = loaded(data)(Painted(np.ones(2), Colour.BLUE), np.float32)
    assert result[0].colour is Colour.BLUE and result[-1].dtype == np.float32
    assert all(x is y or x == y for x, y in zip(result[1:-1], values, strict=True)) and result[5] is np.int8
    with pytest.raises(ArgumentError, match=r"<Colour.RED"):
        loaded(data)(Painted(np.ones(2), Colour.RED), np.float32)
    data = file_of(lambda x: (x, Colour.RED), Spec("n"))
    for other in (None, enum.Enum("Colour", {"RED": 7})):
        monkeypatch.setattr(sys.modules[__name__], "Colour", other)
        member = loaded(data)(np.ones(1))[1]
        assert (repr(member), member.value, isinstance(member, enum.Enum)) == ("<Colour.RED: 1>", 1, True)


# -- what is refused


class Colour(enum.Enum):
    RED = 1
    BLUE = ("b", 2.5)


class Parts(enum.Flag):
    A = 1
    B = 2


@dataclass
class Painted:
    x: Any
    colour: Any = field(default=Colour.RED, metadata=STATIC)


class Registered:
    def __init__(self, x):
        self.x = x


anyshape.register_pytree_node(Registered, lambda r: ((r.x,), None), lambda _, parts: Registered(*parts))


def test_what_a_file_cannot_hold_is_refused_when_it_is_exported():
    for argument, problem in [
        (
            Painted(Spec("n"), slice(2)),
            r"holds slice\(None, 2, None\), and a file holds arrays, numbers, texts and tuples",
        ),
        (Painted(Spec("n"), Parts.A | Parts.B), r"holds <Parts.A.B: 3>"),
        (Painted(Spec("n"), np.dtype("M8[s]")), r"holds dtype\('<M8\[s\]'\)"),
        (Registered(Spec("n")), r"holds a .*Registered, a class that a saved program does not know"),
    ]:
        with pytest.raises(ArgumentError, match=problem):
            anyshape.export(lambda p: p.x)(argument)
    assert json.loads(ZipFile(io.BytesIO(file_of(lambda x: [x], Spec("n")))).read("program.json"))["version"] == 1


def _record(**entries):
    first = {"record": "dataclass", "module": "there", "class": "C", "fields": [["x", "leaf"]]}
    return first | {k.rstrip("_"): v for k, v in entries.items()}


ENUMS = (["m", "C", "x y"], ["m", "C"], ["m", "C()", "A"], ["m", "C", "_x"], ["m", "C", "mro"], 3)
DAMAGED = [
    _record(record="class"), _record(module=3), _record(class_="C\x1b"), _record(class_="C()"), _record(class_=""),
    _record(class_="lambda"), _record(fields=[["x y", "leaf"]]), _record(fields=[["x"]]), _record(fields={"x": "leaf"}),
    _record(fields=[["__class__", "leaf"]]), _record(fields=[["x", "leaf"], ["x", {"fixed": {"number": 1}}]]),
    _record(fields=[["x", {"fixed": "leaf"}]]), _record(fields=[[1, "leaf"]]), _record(fields=[["x", "leaf"]] * 1001),
    _record(record="namedtuple", fields=[["_x", "leaf"]]), _record(module="anyshape.errors"), _record(more=1),
    _record(record="namedtuple", fields=[["x", "leaf"], ["n", {"fixed": {"number": 1}}]]), {"record": "namedtuple"},
    *[{"setting": {"enum": names, "value": {"number": 1}}} for names in ENUMS],
    *[{"setting": data} for data in ({"enum": ["m", "C", "A"], "value": "leaf"}, {"dtype": "O"}, {"type": ["<f8"]})],
    {"setting": {"dtype": "<f3", "more": 1}},
    {"list": [_record(class_=f"C{i}", fields=[]) for i in range(201)] + ["leaf"]}, _record(fields=[]),
    {"ragged": ["leaf"]}, {"ragged": "leaf"}, {"ragged": ["leaf", None]}, {"ragged": ["leaf", {"list": ["leaf"]}]},
]  # fmt: skip


def test_damaged_records_are_named_as_such():
    data = file_of(lambda x: x, Spec("n"))
    for damage in DAMAGED:
        with pytest.raises(ProgramFileError, match=r"^the file: is damaged") as caught:
            loaded(rewritten(data, lambda program, damage=damage: program.update(result=damage)))
        assert len(str(caught.value).splitlines()) == 2, damage
    result = loaded(rewritten(data, lambda program: program.update(result=_record(class_="A.<locals>.C"))))(np.ones(2))
    assert str(result) == "A.<locals>.C(x=array([1., 1.]))"
