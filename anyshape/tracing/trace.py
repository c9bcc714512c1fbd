"""Trace a Python function to a graph: run it once on traced arrays.

Paths of a function that end in an exception of its own: what the program of such a path raises.

A call on a known path raises an equal exception without a trace. Its traceback ends at the line of the function, as the
first one's did.

Show sizes, claims and structures as the caller writes them: `x.shape[0]` for `x_0`, `(x, {'w': *})` for a tree.
"""

from __future__ import annotations

import contextlib
import dis
import logging
import operator
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import perf_counter, thread_time
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

import numpy as np

from anyshape import errors
from anyshape.backend.runtime.outcome import PathLeft
from anyshape.graph.ir.builder import Builder, Traced, activate, active, home, user_line
from anyshape.graph.ir.graph import Graph, Value, decisions_of, drawing, is_generator
from anyshape.graph.ir.tracebacks import raised_at
from anyshape.graph.prover.constraints import RELATIONS, Claim, SizeNames, SourceLine
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.user_stack import calls_traced_function, is_in_try, is_user_frame, tell
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.signature.dim_equations import SizeBinding, size_names
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, InputAxis
from anyshape.numpy.arrays.array import SHOWN_ARRAY, Array, NDArray
from anyshape.numpy.operands import memory
from anyshape.numpy.operands.promotion import asarray, dtype_of
from anyshape.numpy.operands.ufuncs import Ufunc
from anyshape.numpy.serve import advise
from anyshape.numpy.sizes.symdim import SizeComparison, symdim
from anyshape.support import profiles
from anyshape.support.foreign import constant, is_foreign
from anyshape.support.fork_lock import collection_deferred, restores_thread
from anyshape.support.lazy_dataclass import dataclass, replace
from anyshape.support.packages import (
    argument_containers,
    graph_replay,
    looks,
    python_slips,
    traced_generators,
    value_decisions,
)
from anyshape.support.progress import phase
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees

_ATOMS = {str, bytes, int, float, complex, bool, type(None)}
_RAISE = dis.opmap["RAISE_VARARGS"]


class Raised:
    """Exception that ends a path.

    - `error` is a copy of it without a traceback, None if it is not known to be the same in each call.
    - `original` is the exception itself, until the call that was traced has raised it.
    """

    __slots__ = ("error", "line", "original")

    def __init__(self, original: Exception | None, line: tuple[str, int, str], error: Exception | None) -> None:
        self.original, self.line, self.error = original, line, error

    @classmethod
    def of(cls, original: Exception, is_of_call: bool = False) -> Raised:
        """Return what a program raises for an exception that a trace met."""
        if (line := _innermost(original)) is None:
            return cls(original, ("", 1, ""), None)
        code = line.tb_frame.f_code
        position = code.co_filename, line.tb_lineno or 1, code.co_name
        return cls(original, position, None if is_of_call or not is_stated(original) else _copied(original))

    def again(self) -> NoReturn:
        """Raise the exception at the line of the user."""
        if self.original is not None:
            raise self.original
        error = _copied(self.error)
        assert error is not None
        raise raised_at(error, SourceLine(*self.line))

    def __str__(self) -> str:
        kind = type(self.error).__name__
        return f"raises {self.error if kind == 'RaisedBefore' else kind}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raised) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.line)

    def _key(self):
        return self.line, type(self.error), getattr(self.error, "args", None), getattr(self.error, "__dict__", None)

    def __reduce__(self) -> Any:
        return Raised, (None, self.line, self.error)


def _innermost(error: BaseException) -> TracebackType | None:
    """Return the entry of the line that raised."""
    line = error.__traceback__
    while line is not None and line.tb_next is not None:
        line = line.tb_next
    return line


def is_stated(error: BaseException) -> bool:
    """Return whether a `raise` or `assert` of the user made an exception: not a mistake, and nothing that a call met.

    One that is raised again is as at first.
    """
    line = _innermost(error)
    return line is not None and is_user_frame(line.tb_frame) and line.tb_frame.f_code.co_code[line.tb_lasti] == _RAISE


