"""Write random Python programs over arrays that ask about sizes: source text by seed, and arguments.

Every program runs on plain NumPy and terminates. Where NumPy raises an error, a traced program must too.
"""

import linecache
import math
import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import anyshape.numpy as anp
from tests.transforms.logged_questions import compile_logged

SIZES = (0, 1, 2, 3, 4, 5, 7)
SIGNATURES = ("positional", "keywords", "dict", "nested")
RANKS = (("n",), ("n",), ("m",), ("n", "m"), ("n", "m"), ("m", "n"), ("n", "n"), ("m", "k"), ("n", 1), ("n", "m", "k"))
DTYPES = ("float64", "float64", "float64", "float32", "int64")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

# Templates of parts of programs, with words in braces. A size is s, one below 8 is b, that of an axis is axis or input.
# A constant is c, a comparison r, a condition t. Arrays are x and y.
INTEGERS = (
    "({s} + {s2})", "({s} - {s2})", "({s} * {s2})", "({s} + {c})", "({s} - {c})", "{s} * {c}", "({s} // {c})",
    "({s} % {c})", "min({s}, {s2})", "max({s}, {s2})", "max({s}, {c})", "abs({s} - {s2})", "-({s})",
    "(({s} + {c}) // {c2})", "({s} // {s2})", "({s} % {s2})",
)  # fmt: skip
ODD_INTEGERS = (
    "int({s})", "sum({x}.shape)", "math.prod({x}.shape)", "{x}.ndim", "divmod({s}, 3)[1]", "divmod({s}, {s2})[0]",
    "({s} if {t} else {s2})", "min({x}.shape)", "max({x}.shape)", "sorted([{s}, {s2}])[0]", "sum({x}.shape[:1])",
    "({s} & 1)", "({s} >> 1)", "({s} and {s2})", "({s} or {s2})", "round({s})", "int(np.prod({x}.shape))",
    "int({s} / {c})", "round({s} / {c})", "math.ceil({s} / {c})", "math.floor({s} / {c})", "math.ceil({s} / {input})",
    "len({x}.shape)", "({s} ** 2 % 7)", "len(range({s}))", "(~{s} % 5)", "int({s} + {s2})",
)  # fmt: skip
QUESTIONS = (
    "{s} {r} {s2}", "{s} {r} {s2}", "{s} {r} {c}", "{s} {r} {c}", "{s} {r} {c}", "{c} {r} {s} {r2} {s2}",
    "{s} % 2 == 0", "{s} in ({c}, {s2})", "{s} not in [1, {c}]", "{s}", "({s}) % {c}", "{x}.shape == {y}.shape",
    "{x}.shape[0] in {y}.shape", "{s} {r} {c}.5", "{x}.shape {r} ({c}, {c2})", "{x}.shape {r} ({c},)",
    "any(s {r} {c} for s in {x}.shape)", "bool({s})", "{x}.size {r} {c}", "{s} in {{1, {c}}}", "len({x}) {r} {c}",
    "{x}.shape[1:] == {y}.shape[:1]", "{s} / {c} {r} {c2}", "{s} / {c} {r} {c2}.5", "{s} / 2 {r} {s2}",
    "{s2} {r} {s} / 3", "{s} in range({c}, 5)", "{x}.ndim {r} {y}.ndim",
)  # fmt: skip
SMOOTH = (
    "np.tanh({x})", "np.sin({x}) + {x}", "{x} * 0.5", "{x} + {y}", "{x} * {y}", "{x} - {y}", "{y} + 2 * {x}",
    "np.cos({x}) * {y}", "{x} / (1.5 + {y} ** 2)", "-{x}",
)  # fmt: skip
ROUGH = (
    "np.maximum({x}, {y})", "np.where({x} > 0.1, {x}, {y})", "abs({x})", "np.floor({x})", "{x} ** 2 % 3",
    "{x} / ({s} + 1)",
)  # fmt: skip
WITH_SIZES = (
    "{x} * {s}", "{x} + {s}", "{s} - {x}", "{x} / (abs({s}) + 1)", "{x} / max({s}, 1)", "{x} * ({s} / 3)",
    "{x} * (1 / {s})", "{x} * ({s} / {s2})", "{x} + 1.5 * {s}", "{x} + (1 if {t} else {s})",
    "({x} if {t} else {x} * 2)",
    "{x} + float({s})", "np.sin({x} * {s} + {s2})", "{x} * (2.5 - {s})", "{x} + max({s}, 0) ** 0.5",
)  # fmt: skip
SLICES = (
    ":{s}", "{s}:", "{s}:{s2}", "::2", "1:", ":-1", "::-1", ":{n} // 2", "-({s}):", "{n} // 2:", "{s}::2",
    "None:{s}:1", ":{s}:-1", ":{n} - {c}", "{n} - {c}:", ":min({n}, {s})",
)  # fmt: skip
INDICES = ("{s}", "0", "-1", "{n} - 1", "{n} // 2", "-{n}")
RESHAPES = (
    ("{x}.reshape(-1)", lambda t: ("?",)), ("{x}.reshape({x}.shape[::-1])", lambda t: t[::-1]),
    ("{x}.reshape((1, *{x}.shape))", lambda t: (1, *t)), ("{x}[..., None]", lambda t: (*t, 1)),
    ("{x}.T", lambda t: t[::-1]), ("np.reshape({x}, ({x}.size,))", lambda t: ("?",)),
    ("{x}.reshape({s}, -1)", lambda t: ("?", "?")), ("{x}.reshape({x}.size // 2, 2)", lambda t: ("?", 2)),
)  # fmt: skip
RESHAPES_OF_MATRICES = (
    ("{x}.reshape({x}.shape[0], -1)", lambda t: (t[0], "?")),
    ("np.swapaxes({x}, 0, 1)", lambda t: (t[1], t[0], *t[2:])),
    ("{x}.reshape({x}.shape[0] * {x}.shape[1], *{x}.shape[2:])", lambda t: ("?", *t[2:])),
    ("np.tril({x})", lambda t: t),
    ("{x} @ np.swapaxes({x}, -1, -2)", lambda t: (*t[:-1], t[-2])),
)  # fmt: skip
JOINS = (
    "np.concatenate([{x}, {y}])", "np.concatenate([{x}[:{b}], {y}])", "np.concatenate([{x}] * ({b}) + [{y}])",
    "np.concatenate([{y}, {x}[::-1]], axis=0)",
)  # fmt: skip
MADE = (
    ("({x} + anp.zeros({x}.shape))", lambda t: t), ("({x} * anp.arange({x}.shape[-1]))", lambda t: t),
    ("anp.ones({b}) * {x}.sum()", lambda t: ("?",)), ("anp.arange({s}) * {x}.sum()", lambda t: ("?",)),
    ("{x} + anp.full({x}.shape[-1:], {b})", lambda t: t), ("anp.eye({b}) + {x}.sum()", lambda t: ("?", "?")),
    ("anp.zeros(({b}, 2)) + {x}.sum()", lambda t: ("?", 2)), ("np.roll({x}, {s})", lambda t: t),
    ("np.broadcast_to({x}, ({b}, *{x}.shape)) * 1", lambda t: ("?", *t)), ("np.cumsum({x}, axis=0)", lambda t: t),
    ("{x} + anp.linspace(0, 1, {x}.shape[-1])", lambda t: t), ("np.flip({x}, 0)", lambda t: t),
    ("np.pad({x}, {b})", lambda t: ("?",) * len(t)), ("np.tile({x}, {b})", lambda t: (*t[:-1], "?")),
    ("np.repeat({x}, {b}, axis=0)", lambda t: ("?", *t[1:])), ("np.stack([{x}, {x} * 2])", lambda t: (2, *t)),
    ("np.outer({x}, {x})", lambda t: ("?", "?")),
)  # fmt: skip


