"""`anyshape explain`: the programs that a function needs for several sizes, traced and not run.

`anyshape profile`: the time of a call with random arguments, step by step.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from anyshape.cli.load_target import (
    Arguments,
    UsageError,
    assignments,
    draw,
    named_sizes,
    one_line,
    read_sizes,
    shown,
    write_text,
)
from anyshape.errors import AnyshapeError
from anyshape.inspect.explain.data import Explanation
from anyshape.inspect.profile.data import Profile
from anyshape.program.program import Program
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.jit import explain, jit, profile

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


_DOMAIN = (0.1, 0.9)  # of random arguments: roots, logarithms and inverse functions are defined there


def profile_report(function: Callable[..., Any], arguments: Arguments, options: Any) -> Profile:
    """Print and return the profile, and write the page if requested; a page on standard output is alone there."""
    if options.repeat is not None and options.repeat < 1:
        raise UsageError(f"--repeat is {options.repeat}; give 1 or more")
    sizes = named_sizes(arguments, options.sizes)
    args = _random(arguments, sizes, options)
    declared = [spec or None for spec in arguments.specs]
    target = function if isinstance(function, Program) else jit(function, dynamic_shapes=declared)
    try:
        result = profile(
            target, repeat=options.repeat, file=sys.stderr if options.html == "-" or options.json else None
        )(*args)
    except AnyshapeError:
        raise
    except Exception as error:
        raise UsageError(f"{options.target} raised {type(error).__name__}: {one_line(error)}") from error
    if options.html is not None:
        write_text(options.html, result.html())
    return result


def _random(arguments: Arguments, sizes: dict[str, int], options) -> list[Any]:
    """Return random arguments of these sizes."""
    rng = np.random.default_rng(options.seed)
    every = zip(arguments.sizes(sizes), arguments.dtypes, arguments.by_value, strict=True)
    try:
        return [d.type(*s) if value else draw(rng, s, d, _DOMAIN) for s, d, value in every]
    except (MemoryError, OverflowError, ValueError) as error:  # what NumPy raises, from large to larger
        raise UsageError(f"--sizes is {options.sizes!r}, too large for arguments: {one_line(error)}") from error
