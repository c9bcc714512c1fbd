"""Steps of a nest of loops that C does not have: NumPy's kernels run them, on memory of the nest.

A packet of int64 passes a step: its number, then for each operand and each result the address and the sizes. Where the
sizes of results are not known before, the addresses are 0, and the run writes the sizes. A second packet, whose number
is negative, then fetches the results.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import struct
import threading
import types
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import runs_user_code
from anyshape.backend.native.nest_values import Array, Lines, Sizes, Texts, kind_of, scalar
from anyshape.backend.native.statements import NotExpressible
from anyshape.graph.ir.graph import Node, happens_once
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.ops.core.apply import KERNELS, resolve

MOST_CALLS = 512  # sets of addresses and sizes that are remembered for a step
INTERRUPTED = 32  # the status of a run that ends with what a handler of signals raised


def called_into(lines: Lines, node: Node, operands: Sequence[Array], target: Array) -> None:
    """Write the lines that let NumPy run a step with one result, whose memory is there."""
    apart = [x if x.buffer is not None or not x.dims else lines.copied(x) for x in operands]
    words = [str(len(lines.called)), *[word for x in apart for word in _operand_words(lines, x, is_read=True)]]
    lines.called.append(node)
    packet = lines.name("q")
    words += [_address(target), *target.dims]
    lines.add(f"int64_t {packet}[] = {{{', '.join(words)}}};", _call(packet))


def called(lines: Lines, node: Node, operands: Sequence[Array], sizes: Sizes) -> list[Array]:
    """Write the lines that let NumPy run a step, and return its results. Raises NotExpressible."""
    if node.op.has_subgraphs or runs_user_code(node) or happens_once(node):
        raise NotExpressible(f"{node.op} has no statement in C")
    number, packet, metas = len(lines.called), lines.name("q"), [v.meta for v in node.outputs]
    lines.called.append(node)
    words = [str(number)]
    for k, x in enumerate(operands):
        words += _operand_words(lines, x, is_read=k < len(node.inputs))
    known = [dims for meta in metas if (dims := _dims(lines, meta, sizes)) is not None]
    if len(known) < len(metas):
        return _fetched(lines, number, packet, words, metas)
    results = [_target(lines, meta, dims) for meta, dims in zip(metas, known, strict=True)]
    words += [word for x in results for word in (_address(x), *x.dims)]
    lines.add(f"int64_t {packet}[] = {{{', '.join(words)}}};", _call(packet))
    return results


def _fetched(lines: Lines, number: int, packet: str, words: Sequence[str], metas: Sequence[TensorMeta]) -> list[Array]:
    """Write the lines of a step whose run decides the sizes of results, and return the results."""
    unknown = [word for meta in metas for word in ("0", *["-1"] * meta.rank)]
    lines.add(f"int64_t {packet}[] = {{{', '.join([*words, *unknown])}}};", _call(packet))
    at, results = len(words), []
    for meta in metas:
        dims = tuple([lines.size(f"{packet}[{at + 1 + axis}]") for axis in range(meta.rank)])
        results.append(_target(lines, meta, dims))
        lines.add(f"{packet}[{at}] = {_address(results[-1])};")
        at += 1 + meta.rank
    lines.add(f"{packet}[0] = {-1 - number};", _call(packet))
    return results


def _call(packet: str) -> str:
    return f"if ((status = as_call(call, {packet}, &flags))) goto fail;"


def _operand_words(lines: Lines, x: Array, *, is_read: bool) -> list[str]:
    """Return the words of an operand; what is read for its sizes alone has no address."""
    if not is_read:
        return ["0", *x.dims]
    if not x.dims:
        local = lines.name("x")
        lines.add(f"{x.kind} {local} = {x.at(())};")
        return [f"(int64_t)&{local}"]
    lines.settle(x)
    assert x.buffer is not None
    return [f"(int64_t){x.buffer.name}", *x.dims]


def _dims(lines: Lines, meta: TensorMeta, sizes: Sizes) -> Texts | None:
    """Return texts of the sizes of a result, None where a run decides them."""
    if meta.sizes is None:
        return None
    try:
        return tuple([lines.size(sizes.text(size)) for size in meta.sizes])
    except NotExpressible:
        return None


def _target(lines: Lines, meta: TensorMeta, dims: Texts) -> Array:
    """Return memory for a result; that of a number is a local."""
    if dims:
        return lines.allocated(meta.dtype, dims)
    local = lines.name("v")
    lines.add(f"{kind_of(meta.dtype)} {local};")
    return scalar(meta.dtype, local)


def _address(x: Array) -> str:
    return f"(int64_t)&{x.at(())}" if x.buffer is None else f"(int64_t){x.buffer.name}"


class CalledStep:
    """Step that NumPy runs on memory of a nest."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.ranks = [v.meta.rank for v in (*node.operands, *node.outputs)]
        self.has_many = len(node.outputs) > 1
        self.length = 1 + sum(self.ranks) + len(self.ranks)
        self.calls: dict[bytes, tuple[Callable[[], Any], Sequence[Any] | None]] = {}

    def run(self, address: int) -> None:
        """Run the step for a packet. Raises where NumPy would raise or warn, and where sizes differ from the rule."""
        key = ctypes.string_at(address, 8 * self.length)
        bound = self.calls.get(key)
        if bound is None:
            if len(self.calls) >= MOST_CALLS:
                self.calls.clear()
            bound = self.calls[key] = self._bound(struct.unpack(f"{self.length}q", key))
        run, targets = bound
        results = run() if self.has_many or key[7] else (run(),)  # what is fetched is a tuple
        if targets is None:
            self._announce(address, results)
            return
        for target, result in zip(targets, results, strict=True):
            if target.ndim and result.shape != target.shape:
                raise ValueError("a result of another size than its rule says")
            target[...] = result

    def _announce(self, address: int, results: Sequence[Any]) -> None:
        """Write the sizes of results into a packet; another one fetches the results."""
        RUNS.results = results
        sizes = [n for result in results for n in (0, *np.shape(result))]
        words = (ctypes.c_int64 * self.length).from_address(address)
        words[self.length - len(sizes) :] = sizes

    def _bound(self, words: tuple[int, ...]) -> tuple[Callable[[], Any], Sequence[Any] | None]:
        """Return the kernel for operands at these addresses, and the arrays of results if they have addresses."""
        node, at, arrays = self.node, 1, []
        for k, (value, rank) in enumerate(zip((*node.operands, *node.outputs), self.ranks, strict=True)):
            shape = words[at + 1 : at + 1 + rank]
            arrays.append(_array(words[at], value.meta.dtype, shape, is_read=k < len(node.operands)))
            at += 1 + rank
        operands, results = arrays[: len(node.operands)], arrays[len(node.operands) :]
        if words[0] < 0:
            return RUNS.fetched, results
        params, op_kernel = resolve(dict(node.params), operands), KERNELS[node.op]
        inputs = operands[: len(node.inputs)]
        special = op_kernel.specialise and op_kernel.specialise(params, [tensor(x.dtype, x.shape) for x in inputs])
        run = functools.partial(special or functools.partial(op_kernel.run, **params), *inputs)
        return run, None if any(result is None for result in results) else results


