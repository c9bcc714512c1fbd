"""An explanation as text, made for reading: what is used where, what must hold, and why there is more than one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_WIDTH = 100
_COMPARED = 3  # programs that were not used for a call
_LISTED = 12  # sizes, conditions and arguments of one program; programs that are gone


_CHECKED = ("assertion", "constraint")


def explanation_text(explanation: Any) -> str:
    """The whole of it, one paragraph for each program."""
    if not explanation.programs:
        name = explanation.name
        return f"{name}: no program yet\n  call it, or ask explain({name})(*arguments), which traces and does not run"
    lines = [f"{explanation.name}: {counts(explanation.cache)}"]
    if explanation.program is not None:
        how = "traced for them now" if explanation.traced else "found"
        lines.append(f"these arguments are served by program {explanation.program}, {how}")
        lines += [f"  but a call is an error: {text}" for text in explanation.broken]
    for program in explanation.programs:
        lines += ["", *program_lines(explanation.name, program)]
    if explanation.dropped:
        lines += ["", "programs that are not kept any more", *few([dropped(d) for d in explanation.dropped[::-1]])]
    return "\n".join(lines)


def dropped(d: Any) -> str:
    """A program that is gone, and why it had been traced."""
    gone = f"as {d.stale}" if d.stale else "as others were used more lately"
    return f"  program {d.number}, {gone}; was traced because {'; '.join(because(d.because))}"


def reliance_text(reliances: Iterable[Any]) -> str:
    """What rules rely on, one line for each op and rule: `mul, jvp: exact shape x.shape[0]; rank 2`."""
    found: dict[str, list[str]] = {}
    for r in reliances:
        often = f" ({r.times} times)" if r.times > 1 else ""
        field = f" {r.field}" if r.field else ""
        found.setdefault(f"{r.op}, {r.rule}", []).append(f"{r.question}{field} {cut(r.size)}{often}")
    return "\n".join(f"{asker}: {'; '.join(few(told))}" for asker, told in found.items())


def counts(cache: Any) -> str:
    """The numbers of a cache: `2 programs; 3 traces, 5 calls without one; 1 dropped, as at most 2 are kept`."""
    found = f"{number(cache.entries, 'program')}; {number(cache.traces, 'trace')}, {number(cache.hits, 'call')} without"
    return found + (f"; {cache.evictions} dropped, as at most {cache.limit} are kept" if cache.evictions else "")


def number(count: int, thing: str) -> str:
    """`1 trace`, `2 traces`."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def program_lines(name: str, program: Any) -> Iterator[str]:
    """One program: its signature, and what there is to say of it."""
    yield from signature(name, program)
    sections = [("is of no use any more", program.stale), ("was traced because", because(program.because))]
    if not program.stale:
        sections += [
            ("is used where", [condition(c) for c in program.guards()]),
            ("must hold, or a call is an error", [condition(c) for c in program.conditions if c.kind in _CHECKED]),
            ("is known of sizes that depend on data", [condition(c) for c in program.conditions if c.kind == "fact"]),
            ("sizes", [size(s) for s in program.sizes]),
            ("another is traced where", retraces(program)),
        ]
    for title, lines in sections:
        if lines:
            yield f"  {title}"
            yield from (f"    {line}" for line in aligned(few(lines)))


def signature(name: str, program: Any) -> list[str]:
    """The types of arguments and results, on a line each where they are many."""
    given = [argument(a) for a in program.arguments] + [f"{k}={v}" for k, v in program.static.items()]
    head, end = f"program {program.number}: {name}(", f") -> {cut(program.result)}"
    whole = head + ", ".join(given) + end
    if len(whole) <= _WIDTH + 10:
        return [whole]
    return [head, *[f"    {g}," for g in few(given)], f"  {end}"]


def argument(a: Any) -> str:
    """`x: f64[n, 3]`, `k: i64[] = k`, `scale: a Python float`."""
    value = f" = {a.size}" if a.size else ""
    return f"{a.path}: {a.number or a.meta}{value}"


def because(reasons: Sequence[Any]) -> list[str]:
    """Why a program was traced."""
    lines = [f"program {r.program}: {r}" for r in reversed(reasons)]  # the newest tells most
    return few(lines, _COMPARED) or ["there was no program yet"]


def condition(c: Any) -> str:
    """A condition, where it was asked, and what for."""
    where = f"  # {c.where}" if c.where is not None else ""
    if c.kind == "guard" and c.code:
        return f"{c.claim}{where}  {cut(c.code)}"
    what = c.reason if c.op in ("python", c.kind) else f"{c.op}: {c.reason}"
    return f"{c.claim}{where or '  #'}  {cut(what)}"


def size(s: Any) -> str:
    """`n = x.shape[0]  # 5 when traced, 4 or more`."""
    value = f"{s.value} when traced" if s.value is not None else ""
    known = range_text(s.low, s.high)
    left = f"{s.name} {s.source}" if s.source.startswith("where ") else f"{s.name} = {s.source}"
    return f"{left}  # {', '.join(t for t in (value, known) if t)}"


def range_text(low: int | None, high: int | None) -> str:
    """What is known of a size: `5 or more`, `2 to 8`, `always 3`."""
    if high is not None:
        return f"always {high}" if low == high else f"{low} to {high}" if low else f"{high} or less"
    return f"{low} or more" if low else ""


def retraces(program: Any) -> list[str]:
    """What of a call makes the program unfit for it, in short."""
    structure = cut(program.structure)
    given = [f"an argument has another dtype or number of axes, or together they are not {structure}"]
    names = [f"one of these is bound anew: {', '.join(few(program.watched))}"] if program.watched else []
    return [*few([g.otherwise for g in program.guards()]), *given, *names]


def cut(text: str) -> str:
    """The text, or the beginning of a long one."""
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def few(lines: Sequence[str], most: int = _LISTED) -> list[str]:
    """The lines, or the first of many."""
    if len(lines) <= most + 1:
        return list(lines)
    return [*lines[:most], f"... and {len(lines) - most} more"]


def aligned(lines: Iterable[str]) -> list[str]:
    """Lines with their comments in one column."""
    parts = [line.partition("  # ") for line in lines]
    width = max((len(left) for left, mark, _ in parts if mark and len(left) <= _WIDTH // 2), default=0)
    return [f"{left:<{width}}{mark}{right}".rstrip() for left, mark, right in parts]
