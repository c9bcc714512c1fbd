"""Reports as dicts, lists, texts and numbers, as JSON holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from anyshape.graph.prover.constraints import SourceLine


def to_plain(x: Any) -> Any:
    """Return a dataclass as a dict of its fields, at every depth, and a source line as a dict of its parts.

    The lines that called the function of a source line are its part `called`, if there are any.
    """
    if isinstance(x, SourceLine):
        line = {"file": x.file, "line": x.line, "function": x.function}
        return {**line, "called": [to_plain(caller) for caller in x.callers]} if x.callers else line
    if is_dataclass(x) and not isinstance(x, type):
        return {f.name: to_plain(getattr(x, f.name)) for f in fields(x)}
    if isinstance(x, Mapping):
        return {key: to_plain(value) for key, value in x.items()}
    return type(x)(map(to_plain, x)) if type(x) in (list, tuple) else x
