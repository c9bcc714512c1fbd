"""Classes of sizes that are proved equal: what is proved of one size holds for all of its class."""

from __future__ import annotations

from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimExpr, Size


class EqualClasses:
    """Union-find over sizes. The shortest size of a class stands for it.

    Sizes that divide by a size are left out, as they are undefined where the others are not.
    """

    def __init__(self) -> None:
        self._shorter: dict[Size, Size] = {}  # an equal size, which is shorter or was first

    def copy(self) -> EqualClasses:
        """Return a copy that grows on its own."""
        new = EqualClasses()
        new._shorter = dict(self._shorter)
        return new

    def shortest(self, size: Size) -> Size:
        """Return the shortest size of the class."""
        first = size
        while (shorter := self._shorter.get(size)) is not None:
            size = shorter
        if first is not size:
            self._shorter[first] = size
        return size

    def shortest_inside(self, size: Size) -> Size:
        """Return the shortest size of the class; that of a broadcast has the shortest of its sizes in their places."""
        size = self.shortest(size)
        atom = expr.as_atom(size) if self._shorter else None
        if isinstance(atom, Call) and atom.function == "broadcast":
            args = [self.shortest(a) for a in atom.args]
            if any(a is not b for a, b in zip(args, atom.args, strict=True)):
                size = self.shortest(expr.broadcast(*args))
        return size

    def join(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes."""
        if _divides(a) or _divides(b):
            return
        a, b = self.shortest(a), self.shortest(b)
        if a is not b and a != b:
            longer, shorter = (a, b) if _length(a) > _length(b) else (b, a)
            self._shorter[longer] = shorter


def _divides(size: Size) -> bool:
    return isinstance(size, DimExpr) and size.divides


def _length(size: Size) -> int:
    return size.nodes if isinstance(size, DimExpr) else 0
