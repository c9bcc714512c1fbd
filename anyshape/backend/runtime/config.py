"""Settings that may change while programs run: `anyshape.config`."""

from __future__ import annotations

import operator
import os
import warnings

from anyshape.errors import ArgumentError


class Config:
    """What can be set while programs run. `num_threads`: threads that one call may use; 1 runs everything in place.

    `reassociate`: sums of products of floating-point numbers become contractions, which add up in an order of BLAS and
    not pairwise. Plans that are made from then on follow it. `kept_bytes`: what programs keep at most of arrays that
    depend on the sizes of calls alone, such as masks; 0 keeps none.
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
    def reassociate(self, asked: bool) -> None:
        if not isinstance(asked, bool):
            raise ArgumentError("config", "reassociate", f"is {asked!r}", "give True or False")
        self._reassociate = asked

    def __repr__(self) -> str:
        return f"Config(num_threads={self.num_threads}, reassociate={self.reassociate}, kept_bytes={self.kept_bytes})"


def _at_least(least: int, number: object, name: str, of: str) -> int:
    """The number, if it is an int of at least so much."""
    try:
        asked = least - 1 if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        asked = least - 1
    if asked < least:
        raise ArgumentError("config", name, f"is {number!r}", f"give a number of {of}, {least} or more")
    return asked


def _from_environment() -> int:
    """What ANYSHAPE_NUM_THREADS says, else the cores that this process may use."""
    asked = os.environ.get("ANYSHAPE_NUM_THREADS", "").strip()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    if asked:
        warnings.warn(
            f"ANYSHAPE_NUM_THREADS is {asked!r}, not a number of threads; all {cores} cores are used",
            RuntimeWarning,
            stacklevel=2,
        )
    return cores


config = Config(_from_environment())
