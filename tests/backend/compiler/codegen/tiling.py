"""How tests make groups run tile by tile on small arrays: tiles of few elements, for arrays of any size, at once."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from anyshape.backend.compiler.codegen import tiles
from anyshape.backend.runtime.config import config
from anyshape.program import specialize


@contextmanager
def tiled(tile=6, least=1, threads=2):
    """Groups of programs made here run in tiles of `tile` elements from `least` elements on, on so many threads.

    `least` and `tile` are read when a program is made,
    `threads` when it is called.
    """
    before = config.num_threads
    with ExitStack() as stack:
        stack.enter_context(patch.object(tiles, "forced", (least, tile)))
        stack.enter_context(patch.object(tiles, "MIN_BLOCKS", 2))
        stack.enter_context(patch.object(specialize, "PATIENCE", 0))
        config.num_threads = threads
        try:
            yield
        finally:
            config.num_threads = before


def untiled():
    """No group runs in tiles in programs made here."""
    return tiled(least=1 << 60)
