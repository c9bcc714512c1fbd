"""Calls in size expressions: floordiv, mod, max, min and broadcast of sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from anyshape.graph.sizes import polynomial_residues
from anyshape.graph.sizes.intervals import CALL_BOUNDS, Interval
from anyshape.graph.sizes.limits import check_limit
from anyshape.graph.sizes.printing import show_call
from anyshape.graph.sizes.symbols import Interned

if TYPE_CHECKING:
    from anyshape.graph.sizes.expr import Size


class Call(Interned):
    """Interned application of a function to sizes: an atom of the polynomial around it."""

    __slots__ = ("_key", "args", "broadcasts", "depth", "divides", "function", "interval", "merges", "nodes")
    _instances: WeakValueDictionary[tuple[Any, ...], Call] = WeakValueDictionary()

    function: str
    args: tuple[Size, ...]
    interval: Interval
    depth: int  # of calls within calls
    nodes: int  # number of nodes of the expression written out
    divides: bool  # contains a quotient or remainder by a size that is not a constant
    merges: bool  # a sum with multiples of it may be simpler without it
    broadcasts: bool  # is or contains a broadcast
    _key: tuple[Any, ...] | None

    def __new__(cls, function: str, args: tuple[Size, ...]) -> Call:
        interned = cls._instances.get((function, *args))
        if interned is not None:
            return interned
        self = super().__new__(cls)
        self.function, self.args, self._key = function, args, None
        depth, nodes, divides, broadcasts = 0, 1 + len(args), False, function == "broadcast"
        intervals: list[Interval] = []
        for size in args:
            if isinstance(size, int):
                intervals.append((size, size))
                continue
            depth, nodes = max(depth, size.depth), nodes + size.nodes
            divides |= size.divides
            broadcasts |= size.broadcasts
            intervals.append(size.bounds())
        self.depth, self.nodes = depth + 1, nodes
        check_limit("calls within calls", self.depth)
        check_limit("nodes", nodes)
        self.interval = CALL_BOUNDS[function](*intervals)
        self.divides, self.merges, self.broadcasts = divides, function == "mod", broadcasts
        if function in ("floordiv", "mod"):
            self._note_division()
        return cls._instances.setdefault((function, *args), self)

    def _note_division(self) -> None:
        """Note facts about a quotient or remainder. A polynomial with powers does not have all residues."""
        dividend, divisor = self.args
        if not isinstance(divisor, int):
            self.divides = True
        elif divisor < 1 or isinstance(dividend, int) or not dividend.has_powers:
            return
        elif self.function == "floordiv":
            self.merges = polynomial_residues.canonical(dict(dividend.terms), divisor) != dict(dividend.terms)
        else:
            low, high = polynomial_residues.range_of_residues(dict(dividend.terms), divisor)
            before = self.interval[1]
            self.interval = low, high if before is None else min(before, high)

    def __reduce__(self) -> Any:
        return Call, (self.function, self.args)

    def __repr__(self) -> str:
        return show_call(self, str)

    def sort_key(self) -> tuple[Any, ...]:
        if self._key is None:  # memoised, as operands are shared: else the work doubles with each level of nesting
            args = tuple([(0, a) if isinstance(a, int) else (1, a.sort_key()) for a in self.args])
            self._key = (1, self.function, args)
        return self._key
