"""Control ops: each passes its operand on.

- stop_gradient makes it a constant of every derivative.
- check raises unless all of it is true.
- decide leaves the program where its operand is not the answer that Python was given while it was traced.
- warn warns if any of it is true; warn_below, which has no operand, if a size is too small.
- effect prints, or calls a function of the user, and gives a mark that nothing reads.
- raise raises an exception of the user unless its first operand is true, and gives such a mark.
- enter_checkpoint and leave_checkpoint mark a region whose values reverse mode recomputes.

Callbacks, Python functions that run inside a program, and names for run-time sizes.

Nothing is known of a callback but the dtypes and extents that it promises.

Ops that carry derivative rules of the user.

A function with a rule of its own is traced into the graph as it is, between two kinds of marks:

- custom_argument passes an argument into the function. No tangent gets past it.
- custom_jvp, custom_vjp and custom_linear_solve pass the results on. Their operands are the arguments, then the
  results. Their derivative comes from a rule of the user, which is a function of the arguments.

custom_vjp_tangent stands for the tangents of the results of custom_vjp. Its transpose runs the backward rule; without
a transpose it cannot run.
"""

from __future__ import annotations

import copyreg
import os
import pickle
import re
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import CheckError, UnsupportedFunctionError
from anyshape.graph.ir.graph import Graph, Node, Op, walk
from anyshape.graph.shapes.array_type import (
    Exact,
    ShapeExtent,
    ShapeGuardContext,
    TensorMeta,
    Unknown,
    UpperBound,
    as_extent,
    tensor,
)
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all, localise, meta_of
from anyshape.ops.core.definition import NO_CHECKS, NO_PROBE, PROBED_AT_ONES, PROBED_AT_ZEROS, define
from anyshape.ops.core.flop_counts import MOVES, per_operand
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.true_types import has_type

_MOST_LIVE = 2**16  # values of a program that a decision hands over where its path is left
POLICIES: dict[str, tuple[str, ...]] = {"": (), "contractions": ("contraction",)}  # families that checkpoints keep


def _check_type(ctx: ShapeGuardContext, x: TensorMeta, *, message: str) -> TensorMeta:
    if x.dtype.kind != "b":
        raise ctx.bad_dtype(f"a check is of {x.dtype}", "compare it to make it bool")
    return x


def _warn_type(ctx: ShapeGuardContext, x: TensorMeta, *, message: str) -> TensorMeta:
    if x.dtype.kind != "b":
        raise ctx.bad_dtype(f"the condition of a warning is {x.dtype}", "compare it to make it bool")
    return x


def _warn_below_type(ctx: ShapeGuardContext, *, size: Size, least: Size, message: str) -> TensorMeta:
    ctx.resolve(size)
    ctx.resolve(least)
    return tensor(np.dtype(bool), ())


def _decide_type(ctx: ShapeGuardContext, x: TensorMeta, *live: TensorMeta, answer: bool | int, turn: int) -> TensorMeta:
    if x.dtype.kind not in "biu":
        raise ctx.bad_dtype(f"a decision is on {x.dtype}", "compare it, or convert it to integers")
    return x


def _is_answer(node: Node, param) -> bool:
    """Accept a bool for a decision on a bool, and an int for one on an integer."""
    kind = node.inputs[0].meta.dtype.kind
    return has_type(param, bool) if kind == "b" else has_type(param, int) and not has_type(param, bool)


def _leave_type(ctx: ShapeGuardContext, x: TensorMeta, *, keep: str) -> TensorMeta:
    return x


