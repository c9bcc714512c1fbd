"""Random programs in plain NumPy: plain data that prints, shrinks, and runs on any namespace.

A program is made while it runs on a small example. A step is added only where NumPy accepts it for these sizes. At
other sizes NumPy may refuse; then the traced program must too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

NAMES = ("n", "m", "k")
EXAMPLES = ((2, 3, 5), (3, 3, 3), (1, 3, 2), (3, 1, 3), (4, 2, 2))
SHAPES = (
    ("n",), ("n", "m"), ("m", "n"), ("n", "m"), ("m", "k"), ("k", "n"), ("n", "m", "k"), ("n", 1), (1, "m"),
    ("m",), ("k", "n", "n"), (3, "n"), (), ("n", "n"),
)  # fmt: skip
DTYPES = ("float64", "float64", "float32", "int64", "bool", "complex128")


class Choices:
    """Decisions drawn by Hypothesis, or by a random generator."""

    def __init__(self, integer: Callable[[int], int]) -> None:
        self.integer = integer

    def one(self, options):
        options = list(options)
        return options[self.integer(len(options))]


@dataclass(frozen=True)
class Step:
    """One call: a row of TABLE, the values it reads, and its literal arguments."""

    name: str
    operands: tuple[int, ...]
    arguments: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join([*(f'v{i}' for i in self.operands), *map(repr, self.arguments)])})"


@dataclass(frozen=True)
class Program:
    """Inputs (shape of names and numbers, dtype), steps, the values that are returned, and the table of its rows."""

    inputs: tuple[tuple[tuple[Any, ...], str], ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    table: dict[str, Any] | None = field(default=None, compare=False)  # None: TABLE

    def __call__(self, namespace, *arrays):
        return self.within(namespace)(*arrays)

    def within(self, namespace):
        """The program as a function of its arrays that reaches nothing else of it: each trace walks over that."""
        rows, outputs = TABLE if self.table is None else self.table, self.outputs
        steps = tuple((rows[step.name].run, step.operands, step.arguments) for step in self.steps)

        def run(*arrays):
            values = list(arrays)
            for function, operands, arguments in steps:
                values.append(function(namespace, *[values[i] for i in operands], *arguments))
            return [values[i] for i in outputs]

        return run

    def __str__(self) -> str:
        heads = [f"v{i}: {d}[{', '.join(map(str, s))}]" for i, (s, d) in enumerate(self.inputs)]
        body = [f"v{len(heads) + i} = {s}" for i, s in enumerate(self.steps)]
        return "\n".join([*heads, *body, f"return {', '.join(f'v{i}' for i in self.outputs)}"])

    __repr__ = __str__

    def arrays(self, sizes, seed=0):
        """Inputs at these sizes, within [-2, 2]."""
        rng = np.random.default_rng(seed)
        return [draw_array(rng, tuple(sizes.get(s, s) for s in shape), dtype) for shape, dtype in self.inputs]


def draw_array(rng, shape, dtype):
    values = rng.uniform(-2, 2, size=shape)
    if dtype == "complex128":
        values = values + 1j * rng.uniform(-2, 2, size=shape)
    return np.asarray(values > 0 if dtype == "bool" else values).astype(dtype)


@dataclass(frozen=True)
class Row:
    """A function of the table: the call, how many values it reads, its literal arguments for given values.

    `smooth`: it has a derivative wherever the checks try it, and keeps double precision.
    """

    run: Callable[..., Any]
    arity: int = 1
    arguments: Callable[..., tuple[Any, ...] | None] = lambda choices, *xs: ()
    smooth: bool = True


def _axis(choices, x, *_):
    return (choices.integer(2 * x.ndim) - x.ndim,) if x.ndim else None


def _axis_and_flag(choices, x):
    return (*_axis(choices, x), bool(choices.integer(2))) if x.ndim else None


def _axes(choices, x):
    if x.ndim < 2:
        return None
    first = choices.integer(x.ndim)
    return ((first, (first + 1 + choices.integer(x.ndim - 1)) % x.ndim),)


def _order(choices, x):
    rest, order = list(range(x.ndim)), []
    while rest:
        order.append(rest.pop(choices.integer(len(rest))))
    return (tuple(order),)


def _needs_rank(rank):
    return lambda choices, x, *others: () if x.ndim >= rank else None


def _scalar(choices, *xs):
    return (choices.one((2, -1, 0.5, 3, True)),)


def _same_rank(choices, x, y):
    return _axis(choices, x) if x.ndim == y.ndim else None


SLICES = (
    slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1), slice(1, 3),
    slice(-2, None), slice(4, 1, -2), slice(0, 0),
)  # fmt: skip


def _slice(choices, x):
    if not x.ndim:
        return None
    axis = choices.integer(x.ndim)
    return ((*[slice(None)] * axis, choices.one(SLICES)),)


def _integer_index(choices, x):
    return (choices.one((0, -1)),) if x.ndim else None


def _cast(choices, x):
    if x.dtype.kind == "c":
        return (choices.one(("complex64", "complex128")),)
    return (choices.one(("float32", "float64", "complex128")),)


def _softmax(np, x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def _normalise(np, x):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1.5)


def _real(choices, *xs):
    return () if all(x.dtype.kind != "c" for x in xs) else None


def _real_axis(choices, x):
    return _axis_and_flag(choices, x) if x.dtype.kind != "c" else None


def _real_rank(choices, x):
    return () if x.ndim and x.dtype.kind != "c" else None


def _where(np, x, y):
    return np.where(np.real(x) > 0.1237, x, y)


# Products and powers go through bounded functions: long programs stay in a range where differences mean much.
TABLE: dict[str, Row] = {
    "tanh": Row(lambda np, x: np.tanh(np.real(x))),
    "sin": Row(lambda np, x: np.sin(np.real(x))),
    "exp": Row(lambda np, x: np.exp(-np.abs(np.real(x)) * 0.5), smooth=False),
    "negative": Row(lambda np, x: -(x * 1)),
    "square": Row(lambda np, x: np.tanh(np.real(x)) ** 2),
    "log": Row(lambda np, x: np.log(np.real(x) * np.real(x) + 1.5)),
    "sqrt": Row(lambda np, x: np.sqrt(np.real(x) ** 2 + 1.5)),
    "absolute": Row(lambda np, x: np.abs(x), smooth=False),
    "conj": Row(lambda np, x: np.conj(x)),
    "times_scalar": Row(lambda np, x, a: x * a, arguments=_scalar),
    "plus_scalar": Row(lambda np, x, a: a + x, arguments=_scalar),
    "divide_by": Row(lambda np, x, a: x / (a + 0.25), arguments=_scalar),
    "add": Row(lambda np, x, y: x + y, 2),
    "subtract": Row(lambda np, x, y: x * 1 - y * 1, 2),
    "multiply": Row(lambda np, x, y: np.sin(x) * np.tanh(np.real(y)), 2, smooth=True),
    "divide": Row(lambda np, x, y: x / (np.real(y) ** 2 + 1.25), 2),
    "maximum": Row(lambda np, x, y: np.maximum(x, y), 2, _real),
    "where": Row(_where, 2),
    "cast": Row(lambda np, x, dtype: x.astype(dtype), arguments=_cast, smooth=False),
    "widen": Row(lambda np, x: np.real(x * (1 + 0.5j))),
    "compare": Row(lambda np, x: np.real(x) > 0.31, smooth=False),
    "sum": Row(lambda np, x, axis, keep: np.sum(x, axis=axis, keepdims=keep), arguments=_axis_and_flag),
    "sum_all": Row(lambda np, x: x.sum()),
    "sum_axes": Row(lambda np, x, axes: np.sum(x, axis=axes), arguments=_axes),
    "mean": Row(lambda np, x, axis, keep: x.mean(axis=axis, keepdims=keep), arguments=_axis_and_flag),
    "max": Row(lambda np, x, axis, keep: np.max(x, axis=axis, keepdims=keep), arguments=_real_axis),
    "var": Row(lambda np, x: np.var(x, axis=-1), arguments=_real_rank),
    "cumsum": Row(lambda np, x, axis: np.cumsum(x, axis=axis), arguments=_axis),
    "softmax": Row(_softmax, arguments=_real_rank),
    "normalise": Row(_normalise, arguments=_real_rank),
    "matmul": Row(lambda np, x, y: np.tanh(np.real(x)) @ np.sin(np.real(y)), 2),
    "gram": Row(lambda np, x: np.sin(np.real(x)) @ np.swapaxes(np.sin(np.real(x)), -1, -2), 1, _needs_rank(2)),
    "outer": Row(lambda np, x, y: np.outer(np.sin(np.real(x)), np.cos(np.real(y))), 2),
    "flatten": Row(lambda np, x: np.reshape(x, -1)),
    "rows": Row(lambda np, x: x.reshape(x.shape[0], -1), 1, _needs_rank(2)),
    "columns": Row(lambda np, x: np.reshape(x, (-1, x.shape[-1])), 1, _needs_rank(2)),
    "permute": Row(lambda np, x, order: np.transpose(x, order), arguments=_order),
    "expand": Row(lambda np, x, axis: np.expand_dims(x, axis), arguments=_axis),
    "new_axis": Row(lambda np, x: x[..., None]),
    "flip": Row(lambda np, x, axis: np.flip(x, axis), arguments=_axis),
    "slice": Row(lambda np, x, key: x[key], arguments=_slice),
    "pick": Row(lambda np, x, i: x[i], arguments=_integer_index),
    "concatenate": Row(lambda np, x, y, axis: np.concatenate([x, y], axis=axis), 2, _same_rank),
    "join_itself": Row(lambda np, x, axis: np.concatenate([x, x * 2], axis=axis), 1, _axis),
    "stack": Row(lambda np, x, axis: np.stack([x, x * 3], axis=axis), 1, _axis),
    "by_size": Row(lambda np, x: x / (x.shape[0] + 1), 1, _needs_rank(1)),
    "ramp": Row(lambda np, x: x + 0.1 * np.arange(x.shape[-1]), 1, _needs_rank(1)),
    "like_ones": Row(lambda np, x: np.ones(x.shape) - x, arguments=_real),
    "half": Row(lambda np, x: x[: x.shape[0] // 2], 1, _needs_rank(1)),
    "all_but_half": Row(lambda np, x: x[..., x.shape[-1] // 2 :], 1, _needs_rank(1)),
    "merge": Row(lambda np, x: x.reshape((x.shape[0] * x.shape[1], *x.shape[2:])), 1, _needs_rank(2)),
    "transposed": Row(lambda np, x: x.T + 0),
    "swap": Row(lambda np, x: np.swapaxes(x, 0, -1), 1, _needs_rank(1)),
    "roll": Row(lambda np, x, axis: np.roll(x, 2, axis=axis), 1, _axis),
    "tile": Row(lambda np, x: np.tile(x, (2, 1))),
    "repeat": Row(lambda np, x, axis: np.repeat(x, 3, axis=axis), 1, _axis),
    "pad": Row(lambda np, x: np.pad(x, 1)),
    # padded: an index out of range is an error of its value, which a program only meets if it uses the result
    "take": Row(lambda np, x, axis: np.take(np.pad(x, 1), [0, -2, 1], axis=axis), 1, _axis),
    "diff": Row(lambda np, x, axis: np.diff(x * 1, axis=axis), 1, _axis),
    "split": Row(lambda np, x, axis: np.split(x, [1, 2], axis=axis)[1], 1, _axis),
    "tril": Row(lambda np, x: np.tril(x), 1, _needs_rank(2)),
    "squeeze_new": Row(lambda np, x: np.squeeze(x[None] * 2, 0)),
    "zeros_beside": Row(lambda np, x: np.concatenate([x, np.zeros((x.shape[0] + 1, *x.shape[1:]))]), 1, _needs_rank(1)),
    "moments": Row(lambda np, x: np.stack([np.min(np.real(x)), np.sqrt(np.var(np.real(x)) + 0.5)])),
    "prod": Row(lambda np, x, axis, keep: np.prod(np.tanh(x), axis=axis, keepdims=keep), 1, _real_axis),
    "einsum": Row(lambda np, x, y: np.einsum("...i,...i->...", np.sin(np.real(x)), np.cos(np.real(y))), 2),
    "tensordot": Row(lambda np, x, y: np.tensordot(np.sin(np.real(x)), np.cos(np.real(y)), 1), 2),
    "clip": Row(lambda np, x: np.clip(x, -0.7, 0.9), 1, _real),
    "minimum": Row(lambda np, x: np.minimum(0.4321, x), 1, _real),
    "choose": Row(lambda np, x, y, z: np.where(np.real(x) > 0.1237, y, z), 3),
    "floor": Row(lambda np, x: np.floor(np.real(x) * 3.3), smooth=False),
    "remainder": Row(lambda np, x: (np.real(x) * 7.7) % 3, smooth=False),
    "integer": Row(lambda np, x: (np.real(x) * 3.1).astype(np.int32), smooth=False),
    "quotient": Row(lambda np, x: (np.real(x) * 3.1).astype(np.int32) // 2, smooth=False),
    "any": Row(
        lambda np, x, axis, keep: np.any(np.real(x) > 0.77, axis=axis, keepdims=keep), 1, _real_axis, smooth=False
    ),
    "count": Row(lambda np, x: np.sum(np.real(x) > 0.77, axis=-1), 1, _needs_rank(1), smooth=False),
    "stretch": Row(lambda np, x: np.broadcast_to(x, (2, *x.shape)) * 1),
}


def random_program(choices, length=7, smooth=False, dtypes=DTYPES, table=TABLE, namespace=np):
    """A program of at most `length` steps that NumPy accepts at the sizes of its example."""
    example = dict(zip(NAMES, choices.one(EXAMPLES), strict=True))
    inputs = tuple((choices.one(SHAPES), choices.one(dtypes)) for _ in range(1 + choices.integer(3)))
    program = Program(inputs, (), ())
    values = [np.asarray(x) for x in program.arrays(example)]
    steps: list[Step] = []
    names = [n for n, row in table.items() if row.smooth or not smooth]
    for _ in range(2 + choices.integer(length - 1)):
        name = choices.one(names)
        made = _try_step(choices, name, table[name], values, namespace)
        if made is not None:
            steps.append(made[0])
            values.append(made[1])
    outputs = (len(values) - 1, choices.integer(len(values)))
    return Program(inputs, tuple(steps), outputs, table)


def _try_step(choices, name, row, values, namespace):
    """A step and its value on the example; None when NumPy refuses a few choices of operands."""
    for _ in range(row.arity + 1):
        operands = tuple(_late(choices, len(values)) for _ in range(row.arity))
        xs = [values[i] for i in operands]
        arguments = row.arguments(choices, *xs)
        if arguments is None:
            continue
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(row.run(namespace, *xs, *arguments))
        except (TypeError, ValueError, IndexError, OverflowError):
            continue
        if value.size <= 2000 and value.ndim <= 4:
            return Step(name, operands, arguments), value
    return None


def _late(choices, count):
    """Later values are likelier, so that programs are deep as well as wide."""
    return max(choices.integer(count), choices.integer(count))


@st.composite
def programs(draw, **options):
    """Random programs as a Hypothesis strategy."""
    return random_program(Choices(lambda n: draw(st.integers(0, n - 1))), **options)


def seeded_program(seed, **options):
    """The random program of a seed."""
    rng = np.random.default_rng(seed)
    return random_program(Choices(lambda n: int(rng.integers(n))), **options)


def size_combinations(seed=0):
    """Sizes at which every program is tried: all equal, and some mixed."""
    rng = np.random.default_rng(seed)
    equal = [(s, s, s) for s in (2, 0, 1, 5)]
    mixed = [tuple(map(int, rng.choice((0, 1, 2, 5), size=3))) for _ in range(5)]
    return [dict(zip(NAMES, p, strict=True)) for p in [*equal, (1, 5, 2), (5, 1, 1), (2, 0, 5), *mixed]]
