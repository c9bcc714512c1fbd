"""Share the exponential of an error function with its derivative.

An error function is computed from exp(-x**2), which is its derivative but for a factor. Where a group has both, the
exponential is an operand of the error function. Its bits are the same as if it were not.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

from anyshape.backend.compiler.c_expressions import CText, suffix
from anyshape.backend.native.statements import Axis, Map, Operand, Statement, Value

_SQUARES = ("({0} * {0})", "({0} * {1})")
_Identity: TypeAlias = tuple[str, tuple[Axis, ...]]


def with_shared_exponentials(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return statements in which error functions read exponentials that the group computes too."""
    makers = {s.target.name: s for s in statements if isinstance(s, Map)}
    candidates = [_chain(maker, makers) for maker in makers.values()]
    chains = {_identity(chain[0].operands[0]): chain for chain in candidates if chain}
    result: dict[Statement, None] = {}  # each once, in order
    for statement in statements:
        if _is_call(statement, "erf") and (chain := chains.get(_identity(statement.operands[0]))):
            result.update(dict.fromkeys(chain))
            result[_with_exponential(statement, chain[-1].target)] = None
        else:
            result[statement] = None
    return tuple(result)


def _is_call(statement: Statement, name: str) -> TypeGuard[Map]:
    """Return whether a statement calls an elementary function of one operand."""
    return isinstance(statement, Map) and statement.text.value == f"as_{name}{suffix(statement.target.dtype)}({{0}})"


def _chain(statement: Map, makers: Mapping[str, Map]) -> tuple[Map, ...]:
    """Return the statements that compute exp(-x**2), in order, if a statement is the last of them; else none."""
    if not _is_call(statement, "exp"):
        return ()
    negative = _maker(statement, makers)
    square = _maker(negative, makers) if negative is not None and negative.text.value == "(-{0})" else None
    if negative is None or square is None or square.text.value not in _SQUARES:
        return ()
    return (square, negative, statement) if len({_identity(x) for x in square.operands}) == 1 else ()


def _maker(statement: Map, makers: Mapping[str, Map]) -> Map | None:
    """Return the statement that computes the first operand, if that has the axes of the result."""
    operand = statement.operands[0]
    maker = makers.get(operand.name) if isinstance(operand, Value) else None
    return maker if maker is not None and _identity(operand)[1] == maker.target.loop_axes() else None


def _identity(operand: Operand) -> _Identity:
    """Return what tells operands apart."""
    return (operand.name, operand.loop_axes()) if isinstance(operand, Value) else (operand, ())


def _with_exponential(statement: Map, exponential: Value) -> Map:
    """Return the statement of an error function that reads an exponential."""
    text = CText(f"as_erf_given{suffix(statement.target.dtype)}({{0}}, {{1}})")
    return Map(statement.target, text, (statement.operands[0], exponential))
