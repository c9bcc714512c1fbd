"""Use one pool of threads for linear algebra.

NumPy and SciPy may each bring an OpenBLAS, whose threads spin for a while after a call. Two such pools take the cores
from each other: a product and a triangular solution of 200 rows, in turns, take 16 ms in place of 0.5. So a run uses
that of the library which computes NumPy's products.

- Routines that gain from threads are called there, by their symbols.
- SciPy's library has one thread while a kernel runs functions of SciPy, which gain little from threads of their own.
- So has NumPy's while it factors matrices of up to 800 rows on two cores. With two threads, an eigensystem of 200 rows
  takes 1.3 times as long, a QR factorisation 2, a Cholesky factor 3.7. Products, solutions and inverses take 0.6.

The number of threads follows from sizes and the number of cores alone.
"""

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from anyshape.backend.runtime.config import config
from anyshape.support.packages import scipy_linalg, threadpoolctl

MOST_ROWS = 1024  # of matrices for which SciPy's functions run in one thread: products decide beyond
FEWEST_ROWS = 48  # of matrices for whose factors NumPy's library uses threads
_MOST_FACTORED = 1600 // (os.cpu_count() or 1)  # rows up to which threads cost factors more time than they save
_INT = ctypes.c_int64
_INVERSE_BLOCK = 64  # columns that getri works on at once
_ONES = {kind: np.ones((), kind) for kind in "fdFD"}
_COUNTS = {"trsm": 15, "getrf": 6, "getrs": 10, "getri": 7}  # of arguments of routines, with the lengths of characters
_PREFIXES = dict(zip("fdFD", "sdcz", strict=True))  # of routines, by the character of the dtype


@functools.cache
def _libraries() -> list[Any]:
    """List the BLAS libraries that NumPy calls; SciPy may have loaded another one."""
    loaded = [c for c in threadpoolctl.ThreadpoolController().lib_controllers if c.user_api == "blas"]
    return [c for c in loaded if "numpy" in c.filepath] or loaded


@functools.cache
def _libraries_of_scipy() -> list[Any]:
    """List the BLAS libraries of SciPy alone, which is loaded from here on."""
    getattr(scipy_linalg, "blas")  # noqa: B009  # loads it, also where Python leaves assertions out
    own = {c.filepath for c in _libraries()}
    loaded = threadpoolctl.ThreadpoolController().lib_controllers
    return [c for c in loaded if c.user_api == "blas" and c.filepath not in own]


def blas_threads() -> int | None:
    """Return the number of threads of NumPy's BLAS, or None if that library does not report it."""
    return max([c.num_threads for c in _libraries()], default=None)


class _OneThread:
    """Context in which libraries have one thread; the last of several users restores what it was before the first."""

    def __init__(self, libraries: Callable[[], Sequence[Any]]) -> None:
        self.libraries = libraries
        self.lock = threading.Lock()
        self.users: int = 0
        self.before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.before = [(c, n) for c in self.libraries() if (n := c.get_num_threads() or 1) > 1]
                for library, _ in self.before:
                    library.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.restore()

    def restore(self) -> None:
        """Give the libraries their threads again."""
        for library, count in self.before:
            library.set_num_threads(count)
        self.before = []


_OF_SCIPY, _OF_NUMPY = _OneThread(_libraries_of_scipy), _OneThread(_libraries)
AS_IT_IS: AbstractContextManager[None] = nullcontext()
ONE_THREAD: AbstractContextManager[None] = _OF_NUMPY


def scipy_threads(rows: int) -> AbstractContextManager[None]:
    """Have one thread in SciPy's library for matrices of so many rows, unless these are very many."""
    return _OF_SCIPY if rows <= MOST_ROWS else AS_IT_IS


def numpy_threads(rows: int, share: int = 1) -> AbstractContextManager[None]:
    """Have one thread in NumPy's library while it factors matrices of so many rows, where more take longer.

    `share` divides the rows up to which they do.

    Products in other threads have one meanwhile, and perhaps other last bits: reproducible results keep all threads.
    """
    is_few = FEWEST_ROWS <= rows <= _MOST_FACTORED // share and not config.reproducible
    return _OF_NUMPY if is_few else AS_IT_IS


def _renew() -> None:
    """Begin anew in a forked child, where no other thread will leave."""
    for one in (_OF_SCIPY, _OF_NUMPY):
        one.restore()
        one.__init__(one.libraries)  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


