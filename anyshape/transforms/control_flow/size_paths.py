"""Follow each decision of Python on sizes both ways, so that one program holds all paths of a function.

The function is traced once for each path, under what the decisions before it assume. Then it is traced into nested
conditionals: a decision is the predicate of a `cond`, and holds inside of its branch. So the program is like any other
one with conditionals, for derivatives, batches and files. What is computed before a decision is part of both branches.
"""

import contextlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from anyshape import errors
from anyshape.backend.runtime.config import config
from anyshape.graph.ir.builder import Builder, active, active_builders, user_line
from anyshape.graph.prover.constraints import CHECK, PREDICATE, Claim, Condition, SourceLine
from anyshape.numpy.sizes.symdim import SizeComparison
from anyshape.ops import subgraph_call
from anyshape.support.lazy_dataclass import dataclass
from anyshape.tracing.pytrees import flatten, unflatten
from anyshape.tracing.trace import is_stated, trace_inner
from anyshape.transforms.control_flow.conditionals import cond

Function = Callable[..., Any]
MAX_DEPTH = 30  # decisions in a row: each nests a conditional in the one before


@dataclass
class _Path:
    """End of a path: the function returns there or states an exception, or no sizes are known that it fits."""

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

    def followed(*args, **kwargs):
        builder = active()
        assert isinstance(builder, Builder)
        leaves, tree = flatten((args, kwargs))

        def run():
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
        self.failed: _Path | _Decision | None = None  # branch that an error ended

    def explore(self, held: Sequence[Condition]) -> _Path | _Decision:
        """Return the tree of the decisions that follow under these conditions."""
        try:
            end = _Path(self._attempt(held))
        except errors.InconclusiveDimensionError as inconclusive:
            if not self._follows(inconclusive):
                raise
            undecided = inconclusive
        except errors.AnyshapeError:
            raise
        except Exception as error:
            if not is_stated(error):
                where = " and ".join([str(c.claim) for c in held])
                error.add_note(f"on the path of {self.name} where {where}" if where else f"on a path of {self.name}")
                raise
            return _Path(error)
        else:
            return end
        return self._split(undecided, held)

    def _held(self, claim: Claim, where: SourceLine | None) -> Condition:
        return Condition("assertion", claim, PREDICATE, f"{self.name} takes a path where this holds", where)

    def _attempt(self, held: Sequence[Condition]) -> Exception | None:
        """Trace the function under conditions into a graph that nothing uses.

        Return the error of a path that no sizes are known to take: such a path may demand what it contradicts.
        """
        with self._under(held):
            try:
                trace_inner(self.builder, lambda _: (self.function(), None), self.name, (), whole=True, writes=True)
            except (errors.ShapeError, errors.CheckError) as error:
                if held and self.builder.scope.may_be_void():
                    return error
                raise
        return None

    @contextlib.contextmanager
    def _under(self, held: Sequence[Condition]) -> Iterator[None]:
        """Assume these conditions in the block."""
        with contextlib.ExitStack() as stack:
            for condition in held:
                stack.enter_context(self.builder.scope.apart(condition))
            yield

    def _follows(self, error: Exception) -> bool:
        """Return whether an error is of a decision on sizes of the whole trace, not on sizes of one attempt."""
        claim = error.decision if isinstance(error, errors.InconclusiveDimensionError) else None
        return claim is not None and all(v in self.builder.dims for v in claim.variables())

    def _split(self, error, held: Sequence[Condition]) -> _Decision:
        """Return an open decision with what follows either answer."""
        _forget_hidden()  # this decision is followed
        claim: Claim = error.decision
        where: Any = error.where
        self.count += 1
        if self.count >= config.max_paths or len(held) >= MAX_DEPTH:
            raise errors.SizePathsError(self.name, str(error.claim), self.count, len(held), where) from None
        conditions = [self._held(c, where) for c in (claim.negated(), claim)]
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
                return self._emit_checked(other, held, outcome.error)
        comparison, self.failed = SizeComparison(claim, self.builder.scope), None
        try:
            return cond(comparison, self._branch(if_true), self._branch(if_false))
        except errors.BranchMismatchError as error:
            raise _in_words_of_paths(error, self.name, tree) from None
        except subgraph_call.ERRORS as error:
            return self._emit_otherwise(_Decision(claim, tree.where, if_false, if_true), error)

    def _emit_otherwise(self, tree: _Decision, error: Exception):
        """Return the result where a conditional was given up.

        If no sizes are known that take one of its paths, a call that takes it meets the error. A decision that was
        proved when the path was explored is followed both ways.
        """
        _forget_hidden()
        sides, claims = [tree.if_false, tree.if_true], [tree.claim.negated(), tree.claim]
        failed = [i for i, side in enumerate(sides) if side is self.failed]  # none if it is a graph that is not legal
        void = [i for i in failed or (0, 1) if self._may_be_void(claims[i], tree.where)]
        if len(void) == 1:
            return self._emit_checked(sides[not void[0]], claims[not void[0]], error)
        if void or not failed or not self._follows(error):
            raise error
        sides[failed[0]] = self._split(error, [self._held(claims[failed[0]], tree.where)])
        return self.emit(_Decision(tree.claim, tree.where, *sides))

    def _emit_checked(self, tree: _Path | _Decision, held: Claim, error: Exception):
        """Return the result of the path where a claim holds; a call for which it does not meets the error."""
        self.builder.scope.require(held, CHECK, subgraph_call.message(error), (), _raised_at(error))
        return self.emit(tree)

    def _may_be_void(self, claim: Claim, where: SourceLine | None) -> bool:
        """Return whether no sizes are known that take the path of a claim from here."""
        with self._under([self._held(claim, where)]):
            return self.builder.scope.may_be_void()

    def _branch(self, tree: _Path | _Decision) -> Function:
        def branch():
            try:
                return self.emit(tree)
            except subgraph_call.ERRORS:
                self.failed = tree
                raise

        branch.__name__ = self.name
        branch.__wrapped__ = self.original  # type: ignore[attr-defined]  # errors give its line
        return branch


def _forget_hidden() -> None:
    """Forget the errors that the function may have hidden."""
    for builder in active_builders():
        builder.hidden_errors = {}


def _in_words_of_paths(error: errors.BranchMismatchError, name: str, tree: _Decision) -> errors.BranchMismatchError:
    """Return the error for the results of two paths; errors of conditionals that the user wrote stay as they are."""
    conditions = {"true_fun": tree.claim, "false_fun": tree.claim.negated()}
    if any(label not in conditions for label, _, _ in error.branches):
        return error
    branches = [(f"the path where {conditions[label]}", text, line) for label, text, line in error.branches]
    return errors.BranchMismatchError(name, error.path, branches, error.advice, tree.where)


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
