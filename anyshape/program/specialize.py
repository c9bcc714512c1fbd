"""Specialization of a program by broadcast pattern and by contraction path.

Sizes that broadcast together are equal, unless some of them are 1: NumPy refuses all other calls. A plan that knows
which are 1 broadcasts nothing at run time. It also contracts each product along the cheapest path at the sizes of the
call.

The function is not traced again. Its graph is replayed under the assumptions of the pattern. A pattern gets a plan
when that pays (`tiers.py`), or at once if plans are optimised at once. The number of patterns is bounded: the plan made
first goes first. All other calls use a first plan, which assumes nothing and has the contraction paths of the call.

Contraction paths of a program, chosen by the sizes of each call.

The path with the least work may depend on sizes that only a call knows. Calls whose sizes choose the same paths share
a plan.

Builders into which a graph is replayed with its own inputs, to make a variant of it.

Tiers of one program: which plan runs, and when the optimised one is made.

A first call runs the first plan, which one linear walk over the graph makes. Groups, views and specialization save time
where arrays are large, or where calls are many. So the calls so far decide: what they would have saved is compared
with what optimising takes. The optimised plan is made at the beginning of a call, and serves it and all later ones.
That is never within `np.errstate`, whose block sees one plan.
"""

import itertools
import logging
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from anyshape.autodiff.replay import inline
from anyshape.backend.compiler.codegen.execute import EntryGuard, Meter, Run
from anyshape.backend.compiler.passes.collapse_views import default_path, einsum_nodes, labelled_sizes, to_pairs
from anyshape.backend.compiler.passes.pipeline import Tier
from anyshape.backend.runtime.config import AMBIENT_ERRSTATE, config
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.prover.constraints import Claim, Condition, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.graph.signature.guards import size_function
from anyshape.graph.signature.prologue import Prologue
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.substitute import evaluate, may_divide_by_zero, substitute, values_from
from anyshape.inspect.explanation import TierInfo
from anyshape.numpy.arrays.array import Array
from anyshape.ops.contraction import terms_of
from anyshape.ops.core.contraction_order import Path, cheapest_path
from anyshape.support.fork_lock import Lock, restores_thread
from anyshape.support.lazy_dataclass import NamedTuple, replace

Paths = tuple[Path, ...]  # one for each product of a graph


class _Product(NamedTuple):
    value: Value
    terms: Sequence[str]
    out: str
    sizes: Mapping[str, Size]


class ContractionPaths:
    """Contraction paths of the products of a graph whose sizes follow from the arguments; false without products."""

    def __init__(self, graph: Graph) -> None:
        self.products: list[_Product] = []
        default: list[Path] = []
        nodes, solved = einsum_nodes(graph), {s.variable for s in graph.dims}
        scope = Scope(conditions=graph.conditions if nodes else (), runtime=graph.runtime)
        ctx = ShapeGuardContext(scope, "orders", rule="pass")
        for node in nodes:
            sizes = labelled_sizes(ctx, node)
            if all(solved.issuperset(expr.variables(s)) and not may_divide_by_zero(s) for s in sizes.values()):
                self.products.append(_Product(node.outputs[0], *terms_of(dict(node.params)["equation"]), sizes))
                default.append(default_path(ctx, node))
        self.default: Paths = tuple(default)
        self.sizes: list[Size] = list(dict.fromkeys(s for p in self.products for s in p.sizes.values()))

    def __bool__(self) -> bool:
        return bool(self.products)

    def cheapest(self, numbers: Mapping[Size, int]) -> Paths:
        """Return the cheapest path of each product at these sizes; the default one wins a tie."""
        paths = []
        for product, default in zip(self.products, self.default, strict=True):
            counts = {label: max(numbers[size], 1) for label, size in product.sizes.items()}
            paths.append(cheapest_path(product.terms, product.out, counts, default))
        return tuple(paths)

    def by_value(self, paths: Paths) -> dict[Value, Path]:
        """Map the value of each product to its path."""
        return dict(zip([p.value for p in self.products], paths, strict=True))


