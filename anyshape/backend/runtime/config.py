"""Settings that may change while programs run: `anyshape.config`."""

import operator
import os
import warnings

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.ir.tracebacks import shown

MODES = ("now", "auto", "off")  # optimised plans are made at once, when they pay, or never
DEFAULT_MODE = "auto"
COMPILE_MODES = ("off", "background", "wait")  # groups are compiled never, while calls go on, or before the first call
TRACEBACKS = ("short", "full")  # without and with the frames of the library
AMBIENT_ERRSTATE = np.geterr()  # at the import of anyshape: an `np.seterr` before it is not a block of `np.errstate`


class Config:
    """Settings that may change while programs run.

    - `num_threads`: threads that one call may use. With 1, everything runs in the calling thread.
    - `reassociate`: whether sums of products of floating-point numbers become contractions. BLAS adds these up in its
      own order, not pairwise. The setting applies to plans made afterwards.
    - `optimize`: when optimised plans are made, for programs whose `jit` does not say it: "now", "auto" or "off".
    - `max_paths`: programs that a function keeps for its decisions on values, for arguments of one kind.
    - `compile`: whether groups of steps become machine code, for programs whose `jit` does not say it: "off",
      "background" or "wait".
    - `traceback`: "short" for errors that show the lines of the user alone, "full" with the ones of anyshape.
    - `shape_cache_bytes`: bound of the bytes that programs cache of shape-only arrays, such as masks; 0 caches none.
    """

    __slots__ = (
        "_compile", "_max_paths", "_num_threads", "_optimize", "_reassociate", "_shape_cache_bytes",
    )  # fmt: skip

    def __init__(
        self,
        num_threads: int,
        reassociate: bool = False,
        shape_cache_bytes: int = 1 << 25,
        optimize: str = DEFAULT_MODE,
        max_paths: int = 256,
        traceback: str = "short",
        compile: str = "off",
    ) -> None:
        self.num_threads, self.reassociate, self.shape_cache_bytes = num_threads, reassociate, shape_cache_bytes
        self.optimize, self.max_paths, self.traceback, self.compile = optimize, max_paths, traceback, compile

    @property
    def num_threads(self) -> int:
        return self._num_threads

    @num_threads.setter
    def num_threads(self, number: int) -> None:
        self._num_threads = _at_least(1, number, "num_threads", "threads")

    @property
    def max_paths(self) -> int:
        return self._max_paths

    @max_paths.setter
    def max_paths(self, number: int) -> None:
        self._max_paths = _at_least(0, number, "max_paths", "programs")

    @property
    def shape_cache_bytes(self) -> int:
        return self._shape_cache_bytes

    @shape_cache_bytes.setter
    def shape_cache_bytes(self, number: int) -> None:
        self._shape_cache_bytes = _at_least(0, number, "shape_cache_bytes", "bytes")

    @property
    def reassociate(self) -> bool:
        return self._reassociate

    @reassociate.setter
    def reassociate(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ArgumentError("config", "reassociate", f"is {value!r}", "give True or False")
        self._reassociate = value

    @property
    def optimize(self) -> str:
        return self._optimize

    @optimize.setter
    def optimize(self, mode: str) -> None:
        self._optimize = checked_mode(mode, "config")

    @property
    def compile(self) -> str:
        return self._compile

    @compile.setter
    def compile(self, mode: str) -> None:
        self._compile = checked_compile(mode, "config")

    @property
    def traceback(self) -> str:
        return shown.form

    @traceback.setter
    def traceback(self, form: str) -> None:
        if form not in TRACEBACKS:
            raise ArgumentError("config", "traceback", f"is {form!r:.50}", 'give "short" or "full"')
        shown.form = form

    def __repr__(self) -> str:
        names = ("max_paths", "num_threads", "reassociate", "shape_cache_bytes", "optimize", "compile", "traceback")
        return f"Config({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"


def checked_mode(mode: object, name: str) -> str:
    """Return the mode, or raise ArgumentError if there is none of this name."""
    if isinstance(mode, str) and mode in MODES:
        return mode
    raise ArgumentError(name, "optimize", f"is {mode!r:.50}", 'give "now", "auto" or "off"')


def checked_compile(mode: object, name: str) -> str:
    """Return the mode, or raise ArgumentError if there is none of this name."""
    if isinstance(mode, str) and mode in COMPILE_MODES:
        return mode
    raise ArgumentError(name, "compile", f"is {mode!r:.50}", 'give "off", "background" or "wait"')


def _at_least(minimum: int, number: object, setting: str, unit: str) -> int:
    """Return the number, or raise ArgumentError if it is not an int of at least `minimum`."""
    try:
        value = minimum - 1 if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        value = minimum - 1
    if value < minimum:
        raise ArgumentError("config", setting, f"is {number!r}", f"give a number of {unit}, {minimum} or more")
    return value


def _default_threads() -> int:
    """Return the value of ANYSHAPE_NUM_THREADS, else the number of cores that this process may use."""
    text = os.environ.get("ANYSHAPE_NUM_THREADS", "").strip()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if text.isdecimal() and int(text) > 0:
        return int(text)
    if text:
        warnings.warn(
            f"ANYSHAPE_NUM_THREADS is {text!r}, not a number of threads; all {cores} cores are used",
            RuntimeWarning,
            stacklevel=2,
        )
    return cores


def default_mode() -> str:
    """Return the value of ANYSHAPE_OPTIMIZE, else the default."""
    return _mode_of_environment("ANYSHAPE_OPTIMIZE", MODES, DEFAULT_MODE)


def _mode_of_environment(name: str, modes: tuple[str, ...], default: str) -> str:
    """Return the value of a variable of the environment, else the default; warn of another value."""
    text = os.environ.get(name, "").strip()
    if text and text not in modes:
        problem = f"{name} is {text!r}, not one of {', '.join(modes)}; it is {default!r}"
        warnings.warn(problem, RuntimeWarning, stacklevel=3)
    return text if text in modes else default


config: Config = Config(
    _default_threads(), optimize=default_mode(), compile=_mode_of_environment("ANYSHAPE_COMPILE", COMPILE_MODES, "off")
)
