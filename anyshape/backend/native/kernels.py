"""Kernels of a plan: built in the background or at once, tested against NumPy, and then put in place.

The generated function of a plan looks a kernel up by its name in its scope. While the compiler runs, that name is a
function which asks whether the compiler is done, and NumPy serves the call. Whoever asks first afterwards tests the
kernels, and puts them in place. So a build never holds up a call, and no thread waits for it.

Verdicts of the test stand beside the object in the cache. Other processes take them over.
"""

import ctypes
import functools
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anyshape.backend.compiler.codegen.tiles import TILE_NAMES, GroupSource
from anyshape.backend.compiler.plan import Step
from anyshape.backend.native import launch
from anyshape.backend.native.c_source import KernelText, kernel_text
from anyshape.backend.native.launch import (
    LAUNCH_NAMES,
    disagreement,
    drawn_floats,
    launcher_source,
    limited,
    most_elements,
)
from anyshape.backend.native.statements import NotExpressible, statements_of
from anyshape.backend.native.toolchain import (
    WAITED_SECONDS,
    Build,
    BuildError,
    CompileError,
    compiler,
    in_parts,
    keep_verdicts,
    kept_verdicts,
    remove_object,
)
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.indexing import put_add_op
from anyshape.support.fork_lock import Lock
from anyshape.support.packages import native_nests

if TYPE_CHECKING:
    from anyshape.backend.native.automatic import AutomaticKernels
    from anyshape.backend.native.nest_sites import NestSite, PlanLoops
    from anyshape.backend.native.nests import NestLibrary

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


class _Verdict(NamedTuple):
    """Outcome of the test of a kernel: up to how many elements it serves, and why not where that is 0."""

    most: float
    reason: str = ""

    @property
    def state(self) -> str:
        if not self.most:
            return f"NumPy: {self.reason}"
        return "compiled" if self.most == math.inf else f"compiled for up to {self.most:g} elements"


def _stamp() -> str:
    """Return what verdicts depend on besides the object."""
    return f"{np.__version__} {launch.SLOWER} {os.environ.get('NPY_DISABLE_CPU_FEATURES', '')}"


@dataclass(eq=False, slots=True)
class _Library:
    """Groups whose kernels are built together, with nests of loops, and the build once there is one."""

    groups: list[_Group]
    nests: "NestLibrary | None" = None
    build: Build | None = None

    @property
    def text(self) -> str:
        """Text of all functions."""
        functions = _functions(self.groups, "kernel")
        if self.nests is None:
            return in_parts(functions, "\n".join)
        return in_parts([*functions, *self.nests.functions], native_nests.with_header)

    def verdicts(self) -> list[_Verdict] | None:
        """Return what was found out about these kernels before, in any process."""
        assert self.build is not None
        stored = kept_verdicts(self.build.folder, self.build.key, _stamp())
        if not isinstance(stored, dict):
            return None
        return [_Verdict(*stored[name]) for name in _names(self.groups, "kernel")]

    def keep(self, verdicts: Sequence[_Verdict | None]) -> None:
        """Keep what was found out now, unless a test failed itself; of a kernel of several groups the worst."""
        assert self.build is not None
        known = [verdict for verdict in verdicts if verdict is not None]
        if known and len(known) == len(verdicts):
            by_name = sorted(zip(_names(self.groups, "kernel"), known, strict=True), key=lambda pair: -pair[1].most)
            keep_verdicts(self.build.folder, self.build.key, _stamp(), dict(by_name))

    def is_useless(self) -> bool:
        """Return whether it is known that no kernel serves."""
        verdicts = self.verdicts() if self.nests is None else None
        return verdicts is not None and not any(verdict.most for verdict in verdicts)


