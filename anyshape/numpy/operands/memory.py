"""Keep what arrays of a program share: views see what is written to their base, and write through to it.

A program has values and no memory. So a write makes a new value of the base, from the old one and the part that is
written. Arrays that share the memory read their values again at their next use. Functions whose results NumPy copies
give arrays with memory of their own, also where a program has the same value.

Orders "A" and "K" of arguments and of views of them: how elements lie in memory, which a program then relies on.

Results of computations have no layout that a program knows.
"""

import contextlib
import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, MutationError, messages
from anyshape.graph.ir.builder import Builder, Reader, Traced, Writer, active, user_line
from anyshape.graph.ir.graph import Value
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.numpy.operands.concrete import become_traced, is_involved
from anyshape.numpy.operands.promotion import as_traced, asarray, sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type

F = TypeVar("F", bound=Callable[..., Any])
_CLASS: Any = object.__dict__["__class__"]  # arrays answer `__class__` with the class that they stand for


_REARRANGED = ("reshape", "transpose", "rev")  # views of all elements of their base
_OUTSIDE = {"input": "an argument", "constant": "an array that was made outside of the traced function"}


class View(NamedTuple):
    """Step from an array to a view of it.

    - `read(base)` gives the view, and `write(base, part)` the base with another part; without it the view is read-only.
    - `key` is equal for equal views of one array.
    - `certain`: NumPy makes no copy here, whatever the strides of the base.
    - `copied` is the value that the copy has, where NumPy may make one.
    """

    read: Reader
    write: Writer | None
    key: Any
    certain: bool
    copied: Any = None


class Memory:
    """Elements that arrays share.

    - `current` is their value as a whole, as a handle that shares nothing.
    - `owner` is the trace that made them; no other trace writes to them.
    - `outside` says where else they are read: "an argument", "a constant" or nowhere.
    - `is_contiguous`: they are in C order. If that is not known, `argument` is the input whose array can tell.
    - `arrays` are the arrays that share them.
    - `lent` says why they cannot be read or written to now, "" if they can; an exception is raised as it is.
    - `frozen` is the exception that a write raises, None if they can be written to.
    """

    __slots__ = ("argument", "arrays", "current", "frozen", "is_contiguous", "lent", "outside", "owner")

    def __init__(self, array: Any, outside: str = "", is_contiguous: bool = False, argument: Any = None) -> None:
        self.current: Any = array.unshared()
        self.owner: Builder | None = array.owner
        self.outside: str = outside
        self.lent: str | BaseException = ""
        self.frozen: BaseException | None = None
        self.argument: Any = argument
        self.is_contiguous = is_contiguous or array.meta.rank <= (0 if argument is not None else 1)
        self.arrays = [weakref.ref(array)]

    def set(self, value: Any) -> None:
        """Let the elements have other values, which all arrays that share them read at their next use."""
        self.current = value
        self.arrays = [ref for ref in self.arrays if _outdate(ref())]


def memory_of(x: Any) -> Memory:
    """Return the memory of an array, made if nobody has asked for it before."""
    if x.memory is None:
        is_argument = any(x is handle for handle in x.builder.writable)
        x.memory = Memory(x, "" if is_argument else _outside(x), argument=x.value if is_argument else None)
    memory: Memory = x.memory
    return memory


def _outside(x) -> str:
    """Return what an array that is not a copy stands for outside of the program, "" if it is made there."""
    return _OUTSIDE.get(x.builder.roots.get(x.value, ""), "")


def is_of_caller(memory: Memory) -> bool:
    """Return whether an array outside of the program has this memory: a copy of an argument has memory of its own."""
    return bool(memory.outside) or any(memory is x.memory for x in memory.current.builder.writable)


def share(x: Any, base: Any, view: View) -> None:
    """Make x a view of an array."""
    memory = memory_of(base)
    if not view.certain:
        view = view._replace(copied=x.unshared())
    x.memory, x.views = memory, (*base.views, view)
    memory.arrays.append(weakref.ref(x))


def _keeps_order(view: View) -> bool:
    """Return whether the elements of a view of contiguous memory stand beside each other, in C order."""
    kind, *rest = view.key
    return kind in ("reshape", "ravel", "contiguous") or (kind == "slice" and tuple(rest[2]) == (1,))


def _uncertain(x) -> int | None:
    """Return the first step to an array where NumPy may copy, None if there is none.

    A reshape of memory in C order is a view, as is the whole of it in C order.
    """
    keeps_order = x.memory.is_contiguous
    for i, view in enumerate(x.views):
        if not view.certain and not (keeps_order and _keeps_order(view)):
            return i
        keeps_order = keeps_order and _keeps_order(view)
    return None