def _copied(error) -> Exception | None:
    """Return an exception like this one, None if it holds more than texts and numbers or cannot be copied."""
    if not _is_plain([error.args, vars(error)]):
        return None
    try:
        new = _rebuilt(error)
        is_same = type(new) is type(error) and new.args == error.args and str(new) == str(error)
    except Exception:  # its class asks for other arguments than it keeps
        return None
    cause = None if error.__cause__ is None else _copied(error.__cause__)
    if not is_same or (cause is None) is not (error.__cause__ is None):
        return None
    new.__cause__, new.__suppress_context__ = cause, error.__suppress_context__
    return new


def _rebuilt(error: BaseException):
    """Return the exception as its class makes it again.

    `copy.copy` would ask `copyreg`, where packages register copies with their traceback, which holds arrays.
    """
    reduced: Any = error.__reduce_ex__(4)
    make, args, *state = reduced
    new = make(*args)
    if state and state[0]:
        new.__setstate__(state[0])
    return new


def _is_plain(x) -> bool:
    if type(x) in (tuple, list):
        return all(map(_is_plain, x))
    if type(x) is dict:
        return all(map(_is_plain, [*x, *x.values()]))
    return type(x) in _ATOMS or issubclass(type(x), np.generic)


def is_one_of_several(graph: Graph) -> bool:
    """Return whether other calls may take another path of the function."""
    return bool(decisions_of(graph)) or any(c.kind == "guard" for c in graph.conditions)


def raise_first(run: Callable[..., Any] | None, raised: Raised, arrays: Sequence[Any]) -> NoReturn:
    """Raise the exception of a trace for the first time, or what lines before it raise for these arrays."""
    try:
        if run is not None:
            with contextlib.suppress(PathLeft):  # the plan and the naive evaluator differ by rounding
                run(*arrays)
        raised.again()
    finally:
        raised.original = None  # its traceback holds the arrays


_HOLD_NOTHING = (type, types.BuiltinFunctionType, np.ufunc, Ufunc)
_LOG = logging.getLogger("anyshape.trace")


@dataclass(frozen=True)
class Trace:
    """Graph of one function, with the structures of its arguments and of its result.

    - `labels` are the paths of the arguments by the names of parameters, where these are known.
    - `order` says which keys of a call must come in the order of `in_tree`: others would lead the function elsewhere.
    - `written` are the positions of the arguments that the function writes to. The last outputs of the graph are their
      final values. Pairs `same` are of a result and the argument that it is itself, also after writes.
    - `layouts` say how arguments lie in memory: an argument, a question of `layouts`, and the answer. What writes reach
      depends on it, and in which order "A" and "K" read elements.
    - `raised` is the exception that ends this path of the function; such a trace has no results.
    - `home` is the library of the arrays with its device, and the positions of arguments that are numbers. None: NumPy.
    """

    graph: Graph
    in_tree: Any
    out_tree: Any
    paths: tuple[str, ...]
    labels: tuple[str, ...] = ()
    order: pytrees.Order = pytrees.Order.KEYS
    written: tuple[int, ...] = ()
    same: tuple[tuple[int, int], ...] = ()
    layouts: tuple[tuple[int, str, Any], ...] = ()
    raised: Raised | None = None
    home: tuple[Any, tuple[int, ...]] | None = None

    @property
    def count(self) -> int:
        """Number of results, which are the first outputs of the graph."""
        return len(self.graph.outputs) - len(self.written)

    @property
    def written_labels(self) -> tuple[str, ...]:
        """Paths of the arguments that the function writes to."""
        names = self.labels or self.paths
        return tuple([names[i] for i in self.written])

    def other_layouts(self, arrays: Sequence[Any]) -> list[tuple[int, str, str]]:
        """Return the arguments that lie in memory in another way than when traced, and both ways in words."""
        host = self.home[0].host if self.home else lambda x: x
        now = [(i, question, was, memory.layout_of(host(arrays[i]), question)) for i, question, was in self.layouts]
        return [
            (i, memory.layout_text(q, was), memory.layout_text(q, is_now)) for i, q, was, is_now in now if is_now != was
        ]


