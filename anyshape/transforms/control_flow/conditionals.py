"""Conditionals whose branch a run chooses: cond and switch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import errors
from anyshape.graph.ir.builder import Builder, Traced, activate, active, user_line
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import PREDICATE, Claim, Condition, Verdict
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands import memory as operand_memory
from anyshape.numpy.operands.promotion import cast_operand, is_weak, operand
from anyshape.numpy.sizes.symdim import SizeComparison
from anyshape.ops import control_flow as cf
from anyshape.ops import elementwise as ew
from anyshape.ops.control import name_sizes
from anyshape.ops.core.apply import describe
from anyshape.ops.creation import full
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.packages import argument_containers, graph_replay
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.captured.code_origin import line_of
from anyshape.tracing.draws import refuse_draws
from anyshape.tracing.reachable import reachable, restored_arrays
from anyshape.tracing.source.read import as_part
from anyshape.tracing.trace import Leaves, active_builder, any_sizes, as_value, kind_of, run_traced, standing_for
from anyshape.transforms.control_flow.loop_tracing import ResultType, like_returned, noted, promoted, promoted_type

Function = Callable[..., Any]


@short_traceback
def cond(pred: Any, true_fun: Function, false_fun: Function, *operands: Any) -> Any:
    """Return `true_fun(*operands)` where `pred` is true, else `false_fun(*operands)`: a run decides, as `jax.lax.cond`.

    - `pred` is one bool. A number counts as `!= 0`. A comparison of sizes is one too, and holds in its branch.
    - Operands and results are trees of arrays. Both branches give the same tree, with equal ranks and dtypes; sizes may
      differ, and the result then has a run-time size. Python scalars among results promote as NumPy does.
    - Keys of dicts in the result have the order of the branch that is named first, whichever is chosen.
    - Only the branch that is chosen computes, warns or raises. Under `vmap`, each branch runs on its own examples.
    - Outside of a trace the chosen function is called. Both are checked, if they can be traced.

    Args:
        operands: arguments of both functions.

    Raises:
        BranchMismatchError: if the branches give different trees, ranks or dtypes.

    >>> import numpy as np
    >>> from anyshape import cond, grad, jit
    >>> root = jit(lambda x: cond(x > 0, np.sqrt, lambda x: 0 * x, x))
    >>> print(root(4.0), root(-1.0), grad(root)(-1.0))
    2.0 -0.0 0.0
    """
    names = "false_fun", "true_fun"
    if callable(pred):
        advice = "write cond(pred, true_fun, false_fun, *operands)"
        raise errors.ArgumentError("cond", "pred", "is a function, not one boolean", advice)
    return _Conditional("cond", names, (false_fun, true_fun), operands, named_first=1).run(_predicate(pred))


@short_traceback
def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """Return `branches[index](*operands)`: a run decides which branch, as `jax.lax.switch`.

    The index is one integer, clamped to the branches that there are. `cond` says what branches may be.

    Args:
        index: number of the branch that runs; it is cut to the numbers that there are.
        operands: arguments of all branches.

    >>> from anyshape import jit, switch
    >>> f = jit(lambda i, x: switch(i, [lambda x: -x, lambda x: x * x], x))
    >>> print(f(0, 3.0), f(1, 3.0), f(7, 3.0))
    -3.0 9.0 9.0
    """
    if not isinstance(branches, Sequence) or isinstance(branches, str) or not branches:
        problem = (
            f"is of type {type(branches).__name__}, not a sequence of functions"
            if branches or not isinstance(branches, Sequence)
            else "is empty"
        )
        advice = "write switch(index, branches, *operands), with a list of one or more functions"
        raise errors.ArgumentError("switch", "branches", problem, advice)
    names = [f"branches[{i}]" for i in range(len(branches))]
    return _Conditional("switch", names, tuple(branches), operands).run(_position(index))


# -- the choice --------------------------------------------------------------------------------------------------


class _Choice(NamedTuple):
    """Chosen branch: its position where that is known, else a traced index.

    `claims` are what holds in each branch, where sizes choose.
    """

    known: int | None
    index: Any = None
    claims: tuple[Claim, ...] = ()


def _predicate(pred) -> _Choice:
    """Return the choice that a predicate makes between false and true."""
    if isinstance(pred, SymbolicSize) and not isinstance(pred, SizeComparison):
        pred = pred.__ne__(0)
    if isinstance(pred, SizeComparison):
        return _choice_by_sizes(pred)
    advice = "reduce it with np.all or np.any, or choose by np.where"
    if not isinstance(x := scalar_operand("cond", "pred", pred, "biuf", "one boolean", advice), Traced):
        return _Choice(int(bool(x)))
    return _Choice(None, x if x.dtype.kind == "b" else ew.ne(x, ew.lift(0, x)))


def _choice_by_sizes(pred: SizeComparison) -> _Choice:
    if active() is None:
        return _Choice(int(bool(pred)))
    if (verdict := pred.scope.decide(pred.claim)) is Verdict.UNKNOWN:
        return _Choice(None, pred.as_array(), (pred.claim.negated(), pred.claim))
    return _Choice(int(verdict is Verdict.YES))


def _position(index) -> _Choice:
    """Return the choice that an index makes."""
    if isinstance(index, SymbolicSize) and not isinstance(index, SizeComparison):
        index = operand(index)
    x = scalar_operand(
        "switch", "index", index, "iu", "one integer", "pass an integer scalar, or use cond for a boolean"
    )
    if not isinstance(x, Traced):
        return _Choice(int(x))
    if x.dtype.kind == "u":  # before a large number becomes negative
        x = ew.minimum(x, ew.lift(np.iinfo(np.int8).max if x.dtype.itemsize == 1 else np.iinfo(np.int16).max, x))
    return _Choice(None, ew.convert(x, np.int64))


def scalar_operand(function: str, path: str, x: Any, kinds: str, wanted: str, advice: str) -> Any:
    """Return a scalar of these kinds: traced, also where a program holds the array, or a number."""
    if has_type(x, np.ndarray) and active() is not None:
        x = as_value(x)  # the program reads it at each run
    if isinstance(x, Traced):
        if not x.meta.rank and x.dtype.kind in kinds:
            return x
        raise errors.ArgumentError(function, path, f"is {describe(x)}, not {wanted}", advice)
    array = np.asarray(x) if has_type(x, (np.ndarray, np.generic, bool, int, float, complex)) else None
    if array is None or array.ndim or array.dtype.kind not in kinds:
        shown = f"of shape {array.shape}" if array is not None and array.ndim else f"{x!r:.50}"
        raise errors.ArgumentError(function, path, f"is {shown}, not {wanted}", advice)
    return array.item()


# -- the branches ------------------------------------------------------------------------------------------------


@dataclass
class _Conditional:
    """Functions of the same operands: a run chooses one."""

    name: str
    labels: Sequence[str]
    functions: Sequence[Function]
    operands: Sequence[Any]
    named_first: int = 0

    def run(self, choice: _Choice) -> Any:
        """Return the result of the function that is chosen."""
        named = list(zip(self.labels, self.functions, strict=True))
        for label, function in named[self.named_first :] + named[: self.named_first]:
            if not callable(function):
                pytrees.check_callable(f"{self.name}: {label}", function, "pass a function, such as lambda: x")
        leaves, tree = pytrees.flatten(tuple(self.operands))
        self._check_operands(leaves)
        if active() is None:
            return self._run_now(self._chosen(choice), leaves, tree)
        traced = {i: like_returned(as_value(x), x) for i, x in enumerate(leaves) if not isinstance(x, SymbolicSize)}
        return _Branches(self, leaves, tree, traced).emit(choice)

    def _chosen(self, choice: _Choice) -> int:
        return cf.chosen_branch(choice.known, len(self.functions))

    def _check_operands(self, leaves: Sequence[Any]) -> None:
        for x in leaves:
            if not pytrees.is_array(x) and not isinstance(x, (Traced, SymbolicSize)):
                advice = "pass arrays, numbers, or trees of them; the functions can close over anything else"
                raise errors.ArgumentError(
                    self.name, "an operand", f"is of type {type(x).__name__}, not an array", advice
                )

    def _run_now(self, position: int, leaves: Sequence[Any], tree):
        """Check all functions on arrays of any size, and call the chosen one outside of a trace."""
        arrays = [np.asarray(x) for x in leaves]
        paths = [f"args[{i}]" for i in range(len(leaves))]
        builder, metas = any_sizes(Leaves(arrays, [None] * len(arrays), tree, paths), [])
        with activate(builder):
            traced = {i: like_returned(builder.input(m), x) for i, (m, x) in enumerate(zip(metas, leaves, strict=True))}
            things = [*itertools.chain.from_iterable(map(reachable, self.functions))]
            try:
                with restored_arrays(things):
                    branches = refuse_draws(self.name, _Branches(self, leaves, tree, traced).traced_now, things)
            except (errors.ConcretizationError, errors.FrozenDrawError, errors.UnsupportedFunctionError):
                branches = None  # no trace can compare plain Python
        if branches is None:
            return self.functions[position](*self.operands)
        results = pytrees.flatten_as(self.functions[position](*self.operands), branches.tree_of_results)
        assert results is not None
        values = [promoted(x, r) for x, r in zip(results, branches.results, strict=True)]
        return pytrees.unflatten(branches.tree_of_results, values)


class _Branches:
    """Branches of one conditional in the active trace."""

    def __init__(self, call: _Conditional, leaves: Sequence[Any], tree: Any, traced: dict[int, Any]) -> None:
        self.call, self.leaves, self.tree, self.traced = call, leaves, tree, traced
        self.trees: list[Any] = []
        self.results: list[ResultType] = []
        self.is_emitted = True
        self.written: set[int] = set()  # operands that a branch writes to
        # of each branch: memory of enclosing traces, with its final value
        self.writes: list[dict[operand_memory.Memory, Any]] = []

    def traced_now(self) -> _Branches:
        """Trace the branches for their results alone."""
        self.is_emitted = False
        self.trace(())
        return self

    def emit(self, choice: _Choice) -> Any:
        """Return the results: of a conditional, or of the branch that is known to be chosen."""
        graphs, further = self.trace(choice.claims)
        inputs = [*self.traced.values(), *further]
        if choice.known is None:
            outputs: Sequence[Any] = cf.cond(choice.index, graphs, *inputs)
        else:
            outputs = _run_known(graphs[cf.chosen_branch(choice.known, len(graphs))], inputs)
        memories = self.memories
        operand_memory.write_outside(memories, outputs[len(outputs) - len(memories) :])
        named = [name_sizes(y) for y in outputs[: len(self.results)]]
        shown = [standing_for(y, r.kind) for y, r in zip(named, self.results, strict=True)]
        return pytrees.unflatten(self.tree_of_results, shown)

    @property
    def memories(self) -> list[operand_memory.Memory]:
        """Memory of enclosing traces that a branch writes to."""
        return list(dict.fromkeys([memory for writes in self.writes for memory in writes]))

    @property
    def tree_of_results(self) -> Any:
        """Return the structure of the result; other branches differ from it in the order of keys alone."""
        return self.trees[self.call.named_first]

    def trace(self, claims: Sequence[Claim]) -> tuple[tuple[Graph, ...], list[Any]]:
        """Return the subgraphs of the functions, and the operands behind the traced ones.

        A branch that writes to operands is traced again: it gets the arrays themselves, as Python passes them.
        """
        traced = self._traced(claims)
        while self.is_emitted and (stale := self._stale()):
            self.traced = {i: x for i, x in self.traced.items() if i not in stale}
            traced = self._traced(claims)
        return traced

    def _stale(self) -> set[int]:
        """Return the operands in memory that a branch writes to."""
        written = {*operand_memory.with_sharers([self.leaves[i] for i in self.written], self.leaves), *self._reached()}
        return written & self.traced.keys()

    def _reached(self) -> list[int]:
        return operand_memory.reached_by(self.memories, self.leaves)

    def _traced(self, claims: Sequence[Claim]) -> tuple[tuple[Graph, ...], list[Any]]:
        self.trees, self.writes, self.written = [], [], set()
        where = user_line()
        why = f"{self.call.name} runs a branch where this holds"
        held = [Condition("assertion", c, PREDICATE, why, where) for c in claims]
        metas = [x.meta for x in self.traced.values()]
        kinds = [kind_of(x) for x in self.traced.values()]
        bodies = [self._body(function, kinds) for function in self.call.functions]
        names = [pytrees.function_name(f) for f in self.call.functions]
        return trace_subgraphs(bodies, metas, names, held, self._unify)

    def _body(self, function: Function, kinds: Sequence[type | None]) -> Callable[..., list[Any]]:
        """Return a function of the traced operands alone, and of all results as values."""

        def body(*inputs: Traced) -> list[Any]:
            handles = [standing_for(x, kind) for x, kind in zip(inputs, kinds, strict=True)]
            values = dict(zip(self.traced, handles, strict=True))
            own = [x for i, x in values.items() if isinstance(self.leaves[i], Traced) or not self.is_emitted]
            operand_memory.may_write(active_builder(), own)
            args = pytrees.unflatten(self.tree, [values.get(i, x) for i, x in enumerate(self.leaves)])
            returned: list[Any] = []
            with operand_memory.writes_outside() as writes:
                runs_later = not self.is_emitted  # on containers of the caller
                run = as_part(function if runs_later else argument_containers.keeping(function))
                call = lambda *xs: noted(run(*xs), returned)
                results, tree = run_traced(call, pytrees.function_name(function), args, {})
                results = [like_returned(y, x).unshared() for y, x in zip(results, returned, strict=True)]
            self.trees.append(tree)
            self.writes.append(writes)
            written = operand_memory.written_inputs(handles, [x.value for x in inputs])
            self.written |= {i for position, i in enumerate(values) if position in written}
            return results or [full((), False, bool)]  # a node has results, also where it only checks

        return body

    # -- results of one type

    def _unify(self, columns: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Return the results of all branches in common dtypes; raise BranchMismatchError where they differ."""
        columns = [self._in_order(position, xs) for position, xs in enumerate(columns)]
        paths = pytrees.result_paths(self.tree_of_results)
        self.results = [self._joined(path, xs) for path, xs in zip(paths, zip(*columns, strict=True), strict=False)]
        if self.results:
            columns = [[cast_operand(x, r.dtype) for x, r in zip(xs, self.results, strict=True)] for xs in columns]
        memories = self.memories
        pairs = zip(columns, self.writes, strict=True)
        return [[*xs, *[writes.get(m, m.current) for m in memories]] for xs, writes in pairs]

    def _in_order(self, position: int, results: Sequence[Any]) -> Sequence[Any]:
        """Return the results of one branch, with keys in the order of the branch that is named first."""
        tree, like = self.trees[position], self.tree_of_results
        if tree == like:
            return results
        if (order := pytrees.order_of_leaves(tree, like)) is None:
            first = self.call.named_first
            texts = [pytrees.structure_text(t) for t in (like, tree)]
            raise self._mismatch("", texts, (first, position), [None, None], "return the same tree from all branches")
        return [results[i] for i in order]

    def _joined(self, path: str, xs: Sequence[Any]) -> ResultType:
        """Return the type of one result: arrays agree in dtype, and Python scalars promote."""
        strong = next((i for i, x in enumerate(xs) if not is_weak(x)), 0)
        for i, x in enumerate(xs):
            if x.meta.rank != xs[0].meta.rank:
                raise self._mismatch(path, *_both(xs, 0, i), "return arrays with the same number of axes")
            if not is_weak(x) and x.dtype != xs[strong].dtype:
                raise self._mismatch(path, *_both(xs, strong, i), "convert one of them with astype")
        return promoted_type(xs)

    def _mismatch(
        self, path: str, texts: Sequence[str], positions: tuple[int, int], lines: Sequence[Any], advice: str
    ) -> errors.BranchMismatchError:
        """Return the error for two branches with different results, each with its line."""
        functions = [self.call.functions[i] for i in positions]
        known = [line or line_of(function) for line, function in zip(lines, functions, strict=True)]
        labels = [self.call.labels[i] for i in positions]
        return errors.BranchMismatchError(self.call.name, path, list(zip(labels, texts, known)), advice, user_line())


def _both(xs: Sequence[Any], i: int, j: int) -> tuple[list[str], tuple[int, int], list[Any]]:
    """Return two values as texts, their positions, and the lines that made them."""
    pair = xs[i], xs[j]
    return [describe(x) for x in pair], (i, j), [x.made_at() for x in pair]


def _run_known(graph: Graph, inputs: Sequence[Any]) -> Sequence[Any]:
    """Return the results of a branch that always runs: what it asserts is asserted of the program."""
    builder = active()
    assert isinstance(builder, Builder)
    for c in graph.conditions:
        if c.kind == "assertion" and graph.runtime.keys().isdisjoint(c.claim.variables()):
            builder.scope.require(c.claim, c.primitive, c.why, (), c.where, c.axes)
    return graph_replay.inline(builder, graph, inputs)