def _settle(x, asked: str) -> None:
    """Find out where an array has its elements: it is a view of its base or a copy, by the layout of an argument.

    MutationError refuses an array for which that is not known.
    """
    i, memory = _uncertain(x), x.memory
    in_c = None if i is None or memory.argument is None else _asked(memory.owner, memory.argument, "C")
    if in_c is not None:
        memory.is_contiguous = memory.is_contiguous or in_c
        if i == 0 and not memory.is_contiguous and x.views[0].key[0] in ("ravel", "contiguous"):
            _part(memory, x.views[0])
            return _settle(x, asked)
        i = _uncertain(x)
    if i is not None:
        raise _unknown_layout(asked)


def _part(memory: Memory, copy: View) -> None:
    """Give the arrays behind a step that NumPy copies memory of their own."""
    arrays = [x for x in (ref() for ref in memory.arrays) if x is not None]
    own = Memory(copy.copied, is_contiguous=True)
    for x in arrays:
        if x.memory is memory and x.views and x.views[0] is copy:
            x.memory, x.views = own, x.views[1:]
            own.arrays.append(weakref.ref(x))
    memory.arrays = [weakref.ref(x) for x in arrays if x.memory is memory]


def adopt(x: Any, memory: Memory, views: tuple[View, ...], kind: type) -> None:
    """Let a handle of no value yet share a memory, as an outdated array of class `kind`."""
    x.memory, x.views, x.owner, x.weak, x.exact = memory, views, memory.owner, False, None
    memory.arrays.append(weakref.ref(x))
    _CLASS.__set__(x, kind)


def become_view(x: Any, view: Any) -> None:
    """Let an array be the same elements as a view of it."""
    if view is not x:
        x.memory, x.views, x.exact = memory_of(view), view.views, None
        restore(x, view, type(x).present)


def alias(x: Any, other: Any) -> Any:
    """Return x as another handle of the elements of `other`."""
    if other.memory is not None or other.meta.rank:
        x.memory, x.views = memory_of(other), other.views
        x.memory.arrays.append(weakref.ref(x))
    return x


def shares(x: Any, y: Any) -> bool:
    """Return whether two arrays are known to have one memory."""
    return x.memory is not None and x.memory is y.memory


def is_same_view(x: Any, y: Any) -> bool:
    """Return whether two arrays are the same elements of one memory."""
    if x is y:
        return True
    keys = [[view.key for view in array.views] for array in (x, y)]
    return shares(x, y) and keys[0] == keys[1]


def current_value(x: Any) -> Any:
    """Return a plain handle of the present value of an array whose memory was written to.

    The array keeps it, unless it is read in a trace that takes all operations: there the value is not everyone's.
    """
    memory = x.memory
    if isinstance(memory.lent, BaseException):
        raise memory.lent
    if memory.lent:
        raise MutationError("x", memory.lent, "read the argument of the function instead", user_line())
    _settle(x, "read of a reshaped array")
    value = x.memory.current
    for view in x.views:
        value = view.read(value)
    return value.unshared()


def refresh(x: Any, kind: type) -> Any:
    """Return the present value of an outdated array, and let the array have it again as one of class `kind`."""
    value = current_value(x)
    if value.builder is x.memory.current.builder:
        restore(x, value, kind)
    return value


def restore(x: Any, value: Any, kind: type) -> None:
    """Let an array have this value."""
    _CLASS.__set__(x, kind)
    x.builder, x.value = value.builder, value.value


def write(x: Any, part: Any, asked: str, added: Any = None) -> None:
    """Write a part of the shape and dtype of x to the elements of x, and let all who share them know.

    `added` is what the part has more than the elements, if it is a sum with them: its derivative needs no old value.
    MutationError refuses memory that is not this trace's: arguments, constants and arrays of outer functions.
    """
    _check_writable(memory_of(x), x.views, asked)
    _settle(x, asked)
    memory = x.memory
    part = part.unshared()  # which may be a view of the memory: it is read before the write
    bases = [memory.current]
    for view in x.views:
        bases.append(view.read(bases[-1]))
    new = part
    for view, base in zip(reversed(x.views), reversed(bases[:-1]), strict=True):
        if added is not None and view.key[0] == "slice":
            _, starts, _, steps = view.key
            new, added = mv.slice_add(base, added, starts, steps), None
            continue
        added = view.write(base, added) if added is not None and view.key[0] in _REARRANGED else None
        new = view.write(base, new)
    _note(memory)
    memory.set(new.unshared())
    if x.is_array:
        restore(x, part, type(x).present)


