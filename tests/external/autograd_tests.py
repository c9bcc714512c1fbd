"""Run HIPS/autograd's own tests with anyshape behind autograd's names.

`python -m tests.external.autograd_tests FOLDER` takes a checkout of github.com/HIPS/autograd, and counts the tests that
pass. INTERNALS names the tests that are about autograd's tracer or vector spaces. CONVENTIONS names those that want
something else than the conventions here. Both are counted apart.
"""

import argparse
import functools
import itertools
import os
import subprocess
import sys
import tempfile
import types
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy

import anyshape
import anyshape.numpy as anp
from anyshape.errors import GradientCheckError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced
from tests.external import autograd_names as names
from tests.external.autograd_examples import install_shim, module

ROOT = Path(__file__).parents[2]
FOLDER = "AUTOGRAD_FOLDER"  # environment variable with the path of the checkout
INTERNALS = {
    "test_core": "checks jacobian-vector products by autograd's vector spaces",
    "test_vspaces": "tests autograd's vector spaces",
    "test_ufunc_dispatch": "tests how autograd's boxes dispatch NumPy's ufuncs",
    "test_misc::test_const_graph": "counts the calls of functions in autograd's tracer",
    "test_misc::test_const_graph_args": "counts the calls of functions in autograd's tracer",
    "test_wrappers::test_wrapped_name_and_docs": "reads the docstrings of autograd's own wrappers",
    "test_fft::test_rfftn_odd_not_implemented": "wants an error for odd sizes, which have a gradient here",
}
_TRIANGLE = "autograd differentiates by the triangle that LAPACK reads; here tangents count as their symmetric part"
CONVENTIONS = {
    **{
        f"test_linalg::test_eigvalh_{half}{kind}": _TRIANGLE
        for half in ("lower", "upper")
        for kind in ("", "_broadcasting", "_complex")
    },
    "test_scipy::test_sqrtm": "the root is complex for these values; the dtype of a trace cannot depend on values",
    "test_systematic::test_real_ic": "the dtype of `real_if_close` depends on values",
    "test_scipy::test_odeint": "compares the solver here with LSODA, closer than the tolerance of either",
    "test_systematic::test_sort": "two of its numbers are closer than the step of its differences of second order",
}


class NoRecorder:
    """Recorder of nothing."""

    def watch(self, transform):
        """Return the transform itself."""
        return transform


def unary_to_nary(operator):
    """Return an operator on functions of several arguments, with autograd's argument `argnum`."""

    def of_function(function, argnum=0, *args, **kwargs):
        def of_arguments(*inner, **options):
            positions = (argnum,) if isinstance(argnum, int) else tuple(argnum)

            def chosen(*values):
                filled = list(inner)
                for k, value in zip(positions, values, strict=True):
                    filled[k] = value
                return function(*filled, **options)

            chosen.__name__ = getattr(function, "__name__", "function")
            selected = [inner[k] for k in positions]
            if isinstance(argnum, int):
                return operator(chosen, selected[0], *args, **kwargs)
            return operator(lambda values: chosen(*values), tuple(selected), *args, **kwargs)

        return of_arguments

    return of_function


