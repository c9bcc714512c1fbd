"""Ask JAX the facts of tests/graph/prover/fact_table.py, and write the last column of that table.

Run with a Python that has JAX: `python -m benchmarks.size_facts_jax`. Answers are asked in public terms. JAX's `==` is
False for all it cannot prove, so `no` means that it proves `<` or `>`. An equality that JAX does not take as a
constraint is given to it as two inequalities.
"""

from __future__ import annotations

import functools
from pathlib import Path

from tests.graph.prover import fact_table
from tests.graph.prover.fact_table import Fact, names, sides

try:
    import jax
    from jax import core, export
    from jax.errors import InconclusiveDimensionOperation
except ImportError as error:
    raise SystemExit(f"this needs JAX {fact_table.JAX_VERSION}: {error}") from None

_UNASKABLE = ("broadcasts with", "is 1 or equals")
_FUNCTIONS = {
    "max": lambda *args: functools.reduce(core.max_dim, args),
    "min": lambda *args: functools.reduce(core.min_dim, args),
    "ceildiv": lambda a, b: -(-a // b),
}


class _NotInJax(Exception):
    """The fact has no counterpart in JAX, or JAX refuses to take it."""


def _sizes(fact: Fact, scope: export.SymbolicScope) -> dict[str, object]:
    used = names(fact.claim, *fact.constraints)
    return dict(zip(used, export.symbolic_shape(",".join(used) + ",", scope=scope), strict=True))


def _constraints(text: str, sizes: dict[str, object]) -> list[list[str]]:
    """The ways to tell JAX a constraint, the best first."""
    left, relation, right = sides(text)
    if relation in _UNASKABLE or relation == "!=":
        raise _NotInJax
    a, b = (eval(s, dict(_FUNCTIONS), sizes) for s in (left, right))
    if relation in (">", "<"):
        a, b = (a, b + 1) if relation == ">" else (a + 1, b)
        relation += "="
    alone = [f"{a} {relation} {b}"]
    return [alone, [f"{a} >= {b}", f"{a} <= {b}"]] if relation == "==" else [alone]


def _scope(fact: Fact) -> export.SymbolicScope:
    free = _sizes(fact, export.SymbolicScope())
    taken: list[str] = []
    for text in fact.constraints:
        for way in _constraints(text, free):
            if _accepts([*taken, *way]):
                taken += way
                break
        else:
            raise _NotInJax
    return export.SymbolicScope(tuple(taken))


def _accepts(constraints: list[str]) -> bool:
    try:
        export.SymbolicScope(tuple(constraints))
    except (ValueError, NotImplementedError):
        return False
    return True


def _proves(text: str, sizes: dict[str, object]) -> bool | None:
    try:
        return bool(eval(text, dict(_FUNCTIONS), sizes))
    except InconclusiveDimensionOperation:
        return None


def answer(fact: Fact) -> str:
    """`yes`, `no`, `inconclusive`, `error`, or `n/a` where it cannot be asked."""
    if sides(fact.claim)[1] in _UNASKABLE or "broadcast(" in fact.claim:
        return "n/a"
    try:
        return _ask(fact.claim, _sizes(fact, _scope(fact)))
    except (_NotInJax, ValueError):  # ValueError: no size of 1 or more satisfies the constraints
        return "n/a"
    except RecursionError:
        return "error"


def _ask(claim: str, sizes: dict[str, object]) -> str:
    left, relation, right = sides(claim)
    if relation not in ("==", "!="):
        answer = _proves(f"({left}) {relation} ({right})", sizes)
        return "inconclusive" if answer is None else "yes" if answer else "no"
    if _proves(f"({left}) == ({right})", sizes):
        return "yes" if relation == "==" else "no"
    apart = any(_proves(f"({left}) {r} ({right})", sizes) for r in ("<", ">"))
    return "inconclusive" if not apart else "no" if relation == "==" else "yes"


def main() -> None:
    """Write the column."""
    if jax.__version__ != fact_table.JAX_VERSION:
        raise SystemExit(f"the column is of JAX {fact_table.JAX_VERSION}, and this is {jax.__version__}")
    answers = iter([answer(fact) for fact in fact_table.FACTS])
    path = Path(fact_table.__file__)
    lines = path.read_text().splitlines()
    inside = False
    for i, line in enumerate(lines):
        if '"""' in line:
            inside = line.startswith("TABLE")
        elif inside and line.count("|") == 3:
            lines[i] = f"{line.rpartition('|')[0].rstrip()} | {next(answers)}"
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
