"""Make damaged and hostile program files for the tests of loading: changed bytes and changed documents."""

import copy
import hashlib
import io
import json
import zipfile
from typing import NamedTuple

import numpy as np

import anyshape
from anyshape import ShapeDtypeStruct as Spec

PIECES = ("n", "", "min", "max", "floordiv", "mod", "broadcast", "==", "!=", ">=", "guard", "constraint", "float64",
          "complex128", "leaf", "dict", "sin", "add", "full", "slice", "put_add", "reshape", "__import__('os')",
          "x\nimport os", "a" * 20_000, "\x1b[2J", "axis", "variable", "size", "left", "-0x1.8p+1", "nan")  # fmt: skip
NUMBERS = (0, 1, -1, 2, 3, 7, 63, 64, 65, 1000, 10**6, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 10**300)


def contents(data):
    """Return the members of a file by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members, compress=zipfile.ZIP_STORED):
    """Return the bytes of an archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED if name == "program.json" else compress)
    return out.getvalue()


def canonical(x):
    return json.dumps(x, sort_keys=True, separators=(",", ":")).encode()


def rewritten(data, change):
    """Return the file with a changed program and matching digests; `change` edits the program or returns a new one."""
    members = contents(data)
    document = json.loads(members["program.json"])
    program = document["program"]
    program = change(program) or program
    document["program"], document["digest"] = program, hashlib.sha256(canonical(program)).hexdigest()
    members["program.json"] = canonical(document)
    return packed(members)


def containers(x):
    """Yield every container of the data with each of its keys."""
    for key in x if isinstance(x, dict) else range(len(x)) if isinstance(x, list) else ():
        yield x, key
        yield from containers(x[key])


def mutated(rng, program):
    """Return the program with one to three changes: numbers, words, parts dropped, doubled, moved or nested."""
    program = copy.deepcopy(program)
    for _ in range(rng.integers(1, 4)):
        entries = list(containers(program))
        target, key = entries[rng.integers(len(entries))]
        source, other = entries[rng.integers(len(entries))]
        change(rng, target, key, source[other])
    return program


def change(rng, target, key, other):
    """Change one entry of a container at random; `other` is a part of the program to copy."""
    kind = rng.integers(8)
    if kind == 0:
        target[key] = NUMBERS[rng.integers(len(NUMBERS))]
    elif kind == 1:
        target[key] = PIECES[rng.integers(len(PIECES))]
    elif kind == 2 and isinstance(target[key], int):
        target[key] += int(rng.integers(-2, 3))
    elif kind == 3:
        del target[key]
    elif kind == 4 and isinstance(target, list):
        target.insert(key, copy.deepcopy(target[key]))
    elif kind == 5:
        target[key] = copy.deepcopy(other)
    elif kind == 6:
        target[key] = [target[key]] if rng.integers(2) else {"size": target[key]}
    elif isinstance(target, list):
        rng.shuffle(target)


def damaged(rng, data):
    """Return the bytes with some flipped, cut off, inserted, doubled or set to zero."""
    kind = rng.integers(6)
    at, to = sorted(map(int, rng.integers(0, len(data), 2)))
    if kind == 0:
        flipped = bytearray(data)
        for i in rng.integers(0, len(data), rng.integers(1, 4)):
            flipped[i] ^= 1 << int(rng.integers(8))
        return bytes(flipped)
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + rng.bytes(int(rng.integers(1, 30))) + data[at:]
    if kind == 3:
        return data[:to] + data[at:]
    if kind == 4:
        return data[:at] + bytes(to - at) + data[to:]
    return data[:at] + data[to:]


class Rows(NamedTuple):
    """Class that a file names."""

    rows: object


def specimens():
    """Return programs that cover the parts of the format, with arguments to run them on."""

    def first(x, w, k):
        head = np.where(x[:k] > 0.5, np.tanh(x[:k] @ w), -np.inf)
        return {"head": head, "rest": (np.sort(x, axis=0), None, [np.take(x, np.array([0, -1]), axis=0)])}

    def second(x, scale):
        z = (x * (1 + 2j)).reshape(-1, 3)
        return z.sum(0) * scale, anyshape.numpy.arange(x.shape[0] // 2, like=x), np.cumsum(x[::-2]) ** 3

    table = np.arange(12.0).reshape(4, 3)

    def third(x, y):
        return Rows(np.concatenate([x @ table.T, y.T], axis=0)[1:])

    rng = np.random.default_rng(0)
    pair = anyshape.symbolic_args_specs((np.ones((4, 3)), np.ones((4, 2))), ("a*a, 3", "4, b"), ["b >= 1", "a >= b"])
    by_value = anyshape.export(first)(Spec("n, d"), Spec("d, 3"), Spec((), int, value="k"))
    return [
        (by_value, (rng.random((4, 3)), rng.random((3, 3)), 2)),
        (anyshape.export(second)(Spec("3*m"), np.float64(2)), (rng.random(9), 2.0)),
        (anyshape.export(third)(*pair), (rng.random((4, 3)), rng.random((4, 2)))),
        (anyshape.export(ruled)(Spec("n")), (rng.random(3),)),
    ]


@anyshape.custom_jvp
def _scaled(x, y):
    return x * y


_scaled.defjvps(lambda t, out, x, y: t * y * np.array([1.0, 2.0]), lambda t, out, x, y: _scaled(t, x))


@anyshape.custom_vjp
def _summed(x):
    return np.sum(x)


_summed.defvjp(lambda x: (_summed(x), np.cos(x)), lambda r, ct: (ct * r,))


def ruled(x):
    """Have rules of derivatives, with a constant."""
    return _summed(_scaled(x[:2], 1 + x[1:3]))


def slope(program, args):
    """Return the derivative of a program with rules."""
    return anyshape.grad(lambda *xs: np.sum(program(*xs)))(*args)


def saved(program):
    out = io.BytesIO()
    program.save(out)
    return out.getvalue()