def replay_scope(graph: Graph) -> Scope:
    """Return a scope with the conditions of a graph, except those on run-time sizes.

    The replay makes new run-time sizes, and states their conditions again.
    """
    runtime = graph.runtime.keys()
    return Scope(conditions=[c for c in graph.conditions if runtime.isdisjoint(c.claim.variables())])


def replay_builder(graph: Graph, scope: Scope) -> tuple[Builder, list[Any]]:
    """Return a builder with the dimension variables and inputs of a graph, and handles of these inputs."""
    builder = Builder(scope, handle=Array, values=dict(graph.values))
    for source in graph.dims:
        builder.define_dim(source.variable, source.size, source.read)
    visible = len(graph.inputs) - graph.hidden
    inputs = [builder.input(v.meta) for v in graph.inputs[:visible]]
    for value in graph.inputs[visible:]:
        inputs += [builder.hidden_input(variable) for variable, _ in value.meta.variable_axes()]
    return builder, inputs


SAVED_SHARE = 0.5  # of the time of calls with large arrays, which optimised plans save where they save much
SAVED_SHARE_OF_SMALL = 0.2  # of that of calls with small ones: nothing is stretched at run time
COST_RATIO = 2.0  # between the time of making an optimised plan and a first one
SECONDS_PER_PLANNED_STEP = 1.5e-4  # of making a first plan
SECONDS_PER_ELEMENT = 1e-9  # of a step on large arrays
MAX_ELEMENTS = 1 << 27  # in all steps, a gigabyte of float64, beyond which no first plan runs: it has no tiles

_MADE = itertools.count()  # first plans in this process
Make = Callable[[Hashable], Callable[[], None]]  # makes the plan of a pattern; returns what installs it
clock = perf_counter
_DEFAULTS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


