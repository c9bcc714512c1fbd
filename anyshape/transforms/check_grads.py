"""check_grads: compare jvp with finite differences, vjp with jvp, and the derivatives of both likewise."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import optree

from anyshape.errors import ArgumentError, GradientCheckError
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.spec_parser import parse_shape
from anyshape.graph.sizes.expr import Size, variable
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.true_types import has_type
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.pytrees import (
    NAMESPACE,
    as_leaf,
    check_callable,
    flatten,
    flatten_as,
    function_name,
    is_python_scalar,
    leaf_paths,
    unflatten,
    wrapped,
)
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.grad import jvp, vjp
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted

MODES = ("fwd", "rev")
# Per bytes of one real number: the step of central differences, and how well they then agree with a derivative.
_STEPS = {2: 2.0**-4, 4: 2.0**-8, 8: 1e-5}
_TOLERANCES = {2: 1e-1, 4: 5e-3, 8: 1e-6}


@short_traceback
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = MODES,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare the derivatives of `f` at `args` with finite differences, and raise GradientCheckError if they differ.

    Along random directions, jvp ("fwd") is compared with central differences of step `eps`. The vjp ("rev") is compared
    with jvp, or with differences if "fwd" is not among the modes. The same is done to the jvp and the vjp as
    functions, up to `order`.

    Arguments and results may be trees; leaves that are not inexact stay fixed. Errors up to atol + rtol * |expected|
    are accepted. The default tolerances suit the coarsest dtype.

    Args:
        f: function to test.
        args: tuple of its arguments.
        order: highest order of derivatives.
        modes: "fwd", "rev", or a sequence of both.
        atol, rtol: accepted errors, absolute and relative.
        eps: step of the differences.

    >>> import numpy as np
    >>> check_grads(lambda x, w: np.tanh(x @ w), (np.ones((2, 3)), np.eye(3)), order=2)
    >>> from anyshape import stop_gradient
    >>> check_grads(lambda x: x * stop_gradient(x), (np.ones(2),))
    Traceback (most recent call last):
    anyshape.errors.GradientCheckError: jvp of <lambda> (mode fwd, order 1): the result is ...
    """
    check_callable("check_grads: f", f)
    if not isinstance(args, (tuple, list)):
        advice = "pass a tuple with one entry per argument"
        raise ArgumentError("check_grads", "args", f"is of type {type(args).__name__}", advice)
    checker = Checker(f, order, modes, Tolerance(atol, rtol, eps))
    count = 0
    for measurement in checker.measure(tuple(args)):
        if not measurement.ok:
            raise measurement.failure()
        count += 1
    if count == 1:
        problem = "is NaN everywhere, so nothing can be compared"
        raise ArgumentError("check_grads", f"the result of {function_name(f)}", problem, "choose other arguments")


@short_traceback
def check_sizes(
    f: Callable[..., Any],
    specs: Sequence[Any],
    sizes: Sequence[int] = (0, 1, 2, 5),
    order: int = 1,
    domain: tuple[float, float] = (-1.0, 1.0),
    seed: int = 0,
) -> int:
    """Compare `f` traced once with plain NumPy at every combination of sizes, and its derivatives with differences.

    Sizes that NumPy refuses must be refused by the program too.

    Args:
        f: function of arrays, to be tested.
        specs: a specification for each argument, as `trace` takes it: "n, 3", or a `ShapeDtypeStruct`.
        sizes: values of each unknown size.
        order: highest order of derivatives.
        domain: interval of the random floats that `f` is called with.
        seed: seed of these numbers.

    Returns:
        The number of traces: 1 if Python decides on no size.

    Raises:
        GradientCheckError: if a value or derivative differs, with a note of the sizes.
        ArgumentError: if NumPy refuses what the program accepts, or every combination.

    >>> import numpy as np
    >>> check_sizes(lambda x, w: np.tanh(x @ w).sum(axis=1), ["n, d", "d, 2"])
    1
    >>> check_sizes(lambda x: x if x.shape[0] > 1 else 2 * x, ["n"])
    2
    """
    structs = [ShapeDtypeStruct(spec) if isinstance(spec, str) else spec for spec in specs]
    checker, rng = Checker(f, order, "rev"), np.random.default_rng(seed)
    refusals: list[str | None] = []
    for at, shapes in _shapes_at(structs, sizes):
        args = tuple([_drawn(rng, shape, s.dtype, domain) for shape, s in zip(shapes, structs, strict=True)])
        refusals.append(_refused_at(checker, f, args, at))
    if all(refusals):
        problem = f"are refused by NumPy: {[*refusals, None][0]}"
        raise ArgumentError("check_sizes", "specs", problem, "give shapes that f takes")
    return max([program.cache_info().traces for program in checker.programs()])


