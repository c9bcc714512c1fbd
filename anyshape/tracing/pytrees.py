"""Flatten pytrees of arguments and results through optree: leaves, paths and prefixes.

Dicts keep the order of their keys, which a function can see: it belongs to the structure.

Settings, which belong to the structure, and dataclasses are nodes, too. optree sees leaves. `wrapped` puts a node of
anyshape in place of each, and its `unflatten` gives back what it stands for. No class is registered for that:
registrations by the user come first, also later ones.
Leaves may be arrays of other libraries: objects with `__array__`, an array interface, a buffer or DLPack.
"""

import atexit
import dataclasses
import enum
import functools
import inspect
import itertools
import numbers
import re
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, TypeAlias

import numpy as np
import optree

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import drawing
from anyshape.graph.ir.tracebacks import call_in_order, short_traceback
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.signature.dim_equations import identifier
from anyshape.numpy.operands.promotion import NUMERIC, plain_array
from anyshape.numpy.sizes.shape_tuple import Sizes
from anyshape.support.foreign import constant, is_foreign
from anyshape.support.freezing import Frozen, checked_parts, freeze, frozen_setting
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import traced_generators
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.code_origin import origin

NAMESPACE = "anyshape"
_register: Any = optree.register_pytree_node  # whose types ask that nodes be collections
_SETTING_TYPES = (str, bytes, enum.Enum, np.dtype, range, slice, types.EllipsisType)
NO_SETTINGS = (Traced, SymbolicSize, np.ndarray)
_BUILTIN = (
    *(Traced, SymbolicSize, np.ndarray, np.generic, BaseException, type),
    *(tuple, list, dict, set, frozenset, str, bytes, int, float, complex, enum.Enum),
)  # fields are not all that their instances hold


def register_class(
    kind: type,
    flatten: Callable[[Any], Any],
    unflatten: Callable[[Any, Any], Any],
    path_entry_type: Any = optree.AutoEntry,
) -> None:
    """Register a class of anyshape; a module whose first load was interrupted does so again."""
    with suppress(ValueError):
        _register(kind, flatten, unflatten, path_entry_type=path_entry_type, namespace=NAMESPACE)


@dataclass(frozen=True, eq=False, slots=True)
class Setting:
    """Node without leaves for a text, a member of an enum, a function or a static field."""

    value: Any


@dataclass(frozen=True, eq=False, slots=True)
class Fields:
    """Node for an instance with declared fields, which are its children; in a prefix, settings are leaves."""

    value: Any
    is_prefix: bool = False


def _wrapper(kind) -> type | None:
    """Return the class of nodes for leaves of a class, None for classes whose instances stay leaves."""
    return None if type(kind).__hash__ is None else _known_wrapper(kind)


def node_class(kind: type) -> type | None:
    """Return the class of nodes for leaves of a class."""
    if issubclass(kind, _SETTING_TYPES):
        return Setting
    if is_fields(kind):
        return Fields
    called = any("__call__" in vars(base) for base in kind.__mro__)
    return Setting if called and not issubclass(kind, (*NO_SETTINGS, np.random.BitGenerator)) else None


_known_wrapper: Callable[[Any], type | None] = functools.lru_cache(maxsize=4096)(node_class)


def is_fields(kind: type) -> bool:
    """Return True for a dataclass of a user, or an attrs class that optree made a tree.

    An instance is what its fields are. Other classes of attrs and of pydantic are objects until they are registered.
    """
    if not (dataclasses.is_dataclass(kind) or hasattr(kind, "__optree_attrs_fields__")) or issubclass(kind, _BUILTIN):
        return False
    return not any(base.__module__.partition(".")[0] == "anyshape" for base in kind.__mro__)


def may_be_registered(kind: type) -> bool:
    """Return whether `register_pytree_node` takes the class as it is, and it is not a tree by itself."""
    return declared_fields(kind) is not None and not is_fields(kind)


_STATIC = {"static": True, "pytree_node": False}  # metadata of fields that belong to the structure; flax's word too


