"""Compare values and gradients with PyTorch on the samples of its OpInfo database.

`python -m tests.external.opinfo` needs an installed torch with its testing modules. Each operator that has a row in
`opinfo_rows` runs on PyTorch's own samples. Compared are the value of a traced call and the gradient of an uneven sum.
Kinds are float64, float32 and complex128. EXCEPTIONS names the operators that differ by convention.
"""

import argparse
import logging
import sys
import warnings
from collections import Counter

import numpy
import optree
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import gradcheck_wrapper_hermitian_input

import anyshape
import anyshape.numpy as np
from tests.external.opinfo_helpers import SkippedError
from tests.external.opinfo_rows import INVARIANTS, ROWS

KINDS = {"float64": (1e-9, 1e-9), "complex128": (1e-9, 1e-9), "float32": (2e-4, 2e-4)}
SAMPLES = 12  # of an operator and kind
RENAMED = {"dim": "axis", "keepdim": "keepdims"}
OTHERS = ("linalg.pinv singular", "round decimals_3")  # variants with other arguments
LESS_ACCURATE = {  # of PyTorch
    **{f"special.bessel_{kind}": 1e-6 for kind in ("j0", "j1", "y0", "y1")},
    "special.airy_ai": 1e-8,
    "cov": 1e-6,  # with weights in float32
}
EXCEPTIONS = {
    "cholesky_solve": "PyTorch differentiates by the triangle that is not read",
    "matrix_exp float32": "exponentials of these matrices have few digits in float32",
    "linalg.cholesky complex128": "PyTorch takes cotangents of the imaginary parts of the diagonal, which are always 0",
}


def is_differentiable(leaf):
    """Return whether a leaf is an array of real or complex numbers."""
    return getattr(leaf, "dtype", None) is not None and numpy.dtype(leaf.dtype).kind in "fc"


def to_numpy(leaf):
    """Return a tensor as an array, and dtypes as None."""
    if isinstance(leaf, torch.Tensor):
        return leaf.detach().resolve_conj().resolve_neg().numpy(force=True).copy()
    return None if isinstance(leaf, (torch.dtype, torch.device, torch.layout)) else leaf


def copied(leaf):
    """Return a tensor that no other shares."""
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def leaves_of(tree):
    """Return the leaves of a result."""
    return [leaf for leaf in optree.tree_leaves(tree) if leaf is not None]


def weighted(leaf, j, namespace):
    """Return the sum of a result with uneven weights, of imaginary parts too."""
    flat = namespace.reshape(leaf, (-1,))
    weights = namespace.cos(namespace.arange(flat.shape[0], dtype=namespace.float64) + (j + 1.0))
    is_complex = leaf.is_complex() if isinstance(leaf, torch.Tensor) else numpy.dtype(leaf.dtype).kind == "c"
    return namespace.sum((flat.real + 0.3 * flat.imag if is_complex else flat) * weights)


class Sample:
    """One call of an operator: its arguments as tensors and as arrays."""

    def __init__(self, op, sample, kind):
        self.op, self.name, self.kind = op, op.name, kind
        self.tree = (sample.input, *sample.args), dict(sample.kwargs)
        self.leaves, self.structure = optree.tree_flatten(self.tree, none_is_leaf=True)
        arrays = [to_numpy(leaf) for leaf in self.leaves]
        self.positions = [k for k, leaf in enumerate(arrays) if is_differentiable(leaf)]
        self.arrays = arrays

    def view(self, result, namespace):
        """Return the part of a result that is unique."""
        return INVARIANTS.get(self.name, lambda out, xp: out)(result, namespace)

    def ours(self, *arrays):
        """Return the result here."""
        leaves = list(self.arrays)
        for k, array in zip(self.positions, arrays, strict=True):
            leaves[k] = array
        args, kwargs = optree.tree_unflatten(self.structure, leaves)
        kwargs = {RENAMED.get(key, key): value for key, value in kwargs.items()}
        return self.view(ROWS[self.name](self.first(args[0], np), *args[1:], **kwargs), np)

    def first(self, x, namespace):
        """Return the first argument: the sum with its adjoint where a function of Hermitian matrices needs it."""
        if self.op.gradcheck_wrapper is not gradcheck_wrapper_hermitian_input:
            return x
        return x + namespace.conj(namespace.swapaxes(x, -1, -2))

    def theirs(self):
        """Return the result of PyTorch, and the gradients of its weighted sum."""
        leaves = [copied(leaf) for leaf in self.leaves]
        inputs = [leaves[k].requires_grad_() for k in self.positions]
        args, kwargs = optree.tree_unflatten(self.structure, leaves)
        result = leaves_of(self.view(self.op.op(self.first(args[0], torch), *args[1:], **kwargs), torch))
        values = [to_numpy(leaf) for leaf in result]
        moving = [(j, leaf) for j, leaf in enumerate(result) if getattr(leaf, "requires_grad", False)]
        if not (moving and inputs):
            return values, None
        total = sum(weighted(leaf, j, torch) for j, leaf in moving)
        try:
            slopes = torch.autograd.grad(total, inputs, allow_unused=True)
        except RuntimeError:  # some functions have a derivative in one of their arguments only
            return values, None
        return values, [to_numpy(torch.zeros_like(x) if g is None else g) for g, x in zip(slopes, inputs, strict=True)]

    def loss(self, *arrays):
        """Return the weighted sum here."""
        results = enumerate(leaves_of(self.ours(*arrays)))
        return sum(weighted(np.asarray(leaf), j, np) for j, leaf in results if is_differentiable(leaf))