def _shapes_at(specs: Sequence[ShapeDtypeStruct], sizes: Sequence[int]) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    """Yield all assignments of sizes to the names in specifications, as a text, and the shapes that they give."""
    texts = [s.shape if isinstance(s.shape, str) else ", ".join(map(str, s.shape)) for s in specs]
    names: dict[str, Size] = {}
    for text in texts:
        parse_shape(text, lambda name: names.setdefault(name, variable(name)))
    for case in itertools.product(sizes, repeat=len(names)):
        by_name = dict(zip(names, case, strict=True))
        shapes = [tuple([int(str(n)) for n in parse_shape(text, by_name.__getitem__).sizes]) for text in texts]
        if min([0, *itertools.chain(*shapes)]) == 0:
            yield ", ".join([f"{name}={n}" for name, n in by_name.items()]) or "fixed", shapes


def _refused_at(checker: Checker, f: Callable[..., Any], args: tuple[Any, ...], at: str) -> str | None:
    """Compare at these arguments; return why NumPy refuses them, None if it does not."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            f(*args)
        except (ValueError, IndexError, ZeroDivisionError) as refused:
            try:
                checker.top.value(*args)
            except Exception:
                return str(refused)
            problem = f"runs at {at}, where NumPy raises {type(refused).__name__}: {refused}"
            raise ArgumentError("check_sizes", "the program", problem, "report it, with the function") from refused
        try:
            failures = [m.failure() for m in checker.measure(args) if not m.ok]
        except Exception as error:
            error.add_note(f"at the sizes {at}")
            raise
    if failures:
        failures[0].add_note(f"at the sizes {at}")
        raise failures[0]
    return None


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, domain: tuple[float, float]) -> Any:
    """Return random numbers: floats of the interval, small integers, or booleans."""
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
    imaginary = 1j * rng.uniform(*domain, shape) if dtype.kind == "c" else 0
    return np.asarray(rng.uniform(*domain, shape) + imaginary).astype(dtype)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerances of a comparison and the step of differences; None stands for the default of the dtypes."""

    atol: float | None = None
    rtol: float | None = None
    eps: float | None = None

    def step(self, width: int) -> float:
        """Return the step of central differences."""
        return self.eps if self.eps is not None else _STEPS[width]

    def of_differences(self, width: int, scale: float) -> tuple[float, float]:
        """Return atol and rtol against finite differences of values of size `scale`."""
        return self._or(_TOLERANCES[width], scale)

    def of_rounding(self, width: int, scale: float) -> tuple[float, float]:
        """Return atol and rtol between two computations of one value, from terms of size `scale`."""
        return self._or(math.sqrt(np.finfo(f"f{width}").eps), scale)

    def _or(self, default: float, scale: float) -> tuple[float, float]:
        atol = self.atol if self.atol is not None else default * max(1.0, scale)
        return atol, self.rtol if self.rtol is not None else default


@dataclass(frozen=True)
class Measurement:
    """Comparison: its worst entry, and the error that is accepted for it."""

    check: str
    mode: str
    order: int
    path: str
    expected: Any
    observed: Any
    error: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """True if the two agree."""
        return self.error <= self.tolerance

    def failure(self) -> GradientCheckError:
        """Return the error to raise when they do not."""
        numbers = self.expected, self.observed, self.error, self.tolerance
        return GradientCheckError(self.check, self.mode, self.order, self.path, *numbers)


class Checker:
    """Checks of one function, whose programs are traced once and serve arguments of every size."""

    def __init__(
        self, f: Callable[..., Any], order: int = 2, modes: Sequence[str] = MODES, tolerance: Tolerance | None = None
    ) -> None:
        check_callable("check_grads: f", f)
        if not has_type(order, int) or order < 1:
            raise ArgumentError("check_grads", "order", f"is {order!r}", "give 1, 2 or more")
        modes = (modes,) if isinstance(modes, str) else tuple(modes)
        if not modes or not set(modes) <= set(MODES):
            raise ArgumentError("check_grads", "modes", f"is {modes!r}", 'give "fwd", "rev" or ("fwd", "rev")')
        self.modes = modes
        self.top: _Level = _Level(f, function_name(f), 1, order, modes, tolerance or Tolerance())

    def measure(self, args: tuple[Any, ...], seed: int = 0) -> Iterator[Measurement]:
        """Yield the comparisons at these arguments, of values, then of derivatives; of values alone if all are NaN."""
        self._refuse_fixed(args)
        rng = np.random.default_rng(seed)
        args = _map(lambda x: x if is_python_scalar(x) else np.asarray(x), args)
        yield from self.top.measure(args, rng)

    def programs(self) -> list[Jitted]:
        """Return the jitted functions that were used."""
        return list(self.top.programs())

    def _refuse_fixed(self, args: tuple[Any, ...]) -> None:
        leaves = [as_leaf(x, p, "check_grads") for x, p in zip(flatten(args)[0], leaf_paths(args, {}), strict=True)]
        if not any(is_inexact(x.dtype) for x in leaves):
            dtypes = ", ".join(str(x.dtype) for x in leaves)
            problem = f"have no inexact leaf (dtypes: {dtypes or 'none'})"
            raise ArgumentError(
                "check_grads", "the arguments", problem, "pass float or complex arrays to differentiate in"
            )


