"""Tables with one row per op."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyshape.errors import MissingRuleError
from anyshape.graph.ir.graph import Op

Row = TypeVar("Row")


class OpTable(dict[Op, Row]):
    """Rows by op. Indexing by an op without a row raises MissingRuleError, which names the file of the row.

    - `kind`: what a row is, as the error says it.
    - `folder`: the folder of the package whose file of the op's family has the row.

    The rows may come late: `fill_by` names the function that the lookup of a missing row calls with the op's family. It
    enters the rows of that family.
    """

    kind: str
    folder: str

    __slots__ = ("_fill", "folder", "kind")

    def __init__(self, kind: str, folder: str) -> None:
        super().__init__()
        self.kind, self.folder = kind, folder
        self._fill: Callable[[str], object] | None = None

    def fill_by(self, fill: Callable[[str], object]) -> None:
        """Let a function enter the rows of a family, at the lookup of one that is missing."""
        self._fill = fill

    def __missing__(self, op: Op) -> Row:
        if (fill := self._fill) is not None:
            fill(op.family)  # waits, if another thread is at it
            if op in self:
                return self[op]
        raise MissingRuleError(op.name, self.kind, f"{self.folder}/{op.family}.py")
