"""Kernels of a plan: built in the background or at once, tested against NumPy, and then put in place.

The generated function of a plan looks a kernel up by its name in its scope, and finds None until the kernel is there.
So a build never holds up a call, and a call that runs meanwhile is not disturbed.
"""

from __future__ import annotations

import ctypes
import logging
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from anyshape.backend.compiler.codegen.tiles import TILE_NAMES, GroupSource
from anyshape.backend.native.c_source import KernelText, kernel_text
from anyshape.backend.native.launch import LAUNCH_NAMES, launcher_source
from anyshape.backend.native.self_test import disagreement
from anyshape.backend.native.statements import NotExpressible, statements_of
from anyshape.backend.native.toolchain import BuildError, build

_LOG = logging.getLogger("anyshape.kernels")


@dataclass(eq=False)
class PlanKernels:
    """Kernels of the groups of one plan, and what became of each.

    - `mode`: "background" or "wait".
    - `states`: for each group that was seen, "waiting", "compiled", or why NumPy runs it.
    """

    mode: str
    states: dict[str, str] = field(default_factory=dict)
    _groups: list[tuple[str, GroupSource, KernelText, str]] = field(default_factory=list)

    def add(self, name: str, writer: GroupSource) -> bool:
        """Write the kernel of a group under a name. Return False if no kernel can compute the group."""
        try:
            kernel = kernel_text(statements_of(writer.group, writer.read, list(writer.written)))
        except NotExpressible as reason:
            self.states[name] = f"NumPy: {reason}"
            return False
        self._groups.append((name, writer, kernel, launcher_source(name, writer, kernel)))
        self.states[name] = "waiting"
        return True

    def build(self, namespace: dict[str, Any]) -> None:
        """Build the kernels now or in the background, and put them into the scope of the plan's function."""
        if not self._groups:
            return
        if self.mode == "wait":
            self._build(namespace)
        else:
            _BUILDS.put(lambda: self._build(namespace))

    def _build(self, namespace: dict[str, Any]) -> None:
        try:
            library = loaded(self.text("kernel"))
        except (BuildError, OSError) as error:
            self.states |= {name: f"NumPy: {error}" for name, *_ in self._groups}
            _LOG.debug("kernels: %s", error)
            return
        self.install(library, "kernel", namespace)

    def text(self, prefix: str) -> str:
        """Return the text of all kernels in C, whose names begin with a prefix."""
        return "\n".join(
            [kernel.text.replace("@name@", f"{prefix}_{i}") for i, (_, _, kernel, _) in enumerate(self._groups)]
        )

    def install(self, library: ctypes.CDLL, prefix: str, namespace: dict[str, Any]) -> None:
        """Put the kernels of a library into the scope of the plan's function."""
        for i, (name, writer, kernel, source) in enumerate(self._groups):
            function = getattr(library, f"{prefix}_{i}")
            function.restype = ctypes.c_int64
            function.argtypes = [ctypes.c_int64] * 3 + [ctypes.py_object] + [ctypes.c_int64] * len(kernel.sizes)
            self.states[name] = self._install(name, writer, source, function, namespace)

    def _install(self, name: str, writer: GroupSource, source: str, function: Any, namespace: dict[str, Any]) -> str:
        """Test a kernel, put it in place, and return its state."""
        scope = {**namespace, **TILE_NAMES, **LAUNCH_NAMES, f"{name}_kernel": function}
        exec(compile(source, f"<anyshape kernel {name}>", "exec"), scope)
        launcher: Callable[..., Any] = scope[name]
        wrong = disagreement(writer.group, writer, launcher)
        if wrong:
            _LOG.log(logging.WARNING if "differs" in wrong else logging.DEBUG, "kernel %s is not used: %s", name, wrong)
            return f"NumPy: {wrong}"
        namespace[name] = launcher
        return "compiled"


def loaded(text: str) -> ctypes.CDLL:
    """Return the library of a text. A damaged object is built again."""
    path = build(text)
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        path.unlink(missing_ok=True)
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
