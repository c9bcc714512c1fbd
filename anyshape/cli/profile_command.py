"""`anyshape profile`: the time of a call with random arguments, step by step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.cli.load_target import Arguments, UsageError, one_line, write_text
from anyshape.cli.sample_inputs import draw, named_sizes
from anyshape.errors import AnyshapeError
from anyshape.inspect.profile.data import Profile
from anyshape.program.program import Program
from anyshape.transforms.jit import jit
from anyshape.transforms.profile import profile

_DOMAIN = (0.1, 0.9)  # of random arguments: roots, logarithms and inverse functions are defined there


def profile_report(function: Callable[..., Any], arguments: Arguments, options: Any) -> Profile:
    """Print and return the profile, and write the page if requested; a page on standard output is alone there."""
    if options.repeat is not None and options.repeat < 1:
        raise UsageError(f"--repeat is {options.repeat}; give 1 or more")
    sizes = named_sizes(arguments, options.sizes)
    args = _random(arguments, sizes, options)
    declared = [spec or None for spec in arguments.specs]
    target = function if isinstance(function, Program) else jit(function, dynamic_shapes=declared)
    try:
        result = profile(
            target, repeat=options.repeat, file=sys.stderr if options.html == "-" or options.json else None
        )(*args)
    except AnyshapeError:
        raise
    except Exception as error:
        raise UsageError(f"{options.target} raised {type(error).__name__}: {one_line(error)}") from error
    if options.html is not None:
        write_text(options.html, result.html())
    return result


def _random(arguments: Arguments, sizes: dict[str, int], options: Any) -> list[Any]:
    """Return random arguments of these sizes."""
    rng = np.random.default_rng(options.seed)
    every = zip(arguments.sizes(sizes), arguments.dtypes, arguments.by_value, strict=True)
    try:
        return [d.type(*s) if value else draw(rng, s, d, _DOMAIN) for s, d, value in every]
    except (MemoryError, OverflowError, ValueError) as error:  # what NumPy raises, from large to larger
        raise UsageError(f"--sizes is {options.sizes!r}, too large for arguments: {one_line(error)}") from error
