"""Ask BLAS how many threads it uses for one product: the number can change at any time."""

from __future__ import annotations

import functools
from typing import Any

from anyshape.support.packages import threadpoolctl


@functools.cache
def _libraries() -> list[Any]:
    """The BLAS that NumPy calls; SciPy may have brought one of its own."""
    controllers = threadpoolctl.ThreadpoolController().lib_controllers
    found = [c for c in controllers if c.user_api == "blas"]
    return [c for c in found if "numpy" in c.filepath] or found


def blas_threads() -> int | None:
    """Threads of the BLAS that NumPy calls; None where it is not one that tells."""
    return max([c.num_threads for c in _libraries()], default=None)
