"""Steps that do not depend on each other as a function that runs them at once."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterable, Sequence

from anyshape.backend.compiler.codegen.tiles import TileFunction
from anyshape.backend.compiler.passes.parallel_branches import kind, least
from anyshape.backend.compiler.plan import Step
from anyshape.backend.runtime.blas_threads import blas_threads
from anyshape.backend.runtime.split_gemm import LARGE
from anyshape.backend.runtime.thread_pool import run_tiles

Branch = Callable[[], None]


def _at_once(*branches: Branch) -> None:
    """Run functions, each once. The error of the first that fails is raised."""

    def work(numbers: Iterable[int]) -> None:
        for number in numbers:
            branches[number]()

    run_tiles(work, len(branches))


def _single() -> bool:
    """BLAS leaves the other cores alone."""
    return blas_threads() == 1


NAMES = {"_at_once": _at_once, "_single": _single}


def test(steps: Sequence[Step], works: Sequence[str]) -> str:
    """That two of the steps have enough to do, as source; a contraction that threads share keeps them busy itself."""
    if kind(steps[0]) != "contraction":
        enough = [f"{work} >= {least(step)}" for step, work in zip(steps, works, strict=True)]
        return _two_of(enough)
    return f"{_two_of([f'{least(s)} <= {w} < {LARGE}' for s, w in zip(steps, works, strict=True)])} and _single()"


def _two_of(tests: Sequence[str]) -> str:
    """That two of them hold; that none does is seen without the last."""
    if len(tests) == 2:
        return " and ".join(tests)
    some = " or ".join(tests[:-1])
    return f"({some}) and {' + '.join(f'({t})' for t in tests)} > 1"


def together(
    name: str, steps: Sequence[Step], parts: Sequence[Sequence[str]], names: Collection[str]
) -> tuple[TileFunction, str]:
    """The function, by this name, of steps with their lines, and a call of it in the place of the lines.

    It takes what they read, but for the bound `names`.
    """
    results = [step.outputs[0] for step in steps]
    arguments = dict.fromkeys(n for part in parts for n in _read(part) if n not in names)
    lines, marks = [f"def {name}({', '.join(arguments)}):", f"    {' = '.join(results)} = None"], []
    for step, slot, part in zip(steps, results, parts, strict=True):
        lines += [f"    def make_{slot}():", f"        nonlocal {slot}"]
        marks.append((len(lines) + 1, step))
        lines += [f"        {line}" for line in part]
    lines.append(f"    _at_once({', '.join(f'make_{slot}' for slot in results)})")
    lines.append(f"    return {', '.join(results)}")
    call = f"{', '.join(results)} = {name}({', '.join(arguments)})"
    return TileFunction("\n".join(lines), tuple(marks)), call


def _read(lines: Sequence[str]) -> list[str]:
    """The names that lines read and do not bind."""
    names = [n for n in ast.walk(ast.parse("\n".join(lines))) if isinstance(n, ast.Name)]
    bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return [n.id for n in names if n.id not in bound and not hasattr(builtins, n.id)]