class _Level:
    """Function of some order and its two derivatives; `next_order` holds the same for these derivatives."""

    def __init__(
        self, f: Callable[..., Any], name: str, order: int, last: int, modes: Sequence[str], tolerance: Tolerance
    ) -> None:
        self.f, self.name, self.order, self.modes, self.tolerance = f, name, order, modes, tolerance
        self.value: Any = jit(f)
        self.forward: Any = jit(lambda primals, tangents: jvp(f, primals, tangents))
        self.backward: Any = jit(lambda primals, cotangent: vjp(f, *primals)[1](cotangent))
        self.both: Any = jit(
            lambda primals, tangents, cotangent: (jvp(f, primals, tangents), vjp(f, *primals)[1](cotangent))
        )
        derivatives = {"fwd": ("jvp", self.forward), "rev": ("vjp", self.backward)} if order < last else {}
        self.next_order: dict[str, _Level] = {
            mode: _Level(g, f"{kind} of {name}", order + 1, last, modes, tolerance)
            for mode, (kind, g) in derivatives.items()
            if mode in modes
        }

    def programs(self) -> Iterator[Jitted]:
        """Yield the jitted functions of this order and above that were called."""
        mine = [self.value] if self.order == 1 else []
        for made in [*mine, self.forward, self.backward, self.both]:
            if made.cache_info().traces:
                yield made
        for level in self.next_order.values():
            yield from level.programs()

    def _value(self, args: tuple[Any, ...]):
        """Return the value as NumPy gives it, or traced for a function that writes `x.at[i]`, which no array has."""
        try:
            return self.f(*args)
        except AttributeError as error:
            if error.name != "at" or not has_type(error.obj, np.ndarray):
                raise
        self.f = self.value
        return self.f(*args)

    def measure(self, args: tuple[Any, ...], rng: np.random.Generator) -> Iterator[Measurement]:
        """Yield the comparisons at these arguments."""
        value = self._value(_copies(args))
        point = _Point(args, value, _map(lambda x: uneven(rng, x), args), _map(lambda y: uneven(rng, y), value))
        if self.order == 1:
            self._refuse_fixed(value)
            check = self._compare(
                "value", "value", point, value, self.value(*_copies(args)), self.tolerance.of_rounding
            )
            if not check.ok:
                self._refuse_draws(point)
            yield check
            if _all_nan(value):
                return
        pushed, pulled = self._both(point)
        if "fwd" in self.modes:
            observed, out_tangents = pushed or self.forward(args, point.tangents)
            yield self._compare("value", "fwd", point, value, observed, self.tolerance.of_rounding)
            yield self._compare(
                "jvp", "fwd", point, self._differences(point), out_tangents, self.tolerance.of_differences
            )
        if "rev" in self.modes:
            yield self._reverse(point, pushed[1] if pushed else self._out_tangents(point), pulled)
        directions = {"fwd": point.tangents, "rev": point.cotangent}
        for mode, level in self.next_order.items():
            yield from level.measure((args, directions[mode]), rng)

    def _refuse_fixed(self, value) -> None:
        if not any(_inexact(as_leaf(y, "the result", self.name)) for y in flatten(value)[0]):
            problem = "has no inexact leaf, so it has no derivative"
            raise ArgumentError("check_grads", f"the result of {self.name}", problem, "return float or complex arrays")

    def _refuse_draws(self, point: _Point) -> None:
        """Raise ArgumentError for a function that gives another value at each call."""
        again = self._compare(
            "value", "value", point, point.value, self.f(*_copies(point.args)), self.tolerance.of_rounding
        )
        if not again.ok:
            advice = "make its generator in the function, as in numpy.random.default_rng(0), so that it draws the same"
            raise ArgumentError("check_grads", f"the result of {self.name}", "is another one at each call", advice)

    def _differences(self, point: _Point):
        """Return central differences of f along the tangents."""
        step = self.tolerance.step(point.width)
        up = self.f(*_map(lambda x, t: _moved(x, t, step), point.args, point.tangents))
        down = self.f(*_map(lambda x, t: _moved(x, t, -step), point.args, point.tangents))
        return _map(lambda u, d: (u - d) / (2 * step) if _inexact(u) else np.zeros_like(u), up, down)

    def _compare(
        self, kind: str, mode: str, point: _Point, expected, observed, tolerance: Callable[..., Any]
    ) -> Measurement:
        """Compare the leaves of two results, except where the value of f is NaN."""
        check = f"{kind} of {self.name}"
        leaves, tree = flatten(expected)
        if (others := flatten_as(observed, tree)) is None:
            shown = str(tree), str(flatten(observed)[1])
            return Measurement(check, mode, self.order, "the result", *shown, math.inf, 0.0)
        rows = zip(leaves, others, flatten(point.value)[0], strict=True)
        worst = [_worst(e, o, v, tolerance, point.width) for e, o, v in rows]
        if not worst:
            return Measurement(check, mode, self.order, "the result", "nothing", "nothing", 0.0, 0.0)
        i = max(range(len(worst)), key=lambda i: worst[i][2] - worst[i][3])
        return Measurement(check, mode, self.order, f"the result{_result_paths(expected)[i]}", *worst[i])

    def _both(self, point: _Point) -> tuple[Any, Any]:
        """Return the value with its tangent, and the gradients, from one program; no order above calls them singly."""
        is_last = self.order > 1 and not self.next_order and {*self.modes} == {*MODES}
        return self.both(point.args, point.tangents, point.cotangent) if is_last else (None, None)

    def _reverse(self, point: _Point, out_tangents, gradients) -> Measurement:
        """Compare <cotangent, J tangents> with <J^T cotangent, tangents>; on failure, per argument."""
        pulled = flatten(gradients or self.backward(point.args, point.cotangent))[0]
        moving = {
            i: p for i, (x, p) in enumerate(zip(point.leaves, leaf_paths(point.args, {}), strict=True)) if _inexact(x)
        }
        for (i, path), g in zip(moving.items(), pulled, strict=True):
            wanted, got = _described(point.leaves[i]), _described(g)
            if wanted != got:
                return Measurement(f"vjp of {self.name}", "rev", self.order, path, wanted, got, math.inf, 0.0)
        measurement = self._product(
            point, out_tangents, pulled, list(moving), f"<cotangent, tangent> of {', '.join(moving.values())}"
        )
        if measurement.ok or len(moving) == 1:
            return measurement
        for i, path in moving.items():
            alone = point.only(i)
            single = self._product(
                alone, self._out_tangents(alone), pulled, list(moving), f"<cotangent, tangent> of {path}"
            )
            if not single.ok:
                return single
        return measurement

    def _out_tangents(self, point: _Point):
        """Return the tangent of the value, by jvp if it is among the modes, else by differences."""
        return self.forward(point.args, point.tangents)[1] if "fwd" in self.modes else self._differences(point)

    def _product(
        self, point: _Point, out_tangents, pulled: Sequence[Any], moving: Sequence[int], path: str
    ) -> Measurement:
        tangents = flatten(point.tangents)[0]
        observed, terms = _pairing(pulled, [tangents[i] for i in moving])
        rows = zip(*[flatten(tree)[0] for tree in (point.value, point.cotangent, out_tangents)], strict=True)
        values, cts, ts = zip(*[row for row in rows if _inexact(row[0])], strict=True)
        expected, more = _pairing(cts, ts)
        if "fwd" in self.modes:
            atol, rtol = self.tolerance.of_rounding(point.width, terms + more)
        else:
            atol, rtol = self.tolerance.of_differences(point.width, terms + more + _pairing(cts, values)[1])
        same = observed == expected or (math.isnan(observed) and math.isnan(expected))
        error = 0.0 if same else _or_infinite(abs(observed - expected))
        check, accepted = f"vjp of {self.name}", float(np.nan_to_num(atol + rtol * abs(expected), posinf=0.0))
        return Measurement(check, "rev", self.order, path, expected, observed, error, accepted)