@functools.lru_cache(maxsize=4096)
def declared_fields(kind: Any) -> dict[str, bool] | None:
    """Return the names of the fields that a class declares, and whether each is static; None for other classes."""
    models: dict[str, Any] | None = getattr(kind, "__pydantic_fields__", None)
    if dataclasses.is_dataclass(kind):
        declared: Iterable[Any] = dataclasses.fields(kind)
    elif models is not None:
        return dict.fromkeys(models, False)
    elif (declared := getattr(kind, "__attrs_attrs__", ())) == ():
        return None
    is_static = lambda field: any(field.metadata.get(key) is value for key, value in _STATIC.items())
    return {field.name: is_static(field) for field in declared}


def is_setting(x: Any) -> bool:
    """Return True for a text, a member of an enum or a function: an argument of that type is static by itself."""
    return _wrapper(type(x)) is Setting


def has_nodes(leaves: Iterable[Any]) -> bool:
    """Return True if some leaves are settings or dataclasses."""
    return any(map(_wrapper, map(type, leaves)))


def wrapped(tree: Any) -> Any:
    """Return a tree with a node in place of each setting and each dataclass."""
    leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
    return optree.tree_unflatten(structure, map(_node, leaves)) if has_nodes(leaves) else tree


def _node(x):
    wrapper = _wrapper(type(x))
    return x if wrapper is None else wrapper(x)


def shown(x: Any) -> str:
    """Return a static argument as it prints, an object of a package by its class: it may take long to print."""
    return f"<{type(x).__name__}>" if origin(type(x).__module__, "") == "installed" else repr(x)


def class_of(structure: Any) -> type:
    """Return the class that the first node of a structure stands for."""
    if structure.type not in (Setting, Fields):
        return structure.type
    return type(optree.tree_unflatten(structure, range(structure.num_leaves)))


def wrapped_prefix(tree: Any) -> Any:
    """Return a prefix of a wrapped tree with a node in place of each dataclass; texts are leaves of it."""
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    nodes = [Fields(x, is_prefix=True) if _wrapper(type(x)) is Fields else x for x in leaves]
    return optree.tree_unflatten(structure, nodes)


def nodes_of(structure: Any) -> Iterator[Any]:
    """Yield the inner nodes of a structure, each before those below it."""
    if not structure.is_leaf():
        yield structure
        for part in structure.children():
            yield from nodes_of(part)


def settings_of(structure: Any) -> Iterator[Any]:
    """Return the settings in a structure."""
    return (optree.tree_unflatten(node, ()) for node in nodes_of(structure) if node.type is Setting)


@functools.lru_cache(maxsize=1024)
def has_settings(structure: Any) -> bool:
    """Return True if there are settings in a structure."""
    return next(settings_of(structure), structure) is not structure


def settings_by_path(arguments: Any) -> dict[str, Any]:
    """Return the settings and objects in the structure of (args, kwargs) by their path: `args[0]['kind']`."""
    is_one = lambda x: isinstance(x, Setting)
    leaves, structure = flatten(unflatten(arguments, range(arguments.num_leaves)))
    tree = unflatten(structure, [x if type(x) is int else Setting(x) for x in leaves])
    entries = optree.tree_flatten_with_accessor(wrapped(tree), is_leaf=is_one, namespace=NAMESPACE)
    return {argument_path(a): x.value for a, x in zip(entries[0], entries[1], strict=True) if isinstance(x, Setting)}


def argument_path(accessor: Any) -> str:
    """Return the path of a part of (args, kwargs): `args[0]`, `args[0]['w']`, `scale`."""
    head, key, *rest = accessor
    start = f"args[{key.entry}]" if head.entry == 0 else str(key.entry)
    return start + "".join(entry.codify("") for entry in rest)


# -- dataclasses -------------------------------------------------------------------------------------------------


