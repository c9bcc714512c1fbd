"""Programs shared by functions that are made anew with the same code, as the lambda in `grad(lambda w: ...)` in a loop.

The first function of a code has programs of its own, for the values that it closes over. A second one with the same
cells uses these. Otherwise it starts a family: functions of one structure, whose programs take the arrays that they
close over as arguments.
"""

from __future__ import annotations

import types
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from anyshape.backend.runtime.config import config
from anyshape.errors import ConcretizationError
from anyshape.graph.ir.graph import Graph, Node, Value, decisions_of, subgraphs
from anyshape.graph.prover.user_stack import CAPTURED
from anyshape.ops.control import functions_called
from anyshape.ops.dynamic import size_token_op
from anyshape.ops.elementwise import pow_op
from anyshape.support.fork_lock import Lock
from anyshape.support.packages import linearize_transpose
from anyshape.support.true_types import has_type
from anyshape.tracing import object_arguments, pytrees
from anyshape.tracing.captured import closures, tables
from anyshape.tracing.captured.closures import Copy, DepartedError, Reading, WithObjects
from anyshape.tracing.captured.code_origin import TRANSPARENT, package
from anyshape.tracing.captured.containers import InseparableError, Roots
from anyshape.tracing.captured.rebound import Name, together
from anyshape.tracing.captured.watch import CapturedState, Change, Watch
from anyshape.tracing.reachable import Walk
from anyshape.tracing.trace import Trace
from anyshape.transforms.caching.cache import FIRST, Call, TracedCall, key_of_code
from anyshape.transforms.jitted import Jitted

_MOST_CODES = 256  # whose functions are known
_OF_FUNCTIONS = {"__annotations__", "__doc__"}
_MOST_FAMILIES = 16  # of one code
_MOST_THINGS = 4000  # that functions reach; beyond it, a walk for each structure takes longer than it saves
_MOST_CONTENT = 1 << 18  # bytes of the arrays that a family holds, as Python reads them
_MOST_REPEATS = 1000  # calls with the same arrays, after which programs of its own pay for their trace


Things: TypeAlias = Iterable[tuple[str, Any]]  # with their paths
_Places: TypeAlias = tuple[int | str, ...]  # of arguments: positions and keywords


class _DecidedError(InseparableError):
    """Raised for a program whose path depends on what is captured."""


class _Seen:
    """Record of the functions of one code: the first one, and families by structure."""

    def __init__(self, first: Jitted | None, reading: Reading | None) -> None:
        self.first, self.is_refused = first, False
        # structure and numbers of the first one; these say nothing certain, as it may be gone
        self.before = None if reading is None else (reading.structure, reading.values_of_numbers())
        self.names: frozenset[str] | None = frozenset()  # of attributes that code of the families reads, None for all
        self.kin: OrderedDict[tuple[Any, ...], _Kin] = OrderedDict()
        self._recent: deque[tuple[Any, ...]] = deque(maxlen=_MOST_FAMILIES)  # structures with objects that may be gone

    def require_lasting(self, reading: Reading) -> None:
        """Raise InseparableError for objects by identity that no function before held: a family would keep them."""
        known = self._recent if self.before is None else (*self._recent, self.before[0])
        if reading.holds_objects and reading.structure not in known:
            self._recent.append(reading.structure)
            raise InseparableError

    def learn_names(self, walk: Walk) -> None:
        """Take in the attributes that code of another structure reads; families begin anew if these are more."""
        if not walk.names.isdisjoint(_OF_FUNCTIONS):
            raise InseparableError  # which are not of the structure
        names = None if walk.reads_all or self.names is None else self.names | walk.names
        if names != self.names:
            self.names = names
            self.kin.clear()


