"""Run attacks in turn for some time, count what they tried, and report findings with the command that repeats them."""

from __future__ import annotations

import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

# Some tries of a round take longer than others: an attack whose share of the time is used up sits out.
Try = Callable[[np.random.Generator], str]


class Wrong(Exception):
    """Raised by a try that found a fault; the text says what was asked, what is right and what came."""


@dataclass(frozen=True)
class Attack:
    """Named series of tries. `attempt(rng)` returns what it counts, such as "values", or raises."""

    name: str
    attempt: Try


@dataclass(frozen=True)
class Finding:
    """Fault that one try found."""

    attack: str
    seed: int
    text: str

    def __str__(self) -> str:
        name = f"{self.attack}:{self.seed}"
        return f"{name}\n{self.text}\nrepeat it by: python -m tests.attack --repeat {name}"


@dataclass
class Report:
    """Counts by attack and outcome, and the findings."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield one line for each attack, and the findings."""
        for name, counts in self.counts.items():
            shown = ", ".join(f"{n:,} {outcome}" for outcome, n in counts.most_common())
            yield f"{name}: {sum(counts.values()):,} tries in {self.seconds[name]:.0f} s: {shown}"
        yield f"{len(self.findings)} findings"
        yield from map(str, self.findings)


def repeat(attack: Attack, seed: int) -> str:
    """Run one try again, and let its error pass."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attack.attempt(np.random.default_rng(seed))


def run(attacks: Iterable[Attack], seed: int, seconds: float, tries: int | None = None) -> Report:
    """Run each attack for an equal share of the time, or for so many tries; seeds of tries follow from `seed`."""
    report = Report()
    attacks = list(attacks)
    for attack in attacks:
        report.counts[attack.name] = Counter()
        seeds = np.random.default_rng([seed, *attack.name.encode()])
        end = time.monotonic() + seconds / len(attacks)
        started, number = time.monotonic(), 0
        while number < tries if tries is not None else time.monotonic() < end:
            number += 1
            one = int(seeds.integers(2**31))
            try:
                report.counts[attack.name][repeat(attack, one)] += 1
            except Exception as error:
                report.counts[attack.name]["wrong"] += 1
                text = str(error) if isinstance(error, Wrong) else traceback.format_exc(limit=-4)
                report.findings.append(Finding(attack.name, one, text))
        report.seconds[attack.name] = time.monotonic() - started
    return report
