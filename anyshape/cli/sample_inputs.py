"""Choose numbers for unknown sizes, and draw random arguments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from anyshape.cli.load_target import Arguments, UsageError

_MOST = 64  # assignments of sizes to names; of more, a random sample


def read_numbers(option: str, text: str, kind: type) -> list[Any]:
    """Return numbers that commas separate."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} is {text!r}; give numbers separated by commas") from None


def read_sizes(text: str) -> list[int]:
    """Return the numbers of --sizes."""
    sizes = read_numbers("--sizes", text, int)
    if min(sizes) < 0:
        raise UsageError(f"--sizes is {text!r}; a size is at least 0")
    return sizes


def assignments(arguments: Arguments, sizes: Sequence[int], seed: int = 0) -> Iterator[dict[str, int]]:
    """Yield sizes by name, in every combination or a sample, leaving out negative shapes."""
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
    """Return the sizes of "n=200, d=64", or of one number for all."""
    numbers, names = _numbers_by_name(text), arguments.names
    unknown = next(iter(numbers.keys() - {"", *names}), None)
    if unknown is not None:
        raise UsageError(f"--sizes gives {unknown!r}; the unknown sizes are {', '.join(names) or 'none'}")
    sizes = {name: numbers.get(name, numbers.get("", -1)) for name in names}
    missing = next((name for name, size in sizes.items() if size < 0), None)
    if missing is not None:
        raise UsageError(f"--sizes does not give {missing}; give it as {missing}=100, or one number for all")
    if any(size < 0 for shape in arguments.sizes(sizes) for size in shape):
        raise UsageError(f"--sizes is {text!r}, which makes a size of --shapes negative")
    return sizes


def _numbers_by_name(text: str) -> dict[str, int]:
    """Return the numbers by name; a number for all has an empty name."""
    numbers: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        name = name.strip()
        if name in numbers:
            twice = f"gives {name} twice" if name else "gives more than one number for all"
            raise UsageError(f"--sizes is {text!r}, which {twice}; give each size once, as n=200, d=64")
        try:
            numbers[name] = int(number)
        except ValueError:  # only int knows what it takes: "3²" is of digits, and 5,000 digits are too many
            numbers[name] = -1
        if numbers[name] < 0:
            raise UsageError(f"--sizes is {text!r}; give n=200, d=64 with numbers of at least 0, or one number for all")
    return numbers


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, domain: Sequence[float]) -> np.ndarray:
    """Return random values: floats of the interval, small integers, or booleans."""
    if dtype.kind in "iu":
        return rng.integers(0, 4, shape).astype(dtype)
    low, high = domain
    values = rng.uniform(low, high, shape)
    if dtype.kind == "b":
        return np.asarray(values > (low + high) / 2)
    return np.asarray(values + 1j * rng.uniform(low, high, shape) if dtype.kind == "c" else values).astype(dtype)


def shown(sizes: dict[str, int]) -> str:
    """Return sizes as `n=2, m=5`."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items()) or "fixed"
