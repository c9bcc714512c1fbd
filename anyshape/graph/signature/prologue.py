"""The entry of a program as Python source: sizes are read off the inputs, variables solved for, and all of it checked.

One generator serves programs and `compile_solver`, which makes a function of shapes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from anyshape.graph.prover.constraints import Condition
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.signature.dim_equations import Place, Solved, atoms_of, leaves, solve_dims
from anyshape.graph.signature.mismatch import LARGEST, Signature, largest
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimExpr, DimVar, InputAxis, Leaf, RuntimeScalar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.printing import call_source, to_source
from anyshape.graph.sizes.substitute import substitute


@dataclass(frozen=True)
class Entry(Signature):
    """A signature with what of it remains to be checked."""

    @cached_property
    def unproved(self) -> dict[Place, Size]:
        """What a call shows and may be wrong: all but what a variable was computed from without loss."""
        left = dict(self.shown)
        for solved in self.solved:
            place = read_alone(solved)
            if place is not None and expr.as_atom(left.get(place, 0)) is solved.variable:
                del left[place]
            elif solved.divisor == 1 and solved.curve is None:
                for leaf in leaves(solved.target):
                    if leaf in left and _solves(solved, leaf, left[leaf]):
                        del left[leaf]
        return left

    @property
    def only_reads(self) -> bool:
        """Each variable is the size of an axis, and nothing that a call shows can be wrong."""
        places = [read_alone(solved) for solved in self.solved]
        return not self.unproved and not self.bounded and all(isinstance(place, InputAxis) for place in places)

    @cached_property
    def bounded(self) -> list[tuple[Solved, Bound, Bound]]:
        """The variables whose number may be out of their range, with the bounds that are not proved."""
        found = []
        for solved in self.solved:
            v = solved.variable
            if v.upper is None and v.lower == 0 and isinstance(read_alone(solved), InputAxis):
                continue
            low, high = _bounds(solved)
            lower = None if low is not None and low >= v.lower else v.lower
            upper = None if high is not None and v.upper is not None and high <= v.upper else v.upper
            if lower is not None or upper is not None:
                found.append((solved, lower, upper))
        return found


def read_alone(solved: Solved) -> Place | None:
    """The place that a variable is read from, if that is all there is to it."""
    if solved.divisor != 1 or solved.curve is not None:
        return None
    atom = expr.as_atom(solved.target)
    return atom if isinstance(atom, (InputAxis, RuntimeScalar)) else None


def _solves(solved: Solved, leaf: Leaf, size: Size) -> bool:
    """The place has this size whenever the variable is what it was solved to be."""
    place = expr.from_atom(leaf)
    return substitute(size, lambda a: solved.target if a is solved.variable else None) is place


def _bounds(solved: Solved) -> tuple[Bound, Bound]:
    """Bounds of the number computed for a variable, when the variables it is computed from are in their ranges."""
    coefficients = _quadratic(solved)
    if coefficients is not None:
        return (0 if _never_negative(solved.target, *coefficients) else None), None
    if solved.curve is not None:
        return solved.low, solved.high
    return expr.bounds(expr.floordiv(solved.target, solved.divisor))


def _polynomial(solved: Solved) -> tuple[dict[int, int], int] | None:
    """(coefficient by power, d) when the curve is a polynomial in the variable // d, and has no highest size."""
    if solved.curve is None or solved.high is not None:
        return None
    terms = expr.terms_of(solved.curve)
    divisor = 1
    calls = [m for m in terms if any(isinstance(atom, Call) for atom, _ in m)]
    if calls:
        call = expr.as_atom(DimExpr(((calls[0], terms[calls[0]]),)))
        if not isinstance(call, Call) or call.function != "floordiv" or not isinstance(call.args[1], int):
            return None
        del terms[calls[0]]
        divisor = call.args[1]
        terms = expr.terms_of(divisor * expr.from_terms(terms) + call.args[0])
    if divisor < 1 or any(len(m) > 1 or (m and m[0][0] is not solved.variable) for m in terms):
        return None
    return {0: 0, **{m[0][1] if m else 0: c for m, c in terms.items()}}, divisor


def _quadratic(solved: Solved) -> tuple[int, int, int, int] | None:
    """(a, b, c, d) when the curve is (a*v*v + b*v + c) // d, and rises for all sizes from the lowest on."""
    found = _polynomial(solved)
    if found is None or max(found[0]) > 2:
        return None
    (a, b, c), d = (found[0].get(power, 0) for power in (2, 1, 0)), found[1]
    return (a, b, c, d) if a > 0 or (a == 0 and b > 0) else None


def _never_negative(target: Size, a: int, b: int, c: int, d: int) -> bool:
    """0 is not beyond the last v with (a*v*v + b*v + c) // d <= target, for the sizes of any call."""
    low = expr.bounds(target)[0]
    return low is not None and low >= 0 and c < d


