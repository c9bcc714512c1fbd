"""The leaves of sizes: an unknown size, and the size of an operand, by its axis or by its value."""

from __future__ import annotations

import functools
import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar
from weakref import WeakValueDictionary

from anyshape.graph.sizes.intervals import Bound

_PROCESS = secrets.token_hex(4)  # variables of other processes keep an identity of their own
_COUNTER = itertools.count()


_Function = TypeVar("_Function", bound=Callable[..., Any])


def remembered(function: _Function) -> _Function:
    """A function of interned sizes that looks up what it has computed before."""
    return functools.lru_cache(maxsize=1 << 14)(function)  # type: ignore[return-value]


class Interned:
    """Equal instances are one object, also when they are copied."""

    __slots__ = ("__weakref__",)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class DimVar(Interned):
    """One unknown size. Two variables of one name differ; a pickled variable keeps its identity.

    It prints as its `label`, which is its name unless it is to be told apart from another of that name.
    """

    __slots__ = ("label", "lower", "name", "uid", "upper")
    _known: WeakValueDictionary[tuple[str, int], DimVar] = WeakValueDictionary()

    name: str
    lower: int
    upper: Bound
    uid: tuple[str, int]
    label: str

    def __new__(
        cls, name: str, lower: int = 0, upper: Bound = None, uid: tuple[str, int] | None = None, label: str = ""
    ) -> DimVar:
        found = cls._known.get(uid) if uid is not None else None
        if found is not None:
            return found
        self = super().__new__(cls)
        self.name, self.lower, self.upper = name, lower, upper
        self.label = label or name
        self.uid = uid if uid is not None else (_PROCESS, next(_COUNTER))
        cls._known[self.uid] = self
        return self

    def __reduce__(self) -> Any:
        return DimVar, (self.name, self.lower, self.upper, self.uid, self.label)

    def __repr__(self) -> str:
        return self.label

    def bounds(self) -> tuple[Bound, Bound]:
        return self.lower, self.upper

    def sort_key(self) -> tuple[Any, ...]:
        return 0, self.name, self.uid


@dataclass(frozen=True, slots=True)
class InputAxis:
    """Op-local leaf: the size of an axis of an operand of the node that holds it."""

    operand: int
    axis: int

    def __repr__(self) -> str:
        return f"in{self.operand}.shape[{self.axis}]"

    def bounds(self) -> tuple[Bound, Bound]:
        return 0, None

    def sort_key(self) -> tuple[Any, ...]:
        return 0, "", (str(self.operand), self.axis)


@dataclass(frozen=True, slots=True)
class RuntimeScalar:
    """Op-local leaf: the value of a scalar operand, read as a size. `semantics` names the rounding of floats."""

    operand: int
    semantics: str = "round"

    def __repr__(self) -> str:
        return f"size(in{self.operand})"

    def bounds(self) -> tuple[Bound, Bound]:
        return None, None

    def sort_key(self) -> tuple[Any, ...]:
        return 0, "", (self.semantics, self.operand)
