"""Plans of one program for calls whose sizes are related: which of the sizes that are broadcast together are 1.

Those that are not are equal, or NumPy would refuse the call. A plan that knows it broadcasts nothing at run time. And a
plan has an order for each product of several operands, which the sizes of a call choose. The graph is not traced again:
it is replayed under what is known, for each pattern that calls have had some times or with large arrays, up to a number
of patterns; the plan that assumes nothing, with the usual orders, serves all others.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from anyshape.autodiff.jvp import inline
from anyshape.backend.compiler.codegen.execute import Run, Turn
from anyshape.backend.compiler.passes.binary_einsum import in_pairs
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.constraints import Claim, Condition, Where, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.signature.dim_equations import atoms_of
from anyshape.graph.signature.guards import size_function
from anyshape.graph.signature.prologue import Entry, divides
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, to_mapping
from anyshape.graph.sizes.expr import Atom, Call, DimVar, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.numpy.arrays.array import Array
from anyshape.program.contraction_choice import Choice, ContractionPaths

_PLAN = logging.getLogger("anyshape.plan")
MOST_SIZES = 16  # that a call looks at
MOST_PATTERNS = 8  # that have plans of their own
PATIENCE = 16  # calls after which a plan of its own pays for small arrays: making it takes as long as a first call
MOST_KNOWN = 4096  # what calls say of which the pattern is remembered
LARGE = 1 << 14  # elements of an argument for which it pays at once


def broadcast_together(graph: Graph) -> list[tuple[Size, ...]]:
    """The groups of sizes of inputs that the program broadcasts with each other; some, where there are many."""
    given = {s.variable for s in graph.dims}
    found: dict[tuple[Size, ...], None] = {}
    sizes = dict.fromkeys(s for v in graph.numbering for s in v.meta.sizes or () if not isinstance(s, int))
    # one that is known to equal a size goes by the name of that in shapes
    sizes |= dict.fromkeys(s for c in graph.conditions for s in (c.claim.left, c.claim.right) if not isinstance(s, int))
    for call in [a for size in sizes for a in atoms_of(size) if isinstance(a, Call) and a.function == "broadcast"]:
        if all(v in given for arg in call.args for v in expr.variables(arg)) and not any(map(divides, call.args)):
            found[call.args] = None
    kept: list[tuple[Size, ...]] = []
    for group in sorted(found, key=len):
        if len({*itertools.chain(*kept, group)}) <= MOST_SIZES:
            kept.append(group)
    return kept


def specialised(graph: Graph, groups: Sequence[tuple[Size, ...]], ones: frozenset[Size]) -> Graph:
    """The graph for calls in which, of the sizes that are broadcast together, just `ones` are 1."""
    runtime = graph.runtime.keys()  # sizes that depend on data are other ones in the replay, which states them anew
    scope = Scope(conditions=[c for c in graph.conditions if runtime.isdisjoint(c.claim.variables())])
    where: Where | None = None
    known: dict[Atom, Size] = {}
    for size in ones:
        scope.assume(Condition("fact", equal(size, 1), "broadcast", "is what the call has", where))
        known |= {leaf: 1 for leaf in [expr.as_atom(size)] if isinstance(leaf, DimVar)}
    for group in groups:
        first, *others = [s for s in group if s not in ones and s != 1] or [1]
        for other in others:
            claim = equal(first, other)
            if not scope.proves(claim):
                why = f"operands could not be broadcast together with sizes {first} and {other}"
                scope.assume(Condition("assertion", claim, "broadcast", why, where))
            known |= {leaf: first for leaf in [expr.as_atom(other)] if isinstance(leaf, DimVar) and other is not first}
    for condition in [c for c in scope.conditions if c.claim.relation == "=="]:
        # what is said of a broadcast is said of the size that it now is
        claim = equal(substitute(condition.claim.left, known.get), substitute(condition.claim.right, known.get))
        if scope.normal(claim.left) != scope.normal(claim.right):
            scope.assume(replace(condition, claim=claim))
    builder = Builder(scope, handle=Array)
    builder.values = dict(graph.values)
    builder.dims = {s.variable: (s.size, s) for s in graph.dims}
    inputs = [builder.input(v.meta) for v in graph.inputs]
    hidden = graph.inputs[len(graph.inputs) - graph.hidden :]
    builder.hidden = [variable for v in hidden for variable, _ in v.meta.named()]
    with activate(builder):
        return builder.finish(inline(builder, graph, inputs), graph.name, graph.input_names)


class BroadcastPattern(NamedTuple):
    """What a plan of its own knows: which sizes are 1, a bit for each, and the orders of products."""

    ones: int
    orders: Choice


class Specializer:
    """The function of a program that has plans by relation. `make` compiles a graph.

    A call is given to the plan of the last pattern that had one, which turns away what has another. Orders that sizes
    choose are looked up anew for each call.
    """

    def __init__(
        self,
        graph: Graph,
        entry: Entry,
        groups: Sequence[tuple[Size, ...]],
        orders: ContractionPaths,
        make: Callable[..., Run],
    ) -> None:
        self.graph, self.entry, self.groups, self.orders, self.make = graph, entry, groups, orders, make
        self.sizes = list(dict.fromkeys(s for group in groups for s in group if not isinstance(s, int)))
        self.read = self._reader()
        self.known: dict[Any, BroadcastPattern] = {}
        self.runs: dict[BroadcastPattern, Run] = {}
        self.patterns: set[BroadcastPattern] = set()  # that have plans of their own
        self.calls: dict[BroadcastPattern, int] = {}
        self.first: Run = self.choose

    def again(self, make: Callable[..., Run]) -> Specializer:
        """The same of functions that are made in another way; what calls have had counts for both."""
        found = Specializer(self.graph, self.entry, self.groups, self.orders, make)
        found.patterns, found.calls = self.patterns, self.calls
        return found

    @cached_property
    def general(self) -> Run:
        """The function of the plan that assumes nothing."""
        return self.make(self.graph)

    def __call__(self, *arrays: Any) -> Any:
        return self.first(*arrays)

    def choose(self, *arrays: Any) -> Any:
        """Run the plan for the pattern of these arrays."""
        pattern = self._pattern(arrays)
        run = self.runs.get(pattern)
        if run is None:
            run = self._chosen(pattern, arrays)
        elif not self.orders:
            self.first = run
        return run(*arrays)

    def _reader(self) -> Callable[..., Any]:
        """What of the sizes of a call says its pattern: a bit for each that is 1, or all where they choose orders."""
        if not self.orders:
            bits = " | ".join(f"({{}} == 1) << {i}" for i in range(len(self.sizes)))
            return size_function(self.entry, self.sizes, bits)
        sizes = [*self.sizes, *self.orders.sizes]
        return size_function(self.entry, sizes, f"({'{}, ' * len(sizes)})")

    def _pattern(self, arrays: Sequence[Any]) -> BroadcastPattern:
        read = self.read(*arrays)
        pattern = self.known.get(read)
        if pattern is None:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            pattern = self.known[read] = self._found(read)
        return pattern

    def _found(self, read: Any) -> BroadcastPattern:
        if not self.orders:
            return BroadcastPattern(read, ())
        return self._at(dict(zip([*self.sizes, *self.orders.sizes], read, strict=True)))

    def _at(self, at: Mapping[Size, int]) -> BroadcastPattern:
        return BroadcastPattern(sum((at[size] == 1) << i for i, size in enumerate(self.sizes)), self.orders(at))

    def graph_at(self, values: Mapping[DimVar, int]) -> Graph:
        """The graph of the plan for the pattern of these sizes."""
        sizes = [*self.sizes, *self.orders.sizes]
        return self._graph(self._at({size: evaluate(size, to_mapping(values)) for size in sizes}))

    def graph_for(self, arrays: Sequence[Any]) -> Graph:
        """The graph of the plan for the pattern of these arrays."""
        return self._graph(self._pattern(arrays))

    def usual_graph(self) -> Graph:
        """The graph of the plan for sizes that are equal where they are broadcast together, and none of them 1."""
        return self._graph(BroadcastPattern(0, self.orders.usual))

    def _graph(self, pattern: BroadcastPattern) -> Graph:
        graph = in_pairs(self.graph, self.orders.by_value(pattern.orders))
        try:
            return specialised(graph, self.groups, self._ones(pattern)) if self.sizes else graph
        except AnyshapeError as error:  # a replay may prove less than the trace; what assumes nothing is right as well
            _PLAN.debug("%s: a plan for these relations assumes none of them: %s", graph.name, error)
            return graph

    def _ones(self, pattern: BroadcastPattern) -> frozenset[Size]:
        return frozenset(s for i, s in enumerate(self.sizes) if pattern.ones >> i & 1)

    def _chosen(self, pattern: BroadcastPattern, arrays: Sequence[Any]) -> Run:
        """The general function, until one for the pattern is worth making: at once for another order of a product, so
        that the first call of some sizes gives the same bits as the next.
        """
        if pattern not in self.patterns:
            calls = self.calls[pattern] = self.calls.get(pattern, 0) + 1
            soon = calls <= PATIENCE and pattern.orders == self.orders.usual and all(x.size < LARGE for x in arrays)
            if soon or len(self.patterns) >= MOST_PATTERNS or (pattern.orders == self.orders.usual and not self.sizes):
                return self.general
            self.patterns.add(pattern)
        return self._made(pattern)

    def _made(self, pattern: BroadcastPattern) -> Run:
        """The function of the plan for a pattern. The order with the least work may take more memory than the usual
        one, which then runs if memory is limited.
        """
        usual, ones = pattern._replace(orders=self.orders.usual), self._ones(pattern)

        def instead(*arrays: Any) -> Any:
            run = self.runs.get(usual) or self._made(usual)
            return run(*arrays)

        turn = Turn(tuple([Claim("==" if s in ones else "!=", s, 1) for s in self.sizes]), self.choose)
        otherwise = None if pattern == usual else instead
        made = self.make(self._graph(pattern), [turn] if self.sizes else [], otherwise)
        return self.runs.setdefault(pattern, made)

    @property
    def __source__(self) -> str:
        """The source of the functions that there are."""
        return "\n".join(run.__source__ for run in (self.general, *self.runs.values()))  # type: ignore[attr-defined]
