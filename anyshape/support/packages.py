"""Load packages at their first use, so that importing anyshape costs little over importing NumPy.

This table is the only place of the library that imports a package late. `extra` names the optional dependency group
of a package that anyshape can do without.
"""

from __future__ import annotations

import importlib
from typing import Any

from anyshape.errors import MissingPackageError


class Package:
    """Proxy of a module that is imported at the first access to one of its attributes."""

    def __init__(self, name: str, *, extra: str | None = None) -> None:
        self._name, self._extra = name, extra

    def __getattr__(self, attribute: str) -> Any:
        try:
            module = importlib.import_module(self._name)
        except ModuleNotFoundError as error:
            package = self._name.partition(".")[0]
            if self._extra is None or (error.name or "").partition(".")[0] != package:
                raise
            raise MissingPackageError(package, self._extra) from error
        value = getattr(module, attribute)
        self.__dict__[attribute] = value  # later accesses find it without a call
        return value


islpy = Package("islpy")  # integer sets: questions that intervals and examples leave open
networkx = Package("networkx")  # layers of a drawing, minimum cuts under a memory limit
threadpoolctl = Package("threadpoolctl")  # thread count of BLAS, asked by the first large contraction
matplotlib_figure = Package("matplotlib.figure", extra="demo")
rich_console = Package("rich.console", extra="demo")
rich_markup = Package("rich.markup", extra="demo")
rich_progress = Package("rich.progress", extra="demo")
rich_table = Package("rich.table", extra="demo")
