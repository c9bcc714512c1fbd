"""Claims about sizes under constraints, against all small sizes."""

import itertools
import operator

import anyshape
from anyshape.errors import ContradictionError, InconclusiveDimensionError
from tests.attack.kit import Wrong

NAMES = ("p", "q", "r")
SIGNS = {">=": operator.ge, "<": operator.lt, "==": operator.eq, "!=": operator.ne}
POINTS = list(itertools.product(range(7), repeat=len(NAMES)))
QUESTIONS = 6  # of one set of constraints


def _size(rng, depth=0):
    """Return the text of a size, small so that six is far for it."""
    name, kind = str(rng.choice(NAMES)), rng.integers(9 if depth else 11)
    if kind < 3:
        return name
    number = rng.integers(2, 5)
    texts = [f"{name} % {number}", f"{name} // {number}", f"{rng.integers(6)}", f"{name} + {rng.choice(NAMES)}",
             f"{name} - {rng.choice(NAMES)}", f"2 * {name} - {rng.choice(NAMES)}"]  # fmt: skip
    if kind < 9:
        return texts[kind - 3]
    first, second = _size(rng, 1), _size(rng, 1)
    return f"{('max', 'min')[kind - 9]}({first}, {second})"


def _claim(rng):
    return _size(rng), str(rng.choice(list(SIGNS))), _size(rng)


def _holds(claim, point):
    """Return whether a claim holds at a point."""
    first, sign, second = claim
    value = lambda text: eval(text, {"max": max, "min": min}, dict(zip(NAMES, point, strict=True)))
    return SIGNS[sign](value(first), value(second))


def _asked(claim, sizes):
    """Return the answer to a claim about sizes that are not known, None if there is none, and witnesses of answers."""
    first, sign, second = claim
    value = lambda text: eval(text, {"max": anyshape.max_dim, "min": anyshape.min_dim}, sizes)
    try:
        return bool(SIGNS[sign](value(first), value(second))), {}
    except InconclusiveDimensionError as error:
        return None, error.witnesses


def _checked(claim, held, points, sizes):
    """Raise Wrong if an answer is not that of all points, or a witness is none."""
    answer, witnesses = _asked(claim, sizes)
    other = next((p for p in points if answer is not None and _holds(claim, p) is not answer), None)
    if other is not None:
        raise Wrong(f"{' '.join(claim)} is said to be {answer} under {held}, and is not at {other}")
    for outcome, witness in witnesses.items():
        point = [witness.get(name) for name in NAMES]
        if None not in point and not (_holds(claim, point) is outcome and all(_holds(c, point) for c in held)):
            raise Wrong(f"{witness} is no witness that {' '.join(claim)} may be {outcome} under {held}")


def claims(rng):
    """Ask about sizes under random constraints, and compare answers and witnesses with all small sizes."""
    held = [_claim(rng) for _ in range(rng.integers(1, 4))]
    points = [point for point in POINTS if all(_holds(c, point) for c in held)]
    try:
        declared = anyshape.symbolic_shape("p, q, r", constraints=[" ".join(c) for c in held])
    except ContradictionError:
        if points:
            raise Wrong(f"{held} do not contradict each other: {NAMES} may be {points[0]}") from None
        return "contradictions"
    sizes = dict(zip(NAMES, declared, strict=True))
    for _ in range(QUESTIONS):
        _checked(_claim(rng), held, points, sizes)
    return "claims"