class _Parts(dict[str, str]):
    """Random parts for the words of a template, drawn at the first lookup."""

    def __init__(self, writer, depth, known):
        super().__init__(known)
        self.writer, self.depth = writer, depth

    def __missing__(self, word):
        writer, depth = self.writer, self.depth - 1
        drawn = {
            "s": lambda: writer.size(depth),
            "t": lambda: writer.test(depth),
            "c": lambda: str(writer.random.randrange(1, 5)),
            "r": lambda: writer.one(*COMPARISONS),
            "x": lambda: writer.array(1)[0],
            "y": lambda: writer.array(1)[0],
            "b": writer.small,
            "axis": writer.axis,
            "input": writer.axis_of_input,
        }
        self[word] = drawn[word.rstrip("123")]()
        return self[word]


@dataclass(frozen=True)
class Program:
    """Source of a function `f`, with the names of sizes and the dtype of each array argument."""

    seed: int
    source: str
    inputs: tuple[tuple[tuple[Any, ...], str], ...]
    signature: str

    def function(self, namespace=np):
        """Return the function, which makes arrays by this namespace."""
        name = f"<program {self.seed}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        space = {"np": np, "anp": namespace, "math": math}
        exec(compile(self.source, name, "exec"), space)
        return space["f"]

    @cached_property
    def logged(self):
        return compile_logged(self.source)

    def shapes(self, rng, count):
        """Return shapes of the inputs for calls; some repeat, and some have one changed size."""
        calls: list[tuple[tuple[int, ...], ...]] = []
        for _ in range(count):
            if calls and rng.random() < 0.1:
                calls.append(rng.choice(calls))
                continue
            at = {name: rng.choice(SIZES) for name in "nmk"}
            shapes = [[at.get(s, s) for s in shape] for shape, _ in self.inputs]
            changeable = [s for s in shapes if s]
            if changeable and rng.random() < 0.2:
                shape = rng.choice(changeable)
                shape[rng.randrange(len(shape))] = rng.choice(SIZES)
            calls.append(tuple(map(tuple, shapes)))
        return calls

    def arrays(self, shapes, seed):
        rng = np.random.default_rng(seed)
        return [np.asarray(rng.uniform(-2, 2, s) * (3 if d == "int64" else 1)).astype(d)
                for s, (_, d) in zip(shapes, self.inputs, strict=True)]  # fmt: skip

    def arguments(self, arrays):
        """Return (args, kwargs) for arrays."""
        names = [f"x{i}" for i in range(len(arrays))]
        if self.signature == "positional":
            return tuple(arrays), {}
        if self.signature == "keywords":
            return tuple(arrays[:1]), dict(zip(names[1:], arrays[1:], strict=True))
        if self.signature == "dict":
            return (dict(zip(names, arrays, strict=True)),), {}
        return ((arrays[0], list(arrays[1:])),), {}

    @property
    def positional(self):
        """Number of positional arguments."""
        return len(self.inputs) if self.signature == "positional" else 1

    def __str__(self):
        inputs = ", ".join(f"x{i}: {d}{list(s)}" for i, (s, d) in enumerate(self.inputs))
        return f"program {self.seed} ({inputs}; {self.signature})\n{self.source}"


