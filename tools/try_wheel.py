"""Try an installed wheel as a new user does: values, gradients at several sizes, files, types and the command line."""

import importlib.resources
import subprocess
import sys
from pathlib import Path

import numpy as np

import anyshape

LATE = ("networkx", "islpy", "optree", "scipy.optimize")


def loss(w, x):
    """Return a scalar of two arrays."""
    return np.mean(np.tanh(x @ w) ** 2)


def check_content() -> None:
    """Raise AssertionError where a file is missing, or where packages load too early."""
    loaded = [name for name in LATE if name in sys.modules]
    assert not loaded, f"loaded at import: {loaded}"
    assert "site-packages" in anyshape.__file__, f"not the wheel: {anyshape.__file__}"
    files = importlib.resources.files(anyshape)
    missing = [f for f in ("py.typed", "__init__.pyi", "numpy/__init__.pyi") if not (files / f).is_file()]
    assert not missing, f"missing in the wheel: {missing}"


def main() -> None:
    """Raise AssertionError where the wheel lacks something."""
    check_content()
    step = anyshape.value_and_grad(loss)
    for n in (1, 2, 17):
        value, gradient = step(np.ones(3), np.ones((n, 3)))
        assert np.isclose(value, np.tanh(3.0) ** 2)
        assert gradient.shape == (3,)
    assert step.cache_info().traces == 1
    anyshape.export(loss)(anyshape.ShapeDtypeStruct("d"), anyshape.ShapeDtypeStruct("n, d")).save("loss.anyshape")
    assert np.isclose(anyshape.load("loss.anyshape")(np.ones(3), np.ones((2, 3))), np.tanh(3.0) ** 2)
    command = [str(Path(sys.executable).parent / "anyshape"), "check", "numpy:matmul", "--shapes", "n, k; k, 3"]
    subprocess.run([*command, "--sizes", "0,2"], check=True)
    print(f"anyshape {anyshape.__version__} works")


if __name__ == "__main__":
    main()
