"""Measure arithmetic on sizes, questions about them, and their share of the time of tracing.

First-time work is timed by the processor's clock: it cannot be repeated in turns as other calls are.
"""

from __future__ import annotations

import functools
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import anyshape
from anyshape.graph.prover import decide, linear_constraints
from anyshape.graph.prover.constraints import Claim, Condition, Verdict
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.spec_parser import parse_relation, parse_size
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from benchmarks.importing import Interpreter
from benchmarks.timing import Effort, Result, interleaved, no_collection, seconds

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "-": lambda a, b: a - b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "max": expr.maximum,
    "min": expr.minimum,
    "**": lambda a, b: a**3,
    "+ 3": lambda a, b: a + 3,
    "3 *": lambda a, b: 3 * a,
    "// 3": lambda a, b: a // 3,
    "% 3": lambda a, b: a % 3,
}
OPERANDS = ("a", "b"), ("a*b + 2", "2*b + c")
BATCH, REPEATS = 20, 1000


class Question(NamedTuple):
    """A claim that follows from the facts."""

    claim: str
    facts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.claim + (f", as {' and '.join(self.facts)}" if self.facts else "")


class Means(NamedTuple):
    """Questions settled by one means, and the microseconds that the first answer may take."""

    limit: float | None
    questions: tuple[Question, ...]


INTEGER_SETS = "integer sets"
MEANS = {
    "the canonical form": Means(
        2.0,
        (
            Question("2*(a + b) == 2*b + 2*a"),
            Question("b + a + 3 >= a + b"),
            Question("(4*a + 8*b)//4 >= a + 2*b"),
            Question("a*b + c != c + b*a + 1"),
        ),
    ),
    "intervals": Means(
        10.0,
        (
            Question("a >= 0"),
            Question("2*a + 3*b + 1 > 0"),
            Question("n % 8 <= 7"),
            Question("a*b + c >= 0"),
            Question("8*((n + 7)//8) >= n"),
            Question("(a + 1)//2 + a//2 == a"),
        ),
    ),
    "known equalities": Means(
        None,
        (
            Question("broadcast(a, b) == b", ("a is 1 or equals b",)),
            Question("n % 4 == 0", ("n % 8 == 0",)),
            Question("2*a >= 2*c + b", ("b == 2*a - 2*c",)),
        ),
    ),
    "intervals and one fact": Means(None, (Question("a + c >= b", ("a >= b + 8",)),)),
    INTEGER_SETS: Means(
        300.0,
        (
            Question("b >= b % 3"),
            Question("a >= 9", ("a >= b + 8", "b >= 1")),
            Question("a >= d", ("a >= b", "b >= c", "c >= d")),
            Question("min(a, b) <= (a + b)//2"),
            Question("max(a, b) >= a"),
            Question("broadcast(a, b) == b", ("b >= 2",)),
            Question("broadcast(a, b) <= a + b"),
            Question("a <= 6", ("2*a + 3*b == 12",)),
            Question("(n + 1) % 4 == 1", ("n % 8 == 0",)),
        ),
    ),
    "integer sets, with products": Means(
        None,
        (
            Question("a*b >= a", ("a >= 1", "b >= 1")),
            Question("a*a >= b*b", ("a >= b",)),
        ),
    ),
}
FIRST_USE = """
import time
from benchmarks import sizes
scope, claim = sizes.pose(sizes.MEANS[sizes.INTEGER_SETS].questions[0])
start = time.perf_counter()
scope.decide(claim)
print(time.perf_counter() - start)
"""


def run(effort: Effort, ops: int = 1000) -> list[Result]:
    """The results of this file."""
    return [arithmetic(effort), *questions(effort), *shares(effort, ops)]


# -- arithmetic --------------------------------------------------------------------------------------------------


def arithmetic(effort: Effort) -> Result:
    """Operations whose operands and results exist, and beside them those that make a new expression."""
    pairs = [_sizes(*texts) for texts in OPERANDS]
    calls = {name: [functools.partial(f, *pair) for pair in pairs] for name, f in OPERATIONS.items()}
    results = [call() for group in calls.values() for call in group]  # kept, so that they go on to exist
    table = np.median(interleaved([call for group in calls.values() for call in group], effort), axis=0) * 1e6
    known = table.reshape(len(calls), len(pairs)).mean(axis=1)
    new = {name: np.mean([_new(f, texts, effort) for texts in OPERANDS]) * 1e6 for name, f in OPERATIONS.items()}
    each = ", ".join(f"{name} {t:.2g}" for name, t in zip(calls, known, strict=True))
    detail = f"{each}; a new expression {np.mean(list(new.values())):.2g}: " + _listed(new)
    data = {"known": dict(zip(calls, known, strict=True)), "new": new, "results": [str(r) for r in results]}
    return Result("arithmetic on sizes, the result exists", float(np.mean(known)), "us", 1.0, detail, data)


