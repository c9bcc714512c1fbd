"""Numbers for the unknown sizes that the command line tries: every combination, or many of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from anyshape.frontend.load_function import Arguments, UsageError

_MOST = 64  # assignments of sizes to names; beyond, a random choice


def read_numbers(option: str, text: str, kind: type) -> list[Any]:
    """Numbers separated by commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} is {text!r}; give numbers separated by commas") from None


def read_sizes(text: str) -> list[int]:
    """The numbers of --sizes."""
    sizes = read_numbers("--sizes", text, int)
    if min(sizes) < 0:
        raise UsageError(f"--sizes is {text!r}; a size is at least 0")
    return sizes


def assignments(arguments: Arguments, sizes: Sequence[int], seed: int = 0) -> Iterator[dict[str, int]]:
    """A size for each name: every combination, or many of them; those that make no negative size."""
    names = arguments.names
    combinations = [dict(zip(names, c, strict=True)) for c in _choices(list(dict.fromkeys(sizes)), len(names), seed)]
    possible = [c for c in combinations if all(s >= 0 for shape in arguments.sizes(c) for s in shape)]
    if not possible:
        raise UsageError("no size in --sizes makes all of --shapes at least 0")
    yield from possible


def _choices(sizes: Sequence[int], count: int, seed: int) -> Iterator[tuple[int, ...]]:
    if len(sizes) ** count <= _MOST:
        yield from itertools.product(sizes, repeat=count)
        return
    yield from ((s,) * count for s in sizes)
    rng = np.random.default_rng(seed)
    yield from dict.fromkeys(tuple(rng.choice(sizes, count).tolist()) for _ in range(_MOST - len(sizes)))


def shown(sizes: dict[str, int]) -> str:
    """n=2, m=5."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items()) or "fixed"