def _array(address: int, dtype: np.dtype, shape: tuple[int, ...], *, is_read: bool) -> Any:
    """Return memory of a nest as an array; operands cannot be written to, nor can what is there for its sizes alone."""
    if not address and not is_read:
        return None
    if not address or not math.prod(shape):
        return np.broadcast_to(np.zeros((), dtype), shape) if is_read else np.empty(shape, dtype)
    interface = {"version": 3, "data": (address, is_read), "shape": shape, "typestr": dtype.str}
    return np.asarray(types.SimpleNamespace(__array_interface__=interface))


class _Runs(threading.local):
    """Functions that C calls while a nest runs in this thread: handlers of signals, and steps that NumPy runs.

    Both are generators: a handler of signals runs where one goes on, so inside of `try`.

    - `steps`: the steps of the nest. `results`: what a step has given, until it is fetched.
    - `error`: what a handler raised.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.steps: Sequence[CalledStep] = ()
        self.results: Sequence[Any] = ()
        self.error: BaseException | None = None
        calls = self._calls()
        next(calls)
        self.call = CALL(calls.send)
        looks = self._calls()
        next(looks)
        self.look = LOOK(functools.partial(looks.send, 0))

    def _calls(self) -> Generator[int, int, None]:
        """Give 0, 1 where NumPy is to serve the call, or 32 once a handler has raised."""
        result = 0
        while True:
            try:
                address = yield result
                result = 0
                if address:
                    number = _NUMBER.from_address(address).value
                    self.steps[number if number >= 0 else -1 - number].run(address)
            except GeneratorExit:
                return
            except BaseException as error:
                if address and _is_of_kernel(error):
                    result = 1
                else:
                    self.error, result = error, INTERRUPTED

    def fetched(self) -> Sequence[Any]:
        """Return the results that a step has announced."""
        results, self.results = self.results, ()
        return results

    def run(self, steps: Sequence[CalledStep], function: Callable[..., int], arrays: Any, rows: Any, links: Any) -> int:
        """Return the status of a run, or raise what a handler raised. Steps raise where NumPy would warn."""
        before, self.steps = self.steps, steps
        try:
            with np.errstate(**_strict()) if steps else _AS_SET:
                status = function(arrays, rows, self.look, self.call, links)
        finally:
            self.steps = before
        if status & INTERRUPTED:
            error = self.error or KeyboardInterrupt()
            self._begin()
            raise error
        return status


def _strict() -> Any:
    """Return the modes of NumPy's errors, with errors in place of all that is reported."""
    return {kind: "ignore" if mode == "ignore" else "raise" for kind, mode in np.geterr().items()}


def _is_of_kernel(error: BaseException) -> bool:
    """Return whether a kernel has raised an error: a handler of signals is code of the user."""
    modules, traceback = set(), error.__traceback__
    while traceback is not None:
        modules.add(traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0])
        traceback = traceback.tb_next
    return isinstance(error, Exception) and modules <= {"anyshape", "numpy", "scipy"}


_AS_SET: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
_NUMBER = ctypes.c_int64
LOOK, CALL = ctypes.CFUNCTYPE(ctypes.c_int), ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)
RUNS = _Runs()