def _listed(times: dict[str, Any]) -> str:
    return ", ".join(f"{name} {t:.2g}" for name, t in times.items())


def _sizes(*texts: str) -> list[Size]:
    """The sizes that the texts describe, over variables of their own."""
    names: dict[str, Size] = {}
    return [parse_size(text, lambda n: names.setdefault(n, expr.variable(n))) for text in texts]


def _new(function: Callable[[Any, Any], Any], texts: Sequence[str], effort: Effort) -> float:
    """Seconds of the processor for an operation that makes an expression of sizes that nobody has used before."""
    rounds = []
    with no_collection():
        for _ in range(effort.rounds):
            pairs = [_sizes(*texts) for _ in range(BATCH)]
            start = time.thread_time()
            expressions = [function(a, b) for a, b in pairs]
            rounds.append((time.thread_time() - start) / len(expressions))
    return float(np.median(rounds))


# -- questions ---------------------------------------------------------------------------------------------------


def pose(question: Question) -> tuple[Scope, Claim]:
    """Return a fresh scope that assumes the facts, and the claim, over fresh variables."""
    names: dict[str, Size] = {}
    scope = Scope()
    texts = [*question.facts, question.claim]
    *facts, claim = [_claim(text, lambda n: names.setdefault(n, expr.variable(n))) for text in texts]
    for fact in facts:
        scope.assume(Condition("constraint", fact, "benchmark", "given"))
    return scope, claim


def _claim(text: str, lookup: Callable[[str], Size]) -> Claim:
    left, stretches, right = text.partition(" is 1 or equals ")
    if stretches:
        return Claim("stretches", parse_size(left, lookup), parse_size(right, lookup), text)
    return parse_relation(text, lookup).claims[0]


def questions(effort: Effort) -> list[Result]:
    """Measure the first answer to a claim, by the method that settles it, and later answers."""
    results, again = [], {}
    for name, (limit, asked) in MEANS.items():
        first = {}
        for question in asked:
            check_means(name, question)
            first[str(question)], again[str(question)] = _ask(question, effort)
        worst = max(first, key=first.__getitem__)
        times = "; ".join(f"{claim}: {t:.3g}" for claim, t in sorted(first.items(), key=lambda item: -item[1]))
        if name == INTEGER_SETS:
            times += f"; the first one of a process, which loads islpy: {seconds(first_use())}"
        title = f"a claim settled by {name}"
        results.append(Result(title, first[worst], "us", limit, times, {"first": first}))
    worst = max(again, key=again.__getitem__)
    results.append(Result("a claim decided before", again[worst], "us", 1.0, worst, {"again": again}))
    return results


def check_means(name: str, question: Question) -> None:
    """The claim follows, and not by less than what it is listed under."""
    scope, claim = pose(question)
    facts = [c.claim for c in scope.conditions]
    constant = isinstance(expr.sub(claim.left, claim.right), int)
    settled = "the canonical form" if constant else "intervals"
    if decide.decide_quickly(claim) is Verdict.UNKNOWN:
        settled = "intervals and one fact"
    normal = Claim(claim.relation, scope.normal(claim.left), scope.normal(claim.right))
    if settled == "intervals and one fact" and decide.decide_quickly(normal) is not Verdict.UNKNOWN:
        settled = "known equalities"
    elif decide.decide_quickly(claim, lambda: facts) is Verdict.UNKNOWN:
        products = sum(linear_constraints.count_products(s) for s in (claim.left, claim.right))
        settled = "integer sets, with products" if products else INTEGER_SETS
    if (settled, scope.decide(claim)) != (name, Verdict.YES):
        raise AssertionError(f"{question}: {scope.decide(claim)} by {settled}, not YES by {name}")


def _ask(question: Question, effort: Effort) -> tuple[float, float]:
    """Microseconds of the processor for the first answer, and for one that was given before."""
    rounds = []
    with no_collection():
        for _ in range(effort.rounds):
            posed = [pose(question) for _ in range(BATCH)]
            start = time.thread_time()
            for scope, claim in posed:
                scope.decide(claim)
            middle = time.thread_time()
            for _ in range(REPEATS):
                scope.decide(claim)
            rounds.append(((middle - start) / BATCH, (time.thread_time() - middle) / REPEATS))
    first, later = np.median(rounds, axis=0) * 1e6
    return float(first), float(later)


