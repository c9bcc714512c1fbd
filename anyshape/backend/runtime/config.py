"""Settings that may change while programs run: `anyshape.config`."""

import functools
import operator
import os
import sys
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.errors import ArgumentError, SettingWarning
from anyshape.graph.ir.tracebacks import shown
from anyshape.support import elsewhere
from anyshape.support.packages import shutil

MODES = ("now", "auto", "off")  # optimised plans are made at once, when they pay, or never
CHOICES = {
    "optimize": MODES,
    "compile": ("auto", "off", "background", "wait"),  # groups: when that pays, or else never, meanwhile, or at first
    "read_source": ("auto", "off"),  # functions are read, and loops kept, or run as they are written
    "traceback": ("short", "full"),  # without and with the frames of the library
    "host_kernels": ("never", "always"),
}
# When loops of a trace become machine code: a mode, "limit" or "library" where none does, "" for that of the settings.
RUN_BY: ContextVar[str] = ContextVar("RUN_BY", default="")
_CANDIDATES = ("cc", "gcc", "clang")  # compilers on the search path
AMBIENT_ERRSTATE = np.geterr()  # at the import of anyshape: an `np.seterr` before it is not a block of `np.errstate`


class Config:
    """Settings that may change while programs run.

    - `num_threads`: threads that one call may use. With 1, everything runs in the calling thread.
    - `reassociate`: whether sums of products of floating-point numbers become contractions. BLAS adds these up in its
      own order, not pairwise. The setting applies to plans made afterwards.
    - `optimize`: when optimised plans are made, for programs whose `jit` does not say it: "now", "auto" or "off".
    - `max_paths`: programs that a function keeps for its decisions on values, for arguments of one kind.
    - `compile`: when groups of steps become machine code, for programs whose `jit` does not say it: "auto", "off",
      "background" or "wait".
    - `reproducible`: whether equal arguments give equal bits in each call, and in each process on one machine. The
      setting applies to programs made afterwards: they have no machine code, and "auto" optimises them at once.
    - `read_source`: "auto" to read the source of functions that are traced, so that their loops stay loops. "off" runs
      them as they are written. It applies to traces made afterwards, of functions whose `jit` does not say it.
    - `traceback`: "short" for errors that show the lines of the user alone, "full" with the ones of anyshape.
    - `host_kernels`: "always" to run ops on the host that have no kernel for arrays of another library. Their operands
      are moved there, and their results back. "never" refuses such programs. It applies to programs made afterwards.
    - `shape_cache_bytes`: bound of the bytes that programs cache of shape-only arrays, such as masks; 0 caches none.
    """

    __slots__ = (
        "compile", "host_kernels", "max_paths", "num_threads", "optimize", "read_source", "reassociate", "reproducible",
        "shape_cache_bytes",
    )  # fmt: skip

    def __init__(
        self,
        num_threads: int,
        reassociate: bool = False,
        shape_cache_bytes: int = 1 << 25,
        optimize: str = "auto",
        max_paths: int = 256,
        traceback: str = "short",
        compile: str = "auto",
        reproducible: bool = False,
        read_source: str = "auto",
        host_kernels: str = "never",
    ) -> None:
        self.num_threads, self.reassociate = num_threads, reassociate
        self.shape_cache_bytes, self.optimize = shape_cache_bytes, optimize
        self.max_paths, self.traceback, self.compile = max_paths, traceback, compile
        self.reproducible, self.read_source = reproducible, read_source
        self.host_kernels = host_kernels

    if not TYPE_CHECKING:  # for type checkers a misspelt setting is an error, as it is here by the slots

        def __setattr__(self, name: str, value: Any) -> None:
            if name not in _CHECKS:
                missing = AttributeError(f"config has no setting {name!r}", name=name, obj=self)
                if advice := elsewhere.instead_of_keyword(name, tuple(_CHECKS)):
                    missing.add_note(f"  {advice}")
                raise missing
            super().__setattr__(name, _CHECKS[name](value))

    @property
    def traceback(self) -> str:
        return shown.form

    @traceback.setter
    def traceback(self, form: str) -> None:
        shown.form = form

    def __repr__(self) -> str:
        first = ("max_paths", "num_threads", "reassociate", "shape_cache_bytes", "optimize", "compile")
        names = (*first, "host_kernels", "read_source", "reproducible", "traceback")
        return f"Config({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"


