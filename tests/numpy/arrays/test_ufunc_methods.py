"""Every method of every ufunc of NumPy gives what NumPy gives, or is refused by its name."""

import numpy as np
import pytest

from anyshape import jit
from anyshape.errors import AnyshapeError
from tests.laws.sweep import leaves

UFUNCS = sorted({f for f in vars(np).values() if isinstance(f, np.ufunc)}, key=lambda f: f.__name__)
NAN = np.nan
OPERANDS = [
    np.array([[0.5, NAN, 2.0, 2.0], [NAN, NAN, 1.0, -3.0], [0.25, 3.0, NAN, 1.0]]),
    np.array([[3, 1, 2, 5], [7, 4, 5, 5], [0, 0, 6, 2]]),
    np.array([[True, False, True, True], [False, False, True, False], [True, True, True, False]]),
]


def at(ufunc, x):
    y = x.copy()
    ufunc.at(y, [0, 2, 0], *[x[1]] * (ufunc.nin - 1))
    return y


METHODS = {
    "reduce": lambda ufunc, x: ufunc.reduce(x, axis=1),
    "accumulate": lambda ufunc, x: ufunc.accumulate(x, axis=1),
    "reduceat": lambda ufunc, x: ufunc.reduceat(x, [0, 2, 2, 1], axis=1),
    "outer": lambda ufunc, x: ufunc.outer(x, x[0]),
    "at": at,
}


def difference(method, ufunc, x):
    """Return how a method differs from NumPy's; "refused" where it is, and "" for no difference."""
    with np.errstate(all="ignore"):
        try:
            expected = method(ufunc, x)
        except (TypeError, ValueError, RuntimeError):
            expected = None
        try:
            result = jit(lambda x: method(ufunc, x), optimize="off")(x)
        except AnyshapeError:
            return "refused"
        except (TypeError, ValueError, RuntimeError) as error:
            return "" if expected is None else repr(error)
    if expected is None:
        return "NumPy refuses it"
    pairs = zip(leaves(result), leaves(expected), strict=True)
    return "" if all(is_close(y, e) for y, e in pairs) else f"{result}, not {expected}"


def is_close(y, e):
    rough = 1e-2 if e.dtype == np.float16 else 1e-12
    return y.dtype == e.dtype and np.allclose(y, e, rough, rough, equal_nan=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", METHODS)
def test_each_method_of_each_ufunc_is_that_of_numpy_or_refused(name):
    differences = {(f.__name__, x.dtype.name): difference(METHODS[name], f, x) for f in UFUNCS for x in OPERANDS}
    wrong = {key: text for key, text in differences.items() if text not in ("", "refused")}
    assert not wrong
    served = {f for f, _ in differences if "" in [differences[f, x.dtype.name] for x in OPERANDS]}
    assert {"add", "multiply", "maximum"} <= served
    if name in ("reduce", "accumulate"):
        assert {"fmax", "fmin", "bitwise_xor", "logaddexp2", "subtract"} <= served
