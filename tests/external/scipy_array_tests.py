"""Run SciPy's own Array API tests with traced arrays as the backend.

`python -m tests.external.scipy_array_tests [MODULE ...]` takes names such as `scipy.stats.tests.test_stats`, of the
installed SciPy. Tests run with `anyshape.numpy` as `xp`, and each function that SciPy tags for lazy backends runs
under `jit`, all arrays among its arguments traced. It counts the tests that pass, and prints the reasons of the others.
It needs `hypothesis` and `array-api-strict`.

Tests for NumPy alone stay skipped, with SciPy's reason. Those that SciPy skips for lazy or for named backends are run.
"""

import argparse
import contextlib
import functools
import logging
import os
import subprocess
import sys
import tempfile
import traceback
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
FILES = {
    "cluster": "hierarchy vq",
    "constants": "constants",
    "differentiate": "differentiate",
    "fft": "basic fftlog helper real_transforms",
    "integrate": "cubature quadrature tanhsinh",
    "interpolate": "bsplines interpolate rbfinterp rgi",
    "linalg": "procrustes special_matrices",
    "ndimage": "filters fourier interpolation measurements morphology",
    "optimize": "bracket chandrupatla optimize",
    "signal": (
        "bsplines cont2discrete filter_design fir_filter_design ltisys savitzky_golay signaltools splines upfirdn "
        "waveforms windows"
    ),
    "spatial.transform": "rigid_transform rotation",
    "special": "basic logsumexp support_alternative_backends",
    "stats": (
        "continued_fraction correlation device_dtype entropy hypotests morestats quantile rank resampling stats "
        "variation"
    ),
}
MODULES = [f"scipy.{package}.tests.test_{name}" for package, names in FILES.items() for name in names.split()]


RUNNING = []  # the function whose call is traced and run


class Backend:
    """Plugin of pytest that gives tests traced arrays; it patches SciPy's conftest when that is loaded."""

    def pytest_collection_modifyitems(self, items):
        """Keep one test in so many."""
        items[:] = items[:: int(os.environ.get("ANYSHAPE_EVERY", "1"))]

    def pytest_collection(self):
        """Replace what SciPy's fixture calls."""
        from scipy import conftest
        from scipy._lib import _array_api

        import anyshape
        import anyshape.numpy as anp
        from anyshape.scipy import special

        anyshape.config.traceback = "full"  # names of frames are reasons
        for name in dir(special):  # they look SciPy's functions up, which tests replace
            getattr(special, name, None)
        check = _array_api._strict_check
        free = {"check_namespace": False, "check_0d": False}  # results of jit are NumPy's
        _array_api._strict_check = lambda *args, **kwargs: check(*args, **kwargs | free)
        conftest.array_namespace = lambda x: anp
        conftest.default_xp = lambda xp: contextlib.nullcontext()
        conftest.patch_lazy_xp_functions = traced_functions
        conftest.skip_or_xfail_xp_backends = skip_for_numpy_alone


def skip_for_numpy_alone(request, action):
    """Skip a test that SciPy runs with NumPy alone."""
    import pytest

    for mark in request.node.iter_markers("skip_xp_backends"):
        if action == "skip" and mark.kwargs.get("np_only") and "jax.numpy" not in mark.kwargs.get("exceptions", ()):
            pytest.skip(mark.kwargs.get("reason") or "NumPy alone")


@contextlib.contextmanager
def traced_functions(request, xp):
    """Put the traced form of tagged functions in their modules for a time."""
    from scipy._lib.array_api_extra import testing

    modules = [request.module, *getattr(request.module, "lazy_xp_modules", [])]
    originals = []
    for module in modules:
        for name, function in list(vars(module).items()):
            tagged = getattr(function, "_lazy_xp_function", None)
            with contextlib.suppress(TypeError):
                tagged = tagged or testing._ufuncs_tags.get(function)
            if tagged and not isinstance(function, type):
                originals.append((module, name, function))
                setattr(module, name, traced(function, tagged["jax_jit"]))
    try:
        yield
    finally:
        for original in originals:
            setattr(*original)


def traced(function, is_lazy):
    """Return a function whose calls run under jit; other values are part of the program, or of the result.

    Where SciPy says that a function is not lazy, the test is skipped if it asks for values.
    """
    import pytest
    from scipy._lib.array_api_extra._lib._utils._helpers import pickle_flatten, pickle_unflatten

    import anyshape
    from anyshape.errors import ConcretizationError
    from anyshape.graph.ir.builder import Traced

    own = functools.partial(function)  # jit would call the function of `anyshape.scipy` for it

    @functools.wraps(getattr(function, "__func__", function))
    def call(*args, **kwargs):
        if RUNNING:  # kernels call functions of SciPy too
            return function(*args, **kwargs)
        arrays, rest = pickle_flatten((args, kwargs), (np.ndarray, np.inexact))
        outside = []

        def inside(*leaves):
            arguments, options = pickle_unflatten(leaves, rest)
            results, others = pickle_flatten(own(*arguments, **options), (Traced, np.ndarray, np.generic))
            outside.append(others)
            return results

        RUNNING.append(function)
        try:
            results = anyshape.jit(inside)(*arrays)
        except ConcretizationError as error:
            names = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
            if "lazy_apply" in names:
                pytest.skip("compiled code of SciPy, which calls it back for JAX and Dask alone")
            if is_lazy:
                raise
            pytest.skip("SciPy takes eager arrays alone")
        finally:
            RUNNING.pop()
        return pickle_unflatten([x[()] for x in results], outside[-1])

    return call


def outcomes(module, every):
    """Run a test module, and return the outcome and the reason of each test by name."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        plugin = ["-p", "tests.external.scipy_array_tests", "-m", "array_api_backends"]
        options = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--pyargs", module, f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *plugin, *options]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "SCIPY_ARRAY_API": '["numpy"]', "ANYSHAPE_EVERY": every}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=temporary)
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        results = {}
        for case in ET.parse(report).getroot().iter("testcase"):
            kinds = {child.tag: child.get("message", "") for child in case}
            failure = kinds.get("failure", kinds.get("error"))
            outcome = "skipped" if "skipped" in kinds else "passed" if failure is None else "failed"
            name = f"{case.get('classname').rpartition('.')[2]}::{case.get('name')}"
            results[name] = outcome, kinds.get("skipped", failure or "").partition("\n")[0]
        return results


def pytest_configure(config):
    """Register the plugin that patches SciPy's conftest."""
    logging.getLogger("anyshape").setLevel(logging.ERROR)
    config.pluginmanager.register(Backend())


def main(arguments=None):
    """Print counts for each module, and reasons with the number of their tests."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", default=MODULES, metavar="MODULE", help="test modules of SciPy")
    parser.add_argument("--every", default="1", metavar="N", help="run one test in so many")
    parser.add_argument("-v", "--verbose", action="store_true", help="name the tests that fail")
    options = parser.parse_args(arguments)
    totals, reasons = Counter(), Counter()
    for module in options.modules:
        results = outcomes(module, options.every)
        counts = Counter(outcome for outcome, _ in results.values())
        totals += counts
        print(f"{module}: {dict(counts)}", flush=True)
        for name, (outcome, reason) in results.items():
            if outcome != "passed":
                reasons[outcome, reason[:160]] += 1
            if options.verbose and outcome == "failed":
                print(f"  {name}: {reason[:400]}")
    print(f"all: {dict(totals)}")
    for (outcome, reason), count in sorted(reasons.items(), key=lambda item: (item[0][0], -item[1])):
        print(f"  {outcome} {count:5} {reason}")
    return int(totals["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
