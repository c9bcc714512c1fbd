"""Loops in the program: scan, while_loop, fori_loop and map."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import (
    ArgumentError,
    ConcretizationError,
    FrozenDrawError,
    MutationError,
    SymbolicIterationError,
    UnsupportedFunctionError,
)
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.ir.graph import Graph, Value, applies, drawing, walk
from anyshape.graph.ir.op_local import ancestors
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import dtype_of, new_size, operand
from anyshape.numpy.sizes.size_operands import as_size
from anyshape.numpy.sizes.symdim import SizeComparison
from anyshape.ops import elementwise as ew
from anyshape.ops import loops as lp
from anyshape.ops.control import callback_op, name_sizes
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import full, iota
from anyshape.ops.dynamic import size_from_count
from anyshape.support.packages import argument_containers
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import check_callable, flatten, is_array, leaf_paths, structure_text, unflatten
from anyshape.tracing.reachable import reachable, restored_arrays
from anyshape.tracing.source.read import as_part
from anyshape.tracing.trace import active_builder, as_value, standing_for
from anyshape.transforms.control_flow.conditionals import scalar_operand
from anyshape.transforms.control_flow.loop_tracing import CarryLoop, Step
from anyshape.transforms.jit import jit

Function = Callable[..., Any]


@short_traceback
def scan(f: Function, init, xs=None, length=None, reverse: bool = False, unroll: int = 1, *, checkpoint=None) -> Any:
    """Return the last carry and the stacked results of `carry, y = f(carry, x)` for each x of xs, as `jax.lax.scan`.

    - `xs` is a tree of arrays with first axes of one size; x has their elements. None: `length` says how many trips.
    - A carry keeps its tree, ranks and dtypes. Its sizes may change from trip to trip. The y of all trips are alike.
    - Python scalars in `init` promote as NumPy does: 0.0 becomes float32 where a trip gives float32.
    - `reverse` runs from the last x to the first; each y stays at the position of its x.
    - `unroll` is taken for compatibility: the loop is written into the program, so its control costs next to nothing.
    - `checkpoint` says what reverse mode saves. None: what each trip needs. "carry": the carry of each trip, which is
      computed again. A positive int: so many carries, from which the trips between them are computed again.

    Raises:
        CarryMismatchError: if a trip changes the tree, a rank or a dtype of the carry.

    >>> import numpy as np
    >>> from anyshape import grad, jit, scan
    >>> decay = jit(lambda a, xs: scan(lambda c, x: (a * c + x, c), 0.0, xs))
    >>> last, before = decay(0.5, np.array([1.0, 2.0, 3.0]))
    >>> print(last, before)
    4.25 [0.  1.  2.5]
    >>> print(grad(lambda a, xs: decay(a, xs)[0])(0.5, np.array([1.0, 2.0, 3.0])))
    3.0
    """
    check_callable("scan: f", f)
    if not has_type(unroll, (int, bool)) or unroll < 0:
        raise ArgumentError("scan", "unroll", f"is {unroll!r:.50}", "give a bool, or an int of at least 0")
    policy = _policy("scan", checkpoint)
    _check_arrays("scan", "init", init)
    _check_arrays("scan", "xs", xs)
    if active() is None:
        traced = lambda f, init, xs: scan(f, init, xs, length, reverse, checkpoint=checkpoint)
        loop = run_now(functools.partial(traced, f), init, xs)
        return _scan_plainly(f, init, xs, length, reverse, loop) if isinstance(loop, Exception) else loop
    rows, run = _Rows("scan", xs, length), as_part(f)

    def step(carry, own: Sequence[Any]) -> tuple[Any, Any]:
        return _pair(run(carry, rows.element(own)))

    return _scan(CarryLoop("scan", "f", f, init), step, rows, reverse, policy)


@short_traceback
def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any, *, checkpoint: Any = None) -> Any:
    """Return the value after `val = body_fun(i, val)` for i from lower to upper - 1, as `jax.lax.fori_loop`.

    Bounds are ints, sizes, or integer scalars of the program. i promotes as a Python int, as that of `range` does.
    `scan` says what a carry and `checkpoint` may be. Under `vmap`, bounds may differ between examples: each makes its
    own trips, as in `while_loop`.

    Args:
        lower, upper: first number, and the one after the last. There are no trips if they cross.
        init_val: carry before the first trip.

    >>> from anyshape import fori_loop, jit
    >>> power = jit(lambda x, n: fori_loop(0, n, lambda i, y: y * x, 1.0))
    >>> print(power(2.0, 3), power(2.0, 10), power(2.0, 0))
    8.0 1024.0 1.0
    """
    check_callable("fori_loop: body_fun", body_fun)
    policy = _policy("fori_loop", checkpoint)
    _check_arrays("fori_loop", "init_val", init_val)
    bounds = [_bound(label, x) for label, x in (("lower", lower), ("upper", upper))]
    if active() is None:
        ends = lower, upper
        traced = lambda body, x, ends: fori_loop(ends[0], ends[1], body, x, checkpoint=checkpoint)
        if isinstance(loop := run_now(functools.partial(traced, body_fun), init_val, ends), Exception):
            return functools.reduce(lambda val, i: body_fun(i, val), range(int(lower), int(upper)), _copied(init_val))
        return loop
    if any(isinstance(x, Traced) and _differs_between_examples(x) for x in bounds):
        return _until(bounds, body_fun, init_val, checkpoint)
    first, count = _range(*bounds)
    run = as_part(body_fun)
    rows = _Rows("fori_loop", ew.add(iota(count), first) if first is not None else iota(count), None)

    def step(carry, own: Sequence[Any]) -> tuple[Any, Any]:
        return run(counter_of(rows.element(own), as_size(lower), count), carry), ()

    return _scan(CarryLoop("fori_loop", "body_fun", body_fun, init_val), step, rows, False, policy)[0]


def _differs_between_examples(x: Traced) -> bool:
    """Return whether x may differ between the examples of a batch that its graph, or one around it, is traced for.

    Inputs of a graph that is traced for a batch may differ. Values that it captures from outside do not.
    """
    builder = x.builder
    if not builder.is_batched:
        return False
    outer = {inner: handle for handle, inner in builder.captured.values()}
    values = ancestors(x.builder.nodes, x.value)
    captured = [outer[v] for v in values if v in outer]
    is_input = any(builder.roots.get(v) == "input" for v in values)
    return is_input or any(_differs_between_examples(x) for x in captured)


@short_traceback
def map(f: Function, xs: Any, *, checkpoint: Any = None) -> Any:
    """Return `f(x)` for each x of xs, stacked, one after the other, as `jax.lax.map`.

    `vmap` computes them together and takes more memory. With any `checkpoint`, reverse mode computes f again.

    >>> import numpy as np
    >>> import anyshape
    >>> print(anyshape.map(lambda x: x * x, np.arange(4)))
    [0 1 4 9]
    """
    check_callable("map: f", f)
    if _policy("map", checkpoint):
        checkpoint = "carry"  # there is none to hold
    return scan(functools.partial(_mapped, f), (), xs, checkpoint=checkpoint)[1]


@short_traceback
def while_loop(cond_fun: Function, body_fun: Function, init_val: Any, *, checkpoint: Any = None) -> Any:
    """Return the value after `val = body_fun(val)` for as long as `cond_fun(val)` holds, as `jax.lax.while_loop`.

    - `cond_fun` gives one bool. A number counts as `!= 0`, and a comparison of sizes is one too.
    - `scan` says what a carry and `checkpoint` may be. No `checkpoint` needs a bound on the trips.

    Args:
        init_val: carry before the first trip.

    >>> from anyshape import grad, jit, while_loop
    >>> halved = jit(lambda x: while_loop(lambda y: y > 1, lambda y: y / 2, x))
    >>> print(halved(10.0), grad(halved)(10.0), halved(0.5))
    0.625 0.0625 0.5
    """
    for label, function in (("cond_fun", cond_fun), ("body_fun", body_fun)):
        check_callable(f"while_loop: {label}", function)
    policy = _policy("while_loop", checkpoint)
    _check_arrays("while_loop", "init_val", init_val)
    if active() is None:
        traced = lambda cond, body, x, _: while_loop(cond, body, x, checkpoint=checkpoint)
        loop = run_now(functools.partial(traced, cond_fun, body_fun), init_val, ())
        return _while_plainly(cond_fun, body_fun, init_val) if isinstance(loop, Exception) else loop
    loop = CarryLoop("while_loop", "body_fun", body_fun, init_val)
    run = as_part(body_fun)
    step = lambda carry, own: (_not_swapped(run(carry), carry, kinds), ())
    kinds: list[str] = []
    (test, body), further = loop.trace(step, (), [_test(as_part(cond_fun), kinds)])
    _check_draws("while_loop", policy, test, body)
    _check_ends(test, body, len(loop.carries), sizes_vary=bool(loop.variables))
    results = lp.while_loop(test, body, len(loop.carries), *loop.carries, *further, checkpoint=policy)
    return loop.results(results)


# -- parts -------------------------------------------------------------------------------------------------------


def run_now(function: Callable[[Any, Any], Any], init: Any, xs: Any) -> Any:
    """Trace a loop for one call outside of a trace, and run it. Return the error of functions that cannot be traced.

    The function binds the ones of the user as arguments of a partial function, through which a trace sees their state.
    """
    try:
        return jit(functools.partial(_without_writes, function), optimize="off")(init, xs)
    except (ConcretizationError, FrozenDrawError, SymbolicIterationError, UnsupportedFunctionError) as error:
        return error
    except _OutsideWriteError as error:
        return error


class _OutsideWriteError(MutationError):
    """Raised where the trace of a loop writes to an array of NumPy, as its trips would each time."""


def _without_writes(function: Callable[[Any, Any], Any], init, xs):
    """Return the result of a loop that is traced; raise an error if it writes to arrays of NumPy, which it leaves."""
    with restored_arrays(reachable(function)) as changed:
        result = function(init, xs)
    if changed:
        problem = f"{changed[0]} is an array of NumPy, which a trip changes"
        raise _OutsideWriteError("a loop", problem, "call the loop in a jitted function", user_line())
    return result


def _copied(tree):
    """Return carries that trips may write to."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [x.copy() if has_type(x, np.ndarray) else x for x in leaves])