def install(folder):
    """Put modules with autograd's names among those that are loaded."""
    install_shim(folder, NoRecorder())
    autograd = sys.modules["autograd"]

    def check_grads(f, x, modes=None, order=2):
        try:
            anyshape.check_grads(f, (x,), order, modes or ("fwd", "rev"))
        except GradientCheckError as error:
            raise AssertionError(names.message_of(error)) from error

    @unary_to_nary
    def make_vjp(f, x):
        value, back = anyshape.vjp(f, x)
        return (lambda ct: back(ct)[0]), value

    @unary_to_nary
    def make_jvp(f, x):
        return lambda v: anyshape.jvp(f, (x,), (v,))

    ones = lambda x: anp.ones_like(anp.asarray(x))

    @unary_to_nary
    def derivative_of(f, x):
        try:
            return anyshape.jvp(f, (x,), (ones(x),))[1]
        except UnsupportedFunctionError as error:
            raise NotImplementedError(str(error)) from error

    gradient = unary_to_nary(lambda f, x: anyshape.grad(lambda x: anp.reshape(f(x), ()))(x))
    jacobian = unary_to_nary(lambda f, x: anyshape.jacrev(f)(x))

    def hessian_tensor_product(f, argnum=0):
        slope = gradient(f, argnum)
        return gradient(lambda *args: anp.tensordot(slope(*args[:-1]), args[-1], anp.ndim(args[-1])), argnum)

    def tensor_jacobian_product(f, argnum=0):
        return jacobian(lambda *args: anp.tensordot(args[-1], f(*args[:-1]), anp.ndim(args[-1])), argnum)

    def make_ggnvp(f, g=lambda x: 0.5 * anp.sum(x**2, axis=-1), f_argnum=0):
        @unary_to_nary
        def made(f, x):
            y, back = anyshape.vjp(f, x)
            curved = lambda v: anyshape.jvp(anyshape.grad(lambda y: anp.reshape(g(y), ())), (y,), (v,))[1]
            return lambda v: back(curved(anyshape.jvp(f, (x,), (v,))[1]))[0]

        return made(f, f_argnum)

    autograd.__dict__.update(
        grad=gradient,
        jacobian=jacobian,
        make_vjp=make_vjp,
        make_jvp=make_jvp,
        checkpoint=anyshape.checkpoint,
        deriv=derivative_of,
        elementwise_grad=unary_to_nary(lambda f, x: anyshape.grad(lambda x: anp.sum(f(x)))(x)),
        holomorphic_grad=unary_to_nary(lambda f, x: anyshape.grad(lambda x: anp.real(f(x)))(x)),
        value_and_grad=unary_to_nary(lambda f, x: anyshape.value_and_grad(f)(x)),
        grad_and_aux=unary_to_nary(lambda f, x: anyshape.grad(f, has_aux=True)(x)),
        hessian=unary_to_nary(lambda f, x: anyshape.hessian(f)(x)),
        make_hvp=unary_to_nary(lambda f, x: (lambda v: anyshape.hvp(f, (x,), (v,)), anyshape.grad(f)(x))),
        hessian_tensor_product=hessian_tensor_product,
        hessian_vector_product=hessian_tensor_product,
        tensor_jacobian_product=tensor_jacobian_product,
        make_ggnvp=make_ggnvp,
        tuple=tuple,
        list=list,
        dict=dict,
        isinstance=isinstance,
    )
    close = lambda a, b: bool(numpy.allclose(a, b, 1e-6, 1e-6))

    def combo_check(f, *args, **kwargs):
        check = unary_to_nary(check_grads)(f, *args, **kwargs)

        def combos(*values, **options):
            for chosen in itertools.product(*values):
                for picked in itertools.product(*options.values()):
                    check(*chosen, **dict(zip(options, picked, strict=True)))

        return combos

    def check_equivalent(x, y):
        assert numpy.shape(x) == numpy.shape(y)
        assert close(x, y)

    module(
        "autograd.test_util",
        check_grads=unary_to_nary(check_grads),
        combo_check=combo_check,
        scalar_close=close,
        check_equivalent=check_equivalent,
    )
    primitive = sys.modules["autograd.extend"].primitive = names.deprecated(sys.modules["autograd.extend"].primitive)
    module("autograd.tracer", primitive=primitive, isbox=lambda x: isinstance(x, Traced))
    module("autograd.core", primitive=primitive, make_vjp=lambda f, x: make_vjp(f)(x), primitive_vjps={})
    module("autograd.wrap_util", unary_to_nary=unary_to_nary)
    sys.modules["autograd.builtins"].isinstance = isinstance
    quick = lambda f, x: anyshape.check_grads(f, (x,), 1, ("rev",))
    sys.modules["autograd.util"].quick_grad_check = lambda f, x, extra_args=(): quick(lambda x: f(x, *extra_args), x)
    sys.modules["autograd.numpy"] = autograd.numpy = names.numpy_names()
    sys.modules["autograd.numpy.linalg"] = autograd.numpy.linalg
    sys.modules["autograd.scipy.signal"].convolve = names.convolve
    sys.modules["autograd.misc"].const_graph = lambda f, *args: functools.partial(f, *args)
    stats = types.ModuleType("autograd.scipy.stats")
    stats.__path__ = []
    stats.__getattr__ = lambda name: getattr(anyshape.scipy.stats, name)
    sys.modules["autograd.scipy.stats"] = sys.modules["autograd.scipy"].stats = stats
    for name in ("norm", "multivariate_normal", "t", "dirichlet", "poisson", "beta", "gamma", "chi2", "bernoulli"):
        sys.modules[f"autograd.scipy.stats.{name}"] = getattr(anyshape.scipy.stats, name)


def pytest_configure(config):
    """Install the shim before tests are collected: this module is the plugin of the run."""
    if FOLDER in os.environ:
        install(Path(os.environ[FOLDER]))


def outcomes(folder, workers, only):
    """Run the tests, and return the outcome and message of each by name."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        (Path(temporary) / "pytest.ini").write_text("[pytest]\n")
        options = ["-q", "-p", "no:cacheprovider", "-p", "tests.external.autograd_tests", f"--junitxml={report}"]
        options += ["-c", str(Path(temporary) / "pytest.ini"), "--rootdir", str(folder / "tests"), "-k", only]
        command = [sys.executable, "-m", "pytest", *options, "-n", str(workers), str(folder / "tests")]
        environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder / 'tests'}", FOLDER: str(folder)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=temporary)
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        results = {}
        for case in ET.parse(report).getroot().iter("testcase"):
            kinds = {child.tag: child.get("message", "") for child in case}
            failure = kinds.get("failure", kinds.get("error"))
            name = f"{case.get('classname').rpartition('.')[2]}::{case.get('name')}"
            results[name] = "skipped" if "skipped" in kinds else "passed" if failure is None else "failed", failure
        return results


def main(arguments=None):
    """Count the tests that pass, name those that fail, and return 1 if one fails that is not among INTERNALS."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of github.com/HIPS/autograd")
    parser.add_argument("--only", default="", help="an expression that selects tests, as pytest's -k")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    results = outcomes(options.folder.resolve(), options.workers, options.only)
    wrong = {name: failure for name, (outcome, failure) in results.items() if outcome == "failed"}
    kinds = {name: kind_of(name) for name in wrong}
    for name in sorted(wrong, key=lambda name: (kinds[name], name)):
        print(f"{kinds[name]} {name}: {reason_of(name) or ' '.join((wrong[name] or '').split())[:160]}")
    counts, failed = Counter(outcome for outcome, _ in results.values()), Counter(kinds.values())
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(failed.items()))
    print(f"{counts['passed']} of {len(results)} pass, {len(wrong)} fail: {summary}")
    return int("wrong" in failed)


def reason_of(name):
    """Return why a test may fail, or nothing."""
    keys = name, name.partition("::")[0], name.partition("::")[2]
    return next((table[key] for table in (INTERNALS, CONVENTIONS) for key in keys if key in table), "")


def kind_of(name):
    """Return the kind of a failure."""
    reason = reason_of(name)
    return "wrong" if not reason else "convention" if reason in CONVENTIONS.values() else "internal"


if __name__ == "__main__":
    sys.exit(main())
