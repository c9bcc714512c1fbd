"""Values of sizes that Python needs: of a run-time size in the current call, and of `len(x)`.

A run-time size is known in the current call, and each run checks it: Python decides on it as on any value.

`len(x)` must be an int. If Python compares it with a number at once, as in `len(x) > 1`, only the comparison is
decided. The int is then an example with that outcome. So a program serves all sizes with the same outcome.
"""

import builtins
import dis
import functools
import operator
import types
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from anyshape.errors import DataDependentSizeError
from anyshape.graph.ir.builder import active, resume, unhidden, user_line
from anyshape.graph.ir.op_local import ancestors
from anyshape.graph.prover.constraints import equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.sizes.expr import DimVar, variables
from anyshape.numpy.operands.promotion import resolve_size, sizes
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import size_value
from anyshape.ops.elementwise import convert
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type


def decided(size: Any, dtype: type, asked: str, error: DataDependentSizeError) -> bool | int:
    """Return a run-time size as Python decides on its value in this call; raise the error where calls have none."""
    if (builder := active()) is None or builder.answer is None:
        raise unhidden(error)
    owners = [owner for v in variables(size.expr) if (owner := builder.dim_owner(v)) is not None]
    with resume(max(owners, key=lambda owner: owner.depth, default=builder)):  # a body of a loop has no values
        value = size_value(resolve_size(size))
        value = value if value.dtype == dtype else convert(value, np.dtype(dtype))
    return builder.answer(value, asked)


def trips(size: Any) -> int:
    """Return the number of rows that a loop of Python takes.

    A run-time size is one if integers alone make it, as an argument of the function does in `np.linspace(0, 1, n)`.
    Others are refused: a loop over the elements that a mask selects is a loop of the program.
    """
    if not isinstance(size, SymbolicSize):
        return operator.index(size)
    try:
        return size.scope.value(size.expr, user_line())
    except DataDependentSizeError as error:
        if not all(map(_is_made_of_integers, variables(size.expr))):
            raise
        return int(decided(size, int, "int()", error))


def unpacked(size: Any, frame: FrameType, rows: Any) -> int:
    """Return the number of names in `a, b = rows` of a frame, if there may be as many rows; 0 for other code."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if not isinstance(size, SymbolicSize) or code[at] != _UNPACK or code[at - 2] == dis.EXTENDED_ARG:
        return 0
    names = code[at + 1]
    if size.scope.hints is not None:
        return names if bool(size.__eq__(names)) else 0
    context_of("unpack", rows).require(equal(sizes(rows)[0], names), f"{names} names for {size} rows")
    return names


_UNPACK = dis.opmap["UNPACK_SEQUENCE"]


def _is_made_of_integers(variable: DimVar) -> bool:
    """Return whether a size is one of arguments, or a run-time one that integers without axes make."""
    builder = active()
    owner = None if builder is None else builder.dim_owner(variable)
    if owner is None or variable not in owner.runtime:
        return owner is not None
    value, _ = owner.runtime[variable]
    makers = ancestors(owner.nodes, value) - {value}
    return all(v.meta.dtype.kind in "biu" and not v.meta.rank for v in makers)


# -- len -----------------------------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """Comparison of `len(x)` with a number: by an operator of Python."""

    compare: Callable[[Any, int], Any]
    number: int


# what to add to the number for an int that makes the comparison true, and for one that makes it false
_EXAMPLES: dict[str, tuple[Callable[[Any, int], Any], int, int]] = {
    "==": (operator.eq, 0, 1),
    "!=": (operator.ne, 1, 0),
    ">": (operator.gt, 1, 0),
    ">=": (operator.ge, 0, -1),
    "<": (operator.lt, -1, 0),
    "<=": (operator.le, 0, 1),
}
_BY_OPERATOR = {compare: (if_true, if_false) for compare, if_true, if_false in _EXAMPLES.values()}
_MIRRORED = str.maketrans("<>", "><")
_NOT_ZERO = Comparison(operator.ne, 0)
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME")
_CALLS = ("PRECALL", "CALL")  # Python 3.11 may call `len` at the first of the two
_PADDING = ("CACHE", "NOT_TAKEN", "EXTENDED_ARG")
_NUMBERS = ("LOAD_CONST", "LOAD_SMALL_INT")
_TRUTH = ("UNARY_NOT", "TO_BOOL")


def length(size: Any, frame: FrameType) -> int:
    """Return the number of rows for the builtin `len`, which a frame calls."""
    if not isinstance(size, SymbolicSize):
        return operator.index(size)
    comparison = _comparisons(frame.f_code).get(frame.f_lasti)
    if comparison is None or not _calls_len(frame):
        return operator.index(size)
    answer = bool(comparison.compare(size, comparison.number))
    return max(comparison.number + _BY_OPERATOR[comparison.compare][not answer], 0)


def _calls_len(frame: FrameType) -> bool:
    """Return whether the name `len` means the builtin function in a frame."""
    return frame.f_globals.get("len", frame.f_builtins.get("len")) is builtins.len


@functools.lru_cache(maxsize=512)
def _comparisons(code: CodeType) -> types.MappingProxyType[int, Comparison]:
    """Return the calls of `len` in a code whose result is compared with a number at once, by the offset of the call."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _PADDING]
    starts = {_start(i): k for k, i in enumerate(instructions) if i.opname in _NAMES and i.argval == "len"}
    comparisons: dict[int, Comparison] = {}
    for k, call in enumerate(instructions):
        if call.opname in _CALLS and call.arg == 1 and _start(call) in starts:
            first = k + 2 if call.opname == "PRECALL" else k + 1  # a further call is of another function
            comparison = _comparison_around(instructions, starts[_start(call)], first)
            comparisons |= {} if comparison is None else {call.offset: comparison}
    return types.MappingProxyType(comparisons)


