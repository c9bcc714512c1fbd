"""Check by program what a good message of a mistake needs: see `mistakes.py`. Whether it is true, a reader grades.

`python -m tests.errors.rubric` prints each message beside its grade, its length and what it lacks.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import re
import traceback
from types import CodeType

from tests.errors.grades import GOOD, MIDDLING
from tests.errors.mistakes import MISTAKES, Mistake

TABLES = (
    "golden_errors",
    "golden_python_errors",
    "golden_common_errors",
    "golden_untuned_errors",
    "golden_later_errors",
    "golden_helper_errors",
)
for _table in TABLES:
    importlib.import_module(f"tests.errors.{_table}")

VERBS = frozenset((
    "add", "allow", "build", "call", "change", "check", "choose", "close", "compute", "convert", "create",
    "declare", "draw", "drop", "end", "give", "index", "keep", "leave", "make", "map", "mask", "name", "pass", "reduce",
    "return", "save", "select", "sum", "swap", "take", "trace", "use", "write",
))  # fmt: skip
_CONDITIONS = ("an int is needed here", "an integer is needed here")
LONGEST_TRACEBACK = 12


def error_of(row: Mistake) -> Exception:
    """Return the error of a mistake."""
    logging.disable(logging.WARNING)
    try:
        row.make()
    except Exception as error:
        return error
    finally:
        logging.disable(logging.NOTSET)
    raise AssertionError(f"{row.name} raises nothing")


def message_of(error: Exception) -> str:
    """Return the message with its notes; lines of the tables read `model.py`."""
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    return re.sub(r"golden_\w+\.py:\d+", "model.py", text)


def traceback_of(row: Mistake, error: Exception) -> str:
    """Return the traceback as the mistake's own call shows it."""
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code is not row.make.__code__:
        step = step.tb_next
    return "".join(traceback.format_exception(type(error), error, step))


def lacks(row: Mistake, error: Exception) -> list[str]:
    """Return what the message of a mistake lacks."""
    first, *rest = message_of(error).splitlines()
    checks = {
        "the expression": names_expression(first, row),
        "the line": "at model.py" in first or ends_in(row, error),
        "advice": bool(rest) and is_advice(rest[-1]),
        "brevity": len(rest) <= 3 and len(message_of(error)) <= 400,
        "a short traceback": traceback_of(row, error).count("\n") <= LONGEST_TRACEBACK,
    }
    return [name for name, is_so in checks.items() if not is_so]


def names_expression(first: str, row: Mistake) -> bool:
    """Return whether the first line names an expression, a function or an argument of the mistake's source."""
    written = inspect.getsource(row.make)
    source = _plain(written)
    head = first.split(": ", maxsplit=1)[0] if ": " in first else first
    if _plain(head.removesuffix(" = ...")) in source:
        return True
    words = [word for word in re.findall(r"[A-Za-z_]\w*", head) if word not in ("lambda", "NDArray", "object")]
    return any(re.search(rf"\b{word}\b", written) for word in words) or _names_argument(first, source)


def _names_argument(first: str, source: str) -> bool:
    """Return whether the first line names an argument: `<lambda>: model is of type ...`, or the whole function."""
    name = re.match(r"<lambda>: (?:the )?(\w+)", first)
    return name is not None and (name[1] == "result" or re.search(rf"\b{name[1]}\b", source) is not None)


def _plain(text: str) -> str:
    """Return a text without what `ast.unparse` may write in another way."""
    return re.sub(r"[\s()]", "", text.replace('"', "'"))


def ends_in(row: Mistake, error: Exception) -> bool:
    """Return whether the traceback ends in the code of the mistake, or of a function that it makes."""
    last = list(traceback.walk_tb(error.__traceback__))[-1][0].f_code
    return last in _codes(row.make.__code__)


def _codes(code: CodeType) -> list[CodeType]:
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [code, *[c for part in inner for c in _codes(part)]]


def is_advice(line: str) -> bool:
    """Return whether a line says what to write: it starts with a verb, or says what is needed and then a verb."""
    words = line.split()
    condition, _, after = line.strip().partition(": ")
    if condition in _CONDITIONS:
        words = after.removeprefix("of a size, ").split()
    return line.startswith("  ") and words[0] in VERBS


def main() -> None:
    """Print each message beside its grade."""
    lengths = []
    for row in MISTAKES:
        error = error_of(row)
        lengths.append(traceback_of(row, error).count("\n"))
        grade = "good" if row.name in GOOD else f"middling: {MIDDLING.get(row.name, 'not graded')}"
        missing = lacks(row, error)
        print(f"{row.name} [{grade}; {lengths[-1]} lines{'; lacks ' + ', '.join(missing) if missing else ''}]")
        print("\n".join(f"    {line}" for line in message_of(error).splitlines()))
    print(f"{len(MISTAKES)} mistakes: {len(GOOD)} good, {len(MIDDLING)} middling, 0 poor")
    print(f"tracebacks: {sum(lengths) / len(lengths):.1f} lines on average, {max(lengths)} at most")


if __name__ == "__main__":
    main()
