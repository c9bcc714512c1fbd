"""Load packages at their first use, so that importing anyshape costs little over importing NumPy.

This table is the only place of the library that imports a package late. `extra` names the optional dependency group
of a package that anyshape can do without.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

from anyshape.errors import MissingPackageError
from anyshape.support.garbage import collection_paused
from anyshape.support.interruption import restores_thread

_LOCK = threading.RLock()


@restores_thread
def _load(name: str) -> Any:
    """Import a module, without looking for garbage meanwhile."""
    with collection_paused():
        return importlib.import_module(name)


class Package:
    """Proxy of a module that is imported at the first access to one of its attributes."""

    def __init__(self, name: str, *, extra: str | None = None) -> None:
        self._name, self._extra = name, extra
        self._loaded = False
        self._waiting: list[Callable[[], Any]] = []  # to be called when the module is there

    def __getattr__(self, attribute: str) -> Any:
        try:
            module = importlib.import_module(self._name) if self._loaded else _load(self._name)
        except ModuleNotFoundError as error:
            package = self._name.partition(".")[0]
            if self._extra is None or (error.name or "").partition(".")[0] != package:
                raise
            raise MissingPackageError(package, self._extra) from error
        self._load()
        value = getattr(module, attribute)
        self.__dict__[attribute] = value  # later accesses find it without a call
        return value

    def when_loaded(self, action: Callable[[], Any]) -> None:
        """Call a function once the module is loaded, now if it is."""
        with _LOCK:
            if not self._loaded:
                self._waiting.append(action)
                return
        action()

    def _load(self) -> None:
        """Call the functions that wait for the module."""
        with _LOCK:
            self._loaded, waiting, self._waiting = True, self._waiting, []
            for action in waiting:
                action()


islpy = Package("islpy")  # integer sets: questions that intervals and examples leave open
optree = Package("optree")  # pytrees of arguments and results: flattened at the first call
networkx = Package("networkx")  # layers of a drawing, minimum cuts under a memory limit
threadpoolctl = Package("threadpoolctl")  # thread count of BLAS, asked by the first large contraction
lapack = Package("scipy.linalg.lapack")  # factors of matrices that are kept, and triangular solutions
decimal = Package("decimal")  # decimals among arguments and captured values
queue = Package("queue")  # runs that wait for threads: made with the first thread
html = Package("html")  # escapes of pages; it loads the table of all named characters
cloudpickle = Package("cloudpickle", extra="cluster")  # functions that no module has by name
matplotlib_figure = Package("matplotlib.figure", extra="demo")
rich_console = Package("rich.console", extra="demo")
rich_markup = Package("rich.markup", extra="demo")
rich_progress = Package("rich.progress", extra="demo")
rich_table = Package("rich.table", extra="demo")
