"""Random texts of sizes with quotients, remainders and products of sizes, and their values by Python alone.

Everything that is true of a text is found by evaluating it at each assignment of sizes from 0 to `LARGEST`.
"""

from __future__ import annotations

import itertools
import re

from anyshape.errors import SizeLimitError, SpecError
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.spec_parser import parse_relation, parse_size
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate, values_from

LARGEST = 12
NAMES = "abc"
SPACE = {"ceildiv": lambda a, b: -(-a // b), "max": max, "min": min}
RELATIONS = ("==", "==", "!=", ">=", ">=", "<=", "<")

DIVISIONS = (
    "({x}) // ({y})",
    "({x}) // ({y})",
    "({x}) % ({y})",
    "({x} + {y} - 1) // ({y})",
    "ceildiv({x}, {y})",
    "({x}) // ({y}) // {k}",
    "({x}) // ({k}*({y}))",
    "(({x})*({y})) // ({y})",
    "(({x})*({y})) // (({y})*({z}))",
    "(({x})*({y})) % ({y})",
    "({y} + {z}) // ({y} + {z})",
    "({x}) // ({y}) * ({y})",
    "(({x}) // ({y}) + {j}) // ({z})",
)
POLYNOMIALS = (
    "{x}*({x} + {j}) % {k}",
    "({x}*{x} + {x}*{y}) // {k}",
    "({x}**3 + {j}*{x}) % {k}",
    "{k}*(({x}*{x} + {x}) // 2)",
    "{x}*{y}*{z} // {k}",
    "({x} // {k})*{y}*{k}",
    "{x}*{y} % {k}",
)
OTHERS = ("{x} + {y}", "{x} - {y}", "{k}*{x} + {j}", "({x})*({y})", "max({x}, {y})", "min({x}, {y})", "{x} // {k}")
CONSTRAINTS = (
    "{v} >= {k}",
    "{v} >= 1",
    "{v} >= 1",
    "{v} <= {m}",
    "{v} <= {m}",
    "{v} >= {k}*{w}",
    "{v} <= {k}*{w} + {j}",
    "{v} < {w}",
    "max({v}, {w}) == {m}",
    "min({v}, {w}) == {k}",
    "{v} % {k} == {j}",
    "{v} % {w} == 0",
    "{v} + {w} <= {m}",
    "{v} == {k}*{w}",
    "{k}*({v} // {k}) == {v}",
)


def size_text(rng, depth=2, templates=DIVISIONS + DIVISIONS + POLYNOMIALS + OTHERS):
    """Return a random size as text."""
    if depth == 0:
        return rng.choice((*NAMES, *NAMES, str(rng.randint(1, 5))))
    parts = {p: size_text(rng, rng.randint(0, depth - 1)) for p in "xyz"}
    return rng.choice(templates).format(**parts, k=rng.randint(2, 5), j=rng.randint(0, 3))


def one_division(rng):
    """Return a random text whose parts have no divisions by sizes."""
    parts = {p: size_text(rng, rng.randint(0, 1), OTHERS) for p in "xyz"}
    return rng.choice(DIVISIONS[:-2]).format(**parts, k=rng.randint(2, 4), j=1)


def readable(rng, make, read):
    """Return the first random text that the library reads, and the result. It refuses divisions by the number 0."""
    while True:
        text = make(rng)
        try:
            return text, read(text)
        except (SpecError, SizeLimitError):
            continue


def claim_text(rng):
    """Return a random relation: between two sizes, or between a size and a number or a simplified form of it."""
    left = size_text(rng)
    right = rng.choice((size_text(rng, 1), size_text(rng, 0), str(rng.randint(0, 12)), left.replace(" // 2", " // 3")))
    return f"{left} {rng.choice(RELATIONS)} {right}"


def constraint_texts(rng):
    """Return up to four random constraints that some assignment satisfies."""
    texts = []
    for _ in range(rng.randint(0, 4)):
        v, w = rng.sample(NAMES, 2)
        k = rng.randint(2, 4)
        text = rng.choice(CONSTRAINTS).format(v=v, w=w, k=k, j=rng.randrange(k), m=rng.randint(1, LARGEST))
        if any(True for _ in points([*texts, text])):
            texts.append(text)
    return texts


# -- values by Python ------------------------------------------------------------------------------------------


def value(text):
    """Return the text as a function of an assignment, which gives None where a division is by zero."""
    function = eval(f"lambda {', '.join(NAMES)}: {text}", dict(SPACE))

    def value_at(point):
        try:
            return function(*point)
        except ZeroDivisionError:
            return None

    return value_at


def points(constraints):
    """Yield the assignments that satisfy the constraints."""
    tests = [value(text) for text in constraints]
    for point in itertools.product(range(LARGEST + 1), repeat=len(NAMES)):
        if all(test(point) for test in tests):
            yield point


def names_in(*texts):
    """Return the names in the texts."""
    return {n for text in texts for n in re.findall(r"\b[a-c]\b", text)}


# -- the same texts, read by the library -----------------------------------------------------------------------


def condition(claim):
    return Condition("constraint", claim, "test", "given")


class Posed:
    """Scope with constraints given as texts."""

    def __init__(self, constraints):
        self.sizes = {name: expr.variable(name) for name in NAMES}
        self.scope = Scope()
        for text in constraints:
            claim, *defined = self.claims(text)
            for each in (*defined, claim):
                self.scope.constrain(condition(each))

    def claims(self, text):
        """Return the claim, and those without which it is undefined."""
        return parse_relation(text, self.sizes.get).claims

    def size(self, text):
        return parse_size(text, self.sizes.get)

    def value(self, size, point):
        """Return a size of the library at an assignment; None where it divides by zero."""
        at = {expr.as_atom(self.sizes[name]): number for name, number in zip(NAMES, point, strict=True)}
        try:
            return evaluate(size, values_from(at))
        except ZeroDivisionError:
            return None