@dataclass(eq=False)
class PlanKernels:
    """Kernels of the groups of one plan, and what became of each.

    - `mode`: "wait", "background" or "auto". In the last two, this process runs one compiler at a time.
    - `nests`: the loops of the plan. In the mode "wait", they are built with the groups.
    - `later`: takes groups in loops that have a nest, and builds them once NumPy's runs are worth it.
    - `states`: for each group that was seen, "waiting", "compiled", or why NumPy runs it.
    """

    mode: str
    nests: "PlanLoops | None" = None
    later: "AutomaticKernels | None" = None
    states: dict[str, str] = field(default_factory=dict)
    _groups: list[_Group] = field(default_factory=list)
    _steps: dict[str, np.dtype] = field(default_factory=dict)  # steps that sum rows, with their dtypes
    _namespace: dict[str, Any] = field(default_factory=dict)
    _pending: list[_Library] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def in_loop(self, site: "NestSite") -> "PlanKernels | AutomaticKernels":
        """Return what takes the groups in a loop."""
        return self.later if self.later is not None and site.nest().name else self

    def outcomes(self) -> dict[str, str]:
        """Return what became of each group by now; nothing where a build waits for the first run of the plan."""
        if self.mode == "wait" and any(library.build is None for library in self._pending):
            return {}
        self.refresh()
        return self.states | ({} if self.later is None else self.later.outcomes())

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

    def leave_out(self, name: str, reason: str) -> None:
        """Leave the group that was added last to NumPy."""
        self._groups.pop()
        self.states[name] = f"NumPy: {reason}"

    def counter(self, name: str, writer: GroupSource) -> None:
        """Return nothing: these kernels are built whatever the runs of a group are worth."""

    def step_function(self, step: Step, threads: int | None) -> Callable[..., Any] | None:
        """Return the kernel of a step that sums rows with machine code once it is built; None for other steps."""
        if step.op is not put_add_op:
            return None
        dtype, name = step.results[0].dtype, f"{step.op.name} {len(self._steps)}"
        if (function := launch.step_function(KERNELS[step.op].run, dtype, threads)) is not None:
            self._steps[name], self.states[name] = dtype, "waiting"
        return function

    def build(self, namespace: dict[str, Any]) -> None:
        """Take the scope of the plan's function, and begin to build: in the mode "wait", the first run does."""
        self.take(namespace)
        if self.later is not None:
            self.later.build(namespace)
        for group in self._groups:
            namespace[group.name] = functools.partial(self._run_if_built, group.name)
        if self.mode == "wait":
            self.build_steps()
        else:
            self.poll()

    def take(self, namespace: dict[str, Any]) -> None:
        """Take the scope of the plan's function, into which kernels are put by `poll`."""
        self._namespace = namespace
        if self._groups:
            self._pending = [_Library(self._groups)]
            if self.nests is not None and self.mode == "wait":
                self.nests.finish = self.finish

    def finish(self) -> None:
        """Build the kernels, and put them in place."""
        self.build_steps()
        while not self.poll():
            builds = [library.build for library in self._pending if library.build is not None]
            builds[0].finish() if builds else time.sleep(WAITED_SECONDS)  # another thread tests them

    def build_steps(self) -> None:
        """Build what the kernels of steps share, and record its state."""
        if self._steps:
            launch.SUMS.load()
        self.refresh()

    def refresh(self) -> None:
        """Record the state of what the kernels of steps share."""
        self.states.update({name: launch.SUMS.state(dtype) for name, dtype in self._steps.items()})

    def _run_if_built(self, name: str, *arguments: Any) -> Any:
        """Run a kernel if it is in place by now. Else return None: NumPy serves the call."""
        if self.mode == "wait":
            self.finish()
        launcher = self._namespace[name] if self.poll() else None
        return None if launcher is None else launcher(*arguments)

    def poll(self, *, starts: bool = True) -> bool:
        """Return whether no kernel is waiting; put those in place that are built by now.

        - `starts`: whether builds begin of what is not in the cache.
        """
        if not self._lock.acquire(blocking=False):
            return False  # another thread tests them
        try:
            if starts and self._steps:
                launch.SUMS.poll()
                self.refresh()
            self._pending = [later for library in self._pending for later in self._advanced(library, starts)]
        finally:
            self._lock.release()
        return not self._pending and "waiting" not in self.states.values()

    def _advanced(self, library: _Library, starts: bool) -> list[_Library]:
        """Return what is left to do for a library: nothing once its kernels are in place, or never will be."""
        try:
            if not self._is_ready(library, starts):
                return [library]
            self._put(library)
        except (BuildError, OSError) as error:
            if library.nests is not None:
                library.nests.decline(error, len(library.groups))
            if isinstance(error, (CompileError, OSError)) and (len(library.groups) > 1 or library.nests is not None):
                return [_Library([group]) for group in library.groups]
            self._record(library.groups, [_Verdict(0, str(error))] * len(library.groups))
            _LOG.debug("kernels: %s", error)
        return []

    def _is_ready(self, library: _Library, starts: bool) -> bool:
        """Return whether a library is built, or failed to be, or is known to be of no use."""
        if library.build is None:
            if not starts and not compiler():
                return False  # to say so when it matters
            if self.nests is not None and self.mode == "wait":
                library.nests = self.nests.library()
            library.build = Build(library.text)
        build = library.build
        if build.outcome is not None or library.is_useless():
            return True
        return starts and build.poll(one_at_a_time=self.mode != "wait")

    def _put(self, library: _Library) -> None:
        """Put kernels in place, and keep verdicts on them. Raises BuildError, OSError."""
        build, known = library.build, library.verdicts()
        assert build is not None
        if known is not None and library.is_useless():
            self._record(library.groups, known)
            return
        path = build.result()
        loaded = ctypes.CDLL(str(path))
        if library.nests is not None:
            library.nests.install(loaded)
        verdicts = self.install(loaded, "kernel", self._namespace, library.groups, known)
        if known is None:
            library.keep(verdicts)
            if library.is_useless():
                remove_object(path)

    def _record(self, groups: Sequence[_Group], known: Sequence[_Verdict]) -> None:
        """Record the states of kernels that all leave calls to NumPy."""
        for group, verdict in zip(groups, known, strict=True):
            self.states[group.name], self._namespace[group.name] = verdict.state, None

    def text(self, prefix: str) -> str:
        """Return the text of all kernels in C, whose names begin with a prefix."""
        return "\n".join(_functions(self._groups, prefix))

    def install(
        self,
        library: ctypes.CDLL,
        prefix: str,
        namespace: dict[str, Any],
        groups: Sequence[_Group] | None = None,
        known: Sequence[_Verdict] | None = None,
    ) -> list[_Verdict | None]:
        """Put the kernels of a library into the scope of the plan's function; return the verdict on each.

        - `known`: what was found out before. Otherwise they are tested, and a verdict is None if a test fails itself.
        """
        verdicts: list[_Verdict | None] = []
        chosen = self._groups if groups is None else groups
        for i, (group, name) in enumerate(zip(chosen, _names(chosen, prefix), strict=True)):
            verdict = None
            try:
                function = getattr(library, name)
                verdict = self._install(group, function, namespace, None if known is None else known[i])
                self.states[group.name] = verdict.state
            except Exception as error:
                _LOG.exception("kernel %s could not be tested", group.name)
                self.states[group.name] = f"NumPy: its test failed: {error!r}"
            if verdict is None or not verdict.most:
                namespace[group.name] = None
            verdicts.append(verdict)
        drawn_floats.cache_clear()  # they are 2 MB
        return verdicts

    def _install(self, group: _Group, function, namespace: dict[str, Any], known: _Verdict | None) -> _Verdict:
        """Test a kernel, time it, and put it in place; return the verdict."""
        function.restype = ctypes.c_int64
        function.argtypes = [ctypes.c_int64] * 3 + [ctypes.py_object] + [ctypes.c_int64] * len(group.kernel.sizes)
        launcher = group.launcher(function, namespace)
        verdict = _tested(group, launcher) if known is None else known
        if verdict.most:
            is_limited = verdict.most != math.inf
            namespace[group.name] = group.launcher(function, namespace, verdict.most) if is_limited else launcher
        return verdict