def _mapped(f: Function, carry, x) -> tuple[Any, Any]:
    return carry, as_part(f)(x)


def _policy(function: str, checkpoint) -> lp.Policy:
    """Return what reverse mode saves of a loop, in the words of its op."""
    if checkpoint is None:
        return lp.DEFAULT_POLICY.get()
    if has_type(checkpoint, str) and checkpoint == "carry":
        return "carry"
    if has_type(checkpoint, (int, np.integer)) and not has_type(checkpoint, bool) and checkpoint >= 1:
        return int(checkpoint)
    advice = 'give None, "carry" or the number of carries to hold, 1 or more'
    raise ArgumentError(function, "checkpoint", f"is {checkpoint!r:.50}", advice)


def _check_draws(function: str, policy: lp.Policy, *graphs: Graph) -> None:
    """Raise UnsupportedFunctionError for trips that draw random numbers where reverse mode would run them again."""
    if policy and any(node.op.draws for graph in graphs for node in walk(graph)):
        problem = "with a checkpoint runs trips again, and its trips draw random numbers"
        raise UnsupportedFunctionError(function, problem, "leave out checkpoint, or draw before the loop", user_line())


def _scan_plainly(f: Function, carry, xs, length, reverse: bool, error: Exception):
    """Return what a scan of a function in plain Python gives. Without trips nothing tells what it stacks."""
    leaves, tree = flatten(xs)
    arrays = [np.asarray(x) for x in leaves]
    count, ys, carry = len(arrays[0]) if arrays else int(length), [], _copied(carry)
    if not count:
        raise error
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = _pair(f(carry, unflatten(tree, [x[i] for x in arrays])))
        ys.append(flatten(y))
        if ys[-1][1] != ys[0][1]:
            problem = (
                f"is {structure_text(ys[0][1])} in one iteration, and {structure_text(ys[-1][1])} in iteration {i}"
            )
            raise ArgumentError("scan", "the result of f", problem, "return the same structure in each iteration")
    columns = zip(*[results for results, _ in (ys[::-1] if reverse else ys)], strict=True)
    return carry, unflatten(ys[0][1], [np.stack(column) for column in columns])