stop_gradient_op: Op = define("stop_gradient", lambda ctx, x: x, params={}, cost=MOVES, **PROBED_AT_ONES)
check_op: Op = define(
    "check", _check_type, params={"message": kinds.text}, cost=per_operand(1), raises=True, **PROBED_AT_ONES
)
warn_op: Op = define(
    "warn", _warn_type, params={"message": kinds.text}, cost=per_operand(1), raises=True, **PROBED_AT_ZEROS
)
warn_below_op: Op = define(
    "warn_below",
    _warn_below_type,
    params={"size": kinds.size, "least": kinds.size, "message": kinds.text},
    cost=MOVES,
    raises=True,
    **NO_CHECKS,
)
decide_op: Op = define(
    "decide",
    _decide_type,
    operands=(1, _MOST_LIVE),
    params={"answer": _is_answer, "turn": kinds.count},
    cost=per_operand(1),
    raises=True,
    **NO_CHECKS,
)
enter_checkpoint_op: Op = define(
    "enter_checkpoint",
    lambda ctx, x, *, keep, turn: x,
    params={"keep": kinds.one_of(*POLICIES), "turn": kinds.count},
    cost=MOVES,
    **PROBED_AT_ONES,
)
leave_checkpoint_op: Op = define(
    "leave_checkpoint", _leave_type, params={"keep": kinds.one_of(*POLICIES)}, cost=MOVES, **PROBED_AT_ONES
)


def stop_gradient(x: Operand) -> Any:
    """Return x as a constant of every derivative."""
    return apply(stop_gradient_op, x)


def check(x: Operand, message: str) -> Any:
    """Return x; the program raises unless all of it is true. Dead code elimination keeps checks."""
    return apply(check_op, x, message=message)


def decide(x: Operand, answer: bool | int, turn: int) -> Any:
    """Return x; the run leaves the program unless all of it is the answer of this turn that Python was given."""
    return apply(decide_op, x, answer=answer, turn=turn)


def warn(x: Operand, message: str) -> Any:
    """Return x; the program gives this RuntimeWarning if any of it is true. Dead code elimination keeps warnings."""
    return apply(warn_op, x, message=message)


def warn_below(size: Size, least: Size, message: str) -> None:
    """Make the program give this RuntimeWarning if a size is smaller than `least`."""
    if (excess := expr.bounds(expr.sub(size, least))[0]) is not None and excess >= 0:
        return
    local, sources = localise((size, least), ())
    apply(warn_below_op, sources=sources, size=local[0], least=local[1], message=message)


def enter_checkpoint(x: Operand, keep: str = "", turn: int = 0) -> Any:
    """Return x inside of a checkpoint: reverse mode recomputes what depends on it, up to `leave_checkpoint`.

    `keep` names the policy of what it keeps nevertheless. Recomputed values have another `turn`, so that they are never
    merged with the values computed before.
    """
    return apply(enter_checkpoint_op, x, keep=keep, turn=turn)


def leave_checkpoint(x: Operand, keep: str = "") -> Any:
    """Return x outside of the checkpoint that it was computed in."""
    return apply(leave_checkpoint_op, x, keep=keep)


Entry: TypeAlias = Size | tuple[str, Size] | str  # n, ("<=", n) or "?": an extent in a param
UNKNOWN: Entry = "?"
AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class Callback:
    """Function as a param: it takes arrays and returns a sequence of arrays. Nothing else in a graph is not data."""

    function: Callable[..., Any]
    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


