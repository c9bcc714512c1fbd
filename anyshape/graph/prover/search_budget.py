"""Budget of searches for verdicts on sizes: time, and parts of sets that are examined.

Parts are counted, so that the verdicts of a program are the same each time. Time only limits the worst case. A search
that ends in an error has no verdict, as one without budget.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Iterator

from anyshape.errors import SizeLimitError
from anyshape.support.fork_lock import checks_enabled, is_thread_state
from anyshape.support.progress import show_if_due

_FAILED_LEAVES, _FEW_LEAVES = 1500, 40  # of all optional queries of one owner, and of each one beyond
_CREDIT, _CREDIT_OF_VERDICT = 12, 4  # failed searches until most optional queries get none, and what a verdict adds
_PROBED = 8  # one in so many is searched then, as what follows may be easier
_LEAVES_PER_READING = 16  # of the clock
_UNLIMITED = 1 << 30


_LOG = logging.getLogger("anyshape.guards")


class OutOfBudgetError(Exception):
    """Raised where a query took more operations, more parts or more time than its budget."""


@contextlib.contextmanager
def open_where_it_fails() -> Iterator[None]:
    """Let errors of a search leave its question open: a defect of it, or of isl, costs a proof at most.

    Tests see the error of a defect.
    """
    try:
        with contextlib.suppress(OutOfBudgetError, SizeLimitError):
            yield
    except Exception as error:
        _LOG.warning("a proof about sizes ended in %r, and the claim stays open", error, exc_info=error)
        if checks_enabled():
            raise


class Budget:
    """Parts of sets, and time, that one query may take, or one search of it. A block with the latter ends the search.

    The parts of a search count as parts of its query too. The time of a query begins when the clock is first read:
    reading it costs more than most verdicts. A search ends at a time on the thread's clock.
    """

    __slots__ = ("decided", "leaves", "limit", "query", "seconds", "until")

    def __init__(
        self, leaves: int, seconds: float = math.inf, until: float = math.inf, query: Budget | None = None
    ) -> None:
        self.limit: int = leaves if query is None else min(leaves, query.leaves)
        self.leaves: int = self.limit
        self.seconds, self.until, self.query = seconds, until, query
        self.decided = False  # the query has a verdict

    def end(self, now: float) -> float:
        """Return the time at which it ends; begin it, if it has not begun."""
        self.until = min(self.until, now + self.seconds)
        return self.until

    def take(self) -> None:
        """Count a part; raise OutOfBudgetError if there were as many as allowed, or the time is over."""
        self.leaves -= 1
        if self.leaves < 0:
            raise OutOfBudgetError
        if self.until < math.inf and self.leaves % _LEAVES_PER_READING == 0 and time.thread_time() > self.until:
            raise OutOfBudgetError

    def __enter__(self) -> Budget:
        return self

    def __exit__(self, *error: object) -> None:
        if self.query is not None:
            self.query.leaves -= self.limit - max(self.leaves, 0)


class _Thread(threading.local):
    """State of the current query of a thread."""

    deadline = math.inf  # of a block, on the thread's clock
    query: Budget | None = None

    def renew(self, state: tuple[float, Budget | None]) -> None:
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


def search(most: int, until: float) -> Budget:
    """Return the budget of one search: at most `most` parts, and no more than the current query has left."""
    return Budget(most, until=until, query=_THREAD.query)


def parts_left() -> int:
    """Return the parts that the current query may still take."""
    return _UNLIMITED if _THREAD.query is None else _THREAD.query.leaves


def take_parts(parts: int) -> bool:
    """Return whether the current query may still take so many parts, and count them then."""
    if (enough := parts <= parts_left()) and _THREAD.query is not None:
        _THREAD.query.leaves -= parts
    return enough


class SearchBudget:
    """Work on all queries of one owner.

    Parts are counted for optional queries without a verdict. When they are used up, each further one still gets a
    few, so that easy proofs are found. So does each query get `least` seconds when the time is used up. After many
    failed searches, with few verdicts between them, only one in eight optional queries is searched.
    """

    def __init__(self, seconds: float, each: float, least: float) -> None:
        self.whole, self.each, self.least = seconds, each, least
        self.spent: float = 0.0  # seconds of all queries
        self.renew()

    def renew(self) -> None:
        """Forget the parts and the time that queries took; `spent` stays."""
        self.seconds = self.whole
        self.leaves, self.credit, self.unsearched = _FAILED_LEAVES, _CREDIT, 0

    @contextlib.contextmanager
    def query(self, leaves: int | None = None) -> Iterator[Budget]:
        """Limit the work on one query in a block, and on all queries that it needs. An error leaves it open.

        `leaves` are the parts that an optional query may cost at most: nothing breaks where a proof is missed. A block
        inside another is part of its query.
        """
        if _THREAD.query is not None:
            yield _THREAD.query
            return
        show_if_due()
        limit = _UNLIMITED if leaves is None else self._parts(leaves)
        query = _THREAD.query = Budget(limit, max(self.least, min(self.each, self.seconds)))
        start = time.perf_counter()
        try:
            with open_where_it_fails():
                yield query
        finally:
            if _THREAD.query is query:  # else Ctrl-C ended the block, and this comes late
                _THREAD.query = None
            self.spent += time.perf_counter() - start
            if query.until < math.inf:
                self.seconds -= time.thread_time() - (query.until - query.seconds)
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
