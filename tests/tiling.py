"""How tests make groups run tile by tile on small arrays: tiles of few elements, for arrays of any size, at once."""

from contextlib import contextmanager

from anyshape.backend import pool, tiles
from anyshape.frontend import relations


@contextmanager
def tiled(tile=6, least=1, threads=2):
    """Groups of programs made here run in tiles of `tile` elements from `least` elements on, on so many threads.

    `least` is read when a program is made, `tile` and `threads` when it is called.
    """
    before = tiles.LEAST, tiles.NAMES["_TILE"], pool.config.num_threads, relations.PATIENCE
    tiles.LEAST, tiles.NAMES["_TILE"], pool.config.num_threads, relations.PATIENCE = (least, least), tile, threads, 0
    try:
        yield
    finally:
        tiles.LEAST, tiles.NAMES["_TILE"], pool.config.num_threads, relations.PATIENCE = before


def untiled():
    """No group runs in tiles in programs made here."""
    return tiled(least=1 << 60)