class Tiers:
    """Tiers of one program.

    - `mode`: "now" makes optimised plans at once, "auto" when they pay, "off" never.
    - `why`: the reason for a mode that nobody asked for.
    - `make` makes an optimised plan for a pattern of calls. `pattern_of` tells the pattern of arrays.
    """

    def __init__(
        self, name: str, mode: str, why: str, make: Make, pattern_of: Callable[..., Hashable] | None = None
    ) -> None:
        self.name, self.mode, self.why, self.make = name, mode, why, make
        self.first = Tier.OPTIMISED if mode == "now" else Tier.FIRST  # of the plan for a first call
        self.has_patterns: bool = pattern_of is not None
        self.pattern_of = (lambda *arrays: None) if pattern_of is None else pattern_of
        self.steps, self.cost = 1, 0.0
        self.calls, self.seconds = 0, 0.0  # of first plans, since the last optimised plan was made
        self.saving: float = 0.0  # seconds that optimised plans would have saved of these
        self.made: dict[Hashable, TierInfo] = {}
        self.making: dict[Hashable, int] = {}  # with the process: a fork has no thread that goes on
        self.failed: dict[Hashable, str] = {}
        self.waits: bool = False  # for a call outside of np.errstate
        self.lock: Lock = Lock()

    def meter(self, instead: Callable[..., Any]) -> Meter | None:
        """Return what a first plan calls, with what runs instead of it; None where no plan takes its place."""
        return Meter(self.measure, instead, self.has_patterns) if self.mode == "auto" else None

    @contextmanager
    def making_first(self, steps: int) -> Iterator[None]:
        """Note how long the block takes to make a first plan with so many steps.

        The first plan of a process warms up the compiler, and others load modules: no cost of a second plan.
        """
        started, modules, is_first = clock(), len(sys.modules), next(_MADE) == 0
        yield
        seconds, self.steps = clock() - started, max(1, steps)
        if is_first or len(sys.modules) > modules:
            seconds = min(seconds, self.steps * SECONDS_PER_PLANNED_STEP)
        self.cost = COST_RATIO * seconds

    # -- calls of first plans

    def measure(self, run: Callable[..., Any], instead: Callable[..., Any], calls: int, elements: int, *arrays) -> Any:
        """Run the optimised plan if it is there or pays by now. Else measure a call of the first one.

        The call stands for so many `calls`. Its largest array has so many `elements`.
        """
        pattern = self.pattern_of(*arrays)
        if pattern in self.made or (self._pays(elements) and self._is_due_now() and self.optimise(pattern)):
            return instead(*arrays)
        started = clock()
        outputs = run(*arrays, _measured=True)
        taken = calls * (clock() - started)
        self.calls += calls
        self.seconds += taken
        self.saving += (SAVED_SHARE if calls == 1 else SAVED_SHARE_OF_SMALL) * taken
        return outputs

    def _pays(self, elements: int = 0) -> bool:
        """Return True if an optimised plan pays for the calls so far, or for one with so large an array alone."""
        work = elements * self.steps
        alone = work >= MAX_ELEMENTS or SAVED_SHARE * work * SECONDS_PER_ELEMENT >= self.cost
        return alone or self.saving >= self.cost

    def _is_due_now(self) -> bool:
        """Return True unless the call is within np.errstate, after other calls."""
        self.waits = self.calls > 0 and np.geterr() not in (AMBIENT_ERRSTATE, _DEFAULTS)
        return not self.waits

    # -- optimised plans

    def optimise(self, pattern: Hashable) -> bool:
        """Make the optimised plan for a pattern; return False if another thread does or it fails, which is logged."""
        is_mine = False
        try:
            with self.lock:
                if pattern in self.made:
                    return True
                if self.making.get(pattern) == os.getpid() or pattern in self.failed:
                    return False
                is_mine = True
                self.making[pattern] = os.getpid()
            started = clock()
            install = self.make(pattern)
        except Exception as error:  # the first plan is right too
            self.failed[pattern] = f"{type(error).__name__}: {error}"
            _PLAN.exception("%s: the optimised plan could not be made; the first one stays in use", self.name)
            return False
        finally:
            if is_mine:
                self.making.pop(pattern, None)
        taken = clock() - started
        with self.lock:
            install()
            self.made[pattern] = self._info("optimised", f"made in {_time(taken)}, {self._so_far('had taken')}")
            self.calls, self.seconds, self.saving, self.waits = 0, 0.0, 0.0, False
        _PLAN.debug("%s: the optimised plan is %s", self.name, self.made[pattern].why)
        return True

    # -- explanations

    def info(self) -> TierInfo:
        """Return which plan runs, and why."""
        if self.mode == "now":
            return self._info("optimised", f"made at once, {self.why}")
        if self.mode == "off":
            return self._info("first", f"no other is made, {self.why}")
        if self.made:
            return list(self.made.values())[-1]
        if self.failed:
            return self._info("first", f"the optimised one could not be made: {list(self.failed.values())[-1]}")
        if self.waits:
            return self._info("first", "the optimised one waits for a call outside of np.errstate")
        if self.saving <= self.cost / 10:
            return self._info("first", "calls so far are too short for an optimised one to pay")
        estimate = f"an optimised one would have saved {_time(self.saving)} and takes {_time(self.cost)} to make"
        return self._info("first", f"{self._so_far('took')}; {estimate}")

    def _so_far(self, took: str) -> str:
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"{'after' if took != 'took' else ''} {calls} {took} {_time(self.seconds)}".strip()

    def _info(self, tier: str, why: str) -> TierInfo:
        return TierInfo(tier, self.mode, self.calls, self.seconds, self.saving, self.cost, why)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def mode_of(optimize: str | None, max_bytes: int | None, timers: Any, *, waits: bool = False) -> tuple[str, str]:
    """Return when optimised plans are made, and why then.

    - `waits`: whether a plan waits until its loops are built.
    """
    optimize = config.optimize if optimize is None else optimize
    if optimize == "auto" and max_bytes is not None:
        return "now", "as max_bytes bounds its arrays"
    if optimize == "auto" and config.reproducible:
        return "now", "as anyshape.config.reproducible is set"
    if optimize == "auto" and timers is not None:
        return "now", "for a profile"
    if optimize == "auto" and waits:
        return "now", 'as compile="wait" builds its loops'
    return optimize, f'by optimize="{optimize}"'


