"""Plans of one program for calls whose sizes are related: which of the sizes that are broadcast together are 1.

Those that are not are equal, or NumPy would refuse the call. A plan that knows it broadcasts nothing at run time. The
graph is not traced again: it is replayed under what is known, for each pattern of ones that calls have had some times
or with large arrays, up to a number of patterns; the plan that assumes nothing serves all others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from anyshape.autodiff.forward import inline
from anyshape.backend.execute import Run, Turn
from anyshape.graph import dims
from anyshape.graph.builder import Builder, activate
from anyshape.graph.conditions import Claim, Condition, Where, equal
from anyshape.graph.dims import Atom, Call, DimVar, Size
from anyshape.graph.entry import Entry, divides
from anyshape.graph.guards import size_function
from anyshape.graph.ir import Graph
from anyshape.graph.scope import Scope
from anyshape.graph.solve import atoms_of
from anyshape.graph.substitution import substitute
from anyshape.numpy.traced import Array

MOST_SIZES = 16  # that a call looks at
MOST_PATTERNS = 8  # that have plans of their own
PATIENCE = 16  # calls after which a plan of its own pays for small arrays: making it takes as long as a first call
LARGE = 1 << 14  # elements of an argument for which it pays at once


def broadcast_together(graph: Graph) -> list[tuple[Size, ...]]:
    """The groups of sizes of inputs that the program broadcasts with each other; some, where there are many."""
    given = {s.variable for s in graph.dims}
    found: dict[tuple[Size, ...], None] = {}
    sizes = dict.fromkeys(s for v in graph.numbering for s in v.meta.sizes or () if not isinstance(s, int))
    # one that is known to equal a size goes by the name of that in shapes
    sizes |= dict.fromkeys(s for c in graph.conditions for s in (c.claim.left, c.claim.right) if not isinstance(s, int))
    for call in [a for size in sizes for a in atoms_of(size) if isinstance(a, Call) and a.function == "broadcast"]:
        if all(v in given for arg in call.args for v in dims.variables(arg)) and not any(map(divides, call.args)):
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
        known |= {leaf: 1 for leaf in [dims.as_atom(size)] if isinstance(leaf, DimVar)}
    for group in groups:
        first, *others = [s for s in group if s not in ones and s != 1] or [1]
        for other in others:
            claim = equal(first, other)
            if not scope.proves(claim):
                why = f"operands could not be broadcast together with sizes {first} and {other}"
                scope.assume(Condition("assertion", claim, "broadcast", why, where))
            known |= {leaf: first for leaf in [dims.as_atom(other)] if isinstance(leaf, DimVar) and other is not first}
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


class Related:
    """The function of a program that has plans by relation. `make` compiles a graph.

    A call is given to the plan of the last pattern that had one, which turns away what has another.
    """

    def __init__(self, graph: Graph, entry: Entry, groups: Sequence[tuple[Size, ...]], make: Callable[..., Run]):
        self.graph, self.entry, self.groups, self.make = graph, entry, groups, make
        self.sizes = list(dict.fromkeys(s for group in groups for s in group if not isinstance(s, int)))
        bits = " | ".join(f"({{}} == 1) << {i}" for i in range(len(self.sizes)))
        self.pattern = size_function(entry, self.sizes, bits)
        self.runs: dict[int, Run] = {}
        self.patterns: set[int] = set()  # that have plans of their own
        self.calls: dict[int, int] = {}
        self.first: Run = self.choose

    def again(self, make: Callable[..., Run]) -> Related:
        """The same of functions that are made in another way; what calls have had counts for both."""
        found = Related(self.graph, self.entry, self.groups, make)
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
        pattern = self.pattern(*arrays)
        run = self.runs.get(pattern)
        if run is None:
            run = self._chosen(pattern, arrays)
        else:
            self.first = run
        return run(*arrays)

    def graph_for(self, arrays: Sequence[Any]) -> Graph:
        """The graph of the plan for the pattern of these arrays."""
        return specialised(self.graph, self.groups, self._ones(self.pattern(*arrays)))

    def _ones(self, pattern: int) -> frozenset[Size]:
        return frozenset(s for i, s in enumerate(self.sizes) if pattern >> i & 1)

    def _chosen(self, pattern: int, arrays: Sequence[Any]) -> Run:
        """The general function, until one for the pattern is worth making."""
        if pattern not in self.patterns:
            calls = self.calls[pattern] = self.calls.get(pattern, 0) + 1
            if len(self.patterns) >= MOST_PATTERNS or (calls <= PATIENCE and all(x.size < LARGE for x in arrays)):
                return self.general
            self.patterns.add(pattern)
        ones = self._ones(pattern)
        turn = Turn(tuple([Claim("==" if s in ones else "!=", s, 1) for s in self.sizes]), self.choose)
        return self.runs.setdefault(pattern, self.make(specialised(self.graph, self.groups, ones), [turn]))

    @property
    def __source__(self) -> str:
        """The source of the functions that there are."""
        return "\n".join(run.__source__ for run in (self.general, *self.runs.values()))  # type: ignore[attr-defined]
