"""A traced program: its graph, its plan and the function that runs it."""

from __future__ import annotations

import inspect
import itertools
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from anyshape.backend.compiler.codegen.execute import Run, Turn, compile_plan, logged
from anyshape.backend.compiler.codegen.timers import Timers
from anyshape.backend.compiler.lower import lower, solved_of
from anyshape.backend.compiler.passes.pipeline import optimize
from anyshape.backend.compiler.peak_memory import Budget, first_bytes, peak_bytes
from anyshape.backend.compiler.plan import Plan
from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.shape_constant_cache import LARGEST
from anyshape.errors import ArgumentError, SizeMismatchError
from anyshape.graph.ir.builder import active_builders
from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.constraints import Claim, at_least
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.signature.guards import guard_predicate, size_function
from anyshape.graph.signature.prologue import Entry
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.inspect import cost
from anyshape.inspect.cost import ProgramCost
from anyshape.inspect.draw.dot import to_dot
from anyshape.inspect.draw.html import to_html
from anyshape.program.contraction_choice import ContractionPaths
from anyshape.program.file import save_trace
from anyshape.program.inline import call_inside, check_meta, is_symbolic
from anyshape.program.memory_limited import MemoryLimitedPlans
from anyshape.program.pytree_codegen import Reader, maker, reader
from anyshape.program.specialize import Specializer, broadcast_together
from anyshape.tracing.display_names import show_call
from anyshape.tracing.pytrees import as_leaf, flatten
from anyshape.tracing.trace import Trace

_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


