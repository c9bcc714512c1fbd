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
from anyshape.backend.native.nest_parts import Parts, parts_of
from anyshape.backend.native.nest_shared import with_shared_loops
from anyshape.backend.native.nest_source import MOST_AXES, nest_text
from anyshape.backend.native.statements import NotExpressible
from anyshape.backend.native.toolchain import Build, BuildError, CompileError, in_parts
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


def with_header(functions: Sequence[str]) -> str:
    """Return the text of functions of nests, and of others, which stand before them."""
    others, nests = [f for f in functions if "int64_t nest_" not in f], [f for f in functions if "int64_t nest_" in f]
    return "\n".join([*others, _header(), with_shared_loops(nests)] if nests else others)


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
        self.metas, self.results, self.dtypes = metas, results, [m.dtype for m in metas]
        self.state, self.name = "waiting", ""
        self.function: Callable[..., int] | None = None
        self.parts: Parts | None = None
        try:
            self.text = self.write(op, params, metas, results)
            kinds = [(k, kind == "carry", m.dtype) for k, (kind, m) in enumerate(zip(self.text.kinds, results))]
            self.sized = [k for k, kind in enumerate(self.text.kinds) if kind == "sizes"]
            self.passed = [one for one in kinds if one[0] not in self.sized]
            self.steps = [CalledStep(node) for node in self.text.called]
            self.parts = None if self.steps else parts_of(op, params, self.text.kinds)
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
        arrays = [*map(_in_c_order, operands, self.dtypes)]
        passed = [arrays[k].copy() if is_carry else np.empty(shapes[k], d) for k, is_carry, d in self.passed]
        if self.parts is not None and (ends := self.parts.ends(arrays)) is not None:
            results = self.parts.run(self._results, arrays, passed, ends, calls=bool(self.text.links))
        else:
            results = self._results(arrays, passed)
        if results is None or (self.sized and not all(_fits(results[k].shape, shapes[k]) for k in self.sized)):
            return None  # NumPy refuses such sizes
        return [x if x.ndim else x[()] for x in results]

    def _results(self, arrays: Sequence[np.ndarray], passed: Sequence[np.ndarray]) -> list[Any] | None:
        """Return the results for operands; `passed` is memory of those that have known sizes."""
        function = self.function
        if function is None:
            return None  # another thread has left it to NumPy
        sized = (_Result * len(self.sized))() if self.sized else None
        status = RUNS.run(self.steps, function, (_NDARRAY, *arrays, *passed), sized, self.links)
        if status and declines(status):
            for one in sized or ():
                _LIBC.free(one.data)
            return None
        results = [*passed]
        for k, one in zip(self.sized, sized or (), strict=True):
            results.insert(k, _taken(one, self.results[k]))
        return results


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
    def functions(self) -> list[str]:
        """Text of each function."""
        texts = {nest.name: nest.text.text.replace("@name@", nest.name) for nest in self.nests}
        return [*texts.values()]

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
                self._build = Build(in_parts(self.functions, with_header))
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


_NDARRAY, _FIT = np.ndarray, 0x101  # flags of an array that is aligned and in C order
_LIBC = ctypes.CDLL(None)
_LIBC.free.argtypes = [ctypes.c_void_p]


def _in_c_order(x: Any, dtype: np.dtype) -> np.ndarray:
    """Return an operand as an aligned array in C order."""
    if type(x) is _NDARRAY and x.dtype is dtype and x.flags.num & _FIT == _FIT:
        return x
    array = np.asarray(x, dtype, order="C")
    return array if array.flags.aligned else array.copy()


def _fits(shape: Sequence[int], known: Sequence[int | None]) -> bool:
    """Return whether the sizes of a result are those that are known before the run."""
    return all(size in (None, n) for n, size in zip(shape, known, strict=True))


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
