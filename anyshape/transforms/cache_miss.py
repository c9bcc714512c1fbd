"""Why a program does not serve a call: the first guard that fails, or what differs in the arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anyshape.errors import ShapeError
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.signature.prologue import Entry, compile_prologue, direct_input
from anyshape.graph.sizes.evaluate import values_from
from anyshape.graph.sizes.expr import DimVar, InputAxis
from anyshape.inspect.explain.data import Reason
from anyshape.program.program import Program
from anyshape.tracing.display_names import DisplayNames, show_call, show_tree, tree_difference

_LONGEST = 200  # characters of a value


class Key(NamedTuple):
    """What programs are looked up by: no size is part of it."""

    tree: Any
    static: tuple[Any, ...]
    leaves: tuple[tuple[Any, ...], ...]  # dtype and rank, and the type of a plain number


def distance(reasons: Sequence[Reason]) -> int:
    """How far a program is from serving a call, to find the one that is most like what is needed."""
    return sum(_FAR.get(r.kind, 1) for r in reasons)


_FAR = {"structure": 1000, "rank": 2}


@dataclass(frozen=True)
class Listed:
    """Reasons as one text, made when it is asked for."""

    reasons: Sequence[Reason]

    def __str__(self) -> str:
        return "; ".join(f"program {r.program}: {r}" for r in self.reasons) or "there was no program yet"


@dataclass(frozen=True)
class Arguments:
    """Of one call: what programs are looked up by, the leaves, static values, and the names of parameters."""

    key: Key
    arrays: Sequence[Any]
    static: Mapping[int | str, Any]
    names: Sequence[str]

    def static_name(self, place: int | str) -> str:
        """A static argument by its parameter."""
        if isinstance(place, str):
            return place
        return self.names[place] if place < len(self.names) else f"args[{place}]"


def different_arguments(number: int, program: Program, made_for: Arguments, call: Arguments) -> Iterator[Reason]:
    """How a call differs in what does not depend on sizes."""
    before, now, names = made_for.key, call.key, call.names
    if before.tree != now.tree:
        path, one, other = tree_difference(before.tree, now.tree, names)
        was, is_now = show_tree(one), show_tree(other)
        if not path:
            was, is_now = (show_call(a.key.tree, names, a.static) for a in (made_for, call))
        yield Reason("structure", path or "the arguments", shorten(was), shorten(is_now), number)
        return
    for (place, *one), (_, *other) in zip(before.static, now.static, strict=True):
        if one != other:
            was, is_now = (shorten(repr(a.static[place])) for a in (made_for, call))
            yield Reason("static", call.static_name(place), was, is_now, number)
    for path, one, other in zip(program.trace.labels, before.leaves, now.leaves, strict=True):
        if one[2:] != other[2:]:
            yield Reason("number", path, number_text(one), number_text(other), number)
            continue
        for kind, a, b in zip(("dtype", "rank"), one, other, strict=False):
            if a != b:
                yield Reason(kind, path, str(a), str(b), number)


def failed_guard(
    number: int, program: Program, words: DisplayNames, sizes: Mapping[DimVar, int], arrays: Sequence[Any]
) -> Iterator[Reason]:
    """The first guard that the sizes of a call break: there Python would have taken another path."""
    now = _sizes(program.prologue, arrays)
    for guard in [c for c in program.graph.conditions if c.kind == "guard"]:
        if not _holds(guard.claim, now):
            was, is_now = (words.values(guard.claim.variables(), at) for at in (sizes, now))
            yield Reason("guard", words.claim(guard.claim), was, is_now, number, guard.where)
            return


def _sizes(entry: Entry, arrays: Sequence[Any]) -> Mapping[DimVar, int]:
    """The sizes of a call; read off where that is all there is to do, as a compiled solver takes longer to make."""
    places = [(s.variable, direct_input(s)) for s in entry.solved]
    if all(isinstance(place, InputAxis) for _, place in places):
        return {v: arrays[p.operand].shape[p.axis] for v, p in places if isinstance(p, InputAxis)}
    return compile_prologue(entry, arrays=True)(*arrays)


def broken_claims(program: Program, words: DisplayNames, arrays: Sequence[Any]) -> list[str]:
    """What a program needs of sizes besides its guards, and these do not satisfy: the call is an error."""
    now = compile_prologue(program.prologue, arrays=True)(*arrays)  # which checks what is declared, as a call does
    stated = [c for c in program.graph.conditions if c.kind in ("assertion", "constraint")]
    known = [c.claim for c in stated if all(v in now for v in c.claim.variables())]  # not of what depends on data
    broken = [claim for claim in known if not _holds(claim, now)]
    return [f"{words.claim(claim)} does not hold for {words.values(claim.variables(), now)}" for claim in broken]


def _holds(claim: Claim, sizes: Mapping[DimVar, int]) -> bool:
    """The claim is true of these sizes; one that has no meaning for them is not."""
    try:
        return claim.holds(values_from(sizes))
    except (ZeroDivisionError, ShapeError):
        return False


def number_text(leaf: tuple[Any, ...]) -> str:
    """What a leaf of a key is: a plain number or an array."""
    return f"a Python {leaf[2].__name__}" if len(leaf) > 2 else f"an array of {np.dtype(leaf[0])}"


def shorten(text: str) -> str:
    """The text, or the beginning of a long one."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