class _Kin:
    """Families of functions that differ in arrays and numbers: `varying` says which numbers are arguments.

    `by_content` says that arrays are not, because Python reads them: functions of a family have equal ones.
    """

    def __init__(
        self, walk: Walk, prototype: Any, names: Collection[str] | None, values: tuple[Any, ...] | None
    ) -> None:
        paths = {id(x): label for label, x in walk.things if type(x) is np.ndarray}
        self.labels = [paths.get(id(x), "") for x in Reading(prototype, names).arrays]
        self.spaces = {id(holder.owner) for holder in walk.holders}  # that a variable may be in
        self.varying: frozenset[int] = frozenset()
        self.fixed: frozenset[int] = frozenset()  # numbers that cannot be arguments
        self.last = values  # the numbers of the latest function that began a family
        self.families: OrderedDict[tuple[Any, ...], Family] = OrderedDict()
        self.by_content, self.begun = False, 0  # families in turn that served one function each

    def key(self, reading: Reading) -> tuple[Any, ...]:
        """Return what functions of one family agree in besides their structure."""
        values = reading.values_of_numbers() if reading.numbers else ()
        fixed = tuple([x for i, x in enumerate(values) if i not in self.varying])
        return (*fixed, *map(_content, reading.arrays)) if self.by_content else fixed

    def compare_arrays(self) -> bool:
        """Have no array as argument from here on; return False if that is so already."""
        was_so, self.by_content = self.by_content, True
        self.families.clear()
        return not was_so

    def count_new(self, reading: Reading) -> None:
        """Raise InseparableError for a family that would hold large arrays, or where no family serves two functions."""
        if self.by_content:
            self.begun += 1
            if self.begun > _MOST_FAMILIES or sum([x.nbytes for x in reading.arrays]) > _MOST_CONTENT:
                raise InseparableError

    def begin(self, values: tuple[Any, ...]) -> None:
        """Have the numbers as arguments in which a new family differs from the one before."""
        if self.last is not None:
            differing = frozenset([i for i, (a, b) in enumerate(zip(values, self.last, strict=True)) if a != b])
            if not differing <= self.varying | self.fixed:
                self.varying |= differing - self.fixed
                self.families.clear()
        self.last = values

    def fix(self) -> None:
        """Have no number as argument from here on that is one now."""
        self.fixed |= self.varying
        self.varying = frozenset()
        self.families.clear()


def _content(x: np.ndarray) -> tuple[Any, ...]:
    """Return the elements of an array and how they lie in memory; large arrays are unequal."""
    return x.dtype, x.shape, x.strides, x.tobytes() if x.nbytes <= _MOST_CONTENT else object()


def prototype_of(function: Any, copied: Sequence[np.ndarray] = ()) -> tuple[Any, Reading]:
    """Return a function made again with empty arrays, which stands for all of its structure, and the reading of it.

    It keeps the objects that the structure names by identity, and copies of some arrays.
    """
    whole, ids = Reading(function, None, 4 * closures.MOST_PARTS), set(map(id, copied))
    arrays = [np.array(x, order="K") if id(x) in ids else np.empty(0) for x in whole.arrays]
    for x in arrays:
        x.flags.writeable = False  # a write would not reach the function that it was made of
    return Copy(whole, function, arrays, {}).function, whole


def walk_of_prototype(function: Any) -> tuple[Walk, Any]:
    """Return the walk of a prototype, and that; raise InseparableError if a program would tell it from others.

    What its code reaches besides, as a model that a module has too, is left whole in it.
    """
    for may_retry in (True, False):
        prototype, whole = prototype_of(function)
        walk = Walk(_roots(prototype))
        besides = [x for number, x in _with_identity(walk.things).items() if number in whole.seen]
        if not besides:
            break
        if not may_retry:
            raise InseparableError
        for x in besides:
            closures.leave_whole(x)
    if "type" in walk.names and any(tables.stands_in(x) for _, x in walk.things):
        raise InseparableError  # as `type(frame)` tells what stands in from a frame
    return walk, prototype


def _roots(function: Any, without: frozenset[tuple[int, str]] = frozenset()) -> Roots:
    """Return a function by name, with the objects that are arguments of it."""
    is_alone = type(function) is not WithObjects
    return Roots({"": function} if is_alone else {"": function.function, **function.objects}, without)


_SEEN: OrderedDict[Any, _Seen] = OrderedDict()
_LOCK = Lock()