def _while_plainly(cond_fun: Function, body_fun: Function, val):
    """Return what a loop of functions in plain Python gives."""
    val = _copied(val)
    while bool(cond_fun(val)):
        val = body_fun(val)
    return val


def _pair(result) -> tuple[Any, Any]:
    """Return what the function of a scan gives: a carry and a result."""
    if not isinstance(result, (tuple, list)):
        kind = "one array" if isinstance(result, Traced) else f"of type {type(result).__name__}"
        problem = f"is {kind}, not a pair"
    elif len(result) != 2:
        problem = f"has {len(result)} entries, not two"
    else:
        return tuple(result)
    raise ArgumentError("scan", "the result of f", problem, "return the carry and the result of the trip")


_REDUCED = "reduce it with np.all or np.any"
_IN_ORDER = "write while_loop(cond_fun, body_fun, init_val): the first function gives one boolean"


def _not_swapped(after: Any, carry: Any, kinds: Sequence[str]) -> Any:
    """Return the carry after a trip; raise ArgumentError where the two functions of `while_loop` are swapped.

    The body gives booleans then, for a carry without any, and the condition a number, which would never be 0.
    """
    dtypes = [{np.dtype(dtype_of(x)).kind for x in flatten(tree)[0] if is_array(x)} for tree in (carry, after)]
    if kinds[-1:] not in ([], ["b"]) and "b" not in dtypes[0] and dtypes[1] == {"b"}:
        raise ArgumentError(
            "while_loop", "the result of body_fun", "is a boolean, and that of cond_fun is not", _IN_ORDER
        )
    return after