_PLAN = logging.getLogger("anyshape.plan")
MAX_SIZES = 16  # that a call compares with 1
MAX_PATTERNS = 32  # with plans of their own
MAX_REMEMBERED = 4096  # sizes of calls whose pattern is remembered

Group = tuple[Size, ...]  # sizes that broadcast together


# -- graphs for a pattern ----------------------------------------------------------------------------------------


def broadcast_groups(graph: Graph) -> list[Group]:
    """Return the groups of input sizes that the program broadcasts together, the smallest first, at most MAX_SIZES."""
    solved = {s.variable for s in graph.dims}
    atoms = [atom for size in _symbolic_sizes(graph) for atom in expr.atoms_of(size)]
    calls = [a for a in atoms if isinstance(a, Call) and a.function == "broadcast"]
    groups = dict.fromkeys(call.args for call in calls if _is_readable(call, solved))
    chosen: list[Group] = []
    for group in sorted(groups, key=len):
        if len({*itertools.chain(*chosen, group)}) <= MAX_SIZES:
            chosen.append(group)
    return chosen


def _symbolic_sizes(graph: Graph) -> list[Size]:
    """Return the sizes of all values and of all conditions: a shape holds the shorter of two equal sizes only."""
    in_shapes = [s for v in graph.numbering for s in v.meta.sizes or ()]
    in_claims = [s for c in graph.conditions for s in (c.claim.left, c.claim.right)]
    return [s for s in dict.fromkeys([*in_shapes, *in_claims]) if not isinstance(s, int)]


def _is_readable(call: Call, solved: set[DimVar]) -> bool:
    """Return True if the arguments follow from the inputs without a division by a size."""
    return all(solved.issuperset(expr.variables(size)) and not may_divide_by_zero(size) for size in call.args)


@restores_thread
def specialised(graph: Graph, groups: Sequence[Group], ones: frozenset[Size]) -> Graph:
    """Return the graph for calls in which exactly `ones`, of the sizes that broadcast together, are 1."""
    scope = replay_scope(graph)
    _restate_equalities(scope, _assume_pattern(scope, groups, ones))
    builder, inputs = replay_builder(graph, scope)
    with activate(builder):
        return builder.finish(inline(builder, graph, inputs), graph.name, graph.input_names)


def _assume_pattern(scope: Scope, groups: Sequence[Group], ones: frozenset[Size]) -> dict[Atom, Size]:
    """Assume that `ones` are 1 and the other sizes of each group equal; return the variables that this replaces."""
    known: dict[Atom, Size] = {}
    for size in ones:
        scope.assume(Condition("fact", equal(size, 1), "broadcast", "is what the call has", None))
        known |= _substitution(size, 1)
    for group in groups:
        first, *others = [s for s in group if s not in ones and s != 1] or [1]
        for other in others:
            claim = equal(first, other)
            if not scope.proves(claim):
                why = f"operands could not be broadcast together with sizes {first} and {other}"
                scope.assume(Condition("assertion", claim, "broadcast", why, None))
            if other is not first:
                known |= _substitution(other, first)
    return known


def _substitution(size: Size, value: Size) -> dict[Atom, Size]:
    """Map the size to the value if it is a variable."""
    atom = expr.as_atom(size)
    return {atom: value} if isinstance(atom, DimVar) else {}


def _restate_equalities(scope: Scope, known: Mapping[Atom, Size]) -> None:
    """Assume each equality of the scope with the known sizes in it: a claim about a broadcast then states its size."""
    for condition in [c for c in scope.conditions if c.claim.relation == "=="]:
        claim = equal(substitute(condition.claim.left, known.get), substitute(condition.claim.right, known.get))
        if scope.normal(claim.left) != scope.normal(claim.right):
            scope.assume(replace(condition, claim=claim))


# -- patterns of calls -------------------------------------------------------------------------------------------


class BroadcastPattern(NamedTuple):
    """Assumptions of a plan: which sizes are 1, as one bit for each, and the contraction paths."""

    ones: int
    paths: Paths


