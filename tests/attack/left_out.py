"""Attack on elements that are left out: random chains of poles and choices, where such an element is at a pole.

Which elements are left out is tried: the value stays the same wherever they are. Their derivatives are then 0, and the
others as beside the pole.
"""

import numpy as np

from anyshape import cond, fori_loop, grad, jacfwd, jacrev, jit, jvp, map, scan, vmap, while_loop
from tests.attack.kit import Wrong

SIZE = 6
POLES = [
    "0.2 + np.sqrt({y})", "0.3 + {y} ** 0.3", "0.1 + np.cbrt({y})", "np.log({y})", "1 / {y}",
    "0.2 + np.arccosh(1 + {y})",
]  # fmt: skip
CONSTANTS = [  # `zero`, at a pole of its own
    "0.2 + np.sqrt(np.where({m}, {y}, zero))", "0.3 + np.cbrt(np.nan_to_num(np.where({m}, {y}, np.nan)))",
    "0.2 + np.sqrt(np.maximum({y} - {c}, zero))", "0.1 + np.sqrt(np.concatenate([[zero], {y}[1:]]))",
    "0.1 + np.log1p(np.sqrt(np.tril({y} * np.ones((2, 1))))[0])",
    "0.1 + np.sqrt(np.pad({y}, (1, 0), constant_values=zero))",
]  # fmt: skip
SMOOTH = ["np.sin({y})", "{y} * {y}", "1.5 * {y}", "{y} + 0.3", "np.log1p({y})", "{y} / (1 + {y})", "np.expm1({y})"]
CHOICES = [
    "np.where({m}, {y}, {c})", "np.where({m}, {c}, {y})", "{y}[{m}]", "{y}[{i}]", "{y}[1:]", "{y}[:-1]",
    "{y}[::2]", "np.take({y}, {i})", "np.sort({y})[1:]", "np.sort({y})[::-1][:3]", "np.maximum({y}, {c})",
    "np.minimum({y}, {c})", "np.clip({y}, {c}, 3.0)", "np.fmax({y}, {c})", "np.maximum.accumulate({y})",
    "np.maximum.accumulate({y})[1:]", "np.fmax.accumulate({y}[::-1])[2:]",
    "np.minimum.accumulate(-{y})[1:] ** 2", "np.minimum.accumulate({y})[1:]", "np.fmax.accumulate({y}[::-1])",
    "np.fmin.accumulate({y})", "np.add.accumulate({y})[:3]", "np.cumprod({y})[:3]",
    "np.logaddexp.accumulate({y})[:3]", "np.concatenate([{y}[:2], {y}[1:]])", "np.roll({y}, 1)[1:]",
    "np.where({m}, {y}, np.nan)[~np.isnan(np.where({m}, {y}, np.nan))]",
    "np.nan_to_num(np.where({m}, {y}, np.nan), nan=0.7)", "{y} + np.sum({y}, where={m})",
    "{y}[{m}] + np.mean({y}, where={m})", "np.where({m}, {y}, 0.6) * np.max({y})",
    "{y}[1:] * np.prod({y}, where={m})", "{y}[{m}] + np.min({y}, where={m}, initial=9.0)",
    "{y}[{m}] + np.var({y}, where={m})", "np.nansum(np.where({m}, {y}, np.nan)) * {y}[:2]",
    "np.nanmax(np.where({m}, {y}, np.nan)) + {y}[{m}]", "np.add.reduceat({y}, [1, 2])",
    "np.maximum.reduceat({y}, [0, 2])", "np.median({y}[:3]) * {y}[1:]",
    "np.multiply({y}, 2.0, out=np.ones_like({y}) * {y}[-1], where={m})", "np.ptp({y}) + {y}[:1] * 3",
    "np.partition({y}, 1)[1:]", "np.delete({y}, 0)", "{y}[2:] * 3 - {y}[1:-1]", "np.compress({m}, {y})",
    "np.tril({y}[:, None] * np.ones(len({y})))[-1]", "np.append({y}[1:], {c})", "np.select([{m}], [{y}], {c})",
    "{y}[np.argmax({y})] * {y}[{m}]", "np.quantile({y}, 1.0) + {y}[{m}]",
    "np.nancumsum(np.where({m}, {y}, np.nan))",
]  # fmt: skip
SUBGRAPHS = [
    "cond({y}[{k}] > {c}, lambda y: y[1:] * 2, lambda y: y[:-1] + 0.1, {y})",
    "cond({y}[{k}] > {c}, lambda y: np.where({m}, {c}, np.sin(y)), lambda y: np.where({m}, y, 0.2), {y})",
    "np.sqrt(0.1 + cond({y}[{k}] > {c}, lambda y: y * y, lambda y: np.full_like(y, 0.3), {y})[1:])",
    "map(lambda z: cond(z > {c}, lambda z: z * z, lambda z: 0.7, z), {y})",
    "vmap(lambda z: cond(z > {c}, lambda z: 0.6, lambda z: z * z, z))({y})",
    "scan(lambda c, z: (0.5 * c + z, np.sqrt(c * z)), 0.3, {y})[1][:3]",
    "scan(lambda c, z: (np.where(z > {c}, c + z, c), c), 0.1, {y})[1][1:]",
    "scan(lambda c, z: (c + np.where(z > {c}, np.log(z), 0.1), z), 1.5, {y})[0] + {y}[{m}]",
    "scan(lambda c, zm: (c * np.where(zm[1], zm[0], 1.0), c), 0.9, ({y}, {m}))[1]",
    "fori_loop(0, 2, lambda i, u: np.where({m}, np.sin(u), u * {y}), {y})",
    "fori_loop(0, 2, lambda i, u: np.where({m}, 0.2 + np.sqrt(u), {c}), {y})",
    "fori_loop(0, 2, lambda i, c: (c[0][::-1] * 1.1, c[1] + c[0]), ({y}, {y}))[1][1:]",
    "fori_loop(1, len({y}), lambda i, s: s + {y}[i] * {y}[i - 1], 0.1) + {y}[1:]",
    "fori_loop(0, 2, lambda i, s: np.roll(s, 1) * {y}[i + 1], {y})[{m}]",
    "while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, np.where({m}, s[1] * {y}, s[1])), (0, {y}))[1]",
    "while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, np.sqrt(s[1])), (0, {y}))[1][{m}]",
    "fori_loop(0, 3, lambda i, u: np.where({m}, u * 1.1, np.sqrt(u)), {y}, checkpoint=2)[{m}]",
]  # fmt: skip
LOOPS = {f.__name__: f for f in (cond, fori_loop, map, scan, vmap, while_loop)}


