"""Functions of two or three vectors that decide on sizes, under every transform, exported and loaded, against NumPy."""

import contextlib
import io
import operator

import numpy

import anyshape
from anyshape import ShapeDtypeStruct, cond, export, fori_loop, grad, hessian, jit, jvp, load, scan, vmap
from anyshape.errors import SizeLimitError, SizePathsError
from tests.attack.kit import Wrong

REFUSALS = (SizeLimitError, SizePathsError)  # of programs with too many decisions
AT = (0, 1, 2, 3, 5)


def _loop(low, high, body, start):
    for i in range(low, high):
        start = body(i, start)
    return start


def _scan(body, start, xs):
    ends = []
    for x in xs:
        start, end = body(start, x)
        ends.append(end)
    return start, numpy.stack(ends) if ends else 0 * xs


PLAIN = {"fori_loop": _loop, "scan": _scan, "cond": lambda test, yes, no: yes() if test else no()}
TRACED = {"fori_loop": fori_loop, "scan": scan, "cond": cond}

SIZES = {
    "n": lambda n, m: n,
    "m": lambda n, m: m,
    "n // 2": lambda n, m: n // 2,
    "n + m": lambda n, m: n + m,
    "n % 3": lambda n, m: n % 3,
    "2 * n - m": lambda n, m: 2 * n - m,
    "n - m": lambda n, m: n - m,
    "n * m": lambda n, m: n * m,
    "max(n, m)": lambda n, m: max(n, m),
    "n % (m + 1)": lambda n, m: n % (m + 1),
    "m + 3": lambda n, m: m + 3,
    **{str(k): (lambda n, m, k=k: k) for k in range(5)},
}
HARD = ("n * m", "n % (m + 1)")  # proofs about products take seconds
SIGNS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt}


def _doubled(x, y, s, f):
    y = y.copy()
    y[: x.shape[0]] *= 2.0
    return x, y, s


def _rows(x, y, s, f):
    """Take rows of as many elements as the other vector has, where they fill the vector."""
    if y.shape[0] > 0 and x.shape[0] % y.shape[0] == 0:
        return (x.reshape(y.shape[0], -1) ** 2).sum(axis=0), y, s
    return x, y, s


