"""Lines that call kernels: for one step, or for a view with its fallback. Sizes are local ints.

Counters of loops: scalars that a generated function holds as Python ints, as no array ever reads them.

NumPy's scalars take ten times as long. A counter is a carry or a captured scalar that bodies read only to count on, and
to compare it with a scalar.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.user_lines import PlacedKernels
from anyshape.backend.compiler.plan import Literal, Plan, Slot, Step
from anyshape.backend.runtime.thread_pool import MIN_PRODUCTS
from anyshape.graph.ir.op_local import has_local
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size, as_atom
from anyshape.graph.sizes.polynomials import Call
from anyshape.graph.sizes.symbols import DimVar, InputAxis, Leaf, call_source, to_source
from anyshape.ops import elementwise as ew
from anyshape.ops.core.apply import KERNELS, CallSite
from anyshape.ops.creation import size_value_op
from anyshape.ops.loops import Layout
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.progress import count_op


@dataclass(frozen=True)
class FunctionSource:
    """Source of a helper function of a plan; `marks` are the lines, counted from 1, at which steps begin."""

    text: str
    marks: tuple[tuple[int, Step], ...]


class StepKernels(Protocol):
    """Gives kernels of steps that have parts in machine code."""

    def step_function(self, step: Step, threads: int | None) -> Callable[..., Any] | None:
        """Return such a kernel of a step, for up to so many threads; None if there is none."""


class StepSource:
    """Collects lines, and the objects that names in them are bound to.

    - `size_locals`: locals of variables that the lines may read.
    - `computed`: locals of size expressions and of calls inside them, each computed once.
    - `sources`: the slots that unnamed sizes of the current step are read from.
    - `prefix`: begins the names of the locals.
    - `ints`: slots that hold Python ints.
    - `placed`: the kernels of the plan, at lines of the user.
    - `kernels`: gives kernels with machine code, which at most `threads` threads run.
    """

    size_locals: Mapping[DimVar, str]
    names: dict[str, Any]

    prefix = ""
    ints: Collection[Slot] = ()
    placed: PlacedKernels
    kernels: StepKernels | None = None
    threads: int | None = None

    def __init__(self, size_locals: Mapping[DimVar, str], names: dict[str, Any]) -> None:
        self.size_locals, self.names = size_locals, names
        self.lines: list[str] = []
        self.computed: dict[DimExpr | Call, str] = {}
        self.sources: tuple[str, ...] = ()

    def bind(self, prefix: str, thing: Any) -> str:
        """Bind an object to a new name."""
        name = naming.unused_name(prefix, self.names)
        self.names[name] = thing
        return name

    @contextmanager
    def collect_apart(self, *, fresh_scope: bool = False) -> Iterator[list[str]]:
        """Collect lines in a list of their own. Sizes that they compute are local to them.

        A `fresh_scope` knows no computed sizes: the lines are of another function.
        """
        lines, computed = self.lines, self.computed
        self.lines, self.computed = [], {} if fresh_scope else dict(computed)
        try:
            yield self.lines
        finally:
            self.lines, self.computed = lines, computed

    # -- steps

    def call_kernel(self, step: Step) -> None:
        """Write the call of a step."""
        count_op()
        computed, self.sources = self.computed, step.sources
        if step.sources:
            self.computed = dict(computed)  # sizes read from these arrays are for this step alone
        numbers = not any(meta.rank for meta in step.metas)
        operands = [self.operand(operand, numbers) for operand in step.inputs]
        lines = self._comparison(step) or self._inlined(step, operands) or _scalar_operation(step, operands)
        if lines is None:
            lines = [self._call(step, operands)]
        self.computed = computed
        self.lines += lines

    def call_view(self, step: Step) -> None:
        """Write a view of an operand in C order; for any other operand, and where there is no view, its fallback."""
        (source,), (target,) = step.inputs, step.outputs
        self.lines.append(f"{target} = None")
        self._write_if(f"{source}.flags.c_contiguous", [step])
        self._write_if(f"{target} is None", step.fallback)
        between = [slot for part in step.fallback[:-1] for slot in part.outputs]
        if between:
            self.lines.append(f"    del {', '.join(between)}")

    def _write_if(self, condition: str, steps: Sequence[Step]) -> None:
        with self.collect_apart() as lines:
            for step in steps:
                self.call_kernel(step)
        self.lines += [f"if {condition}:", *[f"    {line}" for line in lines]]

    def _inlined(self, step: Step, operands: Sequence[str]) -> Sequence[str] | None:
        """Return the lines of a step whose kernel writes itself, else None."""
        inline = KERNELS[step.op].inline
        if inline is None:
            return None
        (target,), (result,) = step.outputs, step.results

        def bind(thing: Any) -> str:
            if not callable(thing):
                return self.bind("p", thing)
            return self.bind(f"k_{step.op.name}_", self.placed.at(thing, step.where))

        site = CallSite(target, tuple(operands), dict(step.params), step.metas, result, step.reuse, self._param, bind)
        if result == INT:
            site = replace(site, ints=list(map(self._int, step.inputs)), is_int=target in self.ints)
        return inline(site)

    def _int(self, operand: Slot) -> str:
        """Return the source of an int64 scalar as a Python int."""
        if isinstance(operand, Literal):
            return str(operand.value)
        return operand if operand in self.ints else f"{operand}.item()"

    def _comparison(self, step: Step) -> list[str] | None:
        """Return the line of a comparison of a Python int with a scalar, None for any other step."""
        if not self.ints or not compares(step, self.ints):
            return None
        (target,), (x, y) = step.outputs, map(self._int, step.inputs)
        compared = f"{x} {COMPARISONS[step.op]} {y}"
        return [f"{target} = {compared if target in self.ints else self.bind('k_', np.bool_) + f'({compared})'}"]

    def _call(self, step: Step, operands: Sequence[str]) -> str:
        arguments = list(operands)
        if step.reuse is not None:
            arguments.append(f"out={step.reuse}" if KERNELS[step.op].out == "keyword" else step.reuse)
        function, keywords = self._kernel(step)
        function = self._split_if_large(step, function)
        return f"{', '.join(step.outputs)} = {function}({', '.join([*arguments, *keywords])})"

    def _kernel(self, step: Step) -> tuple[str, list[str]]:
        """Return the name of the function to call, and its keyword arguments."""
        kernel, params = KERNELS[step.op], dict(step.params)
        if not any(has_local(p) for p in params.values()):
            special = kernel.specialise(params, step.metas) if kernel.specialise is not None else None
            if special is not None:
                return self.bind("k_", self.placed.at(special, step.where)), []
            function = self.function_of(step)
            run = functools.partial(function, **params) if params else function
            return self.bind(f"k_{step.op.name}_", self.placed.at(run, step.where)), []
        run = self.placed.at(self.function_of(step), step.where)
        return self.bind(f"k_{step.op.name}_", run), [f"{k}={self._param(p)}" for k, p in params.items()]

    def function_of(self, step: Step) -> Callable[..., Any]:
        """Return the kernel of a step, with parts in machine code if the plan is compiled and there are any."""
        compiled = None if self.kernels is None else self.kernels.step_function(step, self.threads)
        return KERNELS[step.op].run if compiled is None else compiled

    def _split_if_large(self, step: Step, function: str) -> str:
        """Return the function, or a choice between it and one that several threads share, by the work of the call."""
        share = KERNELS[step.op].split
        if share is None or not all(isinstance(o, str) for o in step.inputs):
            return function
        shared, axes = share(dict(step.params), step.metas)
        products = " * ".join([f"{step.inputs[0]}.size", *[f"{step.inputs[1]}.shape[{axis}]" for axis in axes]])
        name = self.bind("shared", self.placed.at(shared, step.where))
        return f"({name} if {products} >= {MIN_PRODUCTS} else {function})"

    # -- operands, params and sizes

    def operand(self, operand: Slot, number: bool = False) -> str:
        """Return a slot, or a bound literal: an array, which ufuncs take fastest, or a number among numbers."""
        if not isinstance(operand, Literal):
            return operand
        return self.bind("literal", operand.array()[()] if number else operand.array())

    def _param(self, param: Any) -> str:
        if isinstance(param, tuple):
            inner = ", ".join(self._param(p) for p in param)
            return f"({inner},)" if len(param) == 1 else f"({inner})"
        if isinstance(param, DimExpr):
            return self._size(param)
        if isinstance(param, (int, str, type(None))):
            return repr(param)
        return self.bind("p", param)

    def atom(self, size: Size) -> str:
        """Return a local that holds the size, or the number that it is."""
        return self._size(size) if isinstance(size, DimExpr) else str(size)

    def _size(self, size: DimExpr) -> str:
        atom = expr.as_atom(size)
        if isinstance(atom, DimVar):
            return self.size_locals[atom]
        if size not in self.computed:
            text = self.text(size)
            self.computed[size] = text if text.isidentifier() else self._new_local(text)
        return self.computed[size]

    def text(self, size: Size) -> str:
        """Return the size as an expression of locals."""
        return to_source(size, self.leaf_text, self.local_of)

    def leaf_text(self, leaf: Leaf) -> str:
        """Return the source of a variable, or of an axis of an array whose size has no name."""
        if isinstance(leaf, InputAxis):
            return f"{self.sources[leaf.operand]}.shape[{leaf.axis}]"
        return self.size_locals[leaf] if isinstance(leaf, DimVar) else str(leaf)

    def local_of(self, call: Call) -> str:
        """Return a local that holds the value of a call: calls share parts, and Python limits nesting."""
        if call not in self.computed:
            self.computed[call] = self._new_local(call_source(call, self.leaf_text, self.local_of))
        return self.computed[call]

    def _new_local(self, source: str) -> str:
        local = self.prefix + naming.size_local(len(self.computed))
        self.lines.append(f"{local} = {source}")
        return local


# Operators of Python on NumPy's scalars give what their ufuncs give, in a fifth of the time. Arithmetic of integers is
# left out: an overflow warns in scalars alone.
_ARITHMETIC = {ew.add_op: "+", ew.sub_op: "-", ew.mul_op: "*"}


def _scalar_operation(step: Step, operands: Sequence[str]) -> list[str] | None:
    """Return the line of an operation on two scalars, None for any other step."""
    if len(operands) != 2 or step.reuse is not None or any(meta.rank for meta in step.metas):
        return None
    kind = step.metas[0].dtype.char
    operator = _ARITHMETIC.get(step.op) if kind in "fd" else None
    operator = operator or (COMPARISONS.get(step.op) if kind in "?bhilqfd" else None)
    return None if operator is None else [f"{step.outputs[0]} = {operands[0]} {operator} {operands[1]}"]


INT = tensor(np.dtype(np.int64), ())
COMPARISONS = {ew.lt_op: "<", ew.le_op: "<=", ew.gt_op: ">", ew.ge_op: ">=", ew.eq_op: "==", ew.ne_op: "!="}


def counters(
    conditions: Sequence[Plan], others: Sequence[Plan], trip: Plan, layout: Layout, count: int
) -> dict[int, set[Slot]]:
    """Return by id of a plan its slots that hold Python ints, of the condition of a loop and of a trip.

    An input holds one in both or in neither, and so does a carry before and after a trip. `count` are the inputs that
    are operands of the loop. Other bodies read no counter.
    """
    ints = _made(trip, layout.carries)
    positions = [*range(layout.carries), *range(layout.own, count)]
    ints |= {trip.inputs[i] for i in positions if _is_counter(i, conditions, others, trip, layout.carries)}
    ends = trip.outputs[: layout.carries]
    while changed := [pair for pair in zip(trip.inputs, ends, strict=False) if (pair[0] in ints) != (pair[1] in ints)]:
        ints.difference_update([slot for pair in changed for slot in pair])
    at = [i for i, slot in enumerate(trip.inputs) if slot in ints]
    by_plan: dict[int, set[Slot]] = {id(plan): _of_condition(plan, {plan.inputs[i] for i in at}) for plan in conditions}
    return by_plan | {id(trip): ints}


def _is_counter(i: int, conditions: Sequence[Plan], others: Sequence[Plan], trip: Plan, carries: int) -> bool:
    """Return whether the condition and a trip only count on from input i or compare it, and other bodies ignore it."""
    if trip.input_metas[i] != INT or not _is_counted(trip, trip.inputs[i], carries):
        return False
    is_read = any(plan.inputs[i] in step.reads for plan in others for step in plan.steps)
    return not is_read and all(_is_counted(plan, plan.inputs[i], 0) for plan in conditions)


def compares(step: Step, ints: Collection[Slot]) -> bool:
    """Return whether a step compares scalars, and a Python int is among them."""
    return step.op in COMPARISONS and any(slot in ints for slot in step.inputs)


def _made(plan: Plan, carries: int) -> set[Slot]:
    """Return the slots of counters that the steps of a plan make."""
    return {s.outputs[0] for s in plan.steps if _is_made(s) and _is_counted(plan, s.outputs[0], carries)}


def _is_made(step: Step) -> bool:
    """Return whether a step makes a scalar that is a Python int before it is converted."""
    if step.op is size_value_op:
        return isinstance(as_atom(dict(step.params)["size"]), DimVar)
    return step.op is ew.python_int_op and _are_ints(step.metas)


def _are_ints(metas: Sequence[TensorMeta]) -> bool:
    return all(meta == INT for meta in metas)


def _is_counted(plan: Plan, slot: Slot, carries: int) -> bool:
    """Return whether a plan reads a slot only to count on, to compare it, and as one of its first results."""
    steps = [step for step in plan.steps if slot in step.reads]
    counts = all(_are_ints(s.metas) and (s.op is ew.python_int_op or s.op in COMPARISONS) for s in steps)
    return counts and slot not in plan.outputs[carries:]


def _of_condition(plan: Plan, inputs: set[Slot]) -> set[Slot]:
    """Return the slots of a condition that hold Python ints, or a Python bool that is its result."""
    ints = inputs | _made(plan, 0)
    compared = {s.outputs[0] for s in plan.steps if compares(s, ints)}
    return ints | {s for s in plan.outputs if s in compared and not any(s in step.reads for step in plan.steps)}
