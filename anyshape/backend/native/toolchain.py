"""Find the C compiler, and build shared objects with it in a process of its own, once for each text.

Objects stand in a private folder, named by a hash of all that decides their bytes, and by a hash of these. They are
written apart and renamed, so processes that race leave whole ones. A lock of a key leaves the build to one of them. A
damaged object is removed, and built again. Nothing is loaded from a folder that others may write to.

Nothing waits for a build unless asked: whoever wants its object polls. The compiler ends with the process that started
it, and its scratch folder goes with it: a shell watches a pipe that this process holds.

Verdicts on kernels stand beside their object, for other processes. The folder is bounded, the oldest objects go first.

Names of the elementary functions in C, and the functions that run them on strips.

A loop with few calls has them inline. One with many runs in strips, where a function is compiled once for all calls.
"""

import atexit
import contextlib
import functools
import hashlib
import json
import math
import os
import platform
import re
import select
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from anyshape.backend.runtime.config import compiler
from anyshape.support.fork_lock import Lock
from anyshape.support.packages import shutil
from anyshape.support.progress import phase, show_if_due
from anyshape.support.version import __version__

try:
    import fcntl
except ImportError:  # Windows: two processes may build the same
    fcntl = None  # type: ignore[assignment]

FLAGS = (
    "-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv",
    "-fPIC", "-shared", "-w",
)  # fmt: skip
# In place of -O3: loops that it makes no faster take gcc half as long again. Others have nothing alike.
OF_GCC = (
    "-O2", "-ftree-loop-vectorize", "-fvect-cost-model=dynamic", "-funswitch-loops", "-fpredictive-commoning",
)  # fmt: skip
# Nests compile a third sooner so, and run as fast. Those with elementary functions do not: in elements that a choice
# leaves out, vectors may overflow, and NumPy then serves the call. These functions alone gain by the widest vectors.
OF_NESTS = ("-O1", *OF_GCC[1:], "-ftree-pre", "-ftree-vrp", "-fstrict-aliasing", "-fira-region=one")
NARROW = ("-mprefer-vector-width=256", "--param", "vect-epilogues-nomask=0")
PART_CHARACTERS, MOST_PARTS = 20_000, 2  # of a part of a text, and parts, which compilers work on at once
PART = "\n/* A part that is compiled by itself. */\n"
LONG_TEXT = 60_000  # characters from which on loops that may end a run are not made fast: it would take twice the time
SECONDS = 60.0  # that a compiler may take, in all
WAITED_SECONDS = 0.02  # between two looks at the build of another process
SHOWN_SECONDS = 0.2  # between two looks whether to show that a build takes long
MOST_BYTES = 200_000_000  # of the cache


class BuildError(Exception):
    """Failure to build a shared object; the text says why."""


class CompileError(BuildError):
    """Text that the compiler refuses, or takes too long for."""


@functools.cache
def _identity() -> str:
    """Return what the bytes of an object depend on besides its text: compiler, flags, processor and version.

    A compiler is known by its files: to run it for its version would cost short programs more than they take.
    """
    command = compiler()
    paths = [path for word in command if (path := shutil.which(word)) is not None]
    if "ziglang" in command:
        paths += [path for folder in sys.path if os.path.isfile(path := os.path.join(folder, "ziglang", "__main__.py"))]
    files = [Path(path).resolve() for path in paths]
    stats = [(str(path), (status := path.stat()).st_size, status.st_mtime_ns) for path in files]
    return "\n".join([*command, repr(stats), *OF_GCC, *OF_NESTS, *NARROW, *FLAGS, _processor(), __version__])


def _processor() -> str:
    """Return the features of the processor, as -march=native sees them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


_FUSED = """#if defined(__x86_64__) && !defined(__FMA__)
#error this processor has no fused multiply-add
#endif"""  # the elementary functions would call a function for each


def headers(text: str) -> str:
    """Return what stands before a text: how objects of Python are laid out, and elementary functions if it has any."""
    header, elementary, names = _headers()
    return header if names.isdisjoint(_NAMES.findall(text)) else f"{header}\n{elementary}"


@functools.cache
def _headers() -> tuple[str, str, frozenset[str]]:
    """Return the header of all texts, the elementary functions, and the names that these alone have, some by `##f`."""
    layout = f"#define AS_OBJECT {object.__basicsize__}\n#define AS_TUPLE {tuple.__basicsize__}"
    folder = Path(__file__).parent
    first, *files = [(folder / name).read_text(encoding="utf-8") for name in ("kernel_header.c", *FILES)]
    header, elementary = "\n".join([layout, _FUSED, first]), "\n".join([*files, strip_functions()])
    first_names, names = (
        [name + end for name in _NAMES.findall(text) for end in ("", "f")] for text in (header, elementary)
    )
    return header, elementary, frozenset(names).difference(first_names)


