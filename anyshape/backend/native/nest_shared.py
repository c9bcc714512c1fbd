"""Loops and memory that nests share, found by their texts.

Loops over elements that stand in nests more than once become functions: a compiler works on each of them once. They
read and write memory and constants alone, so a function of these serves.

Values of a trip take the memory of values of their size that nothing reads any more. So they stay in the caches.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from anyshape.support.lazy_dataclass import NamedTuple

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_DECLARED = re.compile(r"(const )?\b(double|float|u?int\d+_t|as_complexf?) (\*?)(?:restrict )?([a-z]+\w*) = ")
_FOR = re.compile(r"\s*for \(int64_t i\d+ = .*\{$")
_PRAGMA = re.compile(r"\s*#pragma (GCC ivdep|omp simd)$")
_OTHERS = re.compile(r"\b(AS_\w+|goto|return|break|continue|call|poll)\b")  # what belongs to the function around it
_WRITTEN = re.compile(  # names that are given another value, or whose place is passed on
    r"(?<!\w)(\w+)\s*(?:(?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--|&)\s*(\w+)"
)
_REFERENCED = re.compile(r"(?<!&)&(?!&)\s*(\w+)\b(?!\s*\[)")
_WORDS = {
    "const", "double", "float", "for", "if", "else", "sizeof", "pragma", "GCC", "ivdep", "omp", "simd", "unsigned",
    "char",
}  # fmt: skip
_ALLOCATED = re.compile(r"(\w+ \*)(\w+) = as_alloc\(&arena, (.*)\);$")
_POINTER = re.compile(r"\w+ \*(\w+) = ")
_CHANGING = re.compile(r"\bw\d")  # sizes of carries that change
_Key: TypeAlias = tuple[tuple[str, ...], str]


class _Loop(NamedTuple):
    """Loop in the lines of a nest, from `first` to before `end`.

    `key`: types of what it takes, and its text with parameters in place of the names of these.
    """

    first: int
    end: int
    key: _Key
    names: tuple[str, ...]


def with_shared_loops(texts: Sequence[str]) -> str:
    """Return the text of nests, with the loops that stand there more than once as functions before them."""
    nests = [text.split("\n") for text in texts]
    loops = [list(_loops(lines)) for lines in nests]
    counts = Counter([loop.key for one in loops for loop in one])
    shared = {key: f"as_shared_{k}" for k, key in enumerate(counts) if counts[key] > 1}
    functions = [_function(name, *key) for key, name in shared.items()]
    return "\n".join([*functions, *[_with_calls(*nest, shared) for nest in zip(nests, loops, strict=True)]])


def _with_calls(lines: list[str], loops: Sequence[_Loop], shared: Mapping[_Key, str]) -> str:
    """Return the text of a nest that calls functions in place of shared loops."""
    for loop in reversed(loops):
        if loop.key in shared:
            lines[loop.first : loop.end] = [f"{shared[loop.key]}({', '.join(loop.names)});"]
    return "\n".join(lines)


def _function(name: str, types: Sequence[str], body: str) -> str:
    parameters = ", ".join([f"{kind}x{k}" for k, kind in enumerate(types)])
    return f"AS_CALLED void {name}({parameters}) {{\n{body}\n}}"


def _loops(lines: Sequence[str]) -> Iterator[_Loop]:
    """Yield the outermost loops over elements that depend on memory and constants alone."""
    types = _types(lines)
    end = 0
    for k, line in enumerate(lines):
        if k < end or not _FOR.match(line):
            continue
        end = _end(lines, k)
        first = k - 1 if k and _PRAGMA.match(lines[k - 1]) else k
        if (taken := _taken("\n".join(lines[first:end]), types)) is not None:
            yield _Loop(first, end, *taken)


def _end(lines: Sequence[str], first: int) -> int:
    """Return the line behind the block that begins in a line."""
    depth = 0
    for k in itertools.count(first):
        depth += lines[k].count("{") - lines[k].count("}")
        if depth <= 0:
            return k + 1
    raise AssertionError("a block without end")


def _types(lines: Sequence[str]) -> dict[str, str]:
    """Return the types of numbers and pointers by name, none for names of several types, or in reach of a pointer."""
    text = "\n".join(lines)
    types: dict[str, str] = {}
    for constant, kind, pointer, name in _DECLARED.findall(text):
        of_name = f"{constant if pointer else ''}{kind} {pointer}"
        types[name] = of_name if types.get(name, of_name) == of_name else ""
    return types | dict.fromkeys(_REFERENCED.findall(text), "")


def _taken(text: str, types: dict[str, str]) -> tuple[_Key, tuple[str, ...]] | None:
    """Return the key of a loop, and the names of what it takes; None if it can be no function."""
    if _OTHERS.search(text):
        return None
    own = dict.fromkeys([d[3] for d in _DECLARED.findall(text)])
    names = tuple([n for n in dict.fromkeys(_NAME.findall(text)) if n not in own and not _is_given(n)])
    if not all(map(types.get, names)) or not {*names}.isdisjoint(itertools.chain(*_WRITTEN.findall(text))):
        return None
    new = {name: f"{letter}{k}" for letter, group in (("x", names), ("y", own)) for k, name in enumerate(group)}
    body = _NAME.sub(lambda m: new.get(m[0], m[0]), text)
    return (tuple([types[name] for name in names]), body), names


def _is_given(name: str) -> bool:
    """Return whether a name is a word of C, or a type or function of the headers."""
    return name in _WORDS or name.startswith(("as_", "__builtin_")) or re.fullmatch(r"u?int\d+_t", name) is not None


# -- memory ------------------------------------------------------------------------------------------------------


def with_shared_memory(lines: Sequence[str]) -> list[str]:
    """Return the lines of a trip, in which values take memory of others that are not read any more."""
    ends, shared = _ends(lines), [*lines]
    free: dict[str, list[tuple[int, str]]] = {}  # names of memory, and the lines behind which nothing reads it
    for k, name, size in _allocated(lines):
        over = [one for one in free.get(size, []) if one[0] < k]
        if over:
            free[size].remove(over[0])
            shared[k] = f"{shared[k].partition(' = ')[0]} = {over[0][1]};"
        free.setdefault(size, []).append((ends[name], name))
    return shared


def _allocated(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and size of what a trip allocates in none of its blocks, if the size stays what it is."""
    depth = 0
    for k, line in enumerate(lines):
        if not depth and (match := _ALLOCATED.match(line)) and not _CHANGING.search(match[3]):
            yield k, match[2], match[3]
        depth += line.count("{") - line.count("}")


