"""Run-time part of code that is read: whether a loop, a choice or a call becomes part of the program.

Outside of traces, and where nothing is traced, each function here does what Python does.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import sys
import types
from builtins import getattr as getattr
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from sys import gettrace as gettrace
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.ir.tracebacks import raised_at
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands.concrete import ConcreteArray, plain
from anyshape.numpy.operands.promotion import is_traced
from anyshape.ops.subgraph_call import code_that_is_read
from anyshape.support.true_types import has_type
from anyshape.tracing.effects import printed
from anyshape.tracing.raised import Stated, may_be_caught
from anyshape.tracing.source import read as reading
from anyshape.tracing.source.meanings import has_no_meaning, meaning, prepared
from anyshape.tracing.source.read import NotKept, Session
from anyshape.tracing.source.stepping import SKIPPED as SKIPPED
from anyshape.transforms.control_flow.generated import has_while, of_sifted, yielded
from anyshape.transforms.control_flow.iterables import ITERATIONS, Items, Once, Range, Sifted, items_of
from anyshape.transforms.control_flow.kept_choices import Choice, Maybe, cells_of, get, raise_of
from anyshape.transforms.control_flow.kept_lists import KeptList
from anyshape.transforms.control_flow.kept_lists import released as released  # of the result of a trace
from anyshape.transforms.control_flow.kept_loops import (
    NO_FACTS,
    UNROLLED,
    UNROLLED_AROUND,
    Facts,
    _as_bool,
    kept_fold,
    kept_for,
    kept_list,
    kept_while,
)
from anyshape.transforms.control_flow.kept_objects import (
    MembersFoundError,
    frames_around,
    holder_of,
    is_value,
    keys_of,
    note_change,
    refuse,
    refuse_draws,
)
from anyshape.transforms.control_flow.kept_raises import entered as entered
from anyshape.transforms.control_flow.kept_raises import failed as failed
from anyshape.transforms.control_flow.kept_raises import handles as handles
from anyshape.transforms.control_flow.kept_raises import settled as settled
from anyshape.transforms.control_flow.kept_raises import stated as stated
from anyshape.transforms.control_flow.kept_raises import stated_before as stated_before
from anyshape.transforms.control_flow.kept_raises import text as text
from anyshape.transforms.control_flow.kept_raises import text_by as text_by
from anyshape.transforms.control_flow.kept_raises import text_of_format as text_of_format
from anyshape.transforms.control_flow.kept_raises import text_of_percent as text_of_percent
from anyshape.transforms.control_flow.kept_raises import tried as tried
from anyshape.transforms.control_flow.kept_raises import tries as tries
from anyshape.transforms.control_flow.kept_raises import unpacked as unpacked
from anyshape.transforms.control_flow.list_functions import (
    list_,
    makes_lists,
    sorted_,
    takes_lists,
    with_arrays,
)
from anyshape.transforms.control_flow.list_functions import repeated as repeated
from anyshape.transforms.control_flow.list_functions import transposed as transposed
from anyshape.transforms.control_flow.owners import BY_KEY, KEYED, Indexed, is_users
from anyshape.transforms.control_flow.owners import key_of as key_of
from anyshape.transforms.control_flow.owners import of as of
from anyshape.transforms.control_flow.tried import as_tried, of_matrices
from anyshape.transforms.control_flow.truths import and_ as and_
from anyshape.transforms.control_flow.truths import choose as choose
from anyshape.transforms.control_flow.truths import (
    choosing_session,
    current_session,
    is_undecided,
    predicate_of,
    session_in_frame,
)
from anyshape.transforms.control_flow.truths import clear as clear
from anyshape.transforms.control_flow.truths import compare as compare
from anyshape.transforms.control_flow.truths import not_ as not_
from anyshape.transforms.control_flow.truths import or_ as or_
from anyshape.transforms.control_flow.truths import truth as truth

_CHANGEABLE = (list, dict, set, deque, bytearray)
_CHANGES = {
    *("append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "discard"),
    *("clear", "reverse", "rotate", "sort", "update", "setdefault", "add", "move_to_end", "__setitem__", "__delitem__"),
    *("intersection_update", "difference_update", "symmetric_difference_update"),
}
_COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne"}
_IMPURE = {next, input, open, setattr, delattr}


# -- calls and objects


def call(function: Any) -> Any:
    """Return what a call of a function runs."""
    session = current_session()
    if session is None:
        return function
    kind = type(function)
    if kind in _OF_PYTHON:
        if session.frames and kind is types.MethodType and has_no_meaning(function):
            refuse_draws(session, function.__self__)
        read = reading.as_read(function)
        if read is not function or reading.is_rewritten(function):
            return read
    elif kind in _OF_C:
        return _of_c(session, function)
    elif issubclass(kind, type):
        return _of_class(session, function)
    elif (read := reading.as_read(function)) is not function:
        return read
    means = of_matrices(function, meaning(function))
    return with_arrays(means, function) if takes_lists(function) else means


def _call_of_package(function: Any) -> Any:
    means = call(function)
    is_numpys = takes_lists(function) or type(getattr(function, "__self__", None)) is np.ndarray
    return functools.partial(_with_plain_result, means) if is_numpys and means is not function else means


def _with_plain_result(function: Any, *args: Any, **kwargs: Any) -> Any:
    result = function(*args, **kwargs)
    return plain(result) if type(result) in (ConcreteArray, tuple) else result


class _OfPackages:
    """Run-time part of code of packages, whose arrays of numbers stay NumPy's: it hands them to code that is C."""

    call = staticmethod(_call_of_package)

    def __getattr__(self, name: str) -> Any:
        return getattr(code_that_is_read(), name)


