"""Note where code of the user makes operands of large arrays that it closes over.

A program reads such an array in each run. Python may read it too, while the function is traced. A trace must know
whether each use of the array in the code makes an operand of it, in each execution.
"""

import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.prover.user_stack import is_user_frame, traced_frames
from anyshape.support.fork_lock import is_thread_state
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type

Site: TypeAlias = tuple[types.CodeType, int]  # code, and an offset of it
Chain: TypeAlias = tuple[Site, ...]  # sites of frames that call each other, the innermost first


class Sites(NamedTuple):
    """Sites where one trace made operands of an array, each with the calls around it up to the traced function.

    - `direct`: in the innermost frames of the user; `passed`: in frames around, whose calls gave the array a name.
    - `names`: local names of the array in these frames, with the function that was traced then.

    The body of a loop that stays is a traced function.
    """

    direct: set[Chain]
    passed: set[Chain]
    names: set[tuple[types.CodeType, str, types.CodeType]]


SMALL = 4096  # bytes of an array that is compared by content in each call
Notes: TypeAlias = dict[int, tuple[np.ndarray, Sites]]  # by the id of the array that owns the memory


class _Thread(threading.local):
    notes: Notes | None = None


_THREAD = _Thread()


def _go_back(notes: Notes | None) -> None:
    _THREAD.notes = notes


is_thread_state(lambda: _THREAD.notes, _go_back)


@contextmanager
def noting(notes: Notes) -> Iterator[None]:
    """Note the operands of a trace, and forget an earlier one."""
    outer, _THREAD.notes = _THREAD.notes, notes
    notes.clear()
    try:
        yield
    finally:
        _THREAD.notes = outer


def note_operand(array: np.ndarray) -> None:
    """Note that an array becomes an operand where the code of the user stands, if it is of a large one."""
    owner, notes = owner_of(array), _THREAD.notes
    if owner.nbytes <= SMALL or notes is None:
        return
    sites = notes.setdefault(id(owner), (owner, Sites(set(), set(), set())))[1]
    frames = [*filter(is_user_frame, traced_frames(sys._getframe(1)))]
    if not frames:  # the engine makes it
        return
    chain = tuple([(frame.f_code, frame.f_lasti) for frame in frames])
    sites.direct.add(chain)
    for number, frame in enumerate(frames, 1):
        here = [n for n, x in frame.f_locals.items() if type(x) is np.ndarray and owner_of(x) is owner]
        sites.names.update([(frame.f_code, n, frames[-1].f_code) for n in here])
        if here and number < len(chain):
            sites.passed.add(chain[number:])


def owner_of(array: np.ndarray) -> np.ndarray:
    """Return the outermost array whose memory an array views."""
    return [x for x in bases_of(array) if has_type(x, np.ndarray)][-1]


def bases_of(x: Any) -> list[Any]:
    """Return an array and the objects whose memory it views, the owner last."""
    chain = []
    while x is not None:
        chain.append(x)
        x = getattr(x, "obj" if type(x) is memoryview else "base", None)
    return chain
