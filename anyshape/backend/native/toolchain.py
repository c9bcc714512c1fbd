"""Find the C compiler, and build shared objects with it, once for each text.

Objects stand in a private folder, named by a hash of all that decides their bytes, and by a hash of these. They are
written apart and renamed, so processes that race leave whole ones. A damaged object is removed, and built again.
Nothing is loaded from a folder that others may write to.

Names of the elementary functions in C, and the functions that run them on strips.

A loop with few calls has them inline. One with many runs in strips, where a function is compiled once for all calls.
"""

import functools
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from anyshape.support.version import __version__

FLAGS = (
    "-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv",
    "-fPIC", "-shared", "-w",
)  # fmt: skip
SECONDS = 60.0  # that a compiler may take, in all
STALE_SECONDS = 3600.0  # after which no compiler writes to a scratch folder
_CANDIDATES = ("cc", "gcc", "clang")


class BuildError(Exception):
    """Failure to build a shared object; the text says why."""


class CompileError(BuildError):
    """Text that the compiler refuses, or takes too long for."""


@functools.cache
def compiler() -> tuple[str, ...]:
    """Return the command of the compiler: of ANYSHAPE_CC, else one on the search path, else ziglang's, else nothing."""
    asked = os.environ.get("ANYSHAPE_CC", "").split()
    for command in [asked] if asked else [[name] for name in _CANDIDATES]:
        if (path := shutil.which(command[0])) is not None:
            return path, *command[1:]
    if not asked and any(
        Path(folder, "ziglang", "__main__.py").is_file() for folder in sys.path
    ):  # the extra `compile`
        return sys.executable, "-m", "ziglang", "cc"
    return ()


@functools.cache
def _identity() -> str:
    """Return what the bytes of an object depend on besides its text: compiler, flags, processor and version."""
    command = compiler()
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"{' '.join(command)} --version: {error}") from error
    return "\n".join([*command, done.stdout, *FLAGS, _processor(), __version__])


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


@functools.cache
def headers() -> str:
    """Return the text that stands before the kernels. It knows where objects of Python have their fields."""
    layout = f"#define AS_OBJECT {object.__basicsize__}\n#define AS_TUPLE {tuple.__basicsize__}"
    folder = Path(__file__).parent
    files = [(folder / name).read_text(encoding="utf-8") for name in ("kernel_header.c", *FILES)]
    return "\n".join([layout, _FUSED, *files, strip_functions()])


def build(text: str) -> Path:
    """Return the shared object of a text, from the cache or built now. Raises BuildError."""
    if not compiler():
        raise BuildError("there is no C compiler; pip install 'anyshape[compile]' brings one")
    key = hashlib.sha256("\n".join([_identity(), headers(), text]).encode()).hexdigest()[:32]
    folder = cache_folder()
    target = _whole_object(folder, key) or _compile("\n".join([headers(), text]), folder, key)
    _check_owned(target)
    return target


def _whole_object(folder: Path, key: str) -> Path | None:
    """Return an object of a key that has all its bytes, and remove others."""
    for name in sorted(os.listdir(folder)):
        path = folder / name
        if name.startswith(key):
            _check_owned(path)
            if path.name == _object_name(key, path.read_bytes()):
                return path
            path.unlink(missing_ok=True)
    return None


def _object_name(key: str, content: bytes) -> str:
    return f"{key}-{hashlib.sha256(content).hexdigest()[:16]}.so"


def _compile(text: str, folder: Path, key: str) -> Path:
    """Compile a text, and return the object."""
    _remove_stale(folder)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        source, result = Path(scratch, "kernels.c"), Path(scratch, "kernels.so")
        source.write_text(text, encoding="utf-8")
        command = [*compiler(), *FLAGS, "-o", str(result), str(source), "-lm"]
        try:
            subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=True, stdin=subprocess.DEVNULL
            )
        except subprocess.CalledProcessError as error:
            raise CompileError(f"{command[0]} failed: {error.stderr.strip()[:2000]}") from error
        except (OSError, subprocess.SubprocessError) as error:
            raise BuildError(f"{command[0]}: {error}") from error
        result.chmod(0o700)
        target = folder / _object_name(key, result.read_bytes())
        os.replace(result, target)
        return target


def _remove_stale(folder: Path) -> None:
    """Remove scratch folders of processes that ended while they compiled."""
    oldest = time.time() - STALE_SECONDS
    for path in folder.iterdir():
        if path.is_dir() and path.stat().st_mtime < oldest:
            shutil.rmtree(path, ignore_errors=True)  # another process may remove it too


def cache_folder() -> Path:
    """Return the folder of shared objects, made if it is not there. Raises BuildError if others may write to it."""
    asked = os.environ.get("ANYSHAPE_KERNEL_CACHE", "").strip()
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.join(os.path.expanduser("~"), ".cache")
    for folder in [Path(asked)] if asked else [Path(base, "anyshape", "kernels"), _of_process()]:
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
