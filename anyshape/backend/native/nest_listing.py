"""C of the loops of a plan as text to read: indented, with the line of the user above what it became."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

from anyshape.backend.compiler.plan import Plan, Step
from anyshape.backend.native.nest_source import NestText, nest_text
from anyshape.backend.native.statements import NotExpressible
from anyshape.graph.prover.constraints import SourceLine
from anyshape.ops.loops import LOOPS

_NOTE = re.compile(r"AS_LINE\((\d+)\)")
_BLOCK = re.compile(r"\(\{ ((?:const \w+ e\d+ = [^;{}]+; )+)((?:[^;{}]|\(\{ int64_t z;[^{}]*\}\))+); \}\)")  # of a step
_LOCAL = re.compile(r"const (\w+) (e\d+) = ([^;]+); ")
_CONSTANT = re.compile(r"\(\((?:double|int64_t)\)\((?:(-?0x[\da-f.]+p[-+]\d+)|(-?\d+)ll)\)\)")
_ATOM = re.compile(r"[\w.]+|\w+\[[^\[\]]*\]|\(\*\w+\)")
_WIDE = ("double", "int64_t")  # types that arithmetic of C does not change


def listing(plan: Plan, text_of: Callable[[SourceLine], str]) -> str:
    """Return the C of the loops of a plan; `text_of` gives the text of a line of the user."""
    texts = [_loop_text(step, text_of, number) for number, step in enumerate(_loops(plan))]
    return "\n".join(texts or [f"/* {plan.name} has no loops */\n"])


def _loops(plan: Plan) -> Iterator[Step]:
    """Yield the outermost loops of a plan, and where C has no text for one, those inside of it."""
    for step in plan.steps:
        if step.op in LOOPS:
            yield step
        if step.op not in LOOPS or _reason(step):
            for body in step.bodies:
                yield from _loops(body)


def _reason(step: Step) -> str:
    """Return why there is no C for a loop; empty if there is."""
    try:
        nest_text(step.op, _params(step), step.metas, step.results)
    except NotExpressible as reason:
        return str(reason)
    return ""


def _params(step: Step) -> dict[str, object]:
    return {name: value for name, value in step.params if name != "owned_operands"}


def _loop_text(step: Step, text_of: Callable[[SourceLine], str], number: int) -> str:
    line = "" if step.where is None else f" of {step.where}"
    if reason := _reason(step):
        return f"/* {step.op}{line}: NumPy runs it: {_comment(reason)} */\n"
    nest = nest_text(step.op, _params(step), step.metas, step.results, with_lines=True)
    operands = [f"   a{k}: {meta}" for k, meta in enumerate(step.metas)]
    head = "\n".join([f"/* {step.op}{line}", *map(_comment, operands), "*/", ""])
    return head + readable(nest, text_of).replace("@name@", f"loop_{number + 1}")


def readable(nest: NestText, text_of: Callable[[SourceLine], str]) -> str:
    """Return the text of a nest with its lines of the user as comments; it computes the same."""
    comments = [f"/* {_comment(f'{line}  {text_of(line)}'.rstrip())} */" for line in nest.sources]
    lines = [_NOTE.sub(lambda m: comments[int(m[1]) - 1], _plain(line)) for line in nest.text.splitlines()]
    return "\n".join([*_indented(lines), ""])


def _comment(text: str) -> str:
    return text.replace("*/", "* /").replace("/*", "/ *")


def _plain(line: str) -> str:
    """Return a line whose steps are one expression, as far as no operand is then computed twice."""
    line = _CONSTANT.sub(lambda m: repr(float.fromhex(m[1])) if m[1] else f"{m[2]}ll", line)
    while (shorter := _BLOCK.sub(_expression, line)) != line:
        line = shorter
    before, equals, value = line.partition(" = ")
    return f"{before}{equals}{_bare(value[:-1])};" if equals and value.endswith(";") else line


def _expression(match: re.Match[str]) -> str:
    """Return the expression of a step, with its operands where it takes them."""
    text, kinds, left = match[2], set(), ""
    for kind, name, value in _LOCAL.findall(match[1]):
        kinds.add(kind)
        value = _bare(value)
        if _ATOM.fullmatch(value) or len(re.findall(rf"\b{name}\b", text)) < 2:
            operand = value if _ATOM.fullmatch(value) else f"({value})"
            text = re.sub(rf"\b{name}\b", lambda _, operand=operand: operand, text)
        else:
            left += f"const {kind} {name} = {value}; "
    cast = re.fullmatch(r"\((\w+)\)(\(.*\))", text)
    if cast and kinds == {cast[1]} and cast[1] in _WIDE and _bare(cast[2]) != cast[2]:
        text = f"({_bare(cast[2])})"
    return f"({{ {left}{text}; }})" if left else text


def _bare(text: str) -> str:
    """Return an expression without brackets around all of it; those around a comma stay."""
    while text[:1] == "(" and text[-1:] == ")" and text[1] != "{" and not _ATOM.fullmatch(text):
        depths = [*itertools.accumulate([(c == "(") - (c == ")") for c in text])]
        if 0 in depths[:-1] or (",", 1) in zip(text, depths, strict=True):
            break
        text = text[1:-1]
    return text


def _indented(lines: list[str]) -> list[str]:
    """Return lines of C, each as deep as the braces around it."""
    depth, indented = 0, []
    for line in filter(None, map(str.strip, lines)):
        code = "" if line.startswith("/*") else line
        closing = len(code) - len(code.lstrip("}"))
        indented.append(f"{'    ' * max(depth - closing, 0)}{line}")
        depth += code.count("{") - code.count("}")
    return indented