class Layout(tuple[Any, ...]):
    """Class of an instance and the names of its parts; it prints as the class."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self[0].__qualname__)


def flatten_fields(x: Any) -> tuple[list[Any], Layout, tuple[str, ...]]:
    """Return the parts of an instance with declared fields, what is left without them, and their names."""
    names = _part_names(x)
    kind: Any = type(x)
    static = declared_fields(kind) or {}
    parts = [Setting(getattr(x, n)) if static.get(n) else wrapped(getattr(x, n)) for n in names]
    return parts, Layout((type(x), names)), names


def _flatten_prefix(x) -> tuple[list[Any], Layout, tuple[str, ...]]:
    """Return what `flatten_fields` returns, for a prefix."""
    names = _part_names(x)
    return [wrapped_prefix(getattr(x, n)) for n in names], Layout((type(x), names)), names


def _part_names(x) -> tuple[str, ...]:
    """Return the names of the fields that are set, and of further attributes, except values of cached properties."""
    kind: Any = type(x)
    names = [name for name in declared_fields(kind) or () if hasattr(x, name)]
    for name in getattr(x, "__dict__", ()):
        cached = isinstance(getattr(kind, name, None), functools.cached_property)
        if name not in names and name.isidentifier() and not cached:
            names.append(name)
    return tuple(names)


def made_of_fields(layout: Layout, values: Iterable[Any]) -> Any:
    """Return an instance with these parts; `__init__`, `__post_init__` and validators do not run."""
    kind, names = layout
    if hasattr(kind, "__pydantic_fields__") and not dataclasses.is_dataclass(kind):
        return kind.model_construct(**dict(zip(names, values, strict=True)))
    x = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(x, name, value)
    return x


register_class(Setting, lambda s: ((), frozen_setting(s.value)), lambda frozen, _: frozen.value)
_register(
    Fields,
    lambda node: _flatten_prefix(node.value) if node.is_prefix else flatten_fields(node.value),
    made_of_fields,
    path_entry_type=optree.GetAttrEntry,
    namespace=NAMESPACE,
)


PYTHON_SCALARS = (bool, int, float, complex)
_DEEPEST = 200  # containers within containers, where one that holds itself is looked for
_DICTS = ("DICT", "ORDEREDDICT", "DEFAULTDICT")  # optree's names of kinds
_SETTINGS = ExitStack()  # open until exit: optree sorts keys without it
atexit.register(_SETTINGS.close)


class Order(enum.Enum):
    """Keys that must come in the traced order: none, the keys of dicts, or all, keywords too."""

    NONE = "none"
    KEYS = "keys"
    ALL = "all"


@dataclass(frozen=True, eq=False)
class Static:
    """Value that belongs to the structure of a tree and not to its leaves."""

    value: Any


_SETTINGS.enter_context(optree.dict_insertion_ordered(True, namespace=NAMESPACE))
register_class(Static, lambda s: ((), Frozen(s.value)), lambda frozen, _: Static(frozen.value))


def register_as_tuple(kind: type[tuple[Any, ...]]) -> None:
    """Flatten instances of a subclass of tuple as tuples."""
    register_class(kind, lambda x: (tuple(x), None), lambda _, xs: tuple(xs))


register_as_tuple(Sizes)


Flatten: TypeAlias = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten: TypeAlias = Callable[[Any, Iterable[Any]], Any]


@short_traceback
def register_pytree_node(cls: type, flatten: Flatten | None = None, unflatten: Unflatten | None = None) -> type:
    """Register a class `cls` as a pytree for arguments, results and gradients, and return it, as a decorator does.

    - `flatten` returns the children of an instance and its other data, which must hash and compare with `==`. They are
      compared as static arguments are: 1 is not 1.0.
    - `unflatten` makes an instance from the other data and the children.
    - A dataclass, an attrs class and a pydantic model need neither: their fields are the children, except fields with
      the metadata `static`.

    >>> import dataclasses
    >>> import numpy as np
    >>> from anyshape import grad
    >>> @register_pytree_node
    ... @dataclasses.dataclass
    ... class Line:
    ...     slope: float
    ...     start: float
    ...     label: str = dataclasses.field(default="", metadata={"static": True})
    >>> slopes = grad(lambda line, x: np.sum(line.slope * x + line.start))(Line(2.0, 1.0, "up"), np.arange(4.0))
    >>> float(slopes.slope), float(slopes.start), slopes.label
    (6.0, 4.0, 'up')
    """
    if not isinstance(cls, type):
        raise ArgumentError("register_pytree_node", "cls", f"is {cls!r:.50}", "give a class")
    if (flatten is None) != (unflatten is None) or (flatten is None and declared_fields(cls) is None):
        problem, advice = "is not a dataclass and has no flatten and unflatten", "give both, or make it a dataclass"
        raise ArgumentError("register_pytree_node", cls.__name__, problem, advice)
    by_fields = flatten is None or unflatten is None
    take = flatten_fields if flatten is None else flatten
    make = made_of_fields if unflatten is None else unflatten
    kind = optree.GetAttrEntry if by_fields else optree.FlattenedEntry

    def hashed(x) -> tuple[Any, ...]:
        parts, rest, *entries = checked_parts(cls, take(x))
        try:
            hash(rest)
        except TypeError:
            problem = f"holds {rest!r:.50} besides its parts, which cannot be hashed"
            raise ArgumentError(cls.__name__, "an instance", problem, "hold a tuple or a text there") from None
        return parts, Frozen(rest), *entries

    try:
        _register(cls, hashed, lambda frozen, xs: make(frozen.value, xs), path_entry_type=kind, namespace=NAMESPACE)
    except ValueError:
        raise ArgumentError("register_pytree_node", cls.__name__, "is registered already", "do so once") from None
    return cls


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function as programs print it."""
    return getattr(function, "__name__", type(function).__name__)


