"""Limits that keep every operation on sizes, and every text of one, within bounded time."""

from __future__ import annotations

from anyshape.errors import SizeLimitError

LARGEST_SIZE = 2**63 - 1  # no array has a size beyond it
LIMITS = {
    "terms": 1_000,
    "factors in a term": 64,
    "calls within calls": 100,
    "arguments of a call": 100,
    "sizes in a broadcast": 300,  # cheaper than extrema: no two of them are compared
    "nodes": 50_000,  # of the expression written out in full
    "bits in a coefficient": 1_000,
}
FAR_FROM_LIMITS = 50  # a number below each of them


def check_limit(quantity: str, observed: int, slack: int = 1) -> None:
    """Raise SizeLimitError if the observed quantity exceeds `slack` times its limit."""
    if observed > slack * LIMITS[quantity]:
        raise SizeLimitError(quantity, observed, LIMITS[quantity])


def check_polynomial(terms: int, nodes: int, degree: int, magnitudes: int) -> None:
    """Raise SizeLimitError for a polynomial beyond a limit. `magnitudes` has all bits of coefficients."""
    check_limit("terms", terms)
    check_limit("nodes", nodes)
    check_limit("factors in a term", degree)
    check_limit("bits in a coefficient", magnitudes.bit_length())