class Family:
    """Functions of one structure, and their programs, which take what these close over as arguments."""

    def __init__(
        self, jitted: Jitted, function: Any, places: _Places, reading: Reading, kin: _Kin, things: Things
    ) -> None:
        self.by_content = kin.by_content
        self._reached: tuple[Watch | None, dict[int, Any]] = None, _with_identity(things)
        self.prototype: Any = prototype_of(function, reading.arrays if kin.by_content else ())[0]
        self.places = places  # of objects among the arguments
        self._spaces = kin.spaces
        self.names: Collection[str] | None = reading.names
        self.structure: tuple[Any, ...] = reading.structure
        self.kin, self.varying = kin, sorted(kin.varying)
        self.key = kin.key(reading)
        labels = [f"{CAPTURED}{label}" for label in kin.labels if not kin.by_content]
        labels += [f"{CAPTURED}{type(reading.numbers[i]).__name__}" for i in self.varying]
        self.labels: list[str] = [x if labels.count(x) == 1 else f"{x} ({i})" for i, x in enumerate(labels)]
        self.is_refused = False
        self._follows = True
        self.variables: dict[str, Name] = {}  # outside of closures, whose values change from call to call
        self.transforms = _transforms(jitted)
        self._copy: Any = None  # of the latest trace
        self.jitted: _OfFamily = _OfFamily(self, jitted)

    def has(self, reading: Reading) -> bool:
        """Return whether a function is still of this family."""
        kin = self.kin
        is_current = len(self.varying) == len(kin.varying) and self.by_content == kin.by_content
        is_current = is_current and not self.is_refused and reading.structure == self.structure
        return is_current and kin.key(reading) == self.key

    def finds_besides(self, reading: Reading) -> bool:
        """Return whether the code reaches a part of a function besides, and leave such parts whole from here on.

        The programs were traced with others in their places, which `is` tells from them.
        """
        watch = None if self.jitted.state is None else self.jitted.state.watch
        if watch is not None and watch is not self._reached[0]:
            self._reached = watch, _with_identity(watch.things)
        if reading.seen.keys().isdisjoint(self._reached[1]):
            return False
        for number in reading.seen.keys() & self._reached[1].keys():
            closures.leave_whole(self._reached[1][number])
        return True

    def arguments(self, reading: Reading, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return keyword arguments with the arrays and numbers that a function closes over, and with variables."""
        if self.finds_besides(reading):
            raise DepartedError(has_other_structure=True)
        arrays = [] if self.by_content else reading.arrays
        values = [*arrays, *[reading.numbers[i] for i in self.varying]]
        captured = dict(zip(self.labels, values, strict=True))
        for label, name in self.variables.items():
            captured[label] = x = name.read()
            if not closures.is_value(x):
                self.stop_following()
                raise DepartedError(has_other_structure=True)
        return {**kwargs, **captured}

    def follow(self, names: Iterable[Name]) -> bool:
        """Have variables as arguments from here on; return whether there are new ones."""
        known = [name for name in names if type(name.owner) is dict and id(name.owner) in self._spaces]
        variables = {name.identity: label for label, name in self.variables.items()}
        count = len(variables)
        for name in known if self._follows else ():
            if name.identity not in variables:
                label = f"{CAPTURED}{name.label}"
                taken = *self.labels, *variables.values()
                label = label if label not in taken else f"{label} ({len(taken)})"
                variables[name.identity] = label
                self.variables = {**self.variables, label: name}
        if len(variables) == count:
            return False
        self.jitted.clear_cache()
        return True

    def stop_following(self) -> None:
        """Have no variables as arguments from here on."""
        self.variables, self._follows = {}, False
        self.jitted.clear_cache()

    def traced(self, *args: Any, **kwargs: Any) -> Any:
        """Call the prototype, made again with traced values, while it is traced."""
        reading = Reading(self.prototype, self.names)
        count = len(reading.arrays)
        values = [*(reading.arrays if self.by_content else ()), *[kwargs.pop(label) for label in self.labels]]
        copy = Copy(reading, self.prototype, values[:count], dict(zip(self.varying, values[count:], strict=True)))
        function, self._copy = copy.function, copy
        if type(function) is WithObjects:
            function, objects = function
            args, kwargs = _put(args, kwargs, dict(zip(self.places, objects.values(), strict=True)))
        for transform, settings, keywords in self.transforms:
            function = transform(function, *settings, **keywords)
        with self._standing_for({label: kwargs.pop(label) for label in self.variables}):
            result = function(*args, **kwargs)
        copy.require_unchanged()
        return result

    @contextmanager
    def _standing_for(self, values: dict[str, Any]) -> Iterator[None]:
        """Have variables stand for traced values while a trace goes on."""
        with together:
            before = {label: self.variables[label].read() for label in values}
            try:
                for label, value in values.items():
                    self.variables[label].write(value)
                yield
                if any(self.variables[label].read() is not value for label, value in values.items()):
                    raise InseparableError
            finally:
                for label, value in before.items():
                    self.variables[label].write(value)

    def require_valid(self, trace: Trace) -> None:
        """Raise InseparableError for a program that writes to what is captured, or whose form depends on its values.

        Python decides on the values themselves, sizes are known, and powers of known exponents are products. A callback
        that reads the function, and an exception, may tell of the copy.
        """
        labels = *self.labels, *self.variables
        if trace.raised is not None or self._copy.is_reached_from(functions_called(trace.graph), bool(labels)):
            raise InseparableError
        positions = [i for i, label in enumerate(trace.labels) if label in labels]
        inputs = [trace.graph.inputs[i] for i in positions]
        if not set(positions).isdisjoint(trace.written):
            raise InseparableError
        if _decides_on(trace.graph, inputs):
            raise _DecidedError
        if _need_values(trace.graph, [v for v in inputs if not v.meta.rank]):
            raise InseparableError

    def refuse(self, reads_values: bool) -> bool:
        """Take no functions any more; return whether another family may, with numbers that are not arguments.

        At first it follows the arrays of variables: that of an index at a number may be one. At last no array is an
        argument, where Python reads values.
        """
        watch = None if self.jitted.state is None else self.jitted.state.watch
        if self.varying and not self.variables and self.follow(_variables_that(watch, closures.is_numeric)):
            return True
        if self.varying:
            self.kin.fix()
            return True
        if self.variables:
            self.stop_following()
            return True
        self.is_refused = not (reads_values and self.kin.compare_arrays())
        return not self.is_refused


def changed_variables(state: CapturedState | None) -> list[Name] | None:
    """Return variables whose values have changed; None if something else has, which cannot be an argument."""
    watch = None if state is None else state.watch
    if state is None or watch is None or state.holds():
        return []
    variables = [_variables_of(change, watch) for change in state.changes()]
    return None if None in variables else [name for names in variables for name in names or ()]


def _variables_of(change: Change, watch: Watch) -> list[Name] | None:
    """Return the variables that a change is of, none for the variable of a closure; None if it may be no argument."""
    holder = change.holder
    if holder.kind in ("content", "shape"):
        return _variables_that(watch, lambda x: x is holder.owner)
    is_value = type(change.before) is type(change.now) and closures.is_value(change.now)
    if holder.kind in _NAMESPACES and is_value:
        return [Name(f"{holder.label}{change.name}", holder.owner, change.name)]
    return [] if type(holder.owner) is types.CellType and is_value else None


def _variables_that(watch: Watch | None, are_such: Callable[[Any], bool]) -> list[Name]:
    """Return the variables whose values are such."""
    readings = () if watch is None else watch.readings()
    spaces = [(holder, values) for holder, values in readings if holder.kind in _NAMESPACES]
    places = [(h, name) for h, values in spaces for name, x in zip(h.names, values, strict=True) if are_such(x)]
    return [Name(f"{h.label}{name}", h.owner, name) for h, name in places]


_NAMESPACES = ("variables", "attributes")


def _holds_nothing(x: Any) -> bool:
    """Return whether it does not matter if an object is another one of the same structure."""
    return type(x) is tuple or (type(x) is types.FunctionType and not x.__closure__ and closures.has_cells_alone(x))


def _with_identity(things: Things) -> dict[int, Any]:
    """Return the things that code can tell from others of the same structure, by id."""
    return {id(x): x for _, x in things if not _holds_nothing(x)}


class _OfFamily(Jitted):
    """Jitted prototype of a family."""

    def __init__(self, family: Family, jitted: Jitted) -> None:
        prototype = family.prototype
        like = prototype.function if type(prototype) is WithObjects else prototype
        super().__init__(family.traced, jitted.name, like, jitted.options)
        self.positional_from = jitted.positional_from
        self.family = family

    def _new_state(self) -> CapturedState:
        variables = frozenset([name.identity for name in self.family.variables.values()])
        return CapturedState(_roots(self.family.prototype, variables), self.name)

    def _traced(self, call: Call) -> TracedCall:
        self.family.follow(changed_variables(self.state) or ())
        if not all(label in call.kwargs for label in (*self.family.labels, *self.family.variables)):
            raise DepartedError(has_other_structure=True)  # so the call reads what is captured now
        try:
            traced = super()._traced(call)
            self.family.require_valid(traced.trace)
        except Exception as error:
            reads_values = isinstance(error, (ConcretizationError, _DecidedError))
            raise DepartedError(self.family.refuse(reads_values)) from error  # alone it works, or raises the error
        return traced


class _Counted:
    """Calls of one function that shares programs, and how many of them needed a trace."""

    calls = 0
    traces = 0


class Member(_Counted):
    """Function of a family."""

    def __init__(self, function: Any, family: Family, reading: Reading) -> None:
        self._function, self._family = function, family
        self.jitted: Jitted = family.jitted  # which has the programs
        self._first: Reading | None = reading  # for the call that it was made for
        self._ids, self._repeats = list(map(id, reading.arrays)), 0

    def of_call(self, kwargs: dict[str, Any]) -> tuple[Jitted, dict[str, Any]]:
        """Return the jitted function that serves a call, and its keyword arguments."""
        reading, self._first = self._first, None
        if reading is None:
            try:
                reading = Reading(self._function, self._family.names)
            except (InseparableError, RecursionError):
                raise DepartedError from None
            if not self._family.has(reading):
                raise DepartedError(has_other_structure=True)
            ids = list(map(id, reading.arrays))
            self._ids, self._repeats = ids, self._repeats + 1 if ids == self._ids else 0
            if self._repeats > _MOST_REPEATS:
                raise DepartedError
        return self.jitted, self._family.arguments(reading, kwargs)


def _decides_on(graph: Graph, values: Iterable[Value]) -> bool:
    checks = decisions_of(graph)
    if not checks:
        return False
    dependent = linearize_transpose.dependent_values(graph.nodes, values)
    return any(node not in graph.nodes or not dependent.isdisjoint(node.inputs) for node in checks)


def _need_values(graph: Graph, numbers: Sequence[Value]) -> bool:
    """Return whether Python may give another answer for numbers than NumPy does for arrays of them.

    It does so for numbers alone: a division by 0 is an error, a root of a negative number is complex, and ints have no
    bounds. Exponents and sizes are known, and what a loop does with a number is not looked into.
    """
    alone, literals = set(numbers), set[Value]()
    dependent = linearize_transpose.dependent_values(graph.nodes, numbers)
    for node in graph.nodes:
        if not dependent.isdisjoint(node.inputs) and (_needs_values(node, dependent) or subgraphs(node)):
            return True
        if not alone.union(literals).issuperset(node.inputs):
            continue
        if alone.isdisjoint(node.inputs):
            literals.update(node.outputs)
        elif node.op.name in _allowed(node.outputs[0].meta.dtype):
            alone.update(node.outputs)
        else:
            return True
    return False


def _needs_values(node: Node, dependent: set[Value]) -> bool:
    return node.op is size_token_op or (node.op is pow_op and node.inputs[1] in dependent)


def _allowed(dtype: np.dtype) -> set[str]:
    """Return the ops on numbers alone in which Python and NumPy agree, by the dtype of their result."""
    if dtype.kind not in "iu":
        return _OF_FLOATS
    return _OF_ONE_NUMBER if dtype == np.int64 else set()  # an int may not fit another dtype, which NumPy refuses


_OF_ONE_NUMBER = {"convert", "broadcast_in_dim", "reshape"}  # ops that give the number that they get
_OF_FLOATS = _OF_ONE_NUMBER | {"add", "sub", "mul", "neg", "abs"}


class Twin(_Counted):
    """Function of the same code and the same cells as another one, whose programs it uses."""

    def __init__(self, function: Any, first: Jitted) -> None:
        self._function, self.jitted = function, first
        self._code = function.__code__
        self._state: Any = first.state

    def of_call(self, kwargs: dict[str, Any]) -> tuple[Jitted, dict[str, Any]]:
        """Return the jitted function that serves a call, and its keyword arguments.

        Raise DepartedError where the function is not like the other one any more, or what both read has changed: a
        family takes that as arguments.
        """
        if self._function.__code__ is not self._code or not closures.has_cells_alone(self._function):
            raise DepartedError
        state: Any = self.jitted.state
        if state is not self._state or not state.holds():
            raise DepartedError(has_other_structure=True)
        return self.jitted, kwargs


def _is_twin(function: Any, first: Jitted) -> bool:
    """Return whether a function is of the code, the module and the cells of one that has programs."""
    other = first.origin[0]
    state = first.state
    has_programs = first.rebinding is None and state is not None and state.holds()
    return has_programs and type(function) is type(other) is types.FunctionType and _are_of_same_cells(function, other)


def _are_of_same_cells(f: types.FunctionType, g: types.FunctionType) -> bool:
    if f.__code__ is not g.__code__ or f.__globals__ is not g.__globals__:
        return False
    cells = zip(f.__closure__ or (), g.__closure__ or (), strict=True)
    return closures.has_cells_alone(f) and closures.has_cells_alone(g) and all(a is b for a, b in cells)


def membership(jitted: Jitted) -> Member | Twin | None:
    """Return how a function shares programs with others, None if it has its own: it is the first one, or no family.

    A function that has programs already joins a family since what it reads has changed.
    """
    function, code = jitted.origin[0], key_of_code(jitted)
    if code is None or package(function) in TRANSPARENT:
        return None
    variables = changed_variables(jitted.state)
    if variables is None:
        return None
    with _LOCK:
        first = FIRST.get(code, lambda: None)()
        if first is jitted and jitted.state is None:
            return None  # another thread calls it for the first time
        seen = _seen_of(code, first)
        first = seen.first
        if first is not None and first is not jitted and _is_twin(function, first):
            return Twin(function, first)
        try:
            family, reading = _family(seen, jitted, function)
        except (InseparableError, RecursionError):
            return None
    if variables:
        family.follow(variables)
    return Member(function, family, reading)


def _family(seen: _Seen, jitted: Jitted, function: Any, places: _Places = ()) -> tuple[Family, Reading]:
    """Return the family of a function, a new one if there is none; raise InseparableError if it has to stay alone."""
    if seen.is_refused:
        raise InseparableError
    reading, walk = Reading(function, seen.names), None
    kin = seen.kin.get(reading.structure)
    if kin is None:
        seen.require_lasting(reading)
        walk, prototype = walk_of_prototype(function)
        seen.is_refused = len(walk.things) > _MOST_THINGS
        seen.learn_names(walk)
        reading = Reading(function, seen.names)
        before = seen.before
        kin = _Kin(
            walk, prototype, seen.names, before[1] if before is not None and before[0] == reading.structure else None
        )
        _keep(seen.kin, reading.structure, kin, _MOST_FAMILIES)
    values = reading.values_of_numbers()
    family = kin.families.get(kin.key(reading))
    if family is None:
        walk = walk or walk_of_prototype(function)[0]
        kin.begin(values)
        kin.count_new(reading)
        family = Family(jitted, function, places, reading, kin, walk.things)
        _keep(kin.families, family.key, family, _MOST_FAMILIES)
    else:
        kin.begun = 0
    if family.finds_besides(reading):
        if Reading(function, seen.names).structure == reading.structure:
            raise InseparableError
        return _family(seen, jitted, function, places)
    if family.is_refused:
        raise InseparableError
    return family, reading


class ObjectCalls(_Counted):
    """Calls of one function with objects among its arguments, and the families that serve them.

    A family takes the function and the objects apart together, as if the function had captured them.
    """

    def __init__(self, jitted: Jitted) -> None:
        self._jitted = jitted
        self._families: dict[_Places, Family] = {}  # that served the latest call with objects there
        self._names: dict[_Places, list[str]] = {}
        self._alone: set[Any] = set()  # classes and code of objects that cannot be taken apart
        self.latest: Jitted | None = None  # that has the programs

    def of_call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Jitted, tuple[Any, ...], dict[str, Any]] | None:
        """Return the jitted function that serves a call, and its arguments; None if no shared program does."""
        objects: dict[int | str, Any] = {i: x for i, x in enumerate(args) if object_arguments.are_kept(x)}
        objects |= {name: x for name, x in kwargs.items() if object_arguments.are_kept(x)}
        if self._jitted.rebinding is not None or not any(map(_has_parts, objects.values())):
            return None
        places, self.latest = tuple(objects), None
        if _kinds(objects) in self._alone:
            return None
        try:
            function = WithObjects(
                self._jitted.origin[0], dict(zip(self._names_of(places), objects.values(), strict=True))
            )
            family = self._families.get(places)
            if family is None or not family.has(reading := Reading(function, family.names)):
                family, reading = self._joined(function, places)
        except (InseparableError, RecursionError):
            return None
        self.latest = family.jitted
        rest, others = _put(args, kwargs, dict.fromkeys(places))
        return family.jitted, rest, family.arguments(reading, others)

    def _names_of(self, places: _Places) -> list[str]:
        """Return the parameters at some places."""
        if places not in self._names:
            parameters = pytrees.parameter_names(self._jitted)
            names = [x if isinstance(x, str) else pytrees.named(f"args[{x}]", parameters) for x in places]
            self._names[places] = names
        return self._names[places]

    def _joined(self, function: WithObjects, places: _Places) -> tuple[Family, Reading]:
        """Return the family of a function with objects; raise InseparableError if there is none."""
        code = key_of_code(self._jitted)
        if code is None or Reading(function).holds_objects:  # which may change in place
            self._alone.add(_kinds(function.objects))
            raise InseparableError
        with _LOCK:
            family, reading = _family(_seen_of((*code, places), None), self._jitted, function, places)
        self._families[places] = family
        return family, reading


def _has_parts(x) -> bool:
    """Return whether an object, or one in a container, can be taken apart."""
    leaves = x.values() if isinstance(x, dict) else x if isinstance(x, (tuple, list)) else ()
    return any(map(_has_parts, leaves)) if leaves else closures.has_parts(x)


def _kinds(objects: Mapping[Any, Any]) -> tuple[Any, ...]:
    return tuple([getattr(x, "__code__", type(x)) for x in objects.values()])


def _put(
    args: tuple[Any, ...], kwargs: dict[str, Any], values: Mapping[int | str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments with values at some places."""
    return tuple([values.get(i, x) for i, x in enumerate(args)]), {
        name: values.get(name, x) for name, x in kwargs.items()
    }


def _keep(table: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Enter a value, and remove the oldest ones beyond a number."""
    table[key] = value
    while len(table) > most:
        table.popitem(last=False)


def _seen_of(code: Any, first: Jitted | None) -> _Seen:
    """Return what is known of the functions of a code with the settings as they are; `first` is the first of them."""
    key = code, config.optimize, config.compile, config.reassociate, config.num_threads, config.reproducible
    if key not in _SEEN:
        _keep(_SEEN, key, _seen_first(first), _MOST_CODES)
    _SEEN.move_to_end(key)
    return _SEEN[key]


def _seen_first(first: Jitted | None) -> _Seen:
    """Return what is known with the first function of a code, which is kept if it keeps nothing of a user alive."""
    if first is None:
        return _Seen(None, None)
    try:
        reading, whole = Reading(first.origin[0], frozenset()), Reading(first.origin[0])
    except (InseparableError, RecursionError):
        return _Seen(None, None)
    return _Seen(None if whole.holds_objects or whole.arrays or whole.has_instances else first, reading)


def forget() -> None:
    """Forget all functions that were seen: those made from now on share no programs with them."""
    with _LOCK:
        _SEEN.clear()
        FIRST.clear()


def _transforms(jitted: Jitted) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Return what a jitted function was made by, with settings and keywords, from the innermost transform on."""
    transform, (inner, *settings), keywords = jitted.recipe
    before = _transforms(inner) if has_type(inner, Jitted) else []
    return [*before, (transform, tuple(settings), keywords)]
