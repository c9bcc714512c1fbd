"""Explain a cache miss: the first guard that fails, or the arguments that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.errors import ShapeError
from anyshape.graph.ir.draw_order import DRAWING
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.signature.prologue import Prologue, compile_prologue, direct_input
from anyshape.graph.sizes.evaluate import values_from
from anyshape.graph.sizes.expr import DimVar, InputAxis
from anyshape.inspect.explain.data import Reason
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.lazy_namedtuple import NamedTuple
from anyshape.tracing.captured.code_origin import ATOMS, is_scalar
from anyshape.tracing.captured.state import CapturedState, static_state
from anyshape.tracing.display_names import DisplayNames, show_call, show_order, show_tree, tree_difference
from anyshape.tracing.pytrees import Order, named, same_but_for_order, unflatten
from anyshape.tracing.tree_nodes import has_settings, settings_by_path

if TYPE_CHECKING:
    from anyshape.program.program import Program

_MAX_CHARACTERS = 200  # of a value in an explanation
_DISTANCES = {"structure": 1000, "rank": 2}  # 1 for other kinds of reasons


class Key(NamedTuple):
    """Key of the cache; it holds no size."""

    tree: Any
    static: tuple[Any, ...]
    leaves: tuple[tuple[Any, ...], ...]  # by `leaf_key`
    keys: tuple[Any, ...] = ()  # of dicts, if some are not texts: 1 and True are equal in `tree`
    order: Order = Order.KEYS  # of keys and keywords, as far as the function sees it


def distance(reasons: Sequence[Reason]) -> int:
    """Measure how far a program is from serving a call, to find the most similar one."""
    return sum(_DISTANCES.get(r.kind, 1) for r in reasons)


@dataclass(frozen=True)
class ReasonList:
    """Reasons as one text for a log line, formatted only if the line is logged."""

    reasons: Sequence[Reason]

    def __str__(self) -> str:
        return "; ".join(f"program {r.program}: {r}" for r in self.reasons) or "there was no program yet"


@dataclass(frozen=True)
class Arguments:
    """Arguments of one call: their key, leaves and static values, and the names of the parameters."""

    key: Key
    arrays: Sequence[Any]
    static: Mapping[int | str, Any]
    names: Sequence[str]

    def static_state(self, state: CapturedState) -> CapturedState | None:
        """Return what a function and static arguments reach together, None if none of these can change in place."""
        values = {name: x for name, x in self.settings().items() if not _is_atom(x)}
        return static_state(state, values) if values else None

    def settings(self) -> dict[str, Any]:
        """Return static arguments and settings inside of others, by name or path."""
        static = {self.static_name(position): x for position, x in self.static.items()}
        if not has_settings(self.key.tree):
            return static
        inside = settings_by_path(*unflatten(self.key.tree, range(self.key.tree.num_leaves)))
        return static | {named(path, self.names): x for path, x in inside.items()}

    def function_made_anew(self, others: Sequence[Arguments]) -> str:
        """Return the name of a function that others got with the same code as another object, at least twice."""
        for name, x in self.settings().items():
            code = getattr(x, "__code__", None)
            if code is not None:
                functions = [other.settings().get(name) for other in others]
                if len({id(f) for f in functions if f is not x and getattr(f, "__code__", None) is code}) > 1:
                    return name
        return ""

    def static_name(self, position: int | str) -> str:
        """Return the parameter of a static argument."""
        if isinstance(position, str):
            return position
        return self.names[position] if position < len(self.names) else f"args[{position}]"


def different_arguments(number: int, program: Program, made_for: Arguments, call: Arguments) -> Iterator[Reason]:
    """List how the keys of two calls differ: in structure, or else in static values and leaves."""
    before, now = made_for.key, call.key
    if before.tree != now.tree or before.keys != now.keys:
        yield _different_structure(number, made_for, call)
        return
    frozen_before, frozen_now = dict(before.static), dict(now.static)
    for position in dict.fromkeys([*frozen_before, *frozen_now]):  # equal structures: None stands where one is absent
        if frozen_before.get(position) != frozen_now.get(position):
            was, is_now = (shorten(repr(a.static.get(position))) for a in (made_for, call))
            yield Reason("static", call.static_name(position), was, is_now, number)
    for path, old, new in zip(program.trace.labels, before.leaves, now.leaves, strict=True):
        yield from _different_leaf(number, path, old, new)


def _is_atom(x: Any) -> bool:
    """Return True for a value that never changes, at any depth."""
    return type(x) in ATOMS or is_scalar(x) or (type(x) in (tuple, frozenset) and all(map(_is_atom, x)))


def _different_structure(number: int, made_for: Arguments, call: Arguments) -> Reason:
    path, old, new = tree_difference(made_for.key.tree, call.key.tree, call.names)
    if old != new and same_but_for_order(old, new):
        was, is_now = show_order(*((old, new) if path else (old.child(1), new.child(1))))
        return Reason("order", path or "the keywords", shorten(was), shorten(is_now), number)
    was, is_now = show_tree(old), show_tree(new)
    if not path:
        was, is_now = (show_call(a.key.tree, call.names, a.static) for a in (made_for, call))
    return Reason("structure", path or "the arguments", shorten(was), shorten(is_now), number)


def _different_leaf(number: int, path: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> Iterator[Reason]:
    kinds = {_class(old), _class(new)}
    if len(kinds) == 2 and (old[1] == new[1] or not kinds <= {np.ndarray, np.generic}):
        yield Reason("number", path, leaf_kind(old), leaf_kind(new), number)
        return
    for kind, a, b in zip(("dtype", "rank"), old, new, strict=False):
        if a != b:
            yield Reason(kind, path, str(a), str(b), number)


def failed_guard(
    number: int, program: Program, names: DisplayNames, sizes: Mapping[DimVar, int], arrays: Sequence[Any]
) -> Iterator[Reason]:
    """Yield the first guard that the sizes of a call break: there Python would take another path."""
    now = _sizes(program.prologue, arrays)
    for guard in program.guards:
        if not _holds(guard.claim, now):
            was, is_now = (names.values(guard.claim.variables(), values) for values in (sizes, now))
            yield Reason("guard", names.claim(guard.claim), was, is_now, number, guard.where)
            return


def failed_layouts(number: int, program: Program, arrays: Sequence[Any]) -> Iterator[Reason]:
    """Yield the arguments that lie in memory in another way, so that writes would not reach the same."""
    for i, was, now in program.trace.other_layouts(arrays):
        yield Reason("layout", program.labels[i], was, now, number)


def _sizes(prologue: Prologue, arrays: Sequence[Any]) -> Mapping[DimVar, int]:
    """Return the sizes of a call, read off the axes where that suffices: compiling a solver takes longer."""
    sources = [(s.variable, direct_input(s)) for s in prologue.bindings]
    if all(isinstance(source, InputAxis) for _, source in sources):
        return {v: arrays[s.operand].shape[s.axis] for v, s in sources if isinstance(s, InputAxis)}
    return compile_prologue(prologue, arrays=True)(*arrays)


def broken_claims(program: Program, names: DisplayNames, arrays: Sequence[Any]) -> list[str]:
    """List the assertions and constraints of a program that a call breaks, so that it is an error."""
    now = compile_prologue(program.prologue, arrays=True)(*arrays)  # raises for broken declarations, like a call
    stated = [c for c in program.graph.conditions if c.kind in ("assertion", "constraint")]
    known = [c.claim for c in stated if all(v in now for v in c.claim.variables())]  # excludes run-time sizes
    broken = [claim for claim in known if not _holds(claim, now)]
    return [f"{names.claim(claim)} does not hold for {names.values(claim.variables(), now)}" for claim in broken]


def _holds(claim: Claim, sizes: Mapping[DimVar, int]) -> bool:
    """Return True if the claim holds; one that divides by zero does not."""
    try:
        return claim.holds(values_from(sizes))
    except (ZeroDivisionError, ShapeError):
        return False


def leaf_key(array: np.ndarray, number: type | None = None) -> tuple[Any, ...]:
    """Return the dtype and rank of a leaf, and the class of one without axes, which a function can ask for.

    It is that of a Python number, `np.generic` for a scalar of NumPy, or `np.ndarray`.
    """
    return (array.dtype, array.ndim) if array.ndim else (array.dtype, 0, number or np.ndarray)


def _class(leaf: tuple[Any, ...]) -> type:
    return leaf[2] if len(leaf) > 2 else np.ndarray


def leaf_kind(leaf: tuple[Any, ...]) -> str:
    """Describe a leaf of a key as an array, a scalar of NumPy or a Python number."""
    kind, dtype = _class(leaf), np.dtype(leaf[0])
    if kind in DRAWING:
        return "a random generator" if kind is np.random.Generator else "a RandomState"
    scalar = f"a NumPy {dtype}" if kind is np.generic else f"a Python {kind.__name__}"
    return f"an array of {dtype}" if kind is np.ndarray else scalar


def describe_number(leaf: tuple[Any, ...]) -> str:
    """Describe a leaf of a key other than an array; return an empty text for an array."""
    return "" if _class(leaf) is np.ndarray else leaf_kind(leaf)


def shorten(text: str) -> str:
    """Return the text, or the beginning of a long one."""
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."