def flatten(tree: Any, function: str = "the function") -> tuple[list[Any], Any]:
    """Return the leaves and the structure of a pytree; raise ArgumentError for a container that holds itself."""
    try:
        leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
        if has_nodes(leaves):
            leaves, structure = optree.tree_flatten(wrapped(tree), namespace=NAMESPACE)
    except RecursionError:
        if (key := _key_of_cycle(tree, (), set())) is None:
            raise
        advice = "leave it out there, or hold a copy of its parts"
        raise ArgumentError(function, "a container", f"holds itself, under {key}", advice) from None
    return leaves, structure


def _key_of_cycle(tree, around: tuple[Any, ...], seen: set[int]) -> str | None:
    """Return the key under which a container within those around it holds one of them; None if there is none."""
    if not has_type(tree, (dict, list, tuple)) or len(around) > _DEEPEST or id(tree) in seen:
        return None
    seen.add(id(tree))
    around = (*around, tree)
    for key, part in tree.items() if has_type(tree, dict) else enumerate(tree):
        if any(part is x for x in around):
            return f"{key!r:.50}"
        if (inner := _key_of_cycle(part, around, seen)) is not None:
            return inner
    return None


def flatten_registered(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves and the structure of a pytree whose leaves may be texts, functions and dataclasses."""
    leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
    return leaves, structure


def is_registered(x: Any) -> bool:
    """Return True for a value of a class that is a tree: a container of Python, or one that was registered."""
    return x is None or not optree.tree_structure(x, namespace=NAMESPACE).is_leaf()


def flatten_as(tree: Any, like: Any) -> list[Any] | None:
    """Return the leaves of a tree in the order of a structure, from which it may differ in the order of keys alone.

    Return None if it differs in anything else.
    """
    leaves, structure = flatten(tree)
    if structure == like:
        return leaves
    order = order_of_leaves(structure, like)
    return None if order is None else [leaves[i] for i in order]


def same_but_for_order(tree: Any, like: Any) -> bool:
    """Return True if two structures are equal, or differ in the order of keys alone."""
    return order_of_leaves(tree, like) is not None


def order_of_leaves(tree: Any, like: Any) -> list[int] | None:
    """Return which leaf of `tree` each leaf of `like` is, None if they differ in more than the order of keys."""
    if tree == like:
        return list(range(tree.num_leaves))
    if tree.is_leaf() or like.is_leaf():
        return None
    if (order := _order_of_children(tree.one_level(), like.one_level())) is None:
        return None
    parts = tree.children()
    starts = [0, *itertools.accumulate([part.num_leaves for part in parts])]
    leaves: list[int] = []
    for i, other in zip(order, like.children(), strict=True):
        if (inner := order_of_leaves(parts[i], other)) is None:
            return None
        leaves += [starts[i] + j for j in inner]
    return leaves


def _order_of_children(node, like) -> list[int] | None:
    """Return which child of one node each child of another one is, None if their nodes differ in more than order."""
    if node == like:
        return list(range(node.num_children))
    if node.kind.name not in _DICTS or {*node.entries()} != {*like.entries()}:
        return None
    mapping = unflatten(node, range(node.num_children))  # keeps what else a node has, such as a default factory
    numbers = dict(mapping)
    mapping.clear()
    mapping.update((key, numbers[key]) for key in like.entries())
    order, structure = flatten(mapping)
    return order if structure == like else None


def frozen_keys(tree: Any) -> tuple[Any, ...]:
    """Return the keys of dicts by type and value if some are not texts: structures with 1 and True are equal."""
    return () if _has_texts_only(tree) else tuple([freeze(key) for key in _keys(tree)])


@functools.lru_cache(maxsize=1024)
def _has_texts_only(tree) -> bool:
    """Return True if all keys are texts; then they are in every equal structure."""
    return all(isinstance(key, str) for key in _keys(tree))


def _keys(tree) -> list[Any]:
    """Return the keys of all dicts in a structure."""
    return [key for node in nodes_of(tree) if node.kind.name in _DICTS for key in node.entries()]


def flatten_with_none(tree: Any) -> tuple[list[Any], Any, list[str]]:
    """Return the leaves, with None as a leaf, the structure, and the path of each leaf: `args[0]['w']`."""
    tree = wrapped(tree)
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    accessors = optree.tree_accessors(tree, none_is_leaf=True, namespace=NAMESPACE)
    return leaves, structure, [accessor.codify("args") for accessor in accessors]


def _brief(problem: str) -> str:
    """Return in a few words what optree says in many about a prefix that does not fit its tree."""
    problem = " ".join(problem.split()).removeprefix("pytree structure error: ").replace("pytree children", "entries")
    first = re.split(r"\.? At that key path", problem)[0].replace("at key path ", "at ")
    keys = {kind: re.search(kind + r" key\(s\): \[(.*?)\]", problem) for kind in ("missing", "extra")}
    _, is_keys, path = first.partition("different pytree keys at ")
    lacks = [f"{who} no {m[1]}" for who, m in zip(("the argument has", f"{path} has"), keys.values(), strict=True) if m]
    return " and ".join(lacks) if is_keys and lacks else first


def unflatten(structure: Any, leaves: Iterable[Any]) -> Any:
    """Return the pytree of a structure with these leaves."""
    return optree.tree_unflatten(structure, leaves)


def flatten_prefix(prefix: Any, tree: Any, function: str, argument: str, *, none_is_leaf: bool = False) -> list[Any]:
    """Return the entries of `prefix` (ints or None), repeated for every leaf of `tree` below them.

    The order of keys may differ. None in the tree is not a leaf, unless `none_is_leaf`.
    """
    prefix, tree = wrapped_prefix(prefix), wrapped(tree)
    try:
        optree.broadcast_prefix(prefix, tree, none_is_leaf=True, namespace=NAMESPACE)
    except ValueError as error:
        first = next(iter(optree.prefix_errors(prefix, tree, none_is_leaf=True, namespace=NAMESPACE)), None)
        text = _brief(str(first(argument))) if first else str(error)
        of = "results" if argument.startswith("out") else "arguments"
        advice = f"give one entry for each, or a tree that is a prefix of the {of}"
        raise ArgumentError(function, argument, f"does not match the {of}: {text}", advice) from None
    entries, structure = optree.tree_flatten(prefix, none_is_leaf=True, namespace=NAMESPACE)
    like = optree.tree_structure(tree, none_is_leaf=none_is_leaf, namespace=NAMESPACE)
    return _repeated(structure, iter(entries), like)


def _repeated(prefix, entries: Iterator[Any], tree) -> list[Any]:
    """Return the entry for each leaf of a structure, in its order."""
    if prefix.is_leaf():
        return [next(entries)] * tree.num_leaves
    parts = dict(zip(tree.entries(), tree.children(), strict=True))
    by_key = {
        key: _repeated(part, entries, parts[key]) for key, part in zip(prefix.entries(), prefix.children(), strict=True)
    }
    return [entry for key in parts for entry in by_key[key]]


def leaf_paths(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """Return the path of each leaf of the arguments: `args[0]`, `args[0]['w']`, `scale`."""
    return [argument_path(accessor) for accessor in optree.tree_accessors(wrapped((args, kwargs)), namespace=NAMESPACE)]


def visible_order(function: Any) -> Order:
    """Return which order of keys a function can see: that of keywords too, unless it certainly has no `**kwargs`."""
    known = getattr(function, "order", None)  # of a transformed function
    if isinstance(known, Order):
        return known
    function = getattr(function, "__func__", function)
    hidden = type(function) is types.FunctionType and not function.__code__.co_flags & inspect.CO_VARKEYWORDS
    return Order.KEYS if hidden else Order.ALL


def by_keyword(arguments: Any, names: Sequence[str]) -> Any:
    """Return the structure of (args, kwargs) in which the last positional arguments are given by keyword."""
    args, kwargs = unflatten(arguments, range(arguments.num_leaves))
    first = len(args) - len(names)
    return flatten((args[:first], {**dict(zip(names, args[first:], strict=True)), **kwargs}))[1]


def in_order(kwargs: dict[str, Any], order: Order) -> dict[str, Any]:
    """Return keywords as they are, or sorted if the function cannot see their order."""
    return kwargs if order is Order.ALL or len(kwargs) < 2 else dict(sorted(kwargs.items()))


def structure_text(structure: Any) -> str:
    """Return a structure as its trees print, with `*` for each leaf: `({'w': *}, *)`."""
    text = str(structure).removeprefix("PyTreeSpec(").removesuffix(")")
    text = re.sub(r"CustomTreeNode\(Setting\[(.*?)\], \[\]\)", r"\1", text)
    text = re.sub(r"CustomTreeNode\(Fields\[([\w.<>]+)\], ", r"\1(", text)
    return text.removesuffix(f", namespace={NAMESPACE!r}").removesuffix(", NoneIsLeaf")


def result_paths(structure: Any) -> list[str]:
    """Return the path of each leaf of a result: `result`, `result[0]`, `result['loss']`."""
    tree = wrapped(unflatten(structure, range(structure.num_leaves)))
    return [accessor.codify("result") for accessor in optree.tree_accessors(tree, namespace=NAMESPACE)]


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Return the names of the positional parameters, none for a function without a signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def parameters_by_either(function: Any) -> tuple[str, ...]:
    """Return the names of parameters that are given by position or by keyword, "" for ones by position alone."""
    while isinstance(getattr(function, "order", None), Order):  # it was transformed
        function = function.__wrapped__
    bound = isinstance(function, types.MethodType)
    function = function.__func__ if bound else function
    if type(function) is not types.FunctionType:
        return ()
    code = function.__code__
    by_position = ("",) * code.co_posonlyargcount
    return (*by_position, *code.co_varnames[code.co_posonlyargcount : code.co_argcount])[bound:]


def named(path: str, names: Sequence[str]) -> str:
    """Return the path of a leaf by the name of its parameter: `x`, `params['w']`."""
    head, bracket, rest = path.partition("]")
    number = head.removeprefix("args[")
    if not bracket or head == number or not number.isdecimal() or int(number) >= len(names):
        return path
    return names[int(number)] + rest


def readable(path: str, names: Sequence[str]) -> str:
    """Return an identifier for a leaf from its path: `x`, `params_w`."""
    return identifier(named(path, names))


_NOT_CALLED = "pass the function itself, not the result of calling it"


def check_callable(transform: str, function: Any, advice: str = _NOT_CALLED) -> None:
    """Raise ArgumentError unless the argument of a transform is callable; "scan: f" names its parameter too."""
    if not callable(function):
        transform, _, name = transform.partition(": ")
        problem = f"is of type {type(function).__name__}, not a function"
        raise ArgumentError(transform, name or "its argument", problem, call_in_order(transform) or advice)


def as_leaf(x: Any, path: str, function: str) -> np.ndarray:
    """Return a leaf of the arguments as an array of numbers; raise ArgumentError for anything else."""
    if isinstance(x, Traced):
        if x.builder.closed:
            raise x.leaked()
        advice = "a program runs on arrays: inside a traced function, call the function itself"
        raise ArgumentError(function, path, f"is a traced array {x.meta}", advice)
    if has_type(x, drawing()) and not hasattr(x, "traced"):
        return generator_array(x)
    if has_type(x, (np.ndarray, np.generic, *PYTHON_SCALARS)):
        array = plain_array(x, function, path)
        if (array.dtype.kind in NUMERIC and array.dtype.isnative) or _holds_generators(array):
            return array
        if has_type(x, int):
            advice = "pass an integer of at most 64 bits, or a float"
            raise ArgumentError(function, path, f"is an integer of {x.bit_length()} bits", advice)
        raise ArgumentError(function, path, f"has dtype {array.dtype}", dtype_advice(array.dtype))
    if (foreign := foreign_array(x, path, function)) is not None:
        check_numbers(x, foreign, path, function)
        return as_leaf(foreign, path, function)
    raise ArgumentError(function, path, f"is of type {type(x).__name__}, not an array", advice_for(x))


def _holds_generators(array: np.ndarray) -> bool:
    kinds = np.random.Generator if array.ndim else drawing()
    return array.dtype == object and all(has_type(x, kinds) for x in array.flat)


def generator_array(generator: Any) -> np.ndarray:
    """Return a random generator as programs take it: as an array without axes that holds it."""
    array = np.empty((), object)
    array[()] = generator if type(generator) in drawing() else traced_generators.original_of(generator)
    return array


def is_array(x: Any) -> bool:
    """Return True if x can be a leaf of a result."""
    return has_type(x, (Traced, SymbolicSize, np.ndarray, np.generic, *PYTHON_SCALARS)) or is_foreign(x)


def scalar_kind(x: Any) -> type | None:
    """Return the type of a Python number, `np.generic` for a scalar of NumPy, and None for an array.

    For a random generator return its class.
    """
    if has_type(x, np.generic):
        return np.generic
    if has_type(x, drawing()):
        return np.random.RandomState if has_type(x, np.random.RandomState) else np.random.Generator
    return type(x) if has_type(x, PYTHON_SCALARS) else None


def is_python_scalar(x: Any) -> bool:
    """Return True for a plain Python number, which takes the dtype of the array that it is combined with."""
    return has_type(x, PYTHON_SCALARS) and not has_type(x, np.generic)


# -- functions of users


@short_traceback
def tree_leaves(tree: Any) -> list[Any]:
    """Return the leaves of a `tree` in order: everything but the containers. None, texts and functions are none.

    >>> tree_leaves({"w": [1.0, 2.0], "b": (3.0, None), "name": "linear"})
    [1.0, 2.0, 3.0]
    """
    return flatten(tree, "tree_leaves")[0]


@short_traceback
def tree_map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Return `tree` with `function(leaf, *others)` as leaves; `rest` are further trees of the same structure.

    Raise ArgumentError for a tree of another structure. The order of keys may differ.

    >>> parameters, gradient = {"w": 1.0, "b": 2.0}, {"b": 10.0, "w": 20.0}
    >>> tree_map(lambda p, g: p - 0.1 * g, parameters, gradient)
    {'w': -1.0, 'b': 1.0}
    """
    check_callable("tree_map", function)
    names = [f"tree {i}" for i in range(2, len(rest) + 2)]
    advice = "give trees of the structure of the first one"
    return map_trees(f"tree_map({function_name(function)})", names, advice, function, tree, *rest)


def map_trees(name: str, names: Sequence[str], advice: str, function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Return `tree_map(function, tree, *rest)` as the function `name`, which calls the further trees by `names`."""
    leaves, structure = flatten(tree, name)
    columns = [leaves]
    for path, other in zip(names, rest, strict=False):
        if (matched := flatten_as(other, structure)) is None:
            problem = f"has the structure {structure_text(flatten(other)[1])}, not {structure_text(structure)}"
            raise ArgumentError(name, path, problem, advice)
        columns.append(matched)
    return unflatten(structure, [function(*row) for row in zip(*columns, strict=True)])


_TEXTS = (type, str, bytes, bytearray)
_DASK = "call it by anyshape.cluster.map_chunks, or chunked_sum for sums: docs/howto/run_on_clusters.md"


def foreign_array(x: Any, path: str, function: str) -> np.ndarray | None:
    """Return an array of another library as a read-only array of NumPy, None for what is none.

    Memory is shared where the library allows it. It is read-only, as a write to a copy would be lost for the caller.
    Raise ArgumentError where the library refuses, or where that no numbers come of it.
    """
    if has_type(x, _TEXTS) or not may_be_array(x):
        return None
    name = type(x).__name__
    if type(x).__module__.partition(".")[0] == "dask":
        raise ArgumentError(function, path, f"is a Dask {name}, whose blocks are not computed", _DASK)
    try:
        array = constant(x, path, function) if is_foreign(x) else np.asarray(x) if _has_array(x) else np.from_dlpack(x)
    except ArgumentError:
        raise
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = str(error).partition("\n")[0].partition(" (in compiled code")[0].rstrip(".")
        advice = FROM_LIST if "not regular" in reason else "convert it to an array of NumPy first"
        raise ArgumentError(function, path, f"is of type {name}: {reason}", advice) from None
    array = array.view()
    array.flags.writeable = False
    return array


def check_numbers(x: Any, array: np.ndarray, path: str, function: str) -> None:
    """Raise ArgumentError for a Series or a DataFrame of other values than numbers, in the words of pandas."""
    if array.dtype.kind in "biufc":
        return
    if array.dtype.hasobject and array.ndim == 1 and all(has_type(one, (np.ndarray, list)) for one in array):
        raise ArgumentError(function, path, "holds arrays", FROM_LIST)
    kind = type(getattr(x, "dtype", None)).__name__
    if hasattr(x, "select_dtypes"):
        names = [name for name in x.columns if name not in x.select_dtypes("number").columns]
        problem, advice = f"has columns without numbers: {names!r:.60}", "pass x.select_dtypes('number')"
    elif kind == "CategoricalDtype":
        problem, advice = "holds categories", "pass x.cat.codes"
    elif kind == "BooleanDtype":
        problem, advice = "holds missing values", "fill them, as with x.fillna(False)"
    elif kind == "DatetimeTZDtype":
        problem, advice = "holds dates with time zones", "pass x.dt.tz_localize(None).astype(int)"
    else:
        return
    raise ArgumentError(function, path, problem, advice)


FROM_LIST = "pass anyshape.Ragged.from_list(x)"  # for a batch whose examples differ in size
_DTYPE_ADVICE = {
    "O": "convert it to numbers, as with astype(float)",
    **dict.fromkeys("mM", "convert it to numbers, as with astype(int)"),
    **dict.fromkeys("SUT", "pass numbers for texts; a str is an argument that is static by itself"),
}  # by the kind of a dtype


def dtype_advice(dtype: np.dtype) -> str:
    """Return what to do with an array of a dtype that programs do not compute with."""
    if dtype.names:
        return f"pass its fields one by one, as x[{dtype.names[0]!r}]"
    if not dtype.isnative:
        return "convert it to native byte order, as with x.astype(x.dtype.newbyteorder('='))"
    if dtype.name.startswith(("bfloat", "float", "int", "uint")):
        return "convert it, as with astype(np.float32)"  # of ml_dtypes
    return _DTYPE_ADVICE.get(dtype.kind, "pass numbers or booleans")


def advice_for(x: Any) -> str:
    """Return what to pass instead of a leaf that is not an array."""
    if has_type(x, np.random.BitGenerator):
        return "pass a numpy.random.Generator, such as numpy.random.default_rng(0)"
    if hasattr(type(x), "readline"):
        return "pass what it holds: read it before, as with np.loadtxt"
    if has_type(x, (set, frozenset)) or hasattr(type(x), "__next__"):
        return "pass a list or a tuple"
    if has_type(x, numbers.Number):
        return "pass float(x)"
    if type(x).__name__.endswith(("GroupBy", "Resampler")):
        return FROM_LIST
    if any(has_type(part, np.ndarray) for part in getattr(x, "__dict__", {}).values()):
        return f"close over it, make {type(x).__name__} a dataclass, or register it by anyshape.register_pytree_node"
    return "pass arrays and numbers, and close over the rest"


def may_be_array(x: Any) -> bool:
    """Return whether NumPy may make an array of an object by one of the protocols."""
    return _has_array(x) or hasattr(type(x), "__dlpack__")


def _has_array(x) -> bool:
    """Return whether NumPy makes an array of an object by one of its protocols, and not as an object."""
    if hasattr(type(x), "__array__") or hasattr(x, "__array_interface__"):
        return True
    try:
        memoryview(x).release()
    except (TypeError, BufferError):
        return False
    return True
