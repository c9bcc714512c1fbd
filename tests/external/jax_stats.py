"""Compare values and gradients of distributions with `jax.scipy.stats` and SciPy, also at the ends of supports.

`python -m tests.external.jax_stats [FAMILY ...]` needs an installed JAX. Values must be SciPy's. A gradient must be
JAX's, or else agree with differences of SciPy's values. At an end of a support differences of one side count. Results
of JAX that SciPy or these differences contradict are counted apart, as are points where nothing decides.
"""

import argparse
import inspect
import itertools
import logging
import os
import sys
import warnings
from collections import Counter, defaultdict

os.environ.setdefault("JAX_ENABLE_X64", "1")  # JAX reads it when it is imported

import jax
import jax.scipy.stats
import numpy
import scipy.stats

import anyshape
import anyshape.numpy as np
import anyshape.scipy.stats
from anyshape.errors import UnsupportedFunctionError

INF, NAN = numpy.inf, numpy.nan
METHODS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "entropy")
PROBABILITIES = (0.0, 1e-300, 1e-12, 0.1, 0.5, 0.75, 1 - 1e-12, 1.0, -0.1, 1.1, NAN)
REALS = (-INF, -1e200, -37.5, -1.3, -1e-8, 0.0, 1e-300, 0.7, 1.0, 2.5, 38.5, 1e200, INF, NAN)
COUNTS = (-INF, -1.0, 0.0, 1.0, 2.0, 3.0, 7.0, 40.0, INF, NAN)
LOCATIONS = ((0.0, 1.0), (0.4, 1.7), (-2.5, 1e-3), (0.0, 0.0), (0.0, -1.0), (NAN, 1.0))
INTEGER_LOCATIONS = ((0.0,), (1.0,))
FAMILIES = {  # shape parameters by family
    "bernoulli": ((0.3,), (0.0,), (1.0,), (1.2,), (NAN,)),
    "beta": ((1.7, 2.3), (0.4, 0.6), (1.0, 1.0), (2.0, 1.0), (0.0, 1.0), (-1.0, 2.0)),
    "betabinom": ((7.0, 1.2, 2.3), (3.0, 1.0, 1.0), (0.0, 1.2, 2.3), (7.0, -1.0, 2.0)),
    "binom": ((7.0, 0.4), (3.0, 0.0), (3.0, 1.0), (0.0, 0.4), (3.0, -0.1)),
    "cauchy": ((),),
    "chi2": ((3.3,), (1.0,), (2.0,), (0.0,), (-1.0,)),
    "expon": ((),),
    "gamma": ((2.2,), (0.5,), (1.0,), (250.0,), (0.0,), (-1.0,)),
    "gennorm": ((1.3,), (2.0,), (1.0,), (0.6,), (0.0,), (-1.0,)),
    "geom": ((0.3,), (1.0,), (0.0,), (1.1,)),
    "gumbel_l": ((),),
    "gumbel_r": ((),),
    "laplace": ((),),
    "logistic": ((),),
    "nbinom": ((3.5, 0.4), (2.0, 1.0), (2.0, 0.0), (-1.0, 0.4)),
    "norm": ((),),
    "pareto": ((4.2,), (1.0,), (0.0,), (-1.0,)),
    "poisson": ((2.3,), (0.0,), (60.0,), (-1.0,)),
    "t": ((2.7,), (1.0,), (300.0,), (0.0,), (-1.0,)),
    "truncnorm": ((-0.7, 1.9), (3.0, 5.0), (-40.0, -38.0), (1.0, 1.0), (2.0, 1.0), (-INF, 0.5)),
    "uniform": ((),),
    "vonmises": ((1.2,), (0.0,), (50.0,), (-1.0,)),
    "wrapcauchy": ((0.4,), (0.0,), (1.0,), (1.2,)),
}
DISCRETE = ("bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson")
INTEGERS = {"k", "n"}  # arguments without derivative
VALUES, GRADIENTS, DIFFERENCES = (1e-9, 1e-300), (1e-7, 1e-12), (1e-5, 1e-8)
EXCEPTIONS = {
    "laplace.logpdf": "SciPy takes the logarithm of a density that underflows",
}


def close(a, b, tolerance):
    """Return where two arrays agree; NaN and infinities are equal to themselves."""
    with numpy.errstate(all="ignore"):
        return numpy.isclose(a, b, tolerance[0], tolerance[1], equal_nan=True)


def minus(a, b):
    """Return a difference; 0 of equal infinities."""
    return numpy.where(a == b, 0.0, a - b)


