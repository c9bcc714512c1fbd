"""Budget of searches for answers about sizes: time, and parts of sets that are examined.

Parts are counted, so that the answers of a program are the same each time. Time guards against the worst alone.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator

from anyshape.support.interruption import is_thread_state
from anyshape.support.progress import show_if_due

_LEAVES_IN_VAIN, _FEW_LEAVES = 1500, 40  # of all optional questions of one owner, and of each one beyond
_CREDIT, _CREDIT_OF_ANSWER = 12, 4  # searches in vain until most optional questions get none, and what one answer adds
_PROBED = 8  # one in so many is searched then, as what follows may be easier
_LEAVES_PER_READING = 16  # of the clock
_UNLIMITED = 1 << 30


class OutOfBudgetError(Exception):
    """Raised where a query took more operations, more parts or more time than its budget."""


class Question:
    """Question to integer sets: the parts and the seconds that it may still take, and whether it was answered.

    Its time begins when the clock is first read: reading it costs more than most answers.
    """

    __slots__ = ("answered", "leaves", "seconds", "start")

    def __init__(self, leaves: int, seconds: float) -> None:
        self.leaves, self.seconds, self.start, self.answered = leaves, seconds, math.inf, False

    def end(self, now: float) -> float:
        """Return the time at which it ends; begin it, if it has not begun."""
        self.start = min(self.start, now)
        return self.start + self.seconds


class _Thread(threading.local):
    """State of the current questions of a thread."""

    deadline = math.inf  # of a block, on the thread's clock
    question: Question | None = None

    def renew(self, state: tuple[float, Question | None]) -> None:
        """Set the state to what it was."""
        self.deadline, self.question = state


_THREAD = _Thread()
is_thread_state(lambda: (_THREAD.deadline, _THREAD.question), _THREAD.renew)


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
    now, question = time.thread_time(), _THREAD.question
    end = min(_THREAD.deadline, now + seconds)
    return end if question is None else min(end, question.end(now))


def out_of_time() -> bool:
    """Return whether the time of the question, or of the block, is over."""
    is_limited = _THREAD.question is not None or _THREAD.deadline < math.inf
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
    """Give a search its parts: at most this many, and as many as the current question has left."""
    question = _THREAD.question
    leaves = Leaves(most if question is None else min(most, question.leaves), until)
    allowed = leaves.left
    try:
        yield leaves
    finally:
        if question is not None:
            question.leaves -= allowed - max(leaves.left, 0)


class SearchBudget:
    """Work on all questions of one owner.

    Parts are counted for optional questions that got no answer. When they are used up, each further one still gets a
    few, so that easy proofs are found. So does each question get `least` seconds when the time is used up. After many
    searches in vain, with few answers between them, only one in eight optional questions is searched.
    """

    def __init__(self, seconds: float, each: float, least: float) -> None:
        self.seconds, self.each, self.least = seconds, each, least
        self.leaves, self.credit, self.unsearched = _LEAVES_IN_VAIN, _CREDIT, 0
        self.spent = 0.0  # seconds of all questions

    @contextlib.contextmanager
    def question(self, leaves: int | None = None) -> Iterator[Question]:
        """Limit the work on one question and on all questions asked to answer it.

        `leaves` are the parts that an optional answer may cost at most: nothing breaks where a proof is missed.
        """
        if _THREAD.question is not None:
            yield _THREAD.question
            return
        show_if_due()
        limit = _UNLIMITED if leaves is None else self._parts(leaves)
        seconds = max(self.least, min(self.each, self.seconds))
        question, start = Question(limit, seconds), time.perf_counter()
        try:
            _THREAD.question = question
            yield question
        finally:
            if _THREAD.question is question:  # else Ctrl-C ended the block, and this comes late
                _THREAD.question = None
            self.spent += time.perf_counter() - start
            if question.start < math.inf:
                self.seconds -= time.thread_time() - question.start
            if leaves is not None:
                self._count(limit - question.leaves, answered=question.answered)

    def _parts(self, leaves: int) -> int:
        """Return the parts of an optional question; 0 if it is not searched."""
        if self.credit <= 0:
            self.unsearched += 1
            if self.unsearched % _PROBED:
                return 0
        return max(_FEW_LEAVES, min(leaves, self.leaves))

    def _count(self, parts: int, *, answered: bool) -> None:
        """Count the parts that an optional question took."""
        if answered:
            self.credit = min(_CREDIT, self.credit + _CREDIT_OF_ANSWER * (parts > 0))
        else:
            self.leaves -= parts
            self.credit = max(0, self.credit - (parts > 0))
