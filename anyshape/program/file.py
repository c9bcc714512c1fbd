"""Program files: a zip archive of one JSON document and its constants as .npy. See docs/export.md.

The author of a file is not trusted:

- Nothing in it is executed, unpickled or evaluated.
- Sizes are checked before memory is allocated.
- Metadata of the graph are derived again.
"""

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import re
import secrets
import time
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import AnyshapeError, ArgumentError, ProgramFileError
from anyshape.graph.ir.encode import (
    MOST,
    Malformed,
    choice,
    decode_graph,
    encode_graph,
    fields,
    integer,
    items,
    printable,
    text,
)
from anyshape.graph.ir.graph import Graph, Value, replace_subgraphs, walk
from anyshape.graph.ir.validate import check_graph, check_subgraph
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.numpy.operands.promotion import NUMERIC
from anyshape.ops.core.definition import claims, problem
from anyshape.ops.subgraph_call import of_branch
from anyshape.program import saved_rules, saved_trees
from anyshape.support.fork_lock import collection_deferred
from anyshape.support.lazy_dataclass import replace
from anyshape.support.version import __version__
from anyshape.tracing.pytrees import Order, order_of_leaves
from anyshape.tracing.trace import Trace

Tick: TypeAlias = Callable[[], None]

FORMAT, VERSION = "anyshape program", 6
_WITHOUT_RECORDS = 5  # the last version whose files hold no named tuples and dataclasses
_WITHOUT_RULES = 4  # the last version whose files hold no derivative rules of the user
_PURE = 3  # the last version whose programs write to no argument
_SORTED = 2  # the last version whose leaves are in the order of sorted keys: older readers load these
_WITHOUT_SUBGRAPHS = 1  # the version of such files whose graph has no subgraphs
_DOCUMENT = "program.json"
_MAX_DOCUMENT = 1 << 26  # bytes
_MAX_DEPTH = 200
_MAX_DIGITS = 400
_MAX_SECONDS = 60.0  # of this thread; honest files take a few milliseconds, plus one per hundred nodes
_DATE = (1980, 1, 1, 0, 0, 0)  # fixed, so that the same program gives the same bytes


# -- writing


def save_trace(trace: Trace, graph: Graph, file: Any) -> None:
    """Write a program to a path or to a file that is open for bytes; after a failure the old content stays."""
    data = pack(trace, graph)
    _check_loadable(data, graph.name)
    if hasattr(file, "write"):
        file.write(data)
        return
    path = Path(file)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no folder to save a program in", str(path.parent))
    new = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        with open(new, "xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def _check_loadable(data: bytes, name: str) -> None:
    """Raise ArgumentError if `load` would refuse the bytes, as they exceed a limit."""
    try:
        _unpack(data, name, _Clock().tick)
    except Malformed as error:
        advice = "save a smaller program, whose arguments and results are flatter and have shorter keys"
        raise ArgumentError(name, "the program", f"exceeds what a file can hold: {error}", advice) from None


def pack(trace: Trace, graph: Graph) -> bytes:
    """Return the bytes of the file."""
    saved_rules.refuse_objects(graph)
    if trace.layouts:
        problem = "depends on how arguments lie in memory, and a file is for all"
        raise ArgumentError(graph.name, "the function", problem, "copy arguments first, x = x.copy()")
    if trace.raised is not None:
        problem = f"{trace.raised} on this path, and no file holds the exception"
        raise ArgumentError(graph.name, "the function", problem, "save the programs of other paths")
    graph = saved_rules.with_saved_rules(graph)
    body, arrays = encode_graph(graph)
    constants = [_npy(a) for a in arrays]
    program = {
        "graph": body,
        "arguments": saved_trees.encode_tree(trace.in_tree, graph.name, "an argument"),
        "result": saved_trees.encode_tree(trace.out_tree, graph.name, "the result"),
        "paths": [printable(p) for p in trace.paths],
        "labels": [printable(p) for p in trace.labels],
        "digests": [hashlib.sha256(c).hexdigest() for c in constants],
    }
    if (version := _version(trace, graph)) > _SORTED:
        program["order"] = trace.order.value
    if version > _PURE:
        program["written"], program["same"] = [*trace.written], [[*pair] for pair in trace.same]
    digest = hashlib.sha256(_canonical(program)).hexdigest()
    envelope = {"format": FORMAT, "version": version, "anyshape": __version__, "digest": digest, "program": program}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_DOCUMENT, _DATE), _canonical(envelope), zipfile.ZIP_DEFLATED)
        for i, constant in enumerate(constants):
            archive.writestr(zipfile.ZipInfo(_constant_name(i), _DATE), constant, zipfile.ZIP_STORED)
    return out.getvalue()


