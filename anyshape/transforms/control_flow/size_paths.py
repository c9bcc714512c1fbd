"""Follow each decision of Python on sizes both ways, so that one program holds all paths of a function.

The function is traced once for each path, under what the decisions before it assume. Then it is traced into nested
conditionals: a decision is the predicate of a `cond`, and holds inside of its branch. So the program is like any other
one with conditionals, for derivatives, batches and files. What is computed before a decision is part of both branches.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.backend.runtime.config import config
from anyshape.errors import AnyshapeError, BranchMismatchError, InconclusiveDimensionError, SizePathsError
from anyshape.graph.ir.builder import Builder, active, active_builders, user_line
from anyshape.graph.prover.constraints import CHECK, PREDICATE, Claim, Condition, SourceLine
from anyshape.numpy.sizes.symdim import SizeComparison
from anyshape.support.lazy_dataclass import dataclass
from anyshape.tracing.pytrees import flatten, unflatten
from anyshape.tracing.raised import is_stated
from anyshape.tracing.trace import trace_inner
from anyshape.transforms.control_flow.conditionals import cond

Function = Callable[..., Any]
MAX_DEPTH = 30  # decisions in a row: each nests a conditional in the one before


@dataclass
class _Path:
    """End of a path: the function returns there, or states an exception."""

    error: Exception | None = None


@dataclass
class _Decision:
    """Decision that both answers are followed of."""

    claim: Claim
    where: SourceLine | None
    if_false: Any
    if_true: Any


def following_sizes(function: Function, name: str) -> Function:
    """Return a function that a trace can run for all sizes, though the given one decides on them.

    A path that ends in a `raise` or `assert` of the user becomes a check: a call that would take it raises CheckError.
    Any other exception is a mistake, and raised as it is. Raise SizePathsError beyond `config.max_paths` decisions, or
    where too many of them nest.
    """

    def followed(*args: Any, **kwargs: Any) -> Any:
        builder = active()
        assert isinstance(builder, Builder)
        leaves, tree = flatten((args, kwargs))

        def run() -> Any:
            builder.scope.renew_searches()  # what was proved of a path is proved again
            own_args, own_kwargs = unflatten(tree, leaves)  # each path changes containers of its own
            return function(*own_args, **own_kwargs)

        paths = _Paths(function, run, name, builder)
        return paths.emit(paths.explore(()))

    return followed


class _Paths:
    """Paths of one function of no arguments, in one trace."""

    def __init__(self, original: Function, function: Function, name: str, builder: Builder) -> None:
        self.original, self.function, self.name, self.builder, self.count = original, function, name, builder, 0

    def explore(self, held: Sequence[Condition]) -> _Path | _Decision:
        """Return the tree of the decisions that follow under these conditions."""
        try:
            self._attempt(held)
        except InconclusiveDimensionError as error:
            if error.decision is None or not self._is_known(error.decision):
                raise
            undecided = error
        except AnyshapeError:
            raise
        except Exception as error:
            if not is_stated(error):
                where = " and ".join([str(c.claim) for c in held])
                error.add_note(f"on the path of {self.name} where {where}" if where else f"on a path of {self.name}")
                raise
            return _Path(error)
        else:
            return _Path()
        return self._split(undecided, held)

    def _attempt(self, held: Sequence[Condition]) -> None:
        """Trace the function under conditions into a graph that nothing uses."""
        with contextlib.ExitStack() as stack:
            for condition in held:
                stack.enter_context(self.builder.scope.apart(condition))
            trace_inner(self.builder, lambda _: (self.function(), None), self.name, (), whole=True, writes=True)

    def _is_known(self, claim: Claim) -> bool:
        """Return whether a claim is about sizes of the whole trace, not of one attempt."""
        return all(v in self.builder.dims for v in claim.variables())

    def _split(self, error: InconclusiveDimensionError, held: Sequence[Condition]) -> _Decision:
        """Return an open decision with what follows either answer."""
        for builder in active_builders():
            builder.hidden_error = None  # this decision is followed
        claim: Claim = error.decision
        where: Any = error.where
        self.count += 1
        if self.count >= config.max_paths or len(held) >= MAX_DEPTH:
            raise SizePathsError(self.name, str(error.claim), self.count, len(held), where) from None
        why = f"{self.name} takes a path where this holds"
        conditions = [Condition("assertion", c, PREDICATE, why, where) for c in (claim.negated(), claim)]
        if_false, if_true = [self.explore([*held, c]) for c in conditions]
        return _Decision(claim, where, if_false, if_true)

    def emit(self, tree: _Path | _Decision) -> Any:
        """Return the result of the function in the active trace, by the paths of a tree."""
        if isinstance(tree, _Path):
            if tree.error is not None:
                raise tree.error
            return self.function()
        claim, if_false, if_true = tree.claim, _pruned(tree.if_false), _pruned(tree.if_true)
        for outcome, other, held in ((if_false, if_true, claim), (if_true, if_false, claim.negated())):
            if isinstance(outcome, _Path) and outcome.error is not None:
                error = outcome.error
                self.builder.scope.require(held, CHECK, f"{type(error).__name__}: {error}", (), _raised_at(error))
                return self.emit(other)
        comparison = SizeComparison(claim, self.builder.scope)
        try:
            return cond(comparison, self._branch(if_true), self._branch(if_false))
        except BranchMismatchError as error:
            raise _in_words_of_paths(error, self.name, tree) from None

    def _branch(self, tree: _Path | _Decision) -> Function:
        def branch() -> Any:
            return self.emit(tree)

        branch.__name__ = self.name
        branch.__wrapped__ = self.original  # type: ignore[attr-defined]  # errors give its line
        return branch


def _in_words_of_paths(error: BranchMismatchError, name: str, tree: _Decision) -> BranchMismatchError:
    """Return the error for the results of two paths; errors of conditionals that the user wrote stay as they are."""
    conditions = {"true_fun": tree.claim, "false_fun": tree.claim.negated()}
    if any(label not in conditions for label, _, _ in error.branches):
        return error
    branches = [(f"the path where {conditions[label]}", text, line) for label, text, line in error.branches]
    return BranchMismatchError(name, error.path, branches, error.advice, tree.where)


def _pruned(tree: _Path | _Decision) -> _Path | _Decision:
    """Return a path that raises for a decision both of whose answers lead to one, else the tree itself."""
    if isinstance(tree, _Path):
        return tree
    outcomes = [_pruned(tree.if_false), _pruned(tree.if_true)]
    return outcomes[0] if all(isinstance(o, _Path) and o.error is not None for o in outcomes) else tree


def _raised_at(error: Exception) -> SourceLine | None:
    """Return the line that raised an exception of the user."""
    frames = traceback.extract_tb(error.__traceback__)
    return SourceLine(frames[-1].filename, frames[-1].lineno or 0, frames[-1].name) if frames else user_line()
