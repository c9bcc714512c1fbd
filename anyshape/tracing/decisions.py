"""Decisions on values: Python takes the answer from the traced call, and every run checks it.

The values of a call are computed on demand, node by node as the naive evaluator does, and each once. A value inside of
`grad` is that of the primal. One inside of `vmap` is that of the first example, and a run compares it with the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.backend.interpreter import evaluate, evaluate_node
from anyshape.backend.runtime.outcome import PathLeft, unmoved, with_unmoved_constants, without_effects
from anyshape.errors import ConcretizationError, ManyPathsWarning
from anyshape.errors.messages import line_text
from anyshape.graph.ir.builder import Builder, Traced, active_builders, unhidden, user_line
from anyshape.graph.ir.graph import Graph, Node, Value, decisions_of, draws
from anyshape.graph.ir.op_local import topological_order
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import tell
from anyshape.ops.control import decide_op
from anyshape.ops.core.apply import describe
from anyshape.ops.creation import size_value_op
from anyshape.ops.elementwise import convert_op
from anyshape.support.lazy_dataclass import replace
from anyshape.support.packages import libraries, looks
from anyshape.support.true_types import of_library

_MANY_IN_A_ROW = 8  # decisions on one line
_MOST_WITHOUT_EXAMPLES = 64  # decisions of a batch of no examples, whose answer is False or 0
_INSTEAD = "write the choice with np.where or anyshape.cond, and the loop with anyshape.while_loop"
_BEFORE_DRAWS = "decide before the first draw in the function of vmap, or " + _INSTEAD
# what the log says of a line that decides again and again, by how the line begins or the name of the function that asks
_REPEATED = (
    (
        ("while ", "while("),
        (
            "a loop of Python goes on by a value, and each number of its trips is a program of its own",
            "write anyshape.while_loop, which makes it one program",
        ),
    ),
    (
        ("min(", "max("),
        (
            "min or max of Python decides on values many times, and each sequence of answers is a program of its own",
            "write np.minimum or np.maximum, which decide nothing",
        ),
    ),
    (
        ("",),
        (
            "Python decides on values many times on this line, and each sequence of answers is a program of its own",
            "write the choice with np.where or anyshape.cond",
        ),
    ),
)
_Key: TypeAlias = tuple[Builder, Value]


def path_left(graph: Graph, arrays: Sequence[Any]) -> PathLeft | None:
    """Return where a call leaves the path of a graph by its naive evaluation, None where it does not."""
    read: set[Value] = set()
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if node.op is decide_op or not read.isdisjoint(node.outputs):
            nodes.append(node)
            read.update(node.operands)
    try:
        memo: dict[int, Any] = {}
        arrays = on_host(arrays)
        decided = with_unmoved_constants(replace(graph, nodes=tuple(reversed(nodes)), outputs=()), memo)
        evaluate_quietly(decided, unmoved(arrays, memo))
    except PathLeft as left:
        return left
    except Exception:  # of the call itself: the run has raised it too
        return None
    return None


def on_host(arrays: Sequence[Any]) -> list[Any]:
    """Return arrays of other libraries as NumPy's, and others as they are."""
    return [libraries.as_numpy(x) if of_library(x) else x for x in arrays]