Config.__getattr__ = elsewhere.no_method  # type: ignore[attr-defined]


def checked_choice(value: object, setting: str, name: str = "config") -> str:
    """Return the value, or raise ArgumentError if it is none of the choices of the setting."""
    if isinstance(value, str) and value in CHOICES[setting]:
        return value
    *others, last = [f'"{choice}"' for choice in CHOICES[setting]]
    raise ArgumentError(name, setting, f"is {value!r:.50}", f"give {', '.join(others)} or {last}")


def _at_least(minimum: int, number: object, setting: str, unit: str) -> int:
    """Return the number, or raise ArgumentError if it is not an int of at least `minimum`."""
    try:
        value = minimum - 1 if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        value = minimum - 1
    if value < minimum:
        raise ArgumentError("config", setting, f"is {number!r}", f"give a number of {unit}, {minimum} or more")
    return value


def _checked_flag(value: object, setting: str) -> bool:
    if isinstance(value, bool):
        return value
    raise ArgumentError("config", setting, f"is {value!r}", "give True or False")


# Each returns the value that a setting takes, or raises ArgumentError.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "num_threads": lambda number: _at_least(1, number, "num_threads", "threads"),
    "max_paths": lambda number: _at_least(0, number, "max_paths", "programs"),
    "shape_cache_bytes": lambda number: _at_least(0, number, "shape_cache_bytes", "bytes"),
    "reassociate": lambda value: _checked_flag(value, "reassociate"),
    "reproducible": lambda value: _checked_flag(value, "reproducible"),
    **{setting: functools.partial(checked_choice, setting=setting) for setting in CHOICES},
}


def _default_threads() -> int:
    """Return the value of ANYSHAPE_NUM_THREADS, else the number of cores that this process may use."""
    text = os.environ.get("ANYSHAPE_NUM_THREADS", "").strip()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if text.isdecimal() and int(text) > 0:
        return int(text)
    if text:
        message = f"ANYSHAPE_NUM_THREADS is {text!r}, not a number of threads; all {cores} cores are used"
        warnings.warn(message, SettingWarning, stacklevel=2)
    return cores


def default_mode() -> str:
    """Return the value of ANYSHAPE_OPTIMIZE, else the default."""
    return _mode_of_environment("ANYSHAPE_OPTIMIZE", MODES, "auto")


def compile_mode(asked: str | None) -> str:
    """Return when groups of a program are compiled, for what its `jit` says."""
    if config.reproducible:
        return "off"
    return config.compile if asked is None else asked


@functools.cache
def compiler() -> tuple[str, ...]:
    """Return the command of the compiler: of ANYSHAPE_CC, else one on the search path, else ziglang's, else nothing."""
    asked = os.environ.get("ANYSHAPE_CC", "").split()
    for command in [asked] if asked else [[name] for name in _CANDIDATES]:
        if (path := shutil.which(command[0])) is not None:
            return path, *command[1:]
    if not asked and any(os.path.isfile(os.path.join(folder, "ziglang", "__main__.py")) for folder in sys.path):
        # the extra `compile`
        return sys.executable, "-m", "ziglang", "cc"
    return ()


def _mode_of_environment(name: str, modes: tuple[str, ...], default: str) -> str:
    """Return the value of a variable of the environment, else the default; warn of another value."""
    if (text := os.environ.get(name, "").strip()) and text not in modes:
        problem = f"{name} is {text!r}, not one of {', '.join(modes)}; it is {default!r}"
        warnings.warn(problem, SettingWarning, stacklevel=3)
    return text if text in modes else default


config: Config = Config(
    _default_threads(),
    optimize=default_mode(),
    compile=_mode_of_environment("ANYSHAPE_COMPILE", CHOICES["compile"], "auto"),
    reproducible=_mode_of_environment("ANYSHAPE_REPRODUCIBLE", ("0", "1"), "0") == "1",
    read_source=_mode_of_environment("ANYSHAPE_READ_SOURCE", CHOICES["read_source"], "auto"),
)
