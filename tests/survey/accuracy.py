"""Compare functions with NumPy and SciPy at random operands of several sizes and dtypes, and second derivatives.

`python -m tests.survey.accuracy [MODULE ...]` calls the rows of the survey and prints what differs. The error of a
result is relative to its largest number. EXCEPTIONS has the errors that are allowed beyond the tolerance of a kind.
"""

from __future__ import annotations

import dataclasses
import logging
import sys
import warnings
import zlib

import numpy as np
import optree
import scipy.stats

import anyshape
import anyshape.numpy as anp
import anyshape.scipy.stats
from anyshape.errors import ArgumentError, ConcretizationError, DTypeError, UnsupportedFunctionError
from tests.survey import distributions, modules, survey
from tests.survey.operands import DIFFERENTIABLE

TOLERANCE = 1e-12
SIZES = (6, 9)
KINDS = {"float64": TOLERANCE, "float32": 2e-5, "complex128": TOLERANCE}
CURVATURE = 1e-5  # of second derivatives beside differences of gradients
_TOLERANCE = "iterates to a tolerance"
_UNKNOWNS = "unknowns keep their dtype"
EXCEPTIONS = {  # case and kind -> largest error, infinite for another dtype, and the reason
    "scipy.integrate.odeint float64": (1e-6, _TOLERANCE),
    "scipy.optimize.curve_fit float64": (1e-7, _TOLERANCE),
    "scipy.optimize.least_squares float64": (1e-7, _TOLERANCE),
    "scipy.optimize.minimize float64": (1e-6, _TOLERANCE),
    "scipy.optimize.fsolve float32": (np.inf, _UNKNOWNS),
    "scipy.optimize.root float32": (np.inf, _UNKNOWNS),
    "scipy.integrate.simpson float32": (np.inf, "keeps float32, which SciPy does for odd numbers of samples"),
    "scipy.linalg.logm float32": (np.inf, "SciPy chooses a complex dtype by the values"),
    "scipy.special.spherical_kn float32": (np.inf, "computes in float64"),
    "scipy.stats.pearsonr float32": (1e-4, "SciPy scales by the largest deviation"),
    **{
        f"scipy.spatial.distance.{name} float32": (np.inf, "sums are float64")
        for name in ("cityblock", "correlation", "minkowski", "sqeuclidean")
    },
    "scipy.stats.dirichlet.pdf float32": (np.inf, "parameters are float64"),
    "scipy.stats.dirichlet.logpdf float32": (np.inf, "parameters are float64"),
    "scipy.stats.t.median order 2": (np.inf, "the quantile of 1/2 has no second derivative by the degrees of freedom"),
    "scipy.stats.gstd complex128": (np.inf, "the deviation of complex numbers is real"),
    "numpy.unique_values complex128": (np.inf, "the order of the values is not defined"),
}
REFUSALS = (ArgumentError, ConcretizationError, DTypeError, UnsupportedFunctionError)  # which the survey's page lists


def operands(seed, n):
    """Return random operands with the names and the structure of the survey's."""
    rng = np.random.default_rng(seed)
    x, y = (rng.uniform(0.05, 0.95, n) for _ in range(2))
    matrix = np.outer(x, y) + np.diag(rng.uniform(1.5, 4.0, n)) + 0.1 * np.tri(n)
    return {
        "x": x,
        "y": y,
        "t": np.sort(rng.permutation(20)[:n] / 20 + rng.uniform(0, 0.04, n)) + 0.005,
        "a": x + 1.3,
        "b": y + 2.1,
        "z": x + 1j * y,
        "k": rng.permutation(n) + 1,
        "i": rng.integers(0, 5, n),
        "m": np.arange(n) % 3 != 1,
        "A": matrix,
        "B": matrix.T * 0.3 + np.outer(y, y),
        "S": matrix @ matrix.T / 4 + np.eye(n),
        "X": np.stack([x, y, rng.uniform(0.1, 1.0, n)], 1),
        "Y": np.stack([y, x * 0.7, rng.uniform(0.1, 1.0, n)], 1),
        "v": rng.uniform(0.3, 1.0, 3),
        "w": rng.uniform(0.3, 1.0, 3),
        "M": np.array([[0.9, 0.1], [0.2, 1.4]]) + 0.1 * rng.uniform(size=(2, 2)),
        "s": np.array(rng.uniform(0.3, 0.7)),
        "u": np.array(rng.uniform(0.9, 1.1)),
    }


def cast(value, kind):
    """Return an operand in another precision, or with an imaginary part."""
    if value.dtype.kind not in "fc" or kind == "float64":
        return value
    if kind == "float32":
        return value.astype(np.complex64 if value.dtype.kind == "c" else np.float32)
    if value.ndim == 0:
        return value  # a bound or a parameter
    return value + 0.2j * np.cos(np.arange(value.size)).reshape(value.shape)


def error_of(ours, theirs):
    """Return the error of a result relative to its largest number; infinite for another shape, dtype or structure."""
    ours = survey.leaves_of(ours)
    if [(a.shape, a.dtype) for a in ours] != [(b.shape, b.dtype) for b in theirs]:
        return np.inf
    scale = max((_largest(leaf) for leaf in theirs if leaf.dtype.kind in "fc"), default=0.0)
    return max((_error(a, b, scale) for a, b in zip(ours, theirs, strict=True)), default=0.0)


def _largest(leaf):
    return float(np.max(np.abs(np.where(np.isfinite(leaf), leaf, 0)), initial=0.0))


