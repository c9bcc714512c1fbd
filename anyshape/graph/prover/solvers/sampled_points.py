"""Points, many at once: sizes at which facts hold, as arrays. One that breaks a claim refutes it at little cost.

Stencils make many false claims: sizes that may stretch differ from the sizes that they stretch to. Integer sets take
milliseconds to refute each of them. Values may overflow here, so a point counts as a candidate alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.prover.solvers.points import Points
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimVar, Size

_POINTS = 512
_FEW = 24  # points, below which others are sampled
_MOST_VARIABLES = 24
_MOST_FACTS = 64
_MOST_SAMPLES = 4
_SMALL = (1, 2, 3, 0)  # sizes that matter by themselves, beside those near a known model
_MIX = (0x9E3779B1, 0x85EBCA77)  # of a hash that spreads the choices: random numbers need not differ from run to run


class SampledPoints(Points):
    """Points near a known model at which facts hold, which are added one by one."""

    near: Mapping[DimVar, int]
    seed: int

    def __init__(self, near: Mapping[DimVar, int], facts: Sequence[Claim], seed: int) -> None:
        self.near, self.seed = near, seed
        super().__init__({})
        self.alive: Any = np.ones(_POINTS, bool)
        self.facts: dict[Claim, None] = {}
        self.narrow(facts)
        self.sampled_for: int = len(self.facts)

    def narrow(self, facts: Sequence[Claim]) -> None:
        """Drop the sampled points at which one of these facts is false."""
        for fact in facts:
            if fact not in self.facts:
                self.facts[fact] = None
                self._sample_fresh(fact)
                holds, defined = self.truth(fact)
                self.alive &= holds & defined

    def counterexample(self, claim: Claim) -> dict[DimVar, int] | None:
        """Return a point at which the claim is false, {} if there is none, None if there are few points."""
        for variable in [v for v in claim.variables() if v not in self.columns]:
            self._sample(variable)
        holds, defined = self.truth(claim)
        breaks = self.alive & defined & ~holds
        at = int(np.argmax(breaks))
        if breaks[at]:
            return {v: int(column[at]) for v, column in self.columns.items()}
        return None if self.are_few else {}

    @property
    def are_few(self) -> bool:
        """True if few points are left."""
        return int(np.count_nonzero(self.alive)) < _FEW

    # -- sampling

    def _sample_fresh(self, fact: Claim) -> None:
        """Sample the variables that no fact before mentions, one that is a side of this fact so that it often holds."""
        fresh = [v for v in fact.variables() if v not in self.columns]
        for side, other in ((fact.left, fact.right), (fact.right, fact.left)):
            shifted = _shifted_variable(side)
            if shifted is None or shifted[0] not in fresh:
                continue
            variable, shift = shifted
            for v in [v for v in fresh if v is not variable]:
                self._sample(v)
            if variable not in expr.variables(other):
                fitting = self.value(other)[0] + shift
                self._sample(variable, (fitting, fitting, 1 + shift))
                return
        for variable in fresh:
            self._sample(variable)

    def _sample(self, variable: DimVar, fitting: Sequence[Any] = ()) -> None:
        """Choose among fitting sizes, the one in the known model and small ones."""
        near = self.near[variable]
        choices = [*fitting, *fitting, near, *_SMALL] if fitting else [near, near, near + 1, *_SMALL]
        choice = (np.arange(_POINTS, dtype=np.uint32) + self.seed) * _MIX[0] ^ (
            (len(self.columns) + 1) * _MIX[1] & 0xFFFFFFFF
        )
        choice = (((choice >> 15) ^ choice) * _MIX[1] >> 7) % len(choices)
        column = np.choose(choice, choices).astype(np.int64)
        self.columns[variable] = np.clip(column, variable.lower, variable.upper)


def _shifted_variable(size: Size) -> tuple[DimVar, int] | None:
    """Return the variable and its shift of `n - 2` or `max(n - 2, 0)`, which is n and 2; None for any other size."""
    atom = expr.as_atom(size)
    if isinstance(atom, Call) and atom.function == "max" and len(atom.args) == 2 and atom.args[1] == 0:
        return _shifted_variable(atom.args[0])
    if isinstance(size, int):
        return None
    (variable,) = expr.variables(size) if len(expr.variables(size)) == 1 else (None,)
    shift = None if variable is None else expr.sub(expr.from_atom(variable), size)
    return (variable, shift) if variable is not None and isinstance(shift, int) else None


class PointSamples:
    """Sampled points by the sizes that they are of."""

    def __init__(self) -> None:
        self._by_variables: dict[frozenset[DimVar], SampledPoints] = {}

    def counterexample(
        self, claim: Claim, facts: Sequence[Claim], near: Mapping[DimVar, int]
    ) -> dict[DimVar, int] | None:
        """Return a candidate: sizes at which the facts seem to hold and the claim does not, {} if there is none.

        None where too few points are known at which the facts hold.
        """
        variables = frozenset(v for c in (claim, *facts) for v in c.variables())
        if len(variables) > _MOST_VARIABLES or len(facts) > _MOST_FACTS:
            return None
        facts = sorted(facts, key=lambda f: _nodes(f.left) + _nodes(f.right))  # a size comes with a short fact
        points = self._by_variables.pop(variables, None)
        with np.errstate(all="ignore"):
            if points is not None:
                points.narrow(facts)
            if points is None or (points.are_few and len(points.facts) > points.sampled_for):
                points = SampledPoints(near, facts, 0 if points is None else points.seed + _POINTS)
            self._by_variables[variables] = points
            for oldest in list(self._by_variables)[:-_MOST_SAMPLES]:
                del self._by_variables[oldest]
            return points.counterexample(claim)


def _nodes(size: Size) -> int:
    return 0 if isinstance(size, int) else size.nodes
