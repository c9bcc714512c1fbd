"""The stubs of packages that find their names late name what the packages have, with its parameters."""

import importlib
import inspect

import pytest

from tools import make_stubs


def test_the_stubs_are_the_written_ones():
    text = make_stubs.path_of("anyshape.scipy.special").read_text()
    if not make_stubs.is_for_installed(text):
        pytest.skip(f"the stubs are for another SciPy than {make_stubs.version()}")
    current, read = make_stubs.statements, make_stubs.path_of
    stale = [x for x in make_stubs.PACKAGES if current(read(x).read_text()) != current(make_stubs.stub_of(x))]
    assert not stale, f"python -m tools.make_stubs writes these again: {', '.join(stale)}"


def test_the_names_of_the_stubs_are_there():
    missing = []
    for package in make_stubs.PACKAGES:
        module, names = importlib.import_module(package), make_stubs.names_in(make_stubs.path_of(package).read_text())
        missing += [f"{package}.{name}" for name in names if not hasattr(module, name)]
        assert len(names) > 1
    assert not missing


def test_functions_of_special_show_the_names_of_their_operands():
    from_stub = make_stubs.path_of("anyshape.scipy.special").read_text()
    assert "def betainc(a: Any, b: Any, x: Any, /, out: Any = None" in from_stub


def test_functions_of_numpy_random_have_the_signature_of_numpy():
    ours, theirs = (importlib.import_module(name) for name in ("anyshape.numpy.random", "numpy.random"))
    drawing = [name for name in ours.__all__ if inspect.isfunction(getattr(ours, name))]
    assert len(drawing) > 40
    assert all(inspect.signature(getattr(ours, x)) == inspect.signature(getattr(theirs, x)) for x in drawing)
