"""Context managers that make groups run in tiles on small arrays, or never."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from anyshape.backend.compiler.codegen import tiles
from anyshape.backend.runtime.config import config


@contextmanager
def tiled(tile=6, least=1, threads=2):
    """Run groups of programs that are made here in tiles of `tile` elements, from `least` elements on.

    `least` and `tile` are read when a program is made, `threads` when it is called.
    """
    before = config.num_threads, config.optimize
    with ExitStack() as stack:
        stack.enter_context(patch.object(tiles, "forced", (least, tile)))
        stack.enter_context(patch.object(tiles, "MIN_BLOCKS", 2))
        config.num_threads, config.optimize = threads, "now"
        try:
            yield
        finally:
            config.num_threads, config.optimize = before


def untiled():
    """Run no group of programs that are made here in tiles."""
    return tiled(least=1 << 60)