# -- routines of NumPy's library


@functools.cache
def _routine(name: str, kind: str) -> Any:
    """Return a routine for the character of a dtype, or None where NumPy's library has no such symbol.

    Sizes are numbers of 64 bits in libraries with this suffix. Where NumPy and SciPy share a library, it has another
    one, and there is one pool anyway.
    """
    for library in _libraries():
        if (routine := getattr(library.dynlib, f"scipy_{_PREFIXES[kind]}{name}_64_", None)) is not None:
            routine.restype, routine.argtypes = None, [ctypes.c_void_p] * _COUNTS[name]
            return routine
    return None


def has_routines(kind: str) -> bool:
    """Return whether the functions below have their routines for the character of a dtype."""
    return all(_routine(name, kind) is not None for name in _COUNTS)


def _call(name: str, like: np.ndarray, *arguments: Any) -> None:
    """Call a routine with characters, numbers and arrays, all by reference; ones are the lengths of characters."""
    numbers = [a for a in arguments if type(a) is int]
    held = (ctypes.c_int64 * len(numbers))(*numbers)
    places = iter(range(ctypes.addressof(held), ctypes.addressof(held) + ctypes.sizeof(held), ctypes.sizeof(_INT)))
    kinds: Any = {int: lambda _: next(places), bytes: lambda text: text}
    parts = [kinds[type(a)](a) if type(a) in kinds else a.ctypes.data for a in arguments]
    _routine(name, like.dtype.char)(*parts, *[1] * sum(type(a) is bytes for a in arguments))


def _by_rows(x: np.ndarray) -> bool:
    is_whole = x.flags.aligned and x.strides[0] % x.itemsize == 0  # not so in fields of records
    return is_whole and x.strides[1] == x.itemsize and x.strides[0] >= x.itemsize * max(x.shape[1], 1)


def solve_triangle(
    a: np.ndarray, b: np.ndarray, lower: bool, form: str = "N", unit: bool = False, right: bool = False
) -> np.ndarray:
    """Return the solution x of op(a) x = b, or of x op(a) = b, as a new array.

    The routine solves from the left by columns in memory, for the transpose of x from the right: so its threads share
    columns. From the right they share rows, and two of them take longer than one for 64 rows.
    """
    if right:
        transposed = {"N": a.T, "T": a, "C": a.conj()}[form]
        return solve_triangle(transposed, b.T, lower ^ (form == "N"), "N", unit).T
    x = np.array(b, order="F")
    trans = form
    if _by_rows(a) and form != "C":
        a, lower, trans = a.T, not lower, "NT"[form == "N"]
    elif not _by_rows(a.T):
        a = np.asfortranarray(a)
    size, columns = x.shape
    sides = (b"L", b"L" if lower else b"U", trans.encode(), b"U" if unit else b"N")
    one = _ONES[x.dtype.char]
    stride = a.strides[1] // a.itemsize if size > 1 else 1  # strides of one element mean nothing
    _call("trsm", x, *sides, size, columns, one, a, stride, x, size)
    return x


def lu_factor(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the factors of a matrix in one, the rows that were exchanged, and 0 or the number of a pivot that is 0."""
    lu, exchanged, info = np.array(a, order="F"), np.empty(min(a.shape), np.int64), np.zeros(1, np.int64)
    _call("getrf", lu, *a.shape, lu, a.shape[0], exchanged, info)
    return lu, (exchanged - 1).astype(np.int32), int(info[0])


def lu_inverse(lu: np.ndarray, exchanged: np.ndarray) -> np.ndarray:
    """Return the inverse of a matrix by the results of `lu_factor`, in the memory of the factors."""
    size, pivots, work = len(lu), exchanged.astype(np.int64) + 1, np.empty(_INVERSE_BLOCK * len(lu), lu.dtype)
    _call("getri", lu, size, lu, size, pivots, work, work.size, np.zeros(1, np.int64))
    return lu


def lu_solve(lu: np.ndarray, exchanged: np.ndarray, b: np.ndarray, form: str) -> np.ndarray:
    """Return the solution x of op(a) x = b by the results of `lu_factor`."""
    x, factors, pivots = np.array(b, order="F"), np.asfortranarray(lu), exchanged.astype(np.int64) + 1
    size, info = len(factors), np.zeros(1, np.int64)
    _call("getrs", x, form.encode(), size, x.shape[1], factors, size, pivots, x, size, info)
    return x