def _functions(groups: Sequence[_Group], prefix: str) -> list[str]:
    """Return the texts of kernels in C, whose names begin with a prefix."""
    texts = dict(zip(_names(groups, prefix), groups, strict=True))
    return [group.kernel.text.replace("@name@", name) for name, group in texts.items()]


def _names(groups: Sequence[_Group], prefix: str) -> list[str]:
    """Return the names of kernels, which begin with a prefix. Kernels of one text have one name."""
    names: dict[str, str] = {}
    return [names.setdefault(group.kernel.text, f"{prefix}_{i}") for i, group in enumerate(groups)]


def _tested(group: _Group, launcher: Callable[..., Any]) -> _Verdict:
    """Compare a kernel with NumPy, in values and in time."""
    steps = group.writer.group
    if wrong := disagreement(steps, group.writer, launcher):
        level = logging.WARNING if "differs" in wrong else logging.DEBUG
        _LOG.log(level, "kernel %s is not used: %s", group.name, wrong)
        return _Verdict(0, wrong)
    most = most_elements(steps, group.writer, launcher)
    return _Verdict(most, "" if most else "it is faster")


def wait_for_kernels(kernels: Sequence[PlanKernels], seconds: float) -> bool:
    """Wait until no kernel of these plans is waiting; return whether that came about in time."""
    until = time.monotonic() + seconds
    while waiting := [one for one in kernels if not one.poll()]:
        if time.monotonic() > until:
            break
        time.sleep(WAITED_SECONDS)
    return not waiting