def _version(trace: Trace, graph: Graph) -> int:
    """Return the lowest version that can hold a program."""
    if any(map(saved_trees.has_records, (trace.in_tree, trace.out_tree))):
        return VERSION
    if any(isinstance(dict(node.params).get("rule"), saved_rules.ProgramRule) for node in walk(graph)):
        return _WITHOUT_RECORDS
    if trace.written:
        return _WITHOUT_RULES
    args, kwargs = trace.in_tree.children()
    parts = [args, kwargs] if trace.order is Order.ALL else [args, *kwargs.children()]
    ordered = trace.order is not Order.NONE and any(map(saved_trees.has_order, parts))
    if ordered or not saved_trees.has_sorted_keys(trace.out_tree):
        return _PURE
    return _SORTED if graph.subgraphs else _WITHOUT_SUBGRAPHS


def _constant_name(i: int) -> str:
    return f"constants/{i}.npy"


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=(1, 0), allow_pickle=False)
    return out.getvalue()


def _canonical(x) -> bytes:
    """Return JSON in canonical form, without floats: equal data are equal bytes."""
    return json.dumps(x, sort_keys=True, separators=(",", ":")).encode()


# -- reading


def read_trace(file: Any) -> Trace:
    """Return the trace of a program in a file: a path, or a file that is open for bytes."""
    if hasattr(file, "read"):
        if not isinstance(data := file.read(), bytes):
            advice = "open it in binary mode, as in open(path, 'rb')"
            raise ProgramFileError(_name_of(file), "is open for text", advice)
        return unpack(data, _name_of(file))
    return unpack(Path(file).read_bytes(), _name_of(file))


def _name_of(file) -> str:
    name = getattr(file, "name", None) if hasattr(file, "read") or hasattr(file, "write") else file
    return str(name) if isinstance(name, (str, os.PathLike)) else "the file"


def unpack(data: bytes, name: str) -> Trace:
    """Return the trace in the bytes of a file; raise ProgramFileError if they hold none."""
    try:
        return _unpack(data, name, _Clock().tick)
    except ProgramFileError:
        raise
    except Malformed as error:
        raise ProgramFileError(name, f"is damaged, or was not saved by anyshape: {error}") from None
    except zipfile.BadZipFile as error:
        raise ProgramFileError(name, f"is not a saved program, or is truncated: {error}") from None
    except AnyshapeError as error:
        raise ProgramFileError(name, f"holds a program that is not legal: {str(error).splitlines()[0]}") from error
    except (Exception, RecursionError) as error:  # of a parser of the library, on unknown bytes
        raise ProgramFileError(name, f"cannot be read: {type(error).__name__}: {str(error)[:200]}") from error


class _Clock:
    """Time limit of checks: `tick` raises Malformed after it."""

    def __init__(self) -> None:
        self.end = time.thread_time() + _MAX_SECONDS

    def tick(self) -> None:
        if time.thread_time() > self.end:
            raise Malformed(f"checking it takes more than {_MAX_SECONDS:g} seconds")


@collection_deferred()  # a collection in a proof would take the time that this has
def _unpack(data: bytes, name: str, tick: Tick) -> Trace:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = _members(archive, len(data))
        version, program = _program(_document(archive, members), name)
        names = ["graph", "digests", "arguments", "result", "paths", "labels"]
        names += [*["order"] * (version > _SORTED), *["written", "same"] * (version > _PURE)]
        graph, digests, *signature = fields(program, "the program", *names)
        digests = items(digests, "digests", MOST["constants"])
        expected = {_DOCUMENT, *[_constant_name(i) for i in range(len(digests))]}
        if members.keys() != expected:
            raise Malformed("its members are not those that it names")
        arrays = [_constant(archive.read(_constant_name(i)), digest) for i, digest in enumerate(digests)]
    rules: list[saved_rules.ProgramRule] = []
    decoded = _checked(decode_graph(graph, arrays, tick, _rule_maker(rules)), tick)
    for rule in rules:
        rule.programs = tuple([p._replace(graph=_checked(p.graph, tick)) for p in rule.programs])
    return _trace(decoded, *signature)