@dataclass(frozen=True)
class Leaves:
    """Arguments of a call: flat arrays with their paths, the `scalar_kind` of each, and the structure."""

    arrays: Sequence[Any]
    kinds: Sequence[type | None]
    tree: Any
    paths: Sequence[str]
    order: pytrees.Order = pytrees.Order.KEYS


@calls_traced_function
def run_traced(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> tuple[list[Any], Any]:
    """Return the flat traced results of the function and their structure."""
    try:
        result = function(*args, **kwargs)
    except errors.ArgumentError as error:
        error.locate(_users_line(error))
        raise
    except errors.AnyshapeError:
        raise
    except Exception as error:
        if (ours := _hidden(error)) is None:
            advise(error)
            raise
        raise ours.with_traceback(error.__traceback__) from None
    if (hidden := _hidden_error(active())) is not None:
        raise hidden
    leaves, tree = pytrees.flatten(result)
    if not all(pytrees.is_array(x) for x in leaves):
        path, leaf = next(
            (p, x) for p, x in zip(pytrees.result_paths(tree), leaves, strict=True) if not pytrees.is_array(x)
        )
        problem = f"is of type {type(leaf).__name__}, not an array"
        raise errors.ArgumentError(name, f"the {path}", problem, _advice_for(leaf))
    _refuse_made_functions(name, tree, (args, kwargs))
    _refuse_texts_of_arrays(name, tree)
    return [as_value(x) for x in leaves], tree


def _hidden_error(builder: Builder | None) -> Exception | None:
    """Return an error that the function hides, unless all that it met were looks at values."""
    return looks.hidden_error(builder) if builder is not None and builder.hidden_errors else None


def _advice_for(leaf) -> str:
    """Return what to write instead of a result that is not an array."""
    if has_type(leaf, drawing()):
        return "leave it out: the generator of the caller is the one that draws"
    if has_type(leaf, (types.GeneratorType, map, filter, zip)):
        return "return a list or a tuple"
    if has_type(leaf, types.CoroutineType):
        return "write def in place of async def"
    if type(leaf).__name__ == "Indexed":
        return "end it with .set(v), .add(v), .get() or the like"
    if pytrees.may_be_registered(type(leaf)):
        return f"return arrays, numbers, or trees of them, or register {type(leaf).__name__} by register_pytree_node"
    return "return arrays, numbers, or trees of them"


def _advice_for_made(name: str, x: Any) -> str:
    """Return what to write where a function, or an object that can be called, is made while tracing."""
    if name == type(x).__name__:  # `jit` of a class
        return f"write jit({name}(...)), of an object, or @jit above its methods"
    return "return arrays, and make functions of them outside"


def _refuse_made_functions(name: str, tree, arguments) -> None:
    """Raise ArgumentError for a function in the result that may hold traced values: made while tracing."""
    made = [x for x in pytrees.settings_of(tree) if callable(x) and not has_type(x, _HOLD_NOTHING)]
    made = [x for x in made if not (has_type(x, types.FunctionType) and x.__closure__ is x.__defaults__ is None)]
    if made:
        passed = [id(x) for x in pytrees.settings_of(pytrees.flatten(arguments)[1])]
        for x in made:
            if id(x) not in passed:
                advice = _advice_for_made(name, x)
                shown = getattr(x, "__qualname__", None) or f"a {type(x).__name__}"
                raise errors.ArgumentError(name, "the result", f"holds {shown}, made while tracing", advice)


def _refuse_texts_of_arrays(name: str, tree) -> None:
    """Raise ArgumentError for a text in the result that shows a traced array: it has no value in it, in any call."""
    for x in pytrees.settings_of(tree):
        if has_type(x, str) and (shown := SHOWN_ARRAY.search(x)):
            advice = "return the array, and format it outside the traced function"
            raise errors.ArgumentError(name, "the result", f"holds the text of a traced array, {shown[0]}", advice)


def _last_line(error: BaseException) -> SourceLine | None:
    """Return the line that raised."""
    lines = list(_traceback(error))
    return _source_line(lines[-1]) if lines else None


def _users_line(error: BaseException) -> SourceLine | None:
    """Return the innermost line of the user's code on the way to the line that raised."""
    lines = [line for line in _traceback(error) if is_user_frame(line.tb_frame)]
    return _source_line(lines[-1]) if lines else None


def _traceback(error: BaseException) -> Iterator[TracebackType]:
    line = error.__traceback__
    while line is not None:
        yield line
        line = line.tb_next


def _source_line(line: TracebackType) -> SourceLine:
    code = line.tb_frame.f_code
    return SourceLine(code.co_filename, line.tb_lineno, code.co_name, code, line.tb_lasti)


_SHOWN = 100  # characters of the argument that NumPy quotes in its error


def _hidden(error: Exception) -> Exception | None:
    """Return the error of anyshape that NumPy replaced by one of its own, None if there is none."""
    text = str(error)
    if (refused := _refused_array(error)) is not None:
        return refused
    if not isinstance(error, (TypeError, ValueError)):
        return python_slips.hidden_by(error)
    if text.startswith("setting an array element") and isinstance(error.__cause__, errors.AnyshapeError):
        return error.__cause__  # in `concrete[i] = traced`
    if text.startswith("dispatcher for __array_function__ did not return an iterable"):
        return errors.SymbolicIterationError("an array", _last_line(error))
    argument, ours = getattr(active(), "refused", None) or ("", None)
    hides = text == f"expected a sequence of integers or a single integer, got '{argument[:_SHOWN]}'"
    return ours if hides else python_slips.hidden_by(error)  # in `np.zeros(traced)`, in `brentq(f, ...)`


def _refused_array(error: Exception) -> errors.ArgumentError | None:
    """Return what is wrong with an array of another library that NumPy asked for its values in vain, None if none."""
    last = next(reversed([*_traceback(error)])).tb_frame
    if last.f_code.co_name == "__array__" and is_foreign(x := last.f_locals.get("self")):
        try:
            constant(x, "an operand", "array")
        except errors.ArgumentError as refused:
            refused.locate(_users_line(error))
            return refused
    return None


Prepared: TypeAlias = tuple[Builder, Sequence[TensorMeta]]


def _is_caught(scope: Scope, claim: Claim) -> bool:
    """Return whether a claim on run-time sizes holds, by which an operation fails whose error the user may catch."""
    return is_in_try(sys._getframe(1)) and bool(SizeComparison(claim, scope))


def trace_call(
    function: Callable[..., Any], name: str, leaves: Leaves, names: Sequence[str], prepared: Prepared | None = None,
    strict: bool = False,
) -> tuple[Trace, Scope]:  # fmt: skip
    """Trace with every axis of every leaf unknown, or as prepared; return the trace and its scope.

    Decisions are answered from the actual sizes and values, and checked by each run; `strict` refuses those on values.
    `names` are the names of the positional parameters.
    """
    builder, metas = prepared if prepared is not None else any_sizes(leaves, names)
    answers = _Answers(builder, leaves.arrays, strict)
    builder.answer, builder.shown = answers, answers.shown
    builder.scope.is_caught = _is_caught
    layouts: dict[tuple[int, str], Any] = {}

    def layout(value: Value, question: str):
        position = builder.inputs.index(value)
        return layouts.setdefault((position, question), memory.layout_of(leaves.arrays[position], question))

    builder.layout = layout
    try:
        trace = trace_in(builder, function, name, metas, leaves, names)
        answers.require_checked(trace)
    finally:
        answers.forget()
        builder.layout = None
    asked = tuple([(*key, layouts[key]) for key in sorted(layouts)])
    return replace(trace, layouts=asked) if asked else trace, builder.scope


class _Answers:
    """Answers to decisions on values by the arguments of one call; what computes them is loaded at the first one."""

    def __init__(self, builder: Builder, arrays: Sequence[Any], strict: bool) -> None:
        self.start: tuple[Any, ...] = builder, arrays, strict
        self.decisions: Any = None

    def __call__(self, x: Traced, asked: str) -> bool | int:
        answer: bool | int = self._of_call().answer(x, asked)
        return answer

    def shown(self, x: Traced) -> str:
        """Return the text of a value in the call."""
        text: str = self._of_call().shown(x)
        return text

    def value(self, x: Traced) -> Any:
        """Return a value in the call."""
        return self._of_call().value(x)

    def _of_call(self) -> Any:
        if self.decisions is None:
            self.decisions = value_decisions.Decisions(*self.start)
        return self.decisions

    def require_checked(self, trace: Trace) -> None:
        """Raise an error unless the program checks each answer: the exception of the path, if there is one."""
        if self.decisions is None:
            return
        try:
            self.decisions.require_checked(trace.graph)
        except errors.ConcretizationError:
            if trace.raised is not None:
                trace.raised.again()
            raise

    def forget(self) -> None:
        """Release the values of the call."""
        self.start, self.decisions = (), None


def any_sizes(leaves: Leaves, names: Sequence[str]) -> Prepared:
    """Return a builder for inputs of any size, and their array types."""
    hints: dict[DimVar, int] = {}
    metas = []
    sources = {}
    for position, (leaf, path) in enumerate(zip(leaves.arrays, leaves.paths, strict=True)):
        variables = [DimVar(f"{pytrees.readable(path, names)}_{axis}") for axis in range(leaf.ndim)]
        for axis, variable in enumerate(variables):
            sources[variable] = expr.from_atom(InputAxis(position, axis))
            hints[variable] = leaf.shape[axis]
        metas.append(tensor(leaf.dtype, [expr.from_atom(v) for v in variables]))
    builder = Builder(Scope(hints, origin=user_line()), handle=Array)
    for variable, size in sources.items():
        builder.define_dim(variable, size)
    return builder, metas


@restores_thread
def trace_in(
    builder: Builder,
    function: Callable[..., Any],
    name: str,
    metas: Sequence[TensorMeta],
    leaves: Leaves,
    names: Sequence[str],
) -> Trace:
    """Run the function on new inputs of the builder, and return the finished trace."""
    labels, started, worked = tuple(pytrees.named(p, names) for p in leaves.paths), perf_counter(), thread_time()
    if _LOG.isEnabledFor(logging.DEBUG):
        _LOG.debug("%s(%s): tracing", name, ", ".join(f"{p}: {m}" for p, m in zip(labels, metas, strict=True)))
    handles = [_input(builder, m, k) for m, k in zip(metas, leaves.kinds, strict=True)]
    for position, size in builder.values.items():
        handles[position] = symdim(size, builder.scope)
    inputs, builder.at_end = builder.inputs[:], []
    memory.may_write(builder, handles)
    builder.hide()
    dims = builder.dims
    bindings = lambda: [d.read or SizeBinding(d.variable, d.size) for _, d in dims.values()]
    builder.scope.name_sizes_by(lambda: size_names(bindings(), labels))
    with phase(f"tracing {name}"), collection_deferred(), activate(builder):
        args, kwargs = pytrees.unflatten(leaves.tree, handles)
        results, out_tree, raised = _run_to_its_end(
            builder, argument_containers.keeping(function, names, may_be_rows=True), name, args, kwargs
        )
        written, same = _writes(handles, inputs, results) if raised is None else ({}, ())
        ends = [*results, *written.values()]
        graph = builder.finish(ends, name, [pytrees.readable(p, names) for p in leaves.paths])
    if raised is None:
        builder.has_ended(graph)
    _LOG.debug("%s: traced %d nodes in %.1f ms", name, len(graph.nodes), 1e3 * (perf_counter() - started))
    costly = builder.scope.costly_proofs((thread_time() - worked) / (perf_counter() - started))
    if costly is not None:
        tell(f"{name}: {costly}", errors.CostlyProofWarning, user_line())
    paths = tuple(leaves.paths)
    return Trace(graph, leaves.tree, out_tree, paths, labels, leaves.order, tuple(written), same, raised=raised)


def _run_to_its_end(
    builder: Builder, function: Callable[..., Any], name: str, args, kwargs
) -> tuple[list[Any], Any, Raised | None]:
    """Return the flat results and their structure; for a call, an exception of the function in place of results."""
    try:
        return *run_traced(function, name, args, kwargs), None
    except Exception as error:
        _LOG.debug("%s: stopped by %s after %d nodes", name, type(error).__name__, len(builder.nodes))
        if builder.answer is None or isinstance(error, errors.AnyshapeError) or _hidden_error(builder) is not None:
            raise
        is_of_call = error is getattr(getattr(builder.answer, "decisions", None), "failed_by", None)
        return *pytrees.flatten(()), Raised.of(error, is_of_call)


def _writes(
    handles: Sequence[Any], inputs: Sequence[Value], results: Sequence[Any]
) -> tuple[dict[int, Any], tuple[tuple[int, int], ...]]:
    """Return the final values of the inputs that were written to, and pairs of a result and the input that it is."""
    written = memory.written_inputs(handles, inputs)
    pairs = [(j, i) for i in written for j, y in enumerate(results) if memory.is_same_view(y, handles[i])]
    return written, tuple(pairs)


def _input(builder: Builder, meta: TensorMeta, kind: type | None):
    """Add an input that stands for an array, or for a number of a kind."""
    return _standing_for(builder, builder.input(meta).value, kind)


def _standing_for(builder: Builder, value: Value, kind: type | None):
    """Return a handle of a value that stands for an array, for a number of a kind, or for a random generator."""
    if is_generator(value):
        return traced_generators.traced_generator(Traced(builder, value), kind)
    return NDArray(builder, value) if kind is None else Array(builder, value, kind is not np.generic)


def _kind(x, meta: TensorMeta) -> type | None:
    """Return the kind of number that a traced value, or a row of it, stands for, None for an array."""
    if is_generator(x.value):
        return traced_generators.generator_kind(x)
    if isinstance(x, NDArray) and meta.rank == x.meta.rank:
        return None
    return dtype_of(x) if x.weak else np.generic


def kind_of(x: Any) -> type | None:
    """Return the kind of number that a traced value stands for, None for an array."""
    return _kind(x, x.meta)


def standing_for(x: Any, kind: type | None) -> Any:
    """Return a traced value as one that stands for an array, or for a number of a kind."""
    return _standing_for(x.builder, x.value, kind)


@dataclass(frozen=True)
class InnerTrace:
    """Trace of a function on values of an enclosing graph; `captured` are further values that it reads there.

    The last outputs of the graph are final values of what the function writes to. These are `memories` of enclosing
    graphs, and inputs by their positions `written`.
    """

    graph: Graph
    out_tree: Any
    captured: tuple[Any, ...]
    aux: Any = None
    memories: tuple[memory.Memory, ...] = ()
    written: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Number of results."""
        return len(self.graph.outputs) - len(self.memories) - len(self.written)

    def written_among(self, arrays: Sequence[Any]) -> set[int]:
        """Return which of the arrays that the inputs stand for share memory with one that the function writes to."""
        return memory.with_sharers([arrays[i] for i in self.written], arrays) | {
            *memory.reached_by(self.memories, arrays)
        }

    def require_unwritten(self, arrays: Sequence[Any], name: str) -> None:
        """Raise MutationError if the function writes to an array that one of its inputs stands for, as another one."""
        if memory.reached_by(self.memories, arrays):
            problem = "the function writes to an array of its arguments by another name"
            raise errors.MutationError(f"{name}(...)", problem, "pass x.copy(), or write to the argument", user_line())

    def results(self, outputs: Sequence[Any]) -> list[Any]:
        """Return the results among the outputs, and let memory of the active trace have what was written to it."""
        memory.write_outside(self.memories, outputs[self.count : self.count + len(self.memories)])
        return [*outputs[: self.count]]


def trace_inner(
    outer: Builder, function: Callable[[list[Any]], tuple[Any, Any]], name: str, like: Sequence[Any],
    metas: Sequence[TensorMeta] | None = None, whole: bool = False, is_batched: bool = False, at_like: bool = False,
    writes: bool = False, writable: bool = False,
) -> InnerTrace:  # fmt: skip
    """Trace `function`, from flat inputs to (result, aux), in a graph inside `outer`.

    The inputs have the array types of `like`, or `metas`. With `whole`, operations on values of enclosing graphs alone
    belong to the new graph too. Traced values in `aux` are not captured: only results can be used outside. A graph that
    will be batched says so by `is_batched`. With `at_like`, the graph is used at the values of `like`, or at each row
    of them if it is batched. So Python can decide on values in it.

    With `writes`, the function may write to memory of `outer`: `InnerTrace.results` changes it. With `writable`, it may
    write to its inputs.
    """
    builder = Builder(outer.scope, parent=outer, handle=Array, whole=whole, is_batched=is_batched)
    builder.arguments = [(x.builder, x.value) for x in like] if at_like else None
    builder.takes_rows = is_batched
    metas = [x.meta for x in like] if metas is None else metas
    handles = [_input(builder, m, _kind(x, m)) for m, x in zip(metas, like, strict=True)]
    inputs, builder.at_end = builder.inputs[:], []
    if writable:
        memory.may_write(builder, handles)
    try:
        with activate(builder):
            with memory.writes_outside(allowed=writes) as finals:
                with profiles.resumed():
                    result, aux = function(handles)
                results, out_tree = run_traced(lambda: result, name, (), {})
                ends = [x.unshared() for x in results]  # the values before memory has its own again
            written = memory.written_inputs(handles, inputs)
            graph = builder.finish([*ends, *finals.values(), *written.values()], name)
    except Exception as error:
        if at_like and not is_batched and not isinstance(error, errors.AnyshapeError):  # decisions lead to it
            graph_replay.inline(outer, builder.finish([], name), [*like, *builder.captures()])
        raise
    builder.has_ended(graph)
    return InnerTrace(graph, out_tree, tuple(builder.captures()), aux, tuple(finals), tuple(written))


def active_builder() -> Builder:
    """Return the builder of the active trace; transformed functions run only inside one."""
    if (builder := active()) is None:
        raise RuntimeError("a transformed function ran outside a trace")
    return builder


def as_value(x: Any, dtype: Any = None) -> Any:
    """Return x as a value of the active trace; an array that is known while tracing becomes a constant."""
    if isinstance(x, Traced) and dtype is None:
        return x
    if has_type(x, drawing()):
        return generator_value(x)
    array = asarray(x, dtype)
    builder = home()
    if isinstance(array, Traced) or builder is None:
        return array
    value = builder.constant(array)
    return value if array.ndim or dtype is not None else _standing_for(builder, value.value, pytrees.scalar_kind(x))


def generator_value(x: Any) -> Traced:
    """Return the value of a generator that is an argument of the active trace; raise ArgumentError for another one."""
    if not isinstance(traced := getattr(x, "traced", None), Traced):
        advice = "pass it to the jitted function as an argument"
        raise errors.ArgumentError("draw", "a generator", "is not an argument of the function that is traced", advice)
    return traced


def is_inexact(dtype: np.dtype) -> bool:
    """Return True if arrays of the dtype can be differentiated."""
    return dtype.kind in "fc"


_COMPARISON = r"([^=<>!]+) (==|!=|<=|>=|<|>) ([^=<>!]+)"
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class DisplayNames(SizeNames):
    """Names of the sizes of one program in explanations.

    `labels` are the paths of the arguments by the names of parameters, `params['w']`. `solved` says how a call finds
    each variable.
    """

    def __init__(self, labels: Sequence[str], solved: Iterable[SizeBinding]) -> None:
        self.solved: dict[DimVar, SizeBinding] = {s.variable: s for s in solved}
        names = size_names(self.solved.values(), labels)
        super().__init__(names.sources, names.undeclared)

    def claim(self, claim: Claim) -> str:
        """Return the claim as it was asked, or as its two sides."""
        names = [str(v) for v in claim.variables()]
        if claim.text and len(set(names)) == len(names):
            return self.text(_plainly(claim.text))
        return f"{self.size(claim.left)} {RELATIONS.get(claim.relation, claim.relation)} {self.size(claim.right)}"

    def negated(self, claim: Claim) -> str:
        """Return the claim that holds exactly where this one does not."""
        return _plainly(f"not ({self.claim(claim)})")

    def values(self, variables: Iterable[DimVar], sizes: Mapping[DimVar, int]) -> str:
        """Return the sizes as `x.shape[0] = 7, k = 2`."""
        return ", ".join(f"{self.leaf(v)} = {sizes[v]}" for v in variables)


def _plainly(text: str) -> str:
    """Return `not (a > b)` as `a <= b`."""
    if not (text.startswith("not (") and text.endswith(")")):
        return text
    inside = text[5:-1]
    if (comparison := re.fullmatch(_COMPARISON, inside)) is not None:
        left, symbol, right = comparison.groups()
        return f"{left} {_OPPOSITE[symbol]} {right}"
    return inside[5:-1] if inside.startswith("not (") else text


# -- structures --------------------------------------------------------------------------------------------------


def show_tree(tree: Any, leaves: Iterator[str] | None = None) -> str:
    """Return a structure as Python writes it, with these texts or * for leaves: `{'w': *, 'b': (*, *)}`."""
    if tree.is_leaf():
        return "*" if leaves is None else next(leaves)
    parts = [show_tree(child, leaves) for child in tree.children()]
    if tree.type is type(None):
        return "None"
    if tree.type is pytrees.Static:
        return repr(pytrees.unflatten(tree, []).value)
    if tree.type is pytrees.Setting:
        return pytrees.shown(pytrees.unflatten(tree, []))
    return _show_node(pytrees.class_of(tree), tree.entries(), parts)


def _show_node(kind: type, entries: Sequence[Any], parts: Sequence[str]) -> str:
    """Return a node of a pytree as Python writes it, with these texts for its children."""
    if kind in (tuple, list):
        opening, closing = ("(", ",)" if len(parts) == 1 else ")") if kind is tuple else "[]"
        return f"{opening}{', '.join(parts)}{closing}"
    if issubclass(kind, dict):
        inside = ", ".join([f"{key!r}: {part}" for key, part in zip(entries, parts, strict=True)])
        return f"{{{inside}}}" if kind is dict else f"{kind.__name__}({{{inside}}})"
    labels = [f"{e}=" if isinstance(e, str) else "" for e in getattr(kind, "_fields", None) or entries]
    return f"{kind.__name__}({', '.join(map(operator.add, labels, parts))})"


def show_order(before: Any, now: Any) -> tuple[str, str]:
    """Return the keys of two nodes that differ in their order."""
    return ", ".join(map(repr, before.entries())), ", ".join(map(repr, now.entries()))


def show_call(tree: Any, names: Sequence[str], static: Mapping[int | str, Any]) -> str:
    """Return the arguments of a call: `(x, {'w': *}, k=3)`."""
    args, kwargs = tree.children()
    parts = []
    for i, child in enumerate(args.children()):
        name = names[i] if i < len(names) else f"args[{i}]"
        parts.append(
            f"{name}={pytrees.shown(static[i])}" if i in static else name if child.is_leaf() else show_tree(child)
        )
    for name, child in zip(kwargs.entries(), kwargs.children(), strict=True):
        value = pytrees.shown(static[name]) if name in static else name if child.is_leaf() else show_tree(child)
        parts.append(f"{name}={value}")
    return f"({', '.join(parts)})"


def tree_difference(before: Any, now: Any, names: Sequence[str]) -> tuple[str, Any, Any]:
    """Return the path and both versions of the first subtree in which the arguments of two calls differ.

    The path is empty where the arguments differ as a whole.
    """
    path, depth, whole = "", 0, (before, now)
    while (difference := _differing_child(before, now)) is not None:
        entry, kind = difference[0], before.type
        if depth == 1:
            path = entry if isinstance(entry, str) else names[entry] if entry < len(names) else f"args[{entry}]"
        elif depth > 1:
            fields = getattr(kind, "_fields", None)
            name = entry if kind is pytrees.Fields else fields[entry] if fields else None
            path += f"[{entry!r}]" if name is None else f".{name}"
        _, before, now = difference
        depth += 1
    return (path, before, now) if depth > 1 else ("", *whole)


def _differing_child(before, now) -> tuple[Any, Any, Any] | None:
    """Return entry and both versions of the first child that differs, None where the nodes themselves differ."""
    if before.is_leaf() or now.is_leaf() or before.one_level() != now.one_level():
        return None
    pairs = zip(before.entries(), before.children(), now.children(), strict=True)
    return next(((entry, a, b) for entry, a, b in pairs if a != b), None)