def _check_ends(test: Graph, body: Graph, carries: int, *, sizes_vary: bool) -> None:
    """Raise ArgumentError for a loop whose condition reads nothing that trips change: it runs never, or for ever."""
    may_end = lambda op: op.raises or op.draws or op.acts or op is callback_op
    if any(applies(node, may_end) for node in [*test.nodes, *body.nodes]):
        return
    made = next((dict(node.params).get("value") for node in test.nodes if test.outputs[0] in node.outputs), None)
    if made is not False and test.outputs[0] not in _changing(test, body, carries, sizes_vary=sizes_vary):
        problem = "reads nothing that body_fun changes: it would hold in every trip, or in none"
        raise ArgumentError("while_loop", "the result of cond_fun", problem, "compute it from what body_fun returns")


def _changing(test: Graph, body: Graph, carries: int, *, sizes_vary: bool) -> set[Value]:
    """Return the values of a condition that depend on carries which trips change."""
    ends = zip(test.inputs, body.inputs, body.outputs[:carries], strict=False)
    changing = {x for x, before, after in ends if before is not after}
    for node in test.nodes:
        if not changing.isdisjoint(node.operands if sizes_vary else node.inputs):
            changing.update(node.outputs)
    return changing


def _test(cond_fun: Function, kinds: list[str] | None = None) -> Function:
    """Return the condition of a loop as a function that gives a traced boolean, and notes the kinds of its dtypes."""
    kinds = [] if kinds is None else kinds

    def test(carry):
        if isinstance(pred := argument_containers.keeping(cond_fun)(carry), SymbolicSize):
            kinds.append("b")
            comparison = pred if isinstance(pred, SizeComparison) else pred.__ne__(0)
            return comparison.as_array() if isinstance(comparison, SizeComparison) else full((), bool(comparison), bool)
        is_like_carry = pred is not carry and (not is_array(pred) or np.dtype(dtype_of(pred)).kind in "if")
        advice = _IN_ORDER if is_like_carry and flatten(pred)[1] == flatten(carry)[1] else _REDUCED
        x = scalar_operand("while_loop", "the result of cond_fun", pred, "biuf", "one boolean", advice)
        kinds.append(np.dtype(dtype_of(x)).kind)
        if not isinstance(x, Traced):
            return full((), bool(x), bool)
        return x if x.dtype.kind == "b" else ew.ne(x, ew.lift(0, x))

    return test