STEPS = {
    "x[1:] * 1.5": lambda x, y, s, f: (x[1:] * 1.5, y, s),
    "x * x": lambda x, y, s, f: (x * x, y, s),
    "join": lambda x, y, s, f: (numpy.concatenate([x, y[:2]]), y, s),
    "y[::-1] + 0.1": lambda x, y, s, f: (x, y[::-1] + 0.1, s),
    "x[:m]": lambda x, y, s, f: (x[: y.shape[0]], y, s),
    "y[m // 2:]": lambda x, y, s, f: (x, y[y.shape[0] // 2 :], s),
    "x * n": lambda x, y, s, f: (x * x.shape[0], y, s),
    "cumsum": lambda x, y, s, f: (numpy.cumsum(x), y, s),
    "swap": lambda x, y, s, f: (y, x, s),
    "sort": lambda x, y, s, f: (numpy.sort(x), y, s),
    "pad": lambda x, y, s, f: (numpy.pad(x, (0, x.shape[0] % 2)), y, s),
    "write": _doubled,
    "rows": _rows,
    "where": lambda x, y, s, f: (x, numpy.where(y.shape[0] > 3, y, -y), s),
    "append": lambda x, y, s, f: (numpy.append(x, x.shape[0] - y.shape[0]), y, s),
    "roll": lambda x, y, s, f: (numpy.roll(x, y.shape[0]), y, s),
    "repeat": lambda x, y, s, f: (x, numpy.repeat(y, 2)[: x.shape[0] + 1], s),
    "inner": lambda x, y, s, f: (x, y, s + (x[: y.shape[0]] * y[: x.shape[0]]).sum()),
    "sum * max": lambda x, y, s, f: (x, y, s + x.sum() * max(x.shape[0], y.shape[0])),
    "loop": lambda x, y, s, f: (x, y, s + f["fori_loop"](0, x.shape[0], lambda i, c: c * 0.5 + x[i], 0.3)),
    "two trips": lambda x, y, s, f: (x, y, s + f["fori_loop"](0, 2, lambda i, c: c * x.sum() * 0.3, 1.0)),
    "scan": lambda x, y, s, f: (f["scan"](lambda c, e: (c * 0.5 + e, c * e), 0.2, x)[1], y, s),
    "cond": lambda x, y, s, f: (x, y, s + f["cond"](x.sum() > 0, lambda: (y * y).sum(), lambda: x.sum())),
    "choice": lambda x, y, s, f: (
        x, y, s + f["cond"](x.shape[0] == y.shape[0] + 3, lambda: ((y * 2) ** 3).sum(), lambda: numpy.sin(x).sum()),
    ),
    "sines": lambda x, y, s, f: (x, y, s + numpy.sin(y).sum()),
    "first": lambda x, y, s, f: (x, y, s + (x[0] if x.shape[0] else 1.0)),
}  # fmt: skip


def program(rng, depth, most, sizes):
    """Return random steps. One that decides is two sizes, the sign between them, and the steps of both answers."""
    steps = []
    for _ in range(rng.integers(1, most + 1)):
        if depth and rng.random() < 0.35:
            first, second = (str(rng.choice(sizes)) for _ in range(2))
            answers = [program(rng, depth - 1, 2, sizes) for _ in range(2)]
            steps.append((first, str(rng.choice(list(SIGNS))), second, *answers))
        else:
            steps.append(str(rng.choice(list(STEPS))))
    return tuple(steps)


def taken(steps, x, y, s, functions):
    """Return the vectors and the number behind the steps of a program."""
    for step in steps:
        if isinstance(step, str):
            x, y, s = STEPS[step](x, y, s, functions)
        else:
            first, sign, second, *answers = step
            n, m = x.shape[0], y.shape[0]
            is_so = SIGNS[sign](SIZES[first](n, m), SIZES[second](n, m))
            x, y, s = taken(answers[0 if is_so else 1], x, y, s, functions)
    return x, y, s


def function_of(steps, functions):
    """Return the function of a program, of two vectors or three."""

    def function(x, y, *others):
        s = 0.0
        for i, z in enumerate((y, *others)):
            x, z, s = taken(steps[: 1 if i else None], x, z, s, functions)
            s = s + numpy.sin(z).sum()
        return s + (x**2).sum()

    return function


def reloaded(compiled):
    """Return a program after it was saved and loaded."""
    compiled.save(file := io.BytesIO())
    return load(io.BytesIO(file.getvalue()))


# -- ways to the value, and to the derivatives along a direction -------------------------------------------------


def _batch(xs):
    return [numpy.stack([x, x]) for x in xs]


def _second(results):
    return [g[1] for g in results]


def _dot(gradients, ts):
    return sum(numpy.sum(g * t) for g, t in zip(gradients, ts, strict=True))


def _value(f):
    return lambda xs, ts: f(*xs)


def _value_of_batch(f):
    return lambda xs, ts: f(*_batch(xs))[1]


def _slope(f):
    return lambda xs, ts: _dot(f(*xs), ts)


def _slope_of_batch(f):
    return lambda xs, ts: _dot(_second(f(*_batch(xs))), ts)


def _slope_forward(f):
    return lambda xs, ts: jvp(f, tuple(xs), tuple(ts))[1]


def _curvature(h):
    return lambda xs, ts: ts[0] @ h(*xs) @ ts[0]


def _curvature_of_gradient(g):
    return lambda xs, ts: jvp(lambda x: numpy.sum(g(x, *xs[1:]) * ts[0]), (xs[0],), (ts[0],))[1]


def _profiled(f):
    def run(*xs):
        anyshape.profile(f, repeat=1, file=io.StringIO())(*xs)
        return f(*xs)

    return run


def _total(f):
    return lambda *xs: numpy.sum(f(*xs))


class Ways:
    """Ways from a function to something else, for arguments of these specs; each makes it anew."""

    def __init__(self, function, names):
        self.function, self.every = function, tuple(range(len(names)))
        self.specs, self.rows = [[ShapeDtypeStruct(before + n) for n in names] for before in ("", "b, ")]

    def exported(self, function=None, specs=None):
        """Return an exported program, of the function itself if no other one is given."""
        return export(self.function if function is None else function)(*(specs or self.specs))

    def loaded(self, function=None, specs=None):
        """Return an exported program after it was saved and loaded."""
        return reloaded(self.exported(function, specs))

    def gradient(self, function):
        """Return the gradient in all arguments."""
        return grad(function, self.every)


VALUES = {
    "jit": lambda w: _value(jit(w.function)),
    "export": lambda w: _value(w.exported()),
    "load": lambda w: _value(w.loaded()),
    "export of load": lambda w: _value(w.exported(w.loaded())),
    "few bytes": lambda w: _value(jit(w.exported(), max_bytes=1 << 20)),
    "profile": lambda w: _value(_profiled(w.exported())),
    "vmap of load": lambda w: _value_of_batch(vmap(w.loaded())),
    "load of vmap": lambda w: _value_of_batch(w.loaded(vmap(w.function), w.rows)),
}
SLOPES = {
    "jit of grad": lambda w: _slope(jit(w.gradient(w.function))),
    "grad of export": lambda w: _slope(w.gradient(w.exported())),
    "grad of load": lambda w: _slope(w.gradient(w.loaded())),
    "load of grad": lambda w: _slope(w.loaded(w.gradient(w.function))),
    "load of grad of load": lambda w: _slope(w.loaded(w.gradient(w.loaded()))),
    "compiled grad": lambda w: _slope(jit(w.gradient(w.exported()), compile="wait")),
    "grad of checkpoint": lambda w: _slope(w.gradient(anyshape.checkpoint(w.exported()))),
    "grad in few bytes": lambda w: _slope(jit(w.gradient(w.exported()), max_bytes=1 << 20)),
    "jvp of load": lambda w: _slope_forward(w.loaded()),
    "vmap of grad": lambda w: _slope_of_batch(vmap(w.gradient(w.exported()))),
    "load of vmap of grad": lambda w: _slope_of_batch(w.loaded(vmap(w.gradient(w.function)), w.rows)),
    "grad of vmap": lambda w: _slope_of_batch(w.gradient(_total(vmap(w.loaded())))),
}
CURVATURES = {
    "hessian of load": lambda w: _curvature(hessian(w.loaded())),
    "load of hessian": lambda w: _curvature(w.loaded(hessian(w.function))),
    "jvp of grad of load": lambda w: _curvature_of_gradient(grad(w.loaded())),
}
WAYS = {**VALUES, **SLOPES, **CURVATURES}


def expected(plain, way, xs, ts):
    """Return what a way gives by NumPy: slopes by a complex step, curvatures by differences of slopes."""
    if way in VALUES:
        return plain(*xs)
    if way in SLOPES:
        return numpy.imag(plain(*[x + 1e-30j * t for x, t in zip(xs, ts, strict=True)])) / 1e-30
    low, high = ([xs[0] + step * ts[0], *xs[1:]] for step in (-1e-6, 1e-6))
    still = [ts[0], *[0 * t for t in ts[1:]]]
    return (expected(plain, "grad of load", high, still) - expected(plain, "grad of load", low, still)) / 2e-6


def made(steps, names, ways):
    """Return some ways from the function of a program, without those that are refused."""
    functions = {}
    for way in ways:
        with contextlib.suppress(*REFUSALS), about(f"{way} of {steps}"):
            functions[way] = WAYS[way](Ways(function_of(steps, TRACED), names))
    return functions


@contextlib.contextmanager
def about(text):
    """Say what an error was about; refusals pass."""
    try:
        yield
    except (Wrong, *REFUSALS):
        raise
    except Exception as error:
        raise Wrong(f"{text}\n{type(error).__name__}: {error}") from error


def size_decisions(rng, ways=3, calls=7):
    """Compare a function that decides on sizes with NumPy, in some ways and at some sizes."""
    try:
        return compared(rng, ways, calls)
    except REFUSALS:  # of a way whose calls make the program
        return "ways refused"


def compared(rng, ways, calls):
    """Compare a random function in some ways; return whether one of them was refused."""
    is_large = rng.random() < 0.3
    steps = program(rng, 1 + is_large, 2 + is_large, [size for size in SIZES if is_large or size not in HARD])
    plain, names = function_of(steps, PLAIN), "nmk"[: rng.integers(2, 4)]
    functions = made(steps, names, rng.choice(list(WAYS), ways, replace=False))
    for _ in range(calls):
        sizes = rng.choice(AT, len(names))
        xs, ts = ([rng.normal(size=n) for n in sizes] for _ in range(2))
        for way, run in functions.items():
            right, limit = expected(plain, way, xs, ts), 1e-4 if way in CURVATURES else 1e-8
            with about(f"{way} of {steps} at {sizes}"):
                got = run([x.copy() for x in xs], ts)
            if not numpy.allclose(got, right, limit, limit * max(1.0, abs(plain(*xs)))):
                raise Wrong(f"{way} of {steps} at {sizes}\n{got}, and not {right}")
    return "programs" if len(functions) == ways else "ways refused"