_OF_PACKAGES = _OfPackages()


def of_packages() -> Any:
    """Return what stands for this part in code of packages."""
    return _OF_PACKAGES


def call_to_end(function: Any) -> Any:
    """Return what a call of a function runs, whose result is read to its end: a generator is the list of its items."""
    made = reading.as_list_maker(function) if current_session() is not None else None
    return call(function) if made is None else made


def call_in_loop(function: Any, most: int | None = None) -> Any:
    """Return what a call of a function runs, over whose result a loop runs to its end, or over `most` items."""
    session = current_session()
    made = reading.as_list_maker(function) if session is not None and not session.is_plain else None
    if made is None or session is None or (most is not None and has_while(function)):
        return call(function)
    return functools.partial(yielded, session, function, made, most)


def call_in_zip(function: Any) -> Any:
    """Return what a call of a function runs, over whose result `zip` runs, which may leave items of a generator."""
    return call_in_loop(function, _MOST_LEFT)


_MOST_LEFT = 10_000  # iterations of a generator in `zip`


def call_with_texts(function: Any) -> Any:
    """Return what a call of a function runs, whose arguments are texts: ours take names of sizes."""
    if (session := current_session()) is not None:
        session.called.append(str(getattr(function, "__module__", "")).startswith("anyshape."))
    return call(function)


def _of_c(session: Session, function: Any) -> Any:
    """Return what a call of a function of C runs."""
    if session.frames:
        _check_pure(session, function)
    if type(function.__self__) is int and function.__name__.strip("_") in _COMPARISONS:
        return _compared_by(function)
    if type(function.__self__) in KEYED and function.__name__ in BY_KEY:
        return lambda *args, **kwargs: function(*map(key_of, args[:1]), *args[1:], **kwargs)
    own = _BUILTINS.get(function) if type(function) is _OF_C[0] else None
    if own is not None:
        return own
    return with_arrays(meaning(function), function) if takes_lists(function) else meaning(function)


def _of_class(session: Session, kind: type) -> Any:
    """Return what a call of a class runs."""
    if (own := _CLASSES.get(kind)) is not None:
        return own
    if kind is type:
        return _class_of
    if kind in (list, tuple):
        return lambda *args: made(list_(kind, *args))
    if issubclass(kind, BaseException) or type(kind).__call__ is not type.__call__:
        return meaning(kind)
    is_own = session.frames or _is_read(kind.__init__)
    return functools.partial(_instance, kind) if is_own else meaning(kind)


