"""Random nests of loops three ways: in C, by NumPy's steps and as plain Python; with slopes, Hessians and batches."""

import random

import numpy as np
import pytest

import anyshape
from tests.backend.native.compiled import needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
NUMBERS, SIZES = ("s", "t", "u"), (5, 1, 2, 0, 9)
FRAME = """import numpy as np


def f(x, y, m):
    y, m, n = y.copy(), m.copy(), x.shape[0]
    s = x.sum() * 0.1
    t, u = s * 0.5 + 0.25, s * 0.2
    for i in {order}:
{steps}
    return s + t * 0.5 + u * 0.25 + y.sum() * 0.3 + (m * m).sum() * 0.1
"""


class Writer:
    """Writes the text of a nest by draws."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.counters = ["i"]

    def text(self):
        order = self.draw.choice(["range(n)", "range(n)", "range(n - 1, -1, -1)"])
        return FRAME.format(order=order, steps="\n".join(self.block("        ", 2)))

    def number(self, depth=2):
        """The text of a float."""
        choice, at = self.draw.choice, self.draw.choice(self.counters)
        if not depth or self.draw.random() < 0.35:
            others = [f"x[{at}]", f"y[n - 1 - {at}]", f"y[({at} * 2) % n]", f"m[{at}, {choice(self.counters)}]"]
            return choice([*NUMBERS, *others, f"{self.draw.uniform(-1, 1):.3f}"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        forms = ["({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} / (1.5 + {b} * {b}))", "np.sin({a})"]
        return choice([*forms, "np.exp(-{a} * {a})", "np.log(2.0 + {a} * {a})", "np.sqrt(1.0 + {a} * {a})"]).format(
            a=a, b=b
        )

    def block(self, indent, depth):
        """The lines of a block, in which further ones may be."""
        return [line for _ in range(self.draw.randint(1, 3)) for line in self.step(indent, depth)]

    def step(self, indent, depth):
        choice, value = self.draw.choice, self.number()
        at, name = choice(self.counters), choice(NUMBERS)
        inner = choice(["range(n)", "range(i)", "range(i, n)", "range(i + 1)"])
        if depth == 2 and self.draw.random() < 0.3:
            self.counters.append("j")
            lines = [f"{indent}for j in {inner}:", *self.block(indent + "    ", 1)]
            self.counters.pop()
            return lines
        if depth and self.draw.random() < 0.15:
            test = choice([f"{at} % 2 == 0", f"x[{at}] > 0.0", "s > t"])
            return [f"{indent}if {test}:", *self.block(indent + "    ", 0)]
        simple = [
            f"{name} = {value} * 0.7", f"s += {value} * 0.1", f"u = np.sin(u) * 0.5 + {value} * 0.2",
            f"y[{at}] = {value}", f"y[n - 1 - {at}] += {value} * 0.3", f"m[{at}, i] = {value}",
            "t += x[:i].dot(y[:i]) * 0.1", f"m[i, :] = m[i, :] * 0.9 + y * ({name} * 0.1)",
        ]  # fmt: skip
        return [indent + choice(simple)]


def slope(f, arrays, k, direction, is_smooth):
    """The derivative along a direction by a complex step; by differences where comparisons refuse complex numbers."""
    if is_smooth:
        moved = [x + (1e-30j * direction if k == i else 0j) for i, x in enumerate(arrays)]
        return f(*moved).imag / 1e-30
    ends = [f(*[x + (h * direction if k == i else 0) for i, x in enumerate(arrays)]) for h in (1e-6, -1e-6)]
    return (ends[0] - ends[1]) / 2e-6


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_nests(first, tmp_path):
    compiled = 0
    for seed in range(first, first + 10):
        source = Writer(seed).text()
        path = tmp_path / f"nest_{seed}.py"
        path.write_text(source)
        scope = {"__name__": f"nest_{seed}"}
        exec(compile(source, str(path), "exec"), scope)
        compiled += compare(scope["f"], seed, " > " not in source)
    assert compiled >= 9


def compare(f, seed, is_smooth):
    """Compare the three ways, and return whether C ran all loops."""
    both = anyshape.value_and_grad(f, (0, 1, 2))
    ours, steps = anyshape.jit(both, optimize="now", compile="wait"), anyshape.jit(both, compile="off")
    rng = np.random.default_rng(seed)
    for n in SIZES:
        arrays = [rng.uniform(-1, 1, shape) for shape in (n, n, (n, n))]
        before = [x.copy() for x in arrays]
        value, slopes = ours(*arrays)
        np.testing.assert_allclose(value, f(*arrays), rtol=1e-11, atol=1e-12, err_msg=f"seed {seed}, n = {n}")
        expected, expected_slopes = steps(*arrays)
        for mine, theirs in zip((value, *slopes), (expected, *expected_slopes), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12, err_msg=f"seed {seed}, n = {n}")
        if n in (2, 5):
            compare_slopes(f, arrays, slopes, rng, is_smooth)
        assert all(map(np.array_equal, arrays, before))
    if seed % 5 == 0:
        further(f, rng)
    outcomes = [outcome for program in ours.programs() for outcome in program.kernels]
    return any("loops: compiled" in outcome for outcome in outcomes) and "NumPy" not in "".join(outcomes)


def compare_slopes(f, arrays, slopes, rng, is_smooth):
    """Compare slopes with steps along random directions."""
    for k, x in enumerate(arrays):
        direction = rng.uniform(-1, 1, x.shape)
        expected = slope(f, arrays, k, direction, is_smooth)
        tolerance = (1e-9 if is_smooth else 1e-5) * (1 + abs(expected))
        np.testing.assert_allclose(np.sum(slopes[k] * direction), expected, rtol=0, atol=tolerance, err_msg=f"{k}")


def further(f, rng):
    """Compare a batch with its examples, and second derivatives with differences of first ones."""
    batch = [rng.uniform(-1, 1, shape) for shape in ((3, 4), (3, 4), (3, 4, 4))]
    each = [f(*arrays) for arrays in zip(*batch, strict=True)]
    np.testing.assert_allclose(anyshape.jit(anyshape.vmap(f), compile="wait")(*batch), each, rtol=1e-11, atol=1e-12)
    x, y, m = (a[0] for a in batch)
    first = anyshape.jit(anyshape.grad(f), compile="wait")
    second = anyshape.jit(
        lambda x: anyshape.jvp(lambda x: anyshape.grad(f)(x, y, m), (x,), (np.ones(4),))[1], compile="wait"
    )
    ends = [np.asarray(first(x + h, y, m)) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(second(x), (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-5)


def test_texts_differ():
    assert len({Writer(seed).text() for seed in range(60)}) == 60