def _rule_maker(rules: list[saved_rules.ProgramRule]) -> Callable[..., saved_rules.ProgramRule]:
    def make(*parts) -> saved_rules.ProgramRule:
        rules.append(saved_rules.ProgramRule(*parts))
        return rules[-1]

    return make


def _trace(
    graph: Graph, arguments, result, paths, labels, order = "", written = (),
    same = ()
) -> Trace:  # fmt: skip
    """Return the trace of a graph; raise Malformed if its structures and names do not fit.

    The graph of a file without an order has its inputs and outputs in the order of sorted keys.
    """
    sort = order == ""
    order = Order.NONE if sort else Order(choice(order, "the order of keys", [o.value for o in Order]))
    in_tree, out_tree = (
        saved_trees.decode_tree(arguments, "the arguments", sort_keys=sort),
        saved_trees.decode_tree(result, "the result"),
    )
    effects = _written(graph, in_tree.num_leaves, out_tree.num_leaves, [*written], [*same])
    _check_structures(graph, in_tree, out_tree, len(effects[0]))
    count = in_tree.num_leaves
    paths, labels = (tuple([text(p, "a path") for p in items(ps, "paths", count)]) for ps in (paths, labels))
    if len(paths) != count or len(labels) not in (0, count) or len(graph.input_names) not in (0, count):
        raise Malformed("its names do not fit its graph")
    if sort:
        leaves = order_of_leaves(saved_trees.decode_tree(result, "the result", sort_keys=True), out_tree) or ()
        graph = replace(graph, outputs=tuple([graph.outputs[i] for i in leaves]))
    return Trace(graph, in_tree, out_tree, paths, labels, order, *effects)