class Program:
    """One trace, ready to run at every shape that satisfies its conditions. Prints as its graph; pickles.

    It is a function like any other: called while another one is traced it becomes part of that trace. `graph` is what
    was traced, after passes; `plan` runs at all sizes, `plan_for` gives what runs at those of a call.
    """

    def __init__(self, trace: Trace, max_bytes: int | None = None) -> None:
        self.trace, self.max_bytes = trace, max_bytes
        self.graph: Graph = optimize(trace.graph)
        self.timers: Timers | None = None
        # buffers grow with threads: those of today are what a limit is kept with
        self.threads = None if max_bytes is None else config.num_threads
        groups, orders = broadcast_together(self.graph), ContractionPaths(self.graph)
        related = Specializer(self.graph, self.entry, groups, orders, self._compiled) if groups or orders else None
        self.related = related
        self.run: Run = logged(self.related or self._compiled(self.graph), self.name, self.entry.names)

    def timed(self, timers: Timers) -> Program:
        """The same program, which tells `timers` of each run."""
        found = object.__new__(Program)
        found.__dict__ |= {**self.__dict__, "timers": timers}
        found.related = None if self.related is None else self.related.again(found._compiled)
        found.run = found.related or found._compiled(self.graph)
        return found

    @cached_property
    def plan(self) -> Plan:
        """The plan that assumes no relation between sizes."""
        return self._planned(self.graph)

    def plan_for(self, *args: Any, **kwargs: Any) -> Plan:
        """The plan that runs for such arguments, if they are large or come often: it knows which sizes are equal or 1.

        >>> import numpy as np
        >>> import anyshape
        >>> f = anyshape.jit(lambda x, w, b: np.sum(np.tanh(x * w + b)))
        >>> x, w = np.ones((5, 3)), np.ones(3)
        >>> _ = f(x, w, x)
        >>> (program,) = f.programs()
        >>> [len(p.groups[0].steps) for p in (program.plan, program.plan_for(x, w, x))]
        [2, 4]
        """
        arrays = self._checked(self._flat(args, kwargs))
        graph = self.graph if self.related is None else optimize(self.related.graph_for(arrays))
        plan = self._keeping(graph)
        return plan if self._keeps(plan, arrays) else self._planned(graph)

    def _planned(self, graph: Graph, keep: bool = False) -> Plan:
        if graph is self.graph and not keep and "plan" in self.__dict__:
            return self.plan
        plan = lower(graph, keep)
        return replace(plan, input_names=self.trace.labels) if self.trace.labels else plan

    def _keeping(self, graph: Graph) -> Plan:
        """The plan for sizes at which what depends on them alone is kept, if any is; not within a limit of memory."""
        plan = self._planned(graph, keep=self.max_bytes is None)
        size = first_bytes(plan)
        return self._planned(graph) if isinstance(size, int) and size > LARGEST else plan

    def plans(self) -> list[Plan]:
        """The plan that assumes nothing, and that of calls in which sizes that are broadcast together are equal."""
        related = self.related
        return [self.plan, *([] if related is None else [self._planned(optimize(related.usual_graph()))])]

    @property
    def has_orders(self) -> bool:
        """Sizes of calls choose in which order operands are contracted."""
        return self.related is not None and bool(self.related.orders)

    def plan_at(self, sizes: Mapping[DimVar, int]) -> Plan:
        """The plan that runs at these sizes; what depends on sizes alone is made anew in it."""
        return self.plan if self.related is None else self._planned(optimize(self.related.graph_at(sizes)))

    @property
    def kept_bytes(self) -> Size:
        """What depends on sizes alone takes so many bytes at most while it is kept."""
        return expr.minimum(first_bytes(self._keeping(self.graph)), LARGEST)

    def _keeps(self, plan: Plan, arrays: Sequence[Any]) -> bool:
        size = first_bytes(plan)
        try:
            return (size if isinstance(size, int) else size_function(self.entry, [size], "{}")(*arrays)) <= LARGEST
        except ZeroDivisionError:  # sizes that a run refuses
            return False

    def _compiled(self, graph: Graph, turns: Sequence[Turn] = (), otherwise: Run | None = None) -> Run:
        """The function of the graph, or of one that it was specialised to. It asks the guards if `checks_own_guards`.

        Where it would take more than `max_bytes`, `otherwise` runs, if there is one.
        """
        if graph is not self.graph:
            graph = optimize(graph)
        plan = self._keeping(graph)
        guards = [Turn(tuple(self._guards()))] if self.checks_own_guards else []
        size = first_bytes(plan)
        large = [] if isinstance(size, int) else [Turn((at_least(LARGEST, size),), self._large(graph))]
        turns = [*guards, *turns, *large]
        return compile_plan(plan, self._budget(graph, plan, otherwise), turns, self.timers, self.threads)

    def _large(self, graph: Graph) -> Run:
        """The function at sizes at which nothing is kept, made when it is first called."""
        made: list[Run] = []

        def run(*arrays: Any) -> Any:
            if not made:
                made.append(compile_plan(self._planned(graph), timers=self.timers))
            return made[0](*arrays)

        return run

    def _budget(self, graph: Graph, plan: Plan, otherwise: Run | None) -> Budget | None:
        """What a run may allocate, beside what it takes by what is known of its sizes."""
        if self.max_bytes is None:
            return None
        peak = peak_bytes(plan, self.threads)
        where, needed = None if peak.step is None else peak.step.where, cost.bound(graph, peak.size)
        compiled = lambda plan: compile_plan(plan, timers=self.timers, threads=self.threads)
        again = MemoryLimitedPlans(graph, self.max_bytes, self.threads, self._planned, compiled)
        return Budget(self.name, self.max_bytes, needed, where, again, otherwise)

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def __name__(self) -> str:
        return self.graph.name

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """The parameters by the names that they were traced with; those up to one without a name go by position."""
        args, kwargs = self.trace.in_tree.children()
        keywords = [k for k in kwargs.entries() if _is_name(k)]
        names = [self._parameter(i) for i in range(args.num_children)]
        alone = [n if _is_name(n) and [*names, *keywords].count(n) == 1 else "" for n in names]
        unknown = max((i + 1 for i, n in enumerate(alone) if not n), default=0)
        taken = {*alone, *keywords}
        spare = (name for i in itertools.count() if (name := f"x{i}") not in taken)
        found = [
            inspect.Parameter(n or next(spare), inspect.Parameter.POSITIONAL_ONLY if i < unknown else _EITHER)
            for i, n in enumerate(alone)
        ]
        return inspect.Signature([*found, *[inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY) for k in keywords]])

    def _parameter(self, i: int) -> str:
        """The name that an argument by position was traced with, if it is known."""
        labels = zip(self.trace.paths, self.labels, strict=True)
        label = next((label for path, label in labels if re.match(rf"args\[{i}\](?!\d)", path)), "")
        name = re.split(r"\W", label)[0]
        return name if name != "args" else ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The paths of the arguments, by the names of parameters where these are known."""
        return self.trace.labels or self.trace.paths

    @cached_property
    def accepts(self) -> Callable[..., bool] | None:
        """Whether the guards hold for these leaves; None when there are no guards."""
        return guard_predicate(self.entry, self._guards())

    @cached_property
    def checks_own_guards(self) -> bool:
        """What runs asks the guards first, as it has read the sizes, and gives None where one fails."""
        return self.entry.only_reads and not any(map(divides_by_size, self._guards()))

    def _guards(self) -> list[Claim]:
        return [c.claim for c in self.graph.conditions if c.kind == "guard"]

    @cached_property
    def entry(self) -> Entry:
        """What the inputs are to be, and how sizes are found from them."""
        graph = self.graph
        metas = tuple([v.meta for v in graph.inputs[: len(graph.inputs) - graph.hidden]])
        names = self.trace.labels or graph.input_names or tuple(f"args[{i}]" for i in range(len(metas)))
        return Entry(graph.name, names, metas, graph.values, solved_of(graph))

    def call_flat(self, leaves: Sequence[Any]) -> Any:
        """Run on the leaves of the arguments, which the caller has checked."""
        return self.result(self.run(*leaves))

    @cached_property
    def result(self) -> Callable[[Sequence[Any]], Any]:
        """Puts outputs together as the function does that was traced."""
        return maker(self.trace.out_tree)

    def save(self, file: Any) -> None:
        """Write it to a path, or to a file that is open for bytes, for `load` in any process.

        If that fails, what was there stays.
        """
        save_trace(self.trace, self.graph, file)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the structure, dtypes and ranks that were traced, of any size the program allows.

        What was traced by position may be given by the name of its parameter.
        """
        read = self._read
        exact = None if read is None else read(args, kwargs)
        if exact is not None and (self.checks_own_guards or self.accepts is None):
            outputs = self.run(*exact)
            return self.result(self._refuse(exact) if outputs is None else outputs)
        leaves = self._flat(args, kwargs)
        if active_builders() and any(map(is_symbolic, leaves)):
            return self.result(call_inside(self.graph, leaves, self.labels))
        arrays = self._checked(leaves)
        if self.accepts is not None and not self.accepts(*arrays):
            self._refuse(arrays)
        return self.call_flat(arrays)

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of arguments, which are to have the structure that was traced."""
        leaves, tree = flatten((args, kwargs))
        if kwargs and tree != self.trace.in_tree:
            leaves, tree = flatten(self._by_position(args, kwargs))
        if tree != self.trace.in_tree:
            given, traced = (show_call(x, list(self.__signature__.parameters), {}) for x in (tree, self.trace.in_tree))
            problem = f"have the structure {given}, not {traced}"
            raise ArgumentError(self.name, "the arguments", problem, "pass arguments as they were traced")
        return leaves

    def _checked(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves as arrays of the dtypes and ranks that were traced."""
        arrays = [as_leaf(x, p, self.name) for x, p in zip(leaves, self.labels, strict=True)]
        for x, meta, path in zip(arrays, self.entry.metas, self.labels, strict=True):
            check_meta(self.name, path, x, meta)
        return arrays

    @cached_property
    def _read(self) -> Reader | None:
        """Takes the leaves out of arguments that are just what was traced."""
        return reader(self.trace.in_tree, [(meta.dtype, meta.rank) for meta in self.entry.metas])

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with those at their places that were given by name and traced by position."""
        placed, left = list(args), dict(kwargs)
        for parameter in [*self.__signature__.parameters.values()][len(args) :]:
            if parameter.kind is not _EITHER or parameter.name not in left:
                break
            placed.append(left.pop(parameter.name))
        return tuple(placed), left

    def _refuse(self, arrays: Sequence[Any]) -> Any:
        """Raise for the first guard that these sizes break: the program holds for another path of Python."""
        for guard in [c for c in self.graph.conditions if c.kind == "guard"]:
            holds = guard_predicate(self.entry, [guard.claim])
            if holds is not None and not holds(*arrays):
                sizes = {f"{n}.shape": x.shape for n, x in zip(self.entry.names, arrays, strict=True)}
                raise SizeMismatchError(self.name, str(guard.claim), sizes, guard.why, guard.where)

    def cost(self) -> ProgramCost:
        """Operations, bytes read and bytes written, of each node and in all, as sizes over the dims of the program."""
        return cost.cost(self)

    def html(self) -> str:
        """One page of HTML that draws the program, with what it relies on and what it costs."""
        return to_html(self.graph)

    def dot(self) -> str:
        """Graphviz source that draws the program."""
        return to_dot(self.graph)

    def __reduce__(self) -> Any:
        return Program, (self.trace, self.max_bytes)

    def __repr__(self) -> str:
        return f"<program {str(self.graph).partition(chr(10))[0]}>"

    def __str__(self) -> str:
        return str(self.graph)


def _is_name(text: str) -> bool:
    """Whether a parameter can be called so."""
    return text.isidentifier() and not keyword.iskeyword(text)
