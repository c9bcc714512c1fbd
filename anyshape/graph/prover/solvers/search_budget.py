"""Budget of searches for verdicts on sizes: time, and parts of sets that are examined.

Parts are counted, so that the verdicts of a program are the same each time. Time only limits the worst case.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator

from anyshape.support.interruption import is_thread_state
from anyshape.support.progress import show_if_due

_FAILED_LEAVES, _FEW_LEAVES = 1500, 40  # of all optional queries of one owner, and of each one beyond
_CREDIT, _CREDIT_OF_VERDICT = 12, 4  # failed searches until most optional queries get none, and what a verdict adds
_PROBED = 8  # one in so many is searched then, as what follows may be easier
_LEAVES_PER_READING = 16  # of the clock
_UNLIMITED = 1 << 30


class OutOfBudgetError(Exception):
    """Raised where a query took more operations, more parts or more time than its budget."""


class QueryBudget:
    """Budget of one query of integer sets: the parts and seconds that are left, and whether it was decided.

    Its time begins when the clock is first read: reading it costs more than most verdicts.
    """

    __slots__ = ("decided", "leaves", "seconds", "start")

    def __init__(self, leaves: int, seconds: float) -> None:
        self.leaves, self.seconds, self.start, self.decided = leaves, seconds, math.inf, False

    def end(self, now: float) -> float:
        """Return the time at which it ends; begin it, if it has not begun."""
        self.start = min(self.start, now)
        return self.start + self.seconds


class _Thread(threading.local):
    """State of the current query of a thread."""

    deadline = math.inf  # of a block, on the thread's clock
    query: QueryBudget | None = None

    def renew(self, state: tuple[float, QueryBudget | None]) -> None:
        """Set the state to what it was."""
        self.deadline, self.query = state


_THREAD = _Thread()
is_thread_state(lambda: (_THREAD.deadline, _THREAD.query), _THREAD.renew)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the thread's time for all queries in the block together; later ones raise OutOfBudgetError.

    A block inside another has at most the rest of the outer one.
    """
    before = _THREAD.deadline
    until = min(before, time.thread_time() + seconds)
    try:
        _THREAD.deadline = until
        yield
    finally:
        if _THREAD.deadline == until:  # else Ctrl-C ended the block, and this comes late
            _THREAD.deadline = before


def deadline(seconds: float) -> float:
    """Return the time at which a query of at most these seconds ends, on the thread's clock."""
    now, query = time.thread_time(), _THREAD.query
    end = min(_THREAD.deadline, now + seconds)
    return end if query is None else min(end, query.end(now))


def out_of_time() -> bool:
    """Return whether the time of the query, or of the block, is over."""
    is_limited = _THREAD.query is not None or _THREAD.deadline < math.inf
    return is_limited and time.thread_time() > deadline(math.inf)


class Leaves:
    """Parts of a set that one search may examine, until a time on the thread's clock."""

    def __init__(self, most: int, until: float = math.inf) -> None:
        self.left, self.until = most, until

    def take(self) -> None:
        """Count a part; raise OutOfBudgetError if there were as many as allowed, or the time is over."""
        self.left -= 1
        if self.left < 0:
            raise OutOfBudgetError
        if self.until < math.inf and self.left % _LEAVES_PER_READING == 0 and time.thread_time() > self.until:
            raise OutOfBudgetError


@contextlib.contextmanager
def search(most: int, until: float) -> Iterator[Leaves]:
    """Give a search its parts: at most this many, and as many as the current query has left."""
    query = _THREAD.query
    leaves = Leaves(most if query is None else min(most, query.leaves), until)
    allowed = leaves.left
    try:
        yield leaves
    finally:
        if query is not None:
            query.leaves -= allowed - max(leaves.left, 0)


class SearchBudget:
    """Work on all queries of one owner.

    Parts are counted for optional queries without a verdict. When they are used up, each further one still gets a
    few, so that easy proofs are found. So does each query get `least` seconds when the time is used up. After many
    failed searches, with few verdicts between them, only one in eight optional queries is searched.
    """

    def __init__(self, seconds: float, each: float, least: float) -> None:
        self.seconds, self.each, self.least = seconds, each, least
        self.leaves, self.credit, self.unsearched = _FAILED_LEAVES, _CREDIT, 0
        self.spent = 0.0  # seconds of all queries

    @contextlib.contextmanager
    def query(self, leaves: int | None = None) -> Iterator[QueryBudget]:
        """Limit the work on one query, and on all queries that it needs.

        `leaves` are the parts that an optional query may cost at most: nothing breaks where a proof is missed.
        """
        if _THREAD.query is not None:
            yield _THREAD.query
            return
        show_if_due()
        limit = _UNLIMITED if leaves is None else self._parts(leaves)
        seconds = max(self.least, min(self.each, self.seconds))
        query, start = QueryBudget(limit, seconds), time.perf_counter()
        try:
            _THREAD.query = query
            yield query
        finally:
            if _THREAD.query is query:  # else Ctrl-C ended the block, and this comes late
                _THREAD.query = None
            self.spent += time.perf_counter() - start
            if query.start < math.inf:
                self.seconds -= time.thread_time() - query.start
            if leaves is not None:
                self._count(limit - query.leaves, decided=query.decided)

    def _parts(self, leaves: int) -> int:
        """Return the parts of an optional query; 0 if it is not searched."""
        if self.credit <= 0:
            self.unsearched += 1
            if self.unsearched % _PROBED:
                return 0
        return max(_FEW_LEAVES, min(leaves, self.leaves))

    def _count(self, parts: int, *, decided: bool) -> None:
        """Count the parts that an optional query took."""
        if decided:
            self.credit = min(_CREDIT, self.credit + _CREDIT_OF_VERDICT * (parts > 0))
        else:
            self.leaves -= parts
            self.credit = max(0, self.credit - (parts > 0))