def evaluate_quietly(graph: Graph, arrays: Sequence[Any]) -> list[Any]:
    """Return the outputs of a graph by the naive evaluator, without warnings and effects."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), without_effects():
        warnings.simplefilter("ignore")
        return evaluate(graph, arrays)


class Decisions:
    """Decisions of one trace. `strict` refuses them, as `on_decision="error"` demands."""

    def __init__(self, builder: Builder, arrays: Sequence[np.ndarray], strict: bool = False) -> None:
        self.values, self.strict = _Values(builder, arrays), strict
        self.answers: dict[_Key, bool | int] = {}
        self.without_examples = self.in_a_row = 0
        self.line: tuple[str, int] | None = None
        self.failed_by: Exception | None = None  # which the values of this call raise: no other call need meet it
        self.named: set[tuple[str, int]] = set()  # lines that the user was warned of

    def answer(self, x: Traced, asked: str) -> bool | int:
        """Return the value of a scalar in this call, and make the program check it."""
        key = x.builder, x.value
        answer = self.answers.get(key)
        if answer is None:
            where = user_line()
            if any(b.is_batched and b.has_drawn for b in active_builders()):  # a batch draws other numbers
                raise unhidden(ConcretizationError(asked, describe(x), where, _BEFORE_DRAWS))
            answer = self._computed(x, asked, where)
            if self.strict:
                raise unhidden(
                    ConcretizationError(asked, describe(x), where, f'{_INSTEAD}; or give jit on_decision="guard"')
                )
            if looks.is_prompt():
                return answer
            self._count_repeats(where)
            turn = len(self.answers)
            self.answers[key] = answer
            x.builder.emit(decide_op, [x], (), {"answer": answer, "turn": turn})
        return answer

    def value(self, x: Traced) -> Any:
        """Return a value in this call, which the program does not check; None in loops, branches and empty batches."""
        try:
            return self._values().of((x.builder, x.value))
        except (_NoValueError, _NoExampleError):
            return None

    def shown(self, x: Traced) -> str:
        """Return the text of a value in this call."""
        try:
            return repr(self._values().of((x.builder, x.value)))
        except _NoValueError:
            return "has a value in each trip of a loop, and none while the body is traced"
        except _NoExampleError:
            return "has no value, as the batch has no examples"
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def _count_repeats(self, where: SourceLine | None) -> None:
        """Say once where Python decides on one line again and again: each sequence of answers is a path."""
        line = None if where is None else (where.file, where.line)
        self.in_a_row = self.in_a_row + 1 if line == self.line else 1
        self.line = line
        if self.in_a_row == _MANY_IN_A_ROW and line is not None and line not in self.named:
            self.named.add(line)
            text, advice = next(texts for marks, texts in _REPEATED if _is_marked(where, marks))
            tell(f"{text}\n  {advice}", ManyPathsWarning, where)

    def _computed(self, x: Traced, asked: str, where: SourceLine | None) -> bool | int:
        try:
            value = self._values().of((x.builder, x.value))
        except _NoValueError:
            raise unhidden(ConcretizationError(asked, describe(x), where, _INSTEAD)) from None
        except _NoExampleError:
            self.without_examples += 1
            if self.without_examples > _MOST_WITHOUT_EXAMPLES or _is_of_size(x):  # runs know a size of such a batch
                raise unhidden(
                    ConcretizationError(asked, describe(x), where, "give vmap at least one example")
                ) from None
            return False if x.dtype.kind == "b" else 0
        except Exception as error:
            self.failed_by = error
            raise
        answer: bool | int = value.item()
        return answer

    def _values(self) -> _Values:
        """Return the values of this call. Draws are made anew for each decision, in their order, by copies."""
        builders = active_builders()
        if not any(b.has_drawn for b in builders):
            return self.values
        memo: dict[int, Any] = {}
        values = _Values(self.values.root, unmoved(self.values.arrays, memo), memo)
        for builder, node in [(b, node) for b in builders for node in b.nodes if draws(node)]:
            values.of((builder, node.outputs[0]))
        return values

    def require_checked(self, graph: Graph) -> None:
        """Raise an error unless the program checks each answer."""
        checked = {dict(node.params)["turn"] for node in decisions_of(graph)}
        for turn, (builder, value) in enumerate(self.answers):
            if turn not in checked:
                node = next(n for n in builder.nodes if n.op is decide_op and n.inputs[0] is value)
                raise ConcretizationError("a decision", describe(Traced(builder, value)), node.where, _INSTEAD)


def _is_marked(where: SourceLine | None, marks: tuple[str, ...]) -> bool:
    """Return whether a line begins with one of the marks, or its expression does."""
    return line_text(where).startswith(marks) or (where is not None and where.expression.startswith(marks))


def _is_of_size(x: Traced) -> bool:
    """Return whether a decision is on a size, or on a comparison of sizes."""
    makers = {v: node for node in x.builder.nodes for v in node.outputs}
    node = makers.get(x.value)
    if node is not None and node.op is convert_op:
        node = makers.get(node.inputs[0])
    return node is not None and node.op is size_value_op


class _NoValueError(Exception):
    """Raised for a value that depends on more than the arguments of the call: in the body of a loop, or of a branch."""


class _NoExampleError(Exception):
    """Raised for a value of one example of a batch that has none."""


class _Values:
    """Values of one call, computed on demand."""

    def __init__(self, root: Builder, arrays: Sequence[np.ndarray], copies: dict[int, Any] | None = None) -> None:
        self.root, self.arrays = root, arrays
        self.copies: dict[int, Any] = {} if copies is None else copies  # of generators, to draw from
        self.known: dict[_Key, np.ndarray] = {}
        self.makers: dict[Builder, tuple[int, dict[Value, Node]]] = {}

    def of(self, key: _Key) -> np.ndarray:
        """Return the value of a graph under construction."""
        with warnings.catch_warnings(), np.errstate(all="ignore"), without_effects():
            warnings.simplefilter("ignore")
            for needed in topological_order([key], lambda k: None if k in self.known else self._read(k)):
                self._compute(needed)
        return self.known[key]

    def _read(self, key: _Key) -> Iterator[_Key]:
        """Yield the values that a value is computed from."""
        builder, value = key
        if (node := self._maker(builder, value)) is not None:
            yield from ((builder, v) for v in node.operands)
        elif builder is not self.root and (argument := self._argument(builder, value)) is not None:
            yield argument[0]

    def _compute(self, key: _Key) -> None:
        builder, value = key
        if key in self.known:
            return
        if (node := self._maker(builder, value)) is None:
            self.known[key] = self._input(builder, value)
            return
        results = evaluate_node(node, [self.known[builder, v] for v in node.operands])
        self.known |= {(builder, v): result for v, result in zip(node.outputs, results, strict=True)}

    def _maker(self, builder: Builder, value: Value) -> Node | None:
        """Return the node that makes a value, None for inputs, constants and captured values."""
        count, makers = self.makers.get(builder, (0, {}))
        if count < len(builder.nodes):
            makers |= {v: node for node in builder.nodes[count:] for v in node.outputs}
            self.makers[builder] = len(builder.nodes), makers
        return makers.get(value)

    def _argument(self, builder: Builder, value: Value) -> tuple[_Key, bool] | None:
        """Return the value of an enclosing graph that an input stands for, and whether it stands for a row of it."""
        if builder.arguments is None:
            return None
        for outer, (handle, inner) in builder.captured.items():
            if inner is value:
                return (handle.builder, outer), False
        if value in builder.inputs:
            return builder.arguments[builder.inputs.index(value)], builder.takes_rows
        return None

    def _input(self, builder: Builder, value: Value) -> np.ndarray:
        constant = next((array for v, array in builder.constants.pairs() if v is value), None)
        if constant is not None:
            return np.asarray(unmoved([constant], self.copies)[0])
        if builder is self.root:
            if (position := builder.inputs.index(value)) < len(self.arrays):
                return np.asarray(self.arrays[position])
            ((variable, _),) = value.meta.variable_axes()
            return np.zeros((builder.scope.hints or {})[variable], bool)
        if (argument := self._argument(builder, value)) is None:
            raise _NoValueError
        outer, is_row = argument
        array = self.known[outer]
        if is_row and not len(array):
            raise _NoExampleError
        return np.asarray(array[0]) if is_row else array