def _outdate(x) -> bool:
    """Mark an array as outdated; return False if it is gone. A scalar keeps its value, as a copy would."""
    if x is not None and x.is_array:
        _CLASS.__set__(x, type(x).outdated)
    return x is not None


def _check_writable(memory: Memory, views: tuple[View, ...], asked: str) -> None:
    """Refuse writes to memory that is not this trace's, and through views that NumPy does not write through."""
    if memory.frozen is not None:
        raise memory.frozen
    problem = f"the array is {memory.outside}" if memory.outside else _problem_between(memory.owner)
    if not problem and any(view.write is None for view in views):
        problem = "the array is read-only, as in NumPy"
    if problem:
        raise MutationError(asked, problem, "write {x} = {x}.copy() before", user_line())


def may_be_written(memory: Memory) -> bool:
    """Return whether the active trace may write to memory, which is not that of a trace that ended."""
    is_open = memory.owner is None or not memory.owner.closed
    return is_open and not memory.outside and not _problem_between(memory.owner)


def _problem_between(owner: Builder | None) -> str:
    """Return why the active trace may not write to memory of a trace around it, "" if it may."""
    builder = active()
    while builder is not owner:
        if builder is None or builder.writes is None:
            is_batched = builder is not None and builder.takes_rows
            return "the examples of vmap share the array" if is_batched else _AROUND
        builder = builder.parent
    return ""


_AROUND = "the array belongs to a function around the transformed one"


def _unknown_layout(asked: str) -> MutationError:
    problem = "whether a reshape shares memory depends on the layout of the array, which a program does not know"
    return MutationError(asked, problem, "write {x}.reshape(shape).copy(), or copy the array before", user_line())


def assigned(x: Any, value: Any, name: str) -> Any:
    """Return a value in the dtype of x and broadcast to its shape, for a write of all of x by `same_kind` casting."""
    if not np.can_cast(value.dtype, x.dtype, "same_kind"):
        why = f"cannot cast the result from {value.dtype} to {x.dtype} in place"
        where = user_line()
        target = messages.in_place(name, where)[1]
        advice = f"convert the array before, {target} = {target}.astype(np.{value.dtype}), or the result"
        raise DTypeError(name, why, advice, where)
    return in_shape_of(x, ew.convert(value, x.dtype), name)


def in_shape_of(x: Any, value: Any, name: str) -> Any:
    """Return a value broadcast to the shape of x, which must not grow."""
    ctx = context_of(name, x, value)
    shape = sizes(x)
    while value.meta.rank > len(shape) and sizes(value)[0] == 1:
        value = mv.drop(value, (0,))
    if value.meta.rank > len(shape):
        raise ctx.fail(f"the value has {value.meta.rank} axes, and the array has {len(shape)}")
    return value if value.meta.sizes == shape else mv.broadcast_to(value, shape)


# -- memory of enclosing traces -------------------------------------------------------------------------------------


def _note(memory: Memory) -> None:
    """Note the value of memory of an enclosing trace before the active one writes to it first."""
    if (builder := active()) is not None and memory.owner is not builder and builder.writes is not None:
        builder.writes.setdefault(memory, memory.current)


@contextlib.contextmanager
def writes_outside(
    memories: Sequence[Memory] = (), values: Sequence[Any] = (), *, allowed: bool = True
) -> Iterator[dict[Memory, Any]]:
    """Let the active trace write to memory of enclosing ones, which has its value of before when the block ends.

    Some memory has these values at the beginning. The dict that is yielded has the final values, after the block.
    """
    builder, finals = active(), dict[Memory, Any]()
    assert builder is not None
    writes = {memory: memory.current for memory in memories}
    builder.writes = writes if allowed else None
    for memory, value in zip(memories, values, strict=True):
        memory.set(value.as_ndarray().unshared())
    try:
        yield finals
    finally:
        finals.update({memory: memory.current for memory in writes})
        for memory, before in writes.items():
            memory.set(before)


def write_outside(memories: Iterable[Memory], values: Sequence[Any]) -> None:
    """Let memory have the values that a finished trace inside of the active one has written to it."""
    for memory, value in zip(memories, values, strict=True):
        _note(memory)
        memory.set(value.as_ndarray().unshared())


def refuse_writes(x: Any, outside: str) -> Any:
    """Return an array that stands for one elsewhere, which writes to it would not reach: they are refused."""
    if x.is_array:
        x.memory = Memory(x, outside)
    return x