def points_of(family, method):
    """Return what a method takes first: probabilities, counts or reals, or nothing."""
    if method == "entropy":
        return [()]
    first = PROBABILITIES if method in ("ppf", "isf") else COUNTS if family in DISCRETE else REALS
    return [(point,) for point in first]


def moved(point, loc=0.0, scale=1.0):
    """Return a standard point at a location and scale."""
    return tuple(x * scale + loc for x in point)


def arguments_of(family, method, is_located):
    """Return the arguments of calls: points relative to location and scale, and the ends of supports."""
    locations = INTEGER_LOCATIONS if family in DISCRETE else LOCATIONS
    rows = []
    for shapes, location in itertools.product(FAMILIES[family], locations if is_located else ((),)):
        points = points_of(family, method)
        if points != [()] and method not in ("ppf", "isf"):
            ends = getattr(scipy.stats, family).support(*shapes, *location)
            points = [moved(point, *location) for point in points] + [(x,) for x in ends if numpy.isfinite(x)]
        rows += [(*point, *shapes, *location) for point in points]
    return [numpy.array(column, float) for column in zip(*rows, strict=True)]


class Case:
    """One method of a family, with JAX's arguments at all points as flat arrays."""

    def __init__(self, family, method):
        self.name = f"{family}.{method}"
        self.jax = getattr(getattr(jax.scipy.stats, family), method)
        self.scipy = getattr(getattr(scipy.stats, family), method)
        self.ours = getattr(getattr(anyshape.scipy.stats, family), method)
        self.names = list(inspect.signature(self.jax).parameters)
        self.arrays = arguments_of(family, method, "loc" in self.names)

    def differentiated(self):
        """Return the positions of arguments with a derivative."""
        integers = INTEGERS | ({"loc"} if "k" in self.names else set())
        return [k for k, name in enumerate(self.names) if name not in integers]

    def at_infinity(self):
        """Return where a point is infinite at which a density is 0; SciPy's formulas may be inf - inf there."""
        has_limit = self.name.endswith((".pdf", ".pmf")) and not self.name.startswith("vonmises")
        return numpy.isinf(self.arrays[0]) if has_limit else numpy.zeros(len(self.arrays[0]), bool)

    def gradient_of_jax(self, k):
        """Return JAX's gradient by an argument; NaN where it has none."""
        try:
            return numpy.asarray(jax.grad(lambda *args: jax.numpy.sum(self.jax(*args)), k)(*self.arrays))
        except (ValueError, TypeError, NotImplementedError):  # as by parameters of incomplete gamma functions
            return numpy.full(len(self.arrays[k]), NAN)

    def steps(self, k):
        """Return steps of an argument, coarse and fine."""
        x, name = self.arrays[k], self.names[k]
        width = dict(zip(self.names, self.arrays, strict=True)).get("scale", numpy.ones(len(x)))
        if name == "q":
            return [1e-3 * numpy.minimum(x, 1 - x)]
        moving = numpy.abs(width) if name in ("x", "loc") else numpy.maximum(numpy.abs(x), 1e-3)
        return [numpy.maximum(factor * moving, 1e-14 * numpy.abs(x)) for factor in (1e-3, 1e-5)]

    def differences(self, k):
        """Yield differences of SciPy's values by an argument, of both sides and of one, with errors of rounding."""
        x, middle = self.arrays[k], self.scipy(*self.arrays)
        for step in self.steps(k):
            at = {}
            for multiple in (-2, -1, 1, 2):
                moved = list(self.arrays)
                moved[k] = x + multiple * step
                at[multiple] = self.scipy(*moved)
            rounding = 1e-13 * numpy.max(numpy.abs([middle, *at.values()]), 0) / step
            yield (8 * minus(at[1], at[-1]) - minus(at[2], at[-2])) / (12 * step), rounding
            yield (4 * minus(middle, at[-1]) - minus(middle, at[-2])) / (2 * step), rounding
            yield (4 * minus(at[1], middle) - minus(at[2], middle)) / (2 * step), rounding

    def text(self, i):
        """Return the arguments of a point."""
        return ", ".join(f"{name}={array[i]:.17g}" for name, array in zip(self.names, self.arrays, strict=True))