def _is_read(function: Any) -> bool:
    """Return whether a trace runs something else in place of a function."""
    return type(function) is types.FunctionType and reading.as_read(function) is not function


_CLASS = operator.attrgetter("__class__")  # which values of a trace answer with the class that they stand for


def _class_of(x: Any, *others: Any, **options: Any) -> Any:
    """Return `type(x)`: arrays, sizes and lists are of the classes that they stand for."""
    is_ours = not (others or options) and has_type(x, (ConcreteArray, KeptList, SymbolicSize, Traced))
    return _CLASS(x) if is_ours else type(x, *others, **options)


def _compared_by(function: Any) -> Any:
    """Return a comparison by a method of a number, as `(3).__lt__(n)`, which knows nothing of sizes."""

    def compare_or_ask(*others: Any) -> Any:
        result = function(*others)
        known = result is not NotImplemented
        return result if known else getattr(operator, function.__name__.strip("_"))(function.__self__, *others)

    return compare_or_ask


def matmul(a: Any, b: Any) -> Any:
    """Return `a @ b`, where one may be a sparse matrix of SciPy's."""
    if current_session() is None or is_traced(a) is is_traced(b):
        return a @ b
    sparse = prepared(b if is_traced(a) else a)
    return a @ b if sparse is None else a @ sparse if is_traced(a) else sparse @ b


def is_sequence(x: Any, count: int) -> bool:
    """Return whether a pattern of so many parts may match a value."""
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes)) and call(len)(x) == count


def grid(x: Any) -> Any:
    """Return what is indexed in place of `np.r_` and the like."""
    return meaning(x) if current_session() is not None else x


def at(x: Any) -> Any:
    """Return what is indexed: an array of NumPy or a list takes a position that a run alone knows."""
    if type(x) in (np.ndarray, list, tuple, *KEYED) and current_session() is not None:
        return Indexed(x)
    return as_tried(x)


def keyed(x: Any) -> Any:
    """Return an object whose item a statement binds."""
    x = changed(x)
    return Indexed(x) if type(x) in KEYED and current_session() is not None else x


def keyed_again(x: Any) -> Any:
    """Return an object whose item a statement changes in place or binds."""
    x = augmented(x)
    return Indexed(x) if type(x) in KEYED and current_session() is not None else x


