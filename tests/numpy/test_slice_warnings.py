"""Programs give NumPy's warnings about slices without elements or degrees of freedom, at the line of the call."""

import inspect
import warnings

import numpy as np
import pytest

from anyshape import ShapeDtypeStruct, export, grad, jit, vmap

NAN = np.nan
EMPTY, ONE, FEW = np.zeros(0), np.ones(1), np.arange(3.0)
MASK = np.array([True, False, True])
FUNCTIONS = {
    "mean": lambda x: np.mean(x),
    "mean, method": lambda x: x.mean(),
    "mean, first axis": lambda x: np.mean(x, axis=0),
    "mean, last axis": lambda x: np.mean(x, axis=-1, keepdims=True),
    "mean of integers": lambda x: np.mean(x.astype(int)),
    "mean of single": lambda x: np.mean(x, dtype=np.float32),
    "mean under a mask": lambda x: np.mean(x, axis=0, where=x > 1),
    "mean under a constant mask": lambda x: np.mean(x, where=True),
    "mean of few": lambda x: np.mean(x[x > 1]),
    "average": lambda x: np.average(x),
    "average along an axis": lambda x: np.average(x, axis=-1),
    "var": lambda x: np.var(x),
    "var, ddof": lambda x: np.var(x, ddof=1),
    "var, half": lambda x: np.var(x, ddof=0.5),
    "var, correction": lambda x: np.var(x, correction=2),
    "var, mean": lambda x: np.var(x, mean=0.0),
    "var under a mask": lambda x: np.var(x, axis=0, ddof=1, where=x > 1),
    "std": lambda x: np.std(x),
    "std, ddof": lambda x: np.std(x, axis=-1, ddof=1),
    "nanmean": lambda x: np.nanmean(x),
    "nanmean, first axis": lambda x: np.nanmean(x, axis=0),
    "nanmean of integers": lambda x: np.nanmean(np.isnan(x) * 1),
    "nanvar": lambda x: np.nanvar(x),
    "nanvar, first axis": lambda x: np.nanvar(x, axis=0, ddof=1),
    "nanstd": lambda x: np.nanstd(x, ddof=1),
    "nanmax": lambda x: np.nanmax(x, axis=0),
    "nanmin": lambda x: np.nanmin(x),
    "median": lambda x: np.median(x),
    "median, last axis": lambda x: np.median(x, axis=-1),
    "cov": lambda x: np.cov(x),
    "cov, bias": lambda x: np.cov(x, bias=True),
    "cov, ddof": lambda x: np.cov(x, ddof=3),
    "corrcoef": lambda x: np.corrcoef(x),
}
ARRAYS = {
    "empty": EMPTY,
    "one": ONE,
    "three": FEW,
    "all NaN": np.full(3, NAN),
    "one NaN": np.array([1.0, NAN, 3.0]),
    "no rows": np.zeros((0, 2)),
    "no columns": np.zeros((2, 0)),
    "nothing": np.zeros((0, 0)),
    "a row": np.ones((1, 3)),
    "a column of NaN": np.array([[1.0, NAN], [2.0, NAN]]),
    "table": np.arange(6.0).reshape(2, 3),
}


def slice_warnings(function, *arrays):
    """Return the result and the texts of the warnings that are about slices; an error gives its class."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*arrays)
        except (ValueError, ZeroDivisionError):
            return None, []
    return result, [(str(w.message), w.category) for w in caught if "slice" in str(w.message)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_warn_of_slices_as_numpy_does(name):
    jitted = jit(FUNCTIONS[name])
    for text, x in ARRAYS.items():
        expected, warned = slice_warnings(FUNCTIONS[name], x)
        result, seen = slice_warnings(jitted, x)
        assert seen == warned, text
        if expected is not None:
            np.testing.assert_allclose(result, expected, err_msg=text)


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd", "nanmean, first axis", "nanvar, first axis"])
def test_nan_functions_give_no_other_warning(name):
    for x in ARRAYS.values():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            jit(FUNCTIONS[name])(x)
        assert all("slice" in str(w.message) for w in caught)


def test_each_call_warns_at_its_line():
    mean = jit(np.nanmean)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice") as caught:
        mean(np.array([NAN]))
        line = inspect.currentframe().f_lineno
        mean(EMPTY)
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line - 1), (__file__, line + 1)]


def test_filters_hold():
    mean = jit(lambda x: np.nanmean(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="Mean of empty slice"):
            mean(EMPTY)
        assert mean(ONE) == 1
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning, __name__)
        assert np.isnan(mean(EMPTY))


def test_error_modes_hold_for_the_division():
    mean = jit(lambda x: np.mean(x))
    with warnings.catch_warnings(record=True) as caught, np.errstate(invalid="ignore"):
        warnings.simplefilter("always")
        mean(EMPTY)
    assert [str(w.message) for w in caught] == ["Mean of empty slice"]


def test_results_that_are_not_used_warn():
    jitted = jit(lambda x: (np.mean(x), np.nanmean(x), np.sum(x))[-1])
    assert [text for text, _ in slice_warnings(jitted, EMPTY)[1]] == ["Mean of empty slice"] * 2


@pytest.mark.parametrize("kind", ["grad", "vmap", "export", "second"])
def test_transforms_warn(kind, tmp_path):
    def half(x):
        return np.nanmean(x) * 0.5

    transformed = {
        "grad": lambda: jit(grad(half)),
        "second": lambda: jit(lambda x: grad(lambda x: np.sum(grad(half)(x)))(x)),
        "vmap": lambda: lambda x: vmap(half)(np.stack([x, x])),
        "export": lambda: export(half)(ShapeDtypeStruct("n")),
    }[kind]()
    assert ("Mean of empty slice", RuntimeWarning) in slice_warnings(transformed, np.full(2, NAN))[1]
    assert not slice_warnings(transformed, np.ones(2))[1]


def test_sizes_that_cannot_be_too_small_are_not_tested():
    program = export(lambda x: np.mean(x) + np.var(x, ddof=1))(ShapeDtypeStruct("n + 2"))
    assert "warn_below" not in str(program.graph)
    assert "warn_below" in str(export(lambda x: np.var(x, ddof=2))(ShapeDtypeStruct("n + 2")).graph)
