"""Note where code of the user makes operands of large arrays that it closes over.

A program reads such an array in each run. Python may read it too, while the function is traced. A trace must know
whether each use of the array in the code makes an operand of it.
"""

import sys
import types
import weakref
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.prover.user_stack import is_user_frame, traced_frames
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type

Site: TypeAlias = tuple[types.CodeType, int]  # code, and an offset of it


class Sites(NamedTuple):
    """Sites where an array became an operand.

    - `direct`: in the innermost frames of the user; `passed`: in frames around, whose calls gave the array a name.
    - `names`: local names of the array in these frames, with the function that was traced then.
    """

    direct: set[Site]
    passed: set[Site]
    names: set[tuple[types.CodeType, str, types.CodeType]]


SMALL = 4096  # bytes of an array that is compared by content in each call
_SITES: dict[int, tuple[weakref.ref[np.ndarray], Sites]] = {}  # by ids; single operations only, so threads need no lock


def note_operand(array: np.ndarray) -> None:
    """Note that an array becomes an operand where the code of the user stands, if it is of a large one."""
    owners = [x for x in bases_of(array) if has_type(x, np.ndarray)]
    if owners[-1].nbytes <= SMALL:
        return
    direct, passed, names = _sites_of(owners[-1])
    frames = [*filter(is_user_frame, traced_frames(sys._getframe(1)))]
    is_innermost, has_name = True, False
    for frame in frames:
        if is_innermost or has_name:
            (direct if is_innermost else passed).add((frame.f_code, frame.f_lasti))
        here = [n for n, x in frame.f_locals.items() if type(x) is np.ndarray and bases_of(x)[-1] is owners[-1]]
        names |= {(frame.f_code, n, frames[-1].f_code) for n in here}
        is_innermost, has_name = False, bool(here)


def sites(array: np.ndarray) -> Sites:
    """Return where an array became an operand."""
    owners = [x for x in bases_of(array) if has_type(x, np.ndarray)]
    return _sites_of(owners[-1])


def bases_of(x: Any) -> list[Any]:
    """Return an array and the objects whose memory it views, the owner last."""
    chain = []
    while x is not None:
        chain.append(x)
        x = getattr(x, "obj" if type(x) is memoryview else "base", None)
    return chain


def _sites_of(owner: np.ndarray) -> Sites:
    known = _SITES.get(id(owner))
    if known is not None and known[0]() is owner:
        return known[1]
    new = Sites(set(), set(), set())
    number = id(owner)
    _SITES[number] = weakref.ref(owner, lambda _: _SITES.pop(number, None)), new
    return new
