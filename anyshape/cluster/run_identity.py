"""Identity of a run: a digest of its function with what that reads, of all shapes, and of data or a sample of it."""

from __future__ import annotations

import hashlib
import marshal
import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from anyshape.cluster.chunks import chunks_of, fetched, mapped_leaves, value_of
from anyshape.program.program import Program
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.digest import state_digest
from anyshape.tracing.captured.watch import watch
from anyshape.tracing.pytrees import flatten, is_array

_SAMPLE = 4  # chunks on workers whose content the client reads


def data_digest(places: Sequence[int | str], args: Sequence[Any], name: str) -> str:
    """Return a digest of arguments; those at some places are chunks."""
    content = hashlib.sha256()
    for at, argument in enumerate(args):
        if at in places:
            _add_chunks(content, chunks_of(argument, str(at), name))
        else:
            add_arrays(content, flatten(argument)[0])
    return content.hexdigest()


def function_digest(function: Callable[..., Any]) -> str:
    """Return a digest of the code of a function and of all that it reads."""
    if isinstance(function, Program):
        return hashlib.sha256(pickle.dumps(function)).hexdigest()
    state = watch(function)
    digest = state_digest(state)
    if digest is not None:
        return digest.total
    return hashlib.sha256(b"".join(map(marshal.dumps, state.codes))).hexdigest()  # beside what cannot be read


def add_arrays(content: Any, leaves: Iterable[Any]) -> None:
    """Add the shapes, dtypes and elements of arrays to a digest."""
    for x in [np.asarray(x) for x in leaves if is_array(x)]:
        content.update(f"{x.shape} {x.dtype}".encode() + x.tobytes())


def _add_chunks(content: Any, chunks: Sequence[Any]) -> None:
    """Add the shapes of chunks, and the content of those that are here, or of a sample of the others."""
    sample = set(np.linspace(0, len(chunks) - 1, _SAMPLE).astype(int).tolist())
    for number, chunk in enumerate(chunks):
        leaves: list[Any] = []
        mapped_leaves(leaves.append, chunk)
        for x in leaves:
            content.update(f"{number} {getattr(x, 'shape', None)} {getattr(x, 'dtype', None)}".encode())
            if has_type(x, np.ndarray) or number in sample:
                add_arrays(content, flatten(value_of(fetched(x)))[0])
