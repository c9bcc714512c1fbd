"""Traced program: its graph, its plans and the function that runs it."""

from __future__ import annotations

import functools
import inspect
import itertools
import keyword
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

from anyshape.backend.compiler.codegen.execute import Run, has_loop
from anyshape.backend.compiler.codegen.timers import Timers
from anyshape.backend.compiler.passes.pipeline import Tier
from anyshape.backend.compiler.plan import Plan
from anyshape.backend.first_run import CALLS, first_run
from anyshape.backend.runtime import outcome
from anyshape.backend.runtime.config import compile_mode
from anyshape.errors import ArgumentError, DecisionError, SizeMismatchError
from anyshape.graph.ir.builder import active_builders
from anyshape.graph.ir.graph import Graph, decisions_of, has_effects
from anyshape.graph.ir.tracebacks import short_traceback, shorten_traceback
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.scope import Scope
from anyshape.graph.signature.guards import guard_predicate
from anyshape.graph.signature.prologue import Prologue, compile_prologue
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.inspect.explanation import TierInfo
from anyshape.program.inline import call_inside, check_meta, is_symbolic, require_one_path
from anyshape.program.planner import Planner, ending, refuse_layouts, require_arrays, writing_back, written_inside
from anyshape.program.pytree_codegen import Reader, maker, reader
from anyshape.program.specialize import Specializer, Tiers, mode_of
from anyshape.support.fork_lock import Lock, checks_enabled
from anyshape.support.lazy_dataclass import replace
from anyshape.support.packages import (
    costs,
    draw_html,
    draw_picture,
    libraries,
    library_code,
    nest_listing,
    notebook,
    program_file,
    saved_rules,
    saved_trees,
)
from anyshape.support.true_types import of_library
from anyshape.tracing.named_dims import ShapeDtypeStruct, described
from anyshape.tracing.pytrees import Order, as_leaf, flatten, flatten_as, in_order, result_paths, same_but_for_order
from anyshape.tracing.trace import DisplayNames, Trace, show_call

_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


