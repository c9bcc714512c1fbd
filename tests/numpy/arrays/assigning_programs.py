"""Random functions that assign in place: to arrays, views and views of views, by keys, operators and functions."""

import random

import numpy as np

_MATRIX_KEYS = ("[1:]", "[::2]", "[::-1]", "[1:, ::2]", "[..., 0:2]", "[:, ::-1]", "[0:1]", "[None]", "[:, 1]", "[-1]")
_VECTOR_KEYS = ("[1:]", "[::2]", "[::-1]", "[:2]", "[None]", "[-2:]")
_VIEWS = ("{n}{k}", "{n}{k}", "{n}{k}", "{n}.T", "np.flip({n})", "np.expand_dims({n}, 0)", "{n}.copy()", "{n} * v")
_WRITES = (
    "{n}{k} = {s}", "{n}{k} = {s}", "{n} {op} {s}", "{n}{k} {op} {s}", "{n}[...] = {n} * {s}", "{n}[{n} > v] = {s}",
    "np.multiply({n}, v, out={n})", "{n}[[0, -1]] = {s}", "np.add.at({n}, [0, 0, -1], v)", "{n}.fill({s})",
    "np.copyto({n}, {n} * 2, where={n} > v)", "{n}.sort()", "np.put({n}, [0, 1], [2.5, 1.5])", "{n}.flat[1:3] = v",
    "np.putmask({n}, {n} > v, {s})", "np.add({n}, v, out={n}, where={n} > 0)",
)  # fmt: skip
SHAPES = {1: ((6,), (4,), (9,)), 2: ((5, 6), (3, 4), (7, 2))}


def program(seed):
    """The source of a function of an array and a number, and the number of axes of the array."""
    rng = random.Random(seed)
    rank = rng.choice((1, 2))
    keys = _VECTOR_KEYS if rank == 1 else _MATRIX_KEYS
    names, lines = ["a"], ["def f(x, v):", f"    a = {rng.choice(('x * 1.0', 'x.copy()', 'np.zeros_like(x) + x'))}"]
    for i in range(rng.randint(3, 9)):
        scalar = rng.choice(("2.0", "v", "v", f"{rng.choice(names)}.mean()"))
        parts = {"n": rng.choice(names), "k": rng.choice(keys), "s": scalar, "op": rng.choice(("+=", "*=", "-="))}
        if rng.random() < 0.4:
            lines.append(f"    w{i} = {rng.choice(_VIEWS).format(**parts)}")
            names.append(f"w{i}")
        else:
            lines.append("    " + rng.choice(_WRITES).format(**parts))
    lines.append("    return " + " + ".join(f"({n} * {n}).sum() * {i + 1}" for i, n in enumerate(names)))
    return "\n".join(lines), rank


def function_of(source):
    """The function that a source defines."""
    space = {"np": np}
    exec(source, space)
    return space["f"]
