"""Random functions of plain Python: loops, choices, writes, lists and calls, as source text.

A function is made from templates. A lower-case letter in braces stands for something to read, and an upper-case one for
a name that the statement binds:

- `f`, `i`, `c`: an expression that gives a float, an int, a condition; `j`: an index of `x`.
- `v`: the name of a vector, `a`: of one that may be written to; `w`: an expression that gives a vector.
- `m`, `z`, `p`: the name of a matrix, an array of four numbers, a pair of vectors.
- `s`, `q`, `o`, `b`: that of a float, an int, a float that may be None, a bool. `x`: of a counter that is an index.
- `l`, `t`, `d`, `g`, `h`: that of a list, a pair of floats, a dict, a nested function, an object.
- `e`, `u`, `y`: that of an array of ints, an array of float32, a complex number.
- `J`: a new counter that is an index of `x`, `K` and `W`: ones that need not be.
- `~` ends a line. A line `>` stands for a block of statements. A letter with a digit is one name in a template.
"""

import random
import re

EXPRESSIONS = {
    "f": """{s}|{s}|{s}|x[{j}]|{v}[{j}]|{n}|{n}|({f} + {f})|({f} - {f})|({f} * 0.5)|({f} * x[{j}])|({f} / 4.0)|{i}
        float({i})|abs({f})|({f} if {c} else {f})|({f} and {f})|({f} or {f})|min({f}, {f})|max({f}, {f})|-({f})
        (f9 := {f})|np.sqrt(abs({f}))|np.floor({f})|{v}.sum()|sum({v})|{v}[{i}:].sum()|max({v})
        sum([y * 2 for y in {v}])|sum(y for y in {v} if y > {n})|pick({f})|pick({f}, low={n})|early({f})
        total({v})|clip({f}, {n})|halve({f})[0]|checked({f})|{m}[{j}, {j}]|{m}[{j}].sum()|{m}[:, {j}].sum()
        {l}[-1]|sum({l})|({l1}[-1] if len({l1}) > 0 else 0.0)|{t}[0]|{t}[1]|{d}['a']|{z}[{i} % 4]|{z}.sum()
        {p}[0].sum()|{p}[1][{j}]|{g}({f})|TABLE[{i} % 3]|{h}.total|{h}.add({f})|{h}({f})|{h}.mean
        {h}.rows[{i} % 2]|({f} // 2.0)|({f} % 3.0)|[{f}, {f}][{i} % 2]|({f}, {f})[{i} % 2]|(lambda y: y + {f})({f})
        math.exp(-abs({f}))|{v}.max()|{d}.get('a', 0.0)|{d}.get('c', {n})|float({u}[{j}])|{u}.sum()|{y}.real|abs({y})
        {e}[{j}] / 2|late({v}, {f})|sum(y * q for y, q in zip({v}, {v}))|round({f})|grow({f})[-1]""",
    "i": """{q}|{q}|{q}|n|k|0|1|2|-1|len(x)|len({l})|({q} + 1)|({i} - {i})|({i} // 2)|({i} % 3)|min({i}, {i})
        count({v}, {f})|find({v}, {f})|({i} if {c} else {i})|({i} // -2)|(-{i}) % 3|divmod({i}, 3)[1]
        {e}[{j}]|2 ** ({i} % 4)|({i} & 3)|len({v}[1:])|sum(1 for y in {v} if y > {n})|int({f})
        {h}.count|len({h}.seen)""",
    "c": """{f} > {n}|{f} < {f}|{f} <= {n}|{f} == {f}|{f} != {n}|{i} > {i}|{i} == {i}|{n} < {f} <= {f}|{f}|{i} % 2
        {i} in (1, 2)|{b}|({c} and {c})|({c} or {c})|not ({c})|{o} is None|({o1} is not None and {o1} > {n})
        np.isnan({f})|{n} < {f} != {f}|any([y > {n} for y in {v}])|all(y > {n} for y in {v})|{e}[{j}] > 1
        {f} in ({n}, {n})|{i} not in (0, 3)|{h}.count > 1""",
    "w": """{v} * 2|{v} + {v}|{v} - {f}|np.zeros(n)|np.zeros_like(x)|np.ones(len(x))|np.full(n, {f})|{v}.copy()
        {v}[::-1].copy()|np.where({v} > {f}, {v}, {v})|np.maximum({v}, {f})|{v}|{v}|{v}[:]|{v}[::-1]
        ({v} if {c} else {v})|tail({v}, {f})|same({v})|both({v}, {v}, {f})|{p}[0]|{m}[{j}]
        np.array([y * {f} for y in {v}])|np.cumsum({v})|np.roll({v}, 1)|{v} % 2.0|{v}[:]|{e} * 0.5""",
    "n": "0.0|0.5|1.0|2.0|-1.0|1|3",
    "r": "[]|[]|[{n}]",
}
STATEMENTS = """{S} = {f}|{S} = {f}|{s} += {f}|{s} -= {f}|{s} *= 0.5|{Q} = {i}|{Q} = {q} + 1
    {Q} = ({q} * 3 + 1) % 7|{V} = {w}|{V} = {w}|{a}[{j}] = {f}|{a}[{j}] += {f}|{a}[{j}] *= 0.5|{a}[{i}:] += {f}
    {a}[:{i}] = {f}|{a1}[1:] = {a1}[:-1]|{a}[::2] = {f}|{a}[:] = {v}|{a} += {v}|{a} *= 0.5|{a} -= {f}
    {a1}[{j}], {a1}[-1] = {a1}[{j}], {a1}[{j}]|{a}[{v} > {f}] = {n}|{V1} = {a}[{i}:]~{V1} += {n}
    {V1} = {a}~{V1}[{j}] = {f}|{V1} = {m}[{j}]~{V1}[:1] = {f}|{M} = np.outer(x, {v})|{M} = np.zeros((n, n))
    {M} = {m}.T|{m}[{j}, {j}] = {f}|{m}[{j}] += {v}|{m}[:, {j}] = {f}|{m} += {f}|{L} = {r}|{l}.append({f})
    {l}.append({f})|{l}.append({f})|{l1} = {l1} + [{f}]|{l}[-1] = {f}|{T} = ({f}, {f})|{t1} = ({t1}[1], {f})
    {S}, {S} = {t}|{D} = {{'a': {f}}}|{d}['a'] += {f}|{Z} = np.zeros(4)|{Z} = np.array([0.0, 1.0, 2.0, 3.0])
    {z}[{i} % 4] += 1|{z}[{i} % 4] = {f}|{z1}[1:] = {z1}[:-1]|{P} = ({v}, {w})|{p1} = ({p1}[1], {p1}[0])
    {p}[0][:1] = {f}|{s1}, {s2} = {s2}, {s1}|{s1}, {s2} = {s2}, {s1} + {f}|{a1}, {a2} = {a2}, {a1}
    bump({a}, {j}, {f})|{a1} = tail({a1}, {f})|{O} = None|{o} = {f}|{B} = {c}|{G} = lambda y: y + {s}
    def {G}(y):~    nonlocal {s1}~    if y > {n}: {s1} = {s1} + y~    return {s1}
    def {G}(y):~    {a}[:1] += y~    return y
    def {G}(y):~    nonlocal {s1}~    if y > 1: return y~    {s1} = y~    return {n}
    if {c}: raise ValueError('no')|assert {c}, 'bad'|if {c}: raise ValueError(f'no {{{s}}} at {{{q}}}')
    {V1} = {V2} = {w}|{a}[{i}:{i}] += {f}|{H} = Acc({f})|{h}.add({f})|{h}.total = {f}|{h}.total += {f}|{H} = {h}
    {h}.rows[{i} % 2] += {f}|{h}.rows = {h}.rows * 0.5|{h}.seen.append({f})|{E} = np.arange(n)|{e}[{j}] = {i}
    {e}[{j}] += {i}|{e} //= 2|{E} = -{e} % 5|{e}[{j}] = {e}[{j}] // 3 - {i}|{U} = x.astype(np.float32)
    {u}[{j}] += {f}|{u} *= 0.5|{Y} = 1j * {f}|{y1} = {y1} * 1j + {f}|{L} = [y * 2 for y in {l}]|{L} = {l}
    {l}.extend([{f}, {f}])|{l} += [{f}]|{L} = [y for y in {v} if y > {n}]|{D} = {d}|{d}['b'] = {f}|{d}.update(a={f})
    if {l}: {l}.pop()|{L} = sorted({l})|{L} = {l}[1:]|{M} = np.array([{v} * y for y in {v}])|{s1} = {s1} if {c} else {f}
    ({S}, {S}), {S} = {t}, {f}|{S}, *{L} = [{f}, {f}, {f}]|push({l}, {f})|{H} = Acc({f}) if {c} else {h}"""
