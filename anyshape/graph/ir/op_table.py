"""Tables with one row per op."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from anyshape.errors import MissingRuleError
from anyshape.graph.ir.graph import Op

Row = TypeVar("Row")


class OpTable(dict[Op, Row]):
    """Rows by op. Indexing by an op without a row raises MissingRuleError, which names the file of the row.

    - `kind`: what a row is, as the error says it.
    - `folder`: the folder of the package whose file of the op's family has the row.
    """

    __slots__ = ("folder", "kind")

    def __init__(self, kind: str, folder: str) -> None:
        super().__init__()
        self.kind, self.folder = kind, folder

    def __missing__(self, op: Op) -> NoReturn:
        raise MissingRuleError(op.name, self.kind, f"{self.folder}/{op.family}.py")