def _ends(lines: Sequence[str]) -> dict[str, int]:
    """Return the line behind which nothing reads memory, by name: the end of the outermost block that reads it."""
    owners = {name: {name} for _, name, _ in _allocated(lines)}
    depth, waiting, ends = 0, set[str](), dict[str, int]()
    for k, line in enumerate(lines):
        names = [name for name in dict.fromkeys(_NAME.findall(line)) if name in owners]
        read = set[str]().union(*[owners[name] for name in names])
        waiting |= read
        if (pointer := _POINTER.match(line)) and pointer[1] not in names[:1]:
            owners[pointer[1]] = owners.get(pointer[1], set()) | read
        elif _is_passed_on(line, names):
            ends |= dict.fromkeys(read, len(lines))
        depth += line.count("{") - line.count("}")
        if depth <= 0:
            ends |= {name: max(k, ends.get(name, 0)) for name in waiting}
            waiting.clear()
    return ends


def _is_passed_on(line: str, names: Sequence[str]) -> bool:
    """Return whether a line has an address as another pointer, or as a number."""
    return any(re.search(rf"(?:= |\(int64_t\)){name}\b(?!\[)", line) for name in names)


# -- functions of numbers ----------------------------------------------------------------------------------------


_NUMBER = re.compile(r"\s*const \w+ (\w+) = (.*)")
_OF_VECTORS = re.compile(r"\bas_(exp|log)\(")


def with_calls_alone(lines: Sequence[str], carries: Sequence[str]) -> list[str]:
    """Return the lines of a trip, in which functions of what trips before have made take branches.

    Such trips run one by one, as those do that a check may end. Functions without branches, which vectors need, take
    longer, and have the same bits. `carries` are the names of what trips hand on.
    """
    is_checked = any("AS_FAIL" in line for line in lines)
    late, depth, chosen = {*carries}, 0, list[str]()
    for line in lines:
        number = None if depth else _NUMBER.match(line)
        depth += line.count("{") - line.count("}")
        if number is not None and (is_checked or not late.isdisjoint(_NAME.findall(number[2]))):
            late.add(number[1])
            line = _OF_VECTORS.sub(r"as_\1_alone(", line)
        chosen.append(line)
    return chosen