class Program:
    """Trace, ready to run at every shape that satisfies its conditions. Prints as its graph; pickles.

    It is a function like any other: called while another one is traced, it becomes part of that trace. `graph` is the
    traced graph after passes. `plan` runs at all sizes, and `plan_for` returns the plan that runs at some sizes.
    """

    def __init__(
        self,
        trace: Trace,
        max_bytes: int | None = None,
        optimize: str | None = None,
        compile: str | None = None,
        *,
        planner: Planner | None = None,
        timers: Timers | None = None,
    ) -> None:
        """Compile a trace, with the planner of another program of it if there is one; runs record times in `timers`."""
        self.trace, self.max_bytes, self.optimize = trace, max_bytes, optimize
        self.compile = compile
        self.states: Sequence[Any] = ()  # captured, of the function that was traced
        self._homes: dict[Any, Program] = {}  # for other libraries
        waits = compile_mode(compile) == "wait" and has_loop(trace.graph.nodes)
        mode, why = mode_of(optimize, max_bytes, timers, waits=waits)
        last = Tier.FIRST if mode == "off" else Tier.OPTIMISED
        last = last if trace.home is None else Tier.PLAIN
        self.planner: Planner = Planner(trace, max_bytes, last, compile_mode(compile)) if planner is None else planner
        self.graph: Graph = self.planner.graph
        self._compile = functools.partial(self.planner.compile, timers=timers)
        self.specializer: Specializer | None = None
        self._optimised: Run | None = None
        run = self._run_of_numpy(mode, why) if trace.home is None else self._run_of_library(*trace.home)
        self.run: Run = self._with_effects(run) if timers is not None else self._logged(run)

    def _run_of_numpy(self, mode: str, why: str) -> Run:
        """Compile what serves the first calls."""
        patterns, trace = self.planner.patterns, self.trace
        if patterns is None:
            self.tiers: Tiers = Tiers(self.name, mode, why, self._make_optimised)
            return self._interpreted_once(self._first_run)
        self.tiers = Tiers(self.name, mode, why, self._make_for_pattern, lambda *xs: patterns.of_call(xs))
        acts = has_effects(trace.graph) or outcome.has_generators(trace.graph)
        is_wrapped = outcome.logs_calls() or acts or trace.written or trace.raised
        self.specializer = Specializer(patterns, self._compile, self.tiers, None if is_wrapped else self._serve)
        run = self.specializer.run_latest if is_wrapped else self.specializer.dispatch
        return run if is_wrapped else self._interpreted_once(lambda: run)

    def _interpreted_once(self, compiled: Callable[[], Run]) -> Run:
        """Return what serves the first calls by the graph, and compiles what serves the others; else that itself."""
        trace, is_auto = self.trace, self.tiers.mode == "auto" and self.max_bytes is None
        is_plain = not (trace.written or trace.raised or checks_enabled() or outcome.logs_calls())
        first = first_run(self.graph, self.prologue) if is_auto and is_plain else None
        return compiled() if first is None else self._after(first, compiled)

    def _after(self, first: Callable[..., Any], compiled: Callable[[], Run]) -> Run:
        """Return a run of the plan after some calls of another one, which leaves calls to the plan too."""
        calls, lock = itertools.count(), Lock()
        later: list[Run] = []

        def run(*arrays: Any) -> Any:
            if not later and next(calls) < CALLS and (outputs := first(*arrays)) is not None:
                return outputs
            with lock:
                if not later:
                    later.append(self._logged(compiled()))
                if self.run is run:  # else what restores generators is around it
                    self.run = later[0]
            return later[0](*arrays)

        return run

    def _run_of_library(self, library: Any, numbers: Sequence[int]) -> Run:
        """Compile the trace for arrays of another library."""
        self.tiers = Tiers(self.name, "off", f"it runs on arrays of {library}", self._make_optimised)
        libraries.refuse(self.trace, library)
        run = library_code.compile_graph(self.graph, library, self.labels, numbers, self.planner.own_guards)
        result: Run = library.run(run)
        return result

    def on(self, leaves: Sequence[Any]) -> Program:
        """Return this program for leaves of arguments that are arrays of another library."""
        library = libraries.common_library(list(zip(self.labels, leaves, strict=True)), self.name)
        numbers = tuple([i for i, x in enumerate(leaves) if not of_library(x)])
        if (program := self._homes.get((library, numbers))) is None:
            program = self._homes[library, numbers] = Program(replace(self.trace, home=(library, numbers)))
        return program

    def timed(self, timers: Timers) -> Program:
        """Return a copy whose runs record their times in `timers`, with the plans of this program."""
        if self.trace.home is not None:
            advice = "profile calls with arrays of NumPy, or use the library's own profiler"
            raise ArgumentError(self.name, "the arrays", f"are of {self.trace.home[0]}, which it does not time", advice)
        return Program(self.trace, self.max_bytes, self.optimize, self.compile, planner=self.planner, timers=timers)

    def _serve(self, run: Run) -> None:
        """Have a function serve the next call, without a function that calls it."""
        self.run = run

    def _logged(self, run: Run) -> Run:
        return outcome.log_calls(self._with_effects(run), self.name, self.prologue.names)

    def _with_effects(self, run: Run) -> Run:
        """Return a run that writes to arguments where it succeeds, and restores generators where it fails."""
        run = ending(writing_back(run, self.trace, self._captured), self.trace)
        return outcome.counting_effects(outcome.restoring_generators(run, self.trace.graph), self.trace.graph)

    def _captured(self) -> list[tuple[str, Any]]:
        return [pair for state in self.states for pair in state.arrays()]

    # -- tiers

    @property
    def tier(self) -> TierInfo:
        """Return whether calls run the first plan or the optimised one, and why.

        >>> import numpy as np
        >>> import anyshape
        >>> f = anyshape.jit(lambda x: np.sum(np.tanh(x)), optimize="now")
        >>> _ = f(np.ones(3))
        >>> print(f.programs()[0].tier)
        the optimised plan: made at once, by optimize="now"
        """
        return self.tiers.info()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Outcomes of compiling groups of steps, a line for each; for another library, what the host reads."""
        if self.trace.home is not None:
            return library_code.host_reads(self.graph)
        return self.planner.kernel_outcomes()

    def optimise_for(self, *args: Any, **kwargs: Any) -> None:
        """Make the optimised plan for such arguments now, unless the program is to have none."""
        self.optimise_flat(self._checked(self._flat(args, kwargs)))

    def optimise_flat(self, leaves: Sequence[Any]) -> None:
        """Make the optimised plan for these leaves of arguments, which the caller has checked."""
        if self.tiers.mode == "auto":
            self.tiers.optimise(self.tiers.pattern_of(*leaves))

    def _first_run(self) -> Run:
        """Compile the plan that serves the first call."""
        meter = self.tiers.meter(self._run_optimised)
        with self.tiers.making_first(len(self.graph.nodes)):
            run: Run = self._compile(self.graph, tier=self.tiers.first, meter=meter)
        return run

    def _run_optimised(self, *arrays):
        """Run the optimised plan, for a call that began with the first one."""
        assert self._optimised is not None
        return self._optimised(*arrays)

    def _make_optimised(self, pattern: Hashable) -> Callable[[], None]:
        """Compile the optimised plan, and return what makes it serve."""
        run = self._compile(self.graph, tier=Tier.OPTIMISED)

        def install() -> None:
            self._optimised = run
            self.run = self._logged(run)

        return install

    def _make_for_pattern(self, pattern) -> Callable[[], None]:
        """Compile the optimised plan for a pattern of calls, and return what makes it serve."""
        assert self.specializer is not None
        return self.specializer.make(pattern)

    # -- plans

    @property
    def plan(self) -> Plan:
        """Plan that assumes no relation between sizes."""
        return self.planner.plan

    def plan_for(self, *args: Any, **kwargs: Any) -> Plan:
        """Return the optimised plan for such arguments: it knows which sizes are equal or 1.

        >>> import numpy as np
        >>> import anyshape
        >>> f = anyshape.jit(lambda x, w, b: np.sum(np.tanh(x * w + b)))
        >>> x, w = np.ones((5, 3)), np.ones(3)
        >>> _ = f(x, w, x)
        >>> (program,) = f.programs()
        >>> [len(p.groups[0].steps) for p in (program.plan, program.plan_for(x, w, x))]
        [2, 4]
        """
        return self.planner.plan_for(self._checked(self._flat(args, kwargs)))

    def plans(self) -> list[Plan]:
        """Return the general plan, and the plan for calls in which sizes that broadcast together are equal."""
        return self.planner.plans()

    def plan_at(self, sizes: Mapping[DimVar, int]) -> Plan:
        """Return the plan for these sizes; it computes shape-only values anew."""
        return self.planner.plan_at(sizes)

    @property
    def chooses_paths(self) -> bool:
        """True if the sizes of a call choose contraction paths."""
        patterns = self.planner.patterns
        return patterns is not None and bool(patterns.paths)

    @property
    def shape_constant_bytes(self) -> Size:
        """Upper bound of the bytes that one call caches of shape-only values."""
        return self.planner.shape_constant_bytes

    @property
    def threads(self) -> int | None:
        """Number of threads that a memory limit holds for; None without a limit."""
        return self.planner.threads

    @short_traceback
    def cost(self) -> costs.ProgramCost:
        """Return the operations and the bytes read and written, per node and in total, over the dims of the program."""
        return costs.cost(self)

    # -- signature

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def __name__(self) -> str:
        return self.graph.name

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """Parameters with their traced names; all up to the last one without a usable name are positional only."""
        args, kwargs = self.trace.in_tree.children()
        keywords = [k for k in kwargs.entries() if _is_name(k)]
        names = _unique_names([self._parameter(i) for i in range(args.num_children)], keywords)
        positional_only = max((i + 1 for i, name in enumerate(names) if not name), default=0)
        unused = (name for i in itertools.count() if (name := f"x{i}") not in {*names, *keywords})
        parameters = []
        for i, name in enumerate(names):
            kind = inspect.Parameter.POSITIONAL_ONLY if i < positional_only else _EITHER
            parameters.append(inspect.Parameter(name or next(unused), kind))
        parameters += [inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY) for k in keywords]
        return inspect.Signature(parameters)

    def _parameter(self, i: int) -> str:
        """Return the traced name of a positional argument, or "" if it is unknown."""
        labels = zip(self.trace.paths, self.labels, strict=True)
        label = next((label for path, label in labels if re.match(rf"args\[{i}\](?!\d)", path)), "")
        name = re.split(r"\W", label)[0]
        return name if name != "args" else ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Paths of the arguments, with parameter names where these are known."""
        return self.trace.labels or self.trace.paths

    @cached_property
    def inputs(self) -> dict[str, ShapeDtypeStruct]:
        """Description of each argument by its path, with the names of sizes as they were declared.

        >>> import numpy as np
        >>> import anyshape
        >>> specs = anyshape.ShapeDtypeStruct("n, d"), {"w": anyshape.ShapeDtypeStruct("d", np.float32)}
        >>> program = anyshape.trace(lambda x, p: (x @ p["w"], x[0] > 0))(*specs)
        >>> {path: spec.shape for path, spec in program.inputs.items()}
        {'x': (n, d), "p['w']": (d,)}
        >>> {path: spec.shape for path, spec in program.outputs.items()}
        {'result[0]': (n,), 'result[1]': (d,)}
        """
        values = dict(self.prologue.values)
        metas = zip(self.labels, self.prologue.metas, strict=False)  # hidden inputs come last
        return {path: described(meta, self._scope, values.get(i)) for i, (path, meta) in enumerate(metas)}

    @cached_property
    def outputs(self) -> dict[str, ShapeDtypeStruct]:
        """Description of each result by its path, `result['loss']`; run-time sizes have their bounds."""
        paths = result_paths(self.trace.out_tree)
        return {p: described(meta, self._scope) for p, meta in zip(paths, self.graph.results, strict=False)}

    @property
    def written(self) -> tuple[str, ...]:
        """Paths of the arguments that a call writes to, as in `x[0] = 1`.

        >>> import numpy as np
        >>> import anyshape
        >>> f = anyshape.jit(lambda x, y: np.copyto(x, y))
        >>> f(x := np.zeros(2), np.ones(2))
        >>> x, f.programs()[0].written
        (array([1., 1.]), ('x',))
        """
        return self.trace.written_labels

    @cached_property
    def _scope(self) -> Scope:
        """Scope of the sizes of the descriptions, under the constraints and assertions of the program."""
        stated = [c for c in self.graph.conditions if c.kind in ("constraint", "assertion")]
        return Scope(conditions=stated, free=True)

    @property
    def prologue(self) -> Prologue:
        """Signature of the program, and how a call binds its sizes."""
        return self.planner.prologue

    @property
    def guards(self) -> list[Condition]:
        """Guards of the program, in the order in which Python decided."""
        return self.planner.guards

    @property
    def accepts(self) -> Callable[..., bool]:
        """Predicate of the leaves of a call: whether all guards hold, and what it writes reaches what it should."""
        accepts = self.planner.accepts
        if self.trace.home is not None:
            of_shapes, sized = accepts, self.trace.home[0].sized
            accepts = lambda *arrays: of_shapes(*map(sized, arrays))
        if not self.trace.layouts:
            return accepts
        other_layouts = self.trace.other_layouts
        return lambda *arrays: accepts(*arrays) and not other_layouts(arrays)

    @property
    def checks_own_guards(self) -> bool:
        """True if `run` checks the guards itself; it returns GUARD_FAILED if one fails."""
        return self.planner.checks_own_guards

    @cached_property
    def needs_guard_check(self) -> bool:
        """True if `accepts` must be checked before `run`."""
        return bool(self.trace.layouts) or (bool(self.guards) and not self.checks_own_guards)

    # -- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the structure, dtypes and ranks that were traced, of any size that the program allows.

        An argument that was traced by position may be passed by the name of its parameter.
        """
        try:
            read = self._read
            exact = None if read is None else read(args, kwargs)
            if exact is not None and not self.needs_guard_check:
                if (outputs := self._outputs(exact)) is outcome.GUARD_FAILED:
                    self._raise_failed_guard(exact)
                return self.result(outputs)
            leaves = self._flat(args, kwargs)
            if active_builders() and any(map(is_symbolic, leaves)):
                require_one_path(self.trace)
                return self.result(written_inside(self.trace, leaves, call_inside(self.graph, leaves, self.labels)))
            if self.trace.home is None and any(map(of_library, leaves)):
                return self.on(leaves)(*args, **kwargs)
            arrays = self._checked(leaves)
            require_arrays(self.trace, leaves)
            if not self.accepts(*arrays):
                self._raise_failed_guard(arrays)
            return self.call_flat(arrays)
        except Exception as error:
            shorten_traceback(error)
            raise

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments, as a call of the program does."""
        return self(*args, **kwargs)

    def call_flat(self, leaves: Sequence[Any]) -> Any:
        """Run on the leaves of the arguments, which the caller has checked."""
        if (outputs := self._outputs(leaves)) is outcome.GUARD_FAILED:
            self._raise_failed_guard(leaves)
        return self.result(outputs)

    def _outputs(self, leaves: Sequence[Any]):
        """Run on leaves; raise DecisionError where the function would take another path than that of the program."""
        try:
            return self.run(*leaves)
        except outcome.PathLeft as left:
            node = decisions_of(self.trace.graph)[left.turn]
            problem = "the program has one path, and Python would take another one for this call"
            error = DecisionError(left.turn, [dict(node.params)["answer"], left.answer], problem)
            error.locate(node.where)
            raise error from None

    @cached_property
    def result(self) -> Callable[[Any], Any]:
        """Function that puts the outputs into the traced structure of the result."""
        return maker(self.trace.out_tree)

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the leaves of the arguments; raise ArgumentError if their structure differs from the traced one."""
        leaves = self._matched(args, kwargs)
        if leaves is None and kwargs:
            args, kwargs = self._by_position(args, kwargs)
            leaves = self._matched(args, kwargs)
        if leaves is None:  # objects of other classes than the process had that saved it
            leaves = self._matched(*saved_trees.conforming((args, kwargs), self.trace.in_tree))
        if leaves is None:
            raise self._structure_error(flatten((args, in_order(kwargs, self.trace.order)))[1])
        return leaves

    def _matched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """Return the leaves of arguments of the traced structure, None for others."""
        order, like = self.trace.order, self.trace.in_tree
        arguments = args, in_order(kwargs, order)
        if order is Order.NONE:
            return flatten_as(arguments, like)
        leaves, tree = flatten(arguments)
        return leaves if tree == like else None

    def _structure_error(self, tree) -> ArgumentError:
        """Return the error for arguments of another structure, or with keys in another order."""
        names, traced = list(self.__signature__.parameters), self.trace.in_tree
        now, before = (show_call(structure, names, {}) for structure in (tree, traced))
        problem = f"have the structure {now}, not {before}"
        advice = "pass arguments as they were traced"
        if "[" in now and "[" not in before:
            advice = "pass np.array(values) for a list of numbers"
        if same_but_for_order(tree, traced):
            advice = "pass the keys in the traced order, which the function saw, or use jit"
        return ArgumentError(self.name, "the arguments", problem, advice)

    def _checked(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves as arrays; raise ArgumentError if a dtype or a rank differs from the traced one."""
        if self.trace.home is not None:
            return libraries.checked(leaves, self.prologue.metas, self.labels, self.name, self.trace.home[0])
        arrays = [as_leaf(x, p, self.name) for x, p in zip(leaves, self.labels, strict=True)]
        for x, meta, path in zip(arrays, self.prologue.metas, self.labels, strict=True):
            check_meta(self.name, path, x, meta)
        return arrays

    @cached_property
    def _read(self) -> Reader | None:
        """Generated function that takes the leaves out of arguments exactly as traced, if there is one.

        It converts scalars of NumPy, so programs that write to arguments do without.
        """
        if self.trace.written or self.trace.home is not None:
            return None
        leaves = [(meta.dtype, meta.rank) for meta in self.prologue.metas]
        return reader(self.trace.in_tree, leaves, self.trace.order)

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with those by position that were traced by position and passed by name."""
        positional, rest = list(args), dict(kwargs)
        for parameter in [*self.__signature__.parameters.values()][len(args) :]:
            if parameter.kind is not _EITHER or parameter.name not in rest:
                break
            positional.append(rest.pop(parameter.name))
        return tuple(positional), rest

    def _raise_failed_guard(self, arrays: Sequence[Any]) -> None:
        """Raise SizeMismatchError for the first guard that these sizes break: Python would take another path.

        Raise ArgumentError for an argument that lies in memory in another way, where writes would not reach the same.
        """
        for guard in self.guards:
            if not guard_predicate(self.prologue, [guard.claim])(*arrays):
                raise self._guard_error(guard, compile_prologue(self.prologue, arrays=True)(*arrays))
        refuse_layouts(self.trace, arrays)

    def _guard_error(self, guard: Condition, sizes: Mapping[DimVar, int]) -> SizeMismatchError:
        """Return the error for a call with sizes for which Python takes another path than the traced one."""
        names = DisplayNames(self.labels, self.prologue.bindings)
        about = {v: sizes[v] for v in guard.claim.variables()}
        claim = names.claim(guard.claim)
        demand = f"the program was traced for {claim}, and it was called with {names.values(about, sizes)}"
        advice = "trace it again for such sizes, or use jit, which keeps a program for each case"
        where, why, sources = guard.where, names.text(guard.why), names.origins(about)
        return SizeMismatchError(self.name, claim, names.by_name(about), why, where, sources, demand, advice)

    # -- other forms

    @short_traceback
    def save(self, file: Any) -> None:
        """Write the program to a path, or to a file that is open for bytes, for `load` in any process.

        If that fails, the old content of the path stays.
        """
        program_file.save_trace(self.trace, self.graph, file)

    def html(self, beside: Program | Graph | None = None) -> str:
        """Return a page that draws the program, with conditions and costs; with `beside`, one that compares the two."""
        return draw_html.to_html(self) if beside is None else draw_html.to_page(self, beside)

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks."""
        html: str = notebook.framed(self.html())
        return html

    def as_function(self, library: str, device: Any = None) -> Callable[..., Any]:
        """Return plain code over "torch", "jax", "cupy" or "array_api_strict", for `torch.compile` and its like.

        The function takes the leaves of the arguments in the order of `inputs`, as arrays of the library, and gives the
        result. It checks conditions on sizes, and none on values: indices must be in range. Its constants are as now.
        """
        there = libraries.library_named(library, device)
        libraries.refuse(self.trace, there)
        return library_code.plain_function(self.graph, there, self.labels, self.result)

    def dot(self) -> str:
        """Return Graphviz source that draws the program."""
        return draw_picture.to_dot(self)

    def c_source(self) -> str:
        """Return the C that its loops become, to be read: the line of the user stands above what it became."""
        return nest_listing.listing(self.plan, draw_picture.line_of)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of this class. There are no others, as copies and pickles would lack them."""
        if name not in _ATTRIBUTES:
            raise AttributeError(f"a program has no attribute {name!r}, and takes no new one")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> Any:
        return Program, (saved_rules.travelling(self.trace), self.max_bytes, self.optimize, self.compile)

    def __repr__(self) -> str:
        return f"<program {str(self.graph).partition(chr(10))[0]}>"

    def __str__(self) -> str:
        return str(self.graph)


_ATTRIBUTES = {"trace", "max_bytes", "optimize", "compile", "planner", "graph", "specializer", "tiers", "run"}
_ATTRIBUTES |= {"_compile", "_homes", "_optimised", "states"}


def _is_name(text: str) -> bool:
    """Return True if a parameter can have this name."""
    return text.isidentifier() and not keyword.iskeyword(text)


def _unique_names(names: Sequence[str], keywords: Sequence[str]) -> list[str]:
    """Return the names with "" for those that no parameter can have, or that occur twice."""
    every = [*names, *keywords]
    return [name if _is_name(name) and every.count(name) == 1 else "" for name in names]
