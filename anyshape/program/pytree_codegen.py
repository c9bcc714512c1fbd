"""Generated functions for one structure: read the leaves of arguments, and build results.

They handle tuples, lists, dicts with str keys, and None; arguments may have classes in `PARTS`. All else goes through
optree: subclasses, other registered classes, and subclasses of ndarray.
"""

import itertools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.user_lines import code_of
from anyshape.graph.ir.graph import drawing
from anyshape.tracing.pytrees import PYTHON_SCALARS, Order, generator_array, unflatten

Reader = Callable[[tuple[Any, ...], dict[str, Any]], "tuple[Any, ...] | None"]

NO_MATCH = object()  # result of a generated function of `matcher` for arguments that do not match
MAX_LEAVES = 256  # of a structure with a generated function
MAX_DEPTH = 32  # of nested containers: the parser of Python limits brackets
_NUMBERS = (*PYTHON_SCALARS, np.generic, np.ndarray, *drawing())  # an ndarray without axes
_OF_ONE_DTYPE = (bool, float, complex)  # an int that is too large for one dtype gets another
_KINDS = {"TUPLE": "tuple", "LIST": "list", "DICT": "dict"}  # types by optree's names of kinds
# by a registered class, the source of the parts of an instance, and of what else two instances are compared by
PARTS: dict[type, tuple[str, str]] = {}


def is_plain(tree: Any, classes: Collection[type] = ()) -> bool:
    """Return True for tuples, lists, dicts with str keys, None, classes and leaves, neither large nor deep."""
    return tree.num_leaves <= MAX_LEAVES and _has_known_kinds(tree, MAX_DEPTH, classes)


def _has_known_kinds(tree, depth: int, classes: Collection[type]) -> bool:
    if (kind := tree.kind.name) in ("LEAF", "NONE"):
        return True
    if tree.type in classes and depth:
        return all(part.is_leaf() for part in tree.children())
    if kind not in _KINDS or not depth or (kind == "DICT" and {*map(type, tree.entries())} - {str}):
        return False
    return all(_has_known_kinds(part, depth - 1, classes) for part in tree.children())


def reader(tree: Any, leaves: Sequence[tuple[Any, ...]], order: Order = Order.KEYS) -> Reader | None:
    """Generate a function of positional and keyword arguments that returns their leaves as arrays.

    It returns None for arguments that do not match, and for some that match but have other types. `leaves` are the
    dtypes and ranks, and the types of plain numbers. Keys must come in the order of the structure as far as `order`
    demands it. Return None if the structure is not plain.
    """
    return _Reader(leaves, order, "None").function(*tree.children()) if _is_readable(tree, leaves) else None


def matcher(
    tree: Any,
    leaves: Sequence[tuple[Any, ...]],
    order: Order,
    then: Sequence[str],
    names: Mapping[str, Any],
    library: Any = None,
) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None:
    """Generate a function of an object `owner`, positional and keyword arguments that reads leaves as `reader` does.

    It goes on with the lines `then`, where `{leaves}` stands for the locals of the leaves, and `names` are global. It
    returns NO_MATCH for arguments that do not match. Return None if the structure is not plain. Arrays are of the
    library, None for NumPy's.
    """
    if not _is_readable(tree, leaves):
        return None
    writer = _Reader(leaves, order, "NO_MATCH", library)
    writer.names |= {"NO_MATCH": NO_MATCH, **names}
    positional, named = tree.children()
    return writer.function(positional, named, "owner, args, kwargs", then)


def _is_readable(tree, leaves: Sequence[tuple[Any, ...]]) -> bool:
    return is_plain(tree, PARTS) and all(kind in _NUMBERS for _, _, *kinds in leaves for kind in kinds)


