"""Associative scans in the program: prefixes in as many levels as the length has bits, from one trace of any length.

Pairs of neighbours are combined to half as many elements, level by level, until one is left. The way back makes the
prefixes of each level from the ones of the half. Both ways are loops over levels, so the length may depend on data.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, CarryMismatchError, UnsupportedFunctionError
from anyshape.graph.ir.builder import active, last_draw, user_line
from anyshape.graph.ir.graph import Graph, has_effects
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import Condition, Verdict, at_least, equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.substitute import values_from
from anyshape.numpy.operands.promotion import axis_of, sizes
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops.control import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import context_of, describe
from anyshape.ops.creation import size_value
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.packages import argument_containers, cumulative_functions
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.captured.code_origin import line_of
from anyshape.tracing.source.read import as_part
from anyshape.tracing.trace import as_value, run_traced, standing_for
from anyshape.transforms.control_flow.loops import run_now

Function = Callable[[Any, Any], Any]


@short_traceback
def associative_scan(fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Return the results of combining all elements up to each one by an associative function, as the one of `jax.lax`.

    - `elems` is a tree of arrays of one size along the axis. `fn(a, b)` takes two such trees, with any number of pairs
      along the axis, and combines each pair. Its result has the tree, shapes and dtypes of a.
    - `reverse` combines from the last element to the first; each result stays at the position of its element.
    - It takes 2 n combinations in 2 log2(n) calls of fn. Sums, products, extrema and steps `s -> a * s + b` are
      recognised by their operations, and run as the cumulative ops do.

    >>> import numpy as np
    >>> from anyshape import associative_scan, jit
    >>> products = jit(lambda ms: associative_scan(lambda a, b: a @ b, ms))
    >>> print(products(np.full((5, 1, 1), 2.0)).ravel())
    [ 2.  4.  8. 16. 32.]
    >>> print(associative_scan(np.maximum, np.array([1, 3, 2]), reverse=True))
    [3 3 2]
    """
    pytrees.check_callable("associative_scan: fn", fn)
    if active() is None:
        loop = run_now(functools.partial(lambda fn, xs, _: associative_scan(fn, xs, reverse, axis), fn), elems, ())
        return _scan_plainly(fn, elems, reverse, axis, loop) if isinstance(loop, Exception) else loop
    pairs, backwards = _Pairs(fn, elems, axis), _flag(reverse)
    graph, further = pairs.graph()
    results = None
    if not has_effects(graph):
        results = cumulative_functions.cumulative(graph, pairs.elements, further, pairs.axis, reverse=backwards)
    if results is None:
        rows = [mv.rev(x, (0,)) for x in pairs.rows] if backwards else pairs.rows
        ends = _prefixes(pairs, rows)
        results = pairs.in_place([mv.rev(y, (0,)) for y in ends] if backwards else ends)
    return pytrees.unflatten(pairs.tree, [standing_for(y, None) for y in results])


