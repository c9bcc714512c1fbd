"""Random sizes, claims and constraints, each with its value at every small assignment.

The values are NumPy arrays over a box of assignments. They are computed from the random choices and not from the
canonical form, so one comparison of arrays is a proof by brute force. Generators take anything with the methods of
`random.Random`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anyshape.graph.prover.constraints import Claim, Condition, Verdict
from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size

LARGEST = 6  # sizes of the box are at most this
PROBES = (7, 9, 16, 63, 1000)  # larger values of a variable without an upper bound
EXACT = 1e12  # larger numbers in int64 are not compared: their intermediate values may overflow


@dataclass(frozen=True)
class World:
    """Variables with bounds, and the value of each at every assignment of the box that the bounds allow.

    The box is complete if every variable has an upper bound.
    """

    variables: tuple[DimVar, ...]
    grid: dict[DimVar, np.ndarray]
    points: int

    def at(self, point: int) -> dict[str, int]:
        return {v.name: int(self.grid[v][point]) for v in self.variables}


@dataclass(frozen=True)
class Sized:
    """Size with its value at each assignment. `valid` is False where the value is undefined or too large to compare."""

    size: Size
    value: np.ndarray
    valid: np.ndarray


@dataclass(frozen=True)
class Claimed:
    """Claim with its truth at each assignment. `valid` is False where it is undefined."""

    claim: Claim
    holds: np.ndarray
    valid: np.ndarray

    def __str__(self) -> str:
        return str(self.claim)


def world(rng, ranged: bool = False) -> World:
    """Return one to three variables. All lie within the box if `ranged`, else some have no upper bound."""
    variables = []
    for name in "abc"[: rng.choice((1, 2, 2, 3, 3))]:
        lower = rng.choice((0, 0, 0, 1, 1, 2))
        upper = rng.randint(lower, LARGEST) if ranged or rng.random() < 0.4 else None
        variables.append(DimVar(name, lower, upper))
    points = np.array(list(itertools.product(*map(tried, variables))), dtype=np.int64)
    grid = {v: points[:, i] for i, v in enumerate(variables)}
    return World(tuple(variables), grid, len(points))


def tried(v: DimVar) -> tuple[int, ...]:
    """Return the values of a variable in the box."""
    return (*range(v.lower, LARGEST + 1), *PROBES) if v.upper is None else tuple(range(v.lower, v.upper + 1))


def wide_world(rng, points: int = 300) -> World:
    """Return up to six variables, some with a large range, at sampled assignments of Python ints of any length."""
    bounds = [(rng.choice((0, 0, 1, 5)), rng.choice((None, None, 10, 10**6, 2**40))) for _ in range(rng.randint(3, 6))]
    variables = tuple(DimVar(name, low, high) for name, (low, high) in zip("abcdef", bounds))
    grid = {}
    for v in variables:
        choices = [n for n in (*range(9), 16, 100, 1000, 10**6, 2**40, 10**18) if n >= v.lower]
        within = [n for n in choices if v.upper is None or n <= v.upper]
        grid[v] = np.array([rng.choice(within) for _ in range(points)], dtype=object)
    return World(variables, grid, points)


# -- sizes -----------------------------------------------------------------------------------------------------


def constant(w: World, number: int) -> Sized:
    return Sized(number, np.full(w.points, number), np.full(w.points, True))


def variable(w: World, v: DimVar) -> Sized:
    return Sized(expr.from_atom(v), w.grid[v], np.full(w.points, True))


def combine(build: Callable[..., Size], number: Callable[..., np.ndarray], *parts: Sized) -> Sized:
    value = number(*[p.value for p in parts])
    valid = functools.reduce(np.logical_and, [p.valid for p in parts])
    if value.dtype != object:
        valid = valid & (np.abs(number(*[p.value.astype(float) for p in parts])) < EXACT)
    return Sized(build(*[p.size for p in parts]), value, valid)


def add(x: Sized, y: Sized) -> Sized:
    return combine(expr.add, np.add, x, y)


def mul(x: Sized, y: Sized) -> Sized:
    return combine(expr.mul, np.multiply, x, y)


def largest(*parts: Sized) -> Sized:
    return combine(expr.maximum, lambda *values: functools.reduce(np.maximum, values), *parts)


def smallest(*parts: Sized) -> Sized:
    return combine(expr.minimum, lambda *values: functools.reduce(np.minimum, values), *parts)


def quotient(build: Callable[..., Size], number: Callable[..., np.ndarray], x: Sized, y: Sized) -> Sized:
    """Return a division, valid where it is not by 0."""
    ones = Sized(y.size, np.where(y.value == 0, 1, y.value), y.valid & (y.value != 0))
    return combine(build, number, x, ones)


def divided(x: Sized, y: Sized) -> Sized:
    return quotient(expr.floordiv, np.floor_divide, x, y)


def remainder(x: Sized, y: Sized) -> Sized:
    return quotient(expr.mod, np.mod, x, y)


def divided_up(x: Sized, y: Sized) -> Sized:
    return quotient(expr.ceildiv, lambda a, b: -(-a // b), x, y)


def power(x: Sized, k: int) -> Sized:
    return combine(lambda s: expr.power(s, k), lambda value: value**k, x)


def broadcast(x: Sized, y: Sized) -> Sized:
    """Return broadcast(x, y), valid where the two broadcast."""
    if isinstance(x.size, int) and isinstance(y.size, int):
        return x  # two different constants are refused before their broadcast is built
    out = combine(expr.broadcast, lambda a, b: np.where(a == 1, b, a), x, y)
    agree = (x.value == y.value) | (x.value == 1) | (y.value == 1)
    return Sized(out.size, out.value, out.valid & agree)


def linear(rng, w: World, terms: int = 3) -> Sized:
    """Return a sum of multiples of variables and a constant."""
    total = constant(w, rng.randint(-6, 6))
    for v in rng.sample(w.variables, rng.randint(1, min(terms, len(w.variables)))):
        factor = rng.choice((1, 1, 1, 2, 3, -1, -1, -2, -3))
        total = add(total, mul(constant(w, factor), variable(w, v)))
    return total


def leaf(rng, w: World) -> Sized:
    return constant(w, rng.randint(-3, 6)) if rng.random() < 0.25 else variable(w, rng.choice(w.variables))


DIVISORS = (2, 2, 3, 3, 4, 5, 1, -2, -3)


def presburger(rng, w: World, depth: int) -> Sized:
    """Return a size of linear integer arithmetic: multiples, quotients and remainders by constants, max and min."""
    if depth == 0 or rng.random() < 0.1:
        return leaf(rng, w)
    kind = rng.choice(("linear", "add", "add", "scale", "floordiv", "mod", "ceildiv", "max", "min", "max3"))
    if kind == "linear":
        return linear(rng, w)
    x = presburger(rng, w, depth - 1)
    if kind == "scale":
        return mul(constant(w, rng.choice((-2, -1, 2, 3))), x)
    if kind in ("floordiv", "mod", "ceildiv"):
        by = constant(w, rng.choice(DIVISORS))
        return {"floordiv": divided, "mod": remainder, "ceildiv": divided_up}[kind](x, by)
    y = presburger(rng, w, depth - 1)
    if kind == "max3":
        return largest(x, y, leaf(rng, w))
    return {"add": add, "max": largest, "min": smallest}[kind](x, y)


def divisor(rng, w: World, depth: int) -> Sized:
    """Return a size that is at least 1 or a nonzero constant; a few are 0 at some assignments."""
    if rng.random() < 0.4:
        return constant(w, rng.choice(DIVISORS))
    sized = general(rng, w, depth)
    is_usable = sized.size != 0 if rng.random() < 0.2 else (expr.bounds(sized.size)[0] or 0) >= 1
    return sized if is_usable else largest(sized, constant(w, 1))


def general(rng, w: World, depth: int) -> Sized:
    """Return any size: with products of sizes, quotients by sizes and broadcasts as well."""
    if depth == 0 or rng.random() < 0.1:
        return leaf(rng, w)
    kind = rng.choice(("linear", "add", "sub", "mul", "mul", "power", "div", "mod", "up", "max", "min", "broadcast"))
    if kind == "linear":
        return linear(rng, w)
    x = general(rng, w, depth - 1)
    if kind == "power":
        return power(x, rng.randint(0, 3))
    if kind in ("div", "mod", "up"):
        return {"div": divided, "mod": remainder, "up": divided_up}[kind](x, divisor(rng, w, depth - 1))
    y = general(rng, w, depth - 1)
    if kind == "sub":
        return add(x, mul(constant(w, -1), y))
    return {"add": add, "mul": mul, "max": largest, "min": smallest, "broadcast": broadcast}[kind](x, y)


# -- claims ----------------------------------------------------------------------------------------------------

HOLDS = {
    "==": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    "broadcasts": lambda a, b: (a == b) | (a == 1) | (b == 1),
    "stretches": lambda a, b: (a == b) | (a == 1),
}
RELATIONS = ("==", "==", "!=", ">=", ">=", ">=", "broadcasts", "stretches")
ORDERS = ("==", "==", "!=", ">=", ">=", ">=")


def claim(rng, left: Sized, right: Sized, relations=RELATIONS, text: str = "") -> Claimed:
    relation = rng.choice(relations)
    stated = Claim(relation, left.size, right.size, text)
    return Claimed(stated, HOLDS[relation](left.value, right.value), left.valid & right.valid)


def linear_claim(rng, w: World, text: str = "") -> Claimed:
    right = linear(rng, w) if rng.random() < 0.4 else constant(w, rng.randint(-2, 7))
    return claim(rng, linear(rng, w), right, ORDERS, text)


def presburger_claim(rng, w: World, depth: int = 2, text: str = "") -> Claimed:
    if rng.random() < 0.4:
        return linear_claim(rng, w, text)
    return claim(rng, presburger(rng, w, depth), presburger(rng, w, depth - 1), ORDERS, text)


def general_claim(rng, w: World, depth: int = 3, text: str = "") -> Claimed:
    if rng.random() < 0.3:
        return presburger_claim(rng, w, text=text)
    return claim(rng, general(rng, w, depth), general(rng, w, depth - 1), text=text)


def narrow(rng, w: World) -> Sized:
    """Return a size that facts often make constant, or a broadcast of two such."""
    x, y = (add(variable(w, rng.choice(w.variables)), constant(w, rng.choice((0, 0, 0, 1, 2)))) for _ in range(2))
    return broadcast(x, y) if rng.random() < 0.35 else x


def narrow_claim(rng, w: World, text: str = "") -> Claimed:
    """Return a claim that a size is constant, equal to another or 1, or has a remainder."""
    x, kind = narrow(rng, w), rng.choice(("constant", "remainder", "remainder", "pair", "pair", "pair"))
    if kind == "remainder":
        by = rng.choice((2, 3, 4, 6, 8, 12))
        return claim(rng, remainder(x, constant(w, by)), constant(w, rng.randrange(by)), ("==", "==", ">="), text)
    other = narrow(rng, w) if kind == "pair" else constant(w, rng.randint(0, 4))
    return claim(rng, x, other, ("==", ">=", "broadcasts", "stretches", "stretches"), text)


def satisfiable(rng, w: World, make: Callable[..., Claimed], most: int) -> tuple[list[Claimed], np.ndarray]:
    """Return up to `most` constraints that some assignment of the box satisfies, and where they all hold."""
    constraints: list[Claimed] = []
    where = np.full(w.points, True)
    for _ in range(rng.randint(0, most)):
        new = make(rng, w)
        both = where & new.holds & new.valid
        if both.any():
            constraints.append(new)
            where = both
    return constraints, where


# -- the value of a canonical form -----------------------------------------------------------------------------

_NUMBERS = {
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "max": lambda *values: functools.reduce(np.maximum, values),
    "min": lambda *values: functools.reduce(np.minimum, values),
    "broadcast": lambda *values: functools.reduce(lambda a, b: np.where(a == 1, b, a), values),
}


def value_of(w: World, size: Size) -> np.ndarray:
    """Return the value of a size at every assignment, by its canonical form."""
    if isinstance(size, int):
        return np.full(w.points, size)
    total = np.zeros(w.points, np.int64)
    for monomial, coefficient in size.terms:
        product = np.full(w.points, coefficient)
        for atom, exponent in monomial:
            is_variable = atom in w.grid
            value = w.grid[atom] if is_variable else _NUMBERS[atom.function](*[value_of(w, a) for a in atom.args])
            product = product * value**exponent
        total = total + product
    return total


# -- scopes and checks -----------------------------------------------------------------------------------------


def condition(claimed):
    return Condition("constraint", claimed.claim, "test", "given")


def scope_of(constraints):
    scope = Scope()
    for c in constraints:
        scope.constrain(condition(c))
    return scope


def listed(constraints):
    return " and ".join(map(str, constraints)) or "nothing"


def ranges(w):
    return ", ".join(f"{v.lower} <= {v} <= {v.upper}" for v in w.variables)


def check_sound(w, constraints, where, query, verdict):
    """Assert that no assignment contradicts the verdict."""
    if verdict is Verdict.UNKNOWN:
        return
    wrong = where & query.valid & (query.holds != (verdict is Verdict.YES))
    if wrong.any():
        at = w.at(int(np.argmax(wrong)))
        raise AssertionError(f"{query} given {listed(constraints)} ({ranges(w)}): {verdict}, wrong at {at}")
