"""Functions with derivatives and batches of them, specifications of several kinds, and what their programs answer."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

import anyshape
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct
from anyshape.errors import AnyshapeError
from tests.laws.random_programs import NAMES, seeded_program, size_combinations
from tests.laws.sweep import arrays_of, few_combinations, in_namespace, rows

KINDS = {
    "as written": lambda word, axis: word,
    "free": lambda word, axis: word if word.isdigit() else axis,
    "shifted": lambda word, axis: word if word.isdigit() else f"{word} + 1",
    "doubled": lambda word, axis: word if word.isdigit() else f"2*{word}",
}


@dataclass(frozen=True)
class Case:
    """A function of arrays, the words of their shapes, and arrays at several sizes; `loops`: whether vmap takes it."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[str, ...], ...]
    calls: tuple[tuple[np.ndarray, ...], ...]
    loops: bool = True


def sample_cases():
    """Return a case for each row of tests/samples that can be saved."""
    return [_of_row(family, row) for family, row in rows() if "unsaved" not in row.tags]


def _of_row(family, row):
    calls = tuple([tuple(arrays_of(row, sizes, row.dtypes[0])) for sizes in few_combinations(row)])
    words = [tuple(w.strip() for w in s.split(",") if w.strip()) for s in row.shapes]
    ranked = [w if len(w) == x.ndim else tuple(map(str, x.shape)) for w, x in zip(words, calls[0], strict=True)]
    return Case(f"{family}-{row.name}", in_namespace(row, anp), tuple(ranked), calls, row.vmap)


def random_case(seed):
    """Return the case of a random program."""
    program = seeded_program(seed)
    calls = tuple([tuple(np.asarray(x) for x in program.arrays(sizes)) for sizes in size_combinations(seed)[:5]])
    shapes = tuple([tuple(str(s) for s in shape) for shape, _ in program.inputs])
    assert set(NAMES) >= {w for words in shapes for w in words if not w.isdigit()}
    return Case(f"random-{seed}", program.within(anp), shapes, calls)


# -- what is derived from a function


def inexact(tree):
    return [y for y in optree.tree_leaves(tree) if getattr(y, "dtype", None) is not None and y.dtype.kind in "fc"]


def variants(case):
    """Return the function, its derivatives and their batches by name. Each is a function of the same arrays."""
    flags, function_of_all = tuple(x.dtype.kind in "fc" for x in case.calls[0]), case.function

    def split(xs):
        return [x for x, flag in zip(xs, flags, strict=True) if flag], xs

    def of_moving(xs):
        def function(*moving):
            rest = iter(moving)
            return inexact(function_of_all(*[next(rest) if flag else x for x, flag in zip(xs, flags, strict=True)]))

        return function

    def loss(xs):
        return lambda moving: sum([anp.sum(anp.real(anp.sin(y))) for y in of_moving(xs)(*moving)], 0.0)

    def gradient(*xs):
        return anyshape.grad(loss(xs))(split(xs)[0])

    def jvp(*xs):
        moving = split(xs)[0]
        return anyshape.jvp(of_moving(xs), tuple(moving), tuple(uneven(x) for x in moving))

    def vjp(*xs):
        ys, back = anyshape.vjp(of_moving(xs), *split(xs)[0])
        return back([uneven(y) for y in ys])

    def hessian(*xs):
        first, *others = split(xs)[0]
        return anyshape.hessian(lambda x: loss(xs)([x, *others]))(first)

    derived = {"grad": gradient, "jvp": jvp, "vjp": vjp, "hessian": hessian} if any(flags) else {}
    derived = {"value": function_of_all, **derived}
    batched = {f"vmap {name}": anyshape.vmap(f) for name, f in derived.items()} if case.loops else {}
    return derived | batched


def uneven(x):
    """Return a direction that differs from element to element."""
    return anp.cos(anp.real(x)).astype(x.dtype)


def specifications(case, kind, batched):
    specs = []
    for i, (words, x) in enumerate(zip(case.shapes, case.calls[0], strict=True)):
        shape = [KINDS[kind](word, f"s{i}_{axis}") for axis, word in enumerate(words)]
        specs.append(ShapeDtypeStruct(", ".join(["batch"] * batched + shape), x.dtype))
    return specs


# -- programs and their answers


def traced(case, variant, function, kind):
    """Return the program for specifications of a kind, or None if the function has none for them."""
    try:
        with np.errstate(all="ignore"):
            return anyshape.trace(function)(*specifications(case, kind, variant.startswith("vmap")))
    except (AnyshapeError, ZeroDivisionError):
        return None


def saved(program):
    program.save(file := io.BytesIO())
    return file.getvalue()


def calls_of(case, variant):
    """Return the arguments of each call; a batch has two examples."""
    return [[np.stack([x, x]) if variant.startswith("vmap") else x for x in xs] for xs in case.calls]


def answer(program, xs):
    """Return the results of a call, or the class of its error and its sizes; its text may quote the source."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return [np.asarray(y) for y in optree.tree_leaves(program(*[x.copy() for x in xs]))]
    except Exception as error:
        return type(error).__name__, repr(getattr(error, "sizes", None))