class _Pairs:
    """Elements of a scan, and the function that combines pairs of them. `rows` have the scanned axis first."""

    def __init__(self, fn: Function, elems: Any, axis: Any) -> None:
        self.fn = fn
        leaves, self.tree = pytrees.flatten(elems)
        self.paths = [path.replace("args[0]", "elems") for path in pytrees.leaf_paths((elems,), {})]
        for x, path in zip(leaves, self.paths, strict=True):
            if not pytrees.is_array(x) or isinstance(x, SymbolicSize):
                problem = f"is of type {type(x).__name__}, not an array"
                raise ArgumentError("associative_scan", path, problem, "pass arrays or trees of them")
        if not leaves:
            raise ArgumentError("associative_scan", "elems", "has no arrays", "pass arrays or trees of them")
        self.elements = [name_sizes(as_value(x)) for x in leaves]
        self.axis = _common_axis(axis, [x.meta.rank for x in self.elements])
        self.rows = [mv.move_axes(x, (self.axis,), (0,)) for x in self.elements]
        first, *others = [sizes(x)[0] for x in self.rows]
        ctx = context_of("associative_scan", *self.elements)
        for size in others:
            ctx.require_equal(size, first, "all arrays of elems have one size along the axis")

    def row_metas(self, count: Size) -> list[TensorMeta]:
        """Return the types of so many rows."""
        return [tensor(x.dtype, (count, *sizes(x)[1:])) for x in self.rows]

    def graph(self) -> tuple[Graph, list[Any]]:
        """Return the graph of the function for any number of pairs, and the operands behind the pairs."""
        pairs, count = expr.from_atom(DimVar("pairs")), len(self.elements)
        shapes = [(*sizes(x)[: self.axis], pairs, *sizes(x)[self.axis + 1 :]) for x in self.elements]
        metas = [tensor(x.dtype, shape) for x, shape in zip(self.elements, shapes, strict=True)]

        def body(*xs) -> list[Any]:
            return self._applied(xs[:count], xs[count:])

        (graph,), further = trace_subgraphs([body], [*metas, *metas], [pytrees.function_name(self.fn)])
        return graph, further

    def in_place(self, rows: Sequence[Any]) -> list[Any]:
        """Return arrays with the scanned axis where the caller has it."""
        return [mv.move_axes(x, (0,), (self.axis,)) for x in rows]

    def combined(self, firsts: Sequence[Any], seconds: Sequence[Any]) -> list[Any]:
        """Return what the function gives for pairs of rows."""
        results = self._applied(self.in_place(firsts), self.in_place(seconds))
        return [mv.move_axes(y, (self.axis,), (0,)) for y in results]

    def _applied(self, firsts: Sequence[Any], seconds: Sequence[Any]) -> list[Any]:
        """Return what the function gives for pairs: raise where it changes the tree or a type."""
        args = tuple([pytrees.unflatten(self.tree, [standing_for(x, None) for x in xs]) for xs in (firsts, seconds)])
        before = last_draw()
        run = as_part(argument_containers.keeping(self.fn))
        results, tree = run_traced(run, pytrees.function_name(self.fn), args, {})
        if last_draw() is not before:
            advice = "draw all numbers before it, and pass them among the elements"
            problem = "cannot draw random numbers: the order of its calls is not defined"
            raise UnsupportedFunctionError("associative_scan", problem, advice, user_line())
        if (order := pytrees.order_of_leaves(tree, self.tree)) is None:
            texts = pytrees.structure_text(self.tree), pytrees.structure_text(tree)
            raise self._mismatch("elems", texts, line_of(self.fn), "return the tree of its arguments")
        return [self._checked(i, firsts[i], results[j]) for i, j in enumerate(order)]

    def _checked(self, i: int, before, after):
        """Return a result in the sizes of its argument."""
        after = name_sizes(after)
        keeps = before.meta.rank == after.meta.rank and all(
            self._keeps(old, new, axis == self.axis)
            for axis, (old, new) in enumerate(zip(sizes(before), sizes(after), strict=True))
        )
        texts, line = (describe(before), describe(after)), after.made_at() or line_of(self.fn)
        if not keeps:
            raise self._mismatch(self.paths[i], texts, line, "return arrays of the shapes of its arguments")
        if before.dtype != after.dtype:
            raise self._mismatch(self.paths[i], texts, line, "convert the result with astype")
        return sized(after, sizes(before))

    def _keeps(self, before: Size, after: Size, is_scanned: bool) -> bool:
        """Return whether a result has the size of the argument: by proof, or by the sizes of this call.

        Sizes that depend on data are checked by a run, but for the number of pairs.
        """
        scope, claim = context_of("associative_scan", *self.rows).scope, equal(after, before)
        if (verdict := scope.decide(claim)) is not Verdict.UNKNOWN or is_scanned:
            return verdict is Verdict.YES
        if scope.hints is not None and all(v in scope.hints for v in claim.variables()):
            return claim.holds(values_from(scope.hints)) and scope.branch_on(claim, user_line())
        scope.require(claim, "associative_scan", "fn keeps sizes", (), user_line())
        return True

    def _mismatch(self, path: str, texts: tuple[str, str], line, advice: str) -> CarryMismatchError:
        return CarryMismatchError("associative_scan", "fn", path, *texts, advice, line, user_line())


def _common_axis(axis, ranks: Sequence[int]) -> int:
    """Return the axis counted from the first one: from the last one, arrays of other ranks have another."""
    positions = {axis_of(axis, rank, "associative_scan") for rank in ranks}
    if len(positions) > 1:
        problem = f"is {axis}, and counts from the end of arrays with different numbers of axes"
        raise ArgumentError("associative_scan", "axis", problem, "count it from 0")
    return positions.pop()


def _flag(reverse) -> bool:
    """Return a flag that must be known while tracing."""
    if has_type(reverse, (bool, int, np.bool_)):
        return bool(reverse)
    raise ArgumentError("associative_scan", "reverse", f"is {reverse!r:.50}, not a bool", "give True or False")