class Writer:
    """Writes one program; a `smooth` one returns a float64 that is differentiable in float64 inputs."""

    def __init__(self, seed, smooth=False):
        self.random = random.Random(seed)
        self.smooth = smooth
        self.lines: list[str] = []
        self.depth = 0
        self.count = 0
        self.arrays: list[tuple[str, tuple[Any, ...]]] = []  # name, and a tag for each axis: equal tags, equal sizes
        self.sizes: list[str] = []

    # -- choices

    def one(self, *options):
        return self.random.choice(options)

    def chance(self, p):
        return self.random.random() < p

    def line(self, text):
        self.lines.append("    " * (self.depth + 1) + text)

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def fill(self, text, depth=1, **known):
        """Return the text with a random part for each word in braces, whose first letter is the kind of part."""
        return text.format_map(_Parts(self, depth, known))

    def pick(self, templates, depth=1, **known):
        return self.fill(self.random.choice(templates), depth, **known)

    # -- sizes

    def axis(self):
        """Return the source of a size that is read off an array."""
        name, tags = self.array(1)
        if self.chance(0.18):
            return self.one(f"len({name})", f"{name}.size")
        axis = self.random.randrange(len(tags))
        return f"{name}.shape[{axis - len(tags) if self.chance(0.2) else axis}]"

    def axis_of_input(self):
        name, tags = self.random.choice([(n, t) for n, t in self.arrays if n.startswith("x") and t])
        return f"{name}.shape[{self.random.randrange(len(tags))}]"

    def size(self, depth=2):
        """Return the source of an integer made of sizes."""
        if depth <= 0 or self.chance(0.35):
            if self.sizes and self.chance(0.45):
                return self.random.choice(self.sizes)
            return self.axis() if self.chance(0.85) else str(self.random.randrange(5))
        return self.pick(INTEGERS if self.chance(0.8) else ODD_INTEGERS, depth)

    def small(self):
        """Return the source of an integer below 8 that depends on sizes."""
        return self.pick(("min({axis}, 3)", "({s}) % 4", "{input}", "max(0, {s}) % 3"))

    def test(self, depth=1):
        """Return the source of a question about sizes."""
        if depth > 0 and self.chance(0.35):
            return self.pick(("({t} and {t2})", "({t} or {t2})", "not ({t})", "bool({t}) != bool({t2})"), depth)
        return self.pick(QUESTIONS, depth)

    # -- arrays

    def array(self, least=0):
        """Return an array of at least this rank; the inputs have some."""
        arrays = [x for x in self.arrays if least <= len(x[1])]
        return self.random.choice(arrays[-5:] if self.chance(0.6) else arrays)

    def like(self, tags):
        """Return an array that broadcasts with these tags, as far as is known."""
        names = [n for n, t in self.arrays if len(t) <= len(tags) and all(
            a in (b, 1) for a, b in zip(reversed(t), reversed(tags), strict=False))]  # fmt: skip
        return self.random.choice(names) if names and self.chance(0.9) else self.array()[0]

    def expression(self):
        """Return (source, tags) of an array."""
        x, tags = self.array()
        kinds = [self.pointwise, self.pointwise, self.with_size, self.with_size, self.reduced]
        if tags:
            kinds += [self.sliced, self.sliced, self.reshaped, self.joined, self.made]
        return self.random.choice(kinds)(x, tags)

    def pointwise(self, x, tags):
        return self.pick(SMOOTH if self.smooth else SMOOTH + ROUGH, x=x, y=self.like(tags)), tags

    def with_size(self, x, tags):
        return self.pick(WITH_SIZES, x=x), tags

    def reduced(self, x, tags):
        if not tags or self.chance(0.2):
            return self.pick(("np.sum({x})", "{x}.mean()", "np.tanh({x}).sum()"), x=x), ()
        axis = self.random.randrange(len(tags))
        function = self.one("sum", "mean", "sum", *([] if self.smooth else ["max", "min", "prod"]))
        if self.chance(0.25):
            return f"{x}.{function}(axis={axis}, keepdims=True)", tags[:axis] + (1,) + tags[axis + 1 :]
        return f"{x}.{function}(axis={axis})", tags[:axis] + tags[axis + 1 :]

    def sliced(self, x, tags):
        axis = self.random.randrange(len(tags))
        n, before = f"{x}.shape[{axis}]", ":, " * axis
        if self.chance(0.15):
            return self.pick(["{x}[" + before + k + "]" for k in INDICES], x=x, n=n), tags[:axis] + tags[axis + 1 :]
        part = self.random.choice(SLICES)
        new = tags[axis] if part == "::-1" else self.fresh("?")
        return self.fill("{x}[" + before + part + "]", x=x, n=n), tags[:axis] + (new,) + tags[axis + 1 :]

    def reshaped(self, x, tags):
        text, new = self.random.choice(RESHAPES + (RESHAPES_OF_MATRICES if len(tags) > 1 else ()))
        return self.fill(text, x=x), tuple(self.fresh("?") if t == "?" else t for t in new(tags))

    def joined(self, x, tags):
        y = self.random.choice([n for n, t in self.arrays if t[1:] == tags[1:] and len(t) == len(tags)])
        return self.pick(JOINS, x=x, y=y), (self.fresh("?"), *tags[1:])

    def made(self, x, tags):
        text, new = self.random.choice(MADE)
        return self.fill(text, x=x), tuple(self.fresh("?") if t == "?" else t for t in new(tags))

    # -- statements

    def block(self, statements):
        """Write statements one level deeper; names that they bind go out of scope."""
        arrays, sizes = list(self.arrays), list(self.sizes)
        self.depth += 1
        start = len(self.lines)
        for _ in range(statements):
            self.statement()
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1
        self.arrays, self.sizes = arrays, sizes

    def statement(self):
        kinds = [(self.assign, 8), (self.name_size, 2), (self.append, 2), (self.update, 1)]
        if self.depth < 2:
            kinds += [(self.branch, 4), (self.loop, 1), (self.while_loop, 1), (self.early, 1), (self.nested, 0.6),
                      (self.matching, 0.6), (self.guarded, 0.6), (self.comprehension, 0.6), (self.refusal, 0.4),
                      (self.recursion, 0.4)]  # fmt: skip
        functions, weights = zip(*kinds, strict=True)
        self.random.choices(functions, weights)[0]()

    def assign(self):
        text, tags = self.expression()
        name = self.fresh("a")
        self.line(f"{name} = {text}")
        self.arrays.append((name, tags))

    def name_size(self):
        name = self.fresh("s")
        self.line(f"{name} = {self.size()}")
        self.sizes.append(name)

    def append(self):
        self.line(f"out.append({self.array()[0] if self.chance(0.6) else self.expression()[0]})")

    def update(self):
        """Rebind an array to one of the same shape; it stays in scope after a block."""
        name, tags = self.array()
        self.line(f"{name} = {self.random.choice([self.pointwise, self.with_size])(name, tags)[0]}")

    def branch(self):
        self.line(f"if {self.test()}:")
        self.block(self.random.randrange(1, 4))
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.line(f"elif {self.test()}:")
            self.block(self.random.randrange(1, 3))
        if self.chance(0.5):
            self.line("else:")
            self.block(self.random.randrange(1, 3))

    def loop(self):
        i = self.fresh("i")
        self.line(f"for {i} in range({self.one(self.small(), f'1, {self.small()}', f'{self.small()}, 0, -1')}):")
        self.sizes.append(i)
        self.block(self.random.randrange(1, 3))
        self.sizes.remove(i)
        if self.chance(0.3):
            leave = self.fill(f"if {i} {self.one('>', '==')} {{input}} // 2: {self.one('break', 'continue')}")
            self.line(f"    {leave}")

    def while_loop(self):
        k = self.fresh("k")
        name, tags = self.array(1)
        end, change, start = self.one(
            (f"{k} > 1", f"{k} = {k} // 2", self.size(1)), (f"{k} * {k} < {self.axis()}", f"{k} += 1", "0"),
            (f"{k} > 0", f"{k} -= {self.axis_of_input()} + 1", self.size(1)),
            (f"{k}.shape[0] > 1", f"{k} = {k}[: {k}.shape[0] // 2]", name),
            (f"len({k}) > 2", f"{k} = {k}[1:]", f"{name}[:5]"),
        )  # fmt: skip
        self.line(f"{k} = {start}")
        self.line(f"while {end}:")
        self.line(f"    {change}")
        if "[" not in change.replace(".shape[", ""):
            self.sizes.append(k)
            self.depth += 1
            self.update()
            self.depth -= 1
        else:
            self.arrays.append((k, (self.fresh("?"), *tags[1:])))

    def early(self):
        self.line(f"if {self.test()}:")
        self.line(f"    return {self.result()}")

    def nested(self):
        g, a = self.fresh("g"), self.array()
        self.line(f"def {g}(y, k={self.size(1)}):")
        s = self.axis_of_input()
        self.line(f"    if k {self.one(*COMPARISONS)} {s}:")
        self.line("        return y * k")
        self.line(f"    return y + {self.size(0)}")
        name = self.fresh("a")
        argument = self.one("", f", {self.size(1)}", f", k={self.size(0)}")
        self.line(f"{name} = {g}({a[0]}{argument})")
        self.arrays.append((name, a[1]))

    def recursion(self):
        name, _ = self.array(1)
        self.line("def halves(y):")
        self.line(f"    if y.shape[0] <= {self.one(1, 2)}:")
        self.line("        return np.sum(y)")
        self.line("    h = y.shape[0] // 2")
        self.line("    return halves(y[:h]) + 0.5 * halves(y[h:])")
        result = self.fresh("a")
        self.line(f"{result} = halves({name})")
        self.arrays.append((result, ()))

    def matching(self):
        name, tags = self.array(1)
        rest = ["_" for _ in tags[1:]]
        self.line(f"match {name}.shape:")
        k, s = self.random.randrange(4), self.fresh("s")
        for pattern in (f"({', '.join([str(k), *rest])},)", f"({', '.join([s, *rest])},) if {s} > {self.size(0)}"):
            self.line(f"    case {pattern}:")
            self.depth += 1
            if s in pattern:
                self.sizes.append(s)
            self.block(1)
            self.depth -= 1
        self.sizes.remove(s)

    def guarded(self):
        s = self.fresh("s")
        self.line("try:")
        self.line(f"    {s} = {self.size(1)} {self.one('//', '%')} {self.size(1)}")
        self.line("except ZeroDivisionError:")
        self.line(f"    {s} = {self.size(0)}")
        self.sizes.append(s)

    def comprehension(self):
        name, tags = self.array()
        i = self.fresh("i")
        result = self.fresh("a")
        self.line(f"{result} = {name} + sum([{self.pointwise(name, tags)[0]} * {i} for {i} in range({self.small()})])")
        self.arrays.append((result, tags))

    def refusal(self):
        test = self.test(0)
        self.line(self.one(f"assert {test}, 'sizes'", f"if {test}: raise ValueError('sizes')"))

    def result(self):
        x, y = self.array()[0], self.array()[0]
        if self.smooth:
            return f"np.sum(np.tanh({x})) + 0.5 * np.sum(np.sin({y}))"
        results = ("{x}", "{x}, {y}", "[*out, {x}]", "{{'a': {x}, 'b': {y}.sum()}}", "{x}, {s}", "out, {x}")
        return self.pick(results, x=x, y=y)

    # -- the whole

    def write(self, seed, value, length):
        inputs = []
        for i in range(self.random.choice([1, 1, 2, 2, 3])):
            shape = self.random.choice(RANKS if i == 0 or self.chance(0.9) else ((),))
            inputs.append((shape, "float64" if self.smooth else self.random.choice(DTYPES)))
            self.arrays.append((f"x{i}", shape))
        signature = "positional" if value or self.chance(0.7) else self.random.choice(SIGNATURES)
        self.sizes += ["k"] * value
        parameters = self.parameters(signature, [f"x{i}" for i in range(len(inputs))])
        self.line("out = []")
        for _ in range(self.random.randrange(*length)):
            self.statement()
        self.line(f"return {self.result()}")
        source = "\n".join([f"def f({parameters}{', k' if value else ''}):", *self.lines]) + "\n"
        return Program(seed, source, tuple(inputs), signature)

    def parameters(self, signature, names):
        """Return the parameters of a signature, and write a line that unpacks them to these names."""
        if signature == "dict":
            self.line(", ".join(names) + " = " + ", ".join(f"d['{n}']" for n in names))
            return "d"
        if signature == "nested":
            self.line(f"{names[0]}, {'(' + ', '.join(names[1:]) + ',)' if names[1:] else '_'} = pair")
            return "pair"
        keyword_only = signature == "keywords" and len(names) > 1
        return ", ".join([names[0], "*", *names[1:]] if keyword_only else names)


def program(seed, smooth=False, value=False, length=(3, 9)):
    """Return the program of a seed; with `value` it also takes an integer `k`, which is a size."""
    return Writer(seed, smooth).write(seed, value, length)


__all__ = ["Program", "anp", "program"]
