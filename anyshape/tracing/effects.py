"""Prints, calls and stops of the debugger that happen when a program runs, in its order, and their texts."""

from __future__ import annotations

import itertools
import re
import string
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.builder import Traced, active
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands.promotion import asarray, is_weak
from anyshape.ops import control as cb
from anyshape.support.freezing import Identity
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees

Part: TypeAlias = str | tuple[Any, str, str]  # a text, or a value with its conversion and its format
_DIRECTIVE = re.compile(r"%(?:\((?P<name>[^)]*)\))?(?P<spec>[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?[a-zA-Z%])")


class Text:
    """Text whose values are filled in when the program runs: an f-string, `str.format` or `%` inside of a print.

    `parts` are strings, and triples of a value, its conversion and its format. The conversion is "", "s", "r" or "a" as
    in an f-string. With "%" the format is a directive such as "%5.2f".
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts: tuple[Part, ...] = tuple(parts)

    def __add__(self, other: Any) -> Text:
        return Text([*self.parts, *_parts_of(other)]) if isinstance(other, (str, Text)) else NotImplemented

    def __radd__(self, other: Any) -> Text:
        return Text([*_parts_of(other), *self.parts]) if isinstance(other, str) else NotImplemented

    @staticmethod
    def of_format(template: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Text, set[int | str]]:
        """Return the text of `template.format(*args, **kwargs)`, and which of these it shows."""
        formatter, parts, used, count = string.Formatter(), list[Part](), set[int | str](), 0
        for literal, field, spec, conversion in formatter.parse(template):
            parts.append(literal)
            if field is None:
                continue
            if not field or field[0] in ".[":
                field, count = f"{count}{field}", count + 1
            value, first = formatter.get_field(field, args, kwargs)
            parts.append((value, conversion or "", formatter.vformat(spec or "", args, kwargs)))
            used.add(first)
        return Text(parts), used

    @staticmethod
    def of_percent(template: str, values: Any) -> Text:
        """Return the text of `template % values`."""
        named = values if isinstance(values, dict) else None
        remaining = iter(values if isinstance(values, tuple) else (values,))
        parts, end = list[Part](), 0
        for match in _DIRECTIVE.finditer(template):
            parts.append(template[end : match.start()])
            end, spec = match.end(), match["spec"]
            if spec == "%":
                parts.append("%")
                continue
            while "*" in spec:
                spec = spec.replace("*", str(next(remaining)), 1)
            value = next(remaining) if named is None or match["name"] is None else named[match["name"]]
            parts.append((value, "%", f"%{spec}"))
        return Text([*parts, template[end:]])


def _parts_of(text: str | Text) -> Sequence[Part]:
    return text.parts if isinstance(text, Text) else (text,)


def is_known_late(x: Any) -> bool:
    return isinstance(x, Traced) or (isinstance(x, SymbolicSize) and active() is not None)


def _parts(part: Part | Any, inside: tuple[int, ...] = ()) -> Iterator[Part]:
    """Yield what a part shows: strings, and triples of values that are arrays or known late."""
    if isinstance(part, str):
        yield part
        return
    value, conversion, spec = part
    if is_known_late(value) or has_type(value, np.ndarray):
        yield part
    elif isinstance(value, (list, tuple, dict)) and not spec and id(value) not in inside and _holds_late(value):
        yield from _of_container(value, (*inside, id(value)))
    else:
        yield cb.formatted(value, conversion, spec)


def _holds_late(value: Any, inside: tuple[int, ...] = ()) -> bool:
    """Return whether a container of Python holds something that is known late."""
    if is_known_late(value):
        return True
    if not isinstance(value, (list, tuple, dict)) or id(value) in inside:
        return False
    inside = (*inside, id(value))
    return any(_holds_late(x, inside) for x in (value.values() if isinstance(value, dict) else value))


def is_late(parts: Sequence[Part]) -> bool:
    """Return whether a text shows a value that is known late."""
    return any(not isinstance(p, str) and _holds_late(p[0]) for p in parts)


def _of_container(value: Any, inside: tuple[int, ...]) -> Iterator[Part]:
    """Yield what the representation of a container shows."""
    labels = [f"{key!r}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    begin, end = "{}" if isinstance(value, dict) else "[]" if isinstance(value, list) else "()"
    if hasattr(value, "_fields"):
        labels, begin = [f"{name}=" for name in value._fields], f"{type(value).__name__}("
    elif isinstance(value, tuple) and len(value) == 1:
        end = ",)"
    members = value.values() if isinstance(value, dict) else value
    yield begin
    for i, (label, x) in enumerate(zip(labels, members, strict=True)):
        yield f"{', ' if i else ''}{label}"
        yield from _parts((x, "r", ""), inside)
    yield end


def _seen(x: Any) -> tuple[Any, str]:
    """Return an operand for a value, and what it is to the user."""
    if not is_known_late(x):
        return np.asarray(x), "scalar" if has_type(x, np.generic) else "array"
    form = "number" if is_weak(x) else "array" if getattr(x, "is_array", False) else "scalar"
    value = asarray(x)
    return value.unshared() if isinstance(value, Traced) else value, form


class Operands:
    """Operands of a node whose text shows them, and what each is to the user."""

    def __init__(self) -> None:
        self.values, self.forms = list[Any](), list[str]()

    def add(self, value: Any) -> int:
        """Return the position of a new operand, which stands for a value."""
        operand, form = _seen(value)
        self.values.append(operand)
        self.forms.append(form)
        return len(self.values) - 1

    def pieces_of(self, parts: Sequence[Part]) -> tuple[cb.Piece, ...]:
        """Return the pieces of a text, with new operands for its values."""
        pieces = list[cb.Piece]()
        for part in itertools.chain.from_iterable(map(_parts, parts)):
            if isinstance(part, str):
                pieces.append(f"{pieces.pop()}{part}" if pieces and isinstance(pieces[-1], str) else part)
            else:
                pieces.append((self.add(part[0]), *part[1:]))
        return tuple(pieces)


def printed(
    *values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False,
    always: bool = False,
) -> None:  # fmt: skip
    """Print as Python does: when the program runs if a value is known only then, else now. Values may be of `Text`.

    With `always`, what is known is printed by the program too.
    """
    between, last = _separator("sep", sep, " "), _separator("end", end, "\n")
    parts = _joined(between, values)
    if always or is_late(parts):
        show([*parts, last], file, flush)
    else:
        shown = [p if isinstance(p, str) else cb.formatted(*p) for p in parts]
        print(*shown, sep="", end=last, file=file, flush=flush)


def _joined(between: str, values: Sequence[Any]) -> list[Part]:
    """Return the parts of values with a text between them."""
    texts = [x.parts if isinstance(x, Text) else (x if isinstance(x, str) else (x, "s", ""),) for x in values]
    return [part for i, text in enumerate(texts) for part in ((between, *text) if i else text)]


def _separator(name: str, text: Any, default: str) -> str:
    if not isinstance(text, (str, type(None))):
        raise TypeError(f"{name} must be None or a string, not {type(text).__name__}")
    return default if text is None else text


def show(parts: Sequence[Part], file: Any = None, flush: bool = False) -> None:
    """Print a text each time that the program gets here."""
    operands = Operands()
    pieces = operands.pieces_of(parts)
    to_file = cb.Callback(lambda *xs: cb.write(file, cb.text_of(pieces, xs), flush), "print")
    stream = _stream(file)
    action = to_file if stream is None else (stream, bool(flush), pieces)
    cb.effect(action, *operands.values, forms=operands.forms)


def _stream(file: Any) -> str | None:
    """Return the name of a stream of Python, which a run looks up, as its users may replace it meanwhile."""
    if file is None:
        return "stdout"
    return next((name for name in cb.STREAMS if file is getattr(sys, name)), None)


@dataclass(frozen=True)
class _Call:
    """Function of the values that are known late, at these positions among the leaves of its arguments."""

    function: Callable[..., Any]
    arguments: Any
    late: tuple[int, ...]
    leaves: tuple[Identity, ...]

    def __call__(self, *values: Any) -> None:
        filled = [leaf.value for leaf in self.leaves]
        for i, x in zip(self.late, values, strict=True):
            filled[i] = x
        args, kwargs = pytrees.unflatten(self.arguments, filled)
        self.function(*args, **kwargs)


def call(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> None:
    """Call a function with the values of trees each time that the program gets here."""
    leaves, tree = pytrees.flatten((args, kwargs))
    late = tuple([i for i, x in enumerate(leaves) if is_known_late(x) or has_type(x, np.ndarray)])
    columns = [_seen(leaves[i]) for i in late]
    others = tuple([Identity(None if i in late else x) for i, x in enumerate(leaves)])
    action = cb.Callback(_Call(function, tree, late, others), name)
    cb.effect(action, *[x for x, _ in columns], forms=[form for _, form in columns])
