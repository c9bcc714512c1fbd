"""Query the number of threads that BLAS uses for one product; it can change at any time."""

from __future__ import annotations

import functools
from typing import Any

from anyshape.support.packages import threadpoolctl


@functools.cache
def _libraries() -> list[Any]:
    """List the BLAS libraries that NumPy calls; SciPy may have loaded another one."""
    controllers = threadpoolctl.ThreadpoolController().lib_controllers
    loaded = [c for c in controllers if c.user_api == "blas"]
    return [c for c in loaded if "numpy" in c.filepath] or loaded


def blas_threads() -> int | None:
    """Return the number of threads of NumPy's BLAS, or None if that library does not report it."""
    return max([c.num_threads for c in _libraries()], default=None)
