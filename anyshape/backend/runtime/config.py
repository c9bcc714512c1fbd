"""Settings that may change while programs run: `anyshape.config`."""

from __future__ import annotations

import operator
import os
import warnings

from anyshape.errors import ArgumentError


class Config:
    """Settings that may change while programs run.

    - `num_threads`: threads that one call may use. With 1, everything runs in the calling thread.
    - `reassociate`: whether sums of products of floating-point numbers become contractions. BLAS adds these up in its
      own order, not pairwise. The setting applies to plans made afterwards.
    - `kept_bytes`: bound of the bytes that programs cache of shape-only arrays, such as masks; 0 caches none.
    """

    __slots__ = ("_kept_bytes", "_num_threads", "_reassociate")

    def __init__(self, num_threads: int, reassociate: bool = False, kept_bytes: int = 1 << 25) -> None:
        self.num_threads, self.reassociate, self.kept_bytes = num_threads, reassociate, kept_bytes

    @property
    def num_threads(self) -> int:
        return self._num_threads

    @num_threads.setter
    def num_threads(self, number: int) -> None:
        self._num_threads = _at_least(1, number, "num_threads", "threads")

    @property
    def kept_bytes(self) -> int:
        return self._kept_bytes

    @kept_bytes.setter
    def kept_bytes(self, number: int) -> None:
        self._kept_bytes = _at_least(0, number, "kept_bytes", "bytes")

    @property
    def reassociate(self) -> bool:
        return self._reassociate

    @reassociate.setter
    def reassociate(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ArgumentError("config", "reassociate", f"is {value!r}", "give True or False")
        self._reassociate = value

    def __repr__(self) -> str:
        return f"Config(num_threads={self.num_threads}, reassociate={self.reassociate}, kept_bytes={self.kept_bytes})"


def _at_least(minimum: int, number: object, setting: str, unit: str) -> int:
    """Return the number, or raise ArgumentError if it is not an int of at least `minimum`."""
    try:
        value = minimum - 1 if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        value = minimum - 1
    if value < minimum:
        raise ArgumentError("config", setting, f"is {number!r}", f"give a number of {unit}, {minimum} or more")
    return value


def checks_enabled() -> bool:
    """Tell whether ANYSHAPE_CHECK=1 asks for graphs to be verified after each pass, and metadata after each step."""
    return os.environ.get("ANYSHAPE_CHECK", "") not in ("", "0")


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


config = Config(_default_threads())