def first_use() -> float:
    """Seconds that a fresh process takes for its first claim that needs integer sets."""
    with tempfile.TemporaryDirectory() as bytecode:
        python = Interpreter(bytecode)
        python("-c", FIRST_USE)  # fills the folder of bytecode
        return float(python("-c", FIRST_USE))


# -- the share of tracing ----------------------------------------------------------------------------------------

OPS_OF_A_BLOCK = 33
SIZE_FOLDERS = ("graph/sizes/", "graph/prover/", "graph/shapes/", "graph/signature/", "numpy/sizes/symdim.py")
USER_LINES = "graph/prover/user_stack.py"  # looked for by each op, whether or not it asks about sizes
PACKAGE = str(Path(anyshape.__file__).parent) + "/"
PERIOD = 5e-4
SPECIFICATIONS = {
    "sizes that repeat": ("n, d", "d, d", "d"),
    "each axis another size": ("n, d", "e, f", "g, h"),  # as under jit: what must agree is found out, and asserted
}


def network(x: Any, w: Any, b: Any, blocks: int) -> Any:
    """Layers with products, broadcasts, reductions, slices of half the width, concatenation and reshapes."""
    for _ in range(blocks):
        y = np.tanh(x @ w + b)
        y = y - np.mean(y, axis=1, keepdims=True)
        y = y / np.sqrt(np.sum(y * y, axis=1, keepdims=True) + 1e-6)
        n, d = y.shape
        y = np.concatenate([y[:, d // 2 :], y[:, : d // 2]], axis=1)
        y = np.reshape(np.reshape(y, (n * d,)) * 0.5, (n, d))
        x = x + y.T[::-1].T
    return np.sum(x**2)


def shares(effort: Effort, ops: int) -> list[Result]:
    """The share of sizes in tracing the network, without and with its gradient."""
    program = functools.partial(network, blocks=max(1, ops // OPS_OF_A_BLOCK))
    gradient = anyshape.grad(lambda w, x, b: program(x, w, b))
    results = []
    for name, specs in SPECIFICATIONS.items():
        results.append(share(f"tracing {ops} ops, {name}: part for sizes", program, specs, effort))
        results.append(share("  with its gradient", lambda x, w, b: gradient(w, x, b), specs, effort))
    return results


def share(name: str, program: Callable[..., Any], specs: Sequence[str], effort: Effort) -> Result:
    """Measure the part of tracing spent on sizes: the share of stack samples whose innermost function is there."""
    structs = [anyshape.ShapeDtypeStruct(spec) for spec in specs]
    where: Counter[str] = Counter()
    times = []
    for _ in range(effort.fewer(8).rounds):
        forget()
        with no_collection(), samples(where):
            start = time.perf_counter()
            anyshape.eval_shape(program, *structs)
            times.append(time.perf_counter() - start)
    taken = max(1, sum(where.values()))
    in_folders = [file for file in where if file.startswith(SIZE_FOLDERS) and file != USER_LINES]
    of_sizes = Counter({file: where[file] for file in in_folders})
    top = ", ".join(f"{file} {count / taken:.0%}" for file, count in of_sizes.most_common(5))
    detail = f"of {seconds(float(np.median(times)))}, by {taken} samples of the stack: {top}"
    return Result(name, sum(of_sizes.values()) / taken, "", 0.3, detail, {"where": dict(where), "seconds": times})


def forget() -> None:
    """Let go of the results of earlier arithmetic, as a process that traces for the first time has none."""
    for name, module in list(sys.modules.items()):
        if name.startswith("anyshape.graph."):
            for function in vars(module).values():
                if hasattr(function, "cache_clear"):
                    function.cache_clear()


@contextmanager
def samples(where: Counter[str]) -> Iterator[None]:
    """Count, every half a millisecond, the file of anyshape that is running or has called what is running.

    The timer is set anew after each sample: on a busy machine samples would otherwise leave no time to the program.
    """

    def note(_: int, frame: FrameType | None) -> None:
        where[place_of(frame)] += 1
        signal.setitimer(signal.ITIMER_REAL, PERIOD)

    before = signal.signal(signal.SIGALRM, note)
    signal.setitimer(signal.ITIMER_REAL, PERIOD)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # a sample that is under way sets the timer once more
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def place_of(frame: FrameType | None) -> str:
    """The innermost file of anyshape on the stack, by its path in the package."""
    while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename.removeprefix(PACKAGE) if frame is not None else "outside"