def _written(
    graph: Graph, count: int, results: int, written, same
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Return which inputs a program writes to, and the results that are such inputs; raise Malformed if they cannot be.

    The last outputs of the graph are the values to write: each has the dtype of its input, and its rank.
    """
    positions = [integer(i, "a written argument", 0, count - 1) for i in items(written, "written arguments", count)]
    pairs = [items(p, "a result that is an argument", 2, 2) for p in items(same, "results that are arguments", results)]
    ends = graph.outputs[len(graph.outputs) - len(positions) :]
    alike = [_kind(graph.inputs[i]) == _kind(y) for i, y in zip(positions, ends, strict=False)]
    if sorted(set(positions)) != positions or not all(alike):
        raise Malformed("what it writes to does not fit its graph")
    for result, position in pairs:
        integer(result, "a result", 0, results - 1)
        if position not in positions or _kind(graph.outputs[result]) != _kind(graph.inputs[position]):
            raise Malformed("a result of it is not an argument that it writes to")
    return tuple(positions), tuple([(result, position) for result, position in pairs])


def _kind(value: Value) -> tuple[Any, int]:
    return value.meta.dtype, value.meta.rank


def _check_structures(graph: Graph, in_tree, out_tree, written: int) -> None:
    """Raise Malformed unless the graph has an input and an output for each leaf, and an output for each write."""
    is_pair = in_tree.type is tuple and [child.type for child in in_tree.children()] == [tuple, dict]
    count = len(graph.inputs) - graph.hidden
    if not is_pair or in_tree.num_leaves != count or out_tree.num_leaves + written != len(graph.outputs):
        raise Malformed("its structures do not fit its graph")


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; only the document may be compressed, so that none is larger than the file."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in items(archive.infolist(), "the archive", MOST["constants"] + 1, 1):
        if info.filename in members or info.flag_bits & 1:
            raise Malformed("it has a member twice, or an encrypted one")
        if info.filename != _DOCUMENT and (
            info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size
        ):
            raise Malformed("a constant is compressed")
        members[info.filename] = info
    if sum(info.compress_size for info in members.values()) > size:
        raise Malformed("its members overlap")
    return members


def _document(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]):
    """Return the document, read up to the limits of its size and depth."""
    info = members.get(_DOCUMENT)
    if info is None or info.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        raise Malformed(f"it has no {_DOCUMENT}")
    with archive.open(info) as member:
        raw = member.read(_MAX_DOCUMENT + 1)
    if len(raw) > _MAX_DOCUMENT:
        raise Malformed(f"its document has more than {_MAX_DOCUMENT} bytes")
    depth = 0
    for match in re.finditer(rb'(?s)"(?:[^"\\]|\\.)*+"?|[\[\]{}]', raw):
        if (token := match[0]) in b"[{":
            depth += 1
            if depth > _MAX_DEPTH:
                raise Malformed("its document is nested too deep")
        elif token in b"]}":
            depth -= 1
    return json.loads(raw, object_pairs_hook=_object, parse_int=_int, parse_float=_refuse, parse_constant=_refuse)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise Malformed("an object of its document has a key twice")
    return entries


def _int(digits: str) -> int:
    return int(digits) if len(digits) <= _MAX_DIGITS else _refuse(digits)


def _refuse(number: str):
    raise Malformed(f"its document holds the number {number:.50}")


def _program(document, name: str) -> tuple[int, Any]:
    """Return the version and the program of a document; check format, version and digest."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Malformed("its document is not a program")
    version = integer(document.get("version"), "its version", 1, 2**31)
    by = text(document.get("anyshape"), "the version of anyshape")
    if version > VERSION:
        why = f"has version {version} of the format, written by anyshape {by}; this one reads up to version {VERSION}"
        raise ProgramFileError(name, why, f"load it with anyshape {by} or newer, or save it with this one", version)
    _, _, _, digest, program = fields(document, "the document", "format", "version", "anyshape", "digest", "program")
    if digest != hashlib.sha256(_canonical(program)).hexdigest():
        raise Malformed("its digest does not fit")
    return version, program


def _constant(data: bytes, digest) -> np.ndarray:
    """Return the read-only array of a constant, whose header must describe exactly its bytes."""
    if digest != hashlib.sha256(data).hexdigest():
        raise Malformed("the digest of a constant does not fit")
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise Malformed("a constant is of an unknown version of NumPy's format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    start = stream.tell()
    if dtype.kind not in NUMERIC or any(type(s) is not int or s < 0 for s in shape) or len(shape) > 64:
        raise Malformed(f"a constant is {dtype} of the shape {shape}")
    count = math.prod(shape)
    if count * dtype.itemsize != len(data) - start:
        raise Malformed(f"a constant of {len(data) - start} bytes is said to be {dtype} of the shape {shape}")
    flat = np.frombuffer(data, dtype, count, start).astype(dtype.newbyteorder("="))
    array = flat.reshape(shape, order="F" if fortran else "C")
    array.flags.writeable = False
    return array


def _checked(graph: Graph, tick: Tick, check: Callable[[Graph, Tick], None] = check_graph) -> Graph:
    """Return the graph; raise if a node violates its op's definition, or a shape rule contradicts its result.

    Claims that nodes need and that are not proved become assertions.
    """
    graph = _with_checked_subgraphs(graph, tick)
    scope = Scope(conditions=graph.conditions, runtime=graph.runtime)
    for node in graph.nodes:
        tick()
        if wrong := problem(node):
            raise Malformed(wrong)
    check(graph, tick)
    for node in graph.nodes:
        tick()
        for claim in claims(node, scope):
            scope.require(claim, node.op.name, "it would leave its operand", (), node.where)
    return (
        graph if len(scope.conditions) == len(graph.conditions) else replace(graph, conditions=tuple(scope.conditions))
    )


def _with_checked_subgraphs(graph: Graph, tick: Tick) -> Graph:
    """Return the graph with each subgraph checked; what these assert of their inputs is asserted of the operands."""
    if not graph.subgraphs:
        return graph
    scope = Scope(conditions=graph.conditions, runtime=graph.runtime)
    nodes = []
    for node in graph.nodes:
        inner = graph.subgraphs.get(node, ())
        checked = {id(g): of_branch(partial(_checked, tick=tick, check=check_subgraph), g) for g in inner}
        if any(checked[id(g)] is not g for g in inner):
            node = replace_subgraphs(node, checked)
            context = ShapeGuardContext(scope, node.op.name, node.where, [v.meta for v in node.operands])
            node.op.infer(context, *[v.meta for v in node.inputs], **dict(node.params))
        nodes.append(node)
    if all(new is old for new, old in zip(nodes, graph.nodes, strict=True)):
        return graph
    gained = [c for c in scope.conditions[len(graph.conditions) :] if c.kind == "assertion"]
    return replace(graph, nodes=tuple(nodes), conditions=(*graph.conditions, *gained))
