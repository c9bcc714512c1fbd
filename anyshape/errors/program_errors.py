"""Define the errors about graphs, rule tables, program files and packages."""

from __future__ import annotations

from typing import Any

from anyshape.errors import messages
from anyshape.errors.base import AnyshapeError


class UnsupportedDynamicShapeError(AnyshapeError, TypeError):
    """Raised where a field of a primitive needs more of a size than is known of it.

    - `observed` is the kind of the size: "symbolic", "run-time" (it depends on data), "upper bound" or "unknown".
    - `extent` is its text.
    - `needed` is "an exact size", or "a fixed size", which is an int while tracing.
    """

    primitive: str
    field: str
    axis: int | None
    where: object
    observed: str
    extent: str
    needed: str

    def __init__(
        self,
        primitive: str,
        field: str,
        axis: int | None,
        observed: str,
        extent: str,
        where: object = None,
        needed: str = "an exact size",
    ) -> None:
        self.primitive, self.field, self.axis, self.where = primitive, field, axis, where
        self.observed, self.extent, self.needed = observed, extent, needed
        at_axis = "" if axis is None else f" for axis {axis}"
        problem = f"{field} needs {needed}{at_axis}, and {extent} is {messages.OBSERVED[observed]}"
        first = f"{messages.operation(primitive, where)}: {problem}{messages.at(where)}"
        super().__init__(f"{first}\n  {messages.ADVICE[observed]}")

    def to_dict(self) -> dict[str, Any]:
        """Return the data as texts and numbers, as JSON holds them."""
        shown = {k: v for k, v in vars(self).items() if v is None or isinstance(v, (str, int))}
        at = None if self.where is None else {"line": str(self.where), "file": getattr(self.where, "file", None)}
        return {"error": type(self).__name__, **shown, "where": at, "message": str(self)}


class MissingRuleError(AnyshapeError, NotImplementedError):
    """Raised for an op without a row in a rule table."""

    op: str
    table: str
    file: str

    def __init__(self, op: str, table: str, file: str) -> None:
        self.op, self.table, self.file = op, table, file
        zero = ", or declare the op zero() there" if table.startswith("JVP") else ""
        super().__init__(f"{op}: no {table} rule\n  add one in {file}{zero}")


class IllegalGraphError(AnyshapeError, ValueError):
    """Raised for a graph that reads a value too early, or whose array types do not follow from its ops."""

    node: str
    problem: str

    def __init__(self, node: str, problem: str) -> None:
        self.node, self.problem = node, problem
        super().__init__(f"illegal graph at `{node}`: {problem}\n  this is a defect of the pass that made the graph")


class ProgramFileError(AnyshapeError, ValueError):
    """Raised for a file that holds no program, is damaged, or has a newer version of the format.

    `version` is the version of the format, where it could be read.
    """

    path: str
    problem: str
    version: int | None
    advice: str

    def __init__(self, path: str, problem: str, advice: str = "", version: int | None = None) -> None:
        self.path, self.problem, self.version = path, problem, version
        self.advice = advice or "save the program again, or get another copy of the file"
        super().__init__(f"{path}: {problem}\n  {self.advice}")


class MissingPackageError(AnyshapeError, ModuleNotFoundError):
    """Raised where a package of an optional dependency group is not installed."""

    name: str
    package: str
    extra: str

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{package} is not installed\n  pip install 'anyshape[{extra}]'")
        self.name = package