JUMPS = "if {c}: break|if {c}: continue|if {c}: return {f}|if {c}: return {v}, {s}|break"
CHOICES = """if {c}:~>|if {c}:~>~else:~>|if {c}:~>~elif {c}:~>~else:~>|try:~>~except ZeroDivisionError:~    pass
    try:~>~except (ValueError, IndexError):~    {S} = {f}"""
LOOPS = """for {J} in range(n):~>|for {J} in range(n):~>|for {J} in range(n - 1, -1, -1):~>
    for {J} in range(1, n):~>|for {J} in range(0, n, 2):~>|for {J} in range(len(x) - 1):~>
    for {J} in range(n - 1, 0, -2):~>|for {J} in range({x}):~>|for {J} in range({x}, n):~>
    for {J} in range({x} - 1, -1, -1):~>|for {K} in range(k):~>|for {K} in range(3):~>|for {K} in range(18):~>
    for {K} in range(n, 0, -1):~>|for {J} in range(k, n):~>|for {S} in {v}:~>|for {S} in {v}[1:]:~>
    for {S} in reversed({v}):~>|for {J}, {S} in enumerate({v}):~>|for {K}, {S} in enumerate({v}, 1):~>
    for {S}, {S} in zip({v}, {v}[1:]):~>|for {J}, {S} in zip(range(n), {v}):~>|for {V} in {m}:~>
    for {S} in {v}[{x}:]:~>|for {S} in {l}:~>|for {J} in range(n):~>~else:~>|for {K} in range({i} % 5):~>
    {W1} = 0~while {W1} < 5 and {c}:~    {W1} += 1~>|{W1} = 0~while {c} and {W1} < n:~    {W1} += 1~>
    {W1} = 0~while True:~    {W1} += 1~    if {W1} > k or {c}: break~>
    {W1} = 0~while {W1} < 4 and {c}:~    {W1} += 1~>~else:~>|{W1} = 0~while ({W1} := {W1} + 1) < n:~>
    for {S}, {S} in zip(reversed({v}), {v}):~>|for {J}, ({S}, {S}) in enumerate(zip({v}, {v})):~>|for {V} in [x, {v}]:~>
    for {J} in range(n - 1, {x}, -1):~>|for {J} in reversed(range(n)):~>|for {K} in (2, 0, 1):~>|for {S} in {t}:~>"""