class Report:
    """Counts of outcomes, and what differs."""

    def __init__(self, shown):
        self.counts, self.lines, self.shown = Counter(), defaultdict(list), shown

    def add(self, kind, name, where, line):
        """Count points with an outcome, and keep what is said of each."""
        self.counts[kind] += int(numpy.sum(where))
        self.lines[kind, name] += [line(i) for i in numpy.flatnonzero(where)]

    def close(self):
        """Print what differs here, and the counts."""
        for (kind, name), lines in self.lines.items():
            reason = EXCEPTIONS.get(name, "")
            if lines and (kind.startswith("ours") or kind in self.shown):
                print(f"{kind}: {name}, {len(lines)} points{': ' + reason if reason else ''}")
                for line in lines[: 0 if reason else 8]:
                    print(f"    {line}")
        for kind, count in sorted(self.counts.items()):
            print(f"{count:7} {kind}")

    def wrong(self):
        """Return whether something differs here without a reason."""
        return any(
            kind.startswith("ours") and lines and name not in EXCEPTIONS for (kind, name), lines in self.lines.items()
        )


def compare_values(case, report):
    """Compare values with SciPy's, and JAX's with these."""
    ours, theirs = anyshape.jit(case.ours)(*case.arrays), case.scipy(*case.arrays)
    jaxs = numpy.asarray(case.jax(*case.arrays))
    theirs = numpy.where(case.at_infinity() & numpy.isnan(theirs) & (ours == 0), 0.0, theirs)
    same, same_jax = close(ours, theirs, VALUES), close(jaxs, theirs, VALUES)
    line = lambda i: f"{case.text(i)}: {ours[i]:.17g}, SciPy {theirs[i]:.17g}, JAX {jaxs[i]:.17g}"
    report.add("values equal", case.name, same & same_jax, line)
    report.add("values: JAX differs from SciPy", case.name, same & ~same_jax, line)
    report.add("ours: value differs from SciPy", case.name, ~same, line)


def agrees(gradient, quotients):
    """Return where a gradient agrees with a difference."""
    near = [close(gradient, d, DIFFERENCES) | (numpy.abs(gradient - d) <= error) for d, error in quotients]
    return numpy.any(near, 0) & ~numpy.isnan(gradient)


def compare_gradients(case, report):
    """Compare gradients with JAX's, and let differences of SciPy's values decide where they differ."""
    positions = tuple(case.differentiated())
    ours = anyshape.grad(lambda *args: np.sum(case.ours(*args)), positions)(*case.arrays)
    values = case.scipy(*case.arrays)
    is_nan = numpy.isnan(values)
    for k, mine in zip(positions, ours, strict=True):
        his, quotients = case.gradient_of_jax(k), list(case.differences(k))
        lost = numpy.isnan(mine) & numpy.isfinite(values) & ~numpy.all([numpy.isnan(d) for d, _ in quotients], 0)
        same = close(mine, his, GRADIENTS) & ~is_nan & ~lost
        right, right_jax = agrees(mine, quotients), agrees(his, quotients)
        differ, name = ~same & ~is_nan & ~lost, f"{case.name} by {case.names[k]}"
        line = lambda i, m=mine, h=his, qs=quotients: (
            f"{case.text(i)}: {m[i]:.17g}, JAX {h[i]:.17g}, differences {', '.join(f'{q[i]:.9g}' for q, _ in qs)}"
        )
        report.add("gradients of NaN are NaN", name, is_nan & numpy.isnan(mine), line)
        report.add("gradients of NaN are numbers here", name, is_nan & ~numpy.isnan(mine), line)
        report.add("gradients equal", name, same, line)
        report.add("ours: gradient is NaN", name, lost, line)
        report.add("gradients: JAX contradicted by differences", name, differ & right & ~right_jax, line)
        report.add("gradients: both agree with differences", name, differ & right & right_jax, line)
        report.add("ours: gradient contradicted by differences", name, differ & ~right & right_jax, line)
        report.add("gradients: undecided", name, differ & ~right & ~right_jax, line)


def compare(case, report):
    """Compare values and gradients of a method."""
    try:
        compare_values(case, report)
        compare_gradients(case, report)
    except UnsupportedFunctionError as error:
        said = str(error).partition(" at ")[0]
        report.add("ours: missing", case.name, numpy.array([True]), lambda _: said)


def main(arguments=None):
    """Compare the families, and return 1 if something differs here."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("families", nargs="*", default=list(FAMILIES), metavar="FAMILY")
    parser.add_argument("--show", nargs="*", default=[], help="kinds of outcomes to print besides")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.getLogger("anyshape").setLevel(logging.ERROR)
    report = Report(options.show)
    with numpy.errstate(all="ignore"):
        for family in options.families:
            for method in METHODS:
                if hasattr(getattr(jax.scipy.stats, family), method):
                    compare(Case(family, method), report)
    report.close()
    return int(report.wrong())


if __name__ == "__main__":
    sys.exit(main())