def _callback_type(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    function: Callback,
    results: tuple[tuple[np.dtype, tuple[Entry, ...]], ...],
    loops: tuple[tuple[bool, ...], ...],
    vectorized: bool,
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Loops, outermost first, run over the first axis of flagged operands; results have the axes of loops in front."""
    metas = tuple([TensorMeta(dtype, tuple([_extent(ctx, e) for e in entries])) for dtype, entries in results])
    return metas if len(metas) > 1 else metas[0]


def _extent(ctx: ShapeGuardContext, entry: Entry) -> ShapeExtent:
    """Return the extent that a param promises, weakened to what the operands guarantee."""
    if isinstance(entry, str):
        return Unknown()
    if not isinstance(entry, tuple):
        return ctx.resolve(entry)
    bound = ctx.resolve(entry[1])
    return UpperBound(bound.size) if isinstance(bound, Exact) else bound


def _name_sizes_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    """Give each axis without an exact size a new dimension variable, bounded as the axis is."""
    named: list[ShapeExtent] = []
    for axis, extent in enumerate(ctx.extents(x)):
        if not isinstance(extent, Exact):
            upper = extent.size if isinstance(extent, UpperBound) else None
            extent = Exact(ctx.new_size(f"size{axis}", upper))
        named.append(extent)
    return TensorMeta(x.dtype, tuple(named))


def _is_callback(node: Node, param) -> bool:
    """Accept a function. Files cannot hold one."""
    return isinstance(param, Callback)


def _are_results(node: Node, param) -> bool:
    """Accept a dtype and extents for each result."""
    return all(isinstance(dtype, np.dtype) and all(_is_entry(node, e) for e in entries) for dtype, entries in param)


def _is_entry(node: Node, entry) -> bool:
    return entry == UNKNOWN or kinds.size(node, entry[1] if isinstance(entry, tuple) else entry)


def _are_loops(node: Node, param) -> bool:
    """For each loop, one flag per operand."""
    return all(len(level) == len(node.inputs) for level in param)


callback_op: Op = define(
    "callback",
    _callback_type,
    operands=(0, 10_000),
    params={"function": _is_callback, "results": _are_results, "loops": _are_loops, "vectorized": kinds.flag},
    cost=MOVES,  # the cost of the function itself is unknown
    **NO_CHECKS,
)
name_sizes_op: Op = define("name_sizes", _name_sizes_type, params={}, cost=MOVES, makes_sizes=True, **NO_CHECKS)


def callback(
    function: Callback,
    results: Sequence[tuple[Any, Sequence[Size | ShapeExtent]]],
    *operands: Operand,
    loops: tuple[tuple[bool, ...], ...] = (),
    vectorized: bool = False,
) -> tuple[Any, ...]:
    """Return what the function gives: arrays of these dtypes and extents, which are checked when it runs.

    The function must be pure: it does not run if nothing needs its results, and may run again in a derivative.
    """
    promised = tuple([(np.dtype(dtype), tuple([_entry(e) for e in extents])) for dtype, extents in results])
    local, sources = localise(promised, operands)
    params = {"function": function, "results": local, "loops": loops, "vectorized": vectorized}
    return apply_all(callback_op, *operands, sources=sources, **params)


Piece: TypeAlias = str | tuple[int, str, str]  # a text, or an operand with its conversion and its format
FORMS = ("array", "scalar", "number")  # what an operand is to the user: an array, a scalar of NumPy, a number of Python
STREAMS = ("stdout", "stderr")
_LONGEST_FORMAT = 100  # characters, of a file that nobody trusts
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda x: x, "s": str, "r": repr, "a": ascii}


def formatted(value: Any, conversion: str, spec: str) -> str:
    """Return the text of a value as an f-string gives it, or for the conversion "%" as `spec % value` does."""
    return spec % (value,) if conversion == "%" else format(_CONVERSIONS[conversion](value), spec)


def text_of(pieces: Sequence[Piece], values: Sequence[Any]) -> str:
    """Return the text of pieces with the values of its operands."""
    return "".join([p if isinstance(p, str) else formatted(values[p[0]], *p[1:]) for p in pieces])


def write(file: Any, text: str, flush: bool) -> None:
    """Write a text as `print` does."""
    if file is not None:
        file.write(text)
        if flush:
            file.flush()


def _effect_type(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    action: Callback | tuple[Any, ...],
    forms: tuple[str, ...],
    loops: tuple[tuple[bool, ...], ...],
    sizes: tuple[Size, ...],
) -> TensorMeta:
    """Return the type of the mark. Loops, outermost first, run over the first axis of flagged operands."""
    for size in sizes:
        ctx.resolve(size)
    return tensor(np.dtype(bool), ())


def _is_action(node: Node, param) -> bool:
    """Accept a function, or what to print: the name of a stream, whether to flush it, and the pieces of the text."""
    if isinstance(param, Callback):
        return True
    is_print = isinstance(param, tuple) and len(param) == 3 and param[0] in STREAMS and type(param[1]) is bool
    return is_print and isinstance(param[2], tuple) and all(_is_piece(node, piece) for piece in param[2])


def _is_piece(node: Node, piece) -> bool:
    if isinstance(piece, str):
        return True
    if not (isinstance(piece, tuple) and len(piece) == 3 and type(piece[0]) is int and isinstance(piece[2], str)):
        return False
    fits = 0 <= piece[0] < len(node.inputs) and piece[1] in (*_CONVERSIONS, "%")
    return fits and len(piece[2]) <= _LONGEST_FORMAT and not re.search(r"\d{5}", piece[2])


def _are_forms(node: Node, param) -> bool:
    """For each operand, accept what it is to the user."""
    return isinstance(param, tuple) and len(param) == len(node.inputs) and all(form in FORMS for form in param)


def _loops_fit(node: Node, params: dict[str, Any]) -> bool:
    """Return whether each loop has a size, operands have an axis for each of theirs, and numbers have no other."""
    loops = params["loops"]
    if len(loops) != len(params["sizes"]) or not all(type(flag) is bool for level in loops for flag in level):
        return False
    ranks = [v.meta.rank - sum(level[i] for level in loops) for i, v in enumerate(node.inputs)]
    return all(not rank if form != "array" else rank >= 0 for rank, form in zip(ranks, params["forms"], strict=True))


effect_op: Op = define(
    "effect",
    _effect_type,
    operands=(0, 10_000),
    params={"action": _is_action, "forms": _are_forms, "loops": _are_loops, "sizes": kinds.sizes},
    jointly=_loops_fit,
    cost=MOVES,
    raises=True,  # so no pass removes it, or moves it past a check
    acts=True,
    **NO_PROBE,
)


def effect(
    action: Callback | tuple[Any, ...],
    *operands: Operand,
    forms: Sequence[str],
    loops: tuple[tuple[bool, ...], ...] = (),
    sizes: Sequence[Size] = (),
) -> Any:
    """Print, or call a function, each time that the program gets here, in the order of the program.

    It happens once for each example of the loops, also where no operand differs between these. Files hold what is
    printed, as it is a text.
    """
    local, sources = localise(tuple(sizes), operands)
    return apply(effect_op, *operands, sources=sources, action=action, forms=tuple(forms), loops=loops, sizes=local)


def functions_called(graph: Graph) -> list[Callback]:
    """Return the functions of the user that a graph calls. No file holds them."""
    params = [dict(n.params) for n in walk(graph) if n.op in (callback_op, effect_op)]
    functions = [p.get("function", p.get("action")) for p in params]
    return [f for f in functions if isinstance(f, Callback)]


# -- exceptions of users

Described: TypeAlias = tuple[str, str, bool, Any, Any, Any, bool]
EXAMPLE = "__anyshape_example__"  # attribute of an exception that a batch raised, until it has its line
_LOCAL: dict[str, type[Exception]] = {}  # classes of this process that their names do not find
_CONTAINERS: dict[str, Callable[..., Any]] = {
    "tuple": lambda *xs: xs,
    "list": lambda *xs: [*xs],
    "dict": lambda *xs: dict(zip(xs[::2], xs[1::2], strict=True)),
}


def named_class(kind: type[Exception]) -> tuple[str, str]:
    """Return the name of a class of exceptions, and its key in this process if the name does not find it."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _class_of(name, "") is kind:
        return name, ""
    key = next((key for key, known in _LOCAL.items() if known is kind), None) or os.urandom(16).hex()
    _LOCAL[key] = kind
    return name, key


def _class_of(name: str, key: str) -> type[Exception] | None:
    """Return a class of exceptions, None if this process has none of the name; nothing is imported for a file."""
    if key in _LOCAL:
        return _LOCAL[key]
    module, _, path = name.partition(":")
    owner: Any = sys.modules.get(module)
    for part in path.split("."):
        owner = vars(owner).get(part) if has_type(owner, (types.ModuleType, type)) else None
    return owner if has_type(owner, type) and issubclass(owner, Exception) else None


def exception_of(described: Described, values: Sequence[Any]) -> Exception:
    """Return the exception that a param describes, with these values of the operands.

    The param has the name of its class, the key of that, and whether it is called or gets `args` and attributes. Parts
    of `_filled_in` follow: the arguments, further ones by name, the cause. Last comes whether the context is hidden.
    """
    name, key, is_called, *parts, suppresses = described
    args, named, cause = [_filled_in(part, values) for part in parts]
    if (kind := _class_of(name, key)) is None:
        text = ", ".join([*map(str, args), *[f"{k}={x}" for k, x in named.items()]])
        return CheckError(f"{name.rpartition(':')[2]}: {text}")
    if is_called:
        error = kind(*args, **named)
    else:
        error = kind.__new__(kind, *args)
        error.args = args
        vars(error).update(named)
    error.__cause__, error.__suppress_context__ = cause, suppresses
    return error


def _filled_in(part: Any, values: Sequence[Any]) -> Any:
    """Return an argument of an exception: a number, a text, or what a word with further parts stands for."""
    if not isinstance(part, tuple):
        return part
    word, *parts = part
    if word == "operand":
        return values[parts[0]]
    if word == "text":
        return text_of(parts, values)
    if word == "exception":
        return exception_of(parts[0], values)
    return _CONTAINERS[word](*[_filled_in(p, values) for p in parts])


def _is_description(node: Node, param) -> bool:
    """Accept what `exception_of` takes."""
    if not isinstance(param, tuple) or len(param) != 7:
        return False
    *head, args, named, cause, suppresses = param
    words = [part[:1] if isinstance(part, tuple) else part for part in (args, named, cause)]
    is_whole = words in ([("tuple",), ("dict",), None], [("tuple",), ("dict",), ("exception",)])
    has_types = [type(x) for x in (*head, suppresses)] == [str, str, bool, bool]
    return is_whole and has_types and all(_is_part(node, part) for part in (args, named, cause))


def _is_part(node: Node, part) -> bool:
    """Accept what `_filled_in` takes."""
    if not isinstance(part, tuple):
        return part is None or type(part) in (bool, int, float, complex, str)
    return bool(part) and part[0] in _PARTS and _PARTS[part[0]](node, part[1:])


def _are_parts(node: Node, parts: tuple[Any, ...]) -> bool:
    return all(_is_part(node, part) for part in parts)


_PARTS: dict[Any, Callable[[Node, tuple[Any, ...]], bool]] = {
    "operand": lambda node, parts: parts in [(i,) for i in range(1, len(node.inputs))],
    "text": lambda node, parts: all(_is_piece(node, piece) for piece in parts),
    "exception": lambda node, parts: len(parts) == 1 and _is_description(node, parts[0]),
    "tuple": _are_parts,
    "list": _are_parts,
    "dict": lambda node, parts: len(parts) % 2 == 0 and _are_parts(node, parts),
}


def _raise_type(
    ctx: ShapeGuardContext,
    holds: TensorMeta,
    *operands: TensorMeta,
    error: Described,
    forms: tuple[str, ...],
    loops: tuple[tuple[bool, ...], ...],
    sizes: tuple[Size, ...],
) -> TensorMeta:
    """Return the type of the mark. The first operand says whether all is well; others are values that the error has."""
    if holds.dtype.kind != "b":
        raise ctx.bad_dtype(f"the condition of an exception is {holds.dtype}", "compare it to make it bool")
    return _effect_type(ctx, holds, *operands, action=(), forms=forms, loops=loops, sizes=sizes)


raise_op: Op = define(
    "raise",
    _raise_type,
    operands=(1, 10_000),
    params={"error": _is_description, "forms": _are_forms, "loops": _are_loops, "sizes": kinds.sizes},
    jointly=_loops_fit,
    cost=per_operand(1),
    raises=True,
    **NO_PROBE,
)


def raise_unless(
    holds: Operand,
    *values: Operand,
    error: Described,
    forms: Sequence[str],
    loops: tuple[tuple[bool, ...], ...] = (),
    sizes: Sequence[Size] = (),
) -> Any:
    """Raise an exception of the user where a program gets here, unless a bool is true; under `vmap`, for one example.

    `forms` say what the condition and the values are to the user. Values are operands 1, 2 and so on of the error.
    """
    local, sources = localise(tuple(sizes), (holds, *values))
    params = {"error": error, "forms": tuple(forms), "loops": loops, "sizes": local}
    return apply(raise_op, holds, *values, sources=sources, **params)


def is_open(entry: Entry) -> bool:
    """Return True for an entry that leaves the size of an axis open, or only bounds it."""
    return isinstance(entry, (tuple, str))


def _entry(size: Size | ShapeExtent) -> Entry:
    if isinstance(extent := as_extent(size), Exact):
        return extent.size
    return (AT_MOST, extent.size) if isinstance(extent, UpperBound) else UNKNOWN


def name_sizes(x: Operand) -> Any:
    """Return x with exact sizes: each axis without one gets a new dimension variable."""
    return x if meta_of(x).sizes is not None else apply(name_sizes_op, x)


Levels: TypeAlias = tuple[tuple[bool, ...], ...]


class CustomRule:
    """Derivative rule of the user as a param. Rules are equal if their keys are; subclasses hold the functions.

    `name` is the name of the function that has the rule. The last `captured` arguments are values that the rule closes
    over: their tangents play no part. `is_independent`: the results do not depend on how the function
    finds them, so nothing is wrong if it closes over values that are differentiated.

    A file holds no functions, and a pickle only those that a module has by name. Programs take their place there, and
    in a graph that is pickled by itself the name of the function, which then has no derivative.
    """

    is_independent = False

    def refusal(self, where: object) -> UnsupportedFunctionError:
        """Return the error for a tangent that nothing transposes."""
        problem = "has a rule for cotangents alone, so it has no forward mode (jvp, jacfwd, linearize)"
        advice = "use grad, vjp or jacrev, or give the function a rule with custom_jvp, which serves both modes"
        return UnsupportedFunctionError(f"custom_vjp({self.name})", problem, advice, where)

    def __init__(self, name: str, captured: int = 0) -> None:
        self.name, self.captured = name, captured

    @property
    def key(self) -> Any:
        """Key that is equal for equal rules."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, CustomRule) and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.name, type(self)))

    def __str__(self) -> str:
        return self.name

    def __copy__(self) -> CustomRule:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CustomRule:
        return self

    def fits(self, node: Node) -> bool:
        """Return whether the rule can be that of a node; one that a file made up may not."""
        return True

    def parts(self, count: int) -> list[Sequence[int]]:
        """Return the sets of arguments, of this many, whose tangents the rule moves apart, and adds what it gets."""
        return [range(count)]

    @property
    def travels(self) -> bool:
        """True if a pickle holds the functions: they are not local, and hold no values of a trace."""
        try:
            pickle.dumps(self.__dict__)
        except (pickle.PicklingError, AttributeError, TypeError):
            return False
        return True

    def __reduce__(self) -> Any:
        """Pickle with the functions, or as the name where no pickle holds them."""
        if not self.travels:
            return str, (self.name,)
        state = self.__dict__
        return copyreg.__newobj__, (type(self),), state  # type: ignore[attr-defined]


class ClosedOver(CustomRule):
    """Missing rule of a function for a value that it closes over: an error, where a derivative depends on it."""

    def __init__(self, function: str, name: str) -> None:
        self.function = function
        super().__init__(name)

    @property
    def key(self) -> Any:
        return self.function, self.name

    def refusal(self, where: object) -> UnsupportedFunctionError:
        problem = f"is differentiated in a value that {self.name} closes over, of which its rule knows nothing"
        advice = f"pass the value to {self.name} as an argument, or close over stop_gradient of it"
        return UnsupportedFunctionError(self.function, problem, advice, where)


def _result_types(
    ctx: ShapeGuardContext, *operands: TensorMeta, rule: CustomRule | str, count: int, levels: Levels
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the types behind `count` arguments; `levels`, outermost first, say which have the axis of a vmap."""
    results = operands[count:]
    return results if len(results) > 1 else results[0]


def _tangent_types(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    rule: CustomRule | str,
    count: int,
    depth: int,
    results: tuple[tuple[np.dtype, tuple[Size, ...]], ...],
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Derive the results of `count` tangents, then residuals; all have the axes of `depth` vmaps in front."""
    metas = tuple([TensorMeta(dtype, tuple([ctx.resolve(size) for size in sizes])) for dtype, sizes in results])
    return metas if len(metas) > 1 else metas[0]


def _is_rule(node: Node, param) -> bool:
    """Accept a rule of the user, or the name of its function, where a file has dropped the rule."""
    return isinstance(param, (CustomRule, str))


def _are_levels(node: Node, param) -> bool:
    """For each vmap around the call, one flag per argument."""
    return isinstance(param, tuple) and all(isinstance(level, tuple) for level in param)


def _are_result_types(node: Node, param) -> bool:
    """Accept a dtype and sizes for each result."""
    return all(isinstance(dtype, np.dtype) and kinds.sizes(node, sizes) for dtype, sizes in param)


def _counts_operands(node: Node, params: dict[str, Any]) -> bool:
    """Return whether there is a result behind the arguments, each level has a flag for each, and the rule fits."""
    count, rule = params["count"], params["rule"]
    has_flags = count < len(node.inputs) and all(len(level) == count for level in params["levels"])
    return has_flags and (isinstance(rule, str) or rule.fits(node))


def _define_call(name: str) -> Op:
    """Define the mark of the results of a function with a rule."""
    return define(
        name,
        _result_types,
        operands=(1, 10_000),
        params={"rule": _is_rule, "count": kinds.count, "levels": _are_levels},
        jointly=_counts_operands,
        cost=MOVES,
        **NO_PROBE,
    )


custom_argument_op: Op = define("custom_argument", lambda ctx, x: x, params={}, cost=MOVES, **PROBED_AT_ONES)
custom_jvp_op: Op = _define_call("custom_jvp")
custom_vjp_op: Op = _define_call("custom_vjp")
custom_linear_solve_op: Op = _define_call("custom_linear_solve")
custom_vjp_tangent_op: Op = define(
    "custom_vjp_tangent",
    _tangent_types,
    operands=(1, 10_000),
    params={"rule": _is_rule, "count": kinds.count, "depth": kinds.count, "results": _are_result_types},
    cost=MOVES,
    **NO_CHECKS,
)


def custom_argument(x: Operand) -> Any:
    """Return x without its tangents."""
    return apply(custom_argument_op, x)


def custom_call(
    op: Op, rule: CustomRule | str, arguments: Sequence[Operand], results: Sequence[Operand], levels: Levels = ()
) -> tuple[Any, ...]:
    """Return the results of a function, whose derivative in the arguments comes from a rule."""
    return apply_all(op, *arguments, *results, rule=rule, count=len(arguments), levels=levels)


def custom_vjp_tangent(
    rule: CustomRule | str,
    tangents: Sequence[Operand],
    residuals: Sequence[Operand],
    results: Sequence[tuple[np.dtype, Sequence[Size]]],
    depth: int,
) -> tuple[Any, ...]:
    """Return tangents of these dtypes and sizes that only the transpose of this op can make sense of."""
    operands = [*tangents, *residuals]
    local, sources = localise(tuple([(dtype, tuple(sizes)) for dtype, sizes in results]), operands)
    params = {"rule": rule, "count": len(tangents), "depth": depth, "results": local}
    return apply_all(custom_vjp_tangent_op, *operands, sources=sources, **params)