HELPERS = """
import numpy as np


class Acc:
    count = 0

    def __init__(self, total):
        self.total = total
        self.rows = np.zeros(2)
        self.seen = []

    def add(self, v):
        self.count += 1
        if v > 1:
            self.total = self.total + v
        return self.total

    def __call__(self, v):
        return self.total * v

    @property
    def mean(self):
        return self.total / (self.count + 1)


def push(l, v):
    l.append(v)


def grow(v):
    out = [v]
    for k in range(3):
        out.append(out[-1] * 0.5 + k)
    return out


def late(y, v):
    fs = [lambda w, k=k: w * k for k in range(3)]
    s = v
    for i in range(len(y)):
        s = fs[i % 3](s) + y[i]
    return s


def pick(v, low=1.0):
    if v > low:
        return v * 3
    return -v


def early(v):
    for k in range(3):
        if v > k + 1:
            return v * k
    return v


def bump(y, i, v):
    if v > 0:
        y[i] += v
    else:
        y[i] = 1


def tail(y, v):
    y[1:] = v
    return y


def same(y):
    return y


def both(y, z, v):
    if v > 1:
        return y
    return z


def total(y):
    s = 0.0
    for v in y:
        s += v
    return s


def count(y, low):
    c = 0
    for i in range(len(y)):
        if y[i] <= low:
            continue
        c += 1
    return c


def find(y, low):
    for i, v in enumerate(y):
        if v > low:
            return i
    return -1


def halve(v):
    k = 0
    while v > 1 and k < 9:
        v = v / 2
        k += 1
    return v, k


def clip(v, low):
    if v < low:
        v = low
    elif v > 4.0:
        v = 4.0
    return v


def checked(v):
    if v > 6.5:
        raise ValueError("big")
    return v + 1
"""
HEAD = """import math

import numpy as np
from {helpers} import *

TABLE = np.array([0.5, 1.0, 3.0])
"""


