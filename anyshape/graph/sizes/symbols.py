"""Symbols, the leaves of size expressions: unknown sizes, and sizes of operands, by axis or by value."""

from __future__ import annotations

import functools
import itertools
import secrets
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from anyshape.graph.sizes.intervals import Bound, Interval
from anyshape.support.lazy_dataclass import dataclass

_PROCESS = secrets.token_hex(4)  # variables of other processes keep an identity of their own
_COUNTER = itertools.count()


_Function = TypeVar("_Function", bound=Callable[..., Any])


def memoised(function: _Function) -> _Function:
    """Memoise a function of interned sizes."""
    return functools.lru_cache(maxsize=1 << 14)(function)  # type: ignore[return-value]


class Interned:
    """Base of interned classes: equal instances are one object, and copying returns that object."""

    __slots__ = ("__weakref__",)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class DimVar(Interned):
    """Dimension variable: an unknown size, with identity, name and bounds. Two variables of one name differ.

    A pickled variable keeps its identity. It prints as its `label`: its name, or a text that distinguishes it from
    another variable of that name.
    """

    __slots__ = ("interval", "label", "lower", "name", "uid", "upper")
    _instances: WeakValueDictionary[tuple[str, int], DimVar] = WeakValueDictionary()

    name: str
    lower: int
    upper: Bound
    interval: Interval
    uid: tuple[str, int]
    label: str

    def __new__(
        cls, name: str, lower: int = 0, upper: Bound = None, uid: tuple[str, int] | None = None, label: str = ""
    ) -> DimVar:
        interned = cls._instances.get(uid) if uid is not None else None
        if interned is not None:
            return interned
        self = super().__new__(cls)
        self.name, self.lower, self.upper, self.interval = name, lower, upper, (lower, upper)
        self.label = label or name
        self.uid = uid if uid is not None else (_PROCESS, next(_COUNTER))
        cls._instances[self.uid] = self
        return self

    def __reduce__(self) -> Any:
        return DimVar, (self.name, self.lower, self.upper, self.uid, self.label)

    def __repr__(self) -> str:
        return self.label

    def sort_key(self) -> tuple[Any, ...]:
        return 0, self.name, self.uid


@dataclass(frozen=True, slots=True)
class InputAxis:
    """Op-local leaf: the size of an axis of an operand of the node that holds it."""

    operand: int
    axis: int
    interval: ClassVar[Interval] = (0, None)

    def __repr__(self) -> str:
        return f"in{self.operand}.shape[{self.axis}]"

    def sort_key(self) -> tuple[Any, ...]:
        return 0, "", (str(self.operand), self.axis)


@dataclass(frozen=True, slots=True)
class RuntimeScalar:
    """Op-local leaf: the value of a scalar operand, read as a size. `semantics` names the rounding of floats."""

    operand: int
    semantics: str = "round"
    interval: ClassVar[Interval] = (None, None)

    def __repr__(self) -> str:
        return f"size(in{self.operand})"

    def sort_key(self) -> tuple[Any, ...]:
        return 0, "", (self.semantics, self.operand)


Leaf: TypeAlias = DimVar | InputAxis | RuntimeScalar