class CallPatterns:
    """Patterns of the calls of one program: how to read them off the arguments, and their graphs.

    It holds no compiled function, so a program and its timed copy share it.
    """

    def __init__(self, graph: Graph, prologue: Prologue, groups: Sequence[Group], paths: ContractionPaths) -> None:
        self.graph, self.prologue, self.groups, self.paths = graph, prologue, groups, paths
        self.sizes: list[DimExpr] = list(dict.fromkeys(s for group in groups for s in group if not isinstance(s, int)))
        self.read: Callable[..., Any] = self._reader()
        self.pattern_by_reading: dict[Any, BroadcastPattern] = {}

    def _reader(self) -> Callable[..., Any]:
        """Generate a function of the arguments: a bit for each size that is 1, or all sizes if they choose paths."""
        if not self.paths:
            bits = " | ".join(f"({{}} == 1) << {i}" for i in range(len(self.sizes)))
            return size_function(self.prologue, self.sizes, bits)
        sizes = [*self.sizes, *self.paths.sizes]
        return size_function(self.prologue, sizes, f"({'{}, ' * len(sizes)})")

    def of_call(self, arrays: Sequence[Any]) -> BroadcastPattern:
        """Return the pattern of these arguments."""
        reading = self.read(*arrays)
        pattern = self.pattern_by_reading.get(reading)
        if pattern is None:
            if len(self.pattern_by_reading) >= MAX_REMEMBERED:
                self.pattern_by_reading.clear()
            pattern = self.pattern_by_reading[reading] = self._of_reading(reading)
        return pattern

    def _of_reading(self, reading) -> BroadcastPattern:
        if not self.paths:
            return BroadcastPattern(reading, ())
        return self._of_numbers(dict(zip([*self.sizes, *self.paths.sizes], reading, strict=True)))

    def _of_numbers(self, numbers: Mapping[Size, int]) -> BroadcastPattern:
        ones = sum((numbers[size] == 1) << i for i, size in enumerate(self.sizes))
        return BroadcastPattern(ones, self.paths.cheapest(numbers))

    def of_dims(self, values: Mapping[DimVar, int]) -> BroadcastPattern:
        """Return the pattern of calls with these values of the dimension variables."""
        sizes = [*self.sizes, *self.paths.sizes]
        return self._of_numbers({size: evaluate(size, values_from(values)) for size in sizes})

    @property
    def default(self) -> BroadcastPattern:
        """Pattern of calls in which no size is 1, with the default paths."""
        return BroadcastPattern(0, self.paths.default)

    def graph_along(self, paths: Paths) -> Graph:
        """Return the graph with these contraction paths, which assumes nothing of the sizes."""
        return self.graph if paths == self.paths.default else to_pairs(self.graph, self.paths.by_value(paths))

    def graph_for(self, pattern: BroadcastPattern) -> Graph:
        """Return the graph of the plan for a pattern."""
        graph = to_pairs(self.graph, self.paths.by_value(pattern.paths))
        try:
            return specialised(graph, self.groups, self.ones(pattern)) if self.sizes else graph
        except AnyshapeError as error:  # the replay may prove less than the trace; without assumptions it is right too
            _PLAN.debug("%s: the plan for this pattern assumes nothing of the sizes: %s", graph.name, error)
            return graph

    def ones(self, pattern: BroadcastPattern) -> frozenset[Size]:
        """Return the sizes that are 1 in a pattern."""
        return frozenset(s for i, s in enumerate(self.sizes) if pattern.ones >> i & 1)

    def claims(self, pattern: BroadcastPattern) -> tuple[Claim, ...]:
        """Return the claims about sizes that tell a pattern from others."""
        ones = self.ones(pattern)
        return tuple([Claim("==" if s in ones else "!=", s, 1) for s in self.sizes])


# -- functions for patterns --------------------------------------------------------------------------------------


class Compile(Protocol):
    """Function that compiles a graph, with what to run where a claim fails or the memory limit is exceeded."""

    def __call__(
        self,
        graph: Graph,
        entry_guards: Sequence[EntryGuard] = (),
        over_limit: Run | None = None,
        *,
        tier: Tier,
        meter: Meter | None = None,
    ) -> Run:
        """Return the compiled function."""


