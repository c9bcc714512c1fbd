"""What the command line tries a function with: numbers for the unknown sizes, and random arguments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from anyshape.cli.load_target import Arguments, UsageError

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


def named_sizes(arguments: Arguments, text: str) -> dict[str, int]:
    """The sizes of "n=200, d=64", or of one number for all."""
    given = _given(text)
    names = arguments.names
    for name in [name for name in given if name not in ("", *names)]:
        raise UsageError(f"--sizes gives {name!r}; the unknown sizes are {', '.join(names) or 'none'}")
    for name in [name for name in names if name not in given and "" not in given]:
        raise UsageError(f"--sizes does not give {name}; give it as {name}=100, or one number for all")
    sizes = {name: given[name if name in given else ""] for name in names}
    if any(size < 0 for shape in arguments.sizes(sizes) for size in shape):
        raise UsageError(f"--sizes is {text!r}, which makes a size of --shapes negative")
    return sizes


def _given(text: str) -> dict[str, int]:
    """The numbers by name; the one for all has an empty name."""
    given: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        name = name.strip()
        if name in given:
            twice = f"gives {name} twice" if name else "gives more than one number for all"
            raise UsageError(f"--sizes is {text!r}, which {twice}; give each size once, as n=200, d=64")
        try:
            given[name] = int(number)
        except ValueError:  # only int knows what it takes: "3²" is of digits, and 5,000 digits are too many
            given[name] = -1
        if given[name] < 0:
            raise UsageError(f"--sizes is {text!r}; give n=200, d=64 with numbers of at least 0, or one number for all")
    return given


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, domain: Sequence[float]) -> np.ndarray:
    """Random values: of the interval, small integers, or booleans."""
    if dtype.kind in "iu":
        return rng.integers(0, 4, shape).astype(dtype)
    low, high = domain
    values = rng.uniform(low, high, shape)
    if dtype.kind == "b":
        return np.asarray(values > (low + high) / 2)
    return np.asarray(values + 1j * rng.uniform(low, high, shape) if dtype.kind == "c" else values).astype(dtype)


def shown(sizes: dict[str, int]) -> str:
    """n=2, m=5."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items()) or "fixed"