class _Block:
    """Lines of source with the calls they compute: calls share parts, and Python nests only so deep."""

    def __init__(self, name: Callable[[Leaf], str], prefix: str, outer: _Block | None = None) -> None:
        self.name, self.prefix = name, prefix
        self.lines: list[str] = []
        self.computed: dict[Call, str] = dict(outer.computed) if outer is not None else {}

    def text(self, size: Size) -> str:
        return to_source(size, self.name, self._call)

    def _call(self, call: Call) -> str:
        if call not in self.computed:
            source = call_source(call, self.name, self._call)
            self.computed[call] = f"{self.prefix}{len(self.computed)}"
            self.lines.append(f"{self.computed[call]} = {source}")
        return self.computed[call]


class EntrySource:
    """Writes the lines that leave each variable in its local, or raise InputSizeError.

    `local` names the variables; `shape` and `value` are the source of the shape and of the value of input i. `names`
    are what the lines need in scope. Variables that nothing needs and nothing checks are not computed.
    """

    def __init__(
        self, entry: Entry, local: Mapping[DimVar, str], shape: Callable[[int], str], value: Callable[[int], str]
    ) -> None:
        self.entry, self.local, self.shape, self.value = entry, local, shape, value
        self.names: dict[str, Any] = {}
        self.place: dict[Leaf, str] = {}
        self.block = _Block(self._name, "e")

    def lines(self, needed: Collection[DimVar]) -> list[str]:
        solved = self._kept(needed)
        self._read(solved)
        for s in solved:
            place = read_alone(s)
            if place is None or self.place[place] != self.local[s.variable]:
                self._find(s)
        tests = self._tests()
        if tests:
            self.block.lines.append(f"if {' or '.join(tests)}: {self._fail()}")
        computed = [*self.entry.unproved.values(), *[size for s in solved for size in s.sizes()]]
        if any(map(divides, computed)) or not all(isinstance(s.divisor, int) for s in solved):
            inner = ["    " + line for line in self.block.lines]
            return ["try:", *inner, "except ZeroDivisionError:", "    " + self._fail()]
        return self.block.lines

    def _name(self, leaf: Leaf) -> str:
        return self.local[leaf] if isinstance(leaf, DimVar) else self.place[leaf]

    def _kept(self, needed: Collection[DimVar]) -> list[Solved]:
        """What must be computed, in order."""
        wanted = {*needed, *[v for size in self.entry.unproved.values() for v in expr.variables(size)]}
        wanted.update(s.variable for s, _, _ in self.entry.bounded)
        kept = []
        for s in reversed(self.entry.solved):
            if s.variable in wanted:
                kept.append(s)
                for size in s.sizes():
                    wanted.update(expr.variables(size))
        return kept[::-1]

    def _read(self, solved: Sequence[Solved]) -> None:
        """Lines that read what the rest needs; an axis that is a variable is read into its local."""
        used = dict.fromkeys(a for s in solved for a in leaves(s.target) if not isinstance(a, DimVar))
        used |= dict.fromkeys(self.entry.unproved)
        for s in solved:
            place = read_alone(s)
            if place is not None:
                self.place.setdefault(place, self.local[s.variable])
        for leaf in used:
            if isinstance(leaf, RuntimeScalar):
                self.place.setdefault(leaf, f"d{leaf.operand}")
                self.block.lines.append(f"{self.place[leaf]} = {self.value(leaf.operand)}")
            elif isinstance(leaf, InputAxis):
                self.place.setdefault(leaf, f"d{leaf.operand}_{leaf.axis}")
        for i, meta in enumerate(self.entry.metas):
            axes = [InputAxis(i, axis) for axis in range(meta.rank)]
            read = [a for a in axes if a in used]
            if len(read) == 1:
                self.block.lines.append(f"{self.place[read[0]]} = {self.shape(i)}[{read[0].axis}]")
            elif read:
                targets = ", ".join(self.place[a] if a in used else "_" for a in axes)
                self.block.lines.append(f"{targets} = {self.shape(i)}")

    def _find(self, s: Solved) -> None:
        """Lines that leave the number of a variable in its local."""
        local, target, coefficients = self.local[s.variable], self.block.text(s.target), _quadratic(s)
        if s.curve is None:
            found = target if s.divisor == 1 else f"{target} // {self.block.text(s.divisor)}"
        elif coefficients is not None:
            self.names["_isqrt"] = math.isqrt
            axes = all(isinstance(leaf, InputAxis) for leaf in leaves(s.target))  # variables are not checked yet
            found = _root(*coefficients, target, axes and _never_negative(s.target, *coefficients))
        else:
            return self._search(s, s.curve, local, target)
        self.block.lines.append(f"{local} = {found}")

    def _search(self, s: Solved, size: Size, local: str, target: str) -> None:
        """Lines that look for a variable along its curve, unless a first guess is right."""
        self.names["_largest"] = largest
        inner = _Block(lambda leaf: "t" if leaf is s.variable else self._name(leaf), "t", self.block)
        result, guess = inner.text(size), _guess(s, target)
        lines = [f"def c{local}(t):", *[f"    {x}" for x in inner.lines], f"    return {result}"]
        search = f"{local} = _largest(c{local}, {target}, {s.low}, {s.high}{', t' if guess else ''})"
        if guess:
            test = f"if t < {s.low} or {result} != {target}:"
            lines = [f"t = {guess}", *inner.lines, f"{local} = t", test, *[f"    {x}" for x in [*lines, search]]]
        else:
            lines.append(search)
        self.block.lines += lines

    def _tests(self) -> list[str]:
        """Source of what is true when something does not fit."""
        tests = []
        for s, lower, upper in self.entry.bounded:
            name = self.local[s.variable]
            tests += [f"{name} < {lower}"] if lower is not None else []
            tests += [f"{name} > {upper}"] if upper is not None else []
        for place, size in self.entry.unproved.items():
            tests.append(f"{self.place[place]} != {self.block.text(size)}")
        for i, _ in self.entry.values:
            if self.entry.metas[i].dtype == "uint64":
                tests.append(f"{self.value(i)} > {LARGEST}")
        return tests

    def _fail(self) -> str:
        self.names["_misfit"] = self.entry.refuse
        return f"_misfit({', '.join(f'x{i}' for i in range(len(self.entry.metas)))})"


