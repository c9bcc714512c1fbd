"""Write an explanation as text.

Write an explanation as tables of `rich`, of the extra `demo`: one table for each program.

Table model of an explanation: the facts in the order in which both writers show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import rich_console, rich_markup, rich_table


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


_STYLES = {"guard": "yellow", "assertion": "red", "fact": "green"}


def explanation_table(explanation: Any) -> Any:
    """Return a group of tables that `rich` prints."""
    model, escape = report(explanation), rich_markup.escape
    parts = [escape("\n".join([model.title, *model.notes]))]
    parts += [_program_table(p, served=p.number == explanation.program) for p in model.programs]
    if model.evicted:
        parts.append(escape("\n".join(["evicted programs", *model.evicted])))
    return rich_console.Group(*parts)


def _program_table(program: ProgramTable, *, served: bool):
    """Return the table of one program; the program that serves the arguments has a bold title."""
    escape = rich_markup.escape
    title = escape(f"{program.head}({', '.join(program.arguments)}) -> {program.result}")
    table = rich_table.Table(title=f"[bold]{title}[/bold]" if served else title, show_header=False)
    for section in program.sections:
        style = _STYLES.get(section.kind)
        for i, fact in enumerate(section.facts):
            table.add_row("" if i else section.title, escape(fact.text), escape(fact.remark), style=style)
        table.add_section()
    return table


WIDTH = 100
_COMPARED = 3  # programs that were not used for a call
_LISTED = 12  # sizes, conditions and arguments of one program; evicted programs
_PRINTED = 100  # lines of a tree of decisions
_CHECKED = ("assertion", "constraint")


class Fact(NamedTuple):
    """Line: a statement, and a remark on it."""

    text: str
    remark: str = ""


class Section(NamedTuple):
    """Facts under a title. `kind` is the kind of conditions, or empty."""

    title: str
    facts: list[Fact]
    kind: str = ""


class ProgramTable(NamedTuple):
    """Program: its signature in parts, and the sections that are not empty."""

    number: int
    head: str
    arguments: list[str]
    result: str
    sections: list[Section]


class Report(NamedTuple):
    """Explanation as tables: a title, notes on a call, one table for each program, and evicted programs."""

    title: str
    notes: list[str]
    programs: list[ProgramTable]
    evicted: list[str]


def report(explanation: Any) -> Report:
    """Return the table model of an explanation."""
    name = explanation.name
    if not explanation.programs:
        note = f"  call it, or ask explain({name})(*arguments), which traces and does not run"
        return Report(f"{name}: no program yet", [note], [], [])
    programs = [_program(name, program, explanation.verbose) for program in explanation.programs]
    evicted = few([_evicted(e) for e in explanation.evicted[::-1]])
    counts = _counts(explanation.cache, explanation.revalidations)
    return Report(
        f"{name}: {counts}",
        [*_call(explanation), *_paths(explanation.programs), *explanation.as_written],
        programs,
        evicted,
    )


def _paths(programs: Sequence[Any]) -> Iterator[str]:
    """Yield the trees of the decisions on values, one for each kind of arguments, with the calls of each path."""
    trees: dict[Any, list[Any]] = {}
    for program in programs:
        if program.path and not program.stale:
            arguments = [_argument(a) for a in program.arguments] + [f"{k}={v}" for k, v in program.static.items()]
            trees.setdefault((program.structure, ", ".join(arguments)), []).append(program)
    for (_, arguments), tree in trees.items():
        yield f"decisions of Python on values of ({cut(arguments)}), with the calls that took each path"
        yield from few(list(_branches(tree, 0, "  ")), _PRINTED)


def _branches(programs: Sequence[Any], turn: int, indent: str) -> Iterator[str]:
    """Yield the lines of the programs that agree about the answers before a turn."""
    ends = [p for p in programs if len(p.path) == turn]
    yield from [f"{indent}program {p.number}: {p.calls} call{'' if p.calls == 1 else 's'}" for p in ends]
    branches: dict[Any, list[Any]] = {}
    for p in programs:
        if len(p.path) > turn:
            branches.setdefault(p.path[turn], []).append(p)
    inner = f"{indent}  " if len(branches) > 1 or ends else indent
    for decision, branch in branches.items():
        yield f"{indent}{decision}{'' if decision.where is None else f'  # {decision.where}'}"
        yield from _branches(branch, turn + 1, inner)


def _call(explanation) -> Iterator[str]:
    """Yield the program that serves the arguments, and the conditions that they break."""
    if explanation.program is not None:
        how = "traced for them now" if explanation.traced else "cached"
        yield f"these arguments are served by program {explanation.program}, {how}"
        yield from [f"  but a call is an error: {text}" for text in explanation.broken]


def _program(name: str, program, verbose: bool) -> ProgramTable:
    """Return the table of one program; one that is stale has only the reasons for that."""
    arguments = [_argument(a) for a in program.arguments] + [f"{k}={v}" for k, v in program.static.items()]
    sections = [
        Section("is of no use any more", [Fact(text) for text in program.stale]),
        Section("was traced because", [Fact(text) for text in because(program.because)]),
        *([] if program.stale else _conditions(program)),
    ]
    filled = [Section(title, _few_facts(facts), kind) for title, facts, kind in sections if facts]
    filled += [section for section in _proofs(program) if section.facts] if verbose else []
    return ProgramTable(program.number, f"program {program.number}: {name}", arguments, cut(program.result), filled)


def _conditions(program) -> list[Section]:
    """Return the sections of a program that can serve calls."""
    checked = [_condition(c) for c in program.conditions if c.kind in _CHECKED]
    facts = [_condition(c) for c in program.conditions if c.kind == "fact"]
    return [
        Section("is used where", [*map(_condition, program.guards()), *map(Fact, program.layouts)], "guard"),
        Section("must hold, or a call is an error", checked, "assertion"),
        Section("is known of run-time sizes", facts, "fact"),
        Section("writes to", [Fact(path) for path in program.written]),
        Section("sizes", [_size(s) for s in program.sizes]),
        Section("runs", [*_plan_facts(program), *map(Fact, program.kernels)]),
        Section("another is traced where", [Fact(text) for text in _retraces(program)]),
        Section("does not notice a change of", [Fact(text) for text in few(program.unwatched)]),
    ]


def _plan_facts(program) -> list[Fact]:
    """Return the plan that runs, unless it was made at once."""
    return [Fact(str(program.plan))] if program.plan is not None and program.plan.mode != "now" else []


def _proofs(program) -> list[Section]:
    """Return everything that the program relies on, and the decisions that it proved."""
    decisions = [Fact(d.claim, f"{_line(d.where)}{d.reason}") for d in program.decisions]
    relied = [
        Fact(f"{r.op}, {r.rule}: {r.question}{f' {r.field}' if r.field else ''} {cut(r.size)}", _line(r.where))
        for r in program.reliances
    ]
    return [Section("decided by proof", decisions), Section("relies on", relied)]


def _line(where) -> str:
    return "" if where is None else f"{where.trail}  "


def _evicted(program) -> str:
    """Return why a program was evicted, and why it had been traced."""
    cause = f"as {program.stale}" if program.stale else "as others were used more lately"
    return f"  program {program.number}, {cause}; was traced because {'; '.join(because(program.because))}"


def _counts(cache, revalidations: int) -> str:
    """Return the numbers of a cache: `2 programs; 3 traces, 5 calls without; 1 evicted, as at most 2 are kept`."""
    numbers = (cache.entries, "program"), (cache.traces, "trace"), (cache.hits, "call")
    programs, traces, calls = (f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in numbers)
    evicted = f"; {cache.evictions} evicted, as at most {cache.limit} are kept" if cache.evictions else ""
    revalidated = f"; {revalidations} more gave a program that was there" if revalidations else ""
    return f"{programs}; {traces}, {calls} without{revalidated}{evicted}"


def _argument(argument) -> str:
    """Return an argument as `x: f64[n, 3]`, `k: i64[] = k` or `scale: a Python float`."""
    value = f" = {argument.size}" if argument.size else ""
    return f"{argument.path}: {argument.number or argument.meta}{value}"


def because(reasons: Sequence[Any]) -> list[str]:
    """Return why a program was traced, the newest reason first."""
    lines = [str(r) if r.kind == "received" else f"program {r.program}: {r}" for r in reversed(reasons)]
    return few(lines, _COMPARED) or ["there was no program yet"]


def _condition(condition) -> Fact:
    """Return a condition, with its line and its reason."""
    where = "" if condition.where is None else condition.where.trail
    if condition.kind == "guard" and condition.code:
        return Fact(condition.claim, f"{where}  {cut(condition.code)}")
    named = condition.op not in ("python", condition.kind)
    reason = f"{condition.op}: {condition.reason}" if named else condition.reason
    return Fact(condition.claim, f"{where}  {cut(reason)}" if where else f" {cut(reason)}")


def _size(size) -> Fact:
    """Return a size with its value and its range: `n = x.shape[0]`, `5 when traced, 4 or more`."""
    value = f"{size.value} when traced" if size.value is not None else ""
    relation = " " if size.source.startswith("where ") else " = "
    remarks = [text for text in (value, _range(size.low, size.high)) if text]
    return Fact(f"{size.name}{relation}{size.source}", ", ".join(remarks))


def _range(low: int | None, high: int | None) -> str:
    """Return the range of a size: `5 or more`, `2 to 8`, `always 3`."""
    if high is None:
        return f"{low} or more" if low else ""
    if low == high:
        return f"always {high}"
    return f"{low} to {high}" if low else f"{high} or less"


def _retraces(program) -> list[str]:
    """Return the calls for which another program is traced."""
    structure = cut(program.structure)
    arguments = f"an argument has another dtype or number of axes, or together they are not {structure}"
    watched = f"one of these is rebound: {', '.join(few(program.watched))}"
    return [*few([g.otherwise for g in program.guards()]), arguments, *([watched] if program.watched else [])]


def cut(text: str) -> str:
    """Return the text, cut where it is long."""
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def few(lines: Sequence[str], most: int = _LISTED) -> list[str]:
    """Return the lines, or the first of many and their number."""
    if len(lines) <= most + 1:
        return list(lines)
    return [*lines[:most], f"... and {len(lines) - most} more"]


def _few_facts(facts: list[Fact]) -> list[Fact]:
    return facts if len(facts) <= _LISTED + 1 else [*facts[:_LISTED], Fact(f"... and {len(facts) - _LISTED} more")]
