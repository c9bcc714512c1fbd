"""Nests of loops as machine code: written and built once for all sizes, and run in place of the NumPy steps of a loop.

A run works on copies of carries, so what it leaves to NumPy, an index out of range for one, begins again unchanged.
"""

import ctypes
import functools
import hashlib
import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anyshape.backend.native.launch import declines
from anyshape.backend.native.nest_calls import CALL, LOOK, RUNS, CalledStep
from anyshape.backend.native.nest_loops import addresses
from anyshape.backend.native.nest_source import MOST_AXES, nest_text
from anyshape.backend.native.statements import NotExpressible
from anyshape.backend.native.toolchain import Build, BuildError, CompileError
from anyshape.graph.ir.graph import Node
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.ops.contraction import dot_general_op
from anyshape.support.fork_lock import Lock

_LOG = logging.getLogger("anyshape.kernels")
_BUILT: dict[str, Callable[..., int]] = {}  # functions of this process by their names, which tell their texts


@functools.cache
def _header() -> str:
    """Return the text that stands before a nest."""
    return (Path(__file__).parent / "nest_header.c").read_text(encoding="utf-8")


class _Result(ctypes.Structure):
    """Result whose sizes a run decided, in memory of C."""

    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.c_int64 * MOST_AXES)]


class Nest:
    """Loop with all loops and branches in it.

    - `state`: "waiting", "compiled", or why NumPy runs it.
    - `library`: what builds it.
    """

    library: "NestLibrary | None" = None

    def __init__(
        self, op: Any, params: dict[str, Any], metas: Sequence[TensorMeta], results: Sequence[TensorMeta]
    ) -> None:
        self.metas, self.results = metas, results
        self.state, self.name = "waiting", ""
        self.function: Callable[..., int] | None = None
        try:
            self.text = self.write(op, params, metas, results)
            self.steps = [CalledStep(node) for node in self.text.called]
            self.name = f"nest_{hashlib.sha256(self.text.text.encode()).hexdigest()[:16]}"
        except NotExpressible as reason:
            self.state = f"NumPy: {reason}"
        except Exception as error:  # NumPy serves the calls
            _LOG.exception("a nest could not be written")
            self.state = f"NumPy: it could not be written: {error!r}"
        if self.name in _BUILT:
            self._take(_BUILT[self.name])

    write = staticmethod(nest_text)

    @property
    def is_waiting(self) -> bool:
        """True while a build may come to an end."""
        return self.state == "waiting"

    def poll(self, *, waits: bool = False) -> bool:
        """Return whether the nest is built; begin or go on with its build."""
        asked = None
        while self.is_waiting and asked is not self.library:
            asked = self.library or NestLibrary([self])
            asked.poll(waits=waits)
        return self.function is not None

    def install(self, library: ctypes.CDLL, name: str = "") -> None:
        """Take the function of a library, by this name or its own."""
        function = getattr(library, name or self.name)
        function.restype = ctypes.c_int64
        function.argtypes = [ctypes.py_object, ctypes.c_void_p, LOOK, CALL, ctypes.c_void_p]
        _BUILT[self.name] = function
        self._take(function)

    def _take(self, function: Callable[..., int]) -> None:
        """Take a function, and say which steps NumPy runs."""
        self.links = addresses(self.text.links)
        steps = [f"{step.node.op} at {step.node.where}" for step in self.steps if not _is_in_c(step.node)]
        by_numpy = f", with {', '.join(dict.fromkeys(steps))} by NumPy" if steps else ""
        self.function, self.state = function, f"compiled{by_numpy}"

    def __call__(self, operands: Sequence[Any], shapes: Sequence[tuple[Any, ...]]) -> list[Any] | None:
        """Return the results for operands, given the sizes of results that are known; None: NumPy is to serve them."""
        arrays = [_in_c_order(x, m.dtype) for x, m in zip(operands, self.metas, strict=True)]
        columns = list(zip(self.text.kinds, shapes, self.results, strict=True))
        passed = [
            arrays[k].copy() if kind == "carry" else np.empty(shape, meta.dtype)
            for k, (kind, shape, meta) in enumerate(columns)
            if kind != "sizes"
        ]
        sized = (_Result * (len(columns) - len(passed) or 1))()
        function = self.function
        if function is None:
            return None  # another thread has left it to NumPy
        status = RUNS.run(self.steps, function, (np.ndarray, *arrays, *passed), sized, self.links)
        if status and declines(status):
            for one in sized:
                _LIBC.free(one.data)
            return None
        return _results(columns, passed, sized)


