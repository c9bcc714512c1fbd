"""A plan: a graph lowered to straight-line steps on named slots. Frozen data; nothing is left to decide but sizes.

Sizes in a plan are value-side expressions over the variables of the program, read off the inputs at entry.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.prover.constraints import Condition, SourceLine
from anyshape.graph.shapes.array_type import Exact, TensorMeta, UpperBound
from anyshape.graph.signature.dim_equations import Solved
from anyshape.graph.sizes import expr as dims
from anyshape.graph.sizes.expr import DimExpr, DimVar, InputAxis, RuntimeScalar, Size


@dataclass(frozen=True, slots=True)
class Literal:
    """A scalar operand that is known when the plan is made."""

    value: Any
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.value}"

    def array(self) -> np.ndarray:
        return np.array(self.value, self.dtype)


@dataclass(frozen=True, slots=True)
class Step:
    """Run a kernel on slots, into slots.

    `sources`: the slots whose sizes params read when the step runs, by position, as these sizes have no name;
    `reuse`: the slot whose buffer takes the result; `drops`: slots to free after; `instead`: the movement that a view
    stands for, which runs where its operand is not in C order.
    """

    op: Op
    inputs: tuple[str | Literal, ...]
    params: tuple[tuple[str, Any], ...]
    outputs: tuple[str, ...]
    metas: tuple[TensorMeta, ...]  # of the inputs, for the choice of a kernel
    results: tuple[TensorMeta, ...]
    reuse: str | None = None
    drops: tuple[str, ...] = ()
    where: SourceLine | None = None
    instead: tuple[Step, ...] = ()
    sources: tuple[str, ...] = ()

    def variables(self) -> set[DimVar]:
        """The variables in its params, and in the sizes of what it reads and gives; also of steps `instead` of it."""
        extents = [e for m in (*self.metas, *self.results) for e in m.extents]
        sizes = [e.size for e in extents if isinstance(e, (Exact, UpperBound))]
        found = {*variables_in(tuple([p for _, p in self.params])), *variables_in(tuple(sizes))}
        return found.union(*[step.variables() for step in self.instead])

    def __str__(self) -> str:
        params = ", ".join(f"{k}={_text(v)}" for k, v in self.params)
        inside = f" in {self.reuse}" if self.reuse else ""
        drops = f"  drop {', '.join(self.drops)}" if self.drops else ""
        operands = ", ".join(map(str, self.inputs))
        read = f"; sizes of {', '.join(self.sources)}" if self.sources else ""
        call = f"{self.op}({operands}{read}){' {' + params + '}' if params else ''}"
        replaced = f" for {', '.join(str(s.op) for s in self.instead)}" if self.instead else ""
        return f"{', '.join(self.outputs)} = {call}{replaced}{inside}{drops}"


def variables_in(param: Any) -> list[DimVar]:
    """The variables in a param of a step."""
    if isinstance(param, tuple):
        return [v for p in param for v in variables_in(p)]
    return list(dims.variables(param)) if isinstance(param, DimExpr) else []


@dataclass(frozen=True, slots=True)
class Group:
    """Steps that work along the same rows, which a call may run a tile of rows at a time.

    `flags` tell for each step which operands have the rows; `escaping` are the slots that others read, `totals` those
    whose rows are summed up, `placed` those that hold the rows of another among rows of their own; `ended` says why no
    further step is in it. So many axes behind the first may be `merged` with it.
    """

    steps: tuple[Step, ...]
    rows: Size
    flags: tuple[tuple[bool, ...], ...]
    escaping: tuple[str, ...]
    totals: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()
    ended: str = ""
    merged: int = 0

    @property
    def start(self) -> str:
        """The first slot that it makes."""
        return self.steps[0].outputs[0]

    @property
    def rowed(self) -> tuple[TensorMeta, ...]:
        """What is known of the values that have the rows."""
        pairs = [(m, f) for s, flags in zip(self.steps, self.flags, strict=True) for m, f in zip(s.metas, flags)]
        results = [s.results[0] for s in self.steps if s.outputs[0] not in (*self.totals, *self.placed)]
        return (*[m for m, flag in pairs if flag], *results)

    @property
    def widest(self) -> TensorMeta:
        """Of a value with the rows and the most axes."""
        return max(self.rowed, key=lambda m: m.rank)

    def __str__(self) -> str:
        how = dict.fromkeys(self.totals, "total ") | dict.fromkeys(self.placed, "padded ")
        given = ", ".join(f"{how.get(slot, '')}{slot}" for slot in self.escaping)
        inside = sum(len(s.outputs) for s in self.steps) - len(self.escaping)
        return f"tiles of {self.rows} rows give {given}; {inside} values stay in a tile; ended by {self.ended}"


def _slot_text(leaf: Any) -> str:
    if isinstance(leaf, InputAxis):
        return f"x{leaf.operand}.shape[{leaf.axis}]"
    return f"int(x{leaf.operand})" if isinstance(leaf, RuntimeScalar) else str(leaf)


def _found_text(solved: Solved) -> str:
    left = str(solved.variable) if solved.curve is None else dims.show(solved.curve)
    return f"{left} = {dims.show(dims.floordiv(solved.target, solved.divisor), _slot_text)}"


def _text(param: Any) -> str:
    if isinstance(param, tuple):
        return f"({', '.join(map(_text, param))}{',' if len(param) == 1 else ''})"
    return str(param)


@dataclass(frozen=True)
class Plan:
    """Steps, with the slots that inputs and constants start in and those that outputs are taken from.

    `dims` says how a call finds the variables, `values` which inputs are sizes by their value, `runtime` which sizes
    depend on data: each is noted where a step first gives an array that has it. `copied` outputs may
    share memory with an input, a constant or each other, and are copied before they are returned. The steps that
    run `first` depend on sizes alone: what others read of them is kept for calls of the same sizes.
    """

    name: str
    inputs: tuple[str, ...]
    input_metas: tuple[TensorMeta, ...]
    input_names: tuple[str, ...]
    constants: tuple[tuple[str, np.ndarray], ...]
    dims: tuple[Solved, ...]
    conditions: tuple[Condition, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str | Literal, ...]
    output_metas: tuple[TensorMeta, ...]
    copied: tuple[bool, ...] = field(default=())
    values: tuple[tuple[int, Size], ...] = ()
    runtime: tuple[DimVar, ...] = ()
    groups: tuple[Group, ...] = ()
    first: tuple[Step, ...] = ()

    @property
    def kept(self) -> tuple[str, ...]:
        """The slots of `first` that other steps read."""
        read = {slot for step in self.steps for slot in (*step.inputs, *step.sources)}
        return tuple([slot for step in self.first for slot in step.outputs if slot in read])

    def __str__(self) -> str:
        arguments = ", ".join(f"{s}: {m}" for s, m in zip(self.inputs, self.input_metas, strict=True))
        sizes = [f"  {_found_text(s)}" for s in self.dims]
        checks = [f"  assert {c.claim}" for c in self.conditions if c.kind == "assertion"]
        body = [f"  {', '.join(self.kept)} are kept for calls of these sizes"] if self.first else []
        body += [*[f"  | {step}" for step in self.first], *self._body()]
        ends = ", ".join(f"copy({o})" if c else str(o) for o, c in zip(self.outputs, self.copied, strict=True))
        return "\n".join([f"plan {self.name}({arguments})", *sizes, *checks, *body, f"  return {ends}"])

    def _body(self) -> list[str]:
        """The steps, with a line above those of a group."""
        groups, lines, left = {g.start: g for g in self.groups}, [], 0
        for step in self.steps:
            group = groups.get(step.outputs[0]) if step.outputs else None
            if group is not None:
                lines.append(f"  {group}")
                left = len(group.steps)
            lines.append(f"  {'| ' if left > 0 else ''}{step}")
            left -= 1
        return lines

    def show(self) -> None:
        """Print the plan: its sizes, its steps, and which of them run by tiles, with reasons."""
        sys.stdout.write(f"{self}\n")
