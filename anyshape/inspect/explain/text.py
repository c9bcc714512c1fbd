"""Write an explanation as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from anyshape.inspect.explain.model import WIDTH, Fact, ProgramTable, cut, few, report


def explanation_text(explanation: Any) -> str:
    """Return all of an explanation, with one paragraph for each program."""
    table = report(explanation)
    lines = [table.title, *table.notes]
    for program in table.programs:
        lines += ["", *_program_lines(program)]
    if table.evicted:
        lines += ["", "evicted programs", *table.evicted]
    return "\n".join(lines)


def _program_lines(program: ProgramTable) -> Iterator[str]:
    """Yield the signature of a program and its sections."""
    yield from _signature(program)
    for section in program.sections:
        yield f"  {section.title}"
        yield from [f"    {line}" for line in _aligned(section.facts)]


def _signature(program: ProgramTable) -> list[str]:
    """Return the arguments and the result, on one line each where they are long."""
    whole = f"{program.head}({', '.join(program.arguments)}) -> {program.result}"
    if len(whole) <= WIDTH + 10:
        return [whole]
    return [f"{program.head}(", *[f"    {a}," for a in few(program.arguments)], f"  ) -> {program.result}"]


def _aligned(facts: Sequence[Fact]) -> list[str]:
    """Return the facts with their remarks in one column."""
    width = max((len(f.text) for f in facts if f.remark and len(f.text) <= WIDTH // 2), default=0)
    return [f"{f.text:<{width}}  # {f.remark}".rstrip() if f.remark else f.text for f in facts]


def reliance_text(reliances: Iterable[Any]) -> str:
    """Return reliances as lines, one for each op and rule: `mul, jvp: exact shape x.shape[0]; rank 2`."""
    times: Counter[tuple[str, str]] = Counter()
    for r in reliances:
        field = f" {r.field}" if r.field else ""
        times[f"{r.op}, {r.rule}", f"{r.question}{field} {cut(r.size)}"] += r.times
    answers: dict[str, list[str]] = {}
    for (rule, text), count in times.items():
        answers.setdefault(rule, []).append(f"{text} ({count} times)" if count > 1 else text)
    return "\n".join([f"{rule}: {'; '.join(few(texts))}" for rule, texts in answers.items()])