class Specializer:
    """Function of a program that has plans for patterns.

    A call goes to the function of the last pattern, which passes calls of other patterns to `dispatch`. Before there is
    one, it goes to the function of the first plan. If sizes choose contraction paths, each call is dispatched.

    `serve` takes the function for the next call; it is None where `run_latest` serves all calls.
    """

    def __init__(
        self, patterns: CallPatterns, compile_graph: Compile, tiers: Tiers, serve: Callable[[Run], None] | None = None
    ) -> None:
        self.patterns, self.compile, self.tiers, self.serve = patterns, compile_graph, tiers, serve
        self.runs: dict[BroadcastPattern, Run] = {}
        self.first_runs: dict[Paths, Run] = {}
        self.latest: Run = self.dispatch

    def run_latest(self, *arrays: Any) -> Any:
        """Run the function of the last pattern."""
        return self.latest(*arrays)

    def _select(self, run: Run) -> None:
        """Have a function serve the next call, unless each call is dispatched."""
        if not self.patterns.paths:
            self.latest = run
            if self.serve is not None:
                self.serve(run)

    def dispatch(self, *arrays: Any) -> Any:
        """Run the function for the pattern of these arrays."""
        pattern = self.patterns.of_call(arrays)
        run = self.runs.get(pattern)
        if run is None:
            run = self._missing(pattern)
        else:
            self._select(run)
        return run(*arrays)

    def _missing(self, pattern: BroadcastPattern) -> Run:
        """Return the function for a pattern without an optimised plan: of the first plan, which counts its calls."""
        if self.tiers.first is Tier.OPTIMISED:
            self.make(pattern)()
            return self.runs[pattern]
        return self.first_runs.get(pattern.paths) or self._first(pattern.paths)

    def _first(self, paths: Paths) -> Run:
        """Return the function of the first plan with these contraction paths."""
        run = self.first_runs.get(paths)
        if run is None:
            over_limit = None if paths == self.patterns.paths.default else self._run_default_paths
            meter = self.tiers.meter(self.dispatch)
            with self.tiers.making_first(len(self.patterns.graph.nodes)):
                run = self.compile(self.patterns.graph_along(paths), (), over_limit, tier=Tier.FIRST, meter=meter)
            _drop_oldest(self.first_runs)
            self.first_runs[paths] = run
            if not self.runs:
                self._select(run)
        return run

    def _run_default_paths(self, *arrays):
        return self._first(self.patterns.paths.default)(*arrays)

    def make(self, pattern: BroadcastPattern) -> Callable[[], None]:
        """Compile the optimised plan for a pattern, and return what makes it serve.

        The path with the least work may take more memory than the default one, which then runs if memory is limited.
        """
        patterns = self.patterns
        default = pattern._replace(paths=patterns.paths.default)

        def run_default_paths(*arrays):
            run = self.runs.get(default)
            if run is None:
                self.make(default)()
                run = self.runs[default]
            return run(*arrays)

        def install() -> None:
            for dropped in _drop_oldest(self.runs):
                self.tiers.made.pop(dropped, None)
            self._select(self.runs.setdefault(pattern, run))

        entry_guards = [EntryGuard(patterns.claims(pattern), self.dispatch)] if patterns.sizes else []
        over_limit = None if pattern == default else run_default_paths
        run = self.compile(patterns.graph_for(pattern), entry_guards, over_limit, tier=Tier.OPTIMISED)
        return install

    @property
    def __source__(self) -> str:
        """Source of all functions compiled so far."""
        runs = (*self.first_runs.values(), *self.runs.values())
        return "\n".join(run.__source__ for run in runs)  # type: ignore[attr-defined]


def _drop_oldest(runs: dict[Any, Run]) -> list[Any]:
    """Make room for one more function; return what was dropped."""
    dropped = list(runs)[: max(0, len(runs) - MAX_PATTERNS + 1)]
    for key in dropped:
        runs.pop(key, None)
    return dropped