def _error(ours, theirs, scale):
    same = (ours == theirs) | (ours != ours) & (theirs != theirs)
    if np.all(same):
        return 0.0
    if theirs.dtype.kind not in "fc" or not np.all(np.isfinite(ours) == np.isfinite(theirs)):
        return np.inf
    difference = np.abs(np.where(same, 0, ours - theirs))
    return float(np.max(difference)) / max(scale, np.finfo(theirs.dtype).tiny)


@dataclasses.dataclass
class Case:
    """One function of the survey with its row."""

    module: str
    name: str

    def __str__(self):
        return f"{self.module}.{self.name}"

    @property
    def seed(self):
        """Number that is the same in each run."""
        return zlib.crc32(str(self).encode())

    def row(self):
        """Return the call, or None without counterpart."""
        expression = modules.expression_for(self.module, self.name)
        return None if expression is None else survey.Row(expression, *modules.pair(self.module, self.name))

    def inputs(self, row, n, kind):
        """Return random operands of the row."""
        drawn = operands(self.seed, n)
        points = {"t"} if kind == "complex128" else set()  # points are real and sorted
        return [drawn[name] if name in points else cast(drawn[name], kind) for name in row.operands]


@dataclasses.dataclass
class MethodCase(Case):
    """One method of a distribution with its call."""

    expression: str

    def row(self):
        """Return the call."""
        distribution = self.name.partition(".")[0]
        pair = (getattr(m, distribution) for m in (anyshape.scipy.stats, scipy.stats))
        return survey.Row(self.expression, *pair)


def cases():
    """Return the functions, and the methods of distributions."""
    functions = [Case(module, name) for module in modules.MODULES for name in modules.functions(module)]
    return functions + [
        MethodCase("scipy.stats", f"{name}.{method}", expression)
        for name in distributions.names()
        for method, expression in distributions.methods(name)
    ]


def value_error(case, kind):
    """Return the largest error at all sizes; None where the kind has no meaning for the function."""
    row = case.row()
    if row is None or (kind != "float64" and not set(row.operands) & {*DIFFERENTIABLE, "z"}):
        return None
    traced, errors = anyshape.jit(row.ours), []
    for inputs in (case.inputs(row, n, kind) for n in SIZES):
        expected = theirs_of(row, inputs)
        if expected is None or (kind == "complex128" and not any(leaf.dtype.kind == "c" for leaf in expected)):
            continue
        try:
            errors.append(error_of(traced(*inputs), expected))
        except REFUSALS:
            return None
    return max(errors, default=None)


def theirs_of(row, inputs):
    """Return the arrays of NumPy's or SciPy's result; None if it refuses the operands."""
    try:
        return survey.leaves_of(row.theirs(*inputs))
    except (TypeError, ValueError, np.linalg.LinAlgError, NotImplementedError):
        return None


def curvature_error(case):
    """Return the error of the second derivative along a direction, beside differences of the gradient."""
    row = case.row()
    argnums = row and [j for j, name in enumerate(row.operands) if name in DIFFERENTIABLE]
    if not argnums:
        return None
    inputs = case.inputs(row, SIZES[0], "float64")
    if not any(leaf.dtype.kind in "fc" for leaf in theirs_of(row, inputs) or ()):
        return None
    gradient = anyshape.jit(anyshape.grad(survey.weighted(row.ours, anp), tuple(argnums)))

    def at(*values):
        whole = list(inputs)
        for j, value in zip(argnums, values, strict=True):
            whole[j] = value
        return gradient(*whole)

    points = [inputs[j] for j in argnums]
    moves = [np.cos(np.arange(1.0, v.size + 1)).reshape(v.shape) for v in points]
    try:
        exact = anyshape.jvp(at, tuple(points), tuple(moves))[1]
    except REFUSALS:
        return None
    return relative(exact, differences(at, points, moves))


def relative(ours, theirs):
    """Return the largest difference of arrays, relative to the largest number of at least 1."""
    if not all(np.all(np.isfinite(a)) for a in theirs):
        return None
    scale = max(1.0, *(float(np.max(np.abs(a), initial=0.0)) for a in theirs))
    return max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(ours, theirs, strict=True)) / scale


def differences(function, values, moves, step=1e-4):
    """Return the derivative along a direction by differences of fourth order."""
    at = lambda h: function(*(v + h * m for v, m in zip(values, moves, strict=True)))
    near, far = ([at(sign * size * step) for sign in (1, -1)] for size in (1, 2))
    slope = lambda ahead, back, beyond, behind: (8 * (ahead - back) - (beyond - behind)) / (12 * step)
    return optree.tree_map(slope, near[0], near[1], far[0], far[1])


def complaint(case, kind):
    """Return how a function differs in one kind, or in "order 2", and nothing if it does not."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        error = curvature_error(case) if kind == "order 2" else value_error(case, kind)
    limit = EXCEPTIONS.get(f"{case} {kind}", (CURVATURE if kind == "order 2" else KINDS[kind], ""))[0]
    return "" if error is None or limit == np.inf or error <= limit else f"{case} {kind}: {error:.2g}"


def main(modules_wanted):
    """Print the cases that exceed a tolerance, and return 1 if there is one."""
    logging.getLogger("anyshape").setLevel(logging.ERROR)
    wrong = 0
    for case in cases():
        if not modules_wanted or case.module in modules_wanted or str(case) in modules_wanted:
            for text in filter(None, (complaint(case, kind) for kind in (*KINDS, "order 2"))):
                print(text, flush=True)
                wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