def _root(a: int, b: int, c: int, d: int, target: str, positive: bool) -> str:
    """Source of the last v with (a*v*v + b*v + c) // d <= target."""
    factor, constant = (d, d - 1 - c) if a == 0 else (4 * a * d, b * b + 4 * a * (d - 1 - c))
    if (a, b, c, d) == (1, 0, 0, 1):
        factor, constant = 1, 0
    inside = (f"{factor}*{target}" if factor != 1 else target) + (f" + {constant}" if constant else "")
    if a == 0:
        return f"({inside}) // {b}"
    root = f"_isqrt({inside})" if positive else f"_isqrt(max(0, {inside}))"
    return root if factor == 1 else f"({root} - {b}) // {2 * a}"


def _guess(solved: Solved, target: str) -> str:
    """Source of where to look first, or nothing: where the two leading terms of the curve meet the target."""
    found = _polynomial(solved)
    if found is None or not isinstance(expr.as_atom(solved.target), InputAxis):
        return ""  # only the size of an axis is sure to be no negative number, and one that a float holds
    powers, divisor = found
    top = max(powers)
    if top < 3 or powers[top] < 1 or max(divisor, abs(powers.get(top - 1, 0))) > LARGEST:
        return ""
    shift = 0.5 - powers.get(top - 1, 0) / (top * powers[top])
    factor = "" if divisor == powers[top] else f"{divisor / powers[top]!r}*"
    power = f"{target}**{1 / top!r}" if not factor else f"({factor}{target})**{1 / top!r}"
    return f"int({power} {'-' if shift < 0 else '+'} {abs(shift)!r})"


def divides(size: Size) -> bool:
    """Computing the size may divide by 0."""
    calls = [a for a in atoms_of(size) if isinstance(a, Call) and a.function in ("floordiv", "mod")]
    return any(not isinstance(c.args[1], int) for c in calls)


@dataclass(frozen=True)
class Solver:
    """A compiled signature: called with the shape of each input (an int for one given by its value), or with arrays, it
    gives each size by its variable, or raises InputSizeError. `run` gives them in the order of `variables`; ranks are
    taken for granted.
    """

    variables: tuple[DimVar, ...]
    run: Callable[..., tuple[int, ...]]
    source: str

    def __call__(self, *shapes: Any) -> dict[DimVar, int]:
        return dict(zip(self.variables, self.run(*shapes), strict=True))


def compile_solver(
    metas: Sequence[TensorMeta],
    names: Sequence[str] = (),
    values: Mapping[int, Size] | None = None,
    conditions: Sequence[Condition] = (),
    *,
    arrays: bool = False,
    program: str = "",
) -> Solver:
    """The function that finds the variables of a signature from shapes, or from arrays, as the entry of a program does.

    It does not check the conditions.
    """
    given = tuple(names) or tuple(f"args[{i}]" for i in range(len(metas)))
    solved = solve_dims(metas, values, conditions)
    return compile_entry(Entry(program, given, tuple(metas), tuple((values or {}).items()), solved), arrays=arrays)


def compile_entry(entry: Entry, *, arrays: bool = False) -> Solver:
    """The function that finds the variables of an entry from shapes, or from arrays."""
    local = {s.variable: f"n{i}" for i, s in enumerate(entry.solved)}
    writer = EntrySource(entry, local, *(("x{}.shape".format, "int(x{})".format) if arrays else ("x{}".format,) * 2))
    body = "\n    ".join([*writer.lines(local), f"return ({''.join(f'{n}, ' for n in local.values())})"])
    source = f"def solve({', '.join(f'x{i}' for i in range(len(entry.metas)))}):\n    {body}\n"
    space = dict(writer.names)
    exec(compile(source, "<anyshape solver>", "exec"), space)
    return Solver(tuple(local), space["solve"], source)