def _instance(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """Return an instance of a class, which the iteration that makes it may change."""
    if type(kind.__init__) is not types.FunctionType or hasattr(kind, "__dataclass_fields__"):
        return made(meaning(kind)(*args, **kwargs))
    instance = made(kind.__new__(kind, *args, **kwargs))
    if has_type(instance, kind):
        reading.as_read(type(instance).__init__)(instance, *args, **kwargs)
    return instance


_OF_PYTHON = (types.FunctionType, types.MethodType)
_OF_C = (types.BuiltinFunctionType, type([].__len__))


def _length(x: Any) -> Any:
    if is_users(own := getattr(type(x), "__len__", None)) and current_session() is not None:
        return reading.as_read(own)(x)
    if type(x) in (KeptList, Range):
        return x.length
    return own.length if has_type(own := getattr(x, "items", None), Items) else meaning(len)(x)


def _print(*values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False) -> None:
    """Print each time that the program gets here."""
    printed(*values, sep=sep, end=end, file=file, flush=flush, always=True)


def _reduce(function: Any, iterable: Any, *initial: Any) -> Any:
    """Return `functools.reduce(function, iterable, *initial)`, by a loop of the program where it may be one."""
    session, items, code = current_session(), items_of(iterable), getattr(function, "__code__", None) or makes_lists()
    if items is None or session is None or code is None or not _is_kept(session, items.length, code, NO_FACTS):
        return functools.reduce(call(function), iterable, *initial)
    if not initial:
        if not items.length > 0:
            raise TypeError("reduce() of empty iterable with no initial value")
        initial, items = (items.item(0),), items.rest()
    result = types.CellType(initial[0])

    def body(x: Any) -> None:
        result.cell_contents = call(function)(result.cell_contents, x)

    return kept_fold(session, items, body, result, code)


def _accumulate(iterable: Any, function: Any = None, *, initial: Any = None) -> Any:
    """Return `itertools.accumulate(iterable, function)`, of the list that a loop of the program makes."""
    function = operator.add if function is None else function
    session, items, code = current_session(), items_of(iterable), getattr(function, "__code__", None) or makes_lists()
    if items is None or session is None or code is None or not _is_kept(session, items.length, code, NO_FACTS):
        return itertools.accumulate(iterable, call(function), initial=initial)
    totals, result = KeptList(None, code), types.CellType(initial)
    if initial is None:
        if not items.length > 0:
            return iter(())
        result.cell_contents, items = items.item(0), items.rest()
    totals.append(result.cell_contents)

    def body(x: Any) -> None:
        result.cell_contents = call(function)(result.cell_contents, x)
        totals.append(result.cell_contents)

    kept_fold(session, items, body, result, code)
    return Once(totals.length, totals.item, lambda: iter(totals))


_BUILTINS: dict[Any, Callable[..., Any]] = {
    len: _length, print: _print, sorted: sorted_, functools.reduce: _reduce,
}  # fmt: skip


def _of_keys(kind: Any) -> Any:
    """Return a class of containers whose members are keys, which Python must know."""
    return lambda *args, **kwargs: made(kind(*[a if has_type(a, dict) else map(key_of, a) for a in args], **kwargs))


_CLASSES = {**ITERATIONS, itertools.accumulate: _accumulate, **{k: _of_keys(k) for k in (set, frozenset, Counter)}}


def _check_pure(session: Session, function: Any) -> None:
    """Raise where a loop that is kept would change what outlives its iteration, or do something once for all."""
    owner = function.__self__
    if has_no_meaning(function):  # numpy.random.normal, among others, draws in the program
        refuse_draws(session, owner)
    if has_type(owner, _CHANGEABLE) and function.__name__ in _CHANGES:
        changed(owner)
    elif function in _IMPURE:
        raise refuse(session, None, f"it calls {function.__name__}")


def member(owner: Any, read: Callable[[Any], Any]) -> Any:
    """Return a member of an object which a method may change, as `self.history` for `self.history.append(x)`."""
    x, session = read(owner), session_in_frame()
    if session is None or not _may_grow(x) or (holder := holder_of(owner)) is None:
        return x
    inside = frames_around(session, x)
    keys = [key for key in keys_of(holder) if holder[key] is x]
    if inside and inside[-1].loop is not None and keys:
        learned = [frame.loop.learn_place(holder, keys[0]) for frame in inside if frame.loop is not None]
        if any(learned):
            raise MembersFoundError
    return x


def _may_grow(x: Any) -> bool:
    return type(x) is list or (type(x) is deque and len(x) != x.maxlen)


def changed(x: Any) -> Any:
    """Return an object that a statement changes; raise where a loop that is kept may not change it."""
    session = session_in_frame()
    if session is None or isinstance(x, (Traced, ConcreteArray)) or type(x) is KeptList:
        return x
    if not is_value(x):
        note_change(session, x)
    return x


class _Augmented:
    """Object that a statement as `x.history += [v]` changes a member of, which may itself change in place."""

    def __init__(self, owner: Any) -> None:
        object.__setattr__(self, "_owner", owner)

    def _member(self, x: Any) -> Any:
        x = member(self._owner, lambda owner: x)
        return changed(x) if has_type(x, _CHANGEABLE) else x

    def __getitem__(self, key: Any) -> Any:
        return self._member(self._owner[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._owner[key] = value

    def __getattr__(self, name: str) -> Any:
        return self._member(getattr(self._owner, name))

    def __setattr__(self, name: str, value: Any) -> None:
        self._owner.__setattr__(name, value)  # with what the class does there


def augmented(x: Any) -> Any:
    """Return an object whose member a statement changes in place or binds."""
    x = changed(x)
    return x if session_in_frame() is None or isinstance(x, (Traced, ConcreteArray, KeptList)) else _Augmented(x)


def made(x: Any) -> Any:
    """Return a new object, and note that the iteration which made it may change it."""
    session = session_in_frame()
    if session is not None:
        session.frames[-1].made[id(x)] = x
    return x


def bound(read: Callable[[], Any], name: str) -> Any:
    """Return the value of a variable that may have none in this run, which is checked then."""
    error = UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
    try:
        value = read()
    except NameError:  # in a function inside, Python would name it a free variable
        raise raised_at(error, user_line()) from None
    if not isinstance(value, Maybe):
        return value
    if (session := session_in_frame()) is not None or not may_be_caught():
        raise_of(session, error).emit(value.is_set)
    elif not value.is_set:  # a path of its own
        raise raised_at(error, user_line())
    return value.value


def _always(*item: Any) -> bool:
    return True


def _of_items(function: Callable[..., Any], parts: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a function of items as one of an item, which it takes apart for several targets, and their `parts`."""
    if not any(parts):
        return (lambda item: function(*item)) if parts else function
    return lambda item: function(*_taken_apart(item, parts))


def _taken_apart(item: Any, parts: Sequence[Any]) -> list[Any]:
    """Return what targets get of an item."""
    if len(item := [*item]) != len(parts):
        raise ValueError(f"expected {len(parts)} values to unpack, got {len(item)}")
    return [x for one, own in zip(item, parts, strict=True) for x in (_taken_apart(one, own) if own else [one])]


class _Filling:
    """Fills a list with what a comprehension gives for each item that passes a test."""

    def __init__(self, session: Session | None, function: Any, test: Any, facts: tuple[Sequence[Any], bool]) -> None:
        self.session, self.value, self.passes = session, _of_items(function, facts[0]), _of_items(test, facts[0])
        self.gives_lists = facts[1]

    def follow(self, first: Sifted) -> None:
        """Ask further items first whether they pass, and for their values."""
        value, passes = self.value, self.passes
        self.value = lambda x: value(first.value(x))
        self.passes = lambda x: and_(first.passes(x), lambda: passes(first.value(x)))

    def __call__(self, to: Any, item: Any) -> None:
        going = self.passes(item)
        if self.session is not None and type(to) is KeptList and is_undecided(going):
            Choice(self.session, (None, lambda: self._add(to, item)), {}, ()).run(predicate_of(going))
        elif going:
            self._add(to, item)

    def _add(self, to: Any, item: Any) -> None:
        (to.extend if self.gives_lists else to.append)(self.value(item))


def listed(
    function: Callable[..., Any], iterable: Any, facts: tuple[Sequence[Any], bool], test: Callable[..., Any] = _always
) -> Any:
    """Return the list of what a comprehension gives for the items that pass a test.

    `facts` tell into which parts items are taken apart, and whether the function gives lists, which are joined.
    """
    session, code = current_session(), function.__code__
    fill = _Filling(session, function, test, facts)
    items = _items_for(session, fill, iterable, code) if session is not None else None
    if items is not None and session is not None and _is_kept(session, items.length, code, NO_FACTS):
        return kept_list(session, items, fill, code)
    may_choose = test is not _always and session is not None and session.frames and code not in session.refused
    result: Any = KeptList(None, code) if may_choose else made([])
    for item in iterable if items is None else items:
        fill(result, item)
    return result


def _items_for(session: Session, fill: _Filling, x: Any, code: types.CodeType) -> Any:
    """Return the items that a list is filled from: those before a filter, which the list asks itself."""
    if type(x) is not Sifted:
        return items_of(x)
    if not x.is_new or x.ends or not _is_kept(session, x.length, code, NO_FACTS):
        return None
    x.taken(code)
    fill.follow(x)
    return x.of


def kept_sifted(session: Session, x: Sifted, code: types.CodeType) -> Any:
    """Return the list of the items that pass a test."""
    x.taken(code)
    fill = _Filling(session, x.value, x.passes, ((), False))
    return kept_list(session, x.of, fill, code)


def joined(
    function: Any,
    of_item: Callable[..., Any],
    iterable: Any,
    facts: tuple[Sequence[Any], bool],
    test: Callable[..., Any] = _always,
) -> Any:
    """Return `any` or `all` of what a generator gives for the items that pass a test."""
    value, passes = _of_items(of_item, facts[0]), _of_items(test, facts[0])
    session = current_session()
    items = items_of(iterable) if session is not None and function in (any, all) else None
    if session is None or items is None or not _is_kept(session, items.length, of_item.__code__, NO_FACTS):
        return call(function)(value(x) for x in (iterable if items is None else items) if passes(x))
    result = types.CellType(function is all)

    def body(x: Any) -> None:
        if function is any:
            new = or_(result.cell_contents, lambda: and_(passes(x), lambda: value(x)))
        else:
            new = and_(result.cell_contents, lambda: or_(not_(passes(x)), lambda: value(x)))
        result.cell_contents = _as_bool(new)

    return kept_fold(session, items, body, result, of_item.__code__).as_weak()


# -- choices


def rebinds(name: str, variable: Callable[[], Any]) -> None:
    """Refuse to keep a loop that binds a variable outside of the function, unless it is one of the loop's own."""
    session = session_in_frame()
    if session is None:
        return
    cells = dict(zip(variable.__code__.co_freevars, variable.__closure__ or (), strict=True))
    if name not in cells or id(cells[name]) not in session.frames[-1].cells:
        raise refuse(session, None, f"it binds {name}, a variable outside of a function")


def holds(test: Any, *message: Callable[[], Any]) -> Any:
    """Return whether an assertion holds; in a loop that is kept, the program checks it."""
    session = choosing_session(*message)
    if session is None or not is_undecided(test):
        return test

    def fail() -> None:
        raise Stated(AssertionError, [words() for words in message], {})

    Choice(session, (fail, None), {}, ()).run(predicate_of(test))
    return True


def result(is_returned: Any, value: Callable[[], Any]) -> Any:
    """Return what a function returns, None if it ran to its end."""
    if isinstance(is_returned, Traced) and (session := session_in_frame()):
        raise refuse(session, None, "a function that it calls returns None in some cases")
    if not is_returned:
        return None
    returned = value()
    return returned.value if isinstance(returned, Maybe) else returned


def if_(test: Any, yes: Callable[[], None], no: Callable[[], None] | None, facts: tuple[Any, ...]) -> None:
    """Run a branch; in a loop that is kept, a traced value chooses it in each run."""
    session = choosing_session(yes, no)
    if session is not None and is_undecided(test):
        known = Facts(*facts)
        if known.plain:
            raise refuse(session, None if session.frames else yes.__code__, known.plain)
        Choice(session, (no, yes), cells_of(yes, no), known.after).run(predicate_of(test))
    elif test:
        yes()
    elif no is not None:
        no()


def unless(flags: tuple[str, ...], block: Callable[[], None], facts: tuple[Any, ...]) -> None:
    """Run what follows statements that may jump, unless a flag says that they did."""
    cells = cells_of(block)
    values = {name: get(cells[name]) for name in flags}
    going, session = clear(*values.values()), choosing_session(block)
    if isinstance(going, Traced) and session is not None:
        known = Facts(*facts)
        if known.plain:
            raise refuse(session, None if session.frames else block.__code__, known.plain)
        open_ = [name for name, value in values.items() if value is not False]
        Choice(session, (None, block), cells, known.after).run(going, open_[0] if len(open_) == 1 else "")
    elif going:
        block()


# -- loops


def for_(iterable: Any, body: Callable[[Any], None], facts: tuple[Any, ...]) -> None:
    """Run a loop over an iterable, or make it a loop of the program."""
    session, known = current_session(), Facts(*facts)
    cells: Mapping[str, Any] = cells_of(body)
    code = body.__code__
    if session is not None:
        items = items_of(iterable)
        if type(iterable) is Sifted and iterable.is_new and _is_kept(session, iterable.length, code, known):
            iterable.taken(code)
            branch = functools.partial(_branch, code)
            body, cells, known = of_sifted(iterable, body, cells, known, branch)
            items = iterable.of
        if items is not None and _is_kept(session, items.length, code, known):
            kept_for(session, items, body, known, cells, code)
            return
        if session.frames and iter(iterable) is iterable and sys.getrefcount(iterable) > _OWN_REFERENCES:
            raise refuse(session, None, "it goes on with an iterator that is made outside of it")
        iterable = items if items is not None else iterable
    with _unrolled(session, iterable):
        _run(iterable, body, cells, known)


def _branch(
    code: types.CodeType, test: Any, functions: Sequence[Any], cells: Mapping[str, Any], later: Sequence[str]
) -> None:
    """Run the second of two functions where a test holds, else the first one, if it is there."""
    session = choosing_session()
    if session is not None and code not in session.refused and is_undecided(test):
        Choice(session, functions, cells, later).run(predicate_of(test))
    elif (function := functions[bool(test)]) is not None:
        function()


def sifted(
    of_item: Callable[..., Any], iterable: Any, facts: tuple[Sequence[Any], bool], test: Callable[..., Any] = _always
) -> Any:
    """Return what a loop runs over for a generator expression."""
    items = items_of(iterable) if current_session() is not None else None
    value, passes = _of_items(of_item, facts[0]), _of_items(test, facts[0])
    if items is None:
        return (value(x) for x in iterable if passes(x))
    return Sifted(items, value, passes, ends=False)


@contextlib.contextmanager
def _unrolled(session: Session | None, iterable: Any) -> Iterator[None]:
    """Count the iterations of a nest of loops that are unrolled."""
    if session is None or (items := items_of(iterable)) is None or not has_type(items.length, int):
        yield
        return
    before, session.unrolled = session.unrolled, session.unrolled * max(items.length, 1)
    try:
        yield
    finally:
        session.unrolled = before


def _run(iterable: Any, body: Callable[[Any], None], cells: Any, known: Facts) -> None:
    """Run a loop as it is written."""
    going: Any = True
    ending = getattr(current_session(), "ending", None)
    for count, item in enumerate(iterable):
        if ending is not None and count >= ending[1]:
            raise NotKept(ending[0], "it is a generator that may end late")
        if isinstance(going, Traced) and (choosing := choosing_session()) is not None:
            Choice(choosing, (None, _at(body, item)), cells, known.later).run(going)
        else:
            body(item)
        going = _goes_on(cells, known)
        if not (isinstance(going, Traced) and choosing_session() is not None) and not going:
            break  # before an iterator gives what is left for others


def _at(body: Callable[[Any], None], item: Any) -> Callable[[], None]:
    """Return the body of a loop at an item."""
    return lambda: body(item)


_OWN_REFERENCES = 4  # to an iterator that a loop makes: of the call, its caller, the count and the test


def _goes_on(cells: Any, facts: Facts) -> Any:
    """Return whether no flag ends a loop."""
    return clear(*[get(cells[name]) for name in facts.stops])


def _is_kept(session: Session, length: Any, code: types.CodeType, facts: Facts) -> bool:
    """Return whether a loop becomes one of the program."""
    if has_type(length, int) and length * session.unrolled <= (UNROLLED_AROUND if facts.nests else UNROLLED):
        return False
    if session.is_plain:
        return False
    if facts.plain:
        session.refused.setdefault(code, facts.plain)
    return code not in session.refused


def while_(test: Callable[[], Any], body: Callable[[], None], facts: tuple[Any, ...]) -> None:
    """Run a loop on a condition, or make it a loop of the program."""
    session, known = current_session(), Facts(*facts)
    cells, count = cells_of(test, body), 0
    again = (lambda: and_(_goes_on(cells, known), test)) if known.stops else test
    while True:
        going = again()
        is_long = is_undecided(going) or count >= UNROLLED or bool(known.stops)
        if session is not None and is_long and _is_kept(session, None, body.__code__, known):
            if is_undecided(going) or going:
                kept_while(session, going, again, body, known, cells)
            return
        if not going:
            return
        body()
        count += 1