@contextlib.contextmanager
def lent(arrays: Sequence[Any], why: str) -> Iterator[None]:
    """Refuse reads of the memory of arrays within a block: the function that is traced has rows of it to write to."""
    memories = [memory_of(x) for x in arrays]
    for memory in memories:
        memory.lent = why
        memory.set(memory.current)
    try:
        yield
    finally:
        for memory in memories:
            memory.lent = ""


def reached_by(writes: Iterable[Memory], arrays: Sequence[Any]) -> list[int]:
    """Return the positions of the arrays that some memory belongs to."""
    memories = {*writes}
    return [i for i, x in enumerate(arrays) if getattr(x, "memory", None) in memories]


# -- inputs --------------------------------------------------------------------------------------------------------


def may_write(builder: Builder, handles: Sequence[Any]) -> None:
    """Let the function that is traced write to arrays among these handles of inputs, as to its own."""
    builder.writable = [x for x in handles if isinstance(x, Traced) and x.is_array]
    for x in builder.writable:
        x.owner = builder  # type: ignore[attr-defined]  # of arrays, which alone stand for ndarrays


def with_sharers(written: Iterable[Any], arrays: Sequence[Any]) -> set[int]:
    """Return the positions of the arrays that share memory with one that is written to."""
    return {*reached_by([memory_of(x) for x in written], arrays)}


def written_inputs(handles: Sequence[Any], inputs: Sequence[Any]) -> dict[int, Any]:
    """Return the final value of each input that a trace wrote to, by its position."""
    memories = [getattr(x, "memory", None) for x in handles]
    pairs = enumerate(zip(memories, inputs, strict=True))
    return {i: m.current for i, (m, value) in pairs if m is not None and m.current.value is not value}


# -- results -------------------------------------------------------------------------------------------------------


def owned(result: Any, *operands: Any) -> Any:
    """Return a result, or each of several, as an array of its own if it is an operand or shares memory."""
    if not isinstance(result, Traced):
        return type(result)([owned(r, *operands) for r in result]) if isinstance(result, (tuple, list)) else result
    is_shared = getattr(result, "memory", None) is not None or any(result is x for x in operands)
    return result.as_copy() if is_shared else result


def makes_copy(function: F) -> F:
    """Return a function whose results share no memory with its operands."""

    @short_traceback
    @functools.wraps(function)
    def copied(*args, **kwargs):
        return owned(function(*args, **kwargs), *args)

    return cast(F, copied)


def into(out: Any, result: Any, name: str, where: Any = True, *, stretches: bool = True) -> Any:
    """Write a result to the array `out`, where a mask holds, and return the array.

    Ufuncs stretch the result to the shape of `out`; other functions require that shape.
    """
    asked = f"{name}(..., out=x)"
    if has_type(out, (int, float, complex, str)):
        raise ArgumentError(name, "out", f"is {out!r}, not an array", "leave it out: it is the array for the result")
    become_traced(out, asked)
    if not isinstance(out, Traced):
        where = user_line()
        is_operator = where is not None and "= " in where.expression.partition("(")[0]  # y += x
        advice = "create the array by np.zeros_like(x) or anyshape.numpy" if is_operator else "use the result"
        raise MutationError(asked, "an array of NumPy cannot hold traced values", advice, where)
    if not out.is_array:
        raise MutationError(asked, "a number cannot be written to", "use the result", user_line())
    if not stretches:
        _require_shape(out, result, name)
    value = assigned(out, as_traced(result), name)
    if where is not True:
        value = ew.select(in_shape_of(out, as_traced(asarray(where)), name), value, out)
    write(out, value, asked)
    return out


def _require_shape(out, result, name: str) -> None:
    """Require that an array has the shape of the result that it is to hold."""
    ctx, shape, needed = context_of(name, out, result), sizes(out), sizes(result)
    if len(shape) != len(needed):
        raise ctx.fail(f"`out` has {len(shape)} axes, and the result has {len(needed)}", "give `out` its shape")
    for axis, (a, b) in enumerate(zip(shape, needed, strict=True)):
        ctx.require_equal(a, b, f"`out` and the result differ in the size of axis {axis}")


def refuse_out(name: str, out: Any) -> None:
    """Refuse an array of NumPy as `out` of traced arrays; see `writes_out` for arrays of a program."""
    if out is not None and not isinstance(out, Traced):
        problem = "an array of NumPy cannot hold traced values"
        raise MutationError(f"{name}(..., out=x)", problem, "use the result", user_line())