def _mask(rng, size):
    """Return the text of a mask that leaves in one element at least."""
    mask = rng.random(size) < 0.6
    mask[rng.integers(size)] = True
    return f"np.array({mask.tolist()})"


def _chain(rng):
    """Return the lines of a function of a vector, the function, and the same one with another number for zero."""
    lines, y = [], np.linspace(0.2, 1.7, SIZE)[rng.permutation(SIZE)]
    for kind in [
        "pole",
        *rng.permutation(["choice", "choice", *rng.choice(["pole", "constant", "smooth", "choice", "subgraph"], 2)]),
    ]:
        table = {"pole": POLES, "constant": CONSTANTS, "smooth": SMOOTH, "choice": CHOICES, "subgraph": SUBGRAPHS}[kind]
        size, template = len(y), str(rng.choice(table))
        line = template.format(
            y="y",
            m=_mask(rng, size),
            i=rng.integers(-size, size, 3).tolist(),
            k=rng.integers(size),
            c=round(rng.uniform(0.4, 1.2), 3),
        )
        try:
            after = eval(line, {"np": np, "y": y, "zero": 0.0, **LOOPS})
        except (IndexError, ValueError):  # too short
            continue
        if len(after) and np.isfinite(after).all():
            y, lines = after, [*lines, f"y = {line}"]
    text = "\n    ".join(["def f(y):", *lines, "return np.sum(y * (1.0 + 0.37 * np.arange(len(y))))"])
    scopes = [{"np": np, "zero": zero, **LOOPS} for zero in (0.0, 0.003)]
    for names in scopes:
        exec(text, names)
    return text, *[names["f"] for names in scopes]


def _left_out(f, x):
    """Return the elements that the value does not depend on, wherever they are."""
    value, alone = f(x), []
    for i in range(SIZE):
        moved = [np.where(np.arange(SIZE) == i, v, x) for v in (0.0, 0.003, 0.05, x[i] * 1.01, x[i] * 0.98)]
        if all(_value(f, one) == value for one in moved):
            alone.append(i)
    return alone


def _value(f, x):
    """Return the value at x, NaN where arrays of sizes that depend on it do not fit there."""
    try:
        return f(x)
    except ValueError:
        return np.nan


def left_out(rng):
    """Compare derivatives where an element that is left out is at a pole with derivatives where it is not."""
    text, f, off_zero = _chain(rng)
    beside = rng.uniform(0.2, 2.0, SIZE)
    out = _left_out(f, beside)
    point = beside.copy()
    if out:
        point[rng.choice(out)] = 0.0  # of two, each would be as large as the other
    if not out or f(point) != f(beside) or not np.isfinite(f(point)):
        return "no elements left out"
    if off_zero(point) != off_zero(beside):
        return "an element as large as a constant"  # at the pole alone: it counts by a share
    slope, counts = grad(f), np.setdiff1d(np.arange(SIZE), out)
    first, second = slope(beside), jacfwd(slope)(beside)
    step = 1e-6 * np.eye(SIZE)
    differences = np.array([f(beside + e) - f(beside - e) for e in step]) / 2e-6
    expected = np.zeros(SIZE), np.zeros((SIZE, SIZE))
    expected[0][counts], expected[1][np.ix_(counts, counts)] = first[counts], second[np.ix_(counts, counts)]
    got = [
        ("differences", differences, expected[0], 1e-4),
        ("grad", slope(point), expected[0], 1e-9),
        ("jvp", np.array([jvp(f, (point,), (e,))[1] for e in np.eye(SIZE)]), expected[0], 1e-9),
        ("vmap", vmap(slope)(np.stack([point, beside]))[0], expected[0], 1e-9),
        ("forward over reverse", jacfwd(slope)(point), expected[1], 1e-8),
        ("reverse over reverse", jacrev(slope)(point), expected[1], 1e-8),
    ]
    if rng.integers(4) == 0:
        got.append(("compiled", jit(slope, compile="wait")(point), expected[0], 1e-9))
    for name, result, right, tolerance in got:
        scale = np.max(np.abs(right))
        if not np.allclose(result, right, rtol=tolerance, atol=tolerance * scale + 1e-12):
            raise Wrong(f"{text}\nat {point.tolist()}: {name} is\n{result}\nand not\n{right}")
    return "chains"
