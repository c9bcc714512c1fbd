"""`anyshape explain`: the programs that a function needs for several sizes, traced and not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from anyshape.cli.load_target import Arguments, UsageError, one_line
from anyshape.cli.sample_inputs import assignments, read_sizes, shown
from anyshape.errors import AnyshapeError
from anyshape.inspect.explain.data import Explanation
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.transforms.explain import explain
from anyshape.transforms.jit import jit

_LISTED = 8  # assignments of sizes on one line


class ExplainReport(NamedTuple):
    """Explanation of a function, the sizes that each program serves, and the ones that are an error, by message."""

    served: dict[int, list[str]]
    refused: dict[str, list[str]]
    explanation: Explanation

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as dicts, lists, texts and numbers, as JSON holds them."""
        return {"served": self.served, "refused": self.refused, "explanation": self.explanation.to_dict()}

    def __str__(self) -> str:
        lines = [f"program {number} serves {_few(cases)}" for number, cases in self.served.items()]
        return "\n".join([*lines, *_refusals(self.refused), "", str(self.explanation)])


def explain_report(function: Callable[..., Any], arguments: Arguments, sizes: str, target: str) -> ExplainReport:
    """Return the explanation of the function, with the sizes that each of its programs serves."""
    declared = [spec or None for spec in arguments.specs]  # the value of a number is a size only if it is named
    jitted = jit(function, dynamic_shapes=declared)
    served: dict[int, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for case in assignments(arguments, read_sizes(sizes)):
        every = zip(arguments.sizes(case), arguments.dtypes, arguments.by_value, strict=True)
        try:
            explanation = explain(jitted)(*[d.type(*s) if value else ShapeDtypeStruct(s, d) for s, d, value in every])
        except AnyshapeError as error:
            refused.setdefault(one_line(error), []).append(shown(case))
        except Exception as error:
            raise UsageError(f"{target} raised {type(error).__name__}: {one_line(error)}") from error
        else:
            if explanation.broken:
                refused.setdefault(explanation.broken[0].partition(" for ")[0], []).append(shown(case))
            else:
                served.setdefault(explanation.program or 0, []).append(shown(case))
    return ExplainReport(served, refused, jitted.explain())


def _refusals(refused: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"an error for {_few(cases)}: {message}" for message, cases in refused.items()]


def _few(cases: Sequence[str]) -> str:
    more = f"; and {len(cases) - _LISTED} more" if len(cases) > _LISTED else ""
    return "; ".join(cases[:_LISTED]) + more