def writes_out(function: F, *, stretches: bool = False) -> F:
    """Return a function with a parameter `out` that writes its result there, which must be an array of a program.

    Functions that NumPy composes of ufuncs stretch the result to the shape of `out`.
    """
    code = inspect.unwrap(function).__code__
    position = code.co_varnames.index("out")

    @short_traceback
    @functools.wraps(function)
    def written(*args, **kwargs):
        is_positional = position < min(len(args), code.co_argcount)
        out = args[position] if is_positional else kwargs.get("out")
        if is_involved(args) or is_involved(kwargs):
            become_traced(out, f"{written.__name__}(..., out=x)")
        if out is None:
            return function(*args, **kwargs)
        refuse_out(written.__name__, out)
        if is_positional:
            args = (*args[:position], None, *args[position + 1 :])
        else:
            kwargs = kwargs | {"out": None}
        return into(out, function(*args, **kwargs), written.__name__, stretches=stretches)

    return cast(F, written)


def stretches_to_out(function: F) -> F:
    """Return a function that writes its result to `out`, stretched to its shape."""
    return writes_out(function, stretches=True)


_SAME_ORDER = ("slice", "rev")  # views whose axes have the order in memory of their base


def _order_of_axes(array) -> tuple[int, ...] | None:
    """Return the axes by falling strides; None where an axis repeats its elements."""
    if array.flags.c_contiguous:
        return tuple(range(array.ndim))
    if any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)):
        return None
    return tuple(sorted(range(array.ndim), key=lambda i: -abs(array.strides[i])))


# what a program may ask of an argument, and its answer
_ANSWERS: dict[str, Callable[[Any], Any]] = {
    "C": lambda array: array.flags.c_contiguous,
    "A": lambda array: (array.flags.c_contiguous, array.flags.f_contiguous),
    "K": _order_of_axes,
}


def layout_of(array: Any, question: str) -> Any:
    """Return how the elements of an array lie in memory."""
    return _ANSWERS[question](array)


def layout_text(question: str, layout: Any) -> str:
    """Return a layout in words."""
    if question == "C":
        return "C-contiguous" if layout else "not C-contiguous"
    if question == "A":
        both = zip(("C-contiguous", "F-contiguous"), layout, strict=True)
        return " and ".join([name if holds else f"not {name}" for name, holds in both])
    return "repeated in memory" if layout is None else f"in memory by axes {', '.join(map(str, layout))}"


def order_in_memory(x: Any, order: str) -> tuple[int, ...] | None:
    """Return the axes of a traced array in the order in which NumPy reads elements for "A" or "K"; None: unknown."""
    base = x if x.memory is None else x.memory.current
    axes = _axes_in_view([*range(base.meta.rank)], () if x.memory is None else x.views, order)
    layout = None if axes is None else _layout_of_base(base, x.memory, order)
    if axes is None or layout is None:
        return None
    return _order_a(axes, layout) if order == "A" else tuple([axes.index(i) for i in layout])


def _axes_in_view(axes: list[int], views: Sequence[Any], order: str) -> list[int] | None:
    """Return which axis of the base each axis of a view is; None for views of another kind."""
    for view in views:
        kind, *rest = view.key or ("",)
        if kind == "transpose":
            axes = [axes[i] for i in rest[0]]
        elif kind not in _SAME_ORDER or order == "A":
            return None
    return axes


def _layout_of_base(base, memory, order: str):
    """Return the answer of an argument, or of a copy: one in C order may be in Fortran order too, by its sizes."""
    if memory is None or memory.argument is not None or memory.outside:
        return _asked(base.builder, base.value if memory is None else memory.argument or base.value, order)
    if not memory.is_contiguous:
        return None
    return (True, None) if order == "A" else tuple(range(base.meta.rank))


def _order_a(axes: list[int], layout: tuple[bool, bool | None]) -> tuple[int, ...] | None:
    """Return the order for "A": that of Fortran, if the array is contiguous in it and not in C order."""
    forward, backward = [*range(len(axes))], [*reversed(range(len(axes)))]
    if axes not in (forward, backward):
        return None
    in_c, in_fortran = layout if axes == forward else layout[::-1]
    if in_c is None and in_fortran:
        return None
    return tuple(backward if in_fortran and not in_c else forward)


def _asked(builder: Builder | None, value: Value, question: str):
    """Return the answer of an argument of the outermost function, which the program relies on; None for others."""
    while builder is not None and value in builder.inputs:
        if builder.layout is not None:
            return builder.layout(value, question)
        position = builder.inputs.index(value)
        if builder.arguments is None or builder.takes_rows or position >= len(builder.arguments):
            return None
        builder, value = builder.arguments[position]
    return None
