"""Programs over other libraries: the plain plan of a graph, written as one function of their arrays.

Constants are moved when the function is made. Each call compares one that the user may change with what was moved.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.execute import EntryGuard, PlanSource, Run, link
from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.passes.pipeline import Tier, prepare_to_run
from anyshape.backend.compiler.plan import Literal, Plan, Step
from anyshape.backend.runtime.config import config
from anyshape.backend.xp.libraries import ROWS, Library, Row
from anyshape.errors import MissingRuleError, UnsupportedFunctionError
from anyshape.graph.ir.graph import Graph, subgraphs
from anyshape.graph.ir.op_local import has_local
from anyshape.graph.signature.prologue import PrologueSource
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.loops import LOOPS
from anyshape.support.lazy_dataclass import replace


def compile_graph(
    graph: Graph,
    library: Library,
    names: Sequence[str] = (),
    numbers: Collection[int] = (),
    guards: Sequence[EntryGuard] = (),
) -> Run:
    """Return the function of a graph over a library.

    - `names`: of the arguments, in errors.
    - `numbers`: positions of arguments that are numbers of Python or NumPy, which each call moves.
    """
    return link(_LibrarySource(_plan(graph, names, library.caches), library, numbers, guards))


def plain_function(
    graph: Graph, library: Library, names: Sequence[str], result: Callable[[Any], Any]
) -> Callable[..., Any]:
    """Return the function of a graph as plain code, without what names lines in errors; `result` takes its outputs.

    Its constants are as they are now.
    """
    writer = _LibrarySource(_plan(graph, names, False), library, (), ())
    writer.is_plain = True
    run, *others = writer.texts()
    head, _, *body = run.rstrip().split("\n")
    last = body[-3].removeprefix("        return ")
    of_outputs = f"{last}[0]" if isinstance(result, operator.itemgetter) else f"_result({last})"  # compilers trace it
    lines = [head, *[line[4:] for line in body[:-3]], f"    return {of_outputs}"]
    scope = writer.names | {"_result": result}
    exec("\n".join([*others, *lines, ""]), scope)
    function: Callable[..., Any] = scope["run"]
    return function


@functools.lru_cache(maxsize=128)
def compiled(graph: Graph, library: Library) -> Callable[..., list[Any]]:
    """Return the function of a subgraph."""
    run: Callable[..., Any] = compile_graph(graph, library)
    return run


def _plan(graph: Graph, names: Sequence[str], hoist: bool) -> Plan:
    plan = lower(graph, hoist, Tier.PLAIN)
    return replace(plan, input_names=tuple(names)) if names else plan


def host_reads(graph: Graph) -> tuple[str, ...]:
    """Return a line for each node whose run waits until the host has read values, and for each loop."""
    lines: dict[str, None] = {}
    for node in prepare_to_run(graph).nodes:
        try:
            row = ROWS[node.op]
        except MissingRuleError:
            row = None
        reads = "all of its operands, as it runs there" if row is None else row.reads
        reads = reads if isinstance(reads, str) else reads(node)
        at = f" at {node.where}" if node.where is not None else ""
        if reads:
            lines[f"the host reads {reads}: {node.op}{at}"] = None
        if node.op in LOOPS:
            lines[f"its trips run one by one from the host: {node.op}{at}"] = None
        lines |= dict.fromkeys([line for inner in subgraphs(node) for line in host_reads(inner)])
    return tuple(lines)


class _LibrarySource(PlanSource):
    """Writes the function of a plain plan over a library; as plain code, constants do not change."""

    is_plain = False

    def __init__(self, plan: Plan, library: Library, numbers: Collection[int], guards: Sequence[EntryGuard]) -> None:
        self.library, self.numbers = library, numbers
        self.chosen = {step.outputs: self._chosen(step) for step in (*plan.hoisted, *plan.steps)}
        apart = {step.outputs for step in plan.steps if self._is_apart(*self.chosen[step.outputs])}
        self.writable = {slot for outputs in apart for slot in outputs} - {
            slot for step in plan.steps if step.outputs not in apart for slot in step.reads
        }
        super().__init__(plan, None, guards, None, None)
        self.checks = False
        self.literals: dict[Any, str] = {}
        self.names |= {"_array": library.copied, "_moved": library.array}

    def _write_prologue(self) -> None:
        super()._write_prologue()
        self.lines += [f"x{i} = _moved(x{i})" for i in sorted(self.numbers)]
        for slot, array in self.plan.constants:
            constant = _Constant(array, self.library)
            if constant.may_change and not self.is_plain:
                self.names[f"{slot}_now"] = constant.now
                self.lines.append(f"{slot} = {slot}_now()")
            else:
                self.names[slot] = constant.moved

    def _write_size_binding(self) -> None:
        writer = PrologueSource(self.prologue, self.size_locals, "(x{}.shape)".format, naming.INPUT_VALUE.format)
        self.lines += writer.lines(self.variables - self.undefined)
        self.names |= writer.names

    def _write_results(self, step: Step) -> None:
        self.call_kernel(step)
        if self.undefined:
            self._define_sizes(step)

    def call_kernel(self, step: Step) -> None:
        computed, self.sources = self.computed, step.sources
        if step.sources:
            self.computed = dict(computed)
        operands = [self.operand(operand) for operand in step.inputs]
        function, keywords = self._called(step)
        self.computed = computed
        self.lines.append(f"{', '.join(step.outputs)} = {function}({', '.join([*operands, *keywords])})")

    def _called(self, step: Step) -> tuple[str, list[str]]:
        """Return the name of the function to call, and its keyword arguments."""
        name, (row, run), params = f"k_{step.op.name}_", self.chosen[step.outputs], _params(step)
        if row is not None and run is not row.run:
            is_written = run in self.library.writers and step.reuse in self.writable and not self.is_plain
            return self.bind(name, run), [f"out={step.reuse}"] if is_written else []
        bound = functools.partial(run, self.library)
        if any(map(has_local, params.values())):
            return self.bind(name, bound), [f"{k}={self._param(p)}" for k, p in params.items()]
        return self.bind(name, functools.partial(bound, **params)), []

    def _chosen(self, step: Step) -> tuple[Row | None, Any]:
        """Return the row of a step and what runs it: a function of the arrays alone, or that of the row.

        There is no row where NumPy runs it on the host.
        """
        row = run = None
        with suppress(MissingRuleError, UnsupportedFunctionError):
            row = ROWS[step.op]
            run = row.run
            run = self._own(row, step, _params(step)) or run
        return (None, self._run_on_host(step)) if run is None else (row, run)

    def _is_apart(self, row: Row | None, run: Any) -> bool:
        """Return whether a result surely shares no memory with an operand."""
        return run in self.library.writers or (row is not None and row.is_apart)

    def _own(self, row: Row, step: Step, params: dict[str, Any]) -> Any:
        """Return a function of the arrays alone, None if there is none for these params."""
        if row.alike:
            return getattr(self.library, row.alike if isinstance(row.alike, str) else row.alike(params))
        if row.specialise is None or any(map(has_local, params.values())):
            return None
        return row.specialise(self.library, params, step.metas)

    def _run_on_host(self, step: Step) -> Callable[..., Any]:
        """Return what runs NumPy's kernel on the host, where that is allowed."""
        if config.host_kernels == "always" and not subgraphs(step):
            return functools.partial(on_host, KERNELS[step.op].run)
        advice = 'set anyshape.config.host_kernels = "always", to run it on the host, or pass arrays of NumPy'
        raise UnsupportedFunctionError(
            step.op.name, f"its op {step.op.name} has no kernel for arrays of {self.library}", advice, step.where
        )

    def operand(self, operand: Any, number: bool = False) -> str:
        if not isinstance(operand, Literal):
            return str(operand)
        key = repr(operand.value), operand.dtype
        if key not in self.literals:
            self.literals[key] = self.bind("literal", self.library.array(operand.array()))
        return self.literals[key]


def _params(step: Step) -> dict[str, Any]:
    return {k: v for k, v in step.params if k != "owned_operands"}


def on_host(run: Callable[..., Any], xp: Library, *arrays: Any, **params: Any) -> Any:
    """Run a kernel of NumPy on copies of arrays, and move its results to the device."""
    results = run(*map(xp.host, arrays), **params)
    return tuple(map(xp.array, results)) if isinstance(results, (tuple, list)) else xp.array(results)


class _Constant:
    """Constant of a graph on a device. `now` gives it as it is at a call, where the user may change it."""

    def __init__(self, array: np.ndarray, library: Library) -> None:
        self.array, self.library = array, library
        self.moved = library.array(array)
        is_open = array.flags.writeable or array.base is not None
        self.may_change = is_open and not (
            library.shares_memory and np.may_share_memory(library.host(self.moved), array)
        )
        self.before = array.tobytes() if self.may_change else b""

    def now(self) -> Any:
        """Return the constant, moved again if it has changed."""
        if (content := self.array.tobytes()) != self.before:
            self.before, self.moved = content, self.library.array(self.array)
        return self.moved