class _Reader:
    """Writes the function; each part is checked as soon as it is read.

    The keys of `ordered` dicts are compared last and together: one comparison costs no more than one length for each.
    """

    def __init__(self, leaves: Sequence[tuple[Any, ...]], order: Order, no_match: str, library: Any = None) -> None:
        self.leaves, self.order, self.no_match, self.library = leaves, order, no_match, library
        self.lines: list[str] = []
        self.parts = itertools.count()
        self.ordered: list[str] = []
        self.keys: list[str] = []
        self.converts = False  # whether a leaf of the arguments may not be an array yet
        self.names: dict[str, Any] = {"asarray": np.asarray, "ndarray": np.ndarray, "generator_array": generator_array}

    def function(self, args, kwargs, parameters: str = "args, kwargs", then: Sequence[str] = ()) -> Callable[..., Any]:
        """Return the function, which returns the leaves or goes on with the lines `then`."""
        self._arguments(args, "" if kwargs.num_children else "kwargs")
        if self.order is Order.ALL:
            self._in_order("kwargs", kwargs, args.num_leaves)
        elif kwargs.num_children:
            self._inside("kwargs", kwargs, args.num_leaves)
        if self.ordered:
            self.names["keys"] = self.keys
            self._reject_if(f"[{', '.join([f'*{name}' for name in self.ordered])}] != keys")
        leaves = ", ".join([f"x{i}" for i in range(len(self.leaves))])
        ending = [line.format(leaves=leaves) for line in then] or [f"return {self._leaves(args, kwargs)}"]
        reading = [f"    {line}" for line in self.lines]
        failing = ["except (KeyError, ValueError):", f"    return {self.no_match}"]
        body = ["try:", *reading, *failing, *ending] if reading else ending
        source = "\n    ".join([f"def match({parameters}):", *body])
        exec(code_of(source), self.names)
        return self.names["match"]

    def _arguments(self, args, also: str) -> None:
        """Write the lines for positional arguments: unpacking them counts them. `also` rejects too."""
        if not args.num_children:
            self._inside("args", args, 0, also)
            return
        self._reject_if(also)
        self._unpack("args", args.children(), 0)

    def _leaves(self, args, kwargs) -> str:
        """Return the source of the tuple of leaves: that of the arguments where it is the same."""
        if not (self.converts or kwargs.num_leaves) and all(part.is_leaf() for part in args.children()):
            return "args"
        return f"({''.join([f'x{i}, ' for i in range(len(self.leaves))])})"

    def _reject_if(self, *tests: str) -> None:
        if written := " or ".join(filter(None, tests)):
            self.lines.append(f"if {written}: return {self.no_match}")

    def _name(self, tree, first: int) -> str:
        """Return the local for a part of the arguments, whose first leaf has this number."""
        return f"x{first}" if tree.is_leaf() else f"a{next(self.parts)}"

    def _check(self, name: str, tree, first: int) -> None:
        """Write lines that check a local and leave its leaves in theirs."""
        if tree.is_leaf():
            self._leaf(name, *self.leaves[first])
        elif tree.kind.name == "NONE":
            self._reject_if(f"{name} is not None")
        elif tree.type in PARTS:
            self._parts(name, tree, first)
        else:
            self._reject_if(f"type({name}) is not {_KINDS[tree.kind.name]}")
            if tree.kind.name == "DICT" and self.order is not Order.NONE:
                self._in_order(name, tree, first)
            else:
                self._inside(name, tree, first)

    def _parts(self, name: str, tree, first: int) -> None:
        """Write the lines for an instance of a registered class."""
        parts, state = PARTS[tree.type]
        kind, own = f"k{name}", f"s{name}"
        example = tree.unflatten(range(tree.num_leaves))
        self.names |= {kind: tree.type, own: eval(state.format(name), {name: example})}
        self._reject_if(f"type({name}) is not {kind}", f"{state.format(name)} != {own}")
        self._unpack(parts.format(name), tree.children(), first)

    def _in_order(self, name: str, tree, first: int) -> None:
        """Write the lines for the values of a dict whose keys must come in the order of the structure.

        They need no length: each of the dicts has the keys that are read, and all together no more.
        """
        if tree.num_children < 2:
            self._inside(name, tree, first)
            return
        self.ordered.append(name)
        self.keys += tree.entries()
        self._items(name, tree, first)

    def _inside(self, name: str, tree, first: int, also: str = "") -> None:
        """Write the lines for the parts of a container, whose type was checked; `also` rejects too."""
        count = tree.num_children
        self._reject_if(f"len({name}) != {count}" if count else name, also)
        if tree.kind.name == "DICT":
            self._items(name, tree, first)
        elif count:
            self._unpack(name, tree.children(), first)

    def _items(self, name: str, tree, first: int) -> None:
        """Write the lines for the values of a dict."""
        for entry, part in zip(tree.entries(), tree.children(), strict=True):
            local = self._name(part, first)
            self.lines.append(f"{local} = {name}[{entry!r}]")
            self._check(local, part, first)
            first += part.num_leaves

    def _unpack(self, name: str, parts: Sequence[Any], first: int) -> None:
        """Write the lines for the parts of a tuple or list, of this length."""
        firsts = itertools.accumulate([part.num_leaves for part in parts[:-1]], initial=first)
        locals_ = [(self._name(part, number), part, number) for part, number in zip(parts, firsts, strict=True)]
        self.lines.append(f"{''.join([f'{local}, ' for local, _, _ in locals_])}= {name}")
        for local, part, number in locals_:
            self._check(local, part, number)

    def _leaf(self, x: str, dtype: np.dtype, rank: int, *kind: type) -> None:
        expected, kind_name = f"d{x[1:]}", f"t{x[1:]}"
        self.names[expected] = dtype
        if kind and kind[0] in drawing():
            self.names[kind_name] = kind[0]
            self._reject_if(f"type({x}) is not {kind_name}")
            self._convert(x, "generator_array")
            return
        wrong = f"({x}.dtype is not {expected} and {x}.dtype != {expected}) or {x}.ndim != {rank}"
        if kind and kind[0] is not np.ndarray:
            self.names[kind_name] = dtype.type if kind[0] is np.generic else kind[0]
            self._reject_if(f"type({x}) is not {kind_name}")
            self._convert(x, "asarray")
            if kind[0] not in _OF_ONE_DTYPE:
                self._reject_if(wrong)
            return
        if self.library is not None:
            self._reject_if(self.library.matches(x, self.names, dtype, rank))
            return
        if rank == 0 and not kind:
            self.names[kind_name] = dtype.type
            self._convert(x, "asarray", f"if type({x}) is {kind_name}: ")
        self._reject_if(f"type({x}) is not ndarray or {wrong}")

    def _convert(self, x: str, function: str, condition: str = "") -> None:
        """Write the line that makes an array of a leaf."""
        self.converts = True
        self.lines.append(f"{condition}{x} = {function}({x})")


def maker(tree: Any) -> Callable[[Sequence[Any]], Any]:
    """Return a function that builds the structure from a list of outputs."""
    if tree.is_leaf():
        return operator.itemgetter(0)
    if not is_plain(tree):
        return lambda outputs: unflatten(tree, outputs)
    names = [f"y{i}" for i in range(tree.num_leaves)]
    targets = f"    {', '.join(names)}, = outputs\n" if names else ""
    whole = _source(unflatten(tree, map(_Name, names)))  # dicts in the order in which unflatten makes them
    space: dict[str, Any] = {}
    exec(compile(f"def make(outputs):\n{targets}    return {whole}\n", "<anyshape results>", "exec"), space)
    return space["make"]


class _Name(str):
    """Name of a local, distinct from any str in the structure."""


def _source(part) -> str:
    """Return the source of a structure of names."""
    if part is None or isinstance(part, _Name):
        return str(part)
    if isinstance(part, dict):
        return f"{{{', '.join([f'{key!r}: {_source(x)}' for key, x in part.items()])}}}"
    inner = "".join([f"{_source(x)}, " for x in part])
    return f"[{inner}]" if isinstance(part, list) else f"({inner})"
