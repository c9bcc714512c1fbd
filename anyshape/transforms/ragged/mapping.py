"""Map a function of one example over a batch of examples whose sizes differ, as one program for all sizes.

The function is traced once, for an example whose ragged axes have sizes of their own. The program runs it for each
example, on its rows of the arrays that hold all of them.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import optree

import anyshape.numpy as anp
from anyshape import errors
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.ops import loops as lp
from anyshape.ops.control import name_sizes
from anyshape.program.pytree_codegen import PARTS
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import argument_containers
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.captured.code_origin import code_of
from anyshape.tracing.source import read as source
from anyshape.tracing.trace import active_builder, as_value, standing_for
from anyshape.transforms.arguments.options import refuse_arrays
from anyshape.transforms.control_flow.kept_choices import Frame
from anyshape.transforms.control_flow.loop_tracing import CarryLoop
from anyshape.transforms.control_flow.pieces import Pieces, RaggedResults
from anyshape.transforms.jit import jit, jit_transform
from anyshape.transforms.linear_map import share_programs
from anyshape.transforms.ragged import layouts
from anyshape.transforms.ragged.values import Ragged, are_alike, joined_batch, made, names_of_parts, of_other_library

Function = Callable[..., Any]


@short_traceback
def ragged_map(function: Function, in_axes: Any = 0, out_axes: Any = 0, layout: str = "auto") -> Function:
    """Return `function` mapped over examples whose sizes differ.

    One program serves any number of examples and any sizes. It is differentiated as any other.

    Args:
        function: function of one example.
        in_axes: for each argument 0, or None for one that all examples share; a tree of these for a tree. What
            is mapped is a list of arrays or of trees of them, a `Ragged`, or an array whose first axis counts the
            examples. Batches of torch and awkward, and groups of pandas and polars, are lists.
        out_axes: axis of the examples in results that are arrays, or a tree of these.
        layout: "loop" over the examples, "flat" for operations on all rows, which lie end to end, or "padded" for
            examples as long as the longest. "auto" takes the loop where it is machine code, and else
            what is faster by the sizes of a call. What has no such form runs in the loop; `explain` names it.

    Returns:
        A function of the batches. Results are arrays where all examples have results of one shape, and else `Ragged`.

    Raises:
        ArgumentError: if arguments have different numbers of examples, or a list holds arrays of different kinds.

    >>> import numpy as np
    >>> from anyshape import grad, ragged_map
    >>> def pooled(w, x):
    ...     scores = np.exp(x @ w)
    ...     return scores @ x / scores.sum()
    >>> batch = [np.ones((2, 3)), np.zeros((5, 3))]
    >>> each = ragged_map(pooled, in_axes=(None, 0))
    >>> each(np.zeros(3), batch).tolist()
    [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    >>> [len(y) for y in ragged_map(np.unique)([np.array([1, 1]), np.array([3, 2, 3])])]
    [1, 2]
    """
    name = f"ragged_map({pytrees.function_name(function)})"
    pytrees.check_callable("ragged_map", function)
    layouts.checked(name, layout)
    refuse_arrays(name, in_axes)
    known: dict[str, _Kind] = {}
    apart, paths = _Apart(function, in_axes, out_axes, layout), _paths_of(function)

    def transformed(*args, **kwargs):
        return _mapped(function, name, in_axes, out_axes, layout, args, kwargs)

    recipe = (ragged_map, function, in_axes, out_axes, layout)
    jitted = jit_transform(transformed, name, function, recipe)
    share_programs(jitted, function, *recipe[:1], *recipe[2:])

    @short_traceback
    @functools.wraps(function)
    def mapped(*args, **kwargs):
        batches = Batches(name, known)
        axes = _axes_of(in_axes, args, name)
        args = tuple([_walk(x, a, batches.member, p) for x, a, p in zip(args, axes, paths(len(args)))])
        kwargs = {key: _walk(x, 0, batches.member, key) for key, x in kwargs.items()}
        batches.require_one_count()
        if not batches.is_concrete:
            return jitted(*args, **kwargs)
        result = apart(args, kwargs) if apart.is_needed else _served(jitted, apart, args, kwargs)
        return as_arrays(result)

    mapped.in_axes = in_axes  # type: ignore[attr-defined]
    mapped.cache_info, mapped.explain = jitted.cache_info, jitted.explain  # type: ignore[attr-defined]
    return mapped


# -- arguments ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kind:
    """Facts about the examples of a list: their dtype, the number of ragged axes, and the other sizes."""

    dtype: np.dtype
    ragged_axes: int
    rest: tuple[int, ...]


class Member:
    """Batch among arguments. Batches with the same sizes are a group, whose first one holds these."""

    __slots__ = ("flat", "group", "sizes")

    def __init__(self, flat: Any, sizes: tuple[Any, ...] | None, group: int) -> None:
        self.flat, self.sizes, self.group = flat, sizes, group


pytrees.register_class(
    Member,
    lambda m: (
        (m.flat, *(m.sizes or ())),
        (m.group, m.sizes is None),
        names_of_parts(len(m.sizes)) if m.sizes else ("flat",),
    ),
    lambda rest, parts: Member(parts[0], None if rest[1] else tuple(parts[1:]), rest[0]),
    optree.GetAttrEntry,
)
PARTS[Member] = "{0}.flat, *({0}.sizes or ())", "({0}.group, {0}.sizes is None)"


def _paths_of(function: Function) -> Callable[[int], list[str]]:
    """Return what gives the names of so many arguments by position."""
    known: dict[int, list[str]] = {}  # which pickles with what it is part of

    def paths(count: int) -> list[str]:
        if count not in known:
            names = pytrees.parameter_names(function)
            known[count] = [pytrees.named(f"args[{i}]", names) for i in range(count)]
        return known[count]

    return paths


class Batches:
    """Batches among the arguments of a call, in groups with the same lengths."""

    def __init__(self, name: str, known: dict[str, _Kind]) -> None:
        self.name, self.known = name, known
        self.sizes: list[tuple[Any, ...]] = []
        self.counts: list[tuple[str, Any]] = []  # numbers of examples, by path
        self.is_concrete = active() is None

    def member(self, x: Any, axis: int, path: str) -> Any:
        """Return a mapped argument with the lengths of its group; arrays stay as they are."""
        if not has_type(axis, (int, np.integer)) or (axis and (type(x) is list or isinstance(x, Ragged))):
            advice = "give 0 for a batch, or None for what all examples share"
            raise errors.ArgumentError(self.name, "in_axes", f"is {axis!r:.50} for {path}", advice)
        if type(x) is list and x and isinstance(x[0], (dict, tuple, list)):
            return self._columns(x, path)
        batch = self._batch(x, path)
        if isinstance(batch, Ragged):
            self.counts.append((path, batch.sizes[0].shape[0]))
            return self._member(batch)
        batch = batch if axis == 0 else anp.moveaxis(batch, axis, 0)
        self.counts += [(path, n) for n in np.shape(batch)[:1]]
        return batch

    def _member(self, batch: Ragged) -> Member:
        for group, sizes in enumerate(self.sizes):
            if are_alike(sizes, batch.sizes):
                return Member(batch.flat, None, group)
        self.sizes.append(batch.sizes)
        return Member(batch.flat, batch.sizes, len(self.sizes) - 1)

    def require_one_count(self) -> None:
        """Raise ArgumentError for batches with different numbers of examples."""
        if not self.is_concrete or len(self.counts) < 2:
            return
        first, number = self.counts[0]
        for path, count in self.counts:
            if count != number:
                problem = f"has {count} examples, and {first} has {number}"
                advice = "give batches of as many examples, and None in in_axes for what all share"
                raise errors.ArgumentError(self.name, path, problem, advice)

    def _columns(self, examples: Sequence[Any], path: str) -> Any:
        """Return a tree of batches for a list of trees."""
        trees = [pytrees.flatten(one) for one in examples]
        is_of_numbers = not any(np.ndim(leaf) for leaf in trees[0][0])
        advice = "give all examples one structure; arrays whose number differs fit in a list of arrays of rows"
        advice = "give arrays, as np.array(x) of each example" if is_of_numbers else advice
        _require_one_structure(self.name, [tree for _, tree in trees], path, advice)
        columns = [[*column] for column in zip(*[leaves for leaves, _ in trees], strict=True)]
        members = [self.member(column, 0, f"{path}[:][{k}]") for k, column in enumerate(columns)]
        return pytrees.unflatten(trees[0][1], members)

    def _batch(self, x: Any, path: str) -> Any:
        x = of_other_library(x)
        if has_type(x, np.ndarray) and x.dtype.hasobject:
            raise errors.ArgumentError(
                self.name, path, "has dtype object", "pass a list of arrays of numbers, as list(x)"
            )
        if type(x) is not list:
            return x
        known = self.known.get(path)
        if not x and known is not None:
            return made(np.zeros((0, *known.rest), known.dtype), [np.zeros(0, np.int64)] * known.ragged_axes)
        if x and not any(map(np.ndim, x)):
            return anp.array(x)
        batch = joined_batch(self.name, path, x, 1 if known is None else known.ragged_axes)
        rest = [n if has_type(n, int) else 0 for n in batch.flat.shape[1:]]
        self.known[path] = _Kind(batch.dtype, len(batch.sizes), tuple(rest))
        return batch


def _axes_of(in_axes: Any, args: Sequence[Any], name: str) -> Sequence[Any]:
    """Return an entry of `in_axes` for each argument by position."""
    if not isinstance(in_axes, (tuple, list)):
        return [in_axes] * len(args)
    if len(in_axes) != len(args):
        advice = "give one entry for each argument, None for one that all examples share"
        raise errors.ArgumentError(name, "in_axes", f"has {len(in_axes)} entries for {len(args)} arguments", advice)
    return in_axes


def _walk(x: Any, axis: Any, visit: Callable[[Any, int, str], Any], path: str = "") -> Any:
    """Return a tree with what `visit` gives for each mapped part: a batch, a list or an array."""
    if axis is None:
        return x
    if isinstance(x, (Ragged, Member, _Slot)) or _lists_examples(x, axis):
        return visit(x, axis, path)
    if isinstance(x, dict):
        return type(x)({k: _walk(v, _entry(axis, k), visit, f"{path}[{k!r}]") for k, v in x.items()})
    if isinstance(x, (tuple, list)):
        items = [_walk(v, _entry(axis, k), visit, f"{path}[{k}]") for k, v in enumerate(x)]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    leaves, tree = pytrees.flatten(x)
    return pytrees.unflatten(tree, [visit(leaf, axis, path) for leaf in leaves])


def _entry(axis: Any, key: Any) -> Any:
    return axis[key] if isinstance(axis, (dict, tuple, list)) else axis


def _lists_examples(x: Any, axis: Any) -> bool:
    """Return whether a value is a list of examples, and no tree in which examples have been read already."""
    if type(x) is not list or isinstance(axis, (tuple, list)):
        return False
    while isinstance(x, (list, tuple, dict)) and x:
        x = next(iter(x.values() if isinstance(x, dict) else x))
    return not isinstance(x, (Member, _Slot))


def as_arrays(result: Any) -> Any:
    """Return a tree with arrays in place of the batches whose examples have one shape."""
    if type(result) is np.ndarray:  # the usual case
        return result
    return optree.tree_map(_as_array, result, is_leaf=_is_batch, namespace=pytrees.NAMESPACE)


def _is_batch(x: Any) -> bool:
    return isinstance(x, Ragged)


def _as_array(y: Any) -> Any:
    if not isinstance(y, Ragged) or isinstance(y.flat, Traced) or not len(y):
        return y
    if isinstance(y.flat, Ragged):
        return [as_arrays(made(flat, sizes)) for flat, *sizes in zip(y.flat, *y.sizes, strict=True)]
    if any((n != n[0]).any() for n in y.sizes):
        return y
    return y.flat.reshape((len(y), *[n[0] for n in y.sizes], *y.flat.shape[1:]))


def _served(jitted: Function, apart: _Apart, args: Any, kwargs: Any) -> Any:
    """Return the result of the program of all examples, or of each one alone where the function needs its sizes."""
    try:
        return jitted(*args, **kwargs)
    except (
        errors.InconclusiveDimensionError,
        errors.ConcretizationError,
        errors.SymbolicIterationError,
        errors.UnsupportedDynamicShapeError,
    ):
        result = apart(args, kwargs)
        apart.is_needed = True
        return result
    except Exception as error:
        if (example := _example_of(error)) is not None:
            _locate(error, example, *apart.shapes(args, kwargs, example))
        if example is not None or apart.layout == "loop" or not isinstance(error, _OF_EXAMPLES):
            raise
    looped = ragged_map(apart.mapped, apart.in_axes, apart.out_axes, "loop")
    return looped(*args, **kwargs)  # its error names the example


_OF_EXAMPLES = (errors.CheckError, errors.ShapeError, errors.SizeMismatchError, IndexError, np.linalg.LinAlgError)


def _example_of(error: Exception) -> int | None:
    """Return the number of the example that ended a run, None if that is not known."""
    if isinstance(error, errors.AnyshapeError):
        return error.trips[-1] if error.trips and has_type(error.trips[-1], int) else None
    trips = [match[1] for note in getattr(error, "__notes__", ()) if (match := _OUTER_TRIP.search(note))]
    return int(trips[-1]) if trips else None


_OUTER_TRIP = re.compile(r"trip (\d+) in an anyshape program$")


def _locate(error: Exception, example: int, shapes: str, advice: str) -> None:
    """Let an error name an example and its shapes."""
    if isinstance(error, errors.AnyshapeError):
        error.locate_in_example(example, shapes, advice if isinstance(error, errors.SizeMismatchError) else "")
    else:
        error.add_note(f"in example {example}, where {shapes}")


class _Apart:
    """Calls of a function with each example alone: where Python decides on its sizes, each outcome has a program."""

    def __init__(self, function: Function, in_axes: Any, out_axes: Any, layout: str) -> None:
        self.function, self.in_axes, self.out_axes, self.layout = jit(function), in_axes, out_axes, layout
        self.mapped = function
        self.is_needed = False

    def shapes(self, args: Sequence[Any], kwargs: dict[str, Any], example: int) -> tuple[str, str]:
        """Return the shapes of the arguments of an example, as errors show them.

        Where all others have another size, it follows, and what to do about it.
        """
        sizes, texts, advice = list[Any](), list[str](), [""]

        def visit(x: Any, axis: int, path: str) -> Any:
            if isinstance(x, Member) and x.sizes is not None:
                sizes.append(x.sizes)
            rows = [int(n[example]) for n in sizes[x.group]] if isinstance(x, Member) else []
            rest = x.flat.shape[1:] if isinstance(x, Member) else np.shape(x)[1:]
            texts.append(f"{path}.shape is {(*rows, *rest)}")
            for k, n in enumerate(sizes[x.group][1:] if isinstance(x, Member) else (), 1):
                others = {*np.delete(n, example).tolist()}
                if len(others - {rows[k]}) == len(others) == 1:
                    texts[-1] += f", others have {others.pop()} for {path}.shape[{k}]"
                    advice[0] = f"give example {example} the size that others have"
            return x

        axes = _axes_of(self.in_axes, args, "ragged_map")
        for x, axis, path in zip(args, axes, _paths_of(self.mapped)(len(args)), strict=True):
            _walk(x, axis, visit, path)
        for key, x in kwargs.items():
            _walk(x, 0, visit, key)
        return " and ".join(texts), advice[0]

    def __call__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        results = []
        for i, (one, named) in enumerate(self._examples(args, kwargs)):
            try:
                results.append(pytrees.flatten(self.function(*one, **named)))
            except Exception as error:
                _locate(error, i, *self.shapes(args, kwargs, i))
                raise
        if not results:
            advice = "give at least one example, which says what a result is"
            raise errors.ArgumentError("ragged_map", "the batch", "has no examples", advice)
        advice = "give results of one structure for all examples"
        _require_one_structure("ragged_map", [tree for _, tree in results], "the results", advice)
        columns = zip(*[leaves for leaves, _ in results], strict=True)
        leaves, tree = results[0]
        axes = pytrees.flatten_prefix(self.out_axes, pytrees.unflatten(tree, leaves), "ragged_map", "out_axes")
        return pytrees.unflatten(tree, [*map(self._together, columns, axes)])

    def _examples(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
        """Yield the arguments of each example."""
        axes = _axes_of(self.in_axes, args, "ragged_map")
        batches: list[Any] = []
        sizes: list[Any] = []

        def note(x: Any, axis: int, path: str) -> _Slot:
            if isinstance(x, Member):
                if x.sizes is not None:
                    sizes.append(x.sizes)
                x = made(x.flat, sizes[x.group])
            batches.append(x)
            return _Slot(len(batches) - 1)

        slots = [_walk(x, a, note) for x, a in zip(args, axes, strict=True)]
        named = {key: _walk(x, 0, note) for key, x in kwargs.items()}
        for i in range(len(batches[0])):
            put = lambda x, axis, path, i=i: batches[x.index][i] if isinstance(x, _Slot) else x
            one = [x if a is None else _walk(x, 0, put) for x, a in zip(slots, axes, strict=True)]
            yield one, {key: _walk(x, 0, put) for key, x in named.items()}

    def _together(self, column: Sequence[Any], axis: int) -> Any:
        if len({np.shape(y) for y in column}) == 1:
            return np.stack(column, axis)
        return joined_batch("ragged_map", "the results", list(column), 1)


# -- the loop ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Slot:
    """Stands for a mapped argument of one example."""

    index: int


class _Examples:
    """Mapped arguments of a call in a trace, as operands of a loop over the examples."""

    def __init__(self, name: str) -> None:
        self.name, self.pieces = name, Pieces()
        self.stacks: list[Any] = []  # arrays with an element for each example
        self.slots: list[tuple[str, int]] = []  # "element" or "piece", and the position among these

    def slot(self, x: Any, axis: int, path: str) -> _Slot:
        """Return the place of an argument among the operands."""
        if isinstance(x, Member):
            if x.sizes is not None:
                self.pieces.add_sizes(x.sizes)
            self.slots.append(("piece", len(self.pieces.flats)))
            self.pieces.add(x.flat, x.group, path)
        else:
            value = name_sizes(as_value(x))
            if not value.meta.rank:
                advice = "give it None in in_axes: all examples share it"
                raise errors.ArgumentError(
                    self.name, path or "the argument", "is a number, which has no examples", advice
                )
            self.slots.append(("element", len(self.stacks)))
            self.stacks.append(value)
        return _Slot(len(self.slots) - 1)

    def count(self) -> Size:
        """Return the number of examples, which all arguments share."""
        arrays = [*self.stacks, *itertools.chain(*self.pieces.sizes)]
        counts = [x.meta.extents[0].size for x in arrays]
        if not counts:
            raise errors.ArgumentError(self.name, "in_axes", "maps no argument", "map at least one argument")
        context = ShapeGuardContext(active_builder().scope, self.name, user_line(), [x.meta for x in arrays])
        for other in counts[1:]:
            context.require_equal(counts[0], other, f"arguments have {counts[0]} and {other} examples")
        return counts[0]

    def own(self) -> list[TensorMeta]:
        """Return the types of what each trip reads: elements, sizes of ragged axes, and rows."""
        return [*[TensorMeta(x.dtype, x.meta.extents[1:]) for x in self.stacks], *self.pieces.types()]

    def of_one(self, tree: Any, own: Sequence[Any]) -> Any:
        """Return the arguments of one example."""
        pieces = self.pieces.examples(own[len(self.stacks) :])

        def put(slot: Any, axis: int, path: str) -> Any:
            if not isinstance(slot, _Slot):  # that all examples share
                return slot
            kind, i = self.slots[slot.index]
            return pieces[i] if kind == "piece" else standing_for(own[i], None if own[i].meta.rank else np.generic)

        return _walk(tree, 0, put)


def _is_result(y: Any) -> Any:
    if pytrees.is_array(y):
        return y
    advice = "return arrays, numbers, or trees of them"
    raise errors.ArgumentError("ragged_map", "the result", f"is of type {type(y).__name__}, not an array", advice)


@contextlib.contextmanager
def _as_body(function: Function) -> Iterator[None]:
    """Make choices and loops of the function part of the program, as those in a loop are."""
    session, code = source.session(), code_of(function)
    if session is None or code is None or code in session.refused:
        yield
        return
    session.frames.append(Frame(code, ()))
    try:
        yield
    finally:
        session.frames.pop()


def _mapped(function: Function, name: str, in_axes: Any, out_axes: Any, chosen: str, args: Any, kwargs: Any) -> Any:
    examples = _Examples(name)
    axes = _axes_of(in_axes, args, name)
    paths = _paths_of(function)(len(args))
    args = tuple([_walk(x, a, examples.slot, path) for x, a, path in zip(args, axes, paths, strict=True)])
    kwargs = {key: _walk(x, 0, examples.slot, key) for key, x in kwargs.items()}
    length, latest = examples.count(), list[Any]()
    loop = CarryLoop(name, "f", function, ())

    def step(carry: Any, own: Sequence[Any]) -> tuple[Any, Any]:
        one = tuple([x if a is None else examples.of_one(x, own) for x, a in zip(args, axes, strict=True)])
        named = {key: examples.of_one(x, own) for key, x in kwargs.items()}
        with _as_body(function):
            leaves, tree = pytrees.flatten(argument_containers.keeping(function)(*one, **named))
            results = RaggedResults([*map(_is_result, leaves)])
        latest[:] = [results, tree]
        loop.joined = len(results.joined)
        return carry, (results.stacked, results.joined)

    (body,), further = loop.trace(step, examples.own())
    results, tree = latest
    pieces, lengths = examples.pieces.operands()
    operands = [*examples.stacks, *pieces]
    layout = lp.Layout(len(loop.carries), len(operands) - len(lengths), len(lengths))
    operands = [*loop.carries, *operands, *further, *lengths]
    one = layouts.Example(name, body, layout, length, len(results.joined))
    made_by_trips = layouts.of_all(one, chosen, [*map(as_value, operands)])
    loop.results(made_by_trips)
    together = results.of_all(*loop.stacked(made_by_trips))
    axes = pytrees.flatten_prefix(out_axes, pytrees.unflatten(tree, [y for y, _ in together]), name, "out_axes")
    return pytrees.unflatten(tree, [_of_examples(y, n, axis) for (y, n), axis in zip(together, axes, strict=True)])


def _require_one_structure(name: str, trees: Sequence[Any], path: str, advice: str) -> None:
    """Raise ArgumentError for examples whose trees differ."""
    other = next((i for i, tree in enumerate(trees) if tree != trees[0]), None)
    if other is not None:
        raise errors.ArgumentError(name, f"example {other} of {path}", "has another structure than example 0", advice)


def _of_examples(y: Any, sizes: Sequence[Any], axis: int) -> Any:
    return made(y, sizes) if sizes else anp.moveaxis(y, 0, axis) if axis else y