def close(ours, theirs, tolerance):
    """Return why two arrays differ, or nothing. PyTorch counts in other integers."""
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    if ours.shape != theirs.shape:
        return f"shape {ours.shape} instead of {theirs.shape}"
    if numpy.allclose(ours, theirs, *tolerance, equal_nan=True):
        return ""
    return f"{numpy.ravel(ours)[:4]} instead of {numpy.ravel(theirs)[:4]}"


def tolerance_of(name, kind):
    """Return relative and absolute tolerances of an operator."""
    return [max(t, LESS_ACCURATE.get(name, 0.0)) for t in KINDS[kind]]


def compare(sample):
    """Return "right" or why a sample differs."""
    tolerance = tolerance_of(sample.name, sample.kind)
    inputs = [sample.arrays[k] for k in sample.positions]
    try:
        values, slopes = sample.theirs()
    except RuntimeError as error:
        raise SkippedError(f"PyTorch refuses: {error}") from error
    mine = leaves_of(anyshape.jit(sample.ours)(*inputs) if inputs else sample.ours())
    if len(mine) != len(values):
        return f"{len(mine)} results instead of {len(values)}"
    for a, b in zip(mine, values, strict=True):
        if reason := close(a, b, tolerance):
            return f"value: {reason}"
    if not (inputs and any(is_differentiable(value) for value in values)):
        return "right, and has no derivative"
    return compare_with_differences(sample, inputs) if slopes is None else compare_gradients(sample, inputs, slopes)


def compare_gradients(sample, inputs, slopes):
    """Return "right" or why gradients differ."""
    tolerance = [10 * t for t in tolerance_of(sample.name, sample.kind)]
    for a, b in zip(anyshape.grad(sample.loss, tuple(range(len(inputs))))(*inputs), slopes, strict=True):
        if reason := close(numpy.conj(a), b, tolerance):
            return f"gradient: {reason}"
    return "right"


def compare_with_differences(sample, inputs):
    """Return "right by differences" or why a gradient that PyTorch lacks differs from differences of values here."""
    if any(x.dtype == numpy.float32 for x in inputs):
        return "right, value only"
    steps = [numpy.cos(1.0 + numpy.arange(float(x.size))).reshape(x.shape) for x in inputs]
    try:
        gradients = anyshape.grad(sample.loss, tuple(range(len(inputs))))(*inputs)
    except anyshape.errors.UnsupportedFunctionError:
        return "right, value only"
    ahead, behind = (
        sample.loss(*[x + sign * 1e-6 * s for x, s in zip(inputs, steps, strict=True)]) for sign in (1, -1)
    )
    slope = sum(numpy.sum(g * s) for g, s in zip(gradients, steps, strict=True))
    reason = close(slope, (ahead - behind) / 2e-6, (1e-4, 1e-4))
    return f"difference: {reason}" if reason else "right by differences"


def samples_of(op, kind, count):
    """Yield samples of an operator, evenly chosen."""
    drawn = list(op.sample_inputs("cpu", getattr(torch, kind), requires_grad=False))
    step = max(1, len(drawn) // count)
    for sample in drawn[::step][:count]:
        yield Sample(op, sample, kind)


def outcome_of(sample):
    """Return the outcome of a sample as text."""
    try:
        return compare(sample)
    except SkippedError as error:
        return f"skipped: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def word_of(names, said):
    """Return the kind of an outcome."""
    if said.startswith(("skipped", "right")):
        return said.partition(":")[0]
    if "has no counterpart on traced arrays" in said:
        return "missing"
    if said.startswith("DTypeError"):
        return "refused by dtype"
    return "exception" if names & EXCEPTIONS.keys() else "wrong"


def describe(leaf):
    """Return a leaf as text."""
    return f"{leaf.dtype}{list(leaf.shape)}" if isinstance(leaf, numpy.ndarray) else repr(leaf)


class Report:
    """Counts of outcomes, and the operators without counterpart."""

    def __init__(self):
        self.counts, self.missing = Counter(), set()

    def add(self, op, kind, sample, said):
        """Count an outcome, and print it if it is wrong."""
        word = word_of({op.name, f"{op.name} {kind}"}, said)
        self.counts[word] += 1
        if word == "missing":
            self.missing.add(op.name)
        if word == "wrong":
            name = " ".join(part for part in (op.name, op.variant_test_name) if part)
            shapes = ", ".join(describe(leaf) for leaf in sample.arrays)
            print(f"{name} {kind} ({shapes[:120]}): {said[:200]}", flush=True)

    def close(self):
        """Print the exceptions and the counts."""
        for name in sorted(EXCEPTIONS):
            print(f"exception: {name}: {EXCEPTIONS[name]}")
        print(f"without counterpart: {', '.join(sorted(self.missing))}")
        print(", ".join(f"{count} {word}" for word, count in self.counts.items()))


def operators(only):
    """Yield the operators that have a row."""
    for op in op_db:
        is_other = f"{op.name} {op.variant_test_name}" in OTHERS
        if op.name in ROWS and not is_other and (not only or op.name in only):
            yield op


def main(arguments=None):
    """Compare the samples, and return 1 if one differs that is not in EXCEPTIONS."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="names of PyTorch's operators")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--samples", type=int, default=SAMPLES)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.getLogger("anyshape").setLevel(logging.ERROR)
    report = Report()
    for op in operators(options.only):
        for kind in options.kinds:
            if getattr(torch, kind) in op.dtypes:
                for sample in samples_of(op, kind, options.samples):
                    report.add(op, kind, sample, outcome_of(sample))
        report.counts["operators"] += 1
    report.close()
    return int(report.counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