def _start(instruction: dis.Instruction):
    """Return where the expression of an instruction starts in the source: a call starts with the name that it calls."""
    position = instruction.positions
    known = position is not None and position.lineno is not None and position.col_offset is not None
    return (position.lineno, position.col_offset) if known and position is not None else instruction.offset


def _comparison_around(instructions: Sequence[dis.Instruction], name: int, after: int) -> Comparison | None:
    """Return the comparison of a call from the name `len` up to the instruction after it, None for another use."""
    comparison = _comparison_after(*instructions[after : after + 2])
    if comparison is None and instructions[after].opname == "COMPARE_OP":
        comparison = _mirrored(_number_before(instructions, name), instructions[after])
    return comparison


def _number_before(instructions: Sequence[dis.Instruction], k: int) -> int | None:
    """Return the number that is loaded just before the name `len`, None if there is none, or if a jump skips it."""
    while k > 0 and not instructions[k].is_jump_target:
        k -= 1
        before = instructions[k]
        if before.opname in _NUMBERS and has_type(before.argval, int):
            return int(before.argval)
        if before.opname != "PUSH_NULL":
            break
    return None


def _mirrored(number: int | None, comparison: dis.Instruction) -> Comparison | None:
    """Return the comparison of a result with a number on its left, None without a number."""
    return None if number is None else Comparison(_EXAMPLES[_symbol(comparison).translate(_MIRRORED)][0], number)


def _symbol(comparison: dis.Instruction) -> str:
    return str(comparison.argval).removeprefix("bool(").removesuffix(")")


def _comparison_after(first: dis.Instruction, second: dis.Instruction | None = None) -> Comparison | None:
    """Return the comparison that the instructions after a call make of its result, None if they make another use."""
    if first.opname in _TRUTH or (first.opname.startswith("POP_JUMP") and not first.opname.endswith("NONE")):
        return _NOT_ZERO
    if first.opname not in _NUMBERS or not has_type(first.argval, int):
        return None
    if second is None or second.opname != "COMPARE_OP":
        return None
    return Comparison(_EXAMPLES[_symbol(second)][0], int(first.argval))
