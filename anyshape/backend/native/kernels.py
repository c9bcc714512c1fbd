"""Kernels of a plan: built in the background or at once, tested against NumPy, and then put in place.

The generated function of a plan looks a kernel up by its name in its scope, and finds None until the kernel is there.
So a build never holds up a call, and a call that runs meanwhile is not disturbed.
"""

import ctypes
import logging
import math
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.tiles import TILE_NAMES, GroupSource
from anyshape.backend.compiler.plan import Step
from anyshape.backend.native import launch
from anyshape.backend.native.c_source import KernelText, kernel_text
from anyshape.backend.native.launch import LAUNCH_NAMES, disagreement, launcher_source, limited, most_elements
from anyshape.backend.native.statements import NotExpressible, statements_of
from anyshape.backend.native.toolchain import BuildError, CompileError, build
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.indexing import put_add_op

_LOG = logging.getLogger("anyshape.kernels")


@dataclass(frozen=True, eq=False, slots=True)
class _Group:
    """Group whose kernel is written: the name, the writer of its tiles, the text, and the source of the launcher."""

    name: str
    writer: GroupSource
    kernel: KernelText
    source: str

    def launcher(self, function: Any, namespace: dict[str, Any], most: float = math.inf) -> Callable[..., Any]:
        """Return the function that calls the kernel, for up to `most` elements."""
        source = limited(self.source, self.writer, most)
        scope = {**namespace, **TILE_NAMES, **LAUNCH_NAMES, f"{self.name}_kernel": function}
        exec(compile(source, f"<anyshape kernel {self.name}>", "exec"), scope)
        launcher: Callable[..., Any] = scope[self.name]
        return launcher


@dataclass(eq=False)
class PlanKernels:
    """Kernels of the groups of one plan, and what became of each.

    - `mode`: "background" or "wait".
    - `states`: for each group that was seen, "waiting", "compiled", or why NumPy runs it.
    """

    mode: str
    states: dict[str, str] = field(default_factory=dict)
    _groups: list[_Group] = field(default_factory=list)
    _steps: dict[str, np.dtype] = field(default_factory=dict)  # steps that sum rows, with their dtypes

    def add(self, name: str, writer: GroupSource) -> bool:
        """Write the kernel of a group under a name. Return False if no kernel can compute the group."""
        try:
            kernel = kernel_text(statements_of(writer.group, writer.read, list(writer.written)))
        except NotExpressible as reason:
            self.states[name] = f"NumPy: {reason}"
            return False
        self._groups.append(_Group(name, writer, kernel, launcher_source(name, writer, kernel)))
        self.states[name] = "waiting"
        return True

    def step_function(self, step: Step, threads: int | None) -> Callable[..., Any] | None:
        """Return the kernel of a step that sums rows with machine code once it is built; None for other steps."""
        if step.op is not put_add_op:
            return None
        dtype, name = step.results[0].dtype, f"{step.op.name} {len(self._steps)}"
        if (function := launch.step_function(KERNELS[step.op].run, dtype, threads)) is not None:
            self._steps[name], self.states[name] = dtype, "waiting"
        return function

    def build(self, namespace: dict[str, Any]) -> None:
        """Build the kernels now or in the background, and put them into the scope of the plan's function."""
        if not self._groups and not self._steps:
            return
        if self.mode == "wait":
            self._build(namespace)
        else:
            _BUILDS.put(lambda: self._build(namespace))

    def _build(self, namespace: dict[str, Any]) -> None:
        self.build_steps()
        if self._groups:
            self._build_groups(namespace)

    def build_steps(self) -> None:
        """Build what the kernels of steps share, and record its state."""
        self.states.update({name: launch.SUMS.state(dtype) for name, dtype in self._steps.items()})

    def _build_groups(self, namespace: dict[str, Any]) -> None:
        try:
            library = loaded(self.text("kernel"))
        except (BuildError, OSError) as error:
            if isinstance(error, (CompileError, OSError)) and len(self._groups) > 1:
                for group in self._groups:
                    PlanKernels(self.mode, self.states, [group])._build_groups(namespace)
            else:
                self.states.update({group.name: f"NumPy: {error}" for group in self._groups})
                _LOG.debug("kernels: %s", error)
        else:
            self.install(library, "kernel", namespace)

    def text(self, prefix: str) -> str:
        """Return the text of all kernels in C, whose names begin with a prefix."""
        return "\n".join([group.kernel.text.replace("@name@", f"{prefix}_{i}") for i, group in enumerate(self._groups)])

    def install(self, library: ctypes.CDLL, prefix: str, namespace: dict[str, Any]) -> None:
        """Put the kernels of a library into the scope of the plan's function."""
        for i in range(len(self._groups)):
            group = self._groups[i]
            try:
                self._install(group, getattr(library, f"{prefix}_{i}"), namespace)
            except Exception as error:
                _LOG.exception("kernel %s could not be tested", group.name)
                self.states[group.name] = f"NumPy: its test failed: {error!r}"

    def _install(self, group: _Group, function, namespace: dict[str, Any]) -> None:
        """Test a kernel, time it, put it in place, and record its state."""
        function.restype = ctypes.c_int64
        function.argtypes = [ctypes.c_int64] * 3 + [ctypes.py_object] + [ctypes.c_int64] * len(group.kernel.sizes)
        launcher, steps = group.launcher(function, namespace), group.writer.group
        if wrong := disagreement(steps, group.writer, launcher):
            level = logging.WARNING if "differs" in wrong else logging.DEBUG
            _LOG.log(level, "kernel %s is not used: %s", group.name, wrong)
            self.states[group.name] = f"NumPy: {wrong}"
            return
        if not (most := most_elements(steps, group.writer, launcher)):
            self.states[group.name] = "NumPy: it is faster"
            return
        namespace[group.name] = launcher if most == math.inf else group.launcher(function, namespace, most)
        self.states[group.name] = "compiled" if most == math.inf else f"compiled for up to {most} elements"


def loaded(text: str) -> ctypes.CDLL:
    """Return the library of a text."""
    return ctypes.CDLL(str(build(text)))


class _Builds:
    """Queue of builds, and the thread that takes them; it does not keep the process alive."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start empty; a forked process has no thread of its parent."""
        self.lock = threading.Lock()
        self.waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None

    def put(self, run: Callable[[], None]) -> None:
        """Have a build run later."""
        self.waiting.put(run)
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(target=self._serve, name="anyshape kernels", daemon=True)
                self.thread.start()

    def _serve(self) -> None:
        while True:
            run = self.waiting.get()
            try:
                run()
            except Exception:
                _LOG.exception("a kernel was not built")


_BUILDS = _Builds()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BUILDS.reset)


def wait_for_kernels(kernels: Sequence[PlanKernels], seconds: float) -> bool:
    """Wait until no kernel of these plans is waiting; return whether that came about in time."""
    done = threading.Event()
    _BUILDS.put(done.set)
    done.wait(seconds)
    return not any(state == "waiting" for k in kernels for state in k.states.values())
