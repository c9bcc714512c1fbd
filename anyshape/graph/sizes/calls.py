"""Calls in size expressions: floordiv, mod, max, min and broadcast of sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from anyshape.graph.sizes.intervals import CALL_BOUNDS, Bound
from anyshape.graph.sizes.limits import check_limit
from anyshape.graph.sizes.printing import show_call
from anyshape.graph.sizes.symbols import Interned

if TYPE_CHECKING:
    from anyshape.graph.sizes.expr import Size


class Call(Interned):
    """Interned application of a function to sizes: an atom of the polynomial around it."""

    __slots__ = ("_key", "args", "depth", "function", "interval", "nodes")
    _instances: WeakValueDictionary[tuple[Any, ...], Call] = WeakValueDictionary()

    function: str
    args: tuple[Size, ...]
    interval: tuple[Bound, Bound]
    depth: int  # of calls within calls
    nodes: int  # number of nodes of the expression written out
    _key: tuple[Any, ...] | None

    def __new__(cls, function: str, args: tuple[Size, ...]) -> Call:
        interned = cls._instances.get((function, *args))
        if interned is not None:
            return interned
        self = super().__new__(cls)
        self.function, self.args, self._key = function, args, None
        operands = [a for a in args if not isinstance(a, int)]
        self.depth = 1 + max([a.depth for a in operands], default=0)
        self.nodes = 1 + len(args) + sum([a.nodes for a in operands])
        check_limit("calls within calls", self.depth)
        check_limit("nodes", self.nodes)
        self.interval = CALL_BOUNDS[function](*[(a, a) if isinstance(a, int) else a.bounds() for a in args])
        return cls._instances.setdefault((function, *args), self)

    def __reduce__(self) -> Any:
        return Call, (self.function, self.args)

    def __repr__(self) -> str:
        return show_call(self, str)

    def bounds(self) -> tuple[Bound, Bound]:
        return self.interval

    def sort_key(self) -> tuple[Any, ...]:
        if self._key is None:  # memoised, as operands are shared: else the work doubles with each level of nesting
            args = tuple([(0, a) if isinstance(a, int) else (1, a.sort_key()) for a in self.args])
            self._key = (1, self.function, args)
        return self._key