def _rows(text):
    return [row.strip() for line in text.splitlines() for row in line.split("|")]


_TABLES = {kind: _rows(text) for kind, text in EXPRESSIONS.items()}
_STATEMENTS, _JUMPS, _CHOICES, _LOOPS = map(_rows, (STATEMENTS, JUMPS, CHOICES, LOOPS))
_HOLE = re.compile(r"\{([A-Za-z])([12]?)\}")
_PLAIN = {"f": "x[0]", "i": "1", "c": "k > 1", "w": "x * 2"}  # where an expression may go no deeper
_READ, _BOUND, _COUNTERS = set("svmltdzpgobaqxheuy"), set("SQVMLTDZPGOBJKWHEUY"), set("JKW")
_RETURNED = {
    "H": "{0}.total, {0}.rows, {0}.count, np.array({0}.seen)",
    "L": "np.array({})",
    "D": "{}['a']",
    "P": "{}[0], {}[1]",
    "O": "0.0 if {0} is None else {0}",
}


class Writer:
    """Writes one function. Each program leaves out some templates, so that the others meet more often."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        part = self.random.choice([0.25, 0.5, 0.8])
        some = lambda rows: [row for row in rows if self.random.random() < part] or rows
        self.tables = {kind: some(rows) if kind in "fcwi" else rows for kind, rows in _TABLES.items()}
        self.statements, self.loops = some(_STATEMENTS), some(_LOOPS)
        self.writes = self.random.random() < 0.3  # to the argument by its own name
        self.careless = self.random.random() < 0.3  # reads what may have no value, and indices that may be none
        self.lines, self.names, self.perhaps, self.number = [], {}, {}, 0
        self.counters, self.indices, self.depth, self.left = set(), [], 0, self.random.choice([4, 7, 11, 16])

    # -- names

    def known(self, kind):
        """Names of a kind that have a value."""
        kind = {"a": "V"}.get(kind, kind.upper())
        names = [name for name, its in self.names.items() if its == kind]
        if names and self.careless and self.random.random() < 0.2:
            names += [name for name, its in self.perhaps.items() if its == kind]
        return names

    def bound(self, kind, names):
        """A name for a statement to bind."""
        old = [name for name in self.known(kind) if name not in self.counters]
        if kind in _COUNTERS or not old or self.random.random() < 0.3:
            self.number += 1
            old = [f"{kind.lower()}{self.number}"]
        name = self.random.choice(old)
        names[name] = "Q" if kind in _COUNTERS else kind
        if kind in _COUNTERS:
            self.counters.add(name)
        return name

    # -- expressions

    def index(self):
        """An index of `x`: in range for most programs where `n > 0`."""
        if self.indices and self.random.random() < 0.85:
            i = self.random.choice(self.indices)
            return self.random.choice([i, i, i, f"{i} - 1", f"n - 1 - {i}", f"({i} + 1) % n", f"{i} // 2"])
        return self.random.choice(["0", "-1", "1", self.filled("{i}", 0)] if self.careless else ["0", "-1"])

    def fits(self, row):
        """Return whether there are names for all that a template reads."""
        kinds = {kind for kind, _ in _HOLE.findall(row)} & _READ
        return all(self.readable(kind) for kind in sorted(kinds))

    def filled(self, template, depth, names=None):
        """A template with something in each hole."""

        def fill(hole):
            kind, number = hole.groups()
            if hole.group() not in same:
                text = self.index() if kind == "j" else None
                if kind in _READ:
                    text = self.random.choice(self.readable(kind))
                elif kind in _BOUND:
                    text = self.bound(kind, names)
                text = self.expression(kind, depth) if text is None else text
                if not number:
                    return text
                same[hole.group()] = text
            return same[hole.group()]

        same = {}
        return _HOLE.sub(fill, template)

    def expression(self, kind, depth):
        """An expression of a kind."""
        rows = [row for row in self.tables[kind] if self.fits(row)]
        if depth <= 0:
            rows = [row for row in rows if not {kind for kind, _ in _HOLE.findall(row)} & set("fic")]
        return self.filled(self.random.choice(rows), depth - 1) if rows else _PLAIN[kind]

    def readable(self, kind):
        """Return what can be read or, for `a`, written to."""
        if kind == "x":
            return self.indices
        names = self.known(kind)
        return ["x", *names] if kind == "v" or (kind == "a" and self.writes) else names or ["n"] * (kind == "q")

    # -- statements

    def emit(self, template):
        """Write the lines of a template; names that its blocks bind may have no value after it."""
        bound, before, start = {}, dict(self.names), len(self.indices)
        lines = self.filled(template, 2, bound).replace("{{", "{").replace("}}", "}").split("~")
        is_loop = template in _LOOPS
        self.names.update(bound)
        iterated = re.match(r"for \w+ in (l\d+):", lines[0])
        hidden = {name: self.names.pop(name) for name in iterated.groups()} if iterated else {}  # or it has no end
        self.indices += [name for name in bound if is_loop and name.startswith("j")]
        self.write(lines, is_loop)
        del self.indices[start:]
        self.names.update(hidden)
        if ">" in lines:
            after, self.names = self.names, {**before, **{name: "Q" for name in bound if name[0] == "w"}}
            self.perhaps.update({name: kind for name, kind in after.items() if name not in self.names})

    def write(self, lines, is_loop):
        """Write lines, and blocks in place of `>`; the first one is that of the loop."""
        for line in lines:
            if line == ">":
                self.block(is_loop)
                is_loop = False
            else:
                self.lines.append("    " * self.depth + line)

    def block(self, is_loop):
        """Write a block of some statements."""
        self.depth += 1
        inner, self.jumps = getattr(self, "jumps", False), is_loop or getattr(self, "jumps", False)
        for _ in range(self.random.choice([1, 2, 2, 3])):
            self.statement()
        self.jumps = inner
        self.depth -= 1

    def statement(self):
        """Write a statement."""
        self.left -= 1
        kind = self.random.random()
        if self.depth < 4 and self.left > 0 and kind < 0.45:
            rows = self.loops if kind < 0.25 else _CHOICES
        else:
            rows = _JUMPS if kind > 0.85 and self.jumps else self.statements
        rows = [row for row in rows if self.fits(row)] or ["{S} = {f}"]
        self.emit(self.random.choice(rows))

    def function(self, name):
        """Return the text of the function."""
        self.depth, self.jumps = 1, False
        start = self.random.choice(["0.0", "0", "1.0", "2"])
        self.lines = [f"def {name}(x, k):", "    n = x.shape[0]", f"    s0 = {start}"]
        self.names["s0"] = "S"
        for _ in range(self.random.choice([1, 2, 3])):
            self.emit(self.random.choice([row for row in self.statements if self.fits(row) and "nonlocal" not in row]))
        self.emit(self.random.choice([row for row in self.loops if self.fits(row)] or ["for {J} in range(n):~>"]))
        while self.left > 0:
            self.statement()
        return "\n".join([*self.lines, f"    return ({self.results() or '0'},)"]) + "\n"

    def results(self):
        """Return what the function returns: some of its names."""
        kinds = {**self.perhaps, **self.names} if self.careless else self.names
        names = self.random.sample(sorted(kinds), min(len(kinds), 6))
        return ", ".join(_RETURNED.get(kinds[name], "{}").format(name, name) for name in names if kinds[name] != "G")


def python_program(seed, name):
    """Return the source text of a function `name(x, k)` of an array of floats and an int."""
    return Writer(seed).function(name)