@dataclass(frozen=True)
class _Point:
    """Point of a check: arguments, value, a direction of the arguments and weights of the value."""

    args: Any
    value: Any
    tangents: Any
    cotangent: Any

    @cached_property
    def leaves(self) -> list[Any]:
        return flatten(self.args)[0]

    @cached_property
    def width(self) -> int:
        """Bytes of a real number of the coarsest inexact dtype."""
        dtypes = [np.asarray(x).dtype for x in flatten((self.args, self.value))[0]]
        return min([min(8, d.itemsize // (2 if d.kind == "c" else 1)) for d in dtypes if is_inexact(d)], default=8)

    def only(self, i: int) -> _Point:
        """Return the point with a direction that moves leaf i alone."""
        leaves, tree = flatten(self.tangents)
        alone = unflatten(tree, [t if j == i else t * 0 for j, t in enumerate(leaves)])
        return _Point(self.args, self.value, alone, self.cotangent)


# -- trees and leaves --------------------------------------------------------------------------------------------


def _map(function: Callable[..., Any], tree, *others):
    leaves, structure = flatten(tree)
    columns = [flatten_as(t, structure) or flatten(t)[0] for t in others]  # of another structure: `zip` says so
    return unflatten(structure, [function(*xs) for xs in zip(leaves, *columns, strict=True)])


def _copies(args: tuple[Any, ...]):
    """Return arguments that the function may write to."""
    return _map(lambda x: np.array(x, order="K") if has_type(x, np.ndarray) else x, args)


def _inexact(x) -> bool:
    return is_inexact(np.asarray(x).dtype)


def _all_nan(value) -> bool:
    arrays = [np.asarray(y) for y in flatten(value)[0] if _inexact(y)]
    return any(y.size for y in arrays) and all(np.isnan(y).all() for y in arrays)


def uneven(rng: np.random.Generator, x: Any) -> Any:
    """Return a direction of the shape and dtype of x with unequal entries: ones would hide wrong transpositions."""
    shape, dtype = np.shape(x), np.asarray(x).dtype
    if not is_inexact(dtype):
        return np.zeros(shape, dtype)
    weights = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
    if dtype.kind == "c":
        weights = weights + 1j * rng.uniform(-1.0, 1.0, shape)
    return type(x)(weights) if is_python_scalar(x) else np.asarray(weights).astype(dtype)


def _moved(x, t, step: float):
    """Return x + step * t in the dtype of x, or x itself if it has no derivative."""
    if not _inexact(x):
        return x
    return x + step * t if is_python_scalar(x) else np.asarray(x + step * t, np.asarray(x).dtype)


def _result_paths(result) -> list[str]:
    return [accessor.codify("") for accessor in optree.tree_accessors(wrapped(result), namespace=NAMESPACE)]


def _described(x) -> str:
    x = np.asarray(x)
    return f"{x.dtype}{list(x.shape)}"


def _worst(expected, observed, value, tolerance: Callable[..., Any], width: int) -> tuple[Any, Any, float, float]:
    """Return the worst entries of two leaves: expected, observed, error and accepted error."""
    wanted, got = _described(expected), _described(observed)
    if wanted != got:
        return wanted, got, math.inf, 0.0
    e, o, v = (np.atleast_1d(np.asarray(x)).ravel() for x in (expected, observed, value))
    if not is_inexact(e.dtype):
        return wanted, got, 0.0 if np.array_equal(e, o) else math.inf, 0.0
    finite = np.abs(v[np.isfinite(v)]).astype(np.float64)
    atol, rtol = tolerance(width, float(finite.max(initial=0.0)))
    with np.errstate(all="ignore"):
        accepted = atol + rtol * np.abs(e).astype(np.float64)
        error = np.abs(o - e).astype(np.float64)
    agree = (e == o) | (np.isnan(e) & np.isnan(o)) | np.isnan(v)
    error = np.where(agree, 0.0, np.where(np.isnan(error), np.inf, error))
    accepted = np.where(np.isfinite(accepted), accepted, 0.0)
    if not error.size:
        return wanted, got, 0.0, 0.0
    i = int(np.argmax(error - accepted))
    return e[i].item(), o[i].item(), float(error[i]), float(accepted[i])


def _or_infinite(error: float) -> float:
    return math.inf if math.isnan(error) else error


def _pairing(xs: Sequence[Any], ys: Sequence[Any]) -> tuple[float, float]:
    """Return the inner product that defines transposes (real part, no conjugation), and the size of its terms."""
    products = [np.asarray(x, np.complex128) * np.asarray(y, np.complex128) for x, y in zip(xs, ys, strict=True)]
    return sum(float(np.sum(p).real) for p in products), sum(float(np.sum(np.abs(p))) for p in products)
