"""Store code that functions were rewritten to beside the kernels of the user, where other processes find it.

An entry is named by a hash of all that decides it: the code of the function, this Python, and the files of this folder.
"""

import contextlib
import functools
import hashlib
import marshal
import os
import sys
import types

MOST = 2000  # entries; the older half goes when there are more
LEAST = 2000  # bytes of code that takes longer to read than its entry
_HASH = hashlib.sha256
_DAMAGES = (OSError, ValueError, EOFError, TypeError)


def stored(code: types.CodeType, way: str) -> types.CodeType | None:
    """Return what a function was rewritten to in a way, by its code; None if that is not stored."""
    try:
        with open(_path(code, way), "rb") as file:
            data = file.read()
        return marshal.loads(data[32:]) if _HASH(data[32:]).digest() == data[:32] else None
    except _DAMAGES:
        return None


def store(code: types.CodeType, way: str, new: types.CodeType) -> None:
    """Store what a function was rewritten to; where that cannot be, other processes read it themselves."""
    with contextlib.suppress(*_DAMAGES):
        data, path = marshal.dumps(new), _path(code, way)
        with open(apart := f"{path}.{os.getpid()}", "wb", opener=functools.partial(os.open, mode=0o600)) as file:
            file.write(_HASH(data).digest() + data)
        os.replace(apart, path)
        entries = [*os.scandir(os.path.dirname(path))]
        if len(entries) > MOST:
            for entry in sorted(entries, key=lambda e: e.stat().st_mtime)[: len(entries) // 2]:
                os.remove(entry.path)


def clear() -> None:
    """Remove all entries."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(_folder()):
            os.remove(entry.path)


def _path(code: types.CodeType, way: str) -> str:
    """Return the file of an entry; raise ValueError or OSError if there cannot be one."""
    text = marshal.dumps((way, code), 2)  # later versions write what is shared, not only what is equal
    if len(text) < LEAST or code.co_filename.startswith("<"):
        raise ValueError
    return os.path.join(_folder(), _HASH(_stamp() + text).hexdigest())


@functools.cache
def _stamp() -> bytes:
    with os.scandir(os.path.dirname(__file__)) as files:
        facts = [(f.name, (s := f.stat()).st_mtime_ns, s.st_size) for f in files if f.name.endswith(".py")]
    return repr((sys.version, sorted(facts))).encode()


def _folder() -> str:
    """Return the folder of entries; raise OSError if there is none, or others may write to it."""
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.environ.get("ANYSHAPE_KERNEL_CACHE", "").strip() or os.path.join(base, "anyshape")
    os.makedirs(folder := os.path.join(folder, "functions"), mode=0o700, exist_ok=True)
    status = os.stat(folder)
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        raise OSError
    return folder