def _is_in_c(node: Node) -> bool:
    """Return whether NumPy runs a step at large sizes alone."""
    return node.op is dot_general_op and node.outputs[0].meta.dtype.kind in "fc"


class NestLibrary:
    """Nests that one run of the compiler builds."""

    def __init__(self, nests: Sequence[Nest]) -> None:
        self.nests = list(dict.fromkeys(nests))
        self._build: Build | None = None
        self._lock = Lock()
        for nest in self.nests:
            nest.library = self

    @property
    def text(self) -> str:
        """Text of the functions."""
        texts = {nest.name: nest.text.text.replace("@name@", nest.name) for nest in self.nests}
        return "\n".join([_header(), *texts.values()])

    def poll(self, *, waits: bool) -> None:
        """Begin or go on with the build."""
        if not self._lock.acquire(blocking=waits):
            return  # another thread looks at the compiler
        try:
            if any(nest.is_waiting for nest in self.nests):
                self._advance(waits)
        finally:
            self._lock.release()

    def _advance(self, waits: bool) -> None:
        """Go on with the build, and take the functions once it is over."""
        try:
            if self._build is None:
                self._build = Build(self.text)
            if waits:
                self._build.finish()
            if self._build.poll(one_at_a_time=True):
                self.install(ctypes.CDLL(str(self._build.result())))
        except (BuildError, OSError) as error:
            self.decline(error)

    def install(self, library: ctypes.CDLL) -> None:
        """Let nests take their functions of a library."""
        for nest in self.nests:
            nest.install(library)

    def decline(self, error: Exception, others: int = 0) -> None:
        """Build each nest by itself where the compiler refuses the text of all with others, else leave it to NumPy."""
        waiting = [nest for nest in self.nests if nest.is_waiting]
        for nest in waiting:
            if isinstance(error, CompileError) and len(self.nests) + others > 1:
                NestLibrary([nest])
            else:
                nest.state = f"NumPy: {error}"


@functools.lru_cache(maxsize=512)
def nest_of(op: Any, params: Any, metas: Any, results: Any) -> Nest:
    """Return the nest of a loop, which all plans with that loop share."""
    return Nest(op, dict(params), metas, results)


_LIBC = ctypes.CDLL(None)
_LIBC.free.argtypes = [ctypes.c_void_p]


def _in_c_order(x: Any, dtype: np.dtype) -> np.ndarray:
    """Return an operand as an aligned array in C order."""
    array = np.asarray(x, dtype, order="C")
    return array if array.flags.aligned else array.copy()


def _results(columns: Sequence[Any], passed: Sequence[np.ndarray], sized: Any) -> list[Any] | None:
    """Return the results of a run in order; None where one has another size than is known, which NumPy refuses."""
    left, own = iter(sized), iter(passed)
    results = [_taken(next(left), meta) if kind == "sizes" else next(own) for kind, _, meta in columns]
    for x, (kind, shape, _) in zip(results, columns, strict=True):
        if kind == "sizes" and any(known not in (None, n) for n, known in zip(x.shape, shape, strict=True)):
            return None
    return [x if x.ndim else x[()] for x in results]


class _Memory:
    """Memory of C that an array reads and writes, which is freed after the array."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.address = address
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "typestr": dtype.str}

    def __del__(self, free: Callable[[int], Any] = _LIBC.free) -> None:
        free(self.address)


def _taken(result: Any, meta: TensorMeta) -> np.ndarray:
    """Return a result as an array, which has its memory from then on; without memory, its elements are 0."""
    shape = tuple(result.dims[: meta.rank])
    if not result.data or not math.prod(shape):
        _LIBC.free(result.data)
        return np.zeros(shape, meta.dtype)
    return np.asarray(_Memory(result.data, shape, meta.dtype))
