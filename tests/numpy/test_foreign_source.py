"""Run functions of a package that a test writes, and check which releases of it are accepted."""

import importlib
import sys
import textwrap

import numpy as np
import pytest

from anyshape import grad, jit
from anyshape import numpy as xp
from anyshape.errors import CheckError, UnsupportedFunctionError
from anyshape.numpy.foreign_source import Bound, Source, digest
from anyshape.scipy.stats.source import SCIPY
from tools.make_digests import digests

CODE = '''
    import functools
    import numpy as np
    from numpy import asarray
    from lender import _private

    def decorated(function):
        @functools.wraps(function)
        def wrapper(*args, _plain=False, **kwargs):
            return np.float64(function(*map(float, args), **kwargs))
        return wrapper

    @decorated
    def scaled(x, *, by=2):
        """Multiply."""
        return asarray(x, dtype=float) * by

    def centred(x, mean=np.mean):
        y = scaled(x, by=3, _plain=True)
        return _private.less(y, mean(y)) + offset()

    def offset():
        return 0.0

    def scaled_root(x, least=0, *, by=2.0):
        if x.ndim > 1:
            raise ValueError("one axis")
        elif not np.all(x >= least) or (least is not None and by < 0):
            raise ValueError(f"below {least}")
        return np.sqrt(x) * float(by)

    def halves(x):
        from lender.code import scaled
        if x.ndim != 1:
            raise ValueError("one axis")
        count = x.shape[0] // 2 + bool(x.shape[0] % 2)
        return scaled(x[:count], by=3)

    class Line:
        slope = 4.0

        def at(self, x):
            return self.slope * self.moved(x)

        def moved(self, x):
            return np.asarray(x) + 1
'''


@pytest.fixture
def lender(tmp_path, monkeypatch):
    folder = tmp_path / "lender"
    folder.mkdir()
    (folder / "__init__.py").write_text("__version__ = '1.2.3'\n")
    (folder / "_private.py").write_text("def less(x, y):\n    return x - y\n")
    (folder / "code.py").write_text(textwrap.dedent(CODE))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("lender.code")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lender"]:
        del sys.modules[name]


def source(path, tested=("1.2",), **helpers):
    return Source("lender", tested, path / "digests.txt", {"numpy": xp}, helpers, ("_plain",))


def test_imports_inside_of_functions_and_truth_of_sizes_are_those_of_the_trace(lender, tmp_path):
    traced = jit(lambda x: source(tmp_path).copy(lender.halves)(x))
    for n in (5, 2, 1, 0, 4):
        x = np.arange(float(n)) ** 2
        np.testing.assert_allclose(traced(x), 3 * x[: (n + 1) // 2])
    assert traced.cache_info().traces == 1


def test_code_and_helpers_run_on_traced_arrays_at_any_size(lender, tmp_path):
    copy = source(tmp_path).copy(lender.centred)
    traced = jit(copy)
    for n in (0, 1, 4):
        x = np.arange(n) ** 2.0
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(traced(x), 3 * x - np.mean(3 * x) if n else x)
    assert traced.cache_info().traces == 1
    np.testing.assert_allclose(grad(lambda x: copy(x) @ x)(np.array([1.0, 2.0])), [-3.0, 3.0])


def test_conditions_of_errors_are_checks_of_a_run(lender, tmp_path):
    copy = source(tmp_path).copy(lender.scaled_root)
    traced = jit(lambda x, by: copy(x, by=by), on_decision="error")
    np.testing.assert_array_equal(traced(np.array([1.0, 4.0]), 3.0), [3.0, 6.0])
    for x, by in ((np.array([1.0, -4.0]), 3.0), (np.ones(2), -1.0)):
        with pytest.raises(CheckError, match=r"scaled_root: below \{least\}"):
            traced(x, by)
    assert traced.cache_info().traces == 1
    with pytest.raises(ValueError, match="one axis"):
        jit(copy)(np.ones((1, 1)))
    with pytest.raises(ValueError, match="below 2"):
        copy(np.ones(1), 2)
    assert grad(lambda by: copy(np.array([4.0]), by=by)[0])(1.0) == 2.0


def test_a_function_that_is_public_in_another_module_names_what_its_own_module_has(lender, tmp_path):
    lender.centred.__module__ = lender.scaled.__module__ = "lender"
    copy = source(tmp_path).copy(lender.centred)
    x = np.arange(3.0)
    np.testing.assert_allclose(jit(copy)(x), 3 * x - 3)


def test_other_helpers_stand_for_the_ones_of_the_package(lender, tmp_path):
    copy = source(tmp_path, offset=lambda: 5.0).copy(lender.centred)
    np.testing.assert_allclose(jit(copy)(np.array([1.0, 3.0])), [2.0, 8.0])
    assert lender.offset() == 0.0


def test_methods_of_objects_are_copies_too(lender, tmp_path):
    line = Bound(source(tmp_path), lender.Line())
    np.testing.assert_allclose(jit(line.at)(np.array([1.0, 2.0])), [8.0, 12.0])
    assert grad(line.at)(3.0) == line.slope == 4.0


def test_another_release_is_accepted_where_its_code_is_the_same(lender, tmp_path):
    (tmp_path / "digests.txt").write_text(" ".join(map(digest, (lender.offset, lender.scaled.__wrapped__))))
    other = source(tmp_path, ("1.1", "1.20"))
    assert jit(other.copy(lender.scaled))(2.0) == 4.0
    with pytest.raises(UnsupportedFunctionError, match=r"lender.code.centred.* other code in lender 1.2.3") as raised:
        jit(other.copy(lender.centred))(2.0)
    assert "1.1, 1.20" in str(raised.value)


def test_digests_tell_code_from_comments(lender, tmp_path):
    before = digest(lender.scaled.__wrapped__)
    path = tmp_path / "lender" / "code.py"
    same = textwrap.dedent(CODE).replace('"""Multiply."""', '"""Scale."""').replace("* by\n", "* (by)  # times\n")
    for code, is_same in ((same, True), (same.replace("* (by)", "/ (by)"), False)):
        path.write_text(code)
        importlib.invalidate_caches()
        sys.modules.pop("lender.code")
        import linecache

        linecache.checkcache()
        changed = importlib.import_module("lender.code")
        assert (digest(changed.scaled.__wrapped__) == before) is is_same


def test_the_file_of_digests_has_those_of_the_installed_release():
    assert digests() <= set(SCIPY.digests.read_text(encoding="ascii").split())
