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


def leaves_open(error: BaseException | None) -> bool:
    """Return whether a search that ends so leaves its question open: a defect of it, or of isl, costs a proof at most.

    Tests see the error of a defect.
    """
    if not isinstance(error, Exception):
        return False
    if isinstance(error, (OutOfBudgetError, SizeLimitError)):
        return True
    _LOG.warning("a proof about sizes ended in %r, and the claim stays open", error, exc_info=error)
    return not checks_enabled()


class open_where_it_fails:
    """Block of a search whose errors leave its question open."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        return leaves_open(error)


class QueryBudget:
    """Budget of one query of integer sets: the parts and seconds that are left, and whether it was decided.

    Its time begins when the clock is first read: reading it costs more than most verdicts.
    """

    limit: int
    leaves: int
    seconds: float
    start: float
    decided: bool

    __slots__ = ("decided", "leaves", "limit", "seconds", "start")

    def __init__(self, leaves: int, seconds: float) -> None:
        self.limit = self.leaves = leaves
        self.seconds, self.start, self.decided = seconds, math.inf, False

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
    """Parts of a set that one search may examine, until a time on the thread's clock: a block that ends the search.

    The parts count as parts of a query too.
    """

    query: QueryBudget | None
    until: float
    allowed: int
    left: int

    __slots__ = ("allowed", "left", "query", "until")

    def __init__(self, most: int, until: float = math.inf, query: QueryBudget | None = None) -> None:
        self.query, self.until = query, until
        self.allowed = self.left = most if query is None else min(most, query.leaves)

    def take(self) -> None:
        """Count a part; raise OutOfBudgetError if there were as many as allowed, or the time is over."""
        self.left -= 1
        if self.left < 0:
            raise OutOfBudgetError
        if self.until < math.inf and self.left % _LEAVES_PER_READING == 0 and time.thread_time() > self.until:
            raise OutOfBudgetError

    def __enter__(self) -> Leaves:
        return self

    def __exit__(self, *error: object) -> None:
        if self.query is not None:
            self.query.leaves -= self.allowed - max(self.left, 0)


def search(most: int, until: float) -> Leaves:
    """Return the budget of leaves for one search: at most `most`, and no more than the current query has left."""
    return Leaves(most, until, _THREAD.query)


class SearchBudget:
    """Work on all queries of one owner.

    Parts are counted for optional queries without a verdict. When they are used up, each further one still gets a
    few, so that easy proofs are found. So does each query get `least` seconds when the time is used up. After many
    failed searches, with few verdicts between them, only one in eight optional queries is searched.
    """

    whole: float
    seconds: float
    each: float
    least: float
    leaves: int
    credit: int
    unsearched: int

    def __init__(self, seconds: float, each: float, least: float) -> None:
        self.whole, self.each, self.least = seconds, each, least
        self.spent: float = 0.0  # seconds of all queries
        self.renew()

    def renew(self) -> None:
        """Forget the parts and the time that queries took; `spent` stays."""
        self.seconds = self.whole
        self.leaves, self.credit, self.unsearched = _FAILED_LEAVES, _CREDIT, 0

    def query(self, leaves: int | None = None) -> _QueryBlock:
        """Limit the work on one query in a block, and on all queries that it needs.

        `leaves` are the parts that an optional query may cost at most: nothing breaks where a proof is missed.
        """
        return _QueryBlock(self, leaves)

    def begin(self, leaves: int | None) -> QueryBudget:
        """Return the budget of a query."""
        show_if_due()
        limit = _UNLIMITED if leaves is None else self._parts(leaves)
        return QueryBudget(limit, max(self.least, min(self.each, self.seconds)))

    def end(self, query: QueryBudget, seconds: float, *, is_optional: bool) -> None:
        """Count the work on a query, which took these seconds."""
        self.spent += seconds
        if query.start < math.inf:
            self.seconds -= time.thread_time() - query.start
        if is_optional:
            self._count(query.limit - query.leaves, decided=query.decided)

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


class _QueryBlock:
    """Block that works on one query. A block inside another is part of its query."""

    owner: SearchBudget
    leaves: int | None
    start: float

    __slots__ = ("leaves", "owner", "query", "start")

    def __init__(self, owner: SearchBudget, leaves: int | None) -> None:
        self.owner, self.leaves = owner, leaves
        self.query: QueryBudget | None = None

    def __enter__(self) -> QueryBudget:
        outer = _THREAD.query
        if outer is not None:
            return outer
        query = self.owner.begin(self.leaves)
        self.start = time.perf_counter()
        self.query = _THREAD.query = query
        return query

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        query = self.query
        if query is None:
            return False
        if _THREAD.query is query:  # else Ctrl-C ended the block, and this comes late
            _THREAD.query = None
        self.owner.end(query, time.perf_counter() - self.start, is_optional=self.leaves is not None)
        return leaves_open(error)