def _range(lower, upper) -> tuple[Any, Size]:
    """Return the first counter, None for 0, and the number of counters."""
    first, last = as_size(lower), as_size(upper)
    if first is not None and last is not None:
        return None if first == 0 else operand(lower), expr.maximum(expr.sub(last, first), 0)
    start, stop = [ew.convert(operand(x), np.int64) for x in (lower, upper)]
    return (None if first == 0 else start), size_from_count(ew.sub(stop, start))


def counter_of(k: Any, first: Size | None, trips: Size | None) -> Any:
    """Return the counter of a trip, a number of Python's, and let the trace know its values."""
    if first is not None and trips is not None:
        active_builder().counters[k.value] = first, trips
    return standing_for(k, int)


def _until(bounds: Sequence[Any], body_fun: Function, init_val, checkpoint):
    """Return what `fori_loop` gives where examples of a batch have bounds of their own: a loop with a condition."""
    start, stop = [as_value(ew.convert(operand(x), np.int64)) for x in bounds]
    step = lambda carry, own: (body_fun(standing_for(own[0], int), carry), ())
    CarryLoop("fori_loop", "body_fun", body_fun, init_val).trace(
        step, [start.meta]
    )  # raises in the words of the caller
    going = lambda state: ew.lt(state[0], stop)
    trip = lambda state: (ew.add(state[0], ew.lift(1, state[0])), body_fun(standing_for(state[0], int), state[1]))
    return while_loop(going, trip, (start, init_val), checkpoint=checkpoint)[1]


def _check_arrays(function: str, label: str, tree) -> None:
    """Raise ArgumentError unless all leaves of an argument are arrays or numbers."""
    for x, path in zip(flatten(tree)[0], leaf_paths((tree,), {}), strict=True):
        if not is_array(x):
            problem, advice = f"is of type {type(x).__name__}, not an array", "pass arrays or trees of them"
            if has_type(x, drawing()):
                advice = "leave it out: trips draw from a generator that a jitted function around gets as its argument"
            raise ArgumentError(function, path.replace("args[0]", label), problem, advice)


def _bound(label: str, x):
    """Return a bound of a loop: an int, a size, or a traced integer scalar."""
    if isinstance(x, SymbolicSize):
        return x
    return scalar_operand("fori_loop", label, x, "iu", "one integer", "convert it with int or astype")


class _Rows:
    """Arrays that each trip reads an element of, and the number of trips."""

    def __init__(self, name: str, xs: Any, length: Any) -> None:
        leaves, self.tree = flatten(xs)
        self.leaves = leaves
        paths = leaf_paths((xs,), {})
        self.stacks = [name_sizes(as_value(x)) for x in leaves]
        for x, path in zip(self.stacks, paths, strict=True):
            if not x.meta.rank:
                problem = "is a scalar, without an axis to scan along"
                advice = "write scan(f, init, xs): each x has a first axis, or pass length=n"
                raise ArgumentError(name, path.replace("args[0]", "xs"), problem, advice)
        if not self.stacks and length is None:
            raise ArgumentError(name, "length", "is None, and there are no xs", "pass xs or the number of trips")
        self.length = new_size(length, name) if length is not None else self.stacks[0].meta.extents[0].size
        if self.stacks:
            context_of(name).require_equal(self.stacks[0].meta.extents[0].size, self.length, lp.SAME_LENGTH)
        self.elements = [TensorMeta(x.dtype, x.meta.extents[1:]) for x in self.stacks]

    def element(self, own: Sequence[Any]) -> Any:
        """Return the tree of what one trip reads: scalars stand for scalars of NumPy, as `x[i]` gives."""
        kinds = [None if x.meta.rank else np.generic for x in own]
        return unflatten(self.tree, [standing_for(x, kind) for x, kind in zip(own, kinds, strict=True)])


def _scan(loop: CarryLoop, step: Step, rows: _Rows, reverse: bool, policy: lp.Policy):
    """Return the carry after all trips, and the stacked results."""
    (body,), further = loop.trace(step, rows.elements)
    loop.require_unwritten(rows.leaves, "xs")
    _check_draws(loop.name, policy, body)
    layout = lp.Layout(len(loop.carries), len(rows.stacks))
    operands = [*loop.carries, *rows.stacks, *further]
    results = lp.scan_of_length(body, layout, rows.length, *operands, reverse=reverse, checkpoint=policy)
    return loop.results(results), loop.stacked(results)