def in_parts(functions: Sequence[str], written: Callable[[Sequence[str]], str]) -> str:
    """Return the text of functions, in parts for compilers that run at once where it is long.

    - `written`: gives the text of the functions of a part. Those that call elementary functions are in others.
    """
    if sum(map(len, functions)) < PART_CHARACTERS:
        return written(functions)
    kinds: tuple[list[str], list[str]] = ([], [])
    for function in functions:
        kinds[_CALLED.search(function) is None].append(function)
    return PART.join([written(part) for kind in kinds for part in _balanced(kind)])


def _balanced(functions: Sequence[str]) -> list[list[str]]:
    """Return functions in parts that are about as long."""
    count = min(MOST_PARTS, 1 + sum(map(len, functions)) // PART_CHARACTERS)
    parts: list[list[str]] = [[] for _ in range(count)]
    for function in sorted(functions, key=len, reverse=True):
        min(parts, key=lambda part: sum(map(len, part))).append(function)
    return [part for part in parts if part]


def key_of(text: str) -> str:
    """Return the name of the object of a text, by all that decides its bytes. Raises BuildError without a compiler."""
    if not compiler():
        raise BuildError("there is no C compiler; pip install 'anyshape[compile]' brings one")
    return hashlib.sha256("\n".join([_identity(), headers(text), text]).encode()).hexdigest()[:32]


def build(text: str) -> Path:
    """Return the shared object of a text, from the cache or built now. Raises BuildError."""
    waiting = Build(text)
    waiting.finish()
    return waiting.result()


class Build:
    """Object of a text: it is in the cache, or built by another process, or by this one once `poll` is called.

    - `key`: the name of the object. Raises BuildError without a compiler, or a folder.
    """

    def __init__(self, text: str) -> None:
        self.text, self.key, self.folder = text, key_of(text), cache_folder()
        self.until = math.inf  # when another process has had its time
        self.running: _Compiler | None = None
        self.outcome: Path | BuildError | None = _whole_object(self.folder, self.key)

    def poll(self, *, one_at_a_time: bool = False) -> bool:
        """Return whether the build is over; begin it, unless another process does.

        - `one_at_a_time`: this process runs no second compiler, but looks whether the other one is done.
        """
        if self.outcome is None:
            try:
                self.outcome = self._next(one_at_a_time)
            except OSError as error:
                self.outcome = BuildError(f"{self.folder}: {error}")
            except BuildError as error:
                self.outcome = error
        return self.outcome is not None

    def _next(self, one_at_a_time: bool) -> Path | None:
        running = self.running
        if running is not None and not running.is_forgotten:
            running.poll()
            if isinstance(running.outcome, BuildError):
                raise running.outcome
            return running.outcome
        if one_at_a_time and _RUNNING:
            _RUNNING[0].poll()
            return None
        if (path := _whole_object(self.folder, self.key)) is not None:
            return path
        if (lock := _lock(self.folder, self.key)) is None:
            self.until = min(self.until, time.monotonic() + SECONDS)
            if time.monotonic() > self.until:
                raise BuildError(f"another process has not built it in {SECONDS:g} s")
            return None
        if (path := _whole_object(self.folder, self.key)) is not None:
            lock.release()
            return path
        self.running = _start(self.text, self.folder, self.key, lock)
        return None

    def finish(self) -> None:
        """Wait until it is over, and show that it takes long."""
        try:
            with phase("waiting for the C compiler"):
                while not self.poll():
                    self._wait()
                    show_if_due()
        except BaseException:
            self.end()
            raise

    def _wait(self) -> None:
        """Wait until it may be over, or there is something to show."""
        if self.running is None or self.running.is_forgotten:
            time.sleep(WAITED_SECONDS)
        else:
            self.running.wait(SHOWN_SECONDS)

    def end(self) -> None:
        """End the compiler; a later `poll` begins anew."""
        if self.running is not None and not self.running.is_forgotten:
            self.running.end()
        self.running = None

    def result(self) -> Path:
        """Return the object of a build that is over. Raises BuildError."""
        if isinstance(self.outcome, Path):
            _check_owned(self.outcome)
            return self.outcome
        raise self.outcome or BuildError("it is not over")


def _whole_object(folder: Path, key: str) -> Path | None:
    """Return an object of a key that has all its bytes, and remove others."""
    for name in sorted(os.listdir(folder)):
        path = folder / name
        if name.startswith(key) and name.endswith(".so"):
            _check_owned(path)
            if path.name == _object_name(key, path.read_bytes()):
                return path
            path.unlink(missing_ok=True)
    return None


def _object_name(key: str, content: bytes) -> str:
    return f"{key}-{hashlib.sha256(content).hexdigest()[:16]}.so"


class _FileLock(NamedTuple):
    """Lock of a key between processes, held while a descriptor is open. A compiler may outlive its process."""

    path: Path
    descriptor: int

    def release(self) -> None:
        """Remove the file, and let others have the lock."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
            os.close(self.descriptor)


def _lock(folder: Path, key: str) -> _FileLock | None:
    """Return the lock of a key, None while another process or thread has it."""
    path = folder / f"{key}.lock"
    while True:
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if fcntl is None:
            return _FileLock(path, opened)
        lock = _FileLock(path, fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, _LEAST_DESCRIPTOR))
        os.close(opened)
        try:
            fcntl.flock(lock.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock.descriptor)
            return None
        except OSError:
            return lock  # a file system without locks: two processes may build the same
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.descriptor), os.stat(path)):
                return lock
        os.close(lock.descriptor)  # whoever had the lock has removed the file meanwhile


_LEAST_DESCRIPTOR = 100  # of a lock: shells use small ones
_SHELL = "/bin/sh"
# Run a command. Once the pipe on descriptor 3 closes, as the process that holds it has ended, remove the folder $0 and
# end the command with all its processes.
_WATCHED = """
exec 3<&0 </dev/null
"$@" & command=$!
exec 2>/dev/null
{ read -r _ <&3; kill -s STOP $$; kill -s KILL $command; rm -rf "$0"; rm -rf "$0"; kill -s KILL -- -$$; } & watcher=$!
wait $command; status=$?
kill -s KILL $watcher
exit $status
"""
# Run commands at once, and end unless all succeed.
_AT_ONCE = """all=; status=0
{}
for one in $all; do wait $one || status=$?; done
test $status = 0 || exit $status
"""


class _Compiler:
    """Compiler that runs; `outcome` is the object, or the error, once it has ended."""

    def __init__(self, command: Sequence[str], scratch: Path, target: tuple[Path, str], lock: _FileLock) -> None:
        self.scratch, self.target, self.lock, self.name = scratch, target, lock, compiler()[0]
        self.until, self.owner = time.monotonic() + SECONDS, os.getpid()
        self.outcome: Path | BuildError | None = None
        watched = [_SHELL, "-c", _WATCHED, str(scratch)] if os.path.exists(_SHELL) else []
        with Path(scratch, "errors.txt").open("wb") as errors:
            self.process = subprocess.Popen(
                [*watched, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, "TMPDIR": str(scratch)},
                start_new_session=True,
                pass_fds=[lock.descriptor] if watched else [],
            )
        _RUNNING.append(self)

    @property
    def is_forgotten(self) -> bool:
        """True in a forked process: the compiler is its parent's."""
        return self.owner != os.getpid()

    def poll(self) -> None:
        """Set the outcome if the compiler has ended, which it must in time."""
        with _LOCK:
            if self.outcome is not None or (self.process.poll() is None and time.monotonic() <= self.until):
                return
            try:
                self.outcome = self._moved()
            except BuildError as error:
                self.outcome = error
            except OSError as error:
                self.outcome = BuildError(f"{self.name}: {error}")
            finally:
                self.end()

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, for so many seconds at most; Python would look every 50 ms."""
        try:
            ended = os.pidfd_open(self.process.pid)
        except (AttributeError, OSError):  # not Linux, or it has ended
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
            return
        try:
            poll = select.poll()
            poll.register(ended, select.POLLIN)
            poll.poll(1000 * seconds)
        finally:
            os.close(ended)

    def _moved(self) -> Path:
        """Return the object, moved into the cache."""
        if (status := self.process.poll()) is None:
            raise BuildError(f"{self.name} timed out after {SECONDS:g} s")
        made, (folder, key) = self.scratch / "kernels.so", self.target
        if status:
            said = (self.scratch / "errors.txt").read_text(encoding="utf-8", errors="replace").strip()
            if 0 < status < 128:
                raise CompileError(f"{self.name} failed: {said[:2000]}")
            raise BuildError(f"{self.name} was ended by a signal {said[:2000]}".strip())
        made.chmod(0o700)
        target = folder / _object_name(key, made.read_bytes())
        os.replace(made, target)
        _bound(folder, target)
        return target

    def end(self) -> None:
        """End the compiler with its processes, and remove what it wrote."""
        if self not in _RUNNING:
            return
        if self.process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL) if hasattr(os, "killpg") else self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.lock.release()
        _RUNNING.remove(self)

    def forget(self) -> None:
        """Let go of the compiler of the parent, in a forked process."""
        with contextlib.suppress(OSError):
            os.close(self.lock.descriptor)
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.returncode = 0  # nobody is to wait for it here


_RUNNING: list[_Compiler] = []  # of this process
_LOCK = Lock()


def _start(text: str, folder: Path, key: str, lock: _FileLock) -> _Compiler:
    """Start the compiler on a text."""
    try:
        _remove_stale(folder)
        scratch = folder / f"{key}.build"
        shutil.rmtree(scratch, ignore_errors=True)  # of a process that ended, as the lock was free
        scratch.mkdir(mode=0o700)
        return _Compiler(_command(text, scratch), scratch, (folder, key), lock)
    except BaseException:
        lock.release()
        raise


def _command(text: str, scratch: Path) -> list[str]:
    """Return the command that makes the object of a text, whose parts are written into files."""
    parts = text.split(PART)
    sources = [scratch / f"kernels_{k}.c" for k in range(len(parts))]
    for source, part in zip(sources, parts, strict=True):
        source.write_text("\n".join([headers(part), part]), encoding="utf-8")
    result = ["-o", str(scratch / "kernels.so")]
    if len(parts) == 1 or not os.path.exists(_SHELL):
        return [*compiler(), *_flags(text, text), *result, *map(str, sources), "-lm"]
    made = [str(source.with_suffix(".o")) for source in sources]
    lines = [
        shlex.join([*compiler(), *_flags(part, text), "-c", str(source), "-o", target])
        for part, source, target in zip(parts, sources, made, strict=True)
    ]
    linked = shlex.join([*compiler(), *FLAGS, *result, *made, "-lm"])
    return [_SHELL, "-c", _AT_ONCE.format("\n".join([f'{line} & all="$all $!"' for line in lines])) + linked]


def _flags(part: str, text: str) -> tuple[str, ...]:
    """Return the flags for a part of a text."""
    is_long, has_nests = len(text) >= LONG_TEXT, "int64_t nest_" in text
    cold = ("-DAS_COLD=",) if is_long else ()
    if FLAGS[0] != "-O3" or "gcc" not in Path(compiler()[0]).resolve().name:
        return ("-O2" if is_long else FLAGS[0], *FLAGS[1:], *cold)
    if not has_nests:
        return ("-O2", *FLAGS[1:]) if is_long else (*OF_GCC, *FLAGS[1:])
    if _CALLED.search(part) is not None:
        return (*OF_GCC, *FLAGS[1:], *cold)
    return (*OF_NESTS, *FLAGS[1:], *(NARROW if platform.machine() == "x86_64" else ()), *cold)


@atexit.register
def _end_all() -> None:
    """Keep the objects of compilers that are done, and end the others: the process ends."""
    for running in [*_RUNNING]:
        running.poll()
        running.end()


def _forget_all() -> None:
    """Let go of the compilers of the parent."""
    while _RUNNING:
        _RUNNING.pop().forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _remove_stale(folder: Path) -> None:
    """Remove scratch folders of processes that ended while they compiled: nobody holds their locks."""
    for path in folder.glob("*.lock"):
        if (lock := _lock(folder, path.stem)) is not None:
            shutil.rmtree(path.with_suffix(".build"), ignore_errors=True)
            lock.release()


class Cached(NamedTuple):
    """Object in the cache, with what stands beside it."""

    path: Path
    bytes: int
    made: float  # seconds of the clock


def cached_objects() -> list[Cached]:
    """Return the objects in the cache, the oldest first."""
    return _objects(cache_folder())


def _objects(folder: Path) -> list[Cached]:
    """Return the objects of a folder, the oldest first."""
    objects = []
    for path in folder.glob("*.so"):
        with contextlib.suppress(OSError):  # another process may remove it
            status = path.stat()
            objects.append(Cached(path, status.st_size, status.st_mtime))
    return sorted(objects, key=lambda cached: cached.made)


def _bound(folder: Path, newest: Path) -> None:
    """Remove the oldest objects of a folder that holds too many bytes."""
    objects = _objects(folder)
    total = sum([cached.bytes for cached in objects])
    for cached in objects:
        if total > MOST_BYTES and cached.path != newest:
            remove_object(cached.path)
            total -= cached.bytes


def remove_object(path: Path) -> None:
    """Remove an object. What was found out about its kernels stays."""
    with contextlib.suppress(OSError):  # it is in use, or gone
        path.unlink(missing_ok=True)


def clear_cache() -> None:
    """Remove all objects, and what was found out about kernels."""
    folder = cache_folder()
    for path in [*folder.glob("*.so"), *folder.glob("*.json")]:
        remove_object(path)


def _verdicts(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def kept_verdicts(folder: Path, key: str, stamp: str) -> Any:
    """Return what was found out about the kernels of a key by whoever has this stamp; None if nothing was."""
    path = _verdicts(folder, key)
    try:
        _check_owned(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        return content["kernels"] if content["stamp"] == stamp else None
    except (OSError, BuildError, ValueError, TypeError, KeyError):
        return None


def keep_verdicts(folder: Path, key: str, stamp: str, kernels: Any) -> None:
    """Keep what was found out about the kernels of a key, for other processes."""
    path = _verdicts(folder, key)
    apart = path.with_suffix(f".{os.getpid()}.tmp")
    with contextlib.suppress(OSError):  # they find it out themselves
        apart.write_text(json.dumps({"stamp": stamp, "kernels": kernels}), encoding="utf-8")
        apart.chmod(0o600)
        os.replace(apart, path)


def cache_folder() -> Path:
    """Return the folder of shared objects, made if it is not there. Raises BuildError if others may write to it."""
    asked = os.environ.get("ANYSHAPE_KERNEL_CACHE", "").strip()
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.join(os.path.expanduser("~"), ".cache")
    own: list[Callable[[], Path]] = [functools.partial(Path, base, "anyshape", "kernels"), _of_process]
    for find in [functools.partial(Path, asked)] if asked else own:
        folder = find()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue  # a home that cannot be written to
        if os.access(folder, os.W_OK | os.X_OK):
            _check_owned(folder)
            return folder
    raise BuildError("no folder for kernels can be written to; ANYSHAPE_KERNEL_CACHE names one")


@functools.cache
def _of_process() -> Path:
    """Return a folder of this process, for where the home of the user cannot be written to."""
    folder = tempfile.TemporaryDirectory(prefix="anyshape-kernels-")
    _FOLDERS.append(folder)
    return Path(folder.name)


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def _check_owned(path: Path) -> None:
    """Refuse a file or folder of another user, or one that others may write to."""
    status = path.stat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise BuildError(f"{path} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BuildError(f"others may write to {path}")


_UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "cbrt", "erf", "erfc", "expit",
)  # fmt: skip
FILES = ("elementary.c", "elementary_further.c")
OPERANDS = dict.fromkeys(_UNARY, 1) | dict.fromkeys(("pow", "arctan2", "hypot"), 2)
UNDERFLOWS = ("as_exp(", "as_expf(", "as_exp2(", "as_expit(", "as_erfc(", "as_pow(")  # without raising the flag
LANES = 16  # the most elements of a vector
GIVEN = {"erf_given": 2}  # functions that take a part of their computation from another function
ELEMENTARY = tuple([name + suffix for name in (*OPERANDS, *GIVEN) for suffix in ("", "f")])

_NAMES = re.compile(r"\b(?:as|AS)_\w+")
_CALLED = re.compile(f"as_({'|'.join(ELEMENTARY)})(_alone)?\\(|as_strip_")


def strip_functions() -> str:
    """Return functions that compute a strip of elements from other strips, which they pad to whole vectors."""
    counts = OPERANDS | GIVEN
    return "\n".join([_strip_function(name, suffix, "xy"[:n]) for name, n in counts.items() for suffix in ("", "f")])


def _strip_function(name: str, suffix: str, operands: str) -> str:
    kind = "float" if suffix else "double"
    read = "".join([f", char *{x}_" for x in operands])
    pointers = " ".join([f"{kind} *restrict {x} = ({kind} *){x}_;" for x in operands])
    padding = " ".join([f"{x}[k] = {x}[length - 1];" for x in operands])
    elements = ", ".join([f"{x}[k]" for x in operands])
    return f"""static __attribute__((noinline, unused))
void as_strip_{name}{suffix}(int64_t length, char *result_{read}) {{
    {kind} *restrict result = ({kind} *)result_;
    {pointers}
    const int64_t whole = (length + {LANES - 1}) / {LANES} * {LANES};
    for (int64_t k = length; k < whole; k++) {{ {padding} }}
    #pragma omp simd
    for (int64_t k = 0; k < whole; k++) result[k] = as_{name}{suffix}({elements});
}}"""
