"""Nests of loops built once more for a profile: they say at each moment which line of the user runs, and are sampled.

The build is one of its own. The one that serves calls, and its text, stay as they are.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anyshape.backend.compiler.codegen.timers import Timers
from anyshape.backend.compiler.plan import Step
from anyshape.backend.native.nest_sites import Nests, key_of
from anyshape.backend.native.nest_source import NestText, nest_text
from anyshape.backend.native.nests import Nest, NestLibrary
from anyshape.graph.ir.graph import Op
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.ops.loops import Layout, scan_op

SECONDS = 1e-4  # between two looks; the system adds half as much
_HEADER = "volatile int64_t as_line;\n#define AS_LINE(number) as_line = number;\n"
_AT: dict[str, ctypes.c_int64] = {}  # the number of the line that runs, by names of functions


class LineNest(Nest):
    """Nest that says which line runs.

    - `seconds`: for how long each of its lines was seen to run, by number.
    - `trips`: of the last run of a scan, else 0. `has_run`: it did not leave the last run to NumPy.
    """

    def __init__(self, step: Step) -> None:
        op, params, metas, results = key_of(step)
        super().__init__(op, dict(params), metas, results)
        if self.is_waiting:
            NestLibrary([self]).poll(waits=True)
        self.seconds = [0.0] * (len(self.lines) + 1)
        self.trips, self.has_run = 0, False
        self._stack = Layout(*dict(params)["layout"]).stacks.start if op is scan_op else None

    @staticmethod
    def write(
        op: Op,
        params: dict[str, Any],
        metas: Sequence[TensorMeta],
        results: Sequence[TensorMeta],
        *,
        with_lines: bool = True,
    ) -> NestText:
        """Return the text with what stands before the lines of the user."""
        nest = nest_text(op, params, metas, results, with_lines=with_lines)
        return replace(nest, text=_HEADER + nest.text)

    @property
    def lines(self) -> Sequence[SourceLine]:
        """Lines of the user in the order of the text."""
        return self.text.sources if self.name else ()

    def install(self, library: ctypes.CDLL, name: str = "") -> None:
        """Take the function of a library, and its variable."""
        super().install(library, name)
        _AT[self.name] = ctypes.c_int64.in_dll(library, "as_line")

    def __call__(self, operands: Sequence[Any], shapes: Sequence[Any]) -> list[Any] | None:
        """Return what the nest returns for operands."""
        self.trips = 0 if self._stack is None else len(operands[self._stack])
        try:
            results = super().__call__(operands, shapes)
        finally:
            if self.name in _AT:
                _AT[self.name].value = 0
        self.has_run = results is not None
        return results

    def look(self, seconds: float) -> None:
        """Add the seconds since the last look to the line that runs, if one does."""
        if self.name in _AT and (number := _AT[self.name].value):
            self.seconds[number] += seconds


class TimedNests:
    """Gives what runs the loops of a plan that records its times: compiled ones are sampled."""

    def __init__(self, nests: Nests, timers: Timers) -> None:
        self.compiled = {key_of(site.step) for site in nests.sites if site.state.startswith("compiled")}
        self.timers = timers

    def site(self, step: Step, depth: int) -> LineNest | None:
        """Return what runs a loop, None where NumPy does."""
        if key_of(step) not in self.compiled:
            return None
        nest = self.timers.nests[id(step)] = LineNest(step)
        return nest


class Sampler:
    """Block in which a thread looks at the nests of timers now and then: C runs without the lock of the interpreter."""

    def __init__(self, timers: Timers) -> None:
        self.timers, self.is_over = timers, threading.Event()
        self.thread = threading.Thread(target=self._watch, name="anyshape profile", daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *error: object) -> None:
        self.is_over.set()
        self.thread.join()

    def _watch(self) -> None:
        last = time.perf_counter()
        while not self.is_over.is_set():
            time.sleep(SECONDS)
            now = time.perf_counter()
            for nest in list(self.timers.nests.values()):
                nest.look(now - last)  # a step that NumPy runs may hold the lock for long
            last = now
