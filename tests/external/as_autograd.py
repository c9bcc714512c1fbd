"""Put `anyshape.autograd` among the loaded modules as `autograd`, for packages that import that: a plugin of pytest.

`python -m pytest -p tests.external.as_autograd FILES` runs the tests of a package so. Users change imports instead.
"""

import importlib
import sys

MODULES = [
    "builtins", "core", "differential_operators", "extend", "misc", "misc.fixed_points", "misc.flatten",
    "misc.optimizers", "numpy", "numpy.linalg", "numpy.numpy_boxes", "numpy.numpy_vjps", "scipy", "scipy.signal",
    "test_util", "tracer", "util", "wrap_util",
]  # fmt: skip


def install():
    """Put the modules among those that are loaded."""
    for name in MODULES:
        importlib.import_module(f"anyshape.autograd.{name}")
    for name in [name for name in sys.modules if name.startswith("anyshape.autograd")]:
        sys.modules[name.removeprefix("anyshape.")] = sys.modules[name]
    sys.modules["autograd.core"].primitive_vjps = {}  # a test of autograd takes rules out of it


install()