def _scan_plainly(fn: Function, elems, reverse: bool, axis: int, error: Exception):
    """Return what a scan of a function in plain Python gives: it combines one pair after the other."""
    leaves, tree = pytrees.flatten(elems)
    rows = [np.asarray(x) for x in leaves]
    axis = _common_axis(axis, [x.ndim for x in rows])
    if not (count := rows[0].shape[axis]) or any(x.shape[axis] != count for x in rows):
        raise error
    order = range(count)[::-1] if reverse else range(count)
    singles = [pytrees.unflatten(tree, [np.take(x, [i], axis) for x in rows]) for i in order]
    results = [pytrees.flatten(y)[0] for y in itertools.accumulate(singles, fn)]
    columns = zip(*(results[::-1] if reverse else results), strict=True)
    return pytrees.unflatten(tree, [np.concatenate(column, axis) for column in columns])


# -- the levels --------------------------------------------------------------------------------------------------


def _prefixes(pairs: _Pairs, rows: Sequence[Any]) -> list[Any]:
    """Return the combinations of all rows up to each one."""
    count = len(rows)
    tops, _, lengths, *saved = _halved(pairs, rows)
    heads, tails = saved[:count], [name_sizes(x) for x in saved[count:]]
    return _doubled(pairs, tops, heads, tails, lengths)


def _halved(pairs: _Pairs, rows: Sequence[Any]) -> list[Any]:
    """Return the one row that is left, and what the way back needs of each level.

    These are the mask of levels, the lengths of tails, the stacked heads and the joined tails. A head is the first row
    of a level, a tail has the third, the fifth and so on.
    """
    size, count = expr.from_atom(DimVar("rows")), len(rows)

    def test(*xs) -> list[Any]:
        return [(standing_for(xs[0], None).shape[0] > 1).as_array()]

    def body(*xs) -> list[Any]:
        half = expr.floordiv(size, 2)
        others = expr.sub(expr.ceildiv(size, 2), 1)
        after = pairs.combined([_every(x, 0, half, 2) for x in xs], [_every(x, 1, half, 2) for x in xs])
        heads = [mv.drop(_every(x, 0, 1), (0,)) for x in xs]
        return [*after, size_value(others), *heads, *[_every(x, 2, others, 2) for x in xs]]

    levels = Condition("constraint", at_least(size, 2), "associative_scan", "a level has pairs", user_line())
    names = ["more_than_one", pytrees.function_name(pairs.fn)]
    (condition, halving), further = trace_subgraphs([test, body], pairs.row_metas(size), names, [None, levels])
    results = lp.while_loop(condition, halving, count, *rows, *further, joined=count)
    return [results[:count], *results[count:]]


def _doubled(pairs: _Pairs, tops: Sequence[Any], heads: Sequence[Any], tails: Sequence[Any], lengths) -> list[Any]:
    """Return the prefixes of all rows from the ones of the last level: the half has the rows of odd positions."""
    half, others = [expr.from_atom(DimVar(name)) for name in ("half", "others")]
    count = len(heads)

    def body(*xs) -> list[Any]:
        odd, first, tail = xs[:count], xs[count : 2 * count], xs[2 * count :]
        context_of("associative_scan", *odd).require_at_least(half, others, "a level has the prefixes of its half")
        even = pairs.combined([_every(x, 0, others) for x in odd], tail)
        return [_interleaved(x, y, z, others) for x, y, z in zip(first, odd, even, strict=True)]

    elements = [TensorMeta(m.dtype, m.extents[1:]) for m in pairs.row_metas(1)]
    own = [*pairs.row_metas(half), *elements, *pairs.row_metas(others)]
    (doubling,), further = trace_subgraphs([body], own, [pytrees.function_name(pairs.fn)])
    operands = [*tops, *heads, *tails, *further, *[lengths] * count]
    ends = [sizes(x) for x in pairs.rows]
    return [*lp.scan(doubling, lp.Layout(count, count, count), *operands, reverse=True, ends=ends)]


def _every(x, start: Size, count: Size, step: int = 1):
    """Return `count` rows from `start`, by steps."""
    rest = sizes(x)[1:]
    return mv.strided(x, (start, *[0] * len(rest)), (count, *rest), (step, *[1] * len(rest)))


def _interleaved(first, odd, even, count: Size):
    """Return the first row, pairs of rows of odd and even positions, and the last odd row if it has no partner."""
    size, *rest = sizes(odd)
    both = mv.concatenate([mv.expand(_every(odd, 0, count), (1,)), mv.expand(even, (1,))], 1)
    last = _every(odd, count, expr.sub(size, count))
    return mv.concatenate([mv.expand(first, (0,)), mv.reshape(both, (expr.mul(2, count), *rest)), last], 0)
