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

    The rows may come late: `fill_by` names the function that the first lookup of a missing row calls to enter them all.
    """

    __slots__ = ("_fill", "folder", "kind")

    def __init__(self, kind: str, folder: str) -> None:
        super().__init__()
        self.kind, self.folder = kind, folder
        self._fill: Callable[[], object] | None = None

    def fill_by(self, fill: Callable[[], object]) -> None:
        """Let a function enter the rows, at the first lookup of a row that is missing."""
        self._fill = fill

    def __missing__(self, op: Op) -> Row:
        if (fill := self._fill) is not None:
            fill()  # waits, if another thread is at it
            self._fill = None
            if op in self:
                return self[op]
        raise MissingRuleError(op.name, self.kind, f"{self.folder}/{op.family}.py")
