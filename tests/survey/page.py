"""Make the page that lists what the survey found."""

import numpy
import scipy
import scipy.stats

import anyshape.scipy.stats
from tests.survey import distributions, jax_names, modules, reasons, survey

HEAD = """# Functions

<!-- written by `python -m tests.survey` -->

The functions of NumPy and SciPy that take arrays, under the same names in `anyshape.numpy` and `anyshape.scipy`.
NumPy {numpy} and SciPy {scipy} were called, and the names of JAX {jax} read. The tests of these
functions also ran with the oldest versions that pip may choose, NumPy 2.2.0 and SciPy 1.16.3. Rows that need a newer
one are in `tests/newer_releases.py`.

- **traced**: a traced call gives the values, dtypes and shapes of NumPy or SciPy.
- **derivative**: the gradient agrees with differences, and has a derivative itself; `zero` where it is zero everywhere.
- **batched**: `vmap` gives what a loop over the examples gives.
- **run-time sizes**: a call on `x[mask]` gives what NumPy gives; so sizes may depend on data.
- **JAX**: JAX has a function of this name.

A dash says that a question has no meaning for a function, as derivatives of integers. The reason for a "no" is in the
last column; a function with four times "no" is SciPy's own, for concrete arrays. All other names of these modules
stand for NumPy's and SciPy's own functions and types.
Random numbers have [a page of their own](randomness.md).
"""
COLUMNS = ("traced", "derivative", "batched", "run-time sizes")


def write():
    """Return the text of the page."""
    head = HEAD.format(numpy=numpy.__version__, scipy=scipy.__version__, jax=jax_names.VERSION)
    functions = {module: dict(rows_of(module)) for module in modules.MODULES}
    families = {name: dict(methods_of(name)) for name in distributions.names()}
    parts = [head, summary(functions, families)]
    parts += [table(module, rows) for module, rows in functions.items()]
    parts.append(table_of_distributions(families))
    return "\n".join(parts)


def rows_of(module):
    """Yield the functions of a module with their findings."""
    for name in modules.functions(module):
        yield name, findings_of(module, name)


def findings_of(module, name):
    """Return the findings for one function."""
    expression = modules.expression_for(module, name)
    if expression is None:
        return survey.Findings("no", "no", "no", "no", reasons.reason_for(module, name))
    return survey.find(expression, *modules.pair(module, name), modules.TOLERANCES.get(module, 1e-9))


def methods_of(name):
    """Yield the methods of a distribution that are traced, with their findings."""
    pair = getattr(anyshape.scipy.stats, name), getattr(scipy.stats, name)
    for method, expression in distributions.methods(name):
        findings = survey.find(expression, *pair)
        if findings.traced == "yes":
            yield method, findings


def answers(findings):
    """Return the answers of the four columns."""
    return findings.traced, findings.derivative, findings.batched, findings.dynamic


def in_jax(module, name):
    """Return whether JAX has a function."""
    return name in jax_names.NAMES.get(module, ())


def line(cells):
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def summary(functions, families):
    """Return the table of counts by module."""
    lines = [line(("module", "functions", *COLUMNS, "JAX")), line(["---"] * 7)]
    for module, rows in functions.items():
        counts = [sum(answers(f)[k] != "no" for f in rows.values()) for k in range(4)]
        jax = sum(in_jax(module, name) for name in rows)
        lines.append(line((f"`{module}`", *map(str, (len(rows), *counts, jax)))))
    traced = sum(bool(methods) for methods in families.values())
    jax = sum(f"scipy.stats.{name}" in jax_names.NAMES for name in families)
    lines.append(line(("distributions", str(len(families)), str(traced), "", "", "", str(jax))))
    return "\n".join([*lines, ""])


def table(module, rows):
    """Return the section of a module."""
    lines = [f"## {module}", "", line(("function", *COLUMNS, "JAX", "reason")), line(["---"] * 7)]
    for name, findings in rows.items():
        jax = "yes" if in_jax(module, name) else ""
        lines.append(line((f"`{name}`", *answers(findings), jax, findings.reason.replace("|", "\\|"))))
    return "\n".join([*lines, ""])


def table_of_distributions(families):
    """Return the section of distributions: the methods that are traced, and which of them have no derivative."""
    lines = ["## Distributions of scipy.stats", "", line(("distribution", "methods", "without derivative", "JAX"))]
    lines.append(line(["---"] * 4))
    for name, methods in families.items():
        without = [method for method, findings in methods.items() if findings.derivative == "no"]
        jax = "yes" if f"scipy.stats.{name}" in jax_names.NAMES else ""
        listed = ", ".join(methods) or f"concrete arrays only: {reasons.reason_for('distributions', name)}"
        lines.append(line((f"`{name}`", listed, ", ".join(without), jax)))
    return "\n".join([*lines, ""])
